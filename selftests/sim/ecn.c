// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Congestion: marks earn notifications, notifications slow the sender, and only
 * those of the peer. What is due when, wire.c says. Single-threaded.
 */
#include "sim.h"

static struct sim_cfg ecn_cfg(void)
{
	struct sim_cfg cfg = sim_plain();

	cfg.delay = sim_range(20, 200) * SIM_US;
	cfg.cwnd_max = 128;
	cfg.mtu_shift = 10;
	return cfg;
}

#define count(c) ((u32)sim_count(XROCE_CNT_##c))

static void keep_busy(struct sim_ep *ep)
{
	struct sim_opt opt = { .wr = XROCE_WR_RDMA_WRITE, .len = 1 << 14,
			       .nsge = 1, .signaled = true };

	sim_poll_all();
	while (ep->ops.n < 20 && sim_post(ep, &opt))
		;
}

/* Run with work to do; the most that was in flight meanwhile. */
static u32 run_busy(struct sim_ep *ep, u64 ns)
{
	u64 end = sim_now() + ns, when;
	u32 most = 0;

	keep_busy(ep);
	while (sim_next_time(&when) && when <= end) {
		sim_step();
		if (ep->ops.n < 10 || ep->scq->cq.prod != ep->scq->cons)
			keep_busy(ep);
		most = max(most, (ep->wire.max - ep->wire.una) & 0xffffff);
	}
	sim_set_now(max(end, sim_now()));
	return most;
}

/* A notification has a class of its own, and says that it cannot be marked. */
static bool look(struct sim_ep *from, const u8 *buf, u32 len, const struct xroce_pkt *pkt)
{
	u32 sum = 0, i;

	(void)from;
	(void)len;
	if (!(pkt->info & XROCE_OP_CNP))
		return false;
	if (buf[0] >> 4 == 6) {
		sim_check((u8)(buf[0] << 4 | buf[1] >> 4) == 48 << 2, "traffic class");
		return false;
	}
	for (i = 0; i < 20; i += 2)
		sum += buf[i] << 8 | buf[i + 1];
	sim_check(buf[1] == 48 << 2 && sum % 0xffff == 0, "TOS %02x, sum %x", buf[1], sum);
	return false;
}

/* Everything is marked: few notifications, and silence when all is done. */
static void run_marked(u64 seed)
{
	struct sim_cfg cfg = ecn_cfg();
	struct sim_conn *c;
	struct sim_ep *ep;
	u64 start, pkts;
	u32 i;

	(void)seed;
	cfg.mark = 10000;
	cfg.v6 = sim_below(2);
	c = sim_pair(&cfg);
	W->drop = look;
	ep = &c->ep[0];
	start = sim_now();
	for (i = 0; i < 10; i++) {
		sim_post_recvs(&c->ep[1]);
		sim_post_n(ep, 20);
		sim_settle_all(SIM_SEC);
	}
	sim_check(count(CNP_SENT) && count(MARKED), "nothing marked");
	/* Two ends. */
	sim_check(count(CNP_SENT) <= 2 * ((sim_now() - start) / (50 * SIM_US) +
					  1), "%u notifications",
		  count(CNP_SENT));
	sim_run_until(sim_now() + 10 * SIM_MS);
	pkts = W->pkts;
	sim_run_until(sim_now() + SIM_SEC);
	sim_check(W->pkts == pkts, "%u packets after all was done",
		  (u32)(W->pkts - pkts));
	sim_check(count(CNP_SENT) == count(CNP_RCVD), "%u sent, %u received",
		  count(CNP_SENT), count(CNP_RCVD));
	sim_verify_quiet();
	sim_total_ops += W->ops_done;
	sim_world_free();
}

/* Marks are nothing to those who cannot be slowed. */
static void run_unmarked(u64 seed)
{
	struct sim_cfg cfg = ecn_cfg();
	struct sim_opt opt = { .wr = XROCE_WR_SEND, .nsge = 1, .len = 1000,
			       .signaled = true };
	struct sim_conn *c;
	u32 i;

	(void)seed;
	cfg.mark = 10000;
	cfg.uc = sim_below(2) * 10000;
	cfg.ud = 10000;
	c = sim_pair(&cfg);
	sim_post_recvs(&c->ep[1]);
	for (i = 0; i < 20; i++)
		sim_check(sim_post(&c->ep[0], &opt), "no room");
	sim_settle_all(SIM_SEC);
	sim_run_until(sim_now() + SIM_SEC);
	sim_check(W->pkts && !count(CNP_SENT), "%u notifications",
		  count(CNP_SENT));
	sim_verify_quiet();
	sim_world_free();
}

