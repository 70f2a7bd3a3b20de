/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The simulator: nodes that run the transport core in virtual time on a faulty
 * network, and a model that knows what every byte and completion must be. One
 * thread, one world at a time, everything drawn from one seed.
 */
#ifndef SIM_H
#define SIM_H

#include <stdarg.h>

#include "core.h"

#define SIM_US			1000ull
#define SIM_MS			1000000ull
#define SIM_SEC			1000000000ull
#define SIM_MAX_NODES		8
#define SIM_TAB			256	/* QPs and MRs a node can have */
#define SIM_ATOMS		16	/* words for atomics in a region */
#define SIM_SHARED_MAX		(1 << 14) /* values that a shared word takes */
#define SIM_AHS			48	/* address handles a node can have */
#define SIM_GROUPS		6	/* multicast groups; the odd ones are IPv6 */
#define SIM_SRQS		2	/* shared receive queues of a node */

struct sim_node;
struct sim_conn;
struct sim_ep;
struct sim_cq;
struct sim_srq;
struct sim_opt;

/* util.c: randomness, time, events, failure. */
void sim_srand(u64 seed);
u64 sim_rnd(void);
u32 sim_below(u32 n);
u32 sim_range(u32 lo, u32 hi);
bool sim_chance(u32 per_10000);
u64 sim_mix(u64 x);	/* another stream, for contents: filling a buffer must be cheap */
void sim_fill(void *p, u32 len, u64 seed);

enum sim_ev_kind {
	SIM_EV_PKT,		/* a packet arrives */
	SIM_EV_TIMER,		/* a QP's timer */
	SIM_EV_DEFER,		/* a deferred run */
	SIM_EV_CQ,		/* a completion handler */
	SIM_EV_FN,		/* the scenario's own */
};

struct sim_event {
	u64 when;
	u64 seq;
	void (*fn)(void *arg);
	void *arg;
	u64 gen;
	u8 kind;
};

u64 sim_now(void);
void sim_set_now(u64 t);
void sim_at(u64 when, enum sim_ev_kind kind, void (*fn)(void *), void *arg, u64 gen);
bool sim_pop(struct sim_event *ev);
bool sim_next_time(u64 *when);
void sim_events_reset(void);

void sim_fail(const char *fmt, ...) __attribute__((__noreturn__, __format__(printf, 1, 2)));
void sim_trace(const char *fmt, ...) __attribute__((__format__(printf, 1, 2)));

#define sim_check(c, ...) do { \
	if (unlikely(!(c))) \
		sim_fail(__VA_ARGS__); \
} while (0)

/**
 * struct sim_cfg - what a world is like; chances are in 1/10000
 * @partial: that the device takes only part of a burst
 * @full: that it drops one more then
 * @nomem: that there is no memory for a frame
 * @smp: that another CPU comes in between while a burst is being sent
 * @rnr_late: that receives are posted late
 * @reorder: that a packet is delayed and overtaken
 * @uc, @ud: that a connection is of this service; UD QPs are in pairs too, but send to all
 * @srq: that a QP receives from a shared queue
 * @xrc: that a reliable connection is of XRC, of QPs that are both ends at once
 * @bad: UC, UD: that a send fails where it is posted
 * @sqd: that a user drains a send queue
 * @key: that a work request changes a key, @key_bad: and must fail
 * @mark: that a packet is marked; 0: some are; @unmarked: none, but what meets a
 *	queue of @mark_from bytes and more, one in 10 at twice that
 * @rate: bytes a second to a node, 0 is without limit; four times that from it
 * @queue: bytes that the way to a node queues, with @rate
 * @depth: work requests of a send queue, 0: some
 * @turn: softirqs of one CPU: each so many ns, deferred runs and then timers; else 0;
 *	@late: the timers of one QP in so many come after 20 of them only, and a half
 * @rings: each of two CPUs has a ring; 1: all as fast; else who posts is at the first, packets
 *	come in at the other, and frames of CPU @slow take so many ns more
 */
