// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Traffic between two devices, each side a process of its own, round after round,
 * that ends in all the ways there are. This process starts pairs of them, has
 * something done to them, and sees that they end, in time and without a fault.
 *
 *   life [-n ROUNDS] [-p PAIRS] [-t TIMEOUT] [-w US] [-l] [-m] SIDE SIDE MODE
 *
 * SIDE: DEV[@NETNS[@ADDRESS]], of IPv4, the device's first one by default. A % in a
 * name stands for the pair's number, from 1.
 *
 * MODE: kill	 kill -9 of one side or both; the other ends
 *	 destroy one side's objects in random order, the other's afterwards
 *	 revoke-{uc,rc,local,remote,dealloc,rereg-uc,rereg}  see revoke.c
 *	 revoke-{read,recv}  see secret.c
 *	 xrc	 see xrc.c
 *	 ask	 each round for a line on stdin: "end" and "go" begin traffic, which
 *		 is answered by "traffic"; then any line. After "go" the traffic has
 *		 to go on until then. Answered by "ok" or "failed".
 *
 * -t: the QPs' ACK timeout as verbs have it; -l: the sides leave the namespace
 * once they have opened their device; -m: rings are used when the device is gone; -w:
 * how long a side pauses after what a poll found, else 100 us for each of many pairs.
 */
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "life.h"

static struct pair {
	struct shared *shared;
	pid_t pid[2];
} *pairs;
static int npairs = 1;
struct shared *shared;		/* a side's own */
struct opts opts = { .timeout = 12, .rounds = 1 };
static uint64_t seed = 4711;

/* And one for each enum way */
enum mode { KILL, DESTROY, XRC, ASK, REVOKE };
static enum mode mode;
static bool may_go;

uint32_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 0x2545f4914f6cdd1dull >> 32;
}

/* A name for the pair @n. */
static const char *name_of(const char *pattern, int n)
{
	const char *at = pattern ? strchr(pattern, '%') : NULL;
	char *name;

	if (!at)
		return pattern;
	if (asprintf(&name, "%.*s%d%s", (int)(at - pattern), pattern, n,
		     at + 1) < 0)
		err(1, "a name");
	return name;
}

/* Return: exit status. */
static int side(struct pair *p, int me, int fd)
{
	struct side s = { .me = me };
	bool ok;

	shared = p->shared;
	opts.dev[me] = name_of(opts.dev[me], p - pairs + 1);
	opts.ns[me] = name_of(opts.ns[me], p - pairs + 1);
	seed ^= (uint64_t)getpid() << 32;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	side_open(&s);
	side_make(&s, fd);
	if (mode >= REVOKE + REVOKE_READ)
		ok = me ? secret_flood(&s, mode - REVOKE) : secret_victim(&s, mode - REVOKE);
	else if (mode >= REVOKE)
		ok = me ? revoke_flood(&s, mode - REVOKE) : revoke_victim(&s, mode - REVOKE);
	else
		ok = traffic(&s);
	if (opts.maps) {
		while (!stopped(&s))
			usleep(1000);
		ok &= side_maps();
	}
	/* Else it is all left for the kernel to clean up */
	if (!opts.maps && (rnd() % 4 || mode == DESTROY))
		ok &= side_free(&s, mode != ASK);
	return !ok;
}

static void begin(struct pair *p)
{
	int fd[2], i;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd))
		err(1, "socketpair");
	memset(p->shared, 0, sizeof(*p->shared));
	for (i = 0; i < 2; i++) {
		rnd();
		fflush(stdout);
		p->pid[i] = fork();
		if (!p->pid[i]) {
			close(fd[!i]);
			_exit(side(p, i, fd[i]));
		}
	}
	close(fd[0]);
	close(fd[1]);
}

/* Who has ended is looked at by life_ends(). */
bool life_ended(pid_t pid)
{
	siginfo_t info = {};

	return !waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) &&
	       info.si_pid;
}

static bool ended(const struct pair *p, int i)
{
	return life_ended(p->pid[i]);
}

/* All are connected, or will never be: now they may send. */
static void begin_all(void)
{
	int i, ms = 0;

	for (i = 0; i < npairs; i++)
		begin(&pairs[i]);
	for (i = 0; i < 2 * npairs && mode < REVOKE; i++)
		while (!__atomic_load_n(&pairs[i / 2].shared->ready[i % 2],
					__ATOMIC_ACQUIRE) &&
		       !ended(&pairs[i / 2], i % 2) && ms++ < PATIENCE_MS)
			usleep(1000);
	for (i = 0; i < npairs; i++)
		__atomic_store_n(&pairs[i].shared->go, 1, __ATOMIC_RELEASE);
}

