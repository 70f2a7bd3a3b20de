// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Verbs as a program meets them, on one device that talks to itself: queues,
 * completions and events, and what is left of them after RESET, ERR, destroy and
 * fork. Prints "ok NAME", "not ok NAME # WHY" or "skip NAME # WHY".
 *
 *   verbs DEVICE GID-INDEX [NAME]	only tests with NAME in their names
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "verbs.h"
#include "../kverbs/module/exporter.h"

struct ibv_context *ctx;
struct ibv_pd *pd;
char *buf;
struct ibv_mr *mr;
uint32_t comp_vector;

static int gid_index, rd_init = 4, rd_dest = 4;
static union ibv_gid gid;
static const char *only = "";
char reason[256];

static bool pair_qp(struct pair *p, int side, uint32_t wr, uint32_t sge)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = p->cq[side],
		.recv_cq = p->cq[side],
		.cap = {
			.max_send_wr = wr,
			.max_recv_wr = wr,
			.max_send_sge = sge,
			.max_recv_sge = sge,
			.max_inline_data = 200,
		},
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.send_ops_flags = SEND_OPS,
	};

	p->qp[side] = ibv_create_qp_ex(ctx, &attr);
	NEED(p->qp[side], "ibv_create_qp_ex: %s", strerror(errno));
	p->qpx[side] = ibv_qp_to_qp_ex(p->qp[side]);
	p->cap = attr.cap;
	return true;
}

bool pair_make(struct pair *p, int cqe)
{
	return pair_make_cap(p, cqe, DEPTH, 4);
}

bool pair_make_cap(struct pair *p, int cqe, uint32_t wr, uint32_t sge)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe,
		.wc_flags = IBV_WC_STANDARD_FLAGS,
	};
	int i;

	memset(p, 0, sizeof(*p));
	p->channel = ibv_create_comp_channel(ctx);
	NEED(p->channel, "ibv_create_comp_channel: %s", strerror(errno));
	attr.channel = p->channel;
	for (i = 0; i < 2; i++) {
		attr.cq_context = p;
		attr.comp_vector = comp_vector;
		p->ex[i] = ibv_create_cq_ex(ctx, &attr);
		NEED(p->ex[i], "ibv_create_cq_ex: %s", strerror(errno));
		p->cq[i] = ibv_cq_ex_to_cq(p->ex[i]);
		TRY(pair_qp(p, i, wr, sge));
	}
	return pair_connect(p);
}

static bool qp_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = (ANY_ACCESS & ~IBV_ACCESS_LOCAL_WRITE) |
				   IBV_ACCESS_FLUSH_GLOBAL,
	};

	return !ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			      IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static bool qp_rtr(struct ibv_qp *qp, uint32_t peer, uint32_t psn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer,
		.rq_psn = psn,
		.max_dest_rd_atomic = rd_dest,
		.min_rnr_timer = 12,
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = {
				.dgid = gid,
				.sgid_index = gid_index,
				.hop_limit = 64,
			},
		},
	};

	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
		   IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;

	if (qp->qp_type != IBV_QPT_XRC_SEND)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return !ibv_modify_qp(qp, &attr, mask);
}

static bool qp_rts(struct ibv_qp *qp, uint32_t psn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = psn,
		.timeout = 16,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = rd_init,
	};

	int mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_SQ_PSN;

	if (qp->qp_type != IBV_QPT_XRC_RECV)
		mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	return !ibv_modify_qp(qp, &attr, mask);
}

bool qp_hear(struct ibv_qp *qp, uint32_t peer, uint32_t psn)
{
	NEED(qp_init(qp) && qp_rtr(qp, peer, psn), "QP of type %d to RTR: %s",
	     qp->qp_type, strerror(errno));
	return true;
}

bool qp_speak(struct ibv_qp *qp, uint32_t psn)
{
	NEED(qp_rts(qp, psn), "QP of type %d to RTS: %s", qp->qp_type,
	     strerror(errno));
	return true;
}

