#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Every scenario under ASan and UBSan, at a part of the volume.
exec ./sim -p 3
