// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The XDP program under BPF_PROG_TEST_RUN: its verdict, its counter and the
 * bytes it leaves, for every kind of frame; its fast path, over stand-ins for the
 * module; and the shared headers in BPF against the same in user space. Needs
 * root, no module and no network.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cases.h>
#include <pcap.h>
#include <stats.h>
#include <tap.h>
#include "fast.h"
#include "fast.skel.h"
#include "parsed.h"
#include "test.skel.h"
#include "xroce.skel.h"

/* The netdev that BPF_PROG_TEST_RUN pretends: lo. */
#define IFINDEX 1
#define CPUMAP_SIZE 64

static struct xroce_bpf *skel;
static struct test_bpf *test;
static struct fast_bpf *fast;
static u8 frame[FRAME_MAX], out[FRAME_MAX];

static const char * const stat_name[] = {
#define STAT_NAME(sym, name, text) #name,
	XROCE_XDP_STATS(STAT_NAME)
#undef STAT_NAME
};

/* The one counter that went up by one since, or -1. */
static int counted(const struct stats *old)
{
	struct stats now;
	int which = -1;

	stats_read(bpf_map__fd(skel->maps.xroce_stats), &now);
	for (int i = 0; i < XROCE_XDP_STAT_MAX; i++) {
		if (now.v[i] == old->v[i])
			continue;
		if (which >= 0 || now.v[i] != old->v[i] + 1)
			return -1;
		which = i;
	}
	return which;
}

static u32 verdict_of(enum xroce_xdp_stat stat)
{
	if (stat >= XROCE_XDP_FAST)
		return XDP_DROP;
	return stat == XROCE_XDP_STEERED ? XDP_REDIRECT : XDP_PASS;
}

/* Run with the first @linear bytes linear, 0 for what the kernel likes. */
static int run(struct bpf_program *prog, u32 len, u32 linear, u32 *ret)
{
	struct xdp_md ctx = { .data_end = linear };
	struct bpf_test_run_opts opts = {
		.sz = sizeof(opts), .data_in = frame, .data_size_in = len,
		.data_out = out, .data_size_out = sizeof(out), .repeat = 1,
	};
	int err;

	if (linear) {
		opts.ctx_in = &ctx;
		opts.ctx_size_in = sizeof(ctx);
	}
	err = bpf_prog_test_run_opts(bpf_program__fd(prog), &opts);
	if (err)
		return err;
	*ret = opts.retval;
	return opts.data_size_out == len && !memcmp(frame, out, len) ? 0 : 1;
}

static void expect_of(struct bpf_program *prog, int *bad, const char *name,
		      u32 len, u32 linear, enum xroce_xdp_stat stat)
{
	struct stats old;
	u32 ret = 0;
	int err, is;

	stats_read(bpf_map__fd(skel->maps.xroce_stats), &old);
	err = run(prog, len, linear, &ret);
	is = counted(&old);
	TAP_CHECK(*bad, err != 1, "%s: the frame was changed", name);
	TAP_CHECK(*bad, err >= 0, "%s: %s", name, strerror(-err));
	TAP_CHECK(*bad, ret == verdict_of(stat), "%s: verdict %u, not %u", name,
		  ret, verdict_of(stat));
	TAP_CHECK(*bad, is == (int)stat, "%s, %u of %u bytes: counted %s, not %s",
		  name, linear, len, is < 0 ? "nothing" : stat_name[is],
		  stat_name[stat]);
}

static void expect(int *bad, const char *name, u32 len, u32 linear,
		   enum xroce_xdp_stat stat)
{
	expect_of(skel->progs.xroce, bad, name, len, linear, stat);
}

static void set_addr(const u8 gid[16], const u8 mac[6], u32 ifindex, bool there)
{
	int fd = bpf_map__fd(skel->maps.xroce_addrs);
	struct xroce_xdp_addr key = { .ifindex = ifindex };
	u32 one = 1;

	memcpy(key.gid, gid, 16);
	memcpy(key.mac, mac, 6);
	if (there)
		bpf_map_update_elem(fd, &key, &one, BPF_ANY);
	else
		bpf_map_delete_elem(fd, &key);
}

