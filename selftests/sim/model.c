// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The model: what each completion must be, in which order they come, and what
 * memory holds when one says so. Runs as the user's poll, single-threaded.
 */
#include "sim.h"
#include "ways.h"

void sim_list_init(struct sim_list *l)
{
	l->first = NULL;
	l->last = &l->first;
	l->n = 0;
}

/* All that is listed begins with the link to the next. */
void sim_list_add(struct sim_list *l, void *item)
{
	*(void **)item = NULL;
	*l->last = item;
	l->last = item;
	l->n++;
}

void *sim_list_pop(struct sim_list *l)
{
	void *item = l->first;

	if (!item)
		return NULL;
	l->first = *(void **)item;
	if (!l->first)
		l->last = &l->first;
	l->n--;
	return item;
}

static bool is_write(const struct sim_op *op)
{
	return op->wr == XROCE_WR_RDMA_WRITE ||
	       op->wr == XROCE_WR_RDMA_WRITE_WITH_IMM;
}

static bool is_atomic(const struct sim_op *op)
{
	return op->wr == XROCE_WR_ATOMIC_CMP_AND_SWP ||
	       op->wr == XROCE_WR_ATOMIC_FETCH_AND_ADD;
}

static void op_free(struct sim_op *op)
{
	if (op->msg)
		op->msg->op = NULL;
	sim_key_over(op);
	free(op->data);
	free(op);
}

/* What an operation carries, as its user left it. */
static u8 *op_gather(const struct sim_op *op)
{
	u8 *buf = malloc(op->len + 1), *p = buf;
	u32 i;

	if (op->use_data) {
		memcpy(buf, op->data, op->len);
		return buf;
	}
	for (i = 0; i < op->nloc; i++) {
		const struct sim_piece *l = &op->local[i];

		sim_expect(l->r, l->off, l->len, "source of an operation");
		memcpy(p, l->r->shadow + l->off, l->len);
		p += l->len;
	}
	return buf;
}

/* Local memory has been written by a READ or atomic. */
static void op_scatter(struct sim_ep *ep, const struct sim_op *op,
		       const u8 *data)
{
	u32 i;

	for (i = 0; i < op->nloc; i++) {
		const struct sim_piece *l = &op->local[i];

		sim_check(sim_equal(l->r, l->off, data, l->len),
			  "QP %u: wr %llu has read wrong bytes (%u of %u)",
			  ep->idx, (unsigned long long)op->wr_id, l->len,
			  op->len);
		memcpy(l->r->shadow + l->off, data, l->len);
		data += l->len;
	}
}

void sim_op_release(struct sim_op *op)
{
	u32 i;

	for (i = 0; i < op->nloc && op->own_local; i++) {
		if (op->local[i].len && sim_chance(5000))
			sim_scribble(op->local[i].r, op->local[i].off,
				     op->local[i].len);
		sim_give(&op->local[i]);
	}
	if (op->own_remote && op->remote.r) {
		sim_scribble(op->remote.r, op->remote.off, op->remote.len);
		sim_give(&op->remote);
	}
	op_free(op);
}

/* A SEND is over: the receiver must have been told by then. */
static void check_received(struct sim_ep *ep, const struct sim_msg *msg)
{
	struct sim_ep *peer = ep->peer;
	struct sim_cq *cq = peer->rcq;
	const struct xroce_cqe *cqe;
	struct sim_msg *m;
	u32 want = 1, i;

	if (!msg)
		return;
	for (m = peer->msgs.first; m && m != msg; m = m->next)
		want++;
	if (!m)
		return;		/* polled already */
	for (i = cq->cons; i != cq->cq.prod && want; i++) {
		cqe = (void *)(cq->cq.ring->slot + (i & cq->cq.mask) *
			       sizeof(*cqe));
		if (cqe->qpn == peer->qp.hot.qpn &&
		    cqe->opcode >= XROCE_WC_RECV)
			want--;
	}
	sim_check(!want, "QP %u: a message was completed before it was"
		  " received", ep->idx);
}

