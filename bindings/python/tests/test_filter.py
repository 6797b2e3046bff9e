"""One filter: the calls of a set, files, pickles, errors."""
import copy
import gc
import os
import pickle
import subprocess
import sys
import threading
import weakref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import libnay
from libnay import Filter

ADDS = ["bloom", "blocked", "counting", "scalable", "window", "cuckoo"]
STATIC = ["xor", "fuse", "ribbon"]


def made(kind="auto", **params):
    return Filter(1000, 0.01, kind=kind, **params)


def test_as_a_set():
    f = made()
    assert not f and len(f) == 0
    assert f.add("ada") is True
    assert f.add("ada") is False
    assert "ada" in f and "bob" not in f
    f.update(["bob", b"carol"], {"dora": 1}, (x for x in "ef"))
    assert len(f) == 6 and f
    assert b"bob" in f and "carol" in f
    f.clear()
    assert len(f) == 0 and "ada" not in f
    with pytest.raises(TypeError):
        iter(f)


@pytest.mark.parametrize("kind", ADDS + STATIC)
def test_no_kind_has_a_false_nay(kind):
    keys = [f"key{i}" for i in range(2000)]
    f = Filter.build(keys, 0.01, kind=kind)
    assert all(f.check_many(keys)) and all(k in f for k in keys)
    assert f.kind == kind
    others = [f"other{i}" for i in range(20000)]
    assert sum(f.check_many(others)) < 400
    g = Filter.decode(f.encode())
    assert g.check_many(others) == f.check_many(others)
    assert bytes(g) == f.encode() == bytes(pickle.loads(pickle.dumps(f)))


@pytest.mark.parametrize("n", [0, 1, 2, 63, 64, 65, 4095, 4096, 4097, 8193])
def test_sizes_of_batches(n):
    keys = [f"k{i}" for i in range(n)]
    f = Filter(n or 1, 1e-9)
    assert f.add_many(keys) == [True] * n
    assert f.check_many(keys) == [True] * n
    assert f.check_many(x + "?" for x in keys) == [False] * n
    assert f.add_many(keys) == [False] * n


@given(st.lists(st.one_of(st.text(st.characters(blacklist_categories=["Cs"])), st.binary())), st.sampled_from(ADDS))
@settings(max_examples=60, deadline=None)
def test_a_batch_is_single_adds(keys, kind):
    a, b = Filter(100, 0.01, kind=kind), Filter(100, 0.01, kind=kind)
    try:
        single = [a.add(k) for k in keys]
    except libnay.FullError:
        with pytest.raises(libnay.FullError):
            b.update(keys)
        return
    assert b.add_many(keys) == single
    assert a.encode() == b.encode()
    assert all(a.check_many(keys))


def test_algebra():
    a, b = made(), made()
    a.update(["x", "y"])
    b.update(["y", "z"])
    both = a | b
    assert all(k in both for k in "xyz") and "z" not in a
    shared = a & b
    assert "y" in shared and "x" not in shared
    with pytest.raises(ValueError):
        len(shared)
    a |= b
    assert a.encode() == both.encode()
    a &= b
    assert "x" not in a
    a |= a
    overlap = both.overlap(b)
    assert round(overlap.nkeys_union) == 3 and overlap == overlap._replace()
    assert both.overlap(both).jaccard == pytest.approx(1)
    for wrong in (7, {"x"}, None):
        with pytest.raises(TypeError):
            a | wrong
        with pytest.raises(TypeError):
            a.merge(wrong)
    with pytest.raises(libnay.MismatchError):
        a | Filter(1000, 0.01, seed=7)
    with pytest.raises(libnay.MismatchError):
        a | Filter(1000, 0.01, key="int")
    before = b.encode()
    with pytest.raises(libnay.FullError):
        full = b.empty()
        full.update(f"{i}" for i in range(5000))
        b.merge(full, max_fpr=0.02)
    assert b.encode() == before


def test_remove_and_count():
    f = made("counting")
    f.update(["a", "a", "b"])
    assert f.count("a") == 2 and f.count("q") == 0
    f.remove("a")
    assert "a" in f
    f.remove("a")
    assert "a" not in f
    with pytest.raises(KeyError) as e:
        f.remove("a")
    assert e.value.args == ("a",)
    assert f.discard("a") is False and f.discard("b") is True
    for refused in (lambda: made("blocked").remove("a"), lambda: Filter.build(["a"], kind="fuse").add("b"),
                    lambda: made("blocked").count("a"), lambda: Filter(10, kind="fuse")):
        with pytest.raises(libnay.UnsupportedError) as e:
            refused()
        assert isinstance(e.value, TypeError) and e.value.status == "NAY_ENOTSUP"


