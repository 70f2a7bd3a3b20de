// SPDX-License-Identifier: GPL-2.0
/*
 * A packet and its QP in the hands of an XDP program, from bpf_xroce_begin() to
 * bpf_xroce_end(), which hold the QP's lock. One at a time on a CPU; BH off.
 *
 * The program decides by a copy of the QP's hot block, which it may write. Of that the four
 * fields that are its to change are taken at the end, cut to their range: they are its own QP's
 * protocol at most. All that is done is done to the packet that was checked.
 */
#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/percpu.h>
#include <net/xdp.h>

#include "xroce.h"

/**
 * struct xroce_pass - a packet that a program has
 * @krx: the packet
 * @qp: whose it is, locked; NULL: this CPU's pass is free
 * @sent: to this CPU, by the program of another
 * @given: what the program makes of @hot is to be taken
 * @done: something was done with the packet: it is not the core's any more
 * @hot: the copy of the hot block that the program has
 */
struct xroce_pass {
	struct xroce_krx krx;
	struct xroce_qp *qp;
	bool sent;
	bool given;
	bool done;
	struct xroce_hot hot;
};

static DEFINE_PER_CPU(struct xroce_pass, xroce_passes);

/* What the program may change, as far as the core may rely on it. */
static void hot_take(struct xroce_pass *p)
{
	u32 msg = p->hot.msg & (XROCE_OP_SEND | XROCE_OP_WRITE);
	struct xroce_hot *hot = &p->qp->hot;

	if (!p->given)
		return;
	hot->epsn = p->hot.epsn & XROCE_PSN_MASK;
	hot->msn = p->hot.msn & XROCE_PSN_MASK;
	hot->msg = msg == (XROCE_OP_SEND | XROCE_OP_WRITE) ? 0 : msg;
	hot->resp_flags = p->hot.resp_flags &
			  (XROCE_RESP_GAP | XROCE_RESP_RNR | XROCE_RESP_ACK);
}

/* The ICRC is checked before the lock is taken and anything changes. */
static bool pass_lock(struct xroce_qp *qp, struct xroce_rx *rx)
{
	trace_xroce_receive(rx);
	if (xroce_rx_icrc_ok(rx))
		return xroce_rx_begin(qp, rx);
	xroce_rx_drop(rx, XROCE_CNT_DROP_ICRC);
	return false;
}

/* The QP's hot block, and in it the packet, for the program to see. */
static void hot_show(struct xroce_hot *hot, const struct xroce_hot *is, const struct xroce_pkt *pkt)
{
	memcpy(hot, is, offsetof(struct xroce_hot, pkt));
	hot->pkt.info = pkt->info;
	hot->pkt.psn = pkt->psn;
	hot->pkt.payload_len = pkt->payload_len;
	hot->pkt.syndrome = pkt->syndrome;
	hot->pkt.ackreq = pkt->ackreq;
}

#define XROCE_STEER_WAIT	(HZ / 10 + 1)

/*
 * After a change, packets on their way to the old CPU get there before others go to
 * the new one. One that a full queue has lost never does: after a while that is all.
 * Return: the CPU that a packet is to be sent to, or XROCE_XDP_CPU_STAY.
 */
static int pass_cpu(struct xroce_qp *qp)
{
	struct xroce_kqp *kqp = xroce_qp_kqp(qp);
	int cpu = xroce_steer_cpu(kqp), now = READ_ONCE(kqp->steered);
	bool here = cpu == smp_processor_id(), late;

	if (cpu == now && cpu < 0)
		return cpu;
	/* A datagram comes by any queue, and after none. */
	if (qp->hot.transport == XROCE_UD)
		return here ? XROCE_XDP_CPU_STAY : cpu;
	late = !time_before(jiffies, READ_ONCE(kqp->steered_at) + XROCE_STEER_WAIT);
	if (cpu != now && !late && atomic_read(&kqp->away) > 0) {
		cpu = now;
		here = cpu == smp_processor_id();
	} else {
		if ((cpu != now || (here && late)) && atomic_read(&kqp->away) > 0) {
			xroce_env_count(qp->dev, XROCE_CNT_STEER_LATE, 1);
			atomic_set(&kqp->away, 0);
		}
		if (cpu != now || !here)
			WRITE_ONCE(kqp->steered_at, jiffies);
		WRITE_ONCE(kqp->steered, cpu);
	}
	/* NAPI may have come to that CPU before what it sent there. */
	if (cpu < 0 || (here && atomic_read(&kqp->away) <= 0))
		return XROCE_XDP_CPU_STAY;
	atomic_inc(&kqp->away);
	return cpu;
}

static void pass_came(const struct xroce_pass *p, struct xroce_qp *qp)
{
	/* Those that were not waited for count no more. */
	if (p->sent)
		atomic_dec_if_positive(&xroce_qp_kqp(qp)->away);
}

__bpf_kfunc_start_defs();

