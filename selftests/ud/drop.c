// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of what is not delivered: silently, as UC and UD have it, but counted,
 * with no byte moved and the queue ready for the next; of receives whose memory is
 * not theirs; and of send queues in error, whose receive queue goes on.
 */
#include "ud.h"

#define LEN	600u

/* The next message arrives, and in the receive that nothing took before. */
static bool goes_on(struct ep p[2], struct ibv_ah *ah, uint64_t id)
{
	uint32_t grh = ah ? GRH : 0;
	struct msg m = { .op = IBV_WR_SEND, .off = SRC_OFF, .len = LEN,
			 .flags = IBV_SEND_SIGNALED, .ah = ah, .qkey = QKEY,
			 .qpn = p[B].qp->qp_num };
	struct ibv_wc wc;

	fill(A, SRC_OFF, LEN, 4);
	guard(B, DST_OFF, grh + LEN);
	NEED(!post(&p[A], &m), "post_send");
	TRY(reap(p[A].scq, &wc, 1) && reap(p[B].rcq, &wc, 1));
	NEED(wc.wr_id == id && wc.byte_len == grh + LEN,
	     "receive %llu of %u bytes", (unsigned long long)wc.wr_id,
	     wc.byte_len);
	TRY(same(B, DST_OFF + grh, LEN, 4));
	return guarded(B, DST_OFF, grh + LEN);
}

/* @m is sent, counts as @name, and is not delivered. */
static bool dropped(struct ep p[2], struct msg *m, const char *name)
{
	uint64_t was = counter(B, name);
	struct ibv_wc wc;

	fill(A, m->off, m->len, 3);
	guard(B, DST_OFF, GRH + LEN);
	NEED(!post_recv(&p[B], 77, DST_OFF, LEN + (m->ah ? GRH : 0)),
	     "post_recv");
	NEED(!post(&p[A], m), "post_send");
	TRY(reap(p[A].scq, &wc, 1));
	TRY(counted(B, name, was));
	TRY(none(p[B].rcq, 50));
	TRY(untouched(B, DST_OFF, GRH + LEN));
	return goes_on(p, m->ah, 77);
}

enum ud_what { QKEY_WRONG, QKEY_HIGH, QPN_NONE, QPN_OTHER };

static bool ud_dropped(enum ud_what what, const char *name)
{
	struct msg m = { .op = IBV_WR_SEND, .off = SRC_OFF, .len = LEN,
			 .flags = IBV_SEND_SIGNALED, .qkey = QKEY };
	struct ibv_qp_attr attr = { .qkey = QKEY + 1 };
	struct ep p[2], other[2] = {};

	TRY(pair_make(p, IBV_QPT_UD, 0));
	m.ah = ah_make(A, NULL);
	m.qpn = p[B].qp->qp_num;
	TRY(m.ah);
	switch (what) {
	case QKEY_WRONG:
		m.qkey ^= 1;
		break;
	case QKEY_HIGH:		/* the sender's own is another */
		m.qkey |= 0x80000000;
		NEED(!ibv_modify_qp(p[A].qp, &attr, IBV_QP_QKEY), "Q_Key");
		break;
	case QPN_NONE:
		m.qpn ^= 0x5a5a5a;
		break;
	case QPN_OTHER:
		TRY(pair_make(other, IBV_QPT_UC, opt_mtu));
		NEED(!post_recv(&other[B], 1, DST_OFF, LEN), "post_recv");
		m.qpn = other[B].qp->qp_num;
	}
	TRY(dropped(p, &m, name));
	if (other[B].qp) {
		TRY(none(other[B].rcq, 0));
		TRY(pair_free(other));
	}
	ibv_destroy_ah(m.ah);
	return pair_free(p);
}

