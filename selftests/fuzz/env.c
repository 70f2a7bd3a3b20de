// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What the transport core needs, for the fuzzer; each call also checks what the
 * core promised about it. See env.h.
 */
#include <packet.h>
#include "env.h"

struct fuzz_env env;

struct fuzz_frame {
	struct xroce_frame f;
	u8 *mem[2];
};

void fuzz_fail(const char *what, int line)
{
	fprintf(stderr, "line %d: %s\n", line, what);
	abort();
}

void sim_bug(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: %s\n", file, line, what);
	abort();
}

u32 sim_cpu;
int sim_pins;
const struct xroce_mr *sim_used;

void sim_lock_init(spinlock_t *l, const char *name)
{
	l->held = false;
	l->name = name;
}

void sim_may_sleep(const char *file, int line)
{
	sim_bug(file, line, "nobody may sleep here");
}

void sim_lock(spinlock_t *l, enum sim_lock_how how, const char *file, int line)
{
	if (l->held)
		sim_bug(file, line, "lock taken twice");
	if (how == SIM_LOCK_PLAIN && !env.bh)
		sim_bug(file, line, "lock taken with BH on");
	l->held = true;
}

void sim_unlock(spinlock_t *l, enum sim_lock_how how, const char *file,
		int line)
{
	(void)how;
	if (!l->held)
		sim_bug(file, line, "lock not held");
	l->held = false;
}

void sim_bh(int d, const char *file, int line)
{
	env.bh += d;
	if (env.bh < 0)
		sim_bug(file, line, "BH enabled too often");
}

u32 fuzz_crc(u32 crc, const void *p, u32 len)
{
	static u32 table[256];
	const u8 *b = p;
	u8 c;

	if (!table[255])
		for (u32 i = 0; i < 256; i++) {
			c = i;
			table[i] = packet_crc(0, &c, 1);
		}
	while (len--)
		crc = crc >> 8 ^ table[(crc ^ *b++) & 0xff];
	return crc;
}

u64 xroce_env_now(void)
{
	return env.now;
}

void xroce_env_timer(struct xroce_qp *qp, u64 when)
{
	MUST(qp == env.qp && qp->lock.held);
	if (!env.due || when < env.due)
		env.due = when;
}

struct xroce_frame *xroce_env_frame(struct xroce_qp *qp, u32 len)
{
	struct fuzz_frame *ff;
	u32 first = env.linear || len < 128 ? len : 128;

	MUST(qp == env.qp && qp->lock.held);
	/* The largest: IPv6, UDP, BTH, what READ and WRITE add, 4096, ICRC */
	MUST(len >= 28 + 12 + 4 && len <= 48 + XROCE_MAX_HDR + 4096 + 4);
	if (env.no_mem) {
		env.no_mem--;
		return NULL;
	}
	ff = calloc(1, sizeof(*ff));
	ff->mem[0] = malloc(first);
	ff->f.seg[0].p = ff->mem[0];
	ff->f.seg[0].len = first;
	if (len > first) {
		ff->mem[1] = malloc(len - first);
		ff->f.seg[1].p = ff->mem[1];
		ff->f.seg[1].len = len - first;
	}
	ff->f.len = len;
	env.frames++;
	return &ff->f;
}

void xroce_env_frame_free(struct xroce_frame *f)
{
	struct fuzz_frame *ff = container_of(f, struct fuzz_frame, f);

	free(ff->mem[0]);
	free(ff->mem[1]);
	free(ff);
	env.frames--;
}

