// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Objects of any RDMA device, by RDMA netlink or, where that knows none, by the
 * xroce family: one dumper for all tables of columns. Of xroce's QPs the module
 * tells more.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "res.h"

/* What the module tells of a QP: numbers by attribute, and its addresses. */
struct our_qp {
	u32 dev_index;
	u32 qpn;
	u64 num[XROCE_A_QP_MAX + 1];
	u8 gid[XROCE_A_QP_DGID + 1][16];
	bool have[XROCE_A_QP_MAX + 1];
};

static struct our_qp *our_qps;
static size_t n_our_qps;

#define MAX_ID		(1u << 24)
#define MAX_PORTS	256
#define SEEN_BYTES	((MAX_ID + 2 * MAX_PORTS) / 8)

/**
 * struct dump - a show under way
 * @seen: which numbers of the device have been looked at: ib_core goes on by
 *	counting, so that what comes and goes meanwhile makes it tell of one
 *	twice, or leave one out
 * @messages: that the kernel's answer took
 */
struct dump {
	const struct object *obj;
	const char *filter[MAX_COLS];
	const struct rdev *dev;
	u8 *seen;
	u32 messages;
};

/* Who made a protection domain, for what is known by that alone. */
struct owner {
	u32 dev_index;
	u32 pdn;
	u32 pid;
	char kern[64];
};

static struct owner *owners;
static size_t n_owners;

static u64 get_num(const struct nlattr *attr)
{
	switch (nla_len(attr)) {
	case 1:
		return nla_get_u8(attr);
	case 2:
		return nla_get_u16(attr);
	case 4:
		return nla_get_u32(attr);
	case 8:
		return nla_get_u64(attr);
	}
	return 0;
}

static void on_our_qp(struct nlattr **tb, void *arg)
{
	struct our_qp *qp;
	int i;

	/* In steps of a power of two. */
	if (!(n_our_qps & (n_our_qps - 1))) {
		our_qps = realloc(our_qps,
				  (2 * n_our_qps + 1) * sizeof(*our_qps));
		if (!our_qps)
			fail("out of memory");
	}
	qp = &our_qps[n_our_qps++];
	memset(qp, 0, sizeof(*qp));
	for (i = 1; i <= XROCE_A_QP_MAX; i++) {
		if (!tb[i])
			continue;
		qp->have[i] = true;
		if (i != XROCE_A_QP_SGID && i != XROCE_A_QP_DGID)
			qp->num[i] = get_num(tb[i]);
		else if (nla_len(tb[i]) == 16)
			memcpy(qp->gid[i], nla_data(tb[i]), 16);
	}
	qp->dev_index = qp->num[XROCE_A_QP_DEV_INDEX];
	qp->qpn = qp->num[XROCE_A_QP_QPN];
}

static int by_number(const void *a, const void *b)
{
	const struct our_qp *x = a, *y = b;

	if (x->dev_index != y->dev_index)
		return x->dev_index < y->dev_index ? -1 : 1;
	return x->qpn < y->qpn ? -1 : x->qpn > y->qpn;
}

static void get_our_qps(const char *dev)
{
	struct nl_msg *msg;
	int err;

	n_our_qps = 0;
	if (!xroce_there())
		return;
	msg = xroce_msg(XROCE_CMD_QP_GET, NLM_F_DUMP);
	if (dev)
		put_str(msg, XROCE_A_QP_DEV_NAME, dev);
	err = xroce_talk(msg, XROCE_A_QP_MAX, on_our_qp, NULL);
	if (err && err != -ENODEV)	/* the device is not xroce's */
		fail("qp show: %s", nl_why(err));
	if (n_our_qps)
		qsort(our_qps, n_our_qps, sizeof(*our_qps), by_number);
}

static const struct our_qp *find_our_qp(u32 dev_index, u32 qpn)
{
	const struct our_qp key = { .dev_index = dev_index, .qpn = qpn };

	return n_our_qps ? bsearch(&key, our_qps, n_our_qps, sizeof(key),
				   by_number) : NULL;
}

static void get_comm(u32 pid, char *buf, size_t size)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	f = fopen(path, "re");
	if (!f)
		return;
	if (fgets(buf, size, f))
		buf[strcspn(buf, "\n")] = 0;
	fclose(f);
}

