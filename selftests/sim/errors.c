// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What must fail, and how: the status at the requester and of the receive, the
 * state and the event at the responder, what comes before and after. Each case
 * on a good and on a bad network. Single-threaded.
 */
#include "sim.h"

#define REMOTE (XROCE_REMOTE_WRITE | XROCE_REMOTE_READ | XROCE_REMOTE_ATOMIC)

static struct sim_region *extra;	/* of the case under way */

static u64 end_of(const struct sim_region *r)
{
	return r->mr.iova + r->mr.length;
}

static void t_rkey_index(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	(void)ep;
	w->rdma.rkey ^= 1u << sim_range(8, 31);
}

static void t_rkey_user(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	(void)ep;
	w->rdma.rkey ^= 1u << sim_below(8);
}

static void t_extra(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	(void)ep;
	w->rdma.remote_addr = extra->mr.iova + 64;
	w->rdma.rkey = extra->mr.key;
}

static void t_below(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	w->rdma.remote_addr = ep->peer->rem->mr.iova - 8;
}

static void t_above(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	u32 len = w->flags & XROCE_WR_INLINE ? w->inline_len :
					       w->sge[0].length;

	w->rdma.remote_addr = end_of(ep->peer->rem) - len +
			      (w->opcode >= XROCE_WR_ATOMIC_CMP_AND_SWP ? 8 :
			       1);
}

static void t_wrap(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	/* Past the end of all addresses, unless the region is there. */
	w->rdma.remote_addr = ep->peer->rem->mr.iova > -(1ull << 20) ? 0 :
			      -8ull;
}

static void t_misaligned(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	(void)ep;
	w->rdma.remote_addr += sim_range(1, 7);
}

static void t_lkey(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	(void)ep;
	w->sge[0].lkey ^= 1u << sim_below(32);
}

static void t_lkey2(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	(void)ep;
	/* Not empty, whatever the cut was. */
	if (!w->sge[1].length)
		w->sge[1].length = 1;
	w->sge[1].lkey ^= 1u << sim_below(32);
}

static void t_local_extra(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	(void)ep;
	w->sge[0].addr = extra->mr.iova;
	w->sge[0].lkey = extra->mr.key;
}

static void t_local_above(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	w->sge[0].addr = end_of(ep->loc) - w->sge[0].length + 1;
}

static void t_opcode(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	static const u8 bad[] = { 7, 8, 10, 11, 12, 127, 128, 255 };

	(void)ep;
	w->opcode = bad[sim_below(ARRAY_SIZE(bad))];
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
	w->inline_len = sim_chance(5000) ? ep->max_inline + 1 : 0xffff;
}

static void t_inline(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	(void)ep;
	w->flags |= XROCE_WR_INLINE;
	w->inline_len = 8;
}

static void t_atomic_len(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	(void)ep;
	w->sge[0].length = sim_chance(5000) ? 4 : 16;
}

static void t_too_long(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	(void)ep;
	w->num_sge = 2;
	w->sge[0].length = 0x80000000;
	w->sge[1].length = 1;
}

static void t_longest(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	/* A legal length: it fails at its first byte, here or at the peer. */
	w->num_sge = 1;
	w->sge[0].addr = ep->loc->mr.iova - 8;
	w->sge[0].length = 0x80000000;
}

static struct sim_region *extra_new(struct sim_node *n, u32 access, bool pd)
{
	return sim_region_new(n, 65536, access, pd ? &n->pd : &n->other_pd);
}

static void s_other_pd(struct sim_ep *ep)
{
	extra = extra_new(ep->peer->node, XROCE_LOCAL_WRITE | REMOTE, false);
}

/* Of an XRC target: none, and this is not it. */
static void s_qp_pd(struct sim_ep *ep)
{
	extra = extra_new(ep->peer->node, XROCE_LOCAL_WRITE | REMOTE, true);
}

/* A window of another QP; one of this QP, and of any, for the user's own use. */
static void s_other_window(struct sim_ep *ep)
{
	s_qp_pd(ep);
	extra->mr.kind = XROCE_MW_2;
	extra->mr.qpn = ep->qp.hot.qpn;
}

static void s_local_window(struct sim_ep *ep)
{
	extra = extra_new(ep->node, XROCE_LOCAL_WRITE | REMOTE, true);
	extra->mr.kind = sim_below(2) ? XROCE_MW_1 : XROCE_MW_2;
	extra->mr.qpn = ep->qp.hot.qpn;
}

