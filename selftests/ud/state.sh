#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Every transition of RC, UC, UD and of both ends of XRC, legal and not, with every
# attribute missing or too many, every value out of range; what each state does with
# traffic.
#
#   +----------+         +----------+
#   | h1  eth0 |---------| eth0  h2 |	veth, 198.18.1.1, .2, fdc8::1, ::2
#   +----------+         +----------+
#
# XROCE_XDP=off|generic|native

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ../lib/ud.sh

label="$DEVTYPE $XROCE_XDP"
topo_direct 1500
rdma_devices "$label"
ud "$label" state attr traffic
tap_end
