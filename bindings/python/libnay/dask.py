"""Filters of columns that no one machine holds, on a cluster of Dask.

>>> import dask.dataframe as dd, pandas as pd, libnay.dask
>>> users = dd.from_pandas(pd.DataFrame({"id": range(1000)}), npartitions=4)
>>> clicks = dd.from_pandas(pd.DataFrame({"user": range(0, 5000, 7)}), npartitions=3)
>>> known = libnay.dask.build(users["id"], fpr=1e-6)
>>> len(libnay.dask.semi_join(clicks, known, on="user"))
143

A partition becomes a filter where it lies; the filters are merged in a tree; what travels is filters, not keys. A worker that
dies loses work and no keys: Dask computes its partitions again.
"""
import os
from importlib import import_module
from typing import Any, List, Optional

from . import Filter
from .sharded import Sharded, shard_of, write_shard

__all__ = ["build", "build_sharded", "semi_join"]

_STATIC = ("xor", "fuse", "ribbon")


def build(
    column: Any,
    fpr: Optional[float] = None,
    *,
    nkeys: Optional[int] = None,
    kind: str = "blocked",
    key: Optional[str] = None,
    split_every: int = 8,
    compute: bool = True,
    **params: Any,
) -> Any:
    """A filter of a column; its bytes are those that one process would make.

    nkeys is the number of keys in all; without it the rows are counted first, in a pass of their own. Kinds that merge
    (bloom, blocked, counting) become a filter of the full size for each partition, of which a worker holds split_every and
    one more at a time. Static kinds (xor, fuse, ribbon) do not merge: their 64-bit hashes are brought to one worker. Rows
    that are null have no key. compute=False returns a dask Delayed.
    """
    delayed = import_module("dask").delayed
    key = key or _key_of(column)
    params.update(fpr=fpr, kind=kind)
    if kind in _STATIC:
        twin = Filter(1, key=key, seed=params.get("seed"), secret=params.get("secret"))
        hashes = [delayed(_hashes)(part, twin) for part in column.to_delayed()]
        made = delayed(_of_hashes)(hashes, key, params)
        return made.compute() if compute else made
    if nkeys is None:
        nkeys = max(1, len(column))
    empty = Filter(nkeys, key=key, **params)
    if not _merges(empty):
        raise TypeError(f"filters of the kind {empty.kind} do not merge: take blocked, bloom or counting, or a static kind")
    shape = {"nkeys": nkeys, "key": key, **params}
    level = [delayed(_filter)(part, shape) for part in column.to_delayed()]
    while len(level) > 1:
        level = [delayed(_union)(level[i : i + split_every]) for i in range(0, len(level), max(2, split_every))]
    return level[0].compute() if compute else level[0]


def build_sharded(
    column: Any,
    directory: Any,
    fpr: Optional[float] = None,
    *,
    shards: int,
    kind: str = "fuse",
    key: Optional[str] = None,
    **params: Any,
) -> Sharded:
    """A filter larger than a worker: `shards` files in a directory that all workers can write; of any kind.

    Each worker splits the hashes of its partitions, 8 bytes for each key, and each shard is built by one worker.
    """
    delayed = import_module("dask").delayed
    key = key or _key_of(column)
    twin = Filter(1, key=key, seed=params.get("seed"), secret=params.get("secret"))
    params.update(fpr=fpr, kind=kind)
    os.makedirs(directory, exist_ok=True)
    split = delayed(_split, nout=shards)
    parts = [split(part, twin, shards) for part in column.to_delayed()]
    written = [
        delayed(write_shard)(os.fspath(directory), i, shards, [part[i] for part in parts], key, params) for i in range(shards)
    ]
    import_module("dask").compute(*written)
    return Sharded(directory)


def semi_join(frame: Any, keys: Any, on: str, *, anti: bool = False) -> Any:
    """The rows of a frame whose key may be in a filter (or with anti=True: certainly is not), lazily.

    Rows that are null have no key, so a semi-join drops them and an anti-join keeps them. `keys` is a Filter, a Sharded whose
    directory all workers can read, or what build(compute=False) returned; it goes to each worker once.
    """
    dask = import_module("dask")
    if not hasattr(keys, "dask"):
        keys = dask.delayed(keys, pure=False)
    return frame.map_partitions(_select, keys, on, anti, meta=frame._meta)


def _key_of(column: Any) -> str:
    return Filter.build(column._meta_nonempty, skip_nulls=True).key


def _merges(empty: Filter) -> bool:
    try:
        empty.merge(empty.copy())
    except TypeError:
        return False
    return empty.kind != "window"


def _filter(part: Any, shape: Any) -> Filter:
    made = Filter(**shape)
    made.update(part, skip_nulls=True)
    return made


def _union(filters: List[Filter]) -> Filter:
    total = filters[0].copy()  # the task may run again: its inputs stay as they are
    for other in filters[1:]:
        total |= other
    return total


def _hashes(part: Any, twin: Filter) -> Any:
    return twin.hash_many(part, skip_nulls=True)


def _of_hashes(parts: List[Any], key: str, params: Any) -> Filter:
    import numpy

    return Filter.build_hashes(numpy.concatenate(parts), key=key, **params)


def _split(part: Any, twin: Filter, shards: int) -> List[Any]:
    hashes = twin.hash_many(part, skip_nulls=True)
    which = shard_of(hashes, shards)
    return [hashes[which == i] for i in range(shards)]


def _select(part: Any, keys: Any, on: str, anti: bool) -> Any:
    found = keys.check_many(part[on], null=False)
    return part[~found if anti else found]
