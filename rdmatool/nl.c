// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Netlink by libnl: RDMA netlink, the xroce family and rtnetlink, with the
 * kernel's extended acks, which libnl's own handlers drop. Owns one socket for
 * each and the reason of the last failure.
 */
#include <errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rdmatool.h"

/* A request under way; @err is 0 or a negative errno. */
struct talk {
	nl_fn fn;
	nl_raw_fn raw;
	void *arg;
	int hdr_len;
	int maxattr;
	int err;
	bool done;
};

static struct nl_sock *rdma, *genl, *route;
static char ack_text[256];

static struct nl_sock *sock_try(int protocol, int *err)
{
	struct nl_sock *sk = nl_socket_alloc();
	int on = 1;

	if (!sk)
		fail("out of memory");
	*err = nl_connect(sk, protocol);
	if (*err) {
		nl_socket_free(sk);
		return NULL;
	}
	/* Both are only better messages: no matter when they fail. */
	setsockopt(nl_socket_get_fd(sk), SOL_NETLINK, NETLINK_EXT_ACK, &on,
		   sizeof(on));
	setsockopt(nl_socket_get_fd(sk), SOL_NETLINK, NETLINK_CAP_ACK, &on,
		   sizeof(on));
	return sk;
}

static struct nl_sock *sock_open(int protocol, const char *name)
{
	int err;
	struct nl_sock *sk = sock_try(protocol, &err);

	if (!sk)
		fail("no %s netlink: %s%s", name, nl_geterror(err),
		     protocol == NETLINK_RDMA ?
		     " (is the kernel's ib_core there?)" : "");
	return sk;
}

/* The message of an extended ack among @len bytes of attributes. */
static void save_ack(struct nlattr *attrs, int len)
{
	struct nlattr *msg = nla_find(attrs, len, NLMSGERR_ATTR_MSG);

	if (msg)
		nla_strlcpy(ack_text, msg, sizeof(ack_text));
}

static int on_valid(struct nl_msg *msg, void *arg)
{
	struct talk *t = arg;
	struct nlattr *tb[256];

	if (t->raw)
		t->raw(nlmsg_hdr(msg), t->arg);
	else if (t->fn && !nlmsg_parse(nlmsg_hdr(msg), t->hdr_len, tb,
				       t->maxattr, NULL))
		t->fn(tb, t->arg);
	return NL_OK;
}

static int on_ack(struct nl_msg *msg, void *arg)
{
	struct talk *t = arg;

	t->done = true;
	return NL_STOP;
}

/* A dump's end says how it ended. */
static int on_finish(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *nlh = nlmsg_hdr(msg);
	struct talk *t = arg;

	t->done = true;
	if (nlmsg_datalen(nlh) >= (int)sizeof(int)) {
		memcpy(&t->err, nlmsg_data(nlh), sizeof(int));
		if (t->err < 0)
			save_ack(nlmsg_attrdata(nlh, sizeof(int)),
				 nlmsg_attrlen(nlh, sizeof(int)));
		else
			t->err = 0;
	}
	return NL_STOP;
}

static int on_error(struct sockaddr_nl *who,
		    struct nlmsgerr *err, void *arg)
{
	struct nlmsghdr *nlh = (void *)((char *)err - NLMSG_HDRLEN);
	int skip = sizeof(*err);
	struct talk *t = arg;

	t->err = err->error;
	t->done = true;
	if (!(nlh->nlmsg_flags & NLM_F_CAPPED))
		skip += NLMSG_ALIGN(err->msg.nlmsg_len) - NLMSG_HDRLEN;
	if ((nlh->nlmsg_flags & NLM_F_ACK_TLVS) && nlmsg_datalen(nlh) > skip)
		save_ack(nlmsg_attrdata(nlh, skip), nlmsg_attrlen(nlh, skip));
	return NL_STOP;
}

static int talk(struct nl_sock *sk, struct nl_msg *msg, struct talk *t)
{
	struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);
	int err;

	if (!cb)
		fail("out of memory");
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_valid, t);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_ack, t);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_finish, t);
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, t);
	ack_text[0] = 0;
	err = nl_send_auto(sk, msg);
	nlmsg_free(msg);
	while (err >= 0 && !t->done)
		err = nl_recvmsgs(sk, cb);
	nl_cb_put(cb);
	if (err < 0 && !t->done)
		fail("netlink: %s", nl_geterror(err));
	if (err == -NLE_DUMP_INTR)
		warn("what was listed has changed meanwhile: it may not be all");
	return t->err;
}

