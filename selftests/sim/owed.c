// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A QP ends, by its user's will, while its peer waits to be told what it has
 * received. Single-threaded; others send and receive while a burst is with the
 * device.
 */
#include "sim.h"
#include "lost.h"

static struct {
	u32 how;		/* destroyed, to ERR, to RESET, or by a packet */
	u32 psn;		/* up to here it had heard */
	struct sim_ep *who;
	bool done;
} end;

/* A READ, or its response, that comes once more, or late */
static struct {
	u8 buf[256];
	u32 len;
	struct sim_ep *ends;	/* when its response is with the device */
} kept;

static void post_bytes(struct sim_ep *ep, u8 wr, u32 len, bool more)
{
	struct sim_opt opt = { .wr = wr, .len = len, .nsge = 1, .signaled = true,
			       .more = more };

	sim_check(sim_post(ep, &opt), "no room");
}

static void post(struct sim_ep *ep, u8 wr, bool more)
{
	post_bytes(ep, wr, 4096, more);
}

static struct sim_ep *begin(u32 how)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_ep *ep;

	/* No CNP, which goes before an ACK. */
	cfg.unmarked = true;
	memset(&end, 0, sizeof(end));
	end.how = how;
	cfg.smp = 10000;
	ep = &sim_pair(&cfg)->ep[0];
	ep->peer->expect_err = true;
	return ep;
}

static void end_it(struct sim_ep *ep)
{
	W->take = NULL;
	end.done = true;
	end.psn = ep->qp.hot.epsn;
	if (end.how == 0) {
		xroce_qp_kill(&ep->qp);
	} else if (end.how == 3) {
		sim_core_enter();
		sim_check(xroce_mr_end(&ep->loc->mr), "a window is bound to it");
		sim_core_leave();
		sim_raw_rx(ep->node, kept.buf, kept.len, false);
		sim_check(ep->qp.hot.state == XROCE_QPS_ERR, "state %u", ep->qp.hot.state);
	} else {
		sim_ep_state(ep, end.how == 1 ? XROCE_QPS_ERR : XROCE_QPS_RESET);
	}
}

static u32 take_no_ack(struct sim_ep *ep, struct xroce_frame **f, u32 n)
{
	return ep == &ep->conn->ep[1] && f[0]->is.kind == XROCE_FRAME_ACK ? 0 : n;
}

/* As soon as it owes an ACK; another CPU may be sending then. */
static void end_owing(void *arg)
{
	struct sim_ep *ep = arg;

	if (ep->qp.hot.resp_flags & XROCE_RESP_ACK)
		end_it(ep);
	else
		sim_at(sim_now() + 100, SIM_EV_FN, end_owing, ep, 0);
}

static void run_owed(u64 seed)
{
	struct sim_ep *ep = begin(sim_below(3));
	u32 i, n;

	(void)seed;
	W->take = take_no_ack;
	sim_at(sim_now(), SIM_EV_FN, end_owing, ep->peer, 0);
	for (i = 0, n = sim_range(1, 20); i < n; i++)
		post(ep, XROCE_WR_RDMA_WRITE, false);
	/* A reset forgets at once what another CPU was to send. */
	for (i = 0; i < n && end.how != 2; i++)
		post(ep->peer, XROCE_WR_RDMA_WRITE, false);
	sim_run_until(sim_now() + SIM_MS);
	sim_check(end.done && xroce_psn_diff(ep->qp.hot.una, end.psn) >= 0,
		  "acknowledged up to %06x, not %06x", ep->qp.hot.una, end.psn);
	sim_world_free();
}

/* The device has no room for all of an answer, and the QP goes to ERR meanwhile. */
static u32 take_some(struct sim_ep *ep, struct xroce_frame **f, u32 n)
{
	if (ep != &ep->conn->ep[1] || f[0]->is.kind != XROCE_FRAME_RD_RESP ||
	    f[n - 1]->is.kind != XROCE_FRAME_ACK)
		return n;
	end_it(ep);
	return sim_below(n);
}

