// SPDX-License-Identifier: GPL-2.0
/*
 * A QP's states: what a transition sets and clears, the way into ERR and the
 * flush there. Transitions come from one process at a time (the owner's mutex)
 * and take the QP's lock for the change itself.
 */
#include "core.h"

/**
 * xroce_qp_init() - the part of a new QP that does not depend on its rings
 * @qp: the queue pair
 *
 * The owner has zeroed it and set what is fixed at creation: dev, pd, scq, rcq,
 * rq, srq, xrcd, hot.qpn, hot.transport, and of req the ring, sizes and copies.
 * Without a receive queue of its own or shared, @rq is NULL: XRC.
 */
void xroce_qp_init(struct xroce_qp *qp)
{
	spin_lock_init(&qp->lock);
	qp->hot.state = XROCE_QPS_RESET;
	qp->resp.pd = qp->pd;
	qp->req.cpu = -1;	/* none */
	qp->resp.cpu = -1;
	WRITE_ONCE(qp->req.ring->wake, 1);
}

static void xroce_ring_reset(struct xroce_ring *ring)
{
	WRITE_ONCE(ring->prod, 0);
	WRITE_ONCE(ring->cons, 0);
	WRITE_ONCE(ring->wake, 0);
}

/* Back to how it was created; work requests vanish without completion. */
static void xroce_qp_reset(struct xroce_qp *qp)
{
	struct xroce_req *req = &qp->req;
	struct xroce_resp *resp = &qp->resp;

	xroce_resp_stop(qp);
	req->head = 0;
	req->cur = 0;
	req->tail = 0;
	req->rd_head = 0;
	req->rd_tail = 0;
	req->waiting = 0;
	req->rtt = 0;
	req->timing = 0;
	req->early = false;
	req->rnr_until = 0;
	req->pace = 0;
	req->free_at = 0;
	req->recovering = 0;
	req->asking = XROCE_ASK_NOT;
	req->since_ackreq = 0;
	req->local = false;
	resp->nak = 0;
	resp->fatal = false;
	resp->wqe_held = false;
	resp->cnp_next = 0;
	resp->pace = 0;
	resp->mark = false;
	resp->answered = false;
	resp->held = false;
	qp->established = false;
	qp->err_status = 0;
	qp->err_nak = 0;
	qp->hot.msn = 0;
	qp->hot.msg = 0;
	qp->hot.resp_flags = 0;
	qp->resets++;
	/* What is on its way in or out belongs to the past. */
	smp_store_release(&qp->gen, qp->gen + 1);
	xroce_ring_reset(req->ring);
	WRITE_ONCE(req->ring->wake, 1);
	if (!qp->srq && qp->rq) {
		spin_lock(&qp->rq->lock);
		qp->rq->cons = 0;
		qp->rq->prod = 0;
		xroce_ring_reset(qp->rq->ring);
		spin_unlock(&qp->rq->lock);
	}
}

static void xroce_qp_flush_recv(struct xroce_qp *qp)
{
	struct xroce_cqe cqe = { .status = XROCE_WC_WR_FLUSH_ERR };

	xroce_resp_complete(qp, &cqe, false);
}

/* The queue that a receive was taken from may be gone, and with it who waits. */
static void xroce_qp_flush_xrc(struct xroce_qp *qp)
{
	qp->resp.wqe_held = false;
	if (!xroce_xrc_begin(qp, qp->resp.srqn))
		return;
	xroce_qp_flush_recv(qp);
	xroce_xrc_end(qp);
}

/* Work requests flushed before others get the CPU: many QPs may end at once. */
#define XROCE_FLUSH_BUDGET	256u

/*
 * A user who posts as fast as this flushes does not hold it up: the rest is left
 * to a deferred run.
 */
static void xroce_qp_flush_sends(struct xroce_qp *qp)
{
	struct xroce_req *req = &qp->req;
	u32 left;

	for (left = min(2 * req->depth, XROCE_FLUSH_BUDGET); left; left--) {
		if (req->head == req->tail && !xroce_req_pull(qp))
			return;
		xroce_req_complete(qp, XROCE_WC_WR_FLUSH_ERR);
	}
	xroce_env_defer(qp, -1);
}

/**
 * xroce_qp_flush() - complete all work requests with WR_FLUSH_ERR, in order
 * @qp: the queue pair
 *
 * Under the QP's lock, in ERR.
 */
