// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * UC, UD, shared receive queues and the states SQD and SQE, one thing at a time:
 * the observer judges each packet, here it is made sure that there is something
 * to judge. Single-threaded.
 */
#include "sim.h"

static struct sim_cfg cfg_of(u8 transport)
{
	struct sim_cfg cfg = sim_plain();

	cfg.max_len = 1 << 18;
	cfg.timeout = 10;
	cfg.min_rnr = 5;
	cfg.uc = transport == XROCE_UC ? 10000 : 0;
	cfg.ud = transport == XROCE_UD ? 10000 : 0;
	return cfg;
}

static u8 any_transport(void)
{
	static const u8 t[] = { XROCE_RC, XROCE_UC, XROCE_UD };

	return t[sim_below(3)];
}

static u8 unreliable(void)
{
	return sim_chance(5000) ? XROCE_UC : XROCE_UD;
}

static struct sim_op *post_to(struct sim_ep *ep, u8 wr, u32 len,
			      struct sim_ep *to, struct sim_ah *ah)
{
	struct sim_opt opt = { .wr = wr, .len = len, .nsge = 1,
			       .signaled = true, .ah = ah };
	struct sim_op *op;

	if (ep->transport == XROCE_UD && to) {
		opt.qpn = to->qp.hot.qpn;
		opt.qkey = to->qkey;
	}
	op = sim_post(ep, &opt);
	sim_check(op, "no room");
	return op;
}

/* The handle of a node to another one. */
static struct sim_ah *ah_to(struct sim_node *n, struct sim_node *to, bool v6)
{
	u32 i;

	for (i = 0; i < SIM_AHS; i++)
		if (n->ah[i] && n->ah[i]->to == to && n->ah[i]->v6 == v6)
			return n->ah[i];
	sim_fail("no address handle");
}

/* A send to the peer that is received, if there is a receive. */
static struct sim_op *post_one(struct sim_ep *ep, u32 len)
{
	return post_to(ep, XROCE_WR_SEND, len, ep->peer,
		       ep->transport == XROCE_UD ?
		       ah_to(ep->node, ep->peer->node, sim_chance(5000)) :
		       NULL);
}

static void post_some(struct sim_ep *ep, u32 n)
{
	while (n--)
		post_one(ep, sim_below(min(ep->mtu, ep->peer->msg_max) + 1));
}

static u32 lose_at, sent_pkts;

static bool lose_one(struct sim_ep *from, const u8 *buf, u32 len,
		     const struct xroce_pkt *p)
{
	(void)from;
	(void)buf;
	(void)len;
	(void)p;
	return sent_pkts++ == lose_at;
}

/* One packet of a long message lost: the message is, its receive is not. */
static void run_uc_whole(u64 seed)
{
	struct sim_cfg cfg = cfg_of(XROCE_UC);
	bool send = sim_chance(5000), imm = sim_chance(5000);
	u8 wr = (send ? XROCE_WR_SEND : XROCE_WR_RDMA_WRITE) + imm;
	struct sim_conn *c = sim_pair(&cfg);
	struct sim_ep *ep = &c->ep[0], *to = &c->ep[1];
	u32 len = sim_range(2, 1 << 18), npkt, got;

	(void)seed;
	npkt = DIV_ROUND_UP(len, ep->mtu);
	sim_check(sim_post_recv(to, 1 << 18, 4) && sim_post_recv(to, 64, 1),
		  "no room");
	lose_at = sim_below(npkt);
	sent_pkts = 0;
	W->drop = lose_one;
	post_to(ep, wr, len, to, NULL);
	sim_settle_all(SIM_MS);
	sim_check(sent_pkts == npkt, "%u packets sent of %u", sent_pkts, npkt);
	sim_run_until(sim_now() + SIM_MS);
	sim_poll_all();
	is(RX_SEND, 0);
	sim_check(!to->u.due.n && to->recvs.n + !!to->u.held == 2,
		  "a receive is gone");
	/* And another one comes through, into the same. */
	got = to->recvs.n;
	post_to(ep, XROCE_WR_SEND_WITH_IMM, 1 << 17, to, NULL);
	sim_settle_all(SIM_MS);
	sim_run_until(sim_now() + SIM_MS);
	is(RX_SEND, 1);
	sim_poll_all();
	sim_check(to->recvs.n == 1 && got >= 1, "the wrong receive");
	is(ACKS_SENT, 0);
	is(TIMEOUT, 0);
	is(RETRANS, 0);
	is(NAK_SEQ_SENT, 0);
	sim_check(!ep->timer_at && !to->timer_at, "a timer runs");
	sim_finish();
}

