// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * FLUSH and atomic WRITE (Annex A19): what they do, and what they are refused.
 * Side 0 asks, side 1 owns the memory. One thread.
 */
#include "verbs.h"

/* Either ends the connection when it is refused: begin anew */
static bool answered(struct pair *p, enum ibv_wc_opcode op,
		     enum ibv_wc_status want)
{
	struct ibv_wc wc;

	NEED(!ibv_wr_complete(p->qpx[0]), "ibv_wr_complete");
	TRY(reap(p->cq[0], &wc, 1, want));
	if (want == IBV_WC_SUCCESS) {
		NEED(wc.opcode == op, "opcode %d", wc.opcode);
		return true;
	}
	return pair_again(p);
}

static bool flush(struct pair *p, uint32_t rkey, uint64_t addr, size_t len,
		  uint8_t type, uint8_t level, enum ibv_wc_status want)
{
	struct ibv_qp_ex *qp = p->qpx[0];

	ibv_wr_start(qp);
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_flush(qp, rkey, addr, len, type, level);
	return answered(p, IBV_WC_FLUSH, want);
}

static bool atomic_write(struct pair *p, uint32_t rkey, uint64_t addr,
			 uint64_t value, enum ibv_wc_status want)
{
	struct ibv_qp_ex *qp = p->qpx[0];

	ibv_wr_start(qp);
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_atomic_write(qp, rkey, addr, &value);
	return answered(p, IBV_WC_ATOMIC_WRITE, want);
}

static bool flushes(struct pair *p, struct ibv_mr *may)
{
	const uint64_t at = sge_of(1, 0, 0).addr;
	const uint8_t global = IBV_FLUSH_GLOBAL;

	TRY(flush(p, may->rkey, at, 100, global, IBV_FLUSH_RANGE,
		  IBV_WC_SUCCESS));
	TRY(flush(p, may->rkey, at, BUF_SIZE, global, IBV_FLUSH_RANGE,
		  IBV_WC_SUCCESS));
	/* Of all of it, wherever that is */
	TRY(flush(p, may->rkey, 0, 0, global, IBV_FLUSH_MR, IBV_WC_SUCCESS));
	TRY(flush(p, may->rkey, at, BUF_SIZE + 1, global, IBV_FLUSH_RANGE,
		  IBV_WC_REM_ACCESS_ERR));
	TRY(flush(p, may->rkey, at, 8, IBV_FLUSH_PERSISTENT, IBV_FLUSH_RANGE,
		  IBV_WC_REM_ACCESS_ERR));
	TRY(flush(p, mr->rkey, at, 8, global, IBV_FLUSH_RANGE,
		  IBV_WC_REM_ACCESS_ERR));
	TRY(flush(p, may->rkey ^ 0x100, at, 8, global, IBV_FLUSH_MR,
		  IBV_WC_REM_ACCESS_ERR));
	TRY(flush(p, may->rkey, at, 8, 0, IBV_FLUSH_RANGE,
		  IBV_WC_REM_INV_REQ_ERR));
	return flush(p, may->rkey, at, 8, global, 2, IBV_WC_REM_INV_REQ_ERR);
}

static bool atomic_writes(struct pair *p, struct ibv_mr *readable)
{
	volatile uint64_t *word = (void *)(uintptr_t)sge_of(1, 64, 0).addr;
	struct ibv_send_wr wr = {
		.num_sge = 1,
		.opcode = IBV_WR_ATOMIC_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)word, mr->rkey },
	};
	struct ibv_sge sge = sge_of(0, 8, 8);
	struct ibv_wc wc;
	uint64_t i;

	fill(1, 0, 256, 3);
	for (i = 0; i < 40; i++) {
		TRY(atomic_write(p, mr->rkey, (uintptr_t)word, i * i << 40 | i,
				 IBV_WC_SUCCESS));
		NEED(*word == (i * i << 40 | i), "round %d: %llx", (int)i,
		     (unsigned long long)*word);
	}
	fill(1, 64, 8, 9);
	fill(0, 8, 8, 4);
	wr.sg_list = &sge;
	NEED(!post_wr(p->qp[0], &wr), "ibv_post_send");
	TRY(reap(p->cq[0], &wc, 1, IBV_WC_SUCCESS));
	TRY(same(1, 64, 8, 4));
	sge.length = 4;
	NEED(!post_wr(p->qp[0], &wr), "ibv_post_send");
	TRY(reap(p->cq[0], &wc, 1, IBV_WC_LOC_LEN_ERR));
	TRY(pair_again(p));
	TRY(atomic_write(p, mr->rkey, (uintptr_t)word + 4, 1,
			 IBV_WC_REM_INV_REQ_ERR));
	TRY(atomic_write(p, readable->rkey, (uintptr_t)word, 1,
			 IBV_WC_REM_ACCESS_ERR));
	return same(1, 64, 8, 4) && same(1, 0, 64, 3);
}

static bool with_region(int access, bool (*test)(struct pair *, struct ibv_mr *))
{
	struct ibv_mr *r = ibv_reg_mr(pd, buf + BUF_SIZE, BUF_SIZE, access);
	struct pair p = {};
	bool ok = false;

	if (!r)
		why("ibv_reg_mr: %s", strerror(errno));
	else
		ok = pair_make(&p, 64) && test(&p, r);
	pair_free(&p);
	if (r)
		ibv_dereg_mr(r);
	return ok;
}

bool test_flush_memory(void)
{
	return with_region(ANY_ACCESS | IBV_ACCESS_FLUSH_GLOBAL, flushes);
}

bool test_atomic_write(void)
{
	return with_region(IBV_ACCESS_REMOTE_READ, atomic_writes);
}