/* A queue beside the one that the peer receives from. */
static struct sim_srq *other_srq(struct sim_ep *ep)
{
	struct sim_srq **srq = ep->peer->node->xsrq;

	return srq[0] == ep->peer->srq ? srq[1] : srq[0];
}

static void s_other_xrcd(struct sim_ep *ep)
{
	while (!other_srq(ep))
		sim_xsrq(ep->peer->node);
	other_srq(ep)->rq.xrcd = ep;
	sim_srq_fill(other_srq(ep));
}

static void t_other_srq(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	w->rdma.xrc_srqn = other_srq(ep)->number;
	ep->any_srqn = true;
}

static void t_no_srq(struct sim_ep *ep, struct xroce_send_wqe *w)
{
	w->rdma.xrc_srqn ^= 1 << sim_below(24);
	ep->any_srqn = true;
}

static void s_no_write(struct sim_ep *ep)
{
	extra = extra_new(ep->peer->node, REMOTE & ~XROCE_REMOTE_WRITE, true);
}

static void s_no_read(struct sim_ep *ep)
{
	extra = extra_new(ep->peer->node, REMOTE & ~XROCE_REMOTE_READ, true);
}

static void s_no_atomic(struct sim_ep *ep)
{
	extra = extra_new(ep->peer->node, REMOTE & ~XROCE_REMOTE_ATOMIC, true);
}

static void s_local_pd(struct sim_ep *ep)
{
	extra = extra_new(ep->node, XROCE_LOCAL_WRITE, false);
}

static void s_local_ro(struct sim_ep *ep)
{
	extra = extra_new(ep->node, REMOTE & ~XROCE_REMOTE_WRITE, true);
}

static void s_qp_access(struct sim_ep *ep, u32 access)
{
	struct xroce_attr attr = { .access = access };

	sim_ep_modify(ep->peer, &attr, XROCE_ATTR_ACCESS);
}

static void s_qp_no_write(struct sim_ep *ep)
{
	s_qp_access(ep, XROCE_REMOTE_READ | XROCE_REMOTE_ATOMIC);
}

static void s_qp_no_read(struct sim_ep *ep)
{
	s_qp_access(ep, XROCE_REMOTE_WRITE | XROCE_REMOTE_ATOMIC);
}

static void s_qp_no_atomic(struct sim_ep *ep)
{
	s_qp_access(ep, XROCE_REMOTE_WRITE | XROCE_REMOTE_READ);
}

static struct xroce_recv_wqe *recv_slot(struct sim_ep *ep)
{
	sim_check(sim_post_recv(ep->peer, ep->peer->msg_max, 2), "no room");
	return (void *)(ep->peer->rq.ring->slot +
			((ep->peer->rq_prod - 1) & (ep->peer->rq_depth - 1)) *
			ep->peer->rstride);
}

static void s_recv_lkey(struct sim_ep *ep)
{
	struct xroce_recv_wqe *w = recv_slot(ep);

	w->sge[0].lkey ^= 1u << sim_below(32);
	w->sge[1].lkey ^= 1u << sim_below(32);
}

static void s_recv_num_sge(struct sim_ep *ep)
{
	recv_slot(ep)->num_sge = sim_chance(5000) ? ~0u : ep->max_sge + 1;
}

static void s_recv_short(struct sim_ep *ep)
{
	sim_check(sim_post_recv(ep->peer, sim_below(100), 2), "no room");
}

#define W_	XROCE_WR_RDMA_WRITE
#define WI_	XROCE_WR_RDMA_WRITE_WITH_IMM
#define R_	XROCE_WR_RDMA_READ
#define S_	XROCE_WR_SEND
#define SI_	XROCE_WR_SEND_WITH_INV
#define CS_	XROCE_WR_ATOMIC_CMP_AND_SWP
#define FA_	XROCE_WR_ATOMIC_FETCH_AND_ADD
#define ACC	XROCE_WC_REM_ACCESS_ERR
#define INV	XROCE_WC_REM_INV_REQ_ERR
#define OPE	XROCE_WC_REM_OP_ERR
#define PROT	XROCE_WC_LOC_PROT_ERR
#define QPOP	XROCE_WC_LOC_QP_OP_ERR
#define LEN	XROCE_WC_LOC_LEN_ERR
#define EV_ACC	(1 << XROCE_EVENT_QP_ACCESS_ERR)
#define EV_REQ	(1 << XROCE_EVENT_QP_REQ_ERR)

