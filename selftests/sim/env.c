// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The core's environment: locks that check their use, frames, timers, deferred
 * runs, look-ups, the CRC. Single-threaded; another CPU is an event that runs
 * while a burst is being sent, the one place where the core lets go of its lock.
 */
#include "sim.h"
#include "ways.h"

static const char * const lock_names[] = { "", "QP", "RQ", "CQ" };
static u32 held;		/* 1 << rank */
static int bh_off;
static u32 irq_off;

u32 sim_cpu;
int sim_pins;
const struct xroce_mr *sim_used;

void sim_lock_init(spinlock_t *l, const char *name)
{
	l->name = name;
	l->held = false;
	l->rank = strstr(name, "cq") ? 3 : strstr(name, "rq") ? 2 : 1;
}

static void lock_bug(const spinlock_t *l, const char *file, int line,
		     const char *what)
{
	sim_fail("%s:%d: %s lock (last taken at line %d): %s", file, line,
		 lock_names[l->rank & 3], l->line, what);
}

void sim_lock(spinlock_t *l, enum sim_lock_how how, const char *file, int line)
{
	if (!l->rank)
		lock_bug(l, file, line, "not initialised");
	if (l->held)
		lock_bug(l, file, line, "deadlock: held already");
	if (sim_pins)
		lock_bug(l, file, line, "taken by who others spin for");
	if (held >> l->rank)
		lock_bug(l, file, line, "out of order");
	if (how == SIM_LOCK_BH)
		bh_off++;
	else if (how == SIM_LOCK_IRQ)
		irq_off++;
	else if (l->rank > 2)
		lock_bug(l, file, line, "must be taken with interrupts off");
	if (l->rank <= 2 && !bh_off)
		lock_bug(l, file, line, "taken with BH on");
	if (l->rank == 1 && irq_off)
		lock_bug(l, file, line, "taken with interrupts off");
	held |= 1 << l->rank;
	l->held = true;
	l->line = line;
}

void sim_unlock(spinlock_t *l, enum sim_lock_how how, const char *file,
		int line)
{
	if (!l->held)
		lock_bug(l, file, line, "released, not held");
	if (how == SIM_LOCK_BH)
		bh_off--;
	else if (how == SIM_LOCK_IRQ)
		irq_off--;
	l->held = false;
	held &= ~(1 << l->rank);
	if (W && W->unlocked)
		W->unlocked(l);
}

void sim_bh(int d, const char *file, int line)
{
	bh_off += d;
	if (bh_off < 0)
		sim_fail("%s:%d: BH enabled more often than disabled", file,
			 line);
}

void sim_core_enter(void)
{
	bh_off++;
	sim_clock_go();
}

void sim_core_leave(void)
{
	sim_clock_stop();
	bh_off--;
	sim_env_check_idle();
}

void sim_may_sleep(const char *file, int line)
{
	sim_check(!held && !irq_off && !sim_pins, "%s:%d: nobody may sleep here", file, line);
}

void sim_env_check_idle(void)
{
	sim_check(!held, "the core returned with a lock held (%x)", held);
	sim_check(!irq_off, "the core returned with interrupts off");
	sim_check(!sim_pins, "the core returned %d times pinned", sim_pins);
	sim_check(!sim_used, "the core returned with a region in use");
}

static struct sim_ep *ep_of(struct xroce_qp *qp)
{
	return container_of(qp, struct sim_ep, qp);
}

static struct sim_node *node_of(struct xroce_dev *dev)
{
	return container_of(dev, struct sim_node, dev);
}

u64 xroce_env_now(void)
{
	return sim_now();
}

/* The next turn of softirqs after @when, which is now where there are none. */
static u64 turn_after(const struct sim_ep *ep, u64 when)
{
	bool late = W->cfg.late && ep->conn->ep[0].idx / 2 % W->cfg.late == 0;
	u64 turn = W->cfg.turn * (late ? 20 : 1);

	return turn ? (when / turn + 1) * turn + late * W->cfg.turn / 2 : when;
}

