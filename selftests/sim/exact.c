// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * One connection: not only the result counts, but how it was reached, with how many
 * packets, ACKs, timeouts. What of it is lost is lost.c's. Single-threaded.
 */
#include "lost.h"

struct sim_conn *sim_pair(const struct sim_cfg *cfg)
{
	struct sim_conn *c;

	sim_world_new(cfg, 0);
	c = sim_conn_new(W->node[0], W->node[1]);
	sim_connect(c, true);
	return c;
}

/**
 * sim_settle_all() - run until all is completed, or fail at @limit ns from now
 */
void sim_settle_all(u64 limit)
{
	u64 end = sim_now() + limit, when;
	struct sim_conn *c;

	for (;;) {
		sim_poll_all();
		for (c = W->conns; c; c = c->next)
			if (c->ep[0].ops.n || c->ep[1].ops.n)
				break;
		if (!c)
			return;
		sim_check(sim_next_time(&when) && when <= end,
			  "not completed after %llu us", (unsigned long long)(limit / SIM_US));
		sim_step();
	}
}

/* Post @n signalled operations of all kinds. */
void sim_post_n(struct sim_ep *ep, u32 n)
{
	static const u8 wr[] = {
		XROCE_WR_RDMA_WRITE, XROCE_WR_SEND, XROCE_WR_RDMA_READ,
		XROCE_WR_ATOMIC_FETCH_AND_ADD, XROCE_WR_RDMA_WRITE_WITH_IMM,
		XROCE_WR_ATOMIC_CMP_AND_SWP,
	};
	struct sim_opt opt = { .signaled = true };

	while (n--) {
		opt.wr = wr[sim_below(ARRAY_SIZE(wr))];
		opt.nsge = opt.wr == XROCE_WR_ATOMIC_FETCH_AND_ADD ||
			   opt.wr == XROCE_WR_ATOMIC_CMP_AND_SWP ? 1 : sim_range(1, 4);
		opt.len = sim_random_len(ep, ep->peer->msg_max);
		sim_check(sim_post(ep, &opt), "no room");
	}
}

/**
 * sim_post_one() - post a signalled work request of @len bytes in one piece
 */
void sim_post_one(struct sim_ep *ep, u8 wr, u32 len)
{
	struct sim_opt opt = { .wr = wr, .len = len, .nsge = 1, .signaled = true };

	sim_check(sim_post(ep, &opt), "no room");
}

/**
 * sim_finish() - all is done: nothing may be wrong anywhere, nor become so
 */
void sim_finish(void)
{
	sim_run_until(sim_now() + 2 * SIM_SEC);
	sim_verify_quiet();
	sim_total_ops += W->ops_done;
	sim_world_free();
}

/* Post @n that nobody waits for: they are acknowledged nevertheless. */
static void quietly(struct sim_ep *ep, u32 n, u32 max)
{
	struct sim_opt opt = { .nsge = 1, .wr = XROCE_WR_RDMA_WRITE };

	while (n--) {
		opt.len = sim_random_len(ep, max);
		opt.more = n;
		sim_check(sim_post(ep, &opt), "no room");
	}
	sim_run_until(sim_now() + 9 * SIM_MS);
	sim_check(ep->wire.una == ep->wire.max, "not acknowledged");
}

/*
 * Nothing lost: no timer, ACKs are few, and nothing is sent twice but the last of
 * those that nobody waits for, once, and that only if the ACK for what was before
 * them did not happen to be late enough to speak for them too.
 */
