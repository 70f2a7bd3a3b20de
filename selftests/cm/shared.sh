#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# cm.sh where every namespace sees every RDMA device, as is the default of a host.
# Each of the two hosts has a link at the same port; who is asked for is found by
# its address.

# shellcheck disable=SC2034
# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
XROCE_NETNS=shared
. ./cm.sh
