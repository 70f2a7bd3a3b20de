// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of regions that REG_MR makes, of what is done by their keys, and of posting.
 */
#include <linux/delay.h>

#include "kverbs.h"

/* An address of an MR, seen from its first page. */
static u64 kv_addr(const struct kv_end *end, u32 at)
{
	return end->mr->iova + at;
}

/* One RDMA request of one SGE: posted, and done with STATUS. */
static int kv_rdma(enum ib_wr_opcode op, u32 at, u32 len, u32 rkey,
		   enum ib_wc_status status)
{
	struct ib_sge sge = kv_sge(&kv_a, at, len);
	struct ib_rdma_wr wr = {
		.wr = { .wr_id = 77, .opcode = op, .sg_list = &sge, .num_sge = 1,
			.send_flags = IB_SEND_SIGNALED },
		.remote_addr = kv_addr(&kv_b, at),
		.rkey = rkey,
	};

	return kv_send(&kv_a, &wr.wr) ?: kv_done(&kv_a, 77, status, NULL);
}

static int kv_invalidate(struct kv_end *end)
{
	struct ib_send_wr wr = {
		.wr_id = 2,
		.opcode = IB_WR_LOCAL_INV,
		.send_flags = IB_SEND_SIGNALED,
		.ex.invalidate_rkey = end->mr->rkey,
	};

	end->registered = false;
	return kv_send(end, &wr) ?: kv_done(end, 2, IB_WC_SUCCESS, NULL);
}

/* What was mapped to an end's region may be used, by a key that is new. */
static int kv_reg_mr(struct kv_end *end, u32 access)
{
	struct ib_reg_wr reg = {
		.wr = { .wr_id = 1, .opcode = IB_WR_REG_MR,
			.send_flags = IB_SEND_SIGNALED },
		.mr = end->mr,
		.access = access,
	};

	ib_update_fast_reg_key(end->mr, (u8)end->mr->rkey + 1);
	reg.key = end->mr->rkey;
	end->registered = true;
	return kv_send(end, &reg.wr) ?: kv_done(end, 1, IB_WC_SUCCESS, NULL);
}

/* The first N pages of an end's memory become its region. */
static int kv_register(struct kv_end *end, u32 n, u32 access)
{
	int err = end->registered ? kv_invalidate(end) : 0;
	int mapped;

	if (err)
		return err;
	mapped = ib_map_mr_sg(end->mr, end->sg, n, NULL, PAGE_SIZE);
	if (mapped != n)
		return kv_fail("ib_map_mr_sg: %d of %u", mapped, n);
	return kv_reg_mr(end, access);
}

/* Lists of as many SGEs as there may be, into the largest region there may be. */
int kv_test_largest(void)
{
	u32 len = kv_pages * PAGE_SIZE, i, n, at = 0;
	struct ib_sge sge[32];
	struct ib_rdma_wr wr = { .wr.sg_list = sge };
	int err;

	kv_fill(&kv_a, 0, len, 1);
	kv_fill(&kv_b, 0, len, 2);
	err = kv_register(&kv_b, kv_pages, IB_ACCESS_LOCAL_WRITE |
			  IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ);
	if (err)
		return err;
	if (kv_b.mr->length != len)
		return kv_fail("%llu bytes, not %u", kv_b.mr->length, len);
	n = min_t(u32, kv_sges, ARRAY_SIZE(sge));
	wr.rkey = kv_b.mr->rkey;
	while (at < len) {
		wr.remote_addr = kv_addr(&kv_b, at);
		for (i = 0; i < n && at < len; i++, at += PAGE_SIZE)
			sge[i] = kv_sge(&kv_a, at, PAGE_SIZE);
		wr.wr.num_sge = i;
		wr.wr.wr_id = at;
		wr.wr.opcode = IB_WR_RDMA_WRITE;
		wr.wr.send_flags = at < len ? 0 : IB_SEND_SIGNALED;
		err = kv_send(&kv_a, &wr.wr);
		if (err)
			return err;
	}
	err = kv_done(&kv_a, len, IB_WC_SUCCESS, NULL) ?: kv_same(&kv_b, 0, len, 1);
	if (err)
		return err;
	/* and back, its last page and part of that before it */
	kv_fill(&kv_b, 0, len, 3);
	at = len - PAGE_SIZE - 100;
	sge[0] = kv_sge(&kv_a, at, 100);
	sge[1] = kv_sge(&kv_a, at + 100, PAGE_SIZE);
	wr.remote_addr = kv_addr(&kv_b, at);
	wr.wr.opcode = IB_WR_RDMA_READ;
	wr.wr.num_sge = 2;
	return kv_send(&kv_a, &wr.wr) ?: kv_done(&kv_a, len, IB_WC_SUCCESS, NULL) ?:
	       kv_same(&kv_a, at, len, 3) ?: kv_same(&kv_a, 0, at, 1);
}

