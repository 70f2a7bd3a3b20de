// SPDX-License-Identifier: GPL-2.0
/*
 * Programs that call the module by CASE: 0 as it should be, and each other one with
 * what the verifier is to refuse. For xdp.sh.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <xroce/xdp.h>
#include "lookup.h"
#include "pass.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct xroce_xdp_addr);
} addrs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} progs SEC(".maps");

/* The last two are not in 6.12 */
extern void bpf_preempt_disable(void) __weak __ksym;
extern void bpf_preempt_enable(void) __weak __ksym;
extern void bpf_local_irq_save(unsigned long *flags) __weak __ksym;
extern void bpf_local_irq_restore(unsigned long *flags) __weak __ksym;

/* What is held when another program takes this one's place nobody gives back. */
static __noinline int hold(struct xdp_md *ctx)
{
	struct xroce_pass *p;
	int why;

	p = bpf_xroce_begin(ctx, &why);
	if (!p)
		return why;
	if (CASE == 1)
		bpf_tail_call(ctx, &progs, 0);
	bpf_xroce_end(p, XROCE_PASS_CORE);
	return 0;
}

/* A global function is looked at by itself: it may be, but nothing is held that it leaves with. */
__noinline int leave(u32 n)
{
	if (CASE == 5 && n)
		bpf_throw(0);
	return n;
}

SEC("xdp")
int call(struct xdp_md *ctx)
{
	struct xroce_xdp_addr *addr;
	struct xroce_pass *p;
	unsigned long flags;
	u32 key = 0;
	int n = 0;

	if (CASE < 2)
		n = hold(ctx);
	if (CASE == 2) {
		p = bpf_xroce_begin(ctx, NULL);
		if (p)
			bpf_xroce_end(p, XROCE_PASS_CORE);
	}
	if (CASE == 0 || CASE == 5) {
		p = bpf_xroce_begin(ctx, &n);
		if (p) {
			n = leave(bpf_get_prandom_u32());
			bpf_xroce_end(p, XROCE_PASS_CORE);
		}
	}
	/* What takes a lock of ours may have to sleep, on PREEMPT_RT. */
	if (CASE == 6) {
		bpf_preempt_disable();
		hold(ctx);
		bpf_preempt_enable();
	}
	if (CASE == 7) {
		bpf_local_irq_save(&flags);
		hold(ctx);
		bpf_local_irq_restore(&flags);
	}
	addr = bpf_map_lookup_elem(&addrs, &key);
	if (CASE != 3 && !addr)
		return XDP_PASS;
	if (CASE != 4)
		n += bpf_xroce_addr(ctx, addr, sizeof(*addr));
	addr = bpf_map_lookup_elem(&addrs, &key);
	if (CASE != 4 && !addr)
		return XDP_PASS;
	n += bpf_xroce_drop(ctx, addr, sizeof(*addr), 0);
	return n < 0 ? XDP_DROP : XDP_PASS;
}

char _license[] SEC("license") = "GPL";
