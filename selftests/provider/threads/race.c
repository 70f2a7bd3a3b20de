// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The provider and the real transport core on either side of the rings, each in
 * threads of its own, under TSan: nothing posted is forgotten, no event is lost,
 * a slot is free as soon as its completion is seen, and with it one of a CQ that is as
 * large as its queues, and the flush in ERR leaves nothing out and takes nothing twice,
 * whoever comes first.
 *
 * A loss shows as a wait that does not end; it is cut off after PATIENCE.
 */
#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <userlib/xroce.h>

#include "kernel.h"
#include <tap.h>

#define N		2
#define POSTERS		2	/* a QP */
#define PATIENCE	60	/* s; the machine may be slow and busy */
#define KIND_RECV	(1ull << 63)

static struct xroce_context xctx = { .bell = 1 };
#define ctx (xctx.vctx.context)
static struct xroce_pd pd = { .pd.context = &ctx };

/**
 * struct host - a QP, its CQ and its threads
 * @slots: free ones of its send queue
 * @room: receives posted at the other, and not yet spoken for
 * @next: per poster of the other, the number its next message has; its poller's
 * @posted: work requests, atomic
 * @done: of these
 */
static struct host {
	int i;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_qp_ex *qpx;
	sem_t slots;
	sem_t room;
	uint32_t next[POSTERS];
	uint32_t posted;
	uint32_t done;
	uint32_t flushed;
} hosts[N];

static uint32_t messages;	/* of each poster */
static bool stop;
static bool trouble;		/* somebody said why already */

static void __printf(1, 2) fail(const char *fmt, ...)
{
	va_list ap;

	if (__atomic_exchange_n(&trouble, true, __ATOMIC_SEQ_CST))
		return;
	va_start(ap, fmt);
	fputs("# ", stdout);
	vprintf(fmt, ap);
	putchar('\n');
	va_end(ap);
}

static bool failed(void)
{
	return __atomic_load_n(&trouble, __ATOMIC_RELAXED);
}

/* Stand-ins for uverbs */
void *fake_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	return (void *)(uintptr_t)off;
}

int fake_munmap(void *addr, size_t len)
{
	free(addr);
	return 0;
}

off_t fake_lseek(int fd, off_t off, int whence)
{
	kernel_doorbell(-1 - off - KERNEL_QPN);
	return -1 - off;
}

int ibv_cmd_create_cq_ex(struct ibv_context *c,
			 const struct ibv_cq_init_attr_ex *attr,
			 struct verbs_cq *cq, struct ibv_create_cq_ex *cmd,
			 size_t cmd_size,
			 struct ib_uverbs_ex_create_cq_resp *resp,
			 size_t resp_size, uint32_t flags)
{
	struct xroce_create_cq_resp *drv = (void *)(resp + 1);

	drv->ring = kernel_cq(attr->comp_vector);
	cq->cq.handle = attr->comp_vector;
	return 0;
}

int ibv_cmd_create_qp_ex2(struct ibv_context *c, struct verbs_qp *vqp,
			  struct ibv_qp_init_attr_ex *attr,
			  struct ibv_create_qp_ex *cmd, size_t cmd_size,
			  struct ib_uverbs_ex_create_qp_resp *resp,
			  size_t resp_size)
{
	const struct xroce_create_qp *req = (void *)(cmd + 1);
	struct xroce_create_qp_resp *drv = (void *)(resp + 1);
	struct host *h = attr->qp_context;

	kernel_qp(h->i, req->user_handle, &drv->sq, &drv->rq);
	vqp->qp.context = c;
	vqp->qp.handle = h->i;
	vqp->qp.qp_num = KERNEL_QPN + h->i;
	vqp->qp.send_cq = attr->send_cq;
	vqp->qp.recv_cq = attr->recv_cq;
	vqp->qp.qp_type = attr->qp_type;
	return 0;
}

int ibv_cmd_modify_qp_ex(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
			 struct ibv_modify_qp_ex *cmd, size_t cmd_size,
			 struct ib_uverbs_ex_modify_qp_resp *resp, size_t resp_size)
{
	kernel_modify(qp->handle, attr->qp_state == IBV_QPS_RESET ?
		      KERNEL_RESET : attr->qp_state == IBV_QPS_ERR ?
		      KERNEL_ERR : KERNEL_RTS);
	return 0;
}

