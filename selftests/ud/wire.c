// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests whose other half is on the wire: address vectors, each with a message
 * that a capture knows by its immediate; and UC and UD over a network that loses.
 *
 * For each message of the former a line is printed that says what the packet must
 * be like: "expect IMM SL TCLASS FLOW-LABEL SOURCE-PORT HOP-LIMIT", a port of 0 for
 * any, a hop limit of 0 for the route's.
 */
#include <stdlib.h>
#include <unistd.h>

#include "ud.h"

/* Of a flow label 20 bits count, and a static rate does not, not even one of none. */
static const struct {
	uint8_t sl;
	uint8_t tclass;
	uint32_t flow;
	uint8_t hops;
	uint8_t rate;
} vectors[] = {
	{ 0, 0x00, 0, 0, 0 },
	{ 1, 0x28, 1, 1, 0 },
	{ 2, 0xb8, 0x3fff, 2, 0 },
	{ 3, 0xfc, 0x4000, 255, 0 },
	{ 4, 0x04, 0x12345, 64, 0 },
	{ 10, 0x80, 0xfffff, 63, 0 },
	{ 6, 0x48, 0x8001, 128, 0 },
	{ 7, 0xe0, 0xabcde, 17, 0 },
	{ 15, 0xff, 0xfff12345, 64, 255 },
	{ 5, 0x01, 0x100000, 1, IBV_RATE_MAX },
};

#define FLOW(i)	(vectors[i].flow & 0xfffff)

/* Annex A17, as ib_core has it: the upper bits of the label fold into the lower */
static uint32_t source_port(uint32_t flow)
{
	return flow ? ((flow & 0x3fff) ^ (flow >> 14)) | 0xc000 : 0;
}

/* RC heeds marks of congestion (ECT(0)), UC has no way to; a datagram's user may */
static uint8_t on_wire(enum ibv_qp_type type, uint8_t tclass)
{
	return type == IBV_QPT_UD ? tclass : (tclass & ~3) | (type == IBV_QPT_RC ? 2 : 0);
}

static bool vector(enum ibv_qp_type type, unsigned int i, uint32_t imm)
{
	struct msg m = { .op = IBV_WR_SEND_WITH_IMM, .off = SRC_OFF, .len = 64,
			 .imm = imm, .flags = IBV_SEND_SIGNALED, .qkey = QKEY };
	struct ibv_qp_attr attr;
	struct ibv_wc wc;
	struct ep p[2];
	int state;

	TRY(ep_make(&p[A], A, type, NULL) && ep_make(&p[B], B, type, NULL));
	attr = ep_attr(&p[A], &p[B], IBV_MTU_1024);
	attr.ah_attr.sl = vectors[i].sl;
	attr.ah_attr.grh.traffic_class = vectors[i].tclass;
	attr.ah_attr.grh.flow_label = vectors[i].flow;
	attr.ah_attr.grh.hop_limit = vectors[i].hops;
	attr.ah_attr.static_rate = vectors[i].rate;
	for (state = IBV_QPS_RESET; state < IBV_QPS_RTS; state++)
		NEED(!ep_step(&p[A], &attr, state, state + 1), "modify");
	TRY(ep_bring(&p[B], &p[A], IBV_MTU_1024, IBV_QPS_RTS));
	if (type == IBV_QPT_UD) {
		m.ah = ibv_create_ah(hosts[A].pd, &attr.ah_attr);
		NEED(m.ah, "create AH: %s", strerror(errno));
		m.qpn = p[B].qp->qp_num;
	}
	printf("expect %08x %u %u %#07x %u %u\n", imm, vectors[i].sl,
	       on_wire(type, vectors[i].tclass), FLOW(i), source_port(FLOW(i)),
	       vectors[i].hops > 1 ? vectors[i].hops : 0);
	fill(A, SRC_OFF, 64, imm);
	NEED(!post_recv(&p[B], imm, DST_OFF, 128), "post_recv");
	NEED(!post(&p[A], &m), "post_send");
	TRY(reap(p[A].scq, &wc, 1) && reap(p[B].rcq, &wc, 1));
	TRY(same(B, DST_OFF + (m.ah ? GRH : 0), 64, imm));
	if (m.ah)
		ibv_destroy_ah(m.ah);
	return pair_free(p);
}

void test_av(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC,
						  IBV_QPT_UD };
	unsigned int t, i;

	for (t = 0; t < 3; t++)
		for (i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
			report(vector(types[t], i, 0xa5000000 | t << 8 | i),
			       "%s, IPv%d, address vector %u",
			       type_name(types[t]), opt_family, i);
}

#define MESSAGES	640u
#define WINDOW		16u
#define SLOT		(32u << 10)
#define MTU		IBV_MTU_1024

struct stream {
	struct ep p[2];
	uint32_t next;		/* messages before it have come, or will not */
	uint32_t came;		/* each counted once */
	bool write;
	bool seen[MESSAGES];
};

static uint32_t length(uint32_t n)
{
	return 1 + n * 7919 % 20000;
}

static uint32_t datagram(uint32_t n)
{
	return n * 7919 % (mtu_bytes(opt_mtu) + 1);
}

static uint32_t place(uint32_t n)
{
	return MEM / 2 + n % WINDOW * SLOT;
}

/*
 * What came of a window: whole messages, in order, none twice. Only a message of
 * one packet may: to UC it is a new one, wherever its PSN (IBTA 9.8.2.2). So is
 * any that comes whole behind a later one, where the network keeps no order.
 */
