/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Frames of every kind, and what is to become of each: one list for the C
 * parser and for the XDP program. In the tests that use it 10.77.0.2 and
 * fd77::2 are addresses of ours and QP 17 exists.
 */
#ifndef XROCE_CASES_H
#define XROCE_CASES_H

#include <xroce/frame.h>
#include <xroce/parse.h>
#include <xroce/xdp.h>
#include <packet.h>

#define FRAME_MAX 16384

enum frame_part { ETH, L3, L4, BTH };

/**
 * struct frame_case - a frame made by @pk, then spoilt
 * @edit: up to three fields to set: @n bytes (1 or 2) at @off of @part
 * @cut: bytes cut off its end, negative to add some
 * @is: what xroce_encap_parse() says
 * @stat: what the XDP program counts it as
 */
struct frame_case {
	const char *name;
	struct packet pk;
	struct {
		enum frame_part part;
		u8 n;
		u16 off;
		u16 v;
	} edit[3];
	int cut;
	enum xroce_encap_is is;
	enum xroce_xdp_stat stat;
};

#define ROCE(s)		.is = XROCE_ENCAP_ROCE, .stat = XROCE_XDP_##s
#define OTHER		.is = XROCE_ENCAP_OTHER, .stat = XROCE_XDP_OTHER
#define TRUNC		.is = XROCE_ENCAP_TRUNC, .stat = XROCE_XDP_DROP_TRUNC
#define UDP_LEN		.is = XROCE_ENCAP_UDP_LEN, .stat = XROCE_XDP_DROP_UDP_LEN

