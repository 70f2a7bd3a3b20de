// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests that a user's rings cannot harm anybody but the user: garbage of every
 * kind is written to all mapped rings while the kernel works on them, QPs change
 * their state under it, rings are mapped and unmapped, commands make no sense. A
 * victim on the same device, whose keys and handles the attacker knows, goes on
 * with traffic of its own, as do other QPs of the attacker's; the kernel's own
 * complaints are for whoever runs this to look for.
 *
 *   rings DEVICE [SECONDS [SEED]]
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/xroce-abi.h>
#include <tap.h>

#include "garble.h"
#include "good.h"

#define ROUND_MS	200
#define VICTIM_LEN	(1 << 20)
#define ARENA_LEN	(1 << 16)
#define QPS		8	/* pairs of RC, UC, UD and RC with an SRQ */
#define AHS		4
#define QKEY		0x11111111
#define DEPTH		64
#define RINGS		(2 * QPS + 2)

/* What attacker and victim share. */
static struct shared {
	uint64_t va;
	uint32_t key;
	uint32_t qpn;
	uint32_t ah;
	uint32_t steps;
	uint32_t ready;
	uint32_t stop;
} *shared;

static uint64_t seed;

uint32_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 0x2545f4914f6cdd1dull >> 32;
}

/* The kernel's number of a handle, which the provider has right behind it. */
static uint32_t ah_number(struct ibv_pd *pd)
{
	struct ibv_qp_attr attr = rtr_attr(pd->context, 0);
	struct ibv_ah *ah = ibv_create_ah(pd, &attr.ah_attr);

	if (!ah)
		err(1, "an AH");
	return *(uint32_t *)(ah + 1);
}

/*
 * The other process: registers memory for all to use but in its own PD, and does
 * what it does.
 */
static int victim(const char *dev)
{
	struct ibv_context *ctx = open_device(dev);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	uint8_t *mem = aligned_alloc(4096, VICTIM_LEN);
	struct good good = {};
	struct ibv_mr *mr;
	uint32_t i;

	for (i = 0; i < VICTIM_LEN; i++)
		mem[i] = i * 7;
	mr = ibv_reg_mr(pd, mem, VICTIM_LEN, ALL_ACCESS);
	if (!mr)
		err(1, "the victim's memory");
	shared->va = (uintptr_t)mem;
	shared->key = mr->rkey;
	good_open(&good, ctx);
	shared->qpn = good.qp[1]->qp_num;
	shared->ah = ah_number(pd);
	__atomic_store_n(&shared->ready, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&shared->stop, __ATOMIC_ACQUIRE)) {
		if (!good_step(&good))
			return 1;
		__atomic_store_n(&shared->steps, good.n, __ATOMIC_RELAXED);
	}
	for (i = 0; i < VICTIM_LEN; i++)
		if (mem[i] != (uint8_t)(i * 7))
			return 1;
	return 0;
}

struct attack {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	struct ibv_qp *qp[QPS];
	uint32_t ah[AHS];
	struct { uint8_t *p; size_t len; off_t off; } ring[RINGS];
	int rings;
	uint8_t *arena;
	bool stop;
};

static void find_rings(struct attack *a)
{
	unsigned long from, to, off;
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && fgets(line, sizeof(line), f)) {
		if (!strstr(line, "uverbs") || a->rings == RINGS ||
		    sscanf(line, "%lx-%lx %*s %lx", &from, &to, &off) != 3)
			continue;
		a->ring[a->rings].p = (void *)from;
		a->ring[a->rings].off = off;
		a->ring[a->rings++].len = to - from;
	}
	if (f)
		fclose(f);
	/* All but the RQs that an SRQ is instead of */
	if (a->rings < RINGS - 2)
		errx(1, "only %d rings are mapped", a->rings);
}

static struct xroce_sge any_sge(struct attack *a)
{
	struct xroce_sge sge = {
		.addr = (uintptr_t)a->arena + rnd() % ARENA_LEN,
		.length = one_in(32) ? rnd() : rnd() % 5000,
		.lkey = a->mr->lkey,
	};

	if (one_in(16))
		sge.lkey = one_in(2) ? shared->key : rnd();
	if (one_in(16))
		sge.addr = one_in(2) ? shared->va + rnd() % VICTIM_LEN :
				       (uint64_t)rnd() << 32 | rnd();
	return sge;
}

