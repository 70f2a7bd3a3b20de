// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Posting where nobody acknowledges: UC and UD, right and wrong work requests,
 * address handles, groups, and the way out of SQE. Runs as the user.
 */
#include "sim.h"

/**
 * sim_gid_of() - the GID of a node, or of a group where @n is NULL
 */
void sim_gid_of(const struct sim_node *n, u32 group, bool v6, u8 gid[16])
{
	memset(gid, 0, 16);
	if (n) {
		memcpy(gid, v6 ? n->gid6 : n->gid4, 16);
	} else if (v6) {
		gid[0] = 0xff;
		gid[1] = 0x0e;
		gid[15] = group;
	} else {
		gid[10] = gid[11] = 0xff;
		gid[12] = 239;
		gid[15] = group;
	}
}

/**
 * sim_ah_new() - an address handle of a node: to a node, or to a group
 */
struct sim_ah *sim_ah_new(struct sim_node *n, struct sim_node *to, u32 group,
			  bool v6)
{
	struct sim_ah *ah = calloc(1, sizeof(*ah));
	struct xroce_av *av = &ah->ah.av;
	u8 dgid[16];
	u32 i;

	for (i = 0; i < SIM_AHS && n->ah[i]; i++)
		;
	sim_check(i < SIM_AHS, "too many address handles");
	n->ah[i] = ah;
	ah->number = sim_range(1, 1 << 16) * SIM_AHS + i;
	ah->to = to;
	ah->group = group;
	ah->v6 = v6;
	ah->tclass = sim_below(256);
	ah->hop = sim_range(1, 255);
	ah->flow = sim_below(1 << 20);
	ah->sport = 0xc000 | sim_below(0x4000);
	ah->ah.pd = &n->pd;
	sim_gid_of(to, group, v6, dgid);
	xroce_av_set(av, v6 ? n->gid6 : n->gid4, dgid, ah->tclass, ah->hop,
		     ah->flow, ah->sport);
	av->l2_len = sim_chance(5000) ? 14 : 18;
	sim_fill(av->l2, sizeof(av->l2), sim_rnd());
	av->prio = sim_below(8);
	av->route = !to ? XROCE_ROUTE_BOTH :
		    to == n ? XROCE_ROUTE_HOST : XROCE_ROUTE_WIRE;
	return ah;
}

/**
 * sim_ah_destroy() - what is on the way by it goes no further
 */
void sim_ah_destroy(struct sim_node *n, u32 i)
{
	struct sim_ah *ah = n->ah[i];
	struct sim_conn *c;
	struct sim_op *op;
	u32 j;

	if (!ah)
		return;
	n->ah[i] = NULL;
	ah->dead = true;
	ah->next = W->old_ahs;
	W->old_ahs = ah;
	for (c = W->conns; c; c = c->next)
		for (j = 0; j < 2; j++)
			for (op = c->ep[j].ops.first; op; op = op->next)
				if (op->ah == ah)
					op->maybe = XROCE_WC_LOC_QP_OP_ERR;
}

/**
 * sim_ahs_new() - handles to everybody, of a node
 */
void sim_ahs_new(struct sim_node *n)
{
	u32 i;

	for (i = 0; i < W->nnodes; i++) {
		sim_ah_new(n, W->node[i], 0, false);
		sim_ah_new(n, W->node[i], 0, true);
	}
	for (i = 0; i < SIM_GROUPS; i++)
		sim_ah_new(n, NULL, i, i & 1);
}

static struct sim_ah *any_ah(struct sim_node *n)
{
	u32 i = sim_below(SIM_AHS), k;

	for (k = 0; k < SIM_AHS; k++, i = (i + 1) % SIM_AHS)
		if (n->ah[i] && !n->ah[i]->foreign)
			return n->ah[i];
	return sim_ah_new(n, W->node[sim_below(W->nnodes)], 0, false);
}

/* A QP of UD there, or NULL. */
static struct sim_ep *any_ud(struct sim_node *n)
{
	u32 i = sim_below(SIM_TAB), k;

	for (k = 0; k < SIM_TAB; k++, i = (i + 1) % SIM_TAB)
		if (n->qp[i] && n->qp[i]->transport == XROCE_UD)
			return n->qp[i];
	return NULL;
}

