#!/usr/bin/env python3
"""The cases of the conformance kit.

    make_vectors.py                    prints the cases, without answers
    make_vectors.py CONFORMANCE        makes vectors.jsonl and files/ anew; CONFORMANCE is the C runner of the build
    make_vectors.py CONFORMANCE check  compares what it would make with what is there, and the answers with the second
                                       implementations of tests/golden; prints TAP

A case is one line, an object whose names and values are strings without escapes, so that a language without a JSON
parser splits the line at its quotes. README.md has the operations.
"""
import datetime
import importlib.util
import json
import os
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "..", "golden")
SECRET = bytes(range(16)).hex()
cases = []


def case(name, op, **fields):
    cases.append({"name": name, "op": op, **{k: str(v) for k, v in fields.items()}})


def file(name, op, **fields):
    """A case whose answer is the bytes of a file, which later cases read."""
    case(name, op, file=name.replace("/", "-") + ".bin", **fields)
    return cases[-1]["file"]


def hashing():
    for n in [0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 32, 33, 64, 65, 96, 127, 128, 129, 144, 160, 200, 239, 240, 241, 255,
              256, 257, 511, 512, 513, 1000, 1023, 1024, 1025, 1088, 2000]:
        key = bytes((131 * n + 17 * j + 7) % 256 for j in range(n)).hex()
        for seed in (0, 1 << 40 | 5) if n not in (33, 65, 200, 257, 513) else ((1 << 64) - 1,):
            case(f"hashing/xxh3-{n}-seed-{seed}", "hash", key=key, seed=seed, reader=1)
        if n <= 65:
            case(f"hashing/siphash13-{n}", "hash", key=key, secret=SECRET)


