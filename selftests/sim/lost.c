// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Single packets lost where it hurts: how that is mended, by a NAK, an implied NAK, by
 * asking or by the timer, and how often. Single-threaded.
 */
#include "lost.h"

#define TIMEOUT_NS	(4096ull << 14)

struct sim_rule sim_rule;

/**
 * sim_drop_rule() - as @sim_rule says
 */
bool sim_drop_rule(struct sim_ep *from, const u8 *buf, u32 len, const struct xroce_pkt *p)
{
	(void)buf;
	(void)len;
	if ((sim_rule.from && from != sim_rule.from) || !(p->info & sim_rule.kinds))
		return false;
	if (sim_rule.seen++ < sim_rule.skip || sim_rule.dropped >= sim_rule.count ||
	    (sim_rule.again && sim_rule.dropped && p->psn != sim_rule.psn))
		return false;
	sim_rule.psn = p->psn;
	sim_rule.dropped++;
	return true;
}

/**
 * sim_drop() - make it the rule to drop @count packets of @kinds behind @skip of them
 */
void sim_drop(struct sim_ep *from, u32 kinds, u32 skip, u32 count)
{
	memset(&sim_rule, 0, sizeof(sim_rule));
	sim_rule.from = from;
	sim_rule.kinds = kinds;
	sim_rule.skip = skip;
	sim_rule.count = count;
	W->drop = sim_drop_rule;
}

/* A packet from the middle of a message: one NAK, and all goes on at once. */
static void run_lost_request(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_conn *c = sim_pair(&cfg);
	struct sim_ep *ep = &c->ep[0];

	(void)seed;
	sim_post_recvs(&c->ep[1]);
	sim_drop(ep, XROCE_OP_REQUEST, sim_below(12), 1);
	sim_post_one(ep, XROCE_WR_RDMA_WRITE, 14 << cfg.mtu_shift);
	sim_post_one(ep, XROCE_WR_SEND, 100);
	sim_settle_all(5 * SIM_MS);
	sim_check(sim_rule.dropped == 1, "nothing was dropped");
	is(NAK_SEQ_SENT, 1);
	is(NAK_SEQ_RCVD, 1);
	is(TIMEOUT, 0);
	sim_finish();
}

/* The oldest each of its first times, or once; and what the peer says of that then. */
static bool silent_rule(struct sim_ep *from, const u8 *buf, u32 len, const struct xroce_pkt *p)
{
	if (sim_drop_rule(from, buf, len, p))
		return true;
	if (from == sim_rule.from || !(p->info & XROCE_OP_ACK) || sim_rule.count > 1 ||
	    !(p->syndrome & XROCE_AETH_TYPE) || sim_rule.unheard)
		return false;
	sim_rule.unheard = true;
	return true;
}

static bool unready_rule(struct sim_ep *from, const u8 *buf, u32 len, const struct xroce_pkt *p)
{
	/* When it goes again for the first time */
	return sim_count(XROCE_CNT_RNR_RCVD) && sim_drop_rule(from, buf, len, p);
}

/* SENDs and WRITEs, what is answered with little data, or both; of one packet or few. */
static void post_some(struct sim_ep *ep, u32 n)
{
	bool acks = sim_chance(7000), reads = !acks || sim_chance(5000);
	u8 wr;

	while (n--) {
		wr = sim_range(acks ? XROCE_WR_RDMA_WRITE : XROCE_WR_RDMA_READ,
			       reads ? XROCE_WR_ATOMIC_FETCH_AND_ADD : XROCE_WR_SEND);
		if (!n && sim_chance(5000))
			wr = XROCE_WR_RDMA_WRITE;
		sim_post_one(ep, wr, wr < XROCE_WR_RDMA_READ ? 100 :
			     wr == XROCE_WR_RDMA_READ ? sim_range(1, 4) << W->cfg.mtu_shift : 8);
	}
}

/*
 * A peer that has said once what it lacks is silent until that comes: a request
 * is lost twice, or its NAK is, or it is lost after the peer was not ready. What is asked
 * is the oldest then, not the last alone, and no ACK timeout passes, nor a retry.
 */
static void run_lost_silent(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	u32 how = sim_below(3), n = sim_range(2, 9), asked;
	struct sim_conn *c;
	struct sim_ep *ep;

	(void)seed;
	cfg.timeout = 20;
	cfg.retry_cnt = 0;
	cfg.min_rnr = 1;
	cfg.max_rd = max(n - 1, 2u);
	c = sim_pair(&cfg);
	ep = &c->ep[0];
	/* It knows how long an answer takes. */
	sim_post_one(ep, XROCE_WR_RDMA_WRITE, 100);
	sim_settle_all(SIM_MS);
	sim_drop(ep, XROCE_OP_REQUEST, how == 2 ? 0 : sim_below(n - 1), how ? 1 : 2);
	sim_rule.again = true;
	W->drop = how == 2 ? unready_rule : silent_rule;
	if (how == 2) {
		sim_post_one(ep, XROCE_WR_SEND, 100);
		sim_run_until(sim_now() + 3 * cfg.delay / 2);
	}
	post_some(ep, n);
	sim_post_recvs(&c->ep[1]);
	sim_settle_all(10 * SIM_MS);
	sim_check(sim_rule.dropped == sim_rule.count && sim_rule.unheard == (how == 1),
		  "%u packets dropped", sim_rule.dropped);
	/* What the peer has of those before is said first. */
	asked = sim_count(XROCE_CNT_ASKED);
	sim_check(asked == 2 || (how == 1 && asked == 4), "asked by %u packets", asked);
	is(TIMEOUT, 0);
	sim_finish();
}

