// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The provider's queue pairs against a fake kernel, under ASan and UBSan: what
 * is written to the rings, what is refused, when the doorbell is rung, and every
 * index at its wrap.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "fake.h"
#include <tap.h>

#define NEAR_WRAP	0xfffffffau

static struct xroce_pd pd = { .pd.context = &fake_ctx };
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_qp_ex *qpx;
static char buf[256];
static struct ibv_sge sge[8];

static struct ibv_qp *make_qp(uint64_t ops)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = &pd.pd,
		.send_ops_flags = ops,
	};

	return xroce_create_qp_ex(&fake_ctx, &attr);
}

static void set_up(void)
{
	struct ibv_cq_init_attr_ex cx = { .cqe = 8 };
	unsigned int i;

	fake_reset();
	cq = ibv_cq_ex_to_cq(xroce_create_cq_ex(&fake_ctx, &cx));
	qp = make_qp(XROCE_RC_OPS);
	qpx = &to_xqp(qp)->vqp.qp_ex;
	fake_to_state(qp, IBV_QPS_RTS);
	for (i = 0; i < ARRAY_SIZE(sge); i++)
		sge[i] = (struct ibv_sge) {
			.addr = (uintptr_t)buf + 16 * i,
			.length = 16,
			.lkey = 0x100 + i,
		};
	for (i = 0; i < sizeof(buf); i++)
		buf[i] = i ^ 0x5a;
}

static void tear_down(void)
{
	xroce_destroy_qp(qp);
	xroce_destroy_cq(cq);
}

static struct xroce_ring *sq_ring(void)
{
	return fake_ring_of(&to_xqp(qp)->sq.map);
}

static struct xroce_ring *rq_ring(void)
{
	return fake_ring_of(&to_xqp(qp)->rq.map);
}

static struct xroce_send_wqe *sq_slot(uint32_t n)
{
	return (void *)(sq_ring()->slot + (n & 7) * 128);
}

static struct xroce_recv_wqe *rq_slot(uint32_t n)
{
	return (void *)(rq_ring()->slot + (n & 3) * 64);
}

/* Both sides have come to index @n. */
static void start_at(struct xroce_wq *wq, struct xroce_ring *ring, uint32_t n)
{
	wq->prod = n;
	wq->cons = n;
	ring->prod = n;
	ring->cons = n;
}

static int post(struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad = NULL;
	int ret = xroce_post_send(qp, wr, &bad);

	return ret ? (bad == wr ? ret : -ret) : 0;
}

static struct ibv_send_wr send_wr(enum ibv_wr_opcode op, int n)
{
	return (struct ibv_send_wr) {
		.wr_id = 0x1122334455667788,
		.opcode = op,
		.sg_list = n ? sge : NULL,
		.num_sge = n,
		.send_flags = IBV_SEND_SIGNALED,
	};
}

static int count_life(const char *what, int cqs, int qps, int maps)
{
	if (fake.cqs == cqs && fake.qps == qps && fake.maps == maps)
		return 0;
	tap_note("%s: %d CQs, %d QPs, %d mappings left", what, fake.cqs,
		 fake.qps, fake.maps);
	return 1;
}

static void test_life(void)
{
	struct ibv_cq_init_attr_ex cx = { .cqe = 5 };
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC };
	int bad = 0, i;

	set_up();
	TAP_CHECK(bad, to_xqp(qp)->sq.map.depth == 8 &&
		  to_xqp(qp)->rq.map.depth == 4, "rings mapped wrong");
	fake.fail_cmd = EBUSY;
	TAP_CHECK(bad, xroce_destroy_qp(qp) == EBUSY &&
		  xroce_destroy_cq(cq) == EBUSY, "destroy hides an error");
	bad += count_life("after refused destroys", 1, 1, 3);
	fake.fail_cmd = 0;
	tear_down();
	bad += count_life("after destroys", 0, 0, 0);

	fake_reset();
	cq = xroce_create_cq(&fake_ctx, 1, NULL, 0);
	attr.send_cq = cq;
	attr.recv_cq = cq;
	for (i = 1; i <= 2; i++) {
		fake.fail_map = i;
		errno = 0;
		TAP_CHECK(bad, !xroce_create_qp(&pd.pd, &attr) && errno == EAGAIN,
			  "QP with mmap %d failed: errno %d", i, errno);
	}
	bad += count_life("after failed maps of a QP", 1, 0, 1);
	fake.fail_map = 1;
	TAP_CHECK(bad, !xroce_create_cq_ex(&fake_ctx, &cx) && errno == EAGAIN,
		  "CQ with mmap failed");
	fake.fail_cmd = ENOMEM;
	TAP_CHECK(bad, !xroce_create_cq_ex(&fake_ctx, &cx) && errno == ENOMEM,
		  "CQ refused: errno %d", errno);
	TAP_CHECK(bad, !xroce_create_qp(&pd.pd, &attr) && errno == ENOMEM,
		  "QP refused: errno %d", errno);
	fake.fail_cmd = 0;
	TAP_CHECK(bad, !xroce_create_cq(&fake_ctx, 0, NULL, 0) &&
		  errno == EINVAL, "CQ of 0 entries");
	bad += count_life("after refusals", 1, 0, 1);
	xroce_destroy_cq(cq);
	tap_ok(!bad, "objects and mappings come and go together");
}