void xroce_env_timer(struct xroce_qp *qp, u64 when)
{
	SIM_OUTSIDE();
	struct sim_ep *ep = ep_of(qp);

	sim_check(qp->lock.held, "timer set without the QP's lock");
	sim_check(when < 1ull << 62, "a timer set for ever");
	if (qp->dead)
		return;
	/* Who waits for no answer waits for memory, for room or for its turn. */
	sim_check(ep->transport == XROCE_RC || ep->no_frame || qp->full || qp->req.pace ||
		  W->checks_off,
		  "QP %u: a timer without a reason", ep->idx);
	ep->no_frame -= !!ep->no_frame;
	if (ep->timer_at && ep->timer_at <= when)
		return;
	ep->timer_at = when;
	sim_at(turn_after(ep, when) + 1 + sim_below(5000), SIM_EV_TIMER, NULL, ep,
	       ++ep->timer_gen);
}

bool xroce_env_defer(struct xroce_qp *qp, int cpu)
{
	SIM_OUTSIDE();
	struct sim_ep *ep = ep_of(qp);

	sim_check(cpu != (int)sim_cpu && cpu < 2, "from CPU %u to CPU %d", sim_cpu, cpu);
	/* It may be no more. */
	if (cpu >= 0 && W->cfg.rings == 1 && sim_chance(1000))
		return false;
	if (ep->defer_pending)
		return true;
	ep->defer_pending = true;
	ep->defer_cpu = cpu < 0 ? sim_cpu : (u32)cpu;
	if (W->cfg.turn)	/* in the order of their coming */
		sim_at(turn_after(ep, sim_now()), SIM_EV_DEFER, NULL, ep, 0);
	else
		sim_at(sim_now() + sim_below(2000), SIM_EV_DEFER, NULL, ep, 0);
	return true;
}

bool xroce_env_rings(const struct xroce_qp *qp)
{
	(void)qp;
	return W->cfg.rings;
}

#define HEADROOM	18	/* for a link-layer header */

struct xroce_frame *xroce_env_frame(struct xroce_qp *qp, u32 len)
{
	SIM_OUTSIDE();
	struct sim_frame *sf;
	u32 n = len;

	sim_check(len >= 20 + 8 + 12 + 4 && len <= 48 + 44 + 4096 + 4,
		  "a frame of %u bytes asked for", len);
	if (sim_chance(W->cfg.nomem)) {
		sim_trace("%u: no frame", ep_of(qp)->idx);
		ep_of(qp)->no_frame++;
		return NULL;
	}
	if (len > 128 && sim_chance(5000))
		n = sim_range(128, len);
	sf = calloc(1, sizeof(*sf));
	sf->ep = ep_of(qp);
	sf->f.len = len;
	sf->mem[0] = malloc(HEADROOM + n);
	sf->f.seg[0] = (struct xroce_seg){ sf->mem[0] + HEADROOM, n };
	/* What the core forgets to write shall show. */
	memset(sf->mem[0], 0x5a, HEADROOM + n);
	if (n < len) {
		sf->mem[1] = malloc(len - n);
		sf->f.seg[1] = (struct xroce_seg){ sf->mem[1], len - n };
		memset(sf->mem[1], 0x5a, len - n);
	}
	W->frames++;
	return &sf->f;
}

void xroce_env_frame_free(struct xroce_frame *f)
{
	SIM_OUTSIDE();
	struct sim_frame *sf = container_of(f, struct sim_frame, f);

	free(sf->mem[0]);
	free(sf->mem[1]);
	free(sf);
	W->frames--;
}

