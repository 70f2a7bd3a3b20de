// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What the device says it can do and how much of it, each used at its value, and
 * one more refused. Numbers of objects are bounded by memory first: a good many of
 * each are made. One thread.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "verbs.h"

#define MANY		3000

static struct ibv_device_attr dev;

static bool ask(void)
{
	NEED(!ibv_query_device(ctx, &dev), "ibv_query_device");
	return true;
}

/* A bit without a test is one too many. */
bool test_capabilities(void)
{
	static const struct {
		uint64_t bit;
		bool (*test)(void);
	} caps[] = {
		{ IBV_DEVICE_BAD_PKEY_CNTR, test_violations },
		{ IBV_DEVICE_BAD_QKEY_CNTR, test_violations },
		{ IBV_DEVICE_UD_AV_PORT_ENFORCE, test_other_port },
		{ IBV_DEVICE_CURR_QP_STATE_MOD, test_current_state },
		{ IBV_DEVICE_PORT_ACTIVE_EVENT, NULL },	/* link/link.sh */
		{ IBV_DEVICE_SYS_IMAGE_GUID, NULL },	/* below */
		{ IBV_DEVICE_RC_RNR_NAK_GEN, NULL },	/* rc/error.sh, "RNR" */
		{ IBV_DEVICE_SRQ_RESIZE, test_srq_resize },
		{ IBV_DEVICE_MEM_MGT_EXTENSIONS, test_window_2 },
		{ IBV_DEVICE_MEM_WINDOW, test_window_1 },
		{ IBV_DEVICE_MEM_WINDOW_TYPE_2B, test_window_2 },
		{ IBV_DEVICE_XRC, test_xrc_operations },
		{ 1ull << 38, test_flush_memory },
		{ 1ull << 40, test_atomic_write },
	};
	struct ibv_device_attr_ex ex = {};
	unsigned int i;
	uint64_t left;

	NEED(!ibv_query_device_ex(ctx, NULL, &ex), "ibv_query_device_ex");
	left = ex.device_cap_flags_ex | ex.orig_attr.device_cap_flags;
	for (i = 0; i < ARRAY_SIZE(caps); i++) {
		NEED(left & caps[i].bit, "%#llx is there, and not advertised",
		     (unsigned long long)caps[i].bit);
		left &= ~caps[i].bit;
	}
	NEED(!left, "%#llx advertised without a test",
	     (unsigned long long)left);
	NEED(ex.orig_attr.sys_image_guid, "no system image GUID");
	/* SPDK takes who says 0xffffff for rdma_rxe, and trusts it less. */
	NEED(ex.orig_attr.vendor_id && ex.orig_attr.vendor_id != 0xffffff, "vendor %#x",
	     ex.orig_attr.vendor_id);
	NEED(ex.orig_attr.atomic_cap == IBV_ATOMIC_GLOB, "atomics: %d",
	     ex.orig_attr.atomic_cap);
	return true;
}

static struct ibv_qp *make_qp(enum ibv_qp_type type, struct ibv_cq *cq,
			      uint32_t wr, uint32_t sge)
{
	struct ibv_qp_init_attr init = {
		.qp_type = type,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { wr, wr, sge, sge, 0 },
	};

	return ibv_create_qp(pd, &init);
}

/* All at once in either queue; flushed, they are as many completions */
static bool fill_queues(struct ibv_qp *qp, uint64_t *posted)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	struct ibv_recv_wr rwr = {}, *badr;
	int n, err;

	TRY(qp_connect(qp, qp->qp_num, 0));
	TRY(qp_to(qp, IBV_QPS_SQD));
	for (n = 0; !(err = ibv_post_send(qp, &wr, &bad)); n++)
		wr.wr_id++;
	NEED(n == dev.max_qp_wr && err == ENOMEM, "%d sends of %d: %s", n,
	     dev.max_qp_wr, strerror(err));
	for (n = 0; !(err = ibv_post_recv(qp, &rwr, &badr)); n++)
		rwr.wr_id++;
	NEED(n == dev.max_qp_wr && err == ENOMEM, "%d receives of %d: %s", n,
	     dev.max_qp_wr, strerror(err));
	*posted += 2 * n;
	return qp_to(qp, IBV_QPS_ERR);
}

