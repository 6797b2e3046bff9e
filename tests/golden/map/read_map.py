#!/usr/bin/env python3
"""A second reader and a second writer of static maps, from doc/formats/nay.md 21 alone, in plain Python; prints TAP.

    read_map.py              compares the golden files with their members, with answers.txt, and with a build of its own
    read_map.py FILE KEY...  the values of keys
"""
import pathlib
import struct
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "native"))
import build_nay
import read_nay
from read_nay import CALLER, MASK32, MASK64, NayFile, Refused, reduce, splitmix64


class Map(read_nay.Ribbon):
    """The slots of a key add up to its value, and its check bits above it."""

    @staticmethod
    def shape_ok(f):
        return 1 <= f.nunits < 1 << 32 and 1 <= f.k <= 64 and f.extra < f.k

    @classmethod
    def length(cls, f):
        return 16 * f.k * f.nunits + cls.ncodes(f.nunits) + 6

    @classmethod
    def check_payload(cls, f, p):
        f.short = 0
        f.premix, f.numbers = read_nay.u32(p, len(p) - 6), (p[-2], p[-1])
        codes = p[16 * f.k * f.nunits : len(p) - 6]
        f.codes = [byte >> shift & 3 for byte in codes for shift in (0, 2, 4, 6)]
        f.layers = cls.layers(f.nunits)
        cls.must(not any(f.codes[f.layers[-1][0] // 4 :]), "codes of the last layer")
        cls.must(f.numbers[1] != 255, "number of the last layer")

    @classmethod
    def get(cls, f, h):
        """The value, or None: absent."""
        layer, x = cls.find(f, read_nay.premixed(h, f.premix))
        y, start, block = cls.place(f, x, layer)
        coefficients, offset, word = y * 0xE7037ED1A0B428DB | 1, start % 128, 0
        for c in range(f.k):
            slots = cls.column(f, f.payload, block, c)
            if offset:
                slots |= cls.column(f, f.payload, block + 1, c) << 128
            word |= (bin(slots >> offset & coefficients).count("1") & 1) << c
        bits = f.k - f.extra
        return word & (1 << bits) - 1 if word >> bits == check_of(h, f.extra) else None


def check_of(h, bits):
    return splitmix64(h ^ 0x8EBC6AF09C88C6E3) >> (64 - bits)


read_nay.FAMILIES = {12: Map}


# ---- the writer ----


def fill(f, words, seed, size):
    """Rows, codes and bumped keys of a part: build_nay.band, with words in place of fingerprints."""
    plain = build_nay.equation
    build_nay.equation = lambda x, s, n: (*plain(x, s, n)[:2], words[x])
    rows, codes, bumped = build_nay.band(list(words), seed, size)
    build_nay.equation = plain
    return rows, codes, bumped


def spread(word):
    """Bit c to bit (c mod 4) * 16 + floor(c / 4), where put_blocks looks for it."""
    return sum((word >> c & 1) << (c % 4 * 16 + c // 4) for c in range(64))


def attempt(f, words, number):
    """The payload without premix and numbers, and the number of the last layer; or None."""
    payload = bytearray(16 * f.k * f.nunits + Map.ncodes(f.nunits))
    for first, nparts, size in f.layers[:-1]:
        parts, left = [{} for _ in range(nparts)], {}
        for x, word in words.items():
            parts[reduce(x, nparts)][x] = word
        for part, members in enumerate(parts):
            rows, codes, bumped = fill(f, members, Map.seed(number), size)
            build_nay.put_blocks(f, payload, rows, first + part * size, size)
            for bucket, code in enumerate(codes, (first + part * size) // 4):
                build_nay.put(payload, 128 * f.k * f.nunits + 2 * bucket, 2, code)
            left.update((splitmix64(x), members[x]) for x in bumped)
        words = left
        if len(words) > 128 * (f.nunits - first - nparts * size):
            return None
    first, _, size = f.layers[-1]
    for i in range(16):
        last, rows = (16 * number + i) % 255, {}
        equations = [(*build_nay.equation(x, Map.seed(last), size)[:2], word) for x, word in words.items()]
        if build_nay.place(equations, rows):
            build_nay.put_blocks(f, payload, rows, first, size)
            return bytes(payload), last
    return None


def build(f, pairs):
    """The payload that the page says, for the blocks that the file has; and how many attempts it took."""
    premix = splitmix64(sum(map(splitmix64, pairs)) & MASK64) & MASK32 | 1
    for number in range(8):
        mixed = premix if number >= 4 else 0
        words = {read_nay.premixed(h, mixed): spread(value | check_of(h, f.extra) << f.k - f.extra)
                 for h, value in pairs.items()}
        made = attempt(f, words, number)
        if made is not None:
            return made[0] + struct.pack("<IBB", mixed, number if len(f.layers) > 1 else 0, made[1])
    return None


# ---- the golden files ----


def members(f):
    """The pairs, as make_map.c has them."""
    bits = f.k - f.extra
    for i in range(f.nkeys):
        h = splitmix64(i) >> f.seed if f.hash == CALLER else f.hash_of(f"member-{i}".encode())
        yield h, splitmix64(i + 7) >> (64 - bits)


def main():
    count = failed = 0

    def report(ok, what):
        nonlocal count, failed
        count, failed = count + 1, failed + (not ok)
        print(f"{'ok' if ok else 'not ok'} {count} - {what}")

    answers = dict(line.split(":") for line in (HERE / "answers.txt").read_text().splitlines())
    seen = set()
    for name, expected in answers.items():
        data = (HERE / f"{name}.nay").read_bytes()
        f = NayFile(data)
        pairs = dict(members(f))
        seen |= {len(f.layers), f"hash {f.hash}"}
        report(all(Map.get(f, h) == value for h, value in pairs.items()), f"{name}: the values of all {len(pairs)} members")
        got = [Map.get(f, splitmix64(1000000 + i)) for i in range(200)]
        report(" ".join("-" if value is None else f"{value:x}" for value in got) == expected.strip(),
               f"{name}: other keys get what the library says")
        report(build(f, pairs) == f.payload, f"{name}: a build from the page gives the same bytes")
        shape = (f.nunits, f.k, f.extra)
        secret = f.secret if f.hash == read_nay.SIPHASH else None
        report(read_nay.write(12, f.hash, f.seed, f.nkeys, shape, f.payload, secret, f.meta) == data,
               f"{name}: and so is the file around it")
    report({1, 2, "hash 0", "hash 1", "hash 2"} <= seen, f"the files show {seen}")
    for what, at, value in (("the number 255", -1, 255), ("codes of the last layer", -7, 0xFF)):
        f = NayFile((HERE / "map-two-layers.nay").read_bytes())
        payload = bytearray(f.payload)
        payload[at] = value
        try:
            NayFile(read_nay.write(12, f.hash, f.seed, f.nkeys, (f.nunits, f.k, f.extra), bytes(payload)))
            report(False, f"{what} is refused")
        except Refused as why:
            report(why.status == "ECORRUPT", f"{what} is refused")
    print(f"1..{count}")
    return failed != 0


if __name__ == "__main__":
    if len(sys.argv) > 1:
        file = NayFile(pathlib.Path(sys.argv[1]).read_bytes())
        for text in sys.argv[2:]:
            print(text, Map.get(file, file.hash_of(text.encode())))
        sys.exit(0)
    sys.exit(main())
