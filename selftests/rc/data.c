// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of what arrives: each operation at each size, scattered and gathered,
 * inline, fenced, unsignalled, solicited, flushed, and the largest message there is.
 * Bytes are compared at the receiver, with those before and behind them.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test.h"

#define SEED_SRC	7
#define SEED_DST	8
#define SRC_OFF		4096
#define DST_OFF		(ARENA / 2)
#define IMM		0x12345678

static const struct {
	const char *name;
	uint32_t opcode;
	uint32_t wc;
	bool recv;
} ops[] = {
	{ "SEND", IBV_WR_SEND, IBV_WC_SEND, true },
	{ "SEND_IMM", IBV_WR_SEND_WITH_IMM, IBV_WC_SEND, true },
	{ "WRITE", IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE, false },
	{ "WRITE_IMM", IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_RDMA_WRITE, true },
	{ "READ", IBV_WR_RDMA_READ, IBV_WC_RDMA_READ, false },
};

/* GUARD bytes on both sides of the @len at @addr are untouched. */
static enum result unharmed(enum side s, uint64_t addr, uint64_t len)
{
	NEED(same(s, addr - GUARD, GUARD, SEED_DST),
	     "bytes before the %llu on %c were overwritten",
	     (unsigned long long)len, 'A' + s);
	NEED(same(s, addr + len, GUARD, SEED_DST),
	     "bytes behind the %llu on %c were overwritten",
	     (unsigned long long)len, 'A' + s);
	return PASS;
}

/* And those hold what was sent. */
static enum result landed(enum side s, uint64_t addr, uint64_t len)
{
	uint64_t at = differs(s, addr, len, SEED_SRC);

	NEED(at == len, "byte %llu of %llu on %c is wrong",
	     (unsigned long long)at, (unsigned long long)len, 'A' + s);
	return unharmed(s, addr, len);
}

static void guard(enum side s, uint64_t addr, uint64_t len)
{
	fill(s, addr - GUARD, GUARD, SEED_DST);
	fill(s, addr, len, SEED_DST + 1);
	fill(s, addr + len, GUARD, SEED_DST);
}

static enum result received(const struct wc *wc, unsigned int op, uint32_t len)
{
	bool write = ops[op].opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	bool imm = write || ops[op].opcode == IBV_WR_SEND_WITH_IMM;

	NEED(wc->id == len, "receive completion has another's id");
	NEED(wc->opcode == (write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV),
	     "receive completion has opcode %u", wc->opcode);
	NEED(wc->len == len, "received length %u, not %u", wc->len, len);
	NEED(!!(wc->flags & IBV_WC_WITH_IMM) == imm, "IBV_WC_WITH_IMM is %s",
	     imm ? "missing" : "set");
	NEED(!imm || wc->imm == IMM, "immediate %08x, not %08x", wc->imm, IMM);
	return PASS;
}

/* One message from @s; at a READ the data come the other way. */
static enum result one_message(enum side s, unsigned int op, uint32_t len)
{
	bool read = ops[op].opcode == IBV_WR_RDMA_READ;
	enum side from = read ? !s : s, to = !from;
	/* odd addresses, so that every boundary is crossed unaligned */
	uint64_t src = SRC_OFF + 3, dst = DST_OFF + 4096 - 5;
	struct wr w, rw;
	struct wc wc;

	fill(from, ends[from].base + src, len, SEED_SRC);
	guard(to, ends[to].base + dst, len);
	if (ops[op].recv) {
		rw = simple_wr(!s, 0, dst, len, 0);
		rw.id = len;
		TRY(recv_wr(!s, 0, &rw));
	}
	w = read ? simple_wr(s, ops[op].opcode, dst, len, src) :
		   simple_wr(s, ops[op].opcode, src, len, dst);
	w.imm = IMM;
	w.id = len + 1;
	TRY(send_wr(s, 0, &w));
	TRY(one_ok(s, 0, &wc));
	NEED(wc.id == len + 1, "send completion has another's id");
	NEED(wc.opcode == ops[op].wc, "send completion has opcode %u", wc.opcode);
	NEED(!read || wc.len == len, "READ of %u says %u bytes", len, wc.len);
	if (ops[op].recv) {
		TRY(one_ok(!s, 0, &wc));
		TRY(received(&wc, op, len));
	}
	return landed(to, ends[to].base + dst, len);
}

