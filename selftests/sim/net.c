// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The network between the nodes: loss, duplication, reordering, corruption,
 * delay, and links of finite rate with a drop-tail queue. Single-threaded.
 */
#include "sim.h"

/* A few bits anywhere, or the end cut off. */
void sim_net_corrupt(u8 *buf, u32 len)
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
	if (to->in_free > t && (to->in_free - t) * c->rate / SIM_SEC > c->queue) {
		to->in_drops++;
		return 0;
	}
	to->in_free = max(to->in_free, t) + wire;
	return to->in_free;
}

static void net_queue(struct sim_node *from, struct sim_ep *to, const u8 *buf,
		      u32 len, u64 t)
{
	const struct sim_cfg *c = &W->cfg;
	u64 *last = &from->path_last[to->node->idx];
	struct sim_pkt *pkt = calloc(1, sizeof(*pkt));

	pkt->to = to->node;
	pkt->ep = to;
	pkt->len = len;
	pkt->buf = malloc(len);
	memcpy(pkt->buf, buf, len);
	if (sim_chance(c->corrupt)) {
		sim_net_corrupt(pkt->buf, len);
		pkt->corrupted = true;
		if (sim_chance(2000))
			pkt->len = sim_range(20, len);
	}
	pkt->ce = sim_chance(100);
	t += c->delay + (c->jitter ? sim_rnd() % c->jitter : 0);
	if (sim_chance(c->reorder))
		t += sim_rnd() % (4 * (c->delay + c->jitter) + 20 * SIM_US);
	else
		t = *last = max(t, *last);
	sim_at(t, SIM_EV_PKT, NULL, pkt, 0);
}

/**
 * sim_net_send() - a frame that the device has taken
 */
void sim_net_send(struct sim_ep *ep, const u8 *buf, u32 len)
{
	const struct sim_cfg *c = &W->cfg;
	struct sim_ep *to = ep->peer;
	struct xroce_pkt p;
	const u8 *bth;
	u64 t;

	bth = buf + (buf[0] >> 4 == 4 ? 28 : 48);
	if (W->net_off)
		return;
	if (W->drop && !xroce_parse(&p, bth, buf + len, buf + len - bth) &&
	    W->drop(ep, buf, len, &p)) {
		sim_trace("%u: dropped by the scenario", ep->idx);
		return;
	}
	if (sim_chance(c->loss))
		return;
	t = net_links(ep->node, to->node, len + 14);
	if (!t)
		return;
	net_queue(ep->node, to, buf, len, t);
	while (sim_chance(c->dup))
		net_queue(ep->node, to, buf, len, t);
}
