/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the files of rdmatool offer each other. One thread, one command, then
 * exit: whatever cannot go on calls fail() or usage().
 */
#ifndef RDMATOOL_H
#define RDMATOOL_H

#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <time.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <rdma/rdma_netlink.h>
#include <linux/xroce_netlink.h>
#include <xroce/link.h>

#define DEV_NAME_MAX		64	/* IB_DEVICE_NAME_MAX */
#define POLICY_MAX		512	/* of its file's name */
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))

#define __printf(a, b)		__attribute__((format(printf, a, b)))
#define __noreturn		__attribute__((noreturn))

enum exit_code {
	EXIT_KERNEL = 1,	/* the kernel or the system said no */
	EXIT_USAGE = 2,		/* the command line makes no sense */
};

struct options {
	bool json;
	bool pretty;
	bool details;
	bool color;
	bool netns;		/* in another than the caller's */
};

extern struct options options;

/* rdmatool.c */
struct cmd {
	const char *name;
	void (*run)(int argc, char **argv);
};

/* A keyword and where its value goes; @val is NULL until it is seen. */
struct arg {
	const char *key;
	const char **val;
};

__noreturn __printf(1, 2) void usage(const char *fmt, ...);
__noreturn __printf(1, 2) void fail(const char *fmt, ...);
__printf(1, 2) void warn(const char *fmt, ...);
void dispatch(const char *object, const struct cmd *cmds,
	      bool (*takes)(const char *word), int argc, char **argv);
void parse_args(const char *what, const struct arg *args, int argc,
		char **argv);
bool scan_uint(const char *s, char **end, u64 *val);
u64 parse_uint(const char *what, const char *s, u64 max);
bool cpus_next(const char **list, unsigned long *a, unsigned long *b);
const char *cpus_wrong(const char *list);
const char *dev_name_wrong(const char *name);
void run_command(int argc, char **argv);

/* batch.c */
int netns_open(const char *name);
void netns_enter(const char *name);
int batch(const char *file, bool force);

/* object.c */
const char *wc_status_name(u8 status);

/* link.c, gid.c, object.c and so on: what the objects do */
void cmd_link(int argc, char **argv);
void cmd_dev(int argc, char **argv);
void cmd_gid(int argc, char **argv);
void cmd_qp(int argc, char **argv);
void cmd_cq(int argc, char **argv);
void cmd_mr(int argc, char **argv);
void cmd_mw(int argc, char **argv);
void cmd_srq(int argc, char **argv);
void cmd_pd(int argc, char **argv);
void cmd_ctx(int argc, char **argv);
void cmd_cm_id(int argc, char **argv);
void cmd_ah(int argc, char **argv);
void cmd_stat(int argc, char **argv);
void cmd_steer(int argc, char **argv);
void cmd_tune(int argc, char **argv);
void cmd_capture(int argc, char **argv);
void cmd_decode(int argc, char **argv);
void cmd_monitor(int argc, char **argv);
void cmd_check(int argc, char **argv);

/* out.c: rows of fields, as text or as JSON */
void out_open(const char *list);
void out_close(void);
void out_next(const char *list);
void out_summary(void);
void out_row(void);
void out_row_end(void);
void out_str(const char *key, const char *val);
__printf(2, 3) void out_fmt(const char *key, const char *fmt, ...);
void out_uint(const char *key, u64 val);
void out_flag(const char *key, bool val);
void out_word(const char *key, const char *val);
void out_word_uint(const char *key, u64 val);
void out_rate(const char *key, double val);
void out_dev(const char *name, u32 index, u32 port);
__printf(2, 3) void out_note(const char *key, const char *fmt, ...);
void out_break(void);
char *out_clean(const char *s);

/* nl.c: netlink */
typedef void (*nl_fn)(struct nlattr **tb, void *arg);

typedef void (*nl_raw_fn)(struct nlmsghdr *nlh, void *arg);

struct rdev {
	u32 index;
	u32 ports;
	bool roce;		/* its protocol */
	char name[DEV_NAME_MAX];
};

struct nl_msg *nldev_msg(int cmd, int flags);
int nldev_talk(struct nl_msg *msg, nl_fn fn, void *arg);
struct nl_msg *xroce_msg(int cmd, int flags);
int xroce_talk(struct nl_msg *msg, int maxattr, nl_fn fn, void *arg);
struct nl_msg *genl_msg(const char *name, int cmd, int flags);
int nl_ask(int protocol, struct nl_msg *msg, nl_raw_fn fn, void *arg);
bool xroce_there(void);
struct nl_sock *rt_sock(void);
int rt_talk(struct nl_msg *msg);
const char *nl_why(int err);
struct rdev *rdev_all(void);
struct rdev *rdev_find(const char *name);
struct rdev *rdev_get(const char *name);
bool rdev_gone(const struct rdev *dev);
bool rdma_there(void);
bool rdev_named(const char *name);
char *rdev_word(char *word);
void put_str(struct nl_msg *msg, int attr, const char *val);
void put_u32(struct nl_msg *msg, int attr, u32 val);
void put_flag(struct nl_msg *msg, int attr);

/* tune.c: keys of a link, and what they may be */
#define N_TUNE_KEYS	3

struct tune_key {
	const char *name;
	int attr;
	const char *unit;
	u32 min;
	u32 max;
	u32 deflt;
};

extern const struct tune_key tune_keys[N_TUNE_KEYS];
void tune_link(const char *name, const char *const val[N_TUNE_KEYS]);

