// SPDX-License-Identifier: GPL-2.0
/*
 * The requester: work requests into request packets, back to a PSN when something was
 * lost, and out as completions. Under the QP's lock. The position is hot.next alone:
 * which work request and which byte follow from it, so going back is assigning a PSN.
 */
#include "copy.h"

/*
 * Until the last packet goes again to ask for an ACK, ns, and as a part of the ACK
 * timeout: for those that were lost with nothing behind them to show it, and after
 * twice as long, for packets that did not ask since nobody waits for their completion,
 * unless one that follows has. It costs no retry. Twice as long as answers take where
 * that is more, up to XROCE_ASK_MOST: the first may have been late for being lost.
 */
#define XROCE_ASK_WAIT		4000000
#define XROCE_ASK_MOST		(64ull * XROCE_ASK_WAIT)
#define XROCE_ASK_PART		4
/* A READ goes again to ask where it lacks so many responses at most, which that costs. */
#define XROCE_ASK_READ		4
#define XROCE_INV_LOOK		64	/* requests that LOCAL_INV may have to wait for */
#define XROCE_NEVER		(~0ull)

static u8 xroce_wc_opcode(u8 wr)
{
	static const u8 of[] = {
		[XROCE_WR_RDMA_WRITE] = XROCE_WC_RDMA_WRITE,
		[XROCE_WR_RDMA_WRITE_WITH_IMM] = XROCE_WC_RDMA_WRITE,
		[XROCE_WR_RDMA_READ] = XROCE_WC_RDMA_READ,
		[XROCE_WR_ATOMIC_CMP_AND_SWP] = XROCE_WC_COMP_SWAP,
		[XROCE_WR_ATOMIC_FETCH_AND_ADD] = XROCE_WC_FETCH_ADD,
		[XROCE_WR_LOCAL_INV] = XROCE_WC_LOCAL_INV,
		[XROCE_WR_BIND_MW] = XROCE_WC_BIND_MW,
		[XROCE_WR_FLUSH] = XROCE_WC_FLUSH,
		[XROCE_WR_ATOMIC_WRITE] = XROCE_WC_ATOMIC_WRITE,
		[XROCE_WR_REG_MR] = XROCE_WC_REG_MR,
	};

	return wr <= XROCE_WR_REG_MR ? of[wr] : XROCE_WC_SEND;
}

static noinline void xroce_req_report(struct xroce_qp *qp, const struct xroce_send_wqe *wqe,
				      u32 len, u8 status)
{
	struct xroce_cqe cqe = {
		.wr_id = wqe->wr_id,
		.qpn = qp->hot.qpn,
		.status = status,
		.opcode = xroce_wc_opcode(wqe->opcode),
		.byte_len = len,
		.sq_cons = qp->req.head,
		.user_handle = qp->user_handle,
	};

	if (!xroce_cq_post(qp->scq, &cqe, false))
		xroce_qp_fatal(qp);
}

/**
 * xroce_req_complete() - end the oldest work request
 * @qp: the queue pair
 * @status: &enum xroce_wc_status; an error completes it even when unsignalled
 */
void xroce_req_complete(struct xroce_qp *qp, u8 status)
{
	struct xroce_req *req = &qp->req;
	const struct xroce_send_wqe *wqe = xroce_req_wqe(req, req->head);
	const struct xroce_swq *e = xroce_req_swq(req, req->head);

	if (!status)
		xroce_qp_count(qp, xroce_wqe_is_send(wqe) ?
			       XROCE_CNT_TX_SEND : XROCE_CNT_TX_OTHER, 1);
	req->head++;
	if ((s32)(req->cur - req->head) < 0)
		req->cur = req->head;
	/* First the slot: who has polled the completion may post again. */
	smp_store_release(&req->ring->cons, req->head);
	if (status || req->sig_all || (wqe->flags & XROCE_WR_SIGNALED))
		xroce_req_report(qp, wqe, e->len, status);
}

/**
 * xroce_req_fail() - the oldest work request fails, and the send queue with it
 * @qp: the queue pair
 * @status: its status, an &enum xroce_wc_status
 */
void xroce_req_fail(struct xroce_qp *qp, u8 status)
{
	qp->err_status = status;
	if (qp->req.head != qp->req.tail)
		xroce_req_complete(qp, status);
	if (xroce_qp_reliable(qp))
		xroce_qp_error(qp);
	else
		xroce_qp_send_error(qp);
}

/**
 * xroce_req_drained() - raise the event if SQD has just become complete
 * @qp: the queue pair
 */