static void run_quiet(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_conn *c = sim_pair(&cfg);
	u32 i, n, quiet = 1;

	(void)seed;
	sim_post_recvs(&c->ep[1]);
	/* Alone it has nobody to speak for it. */
	quietly(&c->ep[0], 1, 1 << cfg.mtu_shift);
	is(ASKED, 1);
	for (i = 0; i < 20; i++) {
		sim_post_n(&c->ep[0], sim_range(1, 40));
		n = sim_below(5);
		quiet += !!n;
		quietly(&c->ep[0], n, 8192);
		sim_post_one(&c->ep[0], XROCE_WR_RDMA_WRITE, 1);
		sim_settle_all(10 * SIM_MS);
		sim_post_recvs(&c->ep[1]);
	}
	n = sim_count(XROCE_CNT_ACKS_SENT);
	sim_post_one(&c->ep[0], XROCE_WR_RDMA_WRITE, 64 << cfg.mtu_shift > 65536 ?
		     65536 : 64 << cfg.mtu_shift);
	sim_settle_all(10 * SIM_MS);
	n = sim_count(XROCE_CNT_ACKS_SENT) - n;
	sim_check(n <= 16, "%u ACKs for one message", n);
	is(TIMEOUT, 0);
	is(RETRANS, 0);
	is(NAK_SEQ_SENT, 0);
	is(IMPLIED_NAK, 0);
	n = sim_count(XROCE_CNT_ASKED);
	sim_check(n <= quiet, "asked %u times in %u rounds", n, quiet);
	is(DUPLICATE, n);
	sim_check(c->ep[0].wire.retrans == n, "retransmissions");
	sim_finish();
}

/* What the device had no room for was not sent, and goes for the first time. */
static void run_untaken(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_conn *c;
	u32 i;

	(void)seed;
	cfg.partial = 3000;
	c = sim_pair(&cfg);
	for (i = 0; i < 10; i++) {
		sim_post_recvs(&c->ep[1]);
		sim_post_n(&c->ep[0], sim_range(1, 40));
		sim_settle_all(50 * SIM_MS);
	}
	sim_check(sim_count(XROCE_CNT_TX_UNTAKEN), "all was taken");
	is(RETRANS, 0);
	/* A window that shrinks meanwhile may have to ask. */
	is(DUPLICATE, sim_count(XROCE_CNT_ASKED));
	is(TIMEOUT, 0);
	sim_check(c->ep[0].wire.retrans == sim_count(XROCE_CNT_ASKED), "retransmissions");
	sim_finish();
}

/*
 * Nobody answers: retry_cnt + 1 expiries, no more, no fewer. After the first each takes
 * longer, but not beyond 268 ms, nor who asked for that: so many of theirs, and the asks.
 */
static void run_dead_peer(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_conn *c;
	struct sim_ep *ep;
	u64 start, took, t, all = 0;
	u32 i;

	(void)seed;
	cfg.retry_cnt = sim_below(8);
	cfg.timeout = sim_range(6, 17);
	t = 4096ull << cfg.timeout;
	for (i = 0; i <= cfg.retry_cnt; i++)
		all += max(t, min(t << min(i, 2u), 4096ull << 16));
	c = sim_pair(&cfg);
	ep = &c->ep[0];
	W->net_off = true;
	start = sim_now();
	sim_post_n(ep, sim_range(1, 20));
	sim_settle_all(10 * SIM_SEC);
	took = sim_now() - start;
	sim_check(ep->first_err == XROCE_WC_RETRY_EXC_ERR, "status %u", ep->first_err);
	sim_check(ep->wire.expiries == cfg.retry_cnt + 1u,
		  "%u expiries, retry_cnt %u", ep->wire.expiries, cfg.retry_cnt);
	is(TIMEOUT, cfg.retry_cnt + 1);
	is(RETRY_EXC, 1);
	sim_check(took >= all && took <= all + all / 4,
		  "took %llu us", (unsigned long long)(took / SIM_US));
	sim_close_begin(c, true);
	sim_run_until(sim_now() + SIM_MS);
	sim_close_end(c);
	/* And it can be used again. */
	W->net_off = false;
	sim_connect(c, true);
	sim_post_recvs(&c->ep[1]);
	sim_post_n(ep, 20);
	sim_settle_all(20 * SIM_MS);
	sim_finish();
}