static void set_qp(u32 qpn, s32 cpu)
{
	bpf_map_update_elem(bpf_map__fd(skel->maps.xroce_qps), &qpn, &cpu,
			    BPF_ANY);
}

static const u8 gid4[16] = { [10] = 255, 255, 10, 77, 0, 2 };
static const u8 gid6[16] = { 0xfd, 0x77, [15] = 2 };
/* Of the frames of packet_make() */
static const u8 mac[6] = { 2, 2, 2, 2, 2, 2 };

static void kinds(void)
{
	struct packet pk;

	for (size_t i = 0; i < ARRAY_SIZE(frame_cases); i++) {
		const struct frame_case *c = &frame_cases[i];
		int bad = 0;

		expect(&bad, c->name, frame_make(c, frame, &pk), 0, c->stat);
		tap_ok(!bad, "%s: %s", c->name, stat_name[c->stat]);
	}
}

/* Drivers put as much of a frame in the first buffer as they like. */
static void linear(void)
{
	struct packet pk;
	int bad = 0, split = 0, n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(frame_cases); i++) {
		const struct frame_case *c = &frame_cases[i];
		u32 len = frame_make(c, frame, &pk), end;

		for (end = 14; end < len && end < 150; end++, n++) {
			struct xroce_encap e;
			int is = xroce_encap_parse(&e, frame, frame + end, len);
			u32 stat = frame_verdict(&e, is, frame + end), ret;

			if (!n && run(skel->progs.xroce, len, end, &ret) < 0) {
				tap_skip("frames split anywhere",
					 "this kernel's test run cannot");
				return;
			}
			expect(&bad, c->name, len, end, stat);
			split += stat == XROCE_XDP_SPLIT;
		}
	}
	tap_ok(!bad && split > 100, "frames split anywhere (%d, %d in a header)",
	       n, split);
}

static void to_cpus(void)
{
	int fd = bpf_map__fd(skel->maps.xroce_cpus), bad = 0;
	struct bpf_cpumap_val val = { .qsize = 64 };
	struct packet pk = { .qpn = 20, .payload = 64 };
	struct packet big = { .qpn = 20, .payload = 4096, .version = 6 };
	u32 cpu = 1, len;

	len = packet_make(&pk, frame);
	set_qp(20, 0);
	expect(&bad, "this CPU", len, 0, XROCE_XDP_STAY);
	set_qp(20, 1);
	expect(&bad, "a CPU that is not in the map", len, 0,
	       XROCE_XDP_STEER_MISS);
	set_qp(20, CPUMAP_SIZE);
	expect(&bad, "a CPU past the map", len, 0, XROCE_XDP_STEER_MISS);
	set_qp(20, 0x7fffffff);
	expect(&bad, "no CPU at all", len, 0, XROCE_XDP_STEER_MISS);
	set_qp(20, -3);
	expect(&bad, "a number that means nothing", len, 0, XROCE_XDP_STAY);
	tap_ok(!bad, "packets stay where steering cannot");

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		tap_skip("packets go to their QP's CPU", "there is only one CPU");
		return;
	}
	bad = bpf_map_update_elem(fd, &cpu, &val, 0) != 0;
	set_qp(20, 1);
	expect(&bad, "another CPU", len, 0, XROCE_XDP_STEERED);
	len = packet_make(&big, frame);
	expect(&bad, "another CPU, MTU 4096", len, 0, XROCE_XDP_STEERED);
	bpf_map_delete_elem(fd, &cpu);
	expect(&bad, "that CPU taken away", len, 0, XROCE_XDP_STEER_MISS);
	tap_ok(!bad, "packets go to their QP's CPU");
}