/* A datagram for which there is no receive, or too small a one */
static bool ud_no_room(bool small)
{
	const char *name = small ? "drop_too_long" : "drop_no_recv";
	struct msg m = { .op = IBV_WR_SEND, .off = SRC_OFF, .len = LEN,
			 .flags = IBV_SEND_SIGNALED, .qkey = QKEY };
	uint64_t was = counter(B, name);
	struct ibv_wc wc;
	struct ep p[2];

	TRY(pair_make(p, IBV_QPT_UD, 0));
	m.ah = ah_make(A, NULL);
	m.qpn = p[B].qp->qp_num;
	TRY(m.ah);
	guard(B, DST_OFF, GRH + LEN);
	if (small)
		NEED(!post_recv(&p[B], 5, DST_OFF, GRH + LEN - 1), "post_recv");
	NEED(!post(&p[A], &m), "post_send");
	TRY(reap(p[A].scq, &wc, 1));
	TRY(counted(B, name, was));
	if (small) {
		/* the receive is still there, and takes what fits */
		TRY(none(p[B].rcq, 20));
		TRY(guarded(B, DST_OFF, GRH + LEN - 1));
		m.len = LEN - 1;
		NEED(!post(&p[A], &m), "post_send");
		TRY(reap(p[A].scq, &wc, 1) && reap(p[B].rcq, &wc, 1));
		NEED(wc.wr_id == 5 && wc.byte_len == GRH + LEN - 1,
		     "receive %llu of %u bytes", (unsigned long long)wc.wr_id,
		     wc.byte_len);
	}
	NEED(!post_recv(&p[B], 6, DST_OFF, GRH + LEN), "post_recv");
	TRY(none(p[B].rcq, 20));
	TRY(goes_on(p, m.ah, 6));
	ibv_destroy_ah(m.ah);
	return pair_free(p);
}

/* An AH is of use to QPs of its PD only. */
static bool ud_other_pd(void)
{
	struct ibv_ah_attr attr = ah_attr(A, NULL);
	struct msg m = { .op = IBV_WR_SEND, .off = SRC_OFF, .len = LEN,
			 .flags = IBV_SEND_SIGNALED, .qkey = QKEY };
	struct ibv_wc wc;
	struct ep p[2];
	int err;

	TRY(pair_make(p, IBV_QPT_UD, 0));
	m.ah = ibv_create_ah(hosts[A].pd2, &attr);
	m.qpn = p[B].qp->qp_num;
	NEED(m.ah, "create AH: %s", strerror(errno));
	NEED(!post_recv(&p[B], 1, DST_OFF, GRH + LEN), "post_recv");
	err = post(&p[A], &m);
	if (!err)
		TRY(reap_as(p[A].scq, &wc, IBV_WC_LOC_QP_OP_ERR));
	TRY(none(p[B].rcq, 50));
	ibv_destroy_ah(m.ah);
	return pair_free(p);
}

/* The number of an AH that is gone names nothing */
static bool ud_stale_ah(void)
{
	struct msg m = { .op = IBV_WR_SEND, .off = SRC_OFF, .len = LEN,
			 .flags = IBV_SEND_SIGNALED, .qkey = QKEY };
	struct ibv_wc wc;
	struct ep p[2];
	uint8_t copy[256];
	struct ibv_ah *ah;

	TRY(pair_make(p, IBV_QPT_UD, 0));
	ah = ah_make(A, NULL);
	TRY(ah);
	/* a program that uses it after destroying it, without the crash */
	memcpy(copy, ah, sizeof(*ah) + 16);
	ibv_destroy_ah(ah);
	m.ah = (struct ibv_ah *)copy;
	m.qpn = p[B].qp->qp_num;
	NEED(!post_recv(&p[B], 1, DST_OFF, GRH + LEN), "post_recv");
	NEED(!post(&p[A], &m), "post_send");
	TRY(reap_as(p[A].scq, &wc, IBV_WC_LOC_QP_OP_ERR));
	TRY(none(p[B].rcq, 50));
	return pair_free(p);
}

enum uc_what { RKEY_NONE, RKEY_PD, RANGE, NO_RIGHT, NO_RECV, SMALL_RECV };

