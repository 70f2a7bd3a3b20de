// SPDX-License-Identifier: GPL-2.0
/*
 * The way out: frames for the core to fill, and from there to the netdev or back
 * to this host. A frame is its maker's alone until it is given up; called with
 * BH off, by one sender a QP, with no lock held but in xroce_env_frame().
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/mm.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/dsfield.h>
#include <net/route.h>

#include "xroce.h"

/* Longer frames have their end in a page: no allocation is above one. */
#define XROCE_LINEAR_MAX	1536
/* What the core wants of the first segment. */
#define XROCE_SEG_MIN		128

/**
 * struct xroce_skb_frame - a frame in an skb; lies at the skb's head, where
 *	nobody looks before the frame is given up
 * @f: the core's part
 * @skb: what the frame is in
 */
struct xroce_skb_frame {
	struct xroce_frame f;
	struct sk_buff *skb;
};

static struct sk_buff *frame_skb(struct xroce_frame *f)
{
	return container_of(f, struct xroce_skb_frame, f)->skb;
}

/**
 * xroce_env_frame() - a frame to be filled
 * @qp: the queue pair
 * @len: its length, from the IP header to the ICRC
 *
 * Any context. Return: the frame, its bytes not initialised, or NULL.
 */
struct xroce_frame *xroce_env_frame(struct xroce_qp *qp, u32 len)
{
	struct xroce_kqp *kqp = xroce_qp_kqp(qp);
	u32 head = len, room;
	struct xroce_skb_frame *sf;
	struct page *page = NULL;
	struct sk_buff *skb;

	if (len > XROCE_LINEAR_MAX) {
		head = max_t(u32, XROCE_SEG_MIN, len - min(len, PAGE_SIZE));
		page = alloc_page(GFP_ATOMIC | __GFP_NOWARN);
		if (!page)
			return NULL;
	}
	room = ALIGN(sizeof(*sf), 16) + LL_RESERVED_SPACE(kqp->link->ndev) +
	       VLAN_HLEN;
	skb = alloc_skb(room + head, GFP_ATOMIC | __GFP_NOWARN);
	if (!skb) {
		if (page)
			__free_page(page);
		return NULL;
	}
	sf = (struct xroce_skb_frame *)skb->head;
	sf->skb = skb;
	skb_reserve(skb, room);
	sf->f.len = len;
	sf->f.seg[0].p = skb_put(skb, head);
	sf->f.seg[0].len = head;
	sf->f.seg[1].p = page ? page_address(page) : NULL;
	sf->f.seg[1].len = len - head;
	if (page)
		skb_add_rx_frag(skb, 0, page, 0, len - head, PAGE_SIZE);
	return &sf->f;
}

/**
 * xroce_env_frame_free() - give up a frame that is not to be sent; any context
 * @f: the frame
 */
void xroce_env_frame_free(struct xroce_frame *f)
{
	kfree_skb(frame_skb(f));
}

/*
 * From here on the frame's memory is the skb's; the link-layer header is in front
 * of its data.
 */
static struct sk_buff *frame_give_up(struct xroce_kqp *kqp,
				     struct xroce_frame *f)
{
	struct sk_buff *skb = frame_skb(f);
	u8 prio = f->prio;
	u8 dsfield;

	skb_reset_network_header(skb);
	if (ip_hdr(skb)->version == 4) {
		skb->protocol = htons(ETH_P_IP);
		skb_set_transport_header(skb, sizeof(struct iphdr));
		dsfield = ipv4_get_dsfield(ip_hdr(skb));
	} else {
		skb->protocol = htons(ETH_P_IPV6);
		skb_set_transport_header(skb, sizeof(struct ipv6hdr));
		dsfield = ipv6_get_dsfield(ipv6_hdr(skb));
	}
	skb->dev = kqp->link->ndev;
	/* A VLAN under the link makes the tag's priority of it. */
	skb->priority = prio ?: rt_tos2priority(dsfield);
	/* One transmit queue for all of a QP, so that order is kept. */
	skb_set_hash(skb, hash_32(kqp->qp.hot.qpn, 32), PKT_HASH_TYPE_L4);
	return skb;
}

