#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Floods of packets that are right in all but that nobody asked for them, from the
# address of the peer and from another one, by IPv4, IPv6 and in a VLAN: connections
# go on, at half the rate at least that they have undisturbed, and memory in use for
# them is bounded while they come and given back then. Then requests that QPs of each
# type (prey.c) may take, with what these expect, beside the same connections.
#
# Undisturbed: in the same run, by turns with the flood, while the same program sends
# as many of the same packets to a netdev that leads nowhere. On an emulated guest a
# flood is made by CPUs that the connections have to themselves else, and what the
# guest gets of its host changes from second to second; a flood comes from elsewhere
# in earnest. So who floods is at work in both, and what is compared is what it costs
# that the packets come; turns are short, so that both have the same share.
#
#   +---------+     +----------------------+     +---------+
#   | h1 eth0 |-----| p1 --- br0 --- p2  m |-----| eth0 h2 |
#   +---------+     +----------------------+     +---------+
#                     floods leave p1 and p2
#
# Once without VLANs, and then each eth0 has eth0.7, 198.18.7.1 and .2, too.
#
# XROCE_XDP=off|generic|native  XROCE_FLOOD_S: seconds of each, 3, or 30 with
# XROCE_LONG  XROCE_FLOOD_RATE: packets in a second to each, as many as come to it of
# the connections, if who floods is as fast, and 2000 at least  XROCE_FLOODS: kinds
# XROCE_NETS: of v4, v6, vlan  XROCE_SEED

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh

topo_need ib_write_bw rdmatool jq
seconds=${XROCE_FLOOD_S:-${XROCE_LONG:+30}}
seconds=${seconds:-3}
seed=${XROCE_SEED:-4711}
# WRITEs in a second that are few; packets that have to be sent in one; and of those the
# ones that have to be found unwanted, one in so many. A kernel that checks everything
# sends less
few=100 least=1000 found=8
# A packet that is kept is 1 KiB at least, with its sk_buff: of all that is sent one
# in six; and while they come some that are under way, however long they do. It is
# another that sees what is kept where that is what it looks for, and keeps for a
# while what has been freed. However many come, not more than some MiB
kept=6 kept_most=4096 floor=0 patience=60 under_way=2048
if [ -e /sys/kernel/debug/kmemleak ]; then
	few=20 least=250 floor=65536
fi
topo_middle 1500
nm ip link add nowhere type dummy
nm ip link set nowhere up
label="$XROCE_XDP"
rdma_devices "$label"

# qps NAMESPACE DEVICE FIELD - "QPN:PSN" of each that is connected
qps() {
	in_ns "$1" rdmatool -j -d qp show dev "$2" type RC comm ib_write_bw |
		jq -r ".[] | \"\(.lqpn):\(.$3)\""
}

# WRITEs that the connections have done
writes() {
	r1 rdmatool -j stat qp dev "$RDMA1" comm ib_write_bw |
		jq '[.[].other_requests // 0] | add // 0'
}

# memory - KiB that are neither free, on a CPU's list to be so soon, a cache nor a
# program's; those of them that are the slabs'; and those of rings
memory() {
	cat /proc/sys/vm/stat_refresh
	awk '$1 == "count:" { n -= $2 * 4 }
		/^MemTotal:/ { n += $2 }
		/^(MemFree|Buffers|Cached|SwapCached|SReclaimable|AnonPages):/ { n -= $2 }
		/^SUnreclaim:/ { slab = $2 }
		/xroce/ { rings += $2 / 1024 }
		END { print n, slab, rings }' /proc/zoneinfo /proc/meminfo /proc/vmallocinfo
}

# sk_buffs, and what CPUs keep of them for the next ones
skbs() { awk '$1 == "skbuff_head_cache" { print $2 }' /proc/slabinfo; }

# Packets that the QPs of prey.c have heard
heard() {
	{
		r1 rdmatool -j stat qp dev "$RDMA1" comm prey
		r2 rdmatool -j stat qp dev "$RDMA2" comm prey
	} | jq -s '[.[][].rcvd_pkts // 0] | add // 0'
}

