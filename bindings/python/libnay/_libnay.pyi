import os
from types import TracebackType
from typing import Any, Mapping, Optional, Tuple, Type, TypeVar, Union, overload

from ._results import Explanation, Overlap, Plan, Stats

_Self = TypeVar("_Self")
_D = TypeVar("_D")
_Path = Union[str, bytes, os.PathLike[str], os.PathLike[bytes]]
_Bytes = Union[bytes, bytearray, memoryview]

KINDS: Tuple[str, ...]
LIBRARY_VERSION: str
STATUSES: dict[int, Tuple[str, str]]

class Error(Exception):
    status: str
    offset: int

class InvalidError(Error, ValueError): ...
class UnsupportedError(Error, TypeError): ...
class MismatchError(Error, ValueError): ...
class CorruptError(Error, ValueError): ...
class VersionError(Error, ValueError): ...
class FormatError(Error, ValueError): ...
class LockedError(Error, ValueError): ...
class FullError(Error, OverflowError): ...
class AbsentError(Error, KeyError): ...

def plan(
    nkeys: Optional[float] = ...,
    fpr: Optional[float] = ...,
    *,
    kind: str = ...,
    format: Optional[str] = ...,
    bits_per_key: Optional[float] = ...,
    nbytes: Optional[int] = ...,
    nbits: Optional[int] = ...,
    k: Optional[int] = ...,
    fold: Optional[int] = ...,
    tag_bits: Optional[int] = ...,
    generations: Optional[int] = ...,
    window: Optional[int] = ...,
    max_nkeys: Optional[int] = ...,
    max_nbytes: Optional[int] = ...,
    threads: Optional[int] = ...,
    range_length: Optional[int] = ...,
    range_keys: Optional[str] = ...,
    range_delimiter: Union[str, bytes, None] = ...,
    value_bits: Optional[int] = ...,
    check_bits: Optional[int] = ...,
    low_memory: bool = ...,
) -> Plan: ...
def key_bytes(value: Any, key_type: Optional[str] = ..., /) -> bytes: ...

class _Handle:
    key: str
    meta: bytes
    @property
    def nbytes(self) -> int: ...
    @property
    def closed(self) -> bool: ...
    @property
    def locked(self) -> bool: ...
    @property
    def damaged(self) -> bool: ...
    @classmethod
    def open(cls: Type[_Self], path: _Path, /) -> _Self: ...
    @classmethod
    def mmap(cls: Type[_Self], path: _Path, /, *, lazy: bool = ...) -> _Self: ...
    @classmethod
    def decode(cls: Type[_Self], data: Any, /, format: Optional[str] = ...) -> _Self: ...
    def __contains__(self, key: object, /) -> bool: ...
    def __len__(self) -> int: ...
    def __bytes__(self) -> bytes: ...
    def __copy__(self: _Self) -> _Self: ...
    def __deepcopy__(self: _Self, memo: Any, /) -> _Self: ...
    def __enter__(self: _Self) -> _Self: ...
    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
        /,
    ) -> None: ...
    @overload
    def check_many(self, keys: Union[list[Any], tuple[Any, ...]], /, *, null: Optional[bool] = ...) -> list[bool]: ...
    @overload
    def check_many(self, keys: Any, /, *, null: Optional[bool] = ...) -> Any: ...
    def copy(self: _Self) -> _Self: ...
    def save(self, path: _Path, /) -> None: ...
    def encode(self) -> bytes: ...
    def stats(self) -> Stats: ...
    def unlock(self, secret: _Bytes, /) -> None: ...
    def close(self) -> None: ...