static void shared_done(struct sim_ep *ep, const struct sim_op *op)
{
	struct sim_node *n = ep->peer->node;
	u8 *seen = n->shared_seen[op->atom];
	u64 v;

	sim_read(op->local[0].r, op->local[0].off, &v, 8);
	sim_check(v < SIM_SHARED_MAX, "QP %u: FETCH_ADD returns %llu",
		  ep->idx, (unsigned long long)v);
	sim_check(!(seen[v / 8] >> v % 8 & 1), "QP %u: FETCH_ADD returns %llu,"
		  " as did another", ep->idx, (unsigned long long)v);
	seen[v / 8] |= 1 << v % 8;
	n->shared_done[op->atom]++;
	memcpy(op->local[0].r->shadow + op->local[0].off, &v, 8);
}

static void op_success(struct sim_ep *ep, struct sim_op *op)
{
	u8 *data;

	sim_check(!op->status, "QP %u: wr %llu succeeded, %u was to be"
		  " expected", ep->idx, (unsigned long long)op->wr_id,
		  op->status);
	sim_check(!op->key || op->executed, "QP %u: wr %llu succeeded, and was"
		  " not executed", ep->idx, (unsigned long long)op->wr_id);
	W->ops_done++;
	if (is_atomic(op)) {
		if (op->shared_atom)
			shared_done(ep, op);
		else
			op_scatter(ep, op, (u8 *)&op->orig);
	} else if (op->wr == XROCE_WR_RDMA_READ) {
		if (op->len) {
			sim_expect(op->remote.r, op->remote.off, op->len,
				   "source of a READ");
			op_scatter(ep, op, op->remote.r->shadow +
				   op->remote.off);
		}
	} else {
		data = op_gather(op);
		if (is_write(op) && op->len) {
			sim_check(sim_equal(op->remote.r, op->remote.off, data,
					    op->len),
				  "QP %u: wr %llu has not written its %u bytes"
				  " as it says", ep->idx,
				  (unsigned long long)op->wr_id, op->len);
			memcpy(op->remote.r->shadow + op->remote.off, data,
			       op->len);
		}
		check_received(ep, op->msg);
		free(data);
	}
	sim_op_release(op);
}

static u8 nak_status(u8 nak)
{
	static const u8 status[] = {
		XROCE_WC_REM_INV_REQ_ERR, XROCE_WC_REM_ACCESS_ERR,
		XROCE_WC_REM_OP_ERR, XROCE_WC_REM_INV_REQ_ERR,
	};

	return nak >= 0x61 && nak <= 0x64 ? status[nak - 0x61] : 0;
}

/* The first error of an end: may it be this one. */
static void check_error(struct sim_ep *ep, const struct sim_op *op, u8 status)
{
	bool ok = false;

	switch (status) {
	case XROCE_WC_RETRY_EXC_ERR:
		ok = wire_retry_exceeded(ep);
		W->retry_exc++;
		break;
	case XROCE_WC_RNR_RETRY_EXC_ERR:
		ok = wire_rnr_exceeded(ep);
		W->rnr_exc++;
		break;
	case XROCE_WC_WR_FLUSH_ERR:
		ok = ep->expect_err || ep->recv_err || ep->qp.resp.fatal;
		break;
	case XROCE_WC_REM_INV_REQ_ERR:
	case XROCE_WC_REM_ACCESS_ERR:
	case XROCE_WC_REM_OP_ERR:
		ok = (op->status == status || op->maybe == status) &&
		     nak_status(ep->wire.nak) == status;
		break;
	default:
		ok = op->status == status || op->maybe == status;
	}
	sim_check(ok, "QP %u: wr %llu (opcode %u, %u bytes) ended with status"
		  " %u; expected %u; by the observer %u expiries of %u, %u"
		  " RNRs of %u, NAK %02x", ep->idx,
		  (unsigned long long)op->wr_id, op->wr, op->len, status,
		  op->status, ep->wire.expiries, ep->retry_cnt + 1,
		  ep->wire.rnrs, ep->rnr_retry + 1, ep->wire.nak);
}

