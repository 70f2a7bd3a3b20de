// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Links: RDMA devices over network devices. Standard things by RDMA netlink, so
 * for any RDMA device; XDP and steering by the xroce family.
 */
#include <errno.h>
#include <fcntl.h>
#include <netlink/route/link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rdmatool.h"

static const char *const xdp_modes[] = {
	[XROCE_XDP_MODE_OFF] = "off",
	[XROCE_XDP_MODE_GENERIC] = "generic",
	[XROCE_XDP_MODE_NATIVE] = "native",
};

#define XDP_AUTO	((int)ARRAY_SIZE(xdp_modes))

/**
 * xdp_mode_parse() - off, generic, native or auto; -1 when it is none of these
 */
int xdp_mode_parse(const char *s)
{
	int i;

	for (i = 0; i < XDP_AUTO; i++)
		if (!strcmp(s, xdp_modes[i]))
			return i;
	return strcmp(s, "auto") ? -1 : XDP_AUTO;
}

/**
 * xdp_mode_name() - as the kernel tells it
 */
const char *xdp_mode_name(u32 mode)
{
	return mode < ARRAY_SIZE(xdp_modes) ? xdp_modes[mode] : "unknown";
}

/**
 * xdp_mode_is() - has a link the mode that is wanted; of auto's any that is not off
 */
bool xdp_mode_is(u32 mode, int wanted)
{
	return wanted == XDP_AUTO ? mode != XROCE_XDP_MODE_OFF :
				    (int)mode == wanted;
}

static int parse_mode(const char *what, const char *s)
{
	int mode = xdp_mode_parse(s);

	if (mode < 0)
		usage("%s: xdp \"%s\": off, generic, native or auto expected",
		      what, s);
	return mode;
}

static u32 get_u32(struct nlattr *attr)
{
	return attr ? nla_get_u32(attr) : 0;
}

static void on_xlink(struct nlattr **tb, void *arg)
{
	struct xlink *xl = arg;
	size_t i;

	for (i = 0; i < N_TUNE_KEYS; i++)
		xl->tune[i] = get_u32(tb[tune_keys[i].attr]);
	xl->dev_index = get_u32(tb[XROCE_A_LINK_DEV_INDEX]);
	xl->ifindex = get_u32(tb[XROCE_A_LINK_IFINDEX]);
	xl->roce_mtu = get_u32(tb[XROCE_A_LINK_ROCE_MTU]);
	xl->xdp_mode = get_u32(tb[XROCE_A_LINK_XDP_MODE]);
	xl->prog_id = get_u32(tb[XROCE_A_LINK_XDP_PROG_ID]);
	xl->link_id = get_u32(tb[XROCE_A_LINK_XDP_LINK_ID]);
	if (tb[XROCE_A_LINK_DEV_NAME])
		nla_strlcpy(xl->name, tb[XROCE_A_LINK_DEV_NAME],
			    sizeof(xl->name));
	if (tb[XROCE_A_LINK_IFNAME])
		nla_strlcpy(xl->ifname, tb[XROCE_A_LINK_IFNAME],
			    sizeof(xl->ifname));
	if (tb[XROCE_A_LINK_STEER])
		nla_strlcpy(xl->steer, tb[XROCE_A_LINK_STEER],
			    sizeof(xl->steer));
}

/**
 * xlink_get() - ask the module about a link
 *
 * Return: false when the device is not xroce's.
 */
bool xlink_get(const char *name, struct xlink *xl)
{
	struct nl_msg *msg;
	int err;

	memset(xl, 0, sizeof(*xl));
	if (!xroce_there())
		return false;
	msg = xroce_msg(XROCE_CMD_LINK_GET, 0);
	put_str(msg, XROCE_A_LINK_DEV_NAME, name);
	err = xroce_talk(msg, XROCE_A_LINK_MAX, on_xlink, xl);
	if (err && err != -ENODEV)
		fail("link %s: %s", name, nl_why(err));
	return !err;
}

/**
 * xlink_need() - the same, of a link that a command is about; ends where it is none
 * @what: the command
 */
void xlink_need(const char *what, const char *name, struct xlink *xl)
{
	rdev_get(name);
	if (!xlink_get(name, xl))
		fail("%s: %s is not a link of type xroce whose netdev is in this namespace",
		     what, name);
}

struct xlink_list {
	struct xlink *xl;
	size_t n;
};

static void on_xlinks(struct nlattr **tb, void *arg)
{
	struct xlink_list *list = arg;

	/* One more, for the end. */
	list->xl = realloc(list->xl, (list->n + 2) * sizeof(*list->xl));
	if (!list->xl)
		fail("out of memory");
	memset(&list->xl[list->n], 0, 2 * sizeof(*list->xl));
	on_xlink(tb, &list->xl[list->n++]);
}

