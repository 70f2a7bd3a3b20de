#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# rdmatool against the kernel: links, XDP, steering, GIDs, tables, counters, and
# what it says of mistakes; hostile requests to the module's netlink family; and
# that a deleted link leaves nothing that holds the module.
#
#   +------- h1 --------+      +------- h2 --------+
#   | xr1 - eth0        |------|        eth0 - xr2 |
#   +-------------------+      +-------------------+
#     198.18.1.1 fdc8::1        198.18.1.2 fdc8::2
#
# and in the first namespace xt0 over the veth xt-a, whose peer is xt-b.

# Some functions are called by try, says and wait_for alone.
# shellcheck disable=SC2317

cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ../lib/says.sh

topo_need rdmatool python3 jq bpftool ibv_rc_pingpong setpriv unshare
modprobe xroce || skip_all "no module xroce"

progs() {
	bpftool -j prog show | jq '[.[] | select(.name == "xroce")] | length'
}

# Where the maps of xt0 are pinned, and the id of one
pins() { echo "/sys/fs/bpf/xroce/xt0@$(stat -L -c %i /proc/self/ns/net)"; }
pinned() { bpftool -j map show pinned "$(pins)/xroce_stats" | jq .id; }

# The program's last reference goes by RCU and a work item
no_progs() { [ "$(progs)" = 0 ]; }
one_prog() { [ "$(progs)" = 1 ]; }
removed() { rmmod xroce 2>/dev/null || ! [ -e /sys/module/xroce ]; }

# A program that is not ours on xt-a
other_xdp() {
	ip link set dev xt-a xdpgeneric obj ../lib/xdp_pass.bpf.o sec xdp.frags
}

test_usage() {
	refuses 2 'unknown object "lnk": link, dev, gid, .* or check expected' \
		rdmatool lnk
	refuses 2 'unknown command "frob": show, .* or status expected' \
		rdmatool link frob
	refuses 2 'command "s" may be show, set, save or status' rdmatool link s
	refuses 2 'NAME expected' rdmatool link add
	refuses 2 'netdev expected' rdmatool link add x
	refuses 2 'netdev needs a value' rdmatool link add x netdev
	refuses 2 'netdev is given twice' rdmatool link add x netdev a netdev b
	refuses 2 'unknown argument "dev": netdev, type or xdp expected' \
		rdmatool link add x dev a
	refuses 2 'off, generic, native or auto expected' \
		rdmatool link add x netdev xt-a xdp maybe
	refuses 2 '1 to 63 characters' \
		rdmatool link add "$(printf 'x%.0s' {1..64})" netdev xt-a
	refuses 2 'no % and no /' rdmatool link add x/y netdev xt-a
	refuses 2 'xdp is for type xroce' \
		rdmatool link add x netdev xt-a type rxe xdp off
	refuses 2 'xdp, steer or policy expected' rdmatool link set xt0
	refuses 2 'is not an IPv4 or IPv6 address' rdmatool gid add xt0 1.2.3
	refuses 2 'is not a number from 0 to 32' rdmatool gid add xt0 1.2.3.4/33
	refuses 2 'unknown argument "colour"' rdmatool qp show colour blue
	refuses 2 'one FILE expected' rdmatool decode
	says "help" '^usage: rdmatool' rdmatool help
	says "the version" '^rdmatool, xroce [0-9]' rdmatool -V
}

test_link() {
	local cmd
	refuses 1 'no network device "xt-z"' rdmatool link add xt0 netdev xt-z
	refuses 1 'not an Ethernet device' rdmatool link add xt0 netdev lo
	try "a link by default" rdmatool link add xt0 netdev xt-a
	json "it runs with native XDP" '["xt-a","ACTIVE",1500,1024,"native",true]' \
		'[.[0] | .netdev, .state, .mtu, .roce_mtu, .xdp, (.prog > 0)]' \
		rdmatool -j link show xt0
	says "as text" '^link xt0/1 state ACTIVE .* netdev xt-a .* xdp native prog' \
		rdmatool link
	says "words may be short" '^link xt0/1 ' rdmatool l sh xt0
	for cmd in link dev gid steer tune stat; do
		says "show need not be said: $cmd" 'xt0(/1)?( |$)' rdmatool "$cmd" xt0
	done
	says "nor before a filter" '^link xt0/1 lqpn 1 type GSI' \
		rdmatool qp dev xt0 lqpn 1
	says "a device as it is shown" '^link xt0/1 ' rdmatool link xt0/1
	says "also after a command" '^link xt0/1 ' rdmatool link show xt0/1
	says "and in a filter" '^link xt0/1 lqpn 1 ' rdmatool qp show link xt0/1 lqpn 1
	refuses 1 'no RDMA device "xt0/2"' rdmatool link show xt0/2
	says "the standard tool sees it" 'xt0/1 state ACTIVE' rdma link show
	try "its maps are pinned" test -e "$(pins)/xroce_stats"
	json "where it says" "$(pins)" '.[0].pinned' rdmatool -dj link show xt0
	refuses 1 'already' rdmatool link add xt1 netdev xt-a
	refuses 1 "is an RDMA device's already" rdmatool link add xt0 netdev xt-b
	refuses 1 'no RDMA device "none"' rdmatool link show none
	refuses 1 'no RDMA device "none"' rdmatool link del none
	refuses 1 'no RDMA device "none"' rdmatool link set none xdp off
}

