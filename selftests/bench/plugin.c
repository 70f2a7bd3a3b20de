// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A QEMU plugin that counts the instructions of each translated block between
 * two marks that xroce_bench makes, and the bytes that they store. Owns the
 * counters; runs in QEMU's one vCPU thread (icount), so nothing locks.
 * scripts/profile builds and loads it:
 *
 *   -plugin plugin.so,out=PREFIX	writes PREFIX.0, PREFIX.1, ... as lines of
 *					ADDRESS INSTRUCTIONS CHECKING BYTES PLACED
 *
 * CHECKING: the instructions since a function was run that checks an ICRC, and none
 * that makes one: PREFIX.icrc, which the guest writes, has lines of START END WHICH
 * of these functions. PLACED: the bytes that went to memory of the messages
 * themselves, which xroce_bench marks, at both ends.
 *
 * No distribution ships qemu-plugin.h: what is used of it is declared here,
 * version 4 of that interface.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mark.h"

struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef uint64_t plugin_id;
typedef void (*exec_cb)(unsigned int cpu, void *data);

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id,
					   void (*cb)(plugin_id id,
						      struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, exec_cb cb,
					  int flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    exec_cb cb, int flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
				      void (*cb)(unsigned int cpu,
						 uint32_t info, uint64_t addr,
						 void *data),
				      int flags, int rw, void *data);
unsigned int qemu_plugin_mem_size_shift(uint32_t info);
bool qemu_plugin_mem_is_store(uint32_t info);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(uint32_t info, uint64_t addr);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *hw);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *
qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *dest,
			     size_t len);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

__attribute__((visibility("default"))) int qemu_plugin_version = 4;

struct block {
	struct block *next;
	uint64_t addr;
	uint64_t size;
	uint64_t runs;
	uint64_t checking;
	uint64_t stored;
	uint64_t placed;
	enum icrc { NEITHER, MAKES, CHECKS } icrc;
};

#define BUCKETS (1 << 18)
#define PAGES	(1 << 22)
#define WRITES	2

static struct block *buckets[BUCKETS];
static const char *prefix = "profile";
static unsigned int files;
static bool on, checking;
static bool messages[PAGES];	/* which pages of the guest's memory have them */
static struct icrc_function {
	uint64_t start;
	uint64_t end;
	enum icrc icrc;
} functions[8];

static enum icrc icrc(uint64_t addr)
{
	for (struct icrc_function *f = functions; f->end; f++)
		if (f->start <= addr && addr < f->end)
			return f->icrc;
	return NEITHER;
}

/* The last is never used: it ends the list. */
static void read_functions(void)
{
	struct icrc_function *f = functions;
	char name[4096], which[16];
	FILE *file;

	snprintf(name, sizeof(name), "%s.icrc", prefix);
	file = fopen(name, "r");
	while (file && f < functions + 7 &&
	       fscanf(file, "%lx %lx %15s", &f->start, &f->end, which) == 3)
		f++->icrc = strcmp(which, "checks") ? MAKES : CHECKS;
	if (file)
		fclose(file);
}

static struct block *block(uint64_t addr, uint64_t size)
{
	struct block **p = &buckets[(addr ^ addr >> 18) % BUCKETS], *b;

	for (; (b = *p); p = &b->next)
		if (b->addr == addr && b->size == size)
			return b;
	b = calloc(1, sizeof(*b));
	if (!b)
		abort();
	b->addr = addr;
	b->size = size;
	b->icrc = icrc(addr);
	return *p = b;
}

static void count(unsigned int cpu, void *data)
{
	struct block *b = data;

	(void)cpu;
	if (b->icrc)
		checking = b->icrc == CHECKS;
	b->runs += on;
	b->checking += on && checking;
}

static bool *page(uint32_t info, uint64_t addr)
{
	struct qemu_plugin_hwaddr *hw = qemu_plugin_get_hwaddr(info, addr);

	return &messages[hw ? qemu_plugin_hwaddr_phys_addr(hw) / 4096 % PAGES : 0];
}

static void marked(unsigned int cpu, uint32_t info, uint64_t addr, void *data)
{
	(void)cpu;
	(void)data;
	*page(info, addr) = true;
}

static void stored(unsigned int cpu, uint32_t info, uint64_t addr, void *data)
{
	unsigned int size = 1u << qemu_plugin_mem_size_shift(info);
	struct block *b = data;

	(void)cpu;
	if (!on || !qemu_plugin_mem_is_store(info))
		return;
	b->stored += size;
	if (*page(info, addr))
		b->placed += size;
}

static void begin(unsigned int cpu, void *data)
{
	(void)cpu;
	(void)data;
	read_functions();
	for (int i = 0; i < BUCKETS; i++)
		for (struct block *b = buckets[i]; b; b = b->next) {
			b->runs = 0;
			b->checking = 0;
			b->stored = 0;
			b->placed = 0;
			b->icrc = icrc(b->addr);
		}
	on = true;
}

static void end(unsigned int cpu, void *data)
{
	char name[4096];
	FILE *f;

	(void)cpu;
	(void)data;
	if (!on)
		return;
	on = false;
	memset(messages, 0, sizeof(messages));
	snprintf(name, sizeof(name), "%s.%u", prefix, files++);
	f = fopen(name, "w");
	if (!f) {
		perror(name);
		exit(1);
	}
	for (int i = 0; i < BUCKETS; i++)
		for (struct block *b = buckets[i]; b; b = b->next)
			if (b->runs)
				fprintf(f, "%lx %lu %lu %lu %lu\n", b->addr,
					b->runs * b->size,
					b->checking * b->size, b->stored,
					b->placed);
	if (fclose(f)) {
		perror(name);
		exit(1);
	}
}

static void translated(plugin_id id, struct qemu_plugin_tb *tb)
{
	static const uint8_t mark[] = { MARK_BYTES }, marks_page[] = { PAGE_BYTES };
	size_t n = qemu_plugin_tb_n_insns(tb);
	struct block *b = block(qemu_plugin_tb_vaddr(tb), n);

	(void)id;
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint8_t p[sizeof(mark) + 1];
		bool whole = qemu_plugin_insn_size(insn) == sizeof(p) &&
			qemu_plugin_insn_data(insn, p, sizeof(p)) == sizeof(p);

		qemu_plugin_register_vcpu_mem_cb
			(insn, whole && !memcmp(p, marks_page, sizeof(p)) ?
			 marked : stored, 0, WRITES, b);
		if (whole && !memcmp(p, mark, sizeof(mark)))
			qemu_plugin_register_vcpu_insn_exec_cb
				(insn, p[sizeof(mark)] == MARK_BEGIN ? begin :
				 end, 0, NULL);
	}
	qemu_plugin_register_vcpu_tb_exec_cb(tb, count, 0, b);
}

__attribute__((visibility("default")))
int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
	(void)info;
	for (int i = 0; i < argc; i++)
		if (!strncmp(argv[i], "out=", 4))
			prefix = strdup(argv[i] + 4);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
