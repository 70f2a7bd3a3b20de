// SPDX-License-Identifier: GPL-2.0
/*
 * What netlink tells of objects: our own family of windows and address handles, RDMA netlink of
 * the rest. Process context; what is found in a table lives until the RCU read side ends, what
 * ib_core hands in may be going: of that only the living part is looked at.
 */
#include <net/genetlink.h>
#include <uapi/linux/xroce_netlink.h>

#include "nl_gen.h"
#include "xroce.h"

/* As it stands now: it may be bound anew between two of these. */
static int put_mw(struct sk_buff *skb, void *object, bool keys)
{
	const struct xroce_kmr *kmr = object;
	const struct xroce_mr *mr = &kmr->mr, *parent = READ_ONCE(mr->parent);

	if (mr->kind != XROCE_MW_1 && mr->kind != XROCE_MW_2)
		return 1;
	if (nla_put_u32(skb, XROCE_A_MW_TYPE, mr->kind == XROCE_MW_1 ? 1 : 2) ||
	    nla_put_u32(skb, XROCE_A_MW_PDN, kmr->pdn) ||
	    (keys && nla_put_u32(skb, XROCE_A_MW_RKEY, READ_ONCE(mr->key))))
		return -EMSGSIZE;
	if (READ_ONCE(mr->state) != XROCE_KEY_VALID || !parent)
		return 0;
	return nla_put_flag(skb, XROCE_A_MW_BOUND) ?:
	       (keys ? nla_put_uint(skb, XROCE_A_MW_IOVA, READ_ONCE(mr->iova)) : 0) ?:
	       nla_put_uint(skb, XROCE_A_MW_LENGTH, READ_ONCE(mr->length)) ?:
	       nla_put_u32(skb, XROCE_A_MW_ACCESS, READ_ONCE(mr->access)) ?:
	       (mr->kind == XROCE_MW_2 ?
		nla_put_u32(skb, XROCE_A_MW_QPN, READ_ONCE(mr->qpn)) : 0) ?:
	       (keys ? nla_put_u32(skb, XROCE_A_MW_LKEY, parent->key) : 0);
}

static int put_av(struct sk_buff *skb, const struct xroce_kah *kah)
{
	const struct ib_global_route *grh = &kah->attr.grh;
	const struct xroce_av *av = &kah->ah.av;
	const struct vlan_ethhdr *eth = (const void *)av->l2;

	return xroce_nl_path(skb, av, XROCE_A_AH_SGID) ?:
	       nla_put(skb, XROCE_A_AH_DMAC, ETH_ALEN, eth->h_dest) ?:
	       (av->l2_len == VLAN_ETH_HLEN ?
		nla_put_u32(skb, XROCE_A_AH_VLAN,
			    ntohs(eth->h_vlan_TCI) & VLAN_VID_MASK) : 0) ?:
	       nla_put_u32(skb, XROCE_A_AH_SL, av->prio) ?:
	       nla_put_u32(skb, XROCE_A_AH_TCLASS, grh->traffic_class) ?:
	       nla_put_u32(skb, XROCE_A_AH_FLOW_LABEL, grh->flow_label) ?:
	       nla_put_u32(skb, XROCE_A_AH_HOP_LIMIT, grh->hop_limit);
}

static int put_ah(struct sk_buff *skb, void *object, bool keys)
{
	const struct xroce_kah *kah = object;

	return nla_put_u32(skb, XROCE_A_AH_NUMBER, kah->entry.number) ?:
	       nla_put_u32(skb, XROCE_A_AH_PDN, kah->pdn) ?:
	       put_av(skb, kah);
}

int xroce_nl_mw_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	static const struct xroce_nl_kind kind = {
		XROCE_CMD_MW_GET, offsetof(struct xroce_kmr, link), &xroce_mrs,
		put_mw,
	};

	return xroce_nl_dump(skb, cb, &kind);
}

int xroce_nl_ah_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	static const struct xroce_nl_kind kind = {
		XROCE_CMD_AH_GET, offsetof(struct xroce_kah, link), &xroce_ahs,
		put_ah,
	};

	return xroce_nl_dump(skb, cb, &kind);
}

/* A number with a name, in RDMA netlink's messages. */
struct fact {
	const char *name;
	u64 value;
	bool hex;
};

