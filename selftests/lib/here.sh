# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# One device in the first network namespace, where the kernel's own users of RDMA
# look for one, that is reached by its own address. Sourced after tap.sh and
# topo.sh.
#
#   +------------------+		198.18.1.1, fdc8::1
#   | xr-eth0 -- xr-b  |		the far end of the veth keeps it up
#   +------------------+
#
# DEVTYPE=xroce|rxe  XROCE_XDP=off|generic|native

here_begin() {
	topo_need rdma ip "$@"
	rdma system set netns shared 2>/dev/null || :
	trap here_end EXIT
	# once: timeout(1) sends it twice, and the second would end what cleans up
	trap "trap '' INT TERM; exit 130" INT TERM
	echo "xroce-here begins" >/dev/kmsg
}

here_up() {
	ip link add xr-eth0 mtu 4500 type veth peer name xr-b mtu 4500 &&
		ip link set xr-b up && addresses '' xr-eth0 1 &&
		rdma_add '' "$DEVTYPE" xr1 xr-eth0 "$XROCE_XDP" &&
		wait_for 20 rdma_ready '' xr1 1
}

here_down() {
	rdma link del xr1
	ip link del xr-eth0
}

here_end() {
	local status=$?
	set +e
	trap '' INT TERM
	# the test's own
	here_more_end
	here_down
	rm -rf "$TOPO_TMP"
	trap - EXIT
	exit "$status"
}

# away PID SECONDS - the link down for so long, while PID writes
away() {
	local over=
	sleep 0.1
	ip link set xr-eth0 down
	kill -0 "$1" || over=yes
	sleep "$2"
	addresses '' xr-eth0 1
	[ -z "$over" ] || { echo "it had been written before"; return 1; }
}

# No warning of the kernel's while this ran
no_splat() {
	local said
	said=$(dmesg | tac | sed '/xroce-here begins/q')
	[[ $said == *"xroce-here begins"* ]] || { echo "its log does not go back so far"; return 1; }
	! grep -E 'WARNING:|BUG:|Oops|general protection' <<<"$said"
}
