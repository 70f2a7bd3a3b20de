// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * XRC: one connection, and behind it a receive queue for each process. A sender
 * and a target on one device; two queues, with domains and CQs of their own; a
 * second process that comes into the domain by a file. And SRQs of another size.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "verbs.h"

#define SRQ_DEPTH	8

/**
 * struct xrc - a sender, a target, and queues that it receives into
 * @cq: the sender's, and of each queue
 * @pd: of each queue; the first is the sender's too
 * @mr: all of buf in each
 */
struct xrc {
	struct ibv_xrcd *xrcd;
	struct ibv_qp *ini;
	struct ibv_qp *tgt;
	struct ibv_qp_ex *ex;
	struct ibv_cq *cq[3];
	struct ibv_pd *pd[2];
	struct ibv_mr *mr[2];
	struct ibv_srq *srq[2];
	uint32_t srqn[2];
	uint32_t psn;
};

static struct ibv_xrcd *xrcd_open(struct ibv_context *c, int fd, int oflags)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = fd,
		.oflags = oflags,
	};

	return ibv_open_xrcd(c, &attr);
}

static struct ibv_srq *xsrq_make(struct ibv_context *c, struct ibv_pd *in,
				 struct ibv_xrcd *xrcd, struct ibv_cq *cq,
				 uint32_t *srqn)
{
	struct ibv_srq_init_attr_ex attr = {
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_context = srqn,
		.attr = { .max_wr = SRQ_DEPTH, .max_sge = 2 },
		.srq_type = IBV_SRQT_XRC,
		.pd = in,
		.xrcd = xrcd,
		.cq = cq,
	};
	struct ibv_srq *srq = ibv_create_srq_ex(c, &attr);

	if (srq && (ibv_get_srq_num(srq, srqn) || srq->srq_context != srqn ||
		    srq->pd != in)) {
		ibv_destroy_srq(srq);
		return NULL;
	}
	return srq;
}

static bool xrc_connect(struct xrc *x)
{
	x->psn = (x->psn + 0x234567) & 0xffffff;
	return qp_connect(x->tgt, x->ini->qp_num, x->psn) &&
	       qp_connect(x->ini, x->tgt->qp_num, x->psn);
}

static bool xrc_again(struct xrc *x)
{
	return qp_to(x->ini, IBV_QPS_RESET) && qp_to(x->tgt, IBV_QPS_RESET) &&
	       xrc_connect(x);
}

static bool xrc_qps(struct xrc *x)
{
	struct ibv_qp_init_attr_ex tgt = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = x->xrcd,
	};
	struct ibv_qp_init_attr_ex ini = {
		.qp_type = IBV_QPT_XRC_SEND,
		.send_cq = x->cq[0],
		.cap = { .max_send_wr = DEPTH, .max_send_sge = 2 },
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = x->pd[0],
		.send_ops_flags = SEND_OPS,
	};

	x->tgt = ibv_create_qp_ex(ctx, &tgt);
	NEED(x->tgt, "target: %s", strerror(errno));
	x->ini = ibv_create_qp_ex(ctx, &ini);
	NEED(x->ini, "sender: %s", strerror(errno));
	x->ex = ibv_qp_to_qp_ex(x->ini);
	return xrc_connect(x);
}

static bool xrc_make(struct xrc *x, int fd)
{
	int i;

	memset(x, 0, sizeof(*x));
	x->xrcd = xrcd_open(ctx, fd, fd < 0 ? O_CREAT : O_CREAT | O_EXCL);
	NEED(x->xrcd, "ibv_open_xrcd: %s", strerror(errno));
	for (i = 0; i < 3; i++) {
		x->cq[i] = ibv_create_cq(ctx, 64, NULL, NULL, 0);
		NEED(x->cq[i], "ibv_create_cq: %s", strerror(errno));
	}
	for (i = 0; i < 2; i++) {
		x->pd[i] = ibv_alloc_pd(ctx);
		NEED(x->pd[i], "ibv_alloc_pd: %s", strerror(errno));
		x->mr[i] = ibv_reg_mr(x->pd[i], buf, 2 * BUF_SIZE,
				      ANY_ACCESS | IBV_ACCESS_FLUSH_GLOBAL);
		NEED(x->mr[i], "ibv_reg_mr: %s", strerror(errno));
		x->srq[i] = xsrq_make(ctx, x->pd[i], x->xrcd, x->cq[1 + i],
				      &x->srqn[i]);
		NEED(x->srq[i], "SRQ %d: %s", i, strerror(errno));
	}
	return xrc_qps(x);
}

