// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of what the verbs accept and refuse, and of what a query says then:
 * creation and transitions of QPs, CQs, memory regions, mapped rings.
 *
 *   attr DEVICE [few]	few: not as many objects as there may be
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <arm.h>
#include <rdma/xroce-abi.h>
#include <tap.h>

#include "device.h"
#include "driver.h"
#include "resize.h"

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static char *arena;
#define ARENA (4 << 20)

static const char *name(int err)
{
	return err ? strerrorname_np(err) : "success";
}

static void expect(const char *what, int got, int want)
{
	tap_ok(got == want, "%s: %s", what, name(want));
	if (got != want)
		tap_note("was: %s", name(got));
}

/* Create and destroy. Return: errno. */
static int qp_errno(struct ibv_qp_init_attr init)
{
	struct ibv_qp *qp;

	init.send_cq = init.recv_cq = cq;
	qp = ibv_create_qp(pd, &init);
	return qp ? ibv_destroy_qp(qp) : errno;
}

static void qp_creation(void)
{
#define RC(...) (struct ibv_qp_init_attr){ .qp_type = IBV_QPT_RC,	\
					   .cap = { __VA_ARGS__ } }
	struct ibv_device_attr dev;
	struct ibv_qp_init_attr init = RC(3, 5, 2, 7, 100);
	struct ibv_qp_attr attr;
	struct ibv_qp *qp;

	ibv_query_device(ctx, &dev);
	expect("RC, no send or receive", qp_errno(RC(0, 0, 0, 0, 0)), 0);
	/* one at a time: all at once is more memory than there may be */
	expect("RC, the most send WRs", qp_errno(RC(dev.max_qp_wr, 1, 1, 1, 0)),
	       0);
	expect("RC, the most receive WRs",
	       qp_errno(RC(1, dev.max_qp_wr, 1, 1, 0)), 0);
	expect("RC, the most of a WR",
	       qp_errno(RC(1, 1, dev.max_sge, dev.max_sge, 1024)), 0);
	expect("RC, send WRs past the limit",
	       qp_errno(RC(dev.max_qp_wr + 1, 1, 1, 1, 0)), EINVAL);
	expect("RC, receive WRs past the limit",
	       qp_errno(RC(1, dev.max_qp_wr + 1, 1, 1, 0)), EINVAL);
	expect("RC, 2^31 send WRs", qp_errno(RC(1u << 31, 1, 1, 1, 0)), EINVAL);
	expect("RC, send SGEs past the limit",
	       qp_errno(RC(1, 1, dev.max_sge + 1, 1, 0)), EINVAL);
	expect("RC, receive SGEs past the limit",
	       qp_errno(RC(1, 1, 1, dev.max_sge + 1, 0)), EINVAL);
	expect("RC, 2^31 SGEs", qp_errno(RC(1, 1, 1u << 31, 1, 0)), EINVAL);
	expect("RC, inline past the limit", qp_errno(RC(1, 1, 1, 1, 1025)),
	       EINVAL);

	init.send_cq = init.recv_cq = cq;
	qp = ibv_create_qp(pd, &init);
	tap_ok(qp && init.cap.max_send_wr >= 3 && init.cap.max_recv_wr >= 5 &&
	       init.cap.max_send_sge >= 2 && init.cap.max_recv_sge >= 7 &&
	       init.cap.max_inline_data >= 100,
	       "creation gives what was asked for");
	memset(&init, 0, sizeof(init));
	if (!qp || ibv_query_qp(qp, &attr, IBV_QP_CAP, &init))
		errx(1, "cannot query a QP");
	tap_ok(init.cap.max_recv_sge >= 7 && attr.qp_state == IBV_QPS_RESET,
	       "and a query the same");
	ibv_destroy_qp(qp);

	init = RC(1, 1, 1, 1, 1024);
	init.send_cq = init.recv_cq = cq;
	qp = ibv_create_qp(pd, &init);
	expect("RC, the most inline", qp ? ibv_destroy_qp(qp) : errno, 0);
	expect("and what was given for it", qp_errno(init), 0);
}

static int mtu_of_port(void)
{
	struct ibv_port_attr port;

	if (ibv_query_port(ctx, 1, &port))
		errx(1, "cannot query the port");
	return port.active_mtu;
}

