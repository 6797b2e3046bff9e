#!/usr/bin/env python3
"""Writes the library as two files, nay.c and nay.h: drop them into a project and compile.

    tools/amalgamate.py [--sst] [directory]        default: dist

--sst writes naysst.c and naysst.h as well, the library of tables, which stands on nay.h.
A header file holds all public headers of its library. A source file holds the sources in the order of
CMakeLists.txt, which is that of the layers; each private header stands where it is first needed, and a
template (*_template.h) wherever it is included. A macro that a .c file defines ends with that file, and
static names carry the name of their file, so nothing clashes. naysst.c has a copy of base/ and os/ under
the names of sst/names.h, so both link into one program.
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
 * {name}.c - lib{name} {version} in one file, made by tools/amalgamate.py from the sources of nay.
 * Compile it with your program:  cc -O2 -c {name}.c
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


class Library:
    """What the files of a library are made of: where its headers, its sources and its version are."""

    def __init__(self, name, include, roots, header, macro):
        self.name, self.include, self.roots, self.header, self.macro = name, include, roots, header, macro

    def version(self):
        text = read(f"{self.include}/{self.header}")
        return ".".join(re.search(rf"{self.macro}_{part} (\d+)", text)[1] for part in ("MAJOR", "MINOR", "PATCH"))

    def public_headers(self):
        """Each after those that it includes: their text replaces the includes."""
        names = sorted(path.name for path in (ROOT / self.include).glob("*.h"))
        order = []

        def place(name):
            if name in order:
                return
            for included in re.findall(r'^#include "(nay\w*\.h)"', read(f"{self.include}/{name}"), re.M):
                if included in names:
                    place(included)
            order.append(name)

        for name in [self.header] + names:
            place(name)
        return order

    def path(self, included):
        """The file that an #include means."""
        return next(f"{root}/{included}" for root in self.roots if (ROOT / root / included).exists())


NAY = Library("nay", "include", ["src"], "nay.h", "NAY_VERSION")
SST = Library("naysst", "sst/include", ["sst", "src"], "nay_sst.h", "NAY_SST_VERSION")


def version():
    return NAY.version()


def sources():
    """Those of libnay, as CMakeLists.txt lists them, the files of its registries in their place."""
    text = read("CMakeLists.txt")
    listed = re.search(r"set\(nay_sources(.*?)\)\n", text, re.S)[1]
    for name, header, before in re.findall(r"^nay_registry_files\((\w+) (\S+) (\S+)\)", text, re.M):
        names = dict.fromkeys(re.findall(r"^  X\((\w+)", read(header), re.M))
        listed = listed.replace(f"${{{name}}}", " ".join(f"{before}{each}.c" for each in names))
    return re.findall(r"\S+\.c", listed)


def sst_sources(base=True):
    """Those of libnaysst, as sst/CMakeLists.txt lists them; base: with its copy of base/ and os/."""
    text = read("sst/CMakeLists.txt")
    shared, own = (re.search(rf"set\({name}(.*?)\)", text, re.S)[1].split() for name in ("naysst_base", "naysst_sources"))
    return [f"src/{name}" for name in shared if base] + [f"sst/{name}" for name in own]


def banner(path):
    return f"\n/* ==== {path} {'=' * max(3, 86 - len(str(path)))} */\n"


class Amalgam:
    """The text of a source file as it grows, and the headers that are in it already."""

    def __init__(self, library):
        self.library = library
        self.seen = set(NAY.public_headers()) | set(library.public_headers())
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
                self.add(self.library.path(found[1]))
        if path.endswith(".c"):
            local = set(DEFINE.findall(text)) - set(GUARDED.findall(text)) - set(UNDEF.findall(text))
            self.out += [f"#undef {name}\n" for name in sorted(local)]


def make_header(library):
    parts = [] if library is NAY else ['#include "nay.h"\n']
    for name in library.public_headers():
        text = read(f"{library.include}/{name}")
        parts.append(re.sub(r'#include "nay\w*\.h"\n+', "", text))
    return "\n".join(parts)


def make_source(library):
    paths = sources() if library is NAY else sst_sources()
    license = "".join(f" * {line}".rstrip() + "\n" for line in read("LICENSE").splitlines())
    features = {}
    for path in paths:
        features.update((found[1], found[0]) for found in FEATURE.finditer(read(path)))
    amalgam = Amalgam(library)
    for path in paths:
        amalgam.add(path)
    text = PREAMBLE.format(name=library.name, version=library.version(), license=license)
    for name in sorted(features):
        text += f"#ifndef {name}\n{features[name]}#endif\n"
    if library is SST:
        text += read("sst/names.h")
    text += PRAGMAS + f'\n#include "{library.name}.h"\n' + "".join(amalgam.out)
    return re.sub(r"\n{3,}", "\n\n", text)


def main():
    words = sys.argv[1:]
    libraries = [NAY] + [SST] * ("--sst" in words)
    words = [word for word in words if word != "--sst"]
    if any(word.startswith("-") for word in words) or len(words) > 1:
        sys.exit(__doc__)  # --help is no directory
    directory = pathlib.Path(words[0] if words else ROOT / "dist")
    directory.mkdir(parents=True, exist_ok=True)
    for library in libraries:
        for name, text in ((f"{library.name}.h", make_header(library)), (f"{library.name}.c", make_source(library))):
            (directory / name).write_text(text)
            print(f"wrote {directory / name}: {text.count(chr(10)):,} lines, {len(text.encode()):,} bytes")


if __name__ == "__main__":
    main()
