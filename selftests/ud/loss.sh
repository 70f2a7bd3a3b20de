#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# UC over a network that loses, reorders and doubles: a message comes whole or
# not at all, at most once, in order; the one after a gap is good.
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
ud_devices "$label"

# stream NAME MIN ALL NETEM... - that many percent of the messages are to come, and
# if not ALL the network must have cost some
stream() {
	local name="$label, $1" min=$2 all=$3 came of bad=0 n=0
	shift 3
	nm tc qdisc del dev p2 root 2>/dev/null
	[ $# = 0 ] || netem p2 "$@" || not_ok "$name: netem $*"
	ud "$name" stream
	while read -r _ came _ of; do
		n=$((n + 1))
		[ "$came" -ge $((of * min / 100)) ] &&
			{ $all || [ "$came" -lt "$of" ]; } || bad=$((bad + 1))
	done < <(grep '^came ' <<<"$said")
	if [ "$n" = 2 ] && [ "$bad" = 0 ]; then
		ok "$name: as many came as should"
	else
		not_ok "$name: as many came as should" \
			"$(grep '^came ' <<<"$said" | tr '\n' ' ')"
	fi
}

stream "no fault" 100 true
stream "1 % lost" 50 false loss 1%
stream "10 % lost" 10 false loss 10%
XROCE_ANY_ORDER=1 stream "reordered" 5 false delay 1ms reorder 60% 50%
stream "doubled" 10 false duplicate 10%
stream "damaged" 10 false corrupt 3%
tap_end