static void on_pds(struct nlattr **tb, void *arg)
{
	struct nlattr *entry, *pd[256];
	const struct rdev *dev = arg;
	struct owner *owner;
	int left;

	if (!tb[RDMA_NLDEV_ATTR_RES_PD])
		return;
	nla_for_each_nested(entry, tb[RDMA_NLDEV_ATTR_RES_PD], left) {
		if (nla_parse_nested(pd, 255, entry, NULL) ||
		    !pd[RDMA_NLDEV_ATTR_RES_PDN])
			continue;
		owners = realloc(owners, (n_owners + 1) * sizeof(*owners));
		if (!owners)
			fail("out of memory");
		owner = &owners[n_owners++];
		memset(owner, 0, sizeof(*owner));
		owner->dev_index = dev->index;
		owner->pdn = nla_get_u32(pd[RDMA_NLDEV_ATTR_RES_PDN]);
		if (pd[RDMA_NLDEV_ATTR_RES_PID])
			owner->pid = nla_get_u32(pd[RDMA_NLDEV_ATTR_RES_PID]);
		if (pd[RDMA_NLDEV_ATTR_RES_KERN_NAME])
			nla_strlcpy(owner->kern,
				    pd[RDMA_NLDEV_ATTR_RES_KERN_NAME],
				    sizeof(owner->kern));
	}
}

static void get_owners(const struct rdev *dev)
{
	struct nl_msg *msg = nldev_msg(RDMA_NLDEV_CMD_RES_PD_GET, NLM_F_DUMP);

	put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, dev->index);
	/* A device that is gone has none. */
	nldev_talk(msg, on_pds, (void *)dev);
}

static const struct owner *find_owner(const struct dump *d, struct nlattr **tb)
{
	size_t i;

	if (!d->obj->pdn || !tb[d->obj->pdn])
		return NULL;
	for (i = 0; i < n_owners; i++)
		if (owners[i].dev_index == d->dev->index &&
		    owners[i].pdn == nla_get_u32(tb[d->obj->pdn]))
			return &owners[i];
	return NULL;
}

/* Of what only its protection domain tells. */
static bool get_pd_owner(const struct dump *d, struct nlattr **tb,
			 struct value *v)
{
	const struct owner *owner = find_owner(d, tb);

	if (!owner)
		return false;
	if (*owner->kern)
		snprintf(v->text, sizeof(v->text), "[%s]", owner->kern);
	else if (owner->pid)
		get_comm(owner->pid, v->text, sizeof(v->text));
	return *v->text;
}

static bool get_owner(struct nlattr **tb, struct value *v)
{
	struct nlattr *kern = tb[RDMA_NLDEV_ATTR_RES_KERN_NAME];

	if (kern)
		snprintf(v->text, sizeof(v->text), "[%.100s]",
			 nla_get_string(kern));
	else if (tb[RDMA_NLDEV_ATTR_RES_PID])
		get_comm(nla_get_u32(tb[RDMA_NLDEV_ATTR_RES_PID]), v->text,
			 sizeof(v->text));
	return *v->text;
}

/**
 * text_sockaddr() - an address with its port, as it is shown
 */
void text_sockaddr(const void *p, size_t len, struct value *v)
{
	char addr[INET6_ADDRSTRLEN];
	struct sockaddr_storage ss = {};
	const struct sockaddr_in6 *in6 = (void *)&ss;
	const struct sockaddr_in *in = (void *)&ss;

	memcpy(&ss, p, len < sizeof(ss) ? len : sizeof(ss));
	if (ss.ss_family == AF_INET)
		snprintf(v->text, sizeof(v->text), "%s:%u",
			 inet_ntop(AF_INET, &in->sin_addr, addr, sizeof(addr)),
			 ntohs(in->sin_port));
	else if (ss.ss_family == AF_INET6)
		snprintf(v->text, sizeof(v->text), "[%s]:%u",
			 inet_ntop(AF_INET6, &in6->sin6_addr, addr,
				   sizeof(addr)), ntohs(in6->sin6_port));
}

/* All of them, of any number: what tells of one takes half the room at least. */
static const char *list_qps(struct nlattr *table)
{
	struct nlattr *entry, *tb[256];
	size_t size = 2 * nla_len(table) + 1, at = 0;
	static char *text;
	u32 a, b;
	int left;

	text = realloc(text, size);
	if (!text)
		fail("out of memory");
	*text = 0;
	nla_for_each_nested(entry, table, left) {
		if (nla_parse_nested(tb, 255, entry, NULL))
			continue;
		if (tb[RDMA_NLDEV_ATTR_RES_LQPN]) {
			a = nla_get_u32(tb[RDMA_NLDEV_ATTR_RES_LQPN]);
			b = a;
		} else if (tb[RDMA_NLDEV_ATTR_MIN_RANGE] &&
			   tb[RDMA_NLDEV_ATTR_MAX_RANGE]) {
			a = nla_get_u32(tb[RDMA_NLDEV_ATTR_MIN_RANGE]);
			b = nla_get_u32(tb[RDMA_NLDEV_ATTR_MAX_RANGE]);
		} else {
			continue;
		}
		at += snprintf(text + at, size - at, a == b ? "%s%u" : "%s%u-%u",
			       at ? "," : "", a, b);
	}
	return text;
}

