#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""rdmatool decode, under ASan and UBSan: the captures in ../vectors as they are,
in every file format and link type, cut and damaged in every way.

DECODE_SEED (1) and DECODE_RUNS (200) are for the random damage.
"""
import glob
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOOL = os.path.join(HERE, '../../rdmatool')
INCLUDE = os.path.join(HERE, '../../include')
VECTORS = os.path.join(HERE, '../vectors')
PKGS = ['libnl-3.0', 'libnl-genl-3.0', 'libnl-route-3.0', 'zlib']

# file: frames, RoCE, requests, ACKs, READ responses, atomic responses
KNOWN = {
    'pingpong_rc': (31, 20, 10, 10, 0, 0),
    'pingpong_uc': (21, 10, 10, 0, 0, 0),
    'pingpong_ud': (21, 10, 10, 0, 0, 0),
    'rdma_send_bw': (50, 20, 15, 5, 0, 0),
    'rdma_write_bw': (60, 20, 15, 5, 0, 0),
    'rdma_read_bw': (60, 20, 5, 0, 15, 0),
    'rdma_atomic_bw': (48, 10, 5, 0, 0, 5),
    'rdma_cm': (96, 96, 59, 37, 0, 0),
    'rping': (65, 65, 35, 25, 5, 0),
}
COUNTED = ('frames', 'roce', 'requests', 'acks', 'read_responses',
           'atomic_responses')

tests = failed = 0


def result(name, why=''):
    global tests, failed
    tests += 1
    failed += bool(why)
    print(f'{"not " if why else ""}ok {tests} - {name}')
    if why:
        print('# ' + str(why).strip().replace('\n', '\n# '))


def build(tmp):
    def pkg(what):
        return subprocess.run(['pkg-config', what, *PKGS], text=True,
                              capture_output=True)
    if pkg('--exists').returncode:
        print(f'1..0 # SKIP needs the headers of {", ".join(PKGS)}')
        sys.exit(4)
    tool = os.path.join(tmp, 'rdmatool')
    subprocess.run([os.environ.get('CC', 'cc'), '-std=gnu11', '-g', '-O1',
                    '-fsanitize=address,undefined',
                    '-fno-sanitize-recover=all', '-D_GNU_SOURCE',
                    '-I' + INCLUDE, '-I' + INCLUDE + '/uapi', '-o', tool,
                    *glob.glob(TOOL + '/*.c'),
                    *pkg('--cflags').stdout.split(),
                    *pkg('--libs').stdout.split()], check=True)
    return tool


class Decoder:
    def __init__(self, tmp):
        self.tool = build(tmp)
        self.file = os.path.join(tmp, 'file')
        # What is open when a command fails ends with it.
        self.env = dict(os.environ, ASAN_OPTIONS='exitcode=99:detect_leaks=0',
                        UBSAN_OPTIONS='exitcode=99')

    def run(self, data, *options, stdin=False):
        with open(self.file, 'wb') as f:
            f.write(data)
        return subprocess.run(
            [self.tool, *options, 'decode', '-' if stdin else self.file],
            capture_output=True, env=self.env, timeout=60,
            input=data if stdin else None)

    def json(self, data, *options):
        """frames, summary, exit status, message"""
        got = self.run(data, '-j', *options)
        err = got.stderr.decode('utf-8', 'replace').strip()
        if got.returncode not in (0, 1):
            raise AssertionError(f'exit status {got.returncode}: {err}')
        if not got.stdout and got.returncode:
            return [], {}, got.returncode, err
        out = json.loads(got.stdout)
        return out['frames'], out['summary'], got.returncode, err


def read_pcap(data):
    """[(seconds, microseconds, length, bytes)]"""
    out, at = [], 24
    while at < len(data):
        sec, usec, cap, size = struct.unpack_from('<IIII', data, at)
        out.append((sec, usec, size, data[at + 16:at + 16 + cap]))
        at += 16 + cap
    return out


def pcap(frames, order='<', link=1, ns=False):
    out = struct.pack(order + 'IHHiIII', 0xa1b23c4d if ns else 0xa1b2c3d4,
                      2, 4, 0, 0, 262144, link)
    for sec, usec, size, data in frames:
        out += struct.pack(order + 'IIII', sec, usec * (1000 if ns else 1),
                           len(data), size) + data
    return out


def block(order, kind, body):
    body += b'\0' * (-len(body) % 4)
    size = struct.pack(order + 'I', 12 + len(body))
    return struct.pack(order + 'I', kind) + size + body + size


def section(order):
    return block(order, 0x0a0d0d0a,
                 struct.pack(order + 'IHHq', 0x1a2b3c4d, 1, 0, -1))


def iface(order, link=1, snap=0, options=b''):
    return block(order, 1, struct.pack(order + 'HHI', link, 0, snap) + options)


def pcapng(frames, order='<', link=1, tsresol=None, simple=False):
    options, ticks = b'', 1000000
    if tsresol is not None:
        options = struct.pack(order + 'HHB3xHH', 9, 1, tsresol, 0, 0)
        ticks = 1 << (tsresol & 127) if tsresol & 128 else 10 ** tsresol
    out = section(order) + iface(order, link, 0, options)
    out += block(order, 5, b'statistics that nobody reads')
    for sec, usec, size, data in frames:
        t = sec * ticks + usec * ticks // 1000000
        if simple:
            out += block(order, 3, struct.pack(order + 'I', size) + data)
        else:
            out += block(order, 6, struct.pack(order + 'IIIII', 0, t >> 32,
                                               t & 0xffffffff, len(data),
                                               size) + data)
    return out


def without_time(frames):
    return [{k: v for k, v in f.items() if k != 'time'} for f in frames]


def test_known(d, vectors):
    for name, want in KNOWN.items():
        _, summary, status, err = d.json(vectors[name])
        got = tuple(summary[k] for k in COUNTED)
        why = ''
        if status or err:
            why = f'status {status}: {err}'
        elif got != want:
            why = f'{got}, not {want}'
        elif (summary['icrc_ok'], summary['icrc_bad'], summary['malformed'],
              summary['not_roce']) != (want[1], 0, 0, want[0] - want[1]):
            why = summary
        result(name, why)


def test_fields(d, vectors):
    frames, *_ = d.json(vectors['rdma_read_bw'], '-d')
    req = [f for f in frames if f['opcode'] == 'READ_REQUEST'][0]
    last = [f for f in frames if f['opcode'] == 'READ_RESPONSE_LAST'][0]
    result('fields of a READ', ''
           if req['transport'] == 'RC' and req['dma_len'] > 2048
           and req['va'].startswith('0x') and req['ackreq'] is True
           and req['pkey'] == '0xffff' and last['len'] > 0
           and last['credits'] == 31 else f'{req}\n{last}')
    text = d.run(vectors['pingpong_rc'], stdin=True).stdout.decode()
    lines = text.splitlines()
    result('as text, from standard input', ''
           if len(lines) == 23 and ' opcode SEND_ONLY ' in lines[0]
           and lines[20].startswith('flow 0x') and ' gaps 0 ' in lines[21]
           and lines[-1].startswith('summary: frames 31 roce 20 requests 10 '
                                    'acks 10 ') else text)


def test_formats(d, vectors):
    data = vectors['rdma_write_bw']
    frames = read_pcap(data)
    want = d.json(data, '-d')[0]
    for name, other, time in (
            ('pcap, big endian', pcap(frames, '>'), True),
            ('pcap, nanoseconds', pcap(frames, ns=True), True),
            ('pcap, big endian, nanoseconds', pcap(frames, '>', ns=True), True),
            ('pcapng', pcapng(frames), True),
            ('pcapng, big endian', pcapng(frames, '>'), True),
            ('pcapng, nanoseconds', pcapng(frames, tsresol=9), True),
            ('pcapng, 2^-30 s', pcapng(frames, tsresol=0x80 | 30), False),
            ('pcapng, seconds', pcapng(frames, tsresol=0), False),
            ('pcapng, simple packets', pcapng(frames, simple=True), False),
            ('pcapng, two sections',
             pcapng(frames[:30]) + pcapng(frames[30:], '>'), True)):
        got, _, status, err = d.json(other, '-d')
        same = got == want if time else without_time(got) == without_time(want)
        result(name, '' if same and not status else f'{status} {err} {got[:2]}')


def test_links(d, vectors):
    frames = read_pcap(vectors['rping'])
    want = without_time(d.json(vectors['rping'], '-d')[0])
    cooked = b'\0\0\0\1\0\6' + b'\2' * 8

    def put(f, strip, head):
        return f[0], f[1], f[2] - strip + len(head), head + f[3][strip:]

    for name, link, make in (
            ('raw IP', 101, lambda f: put(f, 14, b'')),
            ('raw IPv4', 228, lambda f: put(f, 14, b'')),
            ('Linux cooked', 113, lambda f: put(f, 14, cooked + f[3][12:14])),
            ('Linux cooked 2', 276,
             lambda f: put(f, 14, f[3][12:14] + b'\0' * 18)),
            ('802.1Q', 1,
             lambda f: put(f, 12, f[3][:12] + b'\x81\0\0\x05')),
            ('QinQ', 1, lambda f: put(f, 12, f[3][:12] + b'\x88\xa8\0\x05'
                                             b'\x81\0\0\x06'))):
        got, _, status, err = d.json(pcap([make(f) for f in frames], link=link),
                                     '-d')
        result(name, '' if without_time(got) == want and not status
               else f'{status} {err} {got[:2]}')
    got = d.json(pcap(frames, link=9))
    result('a link type that is not known', '' if got[2] == 0 and
           'link type 9 are not understood' in got[3] else got[2:])


def roce(vectors):
    """A SEND_ONLY, as the only frame of a file"""
    for f in read_pcap(vectors['rping']):
        if f[3][42] == 4:
            return f
    raise AssertionError('no SEND_ONLY in rping')


def test_wrong_frames(d, vectors):
    sec, usec, size, data = roce(vectors)

    def change(at, *new):
        return (sec, usec, size, data[:at] + bytes(new) + data[at + len(new):])

    def one(name, frame, key, want, summary):
        frames, total, status, err = d.json(pcap([frame]))
        got = frames[0].get(key) if frames else None
        result(name, '' if got == want and total[summary] == 1 and not status
               else f'{status} {err} {frames} {total}')

    udp = 34
    one('a payload byte changed', change(60, data[60] ^ 1), 'icrc', 'bad',
        'icrc_bad')
    one('the ICRC changed', change(size - 1, data[-1] ^ 1), 'icrc', 'bad',
        'icrc_bad')
    one('an ECN bit changed', change(15, data[15] | 3), 'icrc', 'ok', 'icrc_ok')
    one('an undefined opcode', change(42, 0x1f), 'malformed', 'no such opcode',
        'malformed')
    one('transport version 1', change(43, data[43] | 1), 'malformed',
        'transport version not 0', 'malformed')
    one('an IP packet longer than the frame', change(16, 0xff), 'malformed',
        'IP packet longer than the frame', 'malformed')
    one('UDP longer than IP', change(udp + 4, 0xff), 'malformed', 'UDP length',
        'malformed')
    one('UDP shorter than itself', change(udp + 4, 0, 7), 'malformed',
        'UDP length', 'malformed')
    one('UDP shorter than BTH and ICRC', change(udp + 4, 0, 8 + 15),
        'malformed', 'shorter than headers, pad and ICRC', 'malformed')
    one('cut in the headers', (sec, usec, size, data[:50]), 'cut',
        'headers not captured', 'icrc_unchecked')
    # Beyond the most that headers can take
    long = [f for f in read_pcap(vectors['rdma_send_bw'])
            if f[2] > 500 and f[3][23] == 17 and f[3][36:38] == b'\x12\xb7'][0]
    one('cut in the payload', (*long[:3], long[3][:200]), 'icrc',
        'unchecked:cut', 'icrc_unchecked')
    fragment = change(20, 0x20, 0)
    frames, total, *_ = d.json(pcap([fragment, change(udp + 2, 0)]))
    result('a fragment and another UDP port', ''
           if not frames and total['not_roce'] == 2 else total)


def flows(d, frames, make=pcap):
    """Of each: packets, gaps, missing, again, naks, rnr_naks"""
    out = json.loads(d.run(make(frames), '-j').stdout)
    return [tuple(f[k] for k in ('packets', 'gaps', 'missing', 'again', 'naks',
                                 'rnr_naks')) for f in out['flows']]


def nak(frame, syndrome):
    """An ACK of another kind"""
    return (*frame[:3], frame[3][:54] + bytes([syndrome]) + frame[3][55:])


def test_flows(d, vectors):
    def is_op(frame, opcode):
        return (frame[3][12:14] == b'\x08\0' and frame[3][23] == 17
                and frame[3][36:38] == b'\x12\xb7' and frame[3][42] == opcode)

    def at(frames, opcode, nth=0):
        return [i for i, f in enumerate(frames) if is_op(f, opcode)][nth]

    def one(name, got, want):
        result('PSNs: ' + name, '' if got == want else f'{got}, not {want}')

    for name in vectors:
        got = flows(d, read_pcap(vectors[name]))
        result(f'PSNs: {name} is without a gap', ''
               if not any(any(f[1:]) for f in got) and
               (got or name == 'pingpong_ud') else got)
    write = read_pcap(vectors['rdma_write_bw'])
    i = at(write, 7)            # WRITE_MIDDLE
    clean = flows(d, write)
    one('both flows', clean, [(15, 0, 0, 0, 0, 0), (5, 0, 0, 0, 0, 0)])
    one('one lost', flows(d, write[:i] + write[i + 1:]),
        [(14, 1, 1, 0, 0, 0), clean[1]])
    one('one twice', flows(d, write[:i] + write[i:i + 1] + write[i:]),
        [(16, 0, 0, 1, 0, 0), clean[1]])
    one('one late', flows(d, write[:i] + [write[i + 1], write[i]]
                          + write[i + 2:]),
        [(15, 1, 1, 1, 0, 0), clean[1]])
    i = at(write, 0x11)
    one('NAK and RNR NAK', flows(
        d, write[:i] + [nak(write[i], 0x60), nak(write[i], 0x2e)]
        + write[i + 1:]), [clean[0], (6, 0, 0, 0, 1, 1)])
    read = read_pcap(vectors['rdma_read_bw'])
    i = at(read, 0xe)           # READ_RESPONSE_MIDDLE
    clean = flows(d, read)
    got = flows(d, read[:i] + read[i + 1:])
    one('a READ response lost', [got[0], got[1][1:]],
        [clean[0], (1, 1, 0, 0, 0)])
    i = at(read, 0xc, 1)        # the second READ_REQUEST
    got = flows(d, read[:i + 1] + read[i:])
    one('a READ asked for again', got[0], (6, 0, 0, 1, 0, 0))
    # Each twice, once in each direction, is no duplicate
    one('directions are kept apart', flows(d, write, both_ways),
        [(15, 0, 0, 0, 0, 0)] * 2 + [(5, 0, 0, 0, 0, 0)] * 2)


def about(order, flags, comment):
    out = struct.pack(order + 'HHI', 2, 4, flags)
    text = comment + b'\0' * (-len(comment) % 4)
    return out + struct.pack(order + 'HH', 1, len(comment)) + text


def packets(frames, order, options):
    """The same as pcapng, each with these options behind it"""
    out = section(order) + iface(order)
    for sec, usec, size, data in frames:
        t = sec * 1000000 + usec
        for option in options:
            body = struct.pack(order + 'IIIII', 0, t >> 32, t & 0xffffffff,
                               len(data), size)
            out += block(order, 6, body + data + b'\0' * (-len(data) % 4)
                         + option)
    return out


def both_ways(frames):
    return packets(frames, '<', (about('<', 2, b''), about('<', 1, b'')))


def test_about(d, vectors):
    f = roce(vectors)

    def one(name, order, option, want):
        frames, *_, status, err = d.json(packets([f], order, [option]))
        got = [(x.get('dir'), x.get('comment')) for x in frames]
        result('pcapng: ' + name, '' if got == [want] and not status
               else f'{got} {err}')

    for order, which in (('<', 'little'), ('>', 'big')):
        one(f'direction and comment, {which} endian', order,
            about(order, 1, b'qp 5 rcvd_pkts'), ('in', 'qp 5 rcvd_pkts'))
    one('outbound', '<', about('<', 2, b'x'), ('out', 'x'))
    one('a direction that is none', '<', about('<', 3, b''), (None, None))
    one('a comment that is long', '<', about('<', 0, b'y' * 5000),
        (None, 'y' * 255))
    one('a comment for a terminal', '<', about('<', 0, b'\x1b[31m"\n'),
        (None, '\\x1b[31m"\\x0a'))
    one('an option longer than its block', '<',
        struct.pack('<HH', 1, 500) + b'abcd', (None, None))
    one('a cut option', '<', struct.pack('<HH', 2, 4), (None, None))
    one('flags of two bytes', '<', struct.pack('<HHH2x', 2, 2, 1), (None, None))


def test_cut(d, vectors):
    """A file that ends anywhere"""
    whole = vectors['pingpong_rc']
    frames = read_pcap(whole)
    for name, data, ends in (
            ('pcap', pcap(frames[:3]),
             [len(pcap(frames[:n])) for n in range(4)]),
            ('pcapng', pcapng(frames[:2]), None)):
        why = ''
        for n in range(len(data)):
            _, summary, status, err = d.json(data[:n])
            if n and f'ends at byte {n}, inside' not in err and status:
                why = f'{n} bytes: {status}: {err}'
            if ends and (status == 0) != (n in ends):
                why = f'{n} bytes: {status}: {err}'
            if ends and n in ends and summary['frames'] != ends.index(n):
                why = f'{n} bytes: {summary}'
            if why:
                break
        result(f'a {name} file that ends anywhere', why)


def test_damaged(d, vectors):
    f = roce(vectors)
    good = pcap([f])
    ng = section('<') + iface('<')

    def says(name, data, words):
        got = d.run(data)
        err = got.stderr.decode()
        result(name, '' if got.returncode == 1 and words in err
               and err.count('\n') == 1 else f'{got.returncode}: {err}')

    def record(cap, size):
        return good[:24] + struct.pack('<IIII', 0, 0, cap, size) + f[3]

    says('an empty file', b'', 'empty')
    says('three bytes', b'\xd4\xc3\xb2', 'ends at byte 3')
    says('text', b'#!/bin/sh\n', 'neither pcap nor pcapng (begins with 23 21')
    says('gzip', b'\x1f\x8b\x08\0', 'pipe it through gunzip')
    says('version 3', good[:4] + b'\3\0\0\0' + good[8:], 'pcap version 3.0')
    says('a packet of 4 GB', record(0xffffffff, 0xffffffff),
         'packet 1 says 4294967295 bytes')
    says('more captured than there was', record(100, 50),
         'packet 1 says 100 bytes of 50')
    says('a block of 13 bytes', ng + struct.pack('<II', 5, 13),
         'block 3 says it has 13 bytes')
    says('a block of 8 bytes', ng + struct.pack('<II', 5, 8),
         'block 3 says it has 8 bytes')
    says('a block of 2 GB', ng + struct.pack('<II', 5, 1 << 31),
         'block 3 says it has 2147483648 bytes')
    says('a block of two lengths',
         ng + struct.pack('<III', 5, 12, 16), '12 bytes at its head, 16')
    says('a section without byte order',
         struct.pack('<III', 0x0a0d0d0a, 28, 1) + b'\0' * 16, 'no byte order')
    says('a packet before its interface', section('<') + block(
        '<', 6, struct.pack('<IIIII', 0, 0, 0, 0, 0)), 'interface 0 of 0')
    says('a packet longer than its block', ng + block(
        '<', 6, struct.pack('<IIIII', 0, 0, 0, 500, 500)),
         'block 3 says 500 bytes of 500, in 0')
    says('a packet without its head', ng + block('<', 6, b'\0' * 16),
         'packet of 16 bytes')
    says('an interface without its head', section('<') + block('<', 1, b''),
         'interface of 0 bytes')
    says('a clock of 10^-20 s', section('<') + iface(
        '<', 1, 0, struct.pack('<HHB3x', 9, 1, 20)), 'clock resolution 0x14')


def test_random(d, vectors):
    seed = int(os.environ.get('DECODE_SEED', '1'))
    runs = int(os.environ.get('DECODE_RUNS', '200'))
    rnd = random.Random(seed)
    seeds = list(vectors.values())
    seeds += [pcapng(read_pcap(v)[:20], o) for v in seeds for o in '<>']
    why = ''
    for n in range(runs):
        data = bytearray(rnd.choice(seeds))
        for _ in range(rnd.choice((1, 2, 10, 100))):
            at = rnd.randrange(len(data))
            data[at] = rnd.choice((0, 0xff, data[at] ^ 1 << rnd.randrange(8),
                                   rnd.randrange(256)))
        if rnd.random() < .2:
            del data[rnd.randrange(len(data)):]
        try:
            d.json(bytes(data), *rnd.choice(((), ('-d',), ('-p',))))
        except (AssertionError, ValueError, subprocess.TimeoutExpired) as e:
            why = f'run {n} of DECODE_SEED={seed}: {e}'
            break
    result(f'{runs} files with random damage, seed {seed}', why)


def main():
    print('TAP version 13')
    vectors = {}
    for name in KNOWN:
        with open(f'{VECTORS}/{name}.pcap', 'rb') as f:
            vectors[name] = f.read()
    with tempfile.TemporaryDirectory() as tmp:
        d = Decoder(tmp)
        for test in (test_known, test_fields, test_formats, test_links,
                     test_flows, test_about, test_wrong_frames, test_cut, test_damaged, test_random):
            test(d, vectors)
    print(f'1..{tests}')
    return bool(failed)


sys.exit(main())
