// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The rules over a QP's hot block beside PSNs: which request may follow which,
 * how long each may be, and what an executed one changes.
 */
#include <string.h>
#include <xroce/hot.h>
#include <tap.h>

enum { NONE, IN_SEND, IN_WRITE, STATES };

static const u32 msg_of[STATES] = { 0, XROCE_OP_SEND, XROCE_OP_WRITE };

/*
 * The specification's table of valid successors (9.7.4.1.2), by hand: the state
 * after the opcode, or -1 where it may not come.
 */
static int next_state(int state, u8 op)
{
	switch (op) {
	case 0x00:			/* SEND first */
		return state == NONE ? IN_SEND : -1;
	case 0x01:			/* SEND middle */
		return state == IN_SEND ? IN_SEND : -1;
	case 0x02: case 0x03: case 0x16:	/* SEND last */
		return state == IN_SEND ? NONE : -1;
	case 0x06:			/* WRITE first */
		return state == NONE ? IN_WRITE : -1;
	case 0x07:			/* WRITE middle */
		return state == IN_WRITE ? IN_WRITE : -1;
	case 0x08: case 0x09:		/* WRITE last */
		return state == IN_WRITE ? NONE : -1;
	case 0x04: case 0x05: case 0x17:	/* only */
	case 0x0a: case 0x0b:
	case 0x0c: case 0x13: case 0x14:
	case 0x1c: case 0x1d:
		return state == NONE ? NONE : -1;
	}
	return -1;
}

static void order(void)
{
	int bad = 0, n = 0;

	for (int state = 0; state < STATES; state++)
		for (int op = 0; op < 32; op++) {
			u32 info = xroce_op_info(op);
			struct xroce_hot hot = {
				.epsn = 0xffffff, .msn = 0xffffff,
				.msg = msg_of[state],
				.resp_flags = XROCE_RESP_GAP | XROCE_RESP_RNR |
					      XROCE_RESP_ACK,
			};
			struct xroce_hot old = hot;
			int next = next_state(state, op);
			bool ok = xroce_resp_order(&hot, info), last;

			if (!(info & XROCE_OP_REQUEST))
				continue;
			n++;
			TAP_CHECK(bad, ok == (next >= 0), "state %d op %02x: %d",
				  state, op, ok);
			if (!ok || next < 0)
				continue;
			last = next == NONE;
			xroce_resp_advance(&hot, info, 3);
			TAP_CHECK(bad, hot.epsn == 2, "op %02x: epsn %#x", op,
				  hot.epsn);
			TAP_CHECK(bad, hot.msn == (last ? 0 : 0xffffff),
				  "op %02x: msn %#x", op, hot.msn);
			TAP_CHECK(bad, hot.msg == msg_of[next],
				  "state %d op %02x: msg %#x", state, op, hot.msg);
			TAP_CHECK(bad, hot.resp_flags == XROCE_RESP_ACK,
				  "op %02x: flags %#x", op, hot.resp_flags);
			/* The requester's half is not the responder's business */
			old.epsn = hot.epsn;
			old.msn = hot.msn;
			old.msg = hot.msg;
			old.resp_flags = hot.resp_flags;
			TAP_CHECK(bad, !memcmp(&old, &hot, sizeof(hot)),
				  "op %02x: touched more", op);
		}
	tap_ok(!bad && n == 3 * 19, "which request may follow which (%d)", n);
}

static void lengths(void)
{
	int bad = 0, n = 0;

	for (u32 mtu = 256; mtu <= 4096; mtu *= 2)
		for (int op = 0; op < 32; op++) {
			u32 info = xroce_op_info(op);
			bool first, last;

			if (!(info & XROCE_OP_PAYLOAD))
				continue;
			first = info & XROCE_OP_FIRST;
			last = info & XROCE_OP_LAST;
			for (u32 len = 0; len <= mtu + 8; len++, n++) {
				bool should = len <= mtu;

				if (!last && len != mtu)
					should = false;
				if (last && !first && !len)
					should = false;
				TAP_CHECK(bad, xroce_len_ok(info, len, mtu) == should,
					  "op %02x mtu %u len %u", op, mtu, len);
			}
			TAP_CHECK(bad, !xroce_len_ok(info, 0xffffffff, mtu),
				  "op %02x mtu %u len 2^32 - 1", op, mtu);
		}
	tap_ok(!bad && n, "payload length by place and MTU (%d)", n);
}

/* BPF may have written anything there: the rules still only compare. */
static void any_value(void)
{
	struct xroce_hot hot;
	int bad = 0;
	u32 x = 1;

	for (int i = 0; i < 200000; i++) {
		for (size_t j = 0; j < sizeof(hot); j++) {
			x = x * 1664525 + 1013904223;
			((u8 *)&hot)[j] = x >> 24;
		}
		TAP_CHECK(bad, xroce_resp_seq(&hot, x) <= XROCE_SEQ_GAP &&
			  xroce_req_ack(&hot, x) <= XROCE_ACK_GHOST,
			  "round %d: no such verdict", i);
		xroce_resp_order(&hot, xroce_op_info(x));
		xroce_resp_advance(&hot, xroce_op_info(x) | XROCE_OP_LAST, x);
		TAP_CHECK(bad, hot.epsn <= XROCE_PSN_MASK &&
			  hot.msn <= XROCE_PSN_MASK && !hot.msg,
			  "round %d: not a PSN", i);
	}
	tap_ok(!bad, "any value in the block is safe");
}

/* What was refused before tells the peer that it gets on, though nobody asks. */
static void unasked(void)
{
	static const u8 refused[] = { 0, XROCE_RESP_GAP, XROCE_RESP_RNR };
	u32 info = xroce_op_info(0x04);
	int bad = 0;

	for (u32 i = 0; i < 2 * ARRAY_SIZE(refused); i++) {
		struct xroce_hot hot = { .resp_flags = refused[i / 2] };
		u8 want = i % 2 || i / 2 ? XROCE_RESP_ACK : 0;

		xroce_resp_done(&hot, info, 1, i % 2);
		TAP_CHECK(bad, hot.resp_flags == want, "flags %x, asked %u: %x",
			  refused[i / 2], i % 2, hot.resp_flags);
	}
	tap_ok(!bad, "an ACK when asked for, and of what was refused");
}

int main(void)
{
	tap_start();
	order();
	lengths();
	unasked();
	any_value();
	return tap_end();
}
