// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * UC, UD, SRQs, multicast and QP states by the unmodified libibverbs API, every
 * byte compared. Owns both hosts: this one process opens a device in each of two
 * network namespaces, which are looked at only then. One thread.
 *
 *   xroce_ud [-r] -a DEVICE[@NAMESPACE] -b DEVICE[@NAMESPACE] [-x a|b|ab] [-6]
 *	      [-A ADDRESS -B ADDRESS] [-m MTU] [-l FILE] TEST...
 *
 * -r, which comes first, exchanges the hosts' parts; -x says which are rdma_rxe,
 * -6 to use IPv6, -A and -B which address; -l writes each completion. Each result is
 * a line "ok NAME", "not ok NAME # why" or "skip NAME # why".
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>

#include "ud.h"

struct host hosts[2];
int opt_family = 4;
enum ibv_mtu opt_mtu;

char reason[256];
static unsigned int failures, results;

/* The latest QPs, for the log of completions */
#define MADE	1024u
static struct {
	uint32_t qpn;
	enum side side;
	bool srq;
} qps[MADE];
static uint32_t made;
static FILE *opt_log;

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	{ "uc", test_uc },		/* operation x MTU x size */
	{ "ud", test_ud },		/* size, GRH, address handles */
	{ "shape", test_shape },	/* SGEs, inline, unsignalled, mixed */
	{ "drop", test_drop },		/* what is not delivered, and why */
	{ "sqe", test_sqe },		/* errors of a send queue alone */
	{ "srq", test_srq },
	{ "mcast", test_mcast },
	{ "state", test_state },	/* every transition and attribute */
	{ "attr", test_attr },		/* every value out of range */
	{ "traffic", test_traffic },	/* what each state does with traffic */
	{ "av", test_av },		/* address vectors, for a capture */
	{ "stream", test_stream },	/* UC and UD over a network that loses */
};