static bool uc_dropped(enum uc_what what)
{
	const char *name = what == NO_RECV ? "drop_no_recv" :
			   what == SMALL_RECV ? "drop_too_long" : "drop_request";
	uint64_t was = counter(B, name);
	bool send = what == NO_RECV || what == SMALL_RECV;
	struct msg m = { .op = send ? IBV_WR_SEND : IBV_WR_RDMA_WRITE,
			 .off = SRC_OFF, .len = LEN, .roff = DST_OFF,
			 .flags = IBV_SEND_SIGNALED };
	struct ibv_mr *mr = NULL;
	struct ibv_wc wc;
	struct ep p[2];

	TRY(pair_make(p, IBV_QPT_UC, opt_mtu));
	guard(B, DST_OFF, LEN);
	if (what == RKEY_NONE)
		m.rkey = hosts[B].mr->rkey ^ 0xff0000;
	if (what == RANGE) {
		m.roff = MEM - LEN + 1;
		fill(B, m.roff, LEN - 1, 98);
	}
	if (what == RKEY_PD || what == NO_RIGHT) {
		mr = ibv_reg_mr(what == NO_RIGHT ? hosts[B].pd : hosts[B].pd2,
				hosts[B].mem + DST_OFF, LEN,
				what == NO_RIGHT ? IBV_ACCESS_LOCAL_WRITE |
				IBV_ACCESS_REMOTE_READ : ANY_ACCESS);
		NEED(mr, "register memory: %s", strerror(errno));
		m.rkey = mr->rkey;
	}
	if (what == SMALL_RECV)
		NEED(!post_recv(&p[B], 3, DST_OFF, 8), "post_recv");
	NEED(!post(&p[A], &m), "post_send");
	TRY(reap(p[A].scq, &wc, 1));
	TRY(counted(B, name, was));
	TRY(none(p[B].rcq, 50));
	TRY(guarded(B, DST_OFF, what == SMALL_RECV ? 8 : LEN));
	if (what == RANGE)
		TRY(same(B, m.roff, LEN - 1, 98));
	if (what == SMALL_RECV) {
		m.len = 8;		/* it is there still */
		NEED(!post(&p[A], &m), "post_send");
		TRY(reap(p[A].scq, &wc, 1) && reap(p[B].rcq, &wc, 1));
		NEED(wc.wr_id == 3 && wc.byte_len == 8,
		     "receive %llu of %u bytes", (unsigned long long)wc.wr_id,
		     wc.byte_len);
	} else {
		TRY(untouched(B, DST_OFF, LEN));
	}
	NEED(!post_recv(&p[B], 7, DST_OFF, LEN), "post_recv");
	TRY(goes_on(p, NULL, 7));
	if (mr)
		ibv_dereg_mr(mr);
	return pair_free(p);
}

enum queue { OWN, SHARED, SHARED_PD };

#define CUT	50u		/* the first piece: a datagram's GRH and some of it */
#define PIECE(i, n)	(DST_OFF + (i) * 8192u + (n) * 4096u)

/* Receive @i of B, of two pieces, whose L_Keys are @key[] */
static bool key_recv(struct ep *e, struct ibv_srq *srq, int i, uint32_t len,
		     const uint32_t key[2])
{
	struct ibv_sge sge[2] = {
		{ (uintptr_t)hosts[B].mem + PIECE(i, 0), CUT, key[0] },
		{ (uintptr_t)hosts[B].mem + PIECE(i, 1), len - CUT, key[1] },
	};
	struct ibv_recv_wr *bad, wr = { .wr_id = i, .sg_list = sge, .num_sge = 2 };

	guard(B, PIECE(i, 0), CUT);
	guard(B, PIECE(i, 1), len - CUT);
	NEED(!(srq ? ibv_post_srq_recv(srq, &wr, &bad) : ibv_post_recv(e->qp, &wr, &bad)),
	     "post_recv %d", i);
	return true;
}

/* One message from A to B, in receive @i */
static bool key_came(struct ep p[2], struct msg *m, int i)
{
	uint32_t grh = m->ah ? GRH : 0;
	struct ibv_wc wc;

	m->qpn = p[B].qp->qp_num;
	NEED(!post(&p[A], m), "post_send");
	TRY(reap(p[A].scq, &wc, 1) && reap(p[B].rcq, &wc, 1));
	NEED(wc.wr_id == (uint64_t)i && wc.byte_len == grh + m->len,
	     "receive %llu of %u bytes", (unsigned long long)wc.wr_id, wc.byte_len);
	NEED(!memcmp(hosts[B].mem + PIECE(i, 0) + grh, hosts[A].mem + m->off, CUT - grh) &&
	     !memcmp(hosts[B].mem + PIECE(i, 1), hosts[A].mem + m->off + CUT - grh,
		     m->len + grh - CUT), "other contents");
	return guarded(B, PIECE(i, 0), CUT) && guarded(B, PIECE(i, 1), grh + m->len - CUT);
}

