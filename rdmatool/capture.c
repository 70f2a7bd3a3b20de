// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * All RoCEv2 packets of a device of xroce, as the module's tracepoints show them
 * to a BPF program: into a file, or printed. Owns the capture under way; one
 * thread, ended by a signal, a count or a time.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>
#include <xroce/counters.h>
#include <xroce/opcode.h>
#include <xroce/xdp.h>

#include "pcapng.h"
#include "rdmatool.h"

#ifdef HAVE_BPF

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <xroce/capture.h>

#include "capture.skel.h"

#define RING_MIB	16

struct verdict {
	const char *name;
	const char *text;
};

/* By the numbers that the module has for them. */
static const struct verdict verdicts[256] = {
#define COUNTER(sym, str, text) \
	[XROCE_CNT_##sym] = { #str, text },
	XROCE_COUNTERS(COUNTER)
#undef COUNTER
#define XDP_STAT(sym, str, text) \
	[XROCE_VERDICT_XDP + XROCE_XDP_##sym] = { "xdp_" #str, text },
	XROCE_XDP_STATS(XDP_STAT)
#undef XDP_STAT
};

/**
 * struct session - the capture under way
 * @file: NULL: print
 * @lost: how many the reader knows of
 * @live: packets may come faster than they are read, so that reading has no end
 */
struct session {
	struct ng_file *file;
	struct ng_stats st;
	struct end end;
	u64 lost;
	bool live;
};

static bool is_drop(u32 v)
{
	return (v >= XROCE_CNT_DROP_OPTIONS && v < XROCE_CNT_MAX) ||
	       v >= XROCE_VERDICT_XDP;
}

/* Where two words mean the same but for case, and the first may be shorter. */
static bool begins(const char *word, const char *name)
{
	return *word && !strncasecmp(word, name, strlen(word));
}

static void set_bit(u64 set[4], u32 i)
{
	set[i / 64] |= 1ull << i % 64;
}

/* A number, the beginning of a name, or of one with its transport: RC_SEND. */
static bool set_opcode(struct xroce_filter *filter, const char *word)
{
	bool found = false;
	char name[64];
	u32 op;

	if (*word >= '0' && *word <= '9') {
		set_bit(filter->opcode, parse_uint("capture: opcode", word, 255));
		return true;
	}
	for (op = 0; op < 256; op++) {
		if (!xroce_op_info(op))
			continue;
		snprintf(name, sizeof(name), "%s_%s", transport_name(op),
			 opcode_name(op));
		if (begins(word, name) || begins(word, opcode_name(op))) {
			set_bit(filter->opcode, op);
			found = true;
		}
	}
	return found;
}

static bool set_verdict(struct xroce_filter *filter, const char *word)
{
	bool found = false;
	u32 v;

	for (v = 0; v < 256; v++) {
		if (!verdicts[v].name)
			continue;
		if (!begins(word, verdicts[v].name) &&
		    !(!strcasecmp(word, "sent") && v == XROCE_CNT_TX_PKTS) &&
		    !(!strcasecmp(word, "received") && v == XROCE_CNT_RX_PKTS) &&
		    !(begins(word, "dropped") && (is_drop(v) || v == XROCE_CNT_TX_DROPPED)))
			continue;
		set_bit(filter->verdict, v);
		found = true;
	}
	return found;
}

/* Each word of a list as a,b,c; without a list, everything. */
static void set_words(struct xroce_filter *filter, u64 set[4], const char *what,
		      const char *list,
		      bool (*fn)(struct xroce_filter *filter, const char *word))
{
	char *copy, *word, *rest;

	if (!list) {
		memset(set, 0xff, 4 * sizeof(*set));
		return;
	}
	copy = strdup(list);
	if (!copy)
		fail("out of memory");
	for (rest = copy; (word = strsep(&rest, ","));)
		if (!fn(filter, word))
			usage("capture: there is no %s \"%s\"", what, word);
	free(copy);
}

static void set_peer(struct xroce_filter *filter, const char *peer)
{
	struct in6_addr a = {};

	if (!peer)
		return;
	if (inet_pton(AF_INET6, peer, &a) != 1) {
		a.s6_addr[10] = 0xff;
		a.s6_addr[11] = 0xff;
		if (inet_pton(AF_INET, peer, a.s6_addr + 12) != 1)
			usage("capture: peer: \"%s\" is not an IPv4 or IPv6 address",
			      peer);
	}
	memcpy(filter->peer, &a, sizeof(filter->peer));
	filter->by_peer = true;
}

static u8 parse_dir(const char *dir)
{
	if (!dir)
		return XROCE_CAPTURE_SENT | XROCE_CAPTURE_RECEIVED;
	if (!strcmp(dir, "out"))
		return XROCE_CAPTURE_SENT;
	if (!strcmp(dir, "in"))
		return XROCE_CAPTURE_RECEIVED;
	usage("capture: dir: in or out expected, not \"%s\"", dir);
}

static int on_packet(void *arg, void *data, size_t size)
{
	const struct xroce_captured *c = data;
	const struct verdict *v = &verdicts[c->verdict];
	struct session *s = arg;
	char comment[256];
	struct cap_frame f = {
		.ns = c->ns,
		.link_type = NG_LT_ETHERNET,
		.len = c->len,
		.cap_len = c->cap,
		.data = c->data,
		.dir = c->received ? CAP_IN : CAP_OUT,
		.comment = comment,
	};
	int n;

	if (s->end.count && s->st.written == s->end.count)
		return -ECANCELED;
	n = snprintf(comment, sizeof(comment), "qp %u %s", c->qpn,
		     v->name ?: "verdict unknown");
	if (is_drop(c->verdict) && v->text)
		n += snprintf(comment + n, sizeof(comment) - n, ": %s", v->text);
	/* Records of two CPUs may have changed places. */
	if (c->lost > s->lost) {
		snprintf(comment + n, sizeof(comment) - n,
			 " (%llu packets lost before)",
			 (unsigned long long)(c->lost - s->lost));
		s->lost = c->lost;
	}
	if (s->file)
		ng_packet(s->file, &f);
	else
		decode_frame(&f);
	s->st.written++;
	return s->live && !end_wait(&s->end, s->st.written) ? -ECANCELED : 0;
}

static void flush(const struct session *s)
{
	if (s->file)
		ng_flush(s->file);
	else if (fflush(stdout))
		fail("cannot write the output: %s", strerror(errno));
}

static bool is_there(const struct rdev *dev)
{
	struct xlink *links = xlink_all(), *xl;
	bool there;

	for (xl = links; xl->ifindex && xl->dev_index != dev->index; xl++)
		;
	there = xl->ifindex;
	free(links);
	return there;
}

static void run(struct session *s, struct ring_buffer *rb,
		const struct rdev *dev)
{
	u64 now, looked = now_ns(CLOCK_MONOTONIC);
	int ret, wait;

	while ((wait = end_wait(&s->end, s->st.written))) {
		ret = ring_buffer__poll(rb, wait);
		if (ret < 0 && ret != -EINTR && ret != -ECANCELED)
			fail("capture: cannot read the ring: %s", strerror(-ret));
		flush(s);
		now = now_ns(CLOCK_MONOTONIC);
		if (ret || now - looked < SECOND)
			continue;
		looked = now;
		if (!is_there(dev)) {
			warn("capture: %s has gone", dev->name);
			break;
		}
	}
}

static struct xroce_capture *load(const struct xroce_filter *filter, u64 mib)
{
	struct xroce_capture *skel;
	int err;
	u32 id;

	bpf_log_start();
	/* The tracepoints' types come from there. */
	if (access("/sys/kernel/btf/vmlinux", F_OK))
		fail("capture: the kernel has no BTF (/sys/kernel/btf/vmlinux)");
	if (access("/sys/kernel/btf/xroce", F_OK))
		fail("capture: the module has no BTF (/sys/kernel/btf/xroce): "
		     "build it anew; make says what its BTF wants");
	skel = xroce_capture__open();
	if (!skel)
		fail("capture: cannot open the program: %s", strerror(errno));
	*(struct xroce_filter *)&skel->rodata->filter = *filter;
	err = bpf_map__set_max_entries(skel->maps.ring, mib << 20);
	if (!err)
		err = xroce_capture__load(skel);
	/* Where anybody may load programs, but not look at a module's types. */
	if (err == -EPERM || (err && bpf_btf_get_next_id(0, &id) == -EPERM))
		fail("capture: not permitted: it needs CAP_SYS_ADMIN of the host");
	if (!err)
		err = xroce_capture__attach(skel);
	if (err)
		fail("capture: cannot load the program: %s%s%s%s", strerror(-err),
		     *bpf_log() ? " (" : "", bpf_log(), *bpf_log() ? ")" : "");
	return skel;
}

/* Runs that the kernel left out, since one was under way on that CPU. */
static u64 missed(const struct bpf_program *prog)
{
	struct bpf_prog_info info = {};
	u32 len = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len))
		return 0;
	return info.recursion_misses;
}

