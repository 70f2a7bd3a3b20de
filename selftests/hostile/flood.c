// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sends RoCEv2 packets that nobody asked for, right in addresses, lengths and
 * ICRC, at a given rate: for net.sh. One thread, an AF_PACKET socket. Each line on
 * stdin names a netdev to send by for some time, and is answered by how many were
 * sent; before the first it says "ready".
 *
 *   flood VLAN DMAC SMAC DST SRC KIND MILLISECONDS RATE [QPN:PSN|PREY]...
 *
 * VLAN: 0, or that with whose tag the frames are made. DST, SRC: of IPv4 or IPv6.
 * KIND: fuzz  any opcode, headers and payload
 *	 ack nak rnr  answers to nothing
 *	 cnp   congestion notifications
 *	 req   MADs, most of them requests for a connection
 *	 mad   MADs that ask for something, not of the CM
 *	 new   what the QPs named expect, by PSN, keys and place in a message, most
 *	       of the time: PREY as prey.c says it
 *
 * But for the last, to the QPs named, with PSNs that are long past, and to such as
 * are not there. XROCE_SEED: other packets. XROCE_LEAST: so many at least, however long
 * that takes.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/ether.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <xroce/opcode.h>

#include <packet.h>

#define POOL		512	/* made before the first is sent */
#define FRAME_MAX	2048
#define BURST		32
#define MAD_LEN		256
#define DETH_LEN	8
#define GSI_QKEY	0x80010000u
#define RUN		16	/* packets one after the other to a QP */
#define MTU		1024
#define PREY_PSN	0xfffff0
#define PREY_LEN	(65536 - 200)

enum kind { FUZZ, ACK, NAK, RNR, CNP, REQ, MAD, NEW, KINDS };

static const char * const names[] = { "fuzz", "ack", "nak", "rnr", "cnp", "req",
				       "mad", "new" };
static u64 seed = 4711;
static u8 macs[12];
static u8 from[16], to[16];
static u32 version, vid;
static struct {
	u32 qpn;
	u32 psn;
} qp[64];
static u32 qps;
static struct prey {
	u32 transport;
	u32 qpn;
	u32 key;
	u32 rkey;
	unsigned long long addr;
} prey[16];
static u32 preys;

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

/* Mostly what goes on with the message, or begins one. */
static u8 next_op(u8 op)
{
	static const u8 sends[] = { XROCE_SEND_MIDDLE, XROCE_SEND_LAST,
				    XROCE_SEND_LAST_IMM, XROCE_SEND_LAST_INV };
	static const u8 writes[] = { XROCE_WRITE_MIDDLE, XROCE_WRITE_LAST,
				     XROCE_WRITE_MIDDLE, XROCE_WRITE_LAST_IMM };
	static const u8 begins[] = {
		XROCE_SEND_FIRST, XROCE_SEND_ONLY, XROCE_SEND_ONLY_IMM,
		XROCE_WRITE_FIRST, XROCE_WRITE_ONLY, XROCE_WRITE_ONLY_IMM,
		XROCE_READ_REQ, XROCE_CMP_SWAP, XROCE_FETCH_ADD,
		XROCE_SEND_ONLY_INV, XROCE_FLUSH, XROCE_ATOMIC_WRITE,
	};
	u32 info = xroce_op_info(op & XROCE_OP_MASK);

	if (rnd() % 16 == 0)
		return rnd() & XROCE_OP_MASK;
	if (info & XROCE_OP_SEND && !(info & XROCE_OP_LAST))
		return sends[rnd() % (rnd() % 4 ? 3 : 4)];
	if (info & XROCE_OP_WRITE && !(info & XROCE_OP_LAST))
		return writes[rnd() % 4];
	return begins[rnd() % (rnd() % 2 ? 6 : 12)];
}

static u32 new_payload(u32 info)
{
	if (!(info & XROCE_OP_PAYLOAD))
		return 0;
	if (info & XROCE_OP_ATOMIC_WRITE)
		return 8;
	if (info & XROCE_OP_LAST || rnd() % 16 == 0)
		return rnd() % (MTU + 1);
	return MTU;
}