/* The first N of an end's pages, the last of them for LEN bytes. */
static void kv_sg(struct kv_end *end, struct scatterlist *sg, int n, u32 len)
{
	int i;

	sg_init_table(sg, n);
	for (i = 0; i < n; i++) {
		sg_set_page(&sg[i], end->page[i], PAGE_SIZE, 0);
		sg_dma_address(&sg[i]) = sg_dma_address(&end->sg[i]);
		sg_dma_len(&sg[i]) = i < n - 1 ? PAGE_SIZE : len;
	}
}

/* Rights that no region may have: what others may write, its owner may write. */
static int kv_refused_rights(void)
{
	static const u32 access[] = {
		IB_ACCESS_REMOTE_WRITE,
		IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_REMOTE_READ,
		IB_ACCESS_LOCAL_WRITE | IB_ACCESS_ON_DEMAND,
		IB_ACCESS_LOCAL_WRITE | IB_ACCESS_FLUSH_PERSISTENT,
		IB_ACCESS_LOCAL_WRITE | IB_ACCESS_FLUSH_PERSISTENT << 1,
	};
	struct ib_reg_wr reg = { .wr = { .wr_id = 6, .opcode = IB_WR_REG_MR }, .mr = kv_b.mr };
	const struct ib_send_wr *bad = NULL;
	int i, err;

	err = kv_b.registered ? kv_invalidate(&kv_b) : 0;
	if (err)
		return err;
	if (ib_map_mr_sg(kv_b.mr, kv_b.sg, 1, NULL, PAGE_SIZE) != 1)
		return kv_fail("ib_map_mr_sg");
	reg.key = kv_b.mr->rkey;
	for (i = 0; i < ARRAY_SIZE(access); i++) {
		reg.access = access[i];
		err = ib_post_send(kv_b.qp, &reg.wr, &bad);
		if (err != -EINVAL || bad != &reg.wr)
			return kv_fail("access %#x: %d", access[i], err);
	}
	return kv_reg_mr(&kv_b, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE);
}

/* What a region cannot be is refused when it is asked for. */
int kv_test_refused(void)
{
	static const enum ib_mr_type type[] = { IB_MR_TYPE_SG_GAPS, IB_MR_TYPE_DM };
	struct scatterlist sg[2];
	struct ib_mr *mr;
	int i, n;

	mr = ib_alloc_mr(kv_a.pd, IB_MR_TYPE_MEM_REG, kv_pages + 1);
	if (PTR_ERR_OR_ZERO(mr) != -EINVAL)
		return kv_fail("%u pages: %d", kv_pages + 1, PTR_ERR_OR_ZERO(mr));
	for (i = 0; i < ARRAY_SIZE(type); i++) {
		mr = ib_alloc_mr(kv_a.pd, type[i], 1);
		if (PTR_ERR_OR_ZERO(mr) != -EOPNOTSUPP)
			return kv_fail("type %d: %d", type[i], PTR_ERR_OR_ZERO(mr));
	}
	mr = ib_alloc_mr(kv_b.pd, IB_MR_TYPE_MEM_REG, 2);
	if (IS_ERR(mr))
		return kv_fail("2 pages: %ld", PTR_ERR(mr));
	/* a hole in the middle: the list ends before it */
	kv_sg(&kv_b, sg, 2, PAGE_SIZE);
	sg_dma_len(&sg[0]) = 100;
	n = ib_map_mr_sg(mr, sg, 2, NULL, PAGE_SIZE);
	if (n != 1 || mr->length != 100) {
		kv_fail("a list with a hole: %d mapped, %llu bytes", n, mr->length);
		ib_dereg_mr(mr);
		return -EPROTO;
	}
	/* more than the region holds: as many as fit */
	n = ib_map_mr_sg(mr, kv_b.sg, 3, NULL, PAGE_SIZE);
	ib_dereg_mr(mr);
	return n == 2 ? kv_refused_rights() : kv_fail("3 pages into 2: %d", n);
}

