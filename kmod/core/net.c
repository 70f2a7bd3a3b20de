// SPDX-License-Identifier: GPL-2.0
/*
 * The packet around the transport headers: IP and UDP to send, the ICRC of what is
 * sent and received. Frames are made under their QP's lock, and belong to the caller.
 */
#include "core.h"
#include <xroce/frame.h>

#define XROCE_L4_LEN	(XROCE_IP4_LEN + XROCE_UDP_LEN)
#define XROCE_L6_LEN	(XROCE_IP6_LEN + XROCE_UDP_LEN)
#define XROCE_BTH_PSN	offsetof(struct xroce_bth, apsn)

static void xroce_put16(u8 *p, u32 v)
{
	p[0] = v >> 8;
	p[1] = v;
}

static bool xroce_gid_is_v4(const u8 gid[16])
{
	static const u8 mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid, mapped, sizeof(mapped));
}

static u16 xroce_fold(u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return sum + (sum >> 16);
}

/**
 * xroce_av_set() - make the headers to send to a peer with
 * @av: the address vector
 * @sgid: our address
 * @dgid: the peer's; both IPv4-mapped or neither (Annex A17.4.1.1)
 * @tclass: traffic class, or TOS
 * @hop_limit: hop limit, or TTL
 * @flow_label: IPv6 only
 * @sport: UDP source port: entropy for the path
 */
void xroce_av_set(struct xroce_av *av, const u8 sgid[16], const u8 dgid[16],
		  u8 tclass, u8 hop_limit, u32 flow_label, u16 sport)
{
	u8 *ip = av->l3, *udp;
	u32 i, sum = 0;

	memset(av, 0, sizeof(*av));
	if (xroce_gid_is_v4(sgid)) {
		ip[0] = 0x45;
		ip[1] = tclass;
		ip[6] = 0x40;			/* DF */
		ip[8] = hop_limit;
		ip[9] = XROCE_IP_UDP;
		memcpy(ip + 12, sgid + 12, 4);
		memcpy(ip + 16, dgid + 12, 4);
		for (i = 0; i < XROCE_IP4_LEN; i += 2)
			sum += ip[i] << 8 | ip[i + 1];
		av->csum = xroce_fold(sum);
		av->l3_len = XROCE_L4_LEN;
	} else {
		ip[0] = 0x60 | tclass >> 4;
		ip[1] = tclass << 4 | (flow_label >> 16 & 0xf);
		xroce_put16(ip + 2, flow_label);
		ip[6] = XROCE_IP_UDP;
		ip[7] = hop_limit;
		memcpy(ip + 8, sgid, 16);
		memcpy(ip + 24, dgid, 16);
		av->l3_len = XROCE_L6_LEN;
	}
	udp = ip + av->l3_len - XROCE_UDP_LEN;
	xroce_put16(udp, sport);
	xroce_put16(udp + 2, XROCE_UDP_PORT);
}

/**
 * xroce_av_set_hops() - another hop limit
 * @av: the address vector, which has been set
 * @hop_limit: hop limit, or TTL
 */
void xroce_av_set_hops(struct xroce_av *av, u8 hop_limit)
{
	u8 *ip = av->l3;

	if (ip[0] >> 4 == 4) {
		av->csum = xroce_fold(av->csum + (u16)~(ip[8] << 8) + (hop_limit << 8));
		ip[8] = hop_limit;
	} else {
		ip[7] = hop_limit;
	}
}

/**
 * xroce_frame_set_tos() - another class than the path's
 * @f: the frame, whose headers are there
 * @tos: TOS, or traffic class
 */
void xroce_frame_set_tos(struct xroce_frame *f, u8 tos)
{
	u8 *ip = f->seg[0].p;

	if (ip[0] >> 4 == 4) {
		xroce_put16(ip + 10, ~xroce_fold((u16)~xroce_get16(ip + 10) + (u16)~ip[1] + tos));
		ip[1] = tos;
	} else {
		ip[0] = 0x60 | tos >> 4;
		ip[1] = tos << 4 | (ip[1] & 0xf);
	}
}

/**
 * xroce_frame_write_parts() - put bytes into a frame, not all into its first segment
 * @f: the frame
 * @off: from the start of the frame; off + len must be inside
 * @src: the bytes
 * @len: how many bytes
 */