/* The same datagram, to an address that is not the node's. */
static bool readdress(struct sim_ep *from, const u8 *buf, u32 len,
		      const struct xroce_pkt *p)
{
	u8 b[48 + 24 + 4096 + 8];

	(void)p;
	memcpy(b, buf, len);
	b[b[0] >> 4 == 4 ? 18 : 30] ^= 1 << sim_below(8);
	wire_icrc_set(b, len);
	sim_raw_rx(from->peer->node, b, len, false);
	return true;
}

/* The same datagram with more than any MTU in it. */
static bool lengthen(struct sim_ep *from, const u8 *buf, u32 len, const struct xroce_pkt *p)
{
	u8 b[48 + 24 + 4104 + 8];
	u32 l3 = buf[0] >> 4 == 4 ? 20 : 40, n = l3 + 8 + p->hdr_len + 4104 + 4;

	(void)len;
	memset(b, 7, sizeof(b));
	memcpy(b, buf, l3 + 8 + p->hdr_len);
	sim_put_len(b, n);
	wire_icrc_set(b, n);
	sim_raw_rx(from->peer->node, b, n, false);
	return true;
}

/* Every rule of a datagram's way, one after the other. */
static void run_ud_rules(u64 seed)
{
	struct sim_cfg cfg = cfg_of(XROCE_UD);
	struct sim_opt opt = { .wr = XROCE_WR_SEND_WITH_IMM, .nsge = 1,
			       .signaled = true };
	struct sim_conn *c = sim_pair(&cfg);
	struct sim_ep *ep = &c->ep[0], *to = &c->ep[1];
	u32 i, g = sim_below(SIM_GROUPS);

	(void)seed;
	opt.ah = ah_to(ep->node, to->node, sim_chance(5000));
	opt.qpn = to->qp.hot.qpn;
	opt.len = sim_range(1, ep->mtu);
	/* Nobody waits for it. */
	opt.qkey = to->qkey;
	sim_post(ep, &opt);
	sim_settle_all(SIM_MS);
	sim_run_until(sim_now() + SIM_MS);
	is(DROP_NO_RECV, 1);
	/* A byte too long: the receive stays. */
	sim_post_recv(to, XROCE_GRH_LEN + opt.len - 1, 1);
	sim_post_recv(to, XROCE_GRH_LEN + opt.len, 3);
	sim_post(ep, &opt);
	sim_settle_all(SIM_MS);
	sim_run_until(sim_now() + SIM_MS);
	is(DROP_TOO_LONG, 1);
	is(RX_SEND, 0);
	opt.len--;
	sim_post(ep, &opt);
	opt.len++;
	sim_post(ep, &opt);
	sim_settle_all(SIM_MS);
	sim_run_until(sim_now() + SIM_MS);
	sim_poll_all();
	is(RX_SEND, 2);
	/* Q_Keys: wrong; the sender's own, which is wrong, and is right. */
	sim_post_recvs(to);
	opt.qkey = to->qkey ^ 1u << sim_below(31);
	sim_post(ep, &opt);
	opt.qkey = to->qkey | 1u << 31;
	sim_post(ep, &opt);
	sim_settle_all(SIM_MS);
	sim_run_until(sim_now() + SIM_MS);
	is(DROP_QKEY, 2);
	is(RX_SEND, 2);
	for (i = 0; i < 2; i++) {
		struct xroce_attr attr = { .qkey = ep->qkey };

		to->qkey = ep->qkey;
		sim_ep_modify(to, &attr, XROCE_ATTR_QKEY);
		sim_post(ep, &opt);
		opt.qkey = 1u << 31;
	}
	sim_settle_all(SIM_MS);
	sim_run_until(sim_now() + SIM_MS);
	is(RX_SEND, 4);
	W->drop = readdress;
	sim_post(ep, &opt);
	sim_settle_all(SIM_MS);
	is(DROP_ADDR, 1);
	W->drop = lengthen;
	sim_post(ep, &opt);
	sim_settle_all(SIM_MS);
	W->drop = NULL;
	is(DROP_LENGTH, 1);
	is(RX_SEND, 4);
	/* A group: both, one, nobody. */
	sim_post_recvs(ep);
	for (i = 0; i < SIM_AHS && !(ep->node->ah[i] && !ep->node->ah[i]->to &&
				     ep->node->ah[i]->group == g); i++)
		;
	opt.ah = ep->node->ah[i];
	opt.qpn = 0xffffff;
	ep->groups = to->groups = 1 << g;
	sim_post(ep, &opt);
	sim_settle_all(SIM_MS);
	sim_run_until(sim_now() + SIM_MS);
	is(RX_SEND, 6);
	is(DROP_GROUP, 0);
	ep->groups = ~(1u << g);
	sim_post(ep, &opt);
	sim_settle_all(SIM_MS);
	sim_run_until(sim_now() + SIM_MS);
	is(RX_SEND, 7);
	is(DROP_GROUP, 1);
	sim_poll_all();
	sim_finish();
}

