// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The XDP program of a link: loaded, attached and given to the module, which
 * alone keeps it. Its counters are pinned below /sys/fs/bpf/xroce for people to read;
 * the program is not, since a pin would hold it, and it the module, after its link
 * is deleted. Owns the reason of the last failure.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rdmatool.h"

static char why[512];

const char *xdp_why(void)
{
	return why;
}

static __printf(1, 2) bool no(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	return false;
}

#ifdef HAVE_BPF

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <xroce/xdp.h>

#include "xroce.skel.h"

#define BPFFS		"/sys/fs/bpf"
#define INIT_ROOT	"/proc/1/root"
#define CPU_QUEUE	2048	/* packets that may wait for a CPU */
#define MAX_PROG_MAPS	128	/* twice what a program may name; the rest is bound to it */
#define POLICY_MAP	"xroce_policy"	/* where a policy's program is from */

static char log_line[256];

/* The verifier and libbpf explain themselves here: the last line is kept. */
static int on_log(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	if (options.details && level != LIBBPF_DEBUG) {
		va_list copy;

		va_copy(copy, ap);
		vfprintf(stderr, fmt, copy);
		va_end(copy);
	}
	if (level == LIBBPF_WARN) {
		vsnprintf(log_line, sizeof(log_line), fmt, ap);
		log_line[strcspn(log_line, "\n")] = 0;
	}
	return 0;
}

/**
 * bpf_log_start() - keep what libbpf says of the next program
 */
void bpf_log_start(void)
{
	log_line[0] = 0;
	libbpf_set_print(on_log);
}

/**
 * bpf_log() - the last line that libbpf said
 */
const char *bpf_log(void)
{
	return log_line;
}

static bool is_bpffs(const char *path)
{
	struct statfs fs;

	return !statfs(path, &fs) && fs.f_type == BPF_FS_MAGIC;
}

/*
 * Where people look, also when we run under "ip netns exec": that has a /sys of
 * its own, which ends with us, and with it all that is mounted there.
 */
static const char *pin_root(void)
{
	return is_bpffs(INIT_ROOT BPFFS) ? INIT_ROOT BPFFS "/xroce" :
					   BPFFS "/xroce";
}

/*
 * Links of two network namespaces may have one name. A name in bpffs may not have
 * a dot: that becomes %2e, and what others could be taken for it is written so too.
 */
static void pin_dir(char *path, size_t size, const char *name)
{
	size_t n = snprintf(path, size, "%s/", pin_root());
	struct stat net = {};

	for (; *name && n < size; name++)
		n += snprintf(path + n, size - n,
			      strchr(".%/", *name) ? "%%%02x" : "%c", *name);
	stat("/proc/self/ns/net", &net);
	if (n < size)
		snprintf(path + n, size - n, "@%lu", (unsigned long)net.st_ino);
}

/**
 * xdp_pinned() - where the maps of a link are pinned, NULL when they are not
 */
const char *xdp_pinned(const char *name)
{
	static char dir[256];

	pin_dir(dir, sizeof(dir), name);
	if (access(dir, F_OK))
		return NULL;
	return strncmp(dir, INIT_ROOT, strlen(INIT_ROOT)) ?
	       dir : dir + strlen(INIT_ROOT);
}

/* Not xroce_cpus, which holds a program. */
#define PINNED		"xroce_stats"

/**
 * xdp_unpin() - remove what xdp_attach() pinned for a link of that name
 */
void xdp_unpin(const char *name)
{
	char dir[256], path[300];

	pin_dir(dir, sizeof(dir), name);
	snprintf(path, sizeof(path), "%s/" PINNED, dir);
	unlink(path);
	rmdir(dir);
	rmdir(pin_root());
}

/**
 * xdp_repin() - a link has another name
 */
void xdp_repin(const char *name, const char *new_name)
{
	char from[256], to[256];

	xdp_unpin(new_name);
	pin_dir(from, sizeof(from), name);
	pin_dir(to, sizeof(to), new_name);
	mkdir(pin_root(), 0700);
	rename(from, to);
	rmdir(pin_root());
}