static bool key_pair(struct ep p[2], enum ibv_qp_type type, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr_ex init = {
		.srq = srq,
		.cap = { .max_send_wr = 4, .max_send_sge = 1, .max_recv_wr = 4,
			 .max_recv_sge = 2 },
	};

	memset(p, 0, 2 * sizeof(*p));
	TRY(ep_make(&p[A], A, type, NULL) && ep_make(&p[B], B, type, &init));
	TRY(ep_bring(&p[A], &p[B], IBV_MTU_256, IBV_QPS_RTS));
	return ep_bring(&p[B], &p[A], IBV_MTU_256, IBV_QPS_RTS);
}

/*
 * Of three receives, in B's own queue or in an SRQ, whose PD counts if it is another
 * than the QP's, the second names with its piece @bad memory of the wrong one. It
 * fails, no byte is moved there, and the QP ends; the SRQ serves others.
 */
static bool recv_key(enum ibv_qp_type type, enum queue queue, int bad)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 2 } };
	uint32_t grh = type == IBV_QPT_UD ? GRH : 0, key[2], right, wrong;
	struct msg m = { .op = IBV_WR_SEND, .off = SRC_OFF, .len = LEN,
			 .flags = IBV_SEND_SIGNALED, .qkey = QKEY };
	struct ibv_mr *mr = ibv_reg_mr(hosts[B].pd2, hosts[B].mem, MEM, ANY_ACCESS);
	struct ibv_srq *srq = NULL;
	struct ep p[2], other[2];
	struct ibv_async_event ev;
	struct ibv_wc wc;
	int i;

	NEED(mr, "register memory: %s", strerror(errno));
	right = queue == SHARED_PD ? mr->lkey : hosts[B].mr->lkey;
	wrong = queue == SHARED_PD ? hosts[B].mr->lkey : mr->lkey;
	if (queue != OWN) {
		srq = ibv_create_srq(queue == SHARED ? hosts[B].pd : hosts[B].pd2, &init);
		NEED(srq, "create SRQ: %s", strerror(errno));
	}
	TRY(key_pair(p, type, srq));
	if (grh)
		TRY(m.ah = ah_make(A, NULL));
	fill(A, SRC_OFF, LEN, 5);
	for (i = 0; i < 3; i++) {
		key[0] = i == 1 && bad == 0 ? wrong : right;
		key[1] = i == 1 && bad == 1 ? wrong : right;
		TRY(key_recv(&p[B], srq, i, grh + LEN, key));
	}
	TRY(key_came(p, &m, 0));
	NEED(!post(&p[A], &m), "post_send");
	TRY(reap_as(p[A].scq, &wc,
		    type == IBV_QPT_RC ? IBV_WC_REM_OP_ERR : IBV_WC_SUCCESS));
	TRY(reap_as(p[B].rcq, &wc, IBV_WC_LOC_PROT_ERR));
	NEED(wc.wr_id == 1, "receive %llu has failed", (unsigned long long)wc.wr_id);
	TRY(bad ? guarded(B, PIECE(1, 0), CUT) : untouched(B, PIECE(1, 0), CUT));
	TRY(untouched(B, PIECE(1, 1), grh + LEN - CUT));
	TRY(ep_becomes(&p[B], IBV_QPS_ERR));
	if (srq) {
		TRY(event(B, IBV_EVENT_QP_LAST_WQE_REACHED, 1000 * WAIT_S, &ev));
		NEED(ev.element.qp == p[B].qp, "the event is another's");
		TRY(key_pair(other, type, srq));
		TRY(key_came(other, &m, 2) && pair_free(other));
	} else {
		TRY(reap_as(p[B].rcq, &wc, IBV_WC_WR_FLUSH_ERR));
		TRY(untouched(B, PIECE(2, 0), CUT));
	}
	TRY(none(p[B].rcq, 20));
	if (m.ah)
		ibv_destroy_ah(m.ah);
	TRY(pair_free(p));
	NEED(!srq || !ibv_destroy_srq(srq), "destroy SRQ");
	NEED(!ibv_dereg_mr(mr), "dereg MR");
	return true;
}