/* A GID is an address of one netdev. */
static void netdevs(void)
{
	struct packet pk = { .opcode = 0xff };
	u32 len = packet_make(&pk, frame);
	int bad = 0;

	set_addr(gid4, mac, IFINDEX, false);
	expect(&bad, "no such GID", len, 0, XROCE_XDP_NOT_OURS);
	set_addr(gid4, mac, IFINDEX + 1, true);
	expect(&bad, "another netdev's", len, 0, XROCE_XDP_NOT_OURS);
	set_addr(gid4, mac, IFINDEX, true);
	expect(&bad, "this one's", len, 0, XROCE_XDP_DROP_OPCODE);
	tap_ok(!bad, "only GIDs of this netdev are judged");

	bad = 0;
	frame[5] ^= 1;
	expect(&bad, "another's MAC", len, 0, XROCE_XDP_NOT_OURS);
	memset(frame, 0xff, 6);
	expect(&bad, "everybody's", len, 0, XROCE_XDP_NOT_OURS);
	memcpy(frame, mac, 6);
	expect(&bad, "ours", len, 0, XROCE_XDP_DROP_OPCODE);
	tap_ok(!bad, "only frames for this netdev's MAC are judged");
}

static bool same_parse(u32 len, int *is)
{
	struct parsed want, got;
	u32 key = 0, ret;

	memset(&want, 0, sizeof(want));
	parsed_frame(&want, frame, frame + len, len);
	*is = want.is;
	if (run(test->progs.parse, len, 0, &ret) || ret != XDP_PASS)
		return false;
	if (bpf_map_lookup_elem(bpf_map__fd(test->maps.parsed), &key, &got))
		return false;
	return !memcmp(&want, &got, sizeof(want));
}

static u32 seed = 1;

static u32 rnd(void)
{
	seed = seed * 1664525 + 1013904223;
	return seed >> 8;
}

/* Frames with a few bytes changed, mostly among the headers. */
static void mutated(void)
{
	int bad = 0, roce = 0, i;
	struct packet pk;

	for (i = 0; i < 30000; i++) {
		const struct frame_case *c =
			&frame_cases[rnd() % ARRAY_SIZE(frame_cases)];
		u32 len = frame_make(c, frame, &pk), n = rnd() % 4;
		int is;

		/* The first page alone is linear without our asking. */
		if (len > 3000)
			continue;
		while (n--)
			frame[rnd() % (len < 120 ? len : 120)] = rnd();
		if (rnd() % 4 == 0)
			len = 14 + rnd() % (len - 13);
		TAP_CHECK(bad, same_parse(len, &is), "round %d, from %s", i,
			  c->name);
		roce += is != XROCE_ENCAP_OTHER;
	}
	tap_ok(!bad && roce > 1000,
	       "BPF parses as C does (%d frames, %d RoCEv2)", i, roce);
}

static void hot_block(void)
{
	static const u8 transports[] = { XROCE_RC, XROCE_RC, XROCE_XRC, XROCE_UC };
	int fd = bpf_map__fd(test->maps.ruled), bad = 0;
	u32 key = 0, ret, ways[XROCE_WAY_COMPLETE + 1] = { 0 };

	for (int i = 0; i < 20000; i++) {
		struct ruled r, got;

		for (size_t j = 0; j < sizeof(r); j++)
			((u8 *)&r)[j] = rnd();
		/* Half of the PSNs close to what they are compared with */
		if (i & 1) {
			r.hot.una = r.hot.epsn + rnd() % 8;
			r.hot.max = r.hot.una + rnd() % 8;
			r.psn = r.hot.epsn + rnd() % 24 - 4;
			r.hot.msg = rnd() & 3;
			r.psn = rnd() & 1 ? r.hot.epsn : r.psn;
			r.hot.transport = transports[rnd() % 4];
			r.opcode = (rnd() & 31) | r.hot.transport;
			r.hot.mtu_shift = 8 + rnd() % 5;
			r.len = ((rnd() & 1) << r.hot.mtu_shift) + (rnd() & 3 ? 0 : rnd() % 3 - 1);
			r.hot.resp_flags = rnd() & 1 ? 0 : rnd() & 7;
			r.hot.pkt.info = xroce_op_info(r.opcode);
			r.hot.pkt.psn = r.psn;
			r.hot.pkt.payload_len = r.len;
		}
		bpf_map_update_elem(fd, &key, &r, 0);
		memset(frame, 0, 14);
		ruled_hot(&r);
		TAP_CHECK(bad, !run(test->progs.rules, 14, 0, &ret) &&
			  !bpf_map_lookup_elem(fd, &key, &got) &&
			  !memcmp(&r, &got, sizeof(r)), "round %d", i);
		ways[r.way]++;
	}
	tap_ok(!bad && ways[XROCE_WAY_PLACE] > 100 && ways[XROCE_WAY_COMPLETE] > 100,
	       "BPF and C find the same by the hot block's rules (%u to place, %u to complete)",
	       ways[XROCE_WAY_PLACE], ways[XROCE_WAY_COMPLETE]);
}

