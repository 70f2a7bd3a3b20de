/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The provider's objects and what its files offer each other. A mapped ring is
 * shared with the kernel, so its head is only touched by atomics; everything else of
 * an object belongs to the lock that it names.
 */
#ifndef XROCE_PROVIDER_H
#define XROCE_PROVIDER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ccan/container_of.h>
#include <infiniband/driver.h>
#include <infiniband/verbs.h>
#include <rdma/xroce-abi.h>
#include <util/compiler.h>

/**
 * struct xroce_lock - a spinlock, unless the user promised to be single-threaded
 */
struct xroce_lock {
	pthread_spinlock_t spin;
	bool unneeded;
};

/**
 * struct xroce_map - a ring as the kernel described and we mapped it
 * @ring: NULL where the kernel made none (@depth is 0 then)
 */
struct xroce_map {
	struct xroce_ring *ring;
	size_t size;
	uint32_t depth;
	uint32_t stride;
};

/**
 * struct xroce_context - a user's context
 * @bell: the file that doorbells ring by; -1: none, they ring by uverbs
 */
struct xroce_context {
	struct verbs_context vctx;
	int bell;
};

/**
 * struct xroce_td - a thread domain
 * @users: parent domains that it is in
 */
struct xroce_td {
	struct ibv_td td;
	uint32_t users;
};

/**
 * struct xroce_pd - a protection or parent domain
 * @of: parent domain: the protection domain that it stands for; else NULL
 * @td: parent domain: the thread domain, or NULL
 * @users: what was made in it and counts: parent domains; QPs, CQs and SRQs
 */
struct xroce_pd {
	struct ibv_pd pd;
	struct xroce_pd *of;
	struct xroce_td *td;
	uint32_t users;
};

/**
 * struct xroce_cq - a completion queue
 * @pd: the parent domain that it was made in, or NULL
 * @lock: guards all below; held from ibv_start_poll() to ibv_end_poll()
 * @arm_lock: keeps the ring for who asks for an event, as one may in between; inside
 *	@lock
 * @cons: the true consumer index; the ring's copy is for the kernel
 * @cqe: the element that ibv_wc_read_*() read
 * @told: of an event since the last poll, or an extended one is under way: who asks
 *	for the next one polls after it, and a poll that leaves some asks then. Atomic
 * @moved: what is before this index, if that is of one still to be polled, may have been
 *	moved, and the kernel knows of a solicited one only where it was. Atomic
 */
struct xroce_cq {
	struct verbs_cq vcq;
	struct xroce_pd *pd;
	struct xroce_lock lock;
	struct xroce_lock arm_lock;
	struct xroce_map map;
	uint32_t cons;
	struct xroce_cqe cqe;
	bool told;
	uint32_t moved;
};

/**
 * struct xroce_wq - a send or receive queue
 * @lock: guards @open, @prod, @cons and the free slots; held from ibv_wr_start() to
 *	ibv_wr_complete()
 * @open: there is a ring, and its QP is in a state in which one may post. Not by
 *	ibv_qp's @state, which any thread's query sets to what it was a moment ago
 * @prod: the true producer index
 * @cons: what is before it may be written to: what has been polled of its completions, and
 *	of an SRQ, which is @shared, the kernel's index when last looked at. Atomic, so that
 *	who polls takes no lock but the CQ's
 * @max_msg: send queue: bytes of a message at most
 */
struct xroce_wq {
	struct xroce_lock lock;
	struct xroce_map map;
	bool open;
	bool shared;
	uint32_t prod;
	uint32_t cons;
	uint32_t max_sge;
	uint32_t max_inline;
	uint64_t max_msg;
};

struct xroce_srq {
	struct verbs_srq vsrq;
	struct xroce_pd *pd;
	struct xroce_wq wq;
};

/**
 * struct xroce_ah - an address handle
 * @num: what the kernel knows it by in a work request
 * @hop_limit: instead of the one that the kernel has put into it, or 0
 */
struct xroce_ah {
	struct ibv_ah ah;
	uint32_t num;
	uint8_t hop_limit;
};

/**
 * struct xroce_qp - a queue pair
 * @pd: the domain that it was made in; NULL: an XRC target's
 * @wr_prod: where ibv_wr_*() have got to since ibv_wr_start(), under @sq.lock
 * @wr_err: why ibv_wr_complete() will post nothing
 * @wr: the request being built, NULL when there is none to write to
 */
struct xroce_qp {
	struct verbs_qp vqp;
	struct xroce_pd *pd;
	struct xroce_wq sq;
	struct xroce_wq rq;
	uint32_t wr_prod;
	int wr_err;
	struct xroce_send_wqe *wr;
};

