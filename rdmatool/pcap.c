// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Capture files: classic pcap in both byte orders and resolutions, and the
 * blocks of pcapng that carry packets. Nothing in a file is believed: each
 * length is checked, and the first that is wrong ends the reading with a reason.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pcapng.h"
#include "rdmatool.h"

#define PCAP_US		0xa1b2c3d4u
#define PCAP_NS		0xa1b23c4du

#define MAX_PACKET	(256u << 10)	/* what libpcap and wireshark allow */
#define MAX_BLOCK	(16u << 20)
#define MAX_IFS		1024

struct iface {
	u32 link_type;
	u32 snaplen;
	u64 ticks;		/* per second */
};

struct capture {
	FILE *f;
	bool ng;
	bool swap;
	u64 at;			/* bytes read */
	u64 n;			/* packets or blocks read */
	struct iface ifs[MAX_IFS];
	u32 n_ifs;
	u8 *buf;
	char comment[256];
	char why[200];
};

static __printf(2, 3) int bad(struct capture *cap, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cap->why, sizeof(cap->why), fmt, ap);
	va_end(ap);
	return -1;
}

/**
 * cap_why() - why cap_next() returned -1
 */
const char *cap_why(const struct capture *cap)
{
	return cap->why;
}

static u16 get16(const struct capture *cap, const u8 *p)
{
	u16 v;

	memcpy(&v, p, sizeof(v));
	return cap->swap ? __builtin_bswap16(v) : v;
}

static u32 get32(const struct capture *cap, const u8 *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return cap->swap ? __builtin_bswap32(v) : v;
}

/* 1: all of it; 0: the file ended before; -1: in the midst, or an error. */
static int get(struct capture *cap, void *p, size_t len, const char *what)
{
	size_t n = fread(p, 1, len, cap->f);

	cap->at += n;
	if (n == len)
		return 1;
	if (ferror(cap->f))
		return bad(cap, "cannot read: %s", strerror(errno));
	if (!n)
		return 0;
	return bad(cap, "ends at byte %llu, inside %s %llu",
		   (unsigned long long)cap->at, what,
		   (unsigned long long)cap->n + 1);
}

/* As get(), where the end of the file is no good either. */
static int must(struct capture *cap, void *p, size_t len, const char *what)
{
	int ret = len ? get(cap, p, len, what) : 1;

	if (ret)
		return ret;
	return bad(cap, "ends at byte %llu, inside %s %llu",
		   (unsigned long long)cap->at, what,
		   (unsigned long long)cap->n + 1);
}

/* Exact for the clocks in use, to 2^-53 s for finer ones. */
static u64 to_ns(u64 t, u64 ticks)
{
	const u64 second = 1000000000;
	u64 rest = t % ticks;

	if (ticks <= second)
		rest = rest * second / ticks;
	else
		rest = (double)rest / ticks * second;
	return t / ticks * second + rest;
}

static void open_classic(struct capture *cap, const char *path, u32 magic)
{
	u8 hdr[20];

	cap->ifs[0].ticks = magic == PCAP_NS ? 1000000000 : 1000000;
	if (must(cap, hdr, sizeof(hdr), "header") < 0)
		fail("%s: %s", path, cap->why);
	if (get16(cap, hdr) != 2)
		fail("%s: pcap version %u.%u, 2 is known", path,
		     get16(cap, hdr), get16(cap, hdr + 2));
	cap->ifs[0].link_type = get32(cap, hdr + 16) & 0xffff;
	cap->n_ifs = 1;
}

/**
 * cap_open() - open a capture file
 * @path: - is standard input
 */
struct capture *cap_open(const char *path)
{
	struct capture *cap = calloc(1, sizeof(*cap));
	u8 head[4];
	u32 magic;
	int ret;

	if (!cap)
		fail("out of memory");
	cap->f = strcmp(path, "-") ? fopen(path, "re") : stdin;
	if (!cap->f)
		fail("%s: %s", path, strerror(errno));
	cap->buf = malloc(1);
	ret = get(cap, head, sizeof(head), "header");
	if (!ret)
		fail("%s: empty", path);
	if (ret < 0)
		fail("%s: %s", path, cap->why);
	memcpy(&magic, head, sizeof(magic));
	if (magic == NG_SHB) {
		cap->ng = true;
		return cap;
	}
	cap->swap = magic == __builtin_bswap32(PCAP_US) ||
		    magic == __builtin_bswap32(PCAP_NS);
	magic = get32(cap, head);
	if (magic == PCAP_US || magic == PCAP_NS)
		open_classic(cap, path, magic);
	else if (head[0] == 0x1f && head[1] == 0x8b)
		fail("%s: compressed: pipe it through gunzip", path);
	else
		fail("%s: neither pcap nor pcapng (begins with %02x %02x %02x %02x)",
		     path, head[0], head[1], head[2], head[3]);
	return cap;
}

