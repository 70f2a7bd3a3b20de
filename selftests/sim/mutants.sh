#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Does the simulator see anything? Bugs are planted in copies of the core's
# sources, and of those of native XDP, one at a time; each must make it fail. A bug
# that can no longer be planted, since the source has changed, is a failure too:
# plant it anew.
#
#   mutants.sh [NAME...]
#
# Those of `quick` alone, unless XROCE_ALL is set or others are named, and not `none`, the
# core as it is, which volume.sh has just seen; that the rest can be planted is looked at
# all the same. NAME:SCENARIO must fail there, without those that come before it.

set -u
cd "$(dirname "$0")" || exit 1
core=../../kmod/core
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
quick=(ack-one-more no-implied-nak nak-outlives-gap atomic-again
	read-goes-on-wrong rnr-for-ever one-retry-less untaken-lost
	no-flush-unsignalled double-completion revoked-used any-source:forged
	uc-first-in-message:sqe ud-any-qkey sqe-is-err srq-limit-again cnp-storm
	local-fails-again:loss way-any-psn:quiet way-never-placed:clean
	place-says-ok:rnr known-any-kind:corrupt known-rest:quiet)
only=("$@") count=0 fails=0
[ $# -gt 0 ] || [ -n "${XROCE_ALL:-}" ] || only=("${quick[@]}")
fit=$(($# == 0))

result() {	# ok|"not ok" TEXT
	count=$((count + 1))
	echo "$1 $count $2"
	[ "$1" = ok ] || fails=$((fails + 1))
}

# wanted NAME - sets `scenario` to the arguments for its own
wanted() {
	local n
	scenario=()
	[ ${#only[@]} -gt 0 ] || return 0
	for n in "${only[@]}"; do
		[ "${n%:*}" = "$1" ] || continue
		[ "$n" = "$1" ] || scenario=(-s "${n#*:}")
		return 0
	done
	return 1
}

# plant SOURCE COPY OLD NEW - replace OLD, which must be there once; \n is a newline
plant() {
	local old new src without
	printf -v old '%b' "$3"
	printf -v new '%b' "$4"
	src=$(<"$1")
	without=${src/"$old"/$'\1'}
	if [ "$without" = "$src" ] || [[ $without == *"$old"* ]]; then
		result "not ok" "$name: does not fit ${1##*/} any more"
		return 1
	fi
	mkdir -p "${2%/*}"
	printf '%s\n' "${src/"$old"/"$new"}" >"$2"
}

# bug NAME FILE OLD NEW - FILE is one of the core's, or, where native XDP has it:
# `pass` (kmod/pass.c), `program` (bpf/pass.h), `hot` or `known` (hot.h, known.h as the
# program has them); `copy` is copy.h as all of the core has it
bug() {
	local name=$1 file=$2 from src object objects way=socket status start=$SECONDS run=1
	wanted "$name" || run=0
	[ $((run + fit)) -gt 0 ] || return 0
	rm -rf "$tmp/native" "$tmp"/*.[cho]
	case $file in
	pass)	set -- ../../kmod/pass.c native/kmod/pass.c "$3" "$4" ;;
	program) set -- ../../bpf/pass.h native/bpf/pass.h "$3" "$4" ;;
	hot|known) set -- ../../include/xroce/"$file.h" native/xroce/"$file.h" "$3" "$4" ;;
	copy)	set -- $core/copy.h copy.h "$3" "$4" ;;
	*)	set -- $core/"$file.c" "$file.c" "$3" "$4" ;;
	esac
	plant "$1" "$tmp/$2" "$3" "$4" || return
	[ "$run" = 1 ] || return 0
	case $2 in
	native/*) from=(env/native.c) ;;
	copy.h)
		# shellcheck disable=SC2046 # names without spaces
		cp $(grep -l '"copy.h"' $core/*.c) "$tmp"
		from=("$tmp"/*.c) ;;
	*)	from=("$tmp/$2") ;;
	esac
	for src in "${from[@]}"; do
		object=${src##*/} object=${object%.c}.o
		[ "$src" = env/native.c ] || object=core-$object
		if ! ${compile/ -Ienv/ -I"$tmp/native" -Ienv} -iquote ../../kmod -w -c \
			-o "$tmp/$object" "$src"; then
			result "not ok" "$name: does not compile"
			return
		fi
	done
	objects=("$tmp"/*.o)
	for object in obj/fast/*.o; do
		[ -e "$tmp/${object##*/}" ] || objects+=("$object")
	done
	if ! $compile -o "$tmp/sim" "${objects[@]}"; then
		result "not ok" "$name: does not link"
		return
	fi
	# the core alone is seen best in more worlds
	case $2:$name in
	native/*|*:place-*|*:known-*) way=both ;;
	esac
	# by what it has used, for others may use the host too; 152 is its end then
	(ulimit -S -t 300; ulimit -H -t 350; exec timeout 1800 "$tmp/sim" -p 20 -x -m $way "${scenario[@]}") \
		>"$tmp/out" 2>&1
	status=$?
	case $status in
	0)	result "not ok" "$name: not noticed" ;;
	124)	result "not ok" "$name: 1800 s were too few" ;;
	152)	result ok "$name: never ends" ;;
	1)	if ! grep -q '^not ok' "$tmp/out"; then
			result "not ok" "$name: no scenario ran"
			return
		fi ;;&
	*)	result ok "$name: $(sed -n 's/^not ok [0-9]* \([^:]*\):.*/\1/p' \
			"$tmp/out" | head -1) fails, $((SECONDS - start)) s"
		grep -v -e '^ok' -e '^TAP' -e '^1\.\.' -e '^# seed' "$tmp/out" |
			grep '^# ' | head -2 | sed 's/^# /#   /' ;;
	esac
}

make -s sim-fast >&2 || exit 1
compile=$(make -s print-fast)
echo "TAP version 13"
if wanted none; then
	if timeout 900 ./sim-fast -p 20 -x >"$tmp/out" 2>&1; then
		result ok "none: the core as it is passes"
	else
		sed 's/^/#   /' "$tmp/out"
		result "not ok" "none: the core as it is fails"
	fi
fi

# PSNs and acknowledgement
bug ack-one-less comp 'xroce_comp_upto(qp, xroce_psn_add(psn, 1), psn);' \
	'xroce_comp_upto(qp, psn, psn);'
bug ack-one-more comp 'xroce_comp_upto(qp, xroce_psn_add(psn, 1), psn);' \
	'xroce_comp_upto(qp, xroce_psn_add(psn, 2), psn);'
bug ack-not-executed answer 'xroce_psn_add(qp->hot.epsn, XROCE_PSN_MASK)' \
	'qp->hot.epsn'
bug no-implied-nak comp 'xroce_comp_lost(qp, owed, again, XROCE_CNT_IMPLIED_NAK);' \
	'xroce_env_count(qp->dev, XROCE_CNT_IMPLIED_NAK, 1);'
bug lost-once comp ' && (!again || req->recovering == GO_BACKS))' ')'
bug lost-always comp ' && (!again || req->recovering == GO_BACKS))' ' && 0)'
bug lost-since comp '	req->nak_psn = psn;' '	req->nak_psn = psn;
	if (req->early && req->recovering > 1)
		return;'
bug lost-for-ever comp '(!again || req->recovering == GO_BACKS)' '!again'
bug unready-told comp 'req->retries = req->retry_cnt;\n\treq->recovering = 0;' \
	'req->retries = req->retry_cnt;'
bug lost-untold comp 'qp->req.nak_told = xroce_psn_add(qp->hot.max, XROCE_PSN_MASK);' ''
bug no-implied-nak-again comp '&& qp->hot.next == qp->hot.max)' ')'
bug old-answer-counts comp 'xroce_req_early(&qp->req);\n\t\treturn;\n\tcase' \
	'xroce_req_early(&qp->req);\n\t\tbreak;\n\tcase'
bug late-nak-unheard comp 'if (pkt->info & XROCE_OP_ACK && pkt->syndrome == XROCE_NAK_PSN &&' 'if (0 &&'
bug ghost-answer-counts comp \
	'XROCE_CNT_DROP_GHOST);\n\t\treturn;\n\tcase XROCE_ACK_NEW:' \
	'XROCE_CNT_DROP_GHOST);\n\t\tbreak;\n\tcase XROCE_ACK_NEW:'
bug nak-storm resp '(qp->hot.resp_flags & (XROCE_RESP_GAP | XROCE_RESP_RNR))' \
	'(qp->hot.resp_flags & XROCE_RESP_RNR)'
bug nak-outlives-gap resp 'if (npsn)\n\t\tqp->resp.nak = 0;' ''
bug wrong-msn resp 'rd->msn = xroce_psn_add(qp->hot.msn, 1);' \
	'rd->msn = qp->hot.msn;'
bug no-ackreq req 'if (signalled || req->local' 'if (req->local'

# a device without room, and a QP changed in SQD
bug nak-guessed comp 'xroce_psn_diff(qp->hot.una, pkt->psn) <= (s32)READ_ONCE(qp->dev->cwnd_max))' '1)'
bug room-never comp ' && !qp->full))' '))'
bug room-late tx '\t\t\txroce_room(qp);' '\t\t\tqp->full = 0;'
bug room-expired tx '\tif (req->waiting && ' '\tif (!req->waiting)\n\t\treturn;\n\tif ('
bug crowd-starved tx '++qp->answers > XROCE_BATCH' 'false'
bug se-of-writes req 'info & (XROCE_OP_SEND | XROCE_OP_IMM))' '1)'
bug room-any tx '(f->kind != XROCE_FRAME_REQ || f->psn' '(0 && f->psn'
bug room-asked tx 'f->again == XROCE_CNT_ASKED)' '0)'
bug sqd-resources answer 'f->slot < resp->max_rd ? &resp->rd[f->slot] : NULL' '&resp->rd[f->slot]'
bug sqd-timeout qp 'if (mask & XROCE_ATTR_TIMEOUT && req->waiting)' 'if (0)'
bug read-refused resp '/* Only a whole rest may end inside' \
	'rd->stop = xroce_psn_add(pkt->psn, max(DIV_ROUND_UP(pkt->dma_len, xroce_mtu(qp)), 1u));\n/* Only a whole rest may end inside'
bug read-part resp 'if (rd->state == XROCE_RD_ACTIVE && (xroce_psn_diff(stop' 'if (0 && (xroce_psn_diff(stop'

bug sqd-none req 'if (xroce_wqe_is_read(wqe) && !e->started && !req->max_rd_atomic)' 'if (0)'
bug pace-dead req 'req->asked = req->asking;' 'req->asked = false;'
bug pace-local req '(req->cur++ == req->head)' '(req->cur++ == req->tail)'
bug read-marked rx 'if (rx->ce && pkt->info & XROCE_OP_READ_RESP)' 'if (0)'

# doing things once, and in order
bug atomic-again resp 'stop = xroce_psn_add(rd->psn, 1);\n\t} else {' \
	'struct xroce_mr *mr = xroce_mr_get(qp, qp->pd, pkt->rkey, XROCE_REMOTE_ATOMIC, pkt->va, 8); u32 l = 8; if (mr) { rd->value = xroce_atomic((u64 *)xroce_mr_span(mr, pkt->va, &l), pkt); xroce_mr_put(mr); } stop = xroce_psn_add(rd->psn, 1);\n\t} else {'
bug write-again resp 'case XROCE_SEQ_DUP:\n' \
	'case XROCE_SEQ_DUP:\n\t\tif ((pkt->info & XROCE_OP_WRITE) && (pkt->info & XROCE_OP_ONLY) == XROCE_OP_ONLY && !(pkt->info & XROCE_OP_IMM) && !hot->msg)\n\t\t\txroce_resp_write(qp, rx);\n'
bug read-from-start comp 'off = ((pkt->psn - e->psn) & XROCE_PSN_MASK) << qp->hot.mtu_shift;' \
	'off = 0;'
bug read-again-wrong req '.va = cpu_to_be64(wqe->rdma.remote_addr + off),' \
	'.va = cpu_to_be64(wqe->rdma.remote_addr),'
bug no-fence req '(wqe->flags & XROCE_WR_FENCE) &&' '0 &&'
bug fence-not-seen sq '!(wqe->flags & XROCE_WR_FENCE);' 'true;'
bug too-many-reads req 'req->rd_tail - req->rd_head >= max(' 'req->rd_tail - req->rd_head > max('
bug duplicate-read-counts resp 'rd->state == XROCE_RD_ACTIVE && !rd->again' \
	'rd->state == XROCE_RD_ACTIVE'

bug read-goes-on-wrong answer 'off = ((rd->next - rd->psn)' \
	'off = ((rd->next - rd->start)'
bug duplicate-not-acked resp \
	'if (pkt->info & (XROCE_OP_SEND | XROCE_OP_WRITE)) {' 'if (0) {'
bug read-newest-first answer ' && !--left)' ')'
bug late-read-fatal answer 'if (rd->again)\n\t\treturn;' ''
bug local-fails-again req 'if (e->npsn && ((qp->hot' 'if (((qp->hot'
bug local-again req '\t\te->npsn = 0;\n\t}\n' '\t}\n'
bug local-inv-early req 'xroce_req_uses(req, i, wqe->inv_rkey))' '0)'
bug local-inv-late req 'xroce_req_uses(req, i, wqe->inv_rkey))' '1)'
bug reset-by-error comp 'if (!xroce_qp_sends(qp) || (qp->hot.next == qp->hot.una && !qp->full))' \
	'if (qp->hot.next == qp->hot.una && (!qp->full || !xroce_qp_sends(qp)))'
bug local-no-fence req 'if (!e->started && (wqe->flags' \
	'if (!xroce_wr_is_local(wqe->opcode) && (wqe->flags'

# RNR, retries, the device
bug no-rnr-nak resp \
	'xroce_resp_nak(qp, XROCE_AETH_RNR | resp->min_rnr);' ''
bug no-rnr-wait comp 'req->rnr_until = xroce_env_now() +' \
	'req->rnr_until = xroce_env_now() + 1 + 0 *'
bug rnr-for-ever comp 'req->rnr_retries--;' ''
bug one-retry-less comp 'if (!req->retries) {' 'if (req->retries <= 1) {'
bug retries-add-up comp 'req->retries = req->retry_cnt;' ''
bug retries-for-ever comp 'req->retries--;' ''
bug pace-forgets tx 'xroce_env_timer(qp, req->free_at);' ';'
bug pace-fast tx '(f->len * req->pace >> 20)' '(f->len * req->pace >> 21)'
bug owed-forgotten answer 'if (rd)
		xroce_resp_unanswered(qp, rd, rd->next);' 'xroce_resp_mute(qp);'
bug owed-unsaid qp '	xroce_qp_run(qp);
	spin_lock(&qp->lock);' '	spin_lock(&qp->lock);'
bug owed-in-vain tx 'n = xroce_stage(qp, most);' 'n = qp->dead ? 0 : xroce_stage(qp, most);'
bug ack-of-read answer '	if (qp->hot.epsn == resp->rd_end)
		return resp->rd_before;' ''
bug ack-behind-read resp '	qp->hot.resp_flags &= ~XROCE_RESP_ACK;\n' ''
bug ack-round answer '	resp->rd_end = XROCE_PSN_NONE;	/* PSNs come round */' ''
bug full-greedy req '		xroce_cc_loss(qp, false);
	if (f->again' '		;
	if (f->again'
bug full-asks req 'qp->req.since_ackreq = f->since;' 'qp->req.since_ackreq = qp->req.cwnd;'
bug full-no-ask req '	qp->req.since_ackreq = f->since;\n' ''
bug full-reads answer 'resp->mark |= looked;' ''
bug full-asking comp 'req->asking || ' ''
bug full-unarmed comp 'if (qp->hot.next != qp->hot.una)\n\t\t\t\txroce_req_arm(qp);' ''
bug full-fatal comp 'if (total != req->total)' 'if (0)'
bug full-patient comp 'if (total != req->total)' 'if (1)'
bug full-loops comp ' -
			xroce_env_total(qp->dev, XROCE_CNT_TX_LOOPED);' ';'
bug flush-at-once qp 'XROCE_FLUSH_BUDGET	256u' 'XROCE_FLUSH_BUDGET	16384u'
bug flush-many resp 'if (rd && pkt->info & XROCE_OP_FLUSH)' 'if (0)'
bug frees-early req '.sq_cons = qp->req.head,' '.sq_cons = qp->req.tail,'
bug asks-gone req 'if (!req->since_ackreq && !req->asking)' 'if (!req->since_ackreq)'
bug asks-defer req '			xroce_env_defer(qp, -1);
			break;
		}
		psn = qp->hot.next;' '			break;
		}
		psn = qp->hot.next;'
bug asks-ready req '	req->rnr_until = 0;	/* another' '	/* another'
bug last-twice tx ' && qp->hot.state != XROCE_QPS_RESET)' ')'
bug asks-untimed req '	if (due != XROCE_NEVER)
		xroce_env_timer' '		xroce_env_timer'
bug asks-hasty req '			least = now + wait;' '			least = 0;'
bug leave-none req 'if (xroce_req_leave(qp)) {' 'if (0) {'
bug leave-ever req '	req->since_ackreq = req->cwnd;
	return true;' '	return true;'
bug leave-waited req 'out > req->since_ackreq || ' ''
bug leave-twice req ' || req->since_ackreq >= xroce_req_ask_every(req))
		return' ')
		return'
bug asks-in-vain req '	if (qp->req.cur != qp->req.tail && e->started && e->status)
		end = e->psn;' ''
bug asks-read req '	if (!xroce_wqe_is_read(xroce_req_wqe(&qp->req, i)))
		return psn;' '	return psn;'
bug asks-read-whole req '<= XROCE_ASK_READ ?' '<= 64 ?'
bug asks-read-back req '	if (xroce_psn_diff(psn, qp->hot.una) < 0)
		psn = qp->hot.una;
	return (' '	return ('
bug asks-read-untimed req '	xroce_req_ackreq(req, f);
	req->rd_end' '	f->ackreq = true;
	req->since_ackreq = 0;
	req->rd_end'
bug asks-answered req '(qp->req.asked || qp->req.asking) &&' '1 &&'
bug asks-early comp 'else if (qp->req.early)' 'else if (0)'
bug asks-piped comp 'if (xroce_psn_diff(psn, req->timed) < 0)' 'if (0)'
bug asks-resent req '!f->is.again && xroce_req_times(req)' 'xroce_req_times(req)'
bug asks-jitter comp 'rtt ? min(rtt - (rtt - took) / 8, 8 * took) : took' 'took'
bug asks-sooner comp 'min(rtt - (rtt - took) / 8, 8 * took)' 'rtt - (rtt - took) / 8'
bug asks-slow req 'clamp(2 * req->rtt, req->timeout / XROCE_ASK_PART,
				       req->timeout / 2)' 'req->timeout / XROCE_ASK_PART'
bug asks-limit req '&& !e->started && !req->max_rd_atomic' '&& !req->max_rd_atomic'
bug asks-limit-one req 'max(req->max_rd_atomic, (u32)e->started)' 'req->max_rd_atomic'
bug owed-far comp '(i != req->head && xroce_psn_diff(e->psn, psn) >= 0)' \
	'xroce_psn_diff(e->psn, psn) >= 0'
bug recover-behind cc '	if (xroce_psn_diff(qp->hot.una, req->recover) > 0)
		req->recover = qp->hot.una;' ''
bug owed-too-much answer 'if (rd)
		xroce_resp_unanswered(qp, rd, rd->next);' ''
bug owed-again answer 'rd->state == XROCE_RD_ACTIVE && !rd->again' \
	'rd->state == XROCE_RD_ACTIVE'
bug owed-again-sent answer 'if (!f->again)' ''
bug owed-again-late answer '		rd->again = false;\n' '		;\n'
bug owed-overtakes answer '		if (!f->again)
			xroce_resp_unanswered(qp, rd, f->psn);
		return;' ''
bug owed-before answer '	qp->hot.resp_flags |= XROCE_RESP_ACK;
	qp->resp.rd_end' '	qp->resp.rd_end'
bug owed-beyond answer '	qp->resp.rd_end = qp->hot.epsn;\n' ''
bug owed-since answer 'rd->owes = psn;' ';'
bug owed-less answer 'xroce_psn_diff(psn, rd->owes) > 0' '1'
bug owed-other answer '*rd = xroce_resp_first(&qp->resp);' '*rd = xroce_resp_oldest(&qp->resp);'
bug owed-nak answer 'xroce_resp_owe(qp, f->acks);' \
	'if (f->syndrome == 0x1f) xroce_resp_owe(qp, f->acks);'
bug owed-twice answer ' || rd->owes == XROCE_PSN_NONE)' ')'
bug owed-ever tx 'for (i = 0; i < 2; i++)' 'for (i = 0; i < 1; i++)'
bug turn-early tx 'now - qp->since >= XROCE_TURN_AGE' '1'
bug inv-again local 'if (!claimed && mr->kind == XROCE_MR_FAST) {' 'if (0) {'
bug inv-window local '!claimed && mr->kind == XROCE_MR_FAST' '!claimed'
bug reg-old-list local 'if (page != mr->page)' 'if (0)'
bug reg-any-list local '(page != READ_ONCE(mr->page) && page != READ_ONCE(mr->spare))' '0'
bug rings-any req 'qp->req.away = xroce_qp_away(qp, qp->req.cpu);' ';'
bug rings-away req 'qp->nomem || req->away)' 'qp->nomem)'
bug rings-answers answer '&& xroce_qp_away(qp, resp->cpu);' '&& 0;'
bug rings-follows answer '(resp->rd_active || resp->follows)' 'resp->rd_active'
bug window-local copy '(mr->kind < XROCE_MW_1 || access & XROCE_REMOTE) &&' ''
bug window-any copy '(mr->kind != XROCE_MW_2 || mr->qpn == qp->hot.qpn)' '1'
bug owed-turn tx ' || qp->hot.state == XROCE_QPS_RESET;' ';'
bug owed-race tx 'if (!mine && qp->hot.state == XROCE_QPS_RESET)' 'if (0)'
bug ud-turn tx "if (!xroce_qp_reliable(qp))\n\t\t\tmine = xroce_turn_mine(qp);\n" ''
bug turn-less tx 'if (taken < n && mine && ' 'if (taken < n && '
bug ask-last req 'req->asking = XROCE_ASK_BOTH;\n\t\t\tleast' 'least'
bug ask-steps-back req 'if (req->asking || xroce_req_ask(qp))' 'if (xroce_req_ask(qp))'
bug ask-untimed comp 'if (qp->req.timing)' 'if (0)'
bug ask-ever req '(u64)XROCE_ASK_WAIT, XROCE_ASK_MOST);' '(u64)XROCE_ASK_WAIT, ~0ull);'
bug ask-oldest-back req 'if (f->again == XROCE_CNT_ASKED && qp->req.asking) {' 'if (0) {'
bug ask-oldest-nomem req 'qp->nomem || qp->req.away ? XROCE_ASK_BOTH : XROCE_ASK_LAST' 'XROCE_ASK_LAST'
bug ask-oldest-read req 'xroce_req_from(qp, end) == end))' '0))'
bug ask-oldest-limit req '	req->rd_tail = req->rd_head;
	return true;' '	return true;'
bug ask-oldest-reads req '	qp->req.rd_tail = rd_tail;\n' ''
bug ask-forgotten req '|| !xroce_req_ask(qp))' '|| 1)'
bug pace-unasked req 'req->asked || req->pace ||' 'req->asked ||'
bug others-turn req 'if (looked && xroce_qp_reliable' 'if (xroce_qp_reliable'
bug ended-clock tx 'if (!xroce_qp_sends(qp))\n\t\treturn;\n\tif (req->waiting' 'if (req->waiting'
bug rnr-at-once tx 'if (much)\n\t\txroce_env_defer' 'if (qp->hot.state == XROCE_QPS_ERR)\n\t\txroce_env_defer'
bug untaken-lost tx 'xroce_req_untaken(qp, f, looked);' ';'
bug untaken-unasked req 'if (f->again == XROCE_CNT_ASKED && qp->hot.next == f->psn)' 'if (0)'
bug never-less tx 'XROCE_BATCH - less;' 'XROCE_BATCH;'
bug not-again tx '		qp->again = true;
' ''
bug nothing-since tx '!qp->again && ' ''
bug untaken-sent-twice req 'if (!f->again && ' 'if (0 && '
bug untaken-answer-lost tx 'xroce_resp_untaken(qp, f, looked);' ';'
bug untaken-after-reset tx 'if (qp->resets == life) {' 'if (1) {'
bug dropped-lost tx 'xroce_env_timer(qp, xroce_turn_wait(qp, mine));' 'xroce_turn_wait(qp, mine);'
bug turn-none tx 'return !turn ||' 'return true ||'
bug turn-kept tx 'for (i = 0; i < 2; i++)' 'for (i = 1; i < 2; i++)'
bug turn-for-ever tx 'if (looked && qp->since && qp->since == first)' 'if (0)'
bug turn-dead tx 'taken || qp->dead' 'taken'
bug turn-young tx '(!first || qp->since < first)' '!first'

# completions
bug no-flush-unsignalled req \
	'if (status || req->sig_all ||' 'if (req->sig_all ||'
bug no-flush-held-receive qp 'if (qp->resp.wqe_held)' 'if (0)'
bug no-flush-late-post tx \
	'if (qp->hot.state == XROCE_QPS_ERR)\n\t\t\txroce_qp_flush(qp);' \
	'if (qp->hot.state == XROCE_QPS_ERR)\n\t\t\t;'
bug double-completion cq '++cq->prod);\n' \
	'++cq->prod);\n\t\tif (cq->prod % 64 == 0 && cq->prod - ring->cons <= cq->mask) { memcpy(ring->slot + (cq->prod & cq->mask) * sizeof(*cqe), cqe, sizeof(*cqe)); smp_store_release(&ring->prod, ++cq->prod); }\n'
bug wrong-length resp 'cqe.byte_len = resp->offset;' ''
bug unsignalled-reported req '(wqe->flags & XROCE_WR_SIGNALED))\n\t\txroce_req_report' \
	'1)\n\t\txroce_req_report'
bug no-event cq \
	'!(arm == XROCE_ARM_SOLICITED && solicited)' '1'
bug doorbell-forgotten sq 'WRITE_ONCE(ring->wake, 1);' ''
bug doorbell-always sq 'WRITE_ONCE(ring->wake, 0);' ''

# who may do what
bug bad-bound copy 'va - mr->iova <= mr->length - len' \
	'va - mr->iova <= mr->length'
bug any-pd copy 'mr->pd == pd &&' ''
bug any-right copy '(mr->access & access) == access &&' ''
bug use-kept copy 'xroce_env_use_end();' ';'
bug revoked-used copy 'smp_load_acquire(&mr->state) == XROCE_KEY_VALID &&' ''
bug qp-right-ignored resp ' || !(qp->access & XROCE_REMOTE_READ))' ')'
bug receive-overflow resp \
	'pkt->payload_len > resp->wqe->len - resp->offset) {' '0) {'
bug any-device rx 'if (!qp || qp->dev != rx->dev)' 'if (!qp)'
bug any-source rx '!xroce_rx_from(rx, &qp->av)' '0'
bug any-icrc rx '(!xroce_rx_icrc_ok(rx))\n\t\txroce_rx_drop(rx, XROCE_CNT_DROP_ICRC);\n\telse if (qp' \
	'(0)\n\t\t;\n\telse if (qp'
bug known-otherwise known 'xroce_differ(k->head, l3, 0) |' '0 |'
bug known-any-kind known 'xroce_differ(k->head, l3, 28)' '0'
bug known-any-kind-6 known 'xroce_differ(k->head, l3, 48)' '0'
bug known-rest known 'return !xroce_parse_rest(pkt, bth, bth + len);' 'return true;'
bug known-elsewhere net 'k->crc = xroce_icrc_start(k->head);' ''
bug known-not-parsed net 'memcpy(k->pkt, &rx->pkt, sizeof(k->pkt));' ''
bug known-any-source pass 'qp = xroce_rx_xdp(xdp, &p->krx);' 'qp = xroce_rx_xdp(xdp, &p->krx); if (!qp && p->krx.rx.is) qp = xroce_env_qp(p->krx.rx.dev, p->krx.rx.pkt.qpn);'
bug any-pkey rx '(pkt->pkey ^ qp->pkey) & 0x7fff ||' '0 &&'

# UC: whole or not at all
bug uc-hole resp 'if (hot->epsn != pkt->psn || (pkt->info & XROCE_OP_FIRST))' \
	'if (pkt->info & XROCE_OP_FIRST)'
bug uc-never-again resp 'hot->epsn = pkt->psn;\n\tif (!xroce_resp_order' \
	'if (!xroce_resp_order'
bug uc-first-in-message resp '|| (pkt->info & XROCE_OP_FIRST))\n\t\thot->msg' \
	')\n\t\thot->msg'
bug uc-goes-on resp 'if (!ok)\n\t\thot->msg = 0;' ''
bug uc-fatal resp 'if (!xroce_qp_reliable(qp)) {\n\t\txroce_qp_verdict(qp, XROCE_CNT_DROP_REQUEST);\n\t\treturn;\n\t}\n\tif (!qp->resp.fatal)' \
	'if (!qp->resp.fatal)'
bug uc-too-long resp 'if (!xroce_qp_reliable(qp)) {\n\t\t\txroce_qp_verdict(qp, XROCE_CNT_DROP_TOO_LONG);\n\t\t\treturn false;\n\t\t}' ''
bug uc-timer req 'req->waiting || !xroce_qp_reliable(qp)' 'req->waiting'
bug uc-early req 'xroce_req_sent(qp, e, 1);\n\tif (!xroce_qp_reliable(qp))' \
	'xroce_req_sent(qp, e, 1);\n\tif (!xroce_qp_reliable(qp))\n\t\txroce_req_advance(qp, qp->hot.next);\n\tif (!xroce_qp_reliable(qp))'
bug uc-late tx 'xroce_req_advance(qp, qp->hot.next);' ';'
bug uc-invalidate sq 'if (wr <= XROCE_WR_SEND_WITH_IMM)' \
	'if (wr <= XROCE_WR_SEND_WITH_IMM || wr == XROCE_WR_SEND_WITH_INV)'
bug sqd-forgets answer 'if (active != resp->rd_active)' 'if (true)'
bug feth-reserved resp ' & XROCE_FETH_SEL;' ';'
bug timer-sends-all tx 'qp->full || qp->nomem ||' 'qp->full ||'
bug timer-answers-all tx ' || qp->resp.pace;' ';'
bug moved-path qp 'if (mask & XROCE_ATTR_AV) {' \
	'if (mask & XROCE_ATTR_AV) {\n\t\tqp->resets++;'

# UD
bug ud-grh-place dgram 'memcpy(grh + 20, l3, 20);' 'memcpy(grh, l3, 20);'
bug ud-no-grh dgram '.byte_len = XROCE_GRH_LEN + pkt->payload_len' \
	'.byte_len = pkt->payload_len'
bug ud-receive-lost dgram 'XROCE_CNT_DROP_TOO_LONG);' \
	'XROCE_CNT_DROP_TOO_LONG); qp->resp.wqe_held = false;'
bug ud-source dgram '.src_qp = pkt->sqpn,' '.src_qp = qp->hot.dest_qpn,'
bug ud-any-qkey rx 'pkt->qkey != qp->qkey' '0'
bug ud-own-qkey req '(s32)wqe->ud.remote_qkey < 0' '0'
bug ud-any-address rx '!xroce_env_local(rx)' '0'
bug ud-over-mtu sq 'sum > (ud ? xroce_mtu(qp) : XROCE_MAX_MSG)' \
	'sum > XROCE_MAX_MSG'
bug ud-any-ah req '!ah || ah->pd != qp->pd' '!ah'
bug ud-path-kept req 'qp->av = ah->av;' 'if (!qp->av.l3_len) qp->av = ah->av;'
bug group-uncounted rx 'else if (!xroce_env_group(rx))' \
	'else if (!xroce_env_group(rx) && 0)'
bug group-any-transport rx 'if (!(rx->pkt.info & XROCE_OP_DETH))' 'if (0)'

# SQE, SQD
bug sqe-is-err req 'xroce_qp_send_error(qp);' 'xroce_qp_error(qp);'
bug sqe-no-flush qp 'qp->hot.max = qp->hot.next;\n\txroce_qp_flush_sends(qp);' \
	'qp->hot.max = qp->hot.next;'
bug sqe-part qp '(s32)(end - req->head) > 0' '0'
bug sqe-any-index qp '\t\tif (req->head == head)\n\t\t\treturn;' ''
bug sqe-no-late-flush tx \
	'else if (qp->hot.state == XROCE_QPS_SQE)\n\t\t\txroce_qp_send_error(qp);' ''
bug sqe-deaf rx 'case XROCE_QPS_SQE:\n' ''
bug sqd-no-event req 'xroce_env_qp_event(qp, XROCE_EVENT_SQ_DRAINED);' ''
bug sqd-not-at-once qp '\txroce_req_drained(qp);\n\terr = 0;' '\terr = 0;'
bug sqd-two-events req 'qp->sqd_notify = false;' ''
bug sqd-stale-event qp 'if (attr->state != XROCE_QPS_SQD)\n\t\t\tqp->sqd_notify = false;' ''
bug sqd-fails req 'if (!e->started && qp->hot.state == XROCE_QPS_SQD)' 'if (0)'

bug ud-any-length dgram 'if (pkt->payload_len > XROCE_MAX_MTU) {' 'if (0) {'

# shared receive queues
bug xrc-changed resp 'resp->srqn == pkt->xrcsrq && ' ''
bug xrc-changed-first resp 'pkt->info & XROCE_OP_FIRST && !resp->wqe_held' \
	'pkt->info & XROCE_OP_FIRST'
bug xrc-any-domain resp 'if (rq->xrcd != qp->xrcd) {' 'if (0) {'
bug xrc-held resp '\txroce_env_srq_put(qp->rq);\n' ''
bug xrc-held-refused resp '\t\txroce_env_srq_put(rq);\n' ''
bug xrc-qp-pd resp 'qp->resp.pd = rq->pd;' 'qp->resp.pd = qp->pd;'
bug xrc-pd-read resp 'rd->pd = resp->pd;' 'rd->pd = qp->pd;'
bug srq-resize-taken rq 'WRITE_ONCE(ring->cons, rq->cons);' ''
bug srq-resize-mask rq 'rq->mask = mask;' ''
bug srq-resize-many rq 'min(mask, rq->mask) + 1' 'rq->mask + 1'
bug cq-resize-garbage cq ' && prod - cons <= cq->mask + 1' ''
bug cq-resize-copy cq '		xroce_cq_copy(cq, ring, depth - 1, from, prod);
		from = prod;' '		from = prod;'
bug cq-resize-polled cq 'ring->cons = cons;' ''
bug cq-resize-overrun cq '!cq->overrun && prod - cons' 'prod - cons'
bug srq-pd resp 'qp->rq->pd ?: qp->pd' 'qp->pd'
bug srq-pd-ud dgram 'qp->rq->pd ?: qp->pd' 'qp->pd'
bug srq-limit-again rq 'rq->limit = 0;' ';'
bug srq-limit-late rq 'few = n - !!n < rq->limit;' 'few = n < rq->limit;'
bug srq-limit-empty rq 'few = n - !!n <' 'few = n && n - 1 <'
bug srq-flushed qp 'if (qp->srq || !qp->rq)\n\t\treturn;\n\tfor (left' \
	'if (!qp->rq)\n\t\treturn;\n\tfor (left'
bug srq-no-last-wqe qp 'xroce_env_qp_event(qp, XROCE_EVENT_LAST_WQE);' ';'

# congestion
bug cnp-storm answer 'if (now < qp->resp.cnp_next)\n\t\treturn;' ''
bug cnp-untaken answer 'resp->cnp = true;\n\t\treturn;' 'return;'
bug cnp-for-cnp rx ' && !(pkt->info & XROCE_OP_CNP))\n\t\txroce_resp_marked' \
	')\n\t\txroce_resp_marked'
bug cnp-deaf rx 'XROCE_CNT_CNP_RCVD, 1);\n\t\txroce_cc_loss(qp, false);' 'XROCE_CNT_CNP_RCVD, 1);'
bug cnp-anybody rx '? !xroce_qp_reliable(qp) :' '? 0 :'
bug cnp-class answer 'xroce_frame_set_tos(f, XROCE_CNP_TOS);' ''
bug cnp-prio answer 'f->prio = XROCE_CNP_PRIO;' ''
bug cnp-sum net '(u16)~ip[1] + tos));' '(u16)~ip[1]));'
bug cnp-idle cc ' + (qp->hot.max == qp->hot.una)' ''
bug cnp-reads-stale cc '\txroce_cc_faster(resp, now - XROCE_PACE_TIME);\n' ''
bug cnp-reads-never cc '2 * resp->pace' 'resp->pace'
bug cnp-reads-floor cc '(XROCE_PACE_FIRST << 10)' '(XROCE_PACE_FIRST << 20)'
bug cnp-reads-storm cc '(resp->held ? XROCE_PACE_TIME : XROCE_PACE_BURST / 2)' '0'
bug cnp-reads-writes cc '!resp->answered ||\n\t    ' ''
bug cnp-reads-ever cc 'resp->pace -= resp->pace / 8;' ''
bug cnp-reads-faster cc 'resp->faster_at = now + XROCE_PACE_TIME;' ''
bug cnp-reads-untimed cc '		xroce_env_timer(qp, max(resp->free_at, now + XROCE_PACE_BURST / 2));' ''
bug cnp-reads-free answer 'resp->free_at += f->len * resp->pace >> 20;' ';'
bug cnp-room-ever answer '	resp->mark = false;' ''
bug cnp-others-turn answer 'resp->mark |= looked;' 'resp->mark = true;'
bug ack-msn answer 'before ? qp->resp.rd_msn : qp->hot.msn' 'qp->hot.msn'
bug cnp-no-becn answer 'XROCE_BTH_BECN >> 24' '0'

# what is asked for, and looked at
bug shrunk-unseen req '\t\t\tWRITE_ONCE(qp->req.ring->wake, 0);\n\t\t\treturn NULL;' \
	'\t\t\treturn NULL;'
bug read-long cc '2 * XROCE_PIECE_MAX >> clamp(qp->req.max_rd_atomic, 1u, 3u)' '64'
bug read-short cc '2 * XROCE_PIECE_MAX >> clamp(qp->req.max_rd_atomic, 1u, 3u)' '16'
bug read-unshrunk cc 'piece > qp->req.cwnd' '0'
bug patience-none cc 'max(req->timeout, min(longer, XROCE_PATIENCE))' 'req->timeout'
bug patience-more cc 'min(req->retry_cnt - req->retries, 2)' '(req->retry_cnt - req->retries)'
bug patience-ever cc 'min(longer, XROCE_PATIENCE)' 'longer'
bug local-unasked req '|| !xroce_req_ask(qp))\n\t\t\tbreak;\n\t}\n\treturn NULL' \
	'|| req->local || !xroce_req_ask(qp))\n\t\t\tbreak;\n\t}\n\treturn NULL'
bug local-undrained req '\t\te->npsn = 0;\n\t}\n\txroce_req_drained(qp);' '\t\te->npsn = 0;\n\t}'
bug ended-fails req 'if (xroce_psn_diff(qp->hot.next, qp->hot.max) < 0 && ' 'if (0 && '
bug ended-deceives local '.len = cpu_to_be32(1)' '.len = 0'
bug trusted-unasked req 'return req->trusted;' 'return false;'

# a CQ without room
bug overrun-lives req '\t\txroce_qp_fatal(qp);' '\t\t;'
bug overrun-unsaid resp 'xroce_resp_fatal(qp, XROCE_NAK_REM_OP, XROCE_EVENT_QP_FATAL);' ';'
bug overrun-acked resp '\txroce_qp_fatal(qp);\n\treturn false;' '\treturn true;'
bug overrun-waits tx ' && !qp->resp.fatal &&' ' &&'

# native XDP
bug way-any-psn hot 'xroce_resp_seq(hot, pkt->psn) != XROCE_SEQ_NEXT ||' ''
bug way-any-order hot '!xroce_resp_order(hot, pkt->info) ||' ''
bug way-any-length hot '!xroce_len_ok(pkt->info, pkt->payload_len,\n\t\t\t\t  1u << (hot->mtu_shift & 15))' '0'
bug way-invalidates hot 'pkt->info & XROCE_OP_INV ||' ''
bug way-unreliable hot 'if (hot->transport != XROCE_RC && hot->transport != XROCE_XRC)' 'if (0)'
bug way-not-xrc hot ' && hot->transport != XROCE_XRC' ''
bug way-never-placed hot 'return XROCE_WAY_PLACE;' 'return XROCE_WAY_CORE;'
bug way-no-answers hot 'if (!(pkt->info & XROCE_OP_RESPONSE) ||' \
	'if (!(pkt->info & XROCE_OP_ACK) ||'
bug way-completes-requests hot '!(pkt->info & XROCE_OP_RESPONSE) ||' ''
bug done-no-ack hot 'if (ack && (info' 'if (0 && (info'
bug done-always-ack hot 'if (ack && (info' 'if (1 && (info'
bug done-two hot 'hot->epsn = xroce_psn_add(hot->epsn, npsn);' \
	'hot->epsn = xroce_psn_add(hot->epsn, npsn + 1);'
bug done-same-msn hot 'hot->msn = xroce_psn_add(hot->msn, 1);' ''
bug done-in-message hot '\t\thot->msg = 0;\n' ''
bug place-failed program 'if (!bpf_xroce_place(p))' 'bpf_xroce_place(p);'
bug place-not-done program 'if (!bpf_xroce_place(p))' 'if (bpf_xroce_place(p))'
bug place-says-ok pass 'if (xroce_resp_execute(p->qp, &p->krx.rx))' \
	'if (xroce_resp_execute(p->qp, &p->krx.rx) || 1)'
bug place-refused pass 'if (xroce_resp_execute(p->qp, &p->krx.rx))' \
	'if (xroce_resp_execute(p->qp, &p->krx.rx) && 0)'
bug pass-any-icrc pass 'if (xroce_rx_icrc_ok(rx))' 'if (1)'
bug pass-fatal-heard pass '|| p->qp->resp.fatal)\n\t\treturn NULL;' ')\n\t\treturn NULL;'
bug pass-last-word pass 'p->done = true;\n\tp->given = false;' 'p->done = true;'
bug pass-no-core pass 'if (how == XROCE_PASS_CORE && !p->done)' 'if (0)'
bug pass-twice pass 'how == XROCE_PASS_CORE && !p->done' '1'
bug pass-stands-still pass 'hot->epsn = p->hot.epsn & XROCE_PSN_MASK;' ''
bug pass-last-packet pass 'hot->pkt.psn = pkt->psn;' ''
bug pass-no-ackreq pass 'hot->pkt.ackreq = pkt->ackreq;' ''

# locks
bug lock-leaked rx 'if (drop) {\n\t\tspin_unlock(&qp->lock);' 'if (drop) {'
bug event-under-lock cq \
	'spin_unlock_irqrestore(&cq->lock, flags);\n\tif (overrun)' \
	'if (event)\n\t\txroce_env_cq_event(cq);\n\tevent = false;\n\tspin_unlock_irqrestore(&cq->lock, flags);\n\tif (overrun)'

[ ${#only[@]} -le "$count" ] || result "not ok" "a name of none: ${only[*]}"
echo "1..$count"
[ $fails -eq 0 ]
