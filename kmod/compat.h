/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The differences between the kernels that the module builds for: 6.12 and newer,
 * as tested (README), but for arguments more (ib_mr.c, counter.c), who reports a port's
 * state (link.c) and whose CRC32 it is (env.c). Macros and inline functions only; the newer
 * kernel's form is the one used. XROCE_HAVE_* is what Kbuild has found in its headers.
 */
#ifndef XROCE_COMPAT_H
#define XROCE_COMPAT_H

#include <linux/btf.h>
#include <linux/hrtimer.h>
#include <linux/version.h>
#include <net/page_pool/types.h>
#include <net/sock.h>
#include <net/udp_tunnel.h>
#include <net/xdp.h>
/* What goes through a umem's blocks: in rdma/ib_umem.h before 7.x, but for late 6.12s. */
#ifdef XROCE_HAVE_ITER
#include <rdma/iter.h>
#endif

/*
 * Since 6.18 BH off makes a CPU's state one task's alone only if that is asked for; and
 * without it who spins until a copy has ended (xroce_mr_claim()) may be what keeps who
 * copies, on the same CPU, from going on.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0) && defined(CONFIG_PREEMPT_RT) && \
	!defined(CONFIG_PREEMPT_RT_NEEDS_BH_LOCK)
#error "with PREEMPT_RT xroce needs a kernel that has CONFIG_PREEMPT_RT_NEEDS_BH_LOCK=y"
#endif

#ifndef XROCE_HAVE_HRTIMER_SETUP
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*fn)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = fn;
}
#endif

/* Of struct dma_buf_attach_ops, renamed in 7.x. */
#ifdef XROCE_HAVE_INVALIDATE_MAPPINGS
#define xroce_move_notify	invalidate_mappings
#else
#define xroce_move_notify	move_notify
#endif

/* Before 6.14 crc32_le() uses no vector instructions; the shash "crc32" does. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
#define XROCE_CRC_SHASH
#endif

/* A symbol namespace is a string since 6.13. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define XROCE_IMPORT_NS(ns) MODULE_IMPORT_NS(ns)
#else
#define XROCE_IMPORT_NS(ns) MODULE_IMPORT_NS(#ns)
#endif

/* What stands for a UDP tunnel's socket: a struct sock since 7.x, by type. */
#define xroce_udp_tunnel_sk(s)						\
	__builtin_choose_expr(__same_type(udp_tunnel_sock_release,	\
					  void (struct sock *)),	\
			      (s)->sk, (s))

/* An ib_device of a network namespace; before 6.17 all began in the initial one. */
#ifdef ib_alloc_device_with_net
#define xroce_alloc_link(net)						\
	ib_alloc_device_with_net(xroce_link, ib, net)
#else
#define xroce_alloc_link(net) ({					\
	struct xroce_link *_link = ib_alloc_device(xroce_link, ib);	\
									\
	if (_link)							\
		write_pnet(&_link->ib.coredev.rdma_net, net);		\
	_link;								\
})
#endif

/* Only users resize a CQ in 7.x, and its operation says so. */
#ifdef XROCE_HAVE_RESIZE_USER_CQ
#define xroce_cqe_count	unsigned int
#else
#define resize_user_cq	resize_cq
#define xroce_cqe_count	int
#endif

/*
 * Of some, registration may name a DMA handle, of which a link has none (XROCE_HAVE_DMAH), and
 * counters are bound to for a port (XROCE_HAVE_COUNTER_PORT). Pinning has another name in 7.x.
 */
#ifndef XROCE_HAVE_UMEM_GET_VA
#define ib_umem_get_va	ib_umem_get
#endif

/* All arguments of a kfunc are to be trusted by default in 7.0. */
#ifdef KF_TRUSTED_ARGS
#define XROCE_KF_TRUSTED KF_TRUSTED_ARGS
#else
#define XROCE_KF_TRUSTED 0
#endif

/* How a pool of pages is made known by its number; early 6.12s and 6.13 say it so. */
#ifndef XROCE_HAVE_XDP_REG_PAGE_POOL
static inline int xdp_reg_page_pool(struct page_pool *pool)
{
	struct xdp_mem_info mem;

	return xdp_reg_mem_model(&mem, MEM_TYPE_PAGE_POOL, pool);
}

static inline void xdp_unreg_page_pool(const struct page_pool *pool)
{
	struct xdp_mem_info mem = { MEM_TYPE_PAGE_POOL, pool->xdp_mem_id };

	xdp_unreg_mem_model(&mem);
}
#endif

/* What an XDP frame says of its memory: before 6.14 also which pool it is of. */
static inline void xroce_xdp_frame_mem(struct xdp_frame *xdp, const struct page_pool *pool)
{
#ifdef XROCE_HAVE_XDP_MEM_TYPE
	xdp->mem_type = MEM_TYPE_PAGE_POOL;
#else
	xdp->mem.type = MEM_TYPE_PAGE_POOL;
	xdp->mem.id = pool->xdp_mem_id;
#endif
}

#ifndef XROCE_HAVE_SK_DROPS_INC
static inline void sk_drops_inc(struct sock *sk)
{
	atomic_inc(&sk->sk_drops);
}
#endif

#endif /* XROCE_COMPAT_H */
