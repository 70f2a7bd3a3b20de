// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of queues and of what completes: callbacks in each context, draining, arming,
 * shared receive queues, datagrams.
 */
#include "kverbs.h"

/*
 * Completions by callback, as ULPs take them: what arrives is sent back from the
 * callback itself, in whatever context the CQ's is.
 */
struct kv_echo {
	struct ib_cqe recv, send;
	struct kv_end end;
	struct kv_end *mem;
	u32 left;
	atomic_t bad;
	struct completion *over;
};

static int kv_echo_recv(struct kv_echo *echo)
{
	struct ib_sge sge = kv_sge(echo->mem, 0, 64);
	struct ib_recv_wr wr = { .wr_cqe = &echo->recv, .sg_list = &sge, .num_sge = 1 };

	return ib_post_recv(echo->end.qp, &wr, NULL);
}

static int kv_echo_send(struct kv_echo *echo)
{
	struct ib_sge sge = kv_sge(echo->mem, 64, 64);
	struct ib_send_wr wr = {
		.wr_cqe = &echo->send, .opcode = IB_WR_SEND, .sg_list = &sge,
		.num_sge = 1, .send_flags = IB_SEND_SIGNALED,
	};

	return ib_post_send(echo->end.qp, &wr, NULL);
}

static void kv_echo_received(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kv_echo *echo = container_of(wc->wr_cqe, struct kv_echo, recv);

	if (wc->status == IB_WC_WR_FLUSH_ERR)
		return;
	if (wc->status || wc->byte_len != 64)
		atomic_inc(&echo->bad);
	if (!echo->left--) {
		complete(echo->over);
		return;
	}
	if (kv_echo_recv(echo) || kv_echo_send(echo))
		atomic_inc(&echo->bad);
}

static void kv_echo_sent(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kv_echo *echo = container_of(wc->wr_cqe, struct kv_echo, send);

	/* the last one's ACK may find nobody who sends it */
	if (wc->status && wc->status != IB_WC_WR_FLUSH_ERR)
		atomic_inc(&echo->bad);
}

static int kv_echo_begin(struct kv_echo *echo, struct kv_end *mem,
			 enum ib_poll_context ctx, int vector)
{
	struct ib_qp_init_attr init = {
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IB_QPT_RC, .sq_sig_type = IB_SIGNAL_REQ_WR,
	};

	echo->recv.done = kv_echo_received;
	echo->send.done = kv_echo_sent;
	echo->mem = mem;
	echo->end = *mem;
	echo->end.qp = NULL;
	echo->end.cq = ib_alloc_cq(mem->dev, NULL, 64, vector, ctx);
	if (IS_ERR(echo->end.cq)) {
		echo->end.cq = NULL;
		return kv_fail("ib_alloc_cq");
	}
	init.send_cq = echo->end.cq;
	init.recv_cq = echo->end.cq;
	echo->end.qp = ib_create_qp(mem->pd, &init);
	if (IS_ERR(echo->end.qp)) {
		echo->end.qp = NULL;
		return kv_fail("ib_create_qp");
	}
	return 0;
}

static void kv_echo_end(struct kv_echo *echo)
{
	if (echo->end.qp) {
		ib_drain_qp(echo->end.qp);
		ib_destroy_qp(echo->end.qp);
	}
	if (echo->end.cq)
		ib_free_cq(echo->end.cq);
}

static int kv_echoes(enum ib_poll_context ctx, int vector)
{
	static const u32 count = 500;
	DECLARE_COMPLETION_ONSTACK(over);
	struct kv_echo *echo;
	int err;

	echo = kcalloc(2, sizeof(*echo), GFP_KERNEL);
	if (!echo)
		return kv_fail("no memory");
	echo[0].over = &over;
	echo[1].over = &over;
	/* this one ends it; the other answers once more */
	echo[0].left = count;
	echo[1].left = count + 1;
	err = kv_echo_begin(&echo[0], &kv_a, ctx, vector) ?:
	      kv_echo_begin(&echo[1], &kv_b, ctx, vector) ?:
	      kv_modify(&echo[0].end, &echo[1].end) ?:
	      kv_modify(&echo[1].end, &echo[0].end);
	if (!err && (kv_echo_recv(&echo[0]) || kv_echo_recv(&echo[1]) ||
		     kv_echo_send(&echo[0])))
		err = kv_fail("posting");
	if (!err && !wait_for_completion_timeout(&over, KV_SECONDS * HZ))
		err = kv_fail("%u and %u of %u left", echo[0].left, echo[1].left, count);
	kv_echo_end(&echo[0]);
	kv_echo_end(&echo[1]);
	if (!err && (atomic_read(&echo[0].bad) || atomic_read(&echo[1].bad)))
		err = kv_fail("%d and %d were bad", atomic_read(&echo[0].bad),
			      atomic_read(&echo[1].bad));
	kfree(echo);
	return err;
}

