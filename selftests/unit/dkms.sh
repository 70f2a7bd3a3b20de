#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# `make dkms` leaves sources and nothing that a build has made, and DKMS makes the modules
# of them. In directories of its own.
#
# XROCE_ALL: it does make them, which takes a minute; else it takes their description alone

# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2317 # called by try
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh

TOP=../.. KVER=${KVER:-$(uname -r)}
command -v dkms >/dev/null || skip_all "no dkms"
[ -e "/lib/modules/$KVER/build/Makefile" ] || skip_all "no headers of kernel $KVER"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/dkms" "$dir/modules/$KVER"

by_dkms() {
	dkms "$@" -k "$KVER" --dkmstree "$dir/dkms" --sourcetree "$dir/usr/src" \
		--installtree "$dir/modules" --no-depmod \
		--kernelsourcedir "/lib/modules/$KVER/build"
}

sources_alone() {
	[ -z "$(find "$dir/usr/src" -type f ! -name '*.[ch]' ! -name Kbuild \
		! -name Makefile ! -name dkms.conf -o -name '*.mod.c')" ]
}

# made NAME - it is there, for that kernel
made() {
	local files
	mapfile -t files < <(find "$dir/modules/$KVER" -name "$1.ko*")
	[ "${#files[@]}" = 1 ] && modinfo -F vermagic "${files[0]}" | grep -q "^$KVER "
}

# left_out KERNEL OPTION... - one that has no use for it, which its package must survive
left_out() {
	local kernel=$1 status=0
	shift
	rm -rf "$dir/headers"
	mkdir -p "$dir/headers/include"
	touch "$dir/headers/Makefile"
	printf 'CONFIG_%s\n' "$@" >"$dir/headers/.config"
	dkms build "xroce/$version" -k "$kernel" --dkmstree "$dir/dkms" --sourcetree "$dir/usr/src" \
		--kernelsourcedir "$dir/headers" || status=$?
	[ "$status" = 77 ]
}

try "make dkms" make -s -C $TOP dkms DESTDIR="$dir"
try "no more than sources" sources_alone
version=$(basename "$dir"/usr/src/xroce-*)
version=${version#xroce-}
try "of the version that the module says" grep -q "XROCE_VERSION.*\"$version\"" \
	$TOP/include/xroce/link.h
try "dkms add" dkms add "xroce/$version" --dkmstree "$dir/dkms" --sourcetree "$dir/usr/src"
needs=(INFINIBAND=m INFINIBAND_USER_ACCESS=m BPF_SYSCALL=y IPV6=y VLAN_8021Q=m)
try "a kernel that is too old is left out" left_out 6.11.9-amd64 "${needs[@]}"
for i in "${!needs[@]}"; do
	rest=("${needs[@]}")
	unset "rest[i]"
	try "one without ${needs[i]%=*}" left_out 6.12.1-amd64 "${rest[@]}"
done
try "one with all is not" eval '! left_out 6.12.1-amd64 "${needs[@]}"'
try "one with PREEMPT_RT and without a lock for it" left_out 6.18.0-rt-amd64 "${needs[@]}" \
	PREEMPT_RT=y
try "one with it is not" eval '! left_out 6.18.0-rt-amd64 "${needs[@]}" PREEMPT_RT=y \
	PREEMPT_RT_NEEDS_BH_LOCK=y'
try "nor an older one" eval '! left_out 6.12.1-rt-amd64 "${needs[@]}" PREEMPT_RT=y'
if [ -n "${XROCE_ALL:-}" ]; then
	try "dkms install" by_dkms install "xroce/$version"
	try "the module" made xroce
	try "that of its doorbells" made xroce_bell
fi
try "dkms remove" by_dkms remove "xroce/$version"
try "nothing is left of them" eval '! find "$dir/modules" -name "*.ko*" | grep .'
try "make uninstall" make -s -C $TOP uninstall DESTDIR="$dir"
try "nor of the sources" eval '! test -e "$dir/usr/src/xroce-$version"'
tap_end
