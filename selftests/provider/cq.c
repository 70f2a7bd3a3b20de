// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The provider's completion queues against a fake kernel, under ASan and UBSan:
 * polling by both ways, arming, and what is left of a QP that is gone.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"
#include <tap.h>

#define NEAR_WRAP	0xfffffffau
#define DEPTH		8

static struct xroce_cq *cq;
static struct xroce_ring *ring;

static void set_up(struct ibv_cq_init_attr_ex *attr)
{
	static struct ibv_cq_init_attr_ex all = {
		.cqe = DEPTH,
		.wc_flags = IBV_WC_STANDARD_FLAGS |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
	};

	fake_reset();
	cq = to_xcq_ex(xroce_create_cq_ex(&fake_ctx, attr ? attr : &all));
	ring = fake_ring_of(&cq->map);
	cq->cons = NEAR_WRAP;
	ring->cons = NEAR_WRAP;
	ring->prod = NEAR_WRAP;
}

static void tear_down(void)
{
	xroce_destroy_cq(&cq->vcq.cq);
}

static struct xroce_cqe *slot(uint32_t n)
{
	return (struct xroce_cqe *)ring->slot + (n & (DEPTH - 1));
}

/* Each field of element @n tells it from all others */
static void put(uint32_t qpn)
{
	uint32_t n = ring->prod++;

	*slot(n) = (struct xroce_cqe) {
		.wr_id = n * 0x100000001ull,
		.qpn = qpn,
		.byte_len = n + 1,
		.status = n % 22,
		.opcode = n & 1 ? XROCE_WC_RECV_RDMA_WITH_IMM :
				  XROCE_WC_FETCH_ADD,
		.flags = XROCE_WC_WITH_IMM,
		.sl = n % 8,
		.imm = htobe32(n + 3),
		.src_qp = n + 4,
		.timestamp = n + 7,
	};
}

static bool is(const struct ibv_wc *wc, uint32_t n, uint32_t qpn)
{
	return wc->wr_id == n * 0x100000001ull && wc->qp_num == qpn &&
	       wc->byte_len == n + 1 && wc->status == n % 22 &&
	       wc->opcode == (n & 1 ? IBV_WC_RECV_RDMA_WITH_IMM :
				      IBV_WC_FETCH_ADD) &&
	       wc->wc_flags == IBV_WC_WITH_IMM && wc->sl == n % 8 &&
	       wc->imm_data == htobe32(n + 3) && wc->src_qp == n + 4 &&
	       !wc->vendor_err && !wc->pkey_index && !wc->slid && !wc->dlid_path_bits;
}

static int poll_cq(int n, struct ibv_wc *wc)
{
	memset(wc, 0xee, 16 * sizeof(*wc));
	return xroce_poll_cq(&cq->vcq.cq, n, wc);
}

static void test_poll(void)
{
	uint32_t next = NEAR_WRAP;
	struct ibv_wc wc[16];
	int bad = 0, i, k, n;

	set_up(NULL);
	TAP_CHECK(bad, poll_cq(16, wc) == 0 && ring->cons == NEAR_WRAP,
		  "something in an empty CQ");
	for (i = 0; i < 8; i++)
		put(9);
	TAP_CHECK(bad, poll_cq(0, wc) == 0 && poll_cq(-1, wc) == 0 &&
		  ring->cons == NEAR_WRAP, "something when asked for nothing");
	for (i = 1; next != ring->prod; i++) {
		n = poll_cq(i, wc);
		TAP_CHECK(bad, n == (i < 4 ? i : 2), "%d of %d", n, i);
		for (k = 0; k < n; k++, next++)
			TAP_CHECK(bad, is(&wc[k], next, 9), "element %#x", next);
		TAP_CHECK(bad, wc[n].wr_id == 0xeeeeeeeeeeeeeeee,
			  "written past what was returned");
		TAP_CHECK(bad, ring->cons == next, "index %#x, not %#x",
			  ring->cons, next);
	}
	tear_down();
	tap_ok(!bad, "poll returns what is there, whole and in order");
}

