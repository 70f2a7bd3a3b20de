#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# What the XDP program does on a wire: it judges what is for a GID of ours, and
# nothing else; it sends a QP's packets to the CPU that was asked for. Where those of
# QPs are dealt with place.sh tells.
#
#   +----------+  +---------------+  +----------+
#   | h1  eth0 |--| p1    m    p2 |--| eth0  h2 |	RoCEv2 between others
#   +----------+  +---------------+  +----------+
#
#   +----------+  +----------+
#   | h1  eth0 |--| eth0  h2 |				RoCEv2 for us
#   +----------+  +----------+
#
# The frames are those of lib/cases.h, so the addresses are theirs. rdma_rxe, on
# a netdev with the program attached, has the kselftests' usual ones.
# XROCE_XDP=generic|native  XROCE_ROUNDS: of random operations beside what changes
# XROCE_IP=4: packets begin alike by IPv4 alone, and fewer tests pass beside QPs that a
# program scribbles on

# shellcheck disable=SC2317 # called by try, wait_for
# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ../lib/rc.sh

topo_need rdmatool bpftool nsenter ethtool chrt
[ "$XROCE_XDP" != off ] || skip_all "XDP is off"
modprobe xroce || skip_all "no module xroce"
OBJ=/usr/lib/xroce/xroce.bpf.o
[ -e "$OBJ" ] || OBJ=../../bpf/xroce.bpf.o
POLICY=${OBJ%/*}/policy.bpf.o
rounds=${XROCE_ROUNDS:-8}

# Unlike `ip netns exec` this keeps /sys, and with it bpffs and tracefs
frames() {
	local ns=$1
	shift
	nsenter --net="/run/netns/$ns" ./frames "$@"
}

# stats_map NAMESPACE DEVICE - the id of its program's counters
stats_map() { map_of "$(xdp_prog "$1" "$2")" xroce_stats; }

# What two hosts' change of mode may cost in the mean; see under_change
LOST_BY_CHANGE=24

# indices in xroce_stats: enum xroce_xdp_stat
NOT_OURS=1 STEERED=6

# count MAP INDEX
count() {
	bpftool -j map lookup id "$1" key hex \
		"$(printf '%02x' "$2")" 00 00 00 | jq '[.formatted.values[].value] | add'
}

# two_veths MTU - the upper picture, with no address yet
two_veths() {
	topo_begin
	topo_veth "$NS1" eth0 "$NSM" p1 "$1"
	topo_veth "$NS2" eth0 "$NSM" p2 "$1"
	for dev in "$NS1 eth0" "$NSM p1" "$NSM p2" "$NS2 eth0"; do
		in_ns "${dev% *}" ip link set "${dev#* }" up
	done
}

# m has a link on p1, whose address none of the frames is for
link_on_p1() {
	nm ip addr add 10.77.0.9/24 dev p1
	in_ns "$NSM" rdmatool link add xr1 netdev p1 xdp "$XROCE_XDP" || return
	wait_for 20 has_gid "$NSM" xr1 10.77.0.9
}

# arrived DMAC FILE - which of the frames that h1 sends reach h2
arrived() {
	local taker
	: >"$2.raw"
	frames "$NS2" take eth0 5 >"$2.raw" &
	taker=$!
	topo_pids+=("$taker")
	wait_for 20 grep -q ready "$2.raw"
	frames "$NS1" send eth0 "$(mac "$NS1" eth0)" "$1" || return
	wait "$taker"
	grep -v ready "$2.raw" | LC_ALL=C sort -u >"$2"
}

# same WHAT AT-LEAST BEFORE AFTER
same() {
	local n
	n=$(wc -l <"$3")
	if [ "$n" -lt "$2" ]; then
		not_ok "$1" "only $n kinds of frames arrive without the program"
	elif ! diff "$3" "$4" >"$TOPO_TMP/diff"; then
		not_ok "$1" "$(tr '\n' ';' <"$TOPO_TMP/diff")"
	else
		ok "$1: all $n"
	fi
}

between_others() {
	local dmac map
	two_veths 9000
	nm ip link add br0 mtu 9000 type bridge stp_state 0 forward_delay 0 \
		mcast_snooping 0
	nm ip link set p1 master br0
	nm ip link set p2 master br0
	nm ip link set br0 up
	dmac=$(mac "$NS2" eth0)
	arrived "$dmac" "$TOPO_TMP/bridged"
	try "$XROCE_XDP: a link on a bridge's port" link_on_p1
	map=$(stats_map "$NSM" p1)
	arrived "$dmac" "$TOPO_TMP/bridged-xdp"
	same "$XROCE_XDP: bridged frames pass untouched" 80 "$TOPO_TMP/bridged" \
		"$TOPO_TMP/bridged-xdp"
	try "$XROCE_XDP: the program saw them" [ "$(count "$map" $NOT_OURS)" -gt 50 ]
	topo_clear

	two_veths 9000
	nm ip addr add 10.77.0.9/32 dev p1
	n1 ip addr add 10.77.0.1/24 dev eth0
	n1 ip addr add fd77::1/64 dev eth0 nodad
	nm sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
	nm ip route add 10.77.0.1/32 dev p1
	for dst in 2 3; do
		nm ip route add "10.77.0.$dst/32" dev p2
		nm ip -6 route add "fd77::$dst/128" dev p2
		nm ip neigh add "10.77.0.$dst" lladdr "$(mac "$NS2" eth0)" dev p2
		nm ip -6 neigh add "fd77::$dst" lladdr "$(mac "$NS2" eth0)" dev p2
	done
	nm ip -6 route add fd77::1/128 dev p1
	dmac=$(mac "$NSM" p1)
	arrived "$dmac" "$TOPO_TMP/routed"
	try "$XROCE_XDP: a link on a router" link_on_p1
	map=$(stats_map "$NSM" p1)
	arrived "$dmac" "$TOPO_TMP/routed-xdp"
	same "$XROCE_XDP: routed frames pass untouched" 40 "$TOPO_TMP/routed" \
		"$TOPO_TMP/routed-xdp"
	try "$XROCE_XDP: the program saw them" [ "$(count "$map" $NOT_OURS)" -gt 50 ]
	topo_clear
}

# judged WHAT DMAC - what `frames WHAT` says of h2's program
judged() {
	results "$XROCE_XDP: $1" frames "$NS1" "$1" eth0 "$(mac "$NS1" eth0)" "$2" \
		"$(stats_map "$NS2" eth0)"
}

for_us() {
	topo_begin
	topo_veth "$NS1" eth0 "$NS2" eth0 9000
	n1 ip addr add 10.77.0.1/24 dev eth0
	n1 ip link set eth0 up
	n2 ip addr add 10.77.0.2/24 dev eth0
	n2 ip addr add fd77::2/64 dev eth0 nodad
	n2 ip link set eth0 up
	try "$XROCE_XDP: a link" n2 rdmatool link add xr2 netdev eth0 xdp "$XROCE_XDP"
	wait_for 20 has_gid "$NS2" xr2 10.77.0.2
	wait_for 20 has_gid "$NS2" xr2 fd77::2
	judged judge "$(mac "$NS2" eth0)"
	n2 ip link set eth0 promisc on
	judged ignore 02:99:99:99:99:99
	n2 ip link set eth0 promisc off
	arrived "$(mac "$NS2" eth0)" "$TOPO_TMP/ours"
	./frames pass | LC_ALL=C sort -u >"$TOPO_TMP/pass"
	same "$XROCE_XDP: the stack gets what is well-formed" 60 \
		"$TOPO_TMP/pass" "$TOPO_TMP/ours"
	topo_clear
}

TRACE=/sys/kernel/tracing
trace() { echo "$1" >"$TRACE/events/xdp/xdp_cpumap_kthread/enable"; }

# Packets that the CPUs' threads have taken, by CPU, as "1 4711"
taken_by_cpu() {
	sed -n 's/.*xdp_cpumap_kthread:.* cpu=\([0-9]*\).* processed=\([0-9]*\).*/\1 \2/p' \
		"$TRACE/trace" | awk '{ n[$1] += $2 } END { for (c in n) print c, n[c] }'
}

