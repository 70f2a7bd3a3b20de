#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Runs each fuzz target for FUZZ_TIME seconds (20) from FUZZ_SEED (1) and the
# inputs in corpus/. An input that fails is kept and named:  ./TARGET FILE
# runs it again.

cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh

found=$PWD/found
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# fuzz TARGET LONGEST
fuzz() {
	local corpus=()
	[ ! -d "corpus/$1" ] || corpus=("corpus/$1")
	mkdir -p "$found" "$tmp/$1"
	if "./$1" -seed="${FUZZ_SEED:-1}" -max_len="$2" -timeout=20 \
		  -max_total_time="${FUZZ_TIME:-20}" \
		  -artifact_prefix="$found/$1-" \
		  "$tmp/$1" "${corpus[@]}" >"$tmp/log" 2>&1; then
		ok "$1: $(sed -n 's/^Done \(.*\) in .*/\1/p' "$tmp/log")"
	else
		tail -n 60 "$tmp/log" | sed 's/^/# /'
		not_ok "$1" "the input is in $found"
	fi
}

fuzz parse 400
fuzz transport 800
rmdir "$found" 2>/dev/null
tap_end