/**
 * xlink_all() - all links of this namespace; an ifindex of 0 ends the list, which
 *	is the caller's to free
 */
struct xlink *xlink_all(void)
{
	struct xlink_list list = {};
	int err = 0;

	if (xroce_there())
		err = xroce_talk(xroce_msg(XROCE_CMD_LINK_GET, NLM_F_DUMP),
				 XROCE_A_LINK_MAX, on_xlinks, &list);
	if (err)
		fail("cannot list links: %s", nl_why(err));
	if (!list.xl)
		list.xl = calloc(1, sizeof(*list.xl));
	if (!list.xl)
		fail("out of memory");
	return list.xl;
}

static void xdp_off(const struct xlink *xl)
{
	struct nl_msg *msg = xroce_msg(XROCE_CMD_LINK_SET, 0);
	int err;

	put_str(msg, XROCE_A_LINK_DEV_NAME, xl->name);
	put_flag(msg, XROCE_A_LINK_XDP_DETACH);
	err = xroce_talk(msg, XROCE_A_LINK_MAX, NULL, NULL);
	if (err)
		fail("link %s: cannot detach the XDP program: %s", xl->name,
		     nl_why(err));
	xdp_unpin(xl->name);
}

/* What can fail without the link's XDP does so while it still has it. */
static bool begin_xdp(const struct xlink *xl, char policy[POLICY_MAX])
{
	const char *file = xdp_policy_file(xl);

	if (!file || !xdp_load(xl))
		return false;
	snprintf(policy, POLICY_MAX, "%s", file);
	xdp_off(xl);
	return true;
}

/* As it was before it was detached. */
static void put_back_xdp(const struct xlink *was, const char *policy)
{
	struct xlink xl;

	if (was->xdp_mode == XROCE_XDP_MODE_OFF)
		return;
	if (!xdp_attach(was, was->xdp_mode))
		warn("link %s: xdp %s, as it was: %s", was->name,
		     xdp_modes[was->xdp_mode], xdp_why());
	else if (*policy && xlink_get(was->name, &xl) && !xdp_policy(&xl, policy, true))
		warn("link %s: policy %s, as it was: %s", was->name, policy,
		     xdp_why());
}

static bool set_xdp(const struct xlink *xl, int mode)
{
	char policy[POLICY_MAX];
	bool begun;

	if (mode == XROCE_XDP_MODE_OFF) {
		xdp_off(xl);
		return true;
	}
	begun = begin_xdp(xl, policy);
	if (begun && xdp_attach(xl, mode))
		return true;
	warn("link %s: xdp %s: %s", xl->name, xdp_modes[mode], xdp_why());
	if (begun)
		put_back_xdp(xl, policy);
	return false;
}

/* The best mode that works; says which, and why not a better one. */
static void set_xdp_auto(const struct xlink *xl)
{
	static const int best[] = {
		XROCE_XDP_MODE_NATIVE, XROCE_XDP_MODE_GENERIC,
	};
	char why[300] = "", policy[POLICY_MAX];
	const char *not_native;
	struct xlink now;
	size_t i = 0;

	if (!begin_xdp(xl, policy)) {
		warn("link %s: xdp %s (%s)", xl->name,
		     xdp_mode_name(xl->xdp_mode), xdp_why());
		return;
	}
	not_native = netdev_not_native(xl->ifindex, xl->ifname);
	if (not_native) {
		snprintf(why, sizeof(why), "not native on %s: %s", xl->ifname, not_native);
		i = 1;
	}
	for (; i < ARRAY_SIZE(best); i++) {
		size_t at = strlen(why);

		if (xdp_attach(xl, best[i])) {
			if (i)
				warn("link %s: xdp %s (%s)", xl->name,
				     xdp_modes[best[i]], why);
			return;
		}
		snprintf(why + at, sizeof(why) - at, "%snot %s: %s",
			 at ? "; " : "", xdp_modes[best[i]], xdp_why());
	}
	put_back_xdp(xl, policy);
	if (xlink_get(xl->name, &now))
		warn("link %s: xdp %s (%s)", now.name, xdp_mode_name(now.xdp_mode), why);
}

static void nldev_del(const char *name, u32 index)
{
	struct nl_msg *msg = nldev_msg(RDMA_NLDEV_CMD_DELLINK, 0);
	int err;

	put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, index);
	err = nldev_talk(msg, NULL, NULL);
	if (err == -EINVAL)
		fail("link del %s: not a link that can be deleted (%s)", name,
		     nl_why(err));
	if (err)
		fail("link del %s: %s", name, nl_why(err));
	xdp_unpin(name);
}