void report(bool good, const char *fmt, ...)
{
	char name[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	if (good)
		printf("ok %s\n", name);
	else
		printf("not ok %s # %s\n", name, reason);
	fflush(stdout);
	failures += !good;
	results++;
}

void skip(const char *name, const char *cause)
{
	printf("skip %s # %s\n", name, cause);
	fflush(stdout);
	results++;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}

int attr_needed(enum ibv_qp_type type, enum ibv_qp_state from,
		enum ibv_qp_state to)
{
	bool ud = type == IBV_QPT_UD;

	if (from == IBV_QPS_RESET && to == IBV_QPS_INIT)
		return IBV_QP_PKEY_INDEX | IBV_QP_PORT |
		       (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
	if (from == IBV_QPS_INIT && to == IBV_QPS_RTR)
		return ud ? 0 : IBV_QP_AV | IBV_QP_PATH_MTU |
		       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		       (answers(type) ? IBV_QP_MAX_DEST_RD_ATOMIC |
					IBV_QP_MIN_RNR_TIMER : 0);
	if (from == IBV_QPS_RTR && to == IBV_QPS_RTS)
		return IBV_QP_SQ_PSN |
		       (asks(type) || answers(type) ? IBV_QP_TIMEOUT : 0) |
		       (asks(type) ? IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_MAX_QP_RD_ATOMIC : 0);
	return 0;
}

/* It has no queues, and nobody's memory: those come with what it receives. */
static bool ep_target(struct ep *e, enum side s)
{
	struct ibv_xrcd_init_attr domain = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
	};

	memset(e, 0, sizeof(*e));
	e->side = s;
	e->type = IBV_QPT_XRC_RECV;
	e->xrcd = ibv_open_xrcd(hosts[s].ctx, &domain);
	NEED(e->xrcd, "open XRC domain: %s", strerror(errno));
	attr.xrcd = e->xrcd;
	e->qp = ibv_create_qp_ex(hosts[s].ctx, &attr);
	NEED(e->qp, "create QP: %s", strerror(errno));
	return true;
}

bool ep_make(struct ep *e, enum side s, enum ibv_qp_type type,
	     struct ibv_qp_init_attr_ex *init)
{
	struct ibv_qp_init_attr_ex attr = {
		.cap = {
			.max_send_wr = 128,
			.max_recv_wr = 128,
			.max_send_sge = MAX_SGE,
			.max_recv_sge = MAX_SGE,
			.max_inline_data = 128,
		},
	};
	struct host *h = &hosts[s];

	if (type == IBV_QPT_XRC_RECV)
		return ep_target(e, s);
	if (init)
		attr = *init;
	memset(e, 0, sizeof(*e));
	e->side = s;
	e->type = type;
	e->scq = attr.send_cq ?: ibv_create_cq(h->ctx, CQE, NULL, NULL, 0);
	e->rcq = attr.recv_cq ?: ibv_create_cq(h->ctx, CQE, NULL, NULL, 0);
	NEED(e->scq && e->rcq, "create CQ: %s", strerror(errno));
	attr.qp_type = type;
	attr.send_cq = e->scq;
	if (type == IBV_QPT_XRC_SEND) {
		attr.cap.max_recv_wr = 0;
		attr.cap.max_recv_sge = 0;
	} else {
		attr.recv_cq = e->rcq;
	}
	attr.pd = attr.pd ?: h->pd;
	attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
	if (type != IBV_QPT_UD)
		attr.send_ops_flags |= IBV_QP_EX_WITH_RDMA_WRITE |
				       IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
	e->qp = ibv_create_qp_ex(h->ctx, &attr);
	NEED(e->qp, "create QP: %s", strerror(errno));
	qps[made % MADE].qpn = e->qp->qp_num;
	qps[made % MADE].side = s;
	qps[made++ % MADE].srq = attr.srq;
	e->qpx = ibv_qp_to_qp_ex(e->qp);
	e->max_inline = attr.cap.max_inline_data;
	return true;
}

struct ibv_ah_attr ah_attr(enum side s, const union ibv_gid *dgid)
{
	return (struct ibv_ah_attr) {
		.is_global = 1,
		.port_num = 1,
		.grh = {
			.dgid = dgid ? *dgid : hosts[!s].gid,
			.sgid_index = hosts[s].gid_index,
			.hop_limit = 64,
		},
	};
}

struct ibv_ah *ah_make(enum side s, const union ibv_gid *dgid)
{
	struct ibv_ah_attr attr = ah_attr(s, dgid);
	struct ibv_ah *ah = ibv_create_ah(hosts[s].pd, &attr);

	if (!ah)
		why("create AH: %s", strerror(errno));
	return ah;
}

struct ibv_qp_attr ep_attr(const struct ep *e, const struct ep *peer,
			   enum ibv_mtu mtu)
{
	return (struct ibv_qp_attr) {
		.path_mtu = mtu,
		.path_mig_state = IBV_MIG_MIGRATED,
		.qkey = QKEY,
		.rq_psn = 0xfffff0 + !e->side,
		.sq_psn = 0xfffff0 + e->side,
		.dest_qp_num = peer ? peer->qp->qp_num : 0x123456,
		.qp_access_flags = ANY_ACCESS,
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.port_num = 1,
		.timeout = 18,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = ah_attr(e->side, NULL),
	};
}

int ep_step(struct ep *e, const struct ibv_qp_attr *attr,
	    enum ibv_qp_state from, enum ibv_qp_state to)
{
	struct ibv_qp_attr a = *attr;

	a.qp_state = to;
	return ibv_modify_qp(e->qp, &a, IBV_QP_STATE |
			     attr_needed(e->type, from, to));
}

bool ep_bring(struct ep *e, const struct ep *peer, enum ibv_mtu mtu,
	      enum ibv_qp_state to)
{
	static const enum ibv_qp_state path[] = {
		IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
		IBV_QPS_SQD,
	};
	struct ibv_qp_attr attr = ep_attr(e, peer, mtu);
	int i, err;

	if (to == IBV_QPS_RESET)
		return true;
	for (i = 0; path[i] != to && i < 4; i++) {
		if (to == IBV_QPS_ERR && path[i] == IBV_QPS_RTS)
			break;
		err = ep_step(e, &attr, path[i], path[i + 1]);
		NEED(!err, "%s to state %d: %s", type_name(e->type),
		     path[i + 1], strerror(err));
	}
	if (to == IBV_QPS_ERR) {
		err = ep_step(e, &attr, path[i], to);
		NEED(!err, "to ERR: %s", strerror(err));
	}
	return true;
}

enum ibv_qp_state ep_state(const struct ep *e)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return ibv_query_qp(e->qp, &attr, IBV_QP_STATE, &init) ?
	       IBV_QPS_UNKNOWN : attr.qp_state;
}