bool qp_connect(struct ibv_qp *qp, uint32_t peer, uint32_t psn)
{
	return qp_hear(qp, peer, psn) && qp_speak(qp, psn);
}

bool pair_connect(struct pair *p)
{
	int i;

	p->psn = (p->psn + 0x123456) & 0xffffff;
	for (i = 0; i < 2; i++)
		NEED(qp_init(p->qp[i]), "to INIT: %s", strerror(errno));
	for (i = 0; i < 2; i++)
		NEED(qp_rtr(p->qp[i], p->qp[!i]->qp_num, p->psn),
		     "to RTR: %s", strerror(errno));
	for (i = 0; i < 2; i++)
		NEED(qp_rts(p->qp[i], p->psn), "to RTS: %s", strerror(errno));
	return true;
}

bool qp_to(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	NEED(!ibv_modify_qp(qp, &attr, IBV_QP_STATE), "to state %d: %s", state,
	     strerror(errno));
	return true;
}

bool pair_again(struct pair *p)
{
	TRY(qp_to(p->qp[0], IBV_QPS_RESET));
	TRY(qp_to(p->qp[1], IBV_QPS_RESET));
	return pair_connect(p);
}

bool pair_reads(struct pair *p, int init, int dest)
{
	bool ok;

	rd_init = init;
	rd_dest = dest;
	ok = pair_again(p);
	rd_init = 4;
	rd_dest = 4;
	return ok;
}

bool qp_datagram(struct ibv_qp *qp, uint32_t qkey)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = qkey,
	};

	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			  IBV_QP_PORT | IBV_QP_QKEY))
		return false;
	TRY(qp_to(qp, IBV_QPS_RTR));
	attr.qp_state = IBV_QPS_RTS;
	return !ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

struct ibv_ah *ah_here(void)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = { gid, 0, gid_index, 64, 0 },
	};

	return ibv_create_ah(pd, &attr);
}

bool qp_to_err(struct ibv_qp *qp)
{
	NEED(qp_init(qp), "to INIT: %s", strerror(errno));
	return qp_to(qp, IBV_QPS_ERR);
}

void pair_free(struct pair *p)
{
	int i;

	for (i = 0; i < 2; i++)
		if (p->qp[i])
			ibv_destroy_qp(p->qp[i]);
	for (i = 0; i < 2; i++)
		if (p->cq[i])
			ibv_destroy_cq(p->cq[i]);
	if (p->channel)
		ibv_destroy_comp_channel(p->channel);
}

struct ibv_sge sge_of(int side, uint32_t off, uint32_t len)
{
	return (struct ibv_sge) {
		.addr = (uintptr_t)buf + side * BUF_SIZE + off,
		.length = len,
		.lkey = mr->lkey,
	};
}

int post_wr(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	return ibv_post_send(qp, wr, &bad);
}

/* From @off here to the same offset there, or back */
int post_simple(struct pair *p, int side, enum ibv_wr_opcode op, uint64_t id,
		uint32_t off, uint32_t len, unsigned int flags)
{
	struct ibv_sge sge = sge_of(side, off, len);
	struct ibv_send_wr wr = {
		.wr_id = id,
		.sg_list = &sge,
		.num_sge = !!len,
		.opcode = op,
		.send_flags = flags,
		.wr.rdma.remote_addr = sge_of(!side, off, len).addr,
		.wr.rdma.rkey = mr->rkey,
	};

	return post_wr(p->qp[side], &wr);
}

int post_recv(struct pair *p, int side, uint64_t id, uint32_t off, uint32_t len)
{
	struct ibv_sge sge = sge_of(side, off, len);
	struct ibv_recv_wr wr = {
		.wr_id = id,
		.sg_list = &sge,
		.num_sge = !!len,
	}, *bad;

	return ibv_post_recv(p->qp[side], &wr, &bad);
}