# Generic XDP sends nothing to a CPU: the kernel would lose it there
to_a_cpu() {
	local map cpu before moved mask
	mask=$(taskset -p $BASHPID)
	mask=${mask##* }
	topo_direct 4200
	try "$XROCE_XDP: two hosts" rdma_up
	if [ "$(nproc)" -lt 2 ]; then
		skip "$XROCE_XDP: steering" "there is only one CPU"
		topo_clear
		return
	fi
	map=$(stats_map "$NS2" eth0)
	for cpu in 1 0; do
		try "$XROCE_XDP: steer $cpu" n2 rdmatool link set xr2 steer "$cpu"
		before=$(count "$map" $STEERED)
		: >"$TRACE/trace"
		trace 1
		# posted on another CPU, so that each message has to be moved
		taskset -p -c $((1 - cpu)) $BASHPID >"$TOPO_TMP/taskset"
		try "$XROCE_XDP: traffic with steer $cpu" verbs_pair "$V4.1" "$V4.2" \
			ibv_rc_pingpong -c -n 200 -s 6000
		taskset -p "$mask" $BASHPID >"$TOPO_TMP/taskset"
		trace 0
		moved=$(($(count "$map" $STEERED) - before))
		taken_by_cpu >"$TOPO_TMP/cpus"
		if [ "$XROCE_XDP" = generic ]; then
			try "generic: packets stay where they are" [ "$moved" = 0 ]
			continue
		fi
		try "native: packets were sent to CPU $cpu: $moved" [ "$moved" -gt 100 ]
		try "native: only CPU $cpu took them: $(tr '\n' ' ' <"$TOPO_TMP/cpus")" \
			[ "$(cut -d' ' -f1 "$TOPO_TMP/cpus")" = "$cpu" ]
	done
	topo_clear
}

# change_through SECONDS MODE... - one after the other, until there is enough; the second
# host so much later
change_through() {
	local mode later=$1
	shift
	while [ ! -e "$TOPO_TMP/enough" ]; do
		for mode; do
			n1 rdmatool link set "$RDMA1" xdp "$mode" || return
			sleep "$later"
			n2 rdmatool link set "$RDMA2" xdp "$mode" || return
			echo "$mode" >>"$TOPO_TMP/changes"
			sleep 0.1
		done
	done
}

# Every way in and out that there is
change_modes() { change_through 0.1 off native generic native; }

# In and out where no driver has to take its rings down
change_generic() { change_through 0 off generic; }

# changing WHAT TIMES [OPTION...] - that change_WHAT does over and over is seen by nobody
changing() {
	local what=$1 times=$2 pid status=0
	shift 2
	rm -f "$TOPO_TMP/enough"
	: >"$TOPO_TMP/changes"
	"change_$what" &
	pid=$!
	topo_pids+=("$pid")
	rc "$what change" forward -m 1024 -r "$rounds" "$@" mix many
	# few of them, where the machine has other things to do
	while [ "$(wc -l <"$TOPO_TMP/changes")" -lt "$times" ] && kill -0 "$pid" 2>/dev/null; do
		rc "$what go on to change" forward -m 1024 -r "$rounds" "$@" mix many
	done
	: >"$TOPO_TMP/enough"
	wait "$pid" || status=$?
	try "they could always be changed" [ "$status" = 0 ]
	try "$what changed $(wc -l <"$TOPO_TMP/changes") times" \
		[ "$(wc -l <"$TOPO_TMP/changes")" -ge "$times" ]
}

# What a change of the way does to no packet
HARM='rx_malformed|rx_icrc_encapsulated|cq_overrun_err|send_err|(retry|retry_rnr)_exceeded_err'
HARM+='|naks_fatal_(sent|rcvd)|drop_(options|short|opcode|tver|length|device|addr|transport)'
HARM+='|drop_(pkey|request|no_mem)|xdp_drop_[a-z_]*'
unharmed() {
	awk -v harm="^($HARM)\$" '$2 ~ harm { n++; if ($3) { print; bad = 1 } }
		END { exit bad || n < 30 }' "$1"
}

# LOST_BY_CHANGE packets are lost in the mean when both hosts change, which is what the
# driver does: when a program comes or goes natively a veth takes its ring down, of 256
# frames at most, and frees what is in it. Of a stream (ib_write_bw, 4 QPs) that was 17 for
# one host's change, and none between off and generic; of what goes here it is next to none.
under_change() {
	local n
	changing modes 5
	counters >"$TOPO_TMP/all"
	n=$(wc -l <"$TOPO_TMP/changes")
	measure "what $n changes cost" no_loss "$TOPO_TMP/all" $((n * LOST_BY_CHANGE))
	try "and nothing else came of them" unharmed "$TOPO_TMP/all"
}

# So slow a timer that nothing is taken for lost
lossless_change() {
	topo_direct 4200
	try "two hosts" rdma_up
	changing generic 5 -t 22
	counters >"$TOPO_TMP/all"
	try "and nothing was lost" no_loss "$TOPO_TMP/all"
	try "and nothing else came of it" unharmed "$TOPO_TMP/all"
	topo_clear
}

# Here, there, on any of them, and not at all
change_steer() {
	local cpus
	while [ ! -e "$TOPO_TMP/enough" ]; do
		for cpus in 1 off 0 1 0-$(($(nproc) - 1)) off; do
			n2 rdmatool link set "$RDMA2" steer "$cpus" || return
			echo "$cpus" >>"$TOPO_TMP/changes"
			sleep 0.05
		done
	done
}

# A packet that overtakes another is out of sequence, and nothing is lost here. Where a
# CPU stood still for 100 ms, as a guest's may, the module has not waited, and says so:
# then once more
steered_anew() {
	local before late i
	if [ "$(nproc)" -lt 2 ]; then
		skip "steering changes under traffic" "there is only one CPU"
		return
	fi
	for ((i = 0; i < 15; i++)); do
		late=$(of_host 2 steer_late)
		before=$(of_host 2 out_of_sequence implied_nak_seq_err)
		changing steer 6
		[ "$late" != "$(of_host 2 steer_late)" ] || break
	done
	try "nobody was waited for in vain" [ $i -lt 15 ]
	try "and no packet overtook another" \
		[ "$before" = "$(of_host 2 out_of_sequence implied_nak_seq_err)" ]
}

# To a CPU that somebody keeps, and away from it
change_stall() {
	while [ ! -e "$TOPO_TMP/enough" ]; do
		n2 rdmatool link set "$RDMA2" steer 1 || return
		sleep 0.05
		rm -f "$TOPO_TMP/keeps"
		# less than the second after which the kernel lets others run
		taskset -c 1 chrt -f 1 bash -c ': >"$1"
			for ((end = ${EPOCHREALTIME/./} + 900000; ${EPOCHREALTIME/./} < end;)); do
				[ -e "$1" ] || break
			done' - "$TOPO_TMP/keeps" &
		wait_for 20 [ -e "$TOPO_TMP/keeps" ] || return
		sleep 0.1
		n2 chrt -f 1 rdmatool link set "$RDMA2" steer off || return
		# a QP that waits for what is there sends again meanwhile
		sleep 0.35
		rm -f "$TOPO_TMP/keeps"
		echo stall >>"$TOPO_TMP/changes"
		wait $! || return
	done
}

# A message at a time, of which one is always under way, by programs on CPUs that nobody keeps
back_and_forth() {
	local n
	n=$(nproc)
	taskset -cp "0$([ "$n" -le 2 ] || echo ",2-$((n - 1))")" $BASHPID || return
	until [ -e "$TOPO_TMP/enough" ]; do
		verbs_pair "$V4.1" "$V4.2" ibv_rc_pingpong -c -e -n 1000 || return
	done
}

# What a CPU that stands still has been sent is waited for no longer than 100 ms; a slow
# machine may not get that far while it does: then once more. With PREEMPT_RT it stands
# still in softirqs too, and connections end there.
not_waited_for() {
	local before late=0 status pid i
	[ "$(nproc)" -gt 1 ] && [ ! -e /sys/kernel/realtime ] || return 0
	before=$(of_host 2 steer_late)
	for ((i = 0; i < 5 && late == 0; i++)); do
		rm -f "$TOPO_TMP/enough"
		back_and_forth >"$TOPO_TMP/back" 2>&1 &
		pid=$!
		topo_pids+=("$pid")
		changing stall 5 -t 16
		status=0
		wait "$pid" || status=$?
		try "back and forth all the while" eval "cat '$TOPO_TMP/back'; exit $status"
		late=$(($(of_host 2 steer_late) - before))
	done
	try "$late times the rest went on" [ "$late" -gt 0 ]
	try "without steering" n2 rdmatool link set "$RDMA2" steer off
}

# victims mix|many|uc|ud|xrc - traffic by IPv6, whose QPs scribble.bpf.c mistreats: most of
# it fails
victims() {
	local sock=$TOPO_TMP/victim.$1 pid a b n
	a=(ibv_xsrq_pingpong -p 18520 -d "$RDMA1" -g "$(gid_index "$RNS1" "$RDMA1" "$V6:1")")
	b=(ibv_xsrq_pingpong -p 18520 -d "$RDMA2" -g "$(gid_index "$RNS2" "$RDMA2" "$V6:2")")
	# longer each time: a slow machine has them just begun in a second
	for ((n = 1; ; n = n < 20 ? n + 1 : n)); do
		case $1 in
		uc | ud) timeout $n ../ud/xroce_ud -a "$RDMA1@$RNS1" -b "$RDMA2@$RNS2" -6 "$1"
			continue ;;
		xrc)	in_ns "$RNS2" timeout $((2 * n)) "${b[@]}" &
			pid=$!
			wait_for $n tcp_listens 18520
			in_ns "$RNS1" timeout $n "${a[@]}" "$V4.2" ;;
		*)	in_ns "$RNS2" ../rc/xroce_rc -s "$sock" -d "$RDMA2" -6 &
			pid=$!
			wait_for $((4 + n)) test -S "$sock"
			in_ns "$RNS1" timeout $((3 + n)) ../rc/xroce_rc -c "$sock" -d "$RDMA1" \
				-6 -m 1024 -r 4 -t 10 "$1" ;;
		esac
		kill "$pid"
		rm -f "$sock"
	done >/dev/null 2>&1
}

