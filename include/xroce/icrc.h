/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The head of a RoCEv2 packet's invariant CRC (IBTA 7.8.1, Annex A17.3.3): what
 * stands before the variable part, with the fields that routers change set to
 * ones. To make the CRC of it is the includer's.
 */
#ifndef XROCE_ICRC_H
#define XROCE_ICRC_H

#include <xroce/wire.h>

/* CRC register (not inverted) after the 8 bytes of ones in the LRH's place. */
#define XROCE_ICRC_SEED		0xdebb20e3u
/* The same when all has been taken in, and the right ICRC behind it. */
#define XROCE_ICRC_GOOD		0xdebb20e3u
/* The longest head: IPv6, UDP, BTH. IPv4 options are never ours: refused. */
#define XROCE_ICRC_HEAD_MAX	(40 + 8 + 12)

/**
 * xroce_icrc_head() - copy IP, UDP and BTH with the variant fields masked
 * @buf: XROCE_ICRC_HEAD_MAX bytes; CRC them first, seed XROCE_ICRC_SEED
 * @l3: the IPv4 (20 bytes) or IPv6 (40 bytes) header, then UDP, then BTH
 *
 * Return: bytes put in @buf: 40 or 60.
 */
static __always_inline u32 xroce_icrc_head(u8 *buf, const u8 *l3)
{
	u32 ip = xroce_l3_len(l3);

	if (ip == XROCE_IP4_LEN) {
		__builtin_memcpy(buf, l3, 40);
		buf[1] = 0xff;			/* TOS */
		buf[8] = 0xff;			/* TTL */
		buf[10] = 0xff;			/* header checksum */
		buf[11] = 0xff;
	} else {
		__builtin_memcpy(buf, l3, 60);
		buf[0] |= 0x0f;			/* traffic class, flow label */
		buf[1] = 0xff;
		buf[2] = 0xff;
		buf[3] = 0xff;
		buf[7] = 0xff;			/* hop limit */
	}
	buf[ip + 6] = 0xff;			/* UDP checksum */
	buf[ip + 7] = 0xff;
	buf[ip + 8 + 4] = 0xff;			/* FECN, BECN, reserved */
	return ip + 20;
}

#endif /* XROCE_ICRC_H */
