// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of where CQ handlers run: never inside a post, whose caller may hold what the
 * handler waits for, and for one CQ one at a time
 * (Documentation/infiniband/core_locking.rst, "Callbacks").
 */
#include <linux/delay.h>
#include <linux/kthread.h>

#include "kverbs.h"

#define KV_ROUNDS	30	/* of each post that completes at once */
#define KV_MEETINGS	300	/* of a post and a handler on another CPU */

/* This CPU posts, with BH off: no handler but one called by the post runs on it. */
static DEFINE_PER_CPU(bool, kv_posting);

/**
 * struct kv_watch - two QPs of one device that share a CQ, and what its handler saw
 * @end: connected to each other
 * @inside: handlers that run
 * @within: were called inside a post
 * @beside: began while another ran
 * @met: posts that found a handler at work on another CPU
 * @called: for each call
 * @over: there were KV_MEETINGS
 */
struct kv_watch {
	struct ib_cq *cq;
	struct kv_end end[2];
	atomic_t inside, within, beside, met;
	struct completion called, over;
};

static void kv_watch_handler(struct ib_cq *cq, void *context)
{
	struct kv_watch *w = context;

	if (atomic_inc_return(&w->inside) != 1)
		atomic_inc(&w->beside);
	if (this_cpu_read(kv_posting))
		atomic_inc(&w->within);
	/* from here on another call is asked for, and has to wait for this one's end */
	ib_req_notify_cq(cq, IB_CQ_NEXT_COMP);
	udelay(9);
	atomic_dec(&w->inside);
	complete(&w->called);
}

/* The receive is posted where there is nothing to send. */
static int kv_watch_post(struct ib_qp *qp, const struct ib_send_wr *wr)
{
	const struct ib_recv_wr recv = {};
	int err;

	local_bh_disable();
	this_cpu_write(kv_posting, true);
	err = wr ? ib_post_send(qp, wr, NULL) : ib_post_recv(qp, &recv, NULL);
	this_cpu_write(kv_posting, false);
	local_bh_enable();
	return err;
}

static int kv_watch_open(struct kv_watch *w, int vector)
{
	struct ib_cq_init_attr cq = { .cqe = 4 * KV_DEPTH, .comp_vector = vector };
	struct ib_qp_init_attr init = {
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IB_QPT_RC, .sq_sig_type = IB_SIGNAL_ALL_WR,
	};
	int i;

	init_completion(&w->called);
	init_completion(&w->over);
	w->cq = ib_create_cq(kv_a.dev, kv_watch_handler, NULL, w, &cq);
	if (IS_ERR(w->cq)) {
		w->cq = NULL;
		return kv_fail("ib_create_cq, vector %d", vector);
	}
	init.send_cq = w->cq;
	init.recv_cq = w->cq;
	for (i = 0; i < 2; i++) {
		w->end[i] = kv_a;
		w->end[i].cq = w->cq;
		w->end[i].mr = NULL;
		w->end[i].qp = ib_create_qp(kv_a.pd, &init);
		if (IS_ERR(w->end[i].qp)) {
			w->end[i].qp = NULL;
			return kv_fail("ib_create_qp");
		}
	}
	w->end[0].mr = ib_alloc_mr(kv_a.pd, IB_MR_TYPE_MEM_REG, 1);
	if (IS_ERR(w->end[0].mr)) {
		w->end[0].mr = NULL;
		return kv_fail("ib_alloc_mr");
	}
	return kv_modify(&w->end[0], &w->end[1]) ?: kv_modify(&w->end[1], &w->end[0]);
}

static void kv_watch_close(struct kv_watch *w)
{
	int i;

	for (i = 0; i < 2; i++)
		if (w->end[i].qp)
			ib_destroy_qp(w->end[i].qp);
	if (w->end[0].mr)
		ib_dereg_mr(w->end[0].mr);
	if (w->cq)
		ib_destroy_cq(w->cq);
}

/* Both to ERR; what comes of it is taken away. */
static int kv_watch_end(struct kv_watch *w)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct ib_wc wc;
	int i;

	for (i = 0; i < 2; i++)
		if (ib_modify_qp(w->end[i].qp, &attr, IB_QP_STATE))
			return kv_fail("to ERR");
	while (ib_poll_cq(w->cq, 1, &wc) > 0)
		;
	return 0;
}

static int kv_watch_seen(struct kv_watch *w, const char *what)
{
	int within = atomic_read(&w->within), beside = atomic_read(&w->beside);

	if (within)
		return kv_fail("%s: %d handlers inside a post", what, within);
	return beside ? kv_fail("%s: %d handlers beside another", what, beside) : 0;
}

