/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * For tests that are functions which return whether they passed: the reason why
 * one did not. Single-threaded; the program defines it.
 */
#ifndef XROCE_WHY_H
#define XROCE_WHY_H

#include <stdarg.h>
#include <stdio.h>

extern char reason[256];

static inline void __attribute__((format(printf, 1, 2)))
why(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(reason, sizeof(reason), fmt, ap);
	va_end(ap);
}

/* The test ends, failed, with a reason */
#define NEED(cond, ...) do {			\
	if (!(cond)) {				\
		why(__VA_ARGS__);		\
		return false;			\
	}					\
} while (0)

/* The test ends, failed, if this has */
#define TRY(call) do {				\
	if (!(call))				\
		return false;			\
} while (0)

#endif /* XROCE_WHY_H */
