// SPDX-License-Identifier: GPL-2.0
/*
 * The sender of a QP: frames are staged under its lock and sent without it, by one context at a
 * time; whoever comes meanwhile says so under the lock, and leaves the work to it.
 */
#include "core.h"

/* Frames after which a run leaves the rest to a deferred one. */
#define XROCE_RUN_BUDGET	256
/*
 * And where no window holds the sender back: the receiver may share its CPU, and
 * what it has not polled by then is lost.
 */
#define XROCE_RUN_BUDGET_LOSSY	XROCE_BATCH
/* Until the next try when memory is short, ns. */
#define XROCE_NOMEM_WAIT	1000000
/* Until the next try where there was no room, ns; doubled each time, up to 2^4 of these. */
#define XROCE_FULL_WAIT		100000
#define XROCE_FULL_MOST		4
/* Who has waited for room so long is given a turn, ns. */
#define XROCE_TURN_AGE		3000000

/* How far a QP may fall behind its pace, since timers are late, and catch up, ns. */
#define XROCE_PACE_SLACK	1000000

/* The next request, when it is time for it: else there will be another run then. */
static struct xroce_frame *xroce_paced_next(struct xroce_qp *qp)
{
	struct xroce_req *req = &qp->req;
	struct xroce_frame *f;
	u64 now;

	if (!req->pace)
		return xroce_req_next(qp);
	now = xroce_env_now();
	if (now < req->free_at) {
		xroce_env_timer(qp, req->free_at);
		return NULL;
	}
	f = xroce_req_next(qp);
	if (f)
		req->free_at = max(req->free_at + XROCE_PACE_SLACK, now) -
			       XROCE_PACE_SLACK + (f->len * req->pace >> 20);
	return f;
}

/*
 * Is all sent that has been posted, and will who posts more ring. Of a run that has had
 * @answers to send it is looked at apart: it was not called for requests, mostly.
 */
static bool xroce_req_idle(const struct xroce_req *req, bool answers)
{
	return req->cur == req->tail && (req->dry || (answers &&
	       READ_ONCE(req->ring->prod) == req->tail && READ_ONCE(req->ring->wake)));
}

/* Answers first; but who reads without a pause leaves every so often a turn to requests. */
static u32 xroce_stage(struct xroce_qp *qp, u32 most)
{
	const struct xroce_req *req = &qp->req;
	struct xroce_frame *f;
	bool turn;
	u32 n = 0;

	while (n < most) {
		f = NULL;
		turn = false;
		if (xroce_resp_owes(qp)) {
			turn = ++qp->answers > XROCE_BATCH;
			if (!turn)
				f = xroce_resp_next(qp);
		}
		if (!f && !qp->nomem && !xroce_req_idle(req, n))
			f = xroce_paced_next(qp);
		if (turn) {
			qp->answers = 0;
			if (!f)
				f = xroce_resp_next(qp);
		}
		if (!f)
			break;
		qp->staged[n] = f->is;
		qp->stage[n++] = f;
	}
	return n;
}

static enum xroce_counter xroce_answer_counter(u8 syndrome)
{
	if ((syndrome & XROCE_AETH_TYPE) == XROCE_AETH_ACK)
		return XROCE_CNT_ACKS_SENT;
	if ((syndrome & XROCE_AETH_TYPE) == XROCE_AETH_RNR)
		return XROCE_CNT_RNR_SENT;
	return syndrome == XROCE_NAK_PSN ? XROCE_CNT_NAK_SEQ_SENT : XROCE_CNT_NAK_SENT;
}

/* Only now does it count. Needs no lock. */
static void xroce_taken(struct xroce_qp *qp, const struct xroce_staged *f)
{
	if (f->kind == XROCE_FRAME_CNP)
		xroce_qp_count(qp, XROCE_CNT_CNP_SENT, 1);
	else if (f->kind == XROCE_FRAME_ACK)
		xroce_qp_count(qp, xroce_answer_counter(f->syndrome), 1);
	else if (f->kind == XROCE_FRAME_REQ && f->again)
		xroce_qp_count(qp, f->again, 1);
}

/*
 * The device had no room: as if it had not been built. But nobody misses what
 * belongs to a connection that has been reset meanwhile.
 */