void xroce_frame_write_parts(struct xroce_frame *f, u32 off, const u8 *src, u32 len)
{
	struct xroce_seg *s = f->seg;
	u32 n = s->len - min(off, s->len);

	memcpy(s->p + off, src, n);
	memcpy(s[1].p + off + n - s->len, src + n, len - n);
}

/**
 * xroce_icrc_start() - the part of a packet's ICRC that stands before the PSN
 * @l3: its IP header
 *
 * Return: the CRC, to go on with at the PSN.
 */
u32 xroce_icrc_start(const u8 *l3)
{
	u8 head[XROCE_ICRC_HEAD_MAX];
	u32 n = xroce_icrc_head(head, l3);

	return xroce_env_crc(XROCE_ICRC_SEED, head, n - sizeof(struct xroce_bth) + XROCE_BTH_PSN);
}

/*
 * The headers up to the PSN, and their CRC: those of all packets that are @len bytes
 * and have the same in the BTH.
 */
static noinline void xroce_head_set(struct xroce_qp *qp, u32 len, u64 start)
{
	struct xroce_av *av = &qp->av;
	struct xroce_bth bth = {
		.opcode = start,
		.flags = start >> 8,
		.pkey = cpu_to_be16(start >> 16),
		.dqpn = cpu_to_be32(start >> 32),
	};
	u8 *p = qp->head;

	memcpy(p, av->l3, sizeof(av->l3));
	if (av->l3_len == XROCE_L4_LEN) {
		xroce_put16(p + 2, len);
		xroce_put16(p + 10, ~xroce_fold(av->csum + len));
	} else {
		xroce_put16(p + 4, len - XROCE_IP6_LEN);
	}
	xroce_put16(p + av->l3_len - 4, len - av->l3_len + XROCE_UDP_LEN);
	memcpy(p + av->l3_len, &bth, sizeof(bth));
	av->len = len;
	av->bth = start;
	av->crc = xroce_icrc_start(p);
}

/**
 * xroce_frame_new() - a request or response with all headers but the ICRC
 * @qp: the queue pair
 * @op: the BTH opcode, and XROCE_BTH_SE << 8 or not
 * @psn: the PSN
 * @ext_len: bytes of extended headers but the XRCETH, which the caller writes
 * @payload_len: bytes of payload, without padding
 *
 * Return: the frame, its payload still to be written, or NULL when none is to be
 * had; the QP then remembers to try again.
 */
struct xroce_frame *xroce_frame_new(struct xroce_qp *qp, u32 op, u32 psn, u32 ext_len,
				    u32 payload_len)
{
	static const u8 zero[4];
	struct xroce_av *av = &qp->av;
	struct xroce_word word = { cpu_to_be32(psn) };
	u32 pad = -payload_len & 3;
	struct xroce_frame *f;
	u32 len, hdr, l3_len = av->l3_len;
	u64 start;
	u8 *p;

	if (op != XROCE_CNP)
		op |= XROCE_BTH_MIG << 8 | qp->hot.transport;	/* 0 in NICs' CNPs */
	hdr = l3_len + sizeof(struct xroce_bth);
	if (XROCE_TRANSPORT((u8)op) == XROCE_XRC && xroce_op_info(op) & XROCE_OP_XRCETH)
		hdr += sizeof(word);
	len = hdr + ext_len + payload_len + pad + XROCE_ICRC_SIZE;
	f = xroce_env_frame(qp, len);
	if (!f) {
		qp->nomem = true;
		return NULL;
	}
	f->is = (struct xroce_staged) {
		.psn = psn,
		.since = qp->req.since_ackreq,
		.kind = XROCE_FRAME_REQ,
		.again = xroce_psn_diff(psn, qp->hot.max) >= 0 ? 0 :
			 qp->req.asking ? XROCE_CNT_ASKED : XROCE_CNT_RETRANS,
	};
	f->as_one = av->as_one;
	f->ackreq = false;
	f->payload = hdr + ext_len;

	p = f->seg[0].p;
	start = (u64)qp->hot.dest_qpn << 32 | (u32)qp->pkey << 16 | pad << 12 | op;
	if (av->len != len || av->bth != start)
		xroce_head_set(qp, len, start);
	f->crc = av->crc;
	/* Lengths that the compiler knows: no calls. The next overwrites the rest. */
	memcpy(p - av->l2_len, av->l2, sizeof(av->l2));
	if (l3_len == XROCE_L4_LEN)
		memcpy(p, qp->head, XROCE_L4_LEN + XROCE_BTH_PSN);
	else
		memcpy(p, qp->head, XROCE_L6_LEN + XROCE_BTH_PSN);
	memcpy(p + l3_len + XROCE_BTH_PSN, &word, sizeof(word));
	if (hdr != l3_len + sizeof(struct xroce_bth)) {
		word.v = cpu_to_be32(qp->req.srqn);
		memcpy(p + hdr - sizeof(word), &word, sizeof(word));
	}
	if (pad)
		xroce_frame_write(f, f->payload + payload_len, zero, pad);
	return f;
}