struct sim_cfg {
	u32 nodes;
	u32 conns;
	u32 ops;		/* to be posted in all */
	u32 loss;
	u32 dup;
	u32 reorder;
	u32 corrupt;
	u32 partial;
	u32 full;
	u32 paced;		/* QPs with a rate limit, of 10000 */
	u32 nomem;
	u32 smp;
	u32 rnr_late;
	u32 upset;		/* that the user breaks a connection */
	u32 uc;
	u32 ud;
	u32 srq;
	u32 xrc;
	u32 bad;
	u32 sqd;
	u32 key, key_bad;
	u32 mark, mark_from;
	u32 late;
	u64 delay;
	u64 jitter;
	u64 rate;
	u64 turn, rings;
	u32 queue, depth, slow;
	u32 max_len;
	u32 cwnd_init, cwnd_max;
	u8 timeout;		/* 0: random */
	bool unmarked;
	bool plain;		/* patient settings, nothing late */
	bool fixed;		/* what follows is not random */
	bool v6;
	u8 retry_cnt;
	u8 rnr_retry;
	u8 min_rnr;
	u8 mtu_shift;
	u32 max_rd;
	u32 max_dest_rd;
};

/**
 * struct sim_region - registered memory, and what it must contain
 * @shadow: the expected contents of [0, len)
 * @head, @tail: bytes ever given back and taken of the ring of [base, len)
 */
struct sim_region {
	struct sim_node *node;
	struct xroce_mr mr;
	u8 *shadow;
	u32 nblk;
	u64 len;
	u64 base;
	u64 head;
	u64 tail;
	u64 seed;
	struct sim_region *next;
};

/* A piece of a region taken for one operation: guard, data, guard. */
struct sim_piece {
	struct sim_region *r;
	u64 start;		/* ring positions, guards included */
	u64 end;
	u64 off;		/* in the region */
	u32 len;
};

/* What a key opens: @len bytes of its end's region from @off, for who says @iova. */
struct sim_bind {
	bool valid;
	u32 key;
	u32 access;
	u64 off, len;
	u64 iova;
	void **page;		/* the list of its blocks; NULL: not looked at */
	struct sim_key *to;	/* a window of that, NULL: of the region */
};

/*
 * A window, or what work requests register: of @r its core part alone, @of: whose
 * memory it opens; @now: as last seen, @plan: once those @posted are done; @users:
 * the peer's operations by it, @remote: one of them is to end it.
 */
struct sim_key {
	struct sim_region r;
	struct sim_region *of;
	struct sim_bind now;
	struct sim_bind plan;
	u32 posted;
	u32 users;
	bool remote;
};

struct sim_cq {
	struct xroce_cq cq;
	struct sim_node *node;
	u32 depth;
	u32 cons;
	u32 room;		/* completions that no QP may bring yet */
	u32 arm_at;		/* prod when it was armed */
	u8 armed;		/* enum xroce_arm, as the user left it */
	u8 event_type;		/* what it had been armed for */
	bool event;		/* raised, by the completion with this index */
	u32 event_at;
	void (*handler)(struct sim_cq *cq);
	bool overrun;
	struct sim_cq *next;
};

/**
 * struct sim_op - a posted send work request that has not completed
 * @local, @nloc: pieces of local memory, in order
 * @remote: the peer's
 * @data: what a SEND or inline WRITE carries
 * @atom: index of the word of an atomic
 * @own_local, @own_remote: its pieces end with it; @idx: its place in the ring
 * @sent: UC, UD: packets that the device has taken; @taken: that is all of them
 * @ah, @qpn, @qkey: UD: where to, and the Q_Key that goes there
 * @raddr, @rkey: UC: what the RETH says
 * @key, @want: what it makes of which key; @executed: seen to; @by_key: has memory by one
 * @via: the peer's key that it goes by, NULL: the region's own
 */
struct sim_op {
	struct sim_op *next;
	u64 wr_id;
	u8 wr;
	u8 status;		/* to be expected */
	u8 maybe;		/* or this one */
	bool signaled;
	bool solicited;
	bool is_inline;
	bool own_local;
	bool own_remote;
	bool use_data;
	bool partial;
	bool bad_opcode;
	bool taken;
	bool fence;
	bool executed;
	bool by_key;
	u32 idx;
	u32 sent;
	u32 qpn;
	u32 qkey;
	u32 rkey;
	u64 raddr;
	struct sim_ah *ah;
	struct sim_key *key;
	struct sim_key *via;
	struct sim_bind want;
	u32 nloc;
	u32 len;
	__be32 imm;
	u32 atom;
	bool shared_atom;
	u64 orig;		/* atomic: expected original value */
	u64 result;		/* and the value after it */
	u64 swap_add;
	u64 compare;
	struct sim_piece local[XROCE_MAX_SGE];
	struct sim_piece remote;
	u8 *data;
	struct sim_msg *msg;
};

