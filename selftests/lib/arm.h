/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A CQ armed by the system call, as a kernel consumer does; a provider's way is in the
 * ring. Owns no state.
 */
#ifndef XROCE_ARM_H
#define XROCE_ARM_H

#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>
#include <unistd.h>

/* Return: whether it failed, with errno. */
static inline int arm_by_call(struct ibv_cq *cq, int solicited_only)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_req_notify_cq arm;
	} cmd = {
		.hdr.command = IB_USER_VERBS_CMD_REQ_NOTIFY_CQ,
		.hdr.in_words = sizeof(cmd) / 4,
		.arm.cq_handle = cq->handle,
		.arm.solicited_only = solicited_only,
	};

	return write(cq->context->cmd_fd, &cmd, sizeof(cmd)) != sizeof(cmd);
}

#endif /* XROCE_ARM_H */
