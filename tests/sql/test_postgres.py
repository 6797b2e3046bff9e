#!/usr/bin/env python3
"""The extension in PostgreSQL: in private servers that this test starts and stops (postgres.py)."""
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

import postgres
from postgres import Client, Error, Place, config
from tap import BUILD, LONG, SOURCE, Skip, built, checked, equal, main, mutations, test

KINDS = "auto bloom blocked counting scalable window cuckoo xor fuse ribbon".split()


@test("pg_regress: the examples of sql/nay.sql")
def regress(cluster, db):
    program = pathlib.Path(config("--pkglibdir")) / "pgxs/src/test/regress/pg_regress"
    if not program.exists():
        raise Skip("no pg_regress here")
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([program, f"--inputdir={SOURCE}/plugins/postgres", f"--outputdir={out}",
                               f"--bindir={config('--bindir')}", f"--host={cluster.sockets}", "--user=nay",
                               "--load-extension=nay", "nay"], capture_output=True, text=True, timeout=300)
        diff = pathlib.Path(out) / "regression.diffs"
        assert done.returncode == 0, diff.read_text() if diff.exists() else done.stdout + done.stderr


@test("the same bytes as the command's, for each kind; every key a maybe, absent ones within the rate")
def kinds(cluster, db):
    for kind in KINDS:
        made = db.one(f"SELECT nay_agg(x, 5000, 0.01, '{kind}') FROM generate_series(1, 5000) x", binary=True)
        equal(db.one("SELECT count(*) FROM generate_series(1, 5000) x WHERE $1::nay @> x", made), "5000")
        assert int(db.one("SELECT count(*) FROM generate_series(5001, 10000) x WHERE $1::nay @> x", made)) < 100, kind
        if kind not in ("scalable", "window", "cuckoo"):  # of these the command adds in order
            equal(made, built(range(1, 5001), "-t", kind, "-p", "0.01", "-n", "5000", "--key=int"))
    made = db.one("SELECT nay_agg('key ' || x, 0.001) FROM generate_series(1, 3000) x", binary=True)
    equal(made, built([f"key {i}" for i in range(1, 3001)], "-p", "0.001"))


@test("sizes from none to 2,000: counted keys, with duplicates and NULLs")
def sizes(cluster, db):
    rows = db("SELECT n, (nay_info(f)).nkeys, (SELECT count(*) FROM generate_series(1, n) x WHERE f @> x) FROM (SELECT n, "
              "(SELECT nay_agg(nullif(x % (n + 1), 0)) FROM generate_series(0, 2 * n + 1) x) f "
              "FROM unnest(array[1,2,3,7,63,64,65,255,256,257,767,768,769,1000,2000]) n) s")
    equal(len(rows), 15)
    for row in rows:
        equal(len(set(row)), 1)


@test("every type: the golden vectors as values, and the command checks what PostgreSQL builds")
def types(cluster, db):
    casts = {"int": "bigint", "float": "float8", "bool": "bool", "date": "date", "timestamp": "timestamptz", "uuid": "uuid",
             "numeric": "numeric"}
    db("SET timezone = 'UTC'")
    tried = {}
    for line in (SOURCE / "tests/golden/keys/keys.txt").read_text(errors="surrogateescape").split("\n"):
        parts = line.split("\t")
        if line.startswith("#") or len(parts) != 3 or parts[2] == "error" or parts[0] not in casts:
            continue
        type_, text = parts[:2]
        try:
            value = db.one(f"SELECT $1::text::{casts[type_]}::text", text)
        except (Error, UnicodeError):
            continue  # PostgreSQL has no such literal
        made = built([text], f"--key={type_}", "-p", "1e-9", "-n", "10")
        if type_ == "int" and int(text, 0 if text.lstrip("+-").startswith("0x") else 10) > 2**63 - 1:
            continue
        equal((text, value, db.one(f"SELECT $1::nay @> $2::text::{casts[type_]}", made, text)), (text, value, "t"))
        equal((text, db.one("SELECT $1::nay @> $2::text", made, text)), (text, "t"))
        tried[type_] = tried.get(type_, 0) + 1
        again = db.one(f"SELECT nay_agg($1::text::{casts[type_]}, 10, 1e-9)", text, binary=True)
        equal((type_, text, again), (type_, text, made))
    assert all(tried.get(type_, 0) > 3 for type_ in casts), tried
    for sql, text in (("'infinity'::date", "infinity"), ("'-infinity'::timestamp", "-infinity"), ("'NaN'::numeric", "NaN"),
                      ("1.50::numeric", "1.5"), ("'-0'::float8", "0"), ("'0044-03-15 BC'::date", "-0043-03-15")):
        made = db.one(f"SELECT nay_agg({sql}, 10, 1e-9)", binary=True)
        equal((sql, checked(made, [text])), (sql, [text]))
    assert "294247" in str(db.fails("SELECT nay_agg('294276-12-31'::timestamp)"))
    db("CREATE DOMAIN positive AS int CHECK (VALUE > 0)")
    equal(db.one("SELECT nay_agg(7::positive, 10, 1e-9) @> 7::positive"), "t")


