// SPDX-License-Identifier: GPL-2.0
/*
 * Shared receive queue verbs. Process context; the queue's mutex makes one modify at a time.
 * The core takes from the ring under the queue's own lock, which guards ring and limit.
 */
#include "xroce.h"

static void ksrq_destroy(struct xroce_ksrq *srq)
{
	struct xroce_link *link = to_xlink(srq->ib->device);

	/* Its QPs are gone, and with them who would take from it; not XRC's. */
	if (srq->entry.number)
		xroce_table_del(&xroce_srqs, &srq->entry, link);
	xroce_env_srq_put(&srq->rq);
	wait_for_completion(&srq->gone);
	/* A dump of resources may be looking, under RCU. */
	WRITE_ONCE(to_ksrq(srq->ib), NULL);
	spin_lock_bh(&srq->rq.lock);
	srq->rq.ring = NULL;
	spin_unlock_bh(&srq->rq.lock);
	xroce_ring_free(srq->ring);
	kfree_rcu(srq, rcu);
	atomic_dec(&link->srqs);
}

static int xroce_ib_destroy_srq(struct ib_srq *ib, struct ib_udata *udata)
{
	ksrq_destroy(to_ksrq(ib));
	return 0;
}

/* What a packet names, and any QP of its domain may take from. */
static int ksrq_publish(struct xroce_ksrq *srq, const struct ib_srq_init_attr *init)
{
	int err;

	srq->rq.xrcd = init->ext.xrc.xrcd;
	srq->rq.cq = &to_kcq(init->ext.cq)->cq;
	err = xroce_table_reserve(&xroce_srqs, &srq->entry, to_xlink(srq->ib->device));
	if (err)
		return err;
	xroce_table_publish(&xroce_srqs, &srq->entry, srq);
	srq->ib->ext.xrc.srq_num = srq->entry.number;
	return 0;
}

static int xroce_ib_create_srq(struct ib_srq *ib, struct ib_srq_init_attr *init,
			       struct ib_udata *udata)
{
	struct xroce_link *link = to_xlink(ib->device);
	struct xroce_create_srq_resp resp = {};
	struct xroce_ksrq *srq;
	int err;

	if ((init->srq_type != IB_SRQT_BASIC && (init->srq_type != IB_SRQT_XRC || !udata)) ||
	    xroce_udata_unknown(udata))
		return -EOPNOTSUPP;
	if (!init->attr.max_wr || init->attr.max_wr > XROCE_MAX_QP_WR ||
	    init->attr.max_sge > XROCE_MAX_SGE || (udata && udata->outlen < sizeof(resp)))
		return -EINVAL;
	srq = kzalloc(sizeof(*srq), GFP_KERNEL_ACCOUNT);
	if (!srq)
		return -ENOMEM;
	err = -ENOMEM;
	if (!atomic_add_unless(&link->srqs, 1, XROCE_MAX_SRQ))
		goto err_free;
	srq->ring = xroce_rq_alloc(&srq->rq, xroce_udata_uctx(udata),
				   &init->attr.max_wr, init->attr.max_sge, &resp.ring);
	err = PTR_ERR_OR_ZERO(srq->ring);
	if (err)
		goto err_count;
	srq->ib = ib;
	srq->rq.pd = ib->pd;
	refcount_set(&srq->users, 1);
	init_completion(&srq->gone);
	spin_lock_init(&srq->post_lock);
	mutex_init(&srq->modify);
	to_ksrq(ib) = srq;
	if (init->srq_type == IB_SRQT_XRC)
		err = ksrq_publish(srq, init);
	resp.srqn = srq->entry.number;
	if (!err && udata)
		err = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (err)
		ksrq_destroy(srq);
	return err;

err_count:
	atomic_dec(&link->srqs);
err_free:
	kfree(srq);
	return err;
}

/* Its user has the SRQ's lock, so that nobody posts. */
static int ksrq_resize(struct xroce_ksrq *srq, u32 max_wr, struct ib_udata *udata)
{
	struct xroce_create_srq_resp resp = { .srqn = srq->entry.number };
	struct xroce_umem_ring *ring;
	struct xroce_modify_srq cmd;
	u32 depth;
	int err;

	if (!udata)
		return -EOPNOTSUPP;
	if (udata->inlen < sizeof(cmd) || !max_wr || max_wr > XROCE_MAX_QP_WR)
		return -EINVAL;
	err = xroce_udata_in(udata, &cmd, sizeof(cmd));
	if (err)
		return err;
	depth = roundup_pow_of_two(max_wr);
	ring = xroce_ring_alloc(xroce_udata_uctx(udata), depth, srq->rq.stride, &resp.ring);
	if (IS_ERR(ring))
		return PTR_ERR(ring);
	if (copy_to_user(u64_to_user_ptr(cmd.resp), &resp, sizeof(resp)))
		err = -EFAULT;
	else
		err = xroce_rq_resize(&srq->rq, ring->ring, depth);
	if (!err)
		swap(srq->ring, ring);
	xroce_ring_free(ring);
	return err;
}

static int xroce_ib_modify_srq(struct ib_srq *ib, struct ib_srq_attr *attr,
			       enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct xroce_ksrq *srq = to_ksrq(ib);
	int err = 0;

	if (mask & ~(IB_SRQ_LIMIT | IB_SRQ_MAX_WR))
		return -EOPNOTSUPP;
	guard(mutex)(&srq->modify);
	if (mask & IB_SRQ_LIMIT && attr->srq_limit >
	    (mask & IB_SRQ_MAX_WR ? attr->max_wr : srq->rq.mask + 1))
		return -EINVAL;
	if (mask & IB_SRQ_MAX_WR)
		err = ksrq_resize(srq, attr->max_wr, udata);
	if (!err && mask & IB_SRQ_LIMIT) {
		spin_lock_bh(&srq->rq.lock);
		srq->rq.limit = attr->srq_limit;
		spin_unlock_bh(&srq->rq.lock);
	}
	return err;
}

static int xroce_ib_query_srq(struct ib_srq *ib, struct ib_srq_attr *attr)
{
	struct xroce_ksrq *srq = to_ksrq(ib);

	attr->max_wr = READ_ONCE(srq->rq.mask) + 1;
	attr->max_sge = srq->rq.max_sge;
	attr->srq_limit = READ_ONCE(srq->rq.limit);
	return 0;
}

const struct ib_device_ops xroce_srq_ops = {
	.create_srq = xroce_ib_create_srq,
	.destroy_srq = xroce_ib_destroy_srq,
	.modify_srq = xroce_ib_modify_srq,
	.query_srq = xroce_ib_query_srq,
	INIT_RDMA_OBJ_SIZE(ib_srq, xroce_ibsrq, ib),
};
