// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What becomes of the clocks of a connection, and of what it answers, while the
 * device has no room, or the user changes the QP in SQD. Single-threaded.
 */
#include "sim.h"

static struct {
	struct sim_ep *ep;	/* whose device has no room */
	u32 first;		/* but for its first bursts */
	u64 until;
	bool done;
} room;

static struct sim_ep *begin(struct sim_cfg *cfg)
{
	memset(&room, 0, sizeof(room));
	room.ep = &sim_pair(cfg)->ep[0];
	return room.ep;
}

static u32 take_first(struct sim_ep *ep, struct xroce_frame **f, u32 n)
{
	(void)f;
	if (ep != room.ep || sim_now() >= room.until)
		return n;
	if (!room.first)
		return 0;
	room.first--;
	return n;
}

static u64 timeout_of(const struct sim_cfg *cfg)
{
	return 4096ull << cfg->timeout;
}

/* No room for ever, from the first packet on or behind one that was lost. */
static void run_never(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_ep *ep;
	u64 start, took;

	(void)seed;
	cfg.full = 10000;
	cfg.retry_cnt = sim_below(8);
	cfg.timeout = sim_range(12, 16);
	ep = begin(&cfg);
	room.first = sim_below(2);
	room.until = ~0ull;
	ep->expect_err = true;
	W->checks_off = true;
	W->take = take_first;
	W->drop = sim_drop_all;
	start = sim_now();
	sim_post_one(ep, XROCE_WR_RDMA_WRITE, 100);
	/* Its completion is not looked at: by the wire, nothing has expired. */
	while (ep->qp.hot.state == XROCE_QPS_RTS && sim_now() < start + 60 * SIM_SEC)
		sim_run_until(sim_now() + SIM_MS);
	took = sim_now() - start;
	is(TIMEOUT, cfg.retry_cnt + 1);
	is(RETRY_EXC, 1);
	sim_check(took >= (cfg.retry_cnt + 1) * timeout_of(&cfg) &&
		  took <= 4 * (cfg.retry_cnt + 1) * timeout_of(&cfg), "took %llu ms",
		  (unsigned long long)(took / SIM_MS));
	sim_world_free();
}

/* Room at last: the ACK has all of its time from then on. */
static void run_late(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_ep *ep;

	(void)seed;
	cfg.full = 10000;
	cfg.retry_cnt = 0;
	cfg.timeout = 14;
	cfg.delay = timeout_of(&cfg) / 5;
	ep = begin(&cfg);
	room.until = sim_now() + timeout_of(&cfg) * sim_range(60, 85) / 100;
	W->take = take_first;
	/* What is taken first may be an answer, and its reader is patient. */
	ep->peer->qp.req.timeout *= 4;
	if (sim_below(2))
		sim_post_one(ep->peer, XROCE_WR_RDMA_READ, 100);
	sim_post_one(ep, XROCE_WR_RDMA_WRITE, 100);
	sim_run_until(sim_now() + SIM_SEC);
	sim_poll_all();
	sim_check(!ep->first_err, "status %u", ep->first_err);
	sim_settle_all(SIM_SEC);
	is(TIMEOUT, 0);
	sim_finish();
}

static bool drop_requests(struct sim_ep *from, const u8 *buf, u32 len,
			  const struct xroce_pkt *pkt)
{
	(void)buf;
	(void)len;
	return from == room.ep && pkt->info & XROCE_OP_REQUEST;
}

static u32 take_every_other(struct sim_ep *ep, struct xroce_frame **f, u32 n)
{
	(void)f;
	if (ep != room.ep)
		return n;
	room.done = !room.done;
	return room.done ? 0 : n;
}

/* It is lost, and all the while there is no room for an answer, and then there is. */
static void run_others(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_ep *ep;
	u32 i;

	(void)seed;
	cfg.full = 10000;
	cfg.retry_cnt = 7;
	cfg.timeout = 12;
	ep = begin(&cfg);
	W->drop = drop_requests;
	W->take = take_every_other;
	sim_post_one(ep, XROCE_WR_RDMA_WRITE, 100);
	/* each is longer than the one before, but no more than four times */
	for (i = 0; i < 100; i++) {
		sim_post_one(ep->peer, XROCE_WR_RDMA_WRITE, 100);
		sim_run_until(sim_now() + timeout_of(&cfg) / 10);
		sim_poll_all();
	}
	sim_check(sim_count(XROCE_CNT_TIMEOUT) >= 3, "%llu timeouts in the time of 10",
		  (unsigned long long)sim_count(XROCE_CNT_TIMEOUT));
	W->drop = NULL;
	W->take = NULL;
	sim_settle_all(SIM_SEC);
	sim_finish();
}

