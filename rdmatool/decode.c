// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RoCEv2 frames of a capture, a line each, parsed and checked by the headers
 * that the module and its XDP program use.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xroce/frame.h>
#include <xroce/icrc.h>
#include <xroce/parse.h>
#include <zlib.h>

#include "rdmatool.h"

/* The link types that are understood, LINKTYPE_* of tcpdump.org. */
#define LT_ETHERNET	1
#define LT_RAW		101
#define LT_SLL		113
#define LT_IPV4		228
#define LT_IPV6		229
#define LT_SLL2		276

enum tally {
	FRAMES,
	ROCE,
	REQUESTS,
	ACKS,
	NAKS,
	RNR_NAKS,
	READ_RESPONSES,
	ATOMIC_RESPONSES,
	CNPS,
	ICRC_OK,
	ICRC_BAD,
	ICRC_UNCHECKED,
	MALFORMED,
	NOT_ROCE,
	N_TALLY
};

static const char *const tally_names[] = {
	[FRAMES] = "frames",
	[ROCE] = "roce",
	[REQUESTS] = "requests",
	[ACKS] = "acks",
	[NAKS] = "naks",
	[RNR_NAKS] = "rnr_naks",
	[READ_RESPONSES] = "read_responses",
	[ATOMIC_RESPONSES] = "atomic_responses",
	[CNPS] = "cnps",
	[ICRC_OK] = "icrc_ok",
	[ICRC_BAD] = "icrc_bad",
	[ICRC_UNCHECKED] = "icrc_unchecked",
	[MALFORMED] = "malformed",
	[NOT_ROCE] = "not_roce",
};

static u64 tally[N_TALLY];
static u64 start;		/* of the first frame */
static int unknown = -1;	/* the last link type that is not understood */

const char *opcode_name(u8 opcode)
{
	static const char *const names[32] = {
		[XROCE_SEND_FIRST] = "SEND_FIRST",
		[XROCE_SEND_MIDDLE] = "SEND_MIDDLE",
		[XROCE_SEND_LAST] = "SEND_LAST",
		[XROCE_SEND_LAST_IMM] = "SEND_LAST_IMM",
		[XROCE_SEND_ONLY] = "SEND_ONLY",
		[XROCE_SEND_ONLY_IMM] = "SEND_ONLY_IMM",
		[XROCE_WRITE_FIRST] = "WRITE_FIRST",
		[XROCE_WRITE_MIDDLE] = "WRITE_MIDDLE",
		[XROCE_WRITE_LAST] = "WRITE_LAST",
		[XROCE_WRITE_LAST_IMM] = "WRITE_LAST_IMM",
		[XROCE_WRITE_ONLY] = "WRITE_ONLY",
		[XROCE_WRITE_ONLY_IMM] = "WRITE_ONLY_IMM",
		[XROCE_READ_REQ] = "READ_REQUEST",
		[XROCE_READ_RESP_FIRST] = "READ_RESPONSE_FIRST",
		[XROCE_READ_RESP_MIDDLE] = "READ_RESPONSE_MIDDLE",
		[XROCE_READ_RESP_LAST] = "READ_RESPONSE_LAST",
		[XROCE_READ_RESP_ONLY] = "READ_RESPONSE_ONLY",
		[XROCE_ACK] = "ACKNOWLEDGE",
		[XROCE_ATOMIC_ACK] = "ATOMIC_ACKNOWLEDGE",
		[XROCE_CMP_SWAP] = "CMP_SWAP",
		[XROCE_FETCH_ADD] = "FETCH_ADD",
		[XROCE_SEND_LAST_INV] = "SEND_LAST_INV",
		[XROCE_SEND_ONLY_INV] = "SEND_ONLY_INV",
		[XROCE_FLUSH] = "FLUSH",
		[XROCE_ATOMIC_WRITE] = "ATOMIC_WRITE",
	};

	if (opcode == XROCE_CNP)
		return "CNP";
	return names[opcode & XROCE_OP_MASK] ?: "?";
}

