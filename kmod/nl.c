// SPDX-License-Identifier: GPL-2.0
/*
 * The generic netlink family: new links with extended acks, XDP attachment,
 * steering, and the transport state of QPs. Process context. link->xdp_lock
 * guards the attachment and the steering mask; a QP's lock its state.
 */
#include <linux/bpf.h>
#include <linux/rcupdate_wait.h>
#include <net/genetlink.h>
#include <uapi/linux/xroce_netlink.h>

#include "nl_gen.h"
#include "xroce.h"

/* Of a list of CPUs: docs/netlink/xroce.yaml. What is shown can be set. */
#define STEER_LEN	1023

static struct genl_family xroce_nl_family;

/* The link that a request names, by its name or its netdev; to be put. */
static struct xroce_link *nl_link(struct net *net, struct nlattr *name,
				  struct nlattr *ifindex, struct netlink_ext_ack *extack)
{
	struct xroce_link *link = NULL;
	struct net_device *ndev;

	if (!name == !ifindex) {
		NL_SET_ERR_MSG(extack, "name the link either by dev-name or by ifindex");
		return ERR_PTR(-EINVAL);
	}
	if (name) {
		link = xroce_link_get_by_name(net, nla_data(name));
	} else {
		ndev = dev_get_by_index(net, nla_get_u32(ifindex));
		if (ndev)
			link = xroce_link_get(ndev);
		dev_put(ndev);
	}
	if (link)
		return link;
	NL_SET_ERR_MSG_ATTR(extack, name ?: ifindex,
			    "no such xroce link in this network namespace");
	return ERR_PTR(-ENODEV);
}

static struct xroce_link *link_of(struct genl_info *info)
{
	return nl_link(genl_info_net(info), info->attrs[XROCE_A_LINK_DEV_NAME],
		       info->attrs[XROCE_A_LINK_IFINDEX], info->extack);
}

int xroce_nl_link_new_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct net_device *ndev;
	const char *name;
	int err;

	if (GENL_REQ_ATTR_CHECK(info, XROCE_A_LINK_DEV_NAME) ||
	    GENL_REQ_ATTR_CHECK(info, XROCE_A_LINK_IFINDEX)) {
		NL_SET_ERR_MSG(info->extack, "dev-name and ifindex are needed");
		return -EINVAL;
	}
	name = nla_data(info->attrs[XROCE_A_LINK_DEV_NAME]);
	/* As nldev: ib_core would take a "%d" for a number to fill in. */
	if (!*name || strchr(name, '%') || strchr(name, '/')) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[XROCE_A_LINK_DEV_NAME],
				    "a device name is not empty and has no % or /");
		return -EINVAL;
	}
	ndev = dev_get_by_index(genl_info_net(info),
				nla_get_u32(info->attrs[XROCE_A_LINK_IFINDEX]));
	if (!ndev) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[XROCE_A_LINK_IFINDEX],
				    "no such network device in this network namespace");
		return -ENODEV;
	}
	err = xroce_link_new(genl_info_net(info), name, ndev, info->extack);
	dev_put(ndev);
	return err;
}

/*
 * How the link's program is attached now; someone else may have detached it.
 * A struct bpf_xdp_link begins with its bpf_link; it is compared, not followed.
 */
static enum xroce_xdp_mode xdp_mode(const struct net_device *ndev, const struct bpf_link *xdp)
{
	const struct bpf_xdp_entity *state = ndev->xdp_state;

	if (!xdp)
		return XROCE_XDP_MODE_OFF;
	if ((void *)READ_ONCE(state[XDP_MODE_DRV].link) == xdp)
		return XROCE_XDP_MODE_NATIVE;
	if ((void *)READ_ONCE(state[XDP_MODE_SKB].link) == xdp)
		return XROCE_XDP_MODE_GENERIC;
	return XROCE_XDP_MODE_OFF;
}

/* bpf_link_update() may replace the program meanwhile. */
static u32 xdp_prog_id(const struct bpf_link *xdp)
{
	const struct bpf_prog *prog;

	guard(rcu)();
	prog = READ_ONCE(xdp->prog);
	return prog ? prog->aux->id : 0;
}

static int put_xdp(struct sk_buff *skb, struct xroce_link *link)
{
	enum xroce_xdp_mode mode;
	int err;

	guard(mutex)(&link->xdp_lock);
	mode = xdp_mode(link->ndev, link->xdp);
	err = nla_put_u32(skb, XROCE_A_LINK_XDP_MODE, mode);
	if (err || mode == XROCE_XDP_MODE_OFF)
		return err;
	return nla_put_u32(skb, XROCE_A_LINK_XDP_PROG_ID, xdp_prog_id(link->xdp)) ?:
	       nla_put_u32(skb, XROCE_A_LINK_XDP_LINK_ID, link->xdp->id);
}

