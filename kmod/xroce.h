/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module's own objects around the core's, and who offers what to whom. Each object is freed
 * one grace period after its last user let go of it, so a look-up under RCU (which BH off is)
 * needs no reference of its own; of an SRQ, whose ring goes at once, it takes one.
 */
#ifndef XROCE_H
#define XROCE_H

#include <linux/completion.h>
#include <linux/hashtable.h>
#include <linux/hrtimer.h>
#include <linux/if_vlan.h>
#include <linux/iosys-map.h>
#include <linux/jhash.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/refcount.h>
#include <linux/xarray.h>
#include <net/dsfield.h>
#include <net/netdev_rx_queue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_netlink.h>
#include <rdma/uverbs_ioctl.h>

#include <xroce/frame.h>
#include <xroce/link.h>
#include <xroce/trace.h>
#include <xroce/xdp.h>

#include "bell/bell.h"
#include "compat.h"
#include "core/core.h"
#include "trace.h"

/* A GID index has 8 bits in an address vector. */
#define XROCE_GID_TBL_LEN	256
#define XROCE_MAX_QP		1048576
#define XROCE_MAX_QP_WR		1048576
#define XROCE_MAX_CQ		1048576
#define XROCE_MAX_CQE		4194304
#define XROCE_MAX_MR		1048576	/* regions and windows */
#define XROCE_MAX_FAST_PAGES	1024
#define XROCE_MAX_PD		1048576
#define XROCE_MAX_XRCD		65536
#define XROCE_MAX_AH		1048576
#define XROCE_MAX_SRQ		1048576
#define XROCE_MAX_GROUP		8192
#define XROCE_MAX_GROUP_QP	1024
/* A user may ask for more than there is, and nobody is killed for that. */
#define XROCE_GFP_QUEUE	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

struct bpf_link;
struct dma_buf;
struct netlink_ext_ack;
struct xroce_bound;
struct xdp_buff;
struct xdp_md;
struct xdp_rxq_info;
struct xroce_packet;
struct xroce_poller;
struct xroce_work;

/* The tables of numbers, see table.c. */
enum { XROCE_TABLE_QPS, XROCE_TABLE_MRS, XROCE_TABLE_AHS, XROCE_TABLE_SRQS, XROCE_TABLES };

/**
 * struct xroce_link - one ib_device over one netdev
 * @ib: must be first (ib_alloc_device)
 * @dev: the core's part
 * @ndev: held from creation to destruction of the link
 * @net: the network namespace whose UDP socket serves the link; the link goes
 *	before it does. NULL until the socket is there
 * @active: port state as last reported, where ib_core does not report it itself
 * @gids: addresses of this link, by hash, RCU for readers; ib_core has one writer at a time
 * @xdp: attachment made by rdmatool; the link holds the only lasting reference,
 *	so that removing it detaches and frees the program. Guarded by @xdp_lock.
 * @xdp_fit: frames may be sent by XDP, where the netdev takes them
 * @steer: what the XDP program does with packets, see nl.c
 * @steers: whether any CPU is in it
 * @pds: protection domains there are
 * @xrcds: XRC domains there are
 * @cqs: completion queues there are
 * @srqs: shared receive queues there are
 * @used: objects there are, by table (table.c)
 * @gsi: QP 1, RCU; ib_core makes one at a time
 * @gsi_second: when QP 1 was last given what ib_core waits for a neighbour for
 * @groups: multicast groups with a QP in each, see mcast.c
 * @bound: QPs that are bound to counters
 * @bound_count: what all such counters together have, those that are gone too
 * @counter_id: number of the last such counter
 */
