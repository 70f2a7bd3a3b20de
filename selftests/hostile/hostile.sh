#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# What the verbs accept and refuse, and rings full of garbage.
#
#   h1 with a link; its programs speak with each other
#
# XROCE_XDP=off|generic|native  XROCE_HOSTILE_S: seconds of garbage, 60, or 600
# with XROCE_LONG  XROCE_SEED

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh

seconds=${XROCE_LONG:+600}
seconds=${seconds:-60}

rdma_gone() {
	rdma_down
	# an XDP program may hold it for a few milliseconds more
	wait_for 10 rmmod xroce
}

topo_direct 1500
rdma_up || exit 1
try "what is accepted and refused" r1 ./attr "$RDMA1"
try "rings full of garbage" \
	r1 ./rings "$RDMA1" "${XROCE_HOSTILE_S:-$seconds}" "${XROCE_SEED:-4711}"
try "rmmod after it" rdma_gone
tap_end
