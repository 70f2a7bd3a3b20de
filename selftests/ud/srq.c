// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of shared receive queues: several QPs of every transport over one, each
 * receive used once; the limit and last-WQE events; what is refused.
 */
#include "ud.h"

#define DEPTH	64u
#define SLOT	2048u
#define N_QP	6
#define BASE	(MEM / 2)

static struct ibv_srq *srq_make(enum side s, uint32_t depth)
{
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = depth, .max_sge = 2 },
	};
	struct ibv_srq *srq = ibv_create_srq(hosts[s].pd, &attr);

	if (!srq)
		why("create SRQ: %s", strerror(errno));
	else if (attr.attr.max_wr < depth || attr.attr.max_sge < 2)
		why("SRQ of %u, %u SGEs", attr.attr.max_wr, attr.attr.max_sge);
	return srq;
}

/* Slot @id of host B, its GRH, if any, before the payload */
static int srq_post(struct ibv_srq *srq, uint32_t id)
{
	struct ibv_sge sge[2] = {
		{ (uintptr_t)hosts[B].mem + BASE + id * SLOT, 70,
		  hosts[B].mr->lkey },
		{ (uintptr_t)hosts[B].mem + BASE + id * SLOT + 70, SLOT - 70,
		  hosts[B].mr->lkey },
	};
	struct ibv_recv_wr *bad, wr = {
		.wr_id = id,
		.sg_list = sge,
		.num_sge = 2,
	};

	return ibv_post_srq_recv(srq, &wr, &bad);
}

/* A pair whose B receives from @srq; its receive completions go to @cq. */
static bool srq_pair(struct ep p[2], enum ibv_qp_type type, struct ibv_srq *srq,
		     struct ibv_cq *cq)
{
	struct ibv_qp_init_attr_ex init = {
		.recv_cq = cq,
		.srq = srq,
		/* of receives what is said means nothing */
		.cap = { 16, UINT32_MAX, 1, UINT32_MAX, 0 },
	};

	memset(p, 0, 2 * sizeof(*p));
	TRY(ep_make(&p[A], A, type, NULL));
	TRY(ep_make(&p[B], B, type, &init));
	TRY(ep_bring(&p[A], &p[B], IBV_MTU_1024, IBV_QPS_RTS));
	return ep_bring(&p[B], &p[A], IBV_MTU_1024, IBV_QPS_RTS);
}

/* The seed of message @n; its length */
static uint32_t length(uint32_t n)
{
	return 1 + n * 37 % 900;
}

static bool srq_send(struct ep *a, const struct ep *b, struct ibv_ah *ah,
		     uint32_t n)
{
	struct msg m = { .op = IBV_WR_SEND_WITH_IMM, .len = length(n), .imm = n,
			 .off = n % 64 * 1024, .flags = IBV_SEND_SIGNALED,
			 .qpn = b->qp->qp_num, .qkey = QKEY, .ah = ah };

	fill(A, m.off, m.len, n);
	NEED(!post(a, &m), "post_send");
	return true;
}

static bool srq_came(const struct ibv_wc *wc, struct ep *to, uint32_t n)
{
	uint32_t grh = to->type == IBV_QPT_UD ? GRH : 0;

	NEED(wc->qp_num == to->qp->qp_num, "%s: completion of QP %#x, not %#x",
	     type_name(to->type), wc->qp_num, to->qp->qp_num);
	NEED(wc->byte_len == grh + length(n), "%u bytes of %u", wc->byte_len,
	     grh + length(n));
	NEED(wc->imm_data == htobe32(n), "immediate of another");
	return same(B, BASE + (uint32_t)wc->wr_id * SLOT + grh, length(n), n);
}