void xroce_req_drained(struct xroce_qp *qp)
{
	if (!qp->sqd_notify || qp->hot.state != XROCE_QPS_SQD || xroce_req_draining(&qp->req))
		return;
	qp->sqd_notify = false;
	xroce_env_qp_event(qp, XROCE_EVENT_SQ_DRAINED);
}

/* Complete what is acknowledged; an entry that cannot be sent fails in turn. */
static void __flatten xroce_req_done(struct xroce_qp *qp)
{
	struct xroce_req *req = &qp->req;
	struct xroce_swq *e;
	u32 acked;

	while (req->head != req->tail) {
		e = xroce_req_swq(req, req->head);
		/* In SQD nothing is begun, not even to fail. */
		if (!e->started && qp->hot.state == XROCE_QPS_SQD)
			return;
		if (e->status) {
			xroce_req_fail(qp, e->status);
			return;
		}
		if (!e->started)
			return;
		acked = (qp->hot.una - e->psn) & XROCE_PSN_MASK;
		if (acked < e->npsn)
			return;
		xroce_req_complete(qp, XROCE_WC_SUCCESS);
	}
}

/* The work request that @psn stands in, or the one after. */
static u32 xroce_req_at(struct xroce_req *req, u32 psn)
{
	const struct xroce_swq *e;
	u32 i;

	for (i = req->head; i != req->tail; i++) {
		e = xroce_req_swq(req, i);
		if (!e->started || ((psn - e->psn) & XROCE_PSN_MASK) < e->npsn)
			break;
	}
	return i;
}

/* Go on at @psn. */
static void xroce_req_seek(struct xroce_qp *qp, u32 psn)
{
	struct xroce_req *req = &qp->req;

	qp->hot.next = psn;
	req->since_ackreq = 0;
	req->asking = XROCE_ASK_NOT;
	req->cur = xroce_req_at(req, psn);
}

/**
 * xroce_req_rewind() - go back to @psn and send again from there
 * @qp: the queue pair
 * @psn: the PSN to go on with
 */
void xroce_req_rewind(struct xroce_qp *qp, u32 psn)
{
	struct xroce_req *req = &qp->req;

	if (xroce_psn_diff(psn, qp->hot.una) < 0)
		psn = qp->hot.una;
	if (xroce_psn_diff(psn, qp->hot.next) >= 0)
		return;
	while (req->rd_tail != req->rd_head &&
	       xroce_psn_diff(req->rd_end[(req->rd_tail - 1) %
					  XROCE_MAX_RD_ATOMIC], psn) > 0)
		req->rd_tail--;
	xroce_req_seek(qp, psn);
}

/**
 * xroce_req_untaken() - the device did not take a request: it is built anew
 * @qp: the queue pair
 * @f: what it was
 * @looked: the device was asked
 */
void xroce_req_untaken(struct xroce_qp *qp, const struct xroce_staged *f, bool looked)
{
	/* The oldest: the last has been stepped back, or was to follow. */
	if (f->again == XROCE_CNT_ASKED && qp->req.asking) {
		qp->req.asking = XROCE_ASK_BOTH;
		return;
	}
	xroce_req_rewind(qp, f->psn);
	qp->req.since_ackreq = f->since;
	/* Congestion, of which nothing had to be lost; but not where it was others' turn. */
	if (looked && xroce_qp_reliable(qp))
		xroce_cc_loss(qp, false);
	if (f->again == XROCE_CNT_ASKED && qp->hot.next == f->psn)
		qp->req.asking = XROCE_ASK_LAST;
	/* Yet to be sent; though a peer may have guessed and acknowledged it. */
	if (!f->again && xroce_psn_diff(qp->hot.max, f->psn) > 0)
		qp->hot.max = xroce_psn_diff(qp->hot.next, f->psn) > 0 ? qp->hot.next : f->psn;
}

/**
 * xroce_req_advance() - everything before @psn has been acknowledged
 * @qp: the queue pair
 * @psn: the first PSN not acknowledged
 *
 * This is progress: retries begin anew, the window may grow, the timer too.
 */
void xroce_req_advance(struct xroce_qp *qp, u32 psn)
{
	struct xroce_hot *hot = &qp->hot;
	struct xroce_req *req = &qp->req;
	s32 n = xroce_psn_diff(psn, hot->una);

	if (n <= 0)
		return;
	if (xroce_qp_reliable(qp))
		xroce_cc_ack(qp, xroce_psn_diff(hot->max, hot->una), n);
	hot->una = psn;
	if (req->recovering && xroce_psn_diff(psn, req->nak_psn) > 0)
		req->recovering = 0;
	req->retries = req->retry_cnt;
	req->rnr_retries = req->rnr_retry;
	req->rnr_until = 0;	/* another copy of what was refused has been received */
	while (req->rd_head != req->rd_tail &&
	       xroce_psn_diff(req->rd_end[req->rd_head % XROCE_MAX_RD_ATOMIC], psn) <= 0)
		req->rd_head++;
	/* What was to be sent again has arrived after all. */
	if (xroce_psn_diff(hot->next, psn) < 0)
		xroce_req_seek(qp, psn);
	req->waiting = 0;
	if (hot->next != hot->una)
		xroce_req_arm(qp);
	xroce_req_done(qp);
	xroce_req_drained(qp);
}

