# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
# Owns what every script here shares: places, messages, host packages, the
# choice of a kernel.  Sourced after `set -euo pipefail`, never run.

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=$TOP/build
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/xroce
ME=${0##*/}

say() { printf '%s: %s\n' "$ME" "$*" >&2; }
die() { say "$*"; exit 1; }

need_root() {
	[ "$(id -u)" = 0 ] || die "needs root (it makes a chroot); try: sudo make ..."
}

# need_space DIR MEGABYTES
need_space() {
	local free
	mkdir -p "$1"
	free=$(df -Pm "$1" | awk 'NR == 2 { print $4 }')
	[ "$free" -ge "$2" ] || die "$1 has $free MB free, $2 MB are needed"
}

# need_host COMMAND:PACKAGE... - install what is missing, as root, by apt
need_host() {
	local pair missing=() log

	for pair; do
		command -v "${pair%%:*}" >/dev/null || missing+=("${pair#*:}")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null ||
		die "please install: ${missing[*]}"
	say "installing on this host: ${missing[*]}"
	log=$(mktemp)
	if ! { DEBIAN_FRONTEND=noninteractive
	       export DEBIAN_FRONTEND
	       timeout 300 apt-get -q update &&
	       timeout 600 apt-get -qy -o DPkg::Lock::Timeout=120 install \
			--no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
		tail -n 20 "$log" >&2
		rm -f "$log"
		die "apt-get could not install: ${missing[*]}"
	fi
	rm -f "$log"
}

# copy_tree DEST - what is built is a copy, so that nobody's edit changes a
# build under way.  What .gitignore names is neither copied nor deleted: objects
# survive.  What has changed is new when it is copied, not when it was edited: that may
# have been before the end of a build that did not see it.
copy_tree() {
	need_host rsync:rsync
	mkdir -p "$1"
	rsync -a --no-times --checksum --delete --exclude=/build --exclude=/.git \
		--filter=':- .gitignore' "$TOP/" "$1/"
}

# locked FILE COMMAND... - one at a time, waiting at most half an hour
locked() {
	local file=$1 fd
	shift
	mkdir -p "$(dirname "$file")"
	exec {fd}>"$file"
	if ! flock -n "$fd"; then
		say "waiting for another run (${file##*/})"
		flock -w 1800 "$fd" || die "still locked after 30 minutes: $file"
	fi
	"$@"
	exec {fd}>&-
}

# The root that ROOT= names, made if it is not there
the_root() {
	case ${ROOT:-} in
	'')	"$TOP/scripts/root" ;;
	*)	"$TOP/scripts/root-more" "$ROOT" ;;
	esac
}

# kernel_dir ROOT NAME - where the boot files of that kernel are; NAME is
# 6.12, 7.3, ..., "new" (the newest the root has) or "debug"
kernel_dir() {
	local dir
	case $2 in
	debug)	dir=$("$TOP/scripts/debug-kernel" --path) ;;
	new)	dir=$(find "$1/kernels" -mindepth 1 -maxdepth 1 | sort -V | tail -n 1) ;;
	*)	dir=$1/kernels/$2 ;;
	esac
	[ -s "$dir/release" ] ||
		die "no kernel '$2'; there are: $(cd "$1/kernels" && echo *) new" \
			"and, after make debug-kernel, debug"
	echo "$dir"
}
