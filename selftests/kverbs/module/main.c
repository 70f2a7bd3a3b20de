// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The verbs as the kernel's own consumers have them, at their limits: two RC QPs, of
 * two devices or of one, are driven while the module is loaded, in the context of
 * insmod; what came of it is in debugfs, a line "ok" or "not ok" each. No locks: one
 * thread, and completions, which wake it.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_buf.h>

#include "kverbs.h"

#define KV_SAY		16384

static char *dev1 = "xr1", *dev2 = "xr2";
module_param(dev1, charp, 0444);
MODULE_PARM_DESC(dev1, "the device that asks");
module_param(dev2, charp, 0444);
MODULE_PARM_DESC(dev2, "the device that answers, or the same");

struct kv_end kv_a, kv_b;
struct completion kv_event;
u32 kv_pages, kv_sges;
static char kv_why[256];
static struct seq_buf kv_said;
static struct debugfs_blob_wrapper kv_blob;
static struct dentry *kv_dir;

/* The reason is kept, for the line of this test. */
int kv_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vscnprintf(kv_why, sizeof(kv_why), fmt, ap);
	va_end(ap);
	return -EPROTO;
}

u8 kv_byte(u32 seed, u32 at)
{
	return (at * 0x9e3779b1u + seed * 0x85ebca6bu) >> 24;
}

/* Bytes of an end's memory from FROM to TO are those of SEED. */
void kv_fill(struct kv_end *end, u32 from, u32 to, u32 seed)
{
	u32 i;

	for (i = from; i < to; i++)
		((u8 *)page_address(end->page[i / PAGE_SIZE]))[i % PAGE_SIZE] =
			kv_byte(seed, i);
}

int kv_same(struct kv_end *end, u32 from, u32 to, u32 seed)
{
	u8 is;
	u32 i;

	for (i = from; i < to; i++) {
		is = ((u8 *)page_address(end->page[i / PAGE_SIZE]))[i % PAGE_SIZE];
		if (is != kv_byte(seed, i))
			return kv_fail("byte %u is %#x, not %#x", i, is,
				       kv_byte(seed, i));
	}
	return 0;
}

struct ib_sge kv_sge(struct kv_end *end, u32 at, u32 len)
{
	struct ib_sge sge = {
		.addr = sg_dma_address(&end->sg[at / PAGE_SIZE]) + at % PAGE_SIZE,
		.length = len,
		.lkey = end->pd->local_dma_lkey,
	};

	return sge;
}

/* The next completion, whatever it says. */
static int kv_next(struct kv_end *end, struct ib_wc *wc)
{
	unsigned long last = jiffies + KV_SECONDS * HZ;
	int n;

	for (;;) {
		n = ib_poll_cq(end->cq, 1, wc);
		if (n == 1)
			return 0;
		if (n < 0)
			return kv_fail("ib_poll_cq: %d", n);
		if (time_after(jiffies, last))
			return kv_fail("no completion at %s", end == &kv_a ? "a" : "b");
		usleep_range(50, 200);
	}
}

/* The next completion is that of ID and says STATUS. */
int kv_done(struct kv_end *end, u64 id, enum ib_wc_status status, struct ib_wc *wc)
{
	struct ib_wc own;
	int err;

	wc = wc ?: &own;
	err = kv_next(end, wc);
	if (err)
		return err;
	if (wc->wr_id != id || wc->status != status)
		return kv_fail("completion of %llu: %s; expected that of %llu: %s",
			       wc->wr_id, ib_wc_status_msg(wc->status), id,
			       ib_wc_status_msg(status));
	return 0;
}

int kv_send(struct kv_end *end, const struct ib_send_wr *wr)
{
	const struct ib_send_wr *bad;
	int err = ib_post_send(end->qp, wr, &bad);

	return err ? kv_fail("ib_post_send: %d, at %llu", err, bad->wr_id) : 0;
}