static void test_unsupported(void)
{
	static const struct {
		const char *what;
		uint64_t wc_flags;
		uint32_t comp_mask;
		uint32_t flags;
	} cqs[] = {
		{ "wallclock", IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
		  0, 0 },
		{ "tag matching", IBV_WC_EX_WITH_TM_INFO, 0, 0 },
		{ "ignore overrun", 0, IBV_CQ_INIT_ATTR_MASK_FLAGS,
		  IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN },
	};
	static const enum ibv_qp_type types[] = {
		0, IBV_QPT_RAW_PACKET, IBV_QPT_DRIVER,
	};
	struct ibv_qp_init_attr attr = {};
	int bad = 0, made;
	unsigned int i;

	set_up();
	for (i = 0; i < ARRAY_SIZE(cqs); i++) {
		struct ibv_cq_init_attr_ex cx = {
			.cqe = 1,
			.wc_flags = cqs[i].wc_flags,
			.comp_mask = cqs[i].comp_mask,
			.flags = cqs[i].flags,
		};

		TAP_CHECK(bad, !xroce_create_cq_ex(&fake_ctx, &cx) &&
			  errno == EOPNOTSUPP, "CQ with %s", cqs[i].what);
	}
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		attr.qp_type = types[i];
		TAP_CHECK(bad, !xroce_create_qp(&pd.pd, &attr) &&
			  errno == EOPNOTSUPP, "QP of type %d", types[i]);
	}
	for (i = 0, made = 0; i < 63; i++) {
		struct ibv_qp *x = make_qp(1ull << i);

		made += !!x;
		TAP_CHECK(bad, !!x == !!((uint64_t)XROCE_RC_OPS >> i & 1) &&
			  (x || errno == EOPNOTSUPP), "send op %u", i);
		if (x)
			xroce_destroy_qp(x);
		fake.n_rings = 3;
	}
	TAP_CHECK(bad, made == 12, "%d send ops", made);
	tear_down();
	tap_ok(!bad, "what is not supported is refused with EOPNOTSUPP");
}

/* Each opcode by ibv_post_send(), then the same by ibv_wr_*() */
static void new_api(const struct ibv_send_wr *wr, bool list)
{
	const struct ibv_data_buf bufs[] = {
		{ (void *)(uintptr_t)sge[0].addr, sge[0].length },
		{ (void *)(uintptr_t)sge[1].addr, sge[1].length },
	};

	ibv_wr_start(qpx);
	qpx->wr_id = wr->wr_id;
	qpx->wr_flags = wr->send_flags;
	switch (wr->opcode) {
	case IBV_WR_SEND:
		ibv_wr_send(qpx);
		break;
	case IBV_WR_SEND_WITH_IMM:
		ibv_wr_send_imm(qpx, wr->imm_data);
		break;
	case IBV_WR_SEND_WITH_INV:
		ibv_wr_send_inv(qpx, wr->invalidate_rkey);
		break;
	case IBV_WR_RDMA_WRITE:
		ibv_wr_rdma_write(qpx, wr->wr.rdma.rkey,
				  wr->wr.rdma.remote_addr);
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		ibv_wr_rdma_write_imm(qpx, wr->wr.rdma.rkey,
				      wr->wr.rdma.remote_addr, wr->imm_data);
		break;
	case IBV_WR_RDMA_READ:
		ibv_wr_rdma_read(qpx, wr->wr.rdma.rkey,
				 wr->wr.rdma.remote_addr);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		ibv_wr_atomic_cmp_swp(qpx, wr->wr.atomic.rkey,
				      wr->wr.atomic.remote_addr,
				      wr->wr.atomic.compare_add,
				      wr->wr.atomic.swap);
		break;
	default:
		ibv_wr_atomic_fetch_add(qpx, wr->wr.atomic.rkey,
					wr->wr.atomic.remote_addr,
					wr->wr.atomic.compare_add);
	}
	if (wr->send_flags & IBV_SEND_INLINE && list)
		ibv_wr_set_inline_data_list(qpx, wr->num_sge, bufs);
	else if (wr->send_flags & IBV_SEND_INLINE)
		ibv_wr_set_inline_data(qpx, bufs[0].addr, bufs[0].length);
	else if (list)
		ibv_wr_set_sge_list(qpx, wr->num_sge, wr->sg_list);
	else if (wr->num_sge)
		ibv_wr_set_sge(qpx, sge[0].lkey, sge[0].addr, sge[0].length);
}

