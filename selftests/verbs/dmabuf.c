// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Regions of dmabufs: of memfds that udmabuf makes them of, so that what peers
 * write can be seen, and of a DMA heap for one that may only be read. Side 1 owns
 * the memory, side 0 is the peer. One thread.
 */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <rdma/ib_user_verbs.h>

#include "verbs.h"
#include "../kverbs/module/exporter.h"

#define PAGE	4096u
#define SIZE	(16 * PAGE)
#define IOVA	0x7654330000ull	/* whatever size pages have */
/* Where regions begin in the buffer, and how long they are: with bytes around */
#define AT	(PAGE + 100)
#define LEN	(9 * PAGE + 1)

/**
 * struct share - a dmabuf
 * @mem: its memory, as this process sees it
 */
struct share {
	int memfd, fd;
	char *mem;
};

static bool share_make(struct share *s)
{
	int dev = open("/dev/udmabuf", O_RDWR);
	struct udmabuf_create create = { .size = SIZE };

	s->memfd = memfd_create("verbs", MFD_ALLOW_SEALING);
	NEED(dev >= 0 && s->memfd >= 0, "udmabuf, memfd: %s", strerror(errno));
	NEED(!ftruncate(s->memfd, SIZE) &&
	     !fcntl(s->memfd, F_ADD_SEALS, F_SEAL_SHRINK), "memfd");
	create.memfd = s->memfd;
	s->fd = ioctl(dev, UDMABUF_CREATE, &create);
	NEED(s->fd >= 0, "UDMABUF_CREATE: %s", strerror(errno));
	close(dev);
	s->mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, s->memfd,
		      0);
	NEED(s->mem != MAP_FAILED, "mmap: %s", strerror(errno));
	return true;
}

static void share_free(struct share *s)
{
	munmap(s->mem, SIZE);
	close(s->fd);
	close(s->memfd);
}

static struct ibv_mr *reg(int fd, uint64_t off, size_t len, uint64_t iova,
			  int access)
{
	return ibv_reg_dmabuf_mr(pd, off, len, iova, fd, access);
}

/* The usual one */
static struct ibv_mr *reg_at(const struct share *s, int access)
{
	return reg(s->fd, AT, LEN, IOVA + AT, access);
}

/* Is it as the pattern has it, and what is around it 0x5a? */
static bool placed(const char *mem, uint32_t at, uint32_t len, unsigned int seed)
{
	const char *want = buf + 2 * BUF_SIZE - SIZE;
	uint32_t i;

	fill(1, BUF_SIZE - SIZE, len, seed);
	for (i = 0; i < SIZE; i++)
		NEED(mem[i] == (i >= at && i < at + len ? want[i - at] : 0x5a),
		     "byte %u, of %u from %u, is wrong", i, len, at);
	return true;
}

/* WRITE and READ of the peer's, bytes around them left alone */
static bool reads_writes(struct pair *p, const struct share *s, uint32_t rkey,
			 uint32_t at, uint32_t len, unsigned int seed)
{
	memset(s->mem, 0x5a, SIZE);
	fill(0, 0, len, seed);
	TRY(reach(p, IBV_WR_RDMA_WRITE, rkey, IOVA + at, len, IBV_WC_SUCCESS));
	TRY(placed(s->mem, at, len, seed));
	fill(0, 0, len, seed + 1);
	TRY(reach(p, IBV_WR_RDMA_READ, rkey, IOVA + at, len, IBV_WC_SUCCESS));
	return same(0, 0, len, seed);
}