static void op_failed(struct sim_ep *ep, struct sim_op *op, u8 status)
{
	W->ops_failed++;
	if (ep->state == SIM_EP_UP) {
		check_error(ep, op, status);
		sim_check(ep->qp.hot.state == XROCE_QPS_ERR,
			  "QP %u: error %u, but its state is %u", ep->idx,
			  status, ep->qp.hot.state);
		ep->state = SIM_EP_FAILED;
		ep->first_err = status;
	} else {
		sim_check(status == XROCE_WC_WR_FLUSH_ERR, "QP %u: wr %llu has"
			  " status %u after another failed", ep->idx,
			  (unsigned long long)op->wr_id, status);
	}
	if (op->msg)
		op->msg->op = NULL;
	op->msg = NULL;
	sim_list_add(&ep->dead, op);
}

static const u8 wc_of_wr[] = {
	[XROCE_WR_RDMA_WRITE] = XROCE_WC_RDMA_WRITE,
	[XROCE_WR_RDMA_WRITE_WITH_IMM] = XROCE_WC_RDMA_WRITE,
	[XROCE_WR_SEND] = XROCE_WC_SEND,
	[XROCE_WR_SEND_WITH_IMM] = XROCE_WC_SEND,
	[XROCE_WR_RDMA_READ] = XROCE_WC_RDMA_READ,
	[XROCE_WR_ATOMIC_CMP_AND_SWP] = XROCE_WC_COMP_SWAP,
	[XROCE_WR_ATOMIC_FETCH_AND_ADD] = XROCE_WC_FETCH_ADD,
	[XROCE_WR_SEND_WITH_INV] = XROCE_WC_SEND,
	[XROCE_WR_LOCAL_INV] = XROCE_WC_LOCAL_INV,
	[XROCE_WR_BIND_MW] = XROCE_WC_BIND_MW,
	[XROCE_WR_REG_MR] = XROCE_WC_REG_MR,
};

/**
 * sim_op_of() - the operation that a completion is of, if it may be
 * @ep: the endpoint
 * @cqe: the completion
 * @silent: called for those before it, which were done without one
 */
struct sim_op *sim_op_of(struct sim_ep *ep, const struct xroce_cqe *cqe,
			 void (*silent)(struct sim_ep *ep, struct sim_op *op))
{
	struct sim_op *op;

	sim_keys_look(ep);
	for (;;) {
		op = sim_list_pop(&ep->ops);
		sim_check(op, "QP %u: completion of wr %llu, which is not"
			  " outstanding", ep->idx,
			  (unsigned long long)cqe->wr_id);
		if (op->wr_id == cqe->wr_id)
			break;
		sim_check(!op->signaled && !ep->sig_all &&
			  ep->state == SIM_EP_UP,
			  "QP %u: wr %llu completed, but not %llu before it",
			  ep->idx, (unsigned long long)cqe->wr_id,
			  (unsigned long long)op->wr_id);
		silent(ep, op);
	}
	sim_check(cqe->sq_cons == op->idx + 1, "QP %u: wr %llu is %u, and frees up to %u",
		  ep->idx, (unsigned long long)op->wr_id, op->idx, cqe->sq_cons);
	if (op->wr < ARRAY_SIZE(wc_of_wr) && !op->bad_opcode)
		sim_check(cqe->opcode == wc_of_wr[op->wr], "QP %u: completion"
			  " of opcode %u says %u", ep->idx, op->wr,
			  cqe->opcode);
	return op;
}

