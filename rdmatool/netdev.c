// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Network devices as a link sees them: rtnetlink, ethtool, and what the driver
 * can do with XDP. Nothing is kept between calls.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <netlink/genl/genl.h>
#include <netlink/route/link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rdmatool.h"

/* As <linux/netdev.h> has them, which is not there with Linux 6.1, as of Debian 12 */
enum {
	DEV_GET = 1,
	DEV_IFINDEX = 1,
	DEV_XDP_FEATURES = 3,
	XDP_ACT_BASIC = 1 << 0,
};

struct netdev_list {
	struct netdev *dev;
	size_t n;
};

static void get_xdp(struct nlattr *xdp, struct netdev *dev)
{
	struct nlattr *tb[IFLA_XDP_MAX + 1];

	if (!xdp || nla_parse_nested(tb, IFLA_XDP_MAX, xdp, NULL))
		return;
	if (tb[IFLA_XDP_ATTACHED])
		dev->xdp_attached = nla_get_u8(tb[IFLA_XDP_ATTACHED]);
	if (tb[IFLA_XDP_PROG_ID])
		dev->xdp_prog = nla_get_u32(tb[IFLA_XDP_PROG_ID]);
}

static bool is_kind(struct nlattr *kind, const char *name)
{
	return kind && !strcmp(nla_data(kind), name);
}

static void get_info(struct nlattr **tb, struct netdev *dev)
{
	struct nlattr *info[IFLA_INFO_MAX + 1];

	if (!tb[IFLA_LINKINFO] || nla_parse_nested(info, IFLA_INFO_MAX, tb[IFLA_LINKINFO], NULL))
		return;
	dev->vrf = is_kind(info[IFLA_INFO_SLAVE_KIND], "vrf");
	/* One below in another namespace is nobody's to find here. */
	if (is_kind(info[IFLA_INFO_KIND], "vlan") && tb[IFLA_LINK] && !tb[IFLA_LINK_NETNSID])
		dev->vlan_of = nla_get_u32(tb[IFLA_LINK]);
}

static void on_netdev(struct nlmsghdr *nlh, void *arg)
{
	const struct ifinfomsg *info = nlmsg_data(nlh);
	struct nlattr *tb[IFLA_MAX + 1];
	struct netdev_list *list = arg;
	struct netdev *dev;

	if (nlh->nlmsg_type != RTM_NEWLINK ||
	    nlmsg_parse(nlh, sizeof(*info), tb, IFLA_MAX, NULL) ||
	    !tb[IFLA_IFNAME])
		return;
	/* One more, for the end. */
	list->dev = realloc(list->dev, (list->n + 2) * sizeof(*dev));
	if (!list->dev)
		fail("out of memory");
	dev = &list->dev[list->n++];
	memset(dev, 0, 2 * sizeof(*dev));
	dev->ifindex = info->ifi_index;
	dev->type = info->ifi_type;
	dev->flags = info->ifi_flags;
	nla_strlcpy(dev->name, tb[IFLA_IFNAME], sizeof(dev->name));
	if (tb[IFLA_MTU])
		dev->mtu = nla_get_u32(tb[IFLA_MTU]);
	get_xdp(tb[IFLA_XDP], dev);
	get_info(tb, dev);
}

/**
 * netdev_all() - all network devices of this namespace; an index of 0 ends the
 *	list, which is the caller's to free
 */
struct netdev *netdev_all(void)
{
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_GETLINK, NLM_F_DUMP);
	struct ifinfomsg info = {};
	struct netdev_list list = {};
	int err;

	if (!msg || nlmsg_append(msg, &info, sizeof(info), NLMSG_ALIGNTO))
		fail("out of memory");
	err = nl_ask(NETLINK_ROUTE, msg, on_netdev, &list);
	if (err)
		fail("cannot list network devices: %s", nl_why(err));
	if (!list.dev)
		list.dev = calloc(1, sizeof(*list.dev));
	if (!list.dev)
		fail("out of memory");
	return list.dev;
}

struct addr_walk {
	u32 ifindex;
	void (*fn)(const char *addr, bool global, void *arg);
	void *arg;
};

static void on_addr(struct nlmsghdr *nlh, void *arg)
{
	const struct ifaddrmsg *ifa = nlmsg_data(nlh);
	const struct addr_walk *walk = arg;
	struct nlattr *tb[IFA_MAX + 1], *a;
	char buf[INET6_ADDRSTRLEN];

	if (nlh->nlmsg_type != RTM_NEWADDR ||
	    nlmsg_parse(nlh, sizeof(*ifa), tb, IFA_MAX, NULL) ||
	    ifa->ifa_index != walk->ifindex)
		return;
	a = tb[IFA_LOCAL] ?: tb[IFA_ADDRESS];
	if (!a || nla_len(a) < (ifa->ifa_family == AF_INET ? 4 : 16) ||
	    !inet_ntop(ifa->ifa_family, nla_data(a), buf, sizeof(buf)))
		return;
	walk->fn(buf, ifa->ifa_scope == RT_SCOPE_UNIVERSE, walk->arg);
}

