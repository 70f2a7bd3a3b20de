// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory windows and registration anew: what opens memory to a peer, how far, to
 * whom, and when that ends. Side 1 owns the memory, side 0 is the peer. One thread.
 */
#include <stdlib.h>

#include "verbs.h"

#define AT	4096		/* where windows begin in side 1's memory */
#define LEN	1000

/* A region of side 1's memory that windows may be bound to */
static struct ibv_mr *region(int access)
{
	return ibv_reg_mr(pd, buf + BUF_SIZE, BUF_SIZE, access);
}

static uint64_t addr_of(uint32_t off)
{
	return sge_of(1, off, 0).addr;
}

static bool refused_at(struct pair *p, uint32_t rkey, uint32_t off, uint32_t len)
{
	fill(1, 0, 2 * AT, 5);
	return reach(p, IBV_WR_RDMA_WRITE, rkey, addr_of(off), len,
		     IBV_WC_REM_ACCESS_ERR) && same(1, 0, 2 * AT, 5);
}

static bool writes(struct pair *p, uint32_t rkey, uint64_t addr, uint32_t off,
		   uint32_t len, unsigned int seed)
{
	fill(0, 0, len, seed);
	fill(1, 0, 2 * AT, seed + 1);
	TRY(reach(p, IBV_WR_RDMA_WRITE, rkey, addr, len, IBV_WC_SUCCESS));
	TRY(same(1, 0, off, seed + 1));
	return same(1, off, len, seed);
}

static struct ibv_mw_bind_info info_of(struct ibv_mr *mr, uint32_t off,
				       uint32_t len, unsigned int access)
{
	return (struct ibv_mw_bind_info) {
		.mr = mr,
		.addr = addr_of(off),
		.length = len,
		.mw_access_flags = access,
	};
}

/* Bind at once, by the call that the window's type has */
static bool bind(struct pair *p, struct ibv_mw *mw,
		 struct ibv_mw_bind_info info, enum ibv_wc_status want)
{
	struct ibv_send_wr wr = {
		.wr_id = 9,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = {
			.mw = mw,
			.rkey = ibv_inc_rkey(mw->rkey),
			.bind_info = info,
		},
	};
	struct ibv_mw_bind one = {
		.wr_id = 9,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = info,
	};
	uint32_t old = mw->rkey;
	struct ibv_wc wc;
	int err;

	if (mw->type == IBV_MW_TYPE_1)
		err = ibv_bind_mw(p->qp[1], mw, &one);
	else
		err = post_wr(p->qp[1], &wr);
	NEED(!err, "bind: %s", strerror(err));
	TRY(reap(p->cq[1], &wc, 1, want));
	NEED(wc.wr_id == 9, "the completion of another");
	if (want != IBV_WC_SUCCESS) {
		mw->rkey = old;
		return pair_again(p);
	}
	NEED(wc.opcode == IBV_WC_BIND_MW, "opcode %d", wc.opcode);
	if (mw->type == IBV_MW_TYPE_2)
		mw->rkey = wr.bind_mw.rkey;
	return true;
}

static bool local_inv(struct pair *p, uint32_t rkey, enum ibv_wc_status want)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_LOCAL_INV,
		.send_flags = IBV_SEND_SIGNALED,
		.invalidate_rkey = rkey,
	};
	struct ibv_wc wc;

	NEED(!post_wr(p->qp[1], &wr), "LOCAL_INV");
	TRY(reap(p->cq[1], &wc, 1, want));
	NEED(want != IBV_WC_SUCCESS || wc.opcode == IBV_WC_LOCAL_INV,
	     "opcode %d", wc.opcode);
	return want == IBV_WC_SUCCESS || pair_again(p);
}

