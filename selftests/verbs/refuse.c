// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What other devices have and this one has not: each is refused with the error
 * that docs/concepts.md names, and by ibv_query_device() not advertised. And what a
 * QP hears from whom. One thread.
 */
#include <unistd.h>

#include "verbs.h"

/* By pointer, as most of verbs: errno says why */
static bool no(const char *what, const void *made, int want)
{
	NEED(!made && errno == want, "%s: %s", what,
	     made ? "made" : strerror(errno));
	errno = 0;
	return true;
}

/* By return value, the others */
static bool not(const char *what, int err, int want)
{
	NEED(err == want, "%s: %s", what, err ? strerror(err) : "done");
	return true;
}

static bool queue_pairs(struct pair *p)
{
	static const int types[] = {
		0,				/* SMI: QP 0 */
		1,				/* GSI: QP 1 */
		5, 6, 7,			/* raw IPv6, raw Ethertype, RD */
		IBV_QPT_RAW_PACKET, IBV_QPT_DRIVER,
	};
	struct ibv_qp_init_attr qp = {
		.send_cq = p->cq[0],
		.recv_cq = p->cq[0],
		.cap = { 1, 1, 1, 1, 0 },
	};
	struct ibv_qp_init_attr_ex tso = {
		.send_cq = p->cq[0],
		.recv_cq = p->cq[0],
		.cap = { 1, 1, 1, 1, 0 },
		.qp_type = IBV_QPT_UD,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_MAX_TSO_HEADER,
		.pd = pd,
		.max_tso_header = 64,
	};
	struct ibv_wq_init_attr wq = {
		.wq_type = IBV_WQT_RQ, .max_wr = 1, .max_sge = 1,
		.pd = pd, .cq = p->cq[0],
	};
	struct ibv_rwq_ind_table_init_attr rss = {};
	char name[32];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		qp.qp_type = types[i];
		snprintf(name, sizeof(name), "QP of type %d", types[i]);
		TRY(no(name, ibv_create_qp(pd, &qp), EOPNOTSUPP));
	}
	TRY(no("TSO", ibv_create_qp_ex(ctx, &tso), EOPNOTSUPP));
	TRY(no("work queue", ibv_create_wq(ctx, &wq), EOPNOTSUPP));
	return no("RSS", ibv_create_rwq_ind_table(ctx, &rss), EOPNOTSUPP);
}

static bool paths(struct pair *p)
{
	struct ibv_qp_attr attr = { .path_mig_state = IBV_MIG_REARM };
	struct ibv_ah_attr lid = { .dlid = 1, .port_num = 1 };
	struct ibv_send_wr csum = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_IP_CSUM };
	struct ibv_send_wr tso = { .opcode = IBV_WR_TSO };
	struct ibv_port_attr port;

	int err;

	err = ibv_modify_qp(p->qp[0], &attr, IBV_QP_PATH_MIG_STATE);
	TRY(not("automatic path migration", err, EOPNOTSUPP));
	TRY(not("post of TSO", post_wr(p->qp[0], &tso), EOPNOTSUPP));
	TRY(not("post with a checksum", post_wr(p->qp[0], &csum), EINVAL));
	TRY(no("a path by LID", ibv_create_ah(pd, &lid), EINVAL));
	NEED(!ibv_query_port(ctx, 1, &port) && !port.lid && !port.sm_lid &&
	     port.link_layer == IBV_LINK_LAYER_ETHERNET,
	     "LID %u, SM's %u, link layer %u", port.lid, port.sm_lid,
	     port.link_layer);
	return true;
}

static bool memory(void)
{
	struct ibv_alloc_dm_attr dm = { .length = 4096 };
	struct ibv_sge sge = { (uintptr_t)buf, 4096, mr->lkey };
	struct ibv_mr *r;

	r = ibv_reg_mr(pd, buf, 4096, IBV_ACCESS_ON_DEMAND);
	TRY(no("on-demand region", r, EOPNOTSUPP));
	r = ibv_reg_mr(pd, buf, 4096, IBV_ACCESS_FLUSH_PERSISTENT);
	TRY(no("persistent region", r, EOPNOTSUPP));
	/* But what is only a hint may be given */
	r = ibv_reg_mr(pd, buf, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_HUGETLB);
	NEED(r && !ibv_dereg_mr(r), "region of huge pages: %s", strerror(errno));
	TRY(no("device memory", ibv_alloc_dm(ctx, &dm), EOPNOTSUPP));
	return not("advice", ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH,
					   0, &sge, 1), EOPNOTSUPP);
}

static bool others(struct pair *p)
{
	struct ibv_srq_init_attr_ex srq = {
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM,
		.attr = { 1, 1, 0 },
		.srq_type = IBV_SRQT_TM,
		.pd = pd,
		.cq = p->cq[0],
		.tm_cap = { 1, 1 },
	};
	struct ibv_counters_init_attr counters = {};
	struct ibv_flow_attr flow = {
		.type = IBV_FLOW_ATTR_SNIFFER, .size = sizeof(flow), .port = 1,
	};
	struct ibv_modify_cq_attr moderate = {
		.attr_mask = IBV_CQ_ATTR_MODERATE, .moderate = { 8, 8 },
	};

	TRY(no("tag matching", ibv_create_srq_ex(ctx, &srq), EOPNOTSUPP));
	TRY(no("counters", ibv_create_counters(ctx, &counters), EOPNOTSUPP));
	TRY(no("flow rules", ibv_create_flow(p->qp[0], &flow), EOPNOTSUPP));
	return not("CQ moderation", ibv_modify_cq(p->cq[0], &moderate),
		   EOPNOTSUPP);
}

bool test_unsupported(void)
{
	struct pair p;
	bool ok = pair_make(&p, 4) && queue_pairs(&p) && paths(&p) &&
		  memory() && others(&p);

	pair_free(&p);
	return ok;
}

/*
 * On a wire packets do not say which QP they are of; on one host it is known. A third
 * QP, of the same addresses and with the right PSNs, says what A is to say to B.
 */
static bool stranger(struct pair *p, struct ibv_qp *third)
{
	struct ibv_sge sge = sge_of(0, 100, 8);
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
	};
	struct ibv_wc wc;

	TRY(qp_connect(third, p->qp[1]->qp_num, p->psn));
	NEED(!post_recv(p, 1, 7, 0, 8), "post_recv");
	memset(buf, 1, 8);
	memset(buf + 100, 2, 8);
	memset(buf + BUF_SIZE, 0, 8);
	NEED(!post_wr(third, &wr), "post_send: %s", strerror(errno));
	usleep(50000);
	NEED(!ibv_poll_cq(p->cq[1], 1, &wc), "a third QP's SEND is received");
	NEED(!post_simple(p, 0, IBV_WR_SEND, 3, 0, 8, IBV_SEND_SIGNALED), "post_send");
	TRY(reap(p->cq[0], &wc, 1, IBV_WC_SUCCESS));
	TRY(reap(p->cq[1], &wc, 1, IBV_WC_SUCCESS));
	NEED(!memcmp(buf + BUF_SIZE, buf, 8), "received: %d", buf[BUF_SIZE]);
	return true;
}

bool test_stranger(void)
{
	struct ibv_qp_init_attr init = {
		.cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *third = NULL;
	struct pair p;
	bool ok = pair_make(&p, 16);

	if (ok) {
		init.send_cq = p.cq[0];
		init.recv_cq = p.cq[0];
		third = ibv_create_qp(pd, &init);
		ok = third && stranger(&p, third);
	}
	if (third)
		ibv_destroy_qp(third);
	pair_free(&p);
	return ok;
}
