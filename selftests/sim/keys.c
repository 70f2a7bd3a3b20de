// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Work requests that send nothing: windows and fast regions over what an end lets
 * its peer reach, bound, registered and made invalid between all other traffic. The
 * model has a list of what each will make of its key: whoever looks must find one of
 * these, in order, and never what was before. Runs as the user, single-threaded.
 */
#include "sim.h"

#define RIGHTS	(XROCE_LOCAL_WRITE | XROCE_REMOTE | XROCE_MW_BIND)

/**
 * sim_wr_is_local() - does it send nothing
 */
bool sim_wr_is_local(u8 wr)
{
	return wr == XROCE_WR_LOCAL_INV || wr == XROCE_WR_BIND_MW ||
	       wr == XROCE_WR_REG_MR;
}

/**
 * sim_keys_new() - keys that open a part of what an end's peer may reach
 */
void sim_keys_new(struct sim_ep *ep)
{
	static const u8 kinds[] = {
		XROCE_MW_2, XROCE_MW_1, XROCE_MW_2, XROCE_MR_FAST,
	};
	struct sim_key *k;

	ep->qp.req.trusted = sim_chance(5000);
	ep->nkeys = ARRAY_SIZE(kinds) - !ep->qp.req.trusted;
	for (k = ep->keys; k < ep->keys + ep->nkeys; k++) {
		sim_region_name(ep->node, &k->r);
		k->r.mr.kind = kinds[k - ep->keys];
		k->r.mr.pd = ep->qp.pd;
		/* XRC: the peer's domain is another one. */
		k->of = ep->xrc ? ep->loc : ep->rem;
		if (k->r.mr.kind == XROCE_MR_FAST) {
			k->of = sim_chance(5000) ? ep->loc : k->of;
			k->r.mr.page = k->of->mr.page;
			k->r.mr.spare = k->of->mr.page + k->of->nblk;
			k->r.mr.page_shift = k->of->mr.page_shift;
		}
		k->now.key = k->plan.key = k->r.mr.key;
	}
	ep->loc->mr.access |= XROCE_MW_BIND;
	ep->rem->mr.access |= XROCE_MW_BIND;
}

static bool is_so(const struct sim_key *k, const struct sim_bind *b)
{
	const struct xroce_mr *mr = &k->r.mr;
	bool valid = mr->state == XROCE_KEY_VALID;

	if (mr->key != b->key || valid != b->valid)
		return false;
	return !b->valid || (mr->iova == b->iova && mr->length == b->len &&
			     mr->access == b->access && (!b->page || mr->page == b->page) &&
			     mr->offset == k->of->mr.offset + b->off);
}

/* The one that its own work requests go by. */
static struct sim_key *local_key(struct sim_ep *ep)
{
	return &ep->keys[ARRAY_SIZE(ep->keys) - 1];
}

/* Seen for the first time to be done: might it be. */
static void executed(struct sim_ep *ep, struct sim_op *op)
{
	u32 cons = ep->qp.req.ring->cons, need = 0;
	struct sim_op *o;

	op->executed = true;
	/* Who makes it SQD has looked before. */
	sim_check(ep->qp.hot.state != XROCE_QPS_SQD, "QP %u: executes wr %llu in"
		  " SQD", ep->idx, (unsigned long long)op->wr_id);
	for (o = ep->ops.first; o != op; o = o->next)
		if ((op->wr == XROCE_WR_LOCAL_INV && o->by_key && op->key == local_key(ep)) ||
		    (op->fence && o->wr >= XROCE_WR_RDMA_READ &&
		     o->wr <= XROCE_WR_ATOMIC_FETCH_AND_ADD))
			need = o->idx + 1;
	sim_check(!need || (s32)(cons - need) >= 0, "QP %u: wr %llu is executed"
		  " before what it has to wait for", ep->idx,
		  (unsigned long long)op->wr_id);
}

static void look_at(struct sim_ep *ep, struct sim_key *k)
{
	struct sim_op *op, *seen = NULL;

	for (op = ep->ops.first; op; op = op->next)
		if (op->key == k && !op->status && !op->executed &&
		    is_so(k, &op->want))
			seen = op;
	if (seen) {
		k->now = seen->want;
		for (op = ep->ops.first; op != seen->next; op = op->next)
			if (op->key == k && !op->status && !op->executed)
				executed(ep, op);
	} else if (k->remote) {
		k->now.valid = false;
	}
	sim_check(is_so(k, &k->now), "QP %u: key %08x is as no work request"
		  " makes it: state %u, %llx+%llx", ep->idx, k->r.mr.key,
		  k->r.mr.state, (unsigned long long)k->r.mr.iova,
		  (unsigned long long)k->r.mr.length);
}