/* Pins are for people; a link works without. */
static void pin_maps(struct xroce_bpf *bpf, const char *name)
{
	const char *root = pin_root();
	char dir[256], path[300];

	if (!is_bpffs(BPFFS) && !strncmp(root, BPFFS, strlen(BPFFS)) &&
	    mount("bpf", BPFFS, "bpf", 0, NULL))
		goto fail;
	xdp_unpin(name);
	pin_dir(dir, sizeof(dir), name);
	mkdir(root, 0700);
	if (mkdir(dir, 0700))
		goto fail;
	snprintf(path, sizeof(path), "%s/" PINNED, dir);
	if (!bpf_obj_pin(bpf_map__fd(bpf->maps.xroce_stats), path))
		return;
fail:
	warn("link %s: cannot pin the XDP program's maps below %s: %s", name,
	     root, strerror(errno));
}

/* Calls fn for each CPU of a list as "0-3,8"; false when it is none. */
static bool each_cpu(const char *list, bool (*fn)(u32 cpu, void *arg),
		     void *arg)
{
	const char *wrong = cpus_wrong(list);
	unsigned long a, b;

	if (wrong)
		return no("%s", wrong);
	while (cpus_next(&list, &a, &b)) {
		if (b >= (unsigned long)libbpf_num_possible_cpus())
			return no("CPU %lu is not of this machine's %d", b,
				  libbpf_num_possible_cpus());
		for (; a <= b; a++)
			if (!fn(a, arg))
				return false;
	}
	return true;
}

/* Where packets may be sent to, and the program that takes them there. */
struct cpus {
	int map;
	int prog;
	bool failed;
};

static bool add_cpu(u32 cpu, void *arg)
{
	const struct cpus *cpus = arg;
	struct bpf_cpumap_val val = {
		.qsize = CPU_QUEUE, .bpf_prog.fd = cpus->prog,
	};

	if (bpf_map_update_elem(cpus->map, &cpu, &val, 0))
		return no("CPU %u: %s", cpu, strerror(errno));
	return true;
}

/* There already it has the right program, and packets on their way. */
static bool add_new_cpu(u32 cpu, void *arg)
{
	const struct cpus *cpus = arg;
	struct bpf_cpumap_val val = {};

	return (!bpf_map_lookup_elem(cpus->map, &cpu, &val) && val.qsize) ||
	       add_cpu(cpu, arg);
}

static void add_qp_cpu(struct nlattr **tb, void *arg)
{
	struct cpus *cpus = arg;

	if (tb[XROCE_A_QP_STEER_CPU] &&
	    !add_new_cpu(nla_get_u32(tb[XROCE_A_QP_STEER_CPU]), cpus))
		cpus->failed = true;
}

/* Those of QPs that are steered by themselves, whatever their link says. */
static bool add_qp_cpus(const struct xlink *xl, struct cpus *cpus)
{
	struct nl_msg *msg = xroce_msg(XROCE_CMD_QP_GET, NLM_F_DUMP);
	int err;

	put_str(msg, XROCE_A_QP_DEV_NAME, xl->name);
	err = xroce_talk(msg, XROCE_A_QP_MAX, add_qp_cpu, cpus);
	return err ? no("its QPs: %s", nl_why(err)) : !cpus->failed;
}

/* The program of those that were ever sent to, to be closed; or -1. */
static int cpus_program(const struct cpus *cpus)
{
	struct bpf_cpumap_val val;
	u32 cpu;

	for (cpu = 0; cpu < (u32)libbpf_num_possible_cpus(); cpu++) {
		memset(&val, 0, sizeof(val));
		if (!bpf_map_lookup_elem(cpus->map, &cpu, &val) && val.qsize)
			return bpf_prog_get_fd_by_id(val.bpf_prog.id);
	}
	return -1;
}

