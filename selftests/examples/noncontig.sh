#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Blocks sent as they are and packed, on xroce and rdma_rxe, each to itself: every
# byte compared, and the table of their cost printed. Topology: see here.sh.
#
# XROCE_XDP=off|generic|native

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ../lib/here.sh

# rdma_rxe keeps the UDP port of this namespace while it is loaded.
here_more_end() { modprobe -rq rdma_rxe || :; }

blocks() {
	./noncontig -d xr1 -g "$1" -n "${2:-100}" "${@:3}" >"$TOPO_TMP/table" 2>&1
	local status=$?
	sed "s/^xr1 /$DEVTYPE /; s/^/# /" "$TOPO_TMP/table"
	return $status
}

refused() {
	local why
	why=$(./noncontig -d xr1 -g "$1" -b 8 -c 100000 -s 8 2>&1) && return 1
	[[ $why == 'blocks of 1 to STRIDE bytes'* ]]
}

here_begin jq
for DEVTYPE in xroce rxe; do
	[ "$DEVTYPE" = xroce ] || here_down
	if ! why=$(here_up 2>&1); then
		not_ok "$DEVTYPE: device" "${why//$'\n'/$'\n'# }"
		continue
	fi
	index=$(gid_index '' xr1 "$V4.1")
	if blocks "$index"; then
		ok "$DEVTYPE: the table"
	else
		not_ok "$DEVTYPE: the table"
	fi
	if blocks "$index" 20 -b 100 -c 7 -s 1001; then
		ok "$DEVTYPE: 7 blocks of 100 bytes"
	else
		not_ok "$DEVTYPE: 7 blocks of 100 bytes"
	fi
	try "$DEVTYPE: more blocks than a work request takes" refused "$index"
done
tap_end
