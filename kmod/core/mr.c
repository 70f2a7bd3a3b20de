// SPDX-License-Identifier: GPL-2.0
/*
 * Registered memory: how a key changes and ends, and copies over lists of pieces.
 * BH off; a region stays usable from get to put (copy.h) and no longer.
 */
#include "copy.h"

/**
 * xroce_mr_claim() - begin to change a key; on return nobody uses its memory
 * @mr: the region or window
 * @state: the state it has to be in
 *
 * Spins for at most one packet's copy on each CPU. Any context with BH off that has not
 * @mr itself in use.
 * Return: false when it is in another state.
 */
bool xroce_mr_claim(struct xroce_mr *mr, u32 state)
{
	xroce_env_pin();
	/* Pairs with xroce_mr_get(): it sees this, or we see it. */
	if (cmpxchg(&mr->state, state, XROCE_KEY_BUSY) != state) {
		xroce_env_unpin();
		return false;
	}
	if (mr->kind == XROCE_MR)
		xroce_env_unused(mr);
	while (atomic_read(&mr->users))
		cpu_relax();
	/* What the last user wrote or read is done before memory is re-used. */
	smp_mb();
	return true;
}

/**
 * xroce_mr_release() - a claimed key is as it is to be; a window without validity
 *	lets go of its region
 * @mr: the region or window
 * @state: its new state
 */
void xroce_mr_release(struct xroce_mr *mr, u32 state)
{
	if (state != XROCE_KEY_VALID && mr->parent) {
		struct xroce_mr *parent = mr->parent;

		/* Who looks without a lock finds it as long as it is there. */
		WRITE_ONCE(mr->parent, NULL);
		mr->page = NULL;
		atomic_dec(&parent->windows);
	}
	/* Pairs with the acquire in xroce_mr_get(). */
	smp_store_release(&mr->state, state);
	if (state != XROCE_KEY_BUSY)
		xroce_env_unpin();
}

/**
 * xroce_mr_unbound() - keep windows from being bound to it, if none is
 * @mr: the region or window
 *
 * Return: how many are; negative when it has gone. 0: then xroce_env_unpin() is the
 * caller's, when it is done.
 */
int xroce_mr_unbound(struct xroce_mr *mr)
{
	int windows;

	xroce_env_pin();
	/* Somebody may be about to make it invalid: that is over soon. */
	while ((windows = atomic_cmpxchg(&mr->windows, 0, -1)) < 0 &&
	       READ_ONCE(mr->state) != XROCE_KEY_GONE)
		cpu_relax();
	if (windows)
		xroce_env_unpin();
	return windows;
}

/**
 * xroce_mr_end() - its owner ends it, in whatever state; it stays so
 * @mr: the region or window
 *
 * As xroce_mr_claim(). Return: false, and nothing has changed, while a window is
 * bound to it (IBTA 10.6.7.2.6).
 */
bool xroce_mr_end(struct xroce_mr *mr)
{
	if (xroce_mr_unbound(mr))
		return false;
	while (!xroce_mr_claim(mr, XROCE_KEY_VALID) && !xroce_mr_claim(mr, XROCE_KEY_INVALID))
		cpu_relax();	/* who has made it BUSY is soon done */
	xroce_mr_release(mr, XROCE_KEY_GONE);
	xroce_env_unpin();
	return true;
}

/* As xroce_mr_copy(), of a region in use and memory of several pieces. */
void xroce_mr_copy_parts(const struct xroce_mr *mr, u64 va, u32 len, struct xroce_io io)
{
	u32 n;
	u8 *p;

	for (; len; va += n, io.off += n, len -= n) {
		n = len;
		p = xroce_mr_span(mr, va, &n);
		xroce_io_copy(io, p, n);
	}
}

/* As xroce_sge_copy(), of any list of any QP. */
bool xroce_sge_copy_parts(struct xroce_qp *qp, const void *pd, const struct xroce_sge *sge,
			  u32 num, u32 access, u32 off, u32 len, struct xroce_io io)
{
	u32 n;

	for (; num && len; num--, sge++) {
		if (off >= sge->length) {
			off -= sge->length;
			continue;
		}
		n = min(len, sge->length - off);
		if (qp->req.trusted && sge->lkey == XROCE_LKEY_KERNEL)
			xroce_io_copy(io, (u8 *)(uintptr_t)sge->addr + off, n);
		else if (!xroce_mr_copy(qp, pd, sge->lkey, access, sge->addr + off, n, io))
			return false;
		io.off += n;
		off = 0;
		len -= n;
	}
	return true;
}
