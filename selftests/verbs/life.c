// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queues that are full, reset, flushed and destroyed, and used from more than
 * one process and thread.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "verbs.h"

static bool full(struct pair *p)
{
	struct ibv_wc wc[DEPTH];
	int i, k, err;

	NEED(p->cap.max_send_wr == DEPTH && p->cap.max_recv_wr == DEPTH,
	     "queues of %u and %u", p->cap.max_send_wr, p->cap.max_recv_wr);
	/* They wait for somebody to receive the first */
	for (i = 0; i < DEPTH; i++) {
		err = post_simple(p, 0, IBV_WR_SEND, i, 0, 8,
				  i % 4 == 3 ? IBV_SEND_SIGNALED : 0);
		NEED(!err, "send %d: %s", i, strerror(err));
	}
	err = post_simple(p, 0, IBV_WR_SEND, i, 0, 8, 0);
	NEED(err == ENOMEM, "one too many: %s", strerror(err));
	for (i = 0; i < DEPTH; i++)
		NEED(!post_recv(p, 1, i, 0, 8), "receive %d", i);
	for (i = 0; i < DEPTH; i += 4) {
		TRY(reap(p->cq[0], wc, 1, IBV_WC_SUCCESS));
		NEED(wc[0].wr_id == (uint64_t)i + 3, "completion of %llu",
		     (unsigned long long)wc[0].wr_id);
		for (k = 0; k < 4; k++) {
			err = post_simple(p, 0, IBV_WR_RDMA_WRITE, i, 0, 8, 0);
			NEED(!err, "a slot is not free after its completion");
		}
	}
	err = post_recv(p, 1, i, 0, 8);
	NEED(err == ENOMEM, "a receive before a completion is polled: %s", strerror(err));
	TRY(reap(p->cq[1], wc, DEPTH, IBV_WC_SUCCESS));
	return true;
}

/* WRITEs numbered from @id, one completion each */
static bool write_some(struct pair *p, int id, int n)
{
	for (; n--; id++)
		NEED(!post_simple(p, 0, IBV_WR_RDMA_WRITE, id, 0, 8,
				  IBV_SEND_SIGNALED), "WRITE %d", id);
	return true;
}

static bool in_order(struct pair *p, int id, int n)
{
	struct ibv_wc wc;

	for (; n--; id++) {
		TRY(reap(p->cq[0], &wc, 1, IBV_WC_SUCCESS));
		NEED(wc.wr_id == (uint64_t)id, "%llu instead of %d",
		     (unsigned long long)wc.wr_id, id);
	}
	return true;
}

/* All are there, unpolled, once the last WRITE has changed its place */
static bool arrived(uint32_t at, unsigned int seed)
{
	volatile char *p = buf + BUF_SIZE + at;
	int tries;

	for (tries = 0; tries < WAIT_S * 1000; tries++) {
		if (*p == (char)seed)
			break;
		usleep(1000);
	}
	NEED(tries < WAIT_S * 1000, "a WRITE does not arrive");
	usleep(500000);		/* its ACK has a way to go */
	return true;
}

/*
 * A CQ of as many as the queue has is not overrun by who posts until there is no room: what
 * is done holds its slot until a completion has been polled, its own or a later one.
 */
static bool held(struct pair *p, char seed)
{
	struct ibv_wc wc;
	int i, err;

	buf[0] = seed;
	for (i = 0; i < DEPTH; i++) {
		err = post_simple(p, 0, IBV_WR_RDMA_WRITE, i, 0, 8,
				  i == DEPTH - 1 ? IBV_SEND_SIGNALED : 0);
		NEED(!err, "WRITE %d: %s", i, strerror(err));
	}
	TRY(arrived(0, seed));
	err = post_simple(p, 0, IBV_WR_RDMA_WRITE, i, 0, 8, 0);
	NEED(err == ENOMEM, "before the completion is polled: %s", strerror(err));
	TRY(reap(p->cq[0], &wc, 1, IBV_WC_SUCCESS));
	NEED(wc.wr_id == DEPTH - 1, "completion of %llu", (unsigned long long)wc.wr_id);
	return true;
}

bool test_full(void)
{
	struct pair p;
	bool ok = pair_make(&p, 64);
	int i;

	for (i = 0; ok && i < 3; i++)
		ok = held(&p, 2 * i + 1) && held(&p, 2 * i + 2) && full(&p) && pair_again(&p);
	pair_free(&p);
	return ok;
}

