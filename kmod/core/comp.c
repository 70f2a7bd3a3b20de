// SPDX-License-Identifier: GPL-2.0
/*
 * The completer: what ACKs, NAKs and responses say about the requests sent, and
 * the ACK timer. Under the QP's lock.
 */
#include "copy.h"

/*
 * How often one loss is gone back to before it is left to the timer: ACKs of what was
 * sent again may all show it, and what is never answered would be asked for without end.
 */
#define GO_BACKS	4

/*
 * Something at @psn was lost: send again from there. Once for each loss, unless it is
 * known to be lost @again: what was in flight behind it goes on telling the same story.
 */
static void xroce_comp_lost(struct xroce_qp *qp, u32 psn, bool again, enum xroce_counter why)
{
	struct xroce_req *req = &qp->req;

	xroce_qp_count(qp, why, 1);
	if (xroce_psn_diff(psn, qp->hot.next) >= 0)
		return;		/* about to be sent again anyway */
	if (req->recovering && req->nak_psn == psn && (!again || req->recovering == GO_BACKS))
		return;
	if (req->recovering < GO_BACKS)
		req->recovering++;
	req->nak_psn = psn;
	trace_xroce_retry(qp, psn, why);
	xroce_cc_loss(qp, false);
	xroce_req_rewind(qp, psn);
}

/* The first PSN before @psn whose response is still owed, or @psn. */
static u32 xroce_comp_owed(const struct xroce_qp *qp, u32 psn)
{
	const struct xroce_req *req = &qp->req;
	const struct xroce_swq *e;
	u32 i, first;

	/* None is under way, and none is to be asked for again. */
	if (req->rd_head == req->rd_tail && qp->hot.next == qp->hot.max)
		return psn;
	for (i = req->head; i != req->tail; i++) {
		e = xroce_req_swq(req, i);
		/* The oldest begins before @psn, by 2^23 PSNs and more if it is long. */
		if (!e->started || (i != req->head && xroce_psn_diff(e->psn, psn) >= 0))
			break;
		if (!xroce_wqe_is_read(xroce_req_wqe(req, i)))
			continue;
		first = e->psn;
		if (i == req->head)	/* may be answered in part */
			first = qp->hot.una;
		if (xroce_psn_diff(first, psn) < 0)
			return first;
	}
	return psn;
}

/*
 * A response, which has the PSN @told, acknowledges all before @psn, but for responses
 * that it shows to be lost: the implied NAK (IBTA 9.7.5.1.1, C9-146). They come in order:
 * one that came before is an answer to what went again.
 *
 * Return: whether hot.una stands at @psn and the connection lives.
 */
static bool xroce_comp_upto(struct xroce_qp *qp, u32 psn, u32 told)
{
	u32 owed = xroce_comp_owed(qp, psn);
	bool again;

	xroce_req_advance(qp, owed);
	if (!xroce_qp_sends(qp))
		return false;
	if (owed == psn)
		return true;
	again = xroce_psn_diff(told, qp->req.nak_told) <= 0;
	qp->req.nak_told = told;
	xroce_comp_lost(qp, owed, again, XROCE_CNT_IMPLIED_NAK);
	return false;
}

/* The peer was not ready: wait, and send again from @psn (IBTA 9.7.5.2.8). */
static void xroce_comp_rnr(struct xroce_qp *qp, u32 psn, u8 code)
{
	struct xroce_req *req = &qp->req;

	xroce_qp_count(qp, XROCE_CNT_RNR_RCVD, 1);
	if (req->rnr_until)
		return;
	if (req->rnr_retry != 7) {
		if (!req->rnr_retries) {
			xroce_qp_count(qp, XROCE_CNT_RNR_EXC, 1);
			xroce_req_fail(qp, XROCE_WC_RNR_RETRY_EXC_ERR);
			return;
		}
		req->rnr_retries--;
	}
	trace_xroce_retry(qp, psn, XROCE_CNT_RNR_RCVD);
	/* It is there, and this has come: neither timeouts nor losses add up from here. */
	req->retries = req->retry_cnt;
	req->recovering = 0;
	xroce_req_rewind(qp, psn);
	req->waiting = 0;
	req->rnr_until = xroce_env_now() + xroce_rnr_10us(code) * 10000ull;
	xroce_env_timer(qp, req->rnr_until);
}

