// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Traffic that others' garbage has to leave alone; see good.h. */
#include <time.h>

#include "good.h"

/* What is slow is not lost: the attackers have the CPUs too. */
#define PATIENCE_S	60

enum { SENT, RECEIVED, WRITTEN, READ, COUNTER, AREAS };

static uint8_t *part(struct good *g, int i)
{
	return g->mem + i * 4096;
}

/* A packet that came to itself may be late and lost: more than one try. */
static void patient(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = 0xfffff0,
		.timeout = 18,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 4,
	};

	if (ibv_modify_qp(qp, &attr, RTS_MASK))
		err(1, "a good QP to RTS");
}

void good_open(struct good *g, struct ibv_context *ctx, struct ibv_context *to)
{
	struct ibv_context *c[2] = { ctx, to };
	struct ibv_qp_attr rtr;
	int i;

	g->mem = aligned_alloc(4096, AREAS * 4096);
	memset(g->mem, 0, AREAS * 4096);
	for (i = 0; i < 2; i++) {
		g->pd[i] = ibv_alloc_pd(c[i]);
		g->cq[i] = ibv_create_cq(c[i], 64, NULL, NULL, 0);
		if (!g->pd[i] || !g->cq[i])
			err(1, "good objects");
		g->mr[i] = ibv_reg_mr(g->pd[i], g->mem, AREAS * 4096, ALL_ACCESS);
		g->qp[i] = new_qp(g->pd[i], g->cq[i], 16, 1);
		if (!g->mr[i] || !g->qp[i] || to_init(g->qp[i]))
			err(1, "a good QP");
	}
	for (i = 0; i < 2; i++) {
		rtr = rtr_attr_to(c[i], c[!i], g->qp[!i]->qp_num);
		if (ibv_modify_qp(g->qp[i], &rtr, RTR_MASK))
			err(1, "a good QP to RTR");
		patient(g->qp[i]);
	}
}

static int post(struct good *g, enum ibv_wr_opcode op, int from, int to,
		uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)part(g, from), len, g->mr[0]->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = op,
		.send_flags = IBV_SEND_SIGNALED,
	};

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)part(g, to);
		wr.wr.atomic.rkey = g->mr[1]->rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)part(g, to);
		wr.wr.rdma.rkey = g->mr[1]->rkey;
	}
	return ibv_post_send(g->qp[0], &wr, &bad);
}

static bool reap(struct good *g, int n)
{
	time_t end = time(NULL) + PATIENCE_S;
	struct ibv_wc wc;
	int got, i = 0;

	while (n) {
		got = ibv_poll_cq(g->cq[i++ & 1], 1, &wc);
		if (got < 0 || (got && wc.status)) {
			warnx("good user: %s", got < 0 ? "poll failed" :
			      ibv_wc_status_str(wc.status));
			return false;
		}
		n -= got;
		if (!got && !(i & 1))
			usleep(200);
		if (time(NULL) > end) {
			warnx("good user: %d completions are missing", n);
			return false;
		}
	}
	return true;
}

bool good_step(struct good *g)
{
	struct ibv_sge sge = { (uintptr_t)part(g, RECEIVED), 4096, g->mr[1]->lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };
	uint64_t old;
	int i;

	memset(part(g, SENT), ++g->n * 11, GOOD_LEN);
	if (ibv_post_recv(g->qp[1], &wr, &bad) ||
	    post(g, IBV_WR_SEND, SENT, 0, GOOD_LEN) ||
	    post(g, IBV_WR_RDMA_WRITE, SENT, WRITTEN, GOOD_LEN) ||
	    post(g, IBV_WR_RDMA_READ, READ, WRITTEN, GOOD_LEN) ||
	    !reap(g, 4)) {
		warnx("good user: step %u", g->n);
		return false;
	}
	for (i = RECEIVED; i <= READ; i++) {
		if (!memcmp(part(g, SENT), part(g, i), GOOD_LEN))
			continue;
		warnx("good user: step %u: area %d is not as sent", g->n, i);
		return false;
	}
	if (post(g, IBV_WR_ATOMIC_FETCH_AND_ADD, READ, COUNTER, 8) || !reap(g, 1))
		return false;
	memcpy(&old, part(g, READ), 8);
	if (old == g->n - 1)
		return true;
	warnx("good user: step %u: the counter was %llu", g->n,
	      (unsigned long long)old);
	return false;
}
