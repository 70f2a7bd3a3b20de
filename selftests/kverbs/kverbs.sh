#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The verbs of the kernel's own consumers, at their limits: between two hosts, and
# on one device that talks to itself.
#
#   +----------+         +----------+
#   | h1  eth0 |---------| eth0  h2 |	veth, 198.18.1.1, .2, fdc8::1, ::2
#   |   eth0.7 |         | eth0.7   |	VLAN, 198.18.7.1, .2
#   +----------+         +----------+
#
# XROCE_XDP=off|generic|native

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
DEVTYPE=xroce
. ../lib/topo.sh

# verbs DEVICE DEVICE
verbs() {
	local status=0
	insmod ./xroce_kverbs.ko dev1="$1" dev2="$2" || return
	grep . /sys/kernel/debug/xroce_kverbs/results || status=2
	rmmod xroce_kverbs || status=2
	return "$status"
}

topo_direct 4500
label="xroce $XROCE_XDP"
for host in "$NS1 $ETH1 1" "$NS2 $ETH2 2"; do
	# shellcheck disable=SC2086
	set -- $host
	in_ns "$1" ip link add link "$2" name "$2.7" type vlan id 7
	in_ns "$1" ip addr add "198.18.7.$3/24" dev "$2.7"
	in_ns "$1" ip link set "$2.7" up
done
rdma_devices "$label"
vlan_gids() { has_gid "$NS1" "$RDMA1" 198.18.7.1 && has_gid "$NS2" "$RDMA2" 198.18.7.2; }
try "$label: GIDs of the VLANs" wait_for 20 vlan_gids
results "$label" verbs "$RDMA1" "$RDMA2"
results "$label, one device" verbs "$RDMA1" "$RDMA1"
tap_end
