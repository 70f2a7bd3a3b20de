// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of what arrives, by UC and UD: each operation at each size, immediates,
 * the GRH of a datagram and the answer that it leads to, SGEs, inline. Bytes are
 * compared at the receiver, with those before and behind them.
 */
#include <netinet/ip.h>
#include <netinet/in.h>

#include "ud.h"

#define IMM	0x12345678u

static const struct {
	const char *name;
	enum ibv_wr_opcode op;
	enum ibv_wc_opcode wc;
	bool recv;
	bool imm;
} ops[] = {
	{ "SEND", IBV_WR_SEND, IBV_WC_SEND, true, false },
	{ "SEND_IMM", IBV_WR_SEND_WITH_IMM, IBV_WC_SEND, true, true },
	{ "WRITE", IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE, false, false },
	{ "WRITE_IMM", IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_RDMA_WRITE, true,
	  true },
};

static bool uc_recv_ok(const struct ibv_wc *wc, const struct ep *e,
		       unsigned int op, uint32_t len)
{
	bool write = ops[op].op == IBV_WR_RDMA_WRITE_WITH_IMM;

	NEED(wc->wr_id == len && wc->qp_num == e->qp->qp_num,
	     "receive completion is another's");
	NEED(wc->opcode == (write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV),
	     "receive completion has opcode %d", wc->opcode);
	NEED(wc->byte_len == len, "received %u bytes, not %u", wc->byte_len, len);
	/* rdma_rxe tells of a GRH that is not there */
	NEED((hosts[e->side].rxe ? wc->wc_flags & ~IBV_WC_GRH : wc->wc_flags) ==
	     (ops[op].imm ? IBV_WC_WITH_IMM : 0),
	     "receive completion has flags %#x", wc->wc_flags);
	NEED(!ops[op].imm || wc->imm_data == htobe32(IMM), "immediate is wrong");
	return true;
}

/* A WRITE tells its receiver nothing, so a SEND follows it. */
static bool uc_follow(struct ep p[2], enum side s)
{
	struct msg m = { .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED };
	struct ibv_wc wc;

	NEED(!post_recv(&p[!s], 1, DST_OFF, 0), "post_recv");
	NEED(!post(&p[s], &m), "post_send");
	return reap(p[s].scq, &wc, 1) && reap(p[!s].rcq, &wc, 1);
}

static bool uc_one(struct ep p[2], enum side s, unsigned int op, uint32_t len,
		   bool wr_api)
{
	bool write = ops[op].wc == IBV_WC_RDMA_WRITE;
	struct msg m = {
		.op = ops[op].op,
		.id = len + 1,
		.off = SRC_OFF,
		.len = len,
		.roff = DST_OFF,
		.imm = IMM,
		.flags = IBV_SEND_SIGNALED,
		.wr_api = wr_api,
	};
	struct ibv_wc wc;

	fill(s, SRC_OFF, len, len);
	guard(!s, DST_OFF, len);
	if (ops[op].recv)
		NEED(!post_recv(&p[!s], len, write ? 64 : DST_OFF,
				write ? 8 : len), "post_recv");
	NEED(!post(&p[s], &m), "post_send");
	TRY(reap(p[s].scq, &wc, 1));
	NEED(wc.wr_id == len + 1 && wc.opcode == ops[op].wc &&
	     wc.qp_num == p[s].qp->qp_num, "send completion is wrong");
	if (!ops[op].recv) {
		TRY(uc_follow(p, s));
	} else {
		TRY(reap(p[!s].rcq, &wc, 1));
		TRY(uc_recv_ok(&wc, &p[!s], op, len));
	}
	return landed(!s, DST_OFF, len, len);
}

static bool uc_sizes(unsigned int op, enum ibv_mtu mtu)
{
	uint32_t m = mtu_bytes(mtu), i, s;
	uint32_t size[] = { 0, 1, m - 1, m, m + 1, 3 * m, 100003 };
	struct ep p[2];

	TRY(pair_make(p, IBV_QPT_UC, mtu));
	for (i = 0; i < sizeof(size) / sizeof(size[0]); i++)
		for (s = A; s <= B; s++)
			TRY(uc_one(p, s, op, size[i], i & 1));
	return pair_free(p);
}

