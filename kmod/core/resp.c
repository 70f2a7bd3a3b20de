// SPDX-License-Identifier: GPL-2.0
/*
 * The responder: requests are executed in PSN order, each once. Under the QP's
 * lock. What is then owed to the peer answer.c builds.
 */
#include "copy.h"

/* What is answered by responses, and remembered. */
#define XROCE_RD_KINDS	(XROCE_OP_READ | XROCE_OP_ATOMIC | XROCE_OP_FLUSH | \
			 XROCE_OP_ATOMIC_WRITE)

/* Owe a NAK for the expected PSN; one at a time, the first stands. */
static void xroce_resp_nak(struct xroce_qp *qp, u8 syndrome)
{
	if (qp->resp.nak)
		return;
	qp->resp.nak = syndrome;
	qp->resp.nak_psn = qp->hot.epsn;
}

/* What is next has been lost: one NAK, and none behind an RNR NAK. */
static void xroce_resp_gap(struct xroce_qp *qp)
{
	xroce_qp_verdict(qp, XROCE_CNT_OUT_OF_SEQ);
	if (qp->hot.resp_flags & (XROCE_RESP_GAP | XROCE_RESP_RNR))
		return;
	qp->hot.resp_flags |= XROCE_RESP_GAP;
	xroce_resp_nak(qp, XROCE_NAK_PSN);
}

/* The connection is over once the NAK has left (IBTA 9.9.3.1). */
static void xroce_resp_end(struct xroce_qp *qp, u8 syndrome)
{
	qp->resp.nak = syndrome;
	qp->resp.nak_psn = qp->hot.epsn;
	qp->err_nak = syndrome;
	qp->resp.fatal = true;
}

/*
 * What the peer did ends the connection. Without one only the message is over: the rest
 * of it finds none under way (9.9.3.1, class D).
 */
static void xroce_resp_fatal(struct xroce_qp *qp, u8 syndrome, enum xroce_event event)
{
	if (!xroce_qp_reliable(qp)) {
		xroce_qp_verdict(qp, XROCE_CNT_DROP_REQUEST);
		return;
	}
	if (!qp->resp.fatal)
		xroce_env_qp_event(qp, event);
	xroce_resp_end(qp, syndrome);
}

/*
 * Malformed, or what the QP is not set up for, as where it does not give the right: of
 * the key's own is xroce_resp_no_access(). Return: false, as who finds it so does.
 */
static bool xroce_resp_invalid(struct xroce_qp *qp)
{
	xroce_resp_fatal(qp, XROCE_NAK_INV_REQ, XROCE_EVENT_QP_REQ_ERR);
	return false;
}

/**
 * xroce_resp_no_access() - what the peer asked for is not its to have
 * @qp: the queue pair
 *
 * Return: false, as who finds it so does.
 */
bool xroce_resp_no_access(struct xroce_qp *qp)
{
	xroce_resp_fatal(qp, XROCE_NAK_REM_ACCESS, XROCE_EVENT_QP_ACCESS_ERR);
	return false;
}

/**
 * xroce_resp_complete() - the receive work request at hand is done
 * @qp: the queue pair
 * @cqe: how; what it leaves 0 of opcode and source is as for most
 * @solicited: the peer asks for an event
 *
 * Return: false when nobody will learn of it: the QP ends, and the peer may not
 * take the message for delivered.
 */
bool xroce_resp_complete(struct xroce_qp *qp, struct xroce_cqe *cqe, bool solicited)
{
	cqe->wr_id = qp->resp.wqe->wr_id;
	cqe->qpn = qp->hot.qpn;
	cqe->user_handle = qp->user_handle;
	if (!cqe->src_qp && qp->hot.transport != XROCE_UD)
		cqe->src_qp = qp->hot.dest_qpn;
	if (!cqe->opcode)
		cqe->opcode = XROCE_WC_RECV;
	qp->resp.wqe_held = false;
	if (xroce_cq_post(qp->rcq, cqe, solicited))
		return true;
	if (qp->hot.state != XROCE_QPS_ERR)
		xroce_resp_fatal(qp, XROCE_NAK_REM_OP, XROCE_EVENT_QP_FATAL);
	xroce_qp_fatal(qp);
	return false;
}

