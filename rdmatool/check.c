// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What is right and wrong with this host for xroce, a row each, and what to do
 * about it. Looks and asks; changes nothing. Owns whether anything failed.
 */
#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/if_link.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <xroce/wire.h>

#include "rdmatool.h"

#define MEMLOCK_ENOUGH	(64ul << 20)

enum verdict {
	OK,
	WARN,
	FAIL,
};

static bool failed;

/* @on: network device, address or NULL; @todo: or NULL */
static __printf(5, 6) void row(enum verdict v, const char *what, const char *on,
			       const char *todo, const char *fmt, ...)
{
	static const char *const names[] = { "ok", "warn", "fail" };
	char buf[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	if (v == FAIL)
		failed = true;
	out_row();
	if (options.json) {
		out_str("status", names[v]);
		out_str("check", what);
		if (on)
			out_str("on", on);
		out_str("text", buf);
		if (todo)
			out_str("todo", todo);
	} else {
		out_fmt("", "%-4s", names[v]);
		out_fmt("", "%s%s%s: %s", what, on ? " " : "", on ?: "", buf);
		if (todo) {
			out_break();
			out_fmt("", "-> %s", todo);
		}
	}
	out_row_end();
}

static __printf(1, 2) const char *text(const char *fmt, ...)
{
	static char buf[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	return buf;
}

static bool exists(const char *path)
{
	return !access(path, F_OK);
}

static void check_kernel(const struct utsname *uts)
{
	unsigned int major, minor;

	if (sscanf(uts->release, "%u.%u", &major, &minor) != 2)
		major = minor = 0;
	if (sizeof(long) < 8 || !strstr(uts->machine, "64"))
		row(FAIL, "kernel", NULL, "use a 64 bit kernel", "%s of %s",
		    uts->release, uts->machine);
	else if (major < 6 || (major == 6 && minor < 12))
		row(FAIL, "kernel", NULL, "install Linux 6.12 or newer",
		    "%s is too old", uts->release);
	else
		row(OK, "kernel", NULL, NULL, "%s", uts->release);
}

static void check_btf(void)
{
	if (exists("/sys/kernel/btf/vmlinux"))
		row(OK, "btf", NULL, NULL, "the kernel describes its types");
	else
		row(WARN, "btf", NULL,
		    "use a kernel with CONFIG_DEBUG_INFO_BTF, as those of Debian",
		    "no /sys/kernel/btf/vmlinux: links run without XDP");
}

static void check_module(const struct utsname *uts)
{
	char version[64] = "";
	FILE *f;

	if (!xroce_there() && !module_in("modules.dep", "xroce")) {
		row(FAIL, "module", NULL, "make && make install",
		    "there is no module xroce for %s", uts->release);
		return;
	}
	if (!xroce_there()) {
		row(WARN, "module", NULL, "modprobe xroce, as link add does too",
		    "xroce is installed, not loaded");
		return;
	}
	f = fopen("/sys/module/xroce/version", "re");
	if (f) {
		if (fgets(version, sizeof(version), f))
			version[strcspn(version, "\n")] = 0;
		fclose(f);
	}
	if (exists("/sys/kernel/btf/xroce"))
		row(OK, "module", NULL, NULL, "xroce %s is loaded", version);
	else
		row(WARN, "module", NULL,
		    "build it anew; make says what its BTF wants",
		    "xroce %s is loaded, without BTF: links run without XDP",
		    version);
}

/* As much of libibverbs as is asked; it is not needed for the rest. */
struct verbs {
	void *lib;
	void **(*list)(int *n);
	const char *(*name)(void *dev);
	void *(*open)(void *dev);
	int (*close)(void *ctx);
};

static bool open_verbs(struct verbs *v)
{
	v->lib = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!v->lib)
		return false;
	v->list = (void **(*)(int *))dlsym(v->lib, "ibv_get_device_list");
	v->name = (const char *(*)(void *))dlsym(v->lib, "ibv_get_device_name");
	v->open = (void *(*)(void *))dlsym(v->lib, "ibv_open_device");
	v->close = (int (*)(void *))dlsym(v->lib, "ibv_close_device");
	return v->list && v->name && v->open && v->close;
}

/* libibverbs loads the one that has its private ABI's number in its name. */
static void check_provider_abi(const struct verbs *v, const glob_t *g)
{
	char symbol[64];
	size_t i;

	for (i = 0; i < g->gl_pathc; i++) {
		snprintf(symbol, sizeof(symbol), "verbs_register_driver_%d",
			 atoi(strrchr(g->gl_pathv[i], 'v') + 1));
		if (dlsym(v->lib, symbol)) {
			row(OK, "provider", NULL, NULL, "%s", g->gl_pathv[i]);
			return;
		}
	}
	row(FAIL, "provider", NULL, "make && make install",
	    "%s is for another libibverbs", g->gl_pathv[0]);
}

/* There is nothing to ask libibverbs about: what it would load may be there. */
static void check_provider_files(const struct verbs *v)
{
	char pattern[PATH_MAX + 64] = "";
	Dl_info info;
	glob_t g = {};
	char *slash;

	if (!exists("/etc/libibverbs.d/xroce.driver")) {
		row(FAIL, "provider", NULL, "make && make install",
		    "libibverbs is not told of it: no /etc/libibverbs.d/xroce.driver");
		return;
	}
	if (dladdr((void *)v->list, &info) && info.dli_fname)
		snprintf(pattern, sizeof(pattern), "%s", info.dli_fname);
	slash = strrchr(pattern, '/');
	if (!slash)
		slash = pattern;
	snprintf(slash, pattern + sizeof(pattern) - slash,
		 "/libibverbs/libxroce-rdmav*.so");
	if (glob(pattern, 0, NULL, &g) || !g.gl_pathc)
		row(FAIL, "provider", NULL, "make && make install",
		    "there is no %s", pattern);
	else
		check_provider_abi(v, &g);
	globfree(&g);
}

static bool have_devices(void)
{
	glob_t g = {};
	bool have = !glob("/dev/infiniband/uverbs*", 0, NULL, &g) && g.gl_pathc;

	globfree(&g);
	return have;
}

static void check_provider_of(const struct verbs *v, const char *name)
{
	void **list, *dev = NULL, *ctx;
	int n = 0, i;

	list = v->list(&n);
	for (i = 0; list && i < n; i++)
		if (!strcmp(v->name(list[i]), name))
			dev = list[i];
	if (!dev && !have_devices()) {
		row(FAIL, "provider", name, "modprobe ib_uverbs, and look at udev",
		    "there is nothing in /dev/infiniband for libibverbs");
		return;
	}
	if (!dev) {
		row(FAIL, "provider", name,
		    "make && make install; ibv_devices shows what there is",
		    "libibverbs does not find the device");
		return;
	}
	ctx = v->open(dev);
	if (!ctx) {
		row(FAIL, "provider", name,
		    "look at the rights of /dev/infiniband/uverbs*",
		    "libibverbs cannot open the device: %s", strerror(errno));
		return;
	}
	v->close(ctx);
	row(OK, "provider", name, NULL, "libibverbs opens it");
}

static void check_provider(const struct xlink *links)
{
	struct verbs v;

	if (!open_verbs(&v)) {
		row(FAIL, "provider", NULL,
		    "apt-get install libibverbs1 ibverbs-utils",
		    "there is no libibverbs.so.1");
		return;
	}
	if (!links->ifindex)
		check_provider_files(&v);
	for (; links->ifindex; links++)
		check_provider_of(&v, links->name);
}

static bool have_cap(int cap)
{
	struct __user_cap_header_struct hdr = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = {};

	return !syscall(SYS_capget, &hdr, data) &&
	       data[cap / 32].effective & 1u << cap % 32;
}

static void check_memlock(void)
{
	struct rlimit lim;

	if (have_cap(CAP_IPC_LOCK)) {
		row(OK, "memlock", NULL, NULL,
		    "CAP_IPC_LOCK: any memory may be registered (a user's program: ulimit -l there)");
		return;
	}
	if (getrlimit(RLIMIT_MEMLOCK, &lim))
		return;
	if (lim.rlim_cur == RLIM_INFINITY)
		row(OK, "memlock", NULL, NULL, "unlimited");
	else if (lim.rlim_cur >= MEMLOCK_ENOUGH)
		row(OK, "memlock", NULL, NULL, "%llu KiB may be registered",
		    (unsigned long long)lim.rlim_cur / 1024);
	else
		row(WARN, "memlock", NULL,
		    "ulimit -l unlimited, or memlock in /etc/security/limits.conf",
		    "only %llu KiB may be registered by a user's program",
		    (unsigned long long)lim.rlim_cur / 1024);
}

static const struct netdev *find_netdev(const struct netdev *dev, u32 ifindex)
{
	for (; dev->ifindex; dev++)
		if (dev->ifindex == ifindex)
			return dev;
	return NULL;
}

static const struct xlink *find_link(const struct xlink *xl, u32 ifindex)
{
	for (; xl->ifindex; xl++)
		if (xl->ifindex == ifindex)
			return xl;
	return NULL;
}

static void check_state(const struct netdev *dev)
{
	if (!(dev->flags & IFF_UP))
		row(FAIL, "state", dev->name,
		    text("ip link set dev %s up", dev->name), "it is down");
	else if (!(dev->flags & IFF_RUNNING))
		row(FAIL, "state", dev->name, "look at the cable or the peer",
		    "it has no carrier");
	else if (dev->vrf)
		row(FAIL, "state", dev->name, text("ip link set dev %s nomaster", dev->name),
		    "it is in a VRF: its packets do not reach the module");
	else
		row(OK, "state", dev->name, NULL, "up");
}

static void check_xdp_generic(const struct netdev *dev, const struct xlink *xl, const char *why)
{
	if (!xl || xl->xdp_mode == XROCE_XDP_MODE_GENERIC)
		row(OK, "xdp", dev->name, NULL, "generic, since natively %s", why);
	else
		row(WARN, "xdp", dev->name,
		    text("rdmatool link set %s xdp generic", xl->name),
		    xl->xdp_mode == XROCE_XDP_MODE_OFF ?
		    "off: packets come by the UDP socket" : "native: %s", why);
}

static void check_xdp(const struct netdev *dev, const struct xlink *xl)
{
	const char *not_native = netdev_not_native(dev->ifindex, dev->name);
	bool known, basic, other;

	known = netdev_native_xdp(dev->ifindex, &basic);
	other = dev->xdp_attached && (!xl || dev->xdp_prog != xl->prog_id);
	if (other && (!xl || xl->xdp_mode == XROCE_XDP_MODE_OFF))
		row(WARN, "xdp", dev->name,
		    text("ip link set dev %s xdp off, if it is not needed",
			 dev->name),
		    "another XDP program has it (id %u)", dev->xdp_prog);
	else if (not_native)
		check_xdp_generic(dev, xl, not_native);
	else if (xl && xl->xdp_mode == XROCE_XDP_MODE_NATIVE)
		row(OK, "xdp", dev->name, NULL, "native");
	else if (xl && basic)
		row(WARN, "xdp", dev->name,
		    text("rdmatool link set %s xdp native", xl->name),
		    "%s, though the driver has native XDP",
		    xl->xdp_mode == XROCE_XDP_MODE_OFF ? "off" : "generic");
	else if (xl && xl->xdp_mode == XROCE_XDP_MODE_OFF)
		row(WARN, "xdp", dev->name,
		    text("rdmatool link set %s xdp auto", xl->name),
		    "off: packets come by the UDP socket");
	else if (xl)
		row(WARN, "xdp", dev->name,
		    "use a network device whose driver has native XDP",
		    "generic: slower than in the driver, which has none");
	else if (!known)
		row(WARN, "xdp", dev->name,
		    text("rdmatool link add NAME netdev %s, which tries and tells",
			 dev->name),
		    "the kernel does not tell what the driver can do");
	else if (!basic)
		row(WARN, "xdp", dev->name,
		    "use a network device whose driver has native XDP",
		    "the driver has none: a link would use generic XDP");
	else
		row(OK, "xdp", dev->name, NULL, "the driver has native XDP");
}

static void check_mtu(const struct netdev *dev)
{
	u32 roce = xroce_mtu_of(dev->mtu);

	if (!roce)
		row(FAIL, "mtu", dev->name,
		    text("ip link set dev %s mtu 1500", dev->name),
		    "%u is too small for any RoCE MTU", dev->mtu);
	else if (roce < 1024)
		row(WARN, "mtu", dev->name,
		    text("ip link set dev %s mtu 1500, or 4200", dev->name),
		    "%u leaves a RoCE MTU of %u only", dev->mtu, roce);
	else if (roce < 4096)
		row(OK, "mtu", dev->name, NULL,
		    "%u: RoCE MTU %u (4096 from %u on)", dev->mtu, roce,
		    4096 + XROCE_OVERHEAD);
	else
		row(OK, "mtu", dev->name, NULL, "%u: RoCE MTU %u", dev->mtu, roce);
}

struct addrs {
	u32 all;
	u32 global;
	char first[INET6_ADDRSTRLEN];	/* GID 0 */
	bool has_first;
};

static void count_addr(const char *addr, bool global, void *arg)
{
	struct addrs *n = arg;

	n->all++;
	n->global += global;
	n->has_first |= !strcmp(addr, n->first);
}

static void check_gids(const struct netdev *dev, const struct xlink *xl)
{
	const struct rdev *rdev;
	struct addrs n = {};
	bool others;
	int gids = 0;

	if (xl) {
		rdev = rdev_find(xl->name);
		gids = rdev ? gid_count(rdev, 1, n.first) : -1;
		if (gids < 0)
			return;		/* went away meanwhile */
	}
	netdev_addrs(dev->ifindex, count_addr, &n);
	/* The kernel makes GID 0 of the MAC, whether IP has that address or not. */
	others = gids > (int)n.all + !n.has_first;	/* of netdevs above this one */
	if (!n.all && !others)
		row(FAIL, "gid", dev->name,
		    text("ip addr add ADDRESS/PREFIX dev %s", dev->name),
		    "no GID that peers reach: it has no IP address");
	else if (!n.global && !others)
		row(WARN, "gid", dev->name,
		    text("ip addr add ADDRESS/PREFIX dev %s", dev->name),
		    "only link-local addresses: peers must name theirs with a scope");
	else
		row(OK, "gid", dev->name, NULL, "%u %s", xl ? (u32)gids : n.all,
		    xl ? "GIDs" : "addresses, a GID each");
	if (*n.first && n.all && !n.has_first)
		row(WARN, "gid", dev->name,
		    text("ip addr add %s/64 dev %s, or tell programs another index",
			 n.first, dev->name),
		    "nobody answers for GID 0, %s, which IP does not have", n.first);
}

/* An adapter that speaks RoCE itself keeps what comes for it, whoever is above. */
static void check_adapter(const struct netdev *dev, const struct xlink *xl)
{
	const struct rdev *rdev;

	/* Without ib_core there is nobody to ask, and no such device. */
	if (!exists("/sys/class/infiniband"))
		return;
	for (rdev = rdev_all(); *rdev->name; rdev++) {
		if (!rdev->roce || (xl && !strcmp(rdev->name, xl->name)) ||
		    !rdev_is_over(rdev, dev->ifindex))
			continue;
		row(WARN, "adapter", dev->name,
		    text("rdma link del %s, or devlink-dev(8)'s enable_roce", rdev->name),
		    "%s speaks RoCE here too: what comes may be its alone", rdev->name);
	}
}

/* 0, or the errno of binding to the port. */
static int try_port(int family)
{
	struct sockaddr_in6 a6 = {
		.sin6_family = AF_INET6, .sin6_port = htons(XROCE_UDP_PORT),
	};
	struct sockaddr_in a4 = {
		.sin_family = AF_INET, .sin_port = htons(XROCE_UDP_PORT),
	};
	int s = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0), on = 1, err = 0;

	if (s < 0)
		return 0;	/* no IPv6 */
	if (family == AF_INET6)
		setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(s, family == AF_INET ? (void *)&a4 : (void *)&a6,
		 family == AF_INET ? sizeof(a4) : sizeof(a6)))
		err = errno;
	close(s);
	return err;
}

