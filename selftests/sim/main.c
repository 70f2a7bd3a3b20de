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
#include "ways.h"

bool sim_verbose;

/* Shared with the scenario's process, which may die at any moment. */
static struct {
	u64 seed;
	enum sim_way way;
	u64 ops;
	u32 worlds;
	struct sim_way_count count;
} *progress;

static const struct sim_scenario * const groups[] = {
	sim_exact_scenarios,
	sim_lost_scenarios,
	sim_error_scenarios,
	sim_service_scenarios,
	sim_ecn_scenarios,
	sim_pace_scenarios,
	sim_owed_scenarios,
	sim_asked_scenarios,
	sim_late_scenarios,
	sim_room_scenarios,
	sim_annex_scenarios,
	sim_crowd_scenarios,
	sim_random_scenarios,
	sim_other_scenarios,
	NULL,
};

#define SIM_DEAR	5

static u64 percent = 100;
static enum sim_way only_way = SIM_WAYS;

static u64 run_by(const struct sim_scenario *s, u64 seed, enum sim_way way)
{
	progress->seed = seed;
	progress->way = way;
	sim_srand(seed);
	sim_way_begin(way, seed, &progress->count);
	s->run(seed);
	progress->ops = sim_total_ops;
	progress->worlds++;
	return sim_way_end();
}

/* By the socket, and again by XDP: it must be the same world. */
static void run_world(const struct sim_scenario *s, u64 seed)
{
	enum sim_way way = seed % 4 ? SIM_NATIVE : SIM_MIXED;
	u64 seen;

	if (only_way != SIM_WAYS) {
		run_by(s, seed, only_way);
		return;
	}
	seen = run_by(s, seed, SIM_SOCKET);
	seen -= run_by(s, seed, way);
	progress->way = SIM_WAYS;
	sim_check(!seen, "another world with -m %s than with -m %s", sim_way_name[way],
		  sim_way_name[SIM_SOCKET]);
}

static void run_worlds(const struct sim_scenario *s, u64 seed)
{
	u64 ops = max(s->ops * percent / 100, 1ull), world;
	u32 worlds = s->worlds * percent / 100, i;
	/* Of those that take their time there are few: each by a way of its own. */
	bool dear = s->worlds && s->worlds < SIM_DEAR && only_way == SIM_WAYS;

	if (only_way == SIM_WAYS && !dear)
		worlds /= 2;
	worlds = s->ops ? UINT32_MAX : max(worlds, 1u);
	for (i = 0; i < worlds && (!s->ops || sim_total_ops < ops); i++) {
		world = sim_mix(seed + i) >> 16;
		if (dear)
			run_by(s, world, (SIM_NATIVE + i) % SIM_WAYS);
		else
			run_world(s, world);
	}
	/* Where the network is perfect; not each world of the latter has RC */
	if (only_way != SIM_SOCKET && !strcmp(s->name, "clean"))
		sim_way_check(1000);
	else if (only_way != SIM_SOCKET && !strcmp(s->name, "services"))
		sim_way_check(0);
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
		tap_note("shown again by: %s -s %s -w %llu -m %s -v", self, s->name,
			 (unsigned long long)progress->seed,
			 sim_way_name[progress->way]);
	tap_ok(!status, "%s: %s (%llu operations, %u worlds, %.1f s)", s->name,
	       s->text, (unsigned long long)progress->ops, progress->worlds,
	       seconds() - start);
}

static enum sim_way way_of(const char *name)
{
	u32 i;

	for (i = 0; i <= SIM_WAYS && strcmp(name, sim_way_name[i]); i++)
		;
	return i;
}

static void usage(const char *self)
{
	const struct sim_scenario *s;
	u32 i;

	printf("usage: %s [-s SCENARIO]... [-S SEED] [-p PERCENT] [-w WORLD]"
	       " [-n OPS] [-m WAY] [-x] [-v] [-b]\n"
	       "  -s  only this scenario\n"
	       "  -S  seed of the whole run (1)\n"
	       "  -p  how much of each scenario (100)\n"
	       "  -n  fewer operations than this in all are a failure\n"
	       "  -m  packets by this way alone: socket, native (XDP's)\n"
	       "      or mixed; both: by the first and again by another, to be compared\n"
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

	while ((c = getopt(argc, argv, "s:S:p:w:n:m:xvbh")) != -1) {
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
		case 'm':
			only_way = way_of(optarg);
			if (only_way > SIM_WAYS) {
				usage(argv[0]);
				return 1;
			}
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
			if (nonly ? j == nonly : percent < s->from)
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
