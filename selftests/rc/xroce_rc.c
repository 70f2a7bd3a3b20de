// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RC by the unmodified libibverbs API, every byte compared. Owns the two ends
 * and the results; the tests are in data.c, error.c and many.c. One thread.
 *
 *   xroce_rc -s WHERE -d DEV [-x] [-6]			serves one client
 *   xroce_rc -c WHERE -d DEV [-x] [-6] [-m MTU] TEST...	runs tests against it
 *
 * WHERE is a path (Unix socket, crosses network namespaces) or HOST:PORT; -x
 * says that DEV is rdma_rxe, -6 that its IPv6 GID is used. Each result is a
 * line "ok NAME", "not ok NAME # why" or "skip NAME # why". Exit status: 0, 1
 * when one failed, 4 when all were skipped, 2 for bad usage.
 */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

struct end ends[2];
int opt_family = 4;
enum ibv_mtu opt_mtu;
const char *opt_down, *opt_up, *opt_less, *opt_more;
unsigned int opt_rounds = 8;
uint32_t opt_timeout = 16;
uint64_t opt_seed = 1;

static FILE *opt_log;
static char reason[512];
static unsigned int counts[3];

static const struct {
	const char *name;
	void (*run)(void);
	const char *what;
} tests[] = {
	{ "data", test_data, "operation x MTU x size" },
	{ "shape", test_shape, "SGEs, inline, fence, unsignalled, solicited" },
	{ "annex", test_annex, "FLUSH and atomic WRITE" },
	{ "annex-refused", test_annex_refused, "a FLUSH without the right to it" },
	{ "window", test_window, "windows bound, used, invalidated by either end" },
	{ "big", test_big, "2^31 bytes, and one more" },
	{ "refused", test_refused, "what the peer refuses" },
	{ "error", test_error, "each error status, \"refused\" in it" },
	{ "retry", test_retry, "RNR and vanished peers" },
	{ "many", test_many, "QPs, atomics and READs in parallel" },
	{ "depth", test_depth, "READs, as many as agreed on" },
	{ "mix", test_mix, "random operations, -r rounds of 64" },
	{ "flood", test_flood, "more to itself than the host's queue holds" },
	{ "stopped", test_stopped, "the other end's process stopped" },
};

static enum result keep(enum result res, const char *fmt, va_list ap)
{
	vsnprintf(reason, sizeof(reason), fmt, ap);
	return res;
}

enum result failed(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	keep(FAIL, fmt, ap);
	va_end(ap);
	return FAIL;
}

enum result skipped(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	keep(SKIP, fmt, ap);
	va_end(ap);
	return SKIP;
}