# counted COUNTERS - the sum of those whose names match, of both devices
counted() {
	local ns
	for ns in "$RNS1 $RDMA1" "$RNS2 $RDMA2"; do
		# shellcheck disable=SC2086
		in_ns ${ns% *} rdmatool -d -j stat show "${ns#* }"
	done | jq -s --arg names "$1" '[.. | objects | to_entries[] |
		select(.key | test($names)) | .value | numbers] | add'
}

# taken KIND SOURCE VLAN - what has become of the packets so far: of a QP's peer they
# were dropped for whatever reason, or counted as old; of another, or by another VLAN,
# for who it is
taken() {
	case "$1 $2 $3" in
	"new $NET"2*)	heard ;;
	"req $NET"9*)	counted '^drop_no_neigh$' ;;
	???" $NET"9*)	counted '^drop_addr$' ;;
	*" $vlan")	counted '^drop_|duplicate|cnp_handled|rdma_recvs|xdp_drop' ;;
	*)		counted '^drop_addr$' ;;
	esac
}

# aims KIND HOST - flood's words for whom it is to be sent to
aims() {
	local ns=RNS$2 dev=RDMA$2 field=una
	case $1 in
	new)	sed -n "s/^$2 //p" "$TOPO_TMP/prey" ;;
	*)	[ "$1" != fuzz ] && [ "$2" = 1 ] || field=epsn
		qps "${!ns}" "${!dev}" "$field" ;;
	esac
}

# flood_to HOST MAC KIND SOURCE SMAC VLAN - says "ready", and is told when and where to
flood_to() {
	# shellcheck disable=SC2046
	nm ./flood "$6" "$2" "$5" "$NET$1" "$4" "$3" 500 \
		"$rate" $(aims "$3" "$1") <"$TOPO_TMP/say$1" >"$TOPO_TMP/hear$1"
}

# hear - an answer of each; $heard: their numbers together
hear() {
	local fd n
	heard=0
	for fd in "$hear1" "$hear2"; do
		read -r -t 120 n _ <&"$fd" || return
		heard=$((heard + ${n/ready/0}))
	done
}

# floods_begin KIND SOURCE1 SOURCE2 MAC1 MAC2 VLAN - to h1 and h2
floods_begin() {
	export XROCE_SEED=$((++seed))
	flood_to 1 "$(mac "$NS1" "$ETH1")" "$1" "$2" "$4" "$6" &
	flood1=$!
	flood_to 2 "$(mac "$NS2" "$ETH2")" "$1" "$3" "$5" "$6" &
	flood2=$!
	exec {say1}>"$TOPO_TMP/say1" {say2}>"$TOPO_TMP/say2"
	exec {hear1}<"$TOPO_TMP/hear1" {hear2}<"$TOPO_TMP/hear2"
	hear
}

floods_end() {
	exec {say1}>&- {say2}>&-
	wait "$flood1" && wait "$flood2"
	local status=$?
	exec {hear1}<&- {hear2}<&-
	return "$status"
}

# larger NAME NUMBER - a variable is that at least
larger() { [ "$2" -le "${!1}" ] || printf -v "$1" %s "$2"; }

# turn WHICH NETDEV1 NETDEV2 - sends by them for a while; adds to what of each kind
# of turn was $sent and $carried, in $us; sees what of memory is in use meanwhile
turn() {
	local begun since=${EPOCHREALTIME/./} now
	begun=$(writes)
	echo "$2" >&"$say1"
	echo "$3" >&"$say2"
	sleep 0.3
	read -ra now < <(memory)
	hear || return
	if [ "$1" = flood ]; then
		larger used $((now[0] - begun_used))
		larger slab $((now[1] - begun_slab))
	fi
	sent[$1]=$((sent[$1] + heard))
	carried[$1]=$((carried[$1] + $(writes) - begun))
	us[$1]=$((us[$1] + ${EPOCHREALTIME/./} - since))
}

# What is in use since the flood's begin is what it may leave
let_go() {
	local now
	read -ra now < <(memory)
	kib=$((now[0] - begun_used)) held=$(($(skbs) - skbs)) rings=$((now[2] - begun_rings))
	[ "$kib" -le "$most" ] && [ "$held" -le "$few_skbs" ] && [ "$rings" -le 0 ]
}