static bool drain(struct ibv_cq *cq, uint64_t n)
{
	static struct ibv_wc wc[256];
	uint64_t done = 0;
	int got, i;

	alarm(5 * WAIT_S);
	while (done < n) {
		got = ibv_poll_cq(cq, ARRAY_SIZE(wc), wc);
		NEED(got >= 0, "ibv_poll_cq: %d", got);
		for (i = 0; i < got; i++)
			NEED(wc[i].status == IBV_WC_WR_FLUSH_ERR, "%s",
			     ibv_wc_status_str(wc[i].status));
		done += got;
	}
	alarm(0);
	NEED(!ibv_poll_cq(cq, 1, wc), "more than %llu completions",
	     (unsigned long long)n);
	return true;
}

/* The longest queues there are, over the longest CQ, filled to its last element */
bool test_longest(void)
{
	struct ibv_qp *qp[8] = {};
	uint64_t posted = 0;
	struct ibv_cq *cq;
	bool ok = true;
	unsigned int n;

	TRY(ask());
	NEED(!ibv_create_cq(ctx, dev.max_cqe + 1, NULL, NULL, 0) &&
	     errno == EINVAL, "a CQ of more than max_cqe");
	cq = ibv_create_cq(ctx, dev.max_cqe, NULL, NULL, 0);
	NEED(cq && cq->cqe >= dev.max_cqe, "a CQ of %d: %s", dev.max_cqe,
	     strerror(errno));
	NEED(!make_qp(IBV_QPT_RC, cq, dev.max_qp_wr + 1, 1) && errno == EINVAL,
	     "a QP of more than max_qp_wr");
	NEED(dev.max_cqe % (2ull * dev.max_qp_wr) == 0, "%d over %d",
	     dev.max_cqe, dev.max_qp_wr);
	for (n = 0; ok && posted < (uint64_t)dev.max_cqe; n++) {
		qp[n] = make_qp(IBV_QPT_RC, cq, dev.max_qp_wr, 1);
		if (!qp[n])
			why("a QP of %d: %s", dev.max_qp_wr, strerror(errno));
		ok = qp[n] && fill_queues(qp[n], &posted);
	}
	ok = ok && drain(cq, posted);
	while (n--)
		ok = (!qp[n] || !ibv_destroy_qp(qp[n])) && ok;
	return !ibv_destroy_cq(cq) && ok;
}

