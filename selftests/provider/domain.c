// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The provider's domains against a fake kernel, under ASan and UBSan: XRC, with
 * its QPs and shared receive queues, parent and thread domains, and an SRQ that
 * goes on in another ring.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"
#include <tap.h>

static struct ibv_xrcd *open_xrcd(void)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
	};

	return xroce_open_xrcd(&fake_ctx, &attr);
}

static struct ibv_qp *make_qp(enum ibv_qp_type type, struct ibv_pd *pd,
			      struct ibv_xrcd *xrcd, struct ibv_cq *cq,
			      uint64_t ops)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = type,
		.pd = pd,
		.xrcd = xrcd,
		.send_cq = type == IBV_QPT_XRC_RECV ? NULL : cq,
		.recv_cq = type == IBV_QPT_RC ? cq : NULL,
		.send_ops_flags = ops,
		.comp_mask = (pd ? IBV_QP_INIT_ATTR_PD : 0) |
			     (xrcd ? IBV_QP_INIT_ATTR_XRCD : 0) |
			     (ops ? IBV_QP_INIT_ATTR_SEND_OPS_FLAGS : 0),
	};

	return xroce_create_qp_ex(&fake_ctx, &attr);
}

static struct xroce_send_wqe *sq_slot(struct ibv_qp *qp, uint32_t n)
{
	return (void *)(to_xqp(qp)->sq.map.ring->slot + (n & 7) * 128);
}

/* What XRC may be asked to send is what RC may, and says for which queue. */
static void test_xrc_send(void)
{
	struct ibv_mw mw = { .rkey = 0x100, .type = IBV_MW_TYPE_2 };
	struct ibv_qp *rc, *ini, *qp[2];
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	int bad = 0, err[2], i;
	struct ibv_qp_ex *ex;
	unsigned int op;

	fake_reset();
	cq = xroce_create_cq(&fake_ctx, 8, NULL, 0);
	pd = xroce_alloc_pd(&fake_ctx);
	rc = qp[0] = make_qp(IBV_QPT_RC, pd, NULL, cq, 0);
	ini = qp[1] = make_qp(IBV_QPT_XRC_SEND, pd, NULL, cq, XROCE_RC_OPS);
	TAP_CHECK(bad, ini && !to_xqp(ini)->rq.map.ring, "no sender of XRC");
	fake_to_state(rc, IBV_QPS_RTS);
	fake_to_state(ini, IBV_QPS_RTS);
	for (op = 0; op < 20; op++) {
		for (i = 0; i < 2; i++) {
			struct ibv_send_wr wr = { .opcode = op }, *badwr;
			uint32_t at = to_xqp(qp[i])->sq.prod;

			wr.qp_type.xrc.remote_srqn = 0x1000 + op;
			if (op == IBV_WR_BIND_MW)
				wr.bind_mw.mw = &mw;
			err[i] = xroce_post_send(qp[i], &wr, &badwr);
			/* What stays here has other things in that place. */
			TAP_CHECK(bad, err[i] || op == IBV_WR_BIND_MW ||
				  sq_slot(qp[i], at)->rdma.xrc_srqn ==
				  (i && op != IBV_WR_LOCAL_INV ? 0x1000 + op : 0),
				  "opcode %u: SRQ %#x", op,
				  sq_slot(qp[i], at)->rdma.xrc_srqn);
			fake_sent(qp[i]);
		}
		TAP_CHECK(bad, err[0] == err[1], "opcode %u: RC %d, XRC %d", op,
			  err[0], err[1]);
	}
	ex = &to_xqp(ini)->vqp.qp_ex;
	i = to_xqp(ini)->sq.prod;
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_xrc_srqn(ex, 0xabcd);
	ibv_wr_rdma_read(ex, 1, 2);
	ibv_wr_set_xrc_srqn(ex, 0xdcba);
	TAP_CHECK(bad, !ibv_wr_complete(ex) &&
		  sq_slot(ini, i)->rdma.xrc_srqn == 0xabcd &&
		  sq_slot(ini, i + 1)->rdma.xrc_srqn == 0xdcba &&
		  sq_slot(ini, i + 1)->rdma.remote_addr == 2,
		  "ibv_wr_set_xrc_srqn()");
	xroce_destroy_qp(rc);
	xroce_destroy_qp(ini);
	xroce_destroy_cq(cq);
	TAP_CHECK(bad, !xroce_dealloc_pd(pd) && !fake.pds && !fake.maps,
		  "leftovers");
	tap_ok(!bad, "XRC sends what RC does, each for an SRQ");
}