int kv_test_softirq(void)
{
	return kv_echoes(IB_POLL_SOFTIRQ, 0);
}

int kv_test_workqueue(void)
{
	return kv_echoes(IB_POLL_WORKQUEUE, kv_b.dev->num_comp_vectors - 1);
}

int kv_test_unbound(void)
{
	return kv_echoes(IB_POLL_UNBOUND_WORKQUEUE, 0);
}

/* Each of what is outstanding comes back once, before the drain is over. */
struct kv_flushed {
	struct ib_cqe cqe;
	u32 recvs, wrong;
};

static void kv_flush_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kv_flushed *f = container_of(wc->wr_cqe, struct kv_flushed, cqe);

	f->recvs++;
	if (wc->status != IB_WC_WR_FLUSH_ERR)
		f->wrong++;
}

int kv_test_drain(void)
{
	struct kv_flushed *f;
	struct ib_sge sge = kv_sge(&kv_b, 0, 64);
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };
	struct kv_echo *echo;
	int i, err;

	echo = kcalloc(2, sizeof(*echo), GFP_KERNEL);
	f = kzalloc(sizeof(*f), GFP_KERNEL);
	if (!echo || !f) {
		kfree(echo);
		kfree(f);
		return kv_fail("no memory");
	}
	f->cqe.done = kv_flush_done;
	wr.wr_cqe = &f->cqe;
	err = kv_echo_begin(&echo[0], &kv_a, IB_POLL_WORKQUEUE, 0) ?:
	      kv_echo_begin(&echo[1], &kv_b, IB_POLL_WORKQUEUE, 0) ?:
	      kv_modify(&echo[0].end, &echo[1].end) ?:
	      kv_modify(&echo[1].end, &echo[0].end);
	for (i = 0; !err && i < 15; i++)
		err = ib_post_recv(echo[1].end.qp, &wr, NULL) ? kv_fail("posting") : 0;
	if (!err) {
		ib_drain_rq(echo[1].end.qp);
		if (f->recvs != 15 || f->wrong)
			err = kv_fail("%u of 15 were flushed, %u otherwise", f->recvs,
				      f->wrong);
	}
	kv_echo_end(&echo[0]);
	kv_echo_end(&echo[1]);
	if (!err && f->recvs != 15)
		err = kv_fail("%u of 15 in the end", f->recvs);
	kfree(echo);
	kfree(f);
	return err;
}

/* A handler called when ib_free_cq() has ended its work would begin it again. */
struct kv_last {
	struct ib_cqe cqe;
	bool over;
	u32 late;
};

static void kv_last_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kv_last *last = container_of(wc->wr_cqe, struct kv_last, cqe);

	last->late += READ_ONCE(last->over);
}

static int kv_last_event(struct kv_last *last, int vector)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct ib_sge sge = kv_sge(&kv_b, 0, 64);
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };
	struct kv_echo *echo;
	int err;

	echo = kzalloc(sizeof(*echo), GFP_KERNEL);
	if (!echo)
		return kv_fail("no memory");
	last->cqe.done = kv_last_done;
	last->over = false;
	wr.wr_cqe = &last->cqe;
	err = kv_echo_begin(echo, &kv_b, IB_POLL_WORKQUEUE, vector) ?:
	      kv_modify(&echo->end, &kv_a);
	if (!err && ib_post_recv(echo->end.qp, &wr, NULL))
		err = kv_fail("posting");
	if (!err && ib_modify_qp(echo->end.qp, &attr, IB_QP_STATE))
		err = kv_fail("to ERR");
	if (echo->end.qp)
		ib_destroy_qp(echo->end.qp);
	if (echo->end.cq)
		ib_free_cq(echo->end.cq);
	WRITE_ONCE(last->over, true);
	kfree(echo);
	return err;
}

