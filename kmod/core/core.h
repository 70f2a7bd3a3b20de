/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The transport core: its objects, what it offers and what it needs. The core knows no kernel:
 * "xroce_env.h" names types, locks and atomics, and the xroce_env_*() below and in it are all
 * it reaches the world by. The module supplies both; so does the simulator.
 *
 * Contexts: everything here is called with BH off unless it says otherwise.
 * Order of locks: qp->lock, then rq->lock, then cq->lock. Never two of a kind.
 */
#ifndef XROCE_CORE_H
#define XROCE_CORE_H

#include "xroce_env.h"
#include <rdma/xroce-abi.h>
#include <xroce/counters.h>
#include <xroce/hot.h>
#include <xroce/icrc.h>
#include <xroce/known.h>
#include <xroce/parse.h>

#define XROCE_MAX_SGE		32
#define XROCE_MAX_INLINE	1024
#define XROCE_MAX_RD_ATOMIC	128
#define XROCE_BATCH		16	/* frames staged at a time */
#define XROCE_GRH_LEN		40	/* before a datagram, in its buffer */
#define XROCE_MAX_MTU		4096
#define XROCE_NO_VLAN		0xffff
#define XROCE_LKEY_KERNEL	0	/* all memory, for a trusted QP */

/* Values of enum ib_access_flags. */
#define XROCE_LOCAL_WRITE	(1 << 0)
#define XROCE_REMOTE_WRITE	(1 << 1)
#define XROCE_REMOTE_READ	(1 << 2)
#define XROCE_REMOTE_ATOMIC	(1 << 3)
#define XROCE_MW_BIND		(1 << 4)
#define XROCE_ZERO_BASED	(1 << 5)
#define XROCE_ACCESS_FLUSH	(1 << 8)	/* global visibility */
#define XROCE_REMOTE		(XROCE_REMOTE_WRITE | XROCE_REMOTE_READ | \
				 XROCE_REMOTE_ATOMIC)

/**
 * struct xroce_dev - what the core knows of a link
 * @cwnd_init: window of a new connection, packets
 * @cwnd_max: the most it grows to, packets
 * @cnp_gap: the least between two CNPs of a QP, ns
 * @less: than XROCE_BATCH so many are staged at a time, since it took no more: a hint
 * @turn: of QPs that send by the wire, and of those to this host: who waits for room
 *	since then is the next to be given any; 0: nobody
 * @count: counters, where the environment has them on each CPU
 */
struct xroce_dev {
	u32 cwnd_init;
	u32 cwnd_max;
	u32 cnp_gap;
	u32 less;
	u64 turn[2];
	u64 __percpu *count;
};

/* A kernel consumer's alone: values of enum ib_wr_opcode and ib_wc_opcode. */
#define XROCE_WR_REG_MR		0x20
#define XROCE_WC_REG_MR		10

enum xroce_mr_kind {
	XROCE_MR,		/* registered by a verb, ended by one */
	XROCE_MR_FAST,		/* registered by work requests */
	XROCE_MW_1,		/* window of type 1: any QP of its domain */
	XROCE_MW_2,		/* type 2B: the QP that it was bound by */
};

enum xroce_key_state {
	XROCE_KEY_INVALID,
	XROCE_KEY_VALID,
	XROCE_KEY_BUSY,		/* one CPU is changing it, and will not be long */
	XROCE_KEY_GONE,
};

/**
 * struct xroce_mr - registered memory or a window of it, found by its key through
 *	xroce_env_mr()
 * @key: L_Key and R_Key: 24 random bits of index, 8 bits that the user steps
 * @state: &enum xroce_key_state; who makes it BUSY owns all that follows @users
 * @kind: &enum xroce_mr_kind
 * @users: placements under way, but of an XROCE_MR: xroce_env_use(); who revokes spins
 *	until there are none, for one packet's copy, since users run with BH off
 * @pd: protection domain, compared only
 * @qpn: XROCE_MW_2: the QP that it was bound by; XROCE_MR_FAST: whose peer @ended that key
 * @iova: first address as peers and work requests name it
 * @offset: bytes of the first block before @iova
 * @page: kernel addresses of the blocks, 1 << @page_shift bytes each
 * @spare: XROCE_MR_FAST: a list as long, for the next registration
 * @parent: of a window that is bound: the region, which @page is of
 * @windows: windows bound to it, -1: and none may be any more
 *
 * Freed by its owner a grace period after xroce_mr_end().
 */
struct xroce_mr {
	u32 key;
	u32 state;
	u8 kind;
	atomic_t users;
	u32 access;
	u8 page_shift;
	u32 qpn, ended;
	const void *pd;
	u64 iova, length;
	u64 offset;
	void **page, **spare;
	struct xroce_mr *parent;
	atomic_t windows;
};

/**
 * struct xroce_cq - a completion queue's core part
 * @lock: irqsave, held to write one element or, by a resize, to move the last of them
 * @mask: depth - 1
 * @prod: the true producer index; the ring's copy is for the user
 * @seen: the consumer's index, read again only where there is no room by this one
 * @solicited: one past the last that an event was asked for by its sender, or an error
 * @told, @told_cons: @prod, and the consumer's index as far as known, at the last event
 * @stamped, @clock: its user wants to know when, by a clock so many ns ahead; fixed
 */
