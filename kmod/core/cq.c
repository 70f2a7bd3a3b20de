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
void xroce_cq_init(struct xroce_cq *cq, struct xroce_dev *dev,
		   struct xroce_ring *ring, u32 depth)
{
	spin_lock_init(&cq->lock);
	cq->mask = depth - 1;
	cq->prod = 0;
	cq->overrun = false;
	cq->ring = ring;
	cq->dev = dev;
}

static bool xroce_cq_armed(struct xroce_ring *ring, bool solicited)
{
	u32 arm = READ_ONCE(ring->arm);

	if (arm != XROCE_ARM_NEXT && !(arm == XROCE_ARM_SOLICITED && solicited))
		return false;
	WRITE_ONCE(ring->arm, XROCE_ARM_NONE);
	return true;
}

/**
 * xroce_cq_post() - add a completion
 * @cq: the completion queue
 * @cqe: complete but for the time
 * @solicited: the sender asked for an event; errors always count as such
 *
 * A full queue loses the completion and everything after it, and says so once
 * (IBTA 11.6.3.3, C11-39).
 */
void xroce_cq_post(struct xroce_cq *cq, struct xroce_cqe *cqe, bool solicited)
{
	struct xroce_ring *ring = cq->ring;
	bool event = false, overrun = false;
	unsigned long flags;

	cqe->timestamp = xroce_env_now();
	trace_xroce_completion(cq, cqe);
	spin_lock_irqsave(&cq->lock, flags);
	/* Pairs with the consumer's release: the slot has been read. */
	if (cq->overrun || cq->prod - smp_load_acquire(&ring->cons) > cq->mask) {
		overrun = !cq->overrun;
		cq->overrun = true;
	} else {
		memcpy(ring->slot + (cq->prod & cq->mask) * sizeof(*cqe), cqe,
		       sizeof(*cqe));
		/* Pairs with the consumer's acquire: the slot is written. */
		smp_store_release(&ring->prod, ++cq->prod);
		/* Pairs with the barrier between arming and the last look. */
		smp_mb();
		event = xroce_cq_armed(ring, solicited || cqe->status);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	if (overrun)
		xroce_env_cq_error(cq);
	if (event)
		xroce_env_cq_event(cq);
}
