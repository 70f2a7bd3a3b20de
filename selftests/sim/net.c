// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The network between the nodes: loss, duplication, reordering, corruption,
 * delay, and links of finite rate with a drop-tail queue. Single-threaded.
 */
#include "sim.h"

/* A few bits anywhere, or the end cut off. */
static void corrupt(u8 *buf, u32 len)
{
	u32 n = sim_range(1, 3);

	while (n--)
		buf[sim_below(len)] ^= 1 << sim_below(8);
}

/*
 * When a packet has passed the sender's link and the receiver's, which is the
 * slower one and has a queue; 0: dropped.
 */
static u64 net_links(struct sim_node *from, struct sim_node *to, u32 len)
{
	const struct sim_cfg *c = &W->cfg;
	u64 now = sim_now(), t = now, wire;

	if (!c->rate)
		return now;
	wire = len * SIM_SEC / c->rate;
	from->link_free = max(from->link_free, now) + wire / 4;
	t = from->link_free + c->delay / 2;
	to->in_pkts++;
	to->in_queue = to->in_free > t ?
		       (to->in_free - t) * c->rate / SIM_SEC : 0;
	if (to->in_queue > c->queue) {
		to->in_drops++;
		return 0;
	}
	to->in_free = max(to->in_free, t) + wire;
	return to->in_free;
}

/* sim_ce() - does its IP header bear a mark of congestion */
bool sim_ce(const u8 *buf)
{
	return ((buf[0] >> 4 == 4 ? buf[1] : buf[1] >> 4) & 3) == 3;
}

static void net_queue(struct sim_node *from, struct sim_node *to,
		      struct sim_ep *ep, const u8 *buf, u32 len, u64 t)
{
	const struct sim_cfg *c = &W->cfg;
	u32 ring = c->rings > 1 && sim_cpu;
	u64 *last = &from->path_last[ring][to->idx];
	struct sim_pkt *pkt = calloc(1, sizeof(*pkt));

	pkt->to = to;
	pkt->ep = ep;
	pkt->v6 = buf[0] >> 4 == 6;
	pkt->vlan = sim_chance(5000) ? XROCE_NO_VLAN : sim_rnd() & 0xefff;
	pkt->len = len;
	pkt->buf = malloc(len);
	memcpy(pkt->buf, buf, len);
	if (sim_chance(c->corrupt)) {
		corrupt(pkt->buf, len);
		pkt->corrupted = true;
		if (sim_chance(2000))
			pkt->len = sim_range(20, len);
	}
	if (c->mark_from)	/* as RED does */
		pkt->ce = to->in_queue > c->mark_from &&
			  sim_chance((to->in_queue - c->mark_from) * 1000 /
				     c->mark_from);
	else
		pkt->ce = !c->unmarked &&
			  sim_chance(c->mark ? c->mark : 100);
	pkt->ce |= sim_ce(buf);
	t += c->delay + (c->jitter ? sim_rnd() % c->jitter : 0) + (ring == c->slow ? c->rings : 0);
	if (sim_chance(c->reorder))
		t += sim_rnd() % (4 * (c->delay + c->jitter) + 20 * SIM_US);
	else
		t = *last = max(t, *last);
	sim_at(t, SIM_EV_PKT, NULL, pkt, 0);
}

static void net_one(struct sim_node *from, struct sim_node *to,
		    struct sim_ep *ep, const u8 *buf, u32 len)
{
	const struct sim_cfg *c = &W->cfg;
	u64 t;

	if (sim_chance(c->loss))
		return;
	t = net_links(from, to, len + 14);
	if (!t)
		return;
	net_queue(from, to, ep, buf, len, t);
	while (sim_chance(c->dup))
		net_queue(from, to, ep, buf, len, t);
}

/* A datagram goes where its address says: to a node, or a group to all. */
static void net_by_address(struct sim_ep *ep, const u8 *buf, u32 len, bool loop)
{
	bool v6 = buf[0] >> 4 == 6;
	struct sim_node *n;
	u32 i;

	for (i = 0; i < W->nnodes; i++) {
		n = W->node[i];
		if (v6 ? buf[24] != 0xff && memcmp(buf + 24, n->gid6, 16) :
			 buf[16] != 239 && memcmp(buf + 16, n->gid4 + 12, 4))
			continue;
		sim_check(loop == (n == ep->node) ||
			  (v6 ? buf[24] == 0xff : buf[16] == 239),
			  "QP %u: wrong route", ep->idx);
		net_one(ep->node, n, NULL, buf, len);
	}
}

/**
 * sim_net_send() - a frame that the device has taken
 * @loop: it says that it is for its own host, perhaps among others
 */
void sim_net_send(struct sim_ep *ep, const u8 *buf, u32 len, bool loop)
{
	struct xroce_pkt p;
	const u8 *bth;

	bth = buf + (buf[0] >> 4 == 4 ? 28 : 48);
	if (W->net_off)
		return;
	if (W->drop && !xroce_parse(&p, bth, buf + len, buf + len - bth) &&
	    W->drop(ep, buf, len, &p)) {
		sim_trace("%u: dropped by the scenario", ep->idx);
		return;
	}
	if (ep->transport == XROCE_UD)
		net_by_address(ep, buf, len, loop);
	else
		net_one(ep->node, ep->peer->node, ep->peer, buf, len);
}

/**
 * sim_put_len() - make the lengths in IP and UDP those of a packet of @len bytes
 *
 * Return: the length of the IP header.
 */
u32 sim_put_len(u8 *b, u32 len)
{
	u32 ip = b[0] >> 4 == 4 ? 20 : 40;

	if (ip == 20) {
		b[2] = len >> 8;
		b[3] = len;
	} else {
		b[4] = (len - 40) >> 8;
		b[5] = len - 40;
	}
	b[ip + 4] = (len - ip) >> 8;
	b[ip + 5] = len - ip;
	return ip;
}

/**
 * sim_put_bth() - all of a BTH but what is reserved there
 */
void sim_put_bth(u8 *bth, u8 opcode, u32 qpn, u32 psn)
{
	bth[0] = opcode;
	bth[1] = 0x40;
	bth[2] = bth[3] = 0xff;
	bth[5] = qpn >> 16;
	bth[6] = qpn >> 8;
	bth[7] = qpn;
	bth[9] = psn >> 16;
	bth[10] = psn >> 8;
	bth[11] = psn;
}

/**
 * sim_net_answer() - an ACK or NAK as @ep's peer would send it, and has not
 */
void sim_net_answer(struct sim_ep *ep, u32 psn, u8 syndrome)
{
	const struct xroce_av *av = &ep->peer->qp.av;
	u32 l3 = av->l3_len, len = l3 + 12 + 4 + 4;
	u8 b[96] = {};

	memcpy(b, av->l3, l3);
	sim_put_len(b, len);
	sim_put_bth(b + l3, XROCE_ACK, ep->qp.hot.qpn, psn);
	b[l3 + 12] = syndrome;
	wire_icrc_set(b, len);
	sim_raw_rx(ep->node, b, len, false);
}