/* A message that consumes a receive at the peer, in the order of posting. */
struct sim_msg {
	struct sim_msg *next;
	struct sim_op *op;	/* NULL once completed */
	u8 wr;
	bool solicited;
	bool done;		/* the receiver has polled its completion */
	u32 len;
	__be32 imm;
	struct sim_region *inv;	/* to be invalid once it is received */
	struct sim_key *key;	/* that is this one's, or NULL */
	u8 status;		/* of the receive, to be expected */
	u8 *data;
};

/**
 * struct sim_recv - a posted receive
 * @bad: it ends with this status, once it is taken or written to
 * @bad_sge: XROCE_WC_LOC_PROT_ERR: the piece that may not be written
 * @srq, @slot: of a shared queue: whose, and which part of its memory
 */
struct sim_recv {
	struct sim_recv *next;
	u64 wr_id;
	u8 bad;
	u32 bad_sge;
	struct sim_srq *srq;
	u32 slot;
	u32 nsge;
	u32 len;
	struct sim_piece sge[XROCE_MAX_SGE];
};

struct sim_list {
	void *first;
	void **last;
	u32 n;
};

/* A completion that a receiver must see, in this order. */
struct sim_due {
	struct sim_due *next;
	struct sim_recv *recv;
	u8 status;
	u8 opcode;
	u8 flags;
	bool solicited;
	u32 len;
	u32 src;
	__be32 imm;
	u16 vlan;
	u64 hash;		/* UC: of the message, 0: none */
};

/**
 * struct sim_unrel - what the observer knows of a QP of UC or UD
 * @psn: of the next packet, or at most a burst behind it with @jump
 * @done: place in the ring up to which all is taken
 * @epsn, @kind, @off, @va, @rkey, @left: the message under way to it
 * @held: the receive it takes
 * @due: completions it must see
 * @dead: a receive failed and ended it
 * @sent: hashes of the messages it was given to send, @nsent of them; of the
 *	peer's it has received those up to @got
 */
struct sim_unrel {
	u32 psn;
	bool jump;
	u32 done;
	u32 epsn;
	u32 kind;
	u32 off;
	u64 va;
	u32 rkey;
	u32 left;
	struct sim_recv *held;
	struct sim_list due;
	bool dead;
	u64 *sent;
	u32 nsent;
	u32 got;
};

/**
 * struct sim_srq - a shared receive queue; its domain is nobody else's
 * @mem: a slot for each receive that the user has under way
 * @posted: those that nobody has taken yet
 * @cq: XRC: where all that it receives completes; NULL: not for XRC
 * @number: XRC: what packets name it by
 * @held: XRC: by packets for it
 * @limit: as the user armed it, 0: not; @limits_due, @limits: events
 */
struct sim_srq {
	struct xroce_rq rq;
	struct sim_node *node;
	struct sim_region *mem;
	struct sim_list posted;
	struct sim_cq *cq;
	u32 number;
	u8 pd;
	u32 depth;
	u32 prod;
	u32 stride;
	u32 max_sge;
	u32 slot_len;
	u32 nslots;
	u8 *busy;
	u64 wr_id;
	u32 limit;
	u32 limits_due;
	u32 limits;
	u32 held;
};

/**
 * struct sim_ah - an address handle, and what it must put on the wire
 * @group: where @to is NULL
 */
struct sim_ah {
	struct sim_ah *next;	/* of those destroyed */
	struct xroce_ah ah;
	u32 number;
	struct sim_node *to;
	u32 group;
	bool v6;
	bool foreign;		/* of another domain */
	bool dead;
	u8 tclass;
	u8 hop;
	u32 flow;
	u16 sport;
};