void report(enum result res, const char *fmt, ...)
{
	static const char * const word[] = { "ok", "not ok", "skip" };
	char name[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	printf("%s %s%s%s\n", word[res], name, res == PASS ? "" : " # ",
	       res == PASS ? "" : reason);
	fflush(stdout);
	counts[res]++;
}

static void went_away(void)
{
	printf("not ok server # it went away\n");
	exit(1);
}

/* Who is here has done it when tell_begin() returns, who is not, when tell_end() does. */
void tell_begin(enum side s, const struct cmd *c, struct rep *r)
{
	if (ends[s].fd < 0)
		end_do(c, r);
	else if (end_write(ends[s].fd, c, sizeof(*c)))
		went_away();
}

void tell_end(enum side s, struct rep *r)
{
	if (ends[s].fd >= 0 && end_read(ends[s].fd, r, sizeof(*r)))
		went_away();
}

void tell(enum side s, const struct cmd *c, struct rep *r)
{
	tell_begin(s, c, r);
	tell_end(s, r);
}

static enum result ask(enum side s, const struct cmd *c, struct rep *r,
		       const char *what)
{
	tell(s, c, r);
	NEED(!r->err, "%s on %c: %s", what, 'A' + s, strerror((int)r->err));
	return PASS;
}

enum result pair_up(uint32_t i, const struct qp_opt *a, const struct qp_opt *b)
{
	static const struct qp_opt def;
	const struct qp_opt *o[2] = { a ?: &def, b ?: a ?: &def };
	uint32_t psn[2] = { (uint32_t)rnd(1 << 24), (uint32_t)rnd(1 << 24) };
	struct cmd c;
	struct rep r;
	int s;

	for (s = A; s <= B; s++) {
		c = (struct cmd) { .op = CMD_QP, .i = i, .opt = *o[s] };
		TRY(ask(s, &c, &r, "create QP"));
		ends[s].qpn[i] = r.n;
		ends[s].max_inline = r.max_inline;
	}
	for (s = A; s <= B; s++) {
		c = (struct cmd) {
			.op = CMD_CONNECT, .i = i, .opt = *o[s],
			.dqpn = ends[!s].qpn[i], .dgid = ends[!s].gid,
			.psn = psn[s], .dpsn = psn[!s],
		};
		c.opt.mtu = c.opt.mtu ?: opt_mtu;
		c.opt.timeout = c.opt.timeout ?: opt_timeout;
		TRY(ask(s, &c, &r, "connect QP"));
	}
	return PASS;
}

enum result qp_del(enum side s, uint32_t i)
{
	struct cmd c = { .op = CMD_QP_DEL, .i = i };
	struct rep r;

	return ask(s, &c, &r, "destroy QP");
}

enum result unpair(uint32_t i)
{
	TRY(qp_del(A, i));
	return qp_del(B, i);
}

enum result send_wr(enum side s, uint32_t i, const struct wr *w)
{
	struct cmd c = { .op = CMD_SEND, .i = i, .wr = *w };
	struct rep r;

	return ask(s, &c, &r, "post send");
}

enum result recv_wr(enum side s, uint32_t i, const struct wr *w)
{
	struct cmd c = { .op = CMD_RECV, .i = i, .wr = *w };
	struct rep r;

	return ask(s, &c, &r, "post recv");
}

enum result reg_mr(enum side s, uint32_t i, uint64_t addr, uint64_t len,
		   unsigned int access, uint32_t pd, uint32_t *lkey,
		   uint32_t *rkey)
{
	struct cmd c = { .op = CMD_MR, .i = i, .addr = addr, .len = len,
			 .v = access, .psn = pd };
	struct rep r;

	TRY(ask(s, &c, &r, "register memory"));
	if (lkey)
		*lkey = r.lkey;
	if (rkey)
		*rkey = r.rkey;
	return PASS;
}

enum result dereg_mr(enum side s, uint32_t i)
{
	struct cmd c = { .op = CMD_MR_DEL, .i = i };
	struct rep r;

	return ask(s, &c, &r, "deregister memory");
}

enum result alloc_mw(enum side s, uint32_t i, uint32_t *rkey)
{
	struct cmd c = { .op = CMD_MW, .i = i };
	struct rep r;

	TRY(ask(s, &c, &r, "allocate window"));
	*rkey = r.rkey;
	return PASS;
}

enum result dealloc_mw(enum side s, uint32_t i)
{
	struct cmd c = { .op = CMD_MW_DEL, .i = i };
	struct rep r;

	return ask(s, &c, &r, "deallocate window");
}

/* What does not differ from run to run: not the QP's number, but its index; no window's key. */
static void log_wc(enum side s, const struct wc *wc)
{
	uint32_t i;

	for (i = 0; i < MAX_QP && ends[s].qpn[i] != wc->qpn; )
		i++;
	fprintf(opt_log, "%c %u %s id=%#llx status=%u opcode=%u len=%u imm=%#x flags=%#x\n",
		'A' + s, i, wc->opcode & IBV_WC_RECV ? "recv" : "send",
		(unsigned long long)wc->id, wc->status, wc->opcode, wc->len,
		wc->flags & IBV_WC_WITH_INV ? 0 : wc->imm, wc->flags);
}

enum result reap_within(enum side s, uint32_t i, uint32_t n, struct wc *wc,
			uint32_t ms)
{
	struct cmd c = { .op = CMD_POLL, .i = i, .v = ms };
	uint32_t got, k;
	struct rep r;

	for (got = 0; got < n; got += r.n) {
		c.len = n - got;
		TRY(ask(s, &c, &r, "poll CQ"));
		NEED(r.n, "%u of %u completions on %c within %u ms", got, n,
		     'A' + s, ms);
		memcpy(wc + got, r.wc, r.n * sizeof(*wc));
		for (k = 0; opt_log && k < r.n; k++)
			log_wc(s, &r.wc[k]);
	}
	return PASS;
}

enum result reap(enum side s, uint32_t i, uint32_t n, struct wc *wc)
{
	return reap_within(s, i, n, wc, WAIT_MS);
}

enum result one_status(enum side s, uint32_t i, enum ibv_wc_status status)
{
	struct wc wc;

	TRY(reap(s, i, 1, &wc));
	NEED(wc.status == status, "completion on %c: %s, not %s", 'A' + s,
	     ibv_wc_status_str(wc.status), ibv_wc_status_str(status));
	return PASS;
}

/* @n completions, at most MAX_WC, in the order of posting: ids from 0 on. */
enum result in_order(enum side s, uint32_t i, uint32_t n, enum ibv_wc_status status)
{
	struct wc wc[MAX_WC];
	uint32_t k;

	TRY(reap(s, i, n, wc));
	for (k = 0; k < n; k++)
		NEED(wc[k].id == k && wc[k].status == status,
		     "completion %u is that of %llu: %s", k,
		     (unsigned long long)wc[k].id,
		     ibv_wc_status_str(wc[k].status));
	return PASS;
}

/* One completion whose status is among the bits of @mask. */
enum result one_of(enum side s, uint32_t i, uint64_t mask)
{
	struct wc wc;

	TRY(reap(s, i, 1, &wc));
	NEED(mask >> wc.status & 1, "completion on %c: %s (statuses %#llx allowed)",
	     'A' + s, ibv_wc_status_str(wc.status), (unsigned long long)mask);
	return PASS;
}

enum result one_ok(enum side s, uint32_t i, struct wc *wc)
{
	TRY(reap(s, i, 1, wc));
	NEED(wc->status == IBV_WC_SUCCESS, "completion on %c: %s", 'A' + s,
	     ibv_wc_status_str(wc->status));
	NEED(wc->qpn == ends[s].qpn[i], "completion on %c for QP %u, not %u",
	     'A' + s, wc->qpn, ends[s].qpn[i]);
	return PASS;
}

enum result none(enum side s, uint32_t i, uint32_t ms)
{
	struct cmd c = { .op = CMD_POLL, .i = i, .v = ms, .len = 1 };
	struct rep r;

	TRY(ask(s, &c, &r, "poll CQ"));
	NEED(!r.n, "a completion too many on %c: id %llu, %s", 'A' + s,
	     (unsigned long long)r.wc[0].id, ibv_wc_status_str(r.wc[0].status));
	return PASS;
}

void fill(enum side s, uint64_t addr, uint64_t len, uint64_t seed)
{
	struct cmd c = { .op = CMD_FILL, .addr = addr, .len = len, .v = seed };
	struct rep r;

	tell(s, &c, &r);
}

uint64_t differs(enum side s, uint64_t addr, uint64_t len, uint64_t seed)
{
	struct cmd c = { .op = CMD_CHECK, .addr = addr, .len = len, .v = seed };
	struct rep r;

	tell(s, &c, &r);
	return r.v;
}

bool same(enum side s, uint64_t addr, uint64_t len, uint64_t seed)
{
	return differs(s, addr, len, seed) == len;
}

void set64(enum side s, uint64_t addr, uint64_t v)
{
	struct cmd c = { .op = CMD_SET, .addr = addr, .v = v };
	struct rep r;

	tell(s, &c, &r);
}

uint64_t get64(enum side s, uint64_t addr)
{
	struct cmd c = { .op = CMD_GET, .addr = addr };
	struct rep r;

	tell(s, &c, &r);
	return r.v;
}

uint32_t qp_state(enum side s, uint32_t i)
{
	struct cmd c = { .op = CMD_QP_STATE, .i = i };
	struct rep r;

	tell(s, &c, &r);
	return r.err ? IBV_QPS_UNKNOWN : r.n;
}

enum result qp_err(enum side s, uint32_t i)
{
	struct cmd c = { .op = CMD_QP_ERR, .i = i };
	struct rep r;

	return ask(s, &c, &r, "move QP to ERR");
}

enum result count(enum side s, enum count which, uint64_t *v)
{
	struct cmd c = { .op = CMD_COUNT, .v = which };
	struct rep r;

	TRY(ask(s, &c, &r, "read counter"));
	*v = r.v;
	return PASS;
}

struct wr simple_wr(enum side s, uint32_t opcode, uint64_t off, uint32_t len,
		    uint64_t roff)
{
	struct wr w = {
		.id = off,
		.opcode = opcode,
		.flags = IBV_SEND_SIGNALED,
		.num_sge = 1,
		.raddr = ends[!s].base + roff,
		.rkey = ends[!s].rkey,
	};

	w.sge[0].addr = ends[s].base + off;
	w.sge[0].len = len;
	w.sge[0].lkey = ends[s].lkey;
	return w;
}

/* Uniform enough below @n; the whole run follows from opt_seed. */
uint64_t rnd(uint64_t n)
{
	opt_seed ^= opt_seed << 13;
	opt_seed ^= opt_seed >> 7;
	opt_seed ^= opt_seed << 17;
	return (opt_seed >> 11) % n;
}

static int greet(enum side s)
{
	struct cmd c = { .op = CMD_HELLO };
	struct end *e = &ends[s];
	struct rep r;

	tell(s, &c, &r);
	e->base = r.addr;
	e->gid = r.gid;
	e->mtu = r.mtu;
	e->max_msg = r.max_msg;
	e->max_sge = r.max_sge;
	e->atomic_glob = r.atomic_glob;
	e->rxe = r.rxe;
	if (reg_mr(s, 0, e->base, ARENA, RW_ACCESS, 0, &e->lkey, &e->rkey)) {
		printf("not ok start # %s\n", reason);
		return 1;
	}
	return 0;
}

static int usage(void)
{
	unsigned int i;

	fprintf(stderr, "usage: xroce_rc -s|-c PATH|HOST:PORT -d DEV [-x] [-6] [-m MTU]\n"
		"		[-r ROUNDS] [-S SEED] [-t TIMEOUT]\n"
		"		[-D COMMAND -U COMMAND (link down, up)]\n"
		"		[-L COMMAND -M COMMAND (its MTU 600, as before)]\n"
		"		[-l FILE (each completion)] TEST...\n");
	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		fprintf(stderr, "  %-7s %s\n", tests[i].name, tests[i].what);
	return 2;
}

static int run_test(const char *name)
{
	unsigned int i;

	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		if (!strcmp(tests[i].name, name)) {
			tests[i].run();
			return 0;
		}
	return usage();
}

int main(int argc, char **argv)
{
	const char *serve = NULL, *dial = NULL, *dev = NULL;
	struct cmd bye = { .op = CMD_BYE };
	int opt, mtu = 0;

	while ((opt = getopt(argc, argv, "s:c:d:x6m:r:S:t:D:U:L:M:l:")) != -1) {
		switch (opt) {
		case 's':
			serve = optarg;
			break;
		case 'c':
			dial = optarg;
			break;
		case 'd':
			dev = optarg;
			break;
		case 'x':
			end_is_rxe = true;
			break;
		case '6':
			opt_family = 6;
			break;
		case 'm':
			mtu = atoi(optarg);
			break;
		case 'r':
			opt_rounds = (unsigned int)atoi(optarg);
			break;
		case 'S':
			opt_seed = strtoull(optarg, NULL, 0) ?: 1;
			break;
		case 't':
			opt_timeout = (uint32_t)atoi(optarg);
			break;
		case 'D':
			opt_down = optarg;
			break;
		case 'U':
			opt_up = optarg;
			break;
		case 'L':
			opt_less = optarg;
			break;
		case 'M':
			opt_more = optarg;
			break;
		case 'l':
			opt_log = fopen(optarg, "w");
			if (!opt_log)
				return usage();
			break;
		default:
			return usage();
		}
	}
	if (!dev || !serve == !dial)
		return usage();
	if (end_open(dev, opt_family)) {
		printf("not ok open %s\n", dev);
		return 1;
	}
	if (serve)
		return end_serve(serve);
	ends[A].fd = -1;
	ends[B].fd = end_dial(dial);
	if (ends[B].fd < 0) {
		printf("not ok connect # no server at %s\n", dial);
		return 1;
	}
	if (greet(A) || greet(B))
		return 1;
	opt_mtu = ends[A].mtu < ends[B].mtu ? ends[A].mtu : ends[B].mtu;
	if (mtu) {
		for (opt = IBV_MTU_256; mtu_bytes(opt) < (unsigned int)mtu; )
			opt++;
		if (opt > (int)opt_mtu) {
			printf("not ok mtu # the ports have %u, not %d\n",
			       mtu_bytes(opt_mtu), mtu);
			return 1;
		}
		opt_mtu = opt;
	}
	for (; optind < argc; optind++)
		if (run_test(argv[optind]))
			return 2;
	if (end_write(ends[B].fd, &bye, sizeof(bye)))
		return 1;
	if (counts[FAIL] || !(counts[PASS] + counts[SKIP]))
		return 1;
	return counts[PASS] ? 0 : 4;
}
