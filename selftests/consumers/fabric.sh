#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# libfabric's verbs provider at its defaults: fi_pingpong, contents checked (-c), of
# connected endpoints, of reliable datagrams over them (ofi_rxm), of datagrams.
# Topology: see ends.sh.
#
# DEVTYPE1, DEVTYPE2=xroce|rxe  XROCE_XDP=off|generic|native

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ../lib/here.sh
. ../lib/ends.sh

# pingpong PROVIDER TYPE DOMAIN-SUFFIX SIZE COUNT - the figure: its last line
pingpong() {
	local said args=(-p "$1" -e "$2" -c -I "$5" -S "$4")
	if ! said=$(ends 'tcp_listens 47592' fi_pingpong "${args[@]}" -d "$RDMA2$3" -- \
			fi_pingpong "${args[@]}" -d "$RDMA1$3" "$ADDR2" 2>&1) ||
	   [[ $said != *MB/sec* || ${said,,} == *error* ]]; then
		echo "$said"
		return 1
	fi
	awk 'END { print $1 " bytes: " $6 " MB/s, " $7 " us" }' <<<"$said"
}

command -v fi_pingpong >/dev/null || skip_all "needs libfabric-bin"
ends_up fi_pingpong
for size in 64 4096 65536 1048576; do
	measure "$label: msg, $size bytes" pingpong verbs msg '' $size 50
	measure "$label: rdm (ofi_rxm), $size bytes" \
		pingpong 'verbs;ofi_rxm' rdm '' $size 50
done
measure "$label: msg, all sizes" pingpong verbs msg '' all 5
measure "$label: rdm (ofi_rxm), all sizes" pingpong 'verbs;ofi_rxm' rdm '' all 5
measure "$label: dgram, 1024 bytes" pingpong verbs dgram -dgram 1024 50
tap_end
