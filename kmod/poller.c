// SPDX-License-Identifier: GPL-2.0
/*
 * A context that wants no doorbells: a thread of its process, charged to it, looks
 * at the send queues of its QPs until nothing was there for its idle time, then
 * asks for doorbells and sleeps. Process context; poller->lock guards the list. A QP
 * is looked at with BH off, and run with a reference: but for PREEMPT_RT nobody waits
 * for a thread that its user keeps from the CPU.
 */
#include <linux/ktime.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/stat.h>
#include <linux/sched/vhost_task.h>
#include <linux/signal.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>

#include "xroce.h"

/* A kernel without these tasks has nothing to link to. */
#define XROCE_HAVE_POLLER	IS_ENABLED(CONFIG_VHOST_TASK)

/**
 * struct xroce_poller - the thread of a context
 * @task: the thread
 * @tgid: the process whose thread it is
 * @lock: guards @qps and @at
 * @qps: its QPs
 * @at: among them, behind the one that was looked at last
 * @idle: nothing is found for so long, ns, before it sleeps
 * @last: when something was found; the thread's
 * @awake: it looks at the rings of @qps; the thread's
 * @rung: there was a doorbell, which the thread has not seen; RCU: a waker's
 * @freed: its context is gone
 * @told: the thread knows that, and looks no more; the thread's
 * @ends: two have to say so before it is waited for: who frees it, and the thread
 * @end: waits for the thread to be gone
 */
struct xroce_poller {
	struct vhost_task *task;
	struct pid *tgid;
	spinlock_t lock;		/* qps, at */
	struct list_head qps;
	struct list_head at;
	u64 idle;
	u64 last;
	bool awake;
	bool rung;
	bool freed;
	bool told;
	atomic_t ends;
	struct work_struct end;
};

static struct workqueue_struct *poller_wq;
static atomic_t pollers;

static void poller_gone(struct xroce_poller *p)
{
	if (atomic_inc_return(&p->ends) == 2)
		queue_work(poller_wq, &p->end);
}

/* Under the lock. Return: the next one to look at, or NULL after the last. */
static struct xroce_kqp *poller_next(struct xroce_poller *p)
{
	struct xroce_kqp *kqp;

	if (list_is_last(&p->at, &p->qps)) {
		list_move(&p->at, &p->qps);
		return NULL;
	}
	kqp = list_entry(p->at.next, struct xroce_kqp, poll_node);
	list_move(&p->at, &kqp->poll_node);
	return kqp;
}

/*
 * Look at each ring once; or, to @rest, users are to ring from here on, and who has
 * posted and not rung is served now. Return: has anything been taken from one.
 */
static bool poller_look(struct xroce_poller *p, bool rest)
{
	struct xroce_kqp *kqp;
	struct xroce_req *req;
	bool found = false;
	u32 tail;

	while (spin_lock_bh(&p->lock), (kqp = poller_next(p))) {
		req = &kqp->qp.req;
		/* Beside what is written for each ACK. */
		if (req->polled == rest)
			WRITE_ONCE(req->polled, !rest);
		tail = READ_ONCE(req->tail);
		if (rest || READ_ONCE(req->ring->prod) != tail) {
			/* Its owner takes it from the list, and then waits. */
			refcount_inc(&kqp->users);
			spin_unlock(&p->lock);
			xroce_qp_run(&kqp->qp);
			found |= READ_ONCE(req->tail) != tail;
			xroce_kqp_put(kqp);
			local_bh_enable();
		} else {
			spin_unlock_bh(&p->lock);
		}
		cond_resched();
	}
	spin_unlock_bh(&p->lock);
	return found;
}

/*
 * Return: false to sleep, with the task's state as it was: whoever rings or stops
 * it from then on wakes it.
 */
static bool poller_fn(void *data)
{
	struct xroce_poller *p = data;
	bool found;
	u64 now;

	if (READ_ONCE(p->freed)) {
		if (!p->told)
			poller_gone(p);
		p->told = true;
		return false;
	}
	if (!p->awake && !READ_ONCE(p->rung))
		return false;
	__set_current_state(TASK_RUNNING);
	now = ktime_get_ns();
	found = poller_look(p, false);
	if (xchg(&p->rung, false) || found)
		p->last = now;
	p->awake = now - p->last < p->idle;
	if (!p->awake)
		poller_look(p, true);
	/* Who shares this CPU may be about to post: spinning would keep it from that. */
	if (found || single_task_running())
		cond_resched();
	else
		yield();
	return true;
}