static enum result sizes(unsigned int op, enum ibv_mtu mtu)
{
	uint32_t m = mtu_bytes(mtu);
	uint32_t size[] = { 0, 1, m - 1, m, m + 1, (1 << 20) + 3 };
	struct qp_opt o = { .mtu = mtu };
	enum result res = PASS;
	unsigned int i, s;

	TRY(pair_up(0, &o, NULL));
	for (i = 0; i < 6 && res == PASS; i++)
		for (s = A; s <= B && res == PASS; s++)
			res = one_message(s, op, size[i]);
	if (unpair(0) && res == PASS)
		res = FAIL;
	return res;
}

static enum result atomic(enum side s, bool cmp)
{
	struct wr w = simple_wr(s, cmp ? IBV_WR_ATOMIC_CMP_AND_SWP :
				IBV_WR_ATOMIC_FETCH_AND_ADD, 64, 8, DST_OFF);
	uint64_t at = ends[!s].base + DST_OFF, v = 0xfffffffffffffff0, want;
	struct wc wc;
	int i;

	guard(!s, at, 8);
	set64(!s, at, v);
	for (i = 0; i < 4; i++) {
		/* the second compare fails; the sum wraps */
		w.compare = cmp ? (i == 1 ? ~v : v) : 0x123456789abcdef7;
		w.swap = 0x1122334455667788ull * (unsigned int)(i + 1);
		want = !cmp ? v + w.compare : w.compare == v ? w.swap : v;
		set64(s, ends[s].base + 64, 0);
		TRY(send_wr(s, 0, &w));
		TRY(one_ok(s, 0, &wc));
		NEED(wc.opcode == (cmp ? IBV_WC_COMP_SWAP : IBV_WC_FETCH_ADD),
		     "completion has opcode %u", wc.opcode);
		NEED(get64(s, ends[s].base + 64) == v, "value returned is wrong");
		NEED(get64(!s, at) == want, "value left is wrong");
		v = want;
	}
	return unharmed(!s, at, 8);
}

static enum result atomics(enum ibv_mtu mtu, bool cmp)
{
	struct qp_opt o = { .mtu = mtu };

	TRY(pair_up(0, &o, NULL));
	TRY(atomic(A, cmp));
	TRY(atomic(B, cmp));
	return unpair(0);
}

void test_data(void)
{
	enum ibv_mtu mtu, first = IBV_MTU_256;
	unsigned int op;

	for (mtu = first; mtu <= opt_mtu; mtu++) {
		for (op = 0; op < sizeof(ops) / sizeof(ops[0]); op++)
			report(sizes(op, mtu), "%s IPv%d MTU %u", ops[op].name,
			       opt_family, mtu_bytes(mtu));
		report(atomics(mtu, true), "CMP_SWAP IPv%d MTU %u", opt_family,
		       mtu_bytes(mtu));
		report(atomics(mtu, false), "FETCH_ADD IPv%d MTU %u", opt_family,
		       mtu_bytes(mtu));
	}
}

/* Cut @w's only SGE into @n: 1, 2, 3, ... bytes with gaps between, then the rest */
static void scatter(struct wr *w, unsigned int n)
{
	uint64_t addr = w->sge[0].addr;
	uint32_t left = w->sge[0].len, lkey = w->sge[0].lkey, len;
	unsigned int i;

	for (i = 0; i < n; i++) {
		len = i == n - 1 ? left : 17 * i + 1;
		w->sge[i].addr = addr;
		w->sge[i].len = len;
		w->sge[i].lkey = lkey;
		addr += len;
		left -= len;
	}
	w->num_sge = n;
}

static enum result many_sge(unsigned int op, unsigned int n)
{
	struct qp_opt o = { .max_sge = n };
	bool read = ops[op].opcode == IBV_WR_RDMA_READ;
	uint32_t len = 3 * mtu_bytes(opt_mtu) + 1 + 17 * n * n / 2;
	enum side to = read ? A : B;
	struct wr w, rw;
	struct wc wc;