# by_turns KIND SOURCE1 SOURCE2 MAC1 MAC2 VLAN - sets $before and $after: messages in a
# second undisturbed and in the flood; $flooded: packets sent in that; $used and $slab:
# memory that is in use in it beside what was before; $kib, $held, $rings: what it leaves
# in use, after a while if that is more than $most, $few_skbs and nothing
by_turns() {
	local skbs i begun_used begun_slab begun_rings
	local -A sent=([quiet]=0 [flood]=0) carried=([quiet]=0 [flood]=0) us=([quiet]=0 [flood]=0)
	used=0 slab=0 skbs=$(skbs) taken=$(taken "$1" "$2" "$6")
	floods_begin "$@" || return
	read -r begun_used begun_slab begun_rings < <(memory)
	for ((i = 0; i < 2 * seconds; i++)); do
		turn quiet nowhere nowhere && turn flood p1 p2 || return
	done
	floods_end || return
	taken=$(($(taken "$1" "$2" "$6") - taken))
	flooded=${sent[flood]}
	before=$((carried[quiet] * 1000000 / us[quiet]))
	after=$((carried[flood] * 1000000 / us[flood]))
	most=$((sent[flood] / kept))
	most=$((floor + (most < kept_most ? most : kept_most))) most_now=$((most + under_way))
	few_skbs=$((512 + sent[flood] / 16))
	# ib_cm keeps for a while what it was asked
	wait_for "$patience" let_go || :
}

# flooded NAME KIND SOURCES... MACS... VLAN - half of what comes undisturbed. A guest
# has not always the same share of its host: once more, and once more
flooded() {
	local name="$label: $1" before=0 after=0 used slab most_now taken kib most held
	local few_skbs rings flooded try
	shift
	for try in 1 2 3; do
		if ! by_turns "$@" >"$TOPO_TMP/floods" 2>&1; then
			not_ok "$name" "$(tr '\n' ';' <"$TOPO_TMP/floods")"
			return
		fi
		echo "# $1: $after WRITEs/s, $before undisturbed; $taken unwanted of $flooded; KiB more in use:" \
			"$used, $slab of slabs, of $most_now; $kib left of $most," \
			"$held sk_buffs of $few_skbs, $rings of rings"
		[ $((after * 2)) -lt "$before" ] || [ "$used" -gt "$most_now" ] ||
			[ "$kib" -gt "$most" ] || [ "$held" -gt "$few_skbs" ] || break
	done
	if [ "$before" -lt "$few" ] || [ "$after" = 0 ]; then
		not_ok "$name" "the connections are at a stand: $(r1 rdmatool -d stat)"
	elif [ $((after * 2)) -lt "$before" ]; then
		not_ok "$name" "$before WRITEs/s, then $after, $try times"
	elif [ "$flooded" -lt $((seconds * least)) ] || [ "$taken" -lt $((flooded / found)) ]; then
		not_ok "$name" "of $flooded packets $taken were found to be unwanted"
	elif [ "$used" -gt "$most_now" ] || [ "$slab" -gt "$most_now" ]; then
		not_ok "$name" "$used KiB were in use for it, $slab of slabs, $try times"
	elif [ "$held" -gt "$few_skbs" ]; then
		not_ok "$name" "$held sk_buffs are held"
	elif [ "$kib" -gt "$most" ] || [ "$rings" -gt 0 ]; then
		not_ok "$name" "$kib KiB are in use for it, $rings of rings, $try times"
	else
		ok "$name"
	fi
}

connected() { [ "$(qps "$RNS2" "$RDMA2" epsn | wc -l)" -ge 4 ]; }
running() {
	local was
	connected || return
	was=$(writes)
	sleep 1
	[ $(($(writes) - was)) -gt "$few" ]
}

# Packets a second that come to each of the two
come() {
	local was
	was=$(counted '^rcvd_pkts$')
	sleep 2
	echo $((($(counted '^rcvd_pkts$') - was) / 4))
}

