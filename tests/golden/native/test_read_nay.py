#!/usr/bin/env python3
"""TAP: the second reader (read_nay.py) agrees with the library on every golden file.

    test_read_nay.py [MAKE_NATIVE]

answers.txt and hashes.txt were written by the library; make_native.c says what is in them. With the
program itself the two are also compared on files that no writer would make: golden files with some
bits changed and all digests put right, and payloads of random slots.
"""
import math
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import build_nay
import read_nay
import trace_nay
from read_nay import CALLER, MASK32, SIPHASH, NayFile, Refused

HERE = pathlib.Path(__file__).resolve().parent
SPEC = HERE.parents[2] / "doc" / "formats" / "nay.md"
# what the golden files of a family must make use of, so that the answers mean something
NEEDED = """
counting: empty, unary, pooled, stuck, 15 or more, two pages, spare
scalable: levels, one half, two halves, blocks of 256, blocks of 512, finished, joined
window: rotated, clock, rest of words
cuckoo: doubled, spare bits, wide
Xor: empty, k = 3; r = 4, k = 3; r = 7, k = 3; r = 8, k = 3; r = 16, k = 3; r = 29, k = 3; r = 32
Fuse: empty, another factor, k = 3; r = 4, k = 3; r = 8, k = 3; r = 16, k = 3; r = 32, k = 4; r = 5, k = 4; r = 8
ribbon: bloom, another seed, another last seed, premixed, short blocks, no short blocks, no column, two parts
ribbon: 1 layers, 2 layers, 3 layers, code 0, code 1, code 2
"""
# golden files that are more than a build of their members: see the deeds in make_native.c
OTHER_DEEDS = re.compile("repeated|joined|finished|ticks|forgets|copies|shrunk|one-column")
REMOVED = {"counting-removed.nay", "counting-pooled.nay", "cuckoo-removed.nay", "cuckoo-grown.nay",
           "cuckoo-smallest.nay"}
IN_ORDER = {"window-keys.nay", "window-n1000.nay", "window-ten.nay"}
count = failed = 0
seen = set()


def report(ok, what, *notes):
    global count, failed
    count += 1
    failed += not ok
    print(f"{'ok' if ok else 'not ok'} {count} - {what}")
    for note in notes if not ok else ():
        print(f"# {note}")


def status_of(data, secret=None):
    try:
        NayFile(data, secret)
        return "OK"
    except Refused as why:
        return why.status


def key(stem, i):
    if stem == "member" and i == 0:
        return b""
    return f"{stem}-{i}".encode() + b"x" * (37 * i % 1500 if i % 4 == 3 else 0)


def caller_hash(f, stem, i):
    return read_nay.splitmix64(i + (1000000 if stem == "absent" else 0)) >> f.seed


def answer(f, stem, i):
    if f.hash == CALLER:
        return f.may_contain_hash(caller_hash(f, stem, i))
    return f.may_contain(key(stem, i))


def check_hashes():
    data = bytes(i * 7 % 251 for i in range(5000))
    wrong = {}
    for line in (HERE / "hashes.txt").read_text().splitlines()[1:]:
        function, seed, length, value = line.split()
        b = data[: int(length)]
        if function == "xxh3":
            got = read_nay.xxh3(b, int(seed, 16))
        else:
            got = read_nay.siphash(bytes.fromhex(seed), b, 1, 3)
        wrong.setdefault(f"{function} {seed}", []).extend([length] if got != int(value, 16) else [])
    for name, lengths in wrong.items():
        report(not lengths, f"hash {name}: every length agrees", f"lengths {' '.join(lengths)}")


def check_answers():
    listed = set()
    for line in (HERE / "answers.txt").read_text().splitlines()[1:]:
        left, right = line.split(":")
        name, secret, first, members, absent = left.split()
        listed.add(name)
        secret = None if secret == "-" else bytes.fromhex(secret)
        check_file(name, secret, range(int(first), int(first) + int(members)), int(absent), right.split())
    check_seen()
    check_families()
    there = {path.name for path in HERE.glob("*.nay")}
    report(listed == there, "every golden file has its answers", sorted(listed ^ there))


def check_families():
    """The reader has every family of the registry, and each can be written from the page alone."""
    registry = (HERE / "../../../src/family/families.h").read_text()
    names = re.findall(r"^  X\((\w+)\)", registry, re.M)
    here = [family.__name__.lower() for _, family in sorted(read_nay.FAMILIES.items())]
    names.append("sbbf")  # registry.c: no plan recommends it
    report(sorted(here) == sorted(names), "the families of the registry are read", here, names)
    unwritten = [family.__name__ for number, family in read_nay.FAMILIES.items()
                 if number not in build_nay.BUILD and not hasattr(family, "add")]
    report(not unwritten, "every family can be written", unwritten)