/* Those that were ever sent to have another program from now on. */
static bool renew_cpus(const struct cpus *cpus)
{
	struct bpf_cpumap_val val;
	u32 cpu;

	for (cpu = 0; cpu < (u32)libbpf_num_possible_cpus(); cpu++) {
		memset(&val, 0, sizeof(val));
		if (!bpf_map_lookup_elem(cpus->map, &cpu, &val) && val.qsize &&
		    !add_cpu(cpu, (void *)cpus))
			return false;
	}
	return true;
}

static struct xroce_bpf *open_program(void)
{
	struct xroce_bpf *bpf;

	bpf_log_start();
	/* Without the module's types its kfuncs stay unknown to the program. */
	if (access("/sys/kernel/btf/xroce", F_OK)) {
		no("the module has no BTF (/sys/kernel/btf/xroce)");
		return NULL;
	}
	bpf = xroce_bpf__open();
	if (!bpf)
		no("cannot open the program: %s", strerror(errno));
	return bpf;
}

static struct xroce_bpf *load_program(void)
{
	struct xroce_bpf *bpf = open_program();
	int err;

	if (!bpf)
		return NULL;
	err = bpf_map__set_max_entries(bpf->maps.xroce_cpus,
				       libbpf_num_possible_cpus());
	if (!err)
		err = xroce_bpf__load(bpf);
	if (!err)
		return bpf;
	no("cannot load the program: %s%s%s%s", strerror(-err),
	   *log_line ? " (" : "", log_line, *log_line ? ")" : "");
	xroce_bpf__destroy(bpf);
	return NULL;
}

/*
 * What the driver has to say to it, which the kernel answers to who attaches by netlink
 * alone: as of an MTU, or offloads, beside which it has no native XDP.
 *
 * Return: "" when it said nothing.
 */
static const char *driver_said(const struct xlink *xl, int prog, u32 flags)
{
	static const char before[] = "Kernel error message: ";
	struct bpf_xdp_attach_opts opts = { .sz = sizeof(opts), .old_prog_fd = prog };
	const char *said;

	bpf_log_start();
	/* This time it may be taken, and what was refused is not to stay. */
	if (!bpf_xdp_attach(xl->ifindex, prog, flags | XDP_FLAGS_UPDATE_IF_NOEXIST, NULL))
		bpf_xdp_detach(xl->ifindex, flags, &opts);
	said = strstr(log_line, before);
	return said ? said + strlen(before) : "";
}

static bool attach_why(const struct xlink *xl, int err, int prog, u32 flags)
{
	const char *said;
	bool has;

	/* EEXIST: in the other mode */
	if (err == EBUSY || err == EEXIST)
		return no("%s has another XDP program", xl->ifname);
	said = driver_said(xl, prog, flags);
	/* the kernel's own words, for a driver that has none at all */
	if (err == EOPNOTSUPP && (strstr(said, "does not support XDP in native mode") ||
				  (!*said && netdev_native_xdp(xl->ifindex, &has) && !has)))
		return no("the driver of %s has no native XDP", xl->ifname);
	if (!*said && err != EOPNOTSUPP && err != EINVAL && err != ERANGE && err != E2BIG)
		return no("cannot attach to %s: %s", xl->ifname, strerror(err));
	return no("the driver of %s refuses it as it is set up now: %s", xl->ifname,
		  *said ? said : strerror(err));
}

static bool hand_over(const struct xlink *xl, int link_fd)
{
	struct nl_msg *msg = xroce_msg(XROCE_CMD_LINK_SET, 0);
	int err;

	put_str(msg, XROCE_A_LINK_DEV_NAME, xl->name);
	put_u32(msg, XROCE_A_LINK_XDP_FD, link_fd);
	err = xroce_talk(msg, XROCE_A_LINK_MAX, NULL, NULL);
	return !err || no("%s", nl_why(err));
}

/* By xdp_load(); until we end, or it is attached, nothing else holds it. */
static struct xroce_bpf *loaded;

