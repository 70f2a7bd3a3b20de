// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_post_send(), ibv_post_recv() and the doorbell. Work requests are written
 * to free slots under the queue's lock and handed over once for a whole list.
 * The doorbell rings without the lock: the kernel may send in our context.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <ccan/array_size.h>

#include "xroce.h"

enum {
	WR_RC		= 1 << IBV_QPT_RC,	/* RC has it */
	WR_UC		= 1 << IBV_QPT_UC,
	WR_UD		= 1 << IBV_QPT_UD,
	WR_XRC		= 1 << IBV_QPT_XRC_SEND,
	WR_RDMA		= 1 << 16,
	WR_ATOMIC	= 1 << 17,
	WR_INLINE	= 1 << 18,	/* payload goes out, so may be inline */
	WR_LOCAL	= 1 << 19,	/* changes a key and sends nothing */
};

#define WR_REL	(WR_RC | WR_XRC)
#define WR_CONN	(WR_REL | WR_UC)
#define WR_ALL	(WR_CONN | WR_UD)

static const uint32_t wr_kind[] = {
	[IBV_WR_RDMA_WRITE]		= WR_CONN | WR_INLINE | WR_RDMA,
	[IBV_WR_RDMA_WRITE_WITH_IMM]	= WR_CONN | WR_INLINE | WR_RDMA,
	[IBV_WR_SEND]			= WR_ALL | WR_INLINE,
	[IBV_WR_SEND_WITH_IMM]		= WR_ALL | WR_INLINE,
	[IBV_WR_RDMA_READ]		= WR_REL | WR_RDMA,
	[IBV_WR_ATOMIC_CMP_AND_SWP]	= WR_REL | WR_ATOMIC,
	[IBV_WR_ATOMIC_FETCH_AND_ADD]	= WR_REL | WR_ATOMIC,
	[IBV_WR_LOCAL_INV]		= WR_CONN | WR_LOCAL,
	[IBV_WR_BIND_MW]		= WR_CONN | WR_LOCAL,
	[IBV_WR_SEND_WITH_INV]		= WR_REL | WR_INLINE,
	[IBV_WR_ATOMIC_WRITE]		= WR_REL | WR_INLINE | WR_RDMA,
};

#define SEND_FLAGS	(IBV_SEND_FENCE | IBV_SEND_SIGNALED | \
			 IBV_SEND_SOLICITED | IBV_SEND_INLINE)

static_assert((int)IBV_SEND_INLINE == (int)XROCE_WR_INLINE &&
	      (int)IBV_SEND_FENCE == (int)XROCE_WR_FENCE, "flags differ");

/*
 * A post of nothing, for who has no file to ring by. An ioctl: should the program have
 * closed the device's file too, what has its number is not written to.
 */
static int ring_uverbs(struct ibv_qp *qp)
{
	struct ibv_send_wr *bad;

	return ibv_cmd_post_send(qp, NULL, &bad);
}

/**
 * xroce_ring() - tell the kernel to look at the rings of a QP, both of them
 *
 * Where that fails, a program has closed a file that it did not know of, or its seccomp
 * filter does not know lseek(); or all is gone, which uverbs knows. Another file that has
 * the number since then is not moved so, and returns something else; another context's
 * says EIO.
 * Return: 0, or an errno: the device or the QP is gone for good.
 */
int xroce_ring(struct ibv_qp *qp)
{
	int bell = to_xctx(qp->context)->bell;

	if (bell >= 0 && lseek(bell, -1 - (off_t)qp->qp_num, SEEK_SET) == (off_t)qp->qp_num)
		return 0;
	return ring_uverbs(qp);
}

bool xroce_wr_may_inline(enum ibv_wr_opcode opcode)
{
	return wr_kind[opcode] & WR_INLINE;
}

static int put_inline(struct xroce_send_wqe *wqe, const struct ibv_send_wr *wr,
		      uint32_t max)
{
	uint32_t len = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *sge = &wr->sg_list[i];

		if (sge->length > max - len)
			return EINVAL;
		memcpy(wqe->inline_data + len, (void *)(uintptr_t)sge->addr,
		       sge->length);
		len += sge->length;
	}
	wqe->inline_len = len;
	return 0;
}

static int put_ud(const struct xroce_wq *sq, struct xroce_send_wqe *wqe,
		  const struct ibv_send_wr *wr)
{
	uint64_t len = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++)
		len += wr->sg_list[i].length;
	if (len > sq->max_msg || !wr->wr.ud.ah)
		return EINVAL;
	wqe->ud.ah = to_xah(wr->wr.ud.ah)->num;
	wqe->ud.hop_limit = to_xah(wr->wr.ud.ah)->hop_limit;
	wqe->ud.remote_qpn = wr->wr.ud.remote_qpn;
	wqe->ud.remote_qkey = wr->wr.ud.remote_qkey;
	return 0;
}

void xroce_put_bind(struct xroce_send_wqe *wqe, const struct ibv_mw *mw,
		    uint32_t rkey, const struct ibv_mw_bind_info *info)
{
	wqe->bind.addr = info->addr;
	wqe->bind.length = info->length;
	wqe->bind.lkey = info->mr ? info->mr->lkey : 0;
	wqe->bind.rkey = mw->rkey;
	wqe->bind.new_rkey = rkey;
	wqe->bind.access = info->mw_access_flags;
}

/* Windows of each type have a call of their own. */
static int put_local(struct xroce_send_wqe *wqe, const struct ibv_send_wr *wr,
		     enum ibv_mw_type type)
{
	if (wr->send_flags & IBV_SEND_INLINE)
		return EINVAL;
	if (wr->opcode != IBV_WR_BIND_MW)
		return 0;
	if (!wr->bind_mw.mw || wr->bind_mw.mw->type != type)
		return EINVAL;
	xroce_put_bind(wqe, wr->bind_mw.mw, wr->bind_mw.rkey,
		       &wr->bind_mw.bind_info);
	return 0;
}

