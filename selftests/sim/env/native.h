/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The way of a packet that native XDP serves, outside of the kernel: the simulator's
 * and the fuzzer's. One thread, BH off.
 */
#ifndef SIM_NATIVE_H
#define SIM_NATIVE_H

#include "core.h"
#include <xroce/xdp.h>

struct xdp_buff;
struct xdp_md;
struct xroce_pass;

/**
 * struct xroce_krx - a received packet, as in the module
 * @head, @nhead: bytes from the BTH that are linear
 * @tail: those behind them
 */
struct xroce_krx {
	struct xroce_rx rx;
	struct xdp_buff *xdp;
	const u8 *head;
	const u8 *tail;
	u32 nhead;
};

/* native.c */
int native_rx(struct xroce_krx *krx);
int native_rx_by(struct xroce_krx *krx, u32 (*program)(struct xroce_pass *p));

/* kmod/pass.c: for a program of the caller's own */
struct xroce_pass *bpf_xroce_begin(struct xdp_md *ctx, int *why);
u8 *bpf_xroce_hot(struct xroce_pass *p, const u32 rdwr_buf_size);
int bpf_xroce_place(struct xroce_pass *p);
int bpf_xroce_complete(struct xroce_pass *p);
void bpf_xroce_end(struct xroce_pass *p, u32 how);

#endif /* SIM_NATIVE_H */
