// SPDX-License-Identifier: GPL-2.0
/*
 * Registered memory: the check of a key, its end, and copies into and out of the
 * memory behind it. BH off; a region stays usable from get to put and no longer.
 */
#include "core.h"

/**
 * xroce_mr_get() - look up a key and begin to use its memory
 * @qp: the queue pair that asks
 * @pd: the protection domain that it may reach
 * @key: the L_Key or R_Key
 * @access: rights that are needed, all of them
 * @va: start of the range that is needed, as the region counts addresses
 * @len: its length
 *
 * Return: the region, to be given back by xroce_mr_put() before BH are enabled,
 * or NULL: no such key, other domain, rights or bounds (IBTA 10.6.7.2), another
 * QP's window, or a window where the QP's own user asks: it is for peers alone.
 */
struct xroce_mr *xroce_mr_get(struct xroce_qp *qp, const void *pd, u32 key,
			      u32 access, u64 va, u64 len)
{
	struct xroce_mr *mr = xroce_env_mr(qp->dev, key);

	if (!mr)
		return NULL;
	atomic_inc(&mr->users);
	/* Pairs with xroce_mr_claim(): it sees us, or we see it. */
	smp_mb__after_atomic();
	/* Pairs with xroce_mr_release(): the rest is as it was valid with. */
	if (smp_load_acquire(&mr->state) == XROCE_KEY_VALID &&
	    mr->key == key && mr->pd == pd &&
	    (mr->access & access) == access && va >= mr->iova &&
	    len <= mr->length && va - mr->iova <= mr->length - len &&
	    (mr->kind < XROCE_MW_1 || access & XROCE_REMOTE) &&
	    (mr->kind != XROCE_MW_2 || mr->qpn == qp->hot.qpn))
		return mr;
	xroce_mr_put(mr);
	return NULL;
}

/**
 * xroce_mr_claim() - begin to change a key; on return nobody uses its memory
 * @mr: the region or window
 * @state: the state it has to be in
 *
 * Spins for at most one packet's copy on each CPU. Any context with BH off.
 * Return: false when it is in another state.
 */
bool xroce_mr_claim(struct xroce_mr *mr, u32 state)
{
	/* Pairs with xroce_mr_get(): it sees this, or we see it. */
	if (cmpxchg(&mr->state, state, XROCE_KEY_BUSY) != state)
		return false;
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
	int windows;

	/* A work request may be about to make it invalid: that is over soon. */
	while ((windows = atomic_cmpxchg(&mr->windows, 0, -1)) < 0)
		cpu_relax();
	if (windows)
		return false;
	/* As is BUSY. */
	while (!xroce_mr_claim(mr, XROCE_KEY_VALID) &&
	       !xroce_mr_claim(mr, XROCE_KEY_INVALID))
		cpu_relax();
	xroce_mr_release(mr, XROCE_KEY_GONE);
	return true;
}

/**
 * xroce_mr_span() - the kernel's address of a region's address
 * @mr: the region
 * @va: where, as the region counts addresses
 * @len: in: bytes wanted; out: how many of them are contiguous
 */
u8 *xroce_mr_span(const struct xroce_mr *mr, u64 va, u32 *len)
{
	u64 pos = mr->offset + (va - mr->iova);
	u64 in = pos & ((1ull << mr->page_shift) - 1);
	u64 room = (1ull << mr->page_shift) - in;

	if (*len > room)
		*len = room;
	return (u8 *)mr->page[pos >> mr->page_shift] + in;
}

static void xroce_io_copy(struct xroce_io *io, u8 *p, u32 n)
{
	if (io->frame)
		xroce_frame_write(io->frame, io->off, p, n);
	else if (io->rx)
		xroce_env_read(io->rx, io->off, p, n);
	else
		memcpy(p, io->buf + io->off, n);
	io->off += n;
}

/**
 * xroce_mr_copy() - copy between memory behind a key and @io
 * @qp: the queue pair
 * @key: the L_Key or R_Key
 * @access: the rights it takes
 * @va: where, as the region counts addresses
 * @len: how many bytes
 * @io: the other side
 *
 * Return: false when the key does not allow it; nothing is copied then.
 */
bool __flatten xroce_mr_copy(struct xroce_qp *qp, u32 key, u32 access, u64 va,
			     u32 len, struct xroce_io *io)
{
	struct xroce_mr *mr;
	u32 n;
	u8 *p;

	if (!len)
		return true;
	mr = xroce_mr_get(qp, io->pd ?: qp->pd, key, access, va, len);
	if (!mr)
		return false;
	while (len) {
		n = len;
		p = xroce_mr_span(mr, va, &n);
		xroce_io_copy(io, p, n);
		va += n;
		len -= n;
	}
	xroce_mr_put(mr);
	return true;
}

/**
 * xroce_sge_copy() - the same over the scatter/gather list of a work request
 * @qp: the queue pair
 * @sge: the pieces of memory
 * @num: how many pieces
 * @access: the rights it takes
 * @off: where to begin; @off + @len must be inside the list
 * @len: how many bytes
 * @io: the other side
 *
 * Return: false when an entry's key does not allow it.
 */
bool xroce_sge_copy(struct xroce_qp *qp, const struct xroce_sge *sge, u32 num,
		    u32 access, u32 off, u32 len, struct xroce_io *io)
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
		else if (!xroce_mr_copy(qp, sge->lkey, access, sge->addr + off, n, io))
			return false;
		off = 0;
		len -= n;
	}
	return true;
}
