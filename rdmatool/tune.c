// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What can be set of an xroce link while it runs: the keys of its transport, and
 * the CPUs that its packets are steered to. By the xroce family.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rdmatool.h"

const struct tune_key tune_keys[N_TUNE_KEYS] = {
	{ "cwnd-init", XROCE_A_LINK_CWND_INIT, "packets", 4, 32767, XROCE_CWND_INIT },
	{ "cwnd-max", XROCE_A_LINK_CWND_MAX, "packets", 4, 32767, XROCE_CWND_MAX },
	{ "cnp-gap", XROCE_A_LINK_CNP_GAP, "ns", 0, 1000000000, XROCE_CNP_GAP },
};

static void show_keys(const struct xlink *xl)
{
	const struct tune_key *key;
	size_t i;

	for (i = 0; i < N_TUNE_KEYS; i++) {
		key = &tune_keys[i];
		out_row();
		out_dev(xl->name, xl->dev_index, 0);
		out_word("key", key->name);
		out_word_uint("value", xl->tune[i]);
		out_word("unit", key->unit);
		if (options.details) {
			out_uint("min", key->min);
			out_uint("max", key->max);
		}
		if (options.details || options.json ||
		    xl->tune[i] != key->deflt)
			out_uint("default", key->deflt);
		out_row_end();
	}
}

/* Calls @fn for the link that is named, or all. */
static void each_link(const char *what, int argc, char **argv,
		      void (*fn)(const struct xlink *xl))
{
	struct xlink *all, *xl, one;

	if (argc > 1)
		usage("%s: one NAME at most", what);
	if (argc) {
		xlink_need(what, argv[0], &one);
		out_open(NULL);
		fn(&one);
	} else {
		all = xlink_all();
		out_open(NULL);
		for (xl = all; xl->ifindex; xl++)
			fn(xl);
		free(all);
	}
	out_close();
}

static void tune_show(int argc, char **argv)
{
	each_link("tune show", argc, argv, show_keys);
}

/**
 * tune_link() - set keys of a link
 * @val: a number for each of the keys, or NULL
 */
void tune_link(const char *name, const char *const val[N_TUNE_KEYS])
{
	struct nl_msg *msg = xroce_msg(XROCE_CMD_LINK_SET, 0);
	const struct tune_key *key;
	char what[64];
	size_t i;
	u64 n;
	int err;

	put_str(msg, XROCE_A_LINK_DEV_NAME, name);
	for (i = 0; i < N_TUNE_KEYS; i++) {
		key = &tune_keys[i];
		if (!val[i])
			continue;
		snprintf(what, sizeof(what), "tune set: %s", key->name);
		n = parse_uint(what, val[i], key->max);
		if (n < key->min)
			usage("%s: %u %s at least", what, key->min, key->unit);
		put_u32(msg, key->attr, n);
	}
	err = xroce_talk(msg, XROCE_A_LINK_MAX, NULL, NULL);
	if (err)
		fail("tune set %s: %s", name, nl_why(err));
}

static void tune_set(int argc, char **argv)
{
	const char *val[N_TUNE_KEYS] = {};
	struct arg args[N_TUNE_KEYS + 1] = {};
	struct xlink xl;
	size_t i;

	if (argc < 2)
		usage("tune set: NAME and KEY VALUE expected");
	for (i = 0; i < N_TUNE_KEYS; i++)
		args[i] = (struct arg){ tune_keys[i].name, &val[i] };
	parse_args("tune set", args, argc - 1, argv + 1);
	xlink_need("tune set", argv[0], &xl);
	tune_link(argv[0], val);
}

void cmd_tune(int argc, char **argv)
{
	static const struct cmd cmds[] = {
		{ "show", tune_show },
		{ "set", tune_set },
		{}
	};

	dispatch("tune", cmds, rdev_named, argc, argv);
}

static void show_steer(const struct xlink *xl)
{
	out_row();
	out_dev(xl->name, xl->dev_index, 0);
	out_str("steer", *xl->steer ? xl->steer : "off");
	out_str("xdp", xdp_mode_name(xl->xdp_mode));
	if (*xl->steer && xl->xdp_mode != XROCE_XDP_MODE_NATIVE)
		out_note("note", "packets stay where they are until XDP is native");
	out_row_end();
}

static void steer_show(int argc, char **argv)
{
	each_link("steer show", argc, argv, show_steer);
}

static void steer_set(int argc, char **argv)
{
	char key[] = "steer", *args[3];

	if (argc != 2)
		usage("steer set: NAME and CPUS or off expected");
	args[0] = argv[0];
	args[1] = key;
	args[2] = argv[1];
	link_set(3, args);
}

void cmd_steer(int argc, char **argv)
{
	static const struct cmd cmds[] = {
		{ "show", steer_show },
		{ "set", steer_set },
		{}
	};

	dispatch("steer", cmds, rdev_named, argc, argv);
}