void cap_close(struct capture *cap)
{
	fclose(cap->f);
	free(cap->buf);
	free(cap);
}

/* As long as the packet and no longer, so that a sanitizer sees an overread. */
static int fill(struct capture *cap, u32 len, const char *what)
{
	free(cap->buf);
	cap->buf = malloc(len ?: 1);
	if (!cap->buf)
		fail("out of memory");
	return must(cap, cap->buf, len, what);
}

static int next_classic(struct capture *cap, struct cap_frame *f)
{
	u8 hdr[16];
	int ret = get(cap, hdr, sizeof(hdr), "packet");

	if (ret <= 0)
		return ret;
	f->cap_len = get32(cap, hdr + 8);
	f->len = get32(cap, hdr + 12);
	if (f->cap_len > MAX_PACKET || f->cap_len > f->len)
		return bad(cap, "damaged: packet %llu says %u bytes of %u",
			   (unsigned long long)cap->n + 1, f->cap_len, f->len);
	if (fill(cap, f->cap_len, "packet") < 0)
		return -1;
	cap->n++;
	f->ns = get32(cap, hdr) * 1000000000ull +
		to_ns(get32(cap, hdr + 4), cap->ifs[0].ticks);
	f->link_type = cap->ifs[0].link_type;
	f->data = cap->buf;
	return 1;
}

/* The option at @p, if one is there; @p becomes where the next one is. */
static bool ng_opt(const struct capture *cap, const u8 **p, const u8 *end,
		   u32 *opt, const u8 **val, u32 *len)
{
	u32 room;

	if (end - *p < 4)
		return false;
	room = end - *p - 4;
	*opt = get16(cap, *p);
	*len = get16(cap, *p + 2);
	*val = *p + 4;
	if (*opt == NG_OPT_END || *len > room)
		return false;
	*p += 4 + (*len + 3 < room ? (*len + 3) & ~3u : room);
	return true;
}

/* An interface: @len bytes of body at cap->buf. */
static int ng_iface(struct capture *cap, u32 len)
{
	struct iface *i = &cap->ifs[cap->n_ifs];
	const u8 *p = cap->buf + 8, *end = cap->buf + len, *val;
	u32 opt, n, k;

	if (len < 8)
		return bad(cap, "damaged: block %llu: interface of %u bytes",
			   (unsigned long long)cap->n, len);
	if (cap->n_ifs == MAX_IFS)
		return bad(cap, "more than %u interfaces", MAX_IFS);
	i->link_type = get16(cap, cap->buf);
	i->snaplen = get32(cap, cap->buf + 4);
	i->ticks = 1000000;
	while (ng_opt(cap, &p, end, &opt, &val, &n)) {
		if (opt != NG_IF_TSRESOL || n != 1)
			continue;
		k = *val & 0x7f;
		if (k > (*val & 0x80 ? 63 : 19))
			return bad(cap, "damaged: block %llu: clock resolution %#x",
				   (unsigned long long)cap->n, *val);
		for (i->ticks = 1; k; k--)
			i->ticks *= *val & 0x80 ? 2 : 10;
	}
	cap->n_ifs++;
	return 0;
}

/* What is said of a packet behind it. */
static void ng_about(struct capture *cap, const u8 *p, const u8 *end,
		     struct cap_frame *f)
{
	const u8 *val;
	u32 opt, n;

	while (ng_opt(cap, &p, end, &opt, &val, &n)) {
		if (opt == NG_EPB_FLAGS && n == 4)
			f->dir = get32(cap, val) & 3;
		if (opt == NG_OPT_COMMENT)
			snprintf(cap->comment, sizeof(cap->comment), "%.*s",
				 (int)n, val);
	}
	if (f->dir > CAP_OUT)
		f->dir = CAP_NO_DIR;
}

static int block_packet(struct capture *cap, u32 type, u32 len,
			struct cap_frame *f)
{
	const u8 *p = cap->buf;
	u32 ifn = 0, hdr = type == NG_EPB ? 20 : 4;

