// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Posting: a work request in the ring, and in the model what must come of it.
 * Runs as the user, single-threaded.
 */
#include "sim.h"

static bool wr_is_send(u8 wr)
{
	return wr == XROCE_WR_SEND || wr == XROCE_WR_SEND_WITH_IMM ||
	       wr == XROCE_WR_SEND_WITH_INV;
}

static bool wr_is_write(u8 wr)
{
	return wr == XROCE_WR_RDMA_WRITE || wr == XROCE_WR_RDMA_WRITE_WITH_IMM;
}

static bool wr_is_atomic(u8 wr)
{
	return wr == XROCE_WR_ATOMIC_CMP_AND_SWP ||
	       wr == XROCE_WR_ATOMIC_FETCH_AND_ADD;
}

/**
 * sim_take_pieces() - cut @len into @n pieces of a region, some of them empty
 */
bool sim_take_pieces(struct sim_region *r, u32 len, u32 n, struct sim_piece *p)
{
	u64 tail = r->tail;
	u32 i, part;

	for (i = 0; i < n; i++) {
		part = i + 1 == n ? len : sim_chance(500) ? 0 :
		       sim_below(2 * len / (n - i) + 1);
		part = min(part, len);
		if (!sim_take(r, part, 1, &p[i])) {
			r->tail = tail;
			return false;
		}
		len -= part;
	}
	return true;
}

static bool take_local(struct sim_ep *ep, struct sim_op *op,
		       const struct sim_opt *opt)
{
	u32 n = min(max(opt->nsge, op->len ? 1u : 0u), ep->max_sge);

	if (opt->src) {
		op->nloc = opt->src->nloc;
		memcpy(op->local, opt->src->local, sizeof(op->local));
		opt->src->own_local = false;
		op->own_local = true;
		return true;
	}
	if (opt->is_inline) {
		op->use_data = true;
		op->data = malloc(op->len + 1);
		sim_fill(op->data, op->len, sim_rnd());
		return true;
	}
	op->nloc = n;
	op->own_local = true;
	return sim_take_pieces(ep->loc, op->len, n, op->local);
}

static bool take_remote(struct sim_ep *ep, struct sim_op *op,
			const struct sim_opt *opt)
{
	if (wr_is_send(op->wr) || wr_is_atomic(op->wr))
		return true;
	op->own_remote = true;
	if (opt->dst) {
		op->remote = opt->dst->remote;
		opt->dst->own_remote = false;
	} else if (!sim_take(ep->peer->rem, op->len, 1, &op->remote)) {
		return false;
	}
	if (ep->peer->nkeys && sim_chance(7000))
		op->via = sim_key_for(ep->peer, op->remote.off, op->len,
				      wr_is_write(op->wr) ? XROCE_REMOTE_WRITE :
							    XROCE_REMOTE_READ);
	return true;
}

static void plan_atomic(struct sim_ep *ep, struct sim_op *op, bool shared)
{
	u64 *word = NULL;

	op->atom = sim_below(SIM_ATOMS);
	op->shared_atom = shared;
	op->swap_add = shared ? 1 : sim_rnd();
	if (shared)
		return;
	word = &ep->peer->atom[op->atom];
	op->orig = *word;
	op->compare = sim_chance(6000) ? *word : sim_rnd();
	if (op->wr == XROCE_WR_ATOMIC_FETCH_AND_ADD)
		op->result = *word + op->swap_add;
	else
		op->result = *word == op->compare ? op->swap_add : *word;
	if (!op->status || op->partial)
		*word = op->result;
	op->via = sim_key_for(ep->peer, op->atom * 8, 8, XROCE_REMOTE_ATOMIC);
}

