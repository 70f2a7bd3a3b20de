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

# The index of the IPv4 address's GID
gid_index() {
	r1 ibv_devinfo -v -d "$RDMA1" |
		sed -n "s/.*GID\[ *\([0-9]*\)\].*[:.]${V4//./\\.}\.1, RoCE v2.*/\1/p" |
		head -n 1
}

results() {
	local line
	while IFS= read -r line; do
		case $line in
		'ok '*)		ok "$label: ${line#ok }" ;;
		'not ok '*)	line=${line#not ok }
				not_ok "$label: ${line%% \# *}" "${line#* \# }" ;;
		'skip '*)	line=${line#skip }
				skip "$label: ${line%% \# *}" "${line#* \# }" ;;
		'exit 0')	;;
		'exit '*)	not_ok "$label: verbs" "exit status ${line#exit }" ;;
		*)		echo "# $line" ;;
		esac
	done
}

topo_direct 4500
label="xroce $XROCE_XDP"
if ! why=$(rdma_up 2>&1); then
	not_ok "$label: devices" "${why//$'\n'/$'\n'# }"
	tap_end
fi
results < <(r1 timeout 1700 ./verbs "$RDMA1" "$(gid_index)" 2>&1; echo "exit $?")
tap_end
