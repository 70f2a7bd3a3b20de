// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What the provider knows of transports, against a fake kernel, under ASan and
 * UBSan: which operations each has, datagrams and their address handles, the MTU
 * that bounds them, and shared receive queues.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"
#include <tap.h>

#define NEAR_WRAP	0xfffffffau

static struct xroce_pd pd = { .pd.context = &fake_ctx };
static struct ibv_cq *cq;
static char buf[256];

static struct ibv_qp *make_qp(enum ibv_qp_type type, uint64_t ops,
			      struct ibv_srq *srq)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.srq = srq,
		.qp_type = type,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = &pd.pd,
		.send_ops_flags = ops,
	};

	return xroce_create_qp_ex(&fake_ctx, &attr);
}

static struct xroce_send_wqe *sq_slot(struct ibv_qp *qp, uint32_t n)
{
	return (void *)(to_xqp(qp)->sq.map.ring->slot + (n & 7) * 128);
}

static uint32_t sq_prod(struct ibv_qp *qp)
{
	return to_xqp(qp)->sq.map.ring->prod;
}

static int post(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad = NULL;
	int ret = xroce_post_send(qp, wr, &bad);

	return ret ? (bad == wr ? ret : -ret) : 0;
}

enum { RC = 1, UC = 2, UD = 4 };

/* The operations of the architecture (IBTA table 36) that we have */
static const struct {
	enum ibv_wr_opcode op;
	uint64_t ex;
	int has;
} ops[] = {
	{ IBV_WR_SEND, IBV_QP_EX_WITH_SEND, RC | UC | UD },
	{ IBV_WR_SEND_WITH_IMM, IBV_QP_EX_WITH_SEND_WITH_IMM, RC | UC | UD },
	{ IBV_WR_RDMA_WRITE, IBV_QP_EX_WITH_RDMA_WRITE, RC | UC },
	{ IBV_WR_RDMA_WRITE_WITH_IMM, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,
	  RC | UC },
	{ IBV_WR_SEND_WITH_INV, IBV_QP_EX_WITH_SEND_WITH_INV, RC },
	{ IBV_WR_RDMA_READ, IBV_QP_EX_WITH_RDMA_READ, RC },
	{ IBV_WR_ATOMIC_CMP_AND_SWP, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, RC },
	{ IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
	  RC },
	{ IBV_WR_LOCAL_INV, IBV_QP_EX_WITH_LOCAL_INV, RC | UC },
	{ IBV_WR_BIND_MW, IBV_QP_EX_WITH_BIND_MW, RC | UC },
	{ IBV_WR_TSO, IBV_QP_EX_WITH_TSO, 0 },
	{ IBV_WR_ATOMIC_WRITE, IBV_QP_EX_WITH_ATOMIC_WRITE, RC },
};

static const struct {
	const char *name;
	enum ibv_qp_type type;
	int bit;
} services[] = {
	{ "RC", IBV_QPT_RC, RC },
	{ "UC", IBV_QPT_UC, UC },
	{ "UD", IBV_QPT_UD, UD },
};

static void test_matrix(void)
{
	struct ibv_mw mw = { .rkey = 0x100, .type = IBV_MW_TYPE_2 };
	struct xroce_ah ah = { .num = 5 };
	int bad = 0, done = 0, err;
	unsigned int s, o;

	fake_reset();
	cq = xroce_create_cq(&fake_ctx, 8, NULL, 0);
	for (s = 0; s < ARRAY_SIZE(services); s++) {
		struct ibv_qp *qp = make_qp(services[s].type, 0, NULL);

		fake_to_state(qp, IBV_QPS_RTS);
		for (o = 0; o < ARRAY_SIZE(ops); o++) {
			bool has = ops[o].has & services[s].bit;
			int want = has ? 0 : ops[o].has ? EINVAL : EOPNOTSUPP;
			struct ibv_send_wr wr[2] = {
				{ .opcode = IBV_WR_SEND, .next = &wr[1] },
				{ .opcode = ops[o].op },
			}, *badwr = NULL;
			struct ibv_qp *x;

			if (ops[o].op == IBV_WR_BIND_MW)
				wr[1].bind_mw.mw = &mw;
			if (services[s].bit == UD) {
				wr[0].wr.ud.ah = &ah.ah;
				wr[1].wr.ud.ah = &ah.ah;
			}
			err = xroce_post_send(qp, wr, &badwr);
			TAP_CHECK(bad, err == want && (!err || badwr == &wr[1]),
				  "%s, opcode %d: %d, bad_wr %td",
				  services[s].name, ops[o].op, err, badwr - wr);
			fake_sent(qp);
			x = make_qp(services[s].type, ops[o].ex, NULL);
			TAP_CHECK(bad, !!x == has && (x || errno == EOPNOTSUPP),
				  "%s with send op %#llx", services[s].name,
				  (long long)ops[o].ex);
			if (x) {
				xroce_destroy_qp(x);
				fake.n_rings -= 2;
			}
			done += has;
		}
		xroce_destroy_qp(qp);
		fake.n_rings = 1;
	}
	TAP_CHECK(bad, done == 11 + 6 + 2, "%d combinations", done);
	xroce_destroy_cq(cq);
	TAP_CHECK(bad, !fake.cqs && !fake.qps && !fake.maps, "leftovers");
	tap_ok(!bad, "each transport has its operations and no others");
}