/* A post of N requests again and again: the handler is called for them, afterwards. */
static int kv_watch_posts(struct kv_watch *w, const char *what,
			  const struct ib_send_wr *wr, int n, enum ib_wc_status status)
{
	int i, j, err = 0;

	for (i = 0; !err && i < KV_ROUNDS; i++) {
		reinit_completion(&w->called);
		ib_req_notify_cq(w->cq, IB_CQ_NEXT_COMP);
		if (kv_watch_post(w->end[0].qp, wr))
			return kv_fail("%s: posting", what);
		if (!wait_for_completion_timeout(&w->called, KV_SECONDS * HZ))
			return kv_fail("%s: no handler was called", what);
		for (j = 0; !err && j < n; j++)
			err = kv_done(&w->end[0], wr ? 100 + j : 0, status, NULL);
	}
	return err ?: kv_watch_seen(w, what);
}

static int kv_watch_inside(struct kv_watch *w)
{
	struct ib_mr *mr = w->end[0].mr;
	struct ib_send_wr inv = {
		.wr_id = 101, .opcode = IB_WR_LOCAL_INV, .ex.invalidate_rkey = mr->rkey,
	};
	struct ib_reg_wr reg = {
		.wr = { .wr_id = 100, .opcode = IB_WR_REG_MR, .next = &inv },
		.mr = mr, .key = mr->rkey, .access = IB_ACCESS_LOCAL_WRITE,
	};
	struct ib_rdma_wr write = { .wr = { .wr_id = 100, .opcode = IB_WR_RDMA_WRITE } };

	if (ib_map_mr_sg(mr, kv_a.sg, 1, NULL, PAGE_SIZE) != 1)
		return kv_fail("ib_map_mr_sg");
	return kv_watch_posts(w, "regions made and ended", &reg.wr, 2, IB_WC_SUCCESS) ?:
	       kv_watch_posts(w, "the device to itself", &write.wr, 1, IB_WC_SUCCESS) ?:
	       kv_watch_end(w) ?:
	       kv_watch_posts(w, "sends in ERR", &write.wr, 1, IB_WC_WR_FLUSH_ERR) ?:
	       kv_watch_posts(w, "receives in ERR", NULL, 1, IB_WC_WR_FLUSH_ERR);
}

struct kv_poster {
	struct kv_watch *w;
	struct ib_qp *qp;
	struct task_struct *task;
};

/* A queue may be full: what is in it completes all the same. */
static int kv_poster(void *data)
{
	struct ib_rdma_wr write = { .wr.opcode = IB_WR_RDMA_WRITE };
	struct kv_poster *me = data;
	struct kv_watch *w = me->w;
	struct ib_wc wc[4];
	bool recv = false;

	while (!kthread_should_stop()) {
		kv_watch_post(me->qp, recv ? NULL : &write.wr);
		recv = !recv;
		if (atomic_read(&w->inside) && atomic_inc_return(&w->met) == KV_MEETINGS)
			complete(&w->over);
		while (ib_poll_cq(w->cq, ARRAY_SIZE(wc), wc) > 0)
			;
		cond_resched();
	}
	return 0;
}

/* From two CPUs at once, each with a QP of its own. */
static int kv_watch_two(struct kv_watch *w, const char *what)
{
	struct kv_poster poster[2] = {};
	int i, cpu = -1, err = 0;

	atomic_set(&w->met, 0);
	reinit_completion(&w->over);
	ib_req_notify_cq(w->cq, IB_CQ_NEXT_COMP);
	for (i = 0; !err && i < 2; i++) {
		cpu = cpumask_next(cpu, cpu_online_mask);
		poster[i].w = w;
		poster[i].qp = w->end[i].qp;
		poster[i].task = kthread_run_on_cpu(kv_poster, &poster[i], cpu,
						    "kv_poster/%u");
		if (IS_ERR(poster[i].task)) {
			poster[i].task = NULL;
			err = kv_fail("%s: no thread", what);
		}
	}
	if (!err && !wait_for_completion_timeout(&w->over, KV_SECONDS * HZ))
		err = kv_fail("%s: %d posts met a handler", what, atomic_read(&w->met));
	for (i = 0; i < 2; i++)
		if (poster[i].task)
			kthread_stop(poster[i].task);
	return err ?: kv_watch_seen(w, what);
}

static int kv_watch_beside(struct kv_watch *w)
{
	return kv_watch_two(w, "the device to itself") ?: kv_watch_end(w) ?:
	       kv_watch_two(w, "flushed in ERR");
}

/* Where the completion arises, and on a CPU that is named. */
static int kv_watched(int (*test)(struct kv_watch *))
{
	int vector[] = { 0, kv_a.dev->num_comp_vectors - 1 };
	struct kv_watch *w;
	int i, err = 0;

	for (i = 0; !err && i < ARRAY_SIZE(vector); i++) {
		w = kzalloc(sizeof(*w), GFP_KERNEL);
		if (!w)
			return kv_fail("no memory");
		err = kv_watch_open(w, vector[i]) ?: test(w);
		kv_watch_close(w);
		kfree(w);
	}
	return err;
}

int kv_test_inside(void)
{
	return kv_watched(kv_watch_inside);
}

int kv_test_beside(void)
{
	/* only an interrupt could call one beside another */
	return num_online_cpus() > 1 ? kv_watched(kv_watch_beside) : 0;
}
