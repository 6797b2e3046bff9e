#!/usr/bin/env python3
"""A second reader and a second writer of range filters, from doc/formats/nay.md 22 alone, in plain Python; prints TAP.

    read_range.py [MAKE_RANGE]     compares the golden files with their keys, with answers.txt, and with a build of its
                                   own; with the program, files that no writer would make as well
    read_range.py FILE LO HI       whether a key may be between two numbers
"""
import bisect
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "native"))
import read_nay
from read_nay import MASK64, NayFile, Refused, bit, field, reduce, splitmix64

BE8, BE4, DECIMAL = range(3)
HEAD = struct.Struct("<QQIBBBB6IBB")


def up(x, to):
    return -(-x // to) * to


def le64(x):
    return struct.pack("<Q", x)


def low_bits_of(n, last):
    n = max(n, 1)
    low = max((last // n).bit_length() - 1, 0)
    return low + 1 if (last >> low) * 8 >= n * 15 else low


class Parts:
    """Where the parts of a payload begin."""

    def __init__(self, n, last, low, bounds):
        self.nbuckets = (last >> low) + 1
        self.nupper = n + self.nbuckets
        self.upper = 64
        self.supers = self.upper + -(-self.nupper // 64) * 8
        self.groups = self.supers + -(-self.nbuckets // 2**14) * 4
        self.groups_end = self.groups + -(-self.nbuckets // 2**8) * 2
        self.samples = up(self.groups_end, 4)
        self.samples_end = self.samples + (self.nupper // 2**15 + 1) * 4
        self.low = up(self.samples_end, 8)
        self.others = self.low + (-(-n * low // 64) + 1) * 8
        self.end = up(self.others + bounds, 8)


class Range(read_nay.Family):
    """Sorted locations of numbers."""

    @staticmethod
    def shape_ok(f):
        keys, length = f.extra & 0xFF, f.k & 0x3FFFFFF
        return (2 <= f.nunits <= 2**62 and length != 0 and f.k >> 26 <= 38 and f.extra >> 16 == 0
                and keys <= DECIMAL and f.hash != read_nay.CALLER)

    @staticmethod
    def length_ok(f, length):
        return True

    @classmethod
    def check_payload(cls, f, p):
        cls.must(len(p) >= 64, "shorter than its head")
        (f.base, f.last, f.n, f.low, f.shift, exact, others, *forms, least, most) = HEAD.unpack_from(p)
        cls.must(exact <= 1 and others <= 1 and not any(p[HEAD.size:64]), "reserved fields")
        f.exact, f.has_others, f.prefixes, f.delimiters = exact == 1, others == 1, forms[:2], forms[2:4]
        cls.must(f.last <= 2**62 and f.n <= f.last + 1 and f.low == low_bits_of(f.n, f.last), "numbers")
        f.parts = parts = Parts(f.n, f.last, f.low, least + most)
        cls.must(parts.end == len(p), "length")
        if f.exact:
            cls.must(f.n != 0 and f.shift == 0 and f.last < f.nunits and f.base + f.last < 2**64
                     and f.prefixes == [0, 0], "exact")
        else:
            cls.must(f.base == 0 and f.shift <= 62 and f.last == f.nunits - 1 >> f.shift, "last")
        cls.must((f.prefixes[0] > f.prefixes[1]) == (f.n == 0), "prefixes without keys")
        f.digits, decimal = forms[4:], f.extra & 0xFF == DECIMAL
        good = f.digits[0] <= f.digits[1] and (f.digits[0] != 0 if decimal else f.digits[1] == 0)
        cls.must(good if f.n else f.digits == [2**32 - 1, 0], "digits")
        cls.must(f.has_others or least + most == 0, "bounds without others")
        f.others = p[parts.others : parts.others + least], p[parts.others + least : parts.others + least + most]
        cls.check_bits(f, p)

    @classmethod
    def check_bits(cls, f, p):
        parts = f.parts
        f.values, ones, zeros = [], 0, 0
        groups, samples = [], []
        cls.must(int.from_bytes(p[parts.upper : parts.supers], "little") >> parts.nupper == 0, "bits past the end")
        for at in range(parts.nupper):
            if at % 2**15 == 0:
                samples.append(ones)
            if bit(p, parts.upper * 8 + at):
                cls.must(ones < f.n, "ones")
                f.values.append(zeros << f.low | field(p, parts.low * 8 + ones * f.low, f.low))
                ones += 1
            else:
                if zeros == 0:
                    groups.append(0)
                zeros += 1
                if zeros % 2**8 == 0 and zeros < parts.nbuckets:
                    groups.append(ones)
        if parts.nupper % 2**15 == 0:
            samples.append(ones)
        cls.must(ones == f.n and not bit(p, parts.upper * 8 + parts.nupper - 1), "ones")
        cls.must(all(a < b for a, b in zip(f.values, f.values[1:])), "not ascending")
        cls.must(not f.values or f.values[-1] <= f.last, "above last")
        supers = groups[:: 2**6]
        counts = [min(n - supers[i >> 6], 65535) for i, n in enumerate(groups)]
        cls.must(p[parts.supers : parts.groups] == struct.pack(f"<{len(supers)}I", *supers), "supers")
        cls.must(p[parts.groups : parts.groups_end] == struct.pack(f"<{len(counts)}H", *counts), "groups")
        cls.must(p[parts.samples : parts.samples_end] == struct.pack(f"<{len(samples)}I", *samples), "samples")
        used = parts.low * 8 + f.n * f.low
        rest = int.from_bytes(p[used >> 3 : parts.others], "little") >> (used & 7)
        bounds = len(f.others[0]) + len(f.others[1])
        cls.must(rest == 0 and not any(p[parts.groups_end : parts.samples])
                 and not any(p[parts.samples_end : parts.low]) and not any(p[parts.others + bounds :]), "padding")
        f.seen |= {"exact"} if f.exact else set()
        f.seen |= {"others"} if f.has_others else set()
        f.seen |= {"full"} if 65535 in counts else set()
        f.seen |= {"supers"} if len(supers) > 1 else set()
        f.seen |= {"samples"} if len(samples) > 1 else set()
        f.seen |= {"shrunk"} if f.shift else set()
        f.seen |= {"more low bits"} if f.low != max((f.last // max(f.n, 1)).bit_length() - 1, 0) else set()

    # ---- keys ----

    @staticmethod
    def split(f, key):
        """Prefix and number, or None."""
        keys, delimiter = f.extra & 0xFF, f.extra >> 8
        if keys == DECIMAL:
            digits = len(key) - len(key.rstrip(b"0123456789"))
            prefix, number = key[: len(key) - digits], int(key[len(key) - digits :] or b"0")
            if digits == 0 or number > MASK64:
                return None
        else:
            width = 8 if keys == BE8 else 4
            if len(key) < width:
                return None
            prefix, number = key[:-width], int.from_bytes(key[-width:], "big")
        if delimiter and (not prefix or prefix[-1] != delimiter):
            return None
        return prefix, number

    @staticmethod
    def location(f, prefix, v):
        b = f.nunits.bit_length() - 1
        block = le64(v >> b) + (le64(f.hash_of(prefix)) if prefix else b"")
        return (reduce(f.hash_of(block), f.nunits) + v % 2**b) % f.nunits

    # ---- questions ----

    @staticmethod
    def any(f, lo, hi):
        i = bisect.bisect_left(f.values, lo)
        return i < len(f.values) and f.values[i] <= hi

    @classmethod
    def numbers(cls, f, prefix, a, c):
        if f.n == 0:
            return False
        if f.exact:
            return not prefix and c >= f.base and cls.any(f, max(a - f.base, 0), c - f.base)
        b = f.nunits.bit_length() - 1
        if (c >> b) - (a >> b) > 1:
            return True
        if c >> b != a >> b:
            border = c >> b << b
            return cls.numbers(f, prefix, a, border - 1) or cls.numbers(f, prefix, border, c)
        x = cls.location(f, prefix, a)
        y = x + c - a
        if y < f.nunits:
            return cls.any(f, x >> f.shift, y >> f.shift)
        return cls.any(f, x >> f.shift, f.last) or cls.any(f, 0, y - f.nunits >> f.shift)

    @classmethod
    def ask(cls, f, lo, hi):
        """Whether a key may be in [lo, hi]; None: they are in the wrong order."""
        a, c = cls.split(f, lo), cls.split(f, hi)
        one = a is not None and c is not None and a[0] == c[0]
        decimal = f.extra & 0xFF == DECIMAL
        if a[1] > c[1] if one and decimal else lo > hi:
            return None
        first, last = min(lo, hi), max(lo, hi)
        if f.has_others and first[:255] <= f.others[1] and last[:255] >= f.others[0]:
            return True
        if not one or not (decimal or cls.in_order(f, a[0])):
            return f.n != 0
        return cls.numbers(f, a[0], a[1], c[1])

    @staticmethod
    def in_order(f, prefix):
        delimiter = f.extra >> 8
        if f.n == 0 or f.prefixes == [len(prefix)] * 2:
            return True
        return delimiter != 0 and f.delimiters == [prefix.count(delimiter)] * 2

    @classmethod
    def has(cls, f, key):
        parts = cls.split(f, key)
        if parts is None:
            return f.has_others and f.others[0] <= key[:255] <= f.others[1]
        return cls.numbers(f, parts[0], parts[1], parts[1])


read_nay.FAMILIES = {10: Range}


# ---- the writer ----


def build(f, keys):
    """The payload that the page says, for the locations that the file has."""
    split = [Range.split(f, key) for key in keys]
    others = sorted(key[:255] for key, parts in zip(keys, split) if parts is None)
    split = [parts for parts in split if parts is not None]
    delimiter = f.extra >> 8
    numbers = [v for _, v in split]
    plain = bool(split) and not any(prefix for prefix, _ in split)
    exact = plain and max(numbers) - min(numbers) < f.nunits and f.shift == 0
    base = min(numbers) if exact else 0
    last = max(numbers) - base if exact else f.nunits - 1 >> f.shift
    values = {v - base if exact else Range.location(f, prefix, v) >> f.shift for prefix, v in split}
    values = sorted(values)
    n, low = len(values), low_bits_of(len(values), last)
    lengths = [len(prefix) for prefix, _ in split] or [2**32 - 1, 0]
    counts = [prefix.count(delimiter) if delimiter else 0 for prefix, _ in split]
    decimal = f.extra & 0xFF == DECIMAL
    digits = [len(key) - len(key.rstrip(b"0123456789")) if decimal else 0 for key in keys if Range.split(f, key)]
    forms = [bound(of) for of in (lengths, counts, digits) for bound in (min, max)] if split else [2**32 - 1, 0] * 3
    bounds = (others[0], others[-1]) if others else (b"", b"")
    parts = Parts(n, last, low, len(bounds[0]) + len(bounds[1]))
    payload = bytearray(parts.end)
    HEAD.pack_into(payload, 0, base, last, n, low, f.shift, exact, bool(others), *forms, *map(len, bounds))
    upper = sum(1 << (value >> low) + i for i, value in enumerate(values))
    lows = sum((value & (1 << low) - 1) << i * low for i, value in enumerate(values))
    payload[parts.upper : parts.supers] = upper.to_bytes(parts.supers - parts.upper, "little")
    payload[parts.low : parts.others] = lows.to_bytes(parts.others - parts.low, "little")
    before = [0] * (parts.nbuckets + 1)  # values in buckets before one
    for value in values:
        before[(value >> low) + 1] += 1
    for i in range(parts.nbuckets):
        before[i + 1] += before[i]
    supers = before[: parts.nbuckets : 2**14]
    groups = [min(m - supers[g >> 6], 65535) for g, m in enumerate(before[: parts.nbuckets : 2**8])]
    ones = bin(upper)[2:][::-1]
    samples = [ones.count("1", 0, at) for at in range(0, parts.nupper + 1, 2**15)]
    struct.pack_into(f"<{len(supers)}I", payload, parts.supers, *supers)
    struct.pack_into(f"<{len(groups)}H", payload, parts.groups, *groups)
    struct.pack_into(f"<{len(samples)}I", payload, parts.samples, *samples)
    payload[parts.others : parts.others + len(bounds[0])] = bounds[0]
    payload[parts.others + len(bounds[0]) : parts.others + sum(map(len, bounds))] = bounds[1]
    return bytes(payload)


# ---- the golden files ----

SETS = {"near": "exact", "dense": "dense groups", "orders": "orders", "series": "series", "mixed": "mixed"}


def set_of(name):
    stem = name.removeprefix("range-")
    return next((which for which, names in SETS.items() if stem in names.split()), "wide")


def key_of(which, i, by=0):
    """Key i of a set, as make_range.c has it, its number moved; None: it would leave its range."""
    x = splitmix64(i)
    number, width, prefix = x, 8, b""
    if which == "near":
        number = 2**40 + x % 2**20
    elif which == "dense" and i % 3:
        number = 2**50 + i
    elif which == "orders":
        return f"user:{x % 40}:order:{i + by}".encode() if i + by >= 0 else None
    elif which == "series":
        number, width, prefix = x % 2**20, 4, f"s{x % 7}:".encode()
    elif which == "mixed" and i % 10 == 0:
        return f"other-{i}".encode()
    elif which == "mixed" and i % 7 == 0:
        prefix = b"p:"
    number += by
    return prefix + number.to_bytes(width, "big") if 0 <= number < 1 << 8 * width else None


def answers(f, which):
    got = []
    for q in range(400):
        x = splitmix64(5000000 + q)
        y = splitmix64(x)
        by = (1000000 if q % 2 else 0) - y % 64
        lo, hi = key_of(which, x % 3000, by), key_of(which, x % 3000, by + (y >> 32) % 200)
        got.append(lo is None or hi is None or Range.ask(f, lo, hi) is not False)
    return "".join(f"{sum(got[i + j] << j for j in range(4)):x}" for i in range(0, 400, 4))


def mutants(stored, rounds):
    """Golden files with some bytes of the payload changed, and all digests put right."""
    rng = random.Random(35)
    for _ in range(rounds):
        name = rng.choice([name for name in stored if len(stored[name]) < 5000])
        f = NayFile(stored[name])
        payload, shape = bytearray(f.payload), [f.nunits, f.k, f.extra]
        for _ in range(rng.randrange(1, 3)):
            where = rng.random()
            at = rng.randrange(64) if where < 0.5 else rng.randrange(len(payload))
            payload[at] = rng.choice((payload[at] ^ 1 << rng.randrange(8), rng.randrange(256)))
        if rng.random() < 0.1:
            shape[rng.randrange(3)] ^= 1 << rng.randrange(32)
        if rng.random() < 0.05:
            del payload[rng.randrange(len(payload)) :]
        secret = f.secret if f.hash == read_nay.SIPHASH else None
        yield name, read_nay.write(10, f.hash, f.seed, f.nkeys, shape, bytes(payload), secret, f.meta)


def judge(name, data):
    try:
        return "NAY_OK " + f"{name}: " + answers(NayFile(data), set_of(name))
    except Refused as why:
        return f"NAY_{why.status} "


def compare_mutants(program, stored, rounds, report):
    with tempfile.TemporaryDirectory() as room:
        paths, expected = [], []
        for i, (name, data) in enumerate(mutants(stored, rounds)):
            path = pathlib.Path(room, f"{name}.{i}")
            path.write_bytes(data)
            paths.append(path)
            expected.append(judge(name, data).strip())
        done = subprocess.run([program, "answers", *paths], capture_output=True, text=True, check=False)
        got = [line.strip() for line in done.stdout.splitlines()]
        wrong = [(path.name, a[:60], b[:60]) for path, a, b in zip(paths, got, expected) if a != b]
        good = sum(line.startswith("NAY_OK") for line in got)
        report(done.returncode == 0 and len(got) == rounds and not wrong and 0 < good < rounds / 2,
               f"{rounds} changed files: both readers refuse the same, and answer alike ({good} accepted) {wrong[:3]}")


def main():
    count = failed = 0

    def report(ok, what):
        nonlocal count, failed
        count, failed = count + 1, failed + (not ok)
        print(f"{'ok' if ok else 'not ok'} {count} - {what}")

    lines = dict(line.split(": ") for line in (HERE / "answers.txt").read_text().splitlines())
    seen, stored = set(), {}
    for name, expected in lines.items():
        stored[name] = data = (HERE / f"{name}.nay").read_bytes()
        f, which = NayFile(data), set_of(name)
        seen |= f.seen | {f"keys {f.extra & 255}", f"hash {f.hash}"}
        n = {"range-n0": 0, "range-joined": 800, "range-shrunk": 800, "range-mixed": 400}.get(name, f.nkeys)
        keys = [key_of(which, i) for i in range(n)]
        report(all(Range.has(f, key) for key in keys), f"{name}: its {n} keys are maybe")
        report(answers(f, which) == expected, f"{name}: ranges get what the library says")
        report(build(f, keys) == f.payload, f"{name}: a build from the page gives the same bytes")
    wanted = {"exact", "others", "supers", "samples", "shrunk", "more low bits", "keys 0", "keys 1",
              "keys 2", "hash 0", "hash 1"}
    report(seen >= wanted, f"the files use all that a reader must know (missing: {wanted - seen})")
    if len(sys.argv) > 1:
        compare_mutants(sys.argv[1], stored, 500, report)
    print(f"1..{count}")
    return failed != 0


if __name__ == "__main__":
    if len(sys.argv) == 4:
        read = NayFile(pathlib.Path(sys.argv[1]).read_bytes())
        print("maybe" if Range.numbers(read, b"", int(sys.argv[2]), int(sys.argv[3])) else "nay")
        sys.exit(0)
    sys.exit(main())