/* Another CPU posts while a burst is with the device, and leaves it to who sends. */
static u32 take_meanwhile(struct sim_ep *ep, struct xroce_frame **f, u32 n)
{
	(void)f;
	if (ep == room.ep && !room.done) {
		room.done = true;
		sim_post_one(ep, XROCE_WR_RDMA_WRITE, 100);
	}
	return n;
}

static void run_meanwhile(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_ep *ep;
	u32 psn;

	(void)seed;
	cfg.delay = SIM_MS;
	ep = begin(&cfg);
	W->take = take_meanwhile;
	psn = ep->qp.hot.next;
	sim_post_one(ep, XROCE_WR_RDMA_WRITE, 100);
	sim_run_until(sim_now() + SIM_MS / 2);
	sim_check(xroce_psn_diff(ep->qp.hot.next, psn) == 2, "%d sent before any ACK",
		  xroce_psn_diff(ep->qp.hot.next, psn));
	sim_settle_all(SIM_SEC);
	is(TIMEOUT, 0);
	sim_finish();
}

/* An answer is with the device, and what remembers READs is exchanged. */
static u32 take_exchanged(struct sim_ep *ep, struct xroce_frame **f, u32 n)
{
	struct xroce_attr attr = { .max_dest_rd_atomic = sim_below(3) };

	if (ep == room.ep || f[n - 1]->is.kind != XROCE_FRAME_RD_RESP)
		return n;
	W->take = NULL;
	room.done = true;
	if (attr.max_dest_rd_atomic)
		attr.rd = calloc(attr.max_dest_rd_atomic, sizeof(*attr.rd));
	sim_ep_modify(ep, &attr, XROCE_ATTR_MAX_DEST_RD_ATOMIC);
	free(attr.rd);
	return sim_below(n);
}

static void run_resources(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_ep *ep;
	u32 i, n;

	(void)seed;
	ep = begin(&cfg);
	ep->expect_err = true;
	ep->peer->expect_err = true;
	for (i = 0, n = sim_below(cfg.max_rd); i < n; i++) {
		sim_post_one(ep, XROCE_WR_RDMA_READ, 4096);
		sim_run_until(sim_now() + SIM_MS);
		sim_poll_all();
	}
	sim_ep_state(ep->peer, XROCE_QPS_SQD);
	W->take = take_exchanged;
	sim_post_one(ep, XROCE_WR_RDMA_READ, 4096);
	sim_run_until(sim_now() + SIM_SEC);
	sim_check(room.done, "nothing was answered");
	sim_check(!ep->peer->qp.resp.rd_active, "answers what it has forgotten");
	sim_world_free();
}

static bool from_peer(struct sim_ep *from, const u8 *buf, u32 len, const struct xroce_pkt *p)
{
	(void)buf;
	(void)len;
	(void)p;
	return from != room.ep;
}

/* Its answer is lost, and what remembers it is exchanged before it is asked for again. */
static void run_remembered(u64 seed)
{
	struct xroce_attr attr = { .max_dest_rd_atomic = sim_range(1, 16) };
	struct sim_cfg cfg = sim_plain();
	struct sim_ep *ep;

	cfg.timeout = 10;
	ep = begin(&cfg);
	W->drop = from_peer;
	/* One piece: there may be room for no more. */
	sim_post_one(ep, seed % 2 ? XROCE_WR_RDMA_READ : XROCE_WR_ATOMIC_FETCH_AND_ADD,
		     seed % 2 ? sim_range(1, 4096) : 8);
	sim_run_until(sim_now() + SIM_MS / 10);
	sim_ep_state(ep->peer, XROCE_QPS_SQD);
	attr.rd = calloc(attr.max_dest_rd_atomic, sizeof(*attr.rd));
	sim_ep_modify(ep->peer, &attr, XROCE_ATTR_MAX_DEST_RD_ATOMIC);
	free(attr.rd);
	sim_ep_state(ep->peer, XROCE_QPS_RTS);
	W->drop = NULL;
	sim_settle_all(SIM_SEC);
	sim_check(!ep->first_err, "status %u", ep->first_err);
	sim_finish();
}

/* Memory that is short for long: what waits for it leaves in NAPI, not in a timer. */
static void run_no_memory(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_ep *ep;
	u32 i;

	cfg.nomem = 100;
	cfg.mtu_shift = 8;
	ep = begin(&cfg);
	for (i = 0; i < 100; i++) {
		sim_post_one(ep, seed % 2 ? XROCE_WR_RDMA_READ : XROCE_WR_RDMA_WRITE, 64 << 8);
		sim_settle_all(SIM_SEC);
	}
	sim_finish();
}

