/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Objects as tables of columns: what object.c lists, res.c shows and filter.c
 * picks from. Owns no state.
 */
#ifndef RDMATOOL_RES_H
#define RDMATOOL_RES_H

#include "rdmatool.h"

#define MAX_COLS	48

enum kind {
	NUM,		/* u8 to u64, by its length */
	HEX,
	NAME,		/* a number with a name */
	FLAG,
	COMM,		/* of a pid, or the kernel part that owns it */
	GID,
	MAC,
	SOCKADDR,
	QPS,		/* numbers and ranges */
};

/**
 * struct col - a field of a kind of object
 * @attr: attribute of nldev, or of the xroce family when @ours or the whole
 *	object is that family's
 * @detail: only with -d
 * @names: of kind NAME
 */
struct col {
	const char *name;
	u16 attr;
	u8 kind;
	bool ours;
	bool detail;
	const char *const *names;
	u32 n_names;
};

/* A field's value: a number, or when @text is not empty, that; of kind QPS, @list. */
struct value {
	u64 num;
	const char *list;
	char text[256];
};

/**
 * struct object - a kind of object
 * @cmd: what dumps it, of nldev or, when @attr_max, of the xroce family
 * @table: nldev: the attribute that its list is in
 * @attr_max: xroce: the last attribute; the first two name the device
 * @pdn: xroce: the attribute that says whose it is
 * @read: looks at what a driver adds to a QP; false: it is not to be shown
 * @head, @show: before and after the columns of one, or NULL
 */
struct object {
	const char *what;
	const struct col *cols;
	int cmd;
	int table;
	int attr_max;
	int pdn;
	bool (*read)(const struct rdev *dev, u32 qpn, struct nlattr *driver);
	void (*head)(void);
	void (*show)(void);
};

extern const struct col qp_stat_cols[];

bool res_takes(const struct col *cols, const char *word);
void res_rows(const struct object *obj, int argc, char **argv);
void res_show(const struct object *obj, int argc, char **argv);
void text_sockaddr(const void *p, size_t len, struct value *v);
void text_bytes(const struct col *col, const u8 *p, struct value *v);

/* filter.c */
void filter_check(const char *what, const struct col *col, const char *words);
bool filter_takes(const struct col *col, const struct value *v,
		  const char *words);

#endif /* RDMATOOL_RES_H */
