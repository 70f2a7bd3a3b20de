#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# A link on a bond, with a VLAN above, and a peer without a bond. A port of a bond
# is none to make a link on: what comes by it is the bond's.
#
#   +-------------------+         +-------------------+
#   | h1  eth0 - bond0  |---------| eth0  h2          |	veth
#   |            bond0.7|         | eth0.7            |
#   +-------------------+         +-------------------+
#
# XROCE_XDP=off|generic (and that for native, where a bond's ports, which have no
# link, would run the program)

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
DEVTYPE=xroce
. ../lib/topo.sh

topo_need rdmatool ibv_rc_pingpong ibv_ud_pingpong rping cmtime
[ "$XROCE_XDP" != native ] || XROCE_XDP=generic
label="xroce $XROCE_XDP"
topo_begin
topo_veth "$NS1" eth0 "$NS2" eth0 1500
modprobe -a bonding 8021q
n1 ip link add bond0 type bond mode active-backup miimon 50
n1 ip link set eth0 master bond0
ETH1=bond0
addresses "$NS1" bond0 1
addresses "$NS2" eth0 2
vlans_add 198.18.7.
topo_reach

pings() {
	local prog=$1
	shift
	try "$label: $prog, $1" verbs_pair "$2" "$3" "ibv_${prog}_pingpong" -n 100 \
		-s 1000
}
# By rdma_cm, which finds link, VLAN and MAC addresses by the IP addresses
connects() {
	try "$label: rping -V, $1" ends 'cm_listens 7174' rping -s -a "$3" -C 20 -S 3000 -V \
		-- rping -c -I "$2" -a "$3" -C 20 -S 3000 -V
	try "$label: cmtime, $1" ends 'cm_listens 18515' cmtime -b "$3" -c 10 -p 18515 \
		-- cmtime -b "$2" -s "$3" -c 10 -p 18515
}