/**
 * xdp_load() - make ready what xdp_attach() attaches to that link, in any mode
 */
bool xdp_load(const struct xlink *xl)
{
	struct cpus cpus = {};

	xroce_bpf__destroy(loaded);
	loaded = load_program();
	if (!loaded)
		return false;
	cpus.map = bpf_map__fd(loaded->maps.xroce_cpus);
	cpus.prog = bpf_program__fd(loaded->progs.xroce_there);
	return (!*xl->steer || each_cpu(xl->steer, add_cpu, &cpus)) &&
	       add_qp_cpus(xl, &cpus);
}

/**
 * xdp_attach() - attach what was loaded to a link that has no program
 */
bool xdp_attach(const struct xlink *xl, enum xroce_xdp_mode mode)
{
	struct bpf_link_create_opts opts = { .sz = sizeof(opts) };
	int prog = bpf_program__fd(loaded->progs.xroce), link;
	bool ok;

	opts.flags = mode == XROCE_XDP_MODE_NATIVE ? XDP_FLAGS_DRV_MODE :
						     XDP_FLAGS_SKB_MODE;
	link = bpf_link_create(prog, xl->ifindex, BPF_XDP, &opts);
	if (link < 0)
		return attach_why(xl, errno, prog, opts.flags);
	ok = hand_over(xl, link);
	close(link);
	if (ok)
		pin_maps(loaded, xl->name);
	return ok;
}

/*
 * A map of the attached program by name, of which the kernel has kept the beginning.
 *
 * Return: a file descriptor, or -1 with errno, ENOENT when it has none of that name,
 * or with another when that cannot be told.
 */
static int find_map(const struct xlink *xl, const char *name)
{
	struct bpf_prog_info prog = {};
	struct bpf_map_info map;
	u32 ids[MAX_PROG_MAPS], len = sizeof(prog), i;
	int fd = bpf_prog_get_fd_by_id(xl->prog_id), err;

	if (fd < 0)
		goto fail;
	prog.map_ids = (uintptr_t)ids;
	prog.nr_map_ids = ARRAY_SIZE(ids);
	err = bpf_obj_get_info_by_fd(fd, &prog, &len);
	close(fd);
	if (err)
		goto fail;
	for (i = 0; i < prog.nr_map_ids && i < ARRAY_SIZE(ids); i++) {
		fd = bpf_map_get_fd_by_id(ids[i]);
		if (fd < 0)
			goto fail;
		memset(&map, 0, sizeof(map));
		len = sizeof(map);
		err = bpf_obj_get_info_by_fd(fd, &map, &len);
		if (!err && !strncmp(map.name, name, sizeof(map.name) - 1))
			return fd;
		close(fd);
		if (err)
			goto fail;
	}
	no("the attached program %u has no map %s", xl->prog_id, name);
	errno = ENOENT;
	return -1;
fail:
	err = errno;
	no("cannot look into program %u: %s", xl->prog_id, strerror(err));
	/* One that is gone itself says nothing of its maps. */
	errno = err == ENOENT ? ESTALE : err;
	return -1;
}

/**
 * xdp_policy_file() - the policy that serves a link, "" when it is our own program
 *
 * The attached program says it itself, by a map of that name: it is no other's after
 * a link was renamed, and none is left when the program goes.
 *
 * Return: NULL with a reason in xdp_why() when it cannot be told, as by a user.
 */
const char *xdp_policy_file(const struct xlink *xl)
{
	static char file[POLICY_MAX];
	struct bpf_map_info map = {};
	u32 key = 0, len = sizeof(map);
	int fd, err;

	file[0] = 0;
	if (xl->xdp_mode == XROCE_XDP_MODE_OFF)
		return file;
	fd = find_map(xl, POLICY_MAP);
	if (fd < 0)
		return errno == ENOENT ? file : NULL;
	err = bpf_obj_get_info_by_fd(fd, &map, &len);
	/* A policy may have a map of that name itself. */
	if (!err && map.value_size != sizeof(file))
		err = -EINVAL;
	if (!err)
		err = bpf_map_lookup_elem(fd, &key, file);
	close(fd);
	file[sizeof(file) - 1] = 0;
	if (!err)
		return file;
	no("cannot read the name of its policy: %s", strerror(-err));
	return NULL;
}

