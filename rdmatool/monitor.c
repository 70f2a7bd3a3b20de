// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Events as they happen: RDMA devices that come and go, by RDMA netlink, and QPs
 * of xroce that try again or fail, by a BPF program on the module's tracepoints.
 * Owns the connection to either.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <netlink/netlink.h>
#include <xroce/monitor.h>

#include "stat.h"

/* Of <rdma/rdma_netlink.h> since Linux 6.12; older headers do not have them. */
enum {
	GROUP_NOTIFY	= 4,
	CMD_MONITOR	= 28,
	ATTR_EVENT_TYPE	= 102,
};

/**
 * struct monitor - what is watched
 * @name: of one device, or NULL
 * @done: events printed
 * @tried: to see QPs: not before there is a module
 */
struct monitor {
	const char *name;
	struct end end;
	u64 done;
	bool tried;
};

/* @ns: when it was, by the clock of BPF programs; 0: now */
static bool begin_event(struct monitor *m, const char *dev, u64 ns)
{
	u64 ago = ns ? now_ns(CLOCK_MONOTONIC) - ns : 0;

	char buf[32];

	if (m->name && strcmp(m->name, dev))
		return false;
	if (!end_wait(&m->end, m->done))
		return false;
	m->done++;
	out_row();
	out_str("time", time_stamp(buf, sizeof(buf), ago));
	return true;
}

static void on_device(struct nlattr **tb, struct monitor *m)
{
	static const char *const names[] = {
		"registered", "unregistered", "netdev attached",
		"netdev detached", "renamed", "netdev renamed",
	};
	const char *dev = "";
	u8 type;

	if (!tb[ATTR_EVENT_TYPE] || !tb[RDMA_NLDEV_ATTR_DEV_INDEX])
		return;
	if (tb[RDMA_NLDEV_ATTR_DEV_NAME])
		dev = nla_get_string(tb[RDMA_NLDEV_ATTR_DEV_NAME]);
	if (!begin_event(m, dev, 0))
		return;
	out_dev(dev, nla_get_u32(tb[RDMA_NLDEV_ATTR_DEV_INDEX]),
		tb[RDMA_NLDEV_ATTR_PORT_INDEX] ?
		nla_get_u32(tb[RDMA_NLDEV_ATTR_PORT_INDEX]) : 0);
	type = nla_get_u8(tb[ATTR_EVENT_TYPE]);
	if (type < ARRAY_SIZE(names))
		out_str("event", names[type]);
	else
		out_fmt("event", "%u", type);
	if (tb[RDMA_NLDEV_ATTR_NDEV_NAME])
		out_str("netdev", nla_get_string(tb[RDMA_NLDEV_ATTR_NDEV_NAME]));
	out_row_end();
}

static int on_message(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *nlh = nlmsg_hdr(msg);
	struct nlattr *tb[256];

	if (nlh->nlmsg_type == RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, CMD_MONITOR) &&
	    !nlmsg_parse(nlh, 0, tb, ARRAY_SIZE(tb) - 1, NULL))
		on_device(tb, arg);
	return NL_OK;
}

static struct nl_sock *open_devices(struct monitor *m)
{
	struct nl_sock *sk = nl_socket_alloc();
	int err;

	if (!sk)
		fail("out of memory");
	nl_socket_disable_seq_check(sk);
	nl_socket_modify_cb(sk, NL_CB_VALID, NL_CB_CUSTOM, on_message, m);
	err = nl_connect(sk, NETLINK_RDMA);
	if (!err)
		err = nl_socket_add_membership(sk, GROUP_NOTIFY);
	if (!err)
		err = nl_socket_set_nonblocking(sk);
	if (err)
		fail("monitor: cannot listen to RDMA netlink: %s",
		     nl_geterror(err));
	return sk;
}

static void read_devices(struct nl_sock *sk)
{
	int err = nl_recvmsgs_default(sk);

	if (err == -NLE_NOMEM)
		warn("monitor: events of devices were lost");
	else if (err < 0 && err != -NLE_AGAIN && err != -NLE_INTR)
		fail("monitor: RDMA netlink: %s", nl_geterror(err));
}

#ifdef HAVE_BPF

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "monitor.skel.h"

static struct xroce_monitor *skel;
static struct ring_buffer *rb;

