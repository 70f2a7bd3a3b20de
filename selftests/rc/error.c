// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of what must fail: each cause with its status at both ends, no byte
 * moved, and the queues flushed in order; then RNR and peers that vanish.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

#define SEED_SRC	3
#define SEED_DST	4
#define SEED_DST2	5
#define SRC_OFF		8192
#define DST_OFF		(ARENA / 2)
#define LEN		5000
#define BIT(status)	(1ull << (status))

static void fill_both(void)
{
	fill(A, ends[A].base + SRC_OFF, LEN, SEED_SRC);
	fill(B, ends[B].base + DST_OFF - GUARD, LEN + 2 * GUARD, SEED_DST);
}

/* No memory of either end was changed. */
static enum result unmoved(void)
{
	NEED(same(B, ends[B].base + DST_OFF - GUARD, LEN + 2 * GUARD, SEED_DST),
	     "memory of B was changed");
	NEED(same(A, ends[A].base + SRC_OFF, LEN, SEED_SRC),
	     "memory of A was changed");
	return PASS;
}

/* The QP of @s is in ERR: what is posted now is flushed. */
static enum result dead(enum side s)
{
	struct wr w = simple_wr(s, IBV_WR_SEND, SRC_OFF, 1, 0);

	TRY(send_wr(s, 0, &w));
	TRY(one_status(s, 0, IBV_WC_WR_FLUSH_ERR));
	/* rdma_rxe hears nothing of a receive that is posted in ERR */
	if (!ends[s].rxe) {
		TRY(recv_wr(s, 0, &w));
		TRY(one_status(s, 0, IBV_WC_WR_FLUSH_ERR));
	}
	NEED(qp_state(s, 0) == IBV_QPS_ERR, "QP of %c is not in ERR", 'A' + s);
	return PASS;
}

/* @w from A fails with one of @mask, and leaves both QPs in ERR. */
static enum result refused(const struct wr *w, uint64_t mask)
{
	struct wr rw = simple_wr(B, 0, 64, 8, 0);

	fill_both();
	TRY(recv_wr(B, 0, &rw));
	TRY(send_wr(A, 0, w));
	TRY(one_of(A, 0, mask));
	TRY(unmoved());
	TRY(dead(A));
	TRY(one_status(B, 0, IBV_WC_WR_FLUSH_ERR));
	TRY(dead(B));
	return unpair(0);
}

enum what { WRITE, READ, ATOMIC };

static struct wr op_wr(enum what what)
{
	static const uint32_t opcode[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
					   IBV_WR_ATOMIC_FETCH_AND_ADD };
	struct wr w = simple_wr(A, opcode[what], SRC_OFF,
				what == ATOMIC ? 8 : LEN, DST_OFF);

	w.compare = 1;
	return w;
}

static enum result bad_key(enum what what, uint32_t xor)
{
	struct wr w = op_wr(what);

	TRY(pair_up(0, NULL, NULL));
	w.rkey ^= xor;
	return refused(&w, BIT(IBV_WC_REM_ACCESS_ERR));
}

/* An MR of B: a page in the middle of what is filled, with @access, in PD @pd */
static enum result bad_mr(enum what what, unsigned int access, uint32_t pd)
{
	struct wr w = op_wr(what);

	TRY(pair_up(0, NULL, NULL));
	TRY(reg_mr(B, 2, w.raddr, LEN, access, pd, NULL, &w.rkey));
	TRY(refused(&w, BIT(IBV_WC_REM_ACCESS_ERR)));
	return dereg_mr(B, 2);
}

static enum result bad_range(enum what what, int64_t shift)
{
	struct wr w = op_wr(what);

	TRY(pair_up(0, NULL, NULL));
	TRY(reg_mr(B, 2, w.raddr, w.sge[0].len, RW_ACCESS, 0, NULL, &w.rkey));
	w.raddr += (uint64_t)shift;
	TRY(refused(&w, BIT(IBV_WC_REM_ACCESS_ERR)));
	return dereg_mr(B, 2);
}

static enum result wraps(enum what what)
{
	struct wr w = op_wr(what);