static void any_sges(struct attack *a, uint8_t *p, const uint8_t *end)
{
	struct xroce_sge sge;
	int i;

	for (i = 0; i < 8 && p + sizeof(sge) <= end; i++, p += sizeof(sge)) {
		sge = any_sge(a);
		memcpy(p, &sge, sizeof(sge));
	}
}

static void any_datagram(struct attack *a, struct xroce_send_wqe *wqe)
{
	wqe->opcode = XROCE_WR_SEND + rnd() % 2;
	wqe->ud.ah = a->ah[rnd() % AHS];
	wqe->ud.remote_qpn = a->qp[rnd() % QPS]->qp_num;
	wqe->ud.remote_qkey = one_in(8) ? rnd() : QKEY;
	if (one_in(8))
		wqe->ud.ah = one_in(2) ? shared->ah : rnd();
	if (one_in(8))
		wqe->ud.remote_qpn = one_in(2) ? shared->qpn : rnd();
	if (one_in(16))
		wqe->ud.kernel = (uint64_t)rnd() << 32 | rnd();
}

/* A request as a user might make it, with something wrong now and then. */
static void any_send(struct attack *a, uint8_t *slot, const uint8_t *end)
{
	struct xroce_send_wqe wqe = {
		.wr_id = rnd(),
		.opcode = one_in(32) ? rnd() : rnd() % (one_in(4) ? 12 : 7),
		.num_sge = one_in(32) ? rnd() : rnd() % 5,
		.flags = one_in(32) ? rnd() : rnd() % 16,
		.imm = rnd(),
		.rdma.remote_addr = (uintptr_t)a->arena + rnd() % ARENA_LEN,
		.rdma.rkey = one_in(8) ? shared->key : a->mr->rkey,
		.rdma.swap_add = rnd(),
	};

	if (wqe.flags & XROCE_WR_INLINE)
		wqe.inline_len = one_in(32) ? rnd() : rnd() % 256;
	if (one_in(8))
		wqe.rdma.remote_addr = shared->va + rnd() % VICTIM_LEN;
	if (one_in(4))
		any_datagram(a, &wqe);
	if (slot + sizeof(wqe) > end)
		return;
	memcpy(slot, &wqe, sizeof(wqe));
	any_sges(a, slot + sizeof(wqe), end);
}

static void any_recv(struct attack *a, uint8_t *slot, const uint8_t *end)
{
	struct xroce_recv_wqe wqe = {
		.wr_id = rnd(),
		.num_sge = one_in(32) ? rnd() : rnd() % 5,
	};

	memcpy(slot, &wqe, sizeof(wqe));
	any_sges(a, slot + sizeof(wqe), end);
}

static void scribble(struct attack *a)
{
	int i = rnd() % a->rings;
	struct xroce_ring *ring = (void *)a->ring[i].p;
	size_t len = a->ring[i].len, off;
	uint32_t *head = (void *)ring;

	switch (rnd() % 64) {
	case 0:		/* an index or flag, anything or just a bit off */
		head[rnd() % 4 * 16] = one_in(2) ? rnd() :
						   ring->prod + rnd() % 8 - 4;
		break;
	case 1:		/* any bytes anywhere */
		off = rnd() % len;
		a->ring[i].p[off] = rnd();
		break;
	case 2:		/* as if all had been looked at */
		ring->cons = ring->prod;
		break;
	case 3:		/* a few posted */
		__atomic_store_n(&ring->prod, ring->cons + rnd() % 8,
				 __ATOMIC_RELEASE);
		break;
	default:
		off = XROCE_RING_HDR + rnd() % (len - XROCE_RING_HDR) / 64 * 64;
		(one_in(2) ? any_send : any_recv)(a, a->ring[i].p + off,
						  a->ring[i].p + len);
	}
}

static void *scribbler(void *arg)
{
	struct attack *a = arg;

	while (!__atomic_load_n(&a->stop, __ATOMIC_RELAXED))
		scribble(a);
	return NULL;
}

/* Past the provider, which believes what is in its rings. */
static void doorbell(struct ibv_qp *qp)
{
	uint32_t resp[2];
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_post_send send;
	} cmd = {
		.hdr.command = one_in(2) ? IB_USER_VERBS_CMD_POST_SEND :
					   IB_USER_VERBS_CMD_POST_RECV,
		.hdr.in_words = sizeof(cmd) / 4,
		.hdr.out_words = 1,
		.send.response = (uintptr_t)resp,
		.send.qp_handle = qp->handle,
		.send.wqe_size = sizeof(struct ib_uverbs_send_wr),
	};

	if (write(qp->context->cmd_fd, &cmd, sizeof(cmd)) < 0)
		err(1, "a doorbell");
}

