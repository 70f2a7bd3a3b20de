// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The poll of frames that stay on this host, kmod/work.c's own, against a sender on
 * another CPU that has found a frame of its QP's still there: what it adds, while it
 * holds the lock for long, is received. One thread; who would wait for the lock lets
 * the other go on.
 */
#include <stddef.h>
#include <tap.h>

#define READ_ONCE(x)		(x)
#define WRITE_ONCE(x, v)	((x) = (v))
#define container_of(p, type, member) ((type *)((char *)(p) - offsetof(type, member)))
#define list_first_entry_or_null(head, type, member)				\
	(list_empty(head) ? NULL : container_of((head)->next, type, member))
#define BUDGET	64
#define FRAMES	200

typedef unsigned int u32;
struct list_head { struct list_head *next, *prev; };

struct xroce_work {
	int lock;
	struct list_head loop, loop_todo;
	u32 looped;
	bool loop_more;
};

struct xroce_kqp { int looping; };

struct xroce_frame { int n; };

struct xroce_kframe {
	struct xroce_frame f;
	struct xroce_kqp *kqp;
	struct list_head node;
};

static struct xroce_work work;
static struct xroce_kqp qp;
static struct xroce_kframe frames[FRAMES];
static u32 sent, rcvd, late;
static bool held;		/* the other sender has the lock, and has decided */

static bool list_empty(const struct list_head *head)
{
	return head->next == head;
}

static void list_add_tail(struct list_head *node, struct list_head *head)
{
	node->prev = head->prev;
	node->next = head;
	head->prev->next = node;
	head->prev = node;
}

static void list_del(struct list_head *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
}

static void list_splice_init(struct list_head *from, struct list_head *to)
{
	while (!list_empty(from)) {
		struct list_head *node = from->next;

		list_del(node);
		list_add_tail(node, to);
	}
}

static void add(void)
{
	struct xroce_kframe *kf = &frames[sent++];

	kf->kqp = &qp;
	list_add_tail(&kf->node, &work.loop);
	work.looped++;
	qp.looping++;
}

static void spin_lock(int *lock)
{
	(void)lock;
	if (held)
		add();
	held = false;
}

static void spin_unlock(int *lock)
{
	(void)lock;
}

static bool atomic_dec_and_test(int *v)
{
	return !--*v;
}

static void xroce_kqp_put(struct xroce_kqp *kqp)
{
	(void)kqp;
}

/* While frame @late is received, another CPU finds that frames of the QP are here. */
static void loop_rx(struct xroce_kqp *kqp, struct xroce_frame *f)
{
	(void)f;
	if (++rcvd == late)
		held = kqp->looping;
}

#include "loop.inc"

/* NAPI calls it again only if it used up its budget. */
static void one(u32 n, u32 at)
{
	int done;

	work = (struct xroce_work){ 0 };
	work.loop.next = work.loop.prev = &work.loop;
	work.loop_todo.next = work.loop_todo.prev = &work.loop_todo;
	qp.looping = 0;
	sent = rcvd = 0;
	late = at;
	while (sent < n)
		add();
	do
		done = poll_loop(&work, BUDGET);
	while (done == BUDGET);
	if (held)
		add();
	held = false;
	tap_ok(rcvd == n + 1 && !work.looped && !qp.looping,
	       "%u frames, one more during frame %u: %u received", n, at, rcvd);
}

int main(void)
{
	tap_start();
	one(1, 1);
	one(BUDGET - 1, BUDGET - 1);
	one(BUDGET, BUDGET);
	one(BUDGET, 1);
	one(BUDGET + 1, BUDGET);
	one(2 * BUDGET, 2 * BUDGET);
	return tap_end();
}
