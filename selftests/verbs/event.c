// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion and asynchronous events, and the errors of what is not offered. One
 * thread.
 */
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>
#include <arm.h>

#include "verbs.h"

static bool readable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}

/* One completion event of @cq, within the time */
static bool event_of(struct pair *p, int side)
{
	struct ibv_cq *cq;
	void *context;

	NEED(readable(p->channel->fd, WAIT_S * 1000), "no event");
	NEED(!ibv_get_cq_event(p->channel, &cq, &context), "ibv_get_cq_event");
	ibv_ack_cq_events(cq, 1);
	NEED(cq == p->cq[side] && context == p, "the event of another CQ");
	return true;
}

static bool quiet(struct pair *p)
{
	NEED(!readable(p->channel->fd, 50), "an event that nobody asked for");
	return true;
}

static bool round_trip(struct pair *p, unsigned int flags)
{
	NEED(!post_recv(p, 1, 1, 0, 8), "ibv_post_recv");
	NEED(!post_simple(p, 0, IBV_WR_SEND, 2, 0, 8,
			  IBV_SEND_SIGNALED | flags), "ibv_post_send");
	return true;
}

static bool events(struct pair *p)
{
	struct ibv_wc wc[4];
	int i;

	TRY(round_trip(p, 0));
	TRY(reap(p->cq[0], wc, 1, IBV_WC_SUCCESS));
	TRY(quiet(p));
	/* What is there when it is asked for raises one, as NICs have it, but not two */
	NEED(!ibv_req_notify_cq(p->cq[1], 0), "ibv_req_notify_cq");
	TRY(event_of(p, 1));
	NEED(!ibv_req_notify_cq(p->cq[1], 0), "ibv_req_notify_cq");
	TRY(quiet(p));
	TRY(reap(p->cq[1], wc, 1, IBV_WC_SUCCESS));
	for (i = 0; i < 200; i++) {
		TRY(round_trip(p, 0));
		TRY(event_of(p, 1));
		/* Asked for, then looked: else one could slip between */
		NEED(!ibv_req_notify_cq(p->cq[1], 0), "ibv_req_notify_cq");
		TRY(reap(p->cq[1], wc, 1, IBV_WC_SUCCESS));
		TRY(reap(p->cq[0], wc, 1, IBV_WC_SUCCESS));
	}
	/* One request, one event */
	TRY(round_trip(p, 0));
	TRY(event_of(p, 1));
	TRY(round_trip(p, 0));
	TRY(reap(p->cq[1], wc, 2, IBV_WC_SUCCESS));
	TRY(reap(p->cq[0], wc, 2, IBV_WC_SUCCESS));
	TRY(quiet(p));
	/* Who polls once after an event is told of the rest, as NICs have it */
	NEED(!ibv_req_notify_cq(p->cq[1], 0), "ibv_req_notify_cq");
	TRY(round_trip(p, 0));
	TRY(round_trip(p, 0));
	TRY(round_trip(p, 0));
	TRY(reap(p->cq[0], wc, 3, IBV_WC_SUCCESS));
	for (i = 0; i < 3; i++) {
		TRY(event_of(p, 1));
		NEED(!ibv_req_notify_cq(p->cq[1], 0), "ibv_req_notify_cq");
		NEED(ibv_poll_cq(p->cq[1], 1, wc) == 1 && !wc->status, "ibv_poll_cq");
	}
	return quiet(p);
}

bool test_events(void)
{
	struct pair p;
	bool ok = pair_make(&p, 64) && events(&p);

	pair_free(&p);
	return ok;
}

#define N_CQ	64		/* and one more, of all their QPs' sends */

/**
 * struct crowd - QPs that are their own peers, and CQs on one channel
 * @cq: for what each receives, and the last for what all send
 *
 * The context of a CQ's events is where it is in @cq.
 */
struct crowd {
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq[N_CQ + 1];
	struct ibv_qp *qp[N_CQ];
};

static bool crowd_make(struct crowd *c)
{
	struct ibv_qp_init_attr init = {
		.cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
	};
	int i;

	c->channel = ibv_create_comp_channel(ctx);
	NEED(c->channel, "ibv_create_comp_channel: %s", strerror(errno));
	for (i = 0; i <= N_CQ; i++) {
		c->cq[i] = ibv_create_cq(ctx, i < N_CQ ? 4 : 4 * N_CQ, &c->cq[i],
					 c->channel, i % ctx->num_comp_vectors);
		NEED(c->cq[i], "ibv_create_cq %d: %s", i, strerror(errno));
	}
	init.send_cq = c->cq[N_CQ];
	for (i = 0; i < N_CQ; i++) {
		init.recv_cq = c->cq[i];
		c->qp[i] = ibv_create_qp(pd, &init);
		NEED(c->qp[i], "ibv_create_qp %d: %s", i, strerror(errno));
		TRY(qp_connect(c->qp[i], c->qp[i]->qp_num, 5 * i));
	}
	return true;
}

