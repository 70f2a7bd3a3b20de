// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * kmod/pass.c and bpf/pass.h as they are, compiled into one program: what they do
 * with a packet of a QP in native XDP. Owns stand-ins for the driver's
 * buffer, for the link and for steering, which nobody has asked for here.
 */
#include "native.h"

#include <linux/bpf.h>
#include <linux/percpu.h>
#include <net/xdp.h>

/* What of the module they need; the header itself is the kernel's. */
#define XROCE_H

struct xroce_kqp {
	int steered;
	unsigned long steered_at;
	atomic_t away;
};

static struct net_device ndev;
static struct xroce_kqp not_steered = { .steered = XROCE_XDP_CPU_STAY };

#define HZ				1000
#define jiffies				0ul
#define time_before(a, b)		((long)((a) - (b)) < 0)
#define atomic_dec_if_positive(v)	((v)->counter > 0 ? --(v)->counter : -1)
#define __bpf_kfunc
#define __bpf_kfunc_start_defs()
#define __bpf_kfunc_end_defs()

#define XROCE_VERDICT_XDP		0x80
#define xroce_qp_kqp(qp)		((void)(qp), &not_steered)
#define xroce_steer_cpu(kqp)		((kqp)->steered)
#define xroce_xdp_is_generic(rxq)	(!(rxq))
#define xroce_is_atomic()		false
#define xroce_trace_rx_xdp(link, xdp, is) ((xdp)->krx->rx.verdict = (is))

/* As in kmod/packet.c, once the frame has been found to be whole. */
static struct xroce_qp *xroce_rx_xdp(struct xdp_buff *xdp, struct xroce_krx *krx)
{
	const struct xroce_known *k = NULL;
	struct xroce_rx *rx = &krx->rx;
	struct xroce_qp *qp;
	u32 ip;

	*krx = *xdp->krx;
	/* Where the module has those of the packet before. */
	memset(&krx->rx.pkt, 0xa5, sizeof(krx->rx.pkt));
	ip = rx->l3[0] >> 4 == 4 ? 20 : 40;
	krx->xdp = xdp;
	rx->whole = ip + 8 + rx->len;
	if (rx->known && rx->len >= sizeof(struct xroce_bth))
		k = xroce_known_find(rx->known, rx->l3, rx->l3 + ip + 8);
	if (k && k->whole == rx->whole && xroce_known_parse(k, &rx->pkt, rx->l3 + ip + 8))
		rx->is = k;
	else if (xroce_rx_parse(rx))
		return NULL;
	qp = xroce_env_qp(rx->dev, rx->pkt.qpn);
	if (!qp || qp->dev != rx->dev)
		return NULL;
	rx->gen = smp_load_acquire(&qp->gen);
	return (qp->hot.transport == XROCE_UD ? xroce_env_local(rx) :
						xroce_rx_from(rx, &qp->av)) ? qp : NULL;
}

#include <kmod/pass.c>

#define XROCE_STAND_IN
#pragma GCC diagnostic ignored "-Waddress"
#include <bpf/pass.h>

/**
 * native_rx() - a packet comes to a netdev where native XDP is
 * @krx: all but @krx->rx.pkt and @krx->rx.verdict filled in
 *
 * Return: XROCE_XDP_FAST or XROCE_XDP_TAKEN, when @krx->rx.verdict says what became
 * of it; -1 when it is left to the stack, which xroce_rx() stands for.
 */
int native_rx(struct xroce_krx *krx)
{
	struct xdp_rxq_info rxq = { .dev = &ndev, .reg_state = 1 };
	struct xdp_buff xdp = { .rxq = &rxq, .krx = krx };
	enum xroce_xdp_stat stat;

	if (xroce_receive((struct xdp_md *)&xdp, &stat) != XROCE_XDP_RX_TAKEN)
		return -1;
	return stat;
}

/**
 * native_rx_by() - the same by another program
 * @krx: as above
 * @program: what it does with a packet in hand; it returns what bpf_xroce_end() is told
 *
 * Return: 0, or -1 as above.
 */
int native_rx_by(struct xroce_krx *krx, u32 (*program)(struct xroce_pass *p))
{
	struct xdp_rxq_info rxq = { .dev = &ndev, .reg_state = 1 };
	struct xdp_buff xdp = { .rxq = &rxq, .krx = krx };
	struct xroce_pass *p;
	int why;

	p = bpf_xroce_begin((struct xdp_md *)&xdp, &why);
	if (!p)
		return why == XROCE_XDP_RX_TAKEN ? 0 : -1;
	bpf_xroce_end(p, program(p));
	return 0;
}
