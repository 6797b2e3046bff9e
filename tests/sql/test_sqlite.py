#!/usr/bin/env python3
"""The extension in SQLite: through Python's sqlite3, and the sqlite3 shell where that is there."""
import os
import pathlib
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile

from tap import BUILD, LONG, SOURCE, Skip, built, checked, equal, main, mutations, nay, test

EXTENSION = str(BUILD / "sqlite/nay")


def connect(path=":memory:", entry=None):
    db = sqlite3.connect(path)
    db.enable_load_extension(True)
    if entry:
        db.execute("SELECT load_extension(?, ?)", (EXTENSION, entry))
    else:
        db.load_extension(EXTENSION)
    db.enable_load_extension(False)
    return db


def series(db, n):
    db.execute("CREATE TEMP TABLE IF NOT EXISTS numbers(x INTEGER PRIMARY KEY)")
    db.execute("DELETE FROM numbers")
    db.executemany("INSERT INTO numbers VALUES (?)", ((i,) for i in range(1, n + 1)))


def one(db, sql, *arguments):
    rows = db.execute(sql, arguments).fetchall()
    equal(len(rows), 1)
    return rows[0][0] if len(rows[0]) == 1 else rows[0]


def fails(db, sql, *arguments):
    try:
        rows = db.execute(sql, arguments).fetchall()
    except sqlite3.Error as error:
        return str(error)
    raise AssertionError(f"{sql}: no error, but {str(rows)[:200]}")


@test("every key is a maybe, absent keys within the rate, for each kind")
def kinds(db):
    series(db, 5000)
    for kind in "auto bloom blocked counting scalable window cuckoo xor fuse ribbon".split():
        made = one(db, "SELECT nay_agg(x, 5000, 0.01, ?) FROM numbers", kind)
        equal(one(db, "SELECT sum(nay_contains(?, x)) FROM numbers", made), 5000)
        wrong = one(db, "SELECT sum(nay_contains(?, x + 5000)) FROM numbers", made)
        assert wrong < 100, f"{kind}: {wrong} of 5,000 absent keys"


@test("sizes from none to 2,000: counted keys, with duplicates and NULLs")
def sizes(db):
    for n in [*range(0, 20), 63, 64, 65, 255, 256, 257, 767, 768, 769, 1000, 2000]:
        series(db, n)
        made = one(db, "SELECT nay_agg(x) FROM (SELECT x FROM numbers UNION ALL SELECT x FROM numbers UNION ALL "
                       "SELECT NULL FROM numbers)")
        if n == 0:
            equal(made, None)
            continue
        equal(one(db, "SELECT sum(nay_contains(?, x)) FROM numbers", made), n)
        equal(one(db, "SELECT nkeys FROM nay_info(?)", made), n)


@test("no rows are NULL, rows of NULL an empty filter; NULL in, NULL out")
def nulls(db):
    equal(one(db, "SELECT nay_agg(x, 10, 0.01) FROM (SELECT 1 x WHERE 0)"), None)
    empty = one(db, "SELECT nay_agg(NULL, 10, 0.01)")
    for value in (7, 7.5, "seven", b"7"):  # of no type: no value is in it
        equal(one(db, "SELECT nay_contains(?, ?)", empty, value), 0)
    equal(one(db, "SELECT nay_contains(?, NULL)", empty), None)
    equal(one(db, "SELECT nay_contains(NULL, 7)"), None)
    equal(one(db, "SELECT nay_merge(NULL, ?)", empty), None)
    equal(one(db, "SELECT nay_union(NULL)"), None)
    equal(db.execute("SELECT * FROM nay_info(NULL)").fetchall(), [])
    assert one(db, "SELECT nay_agg(NULL)") is not None