struct xroce_link {
	struct ib_device ib;
	struct xroce_dev dev;
	struct net_device *ndev;
	netdevice_tracker ndev_tracker;
	struct net *net;
	DECLARE_HASHTABLE(gids, 6);
	struct mutex xdp_lock;		/* xdp, steer */
	struct bpf_link *xdp;
	bool xdp_fit;
	struct cpumask steer;
	bool steers;
	atomic_t pds;
	atomic_t xrcds;
	atomic_t cqs;
	atomic_t srqs;
	atomic_t used[XROCE_TABLES];
	struct xroce_kqp __rcu *gsi;
	time64_t gsi_second;
	struct mutex group_lock;	/* writers of groups, membership */
	DECLARE_HASHTABLE(groups, 8);
	u32 group_count;
	struct mutex bound_lock;	/* bound, bound_count, see counter.c */
	struct list_head bound;
	u64 bound_count[XROCE_CNT_MAX];
	u32 counter_id;
	struct hlist_node node;
	bool active;
};

struct xroce_gid {
	struct hlist_node node;
	union ib_gid gid;
	u16 vid;	/* of its VLAN on the link's netdev, or 0 */
	struct rcu_head rcu;
};

extern u32 xroce_gid_seed;

/* Addresses are a user's choice: which of them meet in a bucket is not. */
static inline u32 xroce_gid_hash(const union ib_gid *gid)
{
	return jhash2((const u32 *)gid->raw, 4, xroce_gid_seed);
}

/**
 * struct xroce_uctx - a user's context
 * @bell: by which its users ring, or NULL
 * @poller: looks at its send queues, or NULL
 */
struct xroce_uctx {
	struct ib_ucontext ib;
	struct xroce_bell *bell;
	struct xroce_poller *poller;
};

/* The context of the user who makes an object; NULL for a kernel consumer. */
static inline struct xroce_uctx *xroce_udata_uctx(struct ib_udata *udata)
{
	return rdma_udata_to_drv_context(udata, struct xroce_uctx, ib);
}

/* What a user tells us, all of it or nothing; what we would not understand is 0. */
static inline int xroce_udata_in(struct ib_udata *udata, void *cmd, size_t len)
{
	if (!udata || !udata->inlen)
		return 0;
	if (udata->inlen < len)
		return -EINVAL;
	if (udata->inlen > len && !ib_is_udata_cleared(udata, len, udata->inlen - len))
		return -EOPNOTSUPP;
	return len ? ib_copy_from_udata(cmd, udata, len) : 0;
}

/* Does a user tell us something of what there is nothing to tell: a later provider's wish. */
static inline bool xroce_udata_unknown(struct ib_udata *udata)
{
	return xroce_udata_in(udata, NULL, 0);
}

/* How an object is found by its number, see table.c. */
struct xroce_entry {
	struct hlist_node node;
	u32 number;
};

/**
 * struct xroce_umem_ring - a ring and its mapping
 * @entry: how mmap() finds it
 */
struct xroce_umem_ring {
	struct rdma_user_mmap_entry entry;
	struct xroce_ring *ring;
};

/**
 * struct xroce_kcq - a completion queue; ib_core frees the ib_cq at once on
 *	destroy, so the living part stands apart and goes by RCU
 * @users: 1 for the owner and 1 while queued for its handler
 * @cpu: where its handler is called, -1 for where the completion arises
 * @poll_lock: kernel consumers: one poll at a time
 * @resize: one change of @ring at a time, which ib_core does not see to, and of @reserved
 * @reserved: kernel consumers: slots of the queues that complete here
 * @events: handler calls owed: whoever raises it from 0 queues the CQ, and one
 *	handler is called at a time until it is 0 again
 * @raised: all that have ever been owed, as @handled wraps
 * @handled: kernel consumers: how many have been made; who waits for them looks
 * @error: the CQ is in error: one of the calls owed is to the event handler
 */
struct xroce_kcq {
	struct xroce_cq cq;
	struct ib_cq *ib;
	struct xroce_umem_ring *ring;
	int cpu;
	spinlock_t poll_lock;		/* cons of the ring */
	struct mutex resize;		/* ring, reserved */
	u64 reserved;
	refcount_t users;
	atomic_t events;
	atomic_t raised;
	atomic_t handled;
	bool error;
	struct llist_node work;
	struct completion gone;
	struct rcu_head rcu;
};