/* More than that a receiver that shares its CPU with the sender may lose. */
static bool uc_large(void)
{
	uint32_t len = (1 << 20) + 3;
	struct ep p[2];

	TRY(pair_make(p, IBV_QPT_UC, opt_mtu));
	TRY(uc_one(p, A, 1, len, false));
	TRY(uc_one(p, B, 3, len, false));
	return pair_free(p);
}

void test_uc(void)
{
	unsigned int mtu, op;

	for (mtu = IBV_MTU_256; mtu <= opt_mtu; mtu++)
		for (op = 0; op < sizeof(ops) / sizeof(ops[0]); op++)
			report(uc_sizes(op, mtu), "UC %s IPv%d MTU %u",
			       ops[op].name, opt_family, mtu_bytes(mtu));
	report(uc_large(), "UC, 1 MB in a message, IPv%d", opt_family);
}

static uint16_t ip_sum(const void *p)
{
	const uint8_t *b = p;
	uint32_t sum = 0;
	int i;

	for (i = 0; i < 20; i += 2)
		sum += b[i] << 8 | b[i + 1];
	return (sum & 0xffff) + (sum >> 16);
}

/*
 * The GRH at @off of what host @s received: Annex A17.4.5.1. The hop limit is
 * the route's: ib_core replaces the user's by it.
 */
static bool grh_ok(enum side s, uint32_t off, uint32_t len, bool imm,
		   const struct ibv_ah_attr *ah)
{
	const struct ibv_global_route *to = &ah->grh;
	uint32_t flow, l4 = 8 + 12 + 8 + 4 * imm + (len + 3) / 4 * 4 + 4;
	struct ibv_grh grh;
	struct iphdr ip;

	memcpy(&grh, hosts[s].mem + off, sizeof(grh));
	memcpy(&ip, hosts[s].mem + off + 20, sizeof(ip));
	if (opt_family == 4) {
		NEED(ip.version == 4 && ip.ihl == 5 && ip.protocol == IPPROTO_UDP,
		     "no IPv4 header in the GRH");
		NEED(ip_sum(&ip) == 0xffff, "its checksum is wrong");
		NEED(ntohs(ip.tot_len) == 20 + l4, "its length is %u, not %u",
		     ntohs(ip.tot_len), 20 + l4);
		NEED(ip.tos >> 2 == to->traffic_class >> 2, "its TOS is %#x",
		     ip.tos);
		NEED(ip.ttl == 64, "its TTL is %u", ip.ttl);
		NEED(!memcmp(&ip.saddr, hosts[!s].gid.raw + 12, 4) &&
		     !memcmp(&ip.daddr, hosts[s].gid.raw + 12, 4),
		     "its addresses are wrong");
		return true;
	}
	flow = be32toh(grh.version_tclass_flow);
	NEED(flow >> 28 == 6 && grh.next_hdr == IPPROTO_UDP,
	     "no IPv6 header in the GRH");
	NEED(be16toh(grh.paylen) == l4, "its length is %u, not %u",
	     be16toh(grh.paylen), l4);
	NEED((flow >> 22 & 0x3f) == to->traffic_class >> 2,
	     "its traffic class is %#x", flow >> 20 & 0xff);
	NEED(hosts[!s].rxe || (flow & 0xfffff) == to->flow_label,
	     "its flow label is %#x", flow & 0xfffff);
	NEED(grh.hop_limit == 64, "its hop limit is %u", grh.hop_limit);
	NEED(!memcmp(&grh.sgid, &hosts[!s].gid, 16) &&
	     !memcmp(&grh.dgid, &hosts[s].gid, 16), "its addresses are wrong");
	return true;
}

static bool ud_recv_ok(struct ep p[2], enum side s, const struct ibv_wc *wc,
		       uint32_t len, bool imm)
{
	NEED(wc->wr_id == len && wc->qp_num == p[s].qp->qp_num,
	     "receive completion is another's");
	NEED(wc->opcode == IBV_WC_RECV, "it has opcode %d", wc->opcode);
	NEED(wc->byte_len == GRH + len, "received %u bytes, not %u",
	     wc->byte_len, GRH + len);
	NEED(wc->wc_flags == (IBV_WC_GRH | (imm ? IBV_WC_WITH_IMM : 0)),
	     "it has flags %#x", wc->wc_flags);
	NEED(!imm || wc->imm_data == htobe32(IMM), "immediate is wrong");
	/* as NICs have it: UDP, and the kind of IP */
	NEED(hosts[s].rxe || wc->sl == (opt_family == 4 ? 0xa : 0x9),
	     "its SL is %u", wc->sl);
	NEED(wc->src_qp == p[!s].qp->qp_num, "it came from QP %#x", wc->src_qp);
	return true;
}

