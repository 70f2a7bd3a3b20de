// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Links in a file: written as they are now, and made again from it. A file is
 * read and understood as a whole before anything is done; then each line is done
 * by a process of its own, so that one that fails does not end the others.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rdmatool.h"

#define DEFAULT_DIR	"/etc/xroce"
#define DEFAULT_FILE	DEFAULT_DIR "/links"
#define LINE_MAX_LEN	4096
#define SAVED_MAX	4096

static const char head[] =
"# Links of xroce, as \"rdmatool link restore\" makes them again, a line each:\n"
"# link NAME netdev DEV xdp off|generic|native|auto [steer CPUS] [policy FILE]\n"
"#      [KEY VALUE]...\n";

/* A word of the file: what would end it is written as \xNN. */
static void put_word(FILE *f, const char *s)
{
	const unsigned char *p;

	for (p = (const unsigned char *)s; *p; p++)
		if (*p <= ' ' || *p == '\\' || *p == '#' || *p >= 0x7f)
			fprintf(f, "\\x%02x", *p);
		else
			fputc(*p, f);
}

/* One that is not known is not none: nothing is saved or restored without it. */
static const char *policy_of(const struct xlink *xl)
{
	const char *file = xdp_policy_file(xl);

	if (!file)
		fail("link %s: cannot tell its policy: %s", xl->name, xdp_why());
	return file;
}

static void put_link(FILE *f, const struct xlink *xl)
{
	const char *policy = policy_of(xl), *why = dev_name_wrong(xl->name);
	size_t i;

	if (why)	/* of somebody who renamed it past us */
		fail("link save: link %s cannot be made again by that name: %s", xl->name, why);
	fputs("link ", f);
	put_word(f, xl->name);
	fputs(" netdev ", f);
	put_word(f, xl->ifname);
	fprintf(f, " xdp %s", xdp_mode_name(xl->xdp_mode));
	if (*xl->steer && xl->xdp_mode != XROCE_XDP_MODE_OFF)
		fprintf(f, " steer %s", xl->steer);
	if (*policy) {
		fputs(" policy ", f);
		put_word(f, policy);
	}
	for (i = 0; i < N_TUNE_KEYS; i++)
		if (xl->tune[i] != tune_keys[i].deflt)
			fprintf(f, " %s %u", tune_keys[i].name, xl->tune[i]);
	fputc('\n', f);
}

/* The whole text, before any file is touched; it is the caller's to free. */
static char *links_text(void)
{
	struct xlink *links = xlink_all(), *xl;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		fail("out of memory");
	fputs(head, f);
	for (xl = links; xl->ifindex; xl++)
		put_link(f, xl);
	free(links);
	if (fclose(f))
		fail("out of memory");
	return text;
}

static bool put_text(FILE *f, const char *text)
{
	return fputs(text, f) >= 0 && !fflush(f);
}

/* What is no regular file stays what it is. */
static bool write_through(const char *file, const char *text)
{
	FILE *f = fopen(file, "we");
	bool ok = f && put_text(f, text);

	return f && !fclose(f) && ok;
}

/* The file is there as a whole or as it was. */
static bool replace(const char *file, const char *text)
{
	char tmp[PATH_MAX];
	FILE *f;
	int fd, err;

	if (snprintf(tmp, sizeof(tmp), "%s.XXXXXX", file) >= (int)sizeof(tmp)) {
		errno = ENAMETOOLONG;
		return false;
	}
	fd = mkostemp(tmp, O_CLOEXEC);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (f && put_text(f, text) && !fchmod(fd, 0644) && !fsync(fd) &&
	    !fclose(f) && !rename(tmp, file))
		return true;
	err = errno;
	if (fd >= 0)
		unlink(tmp);
	errno = err;
	return false;
}

/* What the boot restores is of the namespace that rdmatool is called in. */
static const char *file_of(const char *what, int argc, char **argv)
{
	if (argc > 1)
		usage("%s: one FILE at most", what);
	if (!argc && options.netns)
		usage("%s: FILE expected, with -n: %s is for the links of this namespace",
		      what, DEFAULT_FILE);
	return argc ? argv[0] : DEFAULT_FILE;
}

/**
 * link_save() - write the links of this namespace
 */
void link_save(int argc, char **argv)
{
	const char *file = file_of("link save", argc, argv);
	struct stat st;
	char *text, *real;
	bool ok;

	if (!argc && !xroce_there())
		fail("link save: the module is not loaded: no links, and %s stays as it is",
		     file);
	text = links_text();
	if (!strcmp(file, "-")) {
		if (!put_text(stdout, text))
			fail("link save: %s", strerror(errno));
		free(text);
		return;
	}
	if (!argc && mkdir(DEFAULT_DIR, 0755) && errno != EEXIST)
		fail("link save: %s: %s", DEFAULT_DIR, strerror(errno));
	/* NULL: it is not there yet, or a link to what is not. */
	real = realpath(file, NULL);
	ok = !lstat(real ?: file, &st) && !S_ISREG(st.st_mode) ?
	     write_through(real ?: file, text) : replace(real ?: file, text);
	if (!ok)
		fail("link save: %s: %s", file, strerror(errno));
	free(real);
	free(text);
}