struct xroce_ibcq {
	struct ib_cq ib;
	struct xroce_kcq *kcq;
};

/**
 * struct xroce_kqp - a queue pair's living part
 * @users: 1 for the owner, 1 while queued for a run, 1 while any frame is looped
 *	back, 1 while the poller has it and 1 for each query and doorbell under way. Not
 *	for the timer: kqp_destroy() waits for it
 * @queued: in a CPU's work list
 * @events: bits by &enum xroce_event: events to be raised by the next run
 * @mutex: one modify at a time
 * @attr: attributes as last set, for query
 * @post_lock: kernel consumers: one post at a time, to either queue
 * @poller: looks at its send queue, or NULL; fixed once it is there
 * @poll_node: in that one's list
 * @loop_work: the CPU's work whose queue its frames were put in last
 * @looping: how many of them are not yet received; raised under its lock
 * @xdp: what a burst is handed to the netdev in; its sender's
 * @xdp_stuck: bursts in a row of which the netdev took no XDP frame, then those of
 *	skbs instead; its sender's
 * @xdp_cpu: the CPU of which it took none
 * @xdp_again: from when on those of skbs count, jiffies
 * @steer_cpu: CPU for the XDP program to send packets to, -1 for none
 * @steered: the CPU that they go to at present, while those before are on their way
 * @steered_at: when the last one went where it was to go, jiffies
 * @away: how many have gone and have not come there
 * @bound: to which counter, or NULL; see counter.c
 */
struct xroce_kqp {
	struct xroce_qp qp;
	struct xroce_entry entry;
	struct ib_qp *ib;
	struct xroce_link *link;
	struct xroce_rq own_rq;
	struct xroce_rwqe rwqe;
	struct xroce_umem_ring *sq_ring;
	struct xroce_umem_ring *rq_ring;
	struct mutex mutex;		/* attr */
	struct ib_qp_attr attr;
	refcount_t users;
	atomic_t queued;
	unsigned long events;
	struct llist_node work;
	struct hrtimer timer;
	struct completion gone;
	spinlock_t post_lock;		/* prod of the rings */
	struct xroce_poller *poller;
	struct list_head poll_node;
	struct xroce_work *loop_work;
	atomic_t looping;
	struct xdp_frame *xdp[XROCE_BATCH];
	u8 xdp_stuck;
	int xdp_cpu;
	unsigned long xdp_again;
	int steer_cpu;
	int steered;
	unsigned long steered_at;
	atomic_t away;
	struct xroce_bound *bound;
	struct rcu_head rcu;
};

struct xroce_ibqp {
	struct ib_qp ib;
	struct xroce_kqp *kqp;
};

/**
 * struct xroce_ksrq - a shared receive queue's living part; goes by RCU
 * @entry: XRC: how it is found by its number, by QPs that do not hold it
 * @users: 1 for the owner, 1 while queued for its limit event and 1 for each packet
 *	of XRC that is for it
 * @queued: in a CPU's work list
 */
struct xroce_ksrq {
	struct xroce_rq rq;
	struct xroce_entry entry;
	struct ib_srq *ib;
	struct xroce_umem_ring *ring;
	refcount_t users;
	atomic_t queued;
	struct llist_node work;
	struct completion gone;
	struct mutex modify;		/* ring */
	spinlock_t post_lock;		/* prod of the rings */
	struct rcu_head rcu;
};

struct xroce_ibsrq {
	struct ib_srq ib;
	struct xroce_ksrq *ksrq;
};

/**
 * struct xroce_kah - an address handle's living part; goes by RCU
 * @entry: its number is how a user's work requests name it, 0 for a kernel consumer's
 * @link, @pdn: whose it is, and its protection domain's number
 */