static bool ud_one(struct ep p[2], enum side s, const struct ibv_ah_attr *attr,
		   struct ibv_ah *ah, uint32_t len, bool imm, bool wr_api)
{
	struct msg m = {
		.op = imm ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND,
		.id = len + 1,
		.off = SRC_OFF,
		.len = len,
		.imm = IMM,
		.flags = IBV_SEND_SIGNALED,
		.ah = ah,
		.qpn = p[!s].qp->qp_num,
		.qkey = QKEY,
		.wr_api = wr_api,
	};
	struct ibv_wc wc;

	fill(s, SRC_OFF, len, len);
	/* room for more than comes, which stays as it is */
	guard(!s, DST_OFF, GRH + len);
	NEED(!post_recv(&p[!s], len, DST_OFF, GRH + len + GUARD / 2),
	     "post_recv");
	NEED(!post(&p[s], &m), "%u bytes refused", len);
	TRY(reap(p[s].scq, &wc, 1));
	NEED(wc.wr_id == len + 1 && wc.opcode == IBV_WC_SEND,
	     "send completion is wrong");
	TRY(reap(p[!s].rcq, &wc, 1));
	TRY(ud_recv_ok(p, !s, &wc, len, imm));
	TRY(grh_ok(!s, DST_OFF, len, imm, attr));
	TRY(same(!s, DST_OFF + GRH, len, len));
	return guarded(!s, DST_OFF, GRH + len);
}

static bool ud_sizes(bool imm)
{
	uint32_t m = mtu_bytes(opt_mtu), i;
	uint32_t size[] = { 0, 1, 2, 3, 4, 5, 63, m / 2 + 1, m - 1, m };
	struct ibv_ah_attr attr[2];
	struct ibv_ah *ah[2];
	struct ep p[2];
	int s;

	TRY(pair_make(p, IBV_QPT_UD, 0));
	for (s = A; s <= B; s++) {
		attr[s] = ah_attr(s, NULL);
		attr[s].grh.traffic_class = 0x28;
		attr[s].grh.flow_label = 0x12345;
		ah[s] = ibv_create_ah(hosts[s].pd, &attr[s]);
		NEED(ah[s], "create AH: %s", strerror(errno));
	}
	for (i = 0; i < sizeof(size) / sizeof(size[0]); i++)
		for (s = A; s <= B; s++)
			TRY(ud_one(p, s, &attr[s], ah[s], size[i], imm, i & 1));
	for (s = A; s <= B; s++)
		NEED(!ibv_destroy_ah(ah[s]), "destroy AH: %s", strerror(errno));
	return pair_free(p);
}