/* A UC or connected QP in a group's number: nobody but UD hears that. */
static void run_group_only_ud(u64 seed)
{
	struct sim_cfg cfg = cfg_of(sim_chance(5000) ? XROCE_UC : XROCE_RC);
	struct sim_conn *c = sim_pair(&cfg);
	struct sim_ep *ep = &c->ep[0];
	u8 b[128] = {};
	u32 l3 = ep->qp.av.l3_len;

	(void)seed;
	ep->groups = ~0u;
	sim_post_recvs(ep);
	memcpy(b, c->ep[1].qp.av.l3, l3);
	sim_gid_of(NULL, l3 == 48, l3 == 48, b + 96);
	memcpy(b + (l3 == 28 ? 16 : 24), b + 96 + (l3 == 28 ? 12 : 0),
	       l3 == 28 ? 4 : 16);
	sim_put_len(b, l3 + 16);
	sim_put_bth(b + l3, ep->transport | 4, 0xffffff, ep->qp.hot.epsn);
	wire_icrc_set(b, l3 + 16);
	sim_raw_rx(ep->node, b, l3 + 16, false);
	is(DROP_TRANSPORT, 1);
	is(RX_SEND, 0);
	sim_finish();
}

/* SQE. */

static u32 take_part(struct sim_ep *ep, struct xroce_frame **f, u32 n)
{
	(void)ep;
	(void)f;
	return sim_below(n + 1);
}

/* All sends back, one way or the other; receives go on. */
static void into_sqe(struct sim_ep *ep)
{
	struct sim_op *bad;
	u64 done = W->ops_done, failed = W->ops_failed;
	u32 before = sim_below(20), after = sim_below(10), i;

	sim_post_recvs(ep->peer);
	for (i = 0; i < before; i++)
		post_one(ep, sim_below(min(4 * ep->mtu, ep->transport ==
				       XROCE_UD ? ep->mtu :
				       ep->peer->msg_max) + 1));
	bad = unrel_post_bad(ep);
	sim_check(bad, "no room");
	post_some(ep, after);
	sim_settle_all(SIM_SEC);
	sim_check(ep->qp.hot.state == XROCE_QPS_SQE &&
		  ep->state == SIM_EP_SQE, "state %u", ep->qp.hot.state);
	sim_check(W->ops_done - done == before &&
		  W->ops_failed - failed == after + 1, "%u done, %u failed, of"
		  " %u and %u", (u32)(W->ops_done - done),
		  (u32)(W->ops_failed - failed), before, after + 1);
	/* Whatever is sent now comes back too. */
	post_some(ep, i = sim_below(5));
	sim_settle_all(SIM_SEC);
	sim_check(W->ops_failed - failed == after + 1 + i, "not flushed");
}

static void check_traffic(struct sim_ep *ep)
{
	u64 had;
	u32 n;

	sim_run_until(sim_now() + SIM_MS);
	sim_poll_all();
	sim_post_recvs(ep->peer);
	had = sim_count(XROCE_CNT_RX_SEND);
	n = ep->peer->srq ? min(10u, ep->peer->srq->posted.n) : 10;
	post_some(ep, n);
	sim_settle_all(SIM_SEC);
	sim_run_until(sim_now() + SIM_MS);
	sim_poll_all();
	is(RX_SEND, had + n);
}

