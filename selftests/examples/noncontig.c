// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory that is not in one piece, sent without being packed: COUNT blocks of
 * BLOCK bytes, STRIDE bytes apart, in one work request. A gather WRITE, a scatter
 * READ, a gather SEND into a scatter receive; beside each the same message packed
 * by memcpy() first, and unpacked where it arrives. All is compared.
 *
 *   noncontig [-d DEVICE] [-i PORT] [-g GID-INDEX] [-n MESSAGES]
 *		[-b BLOCK -c COUNT -s STRIDE]
 *
 * Without -b, -c and -s: a table over some. Two queue pairs of one device, which
 * are each other's peer. The cost is the process's time on the CPU until it has
 * seen the message complete, in nanoseconds: the least of MESSAGES.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <infiniband/verbs.h>

#define MEMORY		(8u << 20)
#define LKEY		mr->lkey

enum { WRITE, READ, SEND, OPERATIONS };

static const char *const names[] = {
	"gather WRITE", "scatter READ", "gather SEND, scatter receive",
};

/**
 * struct shape - blocks of a message
 * @block: bytes of each
 * @count: how many
 * @stride: from one to the next
 */
struct shape {
	uint32_t block;
	uint32_t count;
	uint32_t stride;
};

static const char *device;
static int port = 1, gid_index = 1, messages = 200;
static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_cq *cq[2];
static struct ibv_qp *qp[2];
static uint32_t max_sge;
/* Blocks here and there; one piece here and there. */
static char *near_blocks, *far_blocks, *near_piece, *far_piece;

static void die(const char *fmt, ...)
{
	int err = errno;
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, err ? ": %s\n" : "\n", strerror(err));
	exit(1);
}

static void open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_device_attr attr;
	int i;

	for (i = 0; list && list[i]; i++)
		if (!device || !strcmp(ibv_get_device_name(list[i]), device))
			break;
	if (!list || !list[i])
		die("no RDMA device %s", device ?: "at all");
	ctx = ibv_open_device(list[i]);
	if (!ctx || ibv_query_device(ctx, &attr))
		die("ibv_open_device");
	device = ibv_get_device_name(ctx->device);
	max_sge = attr.max_sge;
}

static char *make_memory(void)
{
	char *p = aligned_alloc(4096, 4 * (size_t)MEMORY);

	if (!p)
		die("memory");
	memset(p, 0, 4 * (size_t)MEMORY);
	pd = ibv_alloc_pd(ctx);
	if (!pd)
		die("ibv_alloc_pd");
	mr = ibv_reg_mr(pd, p, 4 * (size_t)MEMORY, IBV_ACCESS_LOCAL_WRITE |
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	if (!mr)
		die("ibv_reg_mr");
	near_blocks = p;
	far_blocks = p + MEMORY;
	near_piece = p + 2 * MEMORY;
	far_piece = p + 3 * MEMORY;
	return p;
}

static void make_qp(int i)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = 1, .max_send_sge = max_sge,
			.max_recv_wr = 1, .max_recv_sge = max_sge,
		},
	};

	cq[i] = ibv_create_cq(ctx, 2, NULL, NULL, 0);
	if (!cq[i])
		die("ibv_create_cq");
	init.send_cq = cq[i];
	init.recv_cq = cq[i];
	qp[i] = ibv_create_qp(pd, &init);
	if (!qp[i])
		die("ibv_create_qp");
}

