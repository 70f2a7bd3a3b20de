// SPDX-License-Identifier: GPL-2.0
/*
 * Received packets, in an skb or still where the driver put them, and into the core with them.
 * BH off, in the receiver's context; a packet is the caller's alone, and nothing of it is kept.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/skbuff.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/xdp.h>

#include "xroce.h"

/* The contiguous bytes at @off from the BTH, up to @len; never none. */
static const u8 *xdp_span(const struct xroce_krx *krx, u32 off, u32 *len)
{
	static const u8 none[1];
	const struct skb_shared_info *info;
	const skb_frag_t *frag, *end;

	if (off < krx->linear) {
		*len = min(*len, krx->linear - off);
		return krx->bth + off;
	}
	off -= krx->linear;
	info = xdp_get_shared_info_from_buff(krx->xdp);
	end = info->frags;
	if (xdp_buff_has_frags(krx->xdp))
		end += info->nr_frags;
	for (frag = info->frags; frag < end; frag++) {
		if (off < skb_frag_size(frag)) {
			*len = min(*len, skb_frag_size(frag) - off);
			return (u8 *)skb_frag_address(frag) + off;
		}
		off -= skb_frag_size(frag);
	}
	/* Lengths have been checked: this is for a driver that lies. */
	*len = 1;
	return none;
}

static noinline void read_parts(struct xroce_krx *krx, u32 off, void *dst, u32 len)
{
	const u8 *p;
	u32 n;

	if (krx->xdp) {
		for (; len; off += n, dst += n, len -= n) {
			n = len;
			p = xdp_span(krx, off, &n);
			memcpy(dst, p, n);
		}
	} else if (skb_copy_bits(krx->skb, krx->off + off, dst, len)) {
		/* Memory that the CPU cannot read: the ICRC is wrong then. */
		memset(dst, 0, len);
	}
}

/**
 * xroce_env_read() - copy from a packet's bytes
 * @rx: the packet
 * @off: from the BTH on; off + len is inside
 * @dst: where to
 * @len: how many bytes
 *
 * The last of them are written last: there are programs that wait for the end of a
 * WRITE, as NICs let them, but memcpy() may go backwards, or in no order at all.
 */
void xroce_env_read(struct xroce_rx *rx, u32 off, void *dst, u32 len)
{
	struct xroce_krx *krx = container_of(rx, struct xroce_krx, rx);
	u32 last = min_t(u32, len, sizeof(u64)), front = len - last;
	const u8 *src = krx->bth + off;

	if (off + len > krx->linear) {
		read_parts(krx, off, dst, front);
		smp_wmb();	/* as below */
		read_parts(krx, off + front, dst + front, last);
	} else if (last < sizeof(u64)) {
		smp_wmb();	/* of what begins on another page they are the end */
		memcpy(dst, src, last);
	} else {
		memcpy(dst, src, front);
		smp_wmb();	/* pairs with what the program does that waits */
		memcpy(dst + front, src + front, sizeof(u64));	/* no call */
	}
}

static noinline u32 crc_parts(struct xroce_krx *krx, u32 crc, u32 off, u32 len)
{
	struct skb_seq_state state;
	u32 done = 0, n;
	const u8 *p;

	if (krx->xdp) {
		for (; len; off += n, len -= n) {
			n = len;
			p = xdp_span(krx, off, &n);
			crc = xroce_env_crc(crc, p, n);
		}
		return crc;
	}
	off += krx->off;
	skb_prepare_seq_read(krx->skb, off, off + len, &state);
	while (done < len && (n = skb_seq_read(done, &p, &state))) {
		/* A block is as long as its fragment, whatever was asked for. */
		n = min(n, len - done);
		crc = xroce_env_crc(crc, p, n);
		done += n;
	}
	skb_abort_seq_read(&state);
	return crc;
}

/**
 * xroce_env_rx_crc() - go on with a CRC over a packet's bytes, wherever they are
 * @rx: the packet
 * @crc: the CRC so far
 * @off: from the BTH on; off + len is inside
 * @len: how many bytes
 */
u32 xroce_env_rx_crc(struct xroce_rx *rx, u32 crc, u32 off, u32 len)
{
	struct xroce_krx *krx = container_of(rx, struct xroce_krx, rx);

	if (off + len <= krx->linear)
		return xroce_env_crc(crc, krx->bth + off, len);
	return crc_parts(krx, crc, off, len);
}

/**
 * xroce_env_local() - is a packet for an address of the link it came to; BH off
 * @rx: the packet
 */
