#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# What address vectors and multicast groups come to on the wire: a capture
# between the hosts is compared with what was asked for.
#
#   +---------+     +----------------------+     +---------+
#   | h1 eth0 |-----| p1 --- br0 --- p2  m |-----| eth0 h2 |
#   |  eth0.7 |     +----------------------+     | eth0.7  |
#   +---------+        captured on br0           +---------+
#
# XROCE_XDP=off|generic|native

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ../lib/ud.sh

topo_need tc tcpdump tshark
VLAN=7 V4V=198.18.7 V6V=fdc8:7:
label="$DEVTYPE $XROCE_XDP"
topo_middle 4500
for h in 1 2; do
	[ $h = 1 ] && ns=$NS1 eth=$ETH1 || ns=$NS2 eth=$ETH2
	in_ns "$ns" ip link add link "$eth" name "$eth.$VLAN" type vlan id $VLAN
	in_ns "$ns" ip addr add $V4V.$h/24 dev "$eth.$VLAN"
	in_ns "$ns" ip addr add $V6V:$h/64 dev "$eth.$VLAN" nodad
	in_ns "$ns" ip link set "$eth.$VLAN" up
done
wait_for 20 n1 ping -c 1 -W 1 $V4V.2
wait_for 20 n1 ping -c 1 -W 1 $V6V:2
# a hop limit other than the default, for those who say 0 or 1
HOPS=37
for h in 1 2; do
	[ $h = 1 ] && ns=$NS1 || ns=$NS2
	while read -r family route; do
		# shellcheck disable=SC2086
		in_ns "$ns" ip "$family" route change $route hoplimit $HOPS
	done < <(in_ns "$ns" ip -4 route show proto kernel scope link | sed 's/^/-4 /'
		 in_ns "$ns" ip -6 route show proto kernel | sed 's/^/-6 /')
done
rdma_devices "$label"

has_gids() {
	has_gid "$RNS1" "$RDMA1" "$V4V.1" && has_gid "$RNS1" "$RDMA1" "$V6V:1" &&
		has_gid "$RNS2" "$RDMA2" "$V4V.2" && has_gid "$RNS2" "$RDMA2" "$V6V:2"
}
if wait_for 20 has_gids; then
	ok "$label: GIDs of the VLANs"
else
	not_ok "$label: GIDs of the VLANs" "$(r1 rdmatool gid show | tr '\n' ';')"
fi

# capture COMMAND... - with RoCE on br0 in $TOPO_TMP/pcap
capture() {
	local pid
	bg "$NSM" tcpdump -i br0 -s 256 -U --immediate-mode -w "$TOPO_TMP/pcap" \
		'udp port 4791 or (vlan and udp port 4791)' 2>"$TOPO_TMP/tcpdump"
	pid=$!
	wait_for 20 grep -q 'listening on' "$TOPO_TMP/tcpdump"
	"$@"
	local status=$?
	wait_for 10 written
	bg_end $pid
	return $status
}

# Nothing has come to the file for half a second
written() {
	local size
	size=$(stat -c %s "$TOPO_TMP/pcap")
	sleep 0.5
	[ "$size" -gt 24 ] && [ "$size" = "$(stat -c %s "$TOPO_TMP/pcap")" ]
}

FIELDS=(eth.dst vlan.id vlan.priority ip.dsfield ip.ttl ip.dst
	ipv6.tclass ipv6.hlim ipv6.flow ipv6.dst udp.srcport
	infiniband.immdt)

# Each packet's FIELDS in a line
fields() {
	local f args=()
	for f in "${FIELDS[@]}"; do args+=(-e "$f"); done
	tshark -n -r "$TOPO_TMP/pcap" -T fields -E separator='|' \
		-E occurrence=f "${args[@]}" 2>/dev/null
}

# A service level that is no priority, as a datagram's completion has, is none.
# vector_ok PACKET VLAN SL TCLASS FLOW-LABEL SOURCE-PORT HOP-LIMIT
vector_ok() {
	local mac vlan prio tos ttl tclass hops flow port dst4 dst6 imm want=$7
	IFS='|' read -r mac vlan prio tos ttl dst4 tclass hops flow dst6 port \
		imm <<<"$1"
	[ "$want" != 0 ] || want=$HOPS
	[ -n "$mac$imm" ] && [ "$vlan" = "$2" ] || return 1
	[ -z "$2" ] || [ "$prio" = $(($3 < 8 ? $3 : 0)) ] || return 1
	if [ -n "$dst4" ]; then
		[ $((tos)) = "$4" ] && [ "$ttl" = "$want" ] || return 1
	else
		[ -n "$dst6" ] && [ $((tclass)) = "$4" ] && [ "$hops" = "$want" ] &&
			[ $((flow)) = $(($5)) ] || return 1
	fi
	if [ "$6" != 0 ]; then
		[ "$port" = "$6" ]
	else
		[ "$port" -ge $((0xc000)) ]
	fi
}