/* SEND into it, and gathered from it */
static bool sends(struct pair *p, const struct share *s, uint32_t lkey)
{
	struct ibv_sge sge[] = {
		{ IOVA + AT + 1, PAGE, lkey },
		{ IOVA + AT + 1 + PAGE, 2 * PAGE, lkey },
	};
	struct ibv_recv_wr rwr = { .sg_list = sge, .num_sge = 2 }, *bad;
	struct ibv_send_wr wr = {
		.sg_list = sge,
		.num_sge = 2,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_wc wc;

	memset(s->mem, 0x5a, SIZE);
	fill(0, 0, 3 * PAGE, 7);
	NEED(!ibv_post_recv(p->qp[1], &rwr, &bad), "post_recv");
	NEED(!post_simple(p, 0, IBV_WR_SEND, 1, 0, 3 * PAGE,
			  IBV_SEND_SIGNALED), "post_send");
	TRY(reap(p->cq[0], &wc, 1, IBV_WC_SUCCESS));
	TRY(reap(p->cq[1], &wc, 1, IBV_WC_SUCCESS));
	TRY(placed(s->mem, AT + 1, 3 * PAGE, 7));
	fill(0, 0, 3 * PAGE, 8);
	NEED(!post_recv(p, 0, 1, 0, 3 * PAGE), "post_recv");
	NEED(!post_wr(p->qp[1], &wr), "post_send");
	TRY(reap(p->cq[1], &wc, 1, IBV_WC_SUCCESS));
	TRY(reap(p->cq[0], &wc, 1, IBV_WC_SUCCESS));
	return same(0, 0, 3 * PAGE, 7);
}

static bool adds(struct pair *p, const struct share *s, uint32_t rkey)
{
	volatile uint64_t *word = (void *)(s->mem + 3 * PAGE - 8);
	struct ibv_sge sge = sge_of(0, 0, 8);
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.atomic = { IOVA + 3 * PAGE - 8, 5, 0, rkey },
	};
	struct ibv_wc wc;

	*word = 1ull << 40;
	NEED(!post_wr(p->qp[0], &wr), "post_send");
	TRY(reap(p->cq[0], &wc, 1, IBV_WC_SUCCESS));
	NEED(*word == (1ull << 40) + 5 && *(uint64_t *)buf == 1ull << 40,
	     "FETCH_ADD: %llx", (unsigned long long)*word);
	return true;
}

/* As who is given it knows it */
static bool imports(const struct ibv_mr *r)
{
	struct ibv_mr *other = ibv_import_mr(pd, r->handle);
	size_t len;

	NEED(other, "ibv_import_mr: %s", strerror(errno));
	len = other->length;
	ibv_unimport_mr(other);
	NEED(len == LEN, "a region of %u bytes has %zu", LEN, len);
	return true;
}

static bool operations(struct pair *p, struct share *s)
{
	struct ibv_mr *r = reg_at(s, ANY_ACCESS), *all;
	uint32_t gone;

	NEED(r, "ibv_reg_dmabuf_mr: %s", strerror(errno));
	TRY(imports(r));
	TRY(reads_writes(p, s, r->rkey, AT, LEN, 1));
	TRY(reads_writes(p, s, r->rkey, AT + LEN - 1, 1, 2));
	TRY(sends(p, s, r->lkey));
	TRY(adds(p, s, r->rkey));
	/* Twice, of which one goes; to its last byte */
	all = reg(s->fd, 0, SIZE, IOVA, ANY_ACCESS);
	NEED(all, "all of it: %s", strerror(errno));
	TRY(reads_writes(p, s, all->rkey, 0, SIZE, 3));
	gone = r->rkey;
	NEED(!ibv_dereg_mr(r), "ibv_dereg_mr");
	TRY(reach(p, IBV_WR_RDMA_READ, gone, IOVA + AT, 1,
		  IBV_WC_REM_ACCESS_ERR));
	TRY(reads_writes(p, s, all->rkey, SIZE - PAGE, PAGE, 4));
	/* Nobody but the region holds it any more */
	close(s->fd);
	close(s->memfd);
	TRY(reads_writes(p, s, all->rkey, AT, LEN, 5));
	munmap(s->mem, SIZE);
	fill(0, 0, SIZE, 6);
	TRY(reach(p, IBV_WR_RDMA_WRITE, all->rkey, IOVA, SIZE, IBV_WC_SUCCESS));
	fill(0, 0, SIZE, 9);
	TRY(reach(p, IBV_WR_RDMA_READ, all->rkey, IOVA, SIZE, IBV_WC_SUCCESS));
	TRY(same(0, 0, SIZE, 6));
	NEED(!ibv_dereg_mr(all), "ibv_dereg_mr");
	return share_make(s);
}