/* Neither end receives by itself, and the target has no queue at all. */
static void test_xrc_recv(void)
{
	struct ibv_qp_open_attr oa = { .qp_num = 7, .qp_type = IBV_QPT_XRC_RECV };
	struct ibv_send_wr wr = {}, *badwr;
	struct ibv_recv_wr rwr = {}, *badr;
	struct ibv_xrcd *xrcd;
	struct ibv_qp *qp[3];
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	int bad = 0, i;

	fake_reset();
	fake.fail_cmd = ENOSPC;
	TAP_CHECK(bad, !open_xrcd() && errno == ENOSPC, "a domain refused");
	TAP_CHECK(bad, !xroce_open_qp(&fake_ctx, &oa) && errno == ENOSPC,
		  "a QP that is not there");
	fake.fail_cmd = 0;
	cq = xroce_create_cq(&fake_ctx, 8, NULL, 0);
	pd = xroce_alloc_pd(&fake_ctx);
	xrcd = open_xrcd();
	TAP_CHECK(bad, !make_qp(IBV_QPT_XRC_SEND, pd, xrcd, cq, 0) &&
		  errno == EOPNOTSUPP, "a sender in a domain");
	TAP_CHECK(bad, !make_qp(IBV_QPT_XRC_RECV, NULL, xrcd, cq, 1) &&
		  errno == EOPNOTSUPP, "a target that sends");
	qp[0] = make_qp(IBV_QPT_XRC_RECV, NULL, xrcd, cq, 0);
	qp[1] = xroce_open_qp(&fake_ctx, &oa);
	qp[2] = make_qp(IBV_QPT_XRC_SEND, pd, NULL, cq, 0);
	TAP_CHECK(bad, qp[0] && qp[1] && qp[2] && qp[1]->qp_num == 7,
		  "not all was made");
	/* Named for it, which is nothing to it, or to the kernel */
	qp[2]->recv_cq = xroce_create_cq(&fake_ctx, 8, NULL, 0);
	xroce_destroy_cq(qp[2]->recv_cq);
	for (i = 0; i < 3; i++) {
		fake_to_state(qp[i], IBV_QPS_RTS);
		TAP_CHECK(bad, xroce_post_recv(qp[i], &rwr, &badr) == EINVAL &&
			  badr == &rwr, "QP %d receives", i);
		if (i < 2)
			TAP_CHECK(bad, xroce_post_send(qp[i], &wr, &badwr) ==
				  EINVAL && badwr == &wr, "QP %d sends", i);
		TAP_CHECK(bad, !xroce_destroy_qp(qp[i]), "QP %d stays", i);
	}
	fake.fail_cmd = EBUSY;
	TAP_CHECK(bad, xroce_close_xrcd(xrcd) == EBUSY, "errors are hidden");
	fake.fail_cmd = 0;
	TAP_CHECK(bad, !xroce_close_xrcd(xrcd), "the domain stays");
	xroce_destroy_cq(cq);
	xroce_dealloc_pd(pd);
	TAP_CHECK(bad, !fake.xrcds && !fake.qps && !fake.pds && !fake.maps,
		  "leftovers");
	tap_ok(!bad, "XRC's ends have no receive queue, its target no queue");
}