struct xroce_cq {
	spinlock_t lock;		/* all but dev and what is fixed; slots */
	u32 mask;
	u32 prod, seen;
	u32 solicited;
	u32 told, told_cons;
	bool overrun, stamped;
	u64 clock;
	struct xroce_ring *ring;
	struct xroce_dev *dev;
};

/* The copy of a receive work request. */
struct xroce_rwqe {
	u64 wr_id;
	u32 num_sge;
	u32 len;
	struct xroce_sge sge[XROCE_MAX_SGE];
};

/**
 * struct xroce_rq - a receive queue, a QP's own or shared
 * @lock: BH, held to copy one element, or to exchange the ring
 * @cons: the true consumer index
 * @prod: the producer's, read again where there is none left, or a @limit
 * @pd: whose memory its requests may name; NULL: the QP's
 * @limit: shared: xroce_env_srq_limit() once when fewer are left, 0: never
 * @xrcd: XRC: its domain, compared only; else NULL
 * @cq: XRC: where what it receives completes
 */
struct xroce_rq {
	spinlock_t lock;		/* cons, prod, limit, ring, mask */
	u32 mask;
	u32 stride;
	u32 max_sge;
	u32 cons, prod;
	u32 limit;
	const void *pd;
	const void *xrcd;
	struct xroce_cq *cq;
	struct xroce_ring *ring;
};

/**
 * struct xroce_av - the path to a peer
 * @l3: IP and UDP header to send, lengths and IPv4 checksum left 0
 * @l2: link-layer header to send, which the env alone knows
 * @l3_len: 28 or 48
 * @l2_len: at most sizeof(@l2)
 * @route: &enum xroce_route
 * @prio: service level
 * @vid: VLAN above the link's netdev that it is by, or 0
 * @csum: IPv4: the sum of the header so far, for the checksum
 * @len: of the last packet sent, from the IP header on
 * @bth: what stood in its BTH before the PSN
 * @crc: its ICRC up to the PSN: that of all packets of this length and @bth
 */
struct xroce_av {
	u8 l3[48];
	u8 l2[18];
	u16 vid;
	union {
		struct {
			u8 l2_len;	/* these four in the order of a frame */
			u8 l3_len;
			u8 route;
			u8 prio;
		};
		u32 as_one;
	};
	u16 csum;
	u32 len;
	u32 crc;
	u64 bth;
};

enum xroce_route {
	XROCE_ROUTE_WIRE,
	XROCE_ROUTE_HOST,	/* back to this host */
	XROCE_ROUTE_BOTH,	/* a group */
	XROCE_ROUTE_NONE,	/* no way any more, as the env finds out: lost */
};

/**
 * struct xroce_ah - an address handle, found by xroce_env_ah()
 * @pd: protection domain, compared only
 */
struct xroce_ah {
	const void *pd;
	struct xroce_av av;
};

/**
 * struct xroce_seg - contiguous bytes of a frame
 */
struct xroce_seg {
	u8 *p;
	u32 len;
};

enum xroce_frame_kind {
	XROCE_FRAME_REQ,
	XROCE_FRAME_RD_RESP,	/* READ response or atomic ACK */
	XROCE_FRAME_ACK,	/* ACK or NAK of any kind */
	XROCE_FRAME_CNP,
};

/**
 * struct xroce_staged - of a frame, what outlives it until the device has said
 *	whether it took it
 * @psn: what to step back to if not
 * @since: XROCE_FRAME_REQ: packets before it since the last one that asked for an ACK
 * @acks: XROCE_FRAME_ACK: up to where it acknowledges, READs and atomics apart
 * @kind: enum xroce_frame_kind
 * @slot: XROCE_FRAME_RD_RESP: index in xroce_resp.rd
 * @syndrome: XROCE_FRAME_ACK: what it says
 * @again: XROCE_FRAME_REQ: what counts it, was it sent before; else of &struct xroce_rd
 */
struct xroce_staged {
	u32 psn;
	u32 since;
	u32 acks;
	u8 kind;
	u8 slot;
	u8 syndrome;
	u8 again;
};

/**
 * struct xroce_frame - one packet on its way out, from the IP header to the ICRC
 * @seg: its bytes, all of the length asked for; the first is at least 128 bytes
 *	or all; the env keeps room for a link-layer header before it
 * @payload: where the payload begins in it
 * @is: what it is
 * @l2_len: bytes of link-layer header before the first segment
 * @bth: where the BTH stands in it
 * @route, @prio: as in &struct xroce_av
 * @ackreq: ask for an ACK; goes into the BTH when the frame is sealed
 * @crc: the ICRC up to the PSN
 *
 * Made by xroce_env_frame(); given up to xroce_env_xmit() or xroce_env_frame_free().
 */
