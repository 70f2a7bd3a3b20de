/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A QP's hot block and the rules over it: one rule, one place. The module's
 * core, BPF and the tests compile these same functions. Runs under the QP's
 * lock; any value found in the block is safe, only the QP's own protocol
 * depends on it.
 */
#ifndef XROCE_HOT_H
#define XROCE_HOT_H

#include <xroce/opcode.h>

/* Values of enum ib_qp_state. */
enum xroce_qps {
	XROCE_QPS_RESET,
	XROCE_QPS_INIT,
	XROCE_QPS_RTR,
	XROCE_QPS_RTS,
	XROCE_QPS_SQD,
	XROCE_QPS_SQE,
	XROCE_QPS_ERR,
};

enum xroce_resp_flags {
	XROCE_RESP_GAP	= 1 << 0,	/* PSN NAK sent: silent until filled */
	XROCE_RESP_RNR	= 1 << 1,	/* RNR NAK sent: only epsn is heard */
	XROCE_RESP_ACK	= 1 << 2,	/* an ACK is due */
};

/**
 * struct xroce_seen - the packet under way, as the module has parsed it
 * @info: &enum xroce_op_flags
 * @ackreq: it asks for an ACK
 */
struct xroce_seen {
	u32 info;
	u32 psn;
	u32 payload_len;
	u8 syndrome;
	u8 ackreq;
	u8 pad[2];
};

/**
 * struct xroce_hot - what decides about a packet of a QP
 * @state: &enum xroce_qps
 * @transport: XROCE_RC, _XRC, _UC or _UD: upper bits of the opcodes it speaks
 * @mtu_shift: log2 of the path MTU, 8..12
 * @una: requester: oldest PSN not acknowledged
 * @next: requester: next PSN to send; una <= next <= max
 * @max: requester: one past the highest PSN ever sent
 * @epsn: responder: next PSN expected
 * @msn: responder: messages completed, modulo 2^24
 * @msg: responder: XROCE_OP_SEND or XROCE_OP_WRITE inside a message, else 0
 * @resp_flags: &enum xroce_resp_flags
 * @pkt: what a program in XDP decides about, while it has the QP
 *
 * A program has a copy, of which the module takes @epsn, @msn, @msg and @resp_flags.
 */
struct xroce_hot {
	u32 qpn;
	u32 dest_qpn;
	u8 state;
	u8 transport;
	u8 mtu_shift;
	u8 pad;
	u32 una;
	u32 next;
	u32 max;
	u32 epsn;
	u32 msn;
	u32 msg;
	u32 resp_flags;
	struct xroce_seen pkt;
	u32 reserved[2];
};

static_assert(sizeof(struct xroce_hot) == 64, "one cache line");

enum xroce_seq {
	XROCE_SEQ_NEXT,		/* the one expected */
	XROCE_SEQ_DUP,		/* behind: executed before */
	XROCE_SEQ_GAP,		/* ahead: something was lost */
};

/**
 * xroce_resp_seq() - where a request's PSN stands (IBTA 9.7.2, 9.7.4.1)
 */
static __always_inline enum xroce_seq
xroce_resp_seq(const struct xroce_hot *hot, u32 psn)
{
	s32 d = xroce_psn_diff(psn, hot->epsn);

	return d < 0 ? XROCE_SEQ_DUP : d > 0 ? XROCE_SEQ_GAP : XROCE_SEQ_NEXT;
}

/**
 * xroce_resp_order() - may this request opcode come now (IBTA 9.7.4.1.2)
 *
 * Return: false for a first packet inside a message, a later one outside, and
 * one of another kind than the message.
 */
static __always_inline bool xroce_resp_order(const struct xroce_hot *hot,
					     u32 info)
{
	if (info & XROCE_OP_FIRST)
		return !hot->msg;
	return hot->msg && (info & hot->msg);
}

/**
 * xroce_len_ok() - payload length against place and MTU (IBTA 9.7.4.1.6, C9-70)
 */