static void address_ud(struct sim_ep *ep, struct sim_op *op,
		       const struct sim_opt *opt, struct xroce_send_wqe *wqe)
{
	struct sim_ep *to = NULL;

	op->ah = opt->ah ? opt->ah : any_ah(ep->node);
	if (op->ah->to)
		to = any_ud(op->ah->to);
	op->qpn = opt->qpn ? opt->qpn : !op->ah->to ? 0xffffff :
		  to && !sim_chance(100) ? to->qp.hot.qpn :
					   sim_below(1 << 24);
	to = op->ah->to ? sim_find_ep(op->ah->to, op->qpn) :
			  any_ud(W->node[sim_below(W->nnodes)]);
	op->qkey = opt->qkey ? opt->qkey : to && !sim_chance(300) ? to->qkey :
		   (u32)sim_rnd();
	wqe->ud.remote_qkey = op->qkey;
	/* The highest bit: the QP's own, whatever the rest says. */
	if (op->qkey >> 31)
		op->qkey = ep->qkey;
	wqe->ud.ah = op->ah->number;
	wqe->ud.remote_qpn = op->qpn | (u32)sim_below(256) << 24;
	wqe->ud.kernel = sim_rnd();	/* not for a user to say */
}

static void address_uc(struct sim_ep *ep, struct sim_op *op,
		       const struct sim_opt *opt, struct xroce_send_wqe *wqe)
{
	struct sim_key *k = ep->peer->nkeys ?
			    &ep->peer->keys[sim_below(ep->peer->nkeys)] : NULL;
	struct sim_region *r = ep->peer->rem;
	const struct sim_bind *b;

	if (op->wr != XROCE_WR_RDMA_WRITE &&
	    op->wr != XROCE_WR_RDMA_WRITE_WITH_IMM)
		return;
	op->raddr = sim_region_addr(r, r->base + sim_below(r->len - r->base -
							   op->len));
	op->rkey = r->mr.key;
	if (k && k->of == r && sim_chance(5000)) {	/* as it is, or is to be */
		b = sim_chance(5000) ? &k->now : &k->plan;
		op->raddr = b->iova + (b->len > op->len ?
				       sim_below(b->len - op->len) : 0);
		op->rkey = b->key;
	}
	switch (opt->bad_rkey ? sim_below(4) : 4) {
	case 0:
		op->rkey ^= 1u << sim_below(32);
		break;
	case 1:
		op->raddr = sim_region_addr(r, r->len - op->len + 1);
		break;
	case 2:
		op->raddr = sim_region_addr(r, 0) - 1;
		break;
	case 3:		/* in another domain, or for local use */
		op->rkey = ep->peer->rcv->mr.key;
		op->raddr = sim_region_addr(ep->peer->rcv, 0);
		break;
	}
	wqe->rdma.remote_addr = op->raddr;
	wqe->rdma.rkey = op->rkey;
}

static void remember(struct sim_ep *ep, const struct sim_op *op)
{
	struct sim_unrel *u = &ep->u;
	bool write = op->wr <= XROCE_WR_RDMA_WRITE_WITH_IMM;

	if (ep->transport != XROCE_UC)
		return;
	if (!(u->nsent & (u->nsent - 1)))
		u->sent = realloc(u->sent, (2 * u->nsent + 1) *
				  sizeof(*u->sent));
	u->sent[u->nsent++] =
		unrel_hash(write, op->wr == XROCE_WR_SEND_WITH_IMM ||
			   op->wr == XROCE_WR_RDMA_WRITE_WITH_IMM, op->imm,
			   op->len, op->data);
}

/* Return: false when there is no memory for it. */
static bool take_data(struct sim_ep *ep, struct sim_op *op,
		      const struct sim_opt *opt)
{
	u32 i, off = 0;

	if (!opt->is_inline) {
		op->nloc = min(max(opt->nsge, op->len ? 1u : 0u), ep->max_sge);
		op->own_local = true;
		if (!sim_take_pieces(ep->loc, op->len, op->nloc, op->local))
			return false;
	}
	op->data = malloc(op->len + 1);
	if (opt->is_inline)
		sim_fill(op->data, op->len, sim_rnd());
	for (i = 0; i < op->nloc; i++) {
		memcpy(op->data + off, ep->loc->shadow + op->local[i].off,
		       op->local[i].len);
		off += op->local[i].len;
	}
	return true;
}

/**
 * unrel_post() - post one work request of UC or UD
 *
 * Return: what the model knows of it, or NULL when there was no room.
 */
struct sim_op *unrel_post(struct sim_ep *ep, const struct sim_opt *opt)
{
	u64 loc = ep->loc->tail;
	struct xroce_send_wqe *wqe;
	struct sim_op *op;
	u32 i;

