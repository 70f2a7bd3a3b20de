// SPDX-License-Identifier: GPL-2.0
/*
 * The way in: from a received packet to the QP it is for. Nothing changes and
 * no lock is taken before addresses and ICRC have been found right.
 */
#include "core.h"

static const u8 xroce_parse_drop[] = {
	[XROCE_PARSE_SHORT]	= XROCE_CNT_DROP_SHORT,
	[XROCE_PARSE_OPCODE]	= XROCE_CNT_DROP_OPCODE,
	[XROCE_PARSE_TVER]	= XROCE_CNT_DROP_TVER,
	[XROCE_PARSE_LENGTH]	= XROCE_CNT_DROP_LENGTH,
};

/**
 * xroce_rx_drop() - a packet is not for a QP, or not for it now
 * @rx: the packet
 * @why: the counter
 */
void xroce_rx_drop(struct xroce_rx *rx, u32 why)
{
	rx->verdict = why;
	xroce_env_count(rx->dev, why, 1);
}

/* May a QP in this state hear this packet (IBTA 10.3.1). */
static bool xroce_rx_state(const struct xroce_qp *qp, u32 info)
{
	switch (qp->hot.state) {
	case XROCE_QPS_RTR:
		return info & (XROCE_OP_REQUEST | XROCE_OP_CNP);
	case XROCE_QPS_RTS:
	case XROCE_QPS_SQD:
	case XROCE_QPS_SQE:
		return true;
	}
	return false;
}

/* What is checked under the lock; a counter's index when it fails, else 0. */
static u32 xroce_rx_admit(const struct xroce_qp *qp, const struct xroce_rx *rx)
{
	const struct xroce_pkt *pkt = &rx->pkt;

	if (qp->dead || !xroce_rx_state(qp, pkt->info))
		return XROCE_CNT_DROP_STATE;
	/* It has other addresses by now than those the packet was compared with. */
	if (qp->gen != rx->gen)
		return XROCE_CNT_DROP_ADDR;
	if (pkt->info & XROCE_OP_CNP ? !xroce_qp_reliable(qp) :
	    XROCE_TRANSPORT(pkt->opcode) != qp->hot.transport)
		return XROCE_CNT_DROP_TRANSPORT;
	/* Requests are for an XRC target alone, which has sent none. */
	if (pkt->info & XROCE_OP_XRCETH && !qp->xrcd)
		return XROCE_CNT_DROP_TRANSPORT;
	/* Same base, and not both limited members (IBTA 10.9.3). */
	if ((pkt->pkey ^ qp->pkey) & 0x7fff || !((pkt->pkey | qp->pkey) & 0x8000))
		return XROCE_CNT_DROP_PKEY;
	if (pkt->info & XROCE_OP_DETH && pkt->qkey != qp->qkey)
		return XROCE_CNT_DROP_QKEY;
	return 0;
}

/**
 * xroce_rx_begin() - take the QP's lock for a packet and count it
 * @qp: the queue pair
 * @rx: the packet, with the QP's @gen when its addresses were compared
 *
 * Return: whether the QP may hear it; the lock is held then.
 */
bool xroce_rx_begin(struct xroce_qp *qp, struct xroce_rx *rx)
{
	const struct xroce_pkt *pkt = &rx->pkt;
	u32 drop;

	spin_lock(&qp->lock);
	drop = xroce_rx_admit(qp, rx);
	if (drop) {
		spin_unlock(&qp->lock);
		xroce_rx_drop(rx, drop);
		return false;
	}
	/* To sparse, which knows of no lock that is taken or not. */
	__release(&qp->lock);
	qp->verdict = XROCE_CNT_RX_PKTS;
	xroce_qp_count(qp, XROCE_CNT_RX_PKTS, 1);
	xroce_qp_count(qp, XROCE_CNT_RX_BYTES, rx->len);
	if (pkt->info & XROCE_OP_DETH)
		return true;
	if (qp->hot.state == XROCE_QPS_RTR && !qp->established) {
		qp->established = true;
		xroce_env_qp_event(qp, XROCE_EVENT_COMM_EST);
	}
	/* Not for a notification, or two idle ends notify each other for ever. */
	if (rx->ce && xroce_qp_reliable(qp) && !(pkt->info & XROCE_OP_CNP))
		xroce_resp_marked(qp);
	/* What a READ brings is let out by who asks for it. */
	if (rx->ce && pkt->info & XROCE_OP_READ_RESP)
		xroce_cc_loss(qp, false);
	return true;
}

/**
 * xroce_rx_core() - do what a packet asks for; under the QP's lock
 * @qp: the queue pair
 * @rx: the packet
 */
void xroce_rx_core(struct xroce_qp *qp, struct xroce_rx *rx)
{
	u32 info = rx->pkt.info;

	if (info & XROCE_OP_DETH) {
		xroce_ud_rx(qp, rx);
	} else if (info & XROCE_OP_REQUEST) {
		xroce_resp_rx(qp, rx);
	} else if (info & XROCE_OP_RESPONSE) {
		xroce_comp_rx(qp, rx);
	} else {
		/* As a loss, with nothing to be sent again (Annex A17.9). */
		xroce_qp_count(qp, XROCE_CNT_CNP_RCVD, 1);
		xroce_cc_loss(qp, false);
		xroce_cc_slower(&qp->resp);
	}
}