	if (len < hdr)
		return bad(cap, "damaged: block %llu: packet of %u bytes",
			   (unsigned long long)cap->n, len);
	if (type == NG_EPB)
		ifn = get32(cap, p);
	if (ifn >= cap->n_ifs)
		return bad(cap, "damaged: block %llu: interface %u of %u",
			   (unsigned long long)cap->n, ifn, cap->n_ifs);
	f->ns = 0;
	f->link_type = cap->ifs[ifn].link_type;
	if (type == NG_EPB) {
		f->ns = to_ns((u64)get32(cap, p + 4) << 32 | get32(cap, p + 8),
			      cap->ifs[ifn].ticks);
		f->cap_len = get32(cap, p + 12);
		f->len = get32(cap, p + 16);
	} else {
		u32 snaplen = cap->ifs[0].snaplen;

		f->len = get32(cap, p);
		f->cap_len = snaplen && snaplen < f->len ? snaplen : f->len;
	}
	if (f->cap_len > MAX_PACKET || f->cap_len > f->len ||
	    f->cap_len > len - hdr)
		return bad(cap, "damaged: block %llu says %u bytes of %u, in %u",
			   (unsigned long long)cap->n, f->cap_len, f->len,
			   len - hdr);
	if (type == NG_EPB) {
		u32 opts = hdr + ((f->cap_len + 3) & ~3u);

		if (opts < len)
			ng_about(cap, p + opts, p + len, f);
	}
	memmove(cap->buf, p + hdr, f->cap_len);
	p = realloc(cap->buf, f->cap_len ?: 1);
	if (p)
		cap->buf = (u8 *)p;
	f->data = cap->buf;
	return 1;
}

/* Head and body of a block; its body's length, or -1, or -2 at the end. */
static long ng_block(struct capture *cap, u32 *type)
{
	u8 head[4], tail[4];
	u32 len;
	int ret = 1;

	/* The first section's type was read with the file's magic. */
	if (cap->at == 4)
		memcpy(head, &(u32){ NG_SHB }, 4);
	else
		ret = get(cap, head, sizeof(head), "block");
	if (ret <= 0)
		return ret ? -1 : -2;
	memcpy(type, head, sizeof(*type));
	if (must(cap, head, sizeof(head), "block") < 0)
		return -1;
	if (*type == NG_SHB) {
		u8 order[4];

		if (must(cap, order, sizeof(order), "block") < 0)
			return -1;
		cap->swap = false;
		if (get32(cap, order) != NG_ORDER) {
			cap->swap = true;
			if (get32(cap, order) != NG_ORDER)
				return bad(cap, "damaged: block %llu: no byte order",
					   (unsigned long long)cap->n + 1);
		}
		cap->n_ifs = 0;
	} else {
		*type = get32(cap, (u8 *)type);
	}
	len = get32(cap, head);
	ret = *type == NG_SHB ? 16 : 12;
	if (len < (u32)ret || len % 4 || len > MAX_BLOCK)
		return bad(cap, "damaged: block %llu says it has %u bytes",
			   (unsigned long long)cap->n + 1, len);
	len -= ret;
	if (fill(cap, len, "block") < 0 ||
	    must(cap, tail, sizeof(tail), "block") < 0)
		return -1;
	cap->n++;
	if (get32(cap, tail) != len + ret)
		return bad(cap, "damaged: block %llu has %u bytes at its head, %u at its end",
			   (unsigned long long)cap->n, len + ret,
			   get32(cap, tail));
	return len;
}

static int next_ng(struct capture *cap, struct cap_frame *f)
{
	u32 type;
	long len;

	for (;;) {
		len = ng_block(cap, &type);
		if (len < 0)
			return len == -2 ? 0 : -1;
		if (type == NG_IDB && ng_iface(cap, len) < 0)
			return -1;
		if (type == NG_EPB || type == NG_SPB)
			return block_packet(cap, type, len, f);
	}
}

/**
 * cap_next() - the next frame, valid until the call after
 *
 * Return: 1, 0 at the end, -1 when the file is damaged.
 */
int cap_next(struct capture *cap, struct cap_frame *f)
{
	f->dir = CAP_NO_DIR;
	f->comment = cap->comment;
	*cap->comment = 0;
	return cap->ng ? next_ng(cap, f) : next_classic(cap, f);
}
