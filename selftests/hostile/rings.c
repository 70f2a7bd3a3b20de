// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests that a user's rings cannot harm anybody but the user: garbage of every
 * kind is written to all mapped rings while the kernel works on them, QPs change
 * their state under it, rings are mapped and unmapped and changed for such of another
 * size, commands make no sense. The QPs, of every type, are connected within the
 * device and with another host's. A victim on the same device, whose keys and handles
 * the attacker knows, goes on with traffic of its own, as do other QPs of the
 * attacker's, within the device and to the other host; the kernel's own complaints are
 * for whoever runs this to look for.
 *
 *   rings DEVICE DEVICE@NAMESPACE [SECONDS [SEED]]
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <arm.h>
#include <bell.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/xroce-abi.h>
#include <tap.h>

#include "ends.h"
#include "garble.h"
#include "good.h"
#include "resize.h"

#define ROUND_MS	2000
#define CALM_MS		250	/* every other while */
#define VICTIM_LEN	(1 << 20)
#define ARENA_LEN	(1 << 16)
/* Pairs of each type, within a device and then across */
#define QPS		(4 * END_TYPES)
#define AHS		4
#define CALLS		32	/* of garbage, between other things */
#define WINDOWS		8	/* half of them of either type */
/* CQ and SRQs; of each pair two and two, but no RQ where there is an SRQ or XRC */
#define RINGS		(2 * 3 + 2 * (3 * 4 + 2 + 1))

/* What attacker and victim share. */
static struct shared {
	uint64_t va;
	uint32_t key;
	uint32_t qpn;
	uint32_t ah;
	uint32_t steps;
	uint32_t ready;
	uint32_t stop;
	/* What has succeeded: of QPs across, of XRC's targets, with keys */
	uint32_t far;
	uint32_t xrc;
	uint32_t bound;
	uint32_t ended;
	/* Rings changed for others, and not */
	uint32_t resized;
	uint32_t unresized;
	uint32_t garbled[GARBLED_KINDS];
} *shared;

static uint64_t seed;

uint32_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 0x2545f4914f6cdd1dull >> 32;
}

/* The kernel's number of a handle, which the provider has right behind it. */
static uint32_t ah_number(struct ibv_pd *pd, struct ibv_context *to)
{
	struct ibv_qp_attr attr = rtr_attr_to(pd->context, to, 0);
	struct ibv_ah *ah = ibv_create_ah(pd, &attr.ah_attr);

	if (!ah)
		err(1, "an AH");
	return *(uint32_t *)(ah + 1);
}

/*
 * The other process: registers memory for all to use but in its own PD, and does
 * what it does.
 */
static int victim(const char *dev)
{
	struct ibv_context *ctx = open_device(dev);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	uint8_t *mem = aligned_alloc(4096, VICTIM_LEN);
	struct good good = {};
	struct ibv_mr *mr;
	uint32_t i;

	for (i = 0; i < VICTIM_LEN; i++)
		mem[i] = i * 7;
	mr = ibv_reg_mr(pd, mem, VICTIM_LEN, ALL_ACCESS);
	if (!mr)
		err(1, "the victim's memory");
	shared->va = (uintptr_t)mem;
	shared->key = mr->rkey;
	good_open(&good, ctx, ctx);
	shared->qpn = good.qp[1]->qp_num;
	shared->ah = ah_number(pd, ctx);
	__atomic_store_n(&shared->ready, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&shared->stop, __ATOMIC_ACQUIRE)) {
		if (!good_step(&good))
			return 1;
		__atomic_store_n(&shared->steps, good.n, __ATOMIC_RELAXED);
	}
	for (i = 0; i < VICTIM_LEN; i++)
		if (mem[i] != (uint8_t)(i * 7))
			return 1;
	return 0;
}

/*
 * @at: whose end it is of; @to: with whose its queue talks; @stride: of one of the
 * kind, with what the QPs here are asked to have; @stays: no QP's
 */
struct ring {
	uint8_t *p;
	size_t len;
	off_t off;
	int at;
	int to;
	enum { CQ_RING, SQ_RING, RQ_RING } kind;
	uint32_t stride;
	enum end_type type;
	bool stays;
};

