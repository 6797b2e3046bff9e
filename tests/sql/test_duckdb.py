#!/usr/bin/env python3
"""The extension in DuckDB, which npm brings."""
import pathlib
import sys
import tempfile

import duckdb_engine
from duckdb_engine import Duck, Error, blob
from tap import LONG, SOURCE, built, checked, equal, main, mutations, test

KINDS = "auto bloom blocked counting scalable window cuckoo xor fuse ribbon".split()


@test("the same bytes as the command's, for each kind; every key a maybe, absent ones within the rate")
def kinds(db):
    for kind in KINDS:
        made = db.bytes(f"SELECT nay_agg(x, 5000, 0.01, '{kind}') FROM range(1, 5001) t(x)")
        equal(db.one(f"SELECT count(*) FROM range(1, 5001) t(x) WHERE nay_contains({blob(made)}, x)"), "5000")
        assert int(db.one(f"SELECT count(*) FROM range(5001, 10001) t(x) WHERE nay_contains({blob(made)}, x)")) < 100, kind
        if kind not in ("scalable", "window", "cuckoo"):  # of these the command adds in order
            equal(made, built(range(1, 5001), "-t", kind, "-p", "0.01", "-n", "5000", "--key=int"))
    made = db.bytes("SELECT nay_agg('key ' || x, 0.001) FROM range(1, 3001) t(x)")
    equal(made, built([f"key {i}" for i in range(1, 3001)], "-p", "0.001"))


@test("sizes from none to 5,000, across vectors: counted keys, with duplicates and NULLs")
def sizes(db):
    equal(db.one("SELECT nay_agg(x) FROM range(0) t(x)"), None)
    for n in (1, 2, 3, 63, 64, 65, 511, 512, 513, 767, 768, 1000, 2047, 2048, 2049, 5000):
        db(f"CREATE OR REPLACE TABLE f AS SELECT nay_agg(nullif(x % {n + 1}, 0)) AS f FROM range({2 * n + 2}) t(x)")
        equal(db.one("SELECT nay_info(f).nkeys FROM f"), str(n))
        equal(db.one(f"SELECT count(*) FROM f, range(1, {n + 1}) t(x) WHERE nay_contains(f, x)"), str(n))


@test("no rows are NULL, rows of NULL an empty filter; NULL in, NULL out, also in the middle of vectors")
def nulls(db):
    equal(db.one("SELECT nay_contains(nay_agg(NULL::INT, 10, 0.01), 7)"), False)
    equal(db.one("SELECT nay_contains(NULL, 7)"), None)
    equal(db.one("SELECT nay_union(NULL::BLOB)"), None)
    equal(db.one("SELECT nay_merge(NULL, nay_agg(7))"), None)
    equal(db.one("SELECT nay_info(NULL)"), None)
    db("CREATE OR REPLACE TABLE f AS SELECT nay_agg(x, 6000, 0.000001) AS f FROM range(6000) t(x)")
    rows = db("SELECT count(*), count(r), sum(r::INT) FROM (SELECT nay_contains(CASE WHEN x % 7 = 0 THEN NULL ELSE f END, "
              "CASE WHEN x % 5 = 0 THEN NULL ELSE x END) AS r FROM f, range(6000) t(x))")
    wanted = sum(1 for x in range(6000) if x % 7 and x % 5)
    equal(rows, [["6000", str(wanted), str(wanted)]])


