/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the transport core finds under the kernel's names when it is built for
 * the simulator. One thread stands for all CPUs, so a lock is a flag, and every
 * misuse of one is fatal: taken twice, out of order, leaked, in a wrong context.
 */
#ifndef XROCE_ENV_H
#define XROCE_ENV_H

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xroce/base.h>

#include "../../lib/notrace.h"

#define unlikely(x)	__builtin_expect(!!(x), 0)

#define U32_MAX		UINT32_MAX

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))
#define ALIGN(x, a)	(((x) + (a) - 1) & ~((__typeof__(x))(a) - 1))
#define ilog2(n)	(63 - __builtin_clzll((u64)(n)))

#define min(a, b) ({ \
	__auto_type min_a = (a); \
	__auto_type min_b = (b); \
	min_a < min_b ? min_a : min_b; })
#define max(a, b) ({ \
	__auto_type max_a = (a); \
	__auto_type max_b = (b); \
	max_a > max_b ? max_a : max_b; })
#define min_t(t, a, b)	min((t)(a), (t)(b))
#define max_t(t, a, b)	max((t)(a), (t)(b))
#define clamp(v, lo, hi) min(max(v, lo), hi)
#define swap(a, b) do { \
	__auto_type swap_t = (a); \
	(a) = (b); \
	(b) = swap_t; \
} while (0)
#define container_of(p, t, m) ((t *)((char *)(p) - offsetof(t, m)))

#define __acquire(x)	((void)0)
#define __release(x)	((void)0)

#define READ_ONCE(x)	(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile __typeof__(x) *)&(x) = (v))
#define barrier()	__asm__ __volatile__("" ::: "memory")
#define smp_mb()	__atomic_thread_fence(__ATOMIC_SEQ_CST)
#define smp_mb__before_atomic()	barrier()
#define smp_mb__after_atomic()	barrier()
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)
#define smp_store_mb(x, v)	do { WRITE_ONCE(x, v); smp_mb(); } while (0)
#define cmpxchg(p, o, n) ({ \
	__typeof__(*(p)) cx_old = (o); \
	__atomic_compare_exchange_n(p, &cx_old, (__typeof__(*(p)))(n), 0, \
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
	cx_old; })

typedef struct {
	int counter;
} atomic_t;

#define atomic_read(v)		READ_ONCE((v)->counter)
#define atomic_set(v, i)	WRITE_ONCE((v)->counter, i)
#define atomic_inc(v)		((void)(v)->counter++)
#define atomic_dec(v)		((void)(v)->counter--)
#define atomic_cmpxchg(v, o, n)	cmpxchg(&(v)->counter, o, n)
#define atomic_inc_unless_negative(v) \
	((v)->counter >= 0 && ((v)->counter++, true))
#define atomic_dec_and_test(v)	(--(v)->counter == 0)

/* Nobody runs beside us: whoever waits for another CPU waits for ever. */
#define cpu_relax()	sim_bug(__FILE__, __LINE__, "cpu_relax: endless loop")

void sim_bug(const char *file, int line, const char *what)
	__attribute__((__noreturn__));

/**
 * struct sim_lock - a lock; @rank tells its place in the order
 */
typedef struct sim_lock {
	bool held;
	u8 rank;
	const char *name;
	int line;
} spinlock_t;

enum sim_lock_how {
	SIM_LOCK_PLAIN,
	SIM_LOCK_BH,
	SIM_LOCK_IRQ,
};

void sim_lock_init(spinlock_t *l, const char *name);
void sim_lock(spinlock_t *l, enum sim_lock_how how, const char *file, int line);
void sim_unlock(spinlock_t *l, enum sim_lock_how how, const char *file,
		int line);
void sim_bh(int d, const char *file, int line);
void sim_may_sleep(const char *file, int line);

#define spin_lock_init(l)	sim_lock_init(l, #l)
#define spin_lock(l)		sim_lock(l, SIM_LOCK_PLAIN, __FILE__, __LINE__)
#define spin_unlock(l)		sim_unlock(l, SIM_LOCK_PLAIN, __FILE__, __LINE__)
#define spin_lock_bh(l)		sim_lock(l, SIM_LOCK_BH, __FILE__, __LINE__)
#define spin_unlock_bh(l)	sim_unlock(l, SIM_LOCK_BH, __FILE__, __LINE__)
#define spin_lock_irqsave(l, f) do { \
	(f) = 0; \
	sim_lock(l, SIM_LOCK_IRQ, __FILE__, __LINE__); \
} while (0)
#define spin_unlock_irqrestore(l, f) do { \
	(void)(f); \
	sim_unlock(l, SIM_LOCK_IRQ, __FILE__, __LINE__); \
} while (0)
#define cond_resched()		sim_may_sleep(__FILE__, __LINE__)
#define local_bh_disable()	sim_bh(1, __FILE__, __LINE__)
#define local_bh_enable()	sim_bh(-1, __FILE__, __LINE__)

/* The CPUs' pins: no lock is taken meanwhile, none is left */
extern int sim_pins;
#define xroce_env_pin()		(sim_pins++)
#define xroce_env_unpin()	(sim_pins--)

extern u32 sim_cpu;
#define xroce_env_cpu()		sim_cpu

/* The CPUs' regions in use: each is alone, and has one at a time */
struct xroce_mr;
extern const struct xroce_mr *sim_used;
#define xroce_env_use(mr)	(sim_pins += sim_used ? 1000 : 0, sim_used = (mr))
#define xroce_env_use_end()	(sim_used = NULL)
#define xroce_env_unused(mr)	(sim_pins += sim_used == (mr) ? 1000 : 0)

#define get_unaligned(p) ({ \
	struct gu { __typeof__(*(p)) v; } __packed; \
	const struct gu *gu = (const void *)(p); \
	gu->v; })

static inline u16 get_unaligned_be16(const void *p)
{
	const u8 *b = p;

	return b[0] << 8 | b[1];
}

static inline u32 get_unaligned_be32(const void *p)
{
	return (u32)get_unaligned_be16(p) << 16 |
	       get_unaligned_be16((const u8 *)p + 2);
}

static inline void put_unaligned_be16(u16 v, void *p)
{
	u8 *b = p;

	b[0] = v >> 8;
	b[1] = v;
}

static inline void put_unaligned_be32(u32 v, void *p)
{
	put_unaligned_be16(v >> 16, p);
	put_unaligned_be16(v, (u8 *)p + 2);
}

#endif /* XROCE_ENV_H */
