// SPDX-License-Identifier: GPL-2.0
/*
 * The way out: frames to the netdev, for XDP or as skbs, or back to this host.
 * Called with BH off, by one sender a QP, with no lock held.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/route.h>
#include <net/xdp.h>

#include "xroce.h"

/* Such runs, and those of skbs after them, until an XDP frame is tried again. */
#define XROCE_XDP_AGAIN		255

/*
 * Drivers whose ndo_xdp_xmit() takes others of its frames than the first (two), or
 * one more than it says (ionic), or says so of those that it drops (hv_netvsc, mana), or
 * that give their pages back past the lock of the pool they are of (all others but three,
 * in 6.12), or never, and do not ask whether there is room (vif: xen-netfront), or leave
 * those mapped to the device that they do not take (qede, fsl_dpaa2_eth).
 */
static const char *const xroce_unfit[] = {
	"atlantic", "fec", "fsl_dpaa2_eth", "hv_netvsc", "ionic", "lan966x-switch", "mana", "qede",
	"rvu_nicpf", "rvu_nicvf", "sfc", "sfc_siena", "tsnep", "vif",
};

/**
 * xroce_xmit_fits() - may XDP frames be sent by a netdev, if it takes them
 * @ndev: the network device, held
 *
 * Not by a bond: its ports, now or later, may be of any driver.
 */
bool xroce_xmit_fits(const struct net_device *ndev)
{
	const struct device *dev = ndev->dev.parent;

	return !netif_is_bond_master(ndev) && (!dev || !dev->driver ||
	       match_string(xroce_unfit, ARRAY_SIZE(xroce_unfit), dev->driver->name) < 0);
}

/*
 * From here on the frame's memory is the skb's; the link-layer header is in front of its data.
 */
static struct sk_buff *frame_give_up(struct xroce_kqp *kqp, struct xroce_frame *f)
{
	struct sk_buff *skb = to_kframe(f)->skb;

