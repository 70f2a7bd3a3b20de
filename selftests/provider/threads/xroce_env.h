/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the transport core finds under the kernel's names when several threads of
 * a test stand for CPUs. Written for TSan: all that the kernel does by READ_ONCE
 * and WRITE_ONCE is atomic here, and nothing else. Now and then a thread pauses
 * before it changes what is shared, so that others come in between, also where
 * there are many for a processor.
 */
#ifndef XROCE_ENV_H
#define XROCE_ENV_H

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include <xroce/base.h>

#include "../../lib/notrace.h"

#define U32_MAX		UINT32_MAX

static inline void pause_now_and_then(void)
{
	static __thread u32 seed;

	seed = seed * 1664525 + 1013904223;
	if (seed >> 24 == 0)
		usleep(seed & 0x100000 ? 20 : 10000);
}

#define __acquire(x)		((void)0)
#define __release(x)		((void)0)
#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v) do { \
	pause_now_and_then(); \
	__atomic_store_n(&(x), v, __ATOMIC_RELAXED); \
} while (0)
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, v) do { \
	pause_now_and_then(); \
	__atomic_store_n(p, v, __ATOMIC_RELEASE); \
} while (0)
#define smp_mb()		__atomic_thread_fence(__ATOMIC_SEQ_CST)
#define smp_mb__before_atomic()	smp_mb()
#define smp_mb__after_atomic()	smp_mb()
#define barrier()		__asm__ __volatile__("" ::: "memory")
#define cpu_relax()		barrier()
#define xroce_env_pin()		((void)0)
#define xroce_env_unpin()	((void)0)
/* Of regions that this test has none of */
#define xroce_env_use(mr)	__builtin_trap()
#define xroce_env_use_end()	__builtin_trap()
#define xroce_env_unused(mr)	__builtin_trap()
#define cmpxchg(p, o, n) ({ \
	__typeof__(*(p)) cx_old = (o); \
	__atomic_compare_exchange_n(p, &cx_old, n, 0, __ATOMIC_SEQ_CST, \
				    __ATOMIC_SEQ_CST); \
	cx_old; })

typedef struct {
	int counter;
} atomic_t;

#define atomic_read(v)	READ_ONCE((v)->counter)
#define atomic_set(v, i) WRITE_ONCE((v)->counter, i)
#define atomic_cmpxchg(v, o, n) cmpxchg(&(v)->counter, o, n)
#define atomic_inc(v)	__atomic_fetch_add(&(v)->counter, 1, __ATOMIC_RELAXED)
#define atomic_dec(v)	__atomic_fetch_sub(&(v)->counter, 1, __ATOMIC_RELAXED)

static inline bool atomic_inc_unless_negative(atomic_t *v)
{
	int n = atomic_read(v);

	while (n >= 0 && !__atomic_compare_exchange_n(&v->counter, &n, n + 1, 0,
						      __ATOMIC_SEQ_CST,
						      __ATOMIC_RELAXED))
		;
	return n >= 0;
}

/* A mutex: there are more threads than processors. */
typedef pthread_mutex_t spinlock_t;

#define spin_lock_init(l)	pthread_mutex_init(l, NULL)
#define spin_lock(l)		pthread_mutex_lock(l)
#define spin_unlock(l)		pthread_mutex_unlock(l)
#define spin_lock_bh(l)		spin_lock(l)
#define spin_unlock_bh(l)	spin_unlock(l)
#define spin_lock_irqsave(l, f) do { (f) = 0; spin_lock(l); } while (0)
#define spin_unlock_irqrestore(l, f) do { (void)(f); spin_unlock(l); } while (0)
#define cond_resched()		do { } while (0)
#define local_bh_disable()	do { } while (0)
#define local_bh_enable()	do { } while (0)

/* All send by one queue */
#define xroce_env_cpu()		0u

#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))
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

#endif /* XROCE_ENV_H */
