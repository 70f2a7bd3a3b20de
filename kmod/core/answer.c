// SPDX-License-Identifier: GPL-2.0
/*
 * The responder's answers, which leave in PSN order. Under the QP's lock.
 *
 * What is owed to the peer is state, not a queue: active READs, one NAK, one
 * coalesced ACK. An answer that the device did not take is owed again.
 */
#include "copy.h"

/* An ACK or NAK says that what came before it has been answered. */
static void xroce_resp_mute(struct xroce_qp *qp)
{
	qp->resp.nak = 0;
	qp->hot.resp_flags &= ~XROCE_RESP_ACK;
}

/* The oldest READ or atomic to be answered, by PSN. */
static struct xroce_rd *xroce_resp_oldest(struct xroce_resp *resp)
{
	u32 i, left = resp->rd_active;
	struct xroce_rd *rd;

	/* From the newest on: those that are active came last, mostly. */
	for (i = 1; i <= resp->max_rd; i++) {
		rd = xroce_rd_slot(resp, resp->rd_tail + resp->max_rd - i);
		if (rd->state == XROCE_RD_ACTIVE && !--left)
			return rd;
	}
	return NULL;
}

/*
 * The first READ or atomic that has not been answered yet. One that was answered in
 * full and is asked for again is none: it says nothing of what came since.
 */
static struct xroce_rd *xroce_resp_first(struct xroce_resp *resp)
{
	struct xroce_rd *rd;
	u32 i;

	for (i = 0; i < resp->max_rd; i++) {
		rd = xroce_rd_slot(resp, resp->rd_tail + i);
		if (rd->state == XROCE_RD_ACTIVE && !rd->again)
			return rd;
	}
	return NULL;
}

/*
 * A READ's response will not come, from @psn on, nor has; @rd was its slot. What was
 * executed behind it is not acknowledged; what it was to acknowledge is.
 */
static void xroce_resp_unanswered(struct xroce_qp *qp, const struct xroce_rd *rd, u32 psn)
{
	xroce_resp_mute(qp);
	/* It has been answered in part, or another has the slot. */
	if (!rd || psn != rd->psn || rd->owes == XROCE_PSN_NONE)
		return;
	qp->hot.resp_flags |= XROCE_RESP_ACK;
	qp->resp.rd_end = qp->hot.epsn;
	qp->resp.rd_before = rd->owes;
	qp->resp.rd_msn = xroce_psn_add(rd->msn, XROCE_PSN_MASK);
}

/**
 * xroce_resp_stop() - no READ is answered any more
 * @qp: the queue pair
 *
 * But an ACK or NAK is sent still, whatever the QP's state: the user may have seen
 * the completion, and ended the QP, before the peer was told.
 */
void xroce_resp_stop(struct xroce_qp *qp)
{
	struct xroce_resp *resp = &qp->resp;
	struct xroce_rd *rd = xroce_resp_first(resp);
	u32 i;

	if (rd)
		xroce_resp_unanswered(qp, rd, rd->next);
	for (i = 0; i < resp->max_rd; i++)
		resp->rd[i].state = XROCE_RD_FREE;
	resp->rd_tail = 0;
	resp->rd_active = 0;
	resp->cnp = false;
}

/**
 * xroce_resp_move() - remember READs and atomics elsewhere from now on
 * @qp: the queue pair
 * @rd: @max entries, all zero
 * @max: how many
 *
 * The newest stay known: the peer, whose queue nobody has drained, may ask for them again
 * (IBTA 9.7.5.1.3). Without a place for each that is still to be answered none is.
 *
 * Return: where they were.
 */
struct xroce_rd *xroce_resp_move(struct xroce_qp *qp, struct xroce_rd *rd, u32 max)
{
	struct xroce_resp *resp = &qp->resp;
	u32 i, oldest, active = 0, keep = min(max, resp->max_rd);
	struct xroce_rd *old = resp->rd;

