// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pair verbs. Process context; kqp->mutex makes one modify at a time and
 * guards the attributes as the user set them.
 */
#include <linux/log2.h>

#include "xroce.h"

/*
 * A right to what no region has is an empty one, and what only regions have means
 * nothing: programs have one set of flags for both.
 */
#define XROCE_QP_ACCESS (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
			 IB_ACCESS_FLUSH_GLOBAL | IB_ACCESS_FLUSH_PERSISTENT | \
			 IB_ACCESS_MW_BIND | IB_ACCESS_HUGETLB | IB_ACCESS_OPTIONAL)

static void kqp_free_rcu(struct rcu_head *rcu)
{
	struct xroce_kqp *kqp = container_of(rcu, struct xroce_kqp, rcu);

	kvfree(kqp->qp.req.wqe);
	kvfree(kqp->qp.req.swq);
	kvfree(kqp->qp.resp.rd);
	kfree(kqp);
}

/* A QP that the core has not seen, or has been made to forget. */
static void kqp_free(struct xroce_kqp *kqp)
{
	xroce_ring_free(kqp->sq_ring);
	xroce_ring_free(kqp->rq_ring);
	mutex_destroy(&kqp->mutex);
	/* A run that was under way may look at all but the rings. */
	call_rcu(&kqp->rcu, kqp_free_rcu);
}

/* Let it be found: QP 1 by its link, the others by a number of their own. */
static int kqp_publish(struct xroce_kqp *kqp, enum ib_qp_type type)
{
	int err;

	if (type == IB_QPT_GSI) {
		kqp->qp.hot.qpn = XROCE_GSI_QPN;
		kqp->ib->qp_num = XROCE_GSI_QPN;
		return cmpxchg((struct xroce_kqp **)&kqp->link->gsi, NULL, kqp) ? -EBUSY : 0;
	}
	err = xroce_table_reserve(&xroce_qps, &kqp->entry, kqp->link);
	if (err)
		return err;
	kqp->qp.hot.qpn = kqp->entry.number;
	kqp->ib->qp_num = kqp->entry.number;
	xroce_table_publish(&xroce_qps, &kqp->entry, kqp);
	return 0;
}

/* Slots of the queue that it takes receives from: nobody resizes a kernel consumer's. */
static u32 kqp_receives(const struct xroce_kqp *kqp)
{
	return kqp->qp.rq ? kqp->qp.rq->mask + 1 : 0;
}

/* Room in the CQs for all that a kernel consumer's QP may flush */
static int kqp_reserve(struct xroce_kqp *kqp)
{
	int err;

	if (!kqp->qp.req.trusted)
		return 0;
	err = xroce_kcq_reserve(kqp->ib->send_cq, kqp->qp.req.depth);
	if (err)
		return err;
	err = xroce_kcq_reserve(kqp->ib->recv_cq, kqp_receives(kqp));
	if (err)
		xroce_kcq_unreserve(kqp->ib->send_cq, kqp->qp.req.depth);
	return err;
}

static void kqp_unreserve(struct xroce_kqp *kqp)
{
	if (!kqp->qp.req.trusted)
		return;
	xroce_kcq_unreserve(kqp->ib->send_cq, kqp->qp.req.depth);
	xroce_kcq_unreserve(kqp->ib->recv_cq, kqp_receives(kqp));
}

static void kqp_unpublish(struct xroce_kqp *kqp)
{
	if (kqp->ib->qp_num == XROCE_GSI_QPN)
		RCU_INIT_POINTER(kqp->link->gsi, NULL);
	else
		xroce_table_del(&xroce_qps, &kqp->entry, kqp->link);
}

static void kqp_destroy(struct xroce_kqp *kqp)
{
	kqp_unpublish(kqp);
	if (kqp->poller)
		xroce_poller_del(kqp);
	xroce_qp_kill(&kqp->qp);
	/* Nobody starts it any more; its callback holds no reference. */
	hrtimer_cancel(&kqp->timer);
	xroce_kqp_put(kqp);
	wait_for_completion(&kqp->gone);
	if (kqp->qp.req.trusted && kqp->ib->send_cq)
		xroce_kcq_settle(to_kcq(kqp->ib->send_cq));
	if (kqp->qp.req.trusted && kqp->ib->recv_cq)
		xroce_kcq_settle(to_kcq(kqp->ib->recv_cq));
	kqp_unreserve(kqp);
	kqp_free(kqp);
}

