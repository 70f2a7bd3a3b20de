/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the tests of xroce_rc share: the two ends, verbs on either of them, and
 * how a test says that it failed. One thread; xroce_rc.c owns the state.
 */
#ifndef XROCE_TEST_H
#define XROCE_TEST_H

#include "end.h"

enum side { A, B };

/**
 * struct end - what is known of an end
 * @base: its memory, ARENA bytes, registered as MR 0 with every right
 * @gid, @mtu, @max_*: as CMD_HELLO answers
 * @rxe: it is rdma_rxe, some of whose statuses are its own
 * @qpn: its QPs' numbers
 */
struct end {
	int fd;
	uint64_t base;
	uint32_t lkey;
	uint32_t rkey;
	union ibv_gid gid;
	uint32_t mtu;
	uint32_t max_msg;
	uint32_t max_sge;
	bool atomic_glob;
	bool rxe;
	uint32_t qpn[MAX_QP];
	uint32_t max_inline;
};

extern struct end ends[2];
extern int opt_family;
extern enum ibv_mtu opt_mtu;
extern const char *opt_down, *opt_up, *opt_less, *opt_more;
extern unsigned int opt_rounds;
extern uint32_t opt_timeout;
extern uint64_t opt_seed;

/* That long where a test fails; 1 MB in packets of 256 takes the debug kernel a minute */
#define WAIT_MS		120000
#define GUARD		64
#define RW_ACCESS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
			 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

/* A test returns one of these; failed() and skipped() also keep the reason. */
enum result { PASS, FAIL, SKIP };

enum result failed(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
enum result skipped(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#define TRY(call) do {				\
	enum result try_ = (call);		\
						\
	if (try_ != PASS)			\
		return try_;			\
} while (0)

#define NEED(cond, ...) do {			\
	if (!(cond))				\
		return failed(__VA_ARGS__);	\
} while (0)

/* Print one result; the name as printf() has it. */
void report(enum result res, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* One command to one end; its error is in r->err. */
void tell_begin(enum side s, const struct cmd *c, struct rep *r);
void tell_end(enum side s, struct rep *r);
void tell(enum side s, const struct cmd *c, struct rep *r);

/* These fail the test when the verb fails. */
enum result pair_up(uint32_t i, const struct qp_opt *a, const struct qp_opt *b);
enum result unpair(uint32_t i);
enum result qp_del(enum side s, uint32_t i);
enum result send_wr(enum side s, uint32_t i, const struct wr *w);
enum result recv_wr(enum side s, uint32_t i, const struct wr *w);
enum result reg_mr(enum side s, uint32_t i, uint64_t addr, uint64_t len,
		   unsigned int access, uint32_t pd, uint32_t *lkey,
		   uint32_t *rkey);
enum result dereg_mr(enum side s, uint32_t i);
enum result alloc_mw(enum side s, uint32_t i, uint32_t *rkey);
enum result dealloc_mw(enum side s, uint32_t i);
enum result reap(enum side s, uint32_t i, uint32_t n, struct wc *wc);
enum result reap_within(enum side s, uint32_t i, uint32_t n, struct wc *wc,
			uint32_t ms);
enum result one_ok(enum side s, uint32_t i, struct wc *wc);
enum result one_status(enum side s, uint32_t i, enum ibv_wc_status status);
enum result in_order(enum side s, uint32_t i, uint32_t n, enum ibv_wc_status status);
enum result one_of(enum side s, uint32_t i, uint64_t mask);
enum result none(enum side s, uint32_t i, uint32_t ms);

void fill(enum side s, uint64_t addr, uint64_t len, uint64_t seed);
uint64_t differs(enum side s, uint64_t addr, uint64_t len, uint64_t seed);
bool same(enum side s, uint64_t addr, uint64_t len, uint64_t seed);
void set64(enum side s, uint64_t addr, uint64_t v);
uint64_t get64(enum side s, uint64_t addr);
uint32_t qp_state(enum side s, uint32_t i);
enum result qp_err(enum side s, uint32_t i);
enum result count(enum side s, enum count which, uint64_t *v);

/* A work request of one SGE in the arena of @s. */
struct wr simple_wr(enum side s, uint32_t opcode, uint64_t off, uint32_t len,
		    uint64_t roff);
uint64_t rnd(uint64_t n);

static inline unsigned int mtu_bytes(enum ibv_mtu mtu)
{
	return 128u << mtu;
}

void test_data(void);
void test_shape(void);
void test_annex(void);
void test_annex_refused(void);
void test_window(void);
void test_big(void);
void test_refused(void);
void test_error(void);
void test_retry(void);
void test_many(void);
void test_depth(void);
void test_mix(void);
void test_flood(void);
void test_stopped(void);

#endif /* XROCE_TEST_H */