/* Whatever was made; that it all goes is part of the test. */
static bool xrc_free(struct xrc *x)
{
	bool ok = true;
	int i;

	if (x->ini)
		ok &= !ibv_destroy_qp(x->ini);
	if (x->tgt)
		ok &= !ibv_destroy_qp(x->tgt);
	for (i = 0; i < 2; i++) {
		if (x->srq[i])
			ok &= !ibv_destroy_srq(x->srq[i]);
		if (x->mr[i])
			ok &= !ibv_dereg_mr(x->mr[i]);
		if (x->pd[i])
			ok &= !ibv_dealloc_pd(x->pd[i]);
	}
	for (i = 0; i < 3; i++)
		if (x->cq[i])
			ok &= !ibv_destroy_cq(x->cq[i]);
	if (x->xrcd)
		ok &= !ibv_close_xrcd(x->xrcd);
	return ok;
}

static bool srq_post(struct ibv_srq *srq, struct ibv_mr *in, uint64_t id,
		     uint32_t off, uint32_t len)
{
	struct ibv_sge sge = sge_of(1, off, len);
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	sge.lkey = in->lkey;
	NEED(!ibv_post_srq_recv(srq, &wr, &bad), "ibv_post_srq_recv");
	return true;
}

static bool xrc_send(struct xrc *x, enum ibv_wr_opcode op, uint32_t srqn,
		     uint32_t rkey, uint32_t off, uint32_t len,
		     enum ibv_wc_status want)
{
	struct ibv_sge sge = sge_of(0, off, len);
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = op,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = htobe32(0x600d + off),
		.wr.rdma.remote_addr = sge_of(1, off, len).addr,
		.wr.rdma.rkey = rkey,
		.qp_type.xrc.remote_srqn = srqn,
	};
	struct ibv_wc wc;

	sge.lkey = x->mr[0]->lkey;
	if (op >= IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr.wr.atomic.remote_addr = sge_of(1, off, len).addr;
		wr.wr.atomic.compare_add = 5;
		wr.wr.atomic.swap = 0x600d;
		wr.wr.atomic.rkey = rkey;
	}
	NEED(!post_wr(x->ini, &wr), "ibv_post_send, opcode %d", op);
	TRY(reap(x->cq[0], &wc, 1, want));
	NEED(wc.qp_num == x->ini->qp_num, "completion of QP %#x", wc.qp_num);
	return want == IBV_WC_SUCCESS || xrc_again(x);
}

static bool received(struct xrc *x, int i, uint64_t id, uint32_t len,
		     bool write, bool imm, uint32_t off)
{
	struct ibv_wc wc;

	TRY(reap(x->cq[1 + i], &wc, 1, IBV_WC_SUCCESS));
	NEED(wc.wr_id == id && wc.byte_len == len &&
	     wc.opcode == (write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV) &&
	     wc.qp_num == x->tgt->qp_num && wc.src_qp == x->ini->qp_num &&
	     !(wc.wc_flags & IBV_WC_WITH_IMM) == !imm &&
	     (!imm || wc.imm_data == htobe32(0x600d + off)),
	     "completion on SRQ %d: id %llu, %u bytes, opcode %d", i,
	     (unsigned long long)wc.wr_id, wc.byte_len, wc.opcode);
	return true;
}