test_xdp() {
	local out mode
	for mode in generic native off; do
		try "xdp $mode" rdmatool link set xt0 xdp $mode
		says "the kernel says so too" "^$mode$" xdp_mode "" xt-a
		json "and so does the link" $mode '.[0].xdp' \
			rdmatool -j link show xt0
	done
	says "without XDP it says how to mend that" \
		'runs without XDP.*rdmatool link set xt0 xdp auto' \
		rdmatool link show xt0
	says "which is right" '^$' rdmatool link set xt0 xdp auto
	try "the program goes when detached" wait_for 10 one_prog
	rdmatool link set xt0 xdp off
	try "and is gone" wait_for 10 no_progs

	other_xdp
	refuses 1 'xdp native: .*xt-a has another XDP program' \
		rdmatool link set xt0 xdp native
	says "xdp auto says what it did and why" \
		'xdp off \(not native: .*another XDP program; not generic: ' \
		rdmatool link set xt0 xdp auto
	says "the other program was left alone" '^generic$' xdp_mode "" xt-a
	ip link set dev xt-a xdpgeneric off
	rdmatool link set xt0 xdp auto
	bpftool link detach id "$(rdmatool -dj link show xt0 | jq '.[0].bpf_link')"
	says "detached by another: the link knows" 'xdp off' rdmatool link show xt0
	try "and takes a new one" rdmatool link set xt0 xdp native
	says "native again" 'xdp native' rdmatool link show xt0

	rdmatool link del xt0
	other_xdp
	refuses 1 'another XDP program' rdmatool link add xt0 netdev xt-a xdp native
	json "and no link was made" '[]' '[.[] | select(.ifname == "xt0")]' \
		rdmatool -j link
	ip link set dev xt-a xdpgeneric off
	try "a link without XDP" rdmatool link add xt0 netdev xt-a xdp off
	refuses 1 'the link runs without' rdmatool link set xt0 steer 0
	rdmatool link set xt0 xdp native
}

test_steer() {
	local all=0
	[ "$(nproc)" = 1 ] || all=0-$(($(nproc) - 1))
	try "steering to all CPUs" rdmatool link set xt0 steer "$all"
	json "shown" "$all" '.[0].steer' rdmatool -j link show xt0
	refuses 1 'CPU 4096 is not of this machine' \
		rdmatool link set xt0 steer 4096
	local wrong mode
	for wrong in 0- '0;2' '0,' ',0' '0,,1' -1 0-1- 0x1; do
		refuses 2 'not a list of CPUs' rdmatool link set xt0 steer "$wrong"
	done
	refuses 2 'steer 0,3-1: 3-1 ends before it begins' \
		rdmatool link set xt0 steer 0,3-1
	json "the old list stands" "$all" '.[0].steer' \
		rdmatool -j link show xt0
	mode=$(rdmatool -j link show xt0 | jq -r '.[0].xdp')
	refuses 2 'xdp off: there is no steering without' \
		rdmatool link set xt0 xdp off steer 0
	refuses 2 'xdp off: there is no policy without' \
		rdmatool link set xt0 xdp off policy /dev/null
	refuses 1 'policy /none: No such file' rdmatool link set xt0 xdp generic policy /none
	json "nothing of that was done" "$mode" '.[0].xdp' rdmatool -j link show xt0
	try "a new program keeps it" rdmatool link set xt0 xdp generic
	json "shown" "$all" '.[0].steer' rdmatool -j link show xt0
	try "steering off" rdmatool link set xt0 steer off
	json "shown" 'null' '.[0].steer' rdmatool -j link show xt0
}

