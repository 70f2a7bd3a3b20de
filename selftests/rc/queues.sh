#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# A netdev with a transmit queue for each CPU, as NICs are, or an XDP ring, one of them
# slower: what an RC QP has out goes by one, though a program posts on CPU 0 and ACKs come
# in on CPU 1, so that nothing is overtaken.
#
#   +----------+         +----------+
#   | h1  eth0 |---------| eth0  h2 |	veth, 198.18.1.1, .2
#   +----------+         +----------+
#   off, generic: XPS, RPS; 400 Mbit/s by the first queue
#   native: h2 empties each ring by a thread, the first's on a CPU that has other work
#
# XROCE_XDP=off|generic|native

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh

topo_need ethtool tc taskset ib_write_bw
[ "$(nproc)" -gt 1 ] || skip_all "one CPU has one queue"
if [ "$XROCE_XDP" = native ]; then
	[ "$(nproc)" -gt 3 ] || skip_all "needs four CPUs"
	[ ! -e /sys/kernel/realtime ] || skip_all "PREEMPT_RT, where no CPU has another one send"
else
	[ -e /sys/class/net/lo/queues/rx-0/rps_cpus ] || skip_all "a kernel without RPS"
fi
topo_direct 4500
label="xroce $XROCE_XDP"

# CPU 0 sends by the first queue, CPU 1 by the second; each end receives on one CPU, since
# a veth has a backlog for each too
queues() {
	local q=/sys/class/net/$ETH1/queues
	n1 ethtool -L "$ETH1" tx 2 && n1 tc qdisc add dev "$ETH1" root handle 1: mq &&
		n1 tc qdisc add dev "$ETH1" parent 1:1 netem limit 20000 rate 400mbit &&
		n1 tc qdisc add dev "$ETH1" parent 1:2 pfifo limit 20000 &&
		n1 sh -c "echo 1 >$q/tx-0/xps_cpus && echo 2 >$q/tx-1/xps_cpus &&
			  echo 2 >$q/rx-0/rps_cpus" &&
		n2 sh -c "echo 1 >/sys/class/net/$ETH2/queues/rx-0/rps_cpus"
}

# Rings are a veth's own threads' to empty, which are there once it has the program
rings() {
	local p
	n2 ethtool -L "$ETH2" rx 2 && n1 ethtool -L "$ETH1" tx 2 &&
		n1 sh -c "echo 1 >/sys/class/net/$ETH1/threaded" &&
		n2 sh -c "echo 1 >/sys/class/net/$ETH2/threaded" || return
	# their numbers are in the order of the devices and their queues
	mapfile -t p < <(ps -e -o comm,pid | sort -V | awk '/^napi\// { print $2 }')
	[ "${#p[@]}" = 3 ] || { echo "${#p[@]} threads"; return 1; }
	taskset -p 2 "${p[0]}" && taskset -p 4 "${p[1]}" && taskset -p 8 "${p[2]}"
}

# Packets that the slow queue has sent, of all
sent_slow() {
	if [ "$XROCE_XDP" = native ]; then
		n2 ethtool -S "$ETH2" | awk '$1 ~ /^rx_queue_[01]_xdp_packets:/ { n += $2 }
			$1 == "rx_queue_0_xdp_packets:" { slow = $2 } END { print slow " " n }'
		return
	fi
	n1 tc -s class show dev "$ETH1" |
		awk '/^class mq/ { q = $3 } /Sent/ { n += $4; if (q == "1:1") slow = $4 }
			END { print slow " " n }'
}

nothing_overtakes() {
	local size slow=0 all=0 gaps
	gaps=$(counter "$RNS2" "$RDMA2" out_of_sequence)
	# fewer are out than a CPU's backlog holds, or some are lost there
	for size in 65536 262144; do
		verbs_pair "$V4.1" "$V4.2" taskset -c 0 ib_write_bw -s "$size" -n 200 \
			-t $((2 * 1048576 / size)) || return
	done
	gaps=$(($(counter "$RNS2" "$RDMA2" out_of_sequence) - gaps))
	read -r slow all < <(sent_slow)
	echo "$gaps gaps, $(counter "$RNS1" "$RDMA1" retransmitted_pkts) sent again; $slow of $all packets by the slow queue"
	[ "$slow" -gt 100 ] && [ "$all" -gt 15000 ] && [ "$gaps" = 0 ]
}

[ "$XROCE_XDP" = native ] || try "$label: two queues" queues
rdma_devices "$label"
if [ "$XROCE_XDP" = native ]; then
	try "$label: two rings" rings
	bg '' taskset 4 sh -c 'while :; do :; done'
fi
measure "$label: a QP's packets do not overtake each other" nothing_overtakes
tap_end
