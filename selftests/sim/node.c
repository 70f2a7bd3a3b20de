// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Worlds, nodes, queues and connections, and the rings as the user's side
 * handles them: what the module and the provider do, in small. Single-threaded.
 */
#include "sim.h"

struct sim_world *W;

#define ALL_RIGHTS (XROCE_LOCAL_WRITE | XROCE_REMOTE_WRITE | \
		    XROCE_REMOTE_READ | XROCE_REMOTE_ATOMIC)

static void node_new(u32 i)
{
	struct sim_node *n = calloc(1, sizeof(*n));

	n->idx = i;
	n->dev.cwnd_init = W->cfg.cwnd_init;
	n->dev.cwnd_max = W->cfg.cwnd_max;
	n->dev.cnp_gap = 50000;
	n->gid4[10] = n->gid4[11] = 0xff;
	n->gid4[12] = 192;
	n->gid4[14] = 2;
	n->gid4[15] = i + 1;
	n->gid6[0] = 0x20;
	n->gid6[1] = 0x01;
	n->gid6[2] = 0x0d;
	n->gid6[3] = 0xb8;
	n->gid6[15] = i + 1;
	W->node[i] = n;
	n->shared = sim_region_new(n, SIM_ATOMS * 8, ALL_RIGHTS, &n->pd);
	memset(n->shared->shadow, 0, SIM_ATOMS * 8);
	sim_write(n->shared, 0, n->shared->shadow, SIM_ATOMS * 8);
	for (i = 0; i < SIM_ATOMS; i++)
		n->shared_seen[i] = calloc(1, SIM_SHARED_MAX / 8);
}

/**
 * sim_plain() - two nodes, and a network that does nothing to packets
 *
 * For tests of one thing at a time, which change what they are about.
 */
struct sim_cfg sim_plain(void)
{
	return (struct sim_cfg){
		.nodes = 2,
		.delay = 10 * SIM_US,
		.max_len = 1 << 16,
		.cwnd_init = 64,
		.cwnd_max = 256,
		.timeout = 14,		/* 67 ms: far more than a round trip */
		.plain = true,
		.fixed = true,
		.v6 = sim_chance(5000),
		.retry_cnt = 7,
		.rnr_retry = 7,
		.min_rnr = 8,		/* 160 us */
		.mtu_shift = sim_range(8, 12),
		.max_rd = 4,
	};
}

/**
 * sim_world_new() - nodes, no connections yet
 */
void sim_world_new(const struct sim_cfg *cfg, u64 seed)
{
	u32 i;

	sim_events_reset();
	W = calloc(1, sizeof(*W));
	W->cfg = *cfg;
	W->seed = seed;
	W->nnodes = cfg->nodes;
	if (!W->cfg.cwnd_init)
		W->cfg.cwnd_init = sim_range(4, 64);
	if (!W->cfg.cwnd_max)
		W->cfg.cwnd_max = sim_range(W->cfg.cwnd_init, 512);
	for (i = 0; i < cfg->nodes; i++)
		node_new(i);
	for (i = 0; i < cfg->nodes && cfg->ud; i++)
		sim_ahs_new(W->node[i]);
}

static void list_free(struct sim_list *l, bool ops)
{
	struct sim_op *op = l->first, *next;

	/* All that is listed begins with its link. */
	for (; op; op = next) {
		next = op->next;
		if (ops)
			free(op->data);
		free(op);
	}
	sim_list_init(l);
}

static void msgs_free(struct sim_ep *ep)
{
	struct sim_msg *m;

	for (m = ep->msgs.first; m; m = m->next)
		free(m->data);
	list_free(&ep->msgs, false);
}

static void ep_free(struct sim_ep *ep)
{
	list_free(&ep->ops, true);
	list_free(&ep->dead, true);
	msgs_free(ep);
	list_free(&ep->recvs, false);
	list_free(&ep->u.due, false);
	unrel_forget(ep);
	wire_free(ep);
	free(ep->qp.req.ring);
	free(ep->qp.req.wqe);
	free(ep->qp.req.swq);
	free(ep->qp.resp.wqe);
	free(ep->qp.resp.rd);
	free(ep->rq.ring);
	ep->node->qp[ep->qp.hot.qpn % SIM_TAB] = NULL;
}

