"""A filter in several files, of which a process maps those that it needs."""
import json
import os
from typing import Any, Dict, List, Optional

from . import Filter


def shard_of(hashes: Any, shards: int) -> Any:
    """The shard of each hash: SplitMix64 of it, so that inside a shard hashes are as random as before, modulo shards."""
    import numpy

    x = numpy.asarray(hashes, dtype=numpy.uint64).copy()
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        x ^= x >> numpy.uint64(shift)
        x *= numpy.uint64(factor)
    return x % numpy.uint64(shards)


def write_shard(
    directory: str, i: int, shards: int, parts: List[Any], key: str, params: Dict[str, Any], build: str
) -> int:
    """Builds shard i from hashes; returns its bytes. Its metadata say which shard it is, of how many, and of which build:
    of a directory that holds shards of two builds, as after one that was ended, no key could be said to be absent."""
    import numpy

    made = Filter.build_hashes(numpy.concatenate(parts), key=key, **params)
    made.meta = json.dumps({"shard": i, "shards": shards, "build": build}).encode()
    path = os.path.join(directory, f"shard-{i:05d}.nay")
    made.save(path)
    return os.path.getsize(path)


class Sharded:
    """The shards of a directory, which libnay.dask.build_sharded wrote. Pickles as its path and secret."""

    def __init__(self, directory: Any, *, lazy: bool = False, secret: Optional[bytes] = None) -> None:
        self.directory, self.lazy, self.secret = os.fspath(directory), lazy, secret
        self._stated: Any = None  # the metadata of all shards
        first = self._open(0)
        self.shards = int(self._stated["shards"])
        self.key = first.key
        self._files: Dict[int, Filter] = {0: first}
        for i in range(self.shards):
            if not os.path.exists(self._path(i)):
                raise FileNotFoundError(2, "a shard is missing", self._path(i))

    def _path(self, i: int) -> str:
        return os.path.join(self.directory, f"shard-{i:05d}.nay")

    def _open(self, i: int) -> Filter:
        made = Filter.mmap(self._path(i), lazy=self.lazy)
        if self.secret is not None and made.locked:
            made.unlock(self.secret)
        try:
            stated = json.loads(made.meta)
            number, rest = stated["shard"], {name: stated[name] for name in ("shards", "build")}
        except (ValueError, TypeError, KeyError):
            raise ValueError(f"{self._path(i)} is no shard") from None
        if number != i or (self._stated or rest) != rest:
            raise ValueError(f"{self._path(i)} is not shard {i} of this filter, but of another build")
        self._stated = rest
        return made

    def _shard(self, i: int) -> Filter:
        if i not in self._files:
            self._files[i] = self._open(i)
        return self._files[i]

    def __reduce__(self) -> Any:
        return _open_again, (self.directory, self.lazy, self.secret)

    def __contains__(self, key: Any) -> bool:
        h = self._shard(0).hash(key)
        return self._shard(int(shard_of([h], self.shards)[0])).check_hash(h)

    def check_many(self, keys: Any, *, null: Optional[bool] = None) -> Any:
        """As Filter.check_many; always an array of numpy."""
        import numpy

        if null is None:
            hashes = self._shard(0).hash_many(keys)
            present: Any = True
        else:
            hashes, present = self._shard(0).hash_many(keys, masked=True)
        which = shard_of(hashes, self.shards)
        answers = numpy.full(len(hashes), bool(null))
        for i in range(self.shards):
            rows = numpy.flatnonzero((which == i) & present)
            if len(rows):
                answers[rows] = self._shard(i).check_hashes(hashes[rows])
        return answers


def _open_again(directory: str, lazy: bool, secret: Optional[bytes]) -> Sharded:
    return Sharded(directory, lazy=lazy, secret=secret)
