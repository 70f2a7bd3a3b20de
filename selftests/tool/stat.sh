#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Counters: of a link and of each of its QPs, which add up; how fast they rise; as
# performance management has them, in sysfs and for another host that asks QP 1.

# Some functions are called by try alone.
# shellcheck disable=SC2317

cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ../lib/says.sh

topo_need rdmatool rdma jq setpriv ibv_rc_pingpong ib_write_bw
modprobe xroce || skip_all "no module xroce"
XROCE_XDP=native

# at NAME - what the traffic's QPs or the link of host 1 have counted
at() { r1 rdmatool -j "${@:2}" | jq "[.[].$1 // 0] | add"; }

sysfs() { r1 cat "/sys/class/infiniband/$RDMA1/ports/1/counters/$1"; }

# Traffic between two QPs, until it is stopped
traffic() {
	bg "$RNS2" ibv_rc_pingpong -d "$RDMA2" -g "$index4" \
		-s 6000 -n 100000000 >/dev/null
	far=$!
	wait_for 30 tcp_listens 18515
	bg "$RNS1" ibv_rc_pingpong -d "$RDMA1" -g "$(gid_index "$RNS1" "$RDMA1" "$V4.1")" \
		-s 6000 -n 100000000 "$V4.2" >/dev/null
	near=$!
	wait_for 30 eval '[ "$(at rdma_sends stat qp type RC)" -gt 100 ]'
}

# Both programs sleep, their QPs do not end: nothing is counted any more
pause() {
	local was='' now
	kill -STOP "$near" "$far"
	for _ in {1..50}; do
		now=$(at sent_pkts stat show "$RDMA1") now+=$(at rcvd_pkts stat show "$RDMA1")
		[ "$now" != "$was" ] || return 0
		was=$now
		sleep 0.2
	done
	return 1
}

go_on() { kill -CONT "$far" "$near"; }

