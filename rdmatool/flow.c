// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The PSN story of each connected QP in a capture: what was missing, what came
 * again, what the peer said. A flow is what goes to a QP from an address, and
 * where the capture tells directions, in one of them: a host that talks to itself
 * has each packet twice. Owns the flows seen.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <xroce/frame.h>
#include <xroce/parse.h>

#include "rdmatool.h"

#define BUCKETS		4096
#define MAX_FLOWS	65536	/* a file may make up any number */

/**
 * struct flow - packets to a QP from an address
 * @next: in the bucket
 * @after: the one seen first after this one
 * @psn, @started: the next PSN expected of requests, once there was one
 * @read: bytes that the request before asked to be read, which take PSNs too
 * @resp, @responding: the next PSN of the READ response under way
 * @gaps, @missing: jumps ahead, and the PSNs left out
 * @again: PSNs behind the one expected
 */
struct flow {
	struct flow *next;
	struct flow *after;
	u8 src[16];
	u8 dst[16];
	u32 qpn;
	u8 transport;
	u8 dir;
	bool started;
	bool responding;
	u32 psn;
	u32 read;
	u32 resp;
	u64 packets;
	u64 gaps;
	u64 missing;
	u64 again;
	u64 naks;
	u64 rnr_naks;
};

static struct flow *bucket[BUCKETS];
static struct flow *first, **last = &first;
static u32 n_flows;
static u64 uncounted;

static u32 hash(const u8 *src, const u8 *dst, u32 qpn)
{
	u32 h = qpn * 2654435761u;
	int i;

	for (i = 0; i < 16; i++)
		h = (h ^ src[i] ^ dst[i] << 8) * 16777619u;
	return (h ^ h >> 16) % BUCKETS;
}

static struct flow *find(const struct xroce_encap *e,
			 const struct xroce_pkt *pkt, u8 dir)
{
	u8 transport = XROCE_TRANSPORT(pkt->opcode);
	struct flow **p, *f;
	u8 src[16], dst[16];

	xroce_encap_sgid(e, src);
	xroce_encap_dgid(e, dst);
	p = &bucket[hash(src, dst, pkt->qpn)];
	for (f = *p; f; f = f->next)
		if (f->qpn == pkt->qpn && f->dir == dir &&
		    f->transport == transport && !memcmp(f->src, src, 16) &&
		    !memcmp(f->dst, dst, 16))
			return f;
	if (n_flows == MAX_FLOWS)
		return NULL;
	f = calloc(1, sizeof(*f));
	if (!f)
		fail("out of memory");
	memcpy(f->src, src, 16);
	memcpy(f->dst, dst, 16);
	f->qpn = pkt->qpn;
	f->transport = transport;
	f->dir = dir;
	f->next = *p;
	*p = f;
	*last = f;
	last = &f->after;
	n_flows++;
	return f;
}

/* Where @psn stands to the one expected, which it then was. */
static void advance(struct flow *f, u32 psn, u32 expected)
{
	s32 d = xroce_psn_diff(psn, expected);

	if (d < 0) {
		f->again++;
	} else if (d > 0) {
		f->gaps++;
		f->missing += d;
	}
}

/*
 * A READ takes as many PSNs as its answer, in a path MTU that we do not know. A
 * part of it that is asked for again begins among them.
 *
 * Return: the PSN that was to be expected, for the one that has come.
 */
static u32 after_read(const struct flow *f, const struct xroce_pkt *pkt)
{
	s32 d = xroce_psn_diff(pkt->psn, f->psn);
	u32 mtu, n = 0;

	if (!f->read || d < 0)
		return f->psn;
	for (mtu = 4096; mtu >= 256; mtu /= 2) {
		n = (f->read + (u64)mtu - 1) / mtu - 1;
		if (d == (s32)n)
			return pkt->psn;
	}
	return (pkt->info & XROCE_OP_READ) && d < (s32)n ?
	       xroce_psn_add(f->psn, n) : f->psn;
}

static void request(struct flow *f, const struct xroce_pkt *pkt)
{
	u32 expected;

	if (f->started) {
		expected = after_read(f, pkt);
		advance(f, pkt->psn, expected);
		if (xroce_psn_diff(pkt->psn, expected) < 0)
			return;
	}
	f->started = true;
	f->psn = xroce_psn_add(pkt->psn, 1);
	f->read = pkt->info & XROCE_OP_READ ? pkt->dma_len : 0;
}

/* The first of an answer may have any PSN, the others follow. */
static void response(struct flow *f, const struct xroce_pkt *pkt)
{
	if (pkt->info & XROCE_OP_ACK) {
		f->naks += (pkt->syndrome & XROCE_AETH_TYPE) == XROCE_AETH_NAK;
		f->rnr_naks += (pkt->syndrome & XROCE_AETH_TYPE) ==
			       XROCE_AETH_RNR;
	}
	if (!(pkt->info & XROCE_OP_READ_RESP))
		return;
	if (f->responding && !(pkt->info & XROCE_OP_FIRST))
		advance(f, pkt->psn, f->resp);
	f->responding = !(pkt->info & XROCE_OP_LAST);
	f->resp = xroce_psn_add(pkt->psn, 1);
}

/**
 * flow_packet() - a packet that is well formed
 * @e: what is around it
 * @pkt: the packet
 * @dir: &enum cap_dir
 */
void flow_packet(const struct xroce_encap *e, const struct xroce_pkt *pkt,
		 u8 dir)
{
	struct flow *f;

	/* Datagrams come from many, and nobody counts on their PSNs. */
	if (pkt->info & (XROCE_OP_DETH | XROCE_OP_CNP))
		return;
	f = find(e, pkt, dir);
	if (!f) {
		uncounted++;
		return;
	}
	f->packets++;
	if (pkt->info & XROCE_OP_REQUEST)
		request(f, pkt);
	else
		response(f, pkt);
}

static void put_addr(const char *key, const u8 gid[16])
{
	static const u8 mapped[12] = { [10] = 0xff, [11] = 0xff };
	char buf[INET6_ADDRSTRLEN];

	if (memcmp(gid, mapped, sizeof(mapped)))
		out_str(key, inet_ntop(AF_INET6, gid, buf, sizeof(buf)));
	else
		out_str(key, inet_ntop(AF_INET, gid + 12, buf, sizeof(buf)));
}

/**
 * flow_show() - a row for each flow
 */
void flow_show(void)
{
	const struct flow *f;

	for (f = first; f; f = f->after) {
		out_row();
		out_fmt("flow", "%#x", f->qpn);
		out_str("transport", transport_name(f->transport));
		if (f->dir)
			out_str("dir", f->dir == CAP_IN ? "in" : "out");
		put_addr("src", f->src);
		put_addr("dst", f->dst);
		out_uint("packets", f->packets);
		out_uint("gaps", f->gaps);
		out_uint("missing", f->missing);
		out_uint("again", f->again);
		out_uint("naks", f->naks);
		out_uint("rnr_naks", f->rnr_naks);
		out_row_end();
	}
	if (uncounted)
		warn("%llu packets belong to more than %u flows, which are not summed up",
		     (unsigned long long)uncounted, MAX_FLOWS);
}
