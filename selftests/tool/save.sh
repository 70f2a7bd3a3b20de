#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# rdmatool link save and restore: what is saved is there again after the module
# was unloaded; files that are wrong, each in its own way, are refused by line and
# field before anything is done; and the unit that restores at boot.

# Some functions are called by try alone.
# shellcheck disable=SC2317

cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh

topo_need rdmatool rdma jq bpftool setpriv systemd-analyze
modprobe xroce || skip_all "no module xroce"
POLICY=/usr/lib/xroce/policy.bpf.o
[ -e "$POLICY" ] || POLICY=../../bpf/policy.bpf.o

end() {
	local status=$?
	umount /etc/xroce 2>/dev/null
	ip link del xt-a 2>/dev/null
	ip link del xt-b 2>/dev/null
	ip link del xt-e 2>/dev/null
	rm -rf "$TOPO_TMP"
	exit "$status"
}
trap end EXIT

# What of `link show` is not a number that the kernel hands out
shown() {
	rdmatool -dj link show | jq -S \
		'map(select(.roce_mtu) | del(.ifindex, .prog, .bpf_link)) | sort_by(.ifname)'
}

same() { [ "$(shown)" = "$before" ] || { diff <(echo "$before") <(shown); false; }; }
prog() { rdmatool -j link show "$1" | jq '.[0].prog'; }
both_progs() { echo "$(prog xt0) $(prog "$weird")"; }
same_progs() { [ "$progs" = "$(both_progs)" ]; }
# serves MAP - does the link's program have it
serves() { map_of "$(prog xt0)" "$1"; }
# there LINK - the program for what its program sends to CPU 0, struct bpf_cpumap_val
there() {
	bpftool -j map lookup id "$(map_of "$(prog "$1")" xroce_cpus)" key 0 0 0 0 |
		jq -r '"0x" + (.value[4:8] | reverse | map(ltrimstr("0x")) | add)'
}

unload() { rmmod xroce 2>/dev/null || ! [ -e /sys/module/xroce ]; }
none() { [ "$(shown)" = "[]" ]; }

# refused NAME PATTERN FILE-CONTENTS - and nothing was done
refused() {
	local out status=0
	printf '%b' "$3" >"$TOPO_TMP/bad"
	out=$(rdmatool link restore "$TOPO_TMP/bad" 2>&1) || status=$?
	if [ "$status" = 2 ] && grep -qE -- "bad:$2" <<<"$out" &&
	   [ "$(wc -l <<<"$out")" = 1 ] && none; then
		ok "refused: $1"
	else
		not_ok "refused: $1" "status $status, not /$2/: $out"
	fi
}

ip link add xt-a type veth peer name xt-c
ip link add xt-b type veth peer name xt-d
ip link set xt-a up
ip link set xt-b up
last=$(($(nproc) - 1))
file=$TOPO_TMP/links
weird=$'x #\\y\xc3\xa4'

try "a link, steered" rdmatool link add xt0 netdev xt-a xdp native
rdmatool link set xt0 steer "0-$last"
[ "$last" != 0 ] || last=
try "with keys" rdmatool tune set xt0 cwnd-init 32 cnp-gap 0
tuned() { rdmatool -j tune show xt0 | jq -c 'map([.key, .value])'; }
keys=$(tuned)
try "another, whose name has everything" \
	rdmatool link add "$weird" netdev xt-b xdp generic
before=$(shown)
try "saved" rdmatool link save "$file"
try "the file is as documented" grep -qxE \
	"link xt0 netdev xt-a xdp native steer 0${last:+-$last} cwnd-init 32 cnp-gap 0" "$file"
try "and has every name" grep -qxF \
	'link x\x20\x23\x5cy\xc3\xa4 netdev xt-b xdp generic' "$file"