static const enum ibv_wr_opcode wr_ops[] = {
	IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_SEND,
	IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
	IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_SEND_WITH_INV,
};

static struct ibv_send_wr full_wr(enum ibv_wr_opcode op, int n)
{
	struct ibv_send_wr wr = send_wr(op, n);

	wr.send_flags |= IBV_SEND_FENCE | IBV_SEND_SOLICITED;
	if (op == IBV_WR_SEND_WITH_INV)
		wr.invalidate_rkey = 0x1234;
	else if (op == IBV_WR_SEND_WITH_IMM || op == IBV_WR_RDMA_WRITE_WITH_IMM)
		wr.imm_data = htobe32(0x5678);
	if (op == IBV_WR_ATOMIC_CMP_AND_SWP ||
	    op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = 0xaabbccddee;
		wr.wr.atomic.rkey = 0x99;
		wr.wr.atomic.compare_add = 7;
		wr.wr.atomic.swap = op == IBV_WR_ATOMIC_CMP_AND_SWP ? 8 : 0;
	} else if (op != IBV_WR_SEND && op != IBV_WR_SEND_WITH_IMM &&
		   op != IBV_WR_SEND_WITH_INV) {
		wr.wr.rdma.remote_addr = 0xaabbccddee;
		wr.wr.rdma.rkey = 0x99;
	}
	return wr;
}

static int check_wqe(const struct xroce_send_wqe *w,
		     const struct ibv_send_wr *wr)
{
	bool cas = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
	bool atomic = cas || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	bool rdma = wr->wr.rdma.remote_addr;
	int i;

	if (w->wr_id != wr->wr_id || w->opcode != wr->opcode ||
	    w->flags != wr->send_flags || w->imm != wr->imm_data ||
	    w->rdma.xrc_srqn)
		return 1;
	if (w->rdma.remote_addr != (rdma ? 0xaabbccddee : 0) ||
	    w->rdma.rkey != (rdma ? 0x99 : 0) ||
	    w->rdma.swap_add != (cas ? 8 : atomic ? 7 : 0) ||
	    w->rdma.compare != (cas ? 7 : 0))
		return 2;
	if (wr->send_flags & IBV_SEND_INLINE)
		return w->inline_len != 16u * wr->num_sge ||
		       memcmp(w->inline_data, buf, w->inline_len) ? 3 : 0;
	if (w->num_sge != wr->num_sge)
		return 4;
	for (i = 0; i < wr->num_sge; i++)
		if (memcmp(&w->sge[i], &sge[i], sizeof(sge[i])))
			return 5;
	return 0;
}

static void test_wqe(void)
{
	int bad = 0, n, inl, err;
	unsigned int i;

	set_up();
	start_at(&to_xqp(qp)->sq, sq_ring(), NEAR_WRAP);
	for (i = 0; i < ARRAY_SIZE(wr_ops); i++) {
		for (inl = 0; inl < 2; inl++) {
			for (n = 0; n <= 3; n++) {
				struct ibv_send_wr wr = full_wr(wr_ops[i], n);
				uint32_t at = sq_ring()->prod;

				if (inl && (i == 4 || i == 5 || i == 6 || n > 2))
					continue;
				if (inl)
					wr.send_flags |= IBV_SEND_INLINE;
				memset(sq_slot(at), 0xee, 256 - 128 * (at & 1));
				err = post(&wr);
				if (!err)
					err = check_wqe(sq_slot(at), &wr);
				TAP_CHECK(bad, !err && sq_ring()->prod == at + 1,
					  "opcode %d, %d SGEs, inline %d: %d",
					  wr_ops[i], n, inl, err);
				memset(sq_slot(++at), 0xee, 128);
				new_api(&wr, n != 1);
				TAP_CHECK(bad, sq_ring()->prod == at,
					  "posted before ibv_wr_complete()");
				err = ibv_wr_complete(qpx);
				if (!err)
					err = check_wqe(sq_slot(at), &wr);
				TAP_CHECK(bad, !err && sq_ring()->prod == at + 1,
					  "ibv_wr: opcode %d, %d SGEs, inline %d: %d",
					  wr_ops[i], n, inl, err);
				fake_sent(qp);
			}
		}
	}
	tear_down();
	tap_ok(!bad, "every opcode is written as it is posted, by both ways");
}

