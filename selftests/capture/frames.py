#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Sends RoCEv2 frames that a device has reasons to drop, one of each:

  frames.py IF DMAC SADDR DADDR

and prints for each the counter it should go to, as "NAME WITHOUT-XDP WITH-XDP".
"""
import socket
import struct
import sys

ETH_P_IP = 0x0800


def checksum(data):
    total = sum(struct.unpack(f'!{len(data) // 2}H', data))
    total = (total & 0xffff) + (total >> 16)
    return ~(total + (total >> 16)) & 0xffff


def bth(opcode, qpn, flags=0x40):
    return struct.pack('!BBHII', opcode, flags, 0xffff, qpn, 7)


def packet(src, dst, payload, options=b'', udp_len=None, ip_extra=0):
    size = 8 + len(payload)
    udp = struct.pack('!HHHH', 50000, 4791,
                      size if udp_len is None else udp_len, 0)
    head = struct.pack('!BBHHHBBH4s4s', 0x45 + len(options) // 4, 0,
                       20 + len(options) + size + ip_extra, 0, 0x4000, 64,
                       17, 0, src, dst) + options
    head = head[:10] + struct.pack('!H', checksum(head)) + head[12:]
    return head + udp + payload


def main():
    ifname, dmac, src, dst = sys.argv[1:]
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sock.bind((ifname, 0))
    eth = (bytes.fromhex(dmac.replace(':', '')) + sock.getsockname()[4]
           + struct.pack('!H', ETH_P_IP))
    src, dst = socket.inet_aton(src), socket.inet_aton(dst)
    icrc = b'\1\2\3\4'
    deth = struct.pack('!II', 0x80010000, 1)

    for name, off, xdp, payload, more in (
            # to QP 1, which every device has
            ('bad-icrc', 'rx_icrc_encapsulated', 'rx_icrc_encapsulated',
             bth(0x64, 1) + deth + bytes(256) + icrc, {}),
            ('unknown-qp', 'drop_no_qp', 'drop_no_qp',
             bth(0x04, 0x77) + bytes(64) + icrc, {}),
            ('bad-opcode', 'drop_opcode', 'xdp_drop_opcode',
             bth(0x1f, 0x77) + bytes(64) + icrc, {}),
            ('version', 'drop_tver', 'xdp_drop_tver',
             bth(0x04, 0x77, 0x41) + bytes(64) + icrc, {}),
            ('pad-only', 'drop_length', 'xdp_drop_length',
             bth(0x04, 0x77, 0x70) + icrc, {}),
            ('short', 'drop_short', 'xdp_drop_short', bth(0x04, 0x77), {}),
            ('wrong-service', 'drop_transport', 'drop_transport',
             bth(0x04, 0xffffff) + bytes(64) + icrc, {}),
            ('no-group', 'rx_icrc_encapsulated', 'rx_icrc_encapsulated',
             bth(0x64, 0xffffff) + deth + bytes(64) + icrc, {}),
            ('ip-options', 'drop_options', 'drop_options',
             bth(0x04, 0x77) + bytes(64) + icrc,
             {'options': b'\1\1\1\1'}),
            # the stack drops these by itself
            ('udp-length', '-', 'xdp_drop_udp_length',
             bth(0x04, 0x77) + bytes(64) + icrc, {'udp_len': 4000}),
            ('ip-length', '-', 'xdp_drop_truncated',
             bth(0x04, 0x77) + bytes(64) + icrc, {'ip_extra': 100})):
        sock.send(eth + packet(src, dst, payload, **more))
        print(name, off, xdp)


main()