/* Whatever was posted or received: what leaves is a right packet. */
static void check_sent(const u8 *p, u32 len)
{
	u32 ip = p[0] >> 4 == 4 ? 20 : 40, n = len - ip - 8, icrc;
	const u8 *bth = p + ip + 8;
	u8 head[XROCE_ICRC_HEAD_MAX];
	struct xroce_pkt pkt;

	MUST(ip == 40 || packet_get16(p + 2) == len);
	MUST(ip == 20 || packet_get16(p + 4) == len - 40);
	MUST(packet_get16(p + ip + 4) == len - ip);
	MUST(!xroce_parse(&pkt, bth, bth + min_t(u32, n, XROCE_MAX_HDR), n));
	if (pkt.info & XROCE_OP_CNP) {
		MUST(xroce_qp_reliable(env.qp));
		n = 12 + 16 + 4;
	} else {
		MUST(XROCE_TRANSPORT(pkt.opcode) == env.qp->hot.transport);
	}
	MUST((pkt.payload_len + pkt.pad) % 4 == 0);
	MUST(pkt.payload_len <= xroce_mtu(env.qp));
	MUST(!(pkt.info & XROCE_OP_REQUEST) ||
	     xroce_len_ok(pkt.info, pkt.payload_len, xroce_mtu(env.qp)) ||
	     !(pkt.info & XROCE_OP_PAYLOAD));
	icrc = fuzz_crc(XROCE_ICRC_SEED, head, xroce_icrc_head(head, p));
	icrc = ~fuzz_crc(icrc, bth + 12, n - 12 - 4);
	MUST(!memcmp(p + len - 4, &icrc, 4));
}

u32 xroce_env_xmit(struct xroce_qp *qp, struct xroce_frame **f, u32 n)
{
	struct fuzz_wire *w;
	u32 i;

	MUST(qp == env.qp && !qp->lock.held && qp->sending && n <= XROCE_BATCH);
	for (i = 0; i < n && env.room; i++, env.room--) {
		u8 *p = malloc(f[i]->len);

		memcpy(p, f[i]->seg[0].p, f[i]->seg[0].len);
		if (f[i]->seg[1].len)
			memcpy(p + f[i]->seg[0].len, f[i]->seg[1].p,
			       f[i]->seg[1].len);
		check_sent(p, f[i]->len);
		if (env.wires == WIRE_MAX) {
			free(env.wire[0].p);
			memmove(env.wire, env.wire + 1,
				(--env.wires) * sizeof(env.wire[0]));
		}
		w = &env.wire[env.wires++];
		w->p = p;
		w->len = f[i]->len;
		xroce_env_frame_free(f[i]);
	}
	return i;
}

bool xroce_env_defer(struct xroce_qp *qp, int cpu)
{
	MUST(qp == env.qp && cpu < 0);
	return true;
}

bool xroce_env_rings(const struct xroce_qp *qp)
{
	MUST(qp == env.qp);
	return false;
}

void xroce_env_cq_event(struct xroce_cq *cq)
{
	MUST(!cq->lock.held);
}

void xroce_env_cq_error(struct xroce_cq *cq)
{
	MUST(!cq->lock.held);
}

void xroce_env_qp_event(struct xroce_qp *qp, enum xroce_event event)
{
	MUST(qp == env.qp && event <= XROCE_EVENT_LAST_WQE);
}

void xroce_env_srq_limit(struct xroce_rq *rq)
{
	MUST(rq == env.qp->rq && !rq->lock.held);
}

void xroce_env_count(struct xroce_dev *dev, enum xroce_counter c, u32 n)
{
	MUST(dev == &env.dev && c < XROCE_CNT_MAX);
	env.count[c] += n;
}

u64 xroce_env_total(const struct xroce_dev *dev, enum xroce_counter c)
{
	MUST(dev == &env.dev && c < XROCE_CNT_MAX);
	return env.count[c];
}

struct xroce_qp *xroce_env_qp(struct xroce_dev *dev, u32 qpn)
{
	(void)dev;
	MUST(qpn <= XROCE_QPN_MASK);
	return qpn == env.qp->hot.qpn ? env.qp : NULL;
}

/* By its index alone: the core compares the rest of the key. */
struct xroce_mr *xroce_env_mr(struct xroce_dev *dev, u32 key)
{
	(void)dev;
	return key >> 8 < ARRAY_SIZE(env.mr) ? env.mr[key >> 8] : NULL;
}

const struct xroce_ah *xroce_env_ah(struct xroce_dev *dev, u32 ah)
{
	(void)dev;
	return ah < ARRAY_SIZE(env.ah) ? env.ah[ah] : NULL;
}