bool xroce_env_local(struct xroce_rx *rx)
{
	union ib_gid gid;

	xroce_l3_dgid(rx->l3, &gid);
	return xroce_link_has_gid(xroce_dev_link(rx->dev), &gid);
}

/* Of what has no tag: the VLAN that a GID it is for would have. */
static u16 ndev_vlan(const struct net_device *ndev)
{
	return is_vlan_dev(ndev) ? vlan_dev_vlan_id(ndev) : XROCE_NO_VLAN;
}

/* Of the packets that this CPU receives, which BH off keeps its own. */
static struct xroce_known __percpu *xroce_known;

void xroce_packet_exit(void)
{
	free_percpu(xroce_known);
}

/* More than what is kept for the variables of all modules. */
int xroce_packet_init(void)
{
	xroce_known = __alloc_percpu(XROCE_KNOWN * sizeof(*xroce_known), L1_CACHE_BYTES);
	return xroce_known ? 0 : -ENOMEM;
}

/* What the core is to see, up to @end linear; the caller tells the rest that matters. */
static void krx_init(struct xroce_krx *krx, const u8 *l3, const u8 *bth, const void *end, u32 len)
{
	krx->bth = bth;
	krx->linear = (const u8 *)end - bth;
	krx->rx.l3 = l3;
	krx->rx.len = len;
	krx->rx.vlan = XROCE_NO_VLAN;
	krx->rx.vid = 0;
	krx->rx.ce = INET_ECN_is_ce(xroce_l3_dsfield(l3));
	krx->rx.from = 0;
}

/**
 * xroce_rx_skb() - take in a packet that came to a link
 * @link: the link
 * @skb: network and transport header set, the transport header linear; used up
 *
 * BH off.
 */
void xroce_rx_skb(struct xroce_link *link, struct sk_buff *skb)
{
	u32 drop = XROCE_CNT_DROP_OPTIONS;
	u32 udp = skb_transport_offset(skb);
	struct xroce_krx krx;
	u32 len;

	if (skb_network_header_len(skb) != xroce_l3_len(skb_network_header(skb)))
		goto drop;
	drop = XROCE_CNT_DROP_SHORT;
	len = ntohs(udp_hdr(skb)->len);
	if (len < sizeof(struct udphdr) || len > skb->len - udp)
		goto drop;
	len -= sizeof(struct udphdr);
	drop = XROCE_CNT_DROP_NO_MEM;
	krx.off = udp + sizeof(struct udphdr);
	if (!pskb_may_pull(skb, krx.off + min_t(u32, len, XROCE_MAX_HDR)))
		goto drop;
	krx_init(&krx, skb_network_header(skb), skb->data + krx.off, skb_tail_pointer(skb), len);
	krx.xdp = NULL;
	krx.skb = skb;
	krx.rx.dev = &link->dev;
	krx.rx.known = this_cpu_ptr(xroce_known);
	krx.rx.whole = 0;
	krx.rx.vlan = skb_vlan_tag_present(skb) ? skb_vlan_tag_get(skb) : ndev_vlan(skb->dev);
	/* A link's own VLAN is none to it. */
	if (skb->dev != link->ndev && krx.rx.vlan != XROCE_NO_VLAN)
		krx.rx.vid = krx.rx.vlan & VLAN_VID_MASK;
	xroce_rx(&krx.rx);
	xroce_trace_rx(link, skb, krx.rx.verdict);
	consume_skb(skb);
	return;
drop:
	xroce_env_count(&link->dev, drop, 1);
	xroce_trace_rx(link, skb, drop);
	kfree_skb(skb);
}

/**
 * xroce_rx_looped() - take in a frame that this host has sent to itself
 * @link: the link that it is for
 * @f: the frame, in memory of ours; stays the caller's
 *
 * BH off. What a netdev and the stack would see to has been seen to.
 */
void xroce_rx_looped(struct xroce_link *link, struct xroce_frame *f)
{
	u8 *l3 = f->seg[0].p, *l2 = l3 - f->l2_len;
	struct xdp_buff xdp = { .data = l2, .data_end = l3 + f->len };
	u32 head = xroce_l3_len(l3) + sizeof(struct udphdr);
	struct xroce_krx krx;

	krx_init(&krx, l3, l3 + head, xdp.data_end, f->len - head);
	krx.xdp = &xdp;
	krx.rx.dev = &link->dev;
	krx.rx.known = NULL;	/* for their CRC, which it has not */
	krx.rx.vlan = f->l2_len == VLAN_ETH_HLEN ?
		      ntohs(((struct vlan_ethhdr *)l2)->h_vlan_TCI) :
		      ndev_vlan(link->ndev);
	krx.rx.from = to_kframe(f)->kqp->qp.hot.qpn;
	xroce_rx(&krx.rx);
	/* For whoever looks it is as a wire would have brought it. A copy has it. */
	if (trace_xroce_verdict_enabled() && f->route == XROCE_ROUTE_HOST)
		xroce_frame_icrc(f);
	xroce_trace_rx_xdp(link, &xdp, krx.rx.verdict);
}

