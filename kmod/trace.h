/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints: what is asked for, what becomes of packets, how it ends. Each costs
 * nothing while nobody looks. They fire in the contexts of the core, with BH off;
 * arguments are valid during the call.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM xroce

#if !defined(XROCE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define XROCE_TRACE_H

#include <linux/tracepoint.h>
#include <linux/types.h>

struct xroce_cq;
struct xroce_cqe;
struct xroce_packet;
struct xroce_qp;
struct xroce_rx;
struct xroce_send_wqe;
struct xroce_swq;

/* A send work request has been taken from its ring, and checked. */
TRACE_EVENT(xroce_post,
	TP_PROTO(const struct xroce_qp *qp, const struct xroce_send_wqe *wqe,
		 const struct xroce_swq *e),
	TP_ARGS(qp, wqe, e),
	TP_STRUCT__entry(
		__string(dev, xroce_dev_name(qp->dev))
		__field(u64, wr_id)
		__field(u32, qpn)
		__field(u32, len)
		__field(u8, opcode)
		__field(u8, flags)
		__field(u8, status)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->wr_id = wqe->wr_id;
		__entry->qpn = qp->hot.qpn;
		__entry->len = e->len;
		__entry->opcode = wqe->opcode;
		__entry->flags = wqe->flags;
		__entry->status = e->status;
	),
	TP_printk("dev=%s qpn=%u wr_id=%llu opcode=%u flags=%#x len=%u status=%u",
		  __get_str(dev), __entry->qpn, __entry->wr_id,
		  __entry->opcode, __entry->flags, __entry->len,
		  __entry->status)
);

/* A packet that is well formed has come in; xroce_verdict will follow. */
TRACE_EVENT(xroce_receive,
	TP_PROTO(const struct xroce_rx *rx),
	TP_ARGS(rx),
	TP_STRUCT__entry(
		__string(dev, xroce_dev_name(rx->dev))
		__field(u32, qpn)
		__field(u32, psn)
		__field(u32, len)
		__field(u8, opcode)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->qpn = rx->pkt.qpn;
		__entry->psn = rx->pkt.psn;
		__entry->len = rx->pkt.payload_len;
		__entry->opcode = rx->pkt.opcode;
	),
	TP_printk("dev=%s qpn=%u opcode=%#04x psn=%u len=%u", __get_str(dev),
		  __entry->qpn, __entry->opcode, __entry->psn, __entry->len)
);

DECLARE_EVENT_CLASS(xroce_packet,
	TP_PROTO(const struct xroce_packet *p),
	TP_ARGS(p),
	TP_STRUCT__entry(
		__string(dev, p->name)
		__string(verdict, xroce_verdict_name(p->verdict))
		__array(u8, peer, 16)
		__field(u32, qpn)
		__field(u32, dqpn)
		__field(u32, psn)
		__field(u32, len)
		__field(u8, opcode)
	),
	TP_fast_assign(
		__assign_str(dev);
		__assign_str(verdict);
		memcpy(__entry->peer, p->peer, 16);
		__entry->qpn = p->qpn;
		__entry->dqpn = p->dqpn;
		__entry->psn = p->psn;
		__entry->len = p->len;
		__entry->opcode = p->opcode;
	),
	TP_printk("dev=%s qpn=%u peer=%pI6c dqpn=%u opcode=%#04x psn=%u len=%u verdict=%s",
		  __get_str(dev), __entry->qpn, __entry->peer, __entry->dqpn,
		  __entry->opcode, __entry->psn, __entry->len,
		  __get_str(verdict))
);

/* A packet has been handed to the netdev or to this host, or should have been. */
DEFINE_EVENT(xroce_packet, xroce_transmit,
	TP_PROTO(const struct xroce_packet *p),
	TP_ARGS(p)
);

/* A packet has come in and been dealt with, or dropped: the counter says which. */
DEFINE_EVENT(xroce_packet, xroce_verdict,
	TP_PROTO(const struct xroce_packet *p),
	TP_ARGS(p)
);

TRACE_EVENT(xroce_completion,
	TP_PROTO(const struct xroce_cq *cq, const struct xroce_cqe *cqe),
	TP_ARGS(cq, cqe),
	TP_STRUCT__entry(
		__string(dev, xroce_dev_name(cq->dev))
		__field(u64, wr_id)
		__field(u32, qpn)
		__field(u32, len)
		__field(u8, opcode)
		__field(u8, status)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->wr_id = cqe->wr_id;
		__entry->qpn = cqe->qpn;
		__entry->len = cqe->byte_len;
		__entry->opcode = cqe->opcode;
		__entry->status = cqe->status;
	),
	TP_printk("dev=%s qpn=%u wr_id=%llu opcode=%u len=%u status=%s",
		  __get_str(dev), __entry->qpn, __entry->wr_id,
		  __entry->opcode, __entry->len,
		  ib_wc_status_msg(__entry->status))
);

/* Something was lost, or the peer not ready: sending goes on at @psn. */
TRACE_EVENT(xroce_retry,
	TP_PROTO(const struct xroce_qp *qp, u32 psn, u32 why),
	TP_ARGS(qp, psn, why),
	TP_STRUCT__entry(
		__string(dev, xroce_dev_name(qp->dev))
		__string(why, xroce_verdict_name(why))
		__field(u32, qpn)
		__field(u32, psn)
		__field(u32, next)
		__field(u8, retries)
		__field(u8, rnr_retries)
	),
	TP_fast_assign(
		__assign_str(dev);
		__assign_str(why);
		__entry->qpn = qp->hot.qpn;
		__entry->psn = psn;
		__entry->next = qp->hot.next;
		__entry->retries = qp->req.retries;
		__entry->rnr_retries = qp->req.rnr_retries;
	),
	TP_printk("dev=%s qpn=%u why=%s psn=%u next=%u retries=%u rnr_retries=%u",
		  __get_str(dev), __entry->qpn, __get_str(why), __entry->psn,
		  __entry->next, __entry->retries, __entry->rnr_retries)
);

/* A QP goes to ERR or SQE, from @state: for a send, a packet, or told to. */
TRACE_EVENT(xroce_error,
	TP_PROTO(const struct xroce_qp *qp),
	TP_ARGS(qp),
	TP_STRUCT__entry(
		__string(dev, xroce_dev_name(qp->dev))
		__field(u32, qpn)
		__field(u8, state)
		__field(u8, status)
		__field(u8, nak)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->qpn = qp->hot.qpn;
		__entry->state = qp->hot.state;
		__entry->status = qp->err_status;
		__entry->nak = qp->err_nak;
	),
	TP_printk("dev=%s qpn=%u state=%u status=%s nak=%#04x", __get_str(dev),
		  __entry->qpn, __entry->state,
		  ib_wc_status_msg(__entry->status), __entry->nak)
);

#endif /* XROCE_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