static void give_away(struct sim_ep *ep, struct xroce_frame *f)
{
	u8 buf[48 + 44 + 4096 + 4];

	/* Here it goes over a wire like all others. */
	if (f->route == XROCE_ROUTE_HOST)
		xroce_frame_icrc(f);
	memcpy(buf, f->seg[0].p, f->seg[0].len);
	if (f->seg[1].len)
		memcpy(buf + f->seg[0].len, f->seg[1].p, f->seg[1].len);
	sim_check(f->seg[0].len + f->seg[1].len == f->len,
		  "a frame's length was changed");
	wire_tx(ep, f, buf, f->len);
	/* The ICRC is of most of it. */
	sim_seen(ep->idx << 16 | f->len);
	sim_seen(get_unaligned_be32(buf + f->len - 4));
	sim_net_send(ep, buf, f->len, f->route != XROCE_ROUTE_WIRE);
	xroce_env_frame_free(f);
}

/* What other CPUs do while a burst is sent takes less than any ACK timeout. */
#define BURST_MAX	SIM_MS

u32 xroce_env_xmit(struct xroce_qp *qp, struct xroce_frame **f, u32 n)
{
	SIM_OUTSIDE();
	u64 end = sim_now() + BURST_MAX, when;
	struct sim_ep *ep = ep_of(qp);
	u32 i, taken = n;
	u32 cpu = sim_cpu;
	bool data = false;
	int bh = bh_off;

	sim_check(!held && !irq_off, "xmit with a lock held");
	sim_check(bh_off, "xmit with BH on");
	sim_check(!ep->in_xmit, "two senders of one QP");
	sim_check(n && n <= XROCE_BATCH, "a burst of %u", n);
	ep->in_xmit = true;
	if (sim_chance(W->cfg.partial)) {
		taken = sim_below(n + 1);
		if (taken < n)
			sim_trace("%u: device takes %u of %u", ep->idx, taken,
				  n);
	}
	if (W->take)
		taken = W->take(ep, f, n);
	for (i = 0; i < n; i++)
		container_of(f[i], struct sim_frame, f)->ep = NULL;
	for (i = 0; i < taken; i++)
		give_away(ep, f[i]);
	node_of(qp->dev)->cnt[XROCE_CNT_TX_PKTS] += taken;
	if (taken < n)
		ep->no_frame++;
	for (i = taken; i < n; i++)
		data |= f[i]->is.kind == XROCE_FRAME_RD_RESP;
	/* A device that cannot say no drops it, and that is known. */
	if (taken < n && sim_chance(W->cfg.full)) {
		xroce_env_frame_free(f[taken]);
		f[taken] = NULL;
	}
	if (sim_chance(W->cfg.smp) && W->depth < 3) {
		bh_off = 0;
		W->depth++;
		for (i = sim_range(1, 4); i && sim_next_time(&when) && when <= end; i--)
			sim_step();
		W->depth--;
		bh_off = bh;
		sim_cpu = cpu;
	}
	ep->in_xmit = false;
	ep->mark_may |= data;
	return taken;
}

void xroce_env_cq_event(struct xroce_cq *xcq)
{
	SIM_OUTSIDE();
	struct sim_cq *cq = container_of(xcq, struct sim_cq, cq);

	sim_check(!xcq->lock.held, "event raised under the CQ's lock");
	sim_check(cq->armed != XROCE_ARM_NONE || W->checks_off,
		  "event of a CQ that is not armed");
	sim_check(xcq->ring->arm == XROCE_ARM_NONE || W->checks_off,
		  "event, but the CQ is still armed");
	cq->event_type = cq->armed;
	cq->armed = XROCE_ARM_NONE;
	cq->event = true;
	cq->event_at = xcq->prod - 1;
	sim_at(sim_now() + sim_below(3000), SIM_EV_CQ, NULL, cq, 0);
}

void xroce_env_cq_error(struct xroce_cq *xcq)
{
	struct sim_cq *cq = container_of(xcq, struct sim_cq, cq);

	sim_check(!cq->overrun, "CQ error raised twice");
	cq->overrun = true;
}

