// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Filters of tables: the words that a field's value is held against, by the kind of
 * its column. Owns no state.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "res.h"

/* Whether one of these numbers is in a list, "1,3-5". */
static bool any_of(const char *list, u64 first, u64 last)
{
	u64 a, b;

	for (; *list; list += strspn(list, ",")) {
		a = b = strtoull(list, (char **)&list, 10);
		if (*list == '-')
			b = strtoull(list + 1, (char **)&list, 10);
		if (last >= a && first <= b)
			return true;
	}
	return false;
}

static bool parse_range(const char *s, u64 *first, u64 *last)
{
	char *end;

	if (!scan_uint(s, &end, first))
		return false;
	*last = *first;
	if (*end == '-' && !scan_uint(end + 1, &end, last))
		return false;
	return !*end && *first <= *last;
}

static bool parse_name(const struct col *col, const char *s, u64 *num)
{
	u32 i;

	for (i = 0; i < col->n_names; i++) {
		if (col->names[i] && !strcasecmp(col->names[i], s)) {
			*num = i;
			return true;
		}
	}
	return false;
}

/* An address as text_sockaddr() has it, becomes that. */
static bool parse_sockaddr(struct value *v)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in in = { .sin_family = AF_INET };
	char *port = strrchr(v->text, ':'), *end;
	u64 n;

	if (!port || !scan_uint(port + 1, &end, &n) || *end || n > 0xffff)
		return false;
	*port = 0;
	in6.sin6_port = in.sin_port = htons(n);
	if (*v->text != '[') {
		if (inet_pton(AF_INET, v->text, &in.sin_addr) != 1)
			return false;
		text_sockaddr(&in, sizeof(in), v);
		return true;
	}
	if (port[-1] != ']')
		return false;
	port[-1] = 0;
	if (inet_pton(AF_INET6, v->text + 1, &in6.sin6_addr) != 1)
		return false;
	text_sockaddr(&in6, sizeof(in6), v);
	return true;
}

/* A GID or a MAC, becomes what is shown of it. */
static bool parse_bytes(const struct col *col, struct value *v)
{
	u8 p[16] = { [10] = 0xff, 0xff };
	int n = 0;

	if (col->kind == MAC) {
		if (sscanf(v->text, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", &p[0], &p[1],
			   &p[2], &p[3], &p[4], &p[5], &n) != 6 || v->text[n] ||
		    v->text[strspn(v->text, "0123456789abcdefABCDEF:")])
			return false;
	} else if (inet_pton(AF_INET, v->text, p + 12) != 1 &&
		   inet_pton(AF_INET6, v->text, p) != 1) {
		return false;
	}
	text_bytes(col, p, v);
	return true;
}

/*
 * One of a filter's values, the @len bytes at s: what an object's must be, of numbers
 * any from v->num to @last. False when none can be so.
 */
static bool parse_word(const struct col *col, const char *s, size_t len,
		       struct value *v, u64 *last)
{
	memset(v, 0, sizeof(*v));
	if (!len || len >= sizeof(v->text))
		return false;
	memcpy(v->text, s, len);
	switch (col->kind) {
	case COMM:
		return true;
	case GID:
	case MAC:
		return parse_bytes(col, v);
	case SOCKADDR:
		return parse_sockaddr(v);
	case FLAG:
		return !strcmp(v->text, "true") || !strcmp(v->text, "1");
	case NAME:
		if (parse_name(col, v->text, &v->num)) {
			*last = v->num;
			return true;
		}
	}
	return parse_range(v->text, &v->num, last);
}

static bool matches(const struct col *col, const struct value *v,
		    const char *s, size_t len)
{
	struct value want;
	u64 last = 0;

	if (!parse_word(col, s, len, &want, &last))
		return false;
	switch (col->kind) {
	case COMM:
	case GID:
	case MAC:
	case SOCKADDR:
		return !strcasecmp(want.text, v->text);
	case FLAG:	/* one that has it not did not get here */
		return true;
	case QPS:
		return any_of(v->list, want.num, last);
	}
	return v->num >= want.num && v->num <= last;
}

/* What parse_word() takes. */
static const char *expected(const struct col *col)
{
	static char names[512];
	size_t at = 0;
	u32 i;

	switch (col->kind) {
	case COMM:
		return "a name";
	case GID:
		return "an IPv4 or IPv6 address";
	case MAC:
		return "a MAC address";
	case SOCKADDR:
		return "an address with its port, as 192.0.2.1:7471 or [fe80::1]:7471";
	case FLAG:
		return "true";
	case NAME:
		for (i = 0; i < col->n_names && at < sizeof(names); i++)
			if (col->names[i])
				at += snprintf(names + at, sizeof(names) - at,
					       "%s, ", col->names[i]);
		if (at < sizeof(names))
			snprintf(names + at, sizeof(names) - at, "or a number");
		return names;
	}
	return "a number, or a range as 17-20";
}

/**
 * filter_check() - refuse words that no object of a column can fit
 * @what: command, for messages
 */
void filter_check(const char *what, const struct col *col, const char *words)
{
	struct value v;
	size_t len;
	u64 last;

	for (;; words += len + 1) {
		len = strcspn(words, ",");
		if (!parse_word(col, words, len, &v, &last))
			usage("%s: %s \"%.*s\": %s expected", what, col->name,
			      (int)len, words, expected(col));
		if (!words[len])
			return;
	}
}

/**
 * filter_takes() - does a value fit one of the words, as 17,20-30
 */
bool filter_takes(const struct col *col, const struct value *v,
		  const char *words)
{
	size_t len;

	for (;; words += len + 1) {
		len = strcspn(words, ",");
		if (matches(col, v, words, len))
			return true;
		if (!words[len])
			return false;
	}
}
