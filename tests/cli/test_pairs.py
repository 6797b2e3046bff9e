#!/usr/bin/env python3
"""Two commands at once on one file: all pairs, and what comes out is what one after the other gives.

The first command is held in its middle by a FIFO that it reads (its keys, a filter, the secret key) after
it has read the file, or before it replaces it. Then the second one runs, until it ends or says that it
waits. Then the first goes on. Nothing here depends on time.

Bytes of the file, outputs and exit statuses must be those of "first; second" or of "second; first": so no
key that a command acknowledged is lost, a reader sees the old file or the new one, no line is printed twice.
"""
import errno
import os
import re
import select
import shutil
import subprocess
import time

from harness import NAY, lines, must, read, run, start, test, write

KEYS, MORE, GONE = lines(1, 100), lines(90, 150), lines(1, 20)


PATIENCE = 30  # seconds; only what is broken takes so long


class Command:
    """held: the file of the line that is a FIFO when this is the first command; it is opened once."""

    def __init__(self, *words, held=None):
        self.words, self.held = words, held

    def line(self, here, fifo=None):
        return [f"{here}/{'fifo' if word == fifo else word}" if word in FILES else word for word in self.words]


# the small files of a directory; `file` is the one that both commands use
FILES = {"file", "secret", "more", "gone", "other", "twin", "table", "rows", "out"}
SECRET = ("--secret", "secret")

FILTER = [  # commands that touch a filter's file
    Command("add", "file", "more", *SECRET, held="more"),
    Command("add", "file", "more", *SECRET, held="secret"),
    Command("add", "other", "more", *SECRET, "-f", "-o", "file", held="more"),
    Command("remove", "file", "gone", *SECRET, held="gone"),
    Command("build", "-n", "1000", "-t", "counting", *SECRET, "-f", "-o", "file", "more", held="more"),
    Command("merge", "file", "other", *SECRET, "-f", "-o", "file", held="other"),
    Command("merge", "other", "file", *SECRET, "-f", "-o", "file", held="other"),
    Command("fold", "file", "--factor", "2", *SECRET, held="secret"),
    Command("convert", "--to", "nay", "file", *SECRET, "-f", "-o", "file", held="secret"),
    Command("convert", "--to", "leveldb", "--keys", "more", "file", *SECRET, "-f", "-o", "file", held="more"),
    Command("uniq", "--state", "file", "more", held="more"),
    Command("extract", "table", "-f", "-o", "file"),
    Command("puffin", "other", *SECRET, "-f", "-o", "file", held="secret"),
    Command("check", "file", "more", *SECRET, held="more"),
    Command("check", "-v", "file", "more", *SECRET, held="secret"),
    Command("info", "--json", "file"),
    Command("explain", "--json", "file", "95", *SECRET, held="secret"),
    Command("verify", "file", *SECRET, "--keys", "more", held="more"),
    Command("plot", "size", "--svg", "-f", "-o", "file"),
]
FRESH = [  # commands that make a file that is not there yet
    Command("uniq", "-n", "1000", "--state", "file", "more", held="more"),
    Command("uniq", "-n", "1000", "--state", "file", "gone", held="gone"),
    Command("build", "-n", "1000", "-o", "file", "more", held="more"),
    Command("build", "-n", "1000", "-o", "file", "gone", held="gone"),
    Command("merge", "other", "twin", *SECRET, "-o", "file", held="twin"),
    Command("add", "other", "more", *SECRET, "-o", "file", held="more"),
    Command("fold", "other", "--factor", "2", *SECRET, "-o", "file", held="secret"),
    Command("convert", "--to", "nay", "other", *SECRET, "-o", "file", held="secret"),
    Command("add", "file", "more", held="more"),
    Command("add", "--create", "-n", "1000", "file", "more", held="more"),
    Command("add", "--create", "-n", "1000", "file", "gone", held="gone"),
    Command("extract", "table", "-o", "file"),
    Command("plot", "size", "--svg", "-o", "file"),
    Command("sst", "build", "-o", "file", "rows", held="rows"),
    Command("map", "build", "-o", "file", "numbers", held="numbers"),
    Command("list", "build", "--outside=join", "--universe", "numbers", "-o", "file", "more", held="more"),
]
TABLE = [  # commands that touch a table's file
    Command("sst", "build", "--filter", "full", "-f", "-o", "file", "rows", held="rows"),
    Command("sst", "compact", "table", "file", "-f", "-o", "file"),
    Command("sst", "get", "file", "--keys", "more", held="more"),
    Command("sst", "scan", "file"),
    Command("sst", "info", "--verify", "file"),
    Command("check", "file", "more", held="more"),
    Command("info", "file"),
    Command("extract", "file", "-f", "-o", "out"),
]
NO_FILTER = "plan diff common bench complete man version help prune".split()  # read keys only, or nothing


def fixture(group):
    """The directory that every run of this group starts from."""
    os.mkdir("start")
    write("start/secret", "0123456789abcdef")
    write("start/more", MORE)
    write("start/gone", GONE)
    write("start/rows", "".join(f"{i}\tnew\n" for i in range(100, 200)))
    write("start/numbers", "".join(f"{i}\t{i}\n" for i in range(100, 200)))
    write("keys", KEYS)
    write("others", lines(140, 160))
    secret = ["--secret", "start/secret"]
    shape = ["build", "-q", "-n", 1000, "-p", "1e-6", "-t", "counting", "--fold", 4, *secret, "--store-key"]
    must(*shape, "-o", "start/other", "others")
    shutil.copy("start/other", "start/twin")
    must("sst", "build", "-q", "--filter", "full", "-o", "start/table", stdin="a\t1\nb\t2\n")
    if group is FILTER:
        must(*shape, "-o", "start/file", "keys")
    if group is TABLE:
        must("sst", "build", "-q", "--filter", "full", "-o", "start/file",
             stdin="".join(f"{i}\told\n" for i in range(100, 180)))


