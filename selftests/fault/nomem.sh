#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Memory that is not to be had: whatever the kernel allocates to make an object, a link
# or the module fails once. The operation says so, nothing is left of it, and the next
# one succeeds. On a kernel that can inject faults (make debug-kernel).
#
#   +----------+
#   | h1  eth0 |---------| eth0  h2 |	veth, 198.18.1.1; only h1 has a link
#   +----------+         +----------+
#
# XROCE_LONG: of a link each allocation, not each 11th
# XROCE_XDP=off|generic|native

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh

faults=/sys/kernel/debug
[ -e /proc/self/fail-nth ] && [ -e "$faults/failslab" ] ||
	skip_all "needs a kernel that injects faults"
# also where an allocation may wait, of single pages too, and without a word
for attr in {failslab,fail_page_alloc}/{ignore-gfp-wait=N,verbose=0,stacktrace-depth=32} \
	    fail_page_alloc/ignore-gfp-highmem=N fail_page_alloc/min-order=0; do
	echo "${attr#*=}" >"$faults/${attr%=*}" || skip_all "no $attr"
done

topo_need rdmatool
topo_direct 1500
label="xroce $XROCE_XDP"
try "$label: a link" rdma_add "$NS1" xroce xr1 eth0
try "$label: its GID" wait_for 20 has_gid "$NS1" xr1 "$V4.1"
objects() { n1 rdma resource show xr1; }
# libibverbs opens a device that it cannot open by udev's link, which is not here
char=/dev/char/$(n1 stat -c %Hr:%Lr /dev/infiniband/uverbs*)
mkdir -p /dev/char && ln -sf /dev/infiniband/uverbs* "$char"
before=$(objects)
as_before() { [ -n "$before" ] && [ "$(objects)" = "$before" ]; }
results "$label" n1 ./nomem verbs xr1 "$(gid_index "$NS1" xr1 "$V4.1")"
rm "$char"
try "$label: nothing is left of them" as_before
try "$label: the link is deleted" n1 rdma link del xr1
# there are more than a thousand, most of them ib_core's, and a second goes for each
step=11
[ -z "${XROCE_LONG:-}" ] || step=1
results "$label" n1 ./nomem link eth0 $step
try "$label: the module unloads" rmmod xroce
# its own part alone: the kernel's loader of modules warns where it goes without memory
read -r start end < <(awk '$3 == "do_one_initcall" { start = $1; next }
	start && $2 ~ /^[tT]$/ { print "0x" start, "0x" $1; exit }' <(sort /proc/kallsyms))
for attr in failslab fail_page_alloc; do
	echo "$start" >"$faults/$attr/require-start"
	echo "$end" >"$faults/$attr/require-end"
done
results "$label" ./nomem module "$(modinfo -n xroce)"
try "$label: and is there again" modprobe xroce
tap_end
