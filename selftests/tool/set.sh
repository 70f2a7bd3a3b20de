#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# rdmatool dev, steer, tune and stat --watch; and how commands are given: from a
# file, in another namespace, with colours. Good, bad and hostile arguments.
#
#   xt0 over the veth xt-a, whose peer xt-b is in the namespace xt-ns

# Some functions are called by try alone.
# shellcheck disable=SC2317

cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ../lib/says.sh
. ../lib/hold.sh

topo_need rdmatool rdma jq setpriv ping bpftool
modprobe xroce || skip_all "no module xroce"

end() {
	local status=$?
	ip netns del xt-ns 2>/dev/null
	ip link del xt-a 2>/dev/null
	rm -rf "$TOPO_TMP"
	exit "$status"
}
trap end EXIT

last=$(($(nproc) - 1))
pins() { echo "/sys/fs/bpf/xroce/$1@$(stat -L -c %i /proc/self/ns/net)"; }

test_dev() {
	json "dev" '["xt0","ca","roce"]' '.[0] | [.ifname, .node_type, .protocol]' \
		rdmatool -j dev show xt0
	json "its details" '["off",1]' '.[0] | [."adaptive-moderation", .ports]' \
		rdmatool -jd dev show xt0
	try "as rdma has it" same_as_rdma
	try "renamed" rdmatool dev rename xt0 xt8
	json "by that name" xt8 '.[0].ifname' rdma -j dev show xt8
	says "and its link" 'xt8/1 .* xdp native' rdmatool link show xt8
	try "its pins too" test -e "$(pins xt8)/xroce_stats"
	try "no others are left" test ! -e "$(pins xt0)"
	refuses 1 'no RDMA device "xt0"' rdmatool dev rename xt0 xt8
	refuses 2 'NAME and NEWNAME expected' rdmatool dev rename xt8
	refuses 2 'no % and no /' rdmatool dev rename xt8 a/b
	refuses 2 'no % and no /' rdmatool dev rename xt8 xt%d
	refuses 2 '1 to 63 characters' rdmatool dev rename xt8 ''
	refuses 2 '1 to 63 characters' \
		rdmatool dev rename xt8 "$(printf 'x%.0s' {1..64})"
	refuses 1 'not permitted' setpriv --reuid 65534 --clear-groups \
		rdmatool dev rename xt8 xt0
	try "renamed again" rdmatool dev rename xt8 xt0
	refuses 1 'no network namespace "none"' rdmatool dev move xt0 none
	refuses 1 'no network namespace "../x"' rdmatool dev move xt0 ../x
	refuses 2 'NAME and NETNS expected' rdmatool dev move xt0
}

same_as_rdma() {
	rdma -j dev show xt0 | jq -cS '.[0] | {node_guid, sys_image_guid, node_type, fw}' \
		>"$TOPO_TMP/theirs"
	rdmatool -j dev show xt0 | jq -cS '.[0] | {node_guid, sys_image_guid, node_type, fw}' \
		>"$TOPO_TMP/ours"
	diff "$TOPO_TMP/theirs" "$TOPO_TMP/ours"
}

test_status() {
	json "link status: a device with a link" \
		'["up","veth",10000,1500,"xt0",1024,"native","198.18.9.1"]' \
		'.[] | select(.netdev == "xt-a") | [.state, .driver, .speed, .mtu,
			.ifname, .roce_mtu, .xdp, .addresses]' \
		rdmatool -j link status
	json "and one without" '["down",null]' \
		'.[] | select(.netdev == "xt-d") | [.state, .ifname]' \
		rdmatool -j link status
	says "in columns" '^xt-a +up +veth +10000 +- +1500 +xt0 +1024 +native +198' \
		rdmatool link status
	says "with a head" '^NETDEV +STATE +DRIVER' rdmatool link status
	json "link show -d has these, too" \
		'["veth",10000,"198.18.9.1",1024,"native",true]' \
		'.[0] | [.driver, .speed, .addresses, .roce_mtu, .xdp, (.prog > 0)]' \
		rdmatool -jd link show xt0
	refuses 2 'no argument expected' rdmatool link status xt0
}

