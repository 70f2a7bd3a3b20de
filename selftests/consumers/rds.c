// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Datagrams over RDS: SOCK_SEQPACKET, delivered once and in order, and READs and
 * WRITEs to memory that the other has given a cookie for. Both ends in one
 * process, each on a socket of its own bound to ADDRESS.
 *
 *   rds ADDRESS COUNT
 */
#include <arpa/inet.h>
#include <linux/rds.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#ifndef AF_RDS
#define AF_RDS 21
#endif
#define MAX (256 << 10)
#define CONTROL CMSG_SPACE(128)

static unsigned char out[MAX], in[MAX];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void fill(unsigned char *p, size_t n, unsigned int seed)
{
	while (n--) {
		seed = seed * 1103515245 + 12345;
		*p++ = seed >> 16;
	}
}

static int rds_socket(struct sockaddr_in *sin, int port)
{
	int transport = RDS_TRANS_IB, room = 4 * MAX;
	int s = socket(AF_RDS, SOCK_SEQPACKET, 0);

	if (s < 0)
		die("socket");
	if (setsockopt(s, SOL_RDS, SO_RDS_TRANSPORT, &transport, sizeof(transport)))
		die("SO_RDS_TRANSPORT: RDS_TRANS_IB");
	if (setsockopt(s, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)) ||
	    setsockopt(s, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)))
		die("SO_SNDBUFFORCE");
	sin->sin_port = htons(port);
	if (bind(s, (struct sockaddr *)sin, sizeof(*sin)))
		die("bind");
	return s;
}

static void wait_for(int s, short what, const char *why)
{
	struct pollfd p = { .fd = s, .events = what };

	if (poll(&p, 1, 60000) != 1) {
		fprintf(stderr, "nothing for a minute: %s\n", why);
		exit(1);
	}
}

/* The next message is N bytes of OUT, and from where it should be */
static void expect(int s, const struct sockaddr_in *from, size_t n)
{
	struct sockaddr_in src;
	socklen_t len = sizeof(src);
	ssize_t got;

	wait_for(s, POLLIN, "a message");
	got = recvfrom(s, in, sizeof(in), 0, (struct sockaddr *)&src, &len);
	if (got < 0)
		die("recvfrom");
	if ((size_t)got != n || memcmp(in, out, n) ||
	    src.sin_port != from->sin_port) {
		fprintf(stderr, "%zd bytes of %zu, or other bytes\n", got, n);
		exit(1);
	}
}

static unsigned long long messages(int a, int b, const struct sockaddr_in *at_a,
				   const struct sockaddr_in *at_b, int count)
{
	static const size_t sizes[] = { 1, 64, 4095, 4096, 4097, 65536, MAX, 0 };
	unsigned long long bytes = 0;
	size_t n;
	int i;

	for (i = 0; i < count; i++) {
		n = sizes[i % (sizeof(sizes) / sizeof(sizes[0]))];
		fill(out, n, i);
		if (sendto(a, out, n, 0, (struct sockaddr *)at_b,
			   sizeof(*at_b)) != (ssize_t)n)
			die("sendto");
		expect(b, at_a, n);
		bytes += n;
		if (i % 4)
			continue;
		if (sendto(b, out, n, 0, (struct sockaddr *)at_a,
			   sizeof(*at_a)) != (ssize_t)n)
			die("sendto");
		expect(a, at_b, n);
		bytes += n;
	}
	return bytes;
}

static void put_cmsg(struct msghdr *msg, int type, const void *data, size_t n)
{
	struct cmsghdr *c;

	msg->msg_controllen = CMSG_SPACE(n);
	c = CMSG_FIRSTHDR(msg);
	c->cmsg_level = SOL_RDS;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(n);
	memcpy(CMSG_DATA(c), data, n);
}

static void get_cmsg(int s, struct msghdr *msg, int type, void *data, size_t n)
{
	struct cmsghdr *c;

	wait_for(s, POLLIN, type == RDS_CMSG_RDMA_DEST ? "a cookie" :
		 "the end of a READ or WRITE");
	msg->msg_name = NULL;
	msg->msg_namelen = 0;
	msg->msg_controllen = CONTROL;
	if (recvmsg(s, msg, MSG_DONTWAIT) < 0)
		die("recvmsg");
	c = CMSG_FIRSTHDR(msg);
	if (!c || c->cmsg_type != type || c->cmsg_len != CMSG_LEN(n)) {
		fprintf(stderr, "no control message %d\n", type);
		exit(1);
	}
	memcpy(data, CMSG_DATA(c), n);
}