static void test_extended(void)
{
	struct ibv_poll_cq_attr none = {}, some = { .comp_mask = 1 };
	struct ibv_cq_init_attr_ex bare = {
		.cqe = DEPTH,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
	};
	struct ibv_cq_ex *ex;
	struct ibv_wc wc[16];
	int bad = 0, i, err;

	set_up(NULL);
	ex = &cq->vcq.cq_ex;
	TAP_CHECK(bad, fake.wc_flags == IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
		  "the time is not asked for");
	TAP_CHECK(bad, ibv_start_poll(ex, &some) == EINVAL, "unknown attributes");
	TAP_CHECK(bad, ibv_start_poll(ex, &none) == ENOENT, "an empty CQ");
	for (i = 0; i < 5; i++)
		put(9);
	err = ibv_start_poll(ex, &none);
	/* An event may be asked for meanwhile. */
	TAP_CHECK(bad, !xroce_req_notify_cq(&cq->vcq.cq, 0), "not armed inside a poll");
	for (i = 0; !err; i++, err = ibv_next_poll(ex)) {
		struct ibv_wc w;

		/* What was given back is the kernel's */
		memset(slot(NEAR_WRAP + i), 0x55, sizeof(struct xroce_cqe));
		w = (struct ibv_wc) {
			.wr_id = ex->wr_id,
			.status = ex->status,
			.opcode = ibv_wc_read_opcode(ex),
			.vendor_err = ibv_wc_read_vendor_err(ex),
			.byte_len = ibv_wc_read_byte_len(ex),
			.imm_data = ibv_wc_read_imm_data(ex),
			.qp_num = ibv_wc_read_qp_num(ex),
			.src_qp = ibv_wc_read_src_qp(ex),
			.wc_flags = ibv_wc_read_wc_flags(ex),
			.slid = ibv_wc_read_slid(ex),
			.sl = ibv_wc_read_sl(ex),
			.dlid_path_bits = ibv_wc_read_dlid_path_bits(ex),
		};

		TAP_CHECK(bad, is(&w, NEAR_WRAP + i, 9), "element %d", i);
		TAP_CHECK(bad, ibv_wc_read_completion_ts(ex) ==
			  (uint32_t)(NEAR_WRAP + i + 7), "time of %d", i);
		TAP_CHECK(bad, ring->cons == NEAR_WRAP + i + 1,
			  "no room for what is posted in the slot of %d", i);
		if (i == 4)	/* one that comes meanwhile is had too */
			put(9);
		if (i == 5)
			put(8);
		if (i == 5)	/* .. or left, by ending early */
			break;
	}
	ibv_end_poll(ex);
	TAP_CHECK(bad, i == 5 && ring->cons == NEAR_WRAP + 6,
		  "ended at %d, index %#x", i, ring->cons);
	TAP_CHECK(bad, poll_cq(16, wc) == 1 && is(wc, NEAR_WRAP + 6, 8),
		  "what an early end left is lost");
	put(7);
	TAP_CHECK(bad, !ibv_start_poll(ex, &none) &&
		  ibv_next_poll(ex) == ENOENT, "a second element of one");
	ibv_end_poll(ex);
	TAP_CHECK(bad, poll_cq(16, wc) == 0, "an element had twice");
	tear_down();

	set_up(&bare);
	ex = &cq->vcq.cq_ex;
	TAP_CHECK(bad, !fake.wc_flags, "the time is asked for");
	TAP_CHECK(bad, !ex->read_byte_len && !ex->read_imm_data &&
		  !ex->read_qp_num && !ex->read_src_qp && !ex->read_slid &&
		  !ex->read_sl && !ex->read_dlid_path_bits &&
		  !ex->read_completion_ts, "more than was asked for");
	put(1);
	put(1);
	TAP_CHECK(bad, !ibv_start_poll(ex, &none) &&
		  poll_cq(16, wc) == 1, "single-threaded and yet locked");
	tear_down();
	tap_ok(!bad, "the extended poll gives each element and has room for the next");
}

static void test_arm(void)
{
	int bad = 0;

	set_up(NULL);
	xroce_req_notify_cq(&cq->vcq.cq, 1);
	TAP_CHECK(bad, ring->arm == XROCE_ARM_SOLICITED, "solicited");
	xroce_req_notify_cq(&cq->vcq.cq, 0);
	TAP_CHECK(bad, ring->arm == XROCE_ARM_NEXT, "next after solicited");
	xroce_req_notify_cq(&cq->vcq.cq, 1);
	TAP_CHECK(bad, ring->arm == XROCE_ARM_NEXT, "solicited weakens next");
	ring->arm = XROCE_ARM_NONE;
	xroce_req_notify_cq(&cq->vcq.cq, 77);
	TAP_CHECK(bad, ring->arm == XROCE_ARM_SOLICITED, "any value is true");
	TAP_CHECK(bad, !fake.armed, "a call for an empty queue");
	tear_down();
	tap_ok(!bad, "arming asks for what was asked");
}