static void check_port(const struct xlink *links)
{
	int err = try_port(AF_INET) ?: try_port(AF_INET6);

	if (links->ifindex)
		row(OK, "port", NULL, NULL, "UDP %u is xroce's", XROCE_UDP_PORT);
	else if (err == EADDRINUSE && exists("/sys/module/rdma_rxe"))
		row(FAIL, "port", NULL,
		    "rmmod rdma_rxe, or links in another network namespace",
		    "UDP %u is taken, by rdma_rxe it seems", XROCE_UDP_PORT);
	else if (err == EADDRINUSE)
		row(FAIL, "port", NULL, "ss -ulnp sport = :4791 shows by whom",
		    "UDP %u is taken", XROCE_UDP_PORT);
	else if (err)
		row(WARN, "port", NULL, "ss -ulnp sport = :4791 shows who has it",
		    "UDP %u: %s", XROCE_UDP_PORT, strerror(err));
	else
		row(OK, "port", NULL, NULL, "UDP %u is free", XROCE_UDP_PORT);
}

static void check_filter(struct seen *seen)
{
	static const char accept[] =
		"accept UDP port 4791, as: nft insert rule inet filter input udp dport 4791 accept; "
		"firewall-cmd --permanent --add-port=4791/udp, then --reload; ufw allow 4791/udp";
	int err = seen_filters(seen);

	if (err)
		row(WARN, "filter", NULL, "run this with CAP_NET_ADMIN",
		    "cannot read the packet filter's rules: %s", nl_why(err));
	else if (seen->drops_port)
		row(FAIL, "filter", NULL, "nft list ruleset shows it; delete it",
		    "a rule drops or rejects UDP port %u", XROCE_UDP_PORT);
	else if (seen->drops_all)
		row(WARN, "filter", NULL, accept,
		    "what no rule accepts is dropped, and none that names UDP port %u does",
		    XROCE_UDP_PORT);
	else if (seen->drops_some)
		row(WARN, "filter", NULL, "nft list ruleset shows whose",
		    "a rule drops or rejects some of UDP port %u", XROCE_UDP_PORT);
	else if (seen->legacy)
		row(WARN, "filter", NULL, "iptables-legacy -S, ip6tables-legacy -S",
		    "legacy iptables are in use, which cannot be looked into here");
	else if (seen->untold)
		row(WARN, "filter", NULL, "nft list ruleset",
		    "cannot tell whether this kernel has nftables: it has no list of modules here");
	else
		row(OK, "filter", NULL, NULL, "UDP port %u is not filtered",
		    XROCE_UDP_PORT);
}

