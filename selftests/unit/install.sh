#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# `make install` of what has been built puts everything where it is found, and
# `make uninstall` takes all of it away again. Into a directory of its own.

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh

TOP=../..
for built in kmod/xroce.ko kmod/xroce_bell.ko bpf/xroce.bpf.o rdmatool/rdmatool; do
	[ -e "$TOP"/$built ] || skip_all "$built is not built"
done
dir=$(mktemp -d)
lib=$(realpath /lib)
trap 'rm -rf "$dir"' EXIT

in_place() { make -s -C "$TOP" DESTDIR="$dir" "$@"; }

# there PATTERN - one file, not empty
there() {
	local files
	# shellcheck disable=SC2206 # it is a pattern
	files=($dir/$1)
	[ "${#files[@]}" = 1 ] && [ -s "${files[0]}" ]
}

alias_there() {
	modinfo -F alias "$dir$lib"/modules/*/updates/xroce.ko |
		grep -qx rdma-link-xroce
}
all_may_read() {
	! find "$dir" -mindepth 1 ! -type l ! -perm -444 | grep .
}
by_hardened() { (umask 077 && "$@"); }
nothing_left() {
	[ "$(find "$dir" ! -type d -print)" = "$dir/usr/src/xroce-own/README.md" ]
}

# pkg-config knows nothing there
left_behind() {
	local said
	! said=$(PKG_CONFIG_LIBDIR=/nonesuch in_place uninstall 2>&1) &&
		grep -q 'pkg-config knows no libdir' <<<"$said"
}

# somebody's own, which DKMS knows nothing of
mkdir -p "$dir/usr/src/xroce-own"
echo work >"$dir/usr/src/xroce-own/README.md"
try "make install" by_hardened in_place install
try "the module" there "$lib/modules/*/updates/xroce.ko"
try "the module of its doorbells" there "$lib/modules/*/updates/xroce_bell.ko"
try "in no /lib of their own, which would be unpacked over the host's" \
	eval '[ "$lib" = /lib ] || [ ! -e "$dir/lib" ]'
try "whoever made it, all may read it" all_may_read
try "is loaded by rdma link add" alias_there
try "the provider" there 'usr/lib/*/libibverbs/libxroce-rdmav*.so'
try "is named to libibverbs" grep -qx 'driver xroce' \
	"$dir/etc/libibverbs.d/xroce.driver"
try "the XDP program" there usr/lib/xroce/xroce.bpf.o
try "rdmatool" test -x "$dir/usr/sbin/rdmatool"
try "its completion" there usr/share/bash-completion/completions/rdmatool
try "its manual" there usr/share/man/man8/rdmatool.8
try "the unit that restores links" grep -qx \
	'ExecStart=/usr/sbin/rdmatool link restore' \
	"$dir/usr/lib/systemd/system/rdmatool-links.service"
try "is wanted at boot" there \
	usr/lib/systemd/system/multi-user.target.wants/rdmatool-links.service
try "make uninstall says where it does not find the provider" left_behind
try "which stays" there 'usr/lib/*/libibverbs/libxroce-rdmav*.so'
try "and goes on" eval '! test -e "$dir/usr/sbin/rdmatool"'
try "make uninstall without rdma-core's headers" in_place uninstall RDMA_CORE=/nonesuch
try "nothing is left" nothing_left
try "nor is it missed" eval 'PKG_CONFIG_LIBDIR=/nonesuch in_place uninstall'
tap_end
