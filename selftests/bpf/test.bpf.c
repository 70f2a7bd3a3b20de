// SPDX-License-Identifier: GPL-2.0
/*
 * The shared headers in BPF, reporting what they see; and two programs, one that
 * does nothing and one that calls it, to time others against. Run by
 * BPF_PROG_TEST_RUN only.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "parsed.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct parsed);
} parsed SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ruled);
} ruled SEC(".maps");

SEC("xdp.frags")
int empty(struct xdp_md *ctx)
{
	return XDP_PASS;
}

static __noinline int nothing(struct xdp_md *ctx)
{
	barrier_var(ctx);
	return XDP_PASS;
}

SEC("xdp.frags")
int call(struct xdp_md *ctx)
{
	return nothing(ctx);
}

SEC("xdp.frags")
int parse(struct xdp_md *ctx)
{
	const u8 *data = (const u8 *)(long)ctx->data;
	const u8 *end = (const u8 *)(long)ctx->data_end;
	u32 key = 0;
	struct parsed *out = bpf_map_lookup_elem(&parsed, &key);

	if (!out)
		return XDP_ABORTED;
	__builtin_memset(out, 0, sizeof(*out));
	parsed_frame(out, data, end, bpf_xdp_get_buff_len(ctx));
	return XDP_PASS;
}

SEC("xdp.frags")
int rules(struct xdp_md *ctx)
{
	u32 key = 0;
	struct ruled *r = bpf_map_lookup_elem(&ruled, &key);

	if (!r)
		return XDP_ABORTED;
	ruled_hot(r);
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
