#!/usr/bin/env python3
"""A second reader of the native file, from doc/formats/nay.md alone, in plain Python.

    read_nay.py FILE [--secret HEX] [KEY ...]     describes a file; answers maybe or nay for each key

It shares no line with the library, and is slow on purpose: it follows the text of the page. Each
check is one of the reader's list there, in its order. Adding a family is a class at the end.
"""
import re
import struct
import sys

MASK32 = (1 << 32) - 1
MASK64 = (1 << 64) - 1


class Refused(Exception):
    """Why a file is not read: a status of the library, what, and at which offset."""

    def __init__(self, status, what, offset):
        super().__init__(f"{status}: {what} (offset {offset})")
        self.status, self.offset = status, offset


# ---- XXH3, 64 bits ----

SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
P32 = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
P64 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)


def u32(b, at):
    return int.from_bytes(b[at : at + 4], "little")


def u64(b, at):
    return int.from_bytes(b[at : at + 8], "little")


def swap(x, nbytes):
    return int.from_bytes(x.to_bytes(nbytes, "little"), "big")


def rotl(x, r):
    return (x << r | x >> (64 - r)) & MASK64


def fold(a, b):
    product = a * b
    return (product ^ product >> 64) & MASK64


def avalanche(h):
    h = (h ^ h >> 37) * 0x165667919E3779F9 & MASK64
    return h ^ h >> 32


def avalanche_xxh64(h):
    h = (h ^ h >> 33) * P64[1] & MASK64
    h = (h ^ h >> 29) * P64[2] & MASK64
    return h ^ h >> 32


def xxh3_short(b, seed):
    n, s = len(b), SECRET
    if n == 0:
        return avalanche_xxh64(seed ^ u64(s, 56) ^ u64(s, 64))
    if n <= 3:
        mixed = b[0] << 16 | b[n >> 1] << 24 | b[n - 1] | n << 8
        return avalanche_xxh64(mixed ^ ((u32(s, 0) ^ u32(s, 4)) + seed & MASK64))
    if n <= 8:
        seed ^= swap(seed & MASK32, 4) << 32
        h = (u32(b, n - 4) + (u32(b, 0) << 32)) ^ ((u64(s, 8) ^ u64(s, 16)) - seed & MASK64)
        h ^= rotl(h, 49) ^ rotl(h, 24)
        h = h * 0x9FB21C651E98DF25 & MASK64
        h = (h ^ (h >> 35) + n) * 0x9FB21C651E98DF25 & MASK64
        return h ^ h >> 28
    low = u64(b, 0) ^ ((u64(s, 24) ^ u64(s, 32)) + seed & MASK64)
    high = u64(b, n - 8) ^ ((u64(s, 40) ^ u64(s, 48)) - seed & MASK64)
    return avalanche(n + swap(low, 8) + high + fold(low, high) & MASK64)


