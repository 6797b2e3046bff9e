#!/usr/bin/env python3
"""Compares the measured numbers of README.md with the files that it links: a number there is the measured one, rounded.

    check_numbers.py [README.md]    prints what differs; the number of those that were compared otherwise

Timings of filters come from the run in bench/results that the README links, of 1 M keys given as hashes; those of the
command from the tables of doc/design/speed.md. A sentence that is not found is a fault as well: it may have other numbers.
"""
import functools
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NUMBER = r"(\d[\d,]*(?:\.\d+)?)"

# the names in the README: (library, filter) in the file
PEERS = {"libbloom": ("libbloom", "bloom"), "RocksDB, compiled for this CPU": ("rocksdb-native", "FastLocal"),
         "fastfilter SuccCountBlock10": ("fastfilter", "SuccCountBlock10"), "efficient/cuckoofilter": ("efficient", "cuckoo12"),
         "xor_singleheader": ("xor_single", "binary_fuse8"), "RocksDB's ribbon, Debian's build": ("rocksdb", "Standard128Ribbon")}
MAKE, PROBE, BATCH = ("add_batch", "build", "add"), ("probe_50",), ("probe_batch_50",)
STATIC = ("xor", "fuse", "ribbon")

# sentences of the README: a pattern, and what each of its numbers is
FILTERS = [
    (rf"\| blocked {NUMBER}, fuse {NUMBER}, ribbon {NUMBER} \|",
     [("nay", "blocked", BATCH), ("nay", "fuse", BATCH), ("nay", "ribbon", BATCH)]),
    (rf"\| RedisBloom \|.*\| no batches; {NUMBER} one by one \|", [("redisbloom", "bloom", PROBE)]),
    (rf"\| RocksDB's filters \|.*\| Bloom {NUMBER} \(Debian's build {NUMBER}\), ribbon {NUMBER} \|",
     [("rocksdb-native", "FastLocal", BATCH), ("rocksdb", "FastLocalBloom", BATCH), ("rocksdb", "Standard128Ribbon", BATCH)]),
    (rf"\| libbloom 1\.6 \|.*\| no batches; {NUMBER} one by one \|", [("libbloom", "bloom", PROBE)]),
    (rf"\| xor_singleheader \|.*\| no batches; fuse8 {NUMBER} one by one \|", [("xor_single", "binary_fuse8", PROBE)]),
]
COMMAND = [  # and the row of doc/design/speed.md, seconds or MiB
    (rf"`nay build` {NUMBER} s", "nay build -t blocked -p 1%", 0),
    (rf"`bloom insert` of DCSO {NUMBER} s", "bloom insert", 0),
    (rf"`nay check` {NUMBER} s", "nay check", 0),
    (rf"`bloom check` {NUMBER} s", "bloom check", 0),
    (rf"`nay uniq` {NUMBER} s in", "nay uniq -p 1e-6", 0),
    (rf"`nay uniq` [\d.]+ s in {NUMBER} MiB", "nay uniq -p 1e-6", 1),
    (rf"with `-p 1%` {NUMBER} s in", "nay uniq -p 1%", 0),
    (rf"with `-p 1%` [\d.]+ s in {NUMBER} MiB", "nay uniq -p 1%", 1),
    (rf"`LC_ALL=C sort -u` {NUMBER} s in", "LC_ALL=C sort -u", 0),
    (rf"`LC_ALL=C sort -u` [\d.]+ s in {NUMBER} MiB", "LC_ALL=C sort -u", 1),
]


class Check:
    def __init__(self, text):
        self.text = text
        self.joined = re.sub(r"\s*\n\s*", " ", self.text)
        self.faults, self.ncompared = [], 0

    def equal(self, stated, measured, what):
        """As many digits as are stated, of the number that was measured."""
        self.ncompared += 1
        decimals = len(stated.partition(".")[2])
        if abs(float(stated.replace(",", "")) - measured) > 0.5 * 10**-decimals * 1.000001:
            self.faults.append(f"{what} is {stated}, and {measured:g} where it was measured")

    def find(self, text, pattern):
        found = re.findall(pattern, text)
        if len(found) != 1:
            self.faults.append(f"{len(found)} places for: {pattern}")
            return []
        return found[0] if isinstance(found[0], tuple) else [found[0]]


def time_of(result, names):
    """The first measure that the filter has."""
    return next((result["ns"][name]["min"] for name in names if name in result["ns"]), None)


def check_row(check, cells, results):
    """Bits per key, FPR and times of ours; bits per key and times of the peer."""
    kind = cells[0].strip("`")
    ours, peer = results["nay", kind], results[PEERS[cells[6].rstrip(" *")]]
    make = ("build",) if kind in STATIC else ("add_batch",)
    stated = [(cells[1], ours["bits_per_key"]), (cells[2].rstrip("%"), 100 * ours["fpr"]["measured"]),
              (cells[3], time_of(ours, make)), (cells[4], time_of(ours, PROBE)), (cells[5], time_of(ours, BATCH)),
              (cells[7], peer["bits_per_key"]), (cells[8], time_of(peer, MAKE)), (cells[9], time_of(peer, PROBE)),
              (cells[10], time_of(peer, BATCH))]
    for i, (number, measured) in enumerate(stated):
        if (number == "none") != (measured is None):
            check.faults.append(f"{kind}: column {i + 2} is {number}, measured: {measured}")
        elif measured is not None:
            check.equal(number, measured, f"{kind}: column {i + 2}")


@functools.cache
def run_of(name):
    return json.loads((ROOT / f"{name}.json").read_text())


def check_filters(check):
    named = check.find(check.text, r"\[All results\]\((bench/results/[^)]*)\.txt\)")
    if not named:
        return
    run = run_of(named[0])
    results = {(r["library"], r["filter"]): r for r in run["results"] if r["nkeys"] == 10**6 and r["keys"] == "hashes"}
    rows = re.findall(r"^\| (`\w+`(?: †)? \|(?:[^|\n]*\|){10})$", check.text, re.M)
    if len(rows) != 6:
        check.faults.append(f"the table of filters has {len(rows)} rows, not 6")
    for row in rows:
        check_row(check, [cell.strip() for cell in row.replace(" †", "").strip("|").split("|")], results)
    for pattern, what in FILTERS:
        for number, (library, name, measure) in zip(check.find(check.text, pattern), what):
            check.equal(number, time_of(results[library, name], measure), f"{library} {name}")
    if run["date"][:10] not in check.joined:
        check.faults.append(f"the run is of {run['date'][:10]}, which is not said")


def check_command(check):
    rows = {}
    for name, seconds, memory in re.findall(rf"^\| `([^`]+)`[^|]*\| \**{NUMBER}\** \| \**{NUMBER} MiB\** \|",
                                            (ROOT / "doc/design/speed.md").read_text(), re.M):
        rows[name] = (float(seconds), float(memory.replace(",", "")))
    for pattern, name, column in COMMAND:
        for number in check.find(check.joined, pattern):
            if name in rows:
                check.equal(number, rows[name][column], name)
            else:
                check.faults.append(f"doc/design/speed.md has no row of {name}")


def check_all(check):
    check_filters(check)
    check_command(check)


def main():
    readme = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "README.md"
    check = Check(readme.read_text())
    check_all(check)
    for fault in check.faults:
        print(fault)
    if not check.faults:
        print(f"{check.ncompared} numbers are those that were measured")
    return 1 if check.faults else 0


if __name__ == "__main__":
    sys.exit(main())
