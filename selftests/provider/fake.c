// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The fake kernel. Its mmap(), munmap() and lseek() stand in for the provider's
 * by -D; its ibv_cmd_*() take precedence over libibverbs' own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fake.h"

struct fake fake;
struct xroce_context fake_xctx = { .vctx.context.cmd_fd = 1000, .bell = 1001 };

static const uint32_t handle_qp = 77, number_qp = 0xabcdef;

void fake_reset(void)
{
	int i;

	for (i = 0; i < fake.n_rings; i++)
		free(fake.rings[i].ring);
	memset(&fake, 0, sizeof(fake));
	fake.cap = (struct ibv_qp_cap) {
		.max_send_wr = 8,
		.max_recv_wr = 4,
		.max_send_sge = 3,
		.max_recv_sge = 2,
		.max_inline_data = 60,
	};
	fake.active_mtu = IBV_MTU_1024;
}

static struct xroce_ring_info make_ring(uint32_t depth, uint32_t stride)
{
	struct fake_ring *r = &fake.rings[fake.n_rings];
	uint32_t size = XROCE_RING_HDR + depth * stride;

	if (!depth)
		return (struct xroce_ring_info) {};
	r->ring = aligned_alloc(64, size);
	memset(r->ring, 0, size);
	r->depth = depth;
	r->stride = stride;
	fake.n_rings++;
	return (struct xroce_ring_info) {
		.offset = (uint64_t)fake.n_rings << 12,
		.size = size,
		.depth = depth,
		.stride = stride,
	};
}

void *fake_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	struct fake_ring *r = &fake.rings[(off >> 12) - 1];

	if (addr || prot != (PROT_READ | PROT_WRITE) || flags != MAP_SHARED ||
	    fd != fake_ctx.cmd_fd ||
	    len != XROCE_RING_HDR + (size_t)r->depth * r->stride)
		abort();
	if (fake.fail_map && !--fake.fail_map) {
		errno = EAGAIN;
		return MAP_FAILED;
	}
	fake.maps++;
	return r->ring;
}

int fake_munmap(void *addr, size_t len)
{
	int i;

	for (i = 0; i < fake.n_rings; i++) {
		struct fake_ring *r = &fake.rings[i];

		if (r->ring != addr)
			continue;
		if (len != XROCE_RING_HDR + (size_t)r->depth * r->stride)
			abort();
		free(r->ring);
		r->ring = NULL;
		fake.maps--;
		return 0;
	}
	abort();
}

off_t fake_lseek(int fd, off_t off, int whence)
{
	if (fake.fail_cmd || fake.no_lseek) {
		errno = fake.no_lseek ?: fake.fail_cmd;
		return -1;
	}
	if (fake.foreign)
		return syscall(SYS_lseek, fake.foreign, off, whence);
	if (fd == fake_xctx.bell && off == -1 - (off_t)number_qp && whence == SEEK_SET)
		fake.bells++;
	else
		fake.bad_bells++;
	return -1 - off;
}

int ibv_cmd_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)bad;
	if (fake.fail_cmd)
		return fake.fail_cmd;
	if (qp->handle != handle_qp || wr)
		fake.bad_bells++;
	fake.bells++;
	return 0;
}

int ibv_cmd_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	fake.armed++;
	fake.solicited_only = solicited_only;
	return fake.fail_cmd;
}

struct xroce_ring *fake_ring_of(const struct xroce_map *m)
{
	return m->ring;
}

/* A completion of a send, of which all before @cons are done, or of the next receive. */
void fake_complete(struct ibv_qp *qp, bool recv, uint32_t cons)
{
	const struct xroce_map *m = &to_xcq(recv ? qp->recv_cq : qp->send_cq)->map;

	*(struct xroce_cqe *)xroce_slot(m, m->ring->prod++) = (struct xroce_cqe) {
		.qpn = qp->qp_num,
		.opcode = recv ? XROCE_WC_RECV : XROCE_WC_SEND,
		.sq_cons = recv ? 0 : cons,
		.user_handle = (uintptr_t)to_xqp(qp),
	};
}

/* All that was posted is sent, and its last completion polled. */
void fake_sent(struct ibv_qp *qp)
{
	struct xroce_ring *ring = to_xqp(qp)->sq.map.ring;
	struct ibv_wc wc;

	ring->cons = ring->prod;
	fake_complete(qp, false, ring->cons);
	if (xroce_poll_cq(qp->send_cq, 1, &wc) != 1)
		abort();
}

