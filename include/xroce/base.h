/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The few types and conversions that the shared headers stand on, in the
 * module, in BPF (after vmlinux.h) and in user space. Owns no state.
 */
#ifndef XROCE_BASE_H
#define XROCE_BASE_H

#if defined(__KERNEL__)

#include <linux/types.h>
#include <linux/build_bug.h>
#include <asm/byteorder.h>

#elif defined(__bpf__)

#define be16_to_cpu(x)	__builtin_bswap16(x)
#define be32_to_cpu(x)	__builtin_bswap32(x)
#define be64_to_cpu(x)	__builtin_bswap64(x)
#define cpu_to_be16(x)	__builtin_bswap16(x)
#define cpu_to_be32(x)	__builtin_bswap32(x)
#define cpu_to_be64(x)	__builtin_bswap64(x)
#define cpu_to_le32(x)	(x)
#define static_assert	_Static_assert
/*
 * Of what it believes to be anywhere clang takes a byte at a time. Frames start
 * two bytes after a multiple of four where that matters (NET_IP_ALIGN), and the
 * verifier sees to it.
 */
#define xroce_aligned(p, n)	__builtin_assume_aligned(p, n)
#define __xroce_wire		__attribute__((packed, aligned(4)))

#else /* user space */

#include <assert.h>
#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int32_t s32;
typedef int64_t s64;

#define be16_to_cpu(x)	be16toh(x)
#define be32_to_cpu(x)	be32toh(x)
#define be64_to_cpu(x)	be64toh(x)
#define cpu_to_be16(x)	htobe16(x)
#define cpu_to_be32(x)	htobe32(x)
#define cpu_to_be64(x)	htobe64(x)
#define cpu_to_le32(x)	htole32(x)
#ifndef __packed
#define __packed	__attribute__((packed))
#endif

#endif

#ifndef __xroce_wire
#define xroce_aligned(p, n)	(p)
#define __xroce_wire		__attribute__((packed))
#endif

#ifndef __always_inline
#define __always_inline	inline __attribute__((always_inline))
#endif

#endif /* XROCE_BASE_H */