	TRY(pair_up(0, &o, NULL));
	fill(!to, ends[!to].base + SRC_OFF, len, SEED_SRC);
	guard(to, ends[to].base + DST_OFF, len);
	w = read ? simple_wr(A, ops[op].opcode, DST_OFF, len, SRC_OFF) :
		   simple_wr(A, ops[op].opcode, SRC_OFF, len, DST_OFF);
	scatter(&w, n);
	if (ops[op].recv) {
		rw = simple_wr(B, 0, DST_OFF, len, 0);
		scatter(&rw, n - 1);
		TRY(recv_wr(B, 0, &rw));
	}
	TRY(send_wr(A, 0, &w));
	TRY(one_ok(A, 0, &wc));
	if (ops[op].recv)
		TRY(one_ok(B, 0, &wc));
	TRY(landed(to, ends[to].base + DST_OFF, len));
	return unpair(0);
}

static enum result inlined(unsigned int op)
{
	struct qp_opt o = { .max_inline = 128 };
	uint32_t size[] = { 0, 1, 60, 128 };
	struct wr w, rw;
	struct wc wc;
	int i;

	TRY(pair_up(0, &o, NULL));
	NEED(ends[A].max_inline >= 128, "asked for 128 bytes inline, got %u",
	     ends[A].max_inline);
	for (i = 0; i < 4; i++) {
		fill(A, ends[A].base + SRC_OFF, size[i], SEED_SRC);
		guard(B, ends[B].base + DST_OFF, size[i]);
		rw = simple_wr(B, 0, DST_OFF, size[i], 0);
		if (ops[op].recv)
			TRY(recv_wr(B, 0, &rw));
		w = simple_wr(A, ops[op].opcode, SRC_OFF, size[i], DST_OFF);
		w.flags |= IBV_SEND_INLINE;
		w.sge[0].lkey = 0xdead;		/* not looked at */
		TRY(send_wr(A, 0, &w));
		/* the buffer is the user's again */
		fill(A, ends[A].base + SRC_OFF, size[i], SEED_DST);
		TRY(one_ok(A, 0, &wc));
		if (ops[op].recv)
			TRY(one_ok(B, 0, &wc));
		TRY(landed(B, ends[B].base + DST_OFF, size[i]));
	}
	return unpair(0);
}

/* READ into a buffer, then a fenced SEND of it: it must send what was read. */
static enum result fence(void)
{
	uint32_t len = 20000;
	struct wr rd, w, rw;
	struct wc wc[2];
	int i;

	TRY(pair_up(0, NULL, NULL));
	for (i = 0; i < 8; i++) {
		fill(B, ends[B].base + SRC_OFF, len, SEED_SRC);
		guard(A, ends[A].base + SRC_OFF, len);
		guard(B, ends[B].base + DST_OFF, len);
		rw = simple_wr(B, 0, DST_OFF, len, 0);
		TRY(recv_wr(B, 0, &rw));
		rd = simple_wr(A, IBV_WR_RDMA_READ, SRC_OFF, len, SRC_OFF);
		rd.id = 1;
		w = simple_wr(A, IBV_WR_SEND, SRC_OFF, len, 0);
		w.flags |= IBV_SEND_FENCE;
		w.id = 2;
		TRY(send_wr(A, 0, &rd));
		TRY(send_wr(A, 0, &w));
		TRY(reap(A, 0, 2, wc));
		NEED(wc[0].status == IBV_WC_SUCCESS && wc[0].id == 1 &&
		     wc[1].status == IBV_WC_SUCCESS && wc[1].id == 2,
		     "completions are not READ, then SEND");
		TRY(one_ok(B, 0, wc));
		TRY(landed(B, ends[B].base + DST_OFF, len));
	}
	return unpair(0);
}

/* 15 of 16 unsignalled, four times round the ring; each completion in turn. */
static enum result unsignalled(void)
{
	struct wr w;
	struct wc wc;
	int i;

	TRY(pair_up(0, NULL, NULL));
	fill(A, ends[A].base + SRC_OFF, 256, SEED_SRC);
	for (i = 1; i <= 256; i++) {
		w = simple_wr(A, IBV_WR_RDMA_WRITE, SRC_OFF + (unsigned int)i - 1,
			      1, DST_OFF + (unsigned int)i - 1);
		w.id = (unsigned int)i;
		w.flags = i % 16 ? 0 : IBV_SEND_SIGNALED;
		TRY(send_wr(A, 0, &w));
		if (i % 16)
			continue;
		TRY(one_ok(A, 0, &wc));
		NEED(wc.id == (unsigned int)i, "completion of %llu, not %d",
		     (unsigned long long)wc.id, i);
	}
	TRY(none(A, 0, 100));
	NEED(same(B, ends[B].base + DST_OFF, 256, SEED_SRC), "data are wrong");
	/* an error completes though unsignalled */
	w.flags = 0;
	w.rkey ^= 0xff00;
	TRY(send_wr(A, 0, &w));
	TRY(one_status(A, 0, IBV_WC_REM_ACCESS_ERR));
	return unpair(0);
}

