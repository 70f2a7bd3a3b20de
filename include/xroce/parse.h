/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The one parser of BTH and what follows it: every length is checked here,
 * before any use, for the module, BPF, simulator, fuzzer and decoder alike.
 * Pure function over the packet's first bytes; owns no state.
 */
#ifndef XROCE_PARSE_H
#define XROCE_PARSE_H

#include <xroce/opcode.h>

/* Why a packet is malformed. */
enum xroce_parse_error {
	XROCE_PARSE_OK,
	XROCE_PARSE_SHORT,	/* headers, pad or ICRC do not fit */
	XROCE_PARSE_OPCODE,	/* no such opcode */
	XROCE_PARSE_TVER,	/* transport header version not 0 */
	XROCE_PARSE_LENGTH,	/* payload where none may be, or pad > payload */
};

/**
 * struct xroce_pkt - a parsed packet, in host byte order
 * All before @psn follows from what stands before that in the BTH, and the length.
 * @info: &enum xroce_op_flags of @opcode
 * @hdr_len: bytes of BTH and extension headers
 * @payload_len: bytes of payload, without pad and ICRC
 * @pad: bytes of pad after the payload, 0..3
 * @becn: backward congestion bit of the BTH
 * @va: RETH or AtomicETH address
 * @rkey: RETH or AtomicETH key, or the IETH's key to invalidate
 * @dma_len: RETH length
 * @syndrome: AETH syndrome
 * @flush: FETH: placement type, and selectivity from XROCE_FETH_SEL_SHIFT on
 * @imm: immediate data, as on the wire
 * @swap_add: AtomicETH, or the original value of an atomic ACK
 * @qkey: DETH key
 * @sqpn: DETH source QP
 */
struct xroce_pkt {
	u8 opcode;
	u8 flags;
	u8 pad;
	bool becn;
	u16 pkey;
	u16 hdr_len;
	u32 info;
	u32 payload_len;
	u32 qpn;
	u32 psn;
	bool ackreq;
	union {
		u8 syndrome;
		u8 flush;
	};
	u32 msn;
	u32 rkey;
	u32 dma_len;
	__be32 imm;
	u64 va;
	u64 swap_add;
	u64 compare;
	u32 qkey;
	u32 sqpn;
	u32 xrcsrq;
};

/**
 * xroce_parse_bth() - parse the BTH as far as the PSN
 * @pkt: filled in up to @pkt->psn
 * @p: the BTH
 *
 * Return: &enum xroce_parse_error.
 */
static __always_inline int xroce_parse_bth(struct xroce_pkt *pkt, const u8 *p)
{
	const struct xroce_bth *bth = (const void *)p;
	u32 info = xroce_op_info(bth->opcode);

	if (!info)
		return XROCE_PARSE_OPCODE;
	if (XROCE_BTH_TVER(bth->flags))
		return XROCE_PARSE_TVER;

	pkt->opcode = bth->opcode;
	pkt->flags = bth->flags;
	pkt->pad = XROCE_BTH_PAD(bth->flags);
	pkt->info = info;
	pkt->pkey = be16_to_cpu(bth->pkey);
	pkt->qpn = be32_to_cpu(bth->dqpn) & XROCE_QPN_MASK;
	pkt->becn = be32_to_cpu(bth->dqpn) & XROCE_BTH_BECN;
	return XROCE_PARSE_OK;
}

/**
 * xroce_parse_rest() - parse the PSN and the extension headers
 * @pkt: a packet of which all before @pkt->psn is filled in
 * @p: the BTH
 * @end: as for xroce_parse(); the BTH is before it
 *
 * Return: &enum xroce_parse_error.
 */