static bool no(const char *what, const struct ibv_mr *made, int want)
{
	NEED(!made && errno == want, "%s: %s", what,
	     made ? "made" : strerror(errno));
	return true;
}

/* It may be read by whoever has it, and written by nobody */
bool test_dmabuf_read_only(void)
{
	struct dma_heap_allocation_data alloc = {
		.len = SIZE, .fd_flags = O_RDONLY | O_CLOEXEC,
	};
	int heap = open("/dev/dma_heap/system", O_RDONLY | O_CLOEXEC);
	struct ibv_mr *r;

	NEED(heap >= 0 && !ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &alloc),
	     "/dev/dma_heap/system: %s", strerror(errno));
	r = reg(alloc.fd, 0, SIZE, 0, IBV_ACCESS_LOCAL_WRITE);
	TRY(no("to be written, of one to be read", r, EACCES));
	r = reg(alloc.fd, 0, SIZE, 0, IBV_ACCESS_REMOTE_READ);
	NEED(r, "of one to be read: %s", strerror(errno));
	NEED(!ibv_dereg_mr(r), "ibv_dereg_mr");
	close(alloc.fd);
	close(heap);
	return true;
}

static bool refusals(struct pair *p, struct share *s)
{
	struct ibv_mr *r;

	/* Programs' question about GPUs' memory */
	TRY(no("no file", reg(-1, 0, PAGE, 0, 0), EOPNOTSUPP));
	TRY(no("a closed file", reg(1023, 0, PAGE, 0, 0), EBADF));
	TRY(no("another file", reg(s->memfd, 0, PAGE, 0, 0), EINVAL));
	TRY(no("one byte too many", reg(s->fd, 0, SIZE + 1, 0, 0), EINVAL));
	r = reg(s->fd, SIZE - 1, 2, PAGE - 1, 0);
	TRY(no("one too many from its last", r, EINVAL));
	r = reg(s->fd, SIZE + PAGE, 1, 0, 0);
	TRY(no("from beyond its end", r, EINVAL));
	TRY(no("length of all ones", reg(s->fd, 0, ~0ull, 0, 0), EINVAL));
	r = reg(s->fd, PAGE, -(uint64_t)PAGE, 0, 0);
	TRY(no("around to its beginning", r, EINVAL));
	r = reg(s->fd, ~0ull, 2, PAGE - 1, 0);
	TRY(no("offset of all ones", r, EINVAL));
	r = reg(s->fd, 0, 2 * PAGE, -(uint64_t)PAGE, 0);
	TRY(no("beyond the last address", r, EINVAL));
	r = reg(s->fd, 1, PAGE, 0, 0);
	TRY(no("elsewhere in a page", r, EINVAL));

	memset(s->mem, 0x5a, SIZE);
	r = reg_at(s, ANY_ACCESS);
	NEED(r, "ibv_reg_dmabuf_mr: %s", strerror(errno));
	fill(0, 0, SIZE, 1);
	TRY(reach(p, IBV_WR_RDMA_WRITE, r->rkey, IOVA + AT, LEN + 1,
		  IBV_WC_REM_ACCESS_ERR));
	TRY(reach(p, IBV_WR_RDMA_WRITE, r->rkey, IOVA + AT - 1, 1,
		  IBV_WC_REM_ACCESS_ERR));
	TRY(reach(p, IBV_WR_RDMA_READ, r->rkey, IOVA + AT + LEN, 1,
		  IBV_WC_REM_ACCESS_ERR));
	NEED(!ibv_dereg_mr(r), "ibv_dereg_mr");
	r = reg_at(s, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	NEED(r, "ibv_reg_dmabuf_mr: %s", strerror(errno));
	TRY(reach(p, IBV_WR_RDMA_WRITE, r->rkey, IOVA + AT, 1,
		  IBV_WC_REM_ACCESS_ERR));
	TRY(reach(p, IBV_WR_RDMA_READ, r->rkey, IOVA + AT, LEN,
		  IBV_WC_SUCCESS));
	NEED(!ibv_dereg_mr(r), "ibv_dereg_mr");
	return placed(s->mem, 0, 0, 0);
}

/* What the library does not ask of the kernel for such a region */
static int rereg(struct ibv_mr *r, int flags, struct ibv_pd *to, void *start,
		 int access)
{
	struct ib_uverbs_rereg_mr_resp resp;
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_rereg_mr rereg;
	} cmd = {
		.hdr = {
			.command = IB_USER_VERBS_CMD_REREG_MR,
			.in_words = sizeof(cmd) / 4,
			.out_words = sizeof(resp) / 4,
		},
		.rereg = {
			.response = (uintptr_t)&resp,
			.mr_handle = r->handle,
			.flags = flags,
			.start = (uintptr_t)start,
			.length = start ? PAGE : 0,
			.hca_va = (uintptr_t)start,
			.pd_handle = to ? to->handle : 0,
			.access_flags = access,
		},
	};

	if (write(ctx->cmd_fd, &cmd, sizeof(cmd)) != sizeof(cmd))
		return errno;
	return resp.rkey == r->rkey ? 0 : EPROTO;
}

