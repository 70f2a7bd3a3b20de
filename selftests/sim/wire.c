// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The observer: every frame that the core emits is judged by itself (headers,
 * lengths, checksums, ICRC) and as part of its connection (PSNs, retries, what
 * an answer may say). Shares no code with the core but numbers. Single-threaded.
 */
#include "sim.h"

struct hdr {
	const u8 *l3;
	const u8 *bth;
	const u8 *ext;
	const u8 *payload;
	u32 payload_len;
	u32 ip_len;
	u8 op;
	bool xrc;
	u32 srqn;
	u32 pad;
	u32 dqpn;
	u32 psn;
	bool ackreq;
	u32 aeth;
	u64 va;
	u32 rkey;
	u32 dma_len;
};

enum op_kind {
	K_NONE,
	K_SEND = 1 << 0,
	K_WRITE = 1 << 1,
	K_READ = 1 << 2,
	K_ATOMIC = 1 << 3,
	K_RESP = 1 << 4,
	K_ACK = 1 << 5,
	K_AACK = 1 << 6,
	K_FIRST = 1 << 7,
	K_LAST = 1 << 8,
	K_IMM = 1 << 9,
	K_REQ = K_SEND | K_WRITE | K_READ | K_ATOMIC,
};

static const struct {
	u16 kind;
	u8 ext;
	const char *name;
} ops[32] = {
	[0x00] = { K_SEND | K_FIRST, 0, "SEND_FIRST" },
	[0x01] = { K_SEND, 0, "SEND_MIDDLE" },
	[0x02] = { K_SEND | K_LAST, 0, "SEND_LAST" },
	[0x03] = { K_SEND | K_LAST | K_IMM, 4, "SEND_LAST_IMM" },
	[0x04] = { K_SEND | K_FIRST | K_LAST, 0, "SEND_ONLY" },
	[0x05] = { K_SEND | K_FIRST | K_LAST | K_IMM, 4, "SEND_ONLY_IMM" },
	[0x06] = { K_WRITE | K_FIRST, 16, "WRITE_FIRST" },
	[0x07] = { K_WRITE, 0, "WRITE_MIDDLE" },
	[0x08] = { K_WRITE | K_LAST, 0, "WRITE_LAST" },
	[0x09] = { K_WRITE | K_LAST | K_IMM, 4, "WRITE_LAST_IMM" },
	[0x0a] = { K_WRITE | K_FIRST | K_LAST, 16, "WRITE_ONLY" },
	[0x0b] = { K_WRITE | K_FIRST | K_LAST | K_IMM, 20, "WRITE_ONLY_IMM" },
	[0x0c] = { K_READ | K_FIRST | K_LAST, 16, "READ_REQ" },
	[0x0d] = { K_RESP | K_FIRST, 4, "READ_RESP_FIRST" },
	[0x0e] = { K_RESP, 0, "READ_RESP_MIDDLE" },
	[0x0f] = { K_RESP | K_LAST, 4, "READ_RESP_LAST" },
	[0x10] = { K_RESP | K_FIRST | K_LAST, 4, "READ_RESP_ONLY" },
	[0x11] = { K_ACK, 4, "ACK" },
	[0x12] = { K_AACK, 12, "ATOMIC_ACK" },
	[0x13] = { K_ATOMIC | K_FIRST | K_LAST, 28, "CMP_SWAP" },
	[0x14] = { K_ATOMIC | K_FIRST | K_LAST, 28, "FETCH_ADD" },
	[0x16] = { K_SEND | K_LAST, 4, "SEND_LAST_INV" },
	[0x17] = { K_SEND | K_FIRST | K_LAST, 4, "SEND_ONLY_INV" },
};

static u32 be(const u8 *p, u32 n)
{
	u32 v = 0;

	while (n--)
		v = v << 8 | *p++;
	return v;
}

static s32 dist(u32 a, u32 b)
{
	u32 d = (a - b) & 0xffffff;

	return d < 0x800000 ? (s32)d : (s32)d - 0x1000000;
}

static u32 psn_plus(u32 psn, u32 n)
{
	return (psn + n) & 0xffffff;
}

/* One bit after the other, as the polynomial is written down. */
static u32 crc_bitwise(u32 crc, const void *p, u32 len)
{
	const u8 *b = p;
	int i;

	while (len--) {
		crc ^= *b++;
		for (i = 0; i < 8; i++)
			crc = crc >> 1 ^ (0xedb88320u & -(crc & 1));
	}
	return crc;
}