/**
 * sim_keys_look() - what has been done meanwhile of what sends nothing
 */
void sim_keys_look(struct sim_ep *ep)
{
	const struct sim_op *left = NULL;
	bool news = false;
	struct sim_op *op;
	u32 i;

	for (i = 0; i < ep->nkeys && !W->checks_off; i++) {
		if (is_so(&ep->keys[i], &ep->keys[i].now))
			continue;
		look_at(ep, &ep->keys[i]);
		news = true;
	}
	for (op = ep->ops.first; op && news; op = op->next) {
		if (!sim_wr_is_local(op->wr))
			continue;
		sim_check(!left || !op->executed, "QP %u: wr %llu is executed"
			  " before %llu", ep->idx,
			  (unsigned long long)op->wr_id,
			  (unsigned long long)(left ? left->wr_id : 0));
		if (!op->executed)
			left = op;
	}
	for (op = ep->ops.first; op && (op->taken || op->executed);
	     op = op->next)
		if ((s32)(op->idx - ep->u.done) >= 0)
			ep->u.done = op->idx + 1;
}

/**
 * sim_keys_before() - what sends nothing and is before @op must have been done
 */
void sim_keys_before(struct sim_ep *ep, const struct sim_op *op)
{
	const struct sim_op *o;

	sim_keys_look(ep);
	for (o = ep->ops.first; o && o != op; o = o->next)
		sim_check(!sim_wr_is_local(o->wr) || o->executed, "QP %u: wr"
			  " %llu goes before %llu", ep->idx,
			  (unsigned long long)op->wr_id,
			  (unsigned long long)o->wr_id);
}

/**
 * sim_keys_drained() - nothing that was begun may be left over
 */
void sim_keys_drained(struct sim_ep *ep)
{
	struct sim_op *op;

	sim_keys_look(ep);
	for (op = ep->ops.first; op; op = op->next)
		sim_check(!op->executed ||
			  (s32)(ep->qp.req.ring->cons - op->idx) > 0,
			  "QP %u: drained, and wr %llu has not completed",
			  ep->idx, (unsigned long long)op->wr_id);
}

/**
 * sim_key_over() - an operation on a key or by one has ended
 */
void sim_key_over(struct sim_op *op)
{
	if (op->via)
		op->via->users--;
	if (!op->key)
		return;
	op->key->posted--;
	/* Flushed, as all behind it. */
	if (!op->executed)
		op->key->plan = op->key->now;
}

/**
 * sim_key_ended() - the peer's message that ends a key was received, or never will
 */
void sim_key_ended(struct sim_ep *ep, struct sim_key *k)
{
	sim_keys_look(ep);
	k->remote = false;
	k->plan = k->now;
}

/* Whose user knows that it is open, and leaves it so. */
static bool is_open(const struct sim_key *k)
{
	return k->now.valid && !k->posted && !k->remote;
}

/* Is a window bound to it once all that is posted is done; or, @now, until then. */
static bool has_windows(const struct sim_ep *ep, const struct sim_key *k,
			bool now)
{
	const struct sim_key *w;

	for (w = ep->keys; w < k && k->r.mr.kind == XROCE_MR_FAST; w++)
		if ((now && w->posted) || (w->plan.valid && w->plan.to == k))
			return true;
	return false;
}

/**
 * sim_key_for() - a key of an end for its peer's operation, or NULL
 */
struct sim_key *sim_key_for(struct sim_ep *ep, u64 off, u32 len, u32 right)
{
	u32 n = ep->nkeys, i = n ? sim_below(n) : 0;
	struct sim_key *k;

	for (; n; n--) {
		k = &ep->keys[i++ % ep->nkeys];
		if (!is_open(k) || k->of != ep->rem ||
		    !(k->now.access & right) || off < k->now.off ||
		    off + len > k->now.off + k->now.len)
			continue;
		k->users++;
		return k;
	}
	return NULL;
}

/**
 * sim_key_local() - name a piece of an end's own memory in its work request
 *
 * What registers it may be yet to come, and what ends it next.
 * Return: is it by a key that a work request ends.
 */
bool sim_key_local(struct sim_ep *ep, const struct sim_piece *p,
		   struct xroce_sge *sge)
{
	const struct sim_key *k = local_key(ep);

	sge->addr = sim_region_addr(p->r, p->off);
	sge->length = p->len;
	sge->lkey = p->r->mr.key;
	if (!p->len) {		/* nobody looks at it */
		sge->lkey = sim_rnd();
	} else if (k->of == p->r && k->plan.valid && p->off >= k->plan.off &&
		   p->off + p->len <= k->plan.off + k->plan.len) {
		sge->addr = k->plan.iova + p->off - k->plan.off;
		sge->lkey = k->plan.key;
		return true;
	}
	return false;
}