struct xroce_kah {
	struct xroce_ah ah;
	struct rdma_ah_attr attr;
	struct xroce_entry entry;
	struct xroce_link *link;
	u32 pdn;
	struct rcu_head rcu;
};

struct xroce_ibah {
	struct ib_ah ib;
	struct xroce_kah *kah;
};

/**
 * struct xroce_kmr - a memory region or window
 * @mr: the core's part
 * @link, @pdn: whose it is, and a window's protection domain's number
 * @umem: the user's memory that is pinned for it, or NULL
 * @attach, @map: to another device's memory, and where it is mapped; or NULL
 * @list: fast registration: its two lists of pages
 * @listed, @pages, @max_pages: the one that was filled last, with how many, and room
 * @offset: bytes of its first page that are not the region's
 */
struct xroce_kmr {
	struct ib_mr ib;
	struct xroce_mr mr;
	struct xroce_entry entry;
	struct xroce_link *link;
	u32 pdn;
	struct ib_umem *umem;
	struct dma_buf_attachment *attach;
	struct iosys_map map;
	void **list;
	void **listed;
	u32 pages;
	u32 max_pages;
	u32 offset;
	struct rcu_head rcu;
};

/* ib_core frees it at once, when a peer may still be looking at the window. */
struct xroce_ibmw {
	struct ib_mw ib;
	struct xroce_kmr *kmr;
};

#define to_xlink(p)	container_of(p, struct xroce_link, ib)
#define xroce_dev_link(p)	container_of(p, struct xroce_link, dev)
#define to_kqp(p)	(container_of(p, struct xroce_ibqp, ib)->kqp)
#define xroce_qp_kqp(p)	container_of(p, struct xroce_kqp, qp)
#define to_ksrq(p)	(container_of(p, struct xroce_ibsrq, ib)->ksrq)
#define to_kah(p)	(container_of(p, struct xroce_ibah, ib)->kah)
#define to_kmr(p)	container_of(p, struct xroce_kmr, ib)
#define to_kcq(p)	(container_of(p, struct xroce_ibcq, ib)->kcq)
#define xroce_cq_kcq(p)	container_of(p, struct xroce_kcq, cq)

/*
 * link.c: links and the network namespaces they live in. xroce_link_get() finds
 * a link that is registered and keeps it so until ib_device_put(); the _rcu()
 * look-ups find it from shortly before to shortly after.
 */
int xroce_link_new(struct net *net, const char *name, struct net_device *ndev,
		   struct netlink_ext_ack *extack);
struct xroce_link *xroce_link_by_ndev_rcu(const struct net_device *ndev);
const struct net_device *xroce_link_vlan_rcu(const struct xroce_link *link, u16 vid);
struct xroce_link *xroce_link_get(struct net_device *ndev);
struct xroce_link *xroce_link_get_by_name(struct net *net, const char *name);
const struct xroce_gid *xroce_link_gid(struct xroce_link *link, const union ib_gid *gid);

static inline bool xroce_link_has_gid(struct xroce_link *link, const union ib_gid *gid)
{
	return xroce_link_gid(link, gid);
}

struct xroce_link *xroce_link_by_gid_rcu(struct net *net, const struct net_device *ndev,
					 const union ib_gid *gid);
int xroce_link_enable(struct ib_device *ib);
void xroce_link_free(struct xroce_link *link);
int xroce_link_init(void);
void xroce_link_exit(void);

/* ib_dev.c: device, port, GID, PD and user context verbs. */
void xroce_ib_init(struct xroce_link *link);
int xroce_ib_register(struct xroce_link *link, const char *name);
u32 xroce_link_mtu(const struct xroce_link *link);

/**
 * xroce_link_has_up() - is a netdev up, and in the link's namespace
 * @link: the link
 * @dev: its netdev, or a VLAN on that
 *
 * In another namespace it may be until ib_core has ended the link, and a VLAN for ever.
 */
