/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the program that watches QPs tells rdmatool. Owns no state.
 */
#ifndef XROCE_MONITOR_H
#define XROCE_MONITOR_H

#include <xroce/base.h>

enum xroce_event_kind {
	XROCE_EVENT_RETRY,
	XROCE_EVENT_ERROR,
};

/**
 * struct xroce_qp_event - something happened to a QP
 * @kind: &enum xroce_event_kind
 * @dev: index of the RDMA device
 * @qpn, @dqpn: the QP, and its peer's
 * @psn: a retry's: where it goes on
 * @next: a retry's: where it was
 * @why: a retry's: &enum xroce_counter
 * @status: an error's: of a work request, &enum xroce_wc_status, or 0
 * @nak: an error's: the NAK to the peer, or 0
 * @name: of the device
 */
struct xroce_qp_event {
	u64 ns;
	u32 kind;
	u32 dev;
	u32 qpn;
	u32 dqpn;
	u32 psn;
	u32 next;
	u32 why;
	u8 status;
	u8 nak;
	u8 retries;
	u8 rnr_retries;
	char name[64];
};

#endif /* XROCE_MONITOR_H */
