// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of many things at once: QPs, atomics on one word, READs, and random
 * operations in both directions, each in a slot of memory of its own.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

#define SLOTS		64u
#define SLOT		(ARENA / 2 / SLOTS)
#define SRC(n)		((n) * SLOT)
#define DST(n)		(ARENA / 2 + (n) * SLOT)
#define QPS		64u

static enum result all_ok(enum side s, uint32_t i, uint32_t n)
{
	struct wc wc[MAX_WC];
	uint32_t got, k;

	for (got = 0; got < n; got += k) {
		k = n - got < MAX_WC ? n - got : MAX_WC;
		TRY(reap(s, i, k, wc));
		for (uint32_t j = 0; j < k; j++)
			NEED(wc[j].status == IBV_WC_SUCCESS,
			     "completion on %c, id %llu: %s", 'A' + s,
			     (unsigned long long)wc[j].id,
			     ibv_wc_status_str(wc[j].status));
	}
	return PASS;
}

static enum result unpair_all(uint32_t n)
{
	while (n--)
		TRY(unpair(n));
	return PASS;
}

/* A SEND each way on each of 64 QPs, all posted before any is reaped. */
static enum result many_qps(void)
{
	struct qp_opt o = { .depth = 4 };
	uint32_t i, len = 3 * 1024 + 5;
	struct wr w;
	int s;

	for (i = 0; i < QPS; i++) {
		o.shared_cq = i > 0;
		TRY(pair_up(i, &o, NULL));
	}
	for (s = A; s <= B; s++) {
		for (i = 0; i < QPS; i++) {
			fill(s, ends[s].base + SRC(i), len, i + 1000 * (unsigned int)s);
			w = simple_wr(s, 0, DST(i), len, 0);
			TRY(recv_wr(s, i, &w));
		}
	}
	for (i = 0; i < QPS; i++) {
		for (s = A; s <= B; s++) {
			w = simple_wr(s, IBV_WR_SEND, SRC(i), len, 0);
			TRY(send_wr(s, i, &w));
		}
	}
	for (s = A; s <= B; s++) {
		TRY(all_ok(s, 0, 2 * QPS));
		for (i = 0; i < QPS; i++)
			NEED(same(s, ends[s].base + DST(i), len,
				  i + 1000 * (unsigned int)!s),
			     "data of QP %u at %c are wrong", i, 'A' + s);
	}
	return unpair_all(QPS);
}

/*
 * 16 QPs add to one word; every value in between is seen once. @met: so many times the CPU
 * had begun, and was not done; NULL: it does not add
 */
static enum result sum(uint32_t *met)
{
	struct qp_opt o = { .depth = 64 };
	uint64_t word = ends[B].base + DST(0), v;
	uint32_t i, n, qps = 16, each = 16;
	static uint8_t seen[256];
	struct cmd c = { .op = CMD_ADD, .addr = word, .v = 1ull << 32,
			 .len = 1000000 };
	struct wr w;
	struct rep r;

	if (met && !ends[B].atomic_glob)
		return skipped("atomics of B are not atomic against its CPUs");
	for (i = 0; i < qps; i++) {
		o.shared_cq = i > 0;
		TRY(pair_up(i, &o, NULL));
	}
	set64(B, word, 0);
	memset(seen, 0, sizeof(seen));
	for (n = 0; n < each; n++) {
		for (i = 0; i < qps; i++) {
			w = simple_wr(A, IBV_WR_ATOMIC_FETCH_AND_ADD,
				      8 * (n * qps + i), 8, DST(0));
			w.compare = 1;
			TRY(send_wr(A, i, &w));
		}
		/* From here on both add, at the same time */
		if (met && n == each / 2)
			tell_begin(B, &c, &r);
	}
	TRY(all_ok(A, 0, qps * each));
	if (met)
		tell_end(B, &r);
	for (i = 0; i < qps * each; i++) {
		v = get64(A, ends[A].base + 8 * i);
		if (met)
			*met += v >> 32 && v >> 32 < c.len;
		v &= 0xffffffff;
		NEED(v < qps * each && !seen[v]++, "%llu was seen twice or never was",
		     (unsigned long long)v);
	}
	v = get64(B, word);
	NEED((v & 0xffffffff) == qps * each, "the sum is %llu, not %u",
	     (unsigned long long)(v & 0xffffffff), qps * each);
	NEED(v >> 32 == (met ? c.len : 0), "the CPU's sum is %llu",
	     (unsigned long long)(v >> 32));
	return unpair_all(qps);
}

/* Who comes first may be done before the other begins: then once more */
static enum result sum_beside_cpu(void)
{
	uint32_t met = 0, i;

	for (i = 0; i < 20 && !met; i++) {
		enum result ret = sum(&met);

		if (ret != PASS)
			return ret;
	}
	NEED(met, "never at the same time");
	return PASS;
}

static enum result reads(uint32_t rd)
{
	struct qp_opt o = { .rd = rd };
	uint32_t i, len[SLOTS];
	struct wr w;

