// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The command line: options, objects, commands and how they are named; and the
 * three ways a command ends. Owns the options.
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rdmatool.h"

struct options options;

static const char help[] =
"usage: rdmatool [OPTIONS] OBJECT [COMMAND] [ARGUMENTS]\n"
"       rdmatool [OPTIONS] -b FILE\n"
"       rdmatool -V | [OBJECT] help\n"
"\n"
"  link [show] [NAME]\n"
"  link add NAME netdev DEV [type TYPE] [xdp MODE]\n"
"  link set NAME [xdp MODE] [steer CPUS|off] [policy FILE|off]\n"
"  link del NAME\n"
"  link save|restore [FILE]\n"
"  link status\n"
"  gid [show] [NAME]\n"
"  gid add NAME ADDRESS[/PREFIX]\n"
"  gid del NAME ADDRESS[/PREFIX]\n"
"  qp|cq|mr|mw|srq|pd|ctx|cm_id|ah [show] [dev NAME] [FIELD VALUE]...\n"
"  qp set dev NAME lqpn N steer CPU|off\n"
"  dev [show] [NAME]\n"
"  dev rename NAME NEWNAME\n"
"  dev move NAME NETNS\n"
"  steer [show] [NAME]\n"
"  steer set NAME CPUS|off\n"
"  tune [show] [NAME]\n"
"  tune set NAME KEY VALUE...\n"
"  stat [show] [NAME] [--watch [SECONDS] [-c COUNT] [-t SECONDS]]\n"
"  stat qp [dev NAME] [FIELD VALUE]... [--watch ...]\n"
"  capture NAME [qp N] [peer ADDRESS] [opcode LIST] [verdict LIST]\n"
"          [dir in|out] [-w FILE] [-c COUNT] [-t SECONDS] [-B MIB]\n"
"  monitor [dev NAME] [-c COUNT] [-t SECONDS]\n"
"  decode FILE\n"
"  check [ADDRESS]...\n"
"\n"
"  NAME is an RDMA device, DEV a network device, TYPE xroce (or rxe, siw),\n"
"  MODE off, generic, native or auto, CPUS a list as 0-3,8, the FILE of decode a\n"
"  pcap or pcapng capture, - for standard input.\n"
"\n"
"  -j  JSON          -d  details: all fields, all counters\n"
"  -p  pretty JSON   -n NETNS  in that network namespace\n"
"  -c  colours       -b FILE   commands from FILE, -f: go on after failures\n"
"  -V  version\n";

static const struct cmd objects[] = {
	{ "link", cmd_link },
	{ "dev", cmd_dev },
	{ "gid", cmd_gid },
	{ "qp", cmd_qp },
	{ "cq", cmd_cq },
	{ "mr", cmd_mr },
	{ "mw", cmd_mw },
	{ "srq", cmd_srq },
	{ "pd", cmd_pd },
	{ "ctx", cmd_ctx },
	{ "cm_id", cmd_cm_id },
	{ "ah", cmd_ah },
	{ "stat", cmd_stat },
	{ "steer", cmd_steer },
	{ "tune", cmd_tune },
	{ "capture", cmd_capture },
	{ "monitor", cmd_monitor },
	{ "decode", cmd_decode },
	{ "check", cmd_check },
	{}
};

static void say(const char *fmt, va_list ap)
{
	char *clean, buf[1024];

	vsnprintf(buf, sizeof(buf), fmt, ap);
	clean = out_clean(buf);
	fprintf(stderr, "rdmatool: %s\n", clean);
	free(clean);
}

void usage(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	exit(EXIT_USAGE);
}

/* What was printed so far stays valid JSON. */
void fail(const char *fmt, ...)
{
	va_list ap;

	out_close();
	fflush(stdout);
	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	exit(EXIT_KERNEL);
}

void warn(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
}

static void show_help(void)
{
	if (fputs(help, stdout) < 0 || fflush(stdout))
		fail("cannot write the output: %s", strerror(errno));
	exit(0);
}

