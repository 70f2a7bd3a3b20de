# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# Owns running xroce_ud over the two hosts of topo.sh, whose devices it opens
# both; its results become ours. Sourced after topo.sh.

# ud LABEL ARGUMENTS... - what it prints beside results is in $said
ud() {
	local label=$1 rxe=
	shift
	[ "$DEVTYPE1" != rxe ] || rxe+=a
	[ "$DEVTYPE2" != rxe ] || rxe+=b
	results "$label" timeout "${UD_TIMEOUT:-600}" "$LIBDIR/../ud/xroce_ud" \
		-a "$RDMA1${RNS1:+@$RNS1}" -b "$RDMA2${RNS2:+@$RNS2}" \
		${rxe:+-x $rxe} "$@"
}
