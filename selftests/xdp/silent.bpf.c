// SPDX-License-Identifier: GPL-2.0
/*
 * A policy with what policies may have: a variable, which silences all QPs, a map whose
 * name is longer than the kernel keeps, and one that it does not use. For xdp.sh.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <xroce/hot.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} silent_packets_of_all_qps SEC(".maps"), silent_without_use SEC(".maps");

u32 silent;

static __always_inline bool policy(const struct xroce_hot *hot)
{
	u32 key = 0;
	u64 *n = bpf_map_lookup_elem(&silent_packets_of_all_qps, &key);

	if (silent && n)
		__sync_fetch_and_add(n, 1);
	return silent;
}

#define XROCE_POLICY policy
#include "xroce.bpf.c"
