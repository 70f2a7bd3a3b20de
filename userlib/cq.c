// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues: the kernel produces, we consume. Polling and arming are
 * memory accesses and no system calls. The CQ's lock guards its consumer index.
 */
#include <errno.h>
#include <stdlib.h>

#include "xroce.h"

#define XROCE_WC_EX_FLAGS \
	(IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)

static uint32_t cq_prod(const struct xroce_cq *cq)
{
	return __atomic_load_n(&cq->map.ring->prod, __ATOMIC_ACQUIRE);
}

/* Released: we have read the elements before, so the kernel may write there. */
static void cq_set_cons(struct xroce_cq *cq, uint32_t cons)
{
	cq->cons = cons;
	__atomic_store_n(&cq->map.ring->cons, cons, __ATOMIC_RELEASE);
}

/*
 * An element is polled: its place is the kernel's again, and then the slot of its request is
 * free. The other way round what is posted to that might complete into a CQ that is full,
 * being as large as its queues. Receives complete in order, each of them; where a QP has no
 * queue for them, they are an SRQ's.
 */
static void cq_take(struct xroce_cq *cq, struct xroce_cqe *cqe)
{
	struct xroce_qp *qp;

	*cqe = *(const struct xroce_cqe *)xroce_slot(&cq->map, cq->cons);
	cq_set_cons(cq, cq->cons + 1);
	qp = (struct xroce_qp *)(uintptr_t)cqe->user_handle;
	if (!qp)
		return;		/* an XRC target's */
	if (cqe->opcode < XROCE_WC_RECV)
		wq_done(&qp->sq, cqe->sq_cons);
	else if (qp->rq.map.ring)
		wq_done(&qp->rq, qp->rq.cons + 1);
}

static void cqe_to_wc(struct ibv_wc *wc, const struct xroce_cqe *cqe)
{
	wc->wr_id = cqe->wr_id;
	wc->status = cqe->status;
	wc->opcode = cqe->opcode;
	wc->vendor_err = 0;
	wc->byte_len = cqe->byte_len;
	wc->imm_data = cqe->imm;
	wc->qp_num = cqe->qpn;
	wc->src_qp = cqe->src_qp;
	wc->wc_flags = cqe->flags;
	wc->pkey_index = 0;
	wc->slid = 0;
	wc->sl = cqe->sl;
	wc->dlid_path_bits = 0;
}

static bool cq_is_told(const struct xroce_cq *cq)
{
	return __atomic_load_n(&cq->told, __ATOMIC_RELAXED);
}

static void cq_told(struct xroce_cq *cq, bool told)
{
	__atomic_store_n(&cq->told, told, __ATOMIC_RELAXED);
}

/*
 * What kept xroce_req_notify_cq() from a call ends. The barrier pairs with the one there:
 * that sees it, or we see what is there and what was asked for.
 *
 * Return: there was something
 */
static bool cq_end_told(struct xroce_cq *cq)
{
	if (!cq_is_told(cq))
		return false;
	cq_told(cq, false);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return true;
}

/*
 * If an event is asked for, have one raised for what is there; for any, where the kernel
 * would take one that has moved (xroce_cq_clean()) for none that was solicited.
 */
static int cq_ask(struct xroce_cq *cq)
{
	uint32_t arm, prod, cons, moved;
	struct xroce_ring *ring;

	xroce_lock(&cq->arm_lock);	/* or it may be another ring soon */
	ring = cq->map.ring;
	arm = __atomic_load_n(&ring->arm, __ATOMIC_RELAXED);
	prod = __atomic_load_n(&ring->prod, __ATOMIC_RELAXED);
	cons = __atomic_load_n(&ring->cons, __ATOMIC_RELAXED);
	moved = __atomic_load_n(&cq->moved, __ATOMIC_RELAXED);
	xroce_unlock(&cq->arm_lock);
	if (arm == XROCE_ARM_NONE || prod == cons)
		return 0;
	return ibv_cmd_req_notify_cq(&cq->vcq.cq, arm == XROCE_ARM_SOLICITED &&
				     moved - cons - 1 >= prod - cons);
}

/*
 * A poll has ended what kept xroce_req_notify_cq() from a call (cq_end_told()), and left
 * some: is an event asked for. Nobody else tells of these: who takes an event, asks for the
 * next, polls once and sleeps is woken by NICs. Under the CQ's lock.
 */
