#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Owns the measuring in the guest: two namespaces and a veth pair, xroce on it,
# then rdma_rxe, then TCP. Writes a line of JSON for each figure to
# $XROCE_BENCH_OUT; scripts/bench-report makes tables of them. Ends with status 1
# when a measurement failed, and names it.
#
#   bench.sh SET|SPEC...	basic, quick, full or polling; a SPEC is xroce_bench's, or
#			a command of perftest's: 'ib_write_bw -s 64 -n 4096'
#
# XROCE_BENCH_KINDS: of what (xroce xroce-poll xroce-loop rxe rxe-loop tcp). XROCE_BENCH_SYMBOLS: a directory
# that gets addresses and names of the kernel and of the programs of each kind.
#
# rdma_rxe of 6.12 serves the first namespace only. There it has both ends of a
# veth pair of its own (`veth`: rules of routing send what is for the other end
# over the wire), and one device that talks to itself (`loop`: no frames at all).

set -uo pipefail
cd "$(dirname "$0")" || exit 1

die() { echo "FAILED: $*" >&2; save; exit 1; }
skip_all() { die "$*"; }
DEVTYPE=xroce
# shellcheck source=../lib/topo.sh
. ../lib/topo.sh

OUT=${XROCE_BENCH_OUT:-/results/bench.jsonl}
SETS=("${@:-quick}")
KINDS=${XROCE_BENCH_KINDS:-xroce xroce-poll xroce-loop rxe rxe-loop tcp}
# how long TCP goes, in 10^9 instructions, and how often
TCP_SECONDS=1 TCP_RUNS=2
case ${SETS[*]} in
full)	TCP_SECONDS=3 ;;
quick)	TCP_RUNS=1 ;;
esac
# what is less needed, and takes 10^9 instructions each time too
brief() { [ "$TCP_RUNS" = 1 ]; }
ICOUNT=${XROCE_BENCH_ICOUNT:-1}
failed=()

# Time flies while such a guest waits for its disk: not seconds, but tries
wait_for() {
	local i
	shift
	for ((i = 0; i < 300; i++)); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.1
	done
	return 1
}

say() { printf '%s\n' "$*" >&2; }
# The host's file system is slow, and not to be waited for in between
save() { cp "$TOPO_TMP/out" "$OUT"; }
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
	jq -nc "${args[@]}" '$ARGS.named' >>"$TOPO_TMP/out"
}

# specs SET|SPEC... - what is measured of every device
specs() {
	local op set
	for set; do
		case $set in
		basic | quick | full | polling)
			spec_set "$set"
			perftest_set "$set" ;;
		*)	echo "$set" ;;
		esac
	done
}