/**
 * struct wire_rec - what the wire has shown of one request packet
 * @starts: READ: bit n: it was delivered asking from the nth response on
 * @answered: responses sent, in their first turn
 * @follow: READ: the response that may follow as MIDDLE or LAST
 * @msn: MSN of the responder once it is executed
 */
struct wire_rec {
	u32 psn;
	u32 npsn;
	u8 op;
	bool rd;
	bool atomic;
	u32 hash;
	u32 rkey;
	u32 len;
	u64 va;
	u64 starts;
	u32 answered;
	u32 follow;
	u32 msn;
};

struct wire_fifo {
	struct wire_rec *rec;
	u32 head;
	u32 tail;
	u32 size;
};

/**
 * struct wire - one direction of a connection as an observer sees it
 *
 * Requests go from the end that holds it, answers come back to it.
 * @una, @max: sent and not acknowledged, by what was delivered
 * @next: the PSN to follow, unless one goes back; after the oldest the last, @asks, or @follows it
 * @in_msg, @msg, @left: inside a SEND or WRITE message from there, bytes of the WRITE to come
 * @since: when the observer's ACK timer began, 0 when nothing is outstanding
 * @expiries: how often it ran out without progress
 * @rnrs: RNR NAKs without progress
 * @rnr_until: nothing may be sent before; @rnr_wait: nor has been since
 * @nak: fatal syndrome that came back, 0 for none
 * @epsn, @msn: responder: what must have been executed, by what was delivered
 * @answered: responder: PSN of the last data sent in its first turn
 * @owed: responder: index in @got of the first request to be answered with data
 * @gap, @rnr: a NAK is in order; @gap_nak: it was sent
 * @recvs: receives consumed
 * @acks: answers sent without data
 */
struct wire {
	u32 una;
	u32 next, asks, follows;
	u32 max;
	u32 in_msg, msg, left;
	struct wire_fifo sent;
	u64 since;
	u32 expiries;
	u32 rnrs;
	u64 rnr_until;
	bool rnr_wait;
	u8 nak;
	u64 requests;
	u64 retrans;
	u32 epsn;
	u32 msn;
	u32 answered;
	u32 owed;
	bool gap;
	bool gap_nak;
	bool rnr;
	u8 fatal;
	u32 recvs;
	u64 acks;
	struct wire_fifo got;
};

enum sim_ep_state {
	SIM_EP_DOWN, SIM_EP_UP,
	SIM_EP_FAILED,		/* in ERR; what completes is flushed */
	SIM_EP_SQE,		/* so is what is sent, and nothing else */
};

/**
 * struct sim_ep - one end of a connection: a QP, its user and its model
 * @expect_err: its user or its responder has moved it to ERR
 * @first_err: status of the first failed send
 * @sqd: its user waits for the send queue to be drained, and then for a while;
 *	@sqd_event: for the event; @drained: it has come
 * @cnp_owed, @cnp_next: a notification is due; none before; @mark_may: of no room
 * @no_frame: how often a frame was refused, or dropped, in this run
 * @av: the path, and what it must look like
 */
struct sim_ep {
	struct xroce_qp qp;
	struct xroce_rq rq;
	struct sim_srq *srq;
	struct sim_node *node;
	struct sim_conn *conn;
	struct sim_ep *peer;
	struct sim_cq *scq;
	struct sim_cq *rcq;
	u32 idx;
	enum sim_ep_state state;
	bool expect_err;
	bool flushing;		/* a receive has been flushed */
	u8 first_err;
	u8 recv_err;		/* status of a receive that failed, not flushed */
	u8 transport;
	bool xrc;		/* @transport is XROCE_RC */
	bool any_srqn;		/* is to name a queue that is not its peer's */
	bool sqd, sqd_event, drained;
	bool cnp_owed, mark_may;
	u32 no_frame;
	u64 cnp_next;
	u32 qkey;
	u32 groups;		/* 1 << group */
	struct xroce_av av;
	struct sim_unrel u;
	/* rings as the user sees them */
	u32 sq_depth;
	u32 sq_prod;
	u32 rq_depth;
	u32 rq_prod;
	u32 max_sge;
	u32 max_inline;
	u32 stride;
	u32 rstride;
	bool sig_all;
	/* attributes */
	u8 timeout;
	u8 retry_cnt;
	u8 rnr_retry;
	u8 min_rnr;
	u32 max_rd;
	u32 max_dest_rd;	/* 0: what the peer has as max_rd */
	u32 mtu;
	u32 msg_max;		/* longest SEND that it receives */
	/* model */
	struct sim_list ops;
	struct sim_list dead;	/* that failed */
	struct sim_list msgs;	/* that I receive */
	struct sim_list recvs;
	struct sim_region *loc;
	struct sim_region *rem;	/* for the peer's use */
	struct sim_region *rcv;
	struct sim_key keys[4];
	u32 nkeys;
	u64 atom[SIM_ATOMS];	/* of rem, after all that was posted */
	u64 wr_id;
	u64 rwr_id;
	struct wire wire;	/* my requests */
	/* env */
	u64 timer_at;
	u64 timer_gen;
	bool in_xmit;
	bool defer_pending;
	u32 defer_cpu;
	u32 events;		/* 1 << enum xroce_event */
	u32 event[XROCE_EVENT_LAST_WQE + 1];
};

