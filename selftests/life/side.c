// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A side's objects: made and connected, and destroyed in any order, where what
 * is still in use says so. Run by the side's process.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "life.h"
#include "netns.h"

/*
 * Once, before there are sides: libibverbs has all its drivers loaded by then. In
 * a namespace where there are devices, or it would not.
 */
void side_prepare(void)
{
	if (opts.ns[0])
		netns_enter(opts.ns[0]);
	ibv_free_device_list(ibv_get_device_list(NULL));
}

/* Keep the device, but not the namespace. */
static void leave(int home)
{
	if (setns(home, CLONE_NEWNET) || umount2("/sys", MNT_DETACH))
		err(1, "leaving a namespace");
}

void side_open(struct side *s)
{
	int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), i;
	struct ibv_device **list;

	if (opts.ns[s->me])
		netns_enter(opts.ns[s->me]);
	list = ibv_get_device_list(NULL);
	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), opts.dev[s->me]))
			s->ctx = ibv_open_device(list[i]);
	if (!s->ctx)
		errx(1, "cannot open %s", opts.dev[s->me]);
	ibv_free_device_list(list);
	if (opts.leave && opts.ns[s->me])
		leave(home);
	close(home);
	fcntl(s->ctx->async_fd, F_SETFL, O_NONBLOCK);
}

void side_find_gid(struct side *s, union ibv_gid *gid)
{
	const char *addr = opts.addr[s->me];
	union ibv_gid is, want = {};
	int i;

	want.raw[10] = 0xff;
	want.raw[11] = 0xff;
	if (addr && inet_pton(AF_INET, addr, want.raw + 12) != 1)
		errx(1, "'%s' is no address", addr);
	for (i = 0; i < 256; i++) {
		if (!ibv_query_gid(s->ctx, 1, i, &is) &&
		    !memcmp(&is, &want, addr ? 16 : 12)) {
			/* which others may be writing too: they look for the same */
			*gid = is;
			s->gid_index = i;
			return;
		}
	}
	errx(1, "%s has no GID of %s", opts.dev[s->me], addr ?: "an IPv4 address");
}

static enum ibv_qp_type qp_type(int q)
{
	static const enum ibv_qp_type type[] = {
		[Q_RC] = IBV_QPT_RC, [Q_UC] = IBV_QPT_UC, [Q_UD] = IBV_QPT_UD,
		[Q_SRQ] = IBV_QPT_RC, [Q_XRC] = IBV_QPT_XRC_SEND,
	};

	return type[q];
}

static void make_memory(struct side *s)
{
	size_t len = area(AREA_END), i;

	s->mem = mmap(NULL, len, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s->mem == MAP_FAILED)
		err(1, "memory");
	for (i = 0; i < SLOT; i++)
		s->mem[area(AREA_CONST) + i] = i * 31;
	NEED(s->mr = ibv_reg_mr(s->pd, s->mem, len, IBV_ACCESS_LOCAL_WRITE |
				IBV_ACCESS_REMOTE_WRITE |
				IBV_ACCESS_REMOTE_READ |
				IBV_ACCESS_REMOTE_ATOMIC));
}

/* From RESET */
void side_init_qp(struct side *s, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = 0x11111111,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	int mask = IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX;

	mask |= qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	if (qp->qp_type != IBV_QPT_UC)
		attr.qp_access_flags |= IBV_ACCESS_REMOTE_READ |
					IBV_ACCESS_REMOTE_ATOMIC;
	NEED(!ibv_modify_qp(qp, &attr, mask));
}

/**
 * side_make_xrc() - a domain of XRC, a queue in it, and a target
 * @s: the side, with a PD and a CQ
 * @fd: the file that is the domain's name, -1: none
 * @oflags: O_CREAT, O_EXCL
 * @target: whether to make one
 */
void side_make_xrc(struct side *s, int fd, int oflags, bool target)
{
	struct ibv_xrcd_init_attr domain = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = fd,
		.oflags = oflags,
	};
	struct ibv_srq_init_attr_ex srq = {
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.attr = { RECVS, 1, 0 },
		.srq_type = IBV_SRQT_XRC,
		.pd = s->pd,
		.cq = s->cq,
	};
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
	};

	NEED(s->xrcd = ibv_open_xrcd(s->ctx, &domain));
	srq.xrcd = s->xrcd;
	init.xrcd = s->xrcd;
	NEED(s->xsrq = ibv_create_srq_ex(s->ctx, &srq));
	if (target)
		NEED(s->target = ibv_create_qp_ex(s->ctx, &init));
}