/* Names of a table whose entries begin with a name: "a, b or c". */
static const char *names(const void *table, size_t size, const char *prefix)
{
	static char buf[1024];
	const char *list[64];
	size_t n = 0, i;
	int at = 0;

	for (;; table = (const char *)table + size) {
		const char *name = *(const char *const *)table;

		if (!name || n == ARRAY_SIZE(list))
			break;
		if (!strncmp(name, prefix, strlen(prefix)))
			list[n++] = name;
	}
	buf[0] = 0;
	for (i = 0; i < n && at < (int)sizeof(buf); i++)
		at += snprintf(buf + at, sizeof(buf) - at, "%s%s",
			       !i ? "" : i == n - 1 ? " or " : ", ", list[i]);
	return buf;
}

/* Whether any entry begins with @word. */
static bool begins(const void *table, size_t size, const char *word)
{
	const char *p;

	for (p = table; *word && *(const char *const *)p; p += size)
		if (!strncmp(*(const char *const *)p, word, strlen(word)))
			return true;
	return false;
}

/* The entry that @word names or alone begins; the first field is the name. */
static const void *pick(const char *what, const char *kind, const void *table,
			size_t size, const char *word)
{
	const void *found = NULL;
	bool ambiguous = false;
	const char *p;

	for (p = table; *(const char *const *)p; p += size) {
		const char *name = *(const char *const *)p;

		if (!strcmp(name, word))
			return p;
		if (strncmp(name, word, strlen(word)) || !*word)
			continue;
		ambiguous = found;
		if (!found)
			found = p;
	}
	if (ambiguous)
		usage("%s%s \"%s\" may be %s", what, kind, word,
		      names(table, size, word));
	if (!found)
		usage("%sunknown %s \"%s\": %s expected", what, kind, word,
		      names(table, size, ""));
	return found;
}

/**
 * dispatch() - run the command that the arguments name, the first when none
 * @cmds: up to one whose name is NULL
 * @takes: can the first command begin with a word that no command does; it is run
 *	then, too
 */
void dispatch(const char *object, const struct cmd *cmds,
	      bool (*takes)(const char *word), int argc, char **argv)
{
	const struct cmd *cmd = cmds;
	char what[64];
	int i;

	if (argc) {
		if (!strcmp(argv[0], "list"))
			argv[0] = "show";
		if (!strcmp(argv[0], "delete"))
			argv[0] = "del";
	}
	/* where a device is named: first, or behind a command */
	for (i = 0; takes == rdev_named && i < argc && i < 2; i++)
		rdev_word(argv[i]);
	if (argc && (begins(cmds, sizeof(*cmds), argv[0]) || !takes(argv[0]))) {
		snprintf(what, sizeof(what), "%s: ", object);
		cmd = pick(what, "command", cmds, sizeof(*cmds), argv[0]);
		argc--;
		argv++;
	}
	cmd->run(argc, argv);
}

/**
 * parse_args() - take pairs of keyword and value
 * @what: command, for messages
 * @args: up to one whose key is NULL
 */
void parse_args(const char *what, const struct arg *args, int argc, char **argv)
{
	const struct arg *arg;
	char prefix[64];

	snprintf(prefix, sizeof(prefix), "%s: ", what);
	for (; argc; argc -= 2, argv += 2) {
		arg = pick(prefix, "argument", args, sizeof(*args), argv[0]);
		if (argc < 2)
			usage("%s: %s needs a value", what, arg->key);
		if (*arg->val)
			usage("%s: %s is given twice", what, arg->key);
		*arg->val = argv[1];
	}
}

/**
 * cpus_next() - the next range, @a to @b, of a list of CPUs, as 0-3,8
 *
 * Return: is there one. Where not the list is at its end, or makes no sense.
 */
bool cpus_next(const char **list, unsigned long *a, unsigned long *b)
{
	const char *p = *list;
	char *end;

	if (*p < '0' || *p > '9')
		return false;
	*a = *b = strtoul(p, &end, 10);
	if (*end == '-' && end[1] >= '0' && end[1] <= '9')
		*b = strtoul(end + 1, &end, 10);
	if (*end && (*end != ',' || !end[1]))
		return false;
	*list = *end ? end + 1 : end;
	return true;
}