typedef int (*kv_map_fn)(struct ib_mr *mr, struct scatterlist *sg, int n,
			 unsigned int *offset, unsigned int page_size);

/* A region that begins in the middle of a page and ends in that of another. */
static int kv_offset(kv_map_fn map)
{
	struct ib_sge sge = kv_sge(&kv_a, 700, 1000);
	struct ib_rdma_wr wr = {
		.wr = { .wr_id = 3, .opcode = IB_WR_RDMA_WRITE, .num_sge = 1,
			.sg_list = &sge, .send_flags = IB_SEND_SIGNALED },
	};
	struct scatterlist sg[3];
	unsigned int off = 700;
	int n, err;

	kv_fill(&kv_a, 0, PAGE_SIZE, 4);
	kv_fill(&kv_b, 0, 3 * PAGE_SIZE, 5);
	err = kv_invalidate(&kv_b);
	if (err)
		return err;
	kv_sg(&kv_b, sg, 3, 50);
	n = map(kv_b.mr, sg, 3, &off, PAGE_SIZE);
	if (n != 3 || kv_b.mr->length != 3 * PAGE_SIZE - 700 - PAGE_SIZE + 50)
		return kv_fail("%d mapped, %llu bytes", n, kv_b.mr->length);
	err = kv_reg_mr(&kv_b, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE);
	if (err)
		return err;
	wr.rkey = kv_b.mr->rkey;
	wr.remote_addr = kv_b.mr->iova;
	err = kv_send(&kv_a, &wr.wr) ?: kv_done(&kv_a, 3, IB_WC_SUCCESS, NULL) ?:
	      kv_same(&kv_b, 0, 700, 5) ?: kv_same(&kv_b, 700, 1700, 4) ?:
	      kv_same(&kv_b, 1700, 3 * PAGE_SIZE, 5);
	if (err)
		return err;
	/* one byte beyond its end */
	wr.remote_addr = kv_b.mr->iova + kv_b.mr->length - 999;
	return kv_send(&kv_a, &wr.wr) ?:
	       kv_done(&kv_a, 3, IB_WC_REM_ACCESS_ERR, NULL) ?:
	       kv_same(&kv_b, 1700, 3 * PAGE_SIZE, 5) ?: kv_connect();
}

int kv_test_offset(void)
{
	return kv_offset(ib_map_mr_sg);
}

int kv_test_zero_based(void)
{
	return kv_offset(ib_map_mr_sg_zbva);
}

/* Each REG_MR gives a new key; the old ones, and an invalidated one, are dead. */
int kv_test_keys(void)
{
	u32 old = kv_b.mr->rkey;
	int err;

	err = kv_register(&kv_b, 1, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE) ?:
	      kv_rdma(IB_WR_RDMA_WRITE, 0, 64, kv_b.mr->rkey, IB_WC_SUCCESS) ?:
	      kv_rdma(IB_WR_RDMA_WRITE, 0, 64, old, IB_WC_REM_ACCESS_ERR) ?:
	      kv_connect();
	if (err)
		return err;
	old = kv_b.mr->rkey;
	/* the peer may have done so before */
	return kv_invalidate(&kv_b) ?: kv_invalidate(&kv_b) ?:
	       kv_rdma(IB_WR_RDMA_WRITE, 0, 64, old, IB_WC_REM_ACCESS_ERR) ?:
	       kv_connect() ?:
	       kv_register(&kv_b, 1, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE) ?:
	       kv_rdma(IB_WR_RDMA_WRITE, 0, 64, kv_b.mr->rkey, IB_WC_SUCCESS);
}

