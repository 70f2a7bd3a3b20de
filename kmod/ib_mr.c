// SPDX-License-Identifier: GPL-2.0
/*
 * Memory region verbs. Process context. A region's memory is pinned, and the
 * kernel's addresses of its blocks noted, from registration until no placement
 * uses it any more.
 */
#include <rdma/ib_umem.h>
#include <rdma/iter.h>

#include "xroce.h"

#define XROCE_MR_ACCESS (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

/* Without an I/O MMU between, a "DMA address" is the kernel's virtual one. */
static int mr_map(struct xroce_kmr *kmr)
{
	struct ib_umem *umem = kmr->umem;
	struct xroce_mr *mr = &kmr->mr;
	struct ib_block_iter it;
	unsigned long pgsz;
	size_t i = 0, n;

	/* Blocks as large as the memory allows, wherever iova may be. */
	pgsz = ib_umem_find_best_pgsz(umem, GENMASK(31, PAGE_SHIFT),
				      umem->address);
	if (!pgsz)
		return -EINVAL;
	n = ib_umem_num_dma_blocks(umem, pgsz);
	mr->page = kvmalloc_array(n, sizeof(*mr->page), GFP_KERNEL_ACCOUNT);
	if (!mr->page)
		return -ENOMEM;
	mr->page_shift = ilog2(pgsz);
	mr->offset = ib_umem_dma_offset(umem, pgsz);
	rdma_umem_for_each_dma_block(umem, &it, pgsz) {
		if (WARN_ON_ONCE(i == n))
			return -EINVAL;
		mr->page[i++] = (void *)(uintptr_t)
				rdma_block_iter_dma_address(&it);
	}
	return WARN_ON_ONCE(i != n) ? -EINVAL : 0;
}

static void kmr_free(struct xroce_kmr *kmr)
{
	kvfree(kmr->mr.page);
	if (kmr->umem)
		ib_umem_release(kmr->umem);
	kfree_rcu(kmr, rcu);
}

static struct ib_mr *xroce_reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
				       u64 iova, int access)
{
	struct xroce_kmr *kmr;
	int err;

	/* A hint that is not ours to follow may be given, a right may not. */
	if (access & ~(XROCE_MR_ACCESS | IB_ACCESS_OPTIONAL))
		return ERR_PTR(-EOPNOTSUPP);
	/* The last byte may be the last there is. */
	if (length && iova + length - 1 < iova)
		return ERR_PTR(-EINVAL);
	kmr = kzalloc(sizeof(*kmr), GFP_KERNEL_ACCOUNT);
	if (!kmr)
		return ERR_PTR(-ENOMEM);
	kmr->mr.pd = pd;
	kmr->mr.iova = iova;
	kmr->mr.length = length;
	kmr->mr.access = access & XROCE_MR_ACCESS;
	kmr->mr.valid = true;
	if (length) {
		kmr->umem = xroce_umem_get(pd->device, start, length, access);
		if (IS_ERR(kmr->umem)) {
			err = PTR_ERR(kmr->umem);
			kfree(kmr);
			return ERR_PTR(err);
		}
		err = mr_map(kmr);
		if (err)
			goto err_free;
	}
	err = xroce_table_add_mr(kmr);
	if (err)
		goto err_free;
	kmr->ib.lkey = kmr->mr.key;
	kmr->ib.rkey = kmr->mr.key;
	return &kmr->ib;

err_free:
	kmr_free(kmr);
	return ERR_PTR(err);
}

#ifdef XROCE_HAVE_DMAH
static struct ib_mr *xroce_ib_reg_user_mr(struct ib_pd *pd, u64 start,
					  u64 length, u64 iova, int access,
					  struct ib_dmah *dmah,
					  struct ib_udata *udata)
{
	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);
	return xroce_reg_user_mr(pd, start, length, iova, access);
}
#else
static struct ib_mr *xroce_ib_reg_user_mr(struct ib_pd *pd, u64 start,
					  u64 length, u64 iova, int access,
					  struct ib_udata *udata)
{
	return xroce_reg_user_mr(pd, start, length, iova, access);
}
#endif

/* All of the kernel's memory, for its own consumers, under no key of a table. */
static struct ib_mr *xroce_ib_get_dma_mr(struct ib_pd *pd, int access)
{
	struct xroce_kmr *kmr;

	if (access & ~IB_ACCESS_LOCAL_WRITE)
		return ERR_PTR(-EOPNOTSUPP);
	kmr = kzalloc(sizeof(*kmr), GFP_KERNEL);
	if (!kmr)
		return ERR_PTR(-ENOMEM);
	kmr->ib.lkey = XROCE_LKEY_KERNEL;
	kmr->ib.rkey = XROCE_LKEY_KERNEL;
	return &kmr->ib;
}

static int xroce_ib_dereg_mr(struct ib_mr *ib, struct ib_udata *udata)
{
	struct xroce_kmr *kmr = container_of(ib, struct xroce_kmr, ib);

	if (kmr->mr.key != XROCE_LKEY_KERNEL) {
		xroce_table_del_mr(kmr);
		local_bh_disable();
		xroce_mr_revoke(&kmr->mr);
		local_bh_enable();
	}
	kmr_free(kmr);
	return 0;
}

const struct ib_device_ops xroce_mr_ops = {
	.dereg_mr = xroce_ib_dereg_mr,
	.get_dma_mr = xroce_ib_get_dma_mr,
	.reg_user_mr = xroce_ib_reg_user_mr,
};
