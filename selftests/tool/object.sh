#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# rdmatool's tables of objects: what a program holds of each kind, on xroce and on
# rdma_rxe, against what rdma says of it; keys for CAP_NET_ADMIN only; and a table
# of 10,000 QPs that is complete while QPs come and go.
#
#   xt0 over the veth xt-a, or xt9 of rdma_rxe; the peer xt-b has no link

# Some functions are called by try alone.
# shellcheck disable=SC2317

cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ../lib/says.sh
. ../lib/hold.sh

topo_need rdmatool rdma jq setpriv rping ibv_devinfo python3
modprobe xroce || skip_all "no module xroce"
COMPLETION=/usr/share/bash-completion/completions/rdmatool
[ -e "$COMPLETION" ] || COMPLETION=../../rdmatool/completion.bash
STABLE=${XROCE_QPS:-9000}
# a kernel that looks at everything needs its memory and time for that
[ ! -e /sys/kernel/debug/kmemleak ] || STABLE=900
CHANGING=$((STABLE / 9))

end() {
	local status=$?
	let_go 2>/dev/null
	ip link del xt-a 2>/dev/null
	rm -rf "$TOPO_TMP"
	exit "$status"
}
trap end EXIT

# the same by rdma and rdmatool: KIND - those fields that both have, of all
# objects of the device; numbers as numbers, whatever they look like
normal() {
	jq -cS --arg kind "$1" '
		def hex: ltrimstr("0x") | explode | reduce .[] as $c (0; . * 16 +
				(if $c > 57 then $c - 87 else $c - 48 end));
		def plain: if type == "array" then map(tostring) | join(",")
			else . end | if type != "string" then .
			elif test("^[0-9]+$") then tonumber
			else sub("^\\[(?<c>.*)\\]$"; .c) end;
		def same: {lqpn, rqpn, type, state, "rq-psn", "sq-psn",
			"path-mig-state", pdn, pid, comm, cqn, cqe, users,
			"poll-ctx", ctxn, mrn, rkey, lkey, mrlen, srqn,
			"cm-idn", ps, local_dma_lkey, ifname};
		map(select(.ifname == "'"$dev"'") | same |
			with_entries(select(.value != null) |
				if (.key | test("key$")) and (.value | type) == "string"
				then .value |= hex else .value |= plain end)) |
		sort'
}

like_rdma() {
	rdma -jdd res show "$1" 2>"$TOPO_TMP/err" | normal "$1" >"$TOPO_TMP/theirs"
	rdmatool -jd "$1" show | normal "$1" >"$TOPO_TMP/ours"
	[ "$(jq length "$TOPO_TMP/theirs")" -ge "${2:-1}" ] &&
		cmp "$TOPO_TMP/theirs" "$TOPO_TMP/ours" && return
	head -c 500 "$TOPO_TMP/theirs" "$TOPO_TMP/ours" "$TOPO_TMP/err"
	return 1
}

like_rdma_stat() {
	rdma -j stat show link "$dev/1" |
		jq -S '.[0] | del(.ifindex, .ifname, .port)' >"$TOPO_TMP/theirs"
	rdmatool -jd stat show "$dev" | jq -S '.[0] | del(.ifindex, .ifname, .port) |
		with_entries(select(.key | startswith("xdp_") | not))' \
		>"$TOPO_TMP/ours"
	[ "$(jq length "$TOPO_TMP/theirs")" -ge 3 ] &&
		cmp "$TOPO_TMP/theirs" "$TOPO_TMP/ours"
}

like_rdma_link() {
	rdma -j link show "$dev/1" | jq -cS '.[0] |
		{ifname, port, state, physical_state, netdev}' >"$TOPO_TMP/theirs"
	rdmatool -j link show "$dev" | jq -cS '.[0] |
		{ifname, port, state, physical_state, netdev}' >"$TOPO_TMP/ours"
	cat "$TOPO_TMP/theirs"
	cmp "$TOPO_TMP/theirs" "$TOPO_TMP/ours"
}