static const struct err_case {
	const char *name;
	u8 wr;
	u8 status;
	u8 recv_status;
	u32 event;
	void (*setup)(struct sim_ep *ep);
	void (*tweak)(struct sim_ep *ep, struct xroce_send_wqe *wqe);
	u32 nsge;
	bool partial;
	bool is_inline;
	bool xrc;
} cases[] = {
	{ "WRITE, unknown R_Key", W_, ACC, 0, EV_ACC, NULL, t_rkey_index, 1 },
	{ "READ, unknown R_Key", R_, ACC, 0, EV_ACC, NULL, t_rkey_index, 1 },
	{ "CAS, unknown R_Key", CS_, ACC, 0, EV_ACC, NULL, t_rkey_index, 1 },
	{ "WRITE imm, old R_Key", WI_, ACC, 0, EV_ACC, NULL, t_rkey_user, 1 },
	{ "READ, old R_Key", R_, ACC, 0, EV_ACC, NULL, t_rkey_user, 2 },
	{ "FADD, old R_Key", FA_, ACC, 0, EV_ACC, NULL, t_rkey_user, 1 },
	{ "WRITE, other PD", W_, ACC, 0, EV_ACC, s_other_pd, t_extra, 1 },
	{ "READ, other PD", R_, ACC, 0, EV_ACC, s_other_pd, t_extra, 1 },
	{ "CAS, other PD", CS_, ACC, 0, EV_ACC, s_other_pd, t_extra, 1 },
	{ "WRITE, below", W_, ACC, 0, EV_ACC, NULL, t_below, 1 },
	{ "READ, below", R_, ACC, 0, EV_ACC, NULL, t_below, 1 },
	{ "FADD, below", FA_, ACC, 0, EV_ACC, NULL, t_below, 1 },
	{ "WRITE, above", W_, ACC, 0, EV_ACC, NULL, t_above, 1 },
	{ "WRITE inline, above", W_, ACC, 0, EV_ACC, NULL, t_above, 1, false,
	  true },
	{ "READ, above", R_, ACC, 0, EV_ACC, NULL, t_above, 1 },
	{ "WRITE, wrap", W_, ACC, 0, EV_ACC, NULL, t_wrap, 1 },
	{ "READ, wrap", R_, ACC, 0, EV_ACC, NULL, t_wrap, 1 },
	{ "CAS, wrap", CS_, ACC, 0, EV_ACC, NULL, t_wrap, 1 },
	{ "WRITE, another QP's window", W_, ACC, 0, EV_ACC, s_other_window, t_extra, 1 },
	{ "READ, another QP's window", R_, ACC, 0, EV_ACC, s_other_window, t_extra, 1 },
	{ "CAS, another QP's window", CS_, ACC, 0, EV_ACC, s_other_window, t_extra, 1 },
	{ "WRITE, no right", W_, ACC, 0, EV_ACC, s_no_write, t_extra, 1 },
	{ "READ, no right", R_, ACC, 0, EV_ACC, s_no_read, t_extra, 1 },
	{ "FADD, no right", FA_, ACC, 0, EV_ACC, s_no_atomic, t_extra, 1 },
	{ "WRITE, not by QP", W_, INV, 0, EV_REQ, s_qp_no_write, NULL, 1 },
	{ "READ, not by QP", R_, INV, 0, EV_REQ, s_qp_no_read, NULL, 1 },
	{ "CAS, not by QP", CS_, INV, 0, EV_REQ, s_qp_no_atomic, NULL, 1 },
	{ "FADD, misaligned", FA_, INV, 0, EV_REQ, NULL, t_misaligned, 1 },
	{ "CAS, misaligned", CS_, INV, 0, EV_REQ, NULL, t_misaligned, 1 },
	{ "WRITE, bad L_Key", W_, PROT, 0, 0, NULL, t_lkey, 1 },
	{ "SEND, bad L_Key", S_, PROT, 0, 0, NULL, t_lkey, 1 },
	{ "READ, bad L_Key", R_, PROT, 0, 0, NULL, t_lkey, 1, true },
	{ "FADD, bad L_Key", FA_, PROT, 0, 0, NULL, t_lkey, 1, true },
	{ "WRITE, bad second L_Key", W_, PROT, 0, 0, NULL, t_lkey2, 2, true },
	{ "SEND, bad second L_Key", S_, PROT, 0, 0, NULL, t_lkey2, 3, true },
	{ "READ, bad second L_Key", R_, PROT, 0, 0, NULL, t_lkey2, 2, true },
	{ "WRITE, local other PD", W_, PROT, 0, 0, s_local_pd, t_local_extra,
	  1 },
	{ "READ, local other PD", R_, PROT, 0, 0, s_local_pd, t_local_extra,
	  1 },
	{ "READ, local read-only", R_, PROT, 0, 0, s_local_ro, t_local_extra,
	  1 },
	{ "WRITE, local window", W_, PROT, 0, 0, s_local_window, t_local_extra, 1 },
	{ "READ, local window", R_, PROT, 0, 0, s_local_window, t_local_extra, 1 },
	{ "WRITE, local above", W_, PROT, 0, 0, NULL, t_local_above, 1 },
	{ "READ, local above", R_, PROT, 0, 0, NULL, t_local_above, 1 },
	{ "bad opcode", W_, QPOP, 0, 0, NULL, t_opcode, 1 },
	{ "too many SGEs", S_, QPOP, 0, 0, NULL, t_num_sge, 1 },
	{ "unknown flag", W_, QPOP, 0, 0, NULL, t_flags, 1 },
	{ "inline too long", S_, QPOP, 0, 0, NULL, t_inline_len, 1, false,
	  true },
	{ "inline READ", R_, QPOP, 0, 0, NULL, t_inline, 1 },
	{ "inline FADD", FA_, QPOP, 0, 0, NULL, t_inline, 1 },
	{ "FADD, not 8 bytes", FA_, LEN, 0, 0, NULL, t_atomic_len, 1 },
	{ "WRITE over 2^31", W_, LEN, 0, 0, NULL, t_too_long, 2 },
	{ "SEND over 2^31", S_, LEN, 0, 0, NULL, t_too_long, 2 },
	{ "READ over 2^31", R_, LEN, 0, 0, NULL, t_too_long, 2 },
	{ "WRITE of 2^31, no such memory", W_, PROT, 0, 0, NULL, t_longest,
	  1 },
	{ "READ of 2^31, no such memory", R_, PROT, 0, 0, NULL, t_longest,
	  1 },
	{ "SEND, receive too short", S_, INV, LEN, 0, s_recv_short, NULL, 1,
	  true },
	{ "SEND, receive's bad L_Key", S_, OPE, PROT, 0, s_recv_lkey, NULL, 1,
	  true },
	{ "SEND, receive's SGEs", S_, OPE, QPOP, 0, s_recv_num_sge, NULL, 1 },
	{ "WRITE imm, receive's SGEs", WI_, OPE, QPOP, 0, s_recv_num_sge, NULL,
	  1, true },
	{ "SEND inv of no such key", SI_, ACC, 0, EV_ACC, NULL, NULL, 1,
	  true },
	{ "XRC SEND, no such SRQ", S_, INV, 0, EV_REQ, NULL, t_no_srq, 1,
	  .xrc = true },
	{ "XRC WRITE, no such SRQ", W_, INV, 0, EV_REQ, NULL, t_no_srq, 1,
	  .xrc = true },
	{ "XRC SEND, other domain", S_, INV, 0, EV_REQ, s_other_xrcd,
	  t_other_srq, 1, .xrc = true },
	{ "XRC READ, other domain", R_, INV, 0, EV_REQ, s_other_xrcd,
	  t_other_srq, 1, .xrc = true },
	{ "XRC FADD, other domain", FA_, INV, 0, EV_REQ, s_other_xrcd,
	  t_other_srq, 1, .xrc = true },
	{ "XRC WRITE, other PD", W_, ACC, 0, EV_ACC, s_other_pd, t_extra, 1,
	  .xrc = true },
	{ "XRC READ, the QP's own PD", R_, ACC, 0, EV_ACC, s_qp_pd, t_extra, 1,
	  .xrc = true },
};