static void crowd_free(struct crowd *c)
{
	int i;

	for (i = 0; i < N_CQ; i++)
		if (c->qp[i])
			ibv_destroy_qp(c->qp[i]);
	for (i = 0; i <= N_CQ; i++)
		if (c->cq[i])
			ibv_destroy_cq(c->cq[i]);
	if (c->channel)
		ibv_destroy_comp_channel(c->channel);
}

/* One event of each CQ in @want, and of no other */
static bool crowd_events(struct crowd *c, const bool *want)
{
	int i, left = 0, got[N_CQ + 1] = {};
	struct ibv_cq *cq, **at;
	void *context;

	for (i = 0; i <= N_CQ; i++)
		left += want[i];
	for (; left; left--) {
		NEED(readable(c->channel->fd, WAIT_S * 1000), "%d events are missing", left);
		NEED(!ibv_get_cq_event(c->channel, &cq, &context), "ibv_get_cq_event");
		ibv_ack_cq_events(cq, 1);
		at = context;
		NEED(at >= c->cq && at <= c->cq + N_CQ && *at == cq, "another context");
		got[at - c->cq]++;
	}
	for (i = 0; i <= N_CQ; i++)
		NEED(got[i] == want[i], "%d events of CQ %d", got[i], i);
	NEED(!readable(c->channel->fd, 50), "an event that nobody asked for");
	return true;
}

/* Two messages for each of these QPs; their events are @want */
static bool crowd_round(struct crowd *c, int from, int to, const bool *want)
{
	struct ibv_send_wr send = { .num_sge = 1, .opcode = IBV_WR_SEND };
	struct ibv_recv_wr *bad, recv = { .num_sge = 1 };
	int i, k, sent[N_CQ] = {};
	struct ibv_sge here, there;
	struct ibv_wc wc[2];

	fill(0, 0, 2 * 8 * N_CQ, 3 + from);
	fill(1, 0, 2 * 8 * N_CQ, 4 + from);
	for (k = 0; k < 2; k++) {
		for (i = from; i < to; i++) {
			there = sge_of(1, (2 * i + k) * 8, 8);
			here = sge_of(0, (2 * i + k) * 8, 8);
			recv.wr_id = 2 * i + k;
			send.wr_id = i;
			recv.sg_list = &there;
			send.sg_list = &here;
			NEED(!ibv_post_recv(c->qp[i], &recv, &bad) &&
			     !post_wr(c->qp[i], &send), "posting to %d", i);
		}
	}
	TRY(crowd_events(c, want));
	for (i = from; i < to; i++) {
		TRY(reap(c->cq[i], wc, 2, IBV_WC_SUCCESS));
		for (k = 0; k < 2; k++)
			NEED(wc[k].wr_id == (uint64_t)(2 * i + k) &&
			     wc[k].qp_num == c->qp[i]->qp_num, "CQ %d has another's", i);
	}
	for (k = 0; k < 2 * (to - from); k++) {
		TRY(reap(c->cq[N_CQ], wc, 1, IBV_WC_SUCCESS));
		i = (int)wc[0].wr_id;
		NEED(i >= from && i < to && wc[0].qp_num == c->qp[i]->qp_num,
		     "a completion of QP %#x, %d", wc[0].qp_num, i);
		NEED(++sent[i] <= 2, "a third completion of QP %d", i);
	}
	for (i = 0; i <= N_CQ; i++)
		NEED(!ibv_poll_cq(c->cq[i], 1, wc), "a completion too many in CQ %d", i);
	NEED(!memcmp(buf + 16 * from, buf + BUF_SIZE + 16 * from, 16 * (to - from)),
	     "other contents");
	return same(1, 0, 16 * from, 4 + from);
}