/*
 * As with a NIC: what a QP sends or receives by XDP is not seen by the stack. What
 * it sends without XDP is given to the network device, behind nftables and IPsec.
 */
static void check_seen(const struct netdev *dev, const struct xlink *xl,
		       const struct seen *seen)
{
	bool native = xl->xdp_mode == XROCE_XDP_MODE_NATIVE;
	char kinds[128] = "", by[256] = "";
	u32 policies;
	size_t at;
	int err;

	err = native ? seen_tc(dev->ifindex, kinds, sizeof(kinds)) : 0;
	err = err ?: seen_ipsec(&policies);
	if (err) {
		row(WARN, "unseen", dev->name, "run this with CAP_NET_ADMIN",
		    "cannot see what tc and IPsec would miss: %s", nl_why(err));
		return;
	}
	if (seen->chains || seen->legacy)
		snprintf(by, sizeof(by), "nftables (%u chains)", seen->chains);
	at = strlen(by);
	if (*kinds)
		at += snprintf(by + at, sizeof(by) - at, "%stc (%s)",
			       at ? ", " : "", kinds);
	if (policies)
		snprintf(by + at, sizeof(by) - at, "%sIPsec (%u policies)",
			 at ? ", " : "", policies);
	if (!*by)
		row(OK, "unseen", dev->name, NULL,
		    "as with a NIC, %s and IPsec do not see what QPs %s; none is set up here",
		    native ? "nftables, tc" : "nftables",
		    native ? "exchange" : "send");
	else
		row(WARN, "unseen", dev->name,
		    native ? text("rdmatool link set %s xdp off, for tc and what comes in",
				  xl->name) :
			     "filter and encrypt in front of this host",
		    "what QPs %s passes by: %s",
		    native ? "exchange in XDP" : "send", by);
}

