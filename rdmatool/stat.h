/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Counters watched: what stat.c and statqp.c share. Owns no state.
 */
#ifndef RDMATOOL_STAT_H
#define RDMATOOL_STAT_H

#include <xroce/counters.h>

#include "rdmatool.h"

/**
 * struct watch - how counters are to be watched
 * @period: nanoseconds; 0: not at all
 */
struct watch {
	u64 period;
	struct end end;
};

/* Name and meaning of each of our module's. */
extern const char *const xroce_counters[XROCE_CNT_MAX][2];

int stat_args(const char *what, struct watch *w, int argc, char **argv);
void stat_watch(struct watch *w, void (*round)(void *arg, double seconds),
		void *arg);
void stat_qp(int argc, char **argv);

#endif /* RDMATOOL_STAT_H */