static void xroce_untaken(struct xroce_qp *qp, u32 i, u32 life, bool looked)
{
	const struct xroce_staged *f = &qp->staged[i];

	if (qp->resets == life) {
		if (f->kind == XROCE_FRAME_REQ)
			xroce_req_untaken(qp, f, looked);
		else
			xroce_resp_untaken(qp, f, looked);
	}
	if (qp->stage[i])
		xroce_env_frame_free(qp->stage[i]);
}

/*
 * There is room again, for the first of a burst: if nothing else is out, its clock
 * begins. That of what is asked about runs.
 */
static void xroce_room(struct xroce_qp *qp)
{
	const struct xroce_staged *f = &qp->staged[0];
	struct xroce_req *req = &qp->req;

	qp->full = 0;
	/* Ended meanwhile: no clock is to run, not even into its next life. */
	if (!xroce_qp_sends(qp))
		return;
	if (req->waiting && qp->hot.next != qp->hot.una &&
	    (f->kind != XROCE_FRAME_REQ || f->psn != qp->hot.una || f->again == XROCE_CNT_ASKED))
		return;
	/* Or it has stopped in mid-burst, as it found no room and others who had. */
	req->waiting = 0;
	if (qp->hot.next != qp->hot.una)
		xroce_req_arm(qp);
}

/* Return: how many of the frames staged the device has taken. */
static u32 xroce_send(struct xroce_qp *qp, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		xroce_frame_seal(qp->stage[i]);
	return xroce_env_xmit(qp, qp->stage, n);
}

/* Whose turn it is, of those who send as @qp does. */
static u64 *xroce_turn(const struct xroce_qp *qp)
{
	return &qp->dev->turn[qp->av.route == XROCE_ROUTE_HOST];
}

/* Nobody's who has waited for longer; who ends has one look, and none later. */
static bool xroce_turn_mine(const struct xroce_qp *qp)
{
	u64 turn = READ_ONCE(*xroce_turn(qp));

	return !turn || (qp->since && qp->since <= turn) || qp->hot.state == XROCE_QPS_RESET;
}

/*
 * It waits no more: there was room, or there is nothing to send. Of datagrams the way may
 * have changed.
 */
static void xroce_turn_end(struct xroce_qp *qp)
{
	int i;

	if (!qp->since)
		return;
	for (i = 0; i < 2; i++)
		if (READ_ONCE(qp->dev->turn[i]) == qp->since)
			cmpxchg(&qp->dev->turn[i], qp->since, 0);
	qp->since = 0;
}

/*
 * There was no room. Who has found none for long is the next to be given any: those who answer
 * what the device's reader hands them fill it each time before a timer has its turn, or do on
 * other CPUs. One look for each turn: who finds no room even so is not held up by others.
 *
 * Return: when it looks again.
 */
static noinline u64 xroce_turn_wait(struct xroce_qp *qp, bool looked)
{
	u64 *turn = xroce_turn(qp), now = xroce_env_now(), first = READ_ONCE(*turn);
	u32 wait = XROCE_FULL_WAIT << qp->full;

	if (looked && qp->since && qp->since == first)
		xroce_turn_end(qp);
	else if (looked && qp->since && now - qp->since >= XROCE_TURN_AGE &&
		 (!first || qp->since < first) && cmpxchg(turn, first, qp->since) == first)
		wait = XROCE_FULL_WAIT;
	if (!qp->since)
		qp->since = now;
	if (!looked)
		wait = XROCE_FULL_WAIT;
	if (looked || !qp->full)
		qp->full = min_t(u8, qp->full + 1, XROCE_FULL_MOST);
	return now + wait;
}

/**
 * xroce_qp_away() - leave to another CPU what could overtake what that one has sent
 * @qp: the queue pair
 * @cpu: which CPU
 *
 * Return: whether it is left: a run there is about to come.
 */
bool xroce_qp_away(struct xroce_qp *qp, u32 cpu)
{
	bool away = xroce_env_rings(qp) && xroce_env_defer(qp, cpu);

	qp->away |= away;
	return away;
}

/**
 * xroce_qp_run() - send what there is to send
 * @qp: the queue pair
 *
 * BH off, QP's lock not held. Goes on in a deferred run when the budget is used up,
 * and after some time when the device is full or memory is short.
 */