# both KIND
both() {
	flooded "$1 from another address" "$1" "${NET}9" "${NET}9" $OTHER $OTHER "$vlan"
	flooded "$1 from the peer's" "$1" "${NET}2" "${NET}1" "$MAC2" "$MAC1" "$vlan"
}

# What the QPs of prey.c say in the end
said_prey() {
	sed '/^[12] /d' "$TOPO_TMP/prey"
	return "$1"
}

# floods_of KIND... - beside connections by the addresses $NET.1 and .2, or ::1 and ::2
floods_of() {
	local kind bw prey pid more used slab most_now taken kib most held few_skbs rings
	local before after flooded rate
	# Patient, for a guest may stand still for a while; and until it is told to
	# end, for what is said to take a second takes several where the host is busy.
	PAIR_TIMEOUT=6000 verbs_pair "${NET}1" "${NET}2" ib_write_bw -q 4 -s 4000 -u 18 \
		-D 5000 >"$TOPO_TMP/bw" 2>&1 &
	bw=$!
	try "$label: connections" wait_for 60 running
	rate=${XROCE_FLOOD_RATE:-$(come)}
	[ "$rate" -ge 2000 ] || rate=2000
	echo "# $rate packets a second to each"
	for kind; do
		both "$kind"
	done
	[ "$vlan" = 0 ] || flooded "ack from the peer's, without its tag" ack "${NET}2" \
		"${NET}1" "$MAC2" "$MAC1" 0
	# Something of each kind has been received, and by nothing but what was open to it
	XROCE_NET=$gids bg "" ./prey "$RDMA1@$RNS1" "$RDMA2@$RNS2" >"$TOPO_TMP/prey" 2>&1
	prey=$!
	try "$label: QPs of each type" wait_for 30 grep -q ready "$TOPO_TMP/prey"
	both new
	# What a QP takes is by chance, and little where it is slow to begin again
	for ((more = 0; more < 10; more++)); do
		! grep -qx all "$TOPO_TMP/prey" || break
		by_turns new "${NET}2" "${NET}1" "$MAC2" "$MAC1" "$vlan"
	done
	bg_end "$prey"
	measure "$label: they have taken what they may" said_prey $?
	try "$label: the connections are there" connected
	try "$label: and what they carry goes on" running
	kill $bw 2>/dev/null
	for pid in $(ip netns pids "$NS1"; ip netns pids "$NS2"); do
		[ "$(cat "/proc/$pid/comm" 2>/dev/null)" != ib_write_bw ] || kill -INT "$pid"
	done
	wait $bw
	try "$label: new ones come up" verbs_pair "${NET}1" "${NET}2" ibv_rc_pingpong -c -n 200
}

# Where a frame has no tag it is the stack's to say where it belongs: it may
vlans_up() {
	vlans_add "$NET" && n1 sysctl -qw net.ipv4.conf.all.rp_filter=0 \
		"net.ipv4.conf.$ETH1.rp_filter=0" &&
		n2 sysctl -qw net.ipv4.conf.all.rp_filter=0 \
			"net.ipv4.conf.$ETH2.rp_filter=0" &&
		wait_for 20 vlans_ready "$NET"
}

MAC1=$(mac "$NS1" "$ETH1") MAC2=$(mac "$NS2" "$ETH2") OTHER=02:00:00:00:00:09
mkfifo "$TOPO_TMP/"{say,hear}{1,2}
# What comes by other ways is dealt with by the same code once it is known whose it is
some="fuzz ack req"
for net in ${XROCE_NETS:-v4 v6 vlan}; do
	label="$XROCE_XDP, $net" vlan=0 kinds="$some"
	case $net in
	v4)	NET=$V4. gids=::ffff:$V4.0 kinds="fuzz ack nak rnr cnp req" ;;
	v6)	NET=$V6: gids=$V6: ;;
	vlan)	NET=198.18.7. gids=::ffff:198.18.7.0 vlan=7
		try "$label: GIDs" vlans_up ;;
	esac
	[ -z "${XROCE_LONG:-}" ] || kinds="fuzz ack nak rnr cnp req"
	# shellcheck disable=SC2086
	floods_of ${XROCE_FLOODS:-$kinds}
done
tap_end
