/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One side of the traffic: a process with a device, a QP of each kind and what
 * they need. One thread; what it shares with its parent is struct shared.
 */
#ifndef XROCE_LIFE_H
#define XROCE_LIFE_H

#include <err.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <infiniband/verbs.h>

#define SENDS		8		/* outstanding of a QP */
#define RECVS		16
#define SLOT		4096
#define UD_MAX		1024
#define PATIENCE_MS	60000
#define MANY_ROUNDS	50		/* are worth a word in between */

/*
 * One has its receives from a shared queue. That of XRC is the sender; its target
 * and the queue that it receives into are beside it.
 */
enum { Q_RC, Q_UC, Q_UD, Q_SRQ, Q_XRC, NQ };

/*
 * How memory is taken from a peer that WRITEs to it: its region deregistered, or
 * a window of it invalidated by its owner, by the peer, or deallocated; or the region
 * registered anew, which keeps its key. Then from one that READs it, or SENDs to it.
 */
enum way {
	REVOKE_UC, REVOKE_RC, REVOKE_LOCAL, REVOKE_REMOTE, REVOKE_DEALLOC,
	REVOKE_REREG_UC, REVOKE_REREG, REVOKE_READ, REVOKE_RECV,
};

/**
 * struct shared - what the two sides and their parent tell each other
 * @ready: the side is connected
 * @go: it may send: not before all are, who would be slow to come up else
 * @stop: the side ends
 * @any: errors of any kind are the test's own doing
 * @progress: messages that came or were acknowledged
 * @broken: the side has met an error and posts no more
 * @status: that of the first completion in error
 */
struct shared {
	uint32_t ready[2];
	uint32_t go;
	uint32_t stop[2];
	uint32_t any;
	uint32_t progress[2][NQ];
	uint32_t broken[2];
	uint32_t status[2];
	/*
	 * revoke.c: what the victim offers; the peer is to end it, has been refused it;
	 * secret.c: how often it had it
	 */
	uint64_t va[2];
	uint32_t rkey[2];
	uint32_t psn;
	uint32_t end;
	uint32_t rests;
	uint32_t taken;
};

/* What a peer has to know. */
struct peer {
	uint32_t qpn[NQ];
	uint32_t target;
	uint32_t srqn;
	uint32_t psn;
	uint32_t rkey;
	uint64_t va;
	union ibv_gid gid;
};

struct opts {
	const char *dev[2];
	const char *ns[2];
	const char *addr[2];
	unsigned int timeout;
	unsigned int pace;
	int rounds;
	bool leave;
	bool maps;
};

struct side {
	int me;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_srq *xsrq;
	struct ibv_xrcd *xrcd;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	struct ibv_qp *qp[NQ];
	struct ibv_qp *target;
	struct peer peer;
	uint8_t *mem;
	uint8_t gid_index;
	bool gone;
	struct {
		uint32_t seq;
		uint32_t seen;
		uint64_t added;
		struct {
			uint8_t op;
			bool busy;
			uint32_t len;
		} slot[SENDS];
	} q[NQ];
};

/* Areas of a side's memory; the constant one is as every side knows it. */
enum { AREA_SEND, AREA_RECV, AREA_WRITE, AREA_CONST, AREA_END };

static inline size_t area_len(int area)
{
	static const size_t len[] = {
		NQ * SENDS * SLOT, NQ * RECVS * SLOT, NQ * SENDS * SLOT,
		2 * SLOT,
	};

	return len[area];
}

static inline size_t area(int area)
{
	size_t off = 0;

	while (area--)
		off += area_len(area);
	return off;
}

/* Counters for atomics are at the end of the constant area. */
static inline size_t counter_off(int q)
{
	return area(AREA_CONST) + SLOT + 64 * q;
}

#define NEED(p) do {						\
	if (!(p))						\
		err(1, "side %d: %s", s->me, #p);		\
} while (0)

extern struct shared *shared;
extern struct opts opts;

static inline bool reliable(int q)
{
	return q != Q_UC && q != Q_UD;
}

static inline bool stopped(const struct side *s)
{
	return __atomic_load_n(&shared->stop[s->me], __ATOMIC_ACQUIRE);
}

uint32_t rnd(void);
/* life.c */
bool life_ended(pid_t pid);
bool life_ends(pid_t pid, const char *who, bool killed);
/* side.c */
void side_prepare(void);
void side_open(struct side *s);
void side_find_gid(struct side *s, union ibv_gid *gid);
void side_make(struct side *s, int fd);
struct ibv_qp *side_make_qp(struct side *s, int i);
void side_make_xrc(struct side *s, int fd, int oflags, bool target);
void side_init_qp(struct side *s, struct ibv_qp *qp);
void side_connect_qp(struct side *s, struct ibv_qp *qp, uint32_t to,
		     uint32_t psn);
bool side_free(struct side *s, bool busy);
bool side_maps(void);
/* traffic.c: returns false for what may not be */
bool traffic(struct side *s);
/* revoke.c */
bool revoke_victim(struct side *s, enum way how);
bool revoke_flood(struct side *s, enum way how);
/* secret.c */
bool secret_victim(struct side *s, enum way how);
bool secret_flood(struct side *s, enum way how);
/* xrc.c */
bool xrc_round(int n);

#endif /* XROCE_LIFE_H */
