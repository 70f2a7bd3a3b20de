// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of QP states: every transition of every transport, legal and illegal,
 * with every attribute missing or too many; every value out of range; and what
 * each state does with posts and arriving packets.
 */
#include <unistd.h>

#include "ud.h"

#define N_STATE		7
#define N_BIT		26
#define LEN		300u

/* Those of plain traffic first */
static const enum ibv_qp_type types[] = {
	IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV,
};

static const char * const state_name[] = {
	"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR",
};

/* rdma_rxe has no XRC */
static unsigned int n_types(void)
{
	return hosts[A].rxe || hosts[B].rxe ? 3 : 5;
}

static bool has_sqe(enum ibv_qp_type type)
{
	return type == IBV_QPT_UC || type == IBV_QPT_UD;
}

/* Into SQE there is only one way: an error. */
static bool to_sqe(struct ep *e)
{
	struct msg m = { .op = IBV_WR_SEND, .off = SRC_OFF, .len = 8,
			 .lkey = hosts[e->side].mr->lkey ^ 0xff0000,
			 .qpn = 5, .qkey = QKEY };
	struct ibv_ah *ah = ah_make(e->side, NULL);
	struct ibv_wc wc;

	TRY(ah);
	m.ah = ah;
	NEED(!post(e, &m), "post_send");
	TRY(reap_as(e->scq, &wc, IBV_WC_LOC_PROT_ERR));
	ibv_destroy_ah(ah);
	NEED(ep_state(e) == IBV_QPS_SQE, "not in SQE but in state %d",
	     ep_state(e));
	return true;
}

/* From wherever it is, by RESET */
static bool bring(struct ep *e, const struct ep *peer, enum ibv_qp_state to)
{
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };

	NEED(!ibv_modify_qp(e->qp, &reset, IBV_QP_STATE), "RESET");
	TRY(ep_bring(e, peer, IBV_MTU_1024,
		     to == IBV_QPS_SQE ? IBV_QPS_RTS : to));
	return to != IBV_QPS_SQE || to_sqe(e);
}

/* IBTA 10.3.1 and table 91, as ib_core has them */
static bool legal(int from, int to)
{
	static const uint8_t next[N_STATE] = {
		[IBV_QPS_RESET]	= 1 << IBV_QPS_RESET | 1 << IBV_QPS_INIT,
		[IBV_QPS_INIT]	= 1 << IBV_QPS_INIT | 1 << IBV_QPS_RTR,
		[IBV_QPS_RTR]	= 1 << IBV_QPS_RTS,
		[IBV_QPS_RTS]	= 1 << IBV_QPS_RTS | 1 << IBV_QPS_SQD,
		[IBV_QPS_SQD]	= 1 << IBV_QPS_RTS | 1 << IBV_QPS_SQD,
		[IBV_QPS_SQE]	= 1 << IBV_QPS_RTS,
		[IBV_QPS_ERR]	= 1 << IBV_QPS_ERR,
	};

	if (to == IBV_QPS_RESET || (to == IBV_QPS_ERR && from))
		return true;
	return next[from] >> to & 1;
}

/* Attributes that may be given, of those that we have at all */
static int attr_allowed(enum ibv_qp_type type, int from, int to)
{
	bool ud = type == IBV_QPT_UD;
	int acc = ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	int mig = ud ? 0 : IBV_QP_PATH_MIG_STATE;
	int rnr = answers(type) ? IBV_QP_MIN_RNR_TIMER : 0;

	if (to == IBV_QPS_RTS && from != IBV_QPS_SQE)
		return IBV_QP_CUR_STATE | acc | mig | rnr | IBV_QP_RATE_LIMIT;
	if (to == IBV_QPS_RTS)
		return IBV_QP_CUR_STATE | acc | IBV_QP_RATE_LIMIT;
	if (from == IBV_QPS_INIT && to == IBV_QPS_INIT)
		return IBV_QP_PKEY_INDEX | IBV_QP_PORT | acc;
	if (from == IBV_QPS_INIT && to == IBV_QPS_RTR)
		return IBV_QP_PKEY_INDEX | acc;
	if (from == IBV_QPS_RTS && to == IBV_QPS_SQD)
		return IBV_QP_EN_SQD_ASYNC_NOTIFY;
	/* UC's path could change too, but uverbs adds the port, which may not */
	if (from == IBV_QPS_SQD && to == IBV_QPS_SQD)
		return IBV_QP_PKEY_INDEX | acc | mig | rnr |
		       (has_sqe(type) ? 0 : IBV_QP_AV | IBV_QP_PORT | IBV_QP_TIMEOUT) |
		       (asks(type) ? IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_MAX_QP_RD_ATOMIC : 0) |
		       (answers(type) ? IBV_QP_MAX_DEST_RD_ATOMIC : 0);
	return 0;
}