static void recv_keys(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	static const char * const where[] = {
		"its receive's L_Key of another PD",
		"L_Key of another PD in an SRQ",
		"L_Key of its QP's PD in another's SRQ",
	};
	unsigned int t, q;
	int bad;

	for (t = 0; t < 3; t++)
		for (q = OWN; q <= SHARED_PD; q++)
			for (bad = 0; bad < 2; bad++)
				report(recv_key(types[t], q, bad), "%s, %s, piece %d",
				       type_name(types[t]), where[q], bad);
}

void test_drop(void)
{
	report(ud_dropped(QKEY_WRONG, "drop_qkey"), "UD, Q_Key wrong");
	report(ud_dropped(QKEY_HIGH, "drop_qkey"),
	       "UD, Q_Key of the sender's QP wrong");
	report(ud_dropped(QPN_NONE, "drop_no_qp"), "UD, QP of nobody");
	report(ud_dropped(QPN_OTHER, "drop_transport"), "UD to a UC QP");
	report(ud_no_room(false), "UD, nothing to receive into");
	report(ud_no_room(true), "UD, too little to receive into");
	report(ud_other_pd(), "UD, AH of another PD");
	report(ud_stale_ah(), "UD, AH destroyed");
	report(uc_dropped(RKEY_NONE), "UC WRITE, R_Key of nothing");
	report(uc_dropped(RKEY_PD), "UC WRITE, MR of another PD");
	report(uc_dropped(RANGE), "UC WRITE past the end");
	report(uc_dropped(NO_RIGHT), "UC WRITE, MR without the right");
	report(uc_dropped(NO_RECV), "UC SEND, nothing to receive into");
	report(uc_dropped(SMALL_RECV), "UC SEND, too little to receive into");
	recv_keys();
}

enum cause { LKEY_NONE, LKEY_PD, LKEY_RANGE };

static bool sqe_status(struct ep *e, uint64_t id, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	TRY(reap_as(e->scq, &wc, status));
	NEED(wc.wr_id == id && wc.qp_num == e->qp->qp_num,
	     "completion of %llu, not %llu", (unsigned long long)wc.wr_id,
	     (unsigned long long)id);
	return true;
}

/* One message from @s that arrives */
static bool sqe_message(struct ep p[2], enum side s, struct ibv_ah *ah)
{
	uint32_t grh = p[s].type == IBV_QPT_UD ? GRH : 0;
	struct msg m = { .op = IBV_WR_SEND, .off = SRC_OFF, .len = LEN,
			 .flags = IBV_SEND_SIGNALED, .qkey = QKEY, .ah = ah,
			 .qpn = p[!s].qp->qp_num };
	struct ibv_wc wc;

	fill(s, SRC_OFF, LEN, 8);
	NEED(!post_recv(&p[!s], 9, DST_OFF, grh + LEN), "post_recv");
	NEED(!post(&p[s], &m), "post_send");
	TRY(reap(p[s].scq, &wc, 1) && reap(p[!s].rcq, &wc, 1));
	return same(!s, DST_OFF + grh, LEN, 8);
}

/*
 * The second of four fails: the first is done, those behind it are flushed, and
 * so is what is posted then; receiving goes on; RTS again, and all is well.
 */