/* link.c: what the module tells of a link */
struct xlink {
	u32 dev_index;
	u32 ifindex;
	u32 roce_mtu;
	u32 xdp_mode;
	u32 prog_id;
	u32 link_id;
	u32 tune[N_TUNE_KEYS];
	char name[DEV_NAME_MAX];
	char ifname[IFNAMSIZ];
	char steer[1024];
};

bool xlink_get(const char *name, struct xlink *xl);
void xlink_need(const char *what, const char *name, struct xlink *xl);
void steer_check(const char *what, const struct xlink *xl);
struct xlink *xlink_all(void);
int xdp_mode_parse(const char *s);
const char *xdp_mode_name(u32 mode);
bool xdp_mode_is(u32 mode, int wanted);
void link_add(int argc, char **argv);
void link_set(int argc, char **argv);
void link_policy(const struct xlink *xl, const char *file, bool again);

/* save.c */
void link_save(int argc, char **argv);
void link_restore(int argc, char **argv);

/* link.c */
int port_netdev(const struct rdev *dev, u32 port, char ifname[IFNAMSIZ]);
bool rdev_is_over(const struct rdev *dev, u32 ifindex);

/* gid.c */
int gid_count(const struct rdev *dev, u32 port, char first[INET6_ADDRSTRLEN]);

/* xdp.c: the XDP program; false with a reason in xdp_why() */
bool xdp_load(const struct xlink *xl);
bool xdp_attach(const struct xlink *xl, enum xroce_xdp_mode mode);
bool xdp_steer(const struct xlink *xl, const char *list);
bool xdp_policy(const struct xlink *xl, const char *file, bool again);
const char *xdp_policy_file(const struct xlink *xl);
void xdp_unpin(const char *name);
void xdp_repin(const char *name, const char *new_name);
const char *xdp_pinned(const char *name);
void xdp_stats(const struct xlink *xl,
	       void (*fn)(const char *name, const char *text, u64 val));
int xdp_tcx(u32 ifindex);
const char *xdp_why(void);
void bpf_log_start(void);
const char *bpf_log(void);

/* netdev.c: network devices */
struct netdev {
	u32 ifindex;
	u32 mtu;
	u32 type;		/* ARPHRD_* */
	u32 flags;		/* IFF_* */
	u32 xdp_attached;	/* XDP_ATTACHED_* */
	u32 xdp_prog;
	u32 vlan_of;		/* the index of that below, 0: it is no VLAN's */
	bool vrf;		/* it is in one */
	char name[IFNAMSIZ];
};

struct netdev *netdev_all(void);
void netdev_addrs(u32 ifindex,
		  void (*fn)(const char *addr, bool global, void *arg),
		  void *arg);
bool netdev_native_xdp(u32 ifindex, bool *has);
const char *netdev_driver(const char *ifname);
const char *netdev_not_native(u32 ifindex, const char *ifname);
u32 netdev_speed(u32 ifindex, u32 *lanes);

/* status.c */
char *netdev_addr_list(u32 ifindex);
void link_status(int argc, char **argv);

/* seen.c: what looks at the packets of this host's stack */
struct seen {
	u32 chains;		/* of nftables, that see packets */
	bool drops_port;	/* a rule drops ours */
	bool drops_some;	/* of it, as of some addresses */
	bool drops_all;		/* what no rule accepts, and none accepts ours */
	bool legacy;		/* iptables that are not nftables' */
	bool untold;		/* whether there are nftables */
};

int nft_look(struct seen *seen);
bool module_in(const char *list, const char *name);
int seen_filters(struct seen *seen);
int seen_ipsec(u32 *policies);
int seen_tc(u32 ifindex, char *kinds, size_t size);

/* peer.c: is a peer there; each waits a second at most */
struct peer {
	const char *text;
	int family;
	u8 addr[16];
};

void peer_parse(const char *what, const char *s, struct peer *peer);
u32 peer_route(const struct peer *peer);
int peer_echo(const struct peer *peer, u32 len);
int peer_port(const struct peer *peer);

/* pcap.c: capture files */
struct capture;

enum cap_dir {
	CAP_NO_DIR,
	CAP_IN,
	CAP_OUT,
};

struct cap_frame {
	u64 ns;
	enum cap_dir dir;
	const char *comment;	/* "": none */
	u32 link_type;
	u32 len;		/* on the wire */
	u32 cap_len;		/* here */
	const u8 *data;
};

struct capture *cap_open(const char *path);
int cap_next(struct capture *cap, struct cap_frame *f);
const char *cap_why(const struct capture *cap);
void cap_close(struct capture *cap);

/* decode.c: frames as rows, and what they sum up to */
void decode_begin(void);
void decode_frame(const struct cap_frame *f);
void decode_end(void);
const char *opcode_name(u8 opcode);
const char *transport_name(u8 opcode);
const char *nak_name(u8 syndrome);

/* end.c: commands that go on by themselves */
#define SECOND	1000000000ull

struct end {
	u64 count;		/* 0: any number */
	u64 ns;			/* 0: for ever */
	u64 begin;
};

u64 now_ns(clockid_t clock);
const char *time_stamp(char *buf, size_t size, u64 ago);
struct end end_parse(const char *what, const char *count, const char *seconds);
void end_begin(struct end *end);
int end_wait(const struct end *end, u64 done);

/* flow.c: the PSN story of each QP */
struct xroce_encap;
struct xroce_pkt;

void flow_packet(const struct xroce_encap *e, const struct xroce_pkt *pkt,
		 u8 dir);
void flow_show(void);

#endif /* RDMATOOL_H */
