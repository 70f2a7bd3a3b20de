// SPDX-License-Identifier: GPL-2.0
/*
 * Multicast groups of a link: which QPs are in them, and that the netdev and the
 * stack let their packets in. Changes in process context under the link's
 * group_lock (outside RTNL); look-ups under RCU, as BH off is.
 */
#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>

#include "xroce.h"

/* One of the QPs in a group. */
struct xroce_member {
	struct hlist_node node;
	struct xroce_kqp *kqp;
	struct rcu_head rcu;
};

/*
 * A group that QPs of the link are in: @count of them, never none. A reference to
 * what joined it, @in_dev or @in6_dev; the other is NULL.
 */
struct xroce_group {
	struct hlist_node node;
	struct hlist_head members;
	u32 count;
	union ib_gid gid;
	struct in_device *in_dev;
	struct inet6_dev *in6_dev;
	struct rcu_head rcu;
};

/*
 * As a socket's membership would, this tells the network (IGMP, MLD) and opens
 * the netdev's filter.
 */
static int group_join(struct xroce_link *link, struct xroce_group *g)
{
	const struct in6_addr *addr = (const struct in6_addr *)&g->gid;
	int err = 0;

	rtnl_lock();
	if (!net_eq(dev_net(link->ndev), link->net)) {
		err = -ENODEV;
	} else if (ipv6_addr_v4mapped(addr)) {
		g->in_dev = in_dev_get(link->ndev);
		if (g->in_dev)
			ip_mc_inc_group(g->in_dev, addr->s6_addr32[3]);
		else
			err = -ENODEV;
	} else {
		err = ipv6_dev_mc_inc(link->ndev, addr);
		if (!err)
			g->in6_dev = in6_dev_get(link->ndev);
	}
	rtnl_unlock();
	return err;
}

/*
 * The memberships of a netdev that has lost its IP have gone with it: those that it
 * has since are not ours.
 */
static void group_leave(struct xroce_link *link, struct xroce_group *g)
{
	const struct in6_addr *addr = (const struct in6_addr *)&g->gid;

	rtnl_lock();
	if (g->in_dev) {
		if (__in_dev_get_rtnl(link->ndev) == g->in_dev)
			ip_mc_dec_group(g->in_dev, addr->s6_addr32[3]);
		in_dev_put(g->in_dev);
	} else {
		if (__in6_dev_get(link->ndev) == g->in6_dev)
			ipv6_dev_mc_dec(link->ndev, addr);
		in6_dev_put(g->in6_dev);
	}
	rtnl_unlock();
}

static struct xroce_group *group_find(struct xroce_link *link, const union ib_gid *gid)
{
	struct xroce_group *g;

	hash_for_each_possible_rcu(link->groups, g, node, xroce_gid_hash(gid),
				   lockdep_is_held(&link->group_lock))
		if (!memcmp(&g->gid, gid, sizeof(*gid)))
			return g;
	return NULL;
}

static struct xroce_member *member_find(struct xroce_group *g, const struct xroce_kqp *kqp)
{
	struct xroce_member *m;

	hlist_for_each_entry(m, &g->members, node)
		if (m->kqp == kqp)
			return m;
	return NULL;
}

static struct xroce_group *group_new(struct xroce_link *link, const union ib_gid *gid)
{
	struct xroce_group *g;
	int err;

	g = kzalloc(sizeof(*g), GFP_KERNEL_ACCOUNT);
	if (!g)
		return ERR_PTR(-ENOMEM);
	g->gid = *gid;
	err = group_join(link, g);
	if (err) {
		kfree(g);
		return ERR_PTR(err);
	}
	link->group_count++;
	return g;
}

static int xroce_ib_attach_mcast(struct ib_qp *ib, union ib_gid *gid, u16 lid)
{
	struct xroce_link *link = to_xlink(ib->device);
	struct xroce_member *m;
	struct xroce_group *g;

	guard(mutex)(&link->group_lock);
	g = group_find(link, gid);
	if (g && member_find(g, to_kqp(ib)))
		return -EEXIST;
	if (g ? g->count == XROCE_MAX_GROUP_QP : link->group_count == XROCE_MAX_GROUP)
		return -ENOMEM;
	m = kmalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);
	if (!m)
		return -ENOMEM;
	m->kqp = to_kqp(ib);
	if (!g)
		g = group_new(link, gid);
	if (IS_ERR(g)) {
		kfree(m);
		return PTR_ERR(g);
	}
	hlist_add_head_rcu(&m->node, &g->members);
	if (!g->count++)
		hash_add_rcu(link->groups, &g->node, xroce_gid_hash(gid));
	return 0;
}

static int xroce_ib_detach_mcast(struct ib_qp *ib, union ib_gid *gid, u16 lid)
{
	struct xroce_link *link = to_xlink(ib->device);
	struct xroce_member *m;
	struct xroce_group *g;

	guard(mutex)(&link->group_lock);
	g = group_find(link, gid);
	m = g ? member_find(g, to_kqp(ib)) : NULL;
	if (!m)
		return -EINVAL;
	hlist_del_rcu(&m->node);
	kfree_rcu(m, rcu);
	if (--g->count)
		return 0;
	hash_del_rcu(&g->node);
	link->group_count--;
	group_leave(link, g);
	kfree_rcu(g, rcu);
	return 0;
}

/**
 * xroce_mcast_here() - is a QP of the link in the group that a packet is for
 * @link: the link
 * @l3: its IP header
 *
 * Under RCU, as BH off is.
 */
bool xroce_mcast_here(struct xroce_link *link, const u8 *l3)
{
	union ib_gid gid;

	xroce_l3_dgid(l3, &gid);
	return group_find(link, &gid);
}

/**
 * xroce_env_group() - hand a datagram to every QP in its group; BH off
 * @rx: the packet
 */
u32 xroce_env_group(struct xroce_rx *rx)
{
	struct xroce_member *m;
	struct xroce_group *g;
	union ib_gid gid;
	u32 n = 0;

	xroce_l3_dgid(rx->l3, &gid);
	g = group_find(xroce_dev_link(rx->dev), &gid);
	if (!g)
		return 0;
	hlist_for_each_entry_rcu(m, &g->members, node) {
		rx->gen = READ_ONCE(m->kqp->qp.gen);
		xroce_rx_qp(&m->kqp->qp, rx);
		n++;
	}
	return n;
}

const struct ib_device_ops xroce_mcast_ops = {
	.attach_mcast = xroce_ib_attach_mcast,
	.detach_mcast = xroce_ib_detach_mcast,
};
