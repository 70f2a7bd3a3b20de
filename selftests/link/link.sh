#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The life of a link: made and deleted by either tool, renamed, its netdev down,
# resized, renumbered and gone, its port taken, given to another namespace, and the
# module unloaded.
#
#   +----------+         +----------+
#   | h1  eth0 |---------| eth0  h2 |	veth, 198.18.1.1, .2, fdc8::1, ::2
#   +----------+         +----------+
#        h3: where h1's link is given to
#
# XROCE_XDP=off|generic|native

# shellcheck disable=SC2317,SC2016,SC2034
# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
DEVTYPE=xroce
XROCE_NETNS=exclusive
. ../lib/topo.sh
. ../lib/ud.sh

topo_need rdmatool ss socat bpftool ibv_asyncwatch
topo_direct 1500
NS3=h3-$$
label="xroce $XROCE_XDP"
xdp=$XROCE_XDP

check() {
	local name=$1
	shift
	try "$label: $name" "$@"
}

exists() { n1 rdma link show "$1/1"; }
gone() { ! exists "$1" 2>/dev/null; }
# The module's socket
listens() { n1 ss -Hulna 'sport = :4791' | grep -q .; }
silent() { ! listens; }
state() { n1 rdma link show xr1/1 | grep -q "state $1 "; }
active_mtu() { n1 ibv_devinfo -d xr1 | grep -q "active_mtu:[[:space:]]*$1 "; }
gid() { has_gid "$NS1" xr1 "$1"; }
no_gid() { ! gid "$1"; }
xdp_is() { [ "$(xdp_mode "$NS1" eth0)" = "$1" ]; }
in_time() { wait_for 20 "$@"; }

# refuses PATTERN COMMAND... - it fails, and says so
refuses() {
	local pattern=$1 out
	shift
	if out=$("$@" 2>&1); then
		echo "it was done"
		return 1
	fi
	grep -qiE "$pattern" <<<"$out" && return
	echo "the message lacks '$pattern': $out"
	return 1
}

# refuses_logged PATTERN COMMAND... - the same, the reason in the kernel's log
refuses_logged() {
	local pattern=$1 before
	shift
	before=$(dmesg | wc -l)
	refuses . "$@" && dmesg | tail -n +"$((before + 1))" | grep -qiE "$pattern" &&
		return
	echo "the log lacks '$pattern': $(dmesg | tail -n +"$((before + 1))")"
	return 1
}

# `ip netns exec`, which n1 is, has a bpffs of its own, gone when it ends
# pins NAMESPACE NAME - where a link's are
pins() { echo "/sys/fs/bpf/xroce/$2@$(in_ns "$1" stat -L -c %i /proc/self/ns/net)"; }
pinned() { bpftool map show pinned "$(pins "$NS1" "$1")/xroce_stats"; }
not_pinned() { [ ! -e "$(pins "$NS1" "$1")" ]; }

unload() { [ ! -d /sys/module/xroce ] || modprobe -r xroce; }

check "module unloads without links" in_time unload
check "rdma link add loads it" n1 rdma link add xr1 type xroce netdev eth0
check "device is there" exists xr1
check "no XDP by rdma link add" xdp_is off
check "socket is there" listens
check "none in another namespace" eval '! n2 ss -Hulna "sport = :4791" | grep -q .'
check "rdmatool link del deletes it" n1 rdmatool link del xr1
check "device is gone" gone xr1
check "socket is gone" silent

check "rdmatool link add" n1 rdmatool link add xr1 netdev eth0 xdp "$xdp"
check "XDP is $xdp" xdp_is "$xdp"
check "rdmatool says so" eval 'n1 rdmatool link show xr1 | grep -q "$xdp"'
if [ "$xdp" != off ]; then
	check "its counters are pinned for all to see" pinned xr1
	check "set xdp off" n1 rdmatool link set xr1 xdp off
	check "pins are gone" not_pinned xr1
	check "set xdp $xdp" n1 rdmatool link set xr1 xdp "$xdp"
	check "they are pinned again" pinned xr1
