// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * FLUSH and ATOMIC WRITE (Annex A19) among WRITEs and FETCH_ADDs, on a network that
 * loses, doubles and reorders: completions in the order of posting, the last value of
 * each word, an exact sum. The model knows nothing of them. Single-threaded.
 */
#include "sim.h"

#define WORDS	4
#define OUT	20

static struct {
	u64 last[WORDS];
	u64 posted;
	u64 done;
	u64 adds;
} annex;

static struct sim_ep *begin(u32 flushes)
{
	struct xroce_attr attr = { .access = XROCE_REMOTE | XROCE_ACCESS_FLUSH |
					     XROCE_LOCAL_WRITE };
	struct sim_cfg cfg = sim_plain();
	struct sim_ep *ep;
	u64 none = 0;
	u32 i;

	memset(&annex, 0, sizeof(annex));
	/* Which of them a lost answer was of is forgotten. */
	if (!flushes) {
		cfg.loss = sim_below(800);
		cfg.dup = sim_below(1000);
		cfg.reorder = sim_below(800);
		cfg.jitter = 20 * SIM_US;
	}
	cfg.partial = sim_below(3000);
	cfg.smp = sim_below(3000);
	cfg.timeout = 10;
	cfg.max_rd = sim_range(1, 8);
	ep = &sim_pair(&cfg)->ep[0];
	W->checks_off = true;
	if (flushes)
		ep->qp.req.max_rd_atomic = flushes;
	sim_ep_modify(ep->peer, &attr, XROCE_ATTR_ACCESS);
	ep->peer->rem->mr.access |= XROCE_ACCESS_FLUSH;
	for (i = 0; i <= WORDS; i++)
		sim_write(ep->peer->rem, i * 8, &none, 8);
	return ep;
}

static void flush(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	w->opcode = XROCE_WR_FLUSH;
	w->flush.remote_addr = sim_region_addr(ep->peer->rem, 0);
	w->flush.type = XROCE_FLUSH_GLOBAL;
	w->flush.level = sim_below(2);
	w->flush.length = WORDS * 8;
}

static void write_word(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	u32 k = sim_below(WORDS);

	w->opcode = sim_below(2) ? XROCE_WR_RDMA_WRITE : XROCE_WR_ATOMIC_WRITE;
	w->rdma.remote_addr = sim_region_addr(ep->peer->rem, k * 8);
	w->flags |= XROCE_WR_INLINE;
	w->inline_len = 8;
	annex.last[k] = annex.posted + 1;
	memcpy(w->inline_data, &annex.last[k], 8);
}

static void add_one(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	w->opcode = XROCE_WR_ATOMIC_FETCH_AND_ADD;
	w->rdma.remote_addr = sim_region_addr(ep->peer->rem, WORDS * 8);
	w->rdma.swap_add = 1;
	w->num_sge = 1;
	w->sge[0] = (struct xroce_sge){ .addr = sim_region_addr(ep->loc, 0), .length = 8,
					.lkey = ep->loc->mr.key };
	annex.adds++;
}

static void post(struct sim_ep *ep, bool flushes)
{
	struct xroce_send_wqe *w = sim_sq_slot(ep);

	w->wr_id = annex.posted;
	w->flags = XROCE_WR_SIGNALED;
	w->rdma.rkey = ep->peer->rem->mr.key;
	switch (flushes ? 0 : sim_below(4)) {
	case 0:
		flush(ep, w);
		break;
	case 1:
		add_one(ep, w);
		break;
	default:
		write_word(ep, w);
	}
	annex.posted++;
	ep->sq_prod++;
	sim_sq_push(ep, false);
}

static void poll(struct sim_ep *ep)
{
	struct xroce_ring *ring = ep->scq->cq.ring;
	const struct xroce_cqe *cqe;

	for (; (u32)annex.done != ring->prod; annex.done++) {
		cqe = (const struct xroce_cqe *)ring->slot + (annex.done & ep->scq->cq.mask);
		sim_check(!cqe->status && cqe->wr_id == annex.done,
			  "WR %llu, status %u, where %llu should be",
			  (unsigned long long)cqe->wr_id, cqe->status,
			  (unsigned long long)annex.done);
	}
	ring->cons = annex.done;
}

static void finish(struct sim_ep *ep)
{
	u64 v;
	u32 i;

	for (i = 0; i <= WORDS; i++) {
		sim_read(ep->peer->rem, i * 8, &v, 8);
		sim_check(v == (i < WORDS ? annex.last[i] : annex.adds), "word %u is %llu", i,
			  (unsigned long long)v);
	}
	sim_total_ops += annex.done;
	sim_world_free();
}

static void run(struct sim_ep *ep, u32 n, bool flushes)
{
	while (annex.done < n) {
		while (annex.posted < n && annex.posted - annex.done < OUT &&
		       ep->sq_prod - ep->qp.req.ring->cons < ep->sq_depth)
			post(ep, flushes);
		sim_run_until(sim_now() + 100 * SIM_US);
		poll(ep);
		sim_check(sim_now() < 100 * SIM_SEC, "no more than %llu completions",
			  (unsigned long long)annex.done);
	}
	finish(ep);
}

static void run_annex(u64 seed)
{
	(void)seed;
	run(begin(0), 400, false);
}

/*
 * As rdma_rxe sends them: beyond what the responder remembers, where nothing is lost; nor what
 * the device, on another CPU, is about to say that it has no room for.
 */
static void run_flushes(u64 seed)
{
	struct sim_ep *ep = begin(16);

	(void)seed;
	W->cfg.smp = 0;
	run(ep, 100, true);
}

struct reserved {
	struct sim_node *to;
	u32 len;
	u8 buf[128];
};

static void arrive(void *arg)
{
	struct reserved *r = arg;

	sim_raw_rx(r->to, r->buf, r->len, false);
	free(r);
}

/* What is reserved in the FETH may be anything. */
static bool spoil_reserved(struct sim_ep *from, const u8 *buf, u32 len, const struct xroce_pkt *p)
{
	struct reserved *r;
	u8 *feth;

	if (p->opcode != XROCE_FLUSH)
		return false;
	r = calloc(1, sizeof(*r));
	r->to = from->peer->node;
	r->len = len;
	memcpy(r->buf, buf, len);
	feth = r->buf + xroce_l3_len(r->buf) + XROCE_UDP_LEN + sizeof(struct xroce_bth);
	sim_fill(feth, 3, sim_below(1000));
	feth[3] |= sim_below(4) << 6;
	wire_icrc_set(r->buf, len);
	sim_at(sim_now(), SIM_EV_FN, arrive, r, 0);
	return true;
}

static void run_reserved(u64 seed)
{
	struct sim_ep *ep = begin(1);

	(void)seed;
	W->drop = spoil_reserved;
	run(ep, 100, true);
}

const struct sim_scenario sim_annex_scenarios[] = {
	{ "annex", "FLUSH and ATOMIC WRITE among others", run_annex, 0, 60 },
	{ "annex-flushes", "more FLUSHes than were agreed on", run_flushes, 0, 60 },
	{ "annex-reserved", "FLUSHes with reserved bits", run_reserved, 0, 20 },
	{ NULL, NULL, NULL, 0, 0, 0 }
};