/* What the peer is to receive. */
static void plan_msg(struct sim_ep *ep, struct sim_op *op,
		     const struct sim_opt *opt)
{
	struct sim_msg *m = calloc(1, sizeof(*m));
	u32 i, off = 0;

	m->op = op;
	m->wr = op->wr;
	m->len = op->len;
	m->imm = op->imm;
	m->solicited = opt->solicited;
	m->status = opt->recv_status;
	op->msg = m;
	sim_list_add(&ep->peer->msgs, m);
	if (wr_is_write(op->wr))
		return;
	m->data = malloc(op->len + 1);
	if (op->use_data) {
		memcpy(m->data, op->data, op->len);
	} else if (opt->src) {
		memcpy(m->data, opt->src->remote.r->shadow +
		       opt->src->remote.off, op->len);
	} else {
		for (i = 0; i < op->nloc; i++) {
			memcpy(m->data + off, op->local[i].r->shadow +
			       op->local[i].off, op->local[i].len);
			off += op->local[i].len;
		}
	}
	if (op->wr == XROCE_WR_SEND_WITH_INV)
		m->key = sim_key_to_end(ep->peer, opt->fence);
	if (m->key) {
		m->inv = &m->key->r;
	} else if (op->wr == XROCE_WR_SEND_WITH_INV) {
		m->inv = sim_region_new(ep->peer->node, 64,
					XROCE_REMOTE_READ,
					sim_ep_pd(ep->peer));
		m->inv->mr.kind = opt->not_inv ? XROCE_MR :
						    XROCE_MR_FAST;
	}
}

static void fill_wqe(struct sim_ep *ep, struct sim_op *op,
		     const struct sim_opt *opt, struct xroce_send_wqe *wqe)
{
	struct sim_node *to = ep->peer->node;
	u64 off = op->remote.r ? op->remote.off : op->atom * 8;
	u32 i;

	wqe->wr_id = op->wr_id;
	wqe->opcode = op->wr;
	wqe->flags = (opt->signaled ? XROCE_WR_SIGNALED : 0) |
		     (opt->solicited ? XROCE_WR_SOLICITED : 0) |
		     (opt->fence ? XROCE_WR_FENCE : 0) |
		     (opt->is_inline ? XROCE_WR_INLINE : 0);
	wqe->imm = op->imm;
	if (ep->xrc)
		wqe->rdma.xrc_srqn = ep->peer->srq->number;
	if (op->wr == XROCE_WR_SEND_WITH_INV)
		wqe->inv_rkey = op->msg->inv->mr.key;
	if (op->remote.r) {
		wqe->rdma.remote_addr = sim_region_addr(op->remote.r,
							op->remote.off);
		wqe->rdma.rkey = op->remote.r->mr.key;
	} else if (wr_is_atomic(op->wr)) {
		struct sim_region *r = op->shared_atom ? to->shared :
							 ep->peer->rem;

		wqe->rdma.remote_addr = sim_region_addr(r, op->atom * 8);
		wqe->rdma.rkey = r->mr.key;
		wqe->rdma.swap_add = op->swap_add;
		wqe->rdma.compare = op->compare;
	}
	if (op->via) {
		wqe->rdma.remote_addr = op->via->now.iova + off -
					op->via->now.off;
		wqe->rdma.rkey = op->via->now.key;
	}
	if (op->use_data) {
		wqe->inline_len = op->len;
		memcpy(wqe->inline_data, op->data, op->len);
		return;
	}
	wqe->num_sge = op->nloc;
	for (i = 0; i < op->nloc; i++)
		op->by_key |= sim_key_local(ep, &op->local[i], &wqe->sge[i]);
}

/**
 * sim_post() - post one work request
 *
 * Return: what the model knows of it, or NULL when there was no room.
 */
struct sim_op *sim_post(struct sim_ep *ep, const struct sim_opt *opt)
{
	u64 loc = ep->loc->tail, rem = ep->peer->rem->tail;
	struct xroce_send_wqe *wqe;
	struct sim_op *op;

