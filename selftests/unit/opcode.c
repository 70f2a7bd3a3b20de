// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The opcode table and the BTH parser: all 256 opcodes against a table of this
 * test's own, with every length around every boundary. Each packet stands in a
 * buffer of just the bytes that may be read, so that ASan sees one too many.
 */
#include <stdlib.h>
#include <string.h>
#include <xroce/parse.h>
#include <packet.h>
#include <tap.h>

/*
 * IBTA 9.2.1 and the tables of 9.4: kind (s send, w write, r read, a atomic,
 * R read response, k ack, K atomic ack), F and L where it begins and ends a
 * message, i immediate, v invalidate, e RETH, h AETH, p payload; by Annex A19
 * f flush with its FETH, A atomic write.
 */
static const struct {
	u8 op;
	const char *is;
	u32 hdr;
} rc[] = {
	{ 0x00, "sFp", 0 },	{ 0x01, "sp", 0 },	{ 0x02, "sLp", 0 },
	{ 0x03, "sLip", 4 },	{ 0x04, "sFLp", 0 },	{ 0x05, "sFLip", 4 },
	{ 0x06, "wFep", 16 },	{ 0x07, "wp", 0 },	{ 0x08, "wLp", 0 },
	{ 0x09, "wLip", 4 },	{ 0x0a, "wFLep", 16 },	{ 0x0b, "wFLeip", 20 },
	{ 0x0c, "rFLe", 16 },	{ 0x0d, "RFhp", 4 },	{ 0x0e, "Rp", 0 },
	{ 0x0f, "RLhp", 4 },	{ 0x10, "RFLhp", 4 },	{ 0x11, "kFLh", 4 },
	{ 0x12, "KFLh", 12 },	{ 0x13, "aFL", 28 },	{ 0x14, "aFL", 28 },
	{ 0x16, "sLvp", 4 },	{ 0x17, "sFLvp", 4 },
	{ 0x1c, "fFLe", 20 },	{ 0x1d, "AFLep", 16 },
};

static const struct {
	char c;
	u32 flag;
} letters[] = {
	{ 's', XROCE_OP_SEND },		{ 'w', XROCE_OP_WRITE },
	{ 'r', XROCE_OP_READ },		{ 'a', XROCE_OP_ATOMIC },
	{ 'R', XROCE_OP_READ_RESP },	{ 'k', XROCE_OP_ACK },
	{ 'K', XROCE_OP_ATOMIC_ACK },	{ 'F', XROCE_OP_FIRST },
	{ 'L', XROCE_OP_LAST },		{ 'i', XROCE_OP_IMM },
	{ 'v', XROCE_OP_INV },		{ 'e', XROCE_OP_RETH },
	{ 'h', XROCE_OP_AETH },		{ 'p', XROCE_OP_PAYLOAD },
	{ 'd', XROCE_OP_DETH },		{ 'x', XROCE_OP_XRCETH },
	{ 'c', XROCE_OP_CNP },		{ 'f', XROCE_OP_FLUSH },
	{ 'A', XROCE_OP_ATOMIC_WRITE },
};

struct want {
	u32 info;
	u32 hdr;
	bool any_payload;
};

static u32 flags_of(const char *is)
{
	u32 info = 0;
	size_t i;

	for (; *is; is++)
		for (i = 0; i < ARRAY_SIZE(letters); i++)
			if (letters[i].c == *is)
				info |= letters[i].flag;
	return info;
}

static struct want want(u8 op)
{
	struct want w = { 0 };
	u8 low = op & 0x1f;
	const char *is = NULL;
	size_t i;