/* Four bits at a time, by a table that the above makes: for the long ones. */
static u32 crc_nibbles(u32 crc, const u8 *b, u32 len)
{
	static u32 tab[16];
	u32 i, j;

	if (!tab[1]) {
		for (i = 0; i < 16; i++) {
			tab[i] = i;
			for (j = 0; j < 4; j++)
				tab[i] = tab[i] >> 1 ^
					 (0xedb88320u & -(tab[i] & 1));
		}
	}
	while (len--) {
		crc ^= *b++;
		crc = crc >> 4 ^ tab[crc & 15];
		crc = crc >> 4 ^ tab[crc & 15];
	}
	return crc;
}

static u32 icrc(const u8 *buf, u32 len)
{
	u32 ip = buf[0] >> 4 == 4 ? 20 : 40;
	u8 head[8 + 40 + 8 + 12], *h = head + 8;
	u32 crc = 0xffffffffu;

	memset(head, 0xff, 8);
	memcpy(h, buf, ip + 20);
	if (ip == 20) {
		h[1] = h[8] = h[10] = h[11] = 0xff;
	} else {
		h[0] = 0x6f;
		h[1] = h[2] = h[3] = h[7] = 0xff;
	}
	h[ip + 6] = h[ip + 7] = 0xff;
	h[ip + 12] = 0xff;
	crc = crc_bitwise(crc, head, 8 + ip + 20);
	buf += ip + 20;
	len -= ip + 20 + 4;
	if (len <= 256 || (crc & 15) == 0)
		crc = crc_bitwise(crc, buf, len);
	else
		crc = crc_nibbles(crc, buf, len);
	return ~crc;
}

bool wire_icrc_ok(const u8 *buf, u32 len)
{
	u32 c = icrc(buf, len);
	const u8 *p = buf + len - 4;

	return p[0] == (c & 0xff) && p[1] == (c >> 8 & 0xff) &&
	       p[2] == (c >> 16 & 0xff) && p[3] == c >> 24;
}

void wire_icrc_set(u8 *buf, u32 len)
{
	u32 c = icrc(buf, len), i;

	for (i = 0; i < 4; i++)
		buf[len - 4 + i] = c >> 8 * i;
}

static void split(const u8 *buf, u32 len, struct hdr *h)
{
	u32 ext;

	memset(h, 0, sizeof(*h));
	h->l3 = buf;
	h->ip_len = buf[0] >> 4 == 4 ? 20 : 40;
	h->bth = buf + h->ip_len + 8;
	h->op = h->bth[0];
	h->pad = h->bth[1] >> 4 & 3;
	h->dqpn = be(h->bth + 5, 3);
	h->psn = be(h->bth + 9, 3);
	h->ackreq = h->bth[8] & 0x80;
	h->ext = h->bth + 12;
	if (h->op >> 5 == 5) {
		h->xrc = true;
		h->op &= 31;
		if (ops[h->op].kind & K_REQ) {
			h->srqn = be(h->ext, 4);
			h->ext += 4;
		}
	}
	ext = h->op < 32 ? ops[h->op].ext : 0;
	h->payload = h->ext + ext;
	h->payload_len = len - (h->payload - buf) - 4 - h->pad;
	if (h->op >= 32)
		return;
	if (ops[h->op].kind & (K_RESP | K_ACK | K_AACK) && ext)
		h->aeth = be(h->ext, 4);
	if (ext >= 16) {
		h->va = (u64)be(h->ext, 4) << 32 | be(h->ext + 4, 4);
		h->rkey = be(h->ext + 8, 4);
		h->dma_len = be(h->ext + 12, 4);
	}
}

void wire_describe(const u8 *buf, u32 len, char *s, size_t n)
{
	u8 copy[64 + 32] = {};	/* headers that are missing are zeroes */
	struct hdr h;

	if (len < (buf[0] == 0x45 ? 44 : 64) ||
	    (buf[0] != 0x45 && buf[0] >> 4 != 6)) {
		snprintf(s, n, "%u bytes", len);
		return;
	}
	memcpy(copy, buf, min_t(u32, len, sizeof(copy)));
	split(copy, len, &h);
	snprintf(s, n, "%s qp %06x psn %06x%s len %d va %llx+%u aeth %08x",
		 h.op < 32 && ops[h.op].name ? ops[h.op].name : "?", h.dqpn,
		 h.psn, h.ackreq ? " ackreq" : "", (int)h.payload_len,
		 (unsigned long long)h.va, h.dma_len, h.aeth);
}

#define need(c) sim_check(c, "QP %u sends a frame that is wrong: !(%s)", \
			  ep->idx, #c)

/**
 * wire_check_l3() - IP and UDP header of a frame, by the GIDs of both ends
 */