/* FLUSH and atomic WRITE, of the word at 64 */
static bool xrc_annex(struct xrc *x, uint32_t srqn, uint32_t rkey, uint64_t value)
{
	uint64_t addr = sge_of(1, 64, 0).addr;
	struct ibv_wc wc[2];

	ibv_wr_start(x->ex);
	x->ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_atomic_write(x->ex, rkey, addr, &value);
	ibv_wr_set_xrc_srqn(x->ex, srqn);
	ibv_wr_flush(x->ex, rkey, addr, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	ibv_wr_set_xrc_srqn(x->ex, srqn);
	NEED(!ibv_wr_complete(x->ex), "ibv_wr_complete");
	TRY(reap(x->cq[0], wc, 2, IBV_WC_SUCCESS));
	NEED(wc[0].opcode == IBV_WC_ATOMIC_WRITE && wc[1].opcode == IBV_WC_FLUSH,
	     "opcodes %d, %d", wc[0].opcode, wc[1].opcode);
	return true;
}

/* Each operation but to invalidate, for either queue, in one packet and in many */
static bool operations(struct xrc *x)
{
	static const uint32_t lens[] = { 8, 1024, 5000, 40000 };
	volatile uint64_t *word = (void *)(uintptr_t)sge_of(1, 64, 0).addr;
	unsigned int l;
	uint64_t id = 1;
	int i;

	for (l = 0; l < ARRAY_SIZE(lens); l++) {
		for (i = 0; i < 2; i++, id++) {
			uint32_t len = lens[l], rkey = x->mr[i]->rkey;

			fill(0, 0, len, id);
			fill(1, 0, len, 99);
			TRY(srq_post(x->srq[i], x->mr[i], id, 0, len));
			TRY(srq_post(x->srq[i], x->mr[i], id + 50, 0, len));
			TRY(xrc_send(x, IBV_WR_SEND_WITH_IMM, x->srqn[i], 0, 0,
				     len, IBV_WC_SUCCESS));
			TRY(received(x, i, id, len, false, true, 0));
			TRY(same(1, 0, len, id));
			fill(0, 0, len, id + 1);
			TRY(xrc_send(x, IBV_WR_RDMA_WRITE, x->srqn[i], rkey, 0,
				     len, IBV_WC_SUCCESS));
			TRY(same(1, 0, len, id + 1));
			fill(0, 0, len, id + 2);
			TRY(xrc_send(x, IBV_WR_RDMA_WRITE_WITH_IMM, x->srqn[i],
				     rkey, 0, len, IBV_WC_SUCCESS));
			TRY(received(x, i, id + 50, len, true, true, 0));
			TRY(same(1, 0, len, id + 2));
			fill(1, 0, len, id + 3);
			TRY(xrc_send(x, IBV_WR_RDMA_READ, x->srqn[i], rkey, 0,
				     len, IBV_WC_SUCCESS));
			TRY(same(0, 0, len, id + 3));
			*word = id;
			TRY(xrc_send(x, IBV_WR_ATOMIC_FETCH_AND_ADD,
				     x->srqn[i], rkey, 64, 8, IBV_WC_SUCCESS));
			NEED(*word == id + 5, "fetch and add");
			*word = 5;
			TRY(xrc_send(x, IBV_WR_ATOMIC_CMP_AND_SWP,
				     x->srqn[i], rkey, 64, 8, IBV_WC_SUCCESS));
			NEED(*word == 0x600d, "compare and swap");
			TRY(xrc_annex(x, x->srqn[i], rkey, id));
			NEED(*word == id, "atomic WRITE");
		}
	}
	return true;
}

/* By ibv_wr_*(), to both in turn without a wait */
static bool interleaved(struct xrc *x)
{
	struct ibv_wc wc[SRQ_DEPTH];
	int i;

	fill(0, 0, SRQ_DEPTH * 3000, 7);
	for (i = 0; i < SRQ_DEPTH; i++)
		TRY(srq_post(x->srq[i & 1], x->mr[i & 1], i, i * 3000, 3000));
	ibv_wr_start(x->ex);
	x->ex->wr_flags = IBV_SEND_SIGNALED;
	for (i = 0; i < SRQ_DEPTH; i++) {
		ibv_wr_send(x->ex);
		ibv_wr_set_xrc_srqn(x->ex, x->srqn[i & 1]);
		ibv_wr_set_sge(x->ex, x->mr[0]->lkey,
			       sge_of(0, i * 3000, 0).addr, 3000);
	}
	NEED(!ibv_wr_complete(x->ex), "ibv_wr_complete");
	TRY(reap(x->cq[0], wc, SRQ_DEPTH, IBV_WC_SUCCESS));
	for (i = 0; i < SRQ_DEPTH; i++)
		TRY(received(x, i & 1, i, 3000, false, false, 0));
	return same(1, 0, SRQ_DEPTH * 3000, 7);
}

/* What is not this queue's, or not in this domain, and receives that are bad */
static bool refusals(struct xrc *x)
{
	struct ibv_xrcd *other = xrcd_open(ctx, -1, O_CREAT);
	struct ibv_srq *srq;
	struct ibv_wc wc;
	uint32_t srqn;

	NEED(other, "ibv_open_xrcd: %s", strerror(errno));
	srq = xsrq_make(ctx, x->pd[0], other, x->cq[1], &srqn);
	NEED(srq, "SRQ in another domain: %s", strerror(errno));
	TRY(srq_post(srq, x->mr[0], 1, 0, 8));
	TRY(xrc_send(x, IBV_WR_SEND, srqn, 0, 0, 8, IBV_WC_REM_INV_REQ_ERR));
	TRY(xrc_send(x, IBV_WR_RDMA_WRITE, srqn, x->mr[0]->rkey, 0, 8,
		     IBV_WC_REM_INV_REQ_ERR));
	TRY(xrc_send(x, IBV_WR_SEND, x->srqn[0] ^ 1, 0, 0, 8,
		     IBV_WC_REM_INV_REQ_ERR));
	NEED(!ibv_destroy_srq(srq) && !ibv_close_xrcd(other), "left over");
	/* Keys are of the domain of the queue that is named */
	TRY(xrc_send(x, IBV_WR_RDMA_WRITE, x->srqn[0], x->mr[1]->rkey, 0, 8,
		     IBV_WC_REM_ACCESS_ERR));
	TRY(xrc_send(x, IBV_WR_RDMA_READ, x->srqn[1], x->mr[0]->rkey, 0, 8,
		     IBV_WC_REM_ACCESS_ERR));
	TRY(srq_post(x->srq[1], x->mr[0], 3, 0, 8));
	TRY(xrc_send(x, IBV_WR_SEND, x->srqn[1], 0, 0, 8, IBV_WC_REM_OP_ERR));
	TRY(reap(x->cq[2], &wc, 1, IBV_WC_LOC_PROT_ERR));
	TRY(srq_post(x->srq[0], x->mr[0], 4, 0, 7));
	TRY(xrc_send(x, IBV_WR_SEND, x->srqn[0], 0, 0, 8,
		     IBV_WC_REM_INV_REQ_ERR));
	TRY(reap(x->cq[1], &wc, 1, IBV_WC_LOC_LEN_ERR));
	NEED(wc.wr_id == 4, "receive %d", (int)wc.wr_id);
	/* A queue that is gone */
	NEED(!ibv_destroy_srq(x->srq[1]), "ibv_destroy_srq");
	x->srq[1] = NULL;
	return xrc_send(x, IBV_WR_SEND, x->srqn[1], 0, 0, 8,
			IBV_WC_REM_INV_REQ_ERR);
}

/* The event comes from the queue that ran low, though no QP is its own */
static bool limit(struct xrc *x)
{
	struct ibv_srq_attr attr = { .srq_limit = 2 };
	struct ibv_async_event ev;
	int i;

	for (i = 0; i < 3; i++)
		TRY(srq_post(x->srq[1], x->mr[1], i, 0, 8));
	NEED(!ibv_modify_srq(x->srq[1], &attr, IBV_SRQ_LIMIT), "limit");
	for (i = 0; i < 2; i++) {
		TRY(xrc_send(x, IBV_WR_SEND, x->srqn[1], 0, 0, 8,
			     IBV_WC_SUCCESS));
		TRY(received(x, 1, i, 8, false, false, 0));
	}
	alarm(WAIT_S);
	do {
		NEED(!ibv_get_async_event(ctx, &ev), "ibv_get_async_event");
		ibv_ack_async_event(&ev);
	} while (ev.event_type != IBV_EVENT_SRQ_LIMIT_REACHED);
	alarm(0);
	NEED(ev.element.srq == x->srq[1], "the event is of another SRQ");
	NEED(!ibv_query_srq(x->srq[1], &attr) && !attr.srq_limit,
	     "armed after the event");
	return true;
}

/* What is refused when it is made */
static bool making(struct xrc *x)
{
	struct ibv_qp_open_attr open = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = x->tgt->qp_num,
		.xrcd = x->xrcd,
		.qp_type = IBV_QPT_XRC_RECV,
	};
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_qp *again;

	NEED(ibv_close_xrcd(x->xrcd) == EBUSY, "a domain in use is closed");
	NEED(!ibv_query_qp(x->tgt, &attr, IBV_QP_STATE, &init) &&
	     attr.qp_state == IBV_QPS_RTS && init.qp_type == IBV_QPT_XRC_RECV &&
	     !init.cap.max_send_wr && !init.cap.max_recv_wr, "query of target");
	again = ibv_open_qp(ctx, &open);
	NEED(again && again->qp_num == x->tgt->qp_num, "ibv_open_qp: %s",
	     strerror(errno));
	/* It lives as long as one of both handles does */
	NEED(!ibv_destroy_qp(x->tgt), "ibv_destroy_qp");
	x->tgt = again;
	TRY(srq_post(x->srq[0], x->mr[0], 1, 0, 8));
	TRY(xrc_send(x, IBV_WR_SEND, x->srqn[0], 0, 0, 8, IBV_WC_SUCCESS));
	TRY(received(x, 0, 1, 8, false, false, 0));
	open.qp_num = x->ini->qp_num;
	NEED(!ibv_open_qp(ctx, &open) && errno == EINVAL, "a sender opened");
	return true;
}