	if (op == 0x81) {
		w.info = flags_of("cFL");
		w.any_payload = true;
		return w;
	}
	for (i = 0; i < ARRAY_SIZE(rc); i++)
		if (rc[i].op == low) {
			is = rc[i].is;
			w.hdr = rc[i].hdr;
		}
	switch (op >> 5) {
	case 0:
		break;
	case 1:		/* UC: SEND and WRITE, nothing to invalidate */
		if (low > 0x0b)
			is = NULL;
		break;
	case 3:		/* UD: one packet a message */
		if (low != 0x04 && low != 0x05)
			is = NULL;
		w.hdr += 8;
		break;
	case 5:		/* XRC: an SRQ number in requests */
		if (is && strchr("swrafA", is[0]))
			w.hdr += 4;
		break;
	default:	/* RD and what is reserved */
		is = NULL;
	}
	if (!is)
		return (struct want){ 0 };
	w.info = flags_of(is);
	if (op >> 5 == 3)
		w.info |= flags_of("d");
	if (op >> 5 == 5 && strchr("swrafA", is[0]))
		w.info |= flags_of("x");
	w.any_payload = w.info & XROCE_OP_PAYLOAD;
	return w;
}

static int verdict(struct want w, u8 flags, u32 len, u32 *payload)
{
	u32 pad = flags >> 4 & 3;

	if (len < 16)
		return XROCE_PARSE_SHORT;
	if (!w.info)
		return XROCE_PARSE_OPCODE;
	if (flags & 15)
		return XROCE_PARSE_TVER;
	if (len < 12 + w.hdr + 4)
		return XROCE_PARSE_SHORT;
	*payload = len - 12 - w.hdr - 4;
	if (*payload < pad)
		return XROCE_PARSE_LENGTH;
	*payload -= pad;
	if (*payload && !w.any_payload)
		return XROCE_PARSE_LENGTH;
	return XROCE_PARSE_OK;
}

static void fill(u8 *p, u32 n)
{
	for (u32 i = 0; i < n; i++)
		p[i] = 0x81 + i * 5;
}

static u64 be(const u8 *p, int n)
{
	u64 v = 0;

	while (n--)
		v = v << 8 | *p++;
	return v;
}

/* Every field against the bytes, at places worked out from the specification */
static bool fields(const struct xroce_pkt *pkt, const u8 *p, struct want w)
{
	const u8 *x = p + 12;
	bool ok = true;

	ok &= pkt->opcode == p[0] && pkt->flags == p[1];
	ok &= pkt->pad == (p[1] >> 4 & 3);
	ok &= pkt->pkey == be(p + 2, 2);
	ok &= pkt->becn == (p[4] >> 6 & 1);
	ok &= pkt->qpn == be(p + 5, 3);
	ok &= pkt->ackreq == (p[8] >> 7);
	ok &= pkt->psn == be(p + 9, 3);
	ok &= pkt->hdr_len == 12 + w.hdr;
	ok &= pkt->info == w.info;
	if (w.info & XROCE_OP_XRCETH) {
		ok &= pkt->xrcsrq == be(x + 1, 3);
		x += 4;
	}
	if (w.info & XROCE_OP_DETH) {
		ok &= pkt->qkey == be(x, 4) && pkt->sqpn == be(x + 5, 3);
		x += 8;
	}
	if (w.info & XROCE_OP_FLUSH) {
		ok &= pkt->flush == x[3];
		x += 4;
	}
	if (w.info & XROCE_OP_RETH) {
		ok &= pkt->va == be(x, 8) && pkt->rkey == be(x + 8, 4);
		ok &= pkt->dma_len == be(x + 12, 4);
		x += 16;
	}
	if (w.info & XROCE_OP_ATOMIC) {
		ok &= pkt->va == be(x, 8) && pkt->rkey == be(x + 8, 4);
		ok &= pkt->swap_add == be(x + 12, 8);
		ok &= pkt->compare == be(x + 20, 8);
		x += 28;
	}
	if (w.info & XROCE_OP_AETH) {
		ok &= pkt->syndrome == x[0] && pkt->msn == be(x + 1, 3);
		x += 4;
	}
	if (w.info & XROCE_OP_ATOMIC_ACK) {
		ok &= pkt->swap_add == be(x, 8);
		x += 8;
	}
	if (w.info & XROCE_OP_IMM) {
		ok &= !memcmp(&pkt->imm, x, 4);
		x += 4;
	}
	if (w.info & XROCE_OP_INV) {
		ok &= pkt->rkey == be(x, 4);
		x += 4;
	}
	return ok && x == p + 12 + w.hdr;
}

