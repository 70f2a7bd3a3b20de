/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What stands around a RoCEv2 packet in an Ethernet frame: VLAN tags, IPv4 or
 * IPv6, UDP (IBTA Annex A17.3). Pure functions over a linear buffer, for BPF,
 * the decoder and the tests; own no state. parse.h goes on from the BTH.
 */
#ifndef XROCE_FRAME_H
#define XROCE_FRAME_H

#include <xroce/wire.h>

#define XROCE_ETH_P_IP		0x0800
#define XROCE_ETH_P_IPV6	0x86dd
#define XROCE_ETH_P_8021Q	0x8100
#define XROCE_ETH_P_8021AD	0x88a8
#define XROCE_IP_TCP		6
#define XROCE_IP_UDP		17
#define XROCE_IP6_HOPOPTS	0
#define XROCE_IP6_ROUTING	43
#define XROCE_IP6_DSTOPTS	60

/* IPv6 extension headers followed; a packet with more is left to the stack. */
#define XROCE_IP6_EXT_MAX	4

enum xroce_encap_is {
	XROCE_ENCAP_OTHER,	/* not RoCEv2, or the IP stack's to reassemble */
	XROCE_ENCAP_ROCE,
	XROCE_ENCAP_TRUNC,	/* RoCEv2; the IP packet is longer than the frame */
	XROCE_ENCAP_UDP_LEN,	/* RoCEv2; UDP is longer than IP, or than itself */
};

/**
 * struct xroce_encap - where things stand in a RoCEv2 frame
 * @l3: the IP header
 * @l4: the UDP header
 * @bth: what UDP carries; may lie past the end of the linear bytes
 * @ip_len: bytes from @l4 on, as IP says
 * @len: bytes of @bth: up to and including the ICRC; XROCE_ENCAP_ROCE only
 * @version: 4 or 6
 * @ecn: the two ECN bits
 * @opts: there are IPv4 options or IPv6 extension headers: no QP of ours speaks
 *	so, and the ICRC does not expect them
 */
struct xroce_encap {
	const u8 *l3;
	const u8 *l4;
	const u8 *bth;
	u32 ip_len;
	u32 len;
	u8 version;
	u8 ecn;
	bool opts;
};

static __always_inline u32 xroce_get16(const u8 *p)
{
	__be16 v;

	__builtin_memcpy(&v, xroce_aligned(p, 2), sizeof(v));
	return be16_to_cpu(v);
}

/**
 * xroce_l3_gid() - an address in an IP header, as a GID
 * @l3: the header
 * @version: 4 or 6, as it says itself
 * @i: 0: whom the packet comes from, 1: whom it is for
 * @gid: the address, IPv4 as ::ffff:a.b.c.d
 */
static __always_inline void xroce_l3_gid(const u8 *l3, u8 version, u32 i,
					 u8 gid[16])
{
	if (version == 4) {
		__builtin_memset(gid, 0, 10);
		gid[10] = 0xff;
		gid[11] = 0xff;
		__builtin_memcpy(gid + 12, xroce_aligned(l3 + 12 + 4 * i, 4), 4);
	} else {
		__builtin_memcpy(gid, xroce_aligned(l3 + 8 + 16 * i, 4), 16);
	}
}

/**
 * xroce_encap_sgid() - the address that a packet comes from, as a GID
 * @e: the packet, which is not XROCE_ENCAP_OTHER
 * @gid: the address, IPv4 as ::ffff:a.b.c.d
 */
static __always_inline void xroce_encap_sgid(const struct xroce_encap *e,
					     u8 gid[16])
{
	xroce_l3_gid(e->l3, e->version, 0, gid);
}

/**
 * xroce_encap_dgid() - the address that it is for
 * @e: the packet, which is not XROCE_ENCAP_OTHER
 * @gid: the address
 */
static __always_inline void xroce_encap_dgid(const struct xroce_encap *e,
					     u8 gid[16])
{
	xroce_l3_gid(e->l3, e->version, 1, gid);
}

/* UDP at p, where IP says that ip_len bytes follow and room are there. */
static __always_inline enum xroce_encap_is
xroce_encap_udp(struct xroce_encap *e, const u8 *p, const u8 *end, u32 ip_len,
		u32 room)
{
	u32 len;

	if (p + 8 > end)
		return XROCE_ENCAP_OTHER;
	if (xroce_get16(p + 2) != XROCE_UDP_PORT)
		return XROCE_ENCAP_OTHER;
	e->l4 = p;
	e->bth = p + 8;
	e->ip_len = ip_len;
	if (ip_len > room)
		return XROCE_ENCAP_TRUNC;
	len = xroce_get16(p + 4);
	if (len < 8 || len > ip_len)
		return XROCE_ENCAP_UDP_LEN;
	e->len = len - 8;
	return XROCE_ENCAP_ROCE;
}