@test("the same bytes as the command's: int, text, counted and planned, static and not")
def same_bytes(db):
    series(db, 3000)
    texts = [f"key {i}" for i in range(1, 3001)]
    for kind in ("bloom", "blocked", "counting", "fuse", "ribbon", "xor"):
        static = kind in ("fuse", "ribbon", "xor")
        planned = () if static else ("-n", "3000")
        arguments = "x, 0.001" if static else "x, 3000, 0.001, '%s'" % kind
        if static:
            arguments = "x, 3000, 0.001, '%s'" % kind
        made = one(db, f"SELECT nay_agg({arguments}) FROM numbers")
        equal(made, built(range(1, 3001), "-t", kind, "-p", "0.001", "--key=int", *planned))
        made = one(db, f"SELECT nay_agg(x, 3000, 0.001, '{kind}') FROM (SELECT 'key ' || x AS x FROM numbers)")
        equal(made, built(texts, "-t", kind, "-p", "0.001", *planned))
    equal(one(db, "SELECT nay_agg(x, 0.001) FROM numbers"), built(range(1, 3001), "-p", "0.001", "--key=int"))


@test("the command checks what SQLite builds, and the other way round, for each type of keys")
def types(db):
    series(db, 100)
    made = one(db, "SELECT nay_agg(x / 4.0, 100, 1e-6) FROM numbers")
    equal(checked(made, ["0.25", "25", "25.25"]), ["0.25", "25"])
    vectors = {}
    for line in (SOURCE / "tests/golden/keys/keys.txt").read_text(encoding="utf-8", errors="surrogateescape").split("\n"):
        parts = line.split("\t")
        if line.startswith("#") or len(parts) != 3 or parts[2] == "error" or parts[0] in ("text", "hex", "b64") \
                or parts[0].startswith("ordered-"):  # of range filters, which SQL has no values for
            continue
        if parts[1] and "\\" not in parts[1] and "\r" not in parts[1] and len(parts[2]) < 2000:
            vectors.setdefault(parts[0], []).append(parts[1])
    assert len(vectors) == 7, vectors.keys()
    for type_, texts in vectors.items():
        made = built(texts, f"--key={type_}", "-p", "1e-6", "-n", "1000")
        for text in texts:
            equal((text, one(db, "SELECT nay_contains(?, ?)", made, text)), (text, 1))
        equal(one(db, "SELECT key FROM nay_info(?)", made), type_)


@test("a value of another type is an error with a hint, never a nay")
def other_types(db):
    series(db, 10)
    ints = one(db, "SELECT nay_agg(x) FROM numbers")
    texts = one(db, "SELECT nay_agg('' || x) FROM numbers")
    equal(one(db, "SELECT nay_contains(?, '007')", ints), 1)
    for value in (7.0, b"7", b"\x07\0\0\0\0\0\0\0", "seven", "", " 7"):
        assert "type" in fails(db, "SELECT nay_contains(?, ?)", ints, value)
    for value in (7, 7.0):
        assert "Cast" in fails(db, "SELECT nay_contains(?, ?)", texts, value)
    equal(one(db, "SELECT nay_contains(?, ?)", texts, b"7"), 1)
    assert "were of type int" in fails(db, "SELECT nay_agg(x) FROM (SELECT 1 x UNION ALL SELECT 1.0 UNION ALL SELECT 2)")
    assert "key" in fails(db, "SELECT nay_merge(?, ?)", ints, texts)