def test_window_fold_empty_and_meta():
    w = Filter(1000, 0.001, kind="window", window=100)
    w.advance(1000)
    w.add("old")
    w.advance(2000)
    assert "old" not in w
    with pytest.raises(ValueError, match="back"):
        w.advance(1999)
    f = Filter(100000, 0.01, kind="blocked", fold=4)
    f.add("a")
    size = f.nbytes
    f.fold(4)
    assert f.nbytes < size and "a" in f
    f.meta = b"mine"
    assert Filter.decode(f.encode()).meta == b"mine"
    twin = f.empty()
    assert "a" not in twin and twin.kind == f.kind
    twin |= f
    assert "a" in twin


def test_cuckoo_is_full_and_says_how_many():
    f = Filter(64, 0.01, kind="cuckoo")
    keys = [f"k{i}" for i in range(5000)]
    with pytest.raises(libnay.FullError) as e:
        f.update(keys)
    taken = e.value.taken
    assert 64 <= taken < 200 and all(f.check_many(keys[:taken]))


def test_files(tmp_path):
    path = tmp_path / "seen.nay"
    f = Filter.build(["a", "b"], 1e-6, kind="fuse")
    f.save(path)
    f.save(str(path))
    f.save(os.fsencode(path))
    assert Filter.open(path).encode() == path.read_bytes()
    with Filter.mmap(path) as m, Filter.mmap(path, lazy=True) as lazy:
        assert "a" in m and "c" not in m and "a" in lazy and not lazy.damaged
        assert m.copy().encode() == f.encode()
        assert m.stats().read_only
    assert m.closed
    for use in (lambda: "a" in m, lambda: m.check_many(["a"]), lambda: len(m), lambda: m.encode(), lambda: m.kind,
                lambda: m | f, lambda: f | m, lambda: m.copy(), lambda: pickle.dumps(m), lambda: m.__enter__(),
                lambda: f.overlap(m), lambda: m.stats(), lambda: m.explain("a"), lambda: m.save(path)):
        with pytest.raises(ValueError, match="closed"):
            use()
    m.close()
    assert repr(m) == "<libnay.Filter, closed>" and sys.getsizeof(m) > 0
    for wrong, error in ((tmp_path / "none", FileNotFoundError), (tmp_path, OSError), ("a\0b", ValueError), (7, TypeError)):
        with pytest.raises(error) as e:
            Filter.open(wrong)
        with pytest.raises(error):
            Filter.mmap(wrong)
    with pytest.raises(FileNotFoundError) as e:
        Filter.open(tmp_path / "none")
    assert e.value.filename == tmp_path / "none" and e.value.errno == 2
    with pytest.raises(OSError):
        f.save(tmp_path / "no" / "dir")
    writable = Filter(10, kind="blocked")
    writable.save(path)
    with pytest.raises(libnay.UnsupportedError):
        Filter.mmap(path).add("a")


def test_damage_is_an_error(tmp_path):
    file = bytearray(Filter.build([f"k{i}" for i in range(50)], 0.01, kind="blocked").encode())
    for at in range(0, len(file)):
        file[at] ^= 1
        with pytest.raises(libnay.Error):
            Filter.decode(file)
        file[at] ^= 1
    for cut in range(len(file)):
        with pytest.raises(libnay.Error):
            Filter.decode(memoryview(file)[:cut])
    path = tmp_path / "bad.nay"
    file[len(file) - 20] ^= 1
    path.write_bytes(file)
    with pytest.raises(libnay.CorruptError) as e:
        Filter.open(path)
    assert str(path) in str(e.value) and e.value.status == "NAY_ECORRUPT" and isinstance(e.value, ValueError)
    for wrong in (7, "text", None, memoryview(b"abcdef")[::2]):
        with pytest.raises((TypeError, BufferError)):
            Filter.decode(wrong)
    with pytest.raises(libnay.FormatError):
        Filter.decode(b"")


