#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Counters that QPs are bound to, by rdma statistic: what QPs count while bound and
# not before or after, by hand and by type, and what the link has beside them.

# Some functions are called by try alone.
# shellcheck disable=SC2317

cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ../lib/says.sh

topo_need rdmatool rdma jq ibv_rc_pingpong
modprobe xroce || skip_all "no module xroce"
XROCE_XDP=native
NAMES=(sent_pkts sent_bytes rcvd_pkts rcvd_bytes rdma_sends rdma_recvs acks_sent)
declare -A qpn pid

stat() { r1 rdma "${@:2}" statistic qp "$1" link "$RDMA1/1"; }

# pair PORT - two programs that talk until they are stopped; $! is host 1's
pair() {
	bg "$RNS2" ibv_rc_pingpong -d "$RDMA2" -g "$index2" -p "$1" \
		-s 6000 -n 100000000 >/dev/null
	pid[far$1]=$!
	wait_for 30 tcp_listens "$1"
	bg "$RNS1" ibv_rc_pingpong -d "$RDMA1" -g "$index1" -p "$1" \
		-s 6000 -n 100000000 "$V4.2" >/dev/null
	pid[$1]=$!
	wait_for 30 eval '[ "$(sends "${pid['"$1"']}")" -gt 100 ]'
	qpn[$1]=$(of "${pid[$1]}" | jq .lqpn)
}

# of PID - what the QP of a process of host 1 has counted itself
of() { r1 rdmatool -j stat qp dev "$RDMA1" pid "$1" | jq '.[0] // {}'; }
sends() { of "$1" | jq '.rdma_sends // 0'; }

# By what the QPs count: who asks for the link's has all counters take what is theirs
pause() {
	local was='' now
	kill -STOP "${pid[@]}"
	for _ in {1..50}; do
		now=$(r1 rdmatool -j stat qp dev "$RDMA1" | jq -c 'map([.sent_pkts, .rcvd_pkts])')
		[ "$now" != "$was" ] || return 0
		was=$now
		sleep 0.2
	done
	return 1
}

# end PORT - both programs, stopped as they are
end() {
	kill -KILL "${pid[$1]}" "${pid[far$1]}"
	bg_end "${pid[$1]}"
	bg_end "${pid[far$1]}"
	unset "pid[$1]" "pid[far$1]" "qpn[$1]"
}

# All go on for at least 100 messages of each, and pause again
run() {
	local p was now
	declare -A was
	for p in "${!qpn[@]}"; do
		was[$p]=$(sends "${pid[$p]}")
	done
	kill -CONT "${pid[@]}"
	for p in "${!qpn[@]}"; do
		wait_for 30 eval '[ "$(sends "${pid['"$p"']}")" -gt $((was['"$p"'] + 100)) ]'
	done
	pause
}

# values FILTER - of JSON, the numbers of NAMES in a line
values() {
	jq -c "$1 | [$(printf '.%s // 0,' "${NAMES[@]}")0] | map(tonumber)"
}

mine() { of "${pid[$1]}" | values .; }
counter() { stat show -j | values ".[] | select(.cntn == $1)"; }

# sum [-] A [-] B... - of lines of numbers
sum() {
	local sign=1 arg all=''
	for arg; do
		if [ "$arg" = - ]; then
			sign=-1
			continue
		fi
		all+=$(jq -c "map(. * $sign)" <<<"$arg")$'\n'
		sign=1
	done
	jq -sc 'transpose | map(add)' <<<"$all"
}

# has NUMBER WANTED - the counter has these values, and they are not all 0
has() {
	local got
	got=$(counter "$1")
	echo "counter $1: $got, not $2"
	[ "$got" = "$2" ] && [ "$(jq add <<<"$got")" -gt "${3:-100}" ]
}

# What QPs bound or not have counted is counted once, by netlink and in sysfs
link_has_all() {
	local ours theirs sysfs port n
	# what sysfs shows is kept for so long
	sleep 0.1
	ours=$(r1 rdmatool -jd stat show "$RDMA1" | values '.[0]')
	theirs=$(r1 rdma -j statistic show link "$RDMA1/1" | values '.[0]')
	sysfs=$(for n in "${NAMES[@]}"; do
		r1 cat "/sys/class/infiniband/$RDMA1/ports/1/hw_counters/$n"
	done | jq -sc '. + [0]')
	# what the link itself has sent and received, whoever is bound to what
	port=$(for n in xmit rcv; do
		r1 cat "/sys/class/infiniband/$RDMA1/ports/1/counters/port_${n}_packets"
	done | xargs)
	n=$(r1 rdmatool -jd stat show "$RDMA1" | jq -r '.[0] | "\(.sent_pkts) \(.rcvd_pkts)"')
	echo "rdmatool $ours rdma $theirs sysfs $sysfs; of packets $n, the port's $port"
	[ "$ours" = "$theirs" ] && [ "$ours" = "$sysfs" ] && [ "$n" = "$port" ]
}