/* When something is to be done about what is outstanding, if at all. */
static inline u64 xroce_req_due(const struct xroce_req *req)
{
	u64 wait = clamp(2 * req->rtt, (u64)XROCE_ASK_WAIT, XROCE_ASK_MOST);

	if (req->asked)
		wait = xroce_cc_timeout(req);
	else if (req->timeout)
		wait = min(wait, clamp(2 * req->rtt, req->timeout / XROCE_ASK_PART,
				       req->timeout / 2));
	return wait ? req->waiting + wait : XROCE_NEVER;
}

/**
 * xroce_req_arm() - start the ACK timer unless it runs
 * @qp: the queue pair
 */
void xroce_req_arm(struct xroce_qp *qp)
{
	struct xroce_req *req = &qp->req;
	u64 due;

	if (req->waiting || !xroce_qp_reliable(qp))
		return;
	req->waiting = xroce_env_now();
	req->asked = req->asking;	/* and had to wait for its turn */
	due = xroce_req_due(req);
	if (due != XROCE_NEVER)
		xroce_env_timer(qp, due);
}

/*
 * Where the packet before @end begins, or what has not come of the piece of a READ, which
 * goes again only to ask, and if that costs few answers, as of atomics: or @end.
 */
static u32 xroce_req_from(struct xroce_qp *qp, u32 end)
{
	u32 psn = xroce_psn_add(end, XROCE_PSN_MASK), i = xroce_req_at(&qp->req, psn);
	const struct xroce_swq *e = xroce_req_swq(&qp->req, i);

	if (!xroce_wqe_is_read(xroce_req_wqe(&qp->req, i)))
		return psn;
	psn = xroce_psn_add(psn, -((psn - e->psn) & (e->piece - 1)));
	if (xroce_psn_diff(psn, qp->hot.una) < 0)
		psn = qp->hot.una;
	return (qp->req.asked || qp->req.asking) &&
	       xroce_psn_diff(end, psn) <= XROCE_ASK_READ ? psn : end;
}

/*
 * The last packet goes again, and asks for an ACK: the last that can, for nothing is
 * sent of what has failed.
 *
 * Return: whether there is one to ask with.
 */
static bool xroce_req_ask(struct xroce_qp *qp)
{
	const struct xroce_swq *e = xroce_req_swq(&qp->req, qp->req.cur);
	u32 end = qp->hot.next, psn;

	if (qp->req.cur != qp->req.tail && e->started && e->status)
		end = e->psn;
	psn = end == qp->hot.una ? end : xroce_req_from(qp, end);
	if (psn == end)
		return false;
	xroce_req_rewind(qp, psn);
	qp->req.asking = XROCE_ASK_LAST;
	return true;
}

/* After how many packets that did not the next one asks. */
static u32 xroce_req_ask_every(const struct xroce_req *req)
{
	return max(req->cwnd / 4, 1u);
}

/*
 * Is what is out left to the next packet to ask about: for now nobody waits for it
 * (what has not asked takes a PSN each).
 */
static bool xroce_req_leave(struct xroce_qp *qp)
{
	u32 out = xroce_psn_diff(qp->hot.next, qp->hot.una);
	struct xroce_req *req = &qp->req;

	if (!out || out > req->since_ackreq || req->since_ackreq >= xroce_req_ask_every(req))
		return false;
	req->since_ackreq = req->cwnd;
	return true;
}

/**
 * xroce_req_timer() - time has passed
 * @qp: the queue pair
 * @now: the time
 *
 * Return: whether a whole ACK timeout has, and nothing was heard.
 */
bool xroce_req_timer(struct xroce_qp *qp, u64 now)
{
	struct xroce_req *req = &qp->req;
	u64 due = xroce_req_due(req), wait = due - req->waiting, least = 0;

	if (req->waiting && !req->asked && now >= due) {
		if (xroce_req_leave(qp)) {
			xroce_env_timer(qp, now + wait);
			return false;
		}
		req->asked = true;
		/* There is time to answer, however late this comes. */
		if (req->asking || xroce_req_ask(qp)) {
			req->early = true;
			req->asking = XROCE_ASK_BOTH;
			least = now + wait;
		}
	}
	due = max(xroce_req_due(req), least);
	if (!req->waiting || due == XROCE_NEVER)
		return false;
	if (now >= due)
		return true;
	xroce_env_timer(qp, due);
	return false;
}

