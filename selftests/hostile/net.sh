#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Floods of packets that are right in all but that nobody asked for them, from the
# address of the peer and from another one: connections go on, at half the rate at
# least that they have beside as many packets of another kind, and no memory stays
# in use for them. Then requests that QPs of each type (prey.c) may take, with what
# these expect, beside the same connections.
#
# Why beside packets of another kind, to a UDP port that is nobody's, and not alone:
# what floods has emulated CPUs of the guest's too, which the connections have to
# themselves when they are alone, and to make, send and drop as many packets halves
# their rate before xroce has looked at one. What is to be seen is what it costs
# that they are RoCEv2's: no more than that again. The rate alone is printed.
#
#   +---------+     +----------------------+     +---------+
#   | h1 eth0 |-----| p1 --- br0 --- p2  m |-----| eth0 h2 |
#   +---------+     +----------------------+     +---------+
#                     floods leave p1 and p2
#
# XROCE_XDP=off|generic|native  XROCE_FLOOD_S: seconds of each, 3, or 30 with
# XROCE_LONG  XROCE_FLOOD_RATE: packets in a second, 2000  XROCE_FLOODS: kinds
# XROCE_SEED

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh

topo_need ib_write_bw rdmatool jq
seconds=${XROCE_FLOOD_S:-${XROCE_LONG:+30}}
seconds=${seconds:-3}
rate=${XROCE_FLOOD_RATE:-2000}
seed=${XROCE_SEED:-4711}
# WRITEs in a second that are few, and packets that have to be found unwanted; a
# kernel that checks everything sends less
few=100 least=$((seconds * rate / 4))
# A packet that is kept is 1 KiB at least, with its sk_buff: of all that is sent one
# in six. It is another that sees what is kept where that is what it looks for, and
# keeps for a while what has been freed
kept=6 floor=0 patience=60
if [ -e /sys/kernel/debug/kmemleak ]; then
	few=20 least=$((seconds * rate / 16)) floor=65536
fi
topo_middle 1500
label="$XROCE_XDP"
rdma_devices "$label"

# qps NAMESPACE DEVICE FIELD - "QPN:PSN" of each that is connected
qps() {
	in_ns "$1" rdmatool -j -d qp show dev "$2" type RC comm ib_write_bw |
		jq -r ".[] | \"\(.lqpn):\(.$3)\""
}

# WRITEs that the connections have done
writes() {
	r1 rdmatool -j stat qp dev "$RDMA1" comm ib_write_bw |
		jq '[.[].other_requests // 0] | add // 0'
}

# Memory that is neither free, on a CPU's list to be so soon, a cache nor a program's
used_kib() {
	cat /proc/sys/vm/stat_refresh
	awk '$1 == "count:" { n -= $2 * 4 }
		/^MemTotal:/ { n += $2 }
		/^(MemFree|Buffers|Cached|SwapCached|SReclaimable|AnonPages):/ { n -= $2 }
		END { print n }' /proc/zoneinfo /proc/meminfo
}

# sk_buffs, and what CPUs keep of them for the next ones
skbs() { awk '$1 == "skbuff_head_cache" { print $2 }' /proc/slabinfo; }

# Packets that the QPs of prey.c have heard
heard() {
	{
		r1 rdmatool -j stat qp dev "$RDMA1" comm prey
		r2 rdmatool -j stat qp dev "$RDMA2" comm prey
	} | jq -s '[.[][].rcvd_pkts // 0] | add // 0'
}

# unwanted COUNTERS - the sum of those whose names match, of both devices
unwanted() {
	local ns
	for ns in "$RNS1 $RDMA1" "$RNS2 $RDMA2"; do
		# shellcheck disable=SC2086
		in_ns ${ns% *} rdmatool -d -j stat show "${ns#* }"
	done | jq -s --arg names "$1" '[.. | objects | to_entries[] |
		select(.key | test($names)) | .value | numbers] | add'
}

# taken KIND SOURCE - what has become of the packets so far: of a QP's peer they were
# dropped for whatever reason, or counted as old; of another for who it is
taken() {
	case "$1 $2" in
	"new $V4.2")	heard ;;
	"ack $V4.9" | "nak $V4.9" | "rnr $V4.9" | "cnp $V4.9")
		unwanted '^drop_addr$' ;;
	"req $V4.9")	unwanted '^drop_no_neigh$' ;;
	*)	unwanted '^drop_|duplicate|cnp_handled|rdma_recvs|xdp_drop' ;;
	esac
}

# aims KIND HOST - flood's words for whom it is to be sent to
aims() {
	local ns=RNS$2 dev=RDMA$2 field=una
	case $1 in
	new)	sed -n "s/^$2 //p" "$TOPO_TMP/prey" ;;
	*)	[ "$1" != fuzz ] && [ "$2" = 1 ] || field=epsn
		qps "${!ns}" "${!dev}" "$field" ;;
	esac
}

# floods KIND SOURCE1 SOURCE2 MAC1 MAC2 - to h1 and h2 at once
floods() {
	local kind=$1 a b
	export XROCE_SEED=$((++seed))
	# shellcheck disable=SC2046
	nm ./flood p1 "$(mac "$NS1" "$ETH1")" "$4" "$V4.1" "$2" "$kind" "$seconds" \
		"$rate" $(aims "$kind" 1) &
	a=$!
	# shellcheck disable=SC2046
	nm ./flood p2 "$(mac "$NS2" "$ETH2")" "$5" "$V4.2" "$3" "$kind" "$seconds" \
		"$rate" $(aims "$kind" 2) &
	b=$!
	wait "$a" && wait "$b"
}