# sends_to CPU - does the program of h1's netdev know how; of those below 256
sends_to() {
	bpftool map lookup id "$(map_of "$(xdp_prog "$NS1" "$ETH1")" xroce_cpus)" key "$1" 0 0 0
}

has() { rdmatool -j gid show xt0 | jq -e ".[] | select(.gid == \"$1\")"; }
hasnt() { ! has "$1"; }

test_gid() {
	try "an IPv4 GID" rdmatool gid add xt0 198.18.7.1/24
	try "is there" wait_for 10 has ::ffff:198.18.7.1
	try "as the netdev's address" grep -q 198.18.7.1/24 <(ip addr show xt-a)
	try "an IPv6 GID" rdmatool gid add xt0 fdc8:7::1
	try "is there" wait_for 10 has fdc8:7::1
	json "a GID's fields" '["xt0",1,"RoCEv2","xt-a"]' \
		'[.[] | select(.gid == "fdc8:7::1")][0] | [.ifname, .port, .type, .netdev]' \
		rdmatool -j gid show xt0
	refuses 1 'cannot add 198.18.7.1/24 to xt-a: .*exist' \
		rdmatool gid add xt0 198.18.7.1/24
	try "del, as gid show writes it" rdmatool gid del xt0 ::ffff:198.18.7.1
	try "del, IPv6" rdmatool gid del xt0 fdc8:7::1
	try "both are gone" wait_for 10 hasnt ::ffff:198.18.7.1
	try "both are gone" wait_for 10 hasnt fdc8:7::1
	refuses 1 '198.18.7.1 is not an address of xt-a' \
		rdmatool gid del xt0 198.18.7.1
	refuses 1 'no RDMA device' rdmatool gid add none 198.18.7.1
}

gid_index() {
	in_ns "$1" rdmatool -j gid show "$2" |
		jq ".[] | select(.gid == \"::ffff:$3\").index"
}

rts() {
	r1 rdmatool -j qp show dev "$RDMA1" type RC state RTS | jq -e '.[0].lqpn'
}

listening() { ip netns exec "$1" ss -Hltn "sport = $2" | grep -q .; }

