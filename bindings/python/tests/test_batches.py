"""Batches: arrays, columns of pandas and of Arrow give the answers of single calls."""
import array
import ctypes
import datetime
import decimal

import arrow
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import libnay
from libnay import Filter

WORDS = ["", "a", "é", "日本語", "x" * 12, "y" * 13, "z" * 5000, "𝄞"]


def same(column, values, key=None, **params):
    """A column and its values, one by one, are the same keys."""
    f = Filter.build(column, 1e-6, kind="bloom", nkeys=1000, **({"key": key} if key else {}), **params)
    g = Filter(1000, 1e-6, kind="bloom", key=f.key)
    for value in values:
        g.add(value)
    assert f.encode() == g.encode()
    h = Filter(1000, 1e-6, kind="bloom", key=f.key)
    h.update(column)
    assert h.encode() == g.encode()
    found = f.check_many(column)
    assert isinstance(found, np.ndarray) and found.dtype == bool and found.all() and len(found) == len(values)
    half = Filter.build(values[: len(values) // 2], 1e-9, key=f.key, kind="bloom")
    assert half.check_many(column).tolist() == [value in half for value in values]
    new = f.empty().add_many(column)
    assert new.sum() >= len(set(values)) - 1
    return f


INTS = ["i1", "u1", "<i2", ">i2", "<u2", "<i4", ">u4", "<i8", ">i8", "<u8", ">u8"]


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_integers(data):
    dtype = data.draw(st.sampled_from(INTS))
    a = data.draw(hnp.arrays(dtype, st.integers(0, 300)))
    step = data.draw(st.sampled_from([1, 2, -1, 3]))
    same(a[::step], a[::step].tolist(), key="int")


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_floats(data):
    dtype = data.draw(st.sampled_from(["<f2", "<f4", "<f8", ">f8", ">f4"]))
    a = data.draw(hnp.arrays(dtype, st.integers(0, 200)))
    f = Filter.build(a, 1e-6, key="float", kind="bloom", nkeys=1000)
    g = Filter.build(a.tolist(), 1e-6, key="float", kind="bloom", nkeys=1000)
    assert f.encode() == g.encode()


@given(st.lists(st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"))))
@settings(max_examples=60, deadline=None)
def test_strings(words):
    same(np.array(words, dtype="U") if words else np.array([], dtype="U1"), words)
    encoded = [w.encode() for w in words]
    same(np.array(encoded, dtype="S") if words else np.array([], dtype="S1"), encoded)
    same(np.array(words, dtype=object), words)
    same(pd.Series(words, dtype=object), words)
    same(pd.Series(words, dtype="string"), words)
    same(arrow.strings(words), words, key="text")
    same(arrow.strings(words, large=True), words, key="text")
    same(arrow.views(words), words, key="text")


def test_of_s_zeros_at_the_end_are_no_part_of_the_key():
    f = Filter.build(np.array([b"a\0b", b"c\0"], dtype="S8"), 1e-9)
    assert b"a\0b" in f and b"c" in f and b"c\0" not in f
    assert f.check_many(np.array(["c"], dtype=">U3")).all()


def test_other_numbers():
    same(np.array([True, False]), [True, False])
    same(array.array("q", [1, -5]), [1, -5])
    same(memoryview(b"ab"), [97, 98])
    same(np.array([1, 2, 3], dtype="i4"), [1.0, 2.0, 3.0], key="float")
    same(np.array([1, 2**63], dtype="u8"), [1, 2**63], key="numeric")
    same(np.array([0, 1], dtype="i2"), [False, True], key="bool")
    same(np.array(["7", "0x10"]), [7, 16], key="int")
    same(np.array([b"7", b"16"]), [7, 16], key="int")
    same(arrow.strings(["1.50", "2e2"]), [decimal.Decimal("1.5"), 200], key="numeric")
    same(np.array(["123e4567-e89b-12d3-a456-426614174000"]), ["123e4567e89b12d3a456426614174000"], key="uuid")
    same(np.array([b"0123456789abcde\0"], dtype="S16"), [b"0123456789abcde\0"], key="uuid")


def test_times():
    days = [datetime.date(2024, 2, 29), datetime.date(1900, 1, 1)]
    moments = [datetime.datetime(2024, 2, 29, 12, 34, 56, 789000), datetime.datetime(1900, 1, 1)]
    same(np.array(days, dtype="M8[D]"), days)
    same(np.array(days, dtype="M8[D]"), days, key="timestamp")
    for unit in ("us", "ns"):
        same(np.array(moments, dtype=f"M8[{unit}]"), moments)
    same(np.array(moments, dtype=">M8[us]"), moments)
    same(pd.Series(moments, dtype="M8[ns]"), moments)
    utc = pd.Series(moments, dtype="M8[ns]").dt.tz_localize("UTC")
    same(utc.dt.tz_convert("Asia/Tokyo"), moments)
    same(pd.DatetimeIndex(moments), moments)
    micros = [int(np.datetime64(m, "us").astype("i8")) for m in moments]
    same(arrow.numbers("tsu:Europe/Berlin", ctypes.c_int64, micros), moments)
    same(arrow.numbers("tdD", ctypes.c_int32, [19782, -25567]), days)
    with pytest.raises(ValueError, match="row 1"):
        Filter.build(np.array([0, 1], dtype="M8[ns]"))
    with pytest.raises(ValueError, match="range"):
        Filter.build(np.array([2**62], dtype="M8[s]"))
    for wrong in (np.array([1], dtype="m8[s]"), np.array([1], dtype="M8[M]"), np.array([1], dtype="M8[10us]")):
        with pytest.raises(TypeError):
            Filter.build(wrong)
    with pytest.raises(TypeError):
        Filter.build(np.array([0], dtype="M8[us]"), key="date")


NULLS = [
    ["a", None, "b"],
    ("a", float("nan"), "b"),
    np.array(["a", None, "b"], dtype=object),
    pd.Series(["a", None, "b"]),
    pd.Series(["a", pd.NA, "b"], dtype="string"),
    pd.Categorical(["a", None, "b"]),
    arrow.strings(["a", None, "b"]),
    arrow.strings(["a", None, "b"], large=True),
    pd.array([1, None, 2], dtype="Int16"),
    pd.Series([1, None, 2], dtype="Int64"),
    np.ma.array([1, 5, 2], mask=[0, 1, 0]),
    arrow.numbers("i", ctypes.c_int32, [1, None, 2]),
    arrow.numbers("l", ctypes.c_int64, [1, None, 2]),
    np.array(["2024-01-01", "NaT", "2024-01-02"], dtype="M8[D]"),
    pd.Series(["2024-01-01", None, "2024-01-02"], dtype="M8[ns]"),
    [datetime.date(2024, 1, 1), pd.NaT, datetime.date(2024, 1, 2)],
]


@pytest.mark.parametrize("column", NULLS, ids=lambda c: type(c).__name__)
def test_null_has_no_key(column):
    with pytest.raises(ValueError if not isinstance(column, (list, tuple)) else (ValueError, TypeError), match="null"):
        Filter.build(column)
    f = Filter.build(column, 1e-9, skip_nulls=True)
    assert f.stats().nkeys == 2
    with pytest.raises(ValueError, match="row 1 is null"):
        f.check_many(column)
    assert list(f.check_many(column, null=False)) == [True, False, True]
    assert list(f.check_many(column, null=True)) == [True, True, True]
    empty = f.__class__(100, 1e-9, key=f.key)
    with pytest.raises(ValueError, match="row 1") as e:
        empty.update(column)
    assert e.value.taken == 1
    assert list(empty.add_many(column, skip_nulls=True)) == [False, False, True]
    assert list(empty.check_many(column, null=False)) == [True, False, True]


def test_nan_of_a_column_of_floats_is_a_key():
    f = Filter.build(np.array([1.5, np.nan]), 1e-9)
    assert float("nan") in f and 1.5 in f


def test_slices_of_arrow():
    words = [f"word{i}" if i % 7 else None for i in range(20000)]
    f = Filter.build([w for w in words if w], 1e-9)
    for offset in (0, 1, 7, 63, 64, 19999):
        for large in (False, True):
            answers = f.check_many(arrow.strings(words, large, offset), null=False)
            assert answers.tolist() == [w is not None for w in words[offset:]]
    numbers = [i if i % 5 else None for i in range(10000)]
    g = Filter.build([i for i in numbers if i], 1e-9)
    assert g.check_many(arrow.numbers("I", ctypes.c_uint32, numbers, 3), null=True).all()
    bits = arrow.Column("b", [None, bytes([0b10])], 2, offset=1)
    assert Filter.build(bits, 1e-9).check_many([True, False]) == [True, True]
    fixed = arrow.Column("w:3", [None, b"abcdef"], 2)
    assert Filter.build(fixed, 1e-9).check_many(["abc", "def", "fgh"]) == [True, True, False]


def test_columns_with_a_dtype_and_the_methods_of_arrow():
    class Both(arrow.Column):  # as a Series of polars
        dtype = "String"

        def __array__(self, *_):
            raise AssertionError("the column is read by way of numpy")

    words = ["a", None, "c"]
    plain = arrow.strings(words)
    both = Both("u", plain.keep, 3, null_count=1)
    assert Filter.build(both, 1e-9, skip_nulls=True).check_many(["a", "b", "c"]) == [True, False, True]


def test_buffers_of_arrow_at_odd_addresses():
    words = [f"word{i}" for i in range(100)]
    for large in (False, True):
        column = arrow.strings(words, large)
        for i in (1, 2):
            data = bytes(column.keep[i])
            moved = ctypes.create_string_buffer(b"\0" + data, len(data) + 1)
            column.keep.append(moved)
            column.buffers[i] = ctypes.addressof(moved) + 1
        f = Filter.build(column, 1e-9)
        assert all(f.check_many(words)) and f.check_many(column).all()
        assert (f.hash_many(column) == f.hash_many(words)).all()


def test_streams_of_arrow():
    parts = [["a", "b"], [], ["c", None], ["d"]]
    before = arrow.Column.released
    f = Filter.build(arrow.Chunks(map(arrow.strings, parts)), 1e-9, skip_nulls=True)
    assert f.check_many(["a", "b", "c", "d", "e"]) == [True] * 4 + [False]
    assert arrow.Column.released == before + 4
    assert f.check_many(arrow.Chunks(map(arrow.strings, parts)), null=False).tolist() == [True, True, True, False, True]
    with pytest.raises(OSError, match="the disk is gone") as e:
        f.update(arrow.Chunks(map(arrow.strings, [["x"], ["y"]]), fail=1))
    assert e.value.taken == 1 and "x" in f and "y" not in f


def test_columns_of_arrow_that_cannot_be():
    good = (ctypes.c_int32 * 3)(0, 1, 2)
    for column in (
        arrow.Column("u", [None, (ctypes.c_int32 * 3)(0, 2, 1), b"ab"], 2),
        arrow.Column("u", [None, (ctypes.c_int32 * 3)(0, -1, -1), b"ab"], 2),
        arrow.Column("u", [b"\3", (ctypes.c_int32 * 3)(0, -1, 1), b"ab"], 2, null_count=-1),
        arrow.Column("u", [None, None, b"ab"], 2),
        arrow.Column("u", [None, good, None], 2),
        arrow.Column("u", [None, good], 2),
        arrow.Column("u", [None, good, b"ab"], -1),
        arrow.Column("u", [None, good, b"ab"], 2, offset=-1),
        arrow.Column("u", [None, good, b"ab"], 2**62, offset=2**62),
        arrow.Column("l", [None], 2),
        arrow.Column("vu", [None, (20).to_bytes(4, "little") + bytes(12)], 1),
        arrow.Column("vu", [None, (20).to_bytes(4, "little") + b"abcd" + (7).to_bytes(4, "little") + bytes(4), b"x",
                            (ctypes.c_int64 * 1)(1)], 1),
        arrow.Column("vu", [None, (-1).to_bytes(4, "little", signed=True) + bytes(12), (ctypes.c_int64 * 1)(0)], 1),
    ):
        f = Filter(10)
        with pytest.raises((ValueError, TypeError)):
            Filter.build(column)
        with pytest.raises((ValueError, TypeError)):
            f.check_many(column)
        with pytest.raises((ValueError, TypeError)):
            f.update(column)
        assert len(f) == 0
    for format in ("+s", "+l", "n", "tDn", "d:10,2", "w:0", "w:x", "", "bogus", "tin"):
        with pytest.raises(TypeError):
            Filter.build(arrow.Column(format, [None, b"12345678"], 1))
    for bad in (("a", "b"), None, (1, 2), 7):
        class Odd:
            def __arrow_c_array__(self, requested_schema=None):
                return bad

        with pytest.raises((TypeError, ValueError)):
            Filter.build(Odd())


def test_what_is_no_column():
    f = Filter(10)
    for wrong in (np.zeros((2, 2)), np.zeros(2, dtype="c16"), np.zeros(2, dtype="i4,i4"), np.array(5), np.float64(3),
                  pd.DataFrame({"a": ["x"]}), np.zeros((2, 2), dtype=object), np.zeros(2, dtype="g"), np.zeros(2, dtype="V4"),
                  np.char.array(["a ", "b"]), 7, None, object()):
        with pytest.raises((TypeError, ValueError)):
            f.check_many(wrong)
        with pytest.raises((TypeError, ValueError)):
            Filter.build(wrong)
    for wrong in (np.arange(3), np.array([1.5]), np.array([True]), np.array(["2024-01-01"], dtype="M8[D]")):
        with pytest.raises(TypeError, match="make the filter with key"):
            f.check_many(wrong)
    with pytest.raises(TypeError, match="key type is int"):
        Filter(10, key="int").check_many(np.array([1.5]))
    with pytest.raises(ValueError, match="row 2"):
        Filter(10, key="bool").check_many(np.array([0, 1, 2]))
    with pytest.raises(ValueError, match="row 1"):
        Filter(10, key="float").check_many(np.array([2**53, 2**53 + 1]))
    surrogate = np.array(["a", "b"])
    surrogate.view("u4")[1] = 0xD800
    with pytest.raises(ValueError, match="row 1"):
        f.check_many(surrogate)
    surrogate.view("u4")[1] = 0x110000
    with pytest.raises(ValueError, match="row 1"):
        f.check_many(surrogate)


def test_buffers_that_change_size():
    f = Filter(10000, 1e-9, key="int")
    a = array.array("q", range(1000))

    class Growing:
        def __init__(self, i):
            self.i = i

        def __index__(self):
            if self.i % 100 == 0:
                a.append(5)  # no buffer of it is held: rows are objects
                rows.append(Growing(1))
            return self.i

    rows = [Growing(i) for i in range(1000)]
    f.add_many(list(rows)[:500])
    f.update(rows[:1000])
    assert all(f.check_many(range(1000)))

    class Shrinking(Growing):
        def __index__(self):
            short.clear()
            return 1

    short = [Shrinking(i) for i in range(10)]
    assert f.check_many(short) == [True]
    data = bytearray(b"abc")
    g = Filter(10)
    g.add(data)
    data.append(1)  # the buffer was let go
    g.update([data])


def test_hashes_of_arrays():
    f = Filter(1000, 1e-6)
    hashes = np.arange(1000, dtype="u8") * np.uint64(0x9E3779B97F4A7C15)
    assert f.add_hashes(hashes).dtype == bool
    assert f.check_hashes(hashes).all() and all(f.check_hashes(hashes.tolist()))
    assert f.check_hashes(array.array("Q", hashes.tolist())).all()


def test_maps():
    keys = [f"k{i}" for i in range(10000)]
    values = np.arange(10000, dtype="u8") * np.uint64(3)
    m = libnay.Map.build(np.array(keys), values, check_bits=24)
    assert libnay.Map.build(dict(zip(keys, values.tolist())), check_bits=24).encode() == m.encode()
    found, present = m.get_many(arrow.strings(keys))
    assert present.all() and (found == values).all() and found.dtype == np.uint64
    found, present = m.get_many(np.array(["k1", "q", "k2"]))
    assert present.tolist() == [True, False, True] and found.tolist() == [3, 0, 6]
    assert m.get_many(["k1", None, "q", "k2"]) == [3, None, None, 6]
    assert m["k7"] == 21 and m.get("q") is None and m.get("q", 5) == 5 and "k7" in m and "q" not in m
    assert m.check_many(["k7", "q"]) == [True, False] and len(m) == 10000
    with pytest.raises(KeyError):
        m["q"]
    ints = libnay.Map.build({i: i * i for i in range(100)})
    assert ints.key == "int" and ints[9] == 81
    for wrong in ((["a"], [1, 2]), (["a", "b"], [1]), (["a"], [-1]), (["a"], [2**64]), (["a"], ["x"]), (["a", "a"], [1, 2]),
                  ("a", [1]), ([None], [1]), (7,), ([1, 2],), (), (["a"], [1], 3)):
        with pytest.raises((TypeError, ValueError, OverflowError, AttributeError)):
            libnay.Map.build(*wrong)
    with pytest.raises(ValueError):
        libnay.Map.build({"a": 5}, value_bits=2)
    with pytest.raises((TypeError, ValueError)):
        libnay.Map.build({"a": 5}, fpr=0.1)
    with pytest.raises(TypeError, match="Map"):
        Filter.decode(m.encode())
    with pytest.raises(TypeError, match="Filter"):
        libnay.Map.decode(Filter(10).encode())
    with pytest.raises(TypeError):
        libnay.Map()


def test_large_keys():
    keys = ["x" * n for n in (0, 1, 4095, 65536, 1 << 20, 3 << 20)]
    f = Filter.build(keys, 1e-9)
    assert all(f.check_many(keys)) and all(k in f for k in keys)
    assert f.check_many(np.array(keys, dtype=object)).all()
    for text in ("9" * 5000, "1e131071"):
        g = Filter(10, key="numeric")
        assert g.add_many(np.array([text])).all() and text in g and g.check_many([text]) == [True]


def test_the_key_type_is_set_in_the_middle_of_a_batch():
    f = Filter(100, 1e-6, key="int")

    def rows():
        yield 1
        f.key = "date"
        yield 2

    f.update(rows())
    assert f.key == "date"
    f.key = "int"
    assert 1 in f and 2 in f and 3 not in f
