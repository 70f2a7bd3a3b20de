// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Device, context, memory regions, windows and address handles, the mapping of
 * rings, and the table of what this provider can do; what the table lacks,
 * libibverbs answers with EOPNOTSUPP. Owns no lock.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <util/util.h>

#include "xroce.h"

/**
 * xroce_map() - map a ring of the kernel's
 *
 * The pages are the kernel's and mapped shared, so a fork copies nothing and
 * they need no ibv_dontfork_range(). A child must not post or poll, as always.
 */
int xroce_map(struct ibv_context *ctx, struct xroce_map *m,
	      const struct xroce_ring_info *info)
{
	void *p;

	if (!info->size)
		return 0;
	p = mmap(NULL, info->size, PROT_READ | PROT_WRITE, MAP_SHARED,
		 ctx->cmd_fd, info->offset);
	if (p == MAP_FAILED)
		return errno;
	m->ring = p;
	m->size = info->size;
	m->depth = info->depth;
	m->stride = info->stride;
	return 0;
}

void xroce_unmap(struct xroce_map *m)
{
	if (m->ring)
		munmap(m->ring, m->size);
}

static int xroce_query_device(struct ibv_context *ctx,
			      const struct ibv_query_device_ex_input *input,
			      struct ibv_device_attr_ex *attr, size_t size)
{
	struct ib_uverbs_ex_query_device_resp resp;
	size_t resp_size = sizeof(resp);
	uint64_t ver;
	int ret;

	ret = ibv_cmd_query_device_any(ctx, input, attr, size, &resp,
				       &resp_size);
	if (ret)
		return ret;
	ver = resp.base.fw_ver;
	snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver),
		 "%u.%u.%u", (unsigned int)(ver >> 32) & 0xffff,
		 (unsigned int)(ver >> 16) & 0xffff, (unsigned int)ver & 0xffff);
	if (size >= offsetofend(struct ibv_device_attr_ex,
				completion_timestamp_mask))
		attr->completion_timestamp_mask = UINT64_MAX;
	if (size >= offsetofend(struct ibv_device_attr_ex, hca_core_clock))
		attr->hca_core_clock = 1000000;		/* kHz: a ns a tick */
	if (size >= offsetofend(struct ibv_device_attr_ex, packet_pacing_caps)) {
		attr->packet_pacing_caps.qp_rate_limit_min = 1;
		attr->packet_pacing_caps.qp_rate_limit_max = UINT32_MAX;
		attr->packet_pacing_caps.supported_qpts =
			1 << IBV_QPT_RC | 1 << IBV_QPT_UC | 1 << IBV_QPT_UD |
			1 << IBV_QPT_XRC_SEND;
	}
	return 0;
}

static int xroce_query_port(struct ibv_context *ctx, uint8_t port,
			    struct ibv_port_attr *attr)
{
	struct ibv_query_port cmd;

	return ibv_cmd_query_port(ctx, port, attr, &cmd, sizeof(cmd));
}

/* The raw clock is that of completion timestamps, CLOCK_MONOTONIC in ns. */
static int xroce_query_rt_values(struct ibv_context *ctx,
				 struct ibv_values_ex *values)
{
	struct timespec now;

	if (values->comp_mask & ~IBV_VALUES_MASK_RAW_CLOCK)
		return EINVAL;
	if (values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		values->raw_clock.tv_sec = 0;
		values->raw_clock.tv_nsec = now.tv_sec * 1000000000ll +
					    now.tv_nsec;
	}
	return 0;
}

static struct ibv_mr *xroce_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
				   uint64_t iova, int access)
{
	struct ib_uverbs_reg_mr_resp resp;
	struct ibv_reg_mr cmd;
	struct verbs_mr *mr;
	int ret;

	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return NULL;
	ret = ibv_cmd_reg_mr(pd, addr, length, iova, access, mr, &cmd,
			     sizeof(cmd), &resp, sizeof(resp));
	if (ret) {
		free(mr);
		errno = ret;
		return NULL;
	}
	return &mr->ibv_mr;
}

/* Since rdma-core 54 with room for a driver's own attributes, of which we have none. */
typedef int reg_dmabuf_50(struct ibv_pd *pd, uint64_t offset, size_t length,
			  uint64_t iova, int fd, int access, struct verbs_mr *mr);
typedef int reg_dmabuf_54(struct ibv_pd *pd, uint64_t offset, size_t length,
			  uint64_t iova, int fd, int access, struct verbs_mr *mr,
			  struct ibv_command_buffer *driver);

