/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	docs/netlink/xroce.yaml */
/* YNL-GEN kernel header */

#ifndef _LINUX_XROCE_GEN_H
#define _LINUX_XROCE_GEN_H

#include <net/netlink.h>
#include <net/genetlink.h>

#include <uapi/linux/xroce_netlink.h>

/* Ops table for xroce */
extern const struct genl_split_ops xroce_nl_ops[8];

int xroce_nl_link_new_doit(struct sk_buff *skb, struct genl_info *info);
int xroce_nl_link_get_doit(struct sk_buff *skb, struct genl_info *info);
int xroce_nl_link_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int xroce_nl_link_set_doit(struct sk_buff *skb, struct genl_info *info);
int xroce_nl_qp_set_doit(struct sk_buff *skb, struct genl_info *info);
int xroce_nl_qp_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int xroce_nl_mw_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int xroce_nl_ah_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);

#endif /* _LINUX_XROCE_GEN_H */
