// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Output: rows of named fields, printed as they come. As text a row is a line of
 * "key value" pairs, as iproute2 prints; as JSON an object in an array. Strings
 * from outside may hold any byte: what a terminal or JSON cannot take becomes
 * \xNN. Owns what is open.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rdmatool.h"

static bool in_row;
static const char *list_name;
static bool list_open;
static bool summary;
static bool first_row;
static bool first_field;

/* Length of the UTF-8 character at s, 0 when there is none (RFC 3629). */
static int utf8_len(const unsigned char *s)
{
	unsigned int c = *s;
	int i, n;

	if (c < 0x80)
		return 1;
	n = c >= 0xc2 && c < 0xe0 ? 2 : (c & 0xf0) == 0xe0 ? 3 :
	    c >= 0xf0 && c < 0xf5 ? 4 : 0;
	for (i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	/* overlong, surrogate, beyond U+10FFFF, C1 control */
	if ((c == 0xe0 && s[1] < 0xa0) || (c == 0xed && s[1] >= 0xa0) ||
	    (c == 0xf0 && s[1] < 0x90) || (c == 0xf4 && s[1] >= 0x90) ||
	    (c == 0xc2 && s[1] < 0xa0))
		return 0;
	return n;
}

/**
 * out_clean() - a copy fit for terminals and JSON; to be freed
 */
char *out_clean(const char *s)
{
	char *copy = malloc(4 * strlen(s) + 1), *p = copy;

	if (!copy)
		abort();
	while (*s) {
		int n = utf8_len((const unsigned char *)s);

		if (!n || (unsigned char)*s < ' ' || *s == 0x7f) {
			p += sprintf(p, "\\x%02x", (unsigned char)*s++);
		} else {
			memcpy(p, s, n);
			p += n;
			s += n;
		}
	}
	*p = 0;
	return copy;
}

/* Pretty JSON: a new line, @depth deep. */
static void newline(int depth)
{
	if (options.pretty)
		printf("\n%*s", 2 * depth, "");
}

/**
 * out_open() - begin a list
 * @list: JSON: make it a member of that name of an object, for out_summary() to
 *	add to; NULL for a bare array
 */
void out_open(const char *list)
{
	list_name = list;
	list_open = true;
	first_row = true;
	if (!options.json)
		return;
	if (list)
		printf("{\"%s\":", list);
	putchar('[');
}

/**
 * out_close() - end what is open, if anything
 */
void out_close(void)
{
	if (in_row)
		out_row_end();
	if (!list_open)
		return;
	list_open = false;
	if (!options.json)
		return;
	newline(0);
	puts(list_name ? "]}" : "]");
}

/**
 * out_next() - end the list and begin another one beside it
 * @list: its name
 */
void out_next(const char *list)
{
	first_row = true;
	if (!options.json)
		return;
	newline(0);
	printf("],\"%s\":[", list);
}

/**
 * out_summary() - end the list and begin a last row that sums it up
 */
void out_summary(void)
{
	list_open = false;
	first_row = true;
	if (options.json) {
		newline(0);
		printf("],\"summary\":");
	}
	out_row();
	summary = true;
	if (!options.json)
		printf("summary: ");
}

/**
 * out_row() - begin a row
 */
void out_row(void)
{
	in_row = true;
	first_field = true;
	if (!options.json)
		return;
	if (!first_row)
		putchar(',');
	first_row = false;
	newline(1);
	putchar('{');
}

void out_row_end(void)
{
	in_row = false;
	if (options.json) {
		newline(1);
		putchar('}');
	}
	if (!options.json || summary)
		puts(options.json ? "}" : "");
}

#define RESET	"\033[0m"

/* As ip has them: names, addresses, what is well and what is not. */
static const char *color_of(const char *key, const char *val)
{
	static const char *const names[] = {
		"dev", "link", "netdev", "ifname",
	};
	static const char *const addresses[] = {
		"gid", "src", "dst", "src-addr", "dst-addr", "addr",
	};
	static const struct { const char *val, *color; } states[] = {
		{ "ACTIVE", "\033[32m" }, { "LINK_UP", "\033[32m" },
		{ "RTS", "\033[32m" }, { "up", "\033[32m" },
		{ "ok  ", "\033[32m" }, { "warn", "\033[33m" },
		{ "fail", "\033[31m" }, { "DOWN", "\033[31m" },
		{ "down", "\033[31m" }, { "DISABLED", "\033[31m" },
		{ "ERROR", "\033[31m" }, { "SQE", "\033[31m" },
		{ "error", "\033[31m" }, { "retry", "\033[33m" },
	};
	size_t i;

	if (!options.color || options.json)
		return NULL;
	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(key, names[i]))
			return "\033[36m";
	for (i = 0; i < ARRAY_SIZE(addresses); i++)
		if (!strcmp(key, addresses[i]))
			return strchr(val, '.') ? "\033[35m" : "\033[34m";
	if (!strcmp(key, "dmac"))
		return "\033[33m";
	for (i = 0; i < ARRAY_SIZE(states); i++)
		if (!strcmp(val, states[i].val))
			return states[i].color;
	return NULL;
}