static struct nl_msg *checked(struct nl_msg *msg)
{
	if (!msg)
		fail("out of memory");
	return msg;
}

static void put(int err)
{
	if (err)
		fail("the request is too long for a netlink message");
}

void put_str(struct nl_msg *msg, int attr, const char *val)
{
	put(nla_put_string(msg, attr, val));
}

void put_u32(struct nl_msg *msg, int attr, u32 val)
{
	put(nla_put_u32(msg, attr, val));
}

void put_flag(struct nl_msg *msg, int attr)
{
	put(nla_put_flag(msg, attr));
}

/**
 * nldev_msg() - begin a request to RDMA netlink
 * @cmd: RDMA_NLDEV_CMD_*
 */
struct nl_msg *nldev_msg(int cmd, int flags)
{
	return checked(nlmsg_alloc_simple(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, cmd),
					  flags));
}

/**
 * nldev_talk() - send it, and call @fn for every answer
 *
 * Return: 0 or a negative errno, for nl_why().
 */
int nldev_talk(struct nl_msg *msg, nl_fn fn, void *arg)
{
	/* A kernel may know more attributes than we do, not too many. */
	struct talk t = { .fn = fn, .arg = arg, .maxattr = 255 };

	if (!rdma)
		rdma = sock_open(NETLINK_RDMA, "RDMA");
	return talk(rdma, msg, &t);
}

/**
 * genl_msg() - begin a request to a generic netlink family
 *
 * Return: NULL when the kernel does not have it.
 */
struct nl_msg *genl_msg(const char *name, int cmd, int flags)
{
	struct nl_msg *msg;
	int id;

	if (!genl)
		genl = sock_open(NETLINK_GENERIC, "generic");
	id = genl_ctrl_resolve(genl, name);
	if (id < 0)
		return NULL;
	msg = checked(nlmsg_alloc());
	if (!genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, id, 0, flags, cmd, 1))
		fail("out of memory");
	return msg;
}

/**
 * nl_ask() - send a request of any kind, and call @fn for every answer
 *
 * Return: 0 or a negative errno, for nl_why().
 */
int nl_ask(int protocol, struct nl_msg *msg, nl_raw_fn fn, void *arg)
{
	struct talk t = { .raw = fn, .arg = arg };
	struct nl_sock *sk;
	int err;

	sk = sock_try(protocol, &err);
	if (!sk) {
		nlmsg_free(msg);
		ack_text[0] = 0;
		return -EPROTONOSUPPORT;
	}
	/* The kernel may have more to say at once than a page. */
	nl_socket_set_msg_buf_size(sk, 32768);
	err = talk(sk, msg, &t);
	nl_socket_free(sk);
	return err;
}

/**
 * xroce_there() - is the module loaded, so that its family can be asked
 *
 * Asking for a family that is not there would load its module.
 */
bool xroce_there(void)
{
	return !access("/sys/module/xroce", F_OK);
}

/**
 * xroce_msg() - begin a request to the xroce family, loading the module if need
 *	be
 */
struct nl_msg *xroce_msg(int cmd, int flags)
{
	struct nl_msg *msg = genl_msg(XROCE_FAMILY_NAME, cmd, flags);

	if (!msg)
		fail("the module xroce is not loaded, and the kernel "
		     "could not load it (try: modprobe xroce)");
	return msg;
}

int xroce_talk(struct nl_msg *msg, int maxattr, nl_fn fn, void *arg)
{
	struct talk t = {
		.fn = fn, .arg = arg, .hdr_len = GENL_HDRLEN,
		.maxattr = maxattr,
	};

	return talk(genl, msg, &t);
}

struct nl_sock *rt_sock(void)
{
	if (!route)
		route = sock_open(NETLINK_ROUTE, "route");
	return route;
}

int rt_talk(struct nl_msg *msg)
{
	struct talk t = {};

	return talk(rt_sock(), msg, &t);
}

/**
 * nl_why() - the last failure in words: the kernel's own as they came, if any
 */
const char *nl_why(int err)
{
	static char buf[400];

	if (!ack_text[0])
		return strerror(-err);
	snprintf(buf, sizeof(buf), "%s (%s)", ack_text, strerror(-err));
	return buf;
}