# What was counted for QPs, all of them of this link since it was made
adds_up() {
	r1 rdmatool -j stat qp dev "$RDMA1" >"$TOPO_TMP/qps"
	r1 rdmatool -jd stat show "$RDMA1" >"$TOPO_TMP/link"
	jq -cn --slurpfile q "$TOPO_TMP/qps" --slurpfile l "$TOPO_TMP/link" '
		["sent_pkts", "sent_bytes", "rcvd_pkts", "rcvd_bytes", "rdma_sends",
		 "rdma_recvs", "acks_sent", "send_rnr_err", "rcvd_rnr_err",
		 "retransmitted_pkts"] |
		map(. as $n | [$n, $l[0][0][$n], ([$q[0][] | .[$n] // 0] | add)]) |
		map(select(.[1] != .[2] or .[1] == null))' >"$TOPO_TMP/differ"
	cat "$TOPO_TMP/differ"
	[ "$(cat "$TOPO_TMP/differ")" = '[]' ]
}

both_ends() {
	local sent=$1 got=$2
	[ "$sent" -gt 100 ] && [ $((sent - got)) -ge -1 ] && [ $((sent - got)) -le 1 ]
}

like_rdma() {
	r1 rdma -jdd res show qp link "$RDMA1" |
		jq '[.[] | select(.type == "RC") | to_entries[] |
			select(.key | test("rdma_sends$|sent_bytes$")).value |
			tonumber] | add' \
		>"$TOPO_TMP/theirs"
	r1 rdmatool -j stat qp type RC | jq '[.[] | .rdma_sends, .sent_bytes] | add' \
		>"$TOPO_TMP/ours"
	cat "$TOPO_TMP/theirs"
	[ "$(cat "$TOPO_TMP/ours")" -gt 100000 ] && cmp "$TOPO_TMP/theirs" "$TOPO_TMP/ours"
}

# in each of two seconds; a guest may stand still for one
works() {
	r1 rdmatool -j stat qp type RC --watch 1 -c 2 |
		jq -e 'length == 2 and all(.[]; .rdma_sends > 1 and
			.sent_bytes > .rdma_sends * 6000 and (.time | test("^20..-")))' >/dev/null
}

test_qp() {
	try "pause" pause
	try "QPs' counters add up to their link's" adds_up
	try "what one sends the other receives" both_ends \
		"$(at rdma_sends stat qp dev "$RDMA1" type RC)" \
		"$(r2 rdmatool -j stat qp dev "$RDMA2" type RC | jq '.[0].rdma_recvs')"
	try "rdma -dd res show qp has them too" like_rdma
	says "as text" "^link $RDMA1/1 lqpn [0-9]+ rqpn [0-9]+ type RC state RTS pid $near comm ibv_rc_pingpong$" \
		r1 rdmatool stat qp type RC
	says "with what they mean" '^ +rdma_sends [0-9]+ \(SEND messages sent\)' \
		r1 rdmatool -d stat qp comm ibv_rc_pingpong
	json "by their number" 1 length r1 rdmatool -j stat qp lqpn \
		"$(r1 rdmatool -j stat qp type RC | jq '.[0].lqpn')"
	json "of nobody" '[]' . r1 rdmatool -j stat qp comm nobody
	json "for everybody" ibv_rc_pingpong '.[] | select(.type == "RC") | .comm' \
		r1 setpriv --reuid 65534 --clear-groups rdmatool -j stat qp
	json "those who rest do not rise" '[]' . \
		r1 rdmatool -j stat qp type RC --watch 1 -c 2
	json "but with -d they are shown" '[true,true]' '[.[] | .rdma_sends == 0]' \
		r1 rdmatool -jd stat qp type RC --watch 1 -c 2
	go_on
	try "who works does" wait_for 30 works
	try "a watch of QPs ends with their device's name" ends_renamed qp dev "$RDMA1"
	try "so does one of its counters" ends_renamed show "$RDMA1"
	refuses 2 'unknown argument "colour"' r1 rdmatool stat qp colour 1
	refuses 2 'lqpn needs a value' r1 rdmatool stat qp lqpn
	refuses 2 '"--look"' r1 rdmatool stat qp --look
	refuses 2 '--watch 1 at least' r1 rdmatool stat qp --watch 0
	refuses 2 'for --watch' r1 rdmatool stat qp -c 1
	refuses 1 'no RDMA device "none"' r1 rdmatool stat qp dev none
}

# ends_renamed show|qp NAME... - a watch of a device that gets another name, with status 1
ends_renamed() {
	local pid status=0
	bg "$RNS1" rdmatool -j stat "$@" --watch 1 -t 60 >/dev/null 2>"$TOPO_TMP/err"
	pid=$!
	sleep 2
	r1 rdma dev set "$RDMA1" name other
	wait "$pid" || status=$?
	r1 rdma dev set other name "$RDMA1"
	cat "$TOPO_TMP/err"
	[ "$status" = 1 ] && grep -q "$RDMA1 is gone" "$TOPO_TMP/err"
}

# sysfs against the link's counters, while nothing happens
as_counted() {
	local name want
	r1 rdmatool -jd stat show "$RDMA1" | jq '.[0]' >"$TOPO_TMP/link"
	while read -r name want; do
		[ "$(sysfs "$name")" = "$(jq "$want" "$TOPO_TMP/link")" ] ||
			{ echo "$name: $(sysfs "$name"), not $want"; return 1; }
	done <<-'EOF'
	port_xmit_data .sent_bytes/4|floor
	port_rcv_data .rcvd_bytes/4|floor
	port_xmit_packets .sent_pkts
	port_rcv_packets .rcvd_pkts
	port_xmit_discards .tx_dropped
	port_rcv_errors .rx_malformed+.drop_short+.drop_no_mem+.rx_icrc_encapsulated
	port_rcv_constraint_errors .drop_pkey
	symbol_error 0
	link_downed 0
	EOF
	[ "$(sysfs port_xmit_packets)" -gt 100 ]
}

# What node_exporter's infiniband collector and rdmatop read, and make numbers of
all_numbers() {
	local dir=/sys/class/infiniband/$RDMA1/ports/1 file n=0
	for file in $(r1 find "$dir/counters" "$dir/hw_counters" -type f \
		! -name lifespan); do
		r1 grep -qxE '[0-9]+' "$file" || { echo "$file"; return 1; }
		n=$((n + 1))
	done
	for file in port_xmit_data port_rcv_data port_xmit_packets \
		port_rcv_packets port_rcv_errors port_xmit_discards; do
		r1 test -e "$dir/counters/$file" || { echo "no $file"; return 1; }
	done
	for file in rdma_sends rdma_recvs sent_pkts rcvd_pkts duplicate_request \
		out_of_sequence packet_seq_err local_ack_timeout_err np_cnp_sent \
		rp_cnp_handled rx_icrc_encapsulated; do
		r1 test -e "$dir/hw_counters/$file" || { echo "no $file"; return 1; }
	done
	echo "$n counters"
	[ "$n" -gt 60 ]
}

# pma FAMILY ATTRIBUTE... - host 2 asks host 1
pma() {
	local index=$index4 to=$V4.1
	[ "$1" = 4 ] || index=$index6 to=$V6:1
	shift
	r2 ./pma "$RDMA2" "$index" "$to" "$@"
}

# Another host is told what sysfs tells here; its own question comes on top, and comes again
# where the answer takes seconds, as a guest's CPU may: in one round of three
same_from_afar() {
	for _ in 1 2 3; do
		same_once "$@" && return
	done
	return 1
}
same_once() {
	local sent rcvd data
	sent=$(sysfs port_xmit_packets) rcvd=$(sysfs port_rcv_packets)
	data=$(sysfs port_xmit_data)
	pma "$1" "$2" >"$TOPO_TMP/pma"
	cat "$TOPO_TMP/pma"
	echo "here: sent $sent of $data words, received $rcvd"
	grep -qx 'status 0' "$TOPO_TMP/pma" && grep -qx 'port 1' "$TOPO_TMP/pma" &&
		grep -qx "port_xmit_data $data" "$TOPO_TMP/pma" &&
		grep -qx "port_xmit_packets $sent" "$TOPO_TMP/pma" &&
		grep -qx "port_rcv_packets $((rcvd + 1))" "$TOPO_TMP/pma"
}

errors() { pma 4 0x12 | sed -n 's/^port_rcv_errors //p'; }

malformed_counts() {
	local was
	was=$(errors)
	for _ in 1 2 3; do
		n2 bash -c "echo x >/dev/udp/$V4.1/4791"
	done
	wait_for 10 eval '[ "$(sysfs port_rcv_errors)" = $((was + 3)) ]' &&
		[ "$(errors)" = $((was + 3)) ]
}

# pma_says NAME WANTED ARGUMENTS...
pma_says() {
	says "$1" "^$2\$" pma 4 "${@:3}"
}

test_pma() {
	try "pause" pause
	try "sysfs has what was counted" as_counted
	try "each counter there is a number" all_numbers
	for family in 4 6; do
		try "another host asks QP 1: PortCounters, IPv$family" \
			same_from_afar "$family" 0x12
		try "PortCountersExtended, IPv$family" same_from_afar "$family" 0x1d
	done
	try "what is malformed is an error of the port's" malformed_counts
	json "and counted by its reason" true '.[0].xdp_drop_short >= 3' \
		r1 rdmatool -j stat show "$RDMA1"
	pma_says "all ports" "port 255" 0x1d 255
	pma_says "ClassPortInfo: its version" "class_version 1" 0x01
	pma_says "and what it can" "capability_mask $((0x500))" 0x01
	pma_says "no such port: invalid value" "status 0x1c" 0x12 2
	pma_says "no such port, extended" "status 0x1c" 0x1d 0
	pma_says "no such attribute" "status 0xc" 0x77
	pma_says "samples are not kept" "status 0xc" 0x10
	pma_says "another version" "status 0x4" 0x12 1 2
	was=$(sysfs port_xmit_packets)
	pma_says "no Set of PortCounters" "status 0xc" 0x12 1 1 2
	pma_says "nor of the extended" "status 0xc" 0x1d 1 1 2
	try "which has reset nothing" test "$(sysfs port_xmit_packets)" -gt "$was"
	pma_says "nobody serves another class" "status 0xc" 0x12 1 1 1 0x08
	out=$(pma 4 0x12 1 1 0x05 2>&1)
	[ $? = 3 ] && ok "a trap is not answered" || not_ok "a trap is not answered" "$out"
	pma_says "and all of it goes on" "status 0" 0x12
}

# What is counted of keys: by rdmatool, by verbs, by sysfs, for another host
violations() {
	local counted
	counted=$(r1 rdmatool -jd stat show "$RDMA1" |
		jq -r '.[0] | "\(.drop_pkey) \(.drop_qkey)"')
	echo "$counted $(r1 ./violate count "$RDMA1")" \
		"$(sysfs port_rcv_constraint_errors)" \
		"$(pma 4 0x12 | sed -n 's/^port_rcv_constraint_errors //p')"
}

# violated PKEY QKEY COUNT FROM TO P-KEYS Q-KEYS [QPN] - and how many of either
# are counted so; PMA's field has 8 bits, and stays at the largest value
violated() {
	local p q want constraint
	read -r p q _ < <(violations)
	n2 ./violate send "$ETH2" "$(n1 cat "/sys/class/net/$ETH1/address")" \
		"$4" "$5" "$1" "$2" "$3" ${8:+"$8"} || return
	p=$((p + $6)) q=$((q + $7)) constraint=$((p < 255 ? p : 255))
	want="$p $q $p $q $constraint $constraint"
	wait_for 10 eval '[ "$(violations)" = "$want" ]' && return
	echo "$(violations), not $want"
	return 1
}

test_violations() {
	local qkey=0x80010000
	try "a P_Key that is not ours, IPv4" violated 0x8001 $qkey 5 $V4.2 $V4.1 5 0
	try "a P_Key that is not ours, IPv6" violated 0x8001 $qkey 3 $V6:2 $V6:1 3 0
	try "a limited member's is ours" violated 0x7fff $qkey 3 $V4.2 $V4.1 0 0
	try "another Q_Key" violated 0xffff 0x1234 4 $V4.2 $V4.1 0 4
	try "neither is right: the P_Key is looked at first" \
		violated 0x1234 0x1234 2 $V4.2 $V4.1 2 0
	try "a P_Key that is not the connection's" \
		violated 0x1234 0 5 $V4.2 $V4.1 5 0 \
		"$(r1 rdmatool -j stat qp type RC | jq '.[0].lqpn')"
	try "more than PMA can count" violated 0x8001 $qkey 260 $V4.2 $V4.1 260 0
	was=$(at rdma_sends stat qp type RC)
	go_on
	try "the connection goes on" wait_for 30 \
		eval '[ "$(at rdma_sends stat qp type RC)" -gt $((was + 20)) ]'
}

# Tracepoints: each of them fires while two programs talk, and one dies
test_trace() {
	local dir=/sys/kernel/tracing event
	mountpoint -q $dir || mount -t tracefs none $dir
	try "pause" pause
	echo 0 >$dir/tracing_on
	echo >$dir/trace
	echo 1 >$dir/events/xroce/enable
	echo 1 >$dir/tracing_on
	go_on
	for event in post receive transmit verdict completion; do
		wait_for 10 grep -q " xroce_$event: dev=xr" $dir/trace || :
	done
	kill -STOP "$near" "$far"
	echo 0 >$dir/tracing_on
	for event in post receive transmit verdict completion; do
		try "tracepoint: $event" grep -qE \
			" xroce_$event: dev=xr[12] .*qpn=[0-9]+ " $dir/trace
	done
	kill -KILL "$far" "$near"
	bg_end "$far"
	bg_end "$near"
	# one end sends all the time, and loses the other
	bg "$RNS2" ib_write_bw -F -d "$RDMA2" -x "$index4" -D 60 >/dev/null 2>&1
	far=$!
	wait_for 30 tcp_listens 18515
	bg "$RNS1" ib_write_bw -F -d "$RDMA1" -D 60 \
		-x "$(gid_index "$RNS1" "$RDMA1" "$V4.1")" "$V4.2" >/dev/null 2>&1
	near=$!
	wait_for 30 eval '[ "$(at other_requests stat qp type RC)" -gt 100 ]'
	# packets would push what follows out of the buffer
	echo 0 >$dir/events/xroce/enable
	echo 1 >$dir/events/xroce/xroce_retry/enable
	echo 1 >$dir/events/xroce/xroce_error/enable
	echo >$dir/trace
	echo 1 >$dir/tracing_on
	kill -KILL "$far"
	bg_end "$far"
	try "tracepoint: error" wait_for 60 grep -qE \
		' xroce_error: dev=xr1 qpn=[0-9]+ state=3 status=transport retry counter exceeded' \
		$dir/trace
	try "tracepoint: retry" grep -qE \
		' xroce_retry: dev=xr1 qpn=[0-9]+ why=local_ack_timeout_err psn=' $dir/trace
	echo 0 >$dir/events/xroce/enable
	bg_end "$near"
	# as whoever comes next expects them
	echo >$dir/trace
	echo 1 >$dir/tracing_on
	try "no other" eval '[ "$(find $dir/events/xroce -mindepth 1 -type d | wc -l)" = 7 ]'
}

# Dynamic debug: what verbs were asked for and how that ended
test_debug() {
	local control=/sys/kernel/debug/dynamic_debug/control
	mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
	try "dynamic debug is there" grep -q '\[xroce\]' $control
	dmesg -C
	echo 'module xroce +p' >$control
	verbs_pair "$V4.1" "$V4.2" ibv_rc_pingpong -n 10 >/dev/null
	n1 ip addr add "$V4.77/24" dev "$ETH1"
	try "a QP's way to RTS" wait_for 10 eval \
		'dmesg | grep -qE " xr1: QP [0-9]+: modify, mask 0x[0-9a-f]+: 0, state 3"'
	try "a GID" wait_for 10 eval \
		'dmesg | grep -qE " xr1: GID [0-9]+ is ::ffff:$V4.77"'
	echo 'module xroce -p' >$control
	dmesg -C
	try "off, traffic" verbs_pair "$V4.1" "$V4.2" ibv_rc_pingpong -n 10
	try "it is silent" eval '! dmesg | grep -q modify'
}

topo_direct 7000
try "links" rdma_up
index4=$(gid_index "$RNS2" "$RDMA2" "$V4.2")
index6=$(gid_index "$RNS2" "$RDMA2" "$V6:2")
traffic
test_qp
test_pma
test_violations
test_trace
test_debug
tap_end
