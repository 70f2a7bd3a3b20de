/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * RoCEv2 on the wire: headers as they stand in a packet, opcodes, syndromes and
 * 24-bit sequence numbers. Pure definitions, for every room.
 * Sources: IBTA Architecture Specification 1.7 vol. 1, ch. 9; Annex A17.
 */
#ifndef XROCE_WIRE_H
#define XROCE_WIRE_H

#include <xroce/base.h>

#define XROCE_UDP_PORT		4791
#define XROCE_ICRC_SIZE		4
#define XROCE_QPN_MASK		0xffffffu
#define XROCE_PSN_MASK		0xffffffu
#define XROCE_PSN_NONE		0xffffffffu	/* no PSN */
#define XROCE_PKEY_DEFAULT	0xffff
#define XROCE_MAX_MSG		0x80000000u
#define XROCE_GSI_QPN		1
#define XROCE_MCAST_QPN		0xffffffu
/* In front of the BTH; an IP header with options is none of a QP's */
#define XROCE_IP4_LEN		20
#define XROCE_IP6_LEN		40
#define XROCE_UDP_LEN		8
/* The most that BTH and the headers after it take: XRC atomic, 12 + 4 + 28. */
#define XROCE_MAX_HDR		44

static __always_inline u32 xroce_l3_len(const u8 *l3)
{
	return *l3 >> 4 == 4 ? XROCE_IP4_LEN : XROCE_IP6_LEN;
}

struct xroce_bth {
	u8 opcode;
	u8 flags;		/* SE 80, MigReq 40, PadCnt 30, TVer 0f */
	__be16 pkey;
	__be32 dqpn;		/* FECN, BECN, 6 reserved bits, DestQP */
	__be32 apsn;		/* AckReq, 7 reserved bits, PSN */
} __xroce_wire;

#define XROCE_BTH_SE		0x80
#define XROCE_BTH_MIG		0x40
#define XROCE_BTH_PAD(flags)	(((flags) >> 4) & 3)
#define XROCE_BTH_TVER(flags)	((flags) & 0xf)
#define XROCE_BTH_BECN		0x40000000u
#define XROCE_BTH_ACKREQ	0x80000000u

struct xroce_reth {
	__be64 va;
	__be32 rkey;
	__be32 len;
} __xroce_wire;

struct xroce_atomiceth {
	__be64 va;
	__be32 rkey;
	__be64 swap_add;
	__be64 compare;
} __xroce_wire;

struct xroce_aeth {
	__be32 smsn;		/* syndrome, MSN */
} __xroce_wire;

struct xroce_deth {
	__be32 qkey;
	__be32 sqpn;
} __xroce_wire;

/* An immediate, an R_Key, an XRCETH; an atomic's original value. */
struct xroce_word {
	__be32 v;
} __xroce_wire;

struct xroce_atomicacketh {
	__be64 orig;
} __xroce_wire;

/* Transports: the upper three bits of the opcode. */
#define XROCE_RC		0x00
#define XROCE_UC		0x20
#define XROCE_RD		0x40
#define XROCE_UD		0x60
#define XROCE_XRC		0xa0
#define XROCE_TRANSPORT(op)	((op) & 0xe0)
#define XROCE_OP_MASK		0x1f
#define XROCE_CNP		0x81
#define XROCE_CNP_TOS		0xc0	/* DSCP 48, as NICs send it; not to be marked */
#define XROCE_CNP_PRIO		6	/* the priority of its VLAN's tag, as theirs */

/* The lower five bits. */
enum xroce_opcode {
	XROCE_SEND_FIRST	= 0x00,
	XROCE_SEND_MIDDLE	= 0x01,
	XROCE_SEND_LAST		= 0x02,
	XROCE_SEND_LAST_IMM	= 0x03,
	XROCE_SEND_ONLY		= 0x04,
	XROCE_SEND_ONLY_IMM	= 0x05,
	XROCE_WRITE_FIRST	= 0x06,
	XROCE_WRITE_MIDDLE	= 0x07,
	XROCE_WRITE_LAST	= 0x08,
	XROCE_WRITE_LAST_IMM	= 0x09,
	XROCE_WRITE_ONLY	= 0x0a,
	XROCE_WRITE_ONLY_IMM	= 0x0b,
	XROCE_READ_REQ		= 0x0c,
	XROCE_READ_RESP_FIRST	= 0x0d,
	XROCE_READ_RESP_MIDDLE	= 0x0e,
	XROCE_READ_RESP_LAST	= 0x0f,
	XROCE_READ_RESP_ONLY	= 0x10,
	XROCE_ACK		= 0x11,
	XROCE_ATOMIC_ACK	= 0x12,
	XROCE_CMP_SWAP		= 0x13,
	XROCE_FETCH_ADD		= 0x14,
	XROCE_SEND_LAST_INV	= 0x16,
	XROCE_SEND_ONLY_INV	= 0x17,
	XROCE_FLUSH		= 0x1c,	/* Annex A19 */
	XROCE_ATOMIC_WRITE	= 0x1d,
};

/* FETH, Annex A19.4: what is to be reached, and of how much. */
#define XROCE_FLUSH_GLOBAL	(1 << 0)
#define XROCE_FLUSH_PERSISTENT	(1 << 1)
#define XROCE_FETH_PLT		0x0f
#define XROCE_FETH_SEL_SHIFT	4
#define XROCE_FETH_SEL		3	/* two bits; the others are reserved */
#define XROCE_FLUSH_RANGE	0
#define XROCE_FLUSH_MR		1

/* AETH syndromes, IBTA 9.7.5.2.1. */
#define XROCE_AETH_TYPE		0x60
#define XROCE_AETH_ACK		0x00
#define XROCE_AETH_RNR		0x20
#define XROCE_AETH_NAK		0x60
#define XROCE_AETH_VALUE	0x1f
#define XROCE_AETH_NO_CREDIT	0x1f	/* end-to-end credits not used */

#define XROCE_NAK_PSN		0x60
#define XROCE_NAK_INV_REQ	0x61
#define XROCE_NAK_REM_ACCESS	0x62
#define XROCE_NAK_REM_OP	0x63
#define XROCE_NAK_INV_RD	0x64

static __always_inline u32 xroce_psn_add(u32 psn, u32 n)
{
	return (psn + n) & XROCE_PSN_MASK;
}

/**
 * xroce_psn_diff() - signed distance from @b to @a in the 24-bit circle
 *
 * Return: -2^23 .. 2^23 - 1; negative when @a is before @b.
 */
static __always_inline s32 xroce_psn_diff(u32 a, u32 b)
{
	return (s32)((a - b) << 8) >> 8;
}

/* What an RNR timer code stands for, in units of 10 us (IBTA 9.7.5.2.8). */
static __always_inline u32 xroce_rnr_10us(u8 code)
{
	static const u32 time[32] = {
		65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256,
		384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384,
		24576, 32768, 49152,
	};

	return time[code & XROCE_AETH_VALUE];
}

#endif /* XROCE_WIRE_H */