static void one_capture(const char *name)
{
	int bad = 0, roce = 0, other = 0, is;
	struct pcap pc;
	const u8 *p;
	u32 len;

	if (!pcap_vector(&pc, "../vectors", name))
		return;
	while ((p = pcap_next(&pc, &len))) {
		struct parsed at = { 0 };

		if (len > 3000)
			continue;
		memcpy(frame, p, len);
		TAP_CHECK(bad, same_parse(len, &is), "frame %d", roce + other);
		if (is == XROCE_ENCAP_OTHER) {
			expect(&bad, "other", len, 0, XROCE_XDP_OTHER);
			other++;
			continue;
		}
		roce++;
		parsed_frame(&at, frame, frame + len, len);
		expect(&bad, "between others", len, 0, XROCE_XDP_NOT_OURS);
		set_addr(at.dgid, frame, IFINDEX, true);
		expect(&bad, "no QP", len, 0, XROCE_XDP_NO_QP);
		set_qp(at.pkt.qpn, XROCE_XDP_CPU_STAY);
		expect(&bad, "ours", len, 0, XROCE_XDP_STAY);
		set_addr(at.dgid, frame, IFINDEX, false);
		bpf_map_delete_elem(bpf_map__fd(skel->maps.xroce_qps),
				    &at.pkt.qpn);
	}
	pcap_close(&pc);
	tap_ok(!bad && roce >= 10, "%s: %d frames and %d others", name, roce,
	       other);
}

