// SPDX-License-Identifier: GPL-2.0
/*
 * Performance management: what counters of a link become for whoever asks QP 1, of
 * this host or another, and for sysfs. Process context; owns nothing.
 */
#include <linux/unaligned.h>
#include <rdma/ib_pma.h>

#include "xroce.h"

/* Packets with an error in them, and those there was no memory for. */
static u64 pma_rcv_errors(const struct xroce_link *link)
{
	static const u8 drops[] = {
		XROCE_CNT_MALFORMED, XROCE_CNT_DROP_OPTIONS, XROCE_CNT_DROP_SHORT,
		XROCE_CNT_DROP_OPCODE, XROCE_CNT_DROP_TVER, XROCE_CNT_DROP_LENGTH,
		XROCE_CNT_DROP_ICRC, XROCE_CNT_DROP_NO_MEM,
	};
	u64 sum = 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(drops); i++)
		sum += xroce_env_total(&link->dev, drops[i]);
	return sum;
}

/* Counters stop at their largest value (IBTA 16.1.3.5). */
static void pma_counters(const struct xroce_link *link, const u64 traffic[4],
			 struct ib_pma_portcounters *p)
{
	u32 i;

	p->port_rcv_errors = cpu_to_be16(min(pma_rcv_errors(link), U16_MAX));
	p->port_xmit_discards =
		cpu_to_be16(min(xroce_env_total(&link->dev, XROCE_CNT_TX_DROPPED), U16_MAX));
	p->port_rcv_constraint_errors =
		min(xroce_env_total(&link->dev, XROCE_CNT_DROP_PKEY), U8_MAX);
	for (i = 0; i < 4; i++)
		put_unaligned_be32(min(traffic[i], U32_MAX), &p->port_xmit_data + i);
}

/* Return: the status of the answer. */
static u16 pma_get(const struct xroce_link *link, struct ib_pma_mad *mad)
{
	struct ib_pma_portcounters_ext *ext = (void *)mad->data;
	struct ib_class_port_info *info = (void *)mad->data;
	__be16 attr = mad->mad_hdr.attr_id;
	u8 port = ext->port_select;
	/* In the order that both kinds of counters have; data in words of 4 bytes. */
	const u64 traffic[4] = {
		xroce_env_total(&link->dev, XROCE_CNT_TX_BYTES) / 4,
		xroce_env_total(&link->dev, XROCE_CNT_RX_BYTES) / 4,
		xroce_env_total(&link->dev, XROCE_CNT_TX_PKTS),
		xroce_env_total(&link->dev, XROCE_CNT_RX_PKTS),
	};
	u32 i;

	memset(mad->data, 0, sizeof(mad->data));
	if (attr == IB_PMA_CLASS_PORT_INFO) {
		info->base_version = 1;
		info->class_version = 1;
		info->capability_mask = IB_PMA_CLASS_CAP_ALLPORTSELECT |
					IB_PMA_CLASS_CAP_EXT_WIDTH_NOIETF;
		ib_set_cpi_resp_time(info, 18);		/* a second */
		return 0;
	}
	if (attr != IB_PMA_PORT_COUNTERS && attr != IB_PMA_PORT_COUNTERS_EXT)
		return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
	ext->port_select = port;
	if (port != 1 && port != 0xff)
		return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
	if (attr == IB_PMA_PORT_COUNTERS)
		pma_counters(link, traffic, (void *)mad->data);
	for (i = 0; i < 4 && attr == IB_PMA_PORT_COUNTERS_EXT; i++)
		put_unaligned_be64(traffic[i], &ext->port_xmit_data + i);
	return 0;
}

/* There is no Set: on an Ethernet anybody could send one. */
static int xroce_ib_process_mad(struct ib_device *ib, int flags, u32 port,
				const struct ib_wc *wc, const struct ib_grh *grh,
				const struct ib_mad *in, struct ib_mad *out,
				size_t *out_size, u16 *out_pkey_index)
{
	const struct ib_mad_hdr *hdr = &in->mad_hdr;
	u16 status;

	if (hdr->mgmt_class != IB_MGMT_CLASS_PERF_MGMT ||
	    (hdr->method != IB_MGMT_METHOD_GET && hdr->method != IB_MGMT_METHOD_SET))
		return IB_MAD_RESULT_SUCCESS;
	*out = *in;
	if (hdr->class_version != 1)
		status = IB_MGMT_MAD_STATUS_BAD_VERSION;
	else if (hdr->method != IB_MGMT_METHOD_GET)
		status = IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
	else
		status = pma_get(to_xlink(ib), (struct ib_pma_mad *)out);
	out->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	out->mad_hdr.status = cpu_to_be16(status);
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}

const struct ib_device_ops xroce_pma_ops = {
	.process_mad = xroce_ib_process_mad,
};
