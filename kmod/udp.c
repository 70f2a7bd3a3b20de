// SPDX-License-Identifier: GPL-2.0
/*
 * The way in from the network stack: a UDP socket on port 4791 in each network
 * namespace that has a link of ours, and packets from skbs into the core.
 * Sockets come and go in process context under xroce_udp_lock; packets come in
 * softirq, under RCU.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netlink.h>
#include <linux/skbuff.h>
#include <linux/wait_bit.h>
#include <net/dsfield.h>
#include <net/inet_ecn.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/udp.h>

#include "xroce.h"

/**
 * struct xroce_net - what a network namespace holds of ours
 * @users: links in it
 * @sock4: while there are any
 * @sock6: then too, unless the kernel runs without IPv6
 */
struct xroce_net {
	atomic_t users;
	struct socket *sock4;
	struct socket *sock6;
};

/**
 * struct xroce_skb_rx - a packet in an skb, as the core sees it
 * @rx: the core's part
 * @skb: what the packet is in
 * @bth: offset of the BTH from the skb's data
 */
struct xroce_skb_rx {
	struct xroce_rx rx;
	struct sk_buff *skb;
	u32 bth;
};

static unsigned int xroce_net_id;
static DEFINE_MUTEX(xroce_udp_lock);

/**
 * xroce_env_read() - copy from a packet's bytes
 * @rx: the packet
 * @off: from the BTH on; off + len is inside
 * @dst: where to
 * @len: how many bytes
 */