/* A file that nobody but root and us may have written to. */
static bool is_ours(int fd, const char *file)
{
	struct stat st;

	if (fstat(fd, &st))
		return no("%s: %s", file, strerror(errno));
	if ((st.st_uid && st.st_uid != geteuid()) || st.st_mode & 0022)
		return no("%s: a file that others may write to, as they may have since "
			  "it was set: expected one of root's, or the policy to be set anew", file);
	return true;
}

/*
 * A policy's object, or our own program's; see close_object(). @again: the attached
 * program has named the file, not who gave the command.
 */
static struct bpf_object *open_object(const char *file, bool again, struct xroce_bpf **own)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	struct bpf_object *obj = NULL;
	char path[32], name[POLICY_MAX], *real;
	int fd;

	*own = NULL;
	bpf_log_start();
	if (!file) {
		*own = open_program();
		return *own ? (*own)->obj : NULL;
	}
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		no("%s", strerror(errno));
		return NULL;
	}
	if (!again || is_ours(fd, file)) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		/* As of the name that is kept, whatever link leads to it: for those of its maps */
		real = realpath(file, NULL);
		snprintf(name, sizeof(name), "%s", basename(real ?: file));
		free(real);
		name[strcspn(name, ".")] = 0;
		opts.object_name = name;
		obj = bpf_object__open_file(path, &opts);
		if (!obj)
			no("%s", *log_line ? log_line : strerror(errno));
	}
	close(fd);
	return obj;
}

static void close_object(struct bpf_object *obj, struct xroce_bpf *own)
{
	if (own)
		xroce_bpf__destroy(own);
	else
		bpf_object__close(obj);
}

/* The attached program's map is the new one's too. */
static bool share_map(const struct xlink *xl, struct bpf_object *obj,
		      const char *name)
{
	struct bpf_map *map = bpf_object__find_map_by_name(obj, name);
	struct bpf_map_info info = {};
	u32 len = sizeof(info);
	int fd, err;

	if (!map)
		return no("there is no map %s: it is not made of xroce.bpf.c",
			  name);
	fd = find_map(xl, name);
	if (fd < 0)
		return false;
	err = bpf_obj_get_info_by_fd(fd, &info, &len);
	if (!err && (info.type != bpf_map__type(map) || info.key_size != bpf_map__key_size(map) ||
		     info.value_size != bpf_map__value_size(map))) {
		close(fd);
		errno = EINVAL;
		return no("its map %s is not as the attached program's: set the policy anew", name);
	}
	err = err ?: bpf_map__reuse_fd(map, fd);
	close(fd);
	return !err || no("the map %s: %s", name, strerror(-err));
}

/* What the attached program does not use it does not have, and nobody can share. */
static bool share_used(const struct xlink *xl, struct bpf_object *obj, const char *name)
{
	return share_map(xl, obj, name) || errno == ENOENT;
}

/* Constants are a program's own; variables are all programs', as other maps. */
static bool is_constant(const struct bpf_map *map)
{
	return bpf_map__is_internal(map) && !strstr(bpf_map__name(map), ".bss") &&
	       !strstr(bpf_map__name(map), ".data");
}

/* Those that the kernel can tell from each other, by the beginnings of their names. */
static bool maps_differ(const struct bpf_object *obj)
{
	const struct bpf_map *a, *b;

	bpf_object__for_each_map(a, obj)
		for (b = bpf_object__next_map(obj, a); b; b = bpf_object__next_map(obj, b))
			if (!is_constant(a) && !is_constant(b) &&
			    !strncmp(bpf_map__name(a), bpf_map__name(b), BPF_OBJ_NAME_LEN - 1))
				return no("maps %s and %s begin alike in %d characters",
					  bpf_map__name(a), bpf_map__name(b),
					  BPF_OBJ_NAME_LEN - 1);
	return true;
}

