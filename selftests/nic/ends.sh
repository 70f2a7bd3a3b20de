#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# What becomes of traffic when a NIC's driver changes its rings and channels, is reset,
# lets go of it, or when it is pulled out.
#
#   +-----------+         +-----------+
#   | h1  xra1  |---------| xrb1   h2 |	two NICs on a wire, 198.18.1.1, .2
#   +-----------+         +-----------+
#
# NIC=igb|vmxnet3|virtio-net-pci of the guest, whose processors take turns: QEMU 10.0
# loses interrupts of those that run while another maps a PCI device (docs/guest.md)
# XROCE_XDP=off|generic|native  XROCE_LIFE_ONLY, XROCE_LIFE_PACE: see ../life/life.sh

# shellcheck disable=SC2317,SC2034
# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
DEVTYPE=xroce
. ../lib/topo.sh
PAIRS=1
. ../life/life.sh

[ -n "${XROCE_NIC:-}" ] || skip_all "the guest has no NICs: NIC= (docs/guest.md)"
topo_need rdmatool ethtool

# Once each in `make test`, whose life is in one mode of namespaces
times=$((COUNT < 4 ? 1 : 3))

# life.sh's netdevs: each as often as its driver has it anew
netdevs() {
	ip -n "$NS1" link show xra1 >/dev/null 2>&1 || nic_put 1 "$NS1" xra1 || return
	ip -n "$NS2" link show xrb1 >/dev/null 2>&1 || nic_put 2 "$NS2" xrb1 || return
	ip -n "$NS1" addr replace $NET.1.1/24 dev xra1 &&
		ip -n "$NS1" link set xra1 up && netdevs_far "$NS2" &&
		wait_for 20 n1 ping -c 1 -W 1 $NET.1.2
}

# nic_dir - of xra1, as the first namespace's sysfs has it
nic_dir() { n1 readlink -f /sys/class/net/xra1/device; }

updown() { n1 ip link set xra1 down && sleep 0.1 && n1 ip link set xra1 up; }
far_updown() { n2 ip link set xrb1 down && sleep 0.1 && n2 ip link set xrb1 up; }
mtu() { n1 ip link set xra1 mtu 1400 && sleep 0.1 && n1 ip link set xra1 mtu 1500; }
xdp() {
	n1 rdmatool link set xra1 xdp generic && n1 rdmatool link set xra1 xdp native &&
		n1 rdmatool link set xra1 xdp off && n1 rdmatool link set xra1 xdp "$XROCE_XDP"
}
# virtio_net's driver corrupts memory when its sending rings change beside XDP frames
rings() {
	local size
	for size in 128 256; do
		n1 ethtool -G xra1 rx "$size" || return
		[ "$XROCE_NIC" = virtio-net-pci ] || n1 ethtool -G xra1 tx "$size" || return
		sleep 0.1
	done
}
channels() {
	n1 ethtool -L xra1 combined 1 && sleep 0.1 && n1 ethtool -L xra1 combined 2
}
unbind() {
	local dir
	dir=$(nic_dir)
	echo "${dir##*/}" >"$dir/driver/unbind"
	echo "${dir##*/}" >"/sys/bus/$(basename "$(readlink -f "$dir/subsystem")")/drivers_probe"
}
pull() {
	local dir
	dir=$(nic_dir)
	[[ ${dir##*/} != virtio* ]] || dir=${dir%/*}
	echo 1 >"$dir/remove" && sleep 0.2 && echo 1 >/sys/bus/pci/rescan
}
driver_gone() {
	local module
	module=$(n1 ethtool -i xra1 | sed -n 's/^driver: //p')
	rmmod "$module" && modprobe "$module"
}

changes_and_ends() {
	thing "NIC down and up" rounds "$times" go -t "$survive" -- updown
	thing "the other down and up" rounds "$times" go -t "$survive" -- far_updown
	thing "MTU changed" rounds "$times" go -t "$survive" -- mtu
	thing "rings changed" rounds "$times" go -t "$survive" -- rings
	if [ "$XROCE_NIC" = igb ]; then
		# fewer of them leave vectors that igb itself forgets, as kmemleak sees
		[ -e /sys/kernel/debug/kmemleak ] ||
			thing "channels changed" rounds "$times" go -t "$survive" -- channels
		thing "link negotiated anew" rounds "$times" go -t "$survive" -- n1 ethtool -r xra1
	fi
	try "$label: nothing is left of what it survived" life_settled
	thing "driver let go of it" rounds "$times" end -t 18 -- unbind
	thing "pulled out and put back" rounds "$times" end -t 18 -- pull
	thing "driver unloaded and loaded" rounds "$times" end -t 18 -- driver_gone
	thing "driver unloaded, and rings used after it" rounds "$times" end -t 18 -m -- driver_gone
}

life_begin
label="$XROCE_NIC $label"
thing "XDP changed" rounds "$times" go -t "$survive" -- xdp
# vmxnet3 loses a native program by the rest, and the kernel keeps it for ever
[ "$XROCE_NIC-$XROCE_XDP" = vmxnet3-native ] || changes_and_ends
try "$label: nothing is left" life_settled
try "$label: the module unloads" life_unload
tap_end
