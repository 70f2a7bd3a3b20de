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

# rdma_core VERSION ABI SAYS - is its source package fetched: that of the tried ones
rdma_core() {
	local said
	program pkg-config <<<"echo $dir"
	program readelf <<<"echo IBVERBS_PRIVATE_$2"
	program dpkg-query <<<"echo $1"
	program apt-get <<<"exit 1"
	said=$(PATH="$dir/bin:$PATH" "$TOP/scripts/rdma-core-headers" "$dir/none" 2>&1)
	[ $? = 1 ] && [[ $said == "rdma-core-headers: $3"* ]] || { echo "$said"; return 1; }
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
try "the provider, before rdma-core 54" provider_53
try "another private ABI" rdma_core 56.1 57 "rdma-core 56.1 (private ABI 57) is not"
tap_end
