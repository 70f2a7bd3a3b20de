# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# Owns the TAP output of the kselftests here: ok, not_ok and skip say one result,
# try runs a command for one, tap_end prints the plan and exits as kselftest
# wants it: 0, 1 when one failed, 4 when all were skipped.

tap_n=0 tap_failed=0 tap_skipped=0

echo "TAP version 13"

ok() {
	echo "ok $((++tap_n)) - $1"
}

# not_ok NAME WHY
not_ok() {
	tap_failed=$((tap_failed + 1))
	echo "not ok $((++tap_n)) - $1"
	[ -z "${2:-}" ] || echo "# $2"
}

# skip NAME WHY
skip() {
	tap_skipped=$((tap_skipped + 1))
	echo "ok $((++tap_n)) - $1 # SKIP $2"
}

# try NAME COMMAND... - what the command says is shown when it fails
try() {
	local name=$1 status=0
	shift
	tap_said=$("$@" 2>&1) || status=$?
	case $status in
	0)	ok "$name" ;;
	4)	skip "$name" "${tap_said##*$'\n'}" ;;
	*)	not_ok "$name" "exit status $status: $*"
		[ -z "$tap_said" ] || echo "# ${tap_said//$'\n'/$'\n'# }" ;;
	esac
	return 0
}

# measure NAME COMMAND... - as try; the last line that it says is the figure
measure() {
	local before=$tap_failed
	try "$@"
	[ "$tap_failed" != "$before" ] || echo "# ${tap_said##*$'\n'}"
}

# results LABEL COMMAND... - a program's lines "ok", "not ok", "skip" become ours;
# what else it says is shown, and left in $said
results() {
	local label=$1 line all=$tap_n fails=$tap_failed skips=$tap_skipped
	shift
	said=
	while IFS= read -r line; do
		case $line in
		'ok '*)		ok "$label: ${line#ok }" ;;
		'not ok '*)	line=${line#not ok }
				not_ok "$label: ${line%% \# *}" "${line#* \# }" ;;
		'skip '*)	line=${line#skip }
				skip "$label: ${line%% \# *}" "${line#* \# }" ;;
		'')		;;
		'exit 0')	[ "$tap_n" != "$all" ] ||
					not_ok "$label: $*" "no results" ;;
		'exit 1')	[ "$tap_failed" != "$fails" ] ||
					not_ok "$label: $*" "fails nothing, but says so" ;;
		'exit 4')	[ "$tap_skipped" != "$skips" ] ||
					not_ok "$label: $*" "skips nothing, but says so" ;;
		'exit '*)	not_ok "$label: $*" "exit status ${line#exit }" ;;
		*)		said+=$line$'\n'
				echo "# $line" ;;
		esac
	# who dies may leave a line without its end
	done < <("$@" 2>&1; printf '\nexit %s\n' $?)
}

skip_all() {
	echo "1..0 # SKIP $1"
	exit 4
}

tap_end() {
	echo "1..$tap_n"
	[ "$tap_failed" = 0 ] || exit 1
	[ "$tap_n" -gt "$tap_skipped" ] || exit 4
	exit 0
}
