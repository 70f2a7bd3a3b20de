// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The observer of UC and UD. Nobody acknowledges anything, so what must come of
 * a packet follows from what arrived before it: each one that is delivered says
 * beforehand which bytes change and which completions there are. Each one that
 * the device takes is built here a second time. Single-threaded.
 */
#include "sim.h"

#define SEND	1
#define WRITE	2
#define FIRST	4
#define LAST	8
#define IMM	16

static const u8 ops[12] = {
	SEND | FIRST, SEND, SEND | LAST, SEND | LAST | IMM,
	SEND | FIRST | LAST, SEND | FIRST | LAST | IMM,
	WRITE | FIRST, WRITE, WRITE | LAST, WRITE | LAST | IMM,
	WRITE | FIRST | LAST, WRITE | FIRST | LAST | IMM,
};

/* Memory that the packet under way must have changed, and nothing else. */
static struct {
	struct sim_region *r;
	u64 off;
	u32 len;
} touched[64];
static u32 ntouched;
static struct sim_ep *ended[SIM_TAB];	/* whose receive failed */
static u32 nended;

static u32 be(const u8 *p, u32 n)
{
	u32 v = 0;

	while (n--)
		v = v << 8 | *p++;
	return v;
}

static void put(u8 *p, u64 v, u32 n)
{
	while (n--) {
		p[n] = v;
		v >>= 8;
	}
}

static bool is_write(u8 wr)
{
	return wr == XROCE_WR_RDMA_WRITE || wr == XROCE_WR_RDMA_WRITE_WITH_IMM;
}

static bool has_imm(u8 wr)
{
	return wr == XROCE_WR_SEND_WITH_IMM ||
	       wr == XROCE_WR_RDMA_WRITE_WITH_IMM;
}

/**
 * unrel_hash() - of a message, 0 never
 */
u64 unrel_hash(bool write, bool imm, __be32 v, u32 len, const u8 *data)
{
	u64 h = sim_mix(len + 1) ^ write << 1 ^ imm;

	if (imm)
		h = sim_mix(h ^ (u64)v << 8);
	if (!write)
		while (len--)
			h = (h ^ *data++) * 0x100000001b3ull;
	return h | 1;
}

/**
 * unrel_reset() - a QP is made anew, with these PSNs
 */
void unrel_reset(struct sim_ep *ep, u32 psn, u32 epsn)
{
	struct sim_unrel *u = &ep->u;

	sim_check(!u->held && !u->due.n, "QP %u: receives left over", ep->idx);
	u->psn = psn;
	u->epsn = epsn;
	u->jump = u->dead = false;
	u->done = 0;
	u->kind = 0;
}

/**
 * unrel_current() - what is to be sent, or NULL
 */
struct sim_op *unrel_current(const struct sim_ep *ep)
{
	struct sim_op *op = ep->ops.first;

	while (op && (op->taken || sim_wr_is_local(op->wr)))
		op = op->next;
	return op;
}

/* From the BTH to the last byte before the ICRC. Return: its length. */
static u32 build(struct sim_ep *ep, const struct sim_op *op, u32 psn, u8 *b)
{
	bool ud = ep->transport == XROCE_UD, write = is_write(op->wr);
	u32 off = op->sent * ep->mtu, len = min(op->len - off, ep->mtu);
	bool first = !op->sent, last = off + len == op->len;
	bool imm = last && has_imm(op->wr);
	u32 want = (write ? WRITE : SEND) | (first ? FIRST : 0) |
		   (last ? LAST : 0) | (imm ? IMM : 0);
	u32 n = 12, i;

	memset(b, 0, 12);
	for (i = 0; ops[i] != want; i++)
		;
	b[0] = ep->transport | i;
	b[1] = 0x40 | (-len & 3) << 4 | (last && op->solicited && (!write || imm) ? 0x80 : 0);
	b[2] = b[3] = 0xff;
	put(b + 5, ud ? op->qpn : ep->peer->qp.hot.qpn, 3);
	put(b + 9, psn, 3);
	if (ud) {
		put(b + n, op->qkey, 4);
		put(b + n + 4, ep->qp.hot.qpn, 4);
		n += 8;
	}
	if (write && first) {
		put(b + n, op->raddr, 8);
		put(b + n + 8, op->rkey, 4);
		put(b + n + 12, op->len, 4);
		n += 16;
	}
	if (imm) {
		memcpy(b + n, &op->imm, 4);
		n += 4;
	}
	memcpy(b + n, op->data + off, len);
	n += len;
	memset(b + n, 0, -len & 3);
	return n + (-len & 3);
}