# scribbled_on TRANSPORT - how many packets of its QPs; as in the opcode's upper bits
scribbled_on() {
	local map
	map=$(bpftool -j map show | jq '[.[] | select(.name == "scribbled")][0].id')
	bpftool -j map lookup id "$map" key "$1" 0 0 0 | jq .formatted.value
}

scribbled_enough() {
	[ "$(scribbled_on 0)" -gt 500 ] && [ "$(scribbled_on 1)" -gt 10 ] &&
		[ "$(scribbled_on 3)" -gt 10 ] && [ "$(scribbled_on 5)" -gt 20 ]
}

# A program that writes what it likes where it may: only to those QPs' harm. From generic
# XDP it may nowhere, which begins with no packet.
scribbled() {
	local pid pids=() test how=xdpdrv tests=(mix many)
	[ "$XROCE_XDP" = native ] || how=xdpgeneric
	[[ ${XROCE_IP:-4 6} != *6* ]] || tests+=(data)
	topo_direct 4200
	try "two hosts" rdma_up
	try "without our program" n2 rdmatool link set "$RDMA2" xdp off
	try "with one that scribbles" \
		n2 ip link set "$ETH2" "$how" obj scribble.bpf.o sec xdp.frags
	if [ "$how" = xdpgeneric ]; then
		rc "generic: a program that would scribble" forward -6 -m 1024 -r 20 mix many
		try "generic: has nothing to scribble on" [ "$(scribbled_on 0)" = 0 ]
		topo_clear
		return
	fi
	for test in mix many uc ud xrc; do
		victims $test &
		pids+=($!)
	done
	topo_pids+=("${pids[@]}")
	rc "beside QPs that are scribbled on" forward -m 1024 -r $(((rounds + 1) / 2)) "${tests[@]}"
	# few of them, where the machine has other things to do
	for _ in {1..30}; do
		! scribbled_enough || break
		rc "beside more of that" forward -m 1024 -r 1 mix
	done
	for pid in "${pids[@]}"; do
		bg_end "$pid"
	done
	try "scribbled on $(scribbled_on 0) of RC, $(scribbled_on 1) of UC, $(scribbled_on 3) of UD, $(scribbled_on 5) of XRC" \
		scribbled_enough
	topo_clear
}

