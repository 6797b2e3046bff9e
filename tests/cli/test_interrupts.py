#!/usr/bin/env python3
"""Signals while uniq --state runs and saves, and standard descriptors that are closed."""
import fcntl
import gzip
import os
import signal
import subprocess
import termios
import time

from harness import NAY, lines, must, nay, read, run, start, test, write


def signal_until_it_ends(p, *signals):
    """The first one, then all of them without a pause: some arrive in every phase of the save."""
    n, end = 0, time.monotonic() + 300  # on a loaded machine the signals take the CPU from it
    while time.monotonic() < end:
        if p.poll() is not None:
            return
        p.send_signal(signals[n % len(signals)])
        n += 1
    raise AssertionError("it does not end")


def unread(pipe):
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), "little")


def new_lines(state, data):
    return int(must("uniq", "--state", state, "-c", stdin=data).stdout)


@test("signals without end while the state is saved: every line that was printed is in it, 20 times")
def _():
    for i in range(20):
        state = f"state-{i}"
        if i % 2 == 0:  # the first run makes it, or there is one already
            must("uniq", "-n", "4M", "-c", "--state", state, stdin="old\n")
        p = start("uniq", *([] if i % 2 == 0 else ["-n", "4M"]), "--state", state)
        p.stdin.write(lines(1, 1000).encode() + b"half a li")
        p.stdin.flush()
        printed = p.stdout.read1(1)  # it has begun to print
        signal_until_it_ends(p, *((signal.SIGTERM,), (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))[i // 10])
        printed += p.stdout.read()
        assert p.returncode in (-signal.SIGTERM, -signal.SIGINT), p.returncode
        assert printed == lines(1, 1000).encode(), printed[-20:]
        assert new_lines(state, printed) == 0
        assert new_lines(state, "half a li\n") == 1  # what was cut is no line
    assert not [name for name in os.listdir(".") if name.startswith(".")]


@test("the end of compressed input by a signal is no damage: the state is saved")
def _():
    packed = gzip.compress(lines(1, 50000).encode())
    p = start("uniq", "-n", "100k", "--state", "state")
    p.stdin.write(packed[:-1000])
    p.stdin.flush()
    printed = p.stdout.read1(1)
    p.send_signal(signal.SIGTERM)
    printed += p.stdout.read()
    said = p.stderr.read()
    assert p.wait() == -signal.SIGTERM, (p.returncode, said)
    assert printed.endswith(b"\n") and new_lines("state", printed) == 0


@test("output that nobody reads: a second signal ends it, the state stays, no line is lost")
def _():
    must("uniq", "-n", "1M", "-c", "--state", "state", stdin="old\n")
    before = read("state")
    write("in", lines(1, 200000))
    p = start("uniq", "--state", "state", "in")
    while unread(p.stdout) < fcntl.fcntl(p.stdout, 1032) - 4096:  # F_GETPIPE_SZ: until the pipe is full
        time.sleep(0.001)
    for _ in range(2000):
        if p.poll() is not None:
            break
        p.send_signal(signal.SIGTERM)
        time.sleep(0.005)
    assert p.returncode == -signal.SIGTERM, p.returncode
    assert b"the state is not saved" in p.stderr.read()
    assert read("state") == before


@test("a reader of the output that goes away: status 141, no lock file, the state stays")
def _():
    must("uniq", "-n", "1M", "-c", "--state", "state", stdin="old\n")
    before = read("state")
    write("in", lines(1, 200000))
    p = start("uniq", "--state", "state", "in")
    p.stdout.read1(1)
    p.stdout.close()
    assert p.wait() == 141, p.returncode
    assert read("state") == before and sorted(os.listdir(".")) == ["in", "state"]


# ---- closed descriptors ----


def closed(line, *descriptors):
    """Runs a line of the shell with these descriptors closed; what is left of the others."""
    ends = " ".join(f"{d}{'<' if d == 0 else '>'}&-" for d in descriptors)
    return subprocess.run(["sh", "-c", f"exec {NAY} {line} {ends}"], capture_output=True, input=b"1\n", timeout=30)


@test("closed standard input: an error that says so, for every command that reads it")
def _():
    must("build", "-q", "-n", 100, "-o", "f", stdin=lines(1, 10))
    before = read("f")
    for line in ("check f", "check -c f", "check - keys", "build -n 10 -o g", "build -n 10 -o g -", "add f", "info -",
                 "uniq", "uniq --state s", "diff /dev/null -", "sst build -o t", "map build -o t", "verify f --keys -",
                 "list build --universe /dev/null -o t"):
        done = closed(line, 0)
        assert done.returncode == 2, (line, done)
        assert b"cannot read standard input: it is closed\n" in done.stderr, (line, done.stderr)
        assert read("f") == before and sorted(os.listdir(".")) == ["f"], line


@test("closed standard output: an error if something was to be written, and else none")
def _():
    must("build", "-q", "-n", 100, "-o", "f", stdin=lines(1, 10))
    before = read("f")
    for line in ("check f", "info f", "uniq", "build -n 10", "help", "--version", "plan -n 10 --no-measure", "man"):
        done = closed(line, 1)
        assert done.returncode == 2, (line, done)
        assert b"cannot write" in done.stderr and b"standard output: it is closed\n" in done.stderr, (line, done)
    for line in ("check -q f", "build -n 10 -o g", "add f"):
        assert closed(line, 1).returncode == 0, line
    assert len(read("f")) == len(before)


@test("all closed: what is written is a whole file, with no message in it")
def _():
    write("keys", lines(1, 100))
    must("build", "-q", "-n", 100, "-o", "good", "keys")
    for descriptors in ((2,), (1, 2), (0, 1, 2), (0, 2), (0, 1)):
        done = closed("build -f -n 100 -o f keys", *descriptors)
        assert done.returncode == 0, (descriptors, done)
        assert read("f") == read("good"), descriptors
        done = closed("add f keys", *descriptors)
        assert done.returncode == 0 and len(read("f")) == len(read("good")), descriptors
        assert nay("verify", "f").returncode == 0
    assert closed("check f missing", 0, 1, 2).returncode == 2


run()
