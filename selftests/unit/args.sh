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

# show need not be said; what then cannot be had without RDMA netlink is 1
test_show() {
	local status
	while read -r -a words; do
		"$TOOL" "${words[@]}" >"$dir/said" 2>&1
		status=$?
		try "${words[*]}: makes sense" [ "$status" -le 1 ]
	done <<-'EOF'
	qp dev nonesuch state RTS
	qp state RTS
	-d qp lqpn 17,20-30
	qp lq 17
	cq pid 4711
	mr lkey 1 comm nobody
	mw type 1
	srq lqpn 1
	pd dev nonesuch
	ctx pid 1
	cm_id state LISTEN
	ah dst 192.0.2.1
	EOF
	while read -r -a words; do
		"$TOOL" "${words[@]}" >"$dir/said" 2>&1
		status=$?
		try "${words[*]}: does not" [ "$status" = 2 ]
	done <<-'EOF'
	qp s RTS
	qp set RTS
	qp colour blue
	cq state
	link nonesuch
	gid nonesuch
	stat nonesuch
	EOF
}

# Of the manuals' examples those that only look make sense
test_examples() {
	local n=0 status line
	while read -r line; do
		case ${line%%|*} in
		*" add "* | *" set "* | *" del "* | *" rename "* | *" save"* | *" -w "*)
			continue ;;
		esac
		n=$((n + 1)) line=${line%% |*}
		read -ra words <<<"${line#rdmatool }"
		timeout 2 "$TOOL" "${words[@]}" >"$dir/said" 2>&1 </dev/null
		status=$?
		# 124: who watches goes on
		try "example: $line" grep -qxE '0|1|124' <<<"$status"
	done < <(sed -n '/^\.SH EXAMPLES/,/^\.fi/p' ../../docs/man/*.8 |
		sed 's/\\-/-/g' | grep '^rdmatool ' | sort -u)
	try "there are examples" [ "$n" -ge 10 ]
}

test_save
test_usage
test_show
test_examples
tap_end
