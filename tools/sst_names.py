#!/usr/bin/env python3
"""Writes sst/names.h: other names for what libnaysst compiles of src/base and src/os a second time.

    tools/sst_names.py            writes the file
    tools/sst_names.py --check    compares it

The static archives of both libraries, and their amalgamations, then link into one program.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADER = ROOT / "sst/names.h"
DEFINITION = re.compile(r"^(?!static\b)[A-Za-z_][\w \*]*?[ \*](nay__\w+)\s*\(", re.M)


def sources():
    listed = re.search(r"set\(naysst_base(.*?)\)", (ROOT / "sst/CMakeLists.txt").read_text(), re.S)[1]
    return [ROOT / "src" / name for name in listed.split()]


def names():
    found = set()
    for path in sources():
        found |= set(DEFINITION.findall(re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)))
    return sorted(found)


def text():
    lines = ["/* names.h - names of the copy of base/ and os/ in libnaysst. Written by tools/sst_names.py. */",
             "#ifndef NAY_SST_NAMES_H", "#define NAY_SST_NAMES_H", ""]
    lines += [f"#define {name} nay_sst{name[3:]}" for name in names()]
    return "\n".join(lines + ["", "#endif /* NAY_SST_NAMES_H */", ""])


def main():
    if sys.argv[1:] == ["--check"]:
        if HEADER.read_text() != text():
            sys.exit("sst/names.h is not what tools/sst_names.py writes")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        HEADER.write_text(text())


if __name__ == "__main__":
    main()