static void test_refused(void)
{
	struct ibv_send_wr wr[3], *badwr;
	int bad = 0, i;
	static const struct {
		const char *what;
		int op, num_sge, flags, err;
	} cases[] = {
		{ "4 of 3 SGEs", IBV_WR_SEND, 4, 0, EINVAL },
		{ "-1 SGEs", IBV_WR_SEND, -1, 0, EINVAL },
		{ "64 of 60 bytes inline", IBV_WR_SEND, 3, IBV_SEND_INLINE, 0 },
		{ "inline READ", IBV_WR_RDMA_READ, 1, IBV_SEND_INLINE, EINVAL },
		{ "inline CAS", IBV_WR_ATOMIC_CMP_AND_SWP, 1, IBV_SEND_INLINE,
		  EINVAL },
		{ "checksum offload", IBV_WR_SEND, 1, IBV_SEND_IP_CSUM, EINVAL },
		{ "flag 31", IBV_WR_SEND, 1, 1u << 31, EINVAL },
		{ "inline LOCAL_INV", IBV_WR_LOCAL_INV, 0, IBV_SEND_INLINE,
		  EINVAL },
		{ "BIND_MW of nothing", IBV_WR_BIND_MW, 0, 0, EINVAL },
		{ "TSO", IBV_WR_TSO, 1, 0, EOPNOTSUPP },
		{ "DRIVER1", IBV_WR_DRIVER1, 1, 0, EOPNOTSUPP },
		{ "opcode 12", 12, 1, 0, EOPNOTSUPP },
		{ "FLUSH", IBV_WR_FLUSH, 0, 0, EOPNOTSUPP },
		{ "opcode 16", 16, 1, 0, EINVAL },
		{ "opcode -1", -1, 1, 0, EINVAL },
	};
	unsigned int c;

	set_up();
	for (c = 0; c < ARRAY_SIZE(cases); c++) {
		int want = cases[c].err, err;
		uint32_t at = sq_ring()->prod;

		for (i = 0; i < 3; i++) {
			wr[i] = send_wr(IBV_WR_SEND, 1);
			wr[i].next = i < 2 ? &wr[i + 1] : NULL;
		}
		wr[1].opcode = cases[c].op;
		wr[1].num_sge = cases[c].num_sge;
		wr[1].sg_list = sge;
		wr[1].send_flags = cases[c].flags;
		if (!want) {		/* one byte too many, over three SGEs */
			sge[2].length = 29;
			want = EINVAL;
		}
		badwr = NULL;
		err = xroce_post_send(qp, wr, &badwr);
		TAP_CHECK(bad, err == want && badwr == &wr[1] &&
			  sq_ring()->prod == at + 1,
			  "%s: error %d, bad_wr %td, %u posted", cases[c].what,
			  err, badwr - wr, sq_ring()->prod - at);
		fake_sent(qp);
		sge[2].length = 16;
	}
	sge[2].length = 28;
	wr[0] = send_wr(IBV_WR_SEND, 3);
	wr[0].send_flags = IBV_SEND_INLINE;
	TAP_CHECK(bad, !post(wr), "60 bytes inline refused");
	sge[0].length = UINT32_MAX;
	TAP_CHECK(bad, post(wr) == EINVAL, "4 GB inline");
	sge[0].length = 16;
	sge[1].length = UINT32_MAX - 15;
	TAP_CHECK(bad, post(wr) == EINVAL, "inline length that wraps");
	for (i = IBV_QPS_RESET; i <= IBV_QPS_RTR; i++) {
		wr[0] = send_wr(IBV_WR_SEND, 1);
		fake_to_state(qp, i);
		TAP_CHECK(bad, post(wr) == EINVAL, "post_send in state %d", i);
		new_api(wr, false);
		TAP_CHECK(bad, ibv_wr_complete(qpx) == EINVAL,
			  "ibv_wr in state %d", i);
	}
	fake_to_state(qp, IBV_QPS_RTS);
	tear_down();
	tap_ok(!bad, "bad requests are refused, those before them posted");
}

