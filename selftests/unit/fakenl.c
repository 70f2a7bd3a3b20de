// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A kernel for rdmatool, preloaded, whose RDMA netlink tells what no test can make a
 * real one tell: fk0, with two ports and many QPs, and fk1, which is gone as soon as
 * it was listed; fk0 is over fketh0, over fketh1 is nothing. fk0 goes too, after so
 * many looks at its counters as FAKE_LOOKS says. With FAKE_INTR what is listed changes
 * meanwhile. Time passes only where somebody waits, and by ten seconds at the third look,
 * as for a process that was stopped.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if_arp.h>
#include <poll.h>
#include <rdma/rdma_netlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define NETDEV		4711
#define MAX_FD		64
#define MS		1000000ll

static bool rdma_fd[MAX_FD];
static char reply[16384];
static size_t reply_len;
static struct nlmsghdr *msg;		/* the one under way */
static struct nlmsghdr request;
static long long now = 1000000000000000000ll;
static int looks;

static void *real(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

static void *put(int type, const void *data, size_t len)
{
	struct nlattr *a = (void *)((char *)msg + NLMSG_ALIGN(msg->nlmsg_len));

	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + len;
	if (len)
		memcpy((char *)a + NLA_HDRLEN, data, len);
	msg->nlmsg_len = (char *)a - (char *)msg + NLA_ALIGN(a->nla_len);
	return a;
}

static void put_u8(int type, unsigned char val)
{
	put(type, &val, sizeof(val));
}

static void put_u32(int type, unsigned int val)
{
	put(type, &val, sizeof(val));
}

static void put_u64(int type, unsigned long long val)
{
	put(type, &val, sizeof(val));
}

static void put_str(int type, const char *val)
{
	put(type, val, strlen(val) + 1);
}

static struct nlattr *nest(int type)
{
	return put(type, NULL, 0);
}

static void nest_end(struct nlattr *a)
{
	a->nla_len = (char *)msg + msg->nlmsg_len - (char *)a;
}

static void begin(int type, int flags, const void *head, size_t len)
{
	if (flags & NLM_F_MULTI && getenv("FAKE_INTR"))
		flags |= NLM_F_DUMP_INTR;
	msg = (void *)(reply + reply_len);
	*msg = (struct nlmsghdr){
		.nlmsg_len = NLMSG_LENGTH(len), .nlmsg_type = type,
		.nlmsg_flags = flags, .nlmsg_seq = request.nlmsg_seq,
		.nlmsg_pid = request.nlmsg_pid,
	};
	if (len)
		memcpy(NLMSG_DATA(msg), head, len);
}

static void end(void)
{
	reply_len += NLMSG_ALIGN(msg->nlmsg_len);
}

static void done(int err)
{
	struct nlmsgerr e = { .error = err, .msg = request };

	if (request.nlmsg_flags & NLM_F_DUMP && !err)
		begin(NLMSG_DONE, NLM_F_MULTI, &e.error, sizeof(e.error));
	else
		begin(NLMSG_ERROR, 0, &e, sizeof(e));
	end();
}

static void tell_dev(int flags, unsigned int index)
{
	begin(request.nlmsg_type, flags, NULL, 0);
	put_u32(RDMA_NLDEV_ATTR_DEV_INDEX, index);
	put_str(RDMA_NLDEV_ATTR_DEV_NAME, index ? "fk1" : "fk0");
	put_u32(RDMA_NLDEV_ATTR_PORT_INDEX, index ? 1 : 2);
	end();
}

static void tell_port(unsigned int port)
{
	begin(request.nlmsg_type, 0, NULL, 0);
	put_u32(RDMA_NLDEV_ATTR_PORT_INDEX, port);
	put_u8(RDMA_NLDEV_ATTR_PORT_STATE, 4);
	put_u8(RDMA_NLDEV_ATTR_PORT_PHYS_STATE, 5);
	if (port == 1) {
		put_u32(RDMA_NLDEV_ATTR_NDEV_INDEX, NETDEV);
		put_str(RDMA_NLDEV_ATTR_NDEV_NAME, "fketh0");
	}
	end();
}

/* Both ports have a QP 0 and a QP 1; a message for each port. */
static void tell_qps(void)
{
	struct nlattr *table, *qp;
	unsigned int port, i;

	for (port = 1; port <= 2; port++) {
		begin(request.nlmsg_type, NLM_F_MULTI, NULL, 0);
		table = nest(RDMA_NLDEV_ATTR_RES_QP);
		for (i = 0; i < 3; i++) {
			qp = nest(RDMA_NLDEV_ATTR_RES_QP_ENTRY);
			put_u32(RDMA_NLDEV_ATTR_PORT_INDEX, port);
			put_u32(RDMA_NLDEV_ATTR_RES_LQPN,
				i < 2 ? i : 16 + port);
			nest_end(qp);
		}
		nest_end(table);
		end();
	}
}

/* One, and 100 QPs: 8000001, 8000003 and so on, and some in a row */
static void tell_srqs(void)
{
	struct nlattr *table, *srq, *qps, *qp;
	unsigned int i;

	begin(request.nlmsg_type, NLM_F_MULTI, NULL, 0);
	table = nest(RDMA_NLDEV_ATTR_RES_SRQ);
	srq = nest(RDMA_NLDEV_ATTR_RES_SRQ_ENTRY);
	put_u32(RDMA_NLDEV_ATTR_RES_SRQN, 7);
	qps = nest(RDMA_NLDEV_ATTR_RES_QP);
	for (i = 0; i < 100; i++) {
		qp = nest(RDMA_NLDEV_ATTR_RES_QP_ENTRY);
		put_u32(RDMA_NLDEV_ATTR_RES_LQPN, 8000001 + 2 * i);
		nest_end(qp);
	}
	qp = nest(RDMA_NLDEV_ATTR_RES_QP_ENTRY);
	put_u32(RDMA_NLDEV_ATTR_MIN_RANGE, 9000000);
	put_u32(RDMA_NLDEV_ATTR_MAX_RANGE, 9000099);
	nest_end(qp);
	nest_end(qps);
	nest_end(srq);
	nest_end(table);
	end();
}

static void tell_counters(void)
{
	struct nlattr *table, *counter;

	if (looks == 3)
		now += 10000 * MS;
	begin(request.nlmsg_type, 0, NULL, 0);
	table = nest(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
	counter = nest(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY);
	put_str(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, "fk_looks");
	put_u64(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, looks);
	nest_end(counter);
	nest_end(table);
	end();
}

static void tell_netdev(int index, const char *name)
{
	struct ifinfomsg info = {
		.ifi_index = index, .ifi_type = ARPHRD_ETHER,
	};

	begin(RTM_NEWLINK, NLM_F_MULTI, &info, sizeof(info));
	put_str(IFLA_IFNAME, name);
	end();
}

static unsigned int attr(const struct nlmsghdr *nlh, int type)
{
	const char *p = NLMSG_DATA(nlh), *last = (char *)nlh + nlh->nlmsg_len;
	const struct nlattr *a;
	unsigned int val = 0;

	for (; p < last; p += NLA_ALIGN(a->nla_len)) {
		a = (const void *)p;
		if (a->nla_type == type)
			memcpy(&val, p + NLA_HDRLEN, sizeof(val));
	}
	return val;
}

static void answer(const struct nlmsghdr *nlh)
{
	int cmd = RDMA_NL_GET_OP(nlh->nlmsg_type);
	const char *most = getenv("FAKE_LOOKS");
	bool dump = nlh->nlmsg_flags & NLM_F_DUMP, gone;

	request = *nlh;
	reply_len = 0;
	if (cmd == RDMA_NLDEV_CMD_GET && dump) {
		tell_dev(NLM_F_MULTI, 0);
		tell_dev(NLM_F_MULTI, 1);
		done(0);
		return;
	}
	gone = most && looks >= atoi(most);
	if (cmd == RDMA_NLDEV_CMD_STAT_GET)
		looks++;
	if (gone || attr(nlh, RDMA_NLDEV_ATTR_DEV_INDEX)) {
		done(-EINVAL);
		return;
	}
	if (cmd == RDMA_NLDEV_CMD_GET)
		tell_dev(0, 0);
	else if (cmd == RDMA_NLDEV_CMD_PORT_GET)
		tell_port(attr(nlh, RDMA_NLDEV_ATTR_PORT_INDEX));
	else if (cmd == RDMA_NLDEV_CMD_RES_QP_GET)
		tell_qps();
	else if (cmd == RDMA_NLDEV_CMD_RES_SRQ_GET)
		tell_srqs();
	else if (cmd == RDMA_NLDEV_CMD_STAT_GET)
		tell_counters();
	done(0);
}

/* As libc has them */

int socket(int domain, int type, int protocol)
{
	int (*libc)(int domain, int type, int protocol) = real("socket");
	bool rdma = domain == AF_NETLINK && protocol == NETLINK_RDMA;
	int fd = libc(domain, type, rdma ? NETLINK_ROUTE : protocol);

	if (fd >= 0 && fd < MAX_FD)
		rdma_fd[fd] = rdma;
	return fd;
}

ssize_t sendmsg(int fd, const struct msghdr *hdr, int flags)
{
	ssize_t (*libc)(int fd, const struct msghdr *hdr, int flags) =
		real("sendmsg");
	const struct nlmsghdr *nlh = hdr->msg_iov[0].iov_base;

	if (fd < MAX_FD && rdma_fd[fd]) {
		answer(nlh);
		return nlh->nlmsg_len;
	}
	if (nlh->nlmsg_type == RTM_GETLINK && nlh->nlmsg_flags & NLM_F_ROOT) {
		request = *nlh;
		reply_len = 0;
		tell_netdev(NETDEV, "fketh0");
		tell_netdev(NETDEV + 1, "fketh1");
		done(0);
		return nlh->nlmsg_len;
	}
	return libc(fd, hdr, flags);
}

ssize_t recvmsg(int fd, struct msghdr *hdr, int flags)
{
	ssize_t (*libc)(int fd, struct msghdr *hdr, int flags) = real("recvmsg");
	struct sockaddr_nl from = { .nl_family = AF_NETLINK };
	size_t room = hdr->msg_iov[0].iov_len, len = reply_len;

	if (!reply_len)
		return libc(fd, hdr, flags);
	memcpy(hdr->msg_name, &from, sizeof(from));
	hdr->msg_namelen = sizeof(from);
	hdr->msg_controllen = 0;
	hdr->msg_flags = len > room ? MSG_TRUNC : 0;
	memcpy(hdr->msg_iov[0].iov_base, reply, len < room ? len : room);
	if (!(flags & MSG_PEEK))
		reply_len = 0;
	return flags & MSG_TRUNC || len < room ? len : room;
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	(void)clock;
	ts->tv_sec = now / (1000 * MS);
	ts->tv_nsec = now % (1000 * MS);
	return 0;
}

int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	int (*libc)(struct pollfd *fds, nfds_t n, int timeout) = real("poll");

	if (n)
		return libc(fds, n, timeout);
	now += timeout * MS;
	return 0;
}
