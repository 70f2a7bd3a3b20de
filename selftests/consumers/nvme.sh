#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# NVMe over RDMA: nvme-rdma reaches a RAM disk behind nvmet-rdma, with fast
# registration, remote invalidation and the target's READs and WRITEs. What was
# written is read back by another way and compared.
#
#   +-----------------------------------+
#   | nvme0n1 -- xr1 (itself) -- ram0   |		198.18.1.1
#   +-----------------------------------+
#
# DEVTYPE=xroce|rxe  XROCE_XDP=off|generic|native

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ../lib/here.sh
. ../lib/disk.sh

CFG=/sys/kernel/config/nvmet
NQN=nqn.2014-08.org.nvmexpress:xroce

disk_end() {
	nvme disconnect -n "$NQN"
	rm -f "$CFG/ports/1/subsystems/$NQN"
	rmdir "$CFG/ports/1" "$CFG/subsystems/$NQN/namespaces/1" \
		"$CFG/subsystems/$NQN"
}

target() {
	local sub=$CFG/subsystems/$NQN port=$CFG/ports/1
	configfs
	modprobe -a nvmet-rdma nvme-rdma && modprobe brd rd_nr=1 rd_size="$SIZE" &&
		mkdir -p "$sub/namespaces/1" "$port" &&
		echo 1 >"$sub/attr_allow_any_host" &&
		echo /dev/ram0 >"$sub/namespaces/1/device_path" &&
		echo 1 >"$sub/namespaces/1/enable" &&
		echo rdma >"$port/addr_trtype" && echo ipv4 >"$port/addr_adrfam" &&
		echo "$V4.1" >"$port/addr_traddr" && echo 4420 >"$port/addr_trsvcid" &&
		ln -s "$sub" "$port/subsystems/$NQN"
}

disk() {
	local d
	for d in /sys/class/nvme/nvme*/; do
		[ "$(cat "$d/subsysnqn" 2>/dev/null)" = "$NQN" ] || continue
		d=$(basename "$d"/nvme*n1)
		echo "/dev/${d/c[0-9]*n/n}"
		return
	done
}

connect() {
	nvme connect -t rdma -a "$V4.1" -s 4420 -n "$NQN" -i 4 -l 60 &&
		wait_for 30 has_disk && nvme list-subsys
}

disconnect() { nvme disconnect -n "$NQN"; }

modprobe -n nvmet-rdma 2>/dev/null || skip_all "this kernel has no nvmet-rdma"
here_begin nvme mkfs.ext4 cmp
disk_tests
