// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Registered memory of the nodes and a shadow of what it must contain. A region
 * is a ring from which operations take pieces, in blocks that are each a heap
 * object of their own; what lies outside it in the blocks is guarded too.
 */
#include "sim.h"

#define GUARD	0xa5

static u8 *block(const struct sim_region *r, u64 off, u32 *n)
{
	u64 size = 1ull << r->mr.page_shift, pos = r->mr.offset + off;
	u64 in = pos & (size - 1);

	*n = min_t(u64, *n, size - in);
	return (u8 *)r->mr.page[pos >> r->mr.page_shift] + in;
}

u64 sim_region_addr(const struct sim_region *r, u64 off)
{
	return r->mr.iova + off;
}

/**
 * sim_region_name() - a key, and a place in the node's table of them
 */
void sim_region_name(struct sim_node *n, struct sim_region *r)
{
	u32 idx;

	for (idx = 0; idx < SIM_TAB && n->mr[idx]; idx++)
		;
	sim_check(idx < SIM_TAB, "too many regions");
	n->mr[idx] = r;
	r->node = n;
	r->mr.key = (u32)(sim_rnd() & 0xffff) << 16 | idx << 8 | sim_below(256);
}

struct sim_region *sim_region_new(struct sim_node *n, u64 len, u32 access,
				  const void *pd)
{
	struct sim_region *r = calloc(1, sizeof(*r));
	struct xroce_mr *mr = &r->mr;
	u64 size;
	u32 i;

	sim_region_name(n, r);
	r->len = len;
	r->seed = sim_rnd();
	mr->access = access;
	mr->pd = pd;
	mr->page_shift = sim_chance(500) ? sim_range(17, 20) :
					  sim_range(12, 16);
	size = 1ull << mr->page_shift;
	mr->length = len;
	/* 8-aligned like the address, so that atomics are possible. */
	mr->offset = sim_below(size) & ~7u;
	mr->iova = ((sim_rnd() >> 16) & ~(size - 1)) + mr->offset;
	if (sim_chance(1000))	/* at the very end of the address space */
		mr->iova = -len & ~7ull;
	mr->state = XROCE_KEY_VALID;
	r->nblk = DIV_ROUND_UP(mr->offset + len, size);
	/* twice: what is registered by a work request may be of either list */
	mr->page = calloc(2 * r->nblk, sizeof(void *));
	for (i = 0; i < r->nblk; i++) {
		mr->page[i] = mr->page[r->nblk + i] = malloc(size);
		memset(mr->page[i], GUARD, size);
	}
	r->shadow = malloc(len);
	sim_fill(r->shadow, len, r->seed);
	sim_write(r, 0, r->shadow, len);
	r->next = W->regions;
	W->regions = r;
	return r;
}

void sim_region_free(struct sim_region *r)
{
	u32 i;

	for (i = 0; i < r->nblk; i++)
		free(r->mr.page[i]);
	free(r->mr.page);
	free(r->shadow);
	free(r);
}

/**
 * sim_take() - take a piece of the ring, with guards around it
 * @align: 8 for atomics, else 1
 *
 * What is taken must be as it was left: a late or stray write shows here.
 */
bool sim_take(struct sim_region *r, u32 len, u32 align, struct sim_piece *p)
{
	u32 before = sim_below(48), after = sim_below(48);
	u64 room = r->len - r->base;
	u64 start = r->tail, at;

	if (sim_chance(2000))
		before += 64;
	for (;;) {
		at = r->base + start % room;
		if (at + before + len + align + after <= r->len)
			break;
		/* Not enough before the end: from the beginning again. */
		if (at == r->base)
			return false;
		start += r->len - at;
	}
	p->r = r;
	p->start = r->tail;
	p->off = at + before;
	if (align > 1)
		p->off = ALIGN(p->off + r->mr.iova, align) - r->mr.iova;
	p->len = len;
	p->end = start + (p->off - at) + len + after;
	if (p->end - r->head > room)
		return false;
	sim_expect(r, at, p->off - at + len + after, "before its use");
	r->tail = p->end;
	return true;
}

