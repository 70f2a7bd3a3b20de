#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# What happens to links in mid-traffic: what traffic survives, and what ends it,
# with user mappings in use after it; in exclusive and shared RDMA namespaces.
#
#   +----------+         +----------+
#   | h1  eth0 |---------| eth0  h2 |	veth, 198.18.1.1, .2
#   +----------+         +----------+
#                     h3: where a netdev moves to
#
# XROCE_XDP=off|generic|native  XROCE_LIFE_COUNT: how often, 2
# XROCE_NETNS=exclusive|shared: only this mode

# shellcheck disable=SC2317
# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ./life.sh

# One program to start, not two: what is in the middle of it is an outage
ip1() { ip ${NS1:+-n "$NS1"} "$@"; }
ip2() { ip ${NS2:+-n "$NS2"} "$@"; }

# An outage is shorter than all retries, on a kernel that checks everything too
survive=18
[ ! -e /sys/kernel/debug/kmemleak ] || survive=20

updown() {
	ip1 link set "$ETH1" down && sleep 0.1 && ip1 link set "$ETH1" up
}
mtu() {
	ip1 link set "$ETH1" mtu 600 && sleep 0.1 && ip1 link set "$ETH1" mtu 9000 &&
		ip1 link set "$ETH1" mtu 1500
}
address() {
	ip1 addr del "$V4.1/24" dev "$ETH1" && sleep 0.1 &&
		ip1 addr add "$V4.1/24" dev "$ETH1"
}
rename() {
	n1 rdma dev set xr1 name xr9 && sleep 0.1 && n1 rdma dev set xr9 name xr1
}
rename_netdev() {
	# only while it is down, in older kernels
	ip2 link set "$ETH2" down && ip2 link set "$ETH2" name xr-other &&
		ip2 link set xr-other name "$ETH2" && ip2 link set "$ETH2" up
}
xdp() {
	n1 rdmatool link set xr1 xdp generic && n2 rdmatool link set xr2 xdp native &&
		n1 rdmatool link set xr1 xdp "$XROCE_XDP" &&
		n2 rdmatool link set xr2 xdp "$XROCE_XDP"
}

del_by_rdma() { n1 rdma link del xr1; }
del_by_rdmatool() { n2 rdmatool link del xr2; }
del_netdev() { n1 ip link del "$ETH1"; }
move() {
	n1 ip link set "$ETH1" netns "$NS3" && wait_for 30 no_dev "$NS1" xr1 &&
		in_ns "$NS3" ip link set "$ETH1" netns "$NS1"
}
del_netns() {
	ip netns del "$NS2" && wait_for 30 no_dev "" xr2 &&
		ip netns add "$NS2" && quiet_ns "$NS2"
}
# With XDP the programs hold the module
unload() {
	if [ "$XROCE_XDP" != off ]; then
		! rmmod xroce 2>/dev/null && return
		echo "it went, with programs that use it"
		return 1
	fi
	rmmod xroce && modprobe xroce
}

things() {
	life_begin
	NS3=h3-$$
	ip netns add "$NS3"
	try "$label: netdev down and up" rounds "$COUNT" go -t "$survive" -- updown
	try "$label: MTU changed" rounds "$COUNT" go -t "$survive" -- mtu
	try "$label: address gone and back" rounds "$COUNT" go -t "$survive" -- address
	try "$label: device renamed" rounds "$COUNT" go -t "$survive" -- rename
	try "$label: netdev renamed" rounds "$COUNT" go -t "$survive" -- rename_netdev
	try "$label: XDP changed" rounds "$COUNT" go -t "$survive" -- xdp
	try "$label: nothing is left of what it survived" life_settled
	try "$label: rdma link del" rounds "$COUNT" end -m -- del_by_rdma
	try "$label: rdmatool link del" rounds "$COUNT" end -- del_by_rdmatool
	try "$label: netdev deleted" rounds "$COUNT" end -- del_netdev
	try "$label: netdev moved to another namespace" \
		rounds "$COUNT" end -- move
	try "$label: namespace deleted" rounds "$COUNT" end -l -- del_netns
	if [ "$XROCE_XDP" = off ]; then
		try "$label: module unloaded and loaded" \
			rounds "$COUNT" end -- unload
		try "$label: and rings used after it" \
			rounds "$COUNT" end -m -- unload
	else
		try "$label: module in use does not unload" \
			rounds "$COUNT" go -t "$survive" -- unload
	fi
	try "$label: nothing is left" life_settled
	try "$label: the module unloads" life_unload
	ip netns del "$NS3"
	topo_clear
}

for XROCE_NETNS in ${XROCE_NETNS:-exclusive shared}; do
	things
done
tap_end
