#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Every scenario under ASan and UBSan, at a part of the volume; with XROCE_ALL those too
# that take half of the time, of many packets, which others have as well.
[ -z "$XROCE_ALL" ] || set -- -p 5
exec ./sim -p 3 "$@"
