// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * For "check": what nftables' rules make of our UDP port. Asks the kernel for chains, rules
 * and those sets that rules look the port up in. One walk, nothing is kept behind it.
 */
#include <arpa/inet.h>
#include <linux/in.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdio.h>
#include <string.h>
#include <xroce/wire.h>

#include "rdmatool.h"

#define MAX_TABLES	64
#define MAX_CHAINS	512
#define MAX_LOOKUPS	64
#define REGS		32

/* An accepting rule of one table does not undo the dropping one of another. */
struct table {
	char name[NFT_NAME_MAXLEN];
	int family;
	bool drops_all;		/* what no rule accepts */
	bool accepts_port;
	bool drops_port;
};

/* Those with a hook; others are called by them, or by nobody. */
struct chain {
	char name[NFT_NAME_MAXLEN];
	const struct table *table;
	bool receives;
};

/* What a rule comes to, as far as it concerns the port. */
struct rule {
	bool port;		/* it asks for ours */
	bool other;		/* it asks for what ours is not */
	bool asks;		/* for anything besides UDP and the port */
	bool drops;
	bool accepts;
	bool surely;		/* packets that are received come to its chain */
	char set[NFT_NAME_MAXLEN];	/* which the port is looked up in, or "" */
	bool not_in;
	struct table *table;
};

struct nft_walk {
	struct seen *seen;
	struct table table[MAX_TABLES];
	struct chain chain[MAX_CHAINS];
	struct rule lookup[MAX_LOOKUPS];
	u32 tables;
	u32 chains;
	u32 lookups;
};

static struct nl_msg *nft_msg(int cmd, int family)
{
	struct nl_msg *msg = nlmsg_alloc_simple(NFNL_SUBSYS_NFTABLES << 8 | cmd,
						NLM_F_DUMP);
	struct nfgenmsg nfg = { .nfgen_family = family };

	if (!msg || nlmsg_append(msg, &nfg, sizeof(nfg), NLMSG_ALIGNTO))
		fail("out of memory");
	return msg;
}

static u32 get_be32(const struct nlattr *a)
{
	return a && nla_len(a) >= 4 ? ntohl(nla_get_u32(a)) : 0;
}

static const char *get_name(char buf[NFT_NAME_MAXLEN], const struct nlattr *a)
{
	buf[0] = 0;
	if (a)
		nla_strlcpy(buf, a, NFT_NAME_MAXLEN);
	return buf;
}

/* NULL: not one of ours to look at, or there are too many. */
static struct table *get_table(struct nft_walk *w, int family, const struct nlattr *name)
{
	char buf[NFT_NAME_MAXLEN];
	struct table *t;

	if (family != NFPROTO_INET && family != NFPROTO_IPV4 && family != NFPROTO_IPV6 &&
	    family != NFPROTO_NETDEV)
		return NULL;
	get_name(buf, name);
	for (t = w->table; t < w->table + w->tables; t++)
		if (t->family == family && !strcmp(t->name, buf))
			return t;
	if (w->tables == MAX_TABLES)
		return NULL;
	w->tables++;
	t->family = family;
	memcpy(t->name, buf, sizeof(buf));
	return t;
}