static bool with_xrc(bool (*test)(struct xrc *))
{
	struct xrc x;
	bool ok = xrc_make(&x, -1) && test(&x);

	if (!xrc_free(&x) && ok) {
		why("something is still in use: %s", strerror(errno));
		ok = false;
	}
	return ok;
}

bool test_xrc_operations(void)
{
	return with_xrc(operations) && with_xrc(interleaved);
}

bool test_xrc_refusals(void)
{
	return with_xrc(refusals);
}

bool test_xrc_limit(void)
{
	return with_xrc(limit);
}

bool test_xrc_making(void)
{
	return with_xrc(making);
}

/* The other process: it receives 3 messages, of 1, 2 and 3 times 5000 bytes. */
static int child(const char *dev, const char *file, int say, int hear)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *c = NULL;
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	uint32_t srqn;
	int i, fd;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), dev))
			c = ibv_open_device(list[i]);
	fd = open(file, O_RDONLY);
	xrcd = c ? xrcd_open(c, fd, 0) : NULL;
	if (!xrcd)
		return 2;
	pd = ibv_alloc_pd(c);
	mr = ibv_reg_mr(pd, buf, 2 * BUF_SIZE, IBV_ACCESS_LOCAL_WRITE);
	cq = ibv_create_cq(c, 16, NULL, NULL, 0);
	srq = xsrq_make(c, pd, xrcd, cq, &srqn);
	if (!srq || !mr)
		return 3;
	for (i = 0; i < 3; i++)
		if (!srq_post(srq, mr, i, i * 20000, 20000))
			return 4;
	if (write(say, &srqn, sizeof(srqn)) != sizeof(srqn))
		return 5;
	for (i = 0; i < 3; i++)
		if (!reap(cq, &wc, 1, IBV_WC_SUCCESS) || wc.wr_id != (uint64_t)i ||
		    wc.byte_len != 5000u * (i + 1) ||
		    !same(1, i * 20000, wc.byte_len, i))
			return 6 + i;
	/* Its end is to be of no concern to the connection */
	if (write(say, &srqn, 1) != 1 || read(hear, &i, 1) != 1)
		return 9;
	return 0;
}

