#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# rdma-core's own Python tests on xroce, and beside it what rdma_rxe makes of them:
# what passes there passes here. Topology: see here.sh.
#
# XROCE_XDP=off|generic|native  PYVERBS='PATTERN...'

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ../lib/here.sh

# rdma_rxe keeps the UDP port of this namespace while it is loaded.
here_more_end() { modprobe -rq rdma_rxe || :; }

each() {
	set -f
	# shellcheck disable=SC2086
	python3 each.py xr1 ${PYVERBS:-}
}

python3 -c 'import pyverbs' 2>/dev/null || skip_all "needs python3-pyverbs"
here_begin python3
sysctl -qw vm.nr_hugepages=16
declare -A said		# "DEVTYPE TEST": ok, skips or FAILS
declare -A tests
for DEVTYPE in xroce rxe; do
	[ "$DEVTYPE" = xroce ] || here_down
	if ! why=$(here_up 2>&1); then
		not_ok "$DEVTYPE: device" "${why//$'\n'/$'\n'# }"
		tap_end
	fi
	while read -r line; do
		[[ $line =~ ^(ok|not\ ok)\ [0-9]+\ -\ ([^ ]+)(\ #\ SKIP)? ]] || continue
		id=${BASH_REMATCH[2]} verdict=ok
		[ "${BASH_REMATCH[1]}" = ok ] || verdict=FAILS
		[ -z "${BASH_REMATCH[3]}" ] || verdict=skips
		tests["$id"]=1 said["$DEVTYPE $id"]=$verdict
	done < <(each 2>&1)
done
for id in $(printf '%s\n' "${!tests[@]}" | sort); do
	ours=${said["xroce $id"]:-FAILS} theirs=${said["rxe $id"]:-FAILS}
	if [ "$ours" = ok ] || { [ "$ours" = skips ] && [ "$theirs" != ok ]; }; then
		ok "$id: xroce $ours, rdma_rxe $theirs"
	else
		not_ok "$id: xroce $ours, rdma_rxe $theirs"
	fi
done
if [ "${#tests[@]}" -gt 0 ] && [ "${#said[@]}" = $((2 * ${#tests[@]})) ]; then
	ok "each ran on both"
else
	not_ok "each ran on both" "${#tests[@]} tests, ${#said[@]} results"
fi
tap_end