static void test_xrc_srq(void)
{
	uint32_t num = 0;
	struct ibv_srq_init_attr_ex attr = {
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_context = &num,
		.attr = { .max_wr = 3, .max_sge = 1 },
		.srq_type = IBV_SRQT_XRC,
	};
	struct ibv_srq *srq;
	int bad = 0;

	fake_reset();
	attr.cq = xroce_create_cq(&fake_ctx, 8, NULL, 0);
	attr.pd = xroce_alloc_pd(&fake_ctx);
	attr.xrcd = open_xrcd();
	srq = xroce_create_srq_ex(&fake_ctx, &attr);
	TAP_CHECK(bad, srq && attr.attr.max_wr == 4, "not made");
	TAP_CHECK(bad, srq->srq_context == &num && srq->pd == attr.pd, "whose it is");
	TAP_CHECK(bad, !xroce_get_srq_num(srq, &num) && num == 0x654321,
		  "number %#x", num);
	TAP_CHECK(bad, xroce_dealloc_pd(attr.pd) == EBUSY,
		  "its domain goes before it");
	xroce_destroy_srq(srq);
	attr.srq_type = IBV_SRQT_TM;
	TAP_CHECK(bad, !xroce_create_srq_ex(&fake_ctx, &attr) &&
		  errno == EOPNOTSUPP, "tag matching");
	attr.srq_type = IBV_SRQT_BASIC;
	TAP_CHECK(bad, !xroce_create_srq_ex(&fake_ctx, &attr) &&
		  errno == EOPNOTSUPP, "a basic one in an XRC domain");
	attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE;
	TAP_CHECK(bad, !xroce_create_srq_ex(&fake_ctx, &attr) &&
		  errno == EINVAL, "no PD");
	attr.comp_mask |= IBV_SRQ_INIT_ATTR_PD;
	srq = xroce_create_srq_ex(&fake_ctx, &attr);
	TAP_CHECK(bad, srq && xroce_get_srq_num(srq, &num) == EINVAL,
		  "a basic one has a number");
	xroce_destroy_srq(srq);
	xroce_destroy_cq(attr.cq);
	xroce_close_xrcd(attr.xrcd);
	TAP_CHECK(bad, !xroce_dealloc_pd(attr.pd) && !fake.srqs && !fake.maps,
		  "leftovers");
	tap_ok(!bad, "SRQs of XRC have a number, others none");
}

/* With a thread domain nothing made in it takes a lock. */
static void test_parent(void)
{
	struct ibv_parent_domain_init_attr pa = {};
	struct ibv_td_init_attr ta = { .comp_mask = 1 };
	struct ibv_srq_init_attr sa = { .attr = { .max_wr = 4 } };
	struct ibv_cq_init_attr_ex ca = {
		.cqe = 4, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
	};
	struct ibv_pd *pd, *parent;
	struct ibv_cq_ex *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	struct ibv_td *td;
	int bad = 0, single;

	fake_reset();
	pd = xroce_alloc_pd(&fake_ctx);
	TAP_CHECK(bad, !xroce_alloc_td(&fake_ctx, &ta) && errno == EINVAL,
		  "thread domain with comp_mask");
	ta.comp_mask = 0;
	td = xroce_alloc_td(&fake_ctx, &ta);
	TAP_CHECK(bad, !xroce_alloc_parent_domain(&fake_ctx, &pa) &&
		  errno == EINVAL, "a parent of nothing");
	pa.pd = pd;
	pa.comp_mask = 1 << 30;
	TAP_CHECK(bad, !xroce_alloc_parent_domain(&fake_ctx, &pa) &&
		  errno == EINVAL, "parent domain with comp_mask");
	ca.parent_domain = pd;
	TAP_CHECK(bad, !xroce_create_cq_ex(&fake_ctx, &ca) && errno == EINVAL,
		  "a CQ in a PD");
	for (single = 0; single < 2; single++) {
		pa.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			       IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
		pa.td = single ? td : NULL;
		parent = xroce_alloc_parent_domain(&fake_ctx, &pa);
		TAP_CHECK(bad, parent && parent->handle == 55 &&
			  parent->context == &fake_ctx, "no parent domain");
		ca.parent_domain = parent;
		cq = xroce_create_cq_ex(&fake_ctx, &ca);
		qp = make_qp(IBV_QPT_RC, parent, NULL, ibv_cq_ex_to_cq(cq), 0);
		srq = xroce_create_srq(parent, &sa);
		TAP_CHECK(bad, to_xcq_ex(cq)->lock.unneeded == single &&
			  to_xqp(qp)->sq.lock.unneeded == single &&
			  to_xqp(qp)->rq.lock.unneeded == single &&
			  to_xsrq(srq)->wq.lock.unneeded == single,
			  "locks, single-threaded %d", single);
		TAP_CHECK(bad, xroce_dealloc_pd(pd) == EBUSY &&
			  xroce_dealloc_td(td) == (single ? EBUSY : 0),
			  "what is used goes");
		if (!single)
			td = xroce_alloc_td(&fake_ctx, &ta);
		TAP_CHECK(bad, xroce_dealloc_pd(parent) == EBUSY, "in use by 3");
		xroce_destroy_qp(qp);
		TAP_CHECK(bad, xroce_dealloc_pd(parent) == EBUSY, "in use by 2");
		xroce_destroy_srq(srq);
		TAP_CHECK(bad, xroce_dealloc_pd(parent) == EBUSY, "in use by 1");
		xroce_destroy_cq(ibv_cq_ex_to_cq(cq));
		TAP_CHECK(bad, fake.pds == 1 && !xroce_dealloc_pd(parent) &&
			  fake.pds == 1, "the parent domain stays");
	}
	TAP_CHECK(bad, !xroce_dealloc_td(td) && !xroce_dealloc_pd(pd) &&
		  !fake.pds && !fake.maps, "leftovers");
	tap_ok(!bad, "a parent domain counts its users, a thread domain has no locks");
}