static __always_inline int xroce_parse_rest(struct xroce_pkt *pkt, const u8 *p,
					    const u8 *end)
{
	const struct xroce_bth *bth = (const void *)p;
	u32 info = pkt->info, apsn = be32_to_cpu(bth->apsn);

	pkt->psn = apsn & XROCE_PSN_MASK;
	pkt->ackreq = apsn & XROCE_BTH_ACKREQ;
	p += sizeof(*bth);
	pkt->hdr_len = sizeof(*bth);

	/* Few have any of these. */
	if (info & (XROCE_OP_XRCETH | XROCE_OP_DETH | XROCE_OP_FLUSH)) {
		if (info & XROCE_OP_XRCETH) {
			const struct xroce_word *x = (const void *)p;

			if (p + 4 > end)
				return XROCE_PARSE_SHORT;
			pkt->xrcsrq = be32_to_cpu(x->v) & XROCE_QPN_MASK;
			p += 4;
			pkt->hdr_len += 4;
		}
		if (info & XROCE_OP_DETH) {
			const struct xroce_deth *deth = (const void *)p;

			if (p + sizeof(*deth) > end)
				return XROCE_PARSE_SHORT;
			pkt->qkey = be32_to_cpu(deth->qkey);
			pkt->sqpn = be32_to_cpu(deth->sqpn) & XROCE_QPN_MASK;
			p += sizeof(*deth);
			pkt->hdr_len += sizeof(*deth);
		}
		if (info & XROCE_OP_FLUSH) {
			const struct xroce_word *x = (const void *)p;

			if (p + 4 > end)
				return XROCE_PARSE_SHORT;
			pkt->flush = be32_to_cpu(x->v);
			p += 4;
			pkt->hdr_len += 4;
		}
	}
	if (info & XROCE_OP_RETH) {
		const struct xroce_reth *reth = (const void *)p;

		if (p + sizeof(*reth) > end)
			return XROCE_PARSE_SHORT;
		pkt->va = be64_to_cpu(reth->va);
		pkt->rkey = be32_to_cpu(reth->rkey);
		pkt->dma_len = be32_to_cpu(reth->len);
		p += sizeof(*reth);
		pkt->hdr_len += sizeof(*reth);
	} else if (info & XROCE_OP_ATOMIC) {
		const struct xroce_atomiceth *a = (const void *)p;

		if (p + sizeof(*a) > end)
			return XROCE_PARSE_SHORT;
		pkt->va = be64_to_cpu(a->va);
		pkt->rkey = be32_to_cpu(a->rkey);
		pkt->swap_add = be64_to_cpu(a->swap_add);
		pkt->compare = be64_to_cpu(a->compare);
		p += sizeof(*a);
		pkt->hdr_len += sizeof(*a);
	} else if (info & XROCE_OP_AETH) {
		const struct xroce_aeth *aeth = (const void *)p;

		if (p + sizeof(*aeth) > end)
			return XROCE_PARSE_SHORT;
		pkt->syndrome = be32_to_cpu(aeth->smsn) >> 24;
		pkt->msn = be32_to_cpu(aeth->smsn) & XROCE_PSN_MASK;
		p += sizeof(*aeth);
		pkt->hdr_len += sizeof(*aeth);
	}
	if (info & XROCE_OP_ATOMIC_ACK) {
		const struct xroce_atomicacketh *a = (const void *)p;

		if (p + 8 > end)
			return XROCE_PARSE_SHORT;
		pkt->swap_add = be64_to_cpu(a->orig);
		p += 8;
		pkt->hdr_len += 8;
	}
	if (info & (XROCE_OP_IMM | XROCE_OP_INV)) {
		const struct xroce_word *x = (const void *)p;

		if (p + 4 > end)
			return XROCE_PARSE_SHORT;
		if (info & XROCE_OP_IMM)
			pkt->imm = x->v;
		else
			pkt->rkey = be32_to_cpu(x->v);
		pkt->hdr_len += 4;
	}
	return XROCE_PARSE_OK;
}

/**
 * xroce_parse() - parse the transport headers of one packet
 * @pkt: filled in; defined only when XROCE_PARSE_OK is returned
 * @p: the BTH
 * @end: end of the bytes that may be read at @p; the first XROCE_MAX_HDR bytes
 *	of the packet, or all of it where it is shorter
 * @len: bytes of UDP payload: BTH up to and including the ICRC
 *
 * Return: &enum xroce_parse_error.
 */
static __always_inline int xroce_parse(struct xroce_pkt *pkt, const u8 *p,
				       const u8 *end, u32 len)
{
	int err;
	u32 tail;

	if (p + sizeof(struct xroce_bth) > end ||
	    len < sizeof(struct xroce_bth) + XROCE_ICRC_SIZE)
		return XROCE_PARSE_SHORT;
	err = xroce_parse_bth(pkt, p);
	if (err)
		return err;
	if (xroce_parse_rest(pkt, p, end))
		return XROCE_PARSE_SHORT;

	tail = pkt->hdr_len + XROCE_ICRC_SIZE;
	if (len < tail)
		return XROCE_PARSE_SHORT;
	pkt->payload_len = len - tail;
	if (pkt->payload_len < pkt->pad)
		return XROCE_PARSE_LENGTH;
	pkt->payload_len -= pkt->pad;
	/* A CNP carries 16 reserved bytes (Annex A17.9.3). */
	if (pkt->payload_len && !(pkt->info & (XROCE_OP_PAYLOAD | XROCE_OP_CNP)))
		return XROCE_PARSE_LENGTH;
	return XROCE_PARSE_OK;
}

#endif /* XROCE_PARSE_H */
