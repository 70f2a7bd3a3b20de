// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of handlers. A CQ's is called never inside a post, whose caller may hold what
 * the handler waits for, and for one CQ one at a time
 * (Documentation/infiniband/core_locking.rst, "Callbacks"); it may poll, post and arm.
 * A QP's and a CQ's are told of events.
 */
#include <linux/delay.h>
#include <linux/kthread.h>

#include "kverbs.h"

#define KV_ROUNDS	30	/* of each post that completes at once */
#define KV_MEETINGS	300	/* of a post and a handler on another CPU */

/* Who posts on this CPU: no handler but one called by the post runs in its place. */
static DEFINE_PER_CPU(struct task_struct *, kv_posting);

/**
 * struct kv_watch - two QPs of one device that share a CQ, and what its handler saw
 * @cq: theirs
 * @end: connected to each other
 * @lock: what a consumer may hold as it posts
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
	spinlock_t lock;	/* around a post */
	atomic_t inside, within, beside, met;
	struct completion called, over;
};

static void kv_watch_handler(struct ib_cq *cq, void *context)
{
	struct kv_watch *w = context;

	if (atomic_inc_return(&w->inside) != 1)
		atomic_inc(&w->beside);
	if (this_cpu_read(kv_posting) == current)
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

	this_cpu_write(kv_posting, current);
	err = wr ? ib_post_send(qp, wr, NULL) : ib_post_recv(qp, &recv, NULL);
	this_cpu_write(kv_posting, NULL);
	return err;
}

static int kv_watch_post_bh(struct ib_qp *qp, const struct ib_send_wr *wr)
{
	int err;

	local_bh_disable();
	err = kv_watch_post(qp, wr);
	local_bh_enable();
	return err;
}

/* With interrupts off too, but for PREEMPT_RT. */
static int kv_watch_post_locked(struct kv_watch *w, struct ib_qp *qp,
				const struct ib_send_wr *wr)
{
	unsigned long flags;
	int err;

	spin_lock_irqsave(&w->lock, flags);
	err = kv_watch_post(qp, wr);
	spin_unlock_irqrestore(&w->lock, flags);
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

	spin_lock_init(&w->lock);
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
		err = i % 2 ? kv_watch_post_locked(w, w->end[0].qp, wr) :
			      kv_watch_post_bh(w->end[0].qp, wr);
		if (err)
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
		kv_watch_post_bh(me->qp, recv ? NULL : &write.wr);
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
	struct ib_cq_init_attr beyond = { .cqe = 1, .comp_vector = vector[1] + 1 };
	struct kv_watch *w;
	int i, err = 0;

	if (ib_create_cq(kv_a.dev, kv_watch_handler, NULL, NULL, &beyond) != ERR_PTR(-EINVAL))
		return kv_fail("a vector more than there are");
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
	return num_online_cpus() > 1 ? kv_watched(kv_watch_beside) :
				       -kv_fail("takes two processors");
}

/**
 * struct kv_player - one of two that count together: each sends one more than it got
 * @end: its QP
 * @mem: has the number received in its page 0, that sent in its page 1
 * @want: comes next
 * @bad: completions and numbers that were wrong, posts that failed
 * @over: the last number has come
 */
struct kv_player {
	struct kv_end end;
	struct kv_end *mem;
	u32 want;
	atomic_t bad;
	struct completion *over;
};

#define KV_COUNT	1000

static int kv_player_recv(struct kv_player *me)
{
	struct ib_sge sge = kv_sge(me->mem, 0, sizeof(u32));
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	return ib_post_recv(me->end.qp, &wr, NULL);
}

static int kv_player_send(struct kv_player *me, u32 number)
{
	struct ib_sge sge = kv_sge(me->mem, PAGE_SIZE, sizeof(number));
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1 };

	*(u32 *)page_address(me->mem->page[1]) = number;
	return ib_post_send(me->end.qp, &wr, NULL);
}

static void kv_player_wc(struct kv_player *me, const struct ib_wc *wc)
{
	u32 got = *(u32 *)page_address(me->mem->page[0]);

	if (wc->status == IB_WC_WR_FLUSH_ERR || (!wc->status && wc->opcode == IB_WC_SEND))
		return;
	if (wc->status || wc->byte_len != sizeof(got) || got != me->want)
		goto bad;
	me->want += 2;
	if (got == KV_COUNT) {
		complete(me->over);
		return;
	}
	/* there before what the answer leads to */
	if (!kv_player_recv(me) && !kv_player_send(me, got + 1))
		return;
bad:
	atomic_inc(&me->bad);
	complete(me->over);
}

static void kv_player_handler(struct ib_cq *cq, void *context)
{
	struct kv_player *me = context;
	struct ib_wc wc;

	do {
		while (ib_poll_cq(cq, 1, &wc) > 0)
			kv_player_wc(me, &wc);
	} while (ib_req_notify_cq(cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) > 0);
}

