// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of multicast: who is attached receives a copy each, nobody else does,
 * and not any more once detached. The group's MAC is for a capture to see.
 */
#include <arpa/inet.h>
#include <unistd.h>

#include "ud.h"

#define LEN	200u
#define N_QP	4

static union ibv_gid group(int n)
{
	union ibv_gid g = { .raw = { [10] = 0xff, [11] = 0xff, [12] = 239,
				     [13] = 129, [14] = 2 } };

	if (opt_family == 6) {
		memset(&g, 0, sizeof(g));
		g.raw[0] = 0xff;
		g.raw[1] = 0x15;
		g.raw[12] = 1;
		g.raw[13] = 2;
		g.raw[14] = 3;
	}
	g.raw[15] = (uint8_t)n;
	return g;
}

/* A message to @gid arrives at those of @e whose bits are in @mask. */
static bool reaches(struct ep *from, struct ep *e, const union ibv_gid *gid,
		    unsigned int mask, uint32_t n)
{
	struct msg m = { .op = IBV_WR_SEND_WITH_IMM, .off = SRC_OFF, .len = LEN,
			 .imm = n, .flags = IBV_SEND_SIGNALED, .qpn = 0xffffff,
			 .qkey = QKEY };
	struct ibv_ah_attr attr = ah_attr(from->side, gid);
	struct ibv_wc wc;
	int i;

	/* there is no route to take it from */
	attr.grh.hop_limit = (uint8_t)(7 + n);
	m.ah = ibv_create_ah(hosts[from->side].pd, &attr);
	NEED(m.ah, "create AH: %s", strerror(errno));
	fill(from->side, SRC_OFF, LEN, n);
	for (i = 0; i < N_QP; i++)
		if (mask >> i & 1)
			guard(B, DST_OFF + i * 1024, GRH + LEN);
	NEED(!post(from, &m), "post_send");
	TRY(reap(from->scq, &wc, 1));
	for (i = 0; i < N_QP; i++) {
		uint32_t off = DST_OFF + i * 1024;

		if (!(mask >> i & 1))
			continue;
		TRY(reap(e[i].rcq, &wc, 1));
		NEED(wc.imm_data == htobe32(n) && wc.byte_len == GRH + LEN &&
		     wc.src_qp == from->qp->qp_num &&
		     wc.wc_flags == (IBV_WC_GRH | IBV_WC_WITH_IMM),
		     "QP %d: another message came", i);
		TRY(same(B, off + GRH, LEN, n) && guarded(B, off, GRH + LEN));
		NEED(!memcmp(hosts[B].mem + off + (opt_family == 4 ? 36 : 24),
			     gid->raw + (opt_family == 4 ? 12 : 0),
			     opt_family == 4 ? 4 : 16),
		     "the GRH's destination is not the group");
		NEED(hosts[B].mem[off + (opt_family == 4 ? 28 : 7)] ==
		     (int)(7 + n), "the GRH's hop limit is not the sender's");
		NEED(!post_recv(&e[i], i, off, GRH + LEN), "post_recv");
	}
	for (i = 0; i < N_QP; i++)
		if (!(mask >> i & 1))
			TRY(none(e[i].rcq, 30));
	ibv_destroy_ah(m.ah);
	return true;
}

static bool attach(struct ep *e, const union ibv_gid *gid, bool on)
{
	int err = on ? ibv_attach_mcast(e->qp, gid, 0) :
		       ibv_detach_mcast(e->qp, gid, 0);

	NEED(!err, "%s: %s", on ? "attach" : "detach", strerror(err));
	/* Some drivers, as virtio_net, tell their NIC of a group a little later. */
	if (on)
		usleep(100000);
	return true;
}