struct attack {
	struct end end[2];
	struct ibv_mw *mw[2][WINDOWS];
	uint32_t ah[2][AHS];
	struct ibv_qp *qp[QPS];
	struct ring ring[RINGS];
	struct ring *cq[2];
	struct ring *srq[2][2];		/* and that of XRC */
	uint32_t cqes[2];
	int rings;
	uint8_t *arena;
	bool late;
};

/* Some of the time nothing is wrong, or hardly anything would ever be done. */
static bool calm;

static bool wrong_in(uint32_t n)
{
	return !__atomic_load_n(&calm, __ATOMIC_RELAXED) && one_in(n);
}

static bool known(const struct attack *a, const uint8_t *p)
{
	int i;

	for (i = 0; i < a->rings && a->ring[i].p != p; i++)
		;
	return i < a->rings;
}

/*
 * What has been mapped since the last time: the first, by where the kernel has put
 * it, is of a kind, what follows are RQs.
 */
static struct ring *find_rings(struct attack *a, struct ring like)
{
	struct ring *first = NULL, *r = &a->ring[a->rings];
	unsigned long from, end, off;
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && fgets(line, sizeof(line), f)) {
		if (!strstr(line, "uverbs") ||
		    sscanf(line, "%lx-%lx %*s %lx", &from, &end, &off) != 3 ||
		    known(a, (void *)from))
			continue;
		if (a->rings == RINGS)
			errx(1, "more than %d rings are mapped", RINGS);
		a->ring[a->rings] = like;
		a->ring[a->rings].p = (void *)from;
		a->ring[a->rings].len = end - from;
		a->ring[a->rings++].off = off;
	}
	if (f)
		fclose(f);
	for (; r < a->ring + a->rings; r++) {
		if (!first || r->off < first->off)
			first = r;
		r->kind = RQ_RING;
		r->stride = 128;
	}
	if (first) {
		first->kind = like.kind;
		first->stride = like.kind == SQ_RING ? 320 : 64;
	}
	return first;
}

/* Those of an end are mapped after its CQ, which is the first that was found of it. */
static void find_srqs(struct attack *a, int at)
{
	struct ring *r, **to = a->srq[at];

	for (r = a->ring; r < a->ring + a->rings; r++) {
		if (r->at != at || r == a->cq[at])
			continue;
		if (!to[0] || r->off < to[0]->off) {
			to[1] = to[0];
			to[0] = r;
		} else {
			to[1] = r;
		}
	}
	if (!to[1])
		errx(1, "an SRQ's ring is not mapped");
}

/* Most of what follows is right: one error ends a QP until it is connected again. */
static struct xroce_sge any_sge(struct attack *a, const struct ring *r)
{
	uint32_t len = rnd() % (one_in(4) || r->kind == RQ_RING ? 8000 : 300);
	struct xroce_sge sge = {
		.addr = (uintptr_t)a->arena + rnd() % (ARENA_LEN - len),
		.length = wrong_in(128) ? rnd() : len,
		.lkey = a->end[r->at].mr->lkey,
	};

	if (wrong_in(64))
		sge.lkey = one_in(2) ? shared->key : rnd();
	if (wrong_in(64))
		sge.addr = one_in(2) ? shared->va + rnd() % VICTIM_LEN :
				       (uint64_t)rnd() << 32 | rnd();
	return sge;
}

static void any_sges(struct attack *a, const struct ring *r, uint8_t *p)
{
	struct xroce_sge sge;
	int i;

	for (i = 0; i < 8 && p + sizeof(sge) <= r->p + r->len; i++, p += sizeof(sge)) {
		sge = any_sge(a, r);
		memcpy(p, &sge, sizeof(sge));
	}
}

/*
 * A window as it may be named by now: its key changes with each bind. Those of one
 * end are a queue's own, mostly, for who has bound one may end it.
 */
static uint32_t any_window(struct attack *a, const struct ring *r, int at)
{
	uint32_t i = at != r->at || wrong_in(4) ? rnd() : (r - a->ring) / 2;

	return a->mw[at][i % WINDOWS]->rkey | !wrong_in(2);
}

static uint32_t any_rkey(struct attack *a, const struct ring *r)
{
	if (wrong_in(32))
		return shared->key;
	return wrong_in(16) ? any_window(a, r, r->to) : a->end[r->to].mr->rkey;
}

