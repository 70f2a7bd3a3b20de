/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Reads the classic pcap files of Ethernet frames that selftests/vectors holds.
 * The file stays in memory until pcap_close().
 */
#ifndef XROCE_PCAP_H
#define XROCE_PCAP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xroce/base.h>
#include <tap.h>

struct pcap {
	u8 *data;
	size_t size;
	size_t pos;
};

static inline void pcap_close(struct pcap *pc)
{
	free(pc->data);
	memset(pc, 0, sizeof(*pc));
}

static inline int pcap_open(struct pcap *pc, const char *path)
{
	static const u8 magic[4] = { 0xd4, 0xc3, 0xb2, 0xa1 };
	FILE *f = fopen(path, "rb");
	long size = -1;

	memset(pc, 0, sizeof(*pc));
	if (!f)
		return -1;
	if (!fseek(f, 0, SEEK_END))
		size = ftell(f);
	if (size >= 24) {
		rewind(f);
		pc->data = malloc(size);
		pc->size = pc->data ? fread(pc->data, 1, size, f) : 0;
	}
	fclose(f);
	/* Little-endian microseconds, link type Ethernet. */
	if (pc->size < 24 || memcmp(pc->data, magic, 4) || pc->data[20] != 1) {
		pcap_close(pc);
		return -1;
	}
	pc->pos = 24;
	return 0;
}

/* One of selftests/vectors; a failed result when it cannot be read. */
static inline bool pcap_vector(struct pcap *pc, const char *dir, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s.pcap", dir, name);
	if (!pcap_open(pc, path))
		return true;
	tap_ok(false, "%s can be read", path);
	return false;
}

/* The next frame, or NULL at the end or where the file is damaged. */
static inline const u8 *pcap_next(struct pcap *pc, u32 *len)
{
	const u8 *rec = pc->data + pc->pos;
	size_t left = pc->size - pc->pos;

	if (left < 16)
		return NULL;
	*len = rec[8] | rec[9] << 8 | rec[10] << 16 | (u32)rec[11] << 24;
	if (*len > left - 16)
		return NULL;
	pc->pos += 16 + *len;
	return rec + 16;
}

#endif /* XROCE_PCAP_H */