static __always_inline bool xroce_len_ok(u32 info, u32 len, u32 mtu)
{
	if (!(info & XROCE_OP_LAST))
		return len == mtu;
	if (!(info & XROCE_OP_FIRST))
		return len >= 1 && len <= mtu;
	return len <= mtu;
}

/**
 * xroce_resp_advance() - a request has been executed
 * @npsn: PSNs that it takes: 1, or the READ responses it asks for
 */
static __always_inline void xroce_resp_advance(struct xroce_hot *hot, u32 info,
					       u32 npsn)
{
	hot->epsn = xroce_psn_add(hot->epsn, npsn);
	hot->resp_flags &= ~(XROCE_RESP_GAP | XROCE_RESP_RNR);
	if (info & XROCE_OP_LAST) {
		hot->msn = xroce_psn_add(hot->msn, 1);
		hot->msg = 0;
	} else {
		hot->msg = info & (XROCE_OP_SEND | XROCE_OP_WRITE);
	}
}

/**
 * xroce_resp_done() - the same, and whether an ACK is due
 * @ackreq: the peer asked for one
 *
 * What fills a gap, or was not ready and comes again, is acknowledged though nobody
 * asked: the one that asked may have gone in silence meanwhile, and the peer shall
 * know that it gets on.
 */
static __always_inline void xroce_resp_done(struct xroce_hot *hot, u32 info,
					    u32 npsn, bool ackreq)
{
	bool ack = ackreq || (hot->resp_flags & (XROCE_RESP_GAP | XROCE_RESP_RNR));

	xroce_resp_advance(hot, info, npsn);
	if (ack && (info & (XROCE_OP_SEND | XROCE_OP_WRITE)))
		hot->resp_flags |= XROCE_RESP_ACK;
}

enum xroce_ack_is {
	XROCE_ACK_NEW,		/* psn is outstanding */
	XROCE_ACK_OLD,		/* acknowledged before */
	XROCE_ACK_GHOST,	/* never sent */
};

/**
 * xroce_req_ack() - what a response's PSN says (IBTA 9.7.5.1, 9.9.2.4.1)
 */
static __always_inline enum xroce_ack_is
xroce_req_ack(const struct xroce_hot *hot, u32 psn)
{
	if (xroce_psn_diff(psn, hot->una) < 0)
		return XROCE_ACK_OLD;
	if (xroce_psn_diff(psn, hot->max) >= 0)
		return XROCE_ACK_GHOST;
	return XROCE_ACK_NEW;
}

enum xroce_way {
	XROCE_WAY_CORE,		/* anything that takes more thought */
	XROCE_WAY_PLACE,	/* the SEND or WRITE that is next */
	XROCE_WAY_COMPLETE,	/* an ACK, or what was asked for */
};

/**
 * xroce_way() - what to do with @hot->pkt, of a QP of any kind
 */
static __always_inline enum xroce_way xroce_way(const struct xroce_hot *hot)
{
	const struct xroce_seen *pkt = &hot->pkt;

	if (hot->transport != XROCE_RC && hot->transport != XROCE_XRC)
		return XROCE_WAY_CORE;
	if (pkt->info & (XROCE_OP_SEND | XROCE_OP_WRITE)) {
		if (pkt->info & XROCE_OP_INV ||
		    hot->resp_flags & (XROCE_RESP_GAP | XROCE_RESP_RNR) ||
		    xroce_resp_seq(hot, pkt->psn) != XROCE_SEQ_NEXT ||
		    !xroce_resp_order(hot, pkt->info) ||
		    !xroce_len_ok(pkt->info, pkt->payload_len,
				  1u << (hot->mtu_shift & 15)))
			return XROCE_WAY_CORE;
		return XROCE_WAY_PLACE;
	}
	if (!(pkt->info & XROCE_OP_RESPONSE) ||
	    xroce_req_ack(hot, pkt->psn) != XROCE_ACK_NEW)
		return XROCE_WAY_CORE;
	if (pkt->info & XROCE_OP_ACK &&
	    (pkt->syndrome & XROCE_AETH_TYPE) != XROCE_AETH_ACK)
		return XROCE_WAY_CORE;
	return XROCE_WAY_COMPLETE;
}

#endif /* XROCE_HOT_H */
