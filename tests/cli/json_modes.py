#!/usr/bin/env python3
"""Runs every command of `nay help` with --json in each of its modes, and compares what it writes with doc/json.md.

A mode is a command line, and how many documents it writes: a number, or LINES for objects without a schema (one
for each key, say). Each document must be one of those that the page lists for its schema, each object one of those
that it lists for the command: all members that are not optional, no others, of the types of the page. What the
page lists must be written by some mode: each row, each optional member.
"""
import base64
import glob
import json
import os
import re
import shlex
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "..", "golden")
LINES = None
NO_JSON = "no --json"
MODES = {
    "plan": [("-n 1000 -p 1% --no-measure", 1), ("-n 1000 -M 4k -t bloom --no-measure", 1), ("-n 1000 -t bloom", 1),
             ("-n 1000 --need delete,merge,expire --no-measure", 1), ("--need grow --max-keys 2M --no-measure", 1), ("-n 1e16 -t bloom --no-measure", 1),
             ("-n 1000 -b 10 --format all --no-measure", 1), ("-n 1000 -b 10 --format leveldb", 1),
             ("--lsm -n 1G -M 1GiB --rocksdb", 1), ("--lsm -n 1G -b 0.1 --reads 50k/s,1 --absent 90%", 1), ("--lsm -n 1M --sweep 8,10 --tiered", 2), ("--lsm -n 1M -b 10 --reads 1k --read-latency 1ms --probe-time 1us", 1)],
    "build": [("-f -o out.nay keys", 1), ("-f -t cuckoo -n 5000 --max-keys 20k -o out.nay keys", 1), ("-q -f -o out.nay keys", 1), ("-f -b 10 --format leveldb -o out keys", 1),
              ("-f -t fuse -o out.nay keys", 1), ("keys", "refused"), ("-o - keys", "refused"),
              ("-f -o out.nay -e one -e two", 1), ("-f --key=int -o out.nay keys", 1), ("-f -F: -k1 -o out.nay keys", 1),
              ("-f -n 10 -o out.nay keys", 1), ("-f -n 10 --seed 18446744073709551615 -o out.nay keys", 1),
              ("-f --secret secret -n 10 -o out.nay /dev/null", 1), ("-f -o '\udcff.nay' keys", 1)],
    "check": [("--ranges ranges.nay ends", LINES), ("--ranges --line-number ranges.nay ends", LINES),
              ("--ranges -H ranges.nay ends", LINES),
              ("f.nay mixed", LINES), ("-v f.nay mixed", LINES), ("-a f.nay mixed", LINES), ("-c f.nay mixed", 1),
              ("-c -v f.nay mixed", 1), ("-q f.nay mixed", 0), ("--any f.nay g.nay --keys mixed", LINES),
              ("--all -c f.nay g.nay --keys mixed", 1), ("--which f.nay g.nay --keys mixed", LINES),
              ("--which --line-number f.nay g.nay --keys mixed", LINES), ("--which --line-number f.nay g.nay --keys mixed --keys keys", LINES),
              ("--line-number f.nay mixed keys", LINES), ("-c t.ldb mixed", 1), ("-v f.nay binary", LINES),
              ("f.nay -e 1 -e none", LINES), ("-c f.nay -e 1 -e none", 1), ("-v f.nay -e '\udcff\udcfe'", LINES),
              ("--line-number f.nay mixed", LINES), ("-a --line-number --max-count 1 f.nay mixed", LINES),
              ("-l f.nay mixed keys", LINES), ("-c -H f.nay mixed keys", 1), ("-H f.nay mixed", LINES), ("-c --max-count 1 f.nay mixed", 1), ("--max-count 0 f.nay mixed", 0), ("-c --max-count 0 f.nay mixed", 1),
              ("-v --key=hex f.nay hex", LINES),
              ("-v --key=u64le int.nay eights", LINES), ("int.nay -e 007", LINES), ("-v --length-prefixed f.nay prefixed", LINES),
              ("-v -0 f.nay eights", LINES), ("-v --csv f.nay quoted", LINES), ("-F: -k2 -v f.nay fields", LINES)],
    "explain": [("f.nay 1", LINES), ("f.nay 1 none", LINES), ("-q f.nay 1", 0), ("f.nay 1 none --keys keys", LINES),
                ("t.ldb 0007", LINES), ("--format leveldb foreign 1", LINES), ("t.ldb 0007 none --keys sorted", LINES),
                ("f.nay '\udcff\udcfe'", LINES), ("bad.ldb 0007", LINES), ("parts.ldb 00007", LINES)],
    "info": [("f.nay", 1), ("timed.nay", 1), ("growing.nay", 1), ("f.nay g.nay", 2), ("t.ldb", 1), ("bad.nay", 1), ("missing.nay f.nay", 2),
             ("--format leveldb foreign", 1), ("keyed.nay", 1), ("derived.nay", 1), ("noted.nay", 1), ("keys", 1),
             ("bad.ldb", 1), ("cut.ldb", 1), ("int.nay int.ldb", 2), ("a.parquet cut.parquet", 2), ("a.puffin bad.puffin cut.puffin", 3)],
    "verify": [("f.nay", 1), ("--keys keys f.nay", 1), ("--random 100 f.nay g.nay", 2), ("bad.nay", 1),
               ("missing.nay", 1), ("--absent mixed f.nay", 1), ("--format leveldb foreign", 1)],
    "add": [("f.nay -f -o out.nay mixed", 1), ("-q f.nay -f -o out.nay mixed", 1), ("f.nay -o - mixed", "refused"),
            ("f.nay -f -o out.nay -e new", 1), ("--create -n 10 -p 2% new.nay -e new", 1),
            ("--create -n 10 -p 2% new.nay -e other", 1)],
    "remove": [("counting.nay -f -o out.nay mixed", 1), ("counting.nay -f -o out.nay -e 1", 1)],
    "merge": [("ranges.nay ranges.nay -f -o out.nay", 1), ("f.nay g.nay -f -o out.nay", 1), ("--intersect f.nay g.nay -f -o out.nay", 1), ("f.nay g.nay", "refused")],
    "fold": [("large.nay -f -o out.nay", 1), ("f.nay -f -o out.nay", 1), ("large.nay -o -", "refused")],
    "convert": [("--to nay ranges.nay -f -o out.nay", 1), ("--to nay f.nay -f -o out.nay", 1), ("--to leveldb --keys keys f.nay -f -o out", 1),
                ("--to nay f.nay", "refused"), ("--to redisbloom-bf redis.dump -f -o out", 1),
                ("--explain --to nay f.nay", 1), ("--explain --to leveldb f.nay", 1),
                ("--explain --to leveldb --keys keys f.nay", 1), ("--explain --to cassandra f.nay", 1)],
    "uniq": [("mixed", 1), ("-c mixed", 1), ("-d mixed", 1), ("-q mixed", 1), ("--exact mixed", 1), ("--window 5 mixed", 1),
             ("--key=int keys", 1), ("-F: -k2 fields", 1)],
    "diff": [("keys mixed", LINES), ("-c keys mixed", 1), ("keys keys", 0), ("keys binary", LINES),
             ("--line-number --max-count 1 keys mixed", LINES), ("-c --max-count 1 keys mixed", 1),
             ("-c --max-count 0 keys mixed", 1)],
    "common": [("keys mixed", LINES), ("-c keys mixed", 1), ("keys binary", 0), ("--line-number keys mixed", LINES),
               ("-c --max-count 0 keys mixed", 1)],
    "bench": [("-t bloom -n 1000", 1), ("--format lab -n 1000", 1), ("--hash -n 1000", 21), ("-t bloom,blocked -n 1000", 2), ("--floor keys", 1)],
    "extract": [("t.ldb", LINES), ("--list t.ldb", LINES), ("t.ldb -f -o out", 1), ("t.ldb -f -o dir/", 1),
                ("t.ldb -o -", "refused"), ("parts.ldb", LINES), ("bad.ldb", LINES), ("a.parquet", LINES), ("a.parquet -f -o dir/", 1),
                ("a.puffin", LINES), ("a.puffin -f -o dir/", 1)],
    "puffin": [("-f -o out f.nay", 1)],
    "prune": [("--in b -e 1 a.parquet", LINES), ("--row-groups --in b -e 1 a.parquet", LINES), ("-c --in b -e 1 a.parquet", 1)],
    "sst": [("info ranges.ldb", 1), ("build -f -o out.ldb sorted", 1), ("build -n 10 -f -o out.ldb sorted", 1), ("build --sort -f -o out.ldb keys keys", 1), ("get t.ldb --keys sorted", LINES),
            ("get -v t.ldb --keys mixed", LINES), ("get -c t.ldb --keys sorted", 1), ("get -c t.ldb 0001 00505", 1), ("get t.ldb 0001 none", LINES),
            ("get --line-number --no-values t.ldb 0001", LINES), ("get --line-number t.ldb --keys sorted --keys keys", LINES), ("get binary.ldb '\udcff\udcfe'", LINES),
            ("scan t.ldb", LINES), ("scan -c t.ldb", 1), ("get -c --max-count 0 t.ldb 0001", 1),
            ("scan -c --max-count 0 t.ldb", 1), ("scan --versions versions.ldb", LINES), ("scan binary.ldb", LINES),
            ("scan --no-values t.ldb", LINES), ("info t.ldb int.ldb", 2), ("scan int.ldb", LINES), ("get int.ldb 007", LINES), ("info --verify t.ldb t.ldb", 2), ("info parts.ldb", 1),
            ("info empty.ldb versions.ldb binary.ldb", 3), ("compact t.ldb -f -o out.ldb", 1),
            ("scan --versions operand.ldb", LINES), ("compact --target-size 1000 t.ldb -o several.ldb", 1)],
    "map": [("build -f -o out.map numbers", 1), ("get m.map --keys keys", LINES), ("get --line-number m.map --keys keys --keys mixed", LINES), ("get -c m.map --keys keys", 1), ("get -c --max-count 0 m.map 1", 1),
            ("get -v c.map none", LINES), ("build -f --key=int -o out.map numbers", 1), ("info int.map", 1), ("get int.map 007", LINES), ("get --line-number m.map --keys keys", LINES), ("info m.map c.map", 2),
            ("verify m.map", 1), ("verify --keys numbers m.map", 1), ("build numbers", "refused"), ("build -o - numbers", "refused"),
            ("verify bad.map", 1), ("verify missing.map", 1), ("verify f.nay", 1), ("verify --keys missing m.map", 1),
            ("info m.map bad.map missing.map f.nay c.map", 5)],
    "list": [("build -f --universe keys -o out.list few", 1), ("build --universe keys few", "refused"), ("build --universe keys -o - few", "refused"),
             ("delta --universe keys -f -o out.list l.list few", 1), ("delta --universe keys l.list few", "refused"),
             ("check l.list --keys keys", LINES), ("check -a l.list --keys mixed", LINES), ("check -v l.list --keys mixed", LINES),
             ("check --line-number -a l.list --keys mixed --keys keys", LINES), ("check -c l.list --keys mixed", 1),
             ("check -c --max-count 0 l.list --keys mixed", 1), ("check -a l.list d.list -e 1 -e none", LINES),
             ("check l.list -e 1", LINES), ("info l.list d.list", 2), ("info l.list bad.list missing.list f.nay d.list", 5),
             ("verify l.list", 1), ("verify --universe keys l.list", 1), ("verify --universe keys --keys few d.list", 0),
             ("verify --universe keys --keys few l.list d.list", 1), ("verify bad.list", 1), ("verify missing.list", 1)],
    "version": [("", 1)],
    "plot": [("fpr", 1), ("fpr f.nay", 1), ("k -t bloom,xor -n 1000 --measure", 1), ("bits -t bloom --format lab", 1),
             ("size -t ribbon", 1), ("bench bench.csv", 1)],
    "complete": NO_JSON, "man": NO_JSON, "help": NO_JSON,
}