void wire_check_l3(struct sim_ep *ep, const u8 *b, u32 len, const u8 *from,
		   const u8 *to)
{
	static const u8 v4[12] = { [10] = 0xff, [11] = 0xff };
	const u8 *udp;
	u32 i, sum = 0;

	if (!memcmp(from, v4, 12)) {
		need(b[0] == 0x45);
		need(be(b + 2, 2) == len);
		need(be(b + 6, 2) == 0x4000);
		need(b[8] > 0 && b[9] == 17);
		need(!memcmp(b + 12, from + 12, 4));
		need(!memcmp(b + 16, to + 12, 4));
		for (i = 0; i < 20; i += 2)
			sum += be(b + i, 2);
		while (sum >> 16)
			sum = (sum & 0xffff) + (sum >> 16);
		need(sum == 0xffff);
		udp = b + 20;
	} else {
		need(b[0] >> 4 == 6);
		need(be(b + 4, 2) == len - 40);
		need(b[6] == 17 && b[7] > 0);
		need(!memcmp(b + 8, from, 16));
		need(!memcmp(b + 24, to, 16));
		udp = b + 40;
	}
	need(be(udp, 2) >= 0xc000);
	need(be(udp + 2, 2) == 4791);
	need(be(udp + 4, 2) == len - (udp - b));
	need(be(udp + 6, 2) == 0);
}

static void check_l3(struct sim_ep *ep, const u8 *b, u32 len)
{
	struct sim_node *from = ep->node, *to = ep->peer->node;
	bool v6 = ep->conn->v6;

	wire_check_l3(ep, b, len, v6 ? from->gid6 : from->gid4, v6 ? to->gid6 : to->gid4);
}

/**
 * wire_check_l2() - what the environment is told of the path
 */
void wire_check_l2(struct sim_ep *ep, const struct xroce_frame *f,
		   const struct xroce_av *av)
{
	need(f->l2_len == av->l2_len && f->route == av->route &&
	     f->prio == (f->is.kind == XROCE_FRAME_CNP ? XROCE_CNP_PRIO : av->prio));
	need(!memcmp(f->seg[0].p - av->l2_len, av->l2, av->l2_len));
}

static void check_frame(struct sim_ep *ep, const u8 *buf, u32 len,
			struct hdr *h)
{
	u32 mtu = ep->mtu, kind, i;

	check_l3(ep, buf, len);
	split(buf, len, h);
	need(h->op < 32 && ops[h->op].name && h->xrc == ep->xrc);
	kind = ops[h->op].kind;
	need(!ep->xrc || !(kind & K_REQ) || ep->any_srqn || h->srqn == ep->peer->srq->number);
	need((h->bth[1] & 0x4f) == 0x40);
	need(!(h->bth[1] & 0x80) || (kind & K_LAST));
	need(!(h->bth[1] & 0x80) || (kind & (K_SEND | K_IMM)));
	need(be(h->bth + 2, 2) == 0xffff);
	need(h->bth[4] == 0 && (h->bth[8] & 0x7f) == 0);
	need(h->dqpn == ep->peer->qp.hot.qpn);
	need(!h->ackreq || (kind & K_REQ));
	need((s32)h->payload_len >= 0 && h->payload_len <= mtu);
	need(((h->payload_len + h->pad) & 3) == 0);
	for (i = 0; i < h->pad; i++)
		need(h->payload[h->payload_len + i] == 0);
	if (kind & (K_READ | K_ATOMIC | K_ACK | K_AACK))
		need(h->payload_len == 0);
	else if (!(kind & K_LAST))
		need(h->payload_len == mtu);
	else if (!(kind & K_FIRST))
		need(h->payload_len > 0);
	if (kind & (K_READ | K_ATOMIC))
		need(h->ackreq);
	need(wire_icrc_ok(buf, len));
}

/* Annex A17.9.3 */
static void check_cnp(struct sim_ep *ep, const u8 *buf, u32 len)
{
	struct hdr h;
	u32 i;

	check_l3(ep, buf, len);
	split(buf, len, &h);
	need((h.bth[1] & 0x7f) == 0);
	need(be(h.bth + 2, 2) == 0xffff);
	need(h.bth[4] == 0x40);
	need(h.dqpn == ep->peer->qp.hot.qpn);
	need(be(h.bth + 8, 4) == 0);
	need(len - (h.ext - buf) == 16 + 4);
	for (i = 0; i < 16; i++)
		need(h.ext[i] == 0);
	need(wire_icrc_ok(buf, len));
}

#undef need