static bool cq_asked(const struct xroce_cq *cq)
{
	return __atomic_load_n(&cq->map.ring->arm, __ATOMIC_RELAXED) != XROCE_ARM_NONE;
}

int xroce_poll_cq(struct ibv_cq *ibcq, int n, struct ibv_wc *wc)
{
	struct xroce_cq *cq = to_xcq(ibcq);
	bool told, ask;
	uint32_t avail;
	int i;

	xroce_lock(&cq->lock);
	told = cq_end_told(cq);
	avail = cq_prod(cq) - cq->cons;
	for (i = 0; i < n && (uint32_t)i < avail; i++) {
		struct xroce_cqe cqe;

		cq_take(cq, &cqe);
		cqe_to_wc(wc + i, &cqe);
	}
	ask = told && (uint32_t)i < avail && cq_asked(cq);
	xroce_unlock(&cq->lock);
	if (ask)
		cq_ask(cq);
	return i;
}

/**
 * xroce_req_notify_cq() - ask for an event
 *
 * A request for any completion is not weakened by one for a solicited one. If
 * the kernel takes the old request at the same moment, its event is still to
 * come, and for a completion that whoever waits has not polled yet.
 *
 * The full barrier pairs with the kernel's between writing an element and
 * looking at @arm: either it sees the request, or we, and the poll that the caller
 * does next, as verbs demand, see the element. Not all do: NICs raise an event for
 * what has not been polled when it is asked for, and UCX sleeps then. So the kernel
 * is asked to, where no event has told of it: then only if the next poll leaves some.
 */