/* A completion may be there before the QP's new state, as by a NAK that leaves first. */
bool ep_becomes(const struct ep *e, enum ibv_qp_state state)
{
	int64_t end = now_ms() + 1000 * WAIT_S;

	while (ep_state(e) != state) {
		NEED(now_ms() < end, "QP in state %d", ep_state(e));
		usleep(1000);
	}
	return true;
}

bool ep_free(struct ep *e)
{
	int err = e->qp ? ibv_destroy_qp(e->qp) : 0;

	NEED(!err, "destroy QP: %s", strerror(err));
	/* in use by others: theirs to destroy */
	if (e->scq)
		ibv_destroy_cq(e->scq);
	if (e->rcq && e->rcq != e->scq)
		ibv_destroy_cq(e->rcq);
	err = e->xrcd ? ibv_close_xrcd(e->xrcd) : 0;
	NEED(!err, "close XRC domain: %s", strerror(err));
	memset(e, 0, sizeof(*e));
	return true;
}

bool pair_make(struct ep p[2], enum ibv_qp_type type, enum ibv_mtu mtu)
{
	memset(p, 0, 2 * sizeof(*p));
	TRY(ep_make(&p[A], A, type, NULL));
	TRY(ep_make(&p[B], B, type, NULL));
	TRY(ep_bring(&p[A], &p[B], mtu, IBV_QPS_RTS));
	return ep_bring(&p[B], &p[A], mtu, IBV_QPS_RTS);
}

bool pair_free(struct ep p[2])
{
	TRY(ep_free(&p[A]));
	return ep_free(&p[B]);
}

int cut(enum side s, uint32_t off, uint32_t len, int n, struct ibv_sge *sge)
{
	/* within the GRH, at its end, and a byte alone */
	static const uint32_t piece[] = { 13, 27, 1 };
	uint32_t l;
	int i;

	for (i = 0; i < n; i++) {
		l = i == n - 1 || len < piece[i] ? len : piece[i];
		sge[i] = (struct ibv_sge) {
			.addr = (uintptr_t)hosts[s].mem + off,
			.length = l,
			.lkey = hosts[s].mr->lkey,
		};
		off += l;
		len -= l;
	}
	return n;
}

static int post_ex(struct ep *e, const struct msg *m, const struct ibv_sge *sge,
		   int n)
{
	struct ibv_qp_ex *x = e->qpx;
	uint64_t raddr = (uintptr_t)hosts[!e->side].mem + m->roff;
	uint32_t rkey = m->rkey ?: hosts[!e->side].mr->rkey;

	ibv_wr_start(x);
	x->wr_id = m->id;
	x->wr_flags = m->flags & ~IBV_SEND_INLINE;
	switch (m->op) {
	case IBV_WR_SEND:
		ibv_wr_send(x);
		break;
	case IBV_WR_SEND_WITH_IMM:
		ibv_wr_send_imm(x, htobe32(m->imm));
		break;
	case IBV_WR_RDMA_WRITE:
		ibv_wr_rdma_write(x, rkey, raddr);
		break;
	default:
		ibv_wr_rdma_write_imm(x, rkey, raddr, htobe32(m->imm));
	}
	if (e->type == IBV_QPT_UD)
		ibv_wr_set_ud_addr(x, m->ah, m->qpn, m->qkey);
	if (m->flags & IBV_SEND_INLINE)
		ibv_wr_set_inline_data(x, hosts[e->side].mem + m->off, m->len);
	else
		ibv_wr_set_sge_list(x, n, sge);
	return ibv_wr_complete(x);
}

