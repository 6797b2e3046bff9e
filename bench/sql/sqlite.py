#!/usr/bin/env python3
"""Rows per second of the SQLite extension beside SQLite's own IN: sqlite.py [build directory]. The ways take turns,
and each shows its best of seven rounds."""
import os
import pathlib
import sqlite3
import sys
import time

DEBIAN = "/usr/bin/python3"  # its sqlite3 loads extensions, whatever python3 comes first
if not hasattr(sqlite3.Connection, "enable_load_extension") and sys.executable != DEBIAN:
    os.execv(DEBIAN, [DEBIAN, *sys.argv])
BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2] / "build/release")
N = 1000000
WAYS = {
    "nay_contains": "SELECT count(*) FROM absent WHERE nay_contains((SELECT nay_open(f) FROM filters), x)",
    "IN, integer primary key": "SELECT count(*) FROM absent WHERE x IN (SELECT y FROM keys)",
    "IN, not indexed": "SELECT count(*) FROM absent WHERE x IN (SELECT z FROM plain)",
    "abs(x) < 0": "SELECT count(*) FROM absent WHERE abs(x) < 0",
    "nay_agg(x, n, 0.01)": f"SELECT length(nay_agg(y, {N}, 0.01)) FROM keys",
}


def main():
    db = sqlite3.connect(":memory:")
    db.enable_load_extension(True)
    db.load_extension(str(BUILD / "sqlite/nay"))
    mix = lambda i: (i * 0x9E3779B97F4A7C15 % 2**64 >> 2) | 1  # odd; 2^62 values, shuffled
    db.execute("CREATE TABLE keys(y INTEGER PRIMARY KEY)")
    db.executemany("INSERT OR IGNORE INTO keys VALUES (?)", ((mix(i),) for i in range(N)))
    db.execute("CREATE TABLE plain AS SELECT y AS z FROM keys")
    db.execute("CREATE TABLE absent(x INTEGER)")
    db.executemany("INSERT INTO absent VALUES (?)", ((mix(i) - 1,) for i in range(N)))
    db.execute(f"CREATE TABLE filters AS SELECT nay_agg(y, {N}, 0.01) AS f FROM keys")
    best, counts = {}, {}
    for _ in range(7):
        for name, sql in WAYS.items():
            begun = time.perf_counter()
            counts[name] = db.execute(sql).fetchone()[0]
            best[name] = min(best.get(name, 1e9), time.perf_counter() - begun)
    print(f"SQLite {sqlite3.sqlite_version}, {N:,} rows")
    for name, seconds in best.items():
        print(f"{name:26} {N / seconds / 1e6:6.2f} M rows/s  {seconds / N * 1e9:6.1f} ns/row  result {counts[name]:,}")


if __name__ == "__main__":
    main()
