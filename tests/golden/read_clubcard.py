#!/usr/bin/env python3
"""A second reader of clubcards, written from doc/formats/clubcard.md alone. Prints TAP.

    read_clubcard.py                 the files of tests/golden/clubcard: answers, refusals, a directory; the page's example
    read_clubcard.py FILE ISSUER     the answers for serials, hex on standard input, of an issuer: a line each, 0 or 1

Of issuers with many certificates it asks for some of them; the C reader asks for all.
"""
import hashlib
import itertools
import pathlib
import re
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
FILES = HERE / "clubcard"
PAGE = HERE.parent.parent / "doc/formats/clubcard.md"
MASK = (1 << 64) - 1
ANSWERS = ("not-covered", "not-enrolled", "not-revoked", "revoked")
NOT_COVERED, NOT_ENROLLED, NOT_REVOKED, REVOKED = range(4)


class Refused(Exception):
    pass


class Bytes:
    """A place in bytes; numbers of a width in version 4, of 8 bytes in version 3."""

    def __init__(self, data, version):
        self.data, self.at, self.version = data, 0, version

    def take(self, n):
        if n > len(self.data) - self.at:
            raise Refused("too short")
        self.at += n
        return self.data[self.at - n:self.at]

    def number(self, width):
        if self.version == 4:
            return int.from_bytes(self.take(width), "big")
        x = int.from_bytes(self.take(8), "little")
        if x > 0xffffffff and width < 8:
            raise Refused("number")
        return x

    def column(self):
        words = self.take(8 * self.number(4))
        order = "<" if self.version == 3 else ">"
        little = b"".join(struct.pack("<Q", w) for (w,) in struct.iter_unpack(order + "Q", words))
        return little


def window(column, bit):
    """256 bits from `bit` on, of a column kept as bytes, little-endian."""
    at = bit // 8
    return int.from_bytes(column[at:at + 33], "little") >> bit % 8 & (1 << 256) - 1


class Card:
    def __init__(self, data):
        if data[:2] not in (b"\3\0", b"\4\0"):
            raise Refused("version")
        b = Bytes(data, data[0])
        b.at = 2
        self.logs, self.issuers = {}, {}
        for _ in range(b.number(2)):
            log, low, high = b.take(32), b.number(8), b.number(8)
            if log in self.logs or low > high:
                raise Refused("log")
            self.logs[log] = (low, high)
        before = b""
        for _ in range(b.number(4)):
            if b.version == 3 and b.number(8) != 32:
                raise Refused("id")
            issuer = b.take(32)
            if issuer <= before:
                raise Refused("order")
            before = issuer
            self.issuers[issuer] = self.block(b)
        self.columns = [b.column() for _ in range(b.number(1))]
        self.columns.append(b.column())
        if b.at != len(data) or len(self.columns) > 256:
            raise Refused("end")
        if any(block["rank"] >= len(self.columns) for block in self.issuers.values()):
            raise Refused("rank")

    @staticmethod
    def block(b):
        names = (("approx_m", 4), ("rank", 1), ("approx_offset", 4), ("exact_m", 4), ("exact_offset", 4))
        if b.version == 3:
            names = (names[0], names[3], names[1], names[2], names[4])
        block = {name: b.number(width) for name, width in names}
        block["inverted"] = b.take(1)[0]
        block["exceptions"] = [b.take(b.number(1)) for _ in range(b.number(2))]
        if block["inverted"] > 1 or not all(1 <= len(e) <= 255 for e in block["exceptions"]):
            raise Refused("block")
        return block

    def listed(self, issuer, serial):
        block = self.issuers[issuer]
        a = list(struct.unpack("<4Q", hashlib.sha256(issuer + serial).digest()))
        t, a[0] = a[3], a[0] | 1
        coefficients = sum(word << 64 * k for k, word in enumerate(a))

        def fails(column, bit):
            return bin(coefficients & window(column, bit)).count("1") & 1

        if block["approx_m"] == 0:
            return block["inverted"] == 1
        p = block["approx_offset"] + t % block["approx_m"]
        q = block["exact_offset"] + t % max(1, block["exact_m"])
        inside = not (any(fails(c, p) for c in self.columns[:block["rank"]]) or fails(self.columns[-1], q)
                      or serial in block["exceptions"])
        return inside != (block["inverted"] == 1)

    def answer(self, issuer, serial, scts):
        if not any(log in self.logs and self.logs[log][0] <= t <= self.logs[log][1] for log, t in scts):
            return NOT_COVERED
        if issuer not in self.issuers:
            return NOT_ENROLLED
        return REVOKED if self.listed(issuer, serial) else NOT_REVOKED


def directory(data):
    """{log: [(name of file, low, high)]}"""
    assert data[:8] == b"upkiidx1"
    nfiles, nlogs = struct.unpack(">HI", data[8:14])
    names = [data[14 + 32 * i:46 + 32 * i].rstrip(b"\0").decode() for i in range(nfiles)]
    logs = {}
    for i in range(nlogs):
        log, place, n = struct.unpack_from(">32sQH", data, 14 + 32 * nfiles + 42 * i)
        entries = [struct.unpack_from(">HQQ", data, place + 18 * j) for j in range(n)]
        logs[log] = [(names[file], low, high) for file, low, high in entries]
    return logs


