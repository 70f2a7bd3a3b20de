/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copies between registered memory and a packet, in place where they are called: there
 * it is known what the other side is, and that stays in registers. BH off.
 */
#ifndef XROCE_COPY_H
#define XROCE_COPY_H

#include "core.h"

/* End the use of what xroce_mr_get() has returned. */
static inline void xroce_mr_put(struct xroce_mr *mr)
{
	if (mr->kind == XROCE_MR) {
		xroce_env_use_end();
	} else {
		/* Pairs with the last barrier of xroce_mr_claim(). */
		smp_mb__before_atomic();
		atomic_dec(&mr->users);
	}
	xroce_env_unpin();
}

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
static inline struct xroce_mr *xroce_mr_get(struct xroce_qp *qp, const void *pd,
					    u32 key, u32 access, u64 va, u64 len)
{
	struct xroce_mr *mr = xroce_env_mr(qp->dev, key);

	if (!mr)
		return NULL;
	xroce_env_pin();
	if (mr->kind == XROCE_MR) {
		xroce_env_use(mr);
	} else {
		atomic_inc(&mr->users);
		/* Pairs with xroce_mr_claim(): it sees us, or we see it. */
		smp_mb__after_atomic();
	}
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
 * xroce_mr_span() - the kernel's address of a region's address
 * @mr: the region
 * @va: where, as the region counts addresses
 * @len: in: bytes wanted; out: how many of them are contiguous
 */
static inline u8 *xroce_mr_span(const struct xroce_mr *mr, u64 va, u32 *len)
{
	u64 pos = mr->offset + (va - mr->iova);
	u64 in = pos & ((1ull << mr->page_shift) - 1);
	u64 room = (1ull << mr->page_shift) - in;

	if (*len > room)
		*len = room;
	return (u8 *)mr->page[pos >> mr->page_shift] + in;
}

/* A frame's payload, a packet's, and other bytes. */
static inline struct xroce_io xroce_io_frame(struct xroce_frame *f)
{
	return (struct xroce_io){ { .frame = f }, XROCE_IO_FRAME, f->payload };
}

static inline struct xroce_io xroce_io_rx(struct xroce_rx *rx)
{
	return (struct xroce_io){ { .rx = rx }, XROCE_IO_RX, rx->pkt.hdr_len };
}

static inline struct xroce_io xroce_io_buf(const void *buf)
{
	return (struct xroce_io){ { .buf = buf }, XROCE_IO_BUF, 0 };
}

static __always_inline void xroce_io_copy(struct xroce_io io, u8 *p, u32 n)
{
	if (io.kind == XROCE_IO_FRAME)
		xroce_frame_write(io.frame, io.off, p, n);
	else if (io.kind == XROCE_IO_RX)
		xroce_env_read(io.rx, io.off, p, n);
	else
		memcpy(p, io.buf + io.off, n);
}

/**
 * xroce_mr_copy() - copy between memory behind a key and @io
 * @qp: the queue pair
 * @pd: the protection domain that may be reached
 * @key: the L_Key or R_Key
 * @access: the rights it takes
 * @va: where, as the region counts addresses
 * @len: how many bytes
 * @io: the other side
 *
 * Return: false when the key does not allow it; nothing is copied then.
 */
static __always_inline bool xroce_mr_copy(struct xroce_qp *qp, const void *pd, u32 key,
					  u32 access, u64 va, u32 len, struct xroce_io io)
{
	struct xroce_mr *mr;
	u32 n = len;
	u8 *p;

	if (!len)
		return true;
	mr = xroce_mr_get(qp, pd, key, access, va, len);
	if (!mr)
		return false;
	p = xroce_mr_span(mr, va, &n);
	if (n == len)
		xroce_io_copy(io, p, len);
	else
		xroce_mr_copy_parts(mr, va, len, io);
	xroce_mr_put(mr);
	return true;
}

/* The same over the list of a work request, from @off on; @off + @len is inside. */
static __always_inline bool xroce_sge_copy(struct xroce_qp *qp, const void *pd,
					   const struct xroce_sge *sge, u32 num,
					   u32 access, u32 off, u32 len, struct xroce_io io)
{
	/* One piece, mostly. */
	if (num == 1 && !qp->req.trusted)
		return xroce_mr_copy(qp, pd, sge->lkey, access, sge->addr + off, len, io);
	return xroce_sge_copy_parts(qp, pd, sge, num, access, off, len, io);
}

#endif /* XROCE_COPY_H */
