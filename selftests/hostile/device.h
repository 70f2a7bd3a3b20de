/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the tests here have in common: a device by name, its GID of an IPv4 address,
 * or of one in the network that XROCE_NET names, RC QPs and what they are connected
 * with.
 */
#ifndef XROCE_DEVICE_H
#define XROCE_DEVICE_H

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <infiniband/verbs.h>

#define ALL_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
		    IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

static inline struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	if (!ctx)
		errx(1, "cannot open %s", name);
	ibv_free_device_list(list);
	return ctx;
}

/* Of a network the last byte differs: fdc8::, ::ffff:198.18.7.0 */
static inline int ip_gid(struct ibv_context *ctx, union ibv_gid *gid)
{
	uint8_t want[16] = { [10] = 0xff, [11] = 0xff };
	const char *net = getenv("XROCE_NET");
	int i, len = net ? 15 : 12;

	if (net && inet_pton(AF_INET6, net, want) != 1)
		errx(2, "no network: %s", net);
	for (i = 0; i < 16; i++)
		if (!ibv_query_gid(ctx, 1, i, gid) && !memcmp(gid, want, len))
			return i;
	errx(1, "no GID of %s", net ?: "an IPv4 address");
}

static inline struct ibv_qp *new_qp(struct ibv_pd *pd, struct ibv_cq *cq,
				    uint32_t wr, uint32_t sge)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_RC,
		.cap = { wr, wr, sge, sge, 256 },
	};

	return ibv_create_qp(pd, &init);
}

static inline int to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = ALL_ACCESS,
	};

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT |
			     IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS);
}

#define RTR_MASK (IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | \
		  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | \
		  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTS_MASK (IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | \
		  IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC)

static inline struct ibv_qp_attr rtr_attr_to(struct ibv_context *ctx,
					     struct ibv_context *to, uint32_t qpn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qpn,
		.rq_psn = 0xfffff0,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.ah_attr = { .is_global = 1, .port_num = 1 },
	};

	attr.ah_attr.grh.sgid_index = ip_gid(ctx, &attr.ah_attr.grh.dgid);
	ip_gid(to, &attr.ah_attr.grh.dgid);
	attr.ah_attr.grh.hop_limit = 9;
	attr.ah_attr.grh.traffic_class = 0x20;
	return attr;
}

static inline struct ibv_qp_attr rtr_attr(struct ibv_context *ctx, uint32_t qpn)
{
	return rtr_attr_to(ctx, ctx, qpn);
}

static inline struct ibv_qp_attr rts_attr(void)
{
	return (struct ibv_qp_attr) {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = 0xfffff0,
		.timeout = 10,
		.retry_cnt = 3,
		.rnr_retry = 2,
		.max_rd_atomic = 4,
	};
}

#endif /* XROCE_DEVICE_H */