int post(struct ep *e, const struct msg *m)
{
	struct ibv_sge sge[MAX_SGE];
	struct ibv_send_wr *bad, wr = {
		.wr_id = m->id,
		.sg_list = sge,
		.num_sge = cut(e->side, m->off, m->len, m->sges ?: 1, sge),
		.opcode = m->op,
		.send_flags = m->flags,
		.imm_data = htobe32(m->imm),
	};
	int i;

	for (i = 0; m->lkey && i < wr.num_sge; i++)
		sge[i].lkey = m->lkey;
	/* rdma_rxe fails datagrams and UC posted that way */
	if (m->wr_api && !hosts[e->side].rxe)
		return post_ex(e, m, sge, wr.num_sge);
	if (e->type == IBV_QPT_UD) {
		wr.wr.ud.ah = m->ah;
		wr.wr.ud.remote_qpn = m->qpn;
		wr.wr.ud.remote_qkey = m->qkey;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)hosts[!e->side].mem +
					 m->roff;
		wr.wr.rdma.rkey = m->rkey ?: hosts[!e->side].mr->rkey;
	}
	return ibv_post_send(e->qp, &wr, &bad);
}

int post_recv(struct ep *e, uint64_t id, uint32_t off, uint32_t len)
{
	struct ibv_sge sge;
	struct ibv_recv_wr *bad, wr = {
		.wr_id = id,
		.sg_list = &sge,
		.num_sge = cut(e->side, off, len, 1, &sge),
	};

	return ibv_post_recv(e->qp, &wr, &bad);
}

static int poll_within(struct ibv_cq *cq, struct ibv_wc *wc, int ms)
{
	int64_t end = now_ms() + ms;
	unsigned int idle = 0;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, wc)) && now_ms() < end)
		if (++idle > 20)
			usleep(idle > 500 ? 1000 : 50);
	return n;
}

/*
 * What does not differ from run to run: not a QP's number, but how many were made
 * before it; nor which receive of several QPs' it took.
 */
static void log_wc(const struct ibv_wc *wc)
{
	bool recv = wc->opcode & IBV_WC_RECV;
	uint32_t i = made - 1;

	while (i && qps[i % MADE].qpn != wc->qp_num)
		i--;
	fprintf(opt_log, "%c %u %s id=%#llx status=%u opcode=%u len=%u imm=%#x flags=%#x\n",
		'A' + qps[i % MADE].side, i, recv ? "recv" : "send",
		(unsigned long long)(recv && qps[i % MADE].srq ? 0 : wc->wr_id),
		wc->status, wc->opcode, wc->byte_len,
		wc->wc_flags & IBV_WC_WITH_IMM ? be32toh(wc->imm_data) : 0, wc->wc_flags);
}

bool reap_as(struct ibv_cq *cq, struct ibv_wc *wc, enum ibv_wc_status status)
{
	NEED(poll_within(cq, wc, 1000 * WAIT_S) == 1, "no completion");
	if (opt_log)
		log_wc(wc);
	NEED(wc->status == status, "completion of %llu: %s, not %s",
	     (unsigned long long)wc->wr_id, ibv_wc_status_str(wc->status),
	     ibv_wc_status_str(status));
	return true;
}

bool reap(struct ibv_cq *cq, struct ibv_wc *wc, int n)
{
	int i;

	for (i = 0; i < n; i++)
		TRY(reap_as(cq, wc + i, IBV_WC_SUCCESS));
	return true;
}

bool none(struct ibv_cq *cq, int ms)
{
	struct ibv_wc wc;

	NEED(!poll_within(cq, &wc, ms), "a completion too many: %llu, %s",
	     (unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status));
	return true;
}

static bool next_event(enum side s, enum ibv_event_type type, int ms,
		       struct ibv_async_event *ev)
{
	struct pollfd p = { .fd = hosts[s].ctx->async_fd, .events = POLLIN };
	int64_t end = now_ms() + ms;
	int left;

	while ((left = (int)(end - now_ms())) >= 0) {
		if (poll(&p, 1, left) <= 0 ||
		    ibv_get_async_event(hosts[s].ctx, ev))
			return false;
		ibv_ack_async_event(ev);
		if (ev->event_type == type)
			return true;
	}
	return false;
}

bool event(enum side s, enum ibv_event_type type, int ms,
	   struct ibv_async_event *ev)
{
	NEED(next_event(s, type, ms, ev), "no event: %s",
	     ibv_event_type_str(type));
	return true;
}

bool no_event(enum side s, enum ibv_event_type type, int ms)
{
	struct ibv_async_event ev;

	NEED(!next_event(s, type, ms, &ev), "an event too many: %s",
	     ibv_event_type_str(type));
	return true;
}

