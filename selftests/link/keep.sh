#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# What a user of a link has of it and of its netdev is no more than he was given:
# not another namespace's network, not another's memberships, and no long wait.
#
#   +----------+         +----------+
#   | h1  eth0 |---------| eth0  h2 |	veth, 198.18.1.1, .2, fdc8::1, ::2
#   +----------+         +----------+
#        h3: where h1's moves to
#
# XROCE_XDP=off|generic|native

# shellcheck disable=SC2317,SC2034
# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
DEVTYPE=xroce
XROCE_NETNS=exclusive
. ../lib/topo.sh

topo_need rdmatool
topo_direct 1500
label="xroce $XROCE_XDP"
NS3=h3-$$

try "$label: links" rdma_up
index=$(gid_index "$NS1" "$RDMA1" "$V4.1")

ready() { grep -q ready "$TOPO_TMP/keep"; }
# keep ARGUMENT... - in the background; his pid is in $keeper
keep() {
	bg "$NS1" ./keep "$RDMA1" "$index" "$@" >"$TOPO_TMP/keep" 2>&1
	keeper=$!
}
all_nodes() { in_ns "$NS1" ip maddr show dev "$ETH1" | grep -qE 'inet6 ff02::1( |$)'; }

# A group that the host itself is in: who left it before the netdev lost its IP,
# and got it back, does not leave it again
keep group ff02::1
try "$label: a QP in the group of all nodes" wait_for 20 ready
lose_ip() {
	in_ns "$NS1" ip link set "$ETH1" mtu 1200 &&
		wait_for 10 eval "! all_nodes" &&
		in_ns "$NS1" ip link set "$ETH1" mtu 1500 &&
		wait_for 10 all_nodes
}
try "$label: its netdev loses IPv6, and has it again" lose_ip
bg_end "$keeper"
try "$label: which is in that group still" all_nodes

# A grace period each would be more than ten seconds
soon() {
	local xrc other
	read -r xrc other < <(in_ns "$NS1" ./keep "$RDMA1" "$index" srqs 1000) || return
	echo "$xrc ms, others $other ms"
	[ "$xrc" -lt $((3 * other + 5000)) ]
}
try "$label: a thousand SRQs of XRC end about as soon as others" soon

# Nor one for each region
regions() {
	local ms
	for _ in 1 2 3; do
		ms=$(in_ns "$NS1" ./keep "$RDMA1" "$index" mrs 1000) || return
		echo "$ms ms"
		[ "$ms" -ge 8000 ] || return 0
	done
	return 1
}
try "$label: a thousand MRs come and go without a grace period each" regions

sent() { counter "$NS2" "$RDMA2" drop_no_qp; }
# changes SECONDS - packets came within that time
changes() {
	local was
	was=$(sent)
	[ -n "$was" ] || return
	wait_for "$1" eval "[ \$(sent) != $was ]"
}
if [ ! -e /proc/sys/vm/unprivileged_userfaultfd ]; then
	skip "$label: a call that does not come back" "needs userfaultfd"
	tap_end