/* Nobody posts a receive: rnr_retry + 1 NAKs; 7 is for ever. */
static void run_rnr(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_conn *c;
	struct sim_ep *ep;
	u64 start;

	(void)seed;
	cfg.rnr_retry = sim_below(8);
	c = sim_pair(&cfg);
	ep = &c->ep[0];
	start = sim_now();
	sim_post_one(ep, XROCE_WR_RDMA_WRITE, 3 << cfg.mtu_shift);
	sim_post_one(ep, sim_chance(5000) ? XROCE_WR_SEND :
		     XROCE_WR_RDMA_WRITE_WITH_IMM, sim_range(0, 3000));
	sim_post_one(ep, XROCE_WR_RDMA_READ, 100);
	if (cfg.rnr_retry == 7) {
		sim_run_until(sim_now() + 100 * SIM_MS);
		sim_poll_all();
		sim_check(ep->ops.n == 2, "%u left", ep->ops.n);
		sim_check(ep->wire.rnrs > 100 && ep->wire.rnrs < 700,
			  "%u RNR NAKs in 100 ms", ep->wire.rnrs);
		sim_check(sim_count(XROCE_CNT_RNR_SENT) - ep->wire.rnrs <= 1 &&
			  ep->wire.rnrs - sim_count(XROCE_CNT_RNR_RCVD) <= 1,
			  "counted otherwise");
		sim_post_recv(&c->ep[1], 4096, 1);
		sim_settle_all(SIM_MS);
		is(TIMEOUT, 0);
		sim_finish();
		return;
	}
	sim_settle_all(100 * SIM_MS);
	sim_check(ep->first_err == XROCE_WC_RNR_RETRY_EXC_ERR, "status %u", ep->first_err);
	sim_check(ep->wire.rnrs == cfg.rnr_retry + 1u, "%u RNR NAKs", ep->wire.rnrs);
	sim_check(sim_now() - start >= cfg.rnr_retry * 160 * SIM_US, "too early");
	is(RNR_EXC, 1);
	sim_close_begin(c, true);
	sim_run_until(sim_now() + SIM_MS);
	sim_close_end(c);
	sim_finish();
}

/* For ever is as long for a network that loses some of it: the peer goes on answering. */
static void run_rnr_lossy(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_conn *c;
	u32 i;

	(void)seed;
	cfg.rnr_retry = 7;
	cfg.timeout = 14;
	cfg.min_rnr = 12;
	cfg.loss = 500;
	c = sim_pair(&cfg);
	for (i = 0; i < 4; i++)
		sim_post_one(&c->ep[0], XROCE_WR_SEND, 64);
	sim_run_until(sim_now() + 10 * SIM_SEC);
	sim_check(sim_count(XROCE_CNT_TIMEOUT) > cfg.retry_cnt, "it lost too little");
	for (i = 0; i < 4; i++)
		sim_post_recv(&c->ep[1], 4096, 1);
	sim_settle_all(SIM_SEC);
	sim_finish();
}

static void set_state(struct sim_ep *ep, u8 state)
{
	sim_ep_state(ep, state);
	sim_check(ep->qp.hot.state == state, "state %u", ep->qp.hot.state);
}

/* SQD: what was begun is finished, nothing is begun; then all goes on. */
static void run_sqd(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_conn *c;
	struct sim_ep *ep;
	u32 left, max;

	(void)seed;
	cfg.cwnd_init = sim_range(4, 30);
	cfg.cwnd_max = 30;
	cfg.timeout = 9;
	cfg.loss = sim_chance(5000) ? 500 : 0;
	cfg.partial = sim_chance(5000) ? 2000 : 0;
	c = sim_pair(&cfg);
	ep = &c->ep[0];
	sim_post_recvs(&c->ep[1]);
	sim_post_n(ep, 30);
	sim_run_until(sim_now() + sim_below(100000));
	set_state(ep, XROCE_QPS_SQD);
	sim_run_until(sim_now() + SIM_SEC);
	sim_poll_all();
	sim_check(ep->qp.hot.state == XROCE_QPS_SQD, "state %u", ep->qp.hot.state);
	sim_check(ep->wire.una == ep->wire.max && !ep->wire.in_msg, "not drained");
	sim_check(!xroce_req_draining(&ep->qp.req), "says it still drains");
	left = ep->ops.n;
	max = ep->wire.max;
	sim_post_n(ep, 5);
	sim_post_recvs(&c->ep[0]);
	sim_post_n(&c->ep[1], 10);	/* the other direction is not held up */
	sim_run_until(sim_now() + SIM_SEC);
	sim_poll_all();
	sim_check(ep->ops.n == left + 5 && ep->wire.max == max,
		  "something was begun in SQD");
	sim_check(!c->ep[1].ops.n, "the responder stands still in SQD");
	set_state(ep, XROCE_QPS_RTS);
	sim_settle_all(10 * SIM_SEC);
	sim_finish();
}