@test("range filters: nay_contains_range and nay_contains; types, an empty range, NULLs, errors")
def ranges(db):
    made = built([x * 1000 for x in range(-100, 100)], "-t", "range", "--key=int", "--range-length", "100", "-p", "0.0001")
    wrong = 0
    for x in range(-100100, 100000, 100):
        got = one(db, "SELECT nay_contains_range(?1, ?2, ?2 + 99), nay_contains_range(?1, ?2 - 99, ?2), nay_contains(?1, ?2)", made, x)
        if x % 1000 == 0 and x >= -100000:
            equal((x, got), (x, (1, 1, 1)))
        else:
            wrong += sum(got)
    assert wrong < 30, wrong
    equal(one(db, "SELECT nay_contains_range(?1, 5, 3), nay_contains_range(?1, '-1', '1'), nay_contains_range(?1, NULL, 3), "
                  "nay_contains_range(NULL, 1, 3), nay_contains(?1, '8'), nay_contains(?1, '50000')", made), (0, 1, None, None, 0, 1))
    equal(one(db, "SELECT nay_contains_range(nay_open(?1), 1, 999), nay_contains_range(nay_open(?1), 1, 1000)", made), (0, 1))
    assert "type" in fails(db, "SELECT nay_contains_range(?, 1.5, 2.5)", made)
    assert "not for ranges" in fails(db, "SELECT nay_contains_range(nay_agg(7), 1, 2)")
    assert "no range filters" in fails(db, "SELECT nay_agg(7, 10, 0.01, 'range')")
    for type_, keys in (("float", ["-1.5", "0", "2.25", "1e300"]), ("date", ["2024-02-29", "-0043-03-15"]),
                        ("timestamp", ["2024-02-29 12:00:00Z", "1969-12-31T23:59:59.999999Z"])):
        made = built(keys, "-t", "range", f"--key={type_}", "--range-length", "10", "-p", "0.001")
        for key in keys:
            equal((key, one(db, "SELECT nay_contains_range(?1, ?2, ?2), nay_contains(?1, ?2)", made, key)), (key, (1, 1)))
            if type_ == "float":
                equal((key, one(db, "SELECT nay_contains(?1, ?2)", made, float(key))), (key, 1))
    # floats of a column of binary32 elsewhere: the text is asked for both roundings
    made = built(["0.10000000149011612"], "--key=float", "-p", "1e-9", "-n", "10")
    equal(one(db, "SELECT nay_contains(?1, '0.1'), nay_contains(?1, 0.1), nay_contains(?1, '0.11')", made), (1, 0, 0))
    made = built(["3.4028234663852886e38"], "--key=float", "-p", "1e-9", "-n", "10")
    equal(one(db, "SELECT nay_contains(?1, '3.4028235e38'), nay_contains(?1, '3.4e38'), nay_contains(?1, 'inf')", made), (1, 0, 0))


@test("texts asked of REAL keys: what SQLite finds by = is never a nay, also where it reads a text as another float than the nearest")
def real_texts(db):
    rng = random.Random(7)
    texts = ["8311844.54096999576e-299", "230.39090779051911e-305", "1602.44092280350e-307", "0.1", "-0", "1e-400", " 1".strip(), "9007199254740993"]
    for _ in range(3000):
        digits, point = str(rng.randrange(10 ** 15, 10 ** 20)), rng.randrange(1, 16)
        texts.append(f"{digits[:point]}.{digits[point:]}e{rng.randrange(-320, 280)}")
    db.execute("CREATE TABLE reals (x REAL, s TEXT)")
    db.executemany("INSERT INTO reals VALUES (?1, ?1)", [(text,) for text in texts])
    db.execute("CREATE TABLE asked AS SELECT nay_agg(x, 1e-9) AS f FROM reals")
    wrong = db.execute("SELECT s FROM reals AS r, asked WHERE x = s AND NOT nay_contains(f, s)").fetchall()
    equal(wrong, [])
    equal(one(db, "SELECT nay_contains(nay_agg(0.5), 'inf'), nay_contains(nay_agg(0.0), 'nan'), nay_contains(nay_agg(0.0), '-inf')"), (0, 0, 0))


@test("transformations that a filter states are applied to texts")
def transformed(db):
    made = built(["Ada", " bob "], "--trim", "-i", "-p", "1e-9", "-n", "10")
    for text, wanted in (("ADA", 1), ("  Bob", 1), (b"bOB ", 1), ("eve", 0)):
        equal(one(db, "SELECT nay_contains(?, ?)", made, text), wanted)
    made = built([" 7"], "--trim", "--key=int", "-p", "1e-9", "-n", "10")
    equal((one(db, "SELECT nay_contains(?, 7)", made), one(db, "SELECT nay_contains(?, ' 0x7 ')", made)), (1, 1))
    fails(db, "SELECT nay_merge(?, ?)", made, one(db, "SELECT nay_agg(7, 10, 1e-9)"))


