#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# rdmatool monitor: devices that come and go, QPs that try again and fail; what
# it says to whom may not see QPs, and to mistakes.

# shellcheck disable=SC2317 # called by try, wait_for
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh

topo_need rdmatool jq ib_send_bw setpriv bpftool
modprobe xroce || skip_all "no module xroce"

# start ARGUMENTS... - in h1, JSON to the file `events`
start() {
	bg "$RNS1" rdmatool -j monitor "$@" >"$TOPO_TMP/events" 2>"$TOPO_TMP/err"
	pid=$!
	wait_for 20 grep -q monitoring "$TOPO_TMP/err"
}

# stop - with its exit status
stop() {
	kill -INT "$pid"
	wait "$pid"
}

# event NAME FILTER - of which jq finds at least one
event() {
	local got
	if got=$(jq -e "map(select($2)) | length > 0" "$TOPO_TMP/events" 2>&1); then
		ok "$1"
	else
		not_ok "$1" "$got: $(tail -c 400 "$TOPO_TMP/events")"
	fi
}

# fail_qp LOG - its peer is killed; until LOG tells of that
fail_qp() {
	local index1 index2 server client
	index1=$(gid_index "$RNS1" "$RDMA1" "$V4.1")
	index2=$(gid_index "$RNS2" "$RDMA2" "$V4.2")
	bg "$RNS2" ib_send_bw -F -d "$RDMA2" -x "$index2" -D 60 >/dev/null 2>&1
	server=$!
	wait_for 30 tcp_listens 18515
	bg "$RNS1" ib_send_bw -F -d "$RDMA1" -x "$index1" -D 60 "$V4.2" \
		>/dev/null 2>&1
	client=$!
	wait_for 30 eval '[ "$(counter "$RNS1" "$RDMA1" sent_pkts)" -gt 100 ]'
	kill -KILL "$server"
	wait_for 40 grep -q '"event":"error"' "$1"
	bg_end "$server"
	bg_end "$client"
}

test_qps() {
	local other
	start dev "$RDMA1/1"
	bg "$RNS2" rdmatool -j monitor >"$TOPO_TMP/events2" 2>"$TOPO_TMP/err2"
	other=$!
	wait_for 20 grep -q monitoring "$TOPO_TMP/err2"
	fail_qp "$TOPO_TMP/events"
	stop
	try "SIGINT is a good end" test $? = 0
	kill -INT "$other"
	wait "$other"
	try "who could tell of QPs" eval '! grep "devices only" "$TOPO_TMP/err2"'
	try "another namespace's QPs are not told of" jq -e \
		'map(select(.lqpn)) == []' "$TOPO_TMP/events2"
	event "a QP that tries again, and why" ".event == \"retry\" and
		.ifname == \"$RDMA1\" and .why == \"local_ack_timeout_err\" and .lqpn > 1"
	event "its retries count down" '.event == "retry" and .retries == 0'
	event "a QP that fails, and why" '.event == "error" and
		.status == "transport-retries" and .rqpn > 1'
}

unloaded() { modprobe -r xroce 2>/dev/null; [ ! -e /sys/module/xroce ]; }

test_late() {
	rdma_down
	try "the module unloads" wait_for 20 unloaded
	start
	try "begun without it" [ ! -e /sys/module/xroce ]
	try "devices" rdma_up
	fail_qp "$TOPO_TMP/events"
	stop
	event "QPs of a module that came later" '.event == "error" and .rqpn > 1'
}

test_devices() {
	start
	r1 rdma link del "$RDMA1"
	rdma_add "$NS1" xroce "$RDMA1" "$ETH1"
	wait_for 10 grep -q '"registered"' "$TOPO_TMP/events"
	wait_for 10 grep -q '"netdev attached"' "$TOPO_TMP/events"
	stop
	event "a device goes" ".event == \"unregistered\" and .ifname == \"$RDMA1\""
	event "a device comes" ".event == \"registered\" and .ifname == \"$RDMA1\""
	event "on its netdev" ".event == \"netdev attached\" and .netdev == \"$ETH1\""
}

no_programs() {
	[ "$(bpftool -j prog show | jq 'map(select(.name | startswith("monitor_"))) |
		length')" = 0 ]
}

test_rest() {
	start -t 1
	wait "$pid"
	try "-t ends it, with valid JSON" jq -e '. == []' "$TOPO_TMP/events"
	r1 setpriv --reuid 65534 --clear-groups rdmatool -j monitor -t 1 \
		>"$TOPO_TMP/events" 2>"$TOPO_TMP/err"
	try "nobody sees devices only" grep -q 'devices only' "$TOPO_TMP/err"
	try "a usage error" test "$(r1 rdmatool monitor -c 0 2>&1)" = \
		"rdmatool: monitor: nothing happens in no time"
	try "no program is left" wait_for 10 no_programs
}

topo_direct 1500
if rdma_up; then
	ok "devices"
	test_qps
	test_late
	test_devices
	test_rest
else
	not_ok "devices"
fi
tap_end