bool reap(struct ibv_cq *cq, struct ibv_wc *wc, int n,
	  enum ibv_wc_status status)
{
	time_t start = time(NULL);
	int done = 0, got, i;

	while (done < n) {
		got = ibv_poll_cq(cq, n - done, wc + done);
		NEED(got >= 0, "ibv_poll_cq: %d", got);
		for (i = done; i < done + got; i++)
			NEED(wc[i].status == status,
			     "wr_id %llu: %s, not %s",
			     (unsigned long long)wc[i].wr_id,
			     ibv_wc_status_str(wc[i].status),
			     ibv_wc_status_str(status));
		done += got;
		if (got)
			continue;
		NEED(time(NULL) - start < WAIT_S, "%d of %d completions", done,
		     n);
		usleep(100);
	}
	return true;
}

static char pattern(uint32_t i, unsigned int seed)
{
	return (i * 2654435761u >> 13) + seed * 31;
}

void fill(int side, uint32_t off, uint32_t len, unsigned int seed)
{
	char *p = buf + side * BUF_SIZE + off;
	uint32_t i;

	for (i = 0; i < len; i++)
		p[i] = pattern(i, seed);
}

bool same(int side, uint32_t off, uint32_t len, unsigned int seed)
{
	const char *p = buf + side * BUF_SIZE + off;
	uint32_t i;

	for (i = 0; i < len; i++)
		NEED(p[i] == pattern(i, seed), "byte %u of %u is wrong", i,
		     len);
	return true;
}

bool reach(struct pair *p, enum ibv_wr_opcode op, uint32_t rkey, uint64_t addr,
	   uint32_t len, enum ibv_wc_status want)
{
	struct ibv_sge sge = sge_of(0, 0, len);
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = op,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { addr, rkey },
	};
	struct ibv_wc wc;

	NEED(!post_wr(p->qp[0], &wr), "post_send: %s", strerror(errno));
	TRY(reap(p->cq[0], &wc, 1, want));
	return want == IBV_WC_SUCCESS || pair_again(p);
}

static void run(const char *name, bool (*test)(void))
{
	if (!strstr(name, only))
		return;
	reason[0] = '\0';
	if (test())
		printf("ok %s\n", name);
	else
		printf("not ok %s # %s\n", name, reason);
	fflush(stdout);
}

static void run_if(bool can, const char *why, const char *name, bool (*test)(void))
{
	if (can)
		run(name, test);
	else
		printf("skip %s # %s\n", name, why);
}

/* Where two can be at it at once */
static void run_smp(const char *name, bool (*test)(void))
{
	run_if(sysconf(_SC_NPROCESSORS_ONLN) > 1, "there is one CPU", name, test);
}

/* With something that makes them */
static void run_dmabuf(const char *dev, const char *name, bool (*test)(void))
{
	char why[64];

	snprintf(why, sizeof(why), "no %s", dev);
	run_if(!access(dev, F_OK), why, name, test);
}

