#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Owns the measuring in the guest: two namespaces and a veth pair, xroce on it,
# then rdma_rxe, then TCP. Writes a line of JSON for each figure to
# $XROCE_BENCH_OUT; scripts/bench-report makes tables of them. Ends with status 1
# when a measurement failed, and names it.
#
#   bench.sh SET		basic, quick or full
#
# rdma_rxe of 6.12 serves the first namespace only. There it has both ends of a
# veth pair of its own (`veth`: rules of routing send what is for the other end
# over the wire), and one device that talks to itself (`loop`: no frames at all).

set -uo pipefail
cd "$(dirname "$0")" || exit 1

die() { echo "FAILED: $*" >&2; exit 1; }
skip_all() { die "$*"; }
DEVTYPE=xroce
# shellcheck source=../lib/topo.sh
. ../lib/topo.sh

OUT=${XROCE_BENCH_OUT:-/results/bench.jsonl}
SET=${1:-quick}
ICOUNT=${XROCE_BENCH_ICOUNT:-1}
failed=()

say() { printf '[%4ds] %s\n' "$SECONDS" "$*" >&2; }
# out KEY=VALUE... - a line of JSON; numbers stay numbers
out() {
	local arg args=()
	for arg; do
		if [[ ${arg#*=} =~ ^-?[0-9.]+(e[-+]?[0-9]+)?$ ]]; then
			args+=(--argjson)
		else
			args+=(--arg)
		fi
		args+=("${arg%%=*}" "${arg#*=}")
	done
	jq -nc "${args[@]}" '$ARGS.named' >>"$OUT"
}

# specs SET - what is measured of every device
specs() {
	case $1 in
	basic)
		for op in write send; do
			echo "$op,size=64,list=16,n=16384"
			echo "$op,size=64,list=1,n=16384"
		done
		for op in write read; do
			echo "$op,size=65536,n=128"
		done
		echo "send,lat,size=8,inline,n=2048"
		echo "send,lat,size=8,inline,wait=yield,n=2048"
		;;
	esac
}

# bench KIND NS1 DEVICE1 NS2 DEVICE2 SPEC... - between two devices
bench() {
	local kind=$1 nsc=$2 dev1=$3 nss=$4 dev2=$5 server line spec text
	local flags=(-t "$trace")
	shift 5
	[ "$ICOUNT" = 0 ] || flags+=(-i)
	bg "$nss" ./xroce_bench -s "$TOPO_TMP/bench" -d "$dev2" -t "$trace" \
		2>"$TOPO_TMP/server"
	server=$!
	wait_for 20 test -S "$TOPO_TMP/bench" ||
		die "xroce_bench: $(cat "$TOPO_TMP/server")"
	for spec; do
		text=$spec,mtu=$RDMA_MTU
		if line=$(in_ns "$nsc" timeout 300 ./xroce_bench -c "$TOPO_TMP/bench" \
				-d "$dev1" "${flags[@]}" "$text" 2>"$TOPO_TMP/client"); then
			jq -c --arg kind "$kind" '.kind = $kind' <<<"$line" >>"$OUT"
			say "$kind $text: $(jq -r \
				'"\((.spent[-1] - .idle[-1]) / .n | floor) \(.unit) a message"' \
				<<<"$line")"
			continue
		fi
		failed+=("$kind $text: $(cat "$TOPO_TMP/client" "$TOPO_TMP/server")")
		say "FAILED: ${failed[-1]}"
		bg_end "$server" || :
		rm -f "$TOPO_TMP/bench"
		bg "$nss" ./xroce_bench -s "$TOPO_TMP/bench" -d "$dev2" -t "$trace" \
			2>"$TOPO_TMP/server"
		server=$!
		wait_for 20 test -S "$TOPO_TMP/bench" ||
		die "xroce_bench: $(cat "$TOPO_TMP/server")"
	done
	bg_end "$server" || :
	rm -f "$TOPO_TMP/bench" "$TOPO_TMP/bench.shared"
}

# What the machine does by itself in a second
idle_cost() {
	out kind=idle "insn=$(./xroce_bench -I 2)"
}

ours() {
	rdma_up || die "xroce: no devices"
	bench xroce "$RNS1" "$RDMA1" "$RNS2" "$RDMA2" "$@"
	rdma_down
}

# Two rdma_rxe on the veth of the namespaces
rxe_netns() {
	in_ns "$NS1" rdma link add "$RDMA1" type rxe netdev eth0 &&
		in_ns "$NS2" rdma link add "$RDMA2" type rxe netdev eth0 || die "rdma_rxe"
	RNS1='' RNS2='' devices_ready || die "rdma_rxe: no active port with both GIDs"
	bench rxe '' "$RDMA1" '' "$RDMA2" "$@"
	RNS1='' RNS2='' rdma_down
}

# What one end of a veth pair sends to the other goes over it, although both are
# here: the table of local addresses is asked later, but for what came in
wire_here() {
	local i
	ip link add xr-r1 mtu "$1" type veth peer name xr-r2 mtu "$1"
	ip link set xr-r1 up
	ip link set xr-r2 up
	for i in 1 2; do
		sysctl -qw "net.ipv4.conf.xr-r$i.accept_local=1" \
			"net.ipv4.conf.xr-r$i.rp_filter=0"
		ip addr add "198.19.$i.1/32" dev "xr-r$i"
		ip rule add pref $((10 + i)) iif "xr-r$i" lookup local
		ip rule add pref $((20 + i)) to "198.19.$i.1" lookup $((100 + i))
		ip route add "198.19.$i.1" dev "xr-r$((3 - i))" table $((100 + i))
	done
	ip rule add pref 100 lookup local
	ip rule del pref 0
	ip neigh replace 198.19.2.1 dev xr-r1 nud permanent \
		lladdr "$(cat /sys/class/net/xr-r2/address)"
	ip neigh replace 198.19.1.1 dev xr-r2 nud permanent \
		lladdr "$(cat /sys/class/net/xr-r1/address)"
	sysctl -qw net.ipv4.conf.all.rp_filter=0
}

wire_gone() {
	local i
	ip rule add pref 0 lookup local
	ip rule del pref 100
	for i in 1 2; do
		ip rule del pref $((10 + i))
		ip rule del pref $((20 + i))
	done
	ip link del xr-r1
}

rxe_here() {
	wire_here "$1"
	shift
	rdma link add rxe1 type rxe netdev xr-r1 &&
		rdma link add rxe2 type rxe netdev xr-r2 || die "rdma_rxe"
	wait_for 20 has_gid '' rxe1 198.19.1.1 && wait_for 20 has_gid '' rxe2 198.19.2.1 ||
		die "rdma_rxe: no GIDs"
	bench rxe '' rxe1 '' rxe2 "$@"
	bench rxe-loop '' rxe1 '' rxe1 "$@"
	rdma link del rxe1
	rdma link del rxe2
	wire_gone
}

# mtu NETDEV RDMA
round() {
	local mtu=$1 specs
	RDMA_MTU=$2
	mapfile -t specs < <(specs "$SET")
	topo_direct "$mtu"
	ours "${specs[@]}"
	if rxe_in_netns; then
		rxe_netns "${specs[@]}"
	else
		rxe_here "$mtu" "${specs[@]}"
	fi
	topo_clear
}

: >"$OUT"
# here, since a network namespace has a /sys without it
trace=$(cat /sys/kernel/tracing/events/raw_syscalls/sys_enter/id) ||
	die "no tracepoint of system calls"
modprobe rdma_rxe || die "no rdma_rxe here"
modprobe -q crc32_pclmul || :
out kind=about kernel="$(uname -r)" xdp="$XROCE_XDP" icount="$ICOUNT" set="$SET"
round 4500 4096
[ "$SET" = basic ] || round 1500 1024
if [ ${#failed[@]} -gt 0 ]; then
	printf 'FAILED: %s\n' "${failed[@]}" >&2
	exit 1
fi