/**
 * cpus_wrong() - what is wrong with a list of CPUs, or NULL
 */
const char *cpus_wrong(const char *list)
{
	const char *p = list;
	static char why[128];
	unsigned long a, b;

	do {
		if (!cpus_next(&p, &a, &b)) {
			snprintf(why, sizeof(why),
				 "\"%.60s\" is not a list of CPUs, as 0-3,8", list);
			return why;
		}
		if (b < a) {
			snprintf(why, sizeof(why), "%lu-%lu ends before it begins", a, b);
			return why;
		}
	} while (*p);
	return NULL;
}

/**
 * dev_name_wrong() - why an RDMA device cannot have that name, or NULL
 */
const char *dev_name_wrong(const char *name)
{
	if (!*name || strlen(name) >= DEV_NAME_MAX)
		return "it has 1 to 63 characters";
	if (strpbrk(name, "%/"))
		return "no % and no / in it";
	return NULL;
}

/**
 * scan_uint() - a number in decimal or, with 0x, in hexadecimal, and where it ends
 *
 * Return: false when there is none.
 */
bool scan_uint(const char *s, char **end, u64 *val)
{
	bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');

	errno = 0;
	*val = strtoull(s, end, hex ? 16 : 10);
	return *s >= '0' && *s <= '9' && !errno;
}

/**
 * parse_uint() - a word that is such a number
 */
u64 parse_uint(const char *what, const char *s, u64 max)
{
	char *end;
	u64 v;

	if (!scan_uint(s, &end, &v) || *end || v > max)
		usage("%s: \"%s\" is not a number from 0 to %llu", what, s,
		      (unsigned long long)max);
	return v;
}

/**
 * run_command() - an object, a command and its arguments
 */
void run_command(int argc, char **argv)
{
	const struct cmd *object;

	if (!strcmp(argv[0], "help"))
		show_help();
	object = pick("", "object", objects, sizeof(*objects), argv[0]);
	if (argc > 1 && !strcmp(argv[1], "help"))
		show_help();
	object->run(argc - 1, argv + 1);
}

/* As ip has it: -c alone is always. */
static bool want_colors(const char *when)
{
	if (!when)
		return true;
	if (*when == '=')
		when++;
	if (!strcmp(when, "always"))
		return true;
	if (!strcmp(when, "auto"))
		return isatty(STDOUT_FILENO);
	if (strcmp(when, "never"))
		usage("-c: always, auto or never expected, not \"%s\"", when);
	return false;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "pretty", no_argument, NULL, 'p' },
		{ "details", no_argument, NULL, 'd' },
		{ "color", optional_argument, NULL, 'c' },
		{ "netns", required_argument, NULL, 'n' },
		{ "batch", required_argument, NULL, 'b' },
		{ "force", no_argument, NULL, 'f' },
		{ "Version", no_argument, NULL, 'V' },
		{ "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{}
	};
	const char *netns = NULL, *file = NULL;
	bool force = false;
	int c;

	while ((c = getopt_long(argc, argv, "+jpdc::n:b:fVh", longs,
				NULL)) != -1) {
		switch (c) {
		case 'j':
			options.json = true;
			break;
		case 'p':
			options.pretty = true;
			break;
		case 'd':
			options.details = true;
			break;
		case 'c':
			options.color = want_colors(optarg);
			break;
		case 'n':
			netns = optarg;
			break;
		case 'b':
			file = optarg;
			break;
		case 'f':
			force = true;
			break;
		case 'V':
			printf("rdmatool, xroce " XROCE_VERSION "\n");
			goto end;
		case 'h':
			show_help();
			break;
		default:
			return EXIT_USAGE;	/* getopt said why */
		}
	}
	argc -= optind;
	argv += optind;
	if (!argc == !file) {
		fputs(help, stderr);
		return EXIT_USAGE;
	}
	options.netns = netns;
	if (netns)
		netns_enter(netns);
	if (file)
		return batch(file, force);
	run_command(argc, argv);
end:
	if (fflush(stdout) || ferror(stdout))
		fail("cannot write the output: %s", strerror(errno));
	return 0;
}
