#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RDS over RDMA: the kernel's reliable datagrams, and its READs and WRITEs of
# memory with a cookie. Topology: see here.sh; RDS knows no network namespaces.
#
# DEVTYPE=xroce|rxe  XROCE_XDP=off|generic|native

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ../lib/here.sh

COUNT=200
[ -z "${XROCE_LONG:-}" ] || COUNT=20000
label="$DEVTYPE $XROCE_XDP"

here_more_end() { modprobe -r rds_rdma rds 2>/dev/null; }

# It is the device that has carried them, not RDS's own loopback or TCP
exchange() {
	local before after
	before=$(qps)
	./rds "$V4.1" "$COUNT" || return
	after=$(qps)
	[ "$before" = 0 ] && [ "$after" -gt 0 ] && return
	echo "$before QPs of RDS before, $after with a connection"
	return 1
}

qps() { rdma resource show qp link xr1/1 type RC | grep -c . || :; }

modprobe -n rds_rdma 2>/dev/null || skip_all "this kernel has no rds_rdma"
here_begin rdma
if ! why=$(here_up && modprobe rds_rdma 2>&1); then
	not_ok "$label: a device" "$why"
	tap_end
fi
measure "$label: messages, RDMA READ and WRITE" exchange
try "$label: nothing from the kernel" no_splat
tap_end
