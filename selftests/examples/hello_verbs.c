// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Hello, RDMA: one process writes into the memory of another, on another host,
 * without its doing. What each has to know of the other goes over a TCP socket:
 * the number of its queue pair, the first packet's sequence number, its address,
 * and where the memory is and the key to it. To be copied.
 *
 *   hello_verbs [OPTIONS]		waits for a peer, prints what it has written
 *   hello_verbs [OPTIONS] HOST		writes a record there
 *
 *	-d DEVICE	the RDMA device (the first)
 *	-i PORT		its port (1)
 *	-g INDEX	which of the port's GIDs, its addresses, is ours (1)
 *	-p PORT		of the TCP socket (18515)
 *	-u		send a datagram instead, to a queue pair that takes all whose
 *			Q_Key is right
 */
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <infiniband/verbs.h>

#define RECORD_SIZE	256
/* Before a datagram there stands the header it came with. */
#define GRH_SIZE	40
#define QKEY		0x11111111u

/* What one end tells the other. */
struct end {
	uint32_t qpn;
	uint32_t psn;
	uint32_t rkey;		/* of a datagram's end: its Q_Key */
	uint64_t addr;
	union ibv_gid gid;
};

static const char *device, *tcp_port = "18515";
static int port = 1, gid_index = 1;
static bool datagram;

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static char buf[GRH_SIZE + RECORD_SIZE];

static void die(const char *fmt, ...)
{
	int err = errno;
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	if (err)
		fprintf(stderr, ": %s", strerror(err));
	fputc('\n', stderr);
	exit(1);
}

static void open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	for (i = 0; list && list[i]; i++)
		if (!device || !strcmp(ibv_get_device_name(list[i]), device))
			break;
	if (!list || !list[i])
		die("no RDMA device %s", device ?: "at all");
	ctx = ibv_open_device(list[i]);
	if (!ctx)
		die("ibv_open_device");
	ibv_free_device_list(list);
}

/* All that it takes to communicate; nothing is sent yet. */
static void make_queues(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = datagram ? IBV_QPT_UD : IBV_QPT_RC,
		.cap = {
			.max_send_wr = 1, .max_send_sge = 1,
			.max_recv_wr = 1, .max_recv_sge = 1,
		},
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = port,
		.qkey = QKEY,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};

	pd = ibv_alloc_pd(ctx);
	if (!pd)
		die("ibv_alloc_pd");
	mr = ibv_reg_mr(pd, buf, sizeof(buf),
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!mr)
		die("ibv_reg_mr");
	cq = ibv_create_cq(ctx, 2, NULL, NULL, 0);
	if (!cq)
		die("ibv_create_cq");
	init.send_cq = cq;
	init.recv_cq = cq;
	qp = ibv_create_qp(pd, &init);
	if (!qp)
		die("ibv_create_qp");
	errno = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			      IBV_QP_PORT | (datagram ? IBV_QP_QKEY :
						       IBV_QP_ACCESS_FLAGS));
	if (errno)
		die("queue pair to INIT");
}

static int tcp_connect(const char *host)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *ai;
	int fd, lfd, one = 1;

	hints.ai_flags = host ? 0 : AI_PASSIVE;
	hints.ai_family = host ? AF_UNSPEC : AF_INET6;
	if (getaddrinfo(host, tcp_port, &hints, &ai))
		die("%s, port %s: no such address", host ?: "here", tcp_port);
	fd = socket(ai->ai_family, ai->ai_socktype, 0);
	if (fd < 0)
		die("socket");
	if (host) {
		if (connect(fd, ai->ai_addr, ai->ai_addrlen))
			die("connect to %s", host);
		freeaddrinfo(ai);
		return fd;
	}
	lfd = fd;
	setsockopt(lfd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(lfd, ai->ai_addr, ai->ai_addrlen) || listen(lfd, 1))
		die("listen to port %s", tcp_port);
	freeaddrinfo(ai);
	fd = accept(lfd, NULL, NULL);
	if (fd < 0)
		die("accept");
	close(lfd);
	return fd;
}

/* In text, which has no byte order. */
static void tell(int fd, const struct end *e)
{
	int i;

	dprintf(fd, "%06" PRIx32 " %06" PRIx32 " %08" PRIx32 " %016" PRIx64 " ",
		e->qpn, e->psn, e->rkey, e->addr);
	for (i = 0; i < 16; i++)
		dprintf(fd, "%02x", e->gid.raw[i]);
	dprintf(fd, "\n");
}

static void hear(FILE *peer, struct end *e)
{
	unsigned int byte;
	int i;

	if (fscanf(peer, "%" SCNx32 " %" SCNx32 " %" SCNx32 " %" SCNx64 " ",
		   &e->qpn, &e->psn, &e->rkey, &e->addr) != 4)
		die("the peer does not say who it is");
	for (i = 0; i < 16; i++) {
		if (fscanf(peer, "%2x", &byte) != 1)
			die("the peer does not say where it is");
		e->gid.raw[i] = byte;
	}
}

static void hear_word(FILE *peer, const char *word)
{
	char got[8];

	errno = 0;
	if (fscanf(peer, "%7s", got) != 1 || strcmp(got, word))
		die("the peer has gone");
}

