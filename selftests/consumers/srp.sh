#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# SCSI over RDMA: ib_srp reaches a RAM disk behind ib_srpt, by rdma_cm.
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

# The name that ib_srpt has for the port: the last half of its first GID
tpg() {
	local gid
	gid=$(cat /sys/class/infiniband/xr1/ports/1/gids/0)
	echo "$LIO/srpt/${gid#*:*:*:*:}/${gid#*:*:*:*:}"
}

disk_end() {
	local t
	disconnect
	t=$(tpg)
	echo 0 >"$t/enable"
	rm -f "$t/acls/$V4.1/lun_0/xroce" "$t/lun/lun_0/xroce"
	rmdir "$t/acls/$V4.1/lun_0" "$t/acls/$V4.1" "$t/lun/lun_0" "$t" "${t%/*}" \
		"$BACK" "${BACK%/*}"
	echo 0 >"$LIO/srpt/discovery_auth/rdma_cm_port"
	modprobe -r ib_srp ib_srpt
}

target() {
	local t
	lio ib_srpt ib_srp || return
	t=$(tpg)
	mkdir -p "$LIO/srpt" && echo 5555 >"$LIO/srpt/discovery_auth/rdma_cm_port" &&
		mkdir -p "$t/lun/lun_0" && ln -s "$BACK" "$t/lun/lun_0/xroce" &&
		mkdir -p "$t/acls/$V4.1/lun_0" &&
		ln -s "$t/lun/lun_0" "$t/acls/$V4.1/lun_0/xroce" &&
		echo 1 >"$t/enable"
}

disk() { scsi_disk /sys/class/srp_host/host*/device/target*/*:0/block/*; }

add_target() {
	local guid
	guid=$(cat /sys/module/ib_srpt/parameters/srpt_service_guid)
	guid=${guid#0x}
	echo "id_ext=$guid,ioc_guid=$guid,dest=$V4.1:5555,max_sect=2048" \
		>/sys/class/infiniband_srp/srp-xr1-1/add_target
}

# One that has gone may be known a little longer
connect() { wait_for 20 add_target && wait_for 30 has_disk; }

disconnect() {
	local p
	for p in /sys/class/srp_remote_ports/port-*/delete; do
		[ ! -e "$p" ] || echo 1 >"$p"
	done
}

modprobe -n ib_srpt 2>/dev/null || skip_all "this kernel has no ib_srpt"
here_begin mkfs.ext4 cmp
disk_tests