static void check_path(struct sim_ep *ep, const struct sim_op *op,
		       const struct xroce_frame *f, const u8 *buf, u32 len)
{
	struct sim_node *n = ep->node;
	const struct sim_ah *ah = op->ah;
	bool v6 = ah ? ah->v6 : ep->conn->v6;
	u8 to[16];

	sim_gid_of(ah ? ah->to : ep->peer->node, ah ? ah->group : 0, v6, to);
	wire_check_l3(ep, buf, len, v6 ? n->gid6 : n->gid4, to);
	wire_check_l2(ep, f, ah ? &ah->ah.av : &ep->av);
	if (!ah)
		return;
	sim_check(!ah->dead, "QP %u: sends by an address handle that is gone",
		  ep->idx);
	if (v6)
		sim_check(be(buf, 4) == (6u << 28 | ah->tclass << 20 |
			  ah->flow) && buf[7] == ah->hop &&
			  be(buf + 40, 2) == ah->sport,
			  "QP %u: path of a datagram", ep->idx);
	else
		sim_check(buf[1] == ah->tclass && buf[8] == ah->hop &&
			  be(buf + 20, 2) == ah->sport,
			  "QP %u: path of a datagram", ep->idx);
}

/**
 * unrel_tx() - the device has taken a frame
 */
void unrel_tx(struct sim_ep *ep, const struct xroce_frame *f, const u8 *buf,
	      u32 len)
{
	u8 want[12 + 8 + 16 + 4 + 4096 + 3];
	struct sim_op *op = unrel_current(ep);
	struct sim_unrel *u = &ep->u;
	u32 l3 = buf[0] >> 4 == 4 ? 28 : 48, n, psn;

	if (W->checks_off)
		return;
	sim_check(op, "QP %u: sends, and there is nothing to send", ep->idx);
	sim_keys_before(ep, op);
	sim_check(!op->status || op->partial, "QP %u: wr %llu is sent, but has"
		  " to fail", ep->idx, (unsigned long long)op->wr_id);
	sim_check(!ep->drained || op->sent, "QP %u: begins wr %llu, drained",
		  ep->idx, (unsigned long long)op->wr_id);
	psn = be(buf + l3 + 9, 3);
	if (u->jump && ((psn - u->psn) & 0xffffff) <= XROCE_BATCH)
		u->psn = psn;
	u->jump = false;
	sim_check(psn == u->psn, "QP %u: PSN %06x, %06x is next", ep->idx, psn,
		  u->psn);
	n = build(ep, op, psn, want);
	sim_check(len == l3 + n + 4 && !memcmp(want, buf + l3, n),
		  "QP %u: packet %u of wr %llu (opcode %u, %u bytes) is %02x"
		  " with %u bytes, not %02x with %u, or differs", ep->idx,
		  op->sent, (unsigned long long)op->wr_id, op->wr, op->len,
		  buf[l3], len - l3 - 4, want[0], n);
	sim_check(wire_icrc_ok(buf, len), "QP %u: ICRC", ep->idx);
	check_path(ep, op, f, buf, len);
	u->psn = (psn + 1) & 0xffffff;
	op->sent++;
	if (op->sent * ep->mtu >= op->len) {
		op->taken = true;
		u->done = op->idx + 1;
	}
}

/**
 * unrel_idle() - nobody runs in the core for this QP: what the device has taken
 * is completed, and nothing else
 */
void unrel_idle(struct sim_ep *ep)
{
	u32 cons = ep->qp.req.ring->cons;
	u8 state = ep->qp.hot.state;
	struct sim_op *op;

	sim_keys_look(ep);
	if (!ep->in_xmit)
		ep->no_frame = 0;
	if (ep->transport == XROCE_RC || ep->in_xmit || W->checks_off ||
	    ep->qp.dead || (state != XROCE_QPS_RTS && state != XROCE_QPS_SQD))
		return;
	/* What sends nothing may wait with what has no memory. */
	for (op = ep->ops.first; op && ep->timer_at; op = op->next)
		if (op->executed && op->idx == cons)
			cons++;
	sim_check(cons == ep->u.done, "QP %u: %u work requests completed, %u"
		  " taken", ep->idx, cons, ep->u.done);
	sim_check(state != XROCE_QPS_RTS || ep->defer_pending || ep->timer_at ||
		  ep->qp.req.ring->prod == ep->u.done,
		  "QP %u: %u work requests wait for nobody", ep->idx,
		  ep->qp.req.ring->prod - ep->u.done);
}