try "$label: links on a bond and on the netdev at the other host" rdma_up
pings rc "to the bond" "$V4.1" "$V4.2"
pings ud "to the bond" "$V4.1" "$V4.2"
vlan_gids() { has_gid "$NS1" xr1 198.18.7.1 && has_gid "$NS2" xr2 198.18.7.2; }
try "$label: GIDs of the VLANs" wait_for 20 vlan_gids
pings rc "by its VLAN" 198.18.7.1 198.18.7.2
connects "to the bond" "$V4.1" "$V4.2"
connects "by its VLAN" 198.18.7.1 198.18.7.2
# What an own address of the peer's sends, by a VLAN that its QP is not in, is not its
astray() {
	local was out
	for host in n1 n2; do
		$host sysctl -qw net.ipv4.conf.all.rp_filter=0 \
			net.ipv4.conf.eth0.rp_filter=0 || return
	done
	n2 sysctl -qw "net.ipv4.conf.eth0/7.rp_filter=0" &&
		n1 rdmatool link set xr1 xdp off &&
		n1 tc qdisc add dev bond0 clsact &&
		n1 tc filter add dev bond0 egress protocol ip u32 match ip dport 4791 0xffff \
			action vlan push id 7 || return
	was=$(counter "$NS2" xr2 drop_addr)
	out=$(verbs_pair "$V4.1" "$V4.2" ibv_rc_pingpong -n 10 2>&1) && return 1
	echo "$out" | grep 'retry counter exceeded' || { echo "$out"; return 1; }
	n1 tc qdisc del dev bond0 clsact
	n1 rdmatool link set xr1 xdp "$XROCE_XDP"
	[ "$(counter "$NS2" xr2 drop_addr)" -ge $((was + 8)) ]
}
try "$label: what comes astray by the VLAN is dropped" astray
# The VLAN's number in another VLAN's tag is another one
nested() {
	local was now out sysctl=net.ipv4.conf
	n2 ip link add link eth0 name eth0.5 up type vlan id 5 &&
		n2 ip link add link eth0.5 name eth0.5.7 up type vlan id 7 &&
		n2 sysctl -qw "$sysctl.eth0/5/7.rp_filter=0" "$sysctl.eth0/7.rp_filter=0" &&
		n1 rdmatool link set xr1 xdp off &&
		n1 tc qdisc add dev bond0 clsact &&
		n1 tc filter add dev bond0 egress protocol 802.1q u32 \
			match ip dport 4791 0xffff action vlan push id 5 || return
	was=$(n2 cat /sys/class/net/eth0.5.7/statistics/rx_packets)
	if out=$(verbs_pair 198.18.7.1 198.18.7.2 ibv_rc_pingpong -n 10 2>&1); then
		echo "it went through: $(n1 tc -s filter show dev bond0 egress)"
		return 1
	fi
	echo "$out" | grep 'retry counter exceeded' || { echo "$out"; return 1; }
	n1 tc qdisc del dev bond0 clsact
	n1 rdmatool link set xr1 xdp "$XROCE_XDP"
	now=$(n2 cat /sys/class/net/eth0.5.7/statistics/rx_packets)
	echo "$was packets before, $now after"
	[ "$now" -ge $((was + 8)) ] && n2 ip link del eth0.5
}
try "$label: so is what comes in another VLAN's tag" nested
pings rc "not astray" "$V4.1" "$V4.2"
bg "$NS1" ibv_asyncwatch -d xr1 >"$TOPO_TMP/events" 2>&1
watch=$!
try "$label: its events" wait_for 20 grep -q 'async event FD' "$TOPO_TMP/events"
told() { [ "$(grep -o 'IBV_EVENT_PORT_[A-Z]*' "$TOPO_TMP/events" | tr '\n' ' ')" = "$1" ]; }
try "$label: the port goes with the bond's only one" n1 ip link set eth0 down
down() { n1 rdma link show xr1/1 | grep -q 'state DOWN'; }
up() { n1 rdma link show xr1/1 | grep -q 'state ACTIVE'; }
try "$label: it is down" wait_for 20 down
try "$label: and comes back" n1 ip link set eth0 up
try "$label: it is up" wait_for 20 up
both="IBV_EVENT_PORT_ERR IBV_EVENT_PORT_ACTIVE "
try "$label: both are told" wait_for 10 told "$both"
sleep 1.5	# within a second the kernel tells of a carrier
try "$label: once" told "$both"
bg_end "$watch" || :
pings rc "after that" "$V4.1" "$V4.2"
connects "by the VLAN after that" 198.18.7.1 198.18.7.2
# A VLAN that was given to another namespace is that one's, as are its addresses
NSX=hx-$$
stranger() {
	ip netns add "$NSX" && n1 ip link add link bond0 name vx type vlan id 8 &&
		n1 ip link set vx netns "$NSX" && ip -n "$NSX" link set vx up &&
		ip -n "$NSX" addr add "$V4.2/32" dev vx &&
		ip -n "$NSX" addr add 198.18.8.8/24 dev vx &&
		n1 ip addr add 198.18.7.9/24 dev bond0.7
}
try "$label: another namespace has a VLAN of it" stranger
try "$label: an address after that" wait_for 20 has_gid "$NS1" xr1 198.18.7.9
no_stranger() { ! has_gid "$NS1" xr1 198.18.8.8 && ! has_gid "$NS1" xr1 "$V4.2"; }
try "$label: whose addresses are not the link's" no_stranger
pings rc "beside it" "$V4.1" "$V4.2"
ip netns del "$NSX"
# In a VRF addresses are others than the same outside
vrf() {
	n1 ip link add vrf9 type vrf table 9 && n1 ip link set vrf9 up &&
		n1 ip link add vrf-eth type dummy &&
		n1 ip link set vrf-eth master vrf9 up && n1 ip addr add "$V4.2/24" dev vrf-eth
}
try "$label: a VRF that has the peer's address" vrf
try "$label: and a link there" rdma_add "$NS1" xroce xr9 vrf-eth
try "$label: with that as its GID" wait_for 20 has_gid "$NS1" xr9 "$V4.2"
pings rc "to the peer all the same" "$V4.1" "$V4.2"
n1 ip link del vrf-eth
n1 ip link del vrf9
# A bond without ports becomes what its first port is
other_kind() {
	modprobe tun && n1 ip link add bond9 type bond mode active-backup &&
		rdma_add "$NS1" xroce xr9 bond9 && n1 ip tuntap add dev tun9 mode tun &&
		! n1 ip link set tun9 master bond9 &&
		n1 ip -j link show bond9 | jq -e '.[0].link_type == "ether"'
}
try "$label: a bond with a link stays Ethernet" other_kind
n1 ip link del bond9
n1 ip link del tun9
try "$label: no link on the bond" n1 rdmatool link del xr1
try "$label: one on its port" rdma_add "$NS1" xroce xr1 eth0
none() {
	local said
	said=$(n1 ibv_devinfo -v -d xr1) && ! grep -q 'GID\[.*RoCE v2' <<<"$said"
}
try "$label: which has no GID" none
try "$label: no link on the port" n1 rdmatool link del xr1
try "$label: one on the bond" rdma_add "$NS1" xroce xr1 bond0
try "$label: its GIDs" wait_for 20 vlan_gids
# By GUIDs kernel consumers tell devices apart
guid() { n1 rdma -j dev show "$1" | jq -r '.[0].node_guid'; }
own_guid() {
	rdma_add "$NS1" xroce xr3 bond0.7 || return
	echo "$(guid xr1) and $(guid xr3)"
	[ -n "$(guid xr3)" ] && [ "$(guid xr1)" != "$(guid xr3)" ] && n1 rdmatool link del xr3
}
try "$label: one on its VLAN has another GUID" own_guid
# Though the port could run the program natively, and h2 would take XDP frames
of_bond() {
	n1 rdmatool link set xr1 xdp "$1" && [ "$(xdp_mode "$NS1" bond0)" = "$2" ] &&
		n1 rdmatool check | grep "$3 *xdp bond0: $2"
}
try "$label: XDP by itself is generic" of_bond auto generic ok
try "$label: native all the same" of_bond native native warn
try "$label: XDP native at h2" n2 rdmatool link set xr2 xdp native
port_sent=$(ETH1=eth0 xdp_sent)
pings rc "natively" "$V4.1" "$V4.2"
as_skbs() { [ "$(ETH1=eth0 xdp_sent)" = "$port_sent" ]; }
try "$label: which sends no XDP frames" as_skbs
try "$label: XDP as it was" n1 rdmatool link set xr1 xdp "$XROCE_XDP"
try "$label: the bond is deleted under it" n1 ip link del bond0
gone() { ! n1 rdma link show xr1/1 2>/dev/null; }
try "$label: its device goes" wait_for 20 gone
tap_end