# the ones that ibv_devinfo prints too
like_devinfo() {
	local word rate
	ibv_devinfo -v -d "$dev" >"$TOPO_TMP/info"
	for word in $(rdmatool -j gid show "$dev" | jq -r '.[].gid'); do
		grep -qF -e "${word#::ffff:}, RoCE v2" "$TOPO_TMP/info" ||
			{ echo "no $word"; return 1; }
	done
	rate=$(grep -c 'RoCE v2' "$TOPO_TMP/info")
	[ "$(rdmatool -j gid show "$dev" | jq length)" = "$rate" ] ||
		{ echo "not $rate GIDs"; return 1; }
	grep -qF "node_guid:			$(rdmatool -j dev show "$dev" |
		jq -r '.[0].node_guid')" "$TOPO_TMP/info" ||
		{ echo "node_guid"; return 1; }
	word=$(rdmatool -j dev show "$dev" | jq -r '.[0].fw // ""')
	[ -z "$word" ] || grep -qE "fw_ver:[[:space:]]*$word$" "$TOPO_TMP/info"
}

# JSON with a key twice in an object is not what anybody expects
no_key_twice() {
	local kind
	for kind in link dev gid qp cq mr mw srq pd ctx cm_id ah stat; do
		echo "$kind show"
	done >"$TOPO_TMP/asked"
	rdmatool -jd -b "$TOPO_TMP/asked" | python3 -c '
import json, sys

def pairs(p):
    keys = [k for k, _ in p]
    twice = {k for k in keys if keys.count(k) > 1}
    if twice:
        sys.exit(f"{kind.strip()}: {twice}")
    return dict(p)

said, at = sys.stdin.read(), 0
for kind in open(sys.argv[1]):
    _, at = json.JSONDecoder(object_pairs_hook=pairs).raw_decode(said, at)
    while said[at:at + 1].isspace():
        at += 1
sys.exit(said[at:] or None)' "$TOPO_TMP/asked" && [ "${PIPESTATUS[0]}" = 0 ]
}

# Each field that a table shows is a filter, and finds what it was taken from
# every_field KIND
every_field() {
	local n
	rdmatool -jd "$1" show dev "$dev" >"$TOPO_TMP/table"
	# what only a driver's table has is no column
	jq -r --arg what "$1 show dev $dev" --arg ours "$(completed "$1")" '
		($ours | split(" ")) as $f |
		[.[] | to_entries[] | select(.key | IN($f[]))] | group_by(.key)[] |
		.[0] | "\($what) \(.key) \(.value | tostring | @sh)"' \
		"$TOPO_TMP/table" >"$TOPO_TMP/asked"
	n=$(wc -l <"$TOPO_TMP/asked")
	rdmatool -j -b "$TOPO_TMP/asked" >"$TOPO_TMP/found" &&
		jq -es --argjson n "$n" '$n > 0 and length == $n and all(length > 0)' \
			"$TOPO_TMP/found" && echo "$n fields" && return
	jq -sc 'map(length)' "$TOPO_TMP/found"
	cat "$TOPO_TMP/asked"
	return 1
}

# Which fields the completion knows
completed() {
	# shellcheck source=/dev/null
	(. "$COMPLETION" && _rdmatool_fields "$1" | tr -s '\n\t ' '   ')
	echo " pid comm"
}

# and nobody else finds it
no_such_field() {
	local kind
	for kind in qp cq mr mw srq pd ctx cm_id ah; do
		rdmatool -j "$kind" show dev "$dev" colour 1 2>/dev/null
		[ $? = 2 ] || return 1
	done
}

compare() {
	local kind
	for kind in qp cq mr srq pd ctx; do
		try "$dev: filters by any field: $kind" every_field "$kind"
	done
	try "$dev: but not by others" no_such_field
	try "$dev: no key twice" no_key_twice
	for kind in qp cq mr pd ctx; do
		try "$dev: $kind as rdma" like_rdma "$kind"
	done
	try "$dev: srq as rdma" like_rdma srq
	try "$dev: stat as rdma" like_rdma_stat
	try "$dev: link as rdma" like_rdma_link
	try "$dev: as ibv_devinfo" like_devinfo
	rping -s -a "$addr" -C 1 >/dev/null 2>&1 &
	rping=$!
	wait_for 20 eval 'rdma -j res show cm_id | jq -e "map(select(.state == \"LISTEN\")) != []"'
	try "$dev: cm_id as rdma" like_rdma cm_id
	json "$dev: who listens where" "[\"rping\",\"TCP\",\"$addr:7174\"]" \
		'[.[] | select(.state == "LISTEN")][0] | [.comm, .ps, ."src-addr"]' \
		rdmatool -j cm_id show dev "$dev"
	kill "$rping"
	wait "$rping" 2>/dev/null
}

