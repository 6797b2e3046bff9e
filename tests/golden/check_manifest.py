#!/usr/bin/env python3
"""Compares the golden files with the sha256 that MANIFEST.md states, and prints TAP.

    check_manifest.py           every listed file is there and is what it was; none is unlisted
    check_manifest.py --list    the table, for MANIFEST.md, after a file was added
"""
import hashlib
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
OWN = ("list", "map", "native", "range")  # ours, listed by their own manifests
ROW = re.compile(r"^\| `([^`]+)` \| `([0-9a-f]{64})` \|$", re.M)


def actual():
    directories = [d for d in HERE.iterdir() if d.is_dir() and d.name not in OWN and d.name != "__pycache__"]
    paths = [p for directory in directories for p in directory.rglob("*") if p.is_file()] + [HERE / "seed_layouts.txt"]
    return {str(p.relative_to(HERE)): hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(paths)}


def main():
    files = actual()
    if sys.argv[1:] == ["--list"]:
        for name, digest in files.items():
            print(f"| `{name}` | `{digest}` |")
        return 0
    listed = dict(ROW.findall((HERE / "MANIFEST.md").read_text()))
    wrong = [name for name in sorted(files.keys() | listed.keys()) if files.get(name) != listed.get(name)]
    print(f"{'not ' if wrong or not files else ''}ok 1 - {len(files)} golden files are as MANIFEST.md lists them")
    for name in wrong:
        print(f"# {name}: changed, missing or not listed")
    print("1..1")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
