/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * pcapng: the blocks and options that are read or written here, and the writer.
 */
#ifndef PCAPNG_H
#define PCAPNG_H

#include "rdmatool.h"

#define NG_SHB			0x0a0d0d0au
#define NG_ORDER		0x1a2b3c4du
#define NG_IDB			1u
#define NG_SPB			3u
#define NG_ISB			5u
#define NG_EPB			6u

#define NG_OPT_END		0
#define NG_OPT_COMMENT		1
#define NG_SHB_APPL		4
#define NG_IF_NAME		2
#define NG_IF_DESCRIPTION	3
#define NG_IF_TSRESOL		9
#define NG_EPB_FLAGS		2
#define NG_ISB_START		2
#define NG_ISB_END		3
#define NG_ISB_RECEIVED		4
#define NG_ISB_ACCEPTED		6
#define NG_ISB_OSDROP		7
#define NG_ISB_DELIVERED	8

#define NG_LT_ETHERNET		1

/**
 * struct ng_stats - what a capture ends with
 * @start, @end: when, ns
 * @seen: packets of the interface
 * @wanted: that passed the filter
 * @lost: of those
 * @written: the rest, but for what came after the end
 */
struct ng_stats {
	u64 start;
	u64 end;
	u64 seen;
	u64 wanted;
	u64 lost;
	u64 written;
};

struct ng_file;

struct ng_file *ng_open(const char *path, const char *name, const char *what);
void ng_packet(struct ng_file *ng, const struct cap_frame *f);
void ng_flush(struct ng_file *ng);
void ng_close(struct ng_file *ng, const struct ng_stats *st);

#endif /* PCAPNG_H */