static const struct frame_case frame_cases[] = {
	/* What there is between Ethernet and UDP */
	{ "IPv4", { .payload = 64 }, ROCE(STAY) },
	{ "IPv6", { .version = 6, .payload = 64 }, ROCE(STAY) },
	{ "802.1Q", { .tags = 1, .payload = 64 }, ROCE(STAY) },
	{ "802.1Q, IPv6", { .tags = 1, .version = 6 }, ROCE(STAY) },
	{ "802.1ad and 802.1Q", { .tags = 2 }, ROCE(STAY) },
	{ "802.1ad and 802.1Q, IPv6", { .tags = 2, .version = 6 }, ROCE(STAY) },
	{ "three tags", { .tags = 3 }, OTHER },
	{ "ECN, DSCP and TTL", { .ecn = 3 },
	  .edit = { { L3, 1, 1, 0xff }, { L3, 1, 8, 1 } }, ROCE(STAY) },
	{ "ECN, IPv6", { .version = 6, .ecn = 1 }, ROCE(STAY) },
	{ "MTU 4096", { .payload = 4096 }, ROCE(STAY) },
	{ "MTU 4096, IPv6, tags", { .payload = 4096, .version = 6, .tags = 2 },
	  ROCE(STAY) },
	{ "8 KB", { .payload = 8192 }, ROCE(STAY) },
	{ "padding after IP", { .payload = 0 }, .cut = -18, ROCE(STAY) },
	{ "one option", { .opts = 4, .payload = 8 }, ROCE(OPTS) },
	{ "40 bytes of options", { .opts = 40, .payload = 8 }, ROCE(OPTS) },
	{ "hop-by-hop", { .version = 6, .n_ext = 1, .ext = { 0 } }, ROCE(OPTS) },
	{ "routing, at its end", { .version = 6, .n_ext = 1, .ext = { 43 } },
	  ROCE(OPTS) },
	{ "routing, on its way", { .version = 6, .n_ext = 1, .ext = { 43 } },
	  .edit = { { L3, 1, 43, 1 } }, OTHER },
	{ "destination options", { .version = 6, .n_ext = 1, .ext = { 60 } },
	  ROCE(OPTS) },
	{ "four extension headers",
	  { .version = 6, .n_ext = 4, .ext = { 0, 60, 43, 60 }, .tags = 2 },
	  ROCE(OPTS) },
	{ "five extension headers",
	  { .version = 6, .n_ext = 5, .ext = { 0, 60, 43, 60, 60 } }, OTHER },
	{ "the longest extension header",
	  { .version = 6, .n_ext = 1, .ext = { 60 }, .ext_words = 255 },
	  ROCE(OPTS) },
	{ "extension header past the packet",
	  { .version = 6, .n_ext = 1, .ext = { 60 } },
	  .edit = { { L3, 1, 41, 255 } }, OTHER },
	{ "IPv6 fragment", { .version = 6, .n_ext = 1, .ext = { 44 } }, OTHER },
	{ "IPv6 fragment after options",
	  { .version = 6, .n_ext = 2, .ext = { 0, 44 } }, OTHER },
	{ "authentication header", { .version = 6, .n_ext = 1, .ext = { 51 } },
	  OTHER },
	{ "jumbogram", { .version = 6, .n_ext = 1, .ext = { 0 } },
	  .edit = { { L3, 2, 4, 0 } }, OTHER },
	{ "first fragment", { .frag = 0x2000 }, OTHER },
	{ "later fragment", { .frag = 0x0001 }, OTHER },
	{ "last fragment", { .frag = 0x1fff }, OTHER },
	{ "neither DF nor MF", { .frag = 0x8000 }, ROCE(STAY) },

	/* What is not RoCEv2 */
	{ "ARP", { 0 }, .edit = { { ETH, 2, 12, 0x0806 } }, OTHER },
	{ "802.3 length", { 0 }, .edit = { { ETH, 2, 12, 60 } }, OTHER },
	{ "RoCEv1", { 0 }, .edit = { { ETH, 2, 12, 0x8915 } }, OTHER },
	{ "TCP", { 0 }, .edit = { { L3, 1, 9, 6 } }, OTHER },
	{ "UDP port 4790", { 0 }, .edit = { { L4, 2, 2, 4790 } }, OTHER },
	{ "UDP from port 4791", { 0 },
	  .edit = { { L4, 2, 2, 53 }, { L4, 2, 0, 4791 } }, OTHER },
	{ "IPv4 called IPv6", { 0 }, .edit = { { ETH, 2, 12, 0x86dd } }, OTHER },
	{ "IPv6 called IPv4", { .version = 6 },
	  .edit = { { ETH, 2, 12, 0x0800 } }, OTHER },
	{ "IPv6 of version 4", { .version = 6 },
	  .edit = { { L3, 1, 0, 0x40 } }, OTHER },
	{ "version 5", { 0 }, .edit = { { L3, 1, 0, 0x55 } }, OTHER },
	{ "header length 16", { 0 }, .edit = { { L3, 1, 0, 0x44 } }, OTHER },
	{ "total length 19", { 0 }, .edit = { { L3, 2, 2, 19 } }, OTHER },
	{ "header length past the frame", { 0 },
	  .edit = { { L3, 1, 0, 0x4f } }, .cut = 16, OTHER },

	/* Lengths of IP and UDP */
	{ "a byte missing", { .payload = 64 }, .cut = 1, TRUNC },
	{ "a byte missing, IPv6", { .version = 6, .payload = 64 }, .cut = 1,
	  TRUNC },
	{ "only UDP there", { .payload = 64 }, .cut = 80, TRUNC },
	{ "UDP header cut", { .payload = 64 }, .cut = 81, OTHER },
	{ "IPv4 header cut", { .payload = 64 }, .cut = 89, OTHER },
	{ "IPv6 header cut", { .version = 6, .payload = 64 }, .cut = 89, OTHER },
	{ "total length 65535", { 0 }, .edit = { { L3, 2, 2, 65535 } }, TRUNC },
	{ "UDP length 0", { 0 }, .edit = { { L4, 2, 4, 0 } }, UDP_LEN },
	{ "UDP length 7", { 0 }, .edit = { { L4, 2, 4, 7 } }, UDP_LEN },
	{ "UDP longer than IP", { .payload = 64 },
	  .edit = { { L4, 2, 4, 89 } }, .cut = -4, UDP_LEN },
	{ "UDP shorter than IP", { .payload = 64 },
	  .edit = { { L4, 2, 4, 80 } }, ROCE(STAY) },
	{ "IP ends in the UDP header", { .payload = 64 },
	  .edit = { { L3, 2, 2, 27 } }, UDP_LEN },
	{ "IPv6 length 0, no jumbogram", { .version = 6 },
	  .edit = { { L3, 2, 4, 0 } }, UDP_LEN },

	/* The BTH and what follows it */
	{ "no BTH", { 0 }, .edit = { { L4, 2, 4, 8 } }, ROCE(DROP_SHORT) },
	{ "BTH without ICRC", { 0 }, .edit = { { L4, 2, 4, 20 } },
	  ROCE(DROP_SHORT) },
	{ "ICRC of 3 bytes", { 0 }, .edit = { { L4, 2, 4, 23 } },
	  ROCE(DROP_SHORT) },
	{ "READ without RETH", { .opcode = 0x0c }, ROCE(DROP_SHORT) },
	{ "READ", { .opcode = 0x0c, .hdr = 16 }, ROCE(STAY) },
	{ "ACK", { .opcode = 0x11, .hdr = 4 }, ROCE(STAY) },
	{ "atomic ACK", { .opcode = 0x12, .hdr = 12 }, ROCE(STAY) },
	{ "atomic", { .opcode = 0x13, .hdr = 28 }, ROCE(STAY) },
	{ "atomic of 27 bytes", { .opcode = 0x13, .hdr = 27 },
	  ROCE(DROP_SHORT) },
	{ "UD", { .opcode = 0x64, .hdr = 8, .payload = 256 }, ROCE(STAY) },
	{ "CNP", { .opcode = 0x81, .payload = 16 }, ROCE(STAY) },
	{ "opcode ff", { .opcode = 0xff, .payload = 64 }, ROCE(DROP_OPCODE) },
	{ "opcode 15", { .opcode = 0x15, .payload = 64 }, ROCE(DROP_OPCODE) },
	{ "RD", { .opcode = 0x44, .payload = 64 }, ROCE(DROP_OPCODE) },
	{ "transport version 1", { 0 }, .edit = { { BTH, 1, 1, 0x41 } },
	  ROCE(DROP_TVER) },
	{ "pad and no payload", { 0 }, .edit = { { BTH, 1, 1, 0x70 } },
	  ROCE(DROP_LENGTH) },
	{ "ACK with payload", { .opcode = 0x11, .hdr = 4, .payload = 4 },
	  ROCE(DROP_LENGTH) },
	{ "QP unknown", { .qpn = 18 }, ROCE(NO_QP) },

	/* The same for somebody else: never judged */
	{ "not ours", { .dst = 3, .payload = 64 }, ROCE(NOT_OURS) },
	{ "not ours, IPv6", { .dst = 3, .version = 6 }, ROCE(NOT_OURS) },
	{ "ours is the source", { .dst = 1, .src = 2 }, ROCE(NOT_OURS) },
	{ "not ours, options", { .dst = 3, .opts = 8 }, ROCE(NOT_OURS) },
	{ "not ours, opcode ff", { .dst = 3, .opcode = 0xff }, ROCE(NOT_OURS) },
	{ "not ours, cut", { .dst = 3, .payload = 64 }, .cut = 1,
	  .is = XROCE_ENCAP_TRUNC, .stat = XROCE_XDP_NOT_OURS },
	{ "not ours, UDP length 7", { .dst = 3 }, .edit = { { L4, 2, 4, 7 } },
	  .is = XROCE_ENCAP_UDP_LEN, .stat = XROCE_XDP_NOT_OURS },
};

