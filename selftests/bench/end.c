// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * One end of a measurement by plain libibverbs: its objects, its memory, and
 * the loops that are measured, which know of no device's habits. One thread.
 */
#include <arpa/inet.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench.h"
#include "mark.h"

#define MAX_LIST 64
#define BATCH	 64

static size_t slot_size(const struct spec *s)
{
	return (s->size + 63) & ~63ul;
}

/* Messages have a place of their own in memory until they have all been used. */
uint64_t end_slots(const struct spec *s)
{
	if (s->op == OP_BIND || s->op == OP_REG)
		return 1;
	return s->size > 65536 ? 8 : 64;
}

static size_t mem_size(const struct spec *s)
{
	return slot_size(s) * end_slots(s);
}

static uint8_t *slot(struct end *e, uint64_t i)
{
	return e->mem + i % end_slots(&e->s) * slot_size(&e->s);
}

/* What a byte is, of all that was sent. */
static uint8_t pattern(uint64_t slot, uint64_t off)
{
	uint64_t x = (slot << 32) + off / 8 + 1;

	x = (x ^ x >> 17) * 0x9e3779b97f4a7c15;
	return x >> (off % 8 * 8);
}

int end_open(struct end *e, const char *dev)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (int i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), dev))
			e->ctx = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	return e->ctx ? 0 : -1;
}

static int gid_index(struct end *e, int family, union ibv_gid *gid)
{
	struct ibv_gid_entry entry;
	struct ibv_port_attr port;
	bool v4, local;

	if (ibv_query_port(e->ctx, 1, &port))
		fail("ibv_query_port");
	for (int i = 0; i < port.gid_tbl_len; i++) {
		if (ibv_query_gid_ex(e->ctx, 1, i, &entry, 0) ||
		    entry.gid_type != IBV_GID_TYPE_ROCE_V2)
			continue;
		v4 = IN6_IS_ADDR_V4MAPPED((struct in6_addr *)&entry.gid);
		local = IN6_IS_ADDR_LINKLOCAL((struct in6_addr *)&entry.gid);
		if (local || family != (v4 ? 4 : 6))
			continue;
		*gid = entry.gid;
		return i;
	}
	fail("no RoCE v2 GID of IPv%d", family);
}

static void to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_READ |
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
	};

	if (ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			  IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		fail("QP to INIT: %m");
}

static void reg(struct end *e)
{
	e->mr = ibv_reg_mr(e->pd, e->mem, mem_size(&e->s),
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
			   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC |
			   (e->s.op == OP_BIND ? IBV_ACCESS_MW_BIND : 0));
	if (!e->mr)
		fail("ibv_reg_mr: %m");
}

/* What the other end may use the memory by. */
uint32_t end_key(const struct end *e)
{
	return e->mw ? e->mw->rkey : e->mr->rkey;
}