struct ibv_qp *side_make_qp(struct side *s, int i)
{
	struct ibv_qp_init_attr init = {
		.send_cq = s->cq,
		.recv_cq = i == Q_XRC ? NULL : s->cq,
		.srq = i == Q_SRQ ? s->srq : NULL,
		.qp_type = qp_type(i),
		.cap = { SENDS, i == Q_XRC ? 0 : RECVS, 1, i != Q_XRC, 64 },
	};

	return ibv_create_qp(s->pd, &init);
}

static void make_qps(struct side *s)
{
	struct ibv_srq_init_attr srq = { .attr = { RECVS, 1, 0 } };
	int i;

	NEED(s->srq = ibv_create_srq(s->pd, &srq));
	side_make_xrc(s, -1, O_CREAT, true);
	side_init_qp(s, s->target);
	for (i = 0; i < NQ; i++) {
		NEED(s->qp[i] = side_make_qp(s, i));
		side_init_qp(s, s->qp[i]);
	}
}

/* From INIT, to who is in s->peer */
void side_connect_qp(struct side *s, struct ibv_qp *qp, uint32_t to,
		     uint32_t psn)
{
	struct ibv_qp_attr attr = {
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = to,
		.rq_psn = s->peer.psn,
		.sq_psn = psn,
		.max_dest_rd_atomic = 4,
		.max_rd_atomic = 4,
		.min_rnr_timer = 1,
		.timeout = opts.timeout,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = {
			.is_global = 1, .port_num = 1,
			.grh = { .dgid = s->peer.gid, .hop_limit = 9,
				 .sgid_index = s->gid_index },
		},
	};
	int rtr = IBV_QP_STATE, rts = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (qp->qp_type != IBV_QPT_UD)
		rtr |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
		       IBV_QP_RQ_PSN;
	else
		NEED(s->ah = ibv_create_ah(s->pd, &attr.ah_attr));
	if (qp->qp_type == IBV_QPT_RC || qp->qp_type == IBV_QPT_XRC_RECV) {
		rtr |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
		rts |= IBV_QP_TIMEOUT;
	}
	if (qp->qp_type == IBV_QPT_RC || qp->qp_type == IBV_QPT_XRC_SEND)
		rts |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		       IBV_QP_MAX_QP_RD_ATOMIC;
	attr.qp_state = IBV_QPS_RTR;
	NEED(!ibv_modify_qp(qp, &attr, rtr));
	attr.qp_state = IBV_QPS_RTS;
	NEED(!ibv_modify_qp(qp, &attr, rts));
}

static void swap(int fd, const void *out, void *in, size_t len)
{
	if (write(fd, out, len) != (ssize_t)len ||
	    read(fd, in, len) != (ssize_t)len)
		errx(1, "the peer did not come up");
}

/* All of a side, connected with the other, which is at @fd. */
void side_make(struct side *s, int fd)
{
	struct peer self = { .psn = rnd() & 0xffffff };
	int i;

	side_find_gid(s, &self.gid);
	NEED(s->pd = ibv_alloc_pd(s->ctx));
	NEED(s->channel = ibv_create_comp_channel(s->ctx));
	NEED(s->cq = ibv_create_cq(s->ctx, 2 * NQ * (SENDS + RECVS), NULL,
				   s->channel,
				   rnd() % 2 % s->ctx->num_comp_vectors));
	make_memory(s);
	make_qps(s);
	for (i = 0; i < NQ; i++)
		self.qpn[i] = s->qp[i]->qp_num;
	self.target = s->target->qp_num;
	NEED(!ibv_get_srq_num(s->xsrq, &self.srqn));
	self.rkey = s->mr->rkey;
	self.va = (uintptr_t)s->mem;
	swap(fd, &self, &s->peer, sizeof(self));
	for (i = 0; i < NQ; i++)
		side_connect_qp(s, s->qp[i], i == Q_XRC ? s->peer.target :
				s->peer.qpn[i], self.psn);
	side_connect_qp(s, s->target, s->peer.qpn[Q_XRC], self.psn);
	/* Nobody sends before both are there */
	swap(fd, &self, &self, 1);
}

enum {
	O_QP, O_TARGET = NQ, O_CQ, O_SRQ, O_XSRQ, O_XRCD, O_MR, O_AH, O_PD,
	O_CHANNEL, O_END
};

