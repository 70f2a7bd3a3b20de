// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_wr_*(): work requests built in their slots. The send queue's lock is held
 * from ibv_wr_start() to ibv_wr_complete() or ibv_wr_abort(); until then only
 * @wr_prod moves, so all of a batch is posted or none.
 */
#include <errno.h>
#include <string.h>

#include "xroce.h"

static void wr_start(struct ibv_qp_ex *ibqp)
{
	struct xroce_qp *qp = to_xqp_ex(ibqp);

	xroce_lock(&qp->sq.lock);
	qp->wr_prod = qp->sq.prod;
	qp->wr_err = qp->sq.open ? 0 : EINVAL;
	qp->wr = NULL;
}

static int wr_complete(struct ibv_qp_ex *ibqp)
{
	struct xroce_qp *qp = to_xqp_ex(ibqp);
	int err = qp->wr_err;
	bool wake = false;

	if (!err)
		wake = wq_publish(&qp->sq, qp->wr_prod);
	xroce_unlock(&qp->sq.lock);
	return wake ? xroce_ring(&ibqp->qp_base) : err;
}

static void wr_abort(struct ibv_qp_ex *ibqp)
{
	xroce_unlock(&to_xqp_ex(ibqp)->sq.lock);
}

/* Nothing is written from here on, so this is what the user is told. */
static void wr_fail(struct xroce_qp *qp, int err)
{
	qp->wr_err = err;
	qp->wr = NULL;
}

static struct xroce_send_wqe *wr_begin(struct ibv_qp_ex *ibqp,
				       enum ibv_wr_opcode opcode)
{
	struct xroce_qp *qp = to_xqp_ex(ibqp);
	struct xroce_send_wqe *wqe;

	if (unlikely(qp->wr_err))
		return NULL;
	if (ibqp->wr_flags & IBV_SEND_IP_CSUM) {
		wr_fail(qp, EINVAL);
		return NULL;
	}
	if (wq_full(&qp->sq, qp->wr_prod)) {
		wr_fail(qp, ENOMEM);
		return NULL;
	}
	wqe = xroce_slot(&qp->sq.map, qp->wr_prod++);
	memset(wqe, 0, sizeof(*wqe));
	wqe->wr_id = ibqp->wr_id;
	wqe->opcode = opcode;
	wqe->flags = ibqp->wr_flags & (IBV_SEND_FENCE | IBV_SEND_SIGNALED |
				       IBV_SEND_SOLICITED);
	qp->wr = wqe;
	return wqe;
}

static struct xroce_send_wqe *wr_begin_rdma(struct ibv_qp_ex *ibqp,
					    enum ibv_wr_opcode opcode,
					    uint32_t rkey, uint64_t addr)
{
	struct xroce_send_wqe *wqe = wr_begin(ibqp, opcode);

	if (wqe) {
		wqe->rdma.remote_addr = addr;
		wqe->rdma.rkey = rkey;
	}
	return wqe;
}

static void wr_send(struct ibv_qp_ex *qp)
{
	wr_begin(qp, IBV_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *qp, __be32 imm)
{
	struct xroce_send_wqe *wqe = wr_begin(qp, IBV_WR_SEND_WITH_IMM);

	if (wqe)
		wqe->imm = imm;
}

static void wr_send_inv(struct ibv_qp_ex *qp, uint32_t rkey)
{
	struct xroce_send_wqe *wqe = wr_begin(qp, IBV_WR_SEND_WITH_INV);

	if (wqe)
		wqe->inv_rkey = rkey;
}

static void wr_rdma_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr)
{
	wr_begin_rdma(qp, IBV_WR_RDMA_WRITE, rkey, addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *qp, uint32_t rkey,
			      uint64_t addr, __be32 imm)
{
	struct xroce_send_wqe *wqe;

	wqe = wr_begin_rdma(qp, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, addr);
	if (wqe)
		wqe->imm = imm;
}

static void wr_rdma_read(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr)
{
	wr_begin_rdma(qp, IBV_WR_RDMA_READ, rkey, addr);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *qp, uint32_t rkey,
			      uint64_t addr, uint64_t compare, uint64_t swap)
{
	struct xroce_send_wqe *wqe;

	wqe = wr_begin_rdma(qp, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, addr);
	if (wqe) {
		wqe->rdma.compare = compare;
		wqe->rdma.swap_add = swap;
	}
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *qp, uint32_t rkey,
				uint64_t addr, uint64_t add)
{
	struct xroce_send_wqe *wqe;

	wqe = wr_begin_rdma(qp, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, addr);
	if (wqe)
		wqe->rdma.swap_add = add;
}

static void wr_atomic_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr,
			    const void *value)
{
	struct xroce_send_wqe *wqe;

	wqe = wr_begin_rdma(qp, IBV_WR_ATOMIC_WRITE, rkey, addr);
	if (!wqe)
		return;
	wqe->flags |= XROCE_WR_INLINE;
	wqe->inline_len = sizeof(uint64_t);
	memcpy(wqe->inline_data, value, sizeof(uint64_t));
}

static void wr_flush(struct ibv_qp_ex *ibqp, uint32_t rkey, uint64_t addr,
		     size_t len, uint8_t type, uint8_t level)
{
	struct xroce_send_wqe *wqe = wr_begin(ibqp, IBV_WR_FLUSH);

	if (!wqe)
		return;
	if (len > UINT32_MAX || type > 0xf || level > 3) {
		wr_fail(to_xqp_ex(ibqp), EINVAL);
		return;
	}
	wqe->flush.remote_addr = addr;
	wqe->flush.rkey = rkey;
	wqe->flush.length = len;
	wqe->flush.type = type;
	wqe->flush.level = level;
}