struct rdev_list {
	struct rdev *dev;
	size_t n;
};

static void on_rdev(struct nlattr **tb, void *arg)
{
	struct rdev_list *list = arg;
	struct rdev *dev;

	if (!tb[RDMA_NLDEV_ATTR_DEV_INDEX] || !tb[RDMA_NLDEV_ATTR_DEV_NAME])
		return;
	/* One more, for the end. */
	list->dev = realloc(list->dev, (list->n + 2) * sizeof(*dev));
	if (!list->dev)
		fail("out of memory");
	dev = &list->dev[list->n++];
	dev->index = nla_get_u32(tb[RDMA_NLDEV_ATTR_DEV_INDEX]);
	dev->ports = tb[RDMA_NLDEV_ATTR_PORT_INDEX] ?
		     nla_get_u32(tb[RDMA_NLDEV_ATTR_PORT_INDEX]) : 1;
	dev->roce = tb[RDMA_NLDEV_ATTR_DEV_PROTOCOL] &&
		    !nla_strcmp(tb[RDMA_NLDEV_ATTR_DEV_PROTOCOL], "roce");
	nla_strlcpy(dev->name, tb[RDMA_NLDEV_ATTR_DEV_NAME], sizeof(dev->name));
}

/**
 * rdev_all() - all RDMA devices; an empty name ends the list
 */
struct rdev *rdev_all(void)
{
	static struct rdev_list list;
	int err;

	if (list.dev)
		return list.dev;
	err = nldev_talk(nldev_msg(RDMA_NLDEV_CMD_GET, NLM_F_DUMP), on_rdev,
			 &list);
	if (err)
		fail("cannot list RDMA devices: %s", nl_why(err));
	if (!list.n) {
		list.dev = malloc(sizeof(*list.dev));
		if (!list.dev)
			fail("out of memory");
	}
	memset(&list.dev[list.n], 0, sizeof(*list.dev));
	return list.dev;
}

/**
 * rdev_find() - the RDMA device of that name, or NULL
 */
struct rdev *rdev_find(const char *name)
{
	struct rdev *dev;

	for (dev = rdev_all(); *dev->name; dev++)
		if (!strcmp(dev->name, name))
			return dev;
	return NULL;
}

/**
 * rdev_get() - the RDMA device of that name
 */
struct rdev *rdev_get(const char *name)
{
	struct rdev *dev = rdev_find(name);

	if (!dev)
		fail("no RDMA device \"%s\" in this network namespace", name);
	return dev;
}

static void on_name(struct nlattr **tb, void *arg)
{
	if (tb[RDMA_NLDEV_ATTR_DEV_NAME])
		nla_strlcpy(arg, tb[RDMA_NLDEV_ATTR_DEV_NAME], DEV_NAME_MAX);
}

/**
 * rdev_gone() - has it gone, or got another name, since it was listed
 */
bool rdev_gone(const struct rdev *dev)
{
	struct nl_msg *msg = nldev_msg(RDMA_NLDEV_CMD_GET, 0);
	char name[DEV_NAME_MAX] = "";
	int err;

	put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, dev->index);
	err = nldev_talk(msg, on_name, name);
	/* ib_core says EINVAL for a device that is not there. */
	if (err && err != -EINVAL && err != -ENODEV)
		fail("%s: %s", dev->name, nl_why(err));
	return strcmp(name, dev->name);
}

/**
 * rdma_there() - can RDMA devices be asked for: is there an RDMA netlink
 */
bool rdma_there(void)
{
	int err;

	if (!rdma)
		rdma = sock_try(NETLINK_RDMA, &err);
	return rdma;
}

/**
 * rdev_named() - is there one of that name, also where there is no RDMA netlink
 */
bool rdev_named(const char *name)
{
	return rdma_there() && rdev_find(name);
}

/**
 * rdev_word() - a device as out_dev() prints it, NAME/PORT, becomes NAME
 *
 * Devices of other kinds may have more than one port, and lose the name of none but the first.
 */
char *rdev_word(char *word)
{
	char *slash = strrchr(word, '/');

	if (!slash || strcmp(slash, "/1"))
		return word;
	*slash = 0;
	if (!rdev_named(word))
		*slash = '/';
	return word;
}