static void test_full(void)
{
	struct ibv_send_wr wr[12], *badwr = NULL;
	struct ibv_recv_wr rwr[6], *badr = NULL;
	struct ibv_poll_cq_attr poll = {};
	struct ibv_wc wc, two[2];
	struct xroce_recv_wqe *r;
	int bad = 0, i, err;

	set_up();
	start_at(&to_xqp(qp)->sq, sq_ring(), NEAR_WRAP);
	start_at(&to_xqp(qp)->rq, rq_ring(), NEAR_WRAP);
	for (i = 0; i < 12; i++) {
		wr[i] = send_wr(IBV_WR_SEND, 1);
		wr[i].wr_id = i;
		wr[i].next = i < 11 ? &wr[i + 1] : NULL;
	}
	err = xroce_post_send(qp, wr, &badwr);
	TAP_CHECK(bad, err == ENOMEM && badwr == &wr[8] &&
		  sq_ring()->prod == NEAR_WRAP + 8, "12 to a queue of 8: %d", err);
	TAP_CHECK(bad, post(&wr[11]) == ENOMEM, "a ninth");
	for (i = 0; i < 8; i++)
		TAP_CHECK(bad, sq_slot(NEAR_WRAP + i)->wr_id == (uint64_t)i,
			  "slot of %d has %llu", i,
			  (long long)sq_slot(NEAR_WRAP + i)->wr_id);
	/* What the kernel is done with is free when its completion has been polled. */
	sq_ring()->cons += 8;
	fake_complete(qp, false, NEAR_WRAP + 1);
	TAP_CHECK(bad, post(&wr[11]) == ENOMEM, "a ninth before a completion is polled");
	TAP_CHECK(bad, xroce_poll_cq(cq, 1, &wc) == 1 && !post(&wr[11]) &&
		  post(&wr[11]) == ENOMEM && sq_slot(NEAR_WRAP + 8)->wr_id == 11,
		  "one more after one");
	new_api(&wr[11], false);
	TAP_CHECK(bad, ibv_wr_complete(qpx) == ENOMEM &&
		  sq_ring()->prod == NEAR_WRAP + 9, "ibv_wr to a full queue");
	/* Of three only the last has a completion, and an extended poll reads it. */
	fake_complete(qp, false, NEAR_WRAP + 4);
	TAP_CHECK(bad, !ibv_start_poll(&to_xcq(cq)->vcq.cq_ex, &poll), "no completion");
	for (i = 0; i < 3; i++)
		TAP_CHECK(bad, !post(&wr[11]), "%d more after three", i);
	ibv_end_poll(&to_xcq(cq)->vcq.cq_ex);
	TAP_CHECK(bad, post(&wr[11]) == ENOMEM, "four more after three");

	for (i = 0; i < 6; i++)
		rwr[i] = (struct ibv_recv_wr) {
			.wr_id = 100 + i,
			.next = i < 5 ? &rwr[i + 1] : NULL,
			.sg_list = i % 3 ? sge : NULL,
			.num_sge = i % 3,
		};
	memset(rq_ring()->slot, 0xee, 4 * 64);
	err = xroce_post_recv(qp, rwr, &badr);
	TAP_CHECK(bad, err == ENOMEM && badr == &rwr[4] &&
		  rq_ring()->prod == NEAR_WRAP + 4, "6 to an RQ of 4: %d", err);
	for (i = 0; i < 4; i++) {
		r = rq_slot(NEAR_WRAP + i);
		TAP_CHECK(bad, r->wr_id == 100u + i && !r->reserved &&
			  r->num_sge == (uint32_t)i % 3 &&
			  !memcmp(r->sge, sge, i % 3 * sizeof(*sge)),
			  "receive %d", i);
	}
	rq_ring()->cons += 4;
	rwr[5].num_sge = 0;
	TAP_CHECK(bad, xroce_post_recv(qp, &rwr[5], &badr) == ENOMEM,
		  "a fifth receive before a completion is polled");
	for (i = 0; i < 3; i++)
		fake_complete(qp, true, 0);
	TAP_CHECK(bad, xroce_poll_cq(cq, 2, two) == 2, "no completions");
	for (i = 0; i < 3; i++)
		TAP_CHECK(bad, xroce_post_recv(qp, &rwr[5], &badr) == (i < 2 ? 0 : ENOMEM),
			  "%d receives more after two", i);
	TAP_CHECK(bad, xroce_poll_cq(cq, 1, &wc) == 1, "no completion");
	rwr[0].num_sge = 3;
	TAP_CHECK(bad, xroce_post_recv(qp, rwr, &badr) == EINVAL &&
		  badr == rwr, "3 of 2 SGEs to receive");
	rwr[0].num_sge = -1;
	TAP_CHECK(bad, xroce_post_recv(qp, rwr, &badr) == EINVAL,
		  "-1 SGEs to receive");
	fake_to_state(qp, IBV_QPS_RESET);
	rwr[0].num_sge = 0;
	TAP_CHECK(bad, xroce_post_recv(qp, rwr, &badr) == EINVAL,
		  "receive in RESET");
	tear_down();

	tap_ok(!bad, "a full queue says ENOMEM and takes just what is free");
}