static struct ibv_mr *xroce_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
					  size_t length, uint64_t iova, int fd,
					  int access)
{
	struct verbs_mr *mr = calloc(1, sizeof(*mr));
	void *reg = ibv_cmd_reg_dmabuf_mr;
	int ret;

	if (!mr)
		return NULL;
	if (__builtin_types_compatible_p(typeof(ibv_cmd_reg_dmabuf_mr), reg_dmabuf_50))
		ret = ((reg_dmabuf_50 *)reg)(pd, offset, length, iova, fd, access, mr);
	else
		ret = ((reg_dmabuf_54 *)reg)(pd, offset, length, iova, fd, access, mr,
					     NULL);
	if (ret) {
		free(mr);
		errno = ret;
		return NULL;
	}
	return &mr->ibv_mr;
}

static int xroce_dereg_mr(struct verbs_mr *mr)
{
	int ret = ibv_cmd_dereg_mr(mr);

	if (!ret)
		free(mr);
	return ret;
}

/* Another process's, by its handle: whose it was may end it any time. */
static struct ibv_mr *xroce_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	struct verbs_mr *mr = calloc(1, sizeof(*mr));

	if (!mr)
		return NULL;
	if (ibv_cmd_query_mr(pd, mr, handle)) {
		free(mr);
		return NULL;
	}
	return &mr->ibv_mr;
}

static void xroce_unimport_mr(struct ibv_mr *mr)
{
	free(container_of(mr, struct verbs_mr, ibv_mr));
}

/* What the kernel did not do it left as it was. */
static int xroce_rereg_mr(struct verbs_mr *mr, int flags, struct ibv_pd *pd,
			  void *addr, size_t length, int access)
{
	struct ib_uverbs_rereg_mr_resp resp;
	struct ibv_rereg_mr cmd;

	return ibv_cmd_rereg_mr(mr, flags, addr, length, (uintptr_t)addr,
				access, pd, &cmd, sizeof(cmd), &resp,
				sizeof(resp));
}

static struct ibv_mw *xroce_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ib_uverbs_alloc_mw_resp resp;
	struct ibv_alloc_mw cmd;
	struct ibv_mw *mw;
	int ret;

	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return NULL;
	ret = ibv_cmd_alloc_mw(pd, type, mw, &cmd, sizeof(cmd), &resp,
			       sizeof(resp));
	if (ret) {
		free(mw);
		errno = ret;
		return NULL;
	}
	return mw;
}

static int xroce_dealloc_mw(struct ibv_mw *mw)
{
	int ret = ibv_cmd_dealloc_mw(mw);

	if (!ret)
		free(mw);
	return ret;
}

struct ibv_ah *xroce_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct {
		struct ib_uverbs_create_ah_resp ibv;
		struct xroce_create_ah_resp drv;
	} resp = {};
	struct xroce_ah *ah;
	int ret;

	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return NULL;
	ret = ibv_cmd_create_ah(pd, &ah->ah, attr, &resp.ibv, sizeof(resp));
	if (ret) {
		free(ah);
		errno = ret;
		return NULL;
	}
	ah->num = resp.drv.ah;
	ah->hop_limit = xroce_hop_limit(attr);
	return &ah->ah;
}

int xroce_destroy_ah(struct ibv_ah *ah)
{
	int ret = ibv_cmd_destroy_ah(ah);

	if (!ret)
		free(to_xah(ah));
	return ret;
}

/* Who closes files that it does not know may have one of its own by that number. */
static bool is_bell(int fd)
{
	/* QP 0 is no context's */
	return lseek(fd, -1, SEEK_SET) == -1 && errno == EIO;
}

static void xroce_free_context(struct ibv_context *ibctx)
{
	struct xroce_context *ctx = to_xctx(ibctx);

	verbs_uninit_context(&ctx->vctx);
	if (ctx->bell >= 0 && is_bell(ctx->bell))
		close(ctx->bell);
	free(ctx);
}

static const struct verbs_context_ops xroce_context_ops = {
	.alloc_mw = xroce_alloc_mw,
	.alloc_parent_domain = xroce_alloc_parent_domain,
	.alloc_pd = xroce_alloc_pd,
	.alloc_td = xroce_alloc_td,
	.attach_mcast = ibv_cmd_attach_mcast,
	.bind_mw = xroce_bind_mw,
	.close_xrcd = xroce_close_xrcd,
	.cq_event = xroce_cq_event,
	.create_ah = xroce_create_ah,
	.create_cq = xroce_create_cq,
	.create_cq_ex = xroce_create_cq_ex,
	.create_qp = xroce_create_qp,
	.create_qp_ex = xroce_create_qp_ex,
	.create_srq = xroce_create_srq,
	.create_srq_ex = xroce_create_srq_ex,
	.dealloc_mw = xroce_dealloc_mw,
	.dealloc_pd = xroce_dealloc_pd,
	.dealloc_td = xroce_dealloc_td,
	.dereg_mr = xroce_dereg_mr,
	.destroy_ah = xroce_destroy_ah,
	.destroy_cq = xroce_destroy_cq,
	.destroy_qp = xroce_destroy_qp,
	.destroy_srq = xroce_destroy_srq,
	.detach_mcast = ibv_cmd_detach_mcast,
	.free_context = xroce_free_context,
	.get_srq_num = xroce_get_srq_num,
	.import_mr = xroce_import_mr,
	.import_pd = xroce_import_pd,
	.modify_qp = xroce_modify_qp,
	.modify_qp_rate_limit = xroce_modify_qp_rate_limit,
	.modify_srq = xroce_modify_srq,
	.open_qp = xroce_open_qp,
	.open_xrcd = xroce_open_xrcd,
	.poll_cq = xroce_poll_cq,
	.post_recv = xroce_post_recv,
	.post_send = xroce_post_send,
	.post_srq_recv = xroce_post_srq_recv,
	.query_device_ex = xroce_query_device,
	.query_port = xroce_query_port,
	.query_qp = xroce_query_qp,
	.query_rt_values = xroce_query_rt_values,
	.query_srq = xroce_query_srq,
	.reg_dmabuf_mr = xroce_reg_dmabuf_mr,
	.reg_mr = xroce_reg_mr,
	.req_notify_cq = xroce_req_notify_cq,
	.rereg_mr = xroce_rereg_mr,
	.resize_cq = xroce_resize_cq,
	.unimport_mr = xroce_unimport_mr,
	.unimport_pd = xroce_unimport_pd,
};

