// SPDX-License-Identifier: GPL-2.0
/*
 * Receive queues: copying one work request out of the mapped ring. rq->lock,
 * BH, held for the copy only; inside the QP's lock.
 */
#include "core.h"

/**
 * xroce_rq_init() - an empty receive queue
 * @rq: the receive queue
 * @ring: the ring that it shares with its user
 * @depth: slots of @ring, a power of two
 * @stride: from one slot to the next, in bytes
 * @max_sge: pieces of memory that a slot has room for
 */
void xroce_rq_init(struct xroce_rq *rq, struct xroce_ring *ring, u32 depth, u32 stride, u32 max_sge)
{
	*rq = (struct xroce_rq){
		.mask = depth - 1,
		.stride = stride,
		.max_sge = max_sge,
		.ring = ring,
	};
	spin_lock_init(&rq->lock);
}

/* Slots that are copied before others are let run. */
#define XROCE_RQ_AT_ONCE	4096

/**
 * xroce_rq_resize() - go on in another ring
 * @rq: a shared receive queue, one caller at a time
 * @ring: the ring, all zero; the old one is the caller's again
 * @depth: its slots, a power of two
 *
 * Process context. Return: 0; -EINVAL when what is posted does not fit, -EBUSY when
 * somebody posts meanwhile, who is to wait. What is copied in vain nobody sees.
 */
int xroce_rq_resize(struct xroce_rq *rq, struct xroce_ring *ring, u32 depth)
{
	u32 mask = depth - 1, prod, cons, i;
	struct xroce_ring *old = rq->ring;
	int ret = -EBUSY;

	spin_lock_bh(&rq->lock);
	cons = rq->cons;
	spin_unlock_bh(&rq->lock);
	/* Pairs with the user's release. */
	prod = smp_load_acquire(&old->prod);
	if (prod - cons > min(mask, rq->mask) + 1)
		return -EINVAL;
	for (i = cons; i != prod; i++) {
		memcpy(ring->slot + (i & mask) * rq->stride,
		       old->slot + (i & rq->mask) * rq->stride, rq->stride);
		if (!(i % XROCE_RQ_AT_ONCE))
			cond_resched();
	}
	WRITE_ONCE(ring->prod, prod);
	spin_lock_bh(&rq->lock);
	if (READ_ONCE(old->prod) == prod) {
		WRITE_ONCE(ring->cons, rq->cons);
		rq->ring = ring;
		rq->prod = rq->cons;
		rq->mask = mask;
		ret = 0;
	}
	spin_unlock_bh(&rq->lock);
	return ret;
}

/**
 * xroce_rq_take() - take the next receive work request into resp.wqe
 * @qp: the queue pair
 *
 * Under the QP's lock. The wr_id is right even on error.
 *
 * Return: 1, 0 when there is none, -EINVAL when it is malformed (and taken).
 */
int xroce_rq_take(struct xroce_qp *qp)
{
	struct xroce_rwqe *wqe = qp->resp.wqe;
	const struct xroce_recv_wqe *slot;
	struct xroce_rq *rq = qp->rq;
	u32 i, n, num = 0;
	u64 len = 0;
	int ret = 0;
	bool few;

	spin_lock(&rq->lock);
	if (rq->prod == rq->cons || rq->limit)
		/* Pairs with the user's release. */
		rq->prod = smp_load_acquire(&rq->ring->prod);
	/* More than there are slots is garbage: there are none then. */
	if (rq->prod - rq->cons > rq->mask + 1)
		rq->prod = rq->cons;
	n = rq->prod - rq->cons;
	/* Also where nothing is left of what was there when it was set. */
	few = n - !!n < rq->limit;
	if (few)
		rq->limit = 0;
	if (!n)
		goto out;
	slot = (const void *)(rq->ring->slot + (rq->cons & rq->mask) * rq->stride);
	/* Each once: its user may write there. */
	wqe->wr_id = READ_ONCE(slot->wr_id);
	n = READ_ONCE(slot->num_sge);
	num = min(n, rq->max_sge);
	wqe->num_sge = num;
	if (num == 1)
		memcpy(wqe->sge, slot->sge, sizeof(wqe->sge[0]));
	else
		memcpy(wqe->sge, slot->sge, num * sizeof(wqe->sge[0]));
	/* Pairs with the user's acquire: the slot has been read. */
	smp_store_release(&rq->ring->cons, ++rq->cons);
	ret = n > num ? -EINVAL : 1;
out:
	spin_unlock(&rq->lock);
	if (few)
		xroce_env_srq_limit(rq);
	if (ret > 0) {
		for (i = 0; i < num; i++)
			len += wqe->sge[i].length;
		wqe->len = min_t(u64, len, XROCE_MAX_MSG);
	}
	return ret;
}
