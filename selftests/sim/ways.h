/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The ways that a packet takes to the core, and that the same comes of each. One
 * thread.
 */
#ifndef SIM_WAYS_H
#define SIM_WAYS_H

#include "native.h"

enum sim_way {
	SIM_SOCKET,		/* as without XDP: xroce_rx() */
	SIM_NATIVE,		/* by the XDP program */
	SIM_MIXED,		/* each by the one or the other */
	SIM_WAYS		/* one after the other */
};

extern const char * const sim_way_name[SIM_WAYS + 1];

/* Packets of reliable QPs that XDP had, and those that its program served, by opcode: RC, XRC. */
struct sim_way_count {
	u32 fast[2][32];
	u32 all[2][32];
};

void sim_way_begin(enum sim_way way, u64 seed, struct sim_way_count *count);
u64 sim_way_end(void);
void sim_way_rx(struct xroce_krx *krx);
void sim_way_check(u32 least);

/* Where the core is timed, there is nothing to compare. */
#ifdef SIM_CLOCK
static inline void sim_seen(u64 what)
{
	(void)what;
}
#else
void sim_seen(u64 what);
#endif

#endif /* SIM_WAYS_H */
