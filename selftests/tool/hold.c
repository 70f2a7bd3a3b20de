// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Holds objects for rdmatool to show, until its standard input ends:
 *
 *   hold DEVICE GID_INDEX objects	one of each kind, bound, posted and filled
 *   hold DEVICE GID_INDEX qps N M	N QPs, and M others that come and go
 *   hold DEVICE GID_INDEX mrs N		N MRs
 *
 * Prints what it made, "name value" on a line each, then "ready". One thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "need.h"

#define LEN	(5 * (size_t)sysconf(_SC_PAGESIZE))

struct host {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	union ibv_gid gid;
	int gid_index;
	enum ibv_mtu mtu;
};

static struct host open_host(const char *name, int gid_index)
{
	struct host h = { .gid_index = gid_index };
	struct ibv_device **list = NEED(ibv_get_device_list(NULL));
	struct ibv_port_attr port;
	int i;

	for (i = 0; list[i] && !h.ctx; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			h.ctx = NEED(ibv_open_device(list[i]));
	NEED(h.ctx);
	ZERO(ibv_query_gid(h.ctx, 1, gid_index, &h.gid));
	ZERO(ibv_query_port(h.ctx, 1, &port));
	h.mtu = port.active_mtu;
	h.pd = NEED(ibv_alloc_pd(h.ctx));
	h.channel = NEED(ibv_create_comp_channel(h.ctx));
	h.cq = NEED(ibv_create_cq(h.ctx, 100, NULL, h.channel, 0));
	return h;
}

static struct ibv_qp *new_qp(struct host *h, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = h->cq, .recv_cq = h->cq, .srq = srq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	return ibv_create_qp(h->pd, &init);
}

static void connect_qp(struct host *h, struct ibv_qp *qp, uint32_t dest)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};

	ZERO(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			   IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR, .path_mtu = h->mtu,
		.dest_qp_num = dest, .rq_psn = 17, .max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = {
			.dgid = h->gid, .sgid_index = h->gid_index,
			.hop_limit = 3 } },
	};
	ZERO(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV |
			   IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .sq_psn = 17, .timeout = 14,
		.retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1,
	};
	ZERO(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN |
			   IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			   IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC));
}

static void wait_end(void)
{
	char c;

	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
}

/* Where the device has XRC */
static void xrc_qps(struct host *h)
{
	struct ibv_xrcd_init_attr domain = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1, .oflags = O_CREAT,
	};
	struct ibv_qp_init_attr_ex recv = {
		.qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD,
	};
	struct ibv_qp_init_attr_ex send = {
		.qp_type = IBV_QPT_XRC_SEND, .comp_mask = IBV_QP_INIT_ATTR_PD,
		.send_cq = h->cq, .pd = h->pd,
		.cap = { .max_send_wr = 4, .max_send_sge = 1 },
	};

	recv.xrcd = ibv_open_xrcd(h->ctx, &domain);
	if (!recv.xrcd)
		return;
	printf("xrc_recv %u\n", NEED(ibv_create_qp_ex(h->ctx, &recv))->qp_num);
	printf("xrc_send %u\n", NEED(ibv_create_qp_ex(h->ctx, &send))->qp_num);
}

static void objects(struct host *h)
{
	struct ibv_srq_init_attr srq_init = {
		.attr = { .max_wr = 50, .max_sge = 2 },
	};
	struct ibv_srq_attr limit = { .srq_limit = 7 };
	struct ibv_ah_attr ah_attr = {
		.is_global = 1, .port_num = 1, .sl = 3,
		.grh = { .dgid = h->gid, .sgid_index = h->gid_index,
			 .hop_limit = 9, .traffic_class = 32,
			 .flow_label = 0x12345 },
	};
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		     IBV_ACCESS_MW_BIND;
	struct ibv_recv_wr recv = {}, *bad;
	struct ibv_mw_bind bind = {};
	struct ibv_mw *mw1, *mw2;
	struct ibv_qp *qp1, *qp2;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	void *buf, *context;
	int i;

	ZERO(posix_memalign(&buf, LEN / 5, LEN));
	mr = NEED(ibv_reg_mr(h->pd, buf, LEN, access));
	h->srq = NEED(ibv_create_srq(h->pd, &srq_init));
	ZERO(ibv_modify_srq(h->srq, &limit, IBV_SRQ_LIMIT));
	for (i = 0; i < 5; i++)
		ZERO(ibv_post_srq_recv(h->srq, &recv, &bad));
	NEED(ibv_create_ah(h->pd, &ah_attr));
	qp1 = NEED(new_qp(h, NULL));
	qp2 = NEED(new_qp(h, h->srq));
	connect_qp(h, qp1, qp2->qp_num);
	connect_qp(h, qp2, qp1->qp_num);
	mw1 = NEED(ibv_alloc_mw(h->pd, IBV_MW_TYPE_1));
	mw2 = NEED(ibv_alloc_mw(h->pd, IBV_MW_TYPE_2));
	bind.bind_info = (struct ibv_mw_bind_info){
		.mr = mr, .addr = (uintptr_t)buf + 64, .length = 4096,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	bind.send_flags = IBV_SEND_SIGNALED;
	ZERO(ibv_req_notify_cq(h->cq, 0));
	ZERO(ibv_bind_mw(qp1, mw1, &bind));
	/* Its completion stays in the CQ, which is armed behind it, for others than that. */
	ZERO(ibv_get_cq_event(h->channel, &cq, &context));
	ibv_ack_cq_events(cq, 1);
	ZERO(ibv_req_notify_cq(h->cq, 1));
	printf("qp %u\nsrq_qp %u\nlkey %#x\nrkey %#x\nmw1 %#x\nmw2 %#x\n",
	       qp1->qp_num, qp2->qp_num, mr->lkey, mr->rkey, mw1->rkey,
	       mw2->rkey);
	xrc_qps(h);
	printf("iova %#llx\n", (unsigned long long)(uintptr_t)buf);
	wait_end();
}

/* The first @n stay; each of the others is replaced, one after another. */
static void qps(struct host *h, int n, int m)
{
	struct ibv_qp **qp = NEED(calloc(n + m, sizeof(*qp)));
	struct pollfd in = { .fd = 0, .events = POLLIN };
	int i;

	for (i = 0; i < n + m; i++)
		qp[i] = NEED(new_qp(h, NULL));
	for (i = 0; i < n; i++)
		printf("qp %u\n", qp[i]->qp_num);
	puts("ready");
	fflush(stdout);
	for (i = n; !poll(&in, 1, m ? 0 : -1); i = i + 1 < n + m ? i + 1 : n) {
		ZERO(ibv_destroy_qp(qp[i]));
		qp[i] = NEED(new_qp(h, NULL));
	}
}

static void mrs(struct host *h, int n)
{
	static char buf[64];

	while (n--)
		NEED(ibv_reg_mr(h->pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE));
	wait_end();
}

int main(int argc, char **argv)
{
	struct host h;

	if (argc < 4)
		return 2;
	h = open_host(argv[1], atoi(argv[2]));
	if (!strcmp(argv[3], "objects"))
		objects(&h);
	else if (argc == 6 && !strcmp(argv[3], "qps"))
		qps(&h, atoi(argv[4]), atoi(argv[5]));
	else if (argc == 5 && !strcmp(argv[3], "mrs"))
		mrs(&h, atoi(argv[4]));
	else
		return 2;
	/* The kernel cleans up what is left. */
	return 0;
}
