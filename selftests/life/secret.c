// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * As revoke.c, by RC and the other way round: a peer READs without end from memory
 * that it was given a key of, until the victim deregisters it and has something in
 * the same pages that is nobody's business, which then never comes to the peer. And
 * a peer SENDs without end to a victim that deregisters what its receives are to
 * fill, posted and under way, and finds the pages as it left them.
 */
#include <sys/mman.h>

#include "revoke.h"

#define OPEN	0xaa	/* what a peer may READ is full of it */
#define READ_MAX (LEN / 2)
#define PIECE	(LEN / RECVS)

/* The victim's memory: half of the time in other pages, the old ones nobody's. */
static uint8_t *renew(uint8_t *p, int round)
{
	if (round % 2) {
		munmap(p, LEN);
		return revoke_map(MINE);
	}
	memset(p, MINE, LEN);
	return p;
}

static void receive(struct side *s, struct ibv_mr *mr, uint32_t lkey, int i)
{
	struct ibv_sge sge = { (uintptr_t)mr->addr + i * PIECE, PIECE, lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };

	NEED(!ibv_post_recv(s->qp[Q_RC], &wr, &bad));
}

static void offer(struct side *s, enum way how, struct ibv_mr *mr)
{
	int i;

	revoke_reset(s);
	shared->psn = rnd() & 0xffffff;
	for (i = 0; how == REVOKE_RECV && i < RECVS; i++)
		receive(s, mr, mr->lkey, i);
	revoke_reconnect(s);
	shared->va[0] = (uintptr_t)mr->addr;
	shared->rkey[0] = mr->rkey;
	__atomic_store_n(&shared->taken, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&shared->rests, 0, __ATOMIC_RELEASE);
}

/**
 * reap() - receives that have ended are posted again, with the key or what was it
 * @s: the victim
 * @mr: where to; only its address counts, and it may be deregistered
 * @lkey: its key
 * @refused: counts those that could not be filled
 *
 * Return: how many were filled.
 */
static int reap(struct side *s, struct ibv_mr *mr, uint32_t lkey, int *refused)
{
	struct ibv_wc wc;
	int filled = 0;

	while (ibv_poll_cq(s->cq, 1, &wc) > 0) {
		*refused += wc.status == IBV_WC_LOC_PROT_ERR;
		if (wc.status)
			continue;
		receive(s, mr, lkey, wc.wr_id);
		filled++;
	}
	return filled;
}

/* Until the flood has come several times. */
static bool flows(struct side *s, enum way how, struct ibv_mr *mr, int *refused)
{
	int want = 4 + rnd() % 8, n = 0, ms;

	for (ms = 0; ms < PATIENCE_MS && !stopped(s) && n < want; ms++) {
		if (how == REVOKE_RECV)
			n += reap(s, mr, mr->lkey, refused);
		else
			n = __atomic_load_n(&shared->taken, __ATOMIC_RELAXED);
		if (n < want)
			usleep(1000);
	}
	if (n < want)
		warnx("no flood came");
	return n >= want;
}

/* Until the peer has been refused; meanwhile nothing comes to what is ours again. */
static bool stays(struct side *s, enum way how, struct ibv_mr *gone, uint8_t *p,
		  int *refused)
{
	bool over = false;
	int ms;

	for (ms = 0; ms < PATIENCE_MS && !over && !stopped(s); ms++) {
		if (ms)
			usleep(1000);
		over = revoke_rests();
		if (how == REVOKE_RECV)
			reap(s, gone, gone->lkey, refused);
		if (!revoke_untouched(s, p))
			return false;
	}
	if (!over)
		warnx("the peer was not refused");
	return over;
}

