// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Random users on random connections over a bad network, until so many
 * operations are done; connections that fail for a good reason are made anew.
 */
#include "sim.h"

u64 sim_total_ops;

static void reopen_event(void *arg)
{
	struct sim_conn *c = arg;

	W->reconnects++;
	c->closing = false;
	c->doomed = false;
	sim_connect(c, c->drained);
}

static bool ep_busy(const struct sim_ep *ep)
{
	return ep->in_xmit || ep->defer_pending;
}

static void close_event2(void *arg)
{
	struct sim_conn *c = arg;

	/* Who is sending has yet to flush what was posted meanwhile. */
	if (c->flush && (ep_busy(&c->ep[0]) || ep_busy(&c->ep[1]))) {
		sim_at(sim_now() + SIM_US, SIM_EV_FN, close_event2, c, 0);
		return;
	}
	sim_close_end(c);
	c->drained = sim_chance(5000);
	sim_at(sim_now() + (c->drained ? 5 * (W->cfg.delay + W->cfg.jitter) +
			    SIM_MS : sim_below(20000)),
	       SIM_EV_FN, reopen_event, c, 0);
}

static void close_event(void *arg)
{
	struct sim_conn *c = arg;

	sim_close_begin(c, sim_chance(7000));
	sim_at(sim_now() + sim_below(10000), SIM_EV_FN, close_event2, c, 0);
}

static void close_soon(struct sim_conn *c, u64 within)
{
	if (c->doomed)
		return;
	c->doomed = true;
	sim_at(sim_now() + sim_rnd() % within, SIM_EV_FN, close_event, c, 0);
}

/* ERR may last a while; who posts then gets it back. */
static void post_in_error(struct sim_ep *ep)
{
	u32 n = sim_below(4);

	while (n--) {
		sim_post_random(ep);
		if (!ep->srq)	/* whose others may be punished for it */
			sim_post_recv(ep, 10, 1);
	}
	sim_sq_push(ep, false);
}

/* Work requests that RESET makes disappear. */
static void drop_all(struct sim_ep *ep)
{
	struct sim_msg *m = ep->msgs.first;
	struct sim_recv *rv;
	struct sim_op *op;
	u32 i;

	if (ep->transport != XROCE_RC) {
		unrel_drop(ep);
		return;
	}
	while ((op = sim_list_pop(&ep->ops))) {
		if (op->msg)
			op->msg->op = NULL;
		op->msg = NULL;
		sim_list_add(&ep->dead, op);
	}
	for (; (rv = sim_list_pop(&ep->recvs)); sim_recv_free(rv), m = NULL) {
		for (i = 0; i < rv->nsge; i++) {
			sim_settle(rv->sge[i].r, rv->sge[i].off,
				   m ? rv->sge[i].len : 0, NULL, "");
			sim_give(&rv->sge[i]);
		}
	}
}

/**
 * sim_close_begin() - begin to end a connection from both sides
 * @flush: by ERR, else straight to RESET
 */
void sim_close_begin(struct sim_conn *c, bool flush)
{
	u32 i, first = sim_below(2);

	sim_trace("%u-%u: closing", c->ep[0].idx, c->ep[1].idx);
	c->closing = true;
	c->flush = flush;
	for (i = 0; i < 2 && flush; i++) {
		struct sim_ep *ep = &c->ep[i ^ first];

		ep->expect_err = true;
		if (ep->qp.hot.state != XROCE_QPS_ERR || sim_chance(2000))
			sim_ep_state(ep, XROCE_QPS_ERR);
		post_in_error(ep);
	}
}

/**
 * sim_close_end() - see that all is over, and go to RESET
 */
void sim_close_end(struct sim_conn *c)
{
	u32 i, first = sim_below(2);

	for (i = 0; i < 2; i++) {
		struct sim_ep *ep = &c->ep[i ^ first];

		sim_poll(ep->scq);
		sim_poll(ep->rcq);
		if (!c->flush)
			sim_ep_reset(ep);
	}
	if (!c->flush) {
		drop_all(&c->ep[0]);
		drop_all(&c->ep[1]);
	}
	sim_finish_failed(c, c->flush);
	for (i = 0; i < 2 && c->flush; i++)
		sim_ep_reset(&c->ep[i]);
}