struct xroce_frame {
	struct xroce_seg seg[2];
	u32 len;
	u32 payload;
	struct xroce_staged is;
	union {
		struct {
			u8 l2_len;
			u8 bth;
			u8 route;
			u8 prio;
		};
		u32 as_one;
	};
	bool ackreq;
	u32 crc;
};

/**
 * struct xroce_swq - what the requester knows of a copied send work request
 * @psn: first PSN; defined once @started
 * @npsn: PSNs it takes
 * @len: message length in bytes
 * @status: not 0: it fails with this once all before it have completed
 * @piece: of a READ: how many packets are asked for at once, a power of two
 * @plain: a SEND or WRITE without a fence, as most are: it waits for nothing
 */
struct xroce_swq {
	u32 psn;
	u32 npsn;
	u32 len;
	u8 status, piece;
	bool started, plain;
};

/**
 * struct xroce_req - requester; guarded by the QP's lock
 * @ring, @depth, @stride, @max_sge, @max_inline: fixed at creation
 * @polled: somebody looks at the ring all the time: no doorbell is asked for
 * @trusted: of a kernel consumer, whose requests may name kernel addresses
 * @wqe: the copies of work requests [@head, @tail), @depth slots of @stride
 * @swq: their state, same indices
 * @head: oldest not completed
 * @cur: next to send from; head <= cur <= tail
 * @tail: next to copy from the ring
 * @rd_end: one past the last PSN of each READ or atomic request outstanding, a
 *	FIFO [@rd_head, @rd_tail) over XROCE_MAX_RD_ATOMIC entries
 * @total: what the device had taken when the timer last expired for want of room
 * @waiting: since when nothing new was heard of what is outstanding, ns; 0: none is
 * @asked: the last packet has gone again meanwhile, to ask for an ACK
 * @asking: the next packet is that one, or the oldest and then that one
 * @rtt: how long answers take, as xroce_comp_timed() has it, ns, 0: none has come
 * @timing: since when one to the PSN @timed is waited for, 0: none is; @early: it has asked
 * @dry: in this run no more was found in the ring, and who posts now comes with a doorbell
 * @since_ackreq: packets since the last one that asked; @local: of a request done here, which
 *	takes none, the completion is waited for behind them
 * @rnr_until: nothing is sent before, ns, 0 when not waiting
 * @pace: of a QP with a rate limit: 2^-20 ns a byte; else 0
 * @free_at: what it has sent takes until then, ns
 * @nak_psn: the PSN that was last gone back to, @recovering times, and has not been passed
 *	since (valid unless that is 0); keeps one loss from causing many rewinds
 * @nak_told: that of the response that last showed one before it lost, or last sent at a NAK
 * @cwnd, @ssthresh, @cwnd_cnt, @recover: see cc.c
 * @srqn: XRC: of the request being built
 * @cpu: where what is out leaves from, or whose queue it keeps to
 * @away: in this run that was not here
 */
struct xroce_req {
	struct xroce_ring *ring;
	u32 depth, stride;
	u32 max_sge, max_inline;
	bool sig_all;
	bool polled;
	bool trusted;
	u8 *wqe;
	struct xroce_swq *swq;
	u32 head, cur, tail;
	u32 rd_end[XROCE_MAX_RD_ATOMIC];
	u32 rd_head, rd_tail;
	u32 max_rd_atomic;
	u64 timeout;
	u64 total;
	u64 waiting;
	u64 rtt, timing;
	u64 rnr_until;
	u64 pace;
	u64 free_at;
	u32 nak_psn, nak_told, timed;
	u8 recovering;
	u8 retry_cnt, retries, rnr_retry, rnr_retries;
	u32 cwnd, ssthresh;
	u32 cwnd_cnt;
	u32 recover;
	u32 since_ackreq;
	u32 srqn, cpu;
	enum { XROCE_ASK_NOT, XROCE_ASK_LAST, XROCE_ASK_BOTH } asking;
	bool asked, early, dry, away, local;
};

enum xroce_rd_state {
	XROCE_RD_FREE,
	XROCE_RD_DONE,		/* answered; kept for duplicates */
	XROCE_RD_ACTIVE,	/* to be answered, from @next on */
};

/**
 * struct xroce_rd - a READ, atomic or the like that the responder has accepted
 * @kind: XROCE_OP_READ, _ATOMIC, _FLUSH or _ATOMIC_WRITE
 * @pd: whose memory a READ reads
 * @again: it had been answered in full before it became active
 * @owes: what its response is to acknowledge, too, XROCE_PSN_NONE: nothing
 * @psn, @npsn: the PSNs of its responses
 * @start, @stop: those asked for last: a duplicate may ask for a part
 * @next: PSN of the next response to send
 * @msn: MSN to send with it
 * @value: atomic: the original value
 */
struct xroce_rd {
	u8 state;
	bool again;
	u32 kind;
	u32 psn;
	u32 npsn;
	u32 start;
	u32 stop;
	u32 next;
	u32 msn;
	u32 owes;
	u32 rkey;
	u32 len;
	u64 va;
	u64 value;
	const void *pd;
};