int ibv_cmd_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	kernel_notify(cq->handle);
	return 0;
}

int ibv_cmd_destroy_qp(struct ibv_qp *qp)
{
	return 0;
}

int ibv_cmd_destroy_cq(struct ibv_cq *cq)
{
	return 0;
}

static void create(struct host *h, int i)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_context = h,
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_sge = 1, .max_recv_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = &pd.pd,
		.send_ops_flags = XROCE_RC_OPS,
	};
	struct ibv_cq_init_attr_ex cq_attr = {
		.comp_vector = i,
		.wc_flags = IBV_WC_STANDARD_FLAGS,
	};

	h->i = i;
	h->cq = ibv_cq_ex_to_cq(xroce_create_cq_ex(&ctx, &cq_attr));
	attr.send_cq = h->cq;
	attr.recv_cq = h->cq;
	h->qp = xroce_create_qp_ex(&ctx, &attr);
	h->qpx = &to_xqp(h->qp)->vqp.qp_ex;
	sem_init(&h->slots, 0, 0);
	sem_init(&h->room, 0, 0);
}

static void modify(struct host *h, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	xroce_modify_qp(h->qp, &attr, IBV_QP_STATE);
}

static bool take(sem_t *sem)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += PATIENCE;
	while (sem_timedwait(sem, &end))
		if (errno != EINTR)
			return false;
	return true;
}

static void post_recv(struct host *h)
{
	struct ibv_recv_wr wr = { .wr_id = KIND_RECV }, *bad;

	if (xroce_post_recv(h->qp, &wr, &bad))
		fail("QP %d: the receive queue is full", h->i);
	__atomic_fetch_add(&h->posted, 1, __ATOMIC_RELAXED);
}

/*
 * Up to @n messages of poster @who: by a list or by ibv_wr_*(), the last only
 * signalled, its wr_id saying how many slots it frees.
 */
static int post_send(struct host *h, int who, uint32_t number, uint32_t n)
{
	struct ibv_send_wr wr[KERNEL_DEPTH] = {}, *bad;
	uint32_t i;

	for (i = 0; i < n; i++) {
		wr[i].wr_id = n;
		wr[i].opcode = IBV_WR_SEND_WITH_IMM;
		wr[i].imm_data = htobe32(who << 24 | (number + i));
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
		wr[i].send_flags = i + 1 < n ? 0 : IBV_SEND_SIGNALED;
	}
	if (who)
		return xroce_post_send(h->qp, wr, &bad);
	ibv_wr_start(h->qpx);
	for (i = 0; i < n; i++) {
		h->qpx->wr_id = wr[i].wr_id;
		h->qpx->wr_flags = wr[i].send_flags;
		ibv_wr_send_imm(h->qpx, wr[i].imm_data);
	}
	return ibv_wr_complete(h->qpx);
}

struct poster {
	struct host *h;
	int who;
};

static void *poster(void *arg)
{
	const struct poster *p = arg;
	struct host *h = p->h;
	uint32_t number = 0, n, i, seed = p->who + 1;

	while (number < messages && !failed()) {
		seed = seed * 1664525 + 1013904223;
		n = 1 + (seed >> 28) % 4;
		if (n > messages - number)
			n = messages - number;
		for (i = 0; i < n; i++) {
			if (!take(&h->room) || !take(&h->slots)) {
				fail("QP %d: poster %d waits for ever at %u",
				     h->i, p->who, number);
				return NULL;
			}
		}
		/* Each slot was seen to be free: there is no excuse */
		if (post_send(h, p->who, number, n))
			fail("QP %d: post %u of %d refused", h->i, number,
			     p->who);
		number += n;
	}
	return NULL;
}