static int kqp_alloc_sq(struct xroce_kqp *kqp, struct xroce_uctx *uctx,
			struct ib_qp_cap *cap, struct xroce_ring_info *info)
{
	struct xroce_req *req = &kqp->qp.req;
	u32 depth, stride;

	depth = roundup_pow_of_two(max(cap->max_send_wr, 1U));
	stride = ALIGN(sizeof(struct xroce_send_wqe) +
		       max3(cap->max_inline_data, (u32)sizeof(u64),
			    cap->max_send_sge * (u32)sizeof(struct xroce_sge)), XROCE_SLOT_ALIGN);
	/*
	 * All that there is room for, since some programs do not ask; what an
	 * atomic WRITE writes always is.
	 */
	cap->max_inline_data = min(stride - sizeof(struct xroce_send_wqe), XROCE_MAX_INLINE);
	req->wqe = kvcalloc(depth, stride, XROCE_GFP_QUEUE);
	req->swq = kvcalloc(depth, sizeof(*req->swq), XROCE_GFP_QUEUE);
	if (!req->wqe || !req->swq)
		return -ENOMEM;
	kqp->sq_ring = xroce_ring_alloc(uctx, depth, stride, info);
	if (IS_ERR(kqp->sq_ring))
		return PTR_ERR(kqp->sq_ring);
	req->ring = kqp->sq_ring->ring;
	req->depth = depth;
	req->stride = stride;
	req->max_sge = cap->max_send_sge;
	req->max_inline = cap->max_inline_data;
	cap->max_send_wr = depth;
	return 0;
}

static int kqp_alloc_rq(struct xroce_kqp *kqp, struct xroce_uctx *uctx,
			struct ib_qp_cap *cap, struct xroce_ring_info *info)
{
	if (kqp->qp.rq != &kqp->own_rq) {
		cap->max_recv_wr = 0;
		cap->max_recv_sge = 0;
		return 0;
	}
	kqp->rq_ring = xroce_rq_alloc(&kqp->own_rq, uctx, &cap->max_recv_wr,
				      cap->max_recv_sge, info);
	return PTR_ERR_OR_ZERO(kqp->rq_ring);
}

static const u8 kqp_transport[] = {
	[IB_QPT_RC] = XROCE_RC, [IB_QPT_UC] = XROCE_UC,
	[IB_QPT_UD] = XROCE_UD, [IB_QPT_GSI] = XROCE_UD,
	[IB_QPT_XRC_INI] = XROCE_XRC, [IB_QPT_XRC_TGT] = XROCE_XRC,
};

static int kqp_check_init(const struct ib_qp_init_attr *init, bool user)
{
	bool receives = !init->srq && init->qp_type != IB_QPT_XRC_INI;
	const struct ib_qp_cap *cap = &init->cap;

	if (init->rwq_ind_tbl || init->create_flags)
		return -EOPNOTSUPP;
	switch (init->qp_type) {
	case IB_QPT_RC:
	case IB_QPT_UC:
	case IB_QPT_UD:
	case IB_QPT_XRC_INI:
		break;
	case IB_QPT_XRC_TGT:
		/* It has no queues; nor does it tell whose it is. */
		return init->xrcd ? 0 : -EINVAL;
	case IB_QPT_GSI:
		if (user || init->port_num != 1)
			return -EINVAL;
		break;
	default:
		return -EOPNOTSUPP;
	}
	if (!init->send_cq || (!init->recv_cq && init->qp_type != IB_QPT_XRC_INI) ||
	    (init->srq && init->srq->srq_type != IB_SRQT_BASIC) ||
	    cap->max_send_wr > XROCE_MAX_QP_WR || cap->max_send_sge > XROCE_MAX_SGE ||
	    (receives && (cap->max_recv_wr > XROCE_MAX_QP_WR ||
			  cap->max_recv_sge > XROCE_MAX_SGE)) ||
	    cap->max_inline_data > XROCE_MAX_INLINE)
		return -EINVAL;
	return 0;
}