/**
 * bpf_xroce_begin() - look at a frame, and take its QP in hand
 * @ctx: the frame
 * @why: if NULL is returned: XROCE_XDP_RX_TAKEN when the frame has been dealt
 *	with, XROCE_XDP_RX_LEFT for the rest of the program and the stack to have,
 *	or the CPU that it is to be sent to
 *
 * XDP programs of a driver or of a cpumap. What stands in the frame is looked at here: nothing
 * that the program found out about it counts. Then nothing may be changed in the frame.
 *
 * Return: to be given to bpf_xroce_end(), or NULL.
 */
__bpf_kfunc struct xroce_pass *bpf_xroce_begin(struct xdp_md *ctx, int *why)
{
	struct xroce_pass *p = this_cpu_ptr(&xroce_passes);
	struct xdp_buff *xdp = (struct xdp_buff *)ctx;
	struct xroce_qp *qp;
	int cpu;

	*why = XROCE_XDP_RX_LEFT;
	/* A second one would be a second lock. */
	if (p->qp || xroce_xdp_is_generic(xdp->rxq) || xroce_is_atomic())
		return NULL;
	qp = xroce_rx_xdp(xdp, &p->krx);
	if (!qp)
		return NULL;
	/* A cpumap's queue is its own, and nobody registers it. */
	p->sent = !xdp->rxq->reg_state;
	cpu = p->sent ? XROCE_XDP_CPU_STAY : pass_cpu(qp);
	if (cpu >= 0) {
		*why = cpu;
		return NULL;
	}
	if (!pass_lock(qp, &p->krx.rx)) {
		pass_came(p, qp);
		xroce_trace_rx_xdp(xroce_dev_link(qp->dev), xdp, p->krx.rx.verdict);
		*why = XROCE_XDP_RX_TAKEN;
		return NULL;
	}
	p->qp = qp;
	p->given = false;
	p->done = false;
	return p;
}

/**
 * bpf_xroce_hot() - a copy of the QP's hot block, and in it what is known of the packet
 * @p: the packet in hand
 * @rdwr_buf_size: as much of it as the program wants, which may write there
 *
 * What it writes is taken by bpf_xroce_end(), as far as it is its to change, unless
 * bpf_xroce_place() fails or bpf_xroce_complete() is called: then the core's word
 * stands. Return: a &struct xroce_hot, or NULL when the QP is past hearing.
 */
__bpf_kfunc u8 *bpf_xroce_hot(struct xroce_pass *p, const u32 rdwr_buf_size)
{
	if (rdwr_buf_size > sizeof(p->hot) || p->qp->resp.fatal)
		return NULL;
	hot_take(p);
	hot_show(&p->hot, &p->qp->hot, &p->krx.rx.pkt);
	p->given = true;
	return (u8 *)&p->hot;
}

/**
 * bpf_xroce_place() - put the payload where it belongs, and complete the message
 * @p: the packet in hand: a SEND or WRITE
 *
 * Once. Keys, bounds and receive work requests are the QP's, as is what the packet asks for.
 * Return: 0, and the program lets the QP advance; or an error, of which the peer is told.
 */
__bpf_kfunc int bpf_xroce_place(struct xroce_pass *p)
{
	if (p->done || !xroce_qp_reliable(p->qp) || p->qp->resp.fatal ||
	    !(p->krx.rx.pkt.info & (XROCE_OP_SEND | XROCE_OP_WRITE)))
		return -EINVAL;
	p->done = true;
	/* What is done has changed nothing that the program's copy has. */
	if (xroce_resp_execute(p->qp, &p->krx.rx))
		return 0;
	p->given = false;
	return -EIO;
}

/**
 * bpf_xroce_complete() - complete what a response acknowledges, and place its data
 * @p: the packet in hand: an ACK, or the response to a READ or atomic
 *
 * Once. Return: 0 or -EINVAL.
 */
__bpf_kfunc int bpf_xroce_complete(struct xroce_pass *p)
{
	if (p->done || !(p->krx.rx.pkt.info & XROCE_OP_RESPONSE))
		return -EINVAL;
	p->done = true;
	p->given = false;
	xroce_comp_rx(p->qp, &p->krx.rx);
	return 0;
}

/**
 * bpf_xroce_end() - let go of a packet and its QP; what is owed is sent soon
 * @p: the packet in hand
 * @how: XROCE_PASS_CORE: let the core deal with it, unless something was done already; else the
 *	packet is done with: if nothing was done, which XROCE_PASS_DROP means, it is as if it had
 *	not come, but that it, and a mark that it had, was counted
 */
__bpf_kfunc void bpf_xroce_end(struct xroce_pass *p, u32 how)
{
	struct xroce_qp *qp = p->qp;

	hot_take(p);
	if (how == XROCE_PASS_CORE && !p->done)
		xroce_rx_core(qp, &p->krx.rx);
	/* Before the lock is dropped: who finds none on the way may go on elsewhere. */
	pass_came(p, qp);
	xroce_rx_end(qp, &p->krx.rx);
	if (how == XROCE_PASS_DROP && !p->done)
		p->krx.rx.verdict = XROCE_VERDICT_XDP + XROCE_XDP_DROP_POLICY;
	p->qp = NULL;
	xroce_trace_rx_xdp(xroce_dev_link(p->krx.rx.dev), p->krx.xdp, p->krx.rx.verdict);
}

__bpf_kfunc_end_defs();
