// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Known answers: every frame of the captures in ../vectors parses, is the
 * opcode that it should be, and carries the ICRC that we would have given it.
 */
#include <string.h>
#include <xroce/frame.h>
#include <xroce/icrc.h>
#include <xroce/parse.h>
#include <packet.h>
#include <pcap.h>
#include <tap.h>

static const struct {
	const char *name;
	int frames;
	int roce;
	struct {
		u8 op;
		int n;
	} ops[7];
} files[] = {
	{ "pingpong_rc", 31, 20, { { 0x04, 10 }, { 0x11, 10 } } },
	{ "pingpong_uc", 21, 10, { { 0x24, 10 } } },
	{ "pingpong_ud", 21, 10, { { 0x64, 10 } } },
	{ "rdma_send_bw", 50, 20,
	  { { 0x00, 5 }, { 0x01, 5 }, { 0x02, 5 }, { 0x11, 5 } } },
	{ "rdma_write_bw", 60, 20,
	  { { 0x06, 5 }, { 0x07, 5 }, { 0x08, 5 }, { 0x11, 5 } } },
	{ "rdma_read_bw", 60, 20,
	  { { 0x0c, 5 }, { 0x0d, 5 }, { 0x0e, 5 }, { 0x0f, 5 } } },
	{ "rdma_atomic_bw", 48, 10, { { 0x12, 5 }, { 0x14, 5 } } },
	{ "rdma_cm", 96, 96,
	  { { 0x04, 32 }, { 0x06, 5 }, { 0x07, 5 }, { 0x08, 5 }, { 0x11, 37 },
	    { 0x64, 12 } } },
	{ "rping", 65, 65,
	  { { 0x04, 20 }, { 0x0a, 5 }, { 0x0c, 5 }, { 0x10, 5 }, { 0x11, 25 },
	    { 0x64, 5 } } },
};

/* As the core does it: the masked head, then what follows the BTH. */
static u32 icrc(const struct xroce_encap *e)
{
	u8 head[XROCE_ICRC_HEAD_MAX];
	u32 n = xroce_icrc_head(head, e->l3), crc;

	crc = packet_crc(XROCE_ICRC_SEED, head, n);
	return ~packet_crc(crc, e->bth + sizeof(struct xroce_bth),
			   e->len - sizeof(struct xroce_bth) - XROCE_ICRC_SIZE);
}

static u32 stored(const struct xroce_encap *e)
{
	const u8 *p = e->bth + e->len - XROCE_ICRC_SIZE;

	return p[0] | p[1] << 8 | p[2] << 16 | (u32)p[3] << 24;
}

/* A byte changed: the ICRC must tell, unless routers may change that byte. */
static bool guards(const u8 *frame, u32 len, struct xroce_encap *e)
{
	u32 ip = e->l3 - frame, hdr = e->l4 - e->l3, sum = stored(e), at;
	bool ok = true;
	u8 copy[2048];

	if (len > sizeof(copy))
		return false;
	memcpy(copy, frame, len);
	for (at = 0; at < hdr + 8 + e->len - XROCE_ICRC_SIZE; at++) {
		bool variant = at == 1 || at == 8 || at == 10 || at == 11 ||
			at == hdr + 6 || at == hdr + 7 || at == hdr + 12;
		struct xroce_encap c = *e;

		/* These two are the frame's own measure */
		if (at == 0)
			continue;
		copy[ip + at] ^= 0x10;
		c.l3 = copy + ip;
		c.bth = copy + (e->bth - frame);
		ok &= (icrc(&c) == sum) == variant;
		copy[ip + at] ^= 0x10;
	}
	return ok;
}