/**
 * xroce_resp_recv_error() - the receive work request itself is at fault
 * @qp: the queue pair
 * @status: what it completes with
 * @syndrome: what a reliable peer is told
 */
void xroce_resp_recv_error(struct xroce_qp *qp, u8 status, u8 syndrome)
{
	struct xroce_cqe cqe = { .status = status };

	qp->err_status = status;
	xroce_resp_complete(qp, &cqe, true);
	if (!xroce_qp_reliable(qp)) {
		xroce_qp_error(qp);
		return;
	}
	xroce_resp_end(qp, syndrome);
}

/**
 * xroce_resp_recv() - make sure that a receive work request is at hand
 * @qp: the queue pair
 *
 * Return: false when the message cannot go on; a reliable peer is then owed a
 * NAK, of others it is dropped.
 */
bool xroce_resp_recv(struct xroce_qp *qp)
{
	struct xroce_resp *resp = &qp->resp;
	int ret;

	if (resp->wqe_held)
		return true;
	ret = xroce_rq_take(qp);
	if (!ret && !xroce_qp_reliable(qp)) {
		xroce_qp_verdict(qp, XROCE_CNT_DROP_NO_RECV);
		return false;
	}
	if (!ret) {
		/* Silent from here on until this PSN comes again. */
		qp->hot.resp_flags |= XROCE_RESP_RNR;
		xroce_resp_nak(qp, XROCE_AETH_RNR | resp->min_rnr);
		return false;
	}
	resp->wqe_held = true;
	if (ret < 0) {
		xroce_resp_recv_error(qp, XROCE_WC_LOC_QP_OP_ERR, XROCE_NAK_REM_OP);
		return false;
	}
	return true;
}

static noinline bool xroce_resp_send(struct xroce_qp *qp, struct xroce_rx *rx)
{
	const struct xroce_pkt *pkt = &rx->pkt;
	struct xroce_resp *resp = &qp->resp;
	struct xroce_cqe cqe = {};

	if (pkt->info & XROCE_OP_FIRST)
		resp->offset = 0;
	if (!xroce_resp_recv(qp))
		return false;
	/* The first, for a program that has lost its place. */
	if (resp->offset > resp->wqe->len || pkt->payload_len > resp->wqe->len - resp->offset) {
		if (!xroce_qp_reliable(qp)) {
			xroce_qp_verdict(qp, XROCE_CNT_DROP_TOO_LONG);
			return false;
		}
		xroce_resp_recv_error(qp, XROCE_WC_LOC_LEN_ERR, XROCE_NAK_INV_REQ);
		return false;
	}
	if (!xroce_sge_copy(qp, qp->rq->pd ?: qp->pd, resp->wqe->sge, resp->wqe->num_sge,
			    XROCE_LOCAL_WRITE, resp->offset, pkt->payload_len,
			    xroce_io_rx(rx))) {
		xroce_resp_recv_error(qp, XROCE_WC_LOC_PROT_ERR, XROCE_NAK_REM_OP);
		return false;
	}
	resp->offset += pkt->payload_len;
	if (!(pkt->info & XROCE_OP_LAST))
		return true;
	if (pkt->info & XROCE_OP_INV) {
		if (!xroce_key_invalidate(qp, qp->resp.pd, pkt->rkey, true))
			return xroce_resp_no_access(qp);
		cqe.flags = XROCE_WC_WITH_INV;
		cqe.inv_rkey = pkt->rkey;
	} else if (pkt->info & XROCE_OP_IMM) {
		cqe.flags = XROCE_WC_WITH_IMM;
		cqe.imm = pkt->imm;
	}
	cqe.byte_len = resp->offset;
	if (!xroce_resp_complete(qp, &cqe, pkt->flags & XROCE_BTH_SE))
		return false;
	xroce_qp_count(qp, XROCE_CNT_RX_SEND, 1);
	return true;
}

