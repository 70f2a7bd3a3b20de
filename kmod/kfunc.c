// SPDX-License-Identifier: GPL-2.0
/*
 * What an XDP program may ask of the module. Runs in the program's context, under RCU with BH
 * off. Arguments are a program's word: any value gets a harmless answer.
 */
#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/cpumask.h>
#include <linux/etherdevice.h>
#include <linux/hash.h>
#include <linux/if_vlan.h>
#include <net/xdp.h>

#include "xroce.h"

/* Is a link on the netdev that a frame came by, or on a VLAN of it. */
static bool link_is_on(const struct xroce_link *link, const struct net_device *dev)
{
	const struct net_device *ndev = link->ndev;

	return ndev == dev || (is_vlan_dev(ndev) && vlan_dev_real_dev(ndev) == dev) ||
	       (is_vlan_dev(dev) && vlan_dev_real_dev(dev) == ndev);
}

/**
 * xroce_steer_link() - which of the CPUs set for a QP's link: the same as long as they are
 * @kqp: the queue pair
 *
 * Return: a CPU, or XROCE_XDP_CPU_STAY where none is set.
 */
int xroce_steer_link(const struct xroce_kqp *kqp)
{
	const struct cpumask *steer = &kqp->link->steer;
	u32 n = cpumask_weight(steer);
	int cpu = cpumask_nth(reciprocal_scale(hash_32(kqp->qp.hot.qpn, 32), n), steer);

	/* The mask may have shrunk meanwhile. */
	return cpu < nr_cpu_ids ? cpu : XROCE_XDP_CPU_STAY;
}

/*
 * The link that a frame is for, by its address and where it came in. What a
 * program points to may have any size, and change: the copy @to is what counts.
 */
static struct xroce_link *addr_link(const struct net_device *dev,
				    struct xroce_xdp_addr *to, const void *addr,
				    u32 addr__sz)
{
	struct xroce_link *link = xroce_link_by_ndev_rcu(dev);
	union ib_gid gid;

	if (addr__sz != sizeof(*to))
		return NULL;
	memcpy(to, addr, sizeof(*to));
	memcpy(&gid, to->gid, sizeof(gid));
	if (link && xroce_link_has_gid(link, &gid))
		return link;
	link = xroce_link_by_gid_rcu(dev_net(dev), NULL, &gid);
	return link && link_is_on(link, dev) ? link : NULL;
}

/* Is the VLAN of a frame's tag there, and another namespace's than the link's. */
static bool vlan_is_others(const struct xroce_link *link, struct net_device *dev,
			   const struct vlan_ethhdr *eth)
{
	/* Once: others may write to the frame, and the stack warns of other kinds. */
	__be16 proto = READ_ONCE(eth->h_vlan_proto);
	const struct net_device *vlan;

	if (!eth_type_vlan(proto))
		return false;
	guard(rcu)();
	vlan = __vlan_find_dev_deep_rcu(dev, proto, ntohs(eth->h_vlan_TCI) & VLAN_VID_MASK);
	return vlan && !net_eq(dev_net(vlan), link->net);
}

__bpf_kfunc_start_defs();

/**
 * bpf_xroce_addr() - is a frame for a GID of a link on the netdev it came by
 * @ctx: the frame
 * @addr: a &struct xroce_xdp_addr; its ifindex does not matter
 * @addr__sz: the size of that
 *
 * XDP programs, wherever they run: the netdev is the one the frame came by, also
 * after a redirect to a CPU. The stack would drop what is for another MAC, or a
 * bridge take it along; its VLAN may be another namespace's. Return: 1 if GID and MAC
 * are the link's, also when it is on a VLAN of that netdev, or else 0.
 */
__bpf_kfunc int bpf_xroce_addr(struct xdp_md *ctx, const void *addr, u32 addr__sz)
{
	const struct xdp_buff *xdp = (const struct xdp_buff *)ctx;
	struct net_device *dev = xdp->rxq->dev;
	const struct vlan_ethhdr *eth = xdp->data;
	struct xroce_xdp_addr to;
	struct xroce_link *link = addr_link(dev, &to, addr, addr__sz);

	if (!link || xdp->data + sizeof(*eth) > xdp->data_end || vlan_is_others(link, dev, eth))
		return 0;
	return ether_addr_equal_unaligned(to.mac, dev->dev_addr) ||
	       ether_addr_equal_unaligned(to.mac, link->ndev->dev_addr);
}

