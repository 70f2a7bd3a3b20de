#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Ends that users make in mid-traffic: processes killed, objects destroyed in any
# order, memory deregistered and used again under a flood of WRITEs.
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
thing "memory deregistered under WRITEs" \
	./life -t 18 -n $((COUNT + 50)) "${SIDES[@]}" revoke
try "$label: nothing is left of it" life_settled
try "$label: the module unloads" life_unload
tap_end