static bool stream_reap(struct stream *st, uint32_t end)
{
	struct ibv_wc wc;
	bool any_order = getenv("XROCE_ANY_ORDER");
	uint32_t n;

	while (ibv_poll_cq(st->p[B].rcq, 1, &wc) > 0) {
		NEED(wc.status == IBV_WC_SUCCESS, "receive: %s",
		     ibv_wc_status_str(wc.status));
		n = be32toh(wc.imm_data);
		NEED(n < end && (n >= st->next || length(n) <= mtu_bytes(MTU) ||
				 (any_order && !st->seen[n])),
		     "message %u after %u of %u", n, st->next, end);
		st->seen[n] = true;
		NEED(wc.byte_len == length(n), "%u bytes of %u", wc.byte_len,
		     length(n));
		TRY(same(B, st->write ? place(n) :
			 MEM / 2 + (uint32_t)wc.wr_id * SLOT, length(n), n));
		NEED(!post_recv(&st->p[B], wc.wr_id, MEM / 2 +
				(uint32_t)wc.wr_id * SLOT, SLOT), "post_recv");
		st->came += n >= st->next;
		if (n >= st->next)
			st->next = n + 1;
	}
	return true;
}

static bool stream(struct stream *st)
{
	struct msg m = { .op = st->write ? IBV_WR_RDMA_WRITE_WITH_IMM :
			 IBV_WR_SEND_WITH_IMM, .flags = IBV_SEND_SIGNALED };
	struct ibv_wc wc[WINDOW];
	uint32_t n, i, ms, all, came;

	TRY(pair_make(st->p, IBV_QPT_UC, MTU));
	for (i = 0; i < WINDOW; i++)
		NEED(!post_recv(&st->p[B], i, MEM / 2 + i * SLOT, SLOT),
		     "post_recv");
	for (n = 0; n < MESSAGES; n += WINDOW) {
		for (i = n; i < n + WINDOW; i++) {
			m.off = i % WINDOW * SLOT;
			m.roff = place(i);
			m.imm = i;
			m.len = length(i);
			fill(A, m.off, m.len, i);
			NEED(!post(&st->p[A], &m), "post_send");
			usleep(500);
		}
		TRY(reap(st->p[A].scq, wc, WINDOW));
		/* until nothing is under way any more: the next are to have the same places */
		all = st->came + WINDOW;
		for (ms = 0; st->came < all && ms < 50; ms = st->came == came ? ms + 1 : 0) {
			came = st->came;
			usleep(1000);
			TRY(stream_reap(st, n + WINDOW));
		}
	}
	return true;
}

/* Any order will do, and the network may double one: each is whole. */
static bool datagrams_reap(struct stream *st, uint32_t end)
{
	bool twice = getenv("XROCE_TWICE");
	struct ibv_wc wc;
	uint32_t n, off;

	while (ibv_poll_cq(st->p[B].rcq, 1, &wc) > 0) {
		NEED(wc.status == IBV_WC_SUCCESS, "receive: %s",
		     ibv_wc_status_str(wc.status));
		n = be32toh(wc.imm_data);
		off = MEM / 2 + (uint32_t)wc.wr_id * SLOT;
		NEED(n < end && (twice || !st->seen[n]), "datagram %u of %u, again?",
		     n, end);
		NEED(wc.byte_len == GRH + datagram(n), "%u bytes of %u",
		     wc.byte_len, GRH + datagram(n));
		NEED(wc.src_qp == st->p[A].qp->qp_num, "from QP %u", wc.src_qp);
		TRY(same(B, off + GRH, datagram(n), n));
		NEED(!post_recv(&st->p[B], wc.wr_id, off, SLOT), "post_recv");
		st->came += !st->seen[n];
		st->seen[n] = true;
	}
	return true;
}

static bool datagrams(struct stream *st)
{
	struct msg m = { .op = IBV_WR_SEND_WITH_IMM, .flags = IBV_SEND_SIGNALED,
			 .qkey = QKEY };
	struct ibv_wc wc[WINDOW];
	uint32_t n, i, ms, all;

	TRY(pair_make(st->p, IBV_QPT_UD, MTU));
	m.qpn = st->p[B].qp->qp_num;
	m.ah = ah_make(A, NULL);
	NEED(m.ah, "create AH: %s", strerror(errno));
	/* for twice as many as there are, and for what comes late */
	for (i = 0; i < 4 * WINDOW; i++)
		NEED(!post_recv(&st->p[B], i, MEM / 2 + i * SLOT, SLOT),
		     "post_recv");
	for (n = 0; n < MESSAGES; n += WINDOW) {
		for (i = n; i < n + WINDOW; i++) {
			m.off = i % WINDOW * SLOT;
			m.imm = i;
			m.len = datagram(i);
			fill(A, m.off, m.len, i);
			NEED(!post(&st->p[A], &m), "post_send");
		}
		TRY(reap(st->p[A].scq, wc, WINDOW));
		all = st->came + WINDOW;
		for (ms = 0; st->came < all && ms < 10; ms++) {
			usleep(1000);
			TRY(datagrams_reap(st, n + WINDOW));
		}
	}
	for (ms = 0; st->came < MESSAGES && ms < 200; ms++) {
		usleep(1000);
		TRY(datagrams_reap(st, MESSAGES));
	}
	NEED(!ibv_destroy_ah(m.ah), "destroy AH: %s", strerror(errno));
	return true;
}

void test_stream(void)
{
	static const char * const names[] = { "UC SEND_IMM", "UC WRITE_IMM", "UD" };
	static struct stream st[3];
	bool good;
	int i;

	st[1].write = true;
	for (i = 0; i < 3; i++) {
		good = i == 2 ? datagrams(&st[i]) : stream(&st[i]);
		report(good, "%s, whole or not at all", names[i]);
		printf("came %u of %u %s\n", st[i].came, MESSAGES, names[i]);
		report(good && pair_free(st[i].p), "its QPs go");
	}
}