static int destroy(struct side *s, int o)
{
	switch (o) {
	case O_CQ:
		return ibv_destroy_cq(s->cq);
	case O_SRQ:
		return ibv_destroy_srq(s->srq);
	case O_TARGET:
		return ibv_destroy_qp(s->target);
	case O_XSRQ:
		return ibv_destroy_srq(s->xsrq);
	case O_XRCD:
		return ibv_close_xrcd(s->xrcd);
	case O_MR:
		return ibv_dereg_mr(s->mr);
	case O_AH:
		return ibv_destroy_ah(s->ah);
	case O_PD:
		return ibv_dealloc_pd(s->pd);
	case O_CHANNEL:
		return ibv_destroy_comp_channel(s->channel);
	default:
		return ibv_destroy_qp(s->qp[o]);
	}
}

/* Which of the objects an object has to outlive. */
static unsigned int users(int o)
{
	const unsigned int qps = (1 << NQ) - 1;

	switch (o) {
	case O_CQ:
		return qps | 1 << O_XSRQ;
	case O_SRQ:
		return 1 << Q_SRQ;
	case O_PD:
		return qps | 1 << O_SRQ | 1 << O_XSRQ | 1 << O_MR | 1 << O_AH;
	case O_XRCD:
		return 1 << O_TARGET | 1 << O_XSRQ;
	case O_CHANNEL:
		return 1 << O_CQ;
	default:
		return 0;
	}
}

/**
 * side_free() - destroy all of a side's objects in random order
 * @s: the side
 * @busy: try those in use too: they are busy. Not where the device may be gone
 */
bool side_free(struct side *s, bool busy)
{
	unsigned int left = (1 << O_END) - 1;
	bool ok = true;
	int o, ret, want;

	while (left) {
		o = rnd() % O_END;
		if (!(left & 1 << o))
			continue;
		want = users(o) & left ? EBUSY : 0;
		if (want && !busy)
			continue;
		ret = destroy(s, o);
		if (ret != want) {
			warnx("side %d: destroying %d: %s, not %s (left: %#x)",
			      s->me, o, strerror(ret), strerror(want), left);
			ok = false;
		}
		if (!want)
			left &= ~(1u << o);
	}
	ret = ibv_close_device(s->ctx);
	if (ret)
		warnx("side %d: close: %s", s->me, strerror(ret));
	munmap(s->mem, area(AREA_END));
	return ok && !ret;
}

/* Every page of a ring, as it may be used at any time. */
static void use(volatile uint8_t *p, size_t len)
{
	size_t i;

	for (i = 0; i < len; i += 512)
		p[i] = p[i] + 1;
}

struct ring {
	uint8_t *p;
	size_t len;
};

/* A child's: it has its own mapping, of which a part goes before the rest does. */
static int rings_inherited(const struct ring *ring, int n)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	int i;

	for (i = 0; i < n; i++) {
		use(ring[i].p, ring[i].len);
		if (ring[i].len > page && munmap(ring[i].p + page, page))
			return 1;
	}
	return 0;
}

static bool ring_outlives(const struct ring *ring)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	size_t len = ring->len;
	volatile uint8_t *to;

	use(ring->p, len);
	to = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	to = mremap(ring->p, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	if (to == MAP_FAILED) {
		warn("mremap");
		return false;
	}
	use(to, len);
	if (len > page && munmap((void *)(to + page), len - page)) {
		warn("munmap of a part");
		return false;
	}
	use(to, page);
	munmap((void *)to, page);
	return true;
}

/*
 * The rings of this process, whose device or module has gone, are memory like
 * any other. They are none of libibverbs' any more.
 */
bool side_maps(void)
{
	struct ring ring[64];
	unsigned long from, to;
	int n = 0, i, status = 0;
	char line[512];
	pid_t pid;
	FILE *f;

	f = fopen("/proc/self/maps", "r");
	while (f && n < 64 && fgets(line, sizeof(line), f))
		if (strstr(line, "uverbs") && sscanf(line, "%lx-%lx", &from, &to) == 2)
			ring[n++] = (struct ring){ (void *)from, to - from };
	if (f)
		fclose(f);
	/* SQ and RQ each, a CQ, an SRQ, adjacent ones as one */
	if (!n) {
		warnx("no ring was mapped");
		return false;
	}
	/* One for all: on a kernel that checks everything fork() is dear */
	pid = fork();
	if (!pid)
		_exit(rings_inherited(ring, n));
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status) {
		warnx("a child with the mappings: status %#x", status);
		return false;
	}
	for (i = 0; i < n; i++)
		if (!ring_outlives(&ring[i]))
			return false;
	return true;
}
