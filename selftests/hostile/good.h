/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A user who does nothing wrong: two QPs that talk to each other, on one thread, of
 * one device or of two.
 */
#ifndef XROCE_GOOD_H
#define XROCE_GOOD_H

#include <stdbool.h>

#include "device.h"

#define GOOD_LEN	3000

/**
 * struct good - a pair of RC QPs with all that they need of their own
 * @mem: what QP 0 sends, what QP 1 receives, where WRITEs go, what READs bring
 */
struct good {
	struct ibv_pd *pd[2];
	struct ibv_cq *cq[2];
	struct ibv_qp *qp[2];
	struct ibv_mr *mr[2];
	uint8_t *mem;
	uint32_t n;
};

void good_open(struct good *g, struct ibv_context *ctx, struct ibv_context *to);
/* A SEND, a WRITE, a READ and an atomic, compared */
bool good_step(struct good *g);

#endif /* XROCE_GOOD_H */
