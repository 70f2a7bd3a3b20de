# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# What a disk behind RDMA has to pass: a RAM disk (/dev/ram0) that this machine
# serves and reaches by its own device. What was written is read back by another
# way and compared. Sourced after here.sh by a test that has
#
#   target	serves /dev/ram0		disk	  says what block device it is
#   connect	makes that disk appear		disconnect  and takes it away
#   disk_end	what is left of them when the test ends
#
# XROCE_LONG: a larger disk

SIZE=$((32 * 1024))	# KiB
[ -z "${XROCE_LONG:-}" ] || SIZE=$((SIZE * 8))

here_more_end() {
	umount "$TOPO_TMP/mnt" 2>/dev/null
	disk_end >/dev/null 2>&1
	rmmod brd 2>/dev/null
}

configfs() {
	mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
}

# The RAM disk as a backstore of LIO, the kernel's SCSI target, with MODULES...
LIO=/sys/kernel/config/target
BACK=$LIO/core/iblock_0/xroce

lio() {
	configfs
	modprobe -a sd_mod target_core_iblock "$@" &&
		modprobe brd rd_nr=1 rd_size="$SIZE" && mkdir -p "$BACK" &&
		echo udev_path=/dev/ram0 >"$BACK/control" &&
		echo 1 >"$BACK/enable"
}

# Of the places in sysfs that a disk may have: what is there
scsi_disk() {
	local d
	for d in "$@"; do
		[ -e "$d" ] && echo "/dev/${d##*/}"
	done
}

has_disk() { [ -b "$(disk)" ]; }

no_disk() { ! has_disk; }

gone() {
	has_disk && disconnect && wait_for 20 no_disk
}

# Other data than what is there
fresh() { head -c "${SIZE}K" /dev/urandom >"$TOPO_TMP/data"; }

# Blocks of $1 KiB over the whole disk, compared at the target; the figure: both
# ways
blocks() {
	local from=${EPOCHREALTIME/./} took
	fresh &&
		dd if="$TOPO_TMP/data" of="$(disk)" bs="${1}k" oflag=direct \
			status=none &&
		blockdev --flushbufs /dev/ram0 && cmp "$TOPO_TMP/data" /dev/ram0 &&
		dd if="$(disk)" bs="${1}k" iflag=direct status=none |
			cmp - "$TOPO_TMP/data" || return
	took=$((${EPOCHREALTIME/./} - from))
	echo "$((SIZE * 2 * 1024 / took)) MB/s"
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
	fresh
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

# The link goes in the middle of writes, and comes back: so does the connection
outage() {
	local pid status=0
	fresh
	dd if="$TOPO_TMP/data" of="$(disk)" bs=4k oflag=direct status=none &
	pid=$!
	away "$pid" 3 || status=1
	wait "$pid" && blockdev --flushbufs /dev/ram0 && cmp "$TOPO_TMP/data" /dev/ram0 &&
		return "$status"
}

disk_tests() {
	local why label="$DEVTYPE $XROCE_XDP"
	if ! why=$(here_up 2>&1); then
		not_ok "$label: a device" "$why"
		tap_end
	fi
	try "$label: a target" target
	try "$label: connect" connect
	has_disk || tap_end
	measure "$label: blocks of 4 KiB" blocks 4
	measure "$label: blocks of 1 MiB" blocks 1024
	try "$label: a file system" files
	try "$label: eight writers at once" at_once
	try "$label: the link down and up" outage
	try "$label: disconnect" gone
	try "$label: and connect again" connect
	measure "$label: blocks of 128 KiB" blocks 128
	try "$label: nothing from the kernel" no_splat
	tap_end
}