/* Closed by who did not know it, who has others by its number since then */
static int ring_foreign(struct ibv_send_wr *wr)
{
	int fd[] = {
		open("/proc/self/exe", O_RDONLY), open("/", O_RDONLY | O_DIRECTORY),
		open("/dev/null", O_RDWR), eventfd(0, 0), memfd_create("provider", 0),
	};
	int bad = 0, was = fake.bells;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fd); i++) {
		off_t at = syscall(SYS_lseek, fd[i], 0, SEEK_CUR);

		fake.foreign = fd[i];
		fake_sent(qp);
		TAP_CHECK(bad, fd[i] > 0 && !post(wr) && fake.bells == ++was,
			  "not rung beside file %u", i);
		TAP_CHECK(bad, syscall(SYS_lseek, fd[i], 0, SEEK_CUR) == at, "file %u moved",
			  i);
		close(fd[i]);
	}
	fake.foreign = 0;
	return bad;
}

static void test_doorbell(int bell)
{
	struct ibv_send_wr wr[2], *badwr = NULL;
	struct ibv_recv_wr rwr = {}, *badr = NULL;
	int bad = 0, was = fake_xctx.bell;

	fake_xctx.bell = bell;
	set_up();
	wr[0] = send_wr(IBV_WR_SEND, 1);
	wr[1] = wr[0];
	wr[0].next = &wr[1];
	post(wr);
	TAP_CHECK(bad, !fake.bells, "rung while the kernel looks");
	sq_ring()->wake = 1;
	post(wr);
	TAP_CHECK(bad, fake.bells == 1, "%d rung for a list",
		  fake.bells);
	new_api(wr, false);
	ibv_wr_complete(qpx);
	TAP_CHECK(bad, fake.bells == 2, "%d rung after ibv_wr",
		  fake.bells);
	wr[0].opcode = 16;
	TAP_CHECK(bad, post(wr) == EINVAL && fake.bells == 2,
		  "rung for nothing");
	ibv_wr_start(qpx);
	TAP_CHECK(bad, !ibv_wr_complete(qpx) && fake.bells == 2,
		  "rung for an empty batch");
	wr[0].opcode = IBV_WR_SEND;
	wr[1].opcode = 16;
	TAP_CHECK(bad, xroce_post_send(qp, wr, &badwr) == EINVAL &&
		  badwr == &wr[1] && fake.bells == 3,
		  "not rung for those before a bad one");
	wr[1].opcode = IBV_WR_SEND;
	fake.fail_cmd = EIO;
	TAP_CHECK(bad, post(wr) == EIO, "a device that is gone");
	fake.fail_cmd = 0;
	TAP_CHECK(bad, !xroce_post_recv(qp, &rwr, &badr) && fake.bells == 3,
		  "receive rung while nobody waits");
	rq_ring()->wake = 1;
	TAP_CHECK(bad, !xroce_post_recv(qp, &rwr, &badr) &&
		  fake.bells == 4,
		  "receive not rung to be flushed");
	fake_sent(qp);
	/* closed by who did not know it; and its number another context's since then */
	fake.no_lseek = EBADF;
	TAP_CHECK(bad, !post(wr) && !xroce_post_recv(qp, &rwr, &badr) &&
		  fake.bells == 6, "not rung without its file");
	fake.no_lseek = EIO;
	TAP_CHECK(bad, !post(wr) && fake.bells == 7, "not rung beside another's file");
	fake.no_lseek = 0;
	bad |= ring_foreign(wr);
	TAP_CHECK(bad, !fake.bad_bells, "%d doorbells that the kernel refuses",
		  fake.bad_bells);
	tear_down();
	fake_xctx.bell = was;
	tap_ok(!bad, "the doorbell is rung when asked for, once for all, by %s",
	       bell < 0 ? "uverbs" : "its file");
}

