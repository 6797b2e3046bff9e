#!/usr/bin/env python3
"""How the cost of a command grows with its input: nothing may cost more than n log n.

    test_growth.py [long]

Counted, not timed, so a busy machine changes nothing: instructions (callgrind), bytes of memory that were allocated
(memcheck), bytes of the file that was written. A command runs at n and 8n keys, with `long` also at 2n and 4n; what it
costs with one key is subtracted, except from the size of files. The bound is that of n log n, and half as much again for what comes in steps: levels
of filters, pages, doublings of memory.
"""
import math
import os
import re
import shutil
import subprocess
import sys

from harness import NAY, Skip, must, run, test, write

LONG = "long" in sys.argv[1:]
N = 1500
SIZES = [N, 2 * N, 4 * N, 8 * N] if LONG else [N, 8 * N]
SLACK = 1.5
INSTRUCTIONS = re.compile(rb"Collected : (\d+)")
ALLOCATED = re.compile(rb"total heap usage: [\d,]+ allocs, [\d,]+ frees, ([\d,]+) bytes")


def files(n):
    """Inputs of n keys."""
    keys = [f"key {i * 2654435761 % (1 << 32):08x}" for i in range(n)]
    write("keys", "".join(k + "\n" for k in keys))
    write("other", "".join(k + "x\n" for k in keys))
    write("sorted", "".join(f"{k}\tvalue {k}\n" for k in sorted(keys)))
    write("later", "".join(f"{k}x\tvalue {k}\n" for k in sorted(keys)))
    write("numbers", "".join(f"{k}\t{i}\n" for i, k in enumerate(keys)))
    write("rows.csv", "id,key\n" + "".join(f'{i},"{k}"\n' for i, k in enumerate(keys)))
    write("long", "x" * (64 * n) + "\n")  # one key
    write("long.csv", "id,key\n1," + "x" * (64 * n) + "\n")
    write("ints", "".join(f"{i}\n" for i in range(n)))


def made(n):
    must("build", "-q", "-f", "-n", n, "-o", "f.nay", "keys")
    must("build", "-q", "-f", "-n", n, "-o", "g.nay", "other")
    must("build", "-q", "-f", "-t", "counting", "-n", n, "-o", "counting.nay", "keys")
    must("sst", "build", "-q", "-f", "-o", "t.ldb", "sorted")
    must("sst", "build", "-q", "-f", "-o", "u.ldb", "later")
    must("map", "build", "-q", "-f", "-o", "m.map", "numbers")
    must("list", "build", "-q", "-f", "--outside=join", "--universe", "keys", "-o", "l.list", "other")


# Command lines, -T 1: all work is in one thread. "< FILE" is a pipe from FILE; "-o out" is removed before each run.
LINES = [
    "build -q -o out keys", "build -q -o out < keys", "build -q -t scalable -n 10 -o out < keys",
    "build -q -t cuckoo -n 1000 --max-keys 20k -o out < keys", "build -q -t cuckoo -o out keys",
    "build -q -t fuse -o out keys", "build -q -t ribbon -o out keys", "build -q -t window -o out keys",
    "build -q -t counting -o out keys", "build -q --csv -k key -o out rows.csv", "build -q --key=int -o out ints",
    "build -q -o out long", "build -q -o out < long", "build -q --csv -k key -o out < long.csv",
    "add -q --create -n 10 out keys", "add -q --create -n 10 -t scalable out keys",
    "remove -q -f -o out counting.nay keys", "merge -q -f -o out f.nay g.nay",
    "convert -q --to leveldb --keys keys -o out f.nay",
    "check f.nay keys", "check -a f.nay other", "check --line-number --csv -k key f.nay rows.csv", "check f.nay < keys",
    "check --json f.nay keys", "explain -q f.nay < keys", "verify --keys keys --absent other f.nay", "info f.nay",
    "uniq keys", "uniq < keys", "uniq --exact keys", "uniq --state out < keys", "uniq --state out keys",
    "uniq --window 1000 < keys", "diff keys other", "common keys other",
    "sst build -q -o out sorted", "sst get -q --keys keys t.ldb", "sst scan t.ldb", "sst compact -q -o out t.ldb u.ldb",
    "map build -q -o out numbers", "map get --keys keys m.map",
    "list build -q --outside=join --universe keys -o out other", "list check -q --keys keys l.list",
    "list delta -q --outside=drop --universe keys -o out l.list other",
    "list verify -q --universe keys --universe other --keys other l.list",
]
SHORT = ["build -q -o out < keys", "build -q -t cuckoo -n 1000 --max-keys 20k -o out < keys", "build -q -o out < long",
         "build -q --csv -k key -o out < long.csv", "check --line-number --csv -k key f.nay rows.csv", "uniq < keys",
         "uniq --state out < keys", "uniq --exact keys", "diff keys other", "sst compact -q -o out t.ldb u.ldb"]