@test("text is UTF-8 whatever the database's encoding, with NUL bytes inside")
def encodings(db):
    with tempfile.TemporaryDirectory() as folder:
        made = []
        for encoding in ("UTF-8", "UTF-16le", "UTF-16be"):
            other = connect(f"{folder}/{encoding}")
            other.execute(f"PRAGMA encoding = '{encoding}'")
            other.execute("CREATE TABLE t(x TEXT)")
            other.executemany("INSERT INTO t VALUES (?)", (("é €",), ("a\0b",), ("",), ("\U0001f600",)))
            made.append(one(other, "SELECT nay_agg(x, 100, 1e-9) FROM t"))
            equal(one(other, "SELECT sum(nay_contains(?, x)) FROM t", made[0]), 4)
            equal(one(other, "SELECT nay_contains(?, 'a')", made[0]), 0)
            other.close()
        equal(len(set(made)), 1)
        equal(checked(made[0], ["é €", "e"]), ["é €"])


@test("windows: a frame from UNBOUNDED PRECEDING; others are refused")
def windows(db):
    series(db, 40)
    rows = db.execute("SELECT x, nay_agg(x, 40, 1e-6, 'bloom') OVER (ORDER BY x) FROM numbers").fetchall()
    for x, made in rows:
        got = one(db, "SELECT group_concat(x) FROM (SELECT x FROM numbers WHERE nay_contains(?, x) ORDER BY x)", made)
        equal(got, ",".join(map(str, range(1, x + 1))))
    counted = db.execute("SELECT nay_agg(x) OVER (ORDER BY x ROWS UNBOUNDED PRECEDING) FROM numbers").fetchall()
    equal([one(db, "SELECT nkeys FROM nay_info(?)", made) for made, in counted], list(range(1, 41)))
    united = db.execute("SELECT nay_union(f) OVER (ORDER BY x) FROM (SELECT x, nay_agg(x, 40, 1e-6, 'bloom') f "
                        "FROM numbers GROUP BY x)").fetchall()
    equal([made for made, in united], [made for _, made in rows])
    for what in ("nay_agg(x, 40, 0.01)", "nay_agg(x)"):
        assert "UNBOUNDED" in fails(db, f"SELECT {what} OVER (ORDER BY x ROWS 2 PRECEDING) FROM numbers")


@test("nay_union and nay_merge: the bytes of one filter of all; limits and mismatches are errors")
def unions(db):
    series(db, 2000)
    whole = one(db, "SELECT nay_agg(x, 2000, 0.01) FROM numbers")
    parts = "SELECT nay_agg(x, 2000, 0.01) f FROM numbers GROUP BY x % 7"
    equal(one(db, f"SELECT nay_union(f) FROM ({parts})"), whole)
    equal(one(db, f"SELECT nay_merge(max(f), max(f)) = max(f) FROM (SELECT ? f)", whole), 1)
    half = one(db, "SELECT nay_agg(x, 2000, 0.01) FROM numbers WHERE x <= 1000")
    rest = one(db, "SELECT nay_agg(x, 2000, 0.01) FROM numbers WHERE x > 1000")
    equal(one(db, "SELECT nay_merge(?, ?)", half, rest), whole)
    assert "limit" in fails(db, "SELECT nay_merge(?, ?, 1e-9)", half, rest)
    fuse = one(db, "SELECT nay_agg(x, 2000, 0.01, 'fuse') FROM numbers")
    for a, b in ((fuse, fuse), (whole, fuse), (whole, one(db, "SELECT nay_agg(x, 2000, 0.01, 'bloom') FROM numbers"))):
        assert "nay_merge: " in fails(db, "SELECT nay_merge(?, ?)", a, b)
    assert "nay_union: " in fails(db, "SELECT nay_union(f) FROM (SELECT ? f UNION ALL SELECT ?)", whole, fuse)


@test("groups: each has a filter of its own, and a join asks the right one")
def groups(db):
    series(db, 1000)
    db.execute("CREATE TEMP TABLE per AS SELECT x % 10 AS g, nay_agg(x, 100, 1e-6) AS f FROM numbers GROUP BY g")
    equal(one(db, "SELECT count(*) FROM numbers JOIN per ON nay_contains(f, x)"), 1000)
    equal(one(db, "SELECT count(*) FROM numbers JOIN per ON nay_contains(f, x) AND g = x % 10"), 1000)
    equal(one(db, "SELECT sum(nay_contains((SELECT f FROM per WHERE g = x % 10), x)) FROM numbers"), 1000)
    equal(one(db, "SELECT sum(nay_contains((SELECT f FROM per WHERE g = (x + 1) % 10), x)) FROM numbers"), 0)


