/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB */
/*
 * xroce: what the module and its rdma-core provider share: the layout of the
 * mapped rings and the driver data of the uverbs commands.
 *
 * All of a ring's memory can be written by the user at any time. The module
 * reads an element once into its own memory and looks at nothing but the copy.
 */
#ifndef XROCE_ABI_H
#define XROCE_ABI_H

#include <linux/types.h>

#define XROCE_ABI_VERSION	5
/* In no released kernel; RDMA_DRIVER_UNKNOWN is skipped by libibverbs. */
#define XROCE_DRIVER_ID		0x78726f63

#define XROCE_SLOT_ALIGN	64
#define XROCE_RING_HDR		256

/**
 * struct xroce_ring - head of every mapped ring, followed by its slots
 * @prod: elements produced since creation, or RESET, in which the kernel sets it and
 *	@cons to 0, modulo 2^32; the slot of element n is n & (depth - 1). Else written
 *	by the user for SQ and RQ, the kernel for CQ.
 * @cons: elements whose slots are free again. Written by the kernel for SQ and
 *	RQ, by the user for CQ.
 * @wake: SQ and RQ: not 0 when the kernel is not looking and wants a doorbell
 *	after @prod has moved. Written by the kernel.
 * @arm: CQ: what the next event is wanted for, &enum xroce_arm. Set by the
 *	user, cleared by the kernel when it raises the event.
 *
 * Order: the producer fills the slot, then store-releases @prod. A user that
 * rings doorbells puts a full barrier between @prod and reading @wake; one that
 * arms puts a full barrier between @arm and its last look at @prod.
 */
struct xroce_ring {
	__u32 prod;
	__u32 pad0[15];
	__u32 cons;
	__u32 pad1[15];
	__u32 wake;
	__u32 pad2[15];
	__u32 arm;
	__u32 pad3[15];
	__u8 slot[];
};

enum xroce_arm {
	XROCE_ARM_NONE		= 0,
	XROCE_ARM_SOLICITED	= 1,
	XROCE_ARM_NEXT		= 2,
};

/* Values of enum ib_uverbs_wr_opcode. */
enum xroce_wr {
	XROCE_WR_RDMA_WRITE		= 0,
	XROCE_WR_RDMA_WRITE_WITH_IMM	= 1,
	XROCE_WR_SEND			= 2,
	XROCE_WR_SEND_WITH_IMM		= 3,
	XROCE_WR_RDMA_READ		= 4,
	XROCE_WR_ATOMIC_CMP_AND_SWP	= 5,
	XROCE_WR_ATOMIC_FETCH_AND_ADD	= 6,
	XROCE_WR_LOCAL_INV		= 7,
	XROCE_WR_BIND_MW		= 8,
	XROCE_WR_SEND_WITH_INV		= 9,
	XROCE_WR_FLUSH			= 14,
	XROCE_WR_ATOMIC_WRITE		= 15,
};

/* Values of enum ibv_send_flags. */
enum xroce_wr_flags {
	XROCE_WR_FENCE		= 1 << 0,
	XROCE_WR_SIGNALED	= 1 << 1,
	XROCE_WR_SOLICITED	= 1 << 2,
	XROCE_WR_INLINE		= 1 << 3,
};

struct xroce_sge {
	__aligned_u64 addr;
	__u32 length;
	__u32 lkey;
};

/**
 * struct xroce_send_wqe - one element of an SQ; slots are one stride apart
 * @opcode: &enum xroce_wr
 * @flags: &enum xroce_wr_flags
 * @num_sge: entries at @sge, or
 * @inline_len: with XROCE_WR_INLINE, bytes of payload at @inline_data
 * @imm: immediate as on the wire, or, in host order,
 * @inv_rkey: the R_Key to invalidate, or
 * @reg_key: what a region is to have for its key from now on
 * @reg.offset: bytes of the first page before @reg.iova, wherever that is
 * @rdma.xrc_srqn: XRC, of whatever operation: the peer's queue that it is for
 * @ud.hop_limit: instead of the address handle's, unless it is 0
 */