static int put_steer(struct sk_buff *skb, struct xroce_link *link)
{
	char *list;
	int err;

	scoped_guard(mutex, &link->xdp_lock)
		list = kasprintf(GFP_KERNEL, "%*pbl", cpumask_pr_args(&link->steer));
	if (!list)
		return -ENOMEM;
	err = nla_put_string(skb, XROCE_A_LINK_STEER, list);
	kfree(list);
	return err;
}

static int put_link(struct sk_buff *skb, struct xroce_link *link, u32 portid, u32 seq, int flags)
{
	void *hdr = genlmsg_put(skb, portid, seq, &xroce_nl_family, flags, XROCE_CMD_LINK_GET);
	int err;

	if (!hdr)
		return -EMSGSIZE;
	/* Not dev_name(), whose memory a rename frees. */
	err = nla_put_string(skb, XROCE_A_LINK_DEV_NAME, link->ib.name) ?:
	      nla_put_u32(skb, XROCE_A_LINK_DEV_INDEX, link->ib.index) ?:
	      nla_put_u32(skb, XROCE_A_LINK_IFINDEX, link->ndev->ifindex) ?:
	      nla_put_string(skb, XROCE_A_LINK_IFNAME, link->ndev->name) ?:
	      nla_put_u32(skb, XROCE_A_LINK_ROCE_MTU, xroce_link_mtu(link)) ?:
	      nla_put_u32(skb, XROCE_A_LINK_CWND_INIT, link->dev.cwnd_init) ?:
	      nla_put_u32(skb, XROCE_A_LINK_CWND_MAX, link->dev.cwnd_max) ?:
	      nla_put_u32(skb, XROCE_A_LINK_CNP_GAP, link->dev.cnp_gap) ?:
	      put_xdp(skb, link) ?: put_steer(skb, link);
	if (err) {
		genlmsg_cancel(skb, hdr);
		return err;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

int xroce_nl_link_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct xroce_link *link = link_of(info);
	struct sk_buff *reply;
	int err = -ENOMEM;

	if (IS_ERR(link))
		return PTR_ERR(link);
	reply = genlmsg_new(NLMSG_GOODSIZE, GFP_KERNEL);
	if (reply)
		err = put_link(reply, link, info->snd_portid, info->snd_seq, 0);
	ib_device_put(&link->ib);
	if (!err)
		return genlmsg_reply(reply, info);
	nlmsg_free(reply);
	return err;
}

/* The first link on a netdev from *@cursor on; to be put. */
static struct xroce_link *next_link(struct net *net, unsigned long *cursor)
{
	struct xroce_link *link;
	struct net_device *ndev;

	guard(rcu)();
	for_each_netdev_dump(net, ndev, (*cursor)) {
		link = xroce_link_get(ndev);
		if (link)
			return link;
	}
	return NULL;
}

int xroce_nl_link_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct net *net = sock_net(skb->sk);
	unsigned long ifindex = cb->args[0];
	struct xroce_link *link;
	int err = 0;

	for (; (link = next_link(net, &ifindex)); ifindex++) {
		err = put_link(skb, link, NETLINK_CB(cb->skb).portid,
			       cb->nlh->nlmsg_seq, NLM_F_MULTI);
		ib_device_put(&link->ib);
		if (err)
			break;
	}
	cb->args[0] = ifindex;
	return err && !skb->len ? err : skb->len;
}

/* Under xdp_lock: @xdp, with its reference, becomes the link's attachment. */
static void xdp_replace(struct xroce_link *link, struct bpf_link *xdp)
{
	struct bpf_link *old = link->xdp;

	WRITE_ONCE(link->xdp, xdp);
	if (!old)
		return;
	if (old != xdp)
		old->ops->detach(old);
	bpf_link_put(old);
}

/**
 * xroce_link_xdp_detach() - detach what rdmatool attached, if anything
 * @link: with nobody else changing it, or held
 *
 * The program's references to this module go with the link's. May sleep, takes RTNL.
 */
void xroce_link_xdp_detach(struct xroce_link *link)
{
	guard(mutex)(&link->xdp_lock);
	xdp_replace(link, NULL);
}

