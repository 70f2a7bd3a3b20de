#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Every scenario at volume, UBSan trapping: over a million operations; with
# XROCE_ALL at full volume.
[ -n "$XROCE_ALL" ] || set -- -p 55
exec ./sim-fast -n 1000000 "$@"
