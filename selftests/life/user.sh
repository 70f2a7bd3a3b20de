#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Ends that users make in mid-traffic: processes killed, objects destroyed in any
# order, memory that a flood of WRITEs, READs or SENDs comes to deregistered, or
# registered anew, or its window invalidated, and used again at once.
#
#   +-----------+         +-----------+
#   | h1  xra1  |---------| xrb1   h2 |	veth, 198.18.1.1, .2
#   +-----------+         +-----------+
#
# XROCE_XDP=off|generic|native  XROCE_LIFE_COUNT, XROCE_LIFE_PAIRS: see life.sh

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ./life.sh

sides=$PAIRS
PAIRS=1
# in seven ways, each of which takes a second
ends=$((COUNT < 100 ? 14 : COUNT))

# revoked WAY [ROUNDS] - memory of xra1's. Of what is written by RC the XDP program has
# placed one packet and refused another in each round, if not all
revoked() {
	local rounds=$((COUNT + ${2:-50})) fast
	fast=$(counter "$NS1" xra1 xdp_fast)
	./life -t 18 -n "$rounds" "${SIDES[@]}" "revoke-$1" || return
	fast=$(($(counter "$NS1" xra1 xdp_fast) - fast))
	[[ $XROCE_XDP == native && $1 != *uc && $1 != read ]] || return 0
	[ "$fast" -ge $((2 * rounds)) ] && return
	echo "the XDP program has dealt with $fast packets in $rounds rounds"
	return 1
}

life_begin
# one side, the other, both: each side as often as was asked for
thing "kill -9" ./life -t 18 -n $(((ROUNDS * 3 + 1) / 2)) -p "$sides" "${SIDES[@]}" kill
try "$label: nothing is left" life_settled
thing "objects destroyed in any order" \
	./life -t 18 -n "$ROUNDS" -p "$sides" "${SIDES[@]}" destroy
try "$label: nothing is left of them" life_settled
thing "an XRC domain that processes share" \
	./life -t 18 -n "$ends" "${SIDES[@]}" xrc
try "$label: nothing is left of that" life_settled
thing "memory deregistered under WRITEs, UC" revoked uc
thing "memory deregistered under WRITEs, RC" revoked rc
thing "a window invalidated under WRITEs" revoked local
thing "a window invalidated by who WRITEs to it" revoked remote
thing "a window deallocated under WRITEs" revoked dealloc
thing "memory registered anew under WRITEs, UC" revoked rereg-uc 16
thing "memory registered anew under WRITEs, RC" revoked rereg 16
thing "memory deregistered under READs" revoked read 16
thing "memory of receives deregistered under SENDs" revoked recv 16
try "$label: nothing is left of it" life_settled
try "$label: the module unloads" life_unload
tap_end
