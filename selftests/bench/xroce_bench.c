// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a message costs, on any RDMA device, by plain libibverbs: the same binary
 * measures xroce and rdma_rxe. Owns the two processes of a measurement and what
 * is timed; end.c has the loops. One thread each.
 *
 *   xroce_bench -s PATH -d DEV -t ID		serves clients, one at a time
 *   xroce_bench -c PATH -d DEV -t ID [-ip] SPEC...	measures, each a line of JSON
 *
 * SPEC is OP[,KEY=VALUE]...: OP is write, read, atomic, send, bind (a window),
 * reg (dereg and reg of memory) or none (what the memory of idle QPs is, and
 * what an idle second costs); keys are size,
 * list, qps, mtu, depth, sig, n, r (runs), wait (events, poll, yield), inline,
 * v (4, 6) and, for one message at a time, lat. PATH is that of a socket, which
 * crosses network namespaces; ID that of the tracepoint raw_syscalls:sys_enter.
 * Costs are instructions with -i (a guest with ICOUNT=1, whose TSC counts
 * them), nanoseconds without. -p: the last run is marked for plugin.c. Runs that
 * differ by 2 % are done again, longer.
 */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "mark.h"
#include "ticks.h"

#define MAX_RUNS 8
#define IDLE_S 30

static struct end end;
static const char *device, *what = "";
static bool icount, profiled;
static int sock, perf, trace;

static const char * const op_name[] = {
	[OP_WRITE] = "write", [OP_READ] = "read", [OP_ATOMIC] = "atomic",
	[OP_SEND] = "send", [OP_NONE] = "none", [OP_BIND] = "bind",
	[OP_REG] = "reg",
};

static const char * const wait_name[] = {
	[WAIT_EVENTS] = "events", [WAIT_POLL] = "poll", [WAIT_YIELD] = "yield",
};

void fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "xroce_bench: %s: %s: ", device, what);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(1);
}

static uint64_t now(void)
{
	struct timespec t;

	if (icount)
		return ticks();
	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/*
 * What the first CPU has idled, in ns: the clock of an idle guest leaps. 0 where
 * the kernel tells it in hundredths of a second only, as 7.3 does.
 */
static uint64_t idle(void)
{
	uint64_t ns = 0;
	char line[256];
	FILE *f;

	if (!icount)
		return 0;
	f = fopen("/proc/timer_list", "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " .idle_sleeptime : %lu", &ns) == 1)
			break;
	if (!f)
		fail("/proc/timer_list: %m");
	fclose(f);
	return ns;
}

/* Counters of this end's device that say that the wire did not just work. */
static uint64_t trouble(void)
{
	static const char * const names[] = {
		"duplicate_request", "out_of_seq_request", "out_of_sequence",
		"rcvd_rnr_err", "send_rnr_err", "rcvd_seq_err",
		"packet_seq_err", "implied_nak_seq_err", "completer_retry_err",
		"local_ack_timeout_err", "retransmitted_pkts",
		"ack_requests_resent",
	};
	uint64_t sum = 0, v;
	char path[256];
	FILE *f;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path),
			 "/sys/class/infiniband/%s/ports/1/hw_counters/%s",
			 device, names[i]);
		f = fopen(path, "r");
		if (!f)
			continue;
		if (fscanf(f, "%lu", &v) == 1)
			sum += v;
		fclose(f);
	}
	return sum;
}

/* Counts this process's system calls, by perf at a tracepoint: open for as long
 * as it counts, since it costs something at every switch of processes (count_rest()).
 */
static void count_begin(bool on)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof(a), .config = trace,
	};

	if (!on)
		return;
	perf = syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
	if (perf < 0)
		fail("perf_event_open: %m");
}

/* The calls since, but for the one that reads and @others. */
static uint64_t count_end(bool on, int others)
{
	uint64_t n;

	if (!on)
		return 0;
	if (read(perf, &n, sizeof(n)) != sizeof(n))
		fail("perf: %m");
	close(perf);
	return n - 1 - others;
}

/* The kernel looks for perf's events at each switch for a second after the last. */
static void count_rest(void)
{
	nanosleep(&(struct timespec){ .tv_sec = 1, .tv_nsec = 500000000 }, NULL);
}

static bool hear(struct msg *m)
{
	ssize_t n = recv(sock, m, sizeof(*m), MSG_WAITALL);

	if (n && n != sizeof(*m))
		fail("the other end went away");
	return n;
}

static void say(const struct msg *m)
{
	if (send(sock, m, sizeof(*m), MSG_NOSIGNAL) != sizeof(*m))
		fail("the other end went away");
}

static void ask(struct msg *m, enum say what)
{
	m->say = what;
	say(m);
	if (!hear(m) || m->err)
		fail("the other end failed");
}

