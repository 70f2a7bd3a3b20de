// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The transport core's own net.c: its ICRC against every captured frame, both
 * ways, and the packets that it builds against a builder of this test's own.
 */
#include "core.h"
#include <xroce/frame.h>
#include <packet.h>
#include <pcap.h>
#include <tap.h>

static u8 frame[8192];
static u32 split;		/* bytes in a frame's first segment */

/* What net.c needs of its surroundings. */

struct xroce_frame *xroce_env_frame(struct xroce_qp *qp, u32 len)
{
	struct xroce_frame *f = calloc(1, sizeof(*f));
	u32 first = min(len, split);

	(void)qp;
	f->len = len;
	f->seg[0].p = malloc(first);
	f->seg[0].len = first;
	f->seg[1].p = malloc(len - first + 1);
	f->seg[1].len = len - first;
	return f;
}

u32 xroce_env_crc(u32 crc, const void *p, u32 len)
{
	return packet_crc(crc, p, len);
}

static const u8 *rx_bth;

u32 xroce_env_rx_crc(struct xroce_rx *rx, u32 crc, u32 off, u32 len)
{
	(void)rx;
	return packet_crc(crc, rx_bth + off, len);
}

void xroce_env_read(struct xroce_rx *rx, u32 off, void *dst, u32 len)
{
	(void)rx;
	memcpy(dst, rx_bth + off, len);
}

static void frame_free(struct xroce_frame *f)
{
	free(f->seg[0].p);
	free(f->seg[1].p);
	free(f);
}

static bool frame_is(const struct xroce_frame *f, const u8 *p, u32 len)
{
	return f->len == len && !memcmp(f->seg[0].p, p, f->seg[0].len) &&
	       !memcmp(f->seg[1].p, p + f->seg[0].len, f->seg[1].len);
}

static bool received_ok(const struct xroce_encap *e)
{
	struct xroce_rx rx = { .l3 = e->l3, .len = e->len };

	rx_bth = e->bth;
	return xroce_rx_icrc_ok(&rx);
}

static bool icrc_ok(struct xroce_rx *rx, struct xroce_known *known)
{
	rx->known = known;
	rx->is = known ? xroce_known_find(known, rx->l3, rx_bth) : NULL;
	return xroce_rx_icrc_ok(rx);
}

/* The same as we would send it: without an identification, its ICRC made anew. */
static struct xroce_encap unidentified(const struct xroce_encap *e)
{
	static u8 buf[sizeof(frame)];
	u32 head = e->bth - e->l3;
	struct xroce_encap is = *e;

	memcpy(buf, e->l3, head + e->len);
	if (buf[0] >> 4 == 4)
		packet_put16(buf + 4, 0);
	packet_seal(buf, e->len);
	is.l3 = buf;
	is.bth = buf + head;
	return is;
}

/* One with an identification does not come again, and is not kept. */
static bool unkept_ok(const struct xroce_encap *e)
{
	static struct xroce_known known[XROCE_KNOWN];
	struct xroce_rx rx = { .l3 = e->l3, .len = e->len };

	rx_bth = e->bth;
	return e->l3[0] >> 4 == 4 && packet_get16(e->l3 + 4) &&
	       icrc_ok(&rx, known) && !rx.is && icrc_ok(&rx, known) && !rx.is;
}

/*
 * A head that was seen is as good as computed anew, and one that differs from it
 * in any byte is not taken for it.
 */
static bool known_ok(const struct xroce_encap *e)
{
	static struct xroce_known known[XROCE_KNOWN];
	u32 i, head = e->bth - e->l3, len = head + e->len;
	u8 *p = malloc(len);
	struct xroce_rx rx = { .l3 = p, .len = e->len };
	bool ok = true;

	memcpy(p, e->l3, len);
	rx_bth = p + head;
	for (i = 0; i < head + 12; i++) {
		ok &= icrc_ok(&rx, known) && icrc_ok(&rx, known) && rx.is;
		/* Of another version it would be of another length. */
		p[i] ^= i ? 0x81 : 0x01;
		/* From the PSN on it is not of the head. */
		ok &= !!xroce_known_find(known, p, rx_bth) == (i >= head + 8);
		ok &= icrc_ok(&rx, known) == icrc_ok(&rx, NULL);
		p[i] = e->l3[i];
	}
	free(p);
	return ok;
}

