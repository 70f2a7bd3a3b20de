// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How long a requester waits for an answer before it asks: by how long answers take, on
 * ways that are long, become so or cease to be. Single-threaded.
 */
#include "lost.h"

static struct sim_ep *begin(const struct sim_cfg *cfg)
{
	return &sim_pair(cfg)->ep[0];
}

static u8 any_read(void)
{
	return sim_range(XROCE_WR_RDMA_READ, XROCE_WR_ATOMIC_FETCH_AND_ADD);
}

static void asked_at_most(u32 most)
{
	sim_check(sim_count(XROCE_CNT_ASKED) <= most, "asked %llu times, not %u",
		  (unsigned long long)sim_count(XROCE_CNT_ASKED), most);
}

/* What it has measured is there and back at least. */
static void knows_how_far(const struct sim_ep *ep)
{
	sim_check(ep->qp.req.rtt >= 2 * W->cfg.delay, "an answer takes %llu us?",
		  (unsigned long long)ep->qp.req.rtt / SIM_US);
}

/* One begins when the one before has been answered. */
static void one_by_one(struct sim_ep *ep, u32 n, u8 wr, u32 len, u64 within)
{
	u32 i;

	for (i = 0; i < n; i++) {
		sim_post_one(ep, wr, len);
		sim_settle_all(within);
	}
}

/* An ACK is lost, and asked for soon enough. */
static void lose_ack(struct sim_ep *ep, u64 within)
{
	sim_drop(ep->peer, XROCE_OP_ACK, 0, 1);
	one_by_one(ep, 1, XROCE_WR_RDMA_WRITE, 100, within);
	sim_check(sim_rule.dropped, "nothing was dropped");
}

/* Where an answer takes longer than the first was waited for, later ones are asked for later. */
static void run_farther(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	bool read = sim_chance(5000);
	struct sim_ep *ep;

	(void)seed;
	cfg.timeout = 16;			/* 268 ms */
	cfg.delay = 5 * SIM_MS;
	ep = begin(&cfg);
	one_by_one(ep, 20, read ? XROCE_WR_RDMA_READ : XROCE_WR_RDMA_WRITE, 2 << cfg.mtu_shift,
		   20 * SIM_MS);
	/* Of a READ there is one packet alone. */
	is(ASKED, 2 - read);
	/* And soon again, once an answer was. */
	W->cfg.delay = 10 * SIM_US;
	one_by_one(ep, 1, XROCE_WR_RDMA_WRITE, 100, SIM_MS);
	lose_ack(ep, 5 * SIM_MS);
	is(ASKED, 3 - read);
	is(TIMEOUT, 0);
	sim_finish();
}

/* A first answer that took two seconds, and no ACK timeout: the next is asked for in less. */
static void run_forgets(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_ep *ep;

	(void)seed;
	cfg.delay = SIM_SEC;
	ep = begin(&cfg);
	ep->qp.req.timeout = 0;
	one_by_one(ep, 1, XROCE_WR_RDMA_WRITE, 100, 3 * SIM_SEC);
	W->cfg.delay = 10 * SIM_US;
	lose_ack(ep, 300 * SIM_MS);
	/* And once one came soon, in much less. */
	one_by_one(ep, 1, XROCE_WR_RDMA_WRITE, 100, SIM_MS);
	lose_ack(ep, 5 * SIM_MS);
	sim_finish();
}

/*
 * A way that was short and is long: what has come twice was asked for too early. And one
 * where an answer takes more than a quarter of the ACK timeout.
 */
static void run_slower(u64 seed)
{
	u8 wr = sim_chance(5000) ? XROCE_WR_RDMA_WRITE : any_read(), how = sim_below(3);
	struct sim_cfg cfg = sim_plain();
	struct sim_ep *ep;

	(void)seed;
	cfg.timeout = how == 0 ? 18 : how == 1 ? 8 : 12;	/* 1.07 s, 1 ms, 17 ms */
	cfg.delay = how == 0 ? 10 * SIM_US : how == 1 ? 200 * SIM_US : 3 * SIM_MS;
	ep = begin(&cfg);
	one_by_one(ep, 1, wr, 8, SIM_SEC);
	if (!how)
		W->cfg.delay = 5 * SIM_MS;
	one_by_one(ep, 99, wr, 8, SIM_SEC);
	asked_at_most(how ? 1 : 8);
	is(TIMEOUT, 0);
	sim_finish();
}