/*
 * Programs know nothing of it, so it is their environment that asks for a thread
 * that looks at the send queues (docs/design.md). Return: false for nonsense.
 */
static bool poll_us(uint32_t *us)
{
	const char *s = getenv("XROCE_POLL_US");
	unsigned long v;
	char *end;

	*us = 0;
	if (!s)
		return true;
	errno = 0;
	v = strtoul(s, &end, 10);
	if (end == s || *end || *s == '-' || errno || v > XROCE_POLL_MAX_US) {
		fprintf(stderr,
			"libibverbs: xroce: XROCE_POLL_US: \"%s\" is no number from 0 to %u\n",
			s, XROCE_POLL_MAX_US);
		errno = EINVAL;
		return false;
	}
	*us = v;
	return true;
}

static struct verbs_context *xroce_alloc_context(struct ibv_device *dev, int fd,
						 void *private_data)
{
	struct {
		struct ib_uverbs_get_context_resp ibv;
		struct xroce_alloc_ucontext_resp drv;
	} resp;
	struct {
		struct ibv_get_context ibv;
		struct xroce_alloc_ucontext_req drv;
	} cmd = {};
	struct xroce_context *ctx;

	ctx = verbs_init_and_alloc_context(dev, fd, ctx, vctx, XROCE_DRIVER_ID);
	if (!ctx)
		return NULL;
	ctx->bell = -1;
	if (!poll_us(&cmd.drv.poll_us))
		goto fail;
	if (ibv_cmd_get_context(&ctx->vctx, &cmd.ibv, sizeof(cmd), &resp.ibv,
				sizeof(resp))) {
		if (cmd.drv.poll_us && errno == EOPNOTSUPP)
			fprintf(stderr,
				"libibverbs: xroce: XROCE_POLL_US: this kernel is without CONFIG_VHOST_TASK\n");
		goto fail;
	}
	ctx->bell = resp.drv.bell;
	verbs_set_ops(&ctx->vctx, &xroce_context_ops);
	return &ctx->vctx;

fail:
	xroce_free_context(&ctx->vctx.context);
	return NULL;
}

static struct verbs_context *xroce_import_context(struct ibv_device *dev,
						  int fd)
{
	struct xroce_context *ctx;

	ctx = verbs_init_and_alloc_context(dev, fd, ctx, vctx, XROCE_DRIVER_ID);
	if (!ctx)
		return NULL;
	ctx->bell = -1;
	if (ibv_cmd_query_context(&ctx->vctx.context, NULL)) {
		xroce_free_context(&ctx->vctx.context);
		return NULL;
	}
	verbs_set_ops(&ctx->vctx, &xroce_context_ops);
	return &ctx->vctx;
}

static struct verbs_device *xroce_alloc_device(struct verbs_sysfs_dev *sysfs)
{
	return calloc(1, sizeof(struct verbs_device));
}

static void xroce_uninit_device(struct verbs_device *vdev)
{
	free(vdev);
}

/* The name is for who has no netlink, as of services that may not have its sockets. */
static const struct verbs_match_ent xroce_match[] = {
	VERBS_DRIVER_ID(XROCE_DRIVER_ID),
	VERBS_NAME_MATCH("xroce", NULL),
	{}
};

static const struct verbs_device_ops xroce_device_ops = {
	.name = "xroce",
	.match_min_abi_version = XROCE_ABI_VERSION,
	.match_max_abi_version = XROCE_ABI_VERSION,
	.match_table = xroce_match,
	.alloc_device = xroce_alloc_device,
	.uninit_device = xroce_uninit_device,
	.alloc_context = xroce_alloc_context,
	.import_context = xroce_import_context,
};

PROVIDER_DRIVER(xroce, xroce_device_ops);