static void capture(const struct rdev *dev, const char *ifname,
		    const struct xroce_filter *filter, const char *path,
		    struct session *s, u64 mib)
{
	struct xroce_capture *skel = load(filter, mib);
	struct ring_buffer *rb;
	char what[128];

	rb = ring_buffer__new(bpf_map__fd(skel->maps.ring), on_packet, s, NULL);
	if (!rb)
		fail("capture: cannot map the ring: %s", strerror(errno));
	end_begin(&s->end);
	s->st.start = now_ns(CLOCK_REALTIME);
	snprintf(what, sizeof(what), "RDMA device %s over %s", dev->name, ifname);
	if (path)
		s->file = ng_open(path, dev->name, what);
	else
		decode_begin();
	warn("capturing on %s, end with Ctrl-C", dev->name);
	s->live = true;
	run(s, rb, dev);
	s->live = false;
	/* What is in the ring by now was captured. */
	xroce_capture__detach(skel);
	ring_buffer__consume(rb);
	s->st.end = now_ns(CLOCK_REALTIME);
	s->st.seen = skel->bss->seen;
	s->st.wanted = skel->bss->wanted;
	s->st.lost = skel->bss->lost + missed(skel->progs.capture_sent) +
		     missed(skel->progs.capture_received);
	if (s->file)
		ng_close(s->file, &s->st);
	else
		decode_end();
	warn("%llu packets captured, %llu lost, of %llu of %s",
	     (unsigned long long)s->st.written, (unsigned long long)s->st.lost,
	     (unsigned long long)s->st.seen, dev->name);
	ring_buffer__free(rb);
	xroce_capture__destroy(skel);
}

