/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * For the transport core outside of the kernel: nobody looks through the module's
 * tracepoints there.
 */
#ifndef NOTRACE_H
#define NOTRACE_H

#define trace_xroce_post(...)		do { } while (0)
#define trace_xroce_receive(...)	do { } while (0)
#define trace_xroce_completion(...)	do { } while (0)
#define trace_xroce_retry(...)		do { } while (0)
#define trace_xroce_error(...)		do { } while (0)

/* And what the kernel's compiler would be told. */
#define __flatten
#define __percpu
#define noinline	__attribute__((__noinline__))

#endif /* NOTRACE_H */
