#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Runs each fuzz target from FUZZ_SEED (1) and the inputs in corpus/: so many times,
# or with XROCE_ALL for a minute, or for FUZZ_TIME seconds. An input that fails is
# kept and named:  ./TARGET FILE  runs it again.

cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh

found=$PWD/found
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

seconds=${FUZZ_TIME:-${XROCE_ALL:+60}}

# fuzz TARGET LONGEST RUNS
fuzz() {
	local corpus=() much=(-runs="$3")
	[ -z "$seconds" ] || much=(-max_total_time="$seconds")
	[ ! -d "corpus/$1" ] || corpus=("corpus/$1")
	mkdir -p "$found" "$tmp/$1"
	if "./$1" -seed="${FUZZ_SEED:-1}" -max_len="$2" -timeout=20 \
		  "${much[@]}" \
		  -artifact_prefix="$found/$1-" \
		  "$tmp/$1" "${corpus[@]}" >"$tmp/log" 2>&1; then
		ok "$1: $(sed -n 's/^Done \(.*\) in .*/\1/p' "$tmp/log")"
	else
		tail -n 60 "$tmp/log" | sed 's/^/# /'
		not_ok "$1" "the input is in $found"
	fi
}

fuzz parse 400 5000000
fuzz transport 800 40000
rmdir "$found" 2>/dev/null
tap_end
