// SPDX-License-Identifier: GPL-2.0
/*
 * Shared receive queue verbs. Process context, serialised by the consumer; the
 * core takes from the ring under the queue's own lock, which guards the limit.
 */
#include "xroce.h"

static int xroce_ib_destroy_srq(struct ib_srq *ib, struct ib_udata *udata)
{
	/* Its QPs are gone, and with them who would take from it. */
	xroce_ring_free(to_ksrq(ib)->ring);
	atomic_dec(&to_xlink(ib->device)->srqs);
	return 0;
}

static int xroce_ib_create_srq(struct ib_srq *ib,
			       struct ib_srq_init_attr *init,
			       struct ib_udata *udata)
{
	struct xroce_link *link = to_xlink(ib->device);
	struct xroce_ksrq *srq = to_ksrq(ib);
	struct xroce_create_srq_resp resp = {};
	int err;

	if (init->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (!init->attr.max_wr || init->attr.max_wr > XROCE_MAX_QP_WR ||
	    init->attr.max_sge > XROCE_MAX_SGE ||
	    init->attr.srq_limit > init->attr.max_wr ||
	    (udata && udata->outlen < sizeof(resp)))
		return -EINVAL;
	if (!atomic_add_unless(&link->srqs, 1, XROCE_MAX_SRQ))
		return -ENOMEM;
	srq->ring = xroce_rq_alloc(&srq->rq, xroce_udata_uctx(udata),
				   &init->attr.max_wr, init->attr.max_sge,
				   &resp.ring);
	if (IS_ERR(srq->ring)) {
		atomic_dec(&link->srqs);
		return PTR_ERR(srq->ring);
	}
	srq->rq.pd = ib->pd;
	srq->rq.limit = init->attr.srq_limit;
	srq->max_wr = init->attr.max_wr;
	spin_lock_init(&srq->post_lock);
	if (!udata)
		return 0;
	err = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (err)
		xroce_ib_destroy_srq(ib, udata);
	return err;
}

static int xroce_ib_modify_srq(struct ib_srq *ib, struct ib_srq_attr *attr,
			       enum ib_srq_attr_mask mask,
			       struct ib_udata *udata)
{
	struct xroce_ksrq *srq = to_ksrq(ib);

	if (mask & ~IB_SRQ_LIMIT)
		return -EOPNOTSUPP;
	if (mask & IB_SRQ_LIMIT) {
		if (attr->srq_limit > srq->max_wr)
			return -EINVAL;
		spin_lock_irq(&srq->rq.lock);
		srq->rq.limit = attr->srq_limit;
		spin_unlock_irq(&srq->rq.lock);
	}
	return 0;
}

static int xroce_ib_query_srq(struct ib_srq *ib, struct ib_srq_attr *attr)
{
	struct xroce_ksrq *srq = to_ksrq(ib);

	attr->max_wr = srq->max_wr;
	attr->max_sge = srq->rq.max_sge;
	attr->srq_limit = READ_ONCE(srq->rq.limit);
	return 0;
}

const struct ib_device_ops xroce_srq_ops = {
	.create_srq = xroce_ib_create_srq,
	.destroy_srq = xroce_ib_destroy_srq,
	.modify_srq = xroce_ib_modify_srq,
	.query_srq = xroce_ib_query_srq,
	INIT_RDMA_OBJ_SIZE(ib_srq, xroce_ksrq, ib),
};