static bool groups(void)
{
	union ibv_gid g1 = group(3), g2 = group(4);
	struct ep e[N_QP], from;
	int i;

	TRY(ep_make(&from, A, IBV_QPT_UD, NULL));
	TRY(ep_bring(&from, NULL, 0, IBV_QPS_RTS));
	for (i = 0; i < N_QP; i++) {
		TRY(ep_make(&e[i], B, IBV_QPT_UD, NULL));
		TRY(ep_bring(&e[i], NULL, 0, IBV_QPS_RTS));
		NEED(!post_recv(&e[i], i, DST_OFF + i * 1024, GRH + LEN),
		     "post_recv");
	}
	TRY(reaches(&from, e, &g1, 0, 1));
	for (i = 0; i < 3; i++)
		TRY(attach(&e[i], &g1, true));
	TRY(attach(&e[2], &g2, true));
	TRY(attach(&e[3], &g2, true));
	TRY(reaches(&from, e, &g1, 7, 2));
	TRY(reaches(&from, e, &g2, 12, 3));
	TRY(attach(&e[1], &g1, false));
	TRY(reaches(&from, e, &g1, 5, 4));
	NEED(ibv_destroy_qp(e[0].qp) == EBUSY, "destroyed while attached");
	TRY(attach(&e[0], &g1, false));
	TRY(attach(&e[2], &g1, false));
	TRY(reaches(&from, e, &g1, 0, 5));
	TRY(reaches(&from, e, &g2, 12, 6));
	NEED(ibv_detach_mcast(e[0].qp, &g1, 0), "detached twice");
	NEED(ibv_detach_mcast(e[0].qp, &g2, 0), "detached and never attached");
	TRY(attach(&e[2], &g2, false));
	TRY(attach(&e[3], &g2, false));
	TRY(attach(&e[3], &g2, true));
	TRY(reaches(&from, e, &g2, 8, 7));
	TRY(attach(&e[3], &g2, false));
	for (i = 0; i < N_QP; i++)
		TRY(ep_free(&e[i]));
	return ep_free(&from);
}

/* A Q_Key that is wrong for one is right for the other. */
static bool qkeys(void)
{
	struct ibv_qp_attr attr = { .qkey = QKEY + 1 };
	union ibv_gid g = group(5);
	struct ep e[N_QP], from;
	int i;

	TRY(ep_make(&from, A, IBV_QPT_UD, NULL));
	TRY(ep_bring(&from, NULL, 0, IBV_QPS_RTS));
	for (i = 0; i < N_QP; i++) {
		TRY(ep_make(&e[i], B, IBV_QPT_UD, NULL));
		TRY(ep_bring(&e[i], NULL, 0, IBV_QPS_RTS));
		NEED(!post_recv(&e[i], i, DST_OFF + i * 1024, GRH + LEN),
		     "post_recv");
		TRY(attach(&e[i], &g, true));
	}
	NEED(!ibv_modify_qp(e[1].qp, &attr, IBV_QP_QKEY), "Q_Key");
	TRY(reaches(&from, e, &g, 13, 9));
	for (i = 0; i < N_QP; i++)
		TRY(attach(&e[i], &g, false) && ep_free(&e[i]));
	return ep_free(&from);
}

static bool refused(void)
{
	union ibv_gid g = group(6);
	struct ep uc, ud;

	TRY(ep_make(&uc, B, IBV_QPT_UC, NULL));
	TRY(ep_bring(&uc, NULL, IBV_MTU_1024, IBV_QPS_RTS));
	NEED(ibv_attach_mcast(uc.qp, &g, 0) == EINVAL, "a UC QP attached");
	TRY(ep_make(&ud, B, IBV_QPT_UD, NULL));
	TRY(ep_bring(&ud, NULL, 0, IBV_QPS_RTS));
	NEED(ibv_attach_mcast(ud.qp, &hosts[A].gid, 0) == EINVAL,
	     "a unicast address attached to");
	return ep_free(&uc) && ep_free(&ud);
}

void test_mcast(void)
{
	report(groups(), "multicast IPv%d, groups", opt_family);
	report(qkeys(), "multicast IPv%d, Q_Keys", opt_family);
	report(refused(), "multicast IPv%d, what is refused", opt_family);
}