int ibv_cmd_create_cq_ex(struct ibv_context *ctx,
			 const struct ibv_cq_init_attr_ex *attr,
			 struct verbs_cq *cq, struct ibv_create_cq_ex *cmd,
			 size_t cmd_size,
			 struct ib_uverbs_ex_create_cq_resp *resp,
			 size_t resp_size, uint32_t flags)
{
	struct xroce_create_cq_resp *drv = (void *)(resp + 1);
	uint32_t depth = 1;

	if (fake.fail_cmd)
		return errno = fake.fail_cmd;
	if (resp_size != sizeof(*resp) + sizeof(*drv))
		abort();
	if (attr->wc_flags & ~IBV_WC_EX_WITH_COMPLETION_TIMESTAMP || attr->comp_mask ||
	    attr->flags)
		return errno = EOPNOTSUPP;
	fake.wc_flags = attr->wc_flags;
	while (depth < attr->cqe)
		depth *= 2;
	drv->ring = make_ring(depth, sizeof(struct xroce_cqe));
	cq->cq.context = ctx;
	cq->cq.cqe = depth;
	fake.cqs++;
	return 0;
}

int ibv_cmd_destroy_cq(struct ibv_cq *cq)
{
	if (fake.fail_cmd)
		return fake.fail_cmd;
	fake.cqs--;
	return 0;
}

int ibv_cmd_create_qp_ex2(struct ibv_context *ctx, struct verbs_qp *vqp,
			  struct ibv_qp_init_attr_ex *attr,
			  struct ibv_create_qp_ex *cmd, size_t cmd_size,
			  struct ib_uverbs_ex_create_qp_resp *resp,
			  size_t resp_size)
{
	struct xroce_create_qp_resp *drv = (void *)(resp + 1);

	if (fake.fail_cmd)
		return errno = fake.fail_cmd;
	if (resp_size != sizeof(*resp) + sizeof(*drv))
		abort();
	drv->sq = make_ring(fake.cap.max_send_wr, 128);
	if (attr->qp_type == IBV_QPT_XRC_RECV)
		drv->sq = (struct xroce_ring_info) {};
	drv->rq = make_ring(attr->srq || attr->qp_type >= IBV_QPT_XRC_SEND ?
			    0 : fake.cap.max_recv_wr, 64);
	attr->cap = fake.cap;
	vqp->qp.context = ctx;
	vqp->qp.handle = handle_qp;
	vqp->qp.qp_num = number_qp;
	vqp->qp.send_cq = attr->send_cq;
	vqp->qp.recv_cq = attr->recv_cq;
	vqp->qp.qp_type = attr->qp_type;
	vqp->qp.srq = attr->srq;
	vqp->qp.state = IBV_QPS_RESET;
	vqp->comp_mask = 0;
	fake.qps++;
	return 0;
}

int ibv_cmd_destroy_qp(struct ibv_qp *qp)
{
	if (fake.fail_cmd)
		return fake.fail_cmd;
	fake.qps--;
	return 0;
}

int ibv_cmd_modify_qp_ex(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
			 struct ibv_modify_qp_ex *cmd, size_t cmd_size,
			 struct ib_uverbs_ex_modify_qp_resp *resp, size_t resp_size)
{
	if (fake.fail_cmd)
		return fake.fail_cmd;
	fake.modify_mask = mask;
	if (fake.meanwhile)
		fake.meanwhile();
	return 0;
}

/* As libibverbs modifies it */
int fake_to_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int ret = xroce_modify_qp(qp, &attr, IBV_QP_STATE);

	if (!ret)
		qp->state = state;
	return ret;
}

int ibv_cmd_query_port(struct ibv_context *ctx, uint8_t port,
		       struct ibv_port_attr *attr, struct ibv_query_port *cmd,
		       size_t cmd_size)
{
	attr->active_mtu = fake.active_mtu;
	return port == 1 ? fake.fail_port : EINVAL;
}

int ibv_cmd_create_srq_ex(struct ibv_context *ctx, struct verbs_srq *vsrq,
			  struct ibv_srq_init_attr_ex *attr,
			  struct ibv_create_xsrq *cmd, size_t cmd_size,
			  struct ib_uverbs_create_srq_resp *resp,
			  size_t resp_size)
{
	struct xroce_create_srq_resp *drv = (void *)(resp + 1);

	if (fake.fail_cmd)
		return errno = fake.fail_cmd;
	if (resp_size != sizeof(*resp) + sizeof(*drv))
		abort();
	drv->ring = make_ring(fake.cap.max_recv_wr, 64);
	attr->attr.max_wr = fake.cap.max_recv_wr;
	attr->attr.max_sge = fake.cap.max_recv_sge;
	vsrq->srq.context = ctx;
	vsrq->srq_type = attr->srq_type;
	vsrq->srq_num = 0x654321;
	fake.limit = attr->attr.srq_limit;
	fake.srqs++;
	return 0;
}

