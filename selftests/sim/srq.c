// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shared receive queues: the user's side, and who has taken what. A receive's
 * memory is a slot of its own, since they end in any order. Single-threaded.
 */
#include "sim.h"

struct sim_srq *sim_srq_new(struct sim_node *n, u32 depth, u32 max_sge,
			    u32 slot_len)
{
	struct sim_srq *srq = calloc(1, sizeof(*srq));

	srq->node = n;
	srq->depth = depth;
	srq->max_sge = max_sge;
	srq->slot_len = slot_len;
	srq->stride = ALIGN(sizeof(struct xroce_recv_wqe) + max_sge *
			    (u32)sizeof(struct xroce_sge),
			    (u32)XROCE_SLOT_ALIGN);
	/* Some are lost to QPs that end while they hold one. */
	srq->nslots = 2 * depth + 16;
	srq->busy = calloc(1, srq->nslots);
	srq->mem = sim_region_new(n, (u64)srq->nslots * (slot_len + 64),
				  XROCE_LOCAL_WRITE, &srq->pd);
	sim_list_init(&srq->posted);
	xroce_rq_init(&srq->rq, calloc(1, sizeof(struct xroce_ring) +
				       depth * srq->stride), depth,
		      srq->stride, max_sge);
	srq->rq.pd = &srq->pd;
	return srq;
}

void sim_srq_free(struct sim_srq *srq)
{
	if (!srq)
		return;
	sim_check(!srq->held, "SRQ %u is held for ever", srq->number);
	while (srq->posted.n)
		free(sim_list_pop(&srq->posted));
	free(srq->rq.ring);
	free(srq->busy);
	free(srq);
}

/**
 * sim_srq_post() - post a receive of @len bytes in @nsge pieces
 *
 * Return: NULL when there is no room.
 */
struct sim_recv *sim_srq_post(struct sim_srq *srq, u32 len, u32 nsge)
{
	struct xroce_recv_wqe *wqe;
	struct sim_recv *rv;
	u32 i, slot, off;

	if (srq->prod - smp_load_acquire(&srq->rq.ring->cons) >= srq->depth)
		return NULL;
	slot = sim_below(srq->nslots);
	for (i = 0; srq->busy[slot]; i++) {
		if (i == srq->nslots)
			return NULL;
		slot = (slot + 1) % srq->nslots;
	}
	srq->busy[slot] = 1;
	rv = calloc(1, sizeof(*rv));
	rv->srq = srq;
	rv->slot = slot;
	rv->len = len;
	rv->nsge = min(nsge, srq->max_sge);
	rv->wr_id = srq->wr_id++;
	wqe = (void *)(srq->rq.ring->slot +
		       (srq->prod & (srq->depth - 1)) * srq->stride);
	wqe->wr_id = rv->wr_id;
	wqe->num_sge = rv->nsge;
	off = slot * (srq->slot_len + 64) + sim_below(64);
	for (i = 0; i < rv->nsge; i++) {
		struct sim_piece *p = &rv->sge[i];

		p->r = srq->mem;
		p->off = off;
		p->len = i + 1 == rv->nsge ? len : sim_below(len + 1);
		off += p->len;
		len -= p->len;
		wqe->sge[i].addr = sim_region_addr(p->r, p->off);
		wqe->sge[i].length = p->len;
		wqe->sge[i].lkey = p->r->mr.key;
	}
	sim_list_add(&srq->posted, rv);
	smp_store_release(&srq->rq.ring->prod, ++srq->prod);
	return rv;
}

void sim_srq_fill(struct sim_srq *srq)
{
	while (sim_srq_post(srq, srq->slot_len, sim_range(1, srq->max_sge)))
		;
}

/**
 * sim_srq_arm() - ask for the limit event, as the module does
 */
void sim_srq_arm(struct sim_srq *srq, u32 limit)
{
	srq->limit = limit;
	srq->rq.limit = limit;
}

/**
 * sim_srq_resize() - another ring, unless what is posted does not fit
 */
void sim_srq_resize(struct sim_srq *srq, u32 depth)
{
	struct xroce_ring *ring, *old = srq->rq.ring;
	u32 posted = srq->prod - old->cons;
	int ret;

	ring = calloc(1, sizeof(*ring) + depth * srq->stride);
	ret = xroce_rq_resize(&srq->rq, ring, depth);
	sim_check(ret == (posted <= depth ? 0 : -EINVAL),
		  "SRQ with %u posted resized to %u: %d", posted, depth, ret);
	if (!ret)
		srq->depth = depth;
	free(ret ? ring : old);
}

/**
 * sim_srq_took() - a QP has taken the next receive, or found none
 */
struct sim_recv *sim_srq_took(struct sim_srq *srq)
{
	struct sim_recv *rv = srq->posted.n ? sim_list_pop(&srq->posted) : NULL;

	if (srq->posted.n < srq->limit) {
		srq->limits_due++;
		srq->limit = 0;
	}
	return rv;
}

/**
 * sim_recv_free() - the user is done with a receive
 */
void sim_recv_free(struct sim_recv *rv)
{
	if (rv->srq)
		rv->srq->busy[rv->slot] = 0;
	free(rv);
}