struct sim_conn {
	struct sim_ep ep[2];
	u32 idx;
	bool v6;
	u8 mtu_shift;
	u8 transport;
	bool xrc;
	bool doomed;		/* is to be closed */
	bool closing;
	bool flush;
	bool drained;
	struct sim_conn *next;
};

struct sim_node {
	struct xroce_dev dev;
	u32 idx;
	struct sim_ep *qp[SIM_TAB];
	struct sim_region *mr[SIM_TAB];
	struct sim_cq *cqs;
	struct sim_region *shared;	/* counters for all */
	u64 shared_done[SIM_ATOMS];	/* successful adds */
	u64 shared_maybe[SIM_ATOMS];	/* adds that may have happened */
	u8 *shared_seen[SIM_ATOMS];
	u64 cnt[XROCE_CNT_MAX];
	u64 due[XROCE_CNT_MAX];		/* as far as the model knows them */
	struct sim_ah *ah[SIM_AHS];
	struct sim_srq *srq[SIM_SRQS];
	struct sim_srq *xsrq[SIM_SRQS];
	u64 link_free;			/* egress: when the last byte is out */
	u64 in_free;			/* ingress of a limited link */
	u64 in_queue;			/* bytes that the last packet met */
	u64 in_drops;
	u64 in_pkts;
	u64 path_last[2][SIM_MAX_NODES];	/* by ring */
	u8 pd;
	u8 other_pd;
	u8 gid4[16];
	u8 gid6[16];
};

/* A packet on its way, from the IP header to the ICRC. */
struct sim_pkt {
	struct sim_node *to;
	struct sim_ep *ep;		/* that it is for, NULL: see the packet */
	u32 len;
	u16 vlan;
	bool v6;
	bool ce;
	bool corrupted;
	bool forged;
	u8 *buf;
};

/* What a frame is in the environment. */
struct sim_frame {
	struct xroce_frame f;
	struct sim_ep *ep;		/* whose; NULL: the device has seen it */
	u8 *mem[2];
};

struct sim_world {
	struct sim_cfg cfg;
	u64 seed;
	u32 nnodes;
	struct sim_node *node[SIM_MAX_NODES];
	struct sim_conn *conns;
	struct sim_region *regions;
	struct sim_ah *old_ahs;
	u32 nconns;
	u64 ops_done;
	u64 ops_failed;
	u64 ops_posted;
	u64 pkts;
	u64 reconnects;
	u64 retry_exc;
	u64 rnr_exc;
	u32 frames;		/* alive */
	u32 depth;		/* of calls into each other */
	bool checks_off;	/* hostile traffic: only safety is checked */
	bool net_off;		/* nothing is delivered */
	/* A scenario's say: how many of a burst are taken, and is a packet dropped. */
	u32 (*take)(struct sim_ep *ep, struct xroce_frame **f, u32 n);
	void (*unlocked)(const spinlock_t *l);	/* what waited for a lock */
	bool (*drop)(struct sim_ep *from, const u8 *buf, u32 len, const struct xroce_pkt *p);
	u64 ops_wanted, users_pace;
	u64 last_done;		/* when something was last completed */
	u64 last_count;
};

