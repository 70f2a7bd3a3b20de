// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a requester asks its peer with, and for, when it misses an answer; and when
 * it asks its user for doorbells. Single-threaded.
 */
#include "sim.h"

static struct {
	struct sim_ep *ep;
	u32 una;		/* as it was when the ACK came */
	bool acked;
	bool one;		/* ACK is dropped, not all */
	bool looped;		/* are the others' packets */
	u64 full;		/* is the device until then */
	u32 calls;		/* of it */
} asked;

static void post(u8 wr, u32 len, bool signaled, bool more)
{
	struct sim_opt opt = { .wr = wr, .len = len, .nsge = 1, .signaled = signaled,
			       .more = more };

	sim_check(sim_post(asked.ep, &opt), "no room");
}

static void t_more_bad(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	(void)ep;
	w->sge[1] = w->sge[0];
	w->sge[1].lkey ^= 1u << 31;
	w->num_sge = 2;
}

/*
 * Of one whose memory fails nothing is sent again: the one before it asks for the
 * ACK that it needs, at once, however many packets have gone since.
 */
static void run_failed(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_opt bad = { .wr = XROCE_WR_RDMA_WRITE, .nsge = 1, .signaled = true,
			       .status = XROCE_WC_LOC_PROT_ERR, .tweak = t_more_bad };

	(void)seed;
	cfg.retry_cnt = 0;
	cfg.timeout = 14;
	asked.ep = &sim_pair(&cfg)->ep[0];
	if (sim_below(2))
		asked.ep->qp.req.timeout = 0;		/* none */
	asked.ep->expect_err = true;
	bad.len = sim_range(1, 8) << asked.ep->qp.hot.mtu_shift;
	post(XROCE_WR_RDMA_WRITE, 100, false, true);
	sim_check(sim_post(asked.ep, &bad), "no room");
	sim_run_until(sim_now() + SIM_MS);
	sim_poll_all();
	sim_check(asked.ep->first_err == XROCE_WC_LOC_PROT_ERR, "status %u",
		  asked.ep->first_err);
	is(TIMEOUT, 0);
	sim_world_free();
}

static struct sim_region *extra;

static void t_extra(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	(void)ep;
	w->sge[0].lkey = extra->mr.key;
	w->sge[0].addr = sim_region_addr(extra, 0);
}

/* Post @n, of memory that extra_ends() takes away */
static void post_extra(u32 n)
{
	struct sim_opt bad = { .wr = XROCE_WR_RDMA_WRITE, .len = 100, .nsge = 1,
			       .tweak = t_extra };
	struct sim_ep *ep = asked.ep;

	ep->expect_err = true;
	W->checks_off = true;
	extra = sim_region_new(ep->node, 4096, XROCE_LOCAL_WRITE, &ep->node->pd);
	while (n--)
		sim_check(sim_post(ep, &bad), "no room");
}

static void extra_ends(void)
{
	sim_core_enter();
	xroce_mr_end(&extra->mr);
	sim_core_leave();
}

/*
 * And of one that fails only as it is to go again and ask: its memory has gone. Or of
 * many, one after the other, more than are looked for in one run: that goes on at once.
 */
static void run_gone(u64 seed)
{
	struct sim_opt bad = { .wr = XROCE_WR_RDMA_WRITE, .len = 100, .nsge = 1,
			       .tweak = t_more_bad };
	u32 n = sim_chance(5000) ? 1 : 40;
	struct sim_cfg cfg = sim_plain();
	struct xroce_cqe *cqe;
	struct sim_ep *ep;

	(void)seed;
	cfg.retry_cnt = 0;
	cfg.timeout = 14;
	cfg.depth = 128;
	cfg.cwnd_init = cfg.cwnd_max = 100;
	ep = asked.ep = &sim_pair(&cfg)->ep[0];
	if (n > 1)
		W->drop = sim_drop_all;
	else if (sim_below(2))
		ep->qp.req.timeout = 0;		/* none */
	if (n == 1)
		post(XROCE_WR_RDMA_WRITE, 100, false, true);
	post_extra(n);
	sim_run_until(sim_now() + SIM_MS);
	extra_ends();
	/* What cannot go either has those asked about now. */
	if (n > 1)
		sim_check(sim_post(ep, &bad), "no room");
	sim_run_until(sim_now() + (n > 1 ? SIM_MS : SIM_SEC));
	cqe = (struct xroce_cqe *)ep->scq->cq.ring->slot;
	sim_check(ep->scq->cq.ring->prod && cqe->status == XROCE_WC_LOC_PROT_ERR,
		  "%u completions, status %u", ep->scq->cq.ring->prod, cqe->status);
	is(TIMEOUT, 0);
	sim_world_free();
}

