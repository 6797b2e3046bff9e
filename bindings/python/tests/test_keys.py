"""Typed keys: the vectors of doc/keys.md, and values of Python."""
import datetime
import decimal
import math
import os
import pathlib
import subprocess
import uuid

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import libnay
from libnay import Filter

SOURCE = pathlib.Path(os.environ["NAY_SOURCE"])
UTC = datetime.timezone.utc


def test_vectors():
    lines = (SOURCE / "tests/golden/keys/keys.txt").read_text().splitlines()
    seen = 0
    for line in lines:
        if not line or line.startswith("#"):
            continue
        kind, text, key = line.split("\t")
        if kind == "text":
            continue
        seen += 1
        if key == "error":
            with pytest.raises((ValueError, libnay.Error)):
                libnay.key_bytes(text, kind)
        else:
            assert libnay.key_bytes(text, kind).hex() == key, line
    assert seen > 400


VALUES = [
    ("int", 7, "0700000000000000"),
    ("int", -1, "ffffffffffffffff"),
    ("int", 2**64 - 1, "ffffffffffffffff"),
    ("int", numpy.int16(7), "0700000000000000"),
    ("int", True, "0100000000000000"),
    ("float", 1, "000000000000f03f"),
    ("float", 0.1, "9a9999999999b93f"),
    ("float", -0.0, "0000000000000000"),
    ("float", -math.nan, "000000000000f87f"),
    ("float", numpy.float32(0.5), "000000000000e03f"),
    ("float", 2**53, "0000000000004043"),
    ("bool", True, "0100000000000000"),
    ("bool", numpy.False_, "0000000000000000"),
    ("bool", 1, "0100000000000000"),
    ("date", datetime.date(2024, 2, 29), "464d000000000000"),
    ("date", datetime.date(1969, 12, 31), "ffffffffffffffff"),
    ("date", numpy.datetime64("2024-02-29"), "464d000000000000"),
    ("timestamp", datetime.datetime(2024, 2, 29, 12, 34, 56, 789000), "0866aa7c84120600"),
    ("timestamp", datetime.datetime(2024, 2, 29, 12, 34, 56, 789000, UTC), "0866aa7c84120600"),
    ("timestamp", datetime.datetime(2024, 2, 29, 13, 34, 56, 789000,
                                    datetime.timezone(datetime.timedelta(hours=1))), "0866aa7c84120600"),
    ("timestamp", numpy.datetime64("2024-02-29T12:34:56.789000000", "ns"), "0866aa7c84120600"),
    ("timestamp", datetime.date(1970, 1, 2), "0060d71d14000000"),
    ("uuid", uuid.UUID("123e4567-e89b-12d3-a456-426614174000"), "123e4567e89b12d3a456426614174000"),
    ("uuid", bytes(16), "00" * 16),
    ("numeric", decimal.Decimal("-1.50"), "2d312e35"),
    ("numeric", decimal.Decimal("1E+3"), "31303030"),
    ("numeric", 15, "3135"),
    ("numeric", 10**30, b"1000000000000000000000000000000".hex()),
    ("text", "é", "c3a9"),
    ("text", b"\x00\xff", "00ff"),
    ("text", bytearray(b"ab"), "6162"),
    ("text", memoryview(b"ab"), "6162"),
    ("text", numpy.str_("ab"), "6162"),
]


@pytest.mark.parametrize("kind,value,key", VALUES)
def test_values(kind, value, key):
    assert libnay.key_bytes(value, kind).hex() == key
    f = Filter(10, 1e-9, key=kind)
    assert f.add(value) is True and value in f and f.check_many([value]) == [True]
    g = Filter.decode(f.encode())
    assert g.key == kind and value in g
    built = Filter.build([value], 1e-9, key=kind, kind="fuse")
    assert value in built


REFUSED = [
    ("text", 7), ("text", 1.5), ("text", None), ("text", True), ("text", []), ("text", numpy.int64(7)), ("text", "\ud800"),
    ("int", 1.0), ("int", None), ("int", 2**64), ("int", -2**63 - 1), ("int", b"7"), ("int", "seven"), ("int", ""),
    ("int", decimal.Decimal(1)), ("float", 2**53 + 1), ("float", 10**400), ("float", decimal.Decimal("1e400")),
    ("float", numpy.complex128(1)), ("float", numpy.complex64(1)), ("float", numpy.clongdouble(1)),
    ("float", numpy.timedelta64(5, "ns")), ("float", numpy.datetime64(5, "ns")), ("float", b"1"), ("float", None),
    ("bool", 2), ("bool", -1), ("bool", "maybe"), ("bool", 1.0), ("date", datetime.datetime(2024, 1, 1)), ("date", 5),
    ("date", "2023-02-29"), ("timestamp", 5), ("timestamp", numpy.datetime64("2024-01-01T00:00:00.000000001", "ns")),
    ("uuid", b"short"), ("uuid", 5), ("numeric", 1.5), ("numeric", "1e"), ("numeric", decimal.Decimal("sNaN")),
    ("date", numpy.datetime64("NaT")), ("int", float("nan")),
]


