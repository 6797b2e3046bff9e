#!/usr/bin/env python3
"""Fails when a source file includes something from a layer to its right, or libc where it must not.

    base <- os, key, hash, cpu, math <- family, redis <- filter.c, batch.c <- build <- format <- policy <- sst
    cli, plugins, examples, bench, web: only the public headers, but for the files of web/wasm in INSIDERS
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RANK = {"base": 0, "os": 1, "key": 1, "hash": 1, "cpu": 1, "math": 1, "family": 2, "redis": 2, "": 3, "build": 4,
        "format": 5, "policy": 6, "sst": 7}
LIBC_LAYERS = {"base", "os"}
# web/wasm is a platform of the library, not a user: it implements os/ there, and reports each step of a probe
INSIDERS = {"web/wasm/os_wasm.c": {"os"}, "web/wasm/trace.c": {"base"}, "web/wasm/exports.c": {"base", "hash", ""}}
PUBLIC = {path.name for path in (ROOT / "include").glob("*.h")}
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.M)


def library_faults(path):
    layer = path.relative_to(ROOT / "src").parts[0] if path.parent != ROOT / "src" else ""
    for quote, name in INCLUDE.findall(path.read_text()):
        if quote == "<":
            allowed = layer in LIBC_LAYERS or name == "xxhash.h" or (layer == "cpu" and "intrin" in name)
            if not allowed and name not in ("arm_neon.h", "arm_acle.h"):
                yield f"includes <{name}>: only src/base and src/os use libc headers"
            continue
        if name in PUBLIC:
            continue
        target = name.split("/")[0] if "/" in name else ""
        if target not in RANK:
            yield f'includes "{name}": not a layer'
        elif RANK[target] > RANK[layer] or (RANK[target] == RANK[layer] and target != layer):
            yield f'includes "{name}": {target or "the handle"} is not to the left of {layer or "the handle"}'


def user_faults(path):
    inside = INSIDERS.get(path.relative_to(ROOT).as_posix(), set())
    for quote, name in INCLUDE.findall(path.read_text()):
        own = (path.parent / name).exists()
        layer = name.split("/")[0] if "/" in name else ""
        if quote == '"' and not own and name not in PUBLIC and layer not in inside:
            yield f'includes "{name}": only public headers here'


def main():
    faults = []
    for path in sorted((ROOT / "src").rglob("*.[ch]")):
        faults += [(path, fault) for fault in library_faults(path)]
    for directory in ("cli", "plugins", "examples", "bench", "web"):
        paths = sorted((ROOT / directory).rglob("*.[ch]"))
        if not paths:
            faults.append((ROOT / directory, "has no C sources: it is checked for nothing"))
        for path in paths:
            faults += [(path, fault) for fault in user_faults(path)]
    names = {}
    for path in sorted((ROOT / "src").rglob("*.c")):
        if path.name in names:
            faults.append((path, f"has the name of {names[path.name]}: file names are unique"))
        names[path.name] = path.relative_to(ROOT)
    for path, fault in faults:
        print(f"{path.relative_to(ROOT)}: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