static void show_stack(pid_t p)
{
	char cmd[64];

	snprintf(cmd, sizeof(cmd), "cat /proc/%d/task/*/stack >&2", p);
	if (system(cmd))
		warnx("no stack");
}

static uint32_t progress(const struct pair *p, int i, int q)
{
	return __atomic_load_n(&p->shared->progress[i][q], __ATOMIC_RELAXED);
}

/* Has every QP of a pair got something through since @was? It may yet. */
static bool pair_flows(const struct pair *p, uint32_t was[2][NQ], int *ms)
{
	int i, q;

	for (i = 0; i < 2; i++) {
		for (q = 0; q < NQ; q++) {
			while (progress(p, i, q) - was[i][q] < 3) {
				if (ended(p, 0) || ended(p, 1) ||
				    p->shared->broken[i]) {
					warnx("side %d ended by itself: %s", i,
					      ibv_wc_status_str(p->shared->status[i]));
					return false;
				}
				if (++*ms > PATIENCE_MS) {
					warnx("side %d, QP %d: %u messages", i, q,
					      progress(p, i, q) - was[i][q]);
					return false;
				}
				usleep(1000);
			}
		}
	}
	return true;
}

/* Every QP of every pair gets something through that begins now. */
static bool flows(void)
{
	uint32_t was[npairs][2][NQ];
	bool ok = true;
	int i, ms = 0;

	for (i = 0; i < npairs; i++)
		memcpy(was[i], pairs[i].shared->progress, sizeof(was[i]));
	for (i = 0; i < npairs; i++)
		ok &= pair_flows(&pairs[i], was[i], &ms);
	return ok;
}

static void stop(struct pair *p, int i)
{
	__atomic_store_n(&p->shared->stop[i], 1, __ATOMIC_RELEASE);
}

/* Errors of any kind are what we make. */
static void expect_any(void)
{
	int i;

	for (i = 0; i < npairs; i++)
		pairs[i].shared->any = 1;
}

/* Return: did a process that was told to end, or killed, do so in time? */
bool life_ends(pid_t pid, const char *who, bool killed)
{
	int status, ms;
	bool ok;

	for (ms = 0; !life_ended(pid); ms++) {
		if (ms == PATIENCE_MS) {
			warnx("%s hangs:", who);
			show_stack(pid);
			kill(pid, SIGKILL);
			break;
		}
		usleep(1000);
	}
	if (waitpid(pid, &status, 0) != pid)
		err(1, "waitpid");
	ok = ms < PATIENCE_MS && (!status || (killed && WIFSIGNALED(status) &&
					      WTERMSIG(status) == SIGKILL));
	if (!ok)
		warnx("%s: status %#x", who, status);
	return ok;
}

static bool end(struct pair *p, int i, bool killed)
{
	char who[32];

	stop(p, i);
	snprintf(who, sizeof(who), "pair %d, side %d", (int)(p - pairs) + 1, i);
	return life_ends(p->pid[i], who, killed);
}

/* Both of a pair, whatever becomes of the first. */
static bool end_both(struct pair *p, int first, bool killed, bool other_killed)
{
	bool ok = end(p, first, killed);

	return end(p, !first, other_killed) && ok;
}

static bool end_all(void)
{
	bool ok = true;
	int i;

	/* What they do with their rings takes each a while, and no peer */
	for (i = 0; i < 2 * npairs && opts.maps; i++)
		stop(&pairs[i / 2], i % 2);
	for (i = 0; i < npairs; i++)
		ok &= end_both(&pairs[i], 0, false, false);
	return ok;
}

static void some_time(void)
{
	usleep(rnd() % 20000);
}

/* Whom of a pair: the one, the other, both. */
static int victims(int n, int i)
{
	return (n * npairs + i) % 3 + 1;
}

static bool round_kill(int n)
{
	bool ok = flows();
	int i, k;

	for (i = 0; i < npairs; i++) {
		some_time();
		for (k = 0; k < 2; k++)
			if (victims(n, i) & 1 << k)
				kill(pairs[i].pid[k], SIGKILL);
	}
	if (rnd() % 2)
		usleep(rnd() % 200000);
	for (i = 0; i < npairs; i++)
		ok &= end_both(&pairs[i], 0, victims(n, i) & 1,
			       victims(n, i) & 2);
	return ok;
}

static bool round_destroy(void)
{
	bool ok = flows();
	int i;

	expect_any();
	for (i = 0; i < npairs; i++) {
		some_time();
		stop(&pairs[i], rnd() % 2);
	}
	some_time();
	return end_all() && ok;
}