int kv_test_last_event(void)
{
	struct kv_last *last;
	int i, err = 0;

	last = kzalloc(sizeof(*last), GFP_KERNEL);
	if (!last)
		return kv_fail("no memory");
	for (i = 0; !err && i < 400; i++)
		err = kv_last_event(last, i % kv_b.dev->num_comp_vectors);
	msleep(50);
	if (!err && last->late)
		err = kv_fail("%u late", last->late);
	kfree(last);
	return err;
}

/* Armed while a completion waits: it is said. Armed before: there is an event. */
int kv_test_missed(void)
{
	struct ib_sge sge = kv_sge(&kv_a, 0, 8);
	struct ib_send_wr wr = {
		.wr_id = 60, .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1,
		.send_flags = IB_SEND_SIGNALED,
	};
	int err, n;

	err = kv_recv(&kv_b, 61, 0, 8) ?: kv_send(&kv_a, &wr) ?:
	      kv_done(&kv_a, 60, IB_WC_SUCCESS, NULL);
	if (err)
		return err;
	n = ib_req_notify_cq(kv_b.cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS);
	if (n != 1)
		return kv_fail("with a completion: %d", n);
	err = kv_done(&kv_b, 61, IB_WC_SUCCESS, NULL);
	if (err)
		return err;
	n = ib_req_notify_cq(kv_b.cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS);
	if (n)
		return kv_fail("with none: %d", n);
	reinit_completion(&kv_event);
	err = kv_recv(&kv_b, 61, 0, 8) ?: kv_send(&kv_a, &wr);
	if (!err && !wait_for_completion_timeout(&kv_event, KV_SECONDS * HZ))
		err = kv_fail("no event");
	return err ?: kv_done(&kv_a, 60, IB_WC_SUCCESS, NULL) ?:
	       kv_done(&kv_b, 61, IB_WC_SUCCESS, NULL);
}

static void kv_srq_event(struct ib_event *event, void *context)
{
	if (event->event == IB_EVENT_SRQ_LIMIT_REACHED)
		complete(context);
}

/* A receive queue that QPs share, and its event when it runs low. */
int kv_test_srq(void)
{
	DECLARE_COMPLETION_ONSTACK(low);
	struct ib_srq_init_attr sattr = {
		.event_handler = kv_srq_event,
		.srq_context = &low,
		.attr = { .max_wr = 8, .max_sge = 1 },
	};
	struct ib_srq_attr arm = { .srq_limit = 2 };
	struct ib_qp_init_attr init = {
		.send_cq = kv_b.cq, .recv_cq = kv_b.cq,
		.qp_type = IB_QPT_RC, .sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap = { .max_send_wr = 4, .max_send_sge = 1 },
	};
	struct ib_sge sge = kv_sge(&kv_b, 0, 64), from = kv_sge(&kv_a, 0, 64);
	struct ib_recv_wr recv = { .sg_list = &sge, .num_sge = 1 };
	struct ib_send_wr wr = {
		.wr_id = 70, .opcode = IB_WR_SEND, .sg_list = &from, .num_sge = 1,
		.send_flags = IB_SEND_SIGNALED,
	};
	struct kv_end other = kv_b;
	struct ib_srq *srq;
	int i, err = 0;

	srq = ib_create_srq(kv_b.pd, &sattr);
	if (IS_ERR(srq))
		return kv_fail("ib_create_srq: %ld", PTR_ERR(srq));
	init.srq = srq;
	other.qp = ib_create_qp(kv_b.pd, &init);
	if (IS_ERR(other.qp)) {
		ib_destroy_srq(srq);
		return kv_fail("ib_create_qp");
	}
	for (i = 0; i < 3 && !err; i++) {
		recv.wr_id = 80 + i;
		err = ib_post_srq_recv(srq, &recv, NULL);
	}
	err = err ?: ib_modify_srq(srq, &arm, IB_SRQ_LIMIT);
	if (err)
		err = kv_fail("an SRQ armed with 3 receives: %d", err);
	err = err ?: kv_modify(&kv_a, &other) ?: kv_modify(&other, &kv_a);
	kv_fill(&kv_a, 0, 64, 12);
	for (i = 0; i < 2 && !err; i++) {
		if (i && !err && completion_done(&low))
			err = kv_fail("low with 2 left");
		err = err ?: kv_send(&kv_a, &wr) ?:
		      kv_done(&kv_a, 70, IB_WC_SUCCESS, NULL) ?:
		      kv_done(&kv_b, 80 + i, IB_WC_SUCCESS, NULL) ?:
		      kv_same(&kv_b, 0, 64, 12);
	}
	if (!err && !wait_for_completion_timeout(&low, KV_SECONDS * HZ))
		err = kv_fail("no event with 1 left");
	ib_destroy_qp(other.qp);
	ib_destroy_srq(srq);
	return err ?: kv_connect();
}

