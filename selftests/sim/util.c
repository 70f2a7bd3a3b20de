// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Randomness from one seed, virtual time and its events, and how the simulator
 * says that something is wrong. Single-threaded.
 */
#include "sim.h"

static u64 rng;
static u64 now;
static u64 seq;
static struct sim_event *heap;
static u32 heap_n, heap_size;

u64 sim_mix(u64 x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

void sim_srand(u64 seed)
{
	rng = sim_mix(seed + 0x9e3779b97f4a7c15ull);
}

u64 sim_rnd(void)
{
	rng += 0x9e3779b97f4a7c15ull;
	return sim_mix(rng);
}

u32 sim_below(u32 n)
{
	return n ? (sim_rnd() >> 32) * n >> 32 : 0;
}

u32 sim_range(u32 lo, u32 hi)
{
	return lo + sim_below(hi - lo + 1);
}

bool sim_chance(u32 per_10000)
{
	return per_10000 && sim_below(10000) < per_10000;
}

void sim_fill(void *p, u32 len, u64 seed)
{
	u64 x = sim_mix(seed) | 1;
	u8 *b = p;

	for (; len >= 8; len -= 8, b += 8) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		memcpy(b, &x, 8);
	}
	x = sim_mix(x);
	memcpy(b, &x, len);
}

u64 sim_now(void)
{
	return now;
}

void sim_set_now(u64 t)
{
	now = t;
}

static bool before(const struct sim_event *a, const struct sim_event *b)
{
	return a->when < b->when || (a->when == b->when && a->seq < b->seq);
}

void sim_at(u64 when, enum sim_ev_kind kind, void (*fn)(void *), void *arg,
	    u64 gen)
{
	u32 i, up;

	if (heap_n == heap_size) {
		heap_size = heap_size ? 2 * heap_size : 1024;
		heap = realloc(heap, heap_size * sizeof(*heap));
	}
	if (when < now)
		when = now;
	i = heap_n++;
	heap[i] = (struct sim_event){
		.when = when, .seq = seq++, .fn = fn, .arg = arg, .gen = gen,
		.kind = kind,
	};
	while (i) {
		up = (i - 1) / 2;
		if (before(&heap[up], &heap[i]))
			break;
		swap(heap[up], heap[i]);
		i = up;
	}
}

bool sim_next_time(u64 *when)
{
	if (!heap_n)
		return false;
	*when = heap[0].when;
	return true;
}

bool sim_pop(struct sim_event *ev)
{
	u32 i = 0, c;

	if (!heap_n)
		return false;
	*ev = heap[0];
	heap[0] = heap[--heap_n];
	for (;;) {
		c = 2 * i + 1;
		if (c >= heap_n)
			break;
		if (c + 1 < heap_n && before(&heap[c + 1], &heap[c]))
			c++;
		if (before(&heap[i], &heap[c]))
			break;
		swap(heap[i], heap[c]);
		i = c;
	}
	return true;
}

void sim_events_reset(void)
{
	u32 i;

	for (i = 0; i < heap_n; i++)
		if (heap[i].kind == SIM_EV_PKT)
			sim_env_free_pkt(heap[i].arg);
	free(heap);
	heap = NULL;
	heap_n = heap_size = 0;
	now = SIM_SEC;	/* 0 stands for never in places */
	seq = 0;
}

void sim_fail(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "# %llu.%06llu ms: ", (unsigned long long)(now / SIM_MS),
		(unsigned long long)(now % SIM_MS));
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	fflush(stderr);
	_Exit(1);
}

void sim_trace(const char *fmt, ...)
{
	va_list ap;

	if (!sim_verbose)
		return;
	printf("# %llu.%06llu ", (unsigned long long)(now / SIM_MS),
	       (unsigned long long)(now % SIM_MS));
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

void sim_bug(const char *file, int line, const char *what)
{
	sim_fail("%s:%d: %s", file, line, what);
}