void xroce_qp_flush(struct xroce_qp *qp)
{
	u32 left;

	xroce_qp_flush_sends(qp);
	if (qp->resp.wqe_held && qp->xrcd)
		xroce_qp_flush_xrc(qp);
	else if (qp->resp.wqe_held)
		xroce_qp_flush_recv(qp);
	if (qp->srq || !qp->rq)
		return;
	for (left = min(qp->rq->mask + 1, XROCE_FLUSH_BUDGET); left; left--) {
		WRITE_ONCE(qp->rq->ring->wake, 1);
		/* Pairs with the user's barrier between prod and wake. */
		smp_mb();
		if (!xroce_rq_take(qp))
			break;
		xroce_qp_flush_recv(qp);
	}
	if (!left)
		xroce_env_defer(qp, -1);
}

/**
 * xroce_qp_error() - to ERR, with everything flushed (IBTA 10.3.1.6)
 * @qp: the queue pair
 *
 * Under the QP's lock.
 */
void xroce_qp_error(struct xroce_qp *qp)
{
	if (qp->hot.state == XROCE_QPS_ERR)
		return;
	trace_xroce_error(qp);
	qp->hot.state = XROCE_QPS_ERR;
	qp->req.waiting = 0;
	qp->req.rnr_until = 0;
	xroce_resp_stop(qp);
	xroce_qp_flush(qp);
	if (qp->srq)
		xroce_env_qp_event(qp, XROCE_EVENT_LAST_WQE);
}

/**
 * xroce_qp_send_error() - to SQE: sends are flushed, receive goes on
 * @qp: the queue pair
 *
 * Under the QP's lock. UC and UD, when a send fails here (IBTA 10.3.1.7).
 */
void xroce_qp_send_error(struct xroce_qp *qp)
{
	if (qp->hot.state != XROCE_QPS_SQE)
		trace_xroce_error(qp);
	qp->hot.state = XROCE_QPS_SQE;
	qp->hot.una = qp->hot.next;
	qp->hot.max = qp->hot.next;
	xroce_qp_flush_sends(qp);
}

/**
 * xroce_qp_fatal() - a completion found no room: to ERR, in the next run
 * @qp: the queue pair
 *
 * Under the QP's lock. An overrun is a catastrophic error of every work queue
 * that goes on to use the CQ (IBTA 11.6.3.2).
 */
void xroce_qp_fatal(struct xroce_qp *qp)
{
	if (qp->hot.state == XROCE_QPS_ERR)
		return;
	if (!qp->resp.fatal)
		xroce_env_qp_event(qp, XROCE_EVENT_QP_FATAL);
	qp->resp.fatal = true;
	xroce_env_defer(qp, -1);
}

static void xroce_qp_attrs(struct xroce_qp *qp, struct xroce_attr *attr, u32 mask)
{
	struct xroce_req *req = &qp->req;
	struct xroce_resp *resp = &qp->resp;

	if (mask & XROCE_ATTR_ACCESS)
		qp->access = attr->access;
	if (mask & XROCE_ATTR_QKEY)
		qp->qkey = attr->qkey;
	if (mask & XROCE_ATTR_SQD_NOTIFY)
		qp->sqd_notify = attr->sqd_notify;
	if (mask & XROCE_ATTR_PKEY)
		qp->pkey = attr->pkey;
	if (mask & XROCE_ATTR_AV) {
		qp->av = attr->av;
		/* Pairs with the acquire before the comparison in xroce_rx(). */
		smp_store_release(&qp->gen, qp->gen + 1);
	}
	if (mask & XROCE_ATTR_PATH_MTU)
		qp->hot.mtu_shift = __builtin_ctz(attr->path_mtu);
	if (mask & XROCE_ATTR_TIMEOUT)
		req->timeout = attr->timeout ? 4096ull << attr->timeout : 0;
	if (mask & XROCE_ATTR_TIMEOUT && req->waiting)
		xroce_env_timer(qp, xroce_env_now());	/* for what is out too */
	if (mask & XROCE_ATTR_RETRY_CNT) {
		req->retry_cnt = attr->retry_cnt;
		req->retries = attr->retry_cnt;
	}
	if (mask & XROCE_ATTR_RNR_RETRY) {
		req->rnr_retry = attr->rnr_retry;
		req->rnr_retries = attr->rnr_retry;
	}
	if (mask & XROCE_ATTR_MAX_RD_ATOMIC)
		req->max_rd_atomic = attr->max_rd_atomic;
	if (mask & XROCE_ATTR_MIN_RNR_TIMER)
		resp->min_rnr = attr->min_rnr_timer;
	if (mask & XROCE_ATTR_DEST_QPN)
		qp->hot.dest_qpn = attr->dest_qpn;
	if (mask & XROCE_ATTR_RATE) {
		req->pace = attr->rate ? (8000000ull << 20) / attr->rate : 0;
		req->free_at = 0;
	}
	if (mask & XROCE_ATTR_RQ_PSN) {
		qp->hot.epsn = attr->rq_psn;
		resp->rd_end = XROCE_PSN_NONE;
	}
	if (mask & XROCE_ATTR_SQ_PSN) {
		qp->hot.una = attr->sq_psn;
		qp->hot.next = attr->sq_psn;
		qp->hot.max = attr->sq_psn;
		xroce_cc_init(qp);
	}
	if (mask & XROCE_ATTR_MAX_DEST_RD_ATOMIC)
		attr->rd = xroce_resp_move(qp, attr->rd, attr->max_dest_rd_atomic);
}

