// SPDX-License-Identifier: GPL-2.0
/*
 * What cannot be done where it comes up: runs of QPs, calls of handlers and the frames that
 * this host sends to itself. Each CPU has a NAPI on a dummy netdev for them, polled in softirq
 * with no lock held. What is queued goes to this CPU, from any context, but for a CQ's vector,
 * and a QP that another sends for; frames, with BH off, to that of those that they follow.
 */
#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/llist.h>
#include <linux/list.h>
#include <linux/sched/isolation.h>
#include <linux/smp.h>
#include <rdma/ib_addr.h>

#include "xroce.h"

/* What a QP's run, up to XROCE_RUN_BUDGET frames, counts in a poll's budget. */
#define XROCE_RUN_WEIGHT	16
/* Looped frames a queue holds; more are not taken, and sent later. */
#define XROCE_LOOP_MAX		1024

/* What is queued: QPs to be run, CQs and SRQs whose handlers are to be called. */
enum work_kind { WORK_QP, WORK_CQ, WORK_SRQ, WORK_KINDS };

/**
 * struct xroce_work - one CPU's work
 * @napi: polled on this CPU, or on another one when this one has gone offline
 * @kick: schedules it, for who has claimed its poll on another CPU
 * @list: of each kind, lock-free, newest first
 * @todo: taken off @list and turned round; the poll's alone
 * @lock: guards @loop and @looped; held for a burst, or to take all
 * @loop: frames on their way to be received on this host
 * @looped: how many
 * @loop_todo: those taken off @loop; the poll's alone
 * @loop_more: not seen empty, under @lock, behind the last frame; the poll's alone
 */
struct xroce_work {
	struct napi_struct napi;
	call_single_data_t kick;
	struct llist_head list[WORK_KINDS];
	struct llist_node *todo[WORK_KINDS];
	spinlock_t lock;		/* loop, looped */
	struct list_head loop;
	u32 looped;
	struct list_head loop_todo;
	bool loop_more;
};

static struct xroce_work __percpu *xroce_works;
static struct net_device *xroce_napi_dev;

/* Users name any CPU, also one isolated from them; PREEMPT_RT's SMP calls may raise no softirq. */
static bool work_elsewhere(int cpu)
{
	return !IS_ENABLED(CONFIG_PREEMPT_RT) && cpu >= 0 && cpu != smp_processor_id() &&
	       cpu_online(cpu) && housekeeping_cpu(cpu, HK_TYPE_DOMAIN);
}

/*
 * Whoever adds to an empty queue schedules the NAPI; while a queue is not empty a poll of it is
 * still to come. Outside of BH and interrupts that is done by ksoftirqd.
 */
static void work_add(enum work_kind kind, struct llist_node *node, int cpu)
{
	struct xroce_work *work;
	unsigned long flags;

	local_irq_save(flags);
	if (!work_elsewhere(cpu)) {
		work = this_cpu_ptr(xroce_works);
		if (llist_add(node, &work->list[kind]))
			napi_schedule_irqoff(&work->napi);
	} else {
		work = per_cpu_ptr(xroce_works, cpu);
		/*
		 * Whoever claims the poll has the kick alone until it begins. The
		 * list may be empty for two of us: of two kicks at once, queued
		 * with no lock, the other CPU would never see the end.
		 */
		if (llist_add(node, &work->list[kind]) && napi_schedule_prep(&work->napi))
			smp_call_function_single_async(cpu, &work->kick);
	}
	local_irq_restore(flags);
}

/**
 * xroce_env_defer() - run a QP soon, and raise its events
 * @qp: the queue pair
 * @cpu: where, BH being off; or -1: on this CPU, unless it is about to be run anyway
 *
 * Any context. The caller knows that the QP's memory stays.
 *
 * Return: false when that CPU does not work for us, and it is not done.
 */
bool xroce_env_defer(struct xroce_qp *qp, int cpu)
{
	struct xroce_kqp *kqp = xroce_qp_kqp(qp);
	int at;

	if (cpu >= 0) {
		/* While it was offline its poll was given away, and may go on there. */
		at = READ_ONCE(per_cpu_ptr(xroce_works, cpu)->napi.list_owner);
		if (!work_elsewhere(cpu) || (at >= 0 && at != cpu))
			return false;
	}
	/* Without a user its owner has gone: nobody is left to run it for. */
	if (!atomic_xchg(&kqp->queued, 1) && refcount_inc_not_zero(&kqp->users))
		work_add(WORK_QP, &kqp->work, cpu);
	return true;
}

