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
# DEVTYPE=xroce|rxe  XROCE_XDP=off|generic|native  XROCE_LONG: a larger disk

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ../lib/here.sh

CFG=/sys/kernel/config/nvmet
NQN=nqn.2014-08.org.nvmexpress:xroce
SIZE=$((32 * 1024))	# KiB
[ -z "${XROCE_LONG:-}" ] || SIZE=$((SIZE * 8))
label="$DEVTYPE $XROCE_XDP"

here_more_end() {
	umount "$TOPO_TMP/mnt" 2>/dev/null
	nvme disconnect -n "$NQN" >/dev/null 2>&1
	rm -f "$CFG/ports/1/subsystems/$NQN"
	rmdir "$CFG/ports/1" "$CFG/subsystems/$NQN/namespaces/1" \
		"$CFG/subsystems/$NQN" 2>/dev/null
	rmmod brd 2>/dev/null
}

target() {
	local sub=$CFG/subsystems/$NQN port=$CFG/ports/1
	mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
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

has_disk() { [ -b "$(disk)" ]; }

connect() {
	nvme connect -t rdma -a "$V4.1" -s 4420 -n "$NQN" -i "${1:-2}" -l 60 &&
		wait_for 30 has_disk && nvme list-subsys
}

# Blocks of @1 KiB over the whole disk, compared at the target
blocks() {
	head -c "${SIZE}K" /dev/urandom >"$TOPO_TMP/data" &&
		dd if="$TOPO_TMP/data" of="$(disk)" bs="${1}k" oflag=direct \
			status=none &&
		blockdev --flushbufs /dev/ram0 && cmp "$TOPO_TMP/data" /dev/ram0 &&
		dd if="$(disk)" bs="${1}k" iflag=direct status=none |
			cmp - "$TOPO_TMP/data"
}

# A file system, files of many sizes, and again after it has been away
files() {
	local f
	mkdir -p "$TOPO_TMP/mnt" "$TOPO_TMP/files"
	for f in 0 1 511 512 4095 4096 65537 1048579 8388608; do
		head -c "$f" /dev/urandom >"$TOPO_TMP/files/$f"
	done
	mkfs.ext4 -q -F "$(disk)" && mount "$(disk)" "$TOPO_TMP/mnt" &&
		cp "$TOPO_TMP"/files/* "$TOPO_TMP/mnt" && umount "$TOPO_TMP/mnt" &&
		mount "$(disk)" "$TOPO_TMP/mnt" || return
	for f in "$TOPO_TMP"/files/*; do
		cmp "$f" "$TOPO_TMP/mnt/${f##*/}" || return
	done
	umount "$TOPO_TMP/mnt" && fsck.ext4 -fn "$(disk)" >/dev/null
}

# All at once, of several sizes, on all queues
at_once() {
	local i pids=() status=0 part=$((SIZE / 8))
	for i in 0 1 2 3 4 5 6 7; do
		dd if="$TOPO_TMP/data" of="$(disk)" bs=$((4 << i % 4))k \
			skip=$((i * part / (4 << i % 4))) \
			seek=$((i * part / (4 << i % 4))) \
			count=$((part / (4 << i % 4))) oflag=direct status=none &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" || status=1
	done
	blockdev --flushbufs /dev/ram0
	[ "$status" = 0 ] && cmp "$TOPO_TMP/data" /dev/ram0
}

# The link goes in the middle of writes, and comes back: so does the controller
outage() {
	local pid
	dd if="$TOPO_TMP/data" of="$(disk)" bs=64k oflag=direct status=none &
	pid=$!
	sleep 0.3
	ip link set xr-eth0 down
	sleep 3
	addresses '' xr-eth0 1
	wait "$pid" && blockdev --flushbufs /dev/ram0 && cmp "$TOPO_TMP/data" /dev/ram0
}

gone() {
	has_disk && nvme disconnect -n "$NQN" && ! has_disk
}

modprobe -n nvmet-rdma 2>/dev/null || skip_all "this kernel has no nvmet-rdma"
here_begin nvme mkfs.ext4 cmp
if ! why=$(here_up 2>&1); then
	not_ok "$label: a device" "$why"
	tap_end
fi
try "$label: a target" target
try "$label: nvme connect" connect
try "$label: blocks of 4 KiB" blocks 4
try "$label: blocks of 1 MiB" blocks 1024
try "$label: a file system" files
try "$label: eight writers at once" at_once
try "$label: the link down and up" outage
try "$label: nvme disconnect" gone
try "$label: and connect again" connect 4
try "$label: blocks of 128 KiB" blocks 128
try "$label: nothing from the kernel" no_splat
tap_end