/* The receive, then the send; with interrupts off they are off still afterwards. */
static int kv_datagram_post(struct kv_end u[2], const struct ib_send_wr *wr, bool irqs_off)
{
	unsigned long flags;
	int err;

	if (!irqs_off)
		return kv_recv(&u[1], 91, 0, 140) ?: kv_send(&u[0], wr);
	local_irq_save(flags);
	err = kv_recv(&u[1], 91, 0, 140) ?: kv_send(&u[0], wr);
	if (!err && !irqs_disabled())
		err = kv_fail("interrupts are on");
	local_irq_restore(flags);
	return err;
}

/* What is said of where a datagram came from: the VLAN, if it came by one. */
static int kv_datagram_told(const struct ib_wc *wc, u32 from, bool vlan)
{
	int want = IB_WC_GRH | (vlan ? IB_WC_WITH_VLAN : 0);

	if (wc->wc_flags == want && wc->byte_len == 140 && wc->src_qp == from &&
	    wc->vlan_id == (vlan ? KV_VLAN : 0))
		return 0;
	return kv_fail("flags %#x, VLAN %u, %u bytes, from QP %u", wc->wc_flags,
		       wc->vlan_id, wc->byte_len, wc->src_qp);
}

#define KV_FLUSHED	256

/* All of them, unsignalled, and none is polled before the last was posted */
static int kv_flushed(struct ib_qp *qp, struct ib_cq *cq)
{
	unsigned long end = jiffies + 10 * HZ;
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT, .port_num = 1 };
	u32 i, n = 0;
	struct ib_wc wc;
	int ret;

	if (ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
			 IB_QP_ACCESS_FLAGS))
		return kv_fail("to INIT");
	attr.qp_state = IB_QPS_ERR;
	if (ib_modify_qp(qp, &attr, IB_QP_STATE))
		return kv_fail("to ERR");
	for (i = 0; i < KV_FLUSHED; i++) {
		wr.wr_id = i;
		ret = ib_post_send(qp, &wr, NULL);
		if (ret)
			return kv_fail("post %u: %d", i, ret);
	}
	while (n < KV_FLUSHED && time_before(jiffies, end)) {
		ret = ib_poll_cq(cq, 1, &wc);
		if (ret < 0)
			return kv_fail("ib_poll_cq: %d", ret);
		if (!ret)
			usleep_range(100, 1000);
		else if (wc.status != IB_WC_WR_FLUSH_ERR || wc.wr_id != n++)
			return kv_fail("%llu, status %d", wc.wr_id, wc.status);
	}
	return n == KV_FLUSHED ? 0 : kv_fail("%u of %u", n, KV_FLUSHED);
}

/* Storage targets ask for fewer elements than their queues may flush. */
int kv_test_small_cq(void)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC, .sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap = { .max_send_wr = KV_FLUSHED, .max_recv_wr = 1, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ib_cq *cq = ib_alloc_cq(kv_a.dev, NULL, 16, 0, IB_POLL_DIRECT);
	struct ib_qp *qp;
	int err;

	if (IS_ERR(cq))
		return kv_fail("ib_alloc_cq: %ld", PTR_ERR(cq));
	init.send_cq = cq;
	init.recv_cq = cq;
	qp = ib_create_qp(kv_a.pd, &init);
	if (IS_ERR(qp)) {
		err = kv_fail("ib_create_qp: %ld", PTR_ERR(qp));
	} else {
		err = kv_flushed(qp, cq);
		ib_destroy_qp(qp);
	}
	ib_free_cq(cq);
	return err;
}

