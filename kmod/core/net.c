// SPDX-License-Identifier: GPL-2.0
/*
 * The packet around the transport headers: IP and UDP to send, the addresses of
 * what was received, the ICRC of both. Any context; frames belong to the caller.
 */
#include "core.h"

#define XROCE_IP_UDP	17
#define XROCE_IP4_LEN	20
#define XROCE_IP6_LEN	40
#define XROCE_UDP_LEN	8

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
		av->l3_len = XROCE_IP4_LEN + XROCE_UDP_LEN;
	} else {
		ip[0] = 0x60 | tclass >> 4;
		ip[1] = tclass << 4 | (flow_label >> 16 & 0xf);
		xroce_put16(ip + 2, flow_label);
		ip[6] = XROCE_IP_UDP;
		ip[7] = hop_limit;
		memcpy(ip + 8, sgid, 16);
		memcpy(ip + 24, dgid, 16);
		av->l3_len = XROCE_IP6_LEN + XROCE_UDP_LEN;
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
		av->csum = xroce_fold(av->csum + (u16)~(ip[8] << 8) +
				      (hop_limit << 8));
		ip[8] = hop_limit;
	} else {
		ip[7] = hop_limit;
	}
}

/**
 * xroce_av_match() - did a packet come from this peer to this address
 * @av: the address vector
 * @l3: its IP header
 */
bool xroce_av_match(const struct xroce_av *av, const u8 *l3)
{
	if (l3[0] >> 4 != av->l3[0] >> 4)
		return false;
	if (l3[0] >> 4 == 4)
		return !memcmp(l3 + 12, av->l3 + 16, 4) &&
		       !memcmp(l3 + 16, av->l3 + 12, 4);
	return !memcmp(l3 + 8, av->l3 + 24, 16) &&
	       !memcmp(l3 + 24, av->l3 + 8, 16);
}

/**
 * xroce_frame_write() - put bytes into a frame
 * @f: the frame
 * @off: from the start of the frame; off + len must be inside
 * @src: the bytes
 * @len: how many bytes
 */
void xroce_frame_write(struct xroce_frame *f, u32 off, const void *src, u32 len)
{
	struct xroce_seg *s = f->seg;
	u32 n;

	if (off + len <= s->len) {
		memcpy(s->p + off, src, len);
		return;
	}
	n = s->len - min(off, s->len);
	memcpy(s->p + off, src, n);
	memcpy(s[1].p + off + n - s->len, src + n, len - n);
}

/**
 * xroce_icrc_l3() - the part of a packet's ICRC that stands before the BTH
 * @l3: its IP header
 *
 * Return: the CRC, to go on with at the BTH.
 */
u32 xroce_icrc_l3(const u8 *l3)
{
	u8 head[XROCE_ICRC_HEAD_MAX];
	u32 n = xroce_icrc_head(head, l3);

	return xroce_env_crc(XROCE_ICRC_SEED, head,
			     n - sizeof(struct xroce_bth));
}

/**
 * xroce_frame_new() - a request or response with all headers but the ICRC
 * @qp: the queue pair
 * @opcode: the BTH opcode
 * @psn: the PSN
 * @flags: XROCE_BTH_SE or 0
 * @ext: extension headers, but for the XRCETH
 * @ext_len: bytes of extended headers
 * @payload_len: bytes of payload, without padding
 *
 * Return: the frame, its payload still to be written, or NULL when none is to be
 * had; the QP then remembers to try again.
 */