static inline struct xroce_context *to_xctx(struct ibv_context *ctx)
{
	return container_of(ctx, struct xroce_context, vctx.context);
}

static inline struct xroce_cq *to_xcq(struct ibv_cq *cq)
{
	return container_of(cq, struct xroce_cq, vcq.cq);
}

static inline struct xroce_cq *to_xcq_ex(struct ibv_cq_ex *cq)
{
	return container_of(cq, struct xroce_cq, vcq.cq_ex);
}

static inline struct xroce_srq *to_xsrq(struct ibv_srq *srq)
{
	return container_of(srq, struct xroce_srq, vsrq.srq);
}

static inline struct xroce_pd *to_xpd(struct ibv_pd *pd)
{
	return container_of(pd, struct xroce_pd, pd);
}

static inline struct xroce_td *to_xtd(struct ibv_td *td)
{
	return container_of(td, struct xroce_td, td);
}

/* Has the user promised that one thread at a time uses what is made in it. */
static inline bool xroce_pd_single(const struct xroce_pd *pd)
{
	return pd && pd->td;
}

static inline struct xroce_ah *to_xah(struct ibv_ah *ah)
{
	return container_of(ah, struct xroce_ah, ah);
}

/*
 * Of what a user says: ib_core puts the route's in its place. 0, and the 1 that is
 * what InfiniBand's subnets want, leave it there.
 */
static inline uint8_t xroce_hop_limit(const struct ibv_ah_attr *attr)
{
	return attr->grh.hop_limit > 1 ? attr->grh.hop_limit : 0;
}

static inline struct xroce_qp *to_xqp(struct ibv_qp *qp)
{
	return container_of(qp, struct xroce_qp, vqp.qp);
}

static inline struct xroce_qp *to_xqp_ex(struct ibv_qp_ex *qp)
{
	return container_of(qp, struct xroce_qp, vqp.qp_ex);
}

static inline int xroce_lock_init(struct xroce_lock *l, bool unneeded)
{
	l->unneeded = unneeded;
	return pthread_spin_init(&l->spin, PTHREAD_PROCESS_PRIVATE);
}

static inline void xroce_lock_destroy(struct xroce_lock *l)
{
	pthread_spin_destroy(&l->spin);
}

static inline void xroce_lock(struct xroce_lock *l)
{
	if (!l->unneeded)
		pthread_spin_lock(&l->spin);
}

static inline void xroce_unlock(struct xroce_lock *l)
{
	if (!l->unneeded)
		pthread_spin_unlock(&l->spin);
}

/* Indices run modulo 2^32, a multiple of any depth: slots go on over the wrap. */
static inline void *xroce_slot(const struct xroce_map *m, uint32_t index)
{
	return m->ring->slot + (size_t)(index & (m->depth - 1)) * m->stride;
}

static inline void xroce_put_sge(struct xroce_sge *dst,
				 const struct ibv_sge *src, size_t n)
{
	for (; n; n--, dst++, src++) {
		dst->addr = src->addr;
		dst->length = src->length;
		dst->lkey = src->lkey;
	}
}

/* wq_done() - slots before @cons are free; released, to who posts */
static inline void wq_done(struct xroce_wq *wq, uint32_t cons)
{
	__atomic_store_n(&wq->cons, cons, __ATOMIC_RELEASE);
}

/*
 * wq_full() - whether there is no slot for element @prod
 *
 * A request holds its slot until its completion has been polled, and one without until a
 * later one's has, as with NICs: who sizes a CQ for its queues, and posts until there is no
 * room, overruns no CQ, where there is room before (cq_take()). The kernel has copied what
 * was in the slot by then. Acquired, from who polled. The slots of an SRQ are free once the
 * kernel has copied them: its index only grows, and is looked at where the one we remember
 * does not suffice.
 */
static inline bool wq_full(struct xroce_wq *wq, uint32_t prod)
{
	if (likely(prod - __atomic_load_n(&wq->cons, __ATOMIC_ACQUIRE) < wq->map.depth))
		return false;
	if (!wq->shared)
		return true;
	wq_done(wq, __atomic_load_n(&wq->map.ring->cons, __ATOMIC_ACQUIRE));
	return prod - wq->cons >= wq->map.depth;
}

/*
 * wq_publish() - hand all elements before @prod to the kernel
 *
 * Return: it wants a doorbell. The full barrier pairs with the kernel's between
 * setting @wake and its own last look at @prod: of the two, at least one sees
 * what the other wrote, so no element is left behind. Both may, and then there
 * is a doorbell too many, which costs a system call and finds nothing to do.
 */
