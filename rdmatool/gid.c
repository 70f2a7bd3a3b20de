// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * GIDs. A RoCE GID is an IP address of the link's network device: the kernel
 * keeps the table, and adding a GID is adding the address, by rtnetlink.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netlink/route/addr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rdmatool.h"

#define SYSFS "/sys/class/infiniband"

/* A port's directory in sysfs; -1 when the device went away meanwhile. */
static int port_dir(const struct rdev *dev, u32 port)
{
	char path[PATH_MAX];
	int dir;

	snprintf(path, sizeof(path), SYSFS "/%s/ports/%u", dev->name, port);
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 && !rdev_gone(dev))
		fail("gid: no %s (is the /sys of this network namespace mounted?)",
		     path);
	return dir;
}

/*
 * The line of a table's entry, "" of one that is empty. Tables have hundreds of
 * entries, most of them empty. Return: false behind the last one.
 */
static bool entry(char *buf, size_t size, int dir, const char *table, u32 index)
{
	char name[64];
	ssize_t n;
	int fd;

	snprintf(name, sizeof(name), "%s/%u", table, index);
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, buf, size - 1);
	close(fd);
	buf[n > 0 ? n : 0] = 0;
	buf[strcspn(buf, "\n")] = 0;
	return true;
}

static const char *type_name(const char *sysfs_type)
{
	if (!strcmp(sysfs_type, "RoCE v2"))
		return "RoCEv2";
	if (!strcmp(sysfs_type, "IB/RoCE v1"))
		return "RoCEv1";
	return sysfs_type;
}

/* Of a line of the table "gids" the address, as it is shown. Return: is there one. */
static bool gid_text(const char *line, char addr[INET6_ADDRSTRLEN])
{
	struct in6_addr gid;

	return inet_pton(AF_INET6, line, &gid) == 1 && !IN6_IS_ADDR_UNSPECIFIED(&gid) &&
	       inet_ntop(AF_INET6, &gid, addr, INET6_ADDRSTRLEN);
}

static void show_port(const struct rdev *dev, u32 port)
{
	char buf[128], addr[INET6_ADDRSTRLEN];
	int dir = port_dir(dev, port);
	u32 i;

	for (i = 0; entry(buf, sizeof(buf), dir, "gids", i); i++) {
		if (!gid_text(buf, addr))
			continue;
		out_row();
		out_dev(dev->name, dev->index, port);
		out_uint("index", i);
		out_str("gid", addr);
		if (entry(buf, sizeof(buf), dir, "gid_attrs/types", i) && *buf)
			out_str("type", type_name(buf));
		if (entry(buf, sizeof(buf), dir, "gid_attrs/ndevs", i) && *buf)
			out_str("netdev", buf);
		out_row_end();
	}
	if (dir >= 0)
		close(dir);
}

/**
 * gid_count() - how many RoCEv2 GIDs a port has, -1 when its device has gone
 * @dev: the device
 * @port: the port
 * @first: GID 0, which programs take that are told none; "" where there is none
 */
int gid_count(const struct rdev *dev, u32 port, char first[INET6_ADDRSTRLEN])
{
	int dir = port_dir(dev, port), n = 0;
	char line[128];
	u32 i;

	*first = 0;
	if (dir < 0)
		return -1;
	if (entry(line, sizeof(line), dir, "gids", 0))
		gid_text(line, first);
	for (i = 0; entry(line, sizeof(line), dir, "gid_attrs/types", i); i++)
		n += !strcmp(line, "RoCE v2");
	close(dir);
	return n;
}