	if (ep->transport != XROCE_RC)
		return unrel_post(ep, opt);
	if (sim_sq_full(ep))
		return NULL;
	op = calloc(1, sizeof(*op));
	op->wr = opt->wr;
	op->len = wr_is_atomic(opt->wr) ? 8 : opt->len;
	op->status = opt->status;
	op->maybe = opt->maybe;
	op->partial = opt->partial;
	op->signaled = opt->signaled;
	op->solicited = opt->solicited;
	if (!take_local(ep, op, opt) || !take_remote(ep, op, opt)) {
		ep->loc->tail = loc;
		ep->peer->rem->tail = rem;
		free(op->data);
		free(op);
		return NULL;
	}
	op->wr_id = ep->wr_id++;
	op->imm = (__be32)sim_rnd();
	if (wr_is_atomic(op->wr))
		plan_atomic(ep, op, opt->shared);
	if (wr_is_send(op->wr) || op->wr == XROCE_WR_RDMA_WRITE_WITH_IMM)
		plan_msg(ep, op, opt);
	wqe = sim_sq_slot(ep);
	fill_wqe(ep, op, opt, wqe);
	if (opt->tweak)
		opt->tweak(ep, wqe);
	sim_trace("%u: post wr %llu opcode %u, %u bytes in %u from %llu, flags"
		  " %x", ep->idx, (unsigned long long)op->wr_id, op->wr,
		  op->len, op->nloc, (unsigned long long)op->local[0].off,
		  wqe->flags);
	sim_list_add(&ep->ops, op);
	W->ops_posted++;
	op->idx = ep->sq_prod++;
	sim_sq_push(ep, opt->more);
	return op;
}

/**
 * sim_random_len() - a message length, often where things change
 */
u32 sim_random_len(struct sim_ep *ep, u32 max_len)
{
	u32 len, how = sim_below(100);

	if (how < 4)
		return 0;
	if (how < 30)
		len = sim_range(1, 64);
	else if (how < 55)
		len = ep->mtu * sim_range(1, 4) + sim_below(5) - 2;
	else
		len = sim_rnd() >> (64 - sim_range(1, ilog2(max_len) + 1));
	return min(len, max_len);
}

/* READ, then send on what it brought; or WRITE, then READ it back. */
static void post_pair(struct sim_ep *ep, struct sim_opt *opt)
{
	bool fence = sim_chance(6000);
	struct sim_op *a, *b;

	if (ep->sq_depth - (ep->sq_prod - ep->qp.req.ring->cons) < 2 ||
	    ep->ops.n + 2 > 2 * ep->sq_depth)
		return;
	opt->is_inline = false;
	opt->solicited = false;
	opt->wr = fence ? XROCE_WR_RDMA_READ : XROCE_WR_RDMA_WRITE;
	opt->len = min(opt->len, ep->peer->msg_max);
	/* Both at once: nothing may happen between them and to the first. */
	opt->more = true;
	a = sim_post(ep, opt);
	if (!a)
		return;
	opt->signaled = sim_chance(7000);
	opt->more = false;
	if (fence) {
		opt->wr = sim_chance(5000) ? XROCE_WR_RDMA_WRITE :
					     XROCE_WR_SEND;
		opt->fence = true;
		opt->src = a;
	} else {
		opt->wr = XROCE_WR_RDMA_READ;
		opt->dst = a;
	}
	b = sim_post(ep, opt);
	if (!b)
		sim_sq_push(ep, false);
}

static u8 random_wr(struct sim_ep *ep)
{
	u32 k = sim_below(100);

	if (k < 25)
		return XROCE_WR_RDMA_WRITE;
	if (k < 33)
		return XROCE_WR_RDMA_WRITE_WITH_IMM;
	if (k < 50)
		return XROCE_WR_SEND;
	if (k < (ep->peer->nkeys ? 56 : 58))
		return XROCE_WR_SEND_WITH_IMM;
	if (k < 59 && !ep->peer->node->mr[SIM_TAB - 1])
		return XROCE_WR_SEND_WITH_INV;
	if (k < 80)
		return XROCE_WR_RDMA_READ;
	if (k < 90)
		return XROCE_WR_ATOMIC_FETCH_AND_ADD;
	return XROCE_WR_ATOMIC_CMP_AND_SWP;
}

/**
 * sim_post_random() - post anything that must succeed
 */