/**
 * xroce_env_cq_event() - call a CQ's handler soon, on the CPU of its vector
 * @cq: the completion queue
 *
 * Any context. The caller knows that the CQ's memory stays.
 */
void xroce_env_cq_event(struct xroce_cq *cq)
{
	struct xroce_kcq *kcq = xroce_cq_kcq(cq);

	atomic_inc(&kcq->raised);
	if (atomic_inc_return(&kcq->events) == 1 && refcount_inc_not_zero(&kcq->users))
		work_add(WORK_CQ, &kcq->work, kcq->cpu);
}

/**
 * xroce_env_srq_limit() - tell an SRQ's consumer soon that few requests are left
 * @rq: the SRQ
 *
 * Any context. The caller knows that the SRQ's memory stays.
 */
void xroce_env_srq_limit(struct xroce_rq *rq)
{
	struct xroce_ksrq *srq = container_of(rq, struct xroce_ksrq, rq);

	if (!atomic_xchg(&srq->queued, 1) && refcount_inc_not_zero(&srq->users))
		work_add(WORK_SRQ, &srq->work, -1);
}

/**
 * xroce_work_loop() - receive frames of this host on this host
 * @kqp: their sender
 * @f: the frames, in memory of ours
 * @n: how many
 *
 * BH off, by the QP's one sender. Where frames of the QP are still on their way
 * on another CPU these follow them, so that they keep their order.
 *
 * Return: how many the queue has room for; the rest stays the caller's.
 */
u32 xroce_work_loop(struct xroce_kqp *kqp, struct xroce_frame **f, u32 n)
{
	struct xroce_work *here = this_cpu_ptr(xroce_works);
	struct xroce_work *work = kqp->loop_work ?: here;
	u32 len, i;

	spin_lock(&work->lock);
	if (work != here && !atomic_read(&kqp->looping)) {
		spin_unlock(&work->lock);
		work = here;
		spin_lock(&work->lock);
	}
	kqp->loop_work = work;
	len = work->looped;
	n = min(n, XROCE_LOOP_MAX - len);
	for (i = 0; i < n; i++) {
		to_kframe(f[i])->kqp = kqp;
		list_add_tail(&to_kframe(f[i])->node, &work->loop);
	}
	WRITE_ONCE(work->looped, work->looped + n);
	/* So that its link and namespace stay until they are received. */
	if (n && !atomic_fetch_add(n, &kqp->looping))
		refcount_inc(&kqp->users);
	spin_unlock(&work->lock);
	/* On another CPU the poll that has them will look again. */
	if (!len && n && work == here)
		napi_schedule(&work->napi);
	return n;
}

/**
 * xroce_kqp_put() - let go of a QP; its owner waits for the last to do so
 * @kqp: the queue pair
 */
void xroce_kqp_put(struct xroce_kqp *kqp)
{
	if (refcount_dec_and_test(&kqp->users))
		complete(&kqp->gone);
}

/**
 * xroce_kcq_put() - let go of a CQ; its owner waits for the last to do so
 * @kcq: the completion queue
 */
void xroce_kcq_put(struct xroce_kcq *kcq)
{
	if (refcount_dec_and_test(&kcq->users))
		complete(&kcq->gone);
}

/**
 * xroce_env_srq_put() - let go of an SRQ; its owner waits for the last to do so
 * @rq: its receive queue
 */
void xroce_env_srq_put(struct xroce_rq *rq)
{
	struct xroce_ksrq *srq = container_of(rq, struct xroce_ksrq, rq);

	if (refcount_dec_and_test(&srq->users))
		complete(&srq->gone);
}

/**
 * xroce_kcq_settle() - wait until the handler calls owed by now have been made
 * @kcq: a kernel consumer's completion queue
 *
 * Process context. ib_free_cq() ends the work that the handler starts, and only then
 * destroys the CQ: with its last QP gone there may be no call any more.
 */
void xroce_kcq_settle(struct xroce_kcq *kcq)
{
	int raised = atomic_read(&kcq->raised);

	wait_var_event(&kcq->handled, atomic_read(&kcq->handled) - raised >= 0);
}