const char *transport_name(u8 opcode)
{
	if (opcode == XROCE_CNP)
		return "CNP";
	switch (XROCE_TRANSPORT(opcode)) {
	case XROCE_RC:
		return "RC";
	case XROCE_UC:
		return "UC";
	case XROCE_UD:
		return "UD";
	case XROCE_XRC:
		return "XRC";
	}
	return "?";
}

const char *nak_name(u8 syndrome)
{
	static const char *const names[] = {
		"PSN sequence error", "invalid request",
		"remote access error", "remote operational error",
		"invalid RD request",
	};
	u32 code = syndrome & XROCE_AETH_VALUE;

	return code < ARRAY_SIZE(names) ? names[code] : "reserved";
}

/* Where the frame's IP packet is, by the capture's link type. */
static enum xroce_encap_is find(struct xroce_encap *e,
				const struct cap_frame *f)
{
	const u8 *p = f->data, *end = p + f->cap_len;
	u32 skip, type;

	switch (f->link_type) {
	case LT_ETHERNET:
		return xroce_encap_parse(e, p, end, f->len);
	case LT_RAW:
	case LT_IPV4:
	case LT_IPV6:
		return xroce_encap_ip(e, p, end, f->len);
	case LT_SLL:
	case LT_SLL2:
		skip = f->link_type == LT_SLL ? 16 : 20;
		if (f->cap_len < skip)
			return XROCE_ENCAP_OTHER;
		type = xroce_get16(f->link_type == LT_SLL ? p + 14 : p);
		if (type != XROCE_ETH_P_IP && type != XROCE_ETH_P_IPV6)
			return XROCE_ENCAP_OTHER;
		return xroce_encap_ip(e, p + skip, end, f->len - skip);
	}
	unknown = f->link_type;
	return XROCE_ENCAP_OTHER;
}

/* From the packet's bytes, all of them there. */
static u32 icrc(const struct xroce_encap *e)
{
	u8 head[XROCE_ICRC_HEAD_MAX];
	u32 n = xroce_icrc_head(head, e->l3);
	/* zlib hands the register around inverted. */
	uLong crc = crc32(~XROCE_ICRC_SEED, head, n);

	return crc32(crc, e->bth + sizeof(struct xroce_bth),
		     e->len - sizeof(struct xroce_bth) - XROCE_ICRC_SIZE);
}

static void show_icrc(const struct xroce_encap *e, const struct cap_frame *f)
{
	const u8 *p = e->bth + e->len - XROCE_ICRC_SIZE;
	u32 want, got;

	if (e->opts || p + XROCE_ICRC_SIZE > f->data + f->cap_len) {
		tally[ICRC_UNCHECKED]++;
		out_str("icrc", e->opts ? "unchecked:options" :
					  "unchecked:cut");
		return;
	}
	want = icrc(e);
	got = p[0] | p[1] << 8 | p[2] << 16 | (u32)p[3] << 24;
	if (want == got) {
		tally[ICRC_OK]++;
		out_str("icrc", "ok");
		return;
	}
	tally[ICRC_BAD]++;
	out_str("icrc", "bad");
	out_fmt("icrc_found", "%#010x", got);
	out_fmt("icrc_expected", "%#010x", want);
}

static void count_kind(const struct xroce_pkt *pkt)
{
	if (pkt->info & XROCE_OP_REQUEST)
		tally[REQUESTS]++;
	if (pkt->info & XROCE_OP_READ_RESP)
		tally[READ_RESPONSES]++;
	if (pkt->info & XROCE_OP_ATOMIC_ACK)
		tally[ATOMIC_RESPONSES]++;
	if (pkt->info & XROCE_OP_CNP)
		tally[CNPS]++;
	if (!(pkt->info & XROCE_OP_ACK))
		return;
	switch (pkt->syndrome & XROCE_AETH_TYPE) {
	case XROCE_AETH_ACK:
		tally[ACKS]++;
		break;
	case XROCE_AETH_RNR:
		tally[RNR_NAKS]++;
		break;
	case XROCE_AETH_NAK:
		tally[NAKS]++;
		break;
	}
}