	TRY(pair_up(0, NULL, NULL));
	w.raddr = -(uint64_t)8;
	return refused(&w, BIT(IBV_WC_REM_ACCESS_ERR));
}

static enum result gone_mr(enum what what)
{
	struct wr w = op_wr(what);

	TRY(pair_up(0, NULL, NULL));
	TRY(reg_mr(B, 2, w.raddr, LEN, RW_ACCESS, 0, NULL, &w.rkey));
	TRY(dereg_mr(B, 2));
	return refused(&w, BIT(IBV_WC_REM_ACCESS_ERR));
}

static enum result qp_access(enum what what)
{
	struct qp_opt o = { 0 }, b = { .no_access = 1 };
	struct wr w = op_wr(what);

	TRY(pair_up(0, &o, &b));
	return refused(&w, BIT(IBV_WC_REM_INV_REQ_ERR));
}

static enum result misaligned(void)
{
	struct wr w = op_wr(ATOMIC);

	TRY(pair_up(0, NULL, NULL));
	w.raddr += 4;
	return refused(&w, BIT(IBV_WC_REM_INV_REQ_ERR));
}

/* Ordinary memory cannot be invalidated from afar, and is not by the attempt. */
static enum result invalidate(void)
{
	struct wr w = simple_wr(A, IBV_WR_SEND_WITH_INV, SRC_OFF, 8, 0), rw;
	uint32_t rkey;
	struct wc wc;

	TRY(reg_mr(B, 2, ends[B].base + DST_OFF, LEN, RW_ACCESS, 0, NULL, &rkey));
	TRY(pair_up(0, NULL, NULL));
	rw = simple_wr(B, 0, 64, 64, 0);
	TRY(recv_wr(B, 0, &rw));
	w.imm = rkey;
	TRY(send_wr(A, 0, &w));
	TRY(reap(A, 0, 1, &wc));
	NEED(wc.status != IBV_WC_SUCCESS, "it succeeded");
	TRY(unpair(0));

	TRY(pair_up(0, NULL, NULL));
	w = simple_wr(A, IBV_WR_RDMA_WRITE, SRC_OFF, 8, DST_OFF);
	w.rkey = rkey;
	TRY(send_wr(A, 0, &w));
	TRY(one_ok(A, 0, &wc));
	TRY(unpair(0));
	return dereg_mr(B, 2);
}

/* A's own memory is wrong. */
static enum result bad_local(enum what what, uint32_t xor, uint32_t pd,
			     unsigned int access, uint32_t grow)
{
	struct wr w = op_wr(what);
	uint32_t lkey;

	fill_both();
	fill(A, w.sge[0].addr + w.sge[0].len, GUARD, SEED_DST2);
	TRY(pair_up(0, NULL, NULL));
	TRY(reg_mr(A, 2, w.sge[0].addr, w.sge[0].len, access, pd, &lkey, NULL));
	w.sge[0].lkey = lkey ^ xor;
	w.sge[0].len += grow;
	TRY(send_wr(A, 0, &w));
	TRY(one_of(A, 0, BIT(IBV_WC_LOC_PROT_ERR) |
		   (ends[A].rxe ? BIT(IBV_WC_LOC_QP_OP_ERR) : 0)));
	/* packets that were right may have left, an atomic may be executed */
	if (!grow && what != ATOMIC)
		TRY(unmoved());
	NEED(same(A, w.sge[0].addr + w.sge[0].len - grow, GUARD, SEED_DST2),
	     "memory of A behind its MR was changed");
	TRY(dead(A));
	TRY(dereg_mr(A, 2));
	return unpair(0);
}

static enum result bad_recv_key(void)
{
	struct wr w = simple_wr(A, IBV_WR_SEND, SRC_OFF, LEN, 0);
	struct wr rw = simple_wr(B, 0, DST_OFF, LEN, 0);