# set_policy 1|2 FILE - what it says, but for generic mode's warning each time, if it fails
set_policy() {
	"n$1" rdmatool link set "xr$1" policy "$2" >"$TOPO_TMP/policy" 2>&1 && return
	cat "$TOPO_TMP/policy" >&2
	return 1
}

# Programs swapped in and out, one after the other, until there is enough
change_policies() {
	while [ ! -e "$TOPO_TMP/enough" ]; do
		set_policy 2 "$POLICY" && set_policy 1 "$POLICY" || return
		echo swapped >>"$TOPO_TMP/changes"
		set_policy 2 off && set_policy 1 off || return
	done
}

# refused FILE WORDS - and the program stays the one that it is
refused() {
	local out was
	was=$(n2 rdmatool -j link show "$RDMA2" | jq '.[0].prog')
	out=$(n2 rdmatool link set "$RDMA2" policy "$1" 2>&1) && return 1
	echo "$out"
	[[ $out == *"$2"* ]] &&
		[ "$was" = "$(n2 rdmatool -j link show "$RDMA2" | jq '.[0].prog')" ]
}

# endless NET - a pingpong between NET's 1 and 2 that does not end: $far, $near, and
# $qpn at h2
endless() {
	local net=$1 received
	received=$(counter "$NS2" "$RDMA2" rdma_recvs)
	bg "$RNS2" ibv_rc_pingpong -d "$RDMA2" -n 100000000 \
		-g "$(gid_index "$RNS2" "$RDMA2" "${net}2")" >"$TOPO_TMP/victim"
	far=$!
	wait_for 10 tcp_listens 18515
	bg "$RNS1" ibv_rc_pingpong -d "$RDMA1" -n 100000000 \
		-g "$(gid_index "$RNS1" "$RDMA1" "${net}1")" "$V4.2" >/dev/null 2>&1
	near=$!
	wait_for 10 eval "[ \$(counter $NS2 $RDMA2 rdma_recvs) -gt $((received + 100)) ]"
	qpn=$(n2 rdmatool -j qp show type RC | jq '[.[] | select(.state == "RTS")][0].lqpn')
}

