// SPDX-License-Identifier: GPL-2.0
/*
 * What a netdev sends as RoCEv2 over IPv4 is of VLAN 9, or what has a tag in it has
 * the same beside it, as a netdev's that takes tags off, or has a tag with a priority
 * alone. For xdp.sh, by tc.
 */
#include "vmlinux.h"
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

static int tagged(struct __sk_buff *skb, u16 tci)
{
	u32 ip = skb->protocol == bpf_htons(0x8100) ? 18 : 14;
	__be16 type, port;
	u8 proto;

	if (bpf_skb_load_bytes(skb, ip - 2, &type, 2) || type != bpf_htons(0x0800) ||
	    bpf_skb_load_bytes(skb, ip + 9, &proto, 1) || proto != 17 ||
	    bpf_skb_load_bytes(skb, ip + 20 + 2, &port, 2) || port != bpf_htons(4791))
		return 0;
	bpf_skb_vlan_push(skb, bpf_htons(0x8100), tci);
	return 0;
}

SEC("tc")
int vlan9(struct __sk_buff *skb)
{
	return tagged(skb, 9);
}

SEC("tc/priority")
int priority(struct __sk_buff *skb)
{
	return tagged(skb, 5 << 13);
}

SEC("tc/egress")
int beside(struct __sk_buff *skb)
{
	__be16 tag;

	if (skb->vlan_present || skb->protocol != bpf_htons(0x8100) ||
	    bpf_skb_load_bytes(skb, 14, &tag, 2))
		return 0;
	if (!bpf_skb_vlan_pop(skb))
		bpf_skb_vlan_push(skb, bpf_htons(0x8100), bpf_ntohs(tag));
	return 0;
}

char _license[] SEC("license") = "GPL";
