// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Writing a pcapng file (draft-ietf-opsawg-pcapng): one section, one interface,
 * packets with direction and comment, statistics at the end. Owns the block that
 * is being made.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pcapng.h"
#include "rdmatool.h"

#define MAX_BLOCK	8192

struct ng_file {
	FILE *f;
	const char *path;
	size_t n;
	u8 block[MAX_BLOCK];
};

static void put(struct ng_file *ng, const void *p, size_t len)
{
	static const u8 zero[4];
	size_t pad = -len & 3;

	if (ng->n + len + pad > sizeof(ng->block))
		abort();
	memcpy(ng->block + ng->n, p, len);
	memcpy(ng->block + ng->n + len, zero, pad);
	ng->n += len + pad;
}

static void put_32(struct ng_file *ng, u32 v)
{
	put(ng, &v, sizeof(v));
}

static void put_two(struct ng_file *ng, u16 a, u16 b)
{
	const u16 v[] = { a, b };

	put(ng, v, sizeof(v));
}

/* 64 bits that are two of 32, the upper first. */
static void put_time(struct ng_file *ng, u64 ns)
{
	put_32(ng, ns >> 32);
	put_32(ng, ns);
}

static void opt(struct ng_file *ng, u16 code, const void *p, u16 len)
{
	u16 head[2] = { code, len };

	put(ng, head, sizeof(head));
	put(ng, p, len);
}

static void opt_str(struct ng_file *ng, u16 code, const char *s)
{
	opt(ng, code, s, strlen(s));
}

static void opt_time(struct ng_file *ng, u16 code, u64 ns)
{
	u32 t[2] = { ns >> 32, ns };

	opt(ng, code, t, sizeof(t));
}

static void begin(struct ng_file *ng, u32 type)
{
	ng->n = 0;
	put_32(ng, type);
	put_32(ng, 0);
}

static void end(struct ng_file *ng)
{
	u32 len = ng->n + 4;

	put_32(ng, len);
	memcpy(ng->block + 4, &len, sizeof(len));
	if (fwrite(ng->block, len, 1, ng->f) != 1)
		fail("%s: %s", ng->path, strerror(errno));
}

/**
 * ng_open() - begin a file
 * @path: - is standard output
 * @name: of the interface
 * @what: it is
 */
struct ng_file *ng_open(const char *path, const char *name, const char *what)
{
	struct ng_file *ng = calloc(1, sizeof(*ng));
	u8 ns = 9;

	if (!ng)
		fail("out of memory");
	ng->path = path;
	if (strcmp(path, "-")) {
		ng->f = fopen(path, "we");
		if (!ng->f)
			fail("%s: %s", path, strerror(errno));
	} else {
		if (isatty(STDOUT_FILENO))
			usage("a capture is not for the terminal: -w FILE, or a pipe");
		ng->f = stdout;
	}
	begin(ng, NG_SHB);
	put_32(ng, NG_ORDER);
	put_two(ng, 1, 0);		/* version 1.0 */
	put_32(ng, ~0u);		/* of any length */
	put_32(ng, ~0u);
	opt_str(ng, NG_SHB_APPL, "rdmatool " XROCE_VERSION);
	opt(ng, NG_OPT_END, NULL, 0);
	end(ng);
	begin(ng, NG_IDB);
	put_two(ng, NG_LT_ETHERNET, 0);
	put_32(ng, 0);			/* packets are whole */
	opt_str(ng, NG_IF_NAME, name);
	opt_str(ng, NG_IF_DESCRIPTION, what);
	opt(ng, NG_IF_TSRESOL, &ns, sizeof(ns));
	opt(ng, NG_OPT_END, NULL, 0);
	end(ng);
	return ng;
}

/**
 * ng_packet() - add a packet
 * @f: the packet
 */
void ng_packet(struct ng_file *ng, const struct cap_frame *f)
{
	u32 flags = f->dir;

	begin(ng, NG_EPB);
	put_32(ng, 0);
	put_time(ng, f->ns);
	put_32(ng, f->cap_len);
	put_32(ng, f->len);
	put(ng, f->data, f->cap_len);
	opt(ng, NG_EPB_FLAGS, &flags, sizeof(flags));
	if (*f->comment)
		opt_str(ng, NG_OPT_COMMENT, f->comment);
	opt(ng, NG_OPT_END, NULL, 0);
	end(ng);
}

/**
 * ng_flush() - let readers of a pipe see what there is
 */
void ng_flush(struct ng_file *ng)
{
	if (fflush(ng->f))
		fail("%s: %s", ng->path, strerror(errno));
}

/**
 * ng_close() - write the statistics, and end the file
 */
void ng_close(struct ng_file *ng, const struct ng_stats *st)
{
	begin(ng, NG_ISB);
	put_32(ng, 0);
	put_time(ng, st->end);
	opt_time(ng, NG_ISB_START, st->start);
	opt_time(ng, NG_ISB_END, st->end);
	opt(ng, NG_ISB_RECEIVED, &st->seen, sizeof(u64));
	opt(ng, NG_ISB_ACCEPTED, &st->wanted, sizeof(u64));
	opt(ng, NG_ISB_OSDROP, &st->lost, sizeof(u64));
	opt(ng, NG_ISB_DELIVERED, &st->written, sizeof(u64));
	opt(ng, NG_OPT_END, NULL, 0);
	end(ng);
	if (fflush(ng->f) || (ng->f != stdout && fclose(ng->f)))
		fail("%s: %s", ng->path, strerror(errno));
	free(ng);
}
