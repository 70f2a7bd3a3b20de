/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Which host a process is on: one of the tests' network namespaces, by name. */
#ifndef XROCE_TEST_NETNS_H
#define XROCE_TEST_NETNS_H

#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

/* As `ip netns exec` does: sysfs shows the namespace it was mounted in. */
static inline void netns_enter(const char *ns)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", ns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET) || unshare(CLONE_NEWNS) ||
	    mount("", "/", "none", MS_SLAVE | MS_REC, NULL) ||
	    umount2("/sys", MNT_DETACH) ||
	    mount(ns, "/sys", "sysfs", 0, NULL))
		err(1, "namespace %s", ns);
	close(fd);
}

#endif