extern struct sim_world *W;
extern bool sim_verbose;

/* env.c */
void sim_env_check_idle(void);
bool sim_step(void);
void sim_run_until(u64 t);
void sim_env_free_pkt(struct sim_pkt *pkt);
u64 sim_count(enum xroce_counter c);
void sim_count_is(enum xroce_counter c, const char *name, u64 want);
#define is(name, want) sim_count_is(XROCE_CNT_##name, #name, want)
void sim_core_enter(void);
void sim_core_leave(void);
void sim_raw_rx(struct sim_node *n, const u8 *buf, u32 len, bool ce);
bool sim_ce(const u8 *buf);
bool sim_drop_all(struct sim_ep *from, const u8 *buf, u32 len, const struct xroce_pkt *p);

/* clock.c: how long the core runs, and what it calls does not count. */
#ifdef SIM_CLOCK
void sim_clock_go(void);
bool sim_clock_stop(void);
void sim_clock_back(const bool *was);
#else
static inline void sim_clock_go(void)
{
}

static inline bool sim_clock_stop(void)
{
	return false;
}

static inline void sim_clock_back(const bool *was)
{
	(void)was;
}
#endif

/* At the head of what the core calls: until its end, the clock stands. */
#define SIM_OUTSIDE() \
	bool sim_was __attribute__((cleanup(sim_clock_back), unused)) = \
		sim_clock_stop()

/* net.c */
void sim_net_send(struct sim_ep *ep, const u8 *buf, u32 len, bool loop);
u32 sim_put_len(u8 *b, u32 len);
void sim_put_bth(u8 *bth, u8 opcode, u32 qpn, u32 psn);
void sim_net_answer(struct sim_ep *ep, u32 psn, u8 syndrome);

/* wire.c: the independent observer of frames. */
bool wire_icrc_ok(const u8 *buf, u32 len);
void wire_icrc_set(u8 *buf, u32 len);
bool wire_valid(const struct sim_pkt *pkt);
void wire_reset(struct sim_ep *ep, u32 psn);
void wire_tx(struct sim_ep *ep, const struct xroce_frame *f, const u8 *buf, u32 len);
void wire_rx(struct sim_ep *ep, const u8 *buf, u32 len);
void wire_free(struct sim_ep *ep);
void wire_timer(struct sim_ep *ep);
bool wire_retry_exceeded(struct sim_ep *ep);
bool wire_rnr_exceeded(struct sim_ep *ep);
bool wire_intact(const struct sim_pkt *pkt);
void wire_marked(struct sim_ep *ep, const u8 *buf);
void wire_check_l3(struct sim_ep *ep, const u8 *buf, u32 len, const u8 *from, const u8 *to);
void wire_check_l2(struct sim_ep *ep, const struct xroce_frame *f, const struct xroce_av *av);
void wire_describe(const u8 *buf, u32 len, char *s, size_t n);

/* mem.c: memory and its shadow. */
struct sim_region *sim_region_new(struct sim_node *n, u64 len, u32 access, const void *pd);
void sim_region_free(struct sim_region *r);
void sim_region_name(struct sim_node *n, struct sim_region *r);
u64 sim_region_addr(const struct sim_region *r, u64 off);
bool sim_take(struct sim_region *r, u32 len, u32 align, struct sim_piece *p);
void sim_give(struct sim_piece *p);
void sim_write(struct sim_region *r, u64 off, const void *src, u32 len);
void sim_read(const struct sim_region *r, u64 off, void *dst, u32 len);
bool sim_equal(const struct sim_region *r, u64 off, const void *p, u32 len);
void sim_expect(struct sim_region *r, u64 off, u32 len, const char *what);
void sim_settle(struct sim_region *r, u64 off, u32 len, const u8 *now, const char *what);
void sim_scribble(struct sim_region *r, u64 off, u32 len);
void sim_region_verify(struct sim_region *r);