	fill_both();
	TRY(pair_up(0, NULL, NULL));
	rw.sge[0].lkey ^= 0x5500;
	TRY(recv_wr(B, 0, &rw));
	TRY(send_wr(A, 0, &w));
	TRY(one_status(A, 0, IBV_WC_REM_OP_ERR));
	TRY(one_of(B, 0, BIT(IBV_WC_LOC_PROT_ERR) |
		   (ends[B].rxe ? BIT(IBV_WC_LOC_QP_OP_ERR) : 0)));
	TRY(unmoved());
	TRY(dead(A));
	TRY(dead(B));
	return unpair(0);
}

static enum result short_recv(uint32_t len)
{
	struct wr w = simple_wr(A, IBV_WR_SEND, SRC_OFF, LEN, 0);
	struct wr rw = simple_wr(B, 0, DST_OFF, len, 0);

	fill_both();
	fill(B, ends[B].base + DST_OFF + len, GUARD, SEED_DST2);
	TRY(pair_up(0, NULL, NULL));
	TRY(recv_wr(B, 0, &rw));
	TRY(send_wr(A, 0, &w));
	TRY(one_of(A, 0, BIT(IBV_WC_REM_INV_REQ_ERR) |
		   (ends[B].rxe ? BIT(IBV_WC_REM_OP_ERR) : 0)));
	TRY(one_of(B, 0, BIT(IBV_WC_LOC_LEN_ERR) |
		   (ends[B].rxe ? BIT(IBV_WC_LOC_QP_OP_ERR) : 0)));
	/* what fits may have been placed, and nothing else */
	NEED(same(B, ends[B].base + DST_OFF - GUARD, GUARD, SEED_DST) &&
	     same(B, ends[B].base + DST_OFF + len, GUARD, SEED_DST2),
	     "memory around the receive was changed");
	TRY(dead(A));
	TRY(dead(B));
	return unpair(0);
}

/* A failing WRITE in the midst of others: those before it succeed, those behind
 * it are flushed, all in the order of posting.
 */
static enum result flush_order(void)
{
	struct wc wc[32];
	enum ibv_wc_status want;
	struct wr w;
	uint32_t i;

	TRY(pair_up(0, NULL, NULL));
	for (i = 0; i < 32; i++) {
		w = simple_wr(A, IBV_WR_RDMA_WRITE, SRC_OFF, 3000, DST_OFF);
		w.id = i;
		if (i == 10)
			w.rkey ^= 0xff00;
		TRY(send_wr(A, 0, &w));
	}
	TRY(reap(A, 0, 32, wc));
	for (i = 0; i < 32; i++) {
		want = i < 10 ? IBV_WC_SUCCESS : i > 10 ? IBV_WC_WR_FLUSH_ERR :
			IBV_WC_REM_ACCESS_ERR;
		NEED(wc[i].id == i, "completion %u is that of %llu", i,
		     (unsigned long long)wc[i].id);
		NEED(wc[i].status == want, "completion %u: %s", i,
		     ibv_wc_status_str(wc[i].status));
	}
	TRY(none(A, 0, 50));
	return unpair(0);
}

static enum result flush_recv(void)
{
	struct wr rw;
	uint32_t i;

	TRY(pair_up(0, NULL, NULL));
	for (i = 0; i < 32; i++) {
		rw = simple_wr(B, 0, DST_OFF, 64, 0);
		rw.id = i;
		TRY(recv_wr(B, 0, &rw));
	}
	TRY(qp_err(B, 0));
	TRY(in_order(B, 0, 32, IBV_WC_WR_FLUSH_ERR));
	TRY(none(B, 0, 50));
	TRY(dead(B));
	return unpair(0);
}

/* What the API must turn away without touching the QP. */
static enum result refused_post(void)
{
	struct cmd c = { .op = CMD_SEND };
	struct qp_opt o = { .max_sge = 2, .max_inline = 16, .depth = 8 };
	struct wc wc[MAX_WC];
	struct rep r;
	uint32_t n;

