// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fuzzes the transport core: a QP of any service that speaks to itself, whose
 * user, network and BPF program are the input: work requests and ring indices of
 * any content, packets of any content under a right ICRC, its own packets lost,
 * twice, late or changed, anything in the hot block, time, modify, a device
 * without room. Packets come by the socket or by native XDP, and there to our program
 * or to one that does whatever the verifier lets it do. See env.h.
 */
#include <packet.h>
#include "env.h"

#define DEPTH		16
#define STRIDE		640	/* 32 SGEs and more */
#define RQ_STRIDE	256
#define CQ_DEPTH	64
#define PAGE		4096
#define QPN		0x11
#define SGES		8
#define QKEY		0x11223344

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static const u8 *in, *in_end;

static u8 get8(void)
{
	return in < in_end ? *in++ : 0;
}

static u32 get16(void)
{
	u32 v = get8();

	return v << 8 | get8();
}

static u32 get32(void)
{
	u32 v = get16();

	return v << 16 | get16();
}

/*
 * Regions: 0 may do all; 1 may be read by the peer; 2 is another domain's; 3 is
 * 2 GiB and ends where addresses end, its blocks all one, and no word in it is
 * aligned. No byte of 1 and 2, and none of 0 outside its bounds, may ever change.
 */
static const struct {
	u32 access;
	u64 iova;
	u64 length;
	u64 offset;
	u32 pages;
	u8 shift;
} mrs[4] = {
	{ 15 | XROCE_MW_BIND | XROCE_ACCESS_FLUSH, 0x10000, 3 * PAGE - 300, 104, 3, 12 },
	{ XROCE_REMOTE_READ, 0x20000, PAGE, 0, 1, 12 },
	{ 15, 0x30000, PAGE, 0, 1, 12 },
	{ 15, -(1ull << 31), 1ull << 31, 4, 1025, 21 },
};

static struct {
	struct xroce_qp qp;
	struct xroce_cq cq;
	struct xroce_rq rq;
	struct xroce_rwqe rwqe;
	struct xroce_mr mr[6];	/* the last two are windows */
	struct xroce_ah ah[2];
	struct xroce_av peer;
	struct xroce_ring *sq_ring;
	struct xroce_ring *rq_ring;
	struct xroce_ring *cq_ring;
	u32 sq_prod;
	u32 rq_prod;
	u8 transport;
	bool bpf;		/* may write the hot block */
	bool wild;		/* and has */
} w;

static u8 *block;		/* of region 3 */
static void *blocks[1025];

static u32 key(u32 i)
{
	return i << 8 | 0x5a;
}

static void make_mr(u32 i)
{
	struct xroce_mr *mr = &w.mr[i];

	mr->key = key(i);
	mr->access = mrs[i].access;
	mr->state = XROCE_KEY_VALID;
	mr->kind = i == 3 ? XROCE_MR_FAST : XROCE_MR;
	mr->page_shift = mrs[i].shift;
	mr->pd = i == 2 ? &w.cq : (void *)&w;
	mr->iova = mrs[i].iova;
	mr->length = mrs[i].length;
	mr->offset = mrs[i].offset;
	env.mr[i] = mr;
	if (i == 3) {
		mr->page = blocks;
		return;
	}
	mr->page = calloc(mrs[i].pages, sizeof(void *));
	for (u32 k = 0; k < mrs[i].pages; k++) {
		mr->page[k] = malloc(PAGE);
		memset(mr->page[k], 0xc0 + i, PAGE);
	}
}

static void check_mr(u32 i)
{
	struct xroce_mr *mr = &w.mr[i];
	u64 n = mrs[i].pages * PAGE;

	MUST(!atomic_read(&mr->users) && !sim_used && !mr->parent);
	if (i == 3)
		return;
	for (u64 at = 0; at < n; at++) {
		if (!i && at >= mr->offset && at < mr->offset + mr->length)
			continue;
		MUST(((u8 *)mr->page[at / PAGE])[at % PAGE] == 0xc0 + i);
	}
	for (u32 k = 0; k < mrs[i].pages; k++)
		free(mr->page[k]);
	free(mr->page);
}

