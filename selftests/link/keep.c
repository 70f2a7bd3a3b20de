// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A user who has something of a link, until he is killed:
 *
 *   keep DEVICE GID_INDEX call DGID	a system call that does not come back, so that
 *					the link cannot end, and QPs that send to
 *					DGID again and again, without an answer,
 *					for a minute
 *   keep DEVICE GID_INDEX dir PATH	a directory, listed by a call that does not come
 *					back: nothing is added to it meanwhile
 *   keep DEVICE GID_INDEX group MGID	a QP in a group
 *   keep DEVICE GID_INDEX srqs N	N SRQs of XRC, and N others: prints how long the
 *					end of each kind takes, in milliseconds
 *   keep DEVICE GID_INDEX mrs N		the same of registering and ending N MRs
 *
 * Prints "ready" then. One thread, but for the call's.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "need.h"

#define PAGE	((size_t)sysconf(_SC_PAGESIZE))

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static int gid_index;

static void open_link(const char *name)
{
	struct ibv_device **list = NEED(ibv_get_device_list(NULL));
	int i;

	for (i = 0; list[i] && !ctx; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = NEED(ibv_open_device(list[i]));
	NEED(ctx);
	pd = NEED(ibv_alloc_pd(ctx));
	cq = NEED(ibv_create_cq(ctx, 16, NULL, NULL, 0));
}

static union ibv_gid address(const char *text)
{
	union ibv_gid gid;

	NEED(inet_pton(AF_INET6, text, &gid) == 1);
	return gid;
}

static struct ibv_qp *new_qp(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = type,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};

	return NEED(ibv_create_qp(pd, &init));
}

/* Eight tries, nine seconds from one to the next */
static void send_unanswered(const union ibv_gid *dgid)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	struct ibv_qp *qp = new_qp(IBV_QPT_RC);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	ZERO(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			   IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024,
		.dest_qp_num = 0x123456, .rq_psn = 17,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = {
			.dgid = *dgid, .sgid_index = gid_index, .hop_limit = 3 } },
	};
	ZERO(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			   IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .sq_psn = 17, .timeout = 21,
		.retry_cnt = 7, .rnr_retry = 7,
	};
	ZERO(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN |
			   IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			   IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC));
	ZERO(ibv_post_send(qp, &wr, &bad));
}

static const char *dir;

static void *use_page(void *page)
{
	if (dir)
		syscall(SYS_getdents64, open(dir, O_RDONLY), page, PAGE);
	else
		ibv_reg_mr(pd, page, PAGE, IBV_ACCESS_LOCAL_WRITE);
	fprintf(stderr, "the call has come back\n");
	exit(1);
}

/* Memory that is asked for and never comes. */
static void call(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffd_msg msg;
	pthread_t thread;
	void *page;
	int fd;

	fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	NEED(fd >= 0);
	ZERO(ioctl(fd, UFFDIO_API, &api));
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(page != MAP_FAILED);
	reg.range = (struct uffdio_range){ (uintptr_t)page, PAGE };
	ZERO(ioctl(fd, UFFDIO_REGISTER, &reg));
	ZERO(pthread_create(&thread, NULL, use_page, page));
	/* Said by the kernel when it asks. */
	NEED(read(fd, &msg, sizeof(msg)) == sizeof(msg));
}

static void join(const union ibv_gid *mgid)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 17,
	};
	struct ibv_qp *qp = new_qp(IBV_QPT_UD);

	ZERO(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			   IBV_QP_PORT | IBV_QP_QKEY));
	ZERO(ibv_attach_mcast(qp, mgid, 0));
}

/* Milliseconds that the end of N SRQs takes. */
static long srqs_end(enum ibv_srq_type type, int n)
{
	struct ibv_xrcd_init_attr domain = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1, .oflags = O_CREAT,
	};
	struct ibv_srq_init_attr_ex init = {
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.attr = { .max_wr = 1, .max_sge = 1 },
		.srq_type = type, .pd = pd, .cq = cq,
	};
	struct ibv_srq **srq = NEED(calloc(n, sizeof(*srq)));
	struct timespec t0, t1;
	int i;

	if (type == IBV_SRQT_XRC)
		init.xrcd = NEED(ibv_open_xrcd(ctx, &domain));
	else
		init.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	for (i = 0; i < n; i++)
		srq[i] = NEED(ibv_create_srq_ex(ctx, &init));
	clock_gettime(CLOCK_MONOTONIC, &t0);
	for (i = 0; i < n; i++)
		ZERO(ibv_destroy_srq(srq[i]));
	clock_gettime(CLOCK_MONOTONIC, &t1);
	free(srq);
	return (t1.tv_sec - t0.tv_sec) * 1000 + (t1.tv_nsec - t0.tv_nsec) / 1000000;
}

static long mrs_end(int n)
{
	static char page[4096];
	struct timespec t0, t1;
	struct ibv_mr *mr;

	clock_gettime(CLOCK_MONOTONIC, &t0);
	while (n--) {
		mr = NEED(ibv_reg_mr(pd, page, sizeof(page), IBV_ACCESS_LOCAL_WRITE));
		ZERO(ibv_dereg_mr(mr));
	}
	clock_gettime(CLOCK_MONOTONIC, &t1);
	return (t1.tv_sec - t0.tv_sec) * 1000 + (t1.tv_nsec - t0.tv_nsec) / 1000000;
}

int main(int argc, char **argv)
{
	union ibv_gid gid;
	int i;

	if (argc != 5)
		return 2;
	open_link(argv[1]);
	gid_index = atoi(argv[2]);
	if (!strcmp(argv[3], "srqs")) {
		printf("%ld", srqs_end(IBV_SRQT_XRC, atoi(argv[4])));
		printf(" %ld\n", srqs_end(IBV_SRQT_BASIC, atoi(argv[4])));
		return 0;
	}
	if (!strcmp(argv[3], "mrs")) {
		printf("%ld\n", mrs_end(atoi(argv[4])));
		return 0;
	}
	if (!strcmp(argv[3], "dir")) {
		dir = argv[4];
		call();
	} else if (!strcmp(argv[3], "call")) {
		gid = address(argv[4]);
		/* One second after the other, for a minute */
		for (i = 0; i < 8; i++) {
			send_unanswered(&gid);
			sleep(1);
		}
		call();
	} else {
		gid = address(argv[4]);
		join(&gid);
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
