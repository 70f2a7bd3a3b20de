// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs: creation, state and destruction, all by system calls. The queues
 * themselves are in post.c and wr.c, and have a lock each.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "xroce.h"

static void wq_exit(struct xroce_wq *wq)
{
	xroce_unmap(&wq->map);
	xroce_lock_destroy(&wq->lock);
}

/*
 * In RESET the kernel has set both indices of its own and in the ring to 0 and
 * takes nothing from it; what was posted is forgotten, since then too.
 */
static void wq_state(struct xroce_wq *wq, bool open, bool reset)
{
	if (!wq->map.ring)
		return;
	xroce_lock(&wq->lock);
	wq->open = open;
	if (reset) {
		wq->prod = 0;
		wq_done(wq, 0);
		__atomic_store_n(&wq->map.ring->prod, 0, __ATOMIC_RELEASE);
	}
	xroce_unlock(&wq->lock);
}

static uint64_t qp_send_ops(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
	case IBV_QPT_XRC_SEND:
		return XROCE_RC_OPS;
	case IBV_QPT_UC:
		return XROCE_UC_OPS;
	case IBV_QPT_UD:
		return XROCE_UD_OPS;
	default:
		return 0;
	}
}

static int qp_check(const struct ibv_qp_init_attr_ex *attr)
{
	uint64_t ops = qp_send_ops(attr->qp_type);
	uint32_t mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
			IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;

	/* librdmacm names a PD, of which an XRC target has no use. */
	if (attr->qp_type == IBV_QPT_XRC_RECV)
		mask = IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_PD;
	if ((attr->comp_mask & ~mask) ||
	    (!ops && attr->qp_type != IBV_QPT_XRC_RECV))
		return EOPNOTSUPP;
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) &&
	    attr->create_flags)
		return EOPNOTSUPP;
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) &&
	    (attr->send_ops_flags & ~ops))
		return EOPNOTSUPP;
	return 0;
}

struct ibv_qp *xroce_create_qp_ex(struct ibv_context *ctx,
				  struct ibv_qp_init_attr_ex *attr)
{
	struct {
		struct ib_uverbs_ex_create_qp_resp ibv;
		struct xroce_create_qp_resp drv;
	} resp = {};
	struct {
		struct ibv_create_qp_ex ibv;
		struct xroce_create_qp drv;
	} cmd = {};
	struct xroce_qp *qp = NULL;
	struct xroce_pd *pd = NULL;
	int ret;

	if (attr->comp_mask & IBV_QP_INIT_ATTR_PD &&
	    attr->qp_type != IBV_QPT_XRC_RECV)
		pd = xroce_pd_get(attr->pd);
	ret = qp_check(attr);
	if (ret)
		goto err;
	ret = ENOMEM;
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		goto err;
	qp->pd = pd;
	ret = xroce_lock_init(&qp->sq.lock, xroce_pd_single(pd));
	if (ret)
		goto err;
	ret = xroce_lock_init(&qp->rq.lock, xroce_pd_single(pd));
	if (ret)
		goto err_sq;
	cmd.drv.user_handle = (uintptr_t)qp;
	ret = ibv_cmd_create_qp_ex2(ctx, &qp->vqp, attr, &cmd.ibv, sizeof(cmd),
				    &resp.ibv, sizeof(resp));
	if (ret)
		goto err_rq;
	ret = xroce_map(ctx, &qp->sq.map, &resp.drv.sq);
	if (ret)
		goto err_destroy;
	ret = xroce_map(ctx, &qp->rq.map, &resp.drv.rq);
	if (ret)
		goto err_destroy;
	qp->sq.max_sge = attr->cap.max_send_sge;
	qp->sq.max_inline = attr->cap.max_inline_data;
	qp->sq.max_msg = UINT64_MAX;
	qp->rq.max_sge = attr->cap.max_recv_sge;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		xroce_wr_set_ops(qp, attr->send_ops_flags);
		qp->vqp.comp_mask |= VERBS_QP_EX;
	}
	return &qp->vqp.qp;

err_destroy:
	ibv_cmd_destroy_qp(&qp->vqp.qp);
err_rq:
	wq_exit(&qp->rq);
err_sq:
	wq_exit(&qp->sq);
err:
	free(qp);
	xroce_pd_put(pd);
	errno = ret;
	return NULL;
}

