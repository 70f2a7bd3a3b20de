/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Every counter of a link: X(symbol, name, meaning). Names are those that
 * mlx5 and rdma_rxe users know where one exists. drop_* counts packets dropped,
 * each for one reason. Names are ABI; numbers only between a module and the tool that
 * was built with it.
 */
#ifndef XROCE_COUNTERS_H
#define XROCE_COUNTERS_H

#define XROCE_COUNTERS(X) \
	X(TX_PKTS, sent_pkts, "packets handed to the network device") \
	X(TX_BYTES, sent_bytes, "their bytes, from the IP header on") \
	X(TX_LOOPED, looped_pkts, "of those packets the ones to this device itself") \
	X(RX_PKTS, rcvd_pkts, "packets for a QP of this link") \
	X(RX_BYTES, rcvd_bytes, "their bytes, from the BTH on") \
	X(TX_UNTAKEN, tx_untaken, "frames the device did not take at once") \
	X(TX_DROPPED, tx_dropped, "packets lost on the way to the device") \
	X(DUPLICATE, duplicate_request, "requests that had been executed") \
	X(OUT_OF_SEQ, out_of_sequence, "requests ahead of the expected PSN") \
	X(RX_WRITE, rx_write_requests, "WRITE messages begun") \
	X(RX_READ, rx_read_requests, "READ requests executed") \
	X(RX_ATOMIC, rx_atomic_requests, "atomics executed") \
	X(RX_SEND, rdma_recvs, "SEND messages received") \
	X(TX_SEND, rdma_sends, "SEND messages sent") \
	X(TX_OTHER, other_requests, "WRITEs, READs and other work requests done") \
	X(ACKS_SENT, acks_sent, "ACK packets sent") \
	X(RNR_SENT, send_rnr_err, "RNR NAKs sent") \
	X(NAK_SEQ_SENT, naks_seq_sent, "PSN sequence NAKs sent") \
	X(NAK_SENT, naks_fatal_sent, "other NAKs sent") \
	X(RNR_RCVD, rcvd_rnr_err, "RNR NAKs received") \
	X(NAK_SEQ_RCVD, packet_seq_err, "PSN sequence NAKs received") \
	X(NAK_RCVD, naks_fatal_rcvd, "other NAKs received") \
	X(IMPLIED_NAK, implied_nak_seq_err, "lost responses noticed by a later one") \
	X(TIMEOUT, local_ack_timeout_err, "ACK timeouts") \
	X(RETRANS, retransmitted_pkts, "request packets sent again") \
	X(ASKED, ack_requests_resent, "packets sent again to ask for an ACK") \
	X(RETRY_EXC, retry_exceeded_err, "QPs that ran out of retries") \
	X(RNR_EXC, retry_rnr_exceeded_err, "QPs that ran out of RNR retries") \
	X(MARKED, np_ecn_marked_roce_packets, "packets with a mark of congestion") \
	X(CNP_SENT, np_cnp_sent, "congestion notifications sent") \
	X(CNP_RCVD, rp_cnp_handled, "congestion notifications received") \
	X(CQ_OVERRUN, cq_overrun_err, "CQs that overflowed") \
	X(BAD_WQE, send_err, "work requests refused") \
	X(DOORBELLS, doorbells, "posts that the kernel was called for") \
	X(STEER_LATE, steer_late, "times a QP's packets did not wait for those on another CPU") \
	X(MALFORMED, rx_malformed, "dropped by the XDP program, see xdp_drop_...") \
	X(DROP_OPTIONS, drop_options, "IPv4 options or IPv6 extension headers") \
	X(DROP_SHORT, drop_short, "shorter than their headers, pad and ICRC") \
	X(DROP_OPCODE, drop_opcode, "opcode undefined") \
	X(DROP_TVER, drop_tver, "transport version not 0") \
	X(DROP_LENGTH, drop_length, "payload length against the opcode or MTU, or GSO") \
	X(DROP_ICRC, rx_icrc_encapsulated, "ICRC wrong") \
	X(DROP_NO_QP, drop_no_qp, "no such QP") \
	X(DROP_DEVICE, drop_device, "QP is on another link") \
	X(DROP_ADDR, drop_addr, "addresses are not the QP's") \
	X(DROP_TRANSPORT, drop_transport, "opcode not of the QP's transport") \
	X(DROP_PKEY, drop_pkey, "P_Key is not the QP's") \
	X(DROP_QKEY, drop_qkey, "Q_Key is not the QP's") \
	X(DROP_REQUEST, drop_request, "UC, UD: request not allowed or incomplete") \
	X(DROP_NO_RECV, drop_no_recv, "UC, UD: no receive posted") \
	X(DROP_TOO_LONG, drop_too_long, "UC, UD: longer than the receive buffer") \
	X(DROP_GROUP, drop_group, "no QP in the multicast group") \
	X(DROP_NO_NEIGH, drop_no_neigh, "to QP 1, its answer's neighbour not resolved") \
	X(DROP_STATE, drop_state, "QP not ready to receive") \
	X(DROP_GHOST, drop_ghost, "response to nothing outstanding") \
	X(DROP_REPLAY, drop_replay, "duplicate that matches nothing kept") \
	X(DROP_NO_MEM, drop_no_mem, "no memory for its headers")

enum xroce_counter {
#define XROCE_CNT_ENUM(sym, name, text) XROCE_CNT_##sym,
	XROCE_COUNTERS(XROCE_CNT_ENUM)
#undef XROCE_CNT_ENUM
	XROCE_CNT_MAX
};

#endif /* XROCE_COUNTERS_H */