fi
# as rdma-ndd writes it
named() {
	local desc=/sys/class/infiniband/xr1/node_desc
	n1 sh -c "echo 'host xr1' >$desc && [ \"\$(cat $desc)\" = 'host xr1' ]"
}
check "node description set" named
check "rdma link del deletes it" n1 rdma link del xr1
check "device is gone" gone xr1
check "no XDP is left" in_time xdp_is off
# an XDP program may hold it for a moment more
check "module unloads" in_time unload

check "rdmatool loads it too" n1 rdmatool link add xr1 netdev eth0 xdp "$xdp"
check "second link on the netdev refused" refuses "has an xroce link" \
	n1 rdmatool link add xr7 netdev eth0 xdp off
check "the same by rdma" refuses_logged "has an xroce link" \
	n1 rdma link add xr7 type xroce netdev eth0
# in another namespace it is free, since 7.3
n1 ip link add xr-other type veth peer name xr-far
check "name taken refused" refuses "name" \
	n1 rdmatool link add xr1 netdev xr-other xdp off
n1 ip link del xr-other
# Linux 7.3 on
names_per_netns() {
	local release
	release=$(uname -r)
	[ "$(printf '7.3\n%s\n' "$release" | sort -V | head -n 1)" = 7.3 ]
}
if names_per_netns; then
	check "the same name in another namespace" \
		n2 rdmatool link add xr1 netdev eth0 xdp "$xdp"
	if [ "$xdp" != off ]; then
		check "its own pins" eval '[ -e "$(pins "$NS2" xr1)" ]'
	fi
	check "deleted there" n2 rdmatool link del xr1
	check "it is there still here" exists xr1
	if [ "$xdp" != off ]; then
		check "so are its pins" pinned xr1
	fi
fi
check "netdev unknown refused" refuses "eth7" \
	n1 rdmatool link add xr7 netdev eth7 xdp off
check "loopback refused" refuses "Ethernet" \
	n1 rdmatool link add xr7 netdev lo xdp off
check "link unknown refused" refuses "xr7" n1 rdmatool link del xr7
check "none of these left a link" gone xr7

check "rename" n1 rdma dev set xr1 name xr9
check "new name is there" exists xr9
check "old name is gone" gone xr1
check "XDP stays $xdp" xdp_is "$xdp"
check "rename back" n1 rdma dev set xr9 name xr1

for mode in off generic native "$xdp"; do
	check "set xdp $mode" n1 rdmatool link set xr1 xdp "$mode"
	check "XDP is $mode" xdp_is "$mode"
done

check "port is active" in_time state ACTIVE
# What a program that has the device open is told; $watch is its pid
watch_events() {
	bg "$NS1" ibv_asyncwatch -d xr1 >"$TOPO_TMP/events" 2>&1
	watch=$! base=0
	in_time grep -q 'async event FD' "$TOPO_TMP/events"
}
# events TYPE N - there were as many, and no more
events() { [ "$(grep -c "IBV_EVENT_$1 " "$TOPO_TMP/events")" = $(($2 + base)) ]; }
# LIDs, an SM, P_Keys: nothing that Ethernet has
no_others() {
	! grep IBV_EVENT_ "$TOPO_TMP/events" | grep -vE '_(PORT_(ERR|ACTIVE)|GID_CHANGE) '
}
watch_events
check "netdev down" n1 ip link set eth0 down
check "port is down" in_time state DOWN
check "netdev up" n1 ip link set eth0 up
check "port is active again" in_time state ACTIVE
check "peer's netdev down" n2 ip link set eth0 down
check "port is down, no carrier" in_time state DOWN
# which the kernel tells of within a second, if it is still so then
check "events: port error, twice" in_time events PORT_ERR 2
check "peer's netdev up" n2 ip link set eth0 up
check "port is active, carrier" in_time state ACTIVE
check "events: port active, twice" in_time events PORT_ACTIVE 2
sleep 1.5
check "and no more" eval "events PORT_ERR 2 && events PORT_ACTIVE 2"
check "no other events" no_others
bg_end "$watch" || :

for pair in "1500 1024" "4500 4096" "9000 4096" "600 512" "1500 1024"; do
	check "netdev MTU ${pair% *}" eval \
		"n1 ip link set eth0 mtu ${pair% *} && n2 ip link set eth0 mtu ${pair% *}"
	check "active MTU ${pair#* }" in_time active_mtu "${pair#* }"
done

