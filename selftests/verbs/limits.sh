#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# What the device says it can, beside what rdma_rxe says on this kernel: nothing
# less, but for what is listed here with a reason. Topology: see here.sh.

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ../lib/here.sh

# rdma_rxe keeps the UDP port of this namespace while it is loaded.
here_more_end() { modprobe -rq rdma_rxe || :; }

# Of device_cap_flags:
#   AUTO_PATH_MIG, CHANGE_PHY_PORT	rdma_rxe has one port and no alternate path
#   FLUSH_PERSISTENT			no region of ours is in persistent memory
NOT_OURS=0x8000000030
# One P_Key is all that RoCEv2 has; an address vector's GID index has 8 bits; of READs at
# once, and of bytes in a message, a device says what NICs have, and takes rdma_rxe's.
LESS='max_pkeys GID_table max_qp_rd_atom max_qp_init_rd_atom max_msg_sz'

attributes() {
	ibv_devinfo -v -d xr1 | sed -n 's/^[[:space:]]*\(max_[a-z_]*\|device_cap_flags\|device_cap_flags_ex\|page_size_cap\):[[:space:]]*\([0-9xa-fA-F]*\).*/\1 \2/p'
}

here_begin ibv_devinfo
declare -A ours theirs
for DEVTYPE in xroce rxe; do
	[ "$DEVTYPE" = xroce ] || here_down
	if ! why=$(here_up 2>&1); then
		not_ok "$DEVTYPE: device" "${why//$'\n'/$'\n'# }"
		tap_end
	fi
	while read -r name value; do
		if [ "$DEVTYPE" = xroce ]; then
			ours[$name]=$value
		else
			theirs[$name]=$value
		fi
	done < <(attributes)
done
for name in "${!theirs[@]}"; do
	[[ " $LESS " != *" $name "* ]] || continue
	a=${ours[$name]:-0} b=${theirs[$name]}
	case $name in
	*_flags*|page_size_cap)
		missing=$(printf '%#x' $((b & ~a & ~NOT_OURS)))
		if [ "$missing" = 0 ] || [ "$missing" = 0x0 ]; then
			ok "$name: $a has all of $b that can be"
		else
			not_ok "$name" "$a lacks $missing of $b"
		fi ;;
	*)
		# as unsigned 64 bits, of which the largest is all ones
		if [ "$(printf '%020u' "$a")" \< "$(printf '%020u' "$b")" ]; then
			not_ok "$name" "$a, and rdma_rxe has $b"
		else
			ok "$name: $a, rdma_rxe $b"
		fi ;;
	esac
done
[ "${#theirs[@]}" -ge 20 ] && ok "${#theirs[@]} limits compared" ||
	not_ok "limits compared" "${#theirs[@]} only"
tap_end