bind() { r1 rdma statistic qp bind link "$RDMA1/1" "$@"; }
unbind() { r1 rdma statistic qp unbind link "$RDMA1/1" "$@"; }
no() { ! "$@"; }

test_bind() {
	local a=18515 b=18516 at_a at_b kept
	pair $a
	pair $b
	try "pause" pause
	says "nothing is bound by itself" 'auto off' stat mode
	at_a=$(mine $a)
	try "a QP is bound" bind lqpn "${qpn[$a]}"
	cntn=$(stat show -j | jq '.[0].cntn')
	json "to a counter of its own" "[[${qpn[$a]}]]" '[.[].lqpn]' stat show -j
	try "which begins at 0" has "$cntn" "[0,0,0,0,0,0,0,0]" -1
	try "traffic" run
	try "it has what the QP counts from then on" has "$cntn" \
		"$(sum "$(mine $a)" - "$at_a")"
	try "and the link has it once" link_has_all
	at_b=$(mine $b)
	try "another QP is bound to it" bind lqpn "${qpn[$b]}" cntn "$cntn"
	try "traffic" run
	try "it has what both count" has "$cntn" \
		"$(sum "$(mine $a)" - "$at_a" "$(mine $b)" - "$at_b")"
	try "traffic, of which the counter is not asked" run
	kept=$(sum "$(mine $a)" - "$at_a")
	try "one is let go" unbind cntn "$cntn" lqpn "${qpn[$a]}"
	try "traffic" run
	try "what that had counted stays, no more" has "$cntn" \
		"$(sum "$kept" "$(mine $b)" - "$at_b")"
	try "the link has it once" link_has_all

	try "a QP that is bound is not bound again" no bind lqpn "${qpn[$b]}"
	try "nor one that there is not" no bind lqpn 77
	try "nor another link's" no bind lqpn \
		"$(r2 rdmatool -j stat qp dev "$RDMA2" type RC | jq '.[0].lqpn')"
	try "nor to a counter that there is not" no bind lqpn "${qpn[$a]}" cntn 4711
	try "one that is not bound is not let go" no unbind cntn "$cntn" \
		lqpn "${qpn[$a]}"
	try "nothing of this has changed it" has "$cntn" \
		"$(sum "$kept" "$(mine $b)" - "$at_b")"

	kept=$(counter "$cntn") at_a=$(mine $a) at_b=$(mine $b)
	try "bound again" bind lqpn "${qpn[$a]}" cntn "$cntn"
	try "traffic, of which the counter is not asked" run
	kept=$(sum "$kept" "$(mine $a)" - "$at_a" "$(mine $b)" - "$at_b")
	end $a
	try "a QP that ends leaves what it had" has "$cntn" "$kept"
	try "the link has it once" link_has_all
	end $b
	json "the last takes the counter with it" '[]' . stat show -j
	try "and the link has it still" link_has_all
}

test_auto() {
	local a=18517
	try "QPs are bound by their type" r1 rdma statistic qp set link "$RDMA1/1" auto type on
	says "which the mode says" 'auto type' stat mode
	pair $a
	try "traffic" run
	cntn=$(stat show -j | jq ".[] | select(.lqpn == [${qpn[$a]}]).cntn")
	try "one has all it has counted" has "$cntn" "$(mine $a)"
	try "and the link has it once" link_has_all
	try "none is bound by hand then" no bind lqpn "${qpn[$a]}"
	end $a
	try "off" r1 rdma statistic qp set link "$RDMA1/1" auto off
	says "which the mode says" 'auto off' stat mode
}

topo_direct 7000
try "links" rdma_up
index1=$(gid_index "$RNS1" "$RDMA1" "$V4.1")
index2=$(gid_index "$RNS2" "$RDMA2" "$V4.2")
# first: before 6.12.117 or so ib_core counts a bind that it has refused as one
test_auto
test_bind
tap_end