@test("equality that is not that of bytes: nondeterministic collations, citext, char(n)")
def equality(cluster, db):
    texts = "(SELECT nay_agg(x, 10, 1e-9) FROM unnest(array['Ada', 'bob']) x)"
    try:
        db("CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
        error = db.fails(f"SELECT {texts} @> ('ada' COLLATE loose)")
        equal(error.state, "0A000")
        assert error.hint
        db.fails("SELECT nay_agg(x COLLATE loose) FROM unnest(array['Ada']) x")
    except Error as error:
        assert "ICU" in str(error), error
    if (pathlib.Path(config("--sharedir")) / "extension/citext.control").exists():
        db("CREATE EXTENSION citext")
        error = db.fails(f"SELECT {texts} @> 'ada'::citext")
        assert "lower" in error.hint, error
        db("CREATE TABLE loose AS SELECT 'ada'::citext AS x")
        for sql in (f"SELECT {texts} @> x FROM loose", f"SELECT nay_contains({texts}, x) FROM loose",
                    f"SELECT nay_add({texts}, x) FROM loose"):
            equal(db.fails(sql).state, "42804")
        equal(db.fails("SELECT nay_agg('ada'::citext)").state, "42804")
    equal(db.one(f"SELECT {texts} @> 'bob'::char(10)"), "t")
    equal(db.one("SELECT 'bob'::char(5) = 'bob  '::varchar"), "t")
    equal(db.one(f"SELECT {texts} @> 'bob  '::varchar AND NOT {texts} @> 'bo '::varchar AND NOT {texts} @> '  '::varchar(2)"), "t")
    # oid equals integers modulo 2^32
    equal(db.one("SELECT '4294967295'::oid = -1"), "t")
    for sql in ("SELECT nay_agg('4294967295'::oid)", "SELECT nay_agg(-1) @> '4294967295'::oid"):
        error = db.fails(sql)
        assert error.state == "42804" and "bigint" in error.hint, error
    equal(db.one("SELECT nay_agg(x, 10, 1e-9) @> 'bob'::text FROM (SELECT 'bob'::char(10) AS x) s"), "t")
    equal(db.one(f"SELECT {texts} @> 'bob'::name AND NOT {texts} @> 'bob '::text"), "t")


@test("quoted literals: what PostgreSQL finds by = is never a nay, also as parameters without a type")
def literals(cluster, db):
    db("CREATE TEMP TABLE lit (r real, d double precision, b bytea, t text, c char(5), n name, z timestamptz, s timestamp, a date)")
    db("SET timezone = 'Europe/Berlin'")
    for column, texts in (("r", ["0.1", "1e-1", "16777217", "-1e-40", "3.4e38", "3.4028235e38", "0.333333333333", "NaN", "Infinity"]),
                          ("d", ["0.1", "1e308", "-0"]), ("b", [r"\x666f6f", r"\x 66 6F", "foo", r"a\\b", r"\001", "\\xff00", ""]),
                          ("t", [r"\x666f6f", r"\x", "a b "]), ("c", ["ab", "ab  ", "", "   "]), ("n", ["x" * 63, "x" * 70, "short"]),
                          ("z", ["2024-02-29 12:00", "2024-07-01", "2024-02-29 12:00+05", "infinity", "0044-03-15 12:00:00"]),
                          ("s", ["2024-02-29 12:00", "2024-02-29 12:00Z"]), ("a", ["2024-02-29"])):
        for text in texts:
            db("TRUNCATE lit")
            db(f"INSERT INTO lit ({column}) VALUES ($1)", text)
            equal((column, text, db.one(f"SELECT count(*) FROM lit WHERE {column} = $1", text) if column != "n" else "1"), (column, text, "1"))
            made = db.one(f"SELECT nay_agg({column}, 10, 1e-9) FROM lit", binary=True)
            for ask in ("$1::nay @> $2", "nay_contains($1, $2)", "nay_contains(nay_add($1, 'infinity'), $2)"):
                if ask.count("(") == 2 and column != "z":
                    continue
                equal((column, text, ask, db.one(f"SELECT {ask}", made, text)), (column, text, ask, "t"))
    for made, text in (("nay_agg(0.1::real, 10, 1e-9)", "0.11"), (r"nay_agg('ab'::bytea, 10, 1e-9)", r"\x6163"), ("nay_agg('ab'::text, 10, 1e-9)", "a"),
                       ("nay_agg('2024-02-29 12:00'::timestamptz, 10, 1e-9)", "2024-02-29 14:00")):
        equal((text, db.one(f"SELECT {made} @> $1", text)), (text, "f"))
    # another session's zone: the answer is not kept in a plan
    db("CREATE TEMP TABLE zoned AS SELECT nay_agg('2024-02-29 12:00+09'::timestamptz, 10, 1e-9) AS f")
    db("PREPARE ask AS SELECT f @> '2024-02-29 12:00' FROM zoned")
    got = []
    for zone in ("Europe/Berlin", "Asia/Tokyo", "UTC"):
        db(f"SET timezone = '{zone}'")
        got += [db.one("EXECUTE ask") for _ in range(7)][-1:]
    equal(got, ["f", "t", "f"])
    equal(db.one("SELECT nay_add(nay_agg('x'::bytea, 10, 1e-9), '\\x6162') @> 'ab'::bytea"), "t")
    db("RESET timezone")


@test("range filters: nay_contains_range, and nay_contains of one value; types, literals, an empty range, errors")
def ranges(cluster, db):
    for type_, low in (("int", "x::bigint * 100"), ("float", "x / 4.0::float8"), ("date", "date '2020-01-01' + x * 10"),
                       ("timestamp", "timestamptz '2020-01-01 00:00Z' + x * interval '10 hours'")):
        db("SET timezone = 'UTC'")
        keys = [row[0].replace("+00", "Z") for row in db(f"SELECT ({low})::text FROM generate_series(0, 199) x")]
        made = built(keys, "-t", "range", f"--key={type_}", "--range-length", "100", "-p", "0.0001")
        equal((type_, db.one(f"SELECT count(*) FROM generate_series(0, 199) x WHERE nay_contains_range($1::nay, {low}, {low}) "
                             f"AND $1::nay @> {low}", made)), (type_, "200"))
        equal((type_, db.one("SELECT nay_contains_range($1, $2, $3)", made, keys[3], keys[5])), (type_, "t"))
    made = built([x * 1000 for x in range(-100, 100)], "-t", "range", "--key=int", "--range-length", "100", "-p", "0.0001")
    equal(db.one("SELECT count(*) FILTER (WHERE r), count(*) < 220 FROM (SELECT x, nay_contains_range($1::nay, x, x + 99) AS m, "
                 "x % 1000 = 0 AND nay_contains_range($1::nay, x, x + 99) AND nay_contains_range($1::nay, x - 99, x) AS r "
                 "FROM generate_series(-100000, 99900, 100) x) s WHERE m", made), ("200", "t"))
    equal(db.one("SELECT nay_contains_range($1::nay, 5, 3), nay_contains_range($1::nay, '-1', '1'), nay_contains_range($1::nay, 1::smallint, "
                 "999::smallint), nay_contains_range($1::nay, NULL::int, 3), nay_contains($1::nay, 8), $1::nay @> '50000'", made),
          ("f", "t", "f", None, "f", "t"))
    equal(db.fails("SELECT nay_contains_range($1::nay, 1.5::float8, 2.5::float8)", made).state, "22023")
    assert "Cast" in db.fails("SELECT $1::nay @> 1.5::float8", made).hint
    for sql in ("SELECT nay_contains_range(nay_agg(7), 1, 2)", "SELECT nay_agg(x, 10, 0.01, 'range') FROM generate_series(1, 9) x"):
        error = db.fails(sql)
        assert error.state == "0A000" and "-t range" in error.hint, error
    # a real is between the binary64 of what it was written as and its own
    made = built(["0.1"], "-t", "range", "--key=float", "--range-length", "1", "-p", "1e-9")
    equal(db.one("SELECT nay_contains_range($1, '0.1', '0.1')", made), "t")
    # times of the other type: what BETWEEN finds in the session's zone, over changes of the clocks
    db("SET timezone = 'Europe/Berlin'")
    for type_, other in ("timestamp", "timestamptz"), ("timestamptz", "timestamp"):
        for day in ("2024-03-31", "2024-10-27", "2024-06-01"):
            db(f"CREATE TEMP TABLE times AS SELECT x, x - interval '1 second' AS lo, x + interval '1 second' AS hi FROM "
               f"(SELECT '{day}'::{type_} + n * n * interval '1 minute' + n * interval '7 seconds' AS x FROM generate_series(0, 20) n) s")
            keys = [row[0] for row in db(f"SELECT to_char(x{' AT TIME ZONE $$UTC$$' * (type_ == 'timestamptz')}, 'YYYY-MM-DD HH24:MI:SS') FROM times")]
            made = built(keys, "-t", "range", "--key=timestamp", "--range-length", "2000000", "-p", "0.0001")
            equal((type_, day, db.one(f"SELECT count(*) FROM times a WHERE EXISTS (SELECT FROM times b WHERE b.x BETWEEN a.lo::{other} AND a.hi::{other}) "
                                      f"AND NOT nay_contains_range($1::nay, a.lo::{other}, a.hi::{other})", made)), (type_, day, "0"))
            db("DROP TABLE times")
    db("RESET timezone")
    # keys that are texts: a prefix and a number
    made = built([f"user:{u}:order:{n * 1000}" for u in range(5) for n in range(50)], "-t", "range", "--range-keys=decimal",
                 "--range-length", "100", "-p", "0.0001")
    equal(db.one("SELECT nay_contains_range($1, 'user:3:order:950', 'user:3:order:1049'), nay_contains_range($1, 'user:3:order:1001', "
                 "'user:3:order:1100')", made), ("t", "f"))


@test("out of memory is an error with SQLSTATE 53200, and the server lives on")
def no_memory(cluster, db):
    other = cluster.connect()
    pid = int(other.one("SELECT pg_backend_pid()"))
    pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[0])
    limited = cluster.place.run("prlimit", "--pid", pid, f"--as={pages * 4096 + 40000000}:")
    if limited.returncode:
        raise Skip("prlimit: " + limited.stderr.strip())
    other("SET max_parallel_workers_per_gather = 0")
    other("SET work_mem = '1GB'")
    for sql in ("SELECT nay_agg(x, 100000000, 0.01) FROM generate_series(1, 10) x", "SELECT nay_agg(x) FROM generate_series(1, 5000000) x",
                "SELECT nay_agg(x, 5000000, 0.01, 'fuse') FROM generate_series(1, 5000000) x"):
        error = other.fails(sql)
        equal((sql, error.state), (sql, "53200"))
    equal(other.one("SELECT nay_agg(7, 10, 1e-9) @> 7"), "t")
    other.close()