/**
 * struct xroce_resp - responder; guarded by the QP's lock
 * @rd: the last READs and atomics, a ring of @max_rd entries; the next one goes
 *	to @rd_tail, where the oldest is
 * @rd_active: how many are XROCE_RD_ACTIVE; they are answered in PSN order, by @cpu, where
 *	the first came in, as is what follows until @follows, ns, 0: long ago
 * @rd_end: where the READs and atomics accepted last in a row end, @rd_before: the
 *	PSN before them, @rd_msn: the MSN then
 * @nak: syndrome to send instead of an ACK, 0 when none; goes once to @nak_psn
 * @fatal: the end has come: no request is heard any more, and the next run takes
 *	the QP to ERR, when @nak, if any, has left behind the responses before it
 * @min_rnr: code of the RNR timer to ask for
 * @cnp: congestion is to be reported; not before @cnp_next, ns
 * @mark: there was no room for a READ response: the next one bears a mark of congestion
 * @pace, @free_at: of these, as the requester's; halved at @slowed, since when some have
 *	@answered, or were @held; faster from @faster_at, ns
 * @wqe: the receive work request of the SEND under way; @wqe_held tells
 * @offset: bytes of the message placed so far
 * @va, @rkey, @left: the WRITE under way
 * @srqn: XRC: the queue that the message under way names
 * @pd: whose memory the peer may reach; XRC: that queue's
 */
struct xroce_resp {
	struct xroce_rd *rd;
	u32 max_rd, rd_tail;
	u32 rd_active, cpu;
	u32 rd_end, rd_before, rd_msn;
	u32 nak_psn;
	u8 nak, min_rnr;
	bool fatal, wqe_held;
	bool cnp, mark, answered, held;
	u64 cnp_next;
	u64 pace, slowed, faster_at, free_at, follows;
	struct xroce_rwqe *wqe;
	u32 offset;
	u32 rkey, left;
	u32 srqn;
	const void *pd;
	u64 va;
};

/**
 * struct xroce_qp - a queue pair's core part
 * @lock: BH; guards everything here but what is fixed at creation
 * @gen: changes with @av, whose comparison with a packet takes no lock, and every reset
 * @resets: how often it was reset: what the device has belongs to one life
 * @sending: someone is in xroce_qp_run() and sends for all
 * @again: someone else has come meanwhile, who leaves his work to the first
 * @nomem: a frame was not to be had; the run is tried again
 * @away: in this run requests or answers were left to one on another CPU
 * @full: runs in a row that found no room in the device, up to XROCE_FULL_MOST
 * @since: when it began to wait for room, 0: it does not
 * @answers: staged since requests had their turn
 * @user_handle: for its completions
 * @xrcd: XRC target: its domain, compared only. It sends nothing, and has @rq,
 *	@rcq and @resp.pd only while a request is executed: of the queue named
 * @established: XROCE_EVENT_COMM_EST has been raised
 * @sqd_notify: raise XROCE_EVENT_SQ_DRAINED when all that was begun is complete
 * @av: the path; of a UD QP that of the message under way
 * @head: IP header to BTH of the last packet built, whose length is in @av
 * @dead: destroyed: nothing is heard or sent any more
 * @verdict: what becomes of the packet under way, see &struct xroce_rx
 * @err_status, @err_nak: what ended it: the status of a work request, an
 *	&enum xroce_wc_status, the syndrome of a NAK to the peer; 0: neither
 * @count: what it counted in its life; of what it sent only its sender writes it
 *
 * Memory lives until a grace period after its owner's destroy.
 */
struct xroce_qp {
	spinlock_t lock;		/* BH; see above */
	struct xroce_hot hot;
	struct xroce_dev *dev;
	const void *pd;
	u64 user_handle;
	const void *xrcd;
	struct xroce_cq *scq, *rcq;
	struct xroce_rq *rq;
	bool srq;
	bool sending, again;
	bool nomem, away;
	bool established;
	bool sqd_notify;
	bool dead;
	u32 access;
	u32 gen, resets;
	u32 qkey;
	u16 pkey;
	u8 full, answers;
	u8 verdict;
	u8 err_status, err_nak;
	u64 since;
	u64 count[XROCE_CNT_MAX];
	struct xroce_av av;
	u8 head[48 + sizeof(struct xroce_bth)];
	struct xroce_req req;
	struct xroce_resp resp;
	struct xroce_frame *stage[XROCE_BATCH];
	struct xroce_staged staged[XROCE_BATCH];
};

/**
 * struct xroce_rx - a received packet
 * @l3: IPv4 or IPv6 header without options, UDP, and of the BTH and what follows
 *	min(@len, XROCE_MAX_HDR) bytes, all linear
 * @len: bytes from the BTH to the ICRC
 * @gen: of the QP when the addresses were compared with its own
 * @vlan: the tag it came with, priority and VLAN, or XROCE_NO_VLAN
 * @vid: VLAN above the link's netdev that it came by, or 0
 * @ce: the network marked congestion
 * @from: the QP of this host that it is of, never out of its memory: without an ICRC; or 0
 * @known: XROCE_KNOWN of them, this CPU's alone, or NULL
 * @is: the one of them that it begins as, or NULL
 * @whole: to be known of those that begin so, see &struct xroce_known
 * @verdict: what became of it, set by xroce_rx(): XROCE_CNT_RX_PKTS, or the
 *	counter of why it was dropped or not executed; to a group, by the last QP
 */