static void connect_qp(int i)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = port,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qp[!i]->qp_num,
		.max_dest_rd_atomic = 1,
		.max_rd_atomic = 1,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = {
			.is_global = 1,
			.port_num = port,
			.grh = { .sgid_index = gid_index, .hop_limit = 1 },
		},
	};
	struct ibv_port_attr pa;

	if (ibv_query_gid(ctx, port, gid_index, &attr.ah_attr.grh.dgid))
		die("port %d has no GID %d", port, gid_index);
	if (!ibv_query_port(ctx, port, &pa))
		attr.path_mtu = pa.active_mtu;
	errno = ibv_modify_qp(qp[i], &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			      IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	attr.qp_state = IBV_QPS_RTR;
	errno = errno ?: ibv_modify_qp(qp[i], &attr, IBV_QP_STATE | IBV_QP_AV |
			IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	attr.qp_state = IBV_QPS_RTS;
	errno = errno ?: ibv_modify_qp(qp[i], &attr, IBV_QP_STATE |
			IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	if (errno)
		die("queue pair to RTS");
}

static void wait_completion(int i, const char *what)
{
	struct ibv_wc wc;
	int n;

	do
		n = ibv_poll_cq(cq[i], 1, &wc);
	while (!n);
	errno = 0;
	if (n < 0 || wc.status != IBV_WC_SUCCESS)
		die("%s: %s", what, n < 0 ? "ibv_poll_cq" :
		    ibv_wc_status_str(wc.status));
}

/* The whole trick: a work request that names each block. */
static uint32_t list_blocks(struct ibv_sge *sge, char *at,
			    const struct shape *s)
{
	uint32_t i;

	for (i = 0; i < s->count; i++)
		sge[i] = (struct ibv_sge) {
			.addr = (uintptr_t)at + (uint64_t)i * s->stride,
			.length = s->block,
			.lkey = LKEY,
		};
	return s->count;
}

static uint32_t list_piece(struct ibv_sge *sge, char *at, const struct shape *s)
{
	*sge = (struct ibv_sge) {
		.addr = (uintptr_t)at,
		.length = s->block * s->count,
		.lkey = LKEY,
	};
	return 1;
}

static void pack(char *to, const char *from, const struct shape *s)
{
	uint32_t i;

	for (i = 0; i < s->count; i++)
		memcpy(to + (size_t)i * s->block, from + (size_t)i * s->stride,
		       s->block);
}

static void unpack(char *to, const char *from, const struct shape *s)
{
	uint32_t i;

	for (i = 0; i < s->count; i++)
		memcpy(to + (size_t)i * s->stride, from + (size_t)i * s->block,
		       s->block);
}

static void one_message(int op, const struct shape *s, bool packed,
			struct ibv_sge *sge, struct ibv_sge *rsge)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND,
	};
	struct ibv_send_wr wr = {
		.sg_list = sge,
		.opcode = opcodes[op],
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)far_piece, mr->rkey },
	}, *bad;
	struct ibv_recv_wr rwr = { .sg_list = rsge }, *badr;

	if (op == SEND) {
		rwr.num_sge = packed ? list_piece(rsge, far_piece, s) :
				       list_blocks(rsge, far_blocks, s);
		errno = ibv_post_recv(qp[1], &rwr, &badr);
		if (errno)
			die("ibv_post_recv");
	}
	if (packed && op != READ)
		pack(near_piece, near_blocks, s);
	wr.num_sge = packed ? list_piece(sge, near_piece, s) :
			      list_blocks(sge, near_blocks, s);
	errno = ibv_post_send(qp[0], &wr, &bad);
	if (errno)
		die("ibv_post_send");
	wait_completion(0, names[op]);
	if (op == SEND)
		wait_completion(1, "receive");
	if (packed && op == READ)
		unpack(near_blocks, near_piece, s);
	if (packed && op == SEND)
		unpack(far_blocks, far_piece, s);
}

static void fill(char *p, size_t n, unsigned int seed)
{
	while (n--)
		*p++ = (seed = seed * 1103515245 + 12345) >> 16;
}

/* Are the bytes of the blocks those of the piece, and what is between untouched. */
static bool arrived(const char *blocks, const char *piece,
		    const struct shape *s, bool gaps)
{
	uint32_t i, j;

	for (i = 0; i < s->count; i++) {
		const char *b = blocks + (size_t)i * s->stride;

		if (memcmp(b, piece + (size_t)i * s->block, s->block))
			return false;
		for (j = s->block; gaps && i + 1 < s->count && j < s->stride; j++)
			if (b[j])
				return false;
	}
	return true;
}

static bool check(int op, const struct shape *s, bool packed,
		  struct ibv_sge *sge, struct ibv_sge *rsge)
{
	const size_t span = (size_t)s->stride * s->count;
	const size_t len = (size_t)s->block * s->count;

