// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Commands of uverbs with driver data of any length, as providers of other versions have
 * it. One thread.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <rdma/xroce-abi.h>

#include "driver.h"

int driver_init(struct ibv_qp *qp, size_t len, char last)
{
	static uint64_t room[(sizeof(struct ib_uverbs_ioctl_hdr) +
			      4 * sizeof(struct ib_uverbs_attr)) / 8];
	struct ib_uverbs_ex_modify_qp cmd = {
		.base.qp_handle = qp->handle,
		.base.attr_mask = IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
				  IBV_QP_ACCESS_FLAGS,
		.base.qp_state = IBV_QPS_INIT,
		.base.port_num = 1,
	};
	struct ib_uverbs_ioctl_hdr *hdr = (void *)room;
	struct ib_uverbs_ex_modify_qp_resp resp;
	uint64_t data[4] = {};

	if (len)
		((char *)data)[len - 1] = last;
	*hdr = (struct ib_uverbs_ioctl_hdr) {
		.length = sizeof(room),
		.object_id = UVERBS_OBJECT_DEVICE,
		.method_id = UVERBS_METHOD_INVOKE_WRITE,
		.num_attrs = 4,
		.driver_id = XROCE_DRIVER_ID,
	};
	hdr->attrs[0] = (struct ib_uverbs_attr) {
		.attr_id = UVERBS_ATTR_WRITE_CMD,
		.len = 8,
		.data = 1u << 31 | IB_USER_VERBS_EX_CMD_MODIFY_QP,
	};
	hdr->attrs[1] = (struct ib_uverbs_attr) {
		.attr_id = UVERBS_ATTR_CORE_IN, .len = sizeof(cmd), .data = (uintptr_t)&cmd,
	};
	hdr->attrs[2] = (struct ib_uverbs_attr) {
		.attr_id = UVERBS_ATTR_CORE_OUT, .len = sizeof(resp), .data = (uintptr_t)&resp,
	};
	/* What is as short as this is there, and not where it points to. */
	hdr->attrs[3] = (struct ib_uverbs_attr) {
		.attr_id = UVERBS_ATTR_UHW_IN, .len = len,
		.data = len > 8 ? (uintptr_t)data : data[0],
	};
	return ioctl(qp->context->cmd_fd, RDMA_VERBS_IOCTL, hdr) ? errno : 0;
}

int driver_context(struct ibv_context *ctx, size_t len, char last)
{
	/* async_fd, num_comp_vectors, max_inline, bell */
	uint32_t resp[4];
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		uint64_t response;
		char data[32];
	} cmd = {
		.hdr.command = IB_USER_VERBS_CMD_GET_CONTEXT,
		.hdr.in_words = (sizeof(cmd) - sizeof(cmd.data) + len) / 4,
		.hdr.out_words = sizeof(resp) / 4,
		.response = (uintptr_t)resp,
	};
	char path[100];
	int fd, ret;

	if (len)
		cmd.data[len - 1] = last;
	snprintf(path, sizeof(path), "/dev/infiniband/%s", ctx->device->dev_name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		err(1, "%s", path);
	ret = write(fd, &cmd, 4 * cmd.hdr.in_words) < 0 ? errno : 0;
	if (!ret) {
		close(resp[0]);
		close(resp[3]);
	}
	close(fd);
	return ret;
}

/* A command by write(), whose own part is @cmd; its response begins with a handle. */
static int command(struct ibv_pd *pd, unsigned int number, const void *cmd, size_t size,
		   size_t len, char last, uint32_t *handle)
{
	uint64_t room[32] = {}, resp[16];
	struct ib_uverbs_cmd_hdr *hdr = (void *)room;
	char *own = (void *)(hdr + 1);

	*hdr = (struct ib_uverbs_cmd_hdr) {
		.command = number,
		.in_words = (sizeof(*hdr) + size + len) / 4,
		.out_words = sizeof(resp) / 4,
	};
	memcpy(own, cmd, size);
	*(uint64_t *)own = (uintptr_t)resp;
	if (len)
		own[size + len - 1] = last;
	if (write(pd->context->cmd_fd, room, 4 * hdr->in_words) < 0)
		return errno;
	memcpy(handle, resp, sizeof(*handle));
	return 0;
}

int driver_create(struct ibv_pd *pd, struct ibv_cq *cq, size_t len, char last)
{
	struct ib_uverbs_create_qp cmd = {
		.pd_handle = pd->handle,
		.send_cq_handle = cq->handle,
		.recv_cq_handle = cq->handle,
		.max_send_wr = 1,
		.max_recv_wr = 1,
		.qp_type = IB_UVERBS_QPT_RC,
	};
	struct ib_uverbs_destroy_qp end = {};
	uint32_t nothing;
	int ret;

	ret = command(pd, IB_USER_VERBS_CMD_CREATE_QP, &cmd, sizeof(cmd), len, last,
		      &end.qp_handle);
	if (!ret && command(pd, IB_USER_VERBS_CMD_DESTROY_QP, &end, sizeof(end), 0, 0, &nothing))
		err(1, "cannot destroy a QP");
	return ret;
}

int driver_none(struct ibv_pd *pd, unsigned int number)
{
	union {
		struct ib_uverbs_alloc_pd pd;
		struct ib_uverbs_create_cq cq;
		struct ib_uverbs_create_srq srq;
		struct ib_uverbs_reg_mr mr;
		struct ib_uverbs_alloc_mw mw;
	} cmd = {};
	size_t size = sizeof(cmd.pd);
	uint32_t handle;

	switch (number) {
	case IB_USER_VERBS_CMD_CREATE_CQ:
		cmd.cq.cqe = 1;
		cmd.cq.comp_channel = -1;
		size = sizeof(cmd.cq);
		break;
	case IB_USER_VERBS_CMD_CREATE_SRQ:
		cmd.srq.pd_handle = pd->handle;
		cmd.srq.max_wr = 1;
		cmd.srq.max_sge = 1;
		size = sizeof(cmd.srq);
		break;
	case IB_USER_VERBS_CMD_REG_MR:
		cmd.mr.pd_handle = pd->handle;
		cmd.mr.start = (uintptr_t)&cmd;
		cmd.mr.hca_va = cmd.mr.start;
		cmd.mr.length = 1;
		size = sizeof(cmd.mr);
		break;
	case IB_USER_VERBS_CMD_ALLOC_MW:
		cmd.mw.pd_handle = pd->handle;
		cmd.mw.mw_type = IBV_MW_TYPE_1;
		size = sizeof(cmd.mw);
		break;
	}
	return command(pd, number, &cmd, size, 8, 1, &handle);
}
