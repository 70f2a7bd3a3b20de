// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * For "check": what on this host would look at packets, or hold them up, by the
 * way they take through the stack: nftables (nft.c), tc and IPsec. Asks the kernel for
 * its tables; nothing is loaded for the sake of asking. Nothing is kept.
 */
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/xfrm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "rdmatool.h"

static FILE *module_list(const char *name)
{
	char path[256];
	struct utsname uts;

	if (uname(&uts))
		return NULL;
	snprintf(path, sizeof(path), "/lib/modules/%s/%s", uts.release, name);
	return fopen(path, "re");
}

/**
 * module_in() - does a list of the running kernel's modules name it
 * @list: modules.builtin or modules.dep
 */
bool module_in(const char *list, const char *name)
{
	char line[1024], file[80];
	bool found = false;
	FILE *f;

	snprintf(file, sizeof(file), "/%s.ko", name);
	f = module_list(list);
	if (!f)
		return false;
	while (!found && fgets(line, sizeof(line), f)) {
		line[strcspn(line, ":")] = 0;
		found = strstr(line, file);
	}
	fclose(f);
	return found;
}

/* Loaded, or built into the kernel. */
static bool have_module(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "/sys/module/%s", name);
	return !access(path, F_OK) || module_in("modules.builtin", name);
}

/* The tables of iptables that is not nftables' cannot be read so. */
static bool legacy_tables(void)
{
	static const char *const files[] = {
		"/proc/net/ip_tables_names", "/proc/net/ip6_tables_names",
	};
	bool found = false;
	size_t i;
	FILE *f;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		f = fopen(files[i], "re");
		if (!f)
			continue;
		found |= fgetc(f) != EOF;
		fclose(f);
	}
	return found;
}

/**
 * seen_filters() - what the host's packet filter does
 *
 * Return: 0 or a negative errno.
 */
int seen_filters(struct seen *seen)
{
	FILE *f;

	seen->legacy = legacy_tables();
	if (have_module("nf_tables"))
		return nft_look(seen);
	/* Whether it is built in is told there alone, and asking it would load it. */
	f = module_list("modules.builtin");
	seen->untold = !f;
	if (f)
		fclose(f);
	return 0;
}

static void on_policy(struct nlmsghdr *nlh, void *arg)
{
	if (nlh->nlmsg_type == XFRM_MSG_NEWPOLICY)
		++*(u32 *)arg;
}

/**
 * seen_ipsec() - how many IPsec policies there are
 *
 * Return: 0 or a negative errno.
 */
int seen_ipsec(u32 *policies)
{
	struct xfrm_userpolicy_id id = {};
	struct nl_msg *msg;

	*policies = 0;
	if (!have_module("xfrm_user"))
		return 0;
	msg = nlmsg_alloc_simple(XFRM_MSG_GETPOLICY, NLM_F_DUMP);
	if (!msg || nlmsg_append(msg, &id, sizeof(id), NLMSG_ALIGNTO))
		fail("out of memory");
	return nl_ask(NETLINK_XFRM, msg, on_policy, policies);
}

struct tc_walk {
	u32 ifindex;
	char *kinds;
	size_t size;
};

/* What a network device has by itself does nothing that would be missed. */
static void on_qdisc(struct nlmsghdr *nlh, void *arg)
{
	static const char *const plain[] = {
		"noqueue", "pfifo_fast", "mq", "fq_codel", "fq",
	};
	const struct tcmsg *tc = nlmsg_data(nlh);
	struct nlattr *tb[TCA_MAX + 1];
	struct tc_walk *w = arg;
	char kind[IFNAMSIZ];
	size_t i, at;

	if (nlh->nlmsg_type != RTM_NEWQDISC ||
	    nlmsg_parse(nlh, sizeof(*tc), tb, TCA_MAX, NULL) ||
	    tc->tcm_ifindex != (int)w->ifindex || !tb[TCA_KIND])
		return;
	nla_strlcpy(kind, tb[TCA_KIND], sizeof(kind));
	for (i = 0; i < ARRAY_SIZE(plain); i++)
		if (!strcmp(kind, plain[i]))
			return;
	at = strlen(w->kinds);
	snprintf(w->kinds + at, w->size - at, "%s%s", at ? ", " : "", kind);
}

/**
 * seen_tc() - the kinds of queueing disciplines that do something, and programs in the place
 * of such, "" for none
 *
 * Return: 0 or a negative errno.
 */
int seen_tc(u32 ifindex, char *kinds, size_t size)
{
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_GETQDISC, NLM_F_DUMP);
	struct tc_walk w = { .ifindex = ifindex, .kinds = kinds, .size = size };
	struct tcmsg tc = {};
	int err, tcx;
	size_t at;

	kinds[0] = 0;
	if (!msg || nlmsg_append(msg, &tc, sizeof(tc), NLMSG_ALIGNTO))
		fail("out of memory");
	err = nl_ask(NETLINK_ROUTE, msg, on_qdisc, &w);
	if (err)
		return err;
	tcx = xdp_tcx(ifindex);
	at = strlen(kinds);
	if (tcx > 0)
		snprintf(kinds + at, size - at, "%s%d programs by tcx", at ? ", " : "", tcx);
	return tcx < 0 ? tcx : 0;
}