int kv_test_rights(void)
{
	kv_fill(&kv_a, 0, 64, 6);
	kv_fill(&kv_b, 0, 64, 7);
	return kv_register(&kv_b, 1, IB_ACCESS_LOCAL_WRITE) ?:
	       kv_rdma(IB_WR_RDMA_WRITE, 0, 64, kv_b.mr->rkey, IB_WC_REM_ACCESS_ERR) ?:
	       kv_connect() ?:
	       kv_rdma(IB_WR_RDMA_READ, 0, 64, kv_b.mr->rkey, IB_WC_REM_ACCESS_ERR) ?:
	       kv_connect() ?: kv_register(&kv_b, 1, IB_ACCESS_REMOTE_READ) ?:
	       kv_rdma(IB_WR_RDMA_WRITE, 0, 64, kv_b.mr->rkey, IB_WC_REM_ACCESS_ERR) ?:
	       kv_connect() ?: kv_same(&kv_b, 0, 64, 7) ?:
	       kv_rdma(IB_WR_RDMA_READ, 0, 64, kv_b.mr->rkey, IB_WC_SUCCESS) ?:
	       kv_same(&kv_a, 0, 64, 7);
}

/* A SEND ends a key of its receiver, who is told which. */
int kv_test_send_inv(void)
{
	struct ib_sge sge = kv_sge(&kv_a, 0, 64);
	struct ib_send_wr wr = {
		.wr_id = 4, .opcode = IB_WR_SEND_WITH_INV, .sg_list = &sge, .num_sge = 1,
		.send_flags = IB_SEND_SIGNALED,
	};
	struct ib_wc wc;
	int err;

	err = kv_register(&kv_b, 2, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE) ?:
	      kv_recv(&kv_b, 5, 2 * PAGE_SIZE, 64);
	if (err)
		return err;
	wr.ex.invalidate_rkey = kv_b.mr->rkey;
	err = kv_send(&kv_a, &wr) ?: kv_done(&kv_a, 4, IB_WC_SUCCESS, NULL) ?:
	      kv_done(&kv_b, 5, IB_WC_SUCCESS, &wc);
	if (err)
		return err;
	if (!(wc.wc_flags & IB_WC_WITH_INVALIDATE) ||
	    wc.ex.invalidate_rkey != kv_b.mr->rkey || wc.byte_len != 64)
		return kv_fail("flags %#x, key %#x, %u bytes", wc.wc_flags,
			       wc.ex.invalidate_rkey, wc.byte_len);
	kv_b.registered = false;
	return kv_rdma(IB_WR_RDMA_WRITE, 0, 64, kv_b.mr->rkey, IB_WC_REM_ACCESS_ERR) ?:
	       kv_connect();
}

/* As a storage driver does: registered, used, and ended by one list. */
int kv_test_list(void)
{
	struct ib_reg_wr reg = {
		.wr = { .wr_id = 10, .opcode = IB_WR_REG_MR },
		.mr = kv_a.mr,
		.access = IB_ACCESS_LOCAL_WRITE,
	};
	struct ib_sge sge = { .length = 5 * PAGE_SIZE };
	struct ib_rdma_wr write = {
		.wr = { .wr_id = 11, .opcode = IB_WR_RDMA_WRITE, .sg_list = &sge,
			.num_sge = 1 },
	};
	struct ib_sge word = kv_sge(&kv_a, 6 * PAGE_SIZE, 8);
	struct ib_send_wr send = {
		.wr_id = 12, .opcode = IB_WR_SEND, .sg_list = &word, .num_sge = 1,
	};
	struct ib_send_wr inv = {
		.wr_id = 13, .opcode = IB_WR_LOCAL_INV,
		.send_flags = IB_SEND_SIGNALED | IB_SEND_FENCE,
	};
	int n, err;

	kv_fill(&kv_a, 0, 7 * PAGE_SIZE, 8);
	kv_fill(&kv_b, 0, 7 * PAGE_SIZE, 9);
	err = kv_register(&kv_b, 6, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE) ?:
	      kv_recv(&kv_b, 14, 6 * PAGE_SIZE, 8);
	if (err)
		return err;
	n = ib_map_mr_sg(kv_a.mr, kv_a.sg, 5, NULL, PAGE_SIZE);
	if (n != 5)
		return kv_fail("ib_map_mr_sg: %d", n);
	ib_update_fast_reg_key(kv_a.mr, (u8)kv_a.mr->rkey + 1);
	reg.key = kv_a.mr->rkey;
	reg.wr.next = &write.wr;
	sge.addr = kv_a.mr->iova;
	sge.lkey = kv_a.mr->lkey;
	write.remote_addr = kv_addr(&kv_b, 0);
	write.rkey = kv_b.mr->rkey;
	write.wr.next = &send;
	send.next = &inv;
	inv.ex.invalidate_rkey = kv_a.mr->rkey;
	return kv_send(&kv_a, &reg.wr) ?: kv_done(&kv_b, 14, IB_WC_SUCCESS, NULL) ?:
	       kv_done(&kv_a, 13, IB_WC_SUCCESS, NULL) ?:
	       kv_same(&kv_b, 0, 5 * PAGE_SIZE, 8) ?:
	       kv_same(&kv_b, 5 * PAGE_SIZE, 6 * PAGE_SIZE, 9) ?:
	       kv_same(&kv_b, 6 * PAGE_SIZE, 6 * PAGE_SIZE + 8, 8);
}