struct xroce_rx {
	struct xroce_pkt pkt;
	struct xroce_dev *dev;
	struct xroce_known *known;
	const struct xroce_known *is;
	const u8 *l3;
	u32 len;
	u32 whole;
	u32 gen;
	u32 from;
	u16 vlan;
	u16 vid;
	bool ce;
	u8 verdict;
};

enum xroce_io_kind {
	XROCE_IO_FRAME,		/* from memory into a frame */
	XROCE_IO_RX,		/* from a packet into memory */
	XROCE_IO_BUF,		/* from here into memory */
};

/**
 * struct xroce_io - the other side of a copy to or from registered memory
 * @kind: &enum xroce_io_kind, of @frame, @rx or @buf
 * @off: where to go on in it
 *
 * Handed on by value, in whole words: so it stays in registers, and off the stack.
 */
struct xroce_io {
	union {
		struct xroce_frame *frame;
		struct xroce_rx *rx;
		const u8 *buf;
	};
	u64 kind;
	u64 off;
};

/* What an asynchronous event is about. */
enum xroce_event {
	XROCE_EVENT_QP_FATAL,
	XROCE_EVENT_QP_REQ_ERR,
	XROCE_EVENT_QP_ACCESS_ERR,
	XROCE_EVENT_COMM_EST,
	XROCE_EVENT_SQ_DRAINED,
	XROCE_EVENT_LAST_WQE,
};

/* Values of enum ib_qp_attr_mask, as far as the core has use for them. */
enum xroce_attr_mask {
	XROCE_ATTR_STATE		= 1 << 0,
	XROCE_ATTR_SQD_NOTIFY		= 1 << 2,
	XROCE_ATTR_ACCESS		= 1 << 3,
	XROCE_ATTR_PKEY			= 1 << 4,
	XROCE_ATTR_QKEY			= 1 << 6,
	XROCE_ATTR_AV			= 1 << 7,
	XROCE_ATTR_PATH_MTU		= 1 << 8,
	XROCE_ATTR_TIMEOUT		= 1 << 9,
	XROCE_ATTR_RETRY_CNT		= 1 << 10,
	XROCE_ATTR_RNR_RETRY		= 1 << 11,
	XROCE_ATTR_RQ_PSN		= 1 << 12,
	XROCE_ATTR_MAX_RD_ATOMIC	= 1 << 13,
	XROCE_ATTR_MIN_RNR_TIMER	= 1 << 15,
	XROCE_ATTR_SQ_PSN		= 1 << 16,
	XROCE_ATTR_MAX_DEST_RD_ATOMIC	= 1 << 17,
	XROCE_ATTR_DEST_QPN		= 1 << 20,
	XROCE_ATTR_RATE			= 1 << 25,
};

/**
 * struct xroce_attr - QP attributes, as in struct ib_qp_attr
 * @path_mtu: bytes; of a UD QP the link's
 * @timeout: exponent: 4.096 us * 2^timeout, 0 is for ever
 * @rate: of what its send queue sends, kbit/s, 0: no limit
 * @rd: room for max_dest_rd_atomic entries, given to the QP by
 *	XROCE_ATTR_MAX_DEST_RD_ATOMIC; on return what it had, for the caller to free
 */
struct xroce_attr {
	u8 state;
	u8 timeout;
	u8 retry_cnt;
	u8 rnr_retry;
	u8 min_rnr_timer;
	bool sqd_notify;
	u16 pkey;
	u32 qkey;
	u32 access;
	u32 path_mtu;
	u32 dest_qpn;
	u32 rq_psn, sq_psn;
	u32 max_rd_atomic, max_dest_rd_atomic;
	u32 rate;
	struct xroce_rd *rd;
	struct xroce_av av;
};

/* qp.c: life and state. Process context, BH on. */
void xroce_qp_init(struct xroce_qp *qp);
int xroce_qp_modify(struct xroce_qp *qp, struct xroce_attr *attr, u32 mask);
void xroce_qp_kill(struct xroce_qp *qp);
/* qp.c: under the QP's lock. */
void xroce_qp_error(struct xroce_qp *qp);
void xroce_qp_send_error(struct xroce_qp *qp);
void xroce_qp_fatal(struct xroce_qp *qp);
void xroce_qp_flush(struct xroce_qp *qp);

/* tx.c */
void xroce_qp_run(struct xroce_qp *qp);
bool xroce_qp_away(struct xroce_qp *qp, u32 cpu);	/* under its lock */
void xroce_qp_timer(struct xroce_qp *qp);
/* net.c: under the QP's lock. */
struct xroce_frame *xroce_frame_new(struct xroce_qp *qp, u32 op, u32 psn, u32 ext_len,
				    u32 payload_len);

