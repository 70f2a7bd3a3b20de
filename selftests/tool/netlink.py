#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Requests to the xroce family that rdmatool would not make.

netlink.py LINK IFINDEX [guest] - says one TAP-like line each: "ok NAME" or
"not ok NAME # WHY". A guest is root of a namespace of its own alone. The numbers are
those of linux/xroce_netlink.h.
"""
import errno
import os
import socket
import struct
import sys

LINK_NEW, LINK_GET, LINK_SET, QP_SET, QP_GET, MW_GET, AH_GET = range(1, 8)
DEV_NAME, DEV_INDEX, IFINDEX, IFNAME, MTU, XDP_FD, XDP_DETACH = range(1, 8)
STEER = 11
CWND_INIT, CWND_MAX, CNP_GAP = 12, 13, 14
QP_DEV, QP_QPN, QP_STEER_CPU, QP_STEER_LINK = 1, 3, 30, 33
ACK, DUMP = 4, 0x300
NLMSG_ERROR, NLMSG_DONE = 2, 3


def attr(kind, data):
    if isinstance(data, str):
        data = data.encode() + b'\0'
    elif isinstance(data, int):
        data = struct.pack('=I', data)
    head = struct.pack('=HH', 4 + len(data), kind)
    return head + data + b'\0' * (-len(data) % 4)


def attrs(buf):
    out = {}
    while len(buf) >= 4:
        size, kind = struct.unpack_from('=HH', buf)
        if size < 4:
            break
        out[kind & 0x3fff] = buf[4:size]
        buf = buf[(size + 3) & ~3:]
    return out


class Genl:
    def __init__(self):
        self.s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16)
        self.s.bind((0, 0))
        self.s.setsockopt(270, 11, 1)   # NETLINK_EXT_ACK
        self.s.setsockopt(270, 10, 1)   # NETLINK_CAP_ACK
        self.s.settimeout(20)
        self.family = 16                # the controller
        _, _, got = self.ask(3, attr(2, 'xroce'))
        self.family = struct.unpack('=H', got[0][1])[0]

    def ask(self, cmd, body=b'', flags=ACK):
        """errno, extended ack, replies as dicts of attributes"""
        msg = struct.pack('=BBH', cmd, 1, 0) + body
        self.s.send(struct.pack('=IHHII', 16 + len(msg), self.family,
                                1 | flags, 1, 0) + msg)
        got = []
        while True:
            buf = self.s.recv(1 << 17)
            while buf:
                size, kind, nflags = struct.unpack_from('=IHH', buf)
                data, buf = buf[16:size], buf[(size + 3) & ~3:]
                if kind in (NLMSG_ERROR, NLMSG_DONE):
                    err = -struct.unpack_from('=i', data)[0] if data else 0
                    skip = 20 if kind == NLMSG_ERROR else 4
                    text = b''
                    self.offset = None
                    if nflags & 0x200:
                        ack = attrs(data[skip:])
                        text = ack.get(1, b'')
                        if 2 in ack:
                            self.offset = struct.unpack('=I', ack[2])[0]
                    return max(err, 0), text.rstrip(b'\0').decode(), got
                got.append(attrs(data[4:]))


def check(name, got, want, words=''):
    err, text, _ = got
    if err == want and words in text:
        print(f'ok {name}')
    else:
        print(f'not ok {name} # {errno.errorcode.get(err, err)} "{text}"')


def main():
    link, ifindex = sys.argv[1], int(sys.argv[2])
    nl = Genl()
    name = attr(DEV_NAME, link)
    null = os.open('/dev/null', os.O_RDONLY)
    root = os.geteuid() == 0

    check('a link by name', nl.ask(LINK_GET, name), 0)
    check('a link by ifindex', nl.ask(LINK_GET, attr(IFINDEX, ifindex)), 0)
    check('all links', nl.ask(LINK_GET, b'', DUMP), 0)
    check('all QPs', nl.ask(QP_GET, b'', DUMP), 0)
    check('QPs of no link', nl.ask(QP_GET, attr(QP_DEV, 'none'), DUMP),
          errno.ENODEV, 'no such xroce link')
    if sys.argv[3:] == ['guest']:
        check('a key of a guest', nl.ask(LINK_SET, name + attr(CWND_INIT, 32)), 0)
        check('steering by a guest', nl.ask(LINK_SET, name + attr(STEER, '0')),
              errno.EPERM, 'of the host')
        check('a program by a guest', nl.ask(LINK_SET, name + attr(XDP_FD, null)),
              errno.EPERM, 'of the host')
        check('no program, by a guest', nl.ask(LINK_SET, name + attr(XDP_DETACH, b'')),
              errno.EPERM, 'of the host')
        check('steering a QP by a guest',
              nl.ask(QP_SET, name + attr(QP_QPN, 2) + attr(QP_STEER_CPU, 0)),
              errno.EPERM, 'of the host')
        check('a QP no longer steered, by a guest',
              nl.ask(QP_SET, name + attr(QP_QPN, 2) + attr(QP_STEER_LINK, b'')),
              errno.EPERM, 'of the host')
        return
    if not root:
        for cmd, body in ((LINK_NEW, name + attr(IFINDEX, ifindex)),
                          (LINK_SET, name + attr(XDP_DETACH, b'')),
                          (QP_SET, name + attr(QP_QPN, 2))):
            check(f'command {cmd} without CAP_NET_ADMIN', nl.ask(cmd, body),
                  errno.EPERM)
        return
    check('no key', nl.ask(LINK_GET), errno.EINVAL, 'either by')
    check('two keys', nl.ask(LINK_GET, name + attr(IFINDEX, ifindex)),
          errno.EINVAL, 'either by')
    check('ifindex 0', nl.ask(LINK_GET, attr(IFINDEX, 0)), errno.ERANGE)
    check('a short ifindex', nl.ask(LINK_GET, attr(IFINDEX, b'\1')),
          errno.EINVAL)
    check('a name of 64 bytes', nl.ask(LINK_GET, attr(DEV_NAME, 'x' * 64)),
          errno.EINVAL)
    check('a name without end', nl.ask(LINK_GET, attr(DEV_NAME, b'xx')),
          errno.EINVAL)
    check('an unknown attribute', nl.ask(LINK_GET, name + attr(99, 1)),
          errno.EINVAL)
    check('an attribute of a reply', nl.ask(LINK_SET, name + attr(MTU, 1)),
          errno.EINVAL)
    check('a new link without a name',
          nl.ask(LINK_NEW, attr(IFINDEX, ifindex)), errno.EINVAL, 'needed')
    check('a new link named %d',
          nl.ask(LINK_NEW, attr(DEV_NAME, 'x%d') + attr(IFINDEX, ifindex)),
          errno.EINVAL, '%')
    check('a new link on no netdev',
          nl.ask(LINK_NEW, attr(DEV_NAME, 'x') + attr(IFINDEX, 1 << 30)),
          errno.ENODEV, 'no such network device')
    check('a new link on lo',
          nl.ask(LINK_NEW, attr(DEV_NAME, 'x') + attr(IFINDEX, 1)),
          errno.EINVAL, 'not an Ethernet device')
    check('a second link on a netdev',
          nl.ask(LINK_NEW, attr(DEV_NAME, 'x') + attr(IFINDEX, ifindex)),
          errno.EEXIST, 'already')
    check('XDP by a file that is no bpf_link',
          nl.ask(LINK_SET, name + attr(XDP_FD, null)), errno.EINVAL,
          'not a bpf_link')
    check('XDP by a closed file',
          nl.ask(LINK_SET, name + attr(XDP_FD, 1000)), errno.EBADF)
    check('XDP by a negative file',
          nl.ask(LINK_SET, name + attr(XDP_FD, 0xffffffff)), errno.ERANGE)
    check('XDP on and off at once',
          nl.ask(LINK_SET, name + attr(XDP_FD, null) + attr(XDP_DETACH, b'')),
          errno.EINVAL, 'exclude')
    for cpus in ('x', '0-', '99999', '-1', '3-1'):
        check(f'steering to "{cpus}"',
              nl.ask(LINK_SET, name + attr(STEER, cpus)), errno.EINVAL,
              "not a list of this machine's CPUs")
    check('steering to nowhere', nl.ask(LINK_SET, name + attr(STEER, '')), 0)
    was = nl.ask(LINK_GET, name)[2][0].get(STEER)
    check('steering, and a program that is none',
          nl.ask(LINK_SET, name + attr(STEER, '0') + attr(XDP_FD, null)),
          errno.EINVAL, 'not a bpf_link')
    now = nl.ask(LINK_GET, name)[2][0].get(STEER)
    check('which steers nothing', (0 if now == was else errno.EINVAL, f'{now}', []), 0)
    check('steering no QP', nl.ask(QP_SET, name + attr(QP_STEER_CPU, 0)),
          errno.EINVAL, 'needed')
    check('steering a QP that is not',
          nl.ask(QP_SET, name + attr(QP_QPN, 0xffffffff) +
                 attr(QP_STEER_CPU, 0)), errno.ENOENT, 'no such QP')
    check('steering a QP to no CPU',
          nl.ask(QP_SET, name + attr(QP_QPN, 2) +
                 attr(QP_STEER_CPU, 0x80000000)), errno.EINVAL, 'steer-cpu')
    check('an unknown command', nl.ask(77), errno.EOPNOTSUPP)


if __name__ == '__main__':
    main()