/**
 * sim_world_free() - destroy all; what was allocated must have been freed
 */
void sim_world_free(void)
{
	struct sim_region *r, *rnext;
	struct sim_conn *c, *cnext;
	struct sim_cq *cq, *cqnext;
	struct sim_ah *ah;
	u32 i, j;

	/* They may have last words for each other, */
	for (c = W->conns; c; c = c->next) {
		for (i = 0; i < 2; i++) {
			xroce_qp_kill(&c->ep[i].qp);
			sim_env_check_idle();
		}
	}
	/* and nothing more, whoever comes late. */
	for (c = W->conns; c; c = c->next) {
		for (i = 0; i < 2; i++) {
			sim_core_enter();
			xroce_qp_run(&c->ep[i].qp);
			xroce_qp_timer(&c->ep[i].qp);
			sim_core_leave();
		}
	}
	for (i = 0; i < W->nnodes; i++)
		sim_check(!W->node[i]->dev.turn[0] && !W->node[i]->dev.turn[1],
			  "it is the turn of who has gone");
	for (c = W->conns; c; c = cnext) {
		cnext = c->next;
		ep_free(&c->ep[0]);
		ep_free(&c->ep[1]);
		free(c);
	}
	W->conns = NULL;
	sim_check(!W->frames, "%u frames leaked", W->frames);
	sim_events_reset();
	for (r = W->regions; r; r = rnext) {
		rnext = r->next;
		sim_region_free(r);
	}
	for (i = 0; i < W->nnodes; i++) {
		for (cq = W->node[i]->cqs; cq; cq = cqnext) {
			cqnext = cq->next;
			free(cq->cq.ring);
			free(cq);
		}
		for (j = 0; j < SIM_ATOMS; j++)
			free(W->node[i]->shared_seen[j]);
		for (j = 0; j < SIM_AHS; j++)
			sim_ah_destroy(W->node[i], j);
		for (j = 0; j < SIM_SRQS; j++)
			sim_srq_free(W->node[i]->srq[j]);
		for (j = 0; j < SIM_SRQS; j++)
			sim_srq_free(W->node[i]->xsrq[j]);
		free(W->node[i]);
	}
	while ((ah = W->old_ahs)) {
		W->old_ahs = ah->next;
		free(ah);
	}
	free(W);
	W = NULL;
}

static struct xroce_ring *ring_new(u32 depth, u32 stride)
{
	return calloc(1, sizeof(struct xroce_ring) + depth * stride);
}

struct sim_cq *sim_cq_new(struct sim_node *n, u32 depth)
{
	struct sim_cq *cq = calloc(1, sizeof(*cq));

	cq->node = n;
	cq->depth = depth;
	xroce_cq_init(&cq->cq, &n->dev, ring_new(depth,
						 sizeof(struct xroce_cqe)),
		      depth);
	cq->cq.stamped = true;
	cq->next = n->cqs;
	n->cqs = cq;
	return cq;
}

/* A user's choice of queue sizes; the module rounds up to powers of two. */
static void ep_sizes(struct sim_ep *ep)
{
	ep->sq_depth = 1 << sim_range(2, 6);
	ep->rq_depth = 1 << sim_range(2, 6);
	ep->max_sge = sim_chance(1000) ? XROCE_MAX_SGE : sim_range(1, 6);
	ep->max_inline = sim_chance(500) ? XROCE_MAX_INLINE : sim_below(257);
	ep->sig_all = sim_chance(2500);
	if (W->cfg.fixed) {
		ep->sq_depth = 64;
		ep->rq_depth = 64;
		ep->max_sge = 4;
		ep->max_inline = 128;
		ep->sig_all = false;
	}
	if (W->cfg.depth)
		ep->sq_depth = W->cfg.depth;
}