static inline bool xroce_link_has_up(const struct xroce_link *link, const struct net_device *dev)
{
	return netif_running(dev) && net_eq(dev_net(dev), link->net);
}

/**
 * xroce_link_active() - can the netdev send for the link
 * @link: the link
 */
static inline bool xroce_link_active(const struct xroce_link *link)
{
	return xroce_link_has_up(link, link->ndev) && netif_carrier_ok(link->ndev);
}

/* counter.c: counters by name, and their values. */
extern const struct rdma_stat_desc xroce_descs[XROCE_CNT_MAX];
void xroce_counter_leave(struct ib_qp *ib);

/* ib_qp.c and so on: the verbs of each. */
extern const struct ib_device_ops xroce_ah_ops;
extern const struct ib_device_ops xroce_counter_ops;
extern const struct ib_device_ops xroce_srq_ops;
extern const struct ib_device_ops xroce_mcast_ops;
extern const struct ib_device_ops xroce_pma_ops;
extern const struct ib_device_ops xroce_post_ops;
extern const struct ib_device_ops xroce_qp_ops;
extern const struct ib_device_ops xroce_cq_ops;
extern const struct ib_device_ops xroce_mr_ops;

/* ib_cq.c: a kernel consumer's CQ grows with its QPs. Process context. */
int xroce_kcq_reserve(struct ib_cq *ib, u32 n);
void xroce_kcq_unreserve(struct ib_cq *ib, u32 n);

/* post.c */
int xroce_ring_qp(const void *ctx, u32 qpn);

/* ib_ah.c: an address vector from what ib_core has resolved. */
int xroce_path(struct xroce_link *link, struct xroce_av *av,
	       const struct rdma_ah_attr *attr, u16 sport, u8 ecn);

/* mcast.c */
bool xroce_mcast_here(struct xroce_link *link, const u8 *l3);

/* ring.c: rings, and mmap of them. */
struct xroce_umem_ring *xroce_ring_alloc(struct xroce_uctx *uctx, u32 depth,
					 u32 stride, struct xroce_ring_info *info);
struct xroce_umem_ring *xroce_rq_alloc(struct xroce_rq *rq,
				       struct xroce_uctx *uctx, u32 *max_wr,
				       u32 max_sge, struct xroce_ring_info *info);
void xroce_ring_free(struct xroce_umem_ring *ring);
int xroce_ib_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma);
void xroce_ib_mmap_free(struct rdma_user_mmap_entry *entry);

/*
 * table.c: QPs, AHs and SRQs by number, MRs by key, one table each for all links;
 * numbers are random and not given out again soon.
 */
extern struct xroce_table xroce_qps, xroce_mrs, xroce_ahs, xroce_srqs;
int xroce_table_reserve(struct xroce_table *t, struct xroce_entry *e, struct xroce_link *link);
void xroce_table_publish(struct xroce_table *t, struct xroce_entry *e, void *object);
void xroce_table_del(struct xroce_table *t, struct xroce_entry *e, struct xroce_link *link);
struct xroce_qp *xroce_table_qp(u32 qpn);
void *xroce_table_next(struct xroce_table *t, u32 *number);
int xroce_table_init(void);
void xroce_table_exit(void);

/*
 * work.c: each CPU's NAPI, on which deferred QPs run and handlers are called.
 * Whoever frees a QP, CQ or SRQ first drops its own reference and waits for @gone.
 */
u32 xroce_work_loop(struct xroce_kqp *kqp, struct xroce_frame **f, u32 n);
void xroce_kqp_put(struct xroce_kqp *kqp);
void xroce_kcq_put(struct xroce_kcq *kcq);
void xroce_kcq_settle(struct xroce_kcq *kcq);
int xroce_work_init(void);
void xroce_work_exit(void);