/* Another's XRC target: it has no queues that one could want. */
struct ibv_qp *xroce_open_qp(struct ibv_context *ctx,
			     struct ibv_qp_open_attr *attr)
{
	struct ib_uverbs_create_qp_resp resp;
	struct ibv_open_qp cmd;
	struct xroce_qp *qp;
	int ret;

	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;
	ret = xroce_lock_init(&qp->sq.lock, false);
	if (ret)
		goto err;
	ret = xroce_lock_init(&qp->rq.lock, false);
	if (ret)
		goto err_sq;
	ret = ibv_cmd_open_qp(ctx, &qp->vqp, sizeof(qp->vqp), attr, &cmd,
			      sizeof(cmd), &resp, sizeof(resp));
	if (!ret)
		return &qp->vqp.qp;
	wq_exit(&qp->rq);
err_sq:
	wq_exit(&qp->sq);
err:
	free(qp);
	errno = ret;
	return NULL;
}

struct ibv_qp *xroce_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct ibv_qp *qp;

	qp = xroce_create_qp_ex(pd->context, &ex);
	if (qp)
		attr->cap = ex.cap;
	return qp;
}

int xroce_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		   struct ibv_qp_init_attr *init)
{
	struct ibv_query_qp cmd;

	return ibv_cmd_query_qp(qp, attr, mask, init, &cmd, sizeof(cmd));
}

/* The kernel completes nothing more for this QP once it is gone or in RESET. */
static void qp_clean(struct ibv_qp *qp)
{
	/* An XRC target's are of the SRQs, and it may live on in other hands. */
	if (qp->qp_type == IBV_QPT_XRC_RECV)
		return;
	if (qp->send_cq)
		xroce_cq_clean(to_xcq(qp->send_cq), qp->qp_num);
	/* One that was named for XRC sends is not its, and may have gone before it. */
	if (qp->recv_cq && qp->recv_cq != qp->send_cq && qp->qp_type != IBV_QPT_XRC_SEND)
		xroce_cq_clean(to_xcq(qp->recv_cq), qp->qp_num);
}

/* A datagram is one packet, and none can be sent before this. */
static int qp_learn_mtu(struct ibv_qp *ibqp)
{
	struct ibv_port_attr port;
	struct ibv_query_port cmd;
	int ret;

	ret = ibv_cmd_query_port(ibqp->context, 1, &port, &cmd, sizeof(cmd));
	if (!ret)
		to_xqp(ibqp)->sq.max_msg = 128u << port.active_mtu;
	return ret;
}

int xroce_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	struct xroce_qp *qp = to_xqp(ibqp);
	struct {
		struct ibv_modify_qp_ex ibv;
		struct xroce_modify_qp drv;
	} cmd = {};
	struct ib_uverbs_ex_modify_qp_resp resp = {};
	bool reset;
	int ret;

	if (mask & IBV_QP_AV)
		cmd.drv.hop_limit = xroce_hop_limit(&attr->ah_attr);
	if (ibqp->qp_type == IBV_QPT_UD && (mask & IBV_QP_STATE) &&
	    attr->qp_state == IBV_QPS_RTR) {
		ret = qp_learn_mtu(ibqp);
		if (ret)
			return ret;
	}
	ret = ibv_cmd_modify_qp_ex(ibqp, attr, mask, &cmd.ibv, sizeof(cmd), &resp,
				   sizeof(resp));
	if (ret || !(mask & IBV_QP_STATE))
		return ret;
	reset = attr->qp_state == IBV_QPS_RESET;
	/* First, or what is polled meanwhile of the old life would free slots of the new */
	if (reset)
		qp_clean(ibqp);
	/* IBTA C10-96: an immediate error in RESET, INIT and RTR; C10-97.2.1: in RESET */
	wq_state(&qp->sq, attr->qp_state >= IBV_QPS_RTS, reset);
	wq_state(&qp->rq, !reset, reset);
	return 0;
}

/* One packet is a burst: there is no other size to ask for. */
int xroce_modify_qp_rate_limit(struct ibv_qp *ibqp, struct ibv_qp_rate_limit_attr *limit)
{
	struct ibv_qp_attr attr = { .rate_limit = limit->rate_limit };

	if (limit->comp_mask || limit->max_burst_sz || limit->typical_pkt_sz)
		return EOPNOTSUPP;
	return xroce_modify_qp(ibqp, &attr, IBV_QP_RATE_LIMIT);
}

int xroce_destroy_qp(struct ibv_qp *ibqp)
{
	struct xroce_qp *qp = to_xqp(ibqp);
	int ret;

	ret = ibv_cmd_destroy_qp(ibqp);
	if (ret)
		return ret;
	qp_clean(ibqp);
	wq_exit(&qp->rq);
	wq_exit(&qp->sq);
	xroce_pd_put(qp->pd);
	free(qp);
	return 0;
}