static struct xroce_ring *make_ring(u32 depth, u32 stride)
{
	return calloc(1, sizeof(struct xroce_ring) + depth * stride);
}

static void make_qp(void)
{
	struct xroce_qp *qp = &w.qp;

	w.sq_ring = make_ring(DEPTH, STRIDE);
	w.rq_ring = make_ring(DEPTH, RQ_STRIDE);
	w.cq_ring = make_ring(CQ_DEPTH, sizeof(struct xroce_cqe));
	xroce_cq_init(&w.cq, &env.dev, w.cq_ring, CQ_DEPTH);
	xroce_rq_init(&w.rq, w.rq_ring, DEPTH, RQ_STRIDE, SGES);
	qp->dev = &env.dev;
	qp->pd = &w;
	qp->scq = &w.cq;
	qp->hot.qpn = QPN;
	qp->hot.transport = w.transport;
	if (w.transport == XROCE_XRC) {
		w.rq.cq = &w.cq;
		w.rq.pd = &w;
		w.rq.xrcd = in < in_end && in[0] & 0x20 ? &w.cq :
			    (const void *)&w.rq;
		qp->xrcd = &w.rq;
		env.srq = &w.rq;
	} else {
		qp->rcq = &w.cq;
		qp->rq = &w.rq;
		qp->srq = in < in_end && in[0] & 0x10;
	}
	w.rq.limit = qp->srq || qp->xrcd ? 4 : 0;
	qp->req.ring = w.sq_ring;
	qp->req.depth = DEPTH;
	qp->req.stride = STRIDE;
	qp->req.max_sge = SGES;
	qp->req.max_inline = 256;
	qp->req.wqe = calloc(DEPTH, STRIDE);
	qp->req.swq = calloc(DEPTH, sizeof(*qp->req.swq));
	qp->resp.wqe = &w.rwqe;
	env.qp = qp;
	xroce_qp_init(qp);
}

static void modify(struct xroce_attr *attr, u32 mask)
{
	xroce_qp_modify(&w.qp, attr, mask);
	free(attr->rd);
	attr->rd = NULL;
}

/* Attributes as the verbs layer would let them through. */
static void connect(void)
{
	static const u32 psns[] = { 0, 1, 0x7fffff, 0x800000, 0xfffff0, 0xffffff };
	u8 gid4[16] = { [10] = 255, 255, 10, 77, 0, 1 };
	u8 gid6[16] = { 0xfd, 0x77, [15] = 1 };
	u8 how = get8(), more = get8();
	struct xroce_attr attr = {
		.state = XROCE_QPS_INIT,
		.pkey = 0xffff,
		.qkey = QKEY,
		.access = how & 0x80 ? 15 | XROCE_ACCESS_FLUSH : get8() & 15,
		.path_mtu = 256 << (how & 3),
		.dest_qpn = QPN,
		.rq_psn = psns[(how >> 2 & 7) % 6],
		.retry_cnt = more & 7,
		.rnr_retry = more >> 3 & 7,
		.timeout = more >> 6 ? 14 : 0,
		.min_rnr_timer = how & 31,
		.max_rd_atomic = get8() % (XROCE_MAX_RD_ATOMIC + 1),
		.max_dest_rd_atomic = get8() % 17,
	};
	u8 *gid = how & 0x20 ? gid6 : gid4;

	attr.sq_psn = how & 0x40 ? attr.rq_psn : get32() & XROCE_PSN_MASK;
	xroce_av_set(&attr.av, gid, gid, 0, 64, 0, 0xc001);
	w.peer = attr.av;
	env.av = &w.peer;
	w.ah[0].pd = &w;
	w.ah[0].av = attr.av;
	w.ah[1].av = attr.av;
	modify(&attr, XROCE_ATTR_STATE | XROCE_ATTR_PKEY | XROCE_ATTR_ACCESS |
	       XROCE_ATTR_QKEY);
	attr.state = XROCE_QPS_RTR;
	if (w.transport == XROCE_UD) {
		modify(&attr, XROCE_ATTR_STATE | XROCE_ATTR_PATH_MTU);
		attr.state = XROCE_QPS_RTS;
		if (attr.min_rnr_timer != 31)
			modify(&attr, XROCE_ATTR_STATE | XROCE_ATTR_SQ_PSN);
		return;
	}
	attr.rd = calloc(attr.max_dest_rd_atomic + 1, sizeof(*attr.rd));
	modify(&attr, XROCE_ATTR_STATE | XROCE_ATTR_AV | XROCE_ATTR_PATH_MTU |
	       XROCE_ATTR_DEST_QPN | XROCE_ATTR_RQ_PSN |
	       XROCE_ATTR_MAX_DEST_RD_ATOMIC | XROCE_ATTR_MIN_RNR_TIMER);
	if (attr.min_rnr_timer == 31)
		return;		/* hears requests only */
	attr.state = XROCE_QPS_RTS;
	modify(&attr, XROCE_ATTR_STATE | XROCE_ATTR_TIMEOUT |
	       XROCE_ATTR_RETRY_CNT | XROCE_ATTR_RNR_RETRY |
	       XROCE_ATTR_SQ_PSN | XROCE_ATTR_MAX_RD_ATOMIC);
}

