# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2153,SC2154
# Two ends for programs of user space that find each other by address: the two
# hosts of topo.sh; or, where both are rdma_rxe, one device that is reached by its
# own address (here.sh), for its devices are in the first namespace only, where
# then the addresses have to be too. Sourced after tap.sh, topo.sh and here.sh.
#
# ADDR1, ADDR2: where the ends are; ADDR6: the second one's by IPv6

here_more_end() {
	local pid
	for pid in "${topo_pids[@]}"; do
		bg_end "$pid"
	done
}

ends_up() {
	local why
	label="$DEVTYPE1-$DEVTYPE2 $XROCE_XDP"
	ADDR1=$V4.1 ADDR2=$V4.2 ADDR6=$V6:2
	if [ "$DEVTYPE1$DEVTYPE2" = rxerxe ]; then
		here_begin "$@"
		NS1='' NS2='' RNS1='' RNS2='' RDMA2=$RDMA1
		ADDR2=$V4.1 ADDR6=$V6:1
		why=$(DEVTYPE=rxe here_up 2>&1) && return
	else
		topo_need "$@"
		topo_direct "${XROCE_MTU:-4500}"
		why=$(rdma_up 2>&1) && return
	fi
	not_ok "$label: devices" "${why//$'\n'/$'\n'# }"
	tap_end
}

# Segments that the first host's TCP has sent
segments() { n1 nstat -asz TcpOutSegs | awk '/TcpOutSegs/ { print $2 }'; }

# few_segments COMMAND... - and TCP did not carry it
few_segments() {
	local before after
	before=$(segments)
	"$@" || return
	after=$(segments)
	[ "$((after - before))" -lt 100 ] && return
	echo "$((after - before)) segments went by TCP"
	return 1
}