/* Would the stack hand to the link what comes in by its netdev like this. */
static bool ndev_is_plain(const struct net_device *ndev)
{
	return !rcu_access_pointer(ndev->rx_handler) && !netif_is_l3_slave(ndev);
}

/**
 * xroce_xdp_no_tag() - may a frame be of a VLAN that it does not show
 * @xdp: the frame
 *
 * Where there are VLANs on a netdev that takes tags off, and holds them beside the
 * frame: the stack looks there, XDP cannot. A tag that it shows is inside that one.
 */
bool xroce_xdp_no_tag(const struct xdp_buff *xdp)
{
	struct net_device *dev = xdp->rxq->dev, *peer;

	if (list_empty(&dev->adj_list.upper))
		return false;
	if (!dev->netdev_ops->ndo_get_peer_dev)
		return dev->features & (NETIF_F_HW_VLAN_CTAG_RX | NETIF_F_HW_VLAN_STAG_RX);
	/* A veth takes none off: those beside frames its peer has let pass so. */
	guard(rcu)();
	peer = dev->netdev_ops->ndo_get_peer_dev(dev);
	return !peer || peer->features & (NETIF_F_HW_VLAN_CTAG_TX | NETIF_F_HW_VLAN_STAG_TX);
}

/*
 * What the stack would have checked on the way to the socket: that a frame is whole, and as its
 * checksums say. One with a checksum over UDP, which no RoCEv2 device sends, is left to it.
 */
static noinline bool xdp_parse(struct xdp_buff *xdp, struct xroce_krx *krx)
{
	const u8 *data = xdp->data, *end = xdp->data_end;
	struct xroce_encap e;

	if (xroce_encap_parse(&e, data, end, xdp_get_buff_len(xdp)) != XROCE_ENCAP_ROCE ||
	    e.opts || e.bth + min_t(u32, e.len, XROCE_MAX_HDR) > end)
		return false;
	if (((const struct udphdr *)e.l4)->check || (e.version == 4 && ip_fast_csum(e.l3, 5)))
		return false;
	krx_init(krx, e.l3, e.bth, end, e.len);
	krx->rx.known = this_cpu_ptr(xroce_known);
	krx->rx.whole = e.l4 - e.l3 + e.ip_len;
	return !xroce_rx_parse(&krx->rx);
}

/*
 * The same of a frame with the headers of one that was found so. All that was looked
 * at stands in them, but for the length of the frame and what is before them.
 */
static bool xdp_same(struct xdp_buff *xdp, struct xroce_krx *krx)
{
	const u8 *data = xdp->data, *end = xdp->data_end, *l3 = data + ETH_HLEN, *bth;
	const struct xroce_known *k;

	if (((const struct ethhdr *)data)->h_proto == htons(ETH_P_8021Q))
		l3 += VLAN_HLEN;
	bth = l3 + xroce_l3_len(l3) + sizeof(struct udphdr);
	if (xroce_get16(l3 - 2) != (l3[0] >> 4 == 4 ? ETH_P_IP : ETH_P_IPV6) ||
	    bth + sizeof(struct xroce_bth) > end)
		return false;
	k = xroce_known_find(this_cpu_ptr(xroce_known), l3, bth);
	if (!k || !k->whole)
		return false;
	/* Where it is not in one piece, its headers are. */
	if (k->whole > end - l3 && (k->whole > xdp_get_buff_len(xdp) - (l3 - data) ||
				    bth + XROCE_MAX_HDR > end))
		return false;
	krx_init(krx, l3, bth, end, k->len);
	krx->rx.is = k;		/* and nobody asks what is to become known */
	return xroce_known_parse(k, &krx->rx.pkt, bth);
}

/* The same of the VLAN of a frame with a tag, which may have come to be elsewhere. */
static noinline bool vlan_is_plain(const struct xroce_link *link, u16 vid)
{
	const struct net_device *vlan;

	guard(rcu)();
	vlan = xroce_link_vlan_rcu(link, vid);
	return vlan && ndev_is_plain(vlan);
}

/*
 * A tag of the kind that frames to @av have, of its VLAN as is known; or none, or a
 * priority alone, as it.
 */
