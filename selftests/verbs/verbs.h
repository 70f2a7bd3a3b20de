/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the tests of verbs share: one device, a pair of QPs on it connected to
 * each other, and how a test says that it failed. verbs.c owns the state.
 */
#ifndef XROCE_VERBS_H
#define XROCE_VERBS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <why.h>
#include <infiniband/verbs.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define DEPTH		16
#define BUF_SIZE	65536
#define WAIT_S		60
#define ANY_ACCESS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
			 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)
#define SEND_OPS	(IBV_QP_EX_WITH_RDMA_WRITE | \
			 IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | \
			 IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | \
			 IBV_QP_EX_WITH_RDMA_READ | \
			 IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW | \
			 IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE | \
			 IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | \
			 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)

extern struct ibv_context *ctx;
extern struct ibv_pd *pd;
extern char *buf;		/* BUF_SIZE for each QP of a pair */
extern struct ibv_mr *mr;
extern uint32_t comp_vector;	/* of the CQs that pair_make() makes */

/**
 * struct pair - two connected QPs, each with a CQ of its own for all it does
 * @ex: their extended CQs, the same as @cq
 * @channel: of both CQs
 * @psn: other at every connection, for a packet may outlive the last one
 */
struct pair {
	struct ibv_qp *qp[2];
	struct ibv_qp_ex *qpx[2];
	struct ibv_cq *cq[2];
	struct ibv_cq_ex *ex[2];
	struct ibv_comp_channel *channel;
	struct ibv_qp_cap cap;
	uint32_t psn;
};

bool pair_make(struct pair *p, int cqe);
bool pair_make_cap(struct pair *p, int cqe, uint32_t wr, uint32_t sge);
bool pair_connect(struct pair *p);
/* Again, with as many READs under way, and answered, at a time */
bool pair_reads(struct pair *p, int init, int dest);
/* By RESET, from any state */
bool pair_again(struct pair *p);
void pair_free(struct pair *p);
bool qp_to(struct ibv_qp *qp, enum ibv_qp_state state);
/* From RESET to RTS, or in two steps; XRC senders and targets too */
bool qp_connect(struct ibv_qp *qp, uint32_t peer, uint32_t psn);
bool qp_hear(struct ibv_qp *qp, uint32_t peer, uint32_t psn);
bool qp_speak(struct ibv_qp *qp, uint32_t psn);
/* From RESET, by INIT */
bool qp_to_err(struct ibv_qp *qp);

/* UD: from RESET to RTS; the way to the device itself */
bool qp_datagram(struct ibv_qp *qp, uint32_t qkey);
struct ibv_ah *ah_here(void);

struct ibv_sge sge_of(int side, uint32_t off, uint32_t len);
int post_wr(struct ibv_qp *qp, struct ibv_send_wr *wr);
int post_simple(struct pair *p, int side, enum ibv_wr_opcode op, uint64_t id,
		uint32_t off, uint32_t len, unsigned int flags);
int post_recv(struct pair *p, int side, uint64_t id, uint32_t off, uint32_t len);
/* Waits, polling, for @n completions; all are to have @status */
bool reap(struct ibv_cq *cq, struct ibv_wc *wc, int n,
	  enum ibv_wc_status status);
/* One request of side 0's, from or to its offset 0; after an error both begin anew */
bool reach(struct pair *p, enum ibv_wr_opcode op, uint32_t rkey, uint64_t addr,
	   uint32_t len, enum ibv_wc_status want);
void fill(int side, uint32_t off, uint32_t len, unsigned int seed);
bool same(int side, uint32_t off, uint32_t len, unsigned int seed);

/* data.c */
bool test_old_api(void);
bool test_new_api(void);
bool test_inline(void);
bool test_order(void);
bool test_extended_cq(void);
/* life.c */
bool test_full(void);
bool test_reset(void);
bool test_destroy(void);
bool test_resize(void);
bool test_flush(void);
bool test_fork(void);
bool test_threads(void);
bool test_numbers(void);
/* event.c */
bool test_events(void);
bool test_channel(void);
bool test_vectors(void);
bool test_solicited(void);
bool test_overflow(void);
bool test_qp_events(void);
bool test_established(void);
/* refuse.c */
bool test_unsupported(void);
bool test_stranger(void);
/* annex.c */
bool test_flush_memory(void);
bool test_atomic_write(void);
/* dmabuf.c */
bool test_dmabuf(void);
bool test_dmabuf_rules(void);
bool test_dmabuf_read_only(void);
bool test_dmabuf_rereg(void);
bool test_dmabuf_moves(void);
/* limits.c */
bool test_capabilities(void);
bool test_longest(void);
bool test_longest_srq(void);
bool test_most_pieces(void);
bool test_most_reads(void);
bool test_most_groups(void);
bool test_many(void);
bool test_current_state(void);
bool test_large(void);
bool test_other_port(void);
bool test_violations(void);
bool test_rate(void);
/* xrc.c */
bool test_xrc_operations(void);
bool test_xrc_refusals(void);
bool test_xrc_limit(void);
bool test_xrc_making(void);
bool test_xrc_processes(void);
bool test_srq_resize(void);
/* window.c */
bool test_window_1(void);
bool test_window_2(void);
bool test_window_rules(void);
bool test_window_order(void);
bool test_rereg(void);
bool test_zero_based(void);
bool test_rereg_writable(void);
/* bell.c */
bool test_bell(void);
bool test_no_bell(void);

#endif /* XROCE_VERBS_H */
