#!/usr/bin/env python3
"""Filters in Parquet files, with DuckDB and hyparquet as engines: theirs read, ours used by them."""
import json
import pathlib
import subprocess
import sys
import tempfile

import duckdb_engine
from duckdb_engine import Duck
from tap import equal, main, nay, test

HERE = pathlib.Path(__file__).resolve().parent
FILTERS = "FORMAT parquet, ROW_GROUP_SIZE 2048, dictionary_size_limit 1000000, bloom_filter_false_positive_ratio 0.01"

COLUMNS = {  # of row i: of each type for which DuckDB writes filters, and the decimal for which it writes none
    "i8": "(i % 256 - 128)::TINYINT", "i16": "(i * 7 - 30000)::SMALLINT", "i32": "(i * 100003 - 50000000)::INTEGER",
    "i64": "i * 1000000007 - 500000000000", "u8": "(i % 256)::UTINYINT", "u16": "(i * 13 % 65536)::USMALLINT",
    "u32": "(i * 200003 + 3000000000)::UINTEGER", "u64": "(i::UBIGINT * 10000000000000 + 9446744073709551615)::UBIGINT",
    "f32": "(i / 8.0)::FLOAT", "f64": "(i / 3.0)::DOUBLE", "dec4": "(i / 10.0)::DECIMAL(5, 1)",
    "dec9": "(i / 100.0 - 3)::DECIMAL(9, 2)", "dec18": "(i * 1.0001 - 3)::DECIMAL(18, 4)",
    "dec38": "(i * 1.00001 - 3)::DECIMAL(38, 5)", "s": "'k' || i", "day": "DATE '1969-06-01' + i::INTEGER",
    "t": "TIME '00:00:01' + to_microseconds(i * 12345678)", "ts": "TIMESTAMP '1969-12-31 23:59:00' + to_microseconds(i * 123456)",
    "tsm": "(TIMESTAMP '2001-01-01' + to_milliseconds(i * 777))::TIMESTAMP_MS", "tss": "(TIMESTAMP '2001-01-01' + to_seconds(i))::TIMESTAMP_S",
    "tsn": "make_timestamp_ns(i * 123456789123 - 99999999999999)", "tz": "TIMESTAMPTZ '2020-01-01 00:00:00+00' + to_seconds(i)",
    "u": "md5('x' || i)::UUID", "e": "'e' || (i % 5)", "li": "[i, i + 100000]", "st": "{'a': i, 'b': {'c': 'q' || i}}",
    "ma": "MAP {'m' || i: i * 2}",
}
NESTED = {"li": [("li.list.element", "unnest(li)")], "st": [("st.a", "st.a"), ("st.b.c", "st.b.c")],
          "ma": [("ma.key_value.key", "unnest(map_keys(ma))"), ("ma.key_value.value", "unnest(map_values(ma))")]}


class Hyparquet:
    def __init__(self):
        self.process = subprocess.Popen(["node", HERE / "hyparquet_shell.mjs", duckdb_engine.PACKAGES], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, **question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline() or '{"error": "hyparquet is gone"}')
        if "error" in answer:
            raise AssertionError(answer["error"])
        return answer["rows"]

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)


def ours(file, column, values, group):
    text = "".join(f"{value}\n" for value in values).encode()
    lines = nay("check", "-a", f"--in={column}", f"--row-group={group}", file, text=text).splitlines()
    return "".join("1" if line.startswith(b"maybe") else "0" for line in lines)


def write(db, folder, n=5000):
    file = folder / "all.parquet"
    if not file.exists():
        columns = ", ".join(f"{sql} AS {name}" for name, sql in COLUMNS.items())
        db("SET TimeZone = 'UTC'")
        db(f"COPY (SELECT {columns} FROM range({n}) r(i)) TO '{file}' ({FILTERS})")
    return file


@test("every type of DuckDB: each value of a row group is a maybe there, and its file is printed")
def types(db, _, folder):
    file = write(db, folder)
    listed = [x.split("\t") for x in nay("extract", "--list", file).decode().splitlines()]
    for name in COLUMNS:
        for column, sql in NESTED.get(name, [(name, name)]):
            groups = [int(group) for group, of, *_ in listed if of == column]
            equal(groups, [] if name == "dec38" else [0, 1, 2])
            for group in range(3):
                rows = f"file_row_number BETWEEN {2048 * group} AND {2048 * group + 2047}"
                table = f"read_parquet('{file}', file_row_number = true)"
                values = [row[0] for row in db(f"SELECT DISTINCT CAST({sql} AS VARCHAR) FROM {table} WHERE {rows}")]
                assert len(values) >= 5, column
                equal(ours(file, column, values, group), "1" * len(values))
    found = nay("prune", "--row-groups", "--in=day", "-e", "1982-01-01", file).decode().splitlines()
    assert f"{file}\t2" in found, found