/* What is there is made an event of by a call, unless one has told of it. */
static void test_there(void)
{
	struct ibv_poll_cq_attr none = {};
	struct ibv_cq_ex *ex;
	struct ibv_cq *ibcq;
	struct ibv_wc wc[16];
	int bad = 0;

	set_up(NULL);
	ibcq = &cq->vcq.cq;
	ex = &cq->vcq.cq_ex;
	put(1);
	TAP_CHECK(bad, !xroce_req_notify_cq(ibcq, 1) && fake.armed == 1 &&
		  fake.solicited_only == 1, "no call: %d", fake.armed);
	TAP_CHECK(bad, !xroce_req_notify_cq(ibcq, 0) && fake.armed == 2 &&
		  fake.solicited_only == 0, "nor for any: %d", fake.armed);
	fake.fail_cmd = EIO;
	TAP_CHECK(bad, xroce_req_notify_cq(ibcq, 0) == EIO, "an error lost");
	fake.fail_cmd = 0;
	fake.armed = 0;
	xroce_cq_event(ibcq);
	TAP_CHECK(bad, !xroce_req_notify_cq(ibcq, 0) && !fake.armed &&
		  ring->arm == XROCE_ARM_NEXT, "what an event told of, again");
	TAP_CHECK(bad, poll_cq(4, wc) == 1 && !fake.armed, "poll");
	TAP_CHECK(bad, !xroce_req_notify_cq(ibcq, 0) && !fake.armed, "nothing is there");
	put(1);
	TAP_CHECK(bad, !xroce_req_notify_cq(ibcq, 0) && fake.armed == 1,
		  "an event tells of what came after the poll: %d", fake.armed);
	xroce_cq_event(ibcq);
	put(1);
	TAP_CHECK(bad, !ibv_start_poll(ex, &none), "start");
	TAP_CHECK(bad, !xroce_req_notify_cq(ibcq, 0) && fake.armed == 1,
		  "a call inside a poll");
	ibv_end_poll(ex);
	TAP_CHECK(bad, fake.armed == 2, "what an extended poll left: %d", fake.armed);
	xroce_cq_event(ibcq);
	TAP_CHECK(bad, poll_cq(4, wc) == 1 && ibv_start_poll(ex, &none) == ENOENT,
		  "the rest");
	xroce_cq_event(ibcq);
	TAP_CHECK(bad, ibv_start_poll(ex, &none) == ENOENT, "nothing");
	put(1);
	TAP_CHECK(bad, !xroce_req_notify_cq(ibcq, 0) && fake.armed == 3,
		  "an empty extended poll is a poll: %d", fake.armed);
	tear_down();
	tap_ok(!bad, "what is there when it is asked for is told of");
}

/* Who has an event, asks for the next, and polls once: nobody else tells of the rest. */
static void test_rest(void)
{
	struct ibv_poll_cq_attr none = {};
	struct ibv_cq_ex *ex;
	struct ibv_cq *ibcq;
	struct ibv_wc wc[16];
	int bad = 0, i;

	set_up(NULL);
	ibcq = &cq->vcq.cq;
	ex = &cq->vcq.cq_ex;
	for (i = 0; i < 5; i++)
		put(1);
	xroce_cq_event(ibcq);
	TAP_CHECK(bad, poll_cq(1, wc) == 1 && !fake.armed, "none is asked for");
	xroce_cq_event(ibcq);
	TAP_CHECK(bad, !xroce_req_notify_cq(ibcq, 1) && !fake.armed, "before the poll");
	TAP_CHECK(bad, poll_cq(1, wc) == 1 && fake.armed == 1 && fake.solicited_only == 1,
		  "of what a poll leaves: %d", fake.armed);
	TAP_CHECK(bad, poll_cq(1, wc) == 1 && fake.armed == 1, "by the first poll alone");
	TAP_CHECK(bad, !ibv_start_poll(ex, &none) &&
		  !xroce_req_notify_cq(ibcq, 0) && fake.armed == 1, "in an extended poll");
	ibv_end_poll(ex);
	TAP_CHECK(bad, fake.armed == 2 && !fake.solicited_only, "at its end: %d", fake.armed);
	xroce_cq_event(ibcq);
	TAP_CHECK(bad, !xroce_req_notify_cq(ibcq, 0) && poll_cq(16, wc) == 1 &&
		  fake.armed == 2, "where nothing is left: %d", fake.armed);
	ring->arm = XROCE_ARM_NONE;
	put(1);
	put(1);
	xroce_cq_event(ibcq);
	TAP_CHECK(bad, poll_cq(1, wc) == 1 && fake.armed == 2, "the kernel has raised it");
	tear_down();
	tap_ok(!bad, "what a poll leaves is told of, where an event is asked for");
}