besides() {
	rdmatool -j check | jq -c '.[] | select(.check == "adapter") | [.status, .on, .text]' |
		tee /dev/stderr | grep -q '^\["warn","xt-a","xt9 speaks RoCE here too:'
}

# A link works where its netdev is: one that was moved alone can be deleted, or
# moved back
test_move() {
	ip link add xt-c type veth peer name xt-e
	ip link set xt-c up
	try "a device to be moved" rdmatool link add xt9 netdev xt-c xdp native
	try "moved" rdmatool dev move xt9 xt-ns
	refuses 1 'no RDMA device "xt9"' rdmatool dev show xt9
	json "it is there" xt9 '.[0].ifname' rdmatool -n xt-ns -j dev show xt9
	touch /run/netns/xt-init
	mount --bind /proc/1/ns/net /run/netns/xt-init
	try "moved back" rdmatool -n xt-ns dev move xt9 xt-init
	umount /run/netns/xt-init
	rm /run/netns/xt-init
	says "it is a link again" 'xt9/1 .* netdev xt-c .* xdp native' \
		rdmatool link show xt9
	rdmatool dev move xt9 xt-ns
	try "deleted where it is" rdmatool -n xt-ns link del xt9
	json "nothing is left of it" '[]' '[.[] | select(.ifname == "xt9")]' \
		rdmatool -j link status
	ip link del xt-c
	modprobe rdma_rxe || { not_ok "rdma_rxe" "no module"; return; }
	ip link add xt-c type dummy
	ip link set xt-c up
	rdmatool link add xt9 type rxe netdev xt-c
	json "a status knows devices of other kinds" xt9 \
		'.[] | select(.netdev == "xt-c") | .ifname' rdmatool -j link status
	rdmatool link del xt9
	ip link del xt-c
	try "one over the netdev of a link" rdmatool link add xt9 type rxe netdev xt-a
	try "check names what speaks RoCE besides" besides
	rdmatool link del xt9
	rmmod rdma_rxe
}

test_steer() {
	try "steer set" rdmatool steer set xt0 "0-$last"
	json "steer show" "[\"xt0\",\"$want\",\"native\"]" \
		'.[0] | [.ifname, .steer, .xdp]' rdmatool -j steer
	says "as text" "^dev xt0 steer $want xdp native" rdmatool steer show xt0
	rdmatool link set xt0 xdp generic
	says "generic XDP does not steer, which is said" 'stay where they are' \
		rdmatool steer show xt0
	rdmatool link set xt0 xdp native
	try "steer off" rdmatool steer set xt0 off
	json "steer show" off '.[0].steer' rdmatool -j steer show xt0
	refuses 2 'NAME and CPUS or off expected' rdmatool steer set xt0
	refuses 2 'not a list of CPUs' rdmatool steer set xt0 all
	refuses 1 'no RDMA device' rdmatool steer set none 0
	refuses 1 'no RDMA device' rdmatool steer show none
}

tuned() {
	rdmatool -j tune show xt0 | jq -c '[.[] | .value]'
}