static struct sim_cfg err_cfg(bool bad_net, bool xrc)
{
	struct sim_cfg cfg = sim_plain();

	cfg.max_len = 1 << 15;
	cfg.cwnd_init = 32;
	cfg.cwnd_max = 128;
	cfg.timeout = 10;
	cfg.min_rnr = 5;
	cfg.max_rd = sim_range(1, 8);
	cfg.xrc = xrc ? 10000 : 0;
	if (bad_net) {
		cfg.loss = sim_below(500);
		cfg.dup = sim_below(1000);
		cfg.reorder = sim_below(500);
		cfg.partial = sim_below(3000);
		cfg.smp = sim_below(3000);
		cfg.jitter = 20 * SIM_US;
	}
	return cfg;
}

/* Operations that need no receive. */
static void post_good(struct sim_ep *ep, u32 n, bool quiet)
{
	static const u8 wr[] = { W_, R_, FA_, CS_ };
	struct sim_opt opt = { .nsge = 1 };

	while (n--) {
		opt.wr = wr[sim_below(4)];
		opt.len = sim_random_len(ep, 4096);
		opt.signaled = !quiet || sim_chance(5000);
		sim_check(sim_post(ep, &opt), "no room");
	}
}

static void close_all(struct sim_conn *c)
{
	sim_close_begin(c, true);
	sim_run_until(sim_now() + 5 * SIM_MS);
	sim_close_end(c);
}

