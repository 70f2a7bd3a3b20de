// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Scenarios beside traffic: flows that share a link, users and peers that mean
 * ill, a CQ that overflows; and the core's time. Single-threaded.
 */
#include <time.h>

#include "sim.h"

static struct sim_cfg plain_cfg(void)
{
	struct sim_cfg cfg = sim_plain();

	cfg.cwnd_init = 16;
	cfg.mtu_shift = 12;
	return cfg;
}

/* Fairness. */

#define FLOWS		4
#define WARM_UP		(200 * SIM_MS)
#define MEASURED	(4 * SIM_SEC)

/* Whose work it is: that of 1 is READs, which come the same way as 0's WRITEs. */
static u32 busy;

static void keep_busy(void *arg)
{
	struct sim_opt opt = { .wr = busy ? XROCE_WR_RDMA_READ : XROCE_WR_RDMA_WRITE,
			       .len = 1 << 16, .nsge = 1, .signaled = true };
	struct sim_ep *ep = arg;

	/* More than the path holds: the window decides, not the user. */
	while (ep->ops.n < 22 && sim_post(ep, &opt))
		;
}

static void flow_handler(struct sim_cq *cq)
{
	struct sim_conn *c;

	sim_poll(cq);
	sim_cq_arm(cq, XROCE_ARM_NEXT);
	for (c = W->conns; c; c = c->next)
		if (c->ep[busy].scq == cq)
			keep_busy(&c->ep[busy]);
}

static u32 acked(const struct sim_ep *ep)
{
	return ep->wire.una;
}

static void fair(u32 who, u32 mark_from)
{
	struct sim_cfg cfg = plain_cfg();
	u32 from[FLOWS], i = 0, n, lo = ~0u, hi = 0, sum = 0;
	struct sim_node *sink;
	struct sim_conn *c;
	u64 drops, pkts, marked;

	busy = who;
	cfg.nodes = FLOWS + 1;
	cfg.rate = 125000000;
	cfg.timeout = 12;
	cfg.delay = sim_range(20, 200) * SIM_US;
	cfg.queue = sim_range(800, 800) * 1000;
	cfg.mtu_shift = sim_range(11, 12);
	cfg.cwnd_max = 1024;
	cfg.max_len = 1 << 19;
	cfg.jitter = 2 * SIM_US;
	/* Marks at random would set the pace, and the queue stay empty. */
	cfg.unmarked = true;
	cfg.mark_from = mark_from;
	sim_world_new(&cfg, 0);
	sink = W->node[FLOWS];
	for (i = 0; i < FLOWS; i++) {
		c = sim_conn_new(W->node[i], sink);
		sim_connect(c, true);
		c->ep[busy].scq->handler = flow_handler;
		sim_cq_arm(c->ep[busy].scq, XROCE_ARM_NEXT);
		/* Those who come late get as much. */
		sim_at(sim_now() + i * 10 * SIM_MS, SIM_EV_FN, keep_busy,
		       &c->ep[busy], 0);
	}
	sim_run_until(sim_now() + WARM_UP);
	drops = sink->in_drops;
	pkts = sink->in_pkts;
	marked = sim_count(XROCE_CNT_MARKED);
	for (i = 0, c = W->conns; c; c = c->next)
		from[i++] = acked(&c->ep[busy]);
	sim_run_until(sim_now() + MEASURED);
	for (i = 0, c = W->conns; c; c = c->next, i++) {
		n = (acked(&c->ep[busy]) - from[i]) & XROCE_PSN_MASK;
		sim_trace("flow %u: %u packets, window %u", i, n,
			  c->ep[busy].qp.req.cwnd);
		lo = min(lo, n);
		hi = max(hi, n);
		sum += n;
	}
	drops = sink->in_drops - drops;
	pkts = sink->in_pkts - pkts;
	marked = sim_count(XROCE_CNT_MARKED) - marked;
	sim_trace("%llu of %llu packets lost", (unsigned long long)drops,
		  (unsigned long long)pkts);
	sim_check(drops * 100 < pkts, "%llu of %llu packets lost",
		  (unsigned long long)drops, (unsigned long long)pkts);
	/* They are heard: the queue stays short. */
	sim_check(marked * 5 < pkts, "%llu of %llu packets marked",
		  (unsigned long long)marked, (unsigned long long)pkts);
	sim_check(lo * FLOWS >= sum * 0.8 && hi * FLOWS <= sum * 1.2,
		  "the shares are between %u and %u of %u packets", lo, hi,
		  sum);
	/* And the link is in use. */
	sim_check((u64)sum << cfg.mtu_shift >= cfg.rate * (MEASURED / SIM_MS) / 1000 * 8 / 10,
		  "only %u packets", sum);
	sim_total_ops += W->ops_done;
	sim_world_free();
}