static bool type_1(struct pair *p, struct ibv_mr *owner, struct ibv_mw *mw)
{
	uint32_t first;

	TRY(refused_at(p, mw->rkey, AT, 1));
	TRY(bind(p, mw, info_of(owner, AT, LEN, IBV_ACCESS_REMOTE_WRITE),
		 IBV_WC_SUCCESS));
	first = mw->rkey;
	TRY(writes(p, first, addr_of(AT), AT, LEN, 1));
	TRY(writes(p, first, addr_of(AT + LEN - 1), AT + LEN - 1, 1, 2));
	TRY(refused_at(p, first, AT - 1, 1));
	TRY(refused_at(p, first, AT + 1, LEN));
	TRY(refused_at(p, first ^ 1, AT, 1));
	TRY(reach(p, IBV_WR_RDMA_READ, first, addr_of(AT), 8,
		  IBV_WC_REM_ACCESS_ERR));
	TRY(local_inv(p, first, IBV_WC_MW_BIND_ERR));
	TRY(writes(p, first, addr_of(AT), AT, LEN, 3));
	/* Bound anew: the old key is dead, the new one elsewhere */
	TRY(bind(p, mw, info_of(owner, 64, 128, IBV_ACCESS_REMOTE_READ |
				IBV_ACCESS_REMOTE_WRITE), IBV_WC_SUCCESS));
	TRY(refused_at(p, first, AT, 1));
	TRY(refused_at(p, first, 64, 1));
	TRY(writes(p, mw->rkey, addr_of(64), 64, 128, 4));
	TRY(reach(p, IBV_WR_RDMA_READ, mw->rkey, addr_of(64), 128,
		  IBV_WC_SUCCESS));
	/* Of no length: let go of */
	TRY(bind(p, mw, info_of(owner, 0, 0, 0), IBV_WC_SUCCESS));
	TRY(refused_at(p, mw->rkey, 64, 1));
	return refused_at(p, first, 64, 1);
}

static bool with_window(enum ibv_mw_type type,
			bool (*test)(struct pair *, struct ibv_mr *,
				     struct ibv_mw *))
{
	struct ibv_mr *owner = region(ANY_ACCESS | IBV_ACCESS_MW_BIND);
	struct ibv_mw *mw = ibv_alloc_mw(pd, type);
	struct pair p = {};
	bool ok = false;

	if (!owner || !mw)
		why("no region or window: %s", strerror(errno));
	else
		ok = pair_make(&p, 64) && test(&p, owner, mw);
	if (mw && ibv_dealloc_mw(mw) && ok) {
		why("ibv_dealloc_mw: %s", strerror(errno));
		ok = false;
	}
	if (owner && ibv_dereg_mr(owner) && ok) {
		why("ibv_dereg_mr: %s", strerror(errno));
		ok = false;
	}
	pair_free(&p);
	return ok;
}

bool test_window_1(void)
{
	return with_window(IBV_MW_TYPE_1, type_1);
}

/* The peer ends it, and says so in the receive's completion */
static bool remote_inv(struct pair *p, uint32_t rkey)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND_WITH_INV,
		.send_flags = IBV_SEND_SIGNALED,
		.invalidate_rkey = rkey,
	};
	struct ibv_wc wc;

	NEED(!post_recv(p, 1, 1, 0, 0), "post_recv");
	NEED(!post_wr(p->qp[0], &wr), "SEND_WITH_INV");
	TRY(reap(p->cq[0], &wc, 1, IBV_WC_SUCCESS));
	TRY(reap(p->cq[1], &wc, 1, IBV_WC_SUCCESS));
	NEED(wc.wc_flags & IBV_WC_WITH_INV && wc.invalidated_rkey == rkey,
	     "flags %#x, key %#x", wc.wc_flags, wc.invalidated_rkey);
	return true;
}

/* It is the binding QP's alone: another pair of the same domain is refused */
static bool others_refused(uint32_t rkey)
{
	struct pair q;
	bool ok = pair_make(&q, 64) && refused_at(&q, rkey, AT, 1);

	pair_free(&q);
	return ok;
}

