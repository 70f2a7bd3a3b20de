// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Where and how often commands run: in another network namespace, and from a file,
 * each line in a process of its own, so that it starts from nothing and its
 * failure is its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rdmatool.h"

#define MAX_WORDS	256

/**
 * netns_open() - a network namespace, as ip netns names it
 *
 * Return: a file descriptor, or -1 with errno.
 */
int netns_open(const char *name)
{
	char path[PATH_MAX];

	if (!*name || strchr(name, '/') || !strcmp(name, ".") ||
	    !strcmp(name, "..")) {
		errno = EINVAL;
		return -1;
	}
	snprintf(path, sizeof(path), "/run/netns/%s", name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/**
 * netns_enter() - go there, with the /sys of it, as ip netns exec does
 */
void netns_enter(const char *name)
{
	int fd = netns_open(name);

	if (fd < 0)
		usage("-n: there is no network namespace \"%s\": %s", name,
		      strerror(errno));
	if (setns(fd, CLONE_NEWNET) || unshare(CLONE_NEWNS) ||
	    mount("", "/", NULL, MS_SLAVE | MS_REC, NULL))
		fail("-n %s: %s", name, strerror(errno));
	close(fd);
	umount2("/sys", MNT_DETACH);
	if (mount(name, "/sys", "sysfs", 0, NULL))
		fail("-n %s: no /sys: %s", name, strerror(errno));
}

/*
 * The words of a line: blanks part them, quotes keep them together, a backslash
 * takes the next character as it is, # begins a comment. -1: a quote is open.
 */
static int split(char *line, char **words, int max)
{
	char *from = line, *to = line, quote;
	int n = 0;

	for (;;) {
		from += strspn(from, " \t\n");
		if (!*from || *from == '#')
			return n;
		if (n == max)
			return -1;
		words[n++] = to;
		for (quote = 0; *from && (quote || !strchr(" \t\n", *from));
		     from++) {
			if (quote ? *from == quote :
				    *from == '"' || *from == '\'') {
				quote = quote ? 0 : *from;
				continue;
			}
			if (*from == '\\' && from[1] && from[1] != '\n' &&
			    quote != '\'')
				from++;
			*to++ = *from;
		}
		if (quote)
			return -1;
		if (*from)
			from++;
		*to++ = 0;
	}
}

static int run_line(int in, int argc, char **argv)
{
	int status, null;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		fail("-b: %s", strerror(errno));
	if (!pid) {
		/* Its exit() would set back how far we have read. */
		null = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (null < 0 || dup2(null, in) < 0)
			fail("-b: /dev/null: %s", strerror(errno));
		/* nor is what has been read of it the command's */
		__fpurge(stdin);
		run_command(argc, argv);
		if (fflush(stdout) || ferror(stdout))
			fail("cannot write the output: %s", strerror(errno));
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_KERNEL;
}

/**
 * batch() - run the commands of a file, a line each
 * @force: go on after one that fails
 *
 * Return: exit status: that of the first that failed.
 */
int batch(const char *file, bool force)
{
	FILE *f = strcmp(file, "-") ? fopen(file, "re") : stdin;
	char *words[MAX_WORDS + 1], *line = NULL;
	int n, status, first = 0;
	size_t size = 0;
	u32 at = 0;

	if (!f)
		fail("-b: %s: %s", file, strerror(errno));
	while (getline(&line, &size, f) >= 0) {
		at++;
		n = split(line, words, MAX_WORDS);
		if (!n)
			continue;
		if (n < 0) {
			warn("%s:%u: a quote is not closed, or too many words",
			     file, at);
			status = EXIT_USAGE;
		} else {
			words[n] = NULL;
			status = run_line(fileno(f), n, words);
		}
		if (!status)
			continue;
		warn("%s:%u: the command failed", file, at);
		first = first ?: status;
		if (!force)
			break;
	}
	if (ferror(f))
		fail("-b: %s: %s", file, strerror(errno));
	free(line);
	if (f != stdin)
		fclose(f);
	return first;
}
