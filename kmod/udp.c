// SPDX-License-Identifier: GPL-2.0
/*
 * The way in from the network stack: a UDP socket on port 4791 in each network
 * namespace that has a link of ours. Sockets come and go in process context
 * under xroce_udp_lock; packets come in softirq, under RCU.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/netlink.h>
#include <linux/skbuff.h>
#include <linux/wait_bit.h>
#include <net/ip6_route.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/route.h>
#include <net/udp.h>
#include <rdma/ib_mad.h>

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

static unsigned int xroce_net_id;
static DEFINE_MUTEX(xroce_udp_lock);

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
		if (link) {
			xroce_env_count(&link->dev, XROCE_CNT_DROP_LENGTH, 1);
			xroce_trace_rx(link, skb, XROCE_CNT_DROP_LENGTH);
		}
		sk_drops_inc(sk);
		kfree_skb(skb);
	}
	return 0;
}

/* The way back to who sent a packet, or NULL: there is none. */
static struct dst_entry *way_back(struct net *net, const u8 *l3, int oif)
{
	const struct ipv6hdr *ip6 = (const void *)l3;
	const struct iphdr *ip = (const void *)l3;
	struct flowi6 fl6 = { .flowi6_oif = oif };
	struct flowi4 fl4 = { .flowi4_oif = oif };
	struct dst_entry *dst;
	struct rtable *rt;

	if (ip->version != 4) {
		fl6.daddr = ip6->saddr;
		fl6.saddr = ip6->daddr;
		dst = ip6_route_output(net, NULL, &fl6);
		if (!dst->error)
			return dst;
		dst_release(dst);
		return NULL;
	}
	fl4.daddr = ip->saddr;
	fl4.saddr = ip->daddr;
	rt = ip_route_output_key(net, &fl4);
	return IS_ERR(rt) ? NULL : &rt->dst;
}

/**
 * xroce_env_neigh() - may QP 1 have a datagram; BH off
 * @rx: the packet
 *
 * ib_core waits a second for the neighbour that an answer goes to, one datagram at a time:
 * whoever sends from addresses that nobody has would block QP 1, its memory and its link's end.
 * So they are lost, as datagrams may be, and sent again, while the neighbour is asked for. One
 * a second passes of those that are for the CM, which waits where others do not.
 */
bool xroce_env_neigh(struct xroce_rx *rx)
{
	struct xroce_krx *krx = container_of(rx, struct xroce_krx, rx);
	struct xroce_link *link = xroce_dev_link(rx->dev);
	time64_t now = ktime_get_seconds();
	struct neighbour *neigh;
	struct dst_entry *dst;
	u8 class = 0;
	bool ok;

	if (rx->from)
		return true;
	dst = way_back(link->net, rx->l3, krx->skb->dev->ifindex);
	neigh = dst ? dst_neigh_lookup(dst, rx->l3 + (rx->l3[0] >> 4 == 4 ? 12 : 8)) : NULL;
	dst_release(dst);
	if (!neigh)
		return false;
	ok = !neigh_event_send(neigh, NULL);
	neigh_release(neigh);
	if (ok)
		return true;
	if (rx->pkt.payload_len >= sizeof(struct ib_mad_hdr))
		xroce_env_read(rx, rx->pkt.hdr_len + offsetof(struct ib_mad_hdr, mgmt_class),
			       &class, sizeof(class));
	if (class != IB_MGMT_CLASS_CM || READ_ONCE(link->gsi_second) == now)
		return false;
	WRITE_ONCE(link->gsi_second, now);
	return true;
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

static void say_why(const struct net *net, int err, struct netlink_ext_ack *extack)
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
	/* Whoever owns a namespace may try as often as he likes. */
	pr_err_ratelimited("%s\n", why);
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

	guard(mutex)(&xroce_udp_lock);
	if (atomic_read(&xn->users) == 1) {
		sock_free(&xn->sock4);
		sock_free(&xn->sock6);
	}
	/* From here on the namespace may go. */
	if (atomic_dec_and_test(&xn->users))
		wake_up_var(&xn->users);
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