static bool type_2(struct pair *p, struct ibv_mr *owner, struct ibv_mw *mw)
{
	struct ibv_mw_bind_info info =
		info_of(owner, AT, LEN, IBV_ACCESS_REMOTE_WRITE);
	struct ibv_mw_bind_info none = info_of(owner, AT, 0, 0);

	TRY(refused_at(p, mw->rkey, AT, 1));
	TRY(bind(p, mw, none, IBV_WC_MW_BIND_ERR));
	/* Rights that a window has not */
	for (info.mw_access_flags = IBV_ACCESS_MW_BIND; info.mw_access_flags < 1u << 31;
	     info.mw_access_flags <<= 1)
		if (info.mw_access_flags != IBV_ACCESS_ZERO_BASED)
			TRY(bind(p, mw, info, IBV_WC_MW_BIND_ERR));
	info.mw_access_flags = IBV_ACCESS_REMOTE_WRITE;
	TRY(bind(p, mw, info, IBV_WC_SUCCESS));
	TRY(writes(p, mw->rkey, addr_of(AT), AT, LEN, 1));
	TRY(refused_at(p, mw->rkey, AT + LEN, 1));
	TRY(others_refused(mw->rkey));
	TRY(writes(p, mw->rkey, addr_of(AT), AT, LEN, 2));
	/* Still bound */
	TRY(bind(p, mw, info, IBV_WC_MW_BIND_ERR));
	TRY(writes(p, mw->rkey, addr_of(AT), AT, LEN, 3));
	TRY(local_inv(p, mw->rkey ^ 1, IBV_WC_MW_BIND_ERR));
	TRY(writes(p, mw->rkey, addr_of(AT), AT, LEN, 4));
	TRY(local_inv(p, mw->rkey, IBV_WC_SUCCESS));
	TRY(refused_at(p, mw->rkey, AT, 1));
	TRY(local_inv(p, mw->rkey, IBV_WC_MW_BIND_ERR));
	TRY(bind(p, mw, info, IBV_WC_SUCCESS));
	TRY(writes(p, mw->rkey, addr_of(AT), AT, LEN, 5));
	TRY(remote_inv(p, mw->rkey));
	TRY(refused_at(p, mw->rkey, AT, 1));
	info.addr = addr_of(AT);
	info.mw_access_flags |= IBV_ACCESS_ZERO_BASED;
	TRY(bind(p, mw, info, IBV_WC_SUCCESS));
	TRY(writes(p, mw->rkey, 0, AT, LEN, 6));
	TRY(writes(p, mw->rkey, LEN - 1, AT + LEN - 1, 1, 7));
	return reach(p, IBV_WR_RDMA_WRITE, mw->rkey, LEN, 1,
		     IBV_WC_REM_ACCESS_ERR);
}

bool test_window_2(void)
{
	return with_window(IBV_MW_TYPE_2, type_2);
}

/* To a region with @access, for @rights: what that comes to */
static bool bind_to(struct pair *p, struct ibv_mw *mw, int access,
		    unsigned int rights, enum ibv_wc_status want)
{
	struct ibv_mr *r = region(access);
	bool ok;

	NEED(r, "ibv_reg_mr %#x: %s", access, strerror(errno));
	ok = bind(p, mw, info_of(r, AT, LEN, rights), want);
	if (want == IBV_WC_SUCCESS && ok) {
		if (ibv_dereg_mr(r) != EBUSY) {
			why("a region with a window was deregistered");
			return false;
		}
		ok = bind(p, mw, info_of(r, 0, 0, 0), IBV_WC_SUCCESS);
	}
	if (ibv_dereg_mr(r) && ok) {
		why("ibv_dereg_mr, unbound");
		ok = false;
	}
	return ok;
}

static bool rules(struct pair *p, struct ibv_mr *owner, struct ibv_mw *mw)
{
	const int rw = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND;
	struct ibv_sge sge = sge_of(1, AT, 8);
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
	};
	struct ibv_mw *mw2;
	struct ibv_wc wc;

	TRY(bind_to(p, mw, IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_READ,
		    IBV_WC_MW_BIND_ERR));
	TRY(bind_to(p, mw, IBV_ACCESS_MW_BIND, IBV_ACCESS_REMOTE_READ,
		    IBV_WC_SUCCESS));
	TRY(bind_to(p, mw, IBV_ACCESS_MW_BIND, IBV_ACCESS_REMOTE_WRITE,
		    IBV_WC_MW_BIND_ERR));
	TRY(bind_to(p, mw, IBV_ACCESS_MW_BIND, IBV_ACCESS_REMOTE_ATOMIC,
		    IBV_WC_MW_BIND_ERR));
	TRY(bind_to(p, mw, rw, IBV_ACCESS_REMOTE_ATOMIC, IBV_WC_SUCCESS));
	TRY(bind(p, mw, info_of(owner, BUF_SIZE - LEN + 1, LEN,
				IBV_ACCESS_REMOTE_READ), IBV_WC_MW_BIND_ERR));
	/* Windows may overlap */
	TRY(bind(p, mw, info_of(owner, AT, LEN, IBV_ACCESS_REMOTE_WRITE),
		 IBV_WC_SUCCESS));
	mw2 = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	NEED(mw2, "ibv_alloc_mw: %s", strerror(errno));
	TRY(bind(p, mw2, info_of(owner, AT + 10, LEN, IBV_ACCESS_REMOTE_WRITE),
		 IBV_WC_SUCCESS));
	TRY(writes(p, mw->rkey, addr_of(AT), AT, LEN, 1));
	TRY(writes(p, mw2->rkey, addr_of(AT + 10), AT + 10, LEN, 2));
	NEED(ibv_dereg_mr(owner) == EBUSY, "deregistered with two windows");
	NEED(ibv_rereg_mr(owner, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			  rw) && errno == EBUSY, "changed with two windows");
	NEED(!ibv_dealloc_mw(mw2), "ibv_dealloc_mw");
	TRY(refused_at(p, mw2->rkey, AT + 10, 1));
	/* It is a key for peers, and none for its owner */
	sge.lkey = mw->rkey;
	NEED(!post_wr(p->qp[1], &wr), "post_send");
	TRY(reap(p->cq[1], &wc, 1, IBV_WC_LOC_PROT_ERR));
	return pair_again(p);
}

