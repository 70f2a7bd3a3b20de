// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A peer WRITEs without end to whatever memory was registered last, and to what
 * was before it. The victim deregisters, uses the same pages for something else
 * at once, and finds that as it left it. Over UC, where a key that is refused
 * ends no connection.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "life.h"

#define PAGES	32
#define LEN	(PAGES * 4096ul)
#define MINE	0x55

/* Where the memory is; only root is told. */
static void frames(const uint8_t *p, uint64_t pfn[PAGES])
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC), i;

	if (fd < 0 || pread(fd, pfn, PAGES * 8, (uintptr_t)p / 4096 * 8) !=
	    PAGES * 8)
		err(1, "pagemap");
	for (i = 0; i < PAGES; i++)
		pfn[i] &= (1ull << 55) - 1;
	close(fd);
}

static uint8_t *map(uint8_t value)
{
	uint8_t *p = mmap(NULL, LEN, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		err(1, "mmap");
	memset(p, value, LEN);
	return p;
}

static int again(const uint64_t *a, const uint64_t *b)
{
	int i, k, n = 0;

	for (i = 0; i < PAGES; i++)
		for (k = 0; k < PAGES; k++)
			n += a[i] == b[k];
	return n;
}

static bool untouched(const struct side *s, const uint8_t *p)
{
	size_t i;

	for (i = 0; i < LEN; i++) {
		if (p[i] == MINE)
			continue;
		warnx("side %d: byte %zu of memory that is no MR's was written",
		      s->me, i);
		return false;
	}
	return true;
}

/* Is the flood coming in? */
static bool flooded(const struct side *s, const volatile uint8_t *p)
{
	int i, n;

	for (n = 0; n < 30000 && !stopped(s); n++) {
		for (i = 0; i < PAGES; i++)
			if (p[i * 4096] != MINE)
				return true;
		usleep(1000);
	}
	return false;
}

bool revoke_victim(struct side *s)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	uint64_t was[PAGES], is[PAGES];
	int rounds = 0, reused = 0;
	struct ibv_mr *mr;
	uint8_t *p;

	for (; !stopped(s) && rounds < opts.rounds; rounds++) {
		p = map(MINE);
		mr = ibv_reg_mr(s->pd, p, LEN, access);
		if (!mr)
			err(1, "ibv_reg_mr");
		shared->va[1] = shared->va[0];
		shared->rkey[1] = shared->rkey[0];
		shared->va[0] = (uintptr_t)p;
		__atomic_store_n(&shared->rkey[0], mr->rkey, __ATOMIC_RELEASE);
		if (!flooded(s, p)) {
			warnx("no WRITE came");
			return false;
		}
		frames(p, was);
		if (ibv_dereg_mr(mr))
			err(1, "ibv_dereg_mr");
		/* The other half keeps its pages and is no MR's any more */
		if (rounds % 2) {
			munmap(p, LEN);
			p = map(MINE);
		} else {
			memset(p, MINE, LEN);
		}
		frames(p, is);
		reused += again(was, is);
		if (!untouched(s, p))
			return false;
		usleep(1000);
		if (!untouched(s, p))
			return false;
		munmap(p, LEN);
	}
	printf("# %d rounds, %d of %d pages used again\n", rounds, reused,
	       rounds * PAGES);
	fflush(stdout);
	return reused > rounds * PAGES / 2;
}

bool revoke_flood(struct side *s)
{
	uint8_t *p = s->mem + area(AREA_SEND);
	struct ibv_sge sge = { (uintptr_t)p, SLOT, s->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
	};
	int which, out = 0, n, i;
	struct ibv_wc wc[SENDS];

	memset(p, 0xaa, SLOT);
	while (!stopped(s)) {
		while (out < SENDS) {
			which = rnd() % 4 == 0;
			wr.wr.rdma.rkey = shared->rkey[which];
			wr.wr.rdma.remote_addr = shared->va[which] +
						 rnd() % PAGES * 4096;
			if (ibv_post_send(s->qp[Q_UC], &wr, &bad))
				err(1, "post");
			out++;
		}
		n = ibv_poll_cq(s->cq, SENDS, wc);
		for (i = 0; i < n; i++, out--)
			if (wc[i].status)
				errx(1, "WRITE: %s",
				     ibv_wc_status_str(wc[i].status));
	}
	return true;
}