static void look_after(struct sim_ep *ep)
{
	if (ep->state == SIM_EP_FAILED || ep->flushing)
		close_soon(ep->conn, 2 * SIM_MS);
	else if (sim_chance(W->cfg.upset) && W->ops_posted < W->ops_wanted)
		close_soon(ep->conn, 100 * SIM_US);
}

static bool ep_open(const struct sim_ep *ep)
{
	return (ep->state == SIM_EP_UP || ep->state == SIM_EP_SQE) &&
	       !ep->conn->closing;
}

/* Into SQD now and then, and out of it when that has lasted. */
static void drain_or_go(struct sim_ep *ep)
{
	struct xroce_attr attr = { .state = XROCE_QPS_SQD };
	u32 mask = XROCE_ATTR_STATE;

	if (!ep->sqd) {
		if (ep->state != SIM_EP_UP || !sim_chance(W->cfg.sqd) ||
		    ep->qp.hot.state != XROCE_QPS_RTS)
			return;
		ep->sqd = true;
		ep->drained = false;
		ep->sqd_event = attr.sqd_notify = sim_chance(6000);
		if (attr.sqd_notify || sim_chance(5000))
			mask |= XROCE_ATTR_SQD_NOTIFY;
		sim_keys_look(ep);
		sim_trace("%u: drain%s", ep->idx, ep->sqd_event ?
			  ", with event" : "");
		sim_ep_modify(ep, &attr, mask);
		return;
	}
	if (ep->qp.hot.state != XROCE_QPS_SQD) {
		/* It failed meanwhile. */
		ep->sqd = ep->sqd_event = ep->drained = false;
		return;
	}
	if (ep->transport != XROCE_UD && sim_chance(1000)) {
		attr.av = ep->av;
		sim_ep_modify(ep, &attr, XROCE_ATTR_AV);
	}
	if (!sim_chance(ep->sqd_event ? 50 : 1000))
		return;
	ep->sqd = ep->sqd_event = ep->drained = false;
	attr.state = XROCE_QPS_RTS;
	sim_ep_modify(ep, &attr, XROCE_ATTR_STATE);
}

/* A user's main loop: one turn. */
static void user(void *arg)
{
	struct sim_ep *ep = arg;
	u32 n;

	if (sim_chance(5000))
		sim_poll(ep->scq);
	if (sim_chance(5000))
		sim_poll(ep->rcq);
	look_after(ep);
	if (ep_open(ep) && !sim_chance(W->cfg.rnr_late))
		sim_post_recvs(ep);
	if (ep_open(ep) && W->ops_posted < W->ops_wanted &&
	    sim_chance(7000)) {
		for (n = sim_range(1, 12); n--; )
			sim_post_random(ep);
		sim_sq_push(ep, false);
	}
	if (sim_chance(100))
		sim_doorbell(ep);
	if (ep->state == SIM_EP_SQE && sim_chance(3000))
		unrel_recover(ep);
	if (ep_open(ep))
		drain_or_go(ep);
	if (ep->srq && sim_chance(1000))
		sim_srq_arm(ep->srq, sim_below(ep->srq->depth));
	if (ep->srq && sim_chance(200))
		sim_srq_resize(ep->srq, 1 << sim_range(2, 7));
	if (W->ops_done != W->last_count) {
		W->last_count = W->ops_done;
		W->last_done = sim_now();
	}
	sim_check(sim_now() - W->last_done < 60 * SIM_SEC,
		  "nothing was completed for a minute");
	sim_at(sim_now() + 1 + sim_rnd() % (W->users_pace), SIM_EV_FN, user, ep,
	       0);
}

static void handler(struct sim_cq *cq)
{
	sim_poll(cq);
	if (sim_chance(9000))
		sim_cq_arm(cq, sim_chance(5000) ? XROCE_ARM_NEXT :
						  XROCE_ARM_SOLICITED);
}

/**
 * sim_users_start() - a user for each end, who wants to post @ops in all
 */