/* The BTH's opcode. */
static u8 wire_op(const u8 *buf)
{
	return buf[(buf[0] >> 4 == 4 ? 20 : 40) + 8];
}

static struct wire_rec *fifo_at(struct wire_fifo *f, u32 i)
{
	return &f->rec[i & (f->size - 1)];
}

static struct wire_rec *fifo_push(struct wire_fifo *f)
{
	struct wire_rec *rec, *r;
	u32 i, n;

	if (f->tail - f->head == f->size) {
		n = f->size ? 2 * f->size : 64;
		rec = malloc(n * sizeof(*rec));
		for (i = f->head; i != f->tail; i++)
			rec[i & (n - 1)] = *fifo_at(f, i);
		free(f->rec);
		f->rec = rec;
		f->size = n;
	}
	r = fifo_at(f, f->tail++);
	memset(r, 0, sizeof(*r));
	return r;
}

/* The record that a PSN belongs to. */
static struct wire_rec *fifo_find(struct wire_fifo *f, u32 psn, u32 *idx)
{
	u32 lo = f->head, hi = f->tail, mid;
	struct wire_rec *r;

	while (lo != hi) {
		mid = lo + (hi - lo) / 2;
		r = fifo_at(f, mid);
		if (dist(psn, r->psn) < 0) {
			hi = mid;
		} else if (dist(psn, r->psn) >= (s32)r->npsn) {
			lo = mid + 1;
		} else {
			if (idx)
				*idx = mid;
			return r;
		}
	}
	return NULL;
}

void wire_reset(struct sim_ep *ep, u32 psn)
{
	struct wire *w = &ep->wire;

	wire_free(ep);
	memset(w, 0, sizeof(*w));
	w->una = w->next = w->max = w->epsn = psn;
	w->answered = psn_plus(psn, 0xffffff);
}

void wire_free(struct sim_ep *ep)
{
	free(ep->wire.sent.rec);
	free(ep->wire.got.rec);
	memset(&ep->wire.sent, 0, sizeof(ep->wire.sent));
	memset(&ep->wire.got, 0, sizeof(ep->wire.got));
}

static u32 rec_npsn(const struct sim_ep *ep, const struct hdr *h)
{
	if (!(ops[h->op].kind & K_READ))
		return 1;
	return max(DIV_ROUND_UP(h->dma_len, ep->mtu), 1u);
}

/* The packet that ends before @psn, or what of it is not acknowledged. */
static u32 begins(struct wire *w, u32 psn)
{
	struct wire_rec *r = fifo_find(&w->sent, psn_plus(psn, 0xffffff), NULL);

	return r && dist(r->psn, w->una) > 0 ? r->psn : w->una;
}

/* READs and atomics outstanding, this one included. */
static void check_rd_limit(struct sim_ep *ep)
{
	struct wire *w = &ep->wire;
	struct wire_rec *r;
	u32 i, n = 0;

	for (i = w->sent.head; i != w->sent.tail; i++) {
		r = fifo_at(&w->sent, i);
		if (r->rd && dist(r->psn, w->next) < 0)
			n++;
	}
	sim_check(n <= ep->max_rd, "QP %u: %u READs and atomics outstanding, %u allowed",
		  ep->idx, n, ep->max_rd);
}

static void tx_new(struct sim_ep *ep, const struct hdr *h, u32 hash)
{
	struct wire *w = &ep->wire;
	u32 kind = ops[h->op].kind;
	struct wire_rec *r = fifo_push(&w->sent);

	sim_check(kind & K_FIRST ? !w->in_msg : w->in_msg && (kind & w->in_msg),
		  "QP %u: %s out of place", ep->idx, ops[h->op].name);
	if (kind & K_FIRST)
		w->msg = h->psn;
	if (kind & K_WRITE) {
		if (kind & K_FIRST)
			w->left = h->dma_len;
		sim_check(w->left >= h->payload_len &&
			  !(kind & K_LAST) == !!(w->left - h->payload_len),
			  "QP %u: WRITE's length is not what its RETH said", ep->idx);
		w->left -= h->payload_len;
	}
	sim_check(!ep->drained || w->in_msg || !(kind & K_FIRST),
		  "QP %u: begins something new, drained", ep->idx);
	w->in_msg = kind & K_LAST ? 0 : kind & (K_SEND | K_WRITE);
	r->psn = h->psn;
	r->npsn = rec_npsn(ep, h);
	r->op = h->op;
	r->rd = kind & (K_READ | K_ATOMIC);
	r->atomic = kind & K_ATOMIC;
	r->hash = hash;
	r->va = h->va;
	r->rkey = h->rkey;
	r->len = h->dma_len;
	w->max = w->next = psn_plus(h->psn, r->npsn);
}