/* A switch that marks from an eighth of its queue on, as they do for RoCE. */
static void run_fair(u64 seed)
{
	(void)seed;
	fair(0, 100000);
}

static void run_fair_read(u64 seed)
{
	(void)seed;
	fair(1, 100000);
}

/* One that only drops. */
static void run_fair_drops(u64 seed)
{
	(void)seed;
	fair(0, 0);
}

/* Packets that must not count, among those that do. */

#define ASTRAY		8

static u32 forged[ASTRAY + 1];

/* Make a copy of a good packet bad in one way, whatever its ICRC says. */
static u32 forge(u8 *b, u32 len, u32 how)
{
	u32 ip = sim_put_len(b, len);
	u8 *bth = b + ip + 8;

	switch (how) {
	case 0:		/* another source */
		b[ip == 20 ? 15 : 23] ^= 1 << sim_below(8);
		break;
	case 1:		/* another destination */
		b[ip == 20 ? 19 : 39] ^= 1 << sim_below(8);
		break;
	case 2:		/* P_Key */
		bth[3] ^= 1 << sim_below(7);
		break;
	case 3:		/* no such QP */
		bth[5] ^= 1 << sim_below(8);
		break;
	case 4:		/* transport */
		bth[0] ^= 0x20 << sim_below(3);
		break;
	case 5:		/* version */
		bth[1] ^= 1 << sim_below(4);
		break;
	case 6:		/* cut short, in the headers perhaps */
		len = ip + 8 + sim_below(sim_chance(5000) ? 12 + 4 :
					 len - ip - 8 - 4);
		sim_put_len(b, len);
		break;
	case 7:		/* the content */
		bth[12 + sim_below(len - ip - 8 - 12)] ^= 1 << sim_below(8);
		return len;
	case ASTRAY:	/* all of it is right but where it comes to */
		return len;
	}
	if (len >= ip + 8 + 12 + 4)
		wire_icrc_set(b, len);
	return len;
}

/* A good packet that comes to another node than its QP's: it is counted there. */
static void astray(void *arg)
{
	struct sim_pkt *pkt = arg;
	u64 cnt[2][XROCE_CNT_MAX];
	struct xroce_qp was;
	u32 i;

	memcpy(&was, &pkt->ep->qp, sizeof(was));
	for (i = 0; i < 2; i++)
		memcpy(cnt[i], W->node[i]->cnt, sizeof(cnt[i]));
	cnt[pkt->to->idx][XROCE_CNT_DROP_DEVICE]++;
	sim_raw_rx(pkt->to, pkt->buf, pkt->len, pkt->ce);
	for (i = 0; i < 2; i++)
		sim_check(!memcmp(cnt[i], W->node[i]->cnt, sizeof(cnt[i])),
			  "node %u has counted otherwise what went astray", i);
	sim_check(!memcmp(&was, &pkt->ep->qp, sizeof(was)),
		  "what went astray has changed QP %u", pkt->ep->idx);
	sim_env_free_pkt(pkt);
}

static bool forge_hook(struct sim_ep *from, const u8 *buf, u32 len,
		       const struct xroce_pkt *p)
{
	struct sim_pkt *pkt;
	u32 how = sim_below(ASTRAY + 1);

	(void)p;
	if (!sim_chance(3000))
		return false;
	/* A cut that leaves a whole shorter packet is another packet. */
	if (how == 6 && (p->info & XROCE_OP_PAYLOAD) && len > 400)
		how = 7;
	/* One bit off an RC request of 16 bytes. */
	if (how == 4 && (p->info & XROCE_OP_CNP))
		how = 5;
	forged[how]++;
	pkt = calloc(1, sizeof(*pkt));
	pkt->to = from->peer->node;
	pkt->ep = from->peer;
	pkt->corrupted = true;
	pkt->buf = malloc(len);
	memcpy(pkt->buf, buf, len);
	pkt->len = forge(pkt->buf, len, how);
	if (how == 6 && pkt->len >= 20 + 8 + 12 + 4)
		pkt->buf[pkt->len - 1] ^= 1;
	pkt->forged = true;
	if (how == ASTRAY) {
		pkt->to = from->node;
		sim_at(sim_now() + sim_below(30000), SIM_EV_FN, astray, pkt, 0);
		return false;
	}
	sim_at(sim_now() + sim_below(30000), SIM_EV_PKT, NULL, pkt, 0);
	return false;
}

