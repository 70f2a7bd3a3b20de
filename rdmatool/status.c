// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The Ethernet devices of this namespace in columns, with the RDMA devices over
 * them, and those that have none yet. Nothing is kept.
 */
#include <errno.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rdmatool.h"

enum column {
	NETDEV,
	STATE,
	DRIVER,
	SPEED,
	LANES,
	MTU,
	RDMA,
	ROCE_MTU,
	XDP,
	ADDRS,
	N_COLUMNS,
};

static const struct { const char *key, *head; bool number; } columns[] = {
	[NETDEV] = { "netdev", "NETDEV", false },
	[STATE] = { "state", "STATE", false },
	[DRIVER] = { "driver", "DRIVER", false },
	[SPEED] = { "speed", "MBIT/S", true },
	[LANES] = { "lanes", "LANES", true },
	[MTU] = { "mtu", "MTU", true },
	[RDMA] = { "ifname", "RDMA", false },
	[ROCE_MTU] = { "roce_mtu", "ROCE-MTU", true },
	[XDP] = { "xdp", "XDP", false },
	[ADDRS] = { "addresses", "ADDRESSES", false },
};

/* Names and numbers are short; of addresses there may be many. */
struct line {
	char cell[ADDRS][128];
	char *addrs;
};

static const char *cell_of(const struct line *line, int column)
{
	return column == ADDRS ? line->addrs : line->cell[column];
}

static void set_num(char *cell, u64 val)
{
	if (val)
		sprintf(cell, "%llu", (unsigned long long)val);
}

static void add_addr(const char *addr, bool global, void *arg)
{
	char **list = arg, *longer;

	if (!global)
		return;
	if (asprintf(&longer, "%s%s%s", *list, **list ? "," : "", addr) < 0)
		fail("out of memory");
	free(*list);
	*list = longer;
}

/**
 * netdev_addr_list() - its addresses but for link-local ones, to be freed
 */
char *netdev_addr_list(u32 ifindex)
{
	char *list = strdup("");

	if (!list)
		fail("out of memory");
	netdev_addrs(ifindex, add_addr, &list);
	return list;
}

/* The RDMA device of another kind, if its port is over that. */
static const char *other_rdma(u32 ifindex)
{
	struct rdev *dev;

	if (!rdma_there())
		return "";
	for (dev = rdev_all(); *dev->name; dev++)
		if (rdev_is_over(dev, ifindex))
			return dev->name;
	return "";
}

static void fill(struct line *line, const struct netdev *dev,
		 const struct xlink *xl)
{
	char (*cell)[128] = line->cell;
	u32 lanes;

	snprintf(cell[NETDEV], sizeof(*cell), "%s", dev->name);
	snprintf(cell[STATE], sizeof(*cell), "%s",
		 !(dev->flags & IFF_UP) ? "down" :
		 dev->flags & IFF_RUNNING ? "up" : "no-carrier");
	snprintf(cell[DRIVER], sizeof(*cell), "%s", netdev_driver(dev->name));
	set_num(cell[SPEED], netdev_speed(dev->ifindex, &lanes));
	set_num(cell[LANES], lanes);
	set_num(cell[MTU], dev->mtu);
	line->addrs = netdev_addr_list(dev->ifindex);
	for (; xl->ifindex && xl->ifindex != dev->ifindex; xl++)
		;
	snprintf(cell[RDMA], sizeof(*cell), "%s",
		 xl->ifindex ? xl->name : other_rdma(dev->ifindex));
	if (!xl->ifindex)
		return;
	set_num(cell[ROCE_MTU], xl->roce_mtu);
	snprintf(cell[XDP], sizeof(*cell), "%s", xdp_mode_name(xl->xdp_mode));
}

static void print_json(const struct line *line)
{
	const char *cell;
	int i;

	out_row();
	for (i = 0; i < N_COLUMNS; i++) {
		cell = cell_of(line, i);
		if (*cell && columns[i].number)
			out_uint(columns[i].key, strtoull(cell, NULL, 10));
		else if (*cell)
			out_str(columns[i].key, cell);
	}
	out_row_end();
}

static void print_text(const struct line *lines, size_t n)
{
	int width[N_COLUMNS], i, len;
	const char *cell;
	char *clean;
	size_t k;

	for (i = 0; i < N_COLUMNS; i++) {
		width[i] = strlen(columns[i].head);
		for (k = 0; k < n; k++) {
			len = strlen(cell_of(&lines[k], i));
			width[i] = len > width[i] ? len : width[i];
		}
	}
	for (i = 0; i < N_COLUMNS; i++)
		printf("%-*s%s", i == ADDRS ? 0 : width[i], columns[i].head,
		       i == ADDRS ? "\n" : "  ");
	for (k = 0; k < n; k++) {
		for (i = 0; i < N_COLUMNS; i++) {
			cell = cell_of(&lines[k], i);
			clean = out_clean(*cell ? cell : "-");
			printf("%-*s%s", i == ADDRS ? 0 : width[i], clean,
			       i == ADDRS ? "\n" : "  ");
			free(clean);
		}
	}
}

/**
 * link_status() - all Ethernet devices, with links or without
 */
void link_status(int argc, char **argv)
{
	struct netdev *devs, *dev;
	struct line *lines = NULL;
	struct xlink *links;
	size_t n = 0, k;

	if (argc)
		usage("link status: no argument expected, not \"%s\"", argv[0]);
	links = xlink_all();
	devs = netdev_all();
	for (dev = devs; dev->ifindex; dev++) {
		if (dev->type != ARPHRD_ETHER)
			continue;
		lines = realloc(lines, (n + 1) * sizeof(*lines));
		if (!lines)
			fail("out of memory");
		memset(&lines[n], 0, sizeof(*lines));
		fill(&lines[n++], dev, links);
	}
	out_open(NULL);
	for (k = 0; options.json && k < n; k++)
		print_json(&lines[k]);
	if (!options.json)
		print_text(lines, n);
	out_close();
	for (k = 0; k < n; k++)
		free(lines[k].addrs);
	free(lines);
	free(devs);
	free(links);
}