/* QPs of each type in turn; the receives are used in order of posting. */
static bool shared(unsigned int rounds, bool own_cqs)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UD,
						  IBV_QPT_UC };
	struct ibv_srq *srq = srq_make(B, DEPTH);
	struct ibv_cq *cq = ibv_create_cq(hosts[B].ctx, CQE, NULL, NULL, 0);
	struct ibv_ah *ah = ah_make(A, NULL);
	uint32_t n, i, id = 0, next = 0;
	struct ep p[N_QP][2];
	struct ibv_wc wc;

	TRY(srq && ah);
	NEED(cq, "create CQ: %s", strerror(errno));
	for (i = 0; i < N_QP; i++)
		TRY(srq_pair(p[i], types[i % 3], srq, own_cqs ? NULL : cq));
	for (i = 0; i < DEPTH; i++)
		NEED(!srq_post(srq, i), "post_srq_recv %u", i);
	NEED(srq_post(srq, 0) == ENOMEM, "one more than there is room for");
	for (n = 0; n < rounds; n++) {
		struct ep *pair = p[n % N_QP];

		TRY(srq_send(&pair[A], &pair[B], ah, n));
		TRY(reap(pair[B].rcq, &wc, 1));
		NEED(wc.wr_id == next % DEPTH, "receive %llu, not %u",
		     (unsigned long long)wc.wr_id, next % DEPTH);
		next++;
		TRY(srq_came(&wc, &pair[B], n));
		TRY(reap(pair[A].scq, &wc, 1));
		NEED(!srq_post(srq, id++ % DEPTH), "post_srq_recv");
	}
	NEED(ibv_destroy_srq(srq) == EBUSY, "destroyed under its QPs");
	for (i = 0; i < N_QP; i++)
		TRY(pair_free(p[i]));
	NEED(!ibv_destroy_srq(srq), "destroy SRQ");
	ibv_destroy_ah(ah);
	if (own_cqs)
		NEED(!ibv_destroy_cq(cq), "destroy CQ");
	return true;
}

/* All QPs send at once: each receive is used once, each message comes whole. */
static bool burst(unsigned int rounds)
{
	struct ibv_srq *srq = srq_make(B, DEPTH);
	struct ibv_cq *cq = ibv_create_cq(hosts[B].ctx, CQE, NULL, NULL, 0);
	struct ep p[N_QP][2];
	uint32_t r, i, n, k;
	struct ibv_wc wc;
	uint64_t used;

	TRY(srq);
	NEED(cq, "create CQ: %s", strerror(errno));
	for (i = 0; i < N_QP; i++)
		TRY(srq_pair(p[i], IBV_QPT_RC, srq, cq));
	for (r = 0; r < rounds; r++) {
		uint32_t next[N_QP] = {};

		for (i = 0; i < 60; i++)
			NEED(!srq_post(srq, i), "post_srq_recv %u", i);
		for (n = 0; n < 60; n++)
			TRY(srq_send(&p[n % N_QP][A], &p[n % N_QP][B], NULL, n));
		for (used = 0, n = 0; n < 60; n++) {
			TRY(reap(cq, &wc, 1));
			NEED(!(used >> wc.wr_id & 1), "receive %llu used twice",
			     (unsigned long long)wc.wr_id);
			used |= 1ull << wc.wr_id;
			for (i = 0; i < N_QP; i++)
				if (p[i][B].qp->qp_num == wc.qp_num)
					break;
			NEED(i < N_QP, "completion of QP %#x", wc.qp_num);
			k = next[i]++ * N_QP + i;
			TRY(srq_came(&wc, &p[i][B], k));
		}
		for (n = 0; n < 60; n++)
			TRY(reap(p[n % N_QP][A].scq, &wc, 1));
	}
	for (i = 0; i < N_QP; i++)
		TRY(pair_free(p[i]));
	NEED(!ibv_destroy_srq(srq), "destroy SRQ");
	return true;
}

static bool set_limit(struct ibv_srq *srq, uint32_t limit)
{
	struct ibv_srq_attr attr = { .srq_limit = limit };
	int err = ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT);

	NEED(!err, "limit %u: %s", limit, strerror(err));
	return true;
}

static bool limit_is(struct ibv_srq *srq, uint32_t limit)
{
	struct ibv_srq_attr attr = {};
	int err = ibv_query_srq(srq, &attr);

	NEED(!err, "query SRQ: %s", strerror(err));
	NEED(attr.srq_limit == limit, "the limit is %u, not %u",
	     attr.srq_limit, limit);
	return true;
}

