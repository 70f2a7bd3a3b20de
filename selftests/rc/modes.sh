#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The same work with XDP off, generic and native, by RC, UC and UD and with shared
# receive queues: the same completions in the same order, and the same counters, but
# for those that say which way packets went.
#
#   +----------+         +----------+
#   | h1  eth0 |---------| eth0  h2 |	veth, 198.18.1.1, .2, fdc8::1, ::2
#   +----------+         +----------+
#
# XROCE_XDP is set here. XROCE_MTU=1500|4500|9000  XROCE_IP: by which IP, '4 6'

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ../lib/rc.sh
. ../lib/ud.sh

modprobe xroce || skip_all "no module xroce"
[ "$DEVTYPE" = xroce ] || skip_all "rdma_rxe has one way only"
logs=$TOPO_TMP/logs
mkdir "$logs"
XROCE_IP=${XROCE_IP:-4 6}
by6() { [[ $XROCE_IP == *6* ]]; }

# What hangs on who is faster, on the room in a device, and which way packets come. All
# others are the same.
MAY_DIFFER='ifindex|(sent|rcvd)_(pkts|bytes)|acks_sent|duplicate_request'
MAY_DIFFER+='|ack_requests_resent|doorbells|tx_untaken'
MAY_DIFFER+='|np_ecn_marked_roce_packets|np_cnp_sent|rp_cnp_handled'
MAY_DIFFER+='|drop_no_qp|drop_state|retransmitted_pkts|xdp_[a-z_]*'
# A netdev without XDP keeps no order from CPU to CPU. A READ's request that comes late
# enough is of none remembered. One that comes again, and again before another that it
# should follow, is dropped without a word, as it was before: the timer alone misses it.
ORDER='out_of_sequence|naks_seq_sent|packet_seq_err|implied_nak_seq_err|drop_replay'
ORDER+='|local_ack_timeout_err'

# alike WHAT LEAST OFF MODE - the same lines, and enough of them. Of a run elsewhere the
# result's own line may be all that is kept: it says what differs.
alike() {
	local n differ
	n=$(wc -l <"$3")
	differ=$(diff "$3" "$4" | grep '^[<>]' | head -n 8 | tr '\n' ' ')
	if [ -n "$differ" ]; then
		not_ok "$1: $differ" "< off, > this mode"
	elif [ "$n" -lt "$2" ]; then
		not_ok "$1: only $n"
	else
		ok "$1: all $n"
	fi
}

for XROCE_XDP in off generic native; do
	log=$logs/$XROCE_XDP
	topo_direct "${XROCE_MTU:-4500}"
	try "$XROCE_XDP: devices" rdma_up
	# so long that no slow machine takes it for a loss
	rc "$XROCE_XDP" forward -t 22 -l "$log.rc4" data shape annex mix stopped
	! by6 || rc "$XROCE_XDP" forward -t 22 -l "$log.rc6" -6 data annex
	rc_took_xdp "$XROCE_XDP"
	counters >"$log.all"
	try "$XROCE_XDP: nothing is lost" no_loss "$log.all"
	# from here on something is refused, or dropped
	rc "$XROCE_XDP" forward -t 22 -l "$log.window4" window
	! by6 || rc "$XROCE_XDP" forward -t 22 -l "$log.window6" -6 window
	ud "$XROCE_XDP" -l "$log.ud4" uc ud shape drop sqe mcast
	! by6 || ud "$XROCE_XDP" -l "$log.ud6" -6 uc ud mcast
	counters | grep -vE "^xr. ($MAY_DIFFER|$ORDER) " >"$log.same"
	# an empty queue is asked again and again, for as long as it takes
	ud "$XROCE_XDP" -l "$log.srq4" srq
	! by6 || ud "$XROCE_XDP" -l "$log.srq6" -6 srq
	topo_clear
done
# Natively all of a QP's packets go one way, in order, and come by one queue
in_order() {
	grep -E "^xr. ($ORDER) " "$logs/native.all" |
		awk '{ print; n++; sum += $NF } END { exit n != 12 || sum }'
}
try "native: no packet overtook another" in_order
for mode in generic native; do
	for what in rc:500 window:30 ud:500 srq:500; do
		for family in $XROCE_IP; do
			# QPs' own order, that of several in one queue is nobody's
			for log in off $mode; do
				sort -s -k 1,3 "$logs/$log.${what%:*}$family" >"$logs/$log.order"
			done
			alike "$mode: the completions of off, in their order, ${what%:*}, IPv$family" \
				"${what#*:}" "$logs/off.order" "$logs/$mode.order"
		done
	done
	alike "$mode: the counters of off" 60 "$logs/off.same" "$logs/$mode.same"
done
tap_end