	oldest = resp->rd_tail + resp->max_rd - keep;
	for (i = 0; i < keep; i++)
		active += xroce_rd_slot(resp, oldest + i)->state == XROCE_RD_ACTIVE;
	if (active != resp->rd_active) {
		xroce_resp_stop(qp);
		keep = 0;
	}
	for (i = 0; i < keep; i++)
		rd[i] = *xroce_rd_slot(resp, oldest + i);
	resp->rd = rd;
	resp->max_rd = max;
	resp->rd_tail = keep < max ? keep : 0;
	return old;
}

static __be32 xroce_resp_smsn(u8 syndrome, u32 msn)
{
	return cpu_to_be32((u32)syndrome << 24 | msn);
}

/*
 * The key of a READ was good when it came, and is no more: the NAK takes the
 * place of the response that is next, and nothing follows it. But one that had all
 * of its answer once is a late duplicate, and nobody waits for that.
 */
static void xroce_resp_cut(struct xroce_qp *qp, struct xroce_rd *rd)
{
	struct xroce_resp *resp = &qp->resp;
	u32 i;

	rd->state = XROCE_RD_DONE;
	rd->stop = rd->next;
	resp->rd_active--;
	if (rd->again)
		return;
	for (i = 0; i < resp->max_rd; i++)
		if (resp->rd[i].state == XROCE_RD_ACTIVE)
			resp->rd[i].state = XROCE_RD_FREE;
	resp->rd_active = 0;
	xroce_resp_no_access(qp);
	resp->nak_psn = rd->next;
	/* Some tell by it what was done: not this, nor what came behind it. */
	qp->hot.msn = xroce_psn_add(rd->msn, XROCE_PSN_MASK);
}

static struct xroce_frame *xroce_resp_rd_frame(struct xroce_qp *qp, struct xroce_rd *rd)
{
	u8 syndrome = XROCE_AETH_ACK | XROCE_AETH_NO_CREDIT;
	struct xroce_aeth aeth = { xroce_resp_smsn(syndrome, rd->msn) };
	bool first = rd->next == rd->start;
	bool last = xroce_psn_add(rd->next, 1) == rd->stop;
	__be64 value = cpu_to_be64(rd->value);
	struct xroce_frame *f;
	u32 off, len;
	u8 op;

	if (rd->kind == XROCE_OP_ATOMIC) {
		f = xroce_frame_new(qp, XROCE_ATOMIC_ACK, rd->psn, sizeof(aeth) + sizeof(value), 0);
		xroce_frame_ext(f, &value, sizeof(value), 0);
		return xroce_frame_ext(f, &aeth, sizeof(aeth), sizeof(value));
	}
	off = ((rd->next - rd->psn) & XROCE_PSN_MASK) << qp->hot.mtu_shift;
	len = min(rd->len - off, xroce_mtu(qp));
	if (last)
		op = first ? XROCE_READ_RESP_ONLY : XROCE_READ_RESP_LAST;
	else
		op = first ? XROCE_READ_RESP_FIRST : XROCE_READ_RESP_MIDDLE;
	f = xroce_frame_new(qp, op, rd->next, first || last ? sizeof(aeth) : 0, len);
	if (!f)
		return NULL;
	if (first || last)
		xroce_frame_ext(f, &aeth, sizeof(aeth), 0);
	if (!xroce_mr_copy(qp, rd->pd, rd->rkey, XROCE_REMOTE_READ, rd->va + off, len,
			   xroce_io_frame(f))) {
		xroce_env_frame_free(f);
		xroce_resp_cut(qp, rd);
		return NULL;
	}
	return f;
}

/*
 * What was executed last, but for READs and atomics: of a response that is lost an
 * ACK would say that it had come (IBTA 9.7.5.1.1).
 */
static u32 xroce_resp_ack_psn(struct xroce_qp *qp)
{
	struct xroce_resp *resp = &qp->resp;

	if (qp->hot.epsn == resp->rd_end)
		return resp->rd_before;
	resp->rd_end = XROCE_PSN_NONE;	/* PSNs come round */
	return xroce_psn_add(qp->hot.epsn, XROCE_PSN_MASK);
}