/* Batches are all or nothing */
static void test_batch(void)
{
	struct ibv_send_wr wr = send_wr(IBV_WR_SEND, 1);
	struct ibv_data_buf big = { buf, 61 };
	struct ibv_data_buf wrap[2] = { { buf, 1 }, { buf, SIZE_MAX } };
	int bad = 0, i;

	set_up();
	for (i = 0; i < 9; i++) {
		int want = EINVAL, err;

		ibv_wr_start(qpx);
		ibv_wr_send(qpx);
		ibv_wr_set_sge(qpx, 1, 2, 3);
		switch (i) {
		case 0:
			ibv_wr_send(qpx);
			ibv_wr_set_sge_list(qpx, 4, sge);
			break;
		case 1:
			ibv_wr_send(qpx);
			ibv_wr_set_inline_data(qpx, buf, 61);
			break;
		case 2:
			ibv_wr_send(qpx);
			ibv_wr_set_inline_data_list(qpx, 1, &big);
			break;
		case 3:
			ibv_wr_send(qpx);
			ibv_wr_set_inline_data_list(qpx, 2, wrap);
			break;
		case 4:
			ibv_wr_rdma_read(qpx, 1, 2);
			ibv_wr_set_inline_data(qpx, buf, 1);
			break;
		case 5:
			ibv_wr_atomic_fetch_add(qpx, 1, 2, 3);
			ibv_wr_set_inline_data_list(qpx, 0, NULL);
			break;
		case 6:
			want = ENOMEM;
			for (err = 0; err < 8; err++)
				ibv_wr_send(qpx);
			break;
		case 7:
			ibv_wr_send(qpx);
			ibv_wr_set_sge_list(qpx, SIZE_MAX, sge);
			break;
		case 8:
			qpx->wr_flags = IBV_SEND_IP_CSUM;
			ibv_wr_send(qpx);
			ibv_wr_set_sge(qpx, 1, 2, 3);
			qpx->wr_flags = 0;
		}
		/* goes on in vain, as users do who check at the end only */
		ibv_wr_rdma_write(qpx, 1, 2);
		ibv_wr_set_inline_data(qpx, buf, 8);
		ibv_wr_set_sge_list(qpx, 1, sge);
		err = ibv_wr_complete(qpx);
		TAP_CHECK(bad, err == want && !sq_ring()->prod,
			  "case %d: error %d, %u posted", i, err,
			  sq_ring()->prod);
	}
	new_api(&wr, false);
	ibv_wr_abort(qpx);
	TAP_CHECK(bad, !sq_ring()->prod, "abort posts");
	TAP_CHECK(bad, !post(&wr) && sq_ring()->prod == 1 &&
		  !check_wqe(sq_slot(0), &wr), "post after an abort");
	ibv_wr_start(qpx);
	for (i = 0; i < 7; i++)
		ibv_wr_send(qpx);
	TAP_CHECK(bad, !ibv_wr_complete(qpx) && sq_ring()->prod == 8,
		  "a batch that just fits");
	tear_down();
	tap_ok(!bad, "a batch of ibv_wr is posted whole or not at all");
}

static void test_wrap(void)
{
	struct ibv_send_wr wr = send_wr(IBV_WR_RDMA_WRITE, 2);
	uint32_t at, taken = NEAR_WRAP;
	int bad = 0, i, k;

	set_up();
	start_at(&to_xqp(qp)->sq, sq_ring(), NEAR_WRAP);
	for (i = 0; i < 100; i++) {
		int n = 1 + i % 8;

		for (k = 0; k < n; k++) {
			at = sq_ring()->prod;
			wr.wr_id = at;
			TAP_CHECK(bad, !post(&wr) && sq_ring()->prod == at + 1,
				  "post of %#x", at);
		}
		for (; taken != sq_ring()->prod; taken++)
			TAP_CHECK(bad, sq_slot(taken)->wr_id == taken,
				  "slot of %#x has %#llx", taken,
				  (long long)sq_slot(taken)->wr_id);
		fake_sent(qp);
	}
	tear_down();
	tap_ok(!bad, "a send queue goes on past index 2^32");
}

/* Completions of @n, and of another QP after each */
static void complete(uint32_t n)
{
	struct xroce_ring *ring = fake_ring_of(&to_xcq(cq)->map);
	struct xroce_cqe *cqe = (void *)ring->slot;

	for (; n; n--) {
		cqe[ring->prod++ & 7].qpn = qp->qp_num;
		cqe[ring->prod++ & 7].qpn = 1;
	}
}

static bool only_others(int n)
{
	struct ibv_wc wc[8];
	int got = xroce_poll_cq(cq, 8, wc), i;

	for (i = 0; i < got; i++)
		if (wc[i].qp_num != 1)
			return false;
	return got == n;
}

/* The kernel has reset it, and another thread does not know. */
static void post_late(void)
{
	struct ibv_send_wr wr = send_wr(IBV_WR_SEND, 1);
	struct ibv_recv_wr rwr = {}, *badr;
	struct ibv_wc wc;

	sq_ring()->prod = sq_ring()->cons = 0;
	rq_ring()->prod = rq_ring()->cons = 0;
	post(&wr);
	xroce_post_recv(qp, &rwr, &badr);
	/* Nor one that polls. */
	fake_complete(qp, false, 3);
	fake_complete(qp, true, 0);
	xroce_poll_cq(cq, 1, &wc);
	fake_complete(qp, false, 3);
}