static int on_qp(void *arg, void *data, size_t size)
{
	const struct xroce_qp_event *e = data;
	struct monitor *m = arg;

	if (!begin_event(m, e->name, e->ns))
		return 0;
	out_dev(e->name, e->dev, 0);
	out_str("event", e->kind == XROCE_EVENT_RETRY ? "retry" : "error");
	out_uint("lqpn", e->qpn);
	if (e->dqpn)
		out_uint("rqpn", e->dqpn);
	if (e->kind == XROCE_EVENT_RETRY) {
		out_str("why", e->why < XROCE_CNT_MAX ? xroce_counters[e->why][0] : "?");
		out_uint("psn", e->psn);
		out_uint("next", e->next);
		out_uint("retries", e->retries);
		out_uint("rnr_retries", e->rnr_retries);
	} else {
		if (e->status)
			out_str("status", wc_status_name(e->status));
		if (e->nak)
			out_str("nak", nak_name(e->nak));
		if (!e->status && !e->nak)
			out_str("status", "told to");
	}
	out_row_end();
	return 0;
}

/* Return: a file descriptor to poll, or -1 after saying why QPs are not seen. */
static int open_qps(struct monitor *m)
{
	struct stat net;
	int err;

	bpf_log_start();
	skel = xroce_monitor__open();
	if (skel && !stat("/proc/self/ns/net", &net))
		skel->rodata->netns = net.st_ino;
	err = skel ? xroce_monitor__load(skel) ?: xroce_monitor__attach(skel) :
		     -errno;
	if (!err) {
		rb = ring_buffer__new(bpf_map__fd(skel->maps.ring), on_qp, m,
				      NULL);
		if (rb)
			return ring_buffer__epoll_fd(rb);
		err = -errno;
	}
	warn("monitor: devices only, not their QPs: %s%s%s%s", strerror(-err),
	     *bpf_log() ? " (" : "", bpf_log(), *bpf_log() ? ")" : "");
	xroce_monitor__destroy(skel);
	skel = NULL;
	return -1;
}

static void read_qps(void)
{
	static u64 lost;

	ring_buffer__consume(rb);
	if (skel->bss->lost == lost)
		return;
	warn("monitor: %llu events of QPs were lost",
	     (unsigned long long)(skel->bss->lost - lost));
	lost = skel->bss->lost;
}

static void close_qps(void)
{
	ring_buffer__free(rb);
	xroce_monitor__destroy(skel);
}

#else /* !HAVE_BPF */

static int open_qps(struct monitor *m)
{
	warn("monitor: devices only: this rdmatool was built without BPF");
	return -1;
}

static void read_qps(void)
{
}

static void close_qps(void)
{
}

#endif

/* Once there is a module, which has no QPs before its first device is registered. */
static void look_for_qps(struct monitor *m, struct pollfd *fd)
{
	if (m->tried || !xroce_there())
		return;
	m->tried = true;
	fd->fd = open_qps(m);
}

/**
 * cmd_monitor() - print what happens
 */
void cmd_monitor(int argc, char **argv)
{
	const char *dev = NULL, *count = NULL, *time = NULL;
	const struct arg args[] = {
		{ "dev", &dev }, { "-c", &count }, { "-t", &time }, {}
	};
	struct pollfd fds[2];
	struct monitor m = {};
	struct nl_sock *sk;
	int wait;

	parse_args("monitor", args, argc, argv);
	m.name = dev ? rdev_word((char *)dev) : NULL;	/* of argv */
	m.end = end_parse("monitor", count, time);
	sk = open_devices(&m);
	fds[0] = (struct pollfd){ .fd = nl_socket_get_fd(sk), .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = -1, .events = POLLIN };
	look_for_qps(&m, &fds[1]);
	end_begin(&m.end);
	out_open(NULL);
	warn("monitoring, end with Ctrl-C");
	while ((wait = end_wait(&m.end, m.done))) {
		if (poll(fds, 2, wait) < 0)
			continue;
		if (fds[0].revents)
			read_devices(sk);
		look_for_qps(&m, &fds[1]);
		if (fds[1].revents)
			read_qps();
		fflush(stdout);
	}
	out_close();
	close_qps();
	nl_socket_free(sk);
}