/* Refused where it is posted, what is before it goes, and the list ends there */
static bool ud_over_mtu(void)
{
	uint32_t m = mtu_bytes(hosts[A].port.active_mtu);
	struct ibv_sge sge[3];
	struct ibv_send_wr wr[3] = {}, *bad = NULL;
	struct ibv_ah *ah = ah_make(A, NULL);
	struct msg msg = { .op = IBV_WR_SEND, .off = SRC_OFF, .len = m + 1,
			   .qkey = QKEY, .ah = ah, .wr_api = true };
	struct ibv_wc wc;
	struct ep p[2];
	int i;

	TRY(ah && pair_make(p, IBV_QPT_UD, 0));
	for (i = 0; i < 3; i++) {
		NEED(!post_recv(&p[B], i, DST_OFF, 2 * m), "post_recv");
		cut(A, SRC_OFF, i == 1 ? m + 1 : m, 1, &sge[i]);
		wr[i] = (struct ibv_send_wr) {
			.wr_id = i,
			.next = i < 2 ? &wr[i + 1] : NULL,
			.sg_list = &sge[i],
			.num_sge = 1,
			.opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.ud = { ah, p[B].qp->qp_num, QKEY },
		};
	}
	i = ibv_post_send(p[A].qp, wr, &bad);
	NEED(i == EINVAL && bad == &wr[1], "%u bytes: %s, bad_wr is %td", m + 1,
	     strerror(i), bad - wr);
	msg.qpn = p[B].qp->qp_num;
	NEED(post(&p[A], &msg) == EINVAL, "%u bytes by ibv_wr", m + 1);
	TRY(reap(p[A].scq, &wc, 1));
	TRY(reap(p[B].rcq, &wc, 1));
	NEED(wc.byte_len == GRH + m, "the first did not come");
	TRY(none(p[A].scq, 20) && none(p[B].rcq, 100));
	msg.len = m;
	msg.flags = IBV_SEND_SIGNALED;
	NEED(!post(&p[A], &msg), "%u bytes by ibv_wr refused", m);
	TRY(reap(p[A].scq, &wc, 1) && reap(p[B].rcq, &wc, 1));
	ibv_destroy_ah(ah);
	return pair_free(p);
}

/* The answer goes where completion and GRH say that the question came from. */
static bool ud_answer(void)
{
	struct ibv_ah_attr attr = ah_attr(A, NULL), back;
	struct msg m = { .op = IBV_WR_SEND, .off = SRC_OFF, .len = 100,
			 .flags = IBV_SEND_SIGNALED, .qkey = QKEY };
	struct ibv_grh grh;
	struct ibv_wc wc;
	struct ep p[2];
	int ret;

	TRY(pair_make(p, IBV_QPT_UD, 0));
	attr.grh.traffic_class = 0x48;
	m.ah = ibv_create_ah(hosts[A].pd, &attr);
	m.qpn = p[B].qp->qp_num;
	NEED(m.ah, "create AH: %s", strerror(errno));
	NEED(!post_recv(&p[B], 1, DST_OFF, 200) && !post(&p[A], &m), "post");
	TRY(reap(p[A].scq, &wc, 1) && reap(p[B].rcq, &wc, 1));
	ibv_destroy_ah(m.ah);

	memcpy(&grh, hosts[B].mem + DST_OFF, sizeof(grh));
	ret = ibv_init_ah_from_wc(hosts[B].ctx, 1, &wc, &grh, &back);
	NEED(!ret, "ibv_init_ah_from_wc: %d, %s", ret, strerror(errno));
	NEED(back.is_global && !memcmp(&back.grh.dgid, &hosts[A].gid, 16) &&
	     back.grh.sgid_index == hosts[B].gid_index &&
	     back.grh.traffic_class >> 2 == 0x48 >> 2,
	     "the address is not that of the sender");
	m.ah = ibv_create_ah_from_wc(hosts[B].pd, &wc, &grh, 1);
	NEED(m.ah, "ibv_create_ah_from_wc: %s", strerror(errno));
	m.qpn = wc.src_qp;
	fill(B, SRC_OFF, 100, 5);
	NEED(!post_recv(&p[A], 2, DST_OFF, 200) && !post(&p[B], &m), "post");
	TRY(reap(p[B].scq, &wc, 1) && reap(p[A].rcq, &wc, 1));
	TRY(same(A, DST_OFF + GRH, 100, 5));
	ibv_destroy_ah(m.ah);
	return pair_free(p);
}

/* Q_Keys with the high bit: the sender's own is sent (IBTA 10.2.5) */
static bool ud_qkey_high(void)
{
	struct msg m = { .op = IBV_WR_SEND, .off = SRC_OFF, .len = 10,
			 .flags = IBV_SEND_SIGNALED, .qkey = 0x80000000 };
	struct ibv_wc wc;
	struct ep p[2];

	TRY(pair_make(p, IBV_QPT_UD, 0));
	m.ah = ah_make(A, NULL);
	m.qpn = p[B].qp->qp_num;
	NEED(!post_recv(&p[B], 1, DST_OFF, 200) && !post(&p[A], &m), "post");
	TRY(reap(p[A].scq, &wc, 1) && reap(p[B].rcq, &wc, 1));
	ibv_destroy_ah(m.ah);
	return pair_free(p);
}