/* Nobody has asked for it twice, and nothing begun is left. */
static void check_drained(struct sim_ep *ep)
{
	const struct sim_op *op;

	sim_check(ep->sqd && ep->sqd_event, "QP %u: drained, which nobody asked"
		  " for", ep->idx);
	sim_keys_drained(ep);
	sim_check(ep->qp.hot.state == XROCE_QPS_SQD, "QP %u: drained in state"
		  " %u", ep->idx, ep->qp.hot.state);
	ep->sqd_event = false;
	ep->drained = true;
	if (ep->transport == XROCE_RC) {
		sim_check(ep->wire.una == ep->wire.max && !ep->wire.in_msg,
			  "QP %u: drained, and PSNs %06x to %06x are out",
			  ep->idx, ep->wire.una, ep->wire.max);
		return;
	}
	op = unrel_current(ep);
	sim_check(!op || !op->sent, "QP %u: drained in the middle of a message",
		  ep->idx);
}

/* An end that gives its peer up needs something that it was to be given up for. */
static void check_fault(struct sim_ep *ep)
{
	const struct sim_op *op = ep->peer->ops.first;

	while (op && !op->status && !op->maybe)
		op = op->next;
	sim_check(op, "QP %u: its peer has asked for nothing wrong", ep->idx);
}

void xroce_env_qp_event(struct xroce_qp *qp, enum xroce_event event)
{
	struct sim_ep *ep = ep_of(qp);

	sim_check(!(held >> 2), "QP %u: event under a queue's lock", ep->idx);
	sim_trace("%u: event %u", ep->idx, event);
	sim_seen(ep->idx << 16 | event);
	ep->events |= 1 << event;
	ep->event[event]++;
	if ((event == XROCE_EVENT_QP_REQ_ERR ||
	     event == XROCE_EVENT_QP_ACCESS_ERR) && !W->checks_off)
		check_fault(ep);
	if (event == XROCE_EVENT_SQ_DRAINED && !W->checks_off)
		check_drained(ep);
}

void xroce_env_srq_limit(struct xroce_rq *rq)
{
	struct sim_srq *srq = container_of(rq, struct sim_srq, rq);

	sim_check(!(held >> 2), "a limit event under a queue's lock");
	sim_trace("a limit event");
	srq->limits++;
	sim_check(srq->limits <= srq->limits_due || W->checks_off,
		  "limit event not wanted");
}

void xroce_env_count(struct xroce_dev *dev, enum xroce_counter c, u32 n)
{
	sim_check(c < XROCE_CNT_MAX, "counter %u", c);
	sim_seen(c << 16 | n);
	node_of(dev)->cnt[c] += n;
}

u64 xroce_env_total(const struct xroce_dev *dev, enum xroce_counter c)
{
	return container_of(dev, const struct sim_node, dev)->cnt[c];
}

/* A counter of all nodes together. */
u64 sim_count(enum xroce_counter c)
{
	u64 n = 0;
	u32 i;

	for (i = 0; i < W->nnodes; i++)
		n += W->node[i]->cnt[c];
	return n;
}

void sim_count_is(enum xroce_counter c, const char *name, u64 want)
{
	u64 n = sim_count(c);

	sim_check(n == want, "%s is %llu, not %llu", name, (unsigned long long)n,
		  (unsigned long long)want);
}

struct sim_ep *sim_find_ep(struct sim_node *n, u32 qpn)
{
	struct sim_ep *ep = n->qp[qpn % SIM_TAB];

	return ep && ep->qp.hot.qpn == qpn ? ep : NULL;
}

/* One table for all devices, as in the module; of two of a number the node's own. */
struct xroce_qp *xroce_env_qp(struct xroce_dev *dev, u32 qpn)
{
	struct sim_ep *ep = sim_find_ep(node_of(dev), qpn);
	u32 i;

	sim_check(bh_off, "QP look-up with BH on");
	for (i = 0; !ep && i < W->nnodes; i++)
		ep = sim_find_ep(W->node[i], qpn);
	return ep ? &ep->qp : NULL;
}

