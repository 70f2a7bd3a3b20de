#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# UCX over the verbs transports rc and ud with its default settings: ucx_perftest
# by all its interfaces, and io_demo, which checks what it reads and writes.
# Topology: see ends.sh.
#
# DEVTYPE1, DEVTYPE2=xroce|rxe  XROCE_XDP=off|generic|native  UCX='TRANSPORT...'

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ../lib/here.sh
. ../lib/ends.sh

# What UCX complains about with every device but mlx5, and goes on: a kind of flush
# that its rc over plain verbs has not
NO_FLUSH='flush\(remote\) is not supported|error during flush: Unsupported operation'

# perf TRANSPORT TEST SIZE COUNT [OPTION...] - its last line: count, latencies, MB/s
perf() {
	local said
	if ! said=$(ends 'tcp_listens 13337' env UCX_TLS="$1" ucx_perftest -P 0 -- \
			env UCX_TLS="$1" ucx_perftest -P 0 "$ADDR2" -t "$2" -s "$3" \
			-n "$4" -w 10 -f -v "${@:5}" 2>&1) ||
	   grep -vE "$NO_FLUSH" <<<"$said" | grep -q ERROR; then
		echo "$said"
		return 1
	fi
	said=$(tail -n 1 <<<"$said")
	# iterations, 50 % latency, average, overall, MB/s
	awk -F, 'NF < 5 { exit 1 } { print $4 " us, " $6 " MB/s" }' <<<"$said" && return
	echo "no result: $said"
	return 1
}

# READs and WRITEs of other sizes in flight at once, each compared. The server is
# there until it is ended.
demo() {
	local said server status=0 demo=(env UCX_TLS="$1" io_demo -q -p 1337
		-d 1:200000)
	shift
	demo+=("$@")
	bg "$RNS2" timeout 90 "${demo[@]}" >"$TOPO_TMP/server" 2>&1
	server=$!
	said=$(wait_for 30 cm_or_tcp 1337 &&
		r1 timeout 60 "${demo[@]}" -i 300 -w 8 -o read,write "$ADDR2" 2>&1) ||
		status=$?
	bg_end "$server"
	if [ "$status" != 0 ] ||
	   grep -qE 'ERROR|[Aa]ssert|corrupt' - "$TOPO_TMP/server" <<<"$said"; then
		echo "exit status $status: $said; the server said:"
		cat "$TOPO_TMP/server"
		return 1
	fi
	grep -E 'MBs|MB/s' <<<"$said" | tail -n 1
}

cm_or_tcp() { cm_listens "$1" || tcp_listens "$1"; }

command -v ucx_perftest >/dev/null || skip_all "needs ucx-utils"
ends_up ucx_perftest io_demo
for tls in ${UCX:-rc ud}; do
	for t in "tag_lat 8 500" "tag_bw 1000 500" "tag_bw 1000000 50" \
		 "ucp_am_lat 64 500" "ucp_am_bw 100000 50" "stream_bw 4096 200" \
		 "ucp_put_lat 8 300" "ucp_put_bw 65536 100" "ucp_get 65536 100" \
		 "ucp_add 8 100" "ucp_fadd 8 100" "ucp_cswap 8 100"; do
		# shellcheck disable=SC2086
		set -- $t
		measure "$label: $tls $1, $2 bytes" perf "$tls" "$@"
	done
	# it asks for an event and sleeps without another look
	[[ $DEVTYPE1$DEVTYPE2 == *rxe* ]] ||
		measure "$label: $tls tag_lat, 8 bytes, asleep meanwhile" \
			perf "$tls" tag_lat 8 2000 -E sleep
	measure "$label: $tls io_demo, contents checked" demo "$tls"
	measure "$label: $tls io_demo -A, contents checked" demo "$tls" -A
done
tap_end
