// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Data by either way to post and either way to poll. One thread, but for one that
 * waits for what a WRITE writes.
 */
#include <endian.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "verbs.h"

/* An operation: what is posted, and what both ends see */
static const struct op {
	enum ibv_wr_opcode wr;
	enum ibv_wc_opcode wc;
	bool recv;
	bool imm;
} ops[] = {
	{ IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE, false, false },
	{ IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_RDMA_WRITE, true, true },
	{ IBV_WR_SEND, IBV_WC_SEND, true, false },
	{ IBV_WR_SEND_WITH_IMM, IBV_WC_SEND, true, true },
	{ IBV_WR_RDMA_READ, IBV_WC_RDMA_READ, false, false },
	{ IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WC_COMP_SWAP, false, false },
	{ IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_FETCH_ADD, false, false },
};

static bool is_atomic(const struct op *op)
{
	return op->wr == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       op->wr == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* Three pieces of @len bytes in all, an atomic's one of 8 */
static int pieces(const struct op *op, struct ibv_sge *sge, uint32_t len)
{
	sge[0] = sge_of(0, 0, is_atomic(op) ? 8 : len / 3);
	sge[1] = sge_of(0, len / 3, len / 2);
	sge[2] = sge_of(0, len / 3 + len / 2, len - len / 3 - len / 2);
	return is_atomic(op) ? 1 : 3;
}

static int post_old(struct pair *p, const struct op *op, uint64_t id,
		    uint32_t len)
{
	struct ibv_sge sge[3];
	struct ibv_send_wr wr = {
		.wr_id = id,
		.sg_list = sge,
		.num_sge = pieces(op, sge, len),
		.opcode = op->wr,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = htobe32(id * 3),
	};

	if (is_atomic(op)) {
		wr.wr.atomic.remote_addr = sge_of(1, 0, 8).addr;
		wr.wr.atomic.rkey = mr->rkey;
		wr.wr.atomic.compare_add = 5;
		wr.wr.atomic.swap = 77;
	} else {
		wr.wr.rdma.remote_addr = sge_of(1, 0, len).addr;
		wr.wr.rdma.rkey = mr->rkey;
	}
	return post_wr(p->qp[0], &wr);
}

static int post_new(struct pair *p, const struct op *op, uint64_t id,
		    uint32_t len)
{
	uint64_t addr = sge_of(1, 0, len).addr;
	struct ibv_qp_ex *qp = p->qpx[0];
	struct ibv_sge sge[3];
	int n = pieces(op, sge, len);

	ibv_wr_start(qp);
	qp->wr_id = id;
	qp->wr_flags = IBV_SEND_SIGNALED;
	switch (op->wr) {
	case IBV_WR_RDMA_WRITE:
		ibv_wr_rdma_write(qp, mr->rkey, addr);
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		ibv_wr_rdma_write_imm(qp, mr->rkey, addr, htobe32(id * 3));
		break;
	case IBV_WR_SEND:
		ibv_wr_send(qp);
		break;
	case IBV_WR_SEND_WITH_IMM:
		ibv_wr_send_imm(qp, htobe32(id * 3));
		break;
	case IBV_WR_RDMA_READ:
		ibv_wr_rdma_read(qp, mr->rkey, addr);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		ibv_wr_atomic_cmp_swp(qp, mr->rkey, addr, 5, 77);
		break;
	default:
		ibv_wr_atomic_fetch_add(qp, mr->rkey, addr, 5);
	}
	if (n == 1)
		ibv_wr_set_sge(qp, sge[0].lkey, sge[0].addr, sge[0].length);
	else
		ibv_wr_set_sge_list(qp, n, sge);
	return ibv_wr_complete(qp);
}

static bool check_atomic(const struct op *op)
{
	uint64_t *here = (uint64_t *)buf, *there = here + BUF_SIZE / 8;

	NEED(*here == 5, "the value before was 5, not %llu",
	     (unsigned long long)*here);
	NEED(*there == (op->wr == IBV_WR_ATOMIC_CMP_AND_SWP ? 77 : 10),
	     "the value after is %llu", (unsigned long long)*there);
	return true;
}

static bool one(struct pair *p, const struct op *op, uint64_t id, uint32_t len,
		int (*post)(struct pair *, const struct op *, uint64_t,
			    uint32_t))
{
	int from = op->wr == IBV_WR_RDMA_READ;
	struct ibv_wc wc;

	fill(from, 0, len, id);
	fill(!from, 0, len, id + 1);
	if (is_atomic(op))
		*(uint64_t *)(buf + BUF_SIZE) = 5;
	if (op->recv)
		NEED(!post_recv(p, 1, ~id, 0, len), "ibv_post_recv");
	NEED(!post(p, op, id, len), "post");
	TRY(reap(p->cq[0], &wc, 1, IBV_WC_SUCCESS));
	NEED(wc.wr_id == id && wc.opcode == op->wc &&
	     wc.qp_num == p->qp[0]->qp_num, "wr_id %llu, opcode %d, QP %#x",
	     (unsigned long long)wc.wr_id, wc.opcode, wc.qp_num);
	if (is_atomic(op))
		return check_atomic(op);
	if (op->recv) {
		TRY(reap(p->cq[1], &wc, 1, IBV_WC_SUCCESS));
		NEED(wc.wr_id == ~id && wc.byte_len == len &&
		     wc.qp_num == p->qp[1]->qp_num &&
		     wc.opcode == (op->wc == IBV_WC_SEND ? IBV_WC_RECV :
				   IBV_WC_RECV_RDMA_WITH_IMM),
		     "received %u bytes, opcode %d", wc.byte_len, wc.opcode);
		NEED(!!(wc.wc_flags & IBV_WC_WITH_IMM) == op->imm &&
		     (!op->imm || wc.imm_data == htobe32(id * 3)),
		     "flags %#x, immediate %#x", wc.wc_flags,
		     be32toh(wc.imm_data));
	}
	return same(!from, 0, len, id);
}

static bool each(int (*post)(struct pair *, const struct op *, uint64_t,
			     uint32_t))
{
	static const uint32_t lens[] = { 1, 7, 1023, 1024, 1025, 40000 };
	uint64_t id = 1ull << 40;
	struct pair p;
	unsigned int i, k;
	bool ok = pair_make(&p, 64);

	for (i = 0; ok && i < ARRAY_SIZE(ops); i++)
		for (k = 0; ok && k < ARRAY_SIZE(lens); k++)
			ok = one(&p, &ops[i], id++, lens[k], post);
	pair_free(&p);
	return ok;
}

bool test_old_api(void)
{
	return each(post_old);
}

bool test_new_api(void)
{
	return each(post_new);
}

/* What is inline is copied at once, and needs no registered memory */
static bool inline_one(struct pair *p, uint32_t len)
{
	char local[4096];
	struct ibv_data_buf list[2] = {
		{ local, len / 2 }, { local + len / 2, len - len / 2 },
	};
	struct ibv_sge sge = { .addr = (uintptr_t)local, .length = len };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
	};
	struct ibv_wc wc;

	fill(0, 0, len, len);
	memcpy(local, buf, len);
	fill(1, 0, len, len + 1);
	NEED(!post_recv(p, 1, 0, 0, BUF_SIZE), "ibv_post_recv");
	if (len % 3 == 0) {
		NEED(!post_wr(p->qp[0], &wr), "ibv_post_send");
	} else {
		ibv_wr_start(p->qpx[0]);
		p->qpx[0]->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_send(p->qpx[0]);
		if (len % 3 == 1)
			ibv_wr_set_inline_data(p->qpx[0], local, len);
		else
			ibv_wr_set_inline_data_list(p->qpx[0], 2, list);
		NEED(!ibv_wr_complete(p->qpx[0]), "ibv_wr_complete");
	}
	memset(local, 0, len);
	TRY(reap(p->cq[0], &wc, 1, IBV_WC_SUCCESS));
	TRY(reap(p->cq[1], &wc, 1, IBV_WC_SUCCESS));
	NEED(wc.byte_len == len, "%u bytes came", wc.byte_len);
	return same(1, 0, len, len);
}

