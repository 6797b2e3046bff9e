#!/usr/bin/env python3
"""Copies filters that other systems' own code wrote, and puts its answers into one text for C.

    make_engine_vectors.py VECTORS OUT

VECTORS has a directory for each system, and a manifest.json in it or beside it. OUT/engines/SYSTEM gets the files, and
OUT/engines/vectors.txt a row of fields, separated by tabs, for each:

    filter  FILE  LAYOUT  KEYS  N  OP  SIZED_FOR  SIZED_BY  K  BITS  ABSENT_KEYS  FROM  ABSENT

KEYS is a key set of foreign_vectors.h, whose keys 0 .. N-1 were added; OP is "-", or "or" or "and": of the filters of the keys
0 .. 2N/3 - 1 and N/3 .. N - 1. SIZED_BY is a list of fields of nay_params, name=value,..., or "-" where the filter is only
read; secret= is its secret key, in hex; skip=24 and skip=last are bytes that are not compared when it is built again. ABSENT is in hex: bit j is the engine's answer for key FROM + j of ABSENT_KEYS; "-" where it was not asked.

    block  FILE  KEY  FILTER  ITEMS

are the blocks of BIP158's own vectors, in hex: the scripts of a block and of what it spends, separated by commas.
"""
import json
import pathlib
import shutil
import sys

HARNESS = 10_000_000
SPARK_KEYS = {"seq": "i64le", "rnd": "sm64le", "neg": "neg64le", "mul": "mul64le", "u64le": "sm64le"}


def harness_absent(keys, vector):
    return [keys, HARNESS, vector["absent_hex"]]


def guava(vectors, source):
    for v in vectors:
        probes = (source / v["file"]).read_bytes()[1]  # 31.1 has the rule for k of before 33.4.0
        k = v["file"].split("_")
        layout = "guava-mitz32" if k[1] == "mitz32" else "guava"
        keys = {"str": "str", "u64le": "i64le", "varlen": "varlen"}[v["key_set"]]
        if "Chars" in v["funnel"]:
            keys = "str16"
        bits = bytearray(250)
        for i in v.get("abs_probe_2000_positives", []):
            bits[i >> 3] |= 1 << (i & 7)
        absent = ["abs", 0, bits.hex()] if "abs_probe_2000_positives" in v else ["-", 0, "-"]
        yield v["file"], [layout, keys, v["n"], "-", v["expected_insertions"], f"fpr={v['fpp']},k={probes}", probes, 0] + absent


def dcso(vectors, _):
    for v in vectors:
        yield v["file"], ["dcso", v["key_set"], v["n"], "-", v["expected_insertions"], f"fpr={v['fpp']}", 0, 0, "-", 0, "-"]


def spark(vectors, _):
    for v in vectors:
        p = v["params"]
        sql = p["put"].startswith("sql")
        keys = SPARK_KEYS.get(v["keys"], v["keys"])
        if p["put"] == "sqlint":
            keys = "i32le"
        by = f"nbits={p['bits']}" if "bits" in p else f"fpr={p['fp']}"
        if p.get("seed"):
            by += f",seed={p['seed']}"
        yield "spark/" + v["file"], [f"spark-{'sql-' if sql else ''}v{p['version']}", keys, v["n"], p.get("op", "-"),
                                     p.get("expected", max(1, v["n"])), by, v["k"], v["bits"]] + harness_absent(keys, v)


def bits_and_blooms(vectors, _):
    for v in vectors:
        p = v["params"]
        keys = SPARK_KEYS.get(v["keys"], v["keys"])
        layout = "bits-and-blooms" + ("-json" if p["form"] == "json" else "") + ("-le" if p["order"] == "le" else "")
        by = f"nbits={p['m']},k={p['k']}" if "m" in p else f"fpr={p['fp']}"
        if p.get("m") == 0:
            by = "-"
        yield "bitsandblooms/" + v["file"], [layout, keys, v["n"], p.get("op", "-"), p.get("sized", v["n"]), by, v["k"],
                                             v["m"]] + harness_absent(keys, v)