/* INIT to RTR with one attribute spoilt; on success back to INIT. */
#define RTR_WITH(field, value, want) do {				\
	struct ibv_qp_attr _a = rtr_attr(ctx, qp->qp_num);		\
									\
	_a.field = (value);						\
	expect("RTR, " #field " = " #value,				\
	       ibv_modify_qp(qp, &_a, RTR_MASK), want);			\
	if (!(want))							\
		back_to_init(qp);					\
} while (0)

#define RTS_WITH(field, value, want) do {				\
	struct ibv_qp_attr _a = rts_attr();				\
									\
	_a.field = (value);						\
	expect("RTS, " #field " = " #value,				\
	       ibv_modify_qp(qp, &_a, RTS_MASK), want);			\
} while (0)

static void back_to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE) || to_init(qp))
		errx(1, "cannot reset a QP");
}

static void qp_transitions(void)
{
	const union ibv_gid link_local = { .raw = { 0xfe, 0x80, [15] = 1 } };
	struct ibv_qp_attr rtr, rts = rts_attr(), attr = {};
	struct ibv_qp *qp = new_qp(pd, cq, 16, 2);
	struct ibv_qp_init_attr init;
	int mtu = mtu_of_port();

	if (!qp)
		errx(1, "cannot create a QP");
	expect("RESET to RTS", ibv_modify_qp(qp, &rts, RTS_MASK), EINVAL);
	attr.qp_state = IBV_QPS_INIT;
	attr.port_num = 2;
	expect("INIT, port 2",
	       ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT |
			     IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS), EINVAL);
	attr.port_num = 1;
	attr.pkey_index = 1;
	expect("INIT, P_Key index 1",
	       ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT |
			     IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS), EINVAL);
	expect("INIT", to_init(qp), 0);

	RTR_WITH(path_mtu, mtu, 0);
	if (mtu < IBV_MTU_4096)
		RTR_WITH(path_mtu, mtu + 1, EINVAL);
	RTR_WITH(path_mtu, 0, EINVAL);
	RTR_WITH(path_mtu, 6, EINVAL);
	RTR_WITH(max_dest_rd_atomic, 0, 0);
	RTR_WITH(max_dest_rd_atomic, 128, 0);
	RTR_WITH(max_dest_rd_atomic, 129, EINVAL);
	RTR_WITH(min_rnr_timer, 31, 0);
	RTR_WITH(min_rnr_timer, 32, EINVAL);
	RTR_WITH(dest_qp_num, 1 << 24, EINVAL);
	RTR_WITH(ah_attr.is_global, 0, EINVAL);
	RTR_WITH(ah_attr.port_num, 2, EINVAL);
	RTR_WITH(ah_attr.grh.sgid_index, 200, ENODATA);
	/* An IPv4 address does not reach an IPv6 one. */
	RTR_WITH(ah_attr.grh.dgid, link_local, EINVAL);
	rtr = rtr_attr(ctx, 0x123456);
	expect("RTR", ibv_modify_qp(qp, &rtr, RTR_MASK), 0);

	RTS_WITH(max_rd_atomic, 129, EINVAL);
	RTS_WITH(timeout, 32, EINVAL);
	RTS_WITH(retry_cnt, 8, EINVAL);
	RTS_WITH(rnr_retry, 8, EINVAL);
	expect("RTS", ibv_modify_qp(qp, &rts, RTS_MASK), 0);

	if (ibv_query_qp(qp, &attr, RTR_MASK | RTS_MASK | IBV_QP_ACCESS_FLAGS |
			 IBV_QP_PORT, &init))
		errx(1, "cannot query a QP");
	tap_ok(attr.qp_state == IBV_QPS_RTS && attr.path_mtu == IBV_MTU_1024 &&
	       attr.dest_qp_num == 0x123456 && attr.rq_psn == 0xfffff0 &&
	       attr.sq_psn == 0xfffff0 && attr.max_dest_rd_atomic == 4 &&
	       attr.max_rd_atomic == 4 && attr.min_rnr_timer == 1 &&
	       attr.timeout == 10 && attr.retry_cnt == 3 &&
	       attr.rnr_retry == 2 && attr.qp_access_flags == ALL_ACCESS &&
	       attr.port_num == 1, "a query says what was set");
	tap_ok(attr.ah_attr.is_global && attr.ah_attr.grh.traffic_class == 0x20 &&
	       !memcmp(&attr.ah_attr.grh.dgid, &rtr.ah_attr.grh.dgid, 16),
	       "and the path");
	expect("RTS again", ibv_modify_qp(qp, &rts, RTS_MASK), EINVAL);
	attr.cur_qp_state = IBV_QPS_RTR;
	attr.qp_state = IBV_QPS_RTS;
	expect("RTS to RTS, said to be in RTR",
	       ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE),
	       EINVAL);
	expect("destroy in RTS", ibv_destroy_qp(qp), 0);
}