static bool crowd(struct crowd *c)
{
	bool want[N_CQ + 1];
	int step, i;

	TRY(crowd_make(c));
	/* All are armed, every second, third, and so on to one alone */
	for (step = 1; step < 2 * N_CQ; step += 1 + step / 2) {
		for (i = 0; i <= N_CQ; i++) {
			want[i] = i % step == 0;
			NEED(!want[i] || !ibv_req_notify_cq(c->cq[i], 0), "arming");
		}
		TRY(crowd_round(c, 0, N_CQ, want));
	}
	/* Armed, and nothing comes; then for some; the others are armed still */
	memset(want, 0, sizeof(want));
	for (i = 0; i <= N_CQ; i++)
		NEED(!ibv_req_notify_cq(c->cq[i], 0), "arming");
	TRY(crowd_events(c, want));
	for (i = 0; i <= N_CQ; i++)
		want[i] = i < 5 || i == N_CQ;
	TRY(crowd_round(c, 0, 5, want));
	for (i = 0; i <= N_CQ; i++)
		want[i] = i >= 5 && i < N_CQ;
	return crowd_round(c, 5, N_CQ, want);
}

bool test_channel(void)
{
	struct crowd c = {};
	bool ok = crowd(&c);

	crowd_free(&c);
	return ok;
}

/* How often a CPU was to poll for the network, as it does to call a handler. */
static long polls(int cpu)
{
	FILE *f = fopen("/proc/softirqs", "r");
	char line[4096], *p;
	long n = -1;

	while (f && fgets(line, sizeof(line), f)) {
		p = strstr(line, "NET_RX:");
		if (!p)
			continue;
		for (p += 7; cpu >= 0; cpu--)
			n = strtol(p, &p, 10);
	}
	if (f)
		fclose(f);
	return n;
}

/* By isolcpus=domain, as CMDLINE of scripts/guest may have it */
static bool isolated(int cpu)
{
	FILE *f = fopen("/sys/devices/system/cpu/isolated", "r");
	int from, to;
	bool is = false;

	while (f && fscanf(f, "%d", &from) == 1) {
		to = from;
		if (fscanf(f, "-%d", &to) < 0)
			to = from;
		is |= from <= cpu && cpu <= to;
		fgetc(f);
	}
	if (f)
		fclose(f);
	return is;
}

#define VECTOR_EVENTS	100

static bool vector(struct pair *p, int cpu, int cpus)
{
	struct ibv_wc wc[4];
	long was[cpus], n;
	int i;

	for (i = 0; i < cpus; i++)
		was[i] = polls(i);
	for (i = 0; i < VECTOR_EVENTS; i++) {
		NEED(!ibv_req_notify_cq(p->cq[1], 0), "ibv_req_notify_cq");
		TRY(round_trip(p, 0));
		TRY(event_of(p, 1));
		TRY(reap(p->cq[1], wc, 1, IBV_WC_SUCCESS));
		TRY(reap(p->cq[0], wc, 1, IBV_WC_SUCCESS));
	}
	/* The first is ours, where packets are received */
	for (i = 1; i < cpus; i++) {
		n = polls(i) - was[i];
		NEED(i == cpu ? n > VECTOR_EVENTS / 2 : n < VECTOR_EVENTS / 2,
		     "vector of CPU %d: %ld polls on CPU %d", cpu, n, i);
	}
	return true;
}

/*
 * Vector 0 is where the completion arises, V is CPU V, and the last CPU 0, if that is not
 * isolated; with PREEMPT_RT all is 0
 */
bool test_vectors(void)
{
	int cpus = sysconf(_SC_NPROCESSORS_ONLN), v;
	int last = access("/sys/kernel/realtime", F_OK) ? cpus : 0;
	cpu_set_t all, first;
	bool ok = true;
	struct pair p;

	NEED(last ? ctx->num_comp_vectors > last : ctx->num_comp_vectors == 1,
	     "%d vectors for %d CPUs", ctx->num_comp_vectors, cpus);
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	NEED(!sched_getaffinity(0, sizeof(all), &all) &&
	     !sched_setaffinity(0, sizeof(first), &first), "affinity");
	for (v = 0; ok && v <= last; v++) {
		comp_vector = v;
		ok = pair_make(&p, 64) &&
		     vector(&p, isolated(v % cpus) ? 0 : v % cpus, cpus);
		pair_free(&p);
	}
	comp_vector = 0;
	sched_setaffinity(0, sizeof(all), &all);
	NEED(!ibv_create_cq(ctx, 1, NULL, NULL, ctx->num_comp_vectors) &&
	     errno == EINVAL, "one vector too many");
	return ok;
}

static int arm_by_ring(struct ibv_cq *cq, int solicited_only)
{
	return ibv_req_notify_cq(cq, solicited_only);
}

