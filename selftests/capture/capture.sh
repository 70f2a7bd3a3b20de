#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# rdmatool capture: every packet once in each direction, whole, with what became
# of it, as tshark and the device's counters have it; by XDP and by the socket,
# between hosts and within one; filters; a reader that is slow; reasons of drops.
#
#   +------- h1 --------+      +------- h2 --------+
#   | xr1 - eth0        |------|        eth0 - xr2 |
#   +-------------------+      +-------------------+
#
# XROCE_XDP=off|generic|native

# shellcheck disable=SC2317 # called by try, wait_for
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ../lib/says.sh

topo_need rdmatool python3 jq tshark ibv_ud_pingpong ib_send_bw ib_write_bw \
	ib_read_bw ib_atomic_bw bpftool setpriv
modprobe xroce || skip_all "no module xroce"

# start NAME NAMESPACE DEVICE ARGUMENTS... - a capture into NAME.pcapng
start() {
	local name=$TOPO_TMP/$1 ns=$2 dev=$3
	shift 3
	bg "$ns" rdmatool capture "$dev" -w "$name.pcapng" "$@" 2>"$name.err"
	captures[$(basename "$name")]=$!
	wait_for 20 grep -q capturing "$name.err" && return
	not_ok "capture $*" "$(cat "$name.err")"
}

# stop NAME [TOLD] - its exit status; a second signal would kill it
stop() {
	local pid=${captures[$1]} p left=() status
	[ -n "${2:-}" ] || kill -INT "$pid" 2>/dev/null
	wait "$pid"
	status=$?
	for p in "${topo_pids[@]}"; do
		[ "$p" = "$pid" ] || left+=("$p")
	done
	topo_pids=("${left[@]}")
	rdmatool -jd decode "$TOPO_TMP/$1.pcapng" >"$TOPO_TMP/$1.json" || status=$?
	return $status
}

# ended WHAT NAME [TOLD] - as it should; not by try, whose subshell cannot wait for it
ended() {
	local status=0
	stop "$2" "${3:-}" || status=$?
	try "$XROCE_XDP: $1" test "$status" = 0
}

# stat WHEN - the counters of both
stat() {
	r1 rdmatool -j stat show "$RDMA1" >"$TOPO_TMP/1.$1"
	r2 rdmatool -j stat show "$RDMA2" >"$TOPO_TMP/2.$1"
}

# compare NAME KIND FILE... - see compare.py
compare() {
	local name=$1 kind=$2 out
	shift 2
	if out=$(cd "$TOPO_TMP" && "$HERE/compare.py" "$kind" "$@" 2>&1); then
		ok "$XROCE_XDP: $name"
	else
		not_ok "$XROCE_XDP: $name" "${out//$'\n'/ | }"
	fi
}