/* Every request comes once more, long after it was done. */
struct copy {
	struct copy *next;
	struct sim_ep *to;
	u32 len;
	u8 buf[];
};

static struct copy *copies;

static bool keep(struct sim_ep *from, const u8 *buf, u32 len,
		 const struct xroce_pkt *p)
{
	struct copy *k = malloc(sizeof(*k) + len);

	(void)p;
	k->to = from->peer;
	k->len = len;
	memcpy(k->buf, buf, len);
	k->next = copies;
	copies = k;
	return false;
}

static void run_replay(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_conn *c;
	bool ended = sim_chance(5000);
	struct copy *k;
	u32 round, i;

	(void)seed;
	cfg.max_rd = sim_range(1, 8);
	c = sim_pair(&cfg);
	copies = NULL;
	W->drop = keep;
	for (round = 0; round < 4; round++) {
		sim_post_recvs(&c->ep[0]);
		sim_post_recvs(&c->ep[1]);
		sim_post_n(&c->ep[0], 30);
		sim_post_n(&c->ep[1], 30);
		sim_settle_all(20 * SIM_MS);
		sim_poll_all();
	}
	W->drop = NULL;
	/* Its user may have ended a key since: that is the peer's no fault. */
	for (i = 0; i < 2 && ended; i++)
		c->ep[i].rem->mr.state = XROCE_KEY_INVALID;
	for (i = 0; (k = copies); i++) {
		struct sim_pkt pkt = { .ep = k->to, .to = k->to->node,
				       .len = k->len, .buf = k->buf };

		copies = k->next;
		if (wire_valid(&pkt))
			wire_rx(k->to, k->buf, k->len);
		sim_raw_rx(k->to->node, k->buf, k->len, false);
		free(k);
		if (i % 7 == 0)
			sim_run_until(sim_now() + 3 * SIM_US);
	}
	sim_run_until(sim_now() + SIM_MS);
	sim_poll_all();
	for (i = 0; i < 2; i++)
		c->ep[i].rem->mr.state = XROCE_KEY_VALID;
	sim_check(sim_count(XROCE_CNT_DUPLICATE) >= 200, "no duplicates seen");
	/* Nothing has happened, and all goes on. */
	sim_verify_quiet();
	sim_post_recvs(&c->ep[1]);
	sim_post_n(&c->ep[0], 20);
	sim_settle_all(20 * SIM_MS);
	is(TIMEOUT, 0);
	sim_finish();
}

/* An answer from the right peer to what was never sent. */
static void run_ghost(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_conn *c = sim_pair(&cfg);
	struct sim_ep *ep = &c->ep[0];
	u32 psn, n, i;

	(void)seed;
	/* What was sent stays where it is. */
	sim_drop(ep, XROCE_OP_REQUEST, 0, ~0u);
	n = sim_range(1, 5);
	for (i = 0; i < n; i++)
		sim_post_one(ep, XROCE_WR_RDMA_WRITE, 100);
	psn = ep->wire.max + (sim_chance(5000) ? 0 : sim_below(1 << 22));
	sim_net_answer(ep, psn, sim_chance(5000) ? 0x1f : 0x60 + sim_below(4));
	sim_poll_all();
	is(DROP_GHOST, 1);
	sim_check(ep->ops.n == n && ep->qp.hot.state == XROCE_QPS_RTS,
		  "an answer to nothing counts");
	W->drop = NULL;
	sim_settle_all(SIM_SEC);
	sim_finish();
}