try "the same on standard output" eval 'rdmatool link save - | cmp - "$file"'
try "the module unloads" eval 'rdmatool link del xt0; rdmatool link del "$weird"; wait_for 10 unload'
try "restored" rdmatool link restore "$file"
try "the same links" same
try "with the same keys" [ "$(tuned)" = "$keys" ]
rdmatool tune set xt0 cwnd-init 64 cwnd-max 128
try "keys that are otherwise" rdmatool link restore "$file"
try "become as they were" [ "$(tuned)" = "$keys" ]
try "once more changes nothing" rdmatool link restore "$file"
try "the same links" same
rdmatool link set xt0 xdp off
rdmatool link set "$weird" xdp off
try "links that are otherwise" rdmatool link restore "$file"
try "become as they were" same
# What has XDP has what auto asks for, and is not attached anew
sed 's/ xdp [a-z]*/ xdp auto/' "$file" >"$file.2"
progs=$(both_progs)
try "restored with xdp auto" rdmatool link restore "$file.2"
try "the programs are the same" same_progs
rdmatool link set xt0 xdp off
try "and where there was none" rdmatool link restore "$file.2"
try "there is one" same
# A link keeps its steering while it has no XDP, where none may be asked for
rdmatool link set xt0 xdp off
rdmatool link save "$file.2"
try "no steering is saved without XDP" eval '! grep -q "^link.* steer" "$file.2"'
rdmatool link del xt0
try "and that is restored" rdmatool link restore "$file.2"
rdmatool link del xt0
try "from standard input" eval 'rdmatool link restore - <"$file"'
try "the same links" same

# One that cannot be made
rdmatool link del xt0
rdmatool link del "$weird"
{ echo "link xt1 netdev xt-none xdp off"; cat "$file"; } >"$file.2"
out=$(rdmatool link restore "$file.2" 2>&1)
[ $? = 1 ] && grep -q 'no network device "xt-none"' <<<"$out" &&
	grep -q 'links.2:1: link xt1 is not as saved' <<<"$out" &&
	ok "a netdev that is gone is named" ||
	not_ok "a netdev that is gone is named" "$out"
try "the others are made" same
sed 's/xt0/xt9/; /xc3/d' "$file" >"$file.2"
out=$(rdmatool link restore "$file.2" 2>&1)
[ $? = 1 ] && grep -q 'already' <<<"$out" &&
	ok "a netdev that has another link is named" ||
	not_ok "a netdev that has another link is named" "$out"
rdmatool link del xt0
rdmatool link del "$weird"

# Files that are wrong, behind a line that is right
ok_line='link xt0 netdev xt-a xdp off\n'
refused "no link" '2: "link" expected, not "lnk"' "${ok_line}lnk x netdev xt-b xdp off\n"
refused "no name" '2: link: a name expected' "${ok_line}link\n"
refused "no netdev" '2: netdev: it is missing' "${ok_line}link x xdp off\n"
refused "no xdp" '2: xdp: it is missing' "${ok_line}link x netdev xt-b\n"
refused "no value" '2: xdp: a value expected' "${ok_line}link x netdev xt-b xdp\n"
refused "an xdp that is none" '2: xdp: off, generic' "${ok_line}link x netdev xt-b xdp on\n"
refused "an unknown field" '2: unknown field "mtu"' "${ok_line}link x netdev xt-b xdp off mtu 9\n"
refused "a field twice" '2: xdp: it is given twice' "${ok_line}link x netdev xt-b xdp off xdp off\n"
refused "a name twice" '2: link: the name is that of line 1' "${ok_line}link xt0 netdev xt-b xdp off\n"
refused "a netdev twice" '2: netdev: it is that of line 1' "${ok_line}link x netdev xt-a xdp off\n"
refused "a name with %" '2: link: no % and no /' "${ok_line}link x%d netdev xt-b xdp off\n"
refused "a name with /" '2: link: no % and no /' "${ok_line}link ../x netdev xt-b xdp off\n"
refused "a name of 64 bytes" '2: link: 1 to 63' "${ok_line}link $(printf 'x%.0s' {1..64}) netdev xt-b xdp off\n"
refused "a netdev of 16 bytes" '2: netdev: 1 to 15' "${ok_line}link x netdev xt-b567890123456 xdp off\n"
refused "a netdev with /" '2: netdev: no /' "${ok_line}link x netdev ../x xdp off\n"
refused "steering to words" '2: steer: "all" is not a list' "${ok_line}link x netdev xt-b xdp off steer all\n"
refused "a control character" '2: there is a control' "${ok_line}link x\\001 netdev xt-b xdp off\n"
refused "a zero" '2: there is a control' "${ok_line}link x\\000 netdev xt-b xdp off\n"
refused "a zero in the last line" '2: there is a control' "${ok_line}link x netdev xt-b xdp off\\000 #"
refused "an escape that is none" '2: a backslash' "${ok_line}link x\\\\n netdev xt-b xdp off\n"
refused "an escaped zero" '2: a backslash' "${ok_line}link x\\\\x00 netdev xt-b xdp off\n"
refused "half an escape" '2: a backslash' "${ok_line}link x\\\\x4"
refused "a long line" '2: the line is longer' "${ok_line}#$(printf 'x%.0s' {1..4100})\n"
refused "a key out of its range" '2: cwnd-init: a number from 4' "${ok_line}link x netdev xt-b xdp off cwnd-init 3\n"
refused "a policy somewhere" '2: policy: a file' "${ok_line}link x netdev xt-b xdp native policy p.o\n"
refused "a policy of nothing" '2: policy: .* xdp is off' "${ok_line}link x netdev xt-b xdp off policy /p.o\n"
refused "a policy of 512 bytes" '2: policy: 1 to 511' "${ok_line}link x netdev xt-b xdp native policy /$(printf 'x%.0s' {1..511})\n"
try "comments and blank lines are nothing" eval \
	'printf "\n # link\n\t\n" | rdmatool link restore -'
