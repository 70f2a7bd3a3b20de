#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Queues, completions and events of one device that talks to itself, and what is
# left of them after RESET, ERR, destroy, fork and the end of the device.
#
#   +----------+         +----------+
#   | h1  eth0 |---------| eth0  h2 |	veth, 198.18.1.1, .2, fdc8::1, ::2
#   +----------+         +----------+
#
# XROCE_XDP=off|generic|native

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
DEVTYPE=xroce
. ../lib/topo.sh

topo_direct 4500
label="xroce $XROCE_XDP"
rdma_devices "$label"
try "$label: an exporter of dmabufs" insmod ../kverbs/xroce_exporter.ko
results "$label" r1 timeout 1700 ./verbs "$RDMA1" \
	"$(gid_index "$RNS1" "$RDMA1" "$V4.1")"
if [ -e /proc/self/ns/time ]; then
	results "$label, by a clock of its own" r1 unshare --time --fork --monotonic 100000 \
		timeout 60 ./verbs "$RDMA1" "$(gid_index "$RNS1" "$RDMA1" "$V4.1")" "extended CQ"
else
	skip "$label, by a clock of its own" "this kernel has no time namespaces"
fi
try "$label: nothing of it is held" rmmod xroce_exporter

# Known by its name, if that begins so
by_name() {
	r1 rdma dev set "$RDMA1" name xroce-1 && r1 ./denied ibv_devinfo -d xroce-1 &&
		r1 rdma dev set xroce-1 name "$RDMA1"
}
try "$label: found without netlink" by_name
tap_end
