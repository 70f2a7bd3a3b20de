/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which addresses and QPs there are: asked of the module, or of two maps on a
 * host without it, where the program is tested and timed. Included once.
 */
#ifndef XROCE_LOOKUP_H
#define XROCE_LOOKUP_H

/* See kmod/kfunc.c for each. */
extern int bpf_xroce_addr(struct xdp_md *ctx, const void *addr,
			  u32 addr__sz) __weak __ksym;
extern int bpf_xroce_cpu(struct xdp_md *ctx, u32 qpn) __weak __ksym;
extern int bpf_xroce_drop(struct xdp_md *ctx, const void *addr, u32 addr__sz,
			  u32 why) __weak __ksym;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1024);
	__type(key, struct xroce_xdp_addr);
	__type(value, u32);
} xroce_addrs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, u32);
	__type(value, s32);
} xroce_qps SEC(".maps");

static __always_inline bool xroce_is_ours(struct xdp_md *ctx,
					  struct xroce_xdp_addr *to,
					  const u8 mac[6])
{
	to->ifindex = ctx->ingress_ifindex;
	__builtin_memcpy(to->mac, mac, 6);
	__builtin_memset(to->zero, 0, sizeof(to->zero));
	if (bpf_xroce_addr)
		return bpf_xroce_addr(ctx, to, sizeof(*to)) > 0;
	return bpf_map_lookup_elem(&xroce_addrs, to);
}

static __always_inline void xroce_show_drop(struct xdp_md *ctx,
					    const struct xroce_xdp_addr *to,
					    enum xroce_xdp_stat why)
{
	if (bpf_xroce_drop)
		bpf_xroce_drop(ctx, to, sizeof(*to), why);
}

static __always_inline s32 xroce_qp_cpu(struct xdp_md *ctx, u32 qpn)
{
	s32 *cpu;

	if (bpf_xroce_cpu)
		return bpf_xroce_cpu(ctx, qpn);
	cpu = bpf_map_lookup_elem(&xroce_qps, &qpn);
	return cpu ? *cpu : XROCE_XDP_CPU_NO_QP;
}

#endif /* XROCE_LOOKUP_H */
