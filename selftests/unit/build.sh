#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# What Makefiles and scripts say where they are asked for what is not there, and that
# tests are installed where they are wanted.

# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2317 # called by try
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh

TOP=../..
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# program NAME - which does what stdin says
program() {
	mkdir -p "$dir/bin"
	{ echo '#!/bin/sh'; cat; } >"$dir/bin/$1"
	chmod +x "$dir/bin/$1"
}

# A misspelled row is not a run in which nothing failed
no_row() {
	local said
	! said=$("$TOP/scripts/test" check "$1" 2>&1) &&
		[ "$said" = "test: no row \"$1\" in selftests/matrix" ]
}

# kernel RELEASE - headers, with which nothing is compiled
kernel() {
	mkdir -p "$dir/$1/include/config"
	echo "$1" >"$dir/$1/include/config/kernel.release"
	echo 'modules: ; @echo built' >"$dir/$1/Makefile"
}

# kmod RELEASE WANTED - make ends well, and says that
kmod() {
	local said
	kernel "$1"
	said=$(make -s -C "$TOP" kmod KVER="$1" KDIR="$dir/$1" 2>&1) &&
		grep -qxF "$2" <<<"$said" || { echo "$said"; return 1; }
}

# probes HEADERS - what of a kernel's headers its module is told
probes() {
	make -sf - src="$TOP/kmod" srctree="$1" <<-'E'
		all:
		include $(src)/Kbuild
		all: ; @printf '%s\n' $(filter -DXROCE_HAVE_%,$(ccflags-y))
	E
}
# The newest headers here have all of that, or a pattern fits nothing any more
probed() {
	local headers
	headers=$(find /usr/src -maxdepth 1 -name 'linux-headers-*-common' | sort -V | tail -n 1)
	[ -n "$headers" ] || { echo "no headers"; return 4; }
	probes "$headers"
	[ "$(probes "$headers" | wc -l)" = "$(grep -c '^ccflags.*call have' "$TOP/kmod/Kbuild")" ]
}

# From where `make -C selftests` is
installed() {
	local path
	path=$(realpath -m --relative-to=.. "$dir/installed")
	make -s -C .. install guest=peers INSTALL_PATH="$path" &&
		cmp ../peers/pingpong.sh "$dir/installed/peers/pingpong.sh"
}

# rdma_core VERSION ABI SAYS [SOURCE] - is its source package fetched: that of the tried ones
rdma_core() {
	local said
	program pkg-config <<<"[ \$1 = --modversion ] && echo 1.14.$1 || echo $dir"
	program readelf <<<"echo IBVERBS_PRIVATE_$2"
	program dpkg-query <<<"echo $1"
	program apt-get <<<"exit 1"
	said=$(PATH="$dir/bin:$PATH" "$TOP/scripts/rdma-core-headers" "$dir/none" \
		${4:+"$4"} 2>&1)
	[ $? = 1 ] && [[ $said == "rdma-core-headers: $3"* ]] || { echo "$said"; return 1; }
}

# Where it was unpacked by hand, as where there is no apt
rdma_core_unpacked() {
	local src=$dir/unpacked
	mkdir -p "$src"/{libibverbs,kernel-headers/rdma,util,ccan,buildlib}
	echo 'set(PACKAGE_VERSION "56.0")' >"$src/CMakeLists.txt"
	touch "$src"/{libibverbs/driver,util/mmio,ccan/list,kernel-headers/rdma/a}.h
	echo 'import sys; open(sys.argv[2], "w")' >"$src/buildlib/make_abi_structs.py"
	rdma_core 55.0 34 "$src is not the source of rdma-core 55.0" "$src" || return
	program pkg-config <<<"[ \$1 = --modversion ] && echo 1.14.56.0 || echo $dir"
	program readelf <<<"echo IBVERBS_PRIVATE_34"
	PATH="$dir/bin:$PATH" "$TOP/scripts/rdma-core-headers" "$dir/laid" "$src" &&
		[ "$(cat "$dir/laid/config.h")" = "#define IBVERBS_PABI_VERSION 34" ] &&
		[ -e "$dir/laid/kernel-abi/a.h" ] && [ -e "$dir/laid/infiniband/driver.h" ]
}