/**
 * text_bytes() - a GID or MAC, as it is shown
 */
void text_bytes(const struct col *col, const u8 *p, struct value *v)
{
	if (col->kind == GID)
		inet_ntop(AF_INET6, p, v->text, sizeof(v->text));
	else
		snprintf(v->text, sizeof(v->text),
			 "%02x:%02x:%02x:%02x:%02x:%02x", p[0], p[1], p[2], p[3],
			 p[4], p[5]);
}

static void text_number(const struct col *col, struct value *v)
{
	if (col->kind == HEX)
		snprintf(v->text, sizeof(v->text), "%#llx",
			 (unsigned long long)v->num);
	else if (col->kind == NAME && v->num < col->n_names &&
		 col->names[v->num])
		snprintf(v->text, sizeof(v->text), "%s", col->names[v->num]);
}

static bool get_ours(const struct col *col, const struct our_qp *ours,
		     struct value *v)
{
	if (!ours || !ours->have[col->attr])
		return false;
	v->num = ours->num[col->attr];
	if (col->kind == GID)
		text_bytes(col, ours->gid[col->attr], v);
	else
		text_number(col, v);
	return true;
}

/* False when the object does not have it. */
static bool get_value(const struct dump *d, const struct col *col,
		      struct nlattr **tb, const struct our_qp *ours,
		      struct value *v)
{
	const struct owner *owner;
	struct nlattr *a;

	memset(v, 0, sizeof(*v));
	if (col->kind == COMM)
		return d->obj->pdn ? get_pd_owner(d, tb, v) : get_owner(tb, v);
	if (col->ours)
		return get_ours(col, ours, v);
	/* Not an attribute of ours: the protection domain's. */
	if (d->obj->pdn && col->attr == RDMA_NLDEV_ATTR_RES_PID) {
		owner = find_owner(d, tb);
		v->num = owner ? owner->pid : 0;
		return v->num;
	}
	a = tb[col->attr];
	if (!a)
		return false;
	switch (col->kind) {
	case SOCKADDR:
		text_sockaddr(nla_data(a), nla_len(a), v);
		return *v->text;
	case QPS:
		v->list = list_qps(a);
		return *v->list;
	case GID:
	case MAC:
		if (nla_len(a) < (col->kind == GID ? 16 : 6))
			return false;
		text_bytes(col, nla_data(a), v);
		return true;
	case FLAG:
		v->num = 1;
		return true;
	default:
		v->num = get_num(a);
		text_number(col, v);
		return true;
	}
}

/* What a driver adds is shown as it comes, and here looked for by its name. */
static bool get_fact(const struct dump *d, const struct col *col,
		     struct nlattr **tb, struct value *v)
{
	struct nlattr *table, *a;
	bool here = false;
	int left;

	table = d->obj->table ? tb[RDMA_NLDEV_ATTR_DRIVER] : NULL;
	if (!table)
		return false;
	nla_for_each_nested(a, table, left) {
		if (nla_type(a) == RDMA_NLDEV_ATTR_DRIVER_PRINT_TYPE)
			continue;
		if (here) {
			v->num = get_num(a);
			text_number(col, v);
			return true;
		}
		here = nla_type(a) == RDMA_NLDEV_ATTR_DRIVER_STRING &&
		       !strcmp(nla_get_string(a), col->name);
	}
	return false;
}

static bool wanted(const struct dump *d, struct nlattr **tb,
		   const struct our_qp *ours)
{
	struct value v;
	size_t i;

	for (i = 0; d->obj->cols[i].name; i++) {
		if (!d->filter[i])
			continue;
		if (!get_value(d, &d->obj->cols[i], tb, ours, &v) &&
		    !get_fact(d, &d->obj->cols[i], tb, &v))
			return false;
		if (!filter_takes(&d->obj->cols[i], &v, d->filter[i]))
			return false;
	}
	return true;
}

/*
 * What a driver adds: names and values in turn, perhaps with a hint between
 * that the value be printed in hexadecimal.
 */