/* A receive request for LEN bytes at AT. */
int kv_recv(struct kv_end *end, u64 id, u32 at, u32 len)
{
	struct ib_sge sge = kv_sge(end, at, len);
	struct ib_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };
	const struct ib_recv_wr *bad;
	int err = ib_post_recv(end->qp, &wr, &bad);

	return err ? kv_fail("ib_post_recv: %d", err) : 0;
}

/* Kernel consumers look up the wire's addresses themselves: the peer's netdev's. */
struct rdma_ah_attr kv_path(struct kv_end *end, struct kv_end *peer)
{
	struct rdma_ah_attr ah = { .type = RDMA_AH_ATTR_TYPE_ROCE };
	struct net_device *ndev;

	rdma_ah_set_port_num(&ah, 1);
	rdma_ah_set_grh(&ah, NULL, 0, end->gid->index, 64, 0);
	rdma_ah_set_dgid_raw(&ah, (void *)peer->gid->gid.raw);
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(peer->gid);
	if (!IS_ERR(ndev))
		ether_addr_copy(ah.roce.dmac, ndev->dev_addr);
	rcu_read_unlock();
	return ah;
}

int kv_modify(struct kv_end *end, struct kv_end *peer)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	int err;

	err = ib_modify_qp(end->qp, &attr, IB_QP_STATE);
	if (err)
		return kv_fail("to RESET: %d", err);
	attr.qp_state = IB_QPS_INIT;
	attr.port_num = 1;
	attr.qp_access_flags = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
			       IB_ACCESS_REMOTE_ATOMIC;
	err = ib_modify_qp(end->qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
			   IB_QP_ACCESS_FLAGS);
	if (err)
		return kv_fail("to INIT: %d", err);
	attr.qp_state = IB_QPS_RTR;
	attr.path_mtu = IB_MTU_4096;
	attr.dest_qp_num = peer->qp->qp_num;
	attr.max_dest_rd_atomic = 16;
	attr.min_rnr_timer = 1;
	attr.ah_attr = kv_path(end, peer);
	err = ib_modify_qp(end->qp, &attr, IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU |
			   IB_QP_DEST_QPN | IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC |
			   IB_QP_MIN_RNR_TIMER);
	if (err)
		return kv_fail("to RTR: %d", err);
	attr.qp_state = IB_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 16;
	err = ib_modify_qp(end->qp, &attr, IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
			   IB_QP_RNR_RETRY | IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC);
	return err ? kv_fail("to RTS: %d", err) : 0;
}

/* Both ends from whatever they are in to RTS; no completion is left. */
int kv_connect(void)
{
	int err = kv_modify(&kv_a, &kv_b) ?: kv_modify(&kv_b, &kv_a);
	struct ib_wc wc;

	while (ib_poll_cq(kv_a.cq, 1, &wc) > 0 || ib_poll_cq(kv_b.cq, 1, &wc) > 0)
		;
	return err;
}

static const struct {
	const char *name;
	int (*run)(void);
} kv_tests[] = {
	{ "connected", kv_connect },
	{ "the largest region, of scattered pages, by lists of SGEs", kv_test_largest },
	{ "regions that cannot be", kv_test_refused },
	{ "a region from the middle of a page", kv_test_offset },
	{ "whose addresses begin at 0", kv_test_zero_based },
	{ "keys, old and ended", kv_test_keys },
	{ "rights", kv_test_rights },
	{ "SEND that invalidates", kv_test_send_inv },
	{ "registered, used and ended by one list", kv_test_list },
	{ "mapped before its key has ended", kv_test_map_early },
	{ "registered after its region's end", kv_test_reg_ended },
	{ "the bad one of a list", kv_test_bad_wr },
	{ "posted with interrupts off", kv_test_irqs_off },
	{ "atomics", kv_test_atomics },
	{ "no key to all memory", kv_test_global_rkey },
	{ "callbacks in softirq", kv_test_softirq },
	{ "callbacks in a work queue, the last vector", kv_test_workqueue },
	{ "callbacks in an unbound work queue", kv_test_unbound },
	{ "drained", kv_test_drain },
	{ "a CQ smaller than what its QP flushes", kv_test_small_cq },
	{ "no handler is called once a CQ's QPs are gone", kv_test_last_event },
	{ "armed while a completion waits", kv_test_missed },
	{ "no handler is called inside a post", kv_test_inside },
	{ "no handler is called beside another of its CQ", kv_test_beside },
	{ "a handler that polls, posts and arms", kv_test_handler },
	{ "events of QPs and CQs", kv_test_events },
	{ "SRQ and its limit", kv_test_srq },
	{ "a datagram", kv_test_datagram },
	{ "a datagram posted with interrupts off", kv_test_datagram_irqs_off },
	{ "a datagram by a VLAN, which is told", kv_test_datagram_vlan },
};