static void run_sqe(u64 seed)
{
	struct sim_cfg cfg = cfg_of(unreliable());
	struct sim_conn *c;
	struct sim_ep *ep;
	u32 round;

	(void)seed;
	cfg.srq = sim_chance(5000) ? 10000 : 0;
	c = sim_pair(&cfg);
	ep = &c->ep[0];
	for (round = 0; round < 3; round++) {
		W->take = sim_chance(5000) ? take_part : NULL;
		into_sqe(ep);
		W->take = NULL;
		check_traffic(ep->peer);
		sim_check(ep->qp.hot.state == XROCE_QPS_SQE, "state");
		if (round == 2)
			break;
		sim_check(unrel_recover(ep), "no way back");
		check_traffic(ep);
	}
	/* From SQE to ERR: receives are flushed as well. */
	sim_close_begin(c, true);
	sim_run_until(sim_now() + SIM_MS);
	sim_close_end(c);
	sim_connect(c, true);
	check_traffic(ep);
	sim_finish();
}

/* More than is flushed at once, and the way back before the rest is. */
static void run_sqe_many(u64 seed)
{
	struct sim_opt opt = { .wr = XROCE_WR_SEND };
	struct sim_cfg cfg = cfg_of(XROCE_UC);
	struct sim_ep *ep;
	u64 dropped;
	u32 i;

	(void)seed;
	cfg.depth = 65536;
	ep = &sim_pair(&cfg)->ep[0];
	sim_check(unrel_post_bad(ep), "no room");
	sim_settle_all(SIM_SEC);
	sim_check(ep->state == SIM_EP_SQE, "state %u", ep->qp.hot.state);
	/* What of the bad one has left is dropped. */
	sim_run_until(sim_now() + SIM_MS);
	dropped = sim_count(XROCE_CNT_DROP_NO_RECV);
	for (i = 1; i <= 40000; i++) {
		opt.more = i < 40000;
		sim_check(sim_post(ep, &opt), "no room");
	}
	/* As unrel_recover(), but that waits for them */
	ep->u.jump = true;
	ep->u.done = ep->sq_prod;
	sim_ep_state(ep, XROCE_QPS_RTS);
	sim_run_until(sim_now() + SIM_MS);
	sim_poll_all();
	sim_check(!ep->ops.n && ep->qp.hot.state == XROCE_QPS_RTS, "%u are left", ep->ops.n);
	is(RX_SEND, 0);
	is(DROP_NO_RECV, dropped);
	sim_world_free();
}

/* A program's index that is none: what it posted cannot be told, and nobody waits for it. */
static void run_sqe_index(u64 seed)
{
	struct sim_cfg cfg = cfg_of(XROCE_UC);
	struct sim_ep *ep = &sim_pair(&cfg)->ep[0];
	struct xroce_ring *ring = ep->qp.req.ring;

	(void)seed;
	sim_check(unrel_post_bad(ep), "no room");
	sim_settle_all(SIM_SEC);
	sim_check(ep->state == SIM_EP_SQE, "state %u", ep->qp.hot.state);
	W->checks_off = true;
	ring->prod += ep->sq_depth + 1 + sim_below(1u << 31);
	ep->u.jump = true;
	sim_ep_state(ep, XROCE_QPS_RTS);
	sim_run_until(sim_now() + SIM_MS);
	sim_check(ep->qp.hot.state == XROCE_QPS_RTS, "state %u", ep->qp.hot.state);
	sim_world_free();
}