int xroce_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct xroce_cq *cq = to_xcq(ibcq);
	uint32_t none = XROCE_ARM_NONE;
	struct xroce_ring *ring;
	bool empty;

	xroce_lock(&cq->arm_lock);
	ring = cq->map.ring;
	if (solicited_only)
		__atomic_compare_exchange_n(&ring->arm, &none,
					    XROCE_ARM_SOLICITED, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	else
		__atomic_store_n(&ring->arm, XROCE_ARM_NEXT, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	empty = __atomic_load_n(&ring->prod, __ATOMIC_RELAXED) ==
		__atomic_load_n(&ring->cons, __ATOMIC_RELAXED);
	xroce_unlock(&cq->arm_lock);
	return empty || cq_is_told(cq) ? 0 : cq_ask(cq);
}

/**
 * xroce_cq_event() - ibv_get_cq_event() has got one
 */
void xroce_cq_event(struct ibv_cq *ibcq)
{
	cq_told(to_xcq(ibcq), true);
}

/**
 * xroce_cq_clean() - forget the completions of a QP that is gone or was reset
 *
 * What is kept moves towards the kernel's end, in order. The kernel has already
 * stopped to write for this QP; that it goes on for others does no harm.
 */
void xroce_cq_clean(struct xroce_cq *cq, uint32_t qpn)
{
	uint32_t from, to, end;

	xroce_lock(&cq->lock);
	end = cq_prod(cq);
	for (from = to = end; from != cq->cons;) {
		struct xroce_cqe *cqe = xroce_slot(&cq->map, --from);

		if (cqe->qpn == qpn)
			continue;
		if (--to != from)
			*(struct xroce_cqe *)xroce_slot(&cq->map, to) = *cqe;
	}
	if (to != cq->cons) {
		__atomic_store_n(&cq->moved, end, __ATOMIC_RELAXED);
		cq_set_cons(cq, to);
	}
	xroce_unlock(&cq->lock);
}

static void cq_load(struct xroce_cq *cq)
{
	cq_take(cq, &cq->cqe);
	cq->vcq.cq_ex.wr_id = cq->cqe.wr_id;
	cq->vcq.cq_ex.status = cq->cqe.status;
}

static int cq_start_poll(struct ibv_cq_ex *ibcq, struct ibv_poll_cq_attr *attr)
{
	struct xroce_cq *cq = to_xcq_ex(ibcq);

	if (unlikely(attr->comp_mask))
		return EINVAL;
	xroce_lock(&cq->lock);
	cq_end_told(cq);
	if (cq_prod(cq) == cq->cons) {
		xroce_unlock(&cq->lock);
		return ENOENT;
	}
	cq_told(cq, true);
	cq_load(cq);
	return 0;
}

static int cq_next_poll(struct ibv_cq_ex *ibcq)
{
	struct xroce_cq *cq = to_xcq_ex(ibcq);

	if (cq_prod(cq) == cq->cons)
		return ENOENT;
	cq_load(cq);
	return 0;
}

static void cq_end_poll(struct ibv_cq_ex *ibcq)
{
	struct xroce_cq *cq = to_xcq_ex(ibcq);
	bool ask;

	ask = cq_end_told(cq) && cq_prod(cq) != cq->cons && cq_asked(cq);
	xroce_unlock(&cq->lock);
	if (ask)
		cq_ask(cq);
}

static enum ibv_wc_opcode cq_read_opcode(struct ibv_cq_ex *cq)
{
	return to_xcq_ex(cq)->cqe.opcode;
}

static uint32_t cq_read_vendor_err(struct ibv_cq_ex *cq)
{
	return 0;
}

static uint32_t cq_read_byte_len(struct ibv_cq_ex *cq)
{
	return to_xcq_ex(cq)->cqe.byte_len;
}

static __be32 cq_read_imm_data(struct ibv_cq_ex *cq)
{
	return to_xcq_ex(cq)->cqe.imm;
}

static uint32_t cq_read_qp_num(struct ibv_cq_ex *cq)
{
	return to_xcq_ex(cq)->cqe.qpn;
}

static uint32_t cq_read_src_qp(struct ibv_cq_ex *cq)
{
	return to_xcq_ex(cq)->cqe.src_qp;
}

static unsigned int cq_read_wc_flags(struct ibv_cq_ex *cq)
{
	return to_xcq_ex(cq)->cqe.flags;
}

static uint32_t cq_read_slid(struct ibv_cq_ex *cq)
{
	return 0;
}

static uint8_t cq_read_sl(struct ibv_cq_ex *cq)
{
	return to_xcq_ex(cq)->cqe.sl;
}

static uint8_t cq_read_dlid_path_bits(struct ibv_cq_ex *cq)
{
	return 0;
}

static uint64_t cq_read_completion_ts(struct ibv_cq_ex *cq)
{
	return to_xcq_ex(cq)->cqe.timestamp;
}

/**
 * xroce_cq_set_ops() - what an extended CQ can be asked
 */
static void xroce_cq_set_ops(struct xroce_cq *cq, uint64_t flags)
{
	struct ibv_cq_ex *ex = &cq->vcq.cq_ex;

	ex->start_poll = cq_start_poll;
	ex->next_poll = cq_next_poll;
	ex->end_poll = cq_end_poll;
	ex->read_opcode = cq_read_opcode;
	ex->read_vendor_err = cq_read_vendor_err;
	ex->read_wc_flags = cq_read_wc_flags;
	if (flags & IBV_WC_EX_WITH_BYTE_LEN)
		ex->read_byte_len = cq_read_byte_len;
	if (flags & IBV_WC_EX_WITH_IMM)
		ex->read_imm_data = cq_read_imm_data;
	if (flags & IBV_WC_EX_WITH_QP_NUM)
		ex->read_qp_num = cq_read_qp_num;
	if (flags & IBV_WC_EX_WITH_SRC_QP)
		ex->read_src_qp = cq_read_src_qp;
	if (flags & IBV_WC_EX_WITH_SLID)
		ex->read_slid = cq_read_slid;
	if (flags & IBV_WC_EX_WITH_SL)
		ex->read_sl = cq_read_sl;
	if (flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		ex->read_dlid_path_bits = cq_read_dlid_path_bits;
	if (flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		ex->read_completion_ts = cq_read_completion_ts;
}

static struct xroce_cq *cq_create(struct ibv_context *ctx,
				  struct ibv_cq_init_attr_ex *attr)
{
	struct {
		struct ib_uverbs_ex_create_cq_resp ibv;
		struct xroce_create_cq_resp drv;
	} resp = {};
	/* Of @wc_flags and @flags only whether the time is wanted is the kernel's business. */
	struct ibv_cq_init_attr_ex cmd = {
		.wc_flags = attr->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
		.cqe = attr->cqe,
		.channel = attr->channel,
		.comp_vector = attr->comp_vector,
	};
	struct xroce_cq *cq;
	bool single;
	int ret;

	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return NULL;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD)
		cq->pd = xroce_pd_get(attr->parent_domain);
	single = ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
		  (attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED)) ||
		 xroce_pd_single(cq->pd);
	ret = xroce_lock_init(&cq->lock, single);
	if (ret)
		goto err_free;
	ret = xroce_lock_init(&cq->arm_lock, single);
	if (ret)
		goto err_lock;
	ret = ibv_cmd_create_cq_ex(ctx, &cmd, &cq->vcq, NULL, 0, &resp.ibv,
				   sizeof(resp), 0);
	if (ret)
		goto err_arm_lock;
	ret = xroce_map(ctx, &cq->map, &resp.drv.ring);
	if (ret)
		goto err_destroy;
	return cq;

err_destroy:
	ibv_cmd_destroy_cq(&cq->vcq.cq);
err_arm_lock:
	xroce_lock_destroy(&cq->arm_lock);
err_lock:
	xroce_lock_destroy(&cq->lock);
err_free:
	xroce_pd_put(cq->pd);
	free(cq);
	errno = ret;
	return NULL;
}

struct ibv_cq *xroce_create_cq(struct ibv_context *ctx, int cqe,
			       struct ibv_comp_channel *channel, int vector)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe,
		.channel = channel,
		.comp_vector = vector,
	};
	struct xroce_cq *cq;

	if (cqe <= 0) {
		errno = EINVAL;
		return NULL;
	}
	cq = cq_create(ctx, &attr);
	return cq ? &cq->vcq.cq : NULL;
}

