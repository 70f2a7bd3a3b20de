// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Protection, parent, thread and XRC domains. A parent domain is a protection
 * domain with a promise: what is made in it, when it has a thread domain, only one
 * thread at a time will touch, so that its locks are left out. Counts are atomic.
 */
#include <errno.h>
#include <stdlib.h>

#include "xroce.h"

struct ibv_pd *xroce_alloc_pd(struct ibv_context *ctx)
{
	struct ib_uverbs_alloc_pd_resp resp;
	struct ibv_alloc_pd cmd;
	struct xroce_pd *pd;
	int ret;

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;
	ret = ibv_cmd_alloc_pd(ctx, &pd->pd, &cmd, sizeof(cmd), &resp,
			       sizeof(resp));
	if (ret) {
		free(pd);
		errno = ret;
		return NULL;
	}
	return &pd->pd;
}

/**
 * xroce_pd_get() - something is made in a domain
 *
 * Return: the domain, to be given back by xroce_pd_put(), or NULL for none.
 */
struct xroce_pd *xroce_pd_get(struct ibv_pd *ibpd)
{
	if (!ibpd)
		return NULL;
	__atomic_fetch_add(&to_xpd(ibpd)->users, 1, __ATOMIC_RELAXED);
	return to_xpd(ibpd);
}

void xroce_pd_put(struct xroce_pd *pd)
{
	if (pd)
		__atomic_fetch_sub(&pd->users, 1, __ATOMIC_RELEASE);
}

/* The kernel knows who uses a protection domain, but of no other kind. */
int xroce_dealloc_pd(struct ibv_pd *ibpd)
{
	struct xroce_pd *pd = to_xpd(ibpd);
	int ret;

	if (__atomic_load_n(&pd->users, __ATOMIC_ACQUIRE))
		return EBUSY;
	if (pd->of) {
		xroce_pd_put(pd->of);
		if (pd->td)
			__atomic_fetch_sub(&pd->td->users, 1, __ATOMIC_RELEASE);
	} else {
		ret = ibv_cmd_dealloc_pd(ibpd);
		if (ret)
			return ret;
	}
	free(pd);
	return 0;
}

/* Another process's, by its handle. */
struct ibv_pd *xroce_import_pd(struct ibv_context *ctx, uint32_t handle)
{
	struct xroce_pd *pd = calloc(1, sizeof(*pd));

	if (!pd)
		return NULL;
	pd->pd.context = ctx;
	pd->pd.handle = handle;
	return &pd->pd;
}

void xroce_unimport_pd(struct ibv_pd *pd)
{
	free(to_xpd(pd));
}

struct ibv_td *xroce_alloc_td(struct ibv_context *ctx,
			      struct ibv_td_init_attr *attr)
{
	struct xroce_td *td;

	if (attr->comp_mask) {
		errno = EINVAL;
		return NULL;
	}
	td = calloc(1, sizeof(*td));
	if (!td)
		return NULL;
	td->td.context = ctx;
	return &td->td;
}

int xroce_dealloc_td(struct ibv_td *ibtd)
{
	struct xroce_td *td = to_xtd(ibtd);

	if (__atomic_load_n(&td->users, __ATOMIC_ACQUIRE))
		return EBUSY;
	free(td);
	return 0;
}

/* What an allocator may be asked for is the kernel's memory here: none is. */
struct ibv_pd *xroce_alloc_parent_domain(struct ibv_context *ctx,
					 struct ibv_parent_domain_init_attr *attr)
{
	struct xroce_pd *pd;

	if (!attr->pd || to_xpd(attr->pd)->of ||
	    attr->comp_mask & ~(IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
				IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)) {
		errno = EINVAL;
		return NULL;
	}
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;
	ibv_initialize_parent_domain(&pd->pd, attr->pd);
	pd->of = xroce_pd_get(attr->pd);
	if (attr->td) {
		pd->td = to_xtd(attr->td);
		__atomic_fetch_add(&pd->td->users, 1, __ATOMIC_RELAXED);
	}
	return &pd->pd;
}

struct ibv_xrcd *xroce_open_xrcd(struct ibv_context *ctx,
				 struct ibv_xrcd_init_attr *attr)
{
	struct ib_uverbs_open_xrcd_resp resp = {};
	struct ibv_open_xrcd cmd = {};
	struct verbs_xrcd *xrcd;
	int ret;

	xrcd = calloc(1, sizeof(*xrcd));
	if (!xrcd)
		return NULL;
	ret = ibv_cmd_open_xrcd(ctx, xrcd, sizeof(*xrcd), attr, &cmd,
				sizeof(cmd), &resp, sizeof(resp));
	if (ret) {
		free(xrcd);
		errno = ret;
		return NULL;
	}
	return &xrcd->xrcd;
}

int xroce_close_xrcd(struct ibv_xrcd *ibxrcd)
{
	struct verbs_xrcd *xrcd = container_of(ibxrcd, struct verbs_xrcd, xrcd);
	int ret;

	ret = ibv_cmd_close_xrcd(xrcd);
	if (!ret)
		free(xrcd);
	return ret;
}
