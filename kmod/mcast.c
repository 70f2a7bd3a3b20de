// SPDX-License-Identifier: GPL-2.0
/*
 * Multicast groups of a link: which QPs are in them, and that the netdev and the
 * stack let their packets in. Changes in process context under the link's
 * group_lock (outside RTNL); look-ups under RCU.
 */
#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>

#include "xroce.h"

/* One QP's membership of one group. */
struct xroce_group {
	struct hlist_node node;
	union ib_gid gid;
	struct xroce_kqp *kqp;
	struct rcu_head rcu;
};

/*
 * As a socket's membership would, this tells the network (IGMP, MLD) and opens
 * the netdev's filter. The addresses of a netdev that has lost its IP go with it.
 */
static int group_tell(struct xroce_link *link, const union ib_gid *gid, bool join)
{
	const struct in6_addr *addr = (const struct in6_addr *)gid;
	struct in_device *in_dev;
	int err = 0;

	rtnl_lock();
	if (ipv6_addr_v4mapped(addr)) {
		in_dev = __in_dev_get_rtnl(link->ndev);
		if (!in_dev)
			err = -ENODEV;
		else if (join)
			ip_mc_inc_group(in_dev, addr->s6_addr32[3]);
		else
			ip_mc_dec_group(in_dev, addr->s6_addr32[3]);
	} else if (join) {
		err = ipv6_dev_mc_inc(link->ndev, addr);
	} else {
		ipv6_dev_mc_dec(link->ndev, addr);
	}
	rtnl_unlock();
	return err;
}

/* A membership of @kqp, or of anybody for NULL; and how many there are. */
static struct xroce_group *group_find(struct xroce_link *link, const union ib_gid *gid,
				      const struct xroce_kqp *kqp, u32 *n)
{
	struct xroce_group *g, *found = NULL;

	*n = 0;
	hash_for_each_possible(link->groups, g, node, xroce_gid_hash(gid)) {
		if (memcmp(&g->gid, gid, sizeof(*gid)))
			continue;
		++*n;
		if (g->kqp == kqp)
			found = g;
	}
	return found;
}

static int group_add(struct xroce_link *link, struct xroce_kqp *kqp,
		     const union ib_gid *gid)
{
	struct xroce_group *g;
	u32 n;
	int err;

	if (group_find(link, gid, kqp, &n))
		return -EEXIST;
	if (n == XROCE_MAX_GROUP_QP ||
	    (!n && link->group_count == XROCE_MAX_GROUP))
		return -ENOMEM;
	g = kmalloc(sizeof(*g), GFP_KERNEL_ACCOUNT);
	if (!g)
		return -ENOMEM;
	g->gid = *gid;
	g->kqp = kqp;
	if (!n) {
		err = group_tell(link, gid, true);
		if (err) {
			kfree(g);
			return err;
		}
		link->group_count++;
	}
	hash_add_rcu(link->groups, &g->node, xroce_gid_hash(gid));
	return 0;
}

static int xroce_ib_attach_mcast(struct ib_qp *ib, union ib_gid *gid, u16 lid)
{
	struct xroce_link *link = to_xlink(ib->device);

	guard(mutex)(&link->group_lock);
	return group_add(link, to_kqp(ib), gid);
}

static int xroce_ib_detach_mcast(struct ib_qp *ib, union ib_gid *gid, u16 lid)
{
	struct xroce_link *link = to_xlink(ib->device);
	struct xroce_group *g;
	u32 n;

	guard(mutex)(&link->group_lock);
	g = group_find(link, gid, to_kqp(ib), &n);
	if (!g)
		return -EINVAL;
	hash_del_rcu(&g->node);
	kfree_rcu(g, rcu);
	if (n == 1) {
		link->group_count--;
		group_tell(link, gid, false);
	}
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
	struct xroce_group *g;
	union ib_gid gid;

	xroce_l3_dgid(l3, &gid);
	hash_for_each_possible_rcu(link->groups, g, node, xroce_gid_hash(&gid))
		if (!memcmp(&g->gid, &gid, sizeof(gid)))
			return true;
	return false;
}

/**
 * xroce_env_group() - hand a datagram to every QP in its group; BH off
 * @rx: the packet
 */
u32 xroce_env_group(struct xroce_rx *rx)
{
	struct xroce_link *link = xroce_dev_link(rx->dev);
	struct xroce_group *g;
	union ib_gid gid;
	u32 n = 0;

	xroce_l3_dgid(rx->l3, &gid);
	hash_for_each_possible_rcu(link->groups, g, node, xroce_gid_hash(&gid)) {
		if (memcmp(&g->gid, &gid, sizeof(gid)))
			continue;
		rx->gen = READ_ONCE(g->kqp->qp.gen);
		xroce_rx_qp(&g->kqp->qp, rx);
		n++;
	}
	return n;
}

const struct ib_device_ops xroce_mcast_ops = {
	.attach_mcast = xroce_ib_attach_mcast,
	.detach_mcast = xroce_ib_detach_mcast,
};