@test("answers for absent values are those of parquet_bloom_probe and of hyparquet")
def answers(db, hyparquet, folder):
    file = write(db, folder)
    absent = {"i64": [str(7 * i + 3) for i in range(150)], "s": [f"absent {i}" for i in range(150)], "f64": [f"{i}.015625" for i in range(-75, 75)],
              "i32": [str(i * 11 + 5) for i in range(150)]}
    maybes = 0
    for column, values in absent.items():
        mine = [ours(file, column, values, group) for group in range(3)]
        maybes += "".join(mine).count("1")
        equal(hyparquet(file=str(file), column=column, values=values), mine)
        theirs = ["", "", ""]
        for value in values:
            literal = f"'{value}'" if column == "s" else f"{value}::{'DOUBLE' if column == 'f64' else 'BIGINT' if column == 'i64' else 'INTEGER'}"
            for row in db(f"SELECT row_group_id, bloom_filter_excludes FROM parquet_bloom_probe('{file}', '{column}', {literal})"):
                theirs[int(row[0])] += "0" if row[1] else "1"
        equal(theirs, mine)
    assert 0 < maybes < 100, maybes


@test("a filter of ours in place of DuckDB's, in a copy of its file, is used by DuckDB and by hyparquet")
def in_place(db, hyparquet, folder):
    file, copy = folder / "small.parquet", folder / "ours.parquet"
    db(f"COPY (SELECT (i * 48271) % 1000003 AS b, 'k' || i AS s FROM range(1000) r(i)) TO '{file}' ({FILTERS})")
    listed = {x[1]: x for x in (y.split("\t") for y in nay("extract", "--list", file).decode().splitlines())}
    other = [str(i * 3 + 7) for i in range(1000)]  # values that the file does not have
    members = [row[0] for row in db(f"SELECT b FROM '{file}'")]
    nay("build", "-q", "-f", "--format=sbbf", "--key=long", "-p", "1%", "-n", "1000", "-o", folder / "b.sbbf", text="".join(f"{x}\n" for x in other).encode())
    filter_bytes, at = (folder / "b.sbbf").read_bytes(), int(listed["b"][2])
    equal(len(filter_bytes), int(listed["b"][3]))
    raw = bytearray(file.read_bytes())
    raw[at:at + len(filter_bytes)] = filter_bytes
    copy.write_bytes(raw)

    def excludes(path, value):
        return db.one(f"SELECT bloom_filter_excludes FROM parquet_bloom_probe('{path}', 'b', {value}::BIGINT)")

    gone = [x for x in members if ours(copy, "b", [x], 0) == "0"][:40]
    equal(len(gone), 40)
    for x in gone:  # the filter says no: DuckDB does not read the row group
        equal([excludes(file, x), excludes(copy, x)], [False, True])
        equal([db.one(f"SELECT count(*) FROM '{path}' WHERE b = {x}") for path in (file, copy)], ["1", "0"])
    for x in other[:40]:
        equal(excludes(copy, x), False)
    equal(hyparquet(file=str(copy), column="b", values=gone + other), ["0" * 40 + "1" * 1000])
    # one of the same members: the same bytes, the same answers
    nay("build", "-q", "-f", "--format=sbbf", "--key=long", "-p", "1%", "-n", "1000", "-o", folder / "b.sbbf", text="".join(f"{x}\n" for x in members).encode())
    equal((folder / "b.sbbf").read_bytes(), file.read_bytes()[at:at + len(filter_bytes)])


@test("files that hyparquet-writer writes with filters")
def written(_, hyparquet, folder):
    file = folder / "hyparquet.parquet"
    data = {"l": [str(i * 1234567 - 5000) for i in range(1200)], "s": [f"é{i}" for i in range(1200)], "d": [i / 7 for i in range(1200)]}
    kinds = {"l": "INT64", "s": "STRING", "d": "DOUBLE"}
    hyparquet(write=str(file), columns=[{"name": x, "data": data[x], "type": kinds[x], "bloomFilter": True} for x in data])
    equal(nay("extract", "--list", file).count(b"\n"), 9)
    for column, values in data.items():
        texts = [repr(x) if column == "d" else x for x in values]
        theirs = hyparquet(file=str(file), column=column, values=texts)
        for group in range(3):
            mine = ours(file, column, texts, group)
            equal(mine[500 * group:500 * group + 500], "1" * len(texts[500 * group:500 * group + 500]))
            equal(mine, theirs[group])


if __name__ == "__main__":
    why = duckdb_engine.install()
    if why:
        print(f"1..0 # SKIP {why}")
        sys.exit(0)
    with tempfile.TemporaryDirectory() as name:
        database, reader = Duck(extension=""), Hyparquet()
        try:
            sys.exit(main(database, reader, pathlib.Path(name)))
        finally:
            database.close()
            reader.close()