static void kv_end_close(struct kv_end *end)
{
	u32 i;

	if (end->mr)
		ib_dereg_mr(end->mr);
	if (end->qp)
		ib_destroy_qp(end->qp);
	if (end->cq)
		ib_destroy_cq(end->cq);
	if (end->sg)
		ib_dma_unmap_sg(end->dev, end->sg, kv_pages, DMA_BIDIRECTIONAL);
	kvfree(end->sg);
	for (i = 0; end->page && i < kv_pages; i++)
		if (end->page[i])
			__free_page(end->page[i]);
	kvfree(end->page);
	if (end->pd)
		ib_dealloc_pd(end->pd);
	if (end->gid)
		rdma_put_gid_attr(end->gid);
}

static bool kv_of_vlan(const struct ib_gid_attr *gid)
{
	u16 vlan = U16_MAX;

	return !rdma_read_gid_l2_fields(gid, &vlan, NULL) && vlan < VLAN_N_VID;
}

/* The GID by which others reach it, or do so by a VLAN: RoCEv2 over IPv4. */
const struct ib_gid_attr *kv_gid(struct ib_device *dev, bool vlan)
{
	const struct ib_gid_attr *gid;
	int i;

	for (i = 0; i < dev->port_data[1].immutable.gid_tbl_len; i++) {
		gid = rdma_get_gid_attr(dev, 1, i);
		if (IS_ERR(gid))
			continue;
		if (gid->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP &&
		    ipv6_addr_v4mapped((struct in6_addr *)&gid->gid) &&
		    kv_of_vlan(gid) == vlan)
			return gid;
		rdma_put_gid_attr(gid);
	}
	return NULL;
}

static void kv_cq_event(struct ib_cq *cq, void *context)
{
	complete(&kv_event);
}

/* The way back from an error is kv_end_close(). */
static int kv_end_open(struct kv_end *end)
{
	struct ib_cq_init_attr cq = { .cqe = 4 * KV_DEPTH };
	struct ib_qp_init_attr init = {
		.cap = { .max_send_wr = KV_DEPTH, .max_recv_wr = KV_DEPTH,
			 .max_send_sge = kv_sges, .max_recv_sge = 4 },
		.qp_type = IB_QPT_RC, .sq_sig_type = IB_SIGNAL_REQ_WR,
	};
	void *made;
	u32 i;

	end->gid = kv_gid(end->dev, false);
	if (!end->gid)
		return kv_fail("no RoCEv2 GID of an IPv4 address");
	made = ib_alloc_pd(end->dev, 0);
	if (IS_ERR(made))
		return kv_fail("ib_alloc_pd: %ld", PTR_ERR(made));
	end->pd = made;
	end->page = kvcalloc(kv_pages, sizeof(*end->page), GFP_KERNEL);
	end->sg = kvcalloc(kv_pages, sizeof(*end->sg), GFP_KERNEL);
	if (!end->page || !end->sg)
		return kv_fail("no memory");
	sg_init_table(end->sg, kv_pages);
	/* from the last on, so that what follows a page is not the next one's */
	for (i = kv_pages; i--; ) {
		end->page[i] = alloc_page(GFP_KERNEL);
		if (!end->page[i])
			return kv_fail("no memory");
	}
	for (i = 0; i < kv_pages; i++)
		sg_set_page(&end->sg[i], end->page[i], PAGE_SIZE, 0);
	if (ib_dma_map_sg(end->dev, end->sg, kv_pages, DMA_BIDIRECTIONAL) != kv_pages)
		return kv_fail("ib_dma_map_sg");
	made = ib_create_cq(end->dev, kv_cq_event, NULL, NULL, &cq);
	if (IS_ERR(made))
		return kv_fail("ib_create_cq: %ld", PTR_ERR(made));
	end->cq = made;
	init.send_cq = end->cq;
	init.recv_cq = end->cq;
	made = ib_create_qp(end->pd, &init);
	if (IS_ERR(made))
		return kv_fail("ib_create_qp: %ld", PTR_ERR(made));
	end->qp = made;
	made = ib_alloc_mr(end->pd, IB_MR_TYPE_MEM_REG, kv_pages);
	if (IS_ERR(made))
		return kv_fail("ib_alloc_mr: %ld", PTR_ERR(made));
	end->mr = made;
	return 0;
}