/* A NAK of what was acknowledged so long ago that nobody's can be under way: a forger's guess. */
static void run_guessed(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_ep *ep = &sim_pair(&cfg)->ep[0];

	(void)seed;
	sim_drop(ep, XROCE_OP_REQUEST, 0, ~0u);
	sim_post_one(ep, XROCE_WR_RDMA_WRITE, 100);
	sim_net_answer(ep, ep->wire.una - ep->qp.dev->cwnd_max - sim_range(1, 1 << 22),
		       XROCE_NAK_PSN);
	sim_poll_all();
	is(NAK_SEQ_RCVD, 0);
	is(RETRANS, 0);
	W->drop = NULL;
	sim_settle_all(SIM_SEC);
	sim_finish();
}

/* The connection goes, and another comes, while frames are with the device. */
static void connect_later(void *arg)
{
	sim_connect(arg, false);
}

static u32 take_none(struct sim_ep *ep, struct xroce_frame **f, u32 n)
{
	bool request = f[0]->is.kind == XROCE_FRAME_REQ;
	struct sim_conn *c = ep->conn;

	if (request != !sim_rule.skip)
		return n;
	W->take = NULL;
	sim_rule.dropped = n;
	sim_close_begin(c, false);
	sim_close_end(c);
	if (sim_chance(5000))
		sim_connect(c, false);
	else
		sim_at(sim_now() + 20 * SIM_US, SIM_EV_FN, connect_later, c,
		       0);
	return 0;
}

static void run_reset(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_conn *c = sim_pair(&cfg);

	(void)seed;
	sim_post_recvs(&c->ep[0]);
	sim_post_recvs(&c->ep[1]);
	sim_drop(&c->ep[0], XROCE_OP_REQUEST, sim_below(3), 1);
	sim_rule.skip = sim_below(2);
	W->take = take_none;
	sim_post_n(&c->ep[0], 10);
	sim_post_n(&c->ep[1], 10);
	sim_run_until(sim_now() + 10 * SIM_MS);
	sim_check(!W->take, "nothing was sent");
	W->drop = NULL;
	sim_post_recvs(&c->ep[0]);
	sim_post_recvs(&c->ep[1]);
	sim_post_n(&c->ep[0], 10);
	sim_post_n(&c->ep[1], 10);
	sim_settle_all(20 * SIM_MS);
	is(TIMEOUT, 0);
	sim_finish();
}

static struct sim_ep *narrow;
static u32 room;

static u32 take_room(struct sim_ep *ep, struct xroce_frame **f, u32 n)
{
	(void)f;
	if (ep != narrow)
		return n;
	n = min(n, room);
	room -= n;
	return n;
}

/*
 * A work request that sends nothing, and behind it a READ, answered before all of
 * its burst is with the device: the answer finds that one done.
 */
static void run_local(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_opt opt = { .nsge = 1, .signaled = true, .more = true };
	struct sim_region *r;
	struct sim_conn *c;
	struct sim_ep *ep;
	u32 i;

	(void)seed;
	cfg.delay = 20 * SIM_US;
	cfg.jitter = 0;
	cfg.unmarked = true;
	cfg.mtu_shift = 8;
	cfg.cwnd_init = 2 * XROCE_BATCH;
	/* It says no by a drop, and is asked again much later. */
	cfg.full = 10000;
	c = sim_pair(&cfg);
	ep = &c->ep[0];
	narrow = ep;
	W->take = take_room;
	for (i = 0; i < 3; i++) {
		r = sim_post_inv(ep, 0);
		opt.wr = XROCE_WR_RDMA_READ;
		opt.len = sim_range(1, ep->mtu);
		opt.more = true;
		sim_check(sim_post(ep, &opt), "no room");
		room = 1;
		opt.wr = XROCE_WR_RDMA_WRITE;
		opt.len = XROCE_BATCH * ep->mtu;
		opt.more = false;
		sim_check(sim_post(ep, &opt), "no room");
		sim_run_until(sim_now() + 90 * SIM_US);
		sim_poll_all();
		sim_check(r->mr.state == XROCE_KEY_INVALID, "not done");
		sim_check(ep->ops.n == 1, "the READ has not completed");
		room = ~0u;
		sim_settle_all(SIM_SEC);
	}
	is(DROP_GHOST, 0);
	is(IMPLIED_NAK, 0);
	sim_finish();
}

