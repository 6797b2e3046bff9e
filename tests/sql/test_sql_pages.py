#!/usr/bin/env python3
"""Runs the SQL that the documents show, and compares. All blocks of a page run in order, in one directory and one database:
blocks marked `sql` in the engine of the page, by psql -AtX in PostgreSQL; those of the cookbook, section by section, in the
engine that their first line names, `-- PostgreSQL` or `-- DuckDB`. A `text` block right below is what it prints, values
separated by |; `console` blocks are transcripts, as CONTRIBUTING.md says; `js` blocks run in node, when web_setup has built the
package."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import duckdb_engine
import postgres
from tap import BUILD, SOURCE, TESTS, Skip, main

os.environ.setdefault("NAY_SOURCE", str(SOURCE))
os.environ.setdefault("NAY_BUILD", str(BUILD))
sys.path.insert(0, str(SOURCE / "tests/doc"))
import run_examples  # noqa: E402

LIBNAY = SOURCE / "build/wasm/libnay"
SOCKETS, INSTALLED = "/var/run/postgresql", "/usr/local/lib/nay/duckdb/nay.duckdb_extension"  # as the pages say


class PostgreSQL:
    cluster = None

    def __init__(self, directory):
        missing = postgres.available()
        if missing:
            raise Skip(missing)
        if PostgreSQL.cluster is None:
            PostgreSQL.cluster = postgres.Place().cluster("one")
        self.directory = directory
        db = PostgreSQL.cluster.connect()
        for name in ("shard", "shop"):
            db(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        db("CREATE DATABASE shop")
        bin_ = PostgreSQL.cluster.place.bin
        self.environment = {"PGHOST": str(PostgreSQL.cluster.sockets), "PGUSER": "nay", "PGDATABASE": "shop",
                            "PATH": f"{BUILD}/cli:{bin_}:{os.environ['PATH']}"}

    def run(self, lines):
        script = "\n".join(lines).replace(SOCKETS, self.environment["PGHOST"]) + "\n"
        done = subprocess.run([postgres.config("--bindir") + "/psql", "-AtXq", "-v", "ON_ERROR_STOP=1", "-f", "-"], input=script,
                              text=True, cwd=self.directory, env={**os.environ, **self.environment}, timeout=600,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode == 0, done.stdout


class DuckDB:
    environment = {}

    def __init__(self, directory):
        missing = duckdb_engine.available()
        if missing:
            raise Skip(missing)
        self.db = duckdb_engine.Duck(cwd=directory)

    def run(self, lines):
        out = ""
        for statement in "\n".join(lines).replace(INSTALLED, str(duckdb_engine.EXTENSION)).split(";\n"):
            try:
                rows = self.db(statement) if statement.strip() else []
            except duckdb_engine.Error as error:
                return False, out + str(error) + "\n"
            if re.match(r"(--.*\n|\s)*(SELECT|FROM|WITH|EXPLAIN)\b", statement):
                for row in rows:
                    out += "|".join({True: "true", False: "false", None: ""}.get(v, str(v)) if not isinstance(v, int) or
                                    isinstance(v, bool) else str(v) for v in row) + "\n"
        return True, out


def run_js(lines, directory):
    modules = pathlib.Path(directory, "node_modules")
    modules.mkdir(exist_ok=True)
    if not (modules / "libnay").exists():
        (modules / "libnay").symlink_to(LIBNAY)
    pathlib.Path(directory, "example.mjs").write_text("\n".join(lines) + "\n")
    done = subprocess.run(["node", "example.mjs"], cwd=directory, text=True, timeout=600, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    return done.returncode == 0, done.stdout


ENGINES = {"PostgreSQL": PostgreSQL, "DuckDB": DuckDB}


def engine_of(lines, default):
    return default or next((name for name in ENGINES if lines and lines[0].startswith(f"-- {name}")), None)


def run_blocks(name, blocks, default):
    """blocks: (line, word, lines, below) of one page or section."""
    def run():
        with tempfile.TemporaryDirectory() as directory:
            os.chmod(directory, 0o755)
            engines, faults = {}, []
            for word in {engine_of(lines, default) for _, kind, lines, _ in blocks if kind == "sql"}:
                engines[word] = ENGINES[word](directory)
            environment = {key: value for engine in engines.values() for key, value in engine.environment.items()}
            for line, kind, lines, below in blocks:
                if kind == "js" and not (LIBNAY / "index.js").exists():
                    fault = ""
                    print(f"# {name}:{line}: not run, the package for JavaScript is not built")
                elif kind in ("sql", "js"):
                    worked, got = engines[engine_of(lines, default)].run(lines) if kind == "sql" else run_js(lines, directory)
                    fault = "" if worked and (below is None or run_examples.matches(below, got)) else f"it prints:\n{got}"
                else:
                    steps = run_examples.transcript(lines)
                    fault = run_examples.check_steps(steps, run_examples.run_shell(steps, directory, environment)) if steps else ""
                if fault:
                    faults.append(f"{name}:{line}: {fault}")
            assert not faults, "\n".join(faults)
    TESTS.append((f"{name}: {sum(kind == 'sql' for _, kind, _, _ in blocks)} blocks of SQL", run))


def blocks_of(text):
    """Blocks with their `text` block, and the number of the section that they are in."""
    found = run_examples.fenced_blocks(text)
    headings = [number for number, line in enumerate(text.splitlines(), 1) if line.startswith("## ")]
    for i, (line, word, lines, _) in enumerate(found):
        below = found[i + 1] if i + 1 < len(found) and found[i + 1][1] == "text" and found[i + 1][3] else None
        yield sum(heading < line for heading in headings), (line, word, lines, below[2] if below else None)


def collect():
    for folder, engine in (("postgres", "PostgreSQL"), ("duckdb", "DuckDB")):
        name = f"plugins/{folder}/README.md"
        blocks = [block for _, block in blocks_of((SOURCE / name).read_text()) if block[1] in ("sql", "console")]
        run_blocks(name, blocks, engine)
    name = "doc/cookbook.md"
    sections = {}
    for section, block in blocks_of((SOURCE / name).read_text()):
        if block[1] in ("sql", "console", "js"):
            sections.setdefault(section, []).append(block)
    for blocks in sections.values():
        if any(kind == "sql" for _, kind, _, _ in blocks):
            run_blocks(name, blocks, None)


if __name__ == "__main__":
    collect()
    sys.exit(main())