fi
keep call "::ffff:$V4.2"
try "$label: a call that does not come back" wait_for 20 ready
began=$SECONDS
try "$label: and QPs that send" changes 10
ip netns add "$NS3"
move() {
	in_ns "$NS1" ip link set "$ETH1" netns "$NS3" &&
		ip -n "$NS3" addr add "$V4.1/24" dev "$ETH1" &&
		ip -n "$NS3" link set "$ETH1" up
}
try "$label: its netdev moves to another namespace" move
reaches() { in_ns "$NS3" ping -c 1 -W 1 "$V4.2"; }
try "$label: which reaches the peer" wait_for 10 reaches
# Nor is the link there, whose end waits for the call, and it has nobody's addresses
elsewhere() {
	in_ns "$NS3" python3 -c '
import sys
sys.path.insert(0, "../tool")
from netlink import *
nl, link = Genl(), attr(IFINDEX, int(sys.argv[1]))
print(nl.ask(LINK_GET, link)[0], nl.ask(LINK_SET, link + attr(CWND_INIT, 8))[0],
      len(nl.ask(LINK_GET, b"", DUMP)[2]))' "$(in_ns "$NS3" cat "/sys/class/net/$ETH1/ifindex")"
}
not_there() { [ "$(elsewhere)" = '19 19 0' ]; }
try "$label: nobody there sees its link, or sets it" not_there
no_addresses() {
	local gids
	ip -n "$NS3" addr add 198.18.9.9/24 dev "$ETH1" && sleep 2 &&
		gids=$(in_ns "$NS1" sh -c "cat /sys/class/infiniband/$RDMA1/ports/1/gids/*") &&
		[ -n "$gids" ] && ! grep -q '[1-9a-f]' <<<"$gids"
}
try "$label: it has none of its addresses there" no_addresses
silent() {
	local was
	was=$(sent)
	[ -n "$was" ] && sleep 5 && [ "$(sent)" = "$was" ]
}
try "$label: the QPs do not, while the call lasts" silent
# nor have they given up
device() { in_ns "$NS1" test -e "/sys/class/infiniband/$RDMA1"; }
there() { device && [ $((SECONDS - began)) -lt 60 ]; }
try "$label: which it does" there
bg_end "$keeper"
try "$label: the link ends with it" wait_for 20 eval '! device'

if ! rdma system show | grep -q 'netns exclusive'; then
	skip "$label: given to another namespace" "they share RDMA devices"
	tap_end
fi
# On its way to another namespace a device is nobody's for a moment, and is not told what
# becomes of its netdev. The moment lasts here: who gives it away has to wait behind
# `second`, that behind `first`, and that for a directory which is being listed
back() {
	ip -n "$NS3" link set "$ETH1" netns "$NS1" && addresses "$NS1" "$ETH1" 1 &&
		rdma_add "$NS1" xroce "$RDMA1" "$ETH1" &&
		wait_for 20 rdma_ready "$NS1" "$RDMA1" 1
}
try "$label: the netdev is back, with a link" back
index=$(gid_index "$NS1" "$RDMA1" "$V4.1")
keep call "::ffff:$V4.2"
try "$label: a call that does not come back" wait_for 20 ready

# waits PID FUNCTION - in that, or what it calls
waits() { wait_for 20 grep -qE "$2" "/proc/$1/stack"; }
# stuck PID FUNCTION - behind a lock that it takes itself
stuck() { wait_for 20 eval "head -n 1 /proc/$1/stack | grep -qE '$2'"; }
bg "$NS1" rdma dev set "$RDMA1" netns "$NS3"
giver=$!
try "$label: who gives the device away waits for it" waits "$giver" ib_uverbs_remove_one
bg "$NS2" ./keep "$RDMA2" 0 dir /dev/infiniband >"$TOPO_TMP/keep" 2>&1
lister=$!
try "$label: a directory that is being listed" wait_for 20 ready
ip -n "$NS2" link add xm type veth peer name xn
bg "$NS2" rdma link add xm type xroce netdev xm
first=$!
try "$label: a link that waits for that" waits "$first" devtmpfs_create_node
bg "$NS2" rdma link add xn type xroce netdev xn
second=$!
try "$label: another that waits" stuck "$second" 'ib_register_device|assign_name'
bg_end "$keeper"
try "$label: with the call at its end who gives the device away does, too" \
	stuck "$giver" rdma_dev_change_netns
try "$label: its netdev moves to another namespace" \
	ip -n "$NS1" link set "$ETH1" netns "$NS3"
bg_end "$lister"
wait "$giver" "$first" "$second"
shown() { in_ns "$1" rdma link show "$RDMA1/1" 2>/dev/null; }
try "$label: its link is in neither" wait_for 20 eval '! shown $NS1 && ! shown $NS3'
tap_end
