#!/usr/bin/env python3
"""A table of 8 hash partitions on 3 servers: each partition's filter is made where its rows are, over postgres_fdw."""
import sys
import threading
import time

import postgres
from postgres import Error, Place
from tap import equal, main, test

KEYS, PARTITIONS = 80000, 8
ONE = " UNION ALL ".join(f"SELECT nay_agg(x, {KEYS}, 0.01) AS f FROM p{i}" for i in range(PARTITIONS))
UNITED = f"SELECT nay_union(f) FROM ({ONE}) parts"


def set_up(clusters):
    """Server 0 coordinates; partition i lives on server i % 3, also for 0 in a database of its own."""
    db = clusters[0].connect()
    db("CREATE EXTENSION nay")
    db("CREATE EXTENSION postgres_fdw")
    db("CREATE TABLE t (x bigint) PARTITION BY HASH (x)")
    for number, cluster in enumerate(clusters):
        cluster.connect()("CREATE DATABASE shard")
        shard = cluster.connect("shard")
        shard("CREATE EXTENSION nay")
        db(f"CREATE SERVER s{number} FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '{cluster.sockets}', dbname 'shard', "
           "extensions 'nay')")
        db(f"CREATE USER MAPPING FOR CURRENT_USER SERVER s{number} OPTIONS (user 'nay')")
        for i in range(number, PARTITIONS, len(clusters)):
            shard(f"CREATE TABLE p{i} (x bigint)")
            db(f"CREATE FOREIGN TABLE p{i} PARTITION OF t FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {i}) "
               f"SERVER s{number} OPTIONS (table_name 'p{i}')")
        shard.close()
    db(f"INSERT INTO t SELECT x FROM generate_series(1, {KEYS}) x")
    return db


@test("the aggregation is remote, as EXPLAIN VERBOSE shows")
def remote(clusters, db):
    plan = [row[0].strip() for row in db(f"EXPLAIN (VERBOSE, COSTS OFF) {UNITED}")]
    remotes = [line for line in plan if line.startswith("Remote SQL:")]
    equal(len(remotes), PARTITIONS)
    for line in remotes:
        assert "nay_agg(x, " in line, line


@test("the union has the bytes of a filter that is made of all rows in one place")
def united(clusters, db):
    whole = db.one(f"SELECT nay_agg(x, {KEYS}, 0.01) FROM generate_series(1, {KEYS}) x", binary=True)
    equal(db.one(UNITED, binary=True) == whole, True)


@test("a prefilter goes to the servers: only rows that may match come back")
def prefilter(clusters, db):
    db("CREATE TABLE wanted AS SELECT x * 1000 AS id FROM generate_series(1, 80) x")
    made = db.one("SELECT nay_agg(id, 80, 0.001) FROM wanted")
    sql = f"SELECT count(*) FROM p1 WHERE nay_contains('{made}'::nay, x)"
    plan = "\n".join(row[0] for row in db(f"EXPLAIN (VERBOSE, COSTS OFF) {sql}"))
    assert "nay_contains" in plan.split("Remote SQL:")[1], plan
    got, exact = int(db.one(sql)), int(db.one("SELECT count(*) FROM p1 JOIN wanted ON id = x"))
    assert exact <= got <= exact + 100, (got, exact)


@test("a server that is down is an error, also in the middle; never a smaller filter; then a retry works")
def down(clusters, db):
    before = db.one(UNITED, binary=True)
    clusters[2].stop("immediate")
    for _ in range(3):
        error = db.fails(UNITED)
        assert error.state.startswith("08"), error
    clusters[2].start()
    equal(db.one(UNITED, binary=True) == before, True)
    # in the middle: the first parts have been fetched when the server goes
    db("BEGIN")
    db(f"DECLARE c CURSOR FOR {ONE}")
    equal(len(db("FETCH 2 FROM c")), 2)
    clusters[2].stop("immediate")
    error = db.fails("FETCH ALL FROM c")
    assert error.state.startswith(("08", "57", "XX")), error
    db("ROLLBACK")
    clusters[2].start()
    equal(db.one(UNITED, binary=True) == before, True)


@test("a server that goes down while it aggregates is an error, and a retry works")
def down_while_it_aggregates(clusters, db):
    before = db.one(UNITED, binary=True)
    holder, other, got = clusters[2].connect("shard"), clusters[0].connect(), []
    holder("BEGIN")
    holder("LOCK TABLE p5 IN ACCESS EXCLUSIVE MODE")  # server 2 has sent the filter of p2 and waits for the rows of p5

    def ask():
        try:
            got.append(other(UNITED))
        except Error as error:
            got.append(error)
    asking = threading.Thread(target=ask)
    asking.start()
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%p5%'"
    watcher = clusters[2].connect()
    for _ in range(1200):
        if watcher.one(waiting) == "1":
            break
        time.sleep(0.05)
    else:
        raise AssertionError("the query does not reach p5")
    clusters[2].stop("immediate")
    asking.join(120)
    assert len(got) == 1 and isinstance(got[0], Error) and got[0].state.startswith(("08", "57", "XX")), got
    clusters[2].start()
    equal(other.one(UNITED, binary=True) == before, True)
    for client in other, holder, watcher:
        client.close()


def start():
    missing = postgres.available()
    if missing:
        print(f"ok 1 - postgres_fdw # SKIP {missing}\n1..1")
        return 0
    place = Place()
    clusters = [place.cluster(name, "shared_buffers = 16MB") for name in ("a", "b", "c")]
    return main(clusters, set_up(clusters))


if __name__ == "__main__":
    sys.exit(start())