static void run_forged(u64 seed)
{
	struct sim_cfg cfg = plain_cfg();
	struct sim_conn *c;
	u32 i;

	(void)seed;
	memset(forged, 0, sizeof(forged));
	cfg.fixed = false;
	cfg.max_len = 1 << 13;
	sim_world_new(&cfg, 0);
	for (i = 0; i < 3; i++) {
		c = sim_conn_new(W->node[0], W->node[1]);
		sim_connect(c, true);
	}
	W->drop = forge_hook;
	sim_users_start(2000);
	sim_drain();
	W->drop = NULL;
	W->ops_wanted = 0;
	sim_run_until(sim_now() + 5 * SIM_MS);
	sim_verify_quiet();
	for (i = 0; i < ARRAY_SIZE(forged); i++)
		sim_check(forged[i], "no packet forged in way %u", i);
	sim_check(!sim_count(XROCE_CNT_TIMEOUT) && !W->reconnects,
		  "forged packets have an effect");
	sim_check(sim_count(XROCE_CNT_DROP_ADDR) &&
		  sim_count(XROCE_CNT_DROP_ICRC) &&
		  sim_count(XROCE_CNT_DROP_PKEY) &&
		  sim_count(XROCE_CNT_DROP_NO_QP) &&
		  sim_count(XROCE_CNT_DROP_TVER) &&
		  sim_count(XROCE_CNT_DROP_SHORT), "a drop was not counted");
	sim_total_ops += W->ops_done;
	sim_world_free();
}

/* A peer that is authentic and mad: what it sends is right in form. */
static void mad_packet(struct sim_ep *to)
{
	static const u8 ext[32] = {
		[6] = 16, [7] = 4, [8] = 4, [9] = 4, [10] = 16, [11] = 20,
		[12] = 16, [13] = 4, [15] = 4, [16] = 4, [17] = 4, [18] = 12,
		[19] = 28, [20] = 28, [3] = 4, [5] = 4, [22] = 4, [23] = 4,
	};
	u8 b[40 + 8 + 12 + 28 + 4100 + 4];
	u32 ip = to->qp.av.l3_len - 8, pay, pad, len, psn, max;
	struct sim_region *r = to->rem;
	u8 *bth = b + ip + 8, *e = bth + 12, flags;
	u64 va;

	sim_fill(b, sizeof(b), sim_rnd());
	memcpy(b, to->qp.av.l3, ip + 8);
	memcpy(b + (ip == 20 ? 12 : 8), to->qp.av.l3 + (ip == 20 ? 16 : 24),
	       ip == 20 ? 4 : 16);
	memcpy(b + (ip == 20 ? 16 : 24), to->qp.av.l3 + (ip == 20 ? 12 : 8),
	       ip == 20 ? 4 : 16);
	bth[0] = sim_chance(300) ? sim_rnd() : sim_below(24);
	pay = sim_chance(5000) ? 0 : sim_chance(5000) ? to->mtu :
	      sim_below(to->mtu + 4);
	pad = -pay & 3;
	flags = pad << 4 | (sim_below(4) << 6);
	max = bth[0] >= 13 && bth[0] <= 18 ? to->qp.hot.una : to->qp.hot.epsn;
	psn = max + (sim_chance(6000) ? 0 : sim_below(20) - 10);
	sim_put_bth(bth, bth[0], to->qp.hot.qpn, psn);
	bth[1] = flags;
	if (bth[0] < 32 && ext[bth[0]] >= 16 && sim_chance(8000)) {
		va = sim_region_addr(r, sim_below(r->len));
		for (len = 0; len < 8; len++)
			e[len] = va >> (56 - 8 * len);
		for (len = 0; len < 4; len++)
			e[8 + len] = r->mr.key >> (24 - 8 * len);
		e[12] = e[13] = 0;
		if (sim_chance(5000)) {
			e[14] = pay >> 8;
			e[15] = pay;
		}
	}
	if (bth[0] >= 13 && bth[0] <= 18 && sim_chance(8000))
		e[0] = 0x1f;
	len = e - b + (bth[0] < 32 ? ext[bth[0]] : 0) + pay + pad + 4;
	sim_put_len(b, len);
	wire_icrc_set(b, len);
	sim_raw_rx(to->node, b, len, sim_chance(1000));
}

