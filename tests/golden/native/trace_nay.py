#!/usr/bin/env python3
"""The values of one probe, step by step, in the names of doc/formats/nay.md.

    trace_nay.py FILE KEY        prints the trace that the page shows as a worked example

test_read_nay.py compares every trace of the page with what this prints.
"""
import sys

import read_nay
from read_nay import MASK32, MASK64, bit, field, reduce, u64

G32, G64 = 0x9E3779B9, 0x9E3779B97F4A7C15


def bloom_bits(array_bit, x, nbits, k):
    for i in range(k):
        word = x * pow(G64, i, 1 << 64) & MASK64
        value = array_bit(reduce(word, nbits))
        yield f"i = {i}: P64 = {word:016x}, bit {reduce(word, nbits)} is {value}"
        if not value:
            return


def bloom(f, p, h):
    yield from bloom_bits(lambda n: bit(p, n), h, f.nunits, f.k)


def probe32(h, k):
    for i in range(k):
        yield (h & MASK32) * pow(G32, i, 1 << 32) & MASK32


def blocked_bits(p, h, nblocks, k):
    block = reduce(h, nblocks)
    yield f"block = {block}"
    for i, word in enumerate(probe32(h, k)):
        value = bit(p, 512 * block + (word >> 23))
        yield f"i = {i}: P32 = {word:08x}, bit {word >> 23} is {value}"
        if not value:
            return


def blocked(f, p, h):
    yield from blocked_bits(p, h, f.nunits, f.k)


def counting(f, p, h):
    yield from blocked_bits(p, h, f.nunits, f.k)
    if not f.may_contain_hash(h):
        return
    block, page = reduce(h, f.nunits), p[64 * f.nunits :]
    assert f.nunits <= 512
    for group in sorted({word >> 29 for word in probe32(h, f.k)}):
        at = 64 * block + 8 * group
        plane, unary = u64(p, at), u64(page, at)
        counters = [len(zeros) + 1 for zeros in f"{unary:b}"[::-1].split("1")[:-1]] if unary else "not unary"
        yield f"group {group}: plane = {plane:016x}, unary = {unary:x}, counters {counters}"


def scalable(f, p, h):
    for number, (halves, nblocks, k, nbits) in enumerate(f.levels):
        positions = read_nay.Scalable.positions(h, nblocks, k, nbits)
        for half, bits in zip(("left", "right"), halves):
            ones = [read_nay.bit(bits, n) for n in positions]
            shown = [str(n % nbits) for n in positions][: ones.index(0) + 1 if 0 in ones else k]
            last = "the last is 0" if 0 in ones else "all 1"
            yield (f"level {number}, {half}: nblocks = {nblocks}, k = {k}, block = {positions[0] // nbits}, "
                   f"bits {' '.join(shown)}: {last}")
            if 0 not in ones:
                return


def window(f, p, h):
    unit, cells, found = reduce(h, f.nunits), 64 // f.extra, (1 << f.extra) - 1
    yield f"unit = {unit}, ncells = {cells}"
    for i, word in enumerate(probe32(h, f.k)):
        cell = (word & (1 << 28) - 1) * cells >> 28
        value = field(p, 8 * (192 + 128 * unit + 8 * (word >> 28)) + cell * f.extra, f.extra)
        found &= value
        yield f"i = {i}: P32 = {word:08x}, word {word >> 28}, cell {cell} = {value:0{f.extra}b}, found = {found:0{f.extra}b}"
        if not found:
            return


def cuckoo(f, p, h):
    low_bits, growth = read_nay.Cuckoo.split(f)
    tag, home, other_tag, other = read_nay.Cuckoo.locate(f, h)
    low = h & (1 << low_bits) - 1 or 1
    spare = h >> low_bits & (1 << growth) - 1
    pair = reduce(low * low * G64 & MASK64, f.nunits) | 1
    yield f"low = {low:x}, spare = {spare:x}"
    yield f"base = {reduce(h, f.nunits)}, used = {spare >> growth - f.d}, pair = {pair}"
    for name, bucket, t in ("home", home, tag), ("other", other, other_tag):
        yield f"{name} = {bucket}, tag {t:x}: tags " + " ".join(f"{t:x}" for t in f.slots[4 * bucket : 4 * bucket + 4])