# Tables while two programs talk
test_tables() {
	local g1 g2 qpn out cmd
	g1=$(gid_index "$RNS1" "$RDMA1" "$V4.1")
	g2=$(gid_index "$RNS2" "$RDMA2" "$V4.2")
	# Not by r1 and r2, whose pid would be a shell's
	ip netns exec "$RNS2" ibv_rc_pingpong -e -d "$RDMA2" -g "$g2" \
		-n 100000000 >/dev/null 2>&1 &
	topo_pids+=($!)
	wait_for 20 listening "$RNS2" 18515
	ip netns exec "$RNS1" ibv_rc_pingpong -e -d "$RDMA1" -g "$g1" \
		-n 100000000 "$V4.2" >"$TOPO_TMP/client" 2>&1 &
	topo_pids+=($!)
	if ! wait_for 20 rts; then
		not_ok "ibv_rc_pingpong runs" "$(tail -n 1 "$TOPO_TMP/client")"
		return
	fi
	qpn=$(rts)
	json "a QP" "[\"RC\",\"RTS\",\"::ffff:$V4.1\",\"::ffff:$V4.2\",1024,\"ibv_rc_pingpong\"]" \
		'.[0] | [.type, .state, .src, .dst, .mtu, .comm]' \
		r1 rdmatool -j qp show dev "$RDMA1" lqpn "$qpn"
	json "its details" 'true' \
		'.[0] | .cwnd > 0 and .["rq-depth"] >= 500 and .epsn >= 0
		 and .["timeout-ns"] > 0 and .["retry-cnt"] == 7
		 and .error == "none" and .["error-nak"] == "0"' \
		r1 rdmatool -jd qp show lqpn "$qpn"
	json "the peer's QP has its number" "$qpn" '.[0].rqpn' \
		r2 rdmatool -j qp show dev "$RDMA2"
	# and QP 1, which is the kernel's
	json "filters: a range" 2 length \
		r1 rdmatool -j qp show lqpn "1,$((qpn - 1))-$((qpn + 1))"
	json "filters: an address" 1 length \
		r1 rdmatool -j qp show dst "$V4.2" comm ibv_rc_pingpong
	json "filters: none fits" 0 length r1 rdmatool -j qp show state INIT
	json "another namespace's are not shown" 0 length \
		r2 rdmatool -j qp show dev "$RDMA2" lqpn "$qpn"
	completes() {
		r1 rdmatool -jd cq show dev "$RDMA1" | jq -e \
			'map(select(.comm != "[ib_core]"))[0].completions > 0'
	}
	wait_for 20 completes >/dev/null
	json "a CQ" '["ibv_rc_pingpong",true,0]' \
		'map(select(.comm != "[ib_core]"))[0] |
		 [.comm, .completions > 0, .overrun]' \
		r1 rdmatool -jd cq show dev "$RDMA1"
	json "an MR" '[4096,true,true,1]' \
		'.[0] | [.mrlen, (.rkey | startswith("0x")), (.iova | startswith("0x")), .valid]' \
		r1 rdmatool -jd mr show dev "$RDMA1"
	# What is left to see does not change any more
	kill -STOP "${topo_pids[@]}"
	json "the module's counters" true '.[0].sent_pkts > 0' \
		r1 rdmatool -j stat show "$RDMA1"
	says "what they mean" 'sent_pkts [1-9].*\(packets handed to the network device\)' \
		r1 rdmatool -d stat show "$RDMA1"
	if [ "$XROCE_XDP" != off ]; then
		json "the XDP program's counters" true \
			'.[0] | [to_entries[] | select(.key | startswith("xdp_")).value] | add > 0' \
			r1 rdmatool -j stat show "$RDMA1"
		try "steering one QP" r1 rdmatool qp set dev "$RDMA1" \
			lqpn "$qpn" steer 0x0
		json "shown" 0 '.[0]["steer-cpu"]' \
			r1 rdmatool -j qp show lqpn "$qpn"
		# and stays so for a program that comes after
		try "XDP off and on" eval 'r1 rdmatool link set "$RDMA1" xdp off &&
			r1 rdmatool link set "$RDMA1" xdp "$XROCE_XDP"'
		try "the new program sends to its CPU, too" sends_to 0
		try "its link decides again" r1 rdmatool qp set \
			dev "$RDMA1" lqpn "$qpn" steer off
		json "shown" null '.[0]["steer-cpu"]' \
			r1 rdmatool -j qp show lqpn "$qpn"
	fi
	for cmd in link gid qp cq mr stat; do
		r1 rdmatool -jpd $cmd >"$TOPO_TMP/json"
		try "pretty JSON, $cmd" python3 -m json.tool "$TOPO_TMP/json"
		says "text, $cmd" "$RDMA1" r1 rdmatool -d $cmd
	done
	kill -KILL "${topo_pids[@]}"
	wait "${topo_pids[@]}" 2>/dev/null
	topo_pids=()
	json "a dead program's QPs are gone" 0 length \
		r1 rdmatool -j qp show dev "$RDMA1" type RC
}

# Every name may hold anything, and no argument may kill the tool
# shellcheck disable=SC1003
test_hostile() {
	local a status out
	for a in '' ' ' '%s%n' $'\e[31m' $'a\nb' $'\xff\xfe' '"' '\' '../..' \
		 '-' '--' "$(printf 'A%.0s' {1..5000})"; do
		for out in "link del" "link add" "gid add xt0" "qp show lqpn" \
			   "stat show" "decode" ""; do
			# shellcheck disable=SC2086
			rdmatool -j $out "$a" >"$TOPO_TMP/out" 2>"$TOPO_TMP/err" </dev/null
			status=$?
			[ $status -le 2 ] || break 2
			[ ! -s "$TOPO_TMP/out" ] ||
				jq . <"$TOPO_TMP/out" >/dev/null 2>&1 ||
				{ status=json; break 2; }
			! grep -q $'\e' "$TOPO_TMP/err" || { status=esc; break 2; }
		done
	done
	case $status in
	[012])	ok "no argument is too strange" ;;
	*)	not_ok "no argument is too strange" "$out $a: $status" ;;
	esac
}

lines() {
	local line
	while IFS= read -r line; do
		case $line in
		'ok '*)		ok "netlink: ${line#ok }" ;;
		'not ok '*)	line=${line#not ok }
				not_ok "netlink: ${line%% \# *}" "${line#* \# }" ;;
		*)		echo "# $line" ;;
		esac
	done
}

# As the root of a user namespace of one's own, who has a netdev there
in_own_ns() {
	unshare -rn sh -c 'ip link add xt-c type veth && exec "$@"' - "$@"
}