static void completed(struct host *h, uint64_t wr_id, enum ibv_wc_status status,
		      uint32_t imm)
{
	uint32_t who = imm >> 24, n;

	if (status) {
		fail("QP %d: status %d", h->i, status);
		return;
	}
	if (!(wr_id & KIND_RECV)) {
		for (n = wr_id; n; n--)
			sem_post(&h->slots);
		h->done += wr_id;
		return;
	}
	if (who >= POSTERS || h->next[who] != (imm & 0xffffff))
		fail("QP %d: message %#x is not the next", h->i, imm);
	else
		h->next[who]++;
	h->done++;
	post_recv(h);
	sem_post(&hosts[!h->i].room);
}

static int poll_some(struct host *h)
{
	struct ibv_poll_cq_attr attr = {};
	struct ibv_cq_ex *ex = &to_xcq(h->cq)->vcq.cq_ex;
	uint64_t id[8];
	struct ibv_wc wc[8];
	uint32_t imm[8];
	int n, i;

	if (h->i) {
		n = xroce_poll_cq(h->cq, 8, wc);
		for (i = 0; i < n; i++)
			completed(h, wc[i].wr_id, wc[i].status,
				  be32toh(wc[i].imm_data));
		return n;
	}
	if (ibv_start_poll(ex, &attr))
		return 0;
	n = 0;
	do {
		id[n] = ex->wr_id;
		imm[n] = be32toh(ibv_wc_read_imm_data(ex));
		if (ex->status)
			fail("QP %d: status %d", h->i, ex->status);
		n++;
	} while (n < 8 && !ibv_next_poll(ex));
	ibv_end_poll(ex);
	for (i = 0; i < n; i++)
		completed(h, id[i], IBV_WC_SUCCESS, imm[i]);
	return n;
}

static void *poller(void *arg)
{
	struct host *h = arg;

	while (h->done < 2 * POSTERS * messages && !failed()) {
		if (poll_some(h))
			continue;
		/* Not looked again, as UCX does: what has come meanwhile tells */
		xroce_req_notify_cq(h->cq, 0);
		if (!kernel_event(h->i, PATIENCE))
			fail("QP %d: no event after %u completions", h->i,
			     h->done);
		xroce_cq_event(h->cq);
	}
	return NULL;
}

static void start(uint32_t window)
{
	int i, k;

	kernel_window(window);
	for (i = 0; i < N; i++) {
		struct host *h = &hosts[i];

		modify(h, IBV_QPS_RTS);
		h->posted = 0;
		h->done = 0;
		h->flushed = 0;
		memset(h->next, 0, sizeof(h->next));
		for (k = 0; k < KERNEL_DEPTH; k++) {
			sem_post(&h->slots);
			sem_post(&h->room);
			post_recv(h);
		}
	}
}

/* Back to RESET, and the semaphores to 0 */
static void finish(void)
{
	int i;

	for (i = 0; i < N; i++) {
		struct host *h = &hosts[i];

		modify(h, IBV_QPS_ERR);
		kernel_idle();
		modify(h, IBV_QPS_RESET);
		while (!sem_trywait(&h->slots))
			;
		while (!sem_trywait(&h->room))
			;
		kernel_event(i, 0);
	}
}

/**
 * struct step - what a host in lock-step has seen
 * @sent: of its messages, completed
 * @got: messages that came
 */
struct step {
	struct host *h;
	bool both;
	uint32_t posted;
	uint32_t sent;
	uint32_t got;
};

static bool reap(struct step *s)
{
	struct ibv_wc wc[8];
	int n = xroce_poll_cq(s->h->cq, 8, wc), i;

	for (i = 0; i < n; i++) {
		if (wc[i].status) {
			fail("QP %d: status %d", s->h->i, wc[i].status);
		} else if (wc[i].wr_id & KIND_RECV) {
			s->got++;
			post_recv(s->h);
			sem_post(&hosts[!s->h->i].room);
		} else {
			s->sent += wc[i].wr_id;
		}
	}
	return n > 0;
}

