// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What the kernel allocates for one operation fails, the first allocation, then the
 * second, until none is left that could: each time the operation fails for want of
 * memory, or does without, and can be repeated. Takes /proc/thread-self/fail-nth of a
 * kernel with fault injection, for the calls of this thread alone. Prints a line for
 * each, as tap.sh's results() takes it.
 *
 *   nomem verbs DEVICE GID-INDEX
 *   nomem link NETDEV STEP	a link on it, made and deleted; each STEPth allocation
 *   nomem module FILE		loaded and unloaded
 */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <infiniband/verbs.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <tap.h>

#define MOST	100000		/* allocations of an operation */
#define BUF	(64 << 10)

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static struct ibv_qp *qp;
static struct ibv_srq *srq;
static struct ibv_xrcd *xrcd;
static struct ibv_device *device;
static struct ibv_ah_attr path = { .is_global = 1, .port_num = 1, .grh.hop_limit = 64 };
static char *buf;
static const char *netdev;
static bool failed;
static int sock, module;

/**
 * struct op - an operation; errors are positive
 * @run: what is tried
 * @undo: afterwards, without a fault, where it succeeded; may be NULL
 * @keep: once it has been tried it is done for what follows
 */
struct op {
	const char *what;
	int (*run)(void);
	int (*undo)(void);
	bool keep;
};

static void __attribute__((noreturn)) give_up(const char *why)
{
	printf("not ok %s # %s\n", why, strerror(errno));
	exit(1);
}

static int fail_nth(unsigned int n)
{
	char s[16];
	int fd = open("/proc/thread-self/fail-nth", O_RDWR), len = snprintf(s, sizeof(s), "%u", n);

	if (fd >= 0 && pwrite(fd, s, len, 0) == len)
		return fd;
	give_up("no fault injection");
}

/* What the kernel says where it has no memory, for sockets and files too */
static bool is_lack(int err)
{
	return err == ENOMEM || err == ENOBUFS || err == ENFILE;
}

/* Was there an allocation that failed */
static bool has_failed(int fd)
{
	char s[16] = "";
	bool hit = pread(fd, s, sizeof(s) - 1, 0) > 0 && atoi(s) == 0;

	if (pwrite(fd, "0", 1, 0) != 1)
		abort();
	close(fd);
	return hit;
}

static void try_op(const struct op *op, unsigned int step)
{
	unsigned int n, refused = 0;
	int err = 0, bad = 0, fd;
	bool hit = true;

	for (n = 1; hit && n < MOST && !bad; n += step) {
		fd = fail_nth(n);
		err = op->run();
		hit = has_failed(fd);
		refused += !!err;
		TAP_CHECK(bad, !err || (hit && is_lack(err)),
			  "%s at allocation %u%s", strerror(err), n,
			  hit ? "" : ", which is not made");
		if (err)
			continue;
		err = op->undo ? op->undo() : 0;
		TAP_CHECK(bad, !err, "undone after allocation %u: %s", n, strerror(err));
	}
	TAP_CHECK(bad, bad || !hit, "there is no end of allocations");
	n -= step;	/* the last was not made */
	TAP_CHECK(bad, n > 1, "nothing is allocated");
	failed |= bad;
	printf("%sok %s fails by what it lacks, or succeeds\n", bad ? "not " : "", op->what);
	tap_note("%s: about %u allocations, %u of those tried needed", op->what, n - 1, refused);
}

/* Return: 0, or what errno says. */
static int made(const void *p)
{
	return p ? 0 : errno ?: -1;
}

static int context(void) { return made(ctx = ibv_open_device(device)); }
static int context_end(void) { return ibv_close_device(ctx) ? errno : 0; }
static int domain(void) { return made(pd = ibv_alloc_pd(ctx)); }
static int domain_end(void) { return ibv_dealloc_pd(pd); }
static int region_end(void) { return ibv_dereg_mr(mr); }
static int queue_end(void) { return ibv_destroy_cq(cq); }
static int pair_end(void) { return ibv_destroy_qp(qp); }
static int shared_end(void) { return ibv_destroy_srq(srq); }
static int xrc_end(void) { return ibv_close_xrcd(xrcd); }