static void show_driver(struct nlattr *table)
{
	struct nlattr *a;
	char key[64] = "";
	bool hex = false;
	int left;

	nla_for_each_nested(a, table, left) {
		int type = nla_type(a);

		if (type == RDMA_NLDEV_ATTR_DRIVER_STRING && !*key) {
			nla_strlcpy(key, a, sizeof(key));
			hex = false;
			continue;
		}
		if (type == RDMA_NLDEV_ATTR_DRIVER_PRINT_TYPE) {
			hex = nla_get_u8(a) == RDMA_NLDEV_PRINT_TYPE_HEX;
			continue;
		}
		if (type == RDMA_NLDEV_ATTR_DRIVER_STRING)
			out_str(key, nla_get_string(a));
		else if (hex)
			out_fmt(key, "%#llx", (unsigned long long)get_num(a));
		else if (type == RDMA_NLDEV_ATTR_DRIVER_S32)
			out_fmt(key, "%d", (s32)get_num(a));
		else if (type == RDMA_NLDEV_ATTR_DRIVER_S64)
			out_fmt(key, "%lld", (long long)get_num(a));
		else
			out_uint(key, get_num(a));
		key[0] = 0;
	}
}

/* Each port has QPs 0 and 1 of its own: they come behind all other numbers. */
static u32 number(const struct dump *d, u32 id, u32 port)
{
	if (d->obj->table != RDMA_NLDEV_ATTR_RES_QP || id > 1)
		return id;
	return MAX_ID + 2 * (port % MAX_PORTS) + id;
}

static bool seen(const struct dump *d, u32 n)
{
	return d->seen[n / 8] & 1 << n % 8;
}

/* False when it has been shown already. Each kind has its number first. */
static bool see(struct dump *d, struct nlattr **tb)
{
	const struct nlattr *a = tb[d->obj->cols[0].attr];
	const struct nlattr *port = tb[RDMA_NLDEV_ATTR_PORT_INDEX];
	u32 n;

	if (!a || !d->obj->table || nla_get_u32(a) >= MAX_ID)
		return true;
	n = number(d, nla_get_u32(a), port ? nla_get_u32(port) : 0);
	if (seen(d, n))
		return false;
	d->seen[n / 8] |= 1 << n % 8;
	return true;
}

static void show_entry(struct dump *d, struct nlattr **tb)
{
	bool nldev = d->obj->table;
	struct nlattr *qpn = nldev ? tb[RDMA_NLDEV_ATTR_RES_LQPN] : NULL;
	struct nlattr *port = nldev ? tb[RDMA_NLDEV_ATTR_PORT_INDEX] : NULL;
	const struct our_qp *ours = NULL;
	const struct col *col;
	struct value v;

	if (d->obj->table == RDMA_NLDEV_ATTR_RES_QP && qpn)
		ours = find_our_qp(d->dev->index, nla_get_u32(qpn));
	if (!see(d, tb) || !wanted(d, tb, ours))
		return;
	if (d->obj->read &&
	    !d->obj->read(d->dev, qpn ? nla_get_u32(qpn) : 0,
			  tb[RDMA_NLDEV_ATTR_DRIVER]))
		return;
	out_row();
	if (d->obj->head)
		d->obj->head();
	out_dev(d->dev->name, d->dev->index, port ? nla_get_u32(port) : 0);
	for (col = d->obj->cols; col->name; col++) {
		if (col->detail && !options.details)
			continue;
		if (!get_value(d, col, tb, ours, &v))
			continue;
		if (v.list || *v.text)
			out_str(col->name, v.list ?: v.text);
		else if (col->kind == FLAG)
			out_flag(col->name, true);
		else
			out_uint(col->name, v.num);
	}
	/* Of our QPs it says less than the module has. */
	if (d->obj->show)
		d->obj->show();
	else if (nldev && !ours && options.details && tb[RDMA_NLDEV_ATTR_DRIVER])
		show_driver(tb[RDMA_NLDEV_ATTR_DRIVER]);
	out_row_end();
}

static void on_table(struct nlattr **tb, void *arg)
{
	struct nlattr *entry, *etb[256];
	struct dump *d = arg;
	int left;

	if (!tb[d->obj->table])
		return;
	d->messages++;
	nla_for_each_nested(entry, tb[d->obj->table], left)
		if (!nla_parse_nested(etb, 255, entry, NULL))
			show_entry(d, etb);
}

/* Takes the filters from the command line: any column, and dev, or link as rdma has it. */
static const char *parse_filters(struct dump *d, int argc, char **argv)
{
	struct arg args[MAX_COLS + 3] = {};
	const char *dev = NULL;
	size_t i;

	for (i = 0; d->obj->cols[i].name; i++)
		args[i] = (struct arg){ d->obj->cols[i].name, &d->filter[i] };
	args[i] = (struct arg){ "dev", &dev };
	args[i + 1] = (struct arg){ "link", &dev };
	parse_args(d->obj->what, args, argc, argv);
	for (i = 0; d->obj->cols[i].name; i++)
		if (d->filter[i])
			filter_check(d->obj->what, &d->obj->cols[i], d->filter[i]);
	return dev ? rdev_word((char *)dev) : NULL;	/* of argv */
}