test_tune() {
	json "keys with units, ranges and defaults" \
		'["cwnd-init","packets",4,32767,64,64]' \
		'.[0] | [.key, .unit, .min, .max, .default, .value]' \
		rdmatool -jd tune show xt0
	try "tune set" rdmatool tune set xt0 cwnd-init 16 cwnd-max 128 cnp-gap 0
	says "shown" '^\[16,128,0\]$' tuned
	says "as text" '^dev xt0 cwnd-init 16 packets default 64$' rdmatool tune
	try "with the default" rdmatool tune set xt0 cwnd-init 64
	says "that is not named" '^dev xt0 cwnd-init 64 packets$' rdmatool tune
	says "the others stay" '^\[64,128,0\]$' tuned
	refuses 2 'cwnd-init: 4 packets at least' rdmatool tune set xt0 cwnd-init 3
	refuses 2 'cwnd-max: "32768" is not a number from 0 to 32767' \
		rdmatool tune set xt0 cwnd-max 32768
	refuses 2 'cnp-gap: "1000000001"' rdmatool tune set xt0 cnp-gap 1000000001
	refuses 2 'unknown argument "colour"' rdmatool tune set xt0 colour 1
	refuses 2 'cwnd-init needs a value' rdmatool tune set xt0 cwnd-init
	refuses 2 'KEY VALUE expected' rdmatool tune set xt0
	refuses 1 'no RDMA device' rdmatool tune set none cwnd-init 64
	refuses 1 'not permitted' setpriv --reuid 65534 --clear-groups \
		rdmatool tune set xt0 cwnd-init 64
	says "nothing was set by these" '^\[64,128,0\]$' tuned
	try "back" rdmatool tune set xt0 cwnd-max 1024 cnp-gap 50000
}

test_watch() {
	rdmatool -j stat show xt0 --watch 1 -c 3 >"$TOPO_TMP/watch" &
	watcher=$!
	sleep 0.5
	for _ in {1..20}; do
		# what is not ours is counted where it is dropped
		in_ns xt-ns bash -c 'echo x >/dev/udp/198.18.9.1/4791'
		sleep 0.1
	done
	wait "$watcher"
	try "--watch ends after -c" test $? = 0
	json "a row each second, with rates" '[3,true,true]' \
		'[length, all(.[]; .ifname == "xt0" and (.time | test("^20..-"))),
		  any(.[]; .xdp_drop_short > 0.9)]' cat "$TOPO_TMP/watch"
	rdmatool stat --watch -t 4 >"$TOPO_TMP/watch"
	try "-t ends it" test $? = 0
	says "as text" '^20..-.* link xt0/1' cat "$TOPO_TMP/watch"
	refuses 2 '--watch 1 at least' rdmatool stat show --watch 0
	refuses 2 'for --watch' rdmatool stat show xt0 -c 1
	refuses 2 '"--look"' rdmatool stat show --look
	refuses 2 '"two"' rdmatool stat show xt0 two
	refuses 1 'no RDMA device' rdmatool stat show none --watch
}

test_batch() {
	cat >"$TOPO_TMP/b" <<-'EOF'
	# comments, and blank lines

	link show xt0	# one
	tune set "xt0" cwnd-'init' 3\2
	steer show xt0
	EOF
	says "a batch" '^dev xt0 steer off' rdmatool -b "$TOPO_TMP/b"
	says "its words" '^\[32,' tuned
	json "as JSON, a document each" '["xt0","xt0"]' '.' \
		bash -c "rdmatool -j -b $TOPO_TMP/b | jq -c '.[0].ifname' | jq -sc ."
	says "from standard input" '^dev xt0 key|^dev xt0 cwnd-init 32' \
		bash -c 'echo tune | rdmatool -b -'
	printf 'link show none\ntune set xt0 cwnd-init 33\n' >"$TOPO_TMP/b"
	out=$(rdmatool -b "$TOPO_TMP/b" 2>&1)
	[ $? = 1 ] && grep -q "/b:1: the command failed" <<<"$out" &&
		ok "a line that fails ends it" ||
		not_ok "a line that fails ends it" "$out"
	says "there" '^\[32,' tuned
	out=$(rdmatool -f -b "$TOPO_TMP/b" 2>&1)
	[ $? = 1 ] && ok "but with -f, the status is the same" ||
		not_ok "but with -f, the status is the same" "$out"
	says "though it goes on" '^\[33,' tuned
	printf 'lnk\n' >"$TOPO_TMP/b"
	out=$(rdmatool -b "$TOPO_TMP/b" 2>&1)
	[ $? = 2 ] && ok "a line that makes no sense" ||
		not_ok "a line that makes no sense" "$out"
	printf 'link "show\n' >"$TOPO_TMP/b"
	out=$(rdmatool -b "$TOPO_TMP/b" 2>&1)
	[ $? = 2 ] && grep -q 'b:1: a quote is not closed' <<<"$out" &&
		ok "an open quote" || not_ok "an open quote" "$out"
	refuses 1 'No such file' rdmatool -b /nonesuch
	refuses 1 'Is a directory' rdmatool -b /
	head -c 20000 /dev/urandom >"$TOPO_TMP/b"
	rdmatool -f -b "$TOPO_TMP/b" >/dev/null 2>&1
	try "garbage is refused calmly" test $? -le 2
	rdmatool tune set xt0 cwnd-init 64
}