static bool datagram_is(const struct xroce_send_wqe *w, uint32_t ah, int imm)
{
	return w->wr_id == 7 && w->ud.ah == ah && w->ud.remote_qpn == 0x123 &&
	       w->ud.remote_qkey == 0x80000456 && !w->ud.kernel &&
	       !w->ud.reserved[0] && !w->ud.reserved[1] &&
	       !w->ud.reserved[2] &&
	       w->opcode == (imm ? XROCE_WR_SEND_WITH_IMM : XROCE_WR_SEND) &&
	       w->imm == (imm ? htobe32(9) : 0);
}

/* By either way, with SGEs or inline, and after a WQE of other content */
static void test_datagram(void)
{
	struct ibv_sge sge = { .addr = (uintptr_t)buf, .length = 16, .lkey = 3 };
	struct ibv_ah_attr attr = { .is_global = 1 };
	struct ibv_ah *ah[2];
	struct ibv_qp_ex *ex;
	struct ibv_qp *qp;
	int bad = 0, i;

	fake_reset();
	cq = xroce_create_cq(&fake_ctx, 8, NULL, 0);
	qp = make_qp(IBV_QPT_UD, XROCE_UD_OPS, NULL);
	ex = &to_xqp(qp)->vqp.qp_ex;
	fake_to_state(qp, IBV_QPS_RTS);
	for (i = 0; i < 2; i++)
		ah[i] = xroce_create_ah(&pd.pd, &attr);
	for (i = 0; i < 16; i++) {
		bool imm = i & 1, inl = i & 2, which = i & 4;
		uint32_t at = sq_prod(qp);
		struct xroce_send_wqe *w = sq_slot(qp, at);
		struct ibv_send_wr wr = {
			.wr_id = 7,
			.opcode = imm ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND,
			.imm_data = imm ? htobe32(9) : 0,
			.sg_list = &sge,
			.num_sge = 1,
			.send_flags = inl ? IBV_SEND_INLINE : 0,
			.wr.ud = { ah[which], 0x123, 0x80000456 },
		};

		memset(w, 0xee, 128);
		if (i & 8) {
			TAP_CHECK(bad, !post(qp, &wr), "%d: refused", i);
		} else {
			ibv_wr_start(ex);
			ex->wr_id = 7;
			ex->wr_flags = 0;
			if (imm)
				ibv_wr_send_imm(ex, htobe32(9));
			else
				ibv_wr_send(ex);
			ibv_wr_set_ud_addr(ex, ah[which], 0x123, 0x80000456);
			if (inl)
				ibv_wr_set_inline_data(ex, buf, 16);
			else
				ibv_wr_set_sge(ex, 3, sge.addr, 16);
			TAP_CHECK(bad, !ibv_wr_complete(ex), "%d: refused", i);
		}
		TAP_CHECK(bad, sq_prod(qp) == at + 1 &&
			  datagram_is(w, to_xah(ah[which])->num, imm),
			  "%d: wrong", i);
		TAP_CHECK(bad, inl ? w->inline_len == 16 &&
			  !memcmp(w->inline_data, buf, 16) :
			  w->num_sge == 1 && w->sge[0].lkey == 3 &&
			  w->sge[0].length == 16, "%d: payload", i);
		fake_sent(qp);
	}
	TAP_CHECK(bad, to_xah(ah[0])->num == 0xa0000001 &&
		  to_xah(ah[1])->num == 0xa0000002, "the kernel's numbers");
	for (i = 0; i < 2; i++) {
		struct ibv_send_wr wr = { .opcode = IBV_WR_SEND_WITH_IMM - i };

		TAP_CHECK(bad, post(qp, &wr) == EINVAL, "no address handle");
	}
	fake.fail_cmd = EBUSY;
	TAP_CHECK(bad, !xroce_create_ah(&pd.pd, &attr) && errno == EBUSY,
		  "an address handle refused: errno %d", errno);
	TAP_CHECK(bad, xroce_destroy_ah(ah[0]) == EBUSY && fake.ahs == 2,
		  "destroy hides an error");
	fake.fail_cmd = 0;
	for (i = 0; i < 2; i++)
		TAP_CHECK(bad, !xroce_destroy_ah(ah[i]), "not destroyed");
	TAP_CHECK(bad, !fake.ahs, "%d address handles left", fake.ahs);
	xroce_destroy_qp(qp);
	qp = make_qp(IBV_QPT_UC, XROCE_UC_OPS, NULL);
	TAP_CHECK(bad, !to_xqp(qp)->vqp.qp_ex.wr_set_ud_addr,
		  "UC takes an address");
	xroce_destroy_qp(qp);
	xroce_destroy_cq(cq);
	tap_ok(!bad, "a datagram's address goes where the kernel looks");
}

