// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An exporter of dmabufs as GPUs' drivers are: its memory is elsewhere after a move,
 * unless it is pinned. Process context; the dmabuf's reservation lock or the file's
 * owner, who does one thing at a time, guards all.
 */
#include <linux/dma-buf.h>
#include <linux/fs.h>
#include <linux/iosys-map.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/version.h>
#include <linux/vmalloc.h>

#include "exporter.h"

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
MODULE_IMPORT_NS(DMA_BUF);
#else
MODULE_IMPORT_NS("DMA_BUF");
#endif

/*
 * One dmabuf, in either half of @mem, from @at on; @users: of it, as EXPORTER_USERS
 * says; @fail: as EXPORTER_FAIL does
 */
struct ex {
	struct kref ref;
	void *mem;
	u32 at;
	atomic_t users;
	unsigned long fail;
};

static void ex_free(struct kref *ref)
{
	struct ex *ex = container_of(ref, struct ex, ref);

	vfree(ex->mem);
	kfree(ex);
}

static int ex_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	struct ex *ex = dmabuf->priv;

	if (ex->fail & EXPORTER_NO_ATTACH)
		return -EIO;
	atomic_add(EXPORTER_ATTACH, &ex->users);
	return 0;
}

static void ex_detach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	struct ex *ex = dmabuf->priv;

	atomic_sub(EXPORTER_ATTACH, &ex->users);
}

static int ex_pin(struct dma_buf_attachment *attach)
{
	struct ex *ex = attach->dmabuf->priv;

	if (ex->fail & EXPORTER_NO_PIN)
		return -EIO;
	atomic_add(EXPORTER_PIN, &ex->users);
	return 0;
}

static void ex_unpin(struct dma_buf_attachment *attach)
{
	struct ex *ex = attach->dmabuf->priv;

	atomic_sub(EXPORTER_PIN, &ex->users);
}

/* For a device: there is none. */
static struct sg_table *ex_map(struct dma_buf_attachment *attach, enum dma_data_direction dir)
{
	return ERR_PTR(-EIO);
}

static void ex_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
		     enum dma_data_direction dir)
{
}

static int ex_begin(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	struct ex *ex = dmabuf->priv;

	if (ex->fail & EXPORTER_NO_ACCESS)
		return -EIO;
	atomic_add(EXPORTER_ACCESS, &ex->users);
	return 0;
}

static int ex_end(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	struct ex *ex = dmabuf->priv;

	atomic_sub(EXPORTER_ACCESS, &ex->users);
	return 0;
}

static int ex_vmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	struct ex *ex = dmabuf->priv;

	if (ex->fail & EXPORTER_IOMEM)
		iosys_map_set_vaddr_iomem(map, (void __iomem *)(ex->mem + ex->at));
	else
		iosys_map_set_vaddr(map, ex->mem + ex->at);
	atomic_add(EXPORTER_MAP, &ex->users);
	return 0;
}

static void ex_vunmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	struct ex *ex = dmabuf->priv;

	atomic_sub(EXPORTER_MAP, &ex->users);
}

static void ex_release(struct dma_buf *dmabuf)
{
	struct ex *ex = dmabuf->priv;

	kref_put(&ex->ref, ex_free);
}

#define EX_OPS								\
	.attach = ex_attach, .detach = ex_detach, .map_dma_buf = ex_map,	\
	.unmap_dma_buf = ex_unmap, .begin_cpu_access = ex_begin,		\
	.end_cpu_access = ex_end, .vmap = ex_vmap, .vunmap = ex_vunmap,	\
	.release = ex_release

static const struct dma_buf_ops ex_ops[] = {
	{ EX_OPS },
	{ EX_OPS, .pin = ex_pin, .unpin = ex_unpin },
};

static int ex_make(struct ex *ex, bool dynamic)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct dma_buf *dmabuf;

	info.ops = &ex_ops[dynamic];
	info.size = EXPORTER_SIZE;
	info.flags = O_RDWR | O_CLOEXEC;
	info.priv = ex;
	dmabuf = dma_buf_export(&info);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	kref_get(&ex->ref);
	return dma_buf_fd(dmabuf, O_CLOEXEC);
}

static int ex_move(struct ex *ex)
{
	void *from = ex->mem + ex->at;

	if (atomic_read(&ex->users) & (EXPORTER_MAP - 1))
		return -EBUSY;
	ex->at = EXPORTER_SIZE - ex->at;
	memcpy(ex->mem + ex->at, from, EXPORTER_SIZE);
	memset(from, 0xee, EXPORTER_SIZE);
	return 0;
}

static long ex_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct ex *ex = file->private_data;

	switch (cmd) {
	case EXPORTER_MAKE:
		return ex_make(ex, arg);
	case EXPORTER_MOVE:
		return ex_move(ex);
	case EXPORTER_USERS:
		return atomic_read(&ex->users);
	case EXPORTER_FAIL:
		ex->fail = arg;
		return 0;
	default:
		return -ENOTTY;
	}
}

static int ex_open(struct inode *inode, struct file *file)
{
	struct ex *ex = kzalloc(sizeof(*ex), GFP_KERNEL);

	if (!ex)
		return -ENOMEM;
	kref_init(&ex->ref);
	ex->mem = vzalloc(2 * EXPORTER_SIZE);
	if (!ex->mem) {
		kfree(ex);
		return -ENOMEM;
	}
	file->private_data = ex;
	return 0;
}

static int ex_close(struct inode *inode, struct file *file)
{
	struct ex *ex = file->private_data;

	kref_put(&ex->ref, ex_free);
	return 0;
}

static const struct file_operations ex_fops = {
	.owner = THIS_MODULE,
	.open = ex_open,
	.release = ex_close,
	.unlocked_ioctl = ex_ioctl,
};

static struct miscdevice ex_dev = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = EXPORTER,
	.fops = &ex_fops,
};

module_misc_device(ex_dev);
MODULE_DESCRIPTION("Test of regions of dmabufs: an exporter that moves them");
MODULE_LICENSE("Dual BSD/GPL");
