// SPDX-License-Identifier: GPL-2.0
/*
 * A policy that looks behind the hot block: the verifier refuses it. For xdp.sh.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <xroce/hot.h>

static __always_inline bool policy(const struct xroce_hot *hot)
{
	return *((const volatile u32 *)(hot + 1) + 100);
}

#define XROCE_POLICY policy
#include "xroce.bpf.c"
