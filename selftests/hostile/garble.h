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

/* Which kind of call has found something that made sense */
enum garbled { GARBLED_NOT, GARBLED_WRITE, GARBLED_EXTENDED, GARBLED_IOCTL, GARBLED_KINDS };

void garble_seed(uint64_t seed);
/* One call that makes no sense, of a file of its own */
enum garbled garble(int fd);

#endif /* XROCE_GARBLE_H */
