// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * QPs with work without end, and a device with room for fewer packets than their
 * windows: a ring that its reader empties by portions, all on one CPU, whose deferred
 * runs and timers come after each. Requesters of WRITEs, or responders of READs, send
 * by it: none keeps it to itself. Single-threaded.
 */
#include "sim.h"

#define MOST		40
#define RATE		125000000u
#define MTU_SHIFT	12
#define PACKET		((1u << MTU_SHIFT) + 74)
/* Runs in a row that the ring took nothing of, before it is tried another way. */
#define STUCK		8

static struct {
	u32 qps;
	u32 ring;		/* packets that it holds */
	u8 wr;
	struct sim_ep *ep[MOST];
	u32 stuck[MOST];
	u32 first[MOST];	/* as their position was */
	u32 room;		/* in it, as the last turn has left it */
	u64 turns;
} crowd;

static u32 crowd_late;

static void keep_busy(void *arg)
{
	struct sim_opt opt = { .wr = crowd.wr, .len = 1 << 16, .nsge = 1,
			       .signaled = true };
	struct sim_ep *ep = arg;

	while (ep->ops.n < 22 && sim_post(ep, &opt))
		;
}

/* Whose requests bring @ep to send by the ring; @qps when it does not. */
static u32 number_of(struct sim_ep *ep)
{
	u32 i = 0;

	if (crowd.wr == XROCE_WR_RDMA_READ)
		ep = ep->peer;
	while (i < crowd.qps && crowd.ep[i] != ep)
		i++;
	return i;
}

static void handler(struct sim_cq *cq)
{
	u32 i;

	sim_poll(cq);
	sim_cq_arm(cq, XROCE_ARM_NEXT);
	for (i = 0; i < crowd.qps; i++)
		if (crowd.ep[i]->scq == cq)
			keep_busy(crowd.ep[i]);
}

/* Packets on their way to the other end, which are those in the ring. */
static u32 queued(void)
{
	u64 until = W->node[crowd.wr != XROCE_WR_RDMA_READ]->in_free;

	return until > sim_now() ? DIV_ROUND_UP((until - sim_now()) * RATE / SIM_SEC, PACKET) : 0;
}

/* As the module sends: by XDP, and what that takes nothing of for long by the stack. */
static u32 take(struct sim_ep *ep, struct xroce_frame **f, u32 n)
{
	u64 turns = sim_now() / W->cfg.turn;
	u32 i = number_of(ep);

	(void)f;
	W->cfg.full = 0;
	if (i == crowd.qps)
		return n;
	if (crowd.turns != turns)
		crowd.room = crowd.ring - min(crowd.ring, queued());
	crowd.turns = turns;
	n = min(n, crowd.room);
	crowd.room -= n;
	if (crowd.stuck[i] >= STUCK)
		W->cfg.full = 10000;
	crowd.stuck[i] = n ? 0 : crowd.stuck[i] + 1;
	return n;
}

static void begin_crowd(struct sim_cfg *cfg, u8 wr, u32 ring)
{
	memset(&crowd, 0, sizeof(crowd));
	crowd.wr = wr;
	crowd.ring = ring;
	cfg->turn = ring / 4 * 1ull * PACKET * SIM_SEC / RATE;	/* a portion */
	cfg->rate = RATE;
	cfg->queue = 64000000;
	cfg->delay = 10 * SIM_US;
	cfg->timeout = 14;
	cfg->mtu_shift = MTU_SHIFT;
	cfg->cwnd_init = 64;
	cfg->cwnd_max = 1024;
	cfg->max_len = 1 << 19;
	cfg->max_rd = 16;
	cfg->unmarked = true;
	cfg->late = crowd_late;
	sim_world_new(cfg, 0);
	W->take = take;
}

/* One more, which is busy from a time on. */
static struct sim_conn *add(u64 after)
{
	struct sim_conn *c = sim_conn_new(W->node[0], W->node[1]);

	sim_connect(c, true);
	crowd.ep[crowd.qps++] = &c->ep[0];
	c->ep[0].scq->handler = handler;
	sim_cq_arm(c->ep[0].scq, XROCE_ARM_NEXT);
	sim_at(sim_now() + after, SIM_EV_FN, keep_busy, &c->ep[0], 0);
	return c;
}

/* Each one's share is within a factor of @unlike of what were fair; @used of the way, in %. */
static void run(u8 wr, u32 qps, u32 ring, u32 unlike, u32 used)
{
	u32 i, n, lo = ~0u, hi = 0, sum = 0;
	struct sim_cfg cfg = sim_plain();

	begin_crowd(&cfg, wr, ring);
	/* Those who come late get as much. */
	for (i = 0; i < qps; i++)
		add(i * 10 * SIM_MS);
	sim_run_until(sim_now() + SIM_SEC);
	for (i = 0; i < qps; i++)
		crowd.first[i] = crowd.ep[i]->wire.una;
	sim_run_until(sim_now() + SIM_SEC);
	for (i = 0; i < qps; i++) {
		n = (crowd.ep[i]->wire.una - crowd.first[i]) & XROCE_PSN_MASK;
		sim_trace("QP %u: %u packets, window %u", i, n, crowd.ep[i]->qp.req.cwnd);
		lo = min(lo, n);
		hi = max(hi, n);
		sum += n;
	}
	sim_trace("%llu not taken, %llu timeouts",
		  (unsigned long long)sim_count(XROCE_CNT_TX_UNTAKEN),
		  (unsigned long long)sim_count(XROCE_CNT_TIMEOUT));
	sim_check(lo * qps * unlike >= sum && hi * qps <= sum * unlike,
		  "the shares are between %u and %u of %u packets", lo, hi, sum);
	sim_check((u64)sum * PACKET >= RATE / 100 * used, "only %u packets", sum);
	/* None was as good as lost, and few were built for nothing. */
	if (qps * 4 <= ring) {
		is(TIMEOUT, 0);
		sim_check(sim_count(XROCE_CNT_TX_UNTAKEN) * 20 < sum, "%llu not taken",
			  (unsigned long long)sim_count(XROCE_CNT_TX_UNTAKEN));
	}
	sim_total_ops += W->ops_done;
	sim_world_free();
}

