#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The pingpongs of rdma-core with each of their options; those for what is not here
# are refused. Topology: see ends.sh.
#
# DEVTYPE1, DEVTYPE2=xroce|rxe  XROCE_XDP=off|generic|native

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ../lib/here.sh
. ../lib/ends.sh

# one PROGRAM OPTIONS...
one() {
	local prog=ibv_$1_pingpong
	shift
	try "$label: $prog $*" verbs_pair "$ADDR1" "$ADDR2" "$prog" "$@"
}

# refused PROGRAM OPTION REASON
refused() {
	local prog=$1 out status=0
	out=$(r2 timeout 20 "ibv_${prog}_pingpong" -d "$RDMA2" "$2" 2>&1) || status=$?
	[ "$status" = 1 ] && [[ $out == *"$3"* ]] && return
	echo "exit status $status: $out"
	return 1
}

ends_up ibv_rc_pingpong ibv_xsrq_pingpong
for prog in rc uc ud srq; do
	sizes=(1 2048)
	[ $prog = ud ] || sizes=(1 100000)
	one $prog
	for size in "${sizes[@]}"; do
		one $prog -c -s "$size" -n 100
	done
	one $prog -p 18515 -i 1 -n 100
	# srq: one for each of its QPs at least
	one $prog -r 16 -n 100
	one $prog -n 3000
	one $prog -l 5 -n 100
	one $prog -e
	one $prog -e -c
	[ $prog = ud ] || for mtu in 256 512 1024 2048 4096; do
		one $prog -c -m $mtu -s 9000 -n 100
	done
done
one srq -q 1
one srq -q 64 -r 64 -n 20
one xsrq
for opt in "-s 1" "-s 100000" "-n 200" "-l 5" "-e" "-p 18515 -i 1" "-m 256" "-m 4096"; do
	# shellcheck disable=SC2086
	one xsrq $opt
done
one rc -N
one rc -N -e -c
# not -t -e: it takes an event whose completion it has polled already for an error
one rc -t
for opt in o O; do
	try "$label: ibv_rc_pingpong -$opt is refused" refused rc -$opt "isn't ODP capable"
done
try "$label: ibv_rc_pingpong -j is refused" refused rc -j "doesn't support dm allocation"
try "$label: ibv_srq_pingpong -o is refused" refused srq -o "isn't ODP capable"
try "$label: ibv_xsrq_pingpong -o is refused" refused xsrq -o "isn't ODP capable"
tap_end
