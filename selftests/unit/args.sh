#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# What rdmatool does with its arguments before it asks a kernel, and with the file
# that it is to write: all that needs no device.

# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2317 # called by try
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/says.sh

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
	qp lqpn 0x11-0x20,018 state rts,3 src 192.0.2.1,fe80::1
	qp comm 17-
	mw bound true
	ah dmac 2:0:0:0:0:a
	cm_id src-addr 192.0.2.1:7471,[fe80::1]:7471
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

# What no object can have is not looked for, nor taken for something else
test_filters() {
	local word number='number, or a range' pair
	for word in '' '17,' ,17 abc -1 17- 20-10 17-abc 1--2 +1 ' 1' 0x 0x-1 017x \
		    18446744073709551616 1-18446744073709551616; do
		refuses 2 "qp show: lqpn \"[^,]*\": a $number" "$TOOL" qp lqpn "$word"
	done
	refuses 2 'srq show: lqpn "7-": a number' "$TOOL" srq lqpn 7-
	refuses 2 'mr show: rkey "1f": a number' "$TOOL" mr rkey 1f
	refuses 2 'cq show: fill "x": a number' "$TOOL" cq fill x
	refuses 2 'qp show: state "RTX": RESET, .*, ERROR, or a number expected' \
		"$TOOL" qp state RTS,RTX
	refuses 2 'qp show: type "": SMI, GSI, .*, DRIVER, or a number' "$TOOL" qp type ""
	for word in '' 1 abc 300.1.1.1 192.0.2 fe80:: fe80::1/64; do
		[ "$word" = fe80:: ] ||
			refuses 2 'qp show: src ".*": an IPv4 or IPv6' "$TOOL" qp src "$word"
		refuses 2 'cm_id show: dst-addr ".*": an address with' \
			"$TOOL" cm_id dst-addr "$word"
	done
	for pair in 192.0.2.1:x 192.0.2.1:65536 fe80::1:7 '[fe80::1]' '[192.0.2.1]:7' \
		    ']:7' '[:7' :7; do
		refuses 2 'an address with its port' "$TOOL" cm_id src-addr "$pair"
	done
	for word in '' 0 2:0:0:0:0 2:0:0:0:0:1:2 2:0:0:0:0:x 200::1; do
		refuses 2 'ah show: dmac ".*": a MAC' "$TOOL" ah dmac "$word"
	done
	refuses 2 'mw show: bound "0": true expected' "$TOOL" mw bound 0
	refuses 2 'qp show: comm "": a name' "$TOOL" qp comm a,
	refuses 2 'stat qp: pid "x": a number' "$TOOL" stat qp pid x --watch
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

# Only the word off turns it off
test_steer() {
	refuses 2 'link set x: steer has 1 to 1023' "$TOOL" link set x steer ""
	refuses 2 'link set x: steer has 1 to 1023' "$TOOL" steer set x ""
}

# Its lines are commands, and not what one of these reads
test_batch() {
	printf 'decode -\nhelp\n' | "$TOOL" -b - >/dev/null 2>"$dir/said"
	try "what a command of a batch would read is empty" grep -q ': empty$' "$dir/said"
}

helps() {
	local out
	out=$("$TOOL" "$@" 2>"$dir/said" </dev/null) && [ ! -s "$dir/said" ] &&
		[[ $out == "usage: rdmatool "* ]]
}

# Of each object alike
test_help() {
	local object
	for object in link dev gid qp cq mr mw srq pd ctx cm_id ah stat steer tune \
		      capture monitor decode check; do
		try "$object help" helps "$object" help
	done
	refuses 2 '^rdmatool: capture: NAME expected$' "$TOOL" capture
}

# Also on a host without ib_core: what is wrong is said, and it comes to the end
bare() {
	# shellcheck disable=SC2016 # the inner shell's
	unshare -n sh -c 'ip link add xa type veth peer name xb && ip link set xa up &&
		ip link set xb up && exec "$1" -j check' - "$TOOL" >"$dir/json" 2>"$dir/said"
	cat "$dir/said"
	[ ! -s "$dir/said" ] && jq -e 'any(.[]; .check == "gid" and .on == "xa")' "$dir/json"
}

test_save
test_usage
test_show
test_filters
test_examples
test_steer
test_batch
test_help
try "check where nothing is set up" bare
tap_end