static bool two_processes(struct xrc *x, int say, int hear, pid_t pid)
{
	uint32_t srqn;
	int i, status;
	char c;

	NEED(read(hear, &srqn, sizeof(srqn)) == sizeof(srqn),
	     "the other process has no SRQ");
	for (i = 0; i < 3; i++) {
		fill(0, i * 20000, 20000, i);
		TRY(xrc_send(x, IBV_WR_SEND, srqn, 0, i * 20000, 5000 * (i + 1),
			     IBV_WC_SUCCESS));
	}
	NEED(read(hear, &c, 1) == 1, "it did not receive all");
	NEED(write(say, &c, 1) == 1 && waitpid(pid, &status, 0) == pid &&
	     !status, "it ended with %#x", status);
	TRY(srq_post(x->srq[0], x->mr[0], 1, 0, 8));
	TRY(xrc_send(x, IBV_WR_SEND, x->srqn[0], 0, 0, 8, IBV_WC_SUCCESS));
	TRY(received(x, 0, 1, 8, false, false, 0));
	return xrc_send(x, IBV_WR_SEND, srqn, 0, 0, 8, IBV_WC_REM_INV_REQ_ERR);
}

bool test_xrc_processes(void)
{
	char file[] = "/tmp/xrcdXXXXXX";
	int up[2], down[2], fd = mkstemp(file);
	struct ibv_xrcd *not_there;
	struct xrc x;
	pid_t pid;
	bool ok;

	NEED(fd >= 0 && !pipe(up) && !pipe(down), "%s", strerror(errno));
	not_there = xrcd_open(ctx, fd, 0);
	NEED(!not_there, "a domain that nobody has made");
	pid = fork();
	if (!pid) {
		char c;

		/* or it would never hear that we gave up */
		close(down[1]);
		if (read(down[0], &c, 1) != 1)
			_exit(1);
		_exit(child(ibv_get_device_name(ctx->device), file, up[1],
			    down[0]));
	}
	close(up[1]);
	ok = xrc_make(&x, fd);
	if (ok && xrcd_open(ctx, fd, O_CREAT | O_EXCL)) {
		why("a domain made twice");
		ok = false;
	}
	ok = ok && write(down[1], "", 1) == 1 &&
	     two_processes(&x, down[1], up[0], pid);
	close(down[1]);
	if (!xrc_free(&x) && ok) {
		why("something is still in use");
		ok = false;
	}
	close(up[0]);
	close(down[0]);
	close(fd);
	unlink(file);
	return ok;
}

