/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the two ends of a measurement share: what is measured (struct spec), and
 * what they say to each other. Owns no state; each end is one thread.
 */
#ifndef XROCE_BENCH_H
#define XROCE_BENCH_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#define MAX_QP	256

enum op {
	OP_WRITE, OP_READ, OP_ATOMIC, OP_SEND, OP_NONE,
	OP_BIND,	/* a window of memory, bound again and again */
	OP_REG,		/* the same by ibv_dereg_mr() and ibv_reg_mr() */
	OP_MAX
};

enum wait { WAIT_EVENTS, WAIT_POLL, WAIT_YIELD, WAIT_MAX };

/**
 * struct spec - one measurement
 * @lat: one message at a time; a SEND is answered by one
 * @list: work requests of one call of ibv_post_send()
 * @sig: every which of a QP's is signalled
 * @depth: the most that a QP has outstanding
 * @rdepth: receives that are posted
 * @n: messages, of all QPs
 */
struct spec {
	uint32_t op;
	uint32_t lat;
	uint32_t size;
	uint32_t list;
	uint32_t qps;
	uint32_t mtu;
	uint32_t wait;
	uint32_t inl;
	uint32_t sig;
	uint32_t depth;
	uint32_t rdepth;
	uint32_t family;
	uint64_t n;
};

enum say {
	SAY_SETUP,	/* spec and what the other needs to connect */
	SAY_CLEAR,	/* the memory that is written to is no pattern */
	SAY_RUN,	/* n messages are about to be sent */
	SAY_DONE,	/* they have all been received */
	SAY_CALLS,	/* how many system calls were that? */
	SAY_CHECK,	/* is it the pattern now? or, atomics, v? */
	SAY_END,	/* of this measurement */
};

struct msg {
	uint32_t say;
	int32_t err;
	struct spec spec;
	uint64_t addr;
	uint64_t v;
	uint32_t rkey;
	uint32_t count;		/* count system calls */
	uint32_t rd;
	uint32_t qpn[MAX_QP];
	union ibv_gid gid;
	uint64_t trouble;
	char device[64];	/* whose trouble is not to be counted again */
};

/* In a file that both ends map: what flow control of an application would cost
 * is not what is measured, and receives never run out.
 */
struct shared {
	volatile uint64_t reposted[MAX_QP];
};

/**
 * struct end - a device and its objects for one measurement
 * @done: completed sends, in messages, of each QP
 */
struct end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct ibv_comp_channel *chan[2];
	struct ibv_cq *cq[2];
	bool armed[2];
	struct ibv_qp *qp[MAX_QP];
	uint8_t *mem;
	uint64_t sent[MAX_QP];
	uint64_t done[MAX_QP];
	uint64_t rcvd[MAX_QP];
	uint64_t rposted[MAX_QP];
	struct spec s;
	struct msg far;
	struct shared *shared;
};

/* Index of chan and cq. */
enum { SENDS, RECVS };

void fail(const char *fmt, ...) __attribute__((noreturn,
					       format(printf, 1, 2)));

/* Whether what is checked is the client's memory: else it is the server's. */
static inline bool op_fills_client(uint32_t op)
{
	return op == OP_READ || op == OP_BIND || op == OP_REG;
}

uint64_t end_slots(const struct spec *s);
int end_open(struct end *e, const char *dev);
void end_setup(struct end *e, const struct spec *s, struct msg *me);
void end_connect(struct end *e, const struct msg *far);
uint32_t end_key(const struct end *e);
void end_clear(struct end *e, bool pattern);
void end_check(struct end *e, uint64_t v);
void end_send(struct end *e, uint64_t n);
void end_recv(struct end *e, uint64_t n);
void end_ping(struct end *e, uint64_t n);
void end_pong(struct end *e, uint64_t n);
void end_free(struct end *e);

#endif /* XROCE_BENCH_H */
