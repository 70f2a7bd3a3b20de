// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A peer WRITEs without end to memory that it was given a key of, until the victim
 * takes the key away, uses the same pages for something else at once, and finds
 * that as it left it. Over UC, where a key that is refused ends no connection, the
 * flood goes on, to what was registered last and to what was before it. Over RC it
 * is refused, and both ends begin anew. Or the key stays, and is one to other memory
 * or with other rights.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "revoke.h"

/**
 * struct prey - what the victim has the peer WRITE to
 * @p: LEN bytes
 * @mr: their region
 * @mw: the window of it that the peer has the key of, or NULL: it has the region's
 * @rkey: the key
 * @was: the pages that were theirs before the region got others, or NULL
 */
struct prey {
	uint8_t *p;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	uint32_t rkey;
	uint8_t *was;
};

/* Is it a window that ends, and the region stays? */
static bool windows(enum way how)
{
	return how >= REVOKE_LOCAL && how <= REVOKE_DEALLOC;
}

/* Is the region one for all rounds, and its key? */
static bool keeps(enum way how)
{
	return how >= REVOKE_LOCAL;
}

static bool by_uc(enum way how)
{
	return how == REVOKE_UC || how == REVOKE_REREG_UC;
}

/* Where the memory is, in 4096 bytes, whatever size pages have; only root is told. */
void revoke_frames(const uint8_t *p, uint64_t pfn[PAGES])
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC), i;
	const uint32_t size = sysconf(_SC_PAGESIZE);
	uintptr_t at = (uintptr_t)p;

	for (i = 0; i < PAGES; i++, at += 4096) {
		if (pread(fd, &pfn[i], 8, at / size * 8) != 8)
			err(1, "pagemap");
		pfn[i] = (pfn[i] & ((1ull << 55) - 1)) * (size / 4096) + at % size / 4096;
	}
	close(fd);
}

uint8_t *revoke_map(uint8_t value)
{
	uint8_t *p = mmap(NULL, LEN, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		err(1, "mmap");
	memset(p, value, LEN);
	return p;
}

int revoke_again(const uint64_t *a, const uint64_t *b)
{
	int i, k, n = 0;

	for (i = 0; i < PAGES; i++)
		for (k = 0; k < PAGES; k++)
			n += a[i] == b[k];
	return n;
}

bool revoke_untouched(const struct side *s, const uint8_t *p)
{
	size_t i;

	for (i = 0; i < LEN; i++) {
		if (p[i] == MINE)
			continue;
		warnx("side %d: byte %zu of memory that is not the peer's was written",
		      s->me, i);
		return false;
	}
	return true;
}

/* How many pages the flood has come to, when it has: 0 if it does not */
static int flooded(const struct side *s, const volatile uint8_t *p)
{
	int i, n, hit = 0;

	for (n = 0; n < 30000 && !stopped(s) && !hit; n++) {
		for (i = 0; i < PAGES; i++)
			hit += p[i * 4096] != MINE;
		if (!hit)
			usleep(1000);
	}
	if (!hit)
		warnx("no WRITE came");
	return hit;
}

void revoke_reset(struct side *s)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	NEED(!ibv_modify_qp(s->qp[Q_RC], &attr, IBV_QP_STATE));
	side_init_qp(s, s->qp[Q_RC]);
}

void revoke_reconnect(struct side *s)
{
	s->peer.psn = shared->psn;
	side_connect_qp(s, s->qp[Q_RC], s->peer.qpn[Q_RC], shared->psn);
}

/* Post @wr, or nothing, to the victim's QP and wait for a completion of @op. */
static bool done(struct side *s, struct ibv_send_wr *wr, enum ibv_wc_opcode op,
		 struct ibv_wc *wc)
{
	struct ibv_send_wr *bad;
	int tries, n = 0;

	if (wr && ibv_post_send(s->qp[Q_RC], wr, &bad))
		err(1, "post");
	for (tries = 0; tries < PATIENCE_MS && !stopped(s) && !n; tries++) {
		/* What comes soon is seen at once */
		if (tries > 1000)
			usleep(1000);
		n = ibv_poll_cq(s->cq, 1, wc);
		/* Of the QP as it was before its RESET */
		if (n > 0 && wc->status == IBV_WC_WR_FLUSH_ERR)
			n = 0;
	}
	if (n > 0 && !wc->status && wc->opcode == op)
		return true;
	warnx("completion %d: %s", op, n > 0 ? ibv_wc_status_str(wc->status) : "none");
	return false;
}

static bool bind(struct side *s, struct prey *v)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = {
			.mw = v->mw,
			.rkey = ibv_inc_rkey(v->rkey),
			.bind_info = {
				.mr = v->mr,
				.addr = (uintptr_t)v->p,
				.length = LEN,
				.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
			},
		},
	};
	struct ibv_wc wc;

	v->rkey = wr.bind_mw.rkey;
	return done(s, &wr, IBV_WC_BIND_MW, &wc);
}