static struct ibv_context *open_named(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *found = NULL;
	int i;

	for (i = 0; list && list[i] && !found; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			found = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	return found;
}

static bool set_up(const char *name)
{
	ctx = open_named(name);
	NEED(ctx, "cannot open %s", name);
	NEED(!ibv_query_gid(ctx, 1, gid_index, &gid), "no GID %d", gid_index);
	pd = ibv_alloc_pd(ctx);
	NEED(pd, "ibv_alloc_pd: %s", strerror(errno));
	buf = aligned_alloc(4096, 2 * BUF_SIZE);
	mr = ibv_reg_mr(pd, buf, 2 * BUF_SIZE, ANY_ACCESS);
	NEED(mr, "ibv_reg_mr: %s", strerror(errno));
	return true;
}

static bool test_clean_up(void)
{
	NEED(!ibv_dereg_mr(mr), "ibv_dereg_mr: %s", strerror(errno));
	NEED(!ibv_dealloc_pd(pd), "ibv_dealloc_pd: %s", strerror(errno));
	NEED(!ibv_close_device(ctx), "ibv_close_device: %s", strerror(errno));
	return true;
}

int main(int argc, char **argv)
{
	if (argc != 3 && argc != 4) {
		fprintf(stderr, "usage: %s DEVICE GID-INDEX [NAME]\n", argv[0]);
		return 2;
	}
	gid_index = atoi(argv[2]);
	if (argc == 4)
		only = argv[3];
	/* Before the first registration, or it has no effect */
	ibv_fork_init();
	if (!set_up(argv[1])) {
		printf("not ok set-up # %s\n", reason);
		return 1;
	}
	run("ibv_post_send: each operation", test_old_api);
	run("ibv_wr: each operation", test_new_api);
	run("inline data of every length", test_inline);
	run_smp("a WRITE's last bytes come last", test_order);
	run("extended CQ", test_extended_cq);
	run("a full queue", test_full);
	run("RESET", test_reset);
	run("destroy with completions left", test_destroy);
	run("a CQ of another size", test_resize);
	run("flush in ERR", test_flush);
	run("fork", test_fork);
	run("threads", test_threads);
	run("numbers", test_numbers);
	run("completion events", test_events);
	run("64 CQs on a channel, and one of 64 QPs", test_channel);
	run_smp("a CQ's vector is a CPU", test_vectors);
	run("solicited events", test_solicited);
	run("overflow of a CQ", test_overflow);
	run("events of a QP whose peer asks for what it may not", test_qp_events);
	run("the event of a connection's first packet", test_established);
	run("what is not supported says so", test_unsupported);
	run("a third QP is not heard as the peer", test_stranger);
	run("FLUSH", test_flush_memory);
	run("atomic WRITE", test_atomic_write);
	run("memory window of type 1", test_window_1);
	run("memory window of type 2", test_window_2);
	run("what a window may open", test_window_rules);
	run("windows in order with other work", test_window_order);
	run("region registered anew", test_rereg);
	run("region that counts from zero", test_zero_based);
	run("region registered anew to be written", test_rereg_writable);
	run_dmabuf("/dev/udmabuf", "region of a dmabuf", test_dmabuf);
	run_dmabuf("/dev/udmabuf", "region of a dmabuf: what is refused", test_dmabuf_rules);
	run_dmabuf("/dev/dma_heap/system", "region of a dmabuf that may be read alone",
		   test_dmabuf_read_only);
	run_dmabuf("/dev/udmabuf", "region of a dmabuf registered anew", test_dmabuf_rereg);
	run_dmabuf("/dev/" EXPORTER, "region of a dmabuf that moves", test_dmabuf_moves);
	run("XRC: each operation", test_xrc_operations);
	run("XRC: what is refused", test_xrc_refusals);
	run("XRC: limit of a receive queue", test_xrc_limit);
	run("XRC: domains and QPs opened again", test_xrc_making);
	run("XRC: a queue of another process", test_xrc_processes);
	run("an SRQ of another size", test_srq_resize);
	run("a test for each capability", test_capabilities);
	run("the longest queues", test_longest);
	run("the longest SRQ", test_longest_srq);
	run("as many pieces as a message may have", test_most_pieces);
	run("as many READs as may be under way", test_most_reads);
	run("as many groups, and QPs in one", test_most_groups);
	run("many objects of each kind", test_many);
	run("the state that a QP is in", test_current_state);
	run("a region of more than 4 GiB", test_large);
	run("one port, one P_Key", test_other_port);
	run("violations are counted", test_violations);
	run("a rate limit, kept and lifted", test_rate);
	run("the file for doorbells", test_bell);
	run("no file for doorbells, also with other credentials", test_no_bell);
	run("all is given back", test_clean_up);
	return 0;
}