/* The QP's rings and copies, by the sizes set in @ep. */
static void ep_rings(struct sim_ep *ep)
{
	struct xroce_req *req = &ep->qp.req;

	ep->stride = ALIGN(sizeof(struct xroce_send_wqe) +
			   max(ep->max_sge * (u32)sizeof(struct xroce_sge),
			       ep->max_inline), (u32)XROCE_SLOT_ALIGN);
	ep->rstride = ALIGN(sizeof(struct xroce_recv_wqe) + ep->max_sge *
			    (u32)sizeof(struct xroce_sge),
			    (u32)XROCE_SLOT_ALIGN);
	req->ring = ring_new(ep->sq_depth, ep->stride);
	req->depth = ep->sq_depth;
	req->stride = ep->stride;
	req->max_sge = ep->max_sge;
	req->max_inline = ep->max_inline;
	req->sig_all = ep->sig_all;
	req->wqe = calloc(ep->sq_depth, ep->stride);
	req->swq = calloc(ep->sq_depth, sizeof(*req->swq));
	ep->qp.resp.wqe = calloc(1, sizeof(struct xroce_rwqe));
	xroce_rq_init(&ep->rq, ring_new(ep->rq_depth, ep->rstride),
		      ep->rq_depth, ep->rstride, ep->max_sge);
	if (ep->xrc)
		return;
	ep->qp.rq = &ep->rq;
	if (ep->srq) {
		ep->qp.rq = &ep->srq->rq;
		ep->qp.srq = true;
	}
}

static u32 new_qpn(struct sim_node *n)
{
	u32 i;

	for (i = 2; n->qp[i]; i++)
		sim_check(i < SIM_TAB - 1, "too many QPs");
	return (u32)(sim_rnd() & 0xffff) << 8 | i;
}

static struct sim_cq *pick_cq(struct sim_node *n, u32 need)
{
	struct sim_cq *cq;
	u32 depth;

	for (cq = n->cqs; cq; cq = cq->next) {
		if (cq->room >= need && sim_chance(6000)) {
			cq->room -= need;
			return cq;
		}
	}
	for (depth = 4; depth < need; depth *= 2)
		;
	if (sim_chance(5000))
		depth *= 4;
	cq = sim_cq_new(n, depth);
	cq->room = depth - need;
	return cq;
}

static struct sim_srq *pick_srq(struct sim_node *n)
{
	u32 i = sim_below(SIM_SRQS);

	if (!n->srq[i])
		n->srq[i] = sim_srq_new(n, 1 << sim_range(2, 7),
					sim_range(1, 6),
					sim_range(4200, 40000));
	return n->srq[i];
}

/* One that packets name, with a CQ of its own. */
struct sim_srq *sim_xsrq(struct sim_node *n)
{
	u32 i = sim_below(SIM_SRQS), depth;
	struct sim_srq *srq;

	if (!n->xsrq[i]) {
		srq = sim_srq_new(n, W->cfg.fixed ? 64 : 1 << sim_range(2, 7),
				  sim_range(1, 6), sim_range(4200, 40000));
		for (depth = 4; depth < srq->nslots; depth *= 2)
			;
		srq->cq = sim_cq_new(n, depth);
		srq->number = (sim_rnd() & 0xffff) << 8 | i;
		srq->rq.xrcd = n;
		srq->rq.cq = &srq->cq->cq;
		n->xsrq[i] = srq;
	}
	return n->xsrq[i];
}

/* Whose memory a peer may reach. */
const void *sim_ep_pd(const struct sim_ep *ep)
{
	return ep->xrc ? &ep->srq->pd : &ep->node->pd;
}

/* Room for as long a message as this may be, and some more. */
static u32 ep_msg_max(const struct sim_ep *ep)
{
	u32 len = W->cfg.max_len, most = (1 << 18) / ep->rq_depth;

	if (ep->transport == XROCE_UD)
		return 1 << ep->conn->mtu_shift;
	if (ep->srq)
		return min(len, ep->srq->slot_len);
	if (W->cfg.fixed)
		return ep->transport == XROCE_UC ? min(len, most) :
						   min(len, 4096u);
	if (ep->transport == XROCE_UC)
		most *= 2;
	return min(len, sim_range(1, most));
}