static bool anew(struct pair *p, struct share *s)
{
	struct ibv_mr *r = reg_at(s, ANY_ACCESS);
	struct ibv_pd *other = ibv_alloc_pd(ctx);
	int err;

	NEED(r && other, "ibv_reg_dmabuf_mr: %s", strerror(errno));
	NEED(ibv_rereg_mr(r, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0) &&
	     errno == EINVAL, "libibverbs does ask");
	err = rereg(r, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, buf, 0);
	NEED(err == EOPNOTSUPP, "translation: %s", strerror(err));
	err = rereg(r, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL,
		    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	NEED(!err, "access: %s", strerror(err));
	memset(s->mem, 0x5a, SIZE);
	TRY(reach(p, IBV_WR_RDMA_WRITE, r->rkey, IOVA + AT, 1,
		  IBV_WC_REM_ACCESS_ERR));
	TRY(placed(s->mem, 0, 0, 0));
	TRY(reach(p, IBV_WR_RDMA_READ, r->rkey, IOVA + AT, 1, IBV_WC_SUCCESS));
	err = rereg(r, IBV_REREG_MR_CHANGE_PD, other, NULL, 0);
	NEED(!err, "domain: %s", strerror(err));
	TRY(reach(p, IBV_WR_RDMA_READ, r->rkey, IOVA + AT, 1,
		  IBV_WC_REM_ACCESS_ERR));
	NEED(ibv_dealloc_pd(other) == EBUSY, "a domain in use went");
	err = rereg(r, IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS, pd,
		    NULL, ANY_ACCESS);
	NEED(!err, "and back: %s", strerror(err));
	TRY(reads_writes(p, s, r->rkey, AT, LEN, 1));
	err = rereg(r, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, ANY_ACCESS | IBV_ACCESS_ZERO_BASED);
	NEED(!err, "from zero: %s", strerror(err));
	TRY(reach(p, IBV_WR_RDMA_READ, r->rkey, 0, 1, IBV_WC_SUCCESS));
	err = rereg(r, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, ANY_ACCESS);
	NEED(!err, "by address: %s", strerror(err));
	TRY(reads_writes(p, s, r->rkey, AT, LEN, 2));
	NEED(!ibv_dereg_mr(r), "ibv_dereg_mr");
	NEED(!ibv_dealloc_pd(other), "ibv_dealloc_pd");
	return true;
}

/* There are @users of it, and it moves only if there are none. */
static bool used(int ex, int users)
{
	int is = ioctl(ex, EXPORTER_USERS), err = ioctl(ex, EXPORTER_MOVE) ? errno : 0;

	NEED(is == users, "users %#x, not %#x", is, users);
	NEED(err == (users ? EBUSY : 0), "moved: %s", strerror(err));
	return true;
}

/* An exporter that moves its memory, but not under a region's feet. */
static bool moves(struct pair *p, int ex, bool dynamic)
{
	static const int want[] = { EIO, EIO, EIO, EOPNOTSUPP };
	int one = EXPORTER_ATTACH + EXPORTER_ACCESS + dynamic * EXPORTER_PIN;
	int fd = ioctl(ex, EXPORTER_MAKE, dynamic), i;
	struct ibv_mr *r, *again;

	NEED(fd >= 0, "EXPORTER_MAKE: %s", strerror(errno));
	TRY(used(ex, 0));
	for (i = dynamic ? 0 : 1; i < 4; i++) {
		ioctl(ex, EXPORTER_FAIL, 1 << i);
		r = reg(fd, 0, EXPORTER_SIZE, IOVA, ANY_ACCESS);
		NEED(!r && errno == want[i], "failure %d: %s", 1 << i, strerror(errno));
		TRY(used(ex, 0));
	}
	ioctl(ex, EXPORTER_FAIL, 0);
	r = reg(fd, 0, EXPORTER_SIZE, IOVA, ANY_ACCESS);
	NEED(r, "ibv_reg_dmabuf_mr: %s", strerror(errno));
	TRY(used(ex, one + EXPORTER_MAP));
	fill(0, 0, LEN, 3);
	TRY(reach(p, IBV_WR_RDMA_WRITE, r->rkey, IOVA, LEN, IBV_WC_SUCCESS));
	again = reg(fd, 0, 1, IOVA, ANY_ACCESS);
	NEED(again, "ibv_reg_dmabuf_mr: %s", strerror(errno));
	/* mapped once for both, by the kernel */
	TRY(used(ex, 2 * one + EXPORTER_MAP));
	NEED(!ibv_dereg_mr(r), "ibv_dereg_mr");
	TRY(used(ex, one + EXPORTER_MAP));
	NEED(!ibv_dereg_mr(again), "ibv_dereg_mr");
	TRY(used(ex, 0));
	/* where it is now */
	r = reg(fd, 0, EXPORTER_SIZE, IOVA, ANY_ACCESS);
	NEED(r, "ibv_reg_dmabuf_mr: %s", strerror(errno));
	fill(0, 0, LEN, 4);
	TRY(reach(p, IBV_WR_RDMA_READ, r->rkey, IOVA, LEN, IBV_WC_SUCCESS));
	TRY(same(0, 0, LEN, 3));
	NEED(!ibv_dereg_mr(r), "ibv_dereg_mr");
	close(fd);
	return true;
}

bool test_dmabuf_moves(void)
{
	int ex = open("/dev/" EXPORTER, O_RDWR);
	struct pair p = {};
	bool ok;

	NEED(ex >= 0, "%s: %s", EXPORTER, strerror(errno));
	ok = pair_make(&p, 64) && moves(&p, ex, true) && moves(&p, ex, false);
	pair_free(&p);
	close(ex);
	return ok;
}

static bool with_share(bool (*test)(struct pair *, struct share *))
{
	struct share s = { -1, -1, NULL };
	struct pair p = {};
	bool ok = share_make(&s) && pair_make(&p, 64) && test(&p, &s);

	pair_free(&p);
	share_free(&s);
	return ok;
}

bool test_dmabuf(void)
{
	return with_share(operations);
}

bool test_dmabuf_rules(void)
{
	return with_share(refusals);
}

bool test_dmabuf_rereg(void)
{
	return with_share(anew);
}