# A module that was built without BTF, and what make says that it wants
without_btf() {
	local said
	kernel 6.12
	mkdir -p "$dir/kmod"
	cp "$TOP/kmod/Makefile" "$dir/kmod/"
	# shellcheck disable=SC2016
	echo 'modules: ; @cp /bin/true $(M)/xroce.ko' >"$dir/6.12/Makefile"
	echo CONFIG_DEBUG_INFO_BTF_MODULES=y >"$dir/6.12/include/config/auto.conf"
	program pahole <<<:
	said=$(PATH="$dir/bin:$PATH" make -s -C "$dir/kmod" KDIR="$dir/6.12")
	echo "$said"
	[[ $said == *"xroce.ko has no BTF"*"cp /sys/kernel/btf/vmlinux $dir/6.12/ "* ]] &&
		[[ $said != *"no pahole"* ]] && [[ $said != *"a kernel with"* ]]
}

# What is there of another kernel, or for another libibverbs, is not installed
left_over() {
	local said tree=$dir/tree
	rm -rf "$tree"
	mkdir -p "$tree"/{kmod,userlib,include/xroce}
	cp "$TOP/Makefile" "$tree/"
	cp "$TOP/userlib/Makefile" "$tree/userlib/"
	printf 'vermagic=6.12 SMP\0' >"$tree/kmod/xroce.ko"
	touch "$tree"/userlib/{libxroce-rdmav34,libxroce-rdmav}.so
	said=$(make -s -C "$tree" install DESTDIR="$dir/to" KVER=6.13 MANDIR=/man \
		RDMA_CORE="$dir/none" 2>&1)
	echo "$said"
	[ ! -e "$dir/to" ] && grep -qx 'kmod for 6.13: not built, not installed' <<<"$said" &&
		grep -qx 'userlib: not built, not installed' <<<"$said" &&
		! make -s -C "$tree/userlib" RDMA_CORE="$dir/none" 2>"$dir/said" &&
		grep -q 'no IBVERBS_PABI_VERSION' "$dir/said"
}

# The provider where rdma-core has one call as it was before 54
provider_53() {
	local inc=$dir/rdma-core
	cp -r "${RDMA_CORE:-/usr/src/rdma-core/include}" "$inc"
	perl -0pi -e 's/(ibv_cmd_reg_dmabuf_mr\([^;]*vmr),[^;]*;/$1);/' "$inc/infiniband/driver.h"
	! grep -A 4 'ibv_cmd_reg_dmabuf_mr(' "$inc/infiniband/driver.h" | grep driver &&
		cc -std=gnu11 -Wall -Wextra -Wno-unused-parameter -Werror -fsyntax-only \
			-I "$TOP/include/uapi" -isystem "$inc" "$TOP"/userlib/*.c
}

try "a row of tests that there is not" no_row nonesuch
for release in 6.1.0-44-amd64 6.11.9 5.10; do
	try "kernel $release" kmod $release \
		"kmod: skipped: kernel $release is older than 6.12;"
done
for release in 6.12 6.12.107+deb13-amd64 6.13.0-rc1 7.3.1; do
	try "kernel $release" kmod $release built
done
try "what Kbuild looks for in headers" probed
try "tests, in a relative directory" installed
for version in 50.0 56.1; do
	try "rdma-core $version" rdma_core $version 34 "apt-get source rdma-core failed"
done
for version in 44.0 49.1 57.0; do
	try "rdma-core $version" rdma_core $version 34 \
		"rdma-core $version (private ABI 34) is not one that was tried: 50 to 56"
done
try "rdma-core that was unpacked by hand" rdma_core_unpacked
try "the provider, before rdma-core 54" provider_53
try "a module without BTF" without_btf
try "what is left of another kernel or libibverbs" left_over
try "another private ABI" rdma_core 56.1 57 "rdma-core 56.1 (private ABI 57) is not"
tap_end