/* But for a READ that has many answers: the timer asks for these. */
static void run_lost_long(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_conn *c = sim_pair(&cfg);
	struct sim_ep *ep = &c->ep[0];

	(void)seed;
	sim_drop(ep, XROCE_OP_REQUEST, 0, 1);
	W->drop = silent_rule;
	sim_post_one(ep, XROCE_WR_RDMA_READ, sim_range(5, 12) << cfg.mtu_shift);
	sim_post_one(ep, XROCE_WR_RDMA_WRITE, 100);
	sim_settle_all(2 * TIMEOUT_NS);
	sim_check(sim_rule.unheard, "the NAK was heard");
	is(ASKED, 1);
	is(TIMEOUT, 1);
	sim_finish();
}

static void deliver_at(struct sim_ep *from, const u8 *buf, u32 len, u64 when)
{
	struct sim_pkt *pkt = calloc(1, sizeof(*pkt));

	pkt->to = from->peer->node;
	pkt->ep = from->peer;
	pkt->len = len;
	pkt->buf = malloc(len);
	memcpy(pkt->buf, buf, len);
	sim_at(when, SIM_EV_PKT, NULL, pkt, 0);
}

/* The last but one comes late, and its NAK later than its ACK. */
static bool late_rule(struct sim_ep *from, const u8 *buf, u32 len, const struct xroce_pkt *p)
{
	u64 late = 0;

	if (p->info & XROCE_OP_REQUEST && ++sim_rule.seen == sim_rule.skip)
		late = 5 * W->cfg.delay;
	else if (p->info & XROCE_OP_ACK && p->syndrome == XROCE_NAK_PSN && !sim_rule.dropped++)
		late = 50 * W->cfg.delay;
	if (late)
		deliver_at(from, buf, len, sim_now() + late);
	return late;
}

/* An ACK that overtakes a NAK does not make it unheard. */
static void run_late_nak(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_conn *c = sim_pair(&cfg);
	u32 n = sim_range(2, 12);

	(void)seed;
	memset(&sim_rule, 0, sizeof(sim_rule));
	sim_rule.skip = n - 1;
	W->drop = late_rule;
	sim_post_one(&c->ep[0], XROCE_WR_RDMA_WRITE, n << cfg.mtu_shift);
	sim_settle_all(5 * SIM_MS);
	sim_check(sim_rule.dropped, "no NAK");
	is(NAK_SEQ_SENT, 1);
	is(NAK_SEQ_RCVD, 1);
	is(TIMEOUT, 0);
	sim_finish();
}

/* Those that are not dropped come one by one. */
static bool apart_rule(struct sim_ep *from, const u8 *buf, u32 len, const struct xroce_pkt *p)
{
	if (!(p->info & sim_rule.kinds))
		return false;
	if (!sim_drop_rule(from, buf, len, p))
		deliver_at(from, buf, len, sim_now() + W->cfg.delay + sim_rule.seen * SIM_US);
	return true;
}

/*
 * A READ response: the next one tells, of that which was sent again too. One that never
 * comes, though others do, is the timer's. Also where something was asked about before.
 */
static void run_lost_response(u64 seed)
{
	struct sim_opt quiet = { .wr = XROCE_WR_RDMA_WRITE, .nsge = 1, .len = 100 };
	u32 times = sim_range(1, 4), asked = sim_below(2);
	struct sim_cfg cfg = sim_plain();
	struct sim_conn *c;
	struct sim_ep *ep;

	(void)seed;
	cfg.timeout = 8;
	c = sim_pair(&cfg);
	ep = &c->ep[0];
	if (asked) {
		sim_check(sim_post(ep, &quiet), "no room");
		sim_run_until(sim_now() + 200 * SIM_MS);
		is(ASKED, 1);
	}
	sim_drop(&c->ep[1], XROCE_OP_READ_RESP, times > 3 ? 0 : sim_below(13),
		 times > 3 ? ~0u : times);
	sim_rule.again = true;
	W->drop = apart_rule;
	sim_post_one(ep, XROCE_WR_RDMA_READ, 14 << cfg.mtu_shift);
	sim_settle_all(SIM_SEC);
	sim_check(ep->first_err == (times > 3 ? XROCE_WC_RETRY_EXC_ERR : 0), "wrong status");
	is(TIMEOUT, times > 3 ? cfg.retry_cnt + 1 : 0);
	sim_check(sim_count(XROCE_CNT_IMPLIED_NAK) >= times, "no implied NAK");
	sim_check(times > 3 || (sim_rule.dropped == times &&
				ep->wire.retrans == times + asked),
		  "%llu requests sent again", (unsigned long long)ep->wire.retrans);
	sim_finish();
}