quiet() { sleep "$seconds"; }

# during COMMAND... - sets $came: messages in a second meanwhile
during() {
	local begun since=${EPOCHREALTIME/./} status=0
	begun=$(writes)
	"$@" || status=$?
	came=$((($(writes) - begun) * 1000000 / (${EPOCHREALTIME/./} - since)))
	return "$status"
}

# What is in use since $begun is what the last flood may leave
let_go() {
	kib=$(($(used_kib) - begun)) held=$(($(skbs) - skbs))
	[ "$kib" -le "$most" ] && [ "$held" -le "$few_skbs" ]
}

# compare KIND SOURCES... - sets $before: beside other packets; $after: in the flood;
# $kib and $held: memory and sk_buffs that it leaves in use, after a while if that is
# more than $most and $few_skbs
compare() {
	local begun skbs sent
	during floods other "${@:2}" || return
	before=$came
	taken=$(taken "$@") begun=$(used_kib) skbs=$(skbs)
	during floods "$@" >"$TOPO_TMP/sent" || return
	after=$came
	taken=$(($(taken "$@") - taken))
	sent=$(awk '{ n += $1 } END { print n }' "$TOPO_TMP/sent")
	most=$((floor + sent / kept)) few_skbs=$((512 + sent / 16))
	during quiet
	# ib_cm keeps for a while what it was asked
	wait_for "$patience" let_go || :
}

# flooded NAME KIND SOURCES... - half of what comes beside other packets. A guest
# has not always the same share of its host: once more, and once more
flooded() {
	local name="$label: $1" before=0 after=0 taken kib most held few_skbs try
	shift
	for try in 1 2 3; do
		if ! compare "$@" >"$TOPO_TMP/floods" 2>&1; then
			not_ok "$name" "$(tr '\n' ';' <"$TOPO_TMP/floods")"
			return
		fi
		echo "# $1: $after WRITEs/s, $before beside others, $came alone;" \
			"$taken unwanted; $kib KiB of $most, $held sk_buffs of $few_skbs"
		[ $((after * 2)) -lt "$before" ] || [ "$kib" -gt "$most" ] || break
		[ "$held" -le "$few_skbs" ] || break
	done
	if [ "$came" -lt "$few" ]; then
		not_ok "$name" "the connections are at a stand: $(r1 rdmatool -d stat)"
	elif [ $((after * 2)) -lt "$before" ]; then
		not_ok "$name" "$before WRITEs/s, then $after, $try times"
	elif [ "$taken" -lt "$least" ]; then
		not_ok "$name" "only $taken packets were found to be unwanted"
	elif [ "$held" -gt "$few_skbs" ]; then
		not_ok "$name" "$held sk_buffs are held"
	elif [ "$kib" -gt "$most" ]; then
		not_ok "$name" "$kib KiB are in use for it, $try times"
	else
		ok "$name"
	fi
}

# Patient, for a guest may stand still for a while; and until it is told to end,
# for what is said to take a second takes several where the host is busy.
PAIR_TIMEOUT=6000 verbs_pair "$V4.1" "$V4.2" ib_write_bw -q 4 -s 4000 -u 18 \
	-D 5000 >"$TOPO_TMP/bw" 2>&1 &
bw=$!
connected() { [ "$(qps "$RNS2" "$RDMA2" epsn | wc -l)" -ge 4 ]; }
running() { connected && during sleep 1 && [ "$came" -gt "$few" ]; }
try "$label: connections" wait_for 60 running

MAC1=$(mac "$NS1" "$ETH1") MAC2=$(mac "$NS2" "$ETH2") OTHER=02:00:00:00:00:09

# both KIND
both() {
	flooded "$1 from another address" "$1" $V4.9 $V4.9 $OTHER $OTHER
	flooded "$1 from the peer's" "$1" $V4.2 $V4.1 "$MAC2" "$MAC1"
}

for kind in ${XROCE_FLOODS:-fuzz ack nak rnr cnp req}; do
	both "$kind"
done

# Something of each kind has been received, and by nothing but what was open to it
said_prey() {
	sed '/^[12] /d' "$TOPO_TMP/prey"
	return "$1"
}
bg "" ./prey "$RDMA1@$RNS1" "$RDMA2@$RNS2" >"$TOPO_TMP/prey" 2>&1
prey=$!
try "$label: QPs of each type" wait_for 30 grep -q ready "$TOPO_TMP/prey"
both new
bg_end "$prey"
measure "$label: they have taken what they may" said_prey $?
try "$label: the connections are there" connected
try "$label: and what they carry goes on" running
kill $bw 2>/dev/null
for pid in $(ip netns pids "$NS1"; ip netns pids "$NS2"); do
	[ "$(cat "/proc/$pid/comm")" != ib_write_bw ] || kill -INT "$pid"
done
wait $bw
try "$label: new ones come up" verbs_pair "$V4.1" "$V4.2" ibv_rc_pingpong -c -n 200
tap_end