/* keys.c: work requests that send nothing, and what they do to keys. */
bool sim_wr_is_local(u8 wr);
void sim_keys_new(struct sim_ep *ep);
void sim_keys_look(struct sim_ep *ep);
void sim_keys_before(struct sim_ep *ep, const struct sim_op *op);
void sim_keys_drained(struct sim_ep *ep);
void sim_keys_quiet(struct sim_ep *ep);
void sim_key_over(struct sim_op *op);
void sim_key_ended(struct sim_ep *ep, struct sim_key *k);
struct sim_key *sim_key_for(struct sim_ep *ep, u64 off, u32 len, u32 right);
bool sim_key_local(struct sim_ep *ep, const struct sim_piece *p, struct xroce_sge *sge);
struct sim_key *sim_key_to_end(struct sim_ep *ep, bool fence);
struct sim_key *sim_key_named(struct sim_ep *ep, u32 rkey);
bool sim_post_key(struct sim_ep *ep);

/* unrel.c: UC and UD: what must leave, and what must come of what arrives. */
void unrel_reset(struct sim_ep *ep, u32 psn, u32 epsn);
void unrel_tx(struct sim_ep *ep, const struct xroce_frame *f, const u8 *buf, u32 len);
struct sim_op *unrel_current(const struct sim_ep *ep);
void unrel_idle(struct sim_ep *ep);
void unrel_expect(const struct sim_pkt *pkt);
void unrel_check(void);
struct sim_op *sim_op_of(struct sim_ep *ep, const struct xroce_cqe *cqe,
			 void (*silent)(struct sim_ep *ep, struct sim_op *op));
void unrel_send_done(struct sim_ep *ep, const struct xroce_cqe *cqe);
bool unrel_recv_done(struct sim_ep *ep, const struct xroce_cqe *cqe);
void unrel_finish(struct sim_ep *ep, bool flushed);
void unrel_drop(struct sim_ep *ep);
void unrel_quiet(void);
void unrel_forget(struct sim_ep *ep);
u64 unrel_hash(bool write, bool imm, __be32 v, u32 len, const u8 *data);

/* dgram.c: posting for UC and UD, address handles, groups. */
struct sim_op *unrel_post(struct sim_ep *ep, const struct sim_opt *opt);
void unrel_post_random(struct sim_ep *ep);
struct sim_ah *sim_ah_new(struct sim_node *n, struct sim_node *to, u32 group,
			  bool v6);
void sim_ah_destroy(struct sim_node *n, u32 i);
void sim_ahs_new(struct sim_node *n);
void sim_gid_of(const struct sim_node *n, u32 group, bool v6, u8 gid[16]);
bool unrel_recover(struct sim_ep *ep);
struct sim_op *unrel_post_bad(struct sim_ep *ep);

/* srq.c */
struct sim_srq *sim_srq_new(struct sim_node *n, u32 depth, u32 max_sge,
			    u32 slot_len);
void sim_srq_free(struct sim_srq *srq);
struct sim_recv *sim_srq_post(struct sim_srq *srq, u32 len, u32 nsge);
void sim_srq_fill(struct sim_srq *srq);
void sim_srq_arm(struct sim_srq *srq, u32 limit);
void sim_srq_resize(struct sim_srq *srq, u32 depth);
struct sim_srq *sim_xsrq(struct sim_node *n);
const void *sim_ep_pd(const struct sim_ep *ep);
struct sim_recv *sim_srq_took(struct sim_srq *srq);
void sim_recv_free(struct sim_recv *rv);

/* node.c: nodes, queues, connections, and the user's side of the rings. */
struct sim_cfg sim_plain(void);
void sim_world_new(const struct sim_cfg *cfg, u64 seed);
void sim_world_free(void);
struct sim_cq *sim_cq_new(struct sim_node *n, u32 depth);
struct sim_conn *sim_conn_new(struct sim_node *a, struct sim_node *b);
void sim_connect(struct sim_conn *c, bool drained);
void sim_ep_modify(struct sim_ep *ep, struct xroce_attr *attr, u32 mask);
void sim_ep_state(struct sim_ep *ep, u8 state);
void sim_ep_reset(struct sim_ep *ep);
void sim_doorbell(struct sim_ep *ep);
struct xroce_send_wqe *sim_sq_slot(struct sim_ep *ep);
bool sim_sq_full(const struct sim_ep *ep);
void sim_sq_push(struct sim_ep *ep, bool more);
struct xroce_recv_wqe *sim_rq_slot(struct sim_ep *ep);
bool sim_rq_full(const struct sim_ep *ep);
void sim_rq_push(struct sim_ep *ep);
void sim_cq_arm(struct sim_cq *cq, u8 arm);
struct sim_ep *sim_find_ep(struct sim_node *n, u32 qpn);