/*
 * As SRP and iSER do: pages for the next registration are mapped while the end of the key
 * before is only posted, here behind a SEND of its memory that waits to be received.
 */
int kv_test_map_early(void)
{
	struct ib_sge sge[2] = { { .length = 64 }, { .length = 64 } };
	struct ib_send_wr send[2] = {
		{ .wr_id = 80, .opcode = IB_WR_SEND, .sg_list = &sge[0], .num_sge = 1 },
		{ .wr_id = 83, .opcode = IB_WR_SEND, .sg_list = &sge[1], .num_sge = 1,
		  .send_flags = IB_SEND_SIGNALED },
	};
	struct ib_send_wr inv = { .wr_id = 81, .opcode = IB_WR_LOCAL_INV };
	struct ib_reg_wr reg = {
		.wr = { .wr_id = 82, .opcode = IB_WR_REG_MR, .next = &send[1] },
		.mr = kv_a.mr,
		.access = IB_ACCESS_LOCAL_WRITE,
	};
	int err = kv_register(&kv_a, 1, IB_ACCESS_LOCAL_WRITE);

	if (err)
		return err;
	kv_fill(&kv_a, 0, PAGE_SIZE, 10);
	kv_fill(&kv_a, PAGE_SIZE, 2 * PAGE_SIZE, 11);
	sge[0].addr = kv_a.mr->iova;
	sge[0].lkey = kv_a.mr->lkey;
	inv.ex.invalidate_rkey = kv_a.mr->rkey;
	send[0].next = &inv;
	err = kv_send(&kv_a, &send[0]);
	if (err)
		return err;
	if (ib_map_mr_sg(kv_a.mr, &kv_a.sg[1], 1, NULL, PAGE_SIZE) != 1)
		return kv_fail("ib_map_mr_sg");
	ib_update_fast_reg_key(kv_a.mr, (u8)kv_a.mr->rkey + 1);
	reg.key = kv_a.mr->rkey;
	sge[1].addr = kv_a.mr->iova;
	sge[1].lkey = kv_a.mr->lkey;
	return kv_send(&kv_a, &reg.wr) ?:
	       kv_recv(&kv_b, 84, 0, 64) ?: kv_recv(&kv_b, 85, PAGE_SIZE, 64) ?:
	       kv_done(&kv_b, 84, IB_WC_SUCCESS, NULL) ?:
	       kv_done(&kv_b, 85, IB_WC_SUCCESS, NULL) ?:
	       kv_done(&kv_a, 83, IB_WC_SUCCESS, NULL) ?:
	       kv_same(&kv_b, 0, 64, 10) ?:
	       kv_same(&kv_b, PAGE_SIZE, PAGE_SIZE + 64, 11);
}

/*
 * As of a consumer that waits no longer: its registration is still posted, behind the end
 * of a key that waits for a SEND of that key's memory, when the region ends.
 */