	skb_reset_network_header(skb);
	skb_set_transport_header(skb, xroce_l3_len(skb->data));
	skb->dev = kqp->link->ndev;
	/* A VLAN under the link makes the tag's priority of it. */
	skb->priority = f->prio ?: rt_tos2priority(xroce_l3_dsfield(skb->data));
	/*
	 * One transmit queue for all requests that a QP has out, one for its answers, so
	 * that order is kept.
	 */
	skb_set_hash(skb, hash_32(kqp->qp.hot.qpn, 32), PKT_HASH_TYPE_L4);
#ifdef CONFIG_XPS
	skb->sender_cpu = (f->is.kind == XROCE_FRAME_REQ ? kqp->qp.req.cpu :
							   kqp->qp.resp.cpu) + 1;
#endif
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

/* To a group: this host's members too; for a copy that is lost nobody waits. */
static void frame_copy(struct xroce_kqp *kqp, struct sk_buff *skb, u8 l2_len)
{
	struct xroce_kframe *kf = xroce_frame_page(0, skb->len);
	struct xroce_frame *f;

	if (kf) {
		f = &kf->f;
		f->l2_len = l2_len;
		f->route = XROCE_ROUTE_BOTH;
		if (!skb_copy_bits(skb, -l2_len, f->seg[0].p - l2_len,
				   l2_len + skb->len) &&
		    xroce_work_loop(kqp, &f, 1))
			return;
		xroce_env_frame_free(f);
	}
	xroce_env_count(&kqp->link->dev, XROCE_CNT_TX_DROPPED, 1);
}

/* A VLAN's frame has its address, if it may be sent, and a priority of its own. */
static noinline bool vlan_source(const struct xroce_link *link, struct vlan_ethhdr *eth, u8 prio)
{
	u16 vid = ntohs(eth->h_vlan_TCI) & VLAN_VID_MASK;
	const struct net_device *vlan;

	eth->h_vlan_TCI = htons(vid | prio << VLAN_PRIO_SHIFT);
	guard(rcu)();
	vlan = xroce_link_vlan_rcu(link, vid);
	if (vlan)
		ether_addr_copy(eth->h_source, vlan->dev_addr);
	return vlan;
}

/*
 * A frame bears the address that the netdev, or its VLAN's, has now. It has no way
 * where one is gone, or another namespace's or, of a bond's, another netdev's, or
 * down, and then maybe without queues already, of which the stack would complain; nor
 * without a carrier, a group's to this host neither, as of a NIC's port that is down.
 */
static void frame_source(const struct xroce_link *link, struct xroce_frame *f, bool active)
{
	struct ethhdr *eth = (void *)(f->seg[0].p - f->l2_len);

	if (!active || (f->l2_len != ETH_HLEN && !vlan_source(link, (void *)eth, f->prio)))
		f->route = XROCE_ROUTE_NONE;
	else if (f->l2_len == ETH_HLEN)
		ether_addr_copy(eth->h_source, link->ndev->dev_addr);
}

/* Return: as frame_send(). */
static int frame_out(struct xroce_kqp *kqp, struct xroce_frame *f)
{
	u8 route = f->route, l2_len = f->l2_len;
	struct sk_buff *skb;

	/* The MTU may have become less than the path MTU that was agreed on. */
	if (route == XROCE_ROUTE_NONE || f->len > READ_ONCE(kqp->link->ndev->mtu)) {
		xroce_env_frame_free(f);
		return 0;
	}
	skb = frame_give_up(kqp, f);
	if (route != XROCE_ROUTE_BOTH)
		return frame_send(skb, l2_len);
	/* Here it must not arrive again, so there it is sent but once. */
	if (xroce_mcast_here(kqp->link, skb->data))
		frame_copy(kqp, skb, l2_len);
	return frame_send(skb, l2_len) == 1;
}

static void xmit_count(struct xroce_kqp *kqp, u32 sent, u32 bytes)
{
	if (!sent)
		return;
	xroce_qp_count(&kqp->qp, XROCE_CNT_TX_PKTS, sent);
	xroce_qp_count(&kqp->qp, XROCE_CNT_TX_BYTES, bytes);
}

/* Return: how many of the skbs were taken. */
static noinline u32 xmit_skbs(struct xroce_kqp *kqp, struct xroce_frame **f, u32 n)
{
	u32 i, len, sent = 0, bytes = 0;
	struct xroce_packet *trace;
	int ret;

	/* Once more, with one burst: it may have got its rings meanwhile. */
	if (kqp->xdp_stuck >= XROCE_XDP_STUCK && !time_before(jiffies, kqp->xdp_again) &&
	    ++kqp->xdp_stuck == XROCE_XDP_AGAIN)
		kqp->xdp_stuck = XROCE_XDP_STUCK - 1;
	for (i = 0; i < n; i++) {
		len = f[i]->len;
		trace = xroce_trace_tx(kqp, f[i]);
		ret = frame_out(kqp, f[i]);
		xroce_packet_sent(trace, ret < 0 ? XROCE_CNT_TX_UNTAKEN :
				 ret ? XROCE_CNT_TX_PKTS : XROCE_CNT_TX_DROPPED);
		if (ret < 0) {
			f[i] = NULL;
			break;
		}
		sent += ret;
		bytes += ret * len;
	}
	xmit_count(kqp, sent, bytes);
	if (i > sent)
		xroce_qp_count(&kqp->qp, XROCE_CNT_TX_DROPPED, i - sent);
	return i;
}

/* Return: how many of the frames the netdev has taken. */
static u32 xmit_xdp(struct xroce_kqp *kqp, struct xroce_frame **f, u32 n)
{
	struct net_device *ndev = kqp->link->ndev;
	struct xroce_frame *one;
	u32 i, l2_len;
	struct xdp_frame *xdp;
	int ret;

	for (i = 0; i < n; i++) {
		one = f[i];
		xdp = to_kframe(one)->xdp;
		l2_len = one->l2_len;
		xdp->data = one->seg[0].p - l2_len;
		xdp->len = l2_len + one->len;
		xdp->headroom = xdp->data - (void *)(xdp + 1);
		xdp->dev_rx = ndev;
		kqp->xdp[i] = xdp;
	}
	ret = ndev->netdev_ops->ndo_xdp_xmit(ndev, n, kqp->xdp, XDP_XMIT_FLUSH);
	/* Full (gve), or stopped since it is, or down (vmxnet3, others). */
	if (ret == -EBUSY || ret == -ENOSPC || ret == -ENETDOWN)
		ret = 0;
	/* It has no room; or takes none, as of CPUs that have no ring: not soon again. */
	if (ret <= 0) {
		kqp->xdp_stuck = ret ? XROCE_XDP_STUCK : kqp->xdp_stuck + 1;
		kqp->xdp_again = jiffies + (ret ? HZ : 0);
		kqp->xdp_cpu = smp_processor_id();
	} else if (kqp->xdp_stuck && kqp->xdp_cpu == smp_processor_id()) {
		kqp->xdp_stuck = 0;	/* not always: received packets read beside it */
	}
	return max(ret, 0);
}

/* In memory of ours, all by the same way. Return: how many were taken. */
static u32 xmit_pages(struct xroce_kqp *kqp, struct xroce_frame **f, u32 n, u32 bytes)
{
	u32 i, taken;

	if (f[0]->route == XROCE_ROUTE_HOST) {
		taken = xroce_work_loop(kqp, f, n);
		xroce_qp_count(&kqp->qp, XROCE_CNT_TX_LOOPED, taken);
	} else {
		taken = xmit_xdp(kqp, f, n);
	}
	for (i = taken; i < n; i++)
		bytes -= f[i]->len;
	xmit_count(kqp, taken, bytes);
	return taken;
}

/* For whoever looks: one at a time, with what became of it. */
static noinline u32 xmit_pages_traced(struct xroce_kqp *kqp, struct xroce_frame **f, u32 n)
{
	struct xroce_packet *trace;
	u32 i, taken;

	for (i = 0; i < n; i++) {
		trace = xroce_trace_tx(kqp, f[i]);
		taken = xmit_pages(kqp, f + i, 1, f[i]->len);
		xroce_packet_sent(trace, taken ? XROCE_CNT_TX_PKTS : XROCE_CNT_TX_UNTAKEN);
		if (!taken)
			break;
	}
	return i;
}

/*
 * How many go the same way as the first; their source address is set.
 * @bytes: theirs, before anybody has them who may write over them
 */
static u32 frames_alike(const struct xroce_link *link, struct xroce_frame **f, u32 n, u32 *bytes)
{
	bool active = xroce_link_active(link);
	u32 i, sum = 0;

	for (i = 0; i < n; i++) {
		if (f[i]->route != XROCE_ROUTE_HOST)
			frame_source(link, f[i], active);
		if (!to_kframe(f[i])->xdp != !to_kframe(f[0])->xdp || f[i]->route != f[0]->route)
			break;
		sum += f[i]->len;
	}
	*bytes = sum;
	return i;
}

/**
 * xroce_env_xmit() - send frames in order
 * @qp: the queue pair
 * @f: the frames
 * @n: how many, at most XROCE_BATCH
 *
 * What has no way, as by a netdev that is down, is taken all the same: it is lost, and the
 * transport sees to it as it does to what the network loses. A netdev that has no room drops an
 * skb and says so: it is built again later. XDP frames that it has no room for, or does not
 * take any more, are left to us. To this host frames are only taken while there is room.
 *
 * Return: how many were taken.
 */
u32 xroce_env_xmit(struct xroce_qp *qp, struct xroce_frame **f, u32 n)
{
	struct xroce_kqp *kqp = xroce_qp_kqp(qp);
	u32 i = 0, alike, taken, bytes;

	do {
		alike = frames_alike(kqp->link, f + i, n - i, &bytes);
		if (!to_kframe(f[i])->xdp || f[i]->route == XROCE_ROUTE_NONE)
			taken = xmit_skbs(kqp, f + i, alike);
		else if (trace_xroce_transmit_enabled())
			taken = xmit_pages_traced(kqp, f + i, alike);
		else
			taken = xmit_pages(kqp, f + i, alike, bytes);
		i += taken;
	} while (taken == alike && i < n);
	return i;
}