/* What is not answered any more is not passed over: who observes the wire sees. */
static void run_owed_read(u64 seed)
{
	struct sim_ep *ep = begin(1);
	u32 i, len = 8 << ep->qp.hot.mtu_shift;

	(void)seed;
	W->take = take_some;
	for (i = 0; i < 500 && !end.done; i++) {
		/* Together, and short, so that both are answered in one burst. */
		post_bytes(ep, XROCE_WR_RDMA_READ, len, true);
		post_bytes(ep, XROCE_WR_RDMA_WRITE, len, false);
		sim_run_until(sim_now() + 200 * SIM_US);
		sim_poll_all();
	}
	sim_check(end.done, "no burst had responses and an ACK at its end");
	sim_run_until(sim_now() + SIM_MS);
	sim_world_free();
}

/*
 * For whom there is no room to the end, on the wire or on this host: it has a turn after
 * a while, and others do not wait for who has gone.
 */
static void run_owed_full(u64 seed)
{
	struct sim_ep *ep = begin(0);
	bool here = sim_chance(5000);
	u64 *turn, until = sim_now() + 2900 * SIM_US;

	(void)seed;
	if (here) {
		ep = &sim_conn_new(W->node[0], W->node[0])->ep[0];
		sim_connect(ep->conn, true);
	}
	turn = ep->peer->node->dev.turn;
	W->take = take_no_ack;
	post(ep, XROCE_WR_RDMA_WRITE, false);
	while (sim_now() < until) {
		sim_run_until(sim_now() + 20 * SIM_US);
		sim_check(!turn[0] && !turn[1], "a turn, before others had theirs");
	}
	sim_run_until(until + sim_range(2, 12) * SIM_MS);
	sim_check(ep->peer->qp.full, "there was room");
	/* Its turn may have come just now. */
	if (sim_chance(5000))
		cmpxchg(&turn[here], 0, ep->peer->qp.since);
	xroce_qp_kill(&ep->peer->qp);
	sim_check(!turn[0] && !turn[1], "it is the turn of who has gone");
	sim_world_free();
}

/*
 * Another QP waits for room. Who ends has one look even so: it has no second. Who goes
 * on has none, and so does not know that there is little.
 */
static void run_owed_turn(u64 seed)
{
	struct sim_ep *ep = begin(2 * sim_below(2));
	u64 *turn = W->node[1]->dev.turn;

	(void)seed;
	turn[0] = 1;
	post(ep, XROCE_WR_RDMA_WRITE, false);
	sim_run_until(sim_now() + sim_range(10, 2000) * SIM_US);
	sim_check(ep->qp.hot.una != ep->peer->qp.hot.epsn, "out of its turn");
	sim_check(!W->node[1]->dev.less, "fewer for everybody, %u", W->node[1]->dev.less);
	end_it(ep->peer);
	turn[0] = 0;
	sim_run_until(sim_now() + SIM_MS);
	sim_check(ep->qp.hot.una == end.psn, "acknowledged up to %06x, not %06x",
		  ep->qp.hot.una, end.psn);
	sim_world_free();
}

/* The frame that is to say so has been made, and is not asked to be taken. */
static void end_unlocked(const spinlock_t *l)
{
	struct sim_ep *ep = end.who;

	if (l != &ep->qp.lock || !ep->qp.sending || ep->qp.hot.resp_flags & XROCE_RESP_ACK)
		return;
	W->unlocked = NULL;
	end_it(ep);
}

/* It ends on another CPU, between the look at whose turn it is and what follows. */
static void run_owed_race(u64 seed)
{
	struct sim_ep *ep = begin(0);
	u64 *turn = W->node[1]->dev.turn;

	(void)seed;
	turn[0] = 1;
	post(ep, XROCE_WR_RDMA_WRITE, false);
	sim_run_until(sim_now() + sim_range(10, 200) * SIM_US);
	end.who = ep->peer;
	W->unlocked = end_unlocked;
	sim_run_until(sim_now() + 20 * SIM_MS);
	sim_check(end.done, "never looked");
	turn[0] = 0;
	sim_check(ep->qp.hot.una == end.psn, "acknowledged up to %06x, not %06x",
		  ep->qp.hot.una, end.psn);
	sim_world_free();
}