struct xroce_mr *xroce_env_mr(struct xroce_dev *dev, u32 key)
{
	struct sim_region *r = node_of(dev)->mr[(key >> 8) % SIM_TAB];

	sim_check(bh_off, "MR look-up with BH on");
	return r && r->mr.key >> 8 == key >> 8 ? &r->mr : NULL;
}

const struct xroce_ah *xroce_env_ah(struct xroce_dev *dev, u32 ah)
{
	struct sim_ah *a = node_of(dev)->ah[ah % SIM_AHS];

	sim_check(bh_off, "AH look-up with BH on");
	return a && a->number == ah ? &a->ah : NULL;
}

struct xroce_rq *xroce_env_srq(struct xroce_dev *dev, u32 srqn)
{
	struct sim_srq *srq = node_of(dev)->xsrq[(srqn & 0xff) % SIM_SRQS];

	sim_check(bh_off, "SRQ look-up with BH on");
	if (!srq || srq->number != srqn)
		return NULL;
	srq->held++;
	return &srq->rq;
}

void xroce_env_srq_put(struct xroce_rq *rq)
{
	struct sim_srq *srq = container_of(rq, struct sim_srq, rq);

	sim_check(srq->held, "SRQ %u let go of by whom it was not held", srq->number);
	srq->held--;
}

bool xroce_env_local(struct xroce_rx *rx)
{
	const struct sim_node *n = node_of(rx->dev);

	if (rx->l3[0] >> 4 == 4)
		return !memcmp(rx->l3 + 16, n->gid4 + 12, 4);
	return !memcmp(rx->l3 + 24, n->gid6, 16);
}

/* There is no QP 1 here. */
bool xroce_env_neigh(struct xroce_rx *rx)
{
	sim_check(false, "asked for a neighbour of QP %u's", rx->pkt.qpn);
	return false;
}

u32 xroce_env_group(struct xroce_rx *rx)
{
	struct sim_node *n = node_of(rx->dev);
	bool v6 = rx->l3[0] >> 4 == 6;
	u32 g, i, found = 0;
	u8 gid[16];

	for (g = v6; g < SIM_GROUPS; g += 2) {
		sim_gid_of(NULL, g, v6, gid);
		if (v6 ? memcmp(gid, rx->l3 + 24, 16) :
			 memcmp(gid + 12, rx->l3 + 16, 4))
			continue;
		for (i = 0; i < SIM_TAB; i++) {
			struct sim_ep *ep = n->qp[i];

			if (!ep || !(ep->groups >> g & 1))
				continue;
			rx->gen = ep->qp.gen;
			xroce_rx_qp(&ep->qp, rx);
			found++;
		}
	}
	return found;
}

/* The CRC that the core is given: eight tables. wire.c has one of its own. */
static u32 crc_tab[8][256];

static void crc_init(void)
{
	u32 i, j, c;

	for (i = 0; i < 256; i++) {
		for (c = i, j = 0; j < 8; j++)
			c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
		crc_tab[0][i] = c;
	}
	for (i = 0; i < 256; i++)
		for (j = 1; j < 8; j++)
			crc_tab[j][i] = crc_tab[0][crc_tab[j - 1][i] & 0xff] ^
					crc_tab[j - 1][i] >> 8;
}

u32 xroce_env_crc(u32 crc, const void *p, u32 len)
{
	SIM_OUTSIDE();
	const u8 *b = p;
	u32 lo, hi;

	if (!crc_tab[0][1])
		crc_init();
	for (; len >= 8; len -= 8, b += 8) {
		memcpy(&lo, b, 4);
		memcpy(&hi, b + 4, 4);
		lo ^= crc;
		crc = crc_tab[7][lo & 0xff] ^ crc_tab[6][lo >> 8 & 0xff] ^
		      crc_tab[5][lo >> 16 & 0xff] ^ crc_tab[4][lo >> 24] ^
		      crc_tab[3][hi & 0xff] ^ crc_tab[2][hi >> 8 & 0xff] ^
		      crc_tab[1][hi >> 16 & 0xff] ^ crc_tab[0][hi >> 24];
	}
	while (len--)
		crc = crc_tab[0][(crc ^ *b++) & 0xff] ^ crc >> 8;
	return crc;
}

