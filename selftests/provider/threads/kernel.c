// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The core's environment of threads. Each QP has a CPU, a thread, that receives
 * its packets, does its deferred runs and calls its timer; work.lock, innermost,
 * guards the queues and the events. The device takes only part of a burst now and
 * then, and loses nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core.h"
#include "kernel.h"

#define N	2
#define STRIDE	128

struct packet {
	struct packet *next;
	u32 len;
	u8 data[];
};

struct cpu {
	pthread_t thread;
	pthread_cond_t more;
	struct packet *head;
	struct packet **tail;
	u64 timer;
	bool defer;
	bool busy;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct cpu cpu[N];
	u32 events[N];
	bool stop;
} work = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
};

static struct xroce_dev dev;
static struct xroce_qp qps[N];
static struct xroce_rq rqs[N];
static struct xroce_cq cqs[N];
static struct xroce_rwqe rwqes[N];
static u32 doorbells;

static void bug(const char *what)
{
	fprintf(stderr, "# %s\n", what);
	abort();
}

static int index_of(const struct xroce_qp *qp)
{
	return qp - qps;
}

u64 xroce_env_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

void xroce_env_timer(struct xroce_qp *qp, u64 when)
{
	struct cpu *cpu = &work.cpu[index_of(qp)];

	pthread_mutex_lock(&work.lock);
	if (!cpu->timer || when < cpu->timer) {
		cpu->timer = when;
		pthread_cond_signal(&cpu->more);
	}
	pthread_mutex_unlock(&work.lock);
}

struct xroce_frame *xroce_env_frame(struct xroce_qp *qp, u32 len)
{
	struct xroce_frame *f = calloc(1, sizeof(*f) + len);

	f->len = len;
	f->seg[0].p = (u8 *)(f + 1);
	f->seg[0].len = len;
	return f;
}

void xroce_env_frame_free(struct xroce_frame *f)
{
	free(f);
}

u32 xroce_env_xmit(struct xroce_qp *qp, struct xroce_frame **f, u32 n)
{
	static __thread u32 seed;
	struct cpu *cpu = &work.cpu[!index_of(qp)];
	struct packet *p;
	u32 i;

	seed = seed * 1664525 + 1013904223;
	if (seed >> 29 == 0)
		n = (seed >> 24 & 0xf) % (n + 1);
	for (i = 0; i < n; i++) {
		p = malloc(sizeof(*p) + f[i]->len);
		p->next = NULL;
		p->len = f[i]->len;
		memcpy(p->data, f[i]->seg[0].p, p->len);
		pthread_mutex_lock(&work.lock);
		*cpu->tail = p;
		cpu->tail = &p->next;
		pthread_cond_signal(&cpu->more);
		pthread_mutex_unlock(&work.lock);
		free(f[i]);
	}
	return n;
}

bool xroce_env_defer(struct xroce_qp *qp, int at)
{
	struct cpu *cpu = &work.cpu[index_of(qp)];

	if (at >= 0)
		bug("a run elsewhere");
	pthread_mutex_lock(&work.lock);
	cpu->defer = true;
	pthread_cond_signal(&cpu->more);
	pthread_mutex_unlock(&work.lock);
	return true;
}

bool xroce_env_rings(const struct xroce_qp *qp)
{
	(void)qp;
	return false;
}

void xroce_env_cq_event(struct xroce_cq *cq)
{
	pthread_mutex_lock(&work.lock);
	work.events[cq - cqs]++;
	pthread_cond_broadcast(&work.changed);
	pthread_mutex_unlock(&work.lock);
}

void xroce_env_cq_error(struct xroce_cq *cq)
{
	bug("a CQ overflowed");
}

void xroce_env_qp_event(struct xroce_qp *qp, enum xroce_event event)
{
}

void xroce_env_srq_limit(struct xroce_rq *rq)
{
}

void xroce_env_count(struct xroce_dev *d, enum xroce_counter c, u32 n)
{
}

u64 xroce_env_total(const struct xroce_dev *d, enum xroce_counter c)
{
	return 0;
}

struct xroce_qp *xroce_env_qp(struct xroce_dev *d, u32 qpn)
{
	return qpn - KERNEL_QPN < N ? &qps[qpn - KERNEL_QPN] : NULL;
}

/* The only one: of a region that is registered by work requests */
static struct xroce_mr region = { .kind = XROCE_MR_FAST, .key = 0x1200 };

struct xroce_mr *xroce_env_mr(struct xroce_dev *d, u32 key)
{
	return key == region.key ? &region : NULL;
}

void kernel_region(void)
{
	smp_store_release(&region.state, XROCE_KEY_VALID);
}

bool kernel_invalidate(int i)
{
	return xroce_key_invalidate(&qps[i], region.pd, region.key, false);
}