/* A field of any kind; @val as JSON wants it, or as it is. */
static void field(const char *key, const char *val, bool quoted)
{
	const char *color = color_of(key, val);
	bool first = first_field;
	char *clean;

	first_field = false;
	if (!options.json) {
		printf("%s%s%s%s%s%s", first ? "" : " ", key,
		       *key && *val ? " " : "", color ?: "", val,
		       color ? RESET : "");
		return;
	}
	if (!first)
		putchar(',');
	newline(2);
	clean = out_clean(key);
	printf("\"%s\":%s%s", clean, options.pretty ? " " : "",
	       quoted ? "\"" : "");
	free(clean);
	for (; *val; val++) {
		if (*val == '"' || *val == '\\')
			putchar('\\');
		putchar(*val);
	}
	if (quoted)
		putchar('"');
}

/**
 * out_str() - a field
 * @key: "" prints the value alone where the text is for people
 */
void out_str(const char *key, const char *val)
{
	char *clean = out_clean(val);

	field(key, clean, true);
	free(clean);
}

void out_fmt(const char *key, const char *fmt, ...)
{
	char buf[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	out_str(key, buf);
}

void out_uint(const char *key, u64 val)
{
	char buf[24];

	snprintf(buf, sizeof(buf), "%llu", (unsigned long long)val);
	field(key, buf, false);
}

/**
 * out_flag() - as text, its name when it is set
 */
void out_flag(const char *key, bool val)
{
	if (options.json)
		field(key, val ? "true" : "false", false);
	else if (val)
		field(key, "", false);
}

/**
 * out_word() - a field whose key is only for JSON
 */
void out_word(const char *key, const char *val)
{
	out_str(options.json ? key : "", val);
}

void out_word_uint(const char *key, u64 val)
{
	out_uint(options.json ? key : "", val);
}

/**
 * out_rate() - so many in a second
 */
void out_rate(const char *key, double val)
{
	char buf[64];

	snprintf(buf, sizeof(buf), "%.1f", val);
	field(key, buf, false);
}

/**
 * out_dev() - the RDMA device a row is about, with @port or, when 0, without
 */
void out_dev(const char *name, u32 index, u32 port)
{
	char buf[DEV_NAME_MAX + 16];

	if (options.json) {
		out_uint("ifindex", index);
		out_str("ifname", name);
		if (port)
			out_uint("port", port);
	} else if (port) {
		snprintf(buf, sizeof(buf), "%s/%u", name, port);
		out_str("link", buf);
	} else {
		out_str("dev", name);
	}
}

/**
 * out_note() - a remark; as text on a line of its own
 */
void out_note(const char *key, const char *fmt, ...)
{
	char buf[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	if (options.json) {
		out_str(key, buf);
		return;
	}
	out_break();
	out_fmt("", "%s: %s", key, buf);
}

/**
 * out_break() - the next field begins a line, indented
 */
void out_break(void)
{
	if (options.json)
		return;
	printf("\n    ");
	first_field = true;
}
