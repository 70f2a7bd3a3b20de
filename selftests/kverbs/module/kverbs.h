/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the tests of kernel verbs share: the two ends of a connection, and short ways
 * to use them. All of it runs in the context of insmod.
 */
#ifndef XROCE_KVERBS_H
#define XROCE_KVERBS_H

#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/scatterlist.h>
#include <linux/vmalloc.h>

#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#define KV_DEPTH	128	/* work requests of a queue */
#define KV_VLAN		7	/* by which the ends reach each other, too */
#define KV_SECONDS	60	/* a completion takes at most: the kernel may check all */

/**
 * struct kv_end - one end of the connection, and its memory: pages that lie anywhere
 * @dev: its device
 * @gid: by which the other reaches it
 * @pd: of all that follows
 * @cq: of both queues of @qp
 * @qp: connected to the other end's
 * @page: kv_pages of them
 * @sg: the same, mapped
 * @mr: of as many
 * @registered: the key of @mr is good
 */
struct kv_end {
	struct ib_device *dev;
	const struct ib_gid_attr *gid;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
	struct page **page;
	struct scatterlist *sg;
	struct ib_mr *mr;
	bool registered;
};

extern struct kv_end kv_a, kv_b;
extern struct completion kv_event;	/* of the CQs that the ends have */
extern u32 kv_pages;	/* of the largest region that may be registered */
extern u32 kv_sges;	/* of a request to send */

/* A test says why it failed, and returns that. */
__printf(1, 2) int kv_fail(const char *fmt, ...);

/* Contents: that of SEED, at each place another. */
u8 kv_byte(u32 seed, u32 at);
void kv_fill(struct kv_end *end, u32 from, u32 to, u32 seed);
int kv_same(struct kv_end *end, u32 from, u32 to, u32 seed);

struct ib_sge kv_sge(struct kv_end *end, u32 at, u32 len);
int kv_send(struct kv_end *end, const struct ib_send_wr *wr);
int kv_recv(struct kv_end *end, u64 id, u32 at, u32 len);
int kv_done(struct kv_end *end, u64 id, enum ib_wc_status status, struct ib_wc *wc);

const struct ib_gid_attr *kv_gid(struct ib_device *dev, bool vlan);
struct rdma_ah_attr kv_path(struct kv_end *end, struct kv_end *peer);
int kv_modify(struct kv_end *end, struct kv_end *peer);
int kv_connect(void);

/* The tests: 0, or what kv_fail() returned. */
int kv_test_largest(void);
int kv_test_refused(void);
int kv_test_offset(void);
int kv_test_zero_based(void);
int kv_test_keys(void);
int kv_test_rights(void);
int kv_test_send_inv(void);
int kv_test_list(void);
int kv_test_map_early(void);
int kv_test_reg_ended(void);
int kv_test_bad_wr(void);
int kv_test_irqs_off(void);
int kv_test_atomics(void);
int kv_test_global_rkey(void);
int kv_test_softirq(void);
int kv_test_workqueue(void);
int kv_test_unbound(void);
int kv_test_drain(void);
int kv_test_small_cq(void);
int kv_test_last_event(void);
int kv_test_missed(void);
int kv_test_srq(void);
int kv_test_datagram(void);
int kv_test_datagram_irqs_off(void);
int kv_test_datagram_vlan(void);
int kv_test_inside(void);
int kv_test_beside(void);
int kv_test_handler(void);
int kv_test_events(void);

#endif /* XROCE_KVERBS_H */