/*
 * A datagram from end to end, of which each is reached by its GID, by an address that
 * was made where nobody may sleep.
 */
static int kv_datagram(struct kv_end *a, struct kv_end *b, bool vlan, bool irqs_off)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_UD, .sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT, .port_num = 1, .qkey = 0x1234,
	};
	struct kv_end u[2] = { *a, *b };
	struct ib_sge sge = kv_sge(&kv_a, 0, 100);
	struct ib_ud_wr wr = {
		.wr = { .wr_id = 90, .opcode = IB_WR_SEND, .sg_list = &sge,
			.num_sge = 1, .send_flags = IB_SEND_SIGNALED },
		.remote_qkey = 0x1234,
	};
	struct rdma_ah_attr ah = kv_path(a, b);
	struct ib_wc wc;
	int i, err = 0;

	u[0].qp = NULL;
	u[1].qp = NULL;
	for (i = 0; i < 2 && !err; i++) {
		init.recv_cq = u[i].cq;
		init.send_cq = u[i].cq;
		u[i].qp = ib_create_qp(u[i].pd, &init);
		if (IS_ERR(u[i].qp)) {
			u[i].qp = NULL;
			err = kv_fail("ib_create_qp");
			break;
		}
		attr.qp_state = IB_QPS_INIT;
		err = ib_modify_qp(u[i].qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
				   IB_QP_PORT | IB_QP_QKEY);
		attr.qp_state = IB_QPS_RTR;
		err = err ?: ib_modify_qp(u[i].qp, &attr, IB_QP_STATE);
		attr.qp_state = IB_QPS_RTS;
		err = err ?: ib_modify_qp(u[i].qp, &attr, IB_QP_STATE | IB_QP_SQ_PSN);
		if (err)
			err = kv_fail("ib_modify_qp: %d", err);
	}
	if (!err) {
		local_bh_disable();
		wr.ah = rdma_create_ah(kv_a.pd, &ah, 0);
		local_bh_enable();
		if (IS_ERR(wr.ah)) {
			err = kv_fail("rdma_create_ah: %ld", PTR_ERR(wr.ah));
			wr.ah = NULL;
		}
	}
	kv_fill(&kv_a, 0, 100, 13);
	if (!err) {
		wr.remote_qpn = u[1].qp->qp_num;
		err = kv_datagram_post(u, &wr.wr, irqs_off) ?:
		      kv_done(&kv_a, 90, IB_WC_SUCCESS, NULL) ?:
		      kv_done(&kv_b, 91, IB_WC_SUCCESS, &wc) ?:
		      kv_datagram_told(&wc, u[0].qp->qp_num, vlan);
	}
	for (i = 0; i < 100 && !err; i++)
		if (((u8 *)page_address(kv_b.page[0]))[40 + i] != kv_byte(13, i))
			err = kv_fail("byte %d", i);
	if (wr.ah)
		rdma_destroy_ah(wr.ah, 0);
	for (i = 0; i < 2; i++)
		if (u[i].qp)
			ib_destroy_qp(u[i].qp);
	return err;
}

int kv_test_datagram(void)
{
	return kv_datagram(&kv_a, &kv_b, false, false);
}

int kv_test_datagram_irqs_off(void)
{
	return kv_datagram(&kv_a, &kv_b, false, true);
}

int kv_test_datagram_vlan(void)
{
	struct kv_end a = kv_a, b = kv_b;
	int err;

	a.gid = kv_gid(a.dev, true);
	b.gid = kv_gid(b.dev, true);
	if (a.gid && b.gid)
		err = kv_datagram(&a, &b, true, false);
	else
		err = kv_fail("no GID of a VLAN");
	if (a.gid)
		rdma_put_gid_attr(a.gid);
	if (b.gid)
		rdma_put_gid_attr(b.gid);
	return err;
}
