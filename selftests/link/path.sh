#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# What changes under connected QPs on the way to their peer: the MAC address of their
# netdev or of a VLAN on it, the VLAN itself, the port that a bond sends by. What
# leaves bears the address that its netdev has then, and nothing leaves by what is not
# there, or not this namespace's.
#
#   +--------------+     +-------------+     +----------+
#   | h1  eth0     |-----| p1   m   p2 |-----| eth0  h2 |	m routes, and answers for
#   |     eth0.7   |-----| p1.7        |     +----------+	each to the other: so
#   +--------------+     +-------------+			h2's peer is always m
#
#   h1 in the end: eth0 and eth1 in a bond, p1 and p3 of a bridge at m
#
# XROCE_LONG: the bond with the MAC address that it has for ever, too
# XROCE_XDP=off|generic|native, the bond without native: upper.sh says why

# shellcheck disable=SC2317,SC2034
# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
DEVTYPE=xroce
. ../lib/topo.sh
PAIRS=1
. ../life/life.sh

topo_need rdmatool tcpdump ib_write_bw ethtool
modprobe -a 8021q bonding
label="xroce $XROCE_XDP"
V4V=198.18.7

# m asks again who h1 is: what that says of itself is said once, and may be lost, or
# come too soon after the last time to be believed. Traffic may bring some back before
# ip has found none, of which it complains
ask() { nm ip neigh flush all || :; }

# way PORT - m answers at PORT for h2, and at p2 for h1
way() {
	local port
	nm sysctl -qw net.ipv4.ip_forward=1
	for port in "$1 1" "p2 2"; do
		nm sysctl -qw "net.ipv4.conf.${port% *}.proxy_arp=1" \
			"net.ipv4.neigh.${port% *}.proxy_delay=0" \
			"net.ipv4.conf.${port% *}.rp_filter=0"
		nm ip addr replace "$V4.254/32" dev "${port% *}"
		nm ip link set "${port% *}" up
		nm ip route replace "$V4.${port#* }/32" dev "${port% *}"
	done
}

# wire NETDEV PORT...  - of h1, to m
wire() {
	topo_veth "$NS1" "$1" "$NSM" "$2" 1500
	nm ip link set "$2" xdpdrv obj "$LIBDIR/xdp_pass.bpf.o" sec xdp.frags
}

hosts() {
	local ns
	topo_begin
	for ns in "$NS1" "$NS2" "$NSM"; do
		# who has a new MAC address says so; answers may come another way
		in_ns "$ns" sysctl -qw net.ipv4.conf.all.arp_notify=1 \
			net.ipv4.conf.default.arp_notify=1 \
			net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0
	done
	wire eth0 p1
	topo_veth "$NS2" eth0 "$NSM" p2 1500
	nm ip link set p2 xdpdrv obj "$LIBDIR/xdp_pass.bpf.o" sec xdp.frags
}

reaches() { n1 ping -c 1 -W 1 "$V4.2"; }
up() {
	addresses "$NS1" "$ETH1" 1
	addresses "$NS2" eth0 2
	wait_for 20 reaches && rdma_add "$NS1" xroce xr1 "$ETH1" &&
		rdma_add "$NS2" xroce xr2 eth0 && wait_for 20 have_gids
}
have_gids() { has_gid "$NS1" xr1 "$V4.1" && has_gid "$NS2" xr2 "$V4.2"; }
vlan_gid() { has_gid "$NS1" xr1 "$V4V.1"; }
no_vlan_gid() { ! vlan_gid; }

# go ADDRESS COMMAND... - RC, UC, UD and XRC between h1's address and h2 go on beyond
# the command, without an error
go() {
	SIDES=("xr1@$NS1@$1" "xr2@$NS2@$V4.2")
	rounds 1 go -t 18 -- "${@:2}"
}

# macs PORT FILTER [COLUMN] - the sources of the next 50 packets from h1 there; 4: where
# they go
macs() {
	nm timeout 60 tcpdump -e -n -c 50 -i "$1" "$2" 2>/dev/null |
		awk -v c="${3:-2}" '{ print $c }' | tr -d , | sort -u
}
# bear MAC PORT FILTER [COLUMN] - all of them have that, from now on
bear() {
	local seen
	seen=$(macs "${@:2}")
	[ "$seen" = "$1" ] && return
	echo "not $1: ${seen:-nothing}"
	return 1
}
FROM="src host $V4.1 and udp port 4791"
FROMV="vlan 7 and src host $V4V.1 and udp port 4791"

# readdress NETDEV MAC FILTER - it changes; so does what comes to p1
readdress() {
	n1 ip link set "$1" address "$2" && ask && bear "$2" p1 "$3"
}

# The router's MAC changes: who was connected before goes on sending to the old one
peer_readdress() {
	local was
	was=$(mac "$NSM" p1)
	nm ip link set p1 address 02:00:00:00:fe:01 && bear "$was" p1 "$FROM" 4 &&
		n1 ip neigh flush dev eth0
}

