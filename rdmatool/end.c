// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * When a command that goes on by itself ends: by a signal, after a count or a
 * time. Owns the signals.
 */
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "rdmatool.h"

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	stop = sig;
}

/**
 * now_ns() - the time of a clock
 */
u64 now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * SECOND + ts.tv_nsec;
}

/**
 * time_stamp() - the time of day, to the microsecond
 * @ago: before now, ns
 */
const char *time_stamp(char *buf, size_t size, u64 ago)
{
	u64 then = now_ns(CLOCK_REALTIME) - ago;
	time_t sec = then / 1000000000;
	struct tm tm;
	size_t n;

	localtime_r(&sec, &tm);
	n = strftime(buf, size, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf + n, size - n, ".%06u",
		 (u32)(then % 1000000000 / 1000));
	return buf;
}

/**
 * end_parse() - what the command line says about it
 * @what: command, for messages
 * @count: -c or NULL
 * @seconds: -t or NULL
 */
struct end end_parse(const char *what, const char *count, const char *seconds)
{
	struct end end = {};
	char of[64];

	snprintf(of, sizeof(of), "%s: -c", what);
	if (count)
		end.count = parse_uint(of, count, ~0ull);
	snprintf(of, sizeof(of), "%s: -t", what);
	if (seconds)
		end.ns = parse_uint(of, seconds, 1000000000) * SECOND;
	if ((count && !end.count) || (seconds && !end.ns))
		usage("%s: nothing happens in no time", what);
	return end;
}

/**
 * end_begin() - from here on signals end it, the second one at once
 */
void end_begin(struct end *end)
{
	static const int sigs[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction sa = {
		.sa_handler = on_signal,
		/* A write is not cut short. */
		.sa_flags = SA_RESTART | SA_RESETHAND,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sigs); i++)
		sigaction(sigs[i], &sa, NULL);
	end->begin = now_ns(CLOCK_MONOTONIC);
}

/**
 * end_wait() - milliseconds to wait for something to happen, 0: it is the end
 * @done: what is counted
 *
 * Never for long: a signal may have come just before the wait.
 */
int end_wait(const struct end *end, u64 done)
{
	u64 wait = SECOND / 4, gone;

	if (stop || (end->count && done >= end->count))
		return 0;
	if (end->ns) {
		gone = now_ns(CLOCK_MONOTONIC) - end->begin;
		if (gone >= end->ns)
			return 0;
		if (end->ns - gone < wait)
			wait = end->ns - gone;
	}
	return (wait + 999999) / 1000000;
}
