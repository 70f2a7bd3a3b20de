// SPDX-License-Identifier: GPL-2.0
/*
 * Device, port, GID, PD and user context verbs. Process context; they read the
 * netdev's state as it is and own none.
 */
#include <linux/file.h>
#include <linux/if_vlan.h>
#include <linux/unaligned.h>
#include <net/addrconf.h>
#include <rdma/ib_mad.h>

#include "xroce.h"

/*
 * What the device says, though XROCE_MAX_RD_ATOMIC are taken: UCX and perftest have the
 * peer's QP answer as many as their own device says.
 */
#define XROCE_NIC_RD_ATOMIC	16

/* ib_core makes three files of each, for each namespace that sees the device. */
static unsigned int xroce_gids = XROCE_GID_TBL_LEN;

static int xroce_gids_set(const char *val, const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, 1, XROCE_GID_TBL_LEN);
}

static const struct kernel_param_ops xroce_gids_ops = {
	.set = xroce_gids_set,
	.get = param_get_uint,
};

module_param_cb(gids, &xroce_gids_ops, &xroce_gids, 0644);
MODULE_PARM_DESC(gids, "length of the GID table of links made from now on, 1 to "
		 __stringify(XROCE_GID_TBL_LEN));

/**
 * xroce_link_mtu() - the largest path MTU that the netdev has room for
 * @link: the link
 *
 * Return: bytes, 0 when not even the smallest fits.
 */
u32 xroce_link_mtu(const struct xroce_link *link)
{
	return xroce_mtu_of(READ_ONCE(link->ndev->mtu));
}

static int xroce_ib_query_device(struct ib_device *ib, struct ib_device_attr *attr,
				 struct ib_udata *udata)
{
	/* ib_core itself asks without, or with an empty one. */
	if (udata && (udata->inlen || udata->outlen))
		return -EINVAL;
	attr->fw_ver = XROCE_FW_VERSION;
	attr->sys_image_guid = ib->node_guid;
	attr->max_mr_size = ~0ull;
	attr->page_size_cap = GENMASK(31, PAGE_SHIFT);
	attr->vendor_id = 0x027872;	/* nobody's: by 0xffffff SPDK knows rdma_rxe */
	attr->device_cap_flags = IB_DEVICE_BAD_PKEY_CNTR | IB_DEVICE_BAD_QKEY_CNTR |
				 IB_DEVICE_UD_AV_PORT_ENFORCE | IB_DEVICE_CURR_QP_STATE_MOD |
				 IB_DEVICE_PORT_ACTIVE_EVENT | IB_DEVICE_SYS_IMAGE_GUID |
				 IB_DEVICE_RC_RNR_NAK_GEN | IB_DEVICE_MEM_MGT_EXTENSIONS |
				 IB_DEVICE_MEM_WINDOW | IB_DEVICE_MEM_WINDOW_TYPE_2B |
				 IB_DEVICE_XRC | IB_DEVICE_SRQ_RESIZE |
				 IB_DEVICE_FLUSH_GLOBAL | IB_DEVICE_ATOMIC_WRITE;
	attr->kernel_cap_flags = IBK_ALLOW_USER_UNREG | IBK_LOCAL_DMA_LKEY;
	attr->max_qp = XROCE_MAX_QP;
	attr->max_qp_wr = XROCE_MAX_QP_WR;
	attr->max_send_sge = XROCE_MAX_SGE;
	attr->max_recv_sge = XROCE_MAX_SGE;
	attr->max_sge_rd = XROCE_MAX_SGE;
	attr->max_cq = XROCE_MAX_CQ;
	attr->max_cqe = XROCE_MAX_CQE;
	attr->max_mr = XROCE_MAX_MR;
	attr->max_mw = XROCE_MAX_MR;
	attr->max_fast_reg_page_list_len = XROCE_MAX_FAST_PAGES;
	attr->max_pd = XROCE_MAX_PD;
	attr->max_ah = XROCE_MAX_AH;
	attr->max_srq = XROCE_MAX_SRQ;
	attr->max_srq_wr = XROCE_MAX_QP_WR;
	attr->max_srq_sge = XROCE_MAX_SGE;
	attr->max_mcast_grp = XROCE_MAX_GROUP;
	attr->max_mcast_qp_attach = XROCE_MAX_GROUP_QP;
	attr->max_total_mcast_qp_attach = XROCE_MAX_GROUP * XROCE_MAX_GROUP_QP;
	attr->max_qp_rd_atom = XROCE_NIC_RD_ATOMIC;
	attr->max_qp_init_rd_atom = XROCE_NIC_RD_ATOMIC;
	attr->max_res_rd_atom = XROCE_NIC_RD_ATOMIC * XROCE_MAX_QP;
	/* cmpxchg() on the memory itself, as the CPUs do. */
	attr->atomic_cap = IB_ATOMIC_GLOB;
	attr->masked_atomic_cap = IB_ATOMIC_NONE;
	attr->max_pkeys = 1;
	attr->local_ca_ack_delay = 12;	/* 17 ms: a busy CPU answers late */
	return 0;
}

