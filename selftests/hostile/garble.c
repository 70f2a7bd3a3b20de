// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Calls of a uverbs file with random contents: commands by write(), of the old kind
 * and of the extended one, and ioctl() with any attributes, of whatever object and
 * method. Handles, counts and sizes are small most of the time, so that some do
 * something; answers go to a place where they do not matter. What is called follows
 * from the seed alone. Single-threaded.
 */
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <rdma/xroce-abi.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "garble.h"

#define WORDS		64
#define ATTRS		12
#define EXTENDED	0x80000000u
#define OF_DRIVER	0x1000		/* attributes, objects and methods of its own */

/* As long as an attribute can say, for what is cleared behind an answer too */
static uint8_t answers[2 * 65536];
static uint32_t in[WORDS];
static uint64_t state = 1;

void garble_seed(uint64_t seed)
{
	state = seed ?: 1;
}

static uint32_t any(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1dull >> 32;
}

static bool rare(uint32_t n)
{
	return any() % n == 0;
}

static uint64_t answer(void)
{
	return (uintptr_t)answers + any() % 8192 * 8;
}

static uint32_t any_word(void)
{
	return rare(16) ? any() : rare(2) ? 0 : any() % 16;
}

/* Mostly nothing behind the first few: what is longer than is known has to be 0. */
static void any_words(uint32_t *p, uint32_t n)
{
	uint32_t most = rare(4) ? n : any() % 16, i;

	for (i = 0; i < n; i++)
		p[i] = i < most ? any_word() : 0;
}

static bool by_write(int fd)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		uint64_t response;
		uint32_t arg[WORDS];
	} cmd = {
		.hdr.command = any() % (rare(8) ? 256 : 42),
		.hdr.out_words = rare(8) ? any() : 256,
		.response = answer(),
	};
	size_t len = 16 + any() % WORDS * 4;

	any_words(cmd.arg, WORDS);
	if (rare(16))
		memcpy(&cmd.arg[0], &(uint64_t) { answer() }, 8);
	cmd.hdr.in_words = rare(8) ? any() : len / 4;
	if (rare(16))
		len = any() % sizeof(cmd);
	return write(fd, &cmd, len) > 0;
}

/* Lengths are in eight bytes there, and do not count the headers. */
static bool by_extended_write(int fd)
{
	static const uint8_t known[] = {
		IB_USER_VERBS_EX_CMD_QUERY_DEVICE, IB_USER_VERBS_EX_CMD_CREATE_CQ,
		IB_USER_VERBS_EX_CMD_CREATE_QP, IB_USER_VERBS_EX_CMD_MODIFY_QP,
		IB_USER_VERBS_EX_CMD_CREATE_FLOW, IB_USER_VERBS_EX_CMD_MODIFY_CQ,
	};
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_ex_cmd_hdr ex;
		uint32_t arg[WORDS];
	} cmd = {
		.hdr.command = EXTENDED | (rare(8) ? any() % 256 : known[any() % 6]),
		.hdr.out_words = rare(8) ? any() : 64,
		.ex.response = rare(8) ? any_word() : answer(),
	};
	uint32_t core = any() % (WORDS / 4), driver = rare(4) ? any() % (WORDS / 4) : 0;
	size_t len = sizeof(cmd.hdr) + sizeof(cmd.ex) + (core + driver) * 8;

	any_words(cmd.arg, WORDS);
	cmd.hdr.in_words = rare(8) ? any() : core;
	cmd.ex.provider_in_words = rare(8) ? any() : driver;
	cmd.ex.provider_out_words = rare(4) ? any() % 8 : 0;
	if (rare(16))
		cmd.ex.cmd_hdr_reserved = any_word();
	if (rare(16))
		cmd.hdr.command |= any();
	return write(fd, &cmd, len) > 0;
}

/* Half of all ioctls are right in form. */
static bool sound;

static bool wrong_in(uint32_t n)
{
	return !sound && rare(n);
}