/* It is of use to know how long answers take, until that is less than half the least wait. */
static bool xroce_req_times(const struct xroce_req *req)
{
	/* and none has come: 0 */
	return req->rtt - 1 >= XROCE_ASK_WAIT / 2 && !req->timing;
}

static inline void xroce_req_ackreq(struct xroce_req *req, struct xroce_frame *f)
{
	f->ackreq = true;
	req->since_ackreq = 0;
	req->local = false;
	if (!f->is.again && xroce_req_times(req)) {
		req->timing = xroce_env_now();
		req->timed = f->is.psn;
	}
}

/**
 * xroce_req_early() - an answer that was asked for again has come twice: not so early again
 * @req: the requester
 */
void xroce_req_early(struct xroce_req *req)
{
	req->early = false;
	req->rtt = clamp(2 * req->rtt, (u64)XROCE_ASK_WAIT, XROCE_ASK_MOST / 2);
}

static bool xroce_req_open(const struct xroce_qp *qp)
{
	/* What the device takes is not in flight, or what goes again is already. */
	if (!xroce_qp_reliable(qp) || qp->req.asking)
		return true;
	return (u32)xroce_psn_diff(qp->hot.next, qp->hot.una) < qp->req.cwnd;
}

/* May what is sent before @i be asked for again from a key's memory, or answered there */
static noinline bool xroce_req_uses(const struct xroce_req *req, u32 i, u32 key)
{
	const struct xroce_send_wqe *wqe;
	u32 n;

	if (i - req->head > XROCE_INV_LOOK)
		return true;
	while (i-- != req->head) {
		wqe = xroce_req_wqe(req, i);
		for (n = 0; n < wqe->num_sge && !(wqe->flags & XROCE_WR_INLINE); n++)
			if (!((wqe->sge[n].lkey ^ key) >> 8))
				return true;
	}
	return false;
}

/* Must this one wait: for what is before it, or for ever. */
static inline bool xroce_req_blocked(struct xroce_qp *qp, u32 i)
{
	struct xroce_swq *e = xroce_req_swq(&qp->req, i);
	const struct xroce_send_wqe *wqe;
	struct xroce_req *req = &qp->req;

	if (e->status || e->plain)
		return e->status;
	wqe = xroce_req_wqe(req, i);
	if (!e->started && (wqe->flags & XROCE_WR_FENCE) && req->rd_head != req->rd_tail)
		return true;
	if (wqe->opcode == XROCE_WR_LOCAL_INV && qp->hot.una != qp->hot.next &&
	    xroce_req_uses(req, i, wqe->inv_rkey))
		return true;
	/* One answer completes all of these before it. */
	if (xroce_wr_is_local(wqe->opcode))
		return i - req->head >= XROCE_PULL_MAX;
	/* The limit may have gone in SQD, behind the look at what was posted. */
	if (xroce_wqe_is_read(wqe) && !e->started && !req->max_rd_atomic)
		e->status = XROCE_WC_LOC_QP_OP_ERR;
	return xroce_wqe_is_read(wqe) &&
	       req->rd_tail - req->rd_head >= max(req->max_rd_atomic, (u32)e->started);
}

/*
 * Is there need to hear of the packet built last: because its completion is waited
 * for, as is room in the window or the ring, or what follows waits for it. Where
 * nothing follows no program waits: should it stay so, xroce_req_timer() asks, and all
 * that is sent from then on does. A wrong no is mended by xroce_req_next().
 */
static bool xroce_req_asks(struct xroce_qp *qp, bool signalled)
{
	struct xroce_req *req = &qp->req;

	if (signalled || req->local || req->asking || req->asked || req->pace ||
	    !xroce_req_open(qp) || ++req->since_ackreq >= xroce_req_ask_every(req) ||
	    req->tail - req->head > req->depth / 2)
		return true;
	/* As the kernel's consumers have it, who free by the answer to what they sent. */
	if (req->cur == req->tail && (req->dry || !xroce_req_pull(qp)))
		return req->trusted;
	return xroce_req_blocked(qp, req->cur) ||
	       (!xroce_req_swq(req, req->cur)->plain &&
		xroce_wr_is_local(xroce_req_wqe(req, req->cur)->opcode));
}

