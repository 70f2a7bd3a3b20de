/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the XDP program shares with whoever loads it: its counters, and the maps
 * that stand in for the module where there is none.
 */
#ifndef XROCE_XDP_H
#define XROCE_XDP_H

#include <xroce/base.h>

/*
 * Each frame is counted once: X(symbol, name, meaning). The index is the key in
 * the map xroce_stats.
 */
#define XROCE_XDP_STATS(X) \
	X(OTHER, pass_other, "not RoCEv2, or an IP fragment") \
	X(NOT_OURS, pass_not_ours, "RoCEv2 for an address that is not a GID here") \
	X(OPTS, pass_options, "IPv4 options or IPv6 extension headers") \
	X(SPLIT, pass_split, "headers not in the frame's first buffer") \
	X(NO_QP, pass_no_qp, "no such QP, left to the module to count and drop") \
	X(STAY, pass_here, "left to the stack on this CPU") \
	X(STEERED, steered, "sent to the QP's CPU") \
	X(STEER_MISS, steer_miss, "the QP's CPU takes no packets: stayed here") \
	X(FAST, fast, "for a QP, dealt with by the program") \
	X(TAKEN, taken, "for a QP, dealt with by the core where they were") \
	X(DROP_TRUNC, drop_truncated, "IP packet longer than the frame") \
	X(DROP_UDP_LEN, drop_udp_length, "UDP length against the IP length") \
	X(DROP_SHORT, drop_short, "shorter than their headers, pad and ICRC") \
	X(DROP_OPCODE, drop_opcode, "opcode undefined") \
	X(DROP_TVER, drop_tver, "transport version not 0") \
	X(DROP_LENGTH, drop_length, "payload where none may be, or all of it pad") \
	X(DROP_POLICY, drop_policy, "for a QP, and a policy did not want it")

enum xroce_xdp_stat {
#define XROCE_XDP_ENUM(sym, name, text) XROCE_XDP_##sym,
	XROCE_XDP_STATS(XROCE_XDP_ENUM)
#undef XROCE_XDP_ENUM
	XROCE_XDP_STAT_MAX
};

/* What bpf_xroce_cpu() and the map xroce_qps say beside a CPU. */
#define XROCE_XDP_CPU_STAY	(-1)
#define XROCE_XDP_CPU_NO_QP	(-2)

/* What bpf_xroce_begin() says beside a CPU. */
#define XROCE_XDP_RX_LEFT	(-1)
#define XROCE_XDP_RX_TAKEN	(-2)

/* What bpf_xroce_end() is told. */
#define XROCE_PASS_CORE		0
#define XROCE_PASS_DONE		1
#define XROCE_PASS_DROP		2

/**
 * struct xroce_xdp_addr - whom a frame is for
 * @ifindex: the netdev it came by
 * @gid: destination address, IPv4 as ::ffff:a.b.c.d
 * @mac: destination MAC
 * @zero: nothing
 *
 * What bpf_xroce_addr() is asked about, and the key of the map xroce_addrs.
 */
struct xroce_xdp_addr {
	u32 ifindex;
	u8 gid[16];
	u8 mac[6];
	u8 zero[2];
};

#endif /* XROCE_XDP_H */
