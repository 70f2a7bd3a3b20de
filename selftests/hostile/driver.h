/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Commands of uverbs with @len bytes of driver data, of which the last is @last, the
 * others 0. What they make is gone again. Return: errno.
 */
#ifndef XROCE_HOSTILE_DRIVER_H
#define XROCE_HOSTILE_DRIVER_H

#include <stddef.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>

/* A QP to INIT, by ioctl() */
int driver_init(struct ibv_qp *qp, size_t len, char last);
/* A context and a QP, by write() */
int driver_context(struct ibv_context *ctx, size_t len, char last);
int driver_create(struct ibv_pd *pd, struct ibv_cq *cq, size_t len, char last);
/* Of a PD, CQ, SRQ, region or window, of which there is none yet: a later provider's */
int driver_none(struct ibv_pd *pd, unsigned int number);

#endif /* XROCE_HOSTILE_DRIVER_H */
