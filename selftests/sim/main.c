// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Runs scenarios, each in a process of its own, and reports in TAP. A failure
 * names the world's seed and the command that shows it again.
 */
#include <getopt.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../lib/tap.h"
#include "sim.h"

bool sim_verbose;

/* Shared with the scenario's process, which may die at any moment. */
static struct {
	u64 seed;
	u64 ops;
	u32 worlds;
} *progress;

static const struct sim_scenario * const groups[] = {
	sim_exact_scenarios,
	sim_error_scenarios,
	sim_service_scenarios,
	sim_ecn_scenarios,
	sim_pace_scenarios,
	sim_owed_scenarios,
	sim_asked_scenarios,
	sim_room_scenarios,
	sim_random_scenarios,
	sim_other_scenarios,
	NULL,
};

static u64 percent = 100;

static void run_world(const struct sim_scenario *s, u64 seed)
{
	progress->seed = seed;
	sim_srand(seed);
	s->run(seed);
	progress->ops = sim_total_ops;
	progress->worlds++;
}

static void run_worlds(const struct sim_scenario *s, u64 seed)
{
	u64 ops = max(s->ops * percent / 100, 1ull);
	u32 worlds = s->ops ? UINT32_MAX :
			      max((u32)(s->worlds * percent / 100), 1u);
	u32 i;

	for (i = 0; i < worlds && (!s->ops || sim_total_ops < ops); i++)
		run_world(s, sim_mix(seed + i) >> 16);
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void run_scenario(const struct sim_scenario *s, u64 seed,
			 const char *self)
{
	double start = seconds();
	int status;
	pid_t pid;

	memset(progress, 0, sizeof(*progress));
	fflush(stdout);
	pid = fork();
	if (pid < 0) {
		perror("fork");
		exit(1);
	}
	if (!pid) {
		run_worlds(s, seed);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (status)
		tap_note("shown again by: %s -s %s -w %llu -v", self, s->name,
			 (unsigned long long)progress->seed);
	tap_ok(!status, "%s: %s (%llu operations, %u worlds, %.1f s)", s->name,
	       s->text, (unsigned long long)progress->ops, progress->worlds,
	       seconds() - start);
}

static void usage(const char *self)
{
	const struct sim_scenario *s;
	u32 i;

	printf("usage: %s [-s SCENARIO]... [-S SEED] [-p PERCENT] [-w WORLD]"
	       " [-n OPS] [-x] [-v] [-b]\n"
	       "  -s  only this scenario\n"
	       "  -S  seed of the whole run (1)\n"
	       "  -p  how much of each scenario (100)\n"
	       "  -n  fewer operations than this in all are a failure\n"
	       "  -x  end at the first failure\n"
	       "  -w  only the world with this seed; with -s\n"
	       "  -v  trace of packets, posts and completions; with -w\n"
	       "  -b  time the core\n", self);
	for (i = 0; groups[i]; i++)
		for (s = groups[i]; s->name; s++)
			printf("%-12s %s\n", s->name, s->text);
}

int main(int argc, char **argv)
{
	u64 seed = 1, world = 0, total = 0, least = 0;
	bool one = false, bench = false, stop = false;
	const struct sim_scenario *s;
	const char *only[64];
	u32 nonly = 0, i, j;
	int c;

	while ((c = getopt(argc, argv, "s:S:p:w:n:xvbh")) != -1) {
		switch (c) {
		case 's':
			if (nonly < ARRAY_SIZE(only))
				only[nonly++] = optarg;
			break;
		case 'S':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'p':
			percent = strtoull(optarg, NULL, 0);
			break;
		case 'w':
			world = strtoull(optarg, NULL, 0);
			one = true;
			break;
		case 'n':
			least = strtoull(optarg, NULL, 0);
			break;
		case 'x':
			stop = true;
			break;
		case 'v':
			sim_verbose = true;
			break;
		case 'b':
			bench = true;
			break;
		default:
			usage(argv[0]);
			return c != 'h';
		}
	}
	progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (progress == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	if (bench) {
		sim_bench();
		return 0;
	}
	if (!one)
		tap_start();
	tap_note("seed %llu", (unsigned long long)seed);
	for (i = 0; groups[i]; i++) {
		for (s = groups[i]; s->name; s++) {
			for (j = 0; j < nonly && strcmp(only[j], s->name); j++)
				;
			if (nonly ? j == nonly : s->open)
				continue;
			if (one) {
				run_world(s, world);
				continue;
			}
			run_scenario(s, seed, argv[0]);
			total += progress->ops;
			if (stop && tap.failed)
				return tap_end();
		}
	}
	if (one)
		return 0;
	if (least)
		tap_ok(total >= least, "%llu operations in all",
		       (unsigned long long)total);
	return tap_end();
}
