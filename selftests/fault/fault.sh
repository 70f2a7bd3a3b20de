#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Packets are lost, reordered, doubled, damaged and marked; every byte still
# arrives, and once. netem's own counters must show that it did what it was told.
#
#   +---------+     +----------------------+     +---------+
#   | h1 eth0 |-----| p1 --- br0 --- p2  m |-----| eth0 h2 |
#   +---------+     +----------------------+     +---------+
#                  netem on the egress of p1 and p2
#
# DEVTYPE=xroce|rxe  XROCE_XDP=off|generic|native  XROCE_MTU=1500|4500|9000

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh

topo_need tc
# 67 ms, which a loaded kernel with all checkers on takes for a round trip
ack_timeout=14
[ ! -e /proc/lockdep_stats ] || ack_timeout=18
topo_middle "${XROCE_MTU:-4500}"
label="$DEVTYPE $XROCE_XDP"
rdma_devices "$label"

rx_packets() {
	nm ip -s -j link show dev "$1" | jq '.[0].stats64.rx.packets'
}

# What the devices count of each fault; nothing of what recovers unnoticed
declare -A traces=([lost]=retransmitted_pkts [doubled]=duplicate_request
		   [damaged]=rx_icrc_encapsulated [marked]=rp_cnp_handled
		   [gap]=packet_seq_err)

# traces_of WHAT - counted at both ends; rdma_rxe has no such counters
traces_of() {
	local name=${traces[$1]:-}
	if [ "$DEVTYPE" != xroce ] || [ -z "$name" ]; then
		echo 0
		return
	fi
	echo $(($(counter "$NS1" "$RDMA1" "$name") +
		$(counter "$NS2" "$RDMA2" "$name")))
}

# netem_did WHAT - its counters show it, on both ports
netem_did() {
	local p from
	for p in p1 p2; do
		case $1 in
		lost)	[ "$(netem_count $p drops)" -gt 0 ] ;;
		# what it sends ahead of others it counts as requeued
		reordered) [ "$(netem_count $p requeues)" -gt 0 ] ;;
		# more left by it than came in by the other port
		doubled)
			from=p2
			[ $p = p1 ] || from=p1
			[ "$(netem_count $p packets)" -gt \
			  $(($(rx_packets $from) - before[$from])) ] ;;
		# not counted by netem, but by the devices
		damaged | marked) [ "$(netem_count $p packets)" -gt 200 ] ;;
		esac || return 1
	done
}

no_netem() {
	local p
	for p in p1 p2; do
		nm tc qdisc del dev $p root 2>/dev/null
	done
}

# What follows a fault goes by the rules again, but for one in a hundred
came_back() {
	local fast core again
	fast=$(fast_packets) core=$(core_packets) again=$(sent_again)
	verbs_pair "$V4.1" "$V4.2" ibv_rc_pingpong -e -c -n 500 -s 6000 || return
	again=$(($(sent_again) - again))
	fast=$(($(fast_packets) - fast)) core=$(($(core_packets) - core - 2 * again))
	echo "by the rules $fast, by the core $core, and $again sent again"
	[ "$fast" -gt 4000 ] && [ $((core * 100)) -lt "$fast" ]
}

# fault NAME WHAT NETEM-ARGUMENTS... -- XROCE_RC-ARGUMENTS...
fault() {
	local name="$label, $1" what=$2 args=() p seen core
	local -A before
	shift 2
	while [ "$1" != -- ]; do
		args+=("$1")
		shift
	done
	shift
	no_netem
	for p in p1 p2; do
		before[$p]=$(rx_packets $p)
		if ! netem $p "${args[@]}"; then
			not_ok "$name: netem ${args[*]}"
			return
		fi
	done
	seen=$(traces_of "$what")
	core=$(core_packets)
	rc "$name" forward -t "$ack_timeout" "$@"
	if netem_did "$what"; then
		ok "$name: netem did it"
	else
		not_ok "$name: netem did it" "$(nm tc -s qdisc show | tr '\n' ' ')"
	fi
	[ "$DEVTYPE $XROCE_XDP $what" != "xroce native lost" ] ||
		try "$name: it is the core's to mend" [ $(($(core_packets) - core)) -gt 20 ]
	[ "$DEVTYPE" = xroce ] && [ -n "${traces[$what]:-}" ] || return 0
	if [ "$(traces_of "$what")" -gt "$seen" ]; then
		ok "$name: ${traces[$what]} rose"
	else
		not_ok "$name: ${traces[$what]} rose"
	fi
}

