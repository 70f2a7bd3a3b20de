#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# perftest: what it sends (send, write, read, atomic) by each transport that has it, for
# bandwidth and for latency, with the options that mean something here. Not with -g,
# --perform_warm_up and limits by hardware: those fail with rdma_rxe too, or want a
# NIC's Ethernet. A result is TEST.TRANSPORT.OPTION; its figure is perftest's. Topology:
# see ends.sh.
#
# DEVTYPE1, DEVTYPE2=xroce|rxe  XROCE_XDP=off|generic|native  PERFTEST='PATTERN...'

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ../lib/here.sh
. ../lib/ends.sh

# run PROGRAM ARGUMENTS... - its last line of figures, without the sizes
run() {
	local said port=$((18515 + tap_n)) at1=() at2=() prog=$1 args
	shift
	args=("$@" -F -p "$port")
	if [[ " $* " == *' -R '* ]]; then
		at2=(--bind_source_ip "$ADDR2")
	else
		at1=(-d "$RDMA1" -x "$gid1")
		at2=(-d "$RDMA2" -x "$gid2")
	fi
	if ! said=$(ends "cm_listens $port || tcp_listens $port" \
			"$prog" "${args[@]}" "${at2[@]}" -- \
			"$prog" "${args[@]}" "${at1[@]}" "$ADDR2" 2>&1); then
		echo "$said"
		return 1
	fi
	said=$(grep -E '^ *[0-9]+ +[0-9]+ ' <<<"$said" | tail -n 1)
	case $prog in
	*_bw)	awk 'NF < 4 { exit 1 } { print $4 " MiB/s" }' <<<"$said" ;;
	*)	awk 'NF < 6 { exit 1 } { print $6 " us" }' <<<"$said" ;;
	esac && return
	echo "no figures: $said"
	return 1
}

wanted() {
	local p
	[ -n "${PERFTEST:-}" ] || return 0
	set -f
	for p in $PERFTEST; do
		# shellcheck disable=SC2053
		[[ $1 != $p ]] || return 0
	done
	return 1
}

# one ID PROGRAM ARGUMENTS...
one() {
	local id=$1
	shift
	! (wanted "$id") || measure "$label: $id" run "$@"
}

# all_of VERB TRANSPORT bw|lat
all_of() {
	local prog=ib_$1_$3 id=$1_$3.$2 args=(-c "$2" -n 32) size=() o mtu
	[ "$1" = atomic ] || size=(-s 2000)
	set -- "$@" "${args[@]}" "${size[@]}"
	one "$id" "$prog" "${@:4}"
	# to 8 MiB: half a gigabyte a test
	[ "$1" = atomic ] || PATIENCE=300 one "$id.-a" "$prog" "${args[@]}" -a
	# perftest has no events for WRITEs, and rdma_cm for neither UC nor XRC
	[ "$1" = write ] || one "$id.-e" "$prog" "${@:4}" -e
	[[ $2 == UC || $2 == XRC ]] || one "$id.-R" "$prog" "${@:4}" -R
	if [ "$3" = bw ]; then
		# no more receives than messages, of which XRC wants one for each QP
		one "$id.-q64" "$prog" -c "$2" -n 128 "${size[@]}" -q 64
		for o in -b "-l 16" "-b -q 8 -l 4"; do
			# shellcheck disable=SC2086
			one "$id.${o// /}" "$prog" "${@:4}" $o
		done
	fi
	case $1.$2 in
	send.RC | send.UD) one "$id.--use-srq" "$prog" "${@:4}" --use-srq ;;
	esac
	for mtu in 256 512 1024 2048 4096; do
		[ "$2" != UD ] || size=(-s "$mtu")
		one "$id.-m$mtu" "$prog" "${args[@]}" "${size[@]}" -m "$mtu"
	done
	local gid1=$gid61 gid2=$gid62
	one "$id.ipv6" "$prog" "${@:4}"
}

# options VERB bw|lat - those that do not depend on the transport
options() {
	local prog=ib_$1_$2 all=() o size
	all=("-S 3" "--tclass 104" "--flow_label 77" "-u 16" "-z" "-t 8" "-R -T 104"
		"--no_lock" "--disable_pcie_relaxed")
	# what else perftest refuses is left out
	[ "$2" = lat ] || all+=("-N" "-D 2" "-Q 8" "--use_old_post_send" "--mr_per_qp -q 4"
		"-b --report-both" "--reversed" "-y 2000")
	[[ $1$2 == *lat || $1 == atomic ]] ||
		all+=("--rate_limit 50 --rate_units M --rate_limit_type SW")
	[[ $1 == read || $1 == atomic ]] || all+=("-I 64 -s 64")
	[ "$1" = write ] || all+=("-e -X 1")
	case $1 in
	send)	all+=("-r 64")
		[ "$2" = lat ] || all+=("--recv_post_list 8") ;;
	write)	all+=("--write_with_imm") ;;
	read)	all+=("-o 4") ;;
	atomic)	all+=("-A FETCH_AND_ADD" "-A CMP_AND_SWAP" "-o 4") ;;
	esac
	for o in "${all[@]}"; do
		size=(-s 2000)
		[[ $1 != atomic && $o != *"-s "* ]] || size=()
		# shellcheck disable=SC2086
		one "$1_$2.RC.${o// /}" "$prog" -n 64 -c RC "${size[@]}" $o
	done
}

ends_up ib_send_bw
gid1=$(gid_index "$RNS1" "$RDMA1" "$ADDR1")
gid2=$(gid_index "$RNS2" "$RDMA2" "$ADDR2")
gid61=$(gid_index "$RNS1" "$RDMA1" "$V6:1")
gid62=$(gid_index "$RNS2" "$RDMA2" "$ADDR6")
for kind in bw lat; do
	for verb in send write read atomic; do
		case $verb in
		send)	transports="RC UC UD XRC" ;;
		write)	transports="RC UC XRC" ;;
		*)	transports="RC XRC" ;;
		esac
		for transport in $transports; do
			# rdma_rxe has no XRC
			[ "$transport" = XRC ] && [[ $DEVTYPE1$DEVTYPE2 == *rxe* ]] ||
				all_of $verb "$transport" $kind
		done
		options $verb $kind
	done
done
tap_end