/* A window bound or a key ended, which is often that of something. */
static void any_local(struct attack *a, const struct ring *r,
		      struct xroce_send_wqe *wqe)
{
	wqe->flags &= ~XROCE_WR_INLINE;
	wqe->num_sge = 0;
	/* A queue's own of type 1 is not ended by it */
	if (one_in(3) && ((r - a->ring) / 2 % 2 == 0 || wrong_in(2))) {
		wqe->opcode = wrong_in(2) ? XROCE_WR_SEND_WITH_INV : XROCE_WR_LOCAL_INV;
		wqe->inv_rkey = any_window(a, r, wqe->opcode == XROCE_WR_LOCAL_INV ?
						 r->at : r->to);
		if (wrong_in(16))
			wqe->inv_rkey = one_in(2) ? any_rkey(a, r) : rnd();
		return;
	}
	wqe->opcode = XROCE_WR_BIND_MW;
	wqe->bind.length = wrong_in(16) ? rnd() : rnd() % ARENA_LEN;
	wqe->bind.addr = (uintptr_t)a->arena + rnd() % (ARENA_LEN - wqe->bind.length %
							ARENA_LEN);
	wqe->bind.lkey = wrong_in(8) ? any_rkey(a, r) : a->end[r->at].mr->lkey;
	wqe->bind.rkey = wrong_in(16) ? any_rkey(a, r) : any_window(a, r, r->at);
	wqe->bind.new_rkey = wrong_in(16) ? rnd() : wqe->bind.rkey ^ wrong_in(4);
	wqe->bind.access = wrong_in(16) ? rnd() : ALL_ACCESS;
}

static void any_datagram(struct attack *a, const struct ring *r,
			 struct xroce_send_wqe *wqe)
{
	wqe->opcode = XROCE_WR_SEND + rnd() % 2;
	wqe->ud.ah = a->ah[r->at][rnd() % AHS];
	wqe->ud.remote_qpn = a->qp[rnd() % QPS]->qp_num;
	wqe->ud.remote_qkey = wrong_in(8) ? rnd() : END_QKEY;
	if (wrong_in(8))
		wqe->ud.ah = one_in(2) ? shared->ah : rnd();
	if (wrong_in(8))
		wqe->ud.remote_qpn = one_in(2) ? shared->qpn : rnd();
	if (wrong_in(16))
		wqe->ud.kernel = (uint64_t)rnd() << 32 | rnd();
}

static uint8_t any_opcode(const struct ring *r)
{
	if (wrong_in(64))
		return rnd();
	if (wrong_in(16))
		return rnd() % 16;
	return rnd() % (r->type == END_UC ? XROCE_WR_RDMA_READ :
					    XROCE_WR_ATOMIC_FETCH_AND_ADD + 1);
}

/* A request as a user might make it, with something wrong now and then. */
static void any_send(struct attack *a, const struct ring *r, uint8_t *slot)
{
	struct xroce_send_wqe wqe = {
		.wr_id = rnd(),
		.opcode = any_opcode(r),
		.num_sge = wrong_in(64) ? rnd() : rnd() % 5,
		.flags = wrong_in(64) ? rnd() : rnd() % 8,
		.imm = rnd(),
		.rdma.remote_addr = (uintptr_t)a->arena + rnd() % (ARENA_LEN / 2),
		.rdma.rkey = any_rkey(a, r),
		.rdma.xrc_srqn = wrong_in(32) ? rnd() : a->end[r->to].srqn,
		.rdma.swap_add = rnd(),
	};
	bool atomic = wqe.opcode == XROCE_WR_ATOMIC_CMP_AND_SWP ||
		      wqe.opcode == XROCE_WR_ATOMIC_FETCH_AND_ADD;

	if (wqe.opcode < XROCE_WR_RDMA_READ ? one_in(4) : wrong_in(32)) {
		wqe.flags |= XROCE_WR_INLINE;
		wqe.inline_len = wrong_in(32) ? rnd() : rnd() % 256;
	}
	if (wrong_in(32))
		wqe.rdma.remote_addr = shared->va + rnd() % VICTIM_LEN;
	atomic &= !wrong_in(16);
	if (atomic) {
		wqe.rdma.remote_addr &= ~7ull;
		wqe.num_sge = 1;
	}
	if (wrong_in(32) ? r->type != END_UD : r->type == END_UD)
		any_datagram(a, r, &wqe);
	else if (one_in(6))
		any_local(a, r, &wqe);
	if (slot + sizeof(wqe) > r->p + r->len)
		return;
	memcpy(slot, &wqe, sizeof(wqe));
	any_sges(a, r, slot + sizeof(wqe));
	if (atomic && slot + sizeof(wqe) + sizeof(wqe.sge[0]) <= r->p + r->len)
		((struct xroce_send_wqe *)slot)->sge[0].length = 8;
}

