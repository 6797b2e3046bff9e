#!/usr/bin/env python3
"""Fails when a source file includes something of an equal or higher rank, or libc where it must not.

    src/  libnay      base 0 | os 1 | key hash cpu math 2 | family redis 3 | *.c 4 | build 5 | format 6 | policy 7
    sst/  libnaysst   *.h 0 | io cache plan 1 | block lake 2 | foreign 3 | table 4 | filters tree 5

A folder includes its own files and those of lower ranks. sst/ takes the public headers, base/ and os/ of libnay, and
nothing else of src/. cli, plugins, examples, bench, web: only the public headers, but for the files of INSIDERS and
the private header of EXCEPTIONS. In sst/ no two file names differ by a letter, or by singular and plural.
"""
import itertools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RANKS = {"src": {"base": 0, "os": 1, "key": 2, "hash": 2, "cpu": 2, "math": 2, "family": 3, "redis": 3, "": 4, "build": 5,
                 "format": 6, "policy": 7},
         "sst": {"": 0, "io": 1, "cache": 1, "plan": 1, "block": 2, "lake": 2, "foreign": 3, "table": 4, "filters": 5, "tree": 5}}
SHARED = {"base", "os"}  # compiled into both libraries: sst/names.h
# base/ takes what C11 has on every machine, no header of an operating system: those are for os/ alone
ISO_C = {"assert.h", "limits.h", "stdbool.h", "stddef.h", "stdint.h", "stdlib.h", "string.h"}
# web/wasm is a platform of the library, not a user: it implements os/ there, and reports each step of a probe
INSIDERS = {"web/wasm/os_wasm.c": {"os"}, "web/wasm/trace.c": {"base"}, "web/wasm/exports.c": {"base", "hash", ""}}
# the module for Redis links the static library and takes RedisBloom's chains from one private header; the extensions of
# SQL engines share plugins/sql
EXCEPTIONS = {"plugins/redis": {"redis/redis.h"}, "plugins/sqlite": {"nay_sql.h"},
              "plugins/postgres": {"nay_sql.h"}, "plugins/duckdb": {"nay_sql.h"}}
PUBLIC = {"src": {path.name for path in (ROOT / "include").glob("*.h")},
          "sst": {path.name for folder in ("include", "sst/include") for path in (ROOT / folder).glob("*.h")}}
INTRINSICS = {"cpu", "block"}  # kernels; CRC-32C
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.M)


def system_fault(layer, name):
    libc = layer == "os" or (layer == "base" and name in ISO_C)
    if not (libc or name == "xxhash.h" or (layer in INTRINSICS and ("intrin" in name or name.startswith("arm_")))):
        return f"includes <{name}>: src/os includes any header, src/base those of C11, others none"
    return None


def library_faults(tree, path):
    rank = RANKS[tree]
    layer = path.relative_to(ROOT / tree).parts[0] if path.parent != ROOT / tree else ""
    if layer not in rank:
        yield f"{layer}/ has no rank"
        return
    for quote, name in INCLUDE.findall(path.read_text()):
        if quote == "<":
            if fault := system_fault(layer, name):
                yield fault
            continue
        target = name.split("/")[0] if "/" in name else ""
        if name in PUBLIC[tree] or (tree == "sst" and target in SHARED):
            continue
        if target not in rank:
            yield f'includes "{name}": not a folder of {tree}/'
        elif rank[target] > rank[layer] or (rank[target] == rank[layer] and target != layer):
            yield f'includes "{name}": {target or "the handle"} does not rank below {layer or "the handle"}'


def user_faults(path):
    inside = INSIDERS.get(path.relative_to(ROOT).as_posix(), set())
    taken = EXCEPTIONS.get(path.parent.relative_to(ROOT).as_posix(), set())
    for quote, name in INCLUDE.findall(path.read_text()):
        own = (path.parent / name).exists()
        layer = name.split("/")[0] if "/" in name else ""
        private = not own and name not in PUBLIC["sst"] if quote == '"' else (ROOT / "src" / name).exists()
        if private and layer not in inside and name not in taken:
            yield f'includes "{name}": only public headers here'


def alike(a, b):
    """Whether two names differ by one letter, or by the plural of a word."""
    if [word.rstrip("s") for word in a.split("_")] == [word.rstrip("s") for word in b.split("_")]:
        return True
    short, long = sorted((a, b), key=len)
    if len(short) == len(long):
        return sum(x != y for x, y in zip(a, b)) == 1
    return any(long[:i] + long[i + 1:] == short for i in range(len(long)))


def sources(tree):
    return (path for path in sorted((ROOT / tree).rglob("*.[ch]")) if path.parent != ROOT / "sst/include")


def main():
    faults, names = [], {}
    for tree in RANKS:
        for path in sources(tree):
            faults += [(path, fault) for fault in library_faults(tree, path)]
            if path.suffix == ".c" and path.name in names:
                faults.append((path, f"has the name of {names[path.name]}: file names are unique"))
            names[path.name] = path.relative_to(ROOT)
    stems = sorted({path.stem for path in sources("sst")})
    faults += [(ROOT / "sst", f"{a} and {b} are names to confuse") for a, b in itertools.combinations(stems, 2) if alike(a, b)]
    for directory in ("cli", "plugins", "examples", "bench", "web"):
        paths = sorted((ROOT / directory).rglob("*.[ch]"))
        if not paths:
            faults.append((ROOT / directory, "has no C sources: it is checked for nothing"))
        for path in paths:
            faults += [(path, fault) for fault in user_faults(path)]
    for path, fault in faults:
        print(f"{path.relative_to(ROOT)}: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