static void raise_srq_limit(struct ib_srq *ib)
{
	struct ib_event event = {
		.device = ib->device,
		.element.srq = ib,
		.event = IB_EVENT_SRQ_LIMIT_REACHED,
	};

	if (ib->event_handler)
		ib->event_handler(&event, ib->srq_context);
}

static void raise_qp_events(struct xroce_kqp *kqp)
{
	static const enum ib_event_type type[] = {
		[XROCE_EVENT_QP_FATAL]		= IB_EVENT_QP_FATAL,
		[XROCE_EVENT_QP_REQ_ERR]	= IB_EVENT_QP_REQ_ERR,
		[XROCE_EVENT_QP_ACCESS_ERR]	= IB_EVENT_QP_ACCESS_ERR,
		[XROCE_EVENT_COMM_EST]		= IB_EVENT_COMM_EST,
		[XROCE_EVENT_SQ_DRAINED]	= IB_EVENT_SQ_DRAINED,
		[XROCE_EVENT_LAST_WQE]		= IB_EVENT_QP_LAST_WQE_REACHED,
	};
	unsigned long events = xchg(&kqp->events, 0);
	struct ib_qp *ib = kqp->ib;
	struct ib_event event = {
		.device = ib->device,
		.element.qp = ib,
	};
	unsigned int bit;

	for_each_set_bit(bit, &events, ARRAY_SIZE(type)) {
		event.event = type[bit];
		if (ib->event_handler)
			ib->event_handler(&event, ib->qp_context);
	}
}

static void call_cq_handler(struct xroce_kcq *kcq)
{
	struct ib_cq *ib = kcq->ib;
	struct ib_event event = {
		.device = ib->device,
		.element.cq = ib,
		.event = IB_EVENT_CQ_ERR,
	};

	if (xchg(&kcq->error, false)) {
		if (ib->event_handler)
			ib->event_handler(&event, ib->cq_context);
	} else if (ib->comp_handler) {
		ib->comp_handler(ib, ib->cq_context);
	}
}

/* The next item of a list in the order of queueing, or NULL. */
static struct llist_node *work_next(struct xroce_work *work, enum work_kind kind)
{
	struct llist_node *node = work->todo[kind];

	/* Who adds to an empty list has this poll done once more. */
	if (!node && !llist_empty(&work->list[kind]))
		node = llist_reverse_order(llist_del_all(&work->list[kind]));
	if (node)
		work->todo[kind] = node->next;
	return node;
}

static int poll_cqs(struct xroce_work *work, int budget)
{
	struct llist_node *node;
	struct xroce_kcq *kcq;
	int done, owed;

	for (done = 0; done < budget; done++) {
		node = work_next(work, WORK_CQ);
		if (!node)
			break;
		kcq = container_of(node, struct xroce_kcq, work);
		call_cq_handler(kcq);
		owed = atomic_dec_return(&kcq->events);
		if (!kcq->ib->uobject) {
			atomic_inc(&kcq->handled);
			smp_mb__after_atomic();	/* before who waits is looked for */
			wake_up_var(&kcq->handled);
		}
		if (owed)
			llist_add(node, &work->list[WORK_CQ]);
		else
			xroce_kcq_put(kcq);
	}
	return done;
}

static int poll_srqs(struct xroce_work *work, int budget)
{
	struct llist_node *node;
	struct xroce_ksrq *srq;
	int done;

	for (done = 0; done < budget; done++) {
		node = work_next(work, WORK_SRQ);
		if (!node)
			break;
		srq = container_of(node, struct xroce_ksrq, work);
		/* From here on what comes up queues it again. */
		atomic_xchg(&srq->queued, 0);
		raise_srq_limit(srq->ib);
		xroce_env_srq_put(&srq->rq);
	}
	return done;
}

static void loop_rx(struct xroce_kqp *kqp, struct xroce_frame *f)
{
	struct xroce_link *link = kqp->link;
	union ib_gid gid;

	xroce_l3_dgid(f->seg[0].p, &gid);
	/*
	 * To itself mostly; or to a group: those who hear what the link sends. What
	 * another link has of a link-local address is another one.
	 */
	if (!xroce_link_has_gid(link, &gid) && !rdma_is_multicast_addr((struct in6_addr *)&gid))
		link = ipv6_addr_type((struct in6_addr *)&gid) & IPV6_ADDR_LINKLOCAL ?
		       NULL : xroce_link_by_gid_rcu(link->net, link->ndev, &gid);
	if (link)
		xroce_rx_looped(link, f);
	else
		xroce_env_count(&kqp->link->dev, XROCE_CNT_TX_DROPPED, 1);
	xroce_env_frame_free(f);
}

