// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion and asynchronous events, and the errors of what is not offered. One
 * thread.
 */
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>
#include <rdma/ib_user_verbs.h>

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
	/* What is there when it is asked for raises no event */
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
	return quiet(p);
}

bool test_events(void)
{
	struct pair p;
	bool ok = pair_make(&p, 64) && events(&p);

	pair_free(&p);
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

/* Vector 0 is where the completion arises, V is CPU V - 1 */
bool test_vectors(void)
{
	int cpus = sysconf(_SC_NPROCESSORS_ONLN), v;
	cpu_set_t all, first;
	bool ok = true;
	struct pair p;

	NEED(ctx->num_comp_vectors > cpus, "%d vectors for %d CPUs",
	     ctx->num_comp_vectors, cpus);
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	NEED(!sched_getaffinity(0, sizeof(all), &all) &&
	     !sched_setaffinity(0, sizeof(first), &first), "affinity");
	for (v = 0; ok && v <= cpus; v++) {
		comp_vector = v;
		ok = pair_make(&p, 64) && vector(&p, v ? v - 1 : 0, cpus);
		pair_free(&p);
	}
	comp_vector = 0;
	sched_setaffinity(0, sizeof(all), &all);
	NEED(!ibv_create_cq(ctx, 1, NULL, NULL, ctx->num_comp_vectors) &&
	     errno == EINVAL, "one vector too many");
	return ok;
}

/* As a kernel consumer does; the provider's way is in the ring. */
static int arm_by_call(struct ibv_cq *cq, int solicited_only)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_req_notify_cq arm;
	} cmd = {
		.hdr.command = IB_USER_VERBS_CMD_REQ_NOTIFY_CQ,
		.hdr.in_words = sizeof(cmd) / 4,
		.arm.cq_handle = cq->handle,
		.arm.solicited_only = solicited_only,
	};

	return write(ctx->cmd_fd, &cmd, sizeof(cmd)) != sizeof(cmd);
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
