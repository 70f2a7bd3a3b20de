/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the module and rdmatool both know of links: which version they are, what fits
 * into a netdev's MTU, and what a link's keys are until they are set. Owns no state.
 */
#ifndef XROCE_LINK_H
#define XROCE_LINK_H

#include <xroce/base.h>

#define XROCE_VERSION		"0.1.0"
#define XROCE_FW_VERSION	(0ull << 32 | 1u << 16 | 0)	/* the same as a number */

/* More than a network holds in flight is only loss: a window of packets. */
#define XROCE_CWND_INIT		64
#define XROCE_CWND_MAX		1024
#define XROCE_CNP_GAP		50000	/* ns */

/* IPv6, UDP, BTH, XRCETH, RETH, immediate and ICRC around a payload. */
#define XROCE_OVERHEAD		(40 + 8 + 12 + 4 + 16 + 4 + 4)

/**
 * xroce_mtu_of() - the largest path MTU that a netdev's has room for
 * @room: the netdev's, bytes
 *
 * Return: bytes, 0 when not even the smallest fits.
 */
static inline u32 xroce_mtu_of(u32 room)
{
	u32 mtu;

	for (mtu = 4096; mtu >= 256; mtu /= 2)
		if (mtu + XROCE_OVERHEAD <= room)
			return mtu;
	return 0;
}

#endif /* XROCE_LINK_H */