	TRY(pair_up(0, &o, NULL));
	for (i = 0; i < SLOTS; i++) {
		len[i] = (uint32_t)rnd(20000);
		fill(B, ends[B].base + SRC(i), len[i], i + 1);
		fill(A, ends[A].base + DST(i), len[i], 999);
		fill(A, ends[A].base + DST(i) + len[i], GUARD, 998);
	}
	for (i = 0; i < SLOTS; i++) {
		w = simple_wr(A, IBV_WR_RDMA_READ, DST(i), len[i], SRC(i));
		TRY(send_wr(A, 0, &w));
	}
	TRY(all_ok(A, 0, SLOTS));
	for (i = 0; i < SLOTS; i++)
		NEED(same(A, ends[A].base + DST(i), len[i], i + 1) &&
		     same(A, ends[A].base + DST(i) + len[i], GUARD, 998),
		     "READ %u is wrong, or what is behind it", i);
	return unpair(0);
}

/* Both ends write 32 times 64 KiB at once. */
static enum result both_ways(void)
{
	uint32_t i, len = 65536;
	struct wr w;
	int s;

	TRY(pair_up(0, NULL, NULL));
	for (s = A; s <= B; s++) {
		for (i = 0; i < 32; i++) {
			fill(s, ends[s].base + SRC(i), len, i + 1 + 100 * (unsigned int)s);
			fill(!s, ends[!s].base + DST(i), len, 999);
		}
	}
	for (i = 0; i < 32; i++) {
		for (s = A; s <= B; s++) {
			w = simple_wr(s, IBV_WR_RDMA_WRITE, SRC(i), len, DST(i));
			TRY(send_wr(s, 0, &w));
		}
	}
	for (s = A; s <= B; s++)
		TRY(all_ok(s, 0, 32));
	for (s = A; s <= B; s++)
		for (i = 0; i < 32; i++)
			NEED(same(!s, ends[!s].base + DST(i), len,
				  i + 1 + 100 * (unsigned int)s),
			     "WRITE %u from %c is wrong", i, 'A' + s);
	return unpair(0);
}

void test_many(void)
{
	report(many_qps(), "%u QPs at once", QPS);
	report(both_ways(), "WRITEs in both directions");
	report(sum(NULL), "FETCH_ADD by 16 QPs");
	report(sum_beside_cpu(), "FETCH_ADD against the CPU");
	report(reads(1), "64 READs, one outstanding");
	report(reads(16), "64 READs, 16 outstanding");
}

/* Not a power of two, up to which most requesters round it. */
void test_depth(void)
{
	report(reads(5), "64 READs, 5 outstanding");
}

#define FLOOD_QPS	8u
#define FLOOD		(ARENA / 2 / FLOOD_QPS)
/* What a CPU's queue of a host to itself holds, and what is taken off it at once. */
#define LOOP_MAX	1024

/*
 * Each of the QPs has a window that is larger than the queue: a run of a QP adds
 * more to it than a poll of the queue takes off, both on one CPU.
 */
static enum result flood(void)
{
	struct qp_opt o = { .mtu = IBV_MTU_256, .timeout = 20 };
	int64_t most = 2 * LOOP_MAX * sysconf(_SC_NPROCESSORS_CONF), waits;
	uint64_t sent[2], rcvd[2], untaken[2];
	struct wr w;
	uint32_t i;

	for (i = 0; i < FLOOD_QPS; i++) {
		o.shared_cq = i > 0;
		TRY(pair_up(i, &o, NULL));
		fill(A, ends[A].base + i * FLOOD, FLOOD, i + 1);
	}
	fill(B, ends[B].base + ARENA / 2, ARENA / 2, 999);
	TRY(count(A, COUNT_SENT, &sent[0]));
	TRY(count(A, COUNT_RCVD, &rcvd[0]));
	TRY(count(A, COUNT_UNTAKEN, &untaken[0]));
	for (i = 0; i < FLOOD_QPS; i++) {
		w = simple_wr(A, IBV_WR_RDMA_WRITE, i * FLOOD, FLOOD,
			      ARENA / 2 + i * FLOOD);
		TRY(send_wr(A, i, &w));
	}
	/* What comes between the two only makes it less. */
	TRY(count(A, COUNT_SENT, &sent[1]));
	TRY(count(A, COUNT_RCVD, &rcvd[1]));
	waits = (int64_t)(sent[1] - sent[0] - (rcvd[1] - rcvd[0]));
	TRY(all_ok(A, 0, FLOOD_QPS));
	for (i = 0; i < FLOOD_QPS; i++)
		NEED(same(B, ends[B].base + ARENA / 2 + i * FLOOD, FLOOD, i + 1),
		     "data of QP %u are wrong", i);
	usleep(20000);		/* sysfs shows values 10 ms old */
	TRY(count(A, COUNT_UNTAKEN, &untaken[1]));
	printf("%llu frames were not taken at once, %lld waited after the last post\n",
	       (unsigned long long)(untaken[1] - untaken[0]), (long long)waits);
	NEED(untaken[1] > untaken[0], "the queue was never full");
	NEED(waits <= most, "%lld packets wait, of %lld at most", (long long)waits,
	     (long long)most);
	return unpair_all(FLOOD_QPS);
}