static void check_peer(const struct peer *peer, const struct netdev *devs,
		       const struct xlink *links)
{
	u32 oif = peer_route(peer), len;
	const struct netdev *dev = find_netdev(devs, oif);
	const struct xlink *xl = find_link(links, oif);
	int err;

	/* A VLAN's addresses are GIDs of the link below: one on the VLAN would take them */
	if (!xl && dev && dev->vlan_of)
		xl = find_link(links, dev->vlan_of);
	if (!dev) {
		row(FAIL, "peer", peer->text, "ip route get", "no route to it");
		return;
	}
	if (!xl && !(dev->flags & IFF_LOOPBACK))
		row(WARN, "peer", peer->text,
		    text("rdmatool link add NAME netdev %s", dev->name),
		    "the way to it is by %s, which has no link", dev->name);
	err = peer_port(peer);
	if (err == -ECONNREFUSED) {
		row(FAIL, "peer", peer->text, "make a link there",
		    "it is there, but nobody listens to UDP port %u",
		    XROCE_UDP_PORT);
		return;
	}
	if (!err)
		err = peer_echo(peer, 0);
	if (err) {
		row(FAIL, "peer", peer->text, "ping, and look at what is between",
		    "does not answer: %s", strerror(-err));
		return;
	}
	len = xl && xl->roce_mtu ? xl->roce_mtu + XROCE_OVERHEAD :
	      dev->mtu < 65535 ? dev->mtu : 65535;
	err = peer_echo(peer, len);
	if (err)
		row(FAIL, "peer", peer->text,
		    text("one MTU for all between, as: ip link set dev %s mtu 1500",
			 dev->name),
		    "answers, but not to packets of %u bytes: %s", len,
		    strerror(-err));
	else
		row(OK, "peer", peer->text, NULL,
		    "answers to packets of %u bytes, by %s", len, dev->name);
}