/**
 * bpf_xroce_drop() - a frame is about to be dropped: count it, let it be seen
 * @ctx: the frame
 * @addr: what bpf_xroce_addr() has been asked about
 * @addr__sz: the size of that
 * @why: &enum xroce_xdp_stat
 *
 * XDP programs, wherever they run. Return: 0.
 */
__bpf_kfunc int bpf_xroce_drop(struct xdp_md *ctx, const void *addr, u32 addr__sz, u32 why)
{
	struct xdp_buff *xdp = (struct xdp_buff *)ctx;
	struct xroce_xdp_addr to;
	struct xroce_link *link = addr_link(xdp->rxq->dev, &to, addr, addr__sz);

	if (!link || why >= XROCE_XDP_STAT_MAX)
		return 0;
	xroce_env_count(&link->dev, XROCE_CNT_MALFORMED, 1);
	/* which copies the frame */
	if (!xroce_is_atomic())
		xroce_trace_rx_xdp(link, xdp, XROCE_VERDICT_XDP + why);
	return 0;
}

/**
 * bpf_xroce_cpu() - the CPU that a QP's packets are to go to
 * @ctx: the frame
 * @qpn: the QP it is for
 *
 * XDP programs, wherever they run. Return: the CPU that was set for the QP, or one of those set
 * for its link; XROCE_XDP_CPU_STAY when neither was, under generic XDP, and when the frame's
 * VLAN cannot be told; or XROCE_XDP_CPU_NO_QP when no link on the frame's netdev has such a QP.
 */
__bpf_kfunc int bpf_xroce_cpu(struct xdp_md *ctx, u32 qpn)
{
	const struct xdp_rxq_info *rxq = ((struct xdp_buff *)ctx)->rxq;
	struct xroce_kqp *kqp;
	struct xroce_qp *qp;

	qp = xroce_table_qp(qpn);
	if (!qp)
		return XROCE_XDP_CPU_NO_QP;
	kqp = xroce_qp_kqp(qp);
	if (!link_is_on(kqp->link, rxq->dev))
		return XROCE_XDP_CPU_NO_QP;
	if (xroce_xdp_is_generic(rxq) || xroce_xdp_no_tag((struct xdp_buff *)ctx))
		return XROCE_XDP_CPU_STAY;
	return xroce_steer_cpu(kqp);
}

__bpf_kfunc_end_defs();

BTF_KFUNCS_START(xroce_kfuncs)
BTF_ID_FLAGS(func, bpf_xroce_addr, XROCE_KF_TRUSTED)
BTF_ID_FLAGS(func, bpf_xroce_cpu)
BTF_ID_FLAGS(func, bpf_xroce_drop, XROCE_KF_TRUSTED)
BTF_ID_FLAGS(func, bpf_xroce_begin, KF_ACQUIRE | KF_RET_NULL | XROCE_KF_TRUSTED)
BTF_ID_FLAGS(func, bpf_xroce_hot, KF_RET_NULL | XROCE_KF_TRUSTED)
BTF_ID_FLAGS(func, bpf_xroce_place, XROCE_KF_TRUSTED)
BTF_ID_FLAGS(func, bpf_xroce_complete, XROCE_KF_TRUSTED)
BTF_ID_FLAGS(func, bpf_xroce_end, KF_RELEASE)
BTF_KFUNCS_END(xroce_kfuncs)

/*
 * What does not come back to bpf_xroce_end() leaves with what is held, and the verifier
 * lets it (6.12): a tail call out of a subprogram, and bpf_throw() in a global function,
 * which is looked at by itself. With interrupts off, or with preemption on PREEMPT_RT,
 * no lock of ours may be taken, and the kernel has functions for either. So who calls us
 * makes no tail call, and calls none of the kernel's own functions; whom those that do
 * have called, where they may (6.15), xroce_is_atomic() tells.
 */
static int kfunc_filter(const struct bpf_prog *prog, u32 id)
{
	const struct bpf_insn *insn;

	for (insn = prog->insnsi; insn < prog->insnsi + prog->len; insn++) {
		if (insn->code != (BPF_JMP | BPF_CALL))
			continue;
		if (!insn->src_reg && insn->imm == BPF_FUNC_tail_call)
			return -EACCES;
		/* without a module's number */
		if (insn->src_reg == BPF_PSEUDO_KFUNC_CALL && !insn->off)
			return -EACCES;
	}
	return 0;
}

static const struct btf_kfunc_id_set xroce_kfunc_set = {
	.owner = THIS_MODULE,
	.filter = kfunc_filter,
	.set = &xroce_kfuncs,
};

int xroce_kfunc_init(void)
{
	return register_btf_kfunc_id_set(BPF_PROG_TYPE_XDP, &xroce_kfunc_set);
}