void test_flood(void)
{
	report(flood(), "a queue to itself that is full: nothing is lost, and no more waits");
}

/**
 * struct job - one random operation
 * @recv: it takes a receive of the other end
 * @value: atomic: what the word held
 */
struct job {
	uint32_t opcode;
	uint32_t qp;
	uint32_t len;
	uint32_t seed;
	enum side from;
	enum side to;
	bool recv;
	uint64_t value;
};

static bool is_atomic(const struct job *j)
{
	return j->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/*
 * Start an operation from @s in slot @i. Its receive is posted just before it,
 * so that the messages of a QP find their own slots.
 */
static enum result start(struct job *j, enum side s, uint32_t i)
{
	static const uint32_t op[] = {
		IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	uint64_t src, dst;
	struct wr w;

	j->opcode = op[rnd(6)];
	j->qp = (uint32_t)rnd(4);
	j->len = (uint32_t)(rnd(4) ? rnd(6000) : rnd(60000));
	j->seed = (uint32_t)rnd(1u << 31);
	j->from = j->opcode == IBV_WR_RDMA_READ ? !s : s;
	j->to = !j->from;
	j->recv = !is_atomic(j) && j->opcode != IBV_WR_RDMA_WRITE &&
		  j->opcode != IBV_WR_RDMA_READ;
	src = SRC(i) + 8 * rnd(8) + (is_atomic(j) ? 0 : rnd(8));
	dst = DST(i) + GUARD;
	fill(j->from, ends[j->from].base + src, j->len, j->seed);
	fill(j->to, ends[j->to].base + dst - GUARD, GUARD, j->seed ^ 2);
	fill(j->to, ends[j->to].base + dst, j->len, j->seed ^ 1);
	fill(j->to, ends[j->to].base + dst + j->len, GUARD, j->seed ^ 2);
	if (j->recv) {
		w = simple_wr(!s, 0, dst, j->len, 0);
		TRY(recv_wr(!s, j->qp, &w));
	}
	w = simple_wr(s, j->opcode, src, j->len, dst);
	if (j->opcode == IBV_WR_RDMA_READ) {
		w = simple_wr(s, j->opcode, dst, j->len, src);
	} else if (is_atomic(j)) {
		w = simple_wr(s, j->opcode, SRC(i), 8, dst);
		j->value = rnd(1ull << 40);
		set64(!s, ends[!s].base + dst, j->value);
		w.compare = j->seed;
	}
	w.imm = i;
	return send_wr(s, j->qp, &w);
}

static enum result finished(const struct job *j, enum side s, uint32_t i)
{
	uint64_t dst = ends[j->to].base + DST(i) + GUARD, got, left;

	if (is_atomic(j)) {
		got = get64(s, ends[s].base + SRC(i));
		left = get64(!s, dst);
		NEED(got == j->value && left == j->value + j->seed,
		     "FETCH_ADD %u from %c: %#llx + %#x gave %#llx, left %#llx",
		     i, 'A' + s, (unsigned long long)j->value, j->seed,
		     (unsigned long long)got, (unsigned long long)left);
		return PASS;
	}
	NEED(same(j->to, dst, j->len, j->seed),
	     "operation %u from %c, opcode %u, %u bytes, is wrong", i, 'A' + s,
	     j->opcode, j->len);
	NEED(same(j->to, dst - GUARD, GUARD, j->seed ^ 2) &&
	     same(j->to, dst + j->len, GUARD, j->seed ^ 2),
	     "operation %u from %c, opcode %u, %u bytes: bytes beside it", i, 'A' + s,
	     j->opcode, j->len);
	return PASS;
}

/* Even slots take what A starts, odd ones what B starts. */
static enum result mix_round(void)
{
	static struct job job[SLOTS];
	uint32_t i, n[2] = { 0, 0 };
	enum side s;

	for (i = 0; i < SLOTS; i++) {
		s = i & 1;
		TRY(start(&job[i], s, i));
		n[s]++;
		n[!s] += job[i].recv;
	}
	TRY(all_ok(A, 0, n[A]));
	TRY(all_ok(B, 0, n[B]));
	for (i = 0; i < SLOTS; i++)
		TRY(finished(&job[i], i & 1, i));
	return PASS;
}

static enum result mix(void)
{
	struct qp_opt o = { 0 };
	uint32_t i;

	for (i = 0; i < 4; i++) {
		o.shared_cq = i > 0;
		TRY(pair_up(i, &o, NULL));
	}
	for (i = 0; i < opt_rounds; i++)
		TRY(mix_round());
	TRY(none(A, 0, 50));
	TRY(none(B, 0, 0));
	return unpair_all(4);
}

void test_mix(void)
{
	uint64_t seed = opt_seed;

	report(mix(), "%u random operations IPv%d MTU %u seed %llu",
	       opt_rounds * SLOTS, opt_family, mtu_bytes(opt_mtu),
	       (unsigned long long)seed);
}
