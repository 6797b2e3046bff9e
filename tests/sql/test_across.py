#!/usr/bin/env python3
"""One filter, many engines: PostgreSQL, SQLite, DuckDB, the command, Redis and C build a filter of the same values: 50,000
integers, texts, bytes, with --long a million, and a fifth of each other type, which an engine without it asks by text. Payload
and parameters are the same each time; the key description is there where the engine knows
the type (Redis and C get canonical keys). Each then checks the filters of all others."""
import datetime
import pathlib
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import uuid

import duckdb_engine
import postgres
from duckdb_engine import Duck
from postgres import Place
from tap import BUILD, SOURCE, TESTS, Skip, equal, main, nay

sys.path.insert(0, str(SOURCE / "tests/redis"))
N, FPR, KIND = 1000000 if "--long" in sys.argv else 50000, 0.01, "blocked"
TYPES = {"int": N, "text": N, "bytes": N, **dict.fromkeys(("float", "date", "timestamp", "uuid", "numeric"), N // 5)}
UNTYPED = ("text", "bytes")  # whose files state no type
COLUMNS = {"int": "bigint", "float": "float8", "date": "date", "timestamp": "timestamptz", "uuid": "uuid", "numeric": "numeric"}
DUCKDB = {**COLUMNS, "float": "double", "timestamp": "timestamp", "numeric": "decimal(18, 3)"}


def other_value(type_, i):
    """As values(); SQLite has no type for the last four."""
    if type_ == "float":
        return i * 0.1 - 1234.5, repr(i * 0.1 - 1234.5), struct.pack("<d", i * 0.1 - 1234.5)
    if type_ == "date":
        line, key = str(datetime.date(1900, 1, 1) + datetime.timedelta(i)), struct.pack("<q", i - 25567)
    elif type_ == "timestamp":
        usecs = (i - N // 10) * 7919000001
        time = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=usecs)
        line, key = f"{time:%Y-%m-%d %H:%M:%S.%f}Z", struct.pack("<q", usecs)
    elif type_ == "uuid":
        made = uuid.UUID(int=i * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128)
        line, key = str(made), made.bytes
    else:
        line = f"{i // 8 - 5000}.{i % 8 * 125:03d}"
        key = line.rstrip("0").rstrip(".").encode()
    return line, line, key


def values(type_):
    """Row i = 1 ... as (what SQLite binds, a line for the command, the canonical key)."""
    for i in range(1, TYPES[type_] + 1):
        if type_ == "int":
            number = (i * 0x9E3779B97F4A7C15 % 2**64) - 2**63
            yield number, str(number), struct.pack("<q", number)
        elif type_ == "text":
            text = f"clé {i}"
            yield text, text, text.encode()
        elif type_ == "bytes":
            bytes_ = b"\xff\0" + str(i).encode()
            yield bytes_, bytes_.hex(), bytes_
        else:
            yield other_value(type_, i)


class Across:
    """The engines that are here. build(type) gives the bytes of a file, None without such a type; check(type, file) the number of
    maybes."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.engines = {"the command": (self.command_build, self.command_check), "C": (self.c_build, self.c_check)}
        self.lines, self.keys, self.rows = {}, {}, {}
        for type_ in TYPES:
            rows = list(values(type_))
            self.lines[type_] = "".join(line + "\n" for _, line, _ in rows).encode()
            self.keys[type_] = b"".join(struct.pack("<I", len(key)) + key for _, _, key in rows)
            (self.folder / type_).write_bytes(self.lines[type_])
        self.missing = []
        for name, start in (("SQLite", self.sqlite_start), ("PostgreSQL", self.postgres_start),
                            ("DuckDB", self.duckdb_start), ("Redis", self.redis_start)):
            missing = start()
            if missing:
                self.missing.append(f"{name}: {missing}")

    # the command

    def option(self, type_):
        return "--key=" + ("hex" if type_ == "bytes" else type_)

    def command_build(self, type_):
        nay("build", "-q", "-f", "-o", self.folder / "x.nay", "-n", TYPES[type_], "-p", FPR, "-t", KIND, self.option(type_), self.folder / type_)
        return (self.folder / "x.nay").read_bytes()

    def command_check(self, type_, path):
        if type_ not in UNTYPED and parameters(path.read_bytes())[2] == b"text":  # of canonical keys: their bytes
            digits = "".join(key.hex() + "\n" for _, _, key in values(type_))
            return int(nay("check", "-c", "--key=hex", path, text=digits.encode()))
        return int(nay("check", "-c", self.option(type_), path, self.folder / type_))

    # C

    def c_build(self, type_):
        subprocess.run([BUILD / "tests/sql/across", "build", self.folder / "x.nay", str(TYPES[type_]), str(FPR), KIND],
                       input=self.keys[type_], check=True, timeout=600)
        return (self.folder / "x.nay").read_bytes()

    def c_check(self, type_, path):
        done = subprocess.run([BUILD / "tests/sql/across", "check", path], input=self.keys[type_], check=True,
                              capture_output=True, timeout=600)
        return int(done.stdout)

    # SQLite

    def sqlite_start(self):
        if not (BUILD / "sqlite/nay.so").exists():
            return "the extension was not built"
        self.sqlite = sqlite3.connect(":memory:")
        self.sqlite.enable_load_extension(True)
        self.sqlite.load_extension(str(BUILD / "sqlite/nay"))
        for type_ in TYPES:
            self.sqlite.execute(f"CREATE TABLE {type_}s (x)")
            self.sqlite.executemany(f"INSERT INTO {type_}s VALUES (?)", ((value,) for value, _, _ in values(type_)))
        self.engines["SQLite"] = (
            lambda type_: self.sqlite.execute(f"SELECT nay_agg(x, {TYPES[type_]}, {FPR}, '{KIND}') FROM {type_}s").fetchone()[0]
            if type_ in ("int", "float", *UNTYPED) else None,
            lambda type_, path: self.sqlite.execute(f"SELECT sum(nay_contains(?, x)) FROM {type_}s",
                                                    (path.read_bytes(),)).fetchone()[0])
        return ""

    # PostgreSQL: its COPY reads the lines of the command

    def postgres_start(self):
        if postgres.available():
            return postgres.available()
        place = Place()
        self.postgres = place.cluster("one").connect()
        self.postgres("CREATE EXTENSION nay")
        shutil.copytree(self.folder, place.root / "lines")
        for type_ in TYPES:
            self.postgres(f"CREATE TABLE raw (x {COLUMNS.get(type_, 'text')})")
            self.postgres(f"COPY raw FROM '{place.root}/lines/{type_}'")
            value = "decode(x, 'hex')" if type_ == "bytes" else "x"
            self.postgres(f"CREATE TABLE {type_}s AS SELECT {value} AS x FROM raw")
            self.postgres("DROP TABLE raw")
        self.engines["PostgreSQL"] = (
            lambda type_: self.postgres.one(f"SELECT nay_agg(x, {TYPES[type_]}, {FPR}, '{KIND}') FROM {type_}s", binary=True),
            lambda type_, path: int(self.postgres.one(f"SELECT count(*) FROM {type_}s WHERE $1::nay @> x", path.read_bytes())))
        return ""

    # DuckDB reads the lines as CSV

    def duckdb_start(self):
        if duckdb_engine.available():
            return duckdb_engine.available()
        self.duckdb = Duck()
        for type_ in TYPES:
            value = "unhex(x)" if type_ == "bytes" else f"x::{DUCKDB.get(type_, 'varchar')}"
            self.duckdb(f"CREATE TABLE {type_}s AS SELECT {value} AS x FROM read_csv('{self.folder}/{type_}', header = false, "
                        f"delim = '\\t', quote = '', columns = {{'x': 'VARCHAR'}})")
        self.engines["DuckDB"] = (
            lambda type_: self.duckdb.bytes(f"SELECT nay_agg(x, {TYPES[type_]}, {FPR}, '{KIND}') FROM {type_}s"),
            lambda type_, path: int(self.duckdb.one(f"SELECT count(*) FROM {type_}s, read_blob('{path}') b "
                                                    "WHERE nay_contains(b.content, x)")))
        return ""

    # Redis: canonical keys, as texts

    def redis_start(self):
        if not shutil.which("redis-server") or not (BUILD / "nay_redis.so").exists():
            return "no redis-server or module"
        from server import Server
        self.server = Server()
        self.redis = self.server.client()
        self.engines["Redis"] = (self.redis_build, self.redis_check)
        return ""

    def redis_batches(self, type_):
        batch = []
        for _, _, key in values(type_):
            batch.append(key)
            if len(batch) == 10000:
                yield batch
                batch = []
        if batch:
            yield batch

    def redis_build(self, type_):
        self.redis("FLUSHALL")
        self.redis("NAY.RESERVE", "f", str(FPR), TYPES[type_], "KIND", KIND, "SEED", 0)
        for batch in self.redis_batches(type_):
            self.redis("NAY.MADD", "f", *batch)
        parts, offset = [], 0
        while True:
            offset, part = self.redis("NAY.DUMP", "f", offset)
            parts.append(part)
            if offset == 0:
                return b"".join(parts)

    def redis_check(self, type_, path):
        """Of a file that states a type, Redis converts texts; others take the bytes."""
        self.redis("FLUSHALL")
        self.redis("NAY.LOAD", "f", 0, path.read_bytes())
        if parameters(path.read_bytes())[2] != b"text":
            found = 0
            lines = self.lines[type_].splitlines()
            for at in range(0, len(lines), 10000):
                found += sum(self.redis("NAY.MTEST", "f", *lines[at:at + 10000]))
            return found
        return sum(sum(self.redis("NAY.MTEST", "f", *batch)) for batch in self.redis_batches(type_))


def parameters(file):
    """(header without what depends on sections, payload, key description) of a native file: doc/formats/nay.md, 3."""
    nsections, (body_len,) = file[13], struct.unpack_from("<Q", file, 48)
    at = -(-(64 + 16 * nsections + 8 * (-(-body_len // 65536)) + 8) // 64) * 64
    sections = {}
    for i in range(nsections):
        type_, _, length = struct.unpack_from("<IIQ", file, 64 + 16 * i)
        sections[type_] = file[at:at + length]
        at = -(-(at + length) // 64) * 64
    return file[8:13] + file[16:48], sections[1], sections.get(4, b"text")


def one_type(type_):
    def run(across):
        made = {name: build(type_) for name, (build, _) in across.engines.items()}
        files = {name: file for name, file in made.items() if file is not None}
        described = {name: parameters(file) for name, file in files.items()}
        for name, (header, payload, _) in described.items():
            equal((name, header.hex(), payload == described["C"][1]), (name, described["C"][0].hex(), True))
        for name, (_, _, key) in described.items():
            equal((name, key), (name, type_.encode() if type_ not in UNTYPED and name not in ("C", "Redis") else b"text"))
        for maker, file in files.items():
            path = across.folder / "made.nay"
            path.write_bytes(file)
            path.chmod(0o644)
            for name, (_, check) in across.engines.items():
                # canonical keys without a description are bytes: engines with types ask the described file
                if type_ not in UNTYPED and maker in ("C", "Redis") and name not in ("C", "Redis", "the command"):
                    continue
                equal((maker, name, check(type_, path)), (maker, name, TYPES[type_]))
    return run


def start():
    with tempfile.TemporaryDirectory(prefix="nay-across-") as folder:
        pathlib.Path(folder).chmod(0o755)
        across = Across(folder)
        for reason in across.missing:
            print(f"# not here: {reason}")
        for type_, n in TYPES.items():
            TESTS.append((f"{n:,} values of type {type_}: " + ", ".join(across.engines), one_type(type_)))
        status = main(across)
        if "DuckDB" in across.engines:
            across.duckdb.close()
        return status


if __name__ == "__main__":
    sys.exit(start())