static inline bool wq_publish(struct xroce_wq *wq, uint32_t prod)
{
	struct xroce_ring *ring = wq->map.ring;

	if (prod == wq->prod)
		return false;
	wq->prod = prod;
	__atomic_store_n(&ring->prod, prod, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&ring->wake, __ATOMIC_RELAXED);
}

/* pd.c */
struct ibv_pd *xroce_alloc_pd(struct ibv_context *ctx);
int xroce_dealloc_pd(struct ibv_pd *pd);
struct xroce_pd *xroce_pd_get(struct ibv_pd *pd);
void xroce_pd_put(struct xroce_pd *pd);
struct ibv_pd *xroce_import_pd(struct ibv_context *ctx, uint32_t handle);
void xroce_unimport_pd(struct ibv_pd *pd);
struct ibv_td *xroce_alloc_td(struct ibv_context *ctx,
			      struct ibv_td_init_attr *attr);
int xroce_dealloc_td(struct ibv_td *td);
struct ibv_pd *xroce_alloc_parent_domain(struct ibv_context *ctx,
					 struct ibv_parent_domain_init_attr *attr);
struct ibv_xrcd *xroce_open_xrcd(struct ibv_context *ctx,
				 struct ibv_xrcd_init_attr *attr);
int xroce_close_xrcd(struct ibv_xrcd *xrcd);

/* xroce.c */
int xroce_map(struct ibv_context *ctx, struct xroce_map *m,
	      const struct xroce_ring_info *info);
void xroce_unmap(struct xroce_map *m);
struct ibv_ah *xroce_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
int xroce_destroy_ah(struct ibv_ah *ah);

/* cq.c */
struct ibv_cq *xroce_create_cq(struct ibv_context *ctx, int cqe,
			       struct ibv_comp_channel *channel, int vector);
struct ibv_cq_ex *xroce_create_cq_ex(struct ibv_context *ctx,
				     struct ibv_cq_init_attr_ex *attr);
int xroce_resize_cq(struct ibv_cq *cq, int cqe);
int xroce_destroy_cq(struct ibv_cq *cq);
int xroce_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int xroce_req_notify_cq(struct ibv_cq *cq, int solicited_only);
void xroce_cq_event(struct ibv_cq *cq);
void xroce_cq_clean(struct xroce_cq *cq, uint32_t qpn);

/* srq.c */
struct ibv_srq *xroce_create_srq(struct ibv_pd *pd,
				 struct ibv_srq_init_attr *attr);
struct ibv_srq *xroce_create_srq_ex(struct ibv_context *ctx,
				    struct ibv_srq_init_attr_ex *attr);
int xroce_get_srq_num(struct ibv_srq *srq, uint32_t *num);
int xroce_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask);
int xroce_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr);
int xroce_destroy_srq(struct ibv_srq *srq);

/* qp.c */
struct ibv_qp *xroce_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
struct ibv_qp *xroce_create_qp_ex(struct ibv_context *ctx,
				  struct ibv_qp_init_attr_ex *attr);
struct ibv_qp *xroce_open_qp(struct ibv_context *ctx,
			     struct ibv_qp_open_attr *attr);
int xroce_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		   struct ibv_qp_init_attr *init);
int xroce_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
int xroce_modify_qp_rate_limit(struct ibv_qp *qp,
			       struct ibv_qp_rate_limit_attr *attr);
int xroce_destroy_qp(struct ibv_qp *qp);

/* post.c */
int xroce_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
		    struct ibv_send_wr **bad);
int xroce_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw,
		  struct ibv_mw_bind *bind);
void xroce_put_bind(struct xroce_send_wqe *wqe, const struct ibv_mw *mw,
		    uint32_t rkey, const struct ibv_mw_bind_info *info);
int xroce_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
		    struct ibv_recv_wr **bad);
int xroce_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad);
int xroce_ring(struct ibv_qp *qp);
bool xroce_wr_may_inline(enum ibv_wr_opcode opcode);

/* wr.c */
#define XROCE_UD_OPS (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define XROCE_UC_OPS (XROCE_UD_OPS | IBV_QP_EX_WITH_RDMA_WRITE |	\
		      IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |		\
		      IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW)
#define XROCE_RC_OPS (XROCE_UC_OPS | IBV_QP_EX_WITH_SEND_WITH_INV |	\
		      IBV_QP_EX_WITH_RDMA_READ |			\
		      IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |		\
		      IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |		\
		      IBV_QP_EX_WITH_ATOMIC_WRITE | IBV_QP_EX_WITH_FLUSH)
void xroce_wr_set_ops(struct xroce_qp *qp, uint64_t ops);

#endif /* XROCE_PROVIDER_H */