static void any_recv(struct attack *a, const struct ring *r, uint8_t *slot)
{
	struct xroce_recv_wqe wqe = {
		.wr_id = rnd(),
		.num_sge = wrong_in(64) ? rnd() : 1 + rnd() % 4,
	};

	if (slot + sizeof(wqe) > r->p + r->len)
		return;
	memcpy(slot, &wqe, sizeof(wqe));
	any_sges(a, r, slot + sizeof(wqe));
}

static void scribble(struct attack *a)
{
	const struct ring *r = &a->ring[rnd() % a->rings];
	struct xroce_ring *ring = (void *)r->p;
	uint32_t *head = (void *)ring;
	uint32_t what = wrong_in(1) ? rnd() % 64 : 3 + rnd() % 29, stride;
	uint8_t *slot;

	/*
	 * No reset mends the indices of a CQ or an SRQ: they are right until the end
	 * is near.
	 */
	if (what < (r->kind == CQ_RING ? 4 : 3) && r->stays &&
	    !__atomic_load_n(&a->late, __ATOMIC_RELAXED))
		return;
	switch (what) {
	case 0:		/* an index or flag, anything or just a bit off */
		head[rnd() % 4 * 16] = one_in(2) ? rnd() :
						   ring->prod + rnd() % 8 - 4;
		break;
	case 1:		/* any bytes anywhere */
		r->p[rnd() % r->len] = rnd();
		break;
	case 2:		/* as if all had been looked at */
		ring->cons = ring->prod;
		break;
	case 3:		/* a few posted */
		__atomic_store_n(&ring->prod, ring->cons +
				 rnd() % (r->kind == RQ_RING ? END_DEPTH : 8),
				 __ATOMIC_RELEASE);
		break;
	default:
		/* A slot of what it is for, mostly */
		stride = wrong_in(8) ? XROCE_SLOT_ALIGN : r->stride;
		slot = r->p + XROCE_RING_HDR +
		       rnd() % (r->len - XROCE_RING_HDR) / stride * stride;
		if (wrong_in(8) ? r->kind == SQ_RING : r->kind != SQ_RING)
			any_recv(a, r, slot);
		else
			any_send(a, r, slot);
	}
}

static void *scribbler(void *arg)
{
	struct attack *a = arg;

	for (;;)
		scribble(a);
	return NULL;
}

/* Of all contexts' files one rings a QP, if it has rings; and each is told nonsense */
static bool rings(struct ibv_qp *qp)
{
	static int fds[BELL_MAX], n;
	int i, rung = 0;

	if (!n)
		n = bell_fds(fds);
	for (i = 0; i < n; i++) {
		rung += lseek(fds[i], -1 - (off_t)qp->qp_num, SEEK_SET) == qp->qp_num;
		lseek(fds[i], -1 - ((uint64_t)rnd() << rnd() % 33), rnd() % 3);
	}
	return rung == (qp->qp_type != IBV_QPT_XRC_RECV);
}

/* Past the provider, which believes what is in its rings; by either way. */
static void doorbell(struct ibv_qp *qp)
{
	uint32_t resp[2];
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_post_send send;
	} cmd = {
		.hdr.command = one_in(2) ? IB_USER_VERBS_CMD_POST_SEND :
					   IB_USER_VERBS_CMD_POST_RECV,
		.hdr.in_words = sizeof(cmd) / 4,
		.hdr.out_words = 1,
		.send.response = (uintptr_t)resp,
		.send.qp_handle = qp->handle,
		.send.wqe_size = sizeof(struct ib_uverbs_send_wr),
	};

	if (one_in(2) ? write(qp->context->cmd_fd, &cmd, sizeof(cmd)) < 0 : !rings(qp))
		err(1, "a doorbell");
}