static bool resize(struct pair *p)
{
	struct ibv_cq *cq = p->cq[0], *got;
	int id, size, err;
	void *context;

	NEED(cq->cqe == 8, "a CQ of %d", cq->cqe);
	/* Nearly full, wherever its indices are */
	for (id = 0; id < 40; id += 5) {
		TRY(write_some(p, id, 5));
		TRY(in_order(p, id, 5));
	}
	buf[0] = 1;
	TRY(write_some(p, id, 7));
	TRY(arrived(0, 1));
	err = ibv_resize_cq(cq, 64);
	NEED(!err && cq->cqe == 64, "to 64: %d, %d", err, cq->cqe);
	buf[0] = 2;
	TRY(write_some(p, id + 7, 6));
	TRY(arrived(0, 2));
	err = ibv_resize_cq(cq, 8);
	NEED(err == EINVAL && cq->cqe == 64, "13 in 8 slots: %d", err);
	TRY(in_order(p, id, 13));
	err = ibv_resize_cq(cq, 0);
	NEED(err == EINVAL, "to none: %d", err);
	err = ibv_resize_cq(cq, 4 * 1024 * 1024 + 1);
	NEED(err == EINVAL, "to more than there may be: %d", err);
	/* What asked for an event still does */
	NEED(!ibv_req_notify_cq(cq, 0), "ibv_req_notify_cq");
	err = ibv_resize_cq(cq, 16);
	NEED(!err && cq->cqe == 16, "to 16: %d", err);
	TRY(write_some(p, 100, 1));
	NEED(!ibv_get_cq_event(p->channel, &got, &context) && got == cq,
	     "ibv_get_cq_event");
	ibv_ack_cq_events(cq, 1);
	TRY(in_order(p, 100, 1));
	/* And in the middle of traffic */
	for (id = 0, size = 16; id < 400; id += 4) {
		TRY(write_some(p, id, 4));
		size = size == 16 ? 128 : 16;
		NEED(!ibv_resize_cq(cq, size), "to %d, WRITE %d", size, id);
		TRY(in_order(p, id, 4));
	}
	return true;
}

bool test_resize(void)
{
	struct pair p;
	bool ok = pair_make(&p, 8) && resize(&p);

	pair_free(&p);
	return ok;
}

static bool reset(struct pair *p, int round)
{
	struct ibv_wc wc[DEPTH];
	int i, n = round % DEPTH;

	/* Left: n completions each, receives of no one, sends of no answer */
	for (i = 0; i < DEPTH; i++)
		post_recv(p, 1, i, 0, 8);
	for (i = 0; i < n; i++)
		post_simple(p, 0, IBV_WR_SEND, i, 0, 8, IBV_SEND_SIGNALED);
	if (round & 1)
		usleep(2000);
	TRY(qp_to(p->qp[0], IBV_QPS_RESET));
	TRY(qp_to(p->qp[1], IBV_QPS_RESET));
	for (i = 0; i < 2; i++)
		NEED(!ibv_poll_cq(p->cq[i], 1, wc),
		     "QP %d has a completion of %llu, %s, after RESET", i,
		     (unsigned long long)wc[0].wr_id,
		     ibv_wc_status_str(wc[0].status));
	TRY(pair_connect(p));
	fill(0, 0, 100, round);
	for (i = 0; i < DEPTH; i++)
		NEED(!post_recv(p, 1, 100 + i, 0, 100), "receive %d", i);
	for (i = 0; i < DEPTH; i++)
		NEED(!post_simple(p, 0, IBV_WR_SEND, 100 + i, 0, 100,
				  IBV_SEND_SIGNALED), "send %d", i);
	for (i = 0; i < 2; i++)
		TRY(reap(p->cq[i], wc, DEPTH, IBV_WC_SUCCESS));
	for (i = 0; i < DEPTH; i++)
		NEED(wc[i].wr_id == 100u + i, "%llu instead of %d",
		     (unsigned long long)wc[i].wr_id, 100 + i);
	return same(1, 0, 100, round);
}

bool test_reset(void)
{
	struct pair p;
	bool ok = pair_make(&p, 64);
	int i;

	for (i = 0; ok && i < 40; i++)
		ok = reset(&p, i);
	pair_free(&p);
	return ok;
}

