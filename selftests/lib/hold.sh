# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2154
# Owns the program that holds objects for a test to look at (tool/hold.c), until it lets go.
# Sourced after topo.sh.
#
# $dev, $addr: a device, and the address of the GID that is used  $holds_in: its namespace

# hold ARGUMENTS... - what it says is in `held`
hold() {
	local index
	index=$(gid_index "${holds_in:-}" "$dev" "$addr")
	rm -f "$TOPO_TMP/fifo"
	mkfifo "$TOPO_TMP/fifo"
	in_ns "${holds_in:-}" "$LIBDIR/../tool/hold" "$dev" "$index" "$@" <"$TOPO_TMP/fifo" \
		>"$TOPO_TMP/held" 2>"$TOPO_TMP/err" &
	holder=$!
	exec {hand}>"$TOPO_TMP/fifo"
	wait_for 200 eval '! kill -0 $holder || grep -q ready "$TOPO_TMP/held"'
	grep -q ready "$TOPO_TMP/held"
}

held() { sed -n "s/^$1 //p" "$TOPO_TMP/held"; }

let_go() {
	exec {hand}>&-
	wait "$holder"
}