def datasketches(vectors, source):
    for v in vectors:
        p = v["params"]
        if v["keys"] == "dbl" or p.get("op") in ("invert", "count") or (v["keys"] == "emptyfirst"):
            by = "-"  # read only: keys of another kind, or filters that the engines changed otherwise
        else:
            by = f"nbits={p['bits']}" if "bits" in p else f"fpr={p['fp']}"
            by += f",k={v['k']},seed={p.get('seed', 0)},skip=24"  # the count of set bits depends on the caller
        keys = {"dbl": "dbl", **SPARK_KEYS}.get(v["keys"], v["keys"])
        if (source / "datasketches" / v["file"]).stat().st_size <= 24:
            by = "-"
        op = p["op"] if p.get("op") in ("or", "and") else "-"
        n = 0 if p.get("op") == "invert" or v["keys"] == "emptyfirst" else v["n"]
        yield "datasketches/" + v["file"], ["datasketches", keys, n, op, p.get("sized", v["n"]), by, v["k"],
                                            v["bits"]] + harness_absent(keys, v)


def bitcoin(vectors, _):
    for v in vectors:
        if v["kind"] == "gcs":
            yield from bip158(v)
        if v["kind"] != "bip37":
            continue
        p = v["params"]
        keys = SPARK_KEYS.get(v["keys"], v["keys"])
        by = f"fpr={p['fp']},k={v['k']},seed={p['tweak']},skip=last" if v["k"] else "-"
        yield "bitcoin/" + v["file"], ["bip37", keys, v["n"], "-", p["sized"], by, v["k"], 8 * v["filter_bytes"]] + \
            harness_absent(keys, v)


def bip158(v):
    p = v["params"]
    if (p["P"], p["M"]) != (19, 784931):  # sets that no block has
        return
    keys = SPARK_KEYS.get(v["keys"], v["keys"])
    yield "bitcoin/" + v["file"], ["bip158", keys, v["n"], "-", max(1, v["n"]), f"fpr=0.5,secret={p['sipkey']}", 1, 0] + \
        harness_absent(keys, v)


class Block:
    """The output scripts in the bytes of a block."""

    def __init__(self, raw):
        self.raw, self.at = raw, 0

    def take(self, n):
        self.at += n
        return self.raw[self.at - n:self.at]

    def count(self):
        n = self.take(1)[0]
        return n if n < 0xfd else int.from_bytes(self.take(2 << (n - 0xfd)), "little")

    def scripts(self):
        self.take(80)
        for _ in range(self.count()):
            self.take(4)
            witness = self.raw[self.at:self.at + 2] == b"\0\1"
            if witness:
                self.take(2)
            inputs = self.count()
            for _ in range(inputs):
                self.take(36)
                self.take(self.count())
                self.take(4)
            for _ in range(self.count()):
                self.take(8)
                yield self.take(self.count())
            for _ in range(inputs if witness else 0):
                for _ in range(self.count()):
                    self.take(self.count())
            self.take(4)


def blocks(source):
    for _, block_hash, block, spent, _, gcs, *_ in json.loads((source / "bitcoin" / "testnet-19.json").read_text())[1:]:
        items = [s.hex() for s in Block(bytes.fromhex(block)).scripts() if s and s[0] != 0x6a] + [s for s in spent if s]
        yield "\t".join(["block", "testnet-19.json", bytes.fromhex(block_hash)[::-1][:16].hex(), gcs, ",".join(items) or "-"])


def xorfilter(vectors, _):
    for v in vectors:
        p = v["params"]
        kind, bits = p["type"].rstrip("0123456789"), p["type"].lstrip("fusexor")
        layout = {"fuse": "binary-fuse", "xor": "xor"}[kind] + bits + ("-packed" if p["form"] == "pack" else "")
        keys = SPARK_KEYS.get(v["keys"], v["keys"])
        by = "-" if p["fill"] else "fpr=0.5"  # cells of no key hold what memory held
        yield "xorfilter/" + v["file"], [layout, keys, v["n"], "-", max(1, v["n"]), by, 3, 0] + harness_absent(keys, v)


SYSTEMS = {"guava": guava, "dcso": dcso, "spark": spark, "bitsandblooms": bits_and_blooms, "datasketches": datasketches,
           "bitcoin": bitcoin, "xorfilter": xorfilter}


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    source, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]) / "engines"
    common = json.loads((source / "manifest.json").read_text())["vectors"]
    lines = ["# see make_engine_vectors.py for the fields\n"]
    for system, rows in SYSTEMS.items():
        own = source / system / "manifest.json"
        vectors = json.loads(own.read_text())["vectors"] if own.exists() else [v for v in common if v["engine"] == system]
        vectors = [v for v in vectors if not v.get("present_denied")]  # DataSketches ignores empty texts
        for name, fields in rows(vectors, source):
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, out / name)
            lines.append("\t".join(map(str, ["filter", name] + fields)) + "\n")
    lines += [row + "\n" for row in blocks(source)]
    (out / "vectors.txt").write_text("".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