static void wr_local_inv(struct ibv_qp_ex *qp, uint32_t rkey)
{
	struct xroce_send_wqe *wqe = wr_begin(qp, IBV_WR_LOCAL_INV);

	if (wqe)
		wqe->inv_rkey = rkey;
}

static void wr_bind_mw(struct ibv_qp_ex *ibqp, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct xroce_send_wqe *wqe = wr_begin(ibqp, IBV_WR_BIND_MW);

	if (!wqe)
		return;
	if (mw->type == IBV_MW_TYPE_2)
		xroce_put_bind(wqe, mw, rkey, info);
	else
		wr_fail(to_xqp_ex(ibqp), EINVAL);
}

static void wr_set_ud_addr(struct ibv_qp_ex *ibqp, struct ibv_ah *ah,
			   uint32_t qpn, uint32_t qkey)
{
	struct xroce_send_wqe *wqe = to_xqp_ex(ibqp)->wr;

	if (!wqe)
		return;
	wqe->ud.ah = to_xah(ah)->num;
	wqe->ud.hop_limit = to_xah(ah)->hop_limit;
	wqe->ud.remote_qpn = qpn;
	wqe->ud.remote_qkey = qkey;
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ibqp, uint32_t srqn)
{
	struct xroce_send_wqe *wqe = to_xqp_ex(ibqp)->wr;

	if (wqe)
		wqe->rdma.xrc_srqn = srqn;
}

static void wr_set_sge(struct ibv_qp_ex *ibqp, uint32_t lkey, uint64_t addr,
		       uint32_t length)
{
	struct xroce_qp *qp = to_xqp_ex(ibqp);

	if (!qp->wr)
		return;
	if (!qp->sq.max_sge || length > qp->sq.max_msg) {
		wr_fail(qp, EINVAL);
		return;
	}
	qp->wr->num_sge = 1;
	qp->wr->sge[0].addr = addr;
	qp->wr->sge[0].length = length;
	qp->wr->sge[0].lkey = lkey;
}

static void wr_set_sge_list(struct ibv_qp_ex *ibqp, size_t n,
			    const struct ibv_sge *list)
{
	struct xroce_qp *qp = to_xqp_ex(ibqp);
	uint64_t len = 0;
	size_t i;

	if (!qp->wr)
		return;
	if (n > qp->sq.max_sge) {
		wr_fail(qp, EINVAL);
		return;
	}
	for (i = 0; i < n; i++)
		len += list[i].length;
	if (len > qp->sq.max_msg) {
		wr_fail(qp, EINVAL);
		return;
	}
	qp->wr->num_sge = n;
	xroce_put_sge(qp->wr->sge, list, n);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ibqp, size_t n,
				    const struct ibv_data_buf *list)
{
	struct xroce_qp *qp = to_xqp_ex(ibqp);
	size_t i, len = 0;

	if (!qp->wr)
		return;
	if (!xroce_wr_may_inline(qp->wr->opcode)) {
		wr_fail(qp, EINVAL);
		return;
	}
	for (i = 0; i < n; i++) {
		if (list[i].length > qp->sq.max_inline - len) {
			wr_fail(qp, EINVAL);
			return;
		}
		memcpy(qp->wr->inline_data + len, list[i].addr, list[i].length);
		len += list[i].length;
	}
	if (len > qp->sq.max_msg) {
		wr_fail(qp, EINVAL);
		return;
	}
	qp->wr->flags |= XROCE_WR_INLINE;
	qp->wr->inline_len = len;
}

static void wr_set_inline_data(struct ibv_qp_ex *qp, void *addr, size_t length)
{
	struct ibv_data_buf buf = { .addr = addr, .length = length };

	wr_set_inline_data_list(qp, 1, &buf);
}

/**
 * xroce_wr_set_ops() - the ibv_wr_*() that the user asked for at creation
 */
void xroce_wr_set_ops(struct xroce_qp *qp, uint64_t ops)
{
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;

	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
	if (qp->vqp.qp.qp_type == IBV_QPT_UD)
		ex->wr_set_ud_addr = wr_set_ud_addr;
	if (qp->vqp.qp.qp_type == IBV_QPT_XRC_SEND)
		ex->wr_set_xrc_srqn = wr_set_xrc_srqn;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	if (ops & IBV_QP_EX_WITH_SEND)
		ex->wr_send = wr_send;
	if (ops & IBV_QP_EX_WITH_SEND_WITH_IMM)
		ex->wr_send_imm = wr_send_imm;
	if (ops & IBV_QP_EX_WITH_SEND_WITH_INV)
		ex->wr_send_inv = wr_send_inv;
	if (ops & IBV_QP_EX_WITH_RDMA_WRITE)
		ex->wr_rdma_write = wr_rdma_write;
	if (ops & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)
		ex->wr_rdma_write_imm = wr_rdma_write_imm;
	if (ops & IBV_QP_EX_WITH_RDMA_READ)
		ex->wr_rdma_read = wr_rdma_read;
	if (ops & IBV_QP_EX_WITH_ATOMIC_WRITE)
		ex->wr_atomic_write = wr_atomic_write;
	if (ops & IBV_QP_EX_WITH_FLUSH)
		ex->wr_flush = wr_flush;
	if (ops & IBV_QP_EX_WITH_LOCAL_INV)
		ex->wr_local_inv = wr_local_inv;
	if (ops & IBV_QP_EX_WITH_BIND_MW)
		ex->wr_bind_mw = wr_bind_mw;
	if (ops & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP)
		ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	if (ops & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
		ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
}