# As tshark reads it: as many, all InfiniBand, named and with directions
by_tshark() {
	local name=$1 n got
	n=$(jq '.frames | length' "$TOPO_TMP/$name.json")
	got=$(tshark -r "$TOPO_TMP/$name.pcapng" -T fields -e frame.protocols \
		-e frame.interface_name -e _ws.malformed -e frame.comment \
		2>"$TOPO_TMP/tshark" | awk -v dev="$2" '
		$1 ~ /:infiniband/ && $2 == dev && /qp [0-9]+ [a-z]/ { ok++ }
		/[Mm]alformed/ { bad++ }
		END { print ok + 0, bad + 0 }')
	if [ "$got" = "$n 0" ]; then
		ok "$XROCE_XDP: tshark understands all of $name ($n)"
	else
		not_ok "$XROCE_XDP: tshark understands all of $name" \
			"$got, not $n 0: $(tail -n 1 "$TOPO_TMP/tshark")"
	fi
}

# A slow guest may need longer than the default timeout lets it
SLOW=(-m 4096 -u 20)

# Each service, READs and atomics, in packets of 4096 bytes of payload
traffic() {
	verbs_pair "$V4.1" "$V4.2" ib_send_bw "${SLOW[@]}" -s 20000 -n 20 &&
		verbs_pair "$V4.1" "$V4.2" ibv_ud_pingpong -s 2000 -n 20 &&
		verbs_pair "$V4.1" "$V4.2" ib_read_bw "${SLOW[@]}" -s 16384 -n 20 &&
		verbs_pair "$V6:1" "$V6:2" ib_atomic_bw "${SLOW[@]}" -n 20
}

test_between() {
	stat before
	start h1 "$RNS1" "$RDMA1"
	start h2 "$RNS2" "$RDMA2"
	stat before
	try "$XROCE_XDP: traffic under capture" traffic
	sleep 0.5
	stat after
	ended "SIGINT is a good end" h1
	ended "SIGINT is a good end" h2
	compare "every frame whole, every ICRC right, h1" whole h1.json
	compare "every frame whole, every ICRC right, h2" whole h2.json
	compare "as many as h1 counts" counts h1.json 1.before 1.after
	compare "as many as h2 counts" counts h2.json 2.before 2.after
	compare "what h1 sends h2 receives" wire h1.json h2.json
	compare "what h2 sends h1 receives" wire h2.json h1.json
	by_tshark h1 "$RDMA1"
	try "$XROCE_XDP: packets of 4096 bytes are there" jq -e \
		'[.frames[] | select(.len == 4096)] | length > 100' "$TOPO_TMP/h1.json"
	try "$XROCE_XDP: none was lost" grep -q ' captured, 0 lost' "$TOPO_TMP/h1.err"
}

# The device talks to itself: nothing goes over a wire
test_loopback() {
	local index server
	index=$(gid_index "$RNS1" "$RDMA1" "$V4.1")
	stat before
	start loop "$RNS1" "$RDMA1"
	stat before
	bg "$RNS1" timeout 60 ib_send_bw -d "$RDMA1" -x "$index" "${SLOW[@]}" -F \
		-s 20000 -n 20 >/dev/null 2>&1
	server=$!
	wait_for 30 eval "r1 ss -Hltn 'sport = :18515' | grep -q ."
	try "$XROCE_XDP: traffic within a host" r1 timeout 60 ib_send_bw \
		-d "$RDMA1" -x "$index" "${SLOW[@]}" -F -s 20000 -n 20 "$V4.1"
	wait "$server"
	sleep 0.5
	stat after
	ended "its capture" loop
	compare "every frame whole, every ICRC right, loopback" whole loop.json
	compare "as many as the device counts, loopback" counts loop.json \
		1.before 1.after
	compare "what it sends it receives" wire loop.json loop.json
}

tx_dropped() { r1 rdmatool -j stat show "$RDMA1" | jq '.[0].tx_dropped // 0'; }

# Several captures of the same packets, each with another filter
test_filters() {
	local qpn name pid1 pid2 before
	start all "$RNS1" "$RDMA1"
	start dir "$RNS1" "$RDMA1" dir in
	start opcode "$RNS1" "$RDMA1" opcode rc_ack,READ_RESPONSE_LAST
	start number "$RNS1" "$RDMA1" opcode 0x11
	start peer "$RNS1" "$RDMA1" peer "$V6:2"
	start verdict "$RNS1" "$RDMA1" verdict sent
	start none "$RNS1" "$RDMA1" verdict dropped
	start five "$RNS1" "$RDMA1" -c 5
	start qp "$RNS1" "$RDMA1" qp 1
	try "$XROCE_XDP: traffic for the filters" traffic
	for name in all dir opcode number peer verdict none five qp; do
		stop $name >/dev/null || not_ok "$name: status $?"
	done
	compare "dir" subset dir.json all.json dir in
	compare "opcode, by names" subset opcode.json all.json opcode \
		ACKNOWLEDGE READ_RESPONSE_LAST
	compare "opcode, by number" subset number.json all.json opcode ACKNOWLEDGE
	compare "peer" subset peer.json all.json peer "${V6}:2"
	compare "verdict" subset verdict.json all.json verdict sent_pkts
	# but what was asked for again, and found the QP gone
	try "$XROCE_XDP: nothing was dropped" jq -e '[.frames[] | select(.comment |
		test("drop_no_qp|drop_state") | not)] == []' "$TOPO_TMP/none.json"
	try "$XROCE_XDP: -c 5 is five" jq -e '.frames | length == 5' \
		"$TOPO_TMP/five.json"
	try "$XROCE_XDP: nothing was for QP 1" jq -e '.frames == []' \
		"$TOPO_TMP/qp.json"
	# of the next one, which has always WRITEs that nobody acknowledged
	bg "$RNS2" ib_write_bw -d "$RDMA2" "${SLOW[@]}" -F -n 1000000 \
		-x "$(gid_index "$RNS2" "$RDMA2" "$V4.2")" >/dev/null 2>&1
	pid2=$!
	wait_for 30 tcp_listens 18515
	bg "$RNS1" ib_write_bw -d "$RDMA1" "${SLOW[@]}" -F -n 1000000 \
		-x "$(gid_index "$RNS1" "$RDMA1" "$V4.1")" "$V4.2" >/dev/null 2>&1
	pid1=$!
	wait_for 20 eval "r1 rdmatool -j qp show dev $RDMA1 type RC state RTS |
		jq -e '.[0].lqpn'"
	qpn=$(r1 rdmatool -j qp show dev "$RDMA1" type RC | jq '.[0].lqpn')
	try "$XROCE_XDP: a line each, of one QP" test "$(r1 rdmatool -j capture \
		"$RDMA1" qp "$qpn" dir out -c 7 2>/dev/null | jq --arg want \
		"qp $qpn sent_pkts" '[.frames[] | select(.comment == $want)] |
		length')" = 7
	try "$XROCE_XDP: -t ends a capture without packets" \
		test "$(r1 timeout -s KILL 20 rdmatool -j capture "$RDMA1" peer 192.0.2.1 -t 1 \
		2>/dev/null | jq -c .frames)" = '[]'
	before=$(tx_dropped)
	start lost "$RNS1" "$RDMA1" verdict dropped dir out
	n1 ip link set "$ETH1" down
	# who waits for an answer asks for it; a ping-pong may wait for the other's
	try "$XROCE_XDP: what a netdev that is down loses" wait_for 10 \
		eval "[ \$(tx_dropped) -gt $before ]"
	n1 ip link set "$ETH1" up
	stop lost >/dev/null || not_ok "$XROCE_XDP: lost: status $?"
	try "$XROCE_XDP: is among what is dropped" jq -e '.frames | length > 0 and
		all(.comment | endswith("tx_dropped"))' "$TOPO_TMP/lost.json"
	bg_end "$pid1"
	bg_end "$pid2"
}

