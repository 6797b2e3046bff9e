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
import uuid
from importlib import import_module
from typing import Any, List, Optional

from . import Filter
from .sharded import Sharded, shard_of, write_shard

__all__ = ["build", "build_sharded", "semi_join"]

_STATIC = ("xor", "fuse", "ribbon")
_MERGING = ("bloom", "blocked", "counting")  # to the bytes that one process would make


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
    that are null have no key. compute=False returns a dask Delayed;
    with a secret its filter is locked, as every pickled one is.
    """
    delayed = import_module("dask").delayed
    key = key or _key_of(column)
    params.update(fpr=fpr, kind=kind)
    if kind in _STATIC:
        hashes = [delayed(_hashes)(part, _hashing(key, params)) for part in column.to_delayed()]
        return _result(delayed(_of_hashes)(hashes, key, params), params, compute)
    if nkeys is None:
        nkeys = max(1, len(column))
    empty = Filter(nkeys, key=key, **params)
    if empty.kind not in _MERGING:
        raise TypeError(f"no kind for a cluster: {empty.kind}; take blocked, bloom or counting, or a static kind")
    shape = {"nkeys": nkeys, "key": key, **params}
    level = [delayed(_filter)(part, shape) for part in column.to_delayed()]
    while len(level) > 1:
        level = [delayed(_union)(level[i : i + split_every]) for i in range(0, len(level), max(2, split_every))]
    return _result(level[0], params, compute)


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

    Each worker splits the hashes of its partitions, 8 bytes for each key, and each shard is built by one worker. Until all
    are written, the directory of an earlier build is refused where it is opened, and is none any more.
    """
    delayed = import_module("dask").delayed
    key = key or _key_of(column)
    params.update(fpr=fpr, kind=kind)
    os.makedirs(directory, exist_ok=True)
    split = delayed(_split, nout=shards)
    parts = [split(part, _hashing(key, params), shards) for part in column.to_delayed()]
    where, build_id = os.fspath(directory), uuid.uuid4().hex
    written = [
        delayed(write_shard)(where, i, shards, [part[i] for part in parts], key, params, build_id) for i in range(shards)
    ]
    import_module("dask").compute(*written)
    return Sharded(directory, secret=params.get("secret"))


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


def _hashing(key: str, params: Any) -> Any:
    """What a filter with the same hash is made of. A pickled filter would have lost its secret."""
    return {"nkeys": 1, "key": key, "seed": params.get("seed"), "secret": params.get("secret")}


def _result(made: Any, params: Any, compute: bool) -> Any:
    if not compute:
        return made
    filter = made.compute()
    if filter.locked and params.get("secret") is not None:
        filter.unlock(params["secret"])
    return filter


def _filter(part: Any, shape: Any) -> Filter:
    made = Filter(**shape)
    made.update(part, skip_nulls=True)
    return made


def _union(filters: List[Filter]) -> Filter:
    total = filters[0].copy()  # the task may run again: its inputs stay as they are
    for other in filters[1:]:
        total |= other
    return total


def _hashes(part: Any, hashing: Any) -> Any:
    return Filter(**hashing).hash_many(part, skip_nulls=True)


def _of_hashes(parts: List[Any], key: str, params: Any) -> Filter:
    import numpy

    return Filter.build_hashes(numpy.concatenate(parts), key=key, **params)


def _split(part: Any, hashing: Any, shards: int) -> List[Any]:
    hashes = _hashes(part, hashing)
    which = shard_of(hashes, shards)
    return [hashes[which == i] for i in range(shards)]


def _select(part: Any, keys: Any, on: str, anti: bool) -> Any:
    found = keys.check_many(part[on], null=False)
    return part[~found if anti else found]