# as_guest NETDEV COMMAND... - the same with a netdev of the host's, and a link xt2 on it
as_guest() {
	local holder status
	unshare -rn sleep 100 &
	holder=$!
	# it has its namespaces, and is who it is to be there
	wait_for 10 grep -q '^sleep$' "/proc/$holder/comm"
	ip link set "$1" netns $holder &&
		nsenter -n -t $holder rdmatool link add xt2 netdev "$1" &&
		nsenter -U -n -t $holder --preserve-credentials "${@:2}"
	status=$?
	nsenter -n -t $holder rdmatool link del xt2
	nsenter -n -t $holder ip link set "$1" netns $$
	kill $holder
	wait $holder 2>/dev/null
	return $status
}

test_netlink() {
	local ifindex
	ifindex=$(cat /sys/class/net/xt-a/ifindex)
	lines < <(python3 netlink.py xt0 "$ifindex" 2>&1 ||
		  echo "not ok netlink.py # died")
	lines < <(setpriv --reuid 65534 --clear-groups \
			python3 netlink.py xt0 "$ifindex" 2>&1 ||
		  echo "not ok netlink.py as nobody # died")
	ip link add xt-g type veth peer name xt-h
	lines < <(as_guest xt-g python3 netlink.py xt2 "$(cat /sys/class/net/xt-g/ifindex)" guest 2>&1 ||
		  echo "not ok netlink.py as a guest # died")
	ip link del xt-g
	lines < <(python3 fuzz.py xt0 "$ifindex" 2>&1 ||
		  echo "not ok fuzz.py # died")
	says "nobody may look" 'xt0/1' \
		setpriv --reuid 65534 --clear-groups rdmatool link
	refuses 1 'not permitted' setpriv --reuid 65534 --clear-groups \
		rdmatool link add xt1 netdev xt-b
	# Its devices would have names, and be seen, outside
	refuses 1 'not permitted' in_own_ns rdmatool link add xt1 netdev xt-c
	refuses 1 'not permitted' setpriv --reuid 65534 --clear-groups \
		rdmatool link del xt0
}

test_other_type() {
	modprobe rdma_rxe 2>/dev/null || {
		skip "a link of rdma_rxe" "no rdma_rxe"
		return
	}
	try "a link of rdma_rxe" rdmatool link add xt9 type rxe netdev xt-b
	says "shown" '^link xt9/1 state ACTIVE .* netdev xt-b' \
		rdmatool link show xt9
	json "its QPs" true 'length >= 1' rdmatool -jd qp show dev xt9
	json "its counters" xt9 '.[0].ifname' rdmatool -jd stat show xt9
	json "its GIDs" true 'length >= 1' rdmatool -j gid show xt9
	refuses 1 'not a link of type xroce' rdmatool link set xt9 xdp off
	try "deleted" rdmatool link del xt9
	refuses 1 'xt9: ' rdmatool link add xt9 type nonesuch netdev xt-b
	rmmod rdma_rxe
}

# A link with XDP that this deletes leaves nothing that holds the module
test_leaves_nothing() {
	local by=$1
	modprobe xroce
	ip link del xt-a 2>/dev/null
	ip link add xt-a type veth peer name xt-b
	ip link set xt-a up
	ip link set xt-b up
	rdmatool link add xt0 netdev xt-a xdp native || {
		not_ok "$*: a link"
		return
	}
	json "$by: what is pinned is its own" true ".map_ids | index($(pinned))>=0" \
		bpftool -j prog show id \
		"$(rdmatool -j link show xt0 | jq '.[0].prog')"
	refuses 1 'in use' rmmod xroce
	try "$*" "$@"
	says "$by: no link is left" '^$' rdmatool link
	try "$by: no program is left" wait_for 10 no_progs
	[ "$by" = ip ] || says "$by: XDP is off" '^off$' xdp_mode "" xt-a
	try "$by: the module goes" wait_for 10 removed
}

ip link add xt-a type veth peer name xt-b
ip link set xt-a up
ip link set xt-b up
mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf
test_usage
test_link
test_xdp
test_steer
test_gid
test_netlink
test_hostile
rdmatool link del xt0
test_other_type
topo_direct 1500
if rdma_up; then
	ok "links in two namespaces"
	test_tables
else
	not_ok "links in two namespaces"
fi
rdma_down
test_leaves_nothing rdmatool link del xt0
test_leaves_nothing rdma link del xt0
test_leaves_nothing ip link del xt-a
ip link del xt-a 2>/dev/null
modprobe xroce
tap_end