static struct xroce_frame *xroce_resp_ack_frame(struct xroce_qp *qp, u8 syndrome, u32 psn, u32 acks)
{
	bool before = psn == acks && qp->hot.epsn == qp->resp.rd_end;
	u32 msn = before ? qp->resp.rd_msn : qp->hot.msn;
	struct xroce_aeth aeth = { xroce_resp_smsn(syndrome, msn) };
	struct xroce_frame *f;

	f = xroce_frame_new(qp, XROCE_ACK, psn, sizeof(aeth), 0);
	if (f) {
		xroce_frame_ext(f, &aeth, sizeof(aeth), 0);
		f->is.kind = XROCE_FRAME_ACK;
		f->is.syndrome = syndrome;
		f->is.acks = acks;
	}
	return f;
}

/* To the peer: what it sends here meets congestion (Annex A17.9.3). */
static noinline struct xroce_frame *xroce_resp_cnp_frame(struct xroce_qp *qp)
{
	static const u8 reserved[16];
	struct xroce_frame *f;

	f = xroce_frame_new(qp, XROCE_CNP, 0, sizeof(reserved), 0);
	if (f) {
		xroce_frame_ext(f, reserved, sizeof(reserved), 0);
		f->is.kind = XROCE_FRAME_CNP;
		f->seg[0].p[qp->av.l3_len + offsetof(struct xroce_bth, dqpn)] |=
			XROCE_BTH_BECN >> 24;
		/* A class of its own, which switches may prefer (A17.9.3) */
		xroce_frame_set_tos(f, XROCE_CNP_TOS);
		f->prio = XROCE_CNP_PRIO;
	}
	return f;
}

/* As a switch does: a device without room is congestion, of which the requester tells. */
static noinline void xroce_resp_mark(struct xroce_resp *resp, struct xroce_frame *f)
{
	const u8 *ip = f->seg[0].p;

	xroce_frame_set_tos(f, (ip[0] >> 4 == 4 ? ip[1] : ip[0] << 4 | ip[1] >> 4) | 3);
	resp->mark = false;
}

/* How long a ring may hold what has left, ns: of 10 Gbit/s, which are full, some 3 ms */
#define XROCE_RESP_FOLLOWS	10000000

/*
 * READ responses are in the ring of another CPU, or may be: what is next may not leave by
 * this one's, for a requester takes what an ACK passes for lost.
 */
static bool xroce_resp_away(struct xroce_qp *qp)
{
	struct xroce_resp *resp = &qp->resp;

	if (resp->cpu == xroce_env_cpu())
		return false;
	if (resp->follows && !resp->rd_active && xroce_env_now() >= resp->follows)
		resp->follows = 0;
	return (resp->rd_active || resp->follows) && xroce_qp_away(qp, resp->cpu);
}

/**
 * xroce_resp_next() - build the next answer that is owed
 * @qp: the queue pair
 *
 * Return: a frame, or NULL when nothing is owed or no frame is to be had.
 */
struct xroce_frame *xroce_resp_next(struct xroce_qp *qp)
{
	struct xroce_resp *resp = &qp->resp;
	struct xroce_frame *f;
	struct xroce_rd *rd;
	u32 acks;

