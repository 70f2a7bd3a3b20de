#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Programs that know sockets alone, over RDMA: librspreload puts librdmacm's
# rsockets in their place. What arrives is compared, and TCP carries none of it.
# Topology: see ends.sh.
#
# DEVTYPE1, DEVTYPE2=xroce|rxe  XROCE_XDP=off|generic|native

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ../lib/here.sh
. ../lib/ends.sh

BYTES=4194304
PRELOAD=
for dir in /usr/lib/*/rsocket /usr/lib/rsocket; do
	[ ! -e "$dir/librspreload.so" ] || PRELOAD=$dir/librspreload.so
done
[ -n "$PRELOAD" ] || skip_all "needs librspreload.so"

sockets() {
	ends 'cm_listens 7777' env LD_PRELOAD="$PRELOAD" ./sockets "$1" -- \
		env LD_PRELOAD="$PRELOAD" ./sockets "$1" "$BYTES"
}

ends_up nstat
measure "$label: a program of sockets, IPv4" few_segments sockets "$ADDR2"
measure "$label: a program of sockets, IPv6" few_segments sockets "$ADDR6"
tap_end