/* As no provider does: the system call, while its ring is changed for another. */
static void arm(struct ibv_cq *cq)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_req_notify_cq arm;
	} cmd = {
		.hdr.command = IB_USER_VERBS_CMD_REQ_NOTIFY_CQ,
		.hdr.in_words = sizeof(cmd) / 4,
		.arm.cq_handle = cq->handle,
	};
	int i;

	for (i = 0; i < 16; i++)
		if (write(cq->context->cmd_fd, &cmd, sizeof(cmd)) < 0)
			err(1, "arming a CQ");
}

static void *resizer(void *arg)
{
	int i;

	for (i = 0;; i++)
		if (ibv_resize_cq(arg, i % 2 ? DEPTH : 4 * DEPTH))
			err(1, "ibv_resize_cq");
	return NULL;
}

static void set_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_modify_qp modify;
	} cmd = {
		.hdr.command = IB_USER_VERBS_CMD_MODIFY_QP,
		.hdr.in_words = sizeof(cmd) / 4,
		.modify.qp_handle = qp->handle,
		.modify.attr_mask = IBV_QP_STATE,
		.modify.qp_state = state,
	};

	if (write(qp->context->cmd_fd, &cmd, sizeof(cmd)) < 0)
		err(1, "to state %d", state);
	qp->state = state;
}

static struct ibv_qp *attack_qp(struct attack *a, int i)
{
	static const enum ibv_qp_type type[] = {
		IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RC,
	};
	struct ibv_qp_init_attr init = {
		.send_cq = a->cq,
		.recv_cq = a->cq,
		.srq = i / 2 == 3 ? a->srq : NULL,
		.qp_type = type[i / 2],
		.cap = { DEPTH, DEPTH, 4, 4, 256 },
	};
	struct ibv_qp *qp = ibv_create_qp(a->pd, &init);

	if (!qp)
		err(1, "cannot create a QP");
	return qp;
}

