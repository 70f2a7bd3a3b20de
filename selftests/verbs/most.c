// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * As many objects of a kind as a device says that there may be, or as many as are
 * asked for, and one more where that is to be refused. What `rdma resource` counts
 * grows by them, and is then what it was. One thread.
 *
 *   [BESIDE=OTHER] most DEVICE KIND [COUNT [ERRNO]]
 *
 * KIND: pd ah mw mr cq qp srq xrcd. COUNT: 0: as many as advertised, and ENOMEM for one
 * more; ERRNO: a number, for the one after COUNT. OTHER: a device that has room for
 * one while DEVICE has none.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static char mem[64];

static void *make_pd(void)
{
	return ibv_alloc_pd(ctx);
}

static int end_pd(void *p)
{
	return ibv_dealloc_pd(p);
}

/* To a group: no neighbour has to be asked */
static void *make_ah(void)
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid.raw = { 0xff, 0x15, [15] = 1 }, .hop_limit = 1 },
	};

	return ibv_create_ah(pd, &attr);
}

static int end_ah(void *p)
{
	return ibv_destroy_ah(p);
}

static void *make_mw(void)
{
	return ibv_alloc_mw(pd, IBV_MW_TYPE_2);
}

static int end_mw(void *p)
{
	return ibv_dealloc_mw(p);
}

static void *make_mr(void)
{
	return ibv_reg_mr(pd, mem, sizeof(mem), IBV_ACCESS_LOCAL_WRITE);
}

static int end_mr(void *p)
{
	return ibv_dereg_mr(p);
}

static void *make_cq(void)
{
	return ibv_create_cq(ctx, 1, NULL, NULL, 0);
}

static int end_cq(void *p)
{
	return ibv_destroy_cq(p);
}

static void *make_qp(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { 1, 1, 1, 1, 0 },
	};

	return ibv_create_qp(pd, &init);
}

static int end_qp(void *p)
{
	return ibv_destroy_qp(p);
}

static void *make_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { 1, 1, 0 } };

	return ibv_create_srq(pd, &init);
}

static int end_srq(void *p)
{
	return ibv_destroy_srq(p);
}

static void *make_xrcd(void)
{
	struct ibv_xrcd_init_attr init = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1, .oflags = O_CREAT,
	};

	return ibv_open_xrcd(ctx, &init);
}

static int end_xrcd(void *p)
{
	return ibv_close_xrcd(p);
}

/* @shown: `rdma resource` counts them */
static const struct kind {
	const char *name;
	void *(*make)(void);
	int (*end)(void *object);
	bool shown;
} kinds[] = {
	{ "pd", make_pd, end_pd, true },
	{ "ah", make_ah, end_ah, false },
	{ "mw", make_mw, end_mw, false },
	{ "mr", make_mr, end_mr, true },
	{ "cq", make_cq, end_cq, true },
	{ "qp", make_qp, end_qp, true },
	{ "srq", make_srq, end_srq, true },
	{ "xrcd", make_xrcd, end_xrcd, false },	/* how many is not advertised */
};

/* What there is of them, the kernel's own too */
static int shown(const struct kind *k)
{
	char cmd[128], line[256] = "", word[16], *at;
	FILE *f;

	if (!k->shown)
		return 0;
	snprintf(cmd, sizeof(cmd), "rdma resource show %s",
		 ibv_get_device_name(ctx->device));
	snprintf(word, sizeof(word), " %s ", k->name);
	f = popen(cmd, "r");
	at = f && fgets(line, sizeof(line), f) ? strstr(line, word) : NULL;
	if (!at || pclose(f))
		errx(1, "%s: '%s'", cmd, line);
	return atoi(at + strlen(word));
}

static int advertised(const struct kind *k)
{
	struct ibv_device_attr dev;

	if (ibv_query_device(ctx, &dev))
		err(1, "ibv_query_device");
	const int max[] = {
		dev.max_pd, dev.max_ah, dev.max_mw, dev.max_mr, dev.max_cq,
		dev.max_qp, dev.max_srq,
	};

	return max[k - kinds];
}

static void one(const struct kind *k, void **object, int n)
{
	*object = k->make();
	if (!*object)
		err(1, "%s %d", k->name, n);
}

static void open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	size_t i;

	ctx = NULL;
	for (i = 0; list && list[i] && !ctx; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	if (!ctx)
		err(1, "%s", name);
	pd = ibv_alloc_pd(ctx);
	cq = ibv_create_cq(ctx, 1, NULL, NULL, 0);
	if (!pd || !cq)
		err(1, "PD and CQ");
}

static void one_beside(const struct kind *k, const char *name)
{
	struct ibv_context *was_ctx = ctx;
	struct ibv_pd *was_pd = pd;
	struct ibv_cq *was_cq = cq;
	void *object;

	open_device(name);
	one(k, &object, 0);
	if (k->end(object))
		err(1, "%s of %s ends", k->name, name);
	ctx = was_ctx;
	pd = was_pd;
	cq = was_cq;
}

static void most(const struct kind *k, int n, int refused)
{
	int before = shown(k), i;
	void **object;

	if (!n)
		n = advertised(k) - before;
	object = calloc(n, sizeof(*object));
	if (!object)
		err(1, "memory");
	for (i = 0; i < n; i++)
		one(k, &object[i], i);
	if (k->shown && shown(k) != before + n)
		errx(1, "%d and %d more are %d", before, n, shown(k));
	if (refused) {
		if (k->make())
			errx(1, "%d and %d more and one more", before, n);
		if (errno != refused)
			err(1, "one more than %d", n);
		if (getenv("BESIDE"))
			one_beside(k, getenv("BESIDE"));
		/* there is room for another when one has gone */
		if (k->end(object[n / 2]))
			err(1, "%s %d ends", k->name, n / 2);
		one(k, &object[n / 2], n / 2);
	}
	for (i = 0; i < n; i++)
		if (k->end(object[i]))
			err(1, "%s %d ends", k->name, i);
	if (k->shown && shown(k) != before)
		errx(1, "of %d are left %d", before, shown(k));
	printf("%d\n", n);
}

int main(int argc, char **argv)
{
	size_t i;

	if (argc < 3 || argc > 5)
		errx(2, "usage: most DEVICE KIND [COUNT [ERRNO]]");
	open_device(argv[1]);
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(argv[2], kinds[i].name))
			continue;
		most(&kinds[i], argc > 3 ? atoi(argv[3]) : 0,
		     argc > 4 ? atoi(argv[4]) : argc > 3 ? 0 : ENOMEM);
		return 0;
	}
	errx(2, "no kind: %s", argv[2]);
}