/* The next packet of a run, of another QP's after the last. */
static const struct prey *new_packet(struct packet *pk)
{
	static const struct prey *p;
	static u32 left, psn;
	static u8 op;
	u32 info;

	if (!left--) {
		p = &prey[rnd() % preys];
		left = RUN - 1;
		psn = PREY_PSN;
		op = XROCE_SEND_ONLY;
	}
	op = next_op(op);
	/* UD knows these two */
	if (p->transport == XROCE_UD && rnd() % 16)
		op = XROCE_SEND_ONLY + (op & 1);
	info = xroce_op_info(p->transport | op);
	pk->opcode = p->transport | op;
	pk->qpn = p->qpn;
	pk->psn = psn;
	pk->hdr = (info & XROCE_OP_XRCETH ? 4 : 0) + (info & XROCE_OP_DETH ? 8 : 0) +
		  (info & XROCE_OP_RETH ? 16 : 0) + (info & XROCE_OP_ATOMIC ? 28 : 0) +
		  (info & XROCE_OP_FLUSH ? 4 : 0) + (info & XROCE_OP_AETH ? 4 : 0) +
		  (info & (XROCE_OP_IMM | XROCE_OP_INV) ? 4 : 0);
	pk->payload = new_payload(info);
	psn = xroce_psn_add(psn, rnd() % 16 ? 1 : rnd() % 3);
	return p;
}

/* Its headers: within what is registered, most of the time. */
static void put_new(const struct prey *p, const struct packet *pk, u8 *ext)
{
	u32 info = xroce_op_info(pk->opcode), len = pk->payload;
	u64 addr = p->addr + rnd() % (PREY_LEN - 4 * MTU) / 8 * 8;
	u32 rkey = rnd() % 16 ? p->rkey : rnd();

	if (info & XROCE_OP_XRCETH) {
		packet_put32(ext, rnd() % 16 ? p->key : rnd());
		ext += 4;
	}
	if (info & XROCE_OP_DETH)
		packet_put32(ext, rnd() % 16 ? p->key : rnd());
	if (info & XROCE_OP_FLUSH)
		ext += 4;
	if (info & XROCE_OP_INV)
		packet_put32(ext, rkey);
	if (!(info & (XROCE_OP_RETH | XROCE_OP_ATOMIC)))
		return;
	if (info & XROCE_OP_WRITE && !(info & XROCE_OP_LAST))
		len = MTU + rnd() % (2 * MTU);
	if (!(info & XROCE_OP_PAYLOAD))
		len = rnd() % MTU;
	/* past one end of it or the other, by little */
	if (rnd() % 16 == 0)
		addr = p->addr - 1 - rnd() % 16 + (rnd() % 2 ? PREY_LEN - len + 17 : 0);
	packet_put32(ext, addr >> 32);
	packet_put32(ext + 4, addr);
	packet_put32(ext + 8, rkey);
	if (info & XROCE_OP_RETH)
		packet_put32(ext + 12, rnd() % 16 ? len : rnd());
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
	case MAD:
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

/* Class 4, performance, is answered by the device, the others by ib_mad. */
static void put_get(u8 *mad)
{
	static const u8 classes[] = { 0x04, 0x04, 0x06, 0x08, 0x0a, 0x30 };

	memcpy(mad, (u8 []){ 1, classes[rnd() % sizeof(classes)], 1, 0x01, 0, 0, 0, 0 }, 8);
	packet_put16(mad + 16, 0x0010 + rnd() % 16);
}

/* A request for a connection, to a service of rdma_cm's, or what looks like it. */
static void put_req(u8 *mad)
{
	memcpy(mad, (u8 []){ 1, 0x07, 2, 0x03, 0, 0, 0, 0 }, 8);
	packet_put16(mad + 16, 0x0010);
	if (rnd() % 8 == 0)
		packet_put16(mad + 16, 0x0010 + rnd() % 16);
	/* REQ: the service, then QPN and Q_Key and what follows */
	memcpy(mad + 24 + 8, (u8 []){ 0, 0, 0, 0, 1, 6 }, 6);
	packet_put16(mad + 24 + 14, rnd() % 2 ? 7174 : rnd());
}

static void put_mad(enum kind kind, u8 *deth)
{
	packet_put32(deth, GSI_QKEY);
	packet_put32(deth + 4, 1);
	fill(deth + DETH_LEN, MAD_LEN);
	if (kind == REQ)
		put_req(deth + DETH_LEN);
	else
		put_get(deth + DETH_LEN);
}

static u32 make(enum kind kind, u8 *frame)
{
	const struct prey *p = NULL;
	struct packet pk = {};
	u32 len;
	u8 *ip, *ext;
	u32 n;

	if (kind == NEW)
		p = new_packet(&pk);
	else
		pk = packet_of(kind);
	pk.version = version;
	pk.tags = vid > 0;
	len = packet_make(&pk, frame);
	n = len - pk.bth;
	ip = frame + pk.l3;
	ext = frame + pk.bth + 12;
	memcpy(frame, macs, 12);
	if (vid)
		packet_put16(frame + 14, vid);
	if (version == 6) {
		memcpy(ip + 8, from, 16);
		memcpy(ip + 24, to, 16);
	} else {
		memcpy(ip + 12, from, 4);
		memcpy(ip + 16, to, 4);
		packet_ip4_csum(ip);
	}
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
	case MAD:
		put_mad(kind, ext);
		break;
	case NEW:
		put_new(p, &pk, ext);
		frame[pk.bth + 8] |= rnd() % 2 << 7;	/* ACK wanted */
		break;
	default:
		/* Any other field of the BTH too, but the port and the QPN */
		if (rnd() % 8 == 0)
			frame[pk.bth + rnd() % 4] ^= 1 << rnd() % 8;
	}
	packet_seal(ip, n);
	return len;
}

