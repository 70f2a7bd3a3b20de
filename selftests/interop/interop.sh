#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# xroce at h1, rdma_rxe at the other end, both as requester and responder.
#
#   +----------------+         +------------------------------+
#   | h1        eth0 |---------| xr-eth0  the first namespace |
#   |          xroce |         | rdma_rxe                     |
#   +----------------+         +------------------------------+
#
# XROCE_XDP=off|generic|native  XROCE_MTU=1500|4500|9000

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
DEVTYPE1=xroce DEVTYPE2=rxe
. ../lib/topo.sh
. ../lib/ud.sh

modprobe rdma_rxe 2>/dev/null || skip_all "no rdma_rxe here"
topo_direct "${XROCE_MTU:-4500}"
# so that the native mode's frames are taken there; see topo.sh
n2 ethtool -K "$ETH2" gro on
label="xroce $XROCE_XDP with rxe"
rdma_devices "$label"
# rdma_rxe sends to a group by the routing table, and hears of one what the host has joined
n2 ip route replace 239.0.0.0/8 dev "$ETH2"
for n in 3 4 5; do
	n2 ip addr add "239.129.2.$n/32" dev "$ETH2" autojoin
	n2 ip addr add "ff15::102:30$n/128" dev "$ETH2" autojoin
done
# data, annex, window, mix, uc and ud go both ways by themselves; shape only from the client
for family in 4 6; do
	args=()
	[ "$family" = 4 ] || args=(-6)
	rc "$label" forward "${args[@]}" data mix
	ud "$label" "${args[@]}" uc ud mcast
	ud "rxe with xroce $XROCE_XDP" -r "${args[@]}" mcast
done
rc "$label" forward shape annex window refused many
ud "$label" shape
rc "rxe with xroce $XROCE_XDP" backward shape refused many mix
# rdma_rxe has 8 READs out where 5 are agreed on: all of them, while answers are slow
# (which what XDP sends is not)
n1 tc qdisc replace dev "$ETH1" root tbf rate 100mbit burst 20kb limit 30kb
rc "rxe with xroce $XROCE_XDP, slow" backward depth
n1 tc qdisc del dev "$ETH1" root
ud "rxe with xroce $XROCE_XDP" -r shape
# of RC and UC, natively; see above
by_xdp() {
	local n
	n=$(taken_in_place "$RNS1" "$RDMA1")
	echo "$n packets without the IP stack"
	if [ "$XROCE_XDP" = native ]; then [ "$n" -gt 1000 ]; else [ "$n" = 0 ]; fi
}
try "$label: as XDP is to have it" by_xdp
tap_end