/*
 * Regions made invalid beside WRITEs that have nothing to do with them, as storage does:
 * all are done in one round trip. That one behind what names its memory waits for that
 * is for every world with keys to see (executed(), in keys.c).
 */
static void run_local_beside(u64 seed)
{
	struct sim_opt opt = { .wr = XROCE_WR_RDMA_WRITE, .nsge = 1, .len = 64,
			       .signaled = true, .more = true };
	struct sim_cfg cfg = sim_plain();
	struct sim_region *r[8];
	struct sim_conn *c;
	struct sim_ep *ep;
	u32 i;

	(void)seed;
	cfg.delay = 20 * SIM_US;
	cfg.jitter = 0;
	c = sim_pair(&cfg);
	ep = &c->ep[0];
	for (i = 0; i < ARRAY_SIZE(r); i++) {
		sim_check(sim_post(ep, &opt), "no room");
		r[i] = sim_post_inv(ep, 0);
	}
	opt.more = false;
	sim_check(sim_post(ep, &opt), "no room");
	sim_run_until(sim_now() + 60 * SIM_US);
	sim_poll_all();
	for (i = 0; i < ARRAY_SIZE(r); i++)
		sim_check(r[i]->mr.state == XROCE_KEY_INVALID, "%u is not done", i);
	sim_check(!ep->ops.n, "%u have not completed", ep->ops.n);
	sim_finish();
}

/* One whose completion is wanted, behind what nobody has asked about */
static void run_local_asked(u64 seed)
{
	struct sim_opt opt = { .wr = XROCE_WR_RDMA_WRITE, .nsge = 1, .len = 64 };
	struct sim_cfg cfg = sim_plain();
	struct sim_ep *ep;

	(void)seed;
	cfg.delay = 20 * SIM_US;
	cfg.jitter = 0;
	ep = &sim_pair(&cfg)->ep[0];
	W->checks_off = true;
	sim_check(sim_post(ep, &opt), "no room");
	sim_run_until(sim_now() + 10 * SIM_US);
	sim_post_inv(ep, XROCE_WR_SIGNALED);
	sim_sq_push(ep, false);
	sim_run_until(sim_now() + 100 * SIM_US);
	sim_check(ep->qp.req.head == ep->qp.req.tail, "nobody asks for it");
	sim_world_free();
}

/* Whose SENDs, or ACKs, do not arrive */
static struct sim_ep *mute;
static u32 mute_info;

static bool drop_mute(struct sim_ep *from, const u8 *buf, u32 len, const struct xroce_pkt *p)
{
	(void)buf;
	(void)len;
	return from == mute && p->info & mute_info;
}

/*
 * The peer answers what it has executed by ending the key that it was sent from, as iSER's
 * target does, and its ACK was lost. That cannot be read again, and has not failed; nor
 * does the peer take for it what comes instead, where it never got it.
 */