static u32 take_no_answer(struct sim_ep *ep, struct xroce_frame **f, u32 n)
{
	(void)f;
	return ep == &ep->conn->ep[1] ? 0 : n;
}

static bool keep_response(struct sim_ep *from, const u8 *buf, u32 len,
			  const struct xroce_pkt *p)
{
	(void)from;
	if (!(p->info & XROCE_OP_RESPONSE) || len > sizeof(kept.buf))
		return false;
	memcpy(kept.buf, buf, len);
	kept.len = len;
	return true;
}

/* Its own READ is answered, but not yet received, and the memory for it goes. */
static void begin_late(struct sim_ep *ep)
{
	struct sim_opt opt = { .wr = XROCE_WR_RDMA_READ, .len = 8, .nsge = 1,
			       .status = XROCE_WC_LOC_PROT_ERR };

	kept.len = 0;
	W->drop = keep_response;
	sim_check(sim_post(ep, &opt), "no room");
	sim_run_until(sim_now() + 100 * SIM_US);
	sim_check(kept.len, "no response");
	W->drop = NULL;
}

/* Behind it a READ, whose response the device does not take, or is with it just then. */
static void run_owed_before(u64 seed)
{
	struct sim_ep *ep = begin(sim_below(4));
	u32 i, n = sim_range(1, 3);
	u32 before = xroce_psn_add(ep->qp.hot.una, n * 4096 / ep->mtu);

	(void)seed;
	if (end.how == 3)
		begin_late(ep->peer);
	W->take = take_no_answer;
	for (i = 0; i < n; i++)
		post(ep, XROCE_WR_RDMA_WRITE, i < n - 1 || sim_chance(5000));
	for (i = sim_range(1, 2); i; i--)
		post(ep, XROCE_WR_RDMA_READ, i > 1);
	if (sim_chance(5000))
		post(ep, XROCE_WR_RDMA_WRITE, false);
	sim_run_until(sim_now() + 500 * SIM_US);
	sim_check(xroce_psn_diff(ep->peer->qp.hot.epsn, before) > 0, "no READ was received");
	end_it(ep->peer);
	sim_run_until(sim_now() + SIM_MS);
	sim_check(ep->qp.hot.una == before, "acknowledged up to %06x, not %06x",
		  ep->qp.hot.una, before);
	sim_world_free();
}

static bool keep_read(struct sim_ep *from, const u8 *buf, u32 len, const struct xroce_pkt *p)
{
	(void)from;
	if (p->info & XROCE_OP_READ && p->info & XROCE_OP_REQUEST) {
		sim_check(len <= sizeof(kept.buf), "a READ of %u bytes", len);
		memcpy(kept.buf, buf, len);
		kept.len = len;
	}
	return false;
}

static u32 take_none_end(struct sim_ep *ep, struct xroce_frame **f, u32 n)
{
	if (ep == kept.ends && f[0]->is.kind == XROCE_FRAME_RD_RESP) {
		kept.ends = NULL;
		end_it(ep);
		return 0;
	}
	return take_no_answer(ep, f, n);
}

/*
 * A READ that has been answered is asked for again, and says nothing of what came since.
 * But another may be behind it that has not.
 */
