/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the core finds under "xroce_env.h" when it is built into the module: the
 * kernel's own types, locks and helpers. Owns no state.
 */
#ifndef XROCE_ENV_H
#define XROCE_ENV_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/bottom_half.h>
#include <linux/build_bug.h>
#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/processor.h>
#include <linux/spinlock.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/unaligned.h>
#include <asm/barrier.h>

#include "trace.h"

/* In place: it is done several times a packet. Any context. */
#define xroce_env_count(dev, c, n)	this_cpu_add((dev)->count[c], n)

/* With BH off it stays. */
#define xroce_env_cpu()		raw_smp_processor_id()

/*
 * Who is waited for by others that spin stays on its CPU, where BH off does not see to
 * that. Nests; no lock is taken in between.
 */
#ifdef CONFIG_PREEMPT_RT
#define xroce_env_pin()		preempt_disable()
#define xroce_env_unpin()	preempt_enable()
#else
#define xroce_env_pin()		do { } while (0)
#define xroce_env_unpin()	do { } while (0)
#endif

/* A region in use is told of where this CPU alone writes, not in the region's own line. */
struct xroce_mr;
DECLARE_PER_CPU(const struct xroce_mr *, xroce_used);
void xroce_env_unused(const struct xroce_mr *mr);
/* Pairs with xroce_mr_claim(): it sees us, or we see it. */
#define xroce_env_use(mr)	smp_store_mb(*this_cpu_ptr(&xroce_used), mr)
/* Pairs with the last barrier of xroce_mr_claim(). */
#define xroce_env_use_end()	smp_store_release(this_cpu_ptr(&xroce_used), NULL)

/* Ring indices, atomics on user memory and times are single 64-bit accesses. */
#ifndef CONFIG_64BIT
#error "xroce needs a 64-bit kernel"
#endif

#endif /* XROCE_ENV_H */