/**
 * sim_key_to_end() - a key of an end that its peer may end by a SEND, or NULL
 * @fence: what reads by it has been answered then
 */
struct sim_key *sim_key_to_end(struct sim_ep *ep, bool fence)
{
	struct sim_key *k;

	for (k = ep->keys; k < ep->keys + ep->nkeys; k++) {
		if (!is_open(k) || k->of != ep->rem || (k->users && !fence) ||
		    k->r.mr.kind == XROCE_MW_1 || has_windows(ep, k, true))
			continue;
		k->remote = true;
		return k;
	}
	return NULL;
}

/**
 * sim_key_named() - that of an end, NULL: none
 */
struct sim_key *sim_key_named(struct sim_ep *ep, u32 rkey)
{
	struct sim_key *k;

	sim_keys_look(ep);
	for (k = ep->keys; k < ep->keys + ep->nkeys; k++)
		if (k->now.key == rkey)
			return k;
	return NULL;
}

static u32 next_key(u32 key)
{
	return (key & ~255u) | ((key + 1) & 255);
}

static void some_of(struct sim_bind *b, u64 off, u64 len)
{
	u64 skip = sim_chance(4000) ? 0 : 8 * sim_below(len / 16 + 1);

	b->off = off + skip;
	b->len = sim_chance(5000) ? len - skip :
				    sim_range(1, len - skip);
	b->valid = true;
}

static void plan_reg(struct sim_key *k, struct sim_bind *b,
		     struct xroce_send_wqe *w)
{
	const struct xroce_mr *mr = &k->of->mr;
	u64 size = 1ull << mr->page_shift;

	/* It begins in the first block, as its list of them does. */
	b->off = 8 * sim_below(min(size - mr->offset, k->of->len / 2) / 8);
	b->len = sim_chance(5000) ? k->of->len - b->off :
				    sim_range(1, k->of->len - b->off);
	b->iova = (sim_rnd() >> 16) & ~7ull;
	/* the first page's offset as its address has it, or as ib_map_mr_sg_zbva() */
	b->iova = sim_below(2) ? (b->iova & ~(size - 1)) + mr->offset + b->off :
				 b->iova + (mr->offset & 7);
	b->key = next_key(b->key);
	b->access = RIGHTS;
	b->valid = true;
	b->page = mr->page + (sim_below(2) ? k->of->nblk : 0);
	w->opcode = XROCE_WR_REG_MR;
	w->reg.page = (uintptr_t)b->page;
	w->reg.iova = b->iova;
	w->reg.length = b->len;
	w->reg.page_shift = mr->page_shift;
	w->reg.offset = mr->offset + b->off;
	w->reg_key = b->key;
	w->reg.access = b->access;
}

static void plan_bind(struct sim_ep *ep, struct sim_key *k, struct sim_bind *b,
		      struct xroce_send_wqe *w)
{
	struct sim_key *to = &ep->keys[ep->nkeys - 1];

	w->opcode = XROCE_WR_BIND_MW;
	w->bind.rkey = b->key;
	w->bind.new_rkey = b->key = next_key(b->key);
	b->to = NULL;
	if (k->r.mr.kind == XROCE_MW_1 && sim_chance(2000)) {
		b->valid = false;
		return;
	}
	if (to != k && to->of == k->of && to->plan.valid && !to->remote &&
	    to->r.mr.kind == XROCE_MR_FAST && sim_chance(7000)) {
		some_of(b, to->plan.off, to->plan.len);
		w->bind.addr = to->plan.iova + b->off - to->plan.off;
		w->bind.lkey = to->plan.key;
		b->to = to;
	} else {
		some_of(b, 0, k->of->len);
		w->bind.addr = sim_region_addr(k->of, b->off);
		w->bind.lkey = k->of->mr.key;
	}
	w->bind.length = b->len;
	b->access = sim_chance(7000) ? XROCE_REMOTE : sim_rnd() & XROCE_REMOTE;
	b->iova = sim_chance(3000) ? 0 : w->bind.addr;
	w->bind.access = b->access | (b->iova ? 0 : XROCE_ZERO_BASED);
}

/* Return: false when the user may not want this now. */
static bool plan(struct sim_ep *ep, struct sim_key *k, struct sim_bind *b,
		 struct xroce_send_wqe *w, bool inv)
{
	if (inv && has_windows(ep, k, false))
		return false;
	if (inv) {
		w->opcode = XROCE_WR_LOCAL_INV;
		w->inv_rkey = b->key;
		b->valid = false;
	} else if (k->r.mr.kind == XROCE_MR_FAST) {
		plan_reg(k, b, w);
	} else {
		plan_bind(ep, k, b, w);
	}
	return true;
}