objects() {
	hold objects || { not_ok "$dev: objects" "$(cat "$TOPO_TMP/err")"; return; }
	ok "$dev: objects"
	compare
	json "$dev: mr by its key" "[\"hold\",$((5 * $(getconf PAGESIZE)))]" '.[0] | [.comm, .mrlen]' \
		rdmatool -j mr show dev "$dev" lkey "$(held lkey)"
	json "$dev: srq and its QP" "[\"hold\",\"BASIC\",\"$(held srq_qp)\"]" \
		'map(select(.comm == "hold"))[0] | [.comm, .type, (.lqpn | tostring)]' \
		rdmatool -j srq show dev "$dev"
}

test_xroce() {
	dev=xt0 addr=198.18.9.1
	rdmatool link add xt0 netdev xt-a xdp native
	ip addr add $addr/24 dev xt-a
	wait_for 20 has_gid "" xt0 $addr
	objects
	json "qp: XRC, which has no receive queue" '[["XRC_INI",0],["XRC_TGT",0]]' \
		'map([.type, ."rq-depth"]) | sort' \
		rdmatool -jd qp show lqpn "$(held xrc_recv),$(held xrc_send)"
	json "cq: how full it is" '[128,1,1,1,0]' \
		'map(select(.comm == "hold"))[0] | [.cqe, .completions, .fill, .armed, .overrun]' \
		rdmatool -jd cq show dev xt0
	json "mr: its pages and windows" "[$(getconf PAGESIZE),5,1,1]" \
		'map(select(.comm == "hold"))[0] | [.page_size, .pages, .windows, .valid]' \
		rdmatool -jd mr show dev xt0 lkey "$(held lkey)"
	json "srq: how full it is" '[2,7,5]' \
		'map(select(.comm == "hold"))[0] | [.max_sge, .limit, .fill]' \
		rdmatool -jd srq show dev xt0
	json "mw: a window that is bound" \
		"[1,\"$(held mw1)\",true,\"$(held lkey)\",4096,\"0x2\",\"hold\"]" \
		'.[0] | [.type, .rkey, .bound, .lkey, .mwlen, .access, .comm]' \
		rdmatool -jd mw show dev xt0 type 1
	json "mw: where" "$(printf '%#x' $(($(held iova) + 64)))" '.[0].iova' \
		rdmatool -j mw show rkey "$(held mw1)"
	json "mw: one that is not" '[2,null,null,"hold"]' \
		'.[0] | [.type, .bound, .lkey, .comm]' \
		rdmatool -jd mw show dev xt0 type 2
	json "ah: all of it" "[\"::ffff:$addr\",\"::ffff:$addr\",3,32,\"0x12345\",64,\"hold\"]" \
		'.[0] | [.src, .dst, .sl, .tclass, ."flow-label", ."hop-limit", .comm]' \
		rdmatool -jd ah show dev xt0
	try "mw: filters by any field" every_field mw
	try "ah: filters by any field" every_field ah
	json "ah: by its peer" 1 length rdmatool -j ah show dst $addr
	json "ah: of nobody" 0 length rdmatool -j ah show dst 198.18.9.2
	local addresses='[.[] | to_entries[] | select(.key | test("iova"))] | length'
	json "keys are not for all" '[true,[]]' \
		'[length > 0, [.[] | to_entries[] | select(.key | test("key"))]]' \
		setpriv --reuid 65534 --clear-groups --bounding-set -all \
		rdmatool -jd mr show dev xt0
	json "nor are addresses, by rdma" '[true,0]' "[length > 0, ($addresses)]" \
		setpriv --reuid 65534 --clear-groups --bounding-set -all \
		rdma -dd -j resource show mr
	json "which root sees" true "$addresses > 0" rdma -dd -j resource show mr
	json "nor are windows'" '[]' \
		'[.[] | to_entries[] | select(.key | test("key|iova"))]' \
		setpriv --reuid 65534 --clear-groups --bounding-set -all \
		rdmatool -jd mw show dev xt0
	json "though they are shown" 2 length \
		setpriv --reuid 65534 --clear-groups --bounding-set -all \
		rdmatool -jd mw show dev xt0
	ip netns add xt-ns
	json "another namespace sees none" '[]' . \
		ip netns exec xt-ns rdmatool -j mw show
	ip netns del xt-ns
	let_go
	json "all are gone" '[0,0]' '[length, length]' rdmatool -j mw show
	json "all are gone" 0 length rdmatool -j ah show
}