/* Copied at a time, and done ahead of what is not acknowledged. */
#define XROCE_PULL_MAX		1024u

/* sq.c, req.c: requester. Under the QP's lock. */
bool xroce_req_pull(struct xroce_qp *qp);
struct xroce_frame *xroce_req_next(struct xroce_qp *qp);
void xroce_req_rewind(struct xroce_qp *qp, u32 psn);
void xroce_req_untaken(struct xroce_qp *qp, const struct xroce_staged *f, bool looked);
void xroce_req_advance(struct xroce_qp *qp, u32 psn);
void xroce_req_arm(struct xroce_qp *qp);
bool xroce_req_timer(struct xroce_qp *qp, u64 now);
void xroce_req_early(struct xroce_req *req);
void xroce_req_complete(struct xroce_qp *qp, u8 status);
void xroce_req_fail(struct xroce_qp *qp, u8 status);
void xroce_req_drained(struct xroce_qp *qp);

/* comp.c: responses. Under the QP's lock. */
void xroce_comp_rx(struct xroce_qp *qp, struct xroce_rx *rx);
void xroce_comp_expired(struct xroce_qp *qp);

/* resp.c: responder. Under the QP's lock. */
void xroce_resp_rx(struct xroce_qp *qp, struct xroce_rx *rx);
u32 xroce_resp_execute(struct xroce_qp *qp, struct xroce_rx *rx);
bool xroce_xrc_begin(struct xroce_qp *qp, u32 srqn);
void xroce_xrc_end(struct xroce_qp *qp);
bool xroce_resp_no_access(struct xroce_qp *qp);
bool xroce_resp_recv(struct xroce_qp *qp);
void xroce_resp_recv_error(struct xroce_qp *qp, u8 status, u8 syndrome);
bool xroce_resp_complete(struct xroce_qp *qp, struct xroce_cqe *cqe, bool solicited);

/* answer.c: what the responder owes. Under the QP's lock. */
struct xroce_frame *xroce_resp_next(struct xroce_qp *qp);
void xroce_resp_stop(struct xroce_qp *qp);
struct xroce_rd *xroce_resp_move(struct xroce_qp *qp, struct xroce_rd *rd, u32 max);
void xroce_resp_marked(struct xroce_qp *qp);
void xroce_resp_untaken(struct xroce_qp *qp, const struct xroce_staged *f, bool looked);

/* dgram.c: datagrams to a UD QP. Under the QP's lock. */
void xroce_ud_rx(struct xroce_qp *qp, struct xroce_rx *rx);

/* rx.c */
void xroce_rx(struct xroce_rx *rx);
u32 xroce_rx_parse(struct xroce_rx *rx);
void xroce_rx_drop(struct xroce_rx *rx, u32 why);
bool xroce_rx_begin(struct xroce_qp *qp, struct xroce_rx *rx);
void xroce_rx_core(struct xroce_qp *qp, struct xroce_rx *rx);
void xroce_rx_end(struct xroce_qp *qp, struct xroce_rx *rx);
void xroce_rx_qp(struct xroce_qp *qp, struct xroce_rx *rx);

/* net.c */
void xroce_av_set(struct xroce_av *av, const u8 sgid[16], const u8 dgid[16],
		  u8 tclass, u8 hop_limit, u32 flow_label, u16 sport);
void xroce_av_set_hops(struct xroce_av *av, u8 hop_limit);
void xroce_frame_set_tos(struct xroce_frame *f, u8 tos);
u32 xroce_icrc_start(const u8 *l3);
void xroce_frame_icrc(struct xroce_frame *f);
void xroce_frame_write_parts(struct xroce_frame *f, u32 off, const u8 *src, u32 len);
void xroce_frame_seal(struct xroce_frame *f);
bool xroce_rx_icrc_ok(struct xroce_rx *rx);

/* cq.c */
void xroce_cq_init(struct xroce_cq *cq, struct xroce_dev *dev, struct xroce_ring *ring, u32 depth);
int xroce_cq_resize(struct xroce_cq *cq, struct xroce_ring *ring, u32 depth, bool sleeps);
bool xroce_cq_missed(struct xroce_cq *cq, u32 cons);
bool xroce_cq_post(struct xroce_cq *cq, struct xroce_cqe *cqe, bool solicited);

/* rq.c */
void xroce_rq_init(struct xroce_rq *rq, struct xroce_ring *ring, u32 depth,
		   u32 stride, u32 max_sge);
int xroce_rq_resize(struct xroce_rq *rq, struct xroce_ring *ring, u32 depth);
int xroce_rq_take(struct xroce_qp *qp);

/* mr.c; the rest is in copy.h */
bool xroce_mr_claim(struct xroce_mr *mr, u32 state);
void xroce_mr_release(struct xroce_mr *mr, u32 state);
int xroce_mr_unbound(struct xroce_mr *mr);
bool xroce_mr_end(struct xroce_mr *mr);
void xroce_mr_copy_parts(const struct xroce_mr *mr, u64 va, u32 len, struct xroce_io io);
bool xroce_sge_copy_parts(struct xroce_qp *qp, const void *pd, const struct xroce_sge *sge,
			  u32 num, u32 access, u32 off, u32 len, struct xroce_io io);