	TRY(pair_up(0, &o, NULL));
	c.wr = simple_wr(A, IBV_WR_RDMA_WRITE, SRC_OFF, 8, DST_OFF);
	c.wr.opcode = 77;
	tell(A, &c, &r);
	NEED(r.err, "opcode 77 was taken");
	c.wr.opcode = IBV_WR_RDMA_WRITE;
	c.wr.num_sge = MAX_SGE;
	tell(A, &c, &r);
	NEED(r.err, "%u SGEs were taken", MAX_SGE);
	c.wr.num_sge = 1;
	c.wr.flags |= IBV_SEND_INLINE;
	c.wr.sge[0].len = ends[A].max_inline + 1;
	tell(A, &c, &r);
	NEED(r.err, "%u bytes inline were taken", ends[A].max_inline + 1);
	c.wr.flags = IBV_SEND_SIGNALED;
	c.wr.sge[0].len = 8;
	/* nothing is received, so nothing completes, and no slot is given back */
	c.wr.opcode = IBV_WR_SEND;
	for (n = 0, r.err = 0; n < MAX_WC && !r.err; n += !r.err)
		tell(A, &c, &r);
	NEED(r.err == ENOMEM, "a full send queue gave %s after %u",
	     r.err ? strerror((int)r.err) : "no error", n);
	NEED(n >= 8, "only %u of 8 sends were taken", n);
	TRY(qp_err(A, 0));
	TRY(reap(A, 0, n, wc));
	return unpair(0);
}

static enum result large_mtu(void)
{
	struct qp_opt o = { .mtu = opt_mtu + 1 };

	if (opt_mtu == IBV_MTU_4096)
		return skipped("the port has the largest MTU");
	if (ends[A].rxe)
		return skipped("rdma_rxe takes any path MTU");
	NEED(pair_up(0, &o, NULL) == FAIL, "path MTU %u was taken",
	     mtu_bytes(opt_mtu + 1));
	return unpair(0);
}

/* QPs go while their work is under way; their successors are not disturbed. */
static enum result destroy_busy(enum side s)
{
	struct wr w, rw;
	struct wc wc;
	int i, n;

	for (n = 0; n < 4; n++) {
		TRY(pair_up(0, NULL, NULL));
		for (i = 0; i < 16; i++) {
			w = simple_wr(A, i & 1 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
				      SRC_OFF, 300000, DST_OFF);
			TRY(send_wr(A, 0, &w));
			rw = simple_wr(B, 0, DST_OFF, 8, 0);
			TRY(recv_wr(B, 0, &rw));
		}
		TRY(qp_del(s, 0));
		TRY(qp_del(!s, 0));
		TRY(pair_up(0, NULL, NULL));
		fill_both();
		rw = simple_wr(B, 0, DST_OFF, LEN, 0);
		TRY(recv_wr(B, 0, &rw));
		w = simple_wr(A, IBV_WR_SEND, SRC_OFF, LEN, 0);
		TRY(send_wr(A, 0, &w));
		TRY(one_ok(A, 0, &wc));
		TRY(one_ok(B, 0, &wc));
		NEED(same(B, ends[B].base + DST_OFF, LEN, SEED_SRC),
		     "the next QP's data are wrong");
		TRY(unpair(0));
	}
	return PASS;
}

/* @caught: it came before the last WRITE had ended */
static enum result dereg_under(bool *caught)
{
	uint32_t big = 1 << 20;
	struct wc wc[16];
	struct wr w;
	int i;

	TRY(pair_up(0, NULL, NULL));
	w = simple_wr(A, IBV_WR_RDMA_WRITE, SRC_OFF, big, DST_OFF);
	TRY(reg_mr(B, 2, ends[B].base + DST_OFF, big, RW_ACCESS, 0, NULL, &w.rkey));
	for (i = 0; i < 16; i++)
		TRY(send_wr(A, 0, &w));
	TRY(dereg_mr(B, 2));
	fill(B, ends[B].base + DST_OFF, big, SEED_DST);
	TRY(reap(A, 0, 16, wc));
	*caught = wc[15].status == IBV_WC_WR_FLUSH_ERR ||
		  wc[15].status == IBV_WC_REM_ACCESS_ERR;
	NEED(*caught || !wc[15].status, "the last WRITE: %s",
	     ibv_wc_status_str(wc[15].status));
	NEED(same(B, ends[B].base + DST_OFF, big, SEED_DST),
	     "memory was written after its deregistration");
	return unpair(0);
}

