#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Every scenario at full volume, UBSan trapping: over a million operations.
exec ./sim-fast -n 1000000