@test("databases of other encodings make the same keys")
def encodings(cluster, db):
    made = set()
    for encoding in ("UTF8", "LATIN1", "SQL_ASCII"):
        db(f"CREATE DATABASE enc_{encoding} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0")
        other = cluster.connect(f"enc_{encoding}".lower())
        other("CREATE EXTENSION nay")
        other("SET client_encoding = " + ("'SQL_ASCII'" if encoding == "SQL_ASCII" else "'UTF8'"))
        made.add(other.one("SELECT nay_agg(x, 100, 1e-9) FROM unnest(array['é', 'plain', 'Ü ']) x", binary=True))
        equal(other.one("SELECT $1::nay @> 'é' AND NOT $1::nay @> 'e'", next(iter(made))), "t")
        # what a literal is as a bytea depends on the encoding
        other("CREATE TEMP TABLE raw AS SELECT 'é'::bytea AS b")
        equal(other.one("SELECT b = 'é', (SELECT nay_agg(b, 10, 1e-9) FROM raw) @> 'é', (SELECT nay_add(nay_agg(b, 10, 1e-9), 'ü') FROM raw) "
                        "@> 'ü'::bytea, (SELECT nay_agg(b, 10, 1e-9) FROM raw) @> 'e' FROM raw"), ("t", "t", "t", "f"))
        other.close()
    equal(len(made), 1)


