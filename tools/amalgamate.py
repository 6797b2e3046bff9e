#!/usr/bin/env python3
"""Writes the library as two files, nay.c and nay.h: drop them into a project and compile.

    tools/amalgamate.py [directory]        default: dist

nay.h holds all public headers. nay.c holds the sources in the order of CMakeLists.txt, which is
that of the layers; each private header stands where it is first needed, and a template
(*_template.h) wherever it is included. A macro that a .c file defines ends with that file, and
static names carry the name of their file, so nothing clashes.
The only thing needed beside the C library is <xxhash.h>. The same tree gives the same bytes.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
DEFINE = re.compile(r"^\s*#\s*define\s+(\w+)", re.M)
GUARDED = re.compile(r"^\s*#\s*ifndef\s+(\w+)", re.M)
UNDEF = re.compile(r"^\s*#\s*undef\s+(\w+)", re.M)
FEATURE = re.compile(r"^#define (_\w+_SOURCE)\b.*\n", re.M)

PREAMBLE = """\
/*
 * nay.c - libnay {version} in one file, made by tools/amalgamate.py from the sources of nay.
 * Compile it with your program:  cc -O2 -c nay.c
 * Inside a shared library add -fvisibility=hidden, so that its names stay inside; with -DNAY_SHARED
 * as well the public ones, and only they, are exported.
 *
{license} */
"""

# What CMakeLists.txt says with flags, the file must say itself: gcc fuses a * b + c by default where
# the CPU can, and the sizes that a plan computes are the same everywhere only without it.
PRAGMAS = """\
/* sizes must come out the same with and without fused multiply-add; and clang calls the inline
 * functions of a header unused when the header's text stands in the source itself */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#pragma clang diagnostic ignored "-Wunused-function"
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif
"""


def read(path):
    return (ROOT / path).read_text()


def version():
    text = read("include/nay.h")
    return ".".join(re.search(rf"NAY_VERSION_{part} (\d+)", text)[1] for part in ("MAJOR", "MINOR", "PATCH"))


def sources():
    """As CMakeLists.txt lists them, the files of its registries in their place."""
    text = read("CMakeLists.txt")
    listed = re.search(r"set\(nay_sources(.*?)\)\n", text, re.S)[1]
    for name, header, before in re.findall(r"^nay_registry_files\((\w+) (\S+) (\S+)\)", text, re.M):
        names = dict.fromkeys(re.findall(r"^  X\((\w+)", read(header), re.M))
        listed = listed.replace(f"${{{name}}}", " ".join(f"{before}{each}.c" for each in names))
    return re.findall(r"\S+\.c", listed)


def public_headers():
    """nay.h first, and each after those that it includes: their text replaces the includes."""
    order = []

    def place(name):
        if name in order:
            return
        for included in re.findall(r'^#include "(nay\w*\.h)"', read(f"include/{name}"), re.M):
            place(included)
        order.append(name)

    place("nay.h")
    for name in sorted(path.name for path in (ROOT / "include").glob("*.h")):
        place(name)
    return order


def banner(path):
    return f"\n/* ==== {path} {'=' * max(3, 86 - len(str(path)))} */\n"


class Amalgam:
    """The text of nay.c as it grows, and the headers that are in it already."""

    def __init__(self):
        self.seen = set(public_headers())
        self.out = []

    def add(self, path):
        text = FEATURE.sub("", read(path))
        self.out.append(banner(path))
        for line in text.splitlines(keepends=True):
            found = INCLUDE.match(line)
            if not found:
                self.out.append(line)
            elif found[1].endswith("_template.h") or found[1] not in self.seen:
                self.seen.add(found[1])
                self.add(f"src/{found[1]}")
        if path.endswith(".c"):
            local = set(DEFINE.findall(text)) - set(GUARDED.findall(text)) - set(UNDEF.findall(text))
            self.out += [f"#undef {name}\n" for name in sorted(local)]


def make_header():
    parts = []
    for name in public_headers():
        text = read(f"include/{name}")
        parts.append(re.sub(r'#include "nay\w*\.h"\n+', "", text))
    return "\n".join(parts)


def make_source():
    license = "".join(f" * {line}".rstrip() + "\n" for line in read("LICENSE").splitlines())
    features = {}
    for path in sources():
        features.update((found[1], found[0]) for found in FEATURE.finditer(read(path)))
    amalgam = Amalgam()
    for path in sources():
        amalgam.add(path)
    text = PREAMBLE.format(version=version(), license=license)
    for name in sorted(features):
        text += f"#ifndef {name}\n{features[name]}#endif\n"
    text += PRAGMAS + '\n#include "nay.h"\n' + "".join(amalgam.out)
    return re.sub(r"\n{3,}", "\n\n", text)


def main():
    if any(word.startswith("-") for word in sys.argv[1:]) or len(sys.argv) > 2:
        sys.exit(__doc__)  # --help is no directory
    directory = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist")
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in (("nay.h", make_header()), ("nay.c", make_source())):
        (directory / name).write_text(text)
        print(f"wrote {directory / name}: {text.count(chr(10)):,} lines, {len(text.encode()):,} bytes")


if __name__ == "__main__":
    main()