# The reader sleeps while a small ring overflows: packets are lost, not traffic
test_slow() {
	local lost in_file reader
	mkfifo "$TOPO_TMP/fifo"
	stat before
	(exec 9<"$TOPO_TMP/fifo"
	 while [ ! -e "$TOPO_TMP/go" ]; do sleep 0.1; done
	 cat <&9 >"$TOPO_TMP/slow.pcapng") &
	reader=$!
	# all but what a full netdev did not take: that is built, and seen, again
	bg "$RNS1" rdmatool capture "$RDMA1" verdict sent,rcvd,duplicate,out_of \
		-B 1 -w "$TOPO_TMP/fifo" 2>"$TOPO_TMP/slow.err"
	captures[slow]=$!
	wait_for 20 grep -q capturing "$TOPO_TMP/slow.err"
	stat before
	try "$XROCE_XDP: traffic goes on while the reader sleeps" verbs_pair \
		"$V4.1" "$V4.2" ib_send_bw "${SLOW[@]}" -s 100000 -n 50
	sleep 0.5
	stat after
	: >"$TOPO_TMP/go"
	kill -INT "${captures[slow]}"
	wait "$reader"
	ended "a slow reader ends well" slow told
	lost=$(sed -n 's/.* captured, \([0-9]*\) lost.*/\1/p' "$TOPO_TMP/slow.err")
	try "$XROCE_XDP: it has lost packets ($lost)" test "${lost:-0}" -gt 0
	in_file=$(tshark -r "$TOPO_TMP/slow.pcapng" -z io,stat,0 2>/dev/null |
		grep -c RRoCE)
	try "$XROCE_XDP: seen and lost are what the device counts" test \
		"$((in_file + lost))" = "$(jq -s '.[1][0] as $a | .[0][0] as $b |
		($a.sent_pkts + $a.rcvd_pkts - $b.sent_pkts - $b.rcvd_pkts)' \
		"$TOPO_TMP/1.before" "$TOPO_TMP/1.after")"
	try "$XROCE_XDP: the file tells" test "$(python3 - "$TOPO_TMP/slow.pcapng" <<-'END'
		import struct, sys
		data, at = open(sys.argv[1], 'rb').read(), 0
		while at < len(data):
		    kind, size = struct.unpack_from('<II', data, at)
		    opt = at + 20
		    while kind == 5 and opt < at + size - 4:
		        code, n = struct.unpack_from('<HH', data, opt)
		        if code == 7:
		            print(struct.unpack_from('<Q', data, opt + 4)[0])
		        opt += 4 + (n + 3 & ~3)
		    at += size
	END
	)" = "$lost"
}

# Packets that come faster than they are read for longer than it is to last
test_busy() {
	local pair reader was start lasts status=0
	mkfifo "$TOPO_TMP/drip"
	python3 -c 'import sys, time
while sys.stdin.buffer.read(65536):
	time.sleep(0.05)' <"$TOPO_TMP/drip" &
	reader=$!
	start=${EPOCHREALTIME/./}
	was=$(counter "$NS1" "$RDMA1" sent_pkts)
	# and as long as a slow machine takes to look twenty times
	lasts=$((8 + (${EPOCHREALTIME/./} - start) / 50000))
	PAIR_TIMEOUT=$((lasts + 60)) verbs_pair "$V4.1" "$V4.2" ib_write_bw "${SLOW[@]}" \
		-s 100000 -D "$lasts" >/dev/null 2>&1 &
	pair=$!
	wait_for 30 eval "[ \$(counter $NS1 $RDMA1 sent_pkts) -gt $((was + 100)) ]"
	bg "$RNS1" rdmatool capture "$RDMA1" -t 2 -B 1 -w "$TOPO_TMP/drip" \
		2>"$TOPO_TMP/busy.err"
	captures[busy]=$!
	try "$XROCE_XDP: one that is read slowly" \
		wait_for 30 grep -q capturing "$TOPO_TMP/busy.err"
	try "$XROCE_XDP: -t ends a capture that is behind" \
		wait_for "$lasts" eval '! kill -0 ${captures[busy]}'
	try "$XROCE_XDP: in the middle of traffic" kill -0 "$pair"
	wait "${captures[busy]}" || status=$?
	try "$XROCE_XDP: which is no error" test "$status" = 0
	# who never opened it has its reader wait
	[ "$status" = 0 ] || kill "$reader"
	wait "$reader" "$pair"
}