static void send_done(struct sim_ep *ep, const struct xroce_cqe *cqe)
{
	struct sim_op *op = sim_op_of(ep, cqe, op_success);

	if (cqe->status) {
		op_failed(ep, op, cqe->status);
		return;
	}
	sim_check(ep->state == SIM_EP_UP, "QP %u: wr %llu succeeded after"
		  " another failed", ep->idx, (unsigned long long)op->wr_id);
	sim_check(op->signaled || ep->sig_all, "QP %u: unsignalled wr %llu"
		  " succeeded and says so", ep->idx,
		  (unsigned long long)op->wr_id);
	if (op->wr == XROCE_WR_RDMA_READ || is_atomic(op))
		sim_check(cqe->byte_len == op->len, "QP %u: byte_len %u of %u",
			  ep->idx, cqe->byte_len, op->len);
	op_success(ep, op);
}

/* A receive's memory: @data in its first @len bytes, the rest untouched. */
static void check_recv_data(struct sim_ep *ep, struct sim_recv *rv,
			    const u8 *data, u32 len)
{
	u32 i, n;

	for (i = 0; i < rv->nsge; i++) {
		struct sim_piece *p = &rv->sge[i];

		n = min(len, p->len);
		sim_check(sim_equal(p->r, p->off, data, n),
			  "QP %u: received %u bytes, not those sent", ep->idx,
			  n);
		if (n)
			memcpy(p->r->shadow + p->off, data, n);
		sim_expect(p->r, p->off + n, p->len - n,
			   "rest of a receive's buffer");
		data += n;
		len -= n;
	}
}

/* A receive failed: it holds at most what the message it was for had in it. */
static void settle_recv(struct sim_recv *rv, const struct sim_msg *m)
{
	const u8 *data = m ? m->data : NULL;
	u32 i, n, left = data ? m->len : 0;

	for (i = 0; i < rv->nsge; i++) {
		struct sim_piece *p = &rv->sge[i];

		n = min(left, p->len);
		if (n)
			sim_settle(p->r, p->off, n, data, "failed receive");
		sim_expect(p->r, p->off + n, p->len - n, "failed receive");
		data += n;
		left -= n;
	}
}

void sim_recv_release(struct sim_recv *rv)
{
	u32 i;

	for (i = 0; i < rv->nsge; i++) {
		if (rv->sge[i].len && sim_chance(5000))
			sim_scribble(rv->sge[i].r, rv->sge[i].off,
				     rv->sge[i].len);
		sim_give(&rv->sge[i]);
	}
	sim_recv_free(rv);
}

static void recv_failed(struct sim_ep *ep, struct sim_recv *rv, u8 status)
{
	struct sim_msg *m = ep->msgs.first;

	sim_check(ep->qp.hot.state == XROCE_QPS_ERR || ep->qp.resp.fatal,
		  "QP %u: a receive has status %u in state %u", ep->idx,
		  status, ep->qp.hot.state);
	if (status != XROCE_WC_WR_FLUSH_ERR) {
		sim_check(m && m->status == status, "QP %u: receive has status"
			  " %u, expected %u", ep->idx, status,
			  m ? m->status : 0);
		ep->recv_err = status;
	}
	settle_recv(rv, ep->flushing ? NULL : m);
	ep->flushing = true;
}

static void check_invalidated(struct sim_ep *ep, const struct xroce_cqe *cqe,
			      const struct sim_msg *m)
{
	struct sim_region *r = m->inv;

	sim_check(cqe->inv_rkey == r->mr.key, "QP %u: invalidated %08x, not"
		  " %08x", ep->idx, cqe->inv_rkey, r->mr.key);
	sim_check(r->mr.state != XROCE_KEY_VALID, "QP %u: key %08x still valid after its"
		  " invalidation", ep->idx, r->mr.key);
	if (m->key)
		sim_key_ended(ep, m->key);
	else
		ep->node->mr[(r->mr.key >> 8) % SIM_TAB] = NULL;
}