enum forgery { TRUE_PEER, SOURCE, DESTINATION, QPN, BAD_ICRC, PKEY };

/* A notification to @to, as its peer would send it. */
static void send_cnp(struct sim_ep *to, enum forgery how)
{
	bool v6 = to->conn->v6;
	struct sim_node *from = to->peer->node;
	u32 l3 = v6 ? 48 : 28, len = l3 + 12 + 16 + 4, qpn = to->qp.hot.qpn;
	u8 b[128] = {};

	if (v6) {
		b[0] = 0x60;
		b[5] = len - 40;
		b[6] = 17;
		b[7] = 64;
		memcpy(b + 8, from->gid6, 16);
		memcpy(b + 24, to->node->gid6, 16);
	} else {
		b[0] = 0x45;
		b[3] = len;
		b[8] = 64;
		b[9] = 17;
		memcpy(b + 12, from->gid4 + 12, 4);
		memcpy(b + 16, to->node->gid4 + 12, 4);
	}
	if (how == SOURCE)
		b[v6 ? 23 : 15] ^= 1 << sim_below(8);
	if (how == DESTINATION)
		b[v6 ? 39 : 19] ^= 1 << sim_below(8);
	if (how == QPN)
		qpn ^= 1 << sim_below(24);
	b[l3 - 8] = 0xc0;
	b[l3 - 6] = 4791 >> 8;
	b[l3 - 5] = 4791 & 0xff;
	b[l3 - 3] = len - (l3 - 8);
	sim_put_bth(b + l3, 0x81, qpn, 0);
	if (how == PKEY)
		b[l3 + 3] = 0xfe;
	b[l3 + 4] = 0x40;
	wire_icrc_set(b, len);
	if (how == BAD_ICRC)
		b[len - 1 - sim_below(4)] ^= 1 << sim_below(8);
	sim_raw_rx(to->node, b, len, false);
}

/* Once a round trip, to a floor, and however many there are it goes on. */
static void run_slows(u64 seed)
{
	struct sim_cfg cfg = ecn_cfg();
	struct sim_conn *c;
	struct sim_ep *ep;
	u32 full, one, most, i, una;
	u64 rtt = 2 * cfg.delay;

	(void)seed;
	cfg.unmarked = true;
	c = sim_pair(&cfg);
	ep = &c->ep[0];
	/* As if nothing had been lost for nearly half of all PSNs. */
	ep->qp.req.recover = xroce_psn_add(ep->qp.hot.una, XROCE_PSN_MASK - 0x7fffe0);
	run_busy(ep, 40 * rtt);
	full = run_busy(ep, 4 * rtt);
	sim_check(full > 64, "a window of %u", full);
	/* Many in a round trip are as one. */
	for (i = sim_range(1, 20); i; i--)
		send_cnp(ep, TRUE_PEER);
	run_busy(ep, rtt + rtt / 2);
	one = run_busy(ep, rtt / 2);
	sim_check(one < full && one >= full * 4 / 10, "a window of %u, and %u"
		  " after a notification", full, one);
	/* A flood, far more than the rate limit lets the peer send. */
	una = ep->wire.una;
	most = 0;
	for (i = 0; i < 200; i++) {
		send_cnp(ep, TRUE_PEER);
		full = run_busy(ep, rtt / 10);
		if (i > 100)
			most = max(most, full);
	}
	una = (ep->wire.una - una) & 0xffffff;
	sim_check(most && most < one / 2, "a window of %u in a flood, %u"
		  " before", most, one);
	sim_check(una >= 20, "%u packets in 20 round trips", una);
	sim_check(count(TIMEOUT) == 0 && count(RETRANS) == 0,
		  "a notification is no loss");
	/* When it is over all is as it was. */
	run_busy(ep, 100 * rtt);
	full = run_busy(ep, 4 * rtt);
	sim_check(full > one / 2, "a window of %u after the flood", full);
	sim_settle_all(SIM_SEC);
	sim_verify_quiet();
	sim_total_ops += W->ops_done;
	sim_world_free();
}

