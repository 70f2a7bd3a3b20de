# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# What the tests here share: pairs of links, rounds of traffic over all of them
# around what a script does to them, and whether all is as it was afterwards.
# Sourced after topo.sh.
#
# XROCE_LIFE_MODES: of RDMA namespaces, both if not said
# XROCE_LIFE_COUNT: how often each thing happens: twice in each mode (LIFE_SHORT), or 1000
# times in all (LIFE_LONG) with XROCE_LONG
# XROCE_LIFE_PAIRS: to how many pairs at once, 10 at most
# XROCE_LIFE_PACE: us that a side of theirs pauses, where traffic takes all the time
# XROCE_LIFE_ONLY: a regular expression: only such things

# RDMA namespaces' modes; how often, in all; and rounds in each of them
read -ra MODES <<<"${XROCE_NETNS:-${XROCE_LIFE_MODES:-exclusive shared}}"
COUNT=${XROCE_LIFE_COUNT:-${XROCE_LONG:+${LIFE_LONG:-1000}}}
COUNT=${COUNT:-$((${LIFE_SHORT:-2} * ${#MODES[@]}))}
PAIRS=${PAIRS:-${XROCE_LIFE_PAIRS:-$((COUNT < 20 ? 2 : 10))}}
# shellcheck disable=SC2034
ROUNDS=$(((COUNT + PAIRS - 1) / PAIRS))
# shellcheck disable=SC2034
ENDS=$(((ROUNDS + ${#MODES[@]} - 1) / ${#MODES[@]}))

# An outage is shorter than all retries of QPs with this timeout, of many at once too, and
# on a kernel that checks everything
survive=18
# shellcheck disable=SC2034
[ "$PAIRS" -le 2 ] && [ ! -e /sys/kernel/debug/kmemleak ] || survive=20

# Pair I: links xra$I over netdev xra$I, 198.18.$I.1 in $NS1, and xrb$I over xrb$I,
# 198.18.$I.2 in ${NSB[I]}
NSB=()
NET=198.18
NET_HEX=$(printf %02x%02x "${NET%.*}" "${NET#*.}")

numbers() { seq "$PAIRS"; }

# thing NAME COMMAND... - a result, unless it is not wanted
thing() {
	local since=$SECONDS
	[[ $1 =~ ${XROCE_LIFE_ONLY:-.} ]] || return 0
	try "$label: $1" "${@:2}"
	echo "# $1: $((SECONDS - since)) s"
}

# each FUNCTION... - of every pair at once
each() {
	local i pids=() status=0
	for i in $(numbers); do
		"$@" "$i" &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" || status=1
	done
	return "$status"
}

far_namespaces() { printf '%s\n' "${NSB[@]}" | sort -u; }

# netdevs_far NAMESPACE - and their addresses
netdevs_far() {
	local i
	{
		echo "link set lo up"
		for i in $(numbers); do
			[ "${NSB[i]}" != "$1" ] || printf '%s\n' \
				"addr replace $NET.$i.2/24 dev xrb$i" "link set xrb$i up"
		done
	} | ip -n "$1" -batch -
}

# A netdev is there as long as its peer
netdevs() {
	local have i ns
	have=" $(ip -n "$NS1" -br link show type veth | sed 's/@.*//' | tr '\n' ' ')"
	for i in $(numbers); do
		[[ $have == *" xra$i "* ]] || echo "link add xra$i mtu 1500 type veth" \
			"peer name xrb$i mtu 1500 netns ${NSB[i]}"
		printf '%s\n' "addr replace $NET.$i.1/24 dev xra$i" "link set xra$i up"
	done | ip -n "$NS1" -batch - || return
	for ns in $(far_namespaces); do
		netdevs_far "$ns" || return
	done
}

# links_add NAMESPACE a|b - those of a side that are not there
links_add() {
	local have i missing=() by=(rdma -b -) as="link add %s type xroce netdev %s\n"
	# whose files take a kernel that checks everything 3 s, of the whole table
	[ ! -e /sys/kernel/debug/kmemleak ] || echo 8 >/sys/module/xroce/parameters/gids
	if [ "$XROCE_XDP" != off ]; then
		by=(rdmatool -b -) as="link add %s netdev %s xdp $XROCE_XDP\n"
	fi
	have=$(in_ns "$1" rdma link)
	for i in $(numbers); do
		[ "$2" = a ] || [ "${NSB[i]}" = "$1" ] || continue
		[[ $have == *"link xr$2$i/1 "* ]] || missing+=("xr$2$i" "xr$2$i")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	# shellcheck disable=SC2059
	printf "$as" "${missing[@]}" | in_ns "$1" "${by[@]}"
}

# Ports that are active, as a NIC's is not at once, and the address of each: to read all
# of its table takes seconds there
ports_ready() {
	local ns
	[ "$(for ns in "$NS1" $(far_namespaces); do
		in_ns "$ns" sh -c 'cd /sys/class/infiniband && grep "" xr*/ports/1/state \
			xr*/ports/1/gids/[0-7]'
	done 2>/dev/null | grep -E "ACTIVE|:ffff:$NET_HEX:..0[12]$" | sort -u | wc -l)" = \
		$((4 * PAIRS)) ]
}

# All links, whatever became of them and of their netdevs: both sides at once, since
# to load a program takes a checked kernel seconds
life_links() {
	local ns near status=0
	netdevs || return
	links_add "$NS1" a &
	near=$!
	for ns in $(far_namespaces); do
		links_add "$ns" b || status=1
	done
	wait "$near" && [ "$status" = 0 ] && wait_for 30 ports_ready
}

# Pages that are pinned, exactly: each CPU counts on its own until it is asked
pinned() {
	echo 1 >/proc/sys/vm/stat_refresh
	awk '$1 == "nr_foll_pin_acquired" { n += $2; seen++ }
		$1 == "nr_foll_pin_released" { n -= $2; seen++ }
		END { print n " pages pinned"; exit seen != 2 }' /proc/vmstat
}

# What there is of RDMA objects, of mapped rings and of pinned memory
life_things() {
	local ns
	for ns in "$NS1" $(far_namespaces); do
		in_ns "$ns" rdma resource show
	done | sed 's/^[0-9]*: //' | sort -u
	grep -c xroce /proc/vmallocinfo
	pinned
}

life_look() { life_before=$(life_things) && sleep 1 && as_before; }
as_before() { [ "$(life_things)" = "$life_before" ]; }

# KiB of memory that is no file's, with what nobody admits to having
life_kib() {
	local cache
	echo 3 >/proc/sys/vm/drop_caches
	# KASAN keeps what was freed, up to a 32nd of all, until its cache shrinks
	if [ -e /sys/kernel/debug/kmemleak ]; then
		for cache in /sys/kernel/slab/*/shrink; do
			echo 1 >"$cache"
		done
	fi
	awk '$1 == "MemTotal:" { n += $2 }
		$1 ~ /^(MemFree|Buffers|Cached|SReclaimable):/ { n -= $2 }
		END { print n }' /proc/meminfo
}

life_label() {
	label="$XROCE_XDP, netns $(rdma system show | sed 's/.*netns \([a-z]*\).*/\1/')"
}

# life_begin - $sides: pairs of sides, if not one for each pair of links
life_begin() {
	local why i
	topo_begin
	for i in $(numbers); do
		NSB[i]=$NS2
	done
	SIDES=("xra%@$NS1" "xrb%@$NS2")
	[ "$PAIRS" -gt 1 ] || SIDES=("xra1@$NS1" "xrb1@$NS2")
	life_label
	if [[ $label != *"netns ${XROCE_NETNS:-}"* ]]; then
		not_ok "$label: RDMA namespaces" "not $XROCE_NETNS"
		tap_end
	fi
	if ! why=$(life_links 2>&1); then
		not_ok "$label: devices" "${why//$'\n'/$'\n'# }"
		tap_end
	fi
	for i in $(numbers); do
		[ "$(xdp_mode "$NS1" "xra$i")$(xdp_mode "$NS2" "xrb$i")" = \
			"$XROCE_XDP$XROCE_XDP" ] && continue
		not_ok "$label: devices" "XDP is not '$XROCE_XDP'"
		tap_end
	done
	# what is kept for ever once it has been needed, as pages for frames
	try "$label: traffic" "$LIBDIR/../life/life" -t 18 -n 2 -p "${sides:-$PAIRS}" "${SIDES[@]}" destroy
	# others pin a page for a moment too, as the guest's file system does
	if ! wait_for 20 life_look; then
		not_ok "$label: what there is" "cannot be told, or changes"
		tap_end
	fi
	life_kib_before=$(life_kib)
}

# Every xrb in a namespace of its own
life_spread() {
	local i
	ip -n "$NS1" -batch - < <(for i in $(numbers); do echo "link del xra$i"; done)
	for i in $(numbers); do
		NSB[i]=$NS2-$i
		ip netns add "${NSB[i]}" && quiet_ns "${NSB[i]}" || return
	done
	SIDES=("xra%@$NS1" "xrb%@$NS2-%")
	wait_for 60 life_links
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
	echo "# $label: $more KiB more than at first" >&3
	# what a guest's caches do by themselves; a leak grows with COUNT
	# beside 16 MB, the pages that each CPU's two pools may have kept (frame.c):
	# 256 and 128 more, of 4 and of 8 KiB
	[ "$more" -lt "${LIFE_SLACK:-$((16384 + $(nproc) * 384 * 12))}" ] && return
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
	# nice, or on a kernel that checks everything the shell waits for the traffic
	coproc LIFE { nice -n 19 "$LIBDIR/../life/life" -p "$PAIRS" \
			${XROCE_LIFE_PACE:+-w "$XROCE_LIFE_PACE"} "${args[@]}" "${SIDES[@]}" ask \
			2>"$TOPO_TMP/life"; }
	# bash forgets both when the process has ended
	local pid=$LIFE_PID in=${LIFE[0]} out=${LIFE[1]}
	for ((i = 0; i < n && status == 0; i++)); do
		echo "$verb" >&"$out"
		# longer than it waits itself for those that hang
		read -r -t 900 line <&"$in" || line=
		if [ "$line" != traffic ]; then
			echo "round $i: no traffic: '$line'"
			status=1
			break
		fi
		sleep "0.0$((RANDOM % 10))"
		"$@" || { echo "round $i: exit status $?: $*"; status=1; }
		echo stop >&"$out"
		read -r -t 900 line <&"$in" || line=
		[ "$line" = ok ] || { echo "round $i: '$line'"; status=1; }
		# a name may be a dying device's still
		[ "$verb" = go ] || wait_for 60 life_links ||
			{ echo "round $i: no links after it"; life_links; status=1; }
		((n < 50 || (i + 1) % (n / 10))) || echo "# $((i + 1)) of $n rounds" >&3
	done
	exec {out}>&-
	wait "$pid" || status=1
	[ "$status" = 0 ] || cat "$TOPO_TMP/life"
	return "$status"
}

life_unload() {
	local ns i
	for i in $(numbers); do
		in_ns "$NS1" rdma link del "xra$i" && in_ns "${NSB[i]}" rdma link del "xrb$i"
	done
	# an XDP program may hold it for a few milliseconds more
	wait_for 10 rmmod xroce && [ ! -d /sys/module/xroce ] && return
	rmmod xroce
	grep '^xroce ' /proc/modules
	for ns in "$NS1" $(far_namespaces); do in_ns "$ns" rdmatool link show; done
	return 1
}

life_clear() {
	local ns
	for ns in $(far_namespaces); do
		ip netns del "$ns" 2>/dev/null
	done
	topo_clear
}

exec 3>&1