/* What uverbs takes from either end of XRC and hands on to no device */
static int attr_dropped(enum ibv_qp_type type)
{
	return type == IBV_QPT_XRC_SEND ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER :
	       type == IBV_QPT_XRC_RECV ? IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT |
					  IBV_QP_RNR_RETRY : 0;
}

static int step_with(struct ep *e, const struct ep *peer, int from, int to,
		     int mask)
{
	struct ibv_qp_attr attr = ep_attr(e, peer, IBV_MTU_1024);

	attr.qp_state = to;
	attr.cur_qp_state = from;
	return ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | mask);
}

/* Refused, and nothing has become of it */
static bool stays(struct ep *e, const struct ep *peer, int from, int to,
		  int mask)
{
	int err = step_with(e, peer, from, to, mask);

	NEED(err == EINVAL || err == EOPNOTSUPP, "mask %#x: %s", mask,
	     err ? strerror(err) : "taken");
	NEED(ep_state(e) == (unsigned int)from, "mask %#x: now in state %d",
	     mask, ep_state(e));
	return true;
}

static bool transition(struct ep *e, const struct ep *peer, int from, int to)
{
	int need = attr_needed(e->type, from, to), bit, err;
	int may = attr_allowed(e->type, from, to) | attr_dropped(e->type);

	TRY(bring(e, peer, from));
	if (!legal(from, to)) {
		TRY(stays(e, peer, from, to, 0));
		for (bit = 1; bit < 21; bit++)
			TRY(stays(e, peer, from, to, 1 << bit));
		return true;
	}
	for (bit = 1; bit < N_BIT; bit++) {
		int one = 1 << bit;

		if (need & one) {
			TRY(stays(e, peer, from, to, need & ~one));
		} else if (!(may & one)) {
			TRY(stays(e, peer, from, to, need | one));
		} else {
			err = step_with(e, peer, from, to, need | one);
			NEED(!err, "with attribute %#x: %s", one, strerror(err));
			NEED(ep_state(e) == (unsigned int)to, "it is not there");
			TRY(bring(e, peer, from));
		}
	}
	err = step_with(e, peer, from, to, need);
	NEED(!err, "%s", strerror(err));
	NEED(ep_state(e) == (unsigned int)to, "it is in state %d", ep_state(e));
	if (may) {
		TRY(bring(e, peer, from));
		err = step_with(e, peer, from, to, need | may);
		NEED(!err, "with attributes %#x: %s", need | may, strerror(err));
	}
	return true;
}

void test_state(void)
{
	struct ep e, peer;
	unsigned int t;
	int from, to;

	for (t = 0; t < n_types(); t++) {
		if (!ep_make(&e, A, types[t], NULL) ||
		    !ep_make(&peer, B, types[t], NULL)) {
			report(false, "%s QPs", type_name(types[t]));
			return;
		}
		for (from = 0; from < N_STATE; from++) {
			if (from == IBV_QPS_SQE && !has_sqe(types[t]))
				continue;
			for (to = 0; to < N_STATE; to++)
				report(transition(&e, &peer, from, to),
				       "%s from %s to %s", type_name(types[t]),
				       state_name[from], state_name[to]);
		}
		report(ep_free(&e) && ep_free(&peer), "%s QPs go",
		       type_name(types[t]));
	}
}

/*
 * Each attribute with a value that is not to be taken, in a transition that has
 * it; @mask also tells which transports do.
 */
