// SPDX-License-Identifier: GPL-2.0
/*
 * A policy, to be copied: of the QPs that are in a map it drops each packet with the
 * probability 1/n. All else is as without it: this is the link's own program with one
 * more question.
 *
 *	make -C bpf policy.bpf.o
 *	rdmatool link set xroce0 policy bpf/policy.bpf.o
 *	bpftool map update name policy_every key 7 1 0 0 value 10 0 0 0
 *	rdmatool link set xroce0 policy off
 *
 * QP 0x107 of this host then does not hear about one packet in ten, though the link counts
 * them, and their marks of congestion, as received. Runs in NAPI, under the QP's lock;
 * hot->pkt is the packet, see xroce/hot.h for the rest. It could write to the hot block, and
 * would harm no QP but that one.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <xroce/hot.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, u32);		/* QP number */
	__type(value, u32);		/* n */
} policy_every SEC(".maps");

static __always_inline bool policy(const struct xroce_hot *hot)
{
	u32 qpn = hot->qpn, *n = bpf_map_lookup_elem(&policy_every, &qpn);

	return n && *n && !(bpf_get_prandom_u32() % *n);
}

#define XROCE_POLICY policy
#include "xroce.bpf.c"