def check_seen():
    for line in NEEDED.strip().splitlines():
        family, features = line.split(": ")
        missing = {f"{family}: {feature.replace(';', ',')}" for feature in features.split(", ")} - seen
        report(not missing, f"{family}: the golden files have {features}", sorted(missing))


def check_file(name, secret, members, absent, maybes):
    data = (HERE / name).read_bytes()
    try:
        f = NayFile(data, secret)
    except Refused as why:
        report(False, f"{name}: read", why)
        return
    seen.update(f.seen)
    lost = [i for i in members if not answer(f, "member", i)]
    report(not lost, f"{name}: {len(members)} members are maybes", lost)
    got = [str(i) for i in range(1, absent + 1) if answer(f, "absent", i)]
    report(got == maybes, f"{name}: {absent} absent keys answered alike", got, maybes)
    if hasattr(f.family, "add") and not f.derived:
        check_write(name, f, members)
    if f.kind in build_nay.BUILD and members and not OTHER_DEEDS.search(name):
        check_build(name, f, members)
    if f.hash == SIPHASH:
        wrong = bytes(16)
        report(status_of(data, wrong) == "EKEY", f"{name}: a wrong secret is refused")
        locked = NayFile(data)
        if locked.secret is None:
            report(all(answer(locked, "absent", i) for i in range(1, 51)), f"{name}: locked, all is maybe")


def check_write(name, f, members):
    """Files of these families can be written from the page alone, too."""
    payload = bytearray(f.family.length(f))
    for i in members:
        f.family.add(f, payload, caller_hash(f, "member", i) if f.hash == CALLER else f.hash_of(key("member", i)))
    stored = f.secret if len(NayFile(f.data).secret or b"") else None
    again = read_nay.write(f.kind, f.hash, f.seed, f.nkeys, (f.nunits, f.k, f.extra), bytes(payload), stored, f.meta,
                           description=f.description)
    report(again == f.data, f"{name}: written again from the keys, the same bytes")


def check_build(name, f, members):
    """The adds, removes and builds of the page give the bytes of the library."""
    hashes = [caller_hash(f, "member", i) if f.hash == CALLER else f.hash_of(key("member", i))
              for i in range(members.stop)]
    if name in IN_ORDER:
        payload = build_nay.window_adds(f, hashes)
    elif name in REMOVED:
        payload = build_nay.BUILD[f.kind](f, hashes, hashes[: members.start])
    else:
        payload = build_nay.BUILD[f.kind](f, hashes)
    report(payload == f.payload, f"{name}: built again by the pseudo-code of the page, the same bytes")


def check_damage(name):
    data = bytearray((HERE / name).read_bytes())
    accepted = []
    for bit in range(8 * len(data)):
        data[bit >> 3] ^= 1 << (bit & 7)
        if status_of(bytes(data)) == "OK":
            accepted.append(bit)
        data[bit >> 3] ^= 1 << (bit & 7)
    report(not accepted, f"{name}: each of {8 * len(data)} flipped bits is refused", accepted)
    short = [n for n in range(len(data)) if status_of(bytes(data[:n])) == "OK"]
    report(not short, f"{name}: each of {len(data)} truncations is refused", short)
    report(status_of(bytes(data) + b"\0") == "ECORRUPT", f"{name}: one byte more is refused")


def blocks(word):
    """The fenced blocks of the page that open with this word: (what follows it, lines)."""
    for head, body in re.findall(rf"^```{word} (.*)\n((?:.*\n)*?)```$", SPEC.read_text(), re.M):
        yield head, body.splitlines()


def shown_bytes(line):
    return int(line[:4], 16), bytes.fromhex(line[6:53])


def check_dumps():
    """Every dump in the specification is of a golden file, complete and exact; so are the parts."""
    for name, lines in blocks("dump"):
        shown = b""
        for at, values in map(shown_bytes, lines):
            shown += bytes(at - len(shown)) + values  # lines of zeros are left out
        report(shown == (HERE / name).read_bytes(), f"doc/formats/nay.md: the dump of {name} is exact")
    for name, lines in blocks("part"):
        data = (HERE / name).read_bytes()
        wrong = [at for at, values in map(shown_bytes, lines) if data[at : at + len(values)] != values]
        report(not wrong, f"doc/formats/nay.md: the {len(lines)} lines of {name} are exact", wrong)