/* Memory of the victim's, and a key to it. */
static void prepare(struct side *s, enum way how, struct prey *v)
{
	const int access = windows(how) ? IBV_ACCESS_MW_BIND : IBV_ACCESS_REMOTE_WRITE;

	v->p = revoke_map(MINE);
	NEED(v->mr = ibv_reg_mr(s->pd, v->p, LEN, IBV_ACCESS_LOCAL_WRITE | access));
	v->rkey = v->mr->rkey;
}

static void alloc_window(struct side *s, struct prey *v)
{
	NEED(v->mw = ibv_alloc_mw(s->pd, IBV_MW_TYPE_2));
	v->rkey = v->mw->rkey;
}

static void rereg(struct side *s, struct prey *v, int flags, uint8_t *p, int access)
{
	NEED(!ibv_rereg_mr(v->mr, flags, NULL, p, LEN, access));
	NEED(v->mr->rkey == v->rkey);
}

/* The same key, the same addresses, other pages: those from before are elsewhere. */
static void other_pages(struct side *s, struct prey *v)
{
	v->was = revoke_map(MINE);
	NEED(mremap(v->p, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, v->was) == v->was);
	NEED(mmap(v->p, LEN, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == v->p);
	memset(v->p, MINE, LEN);
	rereg(s, v, IBV_REREG_MR_CHANGE_TRANSLATION, v->p, 0);
}

/* The same key: to other memory, or to the same that no peer may write to. */
static void other_rights(struct side *s, struct prey *v, bool move)
{
	uint8_t *p;

	if (!move) {
		rereg(s, v, IBV_REREG_MR_CHANGE_ACCESS, NULL, IBV_ACCESS_LOCAL_WRITE);
		return;
	}
	p = revoke_map(MINE);
	rereg(s, v, IBV_REREG_MR_CHANGE_TRANSLATION, p, 0);
	v->was = v->p;
	v->p = p;
}

static void give_back(struct side *s, struct prey *v)
{
	memset(v->p, MINE, LEN);
	rereg(s, v, IBV_REREG_MR_CHANGE_ACCESS, NULL,
	      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
}

/* Let the flood come. */
static bool offer(struct side *s, enum way how, struct prey *v)
{
	struct ibv_recv_wr *bad, recv = {};

	if (!keeps(how) || !v->p)
		prepare(s, how, v);
	else if (how == REVOKE_REREG)
		give_back(s, v);
	if (windows(how) && !v->mw)
		alloc_window(s, v);
	if (!by_uc(how)) {
		revoke_reset(s);
		/* None that may be under way still */
		shared->psn = rnd() & 0xffffff;
		if (how == REVOKE_REMOTE)
			NEED(!ibv_post_recv(s->qp[Q_RC], &recv, &bad));
		revoke_reconnect(s);
	}
	if (v->mw && !bind(s, v))
		return false;
	shared->end = 0;
	shared->va[1] = shared->va[0];
	shared->rkey[1] = shared->rkey[0];
	shared->va[0] = (uintptr_t)v->p;
	__atomic_store_n(&shared->rkey[0], v->rkey, __ATOMIC_RELEASE);
	__atomic_store_n(&shared->rests, 0, __ATOMIC_RELEASE);
	return true;
}

/* On return the peer has a key to nothing, or not to what it had one of. */
static bool take_away(struct side *s, enum way how, struct prey *v, int round)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_LOCAL_INV,
		.send_flags = IBV_SEND_SIGNALED,
		.invalidate_rkey = v->rkey,
	};
	struct ibv_wc wc;

	switch (how) {
	case REVOKE_UC:
	case REVOKE_RC:
		NEED(!ibv_dereg_mr(v->mr));
		return true;
	case REVOKE_REREG_UC:
		other_pages(s, v);
		return true;
	case REVOKE_REREG:
		other_rights(s, v, round % 2);
		return true;
	case REVOKE_LOCAL:
		return done(s, &wr, IBV_WC_LOCAL_INV, &wc);
	case REVOKE_REMOTE:
		__atomic_store_n(&shared->end, 1, __ATOMIC_RELEASE);
		if (!done(s, NULL, IBV_WC_RECV, &wc))
			return false;
		if (wc.wc_flags & IBV_WC_WITH_INV && wc.invalidated_rkey == v->rkey)
			return true;
		warnx("a SEND that has not ended key %#x", v->rkey);
		return false;
	default:
		NEED(!ibv_dealloc_mw(v->mw));
		v->mw = NULL;
		return true;
	}
}

bool revoke_rests(void)
{
	return __atomic_load_n(&shared->rests, __ATOMIC_ACQUIRE);
}

/*
 * Until the flood is refused, or for a while where nobody is told; or until it has
 * come to the region's other pages.
 */