/* Behind a READ of 2^23 packets that all have come but the last. */
static bool drop_reads(struct sim_ep *from, const u8 *buf, u32 len, const struct xroce_pkt *pkt)
{
	const u32 before = (1 << 23) - 1;
	struct xroce_swq *e;

	(void)buf;
	(void)len;
	if (from == asked.ep)
		return asked.acked;
	if (pkt->info & XROCE_OP_READ_RESP)
		return true;
	e = xroce_req_swq(&asked.ep->qp.req, asked.ep->qp.req.head);
	e->psn = xroce_psn_add(e->psn, XROCE_PSN_MASK + 1 - before);
	e->npsn += before;
	asked.una = asked.ep->qp.hot.una;
	asked.acked = true;
	return false;
}

static void run_long(u64 seed)
{
	struct sim_cfg cfg = sim_plain();

	(void)seed;
	cfg.timeout = 20;
	asked.ep = &sim_pair(&cfg)->ep[0];
	asked.acked = false;
	W->checks_off = true;
	W->drop = drop_reads;
	post(XROCE_WR_RDMA_READ, 1, true, true);
	post(XROCE_WR_RDMA_WRITE, 100, true, false);
	sim_run_until(sim_now() + SIM_MS);
	is(IMPLIED_NAK, 1);
	sim_check(asked.acked && asked.ep->qp.hot.una == asked.una,
		  "a READ is done without its data");
	sim_world_free();
}

/*
 * The PSN that READs in a row ended with comes round: it is a WRITE's now, which is
 * acknowledged.
 */
static void run_round(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_ep *ep;
	u32 end;

	(void)seed;
	cfg.retry_cnt = 0;
	cfg.timeout = 14;
	asked.ep = &sim_pair(&cfg)->ep[0];
	ep = asked.ep;
	W->checks_off = true;
	post(XROCE_WR_RDMA_READ, sim_range(1, 10000), true, false);
	sim_run_until(sim_now() + SIM_MS);
	end = ep->qp.hot.next;
	post(XROCE_WR_RDMA_WRITE, 100, true, false);
	sim_run_until(sim_now() + SIM_MS);
	end = xroce_psn_add(end, XROCE_PSN_MASK);
	ep->qp.hot.una = end;
	ep->qp.hot.next = end;
	ep->qp.hot.max = end;
	ep->peer->qp.hot.epsn = end;
	post(XROCE_WR_RDMA_WRITE, 100, true, false);
	sim_run_until(sim_now() + SIM_SEC);
	sim_poll_all();
	sim_check(!ep->first_err && !ep->ops.n, "status %u, %u under way", ep->first_err,
		  ep->ops.n);
	is(TIMEOUT, 0);
	sim_world_free();
}

/* So far away that who asked late would hear nothing in time. */
static void run_far(u64 seed)
{
	struct sim_cfg cfg = sim_plain();

	(void)seed;
	cfg.timeout = 11;			/* 8.4 ms */
	cfg.delay = 3 * SIM_MS / 2;
	asked.ep = &sim_pair(&cfg)->ep[0];
	post(XROCE_WR_RDMA_WRITE, 100, false, false);
	sim_run_until(sim_now() + 10 * SIM_MS);
	is(ASKED, 1);
	is(TIMEOUT, 0);
	post(XROCE_WR_RDMA_WRITE, 100, true, false);
	sim_settle_all(10 * SIM_MS);
	sim_finish();
}

/* Until there is one that may come. */
static bool drop_acks(struct sim_ep *from, const u8 *buf, u32 len, const struct xroce_pkt *pkt)
{
	(void)buf;
	(void)len;
	if (asked.acked || from == asked.ep || !(pkt->info & XROCE_OP_ACK))
		return false;
	asked.acked = asked.one;
	return true;
}

