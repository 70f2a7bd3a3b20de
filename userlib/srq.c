// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shared receive queues: creation, limit and destruction, all by system calls.
 * The queue itself is in post.c.
 */
#include <errno.h>
#include <stdlib.h>

#include "xroce.h"

struct ibv_srq *xroce_create_srq(struct ibv_pd *pd,
				 struct ibv_srq_init_attr *attr)
{
	struct {
		struct ib_uverbs_create_srq_resp ibv;
		struct xroce_create_srq_resp drv;
	} resp = {};
	struct ibv_create_srq cmd = {};
	struct xroce_srq *srq;
	int ret;

	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return NULL;
	ret = xroce_lock_init(&srq->wq.lock, false);
	if (ret)
		goto err_free;
	ret = ibv_cmd_create_srq(pd, &srq->srq, attr, &cmd, sizeof(cmd),
				 &resp.ibv, sizeof(resp));
	if (ret)
		goto err_lock;
	ret = xroce_map(pd->context, &srq->wq.map, &resp.drv.ring);
	if (ret)
		goto err_destroy;
	srq->wq.max_sge = attr->attr.max_sge;
	return &srq->srq;

err_destroy:
	ibv_cmd_destroy_srq(&srq->srq);
err_lock:
	xroce_lock_destroy(&srq->wq.lock);
err_free:
	free(srq);
	errno = ret;
	return NULL;
}

int xroce_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	struct ibv_modify_srq cmd = {};

	return ibv_cmd_modify_srq(srq, attr, mask, &cmd, sizeof(cmd));
}

int xroce_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	struct ibv_query_srq cmd = {};

	return ibv_cmd_query_srq(srq, attr, &cmd, sizeof(cmd));
}

int xroce_destroy_srq(struct ibv_srq *ibsrq)
{
	struct xroce_srq *srq = to_xsrq(ibsrq);
	int ret;

	ret = ibv_cmd_destroy_srq(ibsrq);
	if (ret)
		return ret;
	xroce_unmap(&srq->wq.map);
	xroce_lock_destroy(&srq->wq.lock);
	free(srq);
	return 0;
}
