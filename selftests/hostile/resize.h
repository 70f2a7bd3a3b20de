/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Rings of another size as the system calls have it: no provider looks after the
 * indices, or waits for who posts and polls.
 */
#ifndef XROCE_RESIZE_H
#define XROCE_RESIZE_H

#include <stdint.h>
#include <infiniband/verbs.h>

/*
 * The new ring is mapped at @at, over what is there, a page's multiple. @off, if not
 * NULL: its offset in the file. Return: errno
 */
int resize_cq(struct ibv_cq *cq, uint32_t depth, void *at, off_t *off);
int resize_srq(struct ibv_srq *srq, uint32_t depth, void *at, off_t *off);

/* What an SRQ's new size says behind what the module knows of. */
extern uint64_t resize_srq_more;

#endif /* XROCE_RESIZE_H */