static bool same_l2(const struct xroce_av *av, const u8 *l2, u32 len)
{
	const struct vlan_ethhdr *is = (const void *)l2;
	const struct vlan_ethhdr *own = (const void *)av->l2;

	if (len == ETH_HLEN || av->l2_len == ETH_HLEN)
		return len == av->l2_len ||
		       (len == VLAN_ETH_HLEN && is->h_vlan_proto == htons(ETH_P_8021Q));
	return len == VLAN_ETH_HLEN && is->h_vlan_proto == own->h_vlan_proto;
}

/*
 * Would the stack have brought a datagram to the socket, whatever it is set to: it is for
 * an address that is of where it came by, and from one that another host may have. (A
 * connected QP's addresses are compared with its own.)
 */
static noinline bool datagram_is_plain(struct xroce_link *link, const struct xroce_rx *rx)
{
	const struct ipv6hdr *ip6 = (const void *)rx->l3;
	const struct iphdr *ip = (const void *)rx->l3;
	const struct xroce_gid *g;
	union ib_gid to, from;

	if (ip->version == 4) {
		if (ipv4_is_multicast(ip->saddr) || ipv4_is_lbcast(ip->saddr) ||
		    ipv4_is_zeronet(ip->saddr) || ipv4_is_loopback(ip->saddr))
			return false;
	} else {
		/* Of IPv4's addresses, as GIDs have them, none is IPv6's. */
		if (ipv6_addr_is_multicast(&ip6->saddr) || ipv6_addr_loopback(&ip6->saddr) ||
		    ipv6_addr_any(&ip6->saddr) || ipv6_addr_v4mapped(&ip6->daddr))
			return false;
	}
	xroce_l3_dgid(rx->l3, &to);
	xroce_l3_gid(rx->l3, ip->version, 0, from.raw);
	g = xroce_link_gid(link, &to);
	return g && g->vid == rx->vid && !xroce_link_gid(link, &from);
}

/**
 * xroce_rx_xdp() - whose is a frame where the driver put it
 * @xdp: the frame; not changed
 * @krx: filled in
 *
 * BH off, natively or from a cpumap. Finds what the socket would have brought to
 * a QP of a link on the netdev; the rest is the stack's, which also counts what is
 * wrong, and that of groups and QP 1.
 *
 * Return: the QP, or NULL.
 */
struct xroce_qp *xroce_rx_xdp(struct xdp_buff *xdp, struct xroce_krx *krx)
{
	static const struct xroce_av anyone = { .l2_len = ETH_HLEN };
	const struct net_device *dev = xdp->rxq->dev;
	const struct vlan_ethhdr *eth = xdp->data;
	struct xroce_link *link;
	struct xroce_qp *qp;
	u32 l2_len;

	/* What has its headers not all here is the stack's. */
	if (xdp->data + VLAN_ETH_HLEN + sizeof(struct iphdr) > xdp->data_end ||
	    !ndev_is_plain(dev) ||
	    !ether_addr_equal_unaligned(eth->h_dest, dev->dev_addr) || xroce_xdp_no_tag(xdp))
		return NULL;
	if (!xdp_same(xdp, krx) && !xdp_parse(xdp, krx))
		return NULL;
	/* A group's number, and that of QP 1, is none of these. */
	qp = xroce_table_qp(krx->rx.pkt.qpn);
	if (!qp)
		return NULL;
	link = xroce_dev_link(qp->dev);
	if (link->ndev != dev || !net_eq(dev_net(dev), link->net))
		return NULL;
	krx->rx.dev = qp->dev;
	krx->xdp = xdp;
	if (krx->rx.l3 == (const u8 *)(eth + 1)) {
		krx->rx.vid = ntohs(READ_ONCE(eth->h_vlan_TCI)) & VLAN_VID_MASK;
		if (krx->rx.vid && !vlan_is_plain(link, krx->rx.vid))
			return NULL;
		krx->rx.vlan = krx->rx.vid ?: XROCE_NO_VLAN;
	}
	/* Pairs with the release in xroce_qp_modify(). */
	krx->rx.gen = smp_load_acquire(&qp->gen);
	l2_len = krx->rx.l3 - (const u8 *)eth;
	if (qp->hot.transport != XROCE_UD)
		return same_l2(&qp->av, xdp->data, l2_len) &&
		       xroce_rx_from(&krx->rx, &qp->av) ? qp : NULL;
	return same_l2(&anyone, xdp->data, l2_len) && datagram_is_plain(link, &krx->rx) ? qp : NULL;
}
