#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Drivers of NICs instead of veth: which MTU they take, what they carry, a VLAN's tag
# that they hold beside the frame, and which way packets went.
#
#   +----------+         +----------+
#   | h1  eth0 |---------| eth0  h2 |	two NICs on a wire, 198.18.1.1, .2, fdc8::1, ::2
#   |  eth0.7  |         |  eth0.7  |	198.18.7.1, .2
#   +----------+         +----------+
#
# NIC=igb|vmxnet3|virtio-net-pci of the guest (docs/guest.md)
# XROCE_XDP=off|generic|native

# shellcheck disable=SC2317,SC2034
# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
DEVTYPE=xroce
. ../lib/topo.sh
. ../lib/rc.sh
. ../lib/ud.sh

[ -n "${XROCE_NIC:-}" ] || skip_all "the guest has no NICs: NIC= (docs/guest.md)"
topo_need rdmatool ethtool ib_write_bw
label="$XROCE_NIC $XROCE_XDP"
# in parts only virtio_net takes what is longer than a page
LARGE=9000 VLANS=198.18.7.

# At an MTU that its driver has no native XDP for the tool repeats what the driver says,
# and there is no link; at any other it is made
large() {
	local out
	eval "$(rc_mtu "$LARGE")" || return
	if out=$(n1 rdmatool link add "$RDMA1" netdev "$ETH1" xdp "$XROCE_XDP" 2>&1); then
		n1 rdmatool link del "$RDMA1" && [ "$(may_large)" = yes ]
		return
	fi
	echo "$out"
	[ "$(may_large)" = no ] && ! n1 rdma link | grep -q "$RDMA1" &&
		[[ $out == *"$ETH1 refuses it as it is set up now: $XROCE_NIC: "*[Ff]"rame size"* ||
		   $out == *"$ETH1 refuses it as it is set up now: $XROCE_NIC: MTU $LARGE "* ]]
}
may_large() {
	case $XROCE_XDP-$XROCE_NIC in
	native-igb | native-vmxnet3)	echo no ;;
	*)				echo yes ;;
	esac
}

# UC, which nothing sends again, wants room for a message of 400 packets
roomy() {
	[ "$XROCE_NIC" != igb ] ||
		{ n1 ethtool -G "$ETH1" rx 4096 && n2 ethtool -G "$ETH2" rx 4096; }
}

# What h2's IP and UDP have seen, what h1's qdiscs have sent, its QPs have
seen() {
	n2 awk '/^Ip: [0-9]/ { ip += $4 } /^Udp: [0-9]/ { udp += $2 }
		END { print ip, udp }' /proc/net/snmp
	n1 tc -s -j qdisc show dev "$ETH1" | jq '[.[] | select(.root).packets] | add'
	counter "$NS1" "$RDMA1" sent_pkts
}

# went COMMAND... - the command's packets go as XDP's mode has it: natively nothing of
# them comes to IP at h2, and no qdisc of h1's has them
went() {
	local was now i d=()
	read -ra was < <(seen | xargs)
	"$@" || return
	read -ra now < <(seen | xargs)
	for i in "${!was[@]}"; do
		d[i]=$((now[i] - was[i]))
	done
	echo "of ${d[3]} packets h2's IP saw ${d[0]}, its UDP ${d[1]}, h1's qdiscs ${d[2]}"
	[ "${d[3]}" -gt 5000 ] || return
	if [ "$XROCE_XDP" = native ]; then
		# and a hundredth, for times when a ring was full
		[ "${d[0]}" -lt 100 ] && [ "${d[1]}" -lt 20 ] &&
			[ "${d[2]}" -lt $((100 + d[3] / 100)) ]
	else
		[ "${d[0]}" -ge "${d[3]}" ] && [ "${d[1]}" -ge "${d[3]}" ]
	fi
}
# beside went COMMAND... - the stack puts tag and frame together, so they go by it; then
# they are put together before
beside() {
	XROCE_XDP=off "$@" && n1 ethtool -K "$ETH1" rxvlan off && n2 ethtool -K "$ETH2" rxvlan off
}

vlans() {
	vlans_add "$VLANS" && wait_for 20 vlans_ready "$VLANS" &&
		wait_for 20 n1 ping -c 1 -W 1 "${VLANS}2"
}

# At auto as well, which takes native but where a driver is known to lose the program; and
# rdmatool check is content with that
by_itself() {
	local mode=native out
	[ "$XROCE_NIC" != vmxnet3 ] || mode=generic
	out=$(n1 rdmatool link set "$RDMA1" xdp auto 2>&1) &&
		[ "$(xdp_mode "$NS1" "$ETH1")" = "$mode" ] &&
		[[ $mode = native || $out == *"on $ETH1: vmxnet3 loses the program"* ]] &&
		n1 rdmatool check | grep "^ok *xdp $ETH1:" &&
		n1 rdmatool link set "$RDMA1" xdp "$XROCE_XDP" && devices_ready && return
	echo "not $mode: $out"
	return 1
}

topo_direct 1500
try "$label: an MTU of $LARGE" large
# the most that all take natively
try "$label: of 3000" eval "$(rc_mtu 3000)"
try "$label: room" roomy
wait_for 20 n1 ping -c 1 -W 1 "$V6:2"
rdma_devices "$label"
try "$label: the mode that it takes by itself" by_itself
rc "$label" forward data shape window mix
rc "$label" backward -6 data
rc_took_xdp "$label"
ud "$label" uc ud shape drop mcast
ud "$label" -6 ud mcast
measure "$label: WRITEs, which way" \
	went verbs_pair $V4.1 $V4.2 ib_write_bw -n 500 -s 65536
measure "$label: datagrams, which way" \
	went verbs_pair $V4.1 $V4.2 ibv_ud_pingpong -e -c -n 6000 -s 1000
try "$label: VLANs" vlans
[ "$XROCE_NIC" = virtio-net-pci ] ||
	measure "$label: WRITEs in a VLAN whose tag is beside the frame, which way" \
		beside went verbs_pair "${VLANS}1" "${VLANS}2" ib_write_bw -n 500 -s 65536
measure "$label: WRITEs in a VLAN, which way" \
	went verbs_pair "${VLANS}1" "${VLANS}2" ib_write_bw -n 500 -s 65536
measure "$label: datagrams in a VLAN, which way" \
	went verbs_pair "${VLANS}1" "${VLANS}2" ibv_ud_pingpong -e -c -n 6000 -s 1000
tap_end