SKIPPED = ["2024-03-31 02:30", "2011-12-30 12:00"]  # local times that a change of the clocks skips, in Berlin and on Samoa
EQUALS = {
    "smallint": ["0", "-1", "7", "32767"], "int": ["-1", "7", "2147483647"], "bigint": ["-1", "7", "-9223372036854775808", "16777217"],
    "real": ["-0", "0.1", "7", "16777216", "NaN", "Infinity", "1e-40", "3.4028235e38"],
    "float8": ["0", "0.1", "7", "16777217", "NaN", "-Infinity", "1e308", "0.10000000149011612", "9007199254740993"],
    "numeric": ["0.0", "7", "7.000", "0.1", "-1", "NaN", "Infinity", "1e20", "1e-20", "123456789012345678901234567890.12300"],
    "numeric(10,2)": ["7", "0.1", "-1.005"], "boolean": ["t", "yes", "off"],
    "date": ["2024-02-29", "infinity", "-infinity", "0044-03-15 BC", "5874897-12-31"],
    "timestamp": ["2024-02-29 12:00:00.5", "2024-02-29 12:00:00.5+05", "infinity", *SKIPPED], "timestamp(0)": ["2024-02-29 12:00:00.5"],
    "timestamptz": ["2024-07-01 12:00+02", "2024-02-29 12:00:00.5", "-infinity", *SKIPPED],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000", "{123E4567E89B12D3A456426614174000}"],
    "text": ["", "a", "a ", "7", "\\x61", "\\141", "true", "é", "x" * 70, "\t a"], "varchar(3)": ["", "a", "é"], "char(5)": ["", "a", "a ", "é", "  a"],
    "char(80)": ["x" * 70], "name": ["a ", "x" * 70, "é" * 40], "bytea": ["\\x61", "a ", "\\141", "\\xc3a9", "\\xe9", "é"]}