try "and nothing it does" none
refused "random bytes" '[0-9]+: ' \
	"x$(head -c 300 /dev/urandom | od -An -tx1 -v | tr -d '\n' | sed 's/ /\\x/g')"
out=$(rdmatool link restore /nonesuch 2>&1)
[ $? = 1 ] && grep -q 'No such file' <<<"$out" && ok "no file" ||
	not_ok "no file" "$out"
out=$(rdmatool link save "$TOPO_TMP/none/links" 2>&1)
[ $? = 1 ] && ok "no place for a file" || not_ok "no place for a file" "$out"

# A policy in the place of the XDP program, from a file whose name has a blank
policy="$TOPO_TMP/a policy"
cp "$POLICY" "$policy"
rdmatool link add xt0 netdev xt-a xdp native
try "a policy" rdmatool link set xt0 policy "$policy"
try "its file is shown" eval '[ "$(rdmatool -j link show xt0 | jq -r ".[0].policy")" = "$policy" ]'
before=$(shown)
try "saved" rdmatool link save "$file"
try "with its file" grep -qxF \
	"link xt0 netdev xt-a xdp native policy ${policy// /\\x20}" "$file"
rdmatool link set xt0 policy off
try "off, it does not serve" eval '! serves policy_every'
try "off, it is not shown" eval '[ "$(shown)" != "$before" ] && ! shown | grep policy'
try "restored" rdmatool link restore "$file"
try "the same link" same
try "which has that program" serves policy_every
rdmatool link set xt0 xdp generic
try "another mode has our own" eval '! shown | grep policy'
rdmatool link restore "$file"
try "restored from there" same
try "renamed" rdmatool dev rename xt0 xt5
try "it keeps it" eval 'shown | grep -qF "$policy"'
rdmatool link del xt5
try "made anew" rdmatool link restore "$file"
try "the same link" same
# A mode that its driver has not takes nothing away
ip link add xt-e type dummy
ip link set xt-e up
rdmatool link add xt1 netdev xt-e xdp generic
rdmatool link set xt1 steer 0
rdmatool link set xt1 policy "$policy" 2>"$TOPO_TMP/err"
before=$(shown)
out=$(rdmatool link set xt1 xdp native 2>&1)
[ $? = 1 ] && [ "$(wc -l <<<"$out")" = 1 ] && grep -q 'no native XDP' <<<"$out" &&
	ok "native XDP is refused" || not_ok "native XDP is refused" "$out"
try "generic XDP is as it was" same
try "with its policy" eval 'map_of "$(prog xt1)" policy_every'
try "also where packets are sent" eval 'map_of $(($(there xt1))) policy_every'
rdmatool link del xt1
ip link del xt-e
before=$(shown)
# Whoever renames a link: its policy is that of its program
rdma dev set xt0 name xt5
try "renamed by rdma: it is saved" eval \
	'rdmatool link save - | grep -qF "link xt5 netdev xt-a xdp native policy ${policy// /\\x20}"'