/**
 * cmd_capture() - see and store the packets of a device
 */
void cmd_capture(int argc, char **argv)
{
	const char *qp = NULL, *peer = NULL, *opcode = NULL, *verdict = NULL;
	const char *dir = NULL, *file = NULL, *count = NULL, *time = NULL;
	const char *ring = NULL;
	const struct arg args[] = {
		{ "qp", &qp }, { "peer", &peer }, { "opcode", &opcode },
		{ "verdict", &verdict }, { "dir", &dir }, { "-w", &file },
		{ "-c", &count }, { "-t", &time }, { "-B", &ring }, {}
	};
	struct xroce_filter filter = {};
	struct session s = {};
	struct xlink xl;
	const struct rdev *dev;
	u64 mib;

	if (!argc)
		usage("capture: NAME expected");
	parse_args("capture", args, argc - 1, argv + 1);
	set_words(&filter, filter.opcode, "opcode", opcode, set_opcode);
	set_words(&filter, filter.verdict, "verdict", verdict, set_verdict);
	set_peer(&filter, peer);
	filter.dirs = parse_dir(dir);
	filter.by_qp = !!qp;
	filter.qpn = qp ? parse_uint("capture: qp", qp, XROCE_QPN_MASK) : 0;
	s.end = end_parse("capture", count, time);
	mib = ring ? parse_uint("capture: -B", ring, 1024) : RING_MIB;
	if (!mib || mib & (mib - 1))
		usage("capture: -B: a power of 2 expected, in MiB");
	dev = rdev_get(rdev_word(argv[0]));
	if (!xlink_get(dev->name, &xl))
		fail("capture: %s is not a device of xroce: others do not show their packets",
		     dev->name);
	filter.dev = dev->index;
	capture(dev, xl.ifname, &filter, file, &s, mib);
}

#else /* !HAVE_BPF */

void cmd_capture(int argc, char **argv)
{
	fail("capture: this rdmatool was built without BPF");
}

#endif