struct xroce_send_wqe {
	__aligned_u64 wr_id;
	__u8 opcode;
	__u8 flags;
	union {
		__u16 num_sge;
		__u16 inline_len;
	};
	union {
		__be32 imm;
		__u32 inv_rkey;
		__u32 reg_key;
	};
	union {
		struct {
			__aligned_u64 remote_addr;
			__u32 rkey;
			__u32 xrc_srqn;
			__aligned_u64 swap_add;
			__aligned_u64 compare;
		} rdma;
		struct {
			__u32 ah;
			__u32 remote_qpn;
			__u32 remote_qkey;
			__u8 hop_limit;
			__u8 reserved[11];
			__aligned_u64 kernel;	/* 0 from a user */
		} ud;
		struct {
			__aligned_u64 remote_addr;
			__u32 rkey;
			__u32 xrc_srqn;
			__u32 length;
			__u32 type;	/* enum ib_placement_type */
			__u32 level;	/* enum ib_selectivity_level */
		} flush;
		struct {
			__aligned_u64 addr;
			__aligned_u64 length;
			__u32 lkey;	/* of the region */
			__u32 rkey;	/* of the window as it is */
			__u32 new_rkey;
			__u32 access;	/* enum ib_uverbs_access_flags */
		} bind;
		struct {		/* kernel consumers only */
			__aligned_u64 page;
			__aligned_u64 iova;
			__u32 length;
			__u32 page_shift;
			__u32 offset;
			__u32 access;
		} reg;
	};
	union {
		__DECLARE_FLEX_ARRAY(struct xroce_sge, sge);
		__DECLARE_FLEX_ARRAY(__u8, inline_data);
	};
};

/**
 * struct xroce_recv_wqe - one element of an RQ or SRQ
 * @num_sge: entries at @sge
 */
struct xroce_recv_wqe {
	__aligned_u64 wr_id;
	__u32 num_sge;
	__u32 reserved;
	struct xroce_sge sge[];
};

/* Values of enum ib_uverbs_wc_opcode. */
enum xroce_wc {
	XROCE_WC_SEND			= 0,
	XROCE_WC_RDMA_WRITE		= 1,
	XROCE_WC_RDMA_READ		= 2,
	XROCE_WC_COMP_SWAP		= 3,
	XROCE_WC_FETCH_ADD		= 4,
	XROCE_WC_BIND_MW		= 5,
	XROCE_WC_LOCAL_INV		= 6,
	XROCE_WC_FLUSH			= 8,
	XROCE_WC_ATOMIC_WRITE		= 9,
	XROCE_WC_RECV			= 128,
	XROCE_WC_RECV_RDMA_WITH_IMM	= 129,
};

/* Values of enum ibv_wc_status. */
enum xroce_wc_status {
	XROCE_WC_SUCCESS		= 0,
	XROCE_WC_LOC_LEN_ERR		= 1,
	XROCE_WC_LOC_QP_OP_ERR		= 2,
	XROCE_WC_LOC_EEC_OP_ERR		= 3,
	XROCE_WC_LOC_PROT_ERR		= 4,
	XROCE_WC_WR_FLUSH_ERR		= 5,
	XROCE_WC_MW_BIND_ERR		= 6,
	XROCE_WC_BAD_RESP_ERR		= 7,
	XROCE_WC_LOC_ACCESS_ERR		= 8,
	XROCE_WC_REM_INV_REQ_ERR	= 9,
	XROCE_WC_REM_ACCESS_ERR		= 10,
	XROCE_WC_REM_OP_ERR		= 11,
	XROCE_WC_RETRY_EXC_ERR		= 12,
	XROCE_WC_RNR_RETRY_EXC_ERR	= 13,
	XROCE_WC_FATAL_ERR		= 19,
	XROCE_WC_GENERAL_ERR		= 21,
};

/* Values of enum ibv_wc_flags. */
enum xroce_wc_flags {
	XROCE_WC_GRH		= 1 << 0,
	XROCE_WC_WITH_IMM	= 1 << 1,
	XROCE_WC_WITH_INV	= 1 << 3,
};