/* As no provider does: the system call, while its ring is changed for another. */
static void arm(struct ibv_cq *cq)
{
	int i;

	for (i = 0; i < 16; i++)
		if (arm_by_call(cq, 0))
			err(1, "arming a CQ");
}

/* Without doorbells hardly anything is looked at. */
static void *ringer(void *arg)
{
	struct attack *a = arg;

	for (;;)
		doorbell(a->qp[rnd() % QPS]);
	return NULL;
}

static void *resizer(void *arg)
{
	int i;

	for (i = 0;; i++)
		if (ibv_resize_cq(arg, i % 2 ? END_DEPTH : 4 * END_DEPTH))
			err(1, "ibv_resize_cq");
	return NULL;
}

static void set_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_modify_qp modify;
	} cmd = {
		.hdr.command = IB_USER_VERBS_CMD_MODIFY_QP,
		.hdr.in_words = sizeof(cmd) / 4,
		.modify.qp_handle = qp->handle,
		.modify.attr_mask = IBV_QP_STATE,
		.modify.qp_state = state,
	};

	if (write(qp->context->cmd_fd, &cmd, sizeof(cmd)) < 0)
		err(1, "to state %d", state);
	qp->state = state;
}

/* Its other half is at the same end, or at the second. */
static int other_end(int i)
{
	return i < QPS / 2 ? 0 : 1;
}

static void attack_open(struct attack *a, struct ibv_context *near,
			struct ibv_context *far)
{
	int i, at, to;