bool secret_victim(struct side *s, enum way how)
{
	const int access = how == REVOKE_READ ? IBV_ACCESS_REMOTE_READ :
						IBV_ACCESS_LOCAL_WRITE;
	int rounds = 0, reused = 0, refused = 0;
	uint64_t was[PAGES], is[PAGES];
	struct ibv_mr *mr, gone;
	uint8_t *p;

	while (!revoke_rests() && !stopped(s))
		usleep(1000);
	for (; !stopped(s) && rounds < opts.rounds; rounds++) {
		p = revoke_map(OPEN);
		NEED(mr = ibv_reg_mr(s->pd, p, LEN, access));
		offer(s, how, mr);
		if (!flows(s, how, mr, &refused))
			return false;
		revoke_frames(p, was);
		gone = *mr;
		NEED(!ibv_dereg_mr(mr));
		p = renew(p, rounds);
		revoke_frames(p, is);
		reused += revoke_again(was, is);
		if (!stays(s, how, &gone, p, &refused))
			return false;
		munmap(p, LEN);
	}
	dprintf(3, "# %d rounds, %d of %d pages used again, %d receives refused\n", rounds,
		reused, rounds * PAGES, refused);
	return reused > rounds * PAGES / 2 && (how == REVOKE_READ || refused == rounds);
}

static void post(struct side *s, enum way how, const struct ibv_mr *mr, int i)
{
	uint32_t len = how == REVOKE_READ ? 1 + rnd() % READ_MAX : 1 + rnd() % PIECE;
	struct ibv_sge sge = { (uintptr_t)mr->addr + i * READ_MAX, len, mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = i,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = how == REVOKE_READ ? IBV_WR_RDMA_READ : IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma.rkey = shared->rkey[0],
		.wr.rdma.remote_addr = shared->va[0] + rnd() % (LEN - len + 1),
	};

	NEED(!ibv_post_send(s->qp[Q_RC], &wr, &bad));
}

/* Of a READ that was refused too: a part of it may have come. */
static bool learnt_nothing(const struct side *s, const uint8_t *p, size_t len)
{
	const uint8_t *at = memchr(p, MINE, len);

	if (at)
		warnx("side %d: byte %zu of a READ is the victim's secret", s->me, at - p);
	return !at;
}

/* READ or SEND until it is refused. */
static bool flood(struct side *s, enum way how, const struct ibv_mr *mr)
{
	enum ibv_wc_status want = how == REVOKE_READ ? IBV_WC_REM_ACCESS_ERR :
						       IBV_WC_REM_OP_ERR;
	bool busy[SENDS] = {}, refused = false;
	int i, k, n, out = 0;
	struct ibv_wc wc[SENDS];

	while (!stopped(s) && (out || !refused)) {
		for (i = 0; i < SENDS && !refused; i++) {
			if (busy[i])
				continue;
			post(s, how, mr, i);
			busy[i] = true;
			out++;
		}
		n = ibv_poll_cq(s->cq, SENDS, wc);
		for (i = 0; i < n; i++, out--) {
			k = wc[i].wr_id;
			busy[k] = false;
			if (how == REVOKE_READ &&
			    !learnt_nothing(s, (uint8_t *)mr->addr + k * READ_MAX, READ_MAX))
				return false;
			if (!wc[i].status) {
				__atomic_fetch_add(&shared->taken, 1, __ATOMIC_RELAXED);
				continue;
			}
			if (wc[i].status != want)
				errx(1, "refused by: %s", ibv_wc_status_str(wc[i].status));
			want = IBV_WC_WR_FLUSH_ERR;
			refused = true;
		}
	}
	return true;
}

bool secret_flood(struct side *s, enum way how)
{
	size_t len = SENDS * READ_MAX;
	struct ibv_mr *mr;
	bool ok = true;
	uint8_t *p;

	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(p != MAP_FAILED);
	memset(p, OPEN, len);
	NEED(mr = ibv_reg_mr(s->pd, p, len, IBV_ACCESS_LOCAL_WRITE));
	while (ok && !stopped(s)) {
		revoke_rest(s);
		ok = flood(s, how, mr);
	}
	revoke_reset(s);
	NEED(!ibv_dereg_mr(mr));
	return ok;
}
