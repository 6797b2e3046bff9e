#!/usr/bin/env python3
"""Copies Filter.db files that Cassandra's own classes wrote, and puts its answers into one text for C.

    make_cassandra_vectors.py VECTORS OUT

VECTORS/cassandra has the files and a manifest.json. OUT/cassandra gets them all, and vectors.txt with a row of
fields, separated by tabs, for each file:

    filter  FILE  LAYOUT  KEYS  N  SIZED_FOR  SIZED_BY  K  BITS  ABSENT

KEYS is a key set of foreign_vectors.h, whose keys 0 .. N-1 are the members, or hex= and the members themselves,
separated by commas. SIZED_BY is fpr=CHANCE, bits=B, or - where a running Cassandra wrote the file. ABSENT is in
hex: bit j is the answer for key 10,000,000 + j of the key set (of key8 where KEYS lists the members).
"""
import json
import pathlib
import shutil
import sys

LAYOUTS = {"new": "cassandra", "old": "cassandra-old", "old-swapped": "cassandra-old-swapped"}


def row(vector):
    params = vector.get("params", {})
    keys, sized_by = vector["keys"], "-"
    if "keys_hex" in vector:
        assert keys == "key8"
        keys = "hex=" + ",".join(vector["keys_hex"])
    if "fp" in params:
        sized_by = "fpr=" + params["fp"]
    if "buckets" in params:
        sized_by = f"bits={params['buckets']}"
    assert not vector.get("present_denied")
    return ["filter", vector["file"], LAYOUTS[params.get("form", vector.get("form"))], keys, vector["n"],
            params.get("sized", vector["n"]), sized_by, vector["k"], vector["capacity"], vector["absent_hex"]]


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    source, out = (pathlib.Path(word) / "cassandra" for word in sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    vectors = json.loads((source / "manifest.json").read_text())["vectors"]
    for vector in vectors:
        shutil.copyfile(source / vector["file"], out / vector["file"])
    text = "".join("\t".join(map(str, row(vector))) + "\n" for vector in vectors)
    (out / "vectors.txt").write_text("# see make_cassandra_vectors.py for the fields\n" + text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
