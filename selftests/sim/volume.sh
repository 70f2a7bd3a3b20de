#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Every scenario at full volume: over a million operations, UBSan trapping.
exec ./sim-fast