static const struct {
	const char *what;
	enum ibv_qp_state from, to;
	int bit;
	size_t off, size;
	long value;
} bad_values[] = {
#define VALUE(f, t, bit, field, v) { #field " " #v, IBV_QPS_##f, IBV_QPS_##t,	\
	IBV_QP_##bit, offsetof(struct ibv_qp_attr, field),			\
	sizeof(((struct ibv_qp_attr *)0)->field), v }
	VALUE(RESET, INIT, PORT, port_num, 0),
	VALUE(RESET, INIT, PORT, port_num, 2),
	VALUE(RESET, INIT, PKEY_INDEX, pkey_index, 1),
	VALUE(RESET, INIT, PKEY_INDEX, pkey_index, 65535),
	VALUE(RESET, INIT, ACCESS_FLAGS, qp_access_flags, IBV_ACCESS_ZERO_BASED),
	VALUE(RESET, INIT, ACCESS_FLAGS, qp_access_flags, 1 << 15),
	VALUE(INIT, INIT, PORT, port_num, 2),
	VALUE(INIT, INIT, PKEY_INDEX, pkey_index, 1),
	VALUE(INIT, RTR, PATH_MTU, path_mtu, 0),
	VALUE(INIT, RTR, PATH_MTU, path_mtu, 6),
	VALUE(INIT, RTR, PATH_MTU, path_mtu, 255),
	VALUE(INIT, RTR, DEST_QPN, dest_qp_num, 1 << 24),
	VALUE(INIT, RTR, DEST_QPN, dest_qp_num, -1),
	VALUE(INIT, RTR, MAX_DEST_RD_ATOMIC, max_dest_rd_atomic, 129),
	VALUE(INIT, RTR, MAX_DEST_RD_ATOMIC, max_dest_rd_atomic, 255),
	VALUE(INIT, RTR, MIN_RNR_TIMER, min_rnr_timer, 32),
	VALUE(INIT, RTR, AV, ah_attr.is_global, 0),
	VALUE(INIT, RTR, AV, ah_attr.port_num, 2),
	VALUE(INIT, RTR, AV, ah_attr.sl, 16),
	VALUE(INIT, RTR, AV, ah_attr.sl, 255),
	VALUE(INIT, RTR, AV, ah_attr.grh.sgid_index, 200),
	VALUE(INIT, RTR, AV, ah_attr.grh.dgid.global.interface_id, 0),
	VALUE(RTR, RTS, TIMEOUT, timeout, 32),
	VALUE(RTR, RTS, RETRY_CNT, retry_cnt, 8),
	VALUE(RTR, RTS, RNR_RETRY, rnr_retry, 8),
	VALUE(RTR, RTS, MAX_QP_RD_ATOMIC, max_rd_atomic, 129),
	VALUE(RTR, RTS, MAX_QP_RD_ATOMIC, max_rd_atomic, 255),
	VALUE(RTR, RTS, CUR_STATE, cur_qp_state, IBV_QPS_RTS),
	VALUE(RTR, RTS, CUR_STATE, cur_qp_state, 7),
	VALUE(RTR, RTS, PATH_MIG_STATE, path_mig_state, IBV_MIG_ARMED),
	VALUE(RTR, RTS, PATH_MIG_STATE, path_mig_state, 3),
	VALUE(RTS, RTS, MIN_RNR_TIMER, min_rnr_timer, 32),
	VALUE(RTS, RTS, ACCESS_FLAGS, qp_access_flags, 1 << 15),
	VALUE(SQD, SQD, TIMEOUT, timeout, 32),
	VALUE(SQD, SQD, RETRY_CNT, retry_cnt, 8),
	VALUE(SQD, SQD, RNR_RETRY, rnr_retry, 8),
	VALUE(SQD, SQD, PORT, port_num, 2),
	VALUE(SQD, SQD, AV, ah_attr.grh.sgid_index, 200),
	VALUE(SQD, SQD, AV, ah_attr.sl, 16),
	VALUE(SQD, SQD, MAX_QP_RD_ATOMIC, max_rd_atomic, 129),
	VALUE(SQD, SQD, MAX_DEST_RD_ATOMIC, max_dest_rd_atomic, 129),
	VALUE(SQD, SQD, MIN_RNR_TIMER, min_rnr_timer, 32),
	VALUE(RTS, RTS, STATE, qp_state, 7),
	VALUE(RTS, RTS, STATE, qp_state, 255),
#undef VALUE
};