	a->arena = aligned_alloc(4096, ARENA_LEN);
	for (at = 0; at < 2; at++) {
		end_open(&a->end[at], at ? far : near, a->arena, ARENA_LEN);
		a->cqes[at] = END_CQ;
		a->cq[at] = find_rings(a, (struct ring) {
			.at = at, .to = !at, .kind = CQ_RING, .stays = true,
		});
		find_srqs(a, at);
		for (i = 0; i < WINDOWS; i++) {
			a->mw[at][i] = ibv_alloc_mw(a->end[at].pd, i % 2 ?
						    IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
			if (!a->mw[at][i])
				err(1, "a window");
		}
		for (i = 0; i < AHS; i++)
			a->ah[at][i] = ah_number(a->end[at].pd, i % 2 ? near : far);
	}
	for (i = 0; i < QPS; i++) {
		at = i % 2 ? other_end(i) : 0;
		to = i % 2 ? 0 : other_end(i);
		a->qp[i] = end_qp(&a->end[at], i / 2 % END_TYPES, i % 2);
		find_rings(a, (struct ring) {
			.at = at, .to = to, .kind = SQ_RING,
			.type = i / 2 % END_TYPES,
		});
	}
	if (a->rings != RINGS)
		errx(1, "only %d rings are mapped", a->rings);
	for (i = 0; i < QPS; i++)
		if (end_connect(a->qp[i], a->qp[i ^ 1]))
			err(1, "cannot connect QP %d", i);
}

/* One that has been to ERR, as most soon have, speaks no more. */
static void reconnect(struct attack *a, int i)
{
	struct ibv_qp *one = a->qp[i], *two = a->qp[i ^ 1];

	set_state(one, IBV_QPS_RESET);
	set_state(two, IBV_QPS_RESET);
	/* Garbage may drive them to ERR on the way */
	end_connect(one, two);
	end_connect(two, one);
}

/* All begin anew with it. */
static void set_calm(struct attack *a, bool on)
{
	int i;

	if (calm == on)
		return;
	__atomic_store_n(&calm, on, __ATOMIC_RELAXED);
	for (i = 0; on && i < QPS; i += 2)
		reconnect(a, i);
}

/*
 * Another ring for a CQ or an SRQ, at the address of the old one, for who scribbles
 * does not wait. Of a smaller one the rest of the old is what is behind it.
 */
static void any_resize(struct attack *a)
{
	uint32_t depth = END_DEPTH >> (one_in(2) ? rnd() % 6 : 0);
	int at = rnd() % 2, xrc = rnd() % 2, ret;
	struct ring *r = a->srq[at][xrc];
	struct end *e = &a->end[at];

	if (one_in(3)) {
		/* Still with room for all there is */
		depth = END_CQ >> rnd() % 2;
		ret = resize_cq(e->cq, depth, a->cq[at]->p, &a->cq[at]->off);
		if (!ret)
			a->cqes[at] = depth;
	} else {
		ret = resize_srq(xrc ? e->xsrq : e->srq, depth, r->p, &r->off);
	}
	/* What is in the ring does not fit, as far as one may say, or there is more by now */
	if (ret && ret != EINVAL && ret != EBUSY)
		errx(1, "resize: %s", strerror(ret));
	shared->resized += !ret;
	shared->unresized += !!ret;
}

/* One more mapping of a ring, used and gone, or kept in part. */
static void map_again(struct attack *a)
{
	const struct ring *r = &a->ring[rnd() % a->rings];
	const size_t page = sysconf(_SC_PAGESIZE);
	uint8_t *p = mmap(NULL, r->len, PROT_READ | PROT_WRITE, MAP_SHARED,
			  a->end[r->at].ctx->cmd_fd, r->off);

	/* Neighbours in the list of mappings may have become one */
	if (p == MAP_FAILED)
		return;
	p[rnd() % r->len] = rnd();
	if (one_in(2) && r->len > page)
		munmap(p + page, r->len - page);
	else
		munmap(p, r->len);
}

static void succeeded(struct attack *a, const struct xroce_cqe *cqe)
{
	int i;

	/* Garbage has hardly the number of a QP of ours */
	for (i = 0; i < QPS && a->qp[i]->qp_num != cqe->qpn; i++)
		;
	if (i == QPS || cqe->status)
		return;
	shared->far += i >= QPS / 2 && cqe->opcode < XROCE_WC_BIND_MW;
	shared->xrc += a->qp[i]->qp_type == IBV_QPT_XRC_RECV;
	shared->bound += cqe->opcode == XROCE_WC_BIND_MW;
	shared->ended += cqe->opcode == XROCE_WC_LOCAL_INV;
}

/* A CQ that is full ends the QPs that use it, and stays so. */
static void drain(struct attack *a, const struct ring *r)
{
	struct xroce_ring *ring = (void *)r->p;
	const struct xroce_cqe *cqe = (void *)ring->slot;
	uint32_t n = __atomic_load_n(&ring->prod, __ATOMIC_ACQUIRE);
	uint32_t i = ring->cons;

	if (n - i <= a->cqes[r->at])
		for (; i != n; i++)
			succeeded(a, &cqe[i % a->cqes[r->at]]);
	__atomic_store_n(&ring->cons, n, __ATOMIC_RELEASE);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ull + t.tv_nsec / 1000000;
}

/* Something for the handles of garbage. */
static void make_things(struct ibv_context *ctx)
{
	struct end end;
	int i;

	end_open(&end, ctx, aligned_alloc(4096, ARENA_LEN), ARENA_LEN);
	for (i = 0; i < 2 * END_TYPES; i++)
		end_qp(&end, i / 2, i % 2);
}

/* One process: what it leaves is for the kernel to clean up, under fire. */
static void attack(const char *dev, const char *other)
{
	struct ibv_context *near = open_device(dev), *far;
	struct ibv_context *garbled = open_device(dev);
	struct good good[2] = {};
	struct attack a = {};
	pthread_t thread;
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	uint64_t begun, ms;
	int i;

	far = end_device(other);
	attack_open(&a, near, far);
	good_open(&good[0], near, near);
	good_open(&good[1], near, far);
	make_things(garbled);
	garble_seed(seed);
	cq = ibv_create_cq(near, END_DEPTH, NULL, NULL, 0);
	if (!cq)
		err(1, "a CQ");
	if (pthread_create(&thread, NULL, scribbler, &a) ||
	    pthread_create(&thread, NULL, ringer, &a) ||
	    pthread_create(&thread, NULL, resizer, cq))
		errx(1, "no thread");
	for (begun = now_ms(); (ms = now_ms() - begun) < ROUND_MS;) {
		__atomic_store_n(&a.late, ms > ROUND_MS * 3 / 4, __ATOMIC_RELAXED);
		set_calm(&a, ms / CALM_MS % 2);
		qp = a.qp[rnd() % QPS];
		arm(cq);
		any_resize(&a);
		for (i = 0; i < CALLS; i++)
			shared->garbled[garble(garbled->cmd_fd)]++;
		drain(&a, a.cq[0]);
		drain(&a, a.cq[1]);
		if (wrong_in(16))
			set_state(qp, IBV_QPS_ERR);
		if (wrong_in(1) || one_in(32))
			reconnect(&a, rnd() % QPS / 2 * 2);
		if (one_in(8))
			map_again(&a);
		if (one_in(8) && !good_step(&good[rnd() % 2]))
			_exit(3);
	}
	_exit(0);
}

static uint64_t counter(const char *dev, const char *name)
{
	unsigned long long value = 0;
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path),
		 "/sys/class/infiniband/%s/ports/1/hw_counters/%s", dev, name);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%llu", &value) != 1)
		errx(1, "cannot read %s", path);
	fclose(f);
	return value;
}