static void captures(void)
{
	static const char * const names[] = {
		"pingpong_rc", "pingpong_uc", "pingpong_ud", "rdma_send_bw",
		"rdma_write_bw", "rdma_read_bw", "rdma_atomic_bw", "rdma_cm",
		"rping",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		one_capture(names[i]);
}

/**
 * struct fast_case - a packet to a connected QP, and what is to come of it
 * @pk: the packet; an AETH in it has @syndrome, 0: an ACK's without credits
 * @stat: what counts it
 * @msn, @msg, @flags: the QP afterwards
 * @transport: the QP's
 * @in: the kind of message that it is inside of, @had: its flags
 * @bench: to be timed
 */
struct fast_case {
	const char *name;
	struct packet pk;
	enum xroce_xdp_stat stat;
	u32 msn;
	u32 msg;
	u32 flags;
	u8 transport;
	u8 in;
	u8 had;
	u8 syndrome;
	bool bench;
};

/*
 * Make the frame, by IPv6 if @v6, and its QP in the hands of the stand-ins: it waits
 * for PSN 100, and for an ACK of 50 to 59.
 */
static u32 fast_frame(const struct fast_case *c, struct packet *pk, bool v6)
{
	struct xroce_pass qp = {
		.hot = {
			.state = XROCE_QPS_RTS, .transport = c->transport,
			.mtu_shift = 8, .una = 50, .next = 60, .max = 60,
			.epsn = 100, .msg = c->in, .resp_flags = c->had,
		},
	};
	struct parsed at = { 0 };
	u32 len, key;

	*pk = c->pk;
	pk->version = v6 ? 6 : 4;
	len = packet_make(pk, frame);
	key = pk->qpn % FAST_QPS;
	if (xroce_op_info(pk->opcode) & XROCE_OP_AETH)
		frame[pk->bth + 12] = c->syndrome ? c->syndrome : XROCE_AETH_NO_CREDIT;
	parsed_frame(&at, frame, frame + len, len);
	qp.hot.qpn = pk->qpn;
	memcpy(qp.sgid, at.sgid, 16);
	memcpy(qp.dgid, at.dgid, 16);
	memcpy(qp.mac, mac, 6);
	bpf_map_update_elem(bpf_map__fd(fast->maps.fast_qps), &key, &qp, 0);
	return len;
}

/* What the program deals with comes first. */
static const struct fast_case fast_cases[] = {
	{ "WRITE only", { .opcode = 0x0a, .hdr = 16, .payload = 64, .psn = 100 },
	  .stat = XROCE_XDP_FAST, .msn = 1, .bench = true },
	{ "WRITE only with immediate", { .opcode = 0x0b, .hdr = 20, .payload = 64, .psn = 100 },
	  .stat = XROCE_XDP_FAST, .msn = 1, .bench = true },
	{ "WRITE first", { .opcode = 0x06, .hdr = 16, .payload = 256, .psn = 100 },
	  .stat = XROCE_XDP_FAST, .msg = XROCE_OP_WRITE, .bench = true },
	{ "WRITE middle", { .opcode = 0x07, .payload = 256, .psn = 100 },
	  .stat = XROCE_XDP_FAST, .msg = XROCE_OP_WRITE, .in = XROCE_OP_WRITE, .bench = true },
	{ "WRITE last", { .opcode = 0x08, .payload = 1, .psn = 0x80000064 },
	  .stat = XROCE_XDP_FAST, .msn = 1, .flags = XROCE_RESP_ACK,
	  .in = XROCE_OP_WRITE, .bench = true },
	{ "WRITE last with immediate", { .opcode = 0x09, .hdr = 4, .payload = 256, .psn = 100 },
	  .stat = XROCE_XDP_FAST, .msn = 1, .in = XROCE_OP_WRITE },
	{ "SEND only", { .opcode = 0x04, .payload = 64, .psn = 100 },
	  .stat = XROCE_XDP_FAST, .msn = 1, .bench = true },
	{ "SEND only, ACK wanted", { .opcode = 0x04, .payload = 3, .psn = 0x80000064 },
	  .stat = XROCE_XDP_FAST, .msn = 1, .flags = XROCE_RESP_ACK },
	{ "SEND only, ACK owed", { .opcode = 0x04, .payload = 3, .psn = 100 },
	  .stat = XROCE_XDP_FAST, .msn = 1, .flags = XROCE_RESP_ACK, .had = XROCE_RESP_ACK },
	{ "SEND only with immediate", { .opcode = 0x05, .hdr = 4, .payload = 64, .psn = 100 },
	  .stat = XROCE_XDP_FAST, .msn = 1, .bench = true },
	{ "SEND first", { .opcode = 0x00, .payload = 256, .psn = 100 },
	  .stat = XROCE_XDP_FAST, .msg = XROCE_OP_SEND, .bench = true },
	{ "SEND middle", { .opcode = 0x01, .payload = 256, .psn = 100 },
	  .stat = XROCE_XDP_FAST, .msg = XROCE_OP_SEND, .in = XROCE_OP_SEND, .bench = true },
	{ "SEND last", { .opcode = 0x02, .payload = 256, .psn = 100 },
	  .stat = XROCE_XDP_FAST, .msn = 1, .in = XROCE_OP_SEND, .bench = true },
	{ "SEND last with immediate", { .opcode = 0x03, .hdr = 4, .payload = 64, .psn = 100 },
	  .stat = XROCE_XDP_FAST, .msn = 1, .in = XROCE_OP_SEND },
	{ "SEND only to XRC", { .opcode = 0xa4, .hdr = 4, .payload = 64, .psn = 100 },
	  .stat = XROCE_XDP_FAST, .msn = 1, .transport = XROCE_XRC },
	{ "ACK", { .opcode = 0x11, .hdr = 4, .psn = 59 },
	  .stat = XROCE_XDP_FAST, .bench = true },
	{ "ACK with credits", { .opcode = 0x11, .hdr = 4, .psn = 50 },
	  .stat = XROCE_XDP_FAST, .syndrome = 0x05 },
	{ "ACK inside a message", { .opcode = 0x11, .hdr = 4, .psn = 59 },
	  .stat = XROCE_XDP_FAST, .msg = XROCE_OP_SEND, .flags = XROCE_RESP_GAP,
	  .in = XROCE_OP_SEND, .had = XROCE_RESP_GAP },
	{ "READ response", { .opcode = 0x0e, .payload = 256, .psn = 50 },
	  .stat = XROCE_XDP_FAST, .bench = true },
	{ "READ response, last", { .opcode = 0x0f, .hdr = 4, .payload = 7, .psn = 59 },
	  .stat = XROCE_XDP_FAST },
	{ "atomic ACK", { .opcode = 0x12, .hdr = 12, .psn = 50 },
	  .stat = XROCE_XDP_FAST, .bench = true },
	/* What the core is left with */
	{ "READ", { .opcode = 0x0c, .hdr = 16, .psn = 100 },
	  .stat = XROCE_XDP_TAKEN, .bench = true },
	{ "atomic", { .opcode = 0x14, .hdr = 28, .psn = 100 },
	  .stat = XROCE_XDP_TAKEN, .bench = true },
	{ "FLUSH", { .opcode = 0x1c, .hdr = 20, .psn = 100 }, .stat = XROCE_XDP_TAKEN },
	{ "atomic WRITE", { .opcode = 0x1d, .hdr = 16, .payload = 8, .psn = 100 },
	  .stat = XROCE_XDP_TAKEN },
	{ "SEND only with invalidate", { .opcode = 0x17, .hdr = 4, .payload = 64, .psn = 100 },
	  .stat = XROCE_XDP_TAKEN },
	{ "SEND last with invalidate", { .opcode = 0x16, .hdr = 4, .payload = 64, .psn = 100 },
	  .stat = XROCE_XDP_TAKEN, .msg = XROCE_OP_SEND, .in = XROCE_OP_SEND },
	{ "duplicate", { .opcode = 0x0a, .hdr = 16, .payload = 64, .psn = 99 },
	  .stat = XROCE_XDP_TAKEN, .bench = true },
	{ "duplicate inside a message", { .opcode = 0x01, .payload = 256, .psn = 99 },
	  .stat = XROCE_XDP_TAKEN, .msg = XROCE_OP_SEND, .in = XROCE_OP_SEND },
	{ "gap", { .opcode = 0x0a, .hdr = 16, .payload = 64, .psn = 101 },
	  .stat = XROCE_XDP_TAKEN, .bench = true },
	{ "gap inside a message", { .opcode = 0x02, .payload = 256, .psn = 101 },
	  .stat = XROCE_XDP_TAKEN, .msg = XROCE_OP_SEND, .in = XROCE_OP_SEND },
	{ "what fills a gap", { .opcode = 0x04, .payload = 64, .psn = 100 },
	  .stat = XROCE_XDP_TAKEN, .flags = XROCE_RESP_GAP, .had = XROCE_RESP_GAP },
	{ "again after an RNR NAK", { .opcode = 0x04, .payload = 64, .psn = 100 },
	  .stat = XROCE_XDP_TAKEN, .flags = XROCE_RESP_RNR, .had = XROCE_RESP_RNR },
	{ "NAK", { .opcode = 0x11, .hdr = 4, .psn = 59 },
	  .stat = XROCE_XDP_TAKEN, .syndrome = 0x60, .bench = true },
	{ "RNR NAK", { .opcode = 0x11, .hdr = 4, .psn = 59 },
	  .stat = XROCE_XDP_TAKEN, .syndrome = 0x2e, .bench = true },
	{ "ACK of no known kind", { .opcode = 0x11, .hdr = 4, .psn = 59 },
	  .stat = XROCE_XDP_TAKEN, .syndrome = 0x5f },
	{ "ACK, old", { .opcode = 0x11, .hdr = 4, .psn = 49 },
	  .stat = XROCE_XDP_TAKEN },
	{ "ACK of what was not sent", { .opcode = 0x11, .hdr = 4, .psn = 60 },
	  .stat = XROCE_XDP_TAKEN },
	{ "READ response, old", { .opcode = 0x0e, .payload = 256, .psn = 49 },
	  .stat = XROCE_XDP_TAKEN },
	{ "atomic ACK, old", { .opcode = 0x12, .hdr = 12, .psn = 49 },
	  .stat = XROCE_XDP_TAKEN },
	{ "SEND first, short", { .opcode = 0x00, .payload = 252, .psn = 100 },
	  .stat = XROCE_XDP_TAKEN },
	{ "SEND only, long", { .opcode = 0x04, .payload = 257, .psn = 100 },
	  .stat = XROCE_XDP_TAKEN },
	{ "WRITE last, empty", { .opcode = 0x08, .psn = 100 },
	  .stat = XROCE_XDP_TAKEN, .msg = XROCE_OP_WRITE, .in = XROCE_OP_WRITE },
	{ "SEND middle of nothing", { .opcode = 0x01, .payload = 256, .psn = 100 },
	  .stat = XROCE_XDP_TAKEN },
	{ "SEND middle of a WRITE", { .opcode = 0x01, .payload = 256, .psn = 100 },
	  .stat = XROCE_XDP_TAKEN, .msg = XROCE_OP_WRITE, .in = XROCE_OP_WRITE },
	{ "SEND first of a SEND", { .opcode = 0x00, .payload = 256, .psn = 100 },
	  .stat = XROCE_XDP_TAKEN, .msg = XROCE_OP_SEND, .in = XROCE_OP_SEND },
	{ "SEND only to UC", { .opcode = 0x24, .payload = 64, .psn = 100 },
	  .stat = XROCE_XDP_TAKEN, .transport = XROCE_UC },
	/* And what is not for it */
	{ "another QP's number", { .opcode = 0x04, .psn = 100, .qpn = 17 + FAST_QPS },
	  .stat = XROCE_XDP_NO_QP },
	{ "of UC", { .opcode = 0x24, .psn = 100 }, .stat = XROCE_XDP_STAY },
	{ "of XRC", { .opcode = 0xa4, .hdr = 4, .psn = 100 }, .stat = XROCE_XDP_STAY },
	{ "malformed", { .opcode = 0x11, .hdr = 4, .payload = 4, .psn = 59 },
	  .stat = XROCE_XDP_DROP_LENGTH },
};

/* What the rules say is what is done and counted. */
static void fast_path(void)
{
	int fd = bpf_map__fd(fast->maps.fast_qps), bad = 0;
	struct xroce_pass qp;
	struct packet pk;

	for (size_t i = 0; i < 2 * ARRAY_SIZE(fast_cases); i++) {
		const struct fast_case *c = &fast_cases[i / 2];
		u32 len, key = 17;

		len = fast_frame(c, &pk, i & 1);
		if (pk.qpn != key) {
			bpf_map_lookup_elem(fd, &key, &qp);
			qp.hot.qpn = key;
			bpf_map_update_elem(fd, &key, &qp, 0);
		}
		expect_of(fast->progs.xroce, &bad, c->name, len, 0, c->stat);
		bpf_map_lookup_elem(fd, &key, &qp);
		TAP_CHECK(bad, qp.hot.msn == c->msn && qp.hot.msg == c->msg &&
			  qp.hot.resp_flags == c->flags,
			  "%s: MSN %u, inside %x, flags %x", c->name,
			  qp.hot.msn, qp.hot.msg, qp.hot.resp_flags);
		frame[pk.l3 + (i & 1 ? 23 : 15)] ^= 1;
		expect_of(fast->progs.xroce, &bad, "from another", len, 0,
			  c->stat == XROCE_XDP_FAST ||
			  c->stat == XROCE_XDP_TAKEN ? XROCE_XDP_STAY : c->stat);
	}
	tap_ok(!bad, "the rules' word is the program's deed (%zu packets)",
	       ARRAY_SIZE(fast_cases));
}

/* Nanoseconds a frame, of one run. */
static u32 once(struct bpf_program *prog, u32 len)
{
	struct bpf_test_run_opts opts = {
		.sz = sizeof(opts), .data_in = frame, .data_size_in = len,
		.repeat = 100000,
	};

	return bpf_prog_test_run_opts(bpf_program__fd(prog), &opts) ?
	       0 : opts.duration;
}

/*
 * The best of many short runs, in turns with a program that does nothing: what
 * else goes on only makes one slower.
 */
static void timed(const char *name, struct bpf_program *prog, u32 len)
{
	u32 best = ~0u, none = ~0u;

	for (int i = 0; i < 16; i++) {
		u32 is = once(prog, len), empty = once(test->progs.empty, len);

		best = is < best ? is : best;
		none = empty < none ? empty : none;
	}
	tap_note("%s: %u ns a frame, of which %u without a program's work",
		 name, best, none);
}

/* What stays the stack's, or is for it as there is no module. */
static void bench(void)
{
	static const struct {
		const char *name;
		struct packet pk;
		u8 proto;
	} frames[] = {
		{ "TCP, IPv4", { .payload = 64 }, 6 },
		{ "TCP, IPv6", { .payload = 64, .version = 6 }, 6 },
		{ "RoCEv2 for another", { .payload = 64, .dst = 3 }, 17 },
		{ "WRITE only for the stack",
		  { .opcode = 0x0a, .hdr = 16, .payload = 64 }, 17 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		struct packet pk = frames[i].pk;
		u32 len = packet_make(&pk, frame);

		frame[pk.l3 + (pk.version == 6 ? 6 : 9)] = frames[i].proto;
		timed(frames[i].name, skel->progs.xroce, len);
	}
	timed("a call and its return", test->progs.call, 64);
}

/* Of a connected QP: that it went where it should is fast_path()'s to know. */
static void bench_fast(void)
{
	struct packet pk;
	char name[64];

	for (size_t i = 0; i < 2 * ARRAY_SIZE(fast_cases); i++) {
		const struct fast_case *c = &fast_cases[i / 2];

		if (!c->bench)
			continue;
		snprintf(name, sizeof(name), "%s, IPv%u", c->name, i & 1 ? 6 : 4);
		timed(name, fast->progs.xroce, fast_frame(c, &pk, i & 1));
	}
}

static bool module_loaded(void)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	bool found = false;
	char line[512];

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, " bpf_xroce_addr\t");
	if (f)
		fclose(f);
	return found;
}