/* Account for a packet built for the PSNs [next, next + n). */
static inline void xroce_req_sent(struct xroce_qp *qp, const struct xroce_swq *e, u32 n)
{
	struct xroce_hot *hot = &qp->hot;
	struct xroce_req *req = &qp->req;

	hot->next = xroce_psn_add(hot->next, n);
	if (xroce_psn_diff(hot->next, hot->max) > 0)
		hot->max = hot->next;
	if (((hot->next - e->psn) & XROCE_PSN_MASK) >= e->npsn)
		req->cur++;
	if (!req->waiting)
		xroce_req_arm(qp);
}

/* The payload of a request. Return: false where its memory cannot be read. */
static bool xroce_req_fill(struct xroce_qp *qp, struct xroce_frame *f,
			   const struct xroce_send_wqe *wqe, u32 off, u32 len)
{
	if (wqe->flags & XROCE_WR_INLINE) {
		xroce_frame_write(f, f->payload, wqe->inline_data + off, len);
		return true;
	}
	return xroce_sge_copy(qp, qp->pd, wqe->sge, wqe->num_sge, 0, off, len, xroce_io_frame(f));
}

/* It cannot: the request has failed, but for one whose key the peer has ended. */
static noinline struct xroce_frame *xroce_req_unread(struct xroce_qp *qp, struct xroce_frame *f,
						     const struct xroce_send_wqe *wqe,
						     struct xroce_swq *e)
{
	xroce_env_frame_free(f);
	if (xroce_psn_diff(qp->hot.next, qp->hot.max) < 0 && xroce_key_ended(qp, wqe))
		return xroce_key_stand_in(qp);
	e->status = XROCE_WC_LOC_PROT_ERR;
	return NULL;
}

/*
 * A piece of a READ; @n: the responses that it asks for. One that is asked for again
 * ends where it ended the first time: the responder knows it as one READ.
 */
static struct xroce_frame *xroce_read_frame(struct xroce_qp *qp,
					    const struct xroce_send_wqe *wqe,
					    const struct xroce_swq *e, u32 *n)
{
	u32 done = (qp->hot.next - e->psn) & XROCE_PSN_MASK, off = done << qp->hot.mtu_shift;
	struct xroce_reth eth = {
		.va = cpu_to_be64(wqe->rdma.remote_addr + off),
		.rkey = cpu_to_be32(wqe->rdma.rkey),
	};

	*n = min(e->piece - (done & (e->piece - 1)), e->npsn - done);
	eth.len = cpu_to_be32(min(e->len - off, *n << qp->hot.mtu_shift));
	return xroce_frame_ext(xroce_frame_new(qp, XROCE_READ_REQ, qp->hot.next, sizeof(eth), 0),
			       &eth, sizeof(eth), 0);
}

static struct xroce_frame *xroce_atomic_frame(struct xroce_qp *qp, const struct xroce_send_wqe *wqe)
{
	struct xroce_atomiceth eth = {
		.va = cpu_to_be64(wqe->rdma.remote_addr),
		.rkey = cpu_to_be32(wqe->rdma.rkey),
		.swap_add = cpu_to_be64(wqe->rdma.swap_add),
		.compare = cpu_to_be64(wqe->rdma.compare),
	};
	u8 op = wqe->opcode == XROCE_WR_ATOMIC_CMP_AND_SWP ? XROCE_CMP_SWAP : XROCE_FETCH_ADD;

	return xroce_frame_ext(xroce_frame_new(qp, op, qp->hot.next, sizeof(eth), 0),
			       &eth, sizeof(eth), 0);
}

static struct xroce_frame *xroce_flush_frame(struct xroce_qp *qp, const struct xroce_send_wqe *wqe)
{
	struct {
		struct xroce_word feth;
		struct xroce_reth reth;
	} __packed eth = {
		.feth.v = cpu_to_be32((wqe->flush.type & XROCE_FETH_PLT) |
				      (wqe->flush.level & XROCE_FETH_SEL) <<
				      XROCE_FETH_SEL_SHIFT),
		.reth.va = cpu_to_be64(wqe->flush.remote_addr),
		.reth.rkey = cpu_to_be32(wqe->flush.rkey),
		.reth.len = cpu_to_be32(wqe->flush.length),
	};

	return xroce_frame_ext(xroce_frame_new(qp, XROCE_FLUSH, qp->hot.next, sizeof(eth), 0),
			       &eth, sizeof(eth), 0);
}

static struct xroce_frame *xroce_awrite_frame(struct xroce_qp *qp,
					      const struct xroce_send_wqe *wqe,
					      struct xroce_swq *e)
{
	struct xroce_reth eth = {
		.va = cpu_to_be64(wqe->rdma.remote_addr),
		.rkey = cpu_to_be32(wqe->rdma.rkey),
		.len = cpu_to_be32(sizeof(u64)),
	};
	struct xroce_frame *f;