static int kv_player_open(struct kv_player *me, struct kv_end *mem, int vector)
{
	struct ib_cq_init_attr cq = { .cqe = 64, .comp_vector = vector };
	struct ib_qp_init_attr init = {
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IB_QPT_RC, .sq_sig_type = IB_SIGNAL_ALL_WR,
	};

	me->mem = mem;
	me->end = *mem;
	me->end.qp = NULL;
	me->end.cq = ib_create_cq(mem->dev, kv_player_handler, NULL, me, &cq);
	if (IS_ERR(me->end.cq)) {
		me->end.cq = NULL;
		return kv_fail("ib_create_cq");
	}
	init.send_cq = me->end.cq;
	init.recv_cq = me->end.cq;
	me->end.qp = ib_create_qp(mem->pd, &init);
	if (IS_ERR(me->end.qp)) {
		me->end.qp = NULL;
		return kv_fail("ib_create_qp");
	}
	return 0;
}

static void kv_player_close(struct kv_player *me)
{
	if (me->end.qp)
		ib_destroy_qp(me->end.qp);
	if (me->end.cq)
		ib_destroy_cq(me->end.cq);
}

static int kv_play(struct kv_player *p, int vector)
{
	DECLARE_COMPLETION_ONSTACK(over);
	int i, err;

	for (i = 0; i < 2; i++) {
		p[i].over = &over;
		p[i].want = 2 - i;
	}
	err = kv_player_open(&p[0], &kv_a, vector) ?: kv_player_open(&p[1], &kv_b, vector) ?:
	      kv_modify(&p[0].end, &p[1].end) ?: kv_modify(&p[1].end, &p[0].end);
	for (i = 0; i < 2 && !err; i++)
		if (ib_req_notify_cq(p[i].end.cq, IB_CQ_NEXT_COMP) || kv_player_recv(&p[i]))
			err = kv_fail("arming and posting");
	if (!err && kv_player_send(&p[0], 1))
		err = kv_fail("posting");
	if (!err && !wait_for_completion_timeout(&over, KV_SECONDS * HZ))
		err = kv_fail("%u and %u come next, of %u", p[0].want, p[1].want, KV_COUNT);
	kv_player_close(&p[0]);
	kv_player_close(&p[1]);
	if (!err && (atomic_read(&p[0].bad) || atomic_read(&p[1].bad)))
		err = kv_fail("%d and %d were bad, at %u and %u", atomic_read(&p[0].bad),
			      atomic_read(&p[1].bad), p[0].want, p[1].want);
	return err;
}

/* Where the completion arises, and on a CPU that is named. */
int kv_test_handler(void)
{
	int vector[] = { 0, kv_a.dev->num_comp_vectors - 1 };
	struct kv_player *p;
	int i, err = 0;

	for (i = 0; !err && i < ARRAY_SIZE(vector); i++) {
		p = kcalloc(2, sizeof(*p), GFP_KERNEL);
		if (!p)
			return kv_fail("no memory");
		err = kv_play(p, vector[i]);
		kfree(p);
	}
	return err;
}

/**
 * struct kv_heard - a connection, and the events that its end @end[1] has
 * @end: their CQs are theirs, that of @end[1] of two elements
 * @srq: of @end[1], or NULL
 * @n: how many of each type
 * @wrong: of another object, or told by another's handler
 * @any: there was one
 */
struct kv_heard {
	struct kv_end end[2];
	struct ib_srq *srq;
	atomic_t n[IB_EVENT_WQ_FATAL + 1], wrong;
	struct completion any;
};

static void kv_heard_one(struct kv_heard *h, struct ib_event *event, bool right)
{
	if (!right || event->event > IB_EVENT_WQ_FATAL || event->device != h->end[1].dev)
		atomic_inc(&h->wrong);
	else
		atomic_inc(&h->n[event->event]);
	complete(&h->any);
}

static void kv_heard_qp(struct ib_event *event, void *context)
{
	struct kv_heard *h = context;

	kv_heard_one(h, event, event->element.qp == h->end[1].qp);
}

static void kv_heard_cq(struct ib_event *event, void *context)
{
	struct kv_heard *h = context;

	kv_heard_one(h, event, event->element.cq == h->end[1].cq);
}

#define KV_HEARD_DEPTH	8	/* of each queue */