/* Does the key of a RETH cover all of what it asks for. */
static bool xroce_resp_may(struct xroce_qp *qp, u32 access, const struct xroce_pkt *pkt)
{
	struct xroce_mr *mr;

	if (!pkt->dma_len)
		return true;
	mr = xroce_mr_get(qp, qp->resp.pd, pkt->rkey, access, pkt->va, pkt->dma_len);
	if (mr)
		xroce_mr_put(mr);
	return mr;
}

/* Apart: what it has on the stack costs others the stack's guard. */
static noinline bool xroce_resp_imm(struct xroce_qp *qp, const struct xroce_pkt *pkt)
{
	struct xroce_cqe cqe = {
		.opcode = XROCE_WC_RECV_RDMA_WITH_IMM,
		.flags = XROCE_WC_WITH_IMM,
		.imm = pkt->imm,
		.byte_len = qp->resp.offset,
	};

	return xroce_resp_complete(qp, &cqe, pkt->flags & XROCE_BTH_SE);
}

static bool xroce_resp_write(struct xroce_qp *qp, struct xroce_rx *rx)
{
	const struct xroce_pkt *pkt = &rx->pkt;
	struct xroce_resp *resp = &qp->resp;
	u32 info = pkt->info, len = pkt->payload_len;
	bool last = info & XROCE_OP_LAST;

	if (info & XROCE_OP_FIRST) {
		if (pkt->dma_len > XROCE_MAX_MSG)
			return xroce_resp_invalid(qp);
		resp->va = pkt->va;
		resp->rkey = pkt->rkey;
		resp->left = pkt->dma_len;
		resp->offset = 0;
	}
	/* The message ends exactly where its RETH said (C9-70 and after). */
	if (last ? len != resp->left : len >= resp->left)
		return xroce_resp_invalid(qp);
	if (!(qp->access & XROCE_REMOTE_WRITE))
		return xroce_resp_invalid(qp);
	/* Before anything happens; a message of one packet is one copy. */
	if ((info & XROCE_OP_FIRST) && (!last || (info & XROCE_OP_IMM)) &&
	    !xroce_resp_may(qp, XROCE_REMOTE_WRITE, pkt))
		return xroce_resp_no_access(qp);
	if ((info & XROCE_OP_IMM) && !xroce_resp_recv(qp))
		return false;
	if (!xroce_mr_copy(qp, resp->pd, resp->rkey, XROCE_REMOTE_WRITE,
			   resp->va + resp->offset, len, xroce_io_rx(rx)))
		return xroce_resp_no_access(qp);
	resp->offset += len;
	resp->left -= len;
	if (info & XROCE_OP_FIRST)
		xroce_qp_count(qp, XROCE_CNT_RX_WRITE, 1);
	return !(info & XROCE_OP_IMM) || xroce_resp_imm(qp, pkt);
}

/*
 * A place for a READ or atomic to be answered and remembered in. The peer may
 * have max_dest_rd_atomic outstanding; one more while the oldest is still to be
 * answered is an invalid request (IBTA 9.7.4.1.4).
 */
static struct xroce_rd *xroce_resp_accept(struct xroce_qp *qp, const struct xroce_pkt *pkt)
{
	struct xroce_resp *resp = &qp->resp;
	struct xroce_rd *rd;

