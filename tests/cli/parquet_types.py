#!/usr/bin/env python3
"""Parquet files of all types, written here from the specification alone, and texts of their values.

parquet_types.py PROGRAM: writes types.parquet, narrow.parquet and wide.parquet (id INT32 of 5, id INT64 of
3000000000), decimals.parquet, and asks PROGRAM for every text: each is a value of its column, so `check --in` selects
it and `prune` prints the file. Prints the texts that are denied or refused; no output: all is well.
"""
import decimal
import random
import struct
import subprocess
import sys

MASK = (1 << 64) - 1
PRIME = (11400714785074694791, 14029467366897019727, 1609587929392839161, 9650029242287828579, 2870177450012600261)
SALT = (0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31)


def rotate(x, n):
    return (x << n | x >> (64 - n)) & MASK


def mix(state, lane):
    return rotate((state + lane * PRIME[1]) & MASK, 31) * PRIME[0] & MASK


def xxh64(data):
    at, v = 0, [(PRIME[0] + PRIME[1]) & MASK, PRIME[1], 0, -PRIME[0] & MASK]
    while at + 32 <= len(data):
        v = [mix(v[i], struct.unpack_from("<Q", data, at + 8 * i)[0]) for i in range(4)]
        at += 32
    h = PRIME[4]
    if len(data) >= 32:
        h = sum(rotate(x, n) for x, n in zip(v, (1, 7, 12, 18))) & MASK
        for x in v:
            h = ((h ^ mix(0, x)) * PRIME[0] + PRIME[3]) & MASK
    h = (h + len(data)) & MASK
    while at + 8 <= len(data):
        h = (rotate(h ^ mix(0, struct.unpack_from("<Q", data, at)[0]), 27) * PRIME[0] + PRIME[3]) & MASK
        at += 8
    if at + 4 <= len(data):
        h = (rotate(h ^ struct.unpack_from("<I", data, at)[0] * PRIME[0] & MASK, 23) * PRIME[1] + PRIME[2]) & MASK
        at += 4
    for byte in data[at:]:
        h = rotate(h ^ byte * PRIME[4] & MASK, 11) * PRIME[0] & MASK
    h = (h ^ h >> 33) * PRIME[1] & MASK
    h = (h ^ h >> 29) * PRIME[2] & MASK
    return h ^ h >> 32


def blocks(values, nblocks):
    words = [0] * (8 * nblocks)
    for value in values:
        h = xxh64(value)
        for i, salt in enumerate(SALT):
            words[8 * ((h >> 32) * nblocks >> 32) + i] |= 1 << (((h & 0xffffffff) * salt & 0xffffffff) >> 27)
    return struct.pack(f"<{len(words)}I", *words)


# ---- Thrift's compact protocol: int is an i64, bytes a text, list a list of its elements, dict a struct, I32 an i32

class I32(int):
    pass


class I8(int):
    pass


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def kind(x):
    if isinstance(x, bool):
        return 1 if x else 2
    return 3 if isinstance(x, I8) else 5 if isinstance(x, I32) else 6 if isinstance(x, int) else \
        8 if isinstance(x, bytes) else 9 if isinstance(x, list) else 12


def thrift(x):
    if isinstance(x, bool):
        return b""
    if isinstance(x, I8):
        return struct.pack("b", x)
    if isinstance(x, int):
        return varint((x << 1 ^ x >> 63) & MASK)
    if isinstance(x, bytes):
        return varint(len(x)) + x
    if isinstance(x, list):
        return bytes([0xf0 | kind(x[0])]) + varint(len(x)) + b"".join(thrift(y) for y in x)
    out, last = b"", 0
    for number, y in sorted(x.items()):
        short = number - last < 16
        head = bytes([(number - last) << 4 | kind(y)]) if short else bytes([kind(y)]) + thrift(number)
        out, last = out + head + thrift(y), number
    return out + b"\0"


PHYSICAL = {"BOOLEAN": 0, "INT32": 1, "INT64": 2, "INT96": 3, "FLOAT": 4, "DOUBLE": 5, "BYTE_ARRAY": 6, "FIXED": 7}


def write(path, columns):
    """columns: (name, physical, members of SchemaElement, values) of one row group, with a filter for each."""
    out, chunks, schema = b"PAR1", [], [{4: b"schema", 5: I32(len(columns))}]
    for name, physical, members, values in columns:
        filter_bytes = blocks(values, 256)
        unions = {2: {1: {}}, 3: {1: {}}, 4: {1: {}}}
        header = thrift({1: I32(len(filter_bytes)), **unions})
        number = I32(PHYSICAL[physical])
        chunks.append({2: 4, 3: {1: number, 2: [I32(0)], 3: [name.encode()], 4: I32(0), 5: 1, 6: 1, 7: 1, 9: 4, 14: len(out),
                                 15: I32(len(header) + len(filter_bytes))}})
        schema.append({1: number, 3: I32(1), 4: name.encode(), **members})
        out += header + filter_bytes
    footer = thrift({1: I32(1), 2: schema, 3: 1, 4: [{1: chunks, 2: 1, 3: 1}]})
    with open(path, "wb") as f:
        f.write(out + footer + struct.pack("<I", len(footer)) + b"PAR1")


