// SPDX-License-Identifier: GPL-2.0
/*
 * Work requests that send nothing: regions made valid and invalid, windows bound (IBTA 10.6.7).
 * Under the QP's lock, BH off; a key is changed by whoever has made it BUSY, and nobody else.
 */
#include "copy.h"

/**
 * xroce_key_invalidate() - a work request or the peer ends a key
 * @qp: the queue pair
 * @pd: the protection domain that whoever asks may reach
 * @key: the L_Key or R_Key
 * @peer: it was the peer
 *
 * What was registered by a work request, and no window is bound to it, or a type 2
 * window that this QP has bound (IBTA 10.6.7.2.7). A region may be invalid already: its
 * owner and the peer may both end it. Return: was it done.
 */
bool xroce_key_invalidate(struct xroce_qp *qp, const void *pd, u32 key, bool peer)
{
	struct xroce_mr *mr = xroce_env_mr(qp->dev, key);
	u32 was = XROCE_KEY_VALID;
	bool claimed, done;

	if (!mr || mr->pd != pd ||
	    (mr->kind != XROCE_MR_FAST && mr->kind != XROCE_MW_2) || READ_ONCE(mr->key) != key ||
	    (mr->kind == XROCE_MW_2 && READ_ONCE(mr->qpn) != qp->hot.qpn) ||
	    xroce_mr_unbound(mr))
		return false;
	claimed = xroce_mr_claim(mr, was);
	if (!claimed && mr->kind == XROCE_MR_FAST) {
		was = XROCE_KEY_INVALID;
		claimed = xroce_mr_claim(mr, was);
	}
	done = claimed && mr->key == key && (mr->kind != XROCE_MW_2 || mr->qpn == qp->hot.qpn);
	if (done && peer && mr->kind == XROCE_MR_FAST) {
		mr->ended = key;
		mr->qpn = qp->hot.qpn;
	}
	if (claimed)
		xroce_mr_release(mr, done ? XROCE_KEY_INVALID : was);
	atomic_set(&mr->windows, 0);
	xroce_env_unpin();
	return done;
}

/**
 * xroce_key_ended() - has the peer ended a key that a request names
 * @qp: the queue pair
 * @wqe: its request
 */
bool xroce_key_ended(struct xroce_qp *qp, const struct xroce_send_wqe *wqe)
{
	const struct xroce_mr *mr;
	u32 i;

	for (i = 0; i < wqe->num_sge; i++) {
		mr = xroce_env_mr(qp->dev, wqe->sge[i].lkey);
		if (mr && mr->kind == XROCE_MR_FAST && READ_ONCE(mr->qpn) == qp->hot.qpn &&
		    READ_ONCE(mr->ended) == wqe->sge[i].lkey)
			return true;
	}
	return false;
}

/**
 * xroce_key_stand_in() - in place of what goes again and cannot be read any more
 * @qp: the queue pair
 *
 * A peer that has executed that, and answered by ending its key (iSER), drops this and
 * acknowledges it. One that has not is not deceived: a WRITE of another length than it says.
 * Return: as xroce_frame_new().
 */
struct xroce_frame *xroce_key_stand_in(struct xroce_qp *qp)
{
	struct xroce_reth eth = { .len = cpu_to_be32(1) };

	return xroce_frame_ext(xroce_frame_new(qp, XROCE_WRITE_ONLY, qp->hot.next, sizeof(eth), 0),
			       &eth, sizeof(eth), 0);
}

/* Its pages have been listed by the consumer, who lists no others until it is done. */
static bool xroce_local_reg(struct xroce_qp *qp, const struct xroce_send_wqe *wqe)
{
	struct xroce_mr *mr = xroce_env_mr(qp->dev, wqe->reg_key);
	void **page = (void **)(uintptr_t)wqe->reg.page;

	/* Its owner may have ended the one that they are of. */
	if (!mr || mr->pd != qp->pd ||
	    (page != READ_ONCE(mr->page) && page != READ_ONCE(mr->spare)) ||
	    !xroce_mr_claim(mr, XROCE_KEY_INVALID))
		return false;
	if (page != mr->page)
		swap(mr->page, mr->spare);
	mr->key = wqe->reg_key;
	mr->access = wqe->reg.access;
	mr->iova = wqe->reg.iova;
	mr->length = wqe->reg.length;
	mr->page_shift = wqe->reg.page_shift;
	mr->offset = wqe->reg.offset;
	xroce_mr_release(mr, XROCE_KEY_VALID);
	return true;
}