int kv_test_reg_ended(void)
{
	struct ib_sge sge = { .length = 64 };
	struct ib_send_wr send = {
		.wr_id = 15, .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1,
	};
	struct ib_send_wr inv = { .wr_id = 16, .opcode = IB_WR_LOCAL_INV };
	struct ib_reg_wr reg = {
		.wr = { .wr_id = 17, .opcode = IB_WR_REG_MR, .send_flags = IB_SEND_SIGNALED },
		.access = IB_ACCESS_LOCAL_WRITE,
	};
	int err = kv_register(&kv_a, 1, IB_ACCESS_LOCAL_WRITE);

	if (err)
		return err;
	reg.mr = ib_alloc_mr(kv_a.pd, IB_MR_TYPE_MEM_REG, 1);
	if (IS_ERR(reg.mr))
		return kv_fail("a region: %ld", PTR_ERR(reg.mr));
	if (ib_map_mr_sg(reg.mr, kv_a.sg, 1, NULL, PAGE_SIZE) != 1)
		err = kv_fail("ib_map_mr_sg");
	reg.key = reg.mr->rkey;
	sge.addr = kv_a.mr->iova;
	sge.lkey = kv_a.mr->lkey;
	inv.ex.invalidate_rkey = kv_a.mr->rkey;
	send.next = &inv;
	inv.next = &reg.wr;
	err = err ?: kv_send(&kv_a, &send);
	kv_a.registered = false;
	ib_dereg_mr(reg.mr);
	/* kfree_rcu() keeps it for five seconds, and who looks at freed memory sees it then */
	if (IS_ENABLED(CONFIG_KASAN))
		ssleep(7);
	return err ?: kv_recv(&kv_b, 18, 0, 64) ?: kv_done(&kv_b, 18, IB_WC_SUCCESS, NULL) ?:
	       kv_done(&kv_a, 17, IB_WC_MW_BIND_ERR, NULL) ?: kv_connect();
}

/* The first that cannot be is named, and nothing from it on is done. */
int kv_test_bad_wr(void)
{
	struct ib_sge sge = kv_sge(&kv_a, 0, 8);
	struct ib_send_wr wr[3] = {};
	struct ib_recv_wr *recv;
	const struct ib_recv_wr *bad_recv = NULL;
	const struct ib_send_wr *bad = NULL;
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;
	int i, err, cap;

	for (i = 0; i < 3; i++) {
		wr[i].wr_id = 20 + i;
		wr[i].opcode = IB_WR_SEND;
		wr[i].sg_list = &sge;
		wr[i].num_sge = 1;
		wr[i].send_flags = IB_SEND_SIGNALED;
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
	}
	wr[1].opcode = IB_WR_REG_MR_INTEGRITY;
	err = kv_recv(&kv_b, 24, 0, 8);
	if (err)
		return err;
	err = ib_post_send(kv_a.qp, wr, &bad);
	if (!err || bad != &wr[1])
		return kv_fail("an opcode that is none: %d", err);
	err = kv_done(&kv_a, 20, IB_WC_SUCCESS, NULL) ?:
	      kv_done(&kv_b, 24, IB_WC_SUCCESS, NULL);
	if (err)
		return err;
	wr[1].opcode = IB_WR_SEND;
	wr[1].num_sge = kv_sges + 1;
	err = ib_post_send(kv_a.qp, &wr[1], &bad);
	if (err != -EINVAL || bad != &wr[1])
		return kv_fail("%u SGEs: %d", kv_sges + 1, err);

	err = ib_query_qp(kv_b.qp, &attr, IB_QP_CAP, &init);
	if (err)
		return kv_fail("ib_query_qp: %d", err);
	cap = attr.cap.max_recv_wr;
	if (cap < KV_DEPTH)
		return kv_fail("a receive queue of %d", cap);
	recv = kvcalloc(cap + 3, sizeof(*recv), GFP_KERNEL);
	if (!recv)
		return kv_fail("no memory");
	sge = kv_sge(&kv_b, 0, 8);
	for (i = 0; i < cap + 3; i++) {
		recv[i].wr_id = i;
		recv[i].sg_list = &sge;
		recv[i].num_sge = 1;
		recv[i].next = i < cap + 2 ? &recv[i + 1] : NULL;
	}
	err = ib_post_recv(kv_b.qp, recv, &bad_recv);
	i = bad_recv ? (int)(bad_recv - recv) : -1;
	kvfree(recv);
	if (err != -ENOMEM || i != cap)
		return kv_fail("%d receives into %d: %d, at %d", cap + 3, cap, err, i);
	return kv_connect();
}

