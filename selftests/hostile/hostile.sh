#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# What the verbs accept and refuse, and rings full of garbage.
#
#   h1 with a link; its programs speak with each other
#
# XROCE_ROUNDS: of garbage, 0.2 s each; XROCE_SEED

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh

XROCE_XDP=off

rdma_gone() {
	rdma_down
	rmmod xroce
}

topo_direct 1500
rdma_up || exit 1
try "what is accepted and refused" r1 ./attr "$RDMA1"
try "rings full of garbage" \
	r1 ./rings "$RDMA1" "${XROCE_ROUNDS:-30}" "${XROCE_SEED:-4711}"
try "rmmod after it" rdma_gone
tap_end