/* From a provider that knows less than the module, or more. */
static void driver_data(void)
{
	struct ibv_qp *qp = new_qp(pd, cq, 1, 1);

	if (!qp)
		errx(1, "cannot create a QP");
	expect("a context, by no driver data", driver_context(ctx, 0, 0), 0);
	expect("by half of it", driver_context(ctx, 4, 0), EINVAL);
	expect("by all, something in what is reserved", driver_context(ctx, 8, 1), EINVAL);
	expect("by all", driver_context(ctx, 8, 0), 0);
	expect("by more, all 0", driver_context(ctx, 24, 0), 0);
	expect("by more, not all 0", driver_context(ctx, 24, 1), EOPNOTSUPP);
	expect("INIT, by half of its driver data", driver_init(qp, 4, 0), EINVAL);
	expect("something in what is reserved", driver_init(qp, 8, 1), EINVAL);
	expect("by more, not all 0", driver_init(qp, 24, 1), EOPNOTSUPP);
	expect("by more, all 0", driver_init(qp, 24, 0), 0);
	expect("by none", driver_init(qp, 0, 0), 0);
	expect("a QP, by no driver data", driver_create(pd, cq, 0, 0), 0);
	expect("by half of it", driver_create(pd, cq, 4, 0), EINVAL);
	expect("by all, whatever is in it", driver_create(pd, cq, 8, 1), 0);
	expect("by more, all 0", driver_create(pd, cq, 24, 0), 0);
	expect("by more, not all 0", driver_create(pd, cq, 24, 1), EOPNOTSUPP);
	expect("a PD, by some", driver_none(pd, IB_USER_VERBS_CMD_ALLOC_PD), EOPNOTSUPP);
	expect("a CQ", driver_none(pd, IB_USER_VERBS_CMD_CREATE_CQ), EOPNOTSUPP);
	expect("an SRQ", driver_none(pd, IB_USER_VERBS_CMD_CREATE_SRQ), EOPNOTSUPP);
	expect("a region", driver_none(pd, IB_USER_VERBS_CMD_REG_MR), EOPNOTSUPP);
	expect("a window", driver_none(pd, IB_USER_VERBS_CMD_ALLOC_MW), EOPNOTSUPP);
	ibv_destroy_qp(qp);
}

static int mr_errno(void *addr, size_t len, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, addr, len, access);

	return mr ? ibv_dereg_mr(mr) : errno;
}

