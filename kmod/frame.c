// SPDX-License-Identifier: GPL-2.0
/*
 * Frames for the core to fill: a page or two of this CPU's own pool where the netdev takes XDP
 * frames or none is needed, else an skb. With BH off, which is what makes a pool this CPU's
 * alone: no lock. A frame is its maker's until it is given up.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/skbuff.h>
#include <net/page_pool/helpers.h>
#include <net/xdp.h>

#include "xroce.h"

/* Longer skbs have their end in a page: no allocation is above one. */
#define XROCE_LINEAR_MAX	1536
/* What the core wants of the first segment. */
#define XROCE_SEG_MIN		128
/*
 * Where the IP header stands in a page: before it and the link-layer header is the
 * room that XDP programs at the receiver expect to find, and so that the part that the
 * kernel's CRC goes over begins as that likes it at both ends.
 */
#define XROCE_PAGE_L3		ALIGN(XDP_PACKET_HEADROOM + VLAN_ETH_HLEN, 32)
#define XROCE_CRC_ALIGN		16
/*
 * What is ours is behind the data, since drivers write to what is in front of it, also
 * where they then take no frame; and before what an skb made of it has there.
 */
#define XROCE_PAGE_TAIL		(SKB_DATA_ALIGN(sizeof(struct skb_shared_info)) + \
				 SKB_DATA_ALIGN(sizeof(struct xroce_kframe)))
#define XROCE_FRAME_MAX		(4096 + 128)
/* Free pages that a pool keeps, beside those in its cache. */
#define XROCE_POOL_SIZE		256

static_assert(sizeof(struct xdp_frame) + VLAN_ETH_HLEN <= XROCE_PAGE_L3);

enum {
	XROCE_POOL_SMALL,	/* a page */
	XROCE_POOL_LARGE,	/* what the longest frame needs */
	XROCE_POOLS,
};

static DEFINE_PER_CPU(struct page_pool *, xroce_pools[XROCE_POOLS]);

static u32 pool_order(u32 i)
{
	return i == XROCE_POOL_SMALL ? 0 :
	       get_order(XROCE_PAGE_L3 + XROCE_CRC_ALIGN + XROCE_FRAME_MAX + XROCE_PAGE_TAIL);
}

/**
 * xroce_frame_page() - a frame in memory of this CPU's pools, for XDP or a copy
 * @l3_len: bytes from the IP header to the BTH; any where no CRC is made
 * @len: its length, from the IP header to the ICRC; at most XROCE_FRAME_MAX
 *
 * Return: the frame, or NULL.
 */
struct xroce_kframe *xroce_frame_page(u32 l3_len, u32 len)
{
	u32 l3 = XROCE_PAGE_L3 +
		 (-(l3_len + offsetof(struct xroce_bth, apsn)) & (XROCE_CRC_ALIGN - 1));
	u32 i = l3 + len + XROCE_PAGE_TAIL > PAGE_SIZE ? XROCE_POOL_LARGE : XROCE_POOL_SMALL;
	struct page_pool *pool = this_cpu_read(xroce_pools[i]);
	struct xroce_kframe *kf;
	struct xdp_frame *xdp;
	struct page *page;

	page = page_pool_dev_alloc_pages(pool);
	if (!page)
		return NULL;
	/* Here, since everybody finds it in front of the headroom. */
	xdp = page_address(page);
	xdp->frame_sz = PAGE_SIZE << pool_order(i);
	xdp->metasize = 0;
	xdp->flags = 0;
	xroce_xdp_frame_mem(xdp, pool);
	kf = (void *)xdp + xdp->frame_sz - XROCE_PAGE_TAIL;
	kf->skb = NULL;
	kf->xdp = xdp;
	kf->f.seg[0].p = (u8 *)xdp + l3;
	kf->f.seg[0].len = len;
	kf->f.seg[1].len = 0;
	kf->f.len = len;
	return kf;
}

/* Apart: it takes more registers than the other way. */
static noinline struct xroce_kframe *skb_frame(const struct net_device *ndev, u32 len)
{
	u32 head = len, room;
	struct page *page = NULL;
	struct xroce_kframe *kf;
	struct sk_buff *skb;

	if (len > XROCE_LINEAR_MAX) {
		head = max_t(u32, XROCE_SEG_MIN, len - min(len, PAGE_SIZE));
		page = alloc_page(GFP_ATOMIC | __GFP_NOWARN);
		if (!page)
			return NULL;
	}
	room = ALIGN(sizeof(*kf), 16) + LL_RESERVED_SPACE(ndev) + VLAN_HLEN;
	skb = alloc_skb(room + head, GFP_ATOMIC | __GFP_NOWARN);
	if (!skb) {
		if (page)
			__free_page(page);
		return NULL;
	}
	/* Where nobody looks before the frame is given up. */
	kf = (struct xroce_kframe *)skb->head;
	kf->skb = skb;
	kf->xdp = NULL;
	skb_reserve(skb, room);
	kf->f.seg[0].p = skb_put(skb, head);
	kf->f.seg[0].len = head;
	kf->f.seg[1].p = page ? page_address(page) : NULL;
	kf->f.seg[1].len = len - head;
	if (page)
		skb_add_rx_frag(skb, 0, page, 0, len - head, PAGE_SIZE);
	kf->f.len = len;
	return kf;
}