static void recv_message(struct sim_ep *ep, struct sim_recv *rv,
			 const struct xroce_cqe *cqe, struct sim_msg *m)
{
	bool write = m->wr == XROCE_WR_RDMA_WRITE_WITH_IMM;
	u8 flags = 0, *data;

	if (write || m->wr == XROCE_WR_SEND_WITH_IMM)
		flags = XROCE_WC_WITH_IMM;
	else if (m->wr == XROCE_WR_SEND_WITH_INV)
		flags = XROCE_WC_WITH_INV;
	sim_check(cqe->opcode == (write ? XROCE_WC_RECV_RDMA_WITH_IMM :
				  XROCE_WC_RECV) &&
		  cqe->flags == flags && cqe->byte_len == m->len &&
		  cqe->src_qp == ep->peer->qp.hot.qpn,
		  "QP %u: receive completion: opcode %u flags %x length %u"
		  " from %06x, expected wr %u with %u bytes", ep->idx,
		  cqe->opcode, cqe->flags, cqe->byte_len, cqe->src_qp, m->wr,
		  m->len);
	sim_check(!m->status, "QP %u: receive succeeded, %u expected", ep->idx,
		  m->status);
	if (m->op)
		sim_keys_before(ep->peer, m->op);
	if (flags == XROCE_WC_WITH_IMM)
		sim_check(cqe->imm == m->imm, "QP %u: immediate %08x, not"
			  " %08x", ep->idx, cqe->imm, m->imm);
	if (flags == XROCE_WC_WITH_INV)
		check_invalidated(ep, cqe, m);
	if (!write) {
		check_recv_data(ep, rv, m->data, m->len);
		return;
	}
	check_recv_data(ep, rv, NULL, 0);
	if (m->op && m->len) {
		data = op_gather(m->op);
		sim_check(sim_equal(m->op->remote.r, m->op->remote.off, data,
				    m->len), "QP %u: immediate of a WRITE"
			  " before its data", ep->idx);
		free(data);
	}
}

/* Return: whether the sender wanted an event. */
static bool recv_done(struct sim_ep *ep, const struct xroce_cqe *cqe)
{
	struct sim_recv *rv = sim_list_pop(&ep->recvs);
	struct sim_msg *m;
	bool solicited;

	sim_check(rv && rv->wr_id == cqe->wr_id, "QP %u: receive %llu completed"
		  ", %lld is next", ep->idx, (unsigned long long)cqe->wr_id,
		  rv ? (long long)rv->wr_id : -1);
	if (cqe->status) {
		recv_failed(ep, rv, cqe->status);
		sim_recv_release(rv);
		return true;
	}
	sim_check(!ep->flushing, "QP %u: receive %llu succeeded after another"
		  " failed", ep->idx, (unsigned long long)cqe->wr_id);
	m = sim_list_pop(&ep->msgs);
	sim_check(m, "QP %u: received what nobody sent", ep->idx);
	recv_message(ep, rv, cqe, m);
	solicited = m->solicited;
	if (m->op)
		m->op->msg = NULL;
	free(m->data);
	free(m);
	sim_recv_release(rv);
	return solicited;
}

/* The event rules: raised for this completion or not, as armed. */
static void check_event(struct sim_cq *cq, u32 idx, bool solicited)
{
	if (cq->event && cq->event_at == idx) {
		sim_check(cq->event_type == XROCE_ARM_NEXT || solicited,
			  "node %u: event for an unsolicited completion",
			  cq->node->idx);
		cq->event = false;
		return;
	}
	if (cq->armed == XROCE_ARM_NONE || (s32)(idx - cq->arm_at) < 0)
		return;
	sim_check(cq->armed == XROCE_ARM_SOLICITED && !solicited,
		  "node %u: no event though one was wanted", cq->node->idx);
}

/**
 * sim_poll() - the user polls a CQ until it is empty
 */
