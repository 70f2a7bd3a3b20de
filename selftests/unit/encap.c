// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Ethernet, VLAN, IP and UDP around a RoCEv2 packet: every kind of frame, and
 * each of them cut at every byte, in a buffer of just its size.
 */
#include <stdlib.h>
#include <cases.h>
#include <tap.h>

static u8 frame[FRAME_MAX];

static bool addresses(const struct xroce_encap *e, const struct packet *pk)
{
	u8 want[2][16] = { { 0xfd, 0x77 }, { 0xfd, 0x77 } };
	u8 sgid[16], dgid[16];

	if (pk->version == 4)
		for (int i = 0; i < 2; i++) {
			memset(want[i], 0, 16);
			memset(want[i] + 10, 0xff, 2);
			want[i][12] = 10;
			want[i][13] = 77;
		}
	want[0][15] = pk->src;
	want[1][15] = pk->dst;
	xroce_encap_sgid(e, sgid);
	xroce_encap_dgid(e, dgid);
	return !memcmp(sgid, want[0], 16) && !memcmp(dgid, want[1], 16);
}

static void one(const struct frame_case *c)
{
	struct packet pk;
	struct xroce_encap e;
	u32 len = frame_make(c, frame, &pk);
	u8 *p = malloc(len);
	int is, bad = 0;

	memcpy(p, frame, len);
	memset(&e, 0xa5, sizeof(e));
	is = xroce_encap_parse(&e, p, p + len, len);
	TAP_CHECK(bad, is == (int)c->is, "is %d, not %d", is, c->is);
	if (is != XROCE_ENCAP_OTHER) {
		TAP_CHECK(bad, e.l3 == p + pk.l3 && e.l4 == p + pk.l4 &&
			  e.bth == p + pk.bth, "offsets");
		TAP_CHECK(bad, e.version == pk.version, "version %u", e.version);
		TAP_CHECK(bad, addresses(&e, &pk), "addresses");
		TAP_CHECK(bad, e.ecn == pk.ecn, "ECN %u", e.ecn);
		TAP_CHECK(bad, e.opts == (pk.opts || pk.n_ext), "options");
		TAP_CHECK(bad, frame_verdict(&e, is, p + len) == c->stat, "verdict %d",
			  frame_verdict(&e, is, p + len));
	}
	if (is == XROCE_ENCAP_ROCE)
		TAP_CHECK(bad, e.len == packet_get16(frame + pk.l4 + 4) - 8,
			  "length %u", e.len);
	free(p);
	tap_ok(!bad, "%s", c->name);
}

/*
 * Cut short, nothing is read past the end; and cut where only the first buffer
 * ends, the verdict is the same or that the headers are not there.
 */
static void shortened(void)
{
	struct packet pk;
	struct xroce_encap e;
	int bad = 0;

	for (size_t i = 0; i < ARRAY_SIZE(frame_cases); i++) {
		const struct frame_case *c = &frame_cases[i];
		u32 len = frame_make(c, frame, &pk), n;

		for (n = 0; n <= len && n <= 2200; n++) {
			u8 *p = malloc(n ? n : 1);
			int is;

			memcpy(p, frame, n);
			is = xroce_encap_parse(&e, p, p + n, n);
			if (is == XROCE_ENCAP_ROCE)
				TAP_CHECK(bad, e.bth + e.len <= p + n,
					  "%s: past %u bytes", c->name, n);
			is = xroce_encap_parse(&e, p, p + n, len);
			TAP_CHECK(bad, is == (int)c->is || is == XROCE_ENCAP_OTHER,
				  "%s: first %u bytes are %d", c->name, n, is);
			if (n < pk.l4 + 8)
				TAP_CHECK(bad, is == XROCE_ENCAP_OTHER,
					  "%s: UDP seen in %u bytes", c->name, n);
			free(p);
		}
	}
	tap_ok(!bad, "every frame cut at every byte");
}

/* rdmatool meets captures without Ethernet. */
static void bare_ip(void)
{
	struct packet pk;
	struct xroce_encap e;
	int bad = 0;

	for (size_t i = 0; i < ARRAY_SIZE(frame_cases); i++) {
		const struct frame_case *c = &frame_cases[i];
		u32 len = frame_make(c, frame, &pk);
		int is;

		if (c->edit[0].n && c->edit[0].part == ETH)
			continue;
		if (len < pk.l3 || pk.tags > 2)
			continue;
		is = xroce_encap_ip(&e, frame + pk.l3, frame + len, len - pk.l3);
		TAP_CHECK(bad, is == (int)c->is, "%s: %d", c->name, is);
	}
	tap_ok(!bad, "IP without Ethernet");
	tap_ok(xroce_encap_ip(&e, frame, frame, 0) == XROCE_ENCAP_OTHER,
	       "nothing at all");
}

int main(void)
{
	tap_start();
	for (size_t i = 0; i < ARRAY_SIZE(frame_cases); i++)
		one(&frame_cases[i]);
	shortened();
	bare_ip();
	return tap_end();
}