static struct xroce_kqp *kqp_alloc(struct ib_qp *ib,
				   const struct ib_qp_init_attr *init, bool trusted)
{
	struct xroce_link *link = to_xlink(ib->device);
	struct xroce_kqp *kqp;
	struct xroce_qp *qp;

	kqp = kzalloc(sizeof(*kqp), GFP_KERNEL_ACCOUNT);
	if (!kqp)
		return NULL;
	kqp->ib = ib;
	kqp->link = link;
	kqp->steer_cpu = XROCE_XDP_CPU_STAY;
	kqp->steered = XROCE_XDP_CPU_STAY;
	mutex_init(&kqp->mutex);
	spin_lock_init(&kqp->post_lock);
	refcount_set(&kqp->users, 1);
	init_completion(&kqp->gone);
	xroce_timer_init(kqp);

	qp = &kqp->qp;
	qp->dev = &link->dev;
	qp->pd = ib->pd;
	if (init->qp_type == IB_QPT_XRC_TGT)
		qp->xrcd = init->xrcd;
	else
		qp->scq = &to_kcq(init->send_cq)->cq;
	qp->hot.transport = kqp_transport[init->qp_type];
	if (qp->hot.transport != XROCE_XRC) {
		qp->rcq = &to_kcq(init->recv_cq)->cq;
		qp->srq = init->srq;
		qp->rq = init->srq ? &to_ksrq(init->srq)->rq : &kqp->own_rq;
	}
	qp->hot.mtu_shift = 8;
	qp->pkey = XROCE_PKEY_DEFAULT;
	qp->req.trusted = trusted;
	qp->req.sig_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->resp.wqe = &kqp->rwqe;
	return kqp;
}

static int xroce_ib_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *init,
			      struct ib_udata *udata)
{
	struct xroce_create_qp_resp resp = {};
	struct xroce_create_qp req = {};
	struct xroce_uctx *uctx = xroce_udata_uctx(udata);
	struct xroce_kqp *kqp;
	int err;

	if (udata && udata->outlen < sizeof(resp))
		return -EINVAL;
	err = xroce_udata_in(udata, &req, sizeof(req)) ?: kqp_check_init(init, udata);
	if (err) {
		ibdev_dbg(ib->device, "no QP of type %u as asked for: %d\n", init->qp_type, err);
		return err;
	}
	if (init->qp_type == IB_QPT_XRC_TGT)
		memset(&init->cap, 0, sizeof(init->cap));
	/* An XRC target is made in the name of nobody, and serves users. */
	kqp = kqp_alloc(ib, init, !udata && init->qp_type != IB_QPT_XRC_TGT);
	if (!kqp)
		return -ENOMEM;
	kqp->qp.user_handle = init->qp_type == IB_QPT_XRC_TGT ? 0 : req.user_handle;
	err = kqp_alloc_sq(kqp, uctx, &init->cap, &resp.sq) ?:
	      kqp_alloc_rq(kqp, uctx, &init->cap, &resp.rq);
	if (err)
		goto err_free;
	if (init->qp_type == IB_QPT_XRC_TGT)
		memset(&init->cap, 0, sizeof(init->cap));
	kqp->attr.cap = init->cap;
	xroce_qp_init(&kqp->qp);
	err = kqp_reserve(kqp);
	if (err)
		goto err_free;
	err = kqp_publish(kqp, init->qp_type);
	if (err)
		goto err_unreserve;
	to_kqp(ib) = kqp;
	if (uctx && uctx->poller)
		xroce_poller_add(uctx->poller, kqp);
	if (!udata)
		return 0;
	err = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (err)
		kqp_destroy(kqp);
	return err;

err_unreserve:
	kqp_unreserve(kqp);
err_free:
	kqp_free(kqp);
	return err;
}