void sim_poll(struct sim_cq *cq)
{
	struct xroce_ring *ring = cq->cq.ring;
	struct xroce_cqe cqe;
	struct sim_ep *ep;
	bool solicited;

	while (smp_load_acquire(&ring->prod) != cq->cons) {
		memcpy(&cqe, ring->slot + (cq->cons & (cq->depth - 1)) *
		       sizeof(cqe), sizeof(cqe));
		smp_store_release(&ring->cons, ++cq->cons);
		ep = sim_find_ep(cq->node, cqe.qpn);
		sim_check(ep && cqe.user_handle == (uintptr_t)ep,
			  "completion of QP %06x, which is none", cqe.qpn);
		sim_trace("%u: completion: wr %llu opcode %u status %u length"
			  " %u", ep->idx, (unsigned long long)cqe.wr_id,
			  cqe.opcode, cqe.status, cqe.byte_len);
		sim_seen(cqe.wr_id << 16 | cqe.opcode << 8 | cqe.status);
		sim_seen((u64)cqe.byte_len << 32 | cqe.flags);
		sim_check(cqe.timestamp && cqe.timestamp <= sim_now(),
			  "QP %u: timestamp", ep->idx);
		if (cqe.opcode >= XROCE_WC_RECV) {
			sim_check(cq == ep->rcq, "QP %u: wrong CQ", ep->idx);
			solicited = ep->transport == XROCE_RC ?
				    recv_done(ep, &cqe) :
				    unrel_recv_done(ep, &cqe);
		} else {
			sim_check(cq == ep->scq, "QP %u: wrong CQ", ep->idx);
			if (ep->transport == XROCE_RC)
				send_done(ep, &cqe);
			else
				unrel_send_done(ep, &cqe);
			solicited = cqe.status;
		}
		check_event(cq, cq->cons - 1, solicited);
	}
}

void sim_poll_all(void)
{
	struct sim_cq *cq;
	u32 i;

	for (i = 0; i < W->nnodes; i++)
		for (cq = W->node[i]->cqs; cq; cq = cq->next)
			sim_poll(cq);
}

static void settle_local(struct sim_op *op, const u8 *data, const char *what)
{
	u32 i;

	for (i = 0; i < op->nloc; i++) {
		sim_settle(op->local[i].r, op->local[i].off, op->local[i].len,
			   data, what);
		data += data ? op->local[i].len : 0;
	}
}

/* A failed atomic was executed, or not; those before it were, if it was. */
static void settle_atomic(struct sim_ep *ep, struct sim_op *op, u64 *now,
			  bool *match)
{
	struct sim_ep *peer = ep->peer;
	u8 *want = (u8 *)&op->orig;

	if (op->shared_atom) {
		peer->node->shared_maybe[op->atom]++;
		want = NULL;
	} else {
		sim_read(peer->rem, op->atom * 8, &now[op->atom], 8);
		if (now[op->atom] == op->orig || now[op->atom] == op->result)
			match[op->atom] = true;
	}
	settle_local(op, want, "failed atomic");
}

/* It was refused whole: nothing may have been changed anywhere. */
static void settle_untouched(struct sim_op *op)
{
	u32 i;

	for (i = 0; i < op->nloc; i++)
		sim_expect(op->local[i].r, op->local[i].off, op->local[i].len,
			   "local memory of a refused operation");
	if (op->remote.r && !is_atomic(op))
		sim_expect(op->remote.r, op->remote.off, op->remote.len,
			   "remote memory of a refused operation");
}

static void settle_op(struct sim_ep *ep, struct sim_op *op, u64 *now,
		      bool *match)
{
	const u8 *data;
	u8 *buf;

	if (op->status && !op->partial) {
		settle_untouched(op);
	} else if (is_atomic(op)) {
		settle_atomic(ep, op, now, match);
	} else if (op->wr == XROCE_WR_RDMA_READ) {
		data = op->remote.r ? op->remote.r->shadow + op->remote.off :
				      NULL;
		settle_local(op, data, "failed READ");
	} else if (is_write(op) && op->remote.r) {
		buf = op_gather(op);
		sim_settle(op->remote.r, op->remote.off, op->len, buf,
			   "failed WRITE");
		free(buf);
	}
}