@test("wherever PostgreSQL's = finds a row, of any type and as a literal, nay_contains says maybe or is an error")
def equals(cluster, db):
    other = cluster.connect("enc_latin1")
    other("SET client_encoding = 'UTF8'")
    tried = 0
    for on, zone in (db, "Europe/Berlin"), (other, "Pacific/Apia"):
        on("SET client_min_messages = error")
        on(f"SET timezone = '{zone}'")
        probes = [f"{literal}{cast}" for type_, texts in EQUALS.items() for text in texts for literal in ["'" + text + "'"] for cast in ("", "::" + type_)]
        for type_, texts in EQUALS.items():
            for text in texts:
                on(f"CREATE TEMP TABLE col AS SELECT '{text}'::{type_} AS x")
                on("CREATE TEMP TABLE fil AS SELECT nay_agg(x, 10, 1e-9) AS f FROM col")
                for probe in probes:
                    try:
                        if on.one(f"SELECT x = {probe} FROM col") != "t":
                            continue
                        answer = on.one(f"SELECT f @> {probe} FROM fil")
                    except Error as error:
                        answer = error.hint
                    assert answer not in ("f", ""), (type_, text, probe)
                    tried += answer == "t"
                on("DROP TABLE col, fil")
        on("RESET client_min_messages")
        on("RESET timezone")
    other.close()
    assert tried > 800, tried