static enum result arm(enum side s, bool solicited)
{
	struct cmd c = { .op = CMD_ARM, .v = solicited };
	struct rep r;

	tell(s, &c, &r);
	NEED(!r.err, "arm CQ: %s", strerror((int)r.err));
	return PASS;
}

static enum result event(enum side s, uint32_t ms, bool want)
{
	struct cmd c = { .op = CMD_EVENT, .v = ms };
	struct rep r;

	tell(s, &c, &r);
	NEED(!r.err, "completion event: %s", strerror((int)r.err));
	NEED(r.n == want, want ? "no event within %u ms" :
	     "an event that was not asked for within %u ms", ms);
	return PASS;
}

static enum result say_hello(uint32_t opcode, bool solicited)
{
	struct wr w = simple_wr(A, opcode, SRC_OFF, 8, DST_OFF), rw;
	struct wc wc;

	rw = simple_wr(B, 0, DST_OFF, 8, 0);
	TRY(recv_wr(B, 0, &rw));
	if (solicited)
		w.flags |= IBV_SEND_SOLICITED;
	TRY(send_wr(A, 0, &w));
	return one_ok(A, 0, &wc);
}

static enum result solicited(uint32_t opcode)
{
	struct wc wc;

	TRY(pair_up(0, NULL, NULL));
	TRY(say_hello(opcode, true));
	TRY(one_ok(B, 0, &wc));
	TRY(event(B, 50, false));		/* never armed */
	TRY(arm(B, true));
	TRY(say_hello(opcode, false));
	TRY(one_ok(B, 0, &wc));
	TRY(event(B, 200, false));
	TRY(say_hello(opcode, true));
	TRY(event(B, WAIT_MS, true));
	TRY(one_ok(B, 0, &wc));
	TRY(say_hello(opcode, true));		/* one event for one arming */
	TRY(one_ok(B, 0, &wc));
	TRY(event(B, 50, false));
	TRY(arm(B, false));
	TRY(say_hello(opcode, false));
	TRY(event(B, WAIT_MS, true));
	TRY(one_ok(B, 0, &wc));
	return unpair(0);
}

void test_shape(void)
{
	unsigned int op, n = ends[A].max_sge;

	if (n > ends[B].max_sge)
		n = ends[B].max_sge;
	if (n > MAX_SGE)
		n = MAX_SGE;
	for (op = 0; op < sizeof(ops) / sizeof(ops[0]); op++) {
		report(many_sge(op, 3), "%s of 3 SGEs", ops[op].name);
		report(many_sge(op, n), "%s of %u SGEs", ops[op].name, n);
		if (ops[op].opcode != IBV_WR_RDMA_READ)
			report(inlined(op), "%s inline", ops[op].name);
	}
	report(fence(), "SEND fenced behind a READ");
	report(unsignalled(), "unsignalled");
	report(solicited(IBV_WR_SEND), "events, SEND");
	report(solicited(IBV_WR_RDMA_WRITE_WITH_IMM), "events, WRITE_IMM");
}

/*
 * Annex A19: what was written is flushed, by @rkey if not 0, and then said to be
 * there, in one go.
 */
static enum result commit(enum side s, uint32_t rkey, uint32_t len, uint64_t v)
{
	uint64_t at = ends[!s].base + DST_OFF + 5;
	uint64_t cell = ends[!s].base + DST_OFF - 4096;
	struct wr w = simple_wr(s, IBV_WR_RDMA_WRITE, SRC_OFF + 3, len, DST_OFF + 5);
	struct wc wc;