void sim_users_start(u64 ops)
{
	struct sim_conn *c;
	struct sim_cq *cq;
	u32 i;

	W->ops_wanted = ops;
	W->users_pace = 30 * SIM_US;
	W->last_done = sim_now();
	for (i = 0; i < W->nnodes; i++) {
		for (cq = W->node[i]->cqs; cq; cq = cq->next) {
			cq->handler = handler;
			sim_cq_arm(cq, XROCE_ARM_NEXT);
		}
	}
	for (c = W->conns; c; c = c->next)
		for (i = 0; i < 2; i++)
			sim_at(sim_now() + sim_below(20000), SIM_EV_FN, user,
			       &c->ep[i], 0);
}

static bool ep_done(const struct sim_ep *ep)
{
	return ep->state == SIM_EP_UP && !ep->conn->doomed && !ep->ops.n;
}

static bool users_done(void)
{
	struct sim_conn *c;

	if (W->ops_posted < W->ops_wanted)
		return false;
	for (c = W->conns; c; c = c->next)
		if (!ep_done(&c->ep[0]) || !ep_done(&c->ep[1]))
			return false;
	return true;
}

/* What is left unsignalled at the end is found by one that is signalled. */
static void post_last(void)
{
	struct sim_opt opt = { .wr = XROCE_WR_RDMA_WRITE, .len = 1, .nsge = 1,
			       .signaled = true };
	struct sim_conn *c;
	u32 i;

	for (c = W->conns; c; c = c->next) {
		for (i = 0; i < 2; i++) {
			struct sim_ep *ep = &c->ep[i];

			opt.wr = ep->transport == XROCE_UD ? XROCE_WR_SEND :
							     XROCE_WR_RDMA_WRITE;
			if (ep->state == SIM_EP_UP && ep->ops.n &&
			    ep->ops.n < 2 * ep->sq_depth)
				sim_post(ep, &opt);
		}
	}
}

/**
 * sim_drain() - let the users run until all they posted is completed
 */
void sim_drain(void)
{
	u32 n = 0;

	while (!users_done()) {
		sim_check(sim_step(), "nothing happens any more");
		if (W->ops_posted >= W->ops_wanted && ++n % 2000 == 0)
			post_last();
	}
}

/**
 * sim_verify_quiet() - nothing is under way: all must be as the model says
 */
void sim_verify_quiet(void)
{
	struct sim_region *r;
	struct sim_conn *c;
	u32 i;

	sim_poll_all();
	for (c = W->conns; c; c = c->next) {
		for (i = 0; i < 2; i++) {
			struct sim_ep *ep = &c->ep[i];

			sim_check(!ep->cnp_owed || ep->state != SIM_EP_UP ||
				  ep->defer_pending || ep->timer_at,
				  "QP %u: a notification was due", ep->idx);
			sim_check(!ep->ops.n && !ep->msgs.n, "QP %u: %u work"
				  " requests, %u messages left", ep->idx,
				  ep->ops.n, ep->msgs.n);
			if (ep->transport == XROCE_RC)
				memcpy(ep->rem->shadow, ep->atom,
				       sizeof(ep->atom));
			sim_keys_quiet(ep);
		}
	}
	unrel_quiet();
	sim_check_shared();
	for (r = W->regions; r; r = r->next)
		sim_region_verify(r);
}

/* Who sends datagrams to nobody, or faster than they are received, loses some. */
static bool may_drop(u32 i)
{
	return i == XROCE_CNT_DROP_NO_RECV || i == XROCE_CNT_DROP_TOO_LONG ||
	       i == XROCE_CNT_DROP_QKEY || i == XROCE_CNT_DROP_GROUP ||
	       i == XROCE_CNT_DROP_NO_QP || i == XROCE_CNT_DROP_DEVICE;
}