static bool ah_refused(void)
{
	struct ibv_ah_attr attr = ah_attr(A, NULL);
	struct ibv_ah *ah;

	attr.is_global = 0;
	ah = ibv_create_ah(hosts[A].pd, &attr);
	NEED(!ah && errno == EINVAL, "AH without GRH: %s",
	     ah ? "made" : strerror(errno));
	attr = ah_attr(A, NULL);
	attr.port_num = 2;
	NEED(!ibv_create_ah(hosts[A].pd, &attr), "AH on port 2");
	attr = ah_attr(A, NULL);
	attr.grh.sgid_index = 200;
	NEED(!ibv_create_ah(hosts[A].pd, &attr), "AH from no GID");
	attr = ah_attr(A, NULL);
	memset(&attr.grh.dgid, 0, 16);
	NEED(!ibv_create_ah(hosts[A].pd, &attr), "AH to nobody");
	/* IPv4 to IPv6 or the other way */
	attr = ah_attr(A, NULL);
	attr.grh.dgid.raw[0] = 0xfd;
	attr.grh.dgid.raw[10] = opt_family == 4 ? 0 : 0xff;
	attr.grh.dgid.raw[11] = attr.grh.dgid.raw[10];
	if (opt_family == 6)
		memset(&attr.grh.dgid, 0, 10);
	NEED(!ibv_create_ah(hosts[A].pd, &attr), "AH across IP versions");
	for (attr = ah_attr(A, NULL), attr.sl = 16; attr.sl; attr.sl += 239) {
		ah = ibv_create_ah(hosts[A].pd, &attr);
		NEED(!ah && errno == EINVAL, "AH with SL %u", attr.sl);
	}
	return true;
}

void test_ud(void)
{
	uint32_t m = mtu_bytes(opt_mtu);

	report(ud_sizes(false), "UD SEND IPv%d MTU %u", opt_family, m);
	report(ud_sizes(true), "UD SEND_IMM IPv%d MTU %u", opt_family, m);
	if (hosts[A].rxe)
		skip("UD over the MTU", "rdma_rxe takes it, and cuts it");
	else
		report(ud_over_mtu(), "UD over the MTU %u is refused, IPv%d", m,
		       opt_family);
	report(ud_answer(), "UD, the answer to a GRH, IPv%d", opt_family);
	if (hosts[A].rxe)
		return;
	report(ud_qkey_high(), "UD, Q_Key of the sender's QP, IPv%d", opt_family);
	report(ah_refused(), "AHs refused, IPv%d", opt_family);
}

/* From @n pieces into pieces of other lengths */
static bool many_sge(enum ibv_qp_type type, unsigned int op, int n)
{
	uint32_t grh = type == IBV_QPT_UD ? GRH : 0, len, max;
	struct msg m = { .op = ops[op].op, .off = SRC_OFF, .roff = DST_OFF,
			 .imm = IMM, .flags = IBV_SEND_SIGNALED, .sges = n,
			 .qkey = QKEY };
	struct ibv_recv_wr *bad, rw = { .wr_id = 1 };
	struct ibv_sge sge[MAX_SGE];
	struct ep p[2];
	struct ibv_wc wc;

	TRY(pair_make(p, type, opt_mtu));
	m.ah = grh ? ah_make(A, NULL) : NULL;
	m.qpn = p[B].qp->qp_num;
	max = grh ? mtu_bytes(opt_mtu) : 3 * mtu_bytes(opt_mtu) + 7;
	for (len = 0; len <= max; len += len < 90 ? 1 : 1 + len / 3) {
		m.len = len;
		m.wr_api = len & 1;
		fill(A, SRC_OFF, len, len);
		guard(B, DST_OFF, grh + len);
		rw.sg_list = sge;
		rw.num_sge = cut(B, DST_OFF, grh + len, 1 + n % MAX_SGE, sge);
		NEED(!ibv_post_recv(p[B].qp, &rw, &bad), "post_recv");
		NEED(!post(&p[A], &m), "%u bytes refused", len);
		TRY(reap(p[A].scq, &wc, 1) && reap(p[B].rcq, &wc, 1));
		NEED(wc.byte_len == grh + len, "%u bytes of %u", wc.byte_len,
		     grh + len);
		TRY(same(B, DST_OFF + grh, len, len));
		TRY(guarded(B, DST_OFF, grh + len));
	}
	if (m.ah)
		ibv_destroy_ah(m.ah);
	return pair_free(p);
}

