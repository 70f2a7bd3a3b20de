// SPDX-License-Identifier: GPL-2.0
/*
 * Address vectors and address handles: from what ib_core has resolved to the headers in front
 * of a packet. A handle does not change between its creation and its end, a grace period after
 * which it is freed. Any context but for a user's, which sleeps.
 */
#include <linux/if_vlan.h>
#include <net/inet_ecn.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "xroce.h"

/* The Ethernet header, with a tag where the GID is a VLAN's on our netdev. */
static int path_l2(struct xroce_link *link, struct xroce_av *av, const struct rdma_ah_attr *attr)
{
	const struct ib_gid_attr *sgid = attr->grh.sgid_attr;
	struct vlan_ethhdr *eth = (struct vlan_ethhdr *)av->l2;
	__be16 proto = av->l3_len == 28 ? htons(ETH_P_IP) : htons(ETH_P_IPV6);
	u16 vlan = XROCE_NO_VLAN;
	int err;

	static_assert(sizeof(*eth) <= sizeof(av->l2));
	err = rdma_read_gid_l2_fields(sgid, &vlan, eth->h_source);
	if (err)
		return err;
	ether_addr_copy(eth->h_dest, attr->roce.dmac);
	/* A link that is on a VLAN itself: its netdev adds the tag. */
	if (vlan == XROCE_NO_VLAN || rcu_access_pointer(sgid->ndev) == link->ndev) {
		eth->h_vlan_proto = proto;
		av->l2_len = ETH_HLEN;
		av->vid = 0;
	} else {
		eth->h_vlan_proto = htons(ETH_P_8021Q);
		eth->h_vlan_TCI = htons(vlan | av->prio << VLAN_PRIO_SHIFT);
		eth->h_vlan_encapsulated_proto = proto;
		av->l2_len = VLAN_ETH_HLEN;
		av->vid = vlan;
	}
	return 0;
}

/* Does a path lead back to this host; a link-local address is its netdev's alone. */
static bool path_loops(struct xroce_link *link, const union ib_gid *dgid,
		       const struct ib_gid_attr *sgid)
{
	const struct ib_gid_attr *own;

	guard(rcu)();
	if (!(ipv6_addr_type((const struct in6_addr *)dgid) & IPV6_ADDR_LINKLOCAL))
		return xroce_link_by_gid_rcu(link->net, link->ndev, dgid);
	own = rdma_find_gid_by_port(&link->ib, dgid, sgid->gid_type, 1,
				    rcu_dereference(sgid->ndev));
	if (IS_ERR(own))
		return false;
	rdma_put_gid_attr(own);
	return true;
}

/**
 * xroce_path() - make the headers that lead to a peer or a group
 * @link: the link
 * @av: where to write them
 * @attr: with its source GID and the peer's MAC address resolved
 * @sport: UDP source port
 * @ecn: what the traffic class ends in: what is said of marks of congestion
 *
 * Any context. Return: 0, -EINVAL: no RoCEv2 address, or not of one family, or
 * -ENODEV: the netdev has gone.
 */
int xroce_path(struct xroce_link *link, struct xroce_av *av,
	       const struct rdma_ah_attr *attr, u16 sport, u8 ecn)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);
	const struct in6_addr *dst = (const struct in6_addr *)&grh->dgid;
	const struct ib_gid_attr *sgid = grh->sgid_attr;

	if (!(rdma_ah_get_ah_flags(attr) & IB_AH_GRH) || !sgid ||
	    sgid->gid_type != IB_GID_TYPE_ROCE_UDP_ENCAP || attr->sl > 15)
		return -EINVAL;
	if (ipv6_addr_any(dst) ||
	    ipv6_addr_v4mapped(dst) !=
	    ipv6_addr_v4mapped((const struct in6_addr *)&sgid->gid))
		return -EINVAL;
	xroce_av_set(av, sgid->gid.raw, grh->dgid.raw,
		     (grh->traffic_class & ~INET_ECN_MASK) | ecn,
		     grh->hop_limit ?: IPV6_DEFAULT_HOPLIMIT,
		     grh->flow_label & IB_GRH_FLOWLABEL_MASK, sport);
	/* that of a datagram's completion is no priority */
	av->prio = attr->sl < XROCE_SL_UDP ? attr->sl : 0;
	if (rdma_is_multicast_addr((struct in6_addr *)dst))
		av->route = XROCE_ROUTE_BOTH;
	else if (path_loops(link, &grh->dgid, sgid))
		av->route = XROCE_ROUTE_HOST;
	return path_l2(link, av, attr);
}

static int xroce_ib_create_ah(struct ib_ah *ib, struct rdma_ah_init_attr *init,
			      struct ib_udata *udata)
{
	struct xroce_link *link = to_xlink(ib->device);
	const struct rdma_ah_attr *attr = init->ah_attr;
	struct xroce_create_ah_resp resp = {};
	struct xroce_kah *kah;
	int err;

	if (udata && udata->outlen < sizeof(resp))
		return -EINVAL;
	if (xroce_udata_unknown(udata))
		return -EOPNOTSUPP;
	kah = kzalloc(sizeof(*kah),
		      init->flags & RDMA_CREATE_AH_SLEEPABLE ? GFP_KERNEL_ACCOUNT : GFP_ATOMIC);
	if (!kah)
		return -ENOMEM;
	kah->link = link;
	kah->ah.pd = ib->pd;
	kah->pdn = ib->pd->res.id;
	kah->attr = *attr;
	kah->attr.grh.sgid_attr = NULL;
	err = xroce_path(link, &kah->ah.av, attr,
			 rdma_flow_label_to_udp_sport(attr->grh.flow_label),
			 attr->grh.traffic_class & INET_ECN_MASK);
	if (err)
		goto err_free;
	if (udata) {
		err = xroce_table_reserve(&xroce_ahs, &kah->entry, link);
		if (err)
			goto err_free;
		xroce_table_publish(&xroce_ahs, &kah->entry, kah);
		resp.ah = kah->entry.number;
		err = ib_copy_to_udata(udata, &resp, sizeof(resp));
		if (err)
			goto err_table;
	}
	container_of(ib, struct xroce_ibah, ib)->kah = kah;
	return 0;

err_table:
	xroce_table_del(&xroce_ahs, &kah->entry, kah->link);
err_free:
	kfree_rcu(kah, rcu);
	return err;
}

static int xroce_ib_destroy_ah(struct ib_ah *ib, u32 flags)
{
	struct xroce_kah *kah = to_kah(ib);

	if (kah->entry.number)
		xroce_table_del(&xroce_ahs, &kah->entry, kah->link);
	kfree_rcu(kah, rcu);
	return 0;
}

static int xroce_ib_query_ah(struct ib_ah *ib, struct rdma_ah_attr *attr)
{
	*attr = to_kah(ib)->attr;
	return 0;
}

const struct ib_device_ops xroce_ah_ops = {
	.create_ah = xroce_ib_create_ah,
	.create_user_ah = xroce_ib_create_ah,
	.destroy_ah = xroce_ib_destroy_ah,
	.query_ah = xroce_ib_query_ah,
	INIT_RDMA_OBJ_SIZE(ib_ah, xroce_ibah, ib),
};