static u8 xroce_comp_nak_status(u8 syndrome)
{
	switch (syndrome) {
	case XROCE_NAK_INV_REQ:
	case XROCE_NAK_INV_RD:
		return XROCE_WC_REM_INV_REQ_ERR;
	case XROCE_NAK_REM_ACCESS:
		return XROCE_WC_REM_ACCESS_ERR;
	case XROCE_NAK_REM_OP:
		return XROCE_WC_REM_OP_ERR;
	}
	return XROCE_WC_BAD_RESP_ERR;
}

static void xroce_comp_ack(struct xroce_qp *qp, const struct xroce_pkt *pkt)
{
	u32 psn = pkt->psn;

	switch (pkt->syndrome & XROCE_AETH_TYPE) {
	case XROCE_AETH_ACK:
		xroce_comp_upto(qp, xroce_psn_add(psn, 1), psn);
		return;
	case XROCE_AETH_RNR:
		if (xroce_comp_upto(qp, psn, psn))
			xroce_comp_rnr(qp, psn, pkt->syndrome & XROCE_AETH_VALUE);
		return;
	case XROCE_AETH_NAK:
		if (!xroce_comp_upto(qp, psn, psn))
			return;
		if (pkt->syndrome == XROCE_NAK_PSN) {
			/* All that is answered from here on has gone again. */
			qp->req.nak_told = xroce_psn_add(qp->hot.max, XROCE_PSN_MASK);
			xroce_comp_lost(qp, psn, false, XROCE_CNT_NAK_SEQ_RCVD);
			return;
		}
		xroce_qp_count(qp, XROCE_CNT_NAK_RCVD, 1);
		xroce_req_fail(qp, xroce_comp_nak_status(pkt->syndrome));
		return;
	}
	xroce_qp_verdict(qp, XROCE_CNT_DROP_GHOST);
}

/* Put a READ response's payload, or an atomic's old value, in its place. */
static void xroce_comp_data(struct xroce_qp *qp, struct xroce_rx *rx)
{
	const struct xroce_pkt *pkt = &rx->pkt;
	struct xroce_req *req = &qp->req;
	const struct xroce_send_wqe *wqe = xroce_req_wqe(req, req->head);
	const struct xroce_swq *e = xroce_req_swq(req, req->head);
	bool atomic = pkt->info & XROCE_OP_ATOMIC_ACK;
	u32 off, len;

	if (req->head == req->tail || !e->started ||
	    !xroce_wqe_is_read(wqe) || atomic != xroce_wqe_is_atomic(wqe)) {
		xroce_qp_verdict(qp, XROCE_CNT_DROP_GHOST);
		return;
	}
	off = ((pkt->psn - e->psn) & XROCE_PSN_MASK) << qp->hot.mtu_shift;
	len = min(e->len - off, xroce_mtu(qp));
	/* An atomic WRITE's length is what it has written. */
	if (wqe->opcode == XROCE_WR_ATOMIC_WRITE)
		len = 0;
	if (!atomic && pkt->payload_len != len) {
		xroce_req_fail(qp, XROCE_WC_BAD_RESP_ERR);
		return;
	}
	if (!xroce_sge_copy(qp, qp->pd, wqe->sge, wqe->num_sge, XROCE_LOCAL_WRITE, off, len,
			    atomic ? xroce_io_buf(&pkt->swap_add) : xroce_io_rx(rx))) {
		xroce_req_fail(qp, XROCE_WC_LOC_PROT_ERR);
		return;
	}
	xroce_req_advance(qp, xroce_psn_add(pkt->psn, 1));
}

