#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# A device that talks to itself: every operation, MTU, address family and size,
# shapes, many QPs and a mix; more than its queue takes; and no packet of it on the
# wire.
#
#   +----------+         +----------+
#   | h1  eth0 |---------| eth0  h2 |	veth, 198.18.1.1, .2, fdc8::1, ::2
#   +----------+         +----------+
#     both ends            counts what comes
#
# DEVTYPE=xroce|rxe  XROCE_XDP=off|generic|native  XROCE_MTU=1500|4500|9000

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh

label="$DEVTYPE $XROCE_XDP"

# Frames that h2 has received, and packets that the device has sent
arrived() { ip -n "$NS2" -s -j link show "$ETH2" | jq '.[0].stats64.rx.packets'; }
sent() { counter "$NS1" "$RDMA1" sent_pkts; }

topo_direct "${XROCE_MTU:-4500}"
rdma_devices "$label"
frames=$(arrived) packets=$(sent)
rc "$label" within data shape
rc "$label" within -6 data many mix
if [ "$DEVTYPE" = xroce ]; then
	n1 rdmatool tune set "$RDMA1" cwnd-init 32767 cwnd-max 32767
	rc "$label" within flood
fi
frames=$(($(arrived) - frames)) packets=$(($(sent) - packets))
# the neighbours' own talk
if [ "$DEVTYPE" = xroce ]; then
	[ "$packets" -gt 10000 ] && [ "$frames" -lt 100 ] &&
		ok "$label: none of it on the wire" ||
		not_ok "$label: none of it on the wire" \
			"$packets packets sent, $frames frames arrived"
	packets=$(sent)
	try "$label: and counted so" \
		[ "$(counter "$NS1" "$RDMA1" looped_pkts)" = "${packets:-nothing}" ]
fi
tap_end
