// SPDX-License-Identifier: GPL-2.0
/*
 * Memory region and window verbs. Process context. A region's memory is pinned,
 * and the kernel's addresses of its blocks noted, from registration until no
 * placement uses it any more; one whose pages work requests name is listed by a
 * kernel consumer. Windows borrow their region's list.
 */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/random.h>
#include <rdma/ib_umem.h>

#include "xroce.h"

#define XROCE_MR_ACCESS (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
			 IB_ACCESS_MW_BIND | IB_ACCESS_FLUSH_GLOBAL | IB_ZERO_BASED)

/* Without an I/O MMU between, a "DMA address" is the kernel's virtual one. */
static int mr_map(struct xroce_mr *mr, struct ib_umem *umem)
{
	struct ib_block_iter it;
	unsigned long pgsz;
	size_t i = 0, n;

	/* Blocks as large as the memory allows, wherever iova may be. */
	pgsz = ib_umem_find_best_pgsz(umem, GENMASK(31, PAGE_SHIFT), umem->address);
	if (!pgsz)
		return -EINVAL;
	n = ib_umem_num_dma_blocks(umem, pgsz);
	mr->page = kvmalloc_array(n, sizeof(*mr->page), XROCE_GFP_QUEUE);
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

/*
 * Pin a user's memory and note where it is: the part of @mr that goes with it.
 * Return: what holds it, NULL for no memory at all, or an error pointer.
 */
static struct ib_umem *mr_pin(struct ib_device *ib, struct xroce_mr *mr,
			      u64 start, u64 length, int access)
{
	struct ib_umem *umem;
	int err;

	mr->page = NULL;
	if (!length)
		return NULL;
	umem = ib_umem_get_va(ib, start, length, access);
	if (IS_ERR(umem))
		return umem;
	err = mr_map(mr, umem);
	if (!err)
		return umem;
	kvfree(mr->page);
	ib_umem_release(umem);
	return ERR_PTR(err);
}

/* As mmap() asks: what it was opened for. */
static int dmabuf_allows(const struct dma_buf *dmabuf, int access)
{
	fmode_t mode = dmabuf->file->f_mode;

	return mode & FMODE_READ &&
	       (mode & FMODE_WRITE || !ib_access_writable(access)) ? 0 : -EACCES;
}

static int dmabuf_check(const struct dma_buf *dmabuf, u64 offset, u64 length, int access)
{
	if (offset > dmabuf->size || length > dmabuf->size - offset)
		return -EINVAL;
	if (!dmabuf->ops->vmap)
		return -EOPNOTSUPP;
	return dmabuf_allows(dmabuf, access);
}

/* Never: it is pinned. */
static void dmabuf_moves(struct dma_buf_attachment *attach)
{
}

static const struct dma_buf_attach_ops dmabuf_ops = {
	.xroce_move_notify = dmabuf_moves,
};

/* Exporters that move their memory do not until it is unpinned, others while one is attached. */
static struct dma_buf_attachment *dmabuf_attach(struct dma_buf *dmabuf, struct device *dev)
{
	struct dma_buf_attachment *attach;
	int err;

	/* An attachment of the other kind would be mapped for a device, which there is not. */
	if (!dma_buf_is_dynamic(dmabuf))
		return dma_buf_attach(dmabuf, dev);
	attach = dma_buf_dynamic_attach(dmabuf, dev, &dmabuf_ops, NULL);
	if (IS_ERR(attach))
		return attach;
	dma_resv_lock(dmabuf->resv, NULL);
	err = dma_buf_pin(attach);
	dma_resv_unlock(dmabuf->resv);
	if (!err)
		return attach;
	dma_buf_detach(dmabuf, attach);
	return ERR_PTR(err);
}

static void dmabuf_detach(struct dma_buf_attachment *attach)
{
	struct dma_buf *dmabuf = attach->dmabuf;

	if (dma_buf_is_dynamic(dmabuf)) {
		dma_resv_lock(dmabuf->resv, NULL);
		dma_buf_unpin(attach);
		dma_resv_unlock(dmabuf->resv);
	}
	dma_buf_detach(dmabuf, attach);
}

/*
 * Another device's memory as the CPU sees it: one block, which its exporter keeps
 * where it is, and which is accounted to whom it made it for. That the CPU is at it is
 * said for as long: packets cannot sleep to say it.
 */
static int mr_map_dmabuf(struct xroce_kmr *kmr, int fd, u64 offset, u64 length, int access)
{
	struct dma_buf *dmabuf;
	int err;

	/*
	 * So UCX, libfabric and NCCL ask whether memory of GPUs can be registered, and
	 * take any other error for a yes: it cannot, where the CPU does not reach it.
	 */
	if (fd == -1)
		return -EOPNOTSUPP;
	dmabuf = dma_buf_get(fd);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	err = dmabuf_check(dmabuf, offset, length, access);
	if (err)
		goto err_put;
	kmr->attach = dmabuf_attach(dmabuf, &kmr->link->ib.dev);
	err = PTR_ERR_OR_ZERO(kmr->attach);
	if (err)
		goto err_put;
	err = dma_buf_begin_cpu_access(dmabuf, DMA_BIDIRECTIONAL);
	if (err)
		goto err_detach;
	err = dma_buf_vmap_unlocked(dmabuf, &kmr->map);
	if (err)
		goto err_end;
	if (kmr->map.is_iomem) {
		err = -EOPNOTSUPP;
		goto err_unmap;
	}
	kmr->mr.page = &kmr->map.vaddr;
	kmr->mr.page_shift = order_base_2(offset + length);
	kmr->mr.offset = offset;
	return 0;

err_unmap:
	dma_buf_vunmap_unlocked(dmabuf, &kmr->map);
err_end:
	dma_buf_end_cpu_access(dmabuf, DMA_BIDIRECTIONAL);
err_detach:
	dmabuf_detach(kmr->attach);
err_put:
	dma_buf_put(dmabuf);
	return err;
}

static void mr_unmap_dmabuf(struct xroce_kmr *kmr)
{
	struct dma_buf *dmabuf = kmr->attach->dmabuf;

	dma_buf_vunmap_unlocked(dmabuf, &kmr->map);
	dma_buf_end_cpu_access(dmabuf, DMA_BIDIRECTIONAL);
	dmabuf_detach(kmr->attach);
	dma_buf_put(dmabuf);
}

/* A hint that is not ours to follow may be given, a right may not. */
static int mr_check(u64 length, u64 iova, int access)
{
	if (access & ~(XROCE_MR_ACCESS | IB_ACCESS_HUGETLB | IB_ACCESS_OPTIONAL))
		return -EOPNOTSUPP;
	/* The last byte may be the last there is. */
	return length && iova + length - 1 < iova ? -EINVAL : 0;
}

static struct xroce_kmr *kmr_alloc(struct ib_pd *pd, enum xroce_mr_kind kind)
{
	struct xroce_kmr *kmr = kzalloc(sizeof(*kmr), GFP_KERNEL_ACCOUNT);

	if (kmr) {
		kmr->mr.kind = kind;
		kmr->mr.pd = pd;
		kmr->link = to_xlink(pd->device);
		kmr->pdn = pd->res.id;
	}
	return kmr;
}

static void kmr_free(struct xroce_kmr *kmr)
{
	if (kmr->attach)
		mr_unmap_dmabuf(kmr);
	else
		kvfree(kmr->list ?: kmr->mr.page);
	if (kmr->umem)
		ib_umem_release(kmr->umem);
	kfree_rcu(kmr, rcu);
}

/* Let it be found, the last that can fail; or else @err: that it has no memory. */
static struct ib_mr *kmr_publish(struct xroce_kmr *kmr, int err)
{
	if (err) {
		kfree(kmr);
		return ERR_PTR(err);
	}
	err = xroce_table_reserve(&xroce_mrs, &kmr->entry, kmr->link);
	if (err) {
		kmr_free(kmr);
		return ERR_PTR(err);
	}
	/* Its owner may step the low 8 bits. */
	kmr->mr.key = kmr->entry.number << 8 | get_random_u8();
	xroce_table_publish(&xroce_mrs, &kmr->entry, kmr);
	kmr->ib.lkey = kmr->mr.key;
	kmr->ib.rkey = kmr->mr.key;
	return &kmr->ib;
}

/* Return: -EBUSY while a window is bound to it. */
static int kmr_destroy(struct xroce_kmr *kmr)
{
	bool ended;

	local_bh_disable();
	ended = xroce_mr_end(&kmr->mr);
	local_bh_enable();
	if (!ended)
		return -EBUSY;
	xroce_table_del(&xroce_mrs, &kmr->entry, kmr->link);
	kmr_free(kmr);
	return 0;
}

/* A region of a user's, of which only the memory is missing. */
static struct xroce_kmr *kmr_alloc_user(struct ib_pd *pd, u64 length, u64 iova, int access)
{
	int err = mr_check(length, iova, access);
	struct xroce_kmr *kmr;

	if (err)
		return ERR_PTR(err);
	kmr = kmr_alloc(pd, XROCE_MR);
	if (!kmr)
		return ERR_PTR(-ENOMEM);
	kmr->ib.iova = iova;		/* kept by ib_core, but for a dmabuf */
	kmr->ib.length = length;
	kmr->mr.iova = access & IB_ZERO_BASED ? 0 : iova;
	kmr->mr.length = length;
	kmr->mr.access = access & XROCE_MR_ACCESS;
	kmr->mr.state = XROCE_KEY_VALID;
	return kmr;
}

static struct ib_mr *xroce_ib_reg_user_mr(struct ib_pd *pd, u64 start,
					  u64 length, u64 iova, int access,
#ifdef XROCE_HAVE_DMAH
					  struct ib_dmah *dmah,
#endif
					  struct ib_udata *udata)
{
	struct xroce_kmr *kmr;

	if (xroce_udata_unknown(udata))
		return ERR_PTR(-EOPNOTSUPP);
	kmr = kmr_alloc_user(pd, length, iova, access);
	if (IS_ERR(kmr))
		return ERR_CAST(kmr);
	kmr->umem = mr_pin(pd->device, &kmr->mr, start, length, access);
	return kmr_publish(kmr, PTR_ERR_OR_ZERO(kmr->umem));
}

static struct ib_mr *xroce_ib_reg_dmabuf(struct ib_pd *pd, u64 offset,
					 u64 length, u64 iova, int fd, int access,
#ifdef XROCE_HAVE_DMAH
					 struct ib_dmah *dmah,
#endif
					 struct uverbs_attr_bundle *attrs)
{
	struct xroce_kmr *kmr = kmr_alloc_user(pd, length, iova, access);

	if (IS_ERR(kmr))
		return ERR_CAST(kmr);
	return kmr_publish(kmr, mr_map_dmabuf(kmr, fd, offset, length, access));
}

/* Under the same key. Should it fail, the region is as it was. */
static struct ib_mr *xroce_ib_rereg_user_mr(struct ib_mr *ib, int flags,
					    u64 start, u64 length, u64 iova,
					    int access, struct ib_pd *pd,
					    struct ib_udata *udata)
{
	struct xroce_kmr *kmr = to_kmr(ib);
	struct xroce_mr *mr = &kmr->mr, new = *mr;
	struct ib_umem *umem = kmr->umem;
	int err;

	if (xroce_udata_unknown(udata))
		return ERR_PTR(-EOPNOTSUPP);
	if (!(flags & IB_MR_REREG_ACCESS))
		access = mr->access;
	if (!(flags & IB_MR_REREG_TRANS)) {
		start = umem ? umem->address : 0;
		length = mr->length;
		iova = ib->iova;
	}
	err = mr_check(length, iova, access);
	if (!err && kmr->attach)
		err = flags & IB_MR_REREG_TRANS ? -EOPNOTSUPP :
						  dmabuf_allows(kmr->attach->dmabuf, access);
	if (err)
		return ERR_PTR(err);
	/* What was pinned to be read is not to be written. */
	if (flags & IB_MR_REREG_TRANS || (umem && !umem->writable && ib_access_writable(access)))
		umem = mr_pin(ib->device, &new, start, length, access);
	if (IS_ERR(umem))
		return ERR_CAST(umem);
	if (atomic_cmpxchg(&mr->windows, 0, -1)) {
		err = -EBUSY;
		goto err_free;
	}
	local_bh_disable();
	xroce_mr_claim(mr, XROCE_KEY_VALID);
	swap(mr->page, new.page);
	swap(kmr->umem, umem);
	mr->page_shift = new.page_shift;
	mr->offset = new.offset;
	mr->pd = pd;
	mr->iova = access & IB_ZERO_BASED ? 0 : iova;
	mr->length = length;
	mr->access = access & XROCE_MR_ACCESS;
	xroce_mr_release(mr, XROCE_KEY_VALID);
	local_bh_enable();
	atomic_set(&mr->windows, 0);
	err = 0;
err_free:
	/* Which is the old list now, or the new one on an error. */
	if (umem != kmr->umem || new.page != mr->page) {
		kvfree(new.page);
		if (umem)
			ib_umem_release(umem);
	}
	return ERR_PTR(err);
}

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

static struct ib_mr *xroce_ib_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_pages)
{
	struct xroce_kmr *kmr;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_pages || max_pages > XROCE_MAX_FAST_PAGES)
		return ERR_PTR(-EINVAL);
	kmr = kmr_alloc(pd, XROCE_MR_FAST);
	if (!kmr)
		return ERR_PTR(-ENOMEM);
	kmr->max_pages = max_pages;
	kmr->list = kvcalloc(2 * max_pages, sizeof(void *), GFP_KERNEL_ACCOUNT);
	kmr->listed = kmr->list;
	kmr->mr.page = kmr->list;
	kmr->mr.spare = kmr->list + max_pages;
	return kmr_publish(kmr, kmr->list ? 0 : -ENOMEM);
}