static u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static u8 frames[POOL][FRAME_MAX];
static u32 lens[POOL];

/* So long, and longer where @least have not gone by then. Return: how many did by @ifindex. */
static u32 flood(int fd, int ifindex, u32 ms, u32 rate, u32 least)
{
	struct sockaddr_ll to = {
		.sll_family = AF_PACKET,
		.sll_ifindex = ifindex,
	};
	u64 start = now_ns(), due;
	u32 i, tried = 0, n = 0;

	for (; now_ns() - start < ms * 1000000ull || n < least; usleep(500)) {
		due = (now_ns() - start) * rate / 1000000000ull;
		for (i = 0; tried < due && i < BURST; i++, tried++) {
			if (sendto(fd, frames[tried % POOL], lens[tried % POOL], 0,
				   (struct sockaddr *)&to, sizeof(to)) >= 0)
				n++;
			else if (errno != ENOBUFS)
				err(1, "send");
		}
	}
	return n;
}

static void floods(enum kind kind, u32 ms, u32 rate, u32 least)
{
	int fd = socket(AF_PACKET, SOCK_RAW, 0), ifindex;
	char ifname[64];
	u32 i;

	if (fd < 0)
		err(1, "socket");
	for (i = 0; i < POOL; i++)
		lens[i] = make(kind, frames[i]);
	puts("ready");
	while (scanf("%63s", ifname) == 1) {
		ifindex = if_nametoindex(ifname);
		if (!ifindex)
			err(1, "%s", ifname);
		printf("%u packets by %s\n", flood(fd, ifindex, ms, rate, least),
		       ifname);
	}
}

static void parse_mac(u8 *mac, const char *s)
{
	const struct ether_addr *addr = ether_aton(s);

	if (!addr)
		errx(2, "no MAC address: %s", s);
	memcpy(mac, addr, ETH_ALEN);
}

int main(int argc, char **argv)
{
	int kind, i;

	if (argc < 9)
		errx(2, "usage: flood VLAN DMAC SMAC DST SRC KIND MS RATE [QPN:PSN|PREY]...");
	setvbuf(stdout, NULL, _IOLBF, 0);
	vid = atoi(argv[1]);
	parse_mac(macs, argv[2]);
	parse_mac(macs + 6, argv[3]);
	version = strchr(argv[4], ':') ? 6 : 4;
	i = version == 6 ? AF_INET6 : AF_INET;
	if (inet_pton(i, argv[4], to) != 1 || inet_pton(i, argv[5], from) != 1)
		errx(2, "no addresses: %s, %s", argv[4], argv[5]);
	for (kind = 0; kind < KINDS && strcmp(argv[6], names[kind]); kind++)
		;
	if (kind == KINDS)
		errx(2, "no kind: %s", argv[6]);
	for (i = 9; i < argc && qps < 64 && preys < 16; i++) {
		struct prey *p = &prey[preys];

		if (sscanf(argv[i], "%u:%u:%u:%u:%llu", &p->transport, &p->qpn,
			   &p->key, &p->rkey, &p->addr) == 5)
			preys++;
		else if (sscanf(argv[i], "%u:%u", &qp[qps].qpn, &qp[qps].psn) == 2)
			qps++;
	}
	if (kind == NEW && !preys)
		errx(2, "no prey");
	if (getenv("XROCE_SEED"))
		seed = strtoull(getenv("XROCE_SEED"), NULL, 0) ?: seed;
	floods(kind, atoi(argv[7]), atoi(argv[8]),
	       getenv("XROCE_LEAST") ? atoi(getenv("XROCE_LEAST")) : 0);
	return 0;
}