/* By the stack alone does a frame come into a queue of its class, as PFC stops. */
static bool frame_has_class(const struct xroce_av *av)
{
	return av->prio || xroce_l3_dsfield(av->l3) & ~INET_ECN_MASK;
}

/**
 * xroce_env_rings() - are a QP's frames sent by XDP, in order with this CPU's alone
 * @qp: the queue pair
 *
 * Where our program is attached natively and the driver lets others send so. It may cease to
 * at any moment: then it takes nothing, and skbs follow. What one way still holds may then
 * arrive behind what the other has: as a loss, once. Drivers have a ring for each CPU, mostly;
 * an skb says which queue it is for.
 */
bool xroce_env_rings(const struct xroce_qp *qp)
{
	const struct xroce_link *link = container_of(qp, struct xroce_kqp, qp)->link;
	const struct net_device *ndev = link->ndev;
	const struct bpf_link *xdp = READ_ONCE(link->xdp);

	return xdp && READ_ONCE(ndev->xdp_state[XDP_MODE_DRV].link) ==
	       (const void *)xdp && link->xdp_fit &&
	       READ_ONCE(ndev->xdp_features) & NETDEV_XDP_ACT_NDO_XMIT &&
	       (READ_ONCE(ndev->num_tc) <= 1 || !frame_has_class(&qp->av)) &&
	       qp->av.route == XROCE_ROUTE_WIRE;
}

/**
 * xroce_env_frame() - a frame to be filled
 * @qp: the queue pair
 * @len: its length, from the IP header to the ICRC
 *
 * Return: the frame, its bytes not initialised, or NULL.
 */
__flatten struct xroce_frame *xroce_env_frame(struct xroce_qp *qp, u32 len)
{
	struct xroce_kqp *kqp = xroce_qp_kqp(qp);
	struct xroce_kframe *kf;

	if (qp->av.route == XROCE_ROUTE_HOST ||
	    (len <= XROCE_FRAME_MAX && len <= READ_ONCE(kqp->link->ndev->mtu) &&
	     xroce_env_rings(qp) &&
	     (kqp->xdp_stuck < XROCE_XDP_STUCK || kqp->xdp_cpu != smp_processor_id())))
		kf = xroce_frame_page(qp->av.l3_len, len);
	else
		kf = skb_frame(kqp->link->ndev, len);
	return kf ? &kf->f : NULL;
}

/**
 * xroce_env_frame_free() - give up a frame that is not to be sent, or has arrived
 * @f: the frame
 *
 * BH off.
 */
void xroce_env_frame_free(struct xroce_frame *f)
{
	struct xroce_kframe *kf = to_kframe(f);

	if (kf->skb) {
		kfree_skb(kf->skb);
		return;
	}
	/* It says which pool its memory is of, here or of another CPU. */
	kf->xdp->data = f->seg[0].p;
	xdp_return_frame(kf->xdp);
}

/**
 * xroce_frame_exit() - give up the pools; frames under way keep their pages
 */
void xroce_frame_exit(void)
{
	struct page_pool **pool;
	int cpu;
	u32 i;

	/* Who gives a frame back to its own CPU's may have looked already. */
	for_each_possible_cpu(cpu)
		for (i = 0; i < XROCE_POOLS; i++)
			if (per_cpu(xroce_pools[i], cpu))
				page_pool_disable_direct_recycling(per_cpu(xroce_pools[i], cpu));
	synchronize_net();
	for_each_possible_cpu(cpu) {
		for (i = 0; i < XROCE_POOLS; i++) {
			pool = &per_cpu(xroce_pools[i], cpu);
			if (*pool) {
				xdp_unreg_page_pool(*pool);
				page_pool_destroy(*pool);
			}
			*pool = NULL;
		}
	}
}

static int pool_new(u32 i, int cpu)
{
	struct page_pool_params params = {
		.order = pool_order(i),
		.pool_size = XROCE_POOL_SIZE,
		.nid = cpu_to_mem(cpu),
	};
	struct page_pool *pool;
	int err;

	pool = page_pool_create_percpu(&params, cpu);
	if (IS_ERR(pool))
		return PTR_ERR(pool);
	/* Which makes it known by its number, and its end one call. */
	err = xdp_reg_page_pool(pool);
	if (err) {
		page_pool_destroy(pool);
		return err;
	}
	per_cpu(xroce_pools[i], cpu) = pool;
	return 0;
}

/**
 * xroce_frame_init() - make the pools
 */
int __init xroce_frame_init(void)
{
	int cpu, err;
	u32 i;

	for_each_possible_cpu(cpu) {
		for (i = 0; i < XROCE_POOLS; i++) {
			err = pool_new(i, cpu);
			if (err) {
				xroce_frame_exit();
				return err;
			}
		}
	}
	return 0;
}