static int kv_heard_open(struct kv_heard *h, bool shared)
{
	struct ib_srq_init_attr sattr = { .attr = { .max_wr = KV_HEARD_DEPTH, .max_sge = 1 } };
	struct ib_cq_init_attr cq[2] = { { .cqe = 16 }, { .cqe = 2 } };
	struct ib_qp_init_attr init = {
		.cap = { .max_send_wr = KV_HEARD_DEPTH, .max_recv_wr = KV_HEARD_DEPTH,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IB_QPT_RC, .sq_sig_type = IB_SIGNAL_ALL_WR,
		.qp_context = h,
	};
	int i;

	init_completion(&h->any);
	for (i = 0; i < 2; i++) {
		h->end[i] = i ? kv_b : kv_a;
		h->end[i].cq = NULL;
		h->end[i].qp = NULL;
	}
	if (shared) {
		h->srq = ib_create_srq(kv_b.pd, &sattr);
		if (IS_ERR(h->srq)) {
			h->srq = NULL;
			return kv_fail("ib_create_srq");
		}
	}
	for (i = 0; i < 2; i++) {
		h->end[i].cq = ib_create_cq(h->end[i].dev, NULL, i ? kv_heard_cq : NULL, h,
					    &cq[i]);
		if (IS_ERR(h->end[i].cq)) {
			h->end[i].cq = NULL;
			return kv_fail("ib_create_cq");
		}
		init.send_cq = h->end[i].cq;
		init.recv_cq = h->end[i].cq;
		init.srq = i ? h->srq : NULL;
		init.event_handler = i ? kv_heard_qp : NULL;
		h->end[i].qp = ib_create_qp(h->end[i].pd, &init);
		if (IS_ERR(h->end[i].qp)) {
			h->end[i].qp = NULL;
			return kv_fail("ib_create_qp");
		}
	}
	return kv_modify(&h->end[0], &h->end[1]) ?: kv_modify(&h->end[1], &h->end[0]);
}

static void kv_heard_close(struct kv_heard *h)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (h->end[i].qp)
			ib_destroy_qp(h->end[i].qp);
		if (h->end[i].cq)
			ib_destroy_cq(h->end[i].cq);
	}
	if (h->srq)
		ib_destroy_srq(h->srq);
}

/* One event of each type in the mask WANT comes, and none else then. */
static int kv_heard_exactly(struct kv_heard *h, const char *what, u32 want)
{
	u32 got, i;

	for (;;) {
		for (got = 0, i = 0; i < ARRAY_SIZE(h->n); i++)
			if (atomic_read(&h->n[i]))
				got |= BIT(i);
		if ((got & want) == want)
			break;
		if (!wait_for_completion_timeout(&h->any, KV_SECONDS * HZ))
			return kv_fail("%s: events %#x of %#x", what, got, want);
	}
	msleep(20);
	for (i = 0; i < ARRAY_SIZE(h->n); i++)
		if (atomic_read(&h->n[i]) != !!(want & BIT(i)))
			return kv_fail("%s: %d of %s", what, atomic_read(&h->n[i]),
				       ib_event_msg(i));
	return atomic_read(&h->wrong) ? kv_fail("%s: events of others", what) : 0;
}

static int kv_heard_send(struct kv_heard *h, enum ib_wr_opcode op, enum ib_wc_status status)
{
	struct ib_rdma_wr wr = { .wr = { .wr_id = 9, .opcode = op } };
	struct ib_sge sge = kv_sge(&kv_a, 0, 8);

	/* a WRITE goes where there is nothing for it */
	wr.wr.num_sge = op == IB_WR_RDMA_WRITE;
	wr.wr.sg_list = &sge;
	return kv_send(&h->end[0], &wr.wr) ?: kv_done(&h->end[0], 9, status, NULL);
}

/* In ERR by its consumer: of its SRQ's receives it takes no more. */
static int kv_heard_last(struct kv_heard *h)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	if (ib_modify_qp(h->end[1].qp, &attr, IB_QP_STATE))
		return kv_fail("to ERR");
	return kv_heard_exactly(h, "ERR", BIT(IB_EVENT_QP_LAST_WQE_REACHED));
}

/* Its peer asks for what it may not. */
static int kv_heard_access(struct kv_heard *h)
{
	return kv_heard_send(h, IB_WR_RDMA_WRITE, IB_WC_REM_ACCESS_ERR) ?:
	       kv_heard_exactly(h, "no access", BIT(IB_EVENT_QP_ACCESS_ERR));
}

/* A completion more than its queues hold, and with them its CQ: it can tell nobody. */
static int kv_heard_fatal(struct kv_heard *h)
{
	const struct ib_recv_wr recv = {};
	int i, err = 0, n = 2 * KV_HEARD_DEPTH + 1;

	for (i = 0; !err && i < n; i++) {
		if (ib_post_recv(h->end[1].qp, &recv, NULL))
			return kv_fail("posting");
		err = kv_heard_send(h, IB_WR_SEND, i < n - 1 ? IB_WC_SUCCESS :
				    IB_WC_REM_OP_ERR);
	}
	return err ?: kv_heard_exactly(h, "no room in a CQ",
				       BIT(IB_EVENT_CQ_ERR) | BIT(IB_EVENT_QP_FATAL));
}

int kv_test_events(void)
{
	static int (* const test[])(struct kv_heard *) = {
		kv_heard_last, kv_heard_access, kv_heard_fatal,
	};
	struct kv_heard *h;
	int i, err = 0;

	for (i = 0; !err && i < ARRAY_SIZE(test); i++) {
		h = kzalloc(sizeof(*h), GFP_KERNEL);
		if (!h)
			return kv_fail("no memory");
		err = kv_heard_open(h, !i) ?: test[i](h);
		kv_heard_close(h);
		kfree(h);
	}
	return err;
}