/* SL of a datagram's completion: the kind of packet it came in, as NICs say it. */
enum xroce_sl {
	XROCE_SL_UDP		= 8,
	XROCE_SL_IPV6		= XROCE_SL_UDP | 1,
	XROCE_SL_IPV4		= XROCE_SL_UDP | 2,
};

/**
 * struct xroce_cqe - one element of a CQ, 64 bytes
 * @qpn: QP that the work belonged to
 * @sq_cons: of a send queue's work: the index behind it, before which all is done
 * @imm: immediate as on the wire, or the invalidated R_Key in host order
 * @vlan: with XROCE_WC_GRH, the tag it came with, 0xffff for none
 * @timestamp: nanoseconds of CLOCK_MONOTONIC when the element was written, 0 in a CQ
 *	that was made without IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION
 * @user_handle: what the QP was created with; 0 of an XRC target, which has no user
 */
struct xroce_cqe {
	__aligned_u64 wr_id;
	__u32 qpn;
	__u32 byte_len;
	__u8 status;
	__u8 opcode;
	__u8 flags;
	__u8 sl;
	__u32 sq_cons;
	union {
		__be32 imm;
		__u32 inv_rkey;
	};
	__u32 src_qp;
	__u32 reserved0;
	__u16 vlan;
	__u16 reserved1;
	__aligned_u64 timestamp;
	__aligned_u64 user_handle;
	__aligned_u64 reserved2;
};

/* Driver data of the uverbs commands. */

/**
 * struct xroce_ring_info - where a ring is and what it looks like
 * @offset: for mmap() of the command fd
 * @size: bytes to map
 * @depth: slots, a power of two
 * @stride: bytes from slot to slot, a multiple of XROCE_SLOT_ALIGN
 */
struct xroce_ring_info {
	__aligned_u64 offset;
	__u32 size;
	__u32 depth;
	__u32 stride;
	__u32 reserved;
};

#define XROCE_POLL_MAX_US	1000000

/**
 * struct xroce_alloc_ucontext_req - may be missing: all 0
 * @poll_us: not 0: a thread of the kernel's, in the calling process, looks at the
 *	send queues of this context, until there was nothing for so many us,
 *	XROCE_POLL_MAX_US at most
 */
struct xroce_alloc_ucontext_req {
	__u32 poll_us;
	__u32 reserved;
};

/**
 * struct xroce_alloc_ucontext_resp - what a context is told
 * @bell: a new file of the caller's: lseek() to -1 - a QP's number, from the start, is
 *	the doorbell of both its queues, and returns the number: other files, as one that
 *	a program has by the same number since it closed this, do not. Of who has not got
 *	it, as the importer of a context, uverbs' POST_SEND or POST_RECV of nothing are
 *	the same
 */
struct xroce_alloc_ucontext_resp {
	__u32 max_inline;
	__s32 bell;
};

struct xroce_create_cq_resp {
	struct xroce_ring_info ring;
};

/**
 * struct xroce_create_qp - may be missing: all 0
 * @user_handle: for its completions
 */
struct xroce_create_qp {
	__aligned_u64 user_handle;
};

struct xroce_create_qp_resp {
	struct xroce_ring_info sq;
	struct xroce_ring_info rq;
};

/**
 * struct xroce_modify_qp - what ib_core does not tell of the attributes
 * @hop_limit: of the address vector, where ib_core has the route's; 0: that
 */
struct xroce_modify_qp {
	__u32 hop_limit;
	__u32 reserved;
};

/**
 * struct xroce_create_srq_resp - the ring wants no doorbell: @wake stays 0
 */
struct xroce_create_srq_resp {
	struct xroce_ring_info ring;
	__u32 srqn;
	__u32 reserved;
};

/**
 * struct xroce_modify_srq - for another size
 * @resp: &struct xroce_create_srq_resp in the user's memory, since the command
 *	has no response of its own: of the ring that is used from then on. Nobody
 *	may post meanwhile; what was posted is in the new ring, at the same indices.
 */
struct xroce_modify_srq {
	__aligned_u64 resp;
};

/**
 * struct xroce_create_ah_resp - @ah names it in a UD work request
 */
struct xroce_create_ah_resp {
	__u32 ah;
	__u32 reserved;
};

#endif /* XROCE_ABI_H */
