# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# Owns running xroce_ud over the two hosts of topo.sh, whose devices it opens
# both; its results become ours. Sourced after topo.sh.

# ud LABEL ARGUMENTS... - what it prints beside results goes to $TOPO_TMP/ud
ud() {
	local label=$1 line rxe=
	shift
	[ "$DEVTYPE1" != rxe ] || rxe+=a
	[ "$DEVTYPE2" != rxe ] || rxe+=b
	: >"$TOPO_TMP/ud"
	while IFS= read -r line; do
		case $line in
		'ok '*)		ok "$label: ${line#ok }" ;;
		'not ok '*)	line=${line#not ok }
				not_ok "$label: ${line%% \# *}" "${line#* \# }" ;;
		'skip '*)	line=${line#skip }
				skip "$label: ${line%% \# *}" "${line#* \# }" ;;
		'exit '[01])	;;
		'exit '*)	not_ok "$label: xroce_ud $*" "exit status ${line#exit }" ;;
		*)		echo "$line" >>"$TOPO_TMP/ud"
				echo "# $line" ;;
		esac
	done < <(timeout "${UD_TIMEOUT:-600}" "$LIBDIR/../ud/xroce_ud" \
			-a "$RDMA1${RNS1:+@$RNS1}" -b "$RDMA2${RNS2:+@$RNS2}" \
			${rxe:+-x $rxe} "$@" 2>&1; echo "exit $?")
}

# ud_devices LABEL - as asked for, or the end of the test
ud_devices() {
	local why
	if ! why=$(rdma_up 2>&1); then
		not_ok "$1: devices" "${why//$'\n'/$'\n'# }"
		tap_end
	fi
	ok "$1: devices, XDP mode as asked for"
}