/* A READ is answered: what fails behind it is no reason to ask for it. */
static void run_answered(u64 seed)
{
	struct sim_opt bad = { .wr = XROCE_WR_RDMA_WRITE, .nsge = 1, .signaled = true,
			       .status = XROCE_WC_LOC_PROT_ERR, .tweak = t_more_bad };
	struct sim_cfg cfg = sim_plain();

	(void)seed;
	asked.ep = &sim_pair(&cfg)->ep[0];
	asked.ep->expect_err = true;
	bad.len = 2 << cfg.mtu_shift;
	post(sim_range(XROCE_WR_RDMA_READ, XROCE_WR_ATOMIC_FETCH_AND_ADD), 8, true, true);
	sim_check(sim_post(asked.ep, &bad), "no room");
	sim_run_until(sim_now() + SIM_MS);
	sim_poll_all();
	sim_check(asked.ep->first_err == XROCE_WC_LOC_PROT_ERR, "status %u", asked.ep->first_err);
	is(ASKED, 0);
	sim_world_free();
}

/* The device is full when it asks by itself, and still when it is time to: of the last alone. */
static u32 take_no_more(struct sim_ep *ep, struct xroce_frame **f, u32 n)
{
	(void)f;
	if (ep != asked.ep || sim_now() >= asked.full)
		return n;
	return asked.calls++ ? asked.calls == 2 ? n - 2 : 0 : n;
}

static void run_back(u64 seed)
{
	struct sim_cfg cfg = sim_plain();

	(void)seed;
	cfg.timeout = 14;
	cfg.mtu_shift = 10;
	cfg.cwnd_init = cfg.cwnd_max = 32;
	cfg.unmarked = true;
	asked.ep = &sim_pair(&cfg)->ep[0];
	asked.acked = false;
	asked.one = false;
	asked.calls = 0;
	asked.full = sim_now() + 7 * SIM_MS;
	W->drop = drop_acks;
	W->take = take_no_more;
	post(XROCE_WR_RDMA_WRITE, 60 << cfg.mtu_shift, true, false);
	sim_run_until(asked.full - SIM_US);
	asked.acked = true;
	sim_settle_all(SIM_SEC);
	is(ASKED, 2);
	is(TIMEOUT, 0);
	sim_finish();
}

/* One that is waited for, whose ACK is lost: soon, whatever follows. */
static void run_waited(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_ep *ep;
	u32 i;

	(void)seed;
	cfg.timeout = 14;
	asked.ep = &sim_pair(&cfg)->ep[0];
	asked.acked = false;
	asked.one = true;
	ep = asked.ep;
	W->drop = drop_acks;
	post(XROCE_WR_RDMA_WRITE, 100, true, false);
	for (i = 0; i < 5; i++) {
		post(XROCE_WR_RDMA_WRITE, 100, false, false);
		sim_run_until(sim_now() + SIM_MS);
	}
	sim_check(asked.acked, "no ACK was dropped");
	sim_check(ep->wire.una == ep->wire.max, "not acknowledged");
	is(ASKED, 2);
	/* A completion for those that ask for none. */
	post(XROCE_WR_RDMA_WRITE, 100, true, false);
	sim_settle_all(SIM_MS);
	is(TIMEOUT, 0);
	sim_finish();
}

/* A timer that comes when the whole ACK timeout has passed: first it asks all the same. */
static void run_late(u64 seed)
{
	struct sim_cfg cfg = sim_plain();

	(void)seed;
	cfg.retry_cnt = 0;
	cfg.timeout = 6;			/* 262 us */
	cfg.turn = SIM_MS;
	cfg.delay = 0;				/* an answer is there before the turn's timers */
	asked.ep = &sim_pair(&cfg)->ep[0];
	asked.acked = false;
	asked.one = true;
	W->drop = drop_acks;
	post(XROCE_WR_RDMA_WRITE, 100, false, false);
	post(XROCE_WR_RDMA_WRITE, 100, true, false);
	sim_settle_all(5 * SIM_MS);
	is(ASKED, 2);
	is(TIMEOUT, 0);
	sim_finish();
}

/*
 * What nobody waits for is left to the next packet to ask about, if there is one soon:
 * nothing goes twice but the last of all.
 */