/* READs are not allowed any more: what was posted fails, and does not wait. */
static void run_none(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct xroce_attr attr = { .max_rd_atomic = 0 };
	struct sim_ep *ep;

	(void)seed;
	cfg.max_rd = 1;
	ep = begin(&cfg);
	ep->expect_err = true;
	W->checks_off = true;
	sim_post_one(ep, XROCE_WR_RDMA_READ, 20);
	sim_post_one(ep, sim_below(2) ? XROCE_WR_RDMA_READ : XROCE_WR_ATOMIC_FETCH_AND_ADD, 8);
	sim_ep_state(ep, XROCE_QPS_SQD);
	sim_run_until(sim_now() + SIM_MS);
	sim_ep_modify(ep, &attr, XROCE_ATTR_MAX_RD_ATOMIC);
	sim_ep_state(ep, XROCE_QPS_RTS);
	sim_run_until(sim_now() + SIM_MS);
	sim_check(ep->scq->cq.ring->prod == 2 && ep->qp.hot.state == XROCE_QPS_ERR,
		  "%u completions in state %u", ep->scq->cq.ring->prod, ep->qp.hot.state);
	sim_world_free();
}

/* A timeout that is set in SQD is kept by what is out already. */
static void run_timeout(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct xroce_attr attr = { .timeout = 10 };
	struct sim_ep *ep;

	(void)seed;
	cfg.retry_cnt = 1;
	cfg.timeout = 25;
	ep = begin(&cfg);
	if (sim_below(2))
		ep->qp.req.timeout = 0;		/* none */
	ep->expect_err = true;
	W->checks_off = true;
	W->drop = sim_drop_all;
	sim_post_one(ep, XROCE_WR_RDMA_WRITE, 100);
	sim_run_until(sim_now() + SIM_SEC);
	is(TIMEOUT, 0);
	sim_ep_state(ep, XROCE_QPS_SQD);
	sim_ep_modify(ep, &attr, XROCE_ATTR_TIMEOUT);
	sim_run_until(sim_now() + SIM_SEC);
	is(RETRY_EXC, 1);
	sim_world_free();
}

/*
 * A READ is being answered, and asked for once more by what is refused, since it ends inside
 * a packet, or before the answer would, asks for nothing, or leaves out what is still to come:
 * the answer ends where it would have.
 */
static u32 take_repeated(struct sim_ep *ep, struct xroce_frame **f, u32 n)
{
	static const u32 lens[] = { 1, 2 << 8, 0, 1 << 8 };
	struct xroce_rx rx = { .dev = ep->qp.dev };
	const struct xroce_rd *rd;
	u32 at;

	if (ep == room.ep || f[n - 1]->is.kind != XROCE_FRAME_RD_RESP || n < 2)
		return n;
	W->take = NULL;
	rd = &ep->qp.resp.rd[f[n - 1]->is.slot];
	rx.pkt.info = XROCE_OP_READ | XROCE_OP_ONLY | XROCE_OP_RETH;
	at = room.first == 3 ? rd->npsn - 1 : room.first & 1;
	rx.pkt.psn = xroce_psn_add(rd->psn, at);
	rx.pkt.va = rd->va + (at << 8);
	rx.pkt.rkey = rd->rkey;
	rx.pkt.dma_len = lens[room.first];
	xroce_resp_rx(&ep->qp, &rx);
	return n / 2;
}

static void run_refused(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_ep *ep;

	(void)seed;
	cfg.mtu_shift = 8;
	/* Asked for by one request */
	cfg.max_rd = 1;
	ep = begin(&cfg);
	room.first = sim_below(4);
	W->take = take_repeated;
	sim_post_one(ep, XROCE_WR_RDMA_READ, sim_range(17, 60) << 8);
	sim_run_until(sim_now() + SIM_MS);
	is(DROP_REPLAY, 1);
	sim_settle_all(SIM_SEC);
	is(TIMEOUT, 0);
	sim_finish();
}

/*
 * The device, which was full, takes what was left; and while it does, another CPU finds
 * that the ACK timeout has passed. What is out is waited for all the same.
 */
static u32 take_expired(struct sim_ep *ep, struct xroce_frame **f, u32 n)
{
	if (ep != room.ep || room.done || sim_now() < room.until)
		return take_first(ep, f, n);
	room.done = true;
	sim_set_now(sim_now() + SIM_MS);
	xroce_qp_timer(&ep->qp);
	return n;
}

