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
vlans_add 198.18.7.
rdma_devices "$label"
try "$label: GIDs of the VLANs" wait_for 20 vlans_ready 198.18.7.
results "$label" verbs "$RDMA1" "$RDMA2"
results "$label, one device" verbs "$RDMA1" "$RDMA1"
tap_end
