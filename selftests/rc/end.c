// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An end: carries out commands with nothing but the libibverbs API, and serves
 * them over a socket (Unix, which crosses network namespaces, or TCP). One
 * thread, no locks. A verb that fails is reported, never retried.
 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "end.h"

struct end_qp {
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_comp_channel *chan;
	bool own_cq;
};

bool end_is_rxe;

static struct ibv_context *ctx;
static struct ibv_pd *pds[2];
static struct end_qp qps[MAX_QP];
static struct ibv_mr *mrs[MAX_MR];
static struct ibv_mw *mws[MAX_MR];
static struct ibv_port_attr port;
static struct ibv_device_attr dev_attr;
static union ibv_gid gid;
static int gid_index = -1;
static uint8_t *arena;

static int find_gid(int family)
{
	static const uint8_t v4[12] = { [10] = 0xff, [11] = 0xff };
	struct ibv_gid_entry e[256];
	ssize_t n = ibv_query_gid_table(ctx, e, 256, 0);

	for (ssize_t i = 0; i < n; i++) {
		int is = memcmp(e[i].gid.raw, v4, 12) ? 6 : 4;
		bool local = e[i].gid.raw[0] == 0xfe;

		if (e[i].gid_type != IBV_GID_TYPE_ROCE_V2 || local ||
		    is != family)
			continue;
		gid = e[i].gid;
		gid_index = e[i].gid_index;
		return 0;
	}
	return -ENOENT;
}

int end_open(const char *name, int family)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	if (!ctx) {
		fprintf(stderr, "# no device %s, or it cannot be opened\n", name);
		return -1;
	}
	if (ibv_query_port(ctx, 1, &port) || ibv_query_device(ctx, &dev_attr)) {
		fprintf(stderr, "# %s: query: %m\n", name);
		return -1;
	}
	if (find_gid(family)) {
		fprintf(stderr, "# %s: no RoCE v2 GID for IPv%d\n", name, family);
		return -1;
	}
	pds[0] = ibv_alloc_pd(ctx);
	pds[1] = ibv_alloc_pd(ctx);
	arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!pds[0] || !pds[1] || arena == MAP_FAILED) {
		fprintf(stderr, "# %s: PD or memory: %m\n", name);
		return -1;
	}
	return 0;
}

/* A stream of bytes that a wrong offset or another seed does not repeat. */
static uint64_t pattern(uint64_t seed, uint64_t i)
{
	uint64_t x = (seed << 32) + i + 1;

	x *= 0x9e3779b97f4a7c15;
	x ^= x >> 29;
	return x * 0xbf58476d1ce4e5b9;
}

static void fill(uint8_t *p, uint64_t len, uint64_t seed)
{
	uint64_t i, v;

	for (i = 0; i < len; i += 8) {
		v = pattern(seed, i);
		memcpy(p + i, &v, len - i < 8 ? len - i : 8);
	}
}

/* Offset of the first byte that differs, or @len. */
static uint64_t check(const uint8_t *p, uint64_t len, uint64_t seed)
{
	uint64_t i, v;

	for (i = 0; i < len; i += 8) {
		v = pattern(seed, i);
		if (!memcmp(p + i, &v, len - i < 8 ? len - i : 8))
			continue;
		while (p[i] == (uint8_t)v) {
			v >>= 8;
			i++;
		}
		return i;
	}
	return len;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}

static int del_qp(struct end_qp *q)
{
	int ret = q->qp ? ibv_destroy_qp(q->qp) : 0;

	if (!ret && q->own_cq) {
		ret = q->cq ? ibv_destroy_cq(q->cq) : 0;
		if (!ret && q->chan)
			ret = ibv_destroy_comp_channel(q->chan);
	}
	memset(q, 0, sizeof(*q));
	return ret;
}