static void settle_end(struct sim_ep *ep)
{
	struct sim_ep *peer = ep->peer;
	bool used[SIM_ATOMS] = {}, match[SIM_ATOMS] = {};
	u64 now[SIM_ATOMS];
	struct sim_op *op;
	struct sim_msg *m;
	u32 i;

	/* Sources first: a READ's result may be what the next one writes. */
	while ((op = sim_list_pop(&ep->dead))) {
		if (is_atomic(op) && !op->shared_atom &&
		    (!op->status || op->partial))
			used[op->atom] = true;
		settle_op(ep, op, now, match);
		sim_op_release(op);
	}
	for (i = 0; i < SIM_ATOMS; i++) {
		if (!used[i])
			continue;
		sim_check(match[i], "QP %u: after its failure word %u is %llu,"
			  " which no execution in order gives", ep->idx, i,
			  (unsigned long long)now[i]);
		peer->atom[i] = now[i];
		memcpy(peer->rem->shadow + i * 8, &now[i], 8);
	}
	while ((m = sim_list_pop(&ep->msgs))) {
		if (m->op)
			m->op->msg = NULL;
		if (m->key)
			sim_key_ended(ep, m->key);
		free(m->data);
		free(m);
	}
}

/* Unsignalled, and done before the connection ended: nobody has said so. */
static void quietly_done(struct sim_ep *ep)
{
	struct sim_op *op;

	if (ep->state != SIM_EP_UP || ep->qp.req.ring->cons != ep->sq_prod)
		return;
	while ((op = ep->ops.first) && !op->signaled && !ep->sig_all)
		op_success(ep, sim_list_pop(&ep->ops));
}

/**
 * sim_finish_failed() - both ends are in ERR or RESET: nothing may be left over
 */
void sim_finish_failed(struct sim_conn *c, bool flushed)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		struct sim_ep *ep = &c->ep[i];

		sim_keys_look(ep);
		sim_poll(ep->scq);
		sim_poll(ep->rcq);
		sim_check(!flushed || ep->qp.hot.state == XROCE_QPS_ERR,
			  "QP %u: not in ERR", ep->idx);
		if (ep->transport == XROCE_RC)
			quietly_done(ep);
		else
			unrel_finish(ep, flushed);
		sim_check(!flushed || ep->event[XROCE_EVENT_LAST_WQE] ==
			  (ep->srq && !ep->xrc),
			  "QP %u: %u events for the last WQE",
			  ep->idx, ep->event[XROCE_EVENT_LAST_WQE]);
		sim_check(!ep->ops.n, "QP %u: %u work requests were not"
			  " flushed", ep->idx, ep->ops.n);
		sim_check(!ep->recvs.n, "QP %u: %u receives were not flushed",
			  ep->idx, ep->recvs.n);
	}
	settle_end(&c->ep[0]);
	settle_end(&c->ep[1]);
}

/**
 * sim_check_shared() - the counters that all add to, at the end
 */
void sim_check_shared(void)
{
	struct sim_node *n;
	u64 v, k;
	u32 i, w;

	for (i = 0; i < W->nnodes; i++) {
		n = W->node[i];
		for (w = 0; w < SIM_ATOMS; w++) {
			sim_read(n->shared, w * 8, &v, 8);
			sim_check(v >= n->shared_done[w] &&
				  v <= n->shared_done[w] + n->shared_maybe[w],
				  "node %u: word %u is %llu after %llu adds"
				  " and %llu that failed", i, w,
				  (unsigned long long)v,
				  (unsigned long long)n->shared_done[w],
				  (unsigned long long)n->shared_maybe[w]);
			for (k = v; k < SIM_SHARED_MAX; k++)
				sim_check(!(n->shared_seen[w][k / 8] >> k % 8 &
					  1), "node %u: word %u: FETCH_ADD"
					  " returned %llu of %llu", i, w,
					  (unsigned long long)k,
					  (unsigned long long)v);
			memcpy(n->shared->shadow + w * 8, &v, 8);
		}
	}
}