static void ep_new(struct sim_ep *ep, struct sim_conn *c, struct sim_node *n,
		   struct sim_ep *peer)
{
	u32 len = W->cfg.max_len;

	ep->conn = c;
	ep->node = n;
	ep->peer = peer;
	sim_list_init(&ep->ops);
	sim_list_init(&ep->dead);
	sim_list_init(&ep->msgs);
	sim_list_init(&ep->recvs);
	sim_list_init(&ep->u.due);
	ep->transport = c->transport;
	ep->xrc = c->xrc;
	if (ep->xrc)
		ep->srq = sim_xsrq(n);
	else if (sim_chance(W->cfg.srq))
		ep->srq = pick_srq(n);
	ep_sizes(ep);
	ep_rings(ep);
	ep->scq = pick_cq(n, 2 * ep->sq_depth);
	ep->rcq = ep->xrc ? ep->srq->cq :
		  pick_cq(n, ep->srq ? ep->srq->nslots : ep->rq_depth);
	ep->qp.dev = &n->dev;
	ep->qp.pd = &n->pd;
	ep->qp.user_handle = (uintptr_t)ep;
	ep->qp.scq = &ep->scq->cq;
	if (ep->xrc)
		ep->qp.xrcd = n;
	else
		ep->qp.rcq = &ep->rcq->cq;
	ep->qp.hot.qpn = new_qpn(n);
	ep->qp.hot.transport = ep->xrc ? XROCE_XRC : ep->transport;
	ep->qkey = sim_rnd() & 0x7fffffff;
	if (ep->transport == XROCE_UD)
		ep->groups = sim_below(1 << SIM_GROUPS);
	n->qp[ep->qp.hot.qpn % SIM_TAB] = ep;
	xroce_qp_init(&ep->qp);
	/* Room for the longest message and some more. */
	ep->loc = sim_region_new(n, 3 * len + 16384, XROCE_LOCAL_WRITE,
				 &n->pd);
	ep->msg_max = ep_msg_max(ep);
	ep->rcv = sim_region_new(n, ep->rq_depth * (ep->msg_max + 512) + 8192,
				 XROCE_LOCAL_WRITE, &n->pd);
	ep->rem = sim_region_new(n, 3 * len + 16384, ALL_RIGHTS, sim_ep_pd(ep));
	ep->rem->base = ALIGN(SIM_ATOMS * 8, 64);
	sim_read(ep->rem, 0, ep->atom, sizeof(ep->atom));
	if (W->cfg.key && ep->transport != XROCE_UD)
		sim_keys_new(ep);
	sim_trace("%u: node %u, keys: local %08x receive %08x remote %08x",
		  ep->idx, n->idx, ep->loc->mr.key, ep->rcv->mr.key,
		  ep->rem->mr.key);
}

/**
 * sim_conn_new() - two QPs, in RESET, and memory for them
 */
struct sim_conn *sim_conn_new(struct sim_node *a, struct sim_node *b)
{
	struct sim_conn *c = calloc(1, sizeof(*c));

	c->idx = W->nconns++;
	c->v6 = sim_chance(5000);
	c->mtu_shift = sim_range(8, 12);
	if (W->cfg.fixed) {
		c->v6 = W->cfg.v6;
		c->mtu_shift = W->cfg.mtu_shift;
	}
	c->transport = sim_chance(W->cfg.uc) ? XROCE_UC :
		       sim_chance(W->cfg.ud) ? XROCE_UD : XROCE_RC;
	c->xrc = c->transport == XROCE_RC && sim_chance(W->cfg.xrc);
	c->ep[0].idx = 2 * c->idx;
	c->ep[1].idx = 2 * c->idx + 1;
	ep_new(&c->ep[0], c, a, &c->ep[1]);
	ep_new(&c->ep[1], c, b, &c->ep[0]);
	c->next = W->conns;
	W->conns = c;
	return c;
}

