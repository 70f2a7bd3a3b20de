#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# rdmatool check: that it finds what is right, and each thing that is made wrong
# on purpose, under its name and with what to do.
#
#   +------- h1 --------+      +------- h2 --------+
#   | xr1 - eth0        |------|        eth0 - xr2 |
#   +-------------------+      +-------------------+
#     198.18.1.1 fdc8::1        198.18.1.2 fdc8::2

# Some functions are called by try and finds alone.
# shellcheck disable=SC2317

cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
XROCE_XDP=native
. ../lib/topo.sh

topo_need rdmatool jq nft socat setpriv prlimit unshare
modprobe xroce || skip_all "no module xroce"

# finds NAME STATUS CHECK TEXT EXIT COMMAND... - a row of that status, whose text
# or advice has that in it; and that exit status
finds() {
	local name=$1 want=$2 check=$3 text=$4 exit=$5 out got=0
	shift 5
	out=$("$@" 2>"$TOPO_TMP/err") || got=$?
	jq -c '.[] | select(.status != "ok" and (.todo // "") == "")' <<<"$out" \
		>>"$TOPO_TMP/helpless"
	if jq -e --arg s "$want" --arg c "$check" --arg t "$text" \
		'any(.[]; .status == $s and .check == $c and
			  (.text + " -> " + (.todo // "") | contains($t)))' \
		<<<"$out" >/dev/null && [ "$got" = "$exit" ]; then
		ok "$name"
		return
	fi
	not_ok "$name" "exit status $got, not $exit, or no $want $check: $text"
	jq -c --arg c "$check" '.[] | select(.check == $c)' <<<"$out" |
		sed 's/^/# /'
	sed 's/^/# /' "$TOPO_TMP/err"
}

check1() { finds "$1" "$2" "$3" "$4" "$5" n1 rdmatool -j check "${@:6}"; }

# hidden DIRECTORY - check where that is empty
# shellcheck disable=SC2016
hidden() {
	n1 unshare -m --propagation private \
		bash -c 'mount -t tmpfs none "$1" && exec rdmatool -j check' - "$1"
}

# other_abi DIRECTORY - check where the only provider is another libibverbs'
# shellcheck disable=SC2016
other_abi() {
	n1 unshare -m --propagation private bash -c 'mount -t tmpfs none "$1" &&
		: >"$1/libxroce-rdmav99.so" && exec rdmatool -j check' - "$1"
}

gid0() { n1 rdmatool -j gid show "$RDMA1" | jq -r '.[] | select(.index == 0) | .gid'; }

all_ok() {
	local out
	out=$(n1 rdmatool -j check "$V4.2" "$V6:2") || { echo "$out"; return 1; }
	jq -c '.[] | select(.status != "ok")' <<<"$out"
	[ "$(jq '[.[] | select(.status != "ok")] | length' <<<"$out")" = 0 ] &&
		[ "$(jq 'length' <<<"$out")" -ge 14 ]
}

text_agrees() {
	local lines line
	n1 rdmatool check >"$TOPO_TMP/text"
	mapfile -t lines < <(n1 rdmatool -j check | jq -r '.[].text')
	[ ${#lines[@]} -ge 10 ] && [ ${#lines[@]} = "$(wc -l <"$TOPO_TMP/text")" ] ||
		{ echo "${#lines[@]} lines"; return 1; }
	for line in "${lines[@]}"; do
		grep -qF -- ": $line" "$TOPO_TMP/text" || { echo "$line"; return 1; }
	done
}

topo_direct 4500

# Before there is a link
rmmod xroce
check1 "module not loaded" warn module "modprobe xroce" 0
check1 "provider there" ok provider libxroce-rdmav 0
check1 "port free" ok port free 0
check1 "a driver with XDP" ok xdp "the driver has native XDP" 0
n1 ip link set dev eth0 down
n1 ip link set dev eth0 addrgenmode none
n1 ip addr flush dev eth0
n1 ip link set dev eth0 up
check1 "no addresses" fail gid "ip addr add" 1
addresses "$NS1" eth0 1
check1 "addresses" ok gid "addresses, a GID each" 0
n1 ip link set dev eth0 addrgenmode eui64
n1 ip link set dev eth0 down
n1 ip link set dev eth0 up
addresses "$NS1" eth0 1
finds "module not installed" fail module "make install" 1 \
	hidden /lib/modules
finds "provider not installed" fail provider "xroce.driver" 1 \
	hidden /etc/libibverbs.d
providers=$(dirname "$(ldconfig -p | awk '/libibverbs.so.1/ { print $NF; exit }')")/libibverbs
finds "libraries of providers not there" fail provider libxroce-rdmav 1 hidden "$providers"
finds "a provider of another ABI" fail provider "is for another libibverbs" 1 \
	other_abi "$providers"
finds "no BTF" warn btf "CONFIG_DEBUG_INFO_BTF" 0 \
	hidden /sys/kernel/btf
bg "$NS1" socat -u udp-recv:4791 /dev/null
wait_for 10 eval "n1 ss -Hulna 'sport = :4791' | grep -q ."
check1 "port taken" fail port "is taken" 1
bg_end $!
modprobe xroce

if rdma_up; then
	ok "links in two namespaces"
else
	not_ok "links in two namespaces"
fi
try "all is well with links and peers" all_ok
try "as text it says the same" text_agrees
check1 "the port is the module's" ok port "is xroce's" 0
check1 "the provider opens it" ok provider "libibverbs opens it" 0
finds "the module's BTF hidden" warn module "without BTF" 0 \
	hidden /sys/kernel/btf
finds "no devices to open" fail provider "nothing in /dev/infiniband" 1 \
	hidden /dev/infiniband

n1 ip link add vrf9 type vrf table 9
n1 ip link set eth0 master vrf9
check1 "in a VRF" fail state "ip link set dev eth0 nomaster" 1
n1 ip link del vrf9
# it had gone down for that
addresses "$NS1" eth0 1

# XDP
n1 rdmatool link set "$RDMA1" xdp off
check1 "XDP off" warn xdp "link set $RDMA1 xdp native" 0
n1 rdmatool link set "$RDMA1" xdp generic
check1 "XDP generic" warn xdp "generic, though the driver has native" 0
n1 rdmatool link set "$RDMA1" xdp off
n1 ip link set dev eth0 xdpgeneric obj ../lib/xdp_pass.bpf.o sec xdp.frags
check1 "another's XDP program" warn xdp "another XDP program" 0
n1 ip link set dev eth0 xdpgeneric off
n1 rdmatool link set "$RDMA1" xdp native

# What sees packets, and what would drop them
n1 nft add table inet t
n1 nft add chain inet t in '{ type filter hook input priority 0; }'
check1 "nftables do not see QPs" warn unseen "nftables (1 chains)" 0
check1 "a chain without rules filters nothing" ok filter "not filtered" 0
n1 nft add rule inet t in udp dport 4791 counter drop
check1 "a rule that drops" fail filter "drops or rejects" 1
n1 nft flush chain inet t in
n1 nft add rule inet t in udp dport 4791 reject
check1 "a rule that rejects" fail filter "drops or rejects" 1
n1 nft flush chain inet t in
n1 nft add rule inet t in udp dport 4792 drop
check1 "another port's rule" ok filter "not filtered" 0
n1 nft add rule inet t in drop
check1 "all is dropped" warn filter "dport 4791 accept" 0
n1 nft insert rule inet t in udp dport 4791 accept
check1 "but for ours" ok filter "not filtered" 0
n1 nft delete table inet t
n1 nft add table inet t
n1 nft add chain inet t in '{ type filter hook input priority 0; policy drop; }'
check1 "a policy that drops" warn filter "dport 4791 accept" 0
# ruled NAME STATUS TEXT EXIT RULE... - chains: in, whose policy drops, out, through, and
# one that nobody calls
ruled() {
	local name=$1 status=$2 text=$3 exit=$4 rule
	shift 4
	n1 nft flush table inet t
	for rule; do
		# shellcheck disable=SC2086 # it is words
		n1 nft add rule inet t $rule || not_ok "$name" "rule $rule"
	done
	check1 "$name" "$status" filter "$text" "$exit"
}
n1 nft add chain inet t out '{ type filter hook output priority 0; }'
n1 nft add chain inet t through '{ type filter hook forward priority 0; }'
n1 nft add chain inet t uncalled
ruled "what goes out is accepted" warn "dport 4791 accept" 0 "out udp dport 4791 accept"
ruled "TCP's port" warn "dport 4791 accept" 0 "in tcp dport 4791 accept"
ruled "who comes from there" warn "dport 4791 accept" 0 "in udp sport 4791 accept"
ruled "ports with ours" ok "not filtered" 0 "in udp dport { 53, 4791 } accept"
ruled "ports without it" warn "dport 4791 accept" 0 "in udp dport { 53, 4792 } accept"
ruled "all but some" ok "not filtered" 0 "in udp dport != { 53, 4792 } accept"
ruled "all but ours" warn "dport 4791 accept" 0 "in udp dport != { 53, 4791 } accept"
ruled "from one to another" ok "not filtered" 0 "in udp dport 4700-4791 accept"
ruled "up to the one before" warn "dport 4791 accept" 0 "in udp dport 4700-4790 accept"
ruled "all but from one to another" ok "not filtered" 0 "in udp dport != 1-4790 accept"
ruled "which has it" warn "dport 4791 accept" 0 "in udp dport != 4700-4791 accept"
ruled "intervals with ours" ok "not filtered" 0 "in udp dport { 1-9, 4000-5000, 6000-7000 } accept"
ruled "intervals without it" warn "dport 4791 accept" 0 "in udp dport { 1-9, 4000-4790 } accept"
n1 nft add chain inet t in '{ policy accept; }'
ruled "ports with ours dropped" fail "drops or rejects" 1 "in udp dport { 53, 4791 } drop"
ruled "what others send" warn "some of UDP port 4791" 0 \
	"in ip saddr != 10.0.0.0/8 udp dport 4791 drop"
ruled "all but who is accepted" warn "some of UDP port 4791" 0 \
	"in ip saddr 10.0.0.0/8 udp dport 4791 accept" "in udp dport 4791 drop"
ruled "what is asked of it between" warn "some of UDP port 4791" 0 \
	"in meta l4proto udp ct direction original udp dport 4791 drop"
ruled "where nobody may come" warn "some of UDP port 4791" 0 "uncalled udp dport 4791 drop"
ruled "what is forwarded" ok "not filtered" 0 "through udp dport 4791 drop"
ruled "TCP's is dropped" ok "not filtered" 0 "in tcp dport 4791 drop"
ruled "what comes from there is dropped" ok "not filtered" 0 "in udp sport 4791 drop"
ruled "all of UDP" warn "dport 4791 accept" 0 "in meta l4proto udp drop"
ruled "accepted" ok "not filtered" 0 "in udp dport 4791 accept"
n1 nft add table inet u
n1 nft add chain inet u in '{ type filter hook input priority 9; policy drop; }'
check1 "and dropped by another table" warn filter "dport 4791 accept" 0
n1 nft delete table inet u
n1 nft delete table inet t
n1 ip xfrm policy add src 192.0.2.1 dst 192.0.2.2 dir out action block
check1 "IPsec does not see QPs" warn unseen "IPsec (1 policies)" 0
finds "policies that nobody may read" warn unseen CAP_NET_ADMIN 0 \
	in_ns "$NS1" setpriv --reuid 65534 --clear-groups rdmatool -j check
n1 ip xfrm policy flush
n1 tc qdisc add dev eth0 clsact
check1 "tc does not see QPs" warn unseen "tc (clsact)" 0
n1 tc qdisc del dev eth0 clsact
# by a program that nobody has a qdisc for
tcx=/sys/fs/bpf/xt-tcx
bpftool prog load ../lib/xdp_pass.bpf.o $tcx type classifier
n1 bpftool net attach tcx_egress id "$(bpftool -j prog show pinned $tcx | jq .id)" dev eth0
check1 "nor what tcx has" warn unseen "tc (1 programs by tcx)" 0
n1 bpftool net detach tcx_egress dev eth0
rm $tcx

# What a user may
finds "little memory to lock" warn memlock "ulimit -l" 0 \
	in_ns "$NS1" prlimit --memlock=65536 setpriv --reuid 65534 \
	--clear-groups --bounding-set -all rdmatool -j check
finds "rules that nobody may read" warn filter CAP_NET_ADMIN 0 \
	in_ns "$NS1" setpriv --reuid 65534 --clear-groups rdmatool -j check

# The network device
n1 ip link set dev eth0 mtu 1280
check1 "a common MTU" ok mtu "1280: RoCE MTU 1024" 0
n1 ip link set dev eth0 mtu 1000
check1 "a small MTU" warn mtu "RoCE MTU of 512 only" 0
n1 ip link set dev eth0 mtu 300
check1 "too small an MTU" fail mtu "too small for any" 1
n1 ip link set dev eth0 mtu 4500
n1 ip addr replace "$V6:1/64" dev eth0 nodad
n2 ip link set dev eth0 mtu 1500
n2 ip addr replace "$V6:2/64" dev eth0 nodad
check1 "a peer with a smaller MTU" fail peer "not to packets of 4184 bytes" 1 \
	"$V4.2"
n2 ip link set dev eth0 mtu 4500
n1 ip link add link eth0 name eth0.5 type vlan id 5
n2 ip link add link eth0 name eth0.5 type vlan id 5
n1 ip addr add 198.18.5.1/24 dev eth0.5
n2 ip addr add 198.18.5.2/24 dev eth0.5
n1 ip link set eth0.5 up
n2 ip link set eth0.5 up
by_vlan() {
	n1 rdmatool -j check 198.18.5.2 >"$TOPO_TMP/vlan" &&
		jq -e '.[] | select(.check == "peer") |
			.status == "ok" and (.text | contains("4184 bytes, by eth0.5"))' \
			"$TOPO_TMP/vlan"
}
try "by a VLAN of the link's no other is wanted" by_vlan
n1 ip link del eth0.5
n2 ip link del eth0.5
# also where nobody has an MTU as large
try "a peer at this host, of an MTU that no packet has" \
	n1 sh -c 'ip link set lo mtu 65536 && rdmatool -j check 127.0.0.1 |
		jq -e "any(.[]; .check == \"peer\" and (.text | contains(\"65535 bytes, by lo\")))"'
check1 "a peer without an address" fail peer "does not answer" 1 "$V4.9"
check1 "a peer without a route" fail peer "no route" 1 203.0.113.1
rdma_down2() { n2 rdmatool link del "$RDMA2"; }
try "the peer's link goes" rdma_down2
check1 "a peer where nobody listens" fail peer "nobody listens" 1 "$V4.2"
check1 "and by IPv6" fail peer "nobody listens" 1 "$V6:2"
n1 ip addr del "$(gid0)/64" dev eth0
check1 "GID 0 is not IP's" warn gid "ip addr add $(gid0)/64 dev eth0" 0
check1 "but others are" ok gid "3 GIDs" 0
n1 ip addr flush dev eth0
n1 ip addr add "$(gid0)/64" dev eth0 nodad
check1 "a link-local address" warn gid "only link-local" 0
n1 ip addr flush dev eth0
check1 "no address" fail gid "no IP address" 1
n2 ip link set dev eth0 down
check1 "no carrier" fail state "no carrier" 1
n1 ip link set dev eth0 down
check1 "down" fail state "ip link set dev eth0 up" 1

try "whatever is wrong, it says what to do" test ! -s "$TOPO_TMP/helpless"
out=$(rdmatool check 1.2.3 2>&1)
[ $? = 2 ] && grep -q 'not an IPv4 or IPv6 address' <<<"$out" &&
	ok "no address refused" || not_ok "no address refused" "$out"
tap_end
