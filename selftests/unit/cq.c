// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The transport core's own cq.c where its indices wrap: what is armed for, and what was
 * solicited long ago; and what an index brings that goes back.
 */
#include "core.h"
#include <tap.h>

#define DEPTH	16

static u32 events;

/* What cq.c needs of its surroundings. */

void sim_lock_init(spinlock_t *l, const char *name)
{
	l->name = name;
}

void sim_lock(spinlock_t *l, enum sim_lock_how how, const char *file, int line)
{
	(void)l;
	(void)how;
	(void)file;
	(void)line;
}

void sim_unlock(spinlock_t *l, enum sim_lock_how how, const char *file, int line)
{
	sim_lock(l, how, file, line);
}

void sim_may_sleep(const char *file, int line)
{
	(void)file;
	(void)line;
}

u64 xroce_env_now(void)
{
	return 0;
}

void xroce_env_cq_event(struct xroce_cq *cq)
{
	(void)cq;
	events++;
}

void xroce_env_cq_error(struct xroce_cq *cq)
{
	(void)cq;
}

void xroce_env_count(struct xroce_dev *dev, enum xroce_counter which, u32 n)
{
	(void)dev;
	(void)which;
	(void)n;
}

/* @before completions that are no errors and nobody solicited, then one of the kind */
static bool missed(struct xroce_ring *ring, u32 before, bool solicited)
{
	struct xroce_cqe cqe = {};
	struct xroce_cq cq = {};

	xroce_cq_init(&cq, NULL, ring, DEPTH);
	cq.prod = before;
	cq.seen = before;
	ring->prod = before;
	ring->cons = before;
	ring->arm = XROCE_ARM_NONE;
	xroce_cq_post(&cq, &cqe, solicited);
	xroce_cq_post(&cq, &cqe, false);
	ring->arm = XROCE_ARM_SOLICITED;
	return xroce_cq_missed(&cq, ring->cons);
}

/*
 * From @before on, each completion polled and then, by an index that goes back, not: the most
 * events that one brings where all that came before it has been paid for
 */
static u32 sold(struct xroce_ring *ring, u32 before)
{
	struct xroce_cqe cqe = {};
	struct xroce_cq cq = {};
	u32 round, i, n, most = 0;

	xroce_cq_init(&cq, NULL, ring, DEPTH);
	cq.prod = before;
	cq.seen = before;
	cq.told = before;
	cq.told_cons = before;
	for (round = 0; round < 5; round++) {
		ring->arm = XROCE_ARM_NONE;
		ring->cons = cq.prod;
		xroce_cq_post(&cq, &cqe, false);
		for (i = DEPTH, n = 0; i; i--) {
			ring->arm = XROCE_ARM_NEXT;
			n += xroce_cq_missed(&cq, cq.prod - i);
		}
		most = max(most, n);
	}
	return most;
}

int main(void)
{
	static const u32 before[] = { 0, 1000, 0x7fffffff, 0x80000001, 0xc0000000, -3 };
	struct xroce_ring *ring = aligned_alloc(64, sizeof(*ring) +
						    DEPTH * sizeof(struct xroce_cqe));
	u32 i;

	if (!ring)
		return 1;
	memset(ring, 0, sizeof(*ring));
	for (i = 0; i < ARRAY_SIZE(before); i++) {
		tap_ok(!missed(ring, before[i], false),
		       "behind %u: none that is solicited, no event", before[i]);
		tap_ok(missed(ring, before[i], true), "behind %u: one that is: an event",
		       before[i]);
		tap_ok(sold(ring, before[i]) <= 2, "behind %u: what was polled brings one event",
		       before[i]);
	}
	tap_ok(!events, "nothing was armed for when they came");
	free(ring);
	return tap_end();
}