@test("wrong arguments: n, rates, kinds, blobs that are no filters")
def arguments(db):
    for call in ("x, 0, 0.01", "x, -1, 0.01", "x, 1.5, 0.01", "x, 'many', 0.01", "x, NULL, 0.01", "x, 10, 0", "x, 10, 1",
                 "x, 10, -1", "x, 10, NULL", "x, 10, 9e999", "x, 9223372036854775807, 0.01", "x, 10, 0.01, 'magic'",
                 "x, NULL", "x, 'abc'", "x, 10, 'nan'", "x, 10, 0.01, NULL", "x, 1000, 1e-300", "x, 10, 0.01, 'map'", "x, 10, 0.01, ''", "x, 1e12, 1e-9", "x, 10, 0.01, 'blo' || char(0) || 'om'"):
        assert "nay_agg: " in fails(db, f"SELECT nay_agg({call}) FROM (SELECT 1 x)"), call
    equal(one(db, "SELECT nkeys FROM nay_info((SELECT nay_agg(1, 1e6, 0.01)))"), 1000000)
    for call in ("x, x, 0.01", "x, 0.01 * x", "x, 10, 0.01 * x", "x, nullif(10, x), 0.01"):
        assert "same in all rows" in fails(db, f"SELECT nay_agg({call}) FROM (SELECT 7 x UNION ALL SELECT 10)"), call
    for call in ("x, '1e3', '0.01'", "x, 1e3, '1e-2'"):
        equal(one(db, f"SELECT nay_contains(nay_agg({call}), 8) FROM (SELECT 7 x UNION ALL SELECT 8)"), 1)
    series(db, 2000)
    assert "2000 distinct" in fails(db, "SELECT nay_agg(x, 2, 0.01, 'window') FROM numbers")
    for value in (b"", b"x", b"\x89nay\r\n\x1a\n", b"\0" * 200, "text", 7, 1.5):
        assert "filter" in fails(db, "SELECT nay_contains(?, 1)", value) or value
        fails(db, "SELECT nay_merge(?, ?)", value, value)
        fails(db, "SELECT nay_union(?)", value)
        fails(db, "SELECT * FROM nay_info(?)", value)
    equal(db.execute("SELECT * FROM nay_info").fetchall(), [])


@test("a keyed filter without its key is an error, with it answers; one of hashes of its maker is an error")
def keyed(db):
    with tempfile.TemporaryDirectory() as folder:
        secret = pathlib.Path(folder) / "secret"
        secret.write_text("00112233445566778899aabbccddeeff\n")
        secret.chmod(0o600)
        locked = built(range(10), "-n", "10", f"--secret={secret}", "--key=int")
        stored = built(range(10), "-n", "10", f"--secret={secret}", "--key=int", "--store-key")
    assert "keyed" in fails(db, "SELECT nay_contains(?, 1)", locked)
    equal(one(db, "SELECT sum(nay_contains(?, value)) FROM json_each('[0,1,2,3,4,5,6,7,8,9]')", stored), 10)
    plain = built(range(10), "-n", "10", "--key=int")
    fails(db, "SELECT nay_merge(?, ?)", plain, stored)
    fails(db, "SELECT nay_merge(?, ?)", plain, locked)


@test("nay_file: off unless its entry point was taken; then mapped, and errors name the file")
def files(db):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "x.nay"
        path.write_bytes(built(range(1000), "--key=int"))
        assert "opens no files" in fails(db, "SELECT nay_contains(nay_file(?), 1)", str(path))
        other = connect(entry="sqlite3_nayfiles_init")
        series(other, 2000)
        equal(one(other, "SELECT sum(nay_contains(nay_file(?), x)) >= 999 FROM numbers", str(path)), 1)
        # a handle that was stored is an error in another connection, which has files of its own
        stored = one(other, "SELECT nay_file(?)", str(path))
        path2 = pathlib.Path(folder) / "y.nay"
        path2.write_bytes(built(range(5000, 5100), "--key=int"))
        third = connect(entry="sqlite3_nayfiles_init")
        equal(one(third, "SELECT nay_contains(nay_file(?), 7)", str(path2)), 0)
        equal(one(other, "SELECT nay_contains(?, 7)", stored), 1)
        assert "not open" in fails(third, "SELECT nay_contains(?, 7)", stored)
        third.close()
        equal(one(other, "SELECT nkeys FROM nay_info(nay_file(?))", str(path)), 1000)
        equal(one(other, "SELECT length(nay_file(?))", str(path)), 32)
        assert "x.none" in fails(other, "SELECT nay_contains(nay_file(?), 1)", f"{folder}/x.none")
        assert folder in fails(other, "SELECT nay_file(?)", folder)
        equal(one(other, "SELECT nay_contains(nay_file(NULL), 1)"), None)
        other.execute("CREATE VIEW v AS SELECT nay_contains(nay_file('x'), 1)")
        assert "unsafe" in fails(other, "SELECT * FROM v")
        path.write_bytes(b"no filter")
        assert str(path) in fails(other, "SELECT nay_contains(nay_file(?), 1)", str(path))