static void discard(struct sim_cq *cq)
{
	cq->cons = READ_ONCE(cq->cq.ring->prod);
	smp_store_release(&cq->cq.ring->cons, cq->cons);
}

static void forget(struct sim_ep *ep)
{
	struct sim_msg *m;
	struct sim_op *op;

	while ((op = sim_list_pop(&ep->ops))) {
		free(op->data);
		free(op);
	}
	while ((m = sim_list_pop(&ep->msgs))) {
		free(m->data);
		free(m);
	}
	while (ep->recvs.n)
		free(sim_list_pop(&ep->recvs));
	ep->loc->head = ep->loc->tail;
	ep->rem->head = ep->rem->tail;
	ep->rcv->head = ep->rcv->tail;
}

/* Both ends anew; what they knew is nothing any more. */
static void start_over(struct sim_conn *c)
{
	struct sim_region *r;
	u32 i;

	for (i = 0; i < 2; i++)
		sim_ep_reset(&c->ep[i]);
	forget(&c->ep[0]);
	forget(&c->ep[1]);
	for (r = W->regions; r; r = r->next)
		sim_read(r, 0, r->shadow, r->len);
	sim_connect(c, true);
}

static void check_guards(void)
{
	struct sim_region *r;

	for (r = W->regions; r; r = r->next) {
		sim_read(r, 0, r->shadow, r->len);
		sim_region_verify(r);
	}
}

static void mad_world(u32 steps, void (*turn)(struct sim_ep *ep))
{
	struct sim_cfg cfg = plain_cfg();
	struct sim_conn *c;
	struct sim_ep *ep;
	u32 i;

	cfg.max_len = 1 << 13;
	cfg.mtu_shift = sim_range(8, 12);
	cfg.partial = 1000;
	cfg.nomem = 100;
	cfg.smp = 2000;
	sim_world_new(&cfg, 0);
	W->checks_off = true;
	c = sim_conn_new(W->node[0], W->node[1]);
	sim_connect(c, true);
	while (steps--) {
		ep = &c->ep[sim_below(2)];
		if (!ep->in_xmit)
			turn(ep);
		for (i = sim_below(4); i; i--)
			sim_step();
		for (i = 0; i < 2; i++) {
			discard(c->ep[i].scq);
			discard(c->ep[i].rcq);
		}
		if ((c->ep[0].qp.hot.state == XROCE_QPS_ERR ||
		     c->ep[1].qp.hot.state == XROCE_QPS_ERR) &&
		    sim_chance(2000))
			start_over(c);
		sim_total_ops++;
	}
	sim_run_until(sim_now() + SIM_SEC);
	check_guards();
	forget(&c->ep[0]);
	forget(&c->ep[1]);
	sim_world_free();
}

static void mad_peer_turn(struct sim_ep *ep)
{
	if (sim_chance(3000)) {
		forget(ep);
		forget(ep->peer);
		sim_post_recvs(ep);
		sim_post_random(ep);
		sim_sq_push(ep, false);
	}
	mad_packet(ep);
}

static void run_mad_peer(u64 seed)
{
	(void)seed;
	mad_world(4000, mad_peer_turn);
}

/* A user who writes anything anywhere in the rings at any time. */
static void mad_user_turn(struct sim_ep *ep)
{
	struct xroce_ring *sq = ep->qp.req.ring, *rq = ep->rq.ring;
	struct xroce_ring *cq = ep->scq->cq.ring;
	u8 *slot;

	forget(ep);
	forget(ep->peer);
	sim_post_recvs(ep);
	sim_post_random(ep);
	switch (sim_below(16)) {
	case 0:
		sq->prod = sim_chance(5000) ? sim_rnd() : sq->prod + 3;
		break;
	case 1:
		sq->cons = sim_rnd();
		break;
	case 2:
		rq->prod = sim_chance(5000) ? sim_rnd() : rq->prod + 3;
		break;
	case 3:
		rq->cons = sim_rnd();
		break;
	case 4:
		sq->wake = sim_rnd();
		rq->wake = sim_rnd();
		break;
	case 5:
		cq->arm = sim_below(4);
		break;
	case 6:
		if (sim_chance(200))
			cq->cons = sim_rnd();
		break;
	case 7:
		if (sim_chance(500))
			cq->prod = sim_rnd();
		break;
	case 8: case 9: case 10:
		slot = sq->slot + sim_below(ep->sq_depth) * ep->stride;
		slot[sim_below(ep->stride)] ^= 1 << sim_below(8);
		break;
	case 11:
		slot = sq->slot + sim_below(ep->sq_depth) * ep->stride;
		sim_fill(slot, sim_below(ep->stride + 1), sim_rnd());
		break;
	case 12:
		slot = rq->slot + sim_below(ep->rq_depth) * ep->rstride;
		slot[sim_below(ep->rstride)] ^= 1 << sim_below(8);
		break;
	}
	sim_doorbell(ep);
	/* His own idea of where he is does not matter either. */
	ep->sq_prod = READ_ONCE(sq->prod);
	ep->rq_prod = READ_ONCE(rq->prod);
}

