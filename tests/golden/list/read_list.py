#!/usr/bin/env python3
"""A second reader and a second writer of exact lists, from doc/formats/nay.md 23 alone, in plain Python; prints TAP.

    read_list.py              compares the golden files with their members, with answers.txt, and with a build of its own
    read_list.py FILE KEY...  listed (1), not listed (0), unknown (-)
"""
import math
import pathlib
import struct
import sys
from types import SimpleNamespace

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "native"), str(HERE.parent / "map")]
import read_map
import read_nay
from read_map import Map
from read_nay import MASK64, SIPHASH, XXH3, NayFile, Refused, reduce, siphash, splitmix64, u32, u64, up, xxh3

EXACT_ONLY, CONSTANT, INVERTED = 126, 127, 128
HEAD = struct.Struct("<QQQIIIIIIB15s")


def homes(npartitions):
    return npartitions + npartitions // 4 + 1


def word_of(h, columns):
    return splitmix64(h ^ 0x8EBC6AF09C88C6E3) >> (64 - columns)


def exact_of(h):
    return splitmix64(h ^ 0x9C30D5392AF26013)


class List(read_nay.Family):
    @staticmethod
    def shape_ok(f):
        return 64 <= f.nunits <= 1 << 56 and f.k <= 32 and (f.extra <= 65535 or (f.extra % 65536 == 0 and f.extra >> 16 <= 255))

    @staticmethod
    def length(f):
        return f.nunits

    @classmethod
    def level(cls, f, nblocks, columns):
        """The level that comes next, a payload of a map."""
        at, before = up(f.end, 64), f.end
        f.end = at + 16 * columns * nblocks + Map.ncodes(nblocks) + 6
        cls.must(f.end <= len(f.payload) and not any(f.payload[before:at]), "a level")
        level = SimpleNamespace(nunits=nblocks, k=columns, extra=0, at=at, payload=f.payload[at : f.end])
        Map.check_payload(level, level.payload)
        return level

    @classmethod
    def class_ok(cls, f, number):
        number &= ~INVERTED
        return number == CONSTANT or (f.exact_blocks > 0 and (number == EXACT_ONLY or 1 <= number <= f.ngroups))

    @classmethod
    def check_payload(cls, f, p):
        (f.nlisted, f.bound, f.base, f.npartitions, f.nslots, f.nexceptions, f.ngroups, f.exact_blocks, f.check_blocks,
         f.whole, zero) = HEAD.unpack_from(p)
        cls.must(not any(zero) and f.nlisted <= 1 << 36 and f.ngroups <= 40, "head")
        cls.must((f.check_blocks > 0) == (f.k > 0) and (f.nslots > 0) == (f.extra > 0), "head")
        slots_at = 64 + 16 * f.ngroups
        exceptions_at = slots_at + 8 * f.nslots
        f.end = exceptions_at + 24 * f.nexceptions
        cls.must(f.end <= len(p), "tables")
        cls.must(f.whole == 0 if f.extra else cls.class_ok(f, f.whole), "class")
        f.slots = [u64(p, slots_at + 8 * i) for i in range(f.nslots)]
        cls.must(f.slots == cls.place([e for e in f.slots if e], f.nslots) and sum(e > 0 for e in f.slots) == f.npartitions,
                 "partitions")
        hashes = [e >> 8 for e in f.slots if e]
        cls.must(hashes == sorted(set(hashes)) and all(cls.class_ok(f, e & 255) for e in f.slots if e), "partitions")
        cls.must(not f.slots or (f.nslots >= homes(f.npartitions) and f.slots[-1] == 0), "partitions")
        exceptions = [struct.unpack_from("<QQQ", p, exceptions_at + 24 * i) for i in range(f.nexceptions)]
        f.exceptions = {(h, second): listed for h, second, listed in exceptions}
        cls.must([e[:2] for e in exceptions] == sorted(f.exceptions) and all(e[2] <= 1 for e in exceptions), "exceptions")
        f.groups, columns = [], 0
        for g in range(f.ngroups):
            at, nblocks, k = struct.unpack_from("<QII", p, 64 + 16 * g)
            cls.must(at == up(f.end, 64) and nblocks > 0 and columns < k <= 64, "group")
            columns = k
            f.groups.append(cls.level(f, nblocks, k))
        f.exact = cls.level(f, f.exact_blocks, 1) if f.exact_blocks else None
        f.check_level = cls.level(f, f.check_blocks, f.k) if f.check_blocks else None
        cls.must(f.end == len(p), "bytes at the end")

    @staticmethod
    def place(entries, nslots):
        slots, after = [0] * nslots, 0
        for entry in entries:
            after = max(after, reduce(entry & ~255, homes(len(entries))))
            if after >= nslots:
                return None
            slots[after] = entry
            after += 1
        return slots

    @staticmethod
    def partition(f, key):
        if f.extra < 65536:
            return key[: f.extra]
        return key.split(bytes([f.extra >> 16]))[0] if bytes([f.extra >> 16]) in key else b""

    @staticmethod
    def second(f, key):
        if f.hash == XXH3:
            return xxh3(key, f.seed ^ 0xC5D1D6C8F4B0D2A7)
        return siphash(bytes(b ^ 0xA7 for b in f.secret), key, 1, 3)

    @classmethod
    def class_of(cls, f, key):
        if f.extra == 0:
            return f.whole
        part = f.hash_of(cls.partition(f, key)) >> 8
        return next((e & 255 for e in f.slots if e and e >> 8 == part), 0)

    @classmethod
    def get(cls, f, key):
        """1, 0, or None: unknown."""
        h = f.hash_of(key)
        if (h, cls.second(f, key)) in f.exceptions:
            return f.exceptions[h, cls.second(f, key)]
        number = cls.class_of(f, key)
        if number == 0 or (f.k and Map.get(f.check_level, h) != word_of(h, f.k)):
            return None
        inverted, number = number >> 7, number & 127
        if number == CONSTANT:
            return inverted
        if number != EXACT_ONLY and Map.get(f.groups[number - 1], h) != word_of(h, f.groups[number - 1].k):
            return inverted
        return Map.get(f.exact, exact_of(h)) ^ inverted