/* Poll until @sent and @got messages are there at least, or sleep if @sleeper */
static void await(struct step *s, uint32_t sent, uint32_t got, bool sleeper)
{
	time_t start = time(NULL);
	uint32_t idle = 0;

	while ((s->sent < sent || s->got < got) && !failed()) {
		if (reap(s))
			continue;
		if (!sleeper) {
			if (++idle % 256)
				continue;
			sched_yield();
			if (time(NULL) - start > PATIENCE)
				fail("QP %d: polls for ever: %u of %u sent, %u of %u came",
				     s->h->i, s->sent, sent, s->got, got);
			continue;
		}
		xroce_req_notify_cq(s->h->cq, 0);
		if (reap(s))
			continue;
		if (!kernel_event(s->h->i, PATIENCE))
			fail("QP %d: sleeps for ever: %u of %u sent, %u of %u came",
			     s->h->i, s->sent, sent, s->got, got);
	}
}

/* The other side's last steps take about as long */
static void any_moment(void)
{
	static __thread uint32_t seed;
	volatile uint32_t n;

	seed = seed * 1664525 + 1013904223;
	for (n = seed >> 18; n; n--)
		;
}

/*
 * One burst at a time in the whole world, there and back or only there, one packet
 * in flight: whatever is overlooked, nothing that follows brings it to light.
 */
static void *stepper(void *arg)
{
	struct step *s = arg;
	uint32_t round, n, i, got = 0;
	int turn;

	for (round = 0; round < messages && !failed(); round++) {
		n = 1 + (round * 2654435761u >> 29);
		for (turn = 0; turn <= s->both; turn++) {
			if (turn == s->h->i) {
				for (i = 0; i < n; i++)
					if (!take(&s->h->room))
						fail("nothing to receive into");
				s->posted += n;
				any_moment();
				if (post_send(s->h, round & 1, 0, n))
					fail("QP %d: burst refused", s->h->i);
			} else {
				got += n;
			}
			await(s, s->posted, got, round >> 4 & 1);
		}
	}
	return NULL;
}

static void test_lockstep(bool both)
{
	struct step s[N] = {};
	pthread_t threads[N];
	int i;

	start(1);
	for (i = 0; i < N; i++) {
		s[i].h = &hosts[i];
		s[i].both = both;
		pthread_create(&threads[i], NULL, stepper, &s[i]);
	}
	for (i = 0; i < N; i++)
		pthread_join(threads[i], NULL);
	tap_ok(!failed(), "%u bursts, each the only one, %s", messages,
	       both ? "there and back" : "one way");
	finish();
}

static void test_traffic(void)
{
	pthread_t threads[N][POSTERS + 1];
	struct poster p[N][POSTERS];
	int i, k;

	start(4);
	for (i = 0; i < N; i++) {
		pthread_create(&threads[i][POSTERS], NULL, poller, &hosts[i]);
		for (k = 0; k < POSTERS; k++) {
			p[i][k] = (struct poster) { &hosts[i], k };
			pthread_create(&threads[i][k], NULL, poster, &p[i][k]);
		}
	}
	for (i = 0; i < N; i++)
		for (k = 0; k <= POSTERS; k++)
			pthread_join(threads[i][k], NULL);
	tap_note("%u messages, %u doorbells", N * POSTERS * messages,
		 kernel_doorbells());
	tap_ok(!failed(), "nothing forgotten, no event lost, order kept");
	finish();
}

