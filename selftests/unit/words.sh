#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# What rdmatool is told by: every object has a man page, every man page renders
# without a warning and names what it refers to, and bash completes all objects
# and commands.

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh

TOP=../..
# as they are installed, so that one may refer to another
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
MAN=$dir/man8
cp -r $TOP/docs/man "$MAN"
[ -x $TOP/rdmatool/rdmatool ] || skip_all "rdmatool is not built"
command -v man >/dev/null || skip_all "no man"

objects() {
	$TOP/rdmatool/rdmatool nonesuch 2>&1 |
		sed -n 's/.*: \(.*\) expected/\1/p' | sed 's/ or /, /; s/, / /g'
}

# commands OBJECT - those that the tool knows
commands() {
	case $1 in capture|monitor|decode|check) return ;; esac
	$TOP/rdmatool/rdmatool "$1" nonesuch 2>&1 |
		sed -n 's/.*: \(.*\) expected/\1/p' | sed 's/ or /, /; s/, / /g'
}

renders() {
	local out
	out=$(cd "$dir" && MANWIDTH=80 man --warnings=w -E UTF-8 -l -Tutf8 -Z \
		"man8/$1" 2>&1 >/dev/null)
	[ -z "$out" ] || { echo "$out"; return 1; }
	[ "$(cd "$dir" && MANWIDTH=80 man -E UTF-8 -l -Tutf8 "man8/$1" 2>&1 |
		wc -l)" -gt 10 ]
}

# What is under SEE ALSO as rdmatool's is there
refers() {
	local page
	while read -r page; do
		[ -e "$MAN/$page.8" ] || { echo "no $page"; return 1; }
	done < <(grep -o 'rdmatool[^ ]* (8)' "$1" | sed 's/ (8)//; s/\\//g' | sort -u)
}

# completes WORDS... - the last one begun; COMPREPLY
completes() {
	COMP_WORDS=(rdmatool "$@") COMP_CWORD=$#
	COMPREPLY=()
	_rdmatool
}

# has WORD... - all of them in COMPREPLY
has() {
	local word
	for word; do
		printf '%s\n' "${COMPREPLY[@]}" | grep -qxF -e "$word" ||
			{ echo "no $word in: ${COMPREPLY[*]}"; return 1; }
	done
}

# commands of an object, options of a command
offers() {
	local words=$1
	[ -n "$words" ] || { echo "the tool names none"; return 1; }
	shift
	completes "$@" ""
	# shellcheck disable=SC2086 # it is a list
	has $words
}

n=0
for object in $(objects); do
	n=$((n + 1))
	try "a man page of $object" test -s "$MAN/rdmatool-$object.8"
	try "that rdmatool(8) names" grep -qE "^\.B.* $object( |$)" "$MAN/rdmatool.8"
done
try "all objects" test "$n" -ge 18
for page in "$MAN"/*.8; do
	try "${page##*/} renders" renders "${page##*/}"
	try "${page##*/} refers to what is there" refers "$page"
done

# A counter that nothing counts says that something does not happen; pma.c and
# xroce_env_total() only read them, and who compares, or tells of one, counts nothing
counted() {
	local sym n=0
	while read -r sym; do
		n=$((n + 1))
		grep -rhw --include='*.c' --exclude=pma.c "XROCE_CNT_$sym" "$TOP/kmod" |
			grep -v -e xroce_env_total -e '^[[:space:]]*/\?\*' |
			grep -qvE "[=!]= *XROCE_CNT_$sym|case XROCE_CNT_$sym" ||
			{ echo "$sym"; return 1; }
	done < <(sed -n 's/^\tX(\([A-Z_0-9]*\),.*/\1/p' "$TOP/include/xroce/counters.h")
	[ "$n" -gt 50 ]
}
try "every counter is counted" counted

. $TOP/rdmatool/completion.bash
# shellcheck disable=SC2317 # a builtin that is only there while completing
compopt() { :; }
completes ""
# shellcheck disable=SC2046 # a list
try "completes objects" has $(objects) help -j -d -b -n
for object in $(objects); do
	case $object in capture|monitor|decode|check) continue ;; esac
	try "completes commands of $object" offers "$(commands "$object")" "$object"
done
completes li
try "completes a word that is begun" test "${COMPREPLY[*]}" = link
try "completes behind options" offers "$(commands link)" -j -d link
try "completes fields" offers "dev lqpn state comm" qp show
try "completes fields of others" offers "dev lkey pid comm" mr show
# columns OBJECT COMMAND - that may be asked for, as the tool says
columns() {
	"$TOP/rdmatool/rdmatool" "$@" nonesuch 0 2>&1 |
		sed -n 's/.*: \(.*\) expected$/\1/p' | sed 's/ or /, /; s/, / /g'
}
for object in qp cq mr mw srq pd ctx cm_id ah; do
	try "completes each field of $object" offers "$(columns $object show)" $object show
done
try "completes each field of stat qp" offers "$(columns stat qp)" stat qp
# shellcheck disable=SC2046 # a list
try "which are as many as they should be" test $(columns qp show | wc -w) -gt 30
each_field_told() {
	local word
	for word in $(columns qp show); do
		sed 's/\\-/-/g' "$MAN/rdmatool-qp.8" | grep -qw -e "$word" ||
			{ echo "no $word"; return 1; }
	done
}
try "the manual tells of each field of qp" each_field_told
try "completes keys" offers "cwnd-init cwnd-max cnp-gap" tune set xt0
try "completes XDP modes" offers "off generic native auto" link set xt0 xdp
try "completes filters of capture" offers "qp peer opcode verdict dir -w -c -t" capture xt0
# A device's name may be anything: whoever had it in a container has chosen it
# shellcheck disable=SC2317 # called by the completion
cd() { [ "$1" = /sys/class/net ] && builtin cd "$dir/net" || return; }
mkdir "$dir/net"
touch "$dir/net/\$(id>ran)" "$dir/net/eth0"
completes link add x netdev ""
unset -f cd
try "completes a name that is a command" has eth0 '\$\(id\>ran\)'
try "and does not run it" eval '[ ! -e ran ] && [ ! -e "$dir/net/ran" ]'
try "completes behind an option's value" offers "$(commands link)" --netns x link
try "and where options are together" offers "$(commands link)" -jn x link
try "completes long options" offers "--json --netns --batch --help" ""
try "completes options of stat" offers "--watch -c -t" stat show xt0
try "completes fields of stat" offers "dev lqpn type pid comm --watch" stat qp
tap_end
