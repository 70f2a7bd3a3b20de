#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Holds captures against counters, and captures against each other. Files are
JSON of `rdmatool decode` and `rdmatool stat`. Silent when all is right.

  compare.py whole CAPTURE                every frame is RoCEv2, every ICRC right
  compare.py counts CAPTURE BEFORE AFTER  as many as the device has counted
  compare.py wire SENT RECEIVED           what one has sent the other has received
  compare.py subset PART ALL KEY VALUE... those of ALL whose KEY has a VALUE
"""
import collections
import json
import sys

# Counted before a packet was for a QP of the device, instead of rcvd_pkts
BEFORE = ('options', 'short', 'opcode', 'tver', 'length', 'no_qp', 'device',
          'addr', 'transport', 'pkey', 'qkey', 'group')

wrong = []


def check(what, got, want):
    if got != want:
        wrong.append(f'{what}: {got}, not {want}')


def load(path):
    with open(path) as f:
        return json.load(f)


def about(frame):
    """QP and verdict, from the comment"""
    words = frame['comment'].replace(':', ' ').split()
    return int(words[1]), words[2]


def ident(frame):
    return tuple(frame.get(k) for k in ('transport', 'opcode', 'dqpn', 'psn',
                                        'len', 'icrc', 'msn', 'va'))


def whole(path):
    got = load(path)
    n, total = len(got['frames']), got['summary']
    if not n:
        wrong.append('nothing was captured')
    check('frames of RoCEv2', n, total['frames'])
    check('ICRCs that are right', total['icrc_ok'], n)
    for key in ('icrc_bad', 'icrc_unchecked', 'malformed', 'not_roce'):
        check(key, total[key], 0)


def counts(path, before, after):
    frames = load(path)['frames']
    old, new = load(before)[0], load(after)[0]

    def grown(key):
        return new.get(key, 0) - old.get(key, 0)

    out = collections.Counter(about(f)[1] for f in frames if f['dir'] == 'out')
    got = collections.Counter(about(f)[1] for f in frames if f['dir'] == 'in')
    if not frames:
        wrong.append('nothing was captured')
    check('sent', out['sent_pkts'], grown('sent_pkts'))
    check('lost on the way out', out['tx_dropped'], grown('tx_dropped'))
    check('bytes sent',
          sum(f['ip_len'] for f in frames if about(f)[1] == 'sent_pkts'),
          grown('sent_bytes'))
    names = {k for k in set(old) | set(new)
             if k.startswith(('drop_', 'xdp_drop_', 'rx_icrc_'))}
    names |= {'duplicate_request', 'out_of_sequence'}
    for name in sorted(names | set(got) - {'rcvd_pkts'}):
        check(name, got[name], grown(name))
    early = sum(grown('drop_' + n) for n in BEFORE)
    early += grown('rx_icrc_encapsulated')
    early += sum(n for k, n in got.items() if k.startswith('xdp_'))
    check('received', sum(got.values()), grown('rcvd_pkts') + early)


def wire(sent, received):
    a = collections.Counter(ident(f) for f in load(sent)['frames']
                            if f['dir'] == 'out')
    b = collections.Counter(ident(f) for f in load(received)['frames']
                            if f['dir'] == 'in')
    check('sent and not received', sorted((a - b).elements(), key=str)[:3], [])
    check('received and not sent', sorted((b - a).elements(), key=str)[:3], [])


def subset(part, every, key, *values):
    def value(frame):
        if key == 'qp':
            return {str(about(frame)[0]), str(int(frame['dqpn'], 16))}
        if key == 'verdict':
            return {about(frame)[1]}
        if key == 'peer':
            return {frame['src' if frame['dir'] == 'in' else 'dst']}
        return {str(frame[key])}

    frames = load(every)['frames']
    want = [f for f in frames if value(f) & set(values)]
    got = load(part)['frames']
    if not want or len(want) == len(frames):
        wrong.append(f'{len(want)} of {len(frames)} are wanted: no test')
    check('frames', collections.Counter(map(ident, got)),
          collections.Counter(map(ident, want)))


{'whole': whole, 'counts': counts, 'wire': wire,
 'subset': subset}[sys.argv[1]](*sys.argv[2:])
print('\n'.join(wrong))
sys.exit(bool(wrong))