static void run_mad_user(u64 seed)
{
	(void)seed;
	mad_world(3000, mad_user_turn);
}

static u32 resized, unresized;

static void count_resize(bool fits, int ret)
{
	sim_check(ret == (fits ? 0 : -EINVAL), "resized: %d, which %s", ret,
		  fits ? "fits" : "does not fit");
	resized += fits;
	unresized += !fits;
}

/* Half of the time with an index that is near, or none at all. */
static u32 any_index(u32 is, u32 depth)
{
	if (sim_chance(5000))
		return is;
	return sim_chance(3000) ? sim_rnd() : is + sim_below(4 * depth) - 2 * depth;
}

static void mad_resize_cq(struct sim_cq *cq)
{
	const u32 size = sizeof(struct xroce_cqe), mask = cq->cq.mask;
	struct xroce_ring *old = cq->cq.ring, *ring;
	u32 depth = 1 << sim_range(5, 9), n, i;
	int ret;

	old->cons = any_index(cq->cq.prod, min(depth, cq->depth));
	old->prod = any_index(cq->cq.prod, depth);
	n = cq->cq.prod - old->cons;
	for (i = 0; i < (mask + 1) * size; i++)
		old->slot[i] = sim_rnd();
	ring = calloc(1, sizeof(*ring) + depth * size);
	ret = xroce_cq_resize(&cq->cq, ring, depth, true);
	count_resize(!cq->cq.overrun && n <= cq->depth && n <= depth, ret);
	sim_check(ret || (ring->prod == cq->cq.prod && ring->cons == cq->cq.prod - n),
		  "a CQ from %u to %u is from %u to %u", cq->cq.prod - n, cq->cq.prod,
		  ring->cons, ring->prod);
	for (i = ring->cons; !ret && i != ring->prod; i++)
		sim_check(!memcmp(ring->slot + (i & (depth - 1)) * size,
				  old->slot + (i & mask) * size, size),
			  "element %u of %u is another one", i - ring->cons, n);
	if (!ret)
		cq->depth = depth;
	free(ret ? ring : old);
}

/* An RQ has what an SRQ has, which is what can be of another size. */
static void mad_resize_rq(struct sim_ep *ep)
{
	struct xroce_ring *old = ep->rq.ring, *ring;
	u32 depth = 1 << sim_range(2, 6), n;
	int ret;

	old->prod = any_index(ep->rq.cons, min(depth, ep->rq_depth));
	old->cons = any_index(ep->rq.cons, depth);
	n = old->prod - ep->rq.cons;
	ring = calloc(1, sizeof(*ring) + depth * ep->rstride);
	ret = xroce_rq_resize(&ep->rq, ring, depth);
	count_resize(n <= ep->rq_depth && n <= depth, ret);
	sim_check(ret || (ring->cons == ep->rq.cons && ring->prod == ep->rq.cons + n),
		  "an RQ from %u to %u is from %u to %u", ep->rq.cons, ep->rq.cons + n,
		  ring->cons, ring->prod);
	if (!ret)
		ep->rq_depth = depth;
	free(ret ? ring : old);
}

static void mad_resize_turn(struct sim_ep *ep)
{
	mad_user_turn(ep);
	if (sim_chance(5000))
		mad_resize_cq(sim_chance(5000) ? ep->scq : ep->rcq);
	if (sim_chance(5000))
		mad_resize_rq(ep);
}

static void run_mad_resize(u64 seed)
{
	(void)seed;
	resized = unresized = 0;
	mad_world(3000, mad_resize_turn);
	sim_check(resized > 100 && unresized > 100, "%u rings resized, %u not", resized,
		  unresized);
}