def test_copies_and_pickles():
    f = Filter.build(range(1000), 0.01, kind="blocked")
    f.meta = b"m"
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        g = pickle.loads(pickle.dumps(f, protocol))
        assert g.encode() == f.encode() and g.key == "int" and g.meta == b"m"
    buffers = []
    inside = pickle.dumps(f, 5, buffer_callback=buffers.append)
    assert len(inside) < 500 and pickle.loads(inside, buffers=buffers).encode() == f.encode()
    for g in (copy.copy(f), copy.deepcopy([f])[0], f.copy()):
        g.add(5000)
        assert 5000 in g and 5000 not in f

    class Mine(Filter):
        pass

    mine = Mine(10)
    mine.extra = 1
    assert isinstance(mine.copy(), Mine) and isinstance(Mine.decode(mine.encode()), Mine)
    damaged = bytearray(pickle.dumps(f, 2))
    damaged[len(damaged) // 2] ^= 1
    with pytest.raises(Exception):
        pickle.loads(damaged)


def test_secrets():
    secret = bytes(range(16))
    f = made(secret=secret)
    f.add("a")
    locked = Filter.decode(f.encode())
    assert locked.locked and "zzz" in locked
    with pytest.raises(libnay.LockedError):
        locked.add("b")
    with pytest.raises(libnay.LockedError):
        locked.unlock(bytes(16))
    with pytest.raises(libnay.LockedError):
        locked.unlock(b"short")
    locked.unlock(secret)
    assert not locked.locked and "a" in locked and "zzz" not in locked
    stored = made(secret=secret, store_secret=True)
    stored.add("a")
    opened = Filter.decode(stored.encode())
    assert not opened.locked and "a" in opened and "zzz" not in opened
    for wrong in ({"secret": b"short"}, {"hash": "siphash13"}, {"hash": "md5"}, {"secret": bytes(16)}):
        with pytest.raises(ValueError):
            made(**wrong)


def test_hashes():
    f = made(seed=5)
    h = f.hash("a")
    assert f.check_hash(h) is False
    assert f.add_hash(h) is True and "a" in f
    hashes = [f.hash(str(i)) for i in range(100)]
    assert f.add_hashes(hashes) == [True] * 100 and f.check_hashes(hashes) == [True] * 100
    assert f.check_many([str(i) for i in range(100)]) == [True] * 100
    caller = Filter(100, 0.01, hash="caller")
    caller.add_hashes(hashes)
    assert all(caller.check_hashes(hashes))
    with pytest.raises(libnay.UnsupportedError):
        caller.add("a")
    for wrong in (-1, 2**64, "a", 1.5, None):
        with pytest.raises((TypeError, OverflowError)):
            f.check_hash(wrong)
        with pytest.raises((TypeError, OverflowError)):
            f.check_hashes([1, wrong])


def test_hash_is_the_same_in_every_process():
    code = "import libnay; f = libnay.Filter(100); f.update(['a', 'b']); print(f.encode().hex())"
    runs = {subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": str(i)}, check=True,
                           capture_output=True).stdout for i in range(3)}
    assert len(runs) == 1
    assert Filter(10).hash("foo") == 0xab6e5f64077e7d8a


def test_parameters():
    assert Filter(1e3, 0.01).stats().nkeys == 1000
    assert Filter(nkeys=1000, bits_per_key=12).stats().nbits >= 12000
    assert Filter(nbits=1024, kind="blocked").stats().nbits == 1024
    for args, params in (((), {}), ((-1,), {}), ((1.5,), {}), (("7",), {}), ((10, 2), {}), ((10, 0), {}), ((10, -1), {}),
                         ((10, float("nan")), {}), ((10, 0.1, 3), {}), ((10,), {"nkeys": 5}), ((10,), {"k": -1}),
                         ((10,), {"k": 65}), ((10,), {"bogus": 1}), ((10,), {"kind": "bogus"}), ((10,), {"kind": 3}),
                         ((10,), {"key": "bogus"}), ((10,), {"key": "Int"}), ((10,), {"key": 3}), ((2**64,), {}),
                         ((10,), {"fpr": 0.1, "bits_per_key": 10}), ((10,), {"nbytes": 2**64}), ((2**57,), {}),
                         ((10,), {"key": "x" * 100}), ((10,), {"kind": "map"}), ((10,), {"kind": "\0"})):
        with pytest.raises((TypeError, ValueError)):
            Filter(*args, **params)
    with pytest.raises((MemoryError, ValueError)):
        Filter(2**50, 1e-9)
    with pytest.raises(ValueError, match="fpr"):
        Filter(10, 2)
    assert Filter(10, None, seed=None, kind="auto").encode() == Filter(10, 0.01).encode()


