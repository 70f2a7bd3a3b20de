// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Hardware counters of RDMA ports, by RDMA netlink, and those of a link's XDP
 * program, from its map: as they are, without -d only those that are not zero, or
 * how fast they rise. Owns what they were the last time.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stat.h"

static bool any;

/* A counter of a port as it was when it was looked at last. */
struct seen_counter {
	u32 dev_index;
	u32 port;
	u64 val;
	char name[64];
};

static struct seen_counter *counters_seen;
static size_t n_counters;
static double interval;		/* seconds since then; 0: not watching */
static u32 cur_dev, cur_port;

const char *const xroce_counters[XROCE_CNT_MAX][2] = {
#define COUNTER(sym, name, text) \
	[XROCE_CNT_##sym] = { #name, text },
	XROCE_COUNTERS(COUNTER)
#undef COUNTER
};

/* What our module's counters mean; others' explain themselves. */
static const char *meaning(const char *name)
{
	size_t i;

	for (i = 0; i < XROCE_CNT_MAX; i++)
		if (!strcmp(name, xroce_counters[i][0]))
			return xroce_counters[i][1];
	return NULL;
}

/* Of the port under way; one that is new begins with what it is. */
static struct seen_counter *last_seen(const char *name, u64 val)
{
	struct seen_counter *c;
	size_t i;

	for (i = 0; i < n_counters; i++) {
		c = &counters_seen[i];
		if (c->dev_index == cur_dev && c->port == cur_port &&
		    !strcmp(c->name, name))
			return c;
	}
	counters_seen = realloc(counters_seen,
				(n_counters + 1) * sizeof(*counters_seen));
	if (!counters_seen)
		fail("out of memory");
	c = &counters_seen[n_counters++];
	*c = (struct seen_counter){
		.dev_index = cur_dev, .port = cur_port, .val = val,
	};
	snprintf(c->name, sizeof(c->name), "%s", name);
	return c;
}

static void show_rate(const char *name, const char *text, u64 val)
{
	struct seen_counter *c = last_seen(name, val);
	/* One that was reset counts from 0. */
	u64 rise = val >= c->val ? val - c->val : val;

	c->val = val;
	if (!rise && !options.details)
		return;
	any = true;
	out_rate(name, rise / interval);
}

/* The first time there is nothing to compare with. */
static void note_value(const char *name, const char *text, u64 val)
{
	last_seen(name, val)->val = val;
}

static void show_value(const char *name, const char *text, u64 val)
{
	if (!val && !options.details)
		return;
	any = true;
	out_break();
	out_uint(name, val);
	if (text && options.details && !options.json)
		out_fmt("", "(%s)", text);
}

typedef void (*show_fn)(const char *name, const char *text, u64 val);

struct stat_arg {
	bool xroce;
	show_fn show;
};

static void on_stat(struct nlattr **tb, void *arg)
{
	const struct stat_arg *a = arg;
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
		a->show(buf, a->xroce ? meaning(buf) : NULL, nla_get_u64(val));
	}
}

static int read_port(const struct rdev *dev, u32 port, show_fn show)
{
	struct nl_msg *msg = nldev_msg(RDMA_NLDEV_CMD_STAT_GET, 0);
	struct xlink xl;
	struct stat_arg arg = {
		.xroce = xlink_get(dev->name, &xl), .show = show,
	};
	int err;

	put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, dev->index);
	put_u32(msg, RDMA_NLDEV_ATTR_PORT_INDEX, port);
	cur_dev = dev->index;
	cur_port = port;
	any = false;
	err = nldev_talk(msg, on_stat, &arg);
	if (!err && arg.xroce && xl.prog_id)
		xdp_stats(&xl, show);
	return err;
}

static void show_port(const struct rdev *dev, u32 port)
{
	int err;

	out_row();
	out_dev(dev->name, dev->index, port);
	err = read_port(dev, port, show_value);
	if (err == -EINVAL || err == -EOPNOTSUPP)
		out_note("note", "this device has no counters");
	else if (!any && !err)
		out_note("note", "all counters are 0");
	out_row_end();
	if (err && err != -EINVAL && err != -EOPNOTSUPP && err != -ENODEV)
		fail("stat %s/%u: %s", dev->name, port, nl_why(err));
}

static void watch_port(const struct rdev *dev, u32 port)
{
	char stamp[32];
	int err;

	if (!interval) {
		read_port(dev, port, note_value);
		return;
	}
	out_row();
	out_word("time", time_stamp(stamp, sizeof(stamp), 0));
	out_dev(dev->name, dev->index, port);
	err = read_port(dev, port, show_rate);
	if (!any && !err && !options.json)
		out_word("", "-");
	out_row_end();
}