static void again(struct sim_conn *c)
{
	W->cfg.max_dest_rd = 0;
	sim_connect(c, true);
	sim_post_recvs(&c->ep[0]);
	sim_post_recvs(&c->ep[1]);
	sim_post_n(&c->ep[0], 10);
	sim_post_n(&c->ep[1], 10);
	sim_settle_all(60 * SIM_SEC);
}

static void check_case(const struct err_case *e, struct sim_ep *ep)
{
	struct sim_ep *peer = ep->peer;
	bool remote = e->status == ACC || e->status == INV || e->status == OPE;

	/*
	 * The NAK was lost; the observer agrees. Or it overtook the answer to a
	 * READ or atomic before it: then it is ignored (IBTA 9.7.5.2.8), and the
	 * responder, which is in ERR, says it no more.
	 */
	if ((W->cfg.loss || W->cfg.reorder) &&
	    ep->first_err == XROCE_WC_RETRY_EXC_ERR)
		return;
	sim_check(ep->first_err == e->status, "%s: status %u, expected %u",
		  e->name, ep->first_err, e->status);
	sim_check((peer->qp.hot.state == XROCE_QPS_ERR) == remote,
		  "%s: the responder is in state %u", e->name,
		  peer->qp.hot.state);
	sim_check((peer->events & (EV_ACC | EV_REQ)) == e->event,
		  "%s: the responder had events %x", e->name, peer->events);
	sim_check(peer->recv_err == e->recv_status, "%s: the receive had"
		  " status %u", e->name, peer->recv_err);
}

static void run_case(const struct err_case *e, bool bad_net)
{
	struct sim_cfg cfg = err_cfg(bad_net, e->xrc);
	struct sim_opt opt = {
		.wr = e->wr, .nsge = e->nsge, .status = e->status,
		.recv_status = e->recv_status, .tweak = e->tweak,
		.partial = e->partial, .is_inline = e->is_inline,
		.signaled = sim_chance(5000),
		.not_inv = e->wr == SI_,
	};
	struct sim_conn *c;
	struct sim_ep *ep;
	struct sim_op *op;
	bool now;

	if (e->tweak == t_longest)	/* so that its first piece exists */
		cfg.mtu_shift = 8;
	c = sim_pair(&cfg);
	ep = &c->ep[0];
	sim_trace("case: %s%s", e->name, bad_net ? ", bad network" : "");
	now = e->setup == s_qp_no_write || e->setup == s_qp_no_read ||
	      e->setup == s_qp_no_atomic;
	post_good(ep, sim_below(10), !now);
	if (now)	/* the QP's rights change at once */
		sim_settle_all(60 * SIM_SEC);
	if (e->setup)
		e->setup(ep);
	else if (e->wr == S_ || e->wr == WI_ || e->wr == SI_)
		sim_post_recvs(ep->peer);
	opt.len = e->is_inline ? 64 : sim_range(100, 4000);
	if (e->tweak == t_local_above)	/* one packet: all or nothing */
		opt.len = sim_range(2, 256);
	op = sim_post(ep, &opt);
	sim_check(op, "no room");
	if (e->tweak == t_opcode)
		op->bad_opcode = true;
	post_good(ep, sim_below(6), true);
	sim_settle_all(60 * SIM_SEC);
	/* An unsignalled tail would have stayed: all is flushed. */
	sim_run_until(sim_now() + 5 * SIM_MS);
	check_case(e, ep);
	close_all(c);
	again(c);
	sim_verify_quiet();
	sim_total_ops += W->ops_done;
	sim_world_free();
}

