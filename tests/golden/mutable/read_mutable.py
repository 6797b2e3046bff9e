#!/usr/bin/env python3
"""Reads the payloads of dump_mutable by doc/formats/nay-mutable.md alone; prints TAP.

Every rule of the page is checked on every payload, every member must be a maybe, and the answers
about strangers must be those of the library. digests.txt has the digests that every build must make.
"""
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

M64 = (1 << 64) - 1
G32 = 0x9E3779B9


def mix(x):
    x = (x + 0x9E3779B97F4A7C15) & M64
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & M64
    x = (x ^ x >> 27) * 0x94D049BB133111EB & M64
    return x ^ x >> 31


def reduce(h, n):
    return h * n >> 64


def up(x):
    return -(-x // 64) * 64


def u(fmt, data, at):
    return struct.unpack_from("<" + fmt, data, at)[0]


def popcount(x):
    return bin(x).count("1")


def must(condition, what):
    if not condition:
        raise ValueError(what)


def chain(h, k):
    x = h & 0xFFFFFFFF
    for _ in range(k):
        yield x
        x = x * G32 & 0xFFFFFFFF


def blocked_has(plane, nblocks, k, h):
    block = reduce(h, nblocks) * 64
    return all(plane[block + (x >> 23) // 8] >> (x >> 23) % 8 & 1 for x in chain(h, k))


class Counting:
    def __init__(self, nunits, k, extra, data):
        self.nunits, self.k, self.data = nunits, k, data
        records = min(extra & 0x7FFFFFFF, 8 * min(nunits, 512))
        at = 64 * nunits
        self.states = {}
        for first in range(0, nunits, 512):
            at = self.page(first, min(512, nunits - first), records, at)
        must(at == len(data), "length")

    def page(self, first, blocks, records, at):
        data, rows = self.data, -(-blocks // 8)
        flags, pool = at + 64 * blocks, at + 64 * blocks + 8 * rows
        ranks = pool + 32 * records
        end = at + 64 * blocks + up(8 * rows + 32 * records + 2 * (rows + 1))
        used = 0
        for row in range(rows):
            must(u("H", data, ranks + 2 * row) == used, "rank")
            word = u("Q", data, flags + 8 * row)
            for bit in range(64):
                block, group = row * 8 + bit // 8, bit % 8
                flagged = word >> bit & 1
                must(block < blocks or not flagged, "flag of no block")
                if block >= blocks:
                    continue
                plane = u("Q", data, 64 * (first + block) + 8 * group)
                unary = u("Q", data, at + 64 * block + 8 * group)
                record = data[pool + 32 * used:pool + 32 * used + 32] if flagged else None
                self.group(plane, unary, record)
                used += flagged
        must(u("H", data, ranks + 2 * rows) == used <= records, "last rank")
        must(not any(data[pool + 32 * used:ranks]), "unused records")
        must(not any(data[ranks + 2 * rows + 2:end]), "padding")
        return end

    def group(self, plane, unary, record):
        state = "empty"
        if record is not None:
            state = "pooled"
            counts = [record[b // 2] >> b % 2 * 4 & 15 for b in range(64)]
            must(unary == 0 and sum(counts) > 64, "pooled")
            must(all((c != 0) == (plane >> b & 1) for b, c in enumerate(counts)), "record and plane")
        elif unary:
            state = "unary"
            runs = bin(unary)[2:][::-1].split("1")[:-1]
            must(len(runs) == popcount(plane) and max(map(len, runs)) <= 14, "unary")
        elif plane:
            state = "stuck"
        self.states[state] = self.states.get(state, 0) + 1

    def has(self, h):
        return blocked_has(self.data, self.nunits, self.k, h)


class Scalable:
    def __init__(self, nunits, k, extra, data):
        rate = struct.unpack("<f", struct.pack("<I", extra))[0]
        levels, finished, grown = u("I", data, 0), u("I", data, 4), u("Q", data, 8)
        limit = u("d", data, 24)
        must(0 < rate <= 0.5 and 1 <= levels <= 64 and finished <= 1 and grown <= 64, "header")
        must(0 < limit <= 1 and not any(data[32:64]), "header")
        at = up(64 + 40 * levels)
        must(not any(data[64 + 40 * levels:at]), "padding")
        self.levels, self.states = [], {"levels": levels}
        for i in range(levels):
            row = 64 + 40 * i
            nblocks, nkeys, nset, full, k_i, zero = struct.unpack_from("<QQQQII", data, row)
            level = data[at:at + 64 * nblocks]
            must(len(level) == 64 * nblocks > 0 and zero == 0 and 1 <= k_i <= 64, "row")
            must(1 <= nkeys <= 512 * nblocks and 1 <= full <= 512 * nblocks, "row")
            must(sum(map(popcount, level)) == nset, "bits set")
            self.levels.append((level, nblocks, k_i))
            at += 64 * nblocks
        must(at == len(data), "length")
        must(self.levels[0][2] == k, "k")

    def has(self, h):
        return any(blocked_has(level, nblocks, k, h) for level, nblocks, k in self.levels)


class Window:
    def __init__(self, nunits, k, extra, data):
        self.nunits, self.k, self.G, self.data = nunits, k, extra, data
        newest, clock_set, window, clock, per = struct.unpack_from("<IIQQQ", data, 0)
        must(2 <= extra <= 16 and newest < extra and clock_set <= 1 and per >= 1, "header")
        must(window == 0 or window >= extra - 1, "window")
        must(clock == 0 or (clock_set and window), "clock")
        must(not any(data[32:64]) and not any(data[64 + 8 * extra:192]), "header")
        must(len(data) == 192 + 128 * nunits, "length")
        used = 64 // extra * extra
        must(all(u("Q", data, at) >> used == 0 for at in range(192, len(data), 8)), "rest of a word")
        self.states = {"newest": newest, "counts": [u("Q", data, 64 + 8 * i) for i in range(extra)]}

    def has(self, h):
        unit, cells, found = 192 + 128 * reduce(h, self.nunits), 64 // self.G, (1 << self.G) - 1
        for x in chain(h, self.k):
            cell = (x % (1 << 28)) * cells >> 28
            found &= u("Q", self.data, unit + 8 * (x >> 28)) >> cell * self.G
        return found != 0


class Cuckoo:
    def __init__(self, nunits, k, extra, data):
        self.m, self.F, self.D = nunits, extra & 255, extra >> 8 & 255
        self.d, tags = u("Q", data, 0), u("Q", data, 8)
        must(k == 2 and nunits % 2 == 0 and 6 <= self.F and self.F + self.D <= 32, "shape")
        must(self.d <= self.D and not any(data[24:64]), "header")
        self.f = self.F + self.D - self.d
        nbits = (self.m << self.d) * 4 * self.f
        must(len(data) == 64 + up(-(-nbits // 8) + 8), "length")
        bits = int.from_bytes(data[64:], "little")
        must(bits >> nbits == 0, "padding")
        mask = (1 << self.f) - 1
        text = bits.to_bytes(len(data) - 64, "little")
        self.slots = [int.from_bytes(text[i * self.f // 8:i * self.f // 8 + 8], "little")
                      >> i * self.f % 8 & mask for i in range((self.m << self.d) * 4)]
        must(sum(t != 0 for t in self.slots) == tags, "number of tags")
        must(all(t == 0 or t % (1 << self.F) for t in self.slots), "low bits of a tag")
        self.states = {"doublings": self.d, "tags": tags, "load": round(tags / len(self.slots), 3)}

    def has(self, h):
        low = 1 + ((h & 0xFFFFFFFF) * ((1 << self.F) - 1) >> 32)
        spare, left = h % (1 << self.D), self.D - self.d
        tag = spare % (1 << left) << self.F | low
        home = reduce(h, self.m) << self.d | spare >> left
        x = low * 0x9E3779B97F4A7C15 & M64
        r = 2 * reduce((x ^ x >> 32) * 0xBF58476D1CE4E5B9 & M64, self.m // 2) + 1
        i = home >> self.d
        other = (self.m - i - r) % self.m << self.d | home % (1 << self.d)
        must(other != home, "the two buckets")
        return tag in self.slots[4 * home:4 * home + 4] + self.slots[4 * other:4 * other + 4]


READERS = {3: Counting, 4: Scalable, 5: Window, 6: Cuckoo}


def check(path):
    shape, members, answers, payload = path.read_text().split("\n")[:4]
    kind, nunits, k, extra = map(int, shape.split())
    reader = READERS[kind](nunits, k, extra, bytes.fromhex(payload))
    must(all(reader.has(mix(i)) for i in range(int(members))), "a member is a nay")
    ours = "".join("01"[reader.has(mix(1000000 + i))] for i in range(len(answers)))
    must(ours == answers, "answers about strangers differ")
    return reader.states


def main():
    dump, here = sys.argv[1], pathlib.Path(__file__).parent
    wanted = (here / "digests.txt").read_text()
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run([dump, folder], capture_output=True, text=True, check=True).stdout
        names = [line.split()[0] for line in made.splitlines()]
        print(f"1..{len(names) + 1}")
        for n, name in enumerate(names, 1):
            try:
                print(f"ok {n} - {name}: {check(pathlib.Path(folder, name + '.txt'))}")
            except ValueError as fault:
                print(f"not ok {n} - {name}: {fault}")
        print("ok" if made == wanted else "not ok", len(names) + 1, "- the digests are those of digests.txt")
        if made != wanted:
            print("# " + made.replace("\n", "\n# "))


main()