/* One packet of len bytes of which only the first n may be read. */
static int parse(struct xroce_pkt *pkt, u8 op, u8 flags, u32 len,
		 u32 n, bool *fields_ok)
{
	u8 *p = malloc(n ? n : 1);
	u8 head[XROCE_MAX_HDR];
	int is;

	fill(head, sizeof(head));
	head[0] = op;
	head[1] = flags;
	memcpy(p, head, n);
	memset(pkt, 0xa5, sizeof(*pkt));
	is = xroce_parse(pkt, p, p + n, len);
	*fields_ok = is || fields(pkt, head, want(op));
	free(p);
	return is;
}

static void lengths(void)
{
	int bad = 0;
	u32 n = 0;

	for (int op = 0; op < 256; op++) {
		struct want w = want(op);

		for (int flags = 0; flags < 256; flags++) {
			/* All TVers but once; else every pad, SE and MigReq */
			if ((flags & 15) && flags >> 4 != 5)
				continue;
			for (u32 len = 0; len < 12 + w.hdr + 4 + 12; len++, n++) {
				struct xroce_pkt pkt;
				u32 payload = 0;
				int is, should = verdict(w, flags, len, &payload);
				u32 max = XROCE_MAX_HDR;
				bool ok;

				is = parse(&pkt, op, flags, len,
					   len < max ? len : max, &ok);
				TAP_CHECK(bad, is == should,
					  "op %02x flags %02x len %u: %d, not %d",
					  op, flags, len, is, should);
				TAP_CHECK(bad, ok, "op %02x len %u: a field",
					  op, len);
				TAP_CHECK(bad, is || pkt.payload_len == payload,
					  "op %02x len %u: payload %u, not %u",
					  op, len, pkt.payload_len, payload);
			}
		}
	}
	tap_ok(!bad && n > 100000, "each opcode, flag byte and length (%u)", n);
}

/* UDP says more than is linear: no header may be taken from beyond. */
static void linear(void)
{
	struct xroce_pkt pkt;
	int bad = 0;
	bool ok;

	for (int op = 0; op < 256; op++) {
		struct want w = want(op);

		for (u32 n = 0; n < XROCE_MAX_HDR; n++) {
			int is = parse(&pkt, op, 0, 4096, n, &ok);

			if (n < 12 || (w.info && n < 12 + w.hdr))
				TAP_CHECK(bad, is == XROCE_PARSE_SHORT,
					  "op %02x, %u bytes: %d", op, n, is);
			else
				TAP_CHECK(bad, is != XROCE_PARSE_SHORT && ok,
					  "op %02x, %u bytes: %d", op, n, is);
		}
	}
	tap_ok(!bad, "headers past the readable bytes are short");
}

static void table(void)
{
	int bad = 0, defined = 0;

	for (int op = 0; op < 256; op++) {
		u32 info = xroce_op_info(op);

		TAP_CHECK(bad, info == want(op).info, "op %02x: %#x, not %#x",
			  op, info, want(op).info);
		defined += !!info;
	}
	tap_ok(!bad, "all opcodes are what the specification says");
	/* RC, UC, UD, XRC, CNP */
	tap_ok(defined == 25 + 12 + 2 + 25 + 1, "%d are defined", defined);
}

/* The longest message that UDP can carry, and one that IP cannot. */
static void large(void)
{
	struct xroce_pkt pkt;
	bool ok;
	int is;

	is = parse(&pkt, 0x01, 0, 65535 - 28, XROCE_MAX_HDR, &ok);
	tap_ok(!is && pkt.payload_len == 65535 - 28 - 16, "64 KB");
	is = parse(&pkt, 0x01, 0x30, 0xffffffff, XROCE_MAX_HDR, &ok);
	tap_ok(!is && pkt.payload_len == 0xffffffff - 16 - 3, "2^32 - 1");
}

int main(void)
{
	tap_start();
	table();
	lengths();
	linear();
	large();
	return tap_end();
}