/* @len bytes in @n SGEs to one datagram, the @way-th way */
static int send_len(struct ibv_qp *qp, uint64_t len, int n, int way)
{
	struct ibv_qp_ex *ex = &to_xqp(qp)->vqp.qp_ex;
	struct xroce_ah ah = { .num = 1 };
	struct ibv_data_buf bufs[3];
	struct ibv_sge sge[3];
	int i, ret;

	for (i = 0; i < n; i++) {
		sge[i].addr = (uintptr_t)buf;
		sge[i].length = i < n - 1 ? len / n : len - i * (len / n);
		bufs[i].addr = buf;
		bufs[i].length = sge[i].length;
	}
	if (!way) {
		struct ibv_send_wr wr = {
			.opcode = IBV_WR_SEND,
			.sg_list = sge,
			.num_sge = n,
			.wr.ud.ah = &ah.ah,
		};

		ret = post(qp, &wr);
	} else {
		ibv_wr_start(ex);
		ex->wr_flags = 0;
		ibv_wr_send(ex);
		ibv_wr_set_ud_addr(ex, &ah.ah, 1, 2);
		if (way == 3)
			ibv_wr_set_inline_data_list(ex, n, bufs);
		else if (way == 2)
			ibv_wr_set_sge_list(ex, n, sge);
		else
			ibv_wr_set_sge(ex, 0, (uintptr_t)buf, len);
		ret = ibv_wr_complete(ex);
	}
	fake_sent(qp);
	return ret;
}

