# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# What the tests here share: rounds of traffic around what a script does to it,
# and whether all is as it was afterwards. Sourced after topo.sh.
#
# XROCE_LIFE_COUNT: how often each thing happens: 2, or 1000 with XROCE_LONG

COUNT=${XROCE_LIFE_COUNT:-${XROCE_LONG:+1000}}
COUNT=${COUNT:-2}

# ready NAMESPACE DEVICE HOST - the link is there with its GID
ready() { in_ns "$1" rdmatool gid show "$2" 2>/dev/null | grep -q "$V4.$3"; }

no_dev() { ! in_ns "$1" rdma link show "$2/1" >/dev/null 2>&1; }

has_netdev() { ip ${1:+-n "$1"} link show "$2" >/dev/null 2>&1; }

# Both links, whatever became of them and of their netdevs
life_links() {
	if ready "$NS1" xr1 1 && ready "$NS2" xr2 2; then
		return 0
	fi
	if ! has_netdev "$NS1" "$ETH1" || ! has_netdev "$NS2" "$ETH2"; then
		ip ${NS1:+-n "$NS1"} link del "$ETH1" 2>/dev/null
		ip ${NS2:+-n "$NS2"} link del "$ETH2" 2>/dev/null
		topo_veth "$NS1" "$ETH1" "$NS2" "$ETH2" 1500 || return 1
	fi
	addresses "$NS1" "$ETH1" 1 && addresses "$NS2" "$ETH2" 2 || return 1
	! no_dev "$NS1" xr1 || rdma_add "$NS1" xroce xr1 "$ETH1" || return 1
	! no_dev "$NS2" xr2 || rdma_add "$NS2" xroce xr2 "$ETH2" || return 1
	wait_for 30 ready "$NS1" xr1 1 && wait_for 30 ready "$NS2" xr2 2
}

# What there is of RDMA objects and of mapped rings
life_things() {
	local ns
	for ns in "$NS1" "$NS2"; do
		in_ns "$ns" rdma resource show
	done | sed 's/^[0-9]*: //' | sort -u
	grep -c xroce /proc/vmallocinfo
}

as_before() { [ "$(life_things)" = "$life_before" ]; }

# KiB of slabs, page tables and vmalloc, of memory that nobody admits to having
life_kib() {
	awk '$1 ~ /^(SUnreclaim|VmallocUsed|PageTables|KernelStack|AnonPages):/ { n += $2 }
		END { print n }' /proc/meminfo
}

life_begin() {
	local why
	topo_direct 1500
	label="$XROCE_XDP, netns $(rdma system show | sed 's/.*netns \([a-z]*\).*/\1/')"
	if ! why=$(rdma_up 2>&1); then
		not_ok "$label: devices" "${why//$'\n'/$'\n'# }"
		tap_end
	fi
	SIDES=("xr1${NS1:+@$NS1}" "xr2${NS2:+@$NS2}")
	life_before=$(life_things)
	life_kib_before=$(life_kib)
}

# What was there before is there, and no more of it
life_settled() {
	local kib more
	if ! wait_for 30 as_before; then
		echo "what there is, before and after:"
		diff <(echo "$life_before") <(life_things)
		return 1
	fi
	kib=$(life_kib)
	more=$((kib - life_kib_before))
	# what a guest's caches do by themselves; a leak grows with COUNT
	[ "$more" -lt "${LIFE_SLACK:-16384}" ] && return
	echo "$more KiB more are in use"
	return 1
}

# rounds HOW-MANY VERB ARGUMENTS... -- COMMAND... - traffic with the command in
# its middle, then life_links
rounds() {
	local n=$1 verb=$2 args=() line status=0 i
	shift 2
	while [ "$1" != -- ]; do
		args+=("$1")
		shift
	done
	shift
	coproc LIFE { ./life "${args[@]}" "${SIDES[@]}" ask 2>"$TOPO_TMP/life"; }
	# bash forgets both when the process has ended
	local pid=$LIFE_PID in=${LIFE[0]} out=${LIFE[1]}
	for ((i = 0; i < n && status == 0; i++)); do
		echo "$verb" >&"$out"
		read -r -t 200 line <&"$in" || line=
		if [ "$line" != traffic ]; then
			echo "round $i: no traffic: '$line'"
			status=1
			break
		fi
		sleep "0.0$((RANDOM % 10))"
		"$@" || { echo "round $i: exit status $?: $*"; status=1; }
		echo stop >&"$out"
		read -r -t 200 line <&"$in" || line=
		[ "$line" = ok ] || { echo "round $i: '$line'"; status=1; }
		[ "$verb" = go ] || life_links || { echo "round $i: no links after it"; status=1; }
	done
	exec {out}>&-
	wait "$pid" || status=1
	[ "$status" = 0 ] || cat "$TOPO_TMP/life"
	return "$status"
}

life_unload() {
	rdma_down
	# an XDP program may hold it for a few milliseconds more
	wait_for 10 rmmod xroce || return
	[ ! -d /sys/module/xroce ]
}
