// SPDX-License-Identifier: GPL-2.0
/*
 * The XDP program of a link: it deals with the packets of QPs (pass.h), or sends them
 * to their CPU first; drops what is malformed for a MAC and GID of ours, leaves the
 * rest of that to the stack; and all else passes as it came: the host may be a bridge
 * or a router. Runs in NAPI.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <xroce/frame.h>
#include <xroce/parse.h>
#include <xroce/xdp.h>
#include "lookup.h"
#include "pass.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, XROCE_XDP_STAT_MAX);
	__type(key, u32);
	__type(value, u64);
} xroce_stats SEC(".maps");

/*
 * Filled in by the loader for the CPUs that may be steered to, whose number it sets
 * first: a kernel takes no more than it can have.
 */
struct {
	__uint(type, BPF_MAP_TYPE_CPUMAP);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct bpf_cpumap_val);
} xroce_cpus SEC(".maps");

static __always_inline int xroce_verdict(enum xroce_xdp_stat stat, int action)
{
	u32 key = stat;
	u64 *n = bpf_map_lookup_elem(&xroce_stats, &key);

	if (n)
		(*n)++;
	return action;
}

#define PASS(stat) xroce_verdict(XROCE_XDP_##stat, XDP_PASS)

static __always_inline int xroce_drop(struct xdp_md *ctx,
				      const struct xroce_xdp_addr *to,
				      enum xroce_xdp_stat stat)
{
	xroce_show_drop(ctx, to, stat);
	return xroce_verdict(stat, XDP_DROP);
}

#define DROP(stat) xroce_drop(ctx, &to, XROCE_XDP_DROP_##stat)

static __always_inline int xroce_steer(s32 cpu)
{
	if (bpf_redirect_map(&xroce_cpus, cpu, XDP_PASS) != XDP_REDIRECT)
		return PASS(STEER_MISS);
	return xroce_verdict(XROCE_XDP_STEERED, XDP_REDIRECT);
}

enum xroce_looks {
	XROCE_LOOK_OTHER,	/* the parser would say XROCE_ENCAP_OTHER */
	XROCE_LOOK_PLAIN,	/* RoCEv2 as a QP of ours would get it */
	XROCE_LOOK_CLOSER,	/* that takes the parser */
};

/*
 * What most frames are is told by a few bytes. RoCEv2 without options, extensions
 * or a second tag may be a QP's: the module looks closer.
 */
static __always_inline enum xroce_looks xroce_look(const u8 *data,
						   const u8 *end)
{
	const u8 *l3 = data + 14;
	u32 type;

	if (l3 + 32 > end)
		return XROCE_LOOK_CLOSER;
	type = xroce_get16(data + 12);
	if (type == XROCE_ETH_P_8021Q) {
		type = xroce_get16(data + 16);
		l3 += 4;
	}
	if (type == XROCE_ETH_P_IP) {
		if (l3[9] != XROCE_IP_UDP)
			return XROCE_LOOK_OTHER;
		if (l3[0] != 0x45)
			return XROCE_LOOK_CLOSER;
		return xroce_get16(l3 + 22) == XROCE_UDP_PORT ?
		       XROCE_LOOK_PLAIN : XROCE_LOOK_OTHER;
	}
	if (type == XROCE_ETH_P_IPV6) {
		if (l3[6] == XROCE_IP_UDP && l3 + 48 <= end)
			return xroce_get16(l3 + 42) == XROCE_UDP_PORT ?
			       XROCE_LOOK_PLAIN : XROCE_LOOK_OTHER;
		return l3[6] == XROCE_IP_TCP ? XROCE_LOOK_OTHER :
					       XROCE_LOOK_CLOSER;
	}
	return type == XROCE_ETH_P_8021Q || type == XROCE_ETH_P_8021AD ?
	       XROCE_LOOK_CLOSER : XROCE_LOOK_OTHER;
}

SEC("xdp.frags")
int xroce(struct xdp_md *ctx)
{
	const u8 *data = (const u8 *)(long)ctx->data;
	const u8 *end = (const u8 *)(long)ctx->data_end;
	struct xroce_xdp_addr to;
	struct xroce_encap e;
	enum xroce_xdp_stat stat;
	struct xroce_pkt pkt;
	int is, got;
	s32 cpu;

	is = xroce_look(data, end);
	if (is == XROCE_LOOK_OTHER)
		return PASS(OTHER);
	if (is == XROCE_LOOK_PLAIN) {
		got = xroce_receive(ctx, &stat);
		if (got == XROCE_XDP_RX_TAKEN)
			return xroce_verdict(stat, XDP_DROP);
		if (got >= 0)
			return xroce_steer(got);
	}
	is = xroce_encap_parse(&e, data, end, ~0u);
	if (is == XROCE_ENCAP_OTHER)
		return PASS(OTHER);
	/* To ask for the length in all buffers is dear, and seldom needed. */
	if (e.ip_len > (u32)(end - e.l4) &&
	    (u32)(e.l4 - data) + e.ip_len > bpf_xdp_get_buff_len(ctx))
		is = XROCE_ENCAP_TRUNC;
	xroce_encap_dgid(&e, to.gid);
	if (!xroce_is_ours(ctx, &to, data))
		return PASS(NOT_OURS);
	if (e.opts)
		return PASS(OPTS);
	if (is == XROCE_ENCAP_TRUNC)
		return DROP(TRUNC);
	if (is == XROCE_ENCAP_UDP_LEN)
		return DROP(UDP_LEN);
	if (e.bth + XROCE_MAX_HDR > end && (u32)(end - e.bth) < e.len)
		return PASS(SPLIT);

	switch (xroce_parse(&pkt, e.bth, end, e.len)) {
	case XROCE_PARSE_OK:
		break;
	case XROCE_PARSE_OPCODE:
		return DROP(OPCODE);
	case XROCE_PARSE_TVER:
		return DROP(TVER);
	case XROCE_PARSE_LENGTH:
		return DROP(LENGTH);
	default:
		return DROP(SHORT);
	}

	/* The module would drop and count it: that stays in one place. */
	cpu = xroce_qp_cpu(ctx, pkt.qpn);
	if (cpu == XROCE_XDP_CPU_NO_QP)
		return PASS(NO_QP);
	if (cpu < 0 || (u32)cpu == bpf_get_smp_processor_id())
		return PASS(STAY);
	return xroce_steer(cpu);
}

/* On the CPU that a frame was sent to, which was judged before. */
SEC("xdp.frags/cpumap")
int xroce_there(struct xdp_md *ctx)
{
	enum xroce_xdp_stat stat;

	if (xroce_receive(ctx, &stat) == XROCE_XDP_RX_TAKEN)
		return xroce_verdict(stat, XDP_DROP);
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