static void test_mtu(void)
{
	struct ibv_qp *qp, *uc;
	int bad = 0, way, n, got;
	uint32_t mtu;

	fake_reset();
	fake.cap.max_inline_data = 64;		/* less than any MTU */
	cq = xroce_create_cq(&fake_ctx, 8, NULL, 0);
	qp = make_qp(IBV_QPT_UD, XROCE_UD_OPS, NULL);
	uc = make_qp(IBV_QPT_UC, XROCE_UC_OPS, NULL);
	for (fake.active_mtu = IBV_MTU_256; fake.active_mtu <= IBV_MTU_4096;
	     fake.active_mtu++) {
		mtu = 128u << fake.active_mtu;
		TAP_CHECK(bad, !fake_to_state(qp, IBV_QPS_INIT) &&
			  !fake_to_state(qp, IBV_QPS_RTR) &&
			  !fake_to_state(qp, IBV_QPS_RTS), "not connected");
		for (way = 0; way < 3; way++) {
			for (n = 1; n <= (way == 1 ? 1 : 3); n++) {
				got = send_len(qp, mtu, n, way);
				TAP_CHECK(bad, !got, "%u bytes, way %d: %d",
					  mtu, way, got);
				got = send_len(qp, mtu + 1, n, way);
				TAP_CHECK(bad, got == EINVAL,
					  "%u bytes, way %d: %d", mtu + 1, way,
					  got);
			}
		}
		TAP_CHECK(bad, !fake_to_state(qp, IBV_QPS_RESET), "no RESET");
	}
	/* What the port says later does not matter, nor another transport */
	fake.active_mtu = IBV_MTU_256;
	fake_to_state(uc, IBV_QPS_INIT);
	fake_to_state(uc, IBV_QPS_RTR);
	fake_to_state(uc, IBV_QPS_RTS);
	TAP_CHECK(bad, to_xqp(uc)->sq.max_msg == UINT64_MAX, "UC has a bound");
	fake.fail_port = EIO;
	TAP_CHECK(bad, !fake_to_state(uc, IBV_QPS_RESET) &&
		  !fake_to_state(uc, IBV_QPS_RTR), "UC asks for the MTU");
	TAP_CHECK(bad, !fake_to_state(qp, IBV_QPS_INIT), "INIT asks for the MTU");
	fake.modify_mask = 0;
	TAP_CHECK(bad, fake_to_state(qp, IBV_QPS_RTR) == EIO && !fake.modify_mask,
		  "RTR without an MTU");
	fake.fail_port = 0;
	fake_to_state(qp, IBV_QPS_RTR);
	fake_to_state(qp, IBV_QPS_RTS);
	TAP_CHECK(bad, send_len(qp, UINT32_MAX * 3ull, 3, 0) == EINVAL &&
		  send_len(qp, UINT32_MAX * 3ull, 3, 2) == EINVAL &&
		  send_len(qp, UINT32_MAX, 1, 1) == EINVAL &&
		  send_len(qp, 1ull << 32, 2, 0) == EINVAL &&
		  send_len(qp, (1ull << 32) + 1, 2, 2) == EINVAL,
		  "gigabytes");
	/* Inline is bounded by both */
	TAP_CHECK(bad, !send_len(qp, 64, 3, 3) &&
		  send_len(qp, 65, 3, 3) == EINVAL, "inline");
	to_xqp(qp)->sq.max_msg = 32;
	TAP_CHECK(bad, !send_len(qp, 32, 3, 3) &&
		  send_len(qp, 33, 3, 3) == EINVAL, "inline beyond the MTU");
	xroce_destroy_qp(uc);
	xroce_destroy_qp(qp);
	xroce_destroy_cq(cq);
	tap_ok(!bad, "a datagram over the port's MTU is refused");
}

static void test_srq_life(void)
{
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = 3, .max_sge = 2, .srq_limit = 1 },
	};
	struct ibv_srq_attr now = {};
	struct ibv_recv_wr wr = {}, *badr = NULL;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	int bad = 0;
	unsigned int s;

	fake_reset();
	cq = xroce_create_cq(&fake_ctx, 8, NULL, 0);
	fake.fail_map = 1;
	TAP_CHECK(bad, !xroce_create_srq(&pd.pd, &attr) && errno == EAGAIN,
		  "made without its ring: %d", errno);
	fake.fail_cmd = ENOMEM;
	TAP_CHECK(bad, !xroce_create_srq(&pd.pd, &attr) && errno == ENOMEM,
		  "refused, and yet made: %d", errno);
	fake.fail_cmd = 0;
	TAP_CHECK(bad, !fake.srqs && fake.maps == 1, "leftovers");

	srq = xroce_create_srq(&pd.pd, &attr);
	TAP_CHECK(bad, attr.attr.max_wr == 4 && attr.attr.max_sge == 2 &&
		  fake.limit == 1, "attributes");
	now.srq_limit = 3;
	TAP_CHECK(bad, !xroce_modify_srq(srq, &now, IBV_SRQ_LIMIT) &&
		  fake.modify_mask == IBV_SRQ_LIMIT && fake.limit == 3, "modify");
	now.srq_limit = 0;
	TAP_CHECK(bad, !xroce_query_srq(srq, &now) && now.srq_limit == 3,
		  "query");
	fake.fail_cmd = EBUSY;
	TAP_CHECK(bad, xroce_modify_srq(srq, &now, IBV_SRQ_LIMIT) == EBUSY &&
		  xroce_query_srq(srq, &now) == EBUSY &&
		  xroce_destroy_srq(srq) == EBUSY && fake.maps == 2,
		  "errors are hidden");
	fake.fail_cmd = 0;
	for (s = 0; s < ARRAY_SIZE(services); s++) {
		qp = make_qp(services[s].type, 0, srq);
		TAP_CHECK(bad, fake.maps == 3, "a receive queue besides an SRQ");
		fake_to_state(qp, IBV_QPS_RTS);
		TAP_CHECK(bad, xroce_post_recv(qp, &wr, &badr) == EINVAL &&
			  badr == &wr, "%s: post_recv past the SRQ",
			  services[s].name);
		TAP_CHECK(bad, !fake_to_state(qp, IBV_QPS_RESET), "no RESET");
		xroce_destroy_qp(qp);
	}
	TAP_CHECK(bad, !xroce_destroy_srq(srq) && !fake.srqs, "not destroyed");
	xroce_destroy_cq(cq);
	TAP_CHECK(bad, !fake.maps, "%d mappings left", fake.maps);
	tap_ok(!bad, "an SRQ comes and goes, QPs over it have no queue");
}