static void op_end(struct sim_ep *ep, struct sim_op *op, u8 status)
{
	u32 i;

	for (i = 0; i < op->nloc; i++)
		sim_expect(op->local[i].r, op->local[i].off, op->local[i].len,
			   "source of an operation");
	sim_check(status || op->taken || op->executed, "QP %u: wr %llu has %u packets taken,"
		  " and is complete", ep->idx, (unsigned long long)op->wr_id,
		  op->sent);
	sim_check(status || !op->status || op->maybe, "QP %u: wr %llu"
		  " succeeded, %u was expected", ep->idx,
		  (unsigned long long)op->wr_id, op->status);
	if (status)
		W->ops_failed++;
	else
		W->ops_done++;
	sim_op_release(op);
}

/* Its user has ended it, or a receive has. */
static bool may_end(const struct sim_ep *ep)
{
	return ep->expect_err || ep->u.dead;
}

/* The first error of a send queue: is it the one expected, and the state. */
static void check_error(struct sim_ep *ep, const struct sim_op *op, u8 status)
{
	u8 state = ep->qp.hot.state;

	if (status == XROCE_WC_WR_FLUSH_ERR) {
		sim_check(may_end(ep), "QP %u: wr %llu is"
			  " flushed", ep->idx, (unsigned long long)op->wr_id);
		ep->state = SIM_EP_FAILED;
		return;
	}
	sim_check(status == op->status || status == op->maybe, "QP %u: wr %llu"
		  " (opcode %u) ended with status %u, not %u", ep->idx,
		  (unsigned long long)op->wr_id, op->wr, status, op->status);
	sim_check(!op->taken, "QP %u: wr %llu was sent and failed", ep->idx,
		  (unsigned long long)op->wr_id);
	sim_check(state == XROCE_QPS_SQE ||
		  (state == XROCE_QPS_ERR && may_end(ep)), "QP %u: state %u after a"
		  " send that failed", ep->idx, state);
	ep->first_err = status;
	ep->state = state == XROCE_QPS_SQE ? SIM_EP_SQE : SIM_EP_FAILED;
}

static void op_silent(struct sim_ep *ep, struct sim_op *op)
{
	op_end(ep, op, 0);
}

void unrel_send_done(struct sim_ep *ep, const struct xroce_cqe *cqe)
{
	struct sim_op *op = sim_op_of(ep, cqe, op_silent);

	if (!cqe->status)
		sim_check(ep->state == SIM_EP_UP &&
			  (op->signaled || ep->sig_all), "QP %u: wr %llu succeeded, and says so,"
			  " in state %u", ep->idx,
			  (unsigned long long)op->wr_id, ep->state);
	else if (ep->state == SIM_EP_UP)
		check_error(ep, op, cqe->status);
	else
		sim_check(cqe->status == XROCE_WC_WR_FLUSH_ERR,
			  "QP %u: wr %llu has status %u after another failed",
			  ep->idx, (unsigned long long)op->wr_id,
			  cqe->status);
	op_end(ep, op, cqe->status);
}

/* What arrives. */

static void count(struct sim_ep *ep, enum xroce_counter c)
{
	ep->node->due[c]++;
}

static void due_add(struct sim_ep *ep, struct sim_due due)
{
	struct sim_due *d = malloc(sizeof(*d));

	*d = due;
	d->recv = ep->u.held;
	ep->u.held = NULL;
	sim_list_add(&ep->u.due, d);
	if (!due.status)
		return;
	/* A receive at fault ends the QP. */
	ep->u.dead = true;
	ended[nended++] = ep;
}

/* Is there a receive for a message that begins, or has one already. */
static bool recv_at_hand(struct sim_ep *ep)
{
	struct sim_unrel *u = &ep->u;

	if (u->held)
		return true;
	if (ep->srq)
		u->held = sim_srq_took(ep->srq);
	else if (ep->recvs.n)
		u->held = sim_list_pop(&ep->recvs);
	if (!u->held) {
		count(ep, XROCE_CNT_DROP_NO_RECV);
		return false;
	}
	if (u->held->bad != XROCE_WC_LOC_QP_OP_ERR)
		return true;
	due_add(ep, (struct sim_due){ .status = XROCE_WC_LOC_QP_OP_ERR });
	return false;
}

