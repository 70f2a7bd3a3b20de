/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What of a connection's packets is lost, by a rule, for scenarios that lose single
 * ones. Single-threaded.
 */
#ifndef SIM_LOST_H
#define SIM_LOST_H

#include "sim.h"

/**
 * struct sim_rule - which packets to drop, and what became of that
 * @from: who sends them, NULL: either
 * @kinds: of what, some of XROCE_OP_*
 * @skip, @count: how many come before the first, and how many to drop
 * @seen, @dropped: of these
 * @again: only the first of them, @psn, each time that it comes
 * @unheard: so was what the peer said of it
 */
struct sim_rule {
	struct sim_ep *from;
	u32 kinds;
	u32 skip;
	u32 count;
	u32 seen;
	u32 dropped;
	bool again;
	bool unheard;
	u32 psn;
};

extern struct sim_rule sim_rule;

bool sim_drop_rule(struct sim_ep *from, const u8 *buf, u32 len, const struct xroce_pkt *p);
void sim_drop(struct sim_ep *from, u32 kinds, u32 skip, u32 count);

#endif
