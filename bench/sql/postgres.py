#!/usr/bin/env python3
"""PostgreSQL: nay_agg with two workers beside sum and count(distinct), nay_contains beside a trivial function. The ways
take turns in one private server, and each shows its best of several rounds: postgres.py [build directory] [rounds] [jit: on or off]."""
import os
import pathlib
import sys
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
os.environ["NAY_BUILD"] = str(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else SOURCE / "build/release").resolve())
sys.path.insert(0, str(SOURCE / "tests/sql"))
from postgres import Place  # noqa: E402

N = 10000000
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 5
JIT = sys.argv[3] if len(sys.argv) > 3 else "off"
WAYS = {
    "sum(x), 2 workers": "SELECT sum(x) FROM t",
    "nay_agg(x, n, 0.01), 2 workers": f"SELECT length(nay_agg(x, {N}, 0.01)::bytea) FROM t",
    "count(distinct x)": "SELECT count(DISTINCT x) FROM t",
    "count where abs(x) < 0": "SELECT count(*) FROM t WHERE abs(x) < 0",
    "count where nay_contains": "SELECT count(*) FROM t WHERE nay_contains((SELECT f FROM filters), x)",
    "count(distinct x), work_mem 1 GB": "SELECT count(DISTINCT x) FROM t",
    "join": "SELECT count(*) FROM t JOIN keys USING (x)",
    "join, reduced by nay_contains": "SELECT count(*) FROM t JOIN keys USING (x) WHERE nay_contains((SELECT f FROM few), t.x)",
}
ONE_PROCESS = ("count(distinct x), work_mem 1 GB", "count where abs(x) < 0", "count where nay_contains", "count(distinct x)")


def main():
    db = Place().cluster("bench", "shared_buffers = 2GB", "max_wal_size = 8GB", f"jit = {JIT}").connect()
    db("CREATE EXTENSION nay")
    db(f"CREATE TABLE t AS SELECT (x * 2654435761) % 4294967291 AS x FROM generate_series(1, {N}::bigint) x")
    db(f"CREATE TABLE keys AS SELECT (x * 2654435761) % 4294967291 AS x FROM generate_series({N - 100000}, {N + 100000}::bigint) x")
    db(f"CREATE TABLE filters AS SELECT nay_agg(x + 4294967296, {N}, 0.01) AS f FROM t")
    db("CREATE TABLE few AS SELECT nay_agg(x, 200001, 0.01) AS f FROM keys")
    db("VACUUM ANALYZE")
    best, results = {}, {}
    for _ in range(ROUNDS):
        for name, sql in WAYS.items():
            db(f"SET max_parallel_workers_per_gather = {0 if name in ONE_PROCESS else 2}")
            db("SET work_mem = '%s'" % ("1GB" if "1 GB" in name else "4MB"))
            begun = time.perf_counter()
            results[name] = db.one(sql)
            best[name] = min(best.get(name, 1e9), time.perf_counter() - begun)
    for name, seconds in best.items():
        print(f"{name:34} {seconds:7.3f} s  {seconds / N * 1e9:6.1f} ns/row  result {results[name]}")
    agg, total = best["nay_agg(x, n, 0.01), 2 workers"], best["sum(x), 2 workers"]
    print(f"nay_agg above sum: {(agg - total) / N * 1e9:.1f} ns/row; count(distinct) / nay_agg: {best['count(distinct x)'] / agg:.1f}")
    above = (best["count where nay_contains"] - best["count where abs(x) < 0"]) / N * 1e9
    print(f"nay_contains above abs: {above:.1f} ns/row")
    for name in ("join", "join, reduced by nay_contains"):
        db("SET max_parallel_workers_per_gather = 2")
        print(f"\n{name}")
        for line, in db(f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) {WAYS[name]}"):
            print(f"  {line}")


if __name__ == "__main__":
    main()
