#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Many QPs, atomics and READs at once.
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

rc_main 9000 many depth mix