@test("every type: the golden vectors as values, and the command checks what DuckDB builds")
def types(db):
    casts = {"int": "BIGINT", "float": "DOUBLE", "bool": "BOOLEAN", "date": "DATE", "timestamp": "TIMESTAMP", "uuid": "UUID",
             "numeric": "DECIMAL(38, 10)"}
    tried = {}
    for line in (SOURCE / "tests/golden/keys/keys.txt").read_text(errors="surrogateescape").split("\n"):
        parts = line.split("\t")
        if line.startswith("#") or len(parts) != 3 or parts[2] == "error" or parts[0] not in casts or "'" in parts[1]:
            continue
        type_, text = parts[:2]
        if type_ == "numeric" and (len(text) > 24 or "e" in text.lower() or len(text.partition(".")[2]) > 10):
            continue
        if type_ == "timestamp" and (text[-1:].upper() != "Z" or "," in text):
            continue
        literal = f"'{text}'::{casts[type_]}"
        try:
            db(f"SELECT {literal}")
        except (Error, UnicodeError):
            continue  # DuckDB has no such literal
        made = built([text], f"--key={type_}", "-p", "1e-9", "-n", "10")
        equal((type_, text, db.one(f"SELECT nay_contains({blob(made)}, {literal})")), (type_, text, True))
        equal((text, db.one(f"SELECT nay_contains({blob(made)}, '{text}')")), (text, True))
        equal((type_, text, db.bytes(f"SELECT nay_agg({literal}, 10, 1e-9)")), (type_, text, made))
        tried[type_] = tried.get(type_, 0) + 1
    assert all(tried.get(type_, 0) > 2 for type_ in casts), tried
    for sql, text in (("'infinity'::DATE", "infinity"), ("'-infinity'::TIMESTAMP", "-infinity"),
                      ("'2024-02-29 12:34:56'::TIMESTAMP_S", "2024-02-29 12:34:56"),
                      ("'2024-02-29 12:34:56.789'::TIMESTAMP_MS", "2024-02-29 12:34:56.789"), ("'-1'::TINYINT", "-1"),
                      ("255::UTINYINT", "255"), ("65535::USMALLINT", "65535"), ("4294967295::UINTEGER", "4294967295"),
                      ("'18446744073709551615'::UBIGINT", "18446744073709551615"), ("0.1::FLOAT", "0.10000000149011612"),
                      ("1.50::DECIMAL(4,2)", "1.5"), ("'-0.05'::DECIMAL(9,3)", "-0.05"), ("7::HUGEINT", "7"),
                      ("'-170141183460469231731687303715884105728'::HUGEINT", "-170141183460469231731687303715884105728"),
                      ("'340282366920938463463374607431768211455'::UHUGEINT", "340282366920938463463374607431768211455"),
                      ("'0044-03-15 (BC)'::DATE", "-0043-03-15")):
        made = db.bytes(f"SELECT nay_agg({sql}, 10, 1e-9)")
        equal((sql, checked(made, [text])), (sql, [text]))
    for sql in ("[1]", "{'a': 1}", "'1 day'::INTERVAL", "'12:00'::TIME", "'2024-02-29'::TIMESTAMP_NS", "'a'::ENUM('a')"):
        assert "no keys" in db.fails(f"SELECT nay_agg({sql})"), sql
        assert "no keys" in db.fails(f"SELECT nay_contains(nay_agg(1), {sql})"), sql


@test("a value of another type is an error with a hint, never a nay; transformations of texts are applied")
def other_types(db):
    for value in ("7.0", "7::DOUBLE", "7::HUGEINT", "'7'::BLOB", "'seven'", "true", "DATE '1970-01-08'"):
        assert "type" in db.fails(f"SELECT nay_contains(nay_agg(7), {value})"), value
    equal(db.one("SELECT nay_contains(nay_agg(7), '0x7')"), True)
    assert "Cast" in db.fails("SELECT nay_contains(nay_agg('7'), 7)")
    made = built(["Ada"], "--trim", "-i", "-p", "1e-9", "-n", "10")
    equal(db.one(f"SELECT nay_contains({blob(made)}, ' aDA')"), True)