/* States that a user may ask for from this one. */
static void change_state(void)
{
	struct xroce_attr attr = { 0 };
	u8 old = w.qp.hot.state, what = get8();

	if (w.wild)
		return;
	attr.state = XROCE_QPS_ERR;
	if (what & 1) {
		attr.state = XROCE_QPS_RESET;
		modify(&attr, XROCE_ATTR_STATE);
		w.sq_prod = 0;
		w.rq_prod = w.qp.srq || w.qp.xrcd ? w.rq_prod : 0;
		connect();
		return;
	}
	if ((what & 2) && old == XROCE_QPS_RTS)
		attr.state = XROCE_QPS_SQD;
	else if ((what & 2) && (old == XROCE_QPS_SQD || old == XROCE_QPS_SQE))
		attr.state = XROCE_QPS_RTS;
	modify(&attr, XROCE_ATTR_STATE);
}

/* A place: mostly inside region @i, at times at or over an edge of it. */
static u64 address(u32 i, u8 how)
{
	const u64 edge[4] = { 0, mrs[i].length, -1ull, mrs[i].length - 8 };

	if (how & 0x80)
		return mrs[i].iova + edge[how & 3] + (how >> 2 & 7);
	return mrs[i].iova + how * 8;
}

static u32 length(u8 how)
{
	const u32 mtu = w.wild ? 1024 : xroce_mtu(&w.qp);
	const u32 some[8] = {
		8, mtu, mtu - 1, mtu + 1, 3 * mtu + 5, 0, 1u << 31,
		(1u << 31) + 1,
	};

	return how & 0x80 ? some[how & 7] : how;
}

/* A window's key is the one of now, mostly. */
static u32 some_key(u8 how)
{
	u32 i = how & 0x80 ? how % 6 : 0;

	return (i < 4 ? key(i) : w.mr[i].key) ^ (how & 0x40 ? 1 : 0);
}

/* A place in, or near, what a key names; windows are bound to region 0. */
static u64 key_address(u32 key, u8 how)
{
	u32 i = key >> 8;

	return address(i < 4 ? i : 0, how);
}

static void make_mw(u32 i)
{
	struct xroce_mr *mr = &w.mr[i];

	mr->key = key(i);
	mr->kind = i == 4 ? XROCE_MW_1 : XROCE_MW_2;
	mr->pd = &w;
	env.mr[i] = mr;
}

static void fill_sge(struct xroce_sge *sge, u32 n)
{
	while (n--) {
		u8 k = get8();

		sge->lkey = some_key(k);
		sge->addr = key_address(sge->lkey, get8());
		sge->length = length(get8());
		sge++;
	}
}

