// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets with a key that is not their QP's, right in all else, and what the port
 * that they came to has counted of them. One thread, an AF_PACKET socket.
 *
 *   violate send IF DMAC SRC DST PKEY QKEY COUNT [QPN]
 *   violate count DEVICE
 *
 * To QP 1, as datagrams; to another QPN as what a connected QP expects.
 */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/ether.h>
#include <packet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "need.h"

#define SEND_ONLY	0x04
#define UD_SEND_ONLY	0x64
#define MAD		256
#define FRAME		512

static void parse_mac(u8 *mac, const char *s)
{
	const struct ether_addr *addr = ether_aton(s);

	if (!addr)
		die(s);
	memcpy(mac, addr, ETH_ALEN);
}

static int bound_to(const char *ifname)
{
	struct sockaddr_ll at = {
		.sll_family = AF_PACKET,
		.sll_ifindex = if_nametoindex(ifname),
	};
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	NEED(fd >= 0 && at.sll_ifindex);
	ZERO(bind(fd, (struct sockaddr *)&at, sizeof(at)));
	return fd;
}

static int send_all(char **argv, uint32_t qpn)
{
	struct packet pk = {
		.version = strchr(argv[2], ':') ? 6 : 4,
		.opcode = qpn == 1 ? UD_SEND_ONLY : SEND_ONLY,
		.hdr = qpn == 1 ? 8 : 0,
		.payload = MAD,
		.qpn = qpn,
	};
	int fd = bound_to(argv[0]), n = atoi(argv[6]), af, len;
	uint8_t frame[FRAME], *ip, *bth;

	len = packet_make(&pk, frame);
	ip = frame + pk.l3;
	bth = frame + pk.bth;
	parse_mac(frame, argv[1]);
	errno = EINVAL;
	af = pk.version == 4 ? AF_INET : AF_INET6;
	NEED(inet_pton(af, argv[2], ip + (af == AF_INET ? 12 : 8)) == 1);
	NEED(inet_pton(af, argv[3], ip + (af == AF_INET ? 16 : 24)) == 1);
	if (af == AF_INET)
		packet_ip4_csum(ip);
	packet_put16(bth + 2, strtoul(argv[4], NULL, 0));
	if (qpn == 1) {
		packet_put32(bth + 12, strtoul(argv[5], NULL, 0));
		packet_put32(bth + 16, 1);
	}
	packet_seal(ip, len - pk.bth);
	while (n--) {
		NEED(send(fd, frame, len, 0) == len);
		usleep(200);
	}
	return 0;
}

static int count(const char *name)
{
	struct ibv_device **list = NEED(ibv_get_device_list(NULL));
	struct ibv_context *ctx = NULL;
	struct ibv_port_attr port;
	int i;

	for (i = 0; list[i] && !ctx; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = NEED(ibv_open_device(list[i]));
	ZERO(ibv_query_port(NEED(ctx), 1, &port));
	printf("%u %u\n", port.bad_pkey_cntr, port.qkey_viol_cntr);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "count"))
		return count(argv[2]);
	if (argc >= 9 && !strcmp(argv[1], "send"))
		return send_all(argv + 2, argc > 9 ? atoi(argv[9]) : 1);
	fprintf(stderr, "usage: violate send IF DMAC SRC DST PKEY QKEY COUNT [QPN]\n"
		"       violate count DEVICE\n");
	return 2;
}