check "address is a GID" in_time gid "$V4.1"
# link_local NAMESPACE NETDEV
link_local() {
	in_ns "$1" ip -j -6 addr show dev "$2" scope link | jq -r '.[0].addr_info[0].local'
}
own_gid() { gid "$(link_local "$NS1" eth0)"; }
check "so is the netdev's own, of IPv6" in_time own_gid
watch_events
# a work queue of ib_core's may only now tell of that one
sleep 1
base=$(grep -c IBV_EVENT_GID_CHANGE "$TOPO_TMP/events")
check "another by rdmatool" n1 rdmatool gid add xr1 198.18.7.1/24
check "is a GID" in_time gid 198.18.7.1
check "event: GIDs have changed" in_time events GID_CHANGE 1
check "is an address" eval 'n1 ip addr show dev eth0 | grep -q "198.18.7.1/24"'
check "deleted by rdmatool" n1 rdmatool gid del xr1 198.18.7.1/24
check "is no GID" in_time no_gid 198.18.7.1
check "event: they have again" in_time events GID_CHANGE 2
check "one by ip" n1 ip addr add fdc9::1/64 dev eth0 nodad
check "is a GID, too" in_time gid fdc9::1
check "event for IPv6" in_time events GID_CHANGE 3
check "gone by ip" n1 ip addr del fdc9::1/64 dev eth0
check "is no GID any more" in_time no_gid fdc9::1
check "event for its end" in_time events GID_CHANGE 4
sleep 1
check "and no more" events GID_CHANGE 4
check "no others" no_others
bg_end "$watch" || :

bg "$NS2" socat -u UDP4-RECV:4791 STDOUT
taken=$!
wait_for 20 eval 'n2 ss -Hulna "sport = :4791" | grep -q .'
check "port 4791 taken is named" refuses 4791 \
	n2 rdmatool link add xr2 netdev eth0 xdp off
check "in the log for rdma" refuses_logged 4791 \
	n2 rdma link add xr2 type xroce netdev eth0
bg_end "$taken"
check "port free again, link made" n2 rdmatool link add xr2 netdev eth0 xdp "$xdp"

# Another netdev of h1 has the link-local address that the peer has: behind eth0 it is
# the peer's all the same
twin() {
	n1 ip link add twin type veth peer name twin-far && n1 ip link set twin-far up &&
		n1 ip addr add "$far/64" dev twin nodad && n1 ip link set twin up &&
		n1 rdmatool link add xr3 netdev twin xdp "$xdp" &&
		wait_for 20 has_gid "$NS1" xr3 "$far"
}
# loops 0|1 COMMAND... - it succeeds; h1's device sends nothing to itself, or something
loops() {
	local was now
	was=$(counter "$NS1" xr1 looped_pkts)
	"${@:2}" || return
	now=$(counter "$NS1" xr1 looped_pkts)
	echo "$was packets to itself before, $now after"
	[ "$((now - was > 0))" = "$1" ]
}
to_peer() { verbs_pair "$near" "$far" ibv_rc_pingpong -n 100; }
to_itself() {
	local pingpong=(ibv_rc_pingpong -n 100 -d xr1 -g "$(gid_index "$NS1" xr1 "$near")")
	NS2=$NS1 RNS2=$NS1 ends 'tcp_listens 18515' "${pingpong[@]}" -- \
		"${pingpong[@]}" "$V4.1"
}
near=$(link_local "$NS1" eth0) far=$(link_local "$NS2" eth0)
check "the peer's link-local address on another link" in_time has_gid "$NS2" xr2 "$far"
check "is had here, too" twin
check "behind its netdev it is the peer's" loops 0 to_peer
check "its own is its own" loops 1 to_itself
n1 rdmatool link del xr3
n1 ip link del twin

# A link with a table of its own length: its netdev's own GID, and one address
gids=/sys/module/xroce/parameters/gids
length() { n1 ibv_devinfo -v -d "$1" | grep -qE "gid_tbl_len:[[:space:]]*$2\$"; }
short() {
	echo 2 >"$gids" && n1 ip link add short type dummy && n1 ip link set short up &&
		rdma_add "$NS1" xroce xr3 short off && n1 ip addr add 198.18.8.1/24 dev short &&
		wait_for 20 has_gid "$NS1" xr3 198.18.8.1
}
full() {
	n1 ip addr add 198.18.9.1/24 dev short && sleep 1 && ! has_gid "$NS1" xr3 198.18.9.1 &&
		has_gid "$NS1" xr3 198.18.8.1
}
check "a GID table of two" short
check "is of that length, for who asks" length xr3 2
check "another link's is as it was" length xr1 256
check "what is not for it does not get in" full
for n in 0 257 x; do
	check "nor is a length of $n taken" refuses "Invalid argument|Numerical result" \
		tee "$gids" <<<"$n"
	check "it is as it was" [ "$(cat "$gids")" = 2 ]