# silenced WHERE - the policy silences a QP, and no other
silenced() {
	local far near qpn dropped before
	before=$(counter "$NS2" "$RDMA2" xdp_drop_policy)
	endless "$V4."
	# its peer runs out of retries
	try "$1: QP $qpn hears nothing more" one_in 1
	try "$1: and its peer gives up" wait_for 30 eval "! kill -0 $near"
	dropped=$(($(counter "$NS2" "$RDMA2" xdp_drop_policy) - before))
	try "$1: $dropped packets dropped and counted" [ "$dropped" -gt 3 ]
	rc "$1: beside it" forward -m 1024 -r $(((rounds + 1) / 2)) mix
	bg_end "$far"
}

wrong_policies() {
	try "no such policy" refused /nowhere.bpf.o "No such file"
	try "a policy that is none" refused ../lib/xdp_pass.bpf.o "no programs xroce"
	try "a policy that the verifier refuses" refused wrong.bpf.o "policy wrong.bpf.o"
}

# one_in N - the policy takes each Nth packet of $qpn
one_in() {
	local map
	map=$(bpftool -j map show | jq '[.[] | select(.name == "policy_every")][-1].id')
	bpftool map update id "$map" key $((qpn & 255)) $((qpn >> 8 & 255)) $((qpn >> 16)) 0 \
		value "$1" 0 0 0
}

# Generic XDP asks no policy, and says so; its program serves all the same
unasked() {
	local far near qpn received
	topo_direct 4200
	try "two hosts" rdma_up
	changing policies 3
	wrong_policies
	try "generic: a policy, which is not asked" eval \
		'n2 rdmatool link set "$RDMA2" policy "$POLICY" 2>&1 | grep "native XDP alone asks"'
	try "generic: it is there" eval \
		'map_of "$(xdp_prog "$NS2" "$ETH2")" policy_every &&
			[ "$(xdp_mode "$NS2" "$ETH2")" = generic ]'
	endless "$V4."
	try "generic: what it would silence" one_in 1
	received=$(of_host 2 rdma_recvs)
	try "generic: goes on" wait_for 30 eval '[ "$(of_host 2 rdma_recvs)" -gt $((received + 100)) ]'
	try "generic: and loses nothing" [ "$(of_host 2 xdp_drop_policy)" = 0 ]
	bg_end "$near"
	bg_end "$far"
	topo_clear
}

