// SPDX-License-Identifier: GPL-2.0
/*
 * Packets for the tracepoints: a copy of each, made while somebody looks, since
 * what was sent is no longer ours when it is known what became of it. Called with
 * BH off by whoever sends or has received; owns nothing.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <net/xdp.h>

#include "xroce.h"

static const char *xroce_dev_name(struct xroce_dev *dev)
{
	/* Not dev_name(), whose memory a rename frees. */
	return xroce_dev_link(dev)->ib.name;
}

static const char *xroce_verdict_name(u32 verdict)
{
	static const char *const xdp[] = {
#define XROCE_XDP_NAME(sym, str, text) \
		[XROCE_XDP_##sym] = "xdp_" #str,
		XROCE_XDP_STATS(XROCE_XDP_NAME)
#undef XROCE_XDP_NAME
	};

	static_assert(XROCE_CNT_MAX <= XROCE_VERDICT_XDP);
	if (verdict < XROCE_CNT_MAX)
		return xroce_descs[verdict].name;
	verdict -= XROCE_VERDICT_XDP;
	return verdict < ARRAY_SIZE(xdp) ? xdp[verdict] : "?";
}

#define CREATE_TRACE_POINTS
#include "trace.h"

/*
 * One with room for a frame's bytes. For want of memory it is seen at once,
 * without them and with @verdict, and NULL returned.
 */
static struct xroce_packet *packet_new(u32 len, struct xroce_link *link, bool received, u8 verdict)
{
	u32 cap = min_t(u32, len, XROCE_PACKET_MAX);
	struct xroce_packet *p, unseen = {
		.ns = ktime_get_real_ns(),
		.len = len,
		.dev = link->ib.index,
		.name = xroce_dev_name(&link->dev),
		.received = received,
		.verdict = verdict,
	};

	p = kmalloc(sizeof(*p) + cap, GFP_ATOMIC | __GFP_NOWARN);
	if (p) {
		*p = unseen;
		p->cap = cap;
		p->data = (u8 *)(p + 1);
	} else if (received) {
		trace_xroce_verdict(&unseen);
	} else {
		trace_xroce_transmit(&unseen);
	}
	return p;
}

/* What can be told from the frame, once it is there. */
static void packet_parse(struct xroce_packet *p)
{
	const u8 *end = p->data + p->cap;
	const struct xroce_bth *bth;
	struct xroce_encap e;

	if (xroce_encap_parse(&e, p->data, end, p->len) == XROCE_ENCAP_OTHER)
		return;
	xroce_l3_gid(e.l3, e.version, !p->received, p->peer);
	bth = (const void *)e.bth;
	if (e.bth + sizeof(*bth) > end)
		return;
	p->opcode = bth->opcode;
	p->dqpn = be32_to_cpu(bth->dqpn) & XROCE_QPN_MASK;
	p->psn = be32_to_cpu(bth->apsn) & XROCE_PSN_MASK;
	if (p->received)
		p->qpn = p->dqpn;
}

static void packet_verdict(struct xroce_packet *p)
{
	packet_parse(p);
	trace_xroce_verdict(p);
	kfree(p);
}

/**
 * xroce_packet_tx() - a frame is about to be given up
 * @kqp: the queue pair
 * @f: the frame, sealed
 *
 * Return: what xroce_packet_sent() is to be called with.
 */
struct xroce_packet *xroce_packet_tx(struct xroce_kqp *kqp, struct xroce_frame *f)
{
	u32 len = f->l2_len + f->len;
	struct xroce_packet *p;
	u32 head, rest;
	u8 *to;

	p = packet_new(len, kqp->link, false, XROCE_CNT_TX_PKTS);
	if (!p)
		return NULL;
	if (f->route == XROCE_ROUTE_HOST)
		xroce_frame_icrc(f);
	to = (u8 *)p->data;
	head = min(p->cap, f->l2_len + f->seg[0].len);
	memcpy(to, f->seg[0].p - f->l2_len, head);
	rest = min(p->cap - head, f->seg[1].len);
	if (rest)
		memcpy(to + head, f->seg[1].p, rest);
	p->qpn = kqp->qp.hot.qpn;
	packet_parse(p);
	return p;
}

/**
 * xroce_packet_sent() - what became of a frame
 * @p: what xroce_packet_tx() has returned, or NULL
 * @verdict: XROCE_CNT_TX_PKTS, XROCE_CNT_TX_DROPPED or XROCE_CNT_TX_UNTAKEN
 */
void xroce_packet_sent(struct xroce_packet *p, u8 verdict)
{
	if (!p)
		return;
	p->verdict = verdict;
	trace_xroce_transmit(p);
	kfree(p);
}

/* The Ethernet header that an skb came with; its tag is beside it. */
static void put_eth(u8 *to, const struct sk_buff *skb)
{
	struct vlan_ethhdr *eth = (struct vlan_ethhdr *)to;
	__be16 proto = skb_network_header(skb)[0] >> 4 == 4 ? htons(ETH_P_IP) : htons(ETH_P_IPV6);

	if (skb_mac_header_was_set(skb) &&
	    skb_network_offset(skb) - skb_mac_offset(skb) >= ETH_HLEN)
		memcpy(to, skb_mac_header(skb), 2 * ETH_ALEN);
	else
		memset(to, 0, 2 * ETH_ALEN);
	if (!skb_vlan_tag_present(skb)) {
		eth->h_vlan_proto = proto;
		return;
	}
	eth->h_vlan_proto = skb->vlan_proto;
	eth->h_vlan_TCI = htons(skb_vlan_tag_get(skb));
	eth->h_vlan_encapsulated_proto = proto;
}

/**
 * xroce_packet_rx() - what became of a packet that came to a link
 * @link: the link
 * @skb: network header set
 * @verdict: &struct xroce_rx's, or the counter of the drop before it
 */
void xroce_packet_rx(struct xroce_link *link, struct sk_buff *skb, u8 verdict)
{
	u32 l2_len = skb_vlan_tag_present(skb) ? VLAN_ETH_HLEN : ETH_HLEN;
	struct xroce_krx krx = {
		.skb = skb,
		.off = skb_network_offset(skb),
	};
	struct xroce_packet *p;
	u8 *to;

	p = packet_new(l2_len + skb->len - krx.off, link, true, verdict);
	if (!p)
		return;
	to = (u8 *)p->data;
	put_eth(to, skb);
	xroce_env_read(&krx.rx, 0, to + l2_len, p->cap - l2_len);
	packet_verdict(p);
}

/**
 * xroce_packet_rx_xdp() - the same of one that the stack has not seen
 * @link: the link
 * @xdp: the frame, from its Ethernet header on
 * @verdict: as above, or XROCE_VERDICT_XDP + &enum xroce_xdp_stat
 */
void xroce_packet_rx_xdp(struct xroce_link *link, struct xdp_buff *xdp, u8 verdict)
{
	/* Read from the Ethernet header on. */
	struct xroce_krx krx = {
		.xdp = xdp,
		.bth = xdp->data,
		.linear = xdp->data_end - xdp->data,
	};
	struct xroce_packet *p;

	p = packet_new(xdp_get_buff_len(xdp), link, true, verdict);
	if (!p)
		return;
	xroce_env_read(&krx.rx, 0, (u8 *)p->data, p->cap);
	packet_verdict(p);
}