static char pattern(uint32_t i, unsigned int seed)
{
	return (char)((i * 2654435761u >> 13) + seed * 31);
}

void fill(enum side s, uint32_t off, uint32_t len, unsigned int seed)
{
	uint32_t i;

	for (i = 0; i < len; i++)
		hosts[s].mem[off + i] = pattern(i, seed);
}

bool same(enum side s, uint32_t off, uint32_t len, unsigned int seed)
{
	uint32_t i;

	for (i = 0; i < len; i++)
		NEED(hosts[s].mem[off + i] == pattern(i, seed),
		     "byte %u of %u is wrong", i, len);
	return true;
}

void guard(enum side s, uint32_t off, uint32_t len)
{
	fill(s, off - GUARD, len + 2 * GUARD, 99);
}

bool guarded(enum side s, uint32_t off, uint32_t len)
{
	uint32_t i;

	for (i = 0; i < len + 2 * GUARD; i++) {
		if (i == GUARD)
			i += len;
		NEED(hosts[s].mem[off - GUARD + i] == pattern(i, 99),
		     "memory %s the %u bytes was changed",
		     i < GUARD ? "before" : "behind", len);
	}
	return true;
}

bool landed(enum side s, uint32_t off, uint32_t len, unsigned int seed)
{
	TRY(same(s, off, len, seed));
	return guarded(s, off, len);
}

bool untouched(enum side s, uint32_t off, uint32_t len)
{
	NEED(same(s, off - GUARD, len + 2 * GUARD, 99), "memory was changed");
	return true;
}

uint64_t counter(enum side s, const char *name)
{
	char text[32] = "";
	int fd = hosts[s].counters < 0 ? -1 :
		 openat(hosts[s].counters, name, O_RDONLY);

	if (fd < 0)
		return 0;
	usleep(20000);		/* sysfs shows values 10 ms old */
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return strtoull(text, NULL, 10);
}

bool counted(enum side s, const char *name, uint64_t was)
{
	int64_t end = now_ms() + 1000 * WAIT_S;

	if (hosts[s].rxe)
		return true;
	while (counter(s, name) == was)
		NEED(now_ms() < end, "%s did not rise", name);
	return true;
}

/* Our view of the machine becomes that of @ns. */
static int enter(const char *ns)
{
	char path[64];
	int fd, ret;

	snprintf(path, sizeof(path), "/run/netns/%s", ns);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return -1;
	ret = setns(fd, CLONE_NEWNET);
	close(fd);
	return ret ?: umount2("/sys", MNT_DETACH) ?:
	       mount("sysfs", "/sys", "sysfs", 0, NULL);
}

static bool find_gid(struct host *h, const char *addr)
{
	static const uint8_t v4[12] = { [10] = 0xff, [11] = 0xff };
	union ibv_gid want = { .raw = { [10] = 0xff, [11] = 0xff } };
	struct ibv_gid_entry e[256];
	ssize_t n = ibv_query_gid_table(h->ctx, e, 256, 0), i;
	bool v4_wanted = opt_family == 4;

	if (addr && inet_pton(AF_INET, addr, want.raw + 12) != 1 &&
	    inet_pton(AF_INET6, addr, want.raw) != 1)
		return false;
	for (i = 0; i < n; i++) {
		bool is4 = !memcmp(e[i].gid.raw, v4, 12);

		if (e[i].gid_type != IBV_GID_TYPE_ROCE_V2 ||
		    (addr ? memcmp(&e[i].gid, &want, 16) != 0 :
		     e[i].gid.raw[0] == 0xfe || is4 != v4_wanted))
			continue;
		h->gid = e[i].gid;
		h->gid_index = (int)e[i].gid_index;
		return true;
	}
	return false;
}

