"""Membership filters: is this key in the set? The certain answer is nay.

>>> import libnay
>>> seen = libnay.Filter(1_000_000, fpr=0.01)
>>> seen.add("ada")
True
>>> "ada" in seen, "bob" in seen
(True, False)

Filter    a set that answers nay (certain) or maybe
Map       a value for each key, without the keys
plan      what a filter will cost, before there is one
key_bytes the bytes that stand for a value
Error     base of the errors; each is also a ValueError, TypeError, KeyError or OverflowError

libnay.dask builds filters on a cluster. help(libnay.Filter) goes on.
"""
from ._libnay import (
    KINDS,
    LIBRARY_VERSION,
    STATUSES,
    AbsentError,
    CorruptError,
    Error,
    Filter,
    FormatError,
    FullError,
    InvalidError,
    LockedError,
    Map,
    MismatchError,
    UnsupportedError,
    VersionError,
    key_bytes,
    plan,
)
from ._results import Explanation, Overlap, Plan, Stats, Step

__version__ = LIBRARY_VERSION
__all__ = [
    "KINDS",
    "STATUSES",
    "AbsentError",
    "CorruptError",
    "Error",
    "Explanation",
    "Filter",
    "FormatError",
    "FullError",
    "InvalidError",
    "LockedError",
    "Map",
    "MismatchError",
    "Overlap",
    "Plan",
    "Stats",
    "Step",
    "UnsupportedError",
    "VersionError",
    "key_bytes",
    "plan",
]
