// SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause)
/* Do not edit directly, auto-generated from: */
/*	docs/netlink/xroce.yaml */
/* YNL-GEN kernel source */

#include <net/netlink.h>
#include <net/genetlink.h>

#include "nl_gen.h"

#include <uapi/linux/xroce_netlink.h>

/* Integer value ranges */
static const struct netlink_range_validation xroce_a_link_xdp_fd_range = {
	.max	= S32_MAX,
};

static const struct netlink_range_validation xroce_a_link_cnp_gap_range = {
	.max	= 1000000000ULL,
};

/* XROCE_CMD_LINK_NEW - do */
static const struct nla_policy xroce_link_new_nl_policy[XROCE_A_LINK_IFINDEX + 1] = {
	[XROCE_A_LINK_DEV_NAME] = { .type = NLA_NUL_STRING, .len = 63, },
	[XROCE_A_LINK_IFINDEX] = NLA_POLICY_MIN(NLA_U32, 1),
};

/* XROCE_CMD_LINK_GET - do */
static const struct nla_policy xroce_link_get_nl_policy[XROCE_A_LINK_IFINDEX + 1] = {
	[XROCE_A_LINK_DEV_NAME] = { .type = NLA_NUL_STRING, .len = 63, },
	[XROCE_A_LINK_IFINDEX] = NLA_POLICY_MIN(NLA_U32, 1),
};

/* XROCE_CMD_LINK_SET - do */
static const struct nla_policy xroce_link_set_nl_policy[XROCE_A_LINK_CNP_GAP + 1] = {
	[XROCE_A_LINK_DEV_NAME] = { .type = NLA_NUL_STRING, .len = 63, },
	[XROCE_A_LINK_IFINDEX] = NLA_POLICY_MIN(NLA_U32, 1),
	[XROCE_A_LINK_XDP_FD] = NLA_POLICY_FULL_RANGE(NLA_U32, &xroce_a_link_xdp_fd_range),
	[XROCE_A_LINK_XDP_DETACH] = { .type = NLA_FLAG, },
	[XROCE_A_LINK_STEER] = { .type = NLA_NUL_STRING, .len = 1023, },
	[XROCE_A_LINK_CWND_INIT] = NLA_POLICY_RANGE(NLA_U32, 4, 32767),
	[XROCE_A_LINK_CWND_MAX] = NLA_POLICY_RANGE(NLA_U32, 4, 32767),
	[XROCE_A_LINK_CNP_GAP] = NLA_POLICY_FULL_RANGE(NLA_U32, &xroce_a_link_cnp_gap_range),
};

/* XROCE_CMD_QP_SET - do */
static const struct nla_policy xroce_qp_set_nl_policy[XROCE_A_QP_STEER_LINK + 1] = {
	[XROCE_A_QP_DEV_NAME] = { .type = NLA_NUL_STRING, .len = 63, },
	[XROCE_A_QP_QPN] = { .type = NLA_U32, },
	[XROCE_A_QP_STEER_CPU] = { .type = NLA_U32, },
	[XROCE_A_QP_STEER_LINK] = { .type = NLA_FLAG, },
};

/* XROCE_CMD_QP_GET - dump */
static const struct nla_policy xroce_qp_get_nl_policy[XROCE_A_QP_DEV_NAME + 1] = {
	[XROCE_A_QP_DEV_NAME] = { .type = NLA_NUL_STRING, .len = 63, },
};

/* XROCE_CMD_MW_GET - dump */
static const struct nla_policy xroce_mw_get_nl_policy[XROCE_A_MW_DEV_NAME + 1] = {
	[XROCE_A_MW_DEV_NAME] = { .type = NLA_NUL_STRING, .len = 63, },
};

/* XROCE_CMD_AH_GET - dump */
static const struct nla_policy xroce_ah_get_nl_policy[XROCE_A_AH_DEV_NAME + 1] = {
	[XROCE_A_AH_DEV_NAME] = { .type = NLA_NUL_STRING, .len = 63, },
};

/* Ops table for xroce */
const struct genl_split_ops xroce_nl_ops[8] = {
	{
		.cmd		= XROCE_CMD_LINK_NEW,
		.doit		= xroce_nl_link_new_doit,
		.policy		= xroce_link_new_nl_policy,
		.maxattr	= XROCE_A_LINK_IFINDEX,
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= XROCE_CMD_LINK_GET,
		.doit		= xroce_nl_link_get_doit,
		.policy		= xroce_link_get_nl_policy,
		.maxattr	= XROCE_A_LINK_IFINDEX,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd	= XROCE_CMD_LINK_GET,
		.dumpit	= xroce_nl_link_get_dumpit,
		.flags	= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= XROCE_CMD_LINK_SET,
		.doit		= xroce_nl_link_set_doit,
		.policy		= xroce_link_set_nl_policy,
		.maxattr	= XROCE_A_LINK_CNP_GAP,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= XROCE_CMD_QP_SET,
		.doit		= xroce_nl_qp_set_doit,
		.policy		= xroce_qp_set_nl_policy,
		.maxattr	= XROCE_A_QP_STEER_LINK,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= XROCE_CMD_QP_GET,
		.dumpit		= xroce_nl_qp_get_dumpit,
		.policy		= xroce_qp_get_nl_policy,
		.maxattr	= XROCE_A_QP_DEV_NAME,
		.flags		= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= XROCE_CMD_MW_GET,
		.dumpit		= xroce_nl_mw_get_dumpit,
		.policy		= xroce_mw_get_nl_policy,
		.maxattr	= XROCE_A_MW_DEV_NAME,
		.flags		= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= XROCE_CMD_AH_GET,
		.dumpit		= xroce_nl_ah_get_dumpit,
		.policy		= xroce_ah_get_nl_policy,
		.maxattr	= XROCE_A_AH_DEV_NAME,
		.flags		= GENL_CMD_CAP_DUMP,
	},
};