static bool host_open(enum side s, char *where, const char *addr)
{
	struct host *h = &hosts[s];
	char *ns = strchr(where, '@'), path[128];
	struct ibv_device **list;
	int i;

	if (ns)
		*ns++ = '\0';
	NEED(!ns || !enter(ns), "namespace %s: %s", ns, strerror(errno));
	list = ibv_get_device_list(NULL);
	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), where))
			h->ctx = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	NEED(h->ctx, "no device %s, or it cannot be opened", where);
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/hw_counters",
		 where);
	h->counters = open(path, O_RDONLY | O_DIRECTORY);
	NEED(!ibv_query_port(h->ctx, 1, &h->port) &&
	     !ibv_query_device(h->ctx, &h->attr), "query: %s", strerror(errno));
	NEED(find_gid(h, addr), "%s has no GID for %s", where,
	     addr ?: opt_family == 4 ? "IPv4" : "IPv6");
	h->pd = ibv_alloc_pd(h->ctx);
	h->pd2 = ibv_alloc_pd(h->ctx);
	h->mem = mmap(NULL, MEM, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(h->pd && h->pd2 && h->mem != MAP_FAILED, "PD: %s", strerror(errno));
	h->mr = ibv_reg_mr(h->pd, h->mem, MEM, ANY_ACCESS);
	NEED(h->mr, "register memory: %s", strerror(errno));
	return true;
}

static bool host_close(enum side s)
{
	struct host *h = &hosts[s];

	NEED(!ibv_dereg_mr(h->mr) && !ibv_dealloc_pd(h->pd) &&
	     !ibv_dealloc_pd(h->pd2), "%c: %s", 'A' + s, strerror(errno));
	NEED(!ibv_close_device(h->ctx), "close: %s", strerror(errno));
	return true;
}

/*
 * A sender that moves may overtake itself, for some netdevs queue by CPU: RC
 * gets over it, to UC it is a loss.
 */
static void stay_here(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static int usage(void)
{
	unsigned int i;

	fprintf(stderr, "usage: xroce_ud [-r] -a DEVICE[@NAMESPACE] -b DEVICE[@NAMESPACE]\n"
		"	[-x a|b|ab] [-6] [-A ADDRESS -B ADDRESS] [-m MTU]\n"
		"	[-l FILE (each completion)] TEST...\n"
		"tests:");
	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		fprintf(stderr, " %s", tests[i].name);
	fputc('\n', stderr);
	return 2;
}

static bool run_test(const char *name)
{
	unsigned int i;

	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (strcmp(tests[i].name, name))
			continue;
		tests[i].run();
		return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	char *where[2] = { NULL, NULL }, *addr[2] = { NULL, NULL };
	const char *rxe = "";
	uint32_t mtu = 4096;
	bool swap = false;
	int opt;

	while ((opt = getopt(argc, argv, "a:b:x:r6A:B:m:l:")) != -1) {
		switch (opt) {
		case 'a':
			where[swap] = optarg;
			break;
		case 'b':
			where[!swap] = optarg;
			break;
		case 'x':
			rxe = optarg;
			break;
		case 'r':
			swap = true;
			break;
		case '6':
			opt_family = 6;
			break;
		case 'A':
			addr[swap] = optarg;
			break;
		case 'B':
			addr[!swap] = optarg;
			break;
		case 'm':
			mtu = (uint32_t)atoi(optarg);
			break;
		case 'l':
			opt_log = fopen(optarg, "w");
			if (!opt_log)
				return usage();
			break;
		default:
			return usage();
		}
	}
	if (!where[A] || !where[B] || optind == argc)
		return usage();
	stay_here();
	hosts[swap].rxe = strchr(rxe, 'a');
	hosts[!swap].rxe = strchr(rxe, 'b');
	/* a file system of our own; devices without a namespace come first */
	if (unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)) {
		perror("xroce_ud: unshare");
		return 1;
	}
	opt = !!strchr(where[A], '@') && !strchr(where[B], '@');
	if (!host_open(opt ? B : A, where[opt], addr[opt]) ||
	    !host_open(opt ? A : B, where[!opt], addr[!opt])) {
		printf("not ok open # %s\n", reason);
		return 1;
	}
	opt_mtu = hosts[A].port.active_mtu;
	if (opt_mtu > hosts[B].port.active_mtu)
		opt_mtu = hosts[B].port.active_mtu;
	while (mtu_bytes(opt_mtu) > mtu)
		opt_mtu--;
	for (; optind < argc; optind++)
		if (!run_test(argv[optind]))
			return usage();
	if (!host_close(A) || !host_close(B))
		report(false, "all is given back");
	return failures || !results;
}
