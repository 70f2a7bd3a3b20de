// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * QPs with a rate limit: how long a message takes, to the packet, and that waiting
 * for one's own turn is never taken for a loss. Single-threaded.
 */
#include "sim.h"

static struct {
	struct sim_ep *from;
	u64 bytes;
	u32 packets;
	u32 drop;		/* this one, counted from 1 */
} seen;

static bool look(struct sim_ep *from, const u8 *buf, u32 len, const struct xroce_pkt *p)
{
	(void)buf;
	if (from != seen.from || !(p->info & XROCE_OP_REQUEST))
		return false;
	seen.bytes += len;
	return ++seen.packets == seen.drop;
}

static void set_rate(struct sim_ep *ep, u32 kbps)
{
	struct xroce_attr attr = { .rate = kbps };

	sim_ep_modify(ep, &attr, XROCE_ATTR_RATE);
}

/* ns that what was seen takes at a rate */
static u64 nominal(u32 kbps)
{
	return seen.bytes * 8000000 / kbps;
}

static struct sim_ep *begin(const struct sim_cfg *cfg, u32 kbps)
{
	struct sim_conn *c = sim_pair(cfg);

	memset(&seen, 0, sizeof(seen));
	seen.from = &c->ep[0];
	W->drop = look;
	set_rate(seen.from, kbps);
	return seen.from;
}

/* It takes as long as it should: neither more, nor less but for the slack. */
static void run_pace(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	u32 rate = sim_range(1000, 20000), i;
	struct sim_ep *ep;
	u64 start, took;

	(void)seed;
	ep = begin(&cfg, rate);
	start = sim_now();
	for (i = 0; i < 16; i++)
		sim_post_one(ep, XROCE_WR_RDMA_WRITE, ep->peer->msg_max - sim_below(100));
	sim_settle_all(100 * SIM_SEC);
	took = sim_now() - start;
	/* The last packet waits for nobody, and the slack comes first. */
	sim_check(took + SIM_MS + 8000000ull * 4400 / rate >= nominal(rate),
		  "%llu bytes at %u kbit/s took %llu us",
		  (unsigned long long)seen.bytes, rate,
		  (unsigned long long)(took / SIM_US));
	sim_check(took <= nominal(rate) + nominal(rate) / 50 + SIM_MS,
		  "%llu bytes at %u kbit/s took %llu us",
		  (unsigned long long)seen.bytes, rate,
		  (unsigned long long)(took / SIM_US));
	/* Without a limit again, at once. */
	set_rate(ep, 1);
	for (i = 0; i < 4; i++)
		sim_post_one(ep, XROCE_WR_RDMA_WRITE, 4000);
	sim_run_until(sim_now() + SIM_MS);
	sim_check(ep->ops.n >= 3, "%u left of 4 at 1 kbit/s", ep->ops.n);
	set_rate(ep, 0);
	sim_settle_all(SIM_MS);
	sim_finish();
}

/* A packet takes longer than an ACK timeout, which must not come; one is lost. */
static void run_pace_slow(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_ep *ep;

	(void)seed;
	cfg.timeout = 8;	/* 1 ms */
	cfg.retry_cnt = 0;
	ep = begin(&cfg, 100);	/* 1 KiB: 80 ms */
	seen.drop = sim_range(1, 5);
	sim_post_one(ep, XROCE_WR_RDMA_WRITE, 5 * ep->mtu);
	sim_settle_all(100 * SIM_SEC);
	sim_check(!ep->first_err, "status %u", ep->first_err);
	sim_check(seen.packets == 6 || seen.packets == 7, "%u packets", seen.packets);
	sim_check(!sim_count(XROCE_CNT_TIMEOUT), "a timeout");
	sim_finish();
}

/*
 * Slower than timeouts, and the peer is gone: that is noticed. What sends nothing is
 * done before, whatever becomes of what waits for its turn.
 */
static void run_pace_dead(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_region *r;
	struct sim_ep *ep;

	(void)seed;
	cfg.timeout = 12;
	cfg.retry_cnt = sim_below(3);
	ep = begin(&cfg, 100);
	ep->expect_err = true;
	W->checks_off = true;
	W->drop = sim_drop_all;
	r = sim_post_inv(ep, XROCE_WR_SIGNALED);
	sim_post_one(ep, XROCE_WR_RDMA_WRITE, 1000);
	sim_check(ep->scq->cq.ring->prod == 1 && r->mr.state == XROCE_KEY_INVALID,
		  "a key made invalid waits for its turn");
	sim_run_until(sim_now() + 10 * SIM_SEC);
	sim_check(ep->qp.hot.state == XROCE_QPS_ERR, "%llu timeouts, state %u",
		  (unsigned long long)sim_count(XROCE_CNT_TIMEOUT), ep->qp.hot.state);
	is(TIMEOUT, cfg.retry_cnt + 1);
	sim_check(ep->scq->cq.ring->prod == 2, "%u completions", ep->scq->cq.ring->prod);
	sim_world_free();
}

const struct sim_scenario sim_pace_scenarios[] = {
	{ "pace", "a rate limit is kept, and lifted", run_pace, 0, 20 },
	{ "pace-slow", "slower than timeouts, and a loss", run_pace_slow, 0, 20 },
	{ "pace-dead", "slower than timeouts, and a peer that is gone", run_pace_dead, 0, 10 },
	{ NULL, NULL, NULL, 0, 0, 0 }
};