test_netns() {
	says "in another namespace" '^$' rdmatool -n xt-ns link
	try "a link there" rdmatool -n xt-ns link add xt1 netdev xt-b
	says "is there" '^link xt1/1 .* netdev xt-b' rdmatool -n xt-ns link
	json "with its GIDs" true 'length > 0' rdmatool -n xt-ns -j gid show xt1
	refuses 1 'no RDMA device "xt1"' rdmatool link show xt1
	try "and goes" rdmatool -n xt-ns link del xt1
	refuses 2 'no network namespace "none"' rdmatool -n none link
	refuses 2 'no network namespace "../../etc/passwd"' \
		rdmatool -n ../../etc/passwd link
	refuses 1 'not permitted' setpriv --reuid 65534 --clear-groups \
		rdmatool -n xt-ns link
}

# Two devices of one name in two namespaces, where the kernel has that; each has
# its own program, pins and counters
test_same_name() {
	local there
	there=/sys/fs/bpf/xroce/xt0@$(stat -L -c %i /run/netns/xt-ns)
	if ! newer_than 7.2; then
		refuses 1 'already|exist' rdmatool -n xt-ns link add xt0 netdev xt-b
		return
	fi
	try "a link of the same name" rdmatool -n xt-ns link add xt0 netdev xt-b xdp native
	json "one here" xt-a '.[0].netdev' rdmatool -j link show xt0
	json "one there" xt-b '.[0].netdev' rdmatool -n xt-ns -j link show xt0
	try "each has its pins" test -e "$(pins xt0)/xroce_stats" -a \
		-e "$there/xroce_stats"
	try "of maps of its own" differ bpftool -j map show pinned \
		"$(pins xt0)/xroce_stats" -- bpftool -j map show pinned "$there/xroce_stats"
	try "tuned there" rdmatool -n xt-ns tune set xt0 cwnd-init 32
	says "and not here" '^\[64,' tuned
	try "it goes" rdmatool -n xt-ns link del xt0
	try "its pins too" test ! -e "$there"
	try "not this one's" test -e "$(pins xt0)/xroce_stats"
	says "which stays" '^link xt0/1 .* netdev xt-a .* xdp native' rdmatool link show xt0
}

# newer_than VERSION - is the kernel
newer_than() {
	[ "$(printf '%s\n' "$1.999" "$(uname -r)" | sort -V | head -n 1)" = "$1.999" ]
}

# differ COMMAND... -- COMMAND... - do these say something each, and not the same
differ() {
	local first=()
	while [ "$1" != -- ]; do
		first+=("$1")
		shift
	done
	shift
	first=("$("${first[@]}" | jq .id)")
	set -- "$("$@" | jq .id)"
	echo "${first[0]} $1"
	[ -n "${first[0]}" ] && [ -n "$1" ] && [ "${first[0]}" != "$1" ]
}

# nobody COMMAND... - a user without any capability, in the namespace of a link
nobody() {
	ip netns exec xt-ns setpriv --reuid 65534 --clear-groups --bounding-set -all "$@"
}

