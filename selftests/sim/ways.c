// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A world runs by one way into the core and again by another, from the same seed:
 * what it sends, completes, counts and raises must be the same, at the same time.
 * Owns what was seen of the one under way. Single-threaded.
 */
#include "sim.h"
#include "ways.h"

const char * const sim_way_name[SIM_WAYS + 1] = { "socket", "native", "mixed", "both" };

static enum sim_way way;
static struct sim_way_count *counts;
static u64 seen, packets;

void sim_way_begin(enum sim_way w, u64 seed, struct sim_way_count *count)
{
	way = w;
	counts = count;
	seen = seed;
	packets = seed;
}

#ifndef SIM_CLOCK
/* Fold in something that must not depend on the way. */
void sim_seen(u64 what)
{
	seen = sim_mix(seen + what) + sim_now();
}
#endif

/* Return: all that was seen, and how much of the world's chance was used up. */
u64 sim_way_end(void)
{
	sim_seen(sim_rnd());
	return seen;
}

static void count_rx(const struct xroce_krx *krx, bool fast)
{
	u32 op = krx->head[0], t = XROCE_TRANSPORT(op);

	if (t != XROCE_RC && t != XROCE_XRC)
		return;
	counts->all[t == XROCE_XRC][op & 31]++;
	counts->fast[t == XROCE_XRC][op & 31] += fast;
}

/* A packet goes the way, and back to the socket if the program leaves it. */
void sim_way_rx(struct xroce_krx *krx)
{
	int by = -1;

	/* What no packet is compared with before is what all is held against. */
	if (way == SIM_SOCKET)
		krx->rx.known = NULL;
	/* Not sim_rnd(): the world is to be the same. */
	if (way == SIM_NATIVE || (way == SIM_MIXED && sim_mix(++packets) & 1))
		by = native_rx(krx);
	if (by < 0)
		xroce_rx(&krx->rx);
	else
		count_rx(krx, by == XROCE_XDP_FAST);
	sim_seen(krx->rx.verdict);
}

/**
 * sim_way_check() - on a network without faults the program serves what it should
 * @least: packets in all
 *
 * SENDs, WRITEs and what answers requests nearly always; what takes the core, never.
 * Or the fast path might be off, and all would be well.
 */
void sim_way_check(u32 least)
{
	u32 i, op, info, fast, all, sum = 0;

	for (i = 0; i < 64; i++) {
		op = (i & 31) | (i < 32 ? XROCE_RC : XROCE_XRC);
		info = xroce_op_info(op);
		fast = counts->fast[i / 32][i % 32];
		all = counts->all[i / 32][i % 32];
		sum += fast;
		if (info & XROCE_OP_INV || !(info & (XROCE_OP_SEND | XROCE_OP_WRITE |
						     XROCE_OP_RESPONSE)))
			sim_check(!fast, "opcode %02x: the XDP program served %u", op, fast);
		else
			sim_check(all < 16 || fast >= all * 3ull / 4,
				  "opcode %02x: the XDP program served %u of %u", op, fast,
				  all);
	}
	sim_check(sum >= least, "the XDP program served %u packets", sum);
}
