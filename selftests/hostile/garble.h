/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the parts of rings.c share. */
#ifndef XROCE_GARBLE_H
#define XROCE_GARBLE_H

#include <stdbool.h>
#include <stdint.h>

uint32_t rnd(void);

static inline bool one_in(uint32_t n)
{
	return rnd() % n == 0;
}

/* One uverbs command that makes no sense, to a file of its own. */
void garble(int fd);

#endif /* XROCE_GARBLE_H */
