/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Packets that begin as one before. From the IP header to the PSN those of a QP, of
 * one kind and length, are mostly the same bytes; and what follows from these alone is
 * kept with them: their CRC, what the parser says of them, that IP and UDP are right.
 * What follows from anything else is found out for each packet: how long its frame is
 * and what stands before IP, whose QP and link it is for, and all from the PSN on. So
 * nothing here is made wrong by what changes. Pure functions; the state is a CPU's.
 */
#ifndef XROCE_KNOWN_H
#define XROCE_KNOWN_H

#include <xroce/icrc.h>
#include <xroce/parse.h>

#define XROCE_KNOWN		128	/* a power of two: 12 KiB */

/**
 * struct xroce_known - how a packet began
 * @head: from the IP header to the end of the BTH
 * @crc: the ICRC of that up to the PSN
 * @pkt: what the parser said of it: of &struct xroce_pkt what is before @psn
 * @len: bytes from the BTH to the ICRC; 0: only @crc is to be used
 * @whole: bytes from the IP header on that a frame must have, by that header, where
 *	such a frame's headers and checksums were found right; else 0
 */
struct xroce_known {
	u8 head[64];
	u32 crc;
	u32 pkt[offsetof(struct xroce_pkt, psn) / sizeof(u32)];
	u32 len;
	u32 whole;
};

/* 0 if the eight bytes at @i are the same. */
static __always_inline u64 xroce_differ(const u8 *a, const u8 *b, u32 i)
{
	u64 x, y;

	__builtin_memcpy(&x, a + i, sizeof(x));
	__builtin_memcpy(&y, b + i, sizeof(y));
	return x ^ y;
}

/* Where what has this BTH is, if it is known. */
static __always_inline struct xroce_known *xroce_known_slot(struct xroce_known *known,
							    const u8 *bth)
{
	return known + (bth[0] ^ bth[7]) % XROCE_KNOWN;
}

/* Where IPv4 has an identification, of each packet another, none begins so again. */
static __always_inline bool xroce_may_recur(const u8 *l3)
{
	return l3[0] >> 4 != 4 || !(l3[4] | l3[5]);
}

/**
 * xroce_known_find() - what is known of packets that begin so, but for the PSN
 * @known: this CPU's
 * @l3: the IP header, which says of itself whether it is IPv4 or IPv6
 * @bth: the BTH, of which all may be read
 *
 * Return: that, or NULL.
 */
static __always_inline const struct xroce_known *
xroce_known_find(struct xroce_known *known, const u8 *l3, const u8 *bth)
{
	const struct xroce_known *k = xroce_known_slot(known, bth);
	u64 differ;

	differ = xroce_differ(k->head, l3, 0) | xroce_differ(k->head, l3, 8) |
		 xroce_differ(k->head, l3, 16) | xroce_differ(k->head, l3, 24);
	differ |= l3[0] >> 4 == 4 ? xroce_differ(k->head, l3, 28) :
		  xroce_differ(k->head, l3, 32) |
		  xroce_differ(k->head, l3, 40) | xroce_differ(k->head, l3, 48);
	return differ ? NULL : k;
}

/**
 * xroce_known_parse() - parse what is not known of a packet that begins so
 * @k: what is
 * @pkt: filled in
 * @bth: its BTH, of @k->len bytes to the ICRC
 *
 * Return: true, as the parser said of one of these.
 */
static __always_inline bool xroce_known_parse(const struct xroce_known *k,
					      struct xroce_pkt *pkt, const u8 *bth)
{
	u32 len = k->len < XROCE_MAX_HDR ? k->len : XROCE_MAX_HDR;

	__builtin_memcpy(pkt, k->pkt, sizeof(k->pkt));
	return !xroce_parse_rest(pkt, bth, bth + len);
}

#endif /* XROCE_KNOWN_H */