bool test_window_rules(void)
{
	return with_window(IBV_MW_TYPE_1, rules);
}

/* In one list: bound, told, used, and ended once nothing is under way */
static bool in_order(struct pair *p, struct ibv_mr *owner, struct ibv_mw *mw)
{
	struct ibv_mw_bind_info info =
		info_of(owner, AT, LEN, IBV_ACCESS_REMOTE_WRITE);
	struct ibv_qp_ex *qp = p->qpx[1];
	struct ibv_wc wc[3];
	uint32_t rkey;
	int i;

	for (i = 0; i < 20; i++) {
		rkey = ibv_inc_rkey(mw->rkey);
		NEED(!post_recv(p, 0, 1, 8192, 16), "post_recv");
		ibv_wr_start(qp);
		qp->wr_flags = IBV_SEND_SIGNALED;
		qp->wr_id = 1;
		ibv_wr_bind_mw(qp, mw, rkey, &info);
		qp->wr_id = 2;
		ibv_wr_send(qp);
		ibv_wr_set_sge(qp, owner->lkey, addr_of(0), 16);
		qp->wr_id = 3;
		ibv_wr_local_inv(qp, rkey);
		NEED(!ibv_wr_complete(qp), "ibv_wr_complete");
		TRY(reap(p->cq[1], wc, 3, IBV_WC_SUCCESS));
		NEED(wc[0].wr_id == 1 && wc[1].wr_id == 2 && wc[2].wr_id == 3,
		     "out of order");
		TRY(reap(p->cq[0], wc, 1, IBV_WC_SUCCESS));
		mw->rkey = rkey;
	}
	return refused_at(p, mw->rkey, AT, 1);
}

bool test_window_order(void)
{
	return with_window(IBV_MW_TYPE_2, in_order);
}

static bool rereg(struct pair *p, struct ibv_mr *owner)
{
	struct ibv_pd *other = ibv_alloc_pd(ctx);
	uint32_t rkey = owner->rkey;
	void *half = buf + BUF_SIZE + 2 * AT;
	int err;

	NEED(other, "ibv_alloc_pd");
	TRY(writes(p, rkey, addr_of(AT), AT, LEN, 1));
	err = ibv_rereg_mr(owner, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			   IBV_ACCESS_LOCAL_WRITE);
	NEED(!err && owner->rkey == rkey, "access: %d", err);
	TRY(refused_at(p, rkey, AT, 1));
	err = ibv_rereg_mr(owner, IBV_REREG_MR_CHANGE_ACCESS |
			   IBV_REREG_MR_CHANGE_TRANSLATION, NULL, half, AT,
			   ANY_ACCESS);
	NEED(!err && owner->addr == half, "translation: %d", err);
	TRY(refused_at(p, rkey, AT, 1));
	TRY(writes(p, rkey, addr_of(2 * AT), 2 * AT, LEN, 2));
	/* Memory that is not there: all is as it was */
	NEED(ibv_rereg_mr(owner, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
			  (void *)8192, AT, 0), "not the user's memory");
	TRY(writes(p, rkey, addr_of(2 * AT), 2 * AT, LEN, 3));
	err = ibv_rereg_mr(owner, IBV_REREG_MR_CHANGE_PD, other, NULL, 0, 0);
	NEED(!err, "domain: %d", err);
	TRY(refused_at(p, rkey, 2 * AT, 1));
	NEED(ibv_dealloc_pd(other) == EBUSY, "a domain in use went");
	err = ibv_rereg_mr(owner, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, 0);
	NEED(!err, "and back: %d", err);
	NEED(!ibv_dealloc_pd(other), "ibv_dealloc_pd");
	return writes(p, rkey, addr_of(2 * AT), 2 * AT, LEN, 4);
}

