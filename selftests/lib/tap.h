/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Results as TAP lines, for C programs. State of one program, one thread.
 */
#ifndef XROCE_TAP_H
#define XROCE_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#endif
#ifndef __printf
#define __printf(a, b) __attribute__((format(printf, a, b)))
#endif

static struct {
	int run;
	int failed;
	int skipped;
} tap;

static inline void tap_start(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("TAP version 13");
}

/* What went wrong, before the line that says so. */
static inline void __printf(1, 2) tap_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("# ", stdout);
	vprintf(fmt, ap);
	putchar('\n');
	va_end(ap);
}

static inline bool __printf(2, 3) tap_ok(bool ok, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("%sok %d ", ok ? "" : "not ", ++tap.run);
	vprintf(fmt, ap);
	putchar('\n');
	va_end(ap);
	tap.failed += !ok;
	return ok;
}

static inline void tap_skip(const char *name, const char *why)
{
	printf("ok %d %s # SKIP %s\n", ++tap.run, name, why);
	tap.skipped++;
}

/* What main() returns: 4 when nothing but skips. */
static inline int tap_end(void)
{
	printf("1..%d\n", tap.run);
	if (tap.failed || !tap.run)
		return 1;
	return tap.run == tap.skipped ? 4 : 0;
}

/*
 * A case of many inside one TAP line: says the first few that fail, and counts.
 */
#define TAP_CHECK(bad, cond, ...) do {			\
	if (!(cond) && (bad)++ < 5)			\
		tap_note(__VA_ARGS__);			\
} while (0)

#endif /* XROCE_TAP_H */