@test("literals: what DuckDB finds by = is never a nay, and a time without a zone is an error")
def literals(db):
    for value, type_, texts in (("0.1", "FLOAT", ["0.1", "0.100", "1e-1", "+.1"]), ("16777217", "FLOAT", ["16777217", "16777216"]),
                                ("-1e-40", "FLOAT", ["-1e-40"]), ("0.1", "DOUBLE", ["0.1", "0.10"]), ("'ab'", "BLOB", [r"\x61\x62", "ab", r"a\x62"]),
                                (r"'\xff'", "BLOB", [r"\xff", r"\xFF"]), (r"'a\x61'", "VARCHAR", [r"a\x61"]), ("'2024-02-29'", "DATE", ["2024-02-29"])):
        for text in texts:
            equal((value, type_, text, db.one(f"SELECT nay_contains(nay_agg({value}::{type_}, 10, 1e-9), '{text}')")), (value, type_, text, True))
    # DuckDB rounds a literal to the type of the column
    for type_, value, texts in (("DECIMAL(4,1)", "0.1", ["0.1", "0.14", "0.149", "0.10", "1.45e-1", "0.0500000001", "0.1" + "0" * 200 + "1"]),
                                ("DECIMAL(4,1)", "-0.2", ["-0.15", "-0.249"]), ("DECIMAL(4,1)", "100", ["99.96", "99.95", "100"]),
                                ("DECIMAL(4,1)", "-100", ["-99.96"]), ("HUGEINT", "-1", ["-0.5", "-1.49"]), ("HUGEINT", "10", ["9.5", "10.4"]),
                                ("UHUGEINT", "1", ["0.5"]), ("DECIMAL(38,10)", "0.1", ["0.1"]),
                                ("FLOAT", "3.4028235e38", ["3.4028235e38", "3.4028234e38"]), ("FLOAT", "inf", ["1e308", "inf"])):
        for text in texts:
            equal((type_, value, text, db.one(f"SELECT '{value}'::{type_} = '{text}'")), (type_, value, text, True))
            equal((type_, value, text, db.one(f"SELECT nay_contains(nay_agg('{value}'::{type_}, 10, 1e-9), '{text}')")), (type_, value, text, True))
    for value, text in (("0.1", "0.25"), ("0.1", "0.04"), ("0.1", "-0.14"), ("100", "99.4")):
        equal((value, text, db.one(f"SELECT nay_contains(nay_agg({value}::DECIMAL(4,1), 10, 1e-9), '{text}')")), (value, text, False))
    equal(db.one("SELECT nay_contains(nay_agg('3.4028235e38'::FLOAT, 10, 1e-9), 'inf')"), False)
    for text in (r"\x63", r"\xzz", "\\", "a"):
        equal((text, db.one(f"SELECT nay_contains(nay_agg('ab'::BLOB, 10, 1e-9), '{text}')")), (text, False))
    equal(db.one("SELECT nay_contains(nay_agg(0.1::FLOAT, 10, 1e-9), '0.11')"), False)
    # a text with an exponent is rounded to a DECIMAL in ways of its own: 12.995e2 is 1299, and 125.5 is 12.55e2
    for type_, text in (("DECIMAL(4,0)", "12.995E+2"), ("DECIMAL(4,0)", "-99.509549e+2"), ("DECIMAL(9,3)", "10822.4999999E+2")):
        equal((type_, text, db.one(f"SELECT nay_contains(nay_agg('{text}'::{type_}, 10, 1e-9), '{text}')")), (type_, text, True))
    # a cast to TIMESTAMP ignores the zone, and TIMESTAMP_S and _MS round
    for type_ in ("TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_S", "TIMESTAMP_MS"):
        for text in ("2024-02-29 12:34:56+05", "2024-02-29T12:34:56.4Z", "2024-02-29 12:34:56.5-11:30", "1969-12-31 23:59:59.9995Z",
                     "1969-12-31 23:59:58.000499+05:30", "0001-01-01 00:00:00.5Z", "infinity", "-infinity"):
            equal((type_, text, db.one(f"SELECT x = '{text}', nay_contains(nay_agg(x, 10, 1e-9), '{text}') FROM (SELECT '{text}'::{type_} AS x) GROUP BY x")),
                  (type_, text, [True, True]))
        equal(db.one(f"SELECT nay_contains(nay_agg('2024-02-29 12:34:56'::{type_}, 10, 1e-9), '2024-02-29 12:34:57.000001Z')"), False)
    for type_ in ("TIMESTAMP", "TIMESTAMPTZ"):
        made = f"nay_agg('2024-02-29 12:00:00+00'::{type_}, 10, 1e-9)"
        for text in ("2024-02-29 12:00", "2024-02-29", " 2024-02-29T12:00:00.5 ".strip()):
            assert "zone" in db.fails(f"SELECT nay_contains({made}, '{text}')"), text
        equal(db.one(f"SELECT nay_contains({made}, '2024-02-29 13:00+01:00')"), True)
        equal(db.one(f"SELECT nay_contains({made}, 'infinity')"), False)