static void run_key_ended(bool executed)
{
	struct sim_cfg cfg = sim_plain();
	struct xroce_send_wqe *w;
	struct sim_ep *ep, *peer;
	struct sim_region *r;
	struct xroce_cq *cq;

	cfg.timeout = 14;
	ep = &sim_pair(&cfg)->ep[0];
	peer = ep->peer;
	cq = &peer->rcq->cq;
	W->checks_off = true;
	sim_post_recvs(ep);
	sim_post_recvs(peer);
	r = sim_region_new(ep->node, 64, 0, sim_ep_pd(ep));
	r->mr.kind = XROCE_MR_FAST;
	mute = executed ? peer : ep;
	mute_info = executed ? XROCE_OP_ACK : XROCE_OP_SEND;
	W->drop = drop_mute;
	w = sim_sq_slot(ep);
	w->opcode = XROCE_WR_SEND;
	w->flags = XROCE_WR_SIGNALED;
	w->num_sge = 1;
	w->sge[0].addr = sim_region_addr(r, 0);
	w->sge[0].length = 64;
	w->sge[0].lkey = r->mr.key;
	ep->sq_prod++;
	sim_sq_push(ep, false);
	sim_run_until(sim_now() + SIM_MS);
	sim_check(cq->prod == executed, "%u came", cq->prod);
	w = sim_sq_slot(peer);
	w->opcode = XROCE_WR_SEND_WITH_INV;
	w->inv_rkey = r->mr.key;
	peer->sq_prod++;
	sim_sq_push(peer, false);
	sim_run_until(sim_now() + SIM_MS);
	sim_check(r->mr.state == XROCE_KEY_INVALID, "the key is not ended");
	W->drop = NULL;
	sim_run_until(sim_now() + SIM_SEC);
	sim_check(ep->qp.hot.state == (executed ? XROCE_QPS_RTS : XROCE_QPS_ERR), "state %u",
		  ep->qp.hot.state);
	if (executed)
		sim_check(ep->qp.req.head == ep->qp.req.tail && cq->prod == 1,
			  "%u came, %u are done", cq->prod, ep->qp.req.head);
	else
		sim_check(((struct xroce_cqe *)cq->ring->slot)->status, "it took another for it");
	sim_world_free();
}

static void run_ended(u64 seed)
{
	(void)seed;
	run_key_ended(true);
	run_key_ended(false);
}

/* A window that is let go of, by a work request that sends nothing. */
static void post_bind(struct sim_ep *ep, const struct sim_region *window)
{
	*sim_sq_slot(ep) = (struct xroce_send_wqe) {
		.opcode = XROCE_WR_BIND_MW,
		.bind.rkey = window->mr.key,
		.bind.new_rkey = window->mr.key,
	};
	ep->sq_prod++;
}

/* However many of these are posted, one answer completes no more than some. */
static void run_local_many(u64 seed)
{
	struct sim_opt opt = { .wr = XROCE_WR_RDMA_WRITE, .len = 10, .nsge = 1,
			       .signaled = true, .more = true };
	struct sim_cfg cfg = sim_plain();
	const struct xroce_req *req;
	struct sim_region *window;
	struct sim_conn *c;
	struct sim_ep *ep;
	void **page;
	u32 i;

	(void)seed;
	cfg.depth = 8192;
	cfg.timeout = 14;
	c = sim_pair(&cfg);
	ep = &c->ep[0];
	req = &ep->qp.req;
	window = sim_region_new(ep->node, 64, 0, sim_ep_pd(ep));
	window->mr.kind = XROCE_MW_1;
	page = window->mr.page;
	sim_drop(ep, XROCE_OP_REQUEST, 0, 1);
	sim_check(sim_post(ep, &opt), "no room");
	for (i = 0; i < 5000; i++)
		post_bind(ep, window);
	opt.more = false;
	sim_check(sim_post(ep, &opt), "no room");
	sim_run_until(sim_now() + 3 * SIM_MS);
	sim_check(sim_rule.dropped == 1 && !req->head, "not lost");
	sim_check(req->cur >= 1000 && req->cur <= 1024, "%u done ahead",
		  req->cur);
	sim_settle_all(SIM_SEC);
	sim_check(req->head == 5002, "%u completed", req->head);
	/* Its memory is its own again, to be looked at and freed. */
	window->mr.page = page;
	sim_finish();
}

static u32 refused, taken;

static u32 take_no_repeat(struct sim_ep *ep, struct xroce_frame **f, u32 n)
{
	(void)ep;
	if (f[0]->is.kind != XROCE_FRAME_REQ || !f[0]->is.again || n <= taken)
		return n;
	refused++;
	W->take = NULL;
	return taken;
}

static u32 take_two(struct sim_ep *ep, struct xroce_frame **f, u32 n)
{
	(void)ep;
	(void)f;
	return min(n, 2u);
}