/* Each piece of a message in a place of its own, on either side */
static bool pieces(struct pair *p)
{
	struct ibv_sge from[dev.max_sge], to[dev.max_sge];
	struct ibv_send_wr wr = {
		.sg_list = from,
		.num_sge = dev.max_sge,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_recv_wr rwr = { .sg_list = to, .num_sge = dev.max_sge };
	struct ibv_recv_wr *bad;
	struct ibv_wc wc;
	int i;

	fill(0, 0, BUF_SIZE, 1);
	fill(1, 0, BUF_SIZE, 2);
	for (i = 0; i < dev.max_sge; i++) {
		from[i] = sge_of(0, i * 200, 100);
		to[i] = sge_of(1, i * 200, 100);
	}
	NEED(!ibv_post_recv(p->qp[1], &rwr, &bad), "receive of %d pieces",
	     dev.max_sge);
	NEED(!post_wr(p->qp[0], &wr), "send of %d pieces", dev.max_sge);
	TRY(reap(p->cq[0], &wc, 1, IBV_WC_SUCCESS));
	TRY(reap(p->cq[1], &wc, 1, IBV_WC_SUCCESS));
	for (i = 0; i < dev.max_sge; i++)
		NEED(!memcmp((void *)(uintptr_t)from[i].addr,
			     (void *)(uintptr_t)to[i].addr, 100) &&
		     memcmp((void *)(uintptr_t)(from[i].addr + 100),
			    (void *)(uintptr_t)(to[i].addr + 100), 100),
		     "piece %d", i);
	fill(1, 0, BUF_SIZE, 3);
	wr.opcode = IBV_WR_RDMA_READ;
	wr.num_sge = dev.max_sge_rd;
	wr.wr.rdma.remote_addr = sge_of(1, 0, 0).addr;
	wr.wr.rdma.rkey = mr->rkey;
	NEED(!post_wr(p->qp[0], &wr), "READ of %d pieces", dev.max_sge_rd);
	TRY(reap(p->cq[0], &wc, 1, IBV_WC_SUCCESS));
	for (i = 0; i < dev.max_sge_rd; i++)
		NEED(!memcmp((void *)(uintptr_t)from[i].addr,
			     (void *)(uintptr_t)sge_of(1, i * 100, 0).addr,
			     100), "READ's piece %d", i);
	wr.num_sge = dev.max_sge + 1;
	NEED(post_wr(p->qp[0], &wr) == EINVAL, "more than max_sge pieces");
	return true;
}

/* As many READs as may be under way, and then some that wait */
static bool reads(struct pair *p)
{
	const int n = 2 * dev.max_qp_rd_atom;
	struct ibv_wc wc[n];
	int i;

	TRY(pair_reads(p, dev.max_qp_init_rd_atom, dev.max_qp_rd_atom));
	fill(1, 0, BUF_SIZE, 5);
	fill(0, 0, BUF_SIZE, 6);
	for (i = 0; i < n; i++)
		NEED(!post_simple(p, 0, IBV_WR_RDMA_READ, i, i * 128, 128,
				  IBV_SEND_SIGNALED), "READ %d", i);
	TRY(reap(p->cq[0], wc, n, IBV_WC_SUCCESS));
	TRY(same(0, 0, n * 128, 5));
	/* What NICs have, since UCX asks the peer for as many as its own device says */
	NEED(dev.max_qp_rd_atom <= 16 && dev.max_qp_init_rd_atom <= 16,
	     "%d and %d READs", dev.max_qp_rd_atom, dev.max_qp_init_rd_atom);
	/* And what others, as rdma_rxe, have */
	TRY(pair_reads(p, 128, 128));
	NEED(!pair_reads(p, 129, 1) && errno == EINVAL, "129 READs to be sent");
	NEED(!pair_reads(p, 1, 129) && errno == EINVAL, "129 READs to be answered");
	/* And that for all QPs: each has its own. */
	NEED(dev.max_res_rd_atom == dev.max_qp * dev.max_qp_rd_atom,
	     "max_res_rd_atom is %d", dev.max_res_rd_atom);
	return true;
}

static bool with_pair(uint32_t wr, uint32_t sge, bool (*test)(struct pair *))
{
	struct pair p = {};
	bool ok;

	TRY(ask());
	ok = pair_make_cap(&p, 2 * wr, wr, sge ?: (uint32_t)dev.max_sge) &&
	     test(&p);
	pair_free(&p);
	return ok;
}

bool test_most_pieces(void)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 1, NULL, NULL, 0);

	TRY(ask());
	NEED(cq && !make_qp(IBV_QPT_RC, cq, 1, dev.max_sge + 1) &&
	     errno == EINVAL, "a QP of more than max_sge");
	ibv_destroy_cq(cq);
	return with_pair(4, 0, pieces);
}

bool test_most_reads(void)
{
	return with_pair(256, 1, reads);
}

static bool longest_srq(uint32_t wr, uint32_t sge, int want)
{
	struct ibv_srq_init_attr init = { .attr = { wr, sge, 0 } };
	struct ibv_srq *srq = ibv_create_srq(pd, &init);
	struct ibv_sge list[sge];
	struct ibv_recv_wr wrs = { .sg_list = list, .num_sge = sge }, *bad;
	int n, err;

	if (want) {
		NEED(!srq && errno == want, "an SRQ of %u x %u", wr, sge);
		return true;
	}
	NEED(srq, "an SRQ of %u x %u: %s", wr, sge, strerror(errno));
	memset(list, 0, sizeof(list));
	for (n = 0; !(err = ibv_post_srq_recv(srq, &wrs, &bad)); n++)
		;
	err = err == ENOMEM && (uint32_t)n == init.attr.max_wr &&
	      init.attr.max_wr >= wr;
	NEED(!ibv_destroy_srq(srq) && err, "%d receives in an SRQ of %u", n, wr);
	return true;
}

bool test_longest_srq(void)
{
	TRY(ask());
	TRY(longest_srq(dev.max_srq_wr, 1, 0));
	TRY(longest_srq(4, dev.max_srq_sge, 0));
	TRY(longest_srq(dev.max_srq_wr + 1, 1, EINVAL));
	return longest_srq(4, dev.max_srq_sge + 1, EINVAL);
}

/* Groups there may be, and QPs in one. */
static bool groups(struct ibv_qp **qp, uint32_t nqp)
{
	union ibv_gid to = { .raw = { [10] = 0xff, 0xff, 239, 1 } };
	uint32_t i;

	for (i = 0; i < (uint32_t)dev.max_mcast_grp; i++) {
		to.raw[14] = i >> 8;
		to.raw[15] = i;
		NEED(!ibv_attach_mcast(qp[0], &to, 0), "group %u: %s", i,
		     strerror(errno));
	}
	to.raw[13]++;
	NEED(ibv_attach_mcast(qp[0], &to, 0) == ENOMEM,
	     "more groups than max_mcast_grp");
	to.raw[13]--;
	for (i = 1; i < nqp; i++)
		NEED(ibv_attach_mcast(qp[i], &to, 0) ==
		     (i < (uint32_t)dev.max_mcast_qp_attach ? 0 : ENOMEM),
		     "QP %u of a group", i);
	return true;
}

