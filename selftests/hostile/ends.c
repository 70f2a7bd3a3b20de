// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* One host's objects; see ends.h. */
#include <fcntl.h>

#include "ends.h"
#include "netns.h"

struct ibv_context *end_device(const char *where)
{
	char name[128], *ns;

	snprintf(name, sizeof(name), "%s", where);
	ns = strchr(name, '@');
	if (ns) {
		*ns++ = '\0';
		netns_enter(ns);
	}
	return open_device(name);
}

void end_open(struct end *e, struct ibv_context *ctx, void *mem, size_t len)
{
	struct ibv_xrcd_init_attr xrcd = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_srq_init_attr srq = { .attr = { END_DEPTH, 4, 8 } };
	struct ibv_srq_init_attr_ex xsrq = {
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.attr = srq.attr,
		.srq_type = IBV_SRQT_XRC,
	};

	e->ctx = ctx;
	e->pd = ibv_alloc_pd(ctx);
	e->cq = ibv_create_cq(ctx, END_CQ, NULL, NULL, 0);
	e->xrcd = ibv_open_xrcd(ctx, &xrcd);
	if (!e->pd || !e->cq || !e->xrcd)
		err(1, "cannot begin");
	e->mr = ibv_reg_mr(e->pd, mem, len, ALL_ACCESS | IBV_ACCESS_MW_BIND);
	e->srq = ibv_create_srq(e->pd, &srq);
	xsrq.pd = e->pd;
	xsrq.cq = e->cq;
	xsrq.xrcd = e->xrcd;
	e->xsrq = ibv_create_srq_ex(ctx, &xsrq);
	if (!e->mr || !e->srq || !e->xsrq || ibv_get_srq_num(e->xsrq, &e->srqn))
		err(1, "memory and SRQs");
}

struct ibv_qp *end_qp(struct end *e, enum end_type type, bool target)
{
	static const enum ibv_qp_type types[] = {
		IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RC, IBV_QPT_XRC_SEND,
	};
	struct ibv_qp_init_attr_ex init = {
		.qp_type = types[type],
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = e->pd,
		.send_cq = e->cq,
		.recv_cq = e->cq,
		.srq = type == END_RC_SRQ ? e->srq : NULL,
		.cap = { END_DEPTH, END_DEPTH, 4, 4, 256 },
	};
	struct ibv_qp_init_attr_ex xrc = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = e->xrcd,
	};
	struct ibv_qp *qp;

	if (type == END_XRC) {
		init.recv_cq = NULL;
		init.cap.max_recv_wr = 0;
		init.cap.max_recv_sge = 0;
	}
	qp = ibv_create_qp_ex(e->ctx, type == END_XRC && target ? &xrc : &init);
	if (!qp)
		err(1, "cannot create a QP of type %d", type);
	return qp;
}

static int datagrams(struct ibv_qp *qp)
{
	struct ibv_qp_attr rts = rts_attr(), attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = END_QKEY,
	};

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT |
			     IBV_QP_PKEY_INDEX | IBV_QP_QKEY) ?:
	       (attr.qp_state = IBV_QPS_RTR,
		ibv_modify_qp(qp, &attr, IBV_QP_STATE)) ?:
	       ibv_modify_qp(qp, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

int end_connect(struct ibv_qp *qp, const struct ibv_qp *to)
{
	const int answers = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	int rtr_mask = RTR_MASK, rts_mask = RTS_MASK;
	struct ibv_qp_attr rtr, rts = rts_attr();

	if (qp->qp_type == IBV_QPT_UD)
		return datagrams(qp);
	rtr = rtr_attr_to(qp->context, to->context, to->qp_num);
	if (qp->qp_type == IBV_QPT_UC || qp->qp_type == IBV_QPT_XRC_SEND)
		rtr_mask &= ~answers;
	if (qp->qp_type == IBV_QPT_UC)
		rts_mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	else
		init.qp_access_flags = ALL_ACCESS;
	if (qp->qp_type == IBV_QPT_XRC_RECV)
		rts_mask = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT;
	return ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PORT |
			     IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS) ?:
	       ibv_modify_qp(qp, &rtr, rtr_mask) ?:
	       ibv_modify_qp(qp, &rts, rts_mask);
}
