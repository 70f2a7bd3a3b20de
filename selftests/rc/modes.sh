#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The same work with XDP off, generic and native: the same completions in the same
# order, and the same counters, but for those that say which way packets went.
#
#   +----------+         +----------+
#   | h1  eth0 |---------| eth0  h2 |	veth, 198.18.1.1, .2, fdc8::1, ::2
#   +----------+         +----------+
#
# XROCE_XDP is set here. XROCE_MTU=1500|4500|9000

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ../lib/rc.sh

modprobe xroce || skip_all "no module xroce"
[ "$DEVTYPE" = xroce ] || skip_all "rdma_rxe has one way only"
logs=$TOPO_TMP/logs
mkdir "$logs"

# What hangs on who is faster, on the room in a device, and which way packets come. All
# others are the same.
MAY_DIFFER='ifindex|(sent|rcvd)_(pkts|bytes)|acks_sent|duplicate_request'
MAY_DIFFER+='|ack_requests_resent|doorbells|tx_untaken|np_cnp_sent|rp_cnp_handled'
MAY_DIFFER+='|drop_no_qp|drop_state|xdp_[a-z_]*'
# A netdev without XDP keeps no order from CPU to CPU
MAY_DIFFER+='|out_of_sequence|naks_seq_sent|packet_seq_err|implied_nak_seq_err|retransmitted_pkts'

# alike A B LINES - the same lines, and enough of them
alike() {
	wc -l "$1"
	[ "$(wc -l <"$1")" -gt "$3" ] && diff "$1" "$2"
}

for XROCE_XDP in off generic native; do
	log=$logs/$XROCE_XDP
	topo_direct "${XROCE_MTU:-4500}"
	try "$XROCE_XDP: devices" rdma_up
	# so long that no slow machine takes it for a loss
	rc "$XROCE_XDP" forward -t 22 -l "$log.wc" data shape mix stopped
	rc_took_xdp "$XROCE_XDP"
	counters >"$log.all"
	grep -vE "^xr. ($MAY_DIFFER) " "$log.all" >"$log.same"
	# QPs' own order, that of several in one queue is nobody's
	sort -s -k 1,3 "$log.wc" >"$log.order"
	try "$XROCE_XDP: nothing is lost" no_loss "$log.all"
	topo_clear
done
# Natively all of a QP's packets go one way, in order, and come by one queue
in_order() {
	grep -E '^xr. (out_of_sequence|naks_seq_sent|packet_seq_err|implied_nak_seq_err) ' \
		"$logs/native.all" | awk '{ print; n++; sum += $NF } END { exit n != 8 || sum }'
}
try "native: no packet overtook another" in_order
for mode in generic native; do
	try "$mode: the completions of off, in their order" \
		alike "$logs/off.order" "$logs/$mode.order" 500
	try "$mode: the counters of off" alike "$logs/off.same" "$logs/$mode.same" 60
done
tap_end