static int new_xroce(const char *name, const char *netdev, int mode)
{
	u32 ifindex = if_nametoindex(netdev);
	struct nl_msg *msg;
	struct xlink xl;
	int err;

	if (!ifindex)
		fail("link add %s: no network device \"%s\" in this network namespace",
		     name, netdev);
	msg = xroce_msg(XROCE_CMD_LINK_NEW, 0);
	put_str(msg, XROCE_A_LINK_DEV_NAME, name);
	put_u32(msg, XROCE_A_LINK_IFINDEX, ifindex);
	err = xroce_talk(msg, XROCE_A_LINK_MAX, NULL, NULL);
	if (err || mode == XROCE_XDP_MODE_OFF)
		return err;

	if (!xlink_get(name, &xl))
		fail("link add %s: it was made, and is gone", name);
	if (mode == XDP_AUTO) {
		set_xdp_auto(&xl);
	} else if (!set_xdp(&xl, mode)) {
		nldev_del(name, xl.dev_index);
		exit(EXIT_KERNEL);
	}
	return 0;
}

static int new_other(const char *name, const char *netdev, const char *type)
{
	struct nl_msg *msg = nldev_msg(RDMA_NLDEV_CMD_NEWLINK, 0);

	put_str(msg, RDMA_NLDEV_ATTR_DEV_NAME, name);
	put_str(msg, RDMA_NLDEV_ATTR_LINK_TYPE, type);
	put_str(msg, RDMA_NLDEV_ATTR_NDEV_NAME, netdev);
	return nldev_talk(msg, NULL, NULL);
}

/**
 * link_add() - make a link
 */
void link_add(int argc, char **argv)
{
	const char *netdev = NULL, *type = NULL, *xdp = NULL, *name;
	const struct arg args[] = {
		{ "netdev", &netdev },
		{ "type", &type },
		{ "xdp", &xdp },
		{}
	};
	bool ours;
	int err;

	if (!argc)
		usage("link add: NAME expected");
	name = argv[0];
	if (dev_name_wrong(name))
		usage("link add: NAME \"%s\": %s", name, dev_name_wrong(name));
	parse_args("link add", args, argc - 1, argv + 1);
	if (!netdev)
		usage("link add %s: netdev expected", name);
	if (!*netdev || strlen(netdev) >= IFNAMSIZ)
		usage("link add %s: netdev has 1 to %d characters", name,
		      IFNAMSIZ - 1);
	if (type && (!*type || strlen(type) >= IFNAMSIZ))
		usage("link add %s: type has 1 to %d characters", name,
		      IFNAMSIZ - 1);
	ours = !type || !strcmp(type, "xroce");
	if (xdp && !ours)
		usage("link add %s: xdp is for type xroce alone", name);

	if (ours)
		err = new_xroce(name, netdev, parse_mode("link add",
							 xdp ?: "auto"));
	else
		err = new_other(name, netdev, type);
	if (err)
		fail("link add %s: %s", name, nl_why(err));
}

static void link_del(int argc, char **argv)
{
	if (argc != 1)
		usage("link del: one NAME expected");
	nldev_del(argv[0], rdev_get(argv[0])->index);
}

/**
 * steer_check() - may packets of a link be steered; it ends, or warns, if not
 * @what: the command
 * @xl: the link
 */
void steer_check(const char *what, const struct xlink *xl)
{
	if (xl->xdp_mode == XROCE_XDP_MODE_OFF)
		fail("%s: steering is the XDP program's, and the link runs without "
		     "(try: rdmatool link set %s xdp auto)",
		     what, xl->name);
	if (xl->xdp_mode == XROCE_XDP_MODE_GENERIC)
		warn("link %s: xdp is generic: packets stay where they are until it is native",
		     xl->name);
}

/*
 * CPUs must be in the program's map before packets are sent to them, and stay
 * there until no packet is.
 */
static void set_steer(const struct xlink *xl, const char *list)
{
	struct nl_msg *msg;
	int err;

	if (*list)
		steer_check("link set", xl);
	msg = xroce_msg(XROCE_CMD_LINK_SET, 0);
	put_str(msg, XROCE_A_LINK_DEV_NAME, xl->name);
	put_str(msg, XROCE_A_LINK_STEER, list);
	if (*list && !xdp_steer(xl, list))
		fail("link set %s: steer %s: %s", xl->name, list, xdp_why());
	err = xroce_talk(msg, XROCE_A_LINK_MAX, NULL, NULL);
	if (err)
		fail("link set %s: %s", xl->name, nl_why(err));
}

