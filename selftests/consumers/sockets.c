// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A server and a client of stream sockets that know nothing of RDMA. The server
 * says how much has come and what it adds up to, and sends as much back; each
 * compares. Under librspreload these are rsockets; with -s they are SMC's.
 *
 *   sockets [-s] ADDRESS		the server, on port 7777, for one client
 *   sockets [-s] ADDRESS BYTES		the client
 */
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct sum {
	uint64_t bytes;
	uint64_t hash;		/* FNV-1a */
};

static unsigned char buf[100000];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void add(struct sum *sum, const unsigned char *p, size_t n)
{
	sum->bytes += n;
	while (n--)
		sum->hash = (sum->hash ^ *p++) * 0x100000001b3;
}

static void send_all(int s, const void *data, size_t n)
{
	const char *p = data;
	ssize_t done;

	for (; n; p += done, n -= done) {
		done = send(s, p, n, 0);
		if (done <= 0)
			die("send");
	}
}

static void recv_all(int s, void *data, size_t n)
{
	char *p = data;
	ssize_t done;

	for (; n; p += done, n -= done) {
		done = recv(s, p, n, 0);
		if (done < 0)
			die("recv");
		if (!done) {
			fprintf(stderr, "the other end has closed\n");
			exit(1);
		}
	}
}

/* Pieces of many sizes, other bytes in each, and what they add up to */
static void put(int s, uint64_t left)
{
	struct sum sum = {};
	size_t i, n, turn = 1;

	for (; left; left -= n) {
		n = (turn++ * 7919) % sizeof(buf) + 1;
		if (n > left)
			n = left;
		for (i = 0; i < n; i++)
			buf[i] = (i + turn) * 2654435761u >> 13;
		send_all(s, buf, n);
		add(&sum, buf, n);
	}
	send_all(s, &sum, sizeof(sum));
}

static void get(int s, uint64_t left)
{
	struct sum mine = {}, yours;
	ssize_t n;

	for (; left; left -= n) {
		n = recv(s, buf, left < sizeof(buf) ? left : sizeof(buf), 0);
		if (n <= 0)
			die("recv");
		add(&mine, buf, n);
	}
	recv_all(s, &yours, sizeof(yours));
	if (memcmp(&mine, &yours, sizeof(mine))) {
		fprintf(stderr, "other bytes have arrived\n");
		exit(1);
	}
}

static void server(int s, const struct addrinfo *ai)
{
	uint64_t bytes;
	int c;

	if (bind(s, ai->ai_addr, ai->ai_addrlen) || listen(s, 1))
		die("listen");
	c = accept(s, NULL, NULL);
	if (c < 0)
		die("accept");
	recv_all(c, &bytes, sizeof(bytes));
	get(c, bytes);
	put(c, bytes);
	/* until the client has it all */
	if (recv(c, buf, sizeof(buf), 0))
		die("recv: no end");
	close(c);
}

static void client(int s, const struct addrinfo *ai, uint64_t bytes)
{
	struct timespec from, to;
	double took;

	if (connect(s, ai->ai_addr, ai->ai_addrlen))
		die("connect");
	clock_gettime(CLOCK_MONOTONIC, &from);
	send_all(s, &bytes, sizeof(bytes));
	put(s, bytes);
	get(s, bytes);
	clock_gettime(CLOCK_MONOTONIC, &to);
	shutdown(s, SHUT_WR);
	took = to.tv_sec - from.tv_sec + (to.tv_nsec - from.tv_nsec) / 1e9;
	printf("%.1f MB/s\n", 2 * bytes / took / 1e6);
}

int main(int argc, char **argv)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *ai;
	int smc = argc > 1 && !strcmp(argv[1], "-s");
	int s;

	argc -= smc;
	argv += smc;
	if (argc < 2 || getaddrinfo(argv[1], "7777", &hints, &ai)) {
		fprintf(stderr, "usage: sockets [-s] ADDRESS [BYTES]\n");
		return 2;
	}
	s = smc ? socket(AF_SMC, SOCK_STREAM, ai->ai_family == AF_INET6) :
		  socket(ai->ai_family, SOCK_STREAM, 0);
	if (s < 0)
		die("socket");
	if (argc > 2)
		client(s, ai, strtoull(argv[2], NULL, 0));
	else
		server(s, ai);
	close(s);
	freeaddrinfo(ai);
	return 0;
}