def check_traces():
    """Every worked example; each family has one that ends in maybe and one that ends in nay."""
    missing = {(kind, answer) for kind in read_nay.FAMILIES for answer in ("maybe", "nay")}
    for head, lines in blocks("trace"):
        name, _, key_text = head.partition(" ")
        f = NayFile((HERE / name).read_bytes())
        expected = trace_nay.trace(f, key_text.encode())
        report(lines == expected, f"doc/formats/nay.md: the trace of {key_text} in {name} is exact", *expected)
        missing.discard((f.kind, lines[-1]))
    report(not missing, "doc/formats/nay.md: every family has a worked example of both answers", missing)


# ---- the sizes of levels, by the formulas of the page ----


def block_fpr(t, k):
    q1, q2 = (1 - 1 / 256) ** (t * k), (1 - 2 / 256) ** (t * k)
    p = 1 - q1
    if p <= 0:
        return 0
    v = min(max(0, (1 - 1 / 256) * q2 + q1 / 256 - q1 * q1), p * p / 512)
    return min(1, p**k * (1 + k * (k - 1) / 2 * v / p**2))


def half_rate(nblocks, k, n):
    coincide = n / nblocks / 2**32
    if nblocks == 1:
        return block_fpr(n, k) + coincide
    total, weight, mean = 0, 0, n / nblocks
    for t in range(min(n, int(mean + 40 * mean**0.5 + 60)) + 1):
        w = math.exp(math.lgamma(n + 1) - math.lgamma(t + 1) - math.lgamma(n - t + 1) - t * math.log(nblocks)
                     + (n - t) * math.log1p(-1 / nblocks))
        total, weight = total + w * block_fpr(t, k), weight + w
    return total / weight + coincide


def level_rate(nblocks, k, n):
    while 128 <= nblocks < 1 << 40:
        nblocks, n = 2 * nblocks, 2 * n
    one = half_rate(nblocks, k, n)
    return one * (2 - one)


def best_k(nblocks, n):
    rates = {k: level_rate(nblocks, k, n) for k in range(1, 65)}
    k = min(rates, key=rates.get)
    least = rates[k]
    while k > 1 and rates[k - 1] <= 1.01 * least:
        k -= 1
    return k


def level(keys, fpr, i):
    n = keys + math.isqrt(keys) + 1
    nblocks = 1
    while True:
        k = best_k(nblocks, n)
        if level_rate(nblocks, k, n) <= fpr * 0.18 * 0.82**i:
            break
        nblocks += 1
    clear = (1 - (1 - (1 - 1 / 256) ** k) / nblocks) ** n
    return nblocks, k, keys, max(1, int(256 * nblocks * (1 - clear)))


def check_levels():
    payload = NayFile((HERE / "scalable-grown.nay").read_bytes())
    fpr = struct.unpack("<f", struct.pack("<I", payload.extra))[0]
    for i in range(len(payload.levels)):
        _, nblocks, k, _, keys, full = struct.unpack_from("<QQIIQQ", payload.payload, 64 + 64 * i)
        expected = level(20 * 3**i, fpr, i)
        report((nblocks, k, keys, full) == expected, f"scalable-grown.nay: level {i} has the size of the page's formula",
               (nblocks, k, keys, full), expected)


def rewrite(f, shape, payload):
    return read_nay.write(f.kind, CALLER, 0, f.nkeys, shape, bytes(payload))


def changed(rng, f):
    """One bit of the payload, most often near its start or end, or one field of the header."""
    shape, payload, edge = [f.nunits, f.k, f.extra], bytearray(f.payload), rng.randrange(4)
    if edge == 0:
        i = rng.randrange(3)
        shape[i] = rng.choice([0, 1, shape[i] + 1, shape[i] - 1, shape[i] ^ 1 << rng.randrange(32)]) & MASK32
    else:
        n = min(len(payload), [0, 200, 64, len(payload)][edge])
        at = rng.randrange(n) if edge != 2 else len(payload) - 1 - rng.randrange(n)
        payload[at] ^= 1 << rng.randrange(8)
    return rewrite(f, shape, payload)


