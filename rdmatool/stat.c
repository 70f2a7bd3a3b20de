// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Hardware counters of RDMA ports, by RDMA netlink, and those of a link's XDP
 * program, from its map. Without -d only what is not zero.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <xroce/counters.h>

#include "rdmatool.h"

static bool any;

/* What our module's counters mean; others' explain themselves. */
static const char *meaning(const char *name)
{
	static const struct { const char *name, *text; } counters[] = {
#define COUNTER(sym, name, text) \
		[XROCE_CNT_##sym] = { #name, text },
		XROCE_COUNTERS(COUNTER)
#undef COUNTER
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(counters); i++)
		if (!strcmp(name, counters[i].name))
			return counters[i].text;
	return NULL;
}

static void show(const char *name, const char *text, u64 val)
{
	if (!val && !options.details)
		return;
	any = true;
	out_break();
	out_uint(name, val);
	if (text && options.details && !options.json)
		out_fmt("", "(%s)", text);
}

static void on_stat(struct nlattr **tb, void *arg)
{
	bool xroce = *(bool *)arg;
	struct nlattr *table = tb[RDMA_NLDEV_ATTR_STAT_HWCOUNTERS];
	struct nlattr *entry, *name, *val;
	char buf[256];
	int left;

	if (!table)
		return;
	nla_for_each_nested(entry, table, left) {
		name = nla_find(nla_data(entry), nla_len(entry),
				RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME);
		val = nla_find(nla_data(entry), nla_len(entry),
			       RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE);
		if (!name || !val)
			continue;
		nla_strlcpy(buf, name, sizeof(buf));
		show(buf, xroce ? meaning(buf) : NULL, nla_get_u64(val));
	}
}

static void show_port(const struct rdev *dev, u32 port)
{
	struct nl_msg *msg = nldev_msg(RDMA_NLDEV_CMD_STAT_GET, 0);
	struct xlink xl;
	bool xroce = xlink_get(dev->name, &xl);
	int err;

	put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, dev->index);
	put_u32(msg, RDMA_NLDEV_ATTR_PORT_INDEX, port);
	out_row();
	out_dev(dev->name, dev->index, port);
	any = false;
	err = nldev_talk(msg, on_stat, &xroce);
	if (!err && xroce && xl.prog_id)
		xdp_stats(&xl, show);
	if (err == -EINVAL || err == -EOPNOTSUPP)
		out_note("note", "this device has no counters");
	else if (!any && !err)
		out_note("note", "all counters are 0");
	out_row_end();
	if (err && err != -EINVAL && err != -EOPNOTSUPP && err != -ENODEV)
		fail("stat %s/%u: %s", dev->name, port, nl_why(err));
}

static void stat_show(int argc, char **argv)
{
	struct rdev *dev, *only = NULL;
	u32 port;

	if (argc > 1)
		usage("stat show: one NAME at most");
	dev = argc ? only = rdev_get(argv[0]) : rdev_all();
	out_open(NULL);
	for (; *dev->name; dev++) {
		for (port = 1; port <= dev->ports; port++)
			show_port(dev, port);
		if (only)
			break;
	}
	out_close();
}

static const struct cmd cmds[] = {
	{ "show", stat_show },
	{}
};

void cmd_stat(int argc, char **argv)
{
	dispatch("stat", cmds, argc, argv);
}
