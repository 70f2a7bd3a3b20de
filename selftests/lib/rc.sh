# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# The frame of the tests in rc/: two hosts, a device at each, xroce_rc between
# them, then the end. Sourced by those tests, which say what to run.

# rc_main DEFAULT-MTU TEST... - FAMILIES has the address families, 4 by default
rc_main() {
	local mtu=${XROCE_MTU:-$1} label="$DEVTYPE $XROCE_XDP" family test
	shift
	topo_direct "$mtu"
	rdma_devices "$label"
	for family in ${FAMILIES:-4}; do
		for test; do
			if [ "$family" = 6 ]; then
				rc "$label" forward -6 "$test"
			else
				# what goes down, or below 1280, loses its IPv6 addresses
				rc "$label" forward "$test" \
					-D "ip ${NS2:+-n $NS2} link set $ETH2 down" \
					-U "ip ${NS2:+-n $NS2} link set $ETH2 up" \
					-L "$(rc_mtu 600)" -M "$(rc_mtu "$mtu")"
			fi
		done
	done
	rc_took_xdp "$label"
	tap_end
}

# rc_mtu MTU - the command that sets it at both hosts
rc_mtu() {
	echo "ip ${NS1:+-n $NS1} link set $ETH1 mtu $1 &&" \
		"ip ${NS2:+-n $NS2} link set $ETH2 mtu $1"
}

# The packets really came by the program, or really did not
rc_took_xdp() {
	local left taken came good=0
	[ "$DEVTYPE" = xroce ] || return 0
	read -r left taken came < <(counter "$NS1" "$RDMA1" xdp_pass_here xdp_fast rcvd_pkts)
	case $XROCE_XDP in
	off)		good=$((came > 0 && left == 0 && taken == 0)) ;;
	generic)	good=$((left > 0 && taken == 0)) ;;
	native)		good=$((taken > 10 * left)) ;;
	esac
	[ "$good" = 1 ] && ok "$1: packets took that way" ||
		not_ok "$1: packets took that way" "XDP took $taken and left $left to the stack"
}

# counters - of both ends, a line each
counters() {
	local ns
	for ns in "$NS1 $RDMA1" "$NS2 $RDMA2"; do
		in_ns "${ns% *}" rdmatool -d -j stat show "${ns#* }" | jq -r '.[0] |
			paths(numbers) as $p | "\($p[-1]) \(getpath($p))"' |
			sed "s/^/${ns#* } /"
	done
}

# no_loss FILE [MOST] - what one end has sent the other has received, both ways, but for
# MOST packets, if that is said; at last for a QP that has gone, if an ACK was late
no_loss() {
	awk -v a="$RDMA1" -v b="$RDMA2" -v most="${2:-0}" '
		{ n[$1, $2] += $3 }
		function late(end) {
			return n[end, "drop_no_qp"] + n[end, "drop_state"]
		}
		function lost(from, to) {
			return n[from, "sent_pkts"] - n[to, "rcvd_pkts"] - late(to)
		}
		END {
			print n[a, "sent_pkts"], n[b, "rcvd_pkts"], late(b),
			      n[b, "sent_pkts"], n[a, "rcvd_pkts"], late(a)
			print lost(a, b) + lost(b, a), "packets lost, of", most, "at most"
			exit !(n[a, "sent_pkts"] > 5000 && late(a) + late(b) < 200 &&
			       lost(a, b) >= 0 && lost(b, a) >= 0 &&
			       lost(a, b) + lost(b, a) <= most)
		}' "$1"
}