/* The region, in use, whose range a window is to open (IBTA 10.6.7.2.4). */
static struct xroce_mr *xroce_bind_region(struct xroce_qp *qp, const struct xroce_send_wqe *wqe)
{
	u32 access = XROCE_MW_BIND;
	struct xroce_mr *mr;

	if (wqe->bind.access & (XROCE_REMOTE_WRITE | XROCE_REMOTE_ATOMIC))
		access |= XROCE_LOCAL_WRITE;
	mr = xroce_mr_get(qp, qp->pd, wqe->bind.lkey, access, wqe->bind.addr, wqe->bind.length);
	if (mr && !atomic_inc_unless_negative(&mr->windows)) {
		xroce_mr_put(mr);
		return NULL;
	}
	return mr;
}

/*
 * A window of type 1 is bound anew from its R_Key of now, whether it is bound or
 * not; one of type 2 only while it is not. For another key it is not made BUSY.
 */
static bool xroce_bind_claim(struct xroce_mr *mw, const struct xroce_send_wqe *wqe, u32 *was)
{
	if (mw->kind == XROCE_MW_1 && READ_ONCE(mw->key) != wqe->bind.rkey)
		return false;
	*was = XROCE_KEY_INVALID;
	if (xroce_mr_claim(mw, *was))
		goto claimed;
	*was = XROCE_KEY_VALID;
	if (mw->kind == XROCE_MW_2 || !xroce_mr_claim(mw, *was))
		return false;
claimed:
	if (mw->kind == XROCE_MW_2 || mw->key == wqe->bind.rkey)
		return true;
	xroce_mr_release(mw, *was);
	return false;
}

static bool xroce_local_bind(struct xroce_qp *qp, const struct xroce_send_wqe *wqe)
{
	struct xroce_mr *mw = xroce_env_mr(qp->dev, wqe->bind.rkey), *mr = NULL;
	u32 was;

	if (!mw || mw->kind < XROCE_MW_1 || mw->pd != qp->pd ||
	    (wqe->bind.new_rkey ^ wqe->bind.rkey) >> 8 ||
	    wqe->bind.access & ~(XROCE_LOCAL_WRITE | XROCE_REMOTE | XROCE_ZERO_BASED))
		return false;
	/* Without a length it is only let go of. */
	if (wqe->bind.length)
		mr = xroce_bind_region(qp, wqe);
	else if (mw->kind == XROCE_MW_2)
		return false;
	if (wqe->bind.length && !mr)
		return false;
	if (!xroce_bind_claim(mw, wqe, &was)) {
		if (mr) {
			atomic_dec(&mr->windows);
			xroce_mr_put(mr);
		}
		return false;
	}
	/* Claimed as it is: it only lets go of its region. */
	xroce_mr_release(mw, XROCE_KEY_BUSY);
	mw->key = wqe->bind.new_rkey;
	if (!mr) {
		xroce_mr_release(mw, XROCE_KEY_INVALID);
		return true;
	}
	WRITE_ONCE(mw->parent, mr);
	mw->page = mr->page;
	/* A local right is taken, as from other devices' users, and is none. */
	mw->access = wqe->bind.access & XROCE_REMOTE;
	mw->iova = wqe->bind.access & XROCE_ZERO_BASED ? 0 : wqe->bind.addr;
	mw->length = wqe->bind.length;
	mw->offset = mr->offset + (wqe->bind.addr - mr->iova);
	mw->page_shift = mr->page_shift;
	mw->qpn = qp->hot.qpn;
	xroce_mr_release(mw, XROCE_KEY_VALID);
	xroce_mr_put(mr);
	return true;
}

/**
 * xroce_local_run() - do what a local work request asks for
 * @qp: the queue pair
 * @wqe: the copy of the request, of a kind that the QP offers
 *
 * Return: false when keys, rights, bounds or states do not allow it; nothing has changed then.
 */
bool xroce_local_run(struct xroce_qp *qp, const struct xroce_send_wqe *wqe)
{
	switch (wqe->opcode) {
	case XROCE_WR_LOCAL_INV:
		return xroce_key_invalidate(qp, qp->pd, wqe->inv_rkey, false);
	case XROCE_WR_BIND_MW:
		return xroce_local_bind(qp, wqe);
	default:
		return xroce_local_reg(qp, wqe);
	}
}