static bool bad_value(struct ep *e, const struct ep *peer, unsigned int i)
{
	int from = bad_values[i].from, to = bad_values[i].to;
	struct ibv_qp_attr attr = ep_attr(e, peer, IBV_MTU_1024);
	int need = attr_needed(e->type, from, to), err;

	TRY(bring(e, peer, from));
	attr.qp_state = to;
	attr.cur_qp_state = from;
	memcpy((char *)&attr + bad_values[i].off, &bad_values[i].value,
	       bad_values[i].size);
	err = ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | need |
			    bad_values[i].bit);
	NEED(err, "taken");
	NEED(ep_state(e) == (unsigned int)from, "now in state %d", ep_state(e));
	/* and there is nothing left of it */
	attr = ep_attr(e, peer, IBV_MTU_1024);
	attr.qp_state = to;
	err = ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | need);
	NEED(!err, "the right value after it: %s", strerror(err));
	return true;
}

static bool large_mtu(struct ep *e, const struct ep *peer)
{
	struct ibv_qp_attr attr = ep_attr(e, peer, 1 + hosts[A].port.active_mtu);

	if (e->type == IBV_QPT_UD || attr.path_mtu > IBV_MTU_4096)
		return true;
	TRY(bring(e, peer, IBV_QPS_INIT));
	NEED(ep_step(e, &attr, IBV_QPS_INIT, IBV_QPS_RTR) == EINVAL, "taken");
	NEED(ep_state(e) == IBV_QPS_INIT, "now in state %d", ep_state(e));
	return true;
}

/* Of a PSN of more bits 24 count; enough messages each way that they come round */
static bool long_psn(enum ibv_qp_type type)
{
	struct ibv_ah *ah[2] = {};
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr, got;
	struct ibv_wc wc;
	struct ep p[2];
	int i, s;

	TRY(ep_make(&p[A], A, type, NULL) && ep_make(&p[B], B, type, NULL));
	TRY(ep_bring(&p[B], &p[A], IBV_MTU_1024, IBV_QPS_RTS));
	attr = ep_attr(&p[A], &p[B], IBV_MTU_1024);
	attr.rq_psn |= 0xab000000;
	attr.sq_psn |= 0xcd000000;
	for (i = IBV_QPS_RESET; i < IBV_QPS_RTS; i++)
		NEED(!ep_step(&p[A], &attr, i, i + 1), "from %s", state_name[i]);
	NEED(!ibv_query_qp(p[A].qp, &got, IBV_QP_RQ_PSN | IBV_QP_SQ_PSN, &init) &&
	     got.sq_psn == (attr.sq_psn & 0xffffff) &&
	     (type == IBV_QPT_UD || got.rq_psn == (attr.rq_psn & 0xffffff)),
	     "they are %#x and %#x", got.sq_psn, got.rq_psn);
	for (s = A; s <= B && type == IBV_QPT_UD; s++)
		TRY(ah[s] = ah_make(s, NULL));
	for (i = 0; i < 40; i++) {
		struct msg m = { .op = IBV_WR_SEND, .off = SRC_OFF, .len = LEN,
				 .flags = IBV_SEND_SIGNALED, .qkey = QKEY };

		s = i & 1;
		m.ah = ah[s];
		m.qpn = p[!s].qp->qp_num;
		fill(s, SRC_OFF, LEN, i);
		NEED(!post_recv(&p[!s], i, DST_OFF, GRH + LEN), "post_recv");
		NEED(!post(&p[s], &m), "post_send");
		TRY(reap(p[!s].rcq, &wc, 1) && reap(p[s].scq, &wc, 1));
		TRY(same(!s, DST_OFF + (ah[s] ? GRH : 0), LEN, i));
	}
	for (s = A; s <= B && ah[s]; s++)
		ibv_destroy_ah(ah[s]);
	return pair_free(p);
}

/* Programs have one set of rights for regions and QPs. */
static bool region_rights(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr, got;
	struct ep e;

	TRY(ep_make(&e, A, type, NULL));
	attr = ep_attr(&e, &e, IBV_MTU_1024);
	attr.qp_access_flags |= IBV_ACCESS_MW_BIND | IBV_ACCESS_RELAXED_ORDERING;
	NEED(!ep_step(&e, &attr, IBV_QPS_RESET, IBV_QPS_INIT), "refused");
	NEED(!ibv_query_qp(e.qp, &got, IBV_QP_ACCESS_FLAGS, &init) &&
	     got.qp_access_flags == attr.qp_access_flags, "they are %#x", got.qp_access_flags);
	return ep_free(&e);
}

