/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All differences between the kernels that the module builds for: 6.12 and 7.2.
 * Macros and inline functions only; the newer kernel's form is the one used.
 */
#ifndef XROCE_COMPAT_H
#define XROCE_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/version.h>
#include <net/udp_tunnel.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*fn)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = fn;
}
#endif

/* Before 6.14 crc32_le() uses no vector instructions; the shash "crc32" does. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
#define XROCE_CRC_SHASH
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 1, 0)
#define xroce_setup_udp_sock(net, sock, cfg) \
	setup_udp_tunnel_sock(net, sock, cfg)
#define xroce_release_udp_sock(sock)	udp_tunnel_sock_release(sock)
#else
#define xroce_setup_udp_sock(net, sock, cfg) \
	setup_udp_tunnel_sock(net, (sock)->sk, cfg)
#define xroce_release_udp_sock(sock)	udp_tunnel_sock_release((sock)->sk)
#endif

#endif /* XROCE_COMPAT_H */