/*
 * More completions than the CQ holds, of the sends of one end or the receives of
 * the other: it goes to ERR at the first that is lost, a reliable peer is told, and
 * the rest of the world goes on.
 */
static void overrun(bool recv)
{
	struct sim_opt opt = { .wr = recv ? XROCE_WR_SEND : XROCE_WR_RDMA_WRITE,
			       .len = 20, .nsge = 1, .signaled = true };
	u32 depth = 1 << sim_range(1, 4), more = sim_range(1, 5), i, acked;
	struct sim_cfg cfg = plain_cfg();
	struct sim_ep *ep, *from;
	struct sim_cq *cq;
	bool rc;

	cfg.uc = sim_chance(3000) ? 10000 : 0;
	sim_world_new(&cfg, 0);
	from = &sim_conn_new(W->node[0], W->node[1])->ep[0];
	ep = recv ? from->peer : from;
	rc = ep->transport == XROCE_RC;
	cq = sim_cq_new(ep->node, depth);
	*(recv ? &ep->rcq : &ep->scq) = cq;
	*(recv ? &ep->qp.rcq : &ep->qp.scq) = &cq->cq;
	sim_connect(from->conn, true);
	acked = from->qp.hot.una;
	/* By the model nothing has gone wrong. */
	W->checks_off = true;
	for (i = 0; i < depth + more; i++) {
		sim_check(!recv || sim_post_recv(ep, 20, 1), "no room");
		sim_check(sim_post(from, &opt), "no room");
	}
	sim_run_until(sim_now() + SIM_MS);
	sim_check(cq->overrun, "no overrun");
	is(CQ_OVERRUN, 1);
	sim_check(cq->cq.ring->prod == depth, "%u elements in %u slots",
		  cq->cq.ring->prod, depth);
	sim_check(ep->qp.hot.state == XROCE_QPS_ERR &&
		  ep->event[XROCE_EVENT_QP_FATAL] == 1,
		  "in state %u, told %u times", ep->qp.hot.state,
		  ep->event[XROCE_EVENT_QP_FATAL]);
	acked = (from->qp.hot.una - acked) & XROCE_PSN_MASK;
	/* The message whose completion is lost is not one that was delivered. */
	sim_check(ep->peer->qp.hot.state == (recv && rc ? XROCE_QPS_ERR : XROCE_QPS_RTS) &&
		  !ep->peer->event[XROCE_EVENT_QP_FATAL] &&
		  (!recv || !rc || (from->qp.err_status == XROCE_WC_REM_OP_ERR &&
				    acked == depth)),
		  "its peer is in state %u, status %u, %u acknowledged",
		  ep->peer->qp.hot.state, from->qp.err_status,
		  acked);
	/* It is not to be trusted any more, though there is room now. */
	WRITE_ONCE(cq->cq.ring->cons, depth);
	sim_post(ep, &opt);
	sim_run_until(sim_now() + SIM_MS);
	sim_check(cq->cq.ring->prod == depth, "goes on after an overrun");
	sim_world_free();
}

static void run_overrun(u64 seed)
{
	(void)seed;
	overrun(false);
}

static void run_overrun_recv(u64 seed)
{
	(void)seed;
	overrun(true);
}

const struct sim_scenario sim_other_scenarios[] = {
	{ "fair", "four flows share a link within 20 %, lose under 1 %",
	  run_fair, 0, 3, 5 },
	{ "fair-read", "the same of READs, which who reads lets out", run_fair_read, 0, 3, 5 },
	{ "fair-drops", "the same where the network marks nothing",
	  run_fair_drops, 0, 6, ~0u },
	{ "forged", "forged packets among good ones change nothing",
	  run_forged, 0, 10 },
	{ "mad-peer", "anything from an authentic peer is survived",
	  run_mad_peer, 0, 20 },
	{ "mad-user", "anything written to the rings is survived",
	  run_mad_user, 0, 20 },
	{ "mad-resize", "and rings of another size meanwhile, or not where they do not fit",
	  run_mad_resize, 0, 10 },
	{ "overrun", "a CQ overflows, once, and its QP ends", run_overrun, 0, 20 },
	{ "overrun-recv", "the same of receives, and the sender knows",
	  run_overrun_recv, 0, 20 },
	{ NULL, NULL, NULL, 0, 0, 0 }
};