static void test_resize(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4 } };
	struct ibv_srq_attr to = { .max_wr = 16 };
	struct ibv_recv_wr wr = {}, *badr;
	struct xroce_ring *ring;
	struct xroce_srq *srq;
	struct ibv_pd *pd;
	int bad = 0, n;

	fake_reset();
	pd = xroce_alloc_pd(&fake_ctx);
	srq = to_xsrq(xroce_create_srq(pd, &attr));
	srq->wq.prod = srq->wq.cons = 0xfffffffe;
	srq->wq.map.ring->prod = srq->wq.map.ring->cons = 0xfffffffe;
	for (; wr.wr_id < 4; wr.wr_id++)
		xroce_post_srq_recv(&srq->vsrq.srq, &wr, &badr);
	srq->wq.map.ring->cons++;
	fake.fail_cmd = EINVAL;
	TAP_CHECK(bad, xroce_modify_srq(&srq->vsrq.srq, &to, IBV_SRQ_MAX_WR) ==
		  EINVAL && srq->wq.map.depth == 4, "a refusal is hidden");
	fake.fail_cmd = 0;
	TAP_CHECK(bad, !xroce_modify_srq(&srq->vsrq.srq, &to, IBV_SRQ_MAX_WR) &&
		  srq->wq.map.depth == 16 && fake.maps == 1, "not resized");
	for (n = 0; !xroce_post_srq_recv(&srq->vsrq.srq, &wr, &badr); n++)
		wr.wr_id++;
	ring = srq->wq.map.ring;
	TAP_CHECK(bad, n == 13 && ring->prod - ring->cons == 16,
		  "%d more in 16 that held 3", n);
	for (n = 1; n < 17; n++) {
		struct xroce_recv_wqe *w = (void *)(ring->slot +
					((0xfffffffeu + n) & 15) * 64);

		TAP_CHECK(bad, w->wr_id == (uint64_t)n, "receive %d is %d", n,
			  (int)w->wr_id);
	}
	xroce_destroy_srq(&srq->vsrq.srq);
	xroce_dealloc_pd(pd);
	TAP_CHECK(bad, !fake.maps && !fake.pds, "leftovers");
	tap_ok(!bad, "an SRQ goes on in a larger ring");
}

int main(void)
{
	alarm(60);		/* a lock left taken */
	tap_start();
	test_xrc_send();
	test_xrc_recv();
	test_xrc_srq();
	test_parent();
	test_resize();
	return tap_end();
}
