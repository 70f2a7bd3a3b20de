// SPDX-License-Identifier: GPL-2.0
/*
 * Doorbells of users, whose posting and polling is their own, and the posts and
 * polls of kernel consumers, in rings like those. Any context, interrupts off
 * included; a QP's post lock and a CQ's poll lock make one at a time.
 */
#include "xroce.h"

/* BH off. */
static void kqp_ring(struct xroce_kqp *kqp)
{
	xroce_env_count(&kqp->link->dev, XROCE_CNT_DOORBELLS, 1);
	xroce_qp_run(&kqp->qp);
	if (kqp->poller)
		xroce_poller_ring(kqp->poller);
}

/**
 * xroce_ring_qp() - the doorbell of a user's QP, to either of its queues
 * @ctx: the context by whose file it came
 * @qpn: the QP's number, as the user says
 *
 * BH off. Nothing keeps the QP but the reference taken here, for which its owner waits. Return:
 * 0, or -EIO when the context has no such QP: for who has made one its device is about to go.
 */
int xroce_ring_qp(const void *ctx, u32 qpn)
{
	struct xroce_qp *qp = xroce_table_qp(qpn);
	const struct xroce_uctx *uctx = ctx;
	struct xroce_kqp *kqp;
	int err = -EIO;

	if (!qp)
		return err;
	kqp = xroce_qp_kqp(qp);
	if (!refcount_inc_not_zero(&kqp->users))
		return err;
	if (kqp->sq_ring->entry.ucontext == &uctx->ib) {
		kqp_ring(kqp);
		err = 0;
	}
	xroce_kqp_put(kqp);
	return err;
}

/*
 * Interrupts off is no place to send from: it goes on in NAPI. Nor is what may be
 * under a consumer's lock, which with PREEMPT_RT leaves them on, and softirqs too:
 * one that calls its handler would run here.
 */
static bool bell_waits(const struct xroce_kqp *kqp)
{
	return irqs_disabled() || (IS_ENABLED(CONFIG_PREEMPT_RT) &&
				   kqp->qp.req.trusted && !softirq_count());
}

static void kqp_doorbell(struct xroce_kqp *kqp)
{
	if (bell_waits(kqp)) {
		xroce_env_count(&kqp->link->dev, XROCE_CNT_DOORBELLS, 1);
		xroce_env_defer(&kqp->qp, -1);
		return;
	}
	local_bh_disable();
	kqp_ring(kqp);
	local_bh_enable();
}

/* Does whoever takes from the ring want to be called after @prod has moved. */
static bool ring_publish(struct xroce_ring *ring, u32 prod)
{
	if (prod == ring->prod)
		return false;
	/* The slots first: who sees the index may copy them. */
	smp_store_release(&ring->prod, prod);
	/* Pairs with the one between wake and the last look at prod. */
	smp_mb();
	return READ_ONCE(ring->wake);
}

static bool ring_full(const struct xroce_ring *ring, u32 prod, u32 depth)
{
	/* Acquired: what was in the slots before it has been copied. */
	return prod - smp_load_acquire(&ring->cons) >= depth;
}

static void put_sge(struct xroce_sge *to, const struct ib_sge *from, u32 n)
{
	for (; n; n--, to++, from++) {
		to->addr = from->addr;
		to->length = from->length;
		to->lkey = from->lkey;
	}
}