void test_attr(void)
{
	unsigned int t, i;
	struct ep e, peer;

	for (t = 0; t < n_types(); t++) {
		if (!ep_make(&e, A, types[t], NULL) ||
		    !ep_make(&peer, B, types[t], NULL)) {
			report(false, "%s QPs", type_name(types[t]));
			return;
		}
		for (i = 0; i < sizeof(bad_values) / sizeof(bad_values[0]);
		     i++) {
			int from = bad_values[i].from, to = bad_values[i].to;

			if (!((attr_needed(types[t], from, to) |
			       attr_allowed(types[t], from, to) |
			       IBV_QP_STATE) & bad_values[i].bit))
				continue;
			report(bad_value(&e, &peer, i), "%s %s to %s, %s",
			       type_name(types[t]), state_name[from],
			       state_name[to], bad_values[i].what);
		}
		report(large_mtu(&e, &peer), "%s path MTU above the port's",
		       type_name(types[t]));
		if (types[t] != IBV_QPT_UD)
			report(region_rights(types[t]), "%s rights that only regions have",
			       type_name(types[t]));
		if (t < 3)
			report(long_psn(types[t]), "%s PSNs of more than 24 bits",
			       type_name(types[t]));
		report(ep_free(&e) && ep_free(&peer), "%s QPs go",
		       type_name(types[t]));
	}
}

/* What A sends to @p[B] in @state: received, or dropped and counted */
static bool arriving(struct ep p[2], struct ibv_ah *ah, int state)
{
	uint32_t grh = ah ? GRH : 0;
	struct msg m = { .op = IBV_WR_SEND, .off = SRC_OFF, .len = LEN,
			 .flags = IBV_SEND_SIGNALED, .ah = ah,
			 .qpn = p[B].qp->qp_num, .qkey = QKEY };
	bool hears = state >= IBV_QPS_RTR && state <= IBV_QPS_SQE;
	/* until it is connected it has no peer either */
	const char *name = p[A].type != IBV_QPT_UD && state < IBV_QPS_RTR ?
			   "drop_addr" : "drop_state";
	uint64_t was = counter(B, name);
	struct ibv_wc wc;

	fill(A, SRC_OFF, LEN, 6);
	guard(B, DST_OFF, grh + LEN);
	NEED(!post(&p[A], &m), "post_send");
	if (hears || p[A].type != IBV_QPT_RC)
		TRY(reap(p[A].scq, &wc, 1));
	if (hears) {
		TRY(reap(p[B].rcq, &wc, 1));
		NEED(wc.wr_id == 3, "receive %llu", (unsigned long long)wc.wr_id);
		TRY(same(B, DST_OFF + grh, LEN, 6));
		return guarded(B, DST_OFF, grh + LEN);
	}
	TRY(counted(B, name, was));
	TRY(none(p[B].rcq, 20));
	return untouched(B, DST_OFF, LEN);
}