/* Garbage may drive them to ERR on the way. */
static int attack_connect(struct ibv_qp *qp, const struct ibv_qp *to)
{
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	struct ibv_qp_attr rtr, rts = rts_attr();
	const int base = IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX;

	if (qp->qp_type == IBV_QPT_RC)
		return connect_qp(qp, to->qp_num);
	if (qp->qp_type == IBV_QPT_UD)
		return ibv_modify_qp(qp, &init, base | IBV_QP_QKEY) ?:
		       (init.qp_state = IBV_QPS_RTR,
			ibv_modify_qp(qp, &init, IBV_QP_STATE)) ?:
		       ibv_modify_qp(qp, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN);
	rtr = rtr_attr(qp->context, to->qp_num);
	return ibv_modify_qp(qp, &init, base | IBV_QP_ACCESS_FLAGS) ?:
	       ibv_modify_qp(qp, &rtr, IBV_QP_STATE | IBV_QP_AV |
			     IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			     IBV_QP_RQ_PSN) ?:
	       ibv_modify_qp(qp, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

static void attack_open(struct attack *a, const char *dev)
{
	struct ibv_srq_init_attr srq = { .attr = { DEPTH, 4, 8 } };
	int i;

	a->ctx = open_device(dev);
	a->pd = ibv_alloc_pd(a->ctx);
	a->cq = ibv_create_cq(a->ctx, DEPTH, NULL, NULL, 0);
	a->arena = aligned_alloc(4096, ARENA_LEN);
	a->mr = ibv_reg_mr(a->pd, a->arena, ARENA_LEN, ALL_ACCESS);
	if (!a->pd || !a->cq || !a->mr)
		err(1, "cannot begin");
	a->srq = ibv_create_srq(a->pd, &srq);
	if (!a->srq)
		err(1, "an SRQ");
	for (i = 0; i < QPS; i++)
		a->qp[i] = attack_qp(a, i);
	for (i = 0; i < QPS; i++)
		if (attack_connect(a->qp[i], a->qp[i ^ 1]))
			err(1, "cannot connect QP %d", i);
	for (i = 0; i < AHS; i++)
		a->ah[i] = ah_number(a->pd);
	find_rings(a);
}

/* One that has been to ERR, as most soon have, speaks no more. */
static void reconnect(struct attack *a, int i)
{
	struct ibv_qp *one = a->qp[i], *two = a->qp[i ^ 1];

	set_state(one, IBV_QPS_RESET);
	set_state(two, IBV_QPS_RESET);
	attack_connect(one, two);
	attack_connect(two, one);
}

/* One more mapping of a ring, used and gone, or kept in part. */
static void map_again(struct attack *a)
{
	int i = rnd() % a->rings;
	size_t len = a->ring[i].len;
	uint8_t *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED,
			  a->ctx->cmd_fd, a->ring[i].off);

	/* Neighbours in the list of mappings may have become one */
	if (p == MAP_FAILED)
		return;
	p[rnd() % len] = rnd();
	if (one_in(2) && len > 4096)
		munmap(p + 4096, len - 4096);
	else
		munmap(p, len);
}

/* One process: what it leaves is for the kernel to clean up, under fire. */
static void attack(const char *dev)
{
	struct attack a = {};
	struct good good = {};
	pthread_t thread;
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	int i, garbled;

	attack_open(&a, dev);
	good_open(&good, a.ctx);
	garbled = open_device(dev)->cmd_fd;
	cq = ibv_create_cq(a.ctx, DEPTH, NULL, NULL, 0);
	if (!cq)
		err(1, "a CQ");
	if (pthread_create(&thread, NULL, scribbler, &a) ||
	    pthread_create(&thread, NULL, resizer, cq))
		errx(1, "no thread");
	for (i = 0; i < ROUND_MS; i++) {
		qp = a.qp[rnd() % QPS];
		doorbell(qp);
		arm(cq);
		garble(garbled);
		usleep(1000);
		if (one_in(16))
			set_state(qp, IBV_QPS_ERR);
		if (one_in(4))
			reconnect(&a, rnd() % QPS / 2 * 2);
		if (one_in(8))
			map_again(&a);
		if (one_in(8) && !good_step(&good))
			_exit(3);
	}
	_exit(0);
}

static uint64_t counter(const char *dev, const char *name)
{
	unsigned long long value = 0;
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path),
		 "/sys/class/infiniband/%s/ports/1/hw_counters/%s", dev, name);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%llu", &value) != 1)
		errx(1, "cannot read %s", path);
	fclose(f);
	return value;
}

static bool rounds(const char *dev, int seconds)
{
	time_t end = time(NULL) + seconds;
	int i, status, bad = 0;
	pid_t pid;

	for (i = 0; time(NULL) < end && bad < 5; i++) {
		rnd();
		pid = fork();
		if (!pid) {
			alarm(120);
			attack(dev);
		}
		waitpid(pid, &status, 0);
		TAP_CHECK(bad, !status, "round %d: status %#x", i, status);
	}
	tap_note("%d rounds", i);
	return !bad;
}

int main(int argc, char **argv)
{
	uint64_t refused, sent;
	uint32_t steps;
	int status;
	pid_t pid;

	if (argc < 2)
		errx(2, "usage: rings DEVICE [SECONDS [SEED]]");
	seed = argc > 3 ? strtoull(argv[3], NULL, 0) : 4711;
	tap_start();
	tap_note("seed %llu", (unsigned long long)seed);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid = fork();
	if (!pid)
		return victim(argv[1]);
	while (!__atomic_load_n(&shared->ready, __ATOMIC_ACQUIRE)) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			errx(1, "the victim did not start");
		usleep(1000);
	}
	refused = counter(argv[1], "send_err");
	sent = counter(argv[1], "sent_pkts");
	steps = shared->steps;
	tap_ok(rounds(argv[1], argc > 2 ? atoi(argv[2]) : 10),
	       "garbage in all rings, while a QP beside them goes on");
	refused = counter(argv[1], "send_err") - refused;
	sent = counter(argv[1], "sent_pkts") - sent;
	steps = shared->steps - steps;
	tap_note("%llu requests refused, %llu packets sent, %u steps",
		 (unsigned long long)refused, (unsigned long long)sent, steps);
	tap_ok(refused > 100 && sent > 100, "the garbage was looked at");
	__atomic_store_n(&shared->stop, 1, __ATOMIC_RELEASE);
	waitpid(pid, &status, 0);
	tap_ok(!status && steps > 10,
	       "a victim's memory is as it was, its traffic goes on");
	return tap_end();
}
