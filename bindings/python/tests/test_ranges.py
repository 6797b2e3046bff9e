"""Range filters: no false nay against a sorted list, key types, and what has no ranges."""
import bisect
import datetime
import os
import pathlib
import subprocess

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import libnay
from libnay import Filter

I64 = st.integers(-(2**63), 2**63 - 1)
NAY = pathlib.Path(os.environ["NAY_BUILD"]) / "cli/nay"


def within(keys, lo, hi):
    at = bisect.bisect_left(keys, lo)
    return at < len(keys) and keys[at] <= hi


@given(st.lists(I64), st.lists(st.tuples(I64, st.integers(0, 10**6))), st.sampled_from([0.5, 0.01, 1e-6]))
def test_no_false_nay(keys, asked, fpr):
    f = Filter.build(keys, fpr, kind="range", key="int", range_length=1000)
    assert f.key == "ordered-int" and f.check_many(keys) == [True] * len(keys)
    keys.sort()
    ranges = [(lo, min(lo + n, 2**63 - 1)) for lo, n in asked] + [(k, k) for k in keys]
    answers = f.check_ranges([lo for lo, _ in ranges], [hi for _, hi in ranges])
    for (lo, hi), answer in zip(ranges, answers):
        assert answer == f.check_range(lo, hi) and (answer or not within(keys, lo, hi))


@given(st.lists(st.floats(allow_nan=False)), st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_floats(keys, a, b):
    f = Filter.build(keys, kind="range", key="float", range_length=10**15)
    lo, hi = min(a, b), max(a, b)
    assert f.check_many(np.array(keys)).all() and f.check_many(keys) == [True] * len(keys)
    assert f.check_range(lo, hi) or not within(sorted(keys), lo, hi)


@pytest.mark.parametrize("n", [0, 1, 2, 63, 64, 65, 1000, 2000])
def test_sizes(n):
    keys = np.arange(n, dtype="i8") * 10**12 - 10**15
    f = Filter.build(keys, 0.01, kind="range", range_length=100)
    lo, hi = keys - 99, keys + 99
    assert f.check_ranges(lo, keys).all() and f.check_ranges(pd.Series(keys), hi).all()
    answers = f.check_ranges(keys + 1, keys + 100)
    assert answers.dtype == bool and len(answers) == n and answers.sum() <= 1 + n * 0.05
    assert Filter.decode(f.encode()).check_ranges(lo.tolist(), hi.tolist()) == [True] * n


def test_key_types():
    for values, name in [
        (pd.date_range("2024-01-01", periods=9), "ordered-timestamp"),
        ([datetime.date(2024, 1, d) for d in range(1, 10)], "ordered-date"),
        (np.array([1.5, -2.5], dtype="f4"), "ordered-float"),
        (np.array([True, False]), None),
        (["2024-01-05"], "text"),
    ]:
        if name is None:
            with pytest.raises(ValueError, match="range_keys"):
                Filter.build(values, kind="range", range_length=9)
            continue
        f = Filter.build(values, kind="range", range_length=9)
        assert f.key == name and f.check_many(values) is not None and all(f.check_many(list(values)))
        assert all(f.check_ranges(list(values), list(values)))
    f = Filter.build([" 7", "30 "], kind="range", range_length=9, key="int,trim")
    assert f.key == "ordered-int,trim" and f.check_range(" 6", "7 ") and not f.check_range(8, 29)


def test_prefixes():
    f = Filter.build(["a/7", "a/30", "b/8"], 0.001, kind="range", range_length=5, range_delimiter=b"/")
    assert f.check_ranges(["a/1", "a/8", "b/1", "c/1", "a/1"], ["a/7", "a/12", "b/7", "c/9", "b/1"]) == [
        True, False, False, False, True]
    big = Filter.build([b"x" + i.to_bytes(4, "big") for i in (5, 900)], kind="range", range_length=9, range_keys="be4")
    assert big.check_range(b"x\0\0\0\1", b"x\0\0\0\5") and not big.check_range(b"x\0\0\0\6", b"x\0\0\0\x0e")


def test_what_has_no_ranges():
    f = Filter.build([1, 2, 3], kind="range", range_length=9)
    with pytest.raises(libnay.UnsupportedError, match="range filters"):
        Filter(10).check_range("a", "b")
    with pytest.raises(libnay.UnsupportedError, match="range filters"):
        Filter(10).check_ranges(["a"], ["b"])
    with pytest.raises(TypeError, match="order"):  # the bytes of "int" are little-endian
        Filter(10, key="int").check_range(1, 256)
    f.key = "int"
    with pytest.raises(TypeError, match="order"):
        f.check_ranges([1], [256])
    f.key = "ordered-int"
    for ends in ((3, 1), ("x", 1), (None, 1), (1, 2**63), (1.5, 2), (object(), 1)):
        with pytest.raises((ValueError, TypeError)):
            f.check_range(*ends)
        with pytest.raises((ValueError, TypeError)):
            f.check_ranges([ends[0]], [ends[1]])
    for many in (([1], []), ([1], 2), (1, [2]), (np.array([1]), np.array([[1]])), ("12", "34")):
        with pytest.raises((ValueError, TypeError)):
            f.check_ranges(*many)
    for wrong in ({"range_length": 0}, {"range_keys": "be9"}, {"range_delimiter": "::"}, {"range_delimiter": b""},
                  {"range_delimiter": "\0"}, {"range_keys": "be8"}, {"range_delimiter": "/"}):
        with pytest.raises(ValueError):
            Filter.build([1], kind="range", **{"range_length": 9, **wrong})
    with pytest.raises(libnay.UnsupportedError, match="build"):
        Filter(10, kind="range", range_length=9)
    with pytest.raises(libnay.Error):
        Filter.build_hashes([1, 2], kind="range", range_length=9)


def test_merging_and_shrinking():
    how = dict(fpr=0.01, kind="range", nkeys=2000, range_length=10)
    a, b = (np.arange(n, n + 10**15, 10**12) for n in (0, 5 * 10**11))
    both = Filter.build(a, **how) | Filter.build(b, **how)
    assert both.encode() == Filter.build(np.concatenate([a, b]), **how).encode()
    smaller = both.copy()
    smaller.shrink(both.nbytes * 3 // 4)
    assert smaller.nbytes < both.nbytes and smaller.check_ranges(a, a + 9).all() and smaller.stats().range_shift > 0


@pytest.mark.skipif(not NAY.exists(), reason="no command in this build")
def test_files_of_the_command(tmp_path):
    path = tmp_path / "hundreds.nay"
    plain = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    for how, keys in ((["--key=int"], range(100, 9100, 100)), (["--range-delimiter=u"], [f"u{i}" for i in range(100, 9100, 100)])):
        text = "".join(f"{k}\n" for k in keys).encode()
        subprocess.run([NAY, "build", "-qf", "-t", "range", "--range-length", "50", *how, "-o", path], input=text, check=True,
                       env=plain)
        f = Filter.open(path)
        typed = how == ["--key=int"]
        name = (lambda i: i) if typed else (lambda i: f"u{i}")
        assert f.check_range(name(101), name(200)) and not f.check_range(name(101), name(150))
        assert name(100) in f and name(150) not in f
        mine = Filter.build(list(keys), 0.01, kind="range", range_length=50, **({} if typed else {"range_delimiter": "u"}))
        assert mine.encode() == f.encode()