/* Posts, then a packet, at a QP in @state */
static bool traffic(enum ibv_qp_type type, int state)
{
	struct ibv_ah *ah = type == IBV_QPT_UD ? ah_make(A, NULL) : NULL;
	struct ibv_ah *back = type == IBV_QPT_UD ? ah_make(B, NULL) : NULL;
	struct msg m = { .op = IBV_WR_SEND, .id = 4, .off = SRC_OFF, .len = LEN,
			 .flags = IBV_SEND_SIGNALED, .ah = back, .qkey = QKEY };
	struct ibv_qp_attr attr;
	struct ibv_wc wc;
	struct ep p[2];
	int err;

	TRY(ep_make(&p[A], A, type, NULL) && ep_make(&p[B], B, type, NULL));
	TRY(ep_bring(&p[A], &p[B], IBV_MTU_1024, IBV_QPS_RTS));
	TRY(bring(&p[B], &p[A], state));
	m.qpn = p[A].qp->qp_num;

	err = post_recv(&p[B], 3, DST_OFF, GRH + LEN);
	NEED(err == (state == IBV_QPS_RESET ? EINVAL : 0), "post_recv: %s",
	     strerror(err));
	if (state == IBV_QPS_ERR) {
		TRY(reap_as(p[B].rcq, &wc, IBV_WC_WR_FLUSH_ERR));
		NEED(wc.wr_id == 3, "flush of %llu",
		     (unsigned long long)wc.wr_id);
	}
	TRY(none(p[B].rcq, 20));
	TRY(arriving(p, ah, state));

	NEED(!post_recv(&p[A], 5, DST_OFF, GRH + LEN), "post_recv");
	err = post(&p[B], &m);
	NEED(err == (state < IBV_QPS_RTS ? EINVAL : 0), "post_send: %s",
	     strerror(err));
	if (state == IBV_QPS_ERR || state == IBV_QPS_SQE) {
		TRY(reap_as(p[B].scq, &wc, IBV_WC_WR_FLUSH_ERR));
		NEED(wc.wr_id == 4, "flush of %llu",
		     (unsigned long long)wc.wr_id);
	} else if (state == IBV_QPS_RTS) {
		TRY(reap(p[B].scq, &wc, 1) && reap(p[A].rcq, &wc, 1));
	}
	TRY(none(p[B].scq, 50) && none(p[A].rcq, 20));
	if (state == IBV_QPS_SQD) {		/* held until RTS */
		attr = ep_attr(&p[B], &p[A], IBV_MTU_1024);
		NEED(!ep_step(&p[B], &attr, IBV_QPS_SQD, IBV_QPS_RTS), "RTS");
		TRY(reap(p[B].scq, &wc, 1) && reap(p[A].rcq, &wc, 1));
	}
	if (ah)
		NEED(!ibv_destroy_ah(ah) && !ibv_destroy_ah(back), "AH");
	return pair_free(p);
}

/* SQD drains what was begun, says so once if asked to, and sends no more. */
static bool drained(enum ibv_qp_type type, bool notify)
{
	struct ibv_ah *ah = type == IBV_QPT_UD ? ah_make(A, NULL) : NULL;
	struct msg m = { .op = IBV_WR_SEND, .off = SRC_OFF, .len = LEN,
			 .flags = IBV_SEND_SIGNALED, .ah = ah, .qkey = QKEY };
	struct ibv_qp_attr attr;
	struct ibv_async_event ev;
	struct ibv_wc wc;
	struct ep p[2];
	int i;

	TRY(pair_make(p, type, IBV_MTU_1024));
	attr = ep_attr(&p[A], &p[B], IBV_MTU_1024);
	m.qpn = p[B].qp->qp_num;
	for (i = 0; i < 3; i++) {
		NEED(!post_recv(&p[B], 1, DST_OFF, GRH + LEN), "post_recv");
		NEED(!post(&p[A], &m), "post_send");
		TRY(reap(p[B].rcq, &wc, 1) && reap(p[A].scq, &wc, 1));
		attr.qp_state = IBV_QPS_SQD;
		attr.en_sqd_async_notify = notify;
		NEED(!ibv_modify_qp(p[A].qp, &attr, IBV_QP_STATE |
				    IBV_QP_EN_SQD_ASYNC_NOTIFY), "to SQD");
		if (notify) {
			TRY(event(A, IBV_EVENT_SQ_DRAINED, 1000 * WAIT_S, &ev));
			NEED(ev.element.qp == p[A].qp, "another QP's event");
		}
		TRY(no_event(A, IBV_EVENT_SQ_DRAINED, 30));
		NEED(!ep_step(&p[A], &attr, IBV_QPS_SQD, IBV_QPS_RTS), "to RTS");
	}
	if (ah)
		ibv_destroy_ah(ah);
	return pair_free(p);
}

#define BUSY_N		8
#define BUSY_ROOM	(1u << 14)
#define BUSY_KBPS	256

/* Message @i of A's, and where it is received, if there is a receive */
static struct msg busy_msg(const struct ep p[2], struct ibv_ah *ah, int i)
{
	return (struct msg) {
		.op = IBV_WR_SEND, .id = i, .flags = IBV_SEND_SIGNALED,
		.off = SRC_OFF + i * BUSY_ROOM, .roff = DST_OFF + i * BUSY_ROOM,
		/* one packet, or eight */
		.len = ah ? 1000 : 8191, .ah = ah, .qkey = QKEY,
		.qpn = p[B].qp->qp_num,
	};
}

static bool busy_post(struct ep p[2], struct ibv_ah *ah, int from, int to)
{
	for (; from < to; from++) {
		struct msg m = busy_msg(p, ah, from);

		NEED(!post(&p[A], &m), "post_send %d", from);
	}
	return true;
}