lost() { counter "$NS1" xr1 tx_dropped; }
# is_lost COMMAND... - meanwhile packets of h1's are
is_lost() {
	local was
	was=$(lost)
	"$@" && [ "$(lost)" -gt "$was" ] && return
	echo "$was packets were lost before, $(lost) after: $*"
	return 1
}
down_up() {
	local before
	before=$(lost)
	n1 ip link set "$1" down && sleep 0.2
	wait_for 5 eval "[ \$(lost) -gt $before ]"
	n1 ip link set "$1" up
}
# An address of its own goes with the link that is down
down_up_eth() { down_up eth0 && n1 ip addr replace "$V6:1/64" dev eth0 nodad; }

# vlan_route NETDEV - the way to h2 for who sends by the VLAN; lost when that is down
vlan_route() { n1 ip route replace "$V4.0/24" via "$V4V.254" dev "$1" metric 1000; }
vlan() {
	local dev=$1
	n1 ip link add link eth0 name "$dev" type vlan id 7 &&
		n1 ip addr add "$V4V.1/24" dev "$dev" && n1 ip link set "$dev" up &&
		vlan_route "$dev" && wait_for 20 vlan_gid
}
vlan_up() {
	nm ip link add link p1 name p1.7 type vlan id 7 &&
		nm ip addr add "$V4V.254/24" dev p1.7 && nm ip link set p1.7 up &&
		n2 ip route add "$V4V.0/24" via "$V4.254" && vlan eth0.7 &&
		nm ethtool -K p1 txvlan off tx-vlan-stag-hw-insert off
}

down_up_vlan() { down_up eth0.7 && vlan_route eth0.7; }
# rename_vlan OLD NEW - while it is down, as older kernels want it
rename_vlan() {
	n1 ip link set "$1" down && n1 ip link set "$1" name "$2" &&
		n1 ip link set "$2" up && vlan_route "$2"
}

no_vlan_gid() { ! vlan_gid; }
sent() { counter "$NS1" xr1 sent_pkts; }
more() { [ "$("$1")" -gt "$2" ]; }

# strand COMMAND... - it takes the VLAN away: an RC QP on it, which always has something
# to send, ends by its retries, each of which is lost here
strand() {
	local was pid
	was=$(sent)
	verbs_pair "$V4V.1" "$V4.2" ib_write_bw -n 5000000 -s 1000 \
		>"$TOPO_TMP/write" 2>&1 &
	pid=$!
	wait_for 60 more sent $((was + 500)) || return
	was=$(lost)
	"$@" || return
	! wait "$pid" || return
	cat "$TOPO_TMP/write"
	echo "$was packets were lost before, $(lost) after"
	grep -q 'Failed status 12' "$TOPO_TMP/write" && more lost $((was + 7)) &&
		wait_for 20 no_vlan_gid
}

# quiet COMMAND... - from then on what QPs on the VLAN send is lost, and nothing leaves
quiet() {
	local was lost
	lost=$(lost)
	"$@" || return
	was=$(sent)
	wait_for 20 more lost $((lost + 20)) || { echo "$lost were lost, now $(lost)"; return 1; }
	[ "$(sent)" = "${was:-nothing}" ] || { echo "$(($(sent) - was)) packets left"; return 1; }
	wait_for 20 no_vlan_gid
}
# It is up there, with the same address
NSX=hx-$$
give_away() {
	ip netns add "$NSX" && n1 ip link set eth0.7 netns "$NSX" &&
		ip -n "$NSX" addr add "$V4V.1/24" dev eth0.7 && ip -n "$NSX" link set eth0.7 up
}
take_back() { ip -n "$NSX" link del eth0.7 && vlan eth0.7; }
# for rounds(): what is to be there again; here each does that itself
life_links() { :; }
# deaf COMMAND... - from then on what comes by the VLAN is not the link's any more. A UC
# QP there hears of nothing, and neither does its peer, who goes on
heard() { counter "$NS1" xr1 rcvd_pkts; }
said() { counter "$NS2" xr2 sent_pkts; }
placed() { taken_in_place "$NS1" xr1; }
seconds=4
[ ! -e /sys/kernel/debug/kmemleak ] || seconds=40
deaf() {
	local was says place pid start=${EPOCHREALTIME/./} lasts
	was=$(heard) place=$(placed)
	# and as long as a slow machine takes to look twenty times
	lasts=$((seconds + (${EPOCHREALTIME/./} - start) / 100000))
	verbs_pair "$V4V.1" "$V4.2" ib_write_bw -c UC -b -D "$lasts" -s 1000 \
		>"$TOPO_TMP/write" 2>&1 &
	pid=$!
	wait_for 60 more heard $((was + 500)) || return
	[ "$XROCE_XDP" != native ] || more placed $((place + 400)) ||
		{ echo "$(placed) packets in place, $place before"; return 1; }
	"$@" || return
	sleep 0.2
	was=$(heard) says=$(said)
	sleep 1
	[ "$(heard)" = "${was:-nothing}" ] || { echo "$(($(heard) - was)) packets were taken"; return 1; }
	more said "$says" || { echo "nothing was sent any more"; return 1; }
	wait "$pid" || { cat "$TOPO_TMP/write"; return 1; }
}
again() { "$@" && vlan_route eth0.7 && wait_for 20 vlan_gid; }