/*
 * Is there reason to call xroce_qp_run(). It may say yes too often. While @wake is 0
 * the user rings no doorbell: a run that the window stopped has to be followed by
 * another, if only to find the ring empty and say so.
 */
static bool xroce_qp_pending(const struct xroce_qp *qp)
{
	const struct xroce_req *req = &qp->req;

	return xroce_resp_owes(qp) || (xroce_qp_sends(qp) && !req->rnr_until &&
	       (req->cur != req->tail || (!req->polled && !READ_ONCE(req->ring->wake))));
}

/**
 * xroce_rx_end() - what a packet leaves to be sent is sent soon; drop the lock
 * @qp: the queue pair
 * @rx: the packet
 */
void xroce_rx_end(struct xroce_qp *qp, struct xroce_rx *rx)
{
	__acquire(&qp->lock);	/* by xroce_rx_begin(): to sparse */
	if (xroce_qp_pending(qp))
		xroce_env_defer(qp, -1);
	rx->verdict = qp->verdict;
	spin_unlock(&qp->lock);
}

/**
 * xroce_rx_qp() - a packet for this QP, to the right address and with its ICRC
 * @qp: the queue pair
 * @rx: the packet, with the QP's @gen when its addresses were compared
 */
void xroce_rx_qp(struct xroce_qp *qp, struct xroce_rx *rx)
{
	if (!xroce_rx_begin(qp, rx))
		return;
	xroce_rx_core(qp, rx);
	xroce_rx_end(qp, rx);
}

/* A datagram to a group: to all of its QPs, or to nobody. */
static void xroce_rx_group(struct xroce_rx *rx)
{
	if (!(rx->pkt.info & XROCE_OP_DETH))
		xroce_rx_drop(rx, XROCE_CNT_DROP_TRANSPORT);
	else if (!xroce_rx_icrc_ok(rx))
		xroce_rx_drop(rx, XROCE_CNT_DROP_ICRC);
	else if (!xroce_env_group(rx))
		xroce_rx_drop(rx, XROCE_CNT_DROP_GROUP);
}

static const u8 *rx_bth(const struct xroce_rx *rx)
{
	return rx->l3 + xroce_l3_len(rx->l3) + XROCE_UDP_LEN;
}

/**
 * xroce_rx_parse() - look at a packet's transport headers
 * @rx: the packet; @rx->pkt is filled in
 *
 * Return: 0, or the counter of what is wrong with it.
 */
u32 xroce_rx_parse(struct xroce_rx *rx)
{
	const u8 *bth = rx_bth(rx);
	int bad;

	rx->is = NULL;
	bad = xroce_parse(&rx->pkt, bth, bth + min_t(u32, rx->len, XROCE_MAX_HDR), rx->len);
	return bad ? xroce_parse_drop[bad] : 0;
}

/* Return: as xroce_rx_parse(). */
static u32 xroce_rx_look(struct xroce_rx *rx)
{
	const struct xroce_known *k = NULL;
	const u8 *bth = rx_bth(rx);

	if (rx->known && rx->len >= sizeof(struct xroce_bth))
		k = xroce_known_find(rx->known, rx->l3, bth);
	if (!k || k->len != rx->len || !xroce_known_parse(k, &rx->pkt, bth))
		return xroce_rx_parse(rx);
	rx->is = k;
	return 0;
}

/* Whose packet is this; @rx->verdict: why it is nobody's. */
static struct xroce_qp *xroce_rx_find(struct xroce_rx *rx)
{
	struct xroce_qp *qp = xroce_env_qp(rx->dev, rx->pkt.qpn);

	rx->verdict = qp ? XROCE_CNT_DROP_DEVICE : XROCE_CNT_DROP_NO_QP;
	if (!qp || qp->dev != rx->dev)
		return NULL;
	rx->verdict = XROCE_CNT_DROP_ADDR;
	/* Pairs with the release in xroce_qp_modify(). */
	rx->gen = smp_load_acquire(&qp->gen);
	if (qp->hot.transport == XROCE_UD ? !xroce_env_local(rx) : !xroce_rx_from(rx, &qp->av))
		return NULL;
	/* A packet does not say which QP it is of: on a wire that has to do. */
	if (rx->from && qp->hot.transport != XROCE_UD && rx->from != qp->hot.dest_qpn)
		return NULL;
	return qp;
}

/**
 * xroce_rx() - take in one packet
 * @rx: all but @rx->pkt and @rx->verdict filled in
 *
 * BH off. The packet stays the caller's.
 */
void xroce_rx(struct xroce_rx *rx)
{
	struct xroce_qp *qp;
	u32 drop;

	drop = xroce_rx_look(rx);
	if (drop) {
		xroce_rx_drop(rx, drop);
		return;
	}
	trace_xroce_receive(rx);
	if (rx->pkt.qpn == XROCE_MCAST_QPN) {
		xroce_rx_group(rx);
		return;
	}
	qp = xroce_rx_find(rx);
	if (!qp)
		xroce_rx_drop(rx, rx->verdict);
	else if (!xroce_rx_icrc_ok(rx))
		xroce_rx_drop(rx, XROCE_CNT_DROP_ICRC);
	else if (qp->hot.qpn == XROCE_GSI_QPN && !xroce_env_neigh(rx))
		xroce_rx_drop(rx, XROCE_CNT_DROP_NO_NEIGH);
	else
		xroce_rx_qp(qp, rx);
}