	fill(s, ends[s].base + SRC_OFF + 3, len, SEED_SRC);
	guard(!s, at, len);
	guard(!s, cell, 8);
	w.flags = 0;
	TRY(send_wr(s, 0, &w));
	w.flags = IBV_SEND_SIGNALED;
	if (rkey) {
		w.opcode = IBV_WR_FLUSH;
		w.rkey = rkey;
		if (v % 3 == 0)
			w.sge[0].len = 0;
		TRY(send_wr(s, 0, &w));
	}
	w.opcode = IBV_WR_ATOMIC_WRITE;
	w.raddr = cell;
	w.swap = v * 0x123456789abcdef7;
	TRY(send_wr(s, 0, &w));
	if (rkey) {
		TRY(one_ok(s, 0, &wc));
		NEED(wc.opcode == IBV_WC_FLUSH, "FLUSH has opcode %u", wc.opcode);
	}
	TRY(one_ok(s, 0, &wc));
	NEED(wc.opcode == IBV_WC_ATOMIC_WRITE, "atomic WRITE has opcode %u",
	     wc.opcode);
	TRY(landed(!s, at, len));
	NEED(get64(!s, cell) == w.swap, "value written is wrong");
	return unharmed(!s, cell, 8);
}

/* More at once than READs are agreed on, completed in the order of posting */
static enum result commits(enum side s, uint32_t rkey)
{
	struct wr w = simple_wr(s, 0, 0, 4096, DST_OFF);
	unsigned int i;

	if (rkey)
		w.rkey = rkey;
	for (i = 0; i < 60; i++) {
		w.id = i;
		w.opcode = i % 3 || !rkey ? IBV_WR_ATOMIC_WRITE : IBV_WR_FLUSH;
		w.swap = i;
		TRY(send_wr(s, 0, &w));
	}
	TRY(in_order(s, 0, 60, IBV_WC_SUCCESS));
	NEED(get64(!s, ends[!s].base + DST_OFF) == 59, "the last value is not there");
	return PASS;
}

static enum result annex(enum side s, uint32_t rkey)
{
	uint32_t m = mtu_bytes(opt_mtu);
	uint32_t size[] = { 1, m - 1, m, 3 * m + 1, 70001, 1 << 20 };
	struct qp_opt o = { .annex = 1, .access = RW_ACCESS | IBV_ACCESS_FLUSH_GLOBAL };
	unsigned int i;

	TRY(pair_up(0, &o, NULL));
	for (i = 0; i < 24; i++)
		TRY(commit(s, rkey, size[i % 6], i + 1));
	TRY(commits(s, rkey));
	return unpair(0);
}

/* By a region that gives no such right. Not where packets are lost, as the NAK may be */
static enum result flush_refused(enum side s)
{
	struct qp_opt o = { .annex = 1, .access = RW_ACCESS | IBV_ACCESS_FLUSH_GLOBAL };
	struct wr w = simple_wr(s, IBV_WR_FLUSH, 0, 8, DST_OFF);

	TRY(pair_up(0, &o, NULL));
	TRY(send_wr(s, 0, &w));
	TRY(one_status(s, 0, IBV_WC_REM_ACCESS_ERR));
	return unpair(0);
}

void test_annex_refused(void)
{
	int s;

	for (s = A; s <= B; s++)
		report(flush_refused(s), "FLUSH without the right to it, by %c", 'A' + s);
}

/* rdma_rxe takes no ICRC of a FLUSH but one over its headers twice, and makes such */
static enum result flush_alone(enum side s, uint32_t rkey)
{
	struct qp_opt o = {
		.annex = 1, .access = RW_ACCESS | IBV_ACCESS_FLUSH_GLOBAL,
		.timeout = 12, .retry = 3,
	};
	struct wr w = simple_wr(s, IBV_WR_FLUSH, 0, 8, DST_OFF);
	struct wc wc;

	w.rkey = rkey;
	TRY(pair_up(0, &o, NULL));
	TRY(send_wr(s, 0, &w));
	TRY(reap(s, 0, 1, &wc));
	TRY(unpair(0));
	if (wc.status == IBV_WC_RETRY_EXC_ERR)
		return skipped("nobody answers it: rdma_rxe's ICRC");
	NEED(wc.status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(wc.status));
	return PASS;
}

