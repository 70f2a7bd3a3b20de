// SPDX-License-Identifier: GPL-2.0
/*
 * Captures the packets of a device: what the module's tracepoints show and the
 * filter wants goes into a ring. Runs where they fire, with BH off; a packet that
 * finds no room is counted, and nobody waits.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <xroce/capture.h>

const volatile struct xroce_filter filter;

u64 seen;	/* packets of the device */
u64 wanted;	/* that passed the filter */
u64 lost;	/* of those */

/* Its size is the loader's. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} ring SEC(".maps");

/* Where a packet is put together: one at a time on each CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct xroce_captured);
} scratch SEC(".maps");

static __always_inline bool is_in(const volatile u64 set[4], u8 i)
{
	return set[i >> 6] >> (i & 63) & 1;
}

static __always_inline bool is_wanted(const struct xroce_packet *p, u8 received)
{
	u64 peer[2];

	if (!(filter.dirs & (received ? XROCE_CAPTURE_RECEIVED :
					XROCE_CAPTURE_SENT)))
		return false;
	if (filter.by_qp && p->qpn != filter.qpn && p->dqpn != filter.qpn)
		return false;
	if (!is_in(filter.opcode, p->opcode) ||
	    !is_in(filter.verdict, p->verdict))
		return false;
	if (!filter.by_peer)
		return true;
	return !bpf_core_read(peer, sizeof(peer), &p->peer) &&
	       peer[0] == filter.peer[0] && peer[1] == filter.peer[1];
}

static __always_inline bool put(const struct xroce_packet *p, u8 received)
{
	struct xroce_captured *c;
	u32 key = 0, n;

	c = bpf_map_lookup_elem(&scratch, &key);
	if (!c)
		return false;
	c->ns = p->ns;
	c->lost = lost;
	c->len = p->len;
	c->qpn = p->qpn;
	c->received = received;
	c->verdict = p->verdict;
	n = p->cap;
	if (!n)
		return false;
	barrier_var(n);		/* the verifier wants each bound by itself */
	if (n > sizeof(c->data))
		return false;
	c->cap = n;
	return !bpf_probe_read_kernel(c->data, n, p->data) &&
	       !bpf_ringbuf_output(&ring, c, offsetof(struct xroce_captured,
						      data) + n, 0);
}

static __always_inline int capture(const struct xroce_packet *p, u8 received)
{
	if (!p || p->dev != filter.dev)
		return 0;
	__sync_fetch_and_add(&seen, 1);
	if (!is_wanted(p, received))
		return 0;
	__sync_fetch_and_add(&wanted, 1);
	if (!put(p, received))
		__sync_fetch_and_add(&lost, 1);
	return 0;
}

SEC("tp_btf/xroce_transmit")
int capture_sent(u64 *ctx)
{
	return capture((const struct xroce_packet *)ctx[0], 0);
}

SEC("tp_btf/xroce_verdict")
int capture_received(u64 *ctx)
{
	return capture((const struct xroce_packet *)ctx[0], 1);
}

char LICENSE[] SEC("license") = "GPL";
