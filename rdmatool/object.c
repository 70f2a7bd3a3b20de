// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The kinds of objects that RDMA devices have: a table of columns each. Owns no
 * state; res.c shows them.
 */
#include <stdio.h>
#include <string.h>

#include "res.h"

#define COL(n, a, k, ...)	{ .name = n, .attr = a, .kind = k, __VA_ARGS__ }
#define N(name, attr, ...) \
	COL(name, RDMA_NLDEV_ATTR_##attr, NUM, __VA_ARGS__)
#define H(name, attr)		COL(name, RDMA_NLDEV_ATTR_##attr, HEX)
#define E(name, attr, ...) \
	COL(name, RDMA_NLDEV_ATTR_##attr, NAME, __VA_ARGS__)
#define OURS(name, a, kind, ...) \
	COL(name, XROCE_A_QP_##a, kind, .ours = true, __VA_ARGS__)
/* What xroce adds, to be filtered by: it is shown as it comes. */
#define FACT(name)		COL(name, 0, NUM)
#define DETAIL			.detail = true

static const char *const qp_types[] = {
	"SMI", "GSI", "RC", "UC", "UD", "RAW_IPV6", "RAW_ETHERTYPE", NULL,
	"RAW_PACKET", "XRC_INI", "XRC_TGT", [255] = "DRIVER",
};

static const char *const qp_states[] = {
	"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERROR",
};

/* Of the work request that ended it, enum ib_wc_status. */
static const char *const wc_statuses[] = {
	"none", "local-length", "local-qp-operation", "local-eec-operation",
	"local-protection", "flushed", "window-bind", "bad-response",
	"local-access", "remote-invalid-request", "remote-access",
	"remote-operation", "transport-retries", "rnr-retries", [21] = "general",
};

/**
 * wc_status_name() - of an enum ib_wc_status
 */
const char *wc_status_name(u8 status)
{
	return status < ARRAY_SIZE(wc_statuses) && wc_statuses[status] ?
	       wc_statuses[status] : "other";
}

static const char *const mig_states[] = { "MIGRATED", "REARM", "ARMED" };

static const char *const poll_ctxs[] = {
	"DIRECT", "SOFTIRQ", "WORKQUEUE", "UNBOUND_WORKQUEUE",
};

static const char *const srq_types[] = { "BASIC", "XRC", "TM" };

static const char *const cm_id_states[] = {
	"IDLE", "ADDR_QUERY", "ADDR_RESOLVED", "ROUTE_QUERY", "ROUTE_RESOLVED",
	"CONNECT", "DISCONNECT", "ADDR_BOUND", "LISTEN", "DEVICE_REMOVAL",
	"DESTROYING",
};

static const char *const port_spaces[] = {
	[0x002] = "IPoIB", [0x106] = "TCP", [0x111] = "UDP", [0x13f] = "IB",
};

static const struct col qp_cols[] = {
	N("lqpn", RES_LQPN),
	N("rqpn", RES_RQPN),
	E("type", RES_TYPE, .names = qp_types,
	  .n_names = ARRAY_SIZE(qp_types)),
	E("state", RES_STATE, .names = qp_states,
	  .n_names = ARRAY_SIZE(qp_states)),
	OURS("src", SGID, GID),
	OURS("dst", DGID, GID),
	OURS("mtu", PATH_MTU, NUM),
	N("rq-psn", RES_RQ_PSN),
	N("sq-psn", RES_SQ_PSN),
	E("path-mig-state", RES_PATH_MIG_STATE, .names = mig_states,
	  .n_names = ARRAY_SIZE(mig_states), DETAIL),
	OURS("sport", SPORT, NUM, DETAIL),
	OURS("pkey", PKEY, HEX, DETAIL),
	OURS("access", ACCESS, HEX, DETAIL),
	OURS("epsn", EPSN, NUM, DETAIL),
	OURS("msn", MSN, NUM, DETAIL),
	OURS("rd-active", RD_ACTIVE, NUM, DETAIL),
	OURS("una", UNA_PSN, NUM, DETAIL),
	OURS("next", NEXT_PSN, NUM, DETAIL),
	OURS("max", MAX_PSN, NUM, DETAIL),
	OURS("rd-outstanding", RD_OUTSTANDING, NUM, DETAIL),
	OURS("cwnd", CWND, NUM, DETAIL),
	OURS("ssthresh", SSTHRESH, NUM, DETAIL),
	OURS("timeout-ns", TIMEOUT, NUM, DETAIL),
	OURS("retry-cnt", RETRY_CNT, NUM, DETAIL),
	OURS("retries", RETRIES, NUM, DETAIL),
	OURS("rnr-retry", RNR_RETRY, NUM, DETAIL),
	OURS("rnr-retries", RNR_RETRIES, NUM, DETAIL),
	OURS("sq-depth", SQ_DEPTH, NUM, DETAIL),
	OURS("sq-fill", SQ_FILL, NUM),
	OURS("rq-depth", RQ_DEPTH, NUM, DETAIL),
	OURS("rq-fill", RQ_FILL, NUM),
	OURS("steer-cpu", STEER_CPU, NUM),
	OURS("error", ERROR_STATUS, NAME, .names = wc_statuses,
	     .n_names = ARRAY_SIZE(wc_statuses), DETAIL),
	OURS("error-nak", ERROR_NAK, HEX, DETAIL),
	N("pdn", RES_PDN),
	N("pid", RES_PID),
	COL("comm", 0, COMM),
	{}
};

/* What rdmatool stat qp shows beside counters. */
const struct col qp_stat_cols[] = {
	N("lqpn", RES_LQPN),
	N("rqpn", RES_RQPN),
	E("type", RES_TYPE, .names = qp_types,
	  .n_names = ARRAY_SIZE(qp_types)),
	E("state", RES_STATE, .names = qp_states,
	  .n_names = ARRAY_SIZE(qp_states)),
	N("pid", RES_PID),
	COL("comm", 0, COMM),
	{}
};

static const struct col cq_cols[] = {
	N("cqn", RES_CQN),
	N("cqe", RES_CQE),
	N("users", RES_USECNT),
	E("poll-ctx", RES_POLL_CTX, .names = poll_ctxs,
	  .n_names = ARRAY_SIZE(poll_ctxs)),
	N("adaptive-moderation", DEV_DIM, DETAIL),
	N("ctxn", RES_CTXN),
	N("pid", RES_PID),
	COL("comm", 0, COMM),
	FACT("completions"), FACT("fill"), FACT("armed"), FACT("overrun"),
	{}
};

static const struct col mr_cols[] = {
	N("mrn", RES_MRN),
	H("rkey", RES_RKEY),
	H("lkey", RES_LKEY),
	H("iova", RES_IOVA),
	N("mrlen", RES_MRLEN),
	N("pdn", RES_PDN),
	N("pid", RES_PID),
	COL("comm", 0, COMM),
	COL("access", 0, HEX), FACT("page_size"), FACT("pages"), FACT("windows"),
	FACT("valid"),
	{}
};

static const struct col srq_cols[] = {
	N("srqn", RES_SRQN),
	E("type", RES_TYPE, .names = srq_types,
	  .n_names = ARRAY_SIZE(srq_types)),
	COL("lqpn", RDMA_NLDEV_ATTR_RES_QP, QPS),
	N("pdn", RES_PDN),
	N("cqn", RES_CQN),
	N("pid", RES_PID),
	COL("comm", 0, COMM),
	FACT("max_wr"), FACT("max_sge"), FACT("limit"), FACT("fill"),
	{}
};

static const struct col pd_cols[] = {
	N("pdn", RES_PDN),
	H("local_dma_lkey", RES_LOCAL_DMA_LKEY),
	H("unsafe_global_rkey", RES_UNSAFE_GLOBAL_RKEY),
	N("users", RES_USECNT),
	N("ctxn", RES_CTXN),
	N("pid", RES_PID),
	COL("comm", 0, COMM),
	{}
};

static const struct col ctx_cols[] = {
	N("ctxn", RES_CTXN),
	N("pid", RES_PID),
	COL("comm", 0, COMM),
	{}
};

static const struct col cm_id_cols[] = {
	N("cm-idn", RES_CM_IDN),
	N("lqpn", RES_LQPN),
	E("type", RES_TYPE, .names = qp_types,
	  .n_names = ARRAY_SIZE(qp_types)),
	E("state", RES_STATE, .names = cm_id_states,
	  .n_names = ARRAY_SIZE(cm_id_states)),
	E("ps", RES_PS, .names = port_spaces,
	  .n_names = ARRAY_SIZE(port_spaces)),
	COL("src-addr", RDMA_NLDEV_ATTR_RES_SRC_ADDR, SOCKADDR),
	COL("dst-addr", RDMA_NLDEV_ATTR_RES_DST_ADDR, SOCKADDR),
	N("pid", RES_PID),
	COL("comm", 0, COMM),
	{}
};

#define MW(name, a, kind, ...) \
	COL(name, XROCE_A_MW_##a, kind, __VA_ARGS__)
#define AH(name, a, kind, ...) \
	COL(name, XROCE_A_AH_##a, kind, __VA_ARGS__)

static const struct col mw_cols[] = {
	MW("type", TYPE, NUM),
	MW("rkey", RKEY, HEX),
	MW("bound", BOUND, FLAG),
	MW("lkey", LKEY, HEX),
	MW("lqpn", QPN, NUM),
	MW("iova", IOVA, HEX),
	MW("mwlen", LENGTH, NUM),
	MW("access", ACCESS, HEX, DETAIL),
	MW("pdn", PDN, NUM),
	N("pid", RES_PID),
	COL("comm", 0, COMM),
	{}
};

static const struct col ah_cols[] = {
	AH("ahn", NUMBER, NUM),
	AH("src", SGID, GID),
	AH("dst", DGID, GID),
	AH("dmac", DMAC, MAC),
	AH("vlan", VLAN, NUM),
	AH("sport", SPORT, NUM, DETAIL),
	AH("sl", SL, NUM, DETAIL),
	AH("tclass", TCLASS, NUM, DETAIL),
	AH("flow-label", FLOW_LABEL, HEX, DETAIL),
	AH("hop-limit", HOP_LIMIT, NUM, DETAIL),
	AH("pdn", PDN, NUM),
	N("pid", RES_PID),
	COL("comm", 0, COMM),
	{}
};

/* nldev's CMD_RES_x_GET, with the list in ATTR_RES_x */
#define NLDEV_SHOW(x, X)						\
static void x##_show(int argc, char **argv)				\
{									\
	static const struct object obj = {				\
		.what = #x " show", .cols = x##_cols,			\
		.cmd = RDMA_NLDEV_CMD_RES_##X##_GET,			\
		.table = RDMA_NLDEV_ATTR_RES_##X,			\
	};								\
									\
	res_show(&obj, argc, argv);					\
}

#define XROCE_SHOW(x, X)						\
static void x##_show(int argc, char **argv)				\
{									\
	static const struct object obj = {				\
		.what = #x " show", .cols = x##_cols,			\
		.cmd = XROCE_CMD_##X##_GET,				\
		.attr_max = XROCE_A_##X##_MAX,				\
		.pdn = XROCE_A_##X##_PDN,				\
	};								\
									\
	res_show(&obj, argc, argv);					\
}

#define TAKES(x)							\
static bool x##_takes(const char *word)					\
{									\
	return res_takes(x##_cols, word);				\
}

#define SHOW_ALONE(x)							\
TAKES(x)								\
void cmd_##x(int argc, char **argv)					\
{									\
	static const struct cmd cmds[] = { { "show", x##_show }, {} };	\
									\
	dispatch(#x, cmds, x##_takes, argc, argv);			\
}

NLDEV_SHOW(qp, QP)
NLDEV_SHOW(cq, CQ)
NLDEV_SHOW(mr, MR)
NLDEV_SHOW(srq, SRQ)
NLDEV_SHOW(pd, PD)
NLDEV_SHOW(ctx, CTX)
NLDEV_SHOW(cm_id, CM_ID)
XROCE_SHOW(mw, MW)
XROCE_SHOW(ah, AH)

/* Steers one QP, whatever its link says. */
static void qp_set(int argc, char **argv)
{
	const char *name = NULL, *lqpn = NULL, *steer = NULL;
	const struct arg args[] = {
		{ "dev", &name },
		{ "lqpn", &lqpn },
		{ "steer", &steer },
		{ "link", &name },
		{}
	};
	struct nl_msg *msg;
	u32 qpn, cpu = 0;
	struct xlink xl;
	char list[16];
	int err;

	parse_args("qp set", args, argc, argv);
	if (!name || !lqpn || !steer)
		usage("qp set: dev, lqpn and steer expected");
	qpn = parse_uint("qp set: lqpn", lqpn, 0xffffff);
	if (strcmp(steer, "off"))
		cpu = parse_uint("qp set: steer", steer, 0xffff);
	name = rdev_word((char *)name);		/* of argv */
	xlink_need("qp set", name, &xl);
	msg = xroce_msg(XROCE_CMD_QP_SET, 0);
	put_str(msg, XROCE_A_QP_DEV_NAME, name);
	put_u32(msg, XROCE_A_QP_QPN, qpn);
	if (!strcmp(steer, "off")) {
		put_flag(msg, XROCE_A_QP_STEER_LINK);
	} else {
		steer_check("qp set", &xl);
		put_u32(msg, XROCE_A_QP_STEER_CPU, cpu);
		snprintf(list, sizeof(list), "%u", cpu);
		if (!xdp_steer(&xl, list))
			fail("qp set: steer %s: %s", list, xdp_why());
	}
	err = xroce_talk(msg, XROCE_A_QP_MAX, NULL, NULL);
	if (err)
		fail("qp set: %s lqpn %s: %s", name, lqpn, nl_why(err));
}

TAKES(qp)
void cmd_qp(int argc, char **argv)
{
	static const struct cmd cmds[] = {
		{ "show", qp_show },
		{ "set", qp_set },
		{}
	};

	dispatch("qp", cmds, qp_takes, argc, argv);
}

SHOW_ALONE(cq)
SHOW_ALONE(mr)
SHOW_ALONE(srq)
SHOW_ALONE(pd)
SHOW_ALONE(ctx)
SHOW_ALONE(cm_id)
SHOW_ALONE(mw)
SHOW_ALONE(ah)
