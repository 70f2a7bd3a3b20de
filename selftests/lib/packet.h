/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Makes RoCEv2 frames from a description, right in every field, for tests to
 * send as they are or to spoil. Written against the specification and not
 * against the headers under test. Owns no state.
 */
#ifndef XROCE_PACKET_H
#define XROCE_PACKET_H

#include <string.h>
#include <xroce/base.h>

/**
 * struct packet - what the frame is to be; 0 is the usual, see packet_make()
 * @version: 4 or 6
 * @tags: VLAN tags: 0, 1 (802.1Q), 2 (802.1ad, 802.1Q), 3 (one more)
 * @opts: bytes of IPv4 options, a multiple of 4
 * @ext: IPv6 extension headers, @n_ext next-header numbers
 * @ext_words: their length field
 * @frag: the 16 bits of IPv4 flags and fragment offset
 * @hdr: bytes of headers after the BTH
 * @payload: bytes of payload, filled with a pattern and padded to 4
 * @src, @dst: last byte of the addresses 10.77.0.x and fd77::x
 */
struct packet {
	u8 version;
	u8 tags;
	u8 opts;
	u8 ext[6];
	u8 n_ext;
	u8 ext_words;
	u16 frag;
	u8 ecn;
	u8 opcode;
	u32 qpn;
	u32 psn;
	u32 hdr;
	u32 payload;
	u8 src;
	u8 dst;
	/* Set by packet_make(). */
	u32 l3;
	u32 l4;
	u32 bth;
	u32 len;
};

/* CRC-32 of the slow kind, one bit at a time; not inverted at either end. */
static inline u32 packet_crc(u32 crc, const u8 *p, size_t n)
{
	while (n--) {
		crc ^= *p++;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return crc;
}

static inline void packet_put16(u8 *p, u32 v)
{
	p[0] = v >> 8;
	p[1] = v;
}

static inline void packet_put32(u8 *p, u32 v)
{
	packet_put16(p, v >> 16);
	packet_put16(p + 2, v);
}

static inline u32 packet_get16(const u8 *p)
{
	return p[0] << 8 | p[1];
}

static inline void packet_ip4_csum(u8 *ip)
{
	u32 sum = 0;

	packet_put16(ip + 10, 0);
	for (int i = 0; i < (ip[0] & 15) * 2; i++)
		sum += packet_get16(ip + i * 2);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	packet_put16(ip + 10, ~sum);
}

/* The ICRC of an IP packet, without options, whose UDP payload is n bytes. */
static inline u32 packet_icrc(const u8 *ip, u32 n)
{
	u8 head[60], ones[8];
	u32 len = ip[0] >> 4 == 4 ? 20 : 40;
	u32 crc;

	memset(ones, 0xff, sizeof(ones));
	memcpy(head, ip, len + 20);
	if (len == 20) {
		head[1] = 0xff;
		head[8] = 0xff;
		head[10] = 0xff;
		head[11] = 0xff;
	} else {
		head[0] = 0x6f;
		head[1] = 0xff;
		head[2] = 0xff;
		head[3] = 0xff;
		head[7] = 0xff;
	}
	head[len + 6] = 0xff;
	head[len + 7] = 0xff;
	head[len + 12] = 0xff;
	crc = packet_crc(0xffffffff, ones, 8);
	crc = packet_crc(crc, head, len + 20);
	return ~packet_crc(crc, ip + len + 20, n - 12 - 4);
}

static inline void packet_seal(u8 *ip, u32 n)
{
	u32 crc = packet_icrc(ip, n);
	u8 *p = ip + (ip[0] >> 4 == 4 ? 20 : 40) + 8 + n - 4;

	for (int i = 0; i < 4; i++)
		p[i] = crc >> i * 8;
}

static inline u8 *packet_ip4(struct packet *pk, u8 *p, u32 udp)
{
	u32 hdr = 20 + pk->opts;

	memset(p, 0, hdr);
	p[0] = 0x40 | hdr / 4;
	p[1] = pk->ecn;
	packet_put16(p + 2, hdr + udp);
	packet_put16(p + 6, pk->frag);
	p[8] = 64;
	p[9] = 17;
	memcpy(p + 12, (u8 []){ 10, 77, 0, pk->src }, 4);
	memcpy(p + 16, (u8 []){ 10, 77, 0, pk->dst }, 4);
	memset(p + 20, 1, pk->opts);	/* no-operation */
	packet_ip4_csum(p);
	return p + hdr;
}

static inline u8 *packet_ip6(struct packet *pk, u8 *p, u32 udp)
{
	u32 ext = (pk->ext_words + 1) * 8, len = udp, i;
	u8 *next = p + 6;

	memset(p, 0, 40);
	p[0] = 0x60;
	p[1] = pk->ecn << 4;
	p[7] = 64;
	memcpy(p + 8, (u8 []){ 0xfd, 0x77 }, 2);
	p[23] = pk->src;
	memcpy(p + 24, (u8 []){ 0xfd, 0x77 }, 2);
	p[39] = pk->dst;
	p += 40;
	for (i = 0; i < pk->n_ext; i++) {
		*next = pk->ext[i];
		memset(p, 0, ext);
		p[1] = pk->ext_words;
		next = p;
		p += ext;
		len += ext;
	}
	*next = 17;
	packet_put16(p - (len - udp) - 40 + 4, len);
	return p;
}

/**
 * packet_make() - write the frame
 * @pk: where it says 0: IPv4, DF, QP 17, from .1 to .2
 * @buf: room for it
 *
 * Return: its length.
 */
static inline u32 packet_make(struct packet *pk, u8 *buf)
{
	u32 pad = -pk->payload & 3;
	u32 n = 12 + pk->hdr + pk->payload + pad + 4, i;
	u8 *p = buf + 12;

	pk->version = pk->version ? pk->version : 4;
	pk->frag = pk->frag ? pk->frag : 0x4000;
	pk->qpn = pk->qpn ? pk->qpn : 17;
	pk->src = pk->src ? pk->src : 1;
	pk->dst = pk->dst ? pk->dst : 2;
	memset(buf, 0x02, 12);
	for (i = 0; i < pk->tags; i++) {
		packet_put16(p, i + 1 < pk->tags ? 0x88a8 : 0x8100);
		packet_put16(p + 2, 5 + i);
		p += 4;
	}
	packet_put16(p, pk->version == 4 ? 0x0800 : 0x86dd);
	p += 2;
	pk->l3 = p - buf;
	p = pk->version == 4 ? packet_ip4(pk, p, n + 8) :
			       packet_ip6(pk, p, n + 8);
	pk->l4 = p - buf;
	packet_put16(p, 0xc000);
	packet_put16(p + 2, 4791);
	packet_put16(p + 4, n + 8);
	packet_put16(p + 6, 0);
	p += 8;
	pk->bth = p - buf;
	p[0] = pk->opcode;
	p[1] = 0x40 | pad << 4;
	packet_put16(p + 2, 0xffff);
	packet_put32(p + 4, pk->qpn);
	packet_put32(p + 8, pk->psn);
	p += 12;
	for (i = 0; i < pk->hdr + pk->payload; i++)
		p[i] = 0x30 + i * 7;
	memset(p + i, 0, pad + 4);
	pk->len = pk->bth + n;
	if (pk->l4 - pk->l3 == (pk->version == 4 ? 20 : 40))
		packet_seal(buf + pk->l3, n);
	return pk->len;
}

#endif /* XROCE_PACKET_H */
