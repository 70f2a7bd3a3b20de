// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Gives this host a user-defined EID for SMC: hosts with a common one may use
 * SMC-Rv2, that is RoCEv2, with each other. What `smcr ueid add` does.
 *
 *   ueid EID
 */
#include <linux/smc.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	struct nl_sock *sock = nl_socket_alloc();
	char eid[SMC_MAX_EID_LEN + 1];
	struct nl_msg *msg = nlmsg_alloc();
	int family, err;

	if (argc != 2 || !sock || !msg) {
		fprintf(stderr, "usage: %s EID\n", argv[0]);
		return 2;
	}
	err = genl_connect(sock);
	family = err ? err : genl_ctrl_resolve(sock, SMC_GENL_FAMILY_NAME);
	if (family < 0) {
		nl_perror(family, SMC_GENL_FAMILY_NAME);
		return 1;
	}
	/* filled up with blanks */
	snprintf(eid, sizeof(eid), "%-*s", SMC_MAX_EID_LEN, argv[1]);
	genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, family, 0, 0,
		    SMC_NETLINK_ADD_UEID, SMC_GENL_FAMILY_VERSION);
	nla_put_string(msg, SMC_NLA_EID_TABLE_ENTRY, eid);
	err = nl_send_sync(sock, msg);
	nl_socket_free(sock);
	if (err < 0 && err != -NLE_EXIST) {
		nl_perror(err, "SMC_NETLINK_ADD_UEID");
		return 1;
	}
	return 0;
}
