// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Asks a host for its performance counters, as perfquery does on InfiniBand: a
 * management MAD to its QP 1, from a datagram QP.
 *
 *   pma DEVICE GID_INDEX GID ATTRIBUTE [PORT [VERSION [METHOD [CLASS]]]]
 *
 * Prints "status N", and what the answer's attribute has, "name value" on a line
 * each. One thread.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "need.h"

#define GRH		40
#define MAD		256
#define DATA		64	/* of the attribute, in the MAD */
#define QP1_QKEY	0x80010000
#define GET_RESP	0x81

struct port {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	uint8_t out[MAD];
	uint8_t in[GRH + MAD];
};

static void port_open(struct port *p, const char *name)
{
	struct ibv_device **list = NEED(ibv_get_device_list(NULL));
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 4,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_UD,
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1,
				    .qkey = QP1_QKEY };
	int i;

	for (i = 0; list[i] && !p->ctx; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			p->ctx = NEED(ibv_open_device(list[i]));
	NEED(p->ctx);
	p->pd = NEED(ibv_alloc_pd(p->ctx));
	p->cq = NEED(ibv_create_cq(p->ctx, 8, NULL, NULL, 0));
	p->mr = NEED(ibv_reg_mr(p->pd, p, sizeof(*p), IBV_ACCESS_LOCAL_WRITE));
	init.send_cq = p->cq;
	init.recv_cq = p->cq;
	p->qp = NEED(ibv_create_qp(p->pd, &init));
	ZERO(ibv_modify_qp(p->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			   IBV_QP_PORT | IBV_QP_QKEY));
	attr.qp_state = IBV_QPS_RTR;
	ZERO(ibv_modify_qp(p->qp, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	ZERO(ibv_modify_qp(p->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
}

static void port_path(struct port *p, int gid_index, const char *gid)
{
	struct ibv_ah_attr ah = {
		.is_global = 1, .port_num = 1,
		.grh = { .sgid_index = gid_index, .hop_limit = 64 },
	};
	char mapped[128];

	snprintf(mapped, sizeof(mapped), "%s%s", strchr(gid, ':') ? "" : "::ffff:",
		 gid);
	errno = EINVAL;
	NEED(inet_pton(AF_INET6, mapped, ah.grh.dgid.raw) == 1);
	p->ah = NEED(ibv_create_ah(p->pd, &ah));
}

static void send_mad(struct port *p)
{
	struct ibv_sge in = { (uintptr_t)p->in, sizeof(p->in), p->mr->lkey };
	struct ibv_sge out = { (uintptr_t)p->out, sizeof(p->out), p->mr->lkey };
	struct ibv_recv_wr recv = { .wr_id = 1, .sg_list = &in, .num_sge = 1 };
	struct ibv_send_wr send = {
		.sg_list = &out, .num_sge = 1, .opcode = IBV_WR_SEND,
		.wr.ud = { .ah = p->ah, .remote_qpn = 1, .remote_qkey = QP1_QKEY },
	};
	struct ibv_recv_wr *bad_recv;
	struct ibv_send_wr *bad_send;

	ZERO(ibv_post_recv(p->qp, &recv, &bad_recv));
	ZERO(ibv_post_send(p->qp, &send, &bad_send));
}

/* The answer; or nothing came for that long. */
static int answer(struct port *p, int seconds)
{
	time_t end = time(NULL) + seconds;
	struct ibv_wc wc;

	while (time(NULL) <= end) {
		if (!ibv_poll_cq(p->cq, 1, &wc)) {
			poll(NULL, 0, 1);
			continue;
		}
		errno = EIO;
		ZERO(wc.status);
		if (wc.wr_id != 1)
			continue;
		if (wc.byte_len != sizeof(p->in) || wc.src_qp != 1 ||
		    !(wc.wc_flags & IBV_WC_GRH) || p->in[GRH + 3] != GET_RESP ||
		    memcmp(p->in + GRH + 8, p->out + 8, 8)) {
			errno = EPROTO;
			die("an answer to something else");
		}
		return 0;
	}
	return -1;
}

static uint64_t number(const uint8_t *p, int bits)
{
	uint64_t v = 0;
	int i;

	for (i = 0; i < bits / 8; i++)
		v = v << 8 | p[i];
	return v;
}

/* What an attribute has where, by IBTA's tables. */
static void show(const uint8_t *data, unsigned int attr)
{
	static const struct {
		unsigned int attr;
		const char *name;
		int at, bits;
	} fields[] = {
		{ 0x01, "base_version", 0, 8 }, { 0x01, "class_version", 1, 8 },
		{ 0x01, "capability_mask", 2, 16 }, { 0x12, "port", 1, 8 },
		{ 0x12, "port_rcv_errors", 8, 16 },
		{ 0x12, "port_xmit_discards", 14, 16 },
		{ 0x12, "port_rcv_constraint_errors", 17, 8 },
		{ 0x12, "port_xmit_data", 24, 32 },
		{ 0x12, "port_rcv_data", 28, 32 },
		{ 0x12, "port_xmit_packets", 32, 32 },
		{ 0x12, "port_rcv_packets", 36, 32 },
		{ 0x1d, "port", 1, 8 }, { 0x1d, "port_xmit_data", 8, 64 },
		{ 0x1d, "port_rcv_data", 16, 64 },
		{ 0x1d, "port_xmit_packets", 24, 64 },
		{ 0x1d, "port_rcv_packets", 32, 64 },
	};
	size_t i;

	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (fields[i].attr == attr)
			printf("%s %llu\n", fields[i].name, (unsigned long long)
			       number(data + fields[i].at, fields[i].bits));
}

static unsigned long word(int argc, char **argv, int i, unsigned long otherwise)
{
	return argc > i ? strtoul(argv[i], NULL, 0) : otherwise;
}

int main(int argc, char **argv)
{
	unsigned int attr = word(argc, argv, 4, 0);
	static struct port p;
	int i;

	if (argc < 5) {
		fprintf(stderr, "usage: pma DEVICE GID_INDEX GID ATTRIBUTE [PORT\n"
			"           [VERSION [METHOD [CLASS]]]]\n");
		return 2;
	}
	port_open(&p, argv[1]);
	port_path(&p, atoi(argv[2]), argv[3]);
	p.out[0] = 1;
	p.out[1] = word(argc, argv, 8, 0x04);	/* performance management */
	p.out[2] = word(argc, argv, 6, 1);
	p.out[3] = word(argc, argv, 7, 0x01);	/* Get */
	p.out[15] = time(NULL);			/* of the transaction */
	p.out[16] = attr >> 8;
	p.out[17] = attr;
	p.out[DATA + 1] = word(argc, argv, 5, 1);
	for (i = 0; i < 3; i++) {
		send_mad(&p);
		if (answer(&p, 2))
			continue;
		printf("status %#llx\n", (unsigned long long)
		       number(p.in + GRH + 4, 16));
		show(p.in + GRH + DATA, attr);
		return 0;
	}
	fprintf(stderr, "pma: no answer\n");
	return 3;
}
