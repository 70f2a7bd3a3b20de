/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A packet as the module's tracepoints show it, for BPF programs on them: those
 * find fields by name in the module's BTF. Owns no state.
 */
#ifndef XROCE_TRACE_PACKET_H
#define XROCE_TRACE_PACKET_H

#include <xroce/base.h>

/* A frame of the largest RoCE MTU with all its headers is shorter. */
#define XROCE_PACKET_MAX	4352

/* Verdicts from here on are &enum xroce_xdp_stat: the XDP program dropped it. */
#define XROCE_VERDICT_XDP	0x80

#ifdef __bpf__
#pragma clang attribute push(__attribute__((preserve_access_index)), \
			     apply_to = record)
#endif

/**
 * struct xroce_packet - a packet sent or received
 * @ns: CLOCK_REALTIME
 * @data: its frame from the Ethernet header to the ICRC, in kernel memory; NULL
 *	when there was no memory to copy it to
 * @cap: bytes at @data
 * @len: bytes of the frame; more than @cap only above XROCE_PACKET_MAX
 * @dev: index of the RDMA device
 * @qpn: our QP, or for what was received whom it asks for
 * @dqpn, @psn, @opcode: from its BTH; 0 when there is none
 * @peer: address of the other side, as a GID
 * @received: or else sent
 * @verdict: the counter that it went to: &enum xroce_counter
 * @name: of the RDMA device
 */
struct xroce_packet {
	u64 ns;
	const u8 *data;
	u32 cap;
	u32 len;
	u32 dev;
	u32 qpn;
	u32 dqpn;
	u32 psn;
	u8 peer[16];
	u8 opcode;
	u8 received;
	u8 verdict;
	const char *name;
};

#ifdef __bpf__
#pragma clang attribute pop
#endif

#endif /* XROCE_TRACE_PACKET_H */