/* What is built for a device that has no room is work for nothing. */
static void run_less(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_conn *c;
	u64 untaken;

	(void)seed;
	cfg.mtu_shift = 8;
	c = sim_pair(&cfg);
	W->take = take_two;
	sim_post_one(&c->ep[0], XROCE_WR_RDMA_WRITE, 200 << cfg.mtu_shift);
	sim_settle_all(SIM_SEC);
	untaken = sim_count(XROCE_CNT_TX_UNTAKEN);
	sim_check(untaken >= 10 && untaken < 200 / 2,
		  "%llu packets of 200 were built more than once",
		  (unsigned long long)untaken);
	is(RETRANS, 0);
	sim_finish();
}

/*
 * Lost with nobody waiting for it, and what asks has no room in the device, or no memory:
 * the oldest and the last, unless that is the same, or the last alone.
 */
static void run_ask_untaken(u64 seed)
{
	struct sim_opt opt = { .wr = XROCE_WR_RDMA_WRITE, .len = 10,
			       .nsge = 1, .more = true };
	u32 n = sim_range(1, 2);
	struct sim_cfg cfg = sim_plain();
	bool memory = sim_below(2);
	struct sim_conn *c;

	(void)seed;
	cfg.full = 10000 * sim_below(2);
	c = sim_pair(&cfg);
	refused = 0;
	taken = sim_below(n);
	sim_drop(&c->ep[0], XROCE_OP_REQUEST, 0, n);
	if (!memory)
		W->take = take_no_repeat;
	if (n > 1)
		sim_check(sim_post(&c->ep[0], &opt), "no room");
	opt.more = false;
	sim_check(sim_post(&c->ep[0], &opt), "no room");
	sim_run_until(sim_now() + 6 * SIM_MS);
	if (memory)
		W->cfg.nomem = 10000;
	sim_run_until(sim_now() + 4 * SIM_MS);
	W->cfg.nomem = 0;
	sim_run_until(sim_now() + 10 * SIM_MS);
	sim_check(refused == !memory, "nothing was refused");
	sim_check(c->ep[0].wire.una == c->ep[0].wire.max, "not acknowledged");
	is(ASKED, n);
	is(RETRANS, 0);
	sim_post_one(&c->ep[0], XROCE_WR_RDMA_WRITE, 1);
	sim_settle_all(SIM_SEC);
	is(TIMEOUT, 0);
	sim_finish();
}

const struct sim_scenario sim_exact_scenarios[] = {
	{ "quiet", "nothing lost: nothing sent twice, few ACKs", run_quiet, 0, 10 },
	{ "untaken", "the device is full at times: nothing sent twice", run_untaken, 0, 40 },
	{ "less", "the device takes two at a time: no more are built", run_less, 0, 3 },
	{ "dead-peer", "retry_cnt + 1 expiries", run_dead_peer, 0, 60 },
	{ "rnr", "rnr_retry + 1 NAKs, 7 is for ever", run_rnr, 0, 60 },
	{ "rnr-lossy", "nor does loss end that", run_rnr_lossy, 0, 4 },
	{ "ghost", "an answer to nothing changes nothing", run_ghost, 0, 40 },
	{ "nak-guessed", "nor a NAK to what was long ago", run_guessed, 0, 40 },
	{ "reset", "made anew while frames are with the device", run_reset, 0, 200 },
	{ "sqd", "the send queue drained and woken again", run_sqd, 0, 60 },
	{ "replay", "every packet again, later: nothing is done twice", run_replay, 0, 40 },
	{ "local", "the answer behind what sends nothing", run_local, 0, 40 },
	{ "key-ended", "what the peer has executed and ended the key of", run_ended, 0, 3 },
	{ "local-beside", "what ends keys waits for what names them",
	  run_local_beside, 0, 3 },
	{ "local-asked", "who waits for what sends nothing is told at once",
	  run_local_asked, 0, 3 },
	{ "local-many", "thousands of those: some at a time", run_local_many, 0, 3 },
	{ "ask-untaken", "the device is full when an ACK is to be asked for",
	  run_ask_untaken, 0, 40 },
	{ NULL, NULL, NULL, 0, 0 }
};
