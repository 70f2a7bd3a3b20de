/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One thread stands for all CPUs. Included by kmod/pass.c, see native.c.
 */
#ifndef SIM_PERCPU_H
#define SIM_PERCPU_H

#define DEFINE_PER_CPU(type, name)	__typeof__(type) name
#define this_cpu_ptr(p)			(p)
#define smp_processor_id()		0

#endif /* SIM_PERCPU_H */
