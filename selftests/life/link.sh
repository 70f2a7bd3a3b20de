#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# What happens to links in mid-traffic: what traffic survives, and what ends it,
# with user mappings in use after it; in exclusive and shared RDMA namespaces.
#
#   +-----------+         +-----------+
#   | h1  xra1  |---------| xrb1   h2 |	veth, 198.18.1.1, .2, and so on
#   |     xra2  |---------| xrb2      |	h2: at last one for each pair
#   +-----------+         +-----------+
#                      h3: where a netdev moves to
#
# XROCE_XDP=off|generic|native  XROCE_LIFE_COUNT, XROCE_LIFE_PAIRS: see life.sh
# XROCE_LIFE_UNLOADS: how often the module is unloaded in each mode of the two, instead
# XROCE_NETNS=exclusive|shared: only this mode

# shellcheck disable=SC2317
# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ./life.sh

# All pairs have one module, which is unloaded as often as a thing is to happen
UNLOADS=$((COUNT < 20 ? (ENDS + 1) / 2 * 2 : COUNT / ${#MODES[@]}))
UNLOADS=${XROCE_LIFE_UNLOADS:-$UNLOADS}
# What traffic survives comes a tenth as often as what ends it
PAUSES=$(((ENDS + 9) / 10))

# What ends one side alone the other learns of by its retries, eight times this long
OVER=18

ip1() { ip -n "$NS1" "$@"; }
ip2() { ip -n "$NS2" "$@"; }

# What is done to pair $1
updown() {
	ip1 link set "xra$1" down && sleep 0.1 && ip1 link set "xra$1" up
}
mtu() {
	ip1 link set "xra$1" mtu 600 && sleep 0.1 && ip1 link set "xra$1" mtu 9000 &&
		ip1 link set "xra$1" mtu 1500
}
address() {
	ip1 addr del "$NET.$1.1/24" dev "xra$1" && sleep 0.1 &&
		ip1 addr add "$NET.$1.1/24" dev "xra$1"
}
rename() {
	n1 rdma dev set "xra$1" name "xrz$1" && sleep 0.1 &&
		n1 rdma dev set "xrz$1" name "xra$1"
}
rename_netdev() {
	# only while it is down, in older kernels
	ip2 link set "xrb$1" down && ip2 link set "xrb$1" name "xr-other$1" &&
		ip2 link set "xr-other$1" name "xrb$1" && ip2 link set "xrb$1" up
}
xdp() {
	n1 rdmatool link set "xra$1" xdp generic && n2 rdmatool link set "xrb$1" xdp native &&
		n1 rdmatool link set "xra$1" xdp "$XROCE_XDP" &&
		n2 rdmatool link set "xrb$1" xdp "$XROCE_XDP"
}

# Half of them at one side, by rdma, and at the same time half at the other, by
# rdmatool. A list of devices that others leave meanwhile may lack one: once more
del_half() {	# n1|n2 TOOL LINK...
	local end=$1 tool=$2 there it
	shift 2
	[ $# -gt 0 ] || return 0
	printf 'link del %s\n' "$@" | "$end" "$tool" -f -b - 2>/dev/null && return
	there=$("$end" rdma link)
	for it; do
		[[ $there != *"link $it/1 "* ]] || "$end" "$tool" link del "$it" || return
	done
}
del_links() {
	local odd=() even=() i pid status=0
	for ((i = 1; i <= PAIRS; i += 2)); do
		odd+=("xra$i")
		((i == PAIRS)) || even+=("xrb$((i + 1))")
	done
	del_half n1 rdma "${odd[@]}" &
	pid=$!
	del_half n2 rdmatool "${even[@]}" || status=1
	wait "$pid" && return "$status"
}
# ip_all NAMESPACE FORMAT - a line for every pair, by one program: it is dear to start
ip_all() {
	# shellcheck disable=SC2046,SC2059
	printf "$2\n" $(numbers) | ip -n "$1" -batch -
}
del_netdevs() { ip_all "$NS1" 'link del xra%d'; }
# Its link goes, and takes its name with it, before it may be there again
move_all() {
	ip_all "$NS1" "link set xra%d netns $NS3" && wait_for 30 no_links &&
		ip_all "$NS3" "link set xra%d netns $NS1"
}
no_links() { ! n1 rdma link | grep -q 'link xra'; }
del_netns() { ip netns del "${NSB[$1]}" && ip netns add "${NSB[$1]}"; }
# With XDP the programs hold the module
unload() {
	if [ "$XROCE_XDP" != off ]; then
		! rmmod xroce 2>/dev/null && return
		echo "it went, with programs that use it"
		return 1
	fi
	rmmod xroce && modprobe xroce
}

things() {
	life_begin
	NS3=h3-$$
	ip netns add "$NS3"
	# The first program and the last have the kernel patch its receive path, and
	# QEMU now and then runs the breakpoint of that after it has gone: one stays
	try "$label: a program that stays attached" ip -n "$NS3" link set dev lo \
		xdpgeneric obj "$LIBDIR/xdp_pass.bpf.o" sec xdp.frags
	thing "netdev down and up" \
		rounds "$PAUSES" go -t "$survive" -- each updown
	thing "MTU changed" rounds "$PAUSES" go -t "$survive" -- each mtu
	thing "address gone and back" \
		rounds "$PAUSES" go -t "$survive" -- each address
	thing "device renamed" rounds "$PAUSES" go -t "$survive" -- each rename
	thing "netdev renamed" \
		rounds "$PAUSES" go -t "$survive" -- each rename_netdev
	# few: a program that is attached means code that is changed under everybody
	thing "XDP changed" rounds 2 go -t "$survive" -- each xdp
	try "$label: nothing is left of what it survived" life_settled
	thing "link del" rounds $((ENDS - ENDS / 2)) end -t $OVER -- del_links
	thing "link del, and rings used after it" \
		rounds $(((ENDS + 1) / 2)) end -t $OVER -m -- del_links
	thing "netdev deleted" rounds "$ENDS" end -t $OVER -- del_netdevs
	thing "netdev moved to another namespace" \
		rounds "$ENDS" end -t $OVER -- move_all
	if [ "$XROCE_XDP" = off ]; then
		thing "module unloaded and loaded" \
			rounds $((UNLOADS - UNLOADS / 2)) end -t $OVER -- unload
		thing "module unloaded, and rings used after it" \
			rounds $((UNLOADS / 2)) end -t $OVER -m -- unload
	else
		thing "module in use does not unload" \
			rounds "$PAUSES" go -t "$survive" -- unload
	fi
	try "$label: nothing is left" life_settled
	# here, not in the subshell of try: it says where each is from now on
	if life_spread >"$TOPO_TMP/spread" 2>&1; then
		ok "$label: a namespace for each"
		# which takes memory that stays
		life_kib_before=$(life_kib)
	else
		not_ok "$label: a namespace for each" "$(tail -n 1 "$TOPO_TMP/spread")"
	fi
	thing "namespace deleted" rounds "$ENDS" end -t $OVER -l -- each del_netns
	try "$label: nothing is left of them" life_settled
	try "$label: the module unloads" life_unload
	ip netns del "$NS3"
	life_clear
}

for XROCE_NETNS in "${MODES[@]}"; do
	things
done
tap_end