static int put_inline(struct xroce_send_wqe *wqe, const struct ib_send_wr *wr, u32 max)
{
	u32 len = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		if (wr->sg_list[i].length > max - len)
			return -EINVAL;
		memcpy(wqe->inline_data + len,
		       (void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
		len += wr->sg_list[i].length;
	}
	wqe->inline_len = len;
	return 0;
}

/* The list of pages is the region's, and stays as it is until it is invalid again. */
static int put_reg(struct xroce_send_wqe *wqe, const struct ib_reg_wr *wr)
{
	struct xroce_kmr *kmr = to_kmr(wr->mr);

	BUILD_BUG_ON(XROCE_WR_REG_MR != IB_WR_REG_MR || XROCE_WC_REG_MR != IB_WC_REG_MR);
	if (kmr->mr.kind != XROCE_MR_FAST || wr->mr->length > U32_MAX ||
	    !is_power_of_2(wr->mr->page_size) || ib_check_mr_access(wr->mr->device, wr->access))
		return -EINVAL;
	wqe->reg.page = (uintptr_t)kmr->listed;
	wqe->reg.iova = wr->mr->iova;
	wqe->reg.length = wr->mr->length;
	wqe->reg.page_shift = ilog2(wr->mr->page_size);
	wqe->reg.offset = kmr->offset;
	wqe->reg_key = wr->key;
	wqe->reg.access = wr->access;
	return 0;
}

/* What the service does not offer fails as a completion, as a user's does. */
static int put_send(struct xroce_kqp *kqp, struct xroce_send_wqe *wqe, const struct ib_send_wr *wr)
{
	const struct xroce_req *req = &kqp->qp.req;

	if (wr->num_sge < 0 || wr->num_sge > req->max_sge ||
	    wr->send_flags & ~(IB_SEND_FENCE | IB_SEND_SIGNALED |
			       IB_SEND_SOLICITED | IB_SEND_INLINE))
		return -EINVAL;
	memset(wqe, 0, sizeof(*wqe));
	wqe->wr_id = wr->wr_id;
	wqe->opcode = wr->opcode;
	wqe->flags = wr->send_flags;
	wqe->imm = wr->ex.imm_data;
	switch (wr->opcode) {
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_IMM:
		if (kqp->qp.hot.transport != XROCE_UD)
			break;
		wqe->ud.kernel = (uintptr_t)&to_kah(ud_wr(wr)->ah)->ah;
		wqe->ud.remote_qpn = ud_wr(wr)->remote_qpn;
		wqe->ud.remote_qkey = ud_wr(wr)->remote_qkey;
		break;
	case IB_WR_SEND_WITH_INV:
	case IB_WR_LOCAL_INV:
		break;
	case IB_WR_REG_MR:
		return put_reg(wqe, reg_wr(wr));
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
	case IB_WR_RDMA_READ:
		wqe->rdma.remote_addr = rdma_wr(wr)->remote_addr;
		wqe->rdma.rkey = rdma_wr(wr)->rkey;
		break;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		wqe->rdma.remote_addr = atomic_wr(wr)->remote_addr;
		wqe->rdma.rkey = atomic_wr(wr)->rkey;
		wqe->rdma.swap_add = wr->opcode == IB_WR_ATOMIC_CMP_AND_SWP ?
				     atomic_wr(wr)->swap :
				     atomic_wr(wr)->compare_add;
		wqe->rdma.compare = atomic_wr(wr)->compare_add;
		break;
	default:
		return -EOPNOTSUPP;
	}
	if (wr->send_flags & IB_SEND_INLINE)
		return put_inline(wqe, wr, req->max_inline);
	wqe->num_sge = wr->num_sge;
	put_sge(wqe->sge, wr->sg_list, wr->num_sge);
	return 0;
}

static int post_sends(struct xroce_kqp *kqp, const struct ib_send_wr *wr,
		      const struct ib_send_wr **bad_wr, bool *wake)
{
	struct xroce_req *req = &kqp->qp.req;
	struct xroce_ring *ring = req->ring;
	u32 prod = ring->prod;
	int err = 0;

	for (; wr; wr = wr->next, prod++) {
		err = -ENOMEM;
		if (!ring_full(ring, prod, req->depth))
			err = put_send(kqp, (void *)(ring->slot +
				       (prod & (req->depth - 1)) * req->stride),
				       wr);
		if (err) {
			*bad_wr = wr;
			break;
		}
	}
	*wake = ring_publish(ring, prod);
	return err;
}

static int xroce_ib_post_send(struct ib_qp *ib, const struct ib_send_wr *wr,
			      const struct ib_send_wr **bad_wr)
{
	struct xroce_kqp *kqp = to_kqp(ib);
	unsigned long flags;
	bool wake = true;
	int err = 0;

	if (wr) {
		/* Immediate errors, IBTA C10-96; a user has but its ring. */
		if (!kqp->qp.req.trusted || READ_ONCE(kqp->qp.hot.state) < XROCE_QPS_RTS) {
			*bad_wr = wr;
			return -EINVAL;
		}
		spin_lock_irqsave(&kqp->post_lock, flags);
		err = post_sends(kqp, wr, bad_wr, &wake);
		spin_unlock_irqrestore(&kqp->post_lock, flags);
	}
	if (wake)
		kqp_doorbell(kqp);
	return err;
}

static int post_recvs(const struct xroce_rq *rq, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad_wr, bool *wake)
{
	struct xroce_ring *ring = rq->ring;
	struct xroce_recv_wqe *wqe;
	u32 prod = ring->prod;
	int err = 0;

	for (; wr; wr = wr->next, prod++) {
		if (wr->num_sge < 0 || wr->num_sge > rq->max_sge)
			err = -EINVAL;
		else if (ring_full(ring, prod, rq->mask + 1))
			err = -ENOMEM;
		if (err) {
			*bad_wr = wr;
			break;
		}
		wqe = (void *)(ring->slot + (prod & rq->mask) * rq->stride);
		wqe->wr_id = wr->wr_id;
		wqe->num_sge = wr->num_sge;
		put_sge(wqe->sge, wr->sg_list, wr->num_sge);
	}
	*wake = ring_publish(ring, prod);
	return err;
}

static int xroce_ib_post_recv(struct ib_qp *ib, const struct ib_recv_wr *wr,
			      const struct ib_recv_wr **bad_wr)
{
	struct xroce_kqp *kqp = to_kqp(ib);
	unsigned long flags;
	bool wake = true;
	int err = 0;

	if (wr) {
		/* IBTA C10-97.2.1 */
		if (!kqp->qp.req.trusted || kqp->qp.rq != &kqp->own_rq ||
		    READ_ONCE(kqp->qp.hot.state) == XROCE_QPS_RESET) {
			*bad_wr = wr;
			return -EINVAL;
		}
		spin_lock_irqsave(&kqp->post_lock, flags);
		err = post_recvs(&kqp->own_rq, wr, bad_wr, &wake);
		spin_unlock_irqrestore(&kqp->post_lock, flags);
	}
	if (wake)
		kqp_doorbell(kqp);
	return err;
}

static int xroce_ib_post_srq_recv(struct ib_srq *ib, const struct ib_recv_wr *wr,
				  const struct ib_recv_wr **bad_wr)
{
	struct xroce_ksrq *srq = to_ksrq(ib);
	unsigned long flags;
	bool wake;
	int err;

	/* A user's ring is in a mapping, and needs no doorbell. */
	if (srq->ring->entry.ucontext) {
		*bad_wr = wr;
		return wr ? -EINVAL : 0;
	}
	spin_lock_irqsave(&srq->post_lock, flags);
	err = post_recvs(&srq->rq, wr, bad_wr, &wake);
	spin_unlock_irqrestore(&srq->post_lock, flags);
	return err;
}

static bool cqe_to_wc(struct ib_wc *wc, const struct xroce_cq *cq, const struct xroce_cqe *cqe)
{
	/* Which stays while its consumer does not destroy it. */
	struct xroce_qp *qp = xroce_env_qp(cq->dev, cqe->qpn);

	if (!qp)
		return false;	/* destroyed: nobody asks for it any more */
	memset(wc, 0, sizeof(*wc));
	wc->qp = xroce_qp_kqp(qp)->ib;
	wc->wr_id = cqe->wr_id;
	wc->status = cqe->status;
	wc->opcode = cqe->opcode;
	wc->byte_len = cqe->byte_len;
	wc->src_qp = cqe->src_qp;
	wc->port_num = 1;
	if (cqe->flags & XROCE_WC_WITH_IMM) {
		wc->wc_flags |= IB_WC_WITH_IMM;
		wc->ex.imm_data = cqe->imm;
	}
	if (cqe->flags & XROCE_WC_WITH_INV) {
		wc->wc_flags |= IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = cqe->inv_rkey;
	}
	if (cqe->flags & XROCE_WC_GRH) {
		wc->wc_flags |= IB_WC_GRH;
		if (cqe->vlan != XROCE_NO_VLAN) {
			wc->wc_flags |= IB_WC_WITH_VLAN;
			wc->vlan_id = cqe->vlan & VLAN_VID_MASK;
			wc->sl = cqe->vlan >> VLAN_PRIO_SHIFT;
		}
	}
	return true;
}

static int xroce_ib_poll_cq(struct ib_cq *ib, int n, struct ib_wc *wc)
{
	struct xroce_kcq *kcq = to_kcq(ib);
	struct xroce_cq *cq = &kcq->cq;
	const struct xroce_cqe *slot;
	struct xroce_ring *ring;
	unsigned long flags;
	u32 cons, prod;
	int done = 0;

	/* A user's indices are not to be trusted, nor is this its way. */
	if (ib->uobject)
		return -EINVAL;
	spin_lock_irqsave(&kcq->poll_lock, flags);
	rcu_read_lock();
	ring = cq->ring;
	slot = (const void *)ring->slot;
	cons = ring->cons;
	/* Pairs with the core's release: the elements are there. */
	prod = smp_load_acquire(&ring->prod);
	for (; done < n && cons != prod; cons++)
		done += cqe_to_wc(wc + done, cq, slot + (cons & cq->mask));
	/* The slots have been read: the core may write there again. */
	smp_store_release(&ring->cons, cons);
	rcu_read_unlock();
	spin_unlock_irqrestore(&kcq->poll_lock, flags);
	return done;
}

const struct ib_device_ops xroce_post_ops = {
	.poll_cq = xroce_ib_poll_cq,
	.post_recv = xroce_ib_post_recv,
	.post_send = xroce_ib_post_send,
	.post_srq_recv = xroce_ib_post_srq_recv,
};