static void run_owed_again(u64 seed)
{
	bool sent = sim_chance(5000), another = sim_chance(5000);
	/* Who goes has no second look. */
	struct sim_ep *ep = begin(sent ? 1 : sim_below(2));
	u32 want;

	(void)seed;
	kept.len = 0;
	W->drop = keep_read;
	post(ep, XROCE_WR_RDMA_READ, false);
	sim_run_until(sim_now() + 200 * SIM_US);
	sim_poll_all();
	sim_check(kept.len && ep->qp.hot.una == ep->qp.hot.next, "no READ");
	W->drop = NULL;
	kept.ends = sent ? ep->peer : NULL;
	W->take = take_none_end;
	post(ep, XROCE_WR_RDMA_WRITE, false);
	sim_run_until(sim_now() + 100 * SIM_US);
	sim_check(ep->peer->qp.hot.resp_flags & XROCE_RESP_ACK, "no ACK is owed");
	sim_raw_rx(ep->peer->node, kept.buf, kept.len, false);
	sim_check(ep->peer->qp.resp.rd_active || sent, "it is not to be answered again");
	want = ep->peer->qp.hot.epsn;
	if (another && !sent) {
		post(ep, XROCE_WR_RDMA_READ, true);
		post(ep, XROCE_WR_RDMA_WRITE, false);
		sim_run_until(sim_now() + 100 * SIM_US);
		sim_check(ep->peer->qp.hot.epsn != want, "no second READ");
	}
	if (!sent)
		end_it(ep->peer);
	sim_run_until(sim_now() + SIM_MS);
	sim_check(end.done, "its response was never with the device");
	W->take = NULL;
	sim_run_until(sim_now() + SIM_MS);
	sim_check(ep->qp.hot.una == want, "acknowledged up to %06x, not %06x",
		  ep->qp.hot.una, want);
	sim_world_free();
}

/* What has left for the responder and waits there until a burst is with its device */
static struct {
	u8 buf[4][256];
	u32 len[4];
	u32 n;
	bool on, nak, over;
} held;

static bool hold(struct sim_ep *from, const u8 *buf, u32 len, const struct xroce_pkt *p)
{
	if (!held.on)
		return keep_read(from, buf, len, p);
	sim_check(held.n < 4 && len <= sizeof(held.buf[0]), "%u packets, %u bytes", held.n, len);
	memcpy(held.buf[held.n], buf, len);
	held.len[held.n++] = len;
	return true;
}

/* The device takes nothing, but answers to a READ before that. */
static u32 take_none_held(struct sim_ep *ep, struct xroce_frame **f, u32 n)
{
	u32 i;

	if (ep != &ep->conn->ep[1] || (f[0]->is.kind == XROCE_FRAME_RD_RESP && !held.n &&
				       !held.over))
		return n;
	if (held.over || held.on || !held.n || f[0]->is.kind != XROCE_FRAME_ACK ||
	    held.nak != (f[0]->is.syndrome != (XROCE_AETH_ACK | XROCE_AETH_NO_CREDIT)))
		return 0;
	held.over = true;
	if (kept.ends)
		sim_raw_rx(ep->node, kept.buf, kept.len, false);
	for (i = 0; i < held.n; i++)
		sim_raw_rx(ep->node, held.buf[i], held.len[i], false);
	return 0;
}

static u32 post_held(struct sim_ep *ep, u8 wr, bool on)
{
	struct sim_opt opt = { .wr = wr, .len = 8, .nsge = 1, .signaled = true };

	held.on = on;
	sim_check(sim_post(ep, &opt), "no room");
	sim_run_until(sim_now() + 20 * SIM_US);
	held.on = false;
	return ep->qp.hot.next;
}

/*
 * An ACK, or a NAK in its place, is with a device that does not take it, while the READ
 * comes that is not answered any more: behind another WRITE, or behind a READ asked for
 * again, or where the gap was that the NAK is about.
 */
static void run_owed_meanwhile(u64 seed)
{
	struct sim_ep *ep = begin(sim_below(2));
	u32 which = sim_below(3), want, i;

	(void)seed;
	memset(&held, 0, sizeof(held));
	held.nak = which == 2;
	W->checks_off = true;	/* for a READ that comes again, and nobody has asked for */
	W->drop = hold;
	W->take = take_none_held;
	post_held(ep, XROCE_WR_RDMA_READ, false);
	sim_check(ep->qp.hot.una == ep->qp.hot.next, "no answer");
	want = post_held(ep, XROCE_WR_RDMA_WRITE, false);
	kept.ends = which == 1 ? ep->peer : NULL;
	if (which == 0)
		want = post_held(ep, XROCE_WR_RDMA_WRITE, true);
	post_held(ep, XROCE_WR_RDMA_READ, true);
	if (sim_chance(5000))
		post_held(ep, XROCE_WR_RDMA_WRITE, true);
	if (which == 2)
		post_held(ep, XROCE_WR_RDMA_WRITE, false);
	for (i = 0; i < 100 && !held.over; i++)
		sim_run_until(sim_now() + 50 * SIM_US);
	sim_check(held.over, "no ACK or NAK was with the device");
	end_it(ep->peer);
	sim_run_until(sim_now() + SIM_MS);
	sim_check(ep->qp.hot.una == want, "acknowledged up to %06x, not %06x",
		  ep->qp.hot.una, want);
	sim_world_free();
}

