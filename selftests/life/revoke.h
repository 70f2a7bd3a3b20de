/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What revoke.c and secret.c share: memory that is taken from a peer, and an RC QP
 * that begins anew when the peer has been refused it. Owns nothing.
 */
#ifndef XROCE_REVOKE_H
#define XROCE_REVOKE_H

#include "life.h"

#define PAGES	32
#define LEN	(PAGES * 4096ul)
#define MINE	0x55		/* what is the victim's alone is full of it */

/* LEN bytes of this value */
uint8_t *revoke_map(uint8_t value);
/* Where they are; only root is told */
void revoke_frames(const uint8_t *p, uint64_t pfn[PAGES]);
/* How many of the pages are among the others */
int revoke_again(const uint64_t *a, const uint64_t *b);
bool revoke_untouched(const struct side *s, const uint8_t *p);
void revoke_reset(struct side *s);
void revoke_reconnect(struct side *s);
/* Has the peer been refused, and waits for what it is offered next? */
bool revoke_rests(void);
/* The peer's part of that */
void revoke_rest(struct side *s);

#endif /* XROCE_REVOKE_H */