static bool sqe(enum ibv_qp_type type, enum cause cause, bool by_reset)
{
	bool ud = type == IBV_QPT_UD;
	struct ibv_ah *ah[2] = { NULL, NULL };
	struct msg m = { .op = IBV_WR_SEND, .len = LEN, .qkey = QKEY,
			 .flags = IBV_SEND_SIGNALED };
	struct ibv_qp_attr attr = {};
	struct ibv_mr *mr;
	struct ibv_wc wc;
	struct ep p[2];
	int i, s;

	TRY(pair_make(p, type, opt_mtu));
	for (s = A; ud && s <= B; s++)
		TRY(ah[s] = ah_make(s, NULL));
	mr = ibv_reg_mr(cause == LKEY_PD ? hosts[A].pd2 : hosts[A].pd,
			hosts[A].mem + SRC_OFF, LEN - (cause == LKEY_RANGE), 0);
	NEED(mr, "register memory: %s", strerror(errno));
	m.ah = ah[A];
	m.qpn = p[B].qp->qp_num;
	for (i = 0; i < 4; i++)
		NEED(!post_recv(&p[B], i, DST_OFF, GRH + LEN), "post_recv");
	for (i = 0; i < 4; i++) {
		m.id = i;
		m.off = SRC_OFF;
		m.lkey = i != 1 ? 0 : cause == LKEY_NONE ?
			 mr->lkey ^ 0xff0000 : mr->lkey;
		NEED(!post(&p[A], &m), "post %d", i);
	}
	TRY(sqe_status(&p[A], 0, IBV_WC_SUCCESS));
	TRY(sqe_status(&p[A], 1, IBV_WC_LOC_PROT_ERR));
	TRY(sqe_status(&p[A], 2, IBV_WC_WR_FLUSH_ERR));
	TRY(sqe_status(&p[A], 3, IBV_WC_WR_FLUSH_ERR));
	TRY(ep_becomes(&p[A], IBV_QPS_SQE));
	m.id = 4;
	NEED(!post(&p[A], &m), "post in SQE");
	TRY(sqe_status(&p[A], 4, IBV_WC_WR_FLUSH_ERR));
	TRY(reap(p[B].rcq, &wc, 1));
	NEED(wc.wr_id == 0, "receive %llu", (unsigned long long)wc.wr_id);
	TRY(none(p[B].rcq, 20));
	for (i = 0; i < 3; i++)
		TRY(sqe_message(p, B, ah[B]));
	if (by_reset) {
		attr.qp_state = IBV_QPS_RESET;
		NEED(!ibv_modify_qp(p[A].qp, &attr, IBV_QP_STATE), "RESET");
		TRY(ep_bring(&p[A], &p[B], opt_mtu, IBV_QPS_RTS));
		attr.qp_state = IBV_QPS_RESET;
		NEED(!ibv_modify_qp(p[B].qp, &attr, IBV_QP_STATE), "RESET");
		TRY(ep_bring(&p[B], &p[A], opt_mtu, IBV_QPS_RTS));
	} else {
		attr.qp_state = IBV_QPS_RTS;
		attr.cur_qp_state = IBV_QPS_SQE;
		NEED(!ibv_modify_qp(p[A].qp, &attr, IBV_QP_STATE |
				    IBV_QP_CUR_STATE), "SQE to RTS");
		/* the receives that wait there */
		for (i = 1; i < 4; i++) {
			m.lkey = 0;
			m.id = 10 + i;
			NEED(!post(&p[A], &m), "post in RTS");
			TRY(sqe_status(&p[A], 10 + i, IBV_WC_SUCCESS));
			TRY(reap(p[B].rcq, &wc, 1));
			NEED(wc.wr_id == (uint64_t)i, "receive %llu, not %d",
			     (unsigned long long)wc.wr_id, i);
		}
	}
	for (i = 0; i < 150; i++)		/* round the queue */
		TRY(sqe_message(p, i & 1, ah[i & 1]));
	ibv_dereg_mr(mr);
	for (s = A; ud && s <= B; s++)
		ibv_destroy_ah(ah[s]);
	return pair_free(p);
}

void test_sqe(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_UC, IBV_QPT_UD };
	int t;

	for (t = 0; t < 2; t++) {
		const char *name = type_name(types[t]);

		report(sqe(types[t], LKEY_NONE, false),
		       "%s, L_Key of nothing, to RTS again", name);
		report(sqe(types[t], LKEY_PD, false),
		       "%s, L_Key of another PD, to RTS again", name);
		report(sqe(types[t], LKEY_RANGE, false),
		       "%s, SGE past the end, to RTS again", name);
		report(sqe(types[t], LKEY_NONE, true),
		       "%s, L_Key of nothing, by RESET", name);
	}
}
