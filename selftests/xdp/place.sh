#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Where packets of QPs are dealt with: natively in XDP, by the rules, and nothing of them
# comes to the stack; as the hosts' IP and UDP, their netdevs and tracepoints have it.
# Another's program in our place, and who of the two goes.
#
#   +----------+         +----------+
#   | h1  eth0 |---------| eth0  h2 |	veth, 198.18.1.1, .2, fdc8::1, ::2
#   +----------+         +----------+
#
# XROCE_XDP=generic|native

# shellcheck disable=SC2317 # called by try
# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh

topo_need rdmatool bpftool nsenter ethtool xdp-loader
[ "$XROCE_XDP" != off ] || skip_all "XDP is off"
modprobe xroce || skip_all "no module xroce"
TRACE=/sys/kernel/tracing

# The skbs that any eth0 receives are counted, from here on or no more
count_skbs() {
	echo "name == \"$ETH1\"" >"$TRACE/events/net/netif_receive_skb/filter"
	echo "$1" >"$TRACE/events/net/netif_receive_skb/enable"
}

# What each host's IP and UDP have seen, of either version, its QPs have got, its rules
# and its core dealt with and it has sent more than once, in two ways; then what h1 has
# sent as XDP frames, and the skbs of both
all_seen() {
	local host
	for host in 1 2; do
		"n$host" awk '/^Ip: [0-9]/ { ip += $4 } /^Ip6InReceives / { ip += $2 }
			/^Udp: [0-9]/ { udp += $2 } /^Udp6InDatagrams / { udp += $2 }
			END { print ip, udp }' /proc/net/snmp /proc/net/snmp6
		of_host "$host" rcvd_pkts xdp_fast xdp_taken ack_requests_resent retransmitted_pkts
	done
	xdp_sent
	awk '/^(entries|overrun):/ { n += $2 } END { print n }' "$TRACE"/per_cpu/cpu*/stats
}

# measured PROGRAM... - runs it between $net's 1 and 2, and says what came of it: packets
# that the QPs of h1 and h2 got, and their stacks' layers
measured() {
	local was now i d=() again
	read -ra was < <(all_seen | xargs)
	verbs_pair "${net}1" "${net}2" "$@" || return
	read -ra now < <(all_seen | xargs)
	for i in "${!was[@]}"; do
		d[i]=$((now[i] - was[i]))
	done
	ip=(0 "${d[0]}" "${d[7]}") udp=(0 "${d[1]}" "${d[8]}") got=(0 "${d[2]}" "${d[9]}")
	fast=$((d[3] + d[10])) again=$((d[5] + d[6] + d[12] + d[13]))
	# What is sent again, as a machine that others use has it, and the answer to that,
	# are the core's business
	core=$((d[4] + d[11] - 2 * again)) all=$((got[1] + got[2] - 2 * again))
	by_xdp=${d[14]} skbs=${d[15]}
	echo "QPs ${got[*]:1}, IP ${ip[*]:1}, UDP ${udp[*]:1}; $skbs skbs; h1 sent $by_xdp by XDP;" \
		"rules $fast, core $core and $again sent again"
}

# went WHERE PART - whether what was measured went so. WHERE: the hosts whose stack saw
# all that their QPs got, "12", "1", "2" or none; that of the others nothing, but that
# the programs find each other by TCP, and an ACK's late copy. If none, the rules dealt
# with all but PART per cent, which the core got, and one more, and h1 sent all by XDP.
went() {
	local where=$1 part=$2 i by_stack=0
	for i in 1 2; do
		if [[ $where == *$i* ]]; then
			[ "${ip[i]}" -ge "${got[i]}" ] && [ "${udp[i]}" -ge "${got[i]}" ] || return
			by_stack=$((by_stack + got[i]))
		else
			[ "${ip[i]}" -lt 60 ] && [ "${udp[i]}" -lt 10 ] || return
		fi
	done
	[ "$skbs" -ge "$by_stack" ] && [ "$skbs" -lt $((ip[1] + ip[2] + 60)) ] || return
	[ "$XROCE_XDP" = native ] || [ "$by_xdp" = 0 ] || return
	if [ -n "$where" ]; then
		[ "$all" -gt 2000 ]
	else
		# UC has no window: where a busy machine does not empty the veth's ring, some
		# of it goes by the stack for a while
		[ "$all" -gt 8000 ] &&
			[ "$by_xdp" -ge $((part < 100 ? got[2] : got[2] / 2)) ] &&
			[ $((fast * 100)) -ge $((all * (99 - part))) ] &&
			[ $((core * 100)) -le $((all * (1 + part))) ] &&
			[ $(((fast + core) * 1000)) -ge $((all * 999)) ]
	fi
}

# saw WHERE PART PROGRAM... - in one round of five: a CPU that somebody keeps for 10 ms, as
# a guest's may be, fills the veth's ring, and then some go by the stack
saw() {
	for _ in 1 2 3 4 5; do
		measured "${@:3}" || return
		went "$1" "$2" && return
	done
	return 1
}

# passed WHERE PROGRAM... - and what is claimed of ours is not true of what passes all
passed() { saw "$1" 0 "${@:2}" && ! went '' 0 && [ $((fast * 100)) -lt $((all * 99)) ]; }