/* Its process dies; others may have the context, and ring from now on. */
static void poller_killed(void *data)
{
	struct xroce_poller *p = data;

	poller_look(p, true);
	/* Rung for ever, so that nobody wakes it: older kernels do not keep its task. */
	WRITE_ONCE(p->rung, true);
	synchronize_rcu();
	if (!p->told)
		poller_gone(p);
}

/**
 * xroce_poller_ring() - there is work: look at the rings for a while
 * @p: the poller
 *
 * Any context.
 */
void xroce_poller_ring(struct xroce_poller *p)
{
	if (!XROCE_HAVE_POLLER)
		return;
	guard(rcu)();
	if (!xchg(&p->rung, true))
		vhost_task_wake(p->task);
}

/**
 * xroce_poller_add() - the calling process has a new QP in the context
 * @p: the poller
 * @kqp: the queue pair
 *
 * Another process, which has imported the context, rings: it outlives the thread.
 */
void xroce_poller_add(struct xroce_poller *p, struct xroce_kqp *kqp)
{
	if (p->tgid != task_tgid(current))
		return;
	kqp->poller = p;
	spin_lock_bh(&p->lock);
	list_add_tail(&kqp->poll_node, &p->qps);
	spin_unlock_bh(&p->lock);
}

/**
 * xroce_poller_del() - from here on the thread does not look at a QP
 * @kqp: the queue pair
 */
void xroce_poller_del(struct xroce_kqp *kqp)
{
	spin_lock_bh(&kqp->poller->lock);
	list_del(&kqp->poll_node);
	spin_unlock_bh(&kqp->poller->lock);
}

static void poller_end(struct work_struct *work)
{
	struct xroce_poller *p = container_of(work, struct xroce_poller, end);

	if (XROCE_HAVE_POLLER)
		vhost_task_stop(p->task);
	put_pid(p->tgid);
	kfree(p);
	if (atomic_dec_and_test(&pollers))
		wake_up_var(&pollers);
}

/**
 * xroce_poller_new() - give the calling process the thread of a context of its
 * @us: its idle time, us
 *
 * Return: the poller, an error, or NULL: there is to be none, and doorbells do.
 */
struct xroce_poller *xroce_poller_new(u32 us)
{
	struct xroce_poller *p;
	sigset_t all, old;
	bool stopped;

	if (!XROCE_HAVE_POLLER)
		return ERR_PTR(-EOPNOTSUPP);
	if (us > XROCE_POLL_MAX_US)
		return ERR_PTR(-EINVAL);
	p = kzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);
	if (!p)
		return ERR_PTR(-ENOMEM);
	spin_lock_init(&p->lock);
	INIT_LIST_HEAD(&p->qps);
	list_add(&p->at, &p->qps);
	INIT_WORK(&p->end, poller_end);
	p->idle = us * (u64)NSEC_PER_USEC;
	/* A signal would have it fail, and then ib_core's ioctl() forgets a task. */
	siginitsetinv(&all, sigmask(SIGKILL));
	sigprocmask(SIG_BLOCK, &all, &old);
	p->task = vhost_task_create(poller_fn, poller_killed, p, "xroce-poll");
	/* Asked before the mask is put back: what has passed by then is no more to be seen */
	stopped = signal_pending(current);
	sigprocmask(SIG_SETMASK, &old, NULL);
	/* NULL in 6.12. What stops us, freezes or traces us cannot be blocked: do without */
	if (IS_ERR_OR_NULL(p->task)) {
		kfree(p);
		return stopped ? NULL : ERR_PTR(-ENOMEM);
	}
	p->tgid = get_pid(task_tgid(current));
	atomic_inc(&pollers);
	vhost_task_start(p->task);
	return p;
}

/**
 * xroce_poller_free() - end the thread; its context has no QPs any more
 * @p: the poller
 *
 * Does not wait: a process that is stopped, or frozen, ends none of its threads, and
 * no device, netdev, namespace or other thread's end waits for that.
 */
void xroce_poller_free(struct xroce_poller *p)
{
	WRITE_ONCE(p->freed, true);
	xroce_poller_ring(p);
	poller_gone(p);
}

/**
 * xroce_poller_exit() - wait for all threads to be gone
 */
void xroce_poller_exit(void)
{
	wait_var_event(&pollers, !atomic_read(&pollers));
	destroy_workqueue(poller_wq);
}

/**
 * xroce_poller_init() - be ready to end threads
 *
 * Return: 0 or -ENOMEM.
 */
int __init xroce_poller_init(void)
{
	poller_wq = alloc_workqueue("xroce_poller", WQ_UNBOUND, 0);
	return poller_wq ? 0 : -ENOMEM;
}