static void regions(void)
{
	char *ro = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *hole = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	struct ibv_mr *a, *b;

	expect("MR of one byte", mr_errno(arena + 5, 1, ALL_ACCESS), 0);
	expect("MR of no bytes", mr_errno(arena + 5, 0, ALL_ACCESS), 0);
	expect("MR of 4 MiB at an odd address",
	       mr_errno(arena + 1, ARENA - 1, ALL_ACCESS), 0);
	expect("MR of memory that is not there", mr_errno(hole, 8192, 0), EFAULT);
	expect("MR to write to memory that may not be written",
	       mr_errno(ro, 8192, IBV_ACCESS_LOCAL_WRITE), EFAULT);
	expect("MR past the end of addresses",
	       mr_errno((void *)-8192, 16384, 0), EINVAL);
	expect("MR of 2^63 bytes", mr_errno(arena, 1ull << 63, 0), EINVAL);
	expect("MR, remote write without local",
	       mr_errno(arena, 1, IBV_ACCESS_REMOTE_WRITE), EINVAL);
	expect("MR, remote atomics without local write",
	       mr_errno(arena, 1, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC), EINVAL);
	expect("MR, a right that there is none of", mr_errno(arena, 1, 1 << 10), EINVAL);
	expect("MR, relaxed ordering",
	       mr_errno(arena, 1, IBV_ACCESS_RELAXED_ORDERING), 0);
	expect("MR, on demand", mr_errno(arena, 1, IBV_ACCESS_ON_DEMAND),
	       EOPNOTSUPP);
	expect("MR, zero based", mr_errno(arena + 5, 1, IBV_ACCESS_ZERO_BASED), 0);
	expect("MR, for windows", mr_errno(arena, 1, IBV_ACCESS_MW_BIND), 0);
	a = ibv_reg_mr_iova(pd, arena, 65536, -65536ull, ALL_ACCESS);
	tap_ok(a, "MR that ends with the last address");
	if (a)
		ibv_dereg_mr(a);
	a = ibv_reg_mr_iova(pd, arena, 131072, -65536ull, ALL_ACCESS);
	tap_ok(!a && errno == EINVAL, "MR that wraps round: EINVAL");
	a = ibv_reg_mr(pd, arena, 1, 0);
	b = ibv_reg_mr(pd, arena, 1, 0);
	tap_ok(a && b && (a->lkey ^ b->lkey) & ~0x3ffu,
	       "keys are not numbered one after the other");
	ibv_dereg_mr(a);
	ibv_dereg_mr(b);
	munmap(ro, 8192);
	munmap(hole, 8192);
}

static int cq_errno(int cqe)
{
	struct ibv_cq *q = ibv_create_cq(ctx, cqe, NULL, NULL, 0);

	if (!q)
		return errno;
	if (q->cqe < cqe)
		tap_note("asked for %d entries, got %d", cqe, q->cqe);
	return q->cqe < cqe ? ERANGE : ibv_destroy_cq(q);
}

static void queues(void)
{
	struct ibv_device_attr dev;
	struct ibv_qp *qp;

	ibv_query_device(ctx, &dev);
	expect("CQ of 1", cq_errno(1), 0);
	expect("CQ of 1000", cq_errno(1000), 0);
	expect("CQ of too many", cq_errno(dev.max_cqe + 1), EINVAL);
	qp = new_qp(pd, cq, 1, 1);
	expect("destroy a CQ with a QP", ibv_destroy_cq(cq), EBUSY);
	expect("deallocate a PD with a QP", ibv_dealloc_pd(pd), EBUSY);
	ibv_destroy_qp(qp);
}

/*
 * Another process makes as many of something as it gets, @most at most, and
 * keeps them until @hold[1] is closed everywhere. Return: how many.
 */
static int take(const char *dev, bool cqs, int most, int hold[2], int *why)
{
	struct { int n, why; } got = {};
	struct ibv_context *c;
	int report[2];
	void *one;

	if (pipe(report))
		err(1, "pipe");
	if (!fork()) {
		close(hold[1]);
		c = open_device(dev);
		for (; got.n < most; got.n++) {
			one = cqs ? (void *)ibv_create_cq(c, 1, NULL, NULL, 0) :
				    (void *)ibv_alloc_pd(c);
			if (!one)
				break;
		}
		got.why = got.n < most ? errno : 0;
		if (write(report[1], &got, sizeof(got)) != sizeof(got))
			_exit(1);
		_exit(read(hold[0], &got, 1) ? 1 : 0);
	}
	close(report[1]);
	if (read(report[0], &got, sizeof(got)) != sizeof(got))
		errx(1, "a child found no answer");
	close(report[0]);
	*why = got.why;
	return got.n;
}

/* One process does not get all CQs: it may have 65530 mappings, nor do many. */
#define MANY_CQS	60000