spec_set() {
	local op size list qps spec mtu=$RDMA_MTU
	case $1 in
	basic)
		for op in write send; do
			echo "$op,size=64,list=16"
			echo "$op,size=64"
		done
		echo "write,size=65536"
		echo "read,size=65536"
		echo "send,lat,size=8,inline"
		echo "send,lat,size=8,inline,wait=yield"
		return ;;
	quick)
		for op in write read; do
			echo "$op,size=65536"
		done
		[ "$mtu" = 4096 ] || return
		for op in write send; do
			echo "$op,size=64"
			echo "$op,size=64,list=16"
			echo "$op,size=64,list=16,qps=64"
		done
		echo "write,size=64,qps=64"
		echo "write,size=1048576"
		echo "atomic"
		echo "send,inline,lat,size=8"
		echo "bind,size=65536"
		echo "reg,size=65536"
		echo "none,qps=256"
		return ;;
	full)	sizes=(2 8 64 256 1024 4096 16384 65536 262144 1048576)
		lists=(1 16 64) all_qps=(1 8 64) ;;
	polling)
		echo "send,lat,size=8,inline,n=512,r=8"
		echo "send,lat,size=8,inline,n=512,r=8,wait=poll"
		return ;;
	esac
	# what depends on the MTU
	for op in write send read; do
		for size in "${sizes[@]}"; do
			[ "$mtu" = 4096 ] || [ "$size" -ge 1024 ] || continue
			echo "$op,size=$size"
		done
	done
	if [ "$mtu" != 4096 ]; then
		echo "write,size=64,list=16"
		echo "send,size=64,list=16"
		echo "send,inline,lat,size=8"
		return
	fi
	for op in write send; do
		for qps in "${all_qps[@]}"; do
			for list in "${lists[@]}"; do
				# a list of one to one QP is above
				spec=$op,size=64,list=$list,qps=$qps
				[ "$qps$list" = 11 ] || echo "${spec/,list=1,/,}"
			done
		done
	done
	for list in 16 64; do
		echo "read,size=64,list=$list"
	done
	for qps in 8 64; do
		echo "read,size=64,qps=$qps"
	done
	for qps in "${all_qps[@]}"; do
		echo "atomic,qps=$qps"
	done
	echo "atomic,list=16"
	for op in send,inline read atomic; do

		echo "$op,lat,size=8"
		echo "$op,lat,size=8,wait=$([[ $op = send* ]] && echo yield || echo poll)"
	done
	for size in 64 1024 4096 65536; do
		echo "send,lat,size=$size"
		echo "read,lat,size=$size"
	done
	echo "send,inline,lat,size=8,wait=poll,n=128"
	for size in 4096 65536 1048576; do
		echo "bind,size=$size"
		echo "reg,size=$size"
	done
	echo "none,qps=256"
}

# The same by perftest: enough messages that slices of time even out
perftest_set() {
	local op
	case $1$RDMA_MTU in
	polling* | quick1024)
		return ;;
	quick*)
		echo "ib_write_bw -s 64 -n 2048"
		echo "ib_send_lat -s 8 -n 200 -e"
		return ;;
	*4096)
		for op in write send read; do
			[ "$1$op" != basicsend ] && [ "$1$op" != basicread ] || continue
			echo "ib_${op}_bw -s 64 -n 4096"
			echo "ib_${op}_bw -s 64 -n 4096 -l 16"
		done
		echo "ib_send_lat -s 8 -n 500 -e" ;;
	esac
	for op in write send read; do
		[ "$1" = full ] || [ "$op" != send ] || continue
		echo "ib_${op}_bw -s 65536 -n $([ "$1" = full ] && echo 512 || echo 256)"
	done
	[ "$1$RDMA_MTU" = full4096 ] || return 0
	for op in write send read; do
		echo "ib_${op}_bw -s 4096 -n 4096"
		echo "ib_${op}_bw -s 1048576 -n 64"
	done
	echo "ib_write_bw -s 64 -n 128 -q 64"
	echo "ib_atomic_bw -n 4096"
	echo "ib_atomic_lat -n 500"
	echo "ib_read_lat -s 8 -n 500"
	# two that spin take turns, of 4 ms
	for op in write send; do
		echo "ib_${op}_lat -s 8 -n 64"
	done
}

# The two ends have a processor each where there are two
pin1=() pin2=()
if [ "$(nproc)" -gt 1 ]; then
	pin1=(taskset -c 0) pin2=(taskset -c 1)
fi

# serve NAMESPACE DEVICE - a server; its pid in $server_pid
serve() {
	rm -f "$TOPO_TMP/bench"
	bg "$1" setarch -R "${pin2[@]}" ./xroce_bench -s "$TOPO_TMP/bench" -d "$2" -t "$trace" \
		2>"$TOPO_TMP/server"
	server_pid=$!
	wait_for 20 test -S "$TOPO_TMP/bench" ||
		die "xroce_bench: $(cat "$TOPO_TMP/server")"
}

# icrc_functions - for the profile's plugin: those by which a packet's ICRC, or that of
# its headers, is made, and those by which it is checked
icrc_functions() {
	sort /proc/kallsyms | awk '
		which && $1 != start { print start, $1, which; which = "" }
		$3 ~ /^(xroce_(frame_icrc|head_set)|rxe_icrc_generate)(\.|$)/ {
			start = $1; which = "makes"
		}
		$3 ~ /^(xroce_rx_icrc_ok|rxe_icrc_check)(\.|$)/ { start = $1; which = "checks" }'
}

