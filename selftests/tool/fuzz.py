#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Every attribute of every request to the xroce family, wrong in every way.

fuzz.py LINK IFINDEX - a TAP-like line for each attribute, as netlink.py. What is
refused must name the attribute by its offset, and nothing may have changed.
"""
import errno
import random
import struct
import sys

from netlink import (ACK, AH_GET, CNP_GAP, CWND_INIT, CWND_MAX, DEV_NAME, DUMP,
                     IFINDEX, LINK_GET, LINK_NEW, LINK_SET, MW_GET, QP_DEV,
                     QP_GET, QP_QPN, QP_SET, QP_STEER_CPU, QP_STEER_LINK, STEER,
                     XDP_DETACH, XDP_FD, Genl, attr)

HEAD = 20       # of the message, before its attributes
NESTED = 0x8000
REFUSED = (errno.EINVAL, errno.ERANGE)


def raw(size, kind, data=b''):
    """An attribute that says it is of that size"""
    return struct.pack('=HH', size, kind) + data


def u32(*out_of_range):
    """Payloads that a u32 must not have"""
    return [b'', b'\1', b'\1\0\0', b'\1\0\0\0\0', b'\1' + b'\0' * 7,
            b'\1' * 60000] + [struct.pack('=I', v) for v in out_of_range]


def string(limit):
    return [b'', b'a', b'a' * limit, b'a' * (limit + 1) + b'\0',
            b'a' * 60000 + b'\0']


FLAG = [b'\0', b'\1\0\0\0', b'a' * 60000]
BIG = 0xffffffff

LINK = [(DEV_NAME, string(63)), (IFINDEX, u32(0))]
REQUESTS = [
    ('link-new', LINK_NEW, ACK, LINK),
    ('link-get', LINK_GET, ACK, LINK),
    ('link-set', LINK_SET, ACK, LINK + [
        (XDP_FD, u32(1 << 31, BIG)), (XDP_DETACH, FLAG), (STEER, string(1023)),
        (CWND_INIT, u32(0, 3, 32768, BIG)), (CWND_MAX, u32(0, 3, 32768, BIG)),
        (CNP_GAP, u32(1000000001, BIG))]),
    ('qp-set', QP_SET, ACK, [
        (QP_DEV, string(63)), (QP_QPN, u32()), (QP_STEER_CPU, u32()),
        (QP_STEER_LINK, FLAG)]),
    ('qp-get', QP_GET, DUMP, [(QP_DEV, string(63))]),
    ('mw-get', MW_GET, DUMP, [(1, string(63))]),
    ('ah-get', AH_GET, DUMP, [(1, string(63))]),
]


def wrong_attributes(kind, payloads):
    for data in payloads:
        yield attr(kind, data)
        yield attr(kind | NESTED, data)
    # a nest, where there is none; sizes that lie
    yield attr(kind | NESTED, attr(1, b'abcd'))
    good = payloads[-1][:4].ljust(4, b'\0')
    yield raw(0, kind, good)
    yield raw(3, kind, good)
    yield raw(4096, kind, good)


def refused(nl, cmd, flags, before, bad):
    """What is wrong with how it was refused, or None"""
    err = nl.ask(cmd, before + bad, flags)[0]
    size = struct.unpack_from('=H', bad)[0]
    if err not in REFUSED:
        return f'{errno.errorcode.get(err, err)} for {bad[:12]!r}'
    # who cannot be told apart from the end of the message has no offset
    if 4 <= size <= len(bad) and nl.offset != HEAD + len(before):
        return f'offset {nl.offset} for {bad[:12]!r}, not {HEAD + len(before)}'
    return None


def main():
    link, ifindex = sys.argv[1], int(sys.argv[2])
    nl = Genl()
    name = attr(DEV_NAME, link)

    def state():
        return [nl.ask(LINK_GET, name)[2],
                sorted(map(str, nl.ask(QP_GET, attr(QP_DEV, link), DUMP)[2]))]

    was = state()
    for what, cmd, flags, table in REQUESTS:
        for kind, payloads in table:
            before = b'' if kind in (DEV_NAME, IFINDEX) and cmd <= LINK_SET \
                or kind == 1 else name
            why = None
            for bad in wrong_attributes(kind, payloads):
                why = why or refused(nl, cmd, flags, before, bad)
            print(f'not ok {what}: attribute {kind} # {why}' if why else
                  f'ok {what}: attribute {kind}')
        unknown = [k for k in (0, 99, 0x3fff) if not nl.ask(
            cmd, attr(k, 1) + name, flags)[0] in REFUSED]
        print(f'not ok {what}: unknown ones # {unknown}' if unknown else
              f'ok {what}: unknown ones')
    for cmd, body in ((LINK_NEW, name), (LINK_NEW, attr(IFINDEX, ifindex)),
                      (LINK_GET, b''), (LINK_SET, b''),
                      (QP_SET, name), (QP_SET, name + attr(QP_QPN, 2)),
                      (QP_SET, attr(QP_QPN, 2) + attr(QP_STEER_CPU, 0))):
        err = nl.ask(cmd, body)[0]
        print(f'{"ok" if err == errno.EINVAL else "not ok"} '
              f'command {cmd} with too little # {err}')

    # Anything at all, to those that only ask
    rnd = random.Random(4791)
    for _ in range(3000):
        cmd, flags = rnd.choice(((LINK_GET, ACK), (QP_GET, DUMP),
                                 (MW_GET, DUMP), (AH_GET, DUMP)))
        body = bytearray(name + attr(rnd.randrange(1, 20), rnd.randbytes(
            rnd.randrange(0, 40))))
        for _ in range(rnd.randrange(1, 6)):
            body[rnd.randrange(len(body))] = rnd.randrange(256)
        nl.ask(cmd, bytes(body), flags)
    print('ok 3000 requests of anything are answered')
    print('ok nothing has changed' if state() == was else
          f'not ok nothing has changed # {state()} {was}')


main()