static void gid_show(int argc, char **argv)
{
	struct rdev *dev, *only = NULL;
	u32 port;

	if (argc > 1)
		usage("gid show: one NAME at most");
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

/* An address as the user or gid show writes it; an IPv4 GID is IPv4. */
struct ip {
	int family;
	u8 addr[16];
	int prefix;
	bool prefix_given;
};

static int bits(int family)
{
	return family == AF_INET ? 32 : 128;
}

static void parse_ip(const char *what, const char *s, struct ip *ip)
{
	char buf[64], *slash;

	snprintf(buf, sizeof(buf), "%s", s);
	slash = strchr(buf, '/');
	if (slash)
		*slash++ = 0;
	if (strlen(s) < sizeof(buf) && inet_pton(AF_INET, buf, ip->addr) == 1)
		ip->family = AF_INET;
	else if (strlen(s) < sizeof(buf) &&
		 inet_pton(AF_INET6, buf, ip->addr) == 1)
		ip->family = AF_INET6;
	else
		usage("%s: \"%s\" is not an IPv4 or IPv6 address", what, s);
	if (ip->family == AF_INET6 &&
	    IN6_IS_ADDR_V4MAPPED((struct in6_addr *)ip->addr)) {
		memmove(ip->addr, ip->addr + 12, 4);
		ip->family = AF_INET;
	}
	ip->prefix_given = slash;
	ip->prefix = bits(ip->family);
	if (slash)
		ip->prefix = parse_uint("prefix length", slash,
					bits(ip->family));
}

static struct rtnl_addr *make_addr(int ifindex, const struct ip *ip)
{
	struct rtnl_addr *addr = rtnl_addr_alloc();
	struct nl_addr *local = nl_addr_build(ip->family, ip->addr,
					      bits(ip->family) / 8);

	if (!addr || !local)
		fail("out of memory");
	nl_addr_set_prefixlen(local, ip->prefix);
	rtnl_addr_set_ifindex(addr, ifindex);
	if (rtnl_addr_set_local(addr, local))
		fail("out of memory");
	rtnl_addr_set_prefixlen(addr, ip->prefix);
	nl_addr_put(local);
	return addr;
}

/* NAME and ADDRESS of add and del; the network device's index. */
static int gid_args(const char *what, int argc, char **argv, struct ip *ip,
		    char ifname[IFNAMSIZ])
{
	struct rdev *dev;
	int ifindex;

	if (argc != 2)
		usage("%s: NAME and ADDRESS[/PREFIX] expected", what);
	parse_ip(what, argv[1], ip);
	dev = rdev_get(argv[0]);
	ifindex = port_netdev(dev, 1, ifname);
	if (!ifindex)
		fail("%s: %s has no network device in this network namespace",
		     what, argv[0]);
	return ifindex;
}

static void gid_add(int argc, char **argv)
{
	char ifname[IFNAMSIZ];
	struct rtnl_addr *addr;
	struct nl_msg *msg;
	struct ip ip;
	int ifindex = gid_args("gid add", argc, argv, &ip, ifname);
	int err;

	addr = make_addr(ifindex, &ip);
	if (rtnl_addr_build_add_request(addr, NLM_F_CREATE | NLM_F_EXCL, &msg))
		fail("out of memory");
	rtnl_addr_put(addr);
	err = rt_talk(msg);
	if (err)
		fail("gid add: cannot add %s to %s: %s", argv[1], ifname,
		     nl_why(err));
}

/* The address on the device, with the prefix length it has there. */
static struct rtnl_addr *find_addr(int ifindex, const struct ip *ip)
{
	struct rtnl_addr *found = NULL;
	struct nl_cache *cache;
	struct nl_object *obj;
	int err;

	err = rtnl_addr_alloc_cache(rt_sock(), &cache);
	if (err)
		fail("cannot list addresses: %s", nl_geterror(err));
	for (obj = nl_cache_get_first(cache); obj && !found;
	     obj = nl_cache_get_next(obj)) {
		struct rtnl_addr *addr = (struct rtnl_addr *)obj;
		struct nl_addr *local = rtnl_addr_get_local(addr);

		if (rtnl_addr_get_ifindex(addr) != ifindex || !local ||
		    nl_addr_get_family(local) != ip->family ||
		    memcmp(nl_addr_get_binary_addr(local), ip->addr,
			   bits(ip->family) / 8))
			continue;
		if (ip->prefix_given &&
		    rtnl_addr_get_prefixlen(addr) != ip->prefix)
			continue;
		nl_object_get(obj);
		found = addr;
	}
	nl_cache_put(cache);
	return found;
}

static void gid_del(int argc, char **argv)
{
	char ifname[IFNAMSIZ];
	struct rtnl_addr *addr;
	struct nl_msg *msg;
	struct ip ip;
	int ifindex = gid_args("gid del", argc, argv, &ip, ifname);
	int err;

	addr = find_addr(ifindex, &ip);
	if (!addr)
		fail("gid del: %s is not an address of %s", argv[1], ifname);
	if (rtnl_addr_build_delete_request(addr, 0, &msg))
		fail("out of memory");
	rtnl_addr_put(addr);
	err = rt_talk(msg);
	if (err)
		fail("gid del: cannot delete %s from %s: %s", argv[1], ifname,
		     nl_why(err));
}

static const struct cmd cmds[] = {
	{ "show", gid_show },
	{ "add", gid_add },
	{ "del", gid_del },
	{}
};

void cmd_gid(int argc, char **argv)
{
	dispatch("gid", cmds, rdev_named, argc, argv);
}