static bool read_line(char *line, int len)
{
	if (!fgets(line, len, stdin))
		return false;
	line[strcspn(line, "\n")] = 0;
	return true;
}

static bool round_ask(void)
{
	char line[64];
	bool ok = flows(), go;

	go = may_go;
	/* One side may end before the other sees why */
	if (!go)
		expect_any();
	printf("traffic\n");
	fflush(stdout);
	if (!read_line(line, sizeof(line)))
		ok = false;
	if (ok && go)
		ok = flows();
	expect_any();
	ok &= end_all();
	printf("%s\n", ok ? "ok" : "failed");
	fflush(stdout);
	return ok;
}

/* The victim ends by itself when it has had its rounds. */
static bool end_revoke(void)
{
	bool ok = true;
	int i;

	for (i = 0; i < npairs; i++) {
		while (!ended(&pairs[i], 0) && !ended(&pairs[i], 1))
			usleep(10000);
		ok &= end_both(&pairs[i], !ended(&pairs[i], 0), false, false) &&
		      !pairs[i].shared->broken[0];
	}
	return ok;
}

/* Of what takes hours, to where the test's own output goes */
static void say_rounds(int done, int rounds)
{
	if (mode != ASK && rounds >= MANY_ROUNDS && done % (rounds / 10) == 0)
		dprintf(3, "# %d of %d rounds\n", done, rounds);
}

/* Return: rounds that failed. */
static int run(void)
{
	int rounds = mode == ASK ? INT_MAX : mode >= REVOKE ? 1 : opts.rounds;
	int i, failed = 0;
	char line[64];
	bool ok;

	for (i = 0; i < rounds && failed < 5; i++) {
		if (mode == ASK) {
			if (!read_line(line, sizeof(line)))
				break;
			may_go = !strcmp(line, "go");
		}
		if (mode != XRC)
			begin_all();
		ok = mode == KILL ? round_kill(i) :
		     mode == DESTROY ? round_destroy() :
		     mode == XRC ? xrc_round(i) :
		     mode == ASK ? round_ask() : end_revoke();
		failed += !ok;
		if (!ok)
			warnx("round %d failed", i);
		say_rounds(i + 1, rounds);
	}
	return failed;
}

static int usage(void)
{
	fprintf(stderr,
		"usage: life [-n ROUNDS] [-p PAIRS] [-t TIMEOUT] [-w US] [-l] [-m] [-s SEED]\n"
		"	DEV[@NETNS[@ADDRESS]] DEV[@NETNS[@ADDRESS]] MODE\n");
	return 2;
}

int main(int argc, char **argv)
{
	static const char * const modes[] = {
		"kill", "destroy", "xrc", "ask", "revoke-uc", "revoke-rc", "revoke-local",
		"revoke-remote", "revoke-dealloc", "revoke-rereg-uc", "revoke-rereg",
		"revoke-read", "revoke-recv",
	};
	int opt, i;

	while ((opt = getopt(argc, argv, "n:p:t:s:w:lm")) != -1) {
		switch (opt) {
		case 'n':
			opts.rounds = atoi(optarg);
			break;
		case 'p':
			npairs = atoi(optarg);
			break;
		case 't':
			opts.timeout = atoi(optarg);
			break;
		case 's':
			seed = strtoull(optarg, NULL, 0) ?: 1;
			break;
		case 'w':
			opts.pace = atoi(optarg);
			break;
		case 'l':
			opts.leave = true;
			break;
		case 'm':
			opts.maps = true;
			break;
		default:
			return usage();
		}
	}
	if (argc - optind != 3)
		return usage();
	for (i = 0; i < 2; i++) {
		opts.dev[i] = strtok(argv[optind + i], "@");
		opts.ns[i] = strtok(NULL, "@");
		opts.addr[i] = strtok(NULL, "@");
	}
	for (i = 0; i < (int)(sizeof(modes) / sizeof(*modes)); i++)
		if (!strcmp(argv[optind + 2], modes[i]))
			mode = i;
	if (strcmp(argv[optind + 2], modes[mode]))
		return usage();
	if (npairs < 1)
		return usage();
	pairs = calloc(npairs, sizeof(*pairs));
	shared = mmap(NULL, npairs * sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!pairs || shared == MAP_FAILED)
		err(1, "mmap");
	/* Many share the CPUs with what is to be done to them */
	if (!opts.pace && npairs > 1)
		opts.pace = 100 * npairs;
	side_prepare();
	for (i = 0; i < npairs; i++)
		pairs[i].shared = shared + i;
	return run() ? 1 : 0;
}