/*
 * Whatever the stack says, the frame is gone. Return: 1 when it was sent, 0 when
 * it was lost, as on a netdev that is down, -ENOBUFS when there was no room.
 */
static int frame_send(struct sk_buff *skb, u8 l2_len)
{
	struct ethhdr *eth = skb_push(skb, l2_len);
	const struct net_device *ndev = skb->dev;
	int ret;

	skb_reset_mac_header(skb);
	skb->protocol = eth->h_proto;
	ret = dev_queue_xmit(skb);
	if (ret == NET_XMIT_DROP && netif_carrier_ok(ndev))
		return -ENOBUFS;
	return ret == NET_XMIT_SUCCESS;
}

/* Back to this host: what came in a tag is told as a netdev would. */
static bool frame_loop(struct xroce_kqp *kqp, struct sk_buff *skb, u8 l2_len)
{
	const struct vlan_ethhdr *eth = (void *)(skb->data - l2_len);

	skb_set_mac_header(skb, -l2_len);
	if (l2_len == VLAN_ETH_HLEN)
		__vlan_hwaccel_put_tag(skb, eth->h_vlan_proto,
				       ntohs(eth->h_vlan_TCI));
	return xroce_work_loop(kqp, skb);
}

/* To a group: this host's members too; for a copy that is lost nobody waits. */
static void frame_copy(struct xroce_kqp *kqp, struct sk_buff *skb, u8 l2_len)
{
	struct sk_buff *copy = skb_copy(skb, GFP_ATOMIC | __GFP_NOWARN);

	if (copy && frame_loop(kqp, copy, l2_len))
		return;
	kfree_skb(copy);
	xroce_env_count(&kqp->link->dev, XROCE_CNT_TX_DROPPED, 1);
}

/* Return: as frame_send(), or -EAGAIN: not taken, and still the caller's. */
static int frame_out(struct xroce_kqp *kqp, struct xroce_frame *f)
{
	u8 route = f->route, l2_len = f->l2_len;
	struct sk_buff *skb;

	skb = frame_give_up(kqp, f);
	if (route == XROCE_ROUTE_HOST)
		return frame_loop(kqp, skb, l2_len) ? 1 : -EAGAIN;
	if (route != XROCE_ROUTE_BOTH)
		return frame_send(skb, l2_len);
	/* Here it must not arrive again, so there it is sent but once. */
	if (xroce_mcast_here(kqp->link, skb->data))
		frame_copy(kqp, skb, l2_len);
	return frame_send(skb, l2_len) == 1;
}

/**
 * xroce_env_xmit() - send frames in order
 * @qp: the queue pair
 * @f: the frames
 * @n: how many
 *
 * A netdev that is down takes a frame all the same: it is lost, and the transport
 * sees to it as it does to what the network loses. One that has no room drops it
 * and says so: it is built again later. To this host frames are only taken while
 * there is room.
 *
 * Return: how many were taken.
 */
u32 xroce_env_xmit(struct xroce_qp *qp, struct xroce_frame **f, u32 n)
{
	struct xroce_kqp *kqp = xroce_qp_kqp(qp);
	u32 i, len, sent = 0, bytes = 0;
	struct xroce_packet *trace;
	int ret;

	for (i = 0; i < n; i++) {
		len = f[i]->len;
		trace = xroce_trace_tx(kqp, f[i]);
		ret = frame_out(kqp, f[i]);
		xroce_trace_sent(trace, ret < 0 ? XROCE_CNT_TX_UNTAKEN :
				 ret ? XROCE_CNT_TX_PKTS : XROCE_CNT_TX_DROPPED);
		if (ret == -ENOBUFS)
			f[i] = NULL;
		if (ret < 0)
			break;
		if (!ret)
			continue;
		sent++;
		bytes += len;
	}
	if (sent) {
		xroce_env_count(qp->dev, XROCE_CNT_TX_PKTS, sent);
		xroce_env_count(qp->dev, XROCE_CNT_TX_BYTES, bytes);
	}
	if (i > sent)
		xroce_env_count(qp->dev, XROCE_CNT_TX_DROPPED, i - sent);
	return i;
}