static __always_inline enum xroce_encap_is
xroce_encap_ip4(struct xroce_encap *e, const u8 *p, const u8 *end, u32 room)
{
	u32 hdr, len;

	if (p + 20 > end || p[0] >> 4 != 4)
		return XROCE_ENCAP_OTHER;
	hdr = (p[0] & 0xf) * 4;
	len = xroce_get16(p + 2);
	if (hdr < 20 || len < hdr || room < hdr || p[9] != XROCE_IP_UDP)
		return XROCE_ENCAP_OTHER;
	/* More fragments, or not the first: UDP may not even be here. */
	if (xroce_get16(p + 6) & 0x3fff)
		return XROCE_ENCAP_OTHER;
	e->l3 = p;
	e->version = 4;
	e->ecn = p[1] & 3;
	e->opts = hdr != 20;
	return xroce_encap_udp(e, p + hdr, end, len - hdr, room - hdr);
}

static __always_inline enum xroce_encap_is
xroce_encap_ip6(struct xroce_encap *e, const u8 *p, const u8 *end, u32 room)
{
	u32 next, len, hdr, i;

	if (p + 40 > end || p[0] >> 4 != 6 || room < 40)
		return XROCE_ENCAP_OTHER;
	e->l3 = p;
	e->version = 6;
	e->ecn = (p[1] >> 4) & 3;
	e->opts = false;
	/* A jumbogram says 0 here: its first extension header does not fit. */
	len = xroce_get16(p + 4);
	next = p[6];
	p += 40;
	room -= 40;

	for (i = 0; i < XROCE_IP6_EXT_MAX && next != XROCE_IP_UDP; i++) {
		/* Fragments and all that is unknown end here. */
		if (next != XROCE_IP6_HOPOPTS && next != XROCE_IP6_ROUTING &&
		    next != XROCE_IP6_DSTOPTS)
			return XROCE_ENCAP_OTHER;
		if (p + 8 > end)
			return XROCE_ENCAP_OTHER;
		/* Segments left: the destination is not the last one yet. */
		if (next == XROCE_IP6_ROUTING && p[3])
			return XROCE_ENCAP_OTHER;
		next = p[0];
		hdr = (p[1] + 1) * 8;
		if (hdr > len || hdr > room)
			return XROCE_ENCAP_OTHER;
		p += hdr;
		len -= hdr;
		room -= hdr;
		e->opts = true;
	}
	if (next != XROCE_IP_UDP)
		return XROCE_ENCAP_OTHER;
	return xroce_encap_udp(e, p, end, len, room);
}

/**
 * xroce_encap_ip() - look at an IP packet
 * @e: filled in as far as the verdict needs
 * @p: the IP header
 * @end: end of the linear bytes
 * @room: bytes from @p to the end of the frame, linear or not
 *
 * Return: &enum xroce_encap_is. A packet whose headers are not all linear is
 * XROCE_ENCAP_OTHER.
 */
static __always_inline enum xroce_encap_is
xroce_encap_ip(struct xroce_encap *e, const u8 *p, const u8 *end, u32 room)
{
	if (p + 1 > end)
		return XROCE_ENCAP_OTHER;
	if (p[0] >> 4 == 4)
		return xroce_encap_ip4(e, p, end, room);
	return xroce_encap_ip6(e, p, end, room);
}

/**
 * xroce_encap_parse() - look at an Ethernet frame
 * @e: filled in as far as the verdict needs
 * @p: the frame
 * @end: end of the linear bytes
 * @total: bytes of the frame, linear or not
 *
 * Return: &enum xroce_encap_is. XROCE_ENCAP_OTHER is left alone; the rest is
 * judged only when xroce_encap_dgid() is an address of ours.
 */
static __always_inline enum xroce_encap_is
xroce_encap_parse(struct xroce_encap *e, const u8 *p, const u8 *end, u32 total)
{
	u32 type, i;

	if (p + 14 > end || total < 14)
		return XROCE_ENCAP_OTHER;
	type = xroce_get16(p + 12);
	p += 14;
	total -= 14;
	for (i = 0; i < 2; i++) {
		if (type != XROCE_ETH_P_8021Q && type != XROCE_ETH_P_8021AD)
			break;
		if (p + 4 > end || total < 4)
			return XROCE_ENCAP_OTHER;
		type = xroce_get16(p + 2);
		p += 4;
		total -= 4;
	}
	if (type == XROCE_ETH_P_IP)
		return xroce_encap_ip4(e, p, end, total);
	if (type == XROCE_ETH_P_IPV6)
		return xroce_encap_ip6(e, p, end, total);
	return XROCE_ENCAP_OTHER;
}

#endif /* XROCE_FRAME_H */
