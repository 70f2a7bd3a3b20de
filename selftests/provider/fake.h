/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A kernel for the provider to talk to, in the same process: the uverbs commands
 * it makes, the rings it maps, the doorbells it rings. Rings are exactly as long
 * as described, so that ASan sees every step outside. One thread.
 */
#ifndef XROCE_FAKE_H
#define XROCE_FAKE_H

#include <stdbool.h>
#include <stdint.h>
#include <userlib/xroce.h>

#define FAKE_RINGS	8

/**
 * struct fake_ring - a ring as the kernel has it
 * @ring: NULL once unmapped
 */
struct fake_ring {
	struct xroce_ring *ring;
	uint32_t depth;
	uint32_t stride;
};

/**
 * struct fake - what the kernel was told and what it is to answer
 * @rings: made so far are @n_rings
 * @maps: mappings that exist
 * @cqs, @qps, @srqs, @ahs, @pds, @xrcds: objects that exist
 * @bells: doorbells rung well; others are @bad_bells
 * @fail_map: which mmap() from now on fails, 0 for none
 * @wc_flags: what the last CQ was made with
 * @fail_cmd: errno of each command and doorbell, 0 for success
 * @no_lseek: errno of lseek() alone
 * @foreign: a true file, which has the number of the one for doorbells; 0: none has
 * @cap: what the next QP or SRQ is said to have got
 * @active_mtu: of the port; @fail_port: errno of asking for it
 * @modify_mask: of the last modify of a QP or SRQ
 * @limit: of the SRQ
 * @armed: how often a CQ's event was asked for by a call, and how the last time
 * @meanwhile: what another thread does when the kernel has done its part of a modify
 */
extern struct fake {
	struct fake_ring rings[FAKE_RINGS];
	int n_rings;
	int maps;
	int cqs;
	int qps;
	int srqs;
	int ahs;
	int pds;
	int xrcds;
	int bells;
	int bad_bells;
	int fail_map;
	int fail_cmd;
	uint64_t wc_flags;
	int no_lseek;
	int foreign;
	struct ibv_qp_cap cap;
	enum ibv_mtu active_mtu;
	int fail_port;
	int modify_mask;
	uint32_t limit;
	int armed;
	int solicited_only;
	void (*meanwhile)(void);
} fake;

extern struct xroce_context fake_xctx;
#define fake_ctx (fake_xctx.vctx.context)

void fake_reset(void);
int fake_to_state(struct ibv_qp *qp, enum ibv_qp_state state);
struct xroce_ring *fake_ring_of(const struct xroce_map *m);
void fake_complete(struct ibv_qp *qp, bool recv, uint32_t cons);
void fake_sent(struct ibv_qp *qp);

#endif /* XROCE_FAKE_H */
