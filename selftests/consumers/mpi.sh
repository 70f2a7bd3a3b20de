#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Open MPI over UCX: collectives, messages and one-sided access among ranks, all
# answers compared: four ranks on one host by its own device, and two on each of
# two hosts. UCX is told to use verbs alone, lest shared memory carries it all.
# Topology: see ends.sh.
#
# DEVTYPE1, DEVTYPE2=xroce|rxe  XROCE_XDP=off|generic|native

# shellcheck source-path=SCRIPTDIR
cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/topo.sh
. ../lib/here.sh
. ../lib/ends.sh

# Open MPI's way to another host: it is a namespace here, with a name of its own
agent() {
	cat >"$TOPO_TMP/agent" <<-EOA
		#!/bin/bash
		case \$1 in host1) ns=$RNS1 ;; *) ns=$RNS2 ;; esac
		name=\$1
		shift
		enter=()
		[ -z "\$ns" ] || enter=(ip netns exec "\$ns")
		exec "\${enter[@]}" unshare -u sh -c "hostname \$name; \$*"
	EOA
	chmod 755 "$TOPO_TMP/agent"
}

# mpi TRANSPORT HOSTS ARGUMENTS...
mpi() {
	local tls=$1 hosts=$2
	shift 2
	r1 env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
		PRTE_MCA_plm_ssh_agent="$TOPO_TMP/agent" \
		timeout "${PATIENCE:-150}" unshare -u sh -c 'hostname host1; exec "$@"' - \
		mpirun -H "$hosts" --map-by slot:oversubscribe --bind-to none \
		--mca pml ucx --mca osc ucx --mca btl self \
		-x UCX_TLS="$tls,self" -x UCX_WARN_UNUSED_ENV_VARS=n \
		"$PWD/collective" "$@" </dev/null
}

[ -x collective ] || skip_all "built without Open MPI"
ends_up mpirun
agent
for tls in rc ud; do
	measure "$label: $tls, four ranks on one host" mpi $tls host1:4
	# two namespaces are two hosts
	[ "$RNS1" = "$RNS2" ] ||
		measure "$label: $tls, two ranks on each of two hosts" \
			mpi $tls host1:2,host2:2
done
tap_end