# silent 0|1 - the policy silences none, or all
silent() {
	bpftool map update name silent.bss key 0 0 0 0 value "$1" 0 0 0
}

# A policy's variables and maps are the same wherever it is asked, also on a CPU that
# packets are steered to later
with_variables() {
	local far near qpn cpu
	# which no CPU has been sent to yet
	try "a new program" eval \
		'n2 rdmatool link set "$RDMA2" xdp off && n2 rdmatool link set "$RDMA2" xdp native'
	# by another name, as an administrator may have it
	ln -s "$PWD/silent.bpf.o" "$TOPO_TMP/quiet.bpf.o"
	try "a policy with a variable" n2 rdmatool link set "$RDMA2" policy "$TOPO_TMP/quiet.bpf.o"
	for cpu in 0 1; do
		endless "$V4."
		try "CPU $cpu: steered to" n2 rdmatool qp set link "$RDMA2/1" lqpn "$qpn" steer $cpu
		try "CPU $cpu: silenced by it" silent 1
		try "CPU $cpu: and its peer gives up" wait_for 30 eval "! kill -0 $near"
		try "CPU $cpu: by it no more" silent 0
		bg_end "$far"
	done
	try "no policy" n2 rdmatool link set "$RDMA2" policy off
}

# What a policy is for, wherever packets are dealt with
with_policy() {
	changing policies 3
	wrong_policies
	try "a policy" n2 rdmatool link set "$RDMA2" policy "$POLICY"
	silenced "where they arrive"
	# whoever comes first, policy or steering, and whatever was before
	try "on two CPUs" n2 rdmatool link set "$RDMA2" steer 0-1
	silenced "on any CPU"
	try "no policy" n2 rdmatool link set "$RDMA2" policy off
	try "and one again" n2 rdmatool link set "$RDMA2" policy "$POLICY"
	silenced "with a program that came later"
	try "no policy" n2 rdmatool link set "$RDMA2" policy off
	try "nor steering" n2 rdmatool link set "$RDMA2" steer off
	with_variables
}

