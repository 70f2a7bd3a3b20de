/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What test.bpf.c reports of one frame or one rule, for xdp.c to compare with
 * what the same headers say in user space.
 */
#ifndef XROCE_PARSED_H
#define XROCE_PARSED_H

#include <xroce/frame.h>
#include <xroce/hot.h>
#include <xroce/parse.h>

struct parsed {
	s32 is;
	s32 error;
	u32 l3;
	u32 l4;
	u32 bth;
	u32 len;
	u8 version;
	u8 ecn;
	u8 opts;
	u8 pad;
	u8 sgid[16];
	u8 dgid[16];
	struct xroce_pkt pkt;
};

/* A zeroed @out, a frame and what is linear of it. */
static __always_inline void parsed_frame(struct parsed *out, const u8 *data,
					 const u8 *end, u32 total)
{
	struct xroce_encap e;

	out->is = xroce_encap_parse(&e, data, end, total);
	if (out->is == XROCE_ENCAP_OTHER)
		return;
	out->l3 = e.l3 - data;
	out->l4 = e.l4 - data;
	out->bth = e.bth - data;
	out->version = e.version;
	out->ecn = e.ecn;
	out->opts = e.opts;
	xroce_encap_sgid(&e, out->sgid);
	xroce_encap_dgid(&e, out->dgid);
	if (out->is != XROCE_ENCAP_ROCE)
		return;
	out->len = e.len;
	out->error = xroce_parse(&out->pkt, e.bth, end, e.len);
	if (out->error)
		__builtin_memset(&out->pkt, 0, sizeof(out->pkt));
}

struct ruled {
	u32 psn;
	u32 len;
	u32 opcode;
	u32 seq;
	u32 ack;
	u32 order;
	u32 len_ok;
	u32 way;
	struct xroce_hot hot;
	struct xroce_hot done;
};

static __always_inline void ruled_hot(struct ruled *r)
{
	u32 info = xroce_op_info(r->opcode);

	r->seq = xroce_resp_seq(&r->hot, r->psn);
	r->ack = xroce_req_ack(&r->hot, r->psn);
	r->order = xroce_resp_order(&r->hot, info);
	r->len_ok = xroce_len_ok(info, r->len, 1u << (r->hot.mtu_shift & 15));
	r->way = xroce_way(&r->hot);
	r->done = r->hot;
	xroce_resp_done(&r->done, info, r->len, r->psn & 1);
	xroce_resp_advance(&r->hot, info, r->len);
}

#endif /* XROCE_PARSED_H */
