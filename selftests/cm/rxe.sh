#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The programs of cm.sh between xroce and rdma_rxe, each of them as client and as
# server.
#
#   +----------------+         +------------------------------+
#   | h1        eth0 |---------| xr-eth0  the first namespace |	then h2 is xroce's,
#   |          xroce |         | rdma_rxe                     |	the client's rdma_rxe
#   +----------------+         +------------------------------+
#
# XROCE_XDP=off|generic|native  XROCE_MTU

# shellcheck disable=SC2034,SC2317
# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
modprobe rdma_rxe 2>/dev/null || {
	echo "1..0 # SKIP no rdma_rxe here"
	exit 4
}
DEVTYPE1=xroce DEVTYPE2=rxe

# rdma_rxe keeps the UDP port of this namespace while it is loaded.
rxe_other_way() {
	cm_all rxe xroce
	try "rdma_rxe unloads" wait_for 20 modprobe -r rdma_rxe
}

CM_MORE=rxe_other_way
. ./cm.sh