/* By a range, so that several numbers name the one queue there is. */
struct xroce_rq *xroce_env_srq(struct xroce_dev *dev, u32 srqn)
{
	(void)dev;
	MUST(srqn <= XROCE_QPN_MASK);
	if (srqn / 4 != 1 || !env.srq)
		return NULL;
	MUST(!env.srq_held);
	env.srq_held = true;
	return env.srq;
}

void xroce_env_srq_put(struct xroce_rq *rq)
{
	MUST(rq == env.srq && env.srq_held);
	env.srq_held = false;
}

bool xroce_env_local(struct xroce_rx *rx)
{
	bool v4 = rx->l3[0] >> 4 == 4;
	u32 len = v4 ? 4 : 16;

	return rx->l3[0] >> 4 == env.av->l3[0] >> 4 &&
	       !memcmp(rx->l3 + (v4 ? 16 : 24), env.av->l3 + (v4 ? 12 : 8),
		       len);
}

bool xroce_env_neigh(struct xroce_rx *rx)
{
	MUST(!env.qp->lock.held);
	return rx->len & 4;
}

/* The QP is in every group. */
u32 xroce_env_group(struct xroce_rx *rx)
{
	MUST(!env.qp->lock.held);
	if (!xroce_env_local(rx))
		return 0;
	rx->gen = env.qp->gen;
	xroce_rx_qp(env.qp, rx);
	return 1;
}

u32 xroce_env_crc(u32 crc, const void *p, u32 len)
{
	return fuzz_crc(crc, p, len);
}

u32 xroce_env_rx_crc(struct xroce_rx *rx, u32 crc, u32 off, u32 len)
{
	struct xroce_krx *krx = container_of(rx, struct xroce_krx, rx);
	struct xroce_pkt pkt;

	MUST((u64)off + len <= rx->len);
	/* One that begins as another is parsed as if it did not. */
	memcpy(&pkt, &rx->pkt, sizeof(pkt));
	MUST(!xroce_parse(&pkt, krx->head, krx->head + min_t(u32, rx->len, XROCE_MAX_HDR),
			  rx->len));
	MUST(!memcmp(&pkt, &rx->pkt, sizeof(pkt)));
	return fuzz_crc(crc, krx->head + off, len);
}

void xroce_env_read(struct xroce_rx *rx, u32 off, void *dst, u32 len)
{
	struct xroce_krx *krx = container_of(rx, struct xroce_krx, rx);

	MUST((u64)off + len <= rx->len);
	memcpy(dst, krx->head + off, len);
}

/* What XDP leaves is the socket's. */
static void rx_by(struct xroce_krx *krx)
{
	int by = -1;

	if (env.program)
		by = native_rx_by(krx, env.program);
	else if (env.native)
		by = native_rx(krx);
	if (by < 0)
		xroce_rx(&krx->rx);
}

/**
 * fuzz_rx() - a packet arrives
 * @ip: from the IP header, without options
 *
 * The headers are linear in a buffer of just that size, the rest is not.
 */
void fuzz_rx(const u8 *ip, u32 len)
{
	u32 hdr = (ip[0] >> 4 == 4 ? 20 : 40) + 8;
	struct xroce_krx krx = { .rx.dev = &env.dev, .rx.known = env.known };
	u32 linear;
	u8 *p;

	krx.rx.len = len - hdr;
	krx.head = ip + hdr;
	linear = hdr + min_t(u32, krx.rx.len, XROCE_MAX_HDR);
	p = malloc(linear);
	memcpy(p, ip, linear);
	krx.rx.l3 = p;
	krx.rx.vlan = XROCE_NO_VLAN;
	krx.rx.ce = (ip[0] >> 4 == 4 ? ip[1] & 3 : ip[1] >> 4 & 3) == 3;
	env.bh++;
	rx_by(&krx);
	MUST(!env.srq_held);
	env.bh--;
	free(p);
}

void fuzz_env_reset(void)
{
	while (env.wires)
		free(env.wire[--env.wires].p);
	memset(&env, 0, sizeof(env));
}
