"""Times of the binding, of C's calls through the same library, and of pybloomfiltermmap3 if it can be imported.

    bench.py LIBNAY.SO [KEYS]      the package in PYTHONPATH; ns for each key, the least of nine interleaved runs

C's batches are called through ctypes in the same process, on a filter of the same bytes. One by one the table has the cost
of `in` without the loop around it, C's part included: more than the overhead over C.
"""
import ctypes
import sys
import time

import arrow
import libnay
import numpy as np

try:
    import pybloomfilter
except ImportError:
    pybloomfilter = None

C = ctypes.CDLL(sys.argv[1])
N = int(float(sys.argv[2])) if len(sys.argv) > 2 else 1_000_000
ROUNDS = 9
pointer = ctypes.c_void_p


class Column(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("bytes", pointer), ("nbytes", ctypes.c_size_t), ("offsets", pointer),
                ("offset_bytes", ctypes.c_uint32), ("width", ctypes.c_uint32)]


C.nay_filter_decode.argtypes = [pointer, ctypes.c_size_t, pointer, pointer, ctypes.POINTER(pointer)]
C.nay_filter_may_contain_column.argtypes = [pointer, pointer, ctypes.c_size_t, pointer]


def in_c(f):
    data, made = f.encode(), pointer()
    assert C.nay_filter_decode(data, len(data), None, None, ctypes.byref(made)) == 0
    return made


def loop(keys, f):
    for k in keys:
        k in f


def empty_loop(keys):
    for k in keys:
        pass


def adds(keys, add):
    for k in keys:
        add(k)


def table(title, calls):
    best = {name: float("inf") for name in calls}
    for _ in range(ROUNDS):
        for name, (call, n) in calls.items():
            begun = time.perf_counter_ns()
            call()
            best[name] = min(best[name], (time.perf_counter_ns() - begun) / n)
    print(title)
    for name, ns in best.items():
        print(f"  {name:44} {ns:8.2f} ns")
    return best


ids = np.arange(N, dtype="u8") * np.uint64(0x9E3779B97F4A7C15)
half = libnay.Filter.build(ids[::2], fpr=0.01, kind="blocked")
half_c, bitmap = in_c(half), np.zeros(N // 64 + 1, dtype="u8")
column = Column(ctypes.sizeof(Column), ids.ctypes.data, ids.nbytes, None, 0, 8)
numbers = table(f"{N} integers of 64 bits, half of them in", {
    "C: nay_filter_may_contain_column": (
        lambda: C.nay_filter_may_contain_column(half_c, ctypes.byref(column), N, bitmap.ctypes.data), N),
    "check_many(numpy uint64)": (lambda: half.check_many(ids), N),
})
words = [f"user-{i:012d}" for i in range(N)]
column_words = arrow.strings(words)
texts = libnay.Filter.build(words[::2], fpr=0.01, kind="blocked")
texts_c = in_c(texts)
offsets, data = column_words.keep[1], column_words.keep[2]
strings = Column(ctypes.sizeof(Column), ctypes.addressof(data), len(data), ctypes.addressof(offsets), 4, 0)
wide = np.array(words)
fixed = np.array(words, dtype="S")
batches = table(f"{N} strings of 17 bytes, half of them in", {
    "C: nay_filter_may_contain_column": (
        lambda: C.nay_filter_may_contain_column(texts_c, ctypes.byref(strings), N, bitmap.ctypes.data), N),
    "check_many(Arrow strings)": (lambda: texts.check_many(column_words), N),
    "check_many(numpy S)": (lambda: texts.check_many(fixed), N),
    "check_many(numpy U)": (lambda: texts.check_many(wide), N),
    "check_many(list of str)": (lambda: texts.check_many(words), N),
})
M = min(N, 200_000)
some, few = words[:M], ids[:M].tolist()
small, small_ids = libnay.Filter.build(some[::2], kind="blocked"), libnay.Filter.build(few[::2], kind="blocked")
singles = {
    "the loop alone": (lambda: empty_loop(some), M),
    "str in Filter": (lambda: loop(some, small), M),
    "int in Filter": (lambda: loop(few, small_ids), M),
    "Filter.add(str)": (lambda: adds(some, small.empty().add), M),
}
if pybloomfilter:
    peer, peer_ids = pybloomfilter.BloomFilter(M, 0.01), pybloomfilter.BloomFilter(M, 0.01)
    peer.update(some[::2])
    peer_ids.update(few[::2])
    singles.update({
        "str in pybloomfilter": (lambda: loop(some, peer), M),
        "int in pybloomfilter": (lambda: loop(few, peer_ids), M),
        "pybloomfilter.add(str)": (lambda: adds(some, pybloomfilter.BloomFilter(M, 0.01).add), M),
    })
one = table(f"{M} keys one by one", singles)
bare = one["the loop alone"]
print(f"integers: {numbers['check_many(numpy uint64)'] / numbers['C: nay_filter_may_contain_column']:.2f} x C")
print(f"Arrow strings: {batches['check_many(Arrow strings)'] / batches['C: nay_filter_may_contain_column']:.2f} x C")
print(f"str in Filter, without the loop: {one['str in Filter'] - bare:.1f} ns; int {one['int in Filter'] - bare:.1f} ns")
if pybloomfilter:
    print(f"pybloomfilter: str in {one['str in pybloomfilter'] - bare:.1f} ns, int in {one['int in pybloomfilter'] - bare:.1f} ns; "
          f"our batches of integers are {(one['int in pybloomfilter']) / numbers['check_many(numpy uint64)']:.0f} x, of Arrow "
          f"strings {(one['str in pybloomfilter']) / batches['check_many(Arrow strings)']:.0f} x as fast, of a list "
          f"{(one['str in pybloomfilter']) / batches['check_many(list of str)']:.1f} x")
