#!/usr/bin/env python3
"""The layouts nori, nori12, mini-lsm and lab in plain Python, as doc/formats/ has them.

    make_seed_layouts.py           writes the golden files and seed_layouts.txt beside this script
    make_seed_layouts.py --check   compares with what is there, and prints TAP

It shares no code with the library and uses no module that hashes but zlib, for CRC-32.
"""
import functools
import math
import pathlib
import struct
import sys
import zlib

HERE = pathlib.Path(__file__).resolve().parent
U32, U64 = 2**32 - 1, 2**64 - 1

# ---- hashes ----

P1, P2, P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P4, P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5


def rotl64(x, r):
    return (x << r | x >> (64 - r)) & U64


def xxh64_round(acc, lane):
    return rotl64((acc + lane * P2) & U64, 31) * P1 & U64


def xxh64(data, seed):
    n, at = len(data), 0
    if n >= 32:
        acc = [(seed + P1 + P2) & U64, (seed + P2) & U64, seed, (seed - P1) & U64]
        while n - at >= 32:
            lanes = struct.unpack_from("<4Q", data, at)
            acc = [xxh64_round(a, lane) for a, lane in zip(acc, lanes)]
            at += 32
        h = sum(rotl64(a, r) for a, r in zip(acc, (1, 7, 12, 18))) & U64
        for a in acc:
            h = ((h ^ xxh64_round(0, a)) * P1 + P4) & U64
    else:
        h = (seed + P5) & U64
    h = (h + n) & U64
    while n - at >= 8:
        h = (rotl64(h ^ xxh64_round(0, struct.unpack_from("<Q", data, at)[0]), 27) * P1 + P4) & U64
        at += 8
    if n - at >= 4:
        h = (rotl64(h ^ struct.unpack_from("<I", data, at)[0] * P1 & U64, 23) * P2 + P3) & U64
        at += 4
    for byte in data[at:]:
        h = rotl64(h ^ byte * P5 & U64, 11) * P1 & U64
    h = (h ^ h >> 33) * P2 & U64
    h = (h ^ h >> 29) * P3 & U64
    return h ^ h >> 32


C1, C2 = 0xCC9E2D51, 0x1B873593


def rotr32(x, r):
    return (x >> r | x << (32 - r)) & U32


def farm_fmix(h):
    h = (h ^ h >> 16) * 0x85EBCA6B & U32
    h = (h ^ h >> 13) * 0xC2B2AE35 & U32
    return h ^ h >> 16


def farm_scramble(a):
    return rotr32(a * C1 & U32, 17) * C2 & U32


def farm_step(h):
    return (rotr32(h, 19) * 5 + 0xE6546B64) & U32


def farm_mur(a, h):
    return farm_step(h & U32 ^ farm_scramble(a & U32))