static bool busy_receives(struct ep p[2], struct ibv_ah *ah)
{
	int i;

	for (i = 0; i < BUSY_N; i++) {
		struct msg m = busy_msg(p, ah, i);

		NEED(!post_recv(&p[B], i, m.roff, m.len + (ah ? GRH : 0)),
		     "post_recv %d", i);
	}
	return true;
}

/* Messages from @from to @to have come, whole, and B has had no other. */
static bool busy_came(struct ep p[2], struct ibv_ah *ah, int from, int to)
{
	uint32_t grh = ah ? GRH : 0;
	struct ibv_wc wc;

	for (; from < to; from++) {
		struct msg m = busy_msg(p, ah, from);

		TRY(reap(p[B].rcq, &wc, 1));
		NEED(wc.wr_id == m.id && wc.byte_len == grh + m.len,
		     "receive %llu of %u bytes, not %d", (unsigned long long)wc.wr_id,
		     wc.byte_len, from);
		TRY(same(B, m.roff + grh, m.len, from));
		TRY(guarded(B, m.roff, grh + m.len));
	}
	for (; to < BUSY_N; to++) {
		struct msg m = busy_msg(p, ah, to);

		TRY(untouched(B, m.roff, grh + m.len));
	}
	return true;
}

static bool draining(const struct ep *e)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr = {};

	return !ibv_query_qp(e->qp, &attr, IBV_QP_STATE, &init) && attr.sq_draining;
}

/*
 * Six of eight messages are under way, slowed by a rate limit or held by a peer that
 * has no receive, as A goes to SQD; @seen: that found some begun, and not done, and
 * some not begun. Those that were begun, of UC one and of datagrams none, are done
 * when the event comes, and nothing is sent from then on.
 */
static bool busy_round(struct ep p[2], struct ibv_ah *ah, bool rnr, bool *seen)
{
	struct ibv_qp_attr attr = { .rate_limit = BUSY_KBPS };
	uint64_t was = counter(B, "send_rnr_err"), sent;
	struct ibv_async_event ev;
	struct ibv_wc wc[BUSY_N];
	int i, n, done = 0;

	for (i = 0; i < BUSY_N; i++) {
		struct msg m = busy_msg(p, ah, i);

		fill(A, m.off, m.len, i);
		guard(B, m.roff, m.len + (ah ? GRH : 0));
	}
	if (!rnr) {
		TRY(busy_receives(p, ah));
		NEED(!ibv_modify_qp(p[A].qp, &attr, IBV_QP_RATE_LIMIT), "rate limit");
	}
	TRY(busy_post(p, ah, 0, 6));
	if (rnr) {
		TRY(counted(B, "send_rnr_err", was));
	} else {
		/* those behind have been looked at then; and into the midst of the third */
		TRY(reap(p[A].scq, wc, done = 2));
		usleep(ah ? 0 : 100000);
	}
	attr.qp_state = IBV_QPS_SQD;
	attr.en_sqd_async_notify = 1;
	NEED(!ibv_modify_qp(p[A].qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY),
	     "to SQD");
	*seen = draining(&p[A]);
	done += ibv_poll_cq(p[A].scq, BUSY_N - done, wc + done);
	if (rnr) {
		TRY(no_event(A, IBV_EVENT_SQ_DRAINED, 50) && none(p[A].scq, 0));
		NEED(draining(&p[A]), "it drains no more");
		TRY(busy_receives(p, ah));
	}
	TRY(event(A, IBV_EVENT_SQ_DRAINED, 1000 * WAIT_S, &ev));
	NEED(ev.element.qp == p[A].qp, "another QP's event");
	NEED(!draining(&p[A]), "drained, and drains");
	n = done + ibv_poll_cq(p[A].scq, BUSY_N - done, wc + done);
	for (i = 0; i < n; i++)
		NEED(wc[i].wr_id == (uint64_t)i && !wc[i].status, "completion %d", i);
	NEED(n > 0 && (p[A].type == IBV_QPT_RC || n - done <= !ah), "%d done, then %d",
	     done, n);
	if (!rnr)
		*seen = n < 6 && (ah || *seen);
	sent = counter(A, "sent_pkts");
	TRY(busy_post(p, ah, 6, BUSY_N));
	TRY(busy_came(p, ah, 0, n));
	TRY(none(p[A].scq, 100) && none(p[B].rcq, 0));
	NEED(counter(A, "sent_pkts") == sent, "packets are sent in SQD");
	TRY(no_event(A, IBV_EVENT_SQ_DRAINED, 0));
	attr.qp_state = IBV_QPS_RTS;
	attr.rate_limit = 0;
	NEED(!ibv_modify_qp(p[A].qp, &attr, IBV_QP_STATE | IBV_QP_RATE_LIMIT), "to RTS");
	TRY(busy_came(p, ah, n, BUSY_N));
	for (; n < BUSY_N; n++) {
		TRY(reap(p[A].scq, wc, 1));
		NEED(wc->wr_id == (uint64_t)n, "completion of %llu, not %d",
		     (unsigned long long)wc->wr_id, n);
	}
	return no_event(A, IBV_EVENT_SQ_DRAINED, 0);
}