# vectors LABEL VLAN ARGUMENTS... - each packet is as it was to be
vectors() {
	local name=$1 vlan=$2 imm sl tclass flow port hops seen line bad=0 n=0
	local -A got=()
	shift 2
	capture ud "$name" "$@" av
	while read -r line; do
		imm=${line##*|}
		[ -z "$imm" ] || got[${imm//:/}]=$line
	done < <(fields)
	while read -r _ imm sl tclass flow port hops; do
		n=$((n + 1))
		seen=${got[$imm]:-}
		vector_ok "$seen" "$vlan" "$sl" "$tclass" "$flow" "$port" "$hops" &&
			continue
		echo "# $imm: sl $sl, traffic class $tclass, flow $flow, port $port, hops $hops: $seen"
		bad=$((bad + 1))
	done < <(grep '^expect ' <<<"$said")
	if [ "$bad" = 0 ] && [ "$n" = 30 ]; then
		ok "$name: address vectors on the wire"
	else
		not_ok "$name: address vectors on the wire" "$bad of $n differ"
	fi
}

vectors "$label" ""
vectors "$label" "" -6
vectors "$label, VLAN $VLAN" $VLAN -A $V4V.1 -B $V4V.2
vectors "$label, VLAN $VLAN" $VLAN -6 -A $V6V:1 -B $V6V:2

# macs LABEL COLUMN SED-SCRIPT ARGUMENTS... - each group's packets go to its MAC;
# the script makes that from the address in the column
macs() {
	local name=$1 column=$2 map=$3 bad=0 n=0 f
	shift 3
	capture ud "$name" "$@" mcast
	while IFS='|' read -r -a f; do
		case ${f[column]} in 239.* | ff*) ;; *) continue ;; esac
		n=$((n + 1))
		[ "${f[0]}" = "$(sed "$map" <<<"${f[column]}")" ] && continue
		echo "# ${f[column]} went to ${f[0]}"
		bad=$((bad + 1))
	done < <(fields)
	if [ "$bad" = 0 ] && [ "$n" -ge 8 ]; then
		ok "$name: groups and their MACs"
	else
		not_ok "$name: groups and their MACs" "$bad of $n differ"
	fi
}

# In a VLAN a CNP has a priority of its own, whatever that of the data is
cnp_priority() {
	local FIELDS=(infiniband.bth.opcode vlan.priority ip.dsfield) opcode prio tos
	local -A n=([cnp]=0 [data]=0 [bad]=0)
	netem p2 loss 30% ecn || return
	capture verbs_pair "$V4V.1" "$V4V.2" ibv_rc_pingpong -l 3 -n 500 -s 8192 ||
		return
	while IFS='|' read -r opcode prio tos; do
		case $opcode,$prio,$tos in
		129,6,0xc0)	n[cnp]=$((n[cnp] + 1)) ;;
		129,*)		n[bad]=$((n[bad] + 1)) ;;
		*,3,*)		n[data]=$((n[data] + 1)) ;;
		*)		n[bad]=$((n[bad] + 1)) ;;
		esac
	done < <(fields)
	echo "${n[cnp]} CNPs, ${n[data]} others, ${n[bad]} that are not as they should be"
	[ "${n[cnp]}" -gt 0 ] && [ "${n[data]}" -gt 1000 ] && [ "${n[bad]}" = 0 ]
}
if [ "$DEVTYPE" = xroce ]; then
	measure "$label, VLAN $VLAN: priority of a CNP" cnp_priority
	nm tc qdisc del dev p2 root
fi

# 239.129.2.N: the upper bit of 129 is none of the MAC's 23
macs "$label, IPv4" 5 's/^239\.129\.2\.\(.\)$/01:00:5e:01:02:0\1/'
macs "$label, IPv6" 9 's/^ff15::102:30\(.\)$/33:33:01:02:03:0\1/' -6
tap_end
