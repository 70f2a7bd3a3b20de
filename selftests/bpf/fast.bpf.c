// SPDX-License-Identifier: GPL-2.0
/*
 * The XDP program with stand-ins for the module's functions, to be timed without
 * the module: headers are parsed by the module's own rules, the QP is found by its
 * number in a map and must be the packet's by its addresses; the rules over the
 * hot block and what follows from them are the program's. No checksums, no lock,
 * and nothing is placed, completed or let go of. Run by BPF_PROG_TEST_RUN only.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <xroce/frame.h>
#include <xroce/parse.h>
#include <xroce/xdp.h>
#include "fast.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FAST_QPS);
	__type(key, u32);
	__type(value, struct xroce_pass);
} fast_qps SEC(".maps");

/* As the module does, by words. */
static __always_inline bool is_from_to(const struct xroce_pass *p,
				       const struct xroce_encap *e, const u8 *l2)
{
	const u16 *mac = (const void *)l2;
	u64 s[2], d[2];

	xroce_encap_sgid(e, (u8 *)s);
	xroce_encap_dgid(e, (u8 *)d);
	return s[0] == p->sgid[0] && s[1] == p->sgid[1] &&
	       d[0] == p->dgid[0] && d[1] == p->dgid[1] &&
	       mac[0] == p->mac[0] && mac[1] == p->mac[1] &&
	       mac[2] == p->mac[2];
}

/* A call, as the next one, since the module's are. */
static __noinline struct xroce_pass *bpf_xroce_begin(struct xdp_md *ctx,
						     int *why)
{
	const u8 *data = (const u8 *)(long)ctx->data;
	const u8 *end = (const u8 *)(long)ctx->data_end;
	struct xroce_pass *p;
	struct xroce_encap e;
	struct xroce_pkt pkt;
	u32 n;

	*why = XROCE_XDP_RX_LEFT;
	if (xroce_encap_parse(&e, data, end, end - data) !=
	    XROCE_ENCAP_ROCE || e.opts || *(const u16 *)(e.l4 + 6))
		return NULL;
	if (e.bth + XROCE_MAX_HDR > end && (u32)(end - e.bth) < e.len)
		return NULL;
	if (xroce_parse(&pkt, e.bth, end, e.len))
		return NULL;
	n = pkt.qpn % FAST_QPS;
	p = bpf_map_lookup_elem(&fast_qps, &n);
	if (!p || p->hot.qpn != pkt.qpn || !is_from_to(p, &e, data) ||
	    p->hot.transport != XROCE_TRANSPORT(pkt.opcode))
		return NULL;
	p->hot.pkt.info = pkt.info;
	p->hot.pkt.psn = pkt.psn;
	p->hot.pkt.payload_len = pkt.payload_len;
	p->hot.pkt.syndrome = pkt.syndrome;
	p->hot.pkt.ackreq = pkt.ackreq;
	barrier();
	return p;
}

static __noinline u8 *bpf_xroce_hot(struct xroce_pass *p, u32 size)
{
	barrier_var(p);
	return (u8 *)&p->hot;
}

static __always_inline int bpf_xroce_place(struct xroce_pass *p)
{
	return 0;
}

static __always_inline int bpf_xroce_complete(struct xroce_pass *p)
{
	return 0;
}

/* The same packet is the next one again. */
static __always_inline void bpf_xroce_end(struct xroce_pass *p, u32 how)
{
	barrier();
	p->hot.epsn = p->hot.pkt.psn;
}

#define XROCE_STAND_IN
#pragma clang diagnostic ignored "-Wpointer-bool-conversion"
#include "xroce.bpf.c"