static void xroce_ib_fw_str(struct ib_device *ib, char *str)
{
	strscpy(str, XROCE_VERSION, IB_FW_VERSION_NAME_MAX);
}

static int xroce_ib_query_port(struct ib_device *ib, u32 port, struct ib_port_attr *attr)
{
	struct xroce_link *link = to_xlink(ib);
	u32 mtu = xroce_link_mtu(link);

	if (xroce_link_active(link)) {
		attr->state = IB_PORT_ACTIVE;
		attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	} else {
		attr->state = IB_PORT_DOWN;
		attr->phys_state = netif_running(link->ndev) ?
				   IB_PORT_PHYS_STATE_POLLING :
				   IB_PORT_PHYS_STATE_DISABLED;
	}
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = ib_mtu_int_to_enum(mtu ?: 256);
	attr->phys_mtu = READ_ONCE(link->ndev->mtu);
	attr->gid_tbl_len = ib->port_data[port].immutable.gid_tbl_len;
	attr->ip_gids = true;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->max_msg_sz = XROCE_MAX_MSG / 2;	/* NICs take no more than that */
	attr->pkey_tbl_len = 1;
	attr->max_vl_num = 1;
	attr->bad_pkey_cntr = xroce_env_total(&link->dev, XROCE_CNT_DROP_PKEY);
	attr->qkey_viol_cntr = xroce_env_total(&link->dev, XROCE_CNT_DROP_QKEY);
	attr->active_speed = IB_SPEED_SDR;
	attr->active_width = IB_WIDTH_1X;
	/* Who asks may be making a namespace, which is not to fail for a link that ends. */
	ib_get_eth_speed(ib, port, &attr->active_speed, &attr->active_width);
	return 0;
}

/* What a host calls it, as rdma-ndd writes it; all else is as it is. */
static int xroce_ib_modify_device(struct ib_device *ib, int mask, struct ib_device_modify *attr)
{
	if (mask & ~IB_DEVICE_MODIFY_NODE_DESC)
		return -EOPNOTSUPP;
	memcpy(ib->node_desc, attr->node_desc, sizeof(ib->node_desc));
	return 0;
}

static int xroce_ib_immutable(struct ib_device *ib, u32 port, struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	immutable->gid_tbl_len = READ_ONCE(xroce_gids);
	immutable->pkey_tbl_len = 1;
	return 0;
}

static enum rdma_link_layer xroce_ib_link_layer(struct ib_device *ib, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

static int xroce_ib_query_pkey(struct ib_device *ib, u32 port, u16 index, u16 *pkey)
{
	if (index)
		return -EINVAL;
	*pkey = XROCE_PKEY_DEFAULT;
	return 0;
}

/*
 * ib_core offers the addresses of everything above the netdev. Ours are its own and those of an
 * 802.1Q VLAN on it: a bridge's or bond's packets would pass by that device. Either may have
 * been given to another namespace, the netdev while a user keeps the link from its end.
 */
static bool xroce_gid_dev_ok(const struct xroce_link *link, const struct net_device *ndev)
{
	if (!net_eq(dev_net(ndev), link->net))
		return false;
	if (ndev == link->ndev)
		return true;
	return is_vlan_dev(ndev) && vlan_dev_vlan_proto(ndev) == htons(ETH_P_8021Q) &&
	       vlan_dev_priv(ndev)->real_dev == link->ndev;
}

static int xroce_ib_add_gid(const struct ib_gid_attr *attr, void **context)
{
	struct xroce_link *link = to_xlink(attr->device);
	const struct net_device *ndev;
	struct xroce_gid *g;
	u16 vid = 0;
	bool ok;

	if (attr->gid_type != IB_GID_TYPE_ROCE_UDP_ENCAP)
		return -EOPNOTSUPP;
	scoped_guard(rcu) {
		ndev = rcu_dereference(attr->ndev);
		ok = xroce_gid_dev_ok(link, ndev);
		if (ok && ndev != link->ndev)
			vid = vlan_dev_vlan_id(ndev);
	}
	ibdev_dbg(&link->ib, "GID %u is %pI6c%s\n", attr->index, attr->gid.raw,
		  ok ? "" : ", of a netdev that is not ours");
	if (!ok)
		return -EOPNOTSUPP;
	g = kmalloc(sizeof(*g), GFP_KERNEL);
	if (!g)
		return -ENOMEM;
	g->gid = attr->gid;
	g->vid = vid;
	hash_add_rcu(link->gids, &g->node, xroce_gid_hash(&g->gid));
	*context = g;
	return 0;
}

static int xroce_ib_del_gid(const struct ib_gid_attr *attr, void **context)
{
	struct xroce_gid *g = *context;

	hash_del_rcu(&g->node);
	kfree_rcu(g, rcu);
	return 0;
}

static int xroce_ib_alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	if (xroce_udata_unknown(udata))
		return -EOPNOTSUPP;
	return atomic_add_unless(&to_xlink(pd->device)->pds, 1, XROCE_MAX_PD) ? 0 : -ENOMEM;
}

