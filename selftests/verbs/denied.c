// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * denied PROGRAM ARGUMENTS... - runs a program that may not have netlink's RDMA sockets, as
 * services under SELinux or with RestrictAddressFamilies= of systemd's.
 */
#include <err.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The lower half of an argument, on machines that have it first */
#define ARG(n)	offsetof(struct seccomp_data, args[n])
#define LOAD(at)	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at)
#define UNLESS(k, skip)	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, k, 0, skip)
#define RETURN(what)	BPF_STMT(BPF_RET | BPF_K, what)

int main(int argc, char **argv)
{
	struct sock_filter filter[] = {
		LOAD(offsetof(struct seccomp_data, nr)),
		UNLESS(__NR_socket, 5),
		LOAD(ARG(0)),
		UNLESS(AF_NETLINK, 3),
		LOAD(ARG(2)),
		UNLESS(NETLINK_RDMA, 1),
		RETURN(SECCOMP_RET_ERRNO | EACCES),
		RETURN(SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(filter) / sizeof(filter[0]), filter };

	if (argc < 2)
		errx(2, "usage: denied PROGRAM ARGUMENTS...");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		err(1, "seccomp");
	if (socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA) >= 0 || errno != EACCES)
		errx(1, "a socket is to be had");
	execvp(argv[1], argv + 1);
	err(1, "%s", argv[1]);
}