static void touch(struct sim_region *r, u64 off, const u8 *data, u32 len)
{
	if (!len)
		return;
	sim_check(ntouched < ARRAY_SIZE(touched), "too many pieces");
	memcpy(r->shadow + off, data, len);
	touched[ntouched].r = r;
	touched[ntouched].off = off;
	touched[ntouched++].len = len;
}

/* Return: false when the receive's memory may not be written. */
static bool scatter(struct sim_recv *rv, u32 off, const u8 *data, u32 len)
{
	u32 i, n;

	for (i = 0; i < rv->nsge && len; i++) {
		struct sim_piece *p = &rv->sge[i];

		if (off >= p->len) {
			off -= p->len;
			continue;
		}
		n = min(len, p->len - off);
		if (rv->bad == XROCE_WC_LOC_PROT_ERR && rv->bad_sge == i)
			return false;
		touch(p->r, p->off + off, data, n);
		data += n;
		len -= n;
		off = 0;
	}
	return true;
}

/* The region that a remote may write @len bytes of, at @va, or NULL; and where. */
static struct sim_region *writable(struct sim_ep *ep, u32 rkey, u64 va, u64 len,
				   u64 *off)
{
	struct sim_key *k = sim_key_named(ep, rkey);
	struct sim_region *r;
	u32 i;

	if (k) {
		va -= k->now.iova;
		*off = va + k->now.off;
		return k->now.valid && (k->now.access & XROCE_REMOTE_WRITE) &&
		       va <= k->now.len && len <= k->now.len - va ? k->of :
								    NULL;
	}
	for (i = 0; i < SIM_TAB; i++) {
		r = ep->node->mr[i];
		if (!r || r->mr.key != rkey)
			continue;
		if (r->mr.state != XROCE_KEY_VALID || r->mr.pd != ep->qp.pd ||
		    !(r->mr.access & XROCE_REMOTE_WRITE) || va < r->mr.iova ||
		    va - r->mr.iova > r->len ||
		    len > r->len - (va - r->mr.iova))
			return NULL;
		*off = va - r->mr.iova;
		return r;
	}
	return NULL;
}

/* Return: whether it is part of a message that goes on. */
static bool uc_send(struct sim_ep *ep, u32 kind, const u8 *data, u32 len,
		    __be32 imm, bool se)
{
	struct sim_unrel *u = &ep->u;
	struct sim_due due = { .opcode = XROCE_WC_RECV, .solicited = se };
	struct sim_recv *rv;
	u8 *all;

	if (kind & FIRST)
		u->off = 0;
	if (!recv_at_hand(ep))
		return false;
	rv = u->held;
	if (len > rv->len - u->off) {
		count(ep, XROCE_CNT_DROP_TOO_LONG);
		return false;
	}
	if (!scatter(rv, u->off, data, len)) {
		due_add(ep, (struct sim_due){ .status = rv->bad });
		return false;
	}
	u->off += len;
	if (!(kind & LAST))
		return true;
	due.len = u->off;
	due.src = ep->peer->qp.hot.qpn;
	if (kind & IMM) {
		due.flags = XROCE_WC_WITH_IMM;
		due.imm = imm;
	}
	all = malloc(u->off + 1);
	len = 0;
	for (u32 i = 0; i < rv->nsge && len < u->off; i++) {
		u32 n = min(rv->sge[i].len, u->off - len);

		memcpy(all + len, rv->sge[i].r->shadow + rv->sge[i].off, n);
		len += n;
	}
	due.hash = unrel_hash(false, kind & IMM, imm, u->off, all);
	free(all);
	due_add(ep, due);
	return true;
}