static int setup(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	skel = xroce_bpf__open();
	if (!skel)
		return -1;
	bpf_map__set_max_entries(skel->maps.xroce_cpus, CPUMAP_SIZE);
	if (xroce_bpf__load(skel))
		return -1;
	test = test_bpf__open_and_load();
	fast = fast_bpf__open();
	if (!test || !fast)
		return -1;
	/* One set of counters, whichever of the two counts. */
	if (bpf_map__reuse_fd(fast->maps.xroce_stats,
			      bpf_map__fd(skel->maps.xroce_stats)) ||
	    bpf_map__reuse_fd(fast->maps.xroce_addrs,
			      bpf_map__fd(skel->maps.xroce_addrs)) ||
	    bpf_map__reuse_fd(fast->maps.xroce_qps,
			      bpf_map__fd(skel->maps.xroce_qps)) ||
	    fast_bpf__load(fast))
		return -1;
	set_addr(gid4, mac, IFINDEX, true);
	set_addr(gid6, mac, IFINDEX, true);
	set_qp(17, XROCE_XDP_CPU_STAY);
	return 0;
}

int main(int argc, char **argv)
{
	tap_start();
	if (geteuid()) {
		tap_skip("xdp", "needs root");
		return tap_end();
	}
	/* With it the program asks the module and not the test's maps. */
	if (module_loaded()) {
		tap_skip("xdp", "the module is loaded");
		return tap_end();
	}
	if (!tap_ok(!setup(), "the verifier takes the programs"))
		return tap_end();
	kinds();
	linear();
	to_cpus();
	netdevs();
	captures();
	mutated();
	hot_block();
	fast_path();
	if (argc > 1 && !strcmp(argv[1], "--bench")) {
		bench();
		bench_fast();
	}
	fast_bpf__destroy(fast);
	xroce_bpf__destroy(skel);
	test_bpf__destroy(test);
	return tap_end();
}