static int make_qp(const struct cmd *c, struct rep *r)
{
	const struct qp_opt *o = &c->opt;
	struct end_qp *q = &qps[c->i];
	uint32_t depth = o->depth ?: 64;
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = o->sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD | (o->annex ?
			IBV_QP_INIT_ATTR_SEND_OPS_FLAGS : 0),
		.send_ops_flags = IBV_QP_EX_WITH_FLUSH |
			IBV_QP_EX_WITH_ATOMIC_WRITE,
		.pd = pds[o->pd],
		.cap = {
			.max_send_wr = depth,
			.max_recv_wr = depth,
			.max_send_sge = o->max_sge ?: 4,
			.max_recv_sge = o->max_sge ?: 4,
			.max_inline_data = o->max_inline,
		},
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = o->no_access ? 0 : o->access ?:
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	};

	del_qp(q);		/* what a failed test left */
	if (o->shared_cq) {
		q->cq = qps[0].cq;
		q->chan = qps[0].chan;
		q->own_cq = false;
	} else {
		q->chan = ibv_create_comp_channel(ctx);
		if (!q->chan)
			return errno;
		q->cq = ibv_create_cq(ctx, o->depth > 1000 ? 2 * depth : 4096,
				      NULL, q->chan,
				      (q - qps) % ctx->num_comp_vectors);
		if (!q->cq)
			return errno;
		q->own_cq = true;
	}
	init.send_cq = q->cq;
	init.recv_cq = q->cq;
	q->qp = ibv_create_qp_ex(ctx, &init);
	if (!q->qp)
		return errno;
	r->n = q->qp->qp_num;
	r->max_inline = init.cap.max_inline_data;
	return ibv_modify_qp(q->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			     IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static int connect_qp(const struct cmd *c)
{
	const struct qp_opt *o = &c->opt;
	struct end_qp *q = &qps[c->i];
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = (enum ibv_mtu)o->mtu,
		.dest_qp_num = c->dqpn,
		.rq_psn = c->dpsn,
		.max_dest_rd_atomic = (uint8_t)(o->rd ?: 16),
		.min_rnr_timer = (uint8_t)(o->min_rnr ?: 12),
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = {
				.dgid = c->dgid,
				.sgid_index = (uint8_t)gid_index,
				.hop_limit = 64,
			},
		},
	};
	int ret = ibv_modify_qp(q->qp, &attr, IBV_QP_STATE | IBV_QP_AV |
				IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				IBV_QP_MIN_RNR_TIMER);

	if (ret)
		return ret;
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = c->psn;
	attr.timeout = (uint8_t)o->timeout;
	attr.retry_cnt = (uint8_t)(o->retry ? o->retry - 1 : 7);
	attr.rnr_retry = (uint8_t)(o->rnr_retry ? o->rnr_retry - 1 : 7);
	attr.max_rd_atomic = (uint8_t)(o->rd ?: 16);
	return ibv_modify_qp(q->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN |
			     IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

/* @len bytes of addresses over HUGE_PERIOD bytes of memory, again and again. */
static uint8_t *map_huge(uint64_t len)
{
	int fd = memfd_create("xroce_rc", 0);
	uint8_t *base;
	uint64_t i;

	if (fd < 0 || ftruncate(fd, HUGE_PERIOD))
		return NULL;
	base = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (i = 0; base != MAP_FAILED && i < len; i += HUGE_PERIOD)
		if (mmap(base + i, HUGE_PERIOD, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
			base = MAP_FAILED;
	close(fd);
	return base == MAP_FAILED ? NULL : base;
}

/* What struct ibv_send_wr has no place for; a FLUSH of no length is the region's */
static int post_annex(struct ibv_qp_ex *qp, const struct wr *w)
{
	uint32_t len = w->sge[0].len;

	ibv_wr_start(qp);
	qp->wr_id = w->id;
	qp->wr_flags = w->flags;
	if (w->opcode == IBV_WR_FLUSH)
		ibv_wr_flush(qp, w->rkey, w->raddr, len, IBV_FLUSH_GLOBAL,
			     len ? IBV_FLUSH_RANGE : IBV_FLUSH_MR);
	else
		ibv_wr_atomic_write(qp, w->rkey, w->raddr, &w->swap);
	return ibv_wr_complete(qp);
}

/* Window @w->imm, bound in MR @w->pad to the SGE, by @w->rkey from now on */
static int post_bind(struct ibv_qp *qp, const struct wr *w)
{
	struct ibv_send_wr wr = {
		.wr_id = w->id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = w->flags,
		.bind_mw = {
			.mw = mws[w->imm],
			.rkey = w->rkey,
			.bind_info = {
				.mr = mrs[w->pad],
				.addr = w->sge[0].addr,
				.length = w->sge[0].len,
				.mw_access_flags = IBV_ACCESS_REMOTE_WRITE |
					IBV_ACCESS_REMOTE_READ |
					IBV_ACCESS_REMOTE_ATOMIC,
			},
		},
	}, *bad;
	int ret = ibv_post_send(qp, &wr, &bad);

	/* rdma_rxe's provider takes the one to be replaced from here */
	if (!ret)
		mws[w->imm]->rkey = w->rkey;
	return ret;
}

static int post_send(const struct cmd *c)
{
	const struct wr *w = &c->wr;
	struct ibv_sge sge[MAX_SGE];
	struct ibv_send_wr wr = {
		.wr_id = w->id,
		.sg_list = sge,
		.num_sge = (int)w->num_sge,
		.opcode = (enum ibv_wr_opcode)w->opcode,
		.send_flags = w->flags,
	}, *bad;
	uint32_t i;

	if (w->opcode == IBV_WR_FLUSH || w->opcode == IBV_WR_ATOMIC_WRITE)
		return post_annex(ibv_qp_to_qp_ex(qps[c->i].qp), w);
	if (w->opcode == IBV_WR_BIND_MW)
		return post_bind(qps[c->i].qp, w);
	for (i = 0; i < w->num_sge && i < MAX_SGE; i++) {
		sge[i].addr = w->sge[i].addr;
		sge[i].length = w->sge[i].len;
		sge[i].lkey = w->sge[i].lkey;
	}
	if (w->opcode == IBV_WR_SEND_WITH_INV || w->opcode == IBV_WR_LOCAL_INV)
		wr.invalidate_rkey = w->imm;
	else
		wr.imm_data = htobe32(w->imm);
	if (w->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	    w->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = w->raddr;
		wr.wr.atomic.rkey = w->rkey;
		wr.wr.atomic.compare_add = w->compare;
		wr.wr.atomic.swap = w->swap;
	} else {
		wr.wr.rdma.remote_addr = w->raddr;
		wr.wr.rdma.rkey = w->rkey;
	}
	return ibv_post_send(qps[c->i].qp, &wr, &bad);
}

static int post_recv(const struct cmd *c)
{
	const struct wr *w = &c->wr;
	struct ibv_sge sge[MAX_SGE];
	struct ibv_recv_wr wr = {
		.wr_id = w->id,
		.sg_list = sge,
		.num_sge = (int)w->num_sge,
	}, *bad;
	uint32_t i;

	for (i = 0; i < w->num_sge && i < MAX_SGE; i++) {
		sge[i].addr = w->sge[i].addr;
		sge[i].length = w->sge[i].len;
		sge[i].lkey = w->sge[i].lkey;
	}
	return ibv_post_recv(qps[c->i].qp, &wr, &bad);
}

/* Up to @c->len completions of @c->i's CQ within @c->v ms. */
static int poll_cq(const struct cmd *c, struct rep *r)
{
	uint32_t want = c->len < MAX_WC ? (uint32_t)c->len : MAX_WC;
	int64_t end = now_ms() + (int64_t)c->v;
	unsigned int idle = 0;
	struct ibv_wc wc;
	int n;

	for (r->n = 0; r->n < want; ) {
		n = ibv_poll_cq(qps[c->i].cq, 1, &wc);
		if (n < 0)
			return EIO;
		if (!n) {
			if (now_ms() >= end)
				break;
			if (++idle > 20)
				usleep(idle > 1000 ? 1000 : 50);
			continue;
		}
		r->wc[r->n++] = (struct wc) {
			.id = wc.wr_id,
			.status = wc.status,
			.opcode = wc.opcode,
			.len = wc.byte_len,
			.imm = wc.wc_flags & IBV_WC_WITH_INV ?
				wc.invalidated_rkey : be32toh(wc.imm_data),
			.flags = wc.wc_flags,
			.qpn = wc.qp_num,
		};
		idle = 0;
	}
	return 0;
}

/* Whether an event of @c->i's channel comes within @c->v ms: r->n */
static int get_event(const struct cmd *c, struct rep *r)
{
	struct pollfd p = { .fd = qps[c->i].chan->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *arg;
	int ret = poll(&p, 1, (int)c->v);

	if (ret < 0)
		return errno;
	if (!ret)
		return 0;
	if (ibv_get_cq_event(qps[c->i].chan, &cq, &arg))
		return errno;
	ibv_ack_cq_events(cq, 1);
	r->n = 1;
	return 0;
}

/* Counter @c->v of the device, as it was at most 10 ms ago: r->v */
static int get_count(const struct cmd *c, struct rep *r)
{
	static const char * const names[] = {
		[COUNT_SENT] = "sent_pkts",
		[COUNT_RCVD] = "rcvd_pkts",
		[COUNT_UNTAKEN] = "tx_untaken",
	};
	unsigned long long v;
	char path[512];
	FILE *f;
	int n;

	snprintf(path, sizeof(path), "%s/ports/1/hw_counters/%s",
		 ctx->device->ibdev_path, names[c->v]);
	f = fopen(path, "r");
	if (!f)
		return errno;
	n = fscanf(f, "%llu", &v);
	fclose(f);
	r->v = v;
	return n == 1 ? 0 : EIO;
}

static int hello(struct rep *r)
{
	r->gid = gid;
	r->mtu = port.active_mtu;
	r->max_msg = port.max_msg_sz;
	r->max_sge = (uint32_t)dev_attr.max_sge;
	r->atomic_glob = dev_attr.atomic_cap == IBV_ATOMIC_GLOB;
	r->rxe = end_is_rxe;
	r->addr = (uintptr_t)arena;
	return 0;
}

/* A window of type 2, as MW @c->i */
static int alloc_mw(const struct cmd *c, struct rep *r)
{
	mws[c->i] = ibv_alloc_mw(pds[0], IBV_MW_TYPE_2);
	if (!mws[c->i])
		return errno;
	r->rkey = mws[c->i]->rkey;
	return 0;
}

/* Register [@c->addr, + @c->len) with access @c->v in PD @c->psn as MR @c->i */
static int reg_mr(const struct cmd *c, struct rep *r)
{
	struct ibv_mr *mr;

	mr = ibv_reg_mr(pds[c->psn], (void *)(uintptr_t)c->addr, c->len,
			(unsigned int)c->v);
	if (!mr)
		return errno;
	mrs[c->i] = mr;
	r->lkey = mr->lkey;
	r->rkey = mr->rkey;
	return 0;
}

static int query_state(const struct cmd *c, struct rep *r)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int ret = ibv_query_qp(qps[c->i].qp, &attr, IBV_QP_STATE, &init);

	r->n = attr.qp_state;
	return ret;
}

void end_do(const struct cmd *c, struct rep *r)
{
	struct ibv_qp_attr err = { .qp_state = IBV_QPS_ERR };
	uint8_t *p = (uint8_t *)(uintptr_t)c->addr;
	bool is_mr = c->op >= CMD_MR && c->op <= CMD_MW_DEL;

	memset(r, 0, sizeof(*r));
	if (c->i >= (is_mr ? MAX_MR : MAX_QP)) {
		r->err = E2BIG;
		return;
	}
	switch (c->op) {
	case CMD_HELLO:
		r->err = hello(r);
		break;
	case CMD_QP:
		r->err = make_qp(c, r);
		break;
	case CMD_CONNECT:
		r->err = connect_qp(c);
		break;
	case CMD_QP_DEL:
		r->err = del_qp(&qps[c->i]);
		break;
	case CMD_QP_ERR:
		r->err = ibv_modify_qp(qps[c->i].qp, &err, IBV_QP_STATE);
		break;
	case CMD_QP_STATE:
		r->err = query_state(c, r);
		break;
	case CMD_MR:
		r->err = reg_mr(c, r);
		break;
	case CMD_MR_DEL:
		r->err = ibv_dereg_mr(mrs[c->i]);
		mrs[c->i] = NULL;
		break;
	case CMD_MW:
		r->err = alloc_mw(c, r);
		break;
	case CMD_MW_DEL:
		r->err = ibv_dealloc_mw(mws[c->i]);
		mws[c->i] = NULL;
		break;
	case CMD_FILL:
		fill(p, c->len, c->v);
		break;
	case CMD_CHECK:
		r->v = check(p, c->len, c->v);
		break;
	case CMD_SET:
		memcpy(p, &c->v, 8);
		break;
	case CMD_GET:
		memcpy(&r->v, p, 8);
		break;
	case CMD_ADD:
		for (uint64_t i = 0; i < c->len; i++)
			__atomic_fetch_add((uint64_t *)p, c->v, __ATOMIC_SEQ_CST);
		break;
	case CMD_HUGE:
		r->addr = (uintptr_t)map_huge(c->len);
		r->err = r->addr ? 0 : ENOMEM;
		break;
	case CMD_SEND:
		r->err = post_send(c);
		break;
	case CMD_RECV:
		r->err = post_recv(c);
		break;
	case CMD_POLL:
		r->err = poll_cq(c, r);
		break;
	case CMD_ARM:
		r->err = ibv_req_notify_cq(qps[c->i].cq, c->v != 0);
		break;
	case CMD_EVENT:
		r->err = get_event(c, r);
		break;
	case CMD_COUNT:
		r->err = get_count(c, r);
		break;
	default:
		r->err = EINVAL;
	}
}

int end_read(int fd, void *p, size_t len)
{
	ssize_t n;

	for (; len; len -= (size_t)n, p = (char *)p + n) {
		n = read(fd, p, len);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			return -1;
	}
	return 0;
}

int end_write(int fd, const void *p, size_t len)
{
	ssize_t n;

	for (; len; len -= (size_t)n, p = (const char *)p + n) {
		n = send(fd, p, len, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			return -1;
	}
	return 0;
}

/* "/path" is a Unix socket, "[host]:port" is TCP. */
static int make_socket(const char *where, bool listening)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *ai = NULL;
	char host[128] = "";
	const char *port;
	int fd, one = 1, ret;

	if (*where == '/') {
		snprintf(un.sun_path, sizeof(un.sun_path), "%s", where);
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		ret = listening ?
			bind(fd, (struct sockaddr *)&un, sizeof(un)) :
			connect(fd, (struct sockaddr *)&un, sizeof(un));
	} else {
		port = strrchr(where, ':');
		if (!port)
			return -1;
		snprintf(host, sizeof(host), "%.*s", (int)(port - where), where);
		if (listening)
			hints.ai_flags = AI_PASSIVE;
		if (getaddrinfo(*host ? host : NULL, port + 1, &hints, &ai))
			return -1;
		fd = socket(ai->ai_family, SOCK_STREAM, 0);
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		ret = listening ? bind(fd, ai->ai_addr, ai->ai_addrlen) :
			connect(fd, ai->ai_addr, ai->ai_addrlen);
		freeaddrinfo(ai);
	}
	if (!ret && listening)
		ret = listen(fd, 1);
	if (ret) {
		close(fd);
		return -1;
	}
	return fd;
}

/* The server may be a moment later than the client: try for 20 s. */
int end_dial(const char *where)
{
	int fd, i;

	for (i = 0; i < 400; i++) {
		fd = make_socket(where, false);
		if (fd >= 0)
			return fd;
		usleep(50000);
	}
	return -1;
}

int end_serve(const char *where)
{
	static struct cmd c;
	static struct rep r;
	int lfd, fd;

	if (*where == '/')
		unlink(where);
	lfd = make_socket(where, true);
	if (lfd < 0) {
		fprintf(stderr, "# cannot listen on %s: %m\n", where);
		return 1;
	}
	fd = accept(lfd, NULL, NULL);
	close(lfd);
	if (*where == '/')
		unlink(where);
	while (fd >= 0 && !end_read(fd, &c, sizeof(c))) {
		if (c.op == CMD_BYE)
			return 0;
		end_do(&c, &r);
		if (end_write(fd, &r, sizeof(r)))
			break;
	}
	fprintf(stderr, "# the client went away\n");
	return 1;
}
