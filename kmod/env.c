// SPDX-License-Identifier: GPL-2.0
/*
 * What the core needs beside packets: time, timers, events, CRC. Called by the core in its
 * contexts, BH off; a QP's timer is set under the QP's lock and fires in softirq.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/crc32.h>
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/module.h>

#include "xroce.h"

#ifdef XROCE_CRC_SHASH
#include <crypto/hash.h>

/* Shorter than this the call costs more than it saves. */
#define XROCE_CRC_SHASH_MIN	128

static struct crypto_shash *xroce_crc_tfm;

/* The shash's state is the CRC itself, which xroce_env_init() has checked. */
static noinline u32 crc_shash(u32 crc, const void *p, u32 len)
{
	/* Not SHASH_DESC_ON_STACK(): hundreds of bytes, cleared at each call. */
	u8 mem[sizeof(struct shash_desc) + sizeof(u32)]
		__aligned(__alignof__(struct shash_desc));
	struct shash_desc *desc = (void *)mem;
	u32 *state = shash_desc_ctx(desc);

	desc->tfm = xroce_crc_tfm;
	*state = crc;
	if (crypto_shash_update(desc, p, len))
		return crc32_le(crc, p, len);
	return *state;
}

static bool crc_shash_ok(void)
{
	bool ok = crypto_shash_descsize(xroce_crc_tfm) == sizeof(u32);
	u32 len;

	/* Any bytes will do, of which there are as many. */
	static_assert(sizeof(xroce_descs) >= 1024);
	for (len = 1024; ok && len > 960; len--)
		ok = crc_shash(len, xroce_descs, len) ==
		     crc32_le(len, (const u8 *)xroce_descs, len);
	return ok;
}

int xroce_env_init(void)
{
	struct crypto_shash *tfm;

	tfm = crypto_alloc_shash("crc32", 0, 0);
	if (IS_ERR(tfm))
		return 0;
	xroce_crc_tfm = tfm;
	if (crc_shash_ok())
		return 0;
	pr_warn("the crypto API's %s does not compute crc32_le(): not used\n",
		crypto_shash_driver_name(tfm));
	xroce_crc_tfm = NULL;
	crypto_free_shash(tfm);
	return 0;
}

void xroce_env_exit(void)
{
	if (xroce_crc_tfm)
		crypto_free_shash(xroce_crc_tfm);
}

MODULE_SOFTDEP("pre: crc32_pclmul");

#else
int xroce_env_init(void) { return 0; }
void xroce_env_exit(void) {}
#endif

/**
 * xroce_env_crc() - go on with a CRC, reflected, neither end inverted
 * @crc: the CRC so far
 * @p: the bytes
 * @len: how many bytes
 */
u32 xroce_env_crc(u32 crc, const void *p, u32 len)
{
#ifdef XROCE_CRC_SHASH
	if (len >= XROCE_CRC_SHASH_MIN && xroce_crc_tfm)
		return crc_shash(crc, p, len);
#endif
	return crc32_le(crc, p, len);
}

/**
 * xroce_env_now() - nanoseconds of CLOCK_MONOTONIC
 */
u64 xroce_env_now(void)
{
	return ktime_get_ns();
}

static enum hrtimer_restart timer_fire(struct hrtimer *timer)
{
	struct xroce_kqp *kqp = container_of(timer, struct xroce_kqp, timer);

	xroce_qp_timer(&kqp->qp);
	return HRTIMER_NORESTART;
}

/**
 * xroce_env_timer() - call xroce_qp_timer() at a time, or before
 * @qp: the queue pair
 * @when: the time, as xroce_env_now() has it
 *
 * Under the QP's lock, which makes a timer found queued either still to expire
 * or about to wait for this lock: in both cases what is due later is not lost.
 * An eighth of the time later, 1 ms at most, does no harm: so one interrupt serves
 * many QPs. One found queued for an earlier time keeps the slack that it has.
 */
void xroce_env_timer(struct xroce_qp *qp, u64 when)
{
	struct hrtimer *timer = &xroce_qp_kqp(qp)->timer;
	u64 now;

	lockdep_assert_held(&qp->lock);
	if (qp->dead)
		return;
	if (hrtimer_is_queued(timer) && ktime_to_ns(hrtimer_get_softexpires(timer)) <= (s64)when)
		return;
	now = xroce_env_now();
	hrtimer_start_range_ns(timer, ns_to_ktime(when),
			       when > now ? min_t(u64, (when - now) / 8, NSEC_PER_MSEC) : 0,
			       HRTIMER_MODE_ABS_SOFT);
}

/**
 * xroce_timer_init() - make a QP's timer ready, before the QP can be found
 * @kqp: the queue pair
 */
void xroce_timer_init(struct xroce_kqp *kqp)
{
	hrtimer_setup(&kqp->timer, timer_fire, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
}

/**
 * xroce_env_qp_event() - raise an asynchronous event soon
 * @qp: the queue pair
 * @event: which one
 *
 * Under the QP's lock, so the consumer is told from the work list.
 */
void xroce_env_qp_event(struct xroce_qp *qp, enum xroce_event event)
{
	set_bit(event, &xroce_qp_kqp(qp)->events);
	xroce_env_defer(qp, -1);
}

/**
 * xroce_env_cq_error() - tell the CQ's consumer that it overflowed; any context
 * @cq: the completion queue
 *
 * Once in the life of a CQ.
 */
void xroce_env_cq_error(struct xroce_cq *cq)
{
	WRITE_ONCE(xroce_cq_kcq(cq)->error, true);
	xroce_env_cq_event(cq);
}