static bool inlined(enum ibv_qp_type type, unsigned int op, bool wr_api)
{
	uint32_t grh = type == IBV_QPT_UD ? GRH : 0, len;
	struct msg m = { .op = ops[op].op, .off = SRC_OFF, .roff = DST_OFF,
			 .imm = IMM, .lkey = wr_api ? 0 : 0xdead,
			 .flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
			 .qkey = QKEY, .wr_api = wr_api };
	struct ep p[2];
	struct ibv_wc wc;

	TRY(pair_make(p, type, opt_mtu));
	m.ah = grh ? ah_make(A, NULL) : NULL;
	m.qpn = p[B].qp->qp_num;
	NEED(p[A].max_inline >= 128, "only %u bytes inline", p[A].max_inline);
	for (len = 0; len <= 128; len += 1 + len / 5) {
		m.len = len;
		fill(A, SRC_OFF, len, len);
		guard(B, DST_OFF, grh + len);
		NEED(!post_recv(&p[B], 1, DST_OFF, grh + len), "post_recv");
		NEED(!post(&p[A], &m), "%u bytes inline refused", len);
		fill(A, SRC_OFF, len, 200);	/* it is the user's again */
		TRY(reap(p[A].scq, &wc, 1) && reap(p[B].rcq, &wc, 1));
		TRY(same(B, DST_OFF + grh, len, len));
		TRY(guarded(B, DST_OFF, grh + len));
	}
	m.len = p[A].max_inline + 1;
	NEED(post(&p[A], &m) == EINVAL, "%u bytes inline taken", m.len);
	if (m.ah)
		ibv_destroy_ah(m.ah);
	return pair_free(p);
}

/* Every 16th asks for a completion, four times round the queue */
static bool unsignalled(enum ibv_qp_type type)
{
	uint32_t grh = type == IBV_QPT_UD ? GRH : 0, i;
	struct msg m = { .op = IBV_WR_SEND_WITH_IMM, .off = SRC_OFF, .len = 8,
			 .qkey = QKEY };
	struct ep p[2];
	struct ibv_wc wc;

	TRY(pair_make(p, type, opt_mtu));
	m.ah = grh ? ah_make(A, NULL) : NULL;
	m.qpn = p[B].qp->qp_num;
	for (i = 1; i <= 512; i++) {
		m.id = i;
		m.imm = i;
		m.flags = i % 16 ? 0 : IBV_SEND_SIGNALED;
		NEED(!post_recv(&p[B], i, DST_OFF, grh + 8), "post_recv");
		NEED(!post(&p[A], &m), "%u refused", i);
		TRY(reap(p[B].rcq, &wc, 1));
		NEED(wc.wr_id == i && wc.imm_data == htobe32(i),
		     "message %u came as %u", i, be32toh(wc.imm_data));
		if (i % 16)
			continue;
		TRY(reap(p[A].scq, &wc, 1));
		NEED(wc.wr_id == i, "completion of %llu, not %u",
		     (unsigned long long)wc.wr_id, i);
	}
	TRY(none(p[A].scq, 20));
	if (m.ah)
		ibv_destroy_ah(m.ah);
	return pair_free(p);
}

void test_shape(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_UC, IBV_QPT_UD };
	unsigned int t, op;

	for (t = 0; t < 2; t++) {
		const char *name = type_name(types[t]);

		report(many_sge(types[t], 0, 3), "%s of 3 SGEs", name);
		report(many_sge(types[t], 1, MAX_SGE), "%s of %d SGEs, IMM",
		       name, MAX_SGE);
		for (op = 0; op < 4; op++) {
			if (!ops[op].recv ||
			    (t && ops[op].wc == IBV_WC_RDMA_WRITE))
				continue;
			report(inlined(types[t], op, false), "%s %s inline",
			       name, ops[op].name);
			report(inlined(types[t], op, true),
			       "%s %s inline, ibv_wr", name, ops[op].name);
		}
		report(unsignalled(types[t]), "%s unsignalled", name);
	}
}
