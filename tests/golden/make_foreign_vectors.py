#!/usr/bin/env python3
"""Copies files that nori and mini-lsm wrote, and puts their engines' answers into one text for C.

    make_foreign_vectors.py VECTORS OUT [MOST]

VECTORS has the directories nori and minilsm, each with a manifest.json. For each, OUT/nori-engine or
OUT/mini-lsm-engine gets the files of at most MOST bytes (default: 36000) and vectors.txt, with a row
of fields, separated by tabs, for each file:

    filter  FILE  LAYOUT  KEYS  N  SIZED_FOR  BITS  DENIED  ABSENT_FIRST  ABSENT
    table   FILE  FORM    KEYS  N  ENTRIES  BLOCKS  ENTRIES_CRC  DENIED  ABSENT_FIRST  ABSENT  WRITER...

DENIED are the i of present keys that the engine's own filter denies, separated by commas, or -. ABSENT
is in hex: bit j is the answer for absent key ABSENT_FIRST + j; - when there is no filter. ENTRIES_CRC is
the CRC-32 of the engine's list of entries, its lines without the header. WRITER: what the table was
written with, as name=value.
"""
import json
import pathlib
import shutil
import sys
import zlib

LAYOUTS = {"37f7201": "nori12-unrounded", "390efce": "nori12", "w1d7": "mini-lsm-week1", "w2": "mini-lsm"}


def denied(answers):
    numbers = answers.get("present_answered_no", answers.get("filter_no_for_present"))
    return ",".join(map(str, numbers)) or "-"


def filter_row(vector, answers):
    params = vector["params"]
    layout = LAYOUTS.get(vector.get("form", vector["commit"]))
    bits = params.get("bits_per_key", params.get("remainder_bits"))
    if vector["kind"] == "quotient":
        layout = "nori-quotient-compact" if params["compact"] else "nori-quotient"
    return ["filter", vector["file"], layout, vector["keys"], vector["n"],
            params.get("sized_for", vector["n"]), bits, denied(answers), answers["absent_first"],
            answers["absent_hex"]]


def table_row(vector, answers, source):
    lines = (source / vector["entries"]).read_text().splitlines(keepends=True)
    crc = zlib.crc32("".join(lines[1:]).encode())
    writer = [f"{name}={value}" for name, value in vector["params"].items() if name != "values"]
    return ["table", vector["file"], vector.get("form", vector["commit"]), vector["keys"], vector["n"],
            answers["entry_count"], answers["blocks"], f"{crc:08x}", denied(answers),
            answers["absent_first"], answers["absent_filter_hex"] or "-", *writer]


def convert(source, out, most):
    out.mkdir(parents=True, exist_ok=True)
    rows = []
    for vector in json.loads((source / "manifest.json").read_text())["vectors"]:
        if vector["bytes"] > most:
            continue
        answers = json.loads((source / vector["answers"]).read_text())
        is_table = vector["kind"] == "sst"
        rows.append(table_row(vector, answers, source) if is_table else filter_row(vector, answers))
        shutil.copyfile(source / vector["file"], out / vector["file"])
    text = "".join("\t".join(map(str, row)) + "\n" for row in rows)
    (out / "vectors.txt").write_text("# see make_foreign_vectors.py for the fields\n" + text)


def main():
    if len(sys.argv) not in (3, 4):
        print(__doc__, file=sys.stderr)
        return 2
    most = int(sys.argv[3]) if len(sys.argv) == 4 else 36000
    for name, out in (("nori", "nori-engine"), ("minilsm", "mini-lsm-engine")):
        convert(pathlib.Path(sys.argv[1]) / name, pathlib.Path(sys.argv[2]) / out, most)
    return 0


if __name__ == "__main__":
    sys.exit(main())
