// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Every kind of frame (lib/cases.h) over a real wire, for xdp.sh:
 *
 *   frames send IF SMAC DMAC		send them all, and LAST once more
 *   frames take IF SECONDS		print which arrive, till that long silence,
 *					or a second's once LAST came again
 *   frames pass			print which XDP must pass to the stack
 *   frames judge IF SMAC DMAC MAP	send each and hold the program's counters,
 *					the map with that id, against what is due
 *   frames ignore IF SMAC DMAC MAP	the same where DMAC is not the netdev's
 *   frames alike IF SMAC DMAC QPN SIP DIP HOW
 *					send an ACK to a QP, with a fault that
 *					its headers from IP to BTH do not show,
 *					and one without
 *
 * Needs root. QP 17 is nobody's here.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/ether.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cases.h>
#include <stats.h>
#include <tap.h>

#define __noreturn __attribute__((__noreturn__))

/* Nobody drops it. */
#define LAST	"UDP port 4790"

static u8 frame[FRAME_MAX], got[FRAME_MAX];

static void __noreturn die(const char *what)
{
	fprintf(stderr, "frames: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int open_socket(const char *ifname)
{
	struct sockaddr_ll sll = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = if_nametoindex(ifname),
	};
	int fd = socket(AF_PACKET, SOCK_RAW, 0), one = 1, size = 8 << 20;

	if (fd < 0 || !sll.sll_ifindex ||
	    bind(fd, (struct sockaddr *)&sll, sizeof(sll)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &one, sizeof(one)))
		die(ifname);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	return fd;
}

static void parse_mac(u8 *mac, const char *s)
{
	const struct ether_addr *addr = ether_aton(s);

	if (!addr)
		die(s);
	memcpy(mac, addr, ETH_ALEN);
}

static u32 make(const struct frame_case *c, const u8 *macs)
{
	struct packet pk;
	u32 len = frame_make(c, frame, &pk);

	memcpy(frame, macs, 12);
	return len;
}

/* A counter of the test's table, with no QP there. */
static u32 due(const struct frame_case *c, bool ours)
{
	if (!ours && c->stat != XROCE_XDP_OTHER)
		return XROCE_XDP_NOT_OURS;
	return c->stat == XROCE_XDP_STAY ? XROCE_XDP_NO_QP : c->stat;
}

static void send_one(int fd, const struct frame_case *c, const u8 *macs)
{
	u32 len = make(c, macs);

	if (send(fd, frame, len, 0) != (ssize_t)len)
		die(c->name);
}

static void send_all(const char *ifname, const u8 *macs)
{
	const struct frame_case *last = NULL;
	int fd = open_socket(ifname);

	for (size_t i = 0; i < ARRAY_SIZE(frame_cases); i++) {
		if (!strcmp(frame_cases[i].name, LAST))
			last = &frame_cases[i];
		send_one(fd, &frame_cases[i], macs);
		usleep(2000);
	}
	if (!last)
		die("no case is named " LAST);
	send_one(fd, last, macs);
}

/* Zero what a bridge or a router may change; @p is a whole frame. */
static void normalise(u8 *p, u32 len)
{
	u32 type = packet_get16(p + 12);

	memset(p, 0, 12);
	if (type == 0x0800 && len >= 26) {
		p[14 + 8] = 0;
		memset(p + 14 + 10, 0, 2);
	} else if (type == 0x86dd && len >= 22) {
		p[14 + 7] = 0;
	}
}

/* The kernel has taken the outer tag away and tells it apart. */
static u32 put_tag_back(struct msghdr *msg, u32 len)
{
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		struct tpacket_auxdata *aux = (void *)CMSG_DATA(c);

		if (c->cmsg_level != SOL_PACKET ||
		    c->cmsg_type != PACKET_AUXDATA ||
		    !(aux->tp_status & TP_STATUS_VLAN_VALID))
			continue;
		memmove(got + 16, got + 12, len - 12);
		packet_put16(got + 12, aux->tp_vlan_tpid);
		packet_put16(got + 14, aux->tp_vlan_tci);
		return len + 4;
	}
	return len;
}

