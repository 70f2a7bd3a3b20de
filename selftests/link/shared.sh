#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Links where every namespace sees every RDMA device, as is the default of a host:
# whoever uses one, from wherever, its socket, routes and GIDs are its netdev's
# namespace's, and it ends with its netdev's being there.
#
#   +----------+         +----------+    +-------------------+
#   | h1  eth0 |---------| eth0  h2 |    | h3  eth1 - far    |	h3 has the addresses
#   +----------+         +----------+    +-------------------+	of h2, by a link too
#        h4: where h1's moves to
#
# XROCE_XDP=off|generic|native

# shellcheck disable=SC2317,SC2034
# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
DEVTYPE=xroce
XROCE_NETNS=shared
. ../lib/topo.sh
PAIRS=1
. ../life/life.sh

topo_need rdmatool ss
topo_direct 1500
label="xroce $XROCE_XDP"
NS3=h3-$$ NS4=h4-$$
end() {
	local status=$?
	in_ns "$NS3" rdma link del xr3 2>/dev/null
	(exit "$status")
	topo_end
}
trap end EXIT
for ns in "$NS3" "$NS4"; do
	ip netns add "$ns"
	quiet_ns "$ns"
done

listens() { in_ns "$1" ss -Hulna 'sport = :4791' | grep -q .; }
silent() { ! listens "$1"; }
exists() { rdma link show "$1/1"; }
gone() { ! exists "$1" 2>/dev/null; }
seen() {
	local ns
	for ns in '' "$NS1" "$NS2" "$NS3" "$NS4"; do
		in_ns "$ns" rdma link show "$1/1" || return
	done
}
gids() { in_ns "$1" rdmatool -j gid show | grep -c "$V4\.$2\""; }

# traffic VERB NAMESPACE1 NAMESPACE2 COMMAND... - by processes of these; see life.sh
traffic() {
	SIDES=("xr1${2:+@$2}" "xr2${3:+@$3}")
	rounds 1 "$1" -t 18 -- "${@:4}"
}
# rounds() wants them there again after an end; here each does that itself
life_links() { :; }

try "$label: every namespace sees every device" \
	grep -q 'netns shared' <(rdma system show)
try "$label: links" rdma_up
try "$label: all see them" seen xr1
for ns in "$NS1" "$NS2"; do
	try "$label: a socket where the netdev is" listens "$ns"
done
for ns in '' "$NS3" "$NS4"; do
	try "$label: none elsewhere" silent "$ns"
done

# From where there is no route to anywhere
try "$label: used from other namespaces" traffic go "$NS3" "$NS4" true

# Another h2, which is not on that wire
double() {
	in_ns "$NS3" ip link add eth1 mtu 1500 type veth peer name far &&
		in_ns "$NS3" ip link set far up && addresses "$NS3" eth1 2 &&
		rdma_add "$NS3" xroce xr3 eth1 && wait_for 20 rdma_ready "$NS3" xr3 2
}
heard() { counter "$1" "$2" rcvd_pkts; }
apart() {
	local was
	was=$(heard "$NS2" xr2)
	traffic go "$NS3" "$NS1" true || return
	echo "h2 has heard $(heard "$NS2" xr2), $was before; h3 $(heard "$NS3" xr3)"
	[ "$(heard "$NS2" xr2)" -gt "$was" ] && [ "$(heard "$NS3" xr3)" = 0 ]
}
try "$label: the peer's addresses in a third namespace too" double
try "$label: are not the peer" apart

move() { ip -n "$1" link set eth0 netns "$2"; }
try "$label: its netdev moves to another namespace" traffic end '' '' move "$NS1" "$NS4"
try "$label: the link ends" wait_for 20 gone xr1
try "$label: and its socket" wait_for 20 silent "$NS1"
there() {
	addresses "$NS4" eth0 1
	rdma_add "$NS4" xroce xr1 eth0 && wait_for 20 rdma_ready "$NS4" xr1 1
}
try "$label: a link where it is now" there
try "$label: a socket there" listens "$NS4"
try "$label: none where it was" silent "$NS1"
try "$label: traffic from there" traffic go "$NS1" '' true
# Nobody is in it, who uses its device
try "$label: the peer's namespace is deleted" traffic end '' "$NS1" ip netns del "$NS2"
try "$label: the peer's link goes" wait_for 20 gone xr2
try "$label: and that of its netdev's other end" wait_for 20 gone xr1
try "$label: and its socket" wait_for 20 silent "$NS4"
try "$label: who had its address is there" exists xr3

# A new namespace looks at every device there is, also at what just loses its netdev
born_meanwhile() {
	local round i pid status=0
	for round in {1..4}; do
		for i in {1..6}; do
			ip -n "$NS4" link add "xm$i" type veth peer name "xn$i" &&
				rdma_add "$NS4" xroce "xm$i" "xm$i" || return
		done
		for i in {1..6}; do echo "link del xm$i"; done | ip -n "$NS4" -batch - &
		pid=$!
		for i in {1..20}; do
			ip netns add "h5-$$" && ip netns del "h5-$$" || status=1
		done
		wait "$pid" || status=1
	done
	return "$status"
}
try "$label: namespaces are made while links end" born_meanwhile
tap_end
