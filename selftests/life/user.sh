#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Ends that users make in mid-traffic: processes killed, objects destroyed in any
# order, memory deregistered and used again under a flood of WRITEs.
#
#   +----------+         +----------+
#   | h1  eth0 |---------| eth0  h2 |	veth, 198.18.1.1, .2
#   +----------+         +----------+
#
# XROCE_XDP=off|generic|native  XROCE_LIFE_COUNT: how often, 2

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ./life.sh

life_begin
try "$label: kill -9" ./life -n $((COUNT * 3)) "${SIDES[@]}" kill
try "$label: nothing is left" life_settled
try "$label: objects destroyed in any order" \
	./life -n $((COUNT * 3)) "${SIDES[@]}" destroy
try "$label: nothing is left of them" life_settled
try "$label: memory deregistered under WRITEs" \
	./life -n $((COUNT * 30)) "${SIDES[@]}" revoke
try "$label: nothing is left of it" life_settled
try "$label: the module unloads" life_unload
tap_end
