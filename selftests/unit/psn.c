// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * 24-bit sequence numbers, and the rules that compare them: each distance on
 * the circle, from places near its seams.
 */
#include <xroce/hot.h>
#include <tap.h>

#define M 0x1000000u
#define HALF 0x800000u

static const u32 places[] = {
	0, 1, 2, HALF - 1, HALF, HALF + 1, M - 2, M - 1, 0x123456,
};

static void diff(void)
{
	int bad = 0;
	u32 d;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		for (d = 0; d < M; d += d < 300 || d > M - 300 ||
		     (d > HALF - 300 && d < HALF + 300) ? 1 : 251) {
			u32 b = places[i], a = (b + d) % M;
			s32 should = d < HALF ? (s32)d : (s32)d - (s32)M;

			TAP_CHECK(bad, xroce_psn_diff(a, b) == should,
				  "%#x - %#x is %d", a, b, xroce_psn_diff(a, b));
			TAP_CHECK(bad, xroce_psn_add(b, d) == a,
				  "%#x + %#x is %#x", b, d, xroce_psn_add(b, d));
			/* Bits above the 24th are nobody's */
			TAP_CHECK(bad, xroce_psn_diff(a | 0xff000000, b) == should,
				  "%#x - %#x with upper bits", a, b);
		}
	tap_ok(!bad, "distance and sum");
}

static void seq(void)
{
	struct xroce_hot hot = { 0 };
	int bad = 0;
	u32 psn;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		hot.epsn = places[i];
		for (psn = 0; psn < M; psn++) {
			u32 ahead = (psn - hot.epsn) % M;
			int should = !ahead ? XROCE_SEQ_NEXT : ahead < HALF ?
				XROCE_SEQ_GAP : XROCE_SEQ_DUP;

			TAP_CHECK(bad, (int)xroce_resp_seq(&hot, psn) == should,
				  "epsn %#x psn %#x", hot.epsn, psn);
		}
	}
	tap_ok(!bad, "where a request stands, for every PSN");
}

static void ack(void)
{
	/* Nothing, few and as many outstanding as there may be */
	static const u32 outstanding[] = { 0, 1, 2, 64, 65536, HALF - 1 };
	struct xroce_hot hot = { 0 };
	int bad = 0;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		for (size_t j = 0; j < 6; j++) {
			hot.una = places[i];
			hot.max = (hot.una + outstanding[j]) % M;
			for (u32 d = 0; d < M; d++) {
				u32 psn = (hot.una + d) % M;
				int should = d < outstanding[j] ? XROCE_ACK_NEW :
					d < HALF ? XROCE_ACK_GHOST : XROCE_ACK_OLD;

				TAP_CHECK(bad, (int)xroce_req_ack(&hot, psn) == should,
					  "una %#x max %#x psn %#x",
					  hot.una, hot.max, psn);
				/* Dense near the seams, coarse between */
				if (d > 70000 && d < HALF - 300)
					d += 997;
				else if (d > HALF + 300 && d < M - 1300)
					d += 997;
			}
		}
	tap_ok(!bad, "what an ACK says, around the window's ends");
}

int main(void)
{
	tap_start();
	diff();
	seq();
	ack();
	return tap_end();
}