/**
 * link_policy() - another program in the place of our own
 * @file: where it is, or NULL for our own
 * @again: whoever gave the command has not named the file, which others may have
 *	written to since
 */
void link_policy(const struct xlink *xl, const char *file, bool again)
{
	if (xl->xdp_mode == XROCE_XDP_MODE_OFF)
		fail("link set %s: a policy is the XDP program's, and the link "
		     "runs without (try: rdmatool link set %s xdp auto)",
		     xl->name, xl->name);
	if (xl->xdp_mode == XROCE_XDP_MODE_GENERIC && file)
		warn("link %s: xdp is generic, and native XDP alone asks a policy",
		     xl->name);
	if (!xdp_policy(xl, file, again))
		fail("link set %s: policy %s: %s", xl->name, file ?: "off",
		     xdp_why());
}

/**
 * link_set() - change it
 */
void link_set(int argc, char **argv)
{
	const char *xdp = NULL, *steer = NULL, *policy = NULL, *wrong;
	const struct arg args[] = {
		{ "xdp", &xdp },
		{ "steer", &steer },
		{ "policy", &policy },
		{}
	};
	struct xlink xl;
	int mode = 0;

	if (!argc)
		usage("link set: NAME expected");
	parse_args("link set", args, argc - 1, argv + 1);
	if (!xdp && !steer && !policy)
		usage("link set %s: xdp, steer or policy expected", argv[0]);
	if (xdp)
		mode = parse_mode("link set", xdp);
	if (steer && (!*steer || strlen(steer) >= sizeof(xl.steer)))
		usage("link set %s: steer has 1 to %zu characters", argv[0],
		      sizeof(xl.steer) - 1);
	if (policy && !*policy)
		usage("link set %s: policy: FILE or off expected", argv[0]);
	if (steer && !strcmp(steer, "off"))
		steer = "";
	if (policy && !strcmp(policy, "off"))
		policy = "";
	/* As far as that can be told here, nothing is changed for what makes no sense. */
	wrong = steer && *steer ? cpus_wrong(steer) : NULL;
	if (wrong)
		usage("link set %s: steer %s: %s", argv[0], steer, wrong);
	if (xdp && mode == XROCE_XDP_MODE_OFF && ((steer && *steer) || (policy && *policy)))
		usage("link set %s: xdp off: there is no %s without", argv[0],
		      steer && *steer ? "steering" : "policy");
	if (policy && *policy && faccessat(AT_FDCWD, policy, R_OK, AT_EACCESS))
		fail("link set %s: policy %s: %s", argv[0], policy, strerror(errno));
	xlink_need("link set", argv[0], &xl);
	if (xdp && mode == XDP_AUTO)
		set_xdp_auto(&xl);
	else if (xdp && !set_xdp(&xl, mode))
		exit(EXIT_KERNEL);
	if (steer) {
		xlink_get(argv[0], &xl);
		set_steer(&xl, steer);
	}
	if (policy) {
		xlink_get(argv[0], &xl);
		link_policy(&xl, *policy ? policy : NULL, false);
	}
}

static const char *port_state(u32 state)
{
	static const char *const names[] = {
		"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER",
	};

	return state < ARRAY_SIZE(names) ? names[state] : "UNKNOWN";
}

static const char *phys_state(u32 state)
{
	static const char *const names[] = {
		"NOP", "SLEEP", "POLLING", "DISABLED",
		"PORT_CONFIGURATION_TRAINING", "LINK_UP",
		"LINK_ERROR_RECOVERY", "PHY_TEST",
	};

	return state < ARRAY_SIZE(names) ? names[state] : "UNKNOWN";
}

struct port {
	bool seen;
	u32 state;
	u32 phys_state;
	u32 ifindex;
	char ifname[IFNAMSIZ];
};

static void on_port(struct nlattr **tb, void *arg)
{
	struct port *port = arg;

	port->seen = true;
	if (tb[RDMA_NLDEV_ATTR_PORT_STATE])
		port->state = nla_get_u8(tb[RDMA_NLDEV_ATTR_PORT_STATE]);
	if (tb[RDMA_NLDEV_ATTR_PORT_PHYS_STATE])
		port->phys_state =
			nla_get_u8(tb[RDMA_NLDEV_ATTR_PORT_PHYS_STATE]);
	port->ifindex = get_u32(tb[RDMA_NLDEV_ATTR_NDEV_INDEX]);
	if (tb[RDMA_NLDEV_ATTR_NDEV_NAME])
		nla_strlcpy(port->ifname, tb[RDMA_NLDEV_ATTR_NDEV_NAME],
			    sizeof(port->ifname));
}

