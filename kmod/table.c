// SPDX-License-Identifier: GPL-2.0
/*
 * QPs, AHs and SRQs of XRC by number, MRs by key, one table each for all links. Look-ups under
 * RCU from any context; changes in process context, each table's xa_lock inside.
 *
 * A number is 24 random bits, so that who did not see it cannot name it. One
 * that was given up stays reserved until XROCE_QUARANTINE more have been, so
 * that what is still under way for it finds nobody.
 */
#include <linux/random.h>

#include "xroce.h"

#define XROCE_QUARANTINE	1024
#define XROCE_BUCKETS		65536
#define XROCE_NUMBERS		(1 << 21)	/* one in eight */

/**
 * struct xroce_table - objects by random number
 * @bucket: the objects, for whoever has a packet in hand
 * @xa: the same and the numbers reserved, in order
 * @count: in use, of all links, at most XROCE_NUMBERS
 * @max: how many a link may have, which counts them in its @used[@kind]
 * @kind: of the tables which
 * @lock: guards @next_gone, @gone and changes of @bucket
 * @next_gone: where in @gone the next one goes
 * @gone: ring of the last numbers given up, still reserved; 0 for none yet
 */
struct xroce_table {
	struct hlist_head *bucket;
	struct xarray xa;
	atomic_t count;
	int max;
	u32 kind;
	spinlock_t lock;	/* the two below, writers of bucket */
	u32 next_gone;
	u32 gone[XROCE_QUARANTINE];
};

/* Odd: whoever sees numbers, and can choose among his own, knows none of the places. */
static u32 table_seed __ro_after_init;

struct xroce_table xroce_qps = { .max = XROCE_MAX_QP, .kind = XROCE_TABLE_QPS };
struct xroce_table xroce_mrs = { .max = XROCE_MAX_MR, .kind = XROCE_TABLE_MRS };
struct xroce_table xroce_ahs = { .max = XROCE_MAX_AH, .kind = XROCE_TABLE_AHS };
struct xroce_table xroce_srqs = { .max = XROCE_MAX_SRQ, .kind = XROCE_TABLE_SRQS };

static struct hlist_head *table_bucket(const struct xroce_table *t, u32 number)
{
	return &t->bucket[number * table_seed >> (32 - ilog2(XROCE_BUCKETS))];
}

/**
 * xroce_table_reserve() - give an object its number; it is not found yet
 * @t: the table
 * @e: its entry
 * @link: whose it is
 *
 * Return: 0 or -ENOMEM: the link, or all of them, have as many as there may be.
 */
int xroce_table_reserve(struct xroce_table *t, struct xroce_entry *e, struct xroce_link *link)
{
	u32 number;
	int err;

	if (!atomic_add_unless(&link->used[t->kind], 1, t->max))
		return -ENOMEM;
	err = -ENOMEM;
	if (!atomic_add_unless(&t->count, 1, XROCE_NUMBERS))
		goto err_used;
	/* So few are taken that this ends. */
	do {
		number = get_random_u32_inclusive(2, XROCE_QPN_MASK - 1);
		err = xa_insert(&t->xa, number, NULL, GFP_KERNEL_ACCOUNT);
	} while (err == -EBUSY);
	if (err)
		goto err_count;
	e->number = number;
	return 0;

err_count:
	atomic_dec(&t->count);
err_used:
	atomic_dec(&link->used[t->kind]);
	return err;
}

/**
 * xroce_table_publish() - let an object be found by the number it has
 * @t: the table
 * @e: its entry
 * @object: the object, for xroce_table_next()
 */
void xroce_table_publish(struct xroce_table *t, struct xroce_entry *e, void *object)
{
	/* The slot is there: this only overwrites it. */
	xa_store(&t->xa, e->number, object, GFP_KERNEL);
	spin_lock(&t->lock);
	hlist_add_head_rcu(&e->node, table_bucket(t, e->number));
	spin_unlock(&t->lock);
}

/* Under RCU, which BH off is. */
static struct xroce_entry *table_find(const struct xroce_table *t, u32 number)
{
	struct xroce_entry *e;

	hlist_for_each_entry_rcu(e, table_bucket(t, number), node)
		if (e->number == number)
			return e;
	return NULL;
}

/**
 * xroce_table_next() - find the first object numbered *@number or higher; under RCU
 * @t: the table
 * @number: becomes its number
 */
void *xroce_table_next(struct xroce_table *t, u32 *number)
{
	unsigned long index = *number;
	void *object = xa_find(&t->xa, &index, XROCE_QPN_MASK, XA_PRESENT);

	*number = index;
	return object;
}

/**
 * xroce_table_del() - let an object be found no more
 * @t: the table
 * @e: its entry
 * @link: whose it is
 *
 * Who has found it may look at it until an RCU grace period has passed.
 */