# ---- the golden files ----

def mix(x):
    z = x + 0x9E3779B97F4A7C15 & MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


def serial_of(kind, seed, issuer, j):
    u = seed << 48 | issuer << 32 | j
    words = b"".join(mix(x).to_bytes(8, "big") for x in (u, ~u & MASK, u ^ 0x5555555555555555))
    if kind == "be4":
        return j.to_bytes(4, "big")
    if kind == "mix16":
        return words[:16]
    if kind == "var":
        return (j.to_bytes(4, "big") + words[8:])[:5 + mix(u) % 16]
    return j.to_bytes(j.bit_length() // 8 + 1, "big")


def cases():
    for line in (FILES / "cases.txt").read_text().splitlines():
        words = line.split()
        if words[0] == "case":
            case = {"name": words[1], "seed": int(words[2]), "serials": words[3], "v3": words[4] == "1", "issuers": []}
            yield case
        elif words[0] == "issuer":
            case["issuers"].append((bytes.fromhex(words[1]), int(words[2]), int(words[4])))


def bits_of(case, what):
    path = FILES / f"{case['name']}.{what}"
    data = path.read_bytes() if path.exists() else b""
    return lambda i: data[i >> 3] >> (i & 7) & 1


def wrong_answers(case, version):
    card = Card((FILES / f"{case['name']}.{version}").read_bytes())
    asked, wrong = 0, []
    for what in "inside", "outside":
        bit, at = bits_of(case, what), 0
        for i, (issuer, n, outside) in enumerate(case["issuers"]):
            first, last = (0, n) if what == "inside" else (n, n + outside)
            for j in range(first, last, 1 + (last - first) // 2000):
                got = card.listed(issuer, serial_of(case["serials"], case["seed"], i, j))
                asked += 1
                if got != bit(at + j - first):
                    wrong.append(f"{case['name']}.{version} {what} {i} {j}")
            at += last - first
    return asked, wrong


def check_answers():
    listed = list(cases())
    results = [wrong_answers(case, version) for case in listed for version in ("v4", "v3") if version == "v4" or case["v3"]]
    asked, wrong = sum(r[0] for r in results), [w for r in results for w in r[1]]
    return f"{asked} answers in {len(results)} files are those of the real code", wrong or asked < 50000


def is_accepted(name, c2sp, real):
    if c2sp == "not-specified":
        return real == "accept" and name not in ("v3_trailing_byte", "v3_id_31_bytes")
    return c2sp == "accept"


def check_malformed():
    wrong, n = [], 0
    for line in (FILES / "malformed.txt").read_text().splitlines():
        name, c2sp, real, data, _ = line.split()
        n += 1
        try:
            Card(b"" if data == "-" else bytes.fromhex(data))
            accepted = True
        except Refused:
            accepted = False
        if accepted != is_accepted(name, c2sp, real):
            wrong.append(name)
    return f"{n} edited files are taken or refused", wrong


def check_directory():
    logs, wrong, n = directory((FILES / "cache/index.bin").read_bytes()), [], 0
    for line in (FILES / "cache.txt").read_text().splitlines():
        issuer, serial, want, _, scts = line.split()
        pairs = [] if scts == "-" else [sct.split(":") for sct in scts.split(",")]
        pairs = [(bytes.fromhex(log), int(t)) for log, t in pairs]
        names = {name for log, t in pairs for name, low, high in logs.get(log, []) if low <= t <= high}
        answers = [Card((FILES / "cache" / name).read_bytes()).answer(bytes.fromhex(issuer), bytes.fromhex(serial), pairs)
                   for name in sorted(names)]
        n += 1
        if ANSWERS[max(answers, default=NOT_COVERED)] != want:
            wrong.append(line)
    return f"{n} checks of a directory are those of C2SP", wrong or n != 400


def check_example():
    block = re.search(r"```text\n(04 00 .*?)```", PAGE.read_text(), re.S)[1]
    card = Card(bytes.fromhex("".join(line.split("#")[0] for line in block.splitlines())))
    answers = [card.answer(b"\1" * 32, serial, [(b"\2" * 32, t)]) for serial, t in ((b"\1", 5), (b"\2", 6), (b"\2", 7))]
    return "the example of the page is answered", answers != [NOT_REVOKED, REVOKED, NOT_COVERED]


def main():
    if len(sys.argv) == 3:
        card, issuer = Card(pathlib.Path(sys.argv[1]).read_bytes()), bytes.fromhex(sys.argv[2])
        print("\n".join(str(int(card.listed(issuer, bytes.fromhex(line)))) for line in sys.stdin.read().split()))
        return 0
    failed = False
    checks = (check_answers, check_malformed, check_directory, check_example)
    for number, check in zip(itertools.count(1), checks):
        text, wrong = check()
        print(f"{'not ' if wrong else ''}ok {number} - {text}")
        if wrong:
            print(f"# {wrong}")
        failed = failed or bool(wrong)
    print(f"1..{len(checks)}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