fault "1 % lost" lost loss 1% -- -m 1024 -r 8 mix many annex
fault "1 % lost" lost loss 1% -- -6 -m 256 -r 4 mix
fault "5 % lost" lost loss 5% -- -m 1024 -r 8 mix
fault "5 % lost" lost loss 5% -- -6 -m 4096 -r 4 mix
fault "reordered" reordered delay 2ms reorder 75% 50% -- -m 1024 -r 8 mix many
fault "doubled" doubled duplicate 10% -- -m 1024 -r 8 mix many annex
fault "damaged" damaged corrupt 2% -- -m 1024 -r 4 mix
no_netem
[ "$DEVTYPE $XROCE_XDP" != "xroce native" ] || try "$label: and all is fast again" came_back
# xdp_of_both MODE - which decides the way out too
xdp_of_both() {
	n1 rdmatool link set "$RDMA1" xdp "$1" && n2 rdmatool link set "$RDMA2" xdp "$1"
}

# local_fault NAME QDISC... - the hosts' own netdevs drop; XDP sends by no qdisc
local_fault() {
	local name="$label, $1" dev drops
	shift
	for dev in "$NS1 $ETH1" "$NS2 $ETH2"; do
		# shellcheck disable=SC2086
		set -- $dev "$@"
		in_ns "$1" tc qdisc replace dev "$2" root "${@:3}"
		shift 2
	done
	rc "$name" forward -t "$ack_timeout" -m 1024 -r 8 mix many
	drops=$(n1 tc -s -j qdisc show dev "$ETH1" | jq '.[0].drops')
	if [ "$drops" -gt 0 ]; then
		ok "$name: it did"
	else
		not_ok "$name: it did" "$(n1 tc -s qdisc show dev "$ETH1" | tr '\n' ' ')"
	fi
	n1 tc qdisc del dev "$ETH1" root
	n2 tc qdisc del dev "$ETH2" root
}

own_xdp=
[ "$DEVTYPE $XROCE_XDP" != "xroce native" ] || own_xdp=1
[ -z "$own_xdp" ] || try "$label: sent as skbs once XDP is off" xdp_of_both off
local_fault "the host's own qdisc loses 2 %" netem limit 1000 loss 2%
local_fault "the host's own qdisc is full" netem limit 8 delay 1ms
[ -z "$own_xdp" ] || try "$label: and as XDP frames again" xdp_of_both native
# What is not marked as able to be marked would be lost, and seen as a gap for nearly
# each mark. Gaps alone may be a sender that changed its CPU.
# marked NAME XROCE_RC-ARGUMENTS...
marked() {
	local name=$1 naks marks
	shift
	naks=$(traces_of gap) marks=$(traces_of marked)
	fault "$name" marked loss 5% ecn -- "$@"
	naks=$(($(traces_of gap) - naks)) marks=$(($(traces_of marked) - marks))
	if [ $((naks * 3)) -lt "$marks" ]; then
		ok "$label, $name: nothing lost"
	else
		not_ok "$label, $name: nothing lost" "$naks gaps, $marks marks"
	fi
}

if [ "$DEVTYPE" = xroce ]; then
	marked "5 % marked" -m 1024 -r 8 mix many
	# the traffic class says it there
	marked "5 % marked, IPv6" -6 -m 1024 -r 4 mix
fi
tap_end
