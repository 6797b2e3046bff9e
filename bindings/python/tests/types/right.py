"""What a type checker must accept."""
import pathlib
from typing import Optional

import libnay
from libnay import Filter, Map, Plan

f: Filter = Filter(1000, 0.01, kind="blocked", key="int", seed=7)
new: bool = f.add("a")
answers: list[bool] = f.check_many(["a", "b"])
array = f.check_many(memoryview(b"abc"), null=False)
f |= Filter(1000)
g: Filter = f | f.copy() & f.empty()
n: int = len(g) + g.hash("a") + g.nbytes
inside: bool = "a" in g and 5 in g
plan: Plan = libnay.plan(1e6, 0.01)
size: int = plan.nbytes
with Filter.mmap(pathlib.Path("x"), lazy=True) as mapped:
    data: bytes = mapped.encode()
m: Map = Map.build({"a": 1}, check_bits=8)
value: Optional[int] = m.get("a")
other: int = m.get("a", 7)
many: list[Optional[int]] = m.get_many(["a"])
between: bool = Filter.build([1, 9], kind="range", range_length=10).check_range(2, 8)
ranges: list[bool] = f.check_ranges([1], [2])
why: str = f.explain("a").reason


class Mine(Filter):
    pass


mine: Mine = Mine.build(["a"], fpr=0.1, kind="fuse").copy()
