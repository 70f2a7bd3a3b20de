#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# What the verbs accept and refuse, and rings full of garbage.
#
#   h1 with a link; its programs speak with each other
#
# XROCE_HOSTILE_S: seconds of garbage, 30, or 600 with XROCE_LONG; XROCE_SEED

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh

XROCE_XDP=off
seconds=${XROCE_LONG:+600}
seconds=${seconds:-30}

rdma_gone() {
	rdma_down
	rmmod xroce
}

topo_direct 1500
rdma_up || exit 1
try "what is accepted and refused" r1 ./attr "$RDMA1"
try "rings full of garbage" \
	r1 ./rings "$RDMA1" "${XROCE_HOSTILE_S:-$seconds}" "${XROCE_SEED:-4711}"
try "rmmod after it" rdma_gone
tap_end