def nay(line, check=False):
    words = [word.encode("utf-8", "surrogateescape") for word in shlex.split(line)]
    return subprocess.run([b"nay", *words], stdin=subprocess.DEVNULL, capture_output=True, check=check)


# ---- the page ----

class Page:
    """doc/json.md: the types of the members, and the rows of documents."""

    def __init__(self):
        text = open(os.path.join(HERE, "..", "..", "doc", "json.md")).read()
        filters = re.search(r"\*filter\* below, are(.*?)\.\n", text, re.S)[1]
        self.types = {name: kind for name, kind in re.findall(r"^\| `(\w+)` \| ([a-z ]+) \| .+ \|$", text, re.M)}
        rows = re.findall(r"^\| (`nay [^|]*) \| (?:`([^`]*)`)? ?\| (.*) \|$", text, re.M)
        self.rows = [Row(what, schema, members.replace("*filter*", filters)) for what, schema, members in rows]
        assert len(self.types) > 90 and len(self.rows) > 30, (len(self.types), len(self.rows))
        self.names = set()

    def candidates(self, command, document):
        schema = document.get("schema")
        if schema is not None:
            return [row for row in self.rows if row.schema == schema]
        return [row for row in self.rows if not row.schema and command in row.commands]

    def fault(self, command, document):
        """What is wrong with a document, or None."""
        rows = self.candidates(command, document)
        members = {name for name in document if name != "schema"}
        fitting = [row for row in rows if row.required <= members <= row.required | row.optional]
        if not fitting:
            return f"no row of the page for {command} {document.get('schema', '')} has the members {sorted(members)}"
        for row in fitting:
            row.seen |= members | {""}
        for name, value in document.items():
            self.names.add(name)
            if name not in self.types:
                return f"the page does not list {name}"
            if not self.is_of(self.types[name], value, command):
                return f"{name} is not {self.types[name]}: {value!r}"
        return None

    def is_of(self, kind, value, command):
        if kind.endswith(" or null"):
            return value is None or self.is_of(kind.removesuffix(" or null"), value, command)
        if kind.startswith("list of "):
            return isinstance(value, list) and all(self.is_of(kind.removeprefix("list of "), one, command) for one in value)
        if kind == "properties":
            return isinstance(value, dict) and all(self.is_of("bytes", one, command) for one in value.values())
        if kind in ("allocation", "blob", "candidate", "column", "counters", "length", "level", "plan", "plannable", "point", "probed", "rate", "series", "step", "table"):
            return self.fault(command, value) is None
        if kind == "bool":
            return isinstance(value, bool)
        if kind == "text":
            return isinstance(value, str)
        if kind == "number":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        if kind == "count":
            small = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 2 ** 53
            return small or (isinstance(value, str) and value.isdecimal() and 2 ** 53 < int(value) < 2 ** 64)
        assert kind == "bytes", f"no such type: {kind}"
        return isinstance(value, str) or (set(value) == {"b64"} and not is_utf8(base64.b64decode(value["b64"], validate=True)))

    def unused(self):
        """What the page lists and no mode wrote."""
        for row in self.rows:
            if not row.seen:
                yield f"doc/json.md: no mode writes {row.what} {row.schema}"
            for name in sorted(row.optional - row.seen):
                yield f"doc/json.md: no mode writes the {name} of {row.what} {row.schema}"
        for name in sorted(set(self.types) - self.names):
            yield f"doc/json.md: {name} is in no document"


