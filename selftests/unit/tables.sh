#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# What rdmatool makes of what a kernel tells it only at times: of a device that goes
# between list and look, of one with two ports, of long lists. The kernel is fakenl.c.

# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2317 # called by try
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/says.sh

TOOL=$PWD/../../rdmatool/rdmatool
[ -x "$TOOL" ] || skip_all "rdmatool is not built"
command -v jq >/dev/null || skip_all "no jq"

# Only its own standard error: jq has no such kernel
fake() { LD_PRELOAD=$PWD/fakenl.so timeout 10 "$TOOL" "$@"; }

json "the kernel is a fake" '["fk0"]' 'map(.ifname)' fake -j dev

# Each port has QPs 0 and 1 of its own; an answer in two messages is asked for again
json "QPs of two ports, none left out nor twice" \
	'[[1,0],[1,1],[1,17],[2,0],[2,1],[2,18]]' 'map([.port, .lqpn]) | sort' \
	fake -j qp show dev fk0

# More QPs than a line has room for
json "all QPs of an SRQ" '[101,"8000001","9000000-9000099"]' \
	'.[0].lqpn | split(",") | [length, .[0], .[100]]' fake -j srq show dev fk0
for qpn in 8000001 8000199 9000000 9000099; do
	json "by QP $qpn" 1 length fake -j srq show dev fk0 lqpn $qpn
done
for qpn in 8000002 8000200 9000100; do
	json "by QP $qpn, which is not its" 0 length fake -j srq show lqpn $qpn
done
json "by a range that one is in" 1 length fake -j srq show lqpn 8000200-9000000
json "by a range that none is in" 0 length fake -j srq show lqpn 8000200-8999999
for qpn in 017 0x11 0x0011,4711 0x11-17; do
	json "a QP by $qpn" '[17]' 'map(.lqpn)' fake -j qp show dev fk0 lqpn $qpn
done

# fk1 goes before it is looked at; what there is of fk0 is told all the same
json "link show" '[["fk0",1],["fk0",2]]' 'map([.ifname, .port])' fake -j link
json "of it alone" '[]' . fake -j link show fk1
json "link status" '["fk0",null]' 'map(.ifname)' \
	fake -j link status
json "gid show" '[]' . fake -j gid show fk1
json "dev show" '["fk0"]' 'map(.ifname)' fake -j dev
json "stat show" '["fk0","fk0"]' 'map(.ifname)' fake -j stat
out=$(fake gid 2>&1)
[ $? = 1 ] && grep -q 'no /sys.*/fk0/' <<<"$out" && ok "but of fk0 it says that it has no /sys" ||
	not_ok "but of fk0 it says that it has no /sys" "$out"
for cmd in "link status" "gid show fk1" link dev stat; do
	# shellcheck disable=SC2086 # two words
	try "$cmd does not fail" fake $cmd
done
refuses 1 '^rdmatool: qp show: fk1 is gone$' fake qp show dev fk1

# What a list is of may change while it is told
out=$(FAKE_INTR=1 fake -j dev 2>&1 >/dev/null)
[ "$out" = "rdmatool: what was listed has changed meanwhile: it may not be all" ] &&
	ok "a list that changed is said to have" ||
	not_ok "a list that changed is said to have" "$out"
FAKE_INTR=1 json "and is shown" '["fk0"]' 'map(.ifname)' fake -j dev

# Counters that are watched: each second, whatever was missed meanwhile
times='[.[] | select(.port == 1).time | .[0:19] + "Z" | fromdate]'
json "a line each second" '[10,1,1,1,1]' \
	"$times | [.[1:], .[:-1]] | transpose | map(.[0] - .[1])" \
	fake -j stat fk0 --watch 1 -c 6
for who in fk0 "" ; do
	# shellcheck disable=SC2086 # perhaps none
	FAKE_LOOKS=6 refuses 1 "^rdmatool: stat: ${who:-every device} is gone\$" \
		fake -j stat show $who --watch
done
STATUS=1 FAKE_LOOKS=6 json "until then it tells" 4 length fake -j stat show fk0 --watch
tap_end
