/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What each of the 256 BTH opcodes is: message kind, place in the message and
 * the headers that follow (IBTA 9.2, tables 38 and following). Pure functions.
 */
#ifndef XROCE_OPCODE_H
#define XROCE_OPCODE_H

#include <xroce/wire.h>

enum xroce_op_flags {
	XROCE_OP_SEND		= 1 << 0,
	XROCE_OP_WRITE		= 1 << 1,
	XROCE_OP_READ		= 1 << 2,
	XROCE_OP_ATOMIC		= 1 << 3,
	XROCE_OP_READ_RESP	= 1 << 4,
	XROCE_OP_ACK		= 1 << 5,
	XROCE_OP_ATOMIC_ACK	= 1 << 6,
	XROCE_OP_CNP		= 1 << 7,
	XROCE_OP_FIRST		= 1 << 8,	/* begins a message */
	XROCE_OP_LAST		= 1 << 9,	/* ends a message */
	XROCE_OP_PAYLOAD	= 1 << 10,	/* may carry payload */
	XROCE_OP_RETH		= 1 << 11,
	XROCE_OP_AETH		= 1 << 12,
	XROCE_OP_IMM		= 1 << 13,
	XROCE_OP_INV		= 1 << 14,	/* IETH */
	XROCE_OP_DETH		= 1 << 15,
	XROCE_OP_XRCETH		= 1 << 16,
	XROCE_OP_FLUSH		= 1 << 17,	/* FETH */
	XROCE_OP_ATOMIC_WRITE	= 1 << 18,
};

#define XROCE_OP_REQUEST	(XROCE_OP_SEND | XROCE_OP_WRITE | \
				 XROCE_OP_READ | XROCE_OP_ATOMIC | \
				 XROCE_OP_FLUSH | XROCE_OP_ATOMIC_WRITE)
#define XROCE_OP_RESPONSE	(XROCE_OP_READ_RESP | XROCE_OP_ACK | \
				 XROCE_OP_ATOMIC_ACK)
#define XROCE_OP_ONLY		(XROCE_OP_FIRST | XROCE_OP_LAST)

#define XROCE_T_S	(XROCE_OP_SEND | XROCE_OP_PAYLOAD)
#define XROCE_T_W	(XROCE_OP_WRITE | XROCE_OP_PAYLOAD)
#define XROCE_T_R	(XROCE_OP_READ_RESP | XROCE_OP_PAYLOAD)
static const u32 xroce_op_tab[32] = {
	[XROCE_SEND_FIRST]	= XROCE_T_S | XROCE_OP_FIRST,
	[XROCE_SEND_MIDDLE]	= XROCE_T_S,
	[XROCE_SEND_LAST]	= XROCE_T_S | XROCE_OP_LAST,
	[XROCE_SEND_LAST_IMM]	= XROCE_T_S | XROCE_OP_LAST | XROCE_OP_IMM,
	[XROCE_SEND_ONLY]	= XROCE_T_S | XROCE_OP_ONLY,
	[XROCE_SEND_ONLY_IMM]	= XROCE_T_S | XROCE_OP_ONLY | XROCE_OP_IMM,
	[XROCE_WRITE_FIRST]	= XROCE_T_W | XROCE_OP_FIRST | XROCE_OP_RETH,
	[XROCE_WRITE_MIDDLE]	= XROCE_T_W,
	[XROCE_WRITE_LAST]	= XROCE_T_W | XROCE_OP_LAST,
	[XROCE_WRITE_LAST_IMM]	= XROCE_T_W | XROCE_OP_LAST | XROCE_OP_IMM,
	[XROCE_WRITE_ONLY]	= XROCE_T_W | XROCE_OP_ONLY | XROCE_OP_RETH,
	[XROCE_WRITE_ONLY_IMM]	= XROCE_T_W | XROCE_OP_ONLY | XROCE_OP_RETH |
				  XROCE_OP_IMM,
	[XROCE_READ_REQ]	= XROCE_OP_READ | XROCE_OP_ONLY | XROCE_OP_RETH,
	[XROCE_READ_RESP_FIRST]	= XROCE_T_R | XROCE_OP_FIRST | XROCE_OP_AETH,
	[XROCE_READ_RESP_MIDDLE] = XROCE_T_R,
	[XROCE_READ_RESP_LAST]	= XROCE_T_R | XROCE_OP_LAST | XROCE_OP_AETH,
	[XROCE_READ_RESP_ONLY]	= XROCE_T_R | XROCE_OP_ONLY | XROCE_OP_AETH,
	[XROCE_ACK]		= XROCE_OP_ACK | XROCE_OP_ONLY | XROCE_OP_AETH,
	[XROCE_ATOMIC_ACK]	= XROCE_OP_ATOMIC_ACK | XROCE_OP_ONLY |
				  XROCE_OP_AETH,
	[XROCE_CMP_SWAP]	= XROCE_OP_ATOMIC | XROCE_OP_ONLY,
	[XROCE_FETCH_ADD]	= XROCE_OP_ATOMIC | XROCE_OP_ONLY,
	[XROCE_SEND_LAST_INV]	= XROCE_T_S | XROCE_OP_LAST | XROCE_OP_INV,
	[XROCE_SEND_ONLY_INV]	= XROCE_T_S | XROCE_OP_ONLY | XROCE_OP_INV,
	[XROCE_FLUSH]		= XROCE_OP_FLUSH | XROCE_OP_ONLY |
				  XROCE_OP_RETH,
	[XROCE_ATOMIC_WRITE]	= XROCE_OP_ATOMIC_WRITE | XROCE_OP_ONLY |
				  XROCE_OP_RETH | XROCE_OP_PAYLOAD,
};

#undef XROCE_T_S
#undef XROCE_T_W
#undef XROCE_T_R

/**
 * xroce_op_info() - what an opcode is
 * @opcode: any byte
 *
 * Return: &enum xroce_op_flags, or 0 for an opcode that no transport defines.
 */
static __always_inline u32 xroce_op_info(u8 opcode)
{
	u32 info = xroce_op_tab[opcode & XROCE_OP_MASK];

	switch (XROCE_TRANSPORT(opcode)) {
	case XROCE_RC:
		return info;
	case XROCE_XRC:
		/* Only requests name an SRQ (Annex A14). */
		return info & XROCE_OP_REQUEST ? info | XROCE_OP_XRCETH : info;
	case XROCE_UC:
		if ((opcode & XROCE_OP_MASK) > XROCE_WRITE_ONLY_IMM)
			return 0;
		return info;
	case XROCE_UD:
		if ((info & (XROCE_OP_SEND | XROCE_OP_ONLY | XROCE_OP_INV)) !=
		    (XROCE_OP_SEND | XROCE_OP_ONLY))
			return 0;
		return info | XROCE_OP_DETH;
	}
	return opcode == XROCE_CNP ? XROCE_OP_CNP | XROCE_OP_ONLY : 0;
}

#endif /* XROCE_OPCODE_H */