static void run_next(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_ep *ep;
	u32 i;

	(void)seed;
	cfg.timeout = 14;
	cfg.unmarked = true;			/* a smaller window is asked about more often */
	asked.ep = &sim_pair(&cfg)->ep[0];
	ep = asked.ep;
	for (i = 0; i < 50; i++) {
		post(XROCE_WR_RDMA_WRITE, 100, false, false);
		sim_run_until(sim_now() + 900 * SIM_US);
		sim_check(xroce_psn_diff(ep->wire.max, ep->wire.una) <= 5,
			  "so many not acknowledged");
		is(ASKED, 0);
		is(ACKS_SENT, (i + 1) / 6);
	}
	sim_run_until(sim_now() + 10 * SIM_MS);
	sim_check(ep->wire.una == ep->wire.max, "not acknowledged");
	is(TIMEOUT, 0);
	post(XROCE_WR_RDMA_WRITE, 100, true, false);
	sim_settle_all(SIM_MS);
	sim_finish();
}

static u32 take_none(struct sim_ep *ep, struct xroce_frame **f, u32 n)
{
	(void)f;
	return ep == asked.ep ? 0 : n;
}

/* No ACK timer, and no room to ask when an ACK of what is before comes. */
static void run_untimed(u64 seed)
{
	struct sim_cfg cfg = sim_plain();

	(void)seed;
	cfg.delay = 3 * SIM_MS;
	asked.ep = &sim_pair(&cfg)->ep[0];
	asked.ep->qp.req.timeout = 0;
	post(XROCE_WR_RDMA_WRITE, 100, true, false);
	sim_run_until(sim_now() + SIM_MS / 2);
	post(XROCE_WR_RDMA_WRITE, 100, false, false);
	post(XROCE_WR_RDMA_WRITE, 100, false, false);
	W->take = take_none;
	sim_run_until(sim_now() + 8 * SIM_MS);
	W->take = NULL;
	sim_run_until(sim_now() + 10 * SIM_MS);
	sim_check(asked.ep->wire.una == asked.ep->wire.max, "not acknowledged");
	post(XROCE_WR_RDMA_WRITE, 100, true, false);
	sim_settle_all(20 * SIM_MS);
	sim_finish();
}

static void post_receive(void *arg)
{
	sim_post_recv(arg, 4096, 1);
}

/*
 * What goes twice on a long way, to ask, finds no receive at first, and then one: the
 * wait for that ends as it is acknowledged.
 */
static void run_ready(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	u64 start;
	u32 i;

	(void)seed;
	cfg.min_rnr = 0;		/* 655 ms */
	cfg.timeout = 18;
	cfg.delay = 3 * SIM_MS;
	asked.ep = &sim_pair(&cfg)->ep[0];
	sim_at(sim_now() + 5 * SIM_MS, SIM_EV_FN, post_receive, asked.ep->peer, 0);
	start = sim_now();
	for (i = 0; i < 2; i++) {
		post(XROCE_WR_SEND, 100, true, false);
		sim_settle_all(100 * SIM_MS);
		post_receive(asked.ep->peer);
	}
	is(RNR_RCVD, 1);
	is(TIMEOUT, 0);
	sim_check(sim_now() - start < 300 * SIM_MS, "it waits for what has come");
	sim_finish();
}

static u32 take_of_others(struct sim_ep *ep, struct xroce_frame **f, u32 n)
{
	(void)f;
	if (ep == asked.ep)
		return 0;
	if (asked.looped)
		xroce_env_count(ep->qp.dev, XROCE_CNT_TX_LOOPED, n);
	return n;
}

/* What nobody asked about is out, and the device takes only what is others'. */
static void stay_behind(void)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_ep *ep, *other;
	u32 i;

	cfg.retry_cnt = 0;
	cfg.timeout = 14;
	cfg.turn = 10 * SIM_US;			/* the core alone knows what waits for room */
	ep = &sim_pair(&cfg)->ep[0];
	/* What has failed is not to be polled. */
	do
		other = &sim_conn_new(W->node[0], W->node[1])->ep[0];
	while (asked.looped && other->scq == ep->scq);
	sim_connect(other->conn, true);
	asked.ep = ep;
	ep->expect_err = asked.looped;
	post(XROCE_WR_RDMA_WRITE, 100, false, false);
	post(XROCE_WR_RDMA_WRITE, 100, false, false);
	W->take = take_of_others;
	for (i = 0; i < 200; i++) {
		struct sim_opt opt = { .wr = XROCE_WR_RDMA_WRITE, .len = 100, .nsge = 1,
				       .signaled = true };

		sim_check(sim_post(other, &opt), "no room");
		sim_run_until(sim_now() + SIM_MS);
		sim_poll(other->scq);
	}
	sim_check(sim_count(XROCE_CNT_TX_UNTAKEN), "all was taken");
	W->take = NULL;
}

