// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * For "check": is a peer there, does a full packet reach it in one piece, and is
 * there a RoCEv2 device behind its port. Owns one socket at a time; waits a
 * second at most for each answer.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <xroce/wire.h>

#include "rdmatool.h"

#define WAIT_MS		1000

union sock_addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

static socklen_t make_addr(const struct peer *peer, u16 port, union sock_addr *a)
{
	memset(a, 0, sizeof(*a));
	a->sa.sa_family = peer->family;
	if (peer->family == AF_INET) {
		a->in.sin_port = htons(port);
		memcpy(&a->in.sin_addr, peer->addr, 4);
		return sizeof(a->in);
	}
	a->in6.sin6_port = htons(port);
	memcpy(&a->in6.sin6_addr, peer->addr, 16);
	return sizeof(a->in6);
}

/**
 * peer_parse() - an address of the command line, an IPv4 GID's too
 */
void peer_parse(const char *what, const char *s, struct peer *peer)
{
	memset(peer, 0, sizeof(*peer));
	peer->text = s;
	peer->family = AF_INET;
	if (inet_pton(AF_INET, s, peer->addr) == 1)
		return;
	if (inet_pton(AF_INET6, s, peer->addr) != 1)
		usage("%s: \"%s\" is not an IPv4 or IPv6 address", what, s);
	peer->family = AF_INET6;
	if (IN6_IS_ADDR_V4MAPPED((struct in6_addr *)peer->addr)) {
		memmove(peer->addr, peer->addr + 12, 4);
		peer->family = AF_INET;
	}
}

static void on_route(struct nlmsghdr *nlh, void *arg)
{
	struct nlattr *oif = nlmsg_find_attr(nlh, sizeof(struct rtmsg), RTA_OIF);

	if (nlh->nlmsg_type == RTM_NEWROUTE && oif)
		*(u32 *)arg = nla_get_u32(oif);
}

/**
 * peer_route() - the network device that leads to it, 0 for none
 */
u32 peer_route(const struct peer *peer)
{
	int len = peer->family == AF_INET ? 4 : 16;
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_GETROUTE, 0);
	struct rtmsg rt = {
		.rtm_family = peer->family, .rtm_dst_len = 8 * len,
	};
	u32 oif = 0;

	if (!msg || nlmsg_append(msg, &rt, sizeof(rt), NLMSG_ALIGNTO) ||
	    nla_put(msg, RTA_DST, len, peer->addr))
		fail("out of memory");
	if (nl_ask(NETLINK_ROUTE, msg, on_route, &oif))
		return 0;
	return oif;
}

/* As ping does: without privilege where the host allows that, else raw. */
static int echo_socket(int family)
{
	int proto = family == AF_INET ? (int)IPPROTO_ICMP : IPPROTO_ICMPV6;
	int s = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, proto);

	return s >= 0 ? s : socket(family, SOCK_RAW | SOCK_CLOEXEC, proto);
}

static u16 icmp_sum(const u8 *p, size_t len)
{
	u32 sum = 0;

	for (; len > 1; p += 2, len -= 2)
		sum += p[0] << 8 | p[1];
	if (len)
		sum += *p << 8;
	sum = (sum >> 16) + (sum & 0xffff);
	return htons(~(sum + (sum >> 16)));
}

/* An answer to ours: its type, and the sequence number that nobody else has. */
static bool is_reply(const u8 *p, ssize_t len, int family, u16 seq)
{
	u8 want = family == AF_INET ? ICMP_ECHOREPLY : ICMP6_ECHO_REPLY;
	u16 got;

	/* A raw IPv4 socket has the IP header in front. */
	if (family == AF_INET && len >= 20 && p[0] >> 4 == 4) {
		ssize_t hdr = 4 * (p[0] & 15);

		p += hdr;
		len -= hdr;
	}
	if (len < 8 || p[0] != want)
		return false;
	memcpy(&got, p + 6, sizeof(got));
	return got == seq;
}

/**
 * peer_echo() - does it answer an ICMP echo
 * @len: bytes of the packet from the IP header on, 65535 at most, never fragmented; 0: short
 *
 * Return: 0, -ETIMEDOUT or what the network said.
 */
int peer_echo(const struct peer *peer, u32 len)
{
	u32 hdr = peer->family == AF_INET ? 20 : 40, size;
	int s = echo_socket(peer->family), probe, err = 0;
	u16 seq = htons(getpid() ^ len), sum;
	socklen_t alen;
	union sock_addr a;
	struct pollfd fd;
	u8 buf[65536];
	u64 end;
	ssize_t n;

	if (s < 0)
		return -errno;
	size = len > hdr + 8 ? len - hdr : 16;
	memset(buf, 0, size);
	buf[0] = peer->family == AF_INET ? ICMP_ECHO : ICMP6_ECHO_REQUEST;
	memcpy(buf + 6, &seq, sizeof(seq));
	sum = icmp_sum(buf, size);
	if (peer->family == AF_INET)
		memcpy(buf + 2, &sum, sizeof(sum));
	probe = peer->family == AF_INET ? IP_PMTUDISC_PROBE : IPV6_PMTUDISC_PROBE;
	if (peer->family == AF_INET)
		setsockopt(s, IPPROTO_IP, IP_MTU_DISCOVER, &probe, sizeof(probe));
	else
		setsockopt(s, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &probe,
			   sizeof(probe));
	alen = make_addr(peer, 0, &a);
	if (connect(s, &a.sa, alen) || send(s, buf, size, 0) != (ssize_t)size) {
		err = -errno;
		goto out;
	}
	fd = (struct pollfd){ .fd = s, .events = POLLIN };
	end = now_ns(CLOCK_MONOTONIC) + WAIT_MS * 1000000ull;
	do {
		if (poll(&fd, 1, 100) <= 0)
			continue;
		n = recv(s, buf, sizeof(buf), MSG_DONTWAIT);
		if (n < 0) {
			err = -errno;
			goto out;
		}
		if (is_reply(buf, n, peer->family, seq))
			goto out;
	} while (now_ns(CLOCK_MONOTONIC) < end);
	err = -ETIMEDOUT;
out:
	close(s);
	return err;
}

/**
 * peer_port() - does something listen to RoCEv2's port there
 *
 * What is sent is no RoCEv2 packet; who listens drops it. Return: 0 when nobody
 * objects, or what the peer said: -ECONNREFUSED when nobody listens.
 */
int peer_port(const struct peer *peer)
{
	int s = socket(peer->family, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;
	socklen_t alen, elen = sizeof(err);
	union sock_addr a;
	struct pollfd fd;

	if (s < 0)
		return -errno;
	alen = make_addr(peer, XROCE_UDP_PORT, &a);
	if (connect(s, &a.sa, alen) || send(s, "", 1, 0) != 1) {
		err = -errno;
	} else {
		fd = (struct pollfd){ .fd = s, .events = POLLIN };
		poll(&fd, 1, WAIT_MS / 2);
		getsockopt(s, SOL_SOCKET, SO_ERROR, &err, &elen);
		err = -err;
	}
	close(s);
	return err;
}