static void test_late(void)
{
	struct ibv_send_wr wr = send_wr(IBV_WR_SEND, 1);
	struct ibv_recv_wr rwr = {}, *badr;
	struct ibv_wc wc;
	int bad = 0, i;

	set_up();
	for (i = 0; i < 3; i++) {
		post(&wr);
		xroce_post_recv(qp, &rwr, &badr);
	}
	fake.meanwhile = post_late;
	fake_to_state(qp, IBV_QPS_RESET);
	fake.meanwhile = NULL;
	TAP_CHECK(bad, !sq_ring()->prod && !rq_ring()->prod,
		  "%u sends and %u receives of the old life", sq_ring()->prod,
		  rq_ring()->prod);
	/* As a query does that has asked before */
	qp->state = IBV_QPS_RTS;
	TAP_CHECK(bad, post(&wr) == EINVAL &&
		  xroce_post_recv(qp, &rwr, &badr) == EINVAL, "taken in RESET");
	fake_to_state(qp, IBV_QPS_RTS);
	qp->state = IBV_QPS_RESET;
	new_api(&wr, false);
	TAP_CHECK(bad, !ibv_wr_complete(qpx) && !post(&wr) &&
		  !xroce_post_recv(qp, &rwr, &badr), "refused in RTS");
	TAP_CHECK(bad, !xroce_poll_cq(cq, 1, &wc), "completions of the old life");
	for (i = 0; i < 6; i++)
		TAP_CHECK(bad, !post(&wr), "%d of 8 slots after RESET", i + 2);
	for (i = 0; i < 3; i++)
		TAP_CHECK(bad, !xroce_post_recv(qp, &rwr, &badr),
			  "%d of 4 receives after RESET", i + 1);
	TAP_CHECK(bad, post(&wr) == ENOMEM && xroce_post_recv(qp, &rwr, &badr) == ENOMEM,
		  "more slots than there are");
	tear_down();
	tap_ok(!bad, "who posts beside RESET, or queries beside a modify, changes nothing");
}

static void test_reset(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct ibv_send_wr wr = send_wr(IBV_WR_SEND, 1);
	struct ibv_recv_wr rwr = { .wr_id = 5 }, *badr;
	int bad = 0, i;

	set_up();
	for (i = 0; i < 5; i++)
		post(&wr);
	for (i = 0; i < 3; i++)
		xroce_post_recv(qp, &rwr, &badr);
	attr.qp_state = IBV_QPS_ERR;
	TAP_CHECK(bad, !xroce_modify_qp(qp, &attr, IBV_QP_STATE) &&
		  to_xqp(qp)->sq.prod == 5, "ERR resets");
	attr.qp_state = IBV_QPS_RESET;
	TAP_CHECK(bad, !xroce_modify_qp(qp, &attr, IBV_QP_PKEY_INDEX) &&
		  to_xqp(qp)->sq.prod == 5, "another attribute resets");
	fake.fail_cmd = EINVAL;
	TAP_CHECK(bad, xroce_modify_qp(qp, &attr, IBV_QP_STATE) == EINVAL &&
		  to_xqp(qp)->sq.prod == 5, "a refused RESET resets");
	fake.fail_cmd = 0;
	start_at(&to_xqp(qp)->sq, sq_ring(), 5);
	sq_ring()->prod = sq_ring()->cons = 0;		/* as the kernel does */
	rq_ring()->prod = rq_ring()->cons = 0;
	complete(3);
	TAP_CHECK(bad, !xroce_modify_qp(qp, &attr, IBV_QP_STATE),
		  "RESET refused");
	TAP_CHECK(bad, only_others(3), "completions after RESET");
	fake_to_state(qp, IBV_QPS_RTS);
	for (i = 0; i < 8; i++)
		TAP_CHECK(bad, !post(&wr), "post %d after RESET", i);
	TAP_CHECK(bad, sq_ring()->prod == 8 && post(&wr) == ENOMEM,
		  "the queue begins at %u", sq_ring()->prod - 8);
	rwr.wr_id = 6;
	TAP_CHECK(bad, !xroce_post_recv(qp, &rwr, &badr) &&
		  rq_ring()->prod == 1 && rq_slot(0)->wr_id == 6,
		  "receive after RESET");
	complete(4);
	xroce_destroy_qp(qp);
	TAP_CHECK(bad, only_others(4), "completions of what is destroyed");
	xroce_destroy_cq(cq);
	tap_ok(!bad, "RESET starts both queues anew, nothing else does");
}

int main(void)
{
	alarm(60);		/* a lock left taken */
	tap_start();
	test_life();
	test_unsupported();
	test_wqe();
	test_refused();
	test_full();
	test_doorbell(fake_xctx.bell);
	test_doorbell(-1);
	test_batch();
	test_wrap();
	test_reset();
	test_late();
	return tap_end();
}