/* Of one that went away meanwhile nothing is seen. */
static void port_get(const struct rdev *dev, u32 n, struct port *port)
{
	struct nl_msg *msg = nldev_msg(RDMA_NLDEV_CMD_PORT_GET, 0);
	int err;

	memset(port, 0, sizeof(*port));
	put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, dev->index);
	put_u32(msg, RDMA_NLDEV_ATTR_PORT_INDEX, n);
	err = nldev_talk(msg, on_port, port);
	/* ib_core says EINVAL for a device that is not there. */
	if (err && err != -ENODEV && err != -EINVAL)
		fail("link %s/%u: %s", dev->name, n, nl_why(err));
}

/**
 * port_netdev() - the network device of a port
 *
 * Return: its index, 0 when it has none in this network namespace, or went away.
 */
int port_netdev(const struct rdev *dev, u32 n, char ifname[IFNAMSIZ])
{
	struct port port;

	port_get(dev, n, &port);
	memcpy(ifname, port.ifname, IFNAMSIZ);
	return port.ifindex;
}

/**
 * rdev_is_over() - is a port of @dev over that network device
 */
bool rdev_is_over(const struct rdev *dev, u32 ifindex)
{
	struct port port;
	u32 n;

	for (n = 1; n <= dev->ports; n++) {
		port_get(dev, n, &port);
		if (port.ifindex == ifindex)
			return true;
	}
	return false;
}

static void show_mtu(u32 ifindex)
{
	struct rtnl_link *link;

	if (rtnl_link_get_kernel(rt_sock(), ifindex, NULL, &link))
		return;
	out_uint("mtu", rtnl_link_get_mtu(link));
	rtnl_link_put(link);
}

static void show_netdev(const struct port *port)
{
	char *addrs;
	u32 speed, lanes;

	if (!options.details)
		return;
	speed = netdev_speed(port->ifindex, &lanes);
	if (*netdev_driver(port->ifname))
		out_str("driver", netdev_driver(port->ifname));
	if (speed)
		out_uint("speed", speed);
	if (lanes)
		out_uint("lanes", lanes);
	addrs = netdev_addr_list(port->ifindex);
	if (*addrs)
		out_str("addresses", addrs);
	free(addrs);
}

static void show_xlink(const struct xlink *xl)
{
	u32 mode = xl->xdp_mode;
	const char *policy;

	out_uint("roce_mtu", xl->roce_mtu);
	out_str("xdp", xdp_mode_name(mode));
	if (xl->prog_id)
		out_uint("prog", xl->prog_id);
	if (xl->link_id && options.details)
		out_uint("bpf_link", xl->link_id);
	if (options.details && xdp_pinned(xl->name))
		out_str("pinned", xdp_pinned(xl->name));
	if (*xl->steer || options.details)
		out_str("steer", *xl->steer ? xl->steer : "off");
	policy = xdp_policy_file(xl);
	if (policy && *policy)
		out_str("policy", policy);
	if (mode == XROCE_XDP_MODE_OFF)
		out_note("note", "runs without XDP, slower, by the UDP socket; "
			 "to mend: rdmatool link set %s xdp auto", xl->name);
}

static void show_dev(const struct rdev *dev)
{
	struct xlink xl;
	struct port port;
	u32 n;

	for (n = 1; n <= dev->ports; n++) {
		port_get(dev, n, &port);
		if (!port.seen)
			continue;
		out_row();
		out_dev(dev->name, dev->index, n);
		out_str("state", port_state(port.state));
		out_str("physical_state", phys_state(port.phys_state));
		if (port.ifindex) {
			out_str("netdev", port.ifname);
			out_uint("netdev_index", port.ifindex);
			show_mtu(port.ifindex);
			show_netdev(&port);
		}
		if (xlink_get(dev->name, &xl))
			show_xlink(&xl);
		out_row_end();
	}
}

static void link_show(int argc, char **argv)
{
	struct rdev *dev, *only = NULL;

	if (argc > 1)
		usage("link show: one NAME at most");
	dev = argc ? only = rdev_get(argv[0]) : rdev_all();
	out_open(NULL);
	for (; *dev->name; dev++) {
		show_dev(dev);
		if (only)
			break;
	}
	out_close();
}

static const struct cmd cmds[] = {
	{ "show", link_show },
	{ "add", link_add },
	{ "set", link_set },
	{ "del", link_del },
	{ "save", link_save },
	{ "restore", link_restore },
	{ "status", link_status },
	{}
};

void cmd_link(int argc, char **argv)
{
	dispatch("link", cmds, rdev_named, argc, argv);
}
