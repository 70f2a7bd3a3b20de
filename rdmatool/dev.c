// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RDMA devices themselves, of any kind: what they are, their names and the network
 * namespaces they are in. By RDMA netlink.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rdmatool.h"

static const char *node_type(const struct nlattr *a)
{
	static const char *const names[] = {
		[1] = "ca", "switch", "router", "rnic", "usnic", "usnic_udp",
		"unspecified",
	};
	u8 type;

	type = nla_get_u8(a);
	return type < ARRAY_SIZE(names) && names[type] ? names[type] : "unknown";
}

static void show_guid(const char *key, struct nlattr *a)
{
	u64 guid;

	if (!a)
		return;
	guid = nla_get_u64(a);
	out_fmt(key, "%04x:%04x:%04x:%04x", (u16)(guid >> 48),
		(u16)(guid >> 32), (u16)(guid >> 16), (u16)guid);
}

static void show_str(const char *key, struct nlattr *a)
{
	if (a && *nla_get_string(a))
		out_str(key, nla_get_string(a));
}

static void on_dev(struct nlattr **tb, void *arg)
{
	const struct rdev *dev = arg;
	u64 caps;

	out_row();
	out_dev(dev->name, dev->index, 0);
	if (tb[RDMA_NLDEV_ATTR_DEV_NODE_TYPE])
		out_str("node_type", node_type(tb[RDMA_NLDEV_ATTR_DEV_NODE_TYPE]));
	show_str("protocol", tb[RDMA_NLDEV_ATTR_DEV_PROTOCOL]);
	show_str("fw", tb[RDMA_NLDEV_ATTR_FW_VERSION]);
	show_guid("node_guid", tb[RDMA_NLDEV_ATTR_NODE_GUID]);
	show_guid("sys_image_guid", tb[RDMA_NLDEV_ATTR_SYS_IMAGE_GUID]);
	if (options.details && tb[RDMA_NLDEV_ATTR_DEV_DIM])
		out_str("adaptive-moderation",
			nla_get_u8(tb[RDMA_NLDEV_ATTR_DEV_DIM]) ? "on" : "off");
	if (options.details && tb[RDMA_NLDEV_ATTR_CAP_FLAGS]) {
		caps = nla_get_u64(tb[RDMA_NLDEV_ATTR_CAP_FLAGS]);
		out_fmt("caps", "%#llx", (unsigned long long)caps);
	}
	if (options.details)
		out_uint("ports", dev->ports);
	out_row_end();
}

static void dev_show(int argc, char **argv)
{
	struct rdev *dev, *only = NULL;
	struct nl_msg *msg;
	int err;

	if (argc > 1)
		usage("dev show: one NAME at most");
	dev = argc ? only = rdev_get(argv[0]) : rdev_all();
	out_open(NULL);
	for (; *dev->name; dev++) {
		msg = nldev_msg(RDMA_NLDEV_CMD_GET, 0);
		put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, dev->index);
		err = nldev_talk(msg, on_dev, dev);
		/* ib_core says EINVAL for a device that is gone. */
		if (err && err != -EINVAL && err != -ENODEV)
			fail("dev %s: %s", dev->name, nl_why(err));
		if (only)
			break;
	}
	out_close();
}

static void dev_rename(int argc, char **argv)
{
	const struct rdev *dev;
	struct nl_msg *msg;
	const char *wrong;
	int err;

	if (argc != 2)
		usage("dev rename: NAME and NEWNAME expected");
	wrong = dev_name_wrong(argv[1]);
	if (wrong)
		usage("dev rename: NEWNAME \"%s\": %s", argv[1], wrong);
	dev = rdev_get(argv[0]);
	msg = nldev_msg(RDMA_NLDEV_CMD_SET, 0);
	put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, dev->index);
	put_str(msg, RDMA_NLDEV_ATTR_DEV_NAME, argv[1]);
	err = nldev_talk(msg, NULL, NULL);
	if (err)
		fail("dev rename %s: %s", argv[0], nl_why(err));
	xdp_repin(argv[0], argv[1]);
}

static void dev_move(int argc, char **argv)
{
	const struct rdev *dev;
	struct nl_msg *msg;
	int fd, err;

	if (argc != 2)
		usage("dev move: NAME and NETNS expected");
	dev = rdev_get(argv[0]);
	fd = netns_open(argv[1]);
	if (fd < 0)
		fail("dev move: there is no network namespace \"%s\": %s",
		     argv[1], strerror(errno));
	msg = nldev_msg(RDMA_NLDEV_CMD_SET, 0);
	put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, dev->index);
	put_u32(msg, RDMA_NLDEV_NET_NS_FD, fd);
	err = nldev_talk(msg, NULL, NULL);
	close(fd);
	if (err == -EOPNOTSUPP)
		fail("dev move %s: %s (needs its driver, and: rdma system set netns exclusive)",
		     argv[0], nl_why(err));
	if (err)
		fail("dev move %s: %s", argv[0], nl_why(err));
}

void cmd_dev(int argc, char **argv)
{
	static const struct cmd cmds[] = {
		{ "show", dev_show },
		{ "rename", dev_rename },
		{ "move", dev_move },
		{}
	};

	dispatch("dev", cmds, rdev_named, argc, argv);
}