class Row:
    def __init__(self, what, schema, members):
        self.what, self.schema, self.seen = what, schema, set()
        self.commands = re.findall(r"`nay (\w+)", what)
        found = re.findall(r"`(\w+)`(\?)?", members)
        self.required = {name for name, optional in found if not optional}
        self.optional = {name for name, optional in found if optional}


def is_utf8(data):
    try:
        data.decode("utf-8")
        return True
    except UnicodeDecodeError:
        return False


def no_repeats(pairs):
    names = [name for name, _ in pairs]
    assert len(set(names)) == len(names), f"a member twice: {names}"
    return dict(pairs)


# ---- the modes ----

def prepare():
    write = lambda name, lines: open(name, "wb").write(b"".join(line + b"\n" for line in lines))
    write("keys", [b"%d" % i for i in range(1000)])
    write("few", [b"%d" % i for i in range(0, 1000, 50)])
    write("odd", [b"%d" % i for i in range(1, 1000, 50)])
    write("mixed", [b"1", b"none", b'quo"te\\', b"2", b"2", b"tab\t", "ümlaut".encode()])
    write("binary", [b"\xff\xfe", b"\x00\x01", b"\xed\xa0\x80", b"7f\x7f", bytes(range(256)).replace(b"\n", b"")])
    write("numbers", [b"%d\t%d" % (i, i % 7) for i in range(1000)])
    write("bench.csv", [b"kind,nkeys,bits_per_key,nbytes_memory,fpr_planned,fpr_measured,nabsent,build_ns,hit_ns,miss_ns,one_ns",
                        b"bloom,1000,9,1200,0.01,0.01,1000,5,4,3,2"])
    write("sorted", [b"%04d" % i for i in range(100)])
    write("hex", [b"ff00", b"0a", b"", b"61"])
    write("fields", [b"a:b\xff:c", b'"a":"b":c', b"a::c"])
    write("quoted", [b'"one ""two"" \xff",b', b'"line\nend",c'])
    open("eights", "wb").write(bytes(range(248, 256)) + b"12345678" + bytes(8))
    open("prefixed", "wb").write(b"\3\0\0\0a\nb\0\0\0\0\2\0\0\0\xc3(")
    open("secret", "wb").write(b"0123456789abcdef")
    write("ends", [b"10\t15", b"5000\t5001"])
    open("rows", "wb").write(b"".join(b"%05d\t\xff\xfe%d\n" % (i, i) for i in range(20000)))
    for line in ("build -q -n 1000 -o f.nay keys", "build -q -n 1000 -o g.nay mixed", "build -q -n 100k -o large.nay keys",
                 "build -q -t counting -n 1000 -o counting.nay keys", "build -q -t cuckoo -n 1000 --max-keys 5k -o growing.nay keys", "sst build -q -o t.ldb sorted",
                 "build -q -b 10 --format leveldb -o foreign keys", "build -q --secret secret -o keyed.nay keys",
                 "merge -q --intersect f.nay g.nay -o derived.nay", "build -q --meta 'a \udcff note' -o noted.nay keys",
                 "sst build -q --filter partitioned --prefix-length 3 --compress snappy -o parts.ldb rows",
                 "sst build -q --properties --sequence 7 -o versions.ldb sorted", "sst build -q --no-decompress --sort -o binary.ldb binary",
                 "sst build -q -o empty.ldb /dev/null", "map build -q -o m.map numbers",
                 "list build -q --check 30 --meta note --universe keys -o l.list odd",
                 "list delta -q --universe keys -o d.list l.list few",
                 "map build -q --check 40 --meta note -o c.map numbers", "build -q --key=int -o int.nay keys",
                 "map build -q --key=int -o int.map numbers", "sst build -q --sort --key=int -o int.ldb keys",
                 "build -q -t range --key=int --range-length 5 -o ranges.nay keys",
                 "build -q --window 1d --now 2026-01-01 -n 100 -o timed.nay keys",
                 "sst build -q --key=ordered-int --filter=full,range --range-length 10 -o ranges.ldb sorted"):
        nay(line, check=True)
    damage("f.nay", "bad.nay", 300)
    damage("m.map", "bad.map", 150)
    damage("l.list", "bad.list", 150)
    offset = json.loads(nay("extract --json t.ldb", check=True).stdout.splitlines()[0])["offset"]
    damage("t.ldb", "bad.ldb", offset + 100)
    damage("t.ldb", "cut.ldb", os.path.getsize("t.ldb") - 30)
    parquet = open(os.path.join(GOLDEN, "parquet", "duckdb_n2_p01.parquet"), "rb").read()
    open("a.parquet", "wb").write(parquet)
    open("cut.parquet", "wb").write(parquet[:-9])
    nay("puffin -q --field 1 --snapshot 7 --sequence 3 --property p=q -o a.puffin f.nay", check=True)
    puffin = open("a.puffin", "rb").read()
    open("cut.puffin", "wb").write(puffin[:-9])
    damage("a.puffin", "bad.puffin", 300)
    open("redis.dump", "wb").write(open(os.path.join(GOLDEN, "redisbloom", "bf_1pct_1000.dump"), "rb").read())
    operand()
    foreign_modes()


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def operand():
    """A table with a merge operand, which only the library writes: the type of its only entry becomes 2."""
    open("row", "wb").write(b"k\tv\n")
    nay("sst build -q --sequence 7 -o operand.ldb row", check=True)
    data = bytearray(open("operand.ldb", "rb").read())
    assert data[:13] == b"\0\t\1k\1\7\0\0\0\0\0\0v", data[:13]
    data[4] = 2
    crc = crc32c(data[:22])
    data[22:26] = ((crc >> 15 | crc << 17) + 0xa282ead8 & 0xffffffff).to_bytes(4, "little")
    open("operand.ldb", "wb").write(data)
    assert b"merge operands" in nay("sst scan operand.ldb").stderr