/* A peer that was not asked is not silent. */
static void run_others(u64 seed)
{
	(void)seed;
	asked.looped = false;
	stay_behind();
	is(TIMEOUT, 0);
	post(XROCE_WR_RDMA_WRITE, 100, true, false);
	sim_settle_all(10 * SIM_MS);
	sim_finish();
}

/* What others send to themselves says nothing of the device. */
static void run_loops(u64 seed)
{
	(void)seed;
	asked.looped = true;
	stay_behind();
	/* its completion is not looked at: by the wire, nothing has expired */
	sim_check(asked.ep->qp.hot.state == XROCE_QPS_ERR, "it has not failed");
	is(RETRY_EXC, 1);
	sim_world_free();
}

/* A ring that the window holds up is looked at again by itself: nobody need ring. */
static void run_bells(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct xroce_ring *ring;
	u32 i;

	(void)seed;
	cfg.cwnd_init = cfg.cwnd_max = 4;
	cfg.depth = 64;
	asked.ep = &sim_pair(&cfg)->ep[0];
	asked.acked = false;
	asked.one = false;
	ring = asked.ep->qp.req.ring;
	W->drop = drop_acks;
	for (i = 0; i < 60; i++) {
		sim_check(ring->wake == (i < 4), "%u posted, wake %u", i, ring->wake);
		post(XROCE_WR_RDMA_WRITE, 100, true, false);
	}
	asked.acked = true;
	sim_settle_all(SIM_SEC);
	sim_run_until(sim_now() + SIM_MS);
	sim_check(ring->wake == 1, "no doorbell is asked for");
	sim_finish();
}

/* A window that has become smaller holds up what is posted: it is looked at by itself. */
static void run_shrunk(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	u32 i;

	(void)seed;
	cfg.cwnd_init = cfg.cwnd_max = 8;
	cfg.depth = 64;
	asked.ep = &sim_pair(&cfg)->ep[0];
	for (i = 0; i < 6; i++)
		post(XROCE_WR_RDMA_WRITE, 100, true, false);
	asked.ep->qp.req.cwnd = 4;	/* as a CNP does */
	post(XROCE_WR_RDMA_WRITE, 100, true, false);
	sim_run_until(sim_now() + SIM_MS);
	sim_check(asked.ep->qp.hot.una == asked.ep->qp.hot.next &&
		  asked.ep->qp.req.ring->cons == 7, "%u of 7 are done",
		  asked.ep->qp.req.ring->cons);
	sim_finish();
}

static struct {
	u32 asks;		/* READ requests */
	u32 most;		/* responses to one */
	u32 acks;		/* of others that ask for an ACK */
} sent;

static bool look(struct sim_ep *from, const u8 *buf, u32 len, const struct xroce_pkt *pkt)
{
	(void)buf;
	(void)len;
	if (from != asked.ep)
		return false;
	if (pkt->opcode != XROCE_READ_REQ) {
		sent.acks += pkt->ackreq;
		return false;
	}
	sent.asks++;
	sent.most = max(sent.most, pkt->dma_len >> from->qp.hot.mtu_shift);
	return false;
}

/* One that may have few READs out asks for more by each. */
static void run_pieces(u64 seed)
{
	static const u32 pieces[] = { 64, 32, 16, 16 };
	u32 rd = sim_range(1, ARRAY_SIZE(pieces));
	struct sim_cfg cfg = sim_plain();

	(void)seed;
	cfg.max_rd = rd;
	cfg.max_dest_rd = rd;
	cfg.mtu_shift = 10;
	cfg.max_len = 1 << 20;
	asked.ep = &sim_pair(&cfg)->ep[0];
	memset(&sent, 0, sizeof(sent));
	W->drop = look;
	post(XROCE_WR_RDMA_READ, 512 << 10, true, false);
	sim_settle_all(SIM_SEC);
	sim_check(sent.asks == 512 / pieces[rd - 1] && sent.most == pieces[rd - 1],
		  "%u READs at once: %u requests, of up to %u packets", rd, sent.asks,
		  sent.most);
	/* The window is small now, and stays so for all of one that has begun in it. */
	xroce_cc_loss(&asked.ep->qp, true);
	memset(&sent, 0, sizeof(sent));
	post(XROCE_WR_RDMA_READ, 512 << 10, true, false);
	sim_settle_all(SIM_SEC);
	sim_check(sent.asks == 512 / 16 && sent.most == 16,
		  "by a small window: %u requests, of up to %u packets", sent.asks, sent.most);
	sim_finish();
}