/* Others wait for the wire: a datagram does too, whichever way the last one went. */
static void run_ud_turn(u64 seed)
{
	struct sim_cfg cfg = cfg_of(XROCE_UD);
	struct sim_ep *ep = &sim_pair(&cfg)->ep[0];
	u64 *turn = ep->node->dev.turn, untaken;
	bool here = seed & 1;

	if (here)
		post_to(ep, XROCE_WR_SEND, 10, ep, ah_to(ep->node, ep->node, false));
	else
		post_one(ep, 10);
	sim_settle_all(SIM_MS);
	turn[here && sim_chance(5000)] = 1;
	untaken = sim_count(XROCE_CNT_TX_UNTAKEN);
	post_one(ep, 10);
	sim_run_until(sim_now() + SIM_MS);
	sim_check((sim_count(XROCE_CNT_TX_UNTAKEN) > untaken) == !!turn[0],
		  turn[0] ? "sent out of its turn" : "waits for who goes another way");
	turn[0] = 0;
	turn[1] = 0;
	sim_settle_all(SIM_MS);
	sim_world_free();
}

/* A handle goes while what is sent by it waits. */
static void run_ah_gone(u64 seed)
{
	struct sim_cfg cfg = cfg_of(XROCE_UD);
	struct sim_conn *c;
	struct sim_ep *ep;
	struct sim_ah *ah;
	u32 i;

	(void)seed;
	c = sim_pair(&cfg);
	ep = &c->ep[0];
	sim_post_recvs(ep->peer);
	W->take = take_part;
	ah = ah_to(ep->node, ep->peer->node, true);
	for (i = 0; i < 20; i++)
		post_to(ep, XROCE_WR_SEND, 100, ep->peer, ah);
	for (i = 0; ep->node->ah[i] != ah; i++)
		;
	sim_ah_destroy(ep->node, i);
	/* Whoever comes by this number later does not get it. */
	sim_ah_new(ep->node, ep->node, 0, true);
	post_to(ep, XROCE_WR_SEND, 100, ep->peer, ah)->status =
		XROCE_WC_LOC_QP_OP_ERR;
	sim_settle_all(SIM_SEC);
	sim_check(ep->first_err == XROCE_WC_LOC_QP_OP_ERR &&
		  ep->state == SIM_EP_SQE, "status %u", ep->first_err);
	W->take = NULL;
	sim_check(unrel_recover(ep), "no way back");
	sim_ah_new(ep->node, ep->peer->node, 0, true);
	check_traffic(ep);
	sim_finish();
}

/* SQD. */

static void drain(struct sim_ep *ep, bool event)
{
	struct xroce_attr attr = { .state = XROCE_QPS_SQD,
				   .sqd_notify = event };

	ep->sqd = true;
	ep->sqd_event = event;
	ep->drained = false;
	sim_ep_modify(ep, &attr, XROCE_ATTR_STATE |
		      (event ? XROCE_ATTR_SQD_NOTIFY : 0));
}

static void go_on(struct sim_ep *ep)
{
	ep->sqd = ep->sqd_event = ep->drained = false;
	sim_ep_state(ep, XROCE_QPS_RTS);
	sim_check(ep->qp.hot.state == XROCE_QPS_RTS, "state %u",
		  ep->qp.hot.state);
}

static u32 av_left;

/* Another path, while a burst is with the device: one of the few things that SQD
 * is for.
 */
static u32 take_and_move(struct sim_ep *ep, struct xroce_frame **f, u32 n)
{
	struct xroce_attr attr = { .av = ep->av };
	u32 taken = sim_below(n + 1), i;

	(void)f;
	if (ep->qp.hot.state == XROCE_QPS_RTS && av_left) {
		for (i = 0; i < taken; i++)
			;
		drain(ep, true);
	}
	if (ep->qp.hot.state == XROCE_QPS_SQD && av_left &&
	    ep->transport != XROCE_UD) {
		av_left--;
		sim_ep_modify(ep, &attr, XROCE_ATTR_AV);
	}
	return taken;
}