void sim_ep_modify(struct sim_ep *ep, struct xroce_attr *attr, u32 mask)
{
	xroce_qp_modify(&ep->qp, attr, mask);
	sim_env_check_idle();
}

void sim_ep_state(struct sim_ep *ep, u8 state)
{
	struct xroce_attr attr = { .state = state };

	sim_trace("%u: to state %u", ep->idx, state);
	sim_ep_modify(ep, &attr, XROCE_ATTR_STATE);
}

/**
 * sim_ep_reset() - to RESET; work requests that are there vanish
 */
void sim_ep_reset(struct sim_ep *ep)
{
	sim_keys_look(ep);
	sim_ep_state(ep, XROCE_QPS_RESET);
	sim_check(ep->event[XROCE_EVENT_LAST_WQE] <= 1, "QP %u: the last WQE, %u times",
		  ep->idx, ep->event[XROCE_EVENT_LAST_WQE]);
	ep->sq_prod = 0;
	ep->rq_prod = 0;
	ep->state = SIM_EP_DOWN;
	ep->expect_err = false;
	ep->flushing = false;
	ep->recv_err = 0;
	ep->first_err = 0;
	ep->events = 0;
	memset(ep->event, 0, sizeof(ep->event));
	ep->sqd = false;
	ep->sqd_event = false;
	ep->drained = false;
	ep->any_srqn = false;
	ep->cnp_owed = false;
	ep->mark_may = false;
	ep->cnp_next = 0;
	sim_check(!ep->qp.req.ring->prod && !ep->qp.req.ring->cons &&
		  !ep->rq.ring->prod && !ep->rq.ring->cons,
		  "QP %u: rings not empty after RESET", ep->idx);
}

/* What a user chooses; what scenarios fix stays. */
static void ep_attrs(struct sim_ep *ep)
{
	const struct sim_cfg *cfg = &W->cfg;

	ep->mtu = 1u << ep->conn->mtu_shift;
	ep->timeout = cfg->timeout ? cfg->timeout : sim_range(9, 12);
	ep->retry_cnt = cfg->plain ? 7 : sim_range(cfg->loss ? 4 : 1, 7);
	ep->rnr_retry = cfg->plain || sim_chance(6000) ? 7 : sim_range(2, 6);
	ep->min_rnr = sim_range(1, 16);
	ep->max_rd = sim_range(1, 16);
	ep->max_dest_rd = 0;
	if (cfg->fixed) {
		ep->retry_cnt = cfg->retry_cnt;
		ep->rnr_retry = cfg->rnr_retry;
		ep->min_rnr = cfg->min_rnr;
		ep->max_rd = cfg->max_rd;
		ep->max_dest_rd = cfg->max_dest_rd;
	}
}

static void init_rtr_ud(struct sim_ep *ep, u32 sq_psn)
{
	struct xroce_attr attr = {
		.state = XROCE_QPS_INIT,
		.pkey = XROCE_PKEY_DEFAULT,
		.qkey = ep->qkey,
		.path_mtu = ep->mtu,
	};

	sim_ep_modify(ep, &attr, XROCE_ATTR_STATE | XROCE_ATTR_PKEY |
		      XROCE_ATTR_QKEY);
	wire_reset(ep, sq_psn);
	unrel_reset(ep, sq_psn, 0);
	attr.state = XROCE_QPS_RTR;
	sim_ep_modify(ep, &attr, XROCE_ATTR_STATE | XROCE_ATTR_PATH_MTU);
}