static int put_send(const struct xroce_qp *qp, struct xroce_send_wqe *wqe,
		    const struct ibv_send_wr *wr, enum ibv_mw_type mw_type)
{
	const struct xroce_wq *sq = &qp->sq;
	enum ibv_qp_type type = qp->vqp.qp.qp_type;
	uint32_t kind;

	if ((unsigned int)wr->opcode >= ARRAY_SIZE(wr_kind) ||
	    (unsigned int)wr->num_sge > sq->max_sge ||
	    (wr->send_flags & ~SEND_FLAGS))
		return EINVAL;
	kind = wr_kind[wr->opcode];
	if (!(kind & 1u << type))
		return kind ? EINVAL : EOPNOTSUPP;
	memset(wqe, 0, sizeof(*wqe));
	wqe->wr_id = wr->wr_id;
	wqe->opcode = wr->opcode;
	wqe->flags = wr->send_flags;
	wqe->imm = wr->imm_data;
	if (kind & WR_LOCAL)
		return put_local(wqe, wr, mw_type);
	if (type == IBV_QPT_XRC_SEND)
		wqe->rdma.xrc_srqn = wr->qp_type.xrc.remote_srqn;
	if (kind & WR_RDMA) {
		wqe->rdma.remote_addr = wr->wr.rdma.remote_addr;
		wqe->rdma.rkey = wr->wr.rdma.rkey;
	} else if (kind & WR_ATOMIC) {
		wqe->rdma.remote_addr = wr->wr.atomic.remote_addr;
		wqe->rdma.rkey = wr->wr.atomic.rkey;
		if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
			wqe->rdma.compare = wr->wr.atomic.compare_add;
			wqe->rdma.swap_add = wr->wr.atomic.swap;
		} else {
			wqe->rdma.swap_add = wr->wr.atomic.compare_add;
		}
	} else if (type == IBV_QPT_UD && put_ud(sq, wqe, wr)) {
		return EINVAL;
	}
	if (wr->send_flags & IBV_SEND_INLINE)
		return kind & WR_INLINE ? put_inline(wqe, wr, sq->max_inline) :
					  EINVAL;
	wqe->num_sge = wr->num_sge;
	xroce_put_sge(wqe->sge, wr->sg_list, wr->num_sge);
	return 0;
}

static int post_sends(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		      struct ibv_send_wr **bad, enum ibv_mw_type mw_type)
{
	struct xroce_qp *qp = to_xqp(ibqp);
	struct xroce_wq *sq = &qp->sq;
	struct ibv_send_wr *first = wr;
	int ret = 0, err;
	uint32_t prod;
	bool wake;

	xroce_lock(&sq->lock);
	for (prod = sq->prod; wr; wr = wr->next, prod++) {
		ret = !sq->open ? EINVAL : wq_full(sq, prod) ? ENOMEM :
		      put_send(qp, xroce_slot(&sq->map, prod), wr, mw_type);
		if (ret) {
			*bad = wr;
			break;
		}
	}
	wake = wq_publish(sq, prod);
	xroce_unlock(&sq->lock);
	if (!wake)
		return ret;
	err = xroce_ring(ibqp);
	if (!err)
		return ret;
	*bad = first;
	return err;
}

int xroce_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
		    struct ibv_send_wr **bad)
{
	return post_sends(qp, wr, bad, IBV_MW_TYPE_2);
}

/* The window's R_Key is the new one from now on, also should the bind fail. */
int xroce_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct ibv_send_wr *bad, wr = {
		.wr_id = bind->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = bind->send_flags,
		.bind_mw = {
			.mw = mw,
			.rkey = ibv_inc_rkey(mw->rkey),
			.bind_info = bind->bind_info,
		},
	};
	int ret = post_sends(qp, &wr, &bad, IBV_MW_TYPE_1);

	if (!ret)
		mw->rkey = wr.bind_mw.rkey;
	return ret;
}

static int put_recv(const struct xroce_wq *rq, struct xroce_recv_wqe *wqe,
		    const struct ibv_recv_wr *wr)
{
	if ((unsigned int)wr->num_sge > rq->max_sge)
		return EINVAL;
	wqe->wr_id = wr->wr_id;
	wqe->num_sge = wr->num_sge;
	wqe->reserved = 0;
	xroce_put_sge(wqe->sge, wr->sg_list, wr->num_sge);
	return 0;
}

static int post_recvs(struct xroce_wq *rq, struct ibv_recv_wr *wr,
		      struct ibv_recv_wr **bad, bool *wake)
{
	uint32_t prod;
	int ret = 0;

	xroce_lock(&rq->lock);
	for (prod = rq->prod; wr; wr = wr->next, prod++) {
		ret = !rq->open ? EINVAL : wq_full(rq, prod) ? ENOMEM :
		      put_recv(rq, xroce_slot(&rq->map, prod), wr);
		if (ret) {
			*bad = wr;
			break;
		}
	}
	*wake = wq_publish(rq, prod);
	xroce_unlock(&rq->lock);
	return ret;
}

int xroce_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad)
{
	bool wake;

	return post_recvs(&to_xsrq(srq)->wq, wr, bad, &wake);
}

int xroce_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		    struct ibv_recv_wr **bad)
{
	struct xroce_wq *rq = &to_xqp(ibqp)->rq;
	struct ibv_recv_wr *first = wr;
	int ret, err;
	bool wake;

	ret = post_recvs(rq, wr, bad, &wake);
	if (!wake)
		return ret;
	err = xroce_ring(ibqp);
	if (!err)
		return ret;
	*bad = first;
	return err;
}