bool test_most_groups(void)
{
	union ibv_gid to = { .raw = { [10] = 0xff, 0xff, 239, 1 } };
	struct ibv_cq *cq = ibv_create_cq(ctx, 1, NULL, NULL, 0);
	struct ibv_qp **qp;
	bool ok = cq;
	int i, n;

	TRY(ask());
	n = dev.max_mcast_qp_attach + 1;
	NEED((uint64_t)dev.max_total_mcast_qp_attach ==
	     (uint64_t)dev.max_mcast_grp * dev.max_mcast_qp_attach, "total");
	qp = calloc(n, sizeof(*qp));
	for (i = 0; ok && i < n; i++) {
		qp[i] = make_qp(IBV_QPT_UD, cq, 1, 1);
		ok = qp[i];
	}
	if (!ok)
		why("QP %d: %s", i, strerror(errno));
	ok = ok && groups(qp, n);
	for (i = 0; qp[0] && i < dev.max_mcast_grp; i++) {
		to.raw[14] = i >> 8;
		to.raw[15] = i;
		ibv_detach_mcast(qp[0], &to, 0);
	}
	while (n--) {
		if (!qp[n])
			continue;
		ibv_detach_mcast(qp[n], &to, 0);
		ok = !ibv_destroy_qp(qp[n]) && ok;
	}
	free(qp);
	ibv_destroy_cq(cq);
	return ok;
}

/* Numbers of objects: the device says more than a small machine has room for */
bool test_many(void)
{
	static struct ibv_pd *pds[MANY];
	static struct ibv_mr *mrs[MANY];
	static struct ibv_mw *mws[MANY];
	static struct ibv_cq *cqs[MANY];
	static struct ibv_qp *qps[MANY];
	static struct ibv_srq *srqs[MANY];
	struct ibv_srq_init_attr init = { .attr = { 1, 1, 0 } };
	bool ok = true;
	int i, j;

	TRY(ask());
	NEED(dev.max_pd >= MANY && dev.max_mr >= MANY && dev.max_mw >= MANY &&
	     dev.max_cq >= MANY && dev.max_qp >= MANY && dev.max_srq >= MANY,
	     "not even %d of each", MANY);
	for (i = 0; ok && i < MANY; i++) {
		ok = (pds[i] = ibv_alloc_pd(ctx)) &&
		     (mrs[i] = ibv_reg_mr(pds[i], buf, 64, 0)) &&
		     (mws[i] = ibv_alloc_mw(pds[i], IBV_MW_TYPE_2)) &&
		     (cqs[i] = ibv_create_cq(ctx, 1, NULL, NULL, 0)) &&
		     (srqs[i] = ibv_create_srq(pds[i], &init)) &&
		     (qps[i] = make_qp(IBV_QPT_RC, cqs[i], 1, 1));
		if (!ok)
			why("number %d: %s", i, strerror(errno));
		for (j = i - 1; ok && j >= 0 && j > i - 50; j--)
			ok = qps[i]->qp_num != qps[j]->qp_num &&
			     mrs[i]->rkey != mrs[j]->rkey;
	}
	for (i = 0; i < MANY; i++) {
		if (qps[i])
			ok = !ibv_destroy_qp(qps[i]) && ok;
		if (srqs[i])
			ok = !ibv_destroy_srq(srqs[i]) && ok;
		if (cqs[i])
			ok = !ibv_destroy_cq(cqs[i]) && ok;
		if (mws[i])
			ok = !ibv_dealloc_mw(mws[i]) && ok;
		if (mrs[i])
			ok = !ibv_dereg_mr(mrs[i]) && ok;
		if (pds[i])
			ok = !ibv_dealloc_pd(pds[i]) && ok;
	}
	return ok;
}

static bool current_state(struct pair *p)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .cur_qp_state = IBV_QPS_SQD,
	};

	NEED(ibv_modify_qp(p->qp[0], &attr, IBV_QP_STATE | IBV_QP_CUR_STATE) ==
	     EINVAL, "from a state that it is not in");
	attr.cur_qp_state = IBV_QPS_RTS;
	NEED(!ibv_modify_qp(p->qp[0], &attr, IBV_QP_STATE | IBV_QP_CUR_STATE),
	     "from the state that it is in");
	return true;
}

