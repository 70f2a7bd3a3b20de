/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What /dev/xroce_exporter does: one dmabuf for each time that it is opened. Included
 * by the module and by programs.
 */
#ifndef EXPORTER_H
#define EXPORTER_H

#include <linux/ioctl.h>

#define EXPORTER_SIZE	(16 << 12)

/* Make it. Argument: 1: pinned when asked, 0: by who is attached. Return: the file. */
#define EXPORTER_MAKE	_IO('x', 1)
/* Move it elsewhere: EBUSY while it is pinned. */
#define EXPORTER_MOVE	_IO('x', 2)
/* Return: what there is of it: 1 pins, 0x100 attachments, 0x10000 mappings, 0x1000000 accesses. */
#define EXPORTER_USERS	_IO('x', 3)
/* Argument: fail from now on: 1 to pin, 2 to attach, 4 to begin access, 8: is I/O memory. */
#define EXPORTER_FAIL	_IO('x', 4)

#endif /* EXPORTER_H */
