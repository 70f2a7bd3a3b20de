// SPDX-License-Identifier: GPL-2.0
/*
 * Owns what a test guest does about QEMU's breakpoints that are no more. The kernel
 * patches its code under a breakpoint and then puts the new byte there; a vCPU that
 * translates the code between QEMU's look for such translations and the write itself
 * keeps one of the breakpoint (TCG, 10.0), and dies of it: one flip of a static key in
 * thousands. Runs in exceptions, as in NMIs; all it has is a CPU's own.
 */
#include <asm/debugreg.h>
#include <linux/irq_work.h>
#include <linux/kdebug.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#define INT3	0xcc

struct stale {
	struct irq_work irq;
	struct work_struct work;
	unsigned long at;
	unsigned long flags;
	bool stepping;
};

static DEFINE_PER_CPU(struct stale, stale);

/* Writes the byte that is there: QEMU forgets what it has translated of it. */
static void forget(struct work_struct *work)
{
	struct stale *s = container_of(work, struct stale, work);
	unsigned long at = READ_ONCE(s->at);
	struct page *page;
	void *map;
	u8 *byte, is;

	page = is_vmalloc_or_module_addr((void *)at) ? vmalloc_to_page((void *)at) :
						       pfn_to_page(PHYS_PFN(__pa_symbol(at)));
	map = page ? vmap(&page, 1, VM_MAP, PAGE_KERNEL) : NULL;
	if (!map)
		return;
	byte = map + offset_in_page(at);
	is = READ_ONCE(*byte);
	cmpxchg(byte, is, is);
	vunmap(map);
	pr_info("xroce_int3: %pS\n", (void *)at);
}

static void forget_soon(struct irq_work *irq)
{
	schedule_work(&container_of(irq, struct stale, irq)->work);
}

/* One step of what is there now, which is translated for itself. */
static notrace int int3(struct pt_regs *regs)
{
	unsigned long at = regs->ip - 1;
	struct stale *s = this_cpu_ptr(&stale);
	u8 byte;

	if (user_mode(regs) || s->stepping || copy_from_kernel_nofault(&byte, (u8 *)at, 1) ||
	    byte == INT3)
		return NOTIFY_DONE;
	s->stepping = true;
	s->flags = regs->flags;
	WRITE_ONCE(s->at, at);
	regs->ip = at;
	regs->flags |= X86_EFLAGS_TF;
	regs->flags &= ~X86_EFLAGS_IF;
	return NOTIFY_STOP;
}

static notrace int stepped(struct pt_regs *regs, unsigned long *dr6)
{
	const unsigned long mine = X86_EFLAGS_TF | X86_EFLAGS_IF;
	struct stale *s = this_cpu_ptr(&stale);

	if (!s->stepping || user_mode(regs) || !(*dr6 & DR_STEP))
		return NOTIFY_DONE;
	s->stepping = false;
	*dr6 &= ~DR_STEP;
	regs->flags = (regs->flags & ~mine) | (s->flags & mine);
	irq_work_queue(&s->irq);
	return *dr6 ? NOTIFY_DONE : NOTIFY_STOP;
}

static notrace int died(struct notifier_block *nb, unsigned long why, void *data)
{
	struct die_args *args = data;

	switch (why) {
	case DIE_INT3:
		return int3(args->regs);
	case DIE_DEBUG:
		return stepped(args->regs, (unsigned long *)args->err);
	default:
		return NOTIFY_DONE;
	}
}

static struct notifier_block notifier = {
	.notifier_call = died,
};

static int __init xroce_int3_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct stale *s = per_cpu_ptr(&stale, cpu);

		init_irq_work(&s->irq, forget_soon);
		INIT_WORK(&s->work, forget);
	}
	return register_die_notifier(&notifier);
}

/* It stays as long as the guest. */
module_init(xroce_int3_init);

MODULE_DESCRIPTION("What a guest does about stale breakpoints of QEMU");
MODULE_LICENSE("GPL");
