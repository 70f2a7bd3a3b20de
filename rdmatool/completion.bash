# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# bash completion for rdmatool: its words, and the devices there are.

_rdmatool()
{
	local cur=${COMP_WORDS[COMP_CWORD]} words=() word
	local rdma='' net='' list i
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		[[ $word == -* ]] || words+=("$word")
	done
	rdma=$(cd /sys/class/infiniband 2>/dev/null && echo *)
	net=$(cd /sys/class/net 2>/dev/null && echo *)
	case ${words[*]} in
	'')		list='link gid qp cq mr stat capture monitor decode check help -j -p -d -V' ;;
	*netdev)	list=$net ;;
	*type)		list='xroce rxe siw' ;;
	*xdp)		list='off generic native auto' ;;
	*steer)		list=off ;;
	*policy)	list=off; compopt -o default ;;
	link)		list='show add set del save restore' ;;
	'link save'*|'link restore'*) compopt -o default; return ;;
	gid)		list='show add del' ;;
	qp)		list='show set' ;;
	cq|mr|stat)	list=show ;;
	'qp set'*)	list='dev lqpn steer' ;;
	'link add '*)	list='netdev type xdp' ;;
	'link set '?*)	list='xdp steer policy' ;;
	decode)		compopt -o default; return ;;
	capture)	list=$rdma ;;
	monitor*dev)	list=$rdma ;;
	monitor*)	list='dev -c -t' ;;
	'capture '*dir)	list='in out' ;;
	'capture '*verdict) list='sent received dropped' ;;
	'capture '*opcode) list='SEND WRITE READ ACKNOWLEDGE ATOMIC CMP FETCH CNP' ;;
	'capture '*)	list='qp peer opcode verdict dir -w -c -t -B' ;;
	'stat show'|'link '*|'gid '*) list=$rdma ;;
	*dev)		list=$rdma ;;
	'qp '*)		list='dev lqpn rqpn type state pid comm' ;;
	'cq '*|'mr '*)	list='dev pid comm' ;;
	esac
	[[ ${words[*]} != 'link set' ]] || list=$rdma
	mapfile -t COMPREPLY < <(compgen -W "$list" -- "$cur")
}
complete -F _rdmatool rdmatool