/*
 * What was full takes a burst, and meanwhile another CPU ends the QP: no clock of what
 * is forgotten runs, into whatever the QP is next.
 */
static void end_it(void *ep)
{
	room.done = room.ep->in_xmit;
	sim_ep_state(ep, room.until ? XROCE_QPS_RESET : XROCE_QPS_ERR);
}

static u32 take_ended(struct sim_ep *ep, struct xroce_frame **f, u32 n)
{
	(void)f;
	if (ep != room.ep || !room.first)
		return n;
	room.first--;
	if (room.first == 1)
		return 0;
	if (!room.first)
		sim_at(sim_now(), SIM_EV_FN, end_it, ep, 0);
	return n;
}

static void run_ended(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_ep *ep;

	(void)seed;
	cfg.mtu_shift = 8;
	cfg.full = 10000;
	cfg.retry_cnt = 0;
	cfg.timeout = 12;
	cfg.smp = 10000;
	ep = begin(&cfg);
	ep->expect_err = true;
	W->checks_off = true;
	W->drop = sim_drop_all;
	W->take = take_ended;
	room.first = 3;
	room.until = sim_below(2);
	sim_post_one(ep, XROCE_WR_RDMA_WRITE, 3 << 8);
	sim_post_one(ep, XROCE_WR_RDMA_WRITE, 3 << 8);
	sim_run_until(sim_now() + timeout_of(&cfg) / 2);
	sim_check(room.done, "not while a third burst is sent");
	sim_check(!ep->qp.req.waiting, "a clock runs in state %u", ep->qp.hot.state);
	if (room.until)
		sim_ep_state(ep, XROCE_QPS_INIT);
	sim_run_until(sim_now() + SIM_SEC);
	is(TIMEOUT, 0);
	is(RETRY_EXC, 0);
	sim_check(ep->qp.hot.state == (room.until ? XROCE_QPS_INIT : XROCE_QPS_ERR),
		  "state %u", ep->qp.hot.state);
	sim_world_free();
}

static void ring_bell(void *ep)
{
	sim_doorbell(ep);
}

static void run_expired(u64 seed)
{
	struct sim_opt opt = { .wr = XROCE_WR_RDMA_WRITE, .nsge = 1, .len = 2 << 8, .more = true };
	struct sim_cfg cfg = sim_plain();
	struct sim_ep *ep;

	(void)seed;
	cfg.retry_cnt = 7;
	cfg.timeout = 12;
	cfg.mtu_shift = 8;
	/* No room for one packet more, which would be waited for by itself */
	cfg.cwnd_init = 4;
	cfg.cwnd_max = 4;
	ep = begin(&cfg);
	room.first = 1;
	room.until = sim_now() + timeout_of(&cfg) - SIM_MS / 2;
	sim_at(room.until, SIM_EV_FN, ring_bell, ep, 0);
	W->take = take_expired;
	W->drop = drop_requests;
	sim_check(sim_post(ep, &opt), "no room");
	sim_post_one(ep, XROCE_WR_RDMA_WRITE, 2 << 8);
	sim_run_until(room.until + 5 * SIM_MS);
	sim_check(room.done, "not at that time");
	W->drop = NULL;
	W->take = NULL;
	sim_settle_all(SIM_SEC);
	sim_finish();
}

/*
 * A peer that a busy machine does not run for most of a second, as was seen of guests:
 * libibverbs' pingpong, which has these settings, has its answer.
 */
static void run_late_peer(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_ep *ep;

	(void)seed;
	cfg.delay = sim_range(270, 450) * SIM_MS;
	ep = &sim_pair(&cfg)->ep[0];
	sim_post_one(ep, XROCE_WR_RDMA_WRITE, 6000);
	sim_settle_all(10 * SIM_SEC);
	sim_check(!ep->first_err, "status %u", ep->first_err);
	sim_check(sim_count(XROCE_CNT_TIMEOUT) >= 3, "%llu timeouts",
		  (unsigned long long)sim_count(XROCE_CNT_TIMEOUT));
	sim_finish();
}

/* All is done; nobody is told of what came before these. */
static void settle_both(struct sim_conn *c)
{
	sim_post_one(&c->ep[0], XROCE_WR_RDMA_WRITE, 100);
	sim_post_one(&c->ep[1], XROCE_WR_RDMA_WRITE, 100);
	sim_settle_all(SIM_SEC);
}

/*
 * Programs post on one CPU, and what comes in does so on the other, the ring of either of
 * which is faster: what is out is not overtaken, of requests or of answers, and each CPU has
 * its turn once nothing is.
 */
