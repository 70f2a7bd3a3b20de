// SPDX-License-Identifier: GPL-2.0
/*
 * Datagrams: one packet, one message, into a receive work request, behind the
 * header that tells where it came from. Under the QP's lock.
 */
#include "copy.h"

/* The GRH of a RoCEv2 packet: its IP header, IPv4 in the last 20 bytes. */
static void xroce_ud_grh(u8 grh[XROCE_GRH_LEN], const u8 *l3)
{
	memset(grh, 0, XROCE_GRH_LEN);
	if (l3[0] >> 4 == 4)
		memcpy(grh + 20, l3, 20);
	else
		memcpy(grh, l3, XROCE_GRH_LEN);
}

static bool xroce_ud_copy(struct xroce_qp *qp, struct xroce_rx *rx)
{
	const struct xroce_rwqe *wqe = qp->resp.wqe;
	const void *pd = qp->rq->pd ?: qp->pd;
	u8 grh[XROCE_GRH_LEN];

	xroce_ud_grh(grh, rx->l3);
	return xroce_sge_copy(qp, pd, wqe->sge, wqe->num_sge, XROCE_LOCAL_WRITE, 0,
			      XROCE_GRH_LEN, xroce_io_buf(grh)) &&
	       xroce_sge_copy(qp, pd, wqe->sge, wqe->num_sge, XROCE_LOCAL_WRITE,
			      XROCE_GRH_LEN, rx->pkt.payload_len, xroce_io_rx(rx));
}

/**
 * xroce_ud_rx() - a datagram has arrived, its ICRC and Q_Key are right
 * @qp: the queue pair
 * @rx: the packet
 *
 * One that finds no receive, or a buffer too small, is dropped, and a receive taken for it is the
 * next one's. A receive whose memory may not be written ends the QP (IBTA 9.9.3.1, class E).
 */
void xroce_ud_rx(struct xroce_qp *qp, struct xroce_rx *rx)
{
	const struct xroce_pkt *pkt = &rx->pkt;
	struct xroce_cqe cqe = {
		.flags = XROCE_WC_GRH,
		.src_qp = pkt->sqpn,
		.byte_len = XROCE_GRH_LEN + pkt->payload_len,
		.vlan = rx->vlan,
		.sl = rx->l3[0] >> 4 == 4 ? XROCE_SL_IPV4 : XROCE_SL_IPV6,
	};

	if (pkt->payload_len > XROCE_MAX_MTU) {
		xroce_qp_verdict(qp, XROCE_CNT_DROP_LENGTH);
		return;
	}
	if (!xroce_resp_recv(qp))
		return;
	if (cqe.byte_len > qp->resp.wqe->len) {
		xroce_qp_verdict(qp, XROCE_CNT_DROP_TOO_LONG);
		return;
	}
	if (!xroce_ud_copy(qp, rx)) {
		xroce_resp_recv_error(qp, XROCE_WC_LOC_PROT_ERR, 0);
		return;
	}
	if (pkt->info & XROCE_OP_IMM) {
		cqe.flags |= XROCE_WC_WITH_IMM;
		cqe.imm = pkt->imm;
	}
	if (xroce_resp_complete(qp, &cqe, pkt->flags & XROCE_BTH_SE))
		xroce_qp_count(qp, XROCE_CNT_RX_SEND, 1);
}