test_drops() {
	local name off xdp want got
	start drops "$RNS1" "$RDMA1" dir in
	stat before
	n2 ./frames.py "$ETH2" "$(n1 ip -j link show "$ETH1" | jq -r '.[0].address')" \
		"$V4.2" "$V4.1" >"$TOPO_TMP/due" || not_ok "frames.py"
	sleep 1
	stat after
	stop drops >/dev/null
	while read -r name off xdp; do
		want=$off
		[ "$XROCE_XDP" = off ] || want=$xdp
		[ "$want" != - ] || continue
		echo "$want"
	done <"$TOPO_TMP/due" | sort >"$TOPO_TMP/want"
	jq -r '.frames[].comment | split(" ")[2] | rtrimstr(":")' \
		"$TOPO_TMP/drops.json" | sort >"$TOPO_TMP/got"
	try "$XROCE_XDP: each drop is seen, with its reason" \
		diff "$TOPO_TMP/want" "$TOPO_TMP/got"
	compare "and counted under that name" counts drops.json 1.before 1.after
	got=$(jq -r '[.frames[] | select(.comment | endswith("ICRC wrong"))] |
		[length, ([.[] | select(.icrc == "bad")] | length)] | join(" ")' \
		"$TOPO_TMP/drops.json")
	try "$XROCE_XDP: decode says the same of their ICRCs" test "$got" = "2 2"
}

test_refused() {
	local c=(rdmatool capture "$RDMA1") says_label="$XROCE_XDP: "
	refuses 2 'NAME expected' r1 rdmatool capture
	refuses 1 'no RDMA device "none"' r1 rdmatool capture none
	refuses 2 'no opcode "FROB"' r1 "${c[@]}" opcode ACK,FROB
	refuses 2 'no verdict "maybe"' r1 "${c[@]}" verdict maybe
	refuses 2 'not an IPv4 or IPv6' r1 "${c[@]}" peer 1.2.3
	refuses 2 'number from 0 to 16777215' r1 "${c[@]}" qp 16777216
	refuses 2 'in or out expected' r1 "${c[@]}" dir up
	refuses 2 'nothing happens in no time' r1 "${c[@]}" -c 0
	refuses 2 'power of 2' r1 "${c[@]}" -B 3
	refuses 2 'needs a value' r1 "${c[@]}" -w
	refuses 2 'given twice' r1 "${c[@]}" qp 1 qp 2
	refuses 1 'No such file' r1 "${c[@]}" -w /none/such
	refuses 1 'not permitted.*CAP_' r1 setpriv --reuid 65534 --clear-groups \
		"${c[@]}" -t 1
	# as a pipe that ends is
	r1 rdmatool capture "$RDMA1" -t 2 -w /dev/full >/dev/null 2>"$TOPO_TMP/full"
	try "$XROCE_XDP: a full disk is told" \
		grep -q 'No space left' "$TOPO_TMP/full"
}

programs() { bpftool -j prog show | jq '[.[] | select(.name | startswith("capture_"))] | length'; }
no_programs() { [ "$(programs)" = 0 ]; }

# What captures leave behind, and what a device that goes does to one
test_end() {
	try "$XROCE_XDP: no program is left" wait_for 10 no_programs
	start gone "$RNS1" "$RDMA1"
	rdma_down
	try "$XROCE_XDP: it ends with its device" wait_for 10 \
		grep -q 'has gone' "$TOPO_TMP/gone.err"
	ended "with a good file" gone
	try "$XROCE_XDP: nothing holds the module" wait_for 10 rmmod xroce
	modprobe xroce
}

HERE=$PWD
declare -A captures
topo_direct 4200
if rdma_up; then
	ok "$XROCE_XDP: devices"
	test_between
	test_loopback
	test_filters
	test_slow
	test_busy
	test_drops
	test_refused
	test_end
else
	not_ok "$XROCE_XDP: devices"
fi
tap_end
