#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Numbers of objects: as many as advertised where a machine of 2 GB has room for
# them, else a good many; and no more than the rdma cgroup lets a program have.
#
#   h1 with two links
#
# XROCE_XDP=off|generic|native  XROCE_MANY: a good many, 20000

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
DEVTYPE=xroce
. ../lib/topo.sh

many=${XROCE_MANY:-20000}
EAGAIN=11 ENOMEM=12
group=/sys/fs/cgroup/xroce-$$

# In the namespace there is another sysfs, without cgroups
in_group() {
	# shellcheck disable=SC2016
	bash -c 'echo $$ >"$1/cgroup.procs" && exec "${@:2}"' - "$group" \
		ip netns exec "$RNS1" "$@"
}

# A PD and a CQ are there already
limited() {
	local objects=$1 kind=$2
	echo "$RDMA1 hca_object=$objects" >"$group/rdma.max" || return
	in_group ./most "$RDMA1" "$kind" $((objects - 2)) "$EAGAIN" || return
	cat "$group/rdma.current"
	grep -qE "^$RDMA1 hca_handle=0 hca_object=0 ?\$" "$group/rdma.current"
}

topo_direct 1500
label="xroce $XROCE_XDP"
rdma_devices "$label"
try "$label: a second link" n1 ip link add other type dummy
n1 ip addr add 10.77.7.1/24 dev other
n1 ip link set other up
try "$label: and its device" n1 rdmatool link add xr-other netdev other xdp off
wait_for 20 has_gid "$NS1" xr-other 10.77.7.1
for kind in pd ah mw; do
	measure "$label: $kind: as many as advertised, and no more; others have theirs" \
		r1 env BESIDE=xr-other ./most "$RDMA1" "$kind"
done
for kind in mr cq qp srq; do
	measure "$label: $kind: $many" r1 ./most "$RDMA1" "$kind" "$many"
done
measure "$label: xrcd: as many as there may be, and no more; others have theirs" \
	r1 env BESIDE=xr-other ./most "$RDMA1" xrcd 65536 "$ENOMEM"
mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup
if mkdir "$group" && echo +rdma >/sys/fs/cgroup/cgroup.subtree_control; then
	for kind in mr cq qp srq; do
		try "$label: $kind: no more than the rdma cgroup allows" \
			limited 40 $kind
	done
else
	not_ok "$label: a cgroup"
fi
rmdir "$group"
tap_end