/* The kernel's consumers take an answer for the end of what they sent: the ACK precedes it. */
static void run_trusted(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	bool trusted = sim_below(2);

	(void)seed;
	asked.ep = &sim_pair(&cfg)->ep[0];
	asked.ep->qp.req.trusted = trusted;
	memset(&sent, 0, sizeof(sent));
	W->drop = look;
	post(XROCE_WR_RDMA_WRITE, 100, false, false);
	sim_run_until(sim_now() + SIM_MS);
	sim_check(sent.acks == trusted, "%u packets ask for an ACK", sent.acks);
	asked.ep->qp.req.trusted = false;
	post(XROCE_WR_RDMA_WRITE, 100, true, false);
	sim_settle_all(10 * SIM_MS);
	sim_finish();
}

/* The first request, and then its answer: of what is asked for by one packet each */
static struct {
	u32 psn;
	u32 dropped;
	u32 requests;
	bool never;
} both;

static bool drop_both(struct sim_ep *from, const u8 *buf, u32 len, const struct xroce_pkt *p)
{
	bool request = p->info & XROCE_OP_REQUEST;

	(void)from;
	(void)buf;
	(void)len;
	if (request && !both.dropped)
		both.psn = p->psn;
	if (p->psn != both.psn ||
	    !(request || p->info & (XROCE_OP_READ_RESP | XROCE_OP_ATOMIC_ACK)))
		return false;
	both.requests += request;
	if (request ? both.dropped : both.dropped != 1 && !both.never)
		return false;
	both.dropped++;
	return true;
}

/* The NAK asks for the request, the next answer for the one that is lost. */
static void run_both(u64 seed)
{
	static const u8 wr[] = { XROCE_WR_RDMA_READ, XROCE_WR_ATOMIC_FETCH_AND_ADD };
	struct sim_cfg cfg = sim_plain();
	u32 i;

	(void)seed;
	memset(&both, 0, sizeof(both));
	asked.ep = &sim_pair(&cfg)->ep[0];
	W->drop = drop_both;
	for (i = 0; i < 3; i++)
		post(wr[sim_below(2)], 8, true, i < 2);
	sim_settle_all(SIM_SEC);
	sim_check(both.dropped == 2, "%u packets dropped", both.dropped);
	is(TIMEOUT, 0);
	sim_finish();
}

/* An answer that never comes, though others tell of that: no flood of requests. */
static void run_never(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	u32 i;

	(void)seed;
	cfg.timeout = 12;
	memset(&both, 0, sizeof(both));
	both.never = true;
	asked.ep = &sim_pair(&cfg)->ep[0];
	asked.ep->expect_err = true;
	W->drop = drop_both;
	post(XROCE_WR_RDMA_READ, 8, true, true);
	for (i = 0; i < 8; i++)
		post(XROCE_WR_SEND, 100, true, i < 7);
	sim_run_until(sim_now() + SIM_SEC);
	sim_poll_all();
	sim_check(asked.ep->first_err == XROCE_WC_RETRY_EXC_ERR, "status %u",
		  asked.ep->first_err);
	is(TIMEOUT, cfg.retry_cnt + 1);
	sim_check(both.requests <= 8 * (cfg.retry_cnt + 1), "asked for %u times", both.requests);
	sim_world_free();
}

/*
 * What is to ask for a READ that is lost finds no room, and then has failed: the READ asks
 * itself, if it is short.
 */