def farm32(s):
    """FarmHash Fingerprint32 with unsigned bytes, as mini-lsm's crate has it."""
    n = len(s)

    def word(at):
        return struct.unpack_from("<I", s, at)[0]

    if n <= 4:
        b, c = 0, 9
        for byte in s:
            b = (b * C1 + byte) & U32
            c ^= b
        return farm_fmix(farm_mur(b, farm_mur(n, c)))
    if n <= 12:
        a, b, c = n + word(0), 5 * n + word(n - 4), 9 + word(n // 2 & 4)
        return farm_fmix(farm_mur(c, farm_mur(b, farm_mur(a, 5 * n))))
    if n <= 24:
        a, b, c, d, e, f = (word(at) for at in (n // 2 - 4, 4, n - 8, n // 2, 0, n - 4))
        h = d * C1 + n
        a = rotr32(a, 12) + f & U32
        h = farm_mur(c, h) + a
        a = rotr32(a, 3) + c & U32
        h = farm_mur(e, h) + a
        a = rotr32(a + f & U32, 12) + d & U32
        h = farm_mur(b, h) + a
        return farm_fmix(h & U32)
    h, g = n, n * C1 & U32
    f = rotr32(g + farm_scramble(word(n - 20)) & U32, 19) + 113 & U32
    h = farm_step(farm_step(h ^ farm_scramble(word(n - 4))) ^ farm_scramble(word(n - 16)))
    g = farm_step(farm_step(g ^ farm_scramble(word(n - 8))) ^ farm_scramble(word(n - 12)))
    for i in range((n - 1) // 20):
        a, b, c, d, e = struct.unpack_from("<5I", s, 20 * i)
        h = farm_mur(d, h + a) + e & U32
        g = farm_mur(c, g + b) + a & U32
        f = farm_mur(b + e * C1, f + c) + d & U32
        f = f + g & U32
        g = g + f & U32
    g = rotr32(rotr32(g, 11) * C1 & U32, 17) * C1 & U32
    f = rotr32(rotr32(f, 11) * C1 & U32, 17) * C1 & U32
    h = rotr32(farm_step(h + g & U32), 17) * C1 & U32
    return rotr32(farm_step(h + f & U32), 17) * C1 & U32


def fnv1a64(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001B3 & U64
    return h


def splitmix64(x):
    x = (x + 0x9E3779B97F4A7C15) & U64
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & U64
    x = (x ^ x >> 27) * 0x94D049BB133111EB & U64
    return x ^ x >> 31


# ---- probes: the k bit positions of a key in m bits ----


@functools.lru_cache(maxsize=None)
def xxh64_pair(key):
    return xxh64(key, 0), xxh64(key, 1)


@functools.lru_cache(maxsize=None)
def lab_pair(key):
    h = splitmix64(fnv1a64(key))
    return h & U32, h >> 32


farm32 = functools.lru_cache(maxsize=None)(farm32)


def stride(pair, m, k):
    h1, h2 = pair
    return [(h1 + i * h2 & U64) % m for i in range(k)]


def rotate(h, m, k):
    delta = rotr32(h, 17)
    return [(h + i * delta & U32) % m for i in range(k)]


# ---- layouts: (n, bits_per_key) -> (m, k), and the bytes around the bits ----


class Nori:
    def shape(self, n, b):
        return n * b, min(30, max(1, math.ceil(0.693 * b)))

    def probes(self, key, m, k):
        return stride(xxh64_pair(key), m, k)

    def wrap(self, bits, m, k, b):
        return struct.pack("<QII", m, k, b) + bits


class Nori12(Nori):
    def shape(self, n, b):
        m = n * b
        return (1 << (m - 1).bit_length() if m else 0), max(1, math.ceil(0.693 * b))

    def wrap(self, bits, m, k, b):
        return struct.pack("<IQ", k, m) + bits


class Lab(Nori12):
    def shape(self, n, b):
        return n * b, max(1, round(b * math.log(2)))

    def probes(self, key, m, k):
        return stride(lab_pair(key), m, k)


class MiniLsm:
    def shape(self, n, b):
        k = min(30, max(1, int(0.69 * b)))
        return (max(64, n * b) + 7) // 8 * 8, k if n else 1  # mini-lsm divides by n and gets 0 bits

    def probes(self, key, m, k):
        return rotate(farm32(key), m, k)

    def wrap(self, bits, m, k, b):
        body = bits + bytes([k])
        return body + struct.pack(">I", zlib.crc32(body))


LAYOUTS = {"nori": Nori(), "nori12": Nori12(), "mini-lsm": MiniLsm(), "lab": Lab()}


def build(layout, keys, b):
    """The file, and a function that answers for a key."""
    m, k = layout.shape(len(keys), b)
    bits = bytearray((m + 7) // 8)
    for key in keys:
        for p in layout.probes(key, m, k):
            bits[p >> 3] |= 1 << (p & 7)

    def may_contain(key):
        return m != 0 and all(bits[p >> 3] >> (p & 7) & 1 for p in layout.probes(key, m, k))

    return layout.wrap(bytes(bits), m, k, b), may_contain


# ---- key sets: MANIFEST.md ----

SETS = {
    "str": lambda i: b"key%06d" % i,
    "u64le": lambda i: struct.pack("<Q", i),
    "varlen": lambda i: bytes((i * 131 + j * 17 + 7) % 256 for j in range(i)),
    "twice": lambda i: b"key%06d" % (i // 2),
}
ABSENT = [b"abs%06d" % i for i in range(2000)]
COUNTS, BITS = (0, 1, 2, 100, 1000), (1, 5, 8, 10, 16, 20)

# (set, n, bits per key) whose bytes are kept as a file; all others by length and CRC-32 alone
KEPT = [("str", 0, 10), ("str", 1, 10), ("str", 2, 5), ("str", 100, 1), ("str", 100, 8),
        ("str", 100, 10), ("str", 100, 20), ("str", 1000, 16), ("u64le", 100, 10),
        ("varlen", 100, 10)]


def rows():
    for name, layout in LAYOUTS.items():
        for set_name, make in SETS.items():
            for n in COUNTS:
                keys = [make(i) for i in range(n)]
                for b in BITS:
                    data, may_contain = build(layout, keys, b)
                    assert all(map(may_contain, keys))
                    yield name, set_name, n, b, data, sum(map(may_contain, ABSENT))


def golden():
    """Every file that this script writes: path -> bytes."""
    files = {}
    table = ["# layout  key set  n  bits per key  length  crc32  maybes among 2000 absent keys"]
    for name, set_name, n, b, data, maybes in rows():
        table.append(f"{name} {set_name} {n} {b} {len(data)} {zlib.crc32(data):08x} {maybes}")
        if (set_name, n, b) in KEPT:
            files[HERE / name / f"filter_{set_name}_n{n}_b{b}.bin"] = data
    files[HERE / "seed_layouts.txt"] = ("\n".join(table) + "\n").encode()
    return files


def self_checks():
    """Published values of the hashes, so that the model is not only compared with the library."""
    yield "xxh64 of nothing", xxh64(b"", 0) == 0xEF46DB3751D8E999
    yield "xxh64 of abc", xxh64(b"abc", 0) == 0x44BC2CF5AD770999
    yield "fnv-1a of foobar", fnv1a64(b"foobar") == 0x85944171F73967E8
    yield "splitmix64 from 1234567", splitmix64(1234567) == 6457827717110365317
    yield "fingerprint32 of hello world", farm32(b"hello world") == 430397466


def check():
    results = list(self_checks())
    for path, data in golden().items():
        same = path.exists() and path.read_bytes() == data
        results.append((f"{path.relative_to(HERE)} is what the model writes", same))
    for i, (what, good) in enumerate(results, 1):
        print(f"{'ok' if good else 'not ok'} {i} - {what}")
    print(f"1..{len(results)}")
    return 0 if all(good for _, good in results) else 1


def main():
    if sys.argv[1:] == ["--check"]:
        return check()
    if sys.argv[1:]:
        print(__doc__, file=sys.stderr)
        return 2
    for path, data in golden().items():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