try "steered" rdmatool steer set xt5 0
try "on that CPU it is asked too" eval 'map_of $(($(there xt5))) policy_every'
rdmatool steer set xt5 off
# One that somebody else may have changed since it was set is not root's to load
chown 65534 "$policy"
theirs() {
	local out
	out=$(rdmatool "$@" 2>&1) && return 1
	grep -q "$policy: a file that others may write to" <<<"$out" || { echo "$out"; return 1; }
}
try "another's file is not loaded to steer" theirs link set xt5 steer 0
try "nothing is steered" eval 'rdmatool -j link show xt5 | jq -e ".[0].steer | not"'
chown 0 "$policy"
chmod 664 "$policy"
try "nor one that a group may write to" theirs link set xt5 steer 0
chmod 644 "$policy"
try "root's is" rdmatool link set xt5 steer 0
rdmatool steer set xt5 off
rdma dev set xt5 name xt0
out=$(setpriv --reuid 65534 --clear-groups rdmatool link save - 2>&1)
[ $? = 1 ] && [ "$(wc -l <<<"$out")" = 1 ] &&
	grep -q 'link xt0: cannot tell its policy: .*not permitted' <<<"$out" &&
	ok "who cannot see whether there is one saves nothing" ||
	not_ok "who cannot see whether there is one saves nothing" "$out"
rdmatool link del xt0
rm "$policy"
out=$(rdmatool link restore "$file" 2>&1)
[ $? = 1 ] && grep -q "policy $policy: .*No such file" <<<"$out" &&
	grep -q 'links:[0-9]*: link xt0 is not as saved' <<<"$out" &&
	ok "a policy that is gone is named" ||
	not_ok "a policy that is gone is named" "$out"
rdmatool link del xt0

# A policy that others may have written to is not loaded by who names none
cp "$POLICY" "$policy"
rdmatool link add xt0 netdev xt-a xdp native
chmod 646 "$policy"
try "nor by a file of links" theirs link restore "$file"
try "which leaves the link without" eval '! serves policy_every'
chmod 644 "$policy"
try "root's is by that too" rdmatool link restore "$file"
try "and serves" serves policy_every
rdmatool link del xt0

# Names that differ by little
for name in xt.0 xt_0 xt%2e0; do
	# that one is made by rdma alone
	rdmatool link add "${name/\%/x}" netdev xt-a xdp native
	[ "$name" = "${name/\%/x}" ] || rdma dev set "${name/\%/x}" name "$name"
	rdmatool link set "$name" xdp native
	rdmatool -dj link show "$name" | jq -r '.[0].pinned'
	[ "$name" = "${name/\%/x}" ] || rdmatool link save "$file.3" 2>"$TOPO_TMP/unnamed"
	rdmatool link del "$name"
done >"$TOPO_TMP/pinned"
try "each has pins of its own" eval \
	'[ "$(grep -c ^/sys/fs/bpf/xroce/xt "$TOPO_TMP/pinned")" = 3 ] &&
	 [ -z "$(sort "$TOPO_TMP/pinned" | uniq -d)" ]'

try "what cannot be made again by its name is not saved" \
	grep -q 'link save: link xt%2e0 cannot be made again' "$TOPO_TMP/unnamed"
try "and no file made" test ! -e "$file.3"

# What boot does
unit=rdmatool-links.service
mkdir -p /etc/xroce
mount -t tmpfs none /etc/xroce
rdmatool link add xt0 netdev xt-a xdp native
before=$(shown)
try "saved where the unit looks" rdmatool link save
rdmatool link del xt0
try "the unit is right" systemd-analyze verify /usr/lib/systemd/system/$unit
try "and wanted at boot" \
	test -e /usr/lib/systemd/system/multi-user.target.wants/$unit
try "its command" eval \
	"$(sed -n 's/^ExecStart=//p' /usr/lib/systemd/system/$unit)"
try "the same links" same
ip netns add xt-ns
for verb in save restore; do
	out=$(rdmatool -n xt-ns link $verb 2>&1)
	[ $? = 2 ] && grep -q "link $verb: FILE expected, with -n" <<<"$out" &&
		ok "-n: $verb asks for a file" || not_ok "-n: $verb asks for a file" "$out"
done
ip netns del xt-ns
rdmatool link del xt0
try "the module unloads" wait_for 10 unload
cp /etc/xroce/links "$file.3"
out=$(rdmatool link save 2>&1)
[ $? = 1 ] && grep -q 'the module is not loaded' <<<"$out" &&
	ok "without it nothing is saved" || not_ok "without it nothing is saved" "$out"
try "and what was is kept" cmp /etc/xroce/links "$file.3"
tap_end
