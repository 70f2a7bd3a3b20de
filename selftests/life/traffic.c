// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Traffic of one side: every operation that each kind of QP has, to a peer that
 * does the same, content compared, until told to stop or an error comes. An
 * error that follows from the end of the peer, the link or the device is an end
 * as good as any.
 */
#include <poll.h>

#include "life.h"

#define RECV_ID		0x10000

static uint8_t *slot_of(struct side *s, int a, int q, int i)
{
	return s->mem + area(a) + (q * (a == AREA_RECV ? RECVS : SENDS) + i) *
	       SLOT;
}

/* What a message of a QP consists of: where it is in the sequence, and bytes. */
static void fill(uint8_t *p, uint32_t seq, uint32_t len)
{
	memset(p, seq * 7 + 1, len);
	memcpy(p, &seq, 4);
	memcpy(p + 4, &len, 4);
}

static bool filled(const uint8_t *p, uint32_t len, uint32_t *seq)
{
	uint32_t said, i;

	memcpy(seq, p, 4);
	memcpy(&said, p + 4, 4);
	if (said != len)
		return false;
	for (i = 8; i < len; i++)
		if (p[i] != (uint8_t)(*seq * 7 + 1))
			return false;
	return true;
}

static int post_recv(struct side *s, int q, int i)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)slot_of(s, AREA_RECV, q, i),
		.length = SLOT,
		.lkey = s->mr->lkey,
	};
	struct ibv_recv_wr *bad, wr = {
		.wr_id = RECV_ID | q << 8 | i,
		.sg_list = &sge,
		.num_sge = 1,
	};

	if (q == Q_SRQ || q == Q_XRC)
		return ibv_post_srq_recv(q == Q_SRQ ? s->srq : s->xsrq, &wr,
					 &bad);
	return ibv_post_recv(s->qp[q], &wr, &bad);
}

static enum ibv_wr_opcode any_op(int q)
{
	static const enum ibv_wr_opcode op[] = {
		IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
	};

	return op[rnd() % (q == Q_UD ? 2 : q == Q_UC ? 4 : 6)];
}

static int post_send(struct side *s, int q, int i)
{
	uint32_t len = 8 + rnd() % ((q == Q_UD ? UD_MAX : SLOT) - 8);
	uint8_t *p = slot_of(s, AREA_SEND, q, i);
	struct ibv_sge sge = { (uintptr_t)p, len, s->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = q << 8 | i,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = any_op(q),
		.send_flags = IBV_SEND_SIGNALED,
		.qp_type.xrc.remote_srqn = s->peer.srqn,
	};
	uint64_t va = s->peer.va;

	s->q[q].slot[i].op = wr.opcode;
	switch (wr.opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
		fill(p, s->q[q].seq++, len);
		break;
	case IBV_WR_RDMA_READ:
		memset(p, 0, len);
		wr.wr.rdma.remote_addr = va + area(AREA_CONST);
		break;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		sge.length = 8;
		wr.wr.atomic.remote_addr = va + counter_off(q);
		wr.wr.atomic.rkey = s->peer.rkey;
		wr.wr.atomic.compare_add = 1;
		break;
	default:
		wr.wr.rdma.remote_addr = va + area(AREA_WRITE) +
					 (q * SENDS + i) * SLOT;
	}
	if (q == Q_UD) {
		wr.wr.ud.ah = s->ah;
		wr.wr.ud.remote_qpn = s->peer.qpn[q];
		wr.wr.ud.remote_qkey = 0x11111111;
	} else if (wr.opcode != IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.rdma.rkey = s->peer.rkey;
	}
	s->q[q].slot[i].len = sge.length;
	s->q[q].slot[i].busy = true;
	return ibv_post_send(s->qp[q], &wr, &bad);
}

static bool bad(const struct side *s, const struct ibv_wc *wc, const char *what)
{
	warnx("side %d: QP %d, work %#llx: %s", s->me,
	      (int)(wc->wr_id >> 8 & 0xff), (unsigned long long)wc->wr_id, what);
	return false;
}

static bool received(struct side *s, const struct ibv_wc *wc, int q, int i)
{
	const uint8_t *p = slot_of(s, AREA_RECV, q, i);
	uint32_t len = wc->byte_len, seq;

	shared->progress[s->me][q]++;
	if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
		return true;
	if (q == Q_UD) {
		p += 40;
		len -= 40;
	}
	if (!filled(p, len, &seq))
		return bad(s, wc, "not what was sent");
	/*
	 * UC and UD have them in the order in which the network does, which may
	 * change where the sender changes CPU.
	 */
	if (reliable(q) && seq != s->q[q].seen) {
		warnx("message %u, not %u", seq, s->q[q].seen);
		return bad(s, wc, "one is missing, or came again");
	}
	s->q[q].seen = seq + 1;
	return true;
}

static bool sent(struct side *s, const struct ibv_wc *wc, int q, int i)
{
	uint32_t len = s->q[q].slot[i].len, k;
	const uint8_t *p = slot_of(s, AREA_SEND, q, i);
	uint64_t old;

	s->q[q].slot[i].busy = false;
	if (reliable(q))
		shared->progress[s->me][q]++;
	switch (s->q[q].slot[i].op) {
	case IBV_WR_RDMA_READ:
		for (k = 0; k < len; k++)
			if (p[k] != (uint8_t)(k * 31))
				return bad(s, wc, "read what is not there");
		return true;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		memcpy(&old, p, 8);
		if (old != s->q[q].added++)
			return bad(s, wc, "not added once");
	}
	return true;
}