@test("range filters: nay_contains_range and nay_contains; every kind of end, NULLs, an empty range, errors")
def ranges(db):
    for type_, casts, low, high in (("int", "BIGINT", "x * 100", "x * 100"), ("float", "DOUBLE", "(x / 4.0)::DOUBLE", None),
                                    ("date", "DATE", "DATE '2020-01-01' + x::INTEGER * 10", None),
                                    ("timestamp", "TIMESTAMP", "TIMESTAMP '2020-01-01' + to_hours(x::INTEGER * 10)", None)):
        keys = [row[0] for row in db(f"SELECT ({low})::VARCHAR FROM range(200) t(x)")]
        made = blob(built(keys, "-t", "range", f"--key={type_}", "--range-length", "100", "-p", "0.0001"))
        equal((type_, db.one(f"SELECT count(*) FROM range(200) t(x) WHERE nay_contains_range({made}, {low}, {low}) "
                             f"AND nay_contains({made}, {low})")), (type_, "200"))
    made = blob(built([x * 1000 for x in range(-100, 100)], "-t", "range", "--key=int", "--range-length", "100", "-p", "0.0001"))
    rows = db(f"SELECT x, nay_contains_range({made}, x, x + 99), nay_contains_range({made}, x - 50, x + 50) FROM range(-90100, 90000, 100) t(x)")
    wrong = 0
    for x, after, around in rows:
        x = int(x)
        assert after or x % 1000 != 0, x
        assert around or x % 1000 != 0, x
        wrong += (after and x % 1000 != 0) + (around and x % 1000 != 0)
    assert wrong < 20, wrong
    equal(db.one(f"SELECT nay_contains_range({made}, 5, 3)"), False)
    equal(db.one(f"SELECT nay_contains_range({made}, '-1', '1')"), True)
    equal(db.one(f"SELECT nay_contains_range({made}, 1::UTINYINT, 999::SMALLINT)"), False)
    for call in ("NULL, 3", "3, NULL"):
        equal(db.one(f"SELECT nay_contains_range({made}, {call})"), None)
    equal(db.one("SELECT nay_contains_range(NULL, 1, 2)"), None)
    assert "type" in db.fails(f"SELECT nay_contains_range({made}, 1.5::DOUBLE, 2.5::DOUBLE)")
    assert "2^63" in db.fails(f"SELECT nay_contains_range({made}, 1::UBIGINT, 18446744073709551615::UBIGINT)")
    assert "not for ranges" in db.fails("SELECT nay_contains_range(nay_agg(7), 1, 2)")
    assert "no range filters" in db.fails("SELECT nay_agg(x, 10, 0.01, 'range') FROM range(5) t(x)")


@test("parallel, grouped and windowed: the bytes of one filter")
def parallel(db):
    db("CREATE OR REPLACE TABLE big AS SELECT x * 7919 % 300007 AS x FROM range(300000) t(x)")
    for call in ("nay_agg(x)", "nay_agg(x, 300000, 0.01)", "nay_agg(x, 300000, 0.01, 'fuse')", "nay_agg(x, 300000, 0.01, 'cuckoo')"):
        whole = db.bytes(f"SELECT {call} FROM big")
        db("SET threads = 1")
        equal(db.bytes(f"SELECT {call} FROM big") == whole, True)
        db("SET threads = 4")
    whole = db.bytes("SELECT nay_agg(x, 300000, 0.01) FROM big")
    equal(db.bytes("SELECT nay_union(f) FROM (SELECT nay_agg(x, 300000, 0.01) AS f FROM big GROUP BY x % 37)") == whole, True)
    equal(db.one("SELECT count(*) FROM big b JOIN (SELECT x % 50 AS g, nay_agg(x, 6000, 0.001) AS f FROM big GROUP BY 1) p "
                 "ON b.x % 50 = p.g WHERE nay_contains(f, x)"), "300000")
    rows = db("SELECT x, nay_info(nay_agg(x) OVER (ORDER BY x ROWS 2 PRECEDING)).nkeys FROM range(100) t(x) ORDER BY x")
    equal([int(n) for _, n in rows], [min(x + 1, 3) for x in range(100)])