@test("parallel: Partial and Finalize Aggregate, and the bytes of one process, for all shapes of arguments")
def parallel(cluster, db):
    db("CREATE TABLE big AS SELECT (x * 7919) % 100003 AS x, ('k' || x) AS t FROM generate_series(1, 100000) x")
    db("ANALYZE big")
    forced = ("SET parallel_setup_cost = 0", "SET parallel_tuple_cost = 0", "SET min_parallel_table_scan_size = 0",
              "SET max_parallel_workers_per_gather = 2")
    for call in ("nay_agg(x)", "nay_agg(x, 0.001)", "nay_agg(x, 100000, 0.01)", "nay_agg(t, 100000, 0.001, 'bloom')",
                 "nay_agg(x, 100000, 0.01, 'fuse')", "nay_agg(x, 100000, 0.01, 'cuckoo')", "nay_agg(t, 100000, 0.01, 'counting')"):
        db("SET max_parallel_workers_per_gather = 0")
        alone = db.one(f"SELECT {call} FROM big", binary=True)
        for setting in forced:
            db(setting)
        plan = "\n".join(row[0] for row in db(f"EXPLAIN (COSTS OFF) SELECT {call} FROM big"))
        assert "Finalize Aggregate" in plan and "Partial Aggregate" in plan and "Workers Planned: 2" in plan, plan
        equal((call, db.one(f"SELECT {call} FROM big", binary=True) == alone), (call, True))
        rows = db(f"SELECT g, count(*) FROM (SELECT x % 5 AS g, {call} AS f FROM big GROUP BY 1) s GROUP BY 1")
        equal(len(rows), 5)
    db("CREATE TABLE parts AS SELECT nay_agg(x, 100000, 0.01) AS f FROM big GROUP BY x % 50")
    db("ANALYZE parts")
    plan = "\n".join(row[0] for row in db("EXPLAIN (COSTS OFF) SELECT nay_union(f) FROM parts"))
    assert "Finalize Aggregate" in plan, plan
    equal(db.one("SELECT nay_union(f)::bytea = (SELECT nay_agg(x, 100000, 0.01)::bytea FROM big) FROM parts"), "t")
    db("SET max_parallel_workers_per_gather = 0")


