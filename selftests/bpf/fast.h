/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A connected QP as fast.bpf.c knows it, for xdp.c to fill in. Of one program run
 * at a time.
 */
#ifndef XROCE_FAST_H
#define XROCE_FAST_H

#include <xroce/hot.h>

/* As many as the module has places to look in: by the number's lowest bits. */
#define FAST_QPS	16384

/**
 * struct xroce_pass - a QP, and its packet in hand
 * @hot: what the rules look at
 * @sgid: the peer
 * @dgid: this end
 * @mac: this end's
 */
struct xroce_pass {
	struct xroce_hot hot;
	u64 sgid[2];
	u64 dgid[2];
	u16 mac[3];
	u16 pad;
};

#endif /* XROCE_FAST_H */
