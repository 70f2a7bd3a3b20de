// SPDX-License-Identifier: GPL-2.0
/*
 * A program that does all it may to the QPs of IPv6 packets: random values in
 * their hot blocks, calls in any order, packets swallowed. Those of IPv4 packets
 * it treats as bpf/xroce.bpf.c does. xdp.sh looks at what becomes of these.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <xroce/frame.h>
#include "pass.h"

/* How often, by the transport in an opcode's upper bits */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 8);
	__type(key, u32);
	__type(value, u64);
} scribbled SEC(".maps");

/* Somewhat or altogether wrong. */
static __always_inline void scribble(u32 *hot)
{
	u32 r = bpf_get_prandom_u32(), i;

	if (!hot)
		return;
	if (r & 1) {
		for (i = 0; i < sizeof(struct xroce_hot) / sizeof(*hot); i++)
			hot[i] = bpf_get_prandom_u32();
	} else {
		i = (r >> 1) % (sizeof(struct xroce_hot) / sizeof(*hot));
		hot[i & 15] += (r >> 8 & 7) - 3;
	}
}

static __always_inline void mistreat(struct xroce_pass *p)
{
	u32 *hot = (void *)bpf_xroce_hot(p, sizeof(struct xroce_hot));
	u32 r = bpf_get_prandom_u32();
	u32 key = hot ? ((struct xroce_hot *)hot)->transport >> 5 : 0;
	u64 *n = bpf_map_lookup_elem(&scribbled, &key);

	if (n)
		__sync_fetch_and_add(n, 1);
	/* Half of them get on, so that there is something to be mistreated. */
	if (r & 1) {
		bpf_xroce_end(p, XROCE_PASS_CORE);
		return;
	}
	scribble(hot);
	if (r & 2)
		bpf_xroce_place(p);
	if (r & 4)
		scribble(hot);
	if (r & 8)
		bpf_xroce_complete(p);
	if (r & 16)
		scribble(hot);
	if (r & 32)
		bpf_xroce_place(p);
	bpf_xroce_end(p, r >> 6 & 1 ? r : XROCE_PASS_CORE);
}

SEC("xdp.frags")
int xroce_scribble(struct xdp_md *ctx)
{
	const u8 *data = (const u8 *)(long)ctx->data;
	const u8 *end = (const u8 *)(long)ctx->data_end;
	int why = XROCE_XDP_RX_LEFT;
	struct xroce_pass *p;

	if (data + 14 > end || !bpf_xroce_begin)
		return XDP_PASS;
	p = bpf_xroce_begin(ctx, &why);
	if (!p)
		return why == XROCE_XDP_RX_TAKEN ? XDP_DROP : XDP_PASS;
	if (xroce_get16(data + 12) == XROCE_ETH_P_IPV6)
		mistreat(p);
	else
		bpf_xroce_end(p, xroce_decide(p));
	return XDP_DROP;
}

char LICENSE[] SEC("license") = "GPL";