read_nay.FAMILIES[13] = List


# ---- the writer ----


def columns_of(few, many):
    if (many - 1) >> 1 < few:
        return 0
    return max(k for k in range(1, 41) if k == 1 or (many + many // 256) >> k >= few)


def build(f, members):
    """The payload that the page says, with the blocks of each level that the file has."""
    by_hash = {}
    for key, listed in members:
        by_hash.setdefault(f.hash_of(key), []).append((key, listed))
    exceptions = sorted((h, List.second(f, key), listed) for h, keys in by_hash.items() if len(keys) > 1
                        for key, listed in keys)
    parts = {}
    for key, _ in members:
        parts.setdefault(f.hash_of(List.partition(f, key)) & ~255 if f.extra else 0, [])
    for h, keys in by_hash.items():
        if len(keys) == 1:
            key, listed = keys[0]
            parts[f.hash_of(List.partition(f, key)) & ~255 if f.extra else 0].append((h, listed))
    bound, chosen = 0.0, {}
    for part in sorted(parts):
        n, r = len(parts[part]), sum(listed for _, listed in parts[part])
        if 0 < r < n:
            bound += r * math.log2(n / r) + (n - r) * math.log2(n / (n - r))
        inverted = r > n - r
        few = min(r, n - r)
        chosen[part] = (columns_of(few, n - few) if few else None, inverted)
    ks = sorted({k for k, _ in chosen.values() if k})
    groups, exact = {k: {} for k in ks}, {}
    for part, keys in parts.items():
        k, inverted = chosen[part]
        if k:
            groups[k].update((h, word_of(h, k)) for h, listed in keys if listed != inverted)
    levels = [read_map.build(f.groups[i], groups[k]) for i, k in enumerate(ks)]
    solved = {}
    for level, payload, k in zip(f.groups, levels, ks):
        solved[k] = SimpleNamespace(**vars(level))
        solved[k].payload = payload
        Map.check_payload(solved[k], payload)
    for part, keys in parts.items():
        k, inverted = chosen[part]
        exact.update((exact_of(h), int(listed != inverted)) for h, listed in keys if k is not None and
                     (listed != inverted or not k or Map.get(solved[k], h) == word_of(h, k)))
    if exact:
        levels.append(read_map.build(f.exact, exact))
    if f.k:
        levels.append(read_map.build(f.check_level, {h: word_of(h, f.k) for keys in parts.values() for h, _ in keys}))

    def number(part):
        k, inverted = chosen[part]
        return (CONSTANT if k is None else EXACT_ONLY if k == 0 else 1 + ks.index(k)) | (INVERTED if inverted else 0)

    entries = [part | number(part) for part in sorted(parts)] if f.extra else []
    slots = List.place(entries, f.nslots) if f.extra else []
    whole = 0 if f.extra else number(0) if parts else CONSTANT
    nlisted = sum(listed for _, listed in members)
    end = 64 + 16 * len(ks) + 8 * len(slots) + 24 * len(exceptions)
    table, body = b"", b""
    for i, level in enumerate(levels):
        body += bytes(up(end, 64) - end)
        if i < len(ks):
            table += struct.pack("<QII", up(end, 64), f.groups[i].nunits, ks[i])
        body += level
        end = up(end, 64) + len(level)
    head = HEAD.pack(nlisted, f.bound if abs(f.bound - bound) <= 2 else 0, f.base, len(entries), len(slots),
                     len(exceptions), len(ks), f.exact.nunits if exact else 0, f.check_blocks, whole, bytes(15))
    tables = b"".join(struct.pack("<Q", e) for e in slots) + b"".join(struct.pack("<QQQ", *e) for e in exceptions)
    return head + table + tables + body


# ---- the golden files ----

# n, partitions, share, step, colliding keys: as make_list.c has them
GOLDEN = {
    "list-n0": (0, 0, 0, 0, False), "list-n1": (1, 0, 1000, 0, False), "list-half": (300, 0, 500, 0, False),
    "list-few": (2000, 0, 20, 0, False), "list-inverted": (700, 0, 900, 0, True),
    "list-two-layers": (20000, 0, 800, 0, False), "list-prefix": (3000, 12, 0, 9, False),
    "list-delimiter": (900, 9, 5, 124, True),
}


def key_of(nparts, name, i, part):
    return (f"p{part:02},{name}-{i}" if nparts else f"{name}-{i}").encode()


def members_of(name):
    n, nparts, share, step, collide = GOLDEN[name]
    for i in range(n):
        part = splitmix64(i) % nparts if nparts else 0
        yield key_of(nparts, "member", i, part), int(splitmix64(i + 7) % 1000 < share + step * part)
    first, last = u64(read_nay.SECRET, 24) ^ u64(read_nay.SECRET, 32), u64(read_nay.SECRET, 40) ^ u64(read_nay.SECRET, 48)
    for a in (0, 1) if collide else ():
        yield struct.pack("<QQ", a ^ first, ((1 << 56) + 2 * 12345 if a == 0 else 12345) ^ last), 1 - a


def main():
    count = failed = 0

    def report(ok, what):
        nonlocal count, failed
        count, failed = count + 1, failed + (not ok)
        print(f"{'ok' if ok else 'not ok'} {count} - {what}")

    answers = dict(line.split(": ") for line in (HERE / "answers.txt").read_text().splitlines())
    seen = set()
    for name, expected in answers.items():
        data = (HERE / f"{name}.nay").read_bytes()
        f, members = NayFile(data), list(members_of(name))
        seen |= {f"{len(level.layers)} layers" for level in (*f.groups, f.exact) if level}
        seen |= {f"exceptions {f.nexceptions > 0}", f"groups {min(f.ngroups, 2)}", f"rule {f.extra > 0}"}
        report(all(List.get(f, key) == listed for key, listed in members), f"{name}: all {len(members)} members")
        nparts = GOLDEN[name][1]
        got = [List.get(f, key_of(nparts, "other", i, i % (nparts + 1))) for i in range(200)]
        report("".join("-" if value is None else str(value) for value in got) == expected,
               f"{name}: other keys get what the library says")
        report(build(f, members) == f.payload, f"{name}: a build from the page gives the same bytes")
        secret = f.secret if f.hash == SIPHASH else None
        report(read_nay.write(13, f.hash, f.seed, f.nkeys, (f.nunits, f.k, f.extra), f.payload, secret) == data,
               f"{name}: and so is the file around it")
    report(len(seen) == 9, f"the files show {seen}")
    f = NayFile((HERE / "list-delimiter.nay").read_bytes())
    for what, at, value in (("a reserved byte", 50, 1), ("the class of all", 48, 127), ("groups", 36, 41),
                            ("a group's offset", 64, 1), ("the last slot", 64 + 16 * f.ngroups + 8 * f.nslots - 8, 1),
                            ("the number 255", -1, 255), ("no exact level", 40, 0), ("a level cut off", 44, 0)):
        payload = bytearray(f.payload)
        payload[at] = value
        try:
            NayFile(read_nay.write(13, f.hash, f.seed, f.nkeys, (f.nunits, f.k, f.extra), bytes(payload), f.secret))
            report(False, f"{what} is refused")
        except Refused as why:
            report(why.status == "ECORRUPT", f"{what} is refused")
    print(f"1..{count}")
    return failed != 0


if __name__ == "__main__":
    if len(sys.argv) > 1:
        file = NayFile(pathlib.Path(sys.argv[1]).read_bytes())
        for text in sys.argv[2:]:
            answer = List.get(file, text.encode())
            print(text, "-" if answer is None else answer)
        sys.exit(0)
    sys.exit(main())
