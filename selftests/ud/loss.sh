#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# UC over a network that loses, reorders and doubles: a message comes whole or
# not at all, at most once, in order; the one after a gap is good. UD: a datagram
# comes whole or not at all, wherever among the others, as often as it arrives.
#
#   +---------+     +----------------------+     +---------+
#   | h1 eth0 |-----| p1 --- br0 --- p2  m |-----| eth0 h2 |
#   +---------+     +----------------------+     +---------+
#                         netem on p2
#
# XROCE_XDP=off|generic|native

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ../lib/ud.sh

topo_need tc
label="$DEVTYPE $XROCE_XDP"
topo_middle 4500
rdma_devices "$label"

# came MIN all|some|any CAME OF - at least MIN percent of the messages, and of
# `some` not all: the network must have cost some
came() {
	case $2 in
	all)	[ "$3" = "$4" ] ;;
	some)	[ "$3" -ge $(($4 * $1 / 100)) ] && [ "$3" -lt "$4" ] ;;
	any)	[ "$3" -ge $(($4 * $1 / 100)) ] ;;
	esac
}

# stream NAME MIN UC UD NETEM... - what is to come, as came() has it: of messages MIN
# percent, of datagrams, which are a packet each, 80
stream() {
	local name="$label, $1" min=$2 uc=$3 ud=$4 n of type bad=0 count=0
	shift 4
	nm tc qdisc del dev p2 root 2>/dev/null
	[ $# = 0 ] || netem p2 "$@" || not_ok "$name: netem $*"
	ud "$name" stream
	while read -r _ n _ of type; do
		count=$((count + 1))
		case $type in
		UD)	came 80 "$ud" "$n" "$of" ;;
		*)	came "$min" "$uc" "$n" "$of" ;;
		esac || bad=$((bad + 1))
	done < <(grep '^came ' <<<"$said")
	if [ "$count" = 3 ] && [ "$bad" = 0 ]; then
		ok "$name: as many came as should"
	else
		not_ok "$name: as many came as should" \
			"$(grep '^came ' <<<"$said" | tr '\n' ' ')"
	fi
}

# of a hundredth lost, the datagrams may all be others
stream "no fault" 100 all all
stream "1 % lost" 50 some any loss 1%
stream "10 % lost" 10 some some loss 10%
XROCE_ANY_ORDER=1 stream "reordered" 5 some all delay 1ms reorder 60% 50%
XROCE_TWICE=1 stream "doubled" 10 some all duplicate 10%
stream "damaged" 10 some some corrupt 3%
tap_end
