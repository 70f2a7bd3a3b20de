// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The file by which a context rings its doorbells: which QPs it rings, what else it
 * takes, what it is when its context has gone, that verbs work without it, and that a
 * file that has its number by then stays.
 */
#include <bell.h>
#include <limits.h>
#include <unistd.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "verbs.h"

static bool rings(int bell, long long qpn, int whence, int want)
{
	off_t ret = lseek(bell, -1 - qpn, whence);
	int err = ret == -1 ? errno : 0;

	NEED(err == want && (err || ret == qpn), "a ring of %#llx, %d: %lld, %s", qpn, whence,
	     (long long)ret, strerror(err));
	return true;
}

static bool rules(struct pair *p, int bell, int other)
{
	uint32_t qpn = p->qp[0]->qp_num;
	char c = 0;

	TRY(rings(bell, qpn, SEEK_SET, 0));
	TRY(rings(bell, p->qp[1]->qp_num, SEEK_SET, 0));
	/* Another context's, on the same device and of the same process */
	TRY(rings(other, qpn, SEEK_SET, EIO));
	TRY(rings(bell, qpn, SEEK_CUR, EINVAL));
	TRY(rings(bell, qpn, SEEK_END, EINVAL));
	/* Nobody's, the kernel's own, too large, none */
	TRY(rings(bell, qpn ^ 1 << 23, SEEK_SET, EIO));
	TRY(rings(bell, 0, SEEK_SET, EIO));
	TRY(rings(bell, 1, SEEK_SET, EIO));
	TRY(rings(bell, qpn | 1u << 24, SEEK_SET, EIO));
	TRY(rings(bell, qpn | 1ll << 32, SEEK_SET, EINVAL));
	TRY(rings(bell, 1ll << 32, SEEK_SET, EINVAL));
	TRY(rings(bell, LLONG_MAX, SEEK_SET, EINVAL));
	/* Where other files may be moved to */
	TRY(rings(bell, -1, SEEK_SET, EINVAL));
	TRY(rings(bell, -1 - (long long)qpn, SEEK_SET, EINVAL));
	NEED(read(bell, &c, 1) == -1 && errno == EINVAL, "it can be read");
	NEED(write(bell, &c, 1) == -1 && errno == EINVAL, "it can be written");
	NEED(ioctl(bell, 0x1b01, &c) == -1 && errno == ENOTTY, "it knows an ioctl()");
	return true;
}

/* A QP that is destroyed is not rung, nor one of a context that has been closed. */
static bool ends(struct pair *p, int bell, int other, struct ibv_context *second)
{
	uint32_t qpn = p->qp[0]->qp_num;
	int fds[BELL_MAX];

	pair_free(p);
	TRY(rings(bell, qpn, SEEK_SET, EIO));
	other = dup(other);
	NEED(!ibv_close_device(second), "ibv_close_device: %s", strerror(errno));
	NEED(rings(other, 0, SEEK_SET, EIO), "it rings for a context that was closed");
	close(other);
	NEED(bell_fds(fds) == 1, "a context leaves its file behind");
	return true;
}

/* Who closes what it does not know, and opens something of its own */
static bool keeps_others(int first)
{
	struct ibv_context *third = ibv_open_device(ctx->device);
	int fds[BELL_MAX], own = memfd_create("own", 0), bell;
	bool there;

	NEED(third, "ibv_open_device: %s", strerror(errno));
	NEED(own >= 0 && bell_fds(fds) == 2, "no file, or not two for doorbells");
	bell = fds[0] == first ? fds[1] : fds[0];
	NEED(dup2(own, bell) == bell, "dup2: %s", strerror(errno));
	NEED(!ibv_close_device(third), "ibv_close_device: %s", strerror(errno));
	there = !ftruncate(bell, 77) && lseek(own, 0, SEEK_END) == 77;
	close(bell);
	close(own);
	NEED(there, "a context that ends closes a file of the program's");
	return true;
}

bool test_bell(void)
{
	struct ibv_context *second;
	struct pair p = {};
	int fds[BELL_MAX], first, other;
	bool ok;

	NEED(bell_fds(fds) == 1, "a context has not one file for doorbells");
	first = fds[0];
	TRY(keeps_others(first));
	second = ibv_open_device(ctx->device);
	NEED(second, "ibv_open_device: %s", strerror(errno));
	NEED(bell_fds(fds) == 2, "two contexts have not two files");
	other = fds[0] == first ? fds[1] : fds[0];
	ok = pair_make(&p, 64) && rules(&p, first, other);
	if (ok)
		return ends(&p, first, other, second);
	pair_free(&p);
	ibv_close_device(second);
	return false;
}

static bool write_all(struct pair *p, unsigned int seed)
{
	struct ibv_wc wc;

	fill(0, 0, 4096, seed);
	NEED(!post_simple(p, 0, IBV_WR_RDMA_WRITE, seed, 0, 4096, IBV_SEND_SIGNALED),
	     "ibv_post_send: %s", strerror(errno));
	TRY(reap(p->cq[0], &wc, 1, IBV_WC_SUCCESS));
	NEED(same(1, 0, 4096, seed), "other bytes");
	return true;
}

/*
 * Then uverbs is the way, also of who has other credentials than when the device was
 * opened, such as a server that takes on its clients' identities: of that it would take
 * no write().
 */
static bool without(void)
{
	struct pair p = {};
	bool ok = pair_make(&p, 64) && write_all(&p, 1);

	setfsuid(65534);
	ok = ok && write_all(&p, 2);
	setfsuid(0);
	ok = ok && write_all(&p, 3);
	pair_free(&p);
	return ok;
}

bool test_no_bell(void)
{
	struct ibv_context *own_ctx = ctx;
	struct ibv_pd *own_pd = pd;
	struct ibv_mr *own_mr = mr;
	int fds[BELL_MAX];
	bool ok = false;

	ctx = ibv_import_device(dup(own_ctx->cmd_fd));
	pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	mr = pd ? ibv_reg_mr(pd, buf, 2 * BUF_SIZE, ANY_ACCESS) : NULL;
	if (!mr)
		why("no context, domain or region: %s", strerror(errno));
	else if (bell_fds(fds) != 1)
		why("who has imported it has a file for doorbells");
	else
		ok = without();
	if (mr)
		ibv_dereg_mr(mr);
	if (pd)
		ibv_dealloc_pd(pd);
	if (ctx)
		ibv_close_device(ctx);
	ctx = own_ctx;
	pd = own_pd;
	mr = own_mr;
	return ok;
}