/* Objects, as @s wants them; what the other must know into @me. */
void end_setup(struct end *e, const struct spec *s, struct msg *me)
{
	struct ibv_device_attr attr;
	int depth[2];

	e->s = *s;
	depth[SENDS] = s->qps * s->depth;
	depth[RECVS] = s->op == OP_SEND ? s->qps * s->rdepth : 1;
	if (s->op == OP_NONE)
		depth[SENDS] = 1;
	if (ibv_query_device(e->ctx, &attr))
		fail("ibv_query_device: %m");
	e->pd = ibv_alloc_pd(e->ctx);
	e->mem = mmap(NULL, mem_size(s), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (!e->pd || e->mem == MAP_FAILED)
		fail("PD or memory: %m");
	reg(e);
	e->mw = s->op == OP_BIND ? ibv_alloc_mw(e->pd, IBV_MW_TYPE_1) : NULL;
	if (s->op == OP_BIND && !e->mw)
		fail("ibv_alloc_mw: %m");
	for (int i = SENDS; i <= RECVS; i++) {
		e->chan[i] = ibv_create_comp_channel(e->ctx);
		e->cq[i] = e->chan[i] ? ibv_create_cq(e->ctx, depth[i], NULL,
						      e->chan[i], 0) : NULL;
		if (!e->cq[i])
			fail("CQ of %d: %m", depth[i]);
		e->armed[i] = false;
	}
	for (uint32_t q = 0; q < s->qps; q++) {
		struct ibv_qp_init_attr init = {
			.qp_type = IBV_QPT_RC,
			.send_cq = e->cq[SENDS], .recv_cq = e->cq[RECVS],
			.cap = {
				.max_send_wr = s->depth, .max_send_sge = 1,
				.max_recv_wr = s->rdepth, .max_recv_sge = 1,
				.max_inline_data = s->inl ? s->size : 0,
			},
		};

		e->qp[q] = ibv_create_qp(e->pd, &init);
		if (!e->qp[q])
			fail("QP %u: %m", q);
		to_init(e->qp[q]);
		me->qpn[q] = e->qp[q]->qp_num;
		e->sent[q] = e->done[q] = e->rcvd[q] = e->rposted[q] = 0;
		e->shared->reposted[q] = 0;
	}
	me->spec = *s;
	me->addr = (uintptr_t)e->mem;
	me->rkey = e->mr->rkey;
	me->rd = attr.max_qp_rd_atom < 16 ? attr.max_qp_rd_atom : 16;
	gid_index(e, s->family, &me->gid);
}

static enum ibv_mtu mtu_code(uint32_t mtu)
{
	enum ibv_mtu code = IBV_MTU_256;

	while (128u << code < mtu)
		code++;
	return code;
}

/* Receives of QP @q until it has all that it may; the other is told. */
static void repost(struct end *e, uint32_t q)
{
	struct ibv_recv_wr wr[BATCH], *bad;
	struct ibv_sge sge[BATCH];
	uint64_t end = e->rcvd[q] + e->s.rdepth;
	int n;

	while (e->rposted[q] < end) {
		for (n = 0; n < BATCH && e->rposted[q] < end; n++) {
			sge[n].addr = (uintptr_t)slot(e, e->rposted[q]++);
			sge[n].length = e->s.size;
			sge[n].lkey = e->mr->lkey;
			wr[n].wr_id = q;
			wr[n].sg_list = &sge[n];
			wr[n].num_sge = 1;
			wr[n].next = &wr[n + 1];
		}
		wr[n - 1].next = NULL;
		if (ibv_post_recv(e->qp[q], wr, &bad))
			fail("ibv_post_recv: %m");
	}
	e->shared->reposted[q] = e->rposted[q];
}

void end_connect(struct end *e, const struct msg *far)
{
	union ibv_gid gid;
	uint8_t index = gid_index(e, e->s.family, &gid);

	e->far = *far;
	for (uint32_t q = 0; q < e->s.qps; q++) {
		struct ibv_qp_attr a = {
			.qp_state = IBV_QPS_RTR,
			.path_mtu = mtu_code(e->s.mtu),
			.dest_qp_num = far->qpn[q],
			.max_dest_rd_atomic = far->rd,
			.min_rnr_timer = 12,
			.ah_attr = {
				.is_global = 1, .port_num = 1,
				.grh = { .dgid = far->gid, .hop_limit = 64,
					 .sgid_index = index },
			},
		};

		if (ibv_modify_qp(e->qp[q], &a, IBV_QP_STATE | IBV_QP_AV |
				  IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				  IBV_QP_MIN_RNR_TIMER))
			fail("QP to RTR: %m");
		if (e->s.op == OP_SEND)
			repost(e, q);
		a = (struct ibv_qp_attr) {
			.qp_state = IBV_QPS_RTS, .timeout = 18,
			.retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = far->rd,
		};
		if (ibv_modify_qp(e->qp[q], &a, IBV_QP_STATE | IBV_QP_TIMEOUT |
				  IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
			fail("QP to RTS: %m");
	}
}

/* Atomics count in the first word of the target, and leave the count before. */
void end_clear(struct end *e, bool full)
{
	size_t size = slot_size(&e->s);

	memset(e->mem, 0, mem_size(&e->s));
	for (size_t i = 0; i < mem_size(&e->s); i += 4096)
		MARK_PAGE(e->mem + i);
	for (uint64_t i = 0; full && i < end_slots(&e->s); i++)
		for (uint64_t j = 0; j < e->s.size; j++)
			e->mem[i * size + j] = pattern(i, j);
}

/* All slots hold what was sent, or an atomic's word is @v. */
void end_check(struct end *e, uint64_t v)
{
	if (e->s.op == OP_ATOMIC) {
		if (*(uint64_t *)e->mem != v)
			fail("the word is %lu, %lu were added",
			     *(uint64_t *)e->mem, v);
		return;
	}
	for (uint64_t i = 0; i < end_slots(&e->s); i++)
		for (uint64_t j = 0; j < e->s.size; j++)
			if (slot(e, i)[j] != pattern(i, j))
				fail("byte %lu of slot %lu is not what was sent",
				     j, i);
}

/* Completions of a CQ: at once, or by what the spec waits with. */
static int reap(struct end *e, int i, struct ibv_wc *wc, bool wait)
{
	struct ibv_cq *cq;
	void *context;
	int n;

	for (;;) {
		n = ibv_poll_cq(e->cq[i], BATCH, wc);
		if (n < 0)
			fail("ibv_poll_cq: %m");
		for (int k = 0; k < n; k++)
			if (wc[k].status)
				fail("completion: %s",
				     ibv_wc_status_str(wc[k].status));
		if (n || !wait)
			return n;
		if (e->s.wait == WAIT_YIELD) {
			sched_yield();
		} else if (e->s.wait == WAIT_EVENTS && !e->armed[i]) {
			if (ibv_req_notify_cq(e->cq[i], 0))
				fail("ibv_req_notify_cq: %m");
			e->armed[i] = true;
		} else if (e->s.wait == WAIT_EVENTS) {
			if (ibv_get_cq_event(e->chan[i], &cq, &context))
				fail("ibv_get_cq_event: %m");
			ibv_ack_cq_events(cq, 1);
			e->armed[i] = false;
		}
	}
}

static void post(struct end *e, uint32_t q, uint32_t count)
{
	static const enum ibv_wr_opcode opcodes[] = {
		[OP_WRITE] = IBV_WR_RDMA_WRITE, [OP_READ] = IBV_WR_RDMA_READ,
		[OP_ATOMIC] = IBV_WR_ATOMIC_FETCH_AND_ADD,
		[OP_SEND] = IBV_WR_SEND, [OP_BIND] = IBV_WR_RDMA_WRITE,
		[OP_REG] = IBV_WR_RDMA_WRITE,
	};
	struct ibv_send_wr wr[MAX_LIST], *bad;
	struct ibv_sge sge[MAX_LIST];
	uint32_t i;

	for (i = 0; i < count; i++) {
		uint8_t *p = slot(e, e->sent[q]);

		sge[i].addr = (uintptr_t)p;
		sge[i].length = e->s.size;
		sge[i].lkey = e->mr->lkey;
		wr[i].wr_id = q;
		wr[i].next = &wr[i + 1];
		wr[i].sg_list = &sge[i];
		wr[i].num_sge = 1;
		wr[i].opcode = opcodes[e->s.op];
		wr[i].send_flags = e->s.inl ? IBV_SEND_INLINE : 0;
		if (++e->sent[q] % e->s.sig == 0)
			wr[i].send_flags |= IBV_SEND_SIGNALED;
		if (e->s.op == OP_ATOMIC) {
			wr[i].wr.atomic.remote_addr = e->far.addr;
			wr[i].wr.atomic.rkey = e->far.rkey;
			wr[i].wr.atomic.compare_add = 1;
		} else {
			wr[i].wr.rdma.remote_addr = e->far.addr + (p - e->mem);
			wr[i].wr.rdma.rkey = e->far.rkey;
		}
	}
	wr[count - 1].next = NULL;
	if (ibv_post_send(e->qp[q], wr, &bad))
		fail("ibv_post_send: %m");
}

static void sends_done(struct end *e, bool wait)
{
	struct ibv_wc wc[BATCH];
	int n = reap(e, SENDS, wc, wait);

	for (int i = 0; i < n; i++)
		e->done[wc[i].wr_id] += e->s.sig;
}

static bool room(struct end *e, uint32_t q)
{
	const struct spec *s = &e->s;

	return e->sent[q] + s->list - e->done[q] <= s->depth &&
	       (s->op != OP_SEND ||
		e->sent[q] + s->list <= e->shared->reposted[q]);
}

/* @n messages, a list to each QP in turn, and their completions. */
void end_send(struct end *e, uint64_t n)
{
	uint64_t each = n / e->s.qps, end = e->sent[0] + each;
	bool posted, pending, left;

	do {
		posted = pending = left = false;
		for (uint32_t q = 0; q < e->s.qps; q++) {
			if (e->sent[q] < end && room(e, q)) {
				post(e, q, e->s.list);
				posted = true;
			}
			left |= e->done[q] < end;
			pending |= e->sent[q] - e->done[q] >= e->s.sig;
		}
		if (!posted && !pending && left)
			sched_yield();	/* the other has yet to repost */
		else if (!posted && left)
			sends_done(e, true);
	} while (left);
}

/* @n receives, of any QP, a quarter of its queue reposted at a time. */
void end_recv(struct end *e, uint64_t n)
{
	uint32_t chunk = e->s.rdepth < 256 ? e->s.rdepth / 4 : BATCH;
	struct ibv_wc wc[BATCH];
	int k;

	while (n) {
		k = reap(e, RECVS, wc, true);
		n -= k;
		for (int i = 0; i < k; i++) {
			uint32_t q = wc[i].wr_id;

			if (wc[i].byte_len != e->s.size)
				fail("%u bytes received", wc[i].byte_len);
			e->rcvd[q]++;
			if (e->rcvd[q] + e->s.rdepth >= e->rposted[q] + chunk)
				repost(e, q);
		}
	}
}

static void take(struct end *e)
{
	struct ibv_wc wc[BATCH];

	if (reap(e, RECVS, wc, true) != 1)
		fail("two messages at once");
	e->rcvd[0]++;
	repost(e, 0);
}

/* A message that is answered: its send completes unseen, now and then polled. */
static void give(struct end *e)
{
	while (e->sent[0] - e->done[0] >= e->s.depth)
		sends_done(e, false);
	post(e, 0, 1);
}

static void bind_window(struct end *e)
{
	struct ibv_mw_bind b = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = {
			.mr = e->mr, .addr = (uintptr_t)e->mem,
			.length = e->s.size,
			.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
		},
	};

	e->sent[0]++;
	if (ibv_bind_mw(e->qp[0], e->mw, &b))
		fail("ibv_bind_mw: %m");
	sends_done(e, true);
}

/* @n round trips, or what the client does alone. */
void end_ping(struct end *e, uint64_t n)
{
	while (n--) {
		if (e->s.op == OP_SEND) {
			give(e);
			take(e);
		} else if (e->s.op == OP_BIND) {
			bind_window(e);
		} else if (e->s.op == OP_REG) {
			if (ibv_dereg_mr(e->mr))
				fail("ibv_dereg_mr: %m");
			reg(e);
		} else {
			post(e, 0, 1);
			sends_done(e, true);
		}
	}
}

void end_pong(struct end *e, uint64_t n)
{
	while (n--) {
		take(e);
		give(e);
	}
}

void end_free(struct end *e)
{
	for (uint32_t q = 0; q < e->s.qps; q++)
		if (ibv_destroy_qp(e->qp[q]))
			fail("ibv_destroy_qp: %m");
	for (int i = SENDS; i <= RECVS; i++)
		if (ibv_destroy_cq(e->cq[i]) ||
		    ibv_destroy_comp_channel(e->chan[i]))
			fail("ibv_destroy_cq: %m");
	if ((e->mw && ibv_dealloc_mw(e->mw)) || ibv_dereg_mr(e->mr) ||
	    ibv_dealloc_pd(e->pd))
		fail("ibv_dereg_mr: %m");
	munmap(e->mem, mem_size(&e->s));
}