done
echo 256 >"$gids"
n1 rdmatool link del xr3
n1 ip link del short

# Given to another namespace, whose users reach by it what its netdev reaches; that
# stays where it is, and with it the link
give() {
	ip netns add "$NS3" && in_ns "$NS3" ip link set lo up &&
		n1 rdma dev set xr1 netns "$NS3"
}
given() {
	in_ns "$NS3" rdma link show xr1/1 | grep -q 'state ACTIVE' &&
		has_gid "$NS3" xr1 "$V4.1"
}
if rdma system show | grep -q 'netns exclusive'; then
	check "given to another namespace" give
	check "its own has it no more" gone xr1
	check "there it is active, with its GIDs" in_time given
	check "its netdev has a link still" refuses "has an xroce link" \
		n1 rdmatool link add xr7 netdev eth0 xdp off
	check "nor has it one to be set there" refuses "netdev is in this namespace" \
		in_ns "$NS3" rdmatool link set xr1 xdp off
	check "XDP stays $xdp" xdp_is "$xdp"
	check "the peer's is ready" in_time has_gid "$NS2" xr2 "$V4.2"
	RNS1=$NS3
	ud "$label, given" shape mcast
	rc "$label, given" forward shape
	RNS1=$NS1
	check "given back" in_ns "$NS3" rdma dev set xr1 netns "$NS1"
	check "its GIDs" in_time gid "$V4.1"
	ud "$label, given back" shape
	ip netns del "$NS3"
	check "given again" give
	check "who has it ends" ip netns del "$NS3"
	check "it is the first namespace's" in_time rdma link show xr1/1
	check "which deletes it" rdma link del xr1
	check "a link in its own again" n1 rdmatool link add xr1 netdev eth0 xdp "$xdp"
else
	skip "$label: given to another namespace" "they share RDMA devices"
fi

if [ "$xdp" = off ]; then
	check "module unloads with idle links" rmmod xroce
	check "which go with it" gone xr1
	check "a link again" n1 rdmatool link add xr1 netdev eth0 xdp off
	check "and at the peer" n2 rdmatool link add xr2 netdev eth0 xdp off
else
	check "module whose programs are attached does not unload" \
		eval '! rmmod xroce 2>/dev/null'
fi
watch_events
check "netdevs deleted under their links" n1 ip link del eth0
check "devices go with them" in_time gone xr1
check "event for who has one open" in_time events DEVICE_FATAL 1
bg_end "$watch" || :
check "the peer's too" in_time eval '! n2 rdma link show xr2/1 2>/dev/null'
check "sockets are gone" in_time silent

topo_veth "$NS1" eth0 "$NS2" eth0 1500
addresses "$NS1" eth0 1
addresses "$NS2" eth0 2
check "new link on a new netdev" n1 rdmatool link add xr1 netdev eth0 xdp "$xdp"
check "and at the peer" n2 rdmatool link add xr2 netdev eth0 xdp "$xdp"
check "namespace deleted under its link" ip netns del "$NS2"
check "the peer's netdev and device go with it" in_time gone xr1
# where a program was it holds the module until nobody can be in it
check "module unloads after all" in_time unload
# Two for each CPU; what is in flight still comes back later
pools_end() {
	local trace=/sys/kernel/tracing n
	modprobe xroce && echo >"$trace"/trace &&
		echo 1 >"$trace"/events/page_pool/page_pool_release/enable || return
	unload
	echo 0 >"$trace"/events/page_pool/page_pool_release/enable
	n=$(grep -c page_pool_release: "$trace"/trace)
	echo "$n of them"
	[ "$n" -ge $((2 * $(nproc --all))) ]
}
check "its pools of pages go with it" pools_end
tap_end
