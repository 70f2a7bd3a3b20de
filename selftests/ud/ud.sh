#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# UC and UD in every size, MTU and address family; GRH and address handles; what
# is dropped; errors of the send queue; SRQs; multicast.
#
#   +----------+         +----------+
#   | h1  eth0 |---------| eth0  h2 |	veth, 198.18.1.1, .2, fdc8::1, ::2
#   +----------+         +----------+
#
# XROCE_XDP=off|generic|native

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ../lib/ud.sh

label="$DEVTYPE $XROCE_XDP"
topo_direct 4500
rdma_devices "$label"
ud "$label" uc ud shape drop sqe srq mcast
ud "$label" -6 uc ud mcast

# UD's MTU is that of the port; below 1280 bytes there is no IPv6
for mtu in 2500 1500 800 400; do
	n1 ip link set "$ETH1" mtu "$mtu" && n2 ip link set "$ETH2" mtu "$mtu" || {
		not_ok "$label: netdev MTU $mtu"
		continue
	}
	ud "$label, netdev MTU $mtu" ud
	[ "$mtu" -lt 1280 ] || ud "$label, netdev MTU $mtu" -6 ud
done
tap_end
