// SPDX-License-Identifier: GPL-2.0
/*
 * Rings shared with the user, and mmap() of them. Process context. A mapping
 * holds its pages by their own reference counts and has no operations of ours,
 * so that it may outlive the ring, the device and the module.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "xroce.h"

/**
 * xroce_ring_alloc() - make a ring and a place to map it at
 * @uctx: whose it is, NULL for a kernel consumer's, which is not mapped
 * @depth: slots, a power of two
 * @stride: bytes from slot to slot
 * @info: what the user is to be told
 *
 * Return: the ring, all zero and charged to the caller, or an error pointer.
 */
struct xroce_umem_ring *xroce_ring_alloc(struct xroce_uctx *uctx, u32 depth,
					 u32 stride, struct xroce_ring_info *info)
{
	size_t size = PAGE_ALIGN(XROCE_RING_HDR + (size_t)depth * stride);
	struct xroce_umem_ring *ring;
	int err = -ENOMEM;

	ring = kzalloc(sizeof(*ring), GFP_KERNEL_ACCOUNT);
	if (!ring)
		return ERR_PTR(-ENOMEM);
	ring->ring = __vmalloc(size, XROCE_GFP_QUEUE | __GFP_ZERO);
	if (ring->ring)
		err = uctx ? rdma_user_mmap_entry_insert(&uctx->ib, &ring->entry, size) : 0;
	if (err) {
		xroce_ib_mmap_free(&ring->entry);
		return ERR_PTR(err);
	}
	if (!uctx)
		return ring;
	info->offset = rdma_user_mmap_get_offset(&ring->entry);
	info->size = size;
	info->depth = depth;
	info->stride = stride;
	return ring;
}

/**
 * xroce_rq_alloc() - make a receive queue and its ring
 * @rq: the queue
 * @uctx: as for xroce_ring_alloc()
 * @max_wr: the work requests that it must hold; on return what it holds
 * @max_sge: of each
 * @info: what the user is to be told
 *
 * Return: as xroce_ring_alloc().
 */
struct xroce_umem_ring *xroce_rq_alloc(struct xroce_rq *rq,
				       struct xroce_uctx *uctx, u32 *max_wr,
				       u32 max_sge, struct xroce_ring_info *info)
{
	u32 depth = roundup_pow_of_two(max(*max_wr, 1U));
	u32 stride = ALIGN(sizeof(struct xroce_recv_wqe) +
			   max_sge * sizeof(struct xroce_sge), XROCE_SLOT_ALIGN);
	struct xroce_umem_ring *ring;

	ring = xroce_ring_alloc(uctx, depth, stride, info);
	if (IS_ERR(ring))
		return ring;
	xroce_rq_init(rq, ring->ring, depth, stride, max_sge);
	*max_wr = depth;
	return ring;
}

/**
 * xroce_ring_free() - give up a ring that the kernel looks at no more
 * @ring: as xroce_ring_alloc() returned it, or NULL
 *
 * Goes at once, or after an mmap() of it under way.
 */
void xroce_ring_free(struct xroce_umem_ring *ring)
{
	if (IS_ERR_OR_NULL(ring))
		return;
	if (ring->entry.ucontext)
		rdma_user_mmap_entry_remove(&ring->entry);
	else
		xroce_ib_mmap_free(&ring->entry);
}

/**
 * xroce_ib_mmap_free() - nobody can map the ring any more
 * @entry: the mapping
 */
void xroce_ib_mmap_free(struct rdma_user_mmap_entry *entry)
{
	struct xroce_umem_ring *ring = container_of(entry, struct xroce_umem_ring, entry);

	vfree(ring->ring);
	kfree(ring);
}

/**
 * xroce_ib_mmap() - map a ring, whole and shared, by the offset it was given
 * @uctx: the user's context
 * @vma: where
 */
int xroce_ib_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	struct xroce_umem_ring *ring;
	unsigned long pos;
	int err = 0;

	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	entry = rdma_user_mmap_entry_get(uctx, vma);
	if (!entry)
		return -EINVAL;
	ring = container_of(entry, struct xroce_umem_ring, entry);
	vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP, VM_MAYEXEC);
	for (pos = 0; pos < entry->npages << PAGE_SHIFT && !err; pos += PAGE_SIZE) {
		err = vm_insert_page(vma, vma->vm_start + pos,
				     vmalloc_to_page((u8 *)ring->ring + pos));
		cond_resched();
	}
	rdma_user_mmap_entry_put(entry);
	return err;
}