static void run_sqd_event(u64 seed)
{
	struct sim_cfg cfg = cfg_of(any_transport());
	u32 round, left, events = 0, taken;
	struct sim_conn *c;
	struct sim_ep *ep;

	(void)seed;
	cfg.max_len = 1 << 15;
	cfg.loss = sim_chance(3000) ? 300 : 0;
	c = sim_pair(&cfg);
	ep = &c->ep[0];
	for (round = 0; round < 6; round++) {
		bool event = sim_chance(7000), idle = sim_chance(3000);

		sim_run_until(sim_now() + SIM_MS);
		sim_poll_all();
		sim_post_recvs(ep->peer);
		av_left = 0;
		W->take = idle ? NULL : sim_chance(5000) ? take_part :
							   take_and_move;
		if (W->take == take_and_move) {
			av_left = 3;
			event = true;
		}
		for (left = idle ? 0 : sim_range(1, 30); left; left--)
			post_one(ep, sim_below(ep->transport == XROCE_UD ?
					       ep->mtu : 4096));
		if (ep->qp.hot.state == XROCE_QPS_RTS)
			drain(ep, event);
		av_left = 0;
		events += event;
		if (idle)
			sim_check(ep->event[XROCE_EVENT_SQ_DRAINED] == events,
				  "drained already, and not at once");
		/* Some change their mind; an event wanted is none later. */
		if (!event || sim_chance(7000)) {
			sim_run_until(sim_now() + SIM_SEC);
		} else if (!ep->drained) {
			go_on(ep);
			events--;
			sim_settle_all(SIM_SEC);
			drain(ep, false);
			sim_run_until(sim_now() + SIM_SEC);
		}
		sim_check(ep->event[XROCE_EVENT_SQ_DRAINED] == events,
			  "QP %u: %u events of %u", ep->idx,
			  ep->event[XROCE_EVENT_SQ_DRAINED], events);
		sim_check(!xroce_req_draining(&ep->qp.req), "still draining");
		sim_poll_all();
		left = ep->ops.n;
		ep->drained = true;
		taken = sim_range(1, 5);
		post_some(ep, taken);
		sim_run_until(sim_now() + SIM_SEC);
		sim_poll_all();
		sim_check(ep->ops.n == left + taken, "%u completed in SQD",
			  left + taken - ep->ops.n);
		W->take = NULL;
		go_on(ep);
		sim_settle_all(SIM_SEC);
	}
	sim_finish();
}

/* The last to be done may be one that sends nothing, and is left to another CPU meanwhile. */
static void run_sqd_local(u64 seed)
{
	struct sim_opt opt = { .wr = XROCE_WR_RDMA_WRITE, .len = 64, .nsge = 1,
			       .signaled = true };
	struct sim_cfg cfg = sim_plain();
	struct sim_ep *ep;
	u32 i;

	(void)seed;
	cfg.rings = 1;
	cfg.delay = 100;
	cfg.jitter = 0;
	ep = &sim_pair(&cfg)->ep[0];
	for (i = 1; i <= 40; i++) {
		sim_check(sim_post(ep, &opt), "no room");
		sim_post_inv(ep, 0);
		sim_sq_push(ep, false);
		drain(ep, true);
		sim_run_until(sim_now() + SIM_SEC);
		sim_check(ep->event[XROCE_EVENT_SQ_DRAINED] == i, "%u events of %u",
			  ep->event[XROCE_EVENT_SQ_DRAINED], i);
		sim_poll_all();
		go_on(ep);
	}
	sim_finish();
}

static void t_opcode(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	(void)ep;
	w->opcode = XROCE_WR_LOCAL_INV;
}

static u32 take_and_drain(struct sim_ep *ep, struct xroce_frame **f, u32 n)
{
	(void)f;
	W->take = NULL;
	drain(ep, true);
	return n;
}