static bool resize_to(struct ibv_srq *srq, uint32_t n, int want)
{
	struct ibv_srq_attr attr = { .max_wr = n };
	int err = ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR);

	NEED(err == want, "resize to %u: %s", n, strerror(err));
	NEED(!ibv_query_srq(srq, &attr), "ibv_query_srq");
	NEED(want || attr.max_wr >= n, "resized to %u: %u", n, attr.max_wr);
	return true;
}

/* All that was posted is received, in order, whatever the size is meanwhile. */
static bool srq_sizes(struct xrc *x)
{
	static const int sizes[] = { 64, 4, 8, 1024, 16, 8 };
	struct ibv_srq *srq = x->srq[0];
	struct ibv_srq_attr attr = { .max_wr = 4, .srq_limit = 5 };
	struct ibv_device_attr dev;
	unsigned int i;
	int id = 0, next = 0;

	NEED(!ibv_query_device(ctx, &dev), "ibv_query_device");
	for (i = 0; i < 60; i++) {
		while (id - next < 4) {
			TRY(srq_post(srq, x->mr[0], id, id % 4 * 8192, 8192));
			id++;
		}
		TRY(resize_to(srq, sizes[i % ARRAY_SIZE(sizes)], 0));
		fill(0, next % 4 * 8192, 5000, i);
		TRY(xrc_send(x, IBV_WR_SEND, x->srqn[0], 0, next % 4 * 8192,
			     5000, IBV_WC_SUCCESS));
		TRY(received(x, 0, next, 5000, false, false, 0));
		TRY(same(1, next % 4 * 8192, 5000, i));
		next++;
	}
	TRY(srq_post(srq, x->mr[0], id, 0, 8));
	TRY(resize_to(srq, 2, EINVAL));
	TRY(resize_to(srq, 0, EINVAL));
	TRY(resize_to(srq, dev.max_srq_wr + 1, EINVAL));
	NEED(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT) ==
	     EINVAL, "a limit beyond the size");
	return resize_to(srq, dev.max_srq_wr, 0);
}

bool test_srq_resize(void)
{
	return with_xrc(srq_sizes);
}
