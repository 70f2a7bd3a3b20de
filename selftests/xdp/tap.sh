#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# A netdev that takes XDP frames, but none of this CPU's now, as NICs' drivers do that
# have fewer rings than the host has CPUs: a tap whose queue is detached. Datagrams go
# by the stack then, and XDP is tried once a second, not for each; and again when the
# queue is back.
#
#   +--- h1 ---+
#   |   xr1    |
#   |   tap0   |--- ./tap hold
#   +----------+
#
# XROCE_XDP=native

# shellcheck disable=SC2317 # called by try, wait_for
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh

topo_need rdmatool
[ "$XROCE_XDP" = native ] || skip_all "frames go by XDP where it is native"
modprobe xroce || skip_all "no module xroce"
modprobe tun || skip_all "no taps"

TRACING=/sys/kernel/tracing
[ -e $TRACING/kprobe_events ] || mount -t tracefs none $TRACING
# How many calls of the tap's ndo_xdp_xmit() there were
calls() { awk '$1 == "xroce_tap" { print $2 }' "$TRACING/kprobe_profile"; }
probe() {
	echo 'p:xroce_tap tun_xdp_xmit' >>"$TRACING/kprobe_events" &&
		echo 1 >"$TRACING/events/kprobes/xroce_tap/enable"
}
unprobe() {
	echo 0 >"$TRACING/events/kprobes/xroce_tap/enable"
	echo '-:xroce_tap' >>"$TRACING/kprobe_events"
}

# tap COMMAND - its answer
tap() {
	local answer
	echo "$1" >&6
	read -r -t 20 answer <&5 && echo "$answer"
}

dropped() { n1 ip -s -j link show tap0 | jq '.[0].stats64.tx.dropped'; }

# What N datagrams did: calls, frames at the tap, frames that the stack lost
N=4000
datagrams() {
	local c d
	c=$(calls) d=$(dropped) began=$SECONDS
	# each CPU finds out on its own
	n1 taskset -c 0 ./tap send xr1 "::ffff:$V4.2" "$N" || return
	did="$(($(calls) - c)) $(tap drain) $(($(dropped) - d))"
}

by_xdp() {
	datagrams && read -r c f d <<<"$did" &&
		[ "$c" -ge $((N * 99 / 100)) ] && [ "$f" = "$N" ] && [ "$d" = 0 ] ||
		{ echo "calls, frames, dropped: $did"; return 1; }
}

# The first, and one each second; by counting bursts it would be sixteen
by_stack() {
	datagrams && read -r c f d <<<"$did" &&
		[ "$c" -le $((SECONDS - began + 2)) ] && [ "$f" = 0 ] &&
		[ "$d" -ge $((N * 95 / 100)) ] ||
		{ echo "calls, frames, dropped: $did"; return 1; }
}

topo_begin
coproc TAP { ip netns exec "$NS1" ./tap hold tap0; }
topo_pids+=("$TAP_PID")
exec 5<&"${TAP[0]}" 6>&"${TAP[1]}" # a subshell has the others not
read -r -t 20 _ <&5 || { echo "Bail out! no tap"; exit 1; }
n1 ip link set dev tap0 txqueuelen $((2 * N)) up
addresses "$NS1" tap0 1
n1 ip neigh replace $V4.2 lladdr 02:00:00:00:00:02 dev tap0
try "a link over a tap" rdma_add "$NS1" xroce xr1 tap0
try "XDP is $XROCE_XDP" test "$(xdp_mode "$NS1" tap0)" = "$XROCE_XDP"
wait_for 20 has_gid "$NS1" xr1 $V4.1
try "its calls are counted" probe
tap drain >/dev/null
try "with a queue XDP frames go to it" by_xdp
tap detach >/dev/null
try "without one all go by the stack, and XDP is rarely tried" by_stack
try "the same again" by_stack
tap attach >/dev/null
tap drain >/dev/null
sleep 1.2
try "with the queue back XDP frames go to it" by_xdp
unprobe
topo_clear
tap_end