static struct ib_uverbs_attr any_attr(uint32_t id)
{
	static const uint16_t lens[] = { 0, 0, 0, 4, 8, 16 };
	struct ib_uverbs_attr attr = {
		.attr_id = id,
		.len = wrong_in(4) ? any() : rare(8) ? any() % 64 : lens[any() % 6],
		.flags = rare(4) ? UVERBS_ATTR_F_MANDATORY : wrong_in(4) ? any() : 0,
		.data = rare(2) ? any() % 24 : any_word(),
	};

	if (wrong_in(8))
		attr.attr_data.reserved = any_word();
	if (attr.len && rare(2))
		attr.data = rare(2) ? (uintptr_t)in : answer();
	if (wrong_in(32))
		attr.data = (uint64_t)any() << 32 | any();
	return attr;
}

static uint32_t any_id(uint32_t most)
{
	return wrong_in(8) ? any() : (rare(8) ? OF_DRIVER : 0) | any() % most;
}

/* A command of write()'s; what is longer than is known has to be 0. */
static uint32_t invoke(struct ib_uverbs_ioctl_hdr *hdr, struct ib_uverbs_attr *attr)
{
	hdr->object_id = UVERBS_OBJECT_DEVICE;
	hdr->method_id = UVERBS_METHOD_INVOKE_WRITE;
	attr[0] = (struct ib_uverbs_attr) {
		.attr_id = UVERBS_ATTR_CORE_IN,
		.len = wrong_in(4) ? any() % sizeof(in) : 8 * (1 + any() % 4),
		.data = (uintptr_t)in,
	};
	attr[1] = (struct ib_uverbs_attr) {
		.attr_id = UVERBS_ATTR_CORE_OUT,
		.len = wrong_in(4) ? any() % 256 : 256,
		.data = answer(),
	};
	attr[2] = (struct ib_uverbs_attr) {
		.attr_id = UVERBS_ATTR_WRITE_CMD,
		.len = 8,
		.data = any() % (rare(4) ? 64 : 42),
	};
	/* Data that is as short as this is there, and not where it points to */
	if (attr[0].len <= 8)
		memcpy(&attr[0].data, in, 8);
	return 3;
}

/* The first attributes there are, mostly; and a driver's of a command. */
static bool by_ioctl(int fd)
{
	static uint64_t room[(sizeof(struct ib_uverbs_ioctl_hdr) +
			      ATTRS * sizeof(struct ib_uverbs_attr)) / 8];
	struct ib_uverbs_ioctl_hdr *hdr = (void *)room;
	bool ordered = !rare(4);
	uint32_t n = any() % (ATTRS - 2), i;

	sound = rare(2);
	hdr->object_id = any_id(20);
	hdr->method_id = any_id(6);
	hdr->driver_id = wrong_in(8) ? any() : XROCE_DRIVER_ID;
	hdr->reserved1 = wrong_in(16) ? any() : 0;
	hdr->reserved2 = wrong_in(16) ? any() : 0;
	any_words(in, WORDS);
	if (rare(2))
		n = invoke(hdr, hdr->attrs);
	else
		for (i = 0; i < n; i++)
			hdr->attrs[i] = any_attr(ordered ? i : any_id(16));
	if (rare(4)) {
		hdr->attrs[n++] = any_attr(UVERBS_ATTR_UHW_IN);
		hdr->attrs[n++] = any_attr(UVERBS_ATTR_UHW_OUT);
	}
	hdr->num_attrs = wrong_in(8) ? any() : n;
	hdr->length = wrong_in(8) ? any() : sizeof(*hdr) + n * sizeof(hdr->attrs[0]);
	return !ioctl(fd, wrong_in(16) ? any() : RDMA_VERBS_IOCTL, hdr);
}

enum garbled garble(int fd)
{
	switch (any() % 3) {
	case 0:
		return by_write(fd) ? GARBLED_WRITE : GARBLED_NOT;
	case 1:
		return by_extended_write(fd) ? GARBLED_EXTENDED : GARBLED_NOT;
	default:
		return by_ioctl(fd) ? GARBLED_IOCTL : GARBLED_NOT;
	}
}