static struct ibv_ah_attr path_to(const struct end *to)
{
	return (struct ibv_ah_attr) {
		.is_global = 1,
		.port_num = port,
		.grh = {
			.dgid = to->gid,
			.sgid_index = gid_index,
			.hop_limit = 64,
		},
	};
}

/* A connection's queue pair hears one peer; a datagram's hears all. */
static void ready_to_receive(const struct end *from)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = from->qpn,
		.rq_psn = from->psn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = path_to(from),
	};
	int mask = IBV_QP_STATE;

	if (!datagram)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			IBV_QP_MIN_RNR_TIMER;
	errno = ibv_modify_qp(qp, &attr, mask);
	if (errno)
		die("queue pair to RTR");
}

static void ready_to_send(uint32_t psn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = psn,
		.timeout = 14,		/* 4.096 us * 2^14: 67 ms */
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
	};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (!datagram)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	errno = ibv_modify_qp(qp, &attr, mask);
	if (errno)
		die("queue pair to RTS");
}

static void wait_completion(const char *what)
{
	struct ibv_wc wc;
	int n;

	do
		n = ibv_poll_cq(cq, 1, &wc);
	while (!n);
	errno = 0;
	if (n < 0)
		die("ibv_poll_cq");
	if (wc.status != IBV_WC_SUCCESS)
		die("%s: %s", what, ibv_wc_status_str(wc.status));
}

static void send_record(const struct end *to, const char *record)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)buf,
		.length = strlen(record) + 1,
		.lkey = mr->lkey,
	};
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = datagram ? IBV_WR_SEND : IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct ibv_ah_attr path = path_to(to);

	if (datagram) {
		wr.wr.ud.ah = ibv_create_ah(pd, &path);
		if (!wr.wr.ud.ah)
			die("ibv_create_ah");
		wr.wr.ud.remote_qpn = to->qpn;
		wr.wr.ud.remote_qkey = to->rkey;
	} else {
		wr.wr.rdma.remote_addr = to->addr;
		wr.wr.rdma.rkey = to->rkey;
	}
	memcpy(buf, record, sge.length);
	errno = ibv_post_send(qp, &wr, &bad);
	if (errno)
		die("ibv_post_send");
	wait_completion(datagram ? "SEND" : "RDMA WRITE");
	if (datagram)
		ibv_destroy_ah(wr.wr.ud.ah);
}

static void post_receive(void)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)buf,
		.length = sizeof(buf),
		.lkey = mr->lkey,
	};
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	errno = ibv_post_recv(qp, &wr, &bad);
	if (errno)
		die("ibv_post_recv");
}

static void clean_up(void)
{
	ibv_destroy_qp(qp);
	ibv_destroy_cq(cq);
	ibv_dereg_mr(mr);
	ibv_dealloc_pd(pd);
	ibv_close_device(ctx);
}

static void run(const char *host)
{
	char record[RECORD_SIZE], name[64] = "";
	struct end me = {}, you = {};
	FILE *peer;
	int fd;

	open_device();
	make_queues();
	errno = ibv_query_gid(ctx, port, gid_index, &me.gid) ? EINVAL : 0;
	if (errno)
		die("port %d has no GID %d", port, gid_index);
	srand48(time(NULL) ^ getpid());
	me.qpn = qp->qp_num;
	me.psn = lrand48() & 0xffffff;
	me.rkey = datagram ? QKEY : mr->rkey;
	me.addr = (uintptr_t)buf;
	fd = tcp_connect(host);
	peer = fdopen(fd, "r");
	if (!peer)
		die("fdopen");
	if (!host && datagram)
		post_receive();
	tell(fd, &me);
	hear(peer, &you);
	ready_to_receive(&you);
	ready_to_send(me.psn);
	/* Both ends have come this far before anything is sent. */
	dprintf(fd, "ready\n");
	hear_word(peer, "ready");
	if (host) {
		gethostname(name, sizeof(name) - 1);
		snprintf(record, sizeof(record), "hello from process %d on %s",
			 getpid(), name);
		send_record(&you, record);
		dprintf(fd, "sent\n");
		printf("sent: %s\n", record);
	} else {
		if (datagram)
			wait_completion("receive");
		/* Of a WRITE nobody is told here, but by the one who wrote. */
		hear_word(peer, "sent");
		printf("record: %s\n", buf + (datagram ? GRH_SIZE : 0));
	}
	fclose(peer);
	clean_up();
}

int main(int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "d:i:g:p:u")) != -1) {
		switch (opt) {
		case 'd':
			device = optarg;
			break;
		case 'i':
			port = atoi(optarg);
			break;
		case 'g':
			gid_index = atoi(optarg);
			break;
		case 'p':
			tcp_port = optarg;
			break;
		case 'u':
			datagram = true;
			break;
		default:
			fprintf(stderr, "usage: %s [-d DEVICE] [-i PORT] "
				"[-g GID] [-p TCP-PORT] [-u] [HOST]\n",
				argv[0]);
			return 2;
		}
	}
	run(argv[optind]);
	return 0;
}
