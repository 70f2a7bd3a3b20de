#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Requests for connections and other MADs from an address that nobody has. ib_core
# would wait a second for the neighbour of each, one after the other: QP 1 gets one a
# second of the former and none of the latter, goes on serving those who are there, and
# its link goes when it is told to. Datagrams whose addresses no other host may have, or
# that are of another netdev than they come by, come to no QP, whichever way they go.
#
#   +----------+         +----------+
#   | h1  eth0 |---------| eth0  h2 |	veth, 198.18.1.1, .2, fdc8::1, ::2
#   +----------+         +----------+
#     the flood leaves here, from 198.18.1.9      VLAN 7 too: fe80::77
#
# XROCE_XDP=off|generic|native

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh

SECONDS_OF=4 RATE=500
LEAST=$((SECONDS_OF * RATE / 2))	# sent, however long that takes; all checked, less is
[ ! -e /sys/kernel/debug/kmemleak ] || LEAST=$((LEAST / 4))

# flood KIND [SECONDS] - the process, or the subshell, becomes it; $to and $from, if set
flood() {
	XROCE_LEAST=$LEAST exec ip netns exec "$NS1" \
		./flood 0 "$(mac "$NS2" "$ETH2")" 02:00:00:00:00:09 "${to:-$V4.2}" \
		"${from:-$V4.9}" "$1" "${2:-$SECONDS_OF}000" "$RATE" <<<"$ETH1"
}

# connect ADDRESS
connect() {
	PATIENCE=40 ends 'cm_listens 7174' rping -s -a "$1" -C 5 -V \
		-- rping -c -a "$1" -C 5 -V
}

dropped() { echo $(($(counter "$RNS2" "$RDMA2" drop_no_neigh) - before)); }

# What the netdevs have had no room for, as where a flood makes up for a pause
untaken() {
	echo $(($(n1 cat "/sys/class/net/$ETH1/statistics/tx_dropped") +
		$(n2 cat "/sys/class/net/$ETH2/statistics/rx_dropped")))
}

# beside KIND - the flood, and a connection meanwhile; $before: what had been dropped,
# $arrived of it in $seconds
beside() {
	local pid lost began=$SECONDS status=0
	before=0
	before=$(dropped) lost=$(untaken)
	flood "$1" >"$TOPO_TMP/flood" 2>&1 &
	pid=$!
	connect "$V4.2" || status=$?
	wait "$pid" || status=$?
	seconds=$((SECONDS - began + 1))
	cat "$TOPO_TMP/flood"
	arrived=$(sed -n 's/ packets by.*//p' "$TOPO_TMP/flood")
	arrived=$((arrived - $(untaken) + lost))
	return "$status"
}

# all_but N KIND - of what arrived is dropped, and nothing else is
all_but() {
	local status=0
	beside "$2" || status=$?
	wait_for 10 eval '[ "$(dropped)" -ge $((arrived - '"$1"')) ]' || status=$?
	echo "$(dropped) dropped of $arrived that arrived in $seconds s"
	[ "$(dropped)" -le "$arrived" ] || status=1
	[ "$arrived" -ge "$LEAST" ] && return "$status"
}

# A second lets one through
served() { all_but seconds req; }
# What would be answered where QP 1's receives are waited for: none is let through
asked() { all_but 0 mad; }
# Nor where no way leads back, which IPv6's tables have an entry for
astray() {
	local to=$V6:2 from=fd99::9
	all_but 0 mad
}

# stranger ADDRESS OTHER - h2 knows nothing of h1, which knows h2 and does not ask
stranger() {
	n1 ip neigh replace "$1" lladdr "$(mac "$NS2" "$ETH2")" dev "$ETH1" nud permanent
	n2 ip neigh flush all
	n2 ip neigh del "$2" dev "$ETH2" 2>/dev/null
	n2 ip neigh show | grep -q "^$2 .*lladdr" && return 1
	connect "$1"
}

# while more come than it is waited for
gone() {
	local pid status=0 before=0
	before=$(dropped)
	flood mad 60 &
	pid=$!
	wait_for 20 eval '[ "$(dropped)" -gt 100 ]' || status=$?
	r2 timeout 30 rdma link del "$RDMA2" || status=$?
	kill "$pid" || status=$?
	wait "$pid" || [ $? = 143 ] || status=1
	return "$status"
}

# heard LEAST MOST TO FROM [VLAN] - a UD QP of h2's, not yet ready to hear, counts so many
# of the datagrams to it
heard() {
	local was n
	was=$(of_host 2 drop_state)
	n1 ./flood "${5:-0}" "$(mac "$NS2" "$ETH2")" "$(mac "$NS1" "$ETH1")" "$3" "$4" \
		new 500 400 "96:$qpn:1:0:0" <<<"$ETH1" || return
	wait_for 3 eval '[ $(($(of_host 2 drop_state) - was)) -ge '"$1"' ]'
	[ "$1" -gt 0 ] || sleep 0.3
	n=$(($(of_host 2 drop_state) - was))
	echo "$n were heard"
	[ "$n" -ge "$1" ] && [ "$n" -le "$2" ]
}
ud_qpn() {
	qpn=$(r2 rdma -j resource show qp | jq '[.[] | select(.type == "UD").lqpn][0] // empty')
	[ -n "$qpn" ]
}
# A tag that the netdev took off is not seen by XDP, which then leaves all to the stack
vlan_7() {
	n2 ip link add link "$ETH2" name "$ETH2.7" type vlan id 7 &&
		n2 ip addr add fe80::77/64 dev "$ETH2.7" nodad && n2 ip link set "$ETH2.7" up &&
		n1 ethtool -K "$ETH1" txvlan off tx-vlan-stag-hw-insert off &&
		wait_for 20 has_gid "$RNS2" "$RDMA2" fe80::77
}
datagrams() {
	local pid address
	bg "$RNS2" ibv_ud_pingpong -d "$RDMA2" -g "$(gid_index "$RNS2" "$RDMA2" "$V4.2")" \
		>"$TOPO_TMP/pingpong" 2>&1
	pid=$!
	try "$label: a UD QP" wait_for 20 ud_qpn
	ud_qpn
	try "$label: from a neighbour" heard 20 1000 "$V4.2" "$V4.9"
	try "$label: IPv6: from a neighbour" heard 20 1000 "$V6:2" "$V6:9"
	for address in 127.0.0.9 0.0.0.0 224.0.0.9 255.255.255.255 "$V4.2"; do
		try "$label: from $address" heard 0 0 "$V4.2" "$address"
	done
	for address in ::1 ff0e::9; do
		try "$label: from $address" heard 0 0 "$V6:2" "$address"
	done
	try "$label: to an IPv4 address by IPv6" heard 0 0 "::ffff:$V4.2" "$V6:9"
	try "$label: a VLAN with a link-local address" vlan_7
	try "$label: to that" heard 20 1000 fe80::77 fe80::9 7
	try "$label: to that, but not by the VLAN" heard 0 0 fe80::77 fe80::9
	n2 ip link del "$ETH2.7"
	bg_end "$pid" || :
}

topo_need rping rdmatool ethtool jq
topo_direct 1500
label="$XROCE_XDP"
rdma_devices "$label"
try "$label: who is there is served meanwhile" served
try "$label: also where other MADs come" asked
try "$label: IPv6: and where no way leads back" astray
try "$label: IPv4: who has yet to be resolved is served" stranger "$V4.2" "$V4.1"
try "$label: IPv6: who has yet to be resolved is served" stranger "$V6:2" "$V6:1"
datagrams
try "$label: a flood before the end" flood req
try "$label: the link goes at once" gone
tap_end
