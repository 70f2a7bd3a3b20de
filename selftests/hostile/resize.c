// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* CQs and SRQs of another size; see resize.h. */
#include <err.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/xroce-abi.h>

#include "resize.h"

/* Whoever has the old one mapped there has the new one from now on. */
static int map_at(int fd, const struct xroce_ring_info *ring, void *at, off_t *off)
{
	if (mmap(at, ring->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		 ring->offset) != at)
		err(1, "mapping a ring of another size");
	if (off)
		*off = ring->offset;
	return 0;
}

/* As ib_user_verbs.h has them, whose last members may be of any length */
struct resize_cq_resp {
	uint32_t cqe;
	uint32_t reserved;
	struct xroce_create_cq_resp drv;
};

struct modify_srq {
	uint32_t handle;
	uint32_t attr_mask;
	uint32_t max_wr;
	uint32_t srq_limit;
	struct xroce_modify_srq drv;
};

int resize_cq(struct ibv_cq *cq, uint32_t depth, void *at, off_t *off)
{
	struct resize_cq_resp resp;
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_resize_cq resize;
	} cmd = {
		.hdr.command = IB_USER_VERBS_CMD_RESIZE_CQ,
		.hdr.in_words = sizeof(cmd) / 4,
		.hdr.out_words = sizeof(resp) / 4,
		.resize.response = (uintptr_t)&resp,
		.resize.cq_handle = cq->handle,
		.resize.cqe = depth,
	};

	if (write(cq->context->cmd_fd, &cmd, sizeof(cmd)) < 0)
		return errno;
	return map_at(cq->context->cmd_fd, &resp.drv.ring, at, off);
}

uint64_t resize_srq_more;

int resize_srq(struct ibv_srq *srq, uint32_t depth, void *at, off_t *off)
{
	struct xroce_create_srq_resp resp;
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct modify_srq modify;
		uint64_t more;
	} cmd = {
		.hdr.command = IB_USER_VERBS_CMD_MODIFY_SRQ,
		.hdr.in_words = sizeof(cmd) / 4,
		.modify.handle = srq->handle,
		.modify.attr_mask = IBV_SRQ_MAX_WR,
		.modify.max_wr = depth,
		.modify.drv.resp = (uintptr_t)&resp,
		.more = resize_srq_more,
	};

	if (write(srq->context->cmd_fd, &cmd, sizeof(cmd)) < 0)
		return errno;
	return map_at(srq->context->cmd_fd, &resp.ring, at, off);
}
