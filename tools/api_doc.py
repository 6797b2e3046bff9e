#!/usr/bin/env python3
"""Writes doc/api.md: each public function of both libraries, with its header, its version and who calls it.

    tools/api_doc.py            writes the page
    tools/api_doc.py --check    compares it, and fails for a function that nobody calls and nobody waits for, and for an
                                experimental one of libnay that a binding calls

A caller is a file outside of the tests and outside of the library: the command, a plug-in, a binding, an example, a
benchmark; for libnay also libnaysst. A function without one stands in COMING with its coming user, or goes. The version
is that of the library in which the function appeared; LATER names those that are younger than the library's first.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "doc/api.md"
LIBRARIES = (("libnay", "include", "0.10"), ("libnaysst", "sst/include", "0.1"))
FUNCTION = re.compile(r"NAY_API ([^;{(]*?)\b(nay_\w+)\(")
NAME = re.compile(r"\bnay_[a-z0-9_]+\b")
LATER = {}
# function: who is going to call it
COMING = {
    "nay_clubcard_at": "a command for clubcards",
    "nay_clubcard_build": "a command for clubcards",
    "nay_sst_parquet_open_file": "filters of Parquet files in object stores, by ranges of bytes",
    "nay_filter_inline": "SQL and the C++ header, whose loops probe without a call",
}
# the first folder that a file is in, and what the page calls it
CALLERS = (("cli/", "command"), ("plugins/leveldb/", "LevelDB"), ("plugins/rocksdb/", "RocksDB"),
           ("plugins/redis/", "Redis"), ("plugins/sql/", "SQL"), ("plugins/", "plug-in"), ("bindings/cpp/", "C++"), ("bindings/rust/", "Rust"),
           ("bindings/go/", "Go"), ("bindings/python/", "Python"), ("bindings/", "binding"), ("web/", "JavaScript"),
           ("examples/kv/", "kv"), ("examples/", "example"), ("bench/", "bench"), ("sst/", "libnaysst"))
BINDINGS = {"C++", "Rust", "Go", "Python", "JavaScript"}
# os_wasm.c defines what it names
IGNORED = re.compile(r"web/wasm/os_wasm\.c|(^|/)(tests?|conformance\w*|golden)(/|\.|_)|(^|/)test_|_test\.|\.md$|sst/include/|\.abi$")


def functions(folder):
    """(function, header, stable) in the order of the headers."""
    for path in sorted((ROOT / folder).glob("*.h"), key=lambda p: (len(p.name), p.name)):
        text = path.read_text()
        stable = text.startswith("/* Stable")
        code = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        for match in FUNCTION.finditer(code):
            yield match[2], path.name, stable


def callers():
    """function: the names of its callers, in the order of CALLERS."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
    found = {}
    for name in listed:
        who = next((label for prefix, label in CALLERS if name.startswith(prefix)), None)
        if who is None or IGNORED.search(name) or not (ROOT / name).is_file():
            continue
        try:
            text = (ROOT / name).read_text()
        except UnicodeDecodeError:
            continue
        text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
        for function in set(NAME.findall(text)):
            found.setdefault(function, set()).add(who)
    order = list(dict.fromkeys(label for _, label in CALLERS))
    return {function: sorted(who, key=order.index) for function, who in found.items()}


def page():
    called, orphans, unstable = callers(), [], []
    lines = ["# Public functions", "",
             "Written by `tools/api_doc.py`; lint compares it. A stable function keeps its parameters and its meaning until",
             "1.0 at least; any minor version may change an experimental one, whose symbol then gets another version.",
             "Callers are those in this tree, tests apart; *coming* names a user that is not written yet.", ""]
    for library, folder, since in LIBRARIES:
        rows = list(functions(folder))
        nstable = sum(stable for _, _, stable in rows)
        lines += [f"## {library}", "", f"{len(rows)} functions, {nstable} stable, {len(rows) - nstable} experimental.", "",
                  "| function | header | | since | callers |", "|---|---|---|---|---|"]
        for function, header, stable in rows:
            who = [w for w in called.get(function, []) if w != library]
            if not who and function not in COMING:
                orphans.append(function)
            if library == "libnay" and not stable and BINDINGS & set(who):
                unstable.append(function)
            shown = ", ".join(who) if who else f"*coming*: {COMING.get(function, '?')}"
            lines.append(f"| `{function}` | `{header}` | {'stable' if stable else 'experimental'} "
                         f"| {LATER.get(function, since)} | {shown} |")
        lines.append("")
    return "\n".join(lines), orphans, unstable


FROM_ROW = re.compile(r"^\| `(\w+)` \| (`[^|]*) \| (.*) \|$", re.M)


def rows(text):
    return {m[1]: (m[2], m[3]) for m in FROM_ROW.finditer(text)}


def stale(stored, written):
    """What the stored page says that is not so; a caller that it does not list yet is no fault."""
    for function in sorted(stored.keys() ^ written.keys()):
        yield f"{function}: {'gone' if function in stored else 'not in the page'}"
    for function in stored.keys() & written.keys():
        (what, who), (now, callers_now) = stored[function], written[function]
        if what != now or not set(who.split(", ")) <= set(callers_now.split(", ")):
            yield f"{function}: {what} | {who}"


def main():
    text, orphans, unstable = page()
    if sys.argv[1:] == ["--check"]:
        if orphans:
            sys.exit("no caller outside the tests, and no line in COMING of tools/api_doc.py: " + ", ".join(orphans))
        if unstable:
            sys.exit("a binding calls an experimental function, see doc/design/0040-languages.md: " + ", ".join(unstable))
        faults = list(stale(rows(PAGE.read_text()) if PAGE.is_file() else {}, rows(text)))
        if faults:
            sys.exit("doc/api.md is not what tools/api_doc.py writes, run it: " + "; ".join(faults))
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        PAGE.write_text(text)
        if orphans:
            print("no caller: " + ", ".join(orphans))


if __name__ == "__main__":
    main()
