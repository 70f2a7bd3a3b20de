// SPDX-License-Identifier: GPL-2.0
/*
 * Watches the QPs of one network namespace: retries and errors go into a ring, as
 * the module's tracepoints tell of them. Runs where they fire, under the QP's lock.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <xroce/monitor.h>

/* As much of the module's structs as is needed, found by name in its BTF. */
#pragma clang attribute push(__attribute__((preserve_access_index)), \
			     apply_to = record)
struct xroce_dev {
	u32 cwnd_init;
};

struct xroce_link {
	struct ib_device___x {
		char name[64];
		u32 index;
	} ib;
	struct xroce_dev dev;
	struct net *net;
};

struct xroce_hot {
	u32 qpn;
	u32 dest_qpn;
	u32 next;
};

struct xroce_req {
	u8 retries;
	u8 rnr_retries;
};

struct xroce_qp {
	struct xroce_hot hot;
	struct xroce_dev *dev;
	u8 err_status;
	u8 err_nak;
	struct xroce_req req;
};

#pragma clang attribute pop

const volatile u32 netns;	/* inode of the namespace */
u64 lost;	/* events that found no room */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} ring SEC(".maps");

static __always_inline int tell(const struct xroce_qp *qp, u32 kind, u32 psn,
				u32 why)
{
	const struct xroce_link *link;
	struct xroce_qp_event *e;

	if (!qp)
		return 0;
	link = (const void *)BPF_CORE_READ(qp, dev) -
	       bpf_core_field_offset(struct xroce_link, dev);
	if (BPF_CORE_READ(link, net, ns.inum) != netns)
		return 0;
	e = bpf_ringbuf_reserve(&ring, sizeof(*e), 0);
	if (!e) {
		__sync_fetch_and_add(&lost, 1);
		return 0;
	}
	e->ns = bpf_ktime_get_ns();
	e->kind = kind;
	e->qpn = qp->hot.qpn;
	e->dqpn = qp->hot.dest_qpn;
	e->psn = psn;
	e->next = qp->hot.next;
	e->why = why;
	e->status = qp->err_status;
	e->nak = qp->err_nak;
	e->retries = qp->req.retries;
	e->rnr_retries = qp->req.rnr_retries;
	e->dev = BPF_CORE_READ(link, ib.index);
	bpf_core_read_str(e->name, sizeof(e->name), &link->ib.name);
	bpf_ringbuf_submit(e, 0);
	return 0;
}

SEC("tp_btf/xroce_retry")
int monitor_retry(u64 *ctx)
{
	return tell((const struct xroce_qp *)ctx[0], XROCE_EVENT_RETRY, ctx[1],
		    ctx[2]);
}

SEC("tp_btf/xroce_error")
int monitor_error(u64 *ctx)
{
	return tell((const struct xroce_qp *)ctx[0], XROCE_EVENT_ERROR, 0, 0);
}

char LICENSE[] SEC("license") = "GPL";