/* Make it one that must fail. Return: with which status. */
static u8 spoil(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	u32 bit = 1u << sim_range(8, 31), how = sim_below(4);
	bool bind = w->opcode == XROCE_WR_BIND_MW;

	if (!how) {
		w->num_sge = 1;
		w->flags |= sim_below(2) ? XROCE_WR_INLINE : 0;
		return XROCE_WC_LOC_QP_OP_ERR;
	}
	if (how == 1 && bind && w->bind.length) {
		w->bind.lkey = sim_below(2) ? ep->rcv->mr.key :
					      w->bind.lkey ^ bit >> 8;
	} else if (how == 2 && bind && w->bind.length) {
		w->bind.length = sim_below(2) ? w->bind.length + (1 << 30) :
						-1ull;
	} else if (bind) {
		if (sim_below(2))
			w->bind.new_rkey ^= bit;
		else
			w->bind.access |= sim_below(2) ? XROCE_MW_BIND :
							 XROCE_ACCESS_FLUSH;
	} else if (w->opcode == XROCE_WR_REG_MR) {
		w->reg_key ^= bit;
	} else {
		w->inv_rkey = sim_below(2) ? ep->rem->mr.key :
					     w->inv_rkey ^ bit >> sim_below(9);
	}
	return XROCE_WC_MW_BIND_ERR;
}

/**
 * sim_post_key() - post something that sends nothing
 *
 * Return: whether there was room, and anything to do.
 */
bool sim_post_key(struct sim_ep *ep)
{
	bool bad = ep->state == SIM_EP_UP && sim_chance(W->cfg.key_bad), wrong;
	struct sim_key *k = &ep->keys[sim_below(ep->nkeys)];
	bool once = k->r.mr.kind != XROCE_MW_1;
	struct sim_bind want = k->plan;
	struct xroce_send_wqe *w;
	struct sim_op *op;

	/* Nobody pulls the memory from under a reliable peer's feet. */
	if (sim_sq_full(ep) || k->remote ||
	    (k->users && ep->transport == XROCE_RC))
		return false;
	w = sim_sq_slot(ep);
	/* What is wrong may be the order alone; a region may be invalid before. */
	wrong = bad && sim_chance(5000) && (want.valid || k->r.mr.kind != XROCE_MR_FAST);
	if (!plan(ep, k, &want, w, (once && want.valid) != wrong))
		return false;
	op = calloc(1, sizeof(*op));
	op->wr_id = w->wr_id = ep->wr_id++;
	op->wr = w->opcode;
	op->signaled = sim_chance(5000) ||
		       ep->sq_prod % max(ep->sq_depth / 2, 1u) == 0;
	op->fence = sim_chance(2000);
	w->flags = (op->signaled ? XROCE_WR_SIGNALED : 0) |
		   (op->fence ? XROCE_WR_FENCE : 0);
	if (wrong)
		op->status = XROCE_WC_MW_BIND_ERR;
	else if (bad)
		op->status = spoil(ep, w);
	else
		k->plan = want;
	op->want = want;
	op->key = k;
	k->posted++;
	sim_trace("%u: post wr %llu opcode %u, flags %x, key %08x, %llx+%llx, to"
		  " fail with %u", ep->idx, (unsigned long long)op->wr_id,
		  op->wr, w->flags, want.key, (unsigned long long)want.off,
		  (unsigned long long)(want.valid ? want.len : 0), op->status);
	sim_list_add(&ep->ops, op);
	W->ops_posted++;
	op->idx = ep->sq_prod++;
	sim_sq_push(ep, sim_chance(3000));
	return true;
}

/**
 * sim_keys_quiet() - nothing is under way: all is counted right
 */
void sim_keys_quiet(struct sim_ep *ep)
{
	struct sim_key *k, *j;
	int n, all = 0;

	sim_keys_look(ep);
	for (k = ep->keys; k < ep->keys + ep->nkeys; k++) {
		n = 0;
		for (j = ep->keys; j < ep->keys + ep->nkeys; j++)
			n += j->now.valid && j->now.to == k;
		all += k->now.valid && !k->now.to &&
		       k->r.mr.kind != XROCE_MR_FAST;
		sim_check(!k->users && !k->posted && !k->remote &&
			  !atomic_read(&k->r.mr.users) &&
			  atomic_read(&k->r.mr.windows) == n,
			  "QP %u: key %08x: %u and %d users, %u posted, %d"
			  " windows of %d", ep->idx, k->now.key, k->users,
			  atomic_read(&k->r.mr.users), k->posted,
			  atomic_read(&k->r.mr.windows), n);
	}
	if (ep->nkeys)
		sim_check(atomic_read(&ep->keys->of->mr.windows) == all,
			  "QP %u: %d windows of %d", ep->idx,
			  atomic_read(&ep->keys->of->mr.windows), all);
}