/* Once dereg has returned, nothing moves any more; a guest may stand still before it. */
static enum result dereg_busy(void)
{
	bool caught = false;
	int i;

	for (i = 0; i < 10 && !caught; i++)
		TRY(dereg_under(&caught));
	NEED(caught, "all WRITEs had ended before, ten times");
	return PASS;
}

static const char * const name[] = { "WRITE", "READ", "atomic" };

void test_refused(void)
{
	static const unsigned int need[] = { IBV_ACCESS_REMOTE_WRITE,
		IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_ATOMIC };
	enum what i;

	for (i = WRITE; i <= ATOMIC; i++) {
		report(bad_key(i, 0xff0000), "%s, R_Key of nothing", name[i]);
		report(bad_key(i, 1), "%s, R_Key of the past", name[i]);
		report(gone_mr(i), "%s, R_Key deregistered", name[i]);
		report(bad_mr(i, RW_ACCESS & ~need[i], 0), "%s, MR without the right", name[i]);
		report(bad_mr(i, RW_ACCESS, 1), "%s, MR of another PD", name[i]);
		report(bad_range(i, i == ATOMIC ? 8 : 1), "%s past the end", name[i]);
		report(bad_range(i, i == ATOMIC ? -8 : -1), "%s before the beginning", name[i]);
		report(wraps(i), "%s, address wraps", name[i]);
		report(qp_access(i), "%s, QP without the right", name[i]);
	}
	report(bad_recv_key(), "SEND, L_Key of the receive is of nothing");
	report(short_recv(0), "SEND into 0 bytes");
	report(short_recv(LEN - 1), "SEND into too few bytes");
	report(flush_order(), "flush behind an error");
	report(destroy_busy(A), "requester destroyed at work");
	report(destroy_busy(B), "responder destroyed at work");
}

void test_error(void)
{
	enum what i;

	test_refused();
	for (i = WRITE; i <= ATOMIC; i++) {
		report(bad_local(i, 0xff0000, 0, RW_ACCESS, 0), "%s, L_Key of nothing", name[i]);
		report(bad_local(i, 0, 1, RW_ACCESS, 0), "%s, L_Key of another PD", name[i]);
		if (i != WRITE)
			report(bad_local(i, 0, 0, 0, 0), "%s into read-only memory", name[i]);
		if (i != ATOMIC)
			report(bad_local(i, 0, 0, RW_ACCESS, 1), "%s, SGE past the end", name[i]);
	}
	report(misaligned(), "atomic, address misaligned");
	report(invalidate(), "SEND_INV of ordinary memory");
	report(flush_recv(), "flush of receives");
	report(refused_post(), "posts refused");
	report(large_mtu(), "path MTU above the port's");
	report(dereg_busy(), "MR deregistered at work");
}

static enum result rnr(bool recovers)
{
	struct qp_opt o = { .rnr_retry = recovers ? 8 : 3, .min_rnr = 14 };
	struct wr w = simple_wr(A, IBV_WR_SEND, SRC_OFF, LEN, 0);
	struct wr rw = simple_wr(B, 0, DST_OFF, LEN, 0);
	struct wc wc;

	fill_both();
	TRY(pair_up(0, &o, NULL));
	TRY(send_wr(A, 0, &w));
	if (!recovers) {
		TRY(one_status(A, 0, IBV_WC_RNR_RETRY_EXC_ERR));
		TRY(dead(A));
		return unpair(0);
	}
	/* and what is behind it waits, and arrives in order */
	w = simple_wr(A, IBV_WR_RDMA_WRITE, SRC_OFF, LEN, DST_OFF);
	TRY(send_wr(A, 0, &w));
	TRY(none(A, 0, 300));
	TRY(unmoved());
	TRY(recv_wr(B, 0, &rw));
	TRY(one_ok(B, 0, &wc));
	TRY(one_ok(A, 0, &wc));
	TRY(one_ok(A, 0, &wc));
	NEED(same(B, ends[B].base + DST_OFF, LEN, SEED_SRC), "data are wrong");
	return unpair(0);
}