@test("deterministic and innocuous: in an index, a generated column and a trigger of an untrusted schema")
def flags(db):
    db.execute("PRAGMA trusted_schema = OFF")
    made = one(db, "SELECT nay_agg(1, 10, 0.01)")
    db.execute(f"CREATE TABLE g(x INTEGER, y INTEGER GENERATED ALWAYS AS (nay_contains(x'{made.hex()}', x)) STORED)")
    db.execute(f"CREATE INDEX gi ON g(nay_contains(x'{made.hex()}', x))")
    db.execute("INSERT INTO g(x) VALUES (1), (2)")
    equal(db.execute("SELECT y FROM g ORDER BY x").fetchall(), [(1,), (0,)])
    db.execute("DROP TABLE g")
    db.execute("PRAGMA trusted_schema = ON")


@test("a filter is decoded once, not for each row: also from a subquery and a bound value")
def cached(db):
    series(db, 50000)
    made = one(db, "SELECT nay_agg(x, 1000000, 0.0001) FROM numbers")
    assert len(made) > 2000000
    db.execute("CREATE TEMP TABLE one(f BLOB)")
    db.execute("INSERT INTO one VALUES (?)", (made,))
    # 50,000 decodes of 2.4 MB would be 120 GB through memory: minutes. The test's own time limit would end it.
    equal(one(db, "SELECT sum(nay_contains((SELECT nay_open(f) FROM one), x)) FROM numbers"), 50000)
    equal(one(db, "SELECT sum(nay_contains(?, x)) FROM numbers", made), 50000)
    equal(one(db, "WITH h AS MATERIALIZED (SELECT nay_open(f) AS f FROM one) SELECT count(*) FROM numbers, h WHERE nay_contains(f, x)"), 50000)
    # SQLite flattens this one, and opens the filter for each row: right, and slow
    equal(one(db, "SELECT count(*) FROM numbers, (SELECT nay_open(f) AS f FROM one) WHERE x <= 500 AND nay_contains(f, x)"), 500)


@test("nay_open: a handle that survives tables and copies, and is an error once the filter is gone")
def handles(db):
    series(db, 2000)
    db.execute("CREATE TEMP TABLE h(f BLOB)")
    db.execute("INSERT INTO h SELECT nay_agg(x) FROM numbers")
    equal(one(db, "SELECT count(*) FROM numbers WHERE nay_contains((SELECT nay_open(f) FROM h), x)"), 2000)
    equal(one(db, "SELECT count(*) FROM numbers, (SELECT nay_open(f) AS g FROM h) WHERE nay_contains(g, x)"), 2000)
    equal(one(db, "SELECT nay_open(NULL)"), None)
    handle = one(db, "SELECT nay_open(f) FROM h")
    equal(one(db, "SELECT nay_contains(?, 7)", handle), 1)
    equal(one(db, "SELECT nkeys FROM nay_info(?)", handle), 2000)
    equal(one(db, "SELECT length(nay_merge(?, ?))", handle, handle), one(db, "SELECT length(f) FROM h"))
    for i in range(16):
        one(db, "SELECT nay_open(nay_agg(?))", i)
    assert "not open" in fails(db, "SELECT nay_contains(?, 7)", handle)
    assert "not open" in fails(connect(), "SELECT nay_contains(?, 7)", handle)
    assert "not open" in fails(db, "SELECT nay_contains(?, 7)", b"nayopen1" + bytes(24))
    fails(db, "SELECT nay_open(zeroblob(32))")


