# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# Owns the two hosts of the kselftests, as network namespaces, and the wire
# between them; removes them when the script ends. Sourced after tap.sh.
#
#   topo_direct MTU			topo_middle MTU
#
#   +----------+  +----------+		+--------+  +---------------+  +--------+
#   | h1  eth0 |--| eth0  h2 |		| h1 eth0|--|p1 - br0 - p2 m|--|eth0 h2 |
#   +----------+  +----------+		+--------+  +---------------+  +--------+
#
# eth0 is 198.18.1.1 and fdc8::1 at h1, .2 and ::2 at h2. p1 and p2 have a program
# that passes all: without one their peers could not send XDP frames. netem goes
# on their egress, captures on br0: XDP frames pass by the qdisc and the sockets
# of the device that sends them, but not by those of the next.
#
# DEVTYPE1, DEVTYPE2 (DEVTYPE for both): xroce or rxe. XROCE_XDP: how a link of
# xroce is made: off, generic, native. The devices of rdma_rxe are seen in the
# first namespace only (RNS1, RNS2: where programs see them). So a host with one
# is that namespace, and its eth0 is xr-eth0; with rdma_rxe at both hosts, which
# needs Linux 7.2, only the netdevs are in h1 and h2.

DEVTYPE=${DEVTYPE:-xroce}
DEVTYPE1=${DEVTYPE1:-$DEVTYPE} DEVTYPE2=${DEVTYPE2:-$DEVTYPE}
XROCE_XDP=${XROCE_XDP:-native}
LIBDIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOPO_TMP=$(mktemp -d)
V4=198.18.1 V6=fdc8:
# RDMA devices have one name space for the whole machine, before Linux 7.3
RDMA1=xr1 RDMA2=xr2
topo_pids=() topo_index=4000

# in_ns NAMESPACE COMMAND... - no name: here. What goes there itself needs no program
# that does: each costs an emulated machine as much as what it runs
in_ns() {
	local ns=$1
	shift
	case ${ns:+$1} in
	'')		"$@" ;;
	ip | tc)	"$1" -n "$ns" "${@:2}" ;;
	*)		ip netns exec "$ns" "$@" ;;
	esac
}

n1() { in_ns "$NS1" "$@"; }
n2() { in_ns "$NS2" "$@"; }
nm() { in_ns "$NSM" "$@"; }
# programs that use the devices
r1() { in_ns "$RNS1" "$@"; }
r2() { in_ns "$RNS2" "$@"; }

# bg NAMESPACE COMMAND... - in the background, where topo_end finds it; $! is it
bg() {
	local ns=$1
	shift
	if [ -n "$ns" ]; then
		ip netns exec "$ns" "$@" &
	else
		"$@" &
	fi
	topo_pids+=($!)
}

# bg_end PID - ends what bg started, with its exit status; quiet when it has ended
bg_end() {
	local pid=$1 p left=()
	shift
	for p in "${topo_pids[@]}"; do
		[ "$p" = "$pid" ] || left+=("$p")
	done
	topo_pids=("${left[@]}")
	kill "$pid" 2>/dev/null || :
	wait "$pid" 2>/dev/null
}

# wait_for SECONDS COMMAND... - until it succeeds
wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.1
	done
}

# No waiting for duplicates of an address, no MLDs, nothing but what we send
quiet_ns() {
	in_ns "$1" sysctl -qw net.ipv6.conf.all.accept_dad=0 \
		net.ipv6.conf.default.accept_dad=0
	in_ns "$1" ip link set lo up
}

topo_need() {
	local tool
	[ "$(id -u)" = 0 ] || skip_all "needs root"
	for tool; do
		command -v "$tool" >/dev/null || skip_all "needs $tool"
	done
}

