/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A process's part of one host or of two: a device's objects, and QPs of every
 * type that are connected with others of it or of another device.
 */
#ifndef XROCE_ENDS_H
#define XROCE_ENDS_H

#include <stdbool.h>

#include "device.h"

#define END_DEPTH	64
#define END_CQ		8192	/* room for all that its QPs have */
#define END_QKEY	0x11111111

/* RC_SRQ: an RC QP that receives from the SRQ. XRC: a sender and a target */
enum end_type { END_RC, END_UC, END_UD, END_RC_SRQ, END_XRC, END_TYPES };

/**
 * struct end - a device, and one of what its QPs share
 * @xsrq: of XRC, and its number
 * @mr: memory that all may do all to
 */
struct end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_srq *xsrq;
	uint32_t srqn;
	struct ibv_xrcd *xrcd;
	struct ibv_mr *mr;
};

/* DEVICE[@NAMESPACE]: the process is in that namespace then, and sees its sysfs */
struct ibv_context *end_device(const char *where);
void end_open(struct end *e, struct ibv_context *ctx, void *mem, size_t len);
/* Of XRC a target or a sender */
struct ibv_qp *end_qp(struct end *e, enum end_type type, bool target);
/* From RESET to RTS. Return: errno */
int end_connect(struct ibv_qp *qp, const struct ibv_qp *to);

#endif /* XROCE_ENDS_H */