/* The same of a frame in two pieces, apart, since it takes the stack. */
static noinline void xroce_frame_icrc_parts(struct xroce_frame *f, u32 crc)
{
	u32 len = f->len - XROCE_ICRC_SIZE;
	__le32 icrc;

	if (len > f->seg[0].len)
		crc = xroce_env_crc(crc, f->seg[1].p, len - f->seg[0].len);
	icrc = cpu_to_le32(~crc);
	xroce_frame_write(f, len, &icrc, sizeof(icrc));
}

/**
 * xroce_frame_icrc() - write the ICRC
 * @f: the frame, of which nothing else is to change any more
 */
void xroce_frame_icrc(struct xroce_frame *f)
{
	u32 len = f->len - XROCE_ICRC_SIZE, psn = f->bth + XROCE_BTH_PSN, crc;
	__le32 icrc;

	crc = xroce_env_crc(f->crc, f->seg[0].p + psn, min(len, f->seg[0].len) - psn);
	if (f->len > f->seg[0].len) {
		xroce_frame_icrc_parts(f, crc);
		return;
	}
	icrc = cpu_to_le32(~crc);
	memcpy(f->seg[0].p + len, &icrc, sizeof(icrc));
}

/**
 * xroce_frame_seal() - ask for the ACK if one is wanted, and write the ICRC
 * @f: the frame
 *
 * Needs no lock: the frame is complete and its owner's alone. What does not leave
 * this host's memory has no use for an ICRC.
 */
void xroce_frame_seal(struct xroce_frame *f)
{
	if (f->ackreq)
		f->seg[0].p[f->bth + offsetof(struct xroce_bth, apsn)] |= XROCE_BTH_ACKREQ >> 24;
	if (f->route != XROCE_ROUTE_HOST)
		xroce_frame_icrc(f);
}

/*
 * The first of its kind, or not seen for long. What was found out of it may not be what
 * stands there now, in memory that a program writes to (AF_XDP's): that would be known
 * of others' packets then. Apart, since it takes the stack.
 */
static noinline const struct xroce_known *xroce_known_add(const struct xroce_rx *rx)
{
	u8 first = READ_ONCE(rx->l3[0]);
	bool v4 = first >> 4 == 4, same;
	u32 bth = v4 ? XROCE_L4_LEN : XROCE_L6_LEN;
	struct xroce_known *k = xroce_known_slot(rx->known, rx->l3 + bth);
	struct xroce_pkt pkt = rx->pkt;

	memcpy(k->head, rx->l3, bth + sizeof(struct xroce_bth));
	k->head[0] = first;
	k->crc = xroce_icrc_start(k->head);
	same = !xroce_parse_bth(&pkt, k->head + bth) &&
	       !memcmp(&pkt, &rx->pkt, sizeof(k->pkt)) &&
	       xroce_get16(k->head + bth - 4) == rx->len + XROCE_UDP_LEN &&
	       (!rx->whole || rx->whole == (v4 ? xroce_get16(k->head + 2) :
			XROCE_IP6_LEN + xroce_get16(k->head + 4)));
	memcpy(k->pkt, &rx->pkt, sizeof(k->pkt));
	k->len = same ? rx->len : 0;
	k->whole = same ? rx->whole : 0;
	return k;
}

/**
 * xroce_rx_icrc_ok() - is a received packet's ICRC right
 * @rx: the packet
 */
bool xroce_rx_icrc_ok(struct xroce_rx *rx)
{
	if (rx->from)
		return true;
	if (!rx->is && rx->known && xroce_may_recur(rx->l3))
		rx->is = xroce_known_add(rx);
	return xroce_env_rx_crc(rx, rx->is ? rx->is->crc : xroce_icrc_start(rx->l3),
				XROCE_BTH_PSN, rx->len - XROCE_BTH_PSN) == XROCE_ICRC_GOOD;
}