static bool solicited(struct pair *p, int (*arm)(struct ibv_cq *, int))
{
	struct ibv_wc wc[4];

	NEED(!arm(p->cq[1], 1), "arming");
	TRY(round_trip(p, 0));
	TRY(quiet(p));
	TRY(round_trip(p, IBV_SEND_SOLICITED));
	TRY(event_of(p, 1));
	TRY(reap(p->cq[0], wc, 2, IBV_WC_SUCCESS));
	TRY(reap(p->cq[1], wc, 2, IBV_WC_SUCCESS));
	/* Of what is there already too */
	TRY(round_trip(p, IBV_SEND_SOLICITED));
	TRY(reap(p->cq[0], wc, 1, IBV_WC_SUCCESS));
	TRY(quiet(p));
	NEED(!arm(p->cq[1], 1), "arming");
	TRY(event_of(p, 1));
	TRY(reap(p->cq[1], wc, 1, IBV_WC_SUCCESS));
	TRY(round_trip(p, 0));
	TRY(reap(p->cq[0], wc, 1, IBV_WC_SUCCESS));
	NEED(!arm(p->cq[1], 1), "arming");
	TRY(quiet(p));
	TRY(reap(p->cq[1], wc, 1, IBV_WC_SUCCESS));
	/* Asked for any, a request for a solicited one does not weaken it */
	NEED(!arm(p->cq[1], 0) && !arm(p->cq[1], 1), "arming");
	TRY(round_trip(p, 0));
	TRY(event_of(p, 1));
	TRY(reap(p->cq[0], wc, 1, IBV_WC_SUCCESS));
	TRY(reap(p->cq[1], wc, 1, IBV_WC_SUCCESS));
	/* An error is as good as solicited */
	NEED(!arm(p->cq[1], 1), "arming");
	NEED(!post_recv(p, 1, 1, 0, 8), "ibv_post_recv");
	TRY(qp_to(p->qp[1], IBV_QPS_ERR));
	TRY(event_of(p, 1));
	return true;
}

bool test_solicited(void)
{
	struct pair p;
	bool ok = pair_make(&p, 64) && solicited(&p, arm_by_ring);

	pair_free(&p);
	if (!ok)
		return false;
	ok = pair_make(&p, 64) && solicited(&p, arm_by_call);
	pair_free(&p);
	return ok;
}

/* The CQ's event comes, and that of the QP that can no longer tell of its work. */
static bool overflow_events(struct pair *p)
{
	bool cq = false, qp = false;
	struct ibv_async_event event;

	while (!cq || !qp) {
		NEED(readable(ctx->async_fd, WAIT_S * 1000), "%s event",
		     cq ? "no QP" : qp ? "no CQ" : "no asynchronous");
		NEED(!ibv_get_async_event(ctx, &event), "ibv_get_async_event");
		ibv_ack_async_event(&event);
		if (event.event_type == IBV_EVENT_CQ_ERR) {
			NEED(event.element.cq == p->cq[1] && !cq, "the event of another CQ");
			cq = true;
		} else if (event.event_type == IBV_EVENT_QP_FATAL) {
			NEED(event.element.qp == p->qp[1] && !qp, "the event of another QP");
			qp = true;
		}
	}
	return true;
}

static bool overflow(struct pair *p)
{
	int i, n = p->cq[1]->cqe + 1;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr = {};
	struct ibv_wc wc[DEPTH];

	for (i = 0; i < n; i++) {
		NEED(!post_recv(p, 1, i, 0, 8), "ibv_post_recv %d", i);
		NEED(!post_simple(p, 0, IBV_WR_SEND, i, 0, 8,
				  IBV_SEND_SIGNALED), "ibv_post_send %d", i);
		/* What nobody can be told of has not been delivered */
		TRY(reap(p->cq[0], wc, 1, i < n - 1 ? IBV_WC_SUCCESS : IBV_WC_REM_OP_ERR));
	}
	TRY(overflow_events(p));
	NEED(!ibv_query_qp(p->qp[1], &attr, IBV_QP_STATE, &init) &&
	     attr.qp_state == IBV_QPS_ERR, "in state %u", attr.qp_state);
	/* What it holds is as good as ever */
	for (i = 0; i < n - 1; i++) {
		TRY(reap(p->cq[1], wc, 1, IBV_WC_SUCCESS));
		NEED(wc[0].wr_id == (uint64_t)i, "element %d", i);
	}
	return true;
}