@test("the memory of states is counted: a hash aggregate of many groups goes to disk, and makes the same filters")
def counted(cluster, db):
    made = []
    for settings in (("enable_sort = off", "work_mem = '1MB'", "hash_mem_multiplier = 1"), ("enable_hashagg = off",)):
        for setting in settings:
            db(f"SET {setting}")
        for call in ("nay_agg(x)", "nay_agg(x, 200, 0.01)"):
            groups = f"SELECT x % 500 AS g, {call} AS f FROM big GROUP BY 1"
            plan = "\n".join(row[0] for row in db(f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) {groups}"))
            assert ("HashAggregate" in plan and "Disk Usage" in plan) or "GroupAggregate" in plan, plan
            made.append((call, "HashAggregate" in plan, db.one(f"SELECT md5(string_agg(md5(f::bytea), '' ORDER BY g)) FROM ({groups}) s")))
        for setting in settings:
            db("RESET " + setting.split()[0])
    for (call, hashed, one), (_, hashed_too, other) in zip(made[:2], made[2:]):
        equal((call, hashed, hashed_too, one), (call, True, False, other))


@test("filters of a table are detoasted and decoded once, up to sixteen: buffers do not grow with the rows")
def cached(cluster, db):
    db("CREATE TABLE one AS SELECT nay_agg(x, 1000000, 0.01) AS f FROM big")

    def buffers(sql):
        plan = [row[0] for row in db("EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) " + sql)]
        line = next(line for line in plan if "Buffers" in line)
        return sum(int(word.split("=")[1]) for word in line.split() if "=" in word and word[0] in "hr")
    db("CREATE TABLE several AS SELECT x % 16 AS g, nay_agg(x, 10000, 0.0001) AS f FROM big GROUP BY 1")
    for sql in ("SELECT count(*) FROM one, generate_series(1, {}) x WHERE f @> x",
                "SELECT count(*) FROM generate_series(1, {}) x WHERE (SELECT f FROM one) @> x",
                "SELECT count(*) FROM several JOIN generate_series(1, {}) x ON g = x % 16 AND f @> x"):
        few, many = buffers(sql.format(100)), buffers(sql.format(20000))
        assert many < few + 200, (sql, few, many)
    joined = "SELECT count(*) FROM big JOIN several ON g = x % 16 AND f @> x"
    equal(db.one(joined), "100000")
    db("SET work_mem = '64kB'")  # room for some of them
    equal(db.one(joined + " WHERE x < 2000"), db.one("SELECT count(*) FROM big WHERE x < 2000"))
    db("RESET work_mem")
    a, b = (db.one(f"SELECT nay_agg({i}, 10, 1e-9)", binary=True) for i in (1, 2))
    equal(len(a), len(b))
    equal(db("SELECT f @> 1 FROM unnest($1::nay[]) f", "{%s}" % ",".join(
        db.one("SELECT $1::nay::text", f) for f in (a, b, a, a, b))), [("t",), ("f",), ("t",), ("t",), ("f",)])


@test("a semi-join is cut on its other side, as EXPLAIN shows")
def semi_join(cluster, db):
    db("CREATE TABLE small AS SELECT x * 1000 AS id FROM generate_series(1, 100) x")
    sql = ("SELECT count(*) FROM big WHERE nay_contains((SELECT nay_agg(id, 100, 0.001) FROM small), x) "
           "AND x IN (SELECT id FROM small)")
    equal(db.one(sql), db.one("SELECT count(*) FROM big WHERE x IN (SELECT id FROM small)"))
    plan = "\n".join(row[0] for row in db("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) " + sql))
    assert "Rows Removed by Filter: 99" in plan and "InitPlan" in plan, plan


@test("limits: work_mem, 1 GB, statement_timeout, and a server that lives on")
def limits(cluster, db):
    db("SET work_mem = '64kB'")
    for call in ("nay_agg(x)", "nay_agg(x, 100000, 0.01, 'fuse')"):
        error = db.fails(f"SELECT {call} FROM big")
        equal(error.state, "54000")
        assert "work_mem" in error.hint, error
    equal(db.one("SELECT count(nay_agg) FROM (SELECT nay_agg(x, 100000, 0.01) FROM big) s"), "1")
    db("RESET work_mem")
    equal(db.fails("SELECT nay_agg(x, 10000000000, 0.01) FROM big").state, "54000")
    if LONG:  # lengths of base64 above 2^31
        equal(db.one("SELECT f::text::nay::bytea = f::bytea AND f::text::nay @> 7 FROM (SELECT nay_agg(x, 500000000, 0.01) AS f "
                     "FROM generate_series(1, 10) x OFFSET 0) s"), "t")
        equal(db.fails("SELECT length(nay_agg(x, 680000000, 0.01)::text) FROM generate_series(1, 10) x").state, "54000")
    db("SET statement_timeout = 100")
    equal(db.fails("SELECT nay_agg(x, 100000000, 0.01) FROM generate_series(1, 100000000) x").state, "57014")
    db("RESET statement_timeout")
    assert any("planned for" in notice for notice in (db("SELECT nay_agg(x, 10, 0.01) FROM big"), db.notices)[1])


@test("10,000 failing queries leave no memory behind")
def leaks(cluster, db):
    def used():
        return int(db.one("SELECT sum(used_bytes) FROM pg_backend_memory_contexts"))
    made = bytearray(db.one("SELECT nay_agg(x, 1000, 0.01) FROM big", binary=True))
    made[500] ^= 1
    sqls = [("SELECT $1::bytea::nay", bytes(made)), ("SELECT nay_agg(x, 10, 2) FROM big", None),
            ("SELECT nay_agg(1, 1000, 0.01) @> 'seven'", None), ("SELECT nay_merge(nay_agg(1, 10, 0.01), nay_agg('x'::text, 10, 0.01))", None)]
    def round_(n):
        for i in range(n):
            sql, parameter = sqls[i % len(sqls)]
            db.fails(sql, *([parameter] if parameter else []))
    round_(200)
    before = used()
    round_(10000 if LONG else 2000)
    assert used() < before + 200000, (before, used())


@test("hostile bytes through recv, the cast and the text: errors with SQLSTATE, the server alive")
def hostile(cluster, db):
    good = [db.one(f"SELECT nay_agg(x, 50, 0.01, '{kind}') FROM generate_series(1, 50) x", binary=True) for kind in KINDS]
    states, n = {}, 1000000 if LONG else 10000
    pid = db.one("SELECT pg_backend_pid()")
    for i, bytes_ in enumerate(mutations(32, good, n)):
        try:
            if i % 3 == 0:
                db("SELECT $1::nay @> 7, nay_info($1::nay)", bytes_)
            else:
                db("SELECT $1::bytea::nay @> 7" if i % 3 == 1 else "SELECT encode($1::bytea, 'base64')::nay::text", bytes_)
        except Error as error:
            states[error.state] = states.get(error.state, 0) + 1
    assert set(states) <= {"22P02", "22P03", "0A000", "22023", "55000", "53200"}, states
    assert sum(states.values()) > n / 2, states
    equal(db.one("SELECT pg_backend_pid()"), pid)


@test("keyed filters: with the key in the file they answer, without it are an error, and do not merge with others")
def keyed(cluster, db):
    with tempfile.TemporaryDirectory() as folder:
        secret = pathlib.Path(folder) / "secret"
        secret.write_text("00112233445566778899aabbccddeeff\n")
        secret.chmod(0o600)
        locked = built(range(10), "-n", "10", f"--secret={secret}", "--key=int")
        stored = built(range(10), "-n", "10", f"--secret={secret}", "--key=int", "--store-key")
    equal(db.fails("SELECT $1::nay @> 1", locked).state, "55000")
    equal(db.one("SELECT count(*) FROM generate_series(0, 9) x WHERE $1::nay @> x", stored), "10")
    plain = built(range(10), "-n", "10", "--key=int")
    for other in (locked, stored):
        equal(db.fails("SELECT nay_merge($1::nay, $2::nay)", plain, other).state, "42804")


@test("copies, dumps and upgrades: COPY, binary COPY, ALTER EXTENSION from 1.0")
def carried(cluster, db):
    with tempfile.TemporaryDirectory(dir=cluster.place.root) as folder:
        cluster.place.own(folder)
        for options in ("", "WITH (FORMAT binary)"):
            db(f"COPY parts TO '{folder}/parts' {options}")
            db("CREATE TEMP TABLE back (f nay)")
            db(f"COPY back FROM '{folder}/parts' {options}")
            equal(db.one("SELECT count(*) FROM back b WHERE b.f::bytea IN (SELECT f::bytea FROM parts)"), "50")
            db("DROP TABLE back")
    db("CREATE DATABASE upgraded")
    other = cluster.connect("upgraded")
    other("CREATE EXTENSION nay VERSION '1.0'")
    equal(other.fails("SELECT nay_overlap(nay_agg(1, 10, 0.01), nay_agg(1, 10, 0.01))").state, "42883")
    other("ALTER EXTENSION nay UPDATE")
    equal(other.one("SELECT (nay_overlap(nay_agg(1, 10, 0.01), nay_agg(1, 10, 0.01))).jaccard"), "1")
    other("DROP EXTENSION nay CASCADE")
    other.close()


def start():
    missing = postgres.available()
    if missing:
        print(f"ok 1 - PostgreSQL # SKIP {missing}\n1..1")
        return 0
    cluster = Place().cluster("one")
    db = cluster.connect()
    db("CREATE EXTENSION nay")
    return main(cluster, db)


if __name__ == "__main__":
    sys.exit(start())