/* Requests of a packet each, and of each what is known at the responder's device */
#define ANY_MAX	512

static struct {
	struct sim_ep *ep;	/* the requester */
	u32 base, n;
	bool read[ANY_MAX];
	bool taken[ANY_MAX];	/* its response */
	u8 buf[4][256];		/* the last READs */
	u32 len[4];
	u32 reads;
	u32 partial, repeat, ends;	/* of 10,000 bursts */
} any;

static bool any_keep(struct sim_ep *from, const u8 *buf, u32 len, const struct xroce_pkt *p)
{
	if (from == any.ep && p->info & XROCE_OP_READ) {
		sim_check(len <= sizeof(any.buf[0]), "a READ of %u bytes", len);
		memcpy(any.buf[any.reads % 4], buf, len);
		any.len[any.reads++ % 4] = len;
	}
	return false;
}

static void any_again(struct sim_node *to)
{
	u32 i = sim_below(4);

	if (i < any.reads && sim_chance(any.repeat))
		sim_raw_rx(to, any.buf[i], any.len[i], false);
}

static u32 any_psn(u32 psn)
{
	return (psn - any.base) & XROCE_PSN_MASK;
}

/* Return: the first request before @n that is a READ without an answer, or @n. */
static u32 any_unanswered(u32 n)
{
	u32 i;

	for (i = 0; i < n && (!any.read[i] || any.taken[i]); i++)
		;
	return i;
}

static u32 any_take(struct sim_ep *ep, struct xroce_frame **f, u32 n)
{
	const struct xroce_staged *is;
	u32 i, first;

	if (ep == any.ep)
		return n;
	if (!end.done) {
		any_again(ep->node);
		if (sim_chance(any.ends)) {
			end_it(ep);
			W->take = any_take;
			n = sim_below(n + 1);
		} else if (sim_chance(any.partial)) {
			n = sim_below(n + 1);
		}
	}
	for (i = 0; i < n; i++) {
		is = &f[i]->is;
		if (is->kind == XROCE_FRAME_RD_RESP) {
			any.taken[any_psn(is->psn)] = true;
		} else if (is->kind == XROCE_FRAME_ACK &&
			   is->syndrome == (XROCE_AETH_ACK | XROCE_AETH_NO_CREDIT)) {
			first = any_unanswered(any_psn(is->psn) + 1);
			sim_check(first > any_psn(is->psn), "ACK %06x behind an unanswered %06x",
				  is->psn, xroce_psn_add(any.base, first));
		}
	}
	return n;
}

/*
 * READs and WRITEs, the former again and again; a device that takes what it likes while
 * others receive; and an end at any moment. All before the first READ without an answer
 * is acknowledged, and nothing behind it.
 */