static bool uc_write(struct sim_ep *ep, u32 kind, const u8 *reth,
		     const u8 *data, u32 len, __be32 imm, bool se)
{
	struct sim_unrel *u = &ep->u;
	struct sim_region *r;
	u64 off;

	if (kind & FIRST) {
		u->va = (u64)be(reth, 4) << 32 | be(reth + 4, 4);
		u->rkey = be(reth + 8, 4);
		u->left = be(reth + 12, 4);
		u->off = 0;
		if (u->left > 1u << 31)
			goto drop;
	}
	if (kind & LAST ? len != u->left : len >= u->left)
		goto drop;
	if ((kind & FIRST) && u->left &&
	    !writable(ep, u->rkey, u->va, u->left, &off))
		goto drop;
	if ((kind & IMM) && !recv_at_hand(ep))
		return false;
	if (len) {
		r = writable(ep, u->rkey, u->va + u->off, len, &off);
		if (!r)
			goto drop;
		touch(r, off, data, len);
	}
	u->off += len;
	u->left -= len;
	if (kind & IMM)
		due_add(ep, (struct sim_due){
			.opcode = XROCE_WC_RECV_RDMA_WITH_IMM,
			.flags = XROCE_WC_WITH_IMM, .imm = imm, .len = u->off,
			.src = ep->peer->qp.hot.qpn, .solicited = se,
			.hash = unrel_hash(true, true, imm, u->off, NULL),
		});
	return true;
drop:
	count(ep, XROCE_CNT_DROP_REQUEST);
	return false;
}

static void uc_rx(struct sim_ep *ep, const u8 *bth, u32 len)
{
	u32 op = bth[0] & 31, kind, psn = be(bth + 9, 3), what;
	const u8 *ext = bth + 12, *imm = ext, *data;
	struct sim_unrel *u = &ep->u;
	bool ok;

	sim_check(op < ARRAY_SIZE(ops), "UC opcode %02x", bth[0]);
	kind = ops[op];
	what = kind & (SEND | WRITE);
	if ((kind & (WRITE | FIRST)) == (WRITE | FIRST))
		imm += 16;
	data = imm + (kind & IMM ? 4 : 0);
	len -= data - bth + 4 + (bth[1] >> 4 & 3);
	/* A gap ends the message under way; the first of another begins it. */
	if (psn != u->epsn || (kind & FIRST))
		u->kind = 0;
	u->epsn = (psn + 1) & 0xffffff;
	if (!(kind & FIRST) && u->kind != what)
		ok = false;
	else if (!(kind & LAST))
		ok = len == ep->mtu;
	else
		ok = len <= ep->mtu && (len || (kind & FIRST));
	if (!ok) {
		u->kind = 0;
		count(ep, XROCE_CNT_DROP_REQUEST);
		return;
	}
	if (what == SEND)
		ok = uc_send(ep, kind, data, len,
			     get_unaligned((const __be32 *)imm),
			     bth[1] & 0x80);
	else
		ok = uc_write(ep, kind, ext, data, len,
			      get_unaligned((const __be32 *)imm),
			      bth[1] & 0x80);
	u->kind = ok && !(kind & LAST) ? what : 0;
}

static void ud_rx(struct sim_ep *ep, const struct sim_pkt *pkt, const u8 *bth,
		  u32 len)
{
	bool imm = (bth[0] & 31) == 5;
	const u8 *data = bth + (imm ? 24 : 20);
	struct sim_unrel *u = &ep->u;
	struct sim_due due = {
		.opcode = XROCE_WC_RECV, .flags = XROCE_WC_GRH,
		.src = be(bth + 17, 3), .vlan = pkt->vlan,
		.solicited = bth[1] & 0x80,
	};
	u8 all[40 + 4096 + 64] = {};

	if (be(bth + 12, 4) != ep->qkey) {
		count(ep, XROCE_CNT_DROP_QKEY);
		return;
	}
	if (!recv_at_hand(ep))
		return;
	len -= data - bth + 4 + (bth[1] >> 4 & 3);
	due.len = 40 + len;
	if (due.len > u->held->len) {
		count(ep, XROCE_CNT_DROP_TOO_LONG);
		return;
	}
	if (pkt->v6)
		memcpy(all, pkt->buf, 40);
	else
		memcpy(all + 20, pkt->buf, 20);
	memcpy(all + 40, data, len);
	if (!scatter(u->held, 0, all, due.len)) {
		due_add(ep, (struct sim_due){ .status = u->held->bad });
		return;
	}
	if (imm) {
		due.flags |= XROCE_WC_WITH_IMM;
		due.imm = get_unaligned((const __be32 *)(bth + 20));
	}
	due_add(ep, due);
}

static bool listens(const struct sim_ep *ep, u8 transport)
{
	u8 state = ep->qp.hot.state;

	return ep->transport == transport && !ep->qp.dead &&
	       (state == XROCE_QPS_RTR || state == XROCE_QPS_RTS ||
		state == XROCE_QPS_SQD || state == XROCE_QPS_SQE);
}