static void run_few(u64 seed)
{
	(void)seed;
	run(XROCE_WR_RDMA_WRITE, 4, 256, 2, 80);
}

static void run_reads(u64 seed)
{
	(void)seed;
	run(XROCE_WR_RDMA_READ, 4, 256, 2, 80);
}

static void run_many(u64 seed)
{
	(void)seed;
	run(XROCE_WR_RDMA_WRITE, MOST, 64, 2, 80);
}

/*
 * Some are on a CPU with more to do: the others are back ten times before they are. For
 * their turns the device waits, which costs some of the way.
 */
static void run_late(u64 seed)
{
	(void)seed;
	crowd_late = 8;
	run(XROCE_WR_RDMA_WRITE, MOST, 64, 12, 40);
	crowd_late = 0;
}

static void run_many_reads(u64 seed)
{
	(void)seed;
	run(XROCE_WR_RDMA_READ, MOST, 64, 2, 80);
}

/*
 * One end reads without a pause, and heeds neither marks nor losses; there is less room
 * than it has asked for. What the other end sends itself has its turns.
 */
static void run_starved(u64 seed)
{
	struct sim_opt opt = { .wr = XROCE_WR_RDMA_WRITE, .len = 64, .nsge = 1, .signaled = true };
	struct sim_cfg cfg = sim_plain();
	struct sim_ep *reader, *ep;
	u32 i;

	(void)seed;
	begin_crowd(&cfg, XROCE_WR_RDMA_READ, 64);
	reader = &add(0)->ep[0];
	ep = reader->peer;
	for (i = 0; i < 2200; i++) {
		reader->qp.req.cwnd = cfg.cwnd_max;
		if (i == 2000)
			sim_check(sim_post(ep, &opt), "no room");
		sim_run_until(sim_now() + SIM_MS / 10);
	}
	sim_poll(ep->scq);
	sim_check(!ep->ops.n, "it has not been sent for 20 ms");
	sim_world_free();
}

#define APART_ROOM	64
#define APART_NS	4000		/* a packet of the others */
#define APART_TIME	(10 * SIM_MS)

static struct {
	u32 n;
	u64 since;
} apart;

/* The first one's queue, as another CPU's, has always room; the others share one. */
static u32 take_apart(struct sim_ep *ep, struct xroce_frame **f, u32 n)
{
	u64 gone = (sim_now() - apart.since) / APART_NS;

	(void)f;
	W->cfg.full = 0;
	if (ep == crowd.ep[0] || number_of(ep) == crowd.qps)
		return n;
	apart.since += gone * APART_NS;
	apart.n -= gone < apart.n ? gone : apart.n;
	n = min(n, APART_ROOM - apart.n);
	apart.n += n;
	return n;
}

static u32 sent_by_first(u64 time)
{
	u32 from = crowd.ep[0]->wire.una;

	sim_run_until(sim_now() + time);
	return (crowd.ep[0]->wire.una - from) & XROCE_PSN_MASK;
}

static void run_apart(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	u32 alone, beside, i;

	(void)seed;
	memset(&apart, 0, sizeof(apart));
	begin_crowd(&cfg, XROCE_WR_RDMA_WRITE, APART_ROOM);
	W->cfg.rate = 0;
	W->cfg.turn = 50 * SIM_US;
	W->cfg.delay = 100 * SIM_US;
	W->take = take_apart;
	add(0);
	sent_by_first(APART_TIME);
	alone = sent_by_first(APART_TIME);
	for (i = 0; i < 16; i++)
		add(0);
	sent_by_first(3 * APART_TIME);
	beside = sent_by_first(APART_TIME);
	sim_check(beside * 2 >= alone, "%u packets beside them, %u alone", beside, alone);
	sim_world_free();
}

const struct sim_scenario sim_crowd_scenarios[] = {
	{ "crowd", "four QPs whose windows the device has no room for", run_few, 0, 2, 5 },
	{ "crowd-reads", "four QPs with responses that the device has no room for", run_reads,
	  0, 2, 5 },
	{ "crowd-starved", "a WRITE beside READs of the peer without end", run_starved, 0, 1 },
	{ "crowd-apart", "one whose queue has room, beside those whose has not", run_apart,
	  0, 1, 5 },
	{ "crowd-many", "forty QPs, and no room for the least window of each", run_many,
	  0, 1, 5 },
	{ "crowd-late", "timers of some that come late", run_late, 0, 1, 5 },
	{ "crowd-many-reads", "forty responders, and room for less", run_many_reads, 0, 1, 5 },
	{ NULL, NULL, NULL, 0, 0, 0 }
};