/* Posts to either queue until it is full and on, until told to stop, into ERR and beyond */
static void *storm(void *arg)
{
	const struct poster *p = arg;
	struct host *h = p->h;
	struct ibv_recv_wr rwr = { .wr_id = KIND_RECV }, *badr;
	struct ibv_send_wr wr = {
		.wr_id = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	int left = 20, err;

	while (left) {
		left -= __atomic_load_n(&stop, __ATOMIC_RELAXED);
		err = p->who ? xroce_post_recv(h->qp, &rwr, &badr) :
			       xroce_post_send(h->qp, &wr, &bad);
		if (!err)
			__atomic_fetch_add(&h->posted, 1, __ATOMIC_RELAXED);
		else if (err != ENOMEM)
			fail("QP %d: post: %d", h->i, err);
		else
			sched_yield();
	}
	return NULL;
}

/* Both have come here as often */
static void together(uint32_t *at)
{
	uint32_t n = __atomic_add_fetch(at, 1, __ATOMIC_ACQ_REL);

	while (__atomic_load_n(at, __ATOMIC_ACQUIRE) < n + n % N)
		sched_yield();
}

/* The owner by one QP, its peer by another: neither is refused for the other's sake. */
static void *ender(void *arg)
{
	const struct host *h = arg;
	static uint32_t begun, ended;
	uint32_t i;

	for (i = 0; i < 20 * messages && !failed(); i++) {
		if (!h->i)
			kernel_region();
		together(&begun);
		if (!kernel_invalidate(h->i))
			fail("QP %d: not ended, round %u", h->i, i);
		together(&ended);
	}
	__atomic_add_fetch(&begun, N, __ATOMIC_RELAXED);
	__atomic_add_fetch(&ended, N, __ATOMIC_RELAXED);
	return NULL;
}

static void test_ends(void)
{
	pthread_t threads[N];
	int i;

	for (i = 0; i < N; i++) {
		hosts[i].i = i;
		pthread_create(&threads[i], NULL, ender, &hosts[i]);
	}
	for (i = 0; i < N; i++)
		pthread_join(threads[i], NULL);
	tap_ok(!failed(), "a region that two end at once");
}

static void count(struct host *h, enum ibv_wc_status status)
{
	h->done++;
	h->flushed += status == IBV_WC_WR_FLUSH_ERR;
}

static void drain(struct host *h)
{
	struct ibv_cq_ex *ex = &to_xcq(h->cq)->vcq.cq_ex;
	struct ibv_poll_cq_attr attr = {};
	struct ibv_wc wc[8];
	int n, i;

	if (!h->i) {
		if (ibv_start_poll(ex, &attr))
			return;
		do
			count(h, ex->status);
		while (!ibv_next_poll(ex));
		ibv_end_poll(ex);
		return;
	}
	while ((n = xroce_poll_cq(h->cq, 8, wc)) > 0)
		for (i = 0; i < n; i++)
			count(h, wc[i].status);
}

static void test_flush(int rounds)
{
	uint32_t flushed = 0;
	int round, i, k;

	for (round = 0; round < rounds && !failed(); round++) {
		pthread_t threads[N][POSTERS];
		struct poster p[N][POSTERS];

		start(4);
		stop = false;
		for (i = 0; i < N; i++) {
			for (k = 0; k < POSTERS; k++) {
				p[i][k] = (struct poster) { &hosts[i], k };
				pthread_create(&threads[i][k], NULL, storm,
					       &p[i][k]);
			}
		}
		for (k = 0; k < round % 64; k++)
			for (i = 0; i < N; i++)
				drain(&hosts[i]);
		for (i = 0; i < N; i++)
			modify(&hosts[i], IBV_QPS_ERR);
		__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
		for (i = 0; i < N; i++) {
			for (k = 0; k < POSTERS; k++)
				while (pthread_tryjoin_np(threads[i][k], NULL))
					drain(&hosts[i]);
		}
		kernel_idle();
		for (i = 0; i < N; i++) {
			struct host *h = &hosts[i];

			drain(h);
			flushed += h->flushed;
			if (h->done != h->posted)
				fail("QP %d, round %d: %u posted, %u completed",
				     i, round, h->posted, h->done);
		}
		finish();
	}
	tap_note("%u flushed in %d rounds", flushed, round);
	tap_ok(!failed(), "all that is posted around ERR completes, once");
}

/*
 * Arguments: messages of each poster, and bursts; rounds of the flush
 */
int main(int argc, char **argv)
{
	bool all = getenv("XROCE_ALL");
	int i;

	messages = argc > 1 ? atoi(argv[1]) : all ? 5000 : 2000;
	tap_start();
	alarm(10 * PATIENCE);
	for (i = 0; i < N; i++)
		create(&hosts[i], i);
	kernel_start();
	test_traffic();
	if (!failed())
		test_lockstep(false);
	if (!failed())
		test_lockstep(true);
	if (!failed())
		test_flush(argc > 2 ? atoi(argv[2]) : all ? 200 : 80);
	if (!failed())
		test_ends();
	kernel_stop();
	for (i = 0; i < N; i++) {
		xroce_destroy_qp(hosts[i].qp);
		xroce_destroy_cq(hosts[i].cq);
	}
	return tap_end();
}