	f = xroce_frame_new(qp, XROCE_ATOMIC_WRITE, qp->hot.next, sizeof(eth), sizeof(u64));
	xroce_frame_ext(f, &eth, sizeof(eth), 0);
	return !f || xroce_req_fill(qp, f, wqe, 0, sizeof(u64)) ? f :
	       xroce_req_unread(qp, f, wqe, e);
}

/* Apart: the headers that it has on the stack cost others the stack's guard. */
static noinline struct xroce_frame *xroce_req_read(struct xroce_qp *qp,
						   const struct xroce_send_wqe *wqe,
						   struct xroce_swq *e)
{
	struct xroce_req *req = &qp->req;
	u32 psn = qp->hot.next, n = 1;
	struct xroce_frame *f;

	switch (wqe->opcode) {
	case XROCE_WR_RDMA_READ:
		f = xroce_read_frame(qp, wqe, e, &n);
		break;
	case XROCE_WR_FLUSH:
		f = xroce_flush_frame(qp, wqe);
		break;
	case XROCE_WR_ATOMIC_WRITE:
		f = xroce_awrite_frame(qp, wqe, e);
		break;
	default:
		f = xroce_atomic_frame(qp, wqe);
	}
	if (!f)
		return NULL;
	xroce_req_ackreq(req, f);
	req->rd_end[req->rd_tail++ % XROCE_MAX_RD_ATOMIC] = xroce_psn_add(psn, n);
	xroce_req_sent(qp, e, n);
	req->asking = XROCE_ASK_NOT;
	return f;
}

/* The opcodes of SENDs and WRITEs, by work request, and whether first and last. */
static const u8 xroce_req_ops[][2][2] = {
	[XROCE_WR_RDMA_WRITE] = { { XROCE_WRITE_MIDDLE, XROCE_WRITE_LAST },
				  { XROCE_WRITE_FIRST, XROCE_WRITE_ONLY } },
	[XROCE_WR_RDMA_WRITE_WITH_IMM] = { { XROCE_WRITE_MIDDLE, XROCE_WRITE_LAST_IMM },
					   { XROCE_WRITE_FIRST, XROCE_WRITE_ONLY_IMM } },
	[XROCE_WR_SEND] = { { XROCE_SEND_MIDDLE, XROCE_SEND_LAST },
			    { XROCE_SEND_FIRST, XROCE_SEND_ONLY } },
	[XROCE_WR_SEND_WITH_IMM] = { { XROCE_SEND_MIDDLE, XROCE_SEND_LAST_IMM },
				     { XROCE_SEND_FIRST, XROCE_SEND_ONLY_IMM } },
	[XROCE_WR_SEND_WITH_INV] = { { XROCE_SEND_MIDDLE, XROCE_SEND_LAST_INV },
				     { XROCE_SEND_FIRST, XROCE_SEND_ONLY_INV } },
};

/* Where a datagram goes; the handle belongs to the user as long as BH are off. */
static bool xroce_req_path(struct xroce_qp *qp, const struct xroce_send_wqe *wqe)
{
	const struct xroce_ah *ah;

	if (qp->req.trusted)
		ah = (const void *)(uintptr_t)wqe->ud.kernel;
	else
		ah = xroce_env_ah(qp->dev, wqe->ud.ah);
	if (!ah || ah->pd != qp->pd)
		return false;
	qp->av = ah->av;
	if (wqe->ud.hop_limit)
		xroce_av_set_hops(&qp->av, wqe->ud.hop_limit);
	qp->hot.dest_qpn = wqe->ud.remote_qpn & XROCE_QPN_MASK;
	return true;
}

/* The extension headers of a SEND or WRITE, at @p. */
static void xroce_req_ext(const struct xroce_qp *qp, const struct xroce_send_wqe *wqe,
			  const struct xroce_swq *e, u32 info, u8 *p)
{
	if (info & XROCE_OP_DETH) {
		*(struct xroce_deth *)p = (struct xroce_deth) {
			/* With its highest bit set it is the QP's (10.2.5). */
			.qkey = cpu_to_be32((s32)wqe->ud.remote_qkey < 0 ?
					    qp->qkey : wqe->ud.remote_qkey),
			.sqpn = cpu_to_be32(qp->hot.qpn),
		};
		p += sizeof(struct xroce_deth);
	}
	if (info & XROCE_OP_RETH) {
		*(struct xroce_reth *)p = (struct xroce_reth) {
			.va = cpu_to_be64(wqe->rdma.remote_addr),
			.rkey = cpu_to_be32(wqe->rdma.rkey),
			.len = cpu_to_be32(e->len),
		};
		p += sizeof(struct xroce_reth);
	}
	if (info & XROCE_OP_IMM)
		*(struct xroce_word *)p = (struct xroce_word) { wqe->imm };
	if (info & XROCE_OP_INV)
		*(struct xroce_word *)p = (struct xroce_word) { cpu_to_be32(wqe->inv_rkey) };
}