/*
 * What is kept of a packet that changes after it was parsed is that of the packet that
 * it has become, or nothing but its CRC.
 */
static bool changed_ok(const struct xroce_encap *e)
{
	static struct xroce_known known[XROCE_KNOWN];
	u32 i, head = e->bth - e->l3, len = head + e->len, kept = 0;
	const struct xroce_known *k = NULL;
	u8 *p = malloc(len);
	struct xroce_rx rx = { .l3 = p, .len = e->len, .whole = len };
	struct xroce_pkt pkt = {};
	bool ok = true;

	memcpy(p, e->l3, len);
	rx_bth = p + head;
	if (xroce_parse(&rx.pkt, rx_bth, p + len, rx.len))
		return false;
	/* Of another version it would be of another length; and last as it was */
	for (i = 1; i <= head + 8; i++) {
		if (i < head + 8)
			p[i] ^= 0x81;
		rx.known = known;
		rx.is = NULL;
		xroce_rx_icrc_ok(&rx);
		k = rx.is;
		if (k && k->len) {
			kept++;
			ok &= k->len == e->len && k->whole == len &&
			      !xroce_parse(&pkt, rx_bth, p + len, rx.len) &&
			      !memcmp(&pkt, k->pkt, sizeof(k->pkt));
		}
		p[i] = e->l3[i];
	}
	free(p);
	/* addresses, ports, and nothing changed at all */
	return ok && k->len && kept > 12 && kept < head;
}

/* Seal a captured packet anew: the same bytes come out. */
static bool sealed_ok(const struct xroce_encap *e)
{
	u32 len = e->bth + e->len - e->l3;
	struct xroce_frame *f = xroce_env_frame(NULL, len);
	bool ok;

	xroce_frame_write(f, 0, e->l3, len - 4);
	xroce_frame_write(f, len - 4, "none", 4);
	f->bth = e->bth - e->l3;
	f->crc = xroce_icrc_start(e->l3);
	xroce_frame_seal(f);
	ok = frame_is(f, e->l3, len);
	frame_free(f);
	return ok;
}

static int one_capture(const char *name, int *bad)
{
	struct pcap pc;
	const u8 *p;
	int n = 0;
	u32 len;

	if (!pcap_vector(&pc, "../vectors", name))
		return 0;
	while ((p = pcap_next(&pc, &len))) {
		struct xroce_encap e, ours;

		if (xroce_encap_parse(&e, p, p + len, len) != XROCE_ENCAP_ROCE)
			continue;
		n++;
		TAP_CHECK(*bad, received_ok(&e), "%s %d: not accepted", name, n);
		TAP_CHECK(*bad, unkept_ok(&e), "%s %d: kept", name, n);
		ours = unidentified(&e);
		TAP_CHECK(*bad, received_ok(&ours), "%s %d: not ours", name, n);
		TAP_CHECK(*bad, known_ok(&ours), "%s %d: otherwise when known",
			  name, n);
		TAP_CHECK(*bad, changed_ok(&ours), "%s %d: known for what it was",
			  name, n);
		for (split = 128; split < 4096; split += 1000)
			TAP_CHECK(*bad, sealed_ok(&e), "%s %d: sealed otherwise",
				  name, n);
		/* Any one bit of the ICRC, and one of what it covers */
		memcpy(frame, p, len);
		xroce_encap_parse(&e, frame, frame + len, len);
		for (int bit = 0; bit < 32; bit++) {
			frame[len - 1 - bit / 8] ^= 1 << bit % 8;
			TAP_CHECK(*bad, !received_ok(&e),
				  "%s %d: accepted with bit %d changed", name, n,
				  bit);
			frame[len - 1 - bit / 8] ^= 1 << bit % 8;
		}
		frame[e.bth - frame + 9] ^= 1;
		TAP_CHECK(*bad, !received_ok(&e), "%s %d: any PSN", name, n);
	}
	pcap_close(&pc);
	return n;
}