/* A sends B a cookie for its memory; B writes there, or reads from there */
static unsigned long long remote(int a, int b, struct sockaddr_in *at_a,
				 struct sockaddr_in *at_b, int write, size_t n)
{
	static unsigned char there[MAX] __attribute__((aligned(4096)));
	static unsigned char here[MAX] __attribute__((aligned(4096)));
	char control[CONTROL], byte = 'c';
	rds_rdma_cookie_t mine, cookie;
	struct rds_get_mr_args map = {
		.vec = { .addr = (uintptr_t)there, .bytes = n },
		.cookie_addr = (uintptr_t)&mine,
		.flags = RDS_RDMA_READWRITE,
	};
	struct rds_iovec local = { .addr = (uintptr_t)here, .bytes = n };
	struct rds_rdma_args args = {
		.remote_vec = { .addr = 0, .bytes = n },
		.local_vec_addr = (uintptr_t)&local,
		.nr_local = 1,
		.flags = RDS_RDMA_NOTIFY_ME | RDS_RDMA_FENCE |
			 (write ? RDS_RDMA_READWRITE : 0),
		.user_token = 4711,
	};
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = {
		.msg_name = at_b, .msg_namelen = sizeof(*at_b),
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
	};
	struct rds_free_mr_args forget = { .flags = RDS_RDMA_INVALIDATE };
	const char *what = write ? "WRITE" : "READ";
	struct rds_rdma_notify note;

	fill(write ? here : there, n, n);
	memset(write ? there : here, 0, n);
	put_cmsg(&msg, RDS_CMSG_RDMA_MAP, &map, sizeof(map));
	if (sendmsg(a, &msg, 0) != 1)
		die("sendmsg RDS_CMSG_RDMA_MAP");
	get_cmsg(b, &msg, RDS_CMSG_RDMA_DEST, &cookie, sizeof(cookie));

	args.cookie = cookie;
	msg.msg_name = at_a;
	msg.msg_namelen = sizeof(*at_a);
	put_cmsg(&msg, RDS_CMSG_RDMA_ARGS, &args, sizeof(args));
	/* The end of a READ or WRITE is that of the message that goes with it */
	if (sendmsg(b, &msg, 0) != 1)
		die("sendmsg RDS_CMSG_RDMA_ARGS");
	wait_for(a, POLLIN, "the message with it");
	if (recv(a, in, sizeof(in), 0) != 1 || in[0] != byte) {
		fprintf(stderr, "another message came\n");
		exit(1);
	}
	get_cmsg(b, &msg, RDS_CMSG_RDMA_STATUS, &note, sizeof(note));
	if (note.status || note.user_token != 4711) {
		fprintf(stderr, "RDMA %s: status %d\n", what, note.status);
		exit(1);
	}
	if (memcmp(here, there, n)) {
		fprintf(stderr, "RDMA %s: other bytes\n", what);
		exit(1);
	}
	forget.cookie = mine;
	if (setsockopt(a, SOL_RDS, RDS_FREE_MR, &forget, sizeof(forget)))
		die("RDS_FREE_MR");
	return n;
}

int main(int argc, char **argv)
{
	struct sockaddr_in at_a = { .sin_family = AF_INET }, at_b;
	unsigned long long bytes;
	struct timespec from, to;
	double took;
	size_t n;
	int a, b;

	if (argc != 3 || inet_pton(AF_INET, argv[1], &at_a.sin_addr) != 1) {
		fprintf(stderr, "usage: %s ADDRESS COUNT\n", argv[0]);
		return 2;
	}
	at_b = at_a;
	a = rds_socket(&at_a, 4000);
	b = rds_socket(&at_b, 4001);
	clock_gettime(CLOCK_MONOTONIC, &from);
	bytes = messages(a, b, &at_a, &at_b, atoi(argv[2]));
	for (n = 8; n <= MAX; n *= 8)
		bytes += remote(a, b, &at_a, &at_b, 1, n) +
			 remote(a, b, &at_a, &at_b, 0, n);
	clock_gettime(CLOCK_MONOTONIC, &to);
	took = to.tv_sec - from.tv_sec + (to.tv_nsec - from.tv_nsec) / 1e9;
	printf("%.1f MB/s\n", bytes / took / 1e6);
	return 0;
}
