// SPDX-License-Identifier: GPL-2.0
/*
 * Send queues: copying work requests out of the mapped ring, and what can be said of
 * one by its copy. Under the QP's lock.
 */
#include "core.h"

/* What each service offers (IBTA table 46). */
static bool xroce_wqe_offered(const struct xroce_qp *qp, u8 wr)
{
	if (wr <= XROCE_WR_SEND_WITH_IMM)
		return wr >= XROCE_WR_SEND || qp->hot.transport != XROCE_UD;
	/* Registration names kernel memory: it is for those who may. */
	if (xroce_wr_is_local(wr))
		return qp->hot.transport != XROCE_UD && (wr != XROCE_WR_REG_MR || qp->req.trusted);
	return xroce_qp_reliable(qp) &&
	       (wr <= XROCE_WR_ATOMIC_FETCH_AND_ADD || wr == XROCE_WR_SEND_WITH_INV ||
		wr == XROCE_WR_FLUSH || wr == XROCE_WR_ATOMIC_WRITE);
}

/* Once its length is known: what asks for responses. */
static u8 xroce_wqe_check_read(const struct xroce_req *req,
			       const struct xroce_send_wqe *wqe, u64 len)
{
	if (!req->max_rd_atomic)
		return XROCE_WC_LOC_QP_OP_ERR;
	if (wqe->opcode == XROCE_WR_FLUSH)
		return len ? XROCE_WC_LOC_LEN_ERR : 0;
	if (wqe->opcode != XROCE_WR_RDMA_READ && len != sizeof(u64))
		return XROCE_WC_LOC_LEN_ERR;
	return 0;
}

/*
 * Checks on the copy alone. A bad one becomes a completion with an error at its
 * turn (IBTA 10.7.3.1, 11.6.2): posting cannot report what the user wrote.
 */
static u8 xroce_wqe_check(const struct xroce_qp *qp, const struct xroce_send_wqe *wqe, u32 *len)
{
	bool ud = qp->hot.transport == XROCE_UD;
	const struct xroce_req *req = &qp->req;
	u64 sum = 0;
	u32 i;

	/* As most are: one piece of memory for a SEND or WRITE, which all but UD may be long. */
	if (wqe->opcode <= XROCE_WR_SEND_WITH_IMM && wqe->num_sge == 1 && req->max_sge && !ud &&
	    !(wqe->flags & ~(XROCE_WR_SIGNALED | XROCE_WR_SOLICITED)) &&
	    wqe->sge[0].length <= XROCE_MAX_MSG) {
		*len = wqe->sge[0].length;
		return 0;
	}
	if (!xroce_wqe_offered(qp, wqe->opcode))
		return XROCE_WC_LOC_QP_OP_ERR;
	if (wqe->flags & ~(XROCE_WR_FENCE | XROCE_WR_SIGNALED | XROCE_WR_SOLICITED |
			   XROCE_WR_INLINE))
		return XROCE_WC_LOC_QP_OP_ERR;
	if (wqe->flags & XROCE_WR_INLINE) {
		if (wqe->inline_len > req->max_inline ||
		    xroce_wr_is_local(wqe->opcode) ||
		    (xroce_wqe_is_read(wqe) && wqe->opcode != XROCE_WR_ATOMIC_WRITE))
			return XROCE_WC_LOC_QP_OP_ERR;
		*len = wqe->inline_len;
		if (xroce_wqe_is_read(wqe))
			return xroce_wqe_check_read(req, wqe, *len);
		return ud && *len > xroce_mtu(qp) ? XROCE_WC_LOC_LEN_ERR : 0;
	}
	if (wqe->num_sge > req->max_sge || (wqe->num_sge && xroce_wr_is_local(wqe->opcode)))
		return XROCE_WC_LOC_QP_OP_ERR;
	for (i = 0; i < wqe->num_sge; i++)
		sum += wqe->sge[i].length;
	if (sum > (ud ? xroce_mtu(qp) : XROCE_MAX_MSG))
		return XROCE_WC_LOC_LEN_ERR;
	*len = sum;
	return xroce_wqe_is_read(wqe) ? xroce_wqe_check_read(req, wqe, sum) : 0;
}

/* Copy one work request from the ring's slot; nothing is read there twice. */
static void xroce_req_copy(struct xroce_qp *qp)
{
	struct xroce_req *req = &qp->req;
	struct xroce_send_wqe *wqe = xroce_req_wqe(req, req->tail);
	struct xroce_swq *e = xroce_req_swq(req, req->tail);
	const u8 *slot;
	u32 n;

	slot = req->ring->slot + (req->tail & (req->depth - 1)) * req->stride;
	memcpy(wqe, slot, sizeof(*wqe));
	barrier();	/* the compiler shall not look at the slot again */
	if (wqe->flags & XROCE_WR_INLINE)
		n = min(wqe->inline_len, req->max_inline);
	else
		n = min_t(u32, wqe->num_sge, req->max_sge) *
		    sizeof(struct xroce_sge);
	/* One piece of memory, mostly: the compiler makes no call. */
	if (n == sizeof(struct xroce_sge))
		memcpy(wqe->sge, slot + sizeof(*wqe), sizeof(struct xroce_sge));
	else
		memcpy(wqe->inline_data, slot + sizeof(*wqe), n);
	barrier();
	e->started = false;
	e->len = 0;
	e->status = xroce_wqe_check(qp, wqe, &e->len);
	e->plain = (wqe->opcode <= XROCE_WR_SEND_WITH_IMM ||
		    wqe->opcode == XROCE_WR_SEND_WITH_INV) &&
		   !(wqe->flags & XROCE_WR_FENCE);
	if (e->status)
		xroce_qp_count(qp, XROCE_CNT_BAD_WQE, 1);
	trace_xroce_post(qp, wqe, e);
	req->tail++;
}

/*
 * Work requests in the ring not copied yet. A number for which the user had no
 * slots is garbage: there are none then, rather than up to 2^32 of them.
 */
static u32 xroce_req_posted(const struct xroce_req *req)
{
	u32 n;

	/* Pairs with the user's release: the slots are written. */
	n = smp_load_acquire(&req->ring->prod) - req->tail;
	return n <= req->depth - (req->tail - req->head) ? n : 0;
}

/**
 * xroce_req_pull() - copy what has been posted, as far as there is room
 * @qp: the queue pair
 *
 * Return: false when the ring is empty; a doorbell is then asked for, unless somebody looks.
 */
bool xroce_req_pull(struct xroce_qp *qp)
{
	struct xroce_req *req = &qp->req;
	struct xroce_ring *ring = req->ring;
	u32 n = xroce_req_posted(req);

	/* Who posts now is seen, or rings if that was asked for before. */
	if (!n && !READ_ONCE(req->polled) && !READ_ONCE(ring->wake)) {
		WRITE_ONCE(ring->wake, 1);
		/* Pairs with the user's barrier between prod and wake. */
		smp_mb();
		n = xroce_req_posted(req);
	}
	if (!n) {
		req->dry = true;
		return false;
	}
	/* For one alone, with room for the next, nobody is told not to ring. */
	req->dry = n == 1 && READ_ONCE(ring->wake) && !READ_ONCE(req->polled) &&
		   (u32)xroce_psn_diff(qp->hot.next, qp->hot.una) + 1 < req->cwnd;
	if (!req->dry)
		WRITE_ONCE(ring->wake, 0);
	for (n = min(n, XROCE_PULL_MAX); n; n--)
		xroce_req_copy(qp);
	return true;
}