struct ibv_cq_ex *xroce_create_cq_ex(struct ibv_context *ctx,
				     struct ibv_cq_init_attr_ex *attr)
{
	struct xroce_cq *cq;

	if ((attr->wc_flags & ~(uint64_t)XROCE_WC_EX_FLAGS) ||
	    (attr->comp_mask & ~(IBV_CQ_INIT_ATTR_MASK_FLAGS |
				 IBV_CQ_INIT_ATTR_MASK_PD)) ||
	    ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
	     (attr->flags & ~IBV_CREATE_CQ_ATTR_SINGLE_THREADED))) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) &&
	    (!attr->parent_domain || !to_xpd(attr->parent_domain)->of)) {
		errno = EINVAL;
		return NULL;
	}
	cq = cq_create(ctx, attr);
	if (!cq)
		return NULL;
	xroce_cq_set_ops(cq, attr->wc_flags);
	return &cq->vcq.cq_ex;
}

/**
 * xroce_resize_cq() - go on in another ring
 *
 * The kernel takes along what has not been polled, and the request for an event.
 * Should there be no room to map it, the CQ is of no use any more.
 */
int xroce_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct {
		struct ib_uverbs_resize_cq_resp ibv;
		struct xroce_create_cq_resp drv;
	} resp = {};
	struct xroce_cq *cq = to_xcq(ibcq);
	struct xroce_map map = {};
	struct ibv_resize_cq cmd;
	int ret;

	if (cqe <= 0)
		return EINVAL;
	xroce_lock(&cq->lock);
	xroce_lock(&cq->arm_lock);
	ret = ibv_cmd_resize_cq(ibcq, cqe, &cmd, sizeof(cmd), &resp.ibv,
				sizeof(resp));
	if (!ret)
		ret = xroce_map(ibcq->context, &map, &resp.drv.ring);
	if (!ret) {
		xroce_unmap(&cq->map);
		cq->map = map;
	}
	xroce_unlock(&cq->arm_lock);
	xroce_unlock(&cq->lock);
	return ret;
}

int xroce_destroy_cq(struct ibv_cq *ibcq)
{
	struct xroce_cq *cq = to_xcq(ibcq);
	int ret;

	ret = ibv_cmd_destroy_cq(ibcq);
	if (ret)
		return ret;
	xroce_unmap(&cq->map);
	xroce_lock_destroy(&cq->arm_lock);
	xroce_lock_destroy(&cq->lock);
	xroce_pd_put(cq->pd);
	free(cq);
	return 0;
}