static void run_gone_behind(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	bool one = sim_chance(5000);
	struct xroce_cqe *cqe;
	struct sim_ep *ep;

	(void)seed;
	cfg.timeout = 14;
	ep = asked.ep = &sim_pair(&cfg)->ep[0];
	W->drop = sim_drop_all;
	post(XROCE_WR_RDMA_READ, one ? 100 : 5 << cfg.mtu_shift, true, true);
	post_extra(1);
	sim_run_until(sim_now() + SIM_MS);
	W->take = take_none;
	while (!sim_count(XROCE_CNT_TX_UNTAKEN) && sim_now() < 2 * SIM_SEC)
		sim_run_until(sim_now() + 10 * SIM_US);
	extra_ends();
	W->take = NULL;
	W->drop = NULL;
	sim_run_until(sim_now() + SIM_SEC);
	cqe = (struct xroce_cqe *)ep->scq->cq.ring->slot;
	sim_check(ep->scq->cq.ring->prod == 2 && !cqe[0].status &&
		  cqe[1].status == XROCE_WC_LOC_PROT_ERR, "%u completions, status %u and %u",
		  ep->scq->cq.ring->prod, cqe[0].status, cqe[1].status);
	is(TIMEOUT, !one);
	sim_world_free();
}

/*
 * It is lost, asked for, finds no receive, and is lost again: a peer that says so, as
 * rdma_rxe does, is heard.
 */
static void run_unready(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct xroce_qp *qp;

	(void)seed;
	cfg.retry_cnt = 0;
	cfg.timeout = 14;
	asked.ep = &sim_pair(&cfg)->ep[0];
	qp = &asked.ep->qp;
	W->drop = sim_drop_all;
	post(XROCE_WR_RDMA_WRITE, 100, true, false);
	post(XROCE_WR_RDMA_WRITE, 100, true, false);
	sim_run_until(sim_now() + SIM_MS);
	sim_net_answer(asked.ep, qp->hot.una, XROCE_NAK_PSN);
	sim_net_answer(asked.ep, qp->hot.una, XROCE_AETH_RNR | 1);
	sim_run_until(sim_now() + SIM_MS);
	W->drop = NULL;
	sim_net_answer(asked.ep, qp->hot.una, XROCE_NAK_PSN);
	sim_settle_all(10 * SIM_MS);
	is(RNR_RCVD, 1);
	is(TIMEOUT, 0);
	sim_finish();
}

const struct sim_scenario sim_asked_scenarios[] = {
	{ "asks-failed", "what is before a failed one asks for its ACK", run_failed, 0, 20 },
	{ "asks-gone", "and of one that fails as it is to ask", run_gone, 0, 40 },
	{ "asks-gone-behind", "of which a READ before it has to learn", run_gone_behind, 0, 10 },
	{ "lost-both", "a request, and then its answer", run_both, 0, 60 },
	{ "lost-ever", "an answer that never comes is asked for now and then", run_never, 0, 10 },
	{ "asks-long", "an ACK behind a READ of 2^31 bytes, whose end is lost", run_long,
	  0, 10 },
	{ "asks-round", "the last PSN of a READ, 2^24 packets later", run_round, 0, 10 },
	{ "asks-far", "a peer so far away that who asks late is not answered in time", run_far,
	  0, 10 },
	{ "asks-answered", "for no READ that a failure is behind", run_answered, 0, 10 },
	{ "asks-back", "once, from where the last one is", run_back, 0, 10 },
	{ "asks-waited", "the ACK of one that is waited for, which is lost", run_waited, 0, 10 },
	{ "asks-ready", "twice, and the peer ready for the second only", run_ready, 0, 1 },
	{ "lost-unready", "once more after the peer was not ready", run_unready, 0, 10 },
	{ "asks-untimed", "no ACK timer, and no room to ask", run_untimed, 0, 1 },
	{ "asks-others", "no room to ask, but for others", run_others, 0, 10 },
	{ "asks-loops", "no room to ask, and others that need none", run_loops, 0, 10 },
	{ "asks-late", "a timer that is late", run_late, 0, 10 },
	{ "asks-next", "what nobody waits for, and what follows", run_next, 0, 10 },
	{ "asks-pieces", "a long READ, by as many packets as may be", run_pieces, 0, 60 },
	{ "asks-trusted", "at once what a kernel consumer sends", run_trusted, 0, 30 },
	{ "asks-shrunk", "what is posted while the window has become smaller", run_shrunk, 0, 10 },
	{ "asks-bells", "doorbells for what is not looked at by itself", run_bells, 0, 10 },
	{ NULL, NULL, NULL, 0, 0, 0 }
};
