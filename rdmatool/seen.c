// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * For "check": what on this host would look at packets, or hold them up, by the
 * way they take through the stack: nftables, tc and IPsec. Asks the kernel for
 * its tables; nothing is loaded for the sake of asking. Nothing is kept.
 */
#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/xfrm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <xroce/wire.h>

#include "rdmatool.h"

/**
 * module_in() - does a list of the running kernel's modules name it
 * @list: modules.builtin or modules.dep
 */
bool module_in(const char *list, const char *name)
{
	char path[256], line[1024], file[80];
	struct utsname uts;
	bool found = false;
	FILE *f;

	if (uname(&uts))
		return false;
	snprintf(path, sizeof(path), "/lib/modules/%s/%s", uts.release, list);
	snprintf(file, sizeof(file), "/%s.ko", name);
	f = fopen(path, "re");
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

static struct nl_msg *nft_msg(int cmd)
{
	struct nl_msg *msg = nlmsg_alloc_simple(NFNL_SUBSYS_NFTABLES << 8 | cmd,
						NLM_F_DUMP);
	struct nfgenmsg nfg = {};

	if (!msg || nlmsg_append(msg, &nfg, sizeof(nfg), NLMSG_ALIGNTO))
		fail("out of memory");
	return msg;
}

/* Chains that receive what comes to this host. */
struct base {
	char name[160];		/* table, chain */
};

#define MAX_BASES	64

struct nft_walk {
	struct seen *seen;
	struct base base[MAX_BASES];
	u32 bases;
};

static void base_name(struct base *base, int family, struct nlattr *table,
		      struct nlattr *chain)
{
	char t[64] = "", c[64] = "";

	if (table)
		nla_strlcpy(t, table, sizeof(t));
	if (chain)
		nla_strlcpy(c, chain, sizeof(c));
	snprintf(base->name, sizeof(base->name), "%d %s %s", family, t, c);
}

static const struct base *find_base(const struct nft_walk *w, int family,
				    struct nlattr *table, struct nlattr *chain)
{
	struct base key;
	u32 i;

	base_name(&key, family, table, chain);
	for (i = 0; i < w->bases; i++)
		if (!strcmp(w->base[i].name, key.name))
			return &w->base[i];
	return NULL;
}

static u32 get_be32(const struct nlattr *a)
{
	return a && nla_len(a) >= 4 ? ntohl(nla_get_u32(a)) : 0;
}

static void on_chain(struct nlmsghdr *nlh, void *arg)
{
	const struct nfgenmsg *nfg = nlmsg_data(nlh);
	struct nlattr *tb[NFTA_CHAIN_MAX + 1], *hook[NFTA_HOOK_MAX + 1];
	struct nft_walk *w = arg;
	u32 num;

	if (nlmsg_parse(nlh, sizeof(*nfg), tb, NFTA_CHAIN_MAX, NULL) ||
	    !tb[NFTA_CHAIN_HOOK] ||
	    nla_parse_nested(hook, NFTA_HOOK_MAX, tb[NFTA_CHAIN_HOOK], NULL))
		return;
	w->seen->chains++;
	num = get_be32(hook[NFTA_HOOK_HOOKNUM]);
	if ((nfg->nfgen_family != NFPROTO_INET &&
	     nfg->nfgen_family != NFPROTO_IPV4 &&
	     nfg->nfgen_family != NFPROTO_IPV6) ||
	    (num != NF_INET_PRE_ROUTING && num != NF_INET_LOCAL_IN) ||
	    w->bases == MAX_BASES)
		return;
	base_name(&w->base[w->bases++], nfg->nfgen_family,
		  tb[NFTA_CHAIN_TABLE], tb[NFTA_CHAIN_NAME]);
	if (tb[NFTA_CHAIN_POLICY] &&
	    get_be32(tb[NFTA_CHAIN_POLICY]) == NF_DROP)
		w->seen->drops_all = true;
}

/* What a rule comes to, as far as it concerns the port. */
struct rule {
	bool port;		/* it asks for ours */
	bool asks;		/* it asks for anything */
	bool drops;
	bool accepts;
};

static bool is_port(struct nlattr *data)
{
	struct nlattr *value;

	value = data ? nla_find(nla_data(data), nla_len(data), NFTA_DATA_VALUE) :
		       NULL;
	return value && nla_len(value) == 2 &&
	       ntohs(nla_get_u16(value)) == XROCE_UDP_PORT;
}

static void see_verdict(struct nlattr *data, struct rule *r)
{
	struct nlattr *verdict, *code;

	verdict = data ? nla_find(nla_data(data), nla_len(data),
				  NFTA_DATA_VERDICT) : NULL;
	code = verdict ? nla_find(nla_data(verdict), nla_len(verdict),
				  NFTA_VERDICT_CODE) : NULL;
	if (!code)
		return;
	r->drops = get_be32(code) == NF_DROP;
	r->accepts = get_be32(code) == NF_ACCEPT;
}

static void see_expr(struct nlattr *elem, struct rule *r)
{
	struct nlattr *tb[NFTA_EXPR_MAX + 1], *data[8];
	char name[32];

	if (nla_parse_nested(tb, NFTA_EXPR_MAX, elem, NULL) ||
	    !tb[NFTA_EXPR_NAME])
		return;
	nla_strlcpy(name, tb[NFTA_EXPR_NAME], sizeof(name));
	memset(data, 0, sizeof(data));
	if (tb[NFTA_EXPR_DATA])
		nla_parse_nested(data, ARRAY_SIZE(data) - 1, tb[NFTA_EXPR_DATA],
				 NULL);
	if (!strcmp(name, "cmp")) {
		r->asks = true;
		r->port |= is_port(data[NFTA_CMP_DATA]);
	} else if (!strcmp(name, "immediate")) {
		see_verdict(data[NFTA_IMMEDIATE_DATA], r);
	} else if (!strcmp(name, "reject")) {
		r->drops = true;
	} else if (strcmp(name, "counter") && strcmp(name, "log")) {
		r->asks = true;
	}
}

static void on_rule(struct nlmsghdr *nlh, void *arg)
{
	const struct nfgenmsg *nfg = nlmsg_data(nlh);
	struct nlattr *tb[NFTA_RULE_MAX + 1], *elem;
	struct nft_walk *w = arg;
	struct rule r = {};
	int left;

	if (nlmsg_parse(nlh, sizeof(*nfg), tb, NFTA_RULE_MAX, NULL) ||
	    !tb[NFTA_RULE_EXPRESSIONS])
		return;
	nla_for_each_nested(elem, tb[NFTA_RULE_EXPRESSIONS], left)
		see_expr(elem, &r);
	if (r.port && r.accepts)
		w->seen->accepts_port = true;
	if (r.port && r.drops)
		w->seen->drops_port = true;
	if (r.drops && !r.asks &&
	    find_base(w, nfg->nfgen_family, tb[NFTA_RULE_TABLE],
		      tb[NFTA_RULE_CHAIN]))
		w->seen->drops_all = true;
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
	struct nft_walk w = { .seen = seen };
	int err;

	seen->legacy = legacy_tables();
	if (!have_module("nf_tables"))
		return 0;
	err = nl_ask(NETLINK_NETFILTER, nft_msg(NFT_MSG_GETCHAIN), on_chain, &w);
	if (err)
		return err;
	return nl_ask(NETLINK_NETFILTER, nft_msg(NFT_MSG_GETRULE), on_rule, &w);
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
 * seen_tc() - the kinds of queueing disciplines that do something, "" for none
 *
 * Return: 0 or a negative errno.
 */
int seen_tc(u32 ifindex, char *kinds, size_t size)
{
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_GETQDISC, NLM_F_DUMP);
	struct tc_walk w = { .ifindex = ifindex, .kinds = kinds, .size = size };
	struct tcmsg tc = {};

	kinds[0] = 0;
	if (!msg || nlmsg_append(msg, &tc, sizeof(tc), NLMSG_ALIGNTO))
		fail("out of memory");
	return nl_ask(NETLINK_ROUTE, msg, on_qdisc, &w);
}