	rd = resp->max_rd ? xroce_rd_slot(resp, resp->rd_tail) : NULL;
	if (!rd || (rd->state == XROCE_RD_ACTIVE && !rd->again)) {
		/* rdma_rxe sends FLUSHes without a limit: too early is as good as lost. */
		if (rd && pkt->info & XROCE_OP_FLUSH)
			xroce_resp_gap(qp);
		else
			xroce_resp_invalid(qp);
		return NULL;
	}
	/* Who asks for the next has had the answer that was asked for again. */
	if (rd->state == XROCE_RD_ACTIVE)
		resp->rd_active--;
	rd->state = XROCE_RD_FREE;
	rd->again = false;
	rd->psn = pkt->psn;
	rd->start = pkt->psn;
	rd->next = pkt->psn;
	rd->kind = pkt->info & XROCE_RD_KINDS;
	rd->va = pkt->va;
	rd->rkey = pkt->rkey;
	rd->pd = resp->pd;
	rd->len = 0;
	rd->npsn = 1;
	rd->msn = xroce_psn_add(qp->hot.msn, 1);
	return rd;
}

/* It is to be answered: where others are, or here. */
static void xroce_resp_activate(struct xroce_resp *resp, struct xroce_rd *rd)
{
	rd->state = XROCE_RD_ACTIVE;
	if (!resp->rd_active++)
		resp->cpu = xroce_env_cpu();
}

/* Its response acknowledges what was to be acknowledged before it. */
static void xroce_resp_accepted(struct xroce_qp *qp, struct xroce_rd *rd)
{
	struct xroce_resp *resp = &qp->resp;

	if (resp->rd_end != rd->psn) {
		resp->rd_before = xroce_psn_add(rd->psn, XROCE_PSN_MASK);
		resp->rd_msn = qp->hot.msn;
	}
	rd->owes = qp->hot.resp_flags & XROCE_RESP_ACK ? resp->rd_before : XROCE_PSN_NONE;
	qp->hot.resp_flags &= ~XROCE_RESP_ACK;
	rd->stop = xroce_psn_add(rd->psn, rd->npsn);
	resp->rd_end = rd->stop;
	xroce_resp_activate(resp, rd);
	resp->rd_tail = (resp->rd_tail + 1) % resp->max_rd;
}

/* Return: PSNs that it takes, 0 when it is refused. */
static noinline u32 xroce_resp_read(struct xroce_qp *qp, const struct xroce_pkt *pkt)
{
	struct xroce_rd *rd;

	if (pkt->dma_len > XROCE_MAX_MSG || !(qp->access & XROCE_REMOTE_READ))
		return xroce_resp_invalid(qp);
	if (!xroce_resp_may(qp, XROCE_REMOTE_READ, pkt))
		return xroce_resp_no_access(qp);
	rd = xroce_resp_accept(qp, pkt);
	if (!rd)
		return 0;
	rd->len = pkt->dma_len;
	rd->npsn = max(DIV_ROUND_UP(pkt->dma_len, xroce_mtu(qp)), 1u);
	xroce_resp_accepted(qp, rd);
	xroce_qp_count(qp, XROCE_CNT_RX_READ, 1);
	return rd->npsn;
}

static u64 xroce_atomic(u64 *p, const struct xroce_pkt *pkt)
{
	bool swap = (pkt->opcode & XROCE_OP_MASK) == XROCE_CMP_SWAP;
	u64 old = READ_ONCE(*p), seen, new;

	for (;;) {
		if (swap)
			new = old == pkt->compare ? pkt->swap_add : old;
		else
			new = old + pkt->swap_add;
		/* The CPU's own atomic: the user's program may share the word. */
		seen = cmpxchg(p, old, new);
		if (seen == old)
			return old;
		old = seen;
	}
}

