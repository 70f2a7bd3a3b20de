/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The counters of the XDP program, as sums over all CPUs. Owns no state.
 */
#ifndef XROCE_STATS_H
#define XROCE_STATS_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xroce/xdp.h>

struct stats {
	u64 v[XROCE_XDP_STAT_MAX];
};

static inline void stats_read(int map, struct stats *s)
{
	int cpus = libbpf_num_possible_cpus();
	u64 *percpu = calloc(cpus, sizeof(*percpu));

	memset(s, 0, sizeof(*s));
	for (u32 i = 0; i < XROCE_XDP_STAT_MAX; i++) {
		if (bpf_map_lookup_elem(map, &i, percpu)) {
			perror("counters of the XDP program");
			exit(1);
		}
		for (int c = 0; c < cpus; c++)
			s->v[i] += percpu[c];
	}
	free(percpu);
}

#endif /* XROCE_STATS_H */