/* Of one that only answers: no request of its own is in the way, until there is one. */
static void run_idle(u64 seed)
{
	struct sim_cfg cfg = ecn_cfg();
	struct sim_ep *ep;
	u32 i, cwnd, half;

	(void)seed;
	cfg.unmarked = true;
	ep = &sim_pair(&cfg)->ep[0];
	run_busy(ep, 40 * cfg.delay);
	sim_settle_all(SIM_SEC);
	cwnd = ep->qp.req.cwnd;
	for (i = 0; i < 10; i++) {
		send_cnp(ep, TRUE_PEER);
		half = max(cwnd / 2, 4u);
		sim_check(ep->qp.req.cwnd == half, "a window of %u, then of %u", cwnd,
			  ep->qp.req.cwnd);
		if (i != 5)
			continue;
		run_busy(ep, 4 * cfg.delay);
		sim_settle_all(SIM_SEC);
		cwnd = ep->qp.req.cwnd;
	}
	sim_verify_quiet();
	sim_world_free();
}

/* Packets in a millisecond that come of READs, of which there are enough. */
static u32 read_busy(struct sim_ep *ep, u32 ms)
{
	struct sim_opt opt = { .wr = XROCE_WR_RDMA_READ, .len = 1 << 16, .nsge = 1,
			       .signaled = true };
	u32 una = ep->wire.una, i;

	for (i = 0; i < 20 * ms; i++) {
		sim_run_until(sim_now() + 50 * SIM_US);
		sim_poll_all();
		while (ep->ops.n < 4 && sim_post(ep, &opt))
			;
	}
	return ((ep->wire.una - una) & 0xffffff) / ms;
}

/* What a NIC reads has no window: its notifications make it come slower, to a floor. */
static void run_reads(u64 seed)
{
	struct sim_cfg cfg = ecn_cfg();
	u32 full, slow, i, last;
	struct sim_ep *ep, *nic;

	(void)seed;
	cfg.unmarked = true;
	cfg.max_rd = 4;
	cfg.max_len = 1 << 16;
	ep = &sim_pair(&cfg)->ep[0];
	nic = ep->peer;
	read_busy(nic, 10);
	full = read_busy(nic, 10);
	sim_check(full > 100, "%u packets", full);
	/* Of what it sends itself: responses are not to blame. */
	sim_settle_all(SIM_SEC);
	send_cnp(ep, TRUE_PEER);
	for (i = 0; i < 100; i++)
		send_cnp(ep, TRUE_PEER);
	slow = read_busy(nic, 10);
	sim_check(slow > full / 2, "%u packets of %u, of which none was reported", slow, full);
	/* Felt, it is halved once in a millisecond. */
	for (i = 0, slow = full; i < 10 && slow > full * 8 / 10; i++) {
		send_cnp(ep, TRUE_PEER);
		slow = read_busy(nic, 1);
	}
	sim_check(i < 10 && slow, "%u packets of %u after %u notifications", slow, full, i);
	for (i = 0; i < 18; i++) {
		send_cnp(ep, TRUE_PEER);
		sim_run_until(sim_now() + 50 * SIM_US);
	}
	last = read_busy(nic, 1);
	sim_check(last >= slow / 5, "%u packets of %u after a flood", last, slow);
	/* 100 Mbit/s are 12 packets of 1 KiB. */
	for (i = 0; i < 40; i++) {
		send_cnp(ep, TRUE_PEER);
		slow = read_busy(nic, 1);
	}
	for (i = 0, slow = 0; i < 20; i++) {
		send_cnp(ep, TRUE_PEER);
		slow += read_busy(nic, 1);
	}
	sim_check(slow >= 20 * 11 && slow <= 20 * 14, "%u packets in 20 ms at the floor", slow);
	/* Long ago, for one that is about something else */
	sim_settle_all(SIM_SEC);
	sim_run_until(sim_now() + SIM_SEC);
	send_cnp(ep, TRUE_PEER);
	slow = read_busy(nic, 1);
	sim_check(slow > full / 2, "%u packets of %u after a pause", slow, full);
	read_busy(nic, 80);
	slow = read_busy(nic, 10);
	sim_check(slow > full * 9 / 10, "%u packets of %u after all", slow, full);
	sim_check(!count(TIMEOUT) && !count(RETRANS), "a notification is no loss");
	sim_settle_all(SIM_SEC);
	sim_verify_quiet();
	sim_total_ops += W->ops_done;
	sim_world_free();
}

/* No room for responses, once. */
static u32 take_none(struct sim_ep *ep, struct xroce_frame **f, u32 n)
{
	(void)ep;
	if (f[0]->is.kind != XROCE_FRAME_RD_RESP)
		return n;
	W->take = NULL;
	return 0;
}

