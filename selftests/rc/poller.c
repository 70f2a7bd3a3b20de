// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Contexts whose send queues a thread looks at (XROCE_POLL_US), and those who disturb it:
 *
 *   poller DEVICE GID_INDEX signals	contexts are opened under a timer's signals
 *   poller DEVICE GID_INDEX stops	and while their process is stopped, and goes on
 *   poller DEVICE GID_INDEX import	who has imported the context goes on when the
 *					opener, whose thread it is, is stopped
 *
 * Owns all it makes; the kernel cleans up. One thread in each process, but for `stops`.
 */
#include <infiniband/verbs.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "need.h"

#define OPENS	400
#define SENDS	200
#define WAIT_S	60

static volatile sig_atomic_t signals;

static void count(int sig)
{
	(void)sig;
	signals++;
}

static struct ibv_device *find(const char *name)
{
	struct ibv_device **list = NEED(ibv_get_device_list(NULL));
	int i;

	for (i = 0; list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			return list[i];
	errno = ENODEV;
	die(name);
}

/* While signals come often */
static void open_often(struct ibv_device *dev)
{
	int i;

	/* On a fast machine more of them, for as many signals to come meanwhile */
	for (i = 0; i < OPENS || (signals < OPENS / 4 && i < 100 * OPENS); i++)
		ZERO(ibv_close_device(NEED(ibv_open_device(dev))));
	printf("%d opened, %d signals\n", i, (int)signals);
	errno = ETIME;
	NEED(signals >= OPENS / 4);
}

static void open_under_signals(struct ibv_device *dev)
{
	struct itimerval often = { { 0, 1013 }, { 0, 1013 } };

	/* First: a timer whose signal is ignored once is not started again. */
	signal(SIGALRM, count);
	ZERO(setitimer(ITIMER_REAL, &often, NULL));
	open_often(dev);
}

/* Shared with the process that stops us: @other is to get the signal */
struct stops {
	pid_t other;
	bool over;
};

static void *idle(void *stops)
{
	((volatile struct stops *)stops)->other = gettid();
	for (;;)
		pause();
	return stops;
}

/*
 * Another thread takes the signal: for the one that opens it is a stop, not a signal. Many
 * more times than with signals, since few stops come where the thread is being made.
 */
static void open_while_stopped(struct ibv_device *dev)
{
	volatile struct stops *stops = NEED(mmap(NULL, sizeof(*stops), PROT_READ | PROT_WRITE,
						 MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	pid_t me = getpid(), pid = fork();
	pthread_t other;
	int i;

	if (pid < 0)
		die("fork");
	if (!pid) {
		ZERO(prctl(PR_SET_PDEATHSIG, SIGKILL));
		while (!stops->other)
			usleep(1000);
		while (!stops->over && !tgkill(me, stops->other, SIGSTOP) && !usleep(300) &&
		       !kill(me, SIGCONT))
			usleep(700 + rand() % 1000);
		_exit(0);
	}
	signal(SIGCONT, count);
	ZERO(pthread_create(&other, NULL, idle, (void *)stops));
	for (i = 0; i < 5; i++)
		open_often(dev);
	stops->over = true;
	ZERO(waitpid(pid, NULL, 0) != pid);
}

/* Connected to itself */
static struct ibv_qp *make_qp(struct ibv_context *ctx, struct ibv_pd *pd,
			      struct ibv_cq *cq, int gid_index)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = NEED(ibv_create_qp(pd, &init));
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_port_attr port;
	union ibv_gid gid;

	ZERO(ibv_query_port(ctx, 1, &port));
	ZERO(ibv_query_gid(ctx, 1, gid_index, &gid));
	ZERO(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			   IBV_QP_ACCESS_FLAGS));
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR, .path_mtu = port.active_mtu,
		.dest_qp_num = qp->qp_num, .min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = {
			.dgid = gid, .sgid_index = gid_index, .hop_limit = 1 } },
	};
	ZERO(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			   IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7,
	};
	ZERO(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
			   IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			   IBV_QP_MAX_QP_RD_ATOMIC));
	return qp;
}