static void test_srq_post(void)
{
	struct ibv_srq_init_attr attr = {};
	struct ibv_recv_wr wr[6], *badr = NULL;
	struct ibv_sge sge[3] = {
		{ .addr = 1, .length = 2, .lkey = 3 },
		{ .addr = 4, .length = 5, .lkey = 6 },
	};
	struct xroce_recv_wqe *w;
	struct xroce_ring *ring;
	struct xroce_srq *srq;
	int bad = 0, i, n, err;
	uint32_t taken;

	fake_reset();
	srq = to_xsrq(xroce_create_srq(&pd.pd, &attr));
	ring = srq->wq.map.ring;
	srq->wq.prod = NEAR_WRAP;
	srq->wq.cons = NEAR_WRAP;
	ring->prod = NEAR_WRAP;
	ring->cons = NEAR_WRAP;
	ring->wake = 1;			/* which the kernel never does */
	for (i = 0; i < 6; i++)
		wr[i] = (struct ibv_recv_wr) {
			.wr_id = 100 + i,
			.next = i < 5 ? &wr[i + 1] : NULL,
			.sg_list = i % 3 ? sge : NULL,
			.num_sge = i % 3,
		};
	memset(ring->slot, 0xee, 4 * 64);
	err = xroce_post_srq_recv(&srq->vsrq.srq, wr, &badr);
	TAP_CHECK(bad, err == ENOMEM && badr == &wr[4] &&
		  ring->prod == NEAR_WRAP + 4, "6 to an SRQ of 4: %d", err);
	for (i = 0; i < 4; i++) {
		w = (void *)(ring->slot + ((NEAR_WRAP + i) & 3) * 64);
		TAP_CHECK(bad, w->wr_id == 100u + i && !w->reserved &&
			  w->num_sge == (uint32_t)i % 3 &&
			  !memcmp(w->sge, sge, i % 3 * sizeof(*sge)),
			  "receive %d", i);
	}
	ring->cons += 2;
	wr[0].next = &wr[1];
	wr[1].num_sge = 3;
	TAP_CHECK(bad, xroce_post_srq_recv(&srq->vsrq.srq, wr, &badr) == EINVAL &&
		  badr == &wr[1] && ring->prod == NEAR_WRAP + 5,
		  "3 of 2 SGEs, the second of a list");
	wr[1].num_sge = -1;
	TAP_CHECK(bad, xroce_post_srq_recv(&srq->vsrq.srq, &wr[1], &badr) == EINVAL &&
		  badr == &wr[1], "-1 SGEs");
	for (taken = ring->cons, i = 0; i < 100; i++) {
		wr[5].wr_id = ring->prod;
		for (n = 0; !xroce_post_srq_recv(&srq->vsrq.srq, &wr[5], &badr); n++)
			wr[5].wr_id++;
		TAP_CHECK(bad, ring->prod - taken == 4, "round %d: %d", i, n);
		for (n = 0; n <= i % 4; n++, taken++) {
			w = (void *)(ring->slot + (taken & 3) * 64);
			TAP_CHECK(bad, taken == NEAR_WRAP + 2 ||
				  taken == NEAR_WRAP + 3 ||
				  taken == NEAR_WRAP + 4 ||
				  w->wr_id == taken, "slot of %#x", taken);
		}
		ring->cons = taken;
	}
	TAP_CHECK(bad, !fake.bells && !fake.bad_bells,
		  "a doorbell");
	xroce_destroy_srq(&srq->vsrq.srq);
	tap_ok(!bad, "an SRQ's ring is filled in order, past 2^32, by no doorbell");
}

int main(void)
{
	unsigned int i;

	alarm(60);		/* a lock left taken */
	for (i = 0; i < sizeof(buf); i++)
		buf[i] = i ^ 0x5a;
	tap_start();
	test_matrix();
	test_datagram();
	test_mtu();
	test_srq_life();
	test_srq_post();
	return tap_end();
}