static int region(void)
{
	return made(mr = ibv_reg_mr(pd, buf, BUF, IBV_ACCESS_LOCAL_WRITE |
				    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND));
}

static int region_again(void)
{
	int err = ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, buf, BUF / 2, 0);

	return err ? errno : 0;
}

static int window(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);

	return mw ? ibv_dealloc_mw(mw) : made(mw);
}

static int queue(void) { return made(cq = ibv_create_cq(ctx, 16, NULL, NULL, 0)); }
static int queue_size(void) { return ibv_resize_cq(cq, 4096) ?: ibv_resize_cq(cq, 16); }

static int shared(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 64, .max_sge = 2 } };

	return made(srq = ibv_create_srq(pd, &attr));
}

static int shared_size(void)
{
	struct ibv_srq_attr more = { .max_wr = 1024 }, less = { .max_wr = 64 };

	return ibv_modify_srq(srq, &more, IBV_SRQ_MAX_WR) ?:
	       ibv_modify_srq(srq, &less, IBV_SRQ_MAX_WR);
}

static int xrc(void)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1, .oflags = O_CREAT,
	};

	return made(xrcd = ibv_open_xrcd(ctx, &attr));
}

static int xrc_shared(void)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 16, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC, .pd = pd, .xrcd = xrcd, .cq = cq,
	};

	return made(srq = ibv_create_srq_ex(ctx, &attr));
}

static int pair_of(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = type, .send_cq = cq, .recv_cq = cq, .pd = pd,
		.cap = { .max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 4,
			 .max_recv_sge = 4, .max_inline_data = 200 },
		.comp_mask = IBV_QP_INIT_ATTR_PD,
	};

	return made(qp = ibv_create_qp_ex(ctx, &attr));
}

static int rc(void) { return pair_of(IBV_QPT_RC); }
static int uc(void) { return pair_of(IBV_QPT_UC); }
static int ud(void) { return pair_of(IBV_QPT_UD); }
static int xrc_send(void) { return pair_of(IBV_QPT_XRC_SEND); }

static int reset(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

/* To itself, as far as RTS. What was made of it is left as it is when a step fails. */
static int connected(void)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .path_mtu = IBV_MTU_1024,
		.dest_qp_num = qp->qp_num, .max_dest_rd_atomic = 4, .min_rnr_timer = 12,
		.timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 4,
		.ah_attr = path, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	int err;

	err = reset() ?: ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
				       IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	if (err)
		return err;
	attr.qp_state = IBV_QPS_RTR;
	err = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			    IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			    IBV_QP_MIN_RNR_TIMER);
	if (err)
		return err;
	attr.qp_state = IBV_QPS_RTS;
	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static int handle(void)
{
	struct ibv_ah *ah = ibv_create_ah(pd, &path);

	return ah ? ibv_destroy_ah(ah) : made(ah);
}

/* A message to itself, which arrives whatever could not be had for it at first */
static int message(void)
{
	struct ibv_sge sge = { (uintptr_t)buf, BUF / 2, mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)buf + BUF / 2, mr->rkey },
	}, *bad;
	struct ibv_wc wc = {};
	static int round;
	int err, n, i;

	round++;
	for (i = 0; i < BUF / 2; i++)
		buf[i] = i * 7 + (i >> 8) + round;
	err = ibv_post_send(qp, &wr, &bad);
	while (!err && !(n = ibv_poll_cq(cq, 1, &wc)))
		;
	if (err)
		return err;
	return n == 1 && !wc.status && !memcmp(buf, buf + BUF / 2, BUF / 2) ? 0 : EIO;
}

/* No XRC target: ib_core forgets a reference to the domain when it cannot open one. */
static const struct op objects[] = {
	{ "a context", context, context_end, true },
	{ "a protection domain", domain, domain_end, true },
	{ "a region", region, region_end, true },
	{ "a window", window, NULL, false },
	{ "a completion queue", queue, queue_end, true },
	{ "a completion queue of another size", queue_size, NULL, false },
	{ "an XRC domain", xrc, xrc_end, true },
	{ "an XRC receive queue", xrc_shared, shared_end, false },
	{ "an XRC sender", xrc_send, pair_end, false },
	{ "a shared receive queue", shared, shared_end, true },
	{ "a shared receive queue of another size", shared_size, NULL, false },
	{ "a UC queue pair", uc, pair_end, false },
	{ "a UD queue pair", ud, pair_end, false },
	{ "an RC queue pair", rc, pair_end, true },
	{ "an address handle", handle, NULL, false },
	{ "a connection", connected, reset, true },
	{ "a message", message, NULL, false },
	{ "a region registered anew", region_again, NULL, false },
};