/* Returns this side's system calls. */
static uint64_t serve_run(struct msg *m)
{
	bool count = m->count;

	count_begin(count);
	say(m);
	if (end.s.op != OP_SEND)
		return count_end(count, 1);
	if (end.s.lat)
		end_pong(&end, m->spec.n);
	else
		end_recv(&end, m->spec.n);
	m->say = SAY_DONE;
	say(m);
	return count_end(count, 2);
}

static void serve(void)
{
	static struct msg m, far;
	uint64_t calls = 0, bad = 0;

	while (hear(&m)) {
		m.err = 0;
		switch (m.say) {
		case SAY_SETUP:
			far = m;
			what = op_name[m.spec.op];
			end_setup(&end, &far.spec, &m);
			end_connect(&end, &far);
			break;
		case SAY_CLEAR:
			bad = trouble();
			end_clear(&end, op_fills_client(end.s.op));
			break;
		case SAY_RUN:
			calls = serve_run(&m);
			continue;
		case SAY_CALLS:
			m.v = calls;
			m.trouble = strcmp(device, m.device) ? trouble() - bad : 0;
			break;
		case SAY_CHECK:
			if (!op_fills_client(end.s.op)) {
				end_check(&end, m.v);
			} else if (end.s.op != OP_READ) {
				end.far.rkey = m.v;
				end_send(&end, 1);
			}
			break;
		case SAY_END:
			end_free(&end);
			break;
		}
		say(&m);
	}
}

struct cost {
	uint64_t spent;
	uint64_t idle;
	uint64_t calls;
};

enum how { PLAIN, MARKED, COUNTED };

/* @n messages of the spec; the clock stops when both ends have seen all. */
static void run(const struct spec *s, uint64_t n, enum how how, struct cost *c)
{
	static struct msg m;
	bool count = how == COUNTED;
	uint64_t t, i = idle();

	m.spec.n = n;
	m.count = count;
	ask(&m, SAY_RUN);
	count_begin(count);
	if (how == MARKED)
		MARK(MARK_BEGIN);
	t = now();
	if (s->lat)
		end_ping(&end, n);
	else
		end_send(&end, n);
	if (s->op == OP_SEND && (!hear(&m) || m.say != SAY_DONE))
		fail("the other end failed");
	c->spent = now() - t;
	if (how == MARKED)
		MARK(MARK_END);
	c->calls = count_end(count, s->op == OP_SEND);
	c->idle = idle() - i;
}

/* About @n, but so that each QP's last message is signalled. */
static uint64_t part(const struct spec *s, uint64_t n)
{
	uint32_t all = s->sig * s->qps;

	return n > all ? n / all * all : all;
}

/* By how much of the least they differ, of what the runs cost without idling. */
static double spread(const struct cost *c, int runs)
{
	uint64_t min = UINT64_MAX, max = 0, v;

	for (int i = 0; i < runs; i++) {
		v = c[i].spent - c[i].idle;
		min = v < min ? v : min;
		max = v > max ? v : max;
	}
	return 1.0 * (max - min) / min;
}

static void measure(struct spec *s, const char *text, int runs)
{
	struct cost c[MAX_RUNS], calls, warm;
	uint64_t far_calls, bad;
	static struct msg m;

	end_setup(&end, s, &m);
	ask(&m, SAY_SETUP);
	end_connect(&end, &m);
	end_clear(&end, !op_fills_client(s->op));
	ask(&m, SAY_CLEAR);
	bad = trouble();
	run(s, part(s, s->n / 4), PLAIN, &warm);
	for (int again = 0; again < 2; again++) {
		for (int i = 0; i < runs; i++)
			run(s, s->n, profiled && i == runs - 1 ? MARKED : PLAIN,
			    &c[i]);
		if (profiled || !icount || again || spread(c, runs) < 0.02)
			break;
		s->n *= 4;
	}
	run(s, s->n, COUNTED, &calls);
	count_rest();
	snprintf(m.device, sizeof(m.device), "%s", device);
	ask(&m, SAY_CALLS);
	far_calls = m.v;
	bad = trouble() - bad + m.trouble;
	m.v = 0;
	for (uint32_t q = 0; q < s->qps; q++)
		m.v += end.sent[q];
	if (s->op == OP_BIND || s->op == OP_REG)
		m.v = end_key(&end);
	ask(&m, SAY_CHECK);
	if (op_fills_client(s->op))
		end_check(&end, 0);
	ask(&m, SAY_END);
	end_free(&end);

	printf("{\"spec\":\"%s\",\"dev\":\"%s\",\"op\":\"%s\",\"lat\":%u,",
	       text, device, op_name[s->op], s->lat);
	printf("\"size\":%u,\"list\":%u,\"qps\":%u,\"mtu\":%u,\"wait\":\"%s\",",
	       s->size, s->list, s->qps, s->mtu, wait_name[s->wait]);
	printf("\"sig\":%u,\"depth\":%u,\"inline\":%u,\"n\":%lu,\"unit\":\"%s\",",
	       s->sig, s->depth, s->inl, s->n, icount ? "insn" : "ns");
	printf("\"trouble\":%lu,\"calls\":[%lu,%lu],\"spent\":[", bad,
	       calls.calls, far_calls);
	for (int i = 0; i < runs; i++)
		printf("%s%lu", i ? "," : "", c[i].spent);
	printf("],\"idle\":[");
	for (int i = 0; i < runs; i++)
		printf("%s%lu", i ? "," : "", c[i].idle);
	printf("]}\n");
	fflush(stdout);
	fprintf(stderr, "%s: %.1f %s a message, +%.1f %%\n", text,
		1.0 * (c[0].spent - c[0].idle) / s->n, icount ? "insn" : "ns",
		spread(c, runs) * 100);
}