bool test_inline(void)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND,
		.num_sge = 1,
		.send_flags = IBV_SEND_INLINE,
	};
	struct ibv_sge sge;
	struct pair p;
	uint32_t len;
	bool ok = pair_make(&p, 64);

	if (ok && p.cap.max_inline_data < 200) {
		why("%u bytes inline, 200 asked for", p.cap.max_inline_data);
		ok = false;
	}
	for (len = 0; ok && len <= p.cap.max_inline_data && len < 4096; len++)
		ok = inline_one(&p, len);
	sge = sge_of(0, 0, p.cap.max_inline_data + 1);
	wr.sg_list = &sge;
	if (ok && !post_wr(p.qp[0], &wr)) {
		why("%u bytes inline were taken", sge.length);
		ok = false;
	}
	pair_free(&p);
	return ok;
}

#define ORDER_LEN	4000
#define ORDER_LAST	(ORDER_LEN / 1024 * 1024)	/* where its last packet begins */
#define ORDER_ROUNDS	2048

/**
 * struct order - who waits for the last byte of each WRITE, and then looks at all
 * @done: rounds that it has seen; @torn: those of which something was not there
 * @end: it is to wait no more
 */
struct order {
	int done;
	int torn;
	bool end;
};

static bool all_is(const char *there, char fill)
{
	int i;

	for (i = 0; i < ORDER_LEN; i++)
		if (__atomic_load_n(there + i, __ATOMIC_RELAXED) != fill)
			return false;
	return true;
}