	if (sim_sq_full(ep))
		return NULL;
	op = calloc(1, sizeof(*op));
	op->wr = opt->wr;
	op->len = opt->len;
	op->status = opt->status;
	op->maybe = opt->maybe;
	op->partial = opt->partial;
	op->signaled = opt->signaled;
	op->solicited = opt->solicited;
	op->imm = (__be32)sim_rnd();
	if (!take_data(ep, op, opt)) {
		ep->loc->tail = loc;
		free(op);
		return NULL;
	}
	op->wr_id = ep->wr_id++;
	wqe = sim_sq_slot(ep);
	wqe->wr_id = op->wr_id;
	wqe->opcode = op->wr;
	wqe->flags = (opt->signaled ? XROCE_WR_SIGNALED : 0) |
		     (opt->solicited ? XROCE_WR_SOLICITED : 0) |
		     (opt->fence ? XROCE_WR_FENCE : 0) |
		     (opt->is_inline ? XROCE_WR_INLINE : 0);
	wqe->imm = op->imm;
	if (ep->transport == XROCE_UD)
		address_ud(ep, op, opt, wqe);
	else
		address_uc(ep, op, opt, wqe);
	if (opt->is_inline) {
		wqe->inline_len = op->len;
		memcpy(wqe->inline_data, op->data,
		       min(op->len, ep->max_inline));
	} else {
		wqe->num_sge = op->nloc;
		for (i = 0; i < op->nloc; i++)
			sim_key_local(ep, &op->local[i], &wqe->sge[i]);
	}
	if (opt->tweak)
		opt->tweak(ep, wqe);
	remember(ep, op);
	sim_trace("%u: post wr %llu opcode %u, %u bytes in %u, flags %x to %06x"
		  ", to fail with %u", ep->idx, (unsigned long long)op->wr_id,
		  op->wr, op->len, op->nloc, wqe->flags, op->qpn, op->status);
	sim_list_add(&ep->ops, op);
	W->ops_posted++;
	op->idx = ep->sq_prod++;
	sim_sq_push(ep, opt->more);
	return op;
}

static void t_lkey(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	(void)ep;
	w->sge[0].lkey ^= 1u << sim_below(32);
}

/* The last byte of a long message: what was before it may have been sent. */
static void t_last_lkey(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	(void)ep;
	w->sge[0].length--;
	w->sge[1] = w->sge[0];
	w->sge[1].addr += w->sge[0].length;
	w->sge[1].length = 1;
	w->sge[1].lkey ^= 1u << sim_below(32);
	w->num_sge = 2;
}

static void t_opcode(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	static const u8 bad[] = { 0, 1, 4, 5, 6, 7, 8, 9, 10, 127, 255 };
	u32 i = ep->transport == XROCE_UD ? 0 : 2;

	w->opcode = bad[sim_range(i, ARRAY_SIZE(bad) - 1)];
}

static void t_num_sge(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	w->flags &= ~XROCE_WR_INLINE;
	w->num_sge = sim_range(ep->max_sge + 1, 255);
}

static void t_flags(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	(void)ep;
	w->flags |= 1u << sim_range(4, 7);
}

static void t_inline_len(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	w->flags |= XROCE_WR_INLINE;
	w->inline_len = sim_chance(5000) ? ep->max_inline + 1 : 0xffff;
}

static void t_too_long(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	(void)ep;
	w->num_sge = 2;
	w->sge[0].length = 0x80000000;
	w->sge[1].length = 1;
	w->sge[1].lkey = w->sge[0].lkey;
}

static void t_over_mtu(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	w->sge[0].length = ep->mtu + sim_range(1, 5);
	w->num_sge = 1;
}

static void t_ah(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	(void)ep;
	w->ud.ah ^= sim_chance(5000) ? 1u << sim_below(32) : w->ud.ah;
}

static void t_foreign_ah(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	struct sim_node *n = ep->node;
	u32 i;

	for (i = 0; i < SIM_AHS && !(n->ah[i] && n->ah[i]->foreign); i++)
		;
	if (i == SIM_AHS) {
		sim_ah_new(n, n, 0, false);
		for (i = SIM_AHS; !n->ah[--i]; )
			;
		n->ah[i]->foreign = true;
		n->ah[i]->ah.pd = &n->other_pd;
	}
	w->ud.ah = n->ah[i]->number;
}