/* local.c: what work requests do to keys. Under the QP's lock. */
bool xroce_local_run(struct xroce_qp *qp, const struct xroce_send_wqe *wqe);
bool xroce_key_invalidate(struct xroce_qp *qp, const void *pd, u32 key, bool peer);
bool xroce_key_ended(struct xroce_qp *qp, const struct xroce_send_wqe *wqe);
struct xroce_frame *xroce_key_stand_in(struct xroce_qp *qp);

/* cc.c: congestion window, under the QP's lock. */
void xroce_cc_init(struct xroce_qp *qp);
void xroce_cc_ack(struct xroce_qp *qp, u32 inflight, u32 n);
void xroce_cc_loss(struct xroce_qp *qp, bool timeout);
void xroce_cc_slower(struct xroce_resp *resp);
bool xroce_cc_held(struct xroce_qp *qp);
u8 xroce_cc_piece(const struct xroce_qp *qp);
u64 xroce_cc_timeout(const struct xroce_req *req);

/*
 * What the environment supplies.
 *
 * xroce_env_timer(): call xroce_qp_timer() at @when or soon after; an earlier
 *	call pending is kept, a later one is moved forward. Never for a dead QP.
 * xroce_env_frame(): a frame of @len bytes, or NULL: tried again a little later.
 * xroce_env_xmit(): send in order; only the QP's sender calls it, without its
 *	lock. The first n returned are taken, the rest stay the caller's; but where
 *	the first of those has become NULL, the device had no room and it is gone.
 * xroce_env_defer(): call xroce_qp_run() soon, never from within this call; here, if @cpu
 *	is -1, or on another CPU: false where that will not do it.
 * xroce_env_cpu(): this CPU. xroce_env_rings(): may its frames overtake others'.
 * xroce_env_cq_event(): run the CQ's handler soon, never from within this call.
 * xroce_env_qp(), xroce_env_mr(), xroce_env_ah(): look-up; what they return stays valid
 *	while BH stay off. A trusted QP's work request names its address handle itself.
 * xroce_env_srq(): look-up; what it returns stays until xroce_env_srq_put().
 * xroce_env_srq_limit(): raise the SRQ's event soon, never from within this call.
 * xroce_env_use(), _end(), xroce_env_unused(): what region this CPU has in use, one at a
 *	time, then a full barrier; none, as a release; wait until no CPU has it.
 * xroce_env_local(): is the packet's destination an address of its link.
 * xroce_env_neigh(): could what came to QP 1 be answered without waiting for the
 *	sender's link-layer address; who says no sees to it that it soon can.
 * xroce_env_group(): xroce_rx_qp() for each QP in a multicast packet's group; how many.
 * xroce_env_read(): copy from a packet's bytes, counted from the BTH.
 * xroce_env_rx_crc(): go on with a CRC over a packet's bytes.
 * trace_xroce_*(): tracepoints, which an environment may define to be nothing.
 */
u64 xroce_env_now(void);
u64 xroce_env_total(const struct xroce_dev *dev, enum xroce_counter c);
void xroce_env_timer(struct xroce_qp *qp, u64 when);
struct xroce_frame *xroce_env_frame(struct xroce_qp *qp, u32 len);
void xroce_env_frame_free(struct xroce_frame *f);
u32 xroce_env_xmit(struct xroce_qp *qp, struct xroce_frame **f, u32 n);
bool xroce_env_defer(struct xroce_qp *qp, int cpu);
bool xroce_env_rings(const struct xroce_qp *qp);
void xroce_env_cq_event(struct xroce_cq *cq);
void xroce_env_cq_error(struct xroce_cq *cq);
void xroce_env_qp_event(struct xroce_qp *qp, enum xroce_event event);
void xroce_env_srq_limit(struct xroce_rq *rq);
#ifndef xroce_env_count
void xroce_env_count(struct xroce_dev *dev, enum xroce_counter c, u32 n);
#endif
struct xroce_qp *xroce_env_qp(struct xroce_dev *dev, u32 qpn);
struct xroce_mr *xroce_env_mr(struct xroce_dev *dev, u32 key);
const struct xroce_ah *xroce_env_ah(struct xroce_dev *dev, u32 ah);
struct xroce_rq *xroce_env_srq(struct xroce_dev *dev, u32 srqn);
void xroce_env_srq_put(struct xroce_rq *rq);
bool xroce_env_local(struct xroce_rx *rx);
bool xroce_env_neigh(struct xroce_rx *rx);
u32 xroce_env_group(struct xroce_rx *rx);
u32 xroce_env_crc(u32 crc, const void *p, u32 len);
u32 xroce_env_rx_crc(struct xroce_rx *rx, u32 crc, u32 off, u32 len);
void xroce_env_read(struct xroce_rx *rx, u32 off, void *dst, u32 len);