static void limit(const char *dev, const char *what, bool cqs, int max)
{
	int most = cqs && max > MANY_CQS ? MANY_CQS : max;
	int hold[2], why, n, half = most / 2;

	if (pipe(hold))
		err(1, "pipe");
	n = take(dev, cqs, half, hold, &why);
	tap_ok(n == half, "half of all %ss: %d, %s", what, n, strerror(why));
	n = take(dev, cqs, most < max ? half : max, hold, &why);
	/* One is this process's, another is the kernel's for QP 1 */
	if (most < max)
		tap_ok(n == half, "%d %ss: %d, %s", most, what, n + half,
		       strerror(why));
	else
		tap_ok(n == max - half - 2 && why == ENOMEM,
		       "all %d %ss and no more: %d, %s", max, what,
		       n + half + 2, strerror(why));
	close(hold[1]);
	while (wait(NULL) > 0)
		;
	close(hold[0]);
	if (pipe(hold))
		err(1, "pipe");
	n = take(dev, cqs, 100, hold, &why);
	tap_ok(n == 100, "given back: %d %ss", n, what);
	close(hold[1]);
	while (wait(NULL) > 0)
		;
	close(hold[0]);
}

static void limits(const char *dev)
{
	struct ibv_device_attr attr;

	ibv_query_device(ctx, &attr);
	limit(dev, "PD", false, attr.max_pd);
	limit(dev, "CQ", true, attr.max_cq);
}

/* Where a new CQ's ring is mapped in this process. */
struct map {
	void *addr;
	size_t len;
	off_t offset;
};

/* The one mapped last, of so much: before it there may be others in one mapping. */
static struct map last_ring(uint32_t depth, uint32_t stride)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	size_t len = (sizeof(struct xroce_ring) + (size_t)depth * stride + page - 1) & -page;
	unsigned long from, to, offset;
	struct map map = {};
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && fgets(line, sizeof(line), f)) {
		if (!strstr(line, "uverbs") ||
		    sscanf(line, "%lx-%lx %*s %lx", &from, &to, &offset) != 3)
			continue;
		if (!map.addr || (off_t)offset > map.offset)
			map = (struct map) { (void *)from, to - from, offset };
	}
	if (f)
		fclose(f);
	if (!map.addr || map.len < len)
		errx(1, "no such ring is mapped");
	return (struct map) { (char *)map.addr + map.len - len, len, map.offset + map.len - len };
}

static int map_errno(size_t len, int prot, int flags, off_t offset)
{
	void *p = mmap(NULL, len, prot, flags, ctx->cmd_fd, offset);

	return p == MAP_FAILED ? errno : munmap(p, len);
}