@pytest.mark.parametrize("kind,value", REFUSED)
def test_refused(kind, value):
    f = Filter(10, key=kind)
    before = f.encode()
    for call in (lambda: value in f, lambda: f.add(value), lambda: f.check_many([value]), lambda: f.add_many([value]),
                 lambda: f.explain(value), lambda: f.hash(value), lambda: libnay.key_bytes(value, kind)):
        with pytest.raises((TypeError, ValueError)):
            call()
    assert f.encode() == before


@given(st.integers(-2**63, 2**64 - 1))
def test_integers_have_two_spellings(x):
    f = Filter(10, key="int")
    f.add(x)
    assert str(x) in f and hex(x) in f if x >= 0 else str(x) in f
    assert libnay.key_bytes(x) == (x % 2**64).to_bytes(8, "little")


@given(st.datetimes(), st.dates())
def test_times(moment, day):
    micros = (moment - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)
    assert libnay.key_bytes(moment) == libnay.key_bytes(micros)
    assert libnay.key_bytes(day) == libnay.key_bytes((day - datetime.date(1970, 1, 1)).days)


def test_the_type_is_found():
    for value, kind in (("a", "text"), (b"a", "text"), (1, "int"), (True, "bool"), (1.5, "float"),
                        (datetime.date(2024, 1, 1), "date"), (datetime.datetime(2024, 1, 1), "timestamp"),
                        (uuid.UUID(int=1), "uuid"), (decimal.Decimal(1), "numeric"), (numpy.int8(1), "int"),
                        (numpy.float32(1), "float"), (numpy.True_, "bool")):
        assert Filter.build([value]).key == kind


def test_a_description_of_another_program(tmp_path):
    f = Filter(10)
    f.key = "uuid"
    assert f.key == "uuid"
    with pytest.raises(ValueError):
        f.key = "bogus,,"
    with pytest.raises(TypeError):
        f.key = 7
    with pytest.raises(TypeError):
        del f.key
    assert f.key == "uuid"
    f.add(uuid.UUID(int=3))
    assert uuid.UUID(int=3) in Filter.decode(f.encode())


def test_transformations():
    f = Filter(10, 1e-9, key="text,trim,ascii-lower")
    f.add(" Ada\n")
    assert "ADA" in f and b" ada" in f and "adb" not in f
    assert f.check_many(numpy.array(["aDa", "x"])).tolist() == [True, False]
    assert f.check_many(numpy.array([b"aDa", b"x"])).tolist() == [True, False]
    assert f.check_many([" ada ", memoryview(b"ADA"), "x"]) == [True, True, False]
    g = Filter.decode(f.encode())
    assert g.key == "text,trim,ascii-lower" and "ADA" in g
    numbers = Filter.build([" 7 "], 1e-9, key="int,trim")
    assert "7" in numbers and 7 in numbers and " 0x7" in numbers
    with pytest.raises(libnay.MismatchError):
        f | Filter(10, 1e-9)


BY_THE_COMMAND = [
    ("int", "7\n-1\n0x10\n", [7, -1, 16]),
    ("float", "0.1\n1e3\n", [0.1, 1000]),
    ("date", "2024-02-29\n", [datetime.date(2024, 2, 29)]),
    ("timestamp", "2024-02-29T12:34:56.789Z\n", [datetime.datetime(2024, 2, 29, 12, 34, 56, 789000)]),
    ("uuid", "123e4567-e89b-12d3-a456-426614174000\n", [uuid.UUID("123e4567-e89b-12d3-a456-426614174000")]),
    ("numeric", "1.50\n-2e1\n", [decimal.Decimal("1.5"), -20]),
    ("bool", "true\n", [True]),
    ("text", "caf\u00e9\n", ["caf\u00e9", "caf\u00e9".encode()]),
]


@pytest.mark.parametrize("kind,lines,values", BY_THE_COMMAND)
def test_filters_of_the_command(kind, lines, values, tmp_path):
    nay = pathlib.Path(os.environ["NAY_BUILD"]) / "cli/nay"
    if not nay.exists():
        pytest.skip("no command in this build")
    plain = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    for family in ("fuse", "blocked"):
        path = tmp_path / "f.nay"
        arguments = ["-q", f"--key={kind}", "-t", family, "-p", "1e-4", "-f", "-o", path]
        subprocess.run([nay, "build", *arguments], input=lines.encode(), check=True, env=plain)
        f = Filter.open(path)
        assert f.key == kind and all(f.check_many(values)) and all(line in f for line in lines.split())
    g = Filter.build(values, 1e-9, key=kind)
    g.save(path)
    done = subprocess.run([nay, "check", "-c", path], input=lines.encode(), stdout=subprocess.PIPE, env=plain)
    assert int(done.stdout) == len(lines.split())


def test_a_key_type_of_a_later_version():
    file = bytearray(Filter(10, 1e-9, key="text,trim").encode())
    with pytest.raises(ValueError):
        Filter(10, key="text,soundex")
    assert Filter.decode(file).key == "text,trim"