void xroce_qp_run(struct xroce_qp *qp)
{
	u32 budget = xroce_qp_reliable(qp) ? XROCE_RUN_BUDGET : XROCE_RUN_BUDGET_LOSSY;
	u32 i, n, most, taken, life, less;
	bool mine;

	spin_lock(&qp->lock);
	if (qp->sending) {
		qp->again = true;
		spin_unlock(&qp->lock);
		return;
	}
	qp->sending = true;
	for (;;) {
		if (qp->resp.fatal && !qp->resp.nak && qp->hot.state != XROCE_QPS_RESET)
			xroce_qp_error(qp);	/* the NAK, if any, has left */
		/* Here, since who posts during a burst leaves it to us. */
		if (qp->hot.state == XROCE_QPS_ERR)
			xroce_qp_flush(qp);
		else if (qp->hot.state == XROCE_QPS_SQE)
			xroce_qp_send_error(qp);
		qp->nomem = false;
		qp->away = false;
		qp->again = false;
		qp->req.dry = false;
		qp->req.away = false;
		mine = xroce_turn_mine(qp);
		less = mine && qp->av.route == XROCE_ROUTE_WIRE ? READ_ONCE(qp->dev->less) : 0;
		/* One finds out as well as many whether there is room again. */
		most = qp->full || !mine ? 1 : XROCE_BATCH - less;
		n = xroce_stage(qp, most);
		if (!n) {
			if (!qp->away)
				xroce_turn_end(qp);
			break;
		}
		/* A datagram's way is its own. */
		if (!xroce_qp_reliable(qp))
			mine = xroce_turn_mine(qp);
		life = qp->resets;
		spin_unlock(&qp->lock);
		taken = mine ? xroce_send(qp, n) : 0;
		for (i = 0; i < taken; i++)
			xroce_taken(qp, &qp->staged[i]);
		spin_lock(&qp->lock);
		if (qp->since && (taken || qp->dead))
			xroce_turn_end(qp);
		if (taken && qp->full)
			xroce_room(qp);
		if (taken < n && mine && qp->av.route == XROCE_ROUTE_WIRE)
			WRITE_ONCE(qp->dev->less, XROCE_BATCH - max(taken, 1u));
		else if (less)
			WRITE_ONCE(qp->dev->less, less - 1);
		for (i = n; i-- > taken; )
			xroce_untaken(qp, i, life, mine);
		/* What nobody will acknowledge is done now that it is taken. */
		if (!xroce_qp_reliable(qp) && qp->resets == life && xroce_qp_sends(qp))
			xroce_req_advance(qp, qp->hot.next);
		budget -= min(budget, n);
		if (taken < n) {
			xroce_qp_count(qp, XROCE_CNT_TX_UNTAKEN, n - taken);
			/* Who has ended meanwhile has its one look still. */
			if (!mine && qp->hot.state == XROCE_QPS_RESET)
				continue;
			xroce_env_timer(qp, xroce_turn_wait(qp, mine));
			/* What is to be flushed meanwhile needs no room. */
			if (qp->again && !qp->dead && !xroce_qp_sends(qp))
				xroce_env_defer(qp, -1);
			break;
		}
		if (!budget) {
			xroce_env_defer(qp, -1);
			break;
		}
		/* There was no more, and nothing has come up since. */
		if (n < most && !qp->again && !qp->nomem && !qp->resp.fatal &&
		    xroce_qp_reliable(qp) && qp->hot.state == XROCE_QPS_RTS)
			break;
	}
	if (qp->nomem)
		xroce_env_timer(qp, xroce_env_now() + XROCE_NOMEM_WAIT);
	qp->sending = false;
	spin_unlock(&qp->lock);
}

/**
 * xroce_qp_timer() - the time asked for by xroce_env_timer() has come
 * @qp: the queue pair
 */
void xroce_qp_timer(struct xroce_qp *qp)
{
	struct xroce_req *req = &qp->req;
	u64 now = xroce_env_now();
	bool much;

	spin_lock(&qp->lock);
	if (qp->dead) {
		spin_unlock(&qp->lock);
		return;
	}
	/* There may be room again for all that waits; all that it had out, once more. */
	much = qp->full || qp->nomem || qp->resp.pace;
	if (req->rnr_until && now >= req->rnr_until) {
		req->rnr_until = 0;
		much = true;
	} else if (req->rnr_until) {
		xroce_env_timer(qp, req->rnr_until);
	}
	if (xroce_req_timer(qp, now))
		xroce_comp_expired(qp);
	much |= qp->hot.state == XROCE_QPS_ERR;
	spin_unlock(&qp->lock);
	/* Of many QPs they may go off at once: what there is much of is others' work too. */
	if (much)
		xroce_env_defer(qp, -1);
	else
		xroce_qp_run(qp);
}