static int link_xdp_set(struct xroce_link *link, struct nlattr *fd, struct netlink_ext_ack *extack)
{
	struct bpf_link *xdp;

	xdp = bpf_link_get_from_fd(nla_get_u32(fd));
	if (IS_ERR(xdp)) {
		NL_SET_ERR_MSG_ATTR(extack, fd, "xdp-fd is not a bpf_link");
		return PTR_ERR(xdp);
	}
	guard(mutex)(&link->xdp_lock);
	if (xdp->type != BPF_LINK_TYPE_XDP || xdp_mode(link->ndev, xdp) == XROCE_XDP_MODE_OFF) {
		bpf_link_put(xdp);
		NL_SET_ERR_MSG_ATTR(extack, fd,
				    "xdp-fd is not attached as XDP to this link's network device");
		return -EINVAL;
	}
	xdp_replace(link, xdp);
	return 0;
}

/* With the program that comes with it, if any: both, or neither. */
static int link_steer_set(struct xroce_link *link, struct nlattr *list, struct nlattr *fd,
			  struct netlink_ext_ack *extack)
{
	cpumask_var_t mask;
	int err;

	if (!zalloc_cpumask_var(&mask, GFP_KERNEL))
		return -ENOMEM;
	err = cpulist_parse(nla_data(list), mask);
	if (err || !cpumask_subset(mask, cpu_possible_mask)) {
		NL_SET_ERR_MSG_ATTR(extack, list, "steer is not a list of this machine's CPUs");
		err = -EINVAL;
	} else if (snprintf(NULL, 0, "%*pbl", cpumask_pr_args(mask)) > STEER_LEN) {
		NL_SET_ERR_MSG_ATTR(extack, list,
				    "steer is more than 1023 characters when each CPU is named");
		err = -EINVAL;
	} else if (fd) {
		err = link_xdp_set(link, fd, extack);
	}
	if (!err) {
		guard(mutex)(&link->xdp_lock);
		cpumask_copy(&link->steer, mask);
		WRITE_ONCE(link->steers, !cpumask_empty(mask));
	}
	free_cpumask_var(mask);
	return err;
}

/*
 * Which CPUs have the work is for who administers them, not a container's netdev; and what
 * program there is, since that may be a policy of his.
 */
static int host_only(struct sk_buff *skb, const struct nlattr *attr, struct netlink_ext_ack *extack)
{
	if (!attr || netlink_capable(skb, CAP_NET_ADMIN))
		return 0;
	NL_SET_ERR_MSG_ATTR(extack, attr, "steering and XDP need CAP_NET_ADMIN of the host");
	return -EPERM;
}

/* Whoever looks next sees it: a QP's window adapts, or is new. */
static void set_u32(u32 *val, struct nlattr *attr)
{
	if (attr)
		WRITE_ONCE(*val, nla_get_u32(attr));
}

int xroce_nl_link_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr **a = info->attrs, *fd = a[XROCE_A_LINK_XDP_FD];
	struct nlattr *detach = a[XROCE_A_LINK_XDP_DETACH];
	struct nlattr *steer = a[XROCE_A_LINK_STEER];
	struct xroce_link *link;
	int err = host_only(skb, steer ?: fd ?: detach, info->extack);

	if (err)
		return err;
	if (fd && detach) {
		NL_SET_ERR_MSG(info->extack, "xdp-fd and xdp-detach exclude each other");
		return -EINVAL;
	}
	link = link_of(info);
	if (IS_ERR(link))
		return PTR_ERR(link);
	if (steer)
		err = link_steer_set(link, steer, fd, info->extack);
	else if (fd)
		err = link_xdp_set(link, fd, info->extack);
	if (!err && detach)
		xroce_link_xdp_detach(link);
	if (!err) {
		set_u32(&link->dev.cwnd_init, a[XROCE_A_LINK_CWND_INIT]);
		set_u32(&link->dev.cwnd_max, a[XROCE_A_LINK_CWND_MAX]);
		set_u32(&link->dev.cnp_gap, a[XROCE_A_LINK_CNP_GAP]);
	}
	ib_device_put(&link->ib);
	return err;
}

/**
 * xroce_nl_path() - addresses and source port of a path, if it is known
 * @skb: where to
 * @av: the path
 * @attr: attribute for the source, the next two are for the others
 */
int xroce_nl_path(struct sk_buff *skb, const struct xroce_av *av, int attr)
{
	struct in6_addr sgid, dgid;

	/* Filled in once the QP has been to RTR. */
	if (!av->l3_len)
		return 0;
	xroce_l3_gid(av->l3, *av->l3 >> 4, 0, sgid.s6_addr);
	xroce_l3_gid(av->l3, *av->l3 >> 4, 1, dgid.s6_addr);
	return nla_put_in6_addr(skb, attr, &sgid) ?:
	       nla_put_in6_addr(skb, attr + 1, &dgid) ?:
	       nla_put_u32(skb, attr + 2, get_unaligned_be16(av->l3 + av->l3_len - 8));
}