/* A bad one that was not begun is not looked at before RTS. */
static void run_sqd_bad(u64 seed)
{
	struct sim_opt opt = { .wr = XROCE_WR_SEND, .nsge = 1, .len = 10,
			       .signaled = true, .more = true };
	struct sim_cfg cfg = cfg_of(any_transport());
	struct sim_conn *c = sim_pair(&cfg);
	struct sim_ep *ep = &c->ep[0];
	u32 n = sim_range(1, 5), i;

	(void)seed;
	sim_post_recvs(ep->peer);
	if (ep->transport == XROCE_UD) {
		opt.ah = ah_to(ep->node, ep->peer->node, true);
		opt.qpn = ep->peer->qp.hot.qpn;
		opt.qkey = ep->peer->qkey;
	}
	for (i = 0; i < n; i++)
		sim_post(ep, &opt);
	opt.tweak = t_opcode;
	opt.status = XROCE_WC_LOC_QP_OP_ERR;
	opt.more = false;
	W->take = take_and_drain;
	sim_post(ep, &opt)->bad_opcode = true;
	sim_run_until(sim_now() + SIM_SEC);
	sim_poll_all();
	sim_check(ep->qp.hot.state == XROCE_QPS_SQD && ep->ops.n == 1,
		  "state %u, %u left", ep->qp.hot.state, ep->ops.n);
	sim_check(ep->event[XROCE_EVENT_SQ_DRAINED] == 1, "%u events",
		  ep->event[XROCE_EVENT_SQ_DRAINED]);
	sim_ep_state(ep, XROCE_QPS_RTS);
	ep->sqd = ep->drained = false;
	sim_settle_all(SIM_SEC);
	sim_check(ep->first_err == XROCE_WC_LOC_QP_OP_ERR, "status %u",
		  ep->first_err);
	sim_check(ep->qp.hot.state == (ep->transport == XROCE_RC ?
		  XROCE_QPS_ERR : XROCE_QPS_SQE), "state %u",
		  ep->qp.hot.state);
	sim_close_begin(c, true);
	sim_run_until(sim_now() + SIM_MS);
	sim_close_end(c);
	sim_finish();
}

/* Shared receive queues. */

static struct sim_srq *srq_pair(u8 transport, struct sim_conn **c)
{
	struct sim_cfg cfg = cfg_of(transport);

	cfg.max_len = 1 << 14;
	cfg.srq = 10000;
	*c = sim_pair(&cfg);
	return (*c)->ep[1].srq;
}

/* The event comes when fewer are left than said, once, and again if armed. */
static void run_srq_limit(u64 seed)
{
	struct sim_conn *c;
	struct sim_srq *srq = srq_pair(any_transport(), &c);
	struct sim_ep *ep = &c->ep[0];
	u32 round, n = srq->depth, limit, i;

	(void)seed;
	for (round = 0; round < 4; round++) {
		u32 was = srq->limits;

		sim_srq_fill(srq);
		limit = sim_range(1, n);
		sim_srq_arm(srq, limit);
		for (i = 0; i < n; i++) {
			post_one(ep, sim_below(200));
			sim_settle_all(SIM_SEC);
			sim_run_until(sim_now() + SIM_MS);
			sim_poll_all();
			sim_check(srq->limits - was == (n - i - 1 < limit),
				  "%u left, limit %u, %u events", n - i - 1,
				  limit, srq->limits - was);
		}
	}
	/* Also of one that is set when none is left: the next that wants one says so. */
	if (ep->qp.hot.transport == XROCE_RC) {
		n = srq->limits;
		sim_srq_arm(srq, 1);
		post_one(ep, 1);
		sim_run_until(sim_now() + SIM_MS);
		sim_check(srq->limits == n + 1, "%u events of an empty one", srq->limits - n);
	}
	sim_srq_fill(srq);
	sim_finish();
}

static struct xroce_recv_wqe *last_wqe(struct sim_srq *srq)
{
	return (void *)(srq->rq.ring->slot +
			((srq->prod - 1) & (srq->depth - 1)) * srq->stride);
}

/* Memory of the QP's domain is none of the SRQ's; nor is a malformed one good. */
static void run_srq_bad(u64 seed)
{
	struct sim_conn *c;
	u8 transport = any_transport();
	struct sim_srq *srq = srq_pair(transport, &c);
	struct sim_ep *ep = &c->ep[0], *to = &c->ep[1];
	bool pd = sim_chance(5000);
	struct sim_recv *rv = sim_srq_post(srq, srq->slot_len, 1);
	struct xroce_recv_wqe *w = last_wqe(srq);
	struct sim_op *op;

	(void)seed;
	if (pd) {
		w->sge[0].lkey = to->rcv->mr.key;
		w->sge[0].addr = sim_region_addr(to->rcv, 0);
		rv->bad = XROCE_WC_LOC_PROT_ERR;
	} else {
		w->num_sge = sim_chance(5000) ? ~0u : srq->max_sge + 1;
		rv->bad = XROCE_WC_LOC_QP_OP_ERR;
	}
	sim_srq_fill(srq);
	op = post_one(ep, sim_range(1, 200));
	if (transport == XROCE_RC) {
		op->status = XROCE_WC_REM_OP_ERR;
		op->msg->status = rv->bad;
	}
	sim_settle_all(SIM_SEC);
	sim_run_until(sim_now() + SIM_MS);
	sim_poll_all();
	sim_check(to->qp.hot.state == XROCE_QPS_ERR, "state %u",
		  to->qp.hot.state);
	sim_check(to->event[XROCE_EVENT_LAST_WQE] == 1, "%u events for the last"
		  " WQE", to->event[XROCE_EVENT_LAST_WQE]);
	sim_close_begin(c, true);
	sim_run_until(sim_now() + SIM_MS);
	sim_close_end(c);
	sim_connect(c, true);
	check_traffic(ep);
	sim_finish();
}