/**
 * res_takes() - does a filter of that table have that name, or begin with it
 */
bool res_takes(const struct col *cols, const char *word)
{
	size_t len = strlen(word);

	if (!len || !strncmp("dev", word, len) || !strncmp("link", word, len))
		return len;
	for (; cols->name; cols++)
		if (!strncmp(cols->name, word, len))
			return true;
	return false;
}

static void on_one(struct nlattr **tb, void *arg)
{
	show_entry(arg, tb);
}

/*
 * Shows those of the module's QPs that were left out, one by one. Return: is there
 * one that can only be had with all others, as it has no port yet.
 */
static bool show_left_out(struct dump *d)
{
	struct nl_msg *msg;
	bool more = false;
	size_t i;

	if (d->obj->table != RDMA_NLDEV_ATTR_RES_QP)
		return false;
	for (i = 0; i < n_our_qps; i++) {
		if (our_qps[i].dev_index != d->dev->index ||
		    seen(d, number(d, our_qps[i].qpn, 1)))
			continue;
		msg = nldev_msg(d->obj->cmd, 0);
		put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, d->dev->index);
		put_u32(msg, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
		put_u32(msg, RDMA_NLDEV_ATTR_RES_LQPN, our_qps[i].qpn);
		/* Another error: it is gone by now. */
		more |= nldev_talk(msg, on_one, d) == -EAGAIN;
	}
	return more;
}

/*
 * An answer in several messages may have left something out: once more, and while
 * the module knows of QPs that were not seen, though not for ever.
 */
static int dump_nldev(struct dump *d)
{
	struct nl_msg *msg;
	int err, pass = 0;

	do {
		d->messages = 0;
		msg = nldev_msg(d->obj->cmd, NLM_F_DUMP);
		put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, d->dev->index);
		err = nldev_talk(msg, on_table, d);
		if (err || d->messages < 2)
			return err;
	} while (++pass < 2 || (show_left_out(d) && pass < 10));
	return 0;
}

static int dump_dev(struct dump *d)
{
	struct nl_msg *msg;

	memset(d->seen, 0, SEEN_BYTES);
	if (d->obj->table)
		return dump_nldev(d);
	if (!xroce_there())
		return 0;
	get_owners(d->dev);
	msg = xroce_msg(d->obj->cmd, NLM_F_DUMP);
	put_str(msg, XROCE_A_MW_DEV_NAME, d->dev->name);
	return xroce_talk(msg, d->obj->attr_max, on_one, d);
}

static void show_dev(struct dump *d, const char *name)
{
	int err = dump_dev(d);

	/* ib_core says EINVAL for a device that is gone. */
	if (err && err != -EINVAL && err != -ENODEV)
		fail("%s: %s: %s", d->obj->what, d->dev->name, nl_why(err));
	if (err && name && rdev_gone(d->dev))
		fail("%s: %s is gone", d->obj->what, name);
}

/* @watched: of each look but the first a device may be gone that was there before. */
static void show_rows(struct dump *d, const char *name, bool watched)
{
	bool there = false;

	d->seen = malloc(SEEN_BYTES);
	if (!d->seen)
		fail("out of memory");
	d->dev = name ? rdev_get(name) : rdev_all();
	if (d->obj->table == RDMA_NLDEV_ATTR_RES_QP)
		get_our_qps(name);
	for (; *d->dev->name; d->dev++) {
		if (!watched || !rdev_gone(d->dev)) {
			there = true;
			show_dev(d, name);
		}
		if (name)
			break;
	}
	if (watched && !there)
		fail("%s: %s is gone", d->obj->what, name ?: "every device");
	free(d->seen);
}

/**
 * res_rows() - print the objects of a kind that the arguments ask for, time and again
 */
void res_rows(const struct object *obj, int argc, char **argv)
{
	struct dump d = { .obj = obj };

	show_rows(&d, parse_filters(&d, argc, argv), true);
}

/**
 * res_show() - the same as a list of its own
 */
void res_show(const struct object *obj, int argc, char **argv)
{
	struct dump d = { .obj = obj };
	const char *name = parse_filters(&d, argc, argv);

	out_open(NULL);
	show_rows(&d, name, false);
	out_close();
}