def xxh3_middle(b, seed):
    n = len(b)

    def mix(at, secret_at):
        low = u64(b, at) ^ (u64(SECRET, secret_at) + seed & MASK64)
        high = u64(b, at + 8) ^ (u64(SECRET, secret_at + 8) - seed & MASK64)
        return fold(low, high)

    acc = n * P64[0]
    if n <= 128:
        for i in range((n - 1) // 32, -1, -1):
            acc += mix(16 * i, 32 * i) + mix(n - 16 * (i + 1), 32 * i + 16)
        return avalanche(acc & MASK64)
    acc = avalanche(acc + sum(mix(16 * i, 16 * i) for i in range(8)) & MASK64)
    acc += sum(mix(16 * i, 16 * (i - 8) + 3) for i in range(8, n // 16))
    return avalanche(acc + mix(n - 16, 119) & MASK64)


def xxh3_long(b, seed):
    n = len(b)
    secret = b"".join(
        struct.pack("<QQ", u64(SECRET, i) + seed & MASK64, u64(SECRET, i + 8) - seed & MASK64)
        for i in range(0, 192, 16)
    )
    keys = [struct.unpack_from("<8Q", secret, 8 * i) for i in range(17)]
    acc = [P32[2], P64[0], P64[1], P64[2], P64[3], P32[1], P64[4], P32[0]]

    def stripe(at, key):
        data = struct.unpack_from("<8Q", b, at)
        for i in range(8):
            x = data[i] ^ key[i]
            acc[i ^ 1] = acc[i ^ 1] + data[i] & MASK64
            acc[i] = acc[i] + (x & MASK32) * (x >> 32) & MASK64

    for number in range((n - 1) // 64):
        stripe(64 * number, keys[number % 16])
        if number % 16 == 15:
            for i in range(8):
                acc[i] = (acc[i] ^ acc[i] >> 47 ^ keys[16][i]) * P32[0] & MASK64
    stripe(n - 64, struct.unpack_from("<8Q", secret, 121))
    result = n * P64[0]
    for i in range(4):
        result += fold(acc[2 * i] ^ u64(secret, 11 + 16 * i), acc[2 * i + 1] ^ u64(secret, 19 + 16 * i))
    return avalanche(result & MASK64)


def xxh3(b, seed=0):
    return (xxh3_short if len(b) <= 16 else xxh3_middle if len(b) <= 240 else xxh3_long)(b, seed)


# ---- SipHash-c-d ----


def siphash(key, b, c, d):
    k0, k1 = u64(key, 0), u64(key, 8)
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def half(a, b_, r, turn):
        v[a] = v[a] + v[b_] & MASK64
        v[b_] = rotl(v[b_], r) ^ v[a]
        if turn:
            v[a] = rotl(v[a], 32)

    def rounds(n):
        for _ in range(n):
            half(0, 1, 13, True)
            half(2, 3, 16, False)
            half(0, 3, 21, False)
            half(2, 1, 17, True)

    words = [u64(b, at) for at in range(0, len(b) - 7, 8)]
    words.append(int.from_bytes(b[len(words) * 8 :], "little") | (len(b) & 255) << 56)
    for word in words:
        v[3] ^= word
        rounds(c)
        v[0] ^= word
    v[2] ^= 255
    rounds(d)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def key_check(secret):
    return siphash(secret, b"nay key check v1", 2, 4)


def splitmix64(x):
    x = x + 0x9E3779B97F4A7C15 & MASK64
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK64
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK64
    return x ^ x >> 31


# ---- the file ----

MAGIC = b"\x89nay\r\n\x1a\n"
HEADER = struct.Struct("<8sBBBBBBHQQQIIQQ")
XXH3, SIPHASH, CALLER = 0, 1, 2
PAYLOAD, SECRET_KEY, META, KEY_DESCRIPTION = 1, 2, 3, 4
CHUNK = 65536


def up(x, to):
    return -(-x // to) * to


PLAIN = r"[!-$&-+\-.-9;-~]"  # printable, but not , : %
NAME = "[a-z][a-z0-9-]*"
DESCRIPTION = re.compile(rf"({NAME})((?:,{NAME}(?::(?:{PLAIN}|%[0-9A-F]{{2}})*)*)*)")
NOTATIONS = ("bytes", "hex", "b64")  # of text


def is_description(content):
    """Whether a section can hold this: doc/keys.md, Key descriptions."""
    match = DESCRIPTION.fullmatch(content.decode("latin-1")) if len(content) <= 63 else None
    if match is None or match[1] in NOTATIONS or match[0] == "text":
        return False
    escapes = re.findall("%(..)", match[2])
    return not any(re.fullmatch(PLAIN, chr(int(escape, 16))) for escape in escapes)


class NayFile:
    """A file that has passed every check."""

    def __init__(self, data, secret=None):
        self.data, self.secret, self.meta, self.payload, self.description = data, None, None, None, None
        self.read_header()
        self.read_directory()
        self.read_body()
        self.read_sections()
        self.family.check(self)
        if secret is not None and (self.hash != SIPHASH or key_check(secret) != self.seed):
            raise Refused("EKEY", "not the key of this filter", 16)
        self.secret = secret or self.secret

    def read_header(self):
        d = self.data
        if d[:8] != MAGIC:
            raise Refused("EFORMAT", "no magic number", 0)
        if len(d) < 64:
            raise Refused("ECORRUPT", "shorter than a header", len(d))
        (_, version, self.kind, self.hash, required, optional, self.nsections, zero, self.seed, self.nkeys,
         self.nunits, self.k, self.extra, self.body_len, digest) = HEADER.unpack_from(d)
        if version != 1:
            raise Refused("EVERSION", "version", 8)
        if xxh3(d[:56]) != digest:
            raise Refused("ECORRUPT", "header digest", 56)
        if required != 0:
            raise Refused("EVERSION", "required flag", 11)
        if zero != 0:
            raise Refused("ECORRUPT", "reserved field", 14)
        if self.nkeys > 1 << 56:
            raise Refused("ECORRUPT", "nkeys", 24)
        self.derived = optional & 1 != 0
        self.directory_end = 64 + 16 * self.nsections + 8 * -(-self.body_len // CHUNK)
        self.body_at = up(self.directory_end + 8, 64)
        if self.body_at + self.body_len != len(d):
            raise Refused("ECORRUPT", "length of the file", len(d))
        if self.kind not in FAMILIES:
            raise Refused("EVERSION", "kind", 9)
        if self.hash not in (XXH3, SIPHASH, CALLER):
            raise Refused("EVERSION", "hash", 10)
        self.family = FAMILIES[self.kind]
        self.family.check_shape(self)

    def read_directory(self):
        d, end = self.data, self.directory_end
        if xxh3(d[56:end]) != u64(d, end):
            raise Refused("ECORRUPT", "directory digest", end)
        if any(d[end + 8 : self.body_at]):
            raise Refused("ECORRUPT", "padding", end + 8)

    def read_body(self):
        digests = 64 + 16 * self.nsections
        for i, at in enumerate(range(self.body_at, len(self.data), CHUNK)):
            if xxh3(self.data[at : at + CHUNK]) != u64(self.data, digests + 8 * i):
                raise Refused("ECORRUPT", "chunk digest", at)

    def read_sections(self):
        end = self.body_at
        for i in range(self.nsections):
            kind, flags, length = struct.unpack_from("<IIQ", self.data, 64 + 16 * i)
            if flags & ~1:
                raise Refused("EVERSION", "section flag", 68 + 16 * i)
            at, before = up(end, 64), end
            end = at + length
            if end > len(self.data) or any(self.data[before:at]):
                raise Refused("ECORRUPT", "section length or padding", at)
            self.take(kind, flags, self.data[at:end], at)
        if end != len(self.data):
            raise Refused("ECORRUPT", "bytes after the last section", end)
        if self.payload is None:
            raise Refused("ECORRUPT", "no payload", 64)

    def take(self, kind, flags, content, at):
        if kind == PAYLOAD:
            if self.payload is not None or not self.family.length_ok(self, len(content)):
                raise Refused("ECORRUPT", "payload", at)
            self.payload = content
        elif kind == SECRET_KEY:
            good = self.hash == SIPHASH and len(content) == 16 and self.secret is None
            if not good or key_check(content) != self.seed:
                raise Refused("ECORRUPT", "stored key", at)
            self.secret = content
        elif kind == META:
            if self.meta is not None or not content:
                raise Refused("ECORRUPT", "metadata", at)
            self.meta = content
        elif kind == KEY_DESCRIPTION:
            if self.description is not None or not is_description(content):
                raise Refused("ECORRUPT", "key description", at)
            self.description = content
        elif flags & 1:
            raise Refused("EVERSION", "required section", at)

    def hash_of(self, key):
        """The hash of a key; None when it cannot be made: the answer is then maybe."""
        if self.hash == XXH3:
            return xxh3(key, self.seed)
        if self.hash == SIPHASH and self.secret is not None:
            return siphash(self.secret, key, 1, 3)
        return None

    def may_contain_hash(self, h):
        return self.family.test(self, self.payload, h)

    def may_contain(self, key):
        h = self.hash_of(key)
        return h is None or self.may_contain_hash(h)


def write(kind, hash_kind, seed, nkeys, shape, payload, secret=None, meta=None, derived=False,
          description=None):
    """The bytes of a file: what the writer's part of the page says."""
    sections = []
    if secret is not None:
        sections.append((SECRET_KEY, 1, secret))
    if description:
        sections.append((KEY_DESCRIPTION, 0, description))
    if meta:
        sections.append((META, 0, meta))
    sections.append((PAYLOAD, 1, payload))
    body = b""
    for _, _, content in sections:
        body += bytes(up(len(body), 64) - len(body)) + content
    header = HEADER.pack(MAGIC, 1, kind, hash_kind, 0, int(derived), len(sections), 0, seed, nkeys, *shape,
                         len(body), 0)[:56]
    header += struct.pack("<Q", xxh3(header))
    directory = b"".join(struct.pack("<IIQ", kind_, flags, len(c)) for kind_, flags, c in sections)
    directory += b"".join(struct.pack("<Q", xxh3(body[at : at + CHUNK])) for at in range(0, len(body), CHUNK))
    directory += struct.pack("<Q", xxh3(header[56:] + directory))
    return header + directory + bytes(up(len(directory), 64) - len(directory)) + body


def described(data, description):
    """The same filter with another key description, whatever that says."""
    f = NayFile(data)
    return write(f.kind, f.hash, f.seed, f.nkeys, (f.nunits, f.k, f.extra), f.payload, f.secret, f.meta, f.derived,
                 description)


# ---- families ----


def reduce(h, n):
    return h * n >> 64


def bit(b, n):
    return b[n >> 3] >> (n & 7) & 1


def field(b, at, width):
    """The number in `width` bits from bit `at` on."""
    return int.from_bytes(b[at >> 3 : (at + width + 7) >> 3], "little") >> (at & 7) & (1 << width) - 1


class Family:
    """What all have: shape, payload and how they are refused. `seen` collects what a file makes use of."""

    @classmethod
    def check_shape(cls, f):
        if not cls.shape_ok(f):
            raise Refused("ECORRUPT", "shape", 32)

    @classmethod
    def length_ok(cls, f, length):
        return length == cls.length(f)

    @classmethod
    def check(cls, f):
        f.seen = set()
        cls.check_payload(f, f.payload)

    @staticmethod
    def check_payload(f, p):
        """What the page says about the payload."""

    @staticmethod
    def must(condition, what):
        if not condition:
            raise Refused("ECORRUPT", what, 0)


class Bloom(Family):
    """nunits bits, k probes: bit reduce(h * G^i mod 2^64, nunits)."""

    @staticmethod
    def shape_ok(f):
        return 1 <= f.nunits <= 1 << 60 and 1 <= f.k <= 64 and f.extra == 0

    @staticmethod
    def length(f):
        return -(-f.nunits // 64) * 8

    @classmethod
    def check_payload(cls, f, p):
        cls.must(int.from_bytes(p, "little") >> f.nunits == 0, "bits past the end")

    @staticmethod
    def positions(h, nbits, k):
        for _ in range(k):
            yield reduce(h, nbits)
            h = h * 0x9E3779B97F4A7C15 & MASK64

    @classmethod
    def test(cls, f, payload, h):
        return all(bit(payload, p) for p in cls.positions(h, f.nunits, f.k))

    @classmethod
    def add(cls, f, payload, h):
        for p in cls.positions(h, f.nunits, f.k):
            payload[p >> 3] |= 1 << (p & 7)


def lo32_chain(h, k):
    """lo32(h) * g^i mod 2^32 for i from 0 to k - 1."""
    x = h & MASK32
    for _ in range(k):
        yield x
        x = x * 0x9E3779B9 & MASK32


class Blocked(Bloom):
    """nunits blocks of 512 bits: block reduce(h, nunits), bit (lo32(h) * g^i mod 2^32) >> 23 of it."""

    @staticmethod
    def shape_ok(f):
        return 1 <= f.nunits <= 1 << 51 and 1 <= f.k <= 64 and f.extra == 0

    @staticmethod
    def length(f):
        return f.nunits * 64

    @staticmethod
    def check_payload(f, p):
        """Every value is possible."""

    @staticmethod
    def positions(h, nblocks, k):
        block = reduce(h, nblocks)
        for x in lo32_chain(h, k):
            yield block * 512 + (x >> 23)


class Counting(Family):
    """The blocks of family 2, then pages of counters, which queries do not need."""

    @staticmethod
    def shape_ok(f):
        return 1 <= f.nunits <= 1 << 48 and 1 <= f.k <= 64 and f.extra <= 17

    @staticmethod
    def records(f, blocks):
        return min(blocks // 8 + 28 + (f.extra >> 1) * blocks, 8 * blocks)

    @classmethod
    def page_length(cls, f, blocks):
        rows = -(-blocks // 8)
        return 64 * blocks + up(8 * rows + 32 * cls.records(f, blocks) + 2 * (rows + 1), 64)

    @classmethod
    def length(cls, f):
        full, last = divmod(f.nunits, 512)
        return 64 * f.nunits + full * cls.page_length(f, 512) + (cls.page_length(f, last) if last else 0)

    @classmethod
    def check_payload(cls, f, p):
        at = 64 * f.nunits
        for first in range(0, f.nunits, 512):
            blocks = min(512, f.nunits - first)
            cls.check_page(f, p[64 * first : 64 * (first + blocks)], p[at : at + cls.page_length(f, blocks)], blocks)
            at += cls.page_length(f, blocks)
        f.seen |= {"counting: two pages"} if f.nunits > 512 else set()
        f.seen |= {"counting: spare"} if f.extra > 1 else set()

    @classmethod
    def check_page(cls, f, plane, page, blocks):
        rows, used = -(-blocks // 8), 0
        flags = 64 * blocks
        pool = flags + 8 * rows
        ranks = pool + 32 * cls.records(f, blocks)
        for block in range(8 * rows):
            if block % 8 == 0:
                cls.must(field(page, 8 * (ranks + block // 4), 16) == used, "rank")
            for group in range(8):
                flagged = bit(page, 8 * (flags + block) + group)
                cls.must(block < blocks or not flagged, "flag of no block")
                if block < blocks:
                    at = 64 * block + 8 * group
                    record = page[pool + 32 * used : pool + 32 * used + 32] if flagged else None
                    cls.check_group(f, u64(plane, at), u64(page, at), record)
                used += flagged
        cls.must(field(page, 8 * (ranks + 2 * rows), 16) == used <= cls.records(f, blocks), "last rank")
        cls.must(not any(page[pool + 32 * used : ranks]), "rest of the pool")
        cls.must(not any(page[ranks + 2 * rows + 2 :]), "padding")

    @classmethod
    def check_group(cls, f, plane, word, record):
        if record is not None:
            counts = [field(record, 4 * b, 4) for b in range(64)]
            cls.must(word == 0 and sum(counts) > 64, "pooled group")
            cls.must(all((c != 0) == (plane >> b & 1) for b, c in enumerate(counts)), "record")
            f.seen.add("counting: pooled")
        elif word:
            counts = [len(zeros) + 1 for zeros in f"{word:b}"[::-1].split("1")[:-1]]
            cls.must(len(counts) == bin(plane).count("1") and max(counts) <= 15, "unary group")
            f.seen.add("counting: unary")
        else:
            counts = []
            f.seen.add("counting: stuck" if plane else "counting: empty")
        f.seen |= {"counting: 15 or more"} if 15 in counts else set()

    @staticmethod
    def test(f, p, h):
        return Blocked.test(f, p, h)


class Scalable(Family):
    """Levels of one half or two: blocked filters of 256 bits a block, side by side. The payload states its own length."""

    @staticmethod
    def shape_ok(f):
        return 1 <= f.nunits <= 1 << 48 and 1 <= f.k <= 64 and 0x358637BD <= f.extra <= 0x3F000000

    @staticmethod
    def length_ok(f, length):
        return True

    @classmethod
    def check_payload(cls, f, p):
        cls.must(len(p) >= 128, "header")
        nlevels, finished, grown, most, limit = struct.unpack_from("<IIQQd", p)
        cls.must(1 <= nlevels <= 64 and finished <= 1 and 1 <= grown <= nlevels, "header")
        cls.must((most == 0 or most >= len(p)) and 0 < limit <= 1 and not any(p[32:64]), "header")
        at = 64 + 64 * nlevels
        cls.must(len(p) >= at, "rows")
        f.levels = []
        for row in range(64, at, 64):
            where, nblocks, k, nhalves, nkeys, full, *nset, closed, bits = struct.unpack_from("<QQIIQQQQII", p, row)
            cls.must(where == at and 1 <= nhalves <= 2 and nblocks >= 1 and 1 <= k <= 64, "row")
            cls.must(bits in (256, 512) and closed <= 1 and 1 <= nkeys <= bits * nblocks and 1 <= full <= bits * nblocks, "row")
            size = bits // 8
            used = size * nhalves * nblocks
            at += up(used, 64)
            cls.must(at <= len(p) and not any(p[where + used : at]), "level")
            halves = [b"".join(p[i : i + size] for i in range(where + size * half, where + used, size * nhalves))
                      for half in range(nhalves)]
            for half, nbits in zip(halves + [b""], nset):
                cls.must(bin(int.from_bytes(half, "little")).count("1") == nbits, "bits set")
            f.levels.append((halves, nblocks, k, bits))
            f.seen |= {f"scalable: blocks of {bits}"}
            f.seen |= {"scalable: one half"} if nhalves == 1 else {"scalable: two halves"}
        cls.must(at == len(p), "length")
        f.seen |= {"scalable: levels"} if nlevels > 1 else set()
        f.seen |= {"scalable: finished"} if finished else set()
        f.seen |= {"scalable: joined"} if grown < nlevels else set()

    @staticmethod
    def positions(h, nblocks, k, bits):
        return [bits * reduce(h, nblocks) + x * bits // 2**32 for x in lo32_chain(h, k)]

    @classmethod
    def test(cls, f, p, h):
        return any(all(bit(half, n) for n in cls.positions(h, nblocks, k, bits))
                   for halves, nblocks, k, bits in f.levels for half in halves)


class Window(Family):
    """Units of 16 words, each cut into cells with a bit for each of `extra` generations."""

    @staticmethod
    def shape_ok(f):
        return 1 <= f.nunits <= 1 << 50 and 1 <= f.k <= 64 and 2 <= f.extra <= 16

    @staticmethod
    def length(f):
        return 192 + 128 * f.nunits

    @classmethod
    def check_payload(cls, f, p):
        newest, clock_set, window, clock, per_generation = struct.unpack_from("<IIQQQ", p)
        cls.must(newest < f.extra and clock_set <= 1 and per_generation >= 1, "header")
        cls.must(window == 0 and clock_set == 0 or window >= f.extra - 1, "window")
        cls.must(clock == 0 or clock_set == 1, "clock")
        cls.must(not any(p[32:64]) and not any(p[64 + 8 * f.extra : 192]), "zeros")
        used = 64 // f.extra * f.extra
        cls.must(all(u64(p, at) >> used == 0 for at in range(192, len(p), 8)), "rest of a word")
        f.seen |= {"window: rotated"} if newest else set()
        f.seen |= {"window: clock"} if clock else set()
        f.seen |= {"window: rest of words"} if used < 64 else set()

    @staticmethod
    def test(f, p, h):
        unit, cells, generations = 192 + 128 * reduce(h, f.nunits), 64 // f.extra, (1 << f.extra) - 1
        for x in lo32_chain(h, f.k):
            cell = (x & (1 << 28) - 1) * cells >> 28
            generations &= u64(p, unit + 8 * (x >> 28)) >> cell * f.extra
        return generations != 0


class Cuckoo(Family):
    """Buckets of four tags; each key has a tag and two buckets. The payload states its own length."""

    @staticmethod
    def split(f):
        return f.extra & 255, f.extra >> 8 & 255  # F, D

    @classmethod
    def shape_ok(cls, f):
        low, doublings = cls.split(f)
        return (2 <= f.nunits and f.nunits % 2 == 0 and f.nunits << doublings <= 1 << 53 and f.k == 2
                and f.extra >> 17 == 0 and low >= 6 and low + doublings <= 32
                and (doublings == 0 or f.nunits >= 8))

    @staticmethod
    def length_ok(f, length):
        return True

    @classmethod
    def check_payload(cls, f, p):
        low, doublings = cls.split(f)
        cls.must(len(p) >= 64, "header")
        f.d, ntags, most = struct.unpack_from("<QQQ", p)
        cls.must(f.d <= doublings and not any(p[24:64]) and (most == 0 or most >= len(p)), "header")
        width = low + doublings - f.d
        nslots = 4 * f.nunits << f.d
        cls.must(len(p) == 64 + up(-(-nslots * width // 8) + 8, 64), "length")
        cls.must(int.from_bytes(p[64:], "little") >> nslots * width == 0, "padding")
        f.slots = [field(p, 512 + i * width, width) for i in range(nslots)]
        cls.must(sum(tag != 0 for tag in f.slots) == ntags, "number of tags")
        cls.must(all(tag == 0 or tag & (1 << low) - 1 for tag in f.slots), "low bits of a tag")
        f.seen |= {"cuckoo: doubled"} if f.d else set()
        f.seen |= {"cuckoo: spare bits"} if f.d < doublings else set()
        f.seen |= {"cuckoo: wide"} if width > 16 else set()

    @classmethod
    def locate(cls, f, h):
        """The tag of h in its first bucket, that bucket, and both for its other bucket."""
        low_bits, doublings = cls.split(f)
        left = doublings - f.d
        low = h & (1 << low_bits) - 1 or 1
        spare = h >> low_bits & (1 << doublings) - 1
        tag = (spare & (1 << left) - 1) << low_bits | low
        home = reduce(h, f.nunits) << f.d | spare >> left
        return tag, home, *cls.move(f, tag, home)

    @classmethod
    def move(cls, f, tag, bucket):
        """What a tag in a bucket is in its other bucket, and that bucket."""
        low_bits, doublings = cls.split(f)
        left = doublings - f.d
        low = tag & (1 << low_bits) - 1
        twist = (low * low * 0xD6E8FEB86659FD93 & MASK64) >> 64 - doublings
        pair = reduce(low * low * 0x9E3779B97F4A7C15 & MASK64, f.nunits) | 1
        used = (bucket ^ twist >> left) & (1 << f.d) - 1
        other = (pair - (bucket >> f.d)) % f.nunits << f.d | used
        return tag ^ (twist & (1 << left) - 1) << low_bits, other

    @classmethod
    def test(cls, f, p, h):
        tag, home, other_tag, other = cls.locate(f, h)
        return tag in f.slots[4 * home : 4 * home + 4] or other_tag in f.slots[4 * other : 4 * other + 4]


def premixed(h, premix):
    return splitmix64(h ^ premix) if premix else h


def remix(x, seed):
    return fold(x ^ seed, 0xD6E8FEB86659FD93)


FINGERPRINT = 0xA0761D6478BD642F


class Xor(Family):
    """Shards of r-bit slots; the xor of a key's three slots is its fingerprint."""

    @staticmethod
    def split(f):
        return f.extra >> 8, f.extra & 255  # shards, r

    @classmethod
    def shape_ok(cls, f):
        nshards, r = cls.split(f)
        return (f.k == 3 and 4 <= r <= 32 and nshards >= 1 and f.nunits % nshards == 0
                and f.k <= f.nunits // nshards < 1 << 31)

    @classmethod
    def stride(cls, f):
        nshards, r = cls.split(f)
        used = -(-(f.nunits // nshards) * r // 8)
        return up(used + (0 if r in (8, 16, 32) else 8), 8 if nshards == 1 else 64)

    @classmethod
    def length(cls, f):
        nshards = cls.split(f)[0]
        return cls.arrays_at(nshards) + nshards * cls.stride(f)

    @staticmethod
    def arrays_at(nshards):
        return up(24 + 8 * nshards, 8 if nshards == 1 else 64)

    @classmethod
    def check_payload(cls, f, p):
        nshards, r = cls.split(f)
        f.premix, slots, f.segment, f.span, zero = struct.unpack_from("<QIIII", p)
        cls.must(slots == f.nunits // nshards and cls.segment_ok(f.segment), "header")
        cls.must(f.span > 0 and cls.span_ok(f, f.span, slots) and zero == 0, "span")
        f.factors = struct.unpack_from(f"<{nshards}Q", p, 24)
        cls.must(all(factor % 2 or factor <= 2 for factor in f.factors), "factor")
        cls.must(not any(p[24 + 8 * nshards : cls.arrays_at(nshards)]), "padding")
        first = splitmix64(0) | 1
        f.seen |= {f"{cls.__name__}: two shards"} if nshards > 1 else set()
        f.seen |= {f"{cls.__name__}: another factor"} if any(a % 2 and a != first for a in f.factors) else set()
        f.seen |= {f"{cls.__name__}: empty"} if f.factors[0] == 0 else set()
        f.seen |= {f"{cls.__name__}: k = {f.k}, r = {r}"}

    @staticmethod
    def segment_ok(segment):
        return segment == 0

    @staticmethod
    def span_ok(f, span, slots):
        return 3 * span <= slots

    @staticmethod
    def places(f, m, w):
        slices = [w >> 32, (w * FINGERPRINT & MASK64) >> 32]
        return [reduce(m, f.span)] + [(j + 1) * f.span + (s * f.span >> 32) for j, s in enumerate(slices)]

    @classmethod
    def test(cls, f, p, h):
        nshards, r = cls.split(f)
        x = premixed(h, f.premix)
        shard = reduce(x, nshards)
        factor = f.factors[shard]
        if factor % 2 == 0:
            return factor == 2
        m = remix(x, 0)
        w = m * factor & MASK64
        total = w & (1 << r) - 1
        at = cls.arrays_at(nshards) + shard * cls.stride(f)
        for place in cls.places(f, m, w):
            total ^= field(p, 8 * at + place * r, r)
        return total == 0


class Fuse(Xor):
    """The same with three or four slots in neighbouring segments."""

    @classmethod
    def shape_ok(cls, f):
        nshards, r = cls.split(f)
        return (f.k in (3, 4) and 4 <= r <= 32 and nshards >= 1 and f.nunits % nshards == 0
                and f.k <= f.nunits // nshards < 1 << 31)

    @staticmethod
    def segment_ok(segment):
        return segment in [1 << i for i in range(17)]

    @staticmethod
    def span_ok(f, span, slots):
        return span % f.segment == 0 and span + (f.k - 1) * f.segment <= slots

    @staticmethod
    def places(f, m, w):
        first = reduce(m, f.span)
        slices = [w >> 48, w >> 32, (w * FINGERPRINT & MASK64) >> 48][: f.k - 1]
        return [first] + [first + j * f.segment ^ s & f.segment - 1 for j, s in enumerate(slices, 1)]


class Ribbon(Family):
    """Blocks of 128 slots by columns; the parity of a key's slots is its fingerprint. extra 0: a Bloom filter."""

    LIMITS = (0, 32, 88, 512)

    @staticmethod
    def shape_ok(f):
        if not 1 <= f.nunits <= 1 << 53 or not 1 <= f.k <= (32 if f.extra else 64):
            return False
        return f.extra == 0 or 0 <= f.extra * f.k - f.nunits < f.extra

    @staticmethod
    def layers(nblocks):
        """(first block, parts, blocks of a part) of each layer; the last has one part."""
        layers, first = [], 0
        while nblocks - first > 62:
            rest = nblocks - first
            nparts = max(1, (rest + 512) // 1024)
            size = (rest * 999 >> 10) // nparts // 4 * 4
            layers.append((first, nparts, size))
            first += nparts * size
        return layers + [(first, 1, nblocks - first)]

    @staticmethod
    def ncodes(nblocks):
        return 0 if nblocks <= 62 else -(-nblocks // 16)

    @classmethod
    def length(cls, f):
        return 16 * f.nunits + cls.ncodes(f.extra) + 6 if f.extra else 8 + 8 * f.nunits

    @staticmethod
    def seed(number):
        return 0 if number == 0 else splitmix64(number) & MASK32

    @classmethod
    def check_payload(cls, f, p):
        if f.extra == 0:
            f.premix = u64(p, 0)
            f.seen |= {"ribbon: bloom"} | ({"ribbon: bloom premixed"} if f.premix else set())
            return
        f.short = f.extra * f.k - f.nunits
        f.premix, f.numbers = u32(p, len(p) - 6), (p[-2], p[-1])
        codes = p[16 * f.nunits : len(p) - 6]
        f.codes = [byte >> shift & 3 for byte in codes for shift in (0, 2, 4, 6)]
        f.layers = cls.layers(f.extra)
        cls.must(not any(f.codes[f.layers[-1][0] // 4 :]), "codes of the last layer")
        f.seen.add(f"ribbon: {len(f.layers)} layers")
        f.seen |= {f"ribbon: code {code}" for code in f.codes}
        f.seen |= {"ribbon: premixed"} if f.premix else set()
        f.seen |= {"ribbon: two parts"} if f.layers[0][1] > 1 else set()
        f.seen |= {"ribbon: another seed"} if f.numbers[0] else set()
        f.seen |= {"ribbon: another last seed"} if f.numbers[1] else set()
        f.seen |= {"ribbon: short blocks"} if f.short else {"ribbon: no short blocks"}
        f.seen |= {"ribbon: no column"} if f.short and f.k == 1 else set()

    @staticmethod
    def column(f, p, block, c):
        """128 slots: bit c of each."""
        at = 16 * (block * f.k - min(block, f.short) + c)
        return int.from_bytes(p[at : at + 16], "little")

    @classmethod
    def place(cls, f, x, layer):
        """y of a key in a layer, its first slot from that of its part on, and the block of it."""
        first, nparts, size = f.layers[layer]
        y = remix(x, cls.seed(f.numbers[layer + 1 == len(f.layers)]))
        start = (y & MASK32) * (128 * size - 127) >> 32
        return y, start, first + reduce(x, nparts) * size + start // 128

    @classmethod
    def find(cls, f, x):
        """The layer that has a key, and the key's hash in it."""
        for layer in range(len(f.layers) - 1):
            _, start, block = cls.place(f, x, layer)
            if start % 512 >= cls.LIMITS[f.codes[block // 4]]:
                return layer, x
            x = splitmix64(x)
        return len(f.layers) - 1, x

    @classmethod
    def test(cls, f, p, h):
        x = premixed(h, f.premix)
        if f.extra == 0:
            return all(bit(p, 64 + n) for n in Bloom.positions(x, 64 * f.nunits, f.k))
        layer, x = cls.find(f, x)
        if layer + 1 == len(f.layers) and f.numbers[1] == 255:
            return True
        y, start, block = cls.place(f, x, layer)
        coefficients = y * 0xE7037ED1A0B428DB | 1
        fingerprint = fold(y, FINGERPRINT)
        offset = start % 128
        for c in range(f.k - (block < f.short)):
            slots = cls.column(f, p, block, c)
            if offset:
                slots |= cls.column(f, p, block + 1, c) << 128
            parity = bin(slots >> offset & coefficients).count("1") & 1
            if parity != fingerprint >> (c % 4 * 16 + c // 4) & 1:
                return False
        return True


class Sbbf(Bloom):
    """nunits blocks of 256 bits: block reduce32(hi32(h), nunits), one bit of each of its eight words."""

    SALT = (0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31)

    @staticmethod
    def shape_ok(f):
        return 1 <= f.nunits <= 1 << 31 and f.k == 8 and f.extra == 0

    @staticmethod
    def length(f):
        return f.nunits * 32

    @staticmethod
    def check_payload(f, p):
        """Every value is possible."""

    @classmethod
    def positions(cls, h, nblocks, k):
        block = (h >> 32) * nblocks >> 32
        for word, salt in enumerate(cls.SALT):
            yield block * 256 + 32 * word + ((h & MASK32) * salt & MASK32) // (1 << 27)


FAMILIES = {1: Bloom, 2: Blocked, 3: Counting, 4: Scalable, 5: Window, 6: Cuckoo, 7: Xor, 8: Fuse, 9: Ribbon,
            11: Sbbf}


def main(args):
    secret = None
    if "--secret" in args:
        at = args.index("--secret")
        secret = bytes.fromhex(args[at + 1])
        del args[at : at + 2]
    try:
        with open(args[0], "rb") as file:
            f = NayFile(file.read(), secret)
    except Refused as why:
        print(f"{args[0]}: {why}")
        return 3
    print(f"kind {f.kind}, hash {f.hash}, seed {f.seed:#x}, nkeys {f.nkeys}, nunits {f.nunits}, k {f.k}, "
          f"payload {len(f.payload)} bytes, metadata {f.meta!r:.60}, derived {f.derived}")
    for key in args[1:]:
        print("maybe" if f.may_contain(key.encode()) else "nay", key)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