/* A line of the file, understood. */
struct saved {
	u32 line;
	int mode;
	char name[DEV_NAME_MAX];
	char netdev[IFNAMSIZ];
	char xdp[16];
	char steer[1024];
	char policy[POLICY_MAX];
	char tune[N_TUNE_KEYS][16];
};

static const char *file_name;

static __noreturn __printf(2, 3) void wrong(u32 line, const char *fmt, ...)
{
	char buf[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	usage("link restore: %s:%u: %s", file_name, line, buf);
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' :
	       c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The next word of a line, NULL at its end; \xNN becomes what it stands for. */
static char *get_word(char **line, u32 n)
{
	char *word, *from, *to;

	*line += strspn(*line, " \t");
	word = from = to = *line;
	if (!*word || *word == '#')
		return NULL;
	while (*from && *from != ' ' && *from != '\t') {
		int high = 0, low = 0;

		if ((unsigned char)*from < ' ' || *from == 0x7f)
			wrong(n, "there is a control character in it");
		if (*from != '\\') {
			*to++ = *from++;
			continue;
		}
		/* Each of these is looked at only if none before ends it. */
		if (from[1] == 'x')
			high = hex_digit(from[2]);
		if (high >= 0 && from[1] == 'x')
			low = hex_digit(from[3]);
		if (high < 0 || low < 0 || high + low == 0)
			wrong(n, "a backslash begins \\x01 to \\xff");
		*to++ = high << 4 | low;
		from += 4;
	}
	*line = *from ? from + 1 : from;
	*to = 0;
	return word;
}

static void take(u32 line, const char *key, const char *val, char *buf,
		 size_t size)
{
	if (*buf)
		wrong(line, "%s: it is given twice", key);
	if (!*val || strlen(val) >= size)
		wrong(line, "%s: 1 to %zu characters", key, size - 1);
	memcpy(buf, val, strlen(val) + 1);
}

/* A key of the transport; a number that it may be. */
static bool parse_tune(struct saved *s, const char *key, const char *val)
{
	const struct tune_key *k;
	unsigned long n;
	size_t i;

	for (i = 0; i < N_TUNE_KEYS; i++) {
		k = &tune_keys[i];
		if (strcmp(k->name, key))
			continue;
		take(s->line, key, val, s->tune[i], sizeof(s->tune[i]));
		n = strtoul(val, NULL, 10);
		if (strspn(val, "0123456789") != strlen(val) || n < k->min ||
		    n > k->max)
			wrong(s->line, "%s: a number from %u to %u expected",
			      key, k->min, k->max);
		return true;
	}
	return false;
}

static void parse_line(struct saved *s, char *line)
{
	const char *bad_cpus;
	char *key, *val;

	val = get_word(&line, s->line);
	if (!val)
		wrong(s->line, "link: a name expected");
	take(s->line, "link", val, s->name, sizeof(s->name));
	while ((key = get_word(&line, s->line))) {
		val = get_word(&line, s->line);
		if (!val)
			wrong(s->line, "%s: a value expected", key);
		if (!strcmp(key, "netdev"))
			take(s->line, key, val, s->netdev, sizeof(s->netdev));
		else if (!strcmp(key, "xdp"))
			take(s->line, key, val, s->xdp, sizeof(s->xdp));
		else if (!strcmp(key, "steer"))
			take(s->line, key, val, s->steer, sizeof(s->steer));
		else if (!strcmp(key, "policy"))
			take(s->line, key, val, s->policy, sizeof(s->policy));
		else if (!parse_tune(s, key, val))
			wrong(s->line, "unknown field \"%s\"", key);
	}
	if (strpbrk(s->name, "%/"))
		wrong(s->line, "link: no %% and no / in a name");
	if (!*s->netdev)
		wrong(s->line, "netdev: it is missing");
	if (strchr(s->netdev, '/'))
		wrong(s->line, "netdev: no / in a name");
	if (!*s->xdp)
		wrong(s->line, "xdp: it is missing");
	s->mode = xdp_mode_parse(s->xdp);
	if (s->mode < 0)
		wrong(s->line, "xdp: off, generic, native or auto expected");
	bad_cpus = *s->steer ? cpus_wrong(s->steer) : NULL;
	if (bad_cpus)
		wrong(s->line, "steer: %s", bad_cpus);
	if (*s->policy && *s->policy != '/')
		wrong(s->line, "policy: a file's whole name expected, from / on");
	if (*s->policy && s->mode == XROCE_XDP_MODE_OFF)
		wrong(s->line, "policy: it is the XDP program's, and xdp is off");
}

static void not_again(const struct saved *all, const struct saved *s)
{
	for (; all < s; all++) {
		if (!strcmp(all->name, s->name))
			wrong(s->line, "link: the name is that of line %u",
			      all->line);
		if (!strcmp(all->netdev, s->netdev))
			wrong(s->line, "netdev: it is that of line %u",
			      all->line);
	}
}

static struct saved *read_file(FILE *f, u32 *n)
{
	struct saved *all = NULL;
	char buf[LINE_MAX_LEN + 2], *line, *word, *end;
	u32 at = 0;

	for (*n = 0; memset(buf, 1, sizeof(buf)), fgets(buf, sizeof(buf), f);) {
		at++;
		/* The last 0 is fgets()'s, another was in the file. */
		end = memrchr(buf, 0, sizeof(buf));
		if (memchr(buf, 0, end - buf))
			wrong(at, "there is a control character in it");
		if (end[-1] == '\n')
			*--end = 0;
		else if (!feof(f))
			wrong(at, "the line is longer than %d bytes", LINE_MAX_LEN);
		line = buf;
		word = get_word(&line, at);
		if (!word)
			continue;
		if (strcmp(word, "link"))
			wrong(at, "\"link\" expected, not \"%s\"", word);
		if (*n == SAVED_MAX)
			wrong(at, "more than %d links", SAVED_MAX);
		all = realloc(all, (*n + 1) * sizeof(*all));
		if (!all)
			fail("out of memory");
		memset(&all[*n], 0, sizeof(*all));
		all[*n].line = at;
		parse_line(&all[*n], line);
		not_again(all, &all[*n]);
		++*n;
	}
	if (ferror(f))
		fail("link restore: %s: %s", file_name, strerror(errno));
	return all;
}

static void restore_tune(struct saved *s, const struct xlink *xl)
{
	const char *val[N_TUNE_KEYS] = {};
	char deflt[N_TUNE_KEYS][16];
	bool differs = false;
	size_t i;

	for (i = 0; i < N_TUNE_KEYS; i++) {
		snprintf(deflt[i], sizeof(deflt[i]), "%u", tune_keys[i].deflt);
		val[i] = *s->tune[i] ? s->tune[i] : deflt[i];
		differs |= strtoul(val[i], NULL, 10) != xl->tune[i];
	}
	if (differs)
		tune_link(s->name, val);
}

static void restore_steer(struct saved *s, const char *is)
{
	char steer[] = "steer", off[] = "off";
	char *args[3] = { s->name, steer, *s->steer ? s->steer : off };

	if (strcmp(is, s->steer))
		link_set(3, args);
}

/* In a process of its own: what is not as it was saved becomes so. */
static void restore_one(struct saved *s)
{
	char *args[5] = { s->name, "netdev", s->netdev, "xdp", s->xdp };
	struct xlink xl;

	if (!xlink_get(s->name, &xl)) {
		link_add(5, args);
		xlink_get(s->name, &xl);
	} else if (strcmp(xl.ifname, s->netdev)) {
		fail("link %s is there, on %s", s->name, xl.ifname);
	} else if (!xdp_mode_is(xl.xdp_mode, s->mode)) {
		args[1] = "xdp";
		args[2] = s->xdp;
		link_set(3, args);
	}
	restore_tune(s, &xl);
	xlink_get(s->name, &xl);
	/* The link keeps it while there is no XDP to do it. */
	if (s->mode != XROCE_XDP_MODE_OFF)
		restore_steer(s, xl.steer);
	xlink_get(s->name, &xl);
	if (strcmp(policy_of(&xl), s->policy))
		link_policy(&xl, *s->policy ? s->policy : NULL, true);
}

static bool restored(struct saved *s)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		fail("link restore: %s", strerror(errno));
	if (!pid) {
		restore_one(s);
		fflush(NULL);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

/**
 * link_restore() - make the links of a file
 */
void link_restore(int argc, char **argv)
{
	struct saved *all;
	u32 n, i, bad = 0;
	FILE *f;

	file_name = file_of("link restore", argc, argv);
	f = strcmp(file_name, "-") ? fopen(file_name, "re") : stdin;
	if (!f)
		fail("link restore: %s: %s", file_name, strerror(errno));
	all = read_file(f, &n);
	for (i = 0; i < n; i++) {
		if (restored(&all[i]))
			continue;
		bad++;
		warn("link restore: %s:%u: link %s is not as saved", file_name,
		     all[i].line, all[i].name);
	}
	free(all);
	if (bad)
		exit(EXIT_KERNEL);
}
