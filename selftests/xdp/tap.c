// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A tap of two ends: who is the network, and who sends datagrams into it by a link
 * above. Owns the tap's queue or a UD QP. One thread.
 *
 *   tap hold NETDEV		by lines of stdin, each answered by one: detach, attach,
 *				and drain, by how many frames for RoCEv2 there were
 *   tap send DEVICE GID N	N datagrams of 64 bytes, one at a time
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <need.h>
#include <net/if.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define SIZE	64
#define ROCE	4791

static unsigned int drain(int fd)
{
	unsigned char frame[2048];
	unsigned int n = 0;
	ssize_t len;

	/* IPv4 without options, UDP */
	while (len = read(fd, frame, sizeof(frame)), len > 0)
		n += len > 42 && frame[12] == 8 && !frame[13] && frame[23] == IPPROTO_UDP &&
		     (frame[36] << 8 | frame[37]) == ROCE;
	return n;
}

static int hold(const char *name)
{
	struct ifreq req = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_MULTI_QUEUE };
	struct ifreq queue = {};
	char line[32];
	int fd;

	fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
	if (fd < 0)
		die("/dev/net/tun");
	snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", name);
	ZERO(ioctl(fd, TUNSETIFF, &req));
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "drain\n")) {
			printf("%u\n", drain(fd));
		} else {
			queue.ifr_flags = line[0] == 'a' ? IFF_ATTACH_QUEUE : IFF_DETACH_QUEUE;
			ZERO(ioctl(fd, TUNSETQUEUE, &queue));
			printf("%s", line);
		}
		fflush(stdout);
	}
	return 0;
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = NEED(ibv_get_device_list(NULL));

	while (*list && strcmp(ibv_get_device_name(*list), name))
		list++;
	errno = ENODEV;
	return NEED(ibv_open_device(NEED(*list)));
}

/* The first that is an IPv4 address */
static unsigned int ipv4_gid(struct ibv_context *ctx)
{
	union ibv_gid gid;
	unsigned int i;

	for (i = 0; !ibv_query_gid(ctx, 1, i, &gid); i++)
		if (IN6_IS_ADDR_V4MAPPED((struct in6_addr *)gid.raw))
			return i;
	errno = ENOENT;
	die("a GID of IPv4");
}

static struct ibv_qp *datagrams(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UD, .sq_sig_all = 1,
		.cap = { .max_send_wr = 16, .max_recv_wr = 1, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp *qp = NEED(ibv_create_qp(pd, &init));

	ZERO(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				      IBV_QP_QKEY));
	attr.qp_state = IBV_QPS_RTR;
	ZERO(ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	ZERO(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
	return qp;
}

static int send_all(const char *device, const char *to, unsigned int n)
{
	struct ibv_context *ctx = open_device(device);
	struct ibv_pd *pd = NEED(ibv_alloc_pd(ctx));
	struct ibv_cq *cq = NEED(ibv_create_cq(ctx, 16, NULL, NULL, 0));
	struct ibv_qp *qp = datagrams(pd, cq);
	static char buf[SIZE];
	struct ibv_mr *mr = NEED(ibv_reg_mr(pd, buf, sizeof(buf), 0));
	struct ibv_ah_attr av = { .is_global = 1, .port_num = 1,
				  .grh = { .hop_limit = 64, .sgid_index = ipv4_gid(ctx) } };
	struct ibv_sge sge = { .addr = (uintptr_t)buf, .length = SIZE, .lkey = mr->lkey };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge, .num_sge = 1,
					.opcode = IBV_WR_SEND };
	struct ibv_wc wc;
	int got;

	errno = EINVAL;
	if (inet_pton(AF_INET6, to, av.grh.dgid.raw) != 1)
		die(to);
	wr.wr.ud.ah = NEED(ibv_create_ah(pd, &av));
	wr.wr.ud.remote_qpn = 2;
	while (n--) {
		ZERO(ibv_post_send(qp, &wr, &bad));
		while (got = ibv_poll_cq(cq, 1, &wc), !got)
			;
		errno = EIO;
		if (got < 0 || wc.status)
			die(ibv_wc_status_str(wc.status));
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "hold"))
		return hold(argv[2]);
	if (argc == 5 && !strcmp(argv[1], "send"))
		return send_all(argv[2], argv[3], strtoul(argv[4], NULL, 0));
	fprintf(stderr, "usage: tap hold NETDEV | tap send DEVICE GID N\n");
	return 2;
}