/**
 * netdev_addrs() - call @fn for each IP address of a network device
 */
void netdev_addrs(u32 ifindex,
		  void (*fn)(const char *addr, bool global, void *arg),
		  void *arg)
{
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_GETADDR, NLM_F_DUMP);
	struct addr_walk walk = { .ifindex = ifindex, .fn = fn, .arg = arg };
	struct ifaddrmsg ifa = {};
	int err;

	if (!msg || nlmsg_append(msg, &ifa, sizeof(ifa), NLMSG_ALIGNTO))
		fail("out of memory");
	err = nl_ask(NETLINK_ROUTE, msg, on_addr, &walk);
	if (err)
		fail("cannot list addresses: %s", nl_why(err));
}

/* Its ports, which have no link, run native programs. */
static bool netdev_is_bond(u32 ifindex)
{
	struct rtnl_link *link;
	const char *type;
	bool bond;

	if (rtnl_link_get_kernel(rt_sock(), ifindex, NULL, &link))
		return false;
	type = rtnl_link_get_type(link);
	bond = type && !strcmp(type, "bond");
	rtnl_link_put(link);
	return bond;
}

static void on_features(struct nlmsghdr *nlh, void *arg)
{
	struct nlattr *a = nlmsg_find_attr(nlh, GENL_HDRLEN, DEV_XDP_FEATURES);

	if (a && nla_len(a) >= 8)
		*(bool *)arg = nla_get_u64(a) & XDP_ACT_BASIC;
}

/**
 * netdev_native_xdp() - whether the driver has native XDP
 *
 * Return: false when the kernel does not tell.
 */
bool netdev_native_xdp(u32 ifindex, bool *has)
{
	struct nl_msg *msg = genl_msg("netdev", DEV_GET, 0);

	*has = false;
	if (!msg)
		return false;
	put_u32(msg, DEV_IFINDEX, ifindex);
	return !nl_ask(NETLINK_GENERIC, msg, on_features, has);
}

/**
 * netdev_driver() - name of its driver, "" when ethtool knows none
 */
const char *netdev_driver(const char *ifname)
{
	static struct ethtool_drvinfo info;
	struct ifreq ifr = { .ifr_data = (void *)&info };
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memset(&info, 0, sizeof(info));
	if (s < 0)
		return "";
	info.cmd = ETHTOOL_GDRVINFO;
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", ifname);
	if (ioctl(s, SIOCETHTOOL, &ifr))
		info.driver[0] = 0;
	close(s);
	info.driver[sizeof(info.driver) - 1] = 0;
	return info.driver;
}

/**
 * netdev_not_native() - why native XDP, though its driver has it, is not for this one
 *
 * Return: NULL where it is for it.
 */
const char *netdev_not_native(u32 ifindex, const char *ifname)
{
	if (netdev_is_bond(ifindex))
		return "its ports would run the program, and have no link";
	/* It goes on saying that it has it, and the kernel keeps it for ever. */
	if (!strcmp(netdev_driver(ifname), "vmxnet3"))
		return "vmxnet3 loses the program when it goes down or gets another MTU";
	return NULL;
}

static void on_linkmodes(struct nlmsghdr *nlh, void *arg)
{
	struct nlattr *speed = nlmsg_find_attr(nlh, GENL_HDRLEN,
					       ETHTOOL_A_LINKMODES_SPEED);
	struct nlattr *lanes = nlmsg_find_attr(nlh, GENL_HDRLEN,
					       ETHTOOL_A_LINKMODES_LANES);
	u32 *got = arg;

	if (speed && nla_get_u32(speed) != (u32)SPEED_UNKNOWN)
		got[0] = nla_get_u32(speed);
	if (lanes)
		got[1] = nla_get_u32(lanes);
}

/**
 * netdev_speed() - in Mb/s, 0 when ethtool does not know
 * @lanes: becomes how many it has, 0 when ethtool does not know
 */
u32 netdev_speed(u32 ifindex, u32 *lanes)
{
	struct nl_msg *msg = genl_msg(ETHTOOL_GENL_NAME,
				      ETHTOOL_MSG_LINKMODES_GET, 0);
	struct nlattr *head;
	u32 got[2] = {};

	*lanes = 0;
	if (!msg)
		return 0;
	head = nla_nest_start(msg, ETHTOOL_A_LINKMODES_HEADER);
	if (!head)
		fail("out of memory");
	put_u32(msg, ETHTOOL_A_HEADER_DEV_INDEX, ifindex);
	nla_nest_end(msg, head);
	if (nl_ask(NETLINK_GENERIC, msg, on_linkmodes, got))
		return 0;
	*lanes = got[1];
	return got[0];
}