def damage(path, to, offset):
    data = bytearray(open(path, "rb").read())
    data[offset] ^= 0x10
    open(to, "wb").write(data)


def foreign_modes():
    """Every family, every layout that can be built, every golden table: shapes of build, info and extract."""
    version = json.loads(nay("version --json", check=True).stdout)
    MODES["build"] += [(f"-f -t {kind} -n 2000 -o {kind}.out keys", 1) for kind in version["kinds"]]
    MODES["info"] += [(f"{kind}.out", 1) for kind in version["kinds"]]
    MODES["explain"] += [(f"{kind}.out 1 none --keys keys", LINES) for kind in version["kinds"]]
    for layout in version["formats"]:
        if nay(f"build -q -b 10 --format {layout} -o {layout}.out keys").returncode == 0:
            MODES["info"].append((f"--format {layout} {layout}.out", 1))
            MODES["verify"].append((f"--keys keys --format {layout} {layout}.out", 1))
    tables = sorted(glob.glob(os.path.join(GOLDEN, "rocksdb", "*.sst")) + glob.glob(os.path.join(GOLDEN, "*", "*.ldb")))
    assert len(tables) > 20, tables
    MODES["info"] += [(shlex.quote(path), 1) for path in tables]
    MODES["extract"] += [(shlex.quote(path), "any") for path in tables]
    MODES["sst"] += [("info " + shlex.quote(path), "any") for path in tables[::4]]
    nori, mini = os.path.join(GOLDEN, "nori-engine"), os.path.join(GOLDEN, "mini-lsm-engine")
    overfull, old = f"{nori}/sst_390efce_qf_overfull.sst", f"{nori}/sst_34fbb75_tomb_none.sst"
    versions = f"--format mini-lsm-sst {mini}/sst_w3_versions.sst"
    filters = f"--format nori12 {nori}/bloom_390efce_key8_n5_b10_sized0.bloom"
    swapped = f"--format cassandra {os.path.join(GOLDEN, 'cassandra')}/old-swapped_key8_n10_fp0.01.db"
    open("key8", "w").writelines(f"key{i:08}\n" for i in range(10))
    MODES["info"] += [(overfull, 1), (old, 1), (versions, 1), (filters, 1)]
    MODES["verify"] += [(overfull, 1), (old, 1), (versions, 1), (filters, 1), (f"--keys key8 {swapped}", 1)]
    MODES["extract"] += [(overfull, "any"), (old, "any"), (versions, "any")]
    MODES["sst"] += [(f"info --verify {overfull} {old}", 2), (f"info {versions}", 1), (f"scan --versions {overfull}", LINES),
                     ("build --format nori -f -o out.sst sorted", 1), (f"scan --versions {versions}", LINES), (f"get --snapshot 1003 {versions} key00000000", LINES)]