/* model.c: operations and what becomes of them. */
void sim_list_init(struct sim_list *l);
void sim_list_add(struct sim_list *l, void *item);
void *sim_list_pop(struct sim_list *l);
void sim_poll(struct sim_cq *cq);
void sim_poll_all(void);
void sim_finish_failed(struct sim_conn *c, bool flushed);
void sim_check_shared(void);
void sim_op_release(struct sim_op *op);
void sim_recv_release(struct sim_recv *rv);

/**
 * struct sim_opt - what to post
 * @more: another one follows at once: do not show it to the core yet
 * @status: how it is to end, 0 for success
 * @maybe: how it may end instead
 * @recv_status: and the receive that it consumes
 * @partial: with @status: some of it may be done before it fails
 * @tweak: makes the work request wrong
 * @src: local pieces of the one before: they hold what it has read
 * @dst: remote piece of the one before: it holds what that has written
 * @ah, @qpn, @qkey: UD: where to; NULL, 0: anywhere
 * @bad_rkey: UC: WRITE to where nobody may
 */
struct sim_opt {
	u8 wr;
	u32 len;
	u32 nsge;
	bool is_inline;
	bool not_inv;		/* SEND with invalidate: of what may not be */
	bool fence;
	bool signaled;
	bool solicited;
	bool shared;
	bool more;
	u8 status;
	u8 maybe;
	u8 recv_status;
	bool partial;
	void (*tweak)(struct sim_ep *ep, struct xroce_send_wqe *wqe);
	struct sim_op *src;
	struct sim_op *dst;
	struct sim_ah *ah;
	u32 qpn, qkey;
	bool bad_rkey;
};

/* post.c: work requests, random and made to order. */
bool sim_take_pieces(struct sim_region *r, u32 len, u32 n, struct sim_piece *p);
struct sim_op *sim_post(struct sim_ep *ep, const struct sim_opt *opt);
struct sim_region *sim_post_inv(struct sim_ep *ep, u32 flags);
void sim_post_random(struct sim_ep *ep);
bool sim_post_recv(struct sim_ep *ep, u32 len, u32 nsge);
void sim_post_recvs(struct sim_ep *ep);
u32 sim_random_len(struct sim_ep *ep, u32 max_len);

/* random.c: users that do anything, for all scenarios that want traffic. */
void sim_users_start(u64 ops);
void sim_drain(void);
void sim_verify_quiet(void);
void sim_close_begin(struct sim_conn *c, bool flush);
void sim_close_end(struct sim_conn *c);

/**
 * struct sim_scenario - one line of the report
 * @run: one world
 * @ops: operations to be done in all worlds together, 0: @worlds says
 * @from: run from so many per cent of the volume on, or by name; ~0: a goal not reached yet
 */
struct sim_scenario {
	const char *name;
	const char *text;
	void (*run)(u64 seed);
	u64 ops;
	u32 worlds;
	u32 from;
};

/* exact.c: two nodes and one connection, on a network that is told what to do. */
struct sim_conn *sim_pair(const struct sim_cfg *cfg);
void sim_settle_all(u64 limit);
void sim_post_n(struct sim_ep *ep, u32 n);
void sim_post_one(struct sim_ep *ep, u8 wr, u32 len);
void sim_finish(void);

extern const struct sim_scenario sim_exact_scenarios[], sim_error_scenarios[],
	sim_other_scenarios[], sim_service_scenarios[], sim_ecn_scenarios[], sim_random_scenarios[],
	sim_pace_scenarios[], sim_owed_scenarios[], sim_room_scenarios[], sim_asked_scenarios[],
	sim_crowd_scenarios[], sim_annex_scenarios[], sim_lost_scenarios[], sim_late_scenarios[];
/* Operations that the worlds of a scenario have completed. */
extern u64 sim_total_ops;
void sim_bench(void);

#endif /* SIM_H */