static void *wait_for_last(void *arg)
{
	struct order *o = arg;
	char *there, fill;
	int n;

	for (n = 0; n < ORDER_ROUNDS; n++) {
		there = buf + BUF_SIZE + n % 256;
		fill = n % 100 + 1;
		while (__atomic_load_n(there + ORDER_LEN - 1, __ATOMIC_ACQUIRE) != fill)
			if (__atomic_load_n(&o->end, __ATOMIC_RELAXED))
				return NULL;
		/* At once: what goes backwards has come that far last */
		o->torn += __atomic_load_n(there + ORDER_LAST, __ATOMIC_RELAXED) != fill ||
			   !all_is(there, fill);
		__atomic_store_n(&o->done, n + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Wherever it comes to be: a copy may go in either direction, as addresses have it. */
static bool order(struct pair *p, struct order *o)
{
	time_t start;
	int n;

	for (n = 0; n < ORDER_ROUNDS; n++) {
		memset(buf, n % 100 + 1, ORDER_LEN);
		memset(buf + BUF_SIZE, 0, ORDER_LEN + 256);
		TRY(reach(p, IBV_WR_RDMA_WRITE, mr->rkey, sge_of(1, n % 256, 0).addr,
			  ORDER_LEN, IBV_WC_SUCCESS));
		start = time(NULL);
		while (__atomic_load_n(&o->done, __ATOMIC_ACQUIRE) <= n)
			NEED(time(NULL) - start < WAIT_S, "not seen");
	}
	NEED(!o->torn, "%d of %d were seen in part behind their last byte", o->torn,
	     ORDER_ROUNDS);
	return true;
}

bool test_order(void)
{
	struct order o = {};
	pthread_t waiter;
	struct pair p;
	bool ok;

	memset(buf, 0, 2 * BUF_SIZE);
	ok = pair_make(&p, 64) && !pthread_create(&waiter, NULL, wait_for_last, &o);
	if (ok) {
		ok = order(&p, &o);
		__atomic_store_n(&o.end, true, __ATOMIC_RELAXED);
		pthread_join(waiter, NULL);
	}
	pair_free(&p);
	return ok;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static bool poll_extended(struct pair *p, uint64_t n)
{
	struct ibv_poll_cq_attr attr = {};
	struct ibv_cq_ex *cq = p->ex[1];
	uint64_t id = 0;
	int err;

	while (id < n) {
		err = ibv_start_poll(cq, &attr);
		if (err == ENOENT) {
			usleep(100);
			continue;
		}
		for (; !err; err = ibv_next_poll(cq), id++)
			NEED(cq->wr_id == id && !cq->status &&
			     ibv_wc_read_byte_len(cq) == id &&
			     ibv_wc_read_opcode(cq) == IBV_WC_RECV &&
			     ibv_wc_read_wc_flags(cq) == IBV_WC_WITH_IMM &&
			     ibv_wc_read_imm_data(cq) == htobe32(id) &&
			     ibv_wc_read_qp_num(cq) == p->qp[1]->qp_num,
			     "element %llu", (unsigned long long)id);
		NEED(err == ENOENT, "ibv_next_poll: %d", err);
		ibv_end_poll(cq);
	}
	return true;
}

static bool timestamp(void)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 4,
		.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
	};
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct ibv_qp_init_attr init = {
		.cap = { .max_recv_wr = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_poll_cq_attr none = {};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(ctx, &attr);
	struct ibv_recv_wr wr = {}, *bad;
	uint64_t t0 = now_ns(), t;
	struct ibv_qp *qp;

	NEED(cq, "CQ with timestamps: %s", strerror(errno));
	init.send_cq = ibv_cq_ex_to_cq(cq);
	init.recv_cq = init.send_cq;
	qp = ibv_create_qp(pd, &init);
	NEED(qp, "ibv_create_qp: %s", strerror(errno));
	TRY(qp_to_err(qp));
	NEED(!ibv_post_recv(qp, &wr, &bad), "ibv_post_recv in ERR");
	while (ibv_start_poll(cq, &none))
		usleep(100);
	t = ibv_wc_read_completion_ts(cq);
	ibv_end_poll(cq);
	NEED(!ibv_query_rt_values_ex(ctx, &values), "raw clock");
	NEED(t0 <= t && t <= (uint64_t)values.raw_clock.tv_nsec,
	     "time %llu is not between", (unsigned long long)t);
	ibv_destroy_qp(qp);
	ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
	return true;
}

bool test_extended_cq(void)
{
	struct pair p;
	uint32_t i, k;
	bool ok = pair_make(&p, 64);
	struct ibv_wc wc[DEPTH];

	for (k = 0; ok && k < 10; k++) {
		for (i = 0; i < DEPTH; i++)
			post_recv(&p, 1, i, 0, 1024);
		for (i = 0; i < DEPTH; i++) {
			struct ibv_sge sge = sge_of(0, 0, i);
			struct ibv_send_wr wr = {
				.sg_list = &sge,
				.num_sge = 1,
				.opcode = IBV_WR_SEND_WITH_IMM,
				.send_flags = IBV_SEND_SIGNALED,
				.imm_data = htobe32(i),
			};

			post_wr(p.qp[0], &wr);
		}
		ok = poll_extended(&p, DEPTH) &&
		     reap(p.cq[0], wc, DEPTH, IBV_WC_SUCCESS);
	}
	pair_free(&p);
	return ok && timestamp();
}
