/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What /dev/xroce_exporter does: one dmabuf for each time that it is opened. Included
 * by the module and by programs.
 */
#ifndef EXPORTER_H
#define EXPORTER_H

#include <linux/ioctl.h>

#define EXPORTER	"xroce_exporter"
#define EXPORTER_SIZE	(16 << 12)

/* Make it. Argument: 1: pinned when asked, 0: by who is attached. Return: the file. */
#define EXPORTER_MAKE	_IO('x', 1)
/* Move it elsewhere: EBUSY while it is pinned. */
#define EXPORTER_MOVE	_IO('x', 2)
/* Return: what there is of it, each as often as its unit is in it. */
#define EXPORTER_USERS	_IO('x', 3)
#define EXPORTER_PIN	1
#define EXPORTER_ATTACH	0x100
#define EXPORTER_MAP	0x10000
#define EXPORTER_ACCESS	0x1000000
/* Argument: what fails from now on, of these; or it is I/O memory. */
#define EXPORTER_FAIL	_IO('x', 4)
#define EXPORTER_NO_PIN		1
#define EXPORTER_NO_ATTACH	2
#define EXPORTER_NO_ACCESS	4
#define EXPORTER_IOMEM		8

#endif /* EXPORTER_H */
