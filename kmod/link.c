// SPDX-License-Identifier: GPL-2.0
/*
 * Links: their making and end, what becomes of their netdev and namespace, and finding them.
 * Changes in process context under xroce_links_lock; look-ups under RCU, from any context.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/hash.h>
#include <linux/if_arp.h>
#include <linux/random.h>
#include <net/l3mdev.h>
#include <net/net_namespace.h>

#include "xroce.h"

u32 xroce_gid_seed __read_mostly;
static DEFINE_MUTEX(xroce_links_lock);
static DEFINE_HASHTABLE(xroce_links, 6);	/* by netdev */

/* To whoever can read it, else to the log: nldev has no extack for us. */
static void link_err(struct netlink_ext_ack *extack, const char *name,
		     const struct net_device *ndev, const char *text)
{
	if (extack)
		NL_SET_ERR_MSG_FMT(extack, "%s", text);
	else
		pr_info("link %s on %s: %s\n", name, netdev_name(ndev), text);
}

static struct xroce_link *link_find(const struct net_device *ndev)
{
	struct xroce_link *link;

	hash_for_each_possible_rcu(xroce_links, link, node,
				   (unsigned long)ndev, lockdep_is_held(&xroce_links_lock))
		if (link->ndev == ndev)
			return link;
	return NULL;
}

/**
 * xroce_link_by_ndev_rcu() - the link whose packets come in by a netdev
 * @ndev: the link's own, or a VLAN on it, in the link's namespace
 */
struct xroce_link *xroce_link_by_ndev_rcu(const struct net_device *ndev)
{
	struct xroce_link *link = link_find(ndev);

	/* Not one in another's tag, nor another kind's of the same number. */
	if (!link && is_vlan_dev(ndev) && vlan_dev_vlan_proto(ndev) == htons(ETH_P_8021Q))
		link = link_find(vlan_dev_priv(ndev)->real_dev);
	return link && net_eq(dev_net(ndev), link->net) ? link : NULL;
}

/**
 * xroce_link_vlan_rcu() - a VLAN that a link sends and receives by
 * @link: the link
 * @vid: the VLAN, of 802.1Q; by value, for others may write to a frame meanwhile
 *
 * Return: the VLAN's netdev: on the link's own, up, in its namespace; or NULL.
 */
const struct net_device *xroce_link_vlan_rcu(const struct xroce_link *link, u16 vid)
{
	const struct net_device *vlan =
		__vlan_find_dev_deep_rcu(link->ndev, htons(ETH_P_8021Q), vid);

	return vlan && xroce_link_has_up(link, vlan) &&
	       vlan_dev_priv(vlan)->real_dev == link->ndev ? vlan : NULL;
}

/**
 * xroce_link_get() - the registered link on a netdev, kept from unregistering
 * @ndev: the network device
 *
 * Any context. Return: to be given back by ib_device_put(), or NULL; also where the
 * netdev has moved to another namespace, and a user keeps the link from its end.
 */
struct xroce_link *xroce_link_get(struct net_device *ndev)
{
	enum rdma_driver_id driver = (enum rdma_driver_id)XROCE_DRIVER_ID;
	struct ib_device *ib = ib_device_get_by_netdev(ndev, driver);

	if (ib && !net_eq(to_xlink(ib)->net, dev_net(ndev))) {
		ib_device_put(ib);
		ib = NULL;
	}
	return ib ? to_xlink(ib) : NULL;
}

/**
 * xroce_link_get_by_name() - the same by the device's name, in a namespace
 * @net: the network namespace
 * @name: the RDMA device's name
 */
struct xroce_link *xroce_link_get_by_name(struct net *net, const char *name)
{
	struct xroce_link *link, *found = NULL;
	int bkt;

	guard(rcu)();
	/* Not dev_name(), whose memory a rename frees. */
	hash_for_each_rcu(xroce_links, bkt, link, node) {
		if (!net_eq(link->net, net) || strcmp(link->ib.name, name))
			continue;
		found = link;
		/* From 7.3 on another that was given away may have the same name. */
		if (net_eq(read_pnet(&link->ib.coredev.rdma_net), net))
			break;
	}
	return found && ib_device_try_get(&found->ib) ? found : NULL;
}

/**
 * xroce_link_gid() - find an address of this link, or one of those like it; under RCU
 * @link: the link
 * @gid: the address
 *
 * Return: it, or NULL: it is none of the link's.
 */
const struct xroce_gid *xroce_link_gid(struct xroce_link *link, const union ib_gid *gid)
{
	struct xroce_gid *g;

	hash_for_each_possible_rcu(link->gids, g, node, xroce_gid_hash(gid))
		if (!memcmp(&g->gid, gid, sizeof(*gid)))
			return g;
	return NULL;
}