static bool busy(enum ibv_qp_type type, bool rnr)
{
	struct ibv_ah *ah = type == IBV_QPT_UD ? ah_make(A, NULL) : NULL;
	bool seen = false;
	struct ep p[2];
	int i;

	TRY(pair_make(p, type, IBV_MTU_1024));
	for (i = 0; i < 10 && !seen; i++)
		TRY(busy_round(p, ah, rnr, &seen));
	NEED(seen, "nothing was ever under way");
	if (ah)
		ibv_destroy_ah(ah);
	return pair_free(p);
}

/* ERR flushes, RESET forgets, and all is as new */
static bool again(enum ibv_qp_type type)
{
	struct ibv_ah *ah = type == IBV_QPT_UD ? ah_make(A, NULL) : NULL;
	struct msg m = { .op = IBV_WR_SEND, .off = SRC_OFF, .len = LEN,
			 .flags = IBV_SEND_SIGNALED, .ah = ah, .qkey = QKEY };
	struct ibv_qp_attr err = { .qp_state = IBV_QPS_ERR };
	struct ibv_wc wc;
	struct ep p[2];
	int round, i, s;

	TRY(pair_make(p, type, IBV_MTU_1024));
	m.qpn = p[B].qp->qp_num;
	for (round = 0; round < 4; round++) {
		for (i = 0; i < 5; i++) {
			fill(A, SRC_OFF, LEN, i);
			NEED(!post_recv(&p[B], i, DST_OFF, GRH + LEN), "post_recv");
			NEED(!post(&p[A], &m), "post_send");
			TRY(reap(p[B].rcq, &wc, 1) && reap(p[A].scq, &wc, 1));
			TRY(same(B, DST_OFF + (ah ? GRH : 0), LEN, i));
		}
		for (i = 0; i < 3; i++)
			NEED(!post_recv(&p[B], i, DST_OFF, LEN), "post_recv");
		for (s = A; s <= B; s++)
			NEED(!ibv_modify_qp(p[s].qp, &err, IBV_QP_STATE), "ERR");
		for (i = 0; i < 3; i++)
			TRY(reap_as(p[B].rcq, &wc, IBV_WC_WR_FLUSH_ERR));
		/* completions that nobody polls go with RESET */
		NEED(!post(&p[A], &m) && !post_recv(&p[B], 9, DST_OFF, LEN),
		     "posts in ERR");
		for (s = A; s <= B; s++)
			TRY(bring(&p[s], &p[!s], IBV_QPS_RTS));
		TRY(none(p[B].rcq, 10) && none(p[A].scq, 0));
	}
	if (ah)
		ibv_destroy_ah(ah);
	return pair_free(p);
}

void test_traffic(void)
{
	unsigned int t;
	int state;

	for (t = 0; t < 3; t++) {
		const char *name = type_name(types[t]);

		for (state = 0; state < N_STATE; state++)
			if (state != IBV_QPS_SQE || has_sqe(types[t]))
				report(traffic(types[t], state),
				       "%s, traffic in %s", name,
				       state_name[state]);
		report(drained(types[t], true), "%s, SQD with its event", name);
		report(drained(types[t], false), "%s, SQD without", name);
		report(busy(types[t], false), "%s, SQD with work under way", name);
		report(again(types[t]), "%s, ERR, RESET and RTS again", name);
	}
	report(busy(IBV_QPT_RC, true), "RC, SQD with work that its peer has no receive for");
}