/* XRC has none, and a dead QP's ring is gone; an SRQ's may change. */
static void rq_state(struct xroce_rq *rq, u32 *depth, u32 *fill)
{
	if (!rq)
		return;
	spin_lock_bh(&rq->lock);
	*depth = rq->mask + 1;
	*fill = xroce_ring_fill(rq->ring, rq->cons, *depth);
	spin_unlock_bh(&rq->lock);
}

/* What is told of a QP, as it stands now; under its lock. */
static int put_qp_state(struct sk_buff *skb, const struct xroce_qp *qp)
{
	const struct xroce_hot *hot = &qp->hot;
	const struct xroce_req *req = &qp->req;
	u32 rq_depth = 0, rq_fill = 0;
	const struct { u16 attr; u32 value; } now[] = {
		{ XROCE_A_QP_STATE, hot->state },
		{ XROCE_A_QP_DEST_QPN, hot->dest_qpn },
		{ XROCE_A_QP_PATH_MTU, xroce_mtu(qp) },
		{ XROCE_A_QP_PKEY, qp->pkey }, { XROCE_A_QP_ACCESS, qp->access },
		{ XROCE_A_QP_EPSN, hot->epsn }, { XROCE_A_QP_MSN, hot->msn },
		{ XROCE_A_QP_RD_ACTIVE, qp->resp.rd_active },
		{ XROCE_A_QP_UNA_PSN, hot->una }, { XROCE_A_QP_NEXT_PSN, hot->next },
		{ XROCE_A_QP_MAX_PSN, hot->max },
		{ XROCE_A_QP_RD_OUTSTANDING, req->rd_tail - req->rd_head },
		{ XROCE_A_QP_CWND, req->cwnd }, { XROCE_A_QP_SSTHRESH, req->ssthresh },
		{ XROCE_A_QP_RETRY_CNT, req->retry_cnt },
		{ XROCE_A_QP_RETRIES, req->retries },
		{ XROCE_A_QP_RNR_RETRY, req->rnr_retry },
		{ XROCE_A_QP_RNR_RETRIES, req->rnr_retries },
		{ XROCE_A_QP_ERROR_STATUS, qp->err_status },
		{ XROCE_A_QP_ERROR_NAK, qp->err_nak },
		{ XROCE_A_QP_SQ_DEPTH, req->depth },
		/* The rings go after a QP is dead. */
		{ XROCE_A_QP_SQ_FILL, qp->dead ? 0 :
		  xroce_ring_fill(req->ring, req->head, req->depth) },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(now); i++)
		if (nla_put_u32(skb, now[i].attr, now[i].value))
			return -EMSGSIZE;
	rq_state(qp->dead ? NULL : qp->rq, &rq_depth, &rq_fill);
	return nla_put_u32(skb, XROCE_A_QP_RQ_DEPTH, rq_depth) ?:
	       nla_put_u32(skb, XROCE_A_QP_RQ_FILL, rq_fill) ?:
	       nla_put_uint(skb, XROCE_A_QP_TIMEOUT, req->timeout) ?:
	       xroce_nl_path(skb, &qp->av, XROCE_A_QP_SGID);
}

static int put_object(struct sk_buff *skb, struct netlink_callback *cb,
		      const struct xroce_nl_kind *kind, void *object,
		      const struct ib_device *ib, bool keys)
{
	void *hdr;
	int err;

	hdr = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
			  &xroce_nl_family, NLM_F_MULTI, kind->cmd);
	if (!hdr)
		return -EMSGSIZE;
	err = nla_put_string(skb, XROCE_A_QP_DEV_NAME, ib->name) ?:
	      nla_put_u32(skb, XROCE_A_QP_DEV_INDEX, ib->index) ?:
	      kind->put(skb, object, keys);
	if (err)
		genlmsg_cancel(skb, hdr);
	else
		genlmsg_end(skb, hdr);
	return min(err, 0);
}

/**
 * xroce_nl_dump() - tell of all objects of a kind, or of one link's
 * @skb: where to
 * @cb: the dump
 * @kind: the kind
 *
 * The cursor is a number, so a dump goes on where it stopped whatever was created
 * or destroyed meanwhile. What is found lives until the RCU read side ends.
 */