def test_build_of_any_kind():
    assert Filter.build([], kind="fuse").key == "text"
    assert Filter.build(range(10), kind="static").kind in STATIC
    with pytest.raises(ValueError, match="nkeys"):
        Filter.build((str(i) for i in range(3)), kind="static")
    assert Filter.build((str(i) for i in range(3)), kind="static", nkeys=3).kind in STATIC
    threads = Filter.build(range(200000), 0.01, kind="fuse", threads=2)
    assert threads.encode() == Filter.build(range(200000), 0.01, kind="fuse").encode()
    for wrong in ("text", b"bytes", 7, None, bytearray(b"x")):
        with pytest.raises(TypeError):
            Filter.build(wrong)
    with pytest.raises(TypeError):
        Filter.build()
    with pytest.raises(ValueError, match="'a' is not of key type int"):
        Filter.build([1, "a"])
    with pytest.raises(TypeError):
        Filter.build(["a", 1])
    with pytest.raises(TypeError):
        Filter.build([object()])
    with pytest.raises(ZeroDivisionError):
        Filter.build(1 // (2 - i) for i in range(4))


def test_failures_in_the_middle():
    f = made()
    with pytest.raises(TypeError) as e:
        f.update(["a", "b", 3, "c"])
    assert e.value.taken == 2 and "a" in f and "b" in f and "c" not in f
    with pytest.raises(ZeroDivisionError) as e:
        f.update(str(1 // (3 - i)) + str(i) for i in range(10))
    assert e.value.taken == 3
    with pytest.raises(ValueError) as e:
        f.add_many(["x", "\ud800"])
    assert e.value.taken == 1 and "x" in f

    class Bad:
        def __iter__(self):
            raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        f.update(Bad())


def test_a_generator_may_use_the_filter():
    f = made()
    f.update(k for k in ["a", "b", "a"] if k not in f)
    assert len(f) == 2

    def closing():
        yield "c"
        f.close()
        yield "d"

    with pytest.raises(ValueError, match="closed"):
        f.update(closing())


def test_explain_and_plan():
    f = Filter.build(["a", "b"], 0.001, kind="bloom")
    why = f.explain("a")
    assert why.maybe and len(why.steps) == f.stats().k and all(s.ok for s in why.steps)
    assert str(why).startswith("maybe: ")
    assert not f.explain("nobody").maybe
    assert f.explain("a").hash == f.hash("a")
    plan = libnay.plan(1_000_000, 0.01, kind="blocked")
    assert plan.kind == "blocked" and 0.009 < plan.fpr <= 0.01 and plan.nbytes_file > plan.nbytes
    assert libnay.plan(1000, 0.01, kind="static").kind in STATIC
    with pytest.raises(ValueError):
        libnay.plan(1000, 5)
    with pytest.raises(TypeError):
        libnay.plan(1000, bogus=1)


def test_weak_references_and_cycles():
    f = made()
    r = weakref.ref(f)
    assert r() is f
    del f
    gc.collect()
    assert r() is None


def test_names():
    assert set(libnay.KINDS) >= set(ADDS + STATIC) and "map" not in libnay.KINDS
    for kind in libnay.KINDS:
        assert "a" in Filter.build(["a"], kind=kind, range_length=9 if kind == "range" else None)
    assert "leveldb" in repr(Filter(10, format="leveldb", bits_per_key=10))
    assert Filter(10, fpr=0.01, format="redisbloom-bf").format == "redisbloom-bf"  # named in README.md
    assert libnay.__version__.count(".") == 2
    for name in libnay.__all__:
        assert getattr(libnay, name).__doc__
    for name in dir(Filter):
        if not name.startswith("_"):
            assert getattr(Filter, name).__doc__, name
    assert "Filter" in repr(made()) and "int" in repr(Filter(10, key="int"))


def test_notations_are_no_key_types():
    for notation in ("hex", "b64", "bytes", "hex,trim"):
        with pytest.raises(ValueError, match="no key type"):
            Filter(10, key=notation)
        with pytest.raises(ValueError, match="no key type"):
            Filter.build(["00"], key=notation)
        with pytest.raises(ValueError, match="no key type"):
            made().key = notation
    assert libnay.key_bytes("0x666f6f", "hex") == b"foo"


def test_names_with_a_zero_byte():
    for name, value in (("kind", "blocked"), ("key", "int"), ("hash", "xxh3"), ("format", "leveldb")):
        with pytest.raises(ValueError, match="zero byte"):
            Filter(10, **{name: value + "\0"})
    f = made()
    with pytest.raises(ValueError, match="zero byte"):
        f.key = "int\0x"
    assert f.key == "text"
    for call in (lambda: Filter.decode(f.encode(), format="nay\0"), lambda: libnay.key_bytes(7, "int\0")):
        with pytest.raises(ValueError):
            call()


class Labelled(Filter):
    def __init__(self, *args, **params):
        self.label = "mine"


def test_a_subclass_keeps_its_attributes():
    f = Labelled(1000, 0.01)
    f.add("a")
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        g = pickle.loads(pickle.dumps(f, protocol))
        assert type(g) is Labelled and g.label == "mine" and "a" in g


def test_small_stacks():
    before = threading.stack_size(256 * 1024)
    results = []
    try:
        thread = threading.Thread(target=lambda: results.append(Filter.build(range(100000)).check_many([5, 7])))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert results == [[True, True]]