static void show_aeth(const struct xroce_pkt *pkt)
{
	switch (pkt->syndrome & XROCE_AETH_TYPE) {
	case XROCE_AETH_ACK:
		if (options.details)
			out_uint("credits",
				 pkt->syndrome & XROCE_AETH_VALUE);
		break;
	case XROCE_AETH_RNR:
		out_uint("rnr_us", 10 * xroce_rnr_10us(pkt->syndrome));
		break;
	case XROCE_AETH_NAK:
		out_str("nak", nak_name(pkt->syndrome));
		break;
	default:
		out_fmt("syndrome", "%#x", pkt->syndrome);
	}
	out_uint("msn", pkt->msn);
}

/* The extension headers, in the order they have on the wire. */
static void show_ext(const struct xroce_pkt *pkt)
{
	u32 info = pkt->info;

	if (info & XROCE_OP_XRCETH)
		out_fmt("xrcsrq", "%#x", pkt->xrcsrq);
	if (info & XROCE_OP_DETH) {
		out_fmt("qkey", "%#x", pkt->qkey);
		out_fmt("sqpn", "%#x", pkt->sqpn);
	}
	if (info & XROCE_OP_FLUSH) {
		out_uint("plt", pkt->flush & XROCE_FETH_PLT);
		out_uint("sel", pkt->flush >> XROCE_FETH_SEL_SHIFT);
	}
	if (info & (XROCE_OP_RETH | XROCE_OP_ATOMIC)) {
		out_fmt("va", "%#llx", (unsigned long long)pkt->va);
		out_fmt("rkey", "%#x", pkt->rkey);
	}
	if (info & XROCE_OP_RETH)
		out_uint("dma_len", pkt->dma_len);
	if (info & XROCE_OP_ATOMIC)
		out_uint("swap_add", pkt->swap_add);
	if ((info & XROCE_OP_ATOMIC) &&
	    (pkt->opcode & XROCE_OP_MASK) == XROCE_CMP_SWAP)
		out_uint("compare", pkt->compare);
	if (info & XROCE_OP_AETH)
		show_aeth(pkt);
	if (info & XROCE_OP_ATOMIC_ACK)
		out_uint("original", pkt->swap_add);
	if (info & XROCE_OP_IMM)
		out_fmt("imm", "%#x", be32_to_cpu(pkt->imm));
	if (info & XROCE_OP_INV)
		out_fmt("inv_rkey", "%#x", pkt->rkey);
}

static void show_pkt(const struct xroce_pkt *pkt)
{
	out_str("transport", transport_name(pkt->opcode));
	out_str("opcode", opcode_name(pkt->opcode));
	out_fmt("dqpn", "%#x", pkt->qpn);
	out_uint("psn", pkt->psn);
	if (pkt->info & XROCE_OP_PAYLOAD)
		out_uint("len", pkt->payload_len);
	show_ext(pkt);
	out_flag("ackreq", pkt->ackreq);
	if (!options.details)
		return;
	out_flag("solicited", pkt->flags & XROCE_BTH_SE);
	out_flag("migrated", pkt->flags & XROCE_BTH_MIG);
	out_flag("becn", pkt->becn);
	out_fmt("pkey", "%#x", pkt->pkey);
	out_uint("pad", pkt->pad);
}

