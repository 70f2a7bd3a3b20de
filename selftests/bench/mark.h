/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * How the program tells plugin.c where the timed part begins and ends, and what
 * memory its messages have: by instructions that do nothing and that nobody else
 * has. Owns no state.
 */
#ifndef XROCE_BENCH_MARK_H
#define XROCE_BENCH_MARK_H

#define MARK_BEGIN 1
#define MARK_END   2

/* nopl 0x..6f7278(%rax); the last byte is one of the above. */
#define MARK_BYTES 0x0f, 0x1f, 0x80, 0x78, 0x72, 0x6f

/* orb $0, 0x6f7278(%rax): it stores what was there. */
#define PAGE_BYTES 0x80, 0x88, 0x78, 0x72, 0x6f, 0, 0

#ifdef __x86_64__
#define MARK(byte) \
	asm volatile(".byte 0x0f, 0x1f, 0x80, 0x78, 0x72, 0x6f, %c0" \
		     : : "i" (byte) : "memory")
#define MARK_PAGE(p) \
	asm volatile(".byte 0x80, 0x88, 0x78, 0x72, 0x6f, 0, 0" \
		     : : "a" ((uintptr_t)(p) - 0x6f7278) : "memory", "cc")
#else	/* the guest that counts instructions is of the one kind */
#define MARK(byte) ((void)(byte))
#define MARK_PAGE(p) ((void)(p))
#endif

#endif /* XROCE_BENCH_MARK_H */