static u32 xroce_req_ext_len(u32 info)
{
	return (info & XROCE_OP_DETH ? sizeof(struct xroce_deth) : 0) +
	       (info & XROCE_OP_RETH ? sizeof(struct xroce_reth) : 0) +
	       (info & (XROCE_OP_IMM | XROCE_OP_INV) ? sizeof(struct xroce_word) : 0);
}

static struct xroce_frame *xroce_req_send(struct xroce_qp *qp,
					  const struct xroce_send_wqe *wqe,
					  struct xroce_swq *e)
{
	u32 done = (qp->hot.next - e->psn) & XROCE_PSN_MASK;
	u32 off = done << qp->hot.mtu_shift;
	u32 len = min(e->len - off, xroce_mtu(qp));
	bool last = done + 1 == e->npsn, signalled;
	struct xroce_req *req = &qp->req;
	struct xroce_frame *f;
	u32 ext_len, info, op;

	op = xroce_req_ops[wqe->opcode][!done][last];
	info = xroce_op_tab[op];
	if (qp->hot.transport == XROCE_UD) {
		if (!xroce_req_path(qp, wqe)) {
			e->status = XROCE_WC_LOC_QP_OP_ERR;
			return NULL;
		}
		info |= XROCE_OP_DETH;
	}
	ext_len = xroce_req_ext_len(info);
	/* A solicited event is for what consumes a receive (IBTA 9.2.3). */
	if (last && wqe->flags & XROCE_WR_SOLICITED && info & (XROCE_OP_SEND | XROCE_OP_IMM))
		op |= XROCE_BTH_SE << 8;
	f = xroce_frame_new(qp, op, qp->hot.next, ext_len, len);
	if (!f)
		return NULL;
	if (ext_len)
		xroce_req_ext(qp, wqe, e, info, f->seg[0].p + f->payload - ext_len);
	if (!xroce_req_fill(qp, f, wqe, off, len)) {
		f = xroce_req_unread(qp, f, wqe, e);
		if (!f)
			return NULL;
	}
	xroce_req_sent(qp, e, 1);
	if (!xroce_qp_reliable(qp))
		return f;
	signalled = req->sig_all || (wqe->flags & XROCE_WR_SIGNALED);
	if (xroce_req_asks(qp, last && signalled))
		xroce_req_ackreq(req, f);
	req->asking = XROCE_ASK_NOT;
	return f;
}

/*
 * The work request to go on with, NULL when nothing can be sent now. In SQD what
 * was begun is brought to its end, and nothing new begun (IBTA 10.3.1.5).
 */
static struct xroce_swq *xroce_req_current(struct xroce_qp *qp)
{
	bool drain = qp->hot.state == XROCE_QPS_SQD;
	struct xroce_req *req = &qp->req;
	struct xroce_swq *e;

	if (req->cur == req->tail && (drain || !xroce_req_pull(qp)))
		return NULL;
	if (xroce_req_blocked(qp, req->cur))
		return NULL;
	e = xroce_req_swq(req, req->cur);
	if (!e->started) {
		if (drain)
			return NULL;
		e->psn = qp->hot.next;
		e->npsn = max(DIV_ROUND_UP(e->len, xroce_mtu(qp)), 1u);
		e->piece = e->plain ? 0 : xroce_cc_piece(qp);
		e->started = true;
	}
	/* It is inside, by all rules; if they err, nothing beside the request is read. */
	if (e->npsn && ((qp->hot.next - e->psn) & XROCE_PSN_MASK) >= e->npsn) {
		e->status = XROCE_WC_GENERAL_ERR;
		return NULL;
	}
	return e;
}

/*
 * It takes no PSN, and is done once all before it are. When these are sent again it
 * is met again, and has been done.
 */
static void xroce_req_local(struct xroce_qp *qp, const struct xroce_send_wqe *wqe,
			    struct xroce_swq *e)
{
	struct xroce_req *req = &qp->req;

	if (e->npsn && !xroce_local_run(qp, wqe)) {
		/* Here it stays, until its turn to fail. */
		e->started = false;
		e->status = XROCE_WC_MW_BIND_ERR;
	} else if (req->cur++ == req->head) {
		xroce_req_complete(qp, XROCE_WC_SUCCESS);
	} else {
		req->local |= e->npsn && (req->sig_all || wqe->flags & XROCE_WR_SIGNALED);
		e->npsn = 0;
	}
	xroce_req_drained(qp);
}