static bool stays(const struct side *s, enum way how, const struct prey *v)
{
	const uint8_t *p = v->was ?: v->p;
	bool over = false;
	int ms;

	if (how == REVOKE_REREG_UC)
		return revoke_untouched(s, p) && flooded(s, v->p) &&
		       revoke_untouched(s, p);
	for (ms = 0; ms < PATIENCE_MS && !over && !stopped(s); ms++) {
		if (ms)
			usleep(1000);
		over = how == REVOKE_UC ? ms > 0 : revoke_rests();
		if (!revoke_untouched(s, p))
			return false;
	}
	if (!over)
		warnx("no WRITE was refused");
	return over;
}

/*
 * What the memory that was the peer's is used for from now on: the same pages, or
 * half of the time others, where the old ones are no MR's any more.
 */
static uint8_t *use_again(enum way how, struct prey *v, int round)
{
	if (round % 2 && !keeps(how)) {
		munmap(v->p, LEN);
		v->p = revoke_map(MINE);
	} else {
		memset(v->was ?: v->p, MINE, LEN);
	}
	return v->was ?: v->p;
}

/* After a round */
static void forget(enum way how, struct prey *v)
{
	if (v->was)
		munmap(v->was, LEN);
	v->was = NULL;
	if (!keeps(how))
		munmap(v->p, LEN);
}

bool revoke_victim(struct side *s, enum way how)
{
	int rounds = 0, hits = 0, hit, reused = 0;
	uint64_t was[PAGES], is[PAGES];
	struct prey v = {};

	while (!by_uc(how) && !revoke_rests() && !stopped(s))
		usleep(1000);
	for (; !stopped(s) && rounds < opts.rounds; rounds++) {
		if (!offer(s, how, &v))
			return false;
		hit = flooded(s, v.p);
		if (!hit)
			return false;
		hits += hit;
		revoke_frames(v.p, was);
		if (!take_away(s, how, &v, rounds))
			return false;
		revoke_frames(use_again(how, &v, rounds), is);
		reused += revoke_again(was, is);
		if (!stays(s, how, &v))
			return false;
		forget(how, &v);
	}
	if (v.mw)
		NEED(!ibv_dealloc_mw(v.mw));
	if (keeps(how) && v.mr)
		NEED(!ibv_dereg_mr(v.mr));
	/* To where the test's own output goes: what try says is seen when it fails */
	dprintf(3, "# %d rounds, %d pages written to before, %d of %d used again\n", rounds,
		hits, reused, rounds * PAGES);
	return reused > rounds * PAGES / 2;
}

/* What the peer sends: a WRITE to what it has a key of, or the key's end. */
static void post(struct side *s, enum way how, struct ibv_sge *sge, bool end)
{
	int which = how == REVOKE_UC && rnd() % 4 == 0;
	struct ibv_send_wr *bad, wr = {
		.sg_list = sge,
		.num_sge = !end,
		.opcode = end ? IBV_WR_SEND_WITH_INV : IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
	};

	if (end) {
		wr.invalidate_rkey = shared->rkey[0];
	} else {
		wr.wr.rdma.rkey = shared->rkey[which];
		wr.wr.rdma.remote_addr = shared->va[which] + rnd() % PAGES * 4096;
	}
	if (ibv_post_send(s->qp[by_uc(how) ? Q_UC : Q_RC], &wr, &bad))
		err(1, "post");
}

/* WRITE until it is refused. */
static void flood(struct side *s, enum way how)
{
	uint8_t *p = s->mem + area(AREA_SEND);
	struct ibv_sge sge = { (uintptr_t)p, SLOT, s->mr->lkey };
	enum ibv_wc_status want = IBV_WC_REM_ACCESS_ERR;
	bool ended = false, refused = false, end;
	struct ibv_wc wc[SENDS];
	int out = 0, n, i;

	memset(p, 0xaa, SLOT);
	while (!stopped(s) && (out || !refused)) {
		for (; out < SENDS && !refused; out++) {
			end = __atomic_load_n(&shared->end, __ATOMIC_ACQUIRE) && !ended;
			post(s, how, &sge, end);
			ended |= end;
		}
		n = ibv_poll_cq(s->cq, SENDS, wc);
		for (i = 0; i < n; i++, out--) {
			if (!wc[i].status)
				continue;
			if (by_uc(how) || wc[i].status != want)
				errx(1, "WRITE: %s", ibv_wc_status_str(wc[i].status));
			/* With it end those behind it */
			want = IBV_WC_WR_FLUSH_ERR;
			refused = true;
		}
	}
}

void revoke_rest(struct side *s)
{
	revoke_reset(s);
	__atomic_store_n(&shared->rests, 1, __ATOMIC_RELEASE);
	while (revoke_rests() && !stopped(s))
		usleep(100);
	revoke_reconnect(s);
}

bool revoke_flood(struct side *s, enum way how)
{
	while (!stopped(s)) {
		if (!by_uc(how))
			revoke_rest(s);
		flood(s, how);
	}
	return true;
}
