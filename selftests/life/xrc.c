// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A domain of XRC that processes share, each with a queue of its own in it, behind
 * one connection: one of them ends, or a part of what it has, in mid-traffic. The
 * others receive what was sent to them, and who sends is told what is not there.
 * The parent's thread, and one in each process; what they share is struct domain.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "life.h"

#define MEMBERS	3		/* the first makes domain and target */
#define MSG	20000
#define SENDER	MEMBERS		/* among the processes */
#define ALL	((1u << MEMBERS) - 1)

enum what {
	MEMBER_KILLED, SRQ_DESTROYED, OWNER_KILLED, OWNER_LEAVES, HANDLE_DESTROYED,
	ALL_KILLED, SENDER_KILLED, WHATS
};

enum order { STAY, DROP_SRQ, DROP_TARGET, LEAVE };

/**
 * struct domain - what the processes tell each other
 * @epoch: of the connection; they make it anew when it rises
 * @ready: each end is in this epoch
 * @keeper: the member whose handle of the target is used for that
 * @to: members that are sent to, as bits
 * @qpn, @gid: of the target, of the sender
 * @broken: the epoch whose connection has broken, with @status
 * @end: errors of any kind are the test's own doing
 */
static struct domain {
	uint32_t epoch;
	uint32_t ready[2];
	uint32_t keeper;
	uint32_t to;
	uint32_t qpn[2];
	union ibv_gid gid[2];
	uint32_t broken;
	uint32_t status;
	uint32_t end;
	struct {
		uint32_t srqn;
		uint32_t came;
		uint32_t order;
	} member[MEMBERS];
} *d;

static pid_t pids[MEMBERS + 1];
static int file = -1;		/* which is the domain's name */

struct header {
	uint32_t epoch;
	uint32_t member;
	uint32_t seq;
	uint32_t len;
};

#define GET(v)		__atomic_load_n(&(v), __ATOMIC_ACQUIRE)
#define SET(v, to)	__atomic_store_n(&(v), to, __ATOMIC_RELEASE)

static void fill(uint8_t *p, const struct header *h)
{
	memset(p, h->seq * 7 + h->member, h->len);
	memcpy(p, h, sizeof(*h));
}

static bool filled(const uint8_t *p, const struct header *h)
{
	uint32_t i;

	for (i = sizeof(*h); i < h->len; i++)
		if (p[i] != (uint8_t)(h->seq * 7 + h->member))
			return false;
	return true;
}

static void open_all(struct side *s, size_t len)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	side_open(s);
	side_find_gid(s, &d->gid[s->me]);
	NEED(s->pd = ibv_alloc_pd(s->ctx));
	NEED(s->cq = ibv_create_cq(s->ctx, 4 * RECVS, NULL, NULL, 0));
	s->mem = mmap(NULL, len, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(s->mem != MAP_FAILED);
	NEED(s->mr = ibv_reg_mr(s->pd, s->mem, len, IBV_ACCESS_LOCAL_WRITE));
}

static bool close_all(struct side *s)
{
	return !ibv_dereg_mr(s->mr) && !ibv_dealloc_pd(s->pd) &&
	       !ibv_destroy_cq(s->cq) &&
	       (!s->xrcd || !ibv_close_xrcd(s->xrcd)) &&
	       !ibv_close_device(s->ctx);
}

/* From whatever state it is in */
static void connect_again(struct side *s, struct ibv_qp *qp, uint32_t epoch)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	uint32_t psn = epoch * 0x234567 & 0xffffff;

	while (!GET(d->qpn[!s->me]))
		usleep(1000);
	s->peer.gid = d->gid[!s->me];
	s->peer.psn = psn;
	NEED(!ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	side_init_qp(s, qp);
	side_connect_qp(s, qp, d->qpn[!s->me], psn);
	SET(d->ready[s->me], epoch);
}

static bool take(struct side *s, int i)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)s->mem + i * MSG,
		.length = MSG,
		.lkey = s->mr->lkey,
	};
	struct ibv_recv_wr *bad, wr = {
		.wr_id = i, .sg_list = &sge, .num_sge = 1,
	};

	return !ibv_post_srq_recv(s->xsrq, &wr, &bad);
}

static void join(struct side *s, int n)
{
	struct ibv_qp_open_attr open = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_TYPE,
		.qp_type = IBV_QPT_XRC_RECV,
	};
	uint32_t srqn;
	int i;

	while (n && !GET(d->qpn[0]))
		usleep(1000);
	side_make_xrc(s, file, n ? 0 : O_CREAT | O_EXCL, !n);
	if (!n) {
		SET(d->qpn[0], s->target->qp_num);
	} else {
		open.qp_num = d->qpn[0];
		open.xrcd = s->xrcd;
		NEED(s->target = ibv_open_qp(s->ctx, &open));
	}
	for (i = 0; i < RECVS; i++)
		NEED(take(s, i));
	NEED(!ibv_get_srq_num(s->xsrq, &srqn));
	SET(d->member[n].srqn, srqn);
}