/*
 * An answer to @psn or behind it has been waited for. A shorter time counts by an eighth: most
 * may take twice that. A longer one may be of what was lost at first. What goes again is not
 * timed: its answer may be that to its first copy.
 */
static void xroce_comp_timed(struct xroce_req *req, u32 psn)
{
	u64 took = xroce_env_now() - req->timing, rtt = req->rtt;

	if (xroce_psn_diff(psn, req->timed) < 0)
		return;
	req->timing = 0;
	if (took && took <= rtt - 1)
		req->rtt = rtt ? min(rtt - (rtt - took) / 8, 8 * took) : took;
}

/**
 * xroce_comp_rx() - a response has arrived, its ICRC and addresses are right
 * @qp: the queue pair
 * @rx: the packet
 */
void xroce_comp_rx(struct xroce_qp *qp, struct xroce_rx *rx)
{
	const struct xroce_pkt *pkt = &rx->pkt;

	switch (xroce_req_ack(&qp->hot, pkt->psn)) {
	case XROCE_ACK_OLD:
		/*
		 * A NAK for what has arrived meanwhile, out of order as the NAK
		 * itself: behind that the peer has dropped something all the same,
		 * and for all we know nobody will say so again. One that is older
		 * than a window is nobody's who has heard of us.
		 */
		if (pkt->info & XROCE_OP_ACK && pkt->syndrome == XROCE_NAK_PSN &&
		    xroce_psn_diff(qp->hot.una, pkt->psn) <= (s32)READ_ONCE(qp->dev->cwnd_max))
			xroce_comp_lost(qp, qp->hot.una, false, XROCE_CNT_NAK_SEQ_RCVD);
		else if (qp->req.early)
			xroce_req_early(&qp->req);
		return;
	case XROCE_ACK_GHOST:
		xroce_qp_verdict(qp, XROCE_CNT_DROP_GHOST);
		return;
	case XROCE_ACK_NEW:
		break;
	}
	if (qp->req.timing)
		xroce_comp_timed(&qp->req, pkt->psn);
	if (pkt->info & XROCE_OP_ACK)
		xroce_comp_ack(qp, pkt);
	else if (xroce_comp_upto(qp, pkt->psn, pkt->psn))
		xroce_comp_data(qp, rx);
}

/**
 * xroce_comp_expired() - nothing was heard for a whole ACK timeout
 * @qp: the queue pair
 */
void xroce_comp_expired(struct xroce_qp *qp)
{
	struct xroce_req *req = &qp->req;
	u64 total;

	req->waiting = 0;
	/* Ended meanwhile, or about to be reset: nothing fails any more. */
	if (!xroce_qp_sends(qp) || (qp->hot.next == qp->hot.una && !qp->full))
		return;
	/* No room for it, nor to ask, all the while: as good as lost, unless others had it. */
	if (qp->full && (qp->hot.next == qp->hot.una || req->asking || qp->sending)) {
		total = xroce_env_total(qp->dev, XROCE_CNT_TX_PKTS) -
			xroce_env_total(qp->dev, XROCE_CNT_TX_LOOPED);
		if (total != req->total) {
			req->total = total;
			/* What was to ask may have failed: nothing else would go. */
			if (qp->hot.next != qp->hot.una)
				xroce_req_arm(qp);
			return;
		}
	}
	xroce_qp_count(qp, XROCE_CNT_TIMEOUT, 1);
	if (!req->retries) {
		xroce_qp_count(qp, XROCE_CNT_RETRY_EXC, 1);
		xroce_req_fail(qp, XROCE_WC_RETRY_EXC_ERR);
		return;
	}
	req->retries--;
	trace_xroce_retry(qp, qp->hot.una, XROCE_CNT_TIMEOUT);
	req->recovering = 0;
	xroce_cc_loss(qp, true);
	xroce_req_rewind(qp, qp->hot.una);
}