/**
 * xroce_link_by_gid_rcu() - the link of a namespace that has an address
 * @net: the namespace
 * @ndev: a netdev, whose VRF that link's netdev is in, for others may have the same addresses;
 *	or NULL
 * @gid: the address
 */
struct xroce_link *xroce_link_by_gid_rcu(struct net *net, const struct net_device *ndev,
					 const union ib_gid *gid)
{
	int bkt, vrf = ndev ? l3mdev_master_ifindex_rcu(ndev) : 0;
	struct xroce_link *link;

	hash_for_each_rcu(xroce_links, bkt, link, node)
		if (net_eq(link->net, net) && xroce_link_has_gid(link, gid) &&
		    (!ndev || l3mdev_master_ifindex_rcu(link->ndev) == vrf))
			return link;
	return NULL;
}

/**
 * xroce_link_free() - undo xroce_link_new(), however far it came
 * @link: the link
 *
 * From ib_dealloc_device(): its objects are gone, and so is its use by name.
 */
void xroce_link_free(struct xroce_link *link)
{
	scoped_guard(mutex, &xroce_links_lock)
		hash_del_rcu(&link->node);
	xroce_link_xdp_detach(link);
	/* The last packet that found the link, or a QP of it, is done with. */
	synchronize_rcu();
	if (link->net)
		xroce_udp_put(link->net);
	netdev_put(link->ndev, &link->ndev_tracker);
	free_percpu(link->dev.count);
	mutex_destroy(&link->xdp_lock);
	mutex_destroy(&link->group_lock);
	mutex_destroy(&link->bound_lock);
}

/* Under RTNL. A bond may have become of another type. */
static bool lives_in(const struct net_device *ndev, const struct net *net)
{
	return ndev->reg_state == NETREG_REGISTERED && ndev->type == ARPHRD_ETHER &&
	       net_eq(dev_net(ndev), net);
}

/* Where the netdev lives, held; NULL when that is not @net or is going. */
static struct net *link_net(struct net *net, const struct net_device *ndev)
{
	struct net *held;

	rtnl_lock();
	held = lives_in(ndev, net) ? maybe_get_net(net) : NULL;
	rtnl_unlock();
	return held;
}

/**
 * xroce_link_enable() - the notifier finds the link from now on
 * @ib: its device, new, or back from where nobody found it: given to another namespace
 *
 * What the netdev has become meanwhile is made up for here. Under ib_core's lock of
 * its list of devices, as are clients that add one, of which IPoIB takes RTNL too.
 * Return: 0, or -ENODEV: the link ends.
 */
int xroce_link_enable(struct ib_device *ib)
{
	struct xroce_link *link = to_xlink(ib);
	int err = 0;

	rtnl_lock();
	link->active = xroce_link_active(link);
	if (!lives_in(link->ndev, link->net)) {
		ib_unregister_device_queued(ib);
		err = -ENODEV;
	}
	rtnl_unlock();
	return err;
}

static int link_list(struct xroce_link *link)
{
	guard(mutex)(&xroce_links_lock);
	if (link_find(link->ndev))
		return -EEXIST;
	hash_add_rcu(xroce_links, &link->node, (unsigned long)link->ndev);
	return 0;
}

static int link_start(struct xroce_link *link, struct net *net,
		      const char *name, struct netlink_ext_ack *extack)
{
	int err;

	err = xroce_udp_get(net, extack);
	if (err)
		return err;
	link->net = net;
	err = link_list(link);
	if (err) {
		link_err(extack, name, link->ndev, "the network device has an xroce link already");
		return err;
	}
	err = xroce_ib_register(link, name);
	if (err == -ENFILE) {
		link_err(extack, name, link->ndev, "the name is an RDMA device's already");
		err = -EEXIST;
	}
	return err;
}

static struct xroce_link *link_alloc(struct net *net, struct net_device *ndev)
{
	struct xroce_link *link = xroce_alloc_link(net);

	if (!link)
		return NULL;
	link->dev.count = __alloc_percpu(XROCE_CNT_MAX * sizeof(u64), SMP_CACHE_BYTES);
	if (!link->dev.count) {
		ib_dealloc_device(&link->ib);
		return NULL;
	}
	link->ndev = ndev;
	netdev_hold(ndev, &link->ndev_tracker, GFP_KERNEL);
	link->xdp_fit = xroce_xmit_fits(ndev);
	link->dev.cwnd_init = XROCE_CWND_INIT;
	link->dev.cwnd_max = XROCE_CWND_MAX;
	link->dev.cnp_gap = XROCE_CNP_GAP;
	hash_init(link->gids);
	mutex_init(&link->xdp_lock);
	mutex_init(&link->bound_lock);
	INIT_LIST_HEAD(&link->bound);
	mutex_init(&link->group_lock);
	hash_init(link->groups);
	INIT_HLIST_NODE(&link->node);
	return link;
}