# ---- types, and texts of their values

TABLE = []  # name, physical, members, [(text, value)]


def column(name, physical, members, texts):
    TABLE.append((name, physical, members, texts))


def logical(number, **members):
    return {10: {number: {int(i[1:]): x for i, x in members.items()}}}


def integers():
    for width in (8, 16, 32, 64):
        for signed in (True, False):
            nbytes, least = 8 if width == 64 else 4, -(1 << width - 1) if signed else 0
            texts = []
            for n in (least, least + (1 << width) - 1, 0, 1, 7) + ((-1, -7) if signed else ()):
                sign, value = "-" if n < 0 else "", (n & (1 << 8 * nbytes) - 1).to_bytes(nbytes, "little")
                texts += [(t, value) for t in (str(n), f"{sign}{abs(n):#x}", f"{sign or '+'}00{abs(n)}")]
            name, physical = f"{'i' if signed else 'u'}{width}", "INT64" if width == 64 else "INT32"
            column(name, physical, logical(10, _1=I8(width), _2=signed), texts)
            column(name + "c", physical, {6: I32((8, 16, 32, 64).index(width) + (15 if signed else 11))}, texts)
    column("bool", "BOOLEAN", {}, [("true", b"\1"), ("T", b"\1"), ("0", b"\0"), ("f", b"\0")])


TIMES = (("1970-01-01T00:00:00Z", 0, 0), ("1969-12-31T23:59:59.999Z", -1, 999), ("1969-12-31 23:59:58", -2, 0),
         ("2024-02-29 12:34:56,789", 1709210096, 789), ("1700-01-01 00:00:00.001", -8520336000, 1), ("2000-01-01", 946684800, 0),
         ("2262-04-11T23:47:16.854Z", 9223372036, 854), ("1677-09-21T00:12:44Z", -9223372036, 0))