static int xroce_ib_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	atomic_dec(&to_xlink(pd->device)->pds);
	return 0;
}

/* That it is one is all that is asked of an XRC domain. */
static int xroce_ib_alloc_xrcd(struct ib_xrcd *xrcd, struct ib_udata *udata)
{
	if (xroce_udata_unknown(udata))
		return -EOPNOTSUPP;
	return atomic_add_unless(&to_xlink(xrcd->device)->xrcds, 1, XROCE_MAX_XRCD) ? 0 : -ENOMEM;
}

static int xroce_ib_dealloc_xrcd(struct ib_xrcd *xrcd, struct ib_udata *udata)
{
	atomic_dec(&to_xlink(xrcd->device)->xrcds);
	return 0;
}

static void xroce_ib_dealloc_ucontext(struct ib_ucontext *uctx)
{
	struct xroce_uctx *ctx = container_of(uctx, struct xroce_uctx, ib);

	if (ctx->bell)
		xroce_bell_end(ctx->bell);
	if (ctx->poller)
		xroce_poller_free(ctx->poller);
}

/* Not yet to be found by its number: fd_install() makes it the caller's. */
static struct file *uctx_bell(struct xroce_uctx *ctx, int *fd)
{
	struct file *file;

	*fd = get_unused_fd_flags(O_CLOEXEC);
	if (*fd < 0)
		return ERR_PTR(*fd);
	file = xroce_bell_new(xroce_ring_qp, ctx, &ctx->bell);
	if (IS_ERR(file))
		put_unused_fd(*fd);
	return file;
}

static int xroce_ib_alloc_ucontext(struct ib_ucontext *uctx, struct ib_udata *udata)
{
	struct xroce_uctx *ctx = container_of(uctx, struct xroce_uctx, ib);
	struct xroce_alloc_ucontext_resp resp = {
		.max_inline = XROCE_MAX_INLINE,
	};
	struct xroce_alloc_ucontext_req req = {};
	struct file *file;
	int err;

	if (udata->outlen < sizeof(resp))
		return -EINVAL;
	err = xroce_udata_in(udata, &req, sizeof(req));
	if (err)
		return err;
	if (req.reserved)
		return -EINVAL;
	if (req.poll_us) {
		ctx->poller = xroce_poller_new(req.poll_us);
		if (IS_ERR(ctx->poller))
			return PTR_ERR(ctx->poller);
	}
	file = uctx_bell(ctx, &resp.bell);
	if (IS_ERR(file)) {
		xroce_ib_dealloc_ucontext(uctx);
		return PTR_ERR(file);
	}
	err = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (!err) {
		fd_install(resp.bell, file);
		return 0;
	}
	put_unused_fd(resp.bell);
	fput(file);
	xroce_ib_dealloc_ucontext(uctx);
	return err;
}

/* For another process that has been given the file: there is nothing to add. */
static int xroce_ib_query_ucontext(struct ib_ucontext *uctx, struct uverbs_attr_bundle *attrs)
{
	return 0;
}

/*
 * There are no mappings to take away: rings are memory of their own. That this
 * exists lets a device be unregistered, or the module unloaded, under a user.
 */
