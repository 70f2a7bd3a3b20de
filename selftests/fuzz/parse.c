// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fuzzes the parsers of frame.h and parse.h: any bytes, of which any number are
 * linear. Two bytes of the input say how many, the rest is the frame.
 */
#include <stdlib.h>
#include <string.h>
#include <xroce/frame.h>
#include <xroce/icrc.h>
#include <xroce/parse.h>

#define MUST(c) do {			\
	if (!(c))			\
		__builtin_trap();	\
} while (0)

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void bth(const u8 *p, const u8 *end, u32 len)
{
	struct xroce_pkt pkt;
	int err;

	err = xroce_parse(&pkt, p, end, len);
	if (err)
		return;
	MUST(pkt.info && pkt.info == xroce_op_info(pkt.opcode));
	MUST(pkt.hdr_len >= 12 && pkt.hdr_len <= XROCE_MAX_HDR);
	MUST(p + pkt.hdr_len <= end && pkt.pad <= 3);
	MUST((u64)pkt.hdr_len + pkt.payload_len + pkt.pad + 4 == len);
	MUST(pkt.qpn <= XROCE_QPN_MASK && pkt.psn <= XROCE_PSN_MASK);
	if (pkt.info & XROCE_OP_AETH)
		MUST(pkt.msn <= XROCE_PSN_MASK);
}

static void frame(const u8 *p, const u8 *end, u32 total)
{
	u8 head[XROCE_ICRC_HEAD_MAX], sgid[16], dgid[16];
	struct xroce_encap e, ip;
	int is;

	is = xroce_encap_parse(&e, p, end, total);
	if (is == XROCE_ENCAP_OTHER)
		return;
	MUST(e.version == 4 || e.version == 6);
	MUST(e.l3 >= p + 14 && e.l3 <= p + 22);
	MUST(e.l4 >= e.l3 + (e.version == 4 ? 20 : 40));
	MUST(e.opts == (e.l4 != e.l3 + (e.version == 4 ? 20 : 40)));
	MUST(e.bth == e.l4 + 8 && e.bth <= end && e.ecn <= 3);
	/* The same without what stands before it */
	MUST(xroce_encap_ip(&ip, e.l3, end, total - (e.l3 - p)) == (u32)is);
	MUST(ip.bth == e.bth && ip.l3 == e.l3);
	/* Of any verdict, both are there to be read */
	xroce_encap_sgid(&e, sgid);
	xroce_encap_dgid(&e, dgid);
	MUST(memcmp(sgid, dgid, 16) ||
	     !memcmp(e.l3 + (e.version == 4 ? 12 : 8),
		     e.l3 + (e.version == 4 ? 16 : 24), e.version == 4 ? 4 : 16));
	if (is != XROCE_ENCAP_ROCE)
		return;
	MUST((u64)(e.bth - p) + e.len <= total && e.len == ip.len);
	bth(e.bth, end, e.len);
	if (!e.opts && end - e.bth >= 12)
		MUST(xroce_icrc_head(head, e.l3) ==
		     (u32)(e.bth + 12 - e.l3));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	size_t linear;
	u8 *p;

	if (size < 2)
		return 0;
	linear = data[0] | data[1] << 8;
	data += 2;
	size -= 2;
	if (linear > size)
		linear = size;
	/* Of just this size, so that ASan sees a byte too many. */
	p = malloc(linear ? linear : 1);
	memcpy(p, data, linear);
	frame(p, p + linear, size);
	bth(p, p + (linear < XROCE_MAX_HDR ? linear : XROCE_MAX_HDR), size);
	free(p);
	return 0;
}
