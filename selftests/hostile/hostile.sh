#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# What the verbs accept and refuse, and rings full of garbage: of QPs that speak
# with each other within h1, and of such as speak with h2 by the wire; with doorbells,
# and with threads that look at the rings.
#
#   +----------+         +----------+
#   | h1  eth0 |---------| eth0  h2 |	veth, 198.18.1.1, .2
#   +----------+         +----------+
#
# XROCE_XDP=off|generic|native  XROCE_HOSTILE_S: seconds of garbage, 60, 240 on
# a kernel that checks everything, or 600 with XROCE_LONG  XROCE_SEED

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh

seconds=60
# A kernel that checks everything does less in that time than the tests want seen
[ ! -e /sys/kernel/debug/kmemleak ] || seconds=240
[ -z "${XROCE_LONG:-}" ] || seconds=600
seconds=${XROCE_HOSTILE_S:-$seconds}

# XDP frames that h1's driver has been given to send
# garbage [ENVIRONMENT] - and it is not all within h1: connected QPs of h2 are reached
garbage() {
	local pkts sent
	pkts=$(counter "$RNS2" "$RDMA2" rcvd_pkts) sent=$(xdp_sent)
	r1 env "$@" ./rings "$RDMA1" "$RDMA2@$RNS2" $((seconds / 2)) \
		"${XROCE_SEED:-4711}" || return
	pkts=$(($(counter "$RNS2" "$RDMA2" rcvd_pkts) - pkts))
	sent=$(($(xdp_sent) - sent))
	echo "# h2's QPs got $pkts packets, h1 sent $sent by XDP"
	[ "$pkts" -gt 100 ] && if [ "$XROCE_XDP" = native ]; then
		[ "$sent" -gt 100 ]
	else
		[ "$sent" = 0 ]
	fi
}

# rings NAME [ENVIRONMENT]
rings() {
	local before=$tap_failed
	try "$1" garbage "${@:2}"
	[ "$tap_failed" != "$before" ] || grep '^# ' <<<"$tap_said"
}

rdma_gone() {
	rdma_down
	# an XDP program may hold it for a few milliseconds more
	wait_for 10 rmmod xroce
}

topo_need ethtool
topo_direct 1500
rdma_up || exit 1
label="$XROCE_XDP"
# A million of them where each is checked take more than half an hour
few=()
[ ! -e /sys/kernel/debug/kmemleak ] || few=(few)
try "$label: what is accepted and refused" r1 ./attr "$RDMA1" "${few[@]}"
rings "$label: rings full of garbage"
rings "$label: the same, looked at by a thread" XROCE_POLL_US=1000
try "$label: rmmod after it" rdma_gone
tap_end
