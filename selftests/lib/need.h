/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a program here cannot do without: it ends, with what went wrong. Owns no
 * state.
 */
#ifndef XROCE_TEST_NEED_H
#define XROCE_TEST_NEED_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
		strerror(errno));
	exit(1);
}

#define NEED(what)	({				\
	typeof(what) need_ = (what);			\
	if (!need_)					\
		die(#what);				\
	need_;						\
})
#define ZERO(what)	do {				\
	int zero_ = (what);				\
	if (zero_) {					\
		errno = zero_ > 0 ? zero_ : errno;	\
		die(#what);				\
	}						\
} while (0)

#endif /* XROCE_TEST_NEED_H */