# Whether rdma_rxe serves netdevs outside the first namespace
rxe_in_netns() {
	local release minor
	release=$(uname -r)
	minor=${release#*.} minor=${minor%%[!0-9]*}
	[ "$((${release%%.*} * 1000 + minor))" -ge 7002 ]
}

topo_begin() {
	local ns
	topo_need ip rdma jq
	trap topo_end EXIT
	# once: timeout(1) sends it twice, and the second would end what cleans up
	trap "trap '' INT TERM; exit 130" INT TERM
	NS1=h1-$$ NS2=h2-$$ NSM=m-$$ RNS1=h1-$$ RNS2=h2-$$
	[ "$DEVTYPE1" != rxe ] || RNS1=
	[ "$DEVTYPE2" != rxe ] || RNS2=
	if [ "$DEVTYPE1$DEVTYPE2" != rxerxe ]; then
		NS1=$RNS1 NS2=$RNS2
	elif ! rxe_in_netns; then
		skip_all "two rdma_rxe need two namespaces: Linux 7.2"
	fi
	ETH1=${NS1:+eth0} ETH1=${ETH1:-xr-eth0}
	ETH2=${NS2:+eth0} ETH2=${ETH2:-xr-eth0}
	# only while there is no other namespace, and the last test's take a moment to
	# go; but for who asks for one, either mode does as well
	if ! rdma system show | grep -q "netns ${XROCE_NETNS:-exclusive}"; then
		wait_for "${XROCE_NETNS:+1}5" \
			rdma system set netns "${XROCE_NETNS:-exclusive}" || :
	fi
	for ns in "$NS1" "$NS2" "$NSM"; do
		[ -z "$ns" ] || ip netns add "$ns"
		[ -z "$ns" ] || quiet_ns "$ns"
	done
}

addresses() {
	in_ns "$1" ip -batch - <<-END
		addr replace $V4.$3/24 dev $2
		addr replace $V6:$3/64 dev $2 nodad
		link set $2 up
	END
}

# topo_veth NAMESPACE DEVICE NAMESPACE DEVICE MTU - the ends with different indices: where
# they are the same, the kernel takes a second to say that there is a carrier
topo_veth() {
	in_ns "$1" ip link add "$2" index $((topo_index++)) mtu "$5" type veth \
		peer name "$4" mtu "$5" netns "${3:-$$}"
}

# nic_name NUMBER - what the guest's NIC of that number is called, in the first namespace
nic_name() {
	local at
	at=$(grep -lx "52:54:00:79:00:0$1" /sys/class/net/*/address) || return
	at=${at%/address}
	echo "${at##*/}"
}

# nic_put NUMBER NAMESPACE NAME - puts that NIC there. The namespace of a test before may
# still be giving it back
nic_put() {
	local driver=${XROCE_NIC%-pci}
	modprobe "${driver//-/_}" && wait_for 10 nic_name "$1" &&
		ip link set "$(nic_name "$1")" down netns "$2" name "$3"
}

# The guest's NICs (NIC= of docs/guest.md) for a veth, if it has any
topo_wire() {
	if [ -z "${XROCE_NIC:-}" ]; then
		topo_veth "$NS1" "$ETH1" "$NS2" "$ETH2" "$1"
	else
		nic_put 1 "$NS1" "$ETH1" && nic_put 2 "$NS2" "$ETH2" &&
			n1 ip link set "$ETH1" mtu "$1" && n2 ip link set "$ETH2" mtu "$1"
	fi
}

topo_direct() {
	topo_begin
	topo_wire "$1"
	addresses "$NS1" "$ETH1" 1
	addresses "$NS2" "$ETH2" 2
	topo_reach
}

topo_middle() {
	local p
	topo_begin
	topo_veth "$NS1" "$ETH1" "$NSM" p1 "$1"
	topo_veth "$NS2" "$ETH2" "$NSM" p2 "$1"
	nm ip link add br0 mtu "$1" type bridge stp_state 0 forward_delay 0 \
		mcast_snooping 0
	for p in p1 p2; do
		nm ip link set "$p" master br0
		nm ip link set "$p" xdpdrv obj "$LIBDIR/xdp_pass.bpf.o" sec xdp.frags
		nm ip link set "$p" up
	done
	nm ip link set br0 up
	addresses "$NS1" "$ETH1" 1
	addresses "$NS2" "$ETH2" 2
	topo_reach
}

topo_reach() {
	# the first one may be too early for IPv6
	wait_for 20 n1 ping -c 1 -W 0.3 "$V4.2" &&
		wait_for 20 n1 ping -c 1 -W 0.3 "$V6:2" && return
	echo "Bail out! the two hosts do not reach each other"
	exit 1
}

# The XDP mode that the kernel shows for a device: off, native, generic, ...
xdp_mode() {
	in_ns "$1" ip -j -d link show dev "$2" |
		jq -r '.[0].xdp.mode // 0 | ["off", "native", "generic", "offload", "several"][.]'
}

# xdp_prog NAMESPACE NETDEV - the id of the program that is attached
xdp_prog() { in_ns "$1" ip -j -d link show dev "$2" | jq '.[0].xdp.prog.id'; }

# map_of PROGRAM MAP - the id of the program's map
map_of() {
	local id
	for id in $(bpftool -j prog show id "$1" | jq '.map_ids[]'); do
		bpftool -j map show id "$id" |
			jq -e --arg name "$2" 'select(.name == $name).id' && return
	done
	return 1
}

# vlan_add NAMESPACE NETDEV ADDRESS - VLAN 7 on it
vlan_add() {
	in_ns "$1" ip -batch - <<-END
		link add link $2 name $2.7 type vlan id 7
		addr add $3/24 dev $2.7
		link set $2.7 up
	END
}
# vlans_add NET - of both hosts, with NET1 and NET2
vlans_add() { vlan_add "$NS1" "$ETH1" "${1}1" && vlan_add "$NS2" "$ETH2" "${1}2"; }
# vlans_ready NET - their devices have these addresses
vlans_ready() { has_gid "$RNS1" "$RDMA1" "${1}1" && has_gid "$RNS2" "$RDMA2" "${1}2"; }

# rdma_add NAMESPACE TYPE NAME NETDEV [XDP MODE]
rdma_add() {
	if [ "$2" = xroce ]; then
		in_ns "$1" rdmatool link add "$3" netdev "$4" xdp "${5:-$XROCE_XDP}"
	else
		modprobe "rdma_$2"
		in_ns "$1" rdma link add "$3" type "$2" netdev "$4"
	fi
}

# said_gid ADDRESS WHAT - what ibv_devinfo said has it
said_gid() { [[ $2 =~ [[:space:]:]${1//./\\.},\ RoCE\ v2 ]]; }

# has_gid NAMESPACE DEVICE ADDRESS
has_gid() { said_gid "$3" "$(in_ns "$1" ibv_devinfo -v -d "$2")"; }

rdma_ready() {
	local said
	said=$(in_ns "$1" ibv_devinfo -v -d "$2") && [[ $said == *'PORT_ACTIVE ('* ]] &&
		said_gid "$V4.$3" "$said" && said_gid "$V6:$3" "$said"
}

devices_ready() {
	wait_for 20 rdma_ready "$RNS1" "$RDMA1" 1 &&
		wait_for 20 rdma_ready "$RNS2" "$RDMA2" 2
}

# A device at each host; checks that XDP is what was asked for
rdma_up() {
	local mode near
	rdma_add "$NS1" "$DEVTYPE1" "$RDMA1" "$ETH1" "$XROCE_XDP" &
	near=$!
	rdma_add "$NS2" "$DEVTYPE2" "$RDMA2" "$ETH2" "$XROCE_XDP" || { wait "$near"; return 1; }
	wait "$near" || return 1
	for mode in "$DEVTYPE1 $(xdp_mode "$NS1" "$ETH1")" \
		    "$DEVTYPE2 $(xdp_mode "$NS2" "$ETH2")"; do
		case $mode in
		"xroce $XROCE_XDP" | "rxe off") ;;
		*)	echo "XDP is not '$XROCE_XDP': $mode"
			return 1 ;;
		esac
	done
	devices_ready && return
	echo "no active port with both GIDs:"
	r1 ibv_devinfo -v -d "$RDMA1"
	r2 ibv_devinfo -v -d "$RDMA2"
	return 1
}

# rdma_devices LABEL - as asked for, or the end of the test
rdma_devices() {
	local why
	if ! why=$(rdma_up 2>&1); then
		not_ok "$1: devices" "${why//$'\n'/$'\n'# }"
		tap_end
	fi
	ok "$1: devices, XDP mode as asked for"
}

# A device of any type goes by `rdma link del`
rdma_down() {
	r1 rdma link del "$RDMA1" 2>/dev/null || :
	r2 rdma link del "$RDMA2" 2>/dev/null || :
}

# What topo_begin and those after it made; another topology may follow
topo_clear() {
	local ns pid
	for pid in "${topo_pids[@]}"; do
		bg_end "$pid" || :
	done
	# A test's own, which may have what is ours
	for ns in "${NS3:-}" "${NS4:-}"; do
		[ -z "$ns" ] || ip netns del "$ns" 2>/dev/null || :
	done
	rdma_down
	ip link del xr-eth0 2>/dev/null || :
	for ns in "$NS1" "$NS2" "$NSM"; do
		[ -z "$ns" ] || ip netns del "$ns" 2>/dev/null || :
	done
}

topo_end() {
	local status=$?
	set +e
	trap '' INT TERM
	topo_clear
	rm -rf "$TOPO_TMP"
	trap - EXIT
	exit "$status"
}

# counter NAMESPACE DEVICE NAME... - of an xroce, those of its XDP program too (0 while
# there is none), on a line; of a name that is not known "?", with which nothing is true
counter() {
	in_ns "$1" rdmatool -jd stat show "$2" |
		awk -v names="${*:3}" -v RS='[][{},]+' -F: '
			{ gsub(/[" \t\n]/, "") }
			NF == 2 && $2 ~ /^[0-9]+$/ { n[$1] += $2 }
			END {
				# nothing, if nothing was said
				many = NR ? split(names, name, " ") : 0
				for (i = 1; i <= many; i++) {
					said = name[i] ~ /^xdp_/ ? 0 : "?"
					if (name[i] in n)
						said = sprintf("%.0f", n[name[i]])
					printf "%s%s", said, (i < many ? " " : "\n")
				}
			}'
}

# total NAMESPACE DEVICE NAME... - their sum
total() {
	local n
	n=$(counter "$@")
	[ -n "$n" ] && echo $((${n// /+}))
}

# of_host 1|2 NAME... - the same, of a host's
of_host() {
	local ns=NS$1 dev=RDMA$1
	counter "${!ns}" "${!dev}" "${@:2}"
}

# taken_in_place NAMESPACE DEVICE - what came by XDP, and by no socket
taken_in_place() { total "$1" "$2" xdp_fast xdp_taken; }
# What both ends' programs dealt with by the rules, and what they left to the core
fast_packets() { echo $(($(counter "$NS1" "$RDMA1" xdp_fast) + $(counter "$NS2" "$RDMA2" xdp_fast))); }
core_packets() { echo $(($(counter "$NS1" "$RDMA1" xdp_taken) + $(counter "$NS2" "$RDMA2" xdp_taken))); }
# What both have sent more than once: that, and what answers it, are the core's business
sent_again() {
	echo $(($(total "$RNS1" "$RDMA1" ack_requests_resent retransmitted_pkts) +
		$(total "$RNS2" "$RDMA2" ack_requests_resent retransmitted_pkts)))
}

# gid_index NAMESPACE DEVICE ADDRESS
gid_index() {
	in_ns "$1" ibv_devinfo -v -d "$2" |
		sed -nE "s/.*GID\[ *([0-9]+)\]:[[:space:]]*(::ffff:)?${3//./\\.}, RoCE v2.*/\\1/p"
}

mac() { in_ns "$1" cat "/sys/class/net/$2/address"; }

# Frames that h1's netdev took from XDP
xdp_sent() {
	n1 ethtool -S "$ETH1" | awk '/tx_queue_.*_xdp_xmit:/ { n += $2 } END { print n + 0 }'
}

# For a condition: who listens at h2 on a port, with TCP or by rdma_cm
tcp_listens() { n2 ss -Hltn "sport = :$1" | grep -q .; }
cm_listens() { r2 rdma resource show cm_id | grep -q "state LISTEN .*:$1 "; }

# ends CONDITION SERVER... -- CLIENT... - the server at h2, the client at h1 once
# the condition is met, in $READY seconds; both must succeed, in $PATIENCE. Says
# what the client said.
ends() {
	local ready=$1 server=() pid status=0 secs=${READY:-30}
	# a kernel that checks everything is slow
	[ ! -e /sys/kernel/debug/kmemleak ] || secs=$((secs * 4))
	shift
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	# where the last one listened may be seen for a moment after its end
	wait_for "$secs" eval "! { $ready; }" || :
	bg "$RNS2" timeout "${PATIENCE:-60}" "${server[@]}" >"$TOPO_TMP/server" 2>&1
	pid=$!
	wait_for "$secs" eval "$ready" || status=1
	[ "$status" != 0 ] || r1 timeout "${PATIENCE:-60}" "$@" || status=$?
	[ "$status" != 0 ] || wait "$pid" || status=$?
	bg_end "$pid" || :
	[ "$status" != 0 ] || return 0
	echo "exit status $status; the server said:"
	cat "$TOPO_TMP/server"
	return 1
}

# verbs_pair GID1 GID2 PROGRAM ARGUMENTS... - its server at h2, its client at h1,
# as libibverbs' examples and perftest have it; both must succeed. What the
# client says is printed, and the server's words if it fails.
verbs_pair() {
	local index1 index2 flag=-x
	index1=$(gid_index "$RNS1" "$RDMA1" "$1")
	index2=$(gid_index "$RNS2" "$RDMA2" "$2")
	shift 2
	case $1 in
	ibv_*)	flag=-g ;;
	*)	set -- "$@" -F ;;
	esac
	# both kinds of program listen there once they are ready
	PATIENCE=${PAIR_TIMEOUT:-120} ends 'tcp_listens 18515' \
		"$@" -d "$RDMA2" "$flag" "$index2" -- \
		"$@" -d "$RDMA1" "$flag" "$index1" "$V4.2"
}

# netem PORT ARGUMENTS... - on the way to the host at p1 or p2
netem() {
	local port=$1
	shift
	nm tc qdisc replace dev "$port" root netem limit 20000 "$@"
}

# netem_count PORT packets|drops|requeues - netem's own counters
netem_count() {
	nm tc -s -j qdisc show dev "$1" | jq -r ".[] | select(.kind == \"netem\") | .$2"
}

# rc LABEL FORWARD|BACKWARD|WITHIN ARGUMENTS... - runs xroce_rc between the hosts,
# its client at h1 (backward: at h2; within: both at h1), and makes its results ours
rc() {
	local label=$1 from=$2 sock pid status=0
	local nsc=$RNS1 client=(-d "$RDMA1") nss=$RNS2 server=(-d "$RDMA2") swap
	shift 2
	[ "$DEVTYPE1" != rxe ] || client+=(-x)
	[ "$DEVTYPE2" != rxe ] || server+=(-x)
	case $from in
	backward)
		nsc=$RNS2 nss=$RNS1
		swap=("${client[@]}") client=("${server[@]}") server=("${swap[@]}")
		;;
	within)	nss=$RNS1 server=("${client[@]}") ;;
	esac
	sock=$TOPO_TMP/sock
	case " $* " in *' -6 '*) server+=(-6) ;; esac
	bg "$nss" "$LIBDIR/../rc/xroce_rc" -s "$sock" "${server[@]}"
	pid=$!
	results "$label" in_ns "$nsc" timeout "${RC_TIMEOUT:-900}" \
		"$LIBDIR/../rc/xroce_rc" -c "$sock" "${client[@]}" "$@"
	# once told that all is over it ends by itself
	wait_for 5 eval "! kill -0 $pid"
	bg_end "$pid" || status=$?
	case $status in
	0|1|143) ;;
	*)	not_ok "$label: the other end" "exit status $status" ;;
	esac
	return 0
}