/* All ports of one device or of all that are still there. Return: is any. */
static bool each_port(struct rdev *dev, const struct rdev *only,
		      void (*fn)(const struct rdev *dev, u32 port))
{
	bool there = false;
	u32 port;

	for (; *dev->name; dev++) {
		/* To look at counters says EINVAL also where there are none. */
		if (!rdev_gone(dev)) {
			there = true;
			for (port = 1; port <= dev->ports; port++)
				fn(dev, port);
		}
		if (only)
			break;
	}
	return there;
}

/**
 * stat_watch() - look at counters time and again, as long as they are to be watched
 * @round: looks at them, @seconds after the last time; the first time 0
 */
void stat_watch(struct watch *w, void (*round)(void *arg, double seconds),
		void *arg)
{
	u64 last, now, next, left, rounds = 0;
	int wait;

	round(arg, 0);
	end_begin(&w->end);
	last = now_ns(CLOCK_MONOTONIC);
	next = last + w->period;
	out_open(NULL);
	while ((wait = end_wait(&w->end, rounds))) {
		now = now_ns(CLOCK_MONOTONIC);
		if (now < next) {
			left = (next - now) / 1000000 + 1;
			poll(NULL, 0, left < (u64)wait ? (int)left : wait);
			continue;
		}
		round(arg, (now - last) / 1e9);
		last = now;
		/* What a process misses while it is stopped is not made up for. */
		next += ((now - next) / w->period + 1) * w->period;
		fflush(stdout);
		rounds++;
	}
	out_close();
}

/**
 * stat_args() - take what is about watching from the command line
 * @what: command, for messages
 * @argv: the other words are moved to its front
 *
 * Return: how many others there are.
 */
int stat_args(const char *what, struct watch *w, int argc, char **argv)
{
	const char *seconds = NULL, *count = NULL, *stop = NULL;
	char of[64];
	int i, n = 0;

	snprintf(of, sizeof(of), "%s: --watch", what);
	for (i = 0; i < argc; i++) {
		bool more = i + 1 < argc && argv[i + 1][0] >= '0' &&
			    argv[i + 1][0] <= '9';

		if (!strcmp(argv[i], "--watch")) {
			if (seconds)
				usage("%s is given twice", of);
			seconds = more ? argv[++i] : "1";
		} else if (!strcmp(argv[i], "-c") && more && !count) {
			count = argv[++i];
		} else if (!strcmp(argv[i], "-t") && more && !stop) {
			stop = argv[++i];
		} else if (argv[i][0] != '-') {
			argv[n++] = argv[i];
		} else {
			usage("%s: \"%s\": --watch, -c COUNT or -t SECONDS expected",
			      what, argv[i]);
		}
	}
	if (seconds) {
		w->period = parse_uint(of, seconds, 1000000) * SECOND;
		if (!w->period)
			usage("%s 1 at least", of);
	} else if (count || stop) {
		usage("%s: -c and -t are for --watch", what);
	}
	w->end = end_parse(what, count, stop);
	return n;
}

struct ports {
	struct rdev *dev;
	const struct rdev *only;
};

static void watch_ports(void *arg, double seconds)
{
	struct ports *p = arg;

	interval = seconds;
	if (!each_port(p->dev, p->only, watch_port))
		fail("stat: %s is gone", p->only ? p->only->name : "every device");
}

static void stat_show(int argc, char **argv)
{
	struct ports p = {};
	struct watch w = {};

	argc = stat_args("stat show", &w, argc, argv);
	if (argc > 1)
		usage("stat show: \"%s\": --watch, -c COUNT or -t SECONDS expected",
		      argv[1]);
	p.dev = argc ? rdev_get(argv[0]) : rdev_all();
	p.only = argc ? p.dev : NULL;
	if (w.period) {
		stat_watch(&w, watch_ports, &p);
		return;
	}
	out_open(NULL);
	each_port(p.dev, p.only, show_port);
	out_close();
}

static const struct cmd cmds[] = {
	{ "show", stat_show },
	{ "qp", stat_qp },
	{}
};

void cmd_stat(int argc, char **argv)
{
	if (argc && argv[0][0] == '-')
		stat_show(argc, argv);
	else
		dispatch("stat", cmds, rdev_named, argc, argv);
}