static void captures(void)
{
	static const char * const names[] = {
		"pingpong_rc", "pingpong_uc", "pingpong_ud", "rdma_send_bw",
		"rdma_write_bw", "rdma_read_bw", "rdma_atomic_bw", "rdma_cm",
		"rping",
	};
	int bad = 0, n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		n += one_capture(names[i], &bad);
	tap_ok(!bad && n == 271, "the ICRC of %d captured frames, both ways", n);
}

/* The same packet as the builder's, but for the ICRC before it is sealed. */
static void build_one(int *bad, u8 version, u8 op, u32 ext, u32 payload)
{
	struct packet pk = {
		.version = version, .opcode = op, .hdr = ext,
		.payload = payload, .psn = 0xfffffe, .qpn = 0xabcdef,
	};
	u32 len = packet_make(&pk, frame);
	struct xroce_encap e;
	struct xroce_qp qp = { .pkey = 0xffff };
	u8 sgid[16], dgid[16];
	struct xroce_frame *f;

	if (xroce_encap_parse(&e, frame, frame + len, len) != XROCE_ENCAP_ROCE) {
		TAP_CHECK(*bad, false, "the builder's frame is not RoCEv2");
		return;
	}
	qp.hot.dest_qpn = pk.qpn;
	xroce_encap_sgid(&e, sgid);
	xroce_encap_dgid(&e, dgid);
	xroce_av_set(&qp.av, sgid, dgid, 0, payload, 0, 0xc000);
	xroce_av_set_hops(&qp.av, 64);
	f = xroce_frame_new(&qp, op, pk.psn, ext, payload);
	xroce_frame_ext(f, e.bth + 12, ext, 0);
	TAP_CHECK(*bad, f->payload == e.bth + 12 + ext - e.l3,
		  "op %02x: payload at %u", op, f->payload);
	xroce_frame_write(f, f->payload, e.bth + 12 + ext, payload);
	xroce_frame_seal(f);
	TAP_CHECK(*bad, frame_is(f, e.l3, frame + len - e.l3),
		  "IPv%u op %02x, %u + %u bytes, split at %u", version, op, ext,
		  payload, split);
	frame_free(f);

	/* With AckReq, which is set when sealed */
	f = xroce_frame_new(&qp, op, pk.psn, ext, payload);
	xroce_frame_ext(f, e.bth + 12, ext, 0);
	xroce_frame_write(f, f->payload, e.bth + 12 + ext, payload);
	f->ackreq = true;
	xroce_frame_seal(f);
	frame[e.bth - frame + 8] |= 0x80;
	packet_seal(frame + (e.l3 - frame), e.len);
	TAP_CHECK(*bad, frame_is(f, e.l3, frame + len - e.l3),
		  "IPv%u op %02x with AckReq", version, op);
	/* And it is for its peer, from its peer's view */
	TAP_CHECK(*bad, !xroce_av_match(&qp.av, e.l3), "its own packet is its peer's");
	xroce_av_set(&qp.av, dgid, sgid, 0, 64, 0, 0xc000);
	TAP_CHECK(*bad, xroce_av_match(&qp.av, e.l3), "its peer's is not");
	frame_free(f);
}

static void build(void)
{
	static const struct {
		u8 op;
		u8 ext;
		bool payload;
	} ops[] = {
		{ 0x04, 0, true }, { 0x05, 4, true }, { 0x0b, 20, true },
		{ 0x0c, 16, false }, { 0x10, 4, true }, { 0x11, 4, false },
		{ 0x12, 12, false }, { 0x14, 28, false },
	};
	static const u32 sizes[] = { 0, 1, 2, 3, 4, 5, 63, 64, 65, 1023, 4096 };
	int bad = 0;

	for (split = 128; split < 9000; split = split * 3 + 1)
		for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
			for (size_t j = 0; j < ARRAY_SIZE(sizes); j++) {
				if (sizes[j] && !ops[i].payload)
					break;
				build_one(&bad, 4, ops[i].op, ops[i].ext,
					  sizes[j]);
				build_one(&bad, 6, ops[i].op, ops[i].ext,
					  sizes[j]);
			}
	tap_ok(!bad, "packets are built as the specification says");
}

int main(void)
{
	tap_start();
	captures();
	build();
	return tap_end();
}