/*
 * The last request left from another CPU. While anything is out that one goes on, where each
 * has a ring of its own; elsewhere all keeps to its queue, which takes it from any CPU.
 * Return: may the next leave from here.
 */
static noinline bool xroce_req_moves(struct xroce_qp *qp)
{
	if (qp->hot.max == qp->hot.una)
		qp->req.cpu = xroce_env_cpu();
	else
		qp->req.away = xroce_qp_away(qp, qp->req.cpu);
	return !qp->req.away;
}

/* The next request packet in turn, NULL when none may go now. */
static struct xroce_frame *xroce_req_build(struct xroce_qp *qp)
{
	const struct xroce_send_wqe *wqe;
	struct xroce_swq *e;
	u32 n;

	for (n = 0; n < XROCE_BATCH; n++) {
		if (!xroce_req_open(qp)) {
			/* Whatever opens it has the ring looked at: nobody need ring. */
			WRITE_ONCE(qp->req.ring->wake, 0);
			return NULL;
		}
		e = xroce_req_current(qp);
		if (!e || (qp->req.cpu != xroce_env_cpu() && !xroce_req_moves(qp)))
			return NULL;
		wqe = xroce_req_wqe(&qp->req, qp->req.cur);
		qp->req.srqn = wqe->rdma.xrc_srqn & XROCE_QPN_MASK;
		if (!e->plain && xroce_wqe_is_read(wqe))
			return xroce_req_read(qp, wqe, e);
		if (e->plain || !xroce_wr_is_local(wqe->opcode))
			return xroce_req_send(qp, wqe, e);
		xroce_req_local(qp, wqe, e);
	}
	/* Others want this CPU too. */
	xroce_env_defer(qp, -1);
	return NULL;
}

/*
 * Before the last asks, the oldest goes again: a peer that has told of its loss once, or
 * was not ready for it, says nothing of all that follows until it comes. With it there
 * the last is answered.
 *
 * Return: whether it is to be built now.
 */
static noinline bool xroce_req_back(struct xroce_qp *qp)
{
	struct xroce_req *req = &qp->req;
	u32 end = req->rd_end[req->rd_head % XROCE_MAX_RD_ATOMIC];

	if (qp->hot.una == qp->hot.next || (xroce_wqe_is_read(xroce_req_wqe(req, req->head)) &&
					    xroce_req_from(qp, end) == end)) {
		req->asking = XROCE_ASK_LAST;
		return false;
	}
	qp->hot.next = qp->hot.una;
	req->cur = req->head;
	/* If it is a READ it is out already, and the only one so far. */
	req->rd_tail = req->rd_head;
	return true;
}

/* And on at @psn, behind the READs up to @rd_tail, where the last asks. */
static noinline void xroce_req_forth(struct xroce_qp *qp, u32 psn, u32 rd_tail)
{
	xroce_req_seek(qp, psn);
	qp->req.rd_tail = rd_tail;
	qp->req.asking = qp->nomem || qp->req.away ? XROCE_ASK_BOTH : XROCE_ASK_LAST;
}

/* Packets that cannot ask in turn before others get the CPU: each is looked for. */
#define XROCE_ASKS	16

/**
 * xroce_req_next() - build the next request packet
 * @qp: the queue pair
 *
 * Return: a frame, or NULL when there is nothing to send or it may not go yet.
 */
struct xroce_frame *xroce_req_next(struct xroce_qp *qp)
{
	struct xroce_req *req = &qp->req;
	struct xroce_frame *f;
	u32 left = XROCE_ASKS, psn, rd_tail;
	bool back;

	while (xroce_qp_sends(qp) && !req->rnr_until) {
		if (!left--) {
			xroce_env_defer(qp, -1);
			break;
		}
		psn = qp->hot.next;
		rd_tail = req->rd_tail;
		back = req->asking == XROCE_ASK_BOTH && xroce_req_back(qp);
		f = xroce_req_build(qp);
		if (back)
			xroce_req_forth(qp, psn, rd_tail);
		if (f || qp->nomem || req->away)
			return f;
		/* Stopping: one that cannot be sent may be the oldest already. */
		xroce_req_done(qp);
		/*
		 * The last packet did not ask for an ACK, because more was to follow at once,
		 * and what did waits for it. Or it was to ask, and cannot go again.
		 */
		if (!req->since_ackreq && !req->asking)
			break;
		if ((req->cur == req->tail && !req->local) || !xroce_req_ask(qp))
			break;
	}
	return NULL;
}