static enum result vanished(void)
{
	struct qp_opt o = { .timeout = 12, .retry = 8 };
	struct wr w = simple_wr(A, IBV_WR_RDMA_WRITE, SRC_OFF, LEN, DST_OFF);
	struct wc wc[3];
	int i;

	fill_both();
	TRY(pair_up(0, &o, NULL));
	TRY(qp_del(B, 0));
	for (i = 0; i < 3; i++)
		TRY(send_wr(A, 0, &w));
	TRY(reap(A, 0, 3, wc));
	NEED(wc[0].status == IBV_WC_RETRY_EXC_ERR &&
	     wc[1].status == IBV_WC_WR_FLUSH_ERR &&
	     wc[2].status == IBV_WC_WR_FLUSH_ERR, "completions: %s, %s, %s",
	     ibv_wc_status_str(wc[0].status), ibv_wc_status_str(wc[1].status),
	     ibv_wc_status_str(wc[2].status));
	TRY(dead(A));
	return qp_del(A, 0);
}

static enum result outage(bool lasting)
{
	struct qp_opt o = { .timeout = lasting ? 14 : 18, .retry = lasting ? 4 : 8 };
	struct wr w = simple_wr(A, IBV_WR_RDMA_WRITE, SRC_OFF, LEN, DST_OFF);
	struct wc wc;

	if (!opt_down)
		return skipped("no command to take the link down (-D, -U)");
	TRY(pair_up(0, &o, NULL));
	TRY(send_wr(A, 0, &w));
	TRY(one_ok(A, 0, &wc));
	fill_both();
	NEED(!system(opt_down), "'%s' failed", opt_down);
	TRY(send_wr(A, 0, &w));
	if (lasting) {
		TRY(one_status(A, 0, IBV_WC_RETRY_EXC_ERR));
		TRY(unmoved());
	} else {
		TRY(none(A, 0, 200));
	}
	NEED(!system(opt_up), "'%s' failed", opt_up);
	if (!lasting) {
		TRY(one_ok(A, 0, &wc));
		NEED(same(B, ends[B].base + DST_OFF, LEN, SEED_SRC),
		     "data are wrong");
	}
	return unpair(0);
}

/* The link's MTU is less than the path MTU that was agreed on, for a while. */
static enum result less_mtu(void)
{
	struct qp_opt o = { .timeout = 14, .retry = 4 };
	struct wr w = simple_wr(A, IBV_WR_RDMA_WRITE, SRC_OFF, LEN, DST_OFF);
	struct wr little = w;
	struct wc wc;

	if (!opt_less)
		return skipped("no command for less MTU (-L, -M)");
	little.sge[0].len = 200;
	TRY(pair_up(0, &o, NULL));
	NEED(!system(opt_less), "'%s' failed", opt_less);
	TRY(send_wr(A, 0, &little));
	TRY(one_ok(A, 0, &wc));
	fill_both();
	TRY(send_wr(A, 0, &w));
	TRY(one_status(A, 0, IBV_WC_RETRY_EXC_ERR));
	TRY(unmoved());
	TRY(dead(A));
	TRY(unpair(0));
	if (!ends[A].rxe || !ends[B].rxe)
		NEED(pair_up(0, &o, NULL) == FAIL, "the path MTU was taken again");
	else
		TRY(pair_up(0, &o, NULL));
	TRY(unpair(0));
	NEED(!system(opt_more), "'%s' failed", opt_more);
	TRY(pair_up(0, NULL, NULL));
	TRY(send_wr(A, 0, &w));
	TRY(one_ok(A, 0, &wc));
	NEED(same(B, ends[B].base + DST_OFF, LEN, SEED_SRC), "data are wrong");
	return unpair(0);
}

void test_retry(void)
{
	report(rnr(true), "RNR that ends");
	report(rnr(false), "RNR that does not end");
	report(vanished(), "peer's QP is gone");
	report(outage(true), "link stays down");
	report(outage(false), "link comes back");
	report(less_mtu(), "link's MTU below the path's, for a while");
}
