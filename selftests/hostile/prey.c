// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * QPs of each type at two hosts for net.sh to have packets sent to, which they may
 * take: connected with each other, they send nothing, receive into memory whose keys
 * are said, and begin again with the same PSN all the time. Until SIGTERM.
 *
 *   prey DEVICE@NAMESPACE DEVICE@NAMESPACE
 *
 * Says of each "HOST TRANSPORT:QPN:KEY:R_KEY:ADDRESS", where the key is a Q_Key or
 * the number of an SRQ; "all" once something has come to each type; at last what
 * came. Success: something to each type, and nothing to the memory on both sides of
 * what was registered.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include "ends.h"

#define LEN	65536
#define EDGE	100	/* what is registered begins and ends within a page */
#define RECVS	8	/* of a QP's own */
#define TICK_MS	2

static struct host {
	struct end end;
	struct ibv_qp *qp[END_TYPES];
	int posted[END_RC_SRQ];
	uint8_t *mem;		/* three times LEN; registered is the middle but for EDGE */
} hosts[2];

static unsigned int got[END_TYPES], ended;
static const char * const names[] = { "RC", "UC", "UD", "SRQ", "XRC" };
static volatile sig_atomic_t stop;

static void on_term(int sig)
{
	stop = sig;
}

static uint8_t beside(int i)
{
	return i * 7 + 1;
}

static void host_open(struct host *h, const char *where)
{
	struct ibv_context *ctx = end_device(where);
	int i;

	h->mem = aligned_alloc(4096, 3 * LEN);
	for (i = 0; i < 3 * LEN; i++)
		h->mem[i] = beside(i);
	fcntl(ctx->async_fd, F_SETFL, O_NONBLOCK);
	end_open(&h->end, ctx, h->mem + LEN + EDGE, LEN - 2 * EDGE);
	for (i = 0; i < END_TYPES; i++)
		h->qp[i] = end_qp(&h->end, i, true);
}

/* As many as it should have; as many as there is room for in an SRQ. */
static void receive(struct host *h, int type)
{
	struct ibv_sge sge = {
		(uintptr_t)h->mem + LEN + 4096 + type * 8192, 4096, h->end.mr->lkey,
	};
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	if (type >= END_RC_SRQ) {
		while (!ibv_post_srq_recv(type == END_XRC ? h->end.xsrq : h->end.srq,
					  &wr, &bad))
			;
		return;
	}
	for (; h->posted[type] < RECVS; h->posted[type]++)
		if (ibv_post_recv(h->qp[type], &wr, &bad))
			errx(1, "%s: no room", names[type]);
}

static void reap(struct host *h)
{
	struct ibv_wc wc;
	int i;

	while (ibv_poll_cq(h->end.cq, 1, &wc) > 0) {
		for (i = 0; i < END_TYPES && h->qp[i]->qp_num != wc.qp_num; i++)
			;
		if (i == END_TYPES)
			errx(1, "a completion of QP %#x", wc.qp_num);
		if (i < END_RC_SRQ)
			h->posted[i]--;
		got[i] += !wc.status;
	}
}

/* The kernel keeps events until they are read. */
static void forget_events(struct host *h)
{
	struct ibv_async_event event;

	while (!ibv_get_async_event(h->end.ctx, &event))
		ibv_ack_async_event(&event);
}

static bool in_error(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (ibv_query_qp(qp, &attr, IBV_QP_STATE, &init))
		err(1, "cannot query a QP");
	return attr.qp_state == IBV_QPS_ERR;
}

/* As it was at first, whatever it was led to. */
static void again(struct host *h, struct host *peer, int type)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct ibv_qp *qp = h->qp[type];

	ended += in_error(qp);
	reap(h);
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE))
		err(1, "%s: reset", names[type]);
	if (type < END_RC_SRQ)
		h->posted[type] = 0;
	/* In RTR it is led to ERR already */
	if (end_connect(qp, peer->qp[type]) && !in_error(qp))
		err(1, "%s: cannot connect", names[type]);
}

static void show(const struct host *h)
{
	static const unsigned int transport[] = { 0x00, 0x20, 0x60, 0x00, 0xa0 };
	int i;

	for (i = 0; i < END_TYPES; i++)
		printf("%d %u:%u:%u:%u:%llu\n", h == hosts ? 1 : 2, transport[i],
		       h->qp[i]->qp_num, i == END_XRC ? h->end.srqn : END_QKEY,
		       h->end.mr->rkey,
		       (unsigned long long)(uintptr_t)h->mem + LEN + EDGE);
}

static bool came_to_all(void)
{
	int i;

	for (i = 0; i < END_TYPES && got[i]; i++)
		;
	return i == END_TYPES;
}

static bool unhurt(const struct host *h)
{
	int i;

	for (i = 0; i < 3 * LEN; i++)
		if ((i < LEN + EDGE || i >= 2 * LEN - EDGE) && h->mem[i] != beside(i))
			return false;
	return true;
}

int main(int argc, char **argv)
{
	bool said = false, ok;
	int i, n;

	if (argc != 3)
		errx(2, "usage: prey DEVICE@NAMESPACE DEVICE@NAMESPACE");
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGTERM, on_term);
	for (i = 0; i < 2; i++)
		host_open(&hosts[i], argv[1 + i]);
	for (i = 0; i < 2 * END_TYPES; i++)
		again(&hosts[i & 1], &hosts[!(i & 1)], i / 2);
	for (i = 0; i < 2; i++)
		show(&hosts[i]);
	puts("ready");
	for (n = 0; !stop; n++) {
		for (i = 0; i < 2 * END_TYPES; i++) {
			if (i < 2) {
				reap(&hosts[i]);
				forget_events(&hosts[i]);
			}
			receive(&hosts[i & 1], i / 2);
		}
		if (!said && came_to_all())
			said = puts("all") >= 0;
		poll(NULL, 0, TICK_MS);
		i = n % (2 * END_TYPES);
		again(&hosts[i & 1], &hosts[!(i & 1)], i / 2);
	}
	for (i = 0; i < END_TYPES; i++)
		printf("%s: %u messages\n", names[i], got[i]);
	ok = came_to_all();
	printf("%u times in error\n", ended);
	for (i = 0; i < 2; i++)
		if (!unhurt(&hosts[i]))
			ok = puts("memory beside the region has changed") < 0;
	return !ok;
}
