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

#include <xroce/frame.h>
#include <xroce/xdp.h>

#include "xroce.h"

static const char *xroce_dev_name(struct xroce_dev *dev)
{
	return dev_name(&xroce_dev_link(dev)->ib.dev);
}

static const char *xroce_verdict_name(u32 verdict)
{
	static const char *const counter[] = {
#define XROCE_CNT_NAME(sym, str, text) \
		[XROCE_CNT_##sym] = #str,
		XROCE_COUNTERS(XROCE_CNT_NAME)
#undef XROCE_CNT_NAME
	};
	static const char *const xdp[] = {
#define XROCE_XDP_NAME(sym, str, text) \
		[XROCE_XDP_##sym] = "xdp_" #str,
		XROCE_XDP_STATS(XROCE_XDP_NAME)
#undef XROCE_XDP_NAME
	};

	static_assert(ARRAY_SIZE(counter) <= XROCE_VERDICT_XDP);
	if (verdict < ARRAY_SIZE(counter))
		return counter[verdict];
	verdict -= XROCE_VERDICT_XDP;
	return verdict < ARRAY_SIZE(xdp) ? xdp[verdict] : "?";
}

#define CREATE_TRACE_POINTS
#include "trace.h"

static struct xroce_packet *packet_init(struct xroce_packet *p, u32 len,
					struct xroce_link *link, bool received)
{
	*p = (struct xroce_packet){
		.ns = ktime_get_real_ns(),
		.len = len,
		.dev = link->ib.index,
		.name = dev_name(&link->ib.dev),
		.received = received,
	};
	return p;
}

/* One with room for a frame's bytes, or NULL. */
static struct xroce_packet *packet_new(u32 len, struct xroce_link *link,
				       bool received)
{
	u32 cap = min_t(u32, len, XROCE_PACKET_MAX);
	struct xroce_packet *p;

	p = kmalloc(sizeof(*p) + cap, GFP_ATOMIC | __GFP_NOWARN);
	if (!p)
		return NULL;
	packet_init(p, len, link, received);
	p->cap = cap;
	p->data = (u8 *)(p + 1);
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
	memcpy(p->peer, p->received ? e.sgid : e.dgid, sizeof(p->peer));
	bth = (const void *)e.bth;
	if (e.bth + sizeof(*bth) > end)
		return;
	p->opcode = bth->opcode;
	p->dqpn = be32_to_cpu(bth->dqpn) & XROCE_QPN_MASK;
	p->psn = be32_to_cpu(bth->apsn) & XROCE_PSN_MASK;
	if (p->received)
		p->qpn = p->dqpn;
}

static void packet_verdict(struct xroce_packet *p, u8 verdict)
{
	p->verdict = verdict;
	packet_parse(p);
	trace_xroce_verdict(p);
	kfree(p);
}

/* For want of memory it is seen without its bytes. */
static void packet_unseen(struct xroce_link *link, u32 len, bool received,
			  u8 verdict)
{
	struct xroce_packet p;

	packet_init(&p, len, link, received);
	p.verdict = verdict;
	if (received)
		trace_xroce_verdict(&p);
	else
		trace_xroce_transmit(&p);
}

/**
 * xroce_packet_tx() - see xroce_trace_tx()
 * @kqp: the queue pair
 * @f: the frame
 */
struct xroce_packet *xroce_packet_tx(struct xroce_kqp *kqp,
				     const struct xroce_frame *f)
{
	u32 len = f->l2_len + f->len;
	struct xroce_packet *p;
	u32 head, rest;
	u8 *to;

	p = packet_new(len, kqp->link, false);
	if (!p) {
		packet_unseen(kqp->link, len, false, XROCE_CNT_TX_PKTS);
		return NULL;
	}
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
 * xroce_packet_sent() - see xroce_trace_sent()
 * @p: what xroce_packet_tx() has returned
 * @verdict: the counter
 */
void xroce_packet_sent(struct xroce_packet *p, u8 verdict)
{
	p->verdict = verdict;
	trace_xroce_transmit(p);
	kfree(p);
}

/* The Ethernet header that an skb came with; its tag is beside it. */
static u32 put_eth(u8 *to, const struct sk_buff *skb)
{
	struct vlan_ethhdr *eth = (struct vlan_ethhdr *)to;
	__be16 proto = skb_network_header(skb)[0] >> 4 == 4 ?
		       htons(ETH_P_IP) : htons(ETH_P_IPV6);

	if (skb_mac_header_was_set(skb) &&
	    skb_network_offset(skb) - skb_mac_offset(skb) >= ETH_HLEN)
		memcpy(to, skb_mac_header(skb), 2 * ETH_ALEN);
	else
		memset(to, 0, 2 * ETH_ALEN);
	if (!skb_vlan_tag_present(skb)) {
		eth->h_vlan_proto = proto;
		return ETH_HLEN;
	}
	eth->h_vlan_proto = skb->vlan_proto;
	eth->h_vlan_TCI = htons(skb_vlan_tag_get(skb));
	eth->h_vlan_encapsulated_proto = proto;
	return VLAN_ETH_HLEN;
}

/**
 * xroce_packet_rx() - see xroce_trace_rx()
 * @link: the link
 * @skb: the packet
 * @verdict: the counter
 */
void xroce_packet_rx(struct xroce_link *link, const struct sk_buff *skb,
		     u8 verdict)
{
	u32 l2_len = skb_vlan_tag_present(skb) ? VLAN_ETH_HLEN : ETH_HLEN;
	u32 len = l2_len + skb->len - skb_network_offset(skb);
	struct xroce_packet *p;
	u8 *to;

	p = packet_new(len, link, true);
	if (!p) {
		packet_unseen(link, len, true, verdict);
		return;
	}
	to = (u8 *)p->data;
	put_eth(to, skb);
	/* Fails for memory that the CPU cannot read. */
	if (skb_copy_bits(skb, skb_network_offset(skb), to + l2_len,
			  p->cap - l2_len))
		memset(to + l2_len, 0, p->cap - l2_len);
	packet_verdict(p, verdict);
}

static void copy_xdp(u8 *to, struct xdp_buff *xdp, u32 len)
{
	u32 n = min_t(u32, len, xdp->data_end - xdp->data);
	const struct skb_shared_info *frags;
	u32 i;

	memcpy(to, xdp->data, n);
	if (n == len)
		return;
	frags = xdp_get_shared_info_from_buff(xdp);
	for (i = 0; i < frags->nr_frags && n < len; i++) {
		const skb_frag_t *frag = &frags->frags[i];
		u32 k = min(len - n, skb_frag_size(frag));

		memcpy(to + n, skb_frag_address(frag), k);
		n += k;
	}
}

/**
 * xroce_packet_rx_xdp() - see xroce_trace_rx_xdp()
 * @link: the link
 * @xdp: the frame
 * @verdict: the counter
 */
void xroce_packet_rx_xdp(struct xroce_link *link, struct xdp_buff *xdp,
			 u8 verdict)
{
	u32 len = xdp_get_buff_len(xdp);
	struct xroce_packet *p;

	p = packet_new(len, link, true);
	if (!p) {
		packet_unseen(link, len, true, verdict);
		return;
	}
	copy_xdp((u8 *)p->data, xdp, p->cap);
	packet_verdict(p, verdict);
}
