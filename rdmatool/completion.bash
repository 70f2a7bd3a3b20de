# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# bash completion for rdmatool: its words, and the devices there are.

_rdmatool_fields()
{
	case $1 in
	qp)	echo 'lqpn rqpn type state src dst mtu rq-psn sq-psn path-mig-state
		sport pkey access epsn msn rd-active una next max rd-outstanding
		cwnd ssthresh timeout-ns retry-cnt retries rnr-retry rnr-retries
		sq-depth sq-fill rq-depth rq-fill steer-cpu error error-nak pdn' ;;
	cq)	echo 'cqn cqe users poll-ctx adaptive-moderation ctxn completions fill
		armed overrun' ;;
	mr)	echo 'mrn rkey lkey iova mrlen pdn access page_size pages windows valid' ;;
	mw)	echo 'type rkey bound lkey lqpn iova mwlen access pdn' ;;
	srq)	echo 'srqn type lqpn pdn cqn max_wr max_sge limit fill' ;;
	pd)	echo 'pdn local_dma_lkey unsafe_global_rkey users ctxn' ;;
	ctx)	echo 'ctxn' ;;
	stat)	echo 'lqpn rqpn type state --watch -c -t' ;;
	cm_id)	echo 'cm-idn lqpn type state ps src-addr dst-addr' ;;
	ah)	echo 'ahn src dst dmac vlan sport sl tclass flow-label hop-limit pdn' ;;
	esac
}

# Not by compgen -W, which would run what is in a name: "$(...)"
_rdmatool_offer()
{
	local word list
	read -rd '' -a list <<<"$1"
	COMPREPLY=()
	for word in "${list[@]}"; do
		[[ $word != "$2"* ]] || COMPREPLY+=("$(printf %q "$word")")
	done
}

_rdmatool()
{
	local cur=${COMP_WORDS[COMP_CWORD]} words=() word skip=''
	local rdma net list='' i line
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if [[ -n $skip ]]; then
			skip=''
		elif [[ ${#words[@]} = 0 && $word =~ ^(--netns|--batch|-[a-zA-Z]*[nb])$ ]]; then
			skip=$word
		elif [[ $word != -* ]]; then
			words+=("$word")
		fi
	done
	rdma=$(cd /sys/class/infiniband 2>/dev/null && shopt -s nullglob && echo *)
	net=$(cd /sys/class/net 2>/dev/null && shopt -s nullglob && echo *)
	line=${words[*]}
	[[ $line != 'capture '* || ${COMP_WORDS[COMP_CWORD - 1]} != -w ]] || skip=-w
	case $skip in
	--netns|-*n)	_rdmatool_offer "$(cd /run/netns 2>/dev/null && shopt -s nullglob && echo *)" "$cur"
			return ;;
	?*)		compopt -o default
			return ;;
	esac
	case $line in
	'')		list='link dev gid qp cq mr mw srq pd ctx cm_id ah stat steer tune
			capture monitor decode check help
			-j -p -d -c -n -b -f -V -h --json --pretty --details --color
			--netns --batch --force --version --help' ;;
	link)		list='show add set del save restore status' ;;
	dev)		list='show rename move' ;;
	gid)		list='show add del' ;;
	qp)		list='show set' ;;
	steer|tune)	list='show set' ;;
	cq|mr|mw|srq|pd|ctx|cm_id|ah) list=show ;;
	stat)		list='show qp' ;;
	'link save'*|'link restore'*|decode)
			compopt -o default
			return ;;
	'link '*netdev)	list=$net ;;
	'link '*type)	list='xroce rxe siw' ;;
	'link '*xdp)	list='off generic native auto' ;;
	*steer)		list=off ;;
	'link add '*)	list='netdev type xdp' ;;
	'link '*policy)	list=off
			compopt -o default ;;
	'link set '?*)	list='xdp steer policy' ;;
	'dev move '?*)	list=$(cd /run/netns 2>/dev/null && shopt -s nullglob && echo *) ;;
	'steer set '?*)	list=off ;;
	'tune set '?*)	list='cwnd-init cwnd-max cnp-gap' ;;
	link\ *|dev\ *|gid\ *|'stat show'|steer\ *|tune\ *)
			list=$rdma
			[[ $line != 'stat show' ]] || list+=' --watch' ;;
	'stat show '*)	list='--watch -c -t' ;;
	*' dev'|*' link'|capture) list=$rdma ;;
	'qp set'*)	list='dev lqpn steer' ;;
	monitor*)	list='dev -c -t' ;;
	'capture '*dir)	list='in out' ;;
	'capture '*verdict) list='sent received dropped' ;;
	'capture '*opcode) list='SEND WRITE READ ACKNOWLEDGE ATOMIC CMP FETCH CNP' ;;
	'capture '*)	list='qp peer opcode verdict dir -w -c -t -B' ;;
	*' show'*|'stat qp'*) list="dev link $(_rdmatool_fields "${words[0]}") pid comm" ;;
	esac
	_rdmatool_offer "$list" "$cur"
}
complete -F _rdmatool rdmatool