@test("sorted aggregates and constant frames, where DuckDB passes one state for all rows: no crash, no row in another state")
def constant_states(db):
    for n in (1, 2, 3, 4, 5, 10, 100, 2047, 2048, 2049, 5000):
        for call in ("nay_agg(x{})", "nay_agg(x, 5000, 0.01{})", "nay_agg(x, 0.001{})", "nay_agg(DISTINCT x{})"):
            whole = db.bytes(f"SELECT {call.format('')} FROM range({n}) t(x)")
            equal((n, call, db.bytes(f"SELECT {call.format(' ORDER BY -x')} FROM range({n}) t(x)") == whole), (n, call, True))
            if "DISTINCT" in call and n > 100:  # DuckDB makes it anew for each row
                continue
            equal(db(f"SELECT hex(max(f)), hex(min(f)), count(*) FROM (SELECT {call.format('')} OVER () AS f FROM range({n}) t(x))"),
                  [[whole.hex().upper(), whole.hex().upper(), str(n)]])
        equal(db.one(f"SELECT count(*) FROM (SELECT x % 7 AS g, nay_agg(x, 0.001) a, nay_agg(x, 0.001 ORDER BY -x) b FROM range({n}) "
                     "t(x) GROUP BY g) WHERE a = b"), str(min(n, 7)))
        equal(db.one(f"SELECT count(*) FROM range({n}) t(x) JOIN (SELECT x % 7 AS g, nay_agg(x ORDER BY x) AS f FROM range({n}) t(x) "
                     "GROUP BY g) p ON x % 7 = g WHERE nay_contains(f, x)"), str(n))
        equal(db.one(f"SELECT count(*) FROM (SELECT x, nay_agg(x) OVER (PARTITION BY x % 5) AS f FROM range({n}) t(x)) "
                     "WHERE nay_contains(f, x)"), str(n))
        parts = f"(SELECT x, nay_agg(x, 5000, 0.01) AS f FROM range({min(n, 300)}) t(x) GROUP BY x)"
        whole = db.bytes(f"SELECT nay_union(f) FROM {parts}")
        equal(db.bytes(f"SELECT nay_union(f ORDER BY x) FROM {parts}") == whole, True)
        equal(db.bytes(f"SELECT DISTINCT u FROM (SELECT nay_union(f) OVER () AS u FROM {parts})") == whole, True)


@test("nay_open: a handle for joins and subqueries, and an error once the filter is gone")
def handles(db):
    db("CREATE OR REPLACE TABLE h AS SELECT nay_agg(x, 1000000, 0.01) AS f FROM range(5000) t(x)")
    equal(db.one("SELECT count(*) FROM range(5000) t(x) WHERE nay_contains((SELECT nay_open(f) FROM h), x)"), "5000")
    equal(db.one("SELECT count(*) FROM range(200000) t(x) WHERE x < 5000 AND nay_contains((SELECT nay_open(f) FROM h), x)"), "5000")
    equal(db.one("SELECT nay_open(NULL)"), None)
    handle = db.bytes("SELECT nay_open(f) FROM h")
    equal((len(handle), db.one(f"SELECT nay_contains({blob(handle)}, 7)")), (32, True))
    for i in range(16):
        db.one(f"SELECT nay_open(nay_agg({i}))")
    assert "not open" in db.fails(f"SELECT nay_contains({blob(handle)}, 7)")
    assert "not open" in db.fails(f"SELECT nay_contains({blob(b'nayopen1' + bytes(24))}, 7)")


