// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queue verbs. Process context, but for polling and arming by the
 * kernel's consumers, which is legal anywhere; kcq->resize guards the ring's change.
 * The core fills the ring, the user empties it and arms it without asking.
 */
#include <linux/log2.h>
#include <linux/time_namespace.h>

#include "xroce.h"

static void xroce_kcq_destroy(struct xroce_kcq *kcq)
{
	struct xroce_link *link = xroce_dev_link(kcq->cq.dev);

	/* Its QPs are gone: nothing is posted; its handler may be queued. */
	xroce_kcq_put(kcq);
	wait_for_completion(&kcq->gone);
	/* A dump of resources may be looking, under RCU. */
	WRITE_ONCE(to_kcq(kcq->ib), NULL);
	spin_lock_irq(&kcq->cq.lock);
	kcq->cq.ring = NULL;
	spin_unlock_irq(&kcq->cq.lock);
	xroce_ring_free(kcq->ring);
	kfree_rcu(kcq, rcu);
	atomic_dec(&link->cqs);
}

static int xroce_ib_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
			      struct uverbs_attr_bundle *attrs)
{
	struct ib_udata *udata = attrs ? &attrs->driver_udata : NULL;
	struct xroce_link *link = to_xlink(ib->device);
	struct xroce_create_cq_resp resp = {};
	struct timespec64 clock = {};
	struct xroce_kcq *kcq;
	u32 depth;
	int err;

	if ((attr->flags & ~IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION) || xroce_udata_unknown(udata))
		return -EOPNOTSUPP;
	if ((udata && udata->outlen < sizeof(resp)) || !attr->cqe ||
	    attr->cqe > XROCE_MAX_CQE || attr->comp_vector >= ib->device->num_comp_vectors)
		return -EINVAL;
	kcq = kzalloc(sizeof(*kcq), GFP_KERNEL_ACCOUNT);
	if (!kcq)
		return -ENOMEM;
	err = -ENOMEM;
	if (!atomic_add_unless(&link->cqs, 1, XROCE_MAX_CQ))
		goto err_free;
	depth = roundup_pow_of_two(attr->cqe);
	kcq->ring = xroce_ring_alloc(xroce_udata_uctx(udata), depth,
				     sizeof(struct xroce_cqe), &resp.ring);
	if (IS_ERR(kcq->ring)) {
		err = PTR_ERR(kcq->ring);
		goto err_count;
	}
	kcq->ib = ib;
	kcq->cq.stamped = attr->flags;
	/* In its own time namespace its user asks for the time. */
	if (udata)
		timens_add_monotonic(&clock);
	kcq->cq.clock = timespec64_to_ns(&clock);
	kcq->cpu = attr->comp_vector ? attr->comp_vector % num_possible_cpus() : -1;
	refcount_set(&kcq->users, 1);
	init_completion(&kcq->gone);
	spin_lock_init(&kcq->poll_lock);
	mutex_init(&kcq->resize);
	xroce_cq_init(&kcq->cq, &link->dev, kcq->ring->ring, depth);
	to_kcq(ib) = kcq;
	ib->cqe = depth;
	if (!udata)
		return 0;
	err = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (err)
		xroce_kcq_destroy(kcq);
	return err;

err_count:
	atomic_dec(&link->cqs);
err_free:
	kfree(kcq);
	return err;
}

static int xroce_ib_destroy_cq(struct ib_cq *ib, struct ib_udata *udata)
{
	xroce_kcq_destroy(to_kcq(ib));
	return 0;
}

/*
 * Its user has the CQ's lock, so that nobody polls; who does all the same may
 * lose what is his. In the old ring's mapping nothing changes any more.
 */