static void rx_range(struct xroce_rx *rx, u32 off, u32 len)
{
	sim_check(off <= rx->len && len <= rx->len - off,
		  "bytes %u + %u read of a packet of %u", off, len, rx->len);
}

u32 xroce_env_rx_crc(struct xroce_rx *rx, u32 crc, u32 off, u32 len)
{
	SIM_OUTSIDE();
	struct xroce_krx *s = container_of(rx, struct xroce_krx, rx);
	struct xroce_pkt pkt;
	u32 n;

	/* One that begins as another is parsed as if it did not. */
	memcpy(&pkt, &rx->pkt, sizeof(pkt));
	sim_check(!xroce_parse(&pkt, s->head, s->head + s->nhead, rx->len) &&
		  !memcmp(&pkt, &rx->pkt, sizeof(pkt)),
		  "opcode %02x, %u bytes: parsed otherwise", s->head[0], rx->len);
	rx_range(rx, off, len);
	if (off < s->nhead) {
		n = min(len, s->nhead - off);
		crc = xroce_env_crc(crc, s->head + off, n);
		off += n;
		len -= n;
	}
	if (len)
		crc = xroce_env_crc(crc, s->tail + off - s->nhead, len);
	return crc;
}

void xroce_env_read(struct xroce_rx *rx, u32 off, void *dst, u32 len)
{
	struct xroce_krx *s = container_of(rx, struct xroce_krx, rx);
	u32 n;

	rx_range(rx, off, len);
	if (off < s->nhead) {
		n = min(len, s->nhead - off);
		memcpy(dst, s->head + off, n);
		off += n;
		dst = (u8 *)dst + n;
		len -= n;
	}
	if (len)
		memcpy(dst, s->tail + off - s->nhead, len);
}

static u16 rx_vlan = XROCE_NO_VLAN;
static struct xroce_known rx_known[XROCE_KNOWN];

/* For W->drop: nothing arrives. */
bool sim_drop_all(struct sim_ep *from, const u8 *buf, u32 len, const struct xroce_pkt *p)
{
	(void)from;
	(void)buf;
	(void)len;
	(void)p;
	return true;
}

/**
 * sim_raw_rx() - hand a packet to a node's core as the module would
 * @buf: from the IP header on; whatever is there
 *
 * What the stack or the XDP program drops before is dropped here: not UDP to our
 * port, options, fragments, lengths that contradict each other.
 */
void sim_raw_rx(struct sim_node *n, const u8 *buf, u32 len, bool ce)
{
	u32 ip, udp_len, l3, linear;
	struct xroce_krx s = {};
	u8 *mem, *tail = NULL;

	if (len < 20)
		return;
	if (buf[0] == 0x45) {
		ip = 20;
		l3 = buf[2] << 8 | buf[3];
		if (buf[9] != 17 || (buf[6] & 0x3f) || buf[7])
			return;
	} else if (buf[0] >> 4 == 6 && len >= 40) {
		ip = 40;
		l3 = 40 + (buf[4] << 8 | buf[5]);
		if (buf[6] != 17)
			return;
	} else {
		return;
	}
	if (l3 > len || l3 < ip + 8 || buf[ip + 2] << 8 != (4791 & 0xff00) ||
	    buf[ip + 3] != (4791 & 0xff))
		return;
	udp_len = buf[ip + 4] << 8 | buf[ip + 5];
	if (udp_len < 8 || udp_len > l3 - ip)
		return;
	s.rx.dev = &n->dev;
	s.rx.known = rx_known;
	s.rx.len = udp_len - 8;
	s.rx.ce = ce;
	s.rx.vlan = rx_vlan;
	s.nhead = min_t(u32, s.rx.len, XROCE_MAX_HDR);
	linear = ip + 8 + s.nhead;
	/* Exactly sized, so that a look past the end is seen. */
	mem = malloc(linear);
	memcpy(mem, buf, linear);
	if (s.rx.len > s.nhead) {
		tail = malloc(s.rx.len - s.nhead);
		memcpy(tail, buf + linear, s.rx.len - s.nhead);
	}
	s.rx.l3 = mem;
	s.head = mem + ip + 8;
	s.tail = tail;
	sim_core_enter();
	sim_way_rx(&s);
	sim_core_leave();
	free(mem);
	free(tail);
}