bool test_current_state(void)
{
	return with_pair(4, 1, current_state);
}

#define LARGE_PART	(32ull << 20)
#define LARGE_PARTS	130

/* Mapped from the same memory again and again; from other memory what 32 bits miss */
static uint8_t *large_map(void)
{
	int i, fd = memfd_create("verbs", 0);
	uint8_t *mem = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, 2 * LARGE_PART))
		mem = mmap(NULL, LARGE_PART * LARGE_PARTS, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (i = 0; i < LARGE_PARTS && mem != MAP_FAILED; i++)
		if (mmap(mem + i * LARGE_PART, LARGE_PART,
			 PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
			 (i * LARGE_PART) >> 32 ? LARGE_PART : 0) == MAP_FAILED)
			mem = MAP_FAILED;
	close(fd);
	return mem;
}

static bool large(struct pair *p)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	const uint64_t len = LARGE_PART * LARGE_PARTS;
	uint8_t *mem = large_map();
	struct ibv_mr *mr;

	NEED(mem != MAP_FAILED, "no memory");
	mr = ibv_reg_mr(pd, mem, len, access);
	NEED(mr && len > 1ull << 32 && len <= dev.max_mr_size,
	     "a region of %llu: %s", (unsigned long long)len, strerror(errno));
	fill(0, 0, 64, 9);
	TRY(reach(p, IBV_WR_RDMA_WRITE, mr->rkey, (uintptr_t)mem + len - 64, 64,
		  IBV_WC_SUCCESS));
	NEED(!memcmp(mem + len - 64, buf, 64), "not written");
	NEED(!mem[LARGE_PART - 64] && !memcmp(mem + LARGE_PART - 64,
					      mem + LARGE_PART - 63, 63),
	     "written elsewhere");
	TRY(reach(p, IBV_WR_RDMA_WRITE, mr->rkey, (uintptr_t)mem + len - 63, 64,
		  IBV_WC_REM_ACCESS_ERR));
	NEED(!ibv_dereg_mr(mr) && !munmap(mem, len), "dereg");
	/* As long as is said, and there is no such memory; or it wraps */
	NEED(!ibv_reg_mr(pd, (void *)4096, dev.max_mr_size, access),
	     "a region of max_mr_size");
	return true;
}

bool test_large(void)
{
	TRY(ask());
	return with_pair(4, 1, large);
}

/* There is one port, one P_Key, and as many GIDs as said */
bool test_other_port(void)
{
	struct ibv_ah_attr ah = { .is_global = 1, .port_num = 2 };
	struct ibv_port_attr port, none;
	union ibv_gid gid;

	TRY(ask());
	NEED(dev.phys_port_cnt == 1 && !ibv_query_port(ctx, 1, &port) &&
	     ibv_query_port(ctx, 2, &none), "ports");
	/* What NICs take in a message: programs go by their own port's */
	NEED(port.max_msg_sz == 1u << 30, "messages of %u bytes", port.max_msg_sz);
	NEED(!ibv_create_ah(pd, &ah), "an address handle of port 2");
	NEED(port.pkey_tbl_len == 1 && dev.max_pkeys == 1, "%u P_Keys of %u",
	     port.pkey_tbl_len, dev.max_pkeys);
	NEED(!ibv_query_gid(ctx, 1, port.gid_tbl_len - 1, &gid) &&
	     ibv_query_gid(ctx, 1, port.gid_tbl_len, &gid), "GIDs");
	return true;
}

/* A datagram with a Q_Key that is not its QP's is counted by the port */
bool test_violations(void)
{
	struct ibv_port_attr before, after;
	struct ibv_cq *cq = ibv_create_cq(ctx, 4, NULL, NULL, 0);
	struct ibv_qp *qp = make_qp(IBV_QPT_UD, cq, 2, 1);
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_ah *ah = ah_here();
	struct ibv_wc wc;
	bool ok;
	int i;

	NEED(qp && ah && qp_datagram(qp, 77), "no QP for datagrams");
	ok = !ibv_query_port(ctx, 1, &before);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qp->qp_num;
	wr.wr.ud.remote_qkey = 78;
	ok = ok && !post_wr(qp, &wr) && reap(cq, &wc, 1, IBV_WC_SUCCESS);
	for (i = 0; ok && i < WAIT_S * 100; i++) {
		ok = !ibv_query_port(ctx, 1, &after);
		if (after.qkey_viol_cntr != before.qkey_viol_cntr)
			break;
		usleep(10000);
	}
	if (ok && after.qkey_viol_cntr != before.qkey_viol_cntr + 1) {
		why("Q_Key violations: %u, then %u", before.qkey_viol_cntr,
		    after.qkey_viol_cntr);
		ok = false;
	}
	ibv_destroy_ah(ah);
	return !ibv_destroy_qp(qp) && !ibv_destroy_cq(cq) && ok &&
	       after.bad_pkey_cntr == before.bad_pkey_cntr;
}