/* Eight bytes that nobody sees in parts: atomics, atomic WRITE (Annex A19.5). */
static noinline u32 xroce_resp_word(struct xroce_qp *qp, struct xroce_rx *rx)
{
	const struct xroce_pkt *pkt = &rx->pkt;
	bool write = pkt->info & XROCE_OP_ATOMIC_WRITE;
	u32 right = write ? XROCE_REMOTE_WRITE : XROCE_REMOTE_ATOMIC;
	struct xroce_rd *rd = NULL;
	u32 len = sizeof(u64);
	struct xroce_mr *mr;
	u64 value;
	u8 *p;

	if (pkt->va & 7 || !(qp->access & right) ||
	    (write && (pkt->dma_len != len || pkt->payload_len != len)))
		return xroce_resp_invalid(qp);
	mr = xroce_mr_get(qp, qp->resp.pd, pkt->rkey, right, pkt->va, len);
	if (!mr)
		return xroce_resp_no_access(qp);
	p = xroce_mr_span(mr, pkt->va, &len);
	/* An address aligned for the peer need not be so here. */
	if ((unsigned long)p & 7 || len != sizeof(u64))
		xroce_resp_invalid(qp);
	else
		rd = xroce_resp_accept(qp, pkt);
	if (rd && write) {
		xroce_env_read(rx, pkt->hdr_len, &value, sizeof(value));
		WRITE_ONCE(*(u64 *)p, value);
	} else if (rd) {
		rd->value = xroce_atomic((u64 *)p, pkt);
	}
	if (rd) {
		xroce_resp_accepted(qp, rd);
		xroce_qp_count(qp, write ? XROCE_CNT_RX_WRITE : XROCE_CNT_RX_ATOMIC, 1);
	}
	xroce_mr_put(mr);
	return rd ? 1 : 0;
}

/*
 * What has been placed is in memory that all CPUs see alike: for that there is nothing to do
 * but to answer in turn (Annex A19.6). Persistence is not offered, so no region has the right.
 */
static noinline u32 xroce_resp_flush(struct xroce_qp *qp, const struct xroce_pkt *pkt)
{
	u8 level = pkt->flush >> XROCE_FETH_SEL_SHIFT & XROCE_FETH_SEL;
	struct xroce_mr *mr = xroce_env_mr(qp->dev, pkt->rkey);
	u64 va = pkt->va;
	u32 len = pkt->dma_len;
	struct xroce_rd *rd;

	if (!(pkt->flush & XROCE_FETH_PLT) || level > XROCE_FLUSH_MR ||
	    !(qp->access & XROCE_ACCESS_FLUSH))
		return xroce_resp_invalid(qp);
	if (mr && level == XROCE_FLUSH_MR) {
		va = mr->iova;
		len = 0;
	}
	mr = NULL;
	if ((pkt->flush & XROCE_FETH_PLT) == XROCE_FLUSH_GLOBAL)
		mr = xroce_mr_get(qp, qp->resp.pd, pkt->rkey, XROCE_ACCESS_FLUSH, va, len);
	if (!mr)
		return xroce_resp_no_access(qp);
	xroce_mr_put(mr);
	rd = xroce_resp_accept(qp, pkt);
	if (!rd)
		return 0;
	xroce_resp_accepted(qp, rd);
	return 1;
}

/*
 * The READ or atomic that @psn belongs to, among those remembered. The newest
 * counts: PSNs come round, and what is old may not be answered for what is new.
 */
static struct xroce_rd *xroce_resp_find(struct xroce_resp *resp, u32 psn)
{
	struct xroce_rd *rd;
	u32 i;

	for (i = 1; i <= resp->max_rd; i++) {
		rd = xroce_rd_slot(resp, resp->rd_tail + resp->max_rd - i);
		if (rd->state != XROCE_RD_FREE && ((psn - rd->psn) & XROCE_PSN_MASK) < rd->npsn)
			return rd;
	}
	return NULL;
}

/*
 * A request seen before (IBTA 9.7.5.1.3 and 9.7.4.2, C9-105 to C9-110): SEND and
 * WRITE are acknowledged again, READs are read again from the PSN asked, atomics
 * are answered with the value remembered. Nothing is executed.
 */