static void mappings(void)
{
	const int rw = PROT_READ | PROT_WRITE;
	struct ibv_cq *q = ibv_create_cq(ctx, 500, NULL, NULL, 0);
	const size_t page = sysconf(_SC_PAGESIZE);
	struct map ring = last_ring(q->cqe, sizeof(struct xroce_cqe));
	volatile uint32_t *word, *moved;
	int status;

	expect("a ring mapped again",
	       map_errno(ring.len, rw, MAP_SHARED, ring.offset), 0);
	expect("in part",
	       map_errno(page, rw, MAP_SHARED, ring.offset), EINVAL);
	expect("from its middle",
	       map_errno(ring.len - page, rw, MAP_SHARED,
			 ring.offset + page), EINVAL);
	expect("longer than it is",
	       map_errno(ring.len + page, rw, MAP_SHARED, ring.offset),
	       EINVAL);
	expect("privately",
	       map_errno(ring.len, rw, MAP_PRIVATE, ring.offset), EINVAL);
	expect("to execute",
	       map_errno(ring.len, rw | PROT_EXEC, MAP_SHARED,
			 ring.offset), EPERM);
	expect("what there is none of",
	       map_errno(page, rw, MAP_SHARED, 1ll << 40), EINVAL);

	word = mmap(NULL, ring.len, rw, MAP_SHARED, ctx->cmd_fd, ring.offset);
	if (word == MAP_FAILED)
		err(1, "mmap");
	expect("mprotect to execute",
	       mprotect((void *)word, ring.len, rw | PROT_EXEC) ? errno : 0,
	       EACCES);
	tap_ok(mremap((void *)word, ring.len, ring.len + page,
		      MREMAP_MAYMOVE) == MAP_FAILED, "mremap does not grow it");
	moved = mremap((void *)word, ring.len, ring.len,
		       MREMAP_MAYMOVE | MREMAP_FIXED,
		       mmap(NULL, ring.len, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	tap_ok(moved != MAP_FAILED, "mremap moves it");
	ibv_destroy_cq(q);
	moved[17] = 4711;
	if (!fork())
		_exit(moved[17] == 4711 ? 0 : 1);
	wait(&status);
	tap_ok(!status && moved[17] == 4711,
	       "it outlives its queue, here and in a child");
	expect("mapping it after that",
	       map_errno(ring.len, rw, MAP_SHARED, ring.offset), EINVAL);
	munmap((char *)moved + page, ring.len - page);
	tap_ok(moved[17] == 4711, "its first page is left by munmap of the rest");
	munmap((void *)moved, page);
}

/* Room for a ring whose place is not libibverbs's to know. */
static struct xroce_ring *place(void)
{
	void *p = mmap(NULL, ARENA, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		err(1, "mmap");
	return p;
}

/* What has been completed is from the user's index to the kernel's: here to 0. */
static void resize_cqs(void)
{
	struct ibv_cq *q = ibv_create_cq(ctx, 64, NULL, NULL, 0);
	struct xroce_ring *ring = last_ring(64, sizeof(struct xroce_cqe)).addr, *to = place();
	uint64_t one;
	uint32_t i;

	expect("a CQ of another size, 2^31 + 1", resize_cq(q, (1u << 31) + 1, to, NULL), EINVAL);
	expect("2^32 - 1", resize_cq(q, -1, to, NULL), EINVAL);
	expect("polled past what there is",
	       (ring->cons = 1, resize_cq(q, 128, to, NULL)), EINVAL);
	expect("far past it", (ring->cons = 1u << 31, resize_cq(q, 128, to, NULL)), EINVAL);
	expect("with more than it has slots",
	       (ring->cons = -65, resize_cq(q, 128, to, NULL)), EINVAL);
	expect("than it will have", (ring->cons = -64, resize_cq(q, 32, to, NULL)), EINVAL);
	for (i = 0; i < 64; i++)
		memcpy(ring->slot + i * sizeof(struct xroce_cqe), &(uint64_t){ 4711 + i }, 8);
	expect("as many", resize_cq(q, 128, to, NULL), 0);
	for (i = 0; i < 64; i++) {
		memcpy(&one, to->slot + (64 + i) * sizeof(struct xroce_cqe), 8);
		if (one != 4711 + i)
			break;
	}
	tap_ok(i == 64 && !to->prod && to->cons == -64u, "which are in it, and the indices");
	expect("none of which the kernel knows any more",
	       (to->cons = 0, resize_cq(q, 1, to, NULL)), 0);
	munmap(to, ARENA);
	expect("that is destroyed", ibv_destroy_cq(q), 0);
}

/* What has been posted is from the kernel's index, here 0, to the user's. */
static void resize_srqs(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 64, .max_sge = 2 } };
	struct ibv_srq *q = ibv_create_srq(pd, &init);
	struct xroce_ring *ring = last_ring(64, XROCE_SLOT_ALIGN).addr, *to = place();
	uint64_t one;
	uint32_t i;

	expect("an SRQ of another size, with more than it has slots",
	       (ring->prod = 65, resize_srq(q, 128, to, NULL)), EINVAL);
	expect("with far more", (ring->prod = -1, resize_srq(q, 128, to, NULL)), EINVAL);
	expect("than it will have", (ring->prod = 64, resize_srq(q, 32, to, NULL)), EINVAL);
	resize_srq_more = 1;
	expect("by driver data of more than is known", resize_srq(q, 128, to, NULL), EOPNOTSUPP);
	resize_srq_more = 0;
	for (i = 0; i < 64; i++)
		memcpy(ring->slot + i * XROCE_SLOT_ALIGN, &(uint64_t){ 4711 + i }, 8);
	/* Whatever the user says is the kernel's index */
	expect("as many", (ring->cons = 99, resize_srq(q, 128, to, NULL)), 0);
	for (i = 0; i < 64; i++) {
		memcpy(&one, to->slot + i * XROCE_SLOT_ALIGN, 8);
		if (one != 4711 + i)
			break;
	}
	tap_ok(i == 64 && to->prod == 64 && !to->cons, "which are in it, and the indices");
	expect("none of which is posted any more", (to->prod = 0, resize_srq(q, 1, to, NULL)),
	       0);
	munmap(to, ARENA);
	expect("that is destroyed", ibv_destroy_srq(q), 0);
}

/*
 * Two threads make and destroy what has rings; another, and a child with the same
 * file, map them meanwhile, write to them and unmap them, wherever rings have been.
 */
#define RACE_S		2
#define RACE_MAPPERS	2

/* So often, as no provider does, who sees that an event has told already */
#define ARMED	1000

static void arm_often(struct ibv_cq *c)
{
	int i;

	for (i = 0; i < ARMED; i++)
		if (arm_by_call(c, 0))
			err(1, "arming a CQ");
}

/* The events that have come, in @ms, and a moment after the last */
static int events_in(struct ibv_cq *c, int ms)
{
	struct pollfd pfd = { .fd = c->channel->fd, .events = POLLIN };
	struct ibv_cq *of;
	void *arg;
	int n = 0;

	while (poll(&pfd, 1, n ? 100 : ms) > 0) {
		if (ibv_get_cq_event(c->channel, &of, &arg))
			err(1, "an event");
		n++;
	}
	ibv_ack_cq_events(c, n);
	return n;
}

/* Where there is one it may take its time, as a guest's CPU does that stands still. */
static int events_of(struct ibv_cq *c)
{
	return events_in(c, 20000);
}

/* Unread ones lie in the kernel, where nobody is charged for them. */
static void events(void)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(ctx);
	struct ibv_cq *c = channel ? ibv_create_cq(ctx, 8, NULL, channel, 0) : NULL;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_qp *qp = c ? new_qp(pd, c, 4, 1) : NULL;
	struct ibv_recv_wr *bad, wr = {};
	struct ibv_wc wc;
	int i;

	if (!qp || to_init(qp) || ibv_modify_qp(qp, &attr, IBV_QP_STATE))
		err(1, "a QP in error");
	for (i = 0; i < 3; i++)
		if (ibv_post_recv(qp, &wr, &bad))
			err(1, "a receive");
	arm_often(c);
	tap_ok(events_of(c) == 1, "three completions armed for %d times: an event", ARMED);
	while (i = ibv_poll_cq(c, 1, &wc), !i)
		;
	arm_often(c);
	tap_ok(i == 1 && events_of(c) == 1, "one of them polled: another");
	/* What came after an event asks for one more, and a poll that leaves some has it told */
	tap_ok(ibv_poll_cq(c, 1, &wc) == 1 && events_of(c) == 1, "the next: another");
	tap_ok(ibv_poll_cq(c, 1, &wc) == 1, "and the last");
	arm_often(c);
	tap_ok(!events_in(c, 1000), "nothing there: none");
	if (ibv_post_recv(qp, &wr, &bad))
		err(1, "a receive");
	tap_ok(events_of(c) == 1, "a new one: an event");
	expect("destroy its QP", ibv_destroy_qp(qp), 0);
	expect("destroy its CQ", ibv_destroy_cq(c), 0);
	expect("destroy its channel", ibv_destroy_comp_channel(channel), 0);
}

