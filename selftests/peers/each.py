#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""rdma-core's own tests, each in a process of its own and with a time-out.

Prints TAP: ok, ok with "# SKIP why", or not ok and what it said. Those of other
vendors' devices (mlx5, efa, cuda) are left out.

    each.py DEVICE [PATTERN...]
"""
import fnmatch
import io
import os
import signal
import sys
import unittest

TESTS = os.environ.get("PYVERBS_TESTS", "/usr/share/doc/rdma-core/tests")
TIMEOUT = int(os.environ.get("PYVERBS_TIMEOUT", "90"))
FOREIGN = ("mlx5", "efa", "cuda")


def load(device):
    """All test cases by name; their modules are imported here, and only once."""
    sys.path.insert(0, os.path.dirname(TESTS))
    sys.path.insert(0, TESTS)
    sys.argv[1:] = ["--dev", device]
    from args_parser import parser
    parser.parse_args()
    cases = {}
    for name in sorted(os.listdir(TESTS)):
        if not (name.startswith("test_") and name.endswith(".py")):
            continue
        if any(f in name for f in FOREIGN):
            continue
        suite = unittest.defaultTestLoader.loadTestsFromName(
            "tests." + name[:-3])
        for case in flat(suite):
            cases[case.id().removeprefix("tests.")] = case
    return cases


def flat(tests):
    """Its test cases; a module that cannot be imported is one that fails."""
    if not isinstance(tests, unittest.TestSuite):
        return [tests]
    return [case for part in tests for case in flat(part)]


def run_here(case, out):
    """In the child: one test; what came of it goes to OUT as 'WORD WHY'."""
    signal.alarm(TIMEOUT)
    said = io.StringIO()
    result = unittest.TextTestRunner(stream=said, verbosity=0).run(case)
    if result.skipped:
        verdict = "SKIP " + result.skipped[0][1]
    elif result.wasSuccessful() and result.testsRun == 1:
        verdict = "ok"
    else:
        verdict = "FAIL " + said.getvalue()
    os.write(out, verdict.encode())
    # what Python would do at its end is not what is tested
    os._exit(0)


def run(case):
    """A verdict: ok, SKIP why or FAIL why."""
    here, there = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        os.close(here)
        os.setpgid(0, 0)
        try:
            run_here(case, there)
        finally:
            os._exit(1)
    os.close(there)
    said = b""
    while chunk := os.read(here, 65536):
        said += chunk
    os.close(here)
    _, status = os.waitpid(pid, 0)
    try:
        os.killpg(pid, signal.SIGKILL)      # its own children, if any are left
    except ProcessLookupError:
        pass
    if os.WIFSIGNALED(status):
        sig = os.WTERMSIG(status)
        if sig == signal.SIGALRM:
            return f"FAIL not done after {TIMEOUT} s"
        return "FAIL died of " + signal.strsignal(sig)
    return said.decode(errors="replace") or "FAIL without a word"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    device, patterns = sys.argv[1], sys.argv[2:] or ["*"]
    failed = count = 0
    for name, case in load(device).items():
        if not any(fnmatch.fnmatch(name, p) for p in patterns):
            continue
        verdict = run(case)
        count += 1
        word, _, why = verdict.partition(" ")
        if word == "ok":
            print(f"ok {count} - {name}")
        elif word == "SKIP":
            print(f"ok {count} - {name} # SKIP {why.splitlines()[0]}")
        else:
            failed += 1
            print(f"not ok {count} - {name}")
            for line in why.splitlines():
                print("# " + line)
        sys.stdout.flush()
    print(f"1..{count}")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