static void run_rings(u64 seed)
{
	struct sim_opt opt = { .nsge = 1 };
	struct sim_cfg cfg = sim_plain();
	struct sim_conn *c;
	struct sim_ep *ep;
	u32 i;

	(void)seed;
	/* So slow that what is out is asked about, or not */
	cfg.rings = sim_chance(3000) ? 6 * SIM_MS : sim_range(20, 500) * SIM_US;
	cfg.mtu_shift = 8;
	cfg.partial = sim_chance(5000) ? 2000 : 0;
	cfg.slow = sim_below(2);
	c = sim_pair(&cfg);
	for (i = 0; i < 60; i++) {
		ep = &c->ep[sim_chance(3000)];
		opt.wr = sim_chance(8000) ? XROCE_WR_RDMA_WRITE : XROCE_WR_RDMA_READ;
		opt.len = sim_below(ep->peer->msg_max);
		opt.signaled = sim_chance(5000);
		sim_check(sim_post(ep, &opt), "no room");
		if (c->ep[0].ops.n > 8 || c->ep[1].ops.n > 8 || sim_chance(3000))
			settle_both(c);
		else
			sim_run_until(sim_now() + sim_below(400) * SIM_US);
	}
	settle_both(c);
	is(OUT_OF_SEQ, 0);
	is(IMPLIED_NAK, 0);
	is(RETRANS, 0);
	/* A window that shrinks for want of room may have to ask. */
	if (cfg.rings < SIM_MS && !cfg.partial)
		is(ASKED, 0);
	sim_finish();
}

/*
 * Responses have left, and wait in the slow ring of the CPU where requests come in. Who is
 * told of the next one posts on the other CPU at once, and has what is owed sent too: it is
 * not, for it would overtake.
 */
static void run_follows(u64 seed)
{
	struct sim_opt read = { .nsge = 1, .signaled = true, .wr = XROCE_WR_RDMA_READ,
				.len = 4096 };
	struct sim_cfg cfg = sim_plain();
	struct sim_ep *ep;
	u32 i, told;

	(void)seed;
	cfg.rings = 500 * SIM_US;
	cfg.slow = 1;
	cfg.mtu_shift = 8;
	ep = &sim_pair(&cfg)->ep[0];
	for (i = 0; i < 20; i++) {
		sim_post_recvs(ep);
		sim_check(sim_post(ep->peer, &read), "no room");
		sim_run_until(sim_now() + 200 * SIM_US);
		sim_check(!ep->qp.resp.rd_active, "responses have yet to be built");
		told = ep->rcq->cq.ring->prod;
		sim_post_one(ep->peer, XROCE_WR_SEND, 10);
		while (ep->rcq->cq.ring->prod == told && sim_step())
			;
		sim_post_one(ep, XROCE_WR_RDMA_WRITE, 100);
		settle_both(&W->conns[0]);
	}
	is(IMPLIED_NAK, 0);
	is(RETRANS, 0);
	sim_finish();
}

const struct sim_scenario sim_room_scenarios[] = {
	{ "room-never", "a device that takes nothing: retry_cnt + 1 expiries",
	  run_never, 0, 20 },
	{ "room-late", "what had no room is waited for once it is taken", run_late, 0,
	  20 },
	{ "late-peer", "who answers after a second is not gone", run_late_peer, 0, 20 },
	{ "room-others", "a loss is seen, though answers come and go", run_others, 0, 10 },
	{ "room-expired", "its timer goes off as a full device takes it", run_expired, 0, 4 },
	{ "room-ended", "its QP ends as a full device takes it", run_ended, 0, 10 },
	{ "rings", "CPUs with rings of their own do not overtake each other", run_rings, 0, 40 },
	{ "rings-follow", "nor what follows a READ's responses them", run_follows, 0, 4 },
	{ "meanwhile", "posted while a burst is with the device: sent next", run_meanwhile, 0, 10 },
	{ "sqd-resources", "READs forgotten in SQD while one is answered",
	  run_resources, 0, 40 },
	{ "sqd-remembered", "and one whose answer was lost is remembered", run_remembered, 0, 40 },
	{ "no-memory", "no more than a burst by a timer", run_no_memory, 0, 40 },
	{ "sqd-none", "no READs are allowed any more, with one posted", run_none, 0, 10 },
	{ "sqd-timeout", "set in SQD for what is out too", run_timeout, 0, 10 },
	{ "read-refused", "a READ answered and asked for again wrongly", run_refused,
	  0, 20 },
	{ NULL, NULL, NULL, 0, 0, 0 }
};
