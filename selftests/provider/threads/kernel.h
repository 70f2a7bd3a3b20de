/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A kernel of threads around the real transport core: two QPs connected to each
 * other, a CQ each. Its own header, for the core's names are the provider's too.
 */
#ifndef XROCE_KERNEL_H
#define XROCE_KERNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <rdma/xroce-abi.h>

#define KERNEL_DEPTH	16	/* of each queue */
#define KERNEL_CQ_DEPTH	(2 * KERNEL_DEPTH)
#define KERNEL_QPN	0x100	/* and one more for the second */

enum kernel_state { KERNEL_RESET, KERNEL_RTS, KERNEL_ERR };

/* A CPU of the kernel takes its turn; set up before it starts. */
void kernel_start(void);
void kernel_stop(void);
struct xroce_ring_info kernel_cq(int i);
void kernel_qp(int i, uint64_t handle, struct xroce_ring_info *sq, struct xroce_ring_info *rq);
/* Packets in flight at most, for QPs that get connected from now on */
void kernel_window(uint32_t n);
void kernel_modify(int i, enum kernel_state state);
/* Nothing is on its way, nothing left to be run. */
void kernel_idle(void);
/* There is a region, valid again; any QP's work request or peer ends it. */
void kernel_region(void);
bool kernel_invalidate(int i);
/* Any thread */
void kernel_doorbell(int i);
void kernel_notify(int i);
bool kernel_event(int i, int seconds);
uint32_t kernel_doorbells(void);

#endif /* XROCE_KERNEL_H */
