// SPDX-License-Identifier: GPL-2.0
/*
 * The module's beginning and end: its parts in order, and the link type that
 * "rdma link add" knows it by.
 */
#include <linux/module.h>

#include "xroce.h"

static int xroce_newlink(const char *name, struct net_device *ndev)
{
	return xroce_link_new(dev_net(ndev), name, ndev, NULL);
}

static struct rdma_link_ops xroce_link_ops = {
	.type = "xroce",
	.newlink = xroce_newlink,
};

/* In the order in which they are made; the end is in the other. */
static const struct {
	int (*init)(void);
	void (*exit)(void);
} xroce_parts[] __refconst = {
	{ xroce_table_init, xroce_table_exit },
	{ xroce_work_init, xroce_work_exit },
	{ xroce_env_init, xroce_env_exit },
	{ xroce_frame_init, xroce_frame_exit },
	{ xroce_packet_init, xroce_packet_exit },
	{ xroce_udp_init, xroce_udp_exit },
	{ xroce_kfunc_init, NULL },
	{ xroce_poller_init, xroce_poller_exit },
	{ xroce_link_init, xroce_link_exit },
	{ xroce_nl_init, xroce_nl_exit },
};

static void xroce_end(u32 n)
{
	while (n--)
		if (xroce_parts[n].exit)
			xroce_parts[n].exit();
}

static int __init xroce_init(void)
{
	int err;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(xroce_parts); i++) {
		err = xroce_parts[i].init();
		if (err) {
			xroce_end(i);
			return err;
		}
	}
	rdma_link_register(&xroce_link_ops);
	return 0;
}

static void __exit xroce_exit(void)
{
	rdma_link_unregister(&xroce_link_ops);
	xroce_end(ARRAY_SIZE(xroce_parts));
}

module_init(xroce_init);
module_exit(xroce_exit);

MODULE_DESCRIPTION("RoCEv2 over any network device, accelerated by XDP");
MODULE_AUTHOR("The xroce authors");
MODULE_LICENSE("GPL");
MODULE_VERSION(XROCE_VERSION);
MODULE_ALIAS_RDMA_LINK("xroce");
