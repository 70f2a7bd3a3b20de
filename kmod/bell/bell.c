// SPDX-License-Identifier: GPL-2.0
/*
 * A file for doorbells, in a module of its own, which it holds, and nothing else: so
 * the device's module may go while programs have such files open. Process context; a
 * call is made under RCU (BH are off), and none after a grace period from its end.
 */
#include <linux/anon_inodes.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/refcount.h>
#include <linux/slab.h>

#include "bell.h"

/**
 * struct xroce_bell - where a ring goes to
 * @ring: to be called, NULL when it has ended
 * @ctx: whose it is
 * @users: 1 for the file, 1 for who made it
 */
struct xroce_bell {
	xroce_ring_t *ring;
	const void *ctx;
	refcount_t users;
};

static void bell_put(struct xroce_bell *bell)
{
	if (refcount_dec_and_test(&bell->users))
		kfree(bell);
}

/*
 * lseek() is a ring: of what calls a file's own function it has the least before that,
 * 102 instructions, where write() has 306 and ioctl() 337 (docs/performance.md).
 */
static loff_t bell_llseek(struct file *file, loff_t offset, int whence)
{
	struct xroce_bell *bell = file->private_data;
	loff_t qpn = -1 - offset;
	xroce_ring_t *ring;
	int err = -EIO;

	if (whence != SEEK_SET || qpn < 0 || qpn > U32_MAX)
		return -EINVAL;
	local_bh_disable();
	ring = READ_ONCE(bell->ring);
	if (ring)
		err = ring(bell->ctx, qpn);
	local_bh_enable();
	return err ?: qpn;
}

static int bell_release(struct inode *inode, struct file *file)
{
	bell_put(file->private_data);
	return 0;
}

static const struct file_operations bell_fops = {
	.owner = THIS_MODULE,
	.llseek = bell_llseek,
	.release = bell_release,
};

/**
 * xroce_bell_new() - make a file for doorbells
 * @ring: called for each, until xroce_bell_end()
 * @ctx: handed to it
 * @bell: for xroce_bell_end()
 *
 * Return: the file, or an error pointer.
 */
struct file *xroce_bell_new(xroce_ring_t *ring, const void *ctx, struct xroce_bell **bell)
{
	struct xroce_bell *b = kzalloc(sizeof(*b), GFP_KERNEL_ACCOUNT);
	struct file *file;

	if (!b)
		return ERR_PTR(-ENOMEM);
	b->ring = ring;
	b->ctx = ctx;
	refcount_set(&b->users, 2);
	file = anon_inode_getfile("[xroce]", &bell_fops, b, O_RDWR);
	if (IS_ERR(file))
		kfree(b);
	else
		*bell = b;
	return file;
}
EXPORT_SYMBOL_GPL(xroce_bell_new);

/**
 * xroce_bell_end() - who rings from now on is told EIO
 * @bell: as xroce_bell_new() gave it
 *
 * A call may be under way until a grace period later.
 */
void xroce_bell_end(struct xroce_bell *bell)
{
	WRITE_ONCE(bell->ring, NULL);
	bell_put(bell);
}
EXPORT_SYMBOL_GPL(xroce_bell_end);

MODULE_DESCRIPTION("Files for the doorbells of xroce");
MODULE_AUTHOR("The xroce authors");
MODULE_LICENSE("GPL");
