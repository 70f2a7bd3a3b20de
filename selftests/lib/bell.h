/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Which of a process's files are its contexts' doorbells: what lseek() rings.
 */
#ifndef XROCE_BELL_FDS_H
#define XROCE_BELL_FDS_H

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BELL_MAX	8

/* Their numbers. Return: how many there are, BELL_MAX at most */
static inline int bell_fds(int *fds)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *d;
	char to[64];
	ssize_t len;
	int n = 0;

	while (dir && n < BELL_MAX && (d = readdir(dir))) {
		len = readlinkat(dirfd(dir), d->d_name, to, sizeof(to) - 1);
		to[len > 0 ? len : 0] = 0;
		if (!strcmp(to, "anon_inode:[xroce]"))
			fds[n++] = atoi(d->d_name);
	}
	if (dir)
		closedir(dir);
	return n;
}

#endif /* XROCE_BELL_FDS_H */
