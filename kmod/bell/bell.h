/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What xroce_bell.ko offers to xroce.ko: a file by which a user's context rings.
 */
#ifndef XROCE_BELL_H
#define XROCE_BELL_H

#include <linux/types.h>

struct file;
struct xroce_bell;

/**
 * typedef xroce_ring_t - a user has rung; process context, BH off
 * @ctx: as given to xroce_bell_new()
 * @qpn: the number that the user has said: any
 *
 * Return: 0 or an error for the user.
 */
typedef int xroce_ring_t(const void *ctx, u32 qpn);

struct file *xroce_bell_new(xroce_ring_t *ring, const void *ctx, struct xroce_bell **bell);
void xroce_bell_end(struct xroce_bell *bell);

#endif /* XROCE_BELL_H */