static int xroce_ib_destroy_qp(struct ib_qp *ib, struct ib_udata *udata)
{
	struct xroce_kqp *kqp = to_kqp(ib);

	/*
	 * ib_mad's handler of a datagram may have begun before its port was closed,
	 * sleeps for an answer's neighbour, and then posts a receive once more.
	 */
	if (ib->qp_type == IB_QPT_GSI && ib->recv_cq->comp_wq)
		flush_work(&ib->recv_cq->work);
	xroce_counter_leave(ib);
	kqp_destroy(kqp);
	return 0;
}

/* Every attribute's own range; what is not here is not offered. */
static int kqp_check_attr(const struct xroce_kqp *kqp, const struct ib_qp_attr *attr, int mask)
{
	if (mask & ~(IB_QP_STATE | IB_QP_CUR_STATE | IB_QP_ACCESS_FLAGS | IB_QP_AV |
		     IB_QP_EN_SQD_ASYNC_NOTIFY | IB_QP_PKEY_INDEX | IB_QP_PORT |
		     IB_QP_PATH_MTU | IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
		     IB_QP_RQ_PSN | IB_QP_MAX_QP_RD_ATOMIC | IB_QP_MIN_RNR_TIMER |
		     IB_QP_SQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_PATH_MIG_STATE |
		     IB_QP_DEST_QPN | IB_QP_QKEY | IB_QP_RATE_LIMIT))
		return -EOPNOTSUPP;
	if ((mask & IB_QP_PATH_MIG_STATE && attr->path_mig_state != IB_MIG_MIGRATED) ||
	    (mask & IB_QP_ACCESS_FLAGS && attr->qp_access_flags & ~XROCE_QP_ACCESS))
		return -EOPNOTSUPP;
	if ((mask & IB_QP_PORT && attr->port_num != 1) ||
	    (mask & IB_QP_PKEY_INDEX && attr->pkey_index) ||
	    (mask & IB_QP_TIMEOUT && attr->timeout > 31) ||
	    (mask & IB_QP_RETRY_CNT && attr->retry_cnt > 7) ||
	    (mask & IB_QP_RNR_RETRY && attr->rnr_retry > 7) ||
	    (mask & IB_QP_MIN_RNR_TIMER && attr->min_rnr_timer > 31) ||
	    (mask & IB_QP_MAX_QP_RD_ATOMIC && attr->max_rd_atomic > XROCE_MAX_RD_ATOMIC) ||
	    (mask & IB_QP_MAX_DEST_RD_ATOMIC &&
	     attr->max_dest_rd_atomic > XROCE_MAX_RD_ATOMIC) ||
	    (mask & IB_QP_DEST_QPN && attr->dest_qp_num > XROCE_QPN_MASK))
		return -EINVAL;
	/* Beyond what the netdev takes every full packet would be lost. */
	if (mask & IB_QP_PATH_MTU &&
	    (attr->path_mtu < IB_MTU_256 || attr->path_mtu > IB_MTU_4096 ||
	     ib_mtu_enum_to_int(attr->path_mtu) > xroce_link_mtu(kqp->link)))
		return -EINVAL;
	return 0;
}

/* The path of a connection. RC heeds marks of congestion, UC has no way to. */
static int kqp_set_path(struct xroce_kqp *kqp, struct xroce_av *av,
			const struct rdma_ah_attr *ah, u32 dest_qpn)
{
	u16 sport = rdma_get_udp_sport(rdma_ah_read_grh(ah)->flow_label, kqp->ib->qp_num, dest_qpn);
	int err;

	err = xroce_path(kqp->link, av, ah, sport, xroce_qp_reliable(&kqp->qp) ?
			 INET_ECN_ECT_0 : INET_ECN_NOT_ECT);
	if (!err && av->route == XROCE_ROUTE_BOTH)
		err = -EINVAL;		/* a group */
	return err;
}

