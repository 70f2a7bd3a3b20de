#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# SMC-R: the kernel's sockets that shake hands by TCP and then WRITE into each
# other's buffers. Version 2 of the protocol, as only that goes over RoCEv2; both
# need an EID in common for it. Topology: see ends.sh; but an address of one's own
# is on the loopback device for SMC, so two rdma_rxe need two machines.
#
# Each host is the other's gateway: without one SMC's server sends to the MAC
# address that was proposed with version 1, which is 0 from a device without RoCEv1.
#
# DEVTYPE1, DEVTYPE2=xroce|rxe  XROCE_XDP=off|generic|native

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ../lib/here.sh
. ../lib/ends.sh

BYTES=4194304

qps() { r1 rdma resource show qp link "$RDMA1/1" type RC | grep -c RTS || :; }

# What has not fallen back to TCP has a QP, which stays for the next connection
sockets() {
	ends 'tcp_listens 7777' ./sockets -s "$1" -- ./sockets -s "$1" "$BYTES" ||
		return
	[ "$(qps)" -gt 0 ] && return
	echo "no QP: it has fallen back to TCP"
	return 1
}

# gateway NAMESPACE NETDEV N PEER
gateway() {
	in_ns "$1" ip addr add "$V4.10$3/32" dev "$2" &&
		in_ns "$1" ip route add "$V4.10$4/32" dev "$2" &&
		in_ns "$1" ip route add "$V4.$4/32" via "$V4.10$4" dev "$2" \
			src "$V4.$3"
}

modprobe smc 2>/dev/null || skip_all "this kernel has no SMC"
[ "$DEVTYPE1$DEVTYPE2" != rxerxe ] || skip_all "two rdma_rxe need two machines"
ends_up nstat
try "$label: an EID" ./ueid XROCE
try "$label: h2 is the gateway" gateway "$NS1" "$ETH1" 1 2
try "$label: h1 is the gateway" gateway "$NS2" "$ETH2" 2 1
measure "$label: a stream there and back" few_segments sockets "$ADDR2"
measure "$label: and again" few_segments sockets "$ADDR2"
tap_end
