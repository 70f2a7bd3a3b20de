// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sends RoCEv2 packets that nobody asked for, right in addresses, lengths and
 * ICRC, at a given rate: for net.sh. One thread, an AF_PACKET socket.
 *
 *   flood IF DMAC SMAC DST SRC KIND SECONDS RATE [QPN:PSN]...
 *
 * KIND: fuzz  any opcode, headers and payload
 *	 ack nak rnr  answers to nothing
 *	 cnp   congestion notifications
 *	 req   MADs, most of them requests for a connection
 *	 other as fuzz, to another UDP port: to compare with
 *
 * To the QPs named, with PSNs that are long past, and to such as are not there.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <xroce/wire.h>

#include <packet.h>

#define POOL		512	/* made before the first is sent */
#define FRAME_MAX	2048
#define BURST		32
#define MAD_LEN		256
#define DETH_LEN	8
#define GSI_QKEY	0x80010000u

enum kind { FUZZ, ACK, NAK, RNR, CNP, REQ, OTHER, KINDS };

static const char * const names[] = { "fuzz", "ack", "nak", "rnr", "cnp", "req",
				       "other" };
static u64 seed = 4711;
static u8 macs[12];
static struct in_addr from, to;
static struct {
	u32 qpn;
	u32 psn;
} qp[64];
static u32 qps;

static u32 rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 0x2545f4914f6cdd1dull >> 32;
}

static void fill(u8 *p, u32 len)
{
	while (len--)
		*p++ = rnd();
}

/* A QP that is there or one that is not; a PSN that is not in flight. */
static void aim(struct packet *pk)
{
	u32 i;

	pk->qpn = (rnd() & 0xffffff) | 2;
	pk->psn = rnd() & 0xffffff;
	if (!qps || rnd() % 4 == 0)
		return;
	i = rnd() % qps;
	pk->qpn = qp[i].qpn;
	pk->psn = (qp[i].psn - (1 << 20) - rnd() % (1 << 22)) & 0xffffff;
}

static struct packet packet_of(enum kind kind)
{
	static const u8 answers[] = { XROCE_ACK, XROCE_ACK, XROCE_ATOMIC_ACK };
	struct packet pk = {};

	aim(&pk);
	switch (kind) {
	case ACK:
		pk.opcode = answers[rnd() % 3];
		pk.hdr = pk.opcode == XROCE_ACK ? 4 : 12;
		break;
	case NAK:
	case RNR:
		pk.opcode = XROCE_ACK;
		pk.hdr = 4;
		break;
	case CNP:
		pk.opcode = XROCE_CNP;
		pk.hdr = 16;
		break;
	case REQ:
		pk.opcode = XROCE_UD | XROCE_SEND_ONLY;
		pk.hdr = DETH_LEN;
		pk.payload = MAD_LEN;
		pk.qpn = 1;
		break;
	default:
		pk.opcode = rnd() % 4 ? rnd() % 0x18 : rnd();
		pk.hdr = rnd() % 33;
		pk.payload = rnd() % 2 ? rnd() % 64 : rnd() % 1100;
		if (rnd() % 8 == 0)
			pk.qpn = 1;
	}
	return pk;
}

/* A request for a connection, to a service of rdma_cm's, or what looks like it. */
static void put_mad(u8 *deth)
{
	u8 *mad = deth + DETH_LEN;

	packet_put32(deth, GSI_QKEY);
	packet_put32(deth + 4, 1);
	fill(mad, MAD_LEN);
	memcpy(mad, (u8 []){ 1, 0x07, 2, 0x03, 0, 0, 0, 0 }, 8);
	packet_put16(mad + 16, 0x0010);
	if (rnd() % 8 == 0)
		packet_put16(mad + 16, 0x0010 + rnd() % 16);
	/* REQ: the service, then QPN and Q_Key and what follows */
	memcpy(mad + 24 + 8, (u8 []){ 0, 0, 0, 0, 1, 6 }, 6);
	packet_put16(mad + 24 + 14, rnd() % 2 ? 7174 : rnd());
}

