// SPDX-License-Identifier: GPL-2.0
/*
 * The congestion window: packets a QP may have in flight. Additive increase, halved once per
 * round trip with loss, down to a floor. The pace of READ responses. And how long an ACK is
 * waited for. Under the QP's lock.
 */
#include "core.h"

#define XROCE_CWND_FLOOR	4
#define XROCE_PIECE_MIN		16			/* packets of a READ asked for at a time */
#define XROCE_PIECE_MAX		64
#define XROCE_PATIENCE		(4096ull << 16)		/* ns, 268 ms */

/**
 * xroce_cc_init() - a new connection, whose requester's PSNs are set
 * @qp: the queue pair
 */
void xroce_cc_init(struct xroce_qp *qp)
{
	u32 max = READ_ONCE(qp->dev->cwnd_max);

	qp->req.cwnd = min(READ_ONCE(qp->dev->cwnd_init), max);
	qp->req.ssthresh = max;
	qp->req.cwnd_cnt = 0;
	qp->req.recover = qp->hot.una;
}

/**
 * xroce_cc_ack() - packets left the network
 * @qp: the queue pair
 * @inflight: how many there were before; a window not used does not grow
 * @n: how many were acknowledged
 */
void xroce_cc_ack(struct xroce_qp *qp, u32 inflight, u32 n)
{
	struct xroce_req *req = &qp->req;

	/* It must not fall behind for ever: PSNs come round. */
	if (xroce_psn_diff(qp->hot.una, req->recover) > 0)
		req->recover = qp->hot.una;
	if (2 * inflight < req->cwnd)
		return;
	if (req->cwnd < req->ssthresh) {
		req->cwnd += n;
	} else {
		req->cwnd_cnt += n;
		if (req->cwnd_cnt >= req->cwnd) {
			req->cwnd_cnt = 0;
			req->cwnd++;
		}
	}
	req->cwnd = min(req->cwnd, READ_ONCE(qp->dev->cwnd_max));
}

/**
 * xroce_cc_loss() - a packet was lost, or the peer reports congestion on its way
 * @qp: the queue pair
 * @timeout: all of them, it seems
 */
void xroce_cc_loss(struct xroce_qp *qp, bool timeout)
{
	struct xroce_req *req = &qp->req;

	if (!timeout && xroce_psn_diff(qp->hot.una, req->recover) < 0)
		return;
	/* Where nothing is under way it was answers that met it: once, until something is. */
	req->recover = qp->hot.max + (qp->hot.max == qp->hot.una);
	req->ssthresh = max_t(u32, req->cwnd / 2, XROCE_CWND_FLOOR);
	req->cwnd = timeout ? XROCE_CWND_FLOOR : req->ssthresh;
	req->cwnd_cnt = 0;
}

/*
 * What READ responses take a byte, 2^-20 ns: that of 100 Gbit/s to that of 100 Mbit/s. They
 * have no window, for a NIC asks for all of a READ at once.
 */
#define XROCE_PACE_FIRST	83886ull
#define XROCE_PACE_MOST		(XROCE_PACE_FIRST << 10)
#define XROCE_PACE_TIME		1000000		/* ns */
#define XROCE_PACE_BURST	100000		/* what it may catch up, since timers are late */

/* Faster by an eighth for each while without a report, until there is no pace. */
static void xroce_cc_faster(struct xroce_resp *resp, u64 now)
{
	for (; resp->pace && now >= resp->faster_at; resp->faster_at += XROCE_PACE_TIME) {
		resp->pace -= resp->pace / 8;
		if (resp->pace < XROCE_PACE_FIRST)
			resp->pace = 0;
	}
}

/**
 * xroce_cc_slower() - the peer reports congestion: READ responses go at half the pace
 * @resp: the responder
 *
 * As often as NICs report until it is felt, then once in a while: what is reported had left
 * before.
 */
void xroce_cc_slower(struct xroce_resp *resp)
{
	u64 now = xroce_env_now();

	/* All the while before, of which this tells */
	xroce_cc_faster(resp, now - XROCE_PACE_TIME);
	resp->faster_at = now + XROCE_PACE_TIME;
	if (!resp->answered ||
	    now - resp->slowed < (resp->held ? XROCE_PACE_TIME : XROCE_PACE_BURST / 2))
		return;
	resp->slowed = now;
	resp->free_at = max(resp->free_at, now);
	resp->pace = clamp(2 * resp->pace, XROCE_PACE_FIRST, XROCE_PACE_MOST);
	resp->answered = false;
	resp->held = false;
}

/**
 * xroce_cc_held() - is it too early for a READ response
 * @qp: the queue pair; there will be another run then
 */
bool xroce_cc_held(struct xroce_qp *qp)
{
	struct xroce_resp *resp = &qp->resp;
	u64 now = xroce_env_now();

	xroce_cc_faster(resp, now);
	if (resp->pace && now < resp->free_at) {
		resp->held = true;
		/* Some at a time: they catch up. */
		xroce_env_timer(qp, max(resp->free_at, now + XROCE_PACE_BURST / 2));
		return true;
	}
	resp->free_at = max(resp->free_at, now - XROCE_PACE_BURST);
	return false;
}

/**
 * xroce_cc_piece() - how many packets of a READ to ask for at once
 * @qp: the queue pair; the READ is about to begin
 *
 * So that the window governs responses too: longer where few requests may be under way,
 * but not longer than a window that has shrunk.
 * Return: a power of two; at its multiples all pieces of this READ begin.
 */
u8 xroce_cc_piece(const struct xroce_qp *qp)
{
	u8 piece = 2 * XROCE_PIECE_MAX >> clamp(qp->req.max_rd_atomic, 1u, 3u);

	while (piece > XROCE_PIECE_MIN && piece > qp->req.cwnd)
		piece /= 2;
	return piece;
}

/**
 * xroce_cc_timeout() - how long to wait for an answer to what was asked about
 * @req: the requester
 *
 * Up to four times what was asked for (IBTA 9.7.6.1.3), from the second in a row on, as far
 * as XROCE_PATIENCE: who is not run by a busy machine for most of a second is there.
 * Return: ns, 0 for ever.
 */
u64 xroce_cc_timeout(const struct xroce_req *req)
{
	u64 longer = req->timeout << min(req->retry_cnt - req->retries, 2);

	return max(req->timeout, min(longer, XROCE_PATIENCE));
}