def random_fuse(rng, kind, k, r, nshards):
    segment, span = (rng.choice([1, 8, 64]), 192) if kind == 8 else (0, 100)
    slots = span + (k - 1) * segment + 5 if kind == 8 else 305
    align = 8 if nshards == 1 else 64
    stride = read_nay.up(-(-slots * r // 8) + (0 if r in (8, 16, 32) else 8), align)
    payload = struct.pack("<QIIII", rng.getrandbits(64) * rng.randrange(2), slots, segment, span, 0)
    for _ in range(nshards):
        payload += struct.pack("<Q", rng.choice([0, 2]) if rng.random() < 0.2 else rng.getrandbits(64) | 1)
    payload = payload.ljust(read_nay.up(len(payload), align), b"\0")
    payload += b"".join(rng.randbytes(-(-slots * r // 8)).ljust(stride, b"\0") for _ in range(nshards))
    return read_nay.write(kind, CALLER, 0, 9, (nshards * slots, k, nshards << 8 | r), payload)


def random_ribbon(rng, k, nblocks):
    columns = nblocks * k - rng.randrange(nblocks)
    last = read_nay.Ribbon.layers(nblocks)[-1][0] // 4
    codes = rng.getrandbits(2 * last) if rng.random() < 0.8 else rng.getrandbits(2 * last + 1)
    tail = codes.to_bytes(read_nay.Ribbon.ncodes(nblocks), "little") if last else b""
    tail += struct.pack("<IBB", rng.getrandbits(32) * rng.randrange(2), rng.choice([0, 1, 255]), rng.choice([0, 7, 255]))
    return read_nay.write(9, CALLER, 0, 9, (columns, k, nblocks), rng.randbytes(16 * columns) + tail)


def answers_to(data):
    """The line that make_native prints."""
    try:
        f = NayFile(data)
    except Refused as why:
        return f"NAY_{why.status}"
    hashes = ((i, read_nay.splitmix64(1000000 + i)) for i in range(1, 1001))
    return " ".join(["NAY_OK"] + [str(i) for i, h in hashes if f.may_contain_hash(h)])


def made_up(rng):
    for path in sorted(HERE.glob("*.nay")):
        if path.stat().st_size < 2000 and not path.name.startswith(("bloom", "blocked")):
            f = NayFile(path.read_bytes())
            for i in range(12):
                yield f"{path.stem}-{i}", changed(rng, f)
    yield "order-good", Draft().bytes()
    yield from two_faults()
    yield from described_files(rng)
    for nshards in (1, 2, 3, 17):
        for r in (4, 8, 13, 16, 32):
            yield f"xor-{nshards}-{r}", random_fuse(rng, 7, 3, r, nshards)
            yield f"fuse-{nshards}-{r}", random_fuse(rng, 8, rng.choice([3, 4]), r, nshards)


    for nblocks in (1, 2, 62, 63, 64, 80, 200, 1600, 3000):
        for k in (1, 2, 5, 32):
            yield f"ribbon-{nblocks}-{k}", random_ribbon(rng, k if nblocks < 1000 else 1, nblocks)


class Draft:
    """A file before its digests: what a fault changes. Faults of bytes follow after sealing."""

    def __init__(self):
        self.fields = dict(version=1, kind=2, hash=CALLER, required=0, zero=0, nkeys=3, nunits=1, k=4, extra=0)
        self.sections = [[3, 0, 5, b"notes"], [77, 0, 3, b"new"], [1, 1, 64, bytes(64)],
                         [78, 0, 1, b"x"]]
        self.padding = b"\0"
        self.after = []

    def bytes(self):
        f, body = self.fields, b""
        for _, _, _, content in self.sections:
            if body:
                body += self.padding * (read_nay.up(len(body), 64) - len(body))
            body += content
        header = read_nay.HEADER.pack(read_nay.MAGIC, f["version"], f["kind"], f["hash"], f["required"], 0,
                                      len(self.sections), f["zero"], 0, f["nkeys"], f["nunits"], f["k"], f["extra"],
                                      len(body), 0)[:56]
        header += struct.pack("<Q", read_nay.xxh3(header))
        directory = b"".join(struct.pack("<IIQ", *section[:3]) for section in self.sections)
        directory += struct.pack("<Q", read_nay.xxh3(body))
        directory += struct.pack("<Q", read_nay.xxh3(header[56:] + directory))
        data = bytearray(header + directory + bytes(read_nay.up(len(directory), 64) - len(directory)) + body)
        for at, value in self.after:
            data[at] ^= value
        return bytes(data)


def field_fault(name, value):
    return lambda draft: draft.fields.update({name: value})


def section_fault(section, column, value):
    def fault(draft):
        draft.sections[section][column] = value
    return fault


def byte_fault(at):
    return lambda draft: draft.after.append((at, 1))


# in the order of the list of the page that says how to read
FAULTS = [
    ("magic", byte_fault(0)), ("version", field_fault("version", 2)), ("header digest", byte_fault(56)),
    ("required", field_fault("required", 1)), ("zero", field_fault("zero", 1)),
    ("nkeys", field_fault("nkeys", 1 << 57)), ("kind", field_fault("kind", 200)), ("hash", field_fault("hash", 9)),
    ("k", field_fault("k", 65)), ("nunits", field_fault("nunits", 1 << 52)), ("fuse with too few slots",
     lambda d: d.fields.update(kind=8, nunits=2, k=3, extra=1 << 8 | 8)),
    ("directory digest", byte_fault(64 + 16 * 4 + 8)), ("directory padding", byte_fault(64 + 16 * 4 + 16)),
    ("chunk digest", byte_fault(192 + 128)), ("flag 0", section_fault(0, 1, 2)),
    ("length 0", section_fault(0, 2, 1 << 40)), ("no notes", section_fault(0, 2, 0)),
    ("flag 1", section_fault(1, 1, 2)), ("padding", lambda d: setattr(d, "padding", b"\1")),
    ("required type", section_fault(1, 1, 1)), ("second notes", section_fault(1, 0, 3)),
    ("flag 2", section_fault(2, 1, 3)), ("payload length", section_fault(2, 2, 63)),
    ("no payload", section_fault(2, 0, 99)), ("key without secret", section_fault(1, 0, 2)),
    ("no description", section_fault(0, 0, 4)), ("second description", lambda d: [
        d.sections.__setitem__(i, [4, 0, 3, b"int"]) for i in (0, 1)]),
    ("description of text", lambda d: d.sections.__setitem__(3, [4, 0, 4, b"text"])),
]

# key descriptions, and what is not quite one
DESCRIPTIONS = """
int float bool date timestamp uuid numeric text bytes hex b64 u64le ipv4 i n-1 1n -n N int,trim text,trim hex,trim
bytes,trim int,trim,ignore-case int,shift:3 int,shift:3:4 int,shift: int,shift:: int,a:b,c:d:e int, ,int int,,trim
int:3 int,Trim int,tr_im int,3 int,a:%2C int,a:%2c int,a:%41 int,a:%00 int,a:%FF int,a:%ff int,a:% int,a:%2 int,a:%25
int,a:%3A int,a:%20 int,a:%7F int,a:%7E int,a:%21 int,a:~!/ int,a:" int,a;b int,a:b;c int,a:b=c int=3 int\\n int\\0
""".split()


def described_files(rng):
    """Files whose key description is one, nearly one, or random."""
    alphabet = b"abz019-,:%2CFf ~\x00\x7f\xff"
    texts = [text.replace("\\n", "\n").replace("\\0", "\0").encode() for text in DESCRIPTIONS]
    texts += [b"a" * n for n in (1, 62, 63, 64, 65, 200)] + [b"int,a:" + b"x" * n for n in (56, 57, 58)]
    texts += [b"int trim", b" int", b"int ", b"\xff"]
    texts += [bytes(rng.choices(alphabet, k=rng.randrange(1, 12))) for _ in range(150)]
    for i, text in enumerate(texts):
        for flags in (0, 1):
            draft = Draft()
            draft.sections[1] = [4, flags, len(text), text]
            yield f"description-{i}-{flags}", draft.bytes()


def two_faults():
    """Files with two faults: the status tells which of them a reader meets first."""
    for i, (name, fault) in enumerate(FAULTS):
        for other, second in FAULTS[i:]:
            draft = Draft()
            fault(draft)
            if other != name:
                second(draft)
            yield f"order-{name}-{other}".replace(" ", "_"), draft.bytes()


def check_made_up(program):
    files, outcomes = dict(made_up(random.Random(1))), {}
    with tempfile.TemporaryDirectory() as directory:
        paths = [pathlib.Path(directory, name) for name in files]
        for path in paths:
            path.write_bytes(files[path.name])
        run = subprocess.run([program, "answers", *paths], capture_output=True, text=True, check=True)
    for name, theirs in zip(files, run.stdout.splitlines(), strict=True):
        ours = answers_to(files[name])
        outcomes.setdefault((name.split("-")[0], ours.split()[0]), []).append((name, ours == theirs, ours, theirs))
    for (family, status), cases in sorted(outcomes.items()):
        wrong = [f"{name}: {ours:.60} | {theirs:.60}" for name, same, ours, theirs in cases if not same]
        report(not wrong, f"{family}: {len(cases)} made-up files, {status} to both readers", *wrong)


check_hashes()
check_answers()
check_damage("bloom-n2.nay")
check_damage("blocked-key-stored.nay")
check_dumps()
check_traces()
check_levels()
if len(sys.argv) > 1:
    check_made_up(sys.argv[1])
print(f"1..{count}")
sys.exit(1 if failed else 0)