/* For query: as the user said it. */
static void kqp_note_attr(struct xroce_kqp *kqp, const struct ib_qp_attr *attr, int mask)
{
	struct ib_qp_attr *to = &kqp->attr;

	if (mask & IB_QP_STATE && attr->qp_state == IB_QPS_RESET) {
		struct ib_qp_cap cap = to->cap;

		memset(to, 0, sizeof(*to));
		to->cap = cap;
		return;
	}
	if (mask & IB_QP_ACCESS_FLAGS)
		to->qp_access_flags = attr->qp_access_flags;
	if (mask & IB_QP_PORT)
		to->port_num = attr->port_num;
	if (mask & IB_QP_AV) {
		to->ah_attr = attr->ah_attr;
		to->ah_attr.grh.sgid_attr = NULL;
	}
	if (mask & IB_QP_PATH_MTU)
		to->path_mtu = attr->path_mtu;
	if (mask & IB_QP_TIMEOUT)
		to->timeout = attr->timeout;
	if (mask & IB_QP_RETRY_CNT)
		to->retry_cnt = attr->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		to->rnr_retry = attr->rnr_retry;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		to->max_rd_atomic = attr->max_rd_atomic;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		to->max_dest_rd_atomic = attr->max_dest_rd_atomic;
	if (mask & IB_QP_MIN_RNR_TIMER)
		to->min_rnr_timer = attr->min_rnr_timer;
	if (mask & IB_QP_DEST_QPN)
		to->dest_qp_num = attr->dest_qp_num;
	if (mask & IB_QP_QKEY)
		to->qkey = attr->qkey;
	if (mask & IB_QP_RATE_LIMIT)
		to->rate_limit = attr->rate_limit;
	if (mask & IB_QP_EN_SQD_ASYNC_NOTIFY)
		to->en_sqd_async_notify = attr->en_sqd_async_notify;
}

static int kqp_modify(struct xroce_kqp *kqp, const struct ib_qp_attr *attr, int mask)
{
	enum ib_qp_state cur = READ_ONCE(kqp->qp.hot.state);
	enum ib_qp_state to = mask & IB_QP_STATE ? attr->qp_state : cur;
	struct xroce_attr x = {
		.state = attr->qp_state,
		.timeout = attr->timeout,
		.retry_cnt = attr->retry_cnt,
		.rnr_retry = attr->rnr_retry,
		.min_rnr_timer = attr->min_rnr_timer,
		.pkey = XROCE_PKEY_DEFAULT,
		.qkey = attr->qkey,
		.sqd_notify = attr->en_sqd_async_notify,
		.access = attr->qp_access_flags,
		.dest_qpn = attr->dest_qp_num,
		.rq_psn = attr->rq_psn & XROCE_PSN_MASK,
		.sq_psn = attr->sq_psn & XROCE_PSN_MASK,
		.max_rd_atomic = attr->max_rd_atomic,
		.max_dest_rd_atomic = attr->max_dest_rd_atomic,
		.rate = attr->rate_limit,
	};
	int err, xmask;

	if (mask & IB_QP_CUR_STATE && attr->cur_qp_state != cur)
		return -EINVAL;
	/* ib_core knows of rate limits where its tables were written for them. */
	if (!ib_modify_qp_is_ok(cur, to, kqp->ib->qp_type, mask & ~IB_QP_RATE_LIMIT) ||
	    (mask & IB_QP_RATE_LIMIT && to != IB_QPS_RTS))
		return -EINVAL;
	err = kqp_check_attr(kqp, attr, mask);
	if (err)
		return err;
	/* A datagram is as long as the link allows. */
	xmask = mask;
	if (mask & IB_QP_PATH_MTU)
		x.path_mtu = ib_mtu_enum_to_int(attr->path_mtu);
	if (kqp->qp.hot.transport == XROCE_UD && mask & IB_QP_STATE &&
	    attr->qp_state == IB_QPS_RTR) {
		x.path_mtu = xroce_link_mtu(kqp->link) ?: 256;
		xmask |= IB_QP_PATH_MTU;
	}
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC && x.max_dest_rd_atomic) {
		/* Both ends may know 5; rdma_rxe and most NICs have 8 of them out then. */
		x.max_dest_rd_atomic = roundup_pow_of_two(x.max_dest_rd_atomic);
		x.rd = kvcalloc(x.max_dest_rd_atomic, sizeof(*x.rd), GFP_KERNEL_ACCOUNT);
		if (!x.rd)
			return -ENOMEM;
	}
	if (mask & IB_QP_AV) {
		err = kqp_set_path(kqp, &x.av, &attr->ah_attr,
				   mask & IB_QP_DEST_QPN ? attr->dest_qp_num :
				   kqp->attr.dest_qp_num);
		if (err)
			goto out;
	}
	/* Masks are ib_core's; what the core has no use for it passes over. */
	err = xroce_qp_modify(&kqp->qp, &x, xmask);
	if (!err)
		kqp_note_attr(kqp, attr, mask);