#undef ROCE
#undef OTHER
#undef TRUNC
#undef UDP_LEN

/* Write the frame of a case; @pk tells where its parts are. */
static inline u32 frame_make(const struct frame_case *c, u8 *buf,
			     struct packet *pk)
{
	u32 len, at[4];

	*pk = c->pk;
	len = packet_make(pk, buf);
	at[ETH] = 0;
	at[L3] = pk->l3;
	at[L4] = pk->l4;
	at[BTH] = pk->bth;
	for (int i = 0; i < 3 && c->edit[i].n; i++) {
		u8 *p = buf + at[c->edit[i].part] + c->edit[i].off;

		if (c->edit[i].n == 2)
			packet_put16(p, c->edit[i].v);
		else
			*p = c->edit[i].v;
	}
	if (c->cut < 0)
		memset(buf + len, 0x55, -c->cut);
	return len - c->cut;
}

static inline bool frame_ours(const u8 gid[16])
{
	static const u8 ip4[16] = {
		[10] = 0xff, [11] = 0xff, [12] = 10, [13] = 77, [15] = 2,
	};
	static const u8 ip6[16] = { 0xfd, 0x77, [15] = 2 };

	return !memcmp(gid, ip4, 16) || !memcmp(gid, ip6, 16);
}

/* What the XDP program is to do, were it written in this language. */
static inline enum xroce_xdp_stat frame_verdict(const struct xroce_encap *e,
						int is, const u8 *end)
{
	struct xroce_pkt pkt;
	u32 need = XROCE_MAX_HDR;
	u8 dgid[16];

	if (is == XROCE_ENCAP_OTHER)
		return XROCE_XDP_OTHER;
	xroce_encap_dgid(e, dgid);
	if (!frame_ours(dgid))
		return XROCE_XDP_NOT_OURS;
	if (e->opts)
		return XROCE_XDP_OPTS;
	if (is == XROCE_ENCAP_TRUNC)
		return XROCE_XDP_DROP_TRUNC;
	if (is == XROCE_ENCAP_UDP_LEN)
		return XROCE_XDP_DROP_UDP_LEN;
	if (need > e->len)
		need = e->len;
	if (end - e->bth < (long)need)
		return XROCE_XDP_SPLIT;
	is = xroce_parse(&pkt, e->bth, end, e->len);
	if (is)
		return XROCE_XDP_DROP_SHORT + is - XROCE_PARSE_SHORT;
	return pkt.qpn == 17 ? XROCE_XDP_STAY : XROCE_XDP_NO_QP;
}

#endif /* XROCE_CASES_H */
