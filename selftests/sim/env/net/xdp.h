/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A driver's buffer, as far as kmod/pass.c looks into it, see native.c. One thread.
 */
#ifndef SIM_XDP_H
#define SIM_XDP_H

struct net_device {
	int ifindex;
};

struct xdp_rxq_info {
	struct net_device *dev;
	u32 reg_state;
};

/**
 * struct xdp_buff - a received frame
 * @krx: what the module would find in it
 */
struct xdp_buff {
	struct xdp_rxq_info *rxq;
	struct xroce_krx *krx;
};

#endif /* SIM_XDP_H */