def outcome(here, first, second):
    """What is left: the file, and what each command printed and returned."""
    names = sorted(set(os.listdir(here)) - {"fifo", "out"})
    return [read(f"{here}/file") if os.path.exists(f"{here}/file") else None, names, first, second]


def plain(data, here):
    return data.replace(here.encode(), b"")


def alone(command, here):
    done = subprocess.run([NAY, *command.line(here)], stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    return done.returncode, plain(done.stdout, here)


def serial(first, second, here):
    shutil.copytree("start", here)
    one = alone(first, here)
    two = alone(second, here)
    result = outcome(here, one, two)
    shutil.rmtree(here)
    return result


def opened(path, process):
    """The FIFO, once the process has opened it: then it has come so far. None when it ends before."""
    while process.poll() is None:
        try:
            return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            assert error.errno == errno.ENXIO
            time.sleep(0.001)
    return None


def says_it_waits(process):
    """Reads its messages until it says that it waits, or ends."""
    said = b""
    while b"waiting for another nay" not in said:
        assert select.select([process.stderr], [], [], PATIENCE)[0], "it neither ends nor says that it waits"
        more = os.read(process.stderr.fileno(), 4096)
        if not more:
            return False
        said += more
    return True


def both(first, second, here):
    """The first is held, the second runs until it ends or waits, the first goes on."""
    shutil.copytree("start", here)
    os.mkfifo(f"{here}/fifo")
    one = start(*first.line(here, first.held))
    fifo = opened(f"{here}/fifo", one)
    two = start(*second.line(here))
    two.stdin.close()
    waits = says_it_waits(two)
    if fifo is not None:
        os.write(fifo, read(f"{here}/{first.held}"))
        os.close(fifo)
    one_out, one_said = one.communicate(timeout=30)
    two.stdin = None
    two_out, _ = two.communicate(timeout=30)
    result = outcome(here, (one.returncode, plain(one_out, here)), (two.returncode, plain(two_out, here)))
    shutil.rmtree(here)
    return result, waits


def pairs(group):
    fixture(group)
    orders = {}
    for i, first in enumerate(group):
        for j, second in enumerate(group):
            orders[i, j] = serial(first, second, f"serial-{i}-{j}")
    faults, waited, runs = [], 0, 0
    for (i, j), in_order in orders.items():
        first, second = group[i], group[j]
        if first.held is None:
            continue
        got, waits = both(first, second, f"both-{i}-{j}")
        other = orders[j, i]
        reverse = other[:2] + [other[3], other[2]]
        if got not in (in_order, reverse):
            faults.append((first.words, second.words, [got[1:], in_order[1:], reverse[1:]]))
        waited += waits
        runs += 1
    print(f"# {runs} pairs, {waited} of them waited")
    assert not faults, f"{len(faults)} pairs: " + "\n".join(map(repr, faults[:10]))
    return waited


@test("every command is in a table")
def _():
    listed = re.findall(r"^  ([a-z]+)  +[a-z]", must("help").stdout.decode(), re.M)
    known = {c.words[0] for c in FILTER + FRESH + TABLE} | set(NO_FILTER)
    assert set(listed) - {"nay"} == known, sorted((set(listed) - {"nay"}) ^ known)


@test("commands that use one filter")
def _():
    assert pairs(FILTER) > 50


@test("commands that make the same file")
def _():
    assert pairs(FRESH) > 20


@test("commands that use one table")
def _():
    pairs(TABLE)


@test("a reader never waits, whoever holds the lock")
def _():
    fixture(FILTER)
    os.mkfifo("start/fifo")
    one = start(*FILTER[0].line("start", "more"))
    with open("start/fifo", "wb") as fifo:
        for command in FILTER:
            if command.words[0] in ("check", "explain", "info", "verify"):
                assert alone(command, "start")[0] in (0, 1)
        fifo.write(b"x\n")
    one.communicate()
    assert one.returncode == 0


@test("many at once: ten adds, ten uniq --state on a state that is not there: nothing lost, nothing twice")
def _():
    fixture(FILTER)
    adds = [start("add", "start/file", "--secret", "start/secret") for _ in range(10)]
    uniqs = [start("uniq", "-n", 5000, "--state", "state") for _ in range(10)]
    for i, p in enumerate(adds):  # all are there, some wait for the lock
        p.stdin.write(lines(1000 * i, 1000 * i + 50).encode())
        p.stdin.close()
    for p in uniqs:
        p.stdin.write(lines(1, 300).encode())
        p.stdin.close()
    printed = []
    for p in uniqs:
        printed += p.stdout.read().split()
        assert p.wait() == 0
    for p in adds:
        assert p.wait() == 0
    assert sorted(map(int, printed)) == list(range(1, 301))
    wanted = KEYS + "".join(lines(1000 * i, 1000 * i + 50) for i in range(10))
    done = subprocess.run([NAY, "check", "-v", "-c", "start/file", "--secret", "start/secret"], input=wanted.encode(),
                          capture_output=True)
    assert done.stdout == b"0\n", done


run()