/* Of the QP and of its link. */
static inline void xroce_qp_count(struct xroce_qp *qp, enum xroce_counter c, u32 n)
{
	xroce_env_count(qp->dev, c, n);
	WRITE_ONCE(qp->count[c], qp->count[c] + n);
}

/* The packet under way ends so: counted, and told. Under the QP's lock. */
static inline void xroce_qp_verdict(struct xroce_qp *qp, enum xroce_counter c)
{
	qp->verdict = c;
	xroce_qp_count(qp, c, 1);
}

/* Did a packet with this IP header come from the peer of this path to its address. */
static inline bool xroce_av_match(const struct xroce_av *av, const u8 *l3)
{
	if (l3[0] >> 4 != av->l3[0] >> 4)
		return false;
	if (l3[0] >> 4 == 4)
		return !memcmp(l3 + 12, av->l3 + 16, 4) && !memcmp(l3 + 16, av->l3 + 12, 4);
	return !memcmp(l3 + 8, av->l3 + 24, 16) && !memcmp(l3 + 24, av->l3 + 8, 16);
}

/* Did a packet come from the peer of this path to its address, by its VLAN. */
static inline bool xroce_rx_from(const struct xroce_rx *rx, const struct xroce_av *av)
{
	return xroce_av_match(av, rx->l3) && (rx->vid == av->vid || rx->from);
}

/* Is an answer owed to the peer. */
static inline bool xroce_resp_owes(const struct xroce_qp *qp)
{
	return qp->resp.rd_active || qp->resp.nak || qp->resp.cnp ||
	       (qp->hot.resp_flags & XROCE_RESP_ACK);
}

/* Put bytes into a frame: @off is from its start; off + len must be inside. */
static inline void xroce_frame_write(struct xroce_frame *f, u32 off, const void *src, u32 len)
{
	if (off + len <= f->seg[0].len)
		memcpy(f->seg[0].p + off, src, len);
	else
		xroce_frame_write_parts(f, off, src, len);
}

/* Put an extended header into a frame, if it is one, @before bytes of others. */
static inline struct xroce_frame *xroce_frame_ext(struct xroce_frame *f, const void *ext,
						  u32 len, u32 before)
{
	if (f)
		memcpy(f->seg[0].p + f->payload - before - len, ext, len);
	return f;
}

static inline u32 xroce_mtu(const struct xroce_qp *qp)
{
	return 1u << qp->hot.mtu_shift;
}

static inline struct xroce_swq *xroce_req_swq(const struct xroce_req *req, u32 i)
{
	return &req->swq[i & (req->depth - 1)];
}

static inline struct xroce_send_wqe *xroce_req_wqe(const struct xroce_req *req, u32 i)
{
	return (void *)(req->wqe + (i & (req->depth - 1)) * req->stride);
}

/* Round once at most, without a division. */
static inline struct xroce_rd *xroce_rd_slot(struct xroce_resp *resp, u32 i)
{
	return &resp->rd[i < resp->max_rd ? i : i - resp->max_rd];
}

/* The peer acknowledges. Where it does not, what the device has taken is done. */
static inline bool xroce_qp_reliable(const struct xroce_qp *qp)
{
	return qp->hot.transport == XROCE_RC || qp->hot.transport == XROCE_XRC;
}

static inline bool xroce_qp_sends(const struct xroce_qp *qp)
{
	return qp->hot.state == XROCE_QPS_RTS || qp->hot.state == XROCE_QPS_SQD;
}

/* In SQD: something is begun and not completed. Under the lock. */
static inline bool xroce_req_draining(const struct xroce_req *req)
{
	return req->head != req->tail && xroce_req_swq(req, req->head)->started;
}

/* Does a work request change a key and send nothing. */
static inline bool xroce_wr_is_local(u8 wr)
{
	return wr == XROCE_WR_LOCAL_INV || wr == XROCE_WR_BIND_MW || wr == XROCE_WR_REG_MR;
}

/* READ, atomics and their like: those that are answered by responses. */
static inline bool xroce_wqe_is_read(const struct xroce_send_wqe *wqe)
{
	return (wqe->opcode >= XROCE_WR_RDMA_READ &&
		wqe->opcode <= XROCE_WR_ATOMIC_FETCH_AND_ADD) ||
	       wqe->opcode == XROCE_WR_FLUSH || wqe->opcode == XROCE_WR_ATOMIC_WRITE;
}

static inline bool xroce_wqe_is_send(const struct xroce_send_wqe *wqe)
{
	return wqe->opcode == XROCE_WR_SEND || wqe->opcode == XROCE_WR_SEND_WITH_IMM ||
	       wqe->opcode == XROCE_WR_SEND_WITH_INV;
}

static inline bool xroce_wqe_is_atomic(const struct xroce_send_wqe *wqe)
{
	return wqe->opcode == XROCE_WR_ATOMIC_CMP_AND_SWP ||
	       wqe->opcode == XROCE_WR_ATOMIC_FETCH_AND_ADD;
}

#endif /* XROCE_CORE_H */