/* With several out an answer to one is none to the next. */
static void run_piped(u64 seed)
{
	u8 wr = sim_chance(5000) ? XROCE_WR_RDMA_WRITE : any_read();
	struct sim_cfg cfg = sim_plain();
	struct sim_ep *ep;
	u32 i;

	(void)seed;
	cfg.timeout = 18;
	cfg.delay = sim_range(3, 10) * SIM_MS;
	cfg.max_rd = 16;
	ep = begin(&cfg);
	for (i = 0; i < 200; ) {
		for (; ep->ops.n < 8; i++)
			sim_post_one(ep, wr, 8);
		sim_run_until(sim_now() + 100 * SIM_US);
		sim_poll_all();
	}
	sim_settle_all(SIM_SEC);
	knows_how_far(ep);
	asked_at_most(2);
	sim_finish();
}

/* An answer to what goes again may be that to its first copy. */
static void run_resent(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	u8 wr = any_read();
	struct sim_ep *ep;
	u32 i;

	(void)seed;
	cfg.timeout = 18;
	cfg.delay = sim_range(20, 50) * SIM_MS;
	cfg.max_rd = 16;
	ep = begin(&cfg);
	/* it has guessed more at first */
	one_by_one(ep, 100, wr, 8, SIM_SEC);
	sim_drop(ep->peer, XROCE_OP_READ_RESP | XROCE_OP_ATOMIC_ACK, 1, 1);
	for (i = 0; i < 8; i++) {
		sim_post_one(ep, wr, 8);
		sim_run_until(sim_now() + SIM_MS);
	}
	sim_settle_all(SIM_SEC);
	sim_check(sim_rule.dropped, "nothing was dropped");
	knows_how_far(ep);
	one_by_one(ep, 20, wr, 8, SIM_SEC);
	asked_at_most(2);
	is(TIMEOUT, 0);
	sim_finish();
}

/* What is out when its queue pair may have none any more is asked for, and comes. */
static void run_limit(u64 seed)
{
	struct xroce_attr attr = { .state = XROCE_QPS_SQD };
	struct sim_cfg cfg = sim_plain();
	struct sim_ep *ep;

	(void)seed;
	cfg.timeout = 18;
	cfg.delay = 10 * SIM_MS;
	ep = begin(&cfg);
	sim_post_one(ep, any_read(), 8);
	sim_run_until(sim_now() + SIM_MS);
	sim_ep_modify(ep, &attr, XROCE_ATTR_STATE);
	attr.max_rd_atomic = 0;
	sim_ep_modify(ep, &attr, XROCE_ATTR_STATE | XROCE_ATTR_MAX_RD_ATOMIC);
	sim_settle_all(100 * SIM_MS);
	sim_check(!ep->first_err, "status %u", ep->first_err);
	is(ASKED, 1);
	sim_finish();
}

/* Where some answers take much longer than others few are asked for too early. */
static void run_jitter(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_ep *ep;
	u32 i;

	(void)seed;
	cfg.timeout = 18;
	cfg.delay = sim_range(1, 5) * SIM_MS;
	cfg.jitter = sim_range(2, 6) * cfg.delay;
	ep = begin(&cfg);
	for (i = 0; i < 1000; i++)
		one_by_one(ep, 1, any_read(), 8, SIM_SEC);
	asked_at_most(60);
	is(TIMEOUT, 0);
	sim_finish();
}

const struct sim_scenario sim_late_scenarios[] = {
	{ "asks-farther", "one farther away than 4 ms: later", run_farther, 0, 10 },
	{ "asks-forgets", "but not for ever", run_forgets, 0, 10 },
	{ "asks-slower", "later, too, where an answer came twice", run_slower, 0, 40 },
	{ "asks-piped", "by an answer to what was timed", run_piped, 0, 10 },
	{ "asks-resent", "not sooner by the answer to what went twice", run_resent, 0, 20 },
	{ "asks-jitter", "nor for the fastest, where most are not", run_jitter, 0, 10 },
	{ "asks-limit", "for a READ that may not be any more", run_limit, 0, 10 },
	{ NULL, NULL, NULL, 0, 0, 0 }
};