static void post_send(void)
{
	u32 slot = w.sq_prod & (DEPTH - 1);
	struct xroce_send_wqe *wqe = (void *)(w.sq_ring->slot + slot * STRIDE);
	u8 k = get8();

	wqe->wr_id = w.sq_prod;
	wqe->opcode = get8();
	if (!(wqe->opcode & 0x80))
		wqe->opcode %= 16;
	wqe->flags = get8() & 0x1f;
	wqe->num_sge = get8();
	if (!(wqe->num_sge & 0x80))
		wqe->num_sge %= 3;
	if (wqe->flags & XROCE_WR_INLINE)
		wqe->inline_len = length(get8());
	wqe->rdma.rkey = some_key(k);
	wqe->rdma.remote_addr = key_address(wqe->rdma.rkey, get8());
	wqe->rdma.swap_add = k;
	wqe->rdma.xrc_srqn = k & 0x10 ? k : 4;
	if (w.transport == XROCE_UD) {
		wqe->ud.ah = k >> 3 & 3 ? 0 : k & 3;
		wqe->ud.remote_qpn = QPN;
		wqe->ud.remote_qkey = k & 4 ? 1u << 31 : QKEY;
	}
	if (wqe->opcode == XROCE_WR_SEND_WITH_INV ||
	    wqe->opcode == XROCE_WR_LOCAL_INV)
		wqe->inv_rkey = some_key(get8());
	if (xroce_wr_is_local(wqe->opcode) && !(k & 0x40)) {
		wqe->num_sge = 0;
		wqe->flags &= ~XROCE_WR_INLINE;
	}
	if (wqe->opcode == XROCE_WR_BIND_MW) {
		u8 access = get8();

		wqe->bind.lkey = some_key(k);
		wqe->bind.addr = key_address(0, get8());
		wqe->bind.length = length(get8());
		wqe->bind.rkey = w.mr[4 + (k & 1)].key ^ (k & 2);
		wqe->bind.new_rkey = wqe->bind.rkey + (k >> 2 & 3);
		wqe->bind.access = access & 0x80 ? access : access & 0x2e;
	}
	fill_sge(wqe->sge, min_t(u32, wqe->num_sge, SGES));
	/* A user who does not look whether there is room */
	if (k & 0x20 || w.sq_prod - w.sq_ring->cons < DEPTH)
		w.sq_prod++;
	w.sq_ring->prod = w.sq_prod;
}

static void post_recv(void)
{
	u32 slot = w.rq_prod & (DEPTH - 1);
	struct xroce_recv_wqe *wqe = (void *)(w.rq_ring->slot +
					      slot * RQ_STRIDE);
	u8 n = get8();

	wqe->wr_id = w.rq_prod;
	wqe->num_sge = n & 0x80 ? n : n % 3;
	fill_sge(wqe->sge, min_t(u32, wqe->num_sge, SGES));
	w.rq_ring->prod = ++w.rq_prod;
}

/* Another process, or a broken one, writes where it may. */
static void scribble(void)
{
	struct xroce_ring *ring[3] = { w.sq_ring, w.rq_ring, w.cq_ring };
	u32 size[3] = { DEPTH * STRIDE, DEPTH * RQ_STRIDE, CQ_DEPTH * 64 };
	u8 which = get8(), i = which % 3;
	u32 v = get32();

	switch (which >> 4 & 7) {
	case 0:
		ring[i]->prod = v;
		break;
	case 1:
		ring[i]->cons = v;
		break;
	case 2:
		ring[i]->wake = v;
		break;
	case 3:
		ring[i]->arm = v;
		break;
	case 4:		/* the position, that is all but who and what it is */
		if (w.bpf) {
			(&w.qp.hot.epsn)[(which & 15) % 7] = v;
			w.wild = true;
		}
		break;
	default:
		memcpy(ring[i]->slot + v % (size[i] - 4), &v, 4);
	}
}

static void seal(u8 *ip, u32 len)
{
	u32 hdr = (ip[0] >> 4 == 4 ? 20 : 40) + 8, crc;
	u8 head[XROCE_ICRC_HEAD_MAX];

	if (len < hdr + 16)
		return;
	crc = fuzz_crc(XROCE_ICRC_SEED, head, xroce_icrc_head(head, ip));
	crc = ~fuzz_crc(crc, ip + hdr + 12, len - hdr - 16);
	memcpy(ip + len - 4, &crc, 4);
}