static bool limit(enum ibv_qp_type type)
{
	struct ibv_srq *srq = srq_make(B, DEPTH);
	struct ibv_ah *ah = ah_make(A, NULL);
	struct ibv_async_event ev;
	struct ep p[2];
	struct ibv_wc wc;
	uint32_t n;

	TRY(srq && ah && srq_pair(p, type, srq, NULL));
	for (n = 0; n < 8; n++)
		NEED(!srq_post(srq, n), "post_srq_recv");
	TRY(limit_is(srq, 0));
	TRY(set_limit(srq, 5));
	TRY(limit_is(srq, 5));
	for (n = 0; n < 3; n++) {		/* 8 become 5 */
		TRY(srq_send(&p[A], &p[B], ah, n));
		TRY(reap(p[B].rcq, &wc, 1) && reap(p[A].scq, &wc, 1));
	}
	TRY(no_event(B, IBV_EVENT_SRQ_LIMIT_REACHED, 50));
	TRY(srq_send(&p[A], &p[B], ah, n++));	/* 4 */
	TRY(event(B, IBV_EVENT_SRQ_LIMIT_REACHED, 1000 * WAIT_S, &ev));
	NEED(ev.element.srq == srq, "the event is another's");
	TRY(reap(p[B].rcq, &wc, 1) && reap(p[A].scq, &wc, 1));
	TRY(limit_is(srq, 0));
	for (; n < 6; n++) {			/* one event for one arming */
		TRY(srq_send(&p[A], &p[B], ah, n));
		TRY(reap(p[B].rcq, &wc, 1) && reap(p[A].scq, &wc, 1));
	}
	TRY(no_event(B, IBV_EVENT_SRQ_LIMIT_REACHED, 50));
	NEED(!srq_post(srq, 9), "post_srq_recv");	/* 3 */
	TRY(set_limit(srq, 3));
	TRY(no_event(B, IBV_EVENT_SRQ_LIMIT_REACHED, 50));
	TRY(set_limit(srq, 0));			/* disarmed */
	TRY(srq_send(&p[A], &p[B], ah, n));
	TRY(reap(p[B].rcq, &wc, 1) && reap(p[A].scq, &wc, 1));
	TRY(no_event(B, IBV_EVENT_SRQ_LIMIT_REACHED, 50));
	ibv_destroy_ah(ah);
	TRY(pair_free(p));
	NEED(!ibv_destroy_srq(srq), "destroy SRQ");
	return true;
}

/* The QP's end takes none of the SRQ's receives, and says so by an event. */
static bool last_wqe(void)
{
	struct ibv_srq *srq = srq_make(B, DEPTH);
	struct ibv_qp_attr err = { .qp_state = IBV_QPS_ERR };
	struct ibv_async_event ev;
	struct ep p[2], q[2];
	struct ibv_wc wc;
	uint32_t n;

	TRY(srq && srq_pair(p, IBV_QPT_RC, srq, NULL));
	TRY(srq_pair(q, IBV_QPT_RC, srq, NULL));
	for (n = 0; n < 4; n++)
		NEED(!srq_post(srq, n), "post_srq_recv");
	TRY(srq_send(&p[A], &p[B], NULL, 0));
	TRY(reap(p[B].rcq, &wc, 1) && reap(p[A].scq, &wc, 1));
	NEED(!ibv_modify_qp(p[B].qp, &err, IBV_QP_STATE), "to ERR");
	TRY(event(B, IBV_EVENT_QP_LAST_WQE_REACHED, 1000 * WAIT_S, &ev));
	NEED(ev.element.qp == p[B].qp, "the event is another's");
	TRY(none(p[B].rcq, 50));
	TRY(no_event(B, IBV_EVENT_QP_LAST_WQE_REACHED, 50));
	for (n = 1; n < 4; n++) {
		TRY(srq_send(&q[A], &q[B], NULL, n));
		TRY(reap(q[B].rcq, &wc, 1));
		NEED(wc.wr_id == n, "receive %llu, not %u",
		     (unsigned long long)wc.wr_id, n);
		TRY(srq_came(&wc, &q[B], n) && reap(q[A].scq, &wc, 1));
	}
	TRY(pair_free(p) && pair_free(q));
	NEED(!ibv_destroy_srq(srq), "destroy SRQ");
	return true;
}

/* An error by a packet: the message under way gives up its receive, no other */
static bool broken(void)
{
	struct ibv_srq *srq = srq_make(B, DEPTH);
	struct ibv_async_event ev;
	struct msg m = { .op = IBV_WR_SEND, .len = SLOT + 1,
			 .flags = IBV_SEND_SIGNALED };
	struct ep p[2], q[2];
	struct ibv_wc wc;

	TRY(srq && srq_pair(p, IBV_QPT_RC, srq, NULL));
	TRY(srq_pair(q, IBV_QPT_RC, srq, NULL));
	NEED(!srq_post(srq, 0) && !srq_post(srq, 1), "post_srq_recv");
	NEED(!post(&p[A], &m), "post_send");
	TRY(reap_as(p[A].scq, &wc, IBV_WC_REM_INV_REQ_ERR));
	TRY(reap_as(p[B].rcq, &wc, IBV_WC_LOC_LEN_ERR));
	NEED(wc.wr_id == 0, "receive %llu", (unsigned long long)wc.wr_id);
	TRY(event(B, IBV_EVENT_QP_LAST_WQE_REACHED, 1000 * WAIT_S, &ev));
	TRY(none(p[B].rcq, 20));
	TRY(srq_send(&q[A], &q[B], NULL, 3));
	TRY(reap(q[B].rcq, &wc, 1) && srq_came(&wc, &q[B], 3));
	NEED(wc.wr_id == 1, "receive %llu", (unsigned long long)wc.wr_id);
	TRY(pair_free(p) && pair_free(q));
	NEED(!ibv_destroy_srq(srq), "destroy SRQ");
	return true;
}

