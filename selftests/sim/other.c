// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "sim.h"
void sim_bench(void) {}
