#!/usr/bin/env python3
"""Runs what the documents show and compares; prints TAP. The conventions are in CONTRIBUTING.md.

    run_examples.py              README.md, CONTRIBUTING.md, ARCHITECTURE.md, doc/**/*.md, plugins/*/README.md,
                                 examples/*/README.md, bindings/*/README.md
    run_examples.py --programs   the transcripts at the head of examples/*.c

A fenced block marked sh or console that has a line starting with "$ " is a transcript: such lines
are commands, the lines below each its output, both streams together. "..." alone on a line stands
for any number of lines, inside a line for any text. All blocks of a document run in one shell and
one empty directory, in order. A block marked c or cpp that contains "int main" is compiled and run; a
text block right below it is its output. NAY_SOURCE, NAY_BUILD and NAY_CC are set by ctest.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ["NAY_SOURCE"])
BUILD = pathlib.Path(os.environ["NAY_BUILD"])
CC = os.environ.get("NAY_CC", "cc")
CXX = os.environ.get("NAY_CXX") or "c++"
WARNINGS = "-std=c11 -O2 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Werror".split()
PLUGINS = {"nay_leveldb.h": ["plugins/leveldb/libnay_leveldb.a", "-lleveldb"],  # header: library, what it needs
           "nay_rocksdb.h": ["plugins/rocksdb/libnay_rocksdb.a", "-lrocksdb"],
           "nay_codecs.h": ["plugins/codecs/libnay_codecs.a", "-lsnappy", "-lzstd", "-llz4"]}
FENCE = re.compile(r"^( *)```(\w*)\s*$")
MARK = "\x1e"  # between the outputs of two commands; a character that no example prints
CALLS_NAY = re.compile(r"(^|[|;&(]\s*)nay\b")


class Tap:
    def __init__(self):
        self.n = self.failed = 0

    def report(self, fault, name, skip=None):
        self.n += 1
        if skip:
            print(f"ok {self.n} - {name} # SKIP {skip}")
        elif not fault:
            print(f"ok {self.n} - {name}")
        else:
            self.failed += 1
            print(f"not ok {self.n} - {name}")
            for line in fault.splitlines()[:40]:
                print(f"# {line}")

    def finish(self):
        print(f"1..{self.n}")
        return 1 if self.failed or self.n == 0 else 0


def fenced_blocks(text):
    """(line number, word after the fence, lines, whether only blank lines lie before it)."""
    blocks, lines, i, only_blank = [], text.splitlines(), 0, False
    while i < len(lines):
        opening = FENCE.match(lines[i])
        if not opening:
            only_blank = only_blank and not lines[i].strip()
            i += 1
            continue
        start, indent, body = i, len(opening[1]), []
        i += 1
        while i < len(lines) and lines[i].strip() != "```":
            body.append(lines[i][indent:])
            i += 1
        i += 1
        blocks.append((start + 1, opening[2], body, only_blank))
        only_blank = True
    return blocks


def transcript(lines):
    """[(command, expected lines)]; a command continues while its line ends in a backslash."""
    steps, i = [], 0
    while i < len(lines):
        if lines[i].startswith("$ "):
            command = lines[i][2:]
            while command.endswith("\\") and i + 1 < len(lines):
                i += 1
                command += "\n" + lines[i]
            steps.append((command, []))
        elif steps:
            steps[-1][1].append(lines[i])
        i += 1
    return steps


def matches(expected, got):
    while expected and not expected[-1].strip():  # a blank line before the next command is layout
        expected = expected[:-1]
    pattern = ""
    for line in expected:
        if line.strip() == "...":
            pattern += r"(?:.*\n)*"
        else:
            pattern += ".*".join(re.escape(part) for part in line.rstrip().split("...")) + r"[ \t]*\n"
    return re.fullmatch(pattern, got) is not None


def run_shell(steps, directory, more=None):
    """The output of each command, all run by one shell: cd, variables and $? carry over. more: its environment."""
    script = "exec 2>&1 </dev/null\n"
    for command, _ in steps:
        script += f"{command}\nnay_doc_status=$?; printf '\\036'; (exit $nay_doc_status)\n"
    path = os.pathsep.join([str(BUILD / "cli"), str(BUILD / "examples"), os.environ["PATH"]])
    env = {**os.environ, "PATH": path, "HOME": directory, "LC_ALL": "C.UTF-8",
           "LD_LIBRARY_PATH": str(BUILD / "sqlite"), **(more or {})}  # where `.load nay` of sqlite3 looks
    done = subprocess.run(["bash", "-c", script], cwd=directory, env=env, timeout=1500, text=True,
                          stdout=subprocess.PIPE, errors="replace")
    return done.stdout.split(MARK)


def check_steps(steps, outputs):
    for (command, expected), got in zip(steps, outputs):
        if got and not got.endswith("\n"):
            got += "\n"
        if not matches(expected, got):
            return f"$ {command}\nexpected:\n" + "\n".join(expected) + f"\ngot:\n{got}"
    return "" if len(outputs) > len(steps) else "the shell ended early"


def run_transcripts(tap, named, directory):
    """named: [(name, steps)] of one document, run in one shell."""
    if not (BUILD / "cli" / "nay").exists() and any(
            CALLS_NAY.search(command) for _, steps in named for command, _ in steps):
        for name, _ in named:
            tap.report("", name, skip="the nay command is not built")
        return
    outputs = run_shell([step for _, steps in named for step in steps], directory)
    for name, steps in named:
        tap.report(check_steps(steps, outputs), name)
        outputs = outputs[len(steps):]


def library_flags(text):
    """libnay, and for a program with a header of tables libnaysst too."""
    tables = "<nay_sst" in text or "<nay_codecs.h>" in text
    more = [f"-I{SOURCE}/sst/include", str(BUILD / "libnaysst.a")] if tables else []
    more += [f"-I{SOURCE}/bindings/cpp"] if "<nay.hpp>" in text else []
    return [*more, f"-I{SOURCE}/include", str(BUILD / "libnay.a")]


def plugin_flags(text):
    """What a program needs that includes the header of a plug-in; None when that is not built."""
    flags = []
    for header, (library, *needs) in PLUGINS.items():
        if f"<{header}>" in text:
            if not (BUILD / library).exists():
                return None
            flags += [f"-I{SOURCE / library}".rsplit("/", 1)[0], str(BUILD / library), *needs]
    return flags


def run_program(word, lines, expected, directory):
    source, program = pathlib.Path(directory, f"example.{word}"), pathlib.Path(directory, "example")
    source.write_text("\n".join(lines) + "\n")
    compiler = [CC, *WARNINGS] if word == "c" else [CXX, "-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror"]
    text = "\n".join(lines)
    command = [*compiler, str(source), *plugin_flags(text), *library_flags(text), "-o", str(program)]
    built = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if built.returncode:
        return built.stdout
    done = subprocess.run([str(program)], cwd=directory, timeout=600, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        return f"exit status {done.returncode}\n{done.stdout}"
    if expected is not None and not matches(expected, done.stdout):
        return "expected:\n" + "\n".join(expected) + f"\ngot:\n{done.stdout}"
    return ""


def run_document(tap, path):
    name = path.relative_to(SOURCE)
    blocks = fenced_blocks(path.read_text())
    shell = [(f"{name}:{line}", transcript(lines)) for line, word, lines, _ in blocks
             if word in ("sh", "console") and any(text.startswith("$ ") for text in lines)]
    if shell:
        with tempfile.TemporaryDirectory() as directory:
            run_transcripts(tap, shell, directory)
    for i, (line, word, lines, _) in enumerate(blocks):
        if word in ("c", "cpp") and any("int main" in text for text in lines):
            below = blocks[i + 1] if i + 1 < len(blocks) else None
            expected = below[2] if below and below[1] == "text" and below[3] else None
            if plugin_flags("\n".join(lines)) is None:
                tap.report("", f"{name}:{line} (a program)", skip="the plug-in is not built")
                continue
            with tempfile.TemporaryDirectory() as directory:
                tap.report(run_program(word, lines, expected, directory), f"{name}:{line} (a program)")


def run_example_program(tap, path):
    """The transcript in the comment at its head: lines of the form " *   $ ..."."""
    if not (BUILD / "examples" / path.stem).exists():
        return tap.report(None, str(path.relative_to(SOURCE)), "not built: a package of the test tier is missing")
    head = path.read_text().split("*/")[0]
    lines = [line[5:] for line in head.splitlines() if line.startswith(" *   ")]
    steps = transcript(lines)
    with tempfile.TemporaryDirectory() as directory:
        fault = check_steps(steps, run_shell(steps, directory)) if steps else "no transcript at its head"
        tap.report(fault, str(path.relative_to(SOURCE)))


def main():
    tap = Tap()
    if "--programs" in sys.argv[1:]:
        for path in sorted((SOURCE / "examples").glob("*.c")):
            run_example_program(tap, path)
        return tap.finish()
    documents = [SOURCE / name for name in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md")]
    documents += sorted((SOURCE / "doc").rglob("*.md"))
    # pages that need a server: tests/redis/test_readme.py and tests/sql/test_sql_pages.py run them
    servers = {SOURCE / f"plugins/{name}/README.md" for name in ("redis", "postgres", "duckdb")}
    documents += sorted(set((SOURCE / "plugins").glob("*/README.md")) - servers)
    documents += sorted((SOURCE / "examples").glob("*/README.md"))
    documents += sorted((SOURCE / "bindings").glob("*/README.md"))
    for path in documents:
        if path.exists():
            run_document(tap, path)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
