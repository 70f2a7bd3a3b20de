#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The examples between two hosts: what one writes the other prints.
#
#   +----------+         +----------+
#   | h1  eth0 |---------| eth0  h2 |	veth, 198.18.1.1, .2, fdc8::1, ::2
#   +----------+         +----------+
#
# DEVTYPE1, DEVTYPE2=xroce|rxe  XROCE_XDP=off|generic|native

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh

# hello SERVER... -- CLIENT... - the record that the client says to have sent
hello() {
	local server=() pid status=0 sent
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	bg "$RNS2" timeout 60 "${server[@]}" >"$TOPO_TMP/record" 2>&1
	pid=$!
	wait_for 20 hello_listens || status=1
	[ "$status" != 0 ] || r1 timeout 60 "$@" >"$TOPO_TMP/sent" 2>&1 || status=$?
	[ "$status" != 0 ] || wait "$pid" || status=$?
	bg_end "$pid" || :
	sent=$(sed -n 's/^sent: //p' "$TOPO_TMP/sent")
	if [ "$status" = 0 ] && [ -n "$sent" ] &&
	   [ "$(cat "$TOPO_TMP/record")" = "record: $sent" ]; then
		return 0
	fi
	echo "exit status $status; the writer and the listener said:"
	cat "$TOPO_TMP/sent" "$TOPO_TMP/record"
	return 1
}

hello_listens() {
	n2 ss -Hltn 'sport = :18515' | grep -q . ||
		r2 rdma resource show cm_id | grep -q 'state LISTEN .*:7471 '
}

topo_direct "${XROCE_MTU:-4500}"
label="$DEVTYPE1-$DEVTYPE2 $XROCE_XDP"
rdma_devices "$label"
for ip in "$V4.1 $V4.2" "$V6:1 $V6:2"; do
	# shellcheck disable=SC2086
	set -- $ip
	index1=$(gid_index "$RNS1" "$RDMA1" "$1")
	index2=$(gid_index "$RNS2" "$RDMA2" "$2")
	for kind in '' -u; do
		# shellcheck disable=SC2086
		try "$label: hello_verbs $kind to $2" \
			hello ./hello_verbs -d "$RDMA2" -i 1 -g "$index2" $kind \
			-- ./hello_verbs -d "$RDMA1" -i 1 -g "$index1" $kind "$2"
	done
	try "$label: hello_cm to $2" hello ./hello_cm -b "$2" -- ./hello_cm "$2"
done
tap_end