/* It is what was sent to this member next; @h: what came last */
static bool came(struct side *s, int n, const struct ibv_wc *wc,
		 struct header *h)
{
	const uint8_t *p = s->mem + wc->wr_id * MSG;
	struct header is;

	/* what the connection's end has cut off */
	if (wc->status == IBV_WC_WR_FLUSH_ERR)
		return true;
	memcpy(&is, p, sizeof(is));
	if (wc->status || is.len != wc->byte_len || is.member != (uint32_t)n ||
	    is.epoch < h->epoch || !filled(p, &is) ||
	    is.seq != (is.epoch == h->epoch ? h->seq + 1 : 0)) {
		warnx("member %d: %s, %u bytes: %u.%u for %u, after %u.%u", n,
		      ibv_wc_status_str(wc->status), wc->byte_len, is.epoch,
		      is.seq, is.member, h->epoch, h->seq);
		return false;
	}
	*h = is;
	SET(d->member[n].came, d->member[n].came + 1);
	return true;
}

static bool drop(struct side *s, bool srq, bool target)
{
	bool ok = true;

	if (srq && s->xsrq) {
		ok = !ibv_destroy_srq(s->xsrq);
		s->xsrq = NULL;
	}
	if (target && s->target) {
		ok = !ibv_destroy_qp(s->target) && ok;
		s->target = NULL;
	}
	return ok;
}

/* Return: exit status */
static int member(int n)
{
	struct side s = {};
	struct header last = {};
	uint32_t epoch = 0, order;
	struct ibv_wc wc[RECVS];
	bool ok = true;
	int i, got;

	open_all(&s, RECVS * MSG);
	join(&s, n);
	while (ok && (order = GET(d->member[n].order)) != LEAVE) {
		ok = drop(&s, order == DROP_SRQ, order == DROP_TARGET);
		if (GET(d->epoch) != epoch && GET(d->keeper) == (uint32_t)n) {
			epoch = GET(d->epoch);
			connect_again(&s, s.target, epoch);
		}
		got = ibv_poll_cq(s.cq, RECVS, wc);
		for (i = 0; i < got; i++)
			ok = ok && came(&s, n, &wc[i], &last) &&
			     (!s.xsrq || take(&s, wc[i].wr_id));
		if (got <= 0)
			usleep(500);
	}
	if (rnd() % 2)
		ok = drop(&s, true, false) && ok;
	return !(drop(&s, true, true) && close_all(&s) && ok);
}

static uint32_t next_member(uint32_t *m)
{
	do {
		*m = (*m + 1) % MEMBERS;
	} while (!(GET(d->to) & 1 << *m));
	return *m;
}

/* To the next member, from this slot. Return: 0, or why not */
static int send_from(struct side *s, int slot, uint32_t *m, uint32_t *seq)
{
	struct header h = {
		.epoch = d->ready[1],
		.len = sizeof(h) + rnd() % (MSG - sizeof(h)),
	};
	uint8_t *p = s->mem + slot * MSG;
	struct ibv_sge sge = { (uintptr_t)p, h.len, s->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = slot,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};

	h.member = next_member(m);
	h.seq = seq[h.member]++;
	wr.qp_type.xrc.remote_srqn = d->member[h.member].srqn;
	fill(p, &h);
	return ibv_post_send(s->qp[Q_XRC], &wr, &bad);
}

/* Begin again, with nothing under way, when the other end has */
static void sender_connects(struct side *s, int busy)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	uint32_t epoch = GET(d->epoch);
	struct ibv_wc wc;

	NEED(!busy || !ibv_modify_qp(s->qp[Q_XRC], &attr, IBV_QP_STATE));
	while (busy)
		busy -= ibv_poll_cq(s->cq, 1, &wc) > 0;
	connect_again(s, s->qp[Q_XRC], epoch);
	while (GET(d->ready[0]) != epoch && !GET(d->end))
		usleep(1000);
}

/* In one epoch. Return: how many are under way */
static int sender_sends(struct side *s)
{
	uint32_t seq[MEMBERS] = {}, epoch = d->ready[1], m = 0;
	struct ibv_wc wc = {};
	int i, busy = 0;

	for (i = 0; i < SENDS; i++, busy++)
		if (send_from(s, i, &m, seq))
			return busy;
	while (GET(d->epoch) == epoch && !GET(d->end)) {
		if (ibv_poll_cq(s->cq, 1, &wc) <= 0) {
			usleep(200);
			continue;
		}
		busy--;
		if (!wc.status && !send_from(s, wc.wr_id, &m, seq)) {
			busy++;
		} else if (d->broken != epoch) {
			d->status = wc.status;
			SET(d->broken, epoch);
		}
	}
	return busy;
}