/* The program for other CPUs alone, with the maps of the attached one; or -1. */
static int load_there(const struct xlink *xl, struct bpf_object *obj)
{
	struct bpf_program *here, *there;
	struct bpf_map *map;
	int err;

	here = bpf_object__find_program_by_name(obj, "xroce");
	there = bpf_object__find_program_by_name(obj, "xroce_there");
	if (!here || !there) {
		no("it has no programs xroce and xroce_there");
		return -1;
	}
	bpf_program__set_autoload(here, false);
	bpf_object__for_each_map(map, obj)
		if (!is_constant(map) && !share_used(xl, obj, bpf_map__name(map)))
			return -1;
	err = bpf_object__load(obj);
	if (err)
		no("cannot load the program: %s", *log_line ? log_line : strerror(-err));
	return err ? -1 : bpf_program__fd(there);
}

/**
 * xdp_steer() - let the attached program send packets to these CPUs
 */
bool xdp_steer(const struct xlink *xl, const char *list)
{
	const char *file = xdp_policy_file(xl);
	struct cpus cpus;
	struct xroce_bpf *own;
	struct bpf_object *obj;
	bool ok = false;

	if (!file)
		return false;
	cpus.map = find_map(xl, "xroce_cpus");
	if (cpus.map < 0)
		return false;
	obj = open_object(*file ? file : NULL, true, &own);
	if (obj) {
		cpus.prog = load_there(xl, obj);
		ok = cpus.prog >= 0 && each_cpu(list, add_new_cpu, &cpus);
		close_object(obj, own);
	}
	close(cpus.map);
	return ok;
}

/* For who steers or saves the link: the program is told where it is from. */
static bool keep_policy_file(int prog, const char *file)
{
	char name[POLICY_MAX] = "", *real = realpath(file, NULL);
	int map, err;
	u32 key = 0;

	if (!real)
		return no("%s", strerror(errno));
	err = snprintf(name, sizeof(name), "%s", real) >= (int)sizeof(name);
	free(real);
	if (err)
		return no("its whole name has more than %d characters",
			  POLICY_MAX - 1);
	map = bpf_map_create(BPF_MAP_TYPE_ARRAY, POLICY_MAP, sizeof(key),
			     sizeof(name), 1, NULL);
	if (map < 0)
		return no("cannot keep its name: %s", strerror(-map));
	err = bpf_map_update_elem(map, &key, name, 0) ?:
	      bpf_prog_bind_map(prog, map, NULL);
	close(map);
	return !err || no("cannot keep its name: %s", strerror(-err));
}

/* Let the link's attachment have another program; no packet comes by none. */
static bool swap_program(const struct xlink *xl, struct bpf_object *obj,
			 const char *file)
{
	struct bpf_program *here, *there;
	char first[sizeof(why)];
	struct cpus cpus;
	int link, was;
	bool ok;

	here = bpf_object__find_program_by_name(obj, "xroce");
	there = bpf_object__find_program_by_name(obj, "xroce_there");
	if (!here || !there)
		return no("it has no programs xroce and xroce_there");
	if (!share_map(xl, obj, "xroce_stats") ||
	    !share_map(xl, obj, "xroce_cpus"))
		return false;
	if (!maps_differ(obj))
		return false;
	if (bpf_object__load(obj))
		return no("cannot load it: %s",
			  *log_line ? log_line : strerror(errno));
	if (file && !keep_policy_file(bpf_program__fd(here), file))
		return false;
	cpus.map = bpf_map__fd(bpf_object__find_map_by_name(obj, "xroce_cpus"));
	cpus.prog = bpf_program__fd(there);
	link = bpf_link_get_fd_by_id(xl->link_id);
	if (link < 0)
		return no("cannot reach the attachment %u: %s", xl->link_id,
			  strerror(errno));
	was = cpus_program(&cpus);
	ok = renew_cpus(&cpus) && (!bpf_link_update(link, bpf_program__fd(here), NULL) ||
				   no("cannot attach it: %s", strerror(errno)));
	if (!ok && was >= 0) {
		/* All CPUs as they were; it is the first failure that is told. */
		memcpy(first, why, sizeof(first));
		cpus.prog = was;
		renew_cpus(&cpus);
		memcpy(why, first, sizeof(why));
	}
	if (was >= 0)
		close(was);
	close(link);
	return ok;
}

