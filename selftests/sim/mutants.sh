#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Does the simulator catch bugs? Plants one at a time in a copy of the core, and
# expects some scenario to fail. A bug that no longer fits the sources fails too.

set -uo pipefail
cd "$(dirname "$0")" || exit 1

core=../../kmod/core
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
flags=(-std=gnu11 -O1 -w -D_GNU_SOURCE -Ienv -I. -I$core -I../../include
	-I../../include/uapi)
count=0 failed=0

# mutant NAME FILE SED-SCRIPT
mutant() {
	local src=$dir/mutant.c ok='not ok' why=''

	sed -E "$3" "$core/$2.c" >"$src"
	if cmp -s "$src" "$core/$2.c"; then
		why="the bug does not fit $2.c any more"
	elif ! gcc "${flags[@]}" -c -o "$dir/mutant.o" "$src" ||
	     ! gcc -o "$dir/mutant" "$dir/mutant.o" "$dir"/sim-*.o \
			$(printf '%s\n' "$dir"/core-*.o | grep -v "/core-$2.o"); then
		why='does not compile'
	elif timeout 120 "$dir/mutant" -p 4 >"$dir/log" 2>&1; then
		why='nothing noticed it'
	elif ! grep -q '^not ok' "$dir/log"; then
		why='no scenario came to an end'
	else
		ok=ok
		why="caught by $(sed -nE 's/^not ok [0-9]+ ([^:]*):.*/\1/p' "$dir/log" |
			head -n 1)"
	fi
	count=$((count + 1))
	[ "$ok" = ok ] || failed=$((failed + 1))
	echo "$ok $count - $1: $why"
}

for f in *.c; do gcc "${flags[@]}" -c -o "$dir/sim-${f%.c}.o" "$f" || exit 1; done
for f in "$core"/*.c; do
	gcc "${flags[@]}" -c -o "$dir/core-$(basename "$f" .c).o" "$f" || exit 1
done

echo "TAP version 13"
mutant 'an ACK covers one PSN too many' comp \
	's/xroce_comp_upto\(qp, xroce_psn_add\(psn, 1\)\)/xroce_comp_upto(qp, xroce_psn_add(psn, 2))/'
mutant 'a repeated atomic is executed again' resp \
	's/^(\s*)rd->stop = xroce_psn_add\(rd->psn, 1\);/\1{ struct xroce_mr *m = xroce_env_mr(qp->dev, pkt->rkey); u32 l = 8; if (m) xroce_atomic((u64 *)xroce_mr_span(m, pkt->va, \&l), pkt); }\n&/'
mutant 'an implied NAK is lost' comp \
	's/^(\s*)xroce_comp_lost\(qp, owed\);//'
mutant 'duplicates are not acknowledged' resp \
	's/if \(pkt->info & \(XROCE_OP_SEND \| XROCE_OP_WRITE\)\) \{/if (0) {/'
mutant 'an RNR wait is not waited for' comp \
	's/xroce_rnr_10us\[code\] \* 10000ull/1/'
mutant 'the last of a flush is missing' qp \
	's/^(\s*)xroce_req_complete\(qp, XROCE_WC_WR_FLUSH_ERR\);/\1if (req->tail - req->head > 1) xroce_req_complete(qp, XROCE_WC_WR_FLUSH_ERR); else req->head++;/'
mutant 'a completion comes twice' req \
	's/^(\s*)xroce_cq_post\(qp->scq, &cqe, false\);/\1{ xroce_cq_post(qp->scq, \&cqe, false); if (!(cqe.wr_id % 7)) xroce_cq_post(qp->scq, \&cqe, false); }/'
mutant 'bounds end one byte late' mr \
	's/va - mr->iova <= mr->length - len/va - mr->iova <= mr->length - len + 1/'
mutant 'one retry too few' comp \
	's/if \(!req->retries\) \{/if (req->retries <= 1) {/'
mutant 'a READ goes on at the wrong byte' resp \
	's/^(\s*)off = \(\(rd->next - rd->psn\)/\1off = ((rd->next - rd->start)/'
mutant 'the domain is not compared' mr \
	's/mr->pd == pd &&//'
mutant 'a frame not taken is forgotten' tx \
	's/^(\s*)xroce_req_rewind\(qp, f->psn\);/\1;/'
echo "1..$count"
[ "$failed" = 0 ]
