/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the program that captures packets shares with rdmatool: what is wanted, and
 * each packet as it comes through the ring. Owns no state.
 */
#ifndef XROCE_CAPTURE_H
#define XROCE_CAPTURE_H

#include <xroce/trace.h>

#define XROCE_CAPTURE_SENT	(1 << 0)
#define XROCE_CAPTURE_RECEIVED	(1 << 1)

/**
 * struct xroce_filter - which packets are wanted
 * @opcode, @verdict: a bit for each that is
 * @peer: of this address alone, when @by_peer
 * @dev: index of the RDMA device
 * @qpn: from or for this QP alone, when @by_qp
 * @dirs: XROCE_CAPTURE_SENT, XROCE_CAPTURE_RECEIVED
 */
struct xroce_filter {
	u64 opcode[4];
	u64 verdict[4];
	u64 peer[2];
	u32 dev;
	u32 qpn;
	u8 by_qp;
	u8 by_peer;
	u8 dirs;
};

/**
 * struct xroce_captured - a packet, its bytes behind it
 * @lost: packets that found no room until now
 *
 * The other fields as in &struct xroce_packet.
 */
struct xroce_captured {
	u64 ns;
	u64 lost;
	u32 cap;
	u32 len;
	u32 qpn;
	u8 received;
	u8 verdict;
	u8 zero[2];
	u8 data[XROCE_PACKET_MAX];
};

#endif /* XROCE_CAPTURE_H */