static void run_owed_any(u64 seed)
{
	struct sim_ep *ep = begin(sim_below(2)), *pe = ep->peer;
	u32 rounds = sim_range(1, 30), want, i;
	struct sim_opt opt = { .len = 8, .nsge = 1, .signaled = true };

	(void)seed;
	memset(&any, 0, sizeof(any));
	any.ep = ep;
	any.base = ep->qp.hot.next;
	any.partial = sim_below(10000);
	any.repeat = sim_below(2) * sim_below(8000);
	any.ends = end.how == 1 ? sim_below(600) : 0;
	W->checks_off = true;	/* for a READ that comes again, and nobody has asked for */
	W->drop = any_keep;
	W->take = any_take;
	for (; rounds && !end.done; rounds--) {
		for (i = sim_range(1, 4); i; i--) {
			opt.wr = sim_chance(4000) ? XROCE_WR_RDMA_READ : XROCE_WR_RDMA_WRITE;
			opt.more = i > 1;
			if (sim_post(ep, &opt))
				any.read[any.n++] = opt.wr == XROCE_WR_RDMA_READ;
		}
		sim_run_until(sim_now() + sim_below(60) * SIM_US);
		any_again(pe->node);
		if (sim_chance(3000))
			sim_poll_all();
	}
	if (!end.done) {
		end_it(pe);
		W->take = any_take;
	}
	sim_run_until(sim_now() + SIM_MS);
	want = xroce_psn_add(any.base, any_unanswered(any_psn(end.psn)));
	sim_check(ep->qp.hot.una == want, "acknowledged up to %06x, not %06x, of %06x",
		  ep->qp.hot.una, want, end.psn);
	sim_world_free();
}

/* The ACK timer goes off, and waits for the lock that the end of a QP drops to send its ACK. */
static u32 take_timer(struct sim_ep *ep, struct xroce_frame **f, u32 n)
{
	(void)f;
	if (ep != end.who)
		return n;
	end.who = NULL;
	ep->qp.req.waiting = 1;
	ep->qp.req.asked = true;
	xroce_qp_timer(&ep->qp);
	sim_check(ep->qp.hot.state == XROCE_QPS_RESET, "state %u", ep->qp.hot.state);
	return n;
}

static void reset_owing(void *arg)
{
	struct sim_ep *ep = arg;

	if (!(ep->qp.hot.resp_flags & XROCE_RESP_ACK)) {
		sim_at(sim_now() + 100, SIM_EV_FN, reset_owing, ep, 0);
		return;
	}
	end.done = true;
	W->take = take_timer;
	sim_ep_state(ep, XROCE_QPS_RESET);
}

/* No retries are left, and nothing fails but what is in error. */
static void run_reset_timer(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_ep *ep;

	(void)seed;
	cfg.unmarked = true;
	cfg.retry_cnt = 0;
	cfg.srq = 10000;
	memset(&end, 0, sizeof(end));
	ep = &sim_pair(&cfg)->ep[0];
	ep->expect_err = true;
	ep->peer->expect_err = true;
	end.who = ep;
	sim_drop(ep, XROCE_OP_REQUEST, 0, ~0u);
	post(ep, XROCE_WR_RDMA_WRITE, false);
	sim_at(sim_now(), SIM_EV_FN, reset_owing, ep, 0);
	post(ep->peer, XROCE_WR_RDMA_WRITE, false);
	sim_run_until(sim_now() + SIM_MS);
	sim_check(end.done && !end.who, "it did not send its ACK");
	sim_check(!ep->event[XROCE_EVENT_LAST_WQE] && !ep->qp.count[XROCE_CNT_RETRY_EXC],
		  "it went by ERR");
	sim_world_free();
}

const struct sim_scenario sim_owed_scenarios[] = {
	{ "reset-timer", "reset while its ACK timer waits for the lock", run_reset_timer, 0, 4 },
	{ "owed", "a QP ends that owes an ACK: its peer is told", run_owed, 0, 40 },
	{ "owed-read", "but not what lies behind a READ unanswered", run_owed_read,
	  0, 40 },
	{ "owed-full", "a QP ends that owes an ACK, and finds no room", run_owed_full, 0, 20 },
	{ "owed-turn", "the same, when it is another's turn", run_owed_turn, 0, 20 },
	{ "owed-race", "the same, and it ends between look and taking", run_owed_race, 0, 40 },
	{ "owed-before", "the same of what came before a READ unanswered", run_owed_before,
	  0, 60 },
	{ "owed-again", "and what came behind a READ repeated", run_owed_again, 0, 60 },
	{ "owed-meanwhile", "what is received while the device has an ACK that it does not take",
	  run_owed_meanwhile, 0, 60 },
	{ "owed-any", "of READs and WRITEs with a device that takes some of what is owed",
	  run_owed_any, 0, 300 },
	{ NULL, NULL, NULL, 0, 0, 0 }
};
