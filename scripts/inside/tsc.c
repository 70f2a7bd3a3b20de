// SPDX-License-Identifier: GPL-2.0
/*
 * Owns measuring the rate of this machine's time stamp counter: prints it in kHz.
 * Runs in the root, once a boot.
 */
#include <linux/types.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

struct sample {
	__u64 tsc;
	__u64 ns;
};

/* The two read closest together, of many: between most of them this may be preempted. */
static struct sample now(void)
{
	__u64 least = ~0ull;
	struct sample best = {};
	int i;

	for (i = 0; i < 1000; i++) {
		__u64 before = __rdtsc(), after;
		struct timespec t;

		clock_gettime(CLOCK_MONOTONIC, &t);
		after = __rdtsc();
		if (after - before >= least)
			continue;
		least = after - before;
		best.tsc = before + least / 2;
		best.ns = t.tv_sec * 1000000000ull + t.tv_nsec;
	}
	return best;
}

int main(void)
{
	struct sample from = now(), to;

	nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
	to = now();
	printf("%.0f\n", (to.tsc - from.tsc) * 1e6 / (to.ns - from.ns));
	return 0;
}