static void group_rx(const struct sim_pkt *pkt, const u8 *bth, u32 len)
{
	u32 found = 0, g, i;
	struct sim_ep *ep;
	u8 gid[16];

	for (g = pkt->v6; g < SIM_GROUPS; g += 2) {
		sim_gid_of(NULL, g, pkt->v6, gid);
		if (memcmp(gid + (pkt->v6 ? 0 : 12),
			   pkt->buf + (pkt->v6 ? 24 : 16), pkt->v6 ? 16 : 4))
			continue;
		for (i = 0; i < SIM_TAB; i++) {
			ep = pkt->to->qp[i];
			if (!ep || !(ep->groups >> g & 1))
				continue;
			found++;
			if (listens(ep, XROCE_UD))
				ud_rx(ep, pkt, bth, len);
		}
	}
	if (!found)
		pkt->to->due[XROCE_CNT_DROP_GROUP]++;
}

/**
 * unrel_expect() - a packet of UC or UD that is all right is about to arrive
 */
void unrel_expect(const struct sim_pkt *pkt)
{
	const u8 *bth = pkt->buf + (pkt->v6 ? 48 : 28);
	u32 len = pkt->len - (bth - pkt->buf), qpn = be(bth + 5, 3);
	bool ud = bth[0] >> 5 == 3;
	struct sim_ep *ep;

	if (W->checks_off)
		return;
	if (ud && qpn == 0xffffff) {
		group_rx(pkt, bth, len);
		return;
	}
	ep = sim_find_ep(pkt->to, qpn);
	if (!ep)
		return;
	if (!ud && listens(ep, XROCE_UC) && ep == pkt->ep)
		uc_rx(ep, bth, len);
	else if (ud && listens(ep, XROCE_UD))
		ud_rx(ep, pkt, bth, len);
}

/**
 * unrel_check() - the packet has arrived: has it done what it must
 */
void unrel_check(void)
{
	u32 i;

	for (i = 0; i < ntouched; i++)
		sim_expect(touched[i].r, touched[i].off, touched[i].len,
			   "not what the packet has brought");
	for (i = 0; i < nended; i++)
		sim_check(ended[i]->qp.hot.state == XROCE_QPS_ERR,
			  "QP %u: a receive failed, and its state is %u",
			  ended[i]->idx, ended[i]->qp.hot.state);
	ntouched = 0;
	nended = 0;
}

/* A message received is one that was sent, whole; and in order, if that can be. */
static void check_sent(struct sim_ep *ep, u64 hash)
{
	const struct sim_cfg *c = &W->cfg;
	struct sim_unrel *from = &ep->peer->u;
	bool order = !c->dup && !c->reorder && !c->corrupt;
	u32 i;

	for (i = order ? from->got : 0; i < from->nsent; i++)
		if (from->sent[i] == hash)
			break;
	sim_check(i < from->nsent, "QP %u: received a message that was not sent%s",
		  ep->idx, order ? ", or not now" : "");
	if (order)
		from->got = i + 1;
}

static void recv_flushed(struct sim_ep *ep, const struct xroce_cqe *cqe)
{
	struct sim_recv *rv = ep->u.held;

	sim_check(ep->qp.hot.state == XROCE_QPS_ERR && may_end(ep),
		  "QP %u: a receive is flushed in state %u",
		  ep->idx, ep->qp.hot.state);
	ep->u.held = NULL;
	if (!rv && !ep->srq)
		rv = sim_list_pop(&ep->recvs);
	sim_check(rv && rv->wr_id == cqe->wr_id &&
		  cqe->status == XROCE_WC_WR_FLUSH_ERR,
		  "QP %u: receive %llu ends with status %u, %lld is next",
		  ep->idx, (unsigned long long)cqe->wr_id, cqe->status,
		  rv ? (long long)rv->wr_id : -1);
	ep->flushing = true;
	sim_recv_release(rv);
}