int ibv_cmd_destroy_srq(struct ibv_srq *srq)
{
	if (fake.fail_cmd)
		return fake.fail_cmd;
	fake.srqs--;
	return 0;
}

/* As xroce_rq_resize() does. */
static void resize_srq(uint32_t max_wr, const struct xroce_modify_srq *cmd,
		       size_t len)
{
	struct fake_ring *old = &fake.rings[fake.n_rings - 1], *r = old + 1;
	struct xroce_create_srq_resp *resp;
	uint32_t i;

	if (len != sizeof(*cmd))
		abort();
	resp = (void *)(uintptr_t)cmd->resp;
	resp->ring = make_ring(max_wr, old->stride);
	r->ring->prod = old->ring->prod;
	r->ring->cons = old->ring->cons;
	for (i = r->ring->cons; i != r->ring->prod; i++)
		memcpy(r->ring->slot + (i & (r->depth - 1)) * r->stride,
		       old->ring->slot + (i & (old->depth - 1)) * old->stride,
		       r->stride);
}

int ibv_cmd_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask,
		       struct ibv_modify_srq *cmd, size_t cmd_size)
{
	if (fake.fail_cmd)
		return fake.fail_cmd;
	fake.modify_mask = mask;
	if (mask & IBV_SRQ_LIMIT)
		fake.limit = attr->srq_limit;
	if (mask & IBV_SRQ_MAX_WR)
		resize_srq(attr->max_wr, (void *)(cmd + 1),
			   cmd_size - sizeof(*cmd));
	return 0;
}

int ibv_cmd_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr,
		      struct ibv_query_srq *cmd, size_t cmd_size)
{
	attr->srq_limit = fake.limit;
	return fake.fail_cmd;
}

int ibv_cmd_alloc_pd(struct ibv_context *ctx, struct ibv_pd *pd,
		     struct ibv_alloc_pd *cmd, size_t cmd_size,
		     struct ib_uverbs_alloc_pd_resp *resp, size_t resp_size)
{
	if (fake.fail_cmd)
		return errno = fake.fail_cmd;
	pd->context = ctx;
	pd->handle = 55;
	fake.pds++;
	return 0;
}

int ibv_cmd_dealloc_pd(struct ibv_pd *pd)
{
	if (fake.fail_cmd)
		return fake.fail_cmd;
	fake.pds--;
	return 0;
}

int ibv_cmd_open_xrcd(struct ibv_context *ctx, struct verbs_xrcd *xrcd,
		      int size, struct ibv_xrcd_init_attr *attr,
		      struct ibv_open_xrcd *cmd, size_t cmd_size,
		      struct ib_uverbs_open_xrcd_resp *resp, size_t resp_size)
{
	if (fake.fail_cmd)
		return errno = fake.fail_cmd;
	xrcd->xrcd.context = ctx;
	fake.xrcds++;
	return 0;
}

int ibv_cmd_close_xrcd(struct verbs_xrcd *xrcd)
{
	if (fake.fail_cmd)
		return fake.fail_cmd;
	fake.xrcds--;
	return 0;
}

int ibv_cmd_open_qp(struct ibv_context *ctx, struct verbs_qp *vqp, int size,
		    struct ibv_qp_open_attr *attr, struct ibv_open_qp *cmd,
		    size_t cmd_size, struct ib_uverbs_create_qp_resp *resp,
		    size_t resp_size)
{
	if (fake.fail_cmd)
		return errno = fake.fail_cmd;
	vqp->qp.context = ctx;
	vqp->qp.qp_num = attr->qp_num;
	vqp->qp.qp_type = attr->qp_type;
	vqp->qp.state = IBV_QPS_UNKNOWN;
	fake.qps++;
	return 0;
}

int ibv_cmd_create_ah(struct ibv_pd *pd, struct ibv_ah *ah,
		      struct ibv_ah_attr *attr,
		      struct ib_uverbs_create_ah_resp *resp, size_t resp_size)
{
	struct xroce_create_ah_resp *drv = (void *)(resp + 1);

	if (fake.fail_cmd)
		return fake.fail_cmd;
	if (resp_size != sizeof(*resp) + sizeof(*drv))
		abort();
	drv->ah = 0xa0000001 + fake.ahs++;
	return 0;
}

int ibv_cmd_destroy_ah(struct ibv_ah *ah)
{
	if (fake.fail_cmd)
		return fake.fail_cmd;
	fake.ahs--;
	return 0;
}

int ibv_cmd_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		     struct ibv_qp_init_attr *init, struct ibv_query_qp *cmd,
		     size_t cmd_size)
{
	return fake.fail_cmd;
}