/* All that a packet may change; but region 3, 2 MiB. */
static struct snap {
	typeof(w) w;
	u8 sq[sizeof(struct xroce_ring) + DEPTH * STRIDE];
	u8 rq[sizeof(struct xroce_ring) + DEPTH * RQ_STRIDE];
	u8 cq[sizeof(struct xroce_ring) + CQ_DEPTH * sizeof(struct xroce_cqe)];
	u8 page[5][PAGE];
	u32 wires;
} before, after;

static void snap(struct snap *s)
{
	u32 i, k, n = 0;

	memcpy(&s->w, &w, sizeof(w));
	memcpy(s->sq, w.sq_ring, sizeof(s->sq));
	memcpy(s->rq, w.rq_ring, sizeof(s->rq));
	memcpy(s->cq, w.cq_ring, sizeof(s->cq));
	for (i = 0; i < 3; i++)
		for (k = 0; k < mrs[i].pages; k++)
			memcpy(s->page[n++], w.mr[i].page[k], PAGE);
	s->wires = env.wires;
}

/*
 * Deliver, and at times first spoil what is checked before the QP's lock: then
 * nothing of the QP, its queues or the memory may change, and nothing is answered.
 */
static void deliver(u8 *ip, u32 len, u8 spoil)
{
	bool v4 = ip[0] >> 4 == 4;
	u32 hdr = (v4 ? 20 : 40) + 8;

	if (!(spoil & 0x80) || len < hdr + 16) {
		fuzz_rx(ip, len);
		return;
	}
	/* Datagrams may come from anybody. */
	switch (w.transport == XROCE_UD && (spoil & 3) == 1 ? 0 : spoil & 3) {
	case 0:			/* ICRC */
		ip[len - 1 - (spoil >> 2 & 3)] ^= 1 << (spoil >> 4 & 7);
		break;
	case 1:			/* source */
		ip[v4 ? 15 : 23] ^= 0x40;
		seal(ip, len);
		break;
	case 2:			/* destination */
		ip[v4 ? 16 : 24] ^= 0x40;
		seal(ip, len);
		break;
	case 3:			/* a byte under the ICRC */
		ip[hdr + 12 + (spoil >> 2) % (len - hdr - 12)] ^= 0x11;
		break;
	}
	snap(&before);
	fuzz_rx(ip, len);
	snap(&after);
	MUST(!memcmp(&before, &after, sizeof(before)));
}

/* What the program has in hand: @info: 0: it has not looked; @done: what is done once. */
static struct {
	u32 info;
	bool done;
	u64 executed;
} hand;

static u64 executed(void)
{
	return env.count[XROCE_CNT_RX_SEND] + env.count[XROCE_CNT_RX_WRITE];
}

/* What was done once is not done again as the packet is let go. */
static void hand_off(void)
{
	MUST(!hand.done || hand.executed == executed());
	memset(&hand, 0, sizeof(hand));
}

static void once(int err, bool may, u32 kinds)
{
	if (err == -EINVAL)
		return;
	MUST(may && !hand.done && (!hand.info || hand.info & kinds));
	hand.done = true;
}

static struct xroce_hot *look(struct xroce_pass *p, u32 len)
{
	struct xroce_hot *hot = (void *)bpf_xroce_hot(p, len);

	MUST(!hot || (len <= sizeof(*hot) && !w.qp.resp.fatal));
	if (hot)
		hand.info = hot->pkt.info;
	return hot;
}

/*
 * A program with a packet in hand: the module's functions in any order, and anything
 * in the hot block between them. Nothing that must hold may depend on it.
 */