static void sender_makes(struct side *s)
{
	NEED(s->qp[Q_XRC] = side_make_qp(s, Q_XRC));
	SET(d->qpn[1], s->qp[Q_XRC]->qp_num);
}

static int sender(void)
{
	struct side s = { .me = 1 };
	int i, busy = 0;

	open_all(&s, SENDS * MSG);
	sender_makes(&s);
	for (i = 0; i < MEMBERS; i++)
		while (!GET(d->member[i].srqn))
			usleep(1000);
	while (!GET(d->end)) {
		sender_connects(&s, busy);
		busy = sender_sends(&s);
	}
	return !(!ibv_destroy_qp(s.qp[Q_XRC]) && close_all(&s));
}

static bool broke(uint32_t epoch)
{
	int ms;

	for (ms = 0; GET(d->broken) != epoch; ms++) {
		if (ms == PATIENCE_MS) {
			warnx("the sender has not been told");
			return false;
		}
		usleep(1000);
	}
	if (d->status != IBV_WC_REM_INV_REQ_ERR)
		warnx("the sender is told: %s", ibv_wc_status_str(d->status));
	return d->status == IBV_WC_REM_INV_REQ_ERR;
}

/* To each that is sent to comes more than one round of receives */
static bool comes(void)
{
	uint32_t was[MEMBERS];
	int i, ms = 0;

	for (i = 0; i < MEMBERS; i++)
		was[i] = GET(d->member[i].came);
	for (i = 0; i < MEMBERS; i++) {
		while (d->to & 1 << i &&
		       GET(d->member[i].came) - was[i] <= RECVS) {
			if (ms++ == PATIENCE_MS || life_ended(pids[i]) ||
			    life_ended(pids[SENDER])) {
				warnx("member %d: only %u messages, sender: %s",
				      i, d->member[i].came - was[i],
				      ibv_wc_status_str(d->status));
				return false;
			}
			usleep(1000);
		}
	}
	return true;
}

/* Whatever becomes of one, the others get theirs */
static bool without(uint32_t victim)
{
	if (!broke(d->epoch))
		return false;
	d->to &= ~(1 << victim);
	d->keeper = !victim;
	SET(d->epoch, d->epoch + 1);
	return comes();
}

static bool meanwhile(enum what what, uint32_t victim)
{
	int i;

	switch (what) {
	case MEMBER_KILLED:
	case OWNER_KILLED:
		kill(pids[victim], SIGKILL);
		return without(victim);
	case SRQ_DESTROYED:
		SET(d->member[victim].order, DROP_SRQ);
		return without(victim);
	case OWNER_LEAVES:
		SET(d->member[victim].order, LEAVE);
		return without(victim);
	case HANDLE_DESTROYED:
		/* of the target that the others have open too */
		SET(d->member[victim].order, DROP_TARGET);
		return comes() && !d->broken;
	case ALL_KILLED:
		for (i = 0; i < MEMBERS; i++)
			kill(pids[i], SIGKILL);
		break;
	default:
		kill(pids[SENDER], SIGKILL);
	}
	usleep(rnd() % 100000);
	return true;
}

static void start(void)
{
	int i;

	memset(d, 0, sizeof(*d));
	d->to = ALL;
	d->epoch = 1;
	for (i = 0; i <= SENDER; i++) {
		rnd();
		fflush(stdout);
		pids[i] = fork();
		if (!pids[i])
			_exit(i == SENDER ? sender() : member(i));
	}
}

static bool killed(enum what what, uint32_t victim, int i)
{
	switch (what) {
	case MEMBER_KILLED:
	case OWNER_KILLED:
		return i == (int)victim;
	case ALL_KILLED:
		return i != SENDER;
	default:
		return what == SENDER_KILLED && i == SENDER;
	}
}

/**
 * xrc_round() - all ends that there are, in turn
 * @n: the round
 */
bool xrc_round(int n)
{
	enum what what = n % WHATS;
	uint32_t victim = what == OWNER_KILLED || what == OWNER_LEAVES ? 0 :
			  what == MEMBER_KILLED ? 1 + rnd() % (MEMBERS - 1) :
			  rnd() % MEMBERS;
	char who[32];
	bool ok;
	int i;

	if (file < 0) {
		file = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		d = mmap(NULL, sizeof(*d), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (file < 0 || d == MAP_FAILED)
			err(1, "what processes share");
	}
	start();
	ok = comes();
	usleep(rnd() % 20000);
	ok = ok && meanwhile(what, victim);
	/* the sender at last, or in the middle */
	if (rnd() % 2)
		SET(d->end, 1);
	for (i = 0; i < MEMBERS; i++)
		SET(d->member[i].order, LEAVE);
	SET(d->end, 1);
	for (i = 0; i <= SENDER; i++) {
		snprintf(who, sizeof(who), "%s %d, end %d",
			 i == SENDER ? "sender" : "member", i, what);
		ok &= life_ends(pids[i], who, killed(what, victim, i));
	}
	return ok;
}