bool test_rereg(void)
{
	struct ibv_mr *owner = region(ANY_ACCESS);
	struct pair p = {};
	bool ok = false;

	if (!owner)
		why("ibv_reg_mr: %s", strerror(errno));
	else
		ok = pair_make(&p, 64) && rereg(&p, owner);
	pair_free(&p);
	if (owner)
		ibv_dereg_mr(owner);
	return ok;
}

/* From memory pinned to be read only: then it has to be pinned anew */
bool test_rereg_writable(void)
{
	struct ibv_mr *owner = region(IBV_ACCESS_REMOTE_READ);
	struct pair p = {};
	bool ok = false;

	if (!owner)
		why("ibv_reg_mr: %s", strerror(errno));
	else if (ibv_rereg_mr(owner, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			      ANY_ACCESS))
		why("ibv_rereg_mr: %s", strerror(errno));
	else
		ok = pair_make(&p, 64) &&
		     writes(&p, owner->rkey, addr_of(AT), AT, LEN, 1);
	pair_free(&p);
	if (owner)
		ibv_dereg_mr(owner);
	return ok;
}

/* What the region's own addresses are for the user of its L_Key */
static bool gathers(struct pair *p, uint32_t lkey, uint32_t at, uint32_t off)
{
	struct ibv_sge sge = { at, LEN - at, lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_wc wc;

	fill(1, off, LEN, 8);
	fill(0, 0, LEN, 9);
	NEED(!post_recv(p, 0, 1, at, LEN) && !post_wr(p->qp[1], &wr), "post");
	TRY(reap(p->cq[1], &wc, 1, IBV_WC_SUCCESS));
	TRY(reap(p->cq[0], &wc, 1, IBV_WC_SUCCESS));
	NEED(!memcmp(buf + at, buf + BUF_SIZE + off + at, LEN - at), "not what was there");
	return true;
}

static bool zero_based(struct pair *p, struct ibv_mr *owner, struct ibv_mw *mw)
{
	const uint32_t at = AT + 5;
	struct ibv_mr *r = ibv_reg_mr(pd, buf + BUF_SIZE + at, LEN, ANY_ACCESS |
				      IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED);
	struct ibv_mw_bind_info info;

	(void)owner;
	NEED(r, "ibv_reg_mr: %s", strerror(errno));
	TRY(writes(p, r->rkey, 0, at, LEN, 1));
	TRY(writes(p, r->rkey, LEN - 1, at + LEN - 1, 1, 2));
	TRY(reach(p, IBV_WR_RDMA_WRITE, r->rkey, LEN, 1, IBV_WC_REM_ACCESS_ERR));
	TRY(refused_at(p, r->rkey, at, 1));
	TRY(reach(p, IBV_WR_RDMA_READ, r->rkey, 0, LEN, IBV_WC_SUCCESS));
	NEED(!memcmp(buf, buf + BUF_SIZE + at, LEN), "not what was read");
	TRY(gathers(p, r->lkey, 3, at));
	info = info_of(r, 0, 64, IBV_ACCESS_REMOTE_WRITE);
	info.addr = 100;
	TRY(bind(p, mw, info, IBV_WC_SUCCESS));
	TRY(writes(p, mw->rkey, 100, at + 100, 64, 3));
	TRY(bind(p, mw, info_of(r, 0, 0, 0), IBV_WC_SUCCESS));
	NEED(!ibv_rereg_mr(r, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
			   buf + BUF_SIZE, LEN, 0), "translation");
	TRY(writes(p, r->rkey, 0, 0, LEN, 4));
	/* By address as well, under its key, and from zero again */
	NEED(!ibv_rereg_mr(r, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ANY_ACCESS), "by address");
	TRY(writes(p, r->rkey, addr_of(0), 0, LEN, 5));
	TRY(refused_at(p, r->rkey, LEN, 1));
	TRY(reach(p, IBV_WR_RDMA_WRITE, r->rkey, 0, 1, IBV_WC_REM_ACCESS_ERR));
	NEED(!ibv_rereg_mr(r, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			   ANY_ACCESS | IBV_ACCESS_ZERO_BASED), "from zero");
	TRY(writes(p, r->rkey, 0, 0, LEN, 6));
	NEED(!ibv_dereg_mr(r), "ibv_dereg_mr");
	return true;
}

bool test_zero_based(void)
{
	return with_window(IBV_MW_TYPE_1, zero_based);
}