void xroce_table_del(struct xroce_table *t, struct xroce_entry *e, struct xroce_link *link)
{
	u32 number = e->number, old;

	/* The slot is there: this only overwrites it. */
	xa_store(&t->xa, number, XA_ZERO_ENTRY, GFP_KERNEL);
	spin_lock(&t->lock);
	hlist_del_rcu(&e->node);
	old = t->gone[t->next_gone];
	t->gone[t->next_gone] = number;
	t->next_gone = (t->next_gone + 1) % XROCE_QUARANTINE;
	spin_unlock(&t->lock);
	if (old)
		xa_erase(&t->xa, old);
	atomic_dec(&t->count);
	atomic_dec(&link->used[t->kind]);
}

/**
 * xroce_table_qp() - find a QP by any 32 bits; under RCU
 * @qpn: the number
 */
struct xroce_qp *xroce_table_qp(u32 qpn)
{
	struct xroce_entry *e = table_find(&xroce_qps, qpn);

	return e ? &container_of(e, struct xroce_kqp, entry)->qp : NULL;
}

/**
 * xroce_env_qp() - what the core finds QPs by; under RCU, which BH off is
 * @dev: the device
 * @qpn: the number
 */
struct xroce_qp *xroce_env_qp(struct xroce_dev *dev, u32 qpn)
{
	struct xroce_kqp *gsi;

	if (qpn != XROCE_GSI_QPN)
		return xroce_table_qp(qpn);
	/* A kernel consumer's poll has BH on, with PREEMPT_RT. */
	gsi = rcu_dereference_check(xroce_dev_link(dev)->gsi, rcu_read_lock_bh_held());
	return gsi ? &gsi->qp : NULL;
}

/**
 * xroce_env_ah() - what the core finds users' AHs by; it compares PDs
 * @dev: the link
 * @number: its number
 */
const struct xroce_ah *xroce_env_ah(struct xroce_dev *dev, u32 number)
{
	struct xroce_entry *e = table_find(&xroce_ahs, number);

	return e ? &container_of(e, struct xroce_kah, entry)->ah : NULL;
}

/**
 * xroce_env_srq() - what the core finds queues of XRC by; it compares domains
 * @dev: the link
 * @srqn: its number
 *
 * Return: to be given to xroce_env_srq_put(), or NULL.
 */
struct xroce_rq *xroce_env_srq(struct xroce_dev *dev, u32 srqn)
{
	struct xroce_entry *e = table_find(&xroce_srqs, srqn);
	struct xroce_ksrq *srq = container_of(e, struct xroce_ksrq, entry);

	return e && refcount_inc_not_zero(&srq->users) ? &srq->rq : NULL;
}

/**
 * xroce_env_mr() - what the core finds MRs by; it compares PDs, which are one
 *	device's each, and the whole key: only the index is looked at here
 * @dev: the device
 * @key: the L_Key or R_Key
 */
struct xroce_mr *xroce_env_mr(struct xroce_dev *dev, u32 key)
{
	struct xroce_entry *e = table_find(&xroce_mrs, key >> 8);

	return e ? &container_of(e, struct xroce_kmr, entry)->mr : NULL;
}

/* Written by this CPU alone, between a packet's look-up of a region and its end. */
DEFINE_PER_CPU(const struct xroce_mr *, xroce_used);

/**
 * xroce_env_unused() - wait until no CPU has the region in use, for one copy at most each
 * @mr: the region, for which nobody looks with success any more
 */
void xroce_env_unused(const struct xroce_mr *mr)
{
	int cpu;

	for_each_possible_cpu(cpu)
		while (READ_ONCE(per_cpu(xroce_used, cpu)) == mr)
			cpu_relax();
}

static struct xroce_table *const tables[] = {
	&xroce_qps, &xroce_mrs, &xroce_ahs, &xroce_srqs
};

static int table_init(struct xroce_table *t)
{
	xa_init_flags(&t->xa, XA_FLAGS_ACCOUNT);
	spin_lock_init(&t->lock);
	t->bucket = kvcalloc(XROCE_BUCKETS, sizeof(*t->bucket), GFP_KERNEL);
	return t->bucket ? 0 : -ENOMEM;
}

static void table_exit(struct xroce_table *t)
{
	WARN_ON(atomic_read(&t->count));
	xa_destroy(&t->xa);
	kvfree(t->bucket);
}

/**
 * xroce_table_init() - empty tables
 */
int __init xroce_table_init(void)
{
	int i, err = 0;

	table_seed = get_random_u32() | 1;
	for (i = 0; i < ARRAY_SIZE(tables) && !err; i++)
		err = table_init(tables[i]);
	while (err && i--)
		table_exit(tables[i]);
	return err;
}

/**
 * xroce_table_exit() - forget the numbers in quarantine
 */
void xroce_table_exit(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(tables); i++)
		table_exit(tables[i]);
}