	memset(near_blocks, 0, span);
	memset(far_blocks, 0, span);
	memset(near_piece, 0, len);
	memset(far_piece, 0, len);
	fill(op == READ ? far_piece : near_blocks, op == READ ? len : span,
	     s->block + op);
	one_message(op, s, packed, sge, rsge);
	if (op == READ)
		return arrived(near_blocks, far_piece, s, true);
	if (op == WRITE)
		return arrived(near_blocks, far_piece, s, false);
	pack(near_piece, near_blocks, s);
	return arrived(far_blocks, near_piece, s, true);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void measure(const struct shape *s)
{
	struct ibv_sge sge[max_sge], rsge[max_sge];
	uint64_t ns[2], start;
	int op, packed, i;

	for (op = 0; op < OPERATIONS; op++) {
		for (packed = 0; packed < 2; packed++) {
			errno = 0;
			if (!check(op, s, packed, sge, rsge))
				die("%s%s: wrong bytes", names[op],
				    packed ? ", packed" : "");
			/* The least: more is what else the machine did. */
			ns[packed] = UINT64_MAX;
			for (i = 0; i < messages; i++) {
				start = cpu_ns();
				one_message(op, s, packed, sge, rsge);
				start = cpu_ns() - start;
				if (start < ns[packed])
					ns[packed] = start;
			}
		}
		printf("%-8s %6u %5u %7u %8u  %-29s %9llu %9llu %5.2f\n",
		       device, s->block, s->count, s->stride,
		       s->block * s->count, names[op],
		       (unsigned long long)ns[0], (unsigned long long)ns[1],
		       (double)ns[0] / (ns[1] ?: 1));
	}
}

static void usage(const char *self)
{
	fprintf(stderr, "usage: %s [-d DEVICE] [-i PORT] [-g GID] [-n MESSAGES] "
		"[-b BLOCK -c COUNT -s STRIDE]\n", self);
	exit(2);
}

int main(int argc, char **argv)
{
	static const struct shape table[] = {
		{ 8, 16, 64 }, { 64, 16, 256 }, { 256, 4, 4096 },
		{ 1024, 16, 4096 }, { 4096, 16, 8192 }, { 16384, 16, 65536 },
	};
	struct shape s = {};
	unsigned int i;
	char *memory;
	int opt;

	while ((opt = getopt(argc, argv, "d:i:g:n:b:c:s:")) != -1) {
		if (opt == 'd')
			device = optarg;
		else if (opt == 'i')
			port = atoi(optarg);
		else if (opt == 'g')
			gid_index = atoi(optarg);
		else if (opt == 'n')
			messages = atoi(optarg);
		else if (opt == 'b')
			s.block = atoi(optarg);
		else if (opt == 'c')
			s.count = atoi(optarg);
		else if (opt == 's')
			s.stride = atoi(optarg);
		else
			usage(argv[0]);
	}
	if (optind != argc || messages < 1)
		usage(argv[0]);
	open_device();
	memory = make_memory();
	make_qp(0);
	make_qp(1);
	connect_qp(0);
	connect_qp(1);
	errno = 0;
	if ((s.block || s.count || s.stride) &&
	    (!s.block || !s.count || s.count > max_sge || s.stride < s.block ||
	     (uint64_t)s.stride * s.count > MEMORY))
		die("blocks of 1 to STRIDE bytes, 1 to %u of them, in %u bytes",
		    max_sge, MEMORY);
	printf("%-8s %6s %5s %7s %8s  %-29s %9s %9s %5s\n", "device", "block",
	       "count", "stride", "message", "operation", "ns", "packed",
	       "ratio");
	if (s.block)
		measure(&s);
	for (i = 0; !s.block && i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].count <= max_sge)
			measure(&table[i]);
	for (i = 0; i < 2; i++) {
		ibv_destroy_qp(qp[i]);
		ibv_destroy_cq(cq[i]);
	}
	ibv_dereg_mr(mr);
	ibv_dealloc_pd(pd);
	ibv_close_device(ctx);
	free(memory);
	return 0;
}
