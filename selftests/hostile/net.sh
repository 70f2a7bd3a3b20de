#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Floods of packets that are right in all but that nobody asked for them, from the
# address of the peer and from another one: connections go on, at half the rate at
# least that they have beside as many packets of another kind, and memory is
# bounded.
#
#   +---------+     +----------------------+     +---------+
#   | h1 eth0 |-----| p1 --- br0 --- p2  m |-----| eth0 h2 |
#   +---------+     +----------------------+     +---------+
#                     floods leave p1 and p2
#
# XROCE_XDP=off|generic|native  XROCE_FLOOD_S: seconds of each, 3, or 30 with
# XROCE_LONG  XROCE_FLOOD_RATE: packets in a second, 2000

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh

topo_need ib_write_bw rdmatool jq
seconds=${XROCE_FLOOD_S:-${XROCE_LONG:+30}}
seconds=${seconds:-3}
rate=${XROCE_FLOOD_RATE:-2000}
# WRITEs in a second that are few, and packets that have to be found unwanted; a
# kernel that checks everything sends less
few=100 least=$((seconds * rate / 4))
[ ! -e /sys/kernel/debug/kmemleak ] || few=20 least=$((seconds * rate / 16))
topo_middle 1500
label="$XROCE_XDP"
if ! why=$(rdma_up 2>&1); then
	not_ok "$label: devices" "${why//$'\n'/$'\n'# }"
	tap_end
fi

mac() { in_ns "$1" cat "/sys/class/net/$2/address"; }

# qps NAMESPACE DEVICE FIELD - "QPN:PSN" of each that is connected
qps() {
	in_ns "$1" rdmatool -j -d qp show dev "$2" type RC |
		jq -r ".[] | \"\(.lqpn):\(.$3)\""
}

# WRITEs that have come to h2, whoever has sent them
writes() { counter "$RNS2" "$RDMA2" rx_write_requests; }

free_kib() { awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo; }

# What the devices have dropped, for whatever reason, or counted as old
unwanted() {
	local ns
	for ns in "$RNS1 $RDMA1" "$RNS2 $RDMA2"; do
		# shellcheck disable=SC2086
		in_ns ${ns% *} rdmatool -d -j stat show "${ns#* }"
	done | jq -s '[.. | objects | to_entries[] |
		select(.key | test("^drop_|duplicate|cnp_handled|rdma_recvs|xdp_drop")) |
		.value | numbers] | add'
}

# floods KIND SOURCE1 SOURCE2 MAC1 MAC2 - to h1 and h2 at once
floods() {
	local kind=$1 a b field1=una field2=epsn
	[ "$kind" != fuzz ] || field1=epsn
	# shellcheck disable=SC2046
	nm ./flood p1 "$(mac "$NS1" "$ETH1")" "$4" "$V4.1" "$2" "$kind" "$seconds" \
		"$rate" $(qps "$RNS1" "$RDMA1" "$field1") &
	a=$!
	# shellcheck disable=SC2046
	nm ./flood p2 "$(mac "$NS2" "$ETH2")" "$5" "$V4.2" "$3" "$kind" "$seconds" \
		"$rate" $(qps "$RNS2" "$RDMA2" "$field2") &
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
	return $status
}

# measure KIND SOURCES... - sets $before: beside other packets; $after: in the flood
measure() {
	during floods other "${@:2}" || return
	before=$came
	taken=$(unwanted) kib=$(free_kib)
	during floods "$@" || return
	after=$came
	kib=$((kib - $(free_kib))) taken=$(($(unwanted) - taken))
	during quiet
}

# flooded NAME KIND SOURCES... - half of what comes beside other packets. A guest
# has not always the same share of its host: once more, and once more
flooded() {
	local name="$label: $1" before=0 after=0 taken kib try
	shift
	for try in 1 2 3; do
		if ! measure "$@" >"$TOPO_TMP/floods" 2>&1; then
			not_ok "$name" "$(tr '\n' ';' <"$TOPO_TMP/floods")"
			return
		fi
		echo "# $1: $after WRITEs/s, $before beside others, $came alone;" \
			"$taken unwanted; $kib KiB"
		[ $((after * 2)) -lt "$before" ] || break
	done
	if [ "$came" -lt "$few" ]; then
		not_ok "$name" "the connections are at a stand: $(r1 rdmatool -d stat)"
	elif [ $((after * 2)) -lt "$before" ]; then
		not_ok "$name" "$before WRITEs/s, then $after, $try times"
	elif [ "$taken" -lt "$least" ]; then
		not_ok "$name" "only $taken packets were found to be unwanted"
	elif [ "$kib" -gt 65536 ]; then
		not_ok "$name" "$kib KiB are in use for it"
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
for kind in fuzz ack nak rnr cnp req; do
	flooded "$kind from another address" $kind $V4.9 $V4.9 $OTHER $OTHER
	flooded "$kind from the peer's" $kind $V4.2 $V4.1 "$MAC2" "$MAC1"
done
try "$label: the connections are there" connected
try "$label: and what they carry goes on" running
kill $bw 2>/dev/null
pkill -INT -x ib_write_bw
wait $bw
try "$label: new ones come up" verbs_pair "$V4.1" "$V4.2" ibv_rc_pingpong -c -n 200
tap_end
