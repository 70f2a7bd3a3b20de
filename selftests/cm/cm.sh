#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# rdma_cm over the GSI QP: connections and datagram services looked up, made and
# ended by the programs that come with librdmacm, and what runs over them.
#
#   +----------+         +----------+
#   | h1  eth0 |---------| eth0  h2 |	veth, 198.18.1.1, .2, fdc8::1, ::2
#   +----------+         +----------+
#
# DEVTYPE1, DEVTYPE2=xroce|rxe  XROCE_XDP=off|generic|native  XROCE_MTU  CM_COUNT
# XROCE_NETNS=exclusive|shared: how RDMA devices belong to namespaces

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh

# cm_pair PORT SERVER... -- CLIENT... - both must succeed
cm_pair() { READY=20 ends "cm_listens $1" "${@:2}"; }

# mckey's receiver joins and waits; its sender begins when it has joined. IPv4:
# groups of IPv6 are beyond the kernel's rdma_cm (over RoCEv2).
cm_group() {
	local group=$1 from=$2 to=$3 pid status=0
	bg "$RNS2" timeout 60 stdbuf -oL mckey -m "$group" -b "$to" -C 20 \
		>"$TOPO_TMP/server" 2>&1
	pid=$!
	wait_for 20 grep -q 'joined dgid' "$TOPO_TMP/server" || status=1
	[ "$status" != 0 ] ||
		r1 timeout 60 mckey -m "$group" -b "$from" -s -C 20 || status=$?
	[ "$status" != 0 ] || wait "$pid" || status=$?
	bg_end "$pid" || :
	[ "$status" != 0 ] || return 0
	echo "exit status $status; the receiver said:"
	cat "$TOPO_TMP/server"
	return 1
}

# connections made and dropped, 2000 with XROCE_LONG
connections=${CM_COUNT:-${XROCE_LONG:+2000}}
connections=${connections:-50}

# Two devices of these types, or a failure
cm_devices() {
	local why
	DEVTYPE1=$1 DEVTYPE2=$2
	label="$1-$2 ${XROCE_NETNS:+$XROCE_NETNS }$XROCE_XDP"
	topo_direct "${XROCE_MTU:-1500}"
	# so that the native mode's frames are taken there; see topo.sh
	[ "$1" != rxe ] || n1 ethtool -K "$ETH1" gro on
	[ "$2" != rxe ] || n2 ethtool -K "$ETH2" gro on
	if ! why=$(rdma_up 2>&1); then
		not_ok "$label: devices" "${why//$'\n'/$'\n'# }"
		return 1
	fi
	[ -z "${XROCE_NETNS:-}" ] || try "$label: the mode of RDMA's namespaces" \
		grep -q "netns $XROCE_NETNS" <(rdma system show)
}

# By IPv4 and IPv6
cm_families() {
	local pair
	for pair in "$V4.1 $V4.2" "$V6:1 $V6:2"; do
		# shellcheck disable=SC2086
		set -- $pair
		try "$label: rping -V to $2" cm_pair 7174 rping -s -a "$2" -C 50 -S 3000 -V \
			-- rping -c -a "$2" -C 50 -S 3000 -V
		try "$label: ucmatose to $2" cm_pair 7471 ucmatose -b "$2" -c 4 -C 20 -S 5000 \
			-- ucmatose -b "$1" -s "$2" -c 4 -C 20 -S 5000
		try "$label: udaddy to $2" cm_pair 7174 udaddy -b "$2" -c 4 -C 20 -S 500 \
			-- udaddy -b "$1" -s "$2" -c 4 -C 20 -S 500
	done
}

# What there is of each kind of object, at both ends
resources() {
	r1 rdma resource show "$RDMA1" && r2 rdma resource show "$RDMA2"
}
as_before() { [ -n "$before" ] && [ "$(resources)" = "$before" ]; }

cm_programs() {
	local events prog before
	before=$(resources)
	PATIENCE=$((60 + connections)) try "$label: cmtime, $connections connections" \
		cm_pair 18515 cmtime -b "$V4.2" -c "$connections" -p 18515 \
		-- cmtime -b "$V4.1" -s "$V4.2" -c "$connections" -p 18515
	try "$label: nothing is left of them" wait_for 10 as_before
	try "$label: ib_send_bw -R" cm_pair 18515 ib_send_bw -F -R -n 100 \
		-s 20000 --bind_source_ip "$V4.2" \
		-- ib_send_bw -F -R -n 100 -s 20000 "$V4.2"
	for prog in rstream riostream; do
		try "$label: $prog" cm_pair 7471 $prog -b "$V4.2" -T a -S 4096 -I 10 -C 10 \
			-T v -- $prog -s "$V4.2" -S 4096 -I 10 -C 10 -T v
	done
	try "$label: rdma_client" cm_pair 7471 rdma_server -s "$V4.2" \
		-- rdma_client -s "$V4.2"
	try "$label: rdma_xclient, RC" cm_pair 7471 rdma_xserver -c r \
		-- rdma_xclient -c r -s "$V4.2"
	# rdma_rxe has no XRC
	if [ "$DEVTYPE1-$DEVTYPE2" = xroce-xroce ]; then
		try "$label: rdma_xclient, XRC" cm_pair 7471 rdma_xserver -c x \
			-- rdma_xclient -c x -s "$V4.2"
		for events in '' -e; do
			try "$label: ibv_xsrq_pingpong $events" \
				verbs_pair "$V4.1" "$V4.2" \
				ibv_xsrq_pingpong -n 200 -s 3000 $events
		done
	fi
	# rdma_rxe asks the routing table for a group too
	n1 ip route replace 239.0.0.0/8 dev "$ETH1"
	n2 ip route replace 239.0.0.0/8 dev "$ETH2"
	if [ "$DEVTYPE1" = rxe ]; then
		# 20 posted, none or one on the wire
		skip "$label: mckey, IPv4 group" \
			"mckey ends without waiting, and rdma_rxe sends later than it is told to"
	else
		try "$label: mckey, IPv4 group" cm_group 239.1.2.3 "$V4.1" "$V4.2"
	fi
	for prog in ud uc srq; do
		try "$label: ibv_${prog}_pingpong" verbs_pair "$V4.1" "$V4.2" \
			ibv_${prog}_pingpong -n 200 -s 1000
	done
}

# cm_all TYPE1 TYPE2 - and the next may follow
cm_all() {
	if cm_devices "$1" "$2"; then
		cm_families
		cm_programs
	fi
	topo_clear
}

topo_need rping ucmatose udaddy mckey rstream cmtime ib_write_bw ibv_ud_pingpong
cm_all "$DEVTYPE1" "$DEVTYPE2"
# what rxe.sh does more
[ -z "${CM_MORE:-}" ] || $CM_MORE
tap_end