int xroce_nl_dump(struct sk_buff *skb, struct netlink_callback *cb,
		  const struct xroce_nl_kind *kind)
{
	struct nlattr *name = genl_info_dump(cb)->attrs[XROCE_A_QP_DEV_NAME];
	struct net *net = sock_net(skb->sk);
	bool keys = netlink_capable(cb->skb, CAP_NET_ADMIN);
	struct xroce_link *only = NULL, *link;
	u32 number = cb->args[0];
	void *object;
	int err = 0;

	if (name) {
		only = nl_link(net, name, NULL, cb->extack);
		if (IS_ERR(only))
			return PTR_ERR(only);
	}
	rcu_read_lock();
	for (; (object = xroce_table_next(kind->table, &number));
	     number++, cond_resched_rcu()) {
		link = *(struct xroce_link **)(object + kind->link);
		if (only ? link != only : !net_eq(link->net, net))
			continue;
		err = put_object(skb, cb, kind, object, &link->ib, keys);
		if (err)
			break;
	}
	rcu_read_unlock();
	if (only)
		ib_device_put(&only->ib);
	cb->args[0] = number;
	return err && !skb->len ? err : skb->len;
}

static int put_qp(struct sk_buff *skb, void *object, bool keys)
{
	struct xroce_kqp *kqp = object;
	int cpu = READ_ONCE(kqp->steer_cpu), err;

	spin_lock_bh(&kqp->qp.lock);
	err = put_qp_state(skb, &kqp->qp);
	spin_unlock_bh(&kqp->qp.lock);
	return err ?: nla_put_u32(skb, XROCE_A_QP_QPN, kqp->entry.number) ?:
	       (cpu >= 0 ? nla_put_u32(skb, XROCE_A_QP_STEER_CPU, cpu) : 0);
}

int xroce_nl_qp_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	static const struct xroce_nl_kind kind = {
		XROCE_CMD_QP_GET, offsetof(struct xroce_kqp, link), &xroce_qps,
		put_qp,
	};

	return xroce_nl_dump(skb, cb, &kind);
}

int xroce_nl_qp_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *name = info->attrs[XROCE_A_QP_DEV_NAME];
	struct nlattr *qpn = info->attrs[XROCE_A_QP_QPN];
	struct nlattr *cpu = info->attrs[XROCE_A_QP_STEER_CPU];
	struct net *net = genl_info_net(info);
	int err = host_only(skb, cpu ?: info->attrs[XROCE_A_QP_STEER_LINK], info->extack);
	struct xroce_kqp *kqp;
	struct xroce_qp *qp;

	if (err)
		return err;
	if (!name || !qpn || !cpu == !info->attrs[XROCE_A_QP_STEER_LINK]) {
		NL_SET_ERR_MSG(info->extack,
			       "dev-name, qpn and either steer-cpu or steer-link are needed");
		return -EINVAL;
	}
	if (cpu && (nla_get_u32(cpu) >= nr_cpu_ids || !cpu_possible(nla_get_u32(cpu)))) {
		NL_SET_ERR_MSG_ATTR(info->extack, cpu, "steer-cpu is not a CPU of this machine");
		return -EINVAL;
	}
	guard(rcu)();
	qp = xroce_table_qp(nla_get_u32(qpn));
	kqp = qp ? xroce_qp_kqp(qp) : NULL;
	if (!kqp || !net_eq(kqp->link->net, net) || strcmp(kqp->link->ib.name, nla_data(name))) {
		NL_SET_ERR_MSG_ATTR(info->extack, qpn,
				    "no such QP of an xroce link in this network namespace");
		return -ENOENT;
	}
	WRITE_ONCE(kqp->steer_cpu, cpu ? (int)nla_get_u32(cpu) : -1);
	return 0;
}

static struct genl_family xroce_nl_family __ro_after_init = {
	.name = XROCE_FAMILY_NAME,
	.version = XROCE_FAMILY_VERSION,
	.netnsok = true,
	.parallel_ops = true,
	.module = THIS_MODULE,
	.split_ops = xroce_nl_ops,
	.n_split_ops = ARRAY_SIZE(xroce_nl_ops),
};

/**
 * xroce_nl_init() - register the family, after all that it reaches is there
 */
int __init xroce_nl_init(void)
{
	return genl_register_family(&xroce_nl_family);
}

/**
 * xroce_nl_exit() - no request is under way nor will come
 */
void xroce_nl_exit(void)
{
	genl_unregister_family(&xroce_nl_family);
}

MODULE_ALIAS_GENL_FAMILY(XROCE_FAMILY_NAME);
XROCE_IMPORT_NS(BPF_INTERNAL);
