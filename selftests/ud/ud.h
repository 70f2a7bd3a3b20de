/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the tests of xroce_ud share: two hosts in one process, endpoints on them,
 * messages between, and how a test says that it failed. One thread; ud.c owns
 * the state.
 */
#ifndef XROCE_UD_H
#define XROCE_UD_H

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <why.h>

#define MEM		(8u << 20)
#define SRC_OFF		4099u		/* odd: all is unaligned */
#define DST_OFF		(MEM / 2 + 4093)
#define GUARD		64u
#define GRH		40u
#define QKEY		0x11223344u
#define WAIT_S		20
#define MAX_SGE		4
#define CQE		1024
#define ANY_ACCESS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
			 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

enum side { A, B };

/**
 * struct host - a device and memory on it
 * @counters: directory of the port's hw_counters, -1 where there is none
 * @rxe: it is rdma_rxe, which has other counters and some liberties
 */
struct host {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_pd *pd2;
	struct ibv_mr *mr;
	char *mem;
	struct ibv_port_attr port;
	struct ibv_device_attr attr;
	union ibv_gid gid;
	int gid_index;
	int counters;
	bool rxe;
};

/**
 * struct ep - a QP with its CQs; all zero when there is none
 * @xrcd: an XRC target's, its own
 */
struct ep {
	enum side side;
	enum ibv_qp_type type;
	struct ibv_xrcd *xrcd;
	struct ibv_qp *qp;
	struct ibv_qp_ex *qpx;
	struct ibv_cq *scq;
	struct ibv_cq *rcq;
	uint32_t max_inline;
};

/**
 * struct msg - one send work request of consecutive memory
 * @off, @len: from the sender's memory; @roff: into the receiver's, WRITE only
 * @sges: pieces to cut it into, 0 for one
 * @ah, @qpn, @qkey: UD only
 * @wr_api: post it by ibv_wr_*()
 */
struct msg {
	enum ibv_wr_opcode op;
	uint64_t id;
	uint32_t off;
	uint32_t len;
	uint32_t roff;
	uint32_t imm;
	uint32_t lkey;
	uint32_t rkey;
	unsigned int flags;
	int sges;
	struct ibv_ah *ah;
	uint32_t qpn;
	uint32_t qkey;
	bool wr_api;
};

extern struct host hosts[2];
extern int opt_family;
extern enum ibv_mtu opt_mtu;

/* Print one result; a reason kept by why() goes with a failure. */
void report(bool good, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void skip(const char *name, const char *reason);

static inline uint32_t mtu_bytes(enum ibv_mtu mtu)
{
	return 128u << mtu;
}

static inline const char *type_name(enum ibv_qp_type type)
{
	return type == IBV_QPT_RC ? "RC" : type == IBV_QPT_UC ? "UC" :
	       type == IBV_QPT_UD ? "UD" :
	       type == IBV_QPT_XRC_SEND ? "XRC sender" : "XRC target";
}

/* Of XRC's two ends one waits for answers, the other gives them. */
static inline bool asks(enum ibv_qp_type type)
{
	return type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND;
}

static inline bool answers(enum ibv_qp_type type)
{
	return type == IBV_QPT_RC || type == IBV_QPT_XRC_RECV;
}

/* A QP in RESET; @init may be NULL or ask for more than the default. */
bool ep_make(struct ep *e, enum side s, enum ibv_qp_type type,
	     struct ibv_qp_init_attr_ex *init);
/* What modify takes for any transition of @e, every field set and legal. */
struct ibv_qp_attr ep_attr(const struct ep *e, const struct ep *peer,
			   enum ibv_mtu mtu);
/* Masks of the attributes that must and that may be given. */
int attr_needed(enum ibv_qp_type type, enum ibv_qp_state from,
		enum ibv_qp_state to);
int ep_step(struct ep *e, const struct ibv_qp_attr *attr,
	    enum ibv_qp_state from, enum ibv_qp_state to);
/* From RESET through all states to @to: INIT, RTR, RTS, SQD or ERR. */
bool ep_bring(struct ep *e, const struct ep *peer, enum ibv_mtu mtu,
	      enum ibv_qp_state to);
enum ibv_qp_state ep_state(const struct ep *e);
bool ep_becomes(const struct ep *e, enum ibv_qp_state state);
bool ep_free(struct ep *e);
bool pair_make(struct ep p[2], enum ibv_qp_type type, enum ibv_mtu mtu);
bool pair_free(struct ep p[2]);

/* To @dgid, or to the other host where that is NULL. */
struct ibv_ah_attr ah_attr(enum side s, const union ibv_gid *dgid);
struct ibv_ah *ah_make(enum side s, const union ibv_gid *dgid);

int post(struct ep *e, const struct msg *m);
int post_recv(struct ep *e, uint64_t id, uint32_t off, uint32_t len);
/* The SGEs of @n pieces; @sge has room for MAX_SGE. */
int cut(enum side s, uint32_t off, uint32_t len, int n, struct ibv_sge *sge);
bool reap(struct ibv_cq *cq, struct ibv_wc *wc, int n);
bool reap_as(struct ibv_cq *cq, struct ibv_wc *wc, enum ibv_wc_status status);
bool none(struct ibv_cq *cq, int ms);
/* Waits for it, forgetting others that come before. */
bool event(enum side s, enum ibv_event_type type, int ms,
	   struct ibv_async_event *ev);
bool no_event(enum side s, enum ibv_event_type type, int ms);

void fill(enum side s, uint32_t off, uint32_t len, unsigned int seed);
bool same(enum side s, uint32_t off, uint32_t len, unsigned int seed);
/* @len bytes of another seed, and GUARD of a third on both sides. */
void guard(enum side s, uint32_t off, uint32_t len);
/* What guard() left around [@off, + @len) is there still. */
bool guarded(enum side s, uint32_t off, uint32_t len);
bool landed(enum side s, uint32_t off, uint32_t len, unsigned int seed);
bool untouched(enum side s, uint32_t off, uint32_t len);

/* A counter of the device, 0 where it has none such. */
uint64_t counter(enum side s, const char *name);
/* It rises above @was within WAIT_S; rdma_rxe is not asked. */
bool counted(enum side s, const char *name, uint64_t was);

void test_uc(void);
void test_ud(void);
void test_shape(void);
void test_drop(void);
void test_sqe(void);
void test_srq(void);
void test_mcast(void);
void test_state(void);
void test_attr(void);
void test_traffic(void);
void test_av(void);
void test_stream(void);

#endif /* XROCE_UD_H */