/* Kilobytes that are gone, in all and by what /proc/meminfo calls them. */
enum { ALL, SLAB, VMALLOC, TABLES, ANON, KINDS };

static const char * const mem_name[KINDS] = {
	"all", "Slab", "VmallocUsed", "PageTables", "AnonPages",
};

/* MemFree does without the free pages that a processor keeps; not so here. */
static int64_t free_pages(void)
{
	FILE *f = fopen("/proc/zoneinfo", "r");
	int64_t v, sum = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " pages free %ld", &v) == 1 ||
		    sscanf(line, " count: %ld", &v) == 1)
			sum += v;
	if (!f)
		fail("/proc/zoneinfo: %m");
	fclose(f);
	return sum;
}

static void meminfo(int64_t kb[KINDS])
{
	FILE *f = fopen("/proc/meminfo", "r");
	char line[256], name[64];
	int64_t v;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63[^:]: %ld", name, &v) != 2)
			continue;
		for (int i = SLAB; i < KINDS; i++)
			if (!strcmp(name, mem_name[i]))
				kb[i] = v;
	}
	if (!f)
		fail("/proc/meminfo: %m");
	fclose(f);
	kb[ALL] = -free_pages() * (getpagesize() / 1024);
}

/*
 * What @qps connected QPs take, and a second in which they do nothing: of many, since
 * the kernel has errands of its own every few.
 */
static void idle_qps(const struct spec *s, uint32_t qps, int64_t kb[KINDS],
		     struct cost *c)
{
	struct timespec rest = { .tv_sec = IDLE_S };
	struct spec some = *s;
	int64_t before[KINDS];
	static struct msg m;
	uint64_t i, t;

	some.qps = qps;
	meminfo(before);
	end_setup(&end, &some, &m);
	ask(&m, SAY_SETUP);
	end_connect(&end, &m);
	meminfo(kb);
	for (int k = 0; k < KINDS; k++)
		kb[k] -= before[k];
	if (c) {
		i = idle();
		t = now();
		nanosleep(&rest, NULL);
		c->spent = (now() - t) / IDLE_S;
		c->idle = (idle() - i) / IDLE_S;
	}
	ask(&m, SAY_END);
	end_free(&end);
}

/* The first time fills caches; one QP has what all share. */
static void measure_idle(const struct spec *s)
{
	int64_t one[KINDS], many[KINDS];
	struct cost c;

	idle_qps(s, s->qps, many, NULL);
	idle_qps(s, 1, one, NULL);
	idle_qps(s, s->qps, many, &c);
	printf("{\"op\":\"none\",\"qps\":%u,\"depth\":%u,\"idle\":%lu,\"spent\":%lu", s->qps,
	       s->depth, c.idle, c.spent);
	for (int k = 0; k < KINDS; k++)
		printf(",\"%s\":%.0f", mem_name[k], (many[k] - one[k]) *
		       1024.0 / (s->qps - 1) / 2);
	printf("}\n");
	fprintf(stderr, "%s: %.1f KiB a QP\n", what,
		1.0 * (many[ALL] - one[ALL]) / (s->qps - 1) / 2);
}

static uint32_t lookup(const char *name, const char * const *names, int max)
{
	for (int i = 0; i < max; i++)
		if (!strcmp(name, names[i]))
			return i;
	fail("what is %s?", name);
}

/* What is not said: perftest's choices, but as many bytes outstanding at most
 * as make sense.
 */
