// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues: writing one element into the mapped ring and deciding
 * whether somebody wants an event for it. cq->lock, irqsave, innermost.
 */
#include "core.h"

/**
 * xroce_cq_init() - an empty completion queue
 * @cq: the completion queue
 * @dev: the device
 * @ring: the ring that it shares with its user
 * @depth: slots of @ring, a power of two
 */
void xroce_cq_init(struct xroce_cq *cq, struct xroce_dev *dev, struct xroce_ring *ring, u32 depth)
{
	spin_lock_init(&cq->lock);
	cq->mask = depth - 1;
	cq->prod = 0;
	cq->seen = 0;
	cq->told = 0;
	cq->told_cons = 0;
	cq->overrun = false;
	cq->ring = ring;
	cq->dev = dev;
}

/* The elements from @from to @to, whatever either ring's user does meanwhile. */
static void xroce_cq_copy(const struct xroce_cq *cq, struct xroce_ring *to,
			  u32 mask, u32 from, u32 end)
{
	const u32 size = sizeof(struct xroce_cqe);

	for (; from != end; from++)
		memcpy(to->slot + (from & mask) * size,
		       cq->ring->slot + (from & cq->mask) * size, size);
}

/* Elements that are copied under the lock, at most. */
#define XROCE_CQ_LOCKED		256
/* And before others are let run. */
#define XROCE_CQ_AT_ONCE	65536u

/**
 * xroce_cq_resize() - go on in another ring, with all that has not been polled
 * @cq: the completion queue
 * @ring: the new ring, all zero
 * @depth: its slots, a power of two
 * @sleeps: the caller may be switched away from
 *
 * Process context, one caller at a time, who frees the old ring. Elements keep
 * their numbers. Return: 0, or -EINVAL: there are more of them than slots, or
 * the user's index is none, or there was an overrun.
 */
int xroce_cq_resize(struct xroce_cq *cq, struct xroce_ring *ring, u32 depth, bool sleeps)
{
	u32 cons = READ_ONCE(cq->ring->cons), from = cons;
	unsigned long flags;
	int err = -EINVAL;
	u32 prod;

	/*
	 * Most of it outside the lock: who may post does not wait for it. What is before
	 * prod is whole, since both are written under the lock.
	 */
	spin_lock_irqsave(&cq->lock, flags);
	while (prod = cq->prod, prod - from > XROCE_CQ_LOCKED) {
		spin_unlock_irqrestore(&cq->lock, flags);
		if (prod - cons > cq->mask + 1 || prod - cons > depth)
			return err;
		prod = from + min(prod - from, XROCE_CQ_AT_ONCE);
		xroce_cq_copy(cq, ring, depth - 1, from, prod);
		from = prod;
		if (sleeps)
			cond_resched();
		spin_lock_irqsave(&cq->lock, flags);
	}
	if (!cq->overrun && prod - cons <= cq->mask + 1 && prod - cons <= depth) {
		xroce_cq_copy(cq, ring, depth - 1, from, prod);
		ring->prod = prod;
		ring->cons = cons;
		ring->arm = READ_ONCE(cq->ring->arm);
		cq->ring = ring;
		cq->mask = depth - 1;
		cq->seen = cons;
		err = 0;
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	return err;
}

/* Is an event asked for, of what was @solicited or of all; then it is no more. */
static bool xroce_cq_armed(struct xroce_cq *cq, bool solicited, u32 cons)
{
	u32 arm = READ_ONCE(cq->ring->arm);

	if (arm != XROCE_ARM_NEXT && !(arm == XROCE_ARM_SOLICITED && solicited))
		return false;
	WRITE_ONCE(cq->ring->arm, XROCE_ARM_NONE);
	cq->told = cq->prod;
	/* Only on: what was polled is paid with once. */
	if (cq->prod - cons < cq->prod - cq->told_cons)
		cq->told_cons = cons;
	return true;
}

/**
 * xroce_cq_missed() - an event is asked for; is there one to raise at once
 * @cq: the completion queue, its lock held
 * @cons: the consumer's index
 *
 * For what is there, of which none has told since the last that was polled: each event
 * costs its user a completion. Events wait to be read in memory that nobody is charged
 * for, as many as there are.
 */
bool xroce_cq_missed(struct xroce_cq *cq, u32 cons)
{
	if (!(cq->prod - cons) || cq->prod - cons > cq->mask + 1)
		return false;
	return (cq->prod != cq->told || (s32)(cons - cq->told_cons) > 0) &&
	       xroce_cq_armed(cq, cq->prod - cq->solicited < cq->prod - cons, cons);
}

/**
 * xroce_cq_post() - add a completion
 * @cq: the completion queue
 * @cqe: complete but for the time, which is 0 where nobody asks for it
 * @solicited: the sender asked for an event; errors always count as such
 *
 * A full queue loses the completion and everything after it, and says so once
 * (IBTA 11.6.3.3, C11-39).
 *
 * Return: false when it is lost.
 */
bool xroce_cq_post(struct xroce_cq *cq, struct xroce_cqe *cqe, bool solicited)
{
	bool event = false, overrun = false, fits;
	struct xroce_ring *ring;
	unsigned long flags;

	if (cq->stamped)
		cqe->timestamp = xroce_env_now() + cq->clock;
	trace_xroce_completion(cq, cqe);
	spin_lock_irqsave(&cq->lock, flags);
	ring = cq->ring;
	/* Whoever polls writes it meanwhile. */
	if (cq->prod - cq->seen > cq->mask)
		/* Pairs with the consumer's release: the slot has been read. */
		cq->seen = smp_load_acquire(&ring->cons);
	fits = !cq->overrun && cq->prod - cq->seen <= cq->mask;
	if (!fits) {
		overrun = !cq->overrun;
		cq->overrun = true;
	} else {
		memcpy(ring->slot + (cq->prod & cq->mask) * sizeof(*cqe), cqe, sizeof(*cqe));
		/* Pairs with the consumer's acquire: the slot is written. */
		smp_store_release(&ring->prod, ++cq->prod);
		/* Pairs with the barrier between arming and the last look. */
		smp_mb();
		if (solicited || cqe->status)
			cq->solicited = cq->prod;
		event = xroce_cq_armed(cq, cq->solicited == cq->prod, cq->seen);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	if (overrun) {
		xroce_env_count(cq->dev, XROCE_CNT_CQ_OVERRUN, 1);
		xroce_env_cq_error(cq);
	}
	if (event)
		xroce_env_cq_event(cq);
	return fits;
}
