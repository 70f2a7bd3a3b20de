// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How long the core alone runs: a clock that stands while the simulator models
 * the wire, makes frames or the CRC. Owns the clock; single-threaded. Only
 * `make bench` has it (SIM_CLOCK), without sanitizers.
 */
#include <time.h>
#include "../lib/ticks.h"
#include "sim.h"
#include "ways.h"

#ifdef SIM_CLOCK
static u64 since, spent, laps;
static bool runs;

void sim_clock_go(void)
{
	runs = true;
	since = ticks();
}

bool sim_clock_stop(void)
{
	bool was = runs;

	if (was) {
		spent += ticks() - since;
		laps++;
	}
	runs = false;
	return was;
}

void sim_clock_back(const bool *was)
{
	if (*was)
		sim_clock_go();
}

/* What the clock shows of a lap in which nothing happens, undisturbed. */
static double lap_ticks(void)
{
	double best = 1e9, t;
	u32 i, j;

	for (i = 0; i < 1000; i++) {
		spent = 0;
		for (j = 0; j < 1000; j++) {
			sim_clock_go();
			sim_clock_stop();
		}
		t = spent / 1000.0;
		best = min(best, t);
	}
	return best;
}

static double ns_per_tick(void)
{
	struct timespec a, b;
	u64 t = ticks();

	clock_gettime(CLOCK_MONOTONIC, &a);
	do {
		clock_gettime(CLOCK_MONOTONIC, &b);
	} while (b.tv_sec - a.tv_sec + (b.tv_nsec - a.tv_nsec) / 1e9 < 0.1);
	return ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) /
	       (ticks() - t);
}

#define BATCH 16

/* A list of operations, completed before the next; ticks of each. */
static double one(u8 wr, u32 len, enum sim_way way, u32 rounds, double lap)
{
	static struct sim_way_count count;
	struct sim_opt opt = { .wr = wr, .len = len, .nsge = 1 };
	struct sim_cfg cfg = sim_plain();
	struct sim_conn *c;
	u32 i, j;

	cfg.v6 = false;
	cfg.cwnd_init = 256;
	cfg.mtu_shift = 12;
	cfg.max_rd = 16;
	cfg.unmarked = true;
	sim_way_begin(way, 0, &count);
	c = sim_pair(&cfg);
	for (i = 0; i <= rounds; i++) {
		sim_post_recvs(&c->ep[1]);
		if (i == rounds / 4) {
			spent = 0;
			laps = 0;
		}
		for (j = 0; j < BATCH; j++) {
			opt.more = j + 1 < BATCH;
			opt.signaled = !opt.more;
			sim_check(sim_post(&c->ep[0], &opt), "no room");
		}
		sim_settle_all(100 * SIM_MS);
	}
	sim_world_free();
	return (spent - laps * lap) / (rounds - rounds / 4 + 1) / BATCH;
}

void sim_bench(void)
{
	static const struct {
		const char *name;
		u8 wr;
		u32 len;
	} what[] = {
		{ "64 B WRITE", XROCE_WR_RDMA_WRITE, 64 },
		{ "64 B SEND", XROCE_WR_SEND, 64 },
		{ "64 B READ", XROCE_WR_RDMA_READ, 64 },
		{ "ATOMIC", XROCE_WR_ATOMIC_FETCH_AND_ADD, 8 },
		{ "4 KiB WRITE", XROCE_WR_RDMA_WRITE, 4096 },
	};
	double ns = ns_per_tick(), lap = lap_ticks(), best, t;
	enum sim_way way;
	u32 i, j;

	for (i = 0; i < 2 * ARRAY_SIZE(what); i++) {
		way = i & 1 ? SIM_NATIVE : SIM_SOCKET;
		for (best = 1e9, j = 0; j < 8; j++) {
			t = one(what[i / 2].wr, what[i / 2].len, way, 500, lap);
			best = min(best, t);
		}
		printf("core: %s by %s, lists of %u: %.0f ns, both ends (no CRC, frames, wire)\n",
		       what[i / 2].name, way == SIM_NATIVE ? "native XDP" : "socket", BATCH,
		       best * ns);
	}
}
#else
void sim_bench(void)
{
	fprintf(stderr, "built without its clock: make bench\n");
	exit(1);
}
#endif