def static_words(f, h):
    x = read_nay.premixed(h, f.premix)
    yield f"x = {x:016x}" + ("" if f.premix else " (premix 0)")


def xor(f, p, h):
    nshards, slot_bits = f.family.split(f)
    yield from static_words(f, h)
    x = read_nay.premixed(h, f.premix)
    shard = reduce(x, nshards)
    factor = f.factors[shard]
    yield f"shard = {shard}, factor = {factor:016x}"
    if factor % 2 == 0:
        return
    y = read_nay.remix(x, 0)
    z = y * factor & MASK64
    yield f"y = {y:016x}, z = {z:016x}"
    at, total = f.family.arrays_at(nshards) + shard * f.family.stride(f), 0
    for j, slot in enumerate(f.family.places(f, y, z)):
        value = field(p, 8 * at + slot * slot_bits, slot_bits)
        total ^= value
        yield f"j = {j}: slot {slot} is {value}"
    yield f"sum = {total}, fingerprint = {z & (1 << slot_bits) - 1}"


def ribbon(f, p, h):
    yield from static_words(f, h)
    x = read_nay.premixed(h, f.premix)
    if f.extra == 0:
        yield from bloom_bits(lambda n: bit(p, 64 + n), x, 64 * f.nunits, f.k)
        return
    layer, last = 0, len(f.layers) - 1
    while True:
        first, nparts, size = f.layers[layer]
        y, start, block = read_nay.Ribbon.place(f, x, layer)
        seed = read_nay.Ribbon.seed(f.numbers[layer == last])
        yield f"layer = {layer}: first = {first}, parts = {nparts}, blocks = {size}, seed = {seed:08x}"
        yield f"part = {reduce(x, nparts)}, y = {y:016x}, start = {start}, block = {block}"
        if layer == last:
            break
        code = f.codes[block // 4]
        bumped = start % 512 < read_nay.Ribbon.LIMITS[code]
        yield f"bucket = {block // 4}, code = {code}: {'bumped' if bumped else 'not bumped'}"
        if not bumped:
            break
        layer, x = layer + 1, read_nay.splitmix64(x)
        yield f"x = {x:016x}"
    if layer == last and f.numbers[1] == 255:
        return
    coefficients, print_ = y * 0xE7037ED1A0B428DB | 1, read_nay.fold(y, read_nay.FINGERPRINT)
    offset = start % 128
    yield f"coefficients = {coefficients:032x}"
    yield f"fingerprint = {print_:016x}"
    yield f"offset = {offset}, columns = {f.k - (block < f.short)}"
    for c in range(f.k - (block < f.short)):
        slots = read_nay.Ribbon.column(f, p, block, c)
        if offset:
            slots |= read_nay.Ribbon.column(f, p, block + 1, c) << 128
        band = slots >> offset & (1 << 128) - 1
        parity, want = bin(band & coefficients).count("1") & 1, print_ >> (c % 4 * 16 + c // 4) & 1
        yield f"column {c}: slots = {band:032x}, parity {parity}, fingerprint {want}"
        if parity != want:
            return


def sbbf(f, p, h):
    block = (h >> 32) * f.nunits >> 32
    yield f"block = {block}"
    for i, salt in enumerate(read_nay.Sbbf.SALT):
        number = (h & MASK32) * salt & MASK32
        value = bit(p, 256 * block + 32 * i + (number >> 27))
        yield f"word {i}: {number:08x}, bit {number >> 27} is {value}"
        if not value:
            return


TRACES = {1: bloom, 2: blocked, 3: counting, 4: scalable, 5: window, 6: cuckoo, 7: xor, 8: xor, 9: ribbon, 11: sbbf}


def trace(f, key):
    """Lines; the last is the answer."""
    h = f.hash_of(key)
    lines = [f"h = {h:016x}", *TRACES[f.kind](f, f.payload, h)]
    return lines + ["maybe" if f.may_contain_hash(h) else "nay"]


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as file:
        print("\n".join(trace(read_nay.NayFile(file.read()), sys.argv[2].encode() if len(sys.argv) > 2 else b"")))
