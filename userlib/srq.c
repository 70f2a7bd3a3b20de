// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shared receive queues: creation, size, limit and destruction, all by system
 * calls. The queue itself is in post.c.
 */
#include <errno.h>
#include <stdlib.h>

#include "xroce.h"

static int srq_check(const struct ibv_srq_init_attr_ex *attr)
{
	enum ibv_srq_type type = IBV_SRQT_BASIC;
	uint32_t mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;

	if (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE)
		type = attr->srq_type;
	if (type == IBV_SRQT_XRC)
		mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	else if (type != IBV_SRQT_BASIC)
		return EOPNOTSUPP;
	if (attr->comp_mask & ~mask)
		return EOPNOTSUPP;
	return attr->comp_mask & IBV_SRQ_INIT_ATTR_PD ? 0 : EINVAL;
}

struct ibv_srq *xroce_create_srq_ex(struct ibv_context *ctx,
				    struct ibv_srq_init_attr_ex *attr)
{
	struct {
		struct ib_uverbs_create_srq_resp ibv;
		struct xroce_create_srq_resp drv;
	} resp = {};
	struct ibv_create_xsrq cmd = {};
	struct xroce_srq *srq;
	int ret;

	ret = srq_check(attr);
	if (ret) {
		errno = ret;
		return NULL;
	}
	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return NULL;
	srq->pd = xroce_pd_get(attr->pd);
	ret = xroce_lock_init(&srq->wq.lock, xroce_pd_single(srq->pd));
	if (ret)
		goto err_free;
	ret = ibv_cmd_create_srq_ex(ctx, &srq->vsrq, attr, &cmd, sizeof(cmd),
				    &resp.ibv, sizeof(resp));
	if (ret)
		goto err_lock;
	ret = xroce_map(ctx, &srq->wq.map, &resp.drv.ring);
	if (ret)
		goto err_destroy;
	srq->wq.max_sge = attr->attr.max_sge;
	srq->wq.open = true;
	srq->wq.shared = true;
	/* For XRC nobody else says so. */
	srq->vsrq.srq.srq_context = attr->srq_context;
	srq->vsrq.srq.pd = attr->pd;
	return &srq->vsrq.srq;

err_destroy:
	ibv_cmd_destroy_srq(&srq->vsrq.srq);
err_lock:
	xroce_lock_destroy(&srq->wq.lock);
err_free:
	xroce_pd_put(srq->pd);
	free(srq);
	errno = ret;
	return NULL;
}

struct ibv_srq *xroce_create_srq(struct ibv_pd *pd,
				 struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex ex = {
		.srq_context = attr->srq_context,
		.attr = attr->attr,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_BASIC,
		.pd = pd,
	};
	struct ibv_srq *srq;

	srq = xroce_create_srq_ex(pd->context, &ex);
	if (srq)
		attr->attr = ex.attr;
	return srq;
}

/* Its number is what senders of XRC name it by; others have none. */
int xroce_get_srq_num(struct ibv_srq *srq, uint32_t *num)
{
	const struct verbs_srq *vsrq = &to_xsrq(srq)->vsrq;

	if (vsrq->srq_type != IBV_SRQT_XRC)
		return EINVAL;
	*num = vsrq->srq_num;
	return 0;
}

/**
 * xroce_modify_srq() - its limit, its size, or both
 *
 * With another size it goes on in another ring, which the kernel has taken the
 * requests along to that nobody has received into. Should there be no room to map
 * it, the SRQ is of no use any more.
 */
int xroce_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr, int mask)
{
	struct xroce_create_srq_resp resp = {};
	struct {
		struct ibv_modify_srq ibv;
		struct xroce_modify_srq drv;
	} cmd = { .drv.resp = (uintptr_t)&resp };
	struct xroce_srq *srq = to_xsrq(ibsrq);
	struct xroce_wq *wq = &srq->wq;
	struct xroce_map map = {};
	int ret;

	if (!(mask & IBV_SRQ_MAX_WR))
		return ibv_cmd_modify_srq(ibsrq, attr, mask, &cmd.ibv,
					  sizeof(cmd.ibv));
	xroce_lock(&wq->lock);
	ret = ibv_cmd_modify_srq(ibsrq, attr, mask, &cmd.ibv, sizeof(cmd));
	if (!ret)
		ret = xroce_map(ibsrq->context, &map, &resp.ring);
	if (!ret) {
		xroce_unmap(&wq->map);
		wq->map = map;
		wq_done(wq, __atomic_load_n(&map.ring->cons, __ATOMIC_ACQUIRE));
	}
	xroce_unlock(&wq->lock);
	return ret;
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
	xroce_pd_put(srq->pd);
	free(srq);
	return 0;
}