static bool has_done(void)
{
	return shared->far > 10 && shared->xrc > 10 && shared->bound && shared->ended;
}

static bool has_resized(void)
{
	return shared->resized > 10 && shared->unresized > 10;
}

/* Longer on a busy machine, where few rounds have done little */
static bool rounds(const char *dev, const char *other, int seconds)
{
	time_t end = time(NULL) + seconds, last = end + 5 * seconds;
	int i, status, bad = 0;
	pid_t pid;

	for (i = 0; time(NULL) < (has_done() && has_resized() ? end : last) && bad < 5; i++) {
		rnd();
		pid = fork();
		if (!pid) {
			alarm(120);
			attack(dev, other);
		}
		waitpid(pid, &status, 0);
		TAP_CHECK(bad, !status, "round %d: status %#x", i, status);
	}
	tap_note("%d rounds", i);
	return !bad;
}

int main(int argc, char **argv)
{
	uint64_t refused, sent;
	uint32_t steps;
	int status;
	pid_t pid;

	if (argc < 3)
		errx(2, "usage: rings DEVICE DEVICE@NAMESPACE [SECONDS [SEED]]");
	seed = argc > 4 ? strtoull(argv[4], NULL, 0) : 4711;
	tap_start();
	tap_note("seed %llu", (unsigned long long)seed);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid = fork();
	if (!pid)
		return victim(argv[1]);
	while (!__atomic_load_n(&shared->ready, __ATOMIC_ACQUIRE)) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			errx(1, "the victim did not start");
		usleep(1000);
	}
	refused = counter(argv[1], "send_err");
	sent = counter(argv[1], "sent_pkts");
	steps = shared->steps;
	tap_ok(rounds(argv[1], argv[2], argc > 3 ? atoi(argv[3]) : 10),
	       "garbage in all rings, while a QP beside them goes on");
	refused = counter(argv[1], "send_err") - refused;
	sent = counter(argv[1], "sent_pkts") - sent;
	steps = shared->steps - steps;
	tap_note("%llu requests refused, %llu packets sent, %u steps",
		 (unsigned long long)refused, (unsigned long long)sent, steps);
	tap_ok(refused > 100 && sent > 100, "the garbage was looked at");
	tap_note("%u between hosts, %u by XRC, %u windows bound, %u ended",
		 shared->far, shared->xrc, shared->bound, shared->ended);
	tap_ok(has_done(), "what was no garbage was done");
	tap_note("%u rings changed for others, %u not", shared->resized, shared->unresized);
	tap_ok(has_resized(),
	       "rings of another size, unless there is too much in them, or garbage");
	tap_note("calls done: %u by write, %u by extended write, %u by ioctl; %u not",
		 shared->garbled[GARBLED_WRITE], shared->garbled[GARBLED_EXTENDED],
		 shared->garbled[GARBLED_IOCTL], shared->garbled[GARBLED_NOT]);
	/* Of ioctls it is one in a hundred, and how many there are is the host's to say. */
	tap_ok(shared->garbled[GARBLED_WRITE] && shared->garbled[GARBLED_EXTENDED] &&
	       shared->garbled[GARBLED_IOCTL] && shared->garbled[GARBLED_NOT] > 100,
	       "some of the garbage of calls made sense");
	__atomic_store_n(&shared->stop, 1, __ATOMIC_RELEASE);
	waitpid(pid, &status, 0);
	tap_ok(!status && steps > 10,
	       "a victim's memory is as it was, its traffic goes on");
	return tap_end();
}