struct xroce_frame *xroce_frame_new(struct xroce_qp *qp, u8 opcode, u32 psn,
				    u8 flags, const void *ext, u32 ext_len,
				    u32 payload_len)
{
	static const u8 zero[4];
	struct xroce_av *av = &qp->av;
	u32 pad = -payload_len & 3;
	struct xroce_word xrceth;
	struct xroce_frame *f;
	struct xroce_bth bth;
	u32 ip, len, hdr;
	u8 *p;

	if (opcode != XROCE_CNP)
		opcode |= qp->hot.transport;
	hdr = av->l3_len + sizeof(bth);
	if (xroce_op_info(opcode) & XROCE_OP_XRCETH)
		hdr += sizeof(xrceth);
	len = hdr + ext_len + payload_len + pad + XROCE_ICRC_SIZE;
	f = xroce_env_frame(qp, len);
	if (!f) {
		qp->nomem = true;
		return NULL;
	}
	f->is.kind = XROCE_FRAME_REQ;
	f->is.psn = psn;
	f->is.fresh = xroce_psn_diff(psn, qp->hot.max) >= 0;
	f->l2_len = av->l2_len;
	f->bth = av->l3_len;
	f->route = av->route;
	f->prio = av->prio;
	f->ackreq = false;
	f->payload = hdr + ext_len;

	p = f->seg[0].p;
	memcpy(p - av->l2_len, av->l2, av->l2_len);
	memcpy(p, av->l3, av->l3_len);
	ip = av->l3_len - XROCE_UDP_LEN;
	if (ip == XROCE_IP4_LEN) {
		xroce_put16(p + 2, len);
		xroce_put16(p + 10, ~xroce_fold(av->csum + len));
	} else {
		xroce_put16(p + 4, len - ip);
	}
	xroce_put16(p + ip + 4, len - ip);
	if (av->len != len)
		av->crc = xroce_icrc_l3(p);
	av->len = len;
	f->crc = av->crc;

	bth.opcode = opcode;
	bth.flags = flags | XROCE_BTH_MIG | pad << 4;
	bth.pkey = cpu_to_be16(qp->pkey);
	bth.dqpn = cpu_to_be32(qp->hot.dest_qpn);
	bth.apsn = cpu_to_be32(psn);
	memcpy(p + av->l3_len, &bth, sizeof(bth));
	if (hdr != av->l3_len + sizeof(bth)) {
		xrceth.v = cpu_to_be32(qp->req.srqn);
		memcpy(p + hdr - sizeof(xrceth), &xrceth, sizeof(xrceth));
	}
	memcpy(p + hdr, ext, ext_len);
	if (pad)
		xroce_frame_write(f, f->payload + payload_len, zero, pad);
	return f;
}

/**
 * xroce_frame_icrc() - write the ICRC
 * @f: the frame, of which nothing else is to change any more
 */
void xroce_frame_icrc(struct xroce_frame *f)
{
	u8 *l3 = f->seg[0].p, *bth = l3 + f->bth;
	u8 *resv = &bth[offsetof(struct xroce_bth, dqpn)], was = *resv;
	u32 len = f->len - XROCE_ICRC_SIZE, crc;
	__le32 icrc;

	*resv = 0xff;	/* FECN, BECN, reserved: for the ICRC they are ones */
	crc = xroce_env_crc(f->crc, bth, l3 + min(len, f->seg[0].len) - bth);
	*resv = was;
	if (len > f->seg[0].len)
		crc = xroce_env_crc(crc, f->seg[1].p, len - f->seg[0].len);
	icrc = cpu_to_le32(~crc);
	xroce_frame_write(f, len, &icrc, sizeof(icrc));
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
		f->seg[0].p[f->bth + offsetof(struct xroce_bth, apsn)] |= 0x80;
	if (f->route != XROCE_ROUTE_HOST)
		xroce_frame_icrc(f);
}

/**
 * xroce_rx_icrc_ok() - is a received packet's ICRC right
 * @rx: the packet
 */
bool xroce_rx_icrc_ok(struct xroce_rx *rx)
{
	u8 head[XROCE_ICRC_HEAD_MAX];
	u32 crc, n, body;
	__le32 icrc;

	if (rx->looped)
		return true;
	n = xroce_icrc_head(head, rx->l3);
	crc = xroce_env_crc(XROCE_ICRC_SEED, head, n);
	body = rx->len - sizeof(struct xroce_bth) - XROCE_ICRC_SIZE;
	crc = xroce_env_rx_crc(rx, crc, sizeof(struct xroce_bth), body);
	xroce_env_read(rx, rx->len - XROCE_ICRC_SIZE, &icrc, sizeof(icrc));
	return le32_to_cpu(icrc) == (u32)~crc;
}