# Natively what is for a QP is received where it is; a program that lets all pass
# shows that this is not believed but seen
in_place() {
	local where='' host net=$V4. all by_xdp core fast got ip skbs udp
	[ "$XROCE_XDP" = native ] || where=12
	topo_direct 4200
	count_skbs 1
	try "$XROCE_XDP: two hosts" rdma_up
	measure "$XROCE_XDP: who sees SENDs: ${where:-nobody}" \
		saw "$where" 0 ibv_rc_pingpong -c -n 160 -s 30000
	measure "$XROCE_XDP: WRITEs" saw "$where" 0 ib_write_bw -n 600 -s 65536
	# one packet in 17 is a request for 16
	measure "$XROCE_XDP: READs" saw "$where" 6 ib_read_bw -n 600 -s 65536
	measure "$XROCE_XDP: atomics" saw "$where" 50 ib_atomic_bw -n 4400
	net=$V6:
	measure "$XROCE_XDP: SENDs by IPv6" saw "$where" 0 ibv_rc_pingpong -c -n 160 -s 30000
	measure "$XROCE_XDP: XRC" saw "$where" 0 ib_write_bw -c XRC -n 600 -s 65536
	# in place, but by the core
	measure "$XROCE_XDP: UC" saw "$where" 100 ib_write_bw -c UC -n 600 -s 65536
	measure "$XROCE_XDP: UD" saw "$where" 100 ibv_ud_pingpong -e -c -n 4400 -s 2000
	net=$V4.
	try "$XROCE_XDP: steered" n2 rdmatool link set "$RDMA2" steer 0-$(($(nproc) - 1))
	# not polling: a CPU that spins leaves its thread of the map waiting for milliseconds
	measure "$XROCE_XDP: SENDs, on any CPU" \
		saw "$where" 0 ibv_rc_pingpong -e -c -n 160 -s 30000
	measure "$XROCE_XDP: UD, on any CPU" \
		saw "$where" 100 ibv_ud_pingpong -e -c -n 4400 -s 2000
	for host in 1 2; do
		try "h$host: off" "n$host" rdmatool link set "xr$host" xdp off
		try "a program there that lets all pass" "n$host" \
			ip link set eth0 xdpdrv obj ../lib/xdp_pass.bpf.o sec xdp.frags
		[ "$host" = 1 ] || net=$V6:
		measure "pass, ${net}$host: it sees all, the other what it did" \
			passed "$host${where/$host/}" ibv_rc_pingpong -c -n 400 -s 6000
		[ "$host" = 1 ] || try "$XROCE_XDP: ours does not push it away" \
			pushes_nobody_away
		try "pass: it goes" "n$host" ip link set eth0 xdpdrv off
		measure "off: it sees all" saw "$host${where/$host/}" 0 \
			ibv_rc_pingpong -c -n 400 -s 6000
		try "$XROCE_XDP: both hosts again" both_again
	done
	try "$XROCE_XDP: nor is ours pushed away" not_pushed_away
	measure "$XROCE_XDP: SENDs again" saw "$where" 0 ibv_rc_pingpong -e -c -n 160 -s 30000
	count_skbs 0
	topo_clear
}

# Who uses libxdp has a program there too, its dispatcher
pushes_nobody_away() {
	local out was
	was=$(n2 ip -j -d link show "$ETH2" | jq '.[0].xdp.prog.id')
	out=$(n2 rdmatool link set "$RDMA2" xdp "$XROCE_XDP" 2>&1) && return 1
	echo "$out"
	[[ $out == *"$ETH2 has another XDP program"* ]] &&
		[ "$was" = "$(n2 ip -j -d link show "$ETH2" | jq '.[0].xdp.prog.id')" ]
}
both_again() {
	n1 rdmatool link set "$RDMA1" xdp "$XROCE_XDP" &&
		n2 rdmatool link set "$RDMA2" xdp "$XROCE_XDP"
}
not_pushed_away() {
	local how
	for how in xdpdrv xdpgeneric; do
		! n2 ip -force link set "$ETH2" "$how" obj ../lib/xdp_pass.bpf.o \
			sec xdp.frags || return
	done
	[ "$(xdp_mode "$NS2" "$ETH2")" = "$XROCE_XDP" ]
}

loader() { nsenter --net="/run/netns/$NS2" xdp-loader "$@" 2>&1; }
loader_refused() { ! loader load -m "$1" "$ETH2" ../lib/xdp_pass.bpf.o -n xdp_pass; }

# The dispatcher itself, by the tool that comes with it: first come, first served
with_libxdp() {
	local mode=native where='' program=(ibv_rc_pingpong -c -n 160 -s 30000) net=$V4.
	local all by_xdp core fast got ip skbs udp
	[ "$XROCE_XDP" = native ] || mode=skb where=12
	topo_direct 1500		# it takes no frames in parts
	count_skbs 1
	try "two hosts" rdma_up
	try "$XROCE_XDP: libxdp does not push ours away" loader_refused "$mode"
	measure "$XROCE_XDP: it goes on" saw "$where" 0 "${program[@]}"
	try "ours goes" n2 rdmatool link set "$RDMA2" xdp off
	try "$XROCE_XDP: libxdp's dispatcher with a program" loader load -m "$mode" "$ETH2" \
		../lib/xdp_pass.bpf.o -n xdp_pass
	try "$XROCE_XDP: ours does not push libxdp's away" pushes_nobody_away
	measure "$XROCE_XDP: beside it, by the socket" saw "${where:-2}" 0 "${program[@]}"
	try "libxdp's goes" loader unload "$ETH2" --all
	try "$XROCE_XDP: ours again" n2 rdmatool link set "$RDMA2" xdp "$XROCE_XDP"
	measure "$XROCE_XDP: it goes on" saw "$where" 0 "${program[@]}"
	count_skbs 0
	topo_clear
}

in_place
with_libxdp
tap_end