static void defaults(struct spec *s)
{
	uint64_t bytes = s->size > 4096 ? s->size : 4096;

	if (s->op == OP_ATOMIC)
		s->size = 8;
	if (s->op == OP_BIND || s->op == OP_REG) {
		s->lat = 1;
		s->n = s->n ?: 1024;
	}
	s->sig = s->sig ?: s->lat && s->op != OP_SEND ? 1 :
		(4 << 20) / bytes > 64 ? 64 : (4 << 20) / bytes ?: 1;
	s->depth = s->depth ?: s->lat ? 2 * s->sig : 4 * s->sig;
	if (s->op == OP_NONE)
		s->sig = s->depth = s->rdepth = 128;
	else
		s->rdepth = s->lat ? 16 : s->qps > 8 ? s->depth : 4 * s->depth;
	if (s->lat && s->op != OP_SEND)
		s->inl = 0;
	if (!s->n)
		s->n = (s->lat ? 4 << 20 : 16 << 20) / bytes;
	s->n = part(s, s->n);
}

/* The runs that the spec wants. */
static int parse(char *text, struct spec *s)
{
	char *word = strtok(text, ","), *value;
	uint64_t v, runs = 2;

	*s = (struct spec) {
		.op = lookup(word, op_name, OP_MAX), .size = 64, .list = 1,
		.qps = 1, .mtu = 4096, .family = 4,
	};
	while ((word = strtok(NULL, ","))) {
		value = strchr(word, '=');
		v = value ? strtoul(value + 1, NULL, 0) : 1;
		if (value)
			*value = 0;
		if (!strcmp(word, "lat"))
			s->lat = v;
		else if (!strcmp(word, "size"))
			s->size = v;
		else if (!strcmp(word, "list"))
			s->list = v;
		else if (!strcmp(word, "qps"))
			s->qps = v;
		else if (!strcmp(word, "mtu"))
			s->mtu = v;
		else if (!strcmp(word, "depth"))
			s->depth = v;
		else if (!strcmp(word, "sig"))
			s->sig = v;
		else if (!strcmp(word, "n"))
			s->n = v;
		else if (!strcmp(word, "r"))
			runs = v;
		else if (!strcmp(word, "inline"))
			s->inl = v;
		else if (!strcmp(word, "v"))
			s->family = v;
		else if (!strcmp(word, "wait") && value)
			s->wait = lookup(value + 1, wait_name, WAIT_MAX);
		else
			fail("what is %s?", word);
	}
	defaults(s);
	if (!s->qps || s->qps > MAX_QP || !s->list || s->list > 64 ||
	    s->depth < s->list || s->depth < s->sig || !runs ||
	    runs > MAX_RUNS || s->n / s->qps < end_slots(s) ||
	    s->n / s->qps % s->list || (s->op == OP_NONE && s->qps < 2))
		fail("out of range");
	return runs;
}

static void share(const char *path)
{
	char name[128];
	int fd;

	snprintf(name, sizeof(name), "%s.shared", path);
	fd = open(name, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*end.shared)))
		fail("%s: %m", name);
	end.shared = mmap(NULL, sizeof(*end.shared), PROT_READ | PROT_WRITE,
			  MAP_SHARED, fd, 0);
	if (end.shared == MAP_FAILED)
		fail("%s: %m", name);
	close(fd);
}

static void client(const char *path, char **specs)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct spec s;
	int runs;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	sock = socket(AF_UNIX, SOCK_STREAM, 0);
	if (connect(sock, (struct sockaddr *)&addr, sizeof(addr)))
		fail("%s: %m", path);
	for (; *specs; specs++) {
		char *text = strdup(*specs);

		what = *specs;
		runs = parse(text, &s);
		if (s.op == OP_NONE)
			measure_idle(&s);
		else
			measure(&s, *specs, runs);
		free(text);
	}
}

static void server(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int l = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	unlink(path);
	if (bind(l, (struct sockaddr *)&addr, sizeof(addr)) || listen(l, 1))
		fail("%s: %m", path);
	for (;;) {
		sock = accept(l, NULL, NULL);
		if (sock < 0)
			fail("%s: %m", path);
		serve();
		close(sock);
	}
}

int main(int argc, char **argv)
{
	const char *path = NULL;
	bool serves = false;
	int c;

	while ((c = getopt(argc, argv, "s:c:d:ipt:")) != -1) {
		switch (c) {
		case 's':
		case 'c':
			path = optarg;
			serves = c == 's';
			break;
		case 'd':
			device = optarg;
			break;
		case 't':
			trace = atoi(optarg);
			break;
		case 'p':
			profiled = true;
			break;
		case 'i':
			icount = true;
			break;
		default:
			return 2;
		}
	}
	if (!path || !device) {
		fprintf(stderr, "usage: xroce_bench -s|-c PATH -d DEV -t ID [-ip] SPEC...\n");
		return 2;
	}
	if (end_open(&end, device))
		fail("no such device");
	share(path);
	if (serves)
		server(path);
	else
		client(path, argv + optind);
	return 0;
}