static void xroce_resp_duplicate(struct xroce_qp *qp, const struct xroce_pkt *pkt)
{
	struct xroce_resp *resp = &qp->resp;
	struct xroce_rd *rd;
	u32 n, off, stop;

	xroce_qp_verdict(qp, XROCE_CNT_DUPLICATE);
	if (pkt->info & (XROCE_OP_SEND | XROCE_OP_WRITE)) {
		qp->hot.resp_flags |= XROCE_RESP_ACK;
		return;
	}
	rd = xroce_resp_find(resp, pkt->psn);
	if (!rd || rd->kind != (pkt->info & XROCE_RD_KINDS) || rd->rkey != pkt->rkey)
		goto drop;
	n = (pkt->psn - rd->psn) & XROCE_PSN_MASK;
	off = n << qp->hot.mtu_shift;
	if (rd->va + off != pkt->va)
		goto drop;
	if (rd->kind != XROCE_OP_READ) {
		stop = xroce_psn_add(rd->psn, 1);
	} else {
		if (pkt->dma_len > rd->len - off)
			goto drop;
		/* Only a whole rest may end inside a packet. */
		if (pkt->dma_len != rd->len - off &&
		    (!pkt->dma_len || pkt->dma_len & (xroce_mtu(qp) - 1)))
			goto drop;
		n = max(DIV_ROUND_UP(pkt->dma_len, xroce_mtu(qp)), 1u);
		stop = xroce_psn_add(pkt->psn, n);
	}
	/* What has yet to be built of it was asked for too. */
	if (rd->state == XROCE_RD_ACTIVE && (xroce_psn_diff(stop, rd->stop) < 0 ||
					     xroce_psn_diff(pkt->psn, rd->next) > 0))
		goto drop;
	rd->stop = stop;
	rd->start = pkt->psn;
	rd->next = pkt->psn;
	if (rd->state != XROCE_RD_ACTIVE) {
		rd->again = true;
		xroce_resp_activate(resp, rd);
	}
	return;
drop:
	xroce_qp_verdict(qp, XROCE_CNT_DROP_REPLAY);
}

/**
 * xroce_xrc_begin() - an XRC target takes on what belongs to a receive queue
 * @qp: the queue pair, which has none of its own
 * @srqn: the queue's number
 *
 * Until xroce_xrc_end(), BH off. Return: false when there is no such queue in the QP's domain.
 */
bool xroce_xrc_begin(struct xroce_qp *qp, u32 srqn)
{
	struct xroce_rq *rq = xroce_env_srq(qp->dev, srqn);

	if (!rq)
		return false;
	if (rq->xrcd != qp->xrcd) {
		xroce_env_srq_put(rq);
		return false;
	}
	qp->rq = rq;
	qp->rcq = rq->cq;
	qp->resp.pd = rq->pd;
	return true;
}

/**
 * xroce_xrc_end() - and lets go of it
 * @qp: the queue pair
 */
void xroce_xrc_end(struct xroce_qp *qp)
{
	xroce_env_srq_put(qp->rq);
	qp->rq = NULL;
	qp->rcq = NULL;
	qp->resp.pd = NULL;
}

/*
 * A message is for one queue. When that is destroyed in the midst of it, so is
 * the receive that it has taken.
 */
static bool xroce_resp_xrc(struct xroce_qp *qp, const struct xroce_pkt *pkt)
{
	struct xroce_resp *resp = &qp->resp;

	if (pkt->info & XROCE_OP_FIRST && !resp->wqe_held)
		resp->srqn = pkt->xrcsrq;
	if (resp->srqn == pkt->xrcsrq && xroce_xrc_begin(qp, pkt->xrcsrq))
		return true;
	return xroce_resp_invalid(qp);
}

/**
 * xroce_resp_execute() - do what the request that is next asks for, and no more
 * @qp: the queue pair
 * @rx: the packet
 *
 * Return: PSNs that it takes, 0 when it is not executed: a reliable peer is then owed
 * a NAK, or the QP in error.
 */
