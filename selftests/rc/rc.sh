#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Every operation, MTU, address family and size; then shapes, FLUSH and atomic WRITE,
# windows, a mix, and all that goes on while the other end's process is stopped.
#
#   +----------+         +----------+
#   | h1  eth0 |---------| eth0  h2 |	veth, 198.18.1.1, .2, fdc8::1, ::2
#   +----------+         +----------+
#
# DEVTYPE=xroce|rxe  XROCE_XDP=off|generic|native  XROCE_MTU=1500|4500|9000

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ../lib/rc.sh

FAMILIES="4 6" rc_main 4500 data shape annex annex-refused window mix stopped
