/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A clock that is cheap to read: the processor's counter where we know one, else ns.
 * No state.
 */
#ifndef XROCE_TEST_TICKS_H
#define XROCE_TEST_TICKS_H

#include <stdint.h>
#include <time.h>

static inline uint64_t ticks(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
#endif
}

#endif /* XROCE_TEST_TICKS_H */
