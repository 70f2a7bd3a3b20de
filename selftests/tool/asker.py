#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A dump of all MRs of a device that one user asks for, and root reads on.

asker.py DEVICE UID - prints of how many MRs it told, with the addresses of how many,
and of how many of those only after the first reply, which is made when asked.
"""
import os
import socket
import struct
import sys

NETLINK_RDMA, NLDEV = 20, 5
GET, RES_MR_GET = 1, 13
DEV_INDEX, DEV_NAME, RES_MR = 1, 2, 40
DUMP, NLMSG_ERROR, NLMSG_DONE = 0x301, 2, 3


def attrs(buf):
    while len(buf) >= 4:
        size, kind = struct.unpack_from('=HH', buf)
        yield kind & 0x3fff, buf[4:size]
        buf = buf[(size + 3) & ~3:]


def ask(s, cmd, body=b''):
    s.send(struct.pack('=IHHII', 16 + len(body), NLDEV << 10 | cmd, DUMP, 1, 0) + body)


def replies(s):
    """The messages of each datagram, until the dump ends"""
    while True:
        buf, out, done = s.recv(1 << 17), [], False
        while buf:
            size, kind = struct.unpack_from('=IH', buf)
            if kind == NLMSG_ERROR:
                sys.exit(f'error {struct.unpack_from("=i", buf, 16)[0]}')
            if kind == NLMSG_DONE:
                done = True
            else:
                out.append(buf[16:size])
            buf = buf[(size + 3) & ~3:]
        yield out
        if done:
            return


def rdma_socket():
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_RDMA)
    s.bind((0, 0))
    s.settimeout(20)
    return s


def device_index(name):
    s = rdma_socket()
    ask(s, GET)
    index = 0
    for messages in replies(s):
        for message in messages:
            got = dict(attrs(message))
            if got.get(DEV_NAME) == name.encode() + b'\0':
                index = struct.unpack('=I', got[DEV_INDEX])[0]
    return index


def main():
    index = device_index(sys.argv[1])
    os.seteuid(int(sys.argv[2]))
    s = rdma_socket()
    ask(s, RES_MR_GET, struct.pack('=HHI', 8, DEV_INDEX, index))
    os.seteuid(0)
    told = seen = late = 0
    for batch, messages in enumerate(replies(s)):
        for table in (v for m in messages for k, v in attrs(m) if k == RES_MR):
            for _, entry in attrs(table):
                told += 1
                if b'iova\0' in entry:
                    seen += 1
                    late += batch > 0
    print(told, seen, late)


main()