u32 xroce_resp_execute(struct xroce_qp *qp, struct xroce_rx *rx)
{
	const struct xroce_pkt *pkt = &rx->pkt;
	u32 npsn;

	if (pkt->info & XROCE_OP_XRCETH && !xroce_resp_xrc(qp, pkt))
		return 0;
	if (pkt->info & XROCE_OP_WRITE)
		npsn = xroce_resp_write(qp, rx);
	else if (pkt->info & XROCE_OP_SEND)
		npsn = xroce_resp_send(qp, rx);
	else if (pkt->info & XROCE_OP_READ)
		npsn = xroce_resp_read(qp, pkt);
	else if (pkt->info & XROCE_OP_FLUSH)
		npsn = xroce_resp_flush(qp, pkt);
	else
		npsn = xroce_resp_word(qp, rx);
	if (pkt->info & XROCE_OP_XRCETH)
		xroce_xrc_end(qp);
	/* A NAK that has not left yet speaks of what has now been executed. */
	if (npsn)
		qp->resp.nak = 0;
	return npsn;
}

/*
 * A request of an unreliable connection (IBTA 9.8.2.2): a message with a packet
 * missing is dropped whole, as far as it has not been placed, and with the first
 * packet of another all is well again. A receive that it took is the next one's.
 */
static void xroce_resp_uc(struct xroce_qp *qp, struct xroce_rx *rx)
{
	const struct xroce_pkt *pkt = &rx->pkt;
	struct xroce_hot *hot = &qp->hot;
	bool ok;

	if (hot->epsn != pkt->psn)
		xroce_qp_verdict(qp, XROCE_CNT_OUT_OF_SEQ);
	if (hot->epsn != pkt->psn || (pkt->info & XROCE_OP_FIRST))
		hot->msg = 0;
	hot->epsn = pkt->psn;
	if (!xroce_resp_order(hot, pkt->info) ||
	    !xroce_len_ok(pkt->info, pkt->payload_len, xroce_mtu(qp))) {
		hot->msg = 0;
		hot->epsn = xroce_psn_add(pkt->psn, 1);
		xroce_qp_verdict(qp, XROCE_CNT_DROP_REQUEST);
		return;
	}
	ok = xroce_resp_execute(qp, rx);
	xroce_resp_advance(hot, pkt->info, 1);
	if (!ok)
		hot->msg = 0;
}

/**
 * xroce_resp_rx() - a request has arrived, its ICRC and addresses are right
 * @qp: the queue pair
 * @rx: the packet
 */
void xroce_resp_rx(struct xroce_qp *qp, struct xroce_rx *rx)
{
	const struct xroce_pkt *pkt = &rx->pkt;
	struct xroce_hot *hot = &qp->hot;
	u32 npsn;

	if (!xroce_qp_reliable(qp)) {
		xroce_resp_uc(qp, rx);
		return;
	}
	if (qp->resp.fatal) {
		xroce_qp_verdict(qp, XROCE_CNT_DROP_STATE);
		return;
	}
	switch (xroce_resp_seq(hot, pkt->psn)) {
	case XROCE_SEQ_DUP:
		xroce_resp_duplicate(qp, pkt);
		return;
	case XROCE_SEQ_GAP:
		xroce_resp_gap(qp);
		return;
	case XROCE_SEQ_NEXT:
		break;
	}
	if (!xroce_resp_order(hot, pkt->info) ||
	    ((pkt->info & XROCE_OP_PAYLOAD) &&
	     !xroce_len_ok(pkt->info, pkt->payload_len, xroce_mtu(qp)))) {
		xroce_resp_invalid(qp);
		return;
	}
	npsn = xroce_resp_execute(qp, rx);
	if (npsn)
		xroce_resp_done(hot, pkt->info, npsn, pkt->ackreq);
}