/* One message to itself, all of it compared */
static void exchange(struct ibv_qp *qp, struct ibv_cq *cq, struct ibv_mr *mr,
		     unsigned char *buf, unsigned int seed)
{
	struct ibv_sge from = { (uintptr_t)buf, 1000, mr->lkey };
	struct ibv_sge to = { (uintptr_t)buf + 1000, 1000, mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &from, .num_sge = 1, .opcode = IBV_WR_SEND };
	struct ibv_recv_wr rwr = { .sg_list = &to, .num_sge = 1 }, *badr;
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	int i, done;

	for (i = 0; i < 1000; i++)
		buf[i] = seed * 31 + i;
	memset(buf + 1000, ~seed, 1000);
	ZERO(ibv_post_recv(qp, &rwr, &badr));
	ZERO(ibv_post_send(qp, &wr, &bad));
	for (done = 0; done < 2;) {
		i = ibv_poll_cq(cq, 1, &wc);
		errno = EIO;
		NEED(i >= 0 && (!i || wc.status == IBV_WC_SUCCESS));
		done += i;
	}
	errno = EBADMSG;
	NEED(!memcmp(buf, buf + 1000, 1000));
}

/* Opens the context, gives it away, and waits for its end. */
static void opener(struct ibv_device *dev, int to)
{
	struct ibv_context *ctx = NEED(ibv_open_device(dev));
	char control[CMSG_SPACE(sizeof(int))] = {};
	struct iovec byte = { "", 1 };
	struct msghdr msg = {
		.msg_iov = &byte, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	*c = (struct cmsghdr){
		.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET,
		.cmsg_type = SCM_RIGHTS,
	};
	memcpy(CMSG_DATA(c), &ctx->cmd_fd, sizeof(int));
	NEED(sendmsg(to, &msg, 0) == 1);
	while (1)
		pause();
}

static int take_fd(int from)
{
	char control[CMSG_SPACE(sizeof(int))], byte;
	struct iovec v = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &v, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	int fd;

	NEED(recvmsg(from, &msg, 0) == 1);
	memcpy(&fd, CMSG_DATA(NEED(CMSG_FIRSTHDR(&msg))), sizeof(fd));
	return fd;
}

static void import_beside(struct ibv_device *dev, int gid_index)
{
	static unsigned char buf[2000];
	struct ibv_context *ctx;
	int pair[2], status;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	unsigned int i;
	pid_t pid;

	ZERO(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	pid = fork();
	if (!pid) {
		ZERO(prctl(PR_SET_PDEATHSIG, SIGKILL));
		opener(dev, pair[1]);
	}
	alarm(WAIT_S);
	ctx = NEED(ibv_import_device(take_fd(pair[0])));
	pd = NEED(ibv_alloc_pd(ctx));
	cq = NEED(ibv_create_cq(ctx, 16, NULL, NULL, 0));
	mr = NEED(ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE));
	qp = make_qp(ctx, pd, cq, gid_index);
	for (i = 0; i < SENDS; i++) {
		if (i == SENDS / 2) {
			ZERO(kill(pid, SIGSTOP));
			NEED(waitpid(pid, &status, WUNTRACED) == pid &&
			     WIFSTOPPED(status));
		}
		exchange(qp, cq, mr, buf, i);
		/* The thread has its turn, on one CPU too. */
		usleep(1000);
	}
	ZERO(kill(pid, SIGKILL));
	printf("%d messages, half of them with the opener stopped\n", SENDS);
}

int main(int argc, char **argv)
{
	struct ibv_device *dev;

	if (argc != 4)
		return 2;
	dev = find(argv[1]);
	if (!strcmp(argv[3], "signals"))
		open_under_signals(dev);
	else if (!strcmp(argv[3], "stops"))
		open_while_stopped(dev);
	else if (!strcmp(argv[3], "import"))
		import_beside(dev, atoi(argv[2]));
	else
		return 2;
	return 0;
}