/* A QP goes in the middle of a message: the queue is the others', still. */
static void run_srq_gone(u64 seed)
{
	struct sim_conn *c, *d;
	u8 transport = sim_chance(5000) ? XROCE_RC : XROCE_UC;
	struct sim_srq *srq = srq_pair(transport, &c);
	struct sim_ep *ep = &c->ep[0], *to = &c->ep[1];
	u32 how = sim_below(3), left, other;

	(void)seed;
	other = W->node[1]->srq[0] == srq;
	W->node[1]->srq[other] = srq;	/* this one, whichever is drawn */
	W->cfg.uc = sim_below(2) * 10000;
	d = sim_conn_new(W->node[0], W->node[1]);
	sim_connect(d, true);
	W->node[1]->srq[other] = NULL;
	sim_srq_fill(srq);
	left = srq->posted.n;
	sent_pkts = 0;
	lose_at = 2;
	W->drop = lose_one;
	post_one(ep, 8 * ep->mtu > srq->slot_len ? srq->slot_len : 8 * ep->mtu);
	sim_run_until(sim_now() + 15 * SIM_US);
	sim_poll_all();
	if (sent_pkts > 1)
		sim_check(srq->posted.n == left - 1, "%u of %u left",
			  srq->posted.n, left);
	W->drop = NULL;
	if (how == 0) {		/* destroyed, as the module does it */
		to->node->qp[to->qp.hot.qpn % SIM_TAB] = NULL;
		xroce_qp_kill(&to->qp);
		ep->expect_err = true;
		sim_ep_state(ep, XROCE_QPS_ERR);
	} else {
		sim_close_begin(c, how == 1);
		sim_run_until(sim_now() + SIM_MS);
		sim_close_end(c);
	}
	check_traffic(&d->ep[0]);
	sim_poll_all();
	W->net_off = true;
	sim_run_until(sim_now() + SIM_SEC);
	sim_poll_all();
	unrel_quiet();
	sim_total_ops += W->ops_done;
	sim_world_free();
}

const struct sim_scenario sim_service_scenarios[] = {
	{ "uc-whole", "a packet lost is a message lost, not a receive",
	  run_uc_whole, 0, 200 },
	{ "ud-rules", "Q_Keys, lengths, groups", run_ud_rules, 0, 100 },
	{ "group", "who is not UD hears nothing of groups", run_group_only_ud,
	  0, 10 },
	{ "sqe", "a send fails: all sends are flushed, receive goes on",
	  run_sqe, 0, 400 },
	{ "sqe-index", "the way back, past an index that is none", run_sqe_index, 0, 10 },
	{ "sqe-many", "more than at once, before the way back", run_sqe_many, 0, 3 },
	{ "ud-turn", "a datagram waits for its own way's turn", run_ud_turn, 0, 20 },
	{ "ah-gone", "an address handle destroyed in use", run_ah_gone, 0, 50 },
	{ "sqd-event", "drained: said once, to who asked", run_sqd_event, 0,
	  200 },
	{ "sqd-local", "and where the last to be done sends nothing", run_sqd_local, 0, 20 },
	{ "sqd-bad", "what is bad and not begun waits in SQD", run_sqd_bad, 0,
	  50 },
	{ "srq-limit", "the event, once for each arming", run_srq_limit, 0,
	  30 },
	{ "srq-bad", "a receive that is bad, or another domain's",
	  run_srq_bad, 0, 60 },
	{ "srq-gone", "a QP ends with a receive in its hands", run_srq_gone, 0,
	  60 },
	{ NULL, NULL, NULL, 0, 0 }
};