/* And of counters, if there are some, those that are not 0. Who calls cancels. */
static int put_facts(struct sk_buff *skb, const struct fact *f, size_t n, const u64 *count)
{
	struct nlattr *table = nla_nest_start(skb, RDMA_NLDEV_ATTR_DRIVER);
	u32 i;

	if (!table)
		return -EMSGSIZE;
	for (; n; f++, n--)
		if (f->name && (f->hex ? rdma_nl_put_driver_u64_hex :
				rdma_nl_put_driver_u64)(skb, f->name, f->value))
			return -EMSGSIZE;
	for (i = 0; count && i < XROCE_CNT_MAX; i++)
		if (count[i] && rdma_nl_put_driver_u64(skb, xroce_descs[i].name, count[i]))
			return -EMSGSIZE;
	nla_nest_end(skb, table);
	return 0;
}

/* Of one that is being destroyed there is nothing to tell. */
static int fill_qp(struct sk_buff *skb, struct ib_qp *ib)
{
	const struct xroce_hot *hot;
	const struct xroce_req *req;
	struct xroce_kqp *kqp;
	int err;

	guard(rcu)();
	kqp = READ_ONCE(to_kqp(ib));
	if (!kqp)
		return 0;
	hot = &kqp->qp.hot;
	req = &kqp->qp.req;
	spin_lock_bh(&kqp->qp.lock);
	err = put_facts(skb, (const struct fact []){
			{ "una", hot->una }, { "next", hot->next },
			{ "max", hot->max }, { "epsn", hot->epsn },
			{ "msn", hot->msn }, { "cwnd", req->cwnd },
			{ "ssthresh", req->ssthresh },
			{ "retries", req->retries },
			{ "rnr_retries", req->rnr_retries },
	}, 9, kqp->qp.count);
	spin_unlock_bh(&kqp->qp.lock);
	return err;
}

static int fill_cq(struct sk_buff *skb, struct ib_cq *ib)
{
	u32 fill = 0, armed = 0;
	struct xroce_kcq *kcq;
	struct xroce_cq *cq;
	int err;

	guard(rcu)();
	kcq = READ_ONCE(to_kcq(ib));
	if (!kcq)
		return 0;
	cq = &kcq->cq;
	spin_lock_irq(&cq->lock);
	if (cq->ring) {
		/* The user's word, believed no further than the depth. */
		fill = min(cq->prod - READ_ONCE(cq->ring->cons), cq->mask + 1);
		armed = !!READ_ONCE(cq->ring->arm);
	}
	err = put_facts(skb, (const struct fact []){
			{ "completions", cq->prod }, { "fill", fill },
			{ "armed", armed }, { "overrun", cq->overrun },
	}, 4, NULL);
	spin_unlock_irq(&cq->lock);
	return err;
}

static int fill_mr(struct sk_buff *skb, struct ib_mr *ib)
{
	const struct xroce_kmr *kmr = to_kmr(ib);
	const struct xroce_mr *mr = &kmr->mr;
	u64 pages = mr->kind == XROCE_MR_FAST ? kmr->pages :
		    (mr->offset + mr->length + (1ull << mr->page_shift) - 1) >>
		    mr->page_shift;

	/* For who may see keys, the kernel's for nobody; whoever reads goes on with a dump. */
	bool may = !rdma_is_kernel_res(&ib->res) &&
		   (skb->sk ? sk_capable(skb->sk, CAP_NET_ADMIN) : capable(CAP_NET_ADMIN));

	return put_facts(skb, (const struct fact []){
			 { may ? "iova" : NULL, mr->iova, true }, { "access", mr->access, true },
			 { "page_size", 1ull << mr->page_shift },
			 { "pages", pages },
			 { "windows", max(atomic_read(&mr->windows), 0) },
			 { "valid", READ_ONCE(mr->state) == XROCE_KEY_VALID },
	}, 6, NULL);
}

static int fill_srq(struct sk_buff *skb, struct ib_srq *ib)
{
	struct xroce_ksrq *srq;
	struct xroce_rq *rq;
	u32 depth, fill, limit;

	guard(rcu)();
	srq = READ_ONCE(to_ksrq(ib));
	if (!srq)
		return 0;
	rq = &srq->rq;
	spin_lock_bh(&rq->lock);
	/* The ring is gone once it is being destroyed. */
	depth = rq->mask + 1;
	fill = xroce_ring_fill(rq->ring, rq->cons, depth);
	limit = rq->limit;
	spin_unlock_bh(&rq->lock);
	return put_facts(skb, (const struct fact []){
			 { "max_wr", depth }, { "max_sge", rq->max_sge },
			 { "limit", limit }, { "fill", fill }, }, 4, NULL);
}

const struct ib_device_ops xroce_res_ops = {
	.fill_res_qp_entry = fill_qp,
	.fill_res_cq_entry = fill_cq,
	.fill_res_mr_entry = fill_mr,
	.fill_res_srq_entry = fill_srq,
};
