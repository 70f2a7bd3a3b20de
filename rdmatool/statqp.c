// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What each QP of a link of xroce's has counted, which the module adds to what
 * RDMA netlink tells of it: as it is, or how fast it rises. Owns what it was the
 * last time.
 */
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "res.h"
#include "stat.h"

/* A QP as it was when it was looked at last. */
struct seen_qp {
	u32 dev_index;
	u32 qpn;
	u64 val[XROCE_CNT_MAX];
};

/* Trees, for tsearch(): as they were the last time, and as they are */
static void *qps_before, *qps_now;
static bool watching;
static double interval;		/* seconds since then; 0: there is no then */
static struct seen_qp now;	/* the QP under way, how much with interval */

static int by_qpn(const void *a, const void *b)
{
	const struct seen_qp *x = a, *y = b;

	if (x->dev_index != y->dev_index)
		return x->dev_index < y->dev_index ? -1 : 1;
	return x->qpn < y->qpn ? -1 : x->qpn > y->qpn;
}

/*
 * How much it has counted since the last time. One that is new since then had
 * counted nothing; nor had one whose number was another's, which had more.
 */
static void since_then(void)
{
	struct seen_qp *qp = malloc(sizeof(*qp)), **was;
	u32 i;

	if (!qp)
		fail("out of memory");
	*qp = now;
	if (!tsearch(qp, &qps_now, by_qpn))
		fail("out of memory");
	was = tfind(qp, &qps_before, by_qpn);
	for (i = 0; was && i < XROCE_CNT_MAX; i++)
		if (now.val[i] < (*was)->val[i])
			was = NULL;
	for (i = 0; was && i < XROCE_CNT_MAX; i++)
		now.val[i] -= (*was)->val[i];
}

static void note(const char *name, u64 val)
{
	u32 i;

	for (i = 0; i < XROCE_CNT_MAX; i++)
		if (!strcmp(name, xroce_counters[i][0]))
			now.val[i] = val;
}

/* Is there something to be shown of a QP, which is @now then. */
static bool qp_read(const struct rdev *dev, u32 qpn, struct nlattr *driver)
{
	struct nlattr *a;
	char name[64] = "";
	bool any = false;
	int left;
	u32 i;

	/* Who has no such table is not ours. */
	if (!driver)
		return false;
	now = (struct seen_qp){ .dev_index = dev->index, .qpn = qpn };
	nla_for_each_nested(a, driver, left) {
		if (nla_type(a) == RDMA_NLDEV_ATTR_DRIVER_STRING)
			nla_strlcpy(name, a, sizeof(name));
		else if (nla_type(a) == RDMA_NLDEV_ATTR_DRIVER_U64)
			note(name, nla_get_u64(a));
	}
	if (watching)
		since_then();
	for (i = 0; i < XROCE_CNT_MAX; i++)
		any |= now.val[i];
	return watching ? interval && (any || options.details) : true;
}

static void qp_head(void)
{
	char stamp[32];

	if (watching)
		out_word("time", time_stamp(stamp, sizeof(stamp), 0));
}

static void qp_show(void)
{
	u32 i;

	for (i = 0; i < XROCE_CNT_MAX; i++) {
		if (!now.val[i] && !options.details)
			continue;
		if (watching) {
			out_rate(xroce_counters[i][0], now.val[i] / interval);
			continue;
		}
		out_break();
		out_uint(xroce_counters[i][0], now.val[i]);
		if (options.details && !options.json)
			out_fmt("", "(%s)", xroce_counters[i][1]);
	}
}

static const struct object obj = {
	.what = "stat qp", .cols = qp_stat_cols,
	.cmd = RDMA_NLDEV_CMD_RES_QP_GET, .table = RDMA_NLDEV_ATTR_RES_QP,
	.read = qp_read, .head = qp_head, .show = qp_show,
};

struct words {
	int argc;
	char **argv;
};

static void watch_qps(void *arg, double seconds)
{
	const struct words *w = arg;

	interval = seconds;
	qps_before = qps_now;
	qps_now = NULL;
	res_rows(&obj, w->argc, w->argv);
	tdestroy(qps_before, free);
}

void stat_qp(int argc, char **argv)
{
	struct watch w = {};
	struct words words;

	if (argc && !strcmp(argv[0], "show")) {
		argc--;
		argv++;
	}
	words.argc = stat_args("stat qp", &w, argc, argv);
	words.argv = argv;
	watching = w.period;
	if (watching)
		stat_watch(&w, watch_qps, &words);
	else
		res_show(&obj, words.argc, words.argv);
}