/**
 * sim_give() - give a piece back; pieces end in the order they were taken in,
 * but for those that share an operation, of which the last one counts
 */
void sim_give(struct sim_piece *p)
{
	struct sim_region *r = p->r;

	if (!r)
		return;
	if ((s64)(p->end - r->head) > 0)
		r->head = p->end;
	p->r = NULL;
}

void sim_write(struct sim_region *r, u64 off, const void *src, u32 len)
{
	const u8 *s = src;
	u32 n;
	u8 *p;

	for (; len; len -= n, off += n, s += n) {
		n = len;
		p = block(r, off, &n);
		memcpy(p, s, n);
	}
}

void sim_read(const struct sim_region *r, u64 off, void *dst, u32 len)
{
	u8 *d = dst;
	u32 n;

	for (; len; len -= n, off += n, d += n) {
		const u8 *p;

		n = len;
		p = block(r, off, &n);
		memcpy(d, p, n);
	}
}

bool sim_equal(const struct sim_region *r, u64 off, const void *src, u32 len)
{
	const u8 *s = src, *p;
	u32 n;

	for (; len; len -= n, off += n, s += n) {
		n = len;
		p = block(r, off, &n);
		if (memcmp(p, s, n))
			return false;
	}
	return true;
}

static u32 first_diff(const struct sim_region *r, u64 off, const u8 *s, u32 len)
{
	u32 i, n;

	for (i = 0; i < len; i++) {
		n = 1;
		if (*block(r, off + i, &n) != s[i])
			break;
	}
	return i;
}

/**
 * sim_expect() - memory must be what the shadow says
 */
void sim_expect(struct sim_region *r, u64 off, u32 len, const char *what)
{
	u32 i;

	if (W->checks_off || sim_equal(r, off, r->shadow + off, len))
		return;
	i = first_diff(r, off, r->shadow + off, len);
	sim_fail("node %u, key %08x: byte %llu (%u of %u) was changed: %s",
		 r->node->idx, r->mr.key, (unsigned long long)off + i, i, len,
		 what);
}

/**
 * sim_settle() - an operation on memory failed: each byte is old or new
 * @now: what it would have written, NULL for anything
 *
 * Afterwards the shadow is what is there.
 */
void sim_settle(struct sim_region *r, u64 off, u32 len, const u8 *now,
		const char *what)
{
	u8 *mem = malloc(len + 1);
	u32 i;

	sim_read(r, off, mem, len);
	for (i = 0; i < len && now; i++)
		if (mem[i] != r->shadow[off + i] && mem[i] != now[i])
			sim_fail("node %u, key %08x: byte %llu is neither old"
				 " nor new: %s", r->node->idx, r->mr.key,
				 (unsigned long long)off + i, what);
	memcpy(r->shadow + off, mem, len);
	free(mem);
}

/**
 * sim_scribble() - the user re-uses memory that an operation is done with, so
 * that what is executed a second time shows
 */
void sim_scribble(struct sim_region *r, u64 off, u32 len)
{
	sim_fill(r->shadow + off, len, ++r->seed);
	sim_write(r, off, r->shadow + off, len);
}

/* The bytes of the blocks outside the region. */
static void verify_guards(struct sim_region *r)
{
	u64 size = 1ull << r->mr.page_shift, i;
	u64 end = (r->mr.offset + r->len) & (size - 1);
	const u8 *b = r->mr.page[0];

	for (i = 0; i < r->mr.offset; i++)
		sim_check(b[i] == GUARD, "key %08x: written before its start",
			  r->mr.key);
	b = r->mr.page[r->nblk - 1];
	for (i = end; end && i < size; i++)
		sim_check(b[i] == GUARD, "key %08x: written past its end",
			  r->mr.key);
}

/**
 * sim_region_verify() - nothing is under way: all of it must be right
 */
void sim_region_verify(struct sim_region *r)
{
	sim_expect(r, 0, r->len, "at the end");
	sim_check(!atomic_read(&r->mr.users), "key %08x: users %d", r->mr.key,
		  atomic_read(&r->mr.users));
	verify_guards(r);
}
