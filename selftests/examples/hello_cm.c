// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Hello, RDMA, with rdma_cm: it finds the device and the path by IP address, makes
 * the queue pair and connects it, and carries a few bytes on the way, here where
 * the memory is and the key to it. To be copied; hello_verbs does it all by hand.
 *
 *   hello_cm [-p PORT] [-b ADDRESS]	waits for a peer, prints what it has written
 *   hello_cm [-p PORT] HOST		writes a record there
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

/* What the listener says when it accepts. */
struct where {
	__be64 addr;
	__be32 rkey;
};

static char buf[256];

static void check(int bad, const char *what)
{
	if (!bad)
		return;
	perror(what);
	exit(1);
}

static struct rdma_cm_id *endpoint(const char *host, const char *port,
				   int flags)
{
	struct rdma_addrinfo *ai, hints = {
		.ai_port_space = RDMA_PS_TCP,
		.ai_flags = flags,
	};
	struct ibv_qp_init_attr init = {
		.cap = {
			.max_send_wr = 2, .max_send_sge = 1,
			.max_recv_wr = 1, .max_recv_sge = 1,
		},
		.sq_sig_all = 1,
	};
	struct rdma_cm_id *id;

	check(rdma_getaddrinfo(host, port, &hints, &ai), "rdma_getaddrinfo");
	check(rdma_create_ep(&id, ai, NULL, &init), "rdma_create_ep");
	rdma_freeaddrinfo(ai);
	return id;
}

static void completed(int n, const struct ibv_wc *wc, const char *what)
{
	check(n < 0, what);
	if (wc->status == IBV_WC_SUCCESS)
		return;
	fprintf(stderr, "%s: %s\n", what, ibv_wc_status_str(wc->status));
	exit(1);
}

static void listener(struct rdma_cm_id *listening)
{
	struct rdma_conn_param param = {};
	struct rdma_cm_id *id;
	struct where where;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	check(rdma_listen(listening, 1), "rdma_listen");
	check(rdma_get_request(listening, &id), "rdma_get_request");
	mr = rdma_reg_write(id, buf, sizeof(buf));
	check(!mr, "rdma_reg_write");
	/* An empty message tells that all before it has been written. */
	check(rdma_post_recv(id, NULL, buf, 0, mr), "rdma_post_recv");
	where.addr = htobe64((uintptr_t)buf);
	where.rkey = htobe32(mr->rkey);
	param.private_data = &where;
	param.private_data_len = sizeof(where);
	check(rdma_accept(id, &param), "rdma_accept");
	completed(rdma_get_recv_comp(id, &wc), &wc, "receive");
	printf("record: %s\n", buf);
	rdma_disconnect(id);
	rdma_dereg_mr(mr);
	rdma_destroy_ep(id);
}

static void writer(struct rdma_cm_id *id)
{
	char name[64] = "";
	struct where where;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	mr = rdma_reg_msgs(id, buf, sizeof(buf));
	check(!mr, "rdma_reg_msgs");
	check(rdma_connect(id, NULL), "rdma_connect");
	if (id->event->param.conn.private_data_len < sizeof(where)) {
		fprintf(stderr, "the listener does not say where to write\n");
		exit(1);
	}
	memcpy(&where, id->event->param.conn.private_data, sizeof(where));
	gethostname(name, sizeof(name) - 1);
	snprintf(buf, sizeof(buf), "hello from process %d on %s", getpid(),
		 name);
	check(rdma_post_write(id, NULL, buf, strlen(buf) + 1, mr, 0,
			      be64toh(where.addr), be32toh(where.rkey)),
	      "rdma_post_write");
	check(rdma_post_send(id, NULL, buf, 0, mr, 0), "rdma_post_send");
	completed(rdma_get_send_comp(id, &wc), &wc, "RDMA WRITE");
	completed(rdma_get_send_comp(id, &wc), &wc, "SEND");
	printf("sent: %s\n", buf);
	rdma_disconnect(id);
	rdma_dereg_mr(mr);
}

int main(int argc, char **argv)
{
	const char *port = "7471", *here = NULL, *host;
	struct rdma_cm_id *id;
	int opt;

	while ((opt = getopt(argc, argv, "p:b:")) != -1) {
		switch (opt) {
		case 'p':
			port = optarg;
			break;
		case 'b':
			here = optarg;
			break;
		default:
			fprintf(stderr, "usage: %s [-p PORT] [-b ADDRESS | HOST]\n",
				argv[0]);
			return 2;
		}
	}
	host = argv[optind];
	id = endpoint(host ?: here, port, host ? 0 : RAI_PASSIVE);
	if (host)
		writer(id);
	else
		listener(id);
	rdma_destroy_ep(id);
	return 0;
}
