#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Contexts with a thread that looks at their send queues (XROCE_POLL_US): all that
# is sent arrives, doorbells are few, and the thread ends with its context.
#
#   +----------+         +----------+
#   | h1  eth0 |---------| eth0  h2 |	veth, 198.18.1.1, .2
#   +----------+         +----------+
#
# XROCE_XDP=off|generic|native  XROCE_MTU=1500|4500|9000

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh

label="xroce $XROCE_XDP"

threads() {
	cat /proc/[0-9]*/task/*/comm 2> /dev/null | grep -c '^xroce-poll'
}

no_threads() {
	[ "$(threads)" = 0 ]
}

# doorbells PER-HUNDRED-MOST: since $rung and $sent, the last of each
few_doorbells() {
	local bells=$(($(counter "$NS1" "$RDMA1" doorbells) - rung))
	local pkts=$(($(counter "$NS1" "$RDMA1" sent_pkts) - sent))
	echo "$bells doorbells for $pkts packets"
	[ "$pkts" -gt 500 ] && [ $((bells * 100)) -lt $((pkts * $1)) ]
}

# A bad number is refused, and said to be bad
refused() {
	local out
	out=$(XROCE_POLL_US=$1 in_ns "$NS1" ibv_rc_pingpong -d "$RDMA1" -g 0 2>&1) &&
		return 1
	echo "$out"
	[[ $out == *"XROCE_POLL_US: \"$1\" is no number from 0 to 1000000"* ]]
}

# Ping and pong without end from h2 to h1, each with a thread
serve() {
	bg "$RNS1" ibv_rc_pingpong -d "$RDMA1" -g "$(gid_index "$RNS1" "$RDMA1" "$V4.1")" \
		-n 100000000 -s 64 > /dev/null
	far=$!
	NS2=$NS1 wait_for 60 tcp_listens 18515
	bg "$RNS2" ibv_rc_pingpong -d "$RDMA2" -g "$(gid_index "$RNS2" "$RDMA2" "$V4.2")" \
		-n 100000000 -s 64 "$V4.1" > /dev/null
	near=$!
	if wait_for 60 threads_at_least 2 && wait_for 60 flowing; then
		ok "$label: traffic, $1"
	else
		not_ok "$label: traffic, $1" "$(threads) threads"
	fi
	try "$label: whose thread it is pays for it" own_thread "$far"
}

# own_thread PID - it is one of the process's, in its cgroup
own_thread() {
	local comm task
	comm=$(grep -l '^xroce-poll' /proc/"$1"/task/*/comm) || return
	task=${comm%/comm}
	grep -q "^Tgid:[[:space:]]*$1\$" "$task/status" &&
		diff /proc/"$1"/cgroup "$task/cgroup"
}

threads_at_least() {
	[ "$(threads)" -ge "$1" ]
}

flowing() {
	local n
	n=$(counter "$NS1" "$RDMA1" rdma_recvs)
	[ "$n" -gt $((flow + 50)) ]
}
flow=0

topo_direct "${XROCE_MTU:-9000}"
rdma_devices "$label"
for bad in x -1 1000001 5x ''; do
	try "$label: XROCE_POLL_US=\"$bad\" is refused" refused "$bad"
done
export XROCE_POLL_US=2000
rc "$label, polled" forward mix many
# Long enough for a thread that has no CPU for a while, on a host with much to do
export XROCE_POLL_US=1000000
# A thread that is kept from its CPU sees new QPs late, and until then they ring
for _ in 1 2 3 4 5; do
	rung=$(counter "$NS1" "$RDMA1" doorbells) sent=$(counter "$NS1" "$RDMA1" sent_pkts)
	rc "$label, polled for long" forward many
	few_doorbells 20 > /dev/null && break
done
measure "$label: doorbells are few" few_doorbells 20
try "$label: no thread is left" wait_for 10 no_threads
# So short that it sleeps and wakes all the time
export XROCE_POLL_US=1
rc "$label, hardly polled" forward mix many

export XROCE_POLL_US=1000000
for who in signals stops import; do
	try "$label: its thread and $who" in_ns "$NS1" ./poller "$RDMA1" \
		"$(gid_index "$RNS1" "$RDMA1" "$V4.1")" "$who"
done
for end in far near; do
	flow=$(counter "$NS1" "$RDMA1" rdma_recvs)
	serve "the $end end to be killed"
	kill -9 "${!end}"
	bg_end "$far" 2> /dev/null
	kill -9 "$near" 2> /dev/null
	bg_end "$near" 2> /dev/null
	try "$label: $end end killed, no thread is left" wait_for 10 no_threads
done
both_killed() {
	kill -9 "$far" "$near" 2> /dev/null
	bg_end "$far" 2> /dev/null
	bg_end "$near" 2> /dev/null
	try "$label: $1" wait_for 10 no_threads
}

# limited PID - a fifth of a CPU for it and its thread, which is always awake
limited() {
	local cg=/sys/fs/cgroup/xroce-$$ from now status=1
	mkdir "$cg" && echo "20000 100000" >"$cg/cpu.max" && echo "$1" >"$cg/cgroup.procs" ||
		return
	# more than once: what a guest's CPU stood still is on its bill too
	for _ in 1 2 3; do
		sleep 1
		from=$(sed -n 's/^usage_usec //p' "$cg/cpu.stat")
		sleep 4
		now=$(sed -n 's/^usage_usec //p' "$cg/cpu.stat")
		echo "$(((now - from) / 1000)) ms of CPU in 4 s"
		[ $((now - from)) -gt 100000 ] && [ $((now - from)) -lt 2000000 ] &&
			status=0 && break
	done
	echo "$1" >/sys/fs/cgroup/cgroup.procs
	rmdir "$cg"
	return "$status"
}
flow=$(counter "$NS1" "$RDMA1" rdma_recvs)
serve "a limit"
what="$label: its cgroup's limit is its thread's"
if grep -q cpu /sys/fs/cgroup/cgroup.controllers 2>/dev/null; then
	echo +cpu >/sys/fs/cgroup/cgroup.subtree_control
	measure "$what" limited "$far"
else
	skip "$what" "no controller of CPU time"
fi
both_killed "both are gone"
flow=$(counter "$NS1" "$RDMA1" rdma_recvs)
serve "the link to go, under a process that is stopped too"
kill -STOP "$near"
rdma_down
try "$label: link gone, no thread is left but the stopped" \
	wait_for 20 eval '[ "$(threads)" -le 1 ]'
# workers are few, and others' threads are to end too
waits() {
	cat /proc/self/stack >/dev/null || return 4
	wait_for 10 eval '! cat /proc/[0-9]*/stack 2>/dev/null | grep vhost_task_stop'
}
try "$label: nobody waits for that" waits
both_killed "nor that"
tap_end