/* An atomic's answer: the ACK behind it tells, and it is not done twice. */
static void run_lost_atomic(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_conn *c = sim_pair(&cfg);
	struct sim_ep *ep = &c->ep[0];
	u32 i;

	(void)seed;
	sim_drop(&c->ep[1], XROCE_OP_ATOMIC_ACK, sim_below(3), 1);
	for (i = 0; i < 3; i++)
		sim_post_one(ep, sim_chance(5000) ? XROCE_WR_ATOMIC_FETCH_AND_ADD :
			     XROCE_WR_ATOMIC_CMP_AND_SWP, 8);
	sim_post_one(ep, XROCE_WR_RDMA_WRITE, 100);
	sim_settle_all(5 * SIM_MS);
	sim_check(sim_rule.dropped == 1, "nothing was dropped");
	is(TIMEOUT, 0);
	is(RX_ATOMIC, 3);
	sim_finish();
}

/*
 * The only answer, or the only request: it goes again to ask, at no cost. Should that be
 * lost too, or have many answers, the timer alone helps, once.
 */
static void run_timer(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_conn *c = sim_pair(&cfg);
	struct sim_ep *ep = &c->ep[0];
	u8 wr = sim_chance(5000) ? XROCE_WR_RDMA_READ :
		sim_range(XROCE_WR_RDMA_WRITE, XROCE_WR_ATOMIC_FETCH_AND_ADD);
	u32 n = wr == XROCE_WR_RDMA_READ ? sim_range(1, 12) : 1, lost = sim_range(1, n);
	bool request = sim_chance(5000), asks, twice;
	u64 start;

	(void)seed;
	sim_post_recvs(&c->ep[1]);
	start = sim_now();
	asks = (request ? n : lost) <= 4;
	twice = asks && sim_chance(5000);
	/* Of several answers the last ones. */
	if (request)
		sim_drop(ep, XROCE_OP_REQUEST, 0, 1 << twice);
	else
		sim_drop(&c->ep[1], XROCE_OP_RESPONSE, n - lost, lost << twice);
	sim_post_one(ep, wr, ((n - 1) << cfg.mtu_shift) + sim_range(8, 256));
	sim_settle_all(4 * TIMEOUT_NS + SIM_MS);
	sim_check(sim_rule.dropped == sim_rule.count, "nothing was dropped");
	sim_check((sim_now() - start >= TIMEOUT_NS) == (twice || !asks), "at the wrong time");
	is(TIMEOUT, twice || !asks);
	is(ASKED, asks);
	sim_check(!!sim_count(XROCE_CNT_DUPLICATE) == !request, "duplicates");
	sim_finish();
}

/* An ACK in between is no loss: the next one says the same and more. */
static void run_lost_ack(u64 seed)
{
	struct sim_cfg cfg = sim_plain();
	struct sim_conn *c = sim_pair(&cfg);
	u32 i;

	(void)seed;
	sim_post_recvs(&c->ep[1]);
	sim_drop(&c->ep[1], XROCE_OP_ACK, 0, 3);
	for (i = 0; i < 8; i++) {
		sim_post_one(&c->ep[0], i & 1 ? XROCE_WR_SEND : XROCE_WR_RDMA_WRITE, 20);
		sim_run_until(sim_now() + 40 * SIM_US);
	}
	sim_settle_all(5 * SIM_MS);
	sim_check(sim_rule.dropped == 3, "nothing was dropped");
	is(TIMEOUT, 0);
	is(RETRANS, 0);
	sim_finish();
}

const struct sim_scenario sim_lost_scenarios[] = {
	{ "lost-request", "recovered by one NAK", run_lost_request, 0, 60 },
	{ "lost-silent", "and where the peer says no more of it", run_lost_silent, 0, 60 },
	{ "lost-long", "but for long READs, which are the timer's", run_lost_long, 0, 20 },
	{ "late-nak", "a NAK behind the ACK that it should precede", run_late_nak, 0, 40 },
	{ "lost-response", "READ recovered by an implied NAK, as often as it is lost",
	  run_lost_response, 0, 60 },
	{ "lost-atomic", "recovered by an implied NAK, executed once", run_lost_atomic, 0, 60 },
	{ "lost-last", "asked for, once, or recovered by the timer, once", run_timer, 0, 60 },
	{ "lost-ack", "covered by the next", run_lost_ack, 0, 20 },
	{ NULL, NULL, NULL, 0, 0, 0 }
};