def problem(page, command, line, expected):
    verb = line.split()[0] if command in ("sst", "map", "list") else None
    rest = line.removeprefix(verb) if verb else line
    done = nay(f"{command} {verb or ''} --json {rest}")
    if expected == "refused":
        refused = done.returncode == 2 and done.stdout == b"" and b"--json" in done.stderr
        return None if refused else f"status {done.returncode}, {len(done.stdout)} bytes on standard output"
    if done.returncode not in range(4):
        return f"status {done.returncode}"
    lines = done.stdout.decode("utf-8").split("\n")  # JSON is UTF-8
    if lines.pop() != "":
        return "the last line has no end"
    documents = [json.loads(text, object_pairs_hook=no_repeats) for text in lines]
    if not all(isinstance(document, dict) for document in documents):
        return f"not an object: {lines}"
    if expected is LINES and (not documents or "schema" in documents[0]):
        return f"no objects without a schema: {lines[:3]}; {done.stderr.decode()}"
    if isinstance(expected, int) and len(documents) != expected:
        return f"{len(documents)} documents instead of {expected}: {lines[:3]} {done.stderr.decode()}"
    schema = "nay.%s" % (f"{command}.{verb}" if verb else command)
    for document in documents:
        if isinstance(expected, int) and not re.fullmatch(re.escape(schema) + r"(\.explain|\.floor|\.format|\.hash|\.lsm|\.scheme)?/1", document.get("schema", "")):
            return f"not {schema}: {lines}"
        why = page.fault(command, document)
        if why is not None:
            return f"{why}\n    {json.dumps(document)[:300]}"
    return None


def main():
    page = Page()
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
            why = problem(page, command, line, expected)
            if why is not None:
                wrong.append(f"nay {command} --json {line}: {why}")
    wrong += page.unused()
    print("\n".join(wrong).encode("utf-8", "backslashreplace").decode())
    print(f"# {sum(len(m) for m in MODES.values() if m is not NO_JSON)} modes", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