/* The response that comes once there is room is marked: both ends slow down for it. */
static void run_room(u64 seed)
{
	struct sim_opt opt = { .wr = XROCE_WR_RDMA_READ, .len = 64 << 10, .nsge = 1,
			       .signaled = true };
	struct sim_cfg cfg = ecn_cfg();
	struct sim_ep *ep;
	u32 cwnd;

	(void)seed;
	cfg.unmarked = true;
	cfg.max_rd = 1;
	cfg.max_len = 1 << 16;
	ep = &sim_pair(&cfg)->ep[0];
	cwnd = ep->qp.req.cwnd;
	W->take = take_none;
	sim_check(sim_post(ep, &opt), "no room");
	sim_settle_all(SIM_SEC);
	sim_run_until(sim_now() + SIM_SEC / 100);
	sim_check(count(TX_UNTAKEN) && count(MARKED) == 1 && count(CNP_SENT) == 1 &&
		  count(CNP_RCVD) == 1, "%u marked, %u notifications", count(MARKED),
		  count(CNP_SENT));
	sim_check(ep->qp.req.ssthresh == max(cwnd / 2, 4u) && ep->peer->qp.resp.pace,
		  "an end is not slowed");
	sim_verify_quiet();
	sim_world_free();
}

/* From somebody else, or to another QP: as if it had not come. */
static void run_strangers(u64 seed)
{
	static const enum xroce_counter drop[] = {
		[SOURCE] = XROCE_CNT_DROP_ADDR,
		[DESTINATION] = XROCE_CNT_DROP_ADDR,
		[QPN] = XROCE_CNT_DROP_NO_QP,
		[BAD_ICRC] = XROCE_CNT_DROP_ICRC,
		[PKEY] = XROCE_CNT_DROP_PKEY,
	};
	enum forgery how = sim_range(SOURCE, PKEY);
	struct sim_cfg cfg = ecn_cfg();
	u64 rtt = 2 * cfg.delay, n;
	struct sim_conn *c;
	struct sim_ep *ep;
	u32 full, i, cwnd;

	(void)seed;
	cfg.unmarked = true;
	c = sim_pair(&cfg);
	ep = &c->ep[0];
	run_busy(ep, 20 * rtt);
	full = run_busy(ep, 4 * rtt);
	n = sim_count(drop[how]);
	for (i = 0; i < 50; i++) {
		cwnd = ep->qp.req.cwnd;
		send_cnp(ep, how);
		sim_check(ep->qp.req.cwnd == cwnd, "a stranger slows the QP");
		run_busy(ep, rtt / 10);
	}
	sim_check(run_busy(ep, rtt) >= full, "a stranger slows the QP");
	sim_check(sim_count(drop[how]) == n + 50, "%llu counted",
		  (unsigned long long)(sim_count(drop[how]) - n));
	sim_settle_all(SIM_SEC);
	sim_verify_quiet();
	sim_world_free();
}

/* UC and UD have no use for one. */
static void run_nobody(u64 seed)
{
	struct sim_cfg cfg = ecn_cfg();
	struct sim_conn *c;
	u32 i;

	(void)seed;
	cfg.uc = sim_below(2) * 10000;
	cfg.ud = 10000;
	c = sim_pair(&cfg);
	for (i = 0; i < 5; i++)
		send_cnp(&c->ep[0], TRUE_PEER);
	sim_check(count(DROP_TRANSPORT) == 5 && !count(CNP_RCVD),
		  "%u dropped, %u received", count(DROP_TRANSPORT),
		  count(CNP_RCVD));
	sim_verify_quiet();
	sim_world_free();
}

const struct sim_scenario sim_ecn_scenarios[] = {
	{ "cnp-earned", "all is marked: one in 50 us, and silence at last",
	  run_marked, 0, 30 },
	{ "cnp-none", "UC and UD do not report marks", run_unmarked, 0, 10 },
	{ "cnp-slows", "once a round trip, to a floor", run_slows, 0, 10 },
	{ "cnp-idle", "once, where nothing is under way", run_idle, 0, 5 },
	{ "cnp-reads", "what a NIC reads comes slower, to a floor", run_reads, 0, 4 },
	{ "cnp-room", "a READ's responses without room are marked", run_room, 0, 4 },
	{ "cnp-forged", "one from anywhere else has no effect",
	  run_strangers, 0, 20 },
	{ "cnp-nobody", "UC and UD count and drop it", run_nobody, 0, 10 },
	{ NULL, NULL, NULL, 0, 0 }
};