static u32 program(struct xroce_pass *p)
{
	bool rc = w.transport == XROCE_RC || w.transport == XROCE_XRC, live;
	struct xroce_hot *hot = NULL;
	u8 n = get8() & 7, what;
	u32 v;

	hand_off();
	while (n--) {
		what = get8();
		switch (what & 7) {
		case 0:
		case 1:
			hot = look(p, sizeof(*hot) + (what >> 7));
			break;
		case 2:
		case 3:
			v = get32();
			if (hot)
				memcpy((u8 *)hot + (what >> 3) % 16 * 4, &v, 4);
			break;
		case 4:
			if (hot)
				hot->epsn = hot->pkt.psn;
			break;
		case 5:
			live = rc && !w.qp.resp.fatal;
			once(bpf_xroce_place(p), live, XROCE_OP_SEND | XROCE_OP_WRITE);
			break;
		case 6:
			once(bpf_xroce_complete(p), true, XROCE_OP_RESPONSE);
			break;
		case 7:
			if (hot)
				xroce_resp_done(hot, (what >> 3 & 3) |
						(what & 0x20 ? XROCE_OP_LAST : 0), 1,
						what & 0x80);
			break;
		}
	}
	hand.executed = executed();
	return get8() % 4;
}

/* A packet of the peer's, or of who says so. */
static void packet(void)
{
	static u8 buf[96 + 44 + 4200];
	struct xroce_qp *qp = &w.qp;
	u8 op = get8(), at = get8(), k = get8(), how = get8();
	u32 ip = w.peer.l3_len, info, n, ext = 0, payload;
	u8 *p = buf + ip + 12;
	u32 psn;

	if (!(how & 1))
		op = (op & 0x1f) | w.transport;
	info = xroce_op_info(op);
	memcpy(buf, w.peer.l3, ip);
	if (how & 2)		/* marked by the network */
		buf[1] |= buf[0] >> 4 == 4 ? 3 : 0x30;
	psn = at & 0x80 ? qp->hot.epsn : qp->hot.una;
	psn += (s8)(at << 1) >> 1;
	if (info & XROCE_OP_DETH) {
		put_unaligned_be32(k & 0x80 ? get32() : QKEY, p);
		put_unaligned_be32(QPN, p + 4);
		ext += 8;
	}
	if (info & XROCE_OP_XRCETH) {
		put_unaligned_be32(how & 4 ? k : 4 | (k & 1), p);
		p += 4;
		ext += 4;
	}
	if (info & XROCE_OP_FLUSH) {
		put_unaligned_be32(how & 0x40 ? k : 1 | (k & 1) << 4, p);
		p += 4;
		ext += 4;
	}
	if (info & XROCE_OP_RETH) {
		put_unaligned_be32(key_address(some_key(k), how) >> 32, p);
		put_unaligned_be32(key_address(some_key(k), how), p + 4);
		put_unaligned_be32(some_key(k), p + 8);
		put_unaligned_be32(info & XROCE_OP_ATOMIC_WRITE && !(k & 1) ? 8 :
				   length(get8()), p + 12);
		ext += 16;
	}
	if (info & XROCE_OP_ATOMIC) {
		put_unaligned_be32(key_address(some_key(k), how) >> 32, p);
		put_unaligned_be32(key_address(some_key(k), how), p + 4);
		put_unaligned_be32(some_key(k), p + 8);
		memset(p + 12, k, 16);
		ext += 28;
	}
	p = buf + ip + 12;
	if (info & XROCE_OP_AETH) {
		p[0] = get8();
		memset(p + 1, 0, 3);
		ext += 4;
	}
	if (info & XROCE_OP_ATOMIC_ACK) {
		memset(p + ext, how, 8);
		ext += 8;
	}
	if (info & (XROCE_OP_IMM | XROCE_OP_INV)) {
		put_unaligned_be32(some_key(k), p + ext);
		ext += 4;
	}
	payload = info & XROCE_OP_PAYLOAD ? length(get8()) : 0;
	if (payload > 4100)
		payload = 4100;
	memset(p + ext, op, payload + 3);
	n = 12 + ext + payload + (-payload & 3) + 4;
	p = buf + ip;
	p[0] = op;
	p[1] = 0x40 | (-payload & 3) << 4;
	if (how & 0x10)
		p[1] ^= get8();
	put_unaligned_be16(how & 0x20 ? 0x7fff : 0xffff, p + 2);
	put_unaligned_be32(k & 0x10 ? XROCE_MCAST_QPN : QPN, p + 4);
	put_unaligned_be32((psn & XROCE_PSN_MASK) | (k & 4 ? 1u << 31 : 0),
			   p + 8);
	if (how & 8)
		n -= min_t(u32, get8(), n);
	seal(buf, ip + n);
	deliver(buf, ip + n, get8());
}