/*
 * What was posted in SQE is flushed before the state is left, however much it is (IBTA
 * 10.3.1.7), and others get the lock and the CPU in between.
 */
static void xroce_qp_flush_rest(struct xroce_qp *qp)
{
	struct xroce_req *req = &qp->req;
	u32 end = req->head + min(READ_ONCE(req->ring->prod) - req->head, req->depth), head;

	while (qp->hot.state == XROCE_QPS_SQE && (s32)(end - req->head) > 0) {
		head = req->head;
		xroce_qp_flush_sends(qp);
		if (req->head == head)
			return;		/* the user's index was none */
		spin_unlock(&qp->lock);
		local_bh_enable();
		local_bh_disable();
		spin_lock(&qp->lock);
	}
}

/* What packets, timeouts and bad work may have made of what the caller saw. */
static bool xroce_qp_may(u8 from, u8 to)
{
	if (to == XROCE_QPS_RESET || to == XROCE_QPS_ERR)
		return true;
	return from != XROCE_QPS_ERR && (from != XROCE_QPS_SQE || to == XROCE_QPS_RTS);
}

/* Nothing is heard or asked any more; what is owed is said, without the lock. */
static void xroce_qp_last_word(struct xroce_qp *qp)
{
	qp->hot.state = XROCE_QPS_RESET;
	xroce_resp_stop(qp);
	spin_unlock(&qp->lock);
	xroce_qp_run(qp);
	spin_lock(&qp->lock);
}

/**
 * xroce_qp_modify() - set attributes, then the state
 * @qp: the queue pair
 * @attr: checked by the caller: ranges, and that the transition is legal
 * @mask: &enum xroce_attr_mask
 *
 * Process context, BH on, one caller at a time for a QP.
 *
 * Return: 0, or -EINVAL: since the caller looked the QP has come to ERR or SQE,
 * from where no way leads to this state.
 */
int xroce_qp_modify(struct xroce_qp *qp, struct xroce_attr *attr, u32 mask)
{
	bool state = mask & XROCE_ATTR_STATE;
	int err = -EINVAL;

	local_bh_disable();
	spin_lock(&qp->lock);
	if (state && attr->state == XROCE_QPS_RTS)
		xroce_qp_flush_rest(qp);
	if (state && !xroce_qp_may(qp->hot.state, attr->state))
		goto out;
	if (state && attr->state == XROCE_QPS_RESET)
		xroce_qp_last_word(qp);
	xroce_qp_attrs(qp, attr, mask);
	if (state && attr->state == XROCE_QPS_ERR) {
		xroce_qp_error(qp);
	} else if (state) {
		qp->hot.state = attr->state;
		if (attr->state != XROCE_QPS_SQD)
			qp->sqd_notify = false;
		if (attr->state == XROCE_QPS_RESET)
			xroce_qp_reset(qp);
	}
	xroce_req_drained(qp);
	err = 0;
out:
	spin_unlock(&qp->lock);
	xroce_qp_run(qp);
	local_bh_enable();
	return err;
}

/**
 * xroce_qp_kill() - nothing is heard from now on, no timer set
 * @qp: the queue pair
 *
 * Process context, BH on. An ACK or NAK that is owed is sent, once. Runs and timers
 * under way find @dead under the lock; the owner waits for them before it frees.
 */
void xroce_qp_kill(struct xroce_qp *qp)
{
	local_bh_disable();
	spin_lock(&qp->lock);
	qp->dead = true;
	xroce_qp_last_word(qp);
	spin_unlock(&qp->lock);
	local_bh_enable();
}
