#!/usr/bin/env python3
"""Bloom filters as RedisBloom saved them before version 2: 32-bit hashes, sizes that are powers of two or
end within a byte, RDB encodings 0 to 3. No server writes them any more, so a model in Python does."""
import math
import struct

import rdb
from server import equal, main, refuses, test

TYPE = 0x3016E5A289BEF804 >> 10  # MBbloom--, without the encoding version
LN2, LN2_SQUARED = 0.693147180559945, 0.480453013918201
ITEMS = [b"item:%d" % i for i in range(50)]
MASK = (1 << 32) - 1


def murmur2(data, seed):
    m, h = 0x5BD1E995, seed ^ len(data)
    whole = len(data) // 4 * 4
    for (k,) in struct.iter_unpack("<I", data[:whole]):
        k = k * m & MASK
        h = (h * m ^ (k ^ k >> 24) * m) & MASK
    if whole < len(data):
        h = (h ^ int.from_bytes(data[whole:], "little")) * m & MASK
    h = (h ^ h >> 13) * m & MASK
    return h ^ h >> 15


def old_filter(encver, n2):
    """The fields of a filter of 100 items at 1 %, or of 2^n2 bits, that holds ITEMS."""
    bpe = -(math.log(0.01) / LN2_SQUARED)
    hashes = math.ceil(LN2 * bpe)
    entries = int((1 << n2) / bpe) if n2 else 100
    bits = 1 << n2 if n2 else int(entries * bpe)
    array = bytearray((bits + 7) // 8 if encver == 0 else (bits + 63) // 64 * 8)
    if encver > 0:
        bits = len(array) * 8
    for item in ITEMS:
        a = murmur2(item, 0x9747B28C)
        b = murmur2(item, a)
        for i in range(hashes):
            at = (a + i * b) % (1 << n2 if n2 else bits)
            array[at // 8] |= 1 << at % 8
    fields = [("u", len(ITEMS)), ("u", 1)]
    fields += [("u", 0)] * (encver >= 2) + [("u", 2)] * (encver >= 4)
    fields += [("u", entries), ("d", 0.01), ("u", hashes), ("d", bpe)]
    fields += [("u", bits), ("u", n2)] * (encver >= 1)
    return fields + [("s", bytes(array)), ("u", len(ITEMS))]


def payload(client, encver, n2):
    client("SET", "version", 1)
    version = rdb.version_of(client("DUMP", "version"))
    return rdb.encode(struct.pack(">Q", TYPE << 10 | encver), old_filter(encver, n2), version)


@test("old filters are read, answer as they did, grow, and are saved so that they load again")
def old_filters(client):
    for encver, n2 in ((0, 0), (1, 0), (1, 11), (2, 0), (2, 11), (3, 0), (3, 11), (4, 0), (4, 11)):
        what = f"encoding {encver}, n2 {n2}"
        client("DEL", "k")
        client("RESTORE", "k", 0, payload(client, encver, n2))
        equal(client("BF.MEXISTS", "k", *ITEMS), [1] * len(ITEMS), what)
        assert sum(client("BF.MEXISTS", "k", *(f"probe:{i}" for i in range(1000)))) < 10, what
        assert b"hashwidth:32" in client("BF.DEBUG", "k")[1], what
        client("BF.MADD", "k", *range(400))
        equal(client("BF.INFO", "k", "FILTERS"), [2], what)
        digest = client("DEBUG", "DIGEST-VALUE", "k")
        client("DEBUG", "RELOAD")
        equal(client("DEBUG", "DIGEST-VALUE", "k"), digest, what)
        equal(client("BF.MEXISTS", "k", *ITEMS), [1] * len(ITEMS), what + ", grown and loaded again")


@test("an encoding of the future is refused")
def future(client):
    refuses(client, "ERR Bad data format", "RESTORE", "k", 0, payload(client, 5, 0))


main()
