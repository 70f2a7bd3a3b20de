#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# rdma-core's own Python tests on one device. Topology: see here.sh.
#
# DEVTYPE=xroce|rxe  XROCE_XDP=off|generic|native  PYVERBS='PATTERN...'

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ../lib/here.sh

here_more_end() { :; }

python3 -c 'import pyverbs' 2>/dev/null || skip_all "needs python3-pyverbs"
here_begin python3
if ! why=$(here_up 2>&1); then
	echo "Bail out! no device: $why"
	exit 1
fi
# for tests that want huge pages
sysctl -qw vm.nr_hugepages=16
# shellcheck disable=SC2086
set -f && python3 each.py xr1 ${PYVERBS:-} || exit 1
if why=$(no_splat); then
	exit 0
fi
echo "# ${why//$'\n'/$'\n'# }"
echo "Bail out! the kernel complained"
exit 1