static struct race {
	struct map ring[32];
	int rings;
	struct {
		uint64_t mapped;
		uint64_t refused;
		uint64_t wrong;
	} by[RACE_MAPPERS];
	uint64_t made[2];
	int stop;
} *race;

static bool racing(void)
{
	return !__atomic_load_n(&race->stop, __ATOMIC_RELAXED);
}

static void *make_cqs(void *arg)
{
	struct ibv_cq *q;

	for (; racing(); race->made[0]++) {
		q = ibv_create_cq(ctx, 100, NULL, NULL, 0);
		if (!q || ibv_destroy_cq(q))
			err(1, "a CQ");
	}
	return arg;
}

static void *make_qps(void *arg)
{
	struct ibv_qp *qp;

	for (; racing(); race->made[1]++) {
		qp = new_qp(pd, cq, 64, 2);
		if (!qp || ibv_destroy_qp(qp))
			err(1, "a QP");
	}
	return arg;
}

static void map_one(int me, const struct map *ring)
{
	volatile uint32_t *p = mmap(NULL, ring->len, PROT_READ | PROT_WRITE,
				    MAP_SHARED, ctx->cmd_fd, ring->offset);
	size_t last = ring->len / 4 - RACE_MAPPERS + me;
	uint32_t n = race->by[me].mapped;

	if (p == MAP_FAILED) {
		race->by[me].refused++;
		race->by[me].wrong += errno != EINVAL;
		return;
	}
	/* Nobody else's word: behind the slots, in the last page */
	p[last] = n;
	sched_yield();
	race->by[me].wrong += p[last] != n;
	race->by[me].mapped++;
	munmap((void *)p, ring->len);
}