static void tx_again(struct sim_ep *ep, const struct hdr *h, u32 hash)
{
	struct wire *w = &ep->wire;
	struct wire_rec *r = fifo_find(&w->sent, h->psn, NULL);
	u32 n;

	w->retrans++;
	sim_check(r && r->op == h->op, "QP %u: PSN %06x sent again as %s", ep->idx, h->psn,
		  ops[h->op].name);
	n = h->psn - r->psn;
	if (ops[h->op].kind & K_READ) {
		n &= 0xffffff;
		sim_check(h->va == r->va + n * ep->mtu && h->rkey == r->rkey &&
			  h->dma_len == r->len - n * ep->mtu,
			  "QP %u: READ at PSN %06x sent again for other bytes", ep->idx, h->psn);
	} else {
		sim_check(hash == r->hash, "QP %u: PSN %06x sent again, but changed", ep->idx,
			  h->psn);
	}
	w->next = psn_plus(h->psn, rec_npsn(ep, h));
}

static void tx_request(struct sim_ep *ep, const struct hdr *h)
{
	struct wire *w = &ep->wire;
	u32 hash = crc_nibbles(0, h->ext, h->payload - h->ext + h->payload_len);
	s32 behind = dist(h->psn, w->next);

	w->requests++;
	sim_check(sim_now() >= w->rnr_until, "QP %u: request inside the RNR wait", ep->idx);
	sim_check(dist(h->psn, w->una) >= 0,
		  "QP %u: PSN %06x sent again, but %06x is acknowledged", ep->idx, h->psn, w->una);
	/* The last is that of the message before, where this one fails here in mid-way. */
	sim_check(behind <= 0 || h->psn == w->una || h->psn == w->asks || h->psn == w->follows ||
		  (w->in_msg && w->asks != w->follows && h->psn == begins(w, w->msg)),
		  "QP %u: PSN %06x sent, %06x should follow", ep->idx, h->psn, w->next);
	w->follows = behind < 0 && h->psn == w->una ? w->next : psn_plus(w->max, 1);
	w->asks = w->follows == w->next ? begins(w, w->next) : w->follows;
	if (h->psn == w->max)
		tx_new(ep, h, hash);
	else
		tx_again(ep, h, hash);
	if (ops[h->op].kind & (K_READ | K_ATOMIC))
		check_rd_limit(ep);
	w->rnr_wait = false;
	if (!w->since)
		w->since = sim_now();
}

/* The first PSN whose answer with data is still to be sent. */
static bool owed_psn(struct wire *w, u32 *psn)
{
	struct wire_rec *r;

	for (; w->owed != w->got.tail; w->owed++) {
		r = fifo_at(&w->got, w->owed);
		if (r->rd && r->answered < r->npsn) {
			*psn = psn_plus(r->psn, r->answered);
			return true;
		}
	}
	return false;
}

/* @psn: what is acknowledged; with a NAK what is before that */
static void check_msn(struct sim_ep *ep, struct wire *w, bool ack, u32 psn, u32 msn)
{
	struct wire_rec *r = fifo_find(&w->got, psn, NULL), *no = NULL;

	if (!ack)
		no = fifo_find(&w->got, psn_plus(psn, 1), NULL);
	if (r && r != no)
		sim_check(ack ? msn == r->msn : dist(msn, r->msn) >= 0, "QP %u: answer to PSN"
			  " %06x has MSN %u, not %u", ep->idx, psn, msn, r->msn);
	/* Some take what is refused from it. */
	if (no && no->rd)
		sim_check(dist(no->msn, msn) >= 1, "QP %u: NAK of PSN %06x, with its"
			  " message in MSN %u", ep->idx, psn_plus(psn, 1), msn);
	sim_check(dist(msn, w->msn) <= 0, "QP %u: MSN %u, but only %u messages"
		  " have arrived", ep->idx, msn, w->msn);
}