/**
 * xroce_link_new() - make a link
 * @net: the namespace that @ndev was found in
 * @name: of the RDMA device
 * @ndev: held by the caller
 * @extack: or NULL, for an error to be logged
 *
 * Process context, without RTNL. Return: 0 or an error, which @extack explains where
 * the number says too little.
 */
int xroce_link_new(struct net *net, const char *name, struct net_device *ndev,
		   struct netlink_ext_ack *extack)
{
	struct xroce_link *link;
	int err;

	if (ndev->type != ARPHRD_ETHER || ndev->addr_len != ETH_ALEN) {
		link_err(extack, name, ndev, "not an Ethernet device");
		return -EINVAL;
	}
	/* Held until all is there: its end waits for all links in it. */
	net = link_net(net, ndev);
	if (!net) {
		link_err(extack, name, ndev, "the network device is going");
		return -ENODEV;
	}
	link = link_alloc(net, ndev);
	if (!link) {
		err = -ENOMEM;
		goto out;
	}
	xroce_ib_init(link);
	err = link_start(link, net, name, extack);
	if (err)
		ib_dealloc_device(&link->ib);
out:
	put_net(net);
	return err;
}

/* Where ib_core looks at netdevs itself it leaves out bonds, and tells nothing twice. */
static void link_port_event(struct xroce_link *link)
{
#ifdef XROCE_HAVE_PORT_STATE
	ib_dispatch_port_state_event(&link->ib, link->ndev);
#else
	struct ib_event event = {
		.device = &link->ib,
		.element.port_num = 1,
	};
	bool active = xroce_link_active(link);

	if (active == link->active)
		return;
	link->active = active;
	event.event = active ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR;
	ib_dispatch_event(&event);
#endif
}

/* Under RTNL. A netdev that changes namespace is unregistered from its old. */
static int link_netdev_event(struct notifier_block *nb, unsigned long what, void *ptr)
{
	struct xroce_link *link;
	int ret = NOTIFY_DONE;

	link = xroce_link_get(netdev_notifier_info_to_dev(ptr));
	if (!link)
		return NOTIFY_DONE;
	switch (what) {
	case NETDEV_UNREGISTER:
		ib_unregister_device_queued(&link->ib);
		break;
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		link_port_event(link);
		break;
	case NETDEV_PRE_TYPE_CHANGE:
		/* A bond's, whose first port is no Ethernet. */
		ret = NOTIFY_BAD;
		break;
	}
	ib_device_put(&link->ib);
	return ret;
}

static struct notifier_block xroce_netdev_notifier = {
	.notifier_call = link_netdev_event,
};

static struct xroce_link *link_of_net(struct net *net)
{
	struct xroce_link *link;
	int bkt;

	guard(mutex)(&xroce_links_lock);
	hash_for_each(xroce_links, bkt, link, node) {
		if (net_eq(link->net, net)) {
			get_device(&link->ib.dev);
			return link;
		}
	}
	return NULL;
}

/*
 * A namespace ends: its links go first, also those that are just going. This is
 * before ib_core moves its devices elsewhere, since that registered earlier.
 */
static void __net_exit link_net_exit(struct net *net)
{
	struct xroce_link *link;

	while ((link = link_of_net(net))) {
		ib_unregister_device(&link->ib);
		put_device(&link->ib.dev);
	}
}

static struct pernet_operations xroce_link_net_ops = {
	.exit = link_net_exit,
};

/**
 * xroce_link_init() - begin to follow netdevs and namespaces
 */
int __init xroce_link_init(void)
{
	int err;

	xroce_gid_seed = get_random_u32();
	err = register_pernet_device(&xroce_link_net_ops);
	if (err)
		return err;
	err = register_netdevice_notifier(&xroce_netdev_notifier);
	if (err)
		unregister_pernet_device(&xroce_link_net_ops);
	return err;
}

/**
 * xroce_link_exit() - destroy all links; nobody makes new ones
 */
void xroce_link_exit(void)
{
	ib_unregister_driver((enum rdma_driver_id)XROCE_DRIVER_ID);
	unregister_netdevice_notifier(&xroce_netdev_notifier);
	unregister_pernet_device(&xroce_link_net_ops);
	/* QPs are freed by our own callbacks. */
	rcu_barrier();
}