/* The next frame looped back, or NULL. */
static struct xroce_kframe *loop_next(struct xroce_work *work)
{
	struct xroce_kframe *kf;

	if (list_empty(&work->loop_todo)) {
		spin_lock(&work->lock);
		list_splice_init(&work->loop, &work->loop_todo);
		WRITE_ONCE(work->looped, 0);
		spin_unlock(&work->lock);
	}
	kf = list_first_entry_or_null(&work->loop_todo, struct xroce_kframe, node);
	if (kf)
		list_del(&kf->node);
	return kf;
}

/*
 * A sender that finds no frame of its QP's left goes on with another CPU's queue: so a frame is
 * one of them until after it was received, and the queue is looked at once more after the last.
 */
static int poll_loop(struct xroce_work *work, int budget)
{
	struct xroce_kframe *kf;
	struct xroce_kqp *kqp;
	int done;

	/* Who sends on another CPU, and has not added them yet, has none to follow here. */
	if (!work->loop_more && !READ_ONCE(work->looped))
		return 0;
	for (done = 0; done < budget; done++) {
		kf = loop_next(work);
		if (!kf)
			break;
		kqp = kf->kqp;
		loop_rx(kqp, &kf->f);
		if (atomic_dec_and_test(&kqp->looping))
			xroce_kqp_put(kqp);
	}
	work->loop_more = done == budget;
	return done;
}

static int poll_qps(struct xroce_work *work, int budget)
{
	struct llist_node *node;
	struct xroce_kqp *kqp;
	int done;

	for (done = 0; done < budget; done += XROCE_RUN_WEIGHT) {
		node = work_next(work, WORK_QP);
		if (!node)
			break;
		kqp = container_of(node, struct xroce_kqp, work);
		/* From here on what comes up queues it again. */
		atomic_xchg(&kqp->queued, 0);
		if (READ_ONCE(kqp->events))
			raise_qp_events(kqp);
		xroce_qp_run(&kqp->qp);
		xroce_kqp_put(kqp);
	}
	return done;
}

/*
 * Each kind has a budget of its own, so that none starves another. A poll that
 * used one up is called again, after the other NAPIs of this CPU.
 */
static int work_poll(struct napi_struct *napi, int budget)
{
	struct xroce_work *work = container_of(napi, struct xroce_work, napi);
	int done;

	done = poll_loop(work, budget);
	done = max(done, poll_cqs(work, budget));
	done = max(done, poll_srqs(work, budget));
	done = max(done, poll_qps(work, budget));
	if (done >= budget)
		return budget;
	napi_complete_done(napi, done);
	return done;
}

static void work_kick(void *work)
{
	__napi_schedule(&((struct xroce_work *)work)->napi);
}

int xroce_work_init(void)
{
	struct xroce_work *work;
	int cpu;

	xroce_works = alloc_percpu(struct xroce_work);
	if (!xroce_works)
		return -ENOMEM;
	xroce_napi_dev = alloc_netdev_dummy(0);
	if (!xroce_napi_dev) {
		free_percpu(xroce_works);
		return -ENOMEM;
	}
	for_each_possible_cpu(cpu) {
		work = per_cpu_ptr(xroce_works, cpu);
		spin_lock_init(&work->lock);
		INIT_LIST_HEAD(&work->loop);
		INIT_LIST_HEAD(&work->loop_todo);
		INIT_CSD(&work->kick, work_kick, work);
		/* Not for busy polling: it receives for no socket. */
		set_bit(NAPI_STATE_NO_BUSY_POLL, &work->napi.state);
		netif_napi_add(xroce_napi_dev, &work->napi, work_poll);
		napi_enable(&work->napi);
	}
	return 0;
}

/* All QPs, CQs and SRQs have gone, and with them what was queued. */
void xroce_work_exit(void)
{
	struct xroce_work *work;
	int cpu;

	for_each_possible_cpu(cpu) {
		work = per_cpu_ptr(xroce_works, cpu);
		/* A kick under way is a poll that is claimed: this waits for it. */
		napi_disable(&work->napi);
		netif_napi_del(&work->napi);
	}
	free_netdev(xroce_napi_dev);
	free_percpu(xroce_works);
}
