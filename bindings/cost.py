#!/usr/bin/env python3
"""What a call costs in each language, and over C, in one run; the table of doc/lab.md and the figures that it states.

    cost.py BUILD [PATH]      BUILD has an optimised libnay (build/release); PATH packages of Python to compare with, or none

1,000 keys of 4 to 6 bytes, a blocked filter of an FPR of 1% in the cache, one thread. Each program takes the least of several
runs, those of Rust and C++ in turn with C's. A language whose tools are not here is left out.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent
NUMBER = r"([0-9.]+)"


def output(*command, **env):
    done = subprocess.run([str(c) for c in command], env={**os.environ, **env}, stdout=subprocess.PIPE, text=True)
    return done.stdout if done.returncode == 0 else ""


def found(text, pattern):
    numbers = re.search(pattern, text)
    return [float(x) for x in numbers.groups()] if numbers else None


def python():
    """In a process of its own: ns of `key in filter` without the loop, and of a batch."""
    import libnay

    keys = [f"key{i}" for i in range(1000)]
    f = libnay.Filter.build(keys, 0.01, kind="blocked")
    least = {"loop": 1e9, "one": 1e9, "many": 1e9}

    def run(name, call, times):
        begun = time.perf_counter_ns()
        for _ in range(times):
            call()
        least[name] = min(least[name], (time.perf_counter_ns() - begun) / times / len(keys))

    def loop():
        for k in keys:
            pass

    def one():
        for k in keys:
            k in f

    for _ in range(20):
        run("loop", loop, 200)
        run("one", one, 200)
        run("many", lambda: f.check_many(keys), 200)
    print(f"one: {least['one'] - least['loop']:.2f} loop: {least['loop']:.2f} many: {least['many']:.2f}")


JAVASCRIPT = """
import { load } from 'MODULE';
const { Filter } = await load(), keys = Array.from({ length: 1000 }, (_, i) => `key${i}`);
const f = Filter.build(keys, { kind: 'blocked', fpr: 0.01, nkeys: 1000 });
let sum = 0;
const least = [1e9, 1e9], calls = [() => { for (const k of keys) sum += f.has(k); }, () => { sum += f.hasMany(keys)[0]; }];
for (let run = 0; run < 20; run++) calls.forEach((call, which) => {
  const begun = process.hrtime.bigint();
  for (let i = 0; i < 1000; i++) call();
  least[which] = Math.min(least[which], Number(process.hrtime.bigint() - begun) / 1e6);
});
console.log(`one: ${least[0].toFixed(2)} many: ${least[1].toFixed(2)}`);
"""


def cpp(build, scratch):
    program = pathlib.Path(scratch) / "times"
    subprocess.run(["c++", "-std=c++17", "-O2", f"-I{SOURCE}/include", f"-I{HERE}/cpp", HERE / "cpp/times.cc", f"-L{build}", "-lnay",
                    f"-Wl,-rpath,{build}", "-o", program], check=True)
    said = output(program)
    return [*(found(said, rf"{what}: C {NUMBER} ns, C\+\+ {NUMBER}") for what in ("may_contain", "add", "batch")),
            found(said, rf"alone: C {NUMBER}")]


def extension(build, scratch):
    """The package for Python, linked with the library of the build."""
    package = pathlib.Path(scratch) / "package"
    shutil.copytree(HERE / "python/libnay", package / "libnay")
    header = output("/usr/bin/python3", "-c", "import sysconfig; print(sysconfig.get_path('include'))").strip()
    subprocess.run(["cc", "-O2", "-DNDEBUG", "-std=c11", "-fPIC", "-shared", "-fvisibility=hidden", "-D_GNU_SOURCE",
                    "-DPy_LIMITED_API=0x030b0000", f"-I{header}", f"-I{SOURCE}/include", *(HERE / "python/c").glob("*.c"),
                    build / "libnay.a", "-lpthread", "-o", package / "libnay/_libnay.abi3.so"], check=True)
    return package


def rust(build, scratch):
    said = output("/usr/bin/cargo", "run", "-q", "--release", "--locked", "--offline", "--manifest-path", HERE / "rust/Cargo.toml",
                  "-p", "nay", "--example", "cost", NAY_LIB_DIR=str(build), LD_LIBRARY_PATH=str(build), RUSTC="/usr/bin/rustc",
                  CARGO_TARGET_DIR=scratch)
    return (found(said, rf"may_contain: C {NUMBER} ns, Rust {NUMBER} ns, without FFI {NUMBER} ns, in a batch {NUMBER}"),
            found(said, rf"add: C {NUMBER} ns, Rust {NUMBER}"))


def go(build, scratch):
    said = output("go", "test", "-run", "^$", "-bench", ".", "-count", "5", ".", CGO_CFLAGS=f"-O2 -I{SOURCE}/include",
                  CGO_LDFLAGS=f"-L{build}", LD_LIBRARY_PATH=str(build), GOFLAGS="-mod=mod", GOPROXY="off", GOCACHE=f"{scratch}/go")
    least = {}
    for name, ns in re.findall(rf"Benchmark(\w+)\S*\s+\d+\s+{NUMBER} ns/op", said):
        least[name] = min(least.get(name, 1e9), float(ns))
    return least


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    figures = []
    with tempfile.TemporaryDirectory() as scratch:
        (c, cc), _, (c_many, cc_many), (alone,) = cpp(build, scratch)
        rows = [("C", c, None, c_many), ("C++", cc, cc - c, cc_many)]
        has, add = rust(build, f"{scratch}/rust")
        if has:
            rows += [("Rust", has[1], has[1] - has[0], has[3]), ("Rust, no FFI", has[2], None, None)]
            figures.append(("Rust over C: may_contain, add", max(has[1] - has[0], add[1] - add[0]), 1.0, "ns"))
        os.chdir(HERE / "go")
        b = go(build, scratch)
        if b:
            rows += [("Go", b["Test"], b["Test"] - c, b["TestMany"]), ("Go, no cgo", b["PureTest"], None, None)]
            figures.append((f"Go over cgo's own {b['CgoItself']:.1f} ns and C's {alone:.1f} where no call overlaps the next",
                            b["Test"] - alone - b["CgoItself"], 5.0, "ns"))
        path = os.pathsep.join([str(extension(build, scratch)), *sys.argv[2:]])
        said = output("/usr/bin/python3", HERE / "cost.py", "python", PYTHONPATH=path)
        py = found(said, rf"one: {NUMBER} loop: {NUMBER} many: {NUMBER}")
        if py:
            rows.append(("Python", py[0], py[0] - c, py[2]))
            figures.append(("Python over C", py[0] - c, 90.0, "ns"))
            said = output("/usr/bin/python3", HERE / "python/tests/bench.py", build / "libnay.so", PYTHONPATH=path)
            print(said)
            figures.append(("Python, 10^6 integers of numpy", found(said, rf"integers: {NUMBER} x C")[0], 1.2, "x C"))
            figures.append(("Python, 10^6 Arrow strings", found(said, rf"Arrow strings: {NUMBER} x C")[0], 1.3, "x C"))
        module = SOURCE / "build/wasm/libnay/index.js"
        if module.exists():
            program = pathlib.Path(scratch) / "cost.mjs"
            program.write_text(JAVASCRIPT.replace("MODULE", str(module)))
            js = found(output("node", program), rf"one: {NUMBER} many: {NUMBER}")
            if js:
                rows.append(("JavaScript", js[0], js[0] - c, js[1]))
    print("| language | one call, ns | over C | in batches, ns per key |\n|---|---|---|---|")
    for name, one, over, many in rows:
        print(f"| {name} | {one:.1f} | {'' if over is None else f'{over:.1f}'} | {'' if many is None else f'{many:.1f}'} |")
    print()
    for name, measured, most, unit in figures:
        print(f"{'holds' if measured <= most else 'DOES NOT HOLD'}: {name}: {measured:.2f} {unit}, at most {most} {unit}")
    return any(measured > most for _, measured, most, _ in figures)


if __name__ == "__main__":
    sys.exit(python() if sys.argv[1:] == ["python"] else main())