static const struct bad_send {
	void (*tweak)(struct sim_ep *ep, struct xroce_send_wqe *w);
	u8 status;
	u8 transport;		/* 0: both */
} bad_sends[] = {
	{ t_lkey, XROCE_WC_LOC_PROT_ERR, 0 },
	{ t_opcode, XROCE_WC_LOC_QP_OP_ERR, 0 },
	{ t_num_sge, XROCE_WC_LOC_QP_OP_ERR, 0 },
	{ t_flags, XROCE_WC_LOC_QP_OP_ERR, 0 },
	{ t_inline_len, XROCE_WC_LOC_QP_OP_ERR, 0 },
	{ t_too_long, XROCE_WC_LOC_LEN_ERR, 0 },
	{ t_last_lkey, XROCE_WC_LOC_PROT_ERR, XROCE_UC },
	{ t_over_mtu, XROCE_WC_LOC_LEN_ERR, XROCE_UD },
	{ t_ah, XROCE_WC_LOC_QP_OP_ERR, XROCE_UD },
	{ t_foreign_ah, XROCE_WC_LOC_QP_OP_ERR, XROCE_UD },
};

/**
 * unrel_post_bad() - post one that must fail here
 */
struct sim_op *unrel_post_bad(struct sim_ep *ep)
{
	const struct bad_send *b;
	struct sim_opt opt = { .wr = XROCE_WR_SEND, .nsge = 1 };
	struct sim_op *op;

	do
		b = &bad_sends[sim_below(ARRAY_SIZE(bad_sends))];
	while ((b->transport && b->transport != ep->transport) ||
	       ((b->tweak == t_last_lkey || b->tweak == t_too_long) &&
		ep->max_sge < 2));
	opt.signaled = sim_chance(5000);
	opt.len = sim_range(1, ep->mtu);
	opt.tweak = b->tweak;
	opt.status = b->status;
	if (b->tweak == t_last_lkey) {
		opt.len = min(sim_range(2, 20 * ep->mtu), W->cfg.max_len);
		opt.partial = true;
	}
	op = sim_post(ep, &opt);
	if (op && b->tweak == t_opcode)
		op->bad_opcode = true;
	return op;
}

/**
 * unrel_post_random() - post anything
 */
void unrel_post_random(struct sim_ep *ep)
{
	bool ud = ep->transport == XROCE_UD;
	u32 max_len = ud ? ep->mtu : W->cfg.max_len;
	struct sim_opt opt = {};

	if (sim_chance(W->cfg.bad) && ep->state == SIM_EP_UP) {
		if (!unrel_post_bad(ep))
			sim_sq_push(ep, false);
		return;
	}
	if (ud && sim_chance(W->cfg.bad)) {
		u32 i = sim_below(SIM_AHS);
		struct sim_ah *ah = ep->node->ah[i];

		if (ah && !ah->foreign) {
			sim_ah_destroy(ep->node, i);
			sim_ah_new(ep->node, ah->to, ah->group, ah->v6);
		}
	}
	opt.wr = sim_range(ud ? XROCE_WR_SEND : XROCE_WR_RDMA_WRITE,
			   XROCE_WR_SEND_WITH_IMM);
	if (opt.wr >= XROCE_WR_SEND && !ud && !sim_chance(500))
		max_len = min(max_len, ep->peer->msg_max);
	opt.len = min(sim_random_len(ep, max_len), max_len);
	opt.nsge = sim_chance(5000) ? 1 : sim_range(1, ep->max_sge);
	opt.signaled = sim_chance(6000) ||
		       ep->sq_prod % max(ep->sq_depth / 2, 1u) == 0;
	opt.solicited = sim_chance(3000);
	opt.fence = sim_chance(1000);
	opt.more = sim_chance(3000);
	opt.bad_rkey = sim_chance(W->cfg.bad);
	if (sim_chance(2000)) {
		opt.is_inline = true;
		opt.len = min(opt.len, ep->max_inline);
	}
	if (!sim_post(ep, &opt))
		sim_sq_push(ep, false);
}

/**
 * unrel_recover() - from SQE to RTS, when everything has come back
 */
bool unrel_recover(struct sim_ep *ep)
{
	sim_poll(ep->scq);
	if (ep->state != SIM_EP_SQE || ep->ops.n ||
	    ep->qp.hot.state != XROCE_QPS_SQE)
		return false;
	sim_check(ep->qp.req.ring->cons == ep->sq_prod, "QP %u: all flushed,"
		  " but %u of %u slots", ep->idx, ep->qp.req.ring->cons,
		  ep->sq_prod);
	ep->u.jump = true;
	ep->u.done = ep->sq_prod;
	ep->state = SIM_EP_UP;
	ep->sqd = ep->sqd_event = ep->drained = false;
	sim_ep_state(ep, XROCE_QPS_RTS);
	return true;
}