# Programs that would take the module down, by the word of the verifier, which does not
# know how they are to be attached
verified() {
	local pin=/sys/fs/bpf/xroce-call no='kernel function bpf_xroce' case why irq=''
	# newer kernels' programs alone can
	! grep -q ' bpf_local_irq_save$' /proc/kallsyms || irq="7:$no"
	for case in 0:- "1:$no" 2:'Possibly NULL' 3:'Possibly NULL' 4:'Possibly NULL' \
		    "5:$no" "6:$no" ${irq:+"$irq"}; do
		why=${case#*:} case=${case%%:*}
		if bpftool prog load "call$case.bpf.o" "$pin" >"$TOPO_TMP/load" 2>&1; then
			rm "$pin"
			try "call$case is loaded, as it should be" [ "$why" = - ]
		elif [ "$why" = - ]; then
			not_ok "call$case is loaded" "$(tail -n 3 "$TOPO_TMP/load")"
		else
			try "call$case is refused, for its fault" grep -q "$why" "$TOPO_TMP/load"
		fi
	done
}

# A pingpong of which h1 sends something, and h2's QPs get nothing
none_come() {
	local net=${1:-$V4.} sent got
	sent=$(counter "$NS1" "$RDMA1" sent_pkts)
	got=$(counter "$NS2" "$RDMA2" rcvd_pkts)
	PAIR_TIMEOUT=20 verbs_pair "${net}1" "${net}2" ibv_rc_pingpong -n 10 && return 1
	sent=$(($(counter "$NS1" "$RDMA1" sent_pkts) - sent))
	got=$(($(counter "$NS2" "$RDMA2" rcvd_pkts) - got))
	echo "$sent sent, $got received"
	[ "$sent" -gt 0 ] && [ "$got" = 0 ]
}

# What a program that sends by the stack sends, tags and all
all_in_place() {
	local got fast
	got=$(counter "$NS2" "$RDMA2" rcvd_pkts)
	fast=$(taken_in_place "$NS2" "$RDMA2")
	verbs_pair "$V4.1" "$V4.2" ibv_rc_pingpong -c -n 1000 || return
	got=$(($(counter "$NS2" "$RDMA2" rcvd_pkts) - got))
	fast=$(($(taken_in_place "$NS2" "$RDMA2") - fast))
	echo "$got received, $fast by XDP"
	# one asked for again may find the QP gone
	[ "$fast" -ge 1000 ] && [ "$fast" -ge "$got" ] && [ $((fast - got)) -lt 10 ]
}

came() { counter "$NS2" "$RDMA2" rcvd_pkts rx_malformed rx_icrc_encapsulated; }

# alike HOW MAC "RECEIVED MALFORMED ICRC" - a packet as `frames` has it, and a right one
# behind it: how these counters of h2 move
alike() {
	local was now i
	read -ra was < <(came)
	frames "$NS1" alike "$ETH1" "$(mac "$NS1" "$ETH1")" "$2" "$qpn" "${net}1" "${net}2" \
		"$1" || return
	for i in {1..20}; do
		read -ra now < <(came)
		[ "$((now[0] - was[0])) $((now[1] - was[1])) $((now[2] - was[2]))" != "$3" ] ||
			break
		sleep 0.1
	done
	sleep 0.2
	read -ra now < <(came)
	echo "$1: $((now[0] - was[0])) $((now[1] - was[1])) $((now[2] - was[2])), not $3"
	[ "$((now[0] - was[0])) $((now[1] - was[1])) $((now[2] - was[2]))" = "$3" ]
}

# begin_alike NET - packets of a QP that begin as others: what differs elsewhere counts
# as ever
begin_alike() {
	local net=$1 qpn far near mac how was
	topo_direct 4200
	try "two hosts" rdma_up
	endless "$net"
	kill -STOP "$far" "$near"
	wait_for 10 eval 'was=$(came); sleep 0.5; [ "$was" = "$(came)" ]'
	mac=$(mac "$NS2" "$ETH2")
	for how in "whole 2 0 0" "whole 2 0 0" "padded 2 0 0" "short 1 1 0" "spoiled 1 0 1" \
		"astray 1 0 0" "tagged 1 0 0"; do
		try "$XROCE_XDP, ${net}2: $how" alike "${how%% *}" "$mac" "${how#* }"
	done
	try "another MAC address" n2 ip link set "$ETH2" address 02:00:00:00:07:02
	try "$XROCE_XDP, ${net}2: for the old one" alike whole "$mac" "0 0 0"
	try "$XROCE_XDP, ${net}2: for that" alike whole 02:00:00:00:07:02 "2 0 0"
	kill -CONT "$far" "$near"
	bg_end "$near"
	bg_end "$far"
	try "QP $qpn is gone" wait_for 10 eval \
		"! n2 rdmatool qp show type RC | grep -q 'lqpn $qpn '"
	try "$XROCE_XDP, ${net}2: so are its packets" alike whole 02:00:00:00:07:02 "0 0 0"
	topo_clear
}

# by_xdp PERCENT COMMAND... - so many of what h1 sends meanwhile go by XDP, or a few less
by_xdp() {
	local n pkts
	n=$(xdp_sent) pkts=$(of_host 1 sent_pkts)
	verbs_pair "$V4.1" "$V4.2" "${@:2}" || return
	n=$(($(xdp_sent) - n)) pkts=$(($(of_host 1 sent_pkts) - pkts))
	echo "$n of $pkts frames by XDP"
	[ "$pkts" -gt 200 ] && [ "$n" -le $((pkts * $1 / 100)) ] &&
		[ "$n" -ge $((pkts * $1 / 105)) ]
}

# What has a class goes by the stack, which alone knows the classes' queues
classes() {
	topo_direct 4200
	try "two hosts" rdma_up
	try "two queues to send by" eval 'n2 ethtool -L "$ETH2" rx 2 && n1 ethtool -L "$ETH1" tx 2'
	try "no classes: all by XDP" by_xdp 100 ibv_rc_pingpong -c -n 200 -l 3
	try "classes" n1 tc qdisc add dev "$ETH1" root mqprio num_tc 2 \
		map 0 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 queues 1@0 1@1 hw 0
	try "without a class by XDP" by_xdp 100 ibv_rc_pingpong -c -n 200
	try "with one by the stack" by_xdp 0 ibv_rc_pingpong -c -n 200 -l 3
	topo_clear
}

# A veth takes XDP frames while its peer has a program; a QP that was sending before it had
# one sends them from then on
peers_program() {
	local pid sent was lasts start=$SECONDS
	try "the peer has no program" n2 rdmatool link set "$RDMA2" xdp off
	was=$(counter "$NS1" "$RDMA1" sent_pkts)
	# and as long as a slow machine takes for what is done meanwhile
	lasts=$((12 + 20 * (SECONDS - start)))
	PAIR_TIMEOUT=$((lasts + 60)) verbs_pair "$V4.1" "$V4.2" ib_write_bw -D "$lasts" -s 4096 \
		>"$TOPO_TMP/sends" 2>&1 &
	pid=$!
	sends() { [ "$(counter "$NS1" "$RDMA1" sent_pkts)" -gt $((was + $1)) ]; }
	try "sends" wait_for 30 sends 2000
	sent=$(xdp_sent)
	try "and goes on" wait_for 10 sends 4000
	try "all by the stack" [ "$(xdp_sent)" = "$sent" ]
	try "the peer has one" n2 rdmatool link set "$RDMA2" xdp native
	try "by XDP again" wait_for 10 eval "[ \$(xdp_sent) -gt $((sent + 1000)) ]"
	# not in the subshell of try, whose child it is not
	wait "$pid" && ok "and without an error" || not_ok "and without an error" \
		"$(tail -n 3 "$TOPO_TMP/sends")"
}

# Tags that veth holds beside the frame, as NICs do that take them off
vlans() {
	local obj=$PWD/vlan9.bpf.o host
	topo_direct 4200
	modprobe 8021q
	try "two hosts" rdma_up
	try "one sends without XDP" n1 rdmatool link set "$RDMA1" xdp off
	try "and has a VLAN" n1 ip link add link "$ETH1" name eth0.7 type vlan id 7
	try "as has the other" n2 ip link add link "$ETH2" name eth0.7 type vlan id 7
	n1 tc qdisc add dev "$ETH1" clsact
	try "what it sends is of another VLAN" n1 tc filter add dev "$ETH1" egress \
		bpf da obj "$obj" sec tc
	try "which the other does not take for its own" none_come
	n1 tc filter del dev "$ETH1" egress
	# whatever it says of itself: a veth takes no tags off, and puts none back
	try "though it were to take none off" \
		n2 ethtool -K "$ETH2" rxvlan off rx-vlan-stag-hw-parse off
	try "nor does it then" eval '
		n1 tc filter add dev "$ETH1" egress bpf da obj "$obj" sec tc && none_come'
	n1 tc filter del dev "$ETH1" egress
	n2 ethtool -K "$ETH2" rxvlan on rx-vlan-stag-hw-parse on
	try "without that it does" verbs_pair "$V4.1" "$V4.2" ibv_rc_pingpong -c -n 100
	try "tags are in frames" n1 ethtool -K "$ETH1" txvlan off tx-vlan-stag-hw-insert off
	try "tags with a priority alone" n1 tc filter add dev "$ETH1" egress \
		bpf da obj "$obj" sec tc/priority
	try "are no VLAN's, and no reason for the stack" all_in_place
	try "nor are they where they are steered to" eval '
		n2 rdmatool link set "$RDMA2" steer 0-$(($(nproc) - 1)) && all_in_place &&
			n2 rdmatool link set "$RDMA2" steer off'
	n1 tc filter del dev "$ETH1" egress
	n1 ethtool -K "$ETH1" txvlan on tx-vlan-stag-hw-insert on
	for host in "$NS1 1" "$NS2 2"; do
		ip -n "${host% *}" addr add "198.18.7.${host#* }/24" dev eth0.7
		ip -n "${host% *}" link set eth0.7 up
	done
	try "with GIDs" wait_for 20 vlans_ready 198.18.7.
	try "a tag beside a tag in the frame" n1 tc filter add dev "$ETH1" egress \
		bpf da obj "$obj" sec tc
	try "is of that VLAN, and not of the one that the frame shows" none_come 198.18.7.
	n1 tc filter del dev "$ETH1" egress
	try "tags beside frames" n1 tc filter add dev "$ETH1" egress \
		bpf da obj "$obj" sec tc/egress
	# or the stack takes for the VLAN's what came by the netdev below
	n2 sysctl -qw net.ipv4.conf.all.rp_filter=1
	try "steered" n2 rdmatool link set "$RDMA2" steer 0-$(($(nproc) - 1))
	try "what is of a VLAN stays so" verbs_pair 198.18.7.1 198.18.7.2 \
		ibv_rc_pingpong -c -n 100
	topo_clear
}

# rdma_rxe on a netdev that has the program
with_rxe() {
	local map how=xdpdrv
	[ "$XROCE_XDP" = native ] || how=xdpgeneric
	DEVTYPE1=rxe
	topo_direct 4200
	try "$XROCE_XDP: rdma_rxe and xroce" rdma_up
	try "$XROCE_XDP: the program on rdma_rxe's netdev" \
		in_ns "$NS1" ip link set dev "$ETH1" "$how" obj "$OBJ" sec xdp.frags
	map=$(stats_map "$NS1" "$ETH1")
	try "$XROCE_XDP: rdma_rxe works there" verbs_pair "$V4.1" "$V4.2" \
		ibv_rc_pingpong -c -n 100 -s 6000
	try "$XROCE_XDP: the program saw its packets and let them pass" \
		[ "$(count "$map" $NOT_OURS)" -gt 100 ]
	in_ns "$NS1" ip link set dev "$ETH1" "$how" off
	topo_clear
	modprobe -r rdma_rxe
}

gone() { [ "$(bpftool -j prog show | jq '[.[] | select(.name == "xroce")] | length')" = 0 ]; }
unload() { wait_for 20 gone && wait_for 20 modprobe -r xroce; }

between_others
for_us
to_a_cpu
begin_alike "$V4."
[[ ${XROCE_IP:-4 6} != *6* ]] || begin_alike "$V6:"
if [ "$XROCE_XDP" = generic ]; then
	lossless_change
	scribbled
	unasked
else
	# one pair of hosts for what leaves it as it was; first what reads all of its counters
	topo_direct 4200
	try "two hosts" rdma_up
	under_change
	steered_anew
	not_waited_for
	with_policy
	verified
	peers_program
	topo_clear
	scribbled
	classes
	vlans
fi
with_rxe
try "$XROCE_XDP: nothing holds the module" unload
tap_end
