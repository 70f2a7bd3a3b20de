// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Traffic between two devices, each side a process of its own, round after round,
 * that ends in all the ways there are. This process starts the two, has something
 * done to them, and sees that they end, in time and without a fault.
 *
 *   life [-n ROUNDS] [-t TIMEOUT] [-l] [-m] DEV[@NETNS] DEV[@NETNS] MODE
 *
 * MODE: kill	 kill -9 of one side or both; the other ends
 *	 destroy one side's objects in random order, the other's afterwards
 *	 revoke	 see revoke.c
 *	 ask	 each round for a line on stdin: "end" and "go" begin traffic, which
 *		 is answered by "traffic"; then any line. After "go" the traffic has
 *		 to go on until then. Answered by "ok" or "failed".
 *
 * -t: the QPs' ACK timeout as verbs have it; -l: the sides leave the namespace
 * once they have opened their device; -m: rings are used when the device is gone.
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

#define PATIENCE_MS	60000

struct shared *shared;
struct opts opts = { .timeout = 12, .rounds = 1 };
static uint64_t seed = 4711;
static pid_t pid[2];

enum mode { KILL, DESTROY, REVOKE, ASK };
static enum mode mode;
static bool may_go;

uint32_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 0x2545f4914f6cdd1dull >> 32;
}

/* Return: exit status. */
static int side(int me, int fd)
{
	struct side s = { .me = me };
	bool ok;

	seed ^= (uint64_t)getpid() << 32;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	side_open(&s);
	side_make(&s, fd);
	if (mode == REVOKE)
		ok = me ? revoke_flood(&s) : revoke_victim(&s);
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

static void begin(void)
{
	int fd[2], i;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd))
		err(1, "socketpair");
	memset(shared, 0, sizeof(*shared));
	for (i = 0; i < 2; i++) {
		rnd();
		fflush(stdout);
		pid[i] = fork();
		if (!pid[i]) {
			close(fd[!i]);
			_exit(side(i, fd[i]));
		}
	}
	close(fd[0]);
	close(fd[1]);
}

static void show_stack(pid_t p)
{
	char cmd[64];

	snprintf(cmd, sizeof(cmd), "cat /proc/%d/task/*/stack >&2", p);
	if (system(cmd))
		warnx("no stack");
}

/* A side that has ended is looked at by end(). */
static bool ended(int i)
{
	siginfo_t info = {};

	return !waitid(P_PID, pid[i], &info, WEXITED | WNOHANG | WNOWAIT) &&
	       info.si_pid;
}

/* Every QP gets something through that begins now. */
static bool flows(void)
{
	uint32_t was[2][NQ];
	int i, q, ms = 0;

	memcpy(was, shared->progress, sizeof(was));
	for (i = 0; i < 2; i++) {
		for (q = 0; q < NQ; q++) {
			while (__atomic_load_n(&shared->progress[i][q],
					       __ATOMIC_RELAXED) -
			       was[i][q] < 3 && ms < PATIENCE_MS) {
				if (ended(0) || ended(1) || shared->broken[i]) {
					warnx("side %d ended by itself: %s", i,
					      ibv_wc_status_str(shared->status[i]));
					return false;
				}
				usleep(1000);
				ms++;
			}
		}
	}
	if (ms < PATIENCE_MS)
		return true;
	for (i = 0; i < 2; i++)
		for (q = 0; q < NQ; q++)
			warnx("side %d, QP %d: %u messages", i, q,
			      shared->progress[i][q] - was[i][q]);
	return false;
}

static void stop(int i)
{
	__atomic_store_n(&shared->stop[i], 1, __ATOMIC_RELEASE);
}

/* Return: did the side end in time, as it should? */
static bool end(int i, bool killed)
{
	int status, ms;
	bool ok;

	stop(i);
	for (ms = 0; !ended(i); ms++) {
		if (ms == PATIENCE_MS) {
			warnx("side %d hangs:", i);
			show_stack(pid[i]);
			kill(pid[i], SIGKILL);
			break;
		}
		usleep(1000);
	}
	if (waitpid(pid[i], &status, 0) != pid[i])
		err(1, "waitpid");
	ok = ms < PATIENCE_MS && (!status || (killed && WIFSIGNALED(status) &&
					      WTERMSIG(status) == SIGKILL));
	if (!ok)
		warnx("side %d: status %#x", i, status);
	return ok;
}

/* Both, whatever becomes of the first. */
static bool end_both(int first, bool killed, bool other_killed)
{
	bool ok = end(first, killed);

	return end(!first, other_killed) && ok;
}

static void some_time(void)
{
	usleep(rnd() % 20000);
}

static bool round_kill(int n)
{
	int victims = n % 3 + 1, i;
	bool ok = flows();

	some_time();
	for (i = 0; i < 2; i++)
		if (victims & 1 << i)
			kill(pid[i], SIGKILL);
	if (rnd() % 2)
		usleep(rnd() % 200000);
	return end_both(0, victims & 1, victims & 2) && ok;
}

static bool round_destroy(void)
{
	int first = rnd() % 2;
	bool ok = flows();

	shared->any = 1;
	some_time();
	stop(first);
	some_time();
	return end_both(first, false, false) && ok;
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
		shared->any = 1;
	printf("traffic\n");
	fflush(stdout);
	if (!read_line(line, sizeof(line)))
		ok = false;
	if (ok && go)
		ok = flows();
	shared->any = 1;
	ok &= end_both(0, false, false);
	printf("%s\n", ok ? "ok" : "failed");
	fflush(stdout);
	return ok;
}

/* The victim ends by itself when it has had its rounds. */
static bool end_revoke(void)
{
	while (!ended(0) && !ended(1))
		usleep(10000);
	return end_both(!ended(0), false, false) && !shared->broken[0];
}

/* Return: rounds that failed. */
static int run(void)
{
	int rounds = mode == ASK ? INT_MAX : mode == REVOKE ? 1 : opts.rounds;
	int i, failed = 0;
	char line[64];
	bool ok;

	for (i = 0; i < rounds && failed < 5; i++) {
		if (mode == ASK) {
			if (!read_line(line, sizeof(line)))
				break;
			may_go = !strcmp(line, "go");
		}
		begin();
		ok = mode == KILL ? round_kill(i) :
		     mode == DESTROY ? round_destroy() :
		     mode == REVOKE ? end_revoke() : round_ask();
		failed += !ok;
		if (!ok)
			warnx("round %d failed", i);
	}
	return failed;
}

static int usage(void)
{
	fprintf(stderr, "usage: life [-n ROUNDS] [-t TIMEOUT] [-l] [-m] [-s SEED]\n"
		"	DEV[@NETNS] DEV[@NETNS] kill|destroy|revoke|ask\n");
	return 2;
}

int main(int argc, char **argv)
{
	static const char * const modes[] = { "kill", "destroy", "revoke", "ask" };
	int opt, i;

	while ((opt = getopt(argc, argv, "n:t:s:lm")) != -1) {
		switch (opt) {
		case 'n':
			opts.rounds = atoi(optarg);
			break;
		case 't':
			opts.timeout = atoi(optarg);
			break;
		case 's':
			seed = strtoull(optarg, NULL, 0) ?: 1;
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
	}
	for (i = 0; i < 4; i++)
		if (!strcmp(argv[optind + 2], modes[i]))
			mode = i;
	if (strcmp(argv[optind + 2], modes[mode]))
		return usage();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		err(1, "mmap");
	return run() ? 1 : 0;
}