void sim_post_random(struct sim_ep *ep)
{
	struct sim_opt opt = { .wr = random_wr(ep) };
	u32 max_len = W->cfg.max_len;

	if (ep->nkeys && sim_chance(W->cfg.key) && sim_post_key(ep))
		return;
	if (ep->transport != XROCE_RC) {
		unrel_post_random(ep);
		return;
	}
	if (wr_is_send(opt.wr))
		max_len = ep->peer->msg_max;
	opt.len = sim_random_len(ep, max_len);
	opt.nsge = sim_chance(5000) ? 1 : sim_range(1, ep->max_sge);
	/* One in so many must tell, or nobody knows where things stand. */
	opt.signaled = sim_chance(6000) ||
		       ep->sq_prod % max(ep->sq_depth / 2, 1u) == 0;
	opt.solicited = sim_chance(3000);
	opt.fence = sim_chance(opt.wr == XROCE_WR_SEND_WITH_INV ? 5000 : 1000);
	opt.more = sim_chance(3000);
	if (sim_chance(600)) {
		post_pair(ep, &opt);
		return;
	}
	if (wr_is_atomic(opt.wr)) {
		opt.shared = opt.wr == XROCE_WR_ATOMIC_FETCH_AND_ADD &&
			     !ep->xrc && sim_chance(3000);
		opt.nsge = opt.shared ? 1 : min(opt.nsge, 2u);
	} else if (opt.wr != XROCE_WR_RDMA_READ && sim_chance(2000)) {
		opt.len = min(opt.len, ep->max_inline);
		opt.is_inline = true;
	}
	if (!sim_post(ep, &opt))
		sim_sq_push(ep, false);
}

bool sim_post_recv(struct sim_ep *ep, u32 len, u32 nsge)
{
	struct xroce_recv_wqe *wqe;
	struct sim_recv *rv;
	u32 i;

	if (ep->srq)
		return sim_srq_post(ep->srq, min(len, ep->srq->slot_len),
				    nsge);
	if (sim_rq_full(ep))
		return false;
	rv = calloc(1, sizeof(*rv));
	rv->nsge = min(nsge, ep->max_sge);
	if (!sim_take_pieces(ep->rcv, len, rv->nsge, rv->sge)) {
		free(rv);
		return false;
	}
	rv->len = len;
	rv->wr_id = ep->rwr_id++;
	wqe = sim_rq_slot(ep);
	wqe->wr_id = rv->wr_id;
	wqe->num_sge = rv->nsge;
	for (i = 0; i < rv->nsge; i++) {
		wqe->sge[i].addr = sim_region_addr(rv->sge[i].r,
						   rv->sge[i].off);
		wqe->sge[i].length = rv->sge[i].len;
		wqe->sge[i].lkey = rv->sge[i].r->mr.key;
	}
	sim_list_add(&ep->recvs, rv);
	sim_rq_push(ep);
	return true;
}

/* Where nobody is punished for it, it may be too short. */
static u32 recv_len(const struct sim_ep *ep)
{
	u32 len = ep->msg_max;

	if (ep->transport == XROCE_UD)
		len += XROCE_GRH_LEN;
	if (ep->transport != XROCE_RC && !W->cfg.plain && sim_chance(1000))
		len = sim_below(len);
	return len;
}

/**
 * sim_post_recvs() - fill the receive queue, or as far as there is memory
 */
void sim_post_recvs(struct sim_ep *ep)
{
	u32 extra;

	if (ep->srq) {
		sim_srq_fill(ep->srq);
		return;
	}
	do
		extra = sim_chance(2000) ? sim_below(64) : 0;
	while (sim_post_recv(ep, recv_len(ep) + extra,
			     sim_range(1, ep->max_sge)));
}

/**
 * sim_post_inv() - a region that nothing names, made invalid
 *
 * Begun: posted with what comes next, or by sim_sq_push().
 */
struct sim_region *sim_post_inv(struct sim_ep *ep, u32 flags)
{
	struct sim_region *r = sim_region_new(ep->node, 64, 0, sim_ep_pd(ep));

	r->mr.kind = XROCE_MR_FAST;
	*sim_sq_slot(ep) = (struct xroce_send_wqe) {
		.opcode = XROCE_WR_LOCAL_INV,
		.flags = flags,
		.inv_rkey = r->mr.key,
	};
	ep->sq_prod++;
	return r;
}