static void post_inv(struct sim_ep *ep, u8 opcode, u32 key)
{
	struct xroce_send_wqe *w = sim_sq_slot(ep);

	w->opcode = opcode;
	w->flags = XROCE_WR_SIGNALED;
	w->inv_rkey = key;
	ep->sq_prod++;
	sim_sq_push(ep, false);
	sim_run_until(sim_now() + SIM_MS);
}

/* Its owner and the peer end a region, in either order; a window is ended once. */
static void run_inv_again(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_ep *ep = &sim_pair(&cfg)->ep[0], *peer = ep->peer;
	struct sim_region *r;
	bool remote;
	u32 i;

	(void)seed;
	W->checks_off = true;
	peer->qp.req.trusted = true;
	sim_post_recvs(peer);
	r = sim_region_new(peer->node, 64, REMOTE, sim_ep_pd(peer));
	r->mr.kind = XROCE_MR_FAST;
	for (i = 0; i < 6; i++) {
		remote = sim_chance(5000);
		post_inv(remote ? ep : peer,
			 remote ? XROCE_WR_SEND_WITH_INV : XROCE_WR_LOCAL_INV, r->mr.key);
		sim_check(r->mr.state == XROCE_KEY_INVALID, "key state %u", r->mr.state);
		sim_check(ep->qp.hot.state == XROCE_QPS_RTS &&
			  peer->qp.hot.state == XROCE_QPS_RTS, "states %u and %u, remote %d",
			  ep->qp.hot.state, peer->qp.hot.state, remote);
	}
	r->mr.kind = XROCE_MW_2;
	r->mr.qpn = peer->qp.hot.qpn;
	post_inv(remote ? ep : peer, remote ? XROCE_WR_SEND_WITH_INV : XROCE_WR_LOCAL_INV,
		 r->mr.key);
	sim_check(peer->qp.hot.state == XROCE_QPS_ERR, "state %u", peer->qp.hot.state);
	sim_world_free();
}

static void post_reg(struct sim_ep *ep, const struct xroce_mr *mr, void **page)
{
	struct xroce_send_wqe *w = sim_sq_slot(ep);

	w->opcode = XROCE_WR_REG_MR;
	w->flags = XROCE_WR_SIGNALED;
	w->reg.page = (uintptr_t)page;
	w->reg.iova = mr->iova;
	w->reg.length = mr->length;
	w->reg.page_shift = mr->page_shift;
	w->reg.offset = mr->offset;
	w->reg_key = mr->key;
	w->reg.access = mr->access;
	ep->sq_prod++;
	sim_sq_push(ep, false);
	sim_run_until(sim_now() + SIM_MS);
}

/* A region is registered by the list that was filled for it, of its two, and no other. */
static void run_reg_lists(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_ep *ep = &sim_pair(&cfg)->ep[0];
	struct sim_region *r, *gone;
	void **page;
	u32 i;

	(void)seed;
	W->checks_off = true;
	ep->qp.req.trusted = true;
	r = sim_region_new(ep->node, 64, REMOTE, sim_ep_pd(ep));
	gone = sim_region_new(ep->node, 64, REMOTE, sim_ep_pd(ep));
	r->mr.kind = XROCE_MR_FAST;
	r->mr.spare = r->mr.page + r->nblk;
	for (i = 0; i < 6; i++) {
		page = sim_chance(5000) ? r->mr.page : r->mr.spare;
		post_inv(ep, XROCE_WR_LOCAL_INV, r->mr.key);
		post_reg(ep, &r->mr, page);
		sim_check(r->mr.state == XROCE_KEY_VALID && r->mr.page == page,
			  "key state %u, by the %s list", r->mr.state,
			  r->mr.page == page ? "right" : "other");
	}
	post_inv(ep, XROCE_WR_LOCAL_INV, r->mr.key);
	post_reg(ep, &r->mr, gone->mr.page);
	sim_check(ep->qp.hot.state == XROCE_QPS_ERR && r->mr.state == XROCE_KEY_INVALID &&
		  (r->mr.page == page || r->mr.spare == page),
		  "by another's list: QP state %u, key state %u", ep->qp.hot.state, r->mr.state);
	/* as it is freed */
	if (r->mr.page > r->mr.spare)
		swap(r->mr.page, r->mr.spare);
	sim_world_free();
}

static void run_errors(u64 seed)
{
	u32 i;

	(void)seed;
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		run_case(&cases[i], false);
}

static void run_errors_bad(u64 seed)
{
	u32 i;

	(void)seed;
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		run_case(&cases[i], true);
}