# Who is nobody in a namespace reads what there is in it and changes nothing
test_nobody() {
	local kind now before unpriv listener dev=xt1 addr=198.18.9.2 holds_in=xt-ns
	rdmatool -n xt-ns link add xt1 netdev xt-b xdp native
	wait_for 20 has_gid xt-ns xt1 "$addr"
	hold objects || { not_ok "objects" "$(cat "$TOPO_TMP/err")"; return; }
	bg xt-ns rping -s -a "$addr" -C 1 >"$TOPO_TMP/rping" 2>&1
	listener=$!
	wait_for 20 eval 'rdmatool -n xt-ns -j cm_id | jq -e ".[0]"'
	for kind in link dev gid qp cq pd stat steer tune mr mw srq ctx cm_id ah; do
		json "nobody reads: $kind" true 'length > 0 and all(.[]; .ifname == "xt1")' \
			nobody rdmatool -j "$kind"
	done
	bg_end "$listener" || :
	let_go
	json "nobody reads: stat qp" xt1 '.[0].ifname' nobody rdmatool -j stat qp
	json "nobody reads: link status" xt1 '.[] | select(.netdev == "xt-b") | .ifname' \
		nobody rdmatool -j link status
	before=$(whole xt1)
	while read -r -a now; do
		refuses 1 'not permitted|ermission denied|CAP_' nobody rdmatool "${now[@]}"
	done <<-'EOF'
	link add xt2 netdev xt-b
	link set xt1 xdp off
	link set xt1 steer off
	link set xt1 policy off
	link del xt1
	gid add xt1 198.18.9.7/24
	gid del xt1 198.18.9.2
	dev rename xt1 xt2
	dev move xt1 xt-ns
	steer set xt1 off
	tune set xt1 cwnd-init 32
	qp set dev xt1 lqpn 1 steer off
	capture xt1 -c 1
	EOF
	unpriv=$(sysctl -n kernel.unprivileged_bpf_disabled)
	sysctl -qw kernel.unprivileged_bpf_disabled=0
	refuses 1 'CAP_SYS_ADMIN' nobody rdmatool capture xt1 -c 1
	sysctl -qw kernel.unprivileged_bpf_disabled="$unpriv"
	out=$(whole xt1)
	[ "$out" = "$before" ] && ok "nothing has changed" ||
		not_ok "nothing has changed" "$out, not $before"
	rdmatool -n xt-ns link del xt1
}

# All of a link that can be set
whole() {
	rdmatool -n xt-ns -jd link show "$1" | jq -cS .
	rdmatool -n xt-ns -j gid show "$1" | jq -cS .
	rdmatool -n xt-ns -j tune show "$1" | jq -cS .
}

test_color() {
	local esc=$'\e'
	says "colours" "link ${esc}\[36mxt0/1${esc}\[0m state ${esc}\[32mACTIVE" \
		rdmatool -c link show xt0
	says "auto is none where there is no terminal" '^link xt0/1 state' \
		rdmatool -c=auto link show xt0
	says "never" '^link xt0/1 state' rdmatool --color=never link show xt0
	says "a terminal has them" "${esc}\[36m" \
		script -qec 'rdmatool -c=auto link show xt0' /dev/null
	json "none in JSON" xt0 '.[0].ifname' rdmatool -c -j link show xt0
	refuses 2 'always, auto or never expected' rdmatool -c=blue link
}

mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf
# only while there is no other namespace
wait_for 15 rdma system set netns exclusive || not_ok "RDMA's namespaces" "they stay shared"
ip netns add xt-ns
ip link add xt-a type veth peer name xt-b netns xt-ns
ip link set xt-a up
in_ns xt-ns ip link set xt-b up
in_ns xt-ns ip addr add 198.18.9.2/24 dev xt-b
ip addr add 198.18.9.1/24 dev xt-a
want=0
[ "$last" = 0 ] || want=0-$last
try "a link" rdmatool link add xt0 netdev xt-a xdp native
wait_for 20 ping -c 1 -W 1 198.18.9.2
ip link add xt-d type dummy
test_status
ip link del xt-d
test_dev
test_steer
test_tune
test_watch
test_batch
test_netns
test_same_name
test_nobody
test_color
rdmatool link del xt0
test_move
tap_end