static void ep_init_rtr(struct sim_ep *ep, u32 sq_psn, u32 rq_psn)
{
	struct sim_node *a = ep->node, *b = ep->peer->node;
	bool v6 = ep->conn->v6;
	struct xroce_attr attr = {
		.state = XROCE_QPS_INIT,
		.pkey = XROCE_PKEY_DEFAULT,
		.access = ALL_RIGHTS,
	};

	if (ep->transport == XROCE_UD) {
		init_rtr_ud(ep, sq_psn);
		return;
	}
	sim_ep_modify(ep, &attr, XROCE_ATTR_STATE | XROCE_ATTR_PKEY |
		      XROCE_ATTR_ACCESS);
	attr.state = XROCE_QPS_RTR;
	attr.path_mtu = ep->mtu;
	attr.dest_qpn = ep->peer->qp.hot.qpn;
	attr.rq_psn = rq_psn;
	attr.min_rnr_timer = ep->min_rnr;
	attr.max_dest_rd_atomic = ep->max_dest_rd ? ep->max_dest_rd :
						    ep->peer->max_rd;
	if (ep->transport == XROCE_RC)
		attr.rd = calloc(attr.max_dest_rd_atomic, sizeof(*attr.rd));
	xroce_av_set(&attr.av, v6 ? a->gid6 : a->gid4, v6 ? b->gid6 : b->gid4,
		     (sim_below(256) & ~3u) | 2, sim_range(1, 255), sim_below(1 << 20),
		     0xc000 | sim_below(0x4000));
	attr.av.l2_len = sim_chance(5000) ? 14 : 18;
	sim_fill(attr.av.l2, sizeof(attr.av.l2), sim_rnd());
	attr.av.route = a == b ? XROCE_ROUTE_HOST : XROCE_ROUTE_WIRE;
	attr.av.prio = sim_below(8);
	ep->av = attr.av;
	wire_reset(ep, sq_psn);
	unrel_reset(ep, sq_psn, rq_psn);
	sim_ep_modify(ep, &attr, XROCE_ATTR_STATE | XROCE_ATTR_AV |
		      XROCE_ATTR_PATH_MTU | XROCE_ATTR_DEST_QPN |
		      XROCE_ATTR_RQ_PSN | (ep->transport == XROCE_UC ? 0 :
		      XROCE_ATTR_MAX_DEST_RD_ATOMIC |
		      XROCE_ATTR_MIN_RNR_TIMER));
	free(attr.rd);
}

static void ep_rts(void *arg)
{
	struct sim_ep *ep = arg;
	struct xroce_attr attr = {
		.state = XROCE_QPS_RTS,
		.timeout = ep->timeout,
		.retry_cnt = ep->retry_cnt,
		.rnr_retry = ep->rnr_retry,
		.max_rd_atomic = ep->max_rd,
		.sq_psn = ep->transport == XROCE_RC ? ep->wire.una : ep->u.psn,
	};
	u32 rate = 0;

	if (ep->qp.hot.state != XROCE_QPS_RTR)
		return;
	if (W->cfg.paced && sim_chance(W->cfg.paced)) {
		attr.rate = sim_range(100000, 10000000);
		rate = XROCE_ATTR_RATE;
	}
	if (ep->transport != XROCE_RC) {
		sim_ep_modify(ep, &attr, XROCE_ATTR_STATE | rate |
			      XROCE_ATTR_SQ_PSN);
		return;
	}
	sim_ep_modify(ep, &attr, XROCE_ATTR_STATE | rate | XROCE_ATTR_TIMEOUT |
		      XROCE_ATTR_RETRY_CNT | XROCE_ATTR_RNR_RETRY |
		      XROCE_ATTR_MAX_RD_ATOMIC | XROCE_ATTR_SQ_PSN);
}

/*
 * Often near the wrap; but while packets of the last connection are still under
 * way, far from it, since nothing but its PSN tells the one from the other.
 */
static u32 new_psn(const struct sim_ep *ep, bool drained)
{
	u32 psn = sim_rnd();

	if (!drained)
		psn = (ep->transport == XROCE_RC ? ep->wire.max : ep->u.psn) +
		      sim_range(1 << 20, (1 << 23) - (1 << 20));
	else if (sim_chance(3000))
		psn = 0u - sim_below(200);
	return psn & XROCE_PSN_MASK;
}

/**
 * sim_connect() - both ends from RESET to RTS
 * @drained: nothing of an earlier connection is in the network any more
 *
 * One of them may be a little later and hear requests in RTR.
 */