/* Its own packets come back: in turn, late, twice, changed, or not at all. */
static void reflect(void)
{
	u8 what = get8();
	struct fuzz_wire *x, own;
	bool keep = what & 0x40;
	u32 i;

	if (!env.wires)
		return;
	i = what & 0x20 ? get8() % env.wires : 0;
	x = &env.wire[i];
	own.p = malloc(x->len);
	own.len = x->len;
	memcpy(own.p, x->p, x->len);
	if (!keep) {
		free(x->p);
		memmove(x, x + 1, (--env.wires - i) * sizeof(*x));
	}
	if (what & 0x10) {
		u32 hdr = own.p[0] >> 4 == 4 ? 28 : 48;

		own.p[hdr + get8() % min(own.len - hdr - 4, 44u)] ^= get8();
		seal(own.p, own.len);
	}
	if (!(what & 0x08))
		deliver(own.p, own.len, get8());
	free(own.p);
}

static void reflect_all(void)
{
	u32 n = WIRE_MAX;

	while (env.wires && n--) {
		struct fuzz_wire own = env.wire[0];

		memmove(env.wire, env.wire + 1,
			--env.wires * sizeof(env.wire[0]));
		fuzz_rx(own.p, own.len);
		free(own.p);
		if (!env.wires) {
			env.bh++;
			xroce_qp_run(&w.qp);
			env.bh--;
		}
	}
}

static void pass_time(void)
{
	u8 n = get8();

	env.now += n & 0x80 ? 1ull << (n & 0x3f) % 34 : n * 1000;
	if (!env.due || env.due > env.now)
		return;
	env.due = 0;
	env.bh++;
	xroce_qp_timer(&w.qp);
	env.bh--;
}

/* What must hold between any two calls. */
static void check(void)
{
	const struct xroce_hot *hot = &w.qp.hot;
	const struct xroce_req *req = &w.qp.req;
	const struct xroce_resp *resp = &w.qp.resp;
	u32 i, active = 0;

	MUST(!w.qp.lock.held && !w.rq.lock.held && !w.cq.lock.held);
	MUST(!w.qp.sending && !env.bh && !env.frames);
	MUST(!w.qp.xrcd || (!w.qp.rq && !w.qp.rcq));
	MUST(req->tail - req->head <= DEPTH);
	MUST(req->cur - req->head <= req->tail - req->head);
	MUST(req->rd_tail - req->rd_head <= XROCE_MAX_RD_ATOMIC);
	MUST(resp->rd_tail < max(resp->max_rd, 1u));
	hand_off();
	for (i = 0; i < resp->max_rd; i++)
		active += resp->rd[i].state == XROCE_RD_ACTIVE;
	MUST(active == resp->rd_active);
	for (i = 4, active = 0; i < 6; i++) {
		MUST(w.mr[i].state == (w.mr[i].parent ? XROCE_KEY_VALID :
				       XROCE_KEY_INVALID));
		active += w.mr[i].parent == &w.mr[0];
		/* One region has the right, and lends but what is inside it. */
		MUST(!w.mr[i].parent || w.mr[i].parent == &w.mr[0]);
		MUST(!w.mr[i].parent || w.mr[i].offset - w.mr[0].offset <=
		     w.mr[0].length - w.mr[i].length);
	}
	MUST(active == (u32)atomic_read(&w.mr[0].windows));
	MUST(!resp->wqe_held || resp->wqe->num_sge <= SGES);
	if (w.wild)
		return;
	MUST(hot->una <= XROCE_PSN_MASK && hot->next <= XROCE_PSN_MASK);
	MUST(hot->max <= XROCE_PSN_MASK && hot->epsn <= XROCE_PSN_MASK);
	MUST(hot->msn <= XROCE_PSN_MASK && resp->nak_psn <= XROCE_PSN_MASK);
	MUST(!hot->msg || hot->msg == XROCE_OP_SEND || hot->msg == XROCE_OP_WRITE);
	MUST(hot->resp_flags <= (XROCE_RESP_GAP | XROCE_RESP_RNR | XROCE_RESP_ACK));
	MUST(xroce_psn_diff(hot->next, hot->una) >= 0);
	MUST(xroce_psn_diff(hot->max, hot->next) >= 0);
	/* One READ of 2^31 bytes at MTU 256 may be past the window */
	MUST((u32)xroce_psn_diff(hot->max, hot->una) <= 0x7fffff);
	if (hot->state == XROCE_QPS_RTS)
		MUST(req->cwnd >= 1 && req->cwnd <= env.dev.cwnd_max);
	if (hot->state == XROCE_QPS_ERR)
		MUST(!resp->rd_active);
}