static int limit(struct ibv_qp *qp, uint32_t kbps)
{
	struct ibv_qp_rate_limit_attr attr = { .rate_limit = kbps };

	return ibv_modify_qp_rate_limit(qp, &attr);
}

/* From the whole of one buffer to the other, N times; how long it took, ms */
static bool write_all(struct pair *p, int n, double *ms)
{
	struct timespec from, to;
	struct ibv_wc wc[DEPTH];
	int i;

	fill(0, 0, BUF_SIZE, 77);
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (i = 0; i < n; i++)
		NEED(!post_simple(p, 0, IBV_WR_RDMA_WRITE, i, 0, BUF_SIZE,
				  IBV_SEND_SIGNALED), "post");
	TRY(reap(p->cq[0], wc, n, IBV_WC_SUCCESS));
	clock_gettime(CLOCK_MONOTONIC, &to);
	*ms = (to.tv_sec - from.tv_sec) * 1e3 + (to.tv_nsec - from.tv_nsec) / 1e6;
	return same(1, 0, BUF_SIZE, 77);
}

/* A QP with a rate limit is no faster; without one, or anew, it does not wait */
bool test_rate(void)
{
	struct ibv_qp_rate_limit_attr burst = { .rate_limit = 1, .max_burst_sz = 1000 };
	struct ibv_qp_attr attr = { .rate_limit = 1 };
	struct ibv_device_attr_ex ex = {};
	const struct ibv_packet_pacing_caps *caps = &ex.packet_pacing_caps;
	struct ibv_wc wc[4];
	struct pair p;
	double ms;
	int i, n;

	NEED(!ibv_query_device_ex(ctx, NULL, &ex), "ibv_query_device_ex");
	NEED(caps->qp_rate_limit_min == 1 && caps->qp_rate_limit_max == UINT32_MAX &&
	     caps->supported_qpts & 1 << IBV_QPT_RC, "from %u to %u for %#x",
	     caps->qp_rate_limit_min, caps->qp_rate_limit_max, caps->supported_qpts);
	TRY(pair_make(&p, 64));
	NEED(!limit(p.qp[0], caps->qp_rate_limit_max), "at most");
	TRY(write_all(&p, 1, &ms));
	/* 1 MiB at 80 Mbit/s; a millisecond may be ahead, as may the last packet */
	NEED(!limit(p.qp[0], 80000), "80 Mbit/s");
	TRY(write_all(&p, DEPTH, &ms));
	NEED(ms > 100, "1 MiB at 80 Mbit/s took %.1f ms", ms);
	/* A packet in half a minute */
	NEED(!limit(p.qp[0], caps->qp_rate_limit_min), "at least");
	for (i = 0; i < 4; i++)
		NEED(!post_simple(&p, 0, IBV_WR_RDMA_WRITE, i, 0, 4000,
				  IBV_SEND_SIGNALED), "post");
	usleep(50000);
	n = ibv_poll_cq(p.cq[0], 4, wc);
	NEED(n >= 0 && n <= 1, "%d of 4 at 1 kbit/s", n);
	attr.rate_limit = 0;
	NEED(!ibv_modify_qp(p.qp[0], &attr, IBV_QP_RATE_LIMIT), "no limit any more");
	TRY(reap(p.cq[0], wc, 4 - n, IBV_WC_SUCCESS));
	/* RESET forgets it */
	NEED(!limit(p.qp[0], 1), "1 kbit/s");
	TRY(pair_again(&p));
	TRY(write_all(&p, 1, &ms));
	NEED(ibv_modify_qp_rate_limit(p.qp[0], &burst) == EOPNOTSUPP, "a burst's size");
	TRY(qp_to(p.qp[0], IBV_QPS_RESET));
	NEED(limit(p.qp[0], 1) == EINVAL, "in RESET");
	pair_free(&p);
	return true;
}