# last ADDRESS COMMAND... - as go, but for errors of the QPs, after which there are none
last() {
	SIDES=("xr1@$NS1@$1" "xr2@$NS2@$V4.2")
	rounds 1 end -t 18 -- "${@:2}"
}
# The link with QPs whose VLAN has gone
delete() { n1 ip link del "$1" && n1 rdma link del xr1; }

end() {
	local status=$?
	ip netns del "$NSX" 2>/dev/null
	(exit "$status")
	topo_end
}

# A bond's port goes down, and is chosen again
active() { [ "$(n1 cat /sys/class/net/bond0/bonding/active_slave)" = "$1" ]; }
fail_over() {
	n1 ip link set eth0 down && wait_for 20 active eth1 && ask &&
		bear "$(mac "$NS1" bond0)" br1 "$FROM"
}
fail_back() {
	n1 ip link set eth0 up && n1 ip link set bond0 type bond active_slave eth0 &&
		wait_for 20 active eth0 && ask && bear "$(mac "$NS1" bond0)" br1 "$FROM"
}
# bond FAIL_OVER_MAC - in place of eth0
bond() {
	local port
	n1 ip link add bond0 type bond mode active-backup miimon 50 fail_over_mac "$1" &&
		wire eth1 p3 || return
	nm ip link add br1 type bridge stp_state 0 forward_delay 0 mcast_snooping 0
	for port in p1 p3; do
		nm ip link set "$port" master br1
		nm ip link set "$port" up
	done
	for port in eth0 eth1; do
		n1 ip link set "$port" master bond0 || return
	done
	ETH1=bond0
	way br1
	up
}
new_mac() {
	local now
	now=$(mac "$NS1" bond0)
	echo "$was, now $now"
	[ "$mac" = active ] && [ "$now" != "$was" ] || [ "$mac$now" = "none$was" ]
}

hosts
trap end EXIT
way p1
try "$label: links" up
try "$label: the link down for a moment is loss" go "$V4.1" is_lost down_up_eth
try "$label: its MAC address changes" go "$V4.1" readdress eth0 02:00:00:00:01:01 "$FROM"
try "$label: its GIDs are there" wait_for 20 rdma_ready "$NS1" xr1 1
try "$label: its peer's MAC address changes, not that of QPs" \
	last "$V4.1" peer_readdress
try "$label: but that of new ones" go "$V4.1" bear 02:00:00:00:fe:01 p1 "$FROM" 4
try "$label: a VLAN" vlan_up
try "$label: its netdev's MAC address changes, and so its own" \
	go "$V4V.1" readdress eth0 02:00:00:00:01:02 "$FROMV"
try "$label: its own alone changes" \
	go "$V4V.1" readdress eth0.7 02:00:00:00:07:01 "$FROMV"
try "$label: which is the VLAN's alone" \
	go "$V4.1" bear 02:00:00:00:01:02 p1 "$FROM"
try "$label: the VLAN down for a moment is loss" go "$V4V.1" is_lost down_up_vlan
try "$label: the VLAN gets another name" go "$V4V.1" rename_vlan eth0.7 other
try "$label: and its own again" go "$V4V.1" rename_vlan other eth0.7
try "$label: the VLAN goes to another namespace" last "$V4V.1" quiet give_away
try "$label: and is made anew" take_back
try "$label: new QPs on it" go "$V4V.1" true
try "$label: the VLAN down hears nothing" deaf n1 ip link set eth0.7 down
try "$label: it is up" again n1 ip link set eth0.7 up
n1 ip link add br0 type bridge
try "$label: nor does a bridge's port" deaf n1 ip link set eth0.7 master br0
try "$label: it is none" again n1 ip link set eth0.7 nomaster
try "$label: nor what is another namespace's" deaf n1 ip link set eth0.7 netns "$NSX"
try "$label: and is made anew, again" take_back
try "$label: the VLAN is deleted" strand n1 ip link del eth0.7
try "$label: and is there again, by another name" vlan other
try "$label: new QPs on that" go "$V4V.1" true
try "$label: that is deleted, and the link" last "$V4V.1" delete other
try "$label: the link on a VLAN" eval 'rdma_add "$NS1" xroce xr1 eth0 && vlan eth0.7'
try "$label: as before" go "$V4V.1" true

if [ "$XROCE_XDP" != native ]; then
	for mac in ${XROCE_LONG:+none} active; do
		topo_clear
		hosts
		trap end EXIT
		try "$label: links, one on a bond, fail_over_mac $mac" bond "$mac"
		was=$(mac "$NS1" bond0)
		try "$label: its port goes down" go "$V4.1" fail_over
		try "$label: its MAC address is as it is to be" new_mac
		try "$label: its port comes back" go "$V4.1" fail_back
	done
fi
tap_end