def times():
    days = (("1970-01-01", 0), ("1969-12-31", -1), ("0001-01-01", -719162), ("2024-02-29", 19782), ("-0001-01-01", -719893), ("-1", -1))
    for name, members in (("day", logical(6)), ("dayc", {6: I32(6)})):
        column(name, "INT32", members, [(t, struct.pack("<i", d)) for t, d in days])
    for unit, per_second in ((1, 10 ** 3), (2, 10 ** 6), (3, 10 ** 9)):
        pack = lambda n: struct.pack("<q", n)
        texts = [(t, pack(s * per_second + ms * per_second // 1000)) for t, s, ms in TIMES] + [(str(n), pack(n)) for n in (-1, -2 ** 63, 2 ** 63 - 1)]
        if unit == 3:
            texts += [(t, pack(n)) for t, n in (("2262-04-11T23:47:16.854775807Z", 2 ** 63 - 1), ("1677-09-21T00:12:43.145224192Z", -2 ** 63),
                                                ("1969-12-31T23:59:59.999999999Z", -1), ("2024-02-29T12:34:56.789012345Z", 1709210096789012345))]
        zoned = [("2024-02-29T13:34:56.789+01:00", pack(1709210096789 * per_second // 1000))]
        column(f"ts{unit}", "INT64", logical(8, _1=True, _2={unit: {}}), texts + zoned)
        column(f"local{unit}", "INT64", logical(8, _1=False, _2={unit: {}}), texts)
        times_of_day = [(t, struct.pack("<i" if unit == 1 else "<q", n * per_second // 1000))
                        for t, n in (("00:00:00", 0), ("12:34:56.789", 45296789), ("23:59:59.999", 86399999), ("12:34", 45240000))]
        column(f"time{unit}", "INT32" if unit == 1 else "INT64", logical(7, _1=False, _2={unit: {}}), times_of_day)


def decimals():
    for scale in (0, 2, 9):
        for physical, nbytes, digits in (("INT32", 4, 9), ("INT64", 8, 18), ("FIXED", 2, 4), ("FIXED", 16, 38), ("FIXED", 17, 38)):
            order = "big" if physical == "FIXED" else "little"
            texts = []
            for n in (0, 1, -1, 1250, -1250, 10 ** digits - 1, 1 - 10 ** digits):
                sign, text = "-" if n < 0 else "", str(abs(n)).rjust(scale + 1, "0")
                text = text[:len(text) - scale] + ("." + text[len(text) - scale:] if scale else "")
                short = text.rstrip("0").rstrip(".") if scale else text
                texts += [(t, n.to_bytes(nbytes, order, signed=True)) for t in (sign + text, sign + "00" + text, sign + short)]
            fixed = {2: I32(nbytes)} if physical == "FIXED" else {}
            column(f"dec{physical}{nbytes}_{scale}", physical, {6: I32(5), 7: I32(scale), 8: I32(digits), **fixed}, texts)
            column(f"decl{physical}{nbytes}_{scale}", physical, {**logical(5, _1=I32(scale), _2=I32(digits)), **fixed}, texts)


def floats():
    rng, texts = random.Random(5), []
    for n in [1, 2, 0x7fffff, 0x800000, 0x800001] + [rng.randrange(1, 0x800000) for _ in range(100)] + \
            [rng.randrange(0x800000, 0x7f000000) for _ in range(100)]:
        x, value = struct.unpack("<f", struct.pack("<I", n))[0], struct.pack("<I", n)
        shortest = next(t for t in (f"{x:.{digits}g}" for digits in range(1, 18)) if struct.pack("<f", float(t)) == value)
        texts += [(t, value) for t in (f"{x:.9g}", f"{x:.17g}", repr(x), shortest)]
    texts += [("0", struct.pack("<f", -0.0)), ("3.4028235e38", struct.pack("<I", 0x7f7fffff)), ("1e-60", bytes(4)), ("-infinity", struct.pack("<f", -float("inf"))), ("nan", b"")]
    column("f32", "FLOAT", {}, texts)
    texts = [("-0", bytes(8)), ("5e-324", struct.pack("<Q", 1)), ("inf", struct.pack("<d", float("inf"))), ("NaN", b"")]
    for _ in range(200):
        x = struct.unpack("<d", struct.pack("<Q", rng.randrange(1, 0x7ff0000000000000)))[0]
        texts += [(repr(x), struct.pack("<d", x)), (f"{x:.30e}", struct.pack("<d", x)), (f"-{x!r}", struct.pack("<d", -x))]
    column("f64", "DOUBLE", {}, texts)
    texts = [("0", b"\0\x80"), ("65504", b"\xff\x7b"), ("6e-8", b"\1\0"), ("-inf", b"\0\xfc")]
    for n in [rng.randrange(1, 0x7bff) for _ in range(200)]:
        x = struct.unpack("<e", struct.pack("<H", n))[0]
        near = decimal.Decimal(x) * (1 + decimal.Decimal(10) ** -5)
        texts += [(repr(x), struct.pack("<H", n)), (str(near), struct.pack("<H", n)), (repr(-x), struct.pack("<H", n | 0x8000))]
    column("f16", "FIXED", {2: I32(2), **logical(15)}, texts)


def texts_and_bytes():
    texts = [(t, t.encode()) for t in ("", "a", "Apple", " lead", "trail ", "é", "x" * 1000, "007", "true", "\r", "a\r", "\ufeffbom", "nan", "a\nb", "a\0b")]
    for name, members in (("text", logical(1)), ("textc", {6: I32(0)}), ("binary", {}), ("json", logical(12)), ("enum", logical(4)),
                          ("later", logical(99))):
        column(name, "BYTE_ARRAY", members, texts)
    uuid = "123e4567-e89b-12d3-a456-426614174000"
    value = bytes.fromhex(uuid.replace("-", ""))
    column("uuid", "FIXED", {2: I32(16), **logical(14)}, [(t, value) for t in (uuid, uuid.upper(), "{" + uuid + "}", uuid.replace("-", ""))])
    column("bytes", "FIXED", {2: I32(3)}, [("616263", b"abc"), ("0x616263", b"abc"), ("00FF00", b"\0\xff\0")])
    column("interval", "FIXED", {2: I32(12), 6: I32(21)}, [("0a" * 12, b"\x0a" * 12)])
    column("int96", "INT96", {}, [("0b" * 12, b"\x0b" * 12)])


def main(program):
    integers(), times(), decimals(), floats(), texts_and_bytes()
    write("types.parquet", [(name, physical, members, [v for _, v in texts if v or physical == "BYTE_ARRAY"])
                            for name, physical, members, texts in TABLE])
    write("narrow.parquet", [("id", "INT32", {}, [struct.pack("<i", 5)])])
    write("wide.parquet", [("id", "INT64", {}, [struct.pack("<q", 3000000000)])])
    write("decimals.parquet", [("id", "BYTE_ARRAY", {6: I32(5), 7: I32(2), 8: I32(9)}, [b"\5"])])
    ntexts = 0
    for name, _, _, texts in TABLE:
        keys = [t.encode() for t, _ in texts]
        asked = b"".join(struct.pack("<I", len(k)) + k for k in keys)
        done = subprocess.run([program, "check", "-c", "--length-prefixed", f"--in={name}", "types.parquet"], input=asked, capture_output=True)
        if done.returncode != 0 or int(done.stdout) != len(keys):
            print(f"check --in={name}: {done.stdout.decode().strip()} of {len(keys)}, status {done.returncode}: {done.stderr.decode()[:300]}")
        texts_of_it = [t for t, _ in texts if "\0" not in t][:40]
        for text in texts_of_it[::8]:
            done = subprocess.run([program, "prune", "-q", "-c", f"--in={name}", f"-e{text}" if text else "--element=", "types.parquet"], capture_output=True)
            if done.stdout != b"1\n" or done.returncode != 0:
                print(f"prune --in={name} -e {text!r}: status {done.returncode}: {done.stderr.decode()[:300]}")
        ntexts += len(keys)
    assert ntexts > 3000, ntexts


if __name__ == "__main__":
    main(sys.argv[1])