bool test_overflow(void)
{
	struct pair p;
	bool ok = pair_make(&p, 4) && overflow(&p);

	pair_free(&p);
	return ok;
}

/* Of QPs: addresses may still come. What QPs that are gone left goes with them. */
static bool async_next(struct ibv_async_event *event, int ms)
{
	do {
		if (!readable(ctx->async_fd, ms) || ibv_get_async_event(ctx, event))
			return false;
		ibv_ack_async_event(event);
	} while (event->event_type == IBV_EVENT_GID_CHANGE);
	return true;
}

static bool async_of(struct ibv_qp *qp, enum ibv_event_type type)
{
	struct ibv_async_event event;

	NEED(async_next(&event, WAIT_S * 1000), "no event: %s", ibv_event_type_str(type));
	NEED(event.event_type == type, "%s, not %s", ibv_event_type_str(event.event_type),
	     ibv_event_type_str(type));
	NEED(event.element.qp == qp, "%s of another QP", ibv_event_type_str(type));
	return true;
}

static bool async_quiet(void)
{
	struct ibv_async_event event;

	NEED(!async_next(&event, 50), "an event too many: %s",
	     ibv_event_type_str(event.event_type));
	return true;
}

/* Of three that may not be the first ends the connection: one event, the responder's */
static bool refused(struct pair *p, enum ibv_wr_opcode op, uint32_t rkey,
		    enum ibv_wc_status status, enum ibv_event_type type)
{
	struct ibv_sge sge = sge_of(0, 0, 8);
	struct ibv_send_wr wr[3];
	struct ibv_wc wc[3];
	int i;

	for (i = 0; i < 3; i++)
		wr[i] = (struct ibv_send_wr) {
			.wr_id = i,
			.next = i < 2 ? &wr[i + 1] : NULL,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = op,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { sge_of(1, 0, 8).addr, rkey },
		};
	NEED(!post_wr(p->qp[0], wr), "ibv_post_send");
	TRY(reap(p->cq[0], wc, 1, status));
	TRY(reap(p->cq[0], wc, 2, IBV_WC_WR_FLUSH_ERR));
	TRY(async_of(p->qp[1], type));
	return async_quiet();
}

static bool qp_events(struct pair *p)
{
	TRY(async_quiet());
	TRY(refused(p, IBV_WR_RDMA_WRITE, mr->rkey ^ 0x100, IBV_WC_REM_ACCESS_ERR,
		    IBV_EVENT_QP_ACCESS_ERR));
	/* One READ is more than none */
	TRY(pair_reads(p, 4, 0));
	TRY(refused(p, IBV_WR_RDMA_READ, mr->rkey, IBV_WC_REM_INV_REQ_ERR,
		    IBV_EVENT_QP_REQ_ERR));
	/* RESET forgets that it was said */
	TRY(pair_again(p));
	return refused(p, IBV_WR_RDMA_WRITE, mr->rkey ^ 0x100, IBV_WC_REM_ACCESS_ERR,
		       IBV_EVENT_QP_ACCESS_ERR);
}

bool test_qp_events(void)
{
	struct pair p;
	bool ok = pair_make(&p, 64) && qp_events(&p);

	pair_free(&p);
	return ok;
}

/* A QP in RTR hears two messages, and a third in RTS: one event, for the first */
static bool established(struct pair *p)
{
	struct ibv_wc wc;
	int i;

	p->psn += 0x1000;
	TRY(qp_to(p->qp[0], IBV_QPS_RESET) && qp_to(p->qp[1], IBV_QPS_RESET));
	TRY(qp_connect(p->qp[0], p->qp[1]->qp_num, p->psn));
	TRY(qp_hear(p->qp[1], p->qp[0]->qp_num, p->psn));
	TRY(async_quiet());
	for (i = 0; i < 3; i++) {
		if (i == 2)
			TRY(qp_speak(p->qp[1], p->psn));
		fill(0, 0, 8, i);
		TRY(round_trip(p, 0));
		TRY(reap(p->cq[1], &wc, 1, IBV_WC_SUCCESS));
		TRY(reap(p->cq[0], &wc, 1, IBV_WC_SUCCESS));
		TRY(same(1, 0, 8, i));
		TRY(i ? async_quiet() : async_of(p->qp[1], IBV_EVENT_COMM_EST));
	}
	return true;
}

bool test_established(void)
{
	struct pair p;
	bool ok = pair_make(&p, 64) && established(&p) && established(&p);

	pair_free(&p);
	return ok;
}