/* More READs at once than the responder has said it takes. */
static void run_too_many(u64 seed)
{
	struct sim_cfg cfg = err_cfg(false, false);
	struct sim_opt opt = { .wr = R_, .nsge = 1, .signaled = true };
	struct sim_conn *c;
	struct sim_ep *ep;
	u32 i;

	(void)seed;
	cfg.max_dest_rd = sim_range(1, 4);
	cfg.max_rd = cfg.max_dest_rd + 2;
	c = sim_pair(&cfg);
	ep = &c->ep[0];
	for (i = 0; i < cfg.max_rd; i++) {
		opt.len = sim_range(1, 2048);
		opt.status = i == cfg.max_dest_rd ? INV : 0;
		opt.wr = sim_chance(5000) ? R_ : FA_;
		opt.more = i + 1 < cfg.max_rd;
		sim_check(sim_post(ep, &opt), "no room");
	}
	sim_settle_all(SIM_SEC);
	sim_check(ep->first_err == INV, "status %u", ep->first_err);
	sim_check(c->ep[1].events & EV_REQ, "no event");
	close_all(c);
	again(c);
	sim_verify_quiet();
	sim_world_free();
}

static struct sim_ep *revoked_at;	/* whose memory is no longer to be read */

/* Bytes of a region that is gone may not leave any more. */
static bool nothing_read(struct sim_ep *from, const u8 *buf, u32 len,
			 const struct xroce_pkt *p)
{
	(void)buf;
	(void)len;
	sim_check(from != revoked_at || !p->payload_len ||
		  (p->info & XROCE_OP_CNP),
		  "QP %u: memory was read after its revocation", from->idx);
	return false;
}

/* A region goes while it is being used: not a byte after that. */
static void run_revoke(u64 seed)
{
	static const u8 wr[] = { W_, R_, S_ };
	bool remote = sim_chance(6000);
	struct sim_opt opt = { .nsge = 2, .signaled = true, .partial = true };
	struct sim_cfg cfg = err_cfg(sim_chance(5000), false);
	struct sim_region *r;
	struct sim_conn *c;
	struct sim_op *op;
	struct sim_ep *ep;
	u8 *copy;

	(void)seed;
	c = sim_pair(&cfg);
	ep = &c->ep[0];
	r = remote ? ep->peer->rem : ep->loc;
	sim_post_recvs(ep->peer);
	opt.wr = wr[sim_below(remote ? 2 : 3)];
	opt.maybe = remote ? ACC : PROT;
	opt.len = opt.wr == S_ ? ep->peer->msg_max : sim_range(1, 1 << 15);
	op = sim_post(ep, &opt);
	sim_check(op, "no room");
	/* The user leaves it all alone afterwards. */
	op->own_local = op->own_remote = false;
	sim_run_until(sim_now() + sim_below(60000));
	sim_core_enter();
	sim_check(xroce_mr_end(&r->mr), "a window is bound to it");
	sim_core_leave();
	revoked_at = remote ? ep->peer : ep;
	W->drop = nothing_read;
	copy = malloc(r->len);
	sim_read(r, 0, copy, r->len);
	sim_settle_all(60 * SIM_SEC);
	sim_run_until(sim_now() + SIM_SEC);
	sim_check(sim_equal(r, 0, copy, r->len),
		  "memory was changed after its revocation");
	free(copy);
	W->drop = NULL;
	close_all(c);
	sim_verify_quiet();
	sim_total_ops += W->ops_done;
	sim_world_free();
}

/* A packet inside a message for an XRC SRQ: it names another, and says it begins one. */
static struct {
	struct sim_ep *to;
	u32 seen;
	bool first;
	u32 len;
	u8 buf[5000];
} strayed;

static bool stray_hook(struct sim_ep *from, const u8 *buf, u32 len,
		       const struct xroce_pkt *p)
{
	u32 l3 = buf[0] >> 4 == 4 ? 28 : 48, n;

	if (from->peer != strayed.to || !(p->info & XROCE_OP_REQUEST))
		return false;
	n = other_srq(from)->number;
	if (strayed.seen++ == 1) {
		strayed.len = len;
		memcpy(strayed.buf, buf, len);
		if (strayed.first)
			strayed.buf[l3] &= 0xe0;	/* SEND_FIRST */
		strayed.buf[l3 + 13] = n >> 16;
		strayed.buf[l3 + 14] = n >> 8;
		strayed.buf[l3 + 15] = n;
		wire_icrc_set(strayed.buf, len);
	}
	return strayed.seen > 1;
}