/* A test that has nothing to say here returns more than 0 */
static void kv_say(const char *name, int err)
{
	if (err > 0)
		seq_buf_printf(&kv_said, "skip %s # %s\n", name, kv_why);
	else if (err)
		seq_buf_printf(&kv_said, "not ok %s # %s\n", name, kv_why);
	else
		seq_buf_printf(&kv_said, "ok %s\n", name);
}

static void kv_run(void)
{
	int i, err;

	if (!kv_a.dev || !kv_b.dev) {
		kv_fail("no device %s or %s", dev1, dev2);
		kv_say("devices", -ENODEV);
		return;
	}
	kv_pages = kv_b.dev->attrs.max_fast_reg_page_list_len;
	kv_sges = kv_a.dev->attrs.max_send_sge;
	err = kv_end_open(&kv_a) ?: kv_end_open(&kv_b);
	seq_buf_printf(&kv_said, "regions of %u pages, %u SGEs\n", kv_pages, kv_sges);
	kv_say("objects", err);
	for (i = 0; !err && i < ARRAY_SIZE(kv_tests); i++) {
		err = kv_tests[i].run();
		kv_say(kv_tests[i].name, err);
		/* the others are told nothing by what this one left */
		err = err < 0 ? kv_connect() : 0;
	}
	kv_end_close(&kv_a);
	kv_end_close(&kv_b);
}

/* A device that is used does not go until it is given back. */
static void kv_take(struct kv_end *end, struct ib_device *dev, const char *name)
{
	if (!end->dev && !strcmp(dev_name(&dev->dev), name) && ib_device_try_get(dev))
		end->dev = dev;
}

/* Clients are told at once of every device that there is. */
static int kv_add(struct ib_device *dev)
{
	kv_take(&kv_a, dev, dev1);
	kv_take(&kv_b, dev, dev2);
	return 0;
}

static void kv_remove(struct ib_device *dev, void *data)
{
}

static struct ib_client kv_client = {
	.name = "xroce_kverbs",
	.add = kv_add,
	.remove = kv_remove,
};

static int __init kv_init(void)
{
	char *say = kzalloc(KV_SAY, GFP_KERNEL);
	int err;

	if (!say)
		return -ENOMEM;
	init_completion(&kv_event);
	seq_buf_init(&kv_said, say, KV_SAY);
	err = ib_register_client(&kv_client);
	if (err) {
		kfree(say);
		return err;
	}
	kv_run();
	if (kv_a.dev)
		ib_device_put(kv_a.dev);
	if (kv_b.dev)
		ib_device_put(kv_b.dev);
	ib_unregister_client(&kv_client);
	kv_blob.data = say;
	kv_blob.size = seq_buf_used(&kv_said);
	kv_dir = debugfs_create_dir("xroce_kverbs", NULL);
	debugfs_create_blob("results", 0400, kv_dir, &kv_blob);
	return 0;
}

static void __exit kv_exit(void)
{
	debugfs_remove(kv_dir);
	kfree(kv_blob.data);
}

module_init(kv_init);
module_exit(kv_exit);
MODULE_DESCRIPTION("Test of the verbs of kernel consumers");
MODULE_LICENSE("Dual BSD/GPL");