void sim_env_free_pkt(struct sim_pkt *pkt)
{
	free(pkt->buf);
	free(pkt);
}

static void deliver(struct sim_pkt *pkt)
{
	char s[160];

	if (sim_verbose) {
		wire_describe(pkt->buf, pkt->len, s, sizeof(s));
		sim_trace("node %u <- %s%s", pkt->to->idx, s,
			  pkt->corrupted ? " (corrupted)" : "");
	}
	W->pkts++;
	if (pkt->ep && pkt->ep->transport == XROCE_RC) {
		if (wire_valid(pkt)) {
			wire_rx(pkt->ep, pkt->buf, pkt->len);
			if (pkt->ce)
				wire_marked(pkt->ep, pkt->buf);
		}
	} else if (!pkt->forged && wire_intact(pkt)) {
		unrel_expect(pkt);
	}
	rx_vlan = pkt->vlan;
	sim_raw_rx(pkt->to, pkt->buf, pkt->len, pkt->ce);
	rx_vlan = XROCE_NO_VLAN;
	unrel_check();
	if (pkt->ep)
		sim_keys_look(pkt->ep);
	sim_env_free_pkt(pkt);
}

/**
 * sim_step() - let the next event happen
 *
 * Return: false when there is none.
 */
bool sim_step(void)
{
	struct sim_event ev;
	struct sim_ep *ep;
	struct sim_cq *cq;
	bool pending;
	u64 sent;

	if (!sim_pop(&ev))
		return false;
	sim_set_now(ev.when);
	sim_cpu = W->cfg.rings == 1 ? sim_below(2) : !!W->cfg.rings;
	switch (ev.kind) {
	case SIM_EV_PKT:
		deliver(ev.arg);
		break;
	case SIM_EV_TIMER:
		ep = ev.arg;
		if (ev.gen != ep->timer_gen)
			break;
		ep->timer_at = 0;
		wire_timer(ep);
		sim_core_enter();
		/*
		 * Many timers may be one interrupt's: each does little, or what a run
		 * would have that is about to come.
		 */
		pending = ep->defer_pending;
		sent = node_of(ep->qp.dev)->cnt[XROCE_CNT_TX_PKTS];
		xroce_qp_timer(&ep->qp);
		sent = node_of(ep->qp.dev)->cnt[XROCE_CNT_TX_PKTS] - sent;
		sim_check(sent <= XROCE_BATCH || pending || W->cfg.smp,
			  "%llu packets by a timer", (unsigned long long)sent);
		sim_core_leave();
		unrel_idle(ep);
		break;
	case SIM_EV_DEFER:
		ep = ev.arg;
		ep->defer_pending = false;
		sim_cpu = ep->defer_cpu;
		sim_core_enter();
		xroce_qp_run(&ep->qp);
		sim_core_leave();
		unrel_idle(ep);
		break;
	case SIM_EV_CQ:
		cq = ev.arg;
		if (cq->handler)
			cq->handler(cq);
		break;
	case SIM_EV_FN:
		ev.fn(ev.arg);
		break;
	}
	return true;
}

void sim_run_until(u64 t)
{
	u64 when;

	while (sim_next_time(&when) && when <= t)
		sim_step();
	sim_set_now(max(t, sim_now()));
}
