/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The smallest environment in which the transport core runs: one QP whose
 * packets wait in a queue, four memory regions, two windows, an address handle
 * and one of another's, a clock that stands still.
 * Everything is made anew for each input. Single-threaded.
 */
#ifndef FUZZ_ENV_H
#define FUZZ_ENV_H

#include "native.h"

#define MUST(c) do {				\
	if (unlikely(!(c)))			\
		fuzz_fail(#c, __LINE__);	\
} while (0)

#define WIRE_MAX 64

struct fuzz_wire {
	u8 *p;
	u32 len;
};

/**
 * struct fuzz_env - what the input can do to the core's surroundings
 * @av: the way from the QP to itself
 * @srq_held: by a packet for it
 * @room: frames that the device still takes
 * @no_mem: frames to be refused
 * @linear: all of a frame in its first segment
 * @native: packets come by native XDP, @program: to this one and not to ours
 * @due: when the timer is to run, 0: not set
 * @frames: frames that exist
 */
struct fuzz_env {
	struct xroce_dev dev;
	struct xroce_qp *qp;
	struct xroce_mr *mr[6];
	struct xroce_ah *ah[2];
	struct xroce_rq *srq;
	bool srq_held;
	const struct xroce_av *av;
	u64 now;
	u64 due;
	u32 room;
	u32 no_mem;
	bool linear;
	bool native;
	u32 (*program)(struct xroce_pass *p);
	int frames;
	int bh;
	struct fuzz_wire wire[WIRE_MAX];
	u32 wires;
	u64 count[XROCE_CNT_MAX];
	struct xroce_known known[XROCE_KNOWN];
};

extern struct fuzz_env env;

void fuzz_fail(const char *what, int line) __attribute__((__noreturn__));
void fuzz_env_reset(void);
void fuzz_rx(const u8 *ip, u32 len);
u32 fuzz_crc(u32 crc, const void *p, u32 len);

#endif /* FUZZ_ENV_H */
