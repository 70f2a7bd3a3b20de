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

static int __init xroce_init(void)
{
	int err;

	err = xroce_table_init();
	if (err)
		return err;
	err = xroce_work_init();
	if (err)
		goto err_table;
	err = xroce_env_init();
	if (err)
		goto err_work;
	err = xroce_frame_init();
	if (err)
		goto err_env;
	err = xroce_udp_init();
	if (err)
		goto err_frame;
	err = xroce_kfunc_init();
	if (err)
		goto err_udp;
	err = xroce_link_init();
	if (err)
		goto err_udp;
	err = xroce_nl_init();
	if (err)
		goto err_link;
	rdma_link_register(&xroce_link_ops);
	return 0;

err_link:
	xroce_link_exit();
err_udp:
	xroce_udp_exit();
err_frame:
	xroce_frame_exit();
err_env:
	xroce_env_exit();
err_work:
	xroce_work_exit();
err_table:
	xroce_table_exit();
	return err;
}

static void __exit xroce_exit(void)
{
	rdma_link_unregister(&xroce_link_ops);
	xroce_nl_exit();
	xroce_link_exit();
	/* QPs are freed by our own callbacks. */
	rcu_barrier();
	xroce_udp_exit();
	xroce_frame_exit();
	xroce_env_exit();
	xroce_work_exit();
	xroce_table_exit();
}

module_init(xroce_init);
module_exit(xroce_exit);

MODULE_DESCRIPTION("RoCEv2 over any network device, accelerated by XDP");
MODULE_AUTHOR("The xroce authors");
MODULE_LICENSE("GPL");
MODULE_VERSION(XROCE_VERSION);
MODULE_ALIAS_RDMA_LINK("xroce");