void xroce_env_read(struct xroce_rx *rx, u32 off, void *dst, u32 len)
{
	struct xroce_skb_rx *srx = container_of(rx, struct xroce_skb_rx, rx);

	/* Fails for memory that the CPU cannot read; its ICRC is wrong then. */
	if (skb_copy_bits(srx->skb, srx->bth + off, dst, len))
		memset(dst, 0, len);
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
	struct xroce_skb_rx *srx = container_of(rx, struct xroce_skb_rx, rx);
	struct skb_seq_state state;
	u32 done = 0, n;
	const u8 *p;

	off += srx->bth;
	if (off + len <= skb_headlen(srx->skb))
		return xroce_env_crc(crc, srx->skb->data + off, len);
	skb_prepare_seq_read(srx->skb, off, off + len, &state);
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
 * xroce_l3_dgid() - the address that a packet is for
 * @l3: its IP header
 * @gid: the address
 */
void xroce_l3_dgid(const u8 *l3, union ib_gid *gid)
{
	if (l3[0] >> 4 == 4)
		ipv6_addr_set_v4mapped(((const struct iphdr *)l3)->daddr,
				       (struct in6_addr *)gid);
	else
		memcpy(gid, &((const struct ipv6hdr *)l3)->daddr, sizeof(*gid));
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

/* The VLAN that a GID it is for would have; its priority where still known. */
static u16 skb_vlan(const struct sk_buff *skb)
{
	if (skb_vlan_tag_present(skb))
		return skb_vlan_tag_get(skb);
	return is_vlan_dev(skb->dev) ? vlan_dev_vlan_id(skb->dev) :
				       XROCE_NO_VLAN;
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
	struct xroce_skb_rx srx;
	u32 l3_len, len;

	l3_len = skb_network_header_len(skb);
	if (l3_len != (ip_hdr(skb)->version == 4 ? sizeof(struct iphdr) :
						   sizeof(struct ipv6hdr)))
		goto drop;
	drop = XROCE_CNT_DROP_SHORT;
	len = ntohs(udp_hdr(skb)->len);
	if (len < sizeof(struct udphdr) || len > skb->len - udp)
		goto drop;
	len -= sizeof(struct udphdr);
	drop = XROCE_CNT_DROP_NO_MEM;
	srx.bth = udp + sizeof(struct udphdr);
	if (!pskb_may_pull(skb, srx.bth + min_t(u32, len, XROCE_MAX_HDR)))
		goto drop;
	srx.skb = skb;
	srx.rx.dev = &link->dev;
	srx.rx.l3 = skb_network_header(skb);
	srx.rx.len = len;
	srx.rx.vlan = skb_vlan(skb);
	if (ip_hdr(skb)->version == 4)
		srx.rx.ce = INET_ECN_is_ce(ip_hdr(skb)->tos);
	else
		srx.rx.ce = INET_ECN_is_ce(ipv6_get_dsfield(ipv6_hdr(skb)));
	xroce_rx(&srx.rx);
	xroce_trace_rx(link, skb, srx.rx.verdict);
	consume_skb(skb);
	return;
drop:
	xroce_env_count(&link->dev, drop, 1);
	xroce_trace_rx(link, skb, drop);
	kfree_skb(skb);
}

/*
 * The stack has checked lengths and UDP checksum and put fragments together.
 * What comes in by a netdev without a link is nobody's: the port is ours.
 */
static int encap_rcv(struct sock *sk, struct sk_buff *skb)
{
	struct xroce_link *link = xroce_link_by_ndev_rcu(skb->dev);

	/* A GSO skb is several packets, of which no ICRC would be right. */
	if (link && !skb_is_gso(skb)) {
		xroce_rx_skb(link, skb);
	} else {
		sk_drops_inc(sk);
		kfree_skb(skb);
	}
	return 0;
}

static int sock_new(struct net *net, u8 family, struct socket **sock)
{
	/* A zero UDP checksum is right over IPv6 too (RFC 6935): the ICRC is. */
	struct udp_port_cfg port = {
		.family = family,
		.local_udp_port = htons(XROCE_UDP_PORT),
		.ipv6_v6only = 1,
	};
	struct udp_tunnel_sock_cfg cfg = {
		.encap_type = 1,
		.encap_rcv = encap_rcv,
	};
	int err;

	err = udp_sock_create(net, &port, sock);
	if (err)
		return err;
	setup_udp_tunnel_sock(net, xroce_udp_tunnel_sk(*sock), &cfg);
	return 0;
}

static void sock_free(struct socket **sock)
{
	if (*sock)
		udp_tunnel_sock_release(xroce_udp_tunnel_sk(*sock));
	*sock = NULL;
}

static int socks_new(struct net *net, struct xroce_net *xn)
{
	int err;

	err = sock_new(net, AF_INET, &xn->sock4);
	if (err)
		return err;
	err = sock_new(net, AF_INET6, &xn->sock6);
	if (err == -EAFNOSUPPORT || err == -EPFNOSUPPORT)
		err = 0;
	if (err)
		sock_free(&xn->sock4);
	return err;
}

static void say_why(const struct net *net, int err,
		    struct netlink_ext_ack *extack)
{
	char why[NETLINK_MAX_FMTMSG_LEN];

	if (err != -EADDRINUSE)
		snprintf(why, sizeof(why), "no socket on UDP port %u: error %d",
			 XROCE_UDP_PORT, err);
	else if (net_eq(net, &init_net))
		snprintf(why, sizeof(why),
			 "UDP port %u is in use, as by rdma_rxe while that is loaded",
			 XROCE_UDP_PORT);
	else
		snprintf(why, sizeof(why),
			 "UDP port %u of network namespace %u is in use",
			 XROCE_UDP_PORT, net->ns.inum);
	NL_SET_ERR_MSG_FMT(extack, "%s", why);
	pr_err("%s\n", why);
}

/**
 * xroce_udp_get() - a link more in a namespace: there is a socket from the first
 * @net: the network namespace
 * @extack: where an error is told
 *
 * Process context. Return: 0, or a negative errno after saying what is wrong.
 */
int xroce_udp_get(struct net *net, struct netlink_ext_ack *extack)
{
	struct xroce_net *xn = net_generic(net, xroce_net_id);
	int err = 0;

	mutex_lock(&xroce_udp_lock);
	if (!atomic_read(&xn->users))
		err = socks_new(net, xn);
	if (!err)
		atomic_inc(&xn->users);
	mutex_unlock(&xroce_udp_lock);
	if (err)
		say_why(net, err, extack);
	return err;
}

/**
 * xroce_udp_put() - a link less in a namespace
 * @net: the network namespace
 *
 * Process context. A packet may still be on its way from the socket, and finds
 * the link as long as that can be found.
 */
void xroce_udp_put(struct net *net)
{
	struct xroce_net *xn = net_generic(net, xroce_net_id);

	mutex_lock(&xroce_udp_lock);
	if (atomic_read(&xn->users) == 1) {
		sock_free(&xn->sock4);
		sock_free(&xn->sock6);
	}
	/* From here on the namespace may go. */
	if (atomic_dec_and_test(&xn->users))
		wake_up_var(&xn->users);
	mutex_unlock(&xroce_udp_lock);
}

static void __net_exit net_exit(struct net *net)
{
	struct xroce_net *xn = net_generic(net, xroce_net_id);

	/* Its links have been told to go; who frees one may be on the way here. */
	wait_var_event(&xn->users, !atomic_read(&xn->users));
}

static struct pernet_operations xroce_net_ops = {
	.exit = net_exit,
	.id = &xroce_net_id,
	.size = sizeof(struct xroce_net),
};

int xroce_udp_init(void)
{
	return register_pernet_subsys(&xroce_net_ops);
}

void xroce_udp_exit(void)
{
	unregister_pernet_subsys(&xroce_net_ops);
	/* A packet may have found a socket before it was closed. */
	synchronize_net();
}