/* @first: a program has made the QP forget that it is inside a message. */
static void run_xrc_stray(u64 seed)
{
	struct sim_cfg cfg = err_cfg(false, true);
	struct sim_opt opt = { .nsge = 1, .signaled = true };
	struct sim_srq *other;
	struct sim_ep *ep;
	u32 taken;

	cfg.mtu_shift = 8;
	ep = &sim_pair(&cfg)->ep[0];
	W->checks_off = true;
	while (!other_srq(ep))
		sim_xsrq(ep->peer->node);
	other = other_srq(ep);
	other->rq.pd = ep->peer->srq->rq.pd;	/* keys do not tell them apart */
	sim_srq_fill(other);
	sim_srq_fill(ep->peer->srq);
	memset(&strayed, 0, sizeof(strayed));
	strayed.to = ep->peer;
	strayed.first = seed & 1;
	opt.wr = strayed.first || sim_chance(5000) ? S_ : W_;
	opt.len = sim_range(2 * ep->mtu + 1, 3 * ep->mtu);
	W->drop = stray_hook;
	sim_check(sim_post(ep, &opt), "no room");
	sim_run_until(sim_now() + SIM_MS);
	sim_check(strayed.seen == 3 && ep->peer->qp.hot.msg, "%u packets", strayed.seen);
	if (strayed.first)
		ep->peer->qp.hot.msg = 0;
	taken = other->rq.ring->cons;
	sim_raw_rx(ep->peer->node, strayed.buf, strayed.len, false);
	sim_run_until(sim_now() + SIM_MS);
	sim_check(ep->qp.hot.state == XROCE_QPS_ERR &&
		  ep->peer->qp.hot.state == XROCE_QPS_ERR, "states %u and %u",
		  ep->qp.hot.state, ep->peer->qp.hot.state);
	sim_check(other->rq.ring->cons == taken, "a receive of the other queue is taken");
	sim_world_free();
}

/*
 * A timer ends a QP that has much to flush: most is left for later, since the timers of
 * others may go off with it.
 */
static void run_flush_timer(u64 seed)
{
	struct sim_opt opt = { .wr = XROCE_WR_SEND };
	struct sim_cfg cfg = sim_plain();
	struct sim_ep *ep;
	u32 prod, done, i;

	(void)seed;
	cfg.depth = 8192;
	cfg.timeout = 14;
	cfg.fixed = true;
	cfg.retry_cnt = 0;
	ep = &sim_pair(&cfg)->ep[0];
	ep->expect_err = true;
	W->drop = sim_drop_all;
	for (i = 1; i <= 8000; i++) {
		opt.more = i < 8000;
		sim_check(sim_post(ep, &opt), "no room");
	}
	sim_run_until(sim_now() + SIM_MS);
	prod = ep->scq->cq.prod;
	/* It asks, and then gives up. */
	for (i = 0; i < 2; i++) {
		sim_set_now(sim_now() + SIM_SEC);
		sim_core_enter();
		xroce_qp_timer(&ep->qp);
		sim_core_leave();
	}
	done = ep->scq->cq.prod - prod;
	sim_check(ep->qp.hot.state == XROCE_QPS_ERR, "state %u", ep->qp.hot.state);
	sim_check(done && done <= 600, "%u completions in a timer", done);
	sim_run_until(sim_now() + 20 * SIM_MS);
	done = ep->scq->cq.prod - prod;
	sim_check(done == 8000, "%u completions in the end", done);
	sim_world_free();
}

const struct sim_scenario sim_error_scenarios[] = {
	{ "errors", "every cause, and its status on both sides", run_errors, 0,
	  20 },
	{ "flush-timer", "a timer ends a QP that has much to flush", run_flush_timer, 0, 4 },
	{ "inv-again", "a region is ended by two", run_inv_again, 0, 40 },
	{ "reg-lists", "a region is registered by a list of its own", run_reg_lists, 0, 40 },
	{ "errors-bad", "the same on a bad network", run_errors_bad, 0, 20 },
	{ "too-many", "more READs outstanding than agreed", run_too_many, 0,
	  50 },
	{ "xrc-stray", "a message for an XRC SRQ goes on for another", run_xrc_stray, 0, 40 },
	{ "revoke", "memory revoked while it is used", run_revoke, 0, 200 },
	{ NULL, NULL, NULL, 0, 0 }
};
