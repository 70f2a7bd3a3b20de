# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# Owns how tests hold a command to what it prints. Sourced after tap.sh. What is refused
# is reported with $says_label in front.

# A command that must succeed and print what the pattern says
says() {
	local name=$1 want=$2 out status=0
	shift 2
	out=$("$@" 2>&1) || status=$?
	if [ "$status" = 0 ] && grep -qE -- "$want" <<<"$out"; then
		ok "$name"
	else
		not_ok "$name" "status $status, not /$want/: ${out//$'\n'/ | }"
	fi
}

# The same for one that must fail: with that status, and not at length
refuses() {
	local status=$1 want=$2 label out got=0
	shift 2
	label="${says_label:-}refused: ${*:1:9}"
	out=$("$@" 2>&1 >/dev/null) || got=$?
	if [ "$got" = "$status" ] && grep -qE -- "$want" <<<"$out" &&
	   [ "$(wc -l <<<"$out")" = 1 ]; then
		ok "$label"
	else
		not_ok "$label" "status $got, not $status /$want/: ${out//$'\n'/ | }"
	fi
}

# json NAME WANTED FILTER COMMAND... - JSON of which jq says what is wanted, and the
# status 0 or $STATUS
json() {
	local name=$1 want=$2 filter=$3 out got status=0
	shift 3
	out=$("$@" 2>/dev/null) || status=$?
	got=$(jq -rc "$filter" <<<"$out" 2>&1) || got="not JSON: $out"
	if [ "$got" = "$want" ] && [ "$status" = "${STATUS:-0}" ]; then
		ok "$name"
	else
		not_ok "$name" "status $status, ${got//$'\n'/ }, not $want: ${out:0:600}"
	fi
}