static void on_chain(struct nlmsghdr *nlh, void *arg)
{
	const struct nfgenmsg *nfg = nlmsg_data(nlh);
	struct nlattr *tb[NFTA_CHAIN_MAX + 1], *hook[NFTA_HOOK_MAX + 1];
	struct nft_walk *w = arg;
	struct table *t;
	struct chain *c;
	u32 num;

	if (nlmsg_parse(nlh, sizeof(*nfg), tb, NFTA_CHAIN_MAX, NULL) ||
	    !tb[NFTA_CHAIN_HOOK] ||
	    nla_parse_nested(hook, NFTA_HOOK_MAX, tb[NFTA_CHAIN_HOOK], NULL))
		return;
	w->seen->chains++;
	t = get_table(w, nfg->nfgen_family, tb[NFTA_CHAIN_TABLE]);
	if (!t || w->chains == MAX_CHAINS)
		return;
	num = get_be32(hook[NFTA_HOOK_HOOKNUM]);
	c = &w->chain[w->chains++];
	get_name(c->name, tb[NFTA_CHAIN_NAME]);
	c->table = t;
	c->receives = t->family == NFPROTO_NETDEV ? num == NF_NETDEV_INGRESS :
		      num == NF_INET_PRE_ROUTING || num == NF_INET_LOCAL_IN ||
		      (t->family == NFPROTO_INET && num == NF_INET_INGRESS);
	if (c->receives && tb[NFTA_CHAIN_POLICY] &&
	    get_be32(tb[NFTA_CHAIN_POLICY]) == NF_DROP)
		t->drops_all = true;
}

/* NULL: of a chain without a hook. */
static const struct chain *find_chain(const struct nft_walk *w, const struct table *t,
				      const struct nlattr *name)
{
	const struct chain *c;
	char buf[NFT_NAME_MAXLEN];

	get_name(buf, name);
	for (c = w->chain; c < w->chain + w->chains; c++)
		if (c->table == t && !strcmp(c->name, buf))
			return c;
	return NULL;
}

/* What a rule has loaded into a register. */
enum loaded {
	SOMETHING,
	PROTOCOL,
	DEST_PORT,
};

static u32 reg_of(const struct nlattr *a)
{
	return get_be32(a) % REGS;
}

/* Is it what is asked for, by this comparison: -1 if that cannot be told. */
static int compares(u32 op, int is, int with)
{
	switch (op) {
	case NFT_CMP_EQ:	return is == with;
	case NFT_CMP_NEQ:	return is != with;
	case NFT_CMP_LT:	return is < with;
	case NFT_CMP_LTE:	return is <= with;
	case NFT_CMP_GT:	return is > with;
	case NFT_CMP_GTE:	return is >= with;
	default:		return -1;
	}
}

/* A value of @len bytes, 2 at most; -1: another. */
static int value_of(const struct nlattr *data, int len)
{
	const struct nlattr *v;
	const u8 *p;

	v = data ? nla_find(nla_data(data), nla_len(data), NFTA_DATA_VALUE) : NULL;
	if (!v || nla_len(v) != len)
		return -1;
	p = nla_data(v);
	return len == 2 ? p[0] << 8 | p[1] : p[0];
}

static void see_cmp(struct rule *r, enum loaded what, struct nlattr **data)
{
	u32 op = get_be32(data[NFTA_CMP_OP]);
	int with, yes;

	if (what == SOMETHING) {
		r->asks = true;
		return;
	}
	with = value_of(data[NFTA_CMP_DATA], what == DEST_PORT ? 2 : 1);
	yes = with < 0 ? -1 : compares(op, what == DEST_PORT ? XROCE_UDP_PORT : IPPROTO_UDP, with);
	if (yes < 0)
		r->asks = true;
	else if (!yes)
		r->other = true;
	else if (what == DEST_PORT)
		r->port = true;
}

static void see_range(struct rule *r, enum loaded what, struct nlattr **data)
{
	int from = value_of(data[NFTA_RANGE_FROM_DATA], 2);
	int to = value_of(data[NFTA_RANGE_TO_DATA], 2);
	bool in = from <= XROCE_UDP_PORT && to >= XROCE_UDP_PORT;

	if (what != DEST_PORT || from < 0 || to < 0)
		r->asks = true;
	else if (in == (get_be32(data[NFTA_RANGE_OP]) == NFT_RANGE_EQ))
		r->port = true;
	else
		r->other = true;
}