static void verbs(const char *dev, int index)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int err, i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), dev))
			device = list[i];
	if (!device || context() || ibv_query_gid(ctx, 1, index, &path.grh.dgid) ||
	    context_end())
		give_up("no such device or GID");
	path.grh.sgid_index = index;
	buf = aligned_alloc(4096, BUF);
	if (!buf)
		give_up("no memory");
	memset(buf, 0, BUF);
	for (i = 0; i < (int)ARRAY_SIZE(objects); i++) {
		try_op(&objects[i], 1);
		err = objects[i].keep ? objects[i].run() : 0;
		if (err)
			give_up(objects[i].what);
	}
	for (i--; i >= 0; i--) {
		err = objects[i].keep ? objects[i].undo() : 0;
		if (err)
			give_up(objects[i].what);
	}
}

#define LINK	"xr-nomem"
#define SYSFS	"/sys/class/infiniband/"

/* A message of RDMA netlink's, and what the kernel says to it */
static struct {
	struct nlmsghdr h;
	char attrs[256];
} msg;

static void attr(uint16_t type, const void *data, uint16_t len)
{
	struct nlattr a = { NLA_HDRLEN + len, type };
	char *to = (char *)&msg + msg.h.nlmsg_len;

	memcpy(to, &a, sizeof(a));
	memcpy(to + NLA_HDRLEN, data, len);
	msg.h.nlmsg_len += NLA_HDRLEN + NLA_ALIGN(len);
}

static int answer(void)
{
	struct {
		struct nlmsghdr h;
		struct nlmsgerr e;
		char more[512];
	} a;

	if (send(sock, &msg, msg.h.nlmsg_len, 0) < 0)
		return errno;
	/* There may be none for the answer alone. */
	if (recv(sock, &a, sizeof(a), MSG_DONTWAIT) < (ssize_t)NLMSG_HDRLEN)
		return errno != ENOBUFS ? errno : access(SYSFS LINK, F_OK) ? ENOMEM : 0;
	return a.h.nlmsg_type == NLMSG_ERROR ? -a.e.error : EPROTO;
}

static int link_add(void)
{
	memset(&msg, 0, sizeof(msg));
	msg.h.nlmsg_len = NLMSG_HDRLEN;
	msg.h.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_NEWLINK);
	msg.h.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	attr(RDMA_NLDEV_ATTR_DEV_NAME, LINK, sizeof(LINK));
	attr(RDMA_NLDEV_ATTR_LINK_TYPE, "xroce", 6);
	attr(RDMA_NLDEV_ATTR_NDEV_NAME, netdev, strlen(netdev) + 1);
	return answer();
}

/* Without a fault */
static int link_del(void)
{
	return system("rdma link del " LINK) ? EBUSY : 0;
}

static int module_load(void)
{
	return syscall(SYS_finit_module, module, "", 0) ? errno : 0;
}

static int module_unload(void)
{
	return syscall(SYS_delete_module, "xroce", O_NONBLOCK) ? errno : 0;
}

int main(int argc, char **argv)
{
	static const struct op link = { "a link", link_add, link_del, false };
	static const struct op load = { "the module", module_load, module_unload, false };

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 4 && !strcmp(argv[1], "verbs")) {
		verbs(argv[2], atoi(argv[3]));
	} else if (argc == 4 && !strcmp(argv[1], "link")) {
		netdev = argv[2];
		sock = socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA);
		if (sock < 0)
			give_up("a netlink socket");
		try_op(&link, atoi(argv[3]));
	} else if (argc == 3 && !strcmp(argv[1], "module")) {
		module = open(argv[2], O_RDONLY);
		if (module < 0)
			give_up(argv[2]);
		try_op(&load, 1);
	} else {
		fputs("usage: nomem verbs DEVICE GID-INDEX | link NETDEV STEP | module FILE\n",
		      stderr);
		return 2;
	}
	return failed;
}
