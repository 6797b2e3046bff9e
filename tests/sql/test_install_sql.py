#!/usr/bin/env python3
"""make install-sqlite, install-duckdb and install-postgres: what they put below DESTDIR, loaded from there into the engine.
Of this build; with --long of a copy of the last commit, which `make` builds as a user would."""
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

import duckdb_engine
import postgres
from tap import BUILD, LONG, SOURCE, Skip, equal, main, test

ENVIRONMENT = {name: value for name, value in os.environ.items()
               if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "DESTDIR", "PREFIX", "LD_PRELOAD")}


def make(tree, *words):
    build = [] if LONG else [f"RELEASE={BUILD}"]
    done = subprocess.run(["make", "-C", tree, *words, *build], capture_output=True, text=True, env=ENVIRONMENT, timeout=2400)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def files(root):
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir())


@test("make install-sqlite: one file, which sqlite3 loads by its path")
def sqlite(tree, scratch):
    if not LONG and not (BUILD / "sqlite/nay.so").exists():
        raise Skip("no sqlite3ext.h here (libsqlite3-dev)")
    root = scratch / "sqlite"
    make(tree, "install-sqlite", f"DESTDIR={root}", "PREFIX=/usr/local")
    equal(files(root), ["usr/local/lib/nay/sqlite/nay.so"])
    db = sqlite3.connect(":memory:")
    db.enable_load_extension(True)
    db.load_extension(str(root / "usr/local/lib/nay/sqlite/nay"))
    equal(db.execute("SELECT nay_contains(nay_agg(7, 10, 1e-9), 7), nay_contains(nay_agg(7, 10, 1e-9), 8)").fetchall(), [(1, 0)])


@test("make install-duckdb: one file, which DuckDB loads by its path")
def duckdb(tree, scratch):
    missing = duckdb_engine.available()
    if missing:
        raise Skip(missing)
    root = scratch / "duckdb"
    make(tree, "install-duckdb", f"DESTDIR={root}", "PREFIX=/opt/nay")
    equal(files(root), ["opt/nay/lib/nay/duckdb/nay.duckdb_extension"])
    db = duckdb_engine.Duck(root / "opt/nay/lib/nay/duckdb/nay.duckdb_extension")
    equal(db("SELECT nay_contains(nay_agg(7, 10, 1e-9), 7), nay_contains(nay_agg(7, 10, 1e-9), 8)"), [[True, False]])
    db.close()


@test("make install-postgres: where pg_config says, and CREATE EXTENSION finds it")
def postgresql(tree, scratch):
    missing = postgres.available()
    if missing:
        raise Skip(missing)

    def install(root):
        make(tree, "install-postgres", f"DESTDIR={root}", f"PG_CONFIG={postgres.CONFIG}")
    root = scratch / "postgres"
    install(root)
    lib, share = (pathlib.Path(postgres.config(what)).relative_to("/") for what in ("--pkglibdir", "--sharedir"))
    sql = sorted(path.name for path in (SOURCE / "plugins/postgres").glob("nay--*.sql"))
    equal(files(root), sorted([f"{lib}/nay.so", f"{share}/extension/nay.control", *(f"{share}/extension/{name}" for name in sql)]))
    cluster = postgres.Place(install).cluster("one", "shared_buffers = 16MB")
    db = cluster.connect()
    db("CREATE EXTENSION nay")
    equal(db("SELECT nay_agg(7, 10, 1e-9) @> 7, nay_agg(7, 10, 1e-9) @> 8"), [("t", "f")])


def start():
    with tempfile.TemporaryDirectory(prefix="nay-install-") as folder:
        scratch, tree = pathlib.Path(folder), SOURCE
        if LONG:
            tree = scratch / "tree"
            subprocess.run(f"mkdir {tree} && git -C {SOURCE} archive HEAD | tar -x -C {tree}", shell=True, check=True)
        return main(tree, scratch)


if __name__ == "__main__":
    sys.exit(start())