void test_annex(void)
{
	bool flush = true;
	uint32_t rkey[2];
	enum result res;
	int s;

	for (s = A; s <= B; s++) {
		if (reg_mr(s, 1, ends[s].base, ARENA, RW_ACCESS |
			   IBV_ACCESS_FLUSH_GLOBAL, 0, NULL, &rkey[s])) {
			report(FAIL, "memory that may be flushed");
			return;
		}
	}
	for (s = A; s <= B; s++) {
		if (ends[A].rxe != ends[B].rxe) {
			res = flush_alone(s, rkey[!s]);
			report(res, "FLUSH by %c", 'A' + s);
			flush = res == PASS;
		}
		report(annex(s, flush ? rkey[!s] : 0), "WRITE,%s atomic WRITE by %c",
		       flush ? " FLUSH," : "", 'A' + s);
	}
	for (s = A; s <= B; s++)
		dereg_mr(s, 1);
}

#define WINDOW		50000u

/* @key of a window of @s, over WINDOW bytes from DST_OFF in MR 1 */
static enum result bind_window(enum side s, uint32_t *key)
{
	struct wr w = simple_wr(s, IBV_WR_BIND_MW, DST_OFF, WINDOW, 0);
	struct wc wc;

	*key = ibv_inc_rkey(*key);
	w.rkey = *key;
	w.imm = 1;
	w.pad = 1;
	TRY(send_wr(s, 0, &w));
	TRY(one_ok(s, 0, &wc));
	NEED(wc.opcode == IBV_WC_BIND_MW, "bind has opcode %u", wc.opcode);
	return PASS;
}

/* All that the other end may do through it */
static enum result through(enum side s, uint32_t key)
{
	uint64_t at = ends[s].base + DST_OFF, back = ends[!s].base + DST_OFF;
	struct wr w = simple_wr(!s, IBV_WR_RDMA_WRITE, SRC_OFF, WINDOW, DST_OFF);
	struct wc wc;

	fill(!s, ends[!s].base + SRC_OFF, WINDOW, SEED_SRC);
	guard(s, at, WINDOW);
	guard(!s, back, WINDOW);
	w.rkey = key;
	TRY(send_wr(!s, 0, &w));
	TRY(one_ok(!s, 0, &wc));
	TRY(landed(s, at, WINDOW));
	w.opcode = IBV_WR_RDMA_READ;
	w.sge[0].addr = back;
	TRY(send_wr(!s, 0, &w));
	TRY(one_ok(!s, 0, &wc));
	TRY(landed(!s, back, WINDOW));
	set64(s, at + 8, 40);
	w.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	w.raddr += 8;
	w.sge[0].len = 8;
	w.compare = 2;
	TRY(send_wr(!s, 0, &w));
	TRY(one_ok(!s, 0, &wc));
	NEED(get64(!s, back) == 40 && get64(s, at + 8) == 42, "atomic is wrong");
	return PASS;
}

/* @len bytes by the window's @key are refused, and nothing is moved; then anew */
static enum result window_refused(enum side s, uint32_t key, uint32_t len)
{
	struct wr w = simple_wr(!s, IBV_WR_RDMA_WRITE, SRC_OFF, len, DST_OFF);

	w.rkey = key;
	fill(s, ends[s].base + DST_OFF, len, SEED_DST);
	TRY(send_wr(!s, 0, &w));
	TRY(one_status(!s, 0, IBV_WC_REM_ACCESS_ERR));
	NEED(same(s, ends[s].base + DST_OFF, len, SEED_DST), "bytes were moved");
	TRY(unpair(0));
	return pair_up(0, NULL, NULL);
}

enum closed { BY_OWNER, BY_PEER, LEFT };

static enum result window(enum side s, uint32_t *key, enum closed how)
{
	struct wr w = simple_wr(s, IBV_WR_LOCAL_INV, 0, 0, 0), rw;
	struct wc wc;

	TRY(bind_window(s, key));
	TRY(through(s, *key));
	w.num_sge = 0;
	w.imm = *key;
	if (how == BY_OWNER) {
		TRY(send_wr(s, 0, &w));
		TRY(one_ok(s, 0, &wc));
		NEED(wc.opcode == IBV_WC_LOCAL_INV, "opcode %u", wc.opcode);
	} else if (how == BY_PEER) {
		rw = simple_wr(s, 0, 0, 0, 0);
		TRY(recv_wr(s, 0, &rw));
		w.opcode = IBV_WR_SEND_WITH_INV;
		TRY(send_wr(!s, 0, &w));
		TRY(one_ok(!s, 0, &wc));
		TRY(one_ok(s, 0, &wc));
		/* rdma_rxe has the kernel's flag, which is another's here */
		if (ends[s].rxe && wc.flags & IBV_WC_IP_CSUM_OK) {
			wc.flags |= IBV_WC_WITH_INV;
			wc.imm = htobe32(wc.imm);
		}
		NEED(wc.flags & IBV_WC_WITH_INV && wc.imm == *key,
		     "received with flags %#x, key %#x", wc.flags, wc.imm);
	}
	return window_refused(s, *key, how == LEFT ? WINDOW + 1 : WINDOW);
}