static void tx_ack(struct sim_ep *ep, struct wire *w, const struct hdr *h)
{
	u8 syn = h->aeth >> 24;
	bool ack = (syn & 0x60) == 0;
	struct wire_rec *r;
	u32 owed;

	w->acks++;
	check_msn(ep, w, ack, ack ? h->psn : psn_plus(h->psn, 0xffffff), h->aeth & 0xffffff);
	if (owed_psn(w, &owed))
		sim_check(dist(owed, h->psn) >= (ack ? 1 : 0),
			  "QP %u: ACK or NAK %06x overtakes the answer to %06x",
			  ep->idx, h->psn, owed);
	if (ack) {
		sim_check(syn == 0x1f, "QP %u: credits %02x", ep->idx, syn);
		sim_check(dist(w->epsn, h->psn) >= 1, "QP %u: ACK of PSN %06x,"
			  " which it has not executed", ep->idx, h->psn);
		r = fifo_find(&w->got, h->psn, NULL);
		sim_check(!r || !r->rd, "QP %u: ACK of PSN %06x, a READ's or"
			  " atomic's", ep->idx, h->psn);
		sim_check(dist(h->psn, w->answered) > 0 || sim_count(XROCE_CNT_DUPLICATE) ||
			  sim_count(XROCE_CNT_TX_UNTAKEN), "QP %u: ACK of PSN %06x"
			  " behind the answer to %06x", ep->idx, h->psn, w->answered);
	} else if ((syn & 0x60) == 0x20) {
		sim_check(w->rnr && h->psn == w->epsn, "QP %u: RNR NAK %06x"
			  " out of place", ep->idx, h->psn);
		sim_check((syn & 0x1f) == ep->min_rnr, "QP %u: RNR code", ep->idx);
	} else if (syn == 0x60) {
		sim_check(w->gap && !w->gap_nak && h->psn == w->epsn,
			  "QP %u: PSN NAK %06x out of place%s", ep->idx,
			  h->psn, w->gap_nak ? ", the second" : "");
		w->gap_nak = true;
	} else {
		sim_check(syn >= 0x61 && syn <= 0x64, "QP %u: syndrome %02x", ep->idx, syn);
		sim_check(!w->fatal, "QP %u: fatal NAK twice", ep->idx);
		sim_check(dist(h->psn, w->epsn) <= 0, "QP %u: NAK of PSN %06x,"
			  " which it has not seen", ep->idx, h->psn);
		w->fatal = syn;
	}
}

static void tx_data(struct sim_ep *ep, struct wire *w, const struct hdr *h)
{
	u32 kind = ops[h->op].kind, n, idx, owed;
	struct wire_rec *r = fifo_find(&w->got, h->psn, &idx);
	bool last;

	sim_check(r && r->rd && r->atomic == !!(kind & K_AACK),
		  "QP %u: %s %06x to no such request", ep->idx,
		  ops[h->op].name, h->psn);
	n = (h->psn - r->psn) & 0xffffff;
	if (owed_psn(w, &owed))
		sim_check(dist(h->psn, owed) <= 0, "QP %u: answer %06x"
			  " overtakes %06x", ep->idx, h->psn, owed);
	if (n == r->answered) {
		r->answered++;
		w->answered = h->psn;
	}
	last = n == r->npsn - 1;
	if (kind & K_RESP) {
		sim_check(!(kind & K_LAST) == !last, "QP %u: %s as response %u of %u", ep->idx,
			  ops[h->op].name, n, r->npsn);
		if (kind & K_FIRST)
			sim_check(n < 64 && r->starts >> n & 1, "QP %u: first response at %06x,"
				  " where no READ starts", ep->idx, h->psn);
		else
			sim_check(n && r->follow == n, "QP %u: response %06x"
				  " does not follow", ep->idx, h->psn);
		r->follow = n + 1;
		sim_check(h->payload_len == min(r->len - n * ep->mtu, ep->mtu),
			  "QP %u: response of %u bytes", ep->idx, h->payload_len);
	}
	if (ops[h->op].ext) {
		sim_check(h->aeth >> 24 == 0x1f, "QP %u: syndrome %02x in %s",
			  ep->idx, h->aeth >> 24, ops[h->op].name);
		check_msn(ep, w, true, h->psn, h->aeth & 0xffffff);
	}
}

/**
 * wire_tx() - the device has taken a frame
 */