out:
	kvfree(x.rd);
	return err;
}

static int xroce_ib_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr,
			      int mask, struct ib_udata *udata)
{
	struct xroce_kqp *kqp = to_kqp(ib);
	struct xroce_modify_qp cmd = {};
	int err = xroce_udata_in(udata, &cmd, sizeof(cmd));

	if (err)
		return err;
	if (cmd.hop_limit > U8_MAX || cmd.reserved)
		return -EINVAL;
	if (mask & IB_QP_AV && cmd.hop_limit)
		rdma_ah_retrieve_grh(&attr->ah_attr)->hop_limit = cmd.hop_limit;
	scoped_guard(mutex, &kqp->mutex)
		err = kqp_modify(kqp, attr, mask);
	ibdev_dbg(ib->device, "QP %u: modify, mask %#x: %d, state %u\n",
		  ib->qp_num, mask, err, kqp->qp.hot.state);
	return err;
}

/* NULL once it is being destroyed, when a dump of resources may still ask. */
static struct xroce_kqp *kqp_get(struct ib_qp *ib)
{
	struct xroce_kqp *kqp;

	guard(rcu)();
	kqp = READ_ONCE(container_of(ib, struct xroce_ibqp, ib)->kqp);
	return kqp && refcount_inc_not_zero(&kqp->users) ? kqp : NULL;
}

static int xroce_ib_query_qp(struct ib_qp *ib, struct ib_qp_attr *attr,
			     int mask, struct ib_qp_init_attr *init)
{
	struct xroce_kqp *kqp = kqp_get(ib);
	struct xroce_qp *qp;

	/* A dump leaves that one out. */
	if (!kqp)
		return -EAGAIN;
	qp = &kqp->qp;
	mutex_lock(&kqp->mutex);
	*attr = kqp->attr;
	spin_lock_bh(&qp->lock);
	attr->qp_state = qp->hot.state;
	attr->rq_psn = qp->hot.epsn;
	attr->sq_psn = qp->hot.next;
	attr->sq_draining = qp->hot.state == XROCE_QPS_SQD && xroce_req_draining(&qp->req);
	spin_unlock_bh(&qp->lock);
	mutex_unlock(&kqp->mutex);
	attr->cur_qp_state = attr->qp_state;
	attr->path_mig_state = IB_MIG_MIGRATED;

	memset(init, 0, sizeof(*init));
	init->event_handler = ib->event_handler;
	init->qp_context = ib->qp_context;
	init->send_cq = ib->send_cq;
	init->recv_cq = ib->recv_cq;
	init->srq = ib->srq;
	init->xrcd = ib->xrcd;
	init->cap = attr->cap;
	init->sq_sig_type = qp->req.sig_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR;
	init->qp_type = ib->qp_type;
	xroce_kqp_put(kqp);
	return 0;
}

const struct ib_device_ops xroce_qp_ops = {
	.create_qp = xroce_ib_create_qp,
	.destroy_qp = xroce_ib_destroy_qp,
	.modify_qp = xroce_ib_modify_qp,
	.query_qp = xroce_ib_query_qp,
	INIT_RDMA_OBJ_SIZE(ib_qp, xroce_ibqp, ib),
};