static enum result windows(enum side s)
{
	/* a QP of rdma_rxe's with a window that is bound cannot be destroyed */
	bool left = !ends[s].rxe;
	uint32_t key;
	int how;

	TRY(reg_mr(s, 1, ends[s].base, ARENA, RW_ACCESS | IBV_ACCESS_MW_BIND, 0,
		   NULL, NULL));
	TRY(alloc_mw(s, 1, &key));
	TRY(pair_up(0, NULL, NULL));
	for (how = BY_OWNER; how < LEFT + left; how++)
		TRY(window(s, &key, how));
	/* the QP that it was bound by has gone, and so has what it let in */
	if (left)
		TRY(window_refused(s, key, WINDOW));
	TRY(unpair(0));
	TRY(dealloc_mw(s, 1));
	return dereg_mr(s, 1);
}

void test_window(void)
{
	report(windows(A), "a window of A's, closed by either end");
	report(windows(B), "a window of B's, closed by either end");
}

/* 2^31 bytes of addresses over HUGE_PERIOD of memory at each end. */
static enum result largest(uint64_t *base, uint32_t *key)
{
	uint64_t at;
	struct wr w = simple_wr(A, IBV_WR_RDMA_WRITE, 0, 1u << 31, 0);
	struct wc wc;

	TRY(pair_up(0, NULL, NULL));
	fill(A, base[A], HUGE_PERIOD, SEED_SRC);
	fill(B, base[B], HUGE_PERIOD, SEED_DST);
	w.sge[0].addr = base[A];
	w.sge[0].lkey = key[A];
	w.raddr = base[B];
	w.rkey = key[B];
	TRY(send_wr(A, 0, &w));
	TRY(reap_within(A, 0, 1, &wc, 900000));
	NEED(wc.status == IBV_WC_SUCCESS, "completion: %s",
	     ibv_wc_status_str(wc.status));
	at = differs(B, base[B], HUGE_PERIOD, SEED_SRC);
	NEED(at == HUGE_PERIOD, "byte %llu is wrong", (unsigned long long)at);
	return unpair(0);
}

/* One byte more, of two SGEs: refused by the post or completed with an error. */
static enum result too_large(uint32_t opcode, uint64_t *base, uint32_t *key)
{
	struct cmd c = { .op = CMD_SEND };
	uint64_t at;
	struct rep r;

	TRY(pair_up(0, NULL, NULL));
	fill(A, base[A], HUGE_PERIOD, SEED_SRC);
	fill(B, base[B], HUGE_PERIOD, SEED_DST);
	c.wr = simple_wr(A, opcode, 0, 1u << 31, 0);
	c.wr.num_sge = 2;
	c.wr.sge[0].addr = base[A];
	c.wr.sge[0].lkey = key[A];
	c.wr.sge[1] = c.wr.sge[0];
	c.wr.sge[1].len = 1;
	c.wr.raddr = base[B];
	c.wr.rkey = key[B];
	tell(A, &c, &r);
	if (!r.err)
		TRY(one_status(A, 0, IBV_WC_LOC_LEN_ERR));
	at = differs(B, base[B], HUGE_PERIOD, SEED_DST);
	NEED(at == HUGE_PERIOD, "byte %llu was moved", (unsigned long long)at);
	return unpair(0);
}

