#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# NFS over RDMA: this machine mounts what it exports by its own device. Files are
# compared where they lie and, when neither end remembers them, over the wire.
#
#   +--------------------------------------+
#   | mnt -- xr1 (itself) -- nfsd, export   |	198.18.1.1, fdc8::1
#   +--------------------------------------+
#
# DEVTYPE=xroce|rxe  XROCE_XDP=off|generic|native  XROCE_LONG: larger files

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ../lib/here.sh

SIZE=16	# MiB
[ -z "${XROCE_LONG:-}" ] || SIZE=256
EXPORT=$TOPO_TMP/export MNT=$TOPO_TMP/mnt
label="$DEVTYPE $XROCE_XDP"
mountd=

here_more_end() {
	{
		umount -f "$MNT" || umount -l "$MNT"
		rpc.nfsd 0
		exportfs -ua
		kill "$mountd"
		umount /proc/fs/nfsd
	} 2>/dev/null
}

# No grace period for clients of an earlier life, and no leases to wait for
server() {
	modprobe -a nfsd rpcrdma && mkdir -p "$EXPORT" "$MNT" &&
		{ mountpoint -q /proc/fs/nfsd || mount -t nfsd nfsd /proc/fs/nfsd; } &&
		echo 10 >/proc/fs/nfsd/nfsv4leasetime &&
		echo 10 >/proc/fs/nfsd/nfsv4gracetime &&
		exportfs -o rw,async,no_root_squash,insecure,no_subtree_check,fsid=0 \
			"*:$EXPORT" &&
		rpc.nfsd -N 3 --rdma=20049 4 &&
		grep -q rdma /proc/fs/nfsd/portlist
}

# mounted ADDRESS
mounted() {
	mount -t nfs -o "vers=4.2,proto=$1,port=20049,sec=sys,timeo=50" "$2:/" "$MNT" &&
		grep -q "$MNT nfs4.*proto=rdma" /proc/mounts
}

forget() {
	umount "$MNT" && echo 3 >/proc/sys/vm/drop_caches
}

# Files of many sizes: written, and read by a client that has not seen them
files() {
	local f from took
	mkdir -p "$TOPO_TMP/files"
	for f in 0 1 1023 4095 4096 4097 65537 1048576 1048579 3145729; do
		head -c "$f" /dev/urandom >"$TOPO_TMP/files/$f"
	done
	head -c "${SIZE}M" /dev/urandom >"$TOPO_TMP/files/big"
	from=${EPOCHREALTIME/./}
	cp -r "$TOPO_TMP/files" "$MNT/" && sync -f "$MNT" && forget &&
		diff -r "$TOPO_TMP/files" "$EXPORT/files" && mounted "$@" &&
		diff -r "$TOPO_TMP/files" "$MNT/files" || return
	took=$((${EPOCHREALTIME/./} - from))
	echo "$(((SIZE + 5) * 2 * 1048576 / took)) MB/s"
}

# Without the page cache, and with buffers at odd places
direct() {
	dd if="$MNT/files/big" bs=1M iflag=direct status=none |
		cmp - "$TOPO_TMP/files/big" &&
		dd if="$TOPO_TMP/files/big" of="$MNT/direct" bs=256k oflag=direct \
			status=none && cmp "$TOPO_TMP/files/big" "$EXPORT/direct"
}

# Names, attributes and locks: many small calls, and directories larger than a SEND
names() {
	local i
	mkdir "$MNT/names" || return
	for ((i = 0; i < 400; i++)); do
		echo "$i" >"$MNT/names/a-name-that-makes-the-directory-large-$i" || return
	done
	forget && mounted rdma "$V4.1" &&
		[ "$(find "$MNT/names" -type f | wc -l)" = 400 ] &&
		[ "$(cat "$MNT"/names/* | sort -n | md5sum)" = \
			"$(seq 0 399 | md5sum)" ] &&
		flock "$MNT/names" true && rm -r "$MNT/names" &&
		[ ! -e "$EXPORT/names" ]
}

# The link goes in the middle of writes for longer than a QP tries again
outage() {
	local pid status=0
	dd if="$TOPO_TMP/files/big" of="$MNT/outage" bs=4k oflag=direct status=none &
	pid=$!
	away "$pid" "${OUTAGE:-5}" || status=1
	wait "$pid" && cmp "$TOPO_TMP/files/big" "$EXPORT/outage" &&
		cmp "$TOPO_TMP/files/big" "$MNT/outage" && return "$status"
}

modprobe -n rpcrdma 2>/dev/null || skip_all "this kernel has no rpcrdma"
here_begin rpc.nfsd rpc.mountd exportfs mount.nfs cmp
if ! why=$(here_up 2>&1); then
	not_ok "$label: a device" "$why"
	tap_end
fi
try "$label: a server" server
rpc.mountd -F -N 3 >"$TOPO_TMP/mountd" 2>&1 &
mountd=$!
try "$label: mount" mounted rdma "$V4.1"
mountpoint -q "$MNT" || tap_end
measure "$label: files" files rdma "$V4.1"
try "$label: direct I/O" direct
try "$label: names" names
try "$label: the link down and up" outage
try "$label: umount" forget
try "$label: mount, IPv6" mounted rdma6 "[$V6:1]"
measure "$label: files, IPv6" files rdma6 "[$V6:1]"
try "$label: umount, IPv6" forget
try "$label: nothing from the kernel" no_splat
tap_end