static void *map_any(void *arg)
{
	int me = arg ? 0 : 1, i;

	for (i = 0; racing(); i++)
		map_one(me, &race->ring[i % race->rings]);
	return NULL;
}

/*
 * Where rings are that are made in this order; the places are free again then. At 0
 * is that of the CQ of all tests here, which stays.
 */
static void race_rings(bool cq_first)
{
	struct ibv_cq *q = cq_first ? ibv_create_cq(ctx, 100, NULL, NULL, 0) : NULL;
	struct ibv_qp *qp = new_qp(pd, cq, 64, 2);
	unsigned long from, to, offset;
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");

	q = q ?: ibv_create_cq(ctx, 100, NULL, NULL, 0);
	if (!q || !qp || !f)
		err(1, "cannot begin a race");
	while (fgets(line, sizeof(line), f) && race->rings < 32)
		if (strstr(line, "uverbs") &&
		    sscanf(line, "%lx-%lx %*s %lx", &from, &to, &offset) == 3 && offset)
			race->ring[race->rings++] = (struct map) {
				.len = to - from, .offset = offset,
			};
	fclose(f);
	ibv_destroy_qp(qp);
	ibv_destroy_cq(q);
}

/* Everybody has come to something. */
static bool raced(void)
{
	bool all = race->made[0] > 10 && race->made[1] > 10;
	int i;

	for (i = 0; i < RACE_MAPPERS; i++)
		all = all && race->by[i].mapped >= 10 && race->by[i].refused >= 10;
	return all;
}

static void races(void)
{
	pthread_t thread[3];
	int status, i;
	pid_t pid;

	race = mmap(NULL, sizeof(*race), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (race == MAP_FAILED)
		err(1, "mmap");
	race_rings(true);
	race_rings(false);
	pid = fork();
	if (!pid) {
		map_any(NULL);
		_exit(0);
	}
	if (pid < 0 || pthread_create(&thread[0], NULL, make_cqs, NULL) ||
	    pthread_create(&thread[1], NULL, make_qps, NULL) ||
	    pthread_create(&thread[2], NULL, map_any, race))
		errx(1, "no thread");
	/* A slow machine takes longer. */
	for (i = 0; i < RACE_S || (i < 30 * RACE_S && !raced()); i++)
		sleep(1);
	__atomic_store_n(&race->stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	waitpid(pid, &status, 0);
	tap_note("%lu CQs, %lu QPs", race->made[0], race->made[1]);
	for (i = 0; i < RACE_MAPPERS; i++)
		tap_note("%lu mapped, %lu not there, %lu wrong", race->by[i].mapped,
			 race->by[i].refused, race->by[i].wrong);
	for (i = 0; i < RACE_MAPPERS; i++)
		status |= race->by[i].wrong != 0;
	tap_ok(!status && raced(), "rings mapped while they come and go");
}

int main(int argc, char **argv)
{
	if (argc != 2 && (argc != 3 || strcmp(argv[2], "few")))
		errx(2, "usage: attr DEVICE [few]");
	tap_start();
	ctx = open_device(argv[1]);
	pd = ibv_alloc_pd(ctx);
	cq = ibv_create_cq(ctx, 64, NULL, NULL, 0);
	arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!pd || !cq || arena == MAP_FAILED)
		err(1, "cannot begin");
	qp_creation();
	qp_transitions();
	driver_data();
	regions();
	queues();
	mappings();
	resize_cqs();
	resize_srqs();
	events();
	races();
	if (argc == 2)
		limits(argv[1]);
	expect("destroy the CQ", ibv_destroy_cq(cq), 0);
	expect("deallocate the PD", ibv_dealloc_pd(pd), 0);
	expect("close the device", ibv_close_device(ctx), 0);
	return tap_end();
}
