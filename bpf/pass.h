/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fast path: a packet of a QP, decided about by the rules over the QP's hot block
 * (xroce/hot.h) and dealt with by the module's functions. Between begin and end the
 * QP's lock is held. Included once.
 */
#ifndef XROCE_PASS_H
#define XROCE_PASS_H

#include <xroce/hot.h>
#include <xroce/xdp.h>

/* A test without the module defines what stands in for it, and this. */
#ifndef XROCE_STAND_IN

/* The module's; not declared only, which libbpf takes for another kind of type. */
struct xroce_pass {
	u32 opaque;
};

/* See kmod/pass.c for each. */
extern struct xroce_pass *bpf_xroce_begin(struct xdp_md *ctx,
					  int *why) __weak __ksym;
extern u8 *bpf_xroce_hot(struct xroce_pass *p,
			 const u32 rdwr_buf_size) __weak __ksym;
extern int bpf_xroce_place(struct xroce_pass *p) __weak __ksym;
extern int bpf_xroce_complete(struct xroce_pass *p) __weak __ksym;
extern void bpf_xroce_end(struct xroce_pass *p, u32 how) __weak __ksym;

#endif /* XROCE_STAND_IN */

/*
 * A policy is a function that sees the hot block with the packet under way in it,
 * and says whether to drop that: bpf/policy.bpf.c is an example.
 */
#ifndef XROCE_POLICY
#define XROCE_POLICY(hot) false
#endif

/* Decide about the packet in hand. Return: what bpf_xroce_end() is to be told. */
static __always_inline u32 xroce_decide(struct xroce_pass *p)
{
	struct xroce_hot *hot = (void *)bpf_xroce_hot(p, sizeof(*hot));

	if (!hot)
		return XROCE_PASS_CORE;
	if (XROCE_POLICY(hot))
		return XROCE_PASS_DROP;
	switch (xroce_way(hot)) {
	case XROCE_WAY_PLACE:
		/* When it fails the peer is told, and expected again. */
		if (!bpf_xroce_place(p))
			xroce_resp_done(hot, hot->pkt.info, 1, hot->pkt.ackreq);
		return XROCE_PASS_DONE;
	case XROCE_WAY_COMPLETE:
		bpf_xroce_complete(p);
		return XROCE_PASS_DONE;
	default:
		return XROCE_PASS_CORE;
	}
}

/**
 * xroce_receive() - deal with a frame of a QP, if it is one
 * @stat: where it counts, when it was one
 *
 * Return: XROCE_XDP_RX_TAKEN, XROCE_XDP_RX_LEFT or the CPU it is to be sent to.
 */
static __always_inline int xroce_receive(struct xdp_md *ctx,
					 enum xroce_xdp_stat *stat)
{
	int why = XROCE_XDP_RX_LEFT;
	struct xroce_pass *p;
	u32 how;

	*stat = XROCE_XDP_TAKEN;
	if (!bpf_xroce_begin)
		return why;
	p = bpf_xroce_begin(ctx, &why);
	if (!p)
		return why;
	how = xroce_decide(p);
	bpf_xroce_end(p, how);
	if (how == XROCE_PASS_DONE)
		*stat = XROCE_XDP_FAST;
	else if (how == XROCE_PASS_DROP)
		*stat = XROCE_XDP_DROP_POLICY;
	return XROCE_XDP_RX_TAKEN;
}

#endif /* XROCE_PASS_H */