static void see_verdict(const struct nlattr *data, struct rule *r)
{
	const struct nlattr *verdict, *code;

	verdict = data ? nla_find(nla_data(data), nla_len(data), NFTA_DATA_VERDICT) : NULL;
	code = verdict ? nla_find(nla_data(verdict), nla_len(verdict), NFTA_VERDICT_CODE) : NULL;
	if (!code)
		return;
	r->drops = get_be32(code) == NF_DROP;
	r->accepts = get_be32(code) == NF_ACCEPT;
}

static void see_lookup(struct rule *r, enum loaded what, struct nlattr **data)
{
	if (what != DEST_PORT || *r->set || data[NFTA_LOOKUP_DREG]) {
		r->asks = true;
		return;
	}
	get_name(r->set, data[NFTA_LOOKUP_SET]);
	r->not_in = get_be32(data[NFTA_LOOKUP_FLAGS]) & NFT_LOOKUP_F_INV;
}

/* What is not known here may have loaded any register, or changed what is in it. */
static void see_other(struct rule *r, enum loaded *reg)
{
	r->asks = true;
	memset(reg, 0, REGS * sizeof(*reg));
}

static void see_expr(struct nlattr *elem, struct rule *r, enum loaded *reg)
{
	struct nlattr *tb[NFTA_EXPR_MAX + 1], *data[16];
	char name[NFT_NAME_MAXLEN];

	if (nla_parse_nested(tb, NFTA_EXPR_MAX, elem, NULL) || !tb[NFTA_EXPR_NAME])
		return;
	get_name(name, tb[NFTA_EXPR_NAME]);
	memset(data, 0, sizeof(data));
	if (tb[NFTA_EXPR_DATA])
		nla_parse_nested(data, ARRAY_SIZE(data) - 1, tb[NFTA_EXPR_DATA], NULL);
	if (!strcmp(name, "meta"))
		reg[reg_of(data[NFTA_META_DREG])] =
			get_be32(data[NFTA_META_KEY]) == NFT_META_L4PROTO ? PROTOCOL : SOMETHING;
	else if (!strcmp(name, "payload"))
		reg[reg_of(data[NFTA_PAYLOAD_DREG])] =
			get_be32(data[NFTA_PAYLOAD_BASE]) == NFT_PAYLOAD_TRANSPORT_HEADER &&
			get_be32(data[NFTA_PAYLOAD_OFFSET]) == 2 &&
			get_be32(data[NFTA_PAYLOAD_LEN]) == 2 ? DEST_PORT : SOMETHING;
	else if (!strcmp(name, "cmp"))
		see_cmp(r, reg[reg_of(data[NFTA_CMP_SREG])], data);
	else if (!strcmp(name, "range"))
		see_range(r, reg[reg_of(data[NFTA_RANGE_SREG])], data);
	else if (!strcmp(name, "lookup"))
		see_lookup(r, reg[reg_of(data[NFTA_LOOKUP_SREG])], data);
	else if (!strcmp(name, "immediate"))
		see_verdict(data[NFTA_IMMEDIATE_DATA], r);
	else if (!strcmp(name, "reject"))
		r->drops = true;
	else if (strcmp(name, "counter") && strcmp(name, "log"))
		see_other(r, reg);
}

/* Whose every condition is known. */
static void take_rule(struct nft_walk *w, const struct rule *r)
{
	if (r->port && r->accepts) {
		r->table->accepts_port = true;
	} else if (r->port && r->drops) {
		if (r->asks || !r->surely)
			w->seen->drops_some = true;
		else
			r->table->drops_port = true;
	} else if (r->drops && !r->port && !r->asks && r->surely) {
		r->table->drops_all = true;
	}
}