/**
 * xdp_policy() - let an object that was made of ours serve a link that has XDP
 * @file: the object; NULL: our own
 * @again: as it was, by xdp_policy_file()
 */
bool xdp_policy(const struct xlink *xl, const char *file, bool again)
{
	struct xroce_bpf *own;
	struct bpf_object *obj = open_object(file, again, &own);
	bool ok;

	if (!obj)
		return false;
	ok = swap_program(xl, obj, file);
	close_object(obj, own);
	return ok;
}

/**
 * xdp_stats() - call @fn for each counter of the attached program
 */
void xdp_stats(const struct xlink *xl,
	       void (*fn)(const char *name, const char *text, u64 val))
{
	static const struct { const char *name, *text; } stats[] = {
#define STAT(sym, name, text) \
		[XROCE_XDP_##sym] = { "xdp_" #name, text },
		XROCE_XDP_STATS(STAT)
#undef STAT
	};
	int fd = find_map(xl, "xroce_stats"), n = libbpf_num_possible_cpus(), i;
	u64 *per_cpu, sum;
	u32 key;

	if (fd < 0)
		return;
	per_cpu = calloc(n, sizeof(*per_cpu));
	if (!per_cpu)
		fail("out of memory");
	for (key = 0; key < ARRAY_SIZE(stats); key++) {
		if (bpf_map_lookup_elem(fd, &key, per_cpu))
			continue;
		for (sum = 0, i = 0; i < n; i++)
			sum += per_cpu[i];
		fn(stats[key].name, stats[key].text, sum);
	}
	free(per_cpu);
	close(fd);
}

/* Of <linux/bpf.h> since Linux 6.6; older headers do not have them. */
#define TCX_INGRESS	((enum bpf_attach_type)46)
#define TCX_EGRESS	((enum bpf_attach_type)47)

/**
 * xdp_tcx() - how many programs of tc's a network device has without a qdisc
 *
 * Return: their number, or -EPERM: not for root of a container, or it cannot be told.
 */
int xdp_tcx(u32 ifindex)
{
	u32 flags, n, i;
	int sum = 0, err;

	for (i = 0; i < 2; i++) {
		n = 0;
		err = bpf_prog_query(ifindex, i ? TCX_EGRESS : TCX_INGRESS, 0, &flags, NULL, &n);
		if (err == -EPERM)
			return err;
		/* Other errors are those of kernels without. */
		sum += err ? 0 : n;
	}
	return sum;
}

#else /* !HAVE_BPF */

static bool no_bpf(void)
{
	return no("this rdmatool was built without BPF");
}

bool xdp_load(const struct xlink *xl)
{
	return no_bpf();
}

bool xdp_attach(const struct xlink *xl, enum xroce_xdp_mode mode)
{
	return no_bpf();
}

bool xdp_steer(const struct xlink *xl, const char *list)
{
	return no_bpf();
}

bool xdp_policy(const struct xlink *xl, const char *file, bool again)
{
	return no_bpf();
}

int xdp_tcx(u32 ifindex)
{
	return 0;
}

void xdp_unpin(const char *name)
{
}

void xdp_repin(const char *name, const char *new_name)
{
}

const char *xdp_pinned(const char *name)
{
	return NULL;
}

const char *xdp_policy_file(const struct xlink *xl)
{
	return "";
}

void xdp_stats(const struct xlink *xl,
	       void (*fn)(const char *name, const char *text, u64 val))
{
}

#endif
