#!/usr/bin/env python3
"""A second reader of the native file, from doc/formats/nay.md alone, in plain Python.

    read_nay.py FILE [--secret HEX] [KEY ...]     describes a file; answers maybe or nay for each key

It shares no line with the library, and is slow on purpose: it follows the text of the page. Each
check is one of the reader's list there, in its order. Adding a family is a class at the end.
"""
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
PAYLOAD, SECRET_KEY, META = 1, 2, 3
CHUNK = 65536


def up(x, to):
    return -(-x // to) * to


class NayFile:
    """A file that has passed every check."""

    def __init__(self, data, secret=None):
        self.data, self.secret, self.meta, self.payload = data, None, None, None
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
        self.family = FAMILIES[self.kind]
        self.family.check_shape(self)
        if self.hash not in (XXH3, SIPHASH, CALLER):
            raise Refused("EVERSION", "hash", 10)

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


def write(kind, hash_kind, seed, nkeys, shape, payload, secret=None, meta=None, derived=False):
    """The bytes of a file: what the writer's part of the page says."""
    sections = []
    if secret is not None:
        sections.append((SECRET_KEY, 1, secret))
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


# ---- families ----


def reduce(h, n):
    return h * n >> 64


class Bloom:
    """nunits bits, k probes: bit reduce(h * G^i mod 2^64, nunits)."""

    @staticmethod
    def check_shape(f):
        if not (1 <= f.nunits <= 1 << 60 and 1 <= f.k <= 64 and f.extra == 0):
            raise Refused("ECORRUPT", "shape", 32)

    @staticmethod
    def length_ok(f, length):
        return length == Bloom.length(f)

    @staticmethod
    def length(f):
        return -(-f.nunits // 64) * 8

    @staticmethod
    def check(f):
        if int.from_bytes(f.payload, "little") >> f.nunits:
            raise Refused("ECORRUPT", "bits past the end", len(f.data) - 1)

    @staticmethod
    def positions(f, h):
        for _ in range(f.k):
            yield reduce(h, f.nunits)
            h = h * 0x9E3779B97F4A7C15 & MASK64

    @classmethod
    def test(cls, f, payload, h):
        return all(payload[p >> 3] >> (p & 7) & 1 for p in cls.positions(f, h))

    @classmethod
    def add(cls, f, payload, h):
        for p in cls.positions(f, h):
            payload[p >> 3] |= 1 << (p & 7)


class Blocked(Bloom):
    """nunits blocks of 512 bits: block reduce(h, nunits), bit (lo32(h) * g^i mod 2^32) >> 23 of it."""

    @staticmethod
    def check_shape(f):
        if not (1 <= f.nunits <= 1 << 51 and 1 <= f.k <= 64 and f.extra == 0):
            raise Refused("ECORRUPT", "shape", 32)

    @staticmethod
    def length_ok(f, length):
        return length == Blocked.length(f)

    @staticmethod
    def length(f):
        return f.nunits * 64

    @staticmethod
    def check(f):
        pass

    @staticmethod
    def positions(f, h):
        block, x = reduce(h, f.nunits), h & MASK32
        for _ in range(f.k):
            yield block * 512 + (x >> 23)
            x = x * 0x9E3779B9 & MASK32


FAMILIES = {1: Bloom, 2: Blocked}


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
