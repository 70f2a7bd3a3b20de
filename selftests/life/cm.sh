#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Links, netdevs, namespaces and the module end while connections are being made
# by rdma_cm, used and ended; in exclusive and shared RDMA namespaces.
#
#   +-----------+         +-----------+
#   | h1  xra1  |---------| xrb1   h2 |	veth, 198.18.1.1, .2
#   +-----------+         +-----------+
#
# XROCE_XDP=off|generic|native  XROCE_LIFE_COUNT: how often in all modes together: once
# in each, or 100 times with XROCE_LONG
# XROCE_NETNS=exclusive|shared: only this mode

# shellcheck disable=SC2317
# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
# shellcheck disable=SC2034
PAIRS=1 LIFE_SHORT=1 LIFE_LONG=100
. ./life.sh

A=$NET.1.1 B=$NET.1.2

forever() {
	# shellcheck disable=SC2016
	setsid bash -c 'while :; do "$@" || sleep 0.05; done' - "$@" \
		>/dev/null 2>&1 &
	loops+=($!) topo_pids+=($!)
}

cm_ids() {
	r1 rdma resource show cm_id | grep -q 'state CONNECT '
}

# cm COMMAND... - the command, among connections of all ages
cm() {
	local i loops status=0 pid
	for ((i = 0; i < ENDS; i++)); do
		loops=()
		forever ip netns exec "$NS2" rping -s -P -a "$B" -S 3000
		forever ip netns exec "$NS2" ucmatose -b "$B" -c 4
		forever ip netns exec "$NS2" cmtime -b "$B" -c 10 -p 18515
		forever ip netns exec "$NS1" rping -c -a "$B" -S 3000
		forever ip netns exec "$NS1" ucmatose -b "$A" -s "$B" -c 4
		forever ip netns exec "$NS1" cmtime -b "$A" -s "$B" -c 10 -p 18515
		wait_for 30 cm_ids || { echo "round $i: no connection"; status=1; }
		sleep "0.$((RANDOM % 10))"
		timeout 120 bash -c "$*" || { echo "round $i: status $?: $*"; status=1; }
		for pid in "${loops[@]}"; do
			kill -KILL -- "-$pid"
			bg_end "$pid"
		done
		# a name may be a dying device's still
		wait_for 60 life_links && wait_for 60 as_before ||
			{ echo "round $i: not as before"; life_settled; status=1; }
		[ "$status" = 0 ] || break
	done
	return "$status"
}

things() {
	life_begin
	thing "killed among connections" cm true
	thing "rdma link del" cm "ip netns exec $NS1 rdma link del xra1"
	thing "rdma link del at the listener" \
		cm "ip netns exec $NS2 rdma link del xrb1"
	thing "netdev deleted" cm "ip -n $NS2 link del xrb1"
	# programs that stay in it keep a namespace: its last netdev goes at last
	thing "namespace deleted" cm "ip netns del $NS2 && ip netns add $NS2"
	[ "$XROCE_XDP" != off ] ||
		thing "module unloaded" cm "rmmod xroce && modprobe xroce"
	try "$label: nothing is left" life_settled
	try "$label: the module unloads" life_unload
	life_clear
}

topo_need rping ucmatose cmtime
for XROCE_NETNS in "${MODES[@]}"; do
	things
done
tap_end
