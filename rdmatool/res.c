// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * QPs, CQs and MRs of any RDMA device, by RDMA netlink: a table of columns each,
 * one dumper for all. Of xroce's QPs the module tells more.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rdmatool.h"

enum kind {
	NUM,		/* u8 to u64, by its length */
	HEX,
	NAME,		/* a number with a name */
	COMM,		/* of a pid, or the kernel part that owns it */
	GID,
};

/**
 * struct col - a field of a kind of object
 * @attr: attribute of nldev, or of the xroce family when @ours
 * @detail: only with -d
 * @names: of kind NAME
 */
struct col {
	const char *name;
	u16 attr;
	u8 kind;
	bool ours;
	bool detail;
	const char *const *names;
	u32 n_names;
};

#define COL(n, a, k, ...)	{ .name = n, .attr = a, .kind = k, __VA_ARGS__ }
#define N(name, attr, ...) \
	COL(name, RDMA_NLDEV_ATTR_##attr, NUM, __VA_ARGS__)
#define H(name, attr)		COL(name, RDMA_NLDEV_ATTR_##attr, HEX)
#define E(name, attr, ...) \
	COL(name, RDMA_NLDEV_ATTR_##attr, NAME, __VA_ARGS__)
#define OURS(name, a, kind, ...) \
	COL(name, XROCE_A_QP_##a, kind, .ours = true, __VA_ARGS__)
#define DETAIL			.detail = true

static const char *const qp_types[] = {
	"SMI", "GSI", "RC", "UC", "UD", "RAW_IPV6", "RAW_ETHERTYPE", NULL,
	"RAW_PACKET", "XRC_INI", "XRC_TGT", [255] = "DRIVER",
};

static const char *const qp_states[] = {
	"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERROR",
};

/* Of the work request that ended it, enum ib_wc_status. */
static const char *const wc_statuses[] = {
	"none", "local-length", "local-qp-operation", "local-eec-operation",
	"local-protection", "flushed", "window-bind", "bad-response",
	"local-access", "remote-invalid-request", "remote-access",
	"remote-operation", "transport-retries", "rnr-retries",
};

static const char *const mig_states[] = { "MIGRATED", "REARM", "ARMED" };

static const char *const poll_ctxs[] = {
	"DIRECT", "SOFTIRQ", "WORKQUEUE", "UNBOUND_WORKQUEUE",
};

static const struct col qp_cols[] = {
	N("lqpn", RES_LQPN),
	N("rqpn", RES_RQPN),
	E("type", RES_TYPE, .names = qp_types,
	  .n_names = ARRAY_SIZE(qp_types)),
	E("state", RES_STATE, .names = qp_states,
	  .n_names = ARRAY_SIZE(qp_states)),
	OURS("src", SGID, GID),
	OURS("dst", DGID, GID),
	OURS("mtu", PATH_MTU, NUM),
	N("rq-psn", RES_RQ_PSN),
	N("sq-psn", RES_SQ_PSN),
	E("path-mig-state", RES_PATH_MIG_STATE, .names = mig_states,
	  .n_names = ARRAY_SIZE(mig_states), DETAIL),
	OURS("sport", SPORT, NUM, DETAIL),
	OURS("pkey", PKEY, HEX, DETAIL),
	OURS("access", ACCESS, HEX, DETAIL),
	OURS("epsn", EPSN, NUM, DETAIL),
	OURS("msn", MSN, NUM, DETAIL),
	OURS("rd-active", RD_ACTIVE, NUM, DETAIL),
	OURS("una", UNA_PSN, NUM, DETAIL),
	OURS("next", NEXT_PSN, NUM, DETAIL),
	OURS("max", MAX_PSN, NUM, DETAIL),
	OURS("rd-outstanding", RD_OUTSTANDING, NUM, DETAIL),
	OURS("cwnd", CWND, NUM, DETAIL),
	OURS("ssthresh", SSTHRESH, NUM, DETAIL),
	OURS("timeout-ns", TIMEOUT, NUM, DETAIL),
	OURS("retry-cnt", RETRY_CNT, NUM, DETAIL),
	OURS("retries", RETRIES, NUM, DETAIL),
	OURS("rnr-retry", RNR_RETRY, NUM, DETAIL),
	OURS("rnr-retries", RNR_RETRIES, NUM, DETAIL),
	OURS("sq-depth", SQ_DEPTH, NUM, DETAIL),
	OURS("sq-fill", SQ_FILL, NUM),
	OURS("rq-depth", RQ_DEPTH, NUM, DETAIL),
	OURS("rq-fill", RQ_FILL, NUM),
	OURS("steer-cpu", STEER_CPU, NUM),
	OURS("error", ERROR_STATUS, NAME, .names = wc_statuses,
	     .n_names = ARRAY_SIZE(wc_statuses), DETAIL),
	OURS("error-nak", ERROR_NAK, HEX, DETAIL),
	N("pdn", RES_PDN),
	N("pid", RES_PID),
	COL("comm", 0, COMM),
	{}
};

static const struct col cq_cols[] = {
	N("cqn", RES_CQN),
	N("cqe", RES_CQE),
	N("users", RES_USECNT),
	E("poll-ctx", RES_POLL_CTX, .names = poll_ctxs,
	  .n_names = ARRAY_SIZE(poll_ctxs)),
	N("adaptive-moderation", DEV_DIM, DETAIL),
	N("ctxn", RES_CTXN),
	N("pid", RES_PID),
	COL("comm", 0, COMM),
	{}
};

static const struct col mr_cols[] = {
	N("mrn", RES_MRN),
	H("rkey", RES_RKEY),
	H("lkey", RES_LKEY),
	H("iova", RES_IOVA),
	N("mrlen", RES_MRLEN),
	N("pdn", RES_PDN),
	N("pid", RES_PID),
	COL("comm", 0, COMM),
	{}
};

#define MAX_COLS	48

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

struct dump {
	const char *what;
	const struct col *cols;
	const char *filter[MAX_COLS];
	const struct rdev *dev;
	int cmd;
	int table;
};

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

	(void)arg;
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

/* A field's value: a number, or when @text is not empty, that. */
struct value {
	u64 num;
	char text[128];
};

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

/* False when the object does not have it. */
static bool get_value(const struct col *col, struct nlattr **tb,
		      const struct our_qp *ours, struct value *v)
{
	v->text[0] = 0;
	if (col->kind == COMM)
		return get_owner(tb, v);
	if (col->ours) {
		if (!ours || !ours->have[col->attr])
			return false;
		v->num = ours->num[col->attr];
	} else {
		if (!tb[col->attr])
			return false;
		v->num = get_num(tb[col->attr]);
	}
	if (col->kind == HEX)
		snprintf(v->text, sizeof(v->text), "%#llx",
			 (unsigned long long)v->num);
	else if (col->kind == GID)
		inet_ntop(AF_INET6, ours->gid[col->attr], v->text,
			  sizeof(v->text));
	else if (col->kind == NAME && v->num < col->n_names &&
		 col->names[v->num])
		snprintf(v->text, sizeof(v->text), "%s", col->names[v->num]);
	return true;
}

/* One of a filter's values, the @len bytes at s: a number, range or word. */
static bool matches(const struct col *col, const struct value *v,
		    const char *s, size_t len)
{
	unsigned long long a, b;
	struct in6_addr gid;
	char word[128], *end;

	if (len >= sizeof(word))
		return false;
	memcpy(word, s, len);
	word[len] = 0;
	if (col->kind == GID) {
		char mapped[160];

		snprintf(mapped, sizeof(mapped), "%s%s",
			 strchr(word, ':') ? "" : "::ffff:", word);
		return inet_pton(AF_INET6, mapped, &gid) == 1 &&
		       inet_ntop(AF_INET6, &gid, word, sizeof(word)) &&
		       !strcmp(word, v->text);
	}
	if (!strcasecmp(word, v->text))
		return true;
	if (col->kind == COMM || *s < '0' || *s > '9')
		return false;
	a = b = strtoull(word, &end, 0);
	if (*end == '-')
		b = strtoull(end + 1, &end, 0);
	return !*end && v->num >= a && v->num <= b;
}

static bool wanted(const struct dump *d, struct nlattr **tb,
		   const struct our_qp *ours)
{
	struct value v;
	size_t i, len;

	for (i = 0; d->cols[i].name; i++) {
		const char *s = d->filter[i];
		bool ok = false;

		if (!s)
			continue;
		if (!get_value(&d->cols[i], tb, ours, &v))
			return false;
		for (; !ok; s += len + 1) {
			len = strcspn(s, ",");
			ok = matches(&d->cols[i], &v, s, len);
			if (!s[len])
				break;
		}
		if (!ok)
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

static void show_entry(const struct dump *d, struct nlattr **tb)
{
	struct nlattr *qpn = tb[RDMA_NLDEV_ATTR_RES_LQPN];
	struct nlattr *port = tb[RDMA_NLDEV_ATTR_PORT_INDEX];
	const struct our_qp *ours = NULL;
	const struct col *col;
	struct value v;

	if (d->cmd == RDMA_NLDEV_CMD_RES_QP_GET && qpn)
		ours = find_our_qp(d->dev->index, nla_get_u32(qpn));
	if (!wanted(d, tb, ours))
		return;
	out_row();
	out_dev(d->dev->name, d->dev->index, port ? nla_get_u32(port) : 0);
	for (col = d->cols; col->name; col++) {
		if (col->detail && !options.details)
			continue;
		if (!get_value(col, tb, ours, &v))
			continue;
		if (*v.text)
			out_str(col->name, v.text);
		else
			out_uint(col->name, v.num);
	}
	if (options.details && tb[RDMA_NLDEV_ATTR_DRIVER])
		show_driver(tb[RDMA_NLDEV_ATTR_DRIVER]);
	out_row_end();
}

static void on_table(struct nlattr **tb, void *arg)
{
	struct nlattr *entry, *etb[256];
	const struct dump *d = arg;
	int left;

	if (!tb[d->table])
		return;
	nla_for_each_nested(entry, tb[d->table], left)
		if (!nla_parse_nested(etb, 255, entry, NULL))
			show_entry(d, etb);
}

/* Takes the filters from the command line: any column, and dev. */
static const char *parse_filters(struct dump *d, int argc, char **argv)
{
	struct arg args[MAX_COLS + 2] = {};
	const char *dev = NULL;
	size_t i;

	for (i = 0; d->cols[i].name; i++)
		args[i] = (struct arg){ d->cols[i].name, &d->filter[i] };
	args[i] = (struct arg){ "dev", &dev };
	parse_args(d->what, args, argc, argv);
	return dev;
}

static void show(struct dump *d, int argc, char **argv)
{
	const char *name = parse_filters(d, argc, argv);
	const struct rdev *dev = name ? rdev_get(name) : rdev_all();
	struct nl_msg *msg;
	int err;

	if (d->cmd == RDMA_NLDEV_CMD_RES_QP_GET)
		get_our_qps(name);
	out_open(NULL);
	for (; *dev->name; dev++) {
		d->dev = dev;
		msg = nldev_msg(d->cmd, NLM_F_DUMP);
		put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, dev->index);
		err = nldev_talk(msg, on_table, d);
		/* ib_core says EINVAL for a device that is gone. */
		if (err && err != -EINVAL)
			fail("%s: %s: %s", d->what, dev->name, nl_why(err));
		if (name)
			break;
	}
	out_close();
}

static void qp_show(int argc, char **argv)
{
	struct dump d = {
		.what = "qp show", .cols = qp_cols,
		.cmd = RDMA_NLDEV_CMD_RES_QP_GET,
		.table = RDMA_NLDEV_ATTR_RES_QP,
	};

	show(&d, argc, argv);
}

static void cq_show(int argc, char **argv)
{
	struct dump d = {
		.what = "cq show", .cols = cq_cols,
		.cmd = RDMA_NLDEV_CMD_RES_CQ_GET,
		.table = RDMA_NLDEV_ATTR_RES_CQ,
	};

	show(&d, argc, argv);
}

static void mr_show(int argc, char **argv)
{
	struct dump d = {
		.what = "mr show", .cols = mr_cols,
		.cmd = RDMA_NLDEV_CMD_RES_MR_GET,
		.table = RDMA_NLDEV_ATTR_RES_MR,
	};

	show(&d, argc, argv);
}

/* Steers one QP, whatever its link says. */
static void qp_set(int argc, char **argv)
{
	const char *name = NULL, *lqpn = NULL, *steer = NULL;
	const struct arg args[] = {
		{ "dev", &name },
		{ "lqpn", &lqpn },
		{ "steer", &steer },
		{}
	};
	struct nl_msg *msg;
	u32 qpn, cpu = 0;
	struct xlink xl;
	int err;

	parse_args("qp set", args, argc, argv);
	if (!name || !lqpn || !steer)
		usage("qp set: dev, lqpn and steer expected");
	qpn = parse_uint("qp set: lqpn", lqpn, 0xffffff);
	if (strcmp(steer, "off"))
		cpu = parse_uint("qp set: steer", steer, 0xffff);
	rdev_get(name);
	if (!xlink_get(name, &xl))
		fail("qp set: %s is not a link of type xroce", name);
	msg = xroce_msg(XROCE_CMD_QP_SET, 0);
	put_str(msg, XROCE_A_QP_DEV_NAME, name);
	put_u32(msg, XROCE_A_QP_QPN, qpn);
	if (!strcmp(steer, "off")) {
		put_flag(msg, XROCE_A_QP_STEER_LINK);
	} else {
		if (xl.xdp_mode == XROCE_XDP_MODE_OFF)
			fail("qp set: steering is the XDP program's, and the "
			     "link runs without (try: rdmatool link set %s "
			     "xdp auto)", name);
		if (xl.xdp_mode == XROCE_XDP_MODE_GENERIC)
			warn("link %s: xdp is generic: packets stay where they "
			     "are until it is native", name);
		put_u32(msg, XROCE_A_QP_STEER_CPU, cpu);
		if (!xdp_steer(&xl, steer))
			fail("qp set: steer %s: %s", steer, xdp_why());
	}
	err = xroce_talk(msg, XROCE_A_QP_MAX, NULL, NULL);
	if (err)
		fail("qp set: %s lqpn %s: %s", name, lqpn, nl_why(err));
}

void cmd_qp(int argc, char **argv)
{
	static const struct cmd cmds[] = {
		{ "show", qp_show },
		{ "set", qp_set },
		{}
	};

	dispatch("qp", cmds, argc, argv);
}

void cmd_cq(int argc, char **argv)
{
	static const struct cmd cmds[] = { { "show", cq_show }, {} };

	dispatch("cq", cmds, argc, argv);
}

void cmd_mr(int argc, char **argv)
{
	static const struct cmd cmds[] = { { "show", mr_show }, {} };

	dispatch("mr", cmds, argc, argv);
}