static int kmr_set_page(struct ib_mr *ib, u64 addr)
{
	struct xroce_kmr *kmr = to_kmr(ib);

	if (kmr->pages == kmr->max_pages)
		return -ENOMEM;
	kmr->listed[kmr->pages++] = (void *)(uintptr_t)addr;
	return 0;
}

/* Into the list that is not in use: SRP and iSER do not wait until LOCAL_INV is done. */
static int xroce_ib_map_mr_sg(struct ib_mr *ib, struct scatterlist *sg, int n, unsigned int *offset)
{
	struct xroce_kmr *kmr = to_kmr(ib);

	kmr->listed = READ_ONCE(kmr->mr.spare);
	kmr->pages = 0;
	n = ib_sg_to_pages(ib, sg, n, offset, kmr_set_page);
	/* before ib_map_mr_sg_zbva() calls its first address 0 */
	kmr->offset = ib->iova & (ib->page_size - 1);
	return n;
}

static int xroce_ib_dereg_mr(struct ib_mr *ib, struct ib_udata *udata)
{
	struct xroce_kmr *kmr = to_kmr(ib);

	if (kmr->mr.key != XROCE_LKEY_KERNEL)
		return kmr_destroy(kmr);
	kmr_free(kmr);
	return 0;
}

static int xroce_ib_alloc_mw(struct ib_mw *ib, struct ib_udata *udata)
{
	struct xroce_kmr *kmr;
	struct ib_mr *mr;

	if ((ib->type != IB_MW_TYPE_1 && ib->type != IB_MW_TYPE_2) || xroce_udata_unknown(udata))
		return -EOPNOTSUPP;
	kmr = kmr_alloc(ib->pd, ib->type == IB_MW_TYPE_1 ? XROCE_MW_1 : XROCE_MW_2);
	if (!kmr)
		return -ENOMEM;
	mr = kmr_publish(kmr, 0);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	container_of(ib, struct xroce_ibmw, ib)->kmr = kmr;
	ib->rkey = mr->rkey;
	return 0;
}

static int xroce_ib_dealloc_mw(struct ib_mw *ib)
{
	return kmr_destroy(container_of(ib, struct xroce_ibmw, ib)->kmr);
}

const struct ib_device_ops xroce_mr_ops = {
	.alloc_mr = xroce_ib_alloc_mr,
	.alloc_mw = xroce_ib_alloc_mw,
	.dealloc_mw = xroce_ib_dealloc_mw,
	.dereg_mr = xroce_ib_dereg_mr,
	.get_dma_mr = xroce_ib_get_dma_mr,
	.map_mr_sg = xroce_ib_map_mr_sg,
	.reg_user_mr = xroce_ib_reg_user_mr,
	.reg_user_mr_dmabuf = xroce_ib_reg_dmabuf,
	.rereg_user_mr = xroce_ib_rereg_user_mr,
	INIT_RDMA_OBJ_SIZE(ib_mw, xroce_ibmw, ib),
};

XROCE_IMPORT_NS(DMA_BUF);