void sim_connect(struct sim_conn *c, bool drained)
{
	u32 psn0 = new_psn(&c->ep[0], drained);
	u32 psn1 = new_psn(&c->ep[1], drained), i;

	for (i = 0; i < 2; i++)
		ep_attrs(&c->ep[i]);
	ep_init_rtr(&c->ep[0], psn0, psn1);
	ep_init_rtr(&c->ep[1], psn1, psn0);
	for (i = 0; i < 2; i++)
		c->ep[i].state = SIM_EP_UP;
	ep_rts(&c->ep[0]);
	if (W->cfg.plain || sim_chance(5000))
		ep_rts(&c->ep[1]);
	else
		sim_at(sim_now() + sim_rnd() % (200 * SIM_US), SIM_EV_FN,
		       ep_rts, &c->ep[1], 0);
	sim_trace("%u-%u: connected, mtu %u, IPv%u, psn %06x %06x, QPs %06x"
		  " %06x, retry %u %u, rnr %u %u, rd %u %u", c->ep[0].idx,
		  c->ep[1].idx, c->ep[0].mtu, c->v6 ? 6 : 4, psn0, psn1,
		  c->ep[0].qp.hot.qpn, c->ep[1].qp.hot.qpn,
		  c->ep[0].retry_cnt, c->ep[1].retry_cnt, c->ep[0].rnr_retry,
		  c->ep[1].rnr_retry, c->ep[0].max_rd, c->ep[1].max_rd);
}

void sim_doorbell(struct sim_ep *ep)
{
	sim_cpu = W->cfg.rings == 1 ? sim_below(2) : 0;
	sim_core_enter();
	xroce_qp_run(&ep->qp);
	sim_core_leave();
	unrel_idle(ep);
}

bool sim_sq_full(const struct sim_ep *ep)
{
	return ep->sq_prod - smp_load_acquire(&ep->qp.req.ring->cons) >=
	       ep->sq_depth || ep->ops.n >= 2 * ep->sq_depth;
}

/* The slot to fill; what was there before is not blank. */
struct xroce_send_wqe *sim_sq_slot(struct sim_ep *ep)
{
	u8 *p = ep->qp.req.ring->slot +
		(ep->sq_prod & (ep->sq_depth - 1)) * ep->stride;

	memset(p, 0, sizeof(struct xroce_send_wqe));
	return (void *)p;
}

/**
 * sim_sq_push() - the slot is filled; @more: show it with the next one
 */
void sim_sq_push(struct sim_ep *ep, bool more)
{
	struct xroce_ring *ring = ep->qp.req.ring;

	if (more)
		return;
	smp_store_release(&ring->prod, ep->sq_prod);
	smp_mb();
	if (READ_ONCE(ring->wake) || sim_chance(100))
		sim_doorbell(ep);
}

bool sim_rq_full(const struct sim_ep *ep)
{
	return ep->rq_prod - smp_load_acquire(&ep->rq.ring->cons) >=
	       ep->rq_depth || ep->recvs.n + ep->u.due.n + !!ep->u.held >=
	       ep->rq_depth;
}

struct xroce_recv_wqe *sim_rq_slot(struct sim_ep *ep)
{
	return (void *)(ep->rq.ring->slot +
			(ep->rq_prod & (ep->rq_depth - 1)) * ep->rstride);
}

void sim_rq_push(struct sim_ep *ep)
{
	struct xroce_ring *ring = ep->rq.ring;

	smp_store_release(&ring->prod, ++ep->rq_prod);
	smp_mb();
	if (READ_ONCE(ring->wake))
		sim_doorbell(ep);
}

/**
 * sim_cq_arm() - ask for an event, as the provider does
 */
void sim_cq_arm(struct sim_cq *cq, u8 arm)
{
	struct xroce_ring *ring = cq->cq.ring;

	if (cq->armed >= arm)
		return;
	WRITE_ONCE(ring->arm, arm);
	smp_mb();
	cq->armed = arm;
	cq->arm_at = READ_ONCE(ring->prod);
}