/* More than our port says, as NICs' do that take no more: it takes that from those who ask */
void test_big(void)
{
	struct cmd c = { .op = CMD_HUGE, .len = 1ull << 31 };
	uint64_t base[2];
	uint32_t key[2];
	struct rep r;
	int s;

	for (s = A; s <= B; s++) {
		if (ends[s].max_msg < 1u << 30) {
			report(skipped("port of %c takes only %u bytes", 'A' + s,
				       ends[s].max_msg), "2^31 bytes");
			return;
		}
	}
	for (s = A; s <= B; s++) {
		tell(s, &c, &r);
		base[s] = r.addr;
		if (r.err || reg_mr(s, 1, base[s], c.len, RW_ACCESS, 0, NULL,
				    &key[s])) {
			report(FAIL, "an MR of 2^31 bytes");
			return;
		}
	}
	report(too_large(IBV_WR_RDMA_WRITE, base, key), "WRITE of 2^31 + 1 bytes refused");
	report(too_large(IBV_WR_SEND, base, key), "SEND of 2^31 + 1 bytes refused");
	report(largest(base, key), "WRITE of 2^31 bytes");
	for (s = A; s <= B; s++)
		dereg_mr(s, 1);
}

/* The process at the other end, -1 when it is on another host. */
static pid_t other_process(void)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(ends[B].fd, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		return -1;
	return cred.pid > 0 ? cred.pid : -1;
}

static bool is_stopped(pid_t pid)
{
	char path[32], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	fclose(f);
	return state == 'T';
}

/* All that A can do by itself; what B has to take its turn for, it has posted. */
static enum result unattended(uint64_t cell, uint32_t len)
{
	struct wr w = simple_wr(A, IBV_WR_RDMA_WRITE, SRC_OFF, len, DST_OFF);
	uint64_t at = ends[A].base + DST_OFF, own = ends[A].base;
	struct wc wc;

	TRY(send_wr(A, 0, &w));
	TRY(one_ok(A, 0, &wc));
	guard(A, at, len);
	w = simple_wr(A, IBV_WR_RDMA_READ, DST_OFF, len, DST_OFF);
	TRY(send_wr(A, 0, &w));
	TRY(one_ok(A, 0, &wc));
	TRY(landed(A, at, len));
	w = simple_wr(A, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, cell);
	w.compare = 5;
	TRY(send_wr(A, 0, &w));
	TRY(one_ok(A, 0, &wc));
	NEED(get64(A, own) == 1000, "FETCH_ADD gave %llu",
	     (unsigned long long)get64(A, own));
	w = simple_wr(A, IBV_WR_ATOMIC_CMP_AND_SWP, 0, 8, cell);
	w.compare = 1005;
	w.swap = 77;
	TRY(send_wr(A, 0, &w));
	TRY(one_ok(A, 0, &wc));
	NEED(get64(A, own) == 1005, "CMP_SWAP gave %llu",
	     (unsigned long long)get64(A, own));
	w = simple_wr(A, IBV_WR_SEND, SRC_OFF, len, 0);
	TRY(send_wr(A, 0, &w));
	return one_ok(A, 0, &wc);
}

static enum result while_stopped(pid_t pid)
{
	uint64_t cell = 128, took = DST_OFF + ARENA / 4;
	const uint32_t len = 70001;
	enum result res;
	struct wc wc;
	struct wr w;
	int i;

	TRY(pair_up(0, NULL, NULL));
	fill(A, ends[A].base + SRC_OFF, len, SEED_SRC);
	guard(B, ends[B].base + DST_OFF, len);
	guard(B, ends[B].base + took, len);
	set64(B, ends[B].base + cell, 1000);
	w = simple_wr(B, 0, took, len, 0);
	TRY(recv_wr(B, 0, &w));
	NEED(!kill(pid, SIGSTOP), "process %d cannot be stopped", pid);
	for (i = 0; i < 5000 && !is_stopped(pid); i++)
		usleep(1000);
	res = is_stopped(pid) ? unattended(cell, len) :
	      failed("process %d does not stop", pid);
	if (res == PASS && !is_stopped(pid))
		res = failed("process %d went on by itself", pid);
	kill(pid, SIGCONT);
	TRY(res);
	TRY(landed(B, ends[B].base + DST_OFF, len));
	NEED(get64(B, ends[B].base + cell) == 77, "the atomics left %llu",
	     (unsigned long long)get64(B, ends[B].base + cell));
	TRY(one_ok(B, 0, &wc));
	NEED(wc.len == len, "received length %u, not %u", wc.len, len);
	TRY(landed(B, ends[B].base + took, len));
	return unpair(0);
}

void test_stopped(void)
{
	pid_t pid = other_process();

	report(pid < 0 ? skipped("it is on another host") : while_stopped(pid),
	       "WRITE, READ, atomics and SEND while the other process is stopped");
}
