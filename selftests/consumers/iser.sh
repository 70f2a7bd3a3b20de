#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# iSCSI over RDMA: open-iscsi by ib_iser reaches a RAM disk behind ib_isert.
#
#   +-------------------------------+
#   | sda -- xr1 (itself) -- ram0   |		198.18.1.1
#   +-------------------------------+
#
# DEVTYPE=xroce|rxe  XROCE_XDP=off|generic|native

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ../lib/here.sh
. ../lib/disk.sh

IQN=iqn.2003-01.org.xroce:disk
TPG=$LIO/iscsi/$IQN/tpgt_1
iscsid=

admin() { iscsiadm -m node -T "$IQN" -p "$V4.1:3260" "$@"; }

disk_end() {
	admin -u
	admin -o delete
	kill "$iscsid"
	echo 0 >"$TPG/enable"
	rm -f "$TPG/lun/lun_0/xroce"
	rmdir "$TPG/np/$V4.1:3260" "$TPG/lun/lun_0" "$TPG" "${TPG%/*}" "$BACK" \
		"${BACK%/*}"
}

target() {
	lio iscsi_target_mod ib_isert ib_iser && mkdir -p "$TPG/lun/lun_0" &&
		ln -s "$BACK" "$TPG/lun/lun_0/xroce" &&
		echo 0 >"$TPG/attrib/authentication" &&
		echo 0 >"$TPG/attrib/demo_mode_write_protect" &&
		echo 1 >"$TPG/attrib/generate_node_acls" &&
		mkdir -p "$TPG/np/$V4.1:3260" &&
		echo 1 >"$TPG/np/$V4.1:3260/iser" && echo 1 >"$TPG/enable"
}

disk() { scsi_disk /sys/class/iscsi_session/session*/device/target*/*:0/block/*; }

connect() {
	admin -o new -I iser && admin -o update -n node.conn[0].timeo.noop_out_interval \
		-v 2 && admin -l && wait_for 30 has_disk && iscsiadm -m session -P 1 |
		grep -i 'iface transport: iser'
}

disconnect() { admin -u; }

modprobe -n ib_isert 2>/dev/null || skip_all "this kernel has no ib_isert"
here_begin iscsiadm iscsid mkfs.ext4 cmp
mkdir -p /run/lock/iscsi
[ -s /etc/iscsi/initiatorname.iscsi ] && grep -q '^InitiatorName=' /etc/iscsi/initiatorname.iscsi ||
	echo "InitiatorName=iqn.2003-01.org.xroce:host" >/etc/iscsi/initiatorname.iscsi
iscsid -f >"$TOPO_TMP/iscsid" 2>&1 &
iscsid=$!
disk_tests
