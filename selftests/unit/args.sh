#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# What rdmatool does with its arguments before it asks a kernel, and with the file
# that it is to write: all that needs no device.

# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2317 # called by try
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh

TOOL=$PWD/../../rdmatool/rdmatool
[ -x "$TOOL" ] || skip_all "rdmatool is not built"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

saved() { grep -q '^# Links of xroce' "$1"; }

# What is there stays what it is
test_save() {
	local pid
	try "a file" "$TOOL" link save "$dir/links"
	try "is written" saved "$dir/links"
	mkfifo "$dir/fifo"
	cat "$dir/fifo" >"$dir/read" &
	pid=$!
	try "a pipe" timeout 10 "$TOOL" link save "$dir/fifo"
	try "stays one" test -p "$dir/fifo"
	# who reads one that is none any more waits for ever
	[ -p "$dir/fifo" ] || kill "$pid"
	wait "$pid"
	try "what reads it gets it" saved "$dir/read"
	mkdir "$dir/there"
	: >"$dir/there/links"
	ln -s there/links "$dir/link"
	ln -s there/more "$dir/nowhere"
	try "a symbolic link" "$TOOL" link save "$dir/link"
	try "stays one" test -L "$dir/link"
	try "what it leads to is written" saved "$dir/there/links"
	try "one that leads to nothing yet" "$TOOL" link save "$dir/nowhere"
	try "stays one" test -L "$dir/nowhere"
	try "and leads to a file now" saved "$dir/there/more"
	try "a directory is refused" eval '! "$TOOL" link save "$dir/there"'
	try "nothing else is left" eval \
		'[ "$(find "$dir" -name "*.??????" | wc -l)" = 0 ]'
}

# Nothing is begun for a command that makes no sense
test_usage() {
	local out
	while read -r -a words; do
		out=$("$TOOL" -j "${words[@]}" 2>"$dir/said")
		try "-j ${words[*]}: refused, and that is all" \
			[ "$?,$out,$(wc -l <"$dir/said")" = 2,,1 ]
	done <<-'EOF'
	link show a b
	dev show a b
	gid show a b
	steer show a b
	tune show a b
	qp show colour 1
	cq show colour 1
	mr show lkey
	mw show dev a dev b
	srq show colour 1
	pd show colour 1
	ctx show colour 1
	cm_id show colour 1
	ah show colour 1
	stat show a b
	stat qp colour 1
	stat qp colour 1 --watch
	capture
	monitor colour 1
	decode
	check 1.2.3
	EOF
}

test_save
test_usage
tap_end