def valgrind(line, *options):
    words, _, source = line.partition(" < ")
    words = words.split()
    if words[0] not in ("merge", "convert", "info"):
        words.append("-T1")
    if words[0] == "sst" and words[1] == "scan":
        words.remove("-T1")
    if os.path.exists("out"):
        os.remove("out")
    command = ["valgrind", *options, NAY, *words]
    if source:  # through a pipe: the size is not known
        feed = subprocess.Popen(["cat", source], stdout=subprocess.PIPE)
        done = subprocess.run(command, stdin=feed.stdout, capture_output=True, timeout=600, check=False)
        feed.stdout.close()
        feed.wait()
    else:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=600, check=False)
    assert done.returncode in (0, 1, 4), (line, done.stderr[-2000:])
    return done.stderr


def instructions(line):
    said = valgrind(line, "--tool=callgrind", "--callgrind-out-file=/dev/null")
    return int(INSTRUCTIONS.search(said)[1])


def allocated(line):
    said = valgrind(line, "--tool=memcheck", "--undef-value-errors=no", "--leak-check=no")
    return int(ALLOCATED.search(said)[1].replace(b",", b""))


def written(line):
    valgrind(line, "--tool=none")
    return os.path.getsize("out")


def bounded(line, count, least):
    """`least`: costs below it are not compared: a page, a batch."""
    costs = []
    for n in [1] + SIZES:
        files(n)
        made(n)
        costs.append(count(line))
    base, costs = 0 if count is written else costs[0], costs[1:]
    first = max(costs[0] - base, least)
    for n, cost in zip(SIZES[1:], costs[1:]):
        most = SLACK * first * (n * math.log(n)) / (N * math.log(N))
        assert cost - base <= most, f"nay {line}: {count.__name__} {base} with one key, {costs} with {SIZES}: above n log n"


def needs_valgrind():
    if shutil.which("valgrind") is None:
        raise Skip("no valgrind")
    with open(NAY, "rb") as program:
        if b"__asan_init" in program.read():
            raise Skip("valgrind does not run programs with AddressSanitizer")


def growth(what, count, lines, least):
    @test(f"{what} grow as the input does: {len(lines)} command lines at {', '.join(map(str, SIZES))} keys")
    def _():
        needs_valgrind()
        for line in lines:
            bounded(line, count, least)


growth("instructions", instructions, LINES if LONG else SHORT, 100000)
growth("bytes allocated", allocated, LINES if LONG else SHORT[:2] + ["uniq < keys"], 1 << 20)
growth("bytes written", written, [line for line in (LINES if LONG else SHORT) if "out" in line.split()], 4096)


COPIES = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
static unsigned long long copied;
void *memcpy(void *to, const void *from, size_t n) {
  static void *(*real)(void *, const void *, size_t);
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "memcpy");
  if (n >= 1024) copied += n;
  return real(to, from, n);
}
void *memmove(void *to, const void *from, size_t n) {
  static void *(*real)(void *, const void *, size_t);
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "memmove");
  if (n >= 1024) copied += n;
  return real(to, from, n);
}
__attribute__((destructor)) static void tell(void) { fprintf(stderr, "copied %llu\\n", copied); }
"""


@test("a quote that nothing closes: bytes that are copied grow as the file does, and every other row is read once")
def _():
    with open(NAY, "rb") as program:
        if b"__asan_init" in program.read():
            raise Skip("AddressSanitizer has a memcpy of its own")
    write("copies.c", COPIES)
    if subprocess.run([os.environ.get("NAY_CC", "cc"), "-O1", "-fno-builtin", "-shared", "-fPIC", "-o", "copies.so", "copies.c", "-ldl"], check=False).returncode:
        raise Skip("no C compiler")
    counts = []
    for n in 50000, 400000:
        write("open.csv", 'id,"k\n' + "".join(f"{i},k{i}\n" for i in range(n)))
        for flags in (["-T1"], ["-T2"]):
            done = subprocess.run([NAY, "uniq", *flags, "-c", "-n", str(10 * n), "--csv", "-k2", "--on-bad=skip", "open.csv"],
                                  env={**os.environ, "LD_PRELOAD": "./copies.so"}, capture_output=True, check=False)
            assert done.stdout == b"%d\n" % n, (n, flags, done)
        counts.append(int(re.search(rb"copied (\d+)", done.stderr)[1]))
        assert counts[-1] < 6 * os.path.getsize("open.csv"), (n, counts)
    assert counts[1] < 1.5 * 8 * counts[0], counts


@test("few lines from a pipe leave a small state, and more lines one of at most 120 bits a line")
def _():
    needs = []
    sizes = 2, 1000, 10000, 20000, 40000, 80000
    for n in sizes:
        if os.path.exists("s.nay"):
            os.remove("s.nay")
        must("uniq", "-c", "--state", "s.nay", stdin="".join(f"{i}\n" for i in range(n)))
        needs.append(os.path.getsize("s.nay"))
    assert needs[0] < 65536, needs
    assert all(size * 8 / n < 2 * 60 for n, size in list(zip(sizes, needs))[2:]), needs  # half of it may be empty, 1e-6


run()