@test("vectors of BIGINT, which are probed as columns: with NULLs, other filters and other types among them")
def columns(db):
    db("CREATE OR REPLACE TABLE two AS SELECT x % 2 AS g, nay_agg(x, 5000, 1e-9) AS f FROM range(10000) t(x) GROUP BY 1")
    for n in (1, 511, 512, 513, 2047, 2048, 2049, 9999):
        for type_ in ("BIGINT", "UBIGINT", "INTEGER"):
            got = db.one(f"SELECT count(*) FROM range({n}) t(x) WHERE nay_contains((SELECT nay_open(f) FROM two WHERE g = 0), x::{type_})")
            equal((n, type_, got), (n, type_, str((n + 1) // 2)))
        got = db.one(f"SELECT count(*) FROM range({n}) t(x) JOIN two ON nay_contains(f, x) AND g = x % 2")
        equal((n, got), (n, str(n)))
    equal(db.one("SELECT count(*) FROM (SELECT CASE WHEN x % 3 = 0 THEN NULL ELSE x END AS x FROM range(9000) t(x)) "
                 "WHERE nay_contains((SELECT nay_open(f) FROM two WHERE g = 1), x)"), "3000")
    assert "type" in db.fails("SELECT nay_contains((SELECT nay_agg('a')), x) FROM range(3000) t(x)")
    equal(db.one("SELECT count(*) FROM range(3000) t(x) WHERE nay_contains((SELECT nay_agg(NULL, 10, 0.01)), x)"), "0")


@test("wrong arguments and mismatches are errors, and DuckDB goes on")
def arguments(db):
    for call in ("x, 0, 0.01", "x, -1, 0.01", "x, NULL, 0.01", "x, 10, 0.0", "x, 10, 1.0", "x, 10, NULL", "x, 10, 0.01, 'magic'",
                 "x, 10, 0.01, 'map'", "x, 10, 0.01, NULL", "x, x, 0.01", "x, 1000000000000000, 0.01"):
        assert "nay_agg: " in db.fails(f"SELECT nay_agg({call}) FROM range(1, 5000) t(x)"), call
    assert "nay_merge" in db.fails("SELECT nay_merge(nay_agg(1), nay_agg('x'))")
    assert "nay_union" in db.fails("SELECT nay_union(f) FROM (SELECT nay_agg(1) f UNION ALL SELECT nay_agg('x'))")
    with tempfile.TemporaryDirectory() as folder:
        secret = pathlib.Path(folder) / "secret"
        secret.write_text("00112233445566778899aabbccddeeff\n")
        secret.chmod(0o600)
        locked = built(range(10), "-n", "10", f"--secret={secret}", "--key=int")
    assert "keyed" in db.fails(f"SELECT nay_contains({blob(locked)}, 1)")


@test("hostile blobs: an error or a filter that answers, through every function")
def hostile(db):
    good = [db.bytes(f"SELECT nay_agg(x, 50, 0.01, '{kind}') FROM range(50) t(x)") for kind in KINDS]
    refused, n = 0, 1000000 if LONG else 10000
    for i, bytes_ in enumerate(mutations(32, good, n)):
        call = ("nay_contains({}, 7)", "nay_union({})", "nay_info({})", "nay_merge({0}, {0})")[i % 4]
        try:
            db("SELECT " + call.format(blob(bytes_)))
        except Error as error:
            assert "gone" not in str(error), (i, bytes_.hex())
            refused += 1
    assert refused > n / 2
    equal(db.one(f"SELECT nay_contains({blob(good[0])}, 7)"), True)


def start():
    missing = duckdb_engine.available()
    if missing:
        print(f"ok 1 - DuckDB # SKIP {missing}\n1..1")
        return 0
    db = Duck()
    status = main(db)
    db.close()
    return status


if __name__ == "__main__":
    sys.exit(start())