/*
 * How a connection may end when its peer, its link or its device does. The target
 * of XRC may outlive the queue that is named, for a moment.
 */
static bool status_ok(enum ibv_wc_status status, int q)
{
	switch (status) {
	case IBV_WC_WR_FLUSH_ERR:
	case IBV_WC_RETRY_EXC_ERR:
		return true;
	case IBV_WC_REM_INV_REQ_ERR:
		return q == Q_XRC || shared->any;
	default:
		return shared->any;
	}
}

static bool complete(struct side *s, const struct ibv_wc *wc, bool *broken)
{
	int q = wc->wr_id >> 8 & 0xff, i = wc->wr_id & 0xff, ret;
	bool recv = wc->wr_id & RECV_ID;

	if (wc->status) {
		if (!*broken)
			shared->status[s->me] = wc->status;
		*broken = true;
		return status_ok(wc->status, q) ||
		       bad(s, wc, ibv_wc_status_str(wc->status));
	}
	if (recv ? !received(s, wc, q, i) : !sent(s, wc, q, i))
		return false;
	if (*broken)
		return true;
	/* UC and UD send when something comes, for nobody slows them */
	ret = recv ? post_recv(s, q, i) : 0;
	if (!ret && recv && !reliable(q))
		for (i = 0; i < SENDS && s->q[q].slot[i].busy; i++)
			;
	else if (recv)
		i = SENDS;
	if (!ret && i < SENDS && (recv || reliable(q)))
		ret = post_send(s, q, i);
	if (ret)
		*broken = true;
	if (ret && ret != EIO && ret != ENODEV)
		return bad(s, wc, strerror(ret));
	return true;
}

static bool events(struct side *s, bool *broken)
{
	struct ibv_async_event ev;

	while (!ibv_get_async_event(s->ctx, &ev)) {
		if (ev.event_type == IBV_EVENT_DEVICE_FATAL)
			s->gone = true;
		if (ev.event_type == IBV_EVENT_CQ_ERR) {
			warnx("side %d: CQ error", s->me);
			return false;
		}
		ibv_ack_async_event(&ev);
	}
	*broken |= s->gone;
	return true;
}

/* Wait for a completion, or a little. */
static void wait_some(struct side *s)
{
	struct pollfd fd[2] = {
		{ .fd = s->channel->fd, .events = POLLIN },
		{ .fd = s->ctx->async_fd, .events = POLLIN },
	};
	struct ibv_cq *cq;
	void *context;

	poll(fd, 2, 5);
	if (fd[0].revents & POLLIN && !ibv_get_cq_event(s->channel, &cq, &context))
		ibv_ack_cq_events(cq, 1);
}

/* What is not acknowledged goes on by itself. */
static bool kick(struct side *s, bool *broken)
{
	int q, i, ret;

	for (q = Q_UC; q <= Q_UD && !*broken; q++) {
		for (i = 0; i < SENDS && s->q[q].slot[i].busy; i++)
			;
		ret = i < SENDS ? post_send(s, q, i) : 0;
		*broken |= ret;
		if (ret && ret != EIO && ret != ENODEV) {
			warnx("side %d: post: %s", s->me, strerror(ret));
			return false;
		}
	}
	return true;
}

bool traffic(struct side *s)
{
	/* Some end by themselves, others when they are told to. */
	bool impatient = !opts.maps && rnd() % 2, broken = false;
	struct ibv_wc wc[16];
	unsigned int polls = 0;
	int q, i, n, idle = 0;

	for (q = 0; q < NQ; q++)
		for (i = 0; i < RECVS; i++)
			if (post_recv(s, q, i))
				broken = true;
	__atomic_store_n(&shared->ready[s->me], 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&shared->go, __ATOMIC_ACQUIRE) && !stopped(s))
		usleep(1000);
	for (q = 0; q < NQ; q++)
		for (i = 0; i < SENDS && !broken; i++)
			if (post_send(s, q, i))
				broken = true;
	while (!stopped(s)) {
		n = ibv_poll_cq(s->cq, 16, wc);
		if (n < 0) {
			warnx("side %d: poll: %d", s->me, n);
			return false;
		}
		for (i = 0; i < n; i++)
			if (!complete(s, &wc[i], &broken))
				return false;
		if (!events(s, &broken))
			return false;
		if (broken) {
			__atomic_store_n(&shared->broken[s->me], 1,
					 __ATOMIC_RELEASE);
			if (impatient)
				break;
			/* poll(2) does not wait once the device has gone */
			usleep(5000);
		}
		/* Now and then, should the others never be idle */
		if (!(++polls % 256) && !kick(s, &broken))
			return false;
		if (n) {
			idle = 0;
			usleep(opts.pace);
			continue;
		}
		switch (idle++) {
		case 0:
			ibv_req_notify_cq(s->cq, 0);
			break;
		default:
			idle = 0;
			wait_some(s);
			if (!kick(s, &broken))
				return false;
		}
	}
	return events(s, &broken);
}