static void on_rule(struct nlmsghdr *nlh, void *arg)
{
	const struct nfgenmsg *nfg = nlmsg_data(nlh);
	struct nlattr *tb[NFTA_RULE_MAX + 1], *elem;
	enum loaded reg[REGS] = {};
	const struct chain *chain;
	struct nft_walk *w = arg;
	struct rule r = {};
	int left;

	if (nlmsg_parse(nlh, sizeof(*nfg), tb, NFTA_RULE_MAX, NULL) ||
	    !tb[NFTA_RULE_EXPRESSIONS])
		return;
	r.table = get_table(w, nfg->nfgen_family, tb[NFTA_RULE_TABLE]);
	if (!r.table)
		return;
	chain = find_chain(w, r.table, tb[NFTA_RULE_CHAIN]);
	if (chain && !chain->receives)
		return;
	r.surely = chain;
	nla_for_each_nested(elem, tb[NFTA_RULE_EXPRESSIONS], left)
		see_expr(elem, &r, reg);
	if (r.other)
		return;
	if (!*r.set)
		take_rule(w, &r);
	else if ((r.drops || r.accepts) && w->lookups < MAX_LOOKUPS)
		w->lookup[w->lookups++] = r;
}

/* A set's elements, or the first of an interval and the first behind it. */
struct members {
	int last;		/* the last element that is not behind the port */
	bool last_ends;
	bool intervals;
};

static void on_elems(struct nlmsghdr *nlh, void *arg)
{
	struct nlattr *tb[NFTA_SET_ELEM_LIST_MAX + 1], *e[NFTA_SET_ELEM_MAX + 1], *elem;
	struct members *m = arg;
	int left, value;
	bool ends;

	if (nlmsg_parse(nlh, sizeof(struct nfgenmsg), tb, NFTA_SET_ELEM_LIST_MAX, NULL) ||
	    !tb[NFTA_SET_ELEM_LIST_ELEMENTS])
		return;
	nla_for_each_nested(elem, tb[NFTA_SET_ELEM_LIST_ELEMENTS], left) {
		if (nla_parse_nested(e, NFTA_SET_ELEM_MAX, elem, NULL))
			continue;
		value = value_of(e[NFTA_SET_ELEM_KEY], 2);
		ends = get_be32(e[NFTA_SET_ELEM_FLAGS]) & NFT_SET_ELEM_INTERVAL_END;
		m->intervals |= ends;
		if (value < 0 || value > XROCE_UDP_PORT || value < m->last ||
		    (value == m->last && ends))
			continue;
		m->last = value;
		m->last_ends = ends;
	}
}

/* Return: is the port in it, or a negative errno. */
static int in_set(const struct table *t, const char *set)
{
	struct nl_msg *msg = nft_msg(NFT_MSG_GETSETELEM, t->family);
	struct members m = { .last = -1 };
	int err;

	put_str(msg, NFTA_SET_ELEM_LIST_TABLE, t->name);
	put_str(msg, NFTA_SET_ELEM_LIST_SET, set);
	err = nl_ask(NETLINK_NETFILTER, msg, on_elems, &m);
	if (err)
		return err;
	return m.intervals ? m.last >= 0 && !m.last_ends : m.last == XROCE_UDP_PORT;
}

/**
 * nft_look() - what nftables do with our port
 *
 * Return: 0 or a negative errno.
 */
int nft_look(struct seen *seen)
{
	struct nft_walk w = { .seen = seen };
	const struct table *t;
	struct rule *r;
	int err, in;

	err = nl_ask(NETLINK_NETFILTER, nft_msg(NFT_MSG_GETCHAIN, 0), on_chain, &w) ?:
	      nl_ask(NETLINK_NETFILTER, nft_msg(NFT_MSG_GETRULE, 0), on_rule, &w);
	for (r = w.lookup; !err && r < w.lookup + w.lookups; r++) {
		in = in_set(r->table, r->set);
		if (in < 0)
			return in;
		r->port = in != r->not_in;
		if (r->port)
			take_rule(&w, r);
	}
	for (t = w.table; t < w.table + w.tables; t++) {
		seen->drops_all |= t->drops_all && !t->accepts_port;
		seen->drops_port |= t->drops_port && !t->accepts_port;
		seen->drops_some |= t->drops_port && t->accepts_port;
	}
	return err;
}