def keys():
    for value in (0, 1, -1, 7, 2**63 - 1, -(2**63)):
        case(f"keys/of-int-{value}", "key", int=value)
    for x in (0.0, -0.0, 1.5, -1.5, 0.1, 1e300, 5e-324, float("inf"), float("-inf")):
        case(f"keys/of-float-{x}", "key", float=struct.pack(">d", x).hex())
    case("keys/float-nan-with-payload", "key", float="fff8000000000123")
    seen = {}
    with open(os.path.join(GOLDEN, "keys", "keys.txt"), encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("#"):
                continue
            kind, text, _ = line.rstrip("\n").split("\t")
            seen[kind] = seen.get(kind, 0) + 1
            if len(text) <= 400:  # the rest is there for who wants it: keys.txt
                case(f"keys/{kind}-{seen[kind]}", "key", type=kind, text=text.encode().hex())


def planning():
    for kind in ("bloom", "blocked", "counting", "scalable", "window", "cuckoo", "xor", "fuse", "ribbon"):
        for nkeys, fpr in ((1, 0.5), (100, 0.01), (1000, 0.001), (123456, 0.01), (10**7, 1e-5)):
            case(f"planning/{kind}-{nkeys}-{fpr}", "plan", kind=kind, nkeys=nkeys, fpr=fpr)
    case("planning/auto", "plan", nkeys=1000, fpr=0.01)
    case("planning/bits-per-key", "plan", kind="bloom", nkeys=1000, bits_per_key=10)
    case("planning/bytes", "plan", kind="blocked", nkeys=1000, nbytes=2048)
    case("planning/bits", "plan", kind="bloom", nbits=1000, nkeys=100, k=7)
    case("planning/fold", "plan", kind="bloom", nkeys=1000, fpr=0.01, fold=6)
    for name, fields in {
        "no-size": {"nkeys": 1000}, "fpr-0": {"nkeys": 1000, "fpr": -0.5}, "fpr-1": {"nkeys": 1000, "fpr": 1},
        "two-sizes": {"nkeys": 1000, "fpr": 0.01, "nbits": 512}, "k-65": {"nkeys": 1000, "fpr": 0.01, "k": 65},
        "blocked-nbits": {"kind": "blocked", "nkeys": 1, "nbits": 100}, "too-many": {"nkeys": 2**56 + 1, "fpr": 0.01},
        "blocked-fpr-1e-12": {"kind": "blocked", "nkeys": 1000, "fpr": 1e-12},
    }.items():
        case(f"planning/refused-{name}", "plan", **fields)


def building():
    f = {}
    for kind in ("bloom", "blocked", "counting", "scalable", "window", "cuckoo"):
        f[kind] = file(f"adding/{kind}-300", "add", kind=kind, nkeys=300, fpr=0.01, keys="key:0:300")
        file(f"adding/{kind}-0", "add", kind=kind, nkeys=10, fpr=0.01, keys="key:0:0")
    f["seed"] = file("adding/blocked-seed", "add", kind="blocked", nkeys=300, fpr=0.01, seed=12345, keys="key:0:300")
    f["keyed"] = file("adding/blocked-keyed", "add", kind="blocked", nkeys=300, fpr=0.01, secret=SECRET,
                      keys="key:0:300")
    f["stored"] = file("adding/blocked-key-stored", "add", kind="blocked", nkeys=300, fpr=0.01, secret=SECRET,
                       store_key=1, keys="key:0:300")
    f["k1"] = file("adding/blocked-k1", "add", kind="blocked", nbits=1024, k=1, keys="key:0:20")
    f["k40"] = file("adding/blocked-k40", "add", kind="blocked", nbits=5120, k=40, keys="key:0:20")
    f["b2"] = file("adding/bloom-more", "add", kind="bloom", nkeys=300, fpr=0.01, keys="key:200:300")
    f["k2"] = file("adding/blocked-more", "add", kind="blocked", nkeys=300, fpr=0.01, keys="key:200:300")
    f["c2"] = file("adding/counting-more", "add", kind="counting", nkeys=300, fpr=0.01, keys="key:200:300")
    f["big"] = file("adding/blocked-two-chunks", "add", kind="blocked", nbits=512 * 1100, k=6, keys="key:0:1000")
    f["fold"] = file("adding/bloom-fold-6", "add", kind="bloom", nkeys=300, fpr=0.01, fold=6, keys="key:0:300")
    f["int"] = file("adding/blocked-key-type", "add", kind="blocked", nkeys=300, fpr=0.01, key_type="int",
                    keys="key:0:0")
    case("adding/refused-fuse", "add", kind="fuse", nkeys=10, fpr=0.01, keys="key:0:1")
    case("adding/full-cuckoo", "add", kind="cuckoo", nkeys=10, fpr=0.01, keys="key:0:2000")
    case("adding/refused-key-type", "add", kind="bloom", nkeys=10, fpr=0.01, key_type="Int", keys="key:0:0")
    case("adding/unknown-key-type", "add", kind="bloom", nkeys=10, fpr=0.01, key_type="colour", keys="key:0:0")
    for kind in ("bloom", "blocked", "cuckoo", "xor", "fuse", "ribbon"):
        f[kind + "-built"] = file(f"building/{kind}-1000", "build", kind=kind, fpr=0.01, keys="key:0:1000")
        file(f"building/{kind}-0", "build", kind=kind, fpr=0.01, keys="key:0:0")
        file(f"building/{kind}-1", "build", kind=kind, fpr=0.01, keys="key:0:1")
    for bits in (4, 8, 13, 16, 32):
        f[f"fuse-{bits}"] = file(f"building/fuse-{bits}-bits", "build", kind="fuse", fpr=2.0**-bits, keys="key:0:500")
    f["fuse-k4"] = file("building/fuse-k4", "build", kind="fuse", fpr=2.0**-8, k=4, keys="key:0:1000")
    f["fuse-seed"] = file("building/fuse-seed", "build", kind="fuse", fpr=2.0**-8, seed=99, keys="key:0:1000")
    f["fuse-chunks"] = file("building/fuse-two-chunks", "build", kind="fuse", fpr=2.0**-16, keys="key:0:40000")
    f["map"] = file("maps/plain", "build", kind="map", value_bits=12, mul=37, keys="key:0:500")
    f["map-check"] = file("maps/check-bits", "build", kind="map", value_bits=9, check_bits=11, mul=1234567,
                          keys="key:0:500")
    f["map-wide"] = file("maps/wide", "build", kind="map", value_bits=64, mul=2**61 - 1, keys="key:0:100")
    for name in ("map", "map-check", "map-wide"):
        for i in (0, 1, 99):
            case(f"{name.replace('map', 'maps/get')}-key{i}", "get", a=f[name], key=f"key{i}".encode().hex())
    case("maps/get-absent", "get", a=f["map-check"], key=b"absent".hex())
    case("maps/get-of-a-filter", "get", a=f["blocked"], key=b"key1".hex())
    case("maps/too-wide", "build", kind="map", value_bits=60, check_bits=10, mul=1, keys="key:0:10")
    return f


def combining(f):
    for kind, more in (("bloom", "b2"), ("blocked", "k2"), ("counting", "c2")):
        file(f"merging/{kind}", "merge", a=f[kind], b=f[more])
    file("merging/scalable", "merge", a=f["scalable"], b=f["scalable"])
    case("merging/other-kind", "merge", a=f["bloom"], b=f["blocked"])
    case("merging/other-seed", "merge", a=f["blocked"], b=f["seed"])
    case("merging/other-key-type", "merge", a=f["blocked"], b=f["int"])
    case("merging/max-fpr", "merge", a=f["blocked"], b=f["k2"], max_fpr=0.01)
    case("merging/static", "merge", a=f["fuse-built"], b=f["fuse-built"])
    for kind, more in (("bloom", "b2"), ("blocked", "k2")):
        f[kind + "-both"] = file(f"merging/intersect-{kind}", "intersect", a=f[kind], b=f[more])
    file("folding/bloom-by-2", "fold", a=f["fold"], factor=2)
    file("folding/bloom-by-6", "fold", a=f["fold"], factor=6)
    file("folding/blocked-by-4", "fold", a=f["big"], factor=4)
    case("folding/not-divisible", "fold", a=f["fold"], factor=7)
    case("folding/static", "fold", a=f["fuse-built"], factor=2)
    for kind in ("counting", "cuckoo"):
        gone = file(f"removing/{kind}", "remove", a=f[kind], keys="key:0:100")
        case(f"removing/{kind}-then-probe", "probe", a=gone, keys="key:0:300")
    case("removing/absent", "remove", a=f["counting"], keys="none:0:1")
    case("removing/blocked", "remove", a=f["blocked"], keys="key:0:1")
    case("removing/count", "count", a=f["counting"], key=b"key7".hex())
    case("removing/count-absent", "count", a=f["counting"], key=b"nothing".hex())


READER = ("blocked", "seed", "k1", "k40", "k2", "big", "int", "blocked-built", "fuse-built", "fuse-4", "fuse-8",
          "fuse-13", "fuse-16", "fuse-32", "fuse-k4", "fuse-seed", "fuse-chunks")


def reading(f):
    for name, path in f.items():
        reader = {"reader": 1} if name in READER else {}
        if not name.startswith("map"):
            case(f"reading/{name}-members", "probe", a=path, keys="key:0:300", **reader)
            case(f"reading/{name}-absent", "probe", a=path, keys="absent:0:1000", **reader)
        if not name.endswith("-both"):  # of an intersection two numbers are NaN, whose sign differs between machines
            case(f"reading/{name}-stats", "stats", a=path)
    case("reading/unlocked-members", "probe", a=f["keyed"], unlock=SECRET, keys="key:0:300")
    case("reading/unlocked-absent", "probe", a=f["keyed"], unlock=SECRET, keys="absent:0:1000")
    case("reading/unlock-wrong-key", "open", a=f["keyed"], unlock="00" * 16)
    for value in ("7", "007", "0x7", "8", "seven", ""):
        case(f"reading/asked-as-int-{value or 'nothing'}", "ask", a=f["int"], key=value.encode().hex())


def damage(f):
    for name in ("blocked", "fuse-built", "bloom", "ribbon-built", "map-check", "cuckoo"):
        reader = {"reader": 1} if name in READER else {}
        for byte in (0, 7, 8, 9, 10, 11, 12, 13, 14, 16, 24, 32, 40, 44, 48, 55, 56, 63, 64, 68, 72, 80, 87, 88, 95, 100,
                     127, 128, 129, 150, 177):
            case(f"damage/{name}-flip-{byte}", "open", a=f[name], flip=8 * byte + byte % 8, **reader)
        for cut in (0, 1, 7, 8, 63, 64, 80, 88, 127, 128, 129, 170):
            case(f"damage/{name}-cut-{cut}", "open", a=f[name], cut=cut, **reader)
        case(f"damage/{name}-append", "open", a=f[name], append=1, **reader)
        case(f"damage/{name}-intact", "open", a=f[name], **reader)


def ranges():
    f = {}
    be4 = {"kind": "range", "fpr": 0.1, "range_length": 2, "range_keys": 1, "nkeys": 600}
    f["int"] = file("ranges/ordered-int", "build", kind="range", fpr=0.01, range_length=100, key_type="ordered-int",
                    keys="-1:0:300")
    f["float"] = file("ranges/ordered-float", "build", kind="range", fpr=0.01, range_length=1000, key_type="ordered-float",
                      keys="1e:0:300")
    f["date"] = file("ranges/ordered-date", "build", kind="range", bits_per_key=12, range_length=7, key_type="ordered-date",
                     keys="2024-02-1:0:10")
    f["decimal"] = file("ranges/decimal", "build", kind="range", fpr=0.01, range_length=10, range_keys=2,
                        range_delimiter=ord("/"), keys="user/:1000:300")
    f["be4"] = file("ranges/be4", "build", **be4, keys="key:100000:500")
    f["more"] = file("ranges/be4-more", "build", **be4, keys="key:100400:200")
    f["keyed"] = file("ranges/be4-keyed", "build", **be4, secret=SECRET, keys="key:100000:500")
    f["0"] = file("ranges/none", "build", **be4, keys="key:0:0")
    f["both"] = file("ranges/merged", "merge", a=f["be4"], b=f["more"])
    case("ranges/merge-of-two-kinds", "merge", a=f["be4"], b=f["decimal"])
    case("ranges/add", "add", kind="range", nkeys=10, fpr=0.01, range_length=10, keys="key:0:1")
    case("ranges/no-length", "build", kind="range", fpr=0.01, keys="key:1000000:1")
    case("ranges/no-value-of-the-type", "build", kind="range", fpr=0.01, range_length=10, key_type="ordered-date",
         keys="2023-02-2:5:9")
    for name, n, fpr in (("plan", 10**6, 0.01), ("plan-too-small", 10**6, 1e-18), ("plan-one", 1, 0.5)):
        case(f"ranges/{name}", "plan", kind="range", nkeys=n, fpr=fpr, range_length=1000)
    for name, keys, ends in (
        ("int", "-1:0:300", "-1:0:300"), ("int-below", "-3:0:300", "-2:0:300"), ("int-above", "1:0:300", "2:0:300"),
        ("int-upside-down", "-1:0:9", "-1:1:9"), ("int-no-value", "1x:0:9", "2x:0:9"), ("float", "1e:0:300", "1e:0:300"),
        ("float-points", "1.5e:0:300", "1.5e:0:300"), ("float-long", "1.5e:0:300", "1.5e:1:300"),
        ("date", "2024-02-1:0:10", "2024-02-1:0:10"), ("date-before", "2024-01-1:0:10", "2024-01-2:0:10"), ("decimal", "user/:1000:300", "user/:1000:300"),
        ("decimal-below", "user/:0:1000", "user/:9:1000"), ("decimal-above", "user/:1300:900", "user/:1309:900"),
        ("decimal-elsewhere", "group/:1000:300", "group/:1000:300"), ("decimal-two-prefixes", "group/:1:9", "user/:1:9"),
        ("be4", "key:100000:500", "key:100000:500"), ("be4-absent", "key:100500:2000", "key:100501:2000"),
        ("be4-pairs", "key:200000:2000", "key:200001:2000"), ("0", "key:100000:64", "key:100001:64"),
        ("more", "key:100000:700", "key:100001:700"), ("both", "key:100000:1000", "key:100001:1000"),
        ("keyed", "key:100000:64", "key:100001:64"),
    ):
        case(f"ranges/of-{name}", "ranges", a=f[name.split("-")[0]], keys=keys, ends=ends)
    case("ranges/of-keyed-unlocked", "ranges", a=f["keyed"], unlock=SECRET, keys="key:100500:500", ends="key:100501:500")
    case("ranges/of-a-bloom", "ranges", a="adding-bloom-300.bin", keys="key:0:9", ends="key:1:9")
    for name in ("float", "be4", "0", "both"):
        case(f"ranges/{name}-stats", "stats", a=f[name])
    case("ranges/probe", "probe", a=f["be4"], keys="key:100400:1000")
    for byte in (9, 40, 56, 64, 80, 88, 100, 130, 150, 200):
        case(f"ranges/damage-flip-{byte}", "open", a=f["be4"], flip=8 * byte + byte % 8)
    for cut in (0, 63, 88, 129, 500):
        case(f"ranges/damage-cut-{cut}", "open", a=f["be4"], cut=cut)


HAZARD = (10, 28, 37, 41, 51)  # of absent:0:64, those that are maybes
NOBODY = 5


def lab():
    f = {}
    for n, bits in ((0, 10), (1, 10), (100, 10), (100, 1), (300, 20)):
        f[n, bits] = file(f"lab/{n}-at-{bits}", "add", format="lab", nkeys=n, bits_per_key=bits, keys=f"key:0:{n}")
        case(f"lab/{n}-at-{bits}-members", "probe", format="lab", a=f[n, bits], keys="key:0:300")
        case(f"lab/{n}-at-{bits}-absent", "probe", format="lab", a=f[n, bits], keys="absent:0:1000")
    for name, damaged in {"cut-0": {"cut": 0}, "cut-11": {"cut": 11}, "k-0": {"flip": 0}, "m": {"flip": 32},
                          "append": {"append": 1}, "intact": {}}.items():
        case(f"lab/damage-{name}", "open", format="lab", a=f[1, 10], **damaged)
    case("lab/native-is-no-lab", "open", format="lab", a="adding-blocked-300.bin")
    # the experiments of doc/lab.md, which lab.py writes from their answers
    for bits in (4, 6, 8, 10, 12, 16):
        f = file(f"lab/fpr-{bits}", "add", format="lab", nkeys=1000, bits_per_key=bits, keys="key:0:1000")
        case(f"lab/fpr-{bits}-absent", "probe", format="lab", a=f, keys="absent:0:4000")
        f = file(f"lab/native-fpr-{bits}", "add", kind="bloom", nkeys=1000, bits_per_key=bits, keys="key:0:1000")
        case(f"lab/native-fpr-{bits}-absent", "probe", a=f, keys="absent:0:4000")
    for k in (1, 2, 4, 7, 10, 14, 20, 30, 60):
        f = file(f"lab/k-{k}", "add", kind="bloom", nkeys=1000, nbits=10000, k=k, keys="key:0:1000")
        case(f"lab/k-{k}-absent", "probe", a=f, keys="absent:0:4000")
    a, b, both = (file(f"lab/set-{name}", "add", format="lab", nkeys=600, bits_per_key=10, keys=keys)
                  for name, keys in (("a", "key:0:400"), ("b", "key:200:400"), ("a-and-b", "key:200:200")))
    file("lab/set-all", "add", format="lab", nkeys=600, bits_per_key=10, keys="key:0:600")
    union = file("lab/union", "merge", format="lab", a=a, b=b)
    intersection = file("lab/intersection", "intersect", format="lab", a=a, b=b)
    for name, path in (("union", union), ("intersection", intersection), ("a-and-b", both)):
        case(f"lab/{name}-members", "probe", format="lab", a=path, keys="key:0:600")
        case(f"lab/{name}-absent", "probe", format="lab", a=path, keys="absent:0:4000")
    case("lab/union-of-two-sizes", "merge", format="lab", a=a, b="lab-fpr-10.bin")
    case("lab/remove-from-bloom", "remove", a="adding-bloom-300.bin", keys="key:0:1")
    counted = file("lab/counting", "add", kind="counting", nkeys=100, fpr=0.25, keys="key:0:100")
    case("lab/counting-absent", "probe", a=counted, keys="absent:0:64")
    case("lab/counting-members", "probe", a=counted, keys="key:0:100")
    gone = file("lab/counting-right", "remove", a=counted, keys="key:0:50")
    case("lab/counting-right-rest", "probe", a=gone, keys="key:50:50")
    case("lab/counting-right-gone", "probe", a=gone, keys="key:0:50")
    # absent keys that test maybe (the answer to lab/counting-absent says which): removing them takes others out
    hazard = counted
    for i in HAZARD:
        hazard = file(f"lab/counting-wrong-{i}", "remove", a=hazard, keys=f"absent:{i}:1")
    case("lab/counting-wrong-members", "probe", a=hazard, keys="key:0:100")
    case("lab/counting-nobody", "remove", a=counted, keys=f"absent:{NOBODY}:1")


def statuses():
    for number in range(0, -15, -1):
        case(f"statuses/{-number}", "status", number=number)


def make_cases():
    hashing()
    keys()
    planning()
    f = building()
    combining(f)
    reading(f)
    damage(f)
    ranges()
    lab()
    statuses()
    names = [c["name"] for c in cases]
    assert len(names) == len(set(names)), "two cases of one name"
    for c in cases:
        assert not any('"' in v or "\\" in v for v in c.values()), c


def make(conformance, out):
    os.makedirs(os.path.join(out, "files"), exist_ok=True)
    text = "".join(json.dumps(c) + "\n" for c in cases)
    done = subprocess.run([conformance, out, "--answer"], input=text, stdout=subprocess.PIPE, text=True, check=True)
    with open(os.path.join(out, "vectors.jsonl"), "w", encoding="ascii") as vectors:
        vectors.write(done.stdout)


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ordered_key(description, text):
    """A text as a key of a range filter, by Python's own types."""
    if description == "ordered-int":
        number = int(text) + 2**63
    elif description == "ordered-date":
        number = (datetime.date.fromisoformat(text) - datetime.date(1970, 1, 1)).days + 2**63
    elif description == "ordered-float":
        bits, = struct.unpack(">Q", struct.pack(">d", float(text)))
        number = ~bits % 2**64 if bits >> 63 else bits | 2**63
    else:
        return text.encode()
    return number.to_bytes(8, "big")


def texts(spec):
    prefix, first, n = spec.split(":")
    return [f"{prefix}{i}" for i in range(int(first), int(first) + int(n))]


def second_answer(readers, c):
    """What the readers in plain Python of tests/golden say (read_nay.py; of range filters read_range.py); None: they have no
    such operation."""
    reader = readers[c.get("a", "").startswith("ranges-")]
    if c["op"] == "hash" and "secret" not in c:
        return f"{reader.xxh3(bytes.fromhex(c['key']), int(c['seed'])):016x}"
    if c["op"] not in ("open", "probe", "ranges") or "format" in c or c["want"] in ("EKEY", "ENOTSUP") or "map" in c["a"] or "maps" in c["a"]:
        return None
    with open(os.path.join(HERE, "files", c["a"]), "rb") as f:
        data = bytearray(f.read())
    if "flip" in c:
        data[int(c["flip"]) // 8] ^= 1 << int(c["flip"]) % 8
    data = bytes(data[: int(c["cut"])] if "cut" in c else data + b"\0" if "append" in c else data)
    try:
        secret = bytes.fromhex(c["unlock"]) if "unlock" in c else None
        opened = reader.NayFile(data, secret)
    except reader.Refused as refused:
        return refused.status.replace("NAY_", "")
    if c["op"] == "open":
        return "OK"
    keys, maybes = texts(c["keys"]), []
    if c["op"] == "probe":
        has = opened.may_contain if reader is readers[0] else lambda key: reader.Range.has(opened, key)
        maybes = [has(text.encode()) for text in keys]
    else:
        try:
            ends = [[ordered_key((opened.description or b"").decode(), text) for text in some] for some in (keys, texts(c["ends"]))]
        except ValueError:
            return "EINVAL"
        maybes = [reader.Range.ask(opened, lo, hi) for lo, hi in zip(*ends)]
    if None in maybes:
        return "EINVAL"
    bits = bytearray((len(keys) + 7) // 8)
    for i, maybe in enumerate(maybes):
        bits[i // 8] |= bool(maybe) << i % 8
    return bits.hex()


def check(conformance):
    n = failed = 0

    def report(ok, what, why=""):
        nonlocal n, failed
        n += 1
        failed += not ok
        print(f"{'ok' if ok else 'not ok'} {n} - {what}" + (f"\n# {why}" if not ok else ""), flush=True)

    with tempfile.TemporaryDirectory() as out:
        make(conformance, out)
        for root in (out, HERE):
            for name in ["vectors.jsonl", *sorted("files/" + x for x in os.listdir(os.path.join(root, "files")))]:
                if root == HERE and os.path.exists(os.path.join(out, name)):
                    continue
                pair = []
                for side in (out, HERE):
                    path = os.path.join(side, name)
                    pair.append(open(path, "rb").read() if os.path.exists(path) else None)
                report(pair[0] == pair[1], f"{name} is what make_vectors.py makes", "make_vectors.py CONFORMANCE")
    readers = [load(os.path.join(GOLDEN, folder, f"read_{name}.py"), f"second_{name}")
               for folder, name in (("native", "nay"), ("range", "range"))]
    compared = wrong = 0
    with open(os.path.join(HERE, "vectors.jsonl"), encoding="ascii") as vectors:
        for line in vectors:
            c = json.loads(line)
            got = second_answer(readers, c)
            compared += got is not None
            if got is not None and got != c["want"]:
                wrong += 1
                print(f"# {c['name']}: the second reader says {got}, not {c['want']}")
    report(wrong == 0 and compared > 300, f"{compared} answers are those of a second implementation")
    print(f"1..{n}")
    return failed != 0


if __name__ == "__main__":
    make_cases()
    if len(sys.argv) == 1:
        for c in cases:
            print(json.dumps(c))
    elif len(sys.argv) == 2:
        make(sys.argv[1], HERE)
    else:
        sys.exit(check(sys.argv[1]))