void wire_tx(struct sim_ep *ep, const struct xroce_frame *f, const u8 *buf, u32 len)
{
	struct hdr h;
	char s[160];

	if (sim_verbose) {
		wire_describe(buf, len, s, sizeof(s));
		sim_trace("%u -> %s", ep->idx, s);
	}
	/*
	 * In ERR it may be what was built before, in the same burst; and a last
	 * word is owed to the peer even by a QP on its way to RESET or destroyed.
	 */
	sim_check(ep->qp.hot.state >= XROCE_QPS_RTR ||
		  ((ep->qp.dead || ep->state != SIM_EP_DOWN) && f->is.kind == XROCE_FRAME_ACK),
		  "QP %u: sends in state %u", ep->idx, ep->qp.hot.state);
	sim_keys_look(ep);
	if (ep->transport != XROCE_RC) {
		unrel_tx(ep, f, buf, len);
		return;
	}
	wire_check_l2(ep, f, &ep->av);
	if (wire_op(buf) == XROCE_CNP) {
		check_cnp(ep, buf, len);
		sim_check(ep->cnp_owed || W->checks_off, "QP %u: a CNP not due", ep->idx);
		ep->cnp_owed = false;
		return;
	}
	sim_check(!sim_ce(buf) || (ep->mark_may && f->is.kind == XROCE_FRAME_RD_RESP),
		  "QP %u: marks a packet itself", ep->idx);
	ep->mark_may &= !sim_ce(buf);
	/* The model knows none of Annex A19's (annex.c). */
	if (W->checks_off && (wire_op(buf) & 0x1f) >= XROCE_FLUSH)
		return;
	check_frame(ep, buf, len, &h);
	if (W->checks_off)
		return;
	if (ops[h.op].kind & K_REQ)
		tx_request(ep, &h);
	else if (ops[h.op].kind & K_ACK)
		tx_ack(ep, &ep->peer->wire, &h);
	else
		tx_data(ep, &ep->peer->wire, &h);
}

/* What the peer's responder does with a request that reaches it. */
static void rx_request(struct sim_ep *ep, struct wire *w, const struct hdr *h)
{
	u32 kind = ops[h->op].kind, npsn = rec_npsn(ep, h), n;
	s32 d = dist(h->psn, w->epsn);
	struct wire_rec *r;
	bool recv;

	if (d > 0) {
		if (!w->rnr)
			w->gap = true;
		return;
	}
	if (d < 0) {
		r = fifo_find(&w->got, h->psn, NULL);
		n = r ? (h->psn - r->psn) & 0xffffff : 0;
		if (r && r->rd && n < 64)
			r->starts |= 1ull << n;
		return;
	}
	recv = (kind & K_SEND && kind & K_FIRST) || (kind & K_WRITE && kind & K_IMM);
	if (recv && (ep->srq ? !ep->srq->posted.n : ep->rq_prod == w->recvs)) {
		w->rnr = true;
		if (ep->srq && (!ep->xrc || h->srqn == ep->srq->number))
			sim_srq_took(ep->srq);
		return;
	}
	/* One that is not to be taken from has none that it could lose. */
	if (recv && ep->srq && (!ep->xrc || h->srqn == ep->srq->number))
		sim_list_add(&ep->recvs, sim_srq_took(ep->srq));
	w->recvs += recv;
	w->epsn = psn_plus(h->psn, npsn);
	if (kind & K_LAST)
		w->msn = psn_plus(w->msn, 1);
	w->gap = w->gap_nak = w->rnr = false;
	while (w->got.tail - w->got.head > 512 && w->got.head != w->owed &&
	       dist(fifo_at(&w->got, w->got.head)->psn, w->una) < -512)
		w->got.head++;
	r = fifo_push(&w->got);
	r->psn = h->psn;
	r->npsn = npsn;
	r->op = h->op;
	r->rd = kind & (K_READ | K_ATOMIC);
	r->atomic = kind & K_ATOMIC;
	r->len = h->dma_len;
	r->starts = 1;
	r->msn = w->msn;
}

static void acked_to(struct wire *w, u32 psn)
{
	struct wire_rec *r;

	while (w->sent.head != w->sent.tail) {
		r = fifo_at(&w->sent, w->sent.head);
		if (!r->rd && dist(r->psn, psn) < 0)
			w->una = psn_plus(r->psn, r->npsn);
		if (dist(psn_plus(r->psn, r->npsn), w->una) > 0)
			break;
		w->sent.head++;
	}
}

/* RNR timer codes in microseconds, IBTA table 45. */
static const u32 rnr_us[32] = {
	655360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1280,
	1920, 2560, 3840, 5120, 7680, 10240, 15360, 20480, 30720, 40960, 61440,
	81920, 122880, 163840, 245760, 327680, 491520,
};

