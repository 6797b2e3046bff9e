#!/usr/bin/env python3
"""Fails when a source file includes something from a layer to its right, or libc where it must not.

    base <- os <- key, hash, cpu, math <- family, redis <- filter.c, batch.c <- build <- format <- policy <- sst
    cli, plugins, examples, bench, web: only the public headers, but for the files of web/wasm in INSIDERS
    and the private header of EXCEPTIONS
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RANK = {"base": 0, "os": 1, "key": 2, "hash": 2, "cpu": 2, "math": 2, "family": 3, "redis": 3, "": 4, "build": 5,
        "format": 6, "policy": 7, "sst": 8}
# base/ takes what C11 has on every machine, no header of an operating system: those are for os/ alone
ISO_C = {"assert.h", "limits.h", "stdbool.h", "stddef.h", "stdint.h", "stdlib.h", "string.h"}
# web/wasm is a platform of the library, not a user: it implements os/ there, and reports each step of a probe
INSIDERS = {"web/wasm/os_wasm.c": {"os"}, "web/wasm/trace.c": {"base"}, "web/wasm/exports.c": {"base", "hash", ""}}
# the module for Redis links the static library and takes RedisBloom's chains from one private header
EXCEPTIONS = {"plugins/redis": {"redis/redis.h"}}
PUBLIC = {path.name for path in (ROOT / "include").glob("*.h")}
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.M)


def library_faults(path):
    layer = path.relative_to(ROOT / "src").parts[0] if path.parent != ROOT / "src" else ""
    for quote, name in INCLUDE.findall(path.read_text()):
        if quote == "<":
            libc = layer == "os" or (layer == "base" and name in ISO_C)
            if not (libc or name == "xxhash.h" or (layer in ("cpu", "sst") and "intrin" in name) or name.startswith("arm_")):
                yield f"includes <{name}>: src/os includes any header, src/base those of C11, others none"
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
    taken = EXCEPTIONS.get(path.parent.relative_to(ROOT).as_posix(), set())
    for quote, name in INCLUDE.findall(path.read_text()):
        own = (path.parent / name).exists()
        layer = name.split("/")[0] if "/" in name else ""
        private = not own and name not in PUBLIC if quote == '"' else (ROOT / "src" / name).exists()
        if private and layer not in inside and name not in taken:
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
