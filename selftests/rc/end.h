/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One end of the tests: a device with its QPs and memory, told what to do by
 * struct cmd. One end is this process, the other a server reached by a socket;
 * tests speak to both in the same way. Owns no state but by end.c; one thread.
 */
#ifndef XROCE_TEST_END_H
#define XROCE_TEST_END_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAX_QP		128
#define MAX_MR		16
#define MAX_SGE		32
#define MAX_WC		64
#define ARENA		(16ul << 20)
#define HUGE_PERIOD	(2ul << 20)

enum cmd_op {
	CMD_HELLO,
	CMD_QP,
	CMD_CONNECT,
	CMD_QP_DEL,
	CMD_QP_ERR,
	CMD_QP_STATE,
	CMD_MR,
	CMD_MR_DEL,
	CMD_MW,
	CMD_MW_DEL,
	CMD_FILL,
	CMD_CHECK,
	CMD_SET,
	CMD_GET,
	CMD_ADD,
	CMD_HUGE,
	CMD_SEND,
	CMD_RECV,
	CMD_POLL,
	CMD_ARM,
	CMD_EVENT,
	CMD_COUNT,
	CMD_BYE,
};

/* What CMD_COUNT knows */
enum count { COUNT_SENT, COUNT_RCVD, COUNT_UNTAKEN };

/**
 * struct qp_opt - how a QP is made and connected; 0 means the default
 * @timeout, @retry, @rnr_retry, @min_rnr: as in struct ibv_qp_attr; @rnr_retry
 *	and @retry count from 1, so that 0 stays the default
 * @shared_cq: use the CQ of QP 0 of this end
 * @annex: it takes FLUSH and atomic WRITE (Annex A19)
 */
struct qp_opt {
	uint32_t depth;
	uint32_t max_sge;
	uint32_t max_inline;
	uint32_t pd;
	uint32_t sig_all;
	uint32_t shared_cq;
	uint32_t annex;
	uint32_t mtu;
	uint32_t rd;
	uint32_t timeout;
	uint32_t retry;
	uint32_t rnr_retry;
	uint32_t min_rnr;
	uint32_t access;
	uint32_t no_access;
};

struct wr {
	uint64_t id;
	uint32_t opcode;
	uint32_t flags;
	uint32_t num_sge;
	uint32_t imm;
	uint64_t raddr;
	uint32_t rkey;
	uint32_t pad;
	uint64_t compare;
	uint64_t swap;
	struct {
		uint64_t addr;
		uint32_t len;
		uint32_t lkey;
	} sge[MAX_SGE];
};

struct wc {
	uint64_t id;
	uint32_t status;
	uint32_t opcode;
	uint32_t len;
	uint32_t imm;
	uint32_t flags;
	uint32_t qpn;
};

/* What a cmd's fields mean is written at its case in end_do(). */
struct cmd {
	uint32_t op;
	uint32_t i;
	uint64_t addr;
	uint64_t len;
	uint64_t v;
	uint32_t dqpn;
	uint32_t psn;
	uint32_t dpsn;
	uint32_t pad;
	union ibv_gid dgid;
	struct qp_opt opt;
	struct wr wr;
};

struct rep {
	uint32_t err;
	uint32_t n;
	uint64_t addr;
	uint64_t v;
	uint32_t lkey;
	uint32_t rkey;
	uint32_t mtu;
	uint32_t max_inline;
	uint32_t atomic_glob;
	uint32_t max_msg;
	uint32_t max_sge;
	uint32_t rxe;
	uint32_t pad;
	union ibv_gid gid;
	struct wc wc[MAX_WC];
};

/* Said by who starts the end: nothing in the API tells it. */
extern bool end_is_rxe;

int end_open(const char *dev, int family);
void end_do(const struct cmd *c, struct rep *r);
int end_serve(const char *where);
int end_dial(const char *where);
int end_read(int fd, void *p, size_t len);
int end_write(int fd, const void *p, size_t len);

#endif /* XROCE_TEST_END_H */