@test("two connections, threads, statements that change their filter: no answer of another's")
def changes(db):
    series(db, 10)
    a, b = (one(db, f"SELECT nay_agg(x, 10, 1e-9) FROM numbers WHERE x % 2 = {bit}") for bit in (0, 1))
    equal(len(a), len(b))
    for _ in range(20):
        for made, wanted in ((a, 0), (b, 1)):
            equal(one(db, "SELECT nay_contains(?, 7)", made), wanted)
    db.execute("CREATE TEMP TABLE w(f)")
    db.executemany("INSERT INTO w VALUES (?)", [(made,) for made in (a, b) * 10])
    equal(db.execute("SELECT nay_contains(f, 7) FROM w").fetchall(), [(0,), (1,)] * 10)
    many = [one(db, "SELECT nay_agg(?, 10, 1e-9)", i) for i in range(20)]  # more than the cache holds
    db.execute("DELETE FROM w")
    db.executemany("INSERT INTO w VALUES (?)", [(made,) for made in many * 3])
    equal(db.execute("SELECT nay_contains(f, 7) FROM w").fetchall(), [(int(i == 7),) for i in range(20)] * 3)


@test("memory: a limit of SQLite's is an error, and the connection goes on")
def memory(db):
    code = f"""if 1:
        import sqlite3, sys
        db = sqlite3.connect(":memory:")
        db.enable_load_extension(True); db.load_extension({EXTENSION!r})
        db.execute("PRAGMA hard_heap_limit = 8000000")
        rows = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 2000000) SELECT "
        for call in ("nay_agg(x)", "nay_agg(x, 100000000, 0.01)", "nay_agg(x, 2000000, 0.01, 'fuse')"):
            try:
                db.execute(rows + call + " FROM c").fetchall()
                print("no error")
            except (MemoryError, sqlite3.Error) as error:
                print(type(error).__name__)
        print(db.execute("SELECT nay_contains(nay_agg(1, 10, 0.01), 1)").fetchall())"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    equal(run.stdout.split("\n"), ["MemoryError"] * 3 + ["[(1,)]", ""])


@test("hostile blobs: an error or a filter that answers, through every function")
def hostile(db):
    series(db, 50)
    good = [one(db, "SELECT nay_agg(x, 50, 0.01, ?) FROM numbers", kind)
            for kind in "bloom blocked counting scalable window cuckoo xor fuse ribbon".split()]
    good.append(built(["2024-02-29"], "--key=date"))
    refused = 0
    for bytes_ in mutations(32, good, 1000000 if LONG else 10000):
        for call in ("SELECT nay_contains(?, 7)", "SELECT nay_union(?)", "SELECT fpr_now FROM nay_info(?)"):
            try:
                db.execute(call, (bytes_,)).fetchall()
            except sqlite3.Error:
                refused += 1
    assert refused > 1000
    equal(one(db, "SELECT nay_contains(?, 7)", good[0]), 1)


@test("the sqlite3 shell: .load, readfile and writefile carry filters to and from the command")
def shell(db):
    if not shutil.which("sqlite3"):
        raise Skip("no sqlite3 here")
    with tempfile.TemporaryDirectory() as folder:
        script = f""".load {EXTENSION}
CREATE TABLE t(x);
WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 1000) INSERT INTO t SELECT x FROM c;
SELECT writefile('{folder}/x.nay', nay_agg(x)) > 0 FROM t;
SELECT kind, key, nkeys FROM nay_info(readfile('{folder}/x.nay'));
SELECT sum(nay_contains(readfile('{folder}/x.nay'), x)) FROM t;
"""
        run = subprocess.run(["sqlite3", "-bail"], input=script, capture_output=True, text=True, timeout=600)
        equal((run.stdout, run.stderr), ("1\nblocked|int|1000\n1000\n", ""))
        equal(nay("check", f"{folder}/x.nay", "-e", "0x7", "-e", "1001").decode().split()[0], "0x7")


sys.exit(main(connect()))