# A window's keys are its region's owner's and the host's, not those of a container's root
test_guest() {
	local dev=xt2 addr=198.18.10.1 holds_in=xt-guest owner guest
	unshare -rn sleep 200 &
	owner=$!
	guest=(nsenter -U -n -t "$owner" --preserve-credentials)
	wait_for 10 grep -q '^sleep$' "/proc/$owner/comm"
	ip netns attach xt-guest $owner
	ip link add xt-g type veth peer name xt-h
	ip link set xt-g netns xt-guest
	ip -n xt-guest addr add $addr/24 dev xt-g
	ip -n xt-guest link set xt-g up
	rdmatool -n xt-guest link add xt2 netdev xt-g
	wait_for 20 has_gid xt-guest xt2 $addr
	if hold objects; then
		json "a container's root sees windows, and no keys" '[2,[]]' \
			'[length, [.[] | to_entries[] | select(.key | test("key|iova"))]]' \
			"${guest[@]}" rdmatool -jd mw show dev xt2
		json "which the host's does there" true 'all(.[]; .rkey)' \
			rdmatool -n xt-guest -jd mw show dev xt2
		let_go
	else
		not_ok "objects of a container" "$(cat "$TOPO_TMP/err")"
	fi
	rdmatool -n xt-guest link del xt2
	ip netns del xt-guest
	kill $owner
	wait $owner 2>/dev/null
}

# addresses_for UID all|none - of 500 MRs, root reading on what UID has asked for
addresses_for() {
	local told seen late
	read -r told seen late < <(python3 ./asker.py xt0 "$1")
	echo "$told MRs, $seen addresses, $late of them later"
	[ "$told" -ge 500 ] || return
	if [ "$2" = none ]; then
		[ "$seen" = 0 ]
	else
		[ "$seen" = "$told" ] && [ "$late" -gt 0 ]
	fi
}

test_asker() {
	dev=xt0
	hold mrs 500 || { not_ok "500 MRs" "$(cat "$TOPO_TMP/err")"; return; }
	try "who may sees the addresses of 500 MRs" addresses_for 0 all
	try "who may not gets none, even if root reads on" addresses_for 65534 none
	let_go
}

# all_in FILE - of the QPs that stay; else some that are not
all_in() {
	held qp | sort | comm -23 - <(sort "$1") | head -n 3 >"$TOPO_TMP/missing"
	cat "$TOPO_TMP/missing"
	[ ! -s "$TOPO_TMP/missing" ]
}

# Complete, none twice: COMMAND... lists QPNs as JSON
complete_table() {
	"$@" >"$TOPO_TMP/table" || return 1
	jq -r '.[] | select(.lqpn) | .lqpn' "$TOPO_TMP/table" | sort -n >"$TOPO_TMP/got"
	uniq -d "$TOPO_TMP/got" | head -n 3
	[ -z "$(uniq -d "$TOPO_TMP/got")" ] || return 1
	all_in "$TOPO_TMP/got" && [ "$(wc -l <"$TOPO_TMP/got")" -ge "$STABLE" ]
}

with_state() {
	complete_table rdmatool -jd qp show dev xt0 type RC || return
	jq -r '.[] | select(.lqpn and ."sq-depth") | .lqpn' "$TOPO_TMP/table" >"$TOPO_TMP/got"
	[ -s "$TOPO_TMP/got" ] && all_in "$TOPO_TMP/got"
}

test_many() {
	local i
	dev=xt0
	hold qps "$STABLE" "$CHANGING" ||
		{ not_ok "$STABLE QPs" "$(cat "$TOPO_TMP/err")"; return; }
	ok "$STABLE QPs, $CHANGING that come and go"
	for i in 1 2; do
		try "a show of all is complete, none twice ($i)" complete_table \
			rdmatool -j qp show dev xt0 type RC
	done
	try "with the module's own state" with_state
	json "one of them" "$(held qp | tail -n 1)" '.[0].lqpn' \
		rdmatool -j qp show dev xt0 lqpn "$(held qp | tail -n 1)"
	let_go
	json "all are gone" 0 length rdmatool -j qp show dev xt0 type RC
}

test_rxe() {
	rdmatool link del xt0
	modprobe rdma_rxe || { not_ok "rdma_rxe" "no module"; return; }
	dev=xt9
	rdma link add xt9 type rxe netdev xt-a
	wait_for 20 has_gid "" xt9 $addr
	objects
	json "no windows that the kernel does not tell of" '[]' . \
		rdmatool -j mw show dev xt9
	let_go
	rdma link del xt9
	rmmod rdma_rxe
}

ip link add xt-a type veth peer name xt-b
ip link set xt-a up
ip link set xt-b up
test_xroce
test_guest
test_asker
test_many
test_rxe
tap_end