/* On a perfect network nothing is lost, late or refused. */
static void check_clean(void)
{
	static const enum xroce_counter none[] = {
		XROCE_CNT_TIMEOUT, XROCE_CNT_NAK_SEQ_SENT,
		XROCE_CNT_NAK_SENT, XROCE_CNT_IMPLIED_NAK, XROCE_CNT_RETRY_EXC,
		XROCE_CNT_RNR_EXC, XROCE_CNT_CQ_OVERRUN, XROCE_CNT_BAD_WQE,
	};
	static const char * const names[] = {
#define NAME(sym, name, text) #name,
		XROCE_COUNTERS(NAME)
#undef NAME
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(none); i++)
		sim_check(!sim_count(none[i]), "%s is %llu on a perfect"
			  " network", names[none[i]],
			  (unsigned long long)sim_count(none[i]));
	for (i = XROCE_CNT_DROP_SHORT; i < XROCE_CNT_MAX; i++)
		sim_check(!sim_count(i) || (W->cfg.ud && may_drop(i)) ||
			  (W->cfg.uc && i == XROCE_CNT_DROP_NO_RECV) ||
			  (W->cfg.uc && (i == XROCE_CNT_DROP_TOO_LONG ||
			  i == XROCE_CNT_DROP_REQUEST)), "%s is %llu on a perfect network",
			  names[i], (unsigned long long)sim_count(i));
}

static void close_now(struct sim_conn *c)
{
	sim_close_begin(c, true);
	while (ep_busy(&c->ep[0]) || ep_busy(&c->ep[1]))
		sim_step();
	sim_close_end(c);
}

/* A whole world of random traffic. */
static void traffic(const struct sim_cfg *cfg, u64 seed)
{
	struct sim_conn *c;
	u32 i, a, b;

	sim_world_new(cfg, seed);
	for (i = 0; i < cfg->conns; i++) {
		a = sim_below(W->nnodes);
		b = (a + 1 + sim_below(W->nnodes - 1)) % W->nnodes;
		c = sim_conn_new(W->node[a], W->node[b]);
		sim_connect(c, true);
	}
	sim_users_start(cfg->ops);
	sim_drain();
	/* What is still in the network may change nothing. */
	W->ops_wanted = 0;
	sim_run_until(sim_now() + 50 * SIM_MS);
	sim_verify_quiet();
	if (cfg->plain)
		check_clean();
	for (c = W->conns; c; c = c->next)
		if (sim_chance(5000))
			close_now(c);
	sim_total_ops += W->ops_done;
	sim_trace("world ends: %llu ops, %llu failed, %llu packets, %llu"
		  " reconnects, %llu RETRY_EXC, %llu RNR_EXC",
		  (unsigned long long)W->ops_done,
		  (unsigned long long)W->ops_failed,
		  (unsigned long long)W->pkts,
		  (unsigned long long)W->reconnects,
		  (unsigned long long)W->retry_exc,
		  (unsigned long long)W->rnr_exc);
	sim_world_free();
}

static struct sim_cfg any_cfg(void)
{
	struct sim_cfg c = {
		.nodes = sim_range(2, SIM_MAX_NODES),
		.conns = sim_range(1, 12),
		.ops = sim_range(1000, 6000),
		.smp = sim_chance(5000) ? sim_below(5000) : 0,
		.rings = sim_below(2),
		.delay = sim_range(1, 50) * SIM_US,
		.jitter = sim_below(20) * SIM_US,
		.rnr_late = sim_chance(5000) ? sim_below(9500) : 0,
		.max_len = 1u << sim_range(6, 15),
		.key = sim_chance(5000) ? 0 : sim_below(3000),
		.key_bad = sim_chance(5000) ? 0 : sim_below(100),
	};

	if (sim_chance(1000)) {		/* few and long */
		c.max_len = sim_range(1 << 15, 400000);
		c.conns = sim_range(1, 2);
		c.ops = 300;
	}
	return c;
}

static void run_clean(u64 seed)
{
	struct sim_cfg c = any_cfg();

	c.key_bad = 0;
	c.plain = true;
	traffic(&c, seed);
}

static void run_loss(u64 seed)
{
	struct sim_cfg c = any_cfg();

	c.loss = sim_chance(3000) ? 2000 : sim_below(2000);
	traffic(&c, seed);
}

static void run_order(u64 seed)
{
	struct sim_cfg c = any_cfg();

	c.reorder = sim_below(2000);
	c.dup = sim_below(2000);
	traffic(&c, seed);
}