# What the addresses were that a profile has
symbols() {
	local dir=${XROCE_BENCH_SYMBOLS:-}
	[ -n "$dir" ] || return 0
	cp /proc/kallsyms "$dir/kallsyms.$1"
	grep ' r-xp ' "/proc/$(pgrep -f "^./xroce_bench -s")/maps" >"$dir/maps.$1"
}

# bench KIND NS1 DEVICE1 NS2 DEVICE2 SPEC... - between two devices. A failed one
# ends the client; the next goes on behind it
bench() {
	local kind=$1 nsc=$2 dev1=$3 nss=$4 dev2=$5 spec line ended
	local flags=(-t "$trace") specs=()
	shift 5
	[ "$ICOUNT" = 0 ] || flags+=(-i)
	[ -z "${XROCE_BENCH_SYMBOLS:-}" ] || flags+=(-p)
	for spec; do
		[[ $spec == *,mtu=* ]] || spec+=,mtu=$RDMA_MTU
		specs+=("$spec")
	done
	[ -z "${XROCE_BENCH_SYMBOLS:-}" ] || icrc_functions >"$XROCE_BENCH_SYMBOLS/blocks.icrc"
	serve "$nss" "$dev2"
	while [ ${#specs[@]} -gt 0 ]; do
		ended=0
		while IFS= read -r line; do
			[[ $line == '{'* ]] || continue
			echo "{\"kind\":\"$kind\",${line#\{}" >>"$TOPO_TMP/out"
			ended=$((ended + 1))
		done < <(in_ns "$nsc" timeout 100000 setarch -R "${pin1[@]}" \
			./xroce_bench -c "$TOPO_TMP/bench" -d "$dev1" "${flags[@]}" \
			"${specs[@]}" 2> >(tee "$TOPO_TMP/client" | sed -u "s/^/$kind /" >&2))
		specs=("${specs[@]:ended}")
		[ ${#specs[@]} -gt 0 ] || break
		failed+=("$kind ${specs[0]}: $(tail -n 1 "$TOPO_TMP/client") $(cat "$TOPO_TMP/server")")
		specs=("${specs[@]:1}")
		bg_end "$server_pid" || :
		serve "$nss" "$dev2"
	done
	symbols "$kind"
	bg_end "$server_pid" || :
	rm -f "$TOPO_TMP/bench.shared"
}

# perftest KIND NS1 DEVICE1 ADDRESS1 NS2 DEVICE2 ADDRESS2 COMMAND - what most people
# measure with: each end spins until something is complete
perftest() {
	local kind=$1 RNS1=$2 dev1=$3 RNS2=$5 NS2=$5 dev2=$6 to=$7 command=$8
	# time does not fly while two spin and get nowhere: this is minutes here
	local gid1 gid2 args said runs=() i PATIENCE=100
	gid1=$(gid_index "$RNS1" "$dev1" "$4")
	gid2=$(gid_index "$RNS2" "$dev2" "$to")
	# the address of a netdev elsewhere is not reached from here
	[ "$RNS1" != "$RNS2" ] || to=127.0.0.1
	# of all that it can print, these have digits enough, and are averages
	case $command in
	*_lat*)	said=latency ;;
	*)	said=bandwidth ;;
	esac
	read -ra args <<<"$command -F --output=$said"
	for i in 1 2; do
		said=$(ends 'tcp_listens 18515' \
			setarch -R "${pin2[@]}" "${args[@]}" -d "$dev2" -x "$gid2" -- \
			setarch -R "${pin1[@]}" "${args[@]}" -d "$dev1" -x "$gid1" "$to" 2>&1) &&
			runs[i]=$(instructions "$command" <<<"$said") || {
				failed+=("$kind $command: $said")
				return
			}
	done
	out kind="$kind" by=perftest command="$command" "mtu=$RDMA_MTU" \
		"instructions=${runs[1]}" "again=${runs[2]}"
	say "$kind $command: ${runs[1]} and ${runs[2]} insn a message"
}

# instructions COMMAND - a message, of the microseconds or the MiB a second that
# perftest said: the clock counts instructions
instructions() {
	local size=8
	[[ $1 != *' -s '* ]] || size=${1#* -s } size=${size%% *}
	awk -v "size=$size" -v "program=${1%% *}" '
		/^ *[0-9.]+ *$/ && $1 > 0 {
			n = program ~ /_lat$/ ? $1 * 1000 : size * 1e9 / 1048576 / $1
		}
		END { if (!n) exit 1; printf "%.1f", n }'
}

# offloads FEATURE=on|off... - at both ends
offloads() {
	local feature args=()
	for feature; do args+=("${feature%=*}" "${feature#*=}"); done
	n1 ethtool -K "$ETH1" "${args[@]}" >/dev/null &&
		n2 ethtool -K "$ETH2" "${args[@]}" >/dev/null
}

# stream WHAT - bytes of TCP in 10^9 instructions, TCP_RUNS times
stream() {
	local runs=() i
	for ((i = 0; i < TCP_RUNS; i++)); do
		runs[i]=$(n1 timeout 100000 iperf3 -J -c "$V4.2" -t "$TCP_SECONDS" |
			jq -e '.end.sum_received | .bytes / .seconds | floor') ||
			{ failed+=("tcp $1: iperf3"); return; }
	done
	out kind=tcp "what=$1" "mtu=$NETDEV_MTU" "bytes=${runs[0]}" ${runs[1]:+"again=${runs[1]}"}
	say "tcp $1: $(printf '%d ' "${runs[@]/%??????/}")MB in 10^9"
}

# What TCP costs on the same netdevs, by programs that everybody has: with all
# that it has; a frame at a time; and also each with a checksum made and compared
tcp() {
	local perf lat how
	bg "$NS2" iperf3 -s >/dev/null 2>&1
	perf=$!
	wait_for 20 tcp_listens 5201 || die "iperf3 -s"
	for how; do
		case $how in
		segments)	offloads tso=off gso=off gro=off ;;
		nothing)	offloads tso=off gso=off gro=off sg=off tx=off rx=off ;;
		esac || die "ethtool -K"
		stream "$how"
	done
	bg_end "$perf" || :
	[[ " $* " == *' offloads '* ]] && ! brief || return 0
	bg "$NS2" qperf >/dev/null 2>&1
	perf=$!
	wait_for 20 tcp_listens 19765 || die "qperf"
	if lat=$(n1 timeout 100000 qperf "$V4.2" -P 5 -t 1 -m 8 tcp_lat |
		 awk '$1 == "latency" { u["ns"] = 1; u["us"] = 1e3; u["ms"] = 1e6
			printf "%d", $3 * u[$4] }') && [ -n "$lat" ]; then
		out kind=tcp what=latency "mtu=$NETDEV_MTU" "half=$lat"
		say "tcp half round trip of 8 B: $lat"
	else
		failed+=("tcp: qperf")
	fi
	bg_end "$perf" || :
}

wanted() { [[ " $KINDS " == *" $1 "* ]]; }

# What system calls matter for, without them (docs/design.md, doorbells). Two that
# spin on one processor, the poller and a program, each wait out the other's turn
polled() {
	local spec specs=()
	for spec; do
		[ "$ICOUNT" = 0 ] || [[ $spec != *wait=poll* ]] || continue
		[[ ,$spec, != *,size=@(2|8|64),* || $spec == *list=* ]] || specs+=("$spec")
	done
	[ ${#specs[@]} = 0 ] || XROCE_POLL_US=50 bench xroce-poll "$RNS1" "$RDMA1" \
		"$RNS2" "$RDMA2" "${specs[@]}"
}

# measure KIND NS1 DEVICE1 ADDRESS1 NS2 DEVICE2 ADDRESS2 SPEC... - between two
# devices, by both programs
measure() {
	local ends=("${@:1:7}") spec specs=() commands=()
	shift 7
	for spec; do
		case $spec in
		ib_*)	commands+=("$spec") ;;
		*)	specs+=("$spec") ;;
		esac
	done
	[ ${#specs[@]} = 0 ] || bench "${ends[@]:0:3}" "${ends[@]:4:2}" "${specs[@]}"
	for spec in "${commands[@]}"; do
		perftest "${ends[@]}" "$spec"
	done
}

ours() {
	local at1=("$RNS1" "$RDMA1" "$V4.1") at2=("$RNS2" "$RDMA2" "$V4.2")
	rdma_up || die "xroce: no devices"
	! wanted tcp || brief || tcp attached
	! wanted xroce || measure xroce "${at1[@]}" "${at2[@]}" "$@"
	! wanted xroce-poll || [ "$RDMA_MTU" != 4096 ] || polled "$@"
	! wanted xroce-loop || measure xroce-loop "${at1[@]}" "${at1[@]}" "$@"
	rdma_down
}

# Two rdma_rxe on the veth of the namespaces
rxe_netns() {
	in_ns "$NS1" rdma link add "$RDMA1" type rxe netdev eth0 &&
		in_ns "$NS2" rdma link add "$RDMA2" type rxe netdev eth0 || die "rdma_rxe"
	RNS1='' RNS2='' devices_ready || die "rdma_rxe: no active port with both GIDs"
	measure rxe '' "$RDMA1" "$V4.1" '' "$RDMA2" "$V4.2" "$@"
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
	local at1=('' rxe1 198.19.1.1) at2=('' rxe2 198.19.2.1)
	wire_here "$1"
	shift
	rdma link add rxe1 type rxe netdev xr-r1 &&
		rdma link add rxe2 type rxe netdev xr-r2 || die "rdma_rxe"
	wait_for 20 has_gid '' rxe1 198.19.1.1 && wait_for 20 has_gid '' rxe2 198.19.2.1 ||
		die "rdma_rxe: no GIDs"
	! wanted rxe || measure rxe "${at1[@]}" "${at2[@]}" "$@"
	! wanted rxe-loop || measure rxe-loop "${at1[@]}" "${at1[@]}" "$@"
	rdma link del rxe1
	rdma link del rxe2
	wire_gone
}

# round MTU RDMA_MTU
round() {
	local mtu=$1 specs
	NETDEV_MTU=$1 RDMA_MTU=$2
	mapfile -t specs < <(specs "${SETS[@]}")
	topo_direct "$mtu"
	! wanted tcp || tcp offloads
	if wanted xroce || wanted xroce-poll || wanted xroce-loop; then
		ours "${specs[@]}"
	fi
	if ! wanted rxe && ! wanted rxe-loop; then
		:
	elif rxe_in_netns; then
		rxe_netns "${specs[@]}"
	else
		rxe_here "$mtu" "${specs[@]}"
	fi
	# at last: nothing turns these features on again
	! wanted tcp || tcp segments
	! wanted tcp || brief || tcp nothing
	topo_clear
}

# here, since a network namespace has a /sys without it
trace=$(cat /sys/kernel/tracing/events/raw_syscalls/sys_enter/id) ||
	die "no tracepoint of system calls"
modprobe rdma_rxe || die "no rdma_rxe here"
modprobe -q crc32_pclmul || :
out kind=about kernel="$(uname -r)" xdp="$XROCE_XDP" icount="$ICOUNT" sets="${SETS[*]}"
round 4500 4096
case " ${SETS[*]} " in
*' quick '* | *' full '*) round 1500 1024 ;;
esac
save
if [ ${#failed[@]} -gt 0 ]; then
	printf 'FAILED: %s\n' "${failed[@]}" >&2
	exit 1
fi
