#!/usr/bin/env python3
"""Runs every command of `nay help` with --json in each of its modes. A mode is a command line, and
how many documents it writes: a number, or None for lines of objects (one for each key, say)."""
import json
import os
import re
import subprocess
import sys

LINES = None
NO_JSON = "no --json"
MODES = {
    "plan": [("-n 1000 -p 1% --no-measure", 1), ("-n 1000 -M 4k -t bloom --no-measure", 1)],
    "build": [("-f -o out.nay keys", 1), ("-q -f -o out.nay keys", 1), ("-f -b 10 --format leveldb -o out keys", 1),
              ("-f -t fuse -o out.nay keys", 1), ("keys", "refused"), ("-o - keys", "refused")],
    "check": [("f.nay mixed", LINES), ("-v f.nay mixed", LINES), ("-a f.nay mixed", LINES), ("-c f.nay mixed", 1),
              ("-c -v f.nay mixed", 1), ("-q f.nay mixed", 0), ("--any f.nay g.nay --keys mixed", LINES),
              ("--all -c f.nay g.nay --keys mixed", 1), ("--which f.nay g.nay --keys mixed", LINES),
              ("-c t.ldb mixed", 1), ("-v f.nay binary", LINES)],
    "info": [("f.nay", 1), ("f.nay g.nay", 2), ("t.ldb", 1), ("bad.nay", 1), ("missing.nay f.nay", 2),
             ("--format leveldb foreign", 1)],
    "verify": [("f.nay", 1), ("--keys keys f.nay", 1), ("--random 100 f.nay g.nay", 2), ("bad.nay", 1),
               ("missing.nay", 1)],
    "add": [("f.nay -f -o out.nay mixed", 1), ("-q f.nay -f -o out.nay mixed", 1), ("f.nay -o - mixed", "refused")],
    "remove": [("counting.nay -f -o out.nay mixed", 1)],
    "merge": [("f.nay g.nay -f -o out.nay", 1), ("--intersect f.nay g.nay -f -o out.nay", 1), ("f.nay g.nay", "refused")],
    "fold": [("large.nay -f -o out.nay", 1), ("f.nay -f -o out.nay", 1), ("large.nay -o -", "refused")],
    "convert": [("--to nay f.nay -f -o out.nay", 1), ("--to leveldb --keys keys f.nay -f -o out", 1),
                ("--to nay f.nay", "refused")],
    "uniq": [("mixed", 1), ("-c mixed", 1), ("-d mixed", 1), ("-q mixed", 1), ("--exact mixed", 1), ("--window 5 mixed", 1)],
    "diff": [("keys mixed", LINES), ("-c keys mixed", 1), ("keys keys", 0), ("keys binary", LINES)],
    "common": [("keys mixed", LINES), ("-c keys mixed", 1), ("keys binary", 0)],
    "bench": [("-t bloom -n 1000", 1), ("--floor keys", LINES)],
    "extract": [("t.ldb", LINES), ("--list t.ldb", LINES), ("t.ldb -f -o out", 1), ("t.ldb -f -o dir/", 1),
                ("t.ldb -o -", "refused")],
    "sst": [("build -f -o out.ldb sorted", 1), ("get t.ldb --keys sorted", LINES), ("get -c t.ldb --keys sorted", 1),
            ("scan t.ldb", LINES), ("scan -c t.ldb", 1), ("info t.ldb", 1), ("info --verify t.ldb t.ldb", 2),
            ("compact t.ldb -f -o out.ldb", 1)],
    "version": [("", 1)],
    "plot": NO_JSON, "complete": NO_JSON, "man": NO_JSON, "help": NO_JSON,
}


def nay(line, check=False):
    return subprocess.run(["nay", *line.split()], stdin=subprocess.DEVNULL, capture_output=True, check=check)


def prepare():
    write = lambda name, lines: open(name, "wb").write(b"".join(line + b"\n" for line in lines))
    write("keys", [b"%d" % i for i in range(1000)])
    write("mixed", [b"1", b"none", b'quo"te\\', b"2", b"2", b"tab\t", "ümlaut".encode()])
    write("binary", [b"\xff\xfe", b"\x00\x01", b"\xed\xa0\x80", b"7f\x7f"])
    write("sorted", [b"%04d" % i for i in range(100)])
    for line in ("build -q -n 1000 -o f.nay keys", "build -q -n 1000 -o g.nay mixed", "build -q -n 100k -o large.nay keys",
                 "build -q -t counting -n 1000 -o counting.nay keys", "sst build -q -o t.ldb sorted",
                 "build -q -b 10 --format leveldb -o foreign keys"):
        nay(line, check=True)
    bad = bytearray(open("f.nay", "rb").read())
    bad[300] ^= 0x10
    open("bad.nay", "wb").write(bad)


def problem(command, line, expected):
    done = nay(f"{command} --json {line}")
    if expected == "refused":
        refused = done.returncode == 2 and done.stdout == b"" and b"--json" in done.stderr
        return None if refused else f"status {done.returncode}, {len(done.stdout)} bytes on standard output"
    lines = done.stdout.decode("utf-8").splitlines()  # JSON is UTF-8
    documents = [json.loads(text) for text in lines]
    if done.stdout and not done.stdout.endswith(b"\n"):
        return "the last line has no end"
    if not all(isinstance(document, dict) for document in documents):
        return f"not an object: {lines}"
    if expected is LINES and not documents:
        return f"nothing on standard output; {done.stderr.decode()}"
    if expected is not LINES and len(documents) != expected:
        return f"{len(documents)} documents instead of {expected}: {lines[:3]} {done.stderr.decode()}"
    verb = line.split()[0] if command == "sst" else None
    schema = "nay.%s/1" % (f"sst.{verb}" if verb else command)
    if expected is not LINES and any(document.get("schema") != schema for document in documents):
        return f"not {schema}: {lines}"
    return None


def main():
    prepare()
    commands = re.findall(r"^  ([a-z]+)  ", nay("help", check=True).stdout.decode(), re.M)
    assert len(commands) >= 20, commands
    wrong = [f"{c}: no row in this table" for c in commands if c not in MODES]
    wrong += [f"{c}: no such command" for c in MODES if c not in commands]
    for command, modes in MODES.items():
        if modes is NO_JSON:
            if b"no option --json" not in nay(f"{command} --json").stderr:
                wrong.append(f"{command} takes --json: say here what it writes")
            continue
        for line, expected in modes:
            why = problem(command, line, expected)
            if why is not None:
                wrong.append(f"nay {command} --json {line}: {why}")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
