// SPDX-License-Identifier: GPL-2.0
/*
 * Passes everything. A veth port needs a program (or GRO) for its peer's
 * ndo_xdp_xmit() to find it; selftests/lib/topo.sh attaches this one.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("xdp.frags")
int xdp_pass(struct xdp_md *ctx __attribute__((unused)))
{
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