/* One that was solicited, and has moved to where the kernel knows of none. */
static void test_moved(void)
{
	struct ibv_cq *ibcq;
	struct ibv_wc wc[16];
	int bad = 0;

	set_up(NULL);
	ibcq = &cq->vcq.cq;
	put(2);
	put(1);
	put(2);
	xroce_cq_clean(cq, 1);
	TAP_CHECK(bad, !xroce_req_notify_cq(ibcq, 1) && fake.armed == 1 &&
		  !fake.solicited_only, "the kernel is asked for a solicited one");
	TAP_CHECK(bad, poll_cq(1, wc) == 1 && !xroce_req_notify_cq(ibcq, 1) &&
		  fake.armed == 2 && !fake.solicited_only, "nor for the second");
	put(2);
	TAP_CHECK(bad, poll_cq(1, wc) == 1 && !xroce_req_notify_cq(ibcq, 1) &&
		  fake.armed == 3 && fake.solicited_only, "what came later has not moved");
	TAP_CHECK(bad, ring->arm == XROCE_ARM_SOLICITED, "the next may be any");
	tear_down();
	tap_ok(!bad, "what another QP's end moves is told of");
}

/*
 * Every pattern of two QPs in a CQ of every fill, the first few polled already:
 * the other's are left, whole, in order.
 */
static void test_clean(void)
{
	unsigned int mask, n, k, left, got;
	struct ibv_wc wc[16];
	int bad = 0;

	for (n = 0; n <= DEPTH; n++) {
		for (mask = 0; mask < 1u << n; mask++) {
			set_up(NULL);
			put(1);
			put(2);
			poll_cq(2, wc);
			for (k = 0; k < n; k++)
				put(mask >> k & 1 ? 1 : 2);
			xroce_cq_clean(cq, 1);
			left = n - __builtin_popcount(mask);
			TAP_CHECK(bad, ring->prod - ring->cons == left,
				  "%u of %#x: %u left", n, mask,
				  ring->prod - ring->cons);
			got = poll_cq(16, wc);
			TAP_CHECK(bad, got == left, "polled %u", got);
			for (k = 0, got = 0; k < n; k++)
				if (!(mask >> k & 1))
					TAP_CHECK(bad, is(&wc[got++],
							  NEAR_WRAP + 2 + k, 2),
						  "%u of %#x: element %u", n,
						  mask, k);
			tear_down();
		}
	}
	tap_ok(!bad, "completions of a QP that is gone vanish, no others");
}

/*
 * The same in the middle of an extended poll, which who takes no lock may be in:
 * the element that is being read stays, whosesoever it is, and nothing is had twice.
 */
static void test_clean_in_poll(void)
{
	struct ibv_cq_init_attr_ex alone = {
		.cqe = DEPTH,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
	};
	struct ibv_poll_cq_attr none = {};
	unsigned int mask, n, at, k;
	struct ibv_cq_ex *ex;
	struct ibv_wc wc[16];
	int bad = 0, err;
	uint64_t wr_id;

	for (n = 1; n <= DEPTH; n++) {
		for (mask = 0; mask < 1u << n; mask++) {
			at = mask % n;
			set_up(&alone);
			ex = &cq->vcq.cq_ex;
			for (k = 0; k < n; k++)
				put(mask >> k & 1 ? 1 : 2);
			err = ibv_start_poll(ex, &none);
			for (k = 0; !err && k < at; k++)
				err = ibv_next_poll(ex);
			TAP_CHECK(bad, !err, "not there");
			xroce_cq_clean(cq, 1);
			for (k = at; !err; err = ibv_next_poll(ex)) {
				wr_id = (uint32_t)(NEAR_WRAP + k) * 0x100000001ull;
				TAP_CHECK(bad, k < n && ex->wr_id == wr_id &&
					  cq->cqe.wr_id == wr_id,
					  "%u of %#x: element %u", n, mask, k);
				for (k++; k < n && mask >> k & 1; k++)
					;
			}
			TAP_CHECK(bad, k == n, "%u of %#x: ended at %u", n, mask, k);
			ibv_end_poll(ex);
			TAP_CHECK(bad, ring->cons == ring->prod && !poll_cq(16, wc),
				  "%u of %#x: %u left", n, mask, ring->prod - ring->cons);
			tear_down();
		}
	}
	tap_ok(!bad, "nor in an extended poll, whose element stays");
}

int main(void)
{
	alarm(60);		/* a lock left taken */
	tap_start();
	test_poll();
	test_extended();
	test_arm();
	test_there();
	test_rest();
	test_clean();
	test_clean_in_poll();
	test_moved();
	return tap_end();
}
