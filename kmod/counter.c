// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of a link, and those that QPs are bound to ("rdma statistic qp bind"). Process
 * context. A link's are per CPU, summed without a lock. link->bound_lock, inside ib_core's
 * locks of a counter and of a port's, guards which QP is bound to which, and what these have.
 */
#include "xroce.h"

/**
 * struct xroce_bound - a QP that is bound to a counter, which keeps that alive
 * @node: in its link's list
 * @kqp: it
 * @counter: that
 * @seen: what it has counted and the counter has, or was not to have
 */
struct xroce_bound {
	struct list_head node;
	struct xroce_kqp *kqp;
	struct rdma_counter *counter;
	u64 seen[XROCE_CNT_MAX];
};

const struct rdma_stat_desc xroce_descs[XROCE_CNT_MAX] = {
#define XROCE_CNT_DESC(sym, str, text) { .name = #str },
	XROCE_COUNTERS(XROCE_CNT_DESC)
#undef XROCE_CNT_DESC
};

static struct rdma_hw_stats *xroce_ib_alloc_stats(struct ib_device *ib, u32 port)
{
	return rdma_alloc_hw_stats_struct(xroce_descs, XROCE_CNT_MAX,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

static struct rdma_hw_stats *xroce_ib_counter_stats(struct rdma_counter *counter)
{
	return xroce_ib_alloc_stats(counter->device, counter->port);
}

/**
 * xroce_env_total() - a counter of all CPUs
 * @dev: whose
 * @c: which one
 */
u64 xroce_env_total(const struct xroce_dev *dev, enum xroce_counter c)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(dev->count, cpu)[c]);
	return sum;
}

/* What a QP has counted since the last time is now its counter's. */
static void counter_take(struct xroce_bound *b)
{
	u64 n;
	u32 i;

	for (i = 0; i < XROCE_CNT_MAX; i++) {
		n = READ_ONCE(b->kqp->qp.count[i]) - b->seen[i];
		b->seen[i] += n;
		b->counter->stats->value[i] += n;
		b->kqp->link->bound_count[i] += n;
	}
}

static void bound_end(struct xroce_kqp *kqp)
{
	counter_take(kqp->bound);
	list_del(&kqp->bound->node);
	kfree(kqp->bound);
	kqp->bound = NULL;
}

static int xroce_ib_get_stats(struct ib_device *ib, struct rdma_hw_stats *stats,
			      u32 port, int index)
{
	struct xroce_link *link = to_xlink(ib);
	struct xroce_bound *b;
	u32 i;

	/* The device itself has none, only its port. */
	if (!port)
		return -EINVAL;
	/* ib_core adds what all counters have that QPs are, or were, bound to. */
	guard(mutex)(&link->bound_lock);
	list_for_each_entry(b, &link->bound, node)
		counter_take(b);
	for (i = 0; i < XROCE_CNT_MAX; i++)
		stats->value[i] = xroce_env_total(&link->dev, i) - link->bound_count[i];
	return XROCE_CNT_MAX;
}

static int xroce_ib_counter_update(struct rdma_counter *counter)
{
	struct xroce_link *link = to_xlink(counter->device);
	struct xroce_bound *b;

	guard(mutex)(&link->bound_lock);
	list_for_each_entry(b, &link->bound, node)
		if (b->counter == counter)
			counter_take(b);
	return 0;
}

#ifdef XROCE_HAVE_COUNTER_PORT
static int xroce_ib_counter_bind(struct rdma_counter *counter, struct ib_qp *ib, u32 port)
#else
static int xroce_ib_counter_bind(struct rdma_counter *counter, struct ib_qp *ib)
#endif
{
	struct xroce_link *link = to_xlink(ib->device);
	struct xroce_kqp *kqp;
	struct xroce_bound *b;

	guard(mutex)(&link->bound_lock);
	/* ib_core looked without a lock, and still lists a QP that is being destroyed. */
	kqp = to_kqp(ib);
	if (!kqp || kqp->bound)
		return -EINVAL;
	b = kzalloc(sizeof(*b), GFP_KERNEL_ACCOUNT);
	if (!b)
		return -ENOMEM;
	b->kqp = kqp;
	b->counter = counter;
	memcpy(b->seen, kqp->qp.count, sizeof(b->seen));
	list_add_tail(&b->node, &link->bound);
	kqp->bound = b;
	/* Not used again: ib_core lists one a little longer than it lives. */
	counter->id = counter->id ?: ++link->counter_id;
	ib->counter = counter;
	return 0;
}

/* ib_core does so before it destroys a QP, whose counts the counter keeps. */
#ifdef XROCE_HAVE_COUNTER_PORT
static int xroce_ib_counter_unbind(struct ib_qp *ib, u32 port)
#else
static int xroce_ib_counter_unbind(struct ib_qp *ib)
#endif
{
	struct xroce_kqp *kqp;

	guard(mutex)(&to_xlink(ib->device)->bound_lock);
	kqp = to_kqp(ib);
	if (!kqp || !kqp->bound)
		return -EINVAL;
	bound_end(kqp);
	ib->counter = NULL;
	return 0;
}

/**
 * xroce_counter_leave() - a QP is not found any more, nor bound
 * @ib: the queue pair, to be destroyed
 */
void xroce_counter_leave(struct ib_qp *ib)
{
	struct xroce_kqp *kqp = to_kqp(ib);

	guard(mutex)(&kqp->link->bound_lock);
	/* A dump of resources may be looking, under RCU. */
	WRITE_ONCE(to_kqp(ib), NULL);
	if (kqp->bound)
		bound_end(kqp);
}

/* There is nothing of ours to it. */
static int xroce_ib_counter_dealloc(struct rdma_counter *counter)
{
	return 0;
}

#ifdef XROCE_HAVE_COUNTER_PORT
/* ib_core asks without a look whether there is one. */
static void xroce_ib_counter_init(struct rdma_counter *counter)
{
}
#endif

const struct ib_device_ops xroce_counter_ops = {
	.alloc_hw_port_stats = xroce_ib_alloc_stats,
	.counter_alloc_stats = xroce_ib_counter_stats,
	.counter_bind_qp = xroce_ib_counter_bind,
	.counter_dealloc = xroce_ib_counter_dealloc,
#ifdef XROCE_HAVE_COUNTER_PORT
	.counter_init = xroce_ib_counter_init,
	.size_rdma_counter = sizeof(struct rdma_counter),
#endif
	.counter_unbind_qp = xroce_ib_counter_unbind,
	.counter_update_stats = xroce_ib_counter_update,
	.get_hw_stats = xroce_ib_get_stats,
};
