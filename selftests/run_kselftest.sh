#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Owns running tests and reporting them as the kernel's own runner does: each
# test's output after "# ", then one TAP line for the test.
#
#   run_kselftest.sh [SELECTION...]   in an installed tree; a SELECTION is ROOM
#                                     or ROOM:TEST, then @MODE,MODE... for the
#                                     XDP modes to run it in (XROCE_XDP; off)
#   run_kselftest.sh -r ROOM TEST...  here, for `make run_tests`
#
# A room's file `settings` may say timeout=SECONDS (300), of which there are six
# times as many on a kernel that checks everything.  Test status 4: skip.

set -uo pipefail

fails=0 count=0

# run_one ROOM TEST - in the current directory
run_one() {
	local timeout=300 name="$1: $2${XROCE_XDP:+ [$XROCE_XDP]}" status
	# shellcheck source=/dev/null
	if [ -f settings ]; then . ./settings; fi
	[ ! -e /sys/kernel/debug/kmemleak ] || timeout=$((timeout * 6))
	count=$((count + 1))
	status=$(mktemp)
	echo "# selftests: $name"
	if [ -w /dev/kmsg ] && [ -n "${XROCE_HOST:-}" ]; then
		echo "<4>xroce selftest: $name" >/dev/kmsg
	fi
	# what a test leaves running ends with it; it has time to take its links away
	# shellcheck disable=SC2016
	setsid -w bash -c '
		timeout -k 120 "$1" "./$2" </dev/null
		echo $? >"$3"
		trap "" TERM
		pkill -TERM -s 0
		:' - "$timeout" "$2" "$status" 2>&1 | sed -u 's/^/# /'
	case $(cat "$status") in
	0)	echo "ok $count selftests: $name" ;;
	4)	echo "ok $count selftests: $name # SKIP" ;;
	124|137) echo "not ok $count selftests: $name # TIMEOUT $timeout seconds"
		fails=$((fails + 1)) ;;
	*)	echo "not ok $count selftests: $name # exit=$(cat "$status")"
		fails=$((fails + 1)) ;;
	esac
	rm -f "$status"
}

run_selection() {
	local room=${1%%[@:]*} pattern=${1%@*} modes=off mode entry before=$count
	case $1 in *@*) modes=${1#*@} ;; esac
	[ "$pattern" != "$room" ] || pattern=$room:'*'
	for mode in ${modes//,/ }; do
		export XROCE_XDP=$mode
		while read -r entry; do
			# shellcheck disable=SC2053
			[[ $entry == $pattern ]] || continue
			cd "$top/$room" || exit 2
			run_one "$room" "${entry#*:}"
		done <"$top/kselftest-list.txt"
	done
	[ "$count" = "$before" ] || return 0
	count=$((count + 1)) fails=$((fails + 1))
	echo "not ok $count selftests: $1 # there is no such test"
}

echo "TAP version 13"
if [ "${1:-}" = -r ]; then
	room=$2
	shift 2
	for test; do run_one "$room" "$test"; done
else
	top=$(cd "$(dirname "$0")" && pwd)
	[ $# -gt 0 ] || mapfile -t rooms < <(cut -d: -f1 "$top/kselftest-list.txt" | uniq)
	for selection in "${@:-${rooms[@]}}"; do run_selection "$selection"; done
fi
echo "1..$count"
[ "$fails" = 0 ]