static void run_corrupt(u64 seed)
{
	struct sim_cfg c = any_cfg();

	c.corrupt = sim_below(2000);
	traffic(&c, seed);
}

static void run_device(u64 seed)
{
	struct sim_cfg c = any_cfg();

	c.partial = sim_below(5000);
	c.full = sim_chance(5000) ? 0 : sim_below(10001);
	c.paced = sim_chance(8000) ? 0 : sim_below(5000);
	c.nomem = sim_chance(5000) ? sim_below(500) : 0;
	c.smp = sim_below(9000);
	traffic(&c, seed);
}

static void run_all(u64 seed)
{
	struct sim_cfg c = any_cfg();

	c.loss = sim_below(sim_chance(5000) ? 2000 : 300);
	c.dup = sim_below(2000);
	c.reorder = sim_below(2000);
	c.corrupt = sim_below(500);
	c.partial = sim_below(3000);
	c.nomem = sim_below(100);
	c.upset = sim_chance(5000) ? sim_below(20) : 0;
	traffic(&c, seed);
}

static void run_upset(u64 seed)
{
	struct sim_cfg c = any_cfg();

	c.loss = sim_below(500);
	c.reorder = sim_below(500);
	c.upset = sim_below(200);
	c.partial = sim_below(3000);
	traffic(&c, seed);
}

/* All services, which share CQs, receive queues and the network. */
static struct sim_cfg any_service(void)
{
	struct sim_cfg c = any_cfg();

	c.uc = sim_below(10001);
	c.ud = sim_below(10001);
	c.srq = sim_chance(5000) ? 0 : sim_below(10001);
	c.xrc = sim_chance(5000) ? 0 : sim_below(10001);
	c.bad = sim_chance(5000) ? 0 : sim_below(300);
	c.sqd = sim_chance(5000) ? 0 : sim_below(300);
	c.mark = sim_chance(5000) ? 0 : sim_below(10001);
	return c;
}

static void run_services(u64 seed)
{
	struct sim_cfg c = any_service();

	c.bad = 0;
	c.key_bad = 0;
	c.plain = true;
	traffic(&c, seed);
}

static void run_services_net(u64 seed)
{
	struct sim_cfg c = any_service();

	c.loss = sim_chance(5000) ? sim_below(1000) : 0;
	c.dup = sim_chance(3000) ? sim_below(1000) : 0;
	c.reorder = sim_chance(3000) ? sim_below(1000) : 0;
	c.corrupt = sim_chance(3000) ? sim_below(500) : 0;
	traffic(&c, seed);
}

static void run_services_device(u64 seed)
{
	struct sim_cfg c = any_service();

	c.loss = sim_chance(3000) ? sim_below(300) : 0;
	c.partial = sim_below(6000);
	c.full = sim_chance(5000) ? 0 : sim_below(10001);
	c.paced = sim_chance(8000) ? 0 : sim_below(5000);
	c.nomem = sim_chance(5000) ? sim_below(500) : 0;
	c.smp = sim_below(9000);
	c.upset = sim_chance(5000) ? sim_below(100) : 0;
	traffic(&c, seed);
}

const struct sim_scenario sim_random_scenarios[] = {
	{ "clean", "random operations, perfect network", run_clean, 250000, 0 },
	{ "loss", "up to 20 % of packets lost", run_loss, 150000, 0 },
	{ "order", "up to 20 % reordered, 20 % duplicated", run_order, 200000, 0 },
	{ "corrupt", "up to 20 % corrupted", run_corrupt, 150000, 0 },
	{ "device", "part of bursts taken, no memory, other CPUs", run_device,
	  150000, 0 },
	{ "upset", "connections broken and made again under way", run_upset,
	  100000 },
	{ "everything", "all of these at once", run_all, 150000, 0 },
	{ "services", "RC, XRC, UC and UD, shared queues, perfect network",
	  run_services, 100000, 0 },
	{ "services-net", "the same, packets lost, twice, late, corrupted",
	  run_services_net, 100000, 0 },
	{ "services-dev", "the same, part of bursts taken, QPs broken",
	  run_services_device, 150000, 0 },
	{ NULL, NULL, NULL, 0, 0 }
};