static int xroce_ib_resize_cq(struct ib_cq *ib, xroce_cqe_count cqe, struct ib_udata *udata)
{
	struct xroce_kcq *kcq = to_kcq(ib);
	struct xroce_create_cq_resp resp = {};
	struct xroce_umem_ring *ring;
	u32 depth;
	int err;

	if (!udata || xroce_udata_unknown(udata))
		return -EOPNOTSUPP;
	if (udata->outlen < sizeof(resp) || !cqe || (u32)cqe > XROCE_MAX_CQE)
		return -EINVAL;
	depth = roundup_pow_of_two(cqe);
	ring = xroce_ring_alloc(xroce_udata_uctx(udata), depth,
				sizeof(struct xroce_cqe), &resp.ring);
	if (IS_ERR(ring))
		return PTR_ERR(ring);
	guard(mutex)(&kcq->resize);
	err = ib_copy_to_udata(udata, &resp, sizeof(resp)) ?:
	      xroce_cq_resize(&kcq->cq, ring->ring, depth, true);
	if (!err) {
		swap(kcq->ring, ring);
		ib->cqe = depth;
	}
	xroce_ring_free(ring);
	return err;
}

/**
 * xroce_kcq_reserve() - room for all that a QP of a kernel consumer's may flush
 * @ib: its CQ, or NULL
 * @n: slots of its queue; xroce_kcq_unreserve() takes as many
 *
 * Some ask for fewer elements than their queues have slots, most of which complete without
 * one, but for errors, and a CQ that was overrun serves nobody any more, nor a drain.
 *
 * Return: 0, or what xroce_ring_alloc() or xroce_cq_resize() says.
 */
int xroce_kcq_reserve(struct ib_cq *ib, u32 n)
{
	struct xroce_umem_ring *ring;
	struct xroce_kcq *kcq;
	unsigned long flags;
	int err = 0;
	u32 depth;

	if (!ib)
		return 0;
	kcq = to_kcq(ib);
	guard(mutex)(&kcq->resize);
	depth = roundup_pow_of_two(min_t(u64, kcq->reserved + n, XROCE_MAX_CQE));
	if (depth > kcq->cq.mask + 1) {
		ring = xroce_ring_alloc(NULL, depth, sizeof(struct xroce_cqe), NULL);
		if (IS_ERR(ring))
			return PTR_ERR(ring);
		spin_lock_irqsave(&kcq->poll_lock, flags);
		err = xroce_cq_resize(&kcq->cq, ring->ring, depth, false);
		spin_unlock_irqrestore(&kcq->poll_lock, flags);
		if (!err)
			swap(kcq->ring, ring);
		xroce_ring_free(ring);
	}
	if (!err)
		kcq->reserved += n;
	return err;
}

void xroce_kcq_unreserve(struct ib_cq *ib, u32 n)
{
	if (!ib)
		return;
	guard(mutex)(&to_kcq(ib)->resize);
	to_kcq(ib)->reserved -= n;
}

/*
 * A user does the same in the ring, and asks here besides when something is there that no event
 * told it of: NICs, which know how far it has polled, tell it at once, and UCX waits without
 * another look. A request for any completion is not weakened by one for a solicited one.
 */
static int xroce_ib_req_notify_cq(struct ib_cq *ib, enum ib_cq_notify_flags flags)
{
	bool solicited = (flags & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED;
	struct xroce_cq *cq = &to_kcq(ib)->cq;
	bool event, missed;
	unsigned long irq;
	u32 cons;

	/* Against a completion, and against a user who resizes it meanwhile. */
	spin_lock_irqsave(&cq->lock, irq);
	if (!solicited)
		WRITE_ONCE(cq->ring->arm, XROCE_ARM_NEXT);
	else if (READ_ONCE(cq->ring->arm) != XROCE_ARM_NEXT)
		WRITE_ONCE(cq->ring->arm, XROCE_ARM_SOLICITED);
	cons = READ_ONCE(cq->ring->cons);
	missed = cq->prod != cons;
	event = ib->uobject && xroce_cq_missed(cq, cons);
	spin_unlock_irqrestore(&cq->lock, irq);
	if (event)
		xroce_env_cq_event(cq);
	return missed && (flags & IB_CQ_REPORT_MISSED_EVENTS);
}

const struct ib_device_ops xroce_cq_ops = {
	.create_cq = xroce_ib_create_cq,
	.destroy_cq = xroce_ib_destroy_cq,
	.req_notify_cq = xroce_ib_req_notify_cq,
	.resize_user_cq = xroce_ib_resize_cq,
	INIT_RDMA_OBJ_SIZE(ib_cq, xroce_ibcq, ib),
};