static void rx_answer(struct wire *w, const struct hdr *h)
{
	u32 kind = ops[h->op].kind, una = w->una;
	struct wire_rec *r;
	u8 syn = h->aeth >> 24;
	bool ack = kind & K_ACK && !(syn & 0x60);

	if (dist(h->psn, w->una) < 0 || dist(h->psn, w->max) >= 0)
		return;
	acked_to(w, ack ? psn_plus(h->psn, 1) : h->psn);
	if (!(kind & K_ACK) && w->sent.head != w->sent.tail) {
		r = fifo_at(&w->sent, w->sent.head);
		if (w->una == h->psn && r->rd && r->atomic == !!(kind & K_AACK)) {
			w->una = psn_plus(w->una, 1);
			if (w->una == psn_plus(r->psn, r->npsn))
				w->sent.head++;
		}
	}
	if (w->una != una) {
		w->expiries = 0;
		w->rnrs = 0;
		w->rnr_until = 0;
		w->rnr_wait = false;
		w->since = w->una == w->max ? 0 : sim_now();
	}
	if (!(kind & K_ACK) || ack || w->una != h->psn)
		return;
	if ((syn & 0x60) == 0x20) {
		w->expiries = 0;
		w->rnrs++;
		w->since = 0;
		if (!w->rnr_wait)
			w->rnr_until = sim_now() + rnr_us[syn & 0x1f] * SIM_US;
		w->rnr_wait = true;
	} else if (syn != 0x60 && !w->nak) {
		w->nak = syn;
	}
}

/**
 * wire_intact() - is a packet still what was sent, as far as anybody can tell
 */
bool wire_intact(const struct sim_pkt *pkt)
{
	u32 l3;

	if (!pkt->corrupted)
		return true;
	if (pkt->len < (pkt->v6 ? 64 : 44) ||
	    pkt->buf[0] >> 4 != (pkt->v6 ? 6 : 4))
		return false;
	l3 = pkt->v6 ? 40 + be(pkt->buf + 4, 2) : be(pkt->buf + 2, 2);
	return l3 == pkt->len && wire_icrc_ok(pkt->buf, pkt->len);
}

/**
 * wire_marked() - a packet that a QP listens to came with a mark of congestion
 *
 * It earns a notification, one in 50 us, unless it is one.
 */
void wire_marked(struct sim_ep *ep, const u8 *buf)
{
	u8 op = wire_op(buf);

	if (op == XROCE_CNP || sim_now() < ep->cnp_next ||
	    (ep->qp.hot.state == XROCE_QPS_RTR && !(ops[op & 31].kind & K_REQ)))
		return;
	ep->cnp_owed = true;
	ep->cnp_next = sim_now() + 50 * SIM_US;
}

/**
 * wire_valid() - must the QP that a packet is for listen to it
 */
bool wire_valid(const struct sim_pkt *pkt)
{
	const struct sim_ep *ep = pkt->ep;

	switch (ep->qp.hot.state) {
	case XROCE_QPS_RTR:
	case XROCE_QPS_RTS:
	case XROCE_QPS_SQD:
		break;
	default:
		return false;
	}
	if (ep->qp.dead || W->checks_off || pkt->forged)
		return false;
	return wire_intact(pkt);
}

/**
 * wire_rx() - a packet that is all right reaches a QP that listens
 */
void wire_rx(struct sim_ep *ep, const u8 *buf, u32 len)
{
	struct hdr h;

	if (wire_op(buf) == XROCE_CNP)
		return;
	split(buf, len, &h);
	if (ops[h.op].kind & K_REQ)
		rx_request(ep, &ep->peer->wire, &h);
	else if (ep->qp.hot.state != XROCE_QPS_RTR)
		rx_answer(&ep->wire, &h);
}

static u64 timeout_ns(const struct sim_ep *ep)
{
	u64 t = ep->timeout ? 4096ull << ep->timeout : 0;

	return max(t, min(t << min(ep->wire.expiries, 2u), 4096ull << 16));
}

/**
 * wire_timer() - a QP's timer runs out: has an ACK timeout passed, however long
 *
 * The observer sees a packet when the device takes it, which may be a little
 * after the core started its timer; an eighth is allowed for that.
 */
void wire_timer(struct sim_ep *ep)
{
	struct wire *w = &ep->wire;
	u64 t = timeout_ns(ep);

	if (!t || !w->since || sim_now() - w->since < t - t / 8)
		return;
	/* Others had the room that it needs to send again, or to ask: it waits on. */
	w->since = sim_now();
	if (W->cfg.turn && ep->qp.full)
		return;
	w->expiries++;
	sim_trace("%u: expiry %u", ep->idx, w->expiries);
	sim_check(w->expiries <= ep->retry_cnt + 2u ||
		  ep->qp.hot.state != XROCE_QPS_RTS || W->checks_off,
		  "QP %u: %u expiries with retry_cnt %u, and it goes on",
		  ep->idx, w->expiries, ep->retry_cnt);
}

bool wire_retry_exceeded(struct sim_ep *ep)
{
	return ep->timeout && ep->wire.expiries >= ep->retry_cnt + 1u;
}

bool wire_rnr_exceeded(struct sim_ep *ep)
{
	return ep->rnr_retry != 7 && ep->wire.rnrs >= ep->rnr_retry + 1u;
}