const struct xroce_ah *xroce_env_ah(struct xroce_dev *dev, u32 ah)
{
	(void)dev;
	(void)ah;
	return NULL;
}

void xroce_env_srq_put(struct xroce_rq *rq)
{
}

struct xroce_rq *xroce_env_srq(struct xroce_dev *dev, u32 srqn)
{
	(void)dev;
	(void)srqn;
	return NULL;
}

bool xroce_env_local(struct xroce_rx *rx)
{
	(void)rx;
	return true;
}

bool xroce_env_neigh(struct xroce_rx *rx)
{
	(void)rx;
	return true;
}

u32 xroce_env_group(struct xroce_rx *rx)
{
	(void)rx;
	return 0;
}

u32 xroce_env_crc(u32 crc, const void *p, u32 len)
{
	static const u32 table[16] = {
		0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
		0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
		0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
		0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
	};
	const u8 *b = p;

	for (; len; len--) {
		crc ^= *b++;
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return crc;
}

static const u8 *bth_of(const struct xroce_rx *rx)
{
	return rx->l3 + 28;
}

u32 xroce_env_rx_crc(struct xroce_rx *rx, u32 crc, u32 off, u32 len)
{
	return xroce_env_crc(crc, bth_of(rx) + off, len);
}

void xroce_env_read(struct xroce_rx *rx, u32 off, void *dst, u32 len)
{
	memcpy(dst, bth_of(rx) + off, len);
}

static void receive(struct packet *p)
{
	struct xroce_rx rx = {
		.dev = &dev,
		.l3 = p->data,
		.len = p->len - 28,
	};

	xroce_rx(&rx);
	free(p);
}

/* Until there is more to do, or time for the timer */
static void cpu_wait(struct cpu *cpu)
{
	struct timespec t = {
		.tv_sec = cpu->timer / 1000000000,
		.tv_nsec = cpu->timer % 1000000000,
	};

	if (cpu->timer)
		pthread_cond_timedwait(&cpu->more, &work.lock, &t);
	else
		pthread_cond_wait(&cpu->more, &work.lock);
}

static void *cpu_loop(void *arg)
{
	struct cpu *cpu = arg;
	struct packet *p;
	bool run, timer;

	pthread_mutex_lock(&work.lock);
	for (;;) {
		p = cpu->head;
		if (p) {
			cpu->head = p->next;
			if (!p->next)
				cpu->tail = &cpu->head;
		}
		run = cpu->defer;
		cpu->defer = false;
		timer = cpu->timer && xroce_env_now() >= cpu->timer;
		if (timer)
			cpu->timer = 0;
		cpu->busy = p || run || timer;
		if (!cpu->busy) {
			pthread_cond_broadcast(&work.changed);
			if (work.stop)
				break;
			cpu_wait(cpu);
			continue;
		}
		pthread_mutex_unlock(&work.lock);
		if (p)
			receive(p);
		if (timer)
			xroce_qp_timer(&qps[cpu - work.cpu]);
		if (run)
			xroce_qp_run(&qps[cpu - work.cpu]);
		pthread_mutex_lock(&work.lock);
	}
	pthread_mutex_unlock(&work.lock);
	return NULL;
}

void kernel_start(void)
{
	pthread_condattr_t attr;
	int i;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	for (i = 0; i < N; i++) {
		pthread_cond_init(&work.cpu[i].more, &attr);
		work.cpu[i].tail = &work.cpu[i].head;
	}
	for (i = 0; i < N; i++)
		pthread_create(&work.cpu[i].thread, NULL, cpu_loop,
			       &work.cpu[i]);
}

void kernel_stop(void)
{
	int i;

	pthread_mutex_lock(&work.lock);
	work.stop = true;
	for (i = 0; i < N; i++)
		pthread_cond_signal(&work.cpu[i].more);
	pthread_mutex_unlock(&work.lock);
	for (i = 0; i < N; i++) {
		pthread_join(work.cpu[i].thread, NULL);
		free(qps[i].req.wqe);
		free(qps[i].req.swq);
	}
}

void kernel_idle(void)
{
	bool busy = true;
	int i;

	pthread_mutex_lock(&work.lock);
	while (busy) {
		for (busy = false, i = 0; i < N; i++)
			busy |= work.cpu[i].busy || work.cpu[i].defer ||
				work.cpu[i].head;
		if (busy)
			pthread_cond_wait(&work.changed, &work.lock);
	}
	pthread_mutex_unlock(&work.lock);
}

static struct xroce_ring_info make_ring(u32 depth, u32 stride)
{
	u32 size = XROCE_RING_HDR + depth * stride;
	void *ring = aligned_alloc(64, size);

	memset(ring, 0, size);
	return (struct xroce_ring_info) {
		.offset = (uintptr_t)ring,
		.size = size,
		.depth = depth,
		.stride = stride,
	};
}

struct xroce_ring_info kernel_cq(int i)
{
	struct xroce_ring_info info;

	info = make_ring(KERNEL_CQ_DEPTH, sizeof(struct xroce_cqe));
	xroce_cq_init(&cqs[i], &dev, (void *)(uintptr_t)info.offset,
		      info.depth);
	return info;
}

void kernel_qp(int i, uint64_t handle, struct xroce_ring_info *sq, struct xroce_ring_info *rq)
{
	struct xroce_qp *qp = &qps[i];

	*sq = make_ring(KERNEL_DEPTH, STRIDE);
	*rq = make_ring(KERNEL_DEPTH, STRIDE);
	xroce_rq_init(&rqs[i], (void *)(uintptr_t)rq->offset, rq->depth,
		      STRIDE, 1);
	qp->dev = &dev;
	qp->pd = &dev;
	qp->user_handle = handle;
	qp->scq = &cqs[i];
	qp->rcq = &cqs[i];
	qp->rq = &rqs[i];
	qp->hot.qpn = KERNEL_QPN + i;
	qp->hot.transport = XROCE_RC;
	qp->hot.mtu_shift = 8;
	qp->resp.wqe = &rwqes[i];
	qp->req.ring = (void *)(uintptr_t)sq->offset;
	qp->req.depth = sq->depth;
	qp->req.stride = STRIDE;
	qp->req.max_sge = 1;
	qp->req.max_inline = 16;
	qp->req.wqe = calloc(sq->depth, STRIDE);
	qp->req.swq = calloc(sq->depth, sizeof(*qp->req.swq));
	xroce_qp_init(qp);
}

void kernel_window(uint32_t n)
{
	dev.cwnd_init = n;
	dev.cwnd_max = n;
}

static void modify(int i, struct xroce_attr *attr, u32 mask)
{
	if (xroce_qp_modify(&qps[i], attr, mask | XROCE_ATTR_STATE))
		bug("a modify was refused");
}

void kernel_modify(int i, enum kernel_state state)
{
	u8 gid[N][16] = {
		{ [10] = 0xff, 0xff, 198, 18, 1, 1 },
		{ [10] = 0xff, 0xff, 198, 18, 1, 2 },
	};
	struct xroce_attr attr = {
		.pkey = 0xffff,
		.path_mtu = 256,
		.dest_qpn = KERNEL_QPN + !i,
		.rq_psn = 0xfffff0 + !i,
		.sq_psn = 0xfffff0 + i,
		.min_rnr_timer = 1,
	};

	if (state != KERNEL_RTS) {
		attr.state = state == KERNEL_ERR ? XROCE_QPS_ERR :
						   XROCE_QPS_RESET;
		modify(i, &attr, 0);
		return;
	}
	xroce_av_set(&attr.av, gid[i], gid[!i], 0, 64, 0, 49152);
	attr.state = XROCE_QPS_INIT;
	modify(i, &attr, XROCE_ATTR_PKEY | XROCE_ATTR_ACCESS);
	attr.state = XROCE_QPS_RTR;
	modify(i, &attr, XROCE_ATTR_AV | XROCE_ATTR_PATH_MTU |
	       XROCE_ATTR_DEST_QPN | XROCE_ATTR_RQ_PSN |
	       XROCE_ATTR_MIN_RNR_TIMER);
	attr.state = XROCE_QPS_RTS;
	modify(i, &attr, XROCE_ATTR_TIMEOUT | XROCE_ATTR_RETRY_CNT |
	       XROCE_ATTR_RNR_RETRY | XROCE_ATTR_SQ_PSN);
}

void kernel_doorbell(int i)
{
	__atomic_fetch_add(&doorbells, 1, __ATOMIC_RELAXED);
	xroce_qp_run(&qps[i]);
}

uint32_t kernel_doorbells(void)
{
	return READ_ONCE(doorbells);
}

void kernel_notify(int i)
{
	struct xroce_cq *cq = &cqs[i];
	unsigned long flags;
	bool event;

	spin_lock_irqsave(&cq->lock, flags);
	event = xroce_cq_missed(cq, READ_ONCE(cq->ring->cons));
	spin_unlock_irqrestore(&cq->lock, flags);
	if (event)
		xroce_env_cq_event(cq);
}

bool kernel_event(int i, int seconds)
{
	struct timespec end;
	bool ok = true;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += seconds;
	pthread_mutex_lock(&work.lock);
	while (!work.events[i] && ok)
		ok = !pthread_cond_timedwait(&work.changed, &work.lock, &end);
	ok = work.events[i];
	work.events[i] = 0;
	pthread_mutex_unlock(&work.lock);
	return ok;
}