/* Return: whether the sender wanted an event. */
bool unrel_recv_done(struct sim_ep *ep, const struct xroce_cqe *cqe)
{
	struct sim_due *d = sim_list_pop(&ep->u.due);
	struct sim_recv *rv;
	bool solicited;
	u32 i;

	if (!d) {
		recv_flushed(ep, cqe);
		return true;
	}
	rv = d->recv;
	sim_check(rv->wr_id == cqe->wr_id && cqe->status == d->status,
		  "QP %u: receive %llu with status %u, not %llu with %u",
		  ep->idx, (unsigned long long)cqe->wr_id, cqe->status,
		  (unsigned long long)rv->wr_id, d->status);
	solicited = d->solicited || d->status;
	if (d->status) {
		ep->recv_err = d->status;
	} else {
		sim_check(cqe->opcode == d->opcode && cqe->flags == d->flags &&
			  cqe->byte_len == d->len && cqe->src_qp == d->src,
			  "QP %u: receive completion: opcode %u flags %x"
			  " length %u from %06x, not %u %x %u %06x", ep->idx,
			  cqe->opcode, cqe->flags, cqe->byte_len, cqe->src_qp,
			  d->opcode, d->flags, d->len, d->src);
		if (d->flags & XROCE_WC_WITH_IMM)
			sim_check(cqe->imm == d->imm, "QP %u: immediate",
				  ep->idx);
		if (d->flags & XROCE_WC_GRH)
			sim_check(cqe->vlan == d->vlan &&
				  (cqe->sl == XROCE_SL_IPV4 ||
				   cqe->sl == XROCE_SL_IPV6),
				  "QP %u: VLAN or SL", ep->idx);
		if (d->hash)
			check_sent(ep, d->hash);
	}
	for (i = 0; i < rv->nsge; i++)
		sim_expect(rv->sge[i].r, rv->sge[i].off, rv->sge[i].len,
			   "a receive's buffer");
	free(d);
	sim_recv_release(rv);
	return solicited;
}

/**
 * unrel_finish() - the QP is in ERR or is to be reset: what has gone unsaid
 */
void unrel_finish(struct sim_ep *ep, bool flushed)
{
	struct sim_op *op;

	while ((op = ep->ops.first) && ep->state == SIM_EP_UP &&
	       (op->taken || op->executed) && !op->signaled && !ep->sig_all)
		op_end(ep, sim_list_pop(&ep->ops), 0);
	if (!flushed)
		return;
	sim_check(!ep->u.held && !ep->u.due.n, "QP %u: a receive is missing",
		  ep->idx);
}

/**
 * unrel_drop() - RESET has made the work requests disappear
 */
void unrel_drop(struct sim_ep *ep)
{
	struct sim_recv *rv;
	struct sim_op *op;

	while ((op = sim_list_pop(&ep->ops)))
		sim_op_release(op);
	sim_check(!ep->u.due.n, "QP %u: a receive's completion is missing",
		  ep->idx);
	if (ep->u.held)
		sim_recv_release(ep->u.held);
	ep->u.held = NULL;
	while ((rv = sim_list_pop(&ep->recvs)))
		sim_recv_release(rv);
}

/**
 * unrel_forget() - free what the observer keeps of a QP
 */
void unrel_forget(struct sim_ep *ep)
{
	free(ep->u.sent);
	free(ep->u.held);
	ep->u.sent = NULL;
	ep->u.held = NULL;
}

/**
 * unrel_quiet() - nothing is under way: completions and drops are all there
 */
void unrel_quiet(void)
{
	static const enum xroce_counter exact[] = {
		XROCE_CNT_DROP_NO_RECV, XROCE_CNT_DROP_TOO_LONG,
		XROCE_CNT_DROP_REQUEST, XROCE_CNT_DROP_QKEY,
		XROCE_CNT_DROP_GROUP,
	};
	struct sim_srq *srq;
	struct sim_conn *c;
	u32 i, j;

	for (c = W->conns; c; c = c->next)
		for (i = 0; i < 2; i++)
			sim_check(!c->ep[i].u.due.n, "QP %u: %u receives were"
				  " not completed", c->ep[i].idx,
				  c->ep[i].u.due.n);
	for (i = 0; i < W->nnodes; i++) {
		struct sim_node *n = W->node[i];

		for (j = 0; j < ARRAY_SIZE(exact); j++)
			sim_check(n->cnt[exact[j]] == n->due[exact[j]],
				  "node %u: counter %u is %llu, not %llu", i,
				  exact[j],
				  (unsigned long long)n->cnt[exact[j]],
				  (unsigned long long)n->due[exact[j]]);
		for (j = 0; j < SIM_SRQS; j++) {
			srq = n->srq[j];
			sim_check(!srq || srq->limits == srq->limits_due,
				  "node %u: %u limit events, %u wanted", i,
				  srq->limits, srq->limits_due);
		}
	}
}