static u32 take_one(int fd)
{
	char control[256];
	struct sockaddr_ll from;
	struct iovec iov = { got, sizeof(got) - 4 };
	struct msghdr msg = {
		.msg_name = &from, .msg_namelen = sizeof(from),
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(fd, &msg, 0);

	if (n < 14 || from.sll_pkttype == PACKET_OUTGOING)
		return 0;
	return put_tag_back(&msg, n);
}

static void take(const char *ifname, int seconds)
{
	static const u8 macs[12];
	struct packet_mreq all = {
		.mr_ifindex = if_nametoindex(ifname),
		.mr_type = PACKET_MR_PROMISC,
	};
	struct pollfd pfd = { .fd = open_socket(ifname), .events = POLLIN };
	bool begun = false;
	int lasts = 0;

	if (setsockopt(pfd.fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all,
		       sizeof(all)))
		die("promiscuous mode");
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	/* The sender may take its time to begin. */
	while (poll(&pfd, 1, (begun ? seconds : 60) * 1000) > 0) {
		u32 len = take_one(pfd.fd);

		if (!len)
			continue;
		begun = true;
		normalise(got, len);
		for (size_t i = 0; i < ARRAY_SIZE(frame_cases); i++) {
			if (make(&frame_cases[i], macs) != len)
				continue;
			normalise(frame, len);
			if (memcmp(frame, got, len))
				continue;
			puts(frame_cases[i].name);
			if (!strcmp(frame_cases[i].name, LAST) && ++lasts == 2)
				seconds = 1;
		}
	}
}

static void passing(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(frame_cases); i++)
		if (frame_cases[i].stat < XROCE_XDP_DROP_TRUNC)
			puts(frame_cases[i].name);
}

/* Others talk on this wire too, but never RoCEv2. */
static bool counted(int map, struct stats *old, u32 stat)
{
	struct stats now;

	for (int i = 0; i < 300; i++, usleep(10000)) {
		stats_read(map, &now);
		if (now.v[stat] == old->v[stat])
			continue;
		if (stat == XROCE_XDP_OTHER)
			now.v[stat] = old->v[stat];
		else
			old->v[stat]++;
		now.v[XROCE_XDP_OTHER] = old->v[XROCE_XDP_OTHER];
		return !memcmp(&now, old, sizeof(now));
	}
	return false;
}

static int judge(const char *ifname, const u8 *macs, u32 map_id, bool ours)
{
	int fd = open_socket(ifname), map = bpf_map_get_fd_by_id(map_id);

	if (map < 0)
		die("map");
	tap_start();
	for (size_t i = 0; i < ARRAY_SIZE(frame_cases); i++) {
		const struct frame_case *c = &frame_cases[i];
		struct stats old;

		stats_read(map, &old);
		send_one(fd, c, macs);
		tap_ok(counted(map, &old, due(c, ours)), "%s", c->name);
	}
	return tap_end();
}

static void alike(char **arg, const u8 *macs)
{
	struct packet pk = {
		.opcode = 0x11, .hdr = 4, .qpn = atoi(arg[5]),
		.tags = !strcmp(arg[8], "tagged"), .version = strchr(arg[6], ':') ? 6 : 4,
	};
	u32 len = packet_make(&pk, frame);
	int family = pk.version == 6 ? AF_INET6 : AF_INET;
	u8 *ip = frame + pk.l3, *src = ip + (pk.version == 6 ? 8 : 12);
	int fd = open_socket(arg[2]);

	memcpy(frame, macs, 12);
	if (inet_pton(family, arg[6], src) != 1 ||
	    inet_pton(family, arg[7], src + (pk.version == 6 ? 16 : 4)) != 1)
		die("addresses");
	if (pk.version == 4)
		packet_ip4_csum(ip);
	packet_seal(ip, len - pk.bth);
	memcpy(got, frame, 12);
	memcpy(got + 12, ip - 2, len - pk.l3 + 2);
	if (!strcmp(arg[8], "short"))
		len--;
	else if (!strcmp(arg[8], "padded"))
		len += 9;
	else if (!strcmp(arg[8], "spoiled"))
		frame[len - 1] ^= 1;
	else if (!strcmp(arg[8], "astray"))
		frame[5] ^= 1;
	if (send(fd, frame, len, 0) != (ssize_t)len)
		die(arg[8]);
	len = pk.len - pk.l3 + 14;
	if (send(fd, got, len, 0) != (ssize_t)len)
		die("the same");
}

int main(int argc, char **argv)
{
	u8 macs[12];

	if (argc == 2 && !strcmp(argv[1], "pass")) {
		passing();
		return 0;
	}
	if (argc == 4 && !strcmp(argv[1], "take")) {
		take(argv[2], atoi(argv[3]));
		return 0;
	}
	if (argc < 5)
		return 2;
	parse_mac(macs + 6, argv[3]);
	parse_mac(macs, argv[4]);
	if (argc == 5 && !strcmp(argv[1], "send")) {
		send_all(argv[2], macs);
		return 0;
	}
	if (argc == 9 && !strcmp(argv[1], "alike")) {
		alike(argv, macs);
		return 0;
	}
	if (argc == 6 && !strcmp(argv[1], "judge"))
		return judge(argv[2], macs, atoi(argv[5]), true);
	if (argc == 6 && !strcmp(argv[1], "ignore"))
		return judge(argv[2], macs, atoi(argv[5]), false);
	return 2;
}