/* poller.c: threads that look at send queues, so that no doorbell need be rung. */
struct xroce_poller *xroce_poller_new(u32 us);
void xroce_poller_free(struct xroce_poller *p);
void xroce_poller_exit(void);
int xroce_poller_init(void);
void xroce_poller_add(struct xroce_poller *p, struct xroce_kqp *kqp);
void xroce_poller_del(struct xroce_kqp *kqp);
void xroce_poller_ring(struct xroce_poller *p);

/**
 * struct xroce_kframe - a frame and what it is in; that has room for both
 * @f: the core's part
 * @skb: an skb, or
 * @xdp: an XDP frame, of a page of its own
 * @node: looped back: in a CPU's queue
 * @kqp: looped back: its sender
 */
struct xroce_kframe {
	struct xroce_frame f;
	struct sk_buff *skb;
	struct xdp_frame *xdp;
	struct list_head node;
	struct xroce_kqp *kqp;
};

#define to_kframe(p)	container_of(p, struct xroce_kframe, f)

/* frame.c: frames to be sent; xmit.c: sending them. */
/* Runs in a row that the netdev had no room for an XDP frame of, before skbs try it. */
#define XROCE_XDP_STUCK		8
bool xroce_xmit_fits(const struct net_device *ndev);
struct xroce_kframe *xroce_frame_page(u32 l3_len, u32 len);
int xroce_frame_init(void);
void xroce_frame_exit(void);

/* env.c: the rest of what the core needs: time, timers, CRC. */
void xroce_timer_init(struct xroce_kqp *kqp);
int xroce_env_init(void);
void xroce_env_exit(void);

/* udp.c: the UDP socket of a namespace. */
int xroce_udp_get(struct net *net, struct netlink_ext_ack *extack);
void xroce_udp_put(struct net *net);
int xroce_udp_init(void);
void xroce_udp_exit(void);

/**
 * struct xroce_krx - a received packet as the core sees it, and what it lies in
 * @rx: the core's part
 * @bth: the BTH and what follows it, as far as that is contiguous
 * @linear: how far
 * @off: where the BTH stands in the skb
 * @skb: what the packet is in, or
 * @xdp: that
 */
struct xroce_krx {
	struct xroce_rx rx;
	const u8 *bth;
	u32 linear;
	u32 off;
	struct sk_buff *skb;
	struct xdp_buff *xdp;
};

/* packet.c: packets in skbs or XDP frames. */
int xroce_packet_init(void);
void xroce_packet_exit(void);
void xroce_rx_skb(struct xroce_link *link, struct sk_buff *skb);
void xroce_rx_looped(struct xroce_link *link, struct xroce_frame *f);
bool xroce_xdp_no_tag(const struct xdp_buff *xdp);
struct xroce_qp *xroce_rx_xdp(struct xdp_buff *xdp, struct xroce_krx *krx);

/* Whom a packet is for. */
static inline void xroce_l3_dgid(const u8 *l3, union ib_gid *gid)
{
	xroce_l3_gid(l3, *l3 >> 4, 1, gid->raw);
}

static inline u8 xroce_l3_dsfield(const u8 *l3)
{
	return *l3 >> 4 == 4 ? ipv4_get_dsfield((const void *)l3) :
			       ipv6_get_dsfield((const void *)l3);
}

/*
 * trace.c: each packet once, for whoever looks. In the order of a sender: a copy
 * before the frame is given up, its verdict when that is known.
 */
struct xroce_packet *xroce_packet_tx(struct xroce_kqp *kqp, struct xroce_frame *f);
void xroce_packet_sent(struct xroce_packet *p, u8 verdict);
void xroce_packet_rx(struct xroce_link *link, struct sk_buff *skb, u8 verdict);
void xroce_packet_rx_xdp(struct xroce_link *link, struct xdp_buff *xdp, u8 verdict);

/* The same, where nobody may be looking. */
static inline struct xroce_packet *xroce_trace_tx(struct xroce_kqp *kqp, struct xroce_frame *f)
{
	return trace_xroce_transmit_enabled() ? xroce_packet_tx(kqp, f) : NULL;
}

