#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Programs as they come from the distribution: ibv_rc_pingpong and perftest.
#
#   +----------+         +----------+
#   | h1  eth0 |---------| eth0  h2 |	veth, 198.18.1.1, .2, fdc8::1, ::2
#   +----------+         +----------+
#
# DEVTYPE=xroce|rxe  XROCE_XDP=off|generic|native  XROCE_MTU=1500|4500|9000

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh

topo_need ibv_rc_pingpong ib_write_bw
[ "$DEVTYPE" = xroce ] || skip_all "its devices are in one namespace, addresses in others"
topo_direct "${XROCE_MTU:-4500}"
label="$DEVTYPE $XROCE_XDP"
rdma_devices "$label"

for addr in "$V4.1 $V4.2" "$V6:1 $V6:2"; do
	for opt in "" "-e"; do
		# shellcheck disable=SC2086
		try "$label: ibv_rc_pingpong -c $opt ${addr#* }" \
			verbs_pair ${addr} ibv_rc_pingpong -c -n 200 -s 8192 -r 64 $opt
	done
done
for prog in ib_write_bw ib_read_bw ib_send_bw ib_atomic_bw ib_write_lat \
	    ib_read_lat ib_send_lat ib_atomic_lat; do
	size=(-s 65536)
	case $prog in
	*atomic*) size=() ;;
	*lat)	size=(-s 64) ;;
	esac
	try "$label: $prog" verbs_pair "$V4.1" "$V4.2" $prog -n 200 "${size[@]}"
done
try "$label: ib_send_bw -e" verbs_pair "$V4.1" "$V4.2" \
	ib_send_bw -n 200 -s 4096 -e
try "$label: ib_write_bw -b, 4 QPs" verbs_pair "$V4.1" "$V4.2" \
	ib_write_bw -n 200 -s 16384 -q 4 -b

# Long messages without end; who has little to say is heard meanwhile
greedy() {
	local args=(-s 1048576 -q 4 -F -p 18516 --run_infinitely)
	bg "$RNS2" ib_write_bw -d "$RDMA2" -x "$(gid_index "$RNS2" "$RDMA2" "$V4.2")" \
		"${args[@]}" >/dev/null 2>&1
	wait_for 20 tcp_listens 18516
	bg "$RNS1" ib_write_bw -d "$RDMA1" -x "$(gid_index "$RNS1" "$RDMA1" "$V4.1")" \
		"${args[@]}" "$V4.2" >/dev/null 2>&1
}
sent() { echo $(($(counter "$RNS1" "$RDMA1" sent_bytes) + $(counter "$RNS2" "$RDMA2" sent_bytes))); }
# beside ROUNDS - in which not more than 16 MiB go the greedy QPs' way each, as there is
# one ring; 128 through the stack, with 1000 packets before each CPU. Its ends wait for
# each other, as the pingpong's do not: an ACK may be lost in the crowd.
beside() {
	local before most=16
	[ "$XROCE_XDP" = native ] || most=128
	before=$(sent)
	verbs_pair "$V4.1" "$V4.2" ib_send_lat -n "$1" -s 64 || return
	before=$((($(sent) - before) >> 20))
	echo "$before MiB while $1 messages went there and back"
	[ "$before" -gt 16 ] && [ "$before" -lt $(($1 * most)) ]
}
# Each greedy QP and how far it is
positions() {
	in_ns "$RNS1" rdmatool -jd qp show dev "$RDMA1" type RC |
		jq -r '.[] | select(.state == "RTS" and .una) | "\(.lqpn) \(.una)"' | sort
}
# alike TIMES - in another 64 MiB none gets more than TIMES what another does: who has
# what keeps the device full keeps nobody else out of it
alike() {
	positions >"$TOPO_TMP/before"
	start=$(sent)
	wait_for 60 moving || return
	join "$TOPO_TMP/before" <(positions) |
		awk -v times="$1" '{ n = ($3 - $2 + 2 ^ 24) % 2 ^ 24; print "QP " $1 ": " n " packets" }
			NR == 1 || n < lo { lo = n }
			n > hi		{ hi = n }
			END		{ exit NR != 4 || hi > lo * times }'
}
start=$(sent)
greedy
moving() { [ $(($(sent) - start)) -gt $((64 << 20)) ]; }
try "$label: QPs that never stop" wait_for 60 moving
try "$label: who share the device" alike 4
try "$label: nobody starves beside them" beside 200
tap_end