static bool worth_a_link(const struct netdev *dev)
{
	return dev->type == ARPHRD_ETHER && dev->flags & IFF_UP;
}

static void check_netdev(const struct netdev *dev, const struct xlink *links,
			 const struct seen *seen)
{
	const struct xlink *xl = find_link(links, dev->ifindex);

	check_state(dev);
	check_xdp(dev, xl);
	check_mtu(dev);
	check_gids(dev, xl);
	check_adapter(dev, xl);
	if (xl)
		check_seen(dev, xl, seen);
}

/**
 * cmd_check() - print the findings
 */
void cmd_check(int argc, char **argv)
{
	struct netdev *devs, *dev;
	struct seen seen = {};
	struct peer *peers;
	struct xlink *links;
	struct utsname uts;
	bool any = false;
	int i;

	peers = calloc(argc + 1, sizeof(*peers));
	if (!peers || uname(&uts))
		fail("out of memory");
	for (i = 0; i < argc; i++)
		peer_parse("check", argv[i], &peers[i]);
	out_open(NULL);
	check_kernel(&uts);
	check_btf();
	check_module(&uts);
	links = xlink_all();
	check_provider(links);
	check_memlock();
	check_port(links);
	check_filter(&seen);
	devs = netdev_all();
	for (dev = devs; dev->ifindex; dev++) {
		if (links->ifindex ? !find_link(links, dev->ifindex) :
				     !worth_a_link(dev))
			continue;
		any = true;
		check_netdev(dev, links, &seen);
	}
	if (!any)
		row(FAIL, "netdev", NULL, "ip link set dev NAME up",
		    "there is no Ethernet device that is up");
	for (i = 0; i < argc; i++)
		check_peer(&peers[i], devs, links);
	out_close();
	free(links);
	free(devs);
	free(peers);
	if (failed) {
		fflush(stdout);
		exit(EXIT_KERNEL);
	}
}