	/*
	 * Whatever a program left in the hot block: nobody answers at a UC or UD QP, of
	 * which the latter may have no address.
	 */
	if (!xroce_qp_reliable(qp))
		return NULL;
	if (resp->cnp) {
		f = xroce_resp_cnp_frame(qp);
		if (f)
			resp->cnp = false;
		return f;
	}
	if (xroce_resp_away(qp) || (resp->rd_active && resp->pace && xroce_cc_held(qp)))
		return NULL;
	while (resp->rd_active) {
		rd = xroce_resp_oldest(resp);
		f = xroce_resp_rd_frame(qp, rd);
		if (f) {
			resp->answered = true;
			if (resp->pace)
				resp->free_at += f->len * resp->pace >> 20;
			if (resp->mark)
				xroce_resp_mark(resp, f);
			f->is.kind = XROCE_FRAME_RD_RESP;
			f->is.slot = rd - resp->rd;
			f->is.again = rd->again;
			rd->next = xroce_psn_add(rd->next, 1);
			if (rd->next == rd->stop) {
				rd->state = XROCE_RD_DONE;
				resp->rd_active--;
				resp->follows = xroce_env_now() + XROCE_RESP_FOLLOWS;
			}
			return f;
		}
		if (qp->nomem)
			return NULL;
	}
	if (!xroce_resp_owes(qp))
		return NULL;
	acks = xroce_resp_ack_psn(qp);
	if (resp->nak)
		f = xroce_resp_ack_frame(qp, resp->nak, resp->nak_psn, acks);
	else
		f = xroce_resp_ack_frame(qp, XROCE_AETH_ACK | XROCE_AETH_NO_CREDIT, acks, acks);
	/* A NAK acknowledges what was executed before. */
	if (f)
		xroce_resp_mute(qp);
	return f;
}

/**
 * xroce_resp_marked() - a packet came with a mark of congestion: owe a notification
 * @qp: the queue pair
 *
 * One in a while: what is reported is that there is congestion.
 */
void xroce_resp_marked(struct xroce_qp *qp)
{
	u64 now = xroce_env_now();

	xroce_qp_count(qp, XROCE_CNT_MARKED, 1);
	if (now < qp->resp.cnp_next)
		return;
	qp->resp.cnp_next = now + READ_ONCE(qp->dev->cnp_gap);
	qp->resp.cnp = true;
}

/* Owe an ACK up to @psn. A READ that has been accepted meanwhile is to say so. */
static void xroce_resp_owe(struct xroce_qp *qp, u32 psn)
{
	struct xroce_rd *rd = xroce_resp_first(&qp->resp);

	qp->hot.resp_flags |= XROCE_RESP_ACK;
	if (rd && (rd->owes == XROCE_PSN_NONE || xroce_psn_diff(psn, rd->owes) > 0))
		rd->owes = psn;
}

/**
 * xroce_resp_untaken() - the device did not take an answer: it is owed again
 * @qp: the queue pair
 * @f: the frame that the device did not take
 * @looked: the device was asked
 */
void xroce_resp_untaken(struct xroce_qp *qp, const struct xroce_staged *f, bool looked)
{
	struct xroce_resp *resp = &qp->resp;
	struct xroce_rd *rd;

	if (f->kind == XROCE_FRAME_CNP) {
		resp->cnp = true;
		return;
	}
	if (f->kind == XROCE_FRAME_ACK) {
		if (f->syndrome != (XROCE_AETH_ACK | XROCE_AETH_NO_CREDIT) && !resp->nak &&
		    (resp->fatal || f->psn == qp->hot.epsn)) {
			resp->nak = f->syndrome;
			resp->nak_psn = f->psn;
		} else {
			/* Also of a NAK that is outdated. */
			xroce_resp_owe(qp, f->acks);
		}
		return;
	}
	/* Others may have been given to it in SQD. */
	rd = f->slot < resp->max_rd ? &resp->rd[f->slot] : NULL;
	if (qp->hot.state == XROCE_QPS_RESET || qp->hot.state == XROCE_QPS_ERR) {
		if (!f->again)
			xroce_resp_unanswered(qp, rd, f->psn);
		return;
	}
	/* Asked for again meanwhile, it was not answered before after all. */
	if (rd && !f->again && ((f->psn - rd->psn) & XROCE_PSN_MASK) < rd->npsn)
		rd->again = false;
	resp->mark |= looked;
	resp->free_at = 0;	/* it is not to wait for itself */
	if (!rd || rd->state == XROCE_RD_FREE ||
	    ((f->psn - rd->start) & XROCE_PSN_MASK) >= ((rd->next - rd->start) & XROCE_PSN_MASK))
		return;		/* replaced, or gone back further meanwhile */
	rd->next = f->psn;
	if (rd->state == XROCE_RD_DONE) {
		rd->state = XROCE_RD_ACTIVE;
		resp->rd_active++;
	}
}