class Filter(_Handle):
    def __init__(
        self,
        nkeys: Optional[float] = ...,
        fpr: Optional[float] = ...,
        *,
        kind: str = ...,
        format: Optional[str] = ...,
        key: str = ...,
        bits_per_key: Optional[float] = ...,
        nbytes: Optional[int] = ...,
        nbits: Optional[int] = ...,
        k: Optional[int] = ...,
        fold: Optional[int] = ...,
        hash: str = ...,
        seed: Optional[int] = ...,
        secret: Optional[_Bytes] = ...,
        store_secret: bool = ...,
        unique: bool = ...,
        low_memory: bool = ...,
        tag_bits: Optional[int] = ...,
        generations: Optional[int] = ...,
        window: Optional[int] = ...,
        max_nkeys: Optional[int] = ...,
        max_nbytes: Optional[int] = ...,
    ) -> None: ...
    @classmethod
    def build(
        cls: Type[_Self],
        keys: Any,
        /,
        fpr: Optional[float] = ...,
        *,
        nkeys: Optional[float] = ...,
        kind: str = ...,
        format: Optional[str] = ...,
        key: Optional[str] = ...,
        bits_per_key: Optional[float] = ...,
        nbytes: Optional[int] = ...,
        nbits: Optional[int] = ...,
        k: Optional[int] = ...,
        fold: Optional[int] = ...,
        hash: str = ...,
        seed: Optional[int] = ...,
        secret: Optional[_Bytes] = ...,
        store_secret: bool = ...,
        unique: bool = ...,
        low_memory: bool = ...,
        tag_bits: Optional[int] = ...,
        generations: Optional[int] = ...,
        window: Optional[int] = ...,
        max_nkeys: Optional[int] = ...,
        max_nbytes: Optional[int] = ...,
        threads: Optional[int] = ...,
        range_length: Optional[int] = ...,
        range_keys: Optional[str] = ...,
        range_delimiter: Union[str, bytes, None] = ...,
        skip_nulls: bool = ...,
    ) -> _Self: ...
    @classmethod
    def build_hashes(
        cls: Type[_Self],
        hashes: Any,
        /,
        fpr: Optional[float] = ...,
        *,
        nkeys: Optional[float] = ...,
        kind: str = ...,
        format: Optional[str] = ...,
        key: Optional[str] = ...,
        bits_per_key: Optional[float] = ...,
        nbytes: Optional[int] = ...,
        nbits: Optional[int] = ...,
        k: Optional[int] = ...,
        fold: Optional[int] = ...,
        hash: str = ...,
        seed: Optional[int] = ...,
        secret: Optional[_Bytes] = ...,
        store_secret: bool = ...,
        unique: bool = ...,
        low_memory: bool = ...,
        tag_bits: Optional[int] = ...,
        generations: Optional[int] = ...,
        window: Optional[int] = ...,
        max_nkeys: Optional[int] = ...,
        max_nbytes: Optional[int] = ...,
        threads: Optional[int] = ...,
    ) -> _Self: ...
    @property
    def kind(self) -> Optional[str]: ...
    @property
    def format(self) -> str: ...
    @property
    def caveat(self) -> Optional[str]: ...
    def __bool__(self) -> bool: ...
    def __or__(self: _Self, other: Filter, /) -> _Self: ...
    def __and__(self: _Self, other: Filter, /) -> _Self: ...
    def __ior__(self: _Self, other: Filter, /) -> _Self: ...
    def __iand__(self: _Self, other: Filter, /) -> _Self: ...
    def empty(self: _Self) -> _Self: ...
    def add(self, key: Any, /) -> bool: ...
    @overload
    def add_many(self, keys: Union[list[Any], tuple[Any, ...]], /, *, skip_nulls: bool = ...) -> list[bool]: ...
    @overload
    def add_many(self, keys: Any, /, *, skip_nulls: bool = ...) -> Any: ...
    def update(self, *keys: Any, skip_nulls: bool = ...) -> None: ...
    def remove(self, key: Any, /) -> None: ...
    def discard(self, key: Any, /) -> bool: ...
    def count(self, key: Any, /) -> int: ...
    def hash(self, key: Any, /) -> int: ...
    @overload
    def hash_many(self, keys: Any, /, *, skip_nulls: bool = ...) -> Any: ...
    @overload
    def hash_many(self, keys: Any, /, *, skip_nulls: bool = ..., masked: bool) -> Tuple[Any, Any]: ...
    def add_hash(self, hash: int, /) -> bool: ...
    def check_hash(self, hash: int, /) -> bool: ...
    @overload
    def add_hashes(self, hashes: Union[list[int], tuple[int, ...]], /) -> list[bool]: ...
    @overload
    def add_hashes(self, hashes: Any, /) -> Any: ...
    @overload
    def check_hashes(self, hashes: Union[list[int], tuple[int, ...]], /) -> list[bool]: ...
    @overload
    def check_hashes(self, hashes: Any, /) -> Any: ...
    def merge(self, other: Filter, /, *, max_fpr: float = ...) -> None: ...
    def overlap(self, other: Filter, /) -> Overlap: ...
    def fold(self, factor: int, /) -> None: ...
    def shrink(self, nbytes: int, /) -> None: ...
    def check_range(self, lo: Any, hi: Any, /) -> bool: ...
    @overload
    def check_ranges(self, lo: Union[list[Any], tuple[Any, ...]], hi: Any, /) -> list[bool]: ...
    @overload
    def check_ranges(self, lo: Any, hi: Any, /) -> Any: ...
    def clear(self) -> None: ...
    def advance(self, now: int, /) -> None: ...
    def explain(self, key: Any, /) -> Explanation: ...

class Map(_Handle):
    @classmethod
    @overload
    def build(
        cls: Type[_Self],
        mapping: Mapping[Any, int],
        /,
        *,
        key: Optional[str] = ...,
        value_bits: Optional[int] = ...,
        check_bits: Optional[int] = ...,
        seed: Optional[int] = ...,
        secret: Optional[_Bytes] = ...,
        store_secret: bool = ...,
        threads: Optional[int] = ...,
        low_memory: bool = ...,
        skip_nulls: bool = ...,
    ) -> _Self: ...
    @classmethod
    @overload
    def build(
        cls: Type[_Self],
        keys: Any,
        values: Any,
        /,
        *,
        key: Optional[str] = ...,
        value_bits: Optional[int] = ...,
        check_bits: Optional[int] = ...,
        seed: Optional[int] = ...,
        secret: Optional[_Bytes] = ...,
        store_secret: bool = ...,
        threads: Optional[int] = ...,
        low_memory: bool = ...,
        skip_nulls: bool = ...,
    ) -> _Self: ...
    def __getitem__(self, key: Any, /) -> int: ...
    @overload
    def get(self, key: Any, /) -> Optional[int]: ...
    @overload
    def get(self, key: Any, default: _D, /) -> Union[int, _D]: ...
    @overload
    def get_many(self, keys: Union[list[Any], tuple[Any, ...]], /) -> list[Optional[int]]: ...
    @overload
    def get_many(self, keys: Any, /) -> Any: ...