/* Posted with interrupts off, as ib_mad does. */
int kv_test_irqs_off(void)
{
	struct ib_sge from[8], to[8];
	struct ib_send_wr wr[8] = {};
	struct ib_recv_wr recv[8] = {};
	const struct ib_send_wr *bad;
	const struct ib_recv_wr *bad_recv;
	unsigned long flags;
	int i, err = 0;

	kv_fill(&kv_a, 0, 8 * PAGE_SIZE, 10);
	kv_fill(&kv_b, 0, 8 * PAGE_SIZE, 11);
	for (i = 0; i < 8; i++) {
		from[i] = kv_sge(&kv_a, i * PAGE_SIZE, PAGE_SIZE);
		to[i] = kv_sge(&kv_b, i * PAGE_SIZE, PAGE_SIZE);
		wr[i].wr_id = 30 + i;
		wr[i].opcode = IB_WR_SEND;
		wr[i].send_flags = IB_SEND_SIGNALED;
		wr[i].sg_list = &from[i];
		wr[i].num_sge = 1;
		recv[i].wr_id = 40 + i;
		recv[i].sg_list = &to[i];
		recv[i].num_sge = 1;
	}
	for (i = 0; i < 8 && !err; i++) {
		local_irq_save(flags);
		err = ib_post_recv(kv_b.qp, &recv[i], &bad_recv) ?:
		      ib_post_send(kv_a.qp, &wr[i], &bad);
		if (!irqs_disabled())
			err = -EBUSY;
		local_irq_restore(flags);
	}
	if (err)
		return kv_fail("posting: %d", err);
	for (i = 0; i < 8; i++) {
		err = kv_done(&kv_a, 30 + i, IB_WC_SUCCESS, NULL) ?:
		      kv_done(&kv_b, 40 + i, IB_WC_SUCCESS, NULL);
		if (err)
			return err;
	}
	return kv_same(&kv_b, 0, 8 * PAGE_SIZE, 10);
}

int kv_test_atomics(void)
{
	u64 *word = page_address(kv_b.page[0]), *got = page_address(kv_a.page[0]);
	struct ib_sge sge = kv_sge(&kv_a, 0, 8);
	struct ib_atomic_wr wr = {
		.wr = { .wr_id = 50, .opcode = IB_WR_ATOMIC_FETCH_AND_ADD,
			.sg_list = &sge, .num_sge = 1,
			.send_flags = IB_SEND_SIGNALED },
		.compare_add = 5,
	};
	int err;

	*word = 0x100000000ull;
	err = kv_register(&kv_b, 1, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_ATOMIC);
	if (err)
		return err;
	wr.remote_addr = kv_addr(&kv_b, 0);
	wr.rkey = kv_b.mr->rkey;
	err = kv_send(&kv_a, &wr.wr) ?: kv_done(&kv_a, 50, IB_WC_SUCCESS, NULL);
	if (err)
		return err;
	if (*got != 0x100000000ull || *word != 0x100000005ull)
		return kv_fail("FETCH_ADD: %#llx, then %#llx", *got, *word);
	wr.wr.opcode = IB_WR_ATOMIC_CMP_AND_SWP;
	wr.compare_add = 0x100000005ull;
	wr.swap = 9;
	err = kv_send(&kv_a, &wr.wr) ?: kv_done(&kv_a, 50, IB_WC_SUCCESS, NULL);
	if (err)
		return err;
	if (*got != 0x100000005ull || *word != 9)
		return kv_fail("CMP_SWP: %#llx, then %#llx", *got, *word);
	return 0;
}

/* All of kernel memory behind one key, for whoever has it: no. */
int kv_test_global_rkey(void)
{
	struct ib_pd *pd = ib_alloc_pd(kv_a.dev, IB_PD_UNSAFE_GLOBAL_RKEY);
	long err = PTR_ERR_OR_ZERO(pd);

	if (!IS_ERR(pd))
		ib_dealloc_pd(pd);
	return err == -EOPNOTSUPP ? 0 : kv_fail("IB_PD_UNSAFE_GLOBAL_RKEY: %ld", err);
}