static void xroce_ib_disassociate(struct ib_ucontext *uctx)
{
}

static void xroce_ib_dealloc_driver(struct ib_device *ib)
{
	xroce_link_free(to_xlink(ib));
}

static const struct ib_device_ops xroce_dev_ops = {
	.owner = THIS_MODULE,
	.driver_id = (enum rdma_driver_id)XROCE_DRIVER_ID,
	.uverbs_abi_ver = XROCE_ABI_VERSION,

	.add_gid = xroce_ib_add_gid,
	.alloc_pd = xroce_ib_alloc_pd,
	.alloc_ucontext = xroce_ib_alloc_ucontext,
	.alloc_xrcd = xroce_ib_alloc_xrcd,
	.dealloc_driver = xroce_ib_dealloc_driver,
	.dealloc_pd = xroce_ib_dealloc_pd,
	.dealloc_ucontext = xroce_ib_dealloc_ucontext,
	.dealloc_xrcd = xroce_ib_dealloc_xrcd,
	.del_gid = xroce_ib_del_gid,
	.disassociate_ucontext = xroce_ib_disassociate,
	.enable_driver = xroce_link_enable,
	.get_dev_fw_str = xroce_ib_fw_str,
	.get_link_layer = xroce_ib_link_layer,
	.get_port_immutable = xroce_ib_immutable,
	.modify_device = xroce_ib_modify_device,
	.mmap = xroce_ib_mmap,
	.mmap_free = xroce_ib_mmap_free,
	.query_device = xroce_ib_query_device,
	.query_pkey = xroce_ib_query_pkey,
	.query_port = xroce_ib_query_port,
	.query_ucontext = xroce_ib_query_ucontext,

	.size_ib_pd = sizeof(struct ib_pd),
	.size_ib_xrcd = sizeof(struct ib_xrcd),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, xroce_uctx, ib),
};

/**
 * xroce_ib_init() - from here on ib_dealloc_device() frees all of a link
 * @link: the link
 */
void xroce_ib_init(struct xroce_link *link)
{
	struct ib_device *ib = &link->ib;

	ib_set_device_ops(ib, &xroce_dev_ops);
	ib_set_device_ops(ib, &xroce_qp_ops);
	ib_set_device_ops(ib, &xroce_cq_ops);
	ib_set_device_ops(ib, &xroce_mr_ops);
	ib_set_device_ops(ib, &xroce_ah_ops);
	ib_set_device_ops(ib, &xroce_srq_ops);
	ib_set_device_ops(ib, &xroce_mcast_ops);
	ib_set_device_ops(ib, &xroce_post_ops);
	ib_set_device_ops(ib, &xroce_res_ops);
	ib_set_device_ops(ib, &xroce_pma_ops);
	ib_set_device_ops(ib, &xroce_counter_ops);
}

/**
 * xroce_ib_register() - show a link to the world
 * @link: the link
 * @name: the RDMA device's name
 *
 * Process context, without RTNL. On error the caller deallocates the device.
 */
int xroce_ib_register(struct xroce_link *link, const char *name)
{
	struct ib_device *ib = &link->ib;
	int err;

	ib->node_type = RDMA_NODE_IB_CA;
	ib->phys_port_cnt = 1;
	ib->local_dma_lkey = XROCE_LKEY_KERNEL;
	/*
	 * 0: where the completion arises; v: CPU v (work.c), the last CPU 0, where an
	 * interrupt from another CPU may raise a softirq.
	 */
	ib->num_comp_vectors = IS_ENABLED(CONFIG_PREEMPT_RT) ? 1 : num_possible_cpus() + 1;
	strscpy(ib->node_desc, "xroce", sizeof(ib->node_desc));
	addrconf_addr_eui48((u8 *)&ib->node_guid, link->ndev->dev_addr);
	/* A VLAN has its netdev's address, and by GUIDs kernel consumers tell devices apart. */
	if (is_vlan_dev(link->ndev))
		put_unaligned_be16(vlan_dev_vlan_id(link->ndev), (u8 *)&ib->node_guid + 3);
	/* Doorbells; the rest of the data path has no system call. */
	ib->uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_POST_SEND) |
			       BIT_ULL(IB_USER_VERBS_CMD_POST_RECV) |
			       BIT_ULL(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ);
	ib_mark_name_assigned_by_user(ib);
	err = ib_device_set_netdev(ib, link->ndev, 1);
	if (err)
		return err;
	return ib_register_device(ib, name, NULL);
}