static inline void xroce_trace_rx(struct xroce_link *link, struct sk_buff *skb, u8 verdict)
{
	if (trace_xroce_verdict_enabled())
		xroce_packet_rx(link, skb, verdict);
}

static inline void xroce_trace_rx_xdp(struct xroce_link *link, struct xdp_buff *xdp, u8 verdict)
{
	if (trace_xroce_verdict_enabled())
		xroce_packet_rx_xdp(link, xdp, verdict);
}

/* kfunc.c: what BPF may call. */
int bpf_xroce_addr(struct xdp_md *ctx, const void *addr, u32 addr__sz);
int bpf_xroce_drop(struct xdp_md *ctx, const void *addr, u32 addr__sz, u32 why);
int bpf_xroce_cpu(struct xdp_md *ctx, u32 qpn);
int xroce_steer_link(const struct xroce_kqp *kqp);
int xroce_kfunc_init(void);

/**
 * xroce_steer_cpu() - the CPU that a QP's packets are to go to
 * @kqp: the queue pair
 *
 * Return: the one that was set for it, or one of those set for its link, by the
 * QP's number; XROCE_XDP_CPU_STAY for neither.
 */
static inline int xroce_steer_cpu(const struct xroce_kqp *kqp)
{
	int cpu = READ_ONCE(kqp->steer_cpu);

	if (cpu >= 0)
		return cpu;
	return READ_ONCE(kqp->link->steers) ? xroce_steer_link(kqp) : XROCE_XDP_CPU_STAY;
}

/*
 * Generic XDP may copy a frame first, and the copy does not know the length of
 * its Ethernet header (skb->mac_len): from another CPU's cpumap it would go to
 * ip_rcv() with that header still on, and be lost (6.12, 7.2).
 */
static inline bool xroce_xdp_is_generic(const struct xdp_rxq_info *rxq)
{
	return rxq == &rxq->dev->_rx[rxq->queue_index].xdp_rxq;
}

/* A program was called where no lock of ours can be taken (kfunc_filter()). */
static inline bool xroce_is_atomic(void)
{
	return IS_ENABLED(CONFIG_PREEMPT_RT) && !preemptible();
}

/* pass.c: a packet and its QP in the hands of an XDP program. */
struct xroce_pass;
struct xroce_pass *bpf_xroce_begin(struct xdp_md *ctx, int *why);
u8 *bpf_xroce_hot(struct xroce_pass *p, const u32 rdwr_buf_size);
int bpf_xroce_place(struct xroce_pass *p);
int bpf_xroce_complete(struct xroce_pass *p);
void bpf_xroce_end(struct xroce_pass *p, u32 how);

/* nl.c: the generic netlink family. */
int xroce_nl_init(void);
void xroce_nl_exit(void);
void xroce_link_xdp_detach(struct xroce_link *link);

/**
 * struct xroce_nl_kind - how objects of a kind are dumped, under RCU
 * @cmd: what each is an answer to
 * @link: where in it stands whose it is
 * @table: where they are
 * @put: its attributes, with keys or without; 1: it is of another kind
 */
struct xroce_nl_kind {
	u8 cmd;
	size_t link;
	struct xroce_table *table;
	int (*put)(struct sk_buff *skb, void *object, bool keys);
};

/* A ring's @prod is the user's: it is believed no further than the depth. */
static inline u32 xroce_ring_fill(const struct xroce_ring *ring, u32 cons, u32 depth)
{
	return ring ? min(READ_ONCE(ring->prod) - cons, depth) : 0;
}

int xroce_nl_path(struct sk_buff *skb, const struct xroce_av *av, int attr);
int xroce_nl_dump(struct sk_buff *skb, struct netlink_callback *cb,
		  const struct xroce_nl_kind *kind);
/* nl_res.c: what nldev tells of each object beyond its own. */
extern const struct ib_device_ops xroce_res_ops;

#endif /* XROCE_H */