static u32 make(enum kind kind, u8 *frame)
{
	struct packet pk = packet_of(kind);
	u32 len = packet_make(&pk, frame);
	u8 *ip = frame + pk.l3, *ext = frame + pk.bth + 12;
	u32 n = len - pk.bth;

	memcpy(frame, macs, 12);
	memcpy(ip + 12, &from, 4);
	memcpy(ip + 16, &to, 4);
	packet_ip4_csum(ip);
	fill(ext, pk.hdr + pk.payload);
	switch (kind) {
	case ACK:
		ext[0] = XROCE_AETH_ACK | XROCE_AETH_NO_CREDIT;
		break;
	case NAK:
		ext[0] = XROCE_AETH_NAK | rnd() % 5;
		break;
	case RNR:
		ext[0] = XROCE_AETH_RNR | rnd() % 32;
		break;
	case CNP:
		memset(ext, 0, 16);
		frame[pk.bth + 4] |= 0x40;	/* BECN */
		break;
	case REQ:
		put_mad(ext);
		break;
	default:
		/* Any other field of the BTH too, but the port and the QPN */
		if (rnd() % 8 == 0)
			frame[pk.bth + rnd() % 4] ^= 1 << rnd() % 8;
	}
	if (kind == OTHER)
		packet_put16(frame + pk.l4 + 2, 4790);
	packet_seal(ip, n);
	return len;
}

static u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void flood(int fd, enum kind kind, u32 seconds, u32 rate)
{
	static u8 frame[POOL][FRAME_MAX];
	static u32 len[POOL];
	u64 start, end, due = 0;
	u32 i, n = 0;

	for (i = 0; i < POOL; i++)
		len[i] = make(kind, frame[i]);
	start = now_ns();
	end = start + seconds * 1000000000ull;
	for (; now_ns() < end; usleep(500)) {
		due = (now_ns() - start) * rate / 1000000000ull;
		for (i = 0; n < due && i < BURST; i++, n++)
			if (send(fd, frame[n % POOL], len[n % POOL], 0) < 0 &&
			    errno != ENOBUFS)
				err(1, "send");
	}
	printf("%u packets in %u s\n", n, seconds);
}

static int open_socket(const char *ifname)
{
	struct sockaddr_ll sll = {
		.sll_family = AF_PACKET,
		.sll_ifindex = if_nametoindex(ifname),
	};
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	if (fd < 0 || !sll.sll_ifindex ||
	    bind(fd, (struct sockaddr *)&sll, sizeof(sll)))
		err(1, "%s", ifname);
	return fd;
}

static void parse_mac(u8 *mac, const char *s)
{
	unsigned int b[6], i;

	if (sscanf(s, "%x:%x:%x:%x:%x:%x", &b[0], &b[1], &b[2], &b[3], &b[4],
		   &b[5]) != 6)
		errx(2, "no MAC address: %s", s);
	for (i = 0; i < 6; i++)
		mac[i] = b[i];
}

int main(int argc, char **argv)
{
	int kind, i;

	if (argc < 9)
		errx(2, "usage: flood IF DMAC SMAC DST SRC KIND SECONDS RATE [QPN:PSN]...");
	parse_mac(macs, argv[2]);
	parse_mac(macs + 6, argv[3]);
	if (!inet_aton(argv[4], &to) || !inet_aton(argv[5], &from))
		errx(2, "no addresses: %s, %s", argv[4], argv[5]);
	for (kind = 0; kind < KINDS && strcmp(argv[6], names[kind]); kind++)
		;
	if (kind == KINDS)
		errx(2, "no kind: %s", argv[6]);
	for (i = 9; i < argc && qps < 64; i++)
		if (sscanf(argv[i], "%u:%u", &qp[qps].qpn, &qp[qps].psn) == 2)
			qps++;
	flood(open_socket(argv[1]), kind, atoi(argv[7]), atoi(argv[8]));
	return 0;
}
