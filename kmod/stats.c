// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of a link for "rdma statistic", and what "rdma resource -dd" shows of
 * a QP. Process context; per-CPU counters are summed without a lock.
 */
#include "xroce.h"

static const struct rdma_stat_desc xroce_descs[XROCE_CNT_MAX] = {
#define XROCE_CNT_DESC(sym, str, text) { .name = #str },
	XROCE_COUNTERS(XROCE_CNT_DESC)
#undef XROCE_CNT_DESC
};

static struct rdma_hw_stats *xroce_ib_alloc_stats(struct ib_device *ib,
						  u32 port)
{
	return rdma_alloc_hw_stats_struct(xroce_descs, XROCE_CNT_MAX,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

/**
 * xroce_link_count() - a counter of all CPUs
 * @link: the link
 * @c: which one
 */
u64 xroce_link_count(const struct xroce_link *link, enum xroce_counter c)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(link->counters, cpu)->v[c]);
	return sum;
}

static int xroce_ib_get_stats(struct ib_device *ib, struct rdma_hw_stats *stats,
			      u32 port, int index)
{
	u32 i;

	/* The device itself has none, only its port. */
	if (!port)
		return -EINVAL;
	for (i = 0; i < XROCE_CNT_MAX; i++)
		stats->value[i] = xroce_link_count(to_xlink(ib), i);
	return XROCE_CNT_MAX;
}

/* The QP may be destroyed meanwhile: only its living part is looked at. */
static int xroce_ib_fill_qp(struct sk_buff *msg, struct ib_qp *ib)
{
	struct xroce_hot hot = {};
	struct xroce_kqp *kqp;
	struct nlattr *table;
	u32 cwnd = 0, ssthresh = 0, retries = 0, rnr_retries = 0;

	rcu_read_lock();
	kqp = READ_ONCE(container_of(ib, struct xroce_ibqp, ib)->kqp);
	if (kqp) {
		spin_lock_bh(&kqp->qp.lock);
		hot = kqp->qp.hot;
		cwnd = kqp->qp.req.cwnd;
		ssthresh = kqp->qp.req.ssthresh;
		retries = kqp->qp.req.retries;
		rnr_retries = kqp->qp.req.rnr_retries;
		spin_unlock_bh(&kqp->qp.lock);
	}
	rcu_read_unlock();

	table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (!table)
		return -EMSGSIZE;
	if (rdma_nl_put_driver_u32(msg, "una", hot.una) ||
	    rdma_nl_put_driver_u32(msg, "next", hot.next) ||
	    rdma_nl_put_driver_u32(msg, "max", hot.max) ||
	    rdma_nl_put_driver_u32(msg, "epsn", hot.epsn) ||
	    rdma_nl_put_driver_u32(msg, "msn", hot.msn) ||
	    rdma_nl_put_driver_u32(msg, "cwnd", cwnd) ||
	    rdma_nl_put_driver_u32(msg, "ssthresh", ssthresh) ||
	    rdma_nl_put_driver_u32(msg, "retries", retries) ||
	    rdma_nl_put_driver_u32(msg, "rnr_retries", rnr_retries)) {
		nla_nest_cancel(msg, table);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, table);
	return 0;
}

const struct ib_device_ops xroce_stats_ops = {
	.alloc_hw_port_stats = xroce_ib_alloc_stats,
	.get_hw_stats = xroce_ib_get_stats,
	.fill_res_qp_entry = xroce_ib_fill_qp,
};