/* RC waits for a receive, UD loses what finds none. */
static bool empty(void)
{
	struct ibv_srq *srq = srq_make(B, DEPTH);
	struct ibv_ah *ah = ah_make(A, NULL);
	uint64_t was = counter(B, "drop_no_recv");
	struct ep p[2], u[2];
	struct ibv_wc wc;

	TRY(srq && ah && srq_pair(p, IBV_QPT_RC, srq, NULL));
	TRY(srq_pair(u, IBV_QPT_UD, srq, NULL));
	TRY(srq_send(&u[A], &u[B], ah, 1) && reap(u[A].scq, &wc, 1));
	TRY(counted(B, "drop_no_recv", was));
	TRY(srq_send(&p[A], &p[B], NULL, 2));
	TRY(none(p[A].scq, 50));
	NEED(!srq_post(srq, 7), "post_srq_recv");
	TRY(reap(p[A].scq, &wc, 1) && reap(p[B].rcq, &wc, 1));
	TRY(srq_came(&wc, &p[B], 2));
	TRY(none(u[B].rcq, 20));
	ibv_destroy_ah(ah);
	TRY(pair_free(p) && pair_free(u));
	NEED(!ibv_destroy_srq(srq), "destroy SRQ");
	return true;
}

static bool refused(void)
{
	struct ibv_srq *srq = srq_make(B, 16);
	struct ibv_srq_init_attr init = { .attr = { 16, 1, 0 } };
	struct ibv_srq_attr attr = { .max_wr = 32 };
	struct ibv_recv_wr *bad, wr = { .num_sge = 3 };
	struct ibv_sge sge[3] = {};
	struct ibv_srq *other;
	struct ep p[2];
	int err;

	TRY(srq && srq_pair(p, IBV_QPT_RC, srq, NULL));
	NEED(post_recv(&p[B], 1, DST_OFF, 64) == EINVAL, "post_recv past it");
	wr.sg_list = sge;
	NEED(ibv_post_srq_recv(srq, &wr, &bad) == EINVAL && bad == &wr,
	     "3 SGEs of 2");
	err = ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR);
	NEED(!err, "resize: %s", strerror(err));
	attr.srq_limit = 33;
	err = ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT);
	NEED(err == EINVAL, "limit 33 of 32: %s", strerror(err));
	attr.max_wr = (uint32_t)hosts[B].attr.max_srq_wr + 1;
	err = ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR);
	NEED(err == EINVAL, "resize past max_srq_wr: %s", strerror(err));
	/* means nothing yet: ibv_create_srq(3) */
	init.attr.srq_limit = 17;
	other = ibv_create_srq(hosts[B].pd, &init);
	NEED(other && !ibv_query_srq(other, &attr) && !attr.srq_limit &&
	     !ibv_destroy_srq(other), "an SRQ with limit 17 of 16: %s", strerror(errno));
	init.attr.max_wr = (uint32_t)hosts[B].attr.max_srq_wr + 1;
	NEED(!ibv_create_srq(hosts[B].pd, &init) && errno == EINVAL,
	     "an SRQ larger than max_srq_wr: %s", strerror(errno));
	init.attr.max_wr = 16;
	init.attr.max_sge = (uint32_t)hosts[B].attr.max_srq_sge + 1;
	NEED(!ibv_create_srq(hosts[B].pd, &init) && errno == EINVAL,
	     "more SGEs than max_srq_sge: %s", strerror(errno));
	TRY(pair_free(p));
	NEED(!ibv_destroy_srq(srq), "destroy SRQ");
	return true;
}

void test_srq(void)
{
	report(shared(300, true), "SRQ under 6 QPs of RC, UD and UC");
	report(shared(300, false), "SRQ under 6 QPs with one CQ");
	report(burst(20), "SRQ under 6 QPs at once");
	report(limit(IBV_QPT_RC), "SRQ, limit event, RC");
	report(limit(IBV_QPT_UD), "SRQ, limit event, UD");
	report(last_wqe(), "SRQ, last-WQE event");
	report(broken(), "SRQ, a message too long for its receive");
	report(empty(), "SRQ, empty");
	report(refused(), "SRQ, what is refused");
}