/* QPs that share a CQ: those of one that goes vanish, the other's stay */
static bool destroy_shared(struct pair *p)
{
	struct ibv_qp_init_attr init = {
		.send_cq = p->cq[0],
		.recv_cq = p->cq[0],
		.cap = { .max_recv_wr = 4, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_recv_wr wr = {}, *bad;
	struct ibv_qp *qp[3];
	struct ibv_wc wc[16];
	int i, k;

	for (i = 0; i < 3; i++) {
		qp[i] = ibv_create_qp(pd, &init);
		NEED(qp[i], "ibv_create_qp: %s", strerror(errno));
		TRY(qp_to_err(qp[i]));
	}
	for (k = 0; k < 3; k++) {
		for (i = 0; i < 3; i++) {
			wr.wr_id = 10 * i + k;
			NEED(!ibv_post_recv(qp[i], &wr, &bad), "receive");
		}
	}
	TRY(reap(p->cq[0], wc, 2, IBV_WC_WR_FLUSH_ERR));
	NEED(!ibv_destroy_qp(qp[1]), "ibv_destroy_qp: %s", strerror(errno));
	TRY(reap(p->cq[0], wc, 5, IBV_WC_WR_FLUSH_ERR));
	for (i = 0; i < 5; i++)
		NEED(wc[i].wr_id / 10 != 1, "a completion of what is gone");
	NEED(!ibv_poll_cq(p->cq[0], 1, wc), "a completion too many");
	ibv_destroy_qp(qp[0]);
	ibv_destroy_qp(qp[2]);
	return true;
}

bool test_destroy(void)
{
	struct pair p;
	bool ok = pair_make(&p, 64) && destroy_shared(&p);

	pair_free(&p);
	return ok;
}

static bool flush(struct pair *p)
{
	struct ibv_wc wc[2 * DEPTH];
	int i, sends = 0, recvs = 0;

	for (i = 0; i < DEPTH; i++)
		NEED(!post_recv(p, 0, 100 + i, 0, 8), "receive %d", i);
	/* Nobody receives: the first waits and the others behind it */
	for (i = 0; i < DEPTH; i++)
		NEED(!post_simple(p, 0, IBV_WR_SEND, i, 0, 8, 0), "send %d", i);
	TRY(qp_to(p->qp[0], IBV_QPS_ERR));
	TRY(reap(p->cq[0], wc, 2 * DEPTH, IBV_WC_WR_FLUSH_ERR));
	for (i = 0; i < 2 * DEPTH; i++) {
		if (wc[i].wr_id < 100)
			NEED(wc[i].wr_id == (uint64_t)sends++, "sends not in order");
		else
			NEED(wc[i].wr_id == 100u + recvs++,
			     "receives not in order");
	}
	/* What comes later is flushed too, however often the queue goes round */
	for (i = 0; i < 3 * DEPTH; i++) {
		NEED(!post_simple(p, 0, IBV_WR_SEND, i, 0, 8, 0),
		     "send %d in ERR", i);
		TRY(reap(p->cq[0], wc, 1, IBV_WC_WR_FLUSH_ERR));
		NEED(!post_recv(p, 0, 100 + i, 0, 8), "receive %d in ERR", i);
		TRY(reap(p->cq[0], wc, 1, IBV_WC_WR_FLUSH_ERR));
	}
	return true;
}

bool test_flush(void)
{
	struct pair p;
	bool ok = pair_make(&p, 64) && flush(&p);

	pair_free(&p);
	return ok;
}

/* Traffic goes on while children are born, write to all they see, and die */
static bool forks(struct pair *p)
{
	struct ibv_wc wc[2];
	int i, status;
	pid_t pid;

	for (i = 0; i < 20; i++) {
		NEED(!post_recv(p, 1, i, 0, 5000), "ibv_post_recv");
		fill(0, 0, 5000, i);
		pid = fork();
		NEED(pid >= 0, "fork: %s", strerror(errno));
		if (!pid) {
			char *stack = alloca(65536);

			memset(stack, i, 65536);
			_exit(7);
		}
		NEED(!post_simple(p, 0, IBV_WR_SEND, i, 0, 5000,
				  IBV_SEND_SIGNALED), "ibv_post_send");
		TRY(reap(p->cq[0], wc, 1, IBV_WC_SUCCESS));
		TRY(reap(p->cq[1], wc, 1, IBV_WC_SUCCESS));
		TRY(same(1, 0, 5000, i));
		waitpid(pid, &status, 0);
		NEED(WIFEXITED(status) && WEXITSTATUS(status) == 7,
		     "the child: status %#x", status);
	}
	return true;
}

bool test_fork(void)
{
	struct pair p;
	bool ok = pair_make(&p, 64) && forks(&p);

	pair_free(&p);
	return ok;
}

#define PER_THREAD	2000

static struct pair *shared;
static sem_t slots;
static int failed_posts;

/* A slot whose completion has been polled is free, whichever thread posts next */
static void *post_many(void *arg)
{
	uint64_t who = (uintptr_t)arg;
	int i;

	for (i = 0; i < PER_THREAD; i++) {
		sem_wait(&slots);
		if (post_simple(shared, 0, IBV_WR_RDMA_WRITE, who << 32 | i,
				8 * who, 8, IBV_SEND_SIGNALED))
			__atomic_fetch_add(&failed_posts, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static bool reap_all(struct pair *p)
{
	uint32_t next[4] = {};
	struct ibv_wc wc;
	uint32_t who;
	int n;

	for (n = 0; n < 4 * PER_THREAD; n++) {
		TRY(reap(p->cq[0], &wc, 1, IBV_WC_SUCCESS));
		who = wc.wr_id >> 32;
		NEED(who < 4 && next[who]++ == (uint32_t)wc.wr_id,
		     "completion %d is of %#llx", n,
		     (unsigned long long)wc.wr_id);
		sem_post(&slots);
	}
	return true;
}

static bool threads(struct pair *p)
{
	pthread_t thread[4];
	uintptr_t i;
	bool ok;

	shared = p;
	sem_init(&slots, 0, DEPTH);
	for (i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, post_many, (void *)i);
	ok = reap_all(p);
	/* Or they would wait for ever */
	for (i = 0; !ok && i < 4 * PER_THREAD; i++)
		sem_post(&slots);
	for (i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	TRY(ok);
	NEED(!failed_posts, "%d posts refused", failed_posts);
	return true;
}

bool test_threads(void)
{
	struct pair p;
	bool ok = pair_make(&p, 64) && threads(&p);

	pair_free(&p);
	return ok;
}

#define NUMBERS 600

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Each is given back before the next is made: the worst case for re-use. */
static bool take_numbers(struct pair *p, uint32_t key[], uint32_t qpn[])
{
	struct ibv_qp_init_attr init = {
		.send_cq = p->cq[0], .recv_cq = p->cq[0],
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_mr *one;
	struct ibv_qp *qp;
	int i;

	for (i = 0; i < NUMBERS; i++) {
		one = ibv_reg_mr(pd, buf, 64, IBV_ACCESS_LOCAL_WRITE);
		NEED(one, "MR %d: %s", i, strerror(errno));
		key[i] = one->rkey >> 8;
		NEED(!ibv_dereg_mr(one), "MR %d does not go", i);
		qp = ibv_create_qp(pd, &init);
		NEED(qp, "QP %d: %s", i, strerror(errno));
		qpn[i] = qp->qp_num;
		NEED(!ibv_destroy_qp(qp), "QP %d does not go", i);
	}
	return true;
}

/*
 * Nobody guesses them from those before: of 600 random numbers of 24 bits not
 * 40 follow one another within 2^14, and none comes again.
 */
static bool are_random(const char *what, uint32_t *n)
{
	int i, near = 0;

	for (i = 1; i < NUMBERS; i++)
		near += n[i] - n[i - 1] + 0x4000 < 0x8000;
	NEED(near < 40, "%d %ss are close to the one before", near, what);
	qsort(n, NUMBERS, sizeof(*n), by_value);
	for (i = 1; i < NUMBERS; i++)
		NEED(n[i] != n[i - 1], "%s %#x is given out twice", what, n[i]);
	return true;
}

bool test_numbers(void)
{
	static uint32_t key[NUMBERS], qpn[NUMBERS];
	struct pair p;
	bool ok = pair_make(&p, 64) && take_numbers(&p, key, qpn) &&
		  are_random("key", key) && are_random("QPN", qpn);

	pair_free(&p);
	return ok;
}