static void show_addrs(const struct xroce_encap *e)
{
	char buf[INET6_ADDRSTRLEN];

	if (e->version == 4) {
		out_str("src", inet_ntop(AF_INET, e->l3 + 12, buf, sizeof(buf)));
		out_str("dst", inet_ntop(AF_INET, e->l3 + 16, buf, sizeof(buf)));
	} else {
		out_str("src", inet_ntop(AF_INET6, e->l3 + 8, buf, sizeof(buf)));
		out_str("dst", inet_ntop(AF_INET6, e->l3 + 24, buf, sizeof(buf)));
	}
	if (!options.details)
		return;
	out_uint("ip_len", e->version == 4 ? xroce_get16(e->l3 + 2) :
					     40 + xroce_get16(e->l3 + 4));
	out_uint("sport", xroce_get16(e->l4));
	out_uint("ecn", e->ecn);
	out_flag("ip_options", e->opts);
}

static void malformed(const char *why)
{
	tally[MALFORMED]++;
	out_str("malformed", why);
}

static void show_roce(const struct xroce_encap *e, const struct cap_frame *f)
{
	static const char *const why[] = {
		[XROCE_PARSE_SHORT] = "shorter than headers, pad and ICRC",
		[XROCE_PARSE_OPCODE] = "no such opcode",
		[XROCE_PARSE_TVER] = "transport version not 0",
		[XROCE_PARSE_LENGTH] = "payload length",
	};
	const u8 *end = f->data + f->cap_len;
	struct xroce_pkt pkt = {};
	int err;

	/* Of the headers that parse.h may look at, as many as there should be. */
	if (e->bth + (e->len < XROCE_MAX_HDR ? e->len : XROCE_MAX_HDR) > end) {
		tally[ICRC_UNCHECKED]++;
		out_str("cut", "headers not captured");
		return;
	}
	err = xroce_parse(&pkt, e->bth, end, e->len);
	if (err) {
		malformed(why[err]);
		return;
	}
	count_kind(&pkt);
	flow_packet(e, &pkt, f->dir);
	show_pkt(&pkt);
	show_icrc(e, f);
}

/**
 * decode_begin() - begin a list of frames
 */
void decode_begin(void)
{
	out_open("frames");
}

/**
 * decode_end() - end it, and sum up
 */
void decode_end(void)
{
	size_t i;

	out_next("flows");
	flow_show();
	out_summary();
	for (i = 0; i < N_TALLY; i++)
		out_uint(tally_names[i], tally[i]);
	out_row_end();
}

/**
 * decode_frame() - a row, if it is RoCEv2
 * @f: the frame
 */
void decode_frame(const struct cap_frame *f)
{
	struct xroce_encap e;
	enum xroce_encap_is is = find(&e, f);

	if (!tally[FRAMES]++)
		start = f->ns;
	if (is == XROCE_ENCAP_OTHER) {
		tally[NOT_ROCE]++;
		return;
	}
	tally[ROCE]++;
	out_row();
	out_uint("frame", tally[FRAMES]);
	out_fmt("time", "%.6f", f->ns >= start ? (f->ns - start) / 1e9 :
						-((start - f->ns) / 1e9));
	if (f->dir)
		out_str("dir", f->dir == CAP_IN ? "in" : "out");
	show_addrs(&e);
	if (is == XROCE_ENCAP_TRUNC)
		malformed("IP packet longer than the frame");
	else if (is == XROCE_ENCAP_UDP_LEN)
		malformed("UDP length");
	else
		show_roce(&e, f);
	if (*f->comment)
		out_str("comment", f->comment);
	out_row_end();
}

/**
 * cmd_decode() - print the RoCEv2 frames of a capture, and a summary
 */
void cmd_decode(int argc, char **argv)
{
	struct capture *cap;
	struct cap_frame f;
	int ret;

	if (argc != 1)
		usage("decode: one FILE expected");
	cap = cap_open(argv[0]);
	decode_begin();
	while ((ret = cap_next(cap, &f)) > 0)
		decode_frame(&f);
	decode_end();
	if (unknown >= 0)
		warn("%s: frames of link type %d are not understood", argv[0], unknown);
	if (ret < 0)
		fail("%s: %s", argv[0], cap_why(cap));
	cap_close(cap);
}