static void one_file(size_t i, const char *dir)
{
	int n = 0, roce = 0, op[256] = { 0 }, total = 0, bad = 0;
	const u8 *p;
	struct pcap pc;
	u32 len;

	if (!pcap_vector(&pc, dir, files[i].name))
		return;
	while ((p = pcap_next(&pc, &len))) {
		struct xroce_encap e;
		struct xroce_pkt pkt;
		int is = xroce_encap_parse(&e, p, p + len, len);

		n++;
		if (is == XROCE_ENCAP_OTHER)
			continue;
		roce++;
		TAP_CHECK(bad, is == XROCE_ENCAP_ROCE, "frame %d is %d", n, is);
		if (is != XROCE_ENCAP_ROCE)
			continue;
		is = xroce_parse(&pkt, e.bth, p + len, e.len);
		TAP_CHECK(bad, is == XROCE_PARSE_OK, "frame %d: error %d", n, is);
		if (is != XROCE_PARSE_OK)
			continue;
		op[pkt.opcode]++;
		TAP_CHECK(bad, e.bth + e.len == p + len,
			  "frame %d does not end with its ICRC", n);
		TAP_CHECK(bad, pkt.hdr_len + pkt.payload_len + pkt.pad + 4 ==
			  e.len, "frame %d: parts do not add up", n);
		TAP_CHECK(bad, pkt.pkey == 0xffff, "frame %d: P_Key", n);
		TAP_CHECK(bad, icrc(&e) == stored(&e),
			  "frame %d: ICRC %08x, not %08x", n, icrc(&e), stored(&e));
		TAP_CHECK(bad, packet_icrc(e.l3, e.len) == stored(&e),
			  "frame %d: ICRC of the test's own builder", n);
		TAP_CHECK(bad, guards(p, len, &e),
			  "frame %d: ICRC and a changed byte", n);
	}
	tap_ok(!bad, "%s: parsed, ICRCs agree", files[i].name);
	pcap_close(&pc);

	bad = 0;
	for (size_t k = 0; k < 7; k++) {
		TAP_CHECK(bad, !files[i].ops[k].n ||
			  op[files[i].ops[k].op] == files[i].ops[k].n,
			  "opcode %02x: %d, not %d", files[i].ops[k].op,
			  op[files[i].ops[k].op], files[i].ops[k].n);
		total += files[i].ops[k].n;
	}
	TAP_CHECK(bad, n == files[i].frames && roce == files[i].roce &&
		  total == roce, "%d frames, %d RoCEv2", n, roce);
	tap_ok(!bad, "%s: %d frames, %d of them RoCEv2", files[i].name, n, roce);
}

/* rdma_rxe's of a FLUSH goes on over what stands between UDP header and ICRC again */
static void flush_of_rxe(const char *dir)
{
	int n = 0, bad = 0;
	struct pcap pc;
	const u8 *p;
	u32 len;

	if (!pcap_vector(&pc, dir, "rxe_flush"))
		return;
	for (; (p = pcap_next(&pc, &len)); n++) {
		struct xroce_encap e;
		struct xroce_pkt pkt;

		TAP_CHECK(bad, xroce_encap_parse(&e, p, p + len, len) == XROCE_ENCAP_ROCE &&
			  xroce_parse(&pkt, e.bth, p + len, e.len) == XROCE_PARSE_OK &&
			  pkt.opcode == XROCE_FLUSH, "frame %d is no FLUSH", n);
		if (bad)
			break;
		TAP_CHECK(bad, icrc(&e) != stored(&e), "frame %d: its ICRC is right", n);
		TAP_CHECK(bad, ~packet_crc(~icrc(&e), e.bth, e.len - XROCE_ICRC_SIZE) ==
			  stored(&e), "frame %d: nor is it rdma_rxe's", n);
	}
	tap_ok(!bad && n == 3, "rxe_flush: %d FLUSHes, their headers in the ICRC twice", n);
	pcap_close(&pc);
}

static void icrc_seed(void)
{
	u8 ones[8];

	memset(ones, 0xff, sizeof(ones));
	tap_ok(packet_crc(0xffffffff, ones, 8) == XROCE_ICRC_SEED,
	       "the seed stands for 8 bytes of ones");
}

int main(int argc, char **argv)
{
	const char *dir = argc > 1 ? argv[1] : "../vectors";

	tap_start();
	icrc_seed();
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		one_file(i, dir);
	flush_of_rxe(dir);
	return tap_end();
}
