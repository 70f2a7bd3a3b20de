// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * uverbs commands of random contents. Handles, counts and sizes are small most
 * of the time, so that some commands do something; answers go to a place where
 * they do not matter.
 */
#include <rdma/ib_user_verbs.h>
#include <string.h>
#include <unistd.h>

#include "garble.h"

#define WORDS	64

void garble(int fd)
{
	static uint64_t response[512];
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		uint64_t response;
		uint32_t arg[WORDS];
	} cmd = {
		.hdr.command = rnd() % (one_in(8) ? 256 : 42),
		.hdr.out_words = one_in(8) ? rnd() : 256,
		.response = (uintptr_t)response,
	};
	size_t len = 16 + rnd() % WORDS * 4;
	uint32_t i;

	for (i = 0; i < WORDS; i++)
		cmd.arg[i] = one_in(16) ? rnd() : one_in(2) ? 0 : rnd() % 16;
	if (one_in(16))
		memcpy(&cmd.arg[0], &(uint64_t) { (uintptr_t)response }, 8);
	cmd.hdr.in_words = one_in(8) ? rnd() : len / 4;
	/* What it answers is as it may be; that it answers at all counts */
	if (write(fd, &cmd, len) < 0)
		return;
}