static void command(void)
{
	u8 c = get8();

	env.room = c & 0x80 ? c >> 4 & 7 : 24;
	switch (c & 15) {
	case 0:
	case 1:
		post_send();
		break;
	case 2:
		post_recv();
		break;
	case 3:
	case 4:
		env.bh++;
		xroce_qp_run(&w.qp);
		env.bh--;
		break;
	case 5:
	case 6:
		packet();
		break;
	case 7:
	case 8:
		reflect();
		break;
	case 9:
		reflect_all();
		break;
	case 10:
		pass_time();
		break;
	case 11:
		scribble();
		break;
	case 12:
		env.no_mem = get8() & 15;
		if (w.transport == XROCE_XRC)
			env.srq = c & 0x40 ? NULL : &w.rq;
		break;
	case 13:
		change_state();
		break;
	case 14:		/* polled */
		w.cq_ring->cons = w.cq_ring->prod;
		break;
	case 15:
		env.linear = c & 0x40;
		if (c & 0x20 && w.mr[3].state == XROCE_KEY_VALID) {
			env.bh++;
			MUST(xroce_key_invalidate(&w.qp, &w, key(3), c & 0x10));
			env.bh--;
		}
		break;
	}
	check();
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static const u8 transports[] = { XROCE_RC, XROCE_UC, XROCE_UD, XROCE_XRC };
	u32 i;
	u8 how;

	in = data;
	in_end = data + size;
	how = get8();
	if (!block) {
		block = malloc(1 << 21);
		for (i = 0; i < ARRAY_SIZE(blocks); i++)
			blocks[i] = block;
	}
	memset(&w, 0, sizeof(w));
	env.dev.cwnd_init = 8;
	env.dev.cwnd_max = 64;
	env.now = 1;
	env.room = 24;
	w.transport = transports[how & 3];
	w.bpf = how & 4;
	env.native = how & 0x20;
	env.program = env.native && how & 0x40 ? program : NULL;
	env.ah[0] = &w.ah[0];
	env.ah[1] = &w.ah[1];
	for (i = 0; i < 4; i++)
		make_mr(i);
	make_mw(4);
	make_mw(5);
	make_qp();
	connect();
	for (i = 0; i < 200 && in < in_end; i++)
		command();

	xroce_qp_kill(&w.qp);
	env.bh++;
	xroce_qp_run(&w.qp);
	env.bh--;
	MUST(!env.frames && !env.dev.turn[0] && !env.dev.turn[1]);
	env.bh++;
	for (i = 6; i--; )
		MUST(xroce_mr_end(&w.mr[i]));
	env.bh--;
	for (i = 0; i < 4; i++)
		check_mr(i);
	free(w.qp.resp.rd);
	free(w.qp.req.wqe);
	free(w.qp.req.swq);
	free(w.sq_ring);
	free(w.rq_ring);
	free(w.cq_ring);
	fuzz_env_reset();
	return 0;
}
