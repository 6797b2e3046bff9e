#!/usr/bin/env python3
"""Typed keys in plain Python, as doc/keys.md has them: the model, and the vectors made from it.

    make_keys.py                   writes keys/keys.txt and keys/descriptions.txt beside this script
    make_keys.py --check           compares with what is there, and prints TAP
    make_keys.py --library libnay.so [COUNT [SEED]]
                                   compares the library with the model on COUNT random texts of each type

It shares no code with the library: numbers, calendar and encodings are those of Python.
"""
import base64
import ctypes
import datetime
import decimal
import pathlib
import random
import re
import struct
import sys
import uuid

HERE = pathlib.Path(__file__).resolve().parent
TYPES = ["text", "int", "float", "bool", "date", "timestamp", "uuid", "numeric", "hex", "b64",
         "ordered-int", "ordered-float", "ordered-date", "ordered-timestamp"]
EXACT = decimal.Context(prec=200000, Emax=10**15, Emin=-(10**15))

# ---- the model: bytes of a text, or None when it is refused ----

NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
SPECIAL = r"[+-]?(?:inf|infinity|nan)"
DATE = r"([+-]?)([0-9]{4,7})-([0-9]{2})-([0-9]{2})"
TIME = r"([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]+))?)?"
ZONE = r"([zZ]|([+-])([0-9]{2})(?::?([0-9]{2})|:([0-9]{2}):([0-9]{2}))?)?"


def int64(value):
    return struct.pack("<Q", value % 2**64)


def match(pattern, text, flags=0):
    return re.fullmatch(pattern, text, flags | re.ASCII)


def key_text(text):
    return text.encode()


def key_int(text):
    if not match(r"[+-]?(?:0[xX][0-9a-fA-F]+|[0-9]+)", text):
        return None
    value = int(text, 16 if "x" in text.lower() else 10)
    return int64(value) if -(2**63) <= value < 2**64 else None


def key_float(text):
    if match(SPECIAL, text, re.I):
        value = float(text)
    elif match(NUMBER, text):
        value = float(text)
        if value in (float("inf"), float("-inf")):
            return None
    else:
        return None
    if value != value:
        return bytes.fromhex("000000000000f87f")
    return struct.pack("<d", value if value != 0 else 0.0)


def key_bool(text):
    values = {"true": 1, "t": 1, "1": 1, "false": 0, "f": 0, "0": 0}
    return int64(values[text.lower()]) if text.lower() in values and text.isascii() else None


def days(sign, year, month, day):
    """Days since 1970-01-01; datetime knows the years 1 to 9999, the calendar repeats after 400."""
    year = int(sign + year)
    if sign == "-" and year == 0:
        return None
    cycles = (year - 2000) // 400
    try:
        date = datetime.date(year - 400 * cycles, int(month), int(day))
    except ValueError:
        return None
    return date.toordinal() - datetime.date(1970, 1, 1).toordinal() + cycles * 146097


def infinite(text):
    return {"infinity": 2**63 - 1, "+infinity": 2**63 - 1, "-infinity": -(2**63)}.get(text.lower())


def key_date(text):
    if infinite(text) is not None:
        return int64(infinite(text))
    found = match(DATE, text)
    value = days(*found.groups()) if found else None
    return None if value is None else int64(value)


def key_timestamp(text):
    if infinite(text) is not None:
        return int64(infinite(text))
    found = match(f"{DATE}(?:[tT ]{TIME}{ZONE})?", text)
    value = days(*found.groups()[:4]) if found else None
    if value is None:
        return None
    hh, mm, ss, fraction, _, sign, zone_hh, zone_mm, zone_mm2, zone_ss = found.groups()[4:]
    limits = ((hh, 23), (mm, 59), (ss, 59), (zone_hh, 23), (zone_mm or zone_mm2, 59), (zone_ss, 59))
    if any(int(field or 0) > limit for field, limit in limits) or (fraction or "")[6:].strip("0"):
        return None
    seconds = value * 86400 + int(hh or 0) * 3600 + int(mm or 0) * 60 + int(ss or 0)
    zone = int(zone_hh or 0) * 3600 + int(zone_mm or zone_mm2 or 0) * 60 + int(zone_ss or 0)
    seconds -= -zone if sign == "-" else zone
    micros = seconds * 10**6 + int((fraction or "").ljust(6, "0")[:6])
    return int64(micros) if -(2**63) < micros < 2**63 - 1 else None


def key_uuid(text):
    body = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}"
    return uuid.UUID(text.lower()).bytes if match(rf"(?:urn:uuid:)?(?:{body})|\{{(?:{body})\}}", text, re.I) else None


def key_numeric(text):
    if match(SPECIAL, text, re.I):
        name = "NaN" if "nan" in text.lower() else "-Infinity" if text[0] == "-" else "Infinity"
        return name.encode()
    if not match(NUMBER, text):
        return None
    mantissa, _, power = text.lower().partition("e")
    if EXACT.create_decimal(mantissa) == 0:
        return b"0"
    if abs(int(power or 0)) > 10**9:
        return None
    value = EXACT.create_decimal(text)
    sign, digits, exponent = value.as_tuple()
    stripped = len(digits) - len("".join(map(str, digits)).rstrip("0"))
    if len(digits) + exponent > 131072 or -(exponent + stripped) > 16383:
        return None
    plain = format(value.copy_abs(), "f")  # abs would round
    plain = plain.rstrip("0").rstrip(".") if "." in plain else plain
    return ("-" * sign + (plain.lstrip("0") if plain[:2] != "0." else plain)).encode()


def key_hex(text):
    digits = text[2:] if text[:2].lower() in ("0x", "\\x") else text
    return bytes.fromhex(digits) if match(r"(?:[0-9a-fA-F]{2})*", digits) else None


def key_b64(text):
    body = text.rstrip("=")
    url = "-" in body or "_" in body
    if not match(r"[A-Za-z0-9_-]*" if url else r"[A-Za-z0-9+/]*", body) or len(body) % 4 == 1:
        return None
    padded = body + "=" * (-len(body) % 4)
    if text not in (body, padded):
        return None
    data = (base64.urlsafe_b64decode if url else base64.b64decode)(padded)
    again = (base64.urlsafe_b64encode if url else base64.b64encode)(data).decode()
    return data if again == padded else None  # else: unused bits are not 0


MODEL = {"text": key_text, "int": key_int, "float": key_float, "bool": key_bool, "date": key_date,
         "timestamp": key_timestamp, "uuid": key_uuid, "numeric": key_numeric, "hex": key_hex, "b64": key_b64}

ORDERED = {"ordered-" + name: name for name in ("int", "float", "date", "timestamp")}


def key_ordered(name):
    """The key of the plain type, big-endian, so that the bytes have the order of the values."""
    def key(text):
        plain = MODEL[name](text)
        if plain is None or (name == "int" and not text.startswith("-") and plain[7] >= 128):
            return None
        word = int.from_bytes(plain, "little")
        inverted = name == "float" and word >> 63
        return (word ^ (2**64 - 1 if inverted else 2**63)).to_bytes(8, "big")
    return key


MODEL.update({ordered: key_ordered(name) for ordered, name in ORDERED.items()})

# ---- the vectors ----

UUID = "123e4567-e89b-12d3-a456-426614174000"
CASES = {
    "text": ["", "foo", "caf\u00e9", "cafe\u0301", "  kept  ", "\u65e5\u672c", "007"],
    "int": "0 -0 +0 1 -1 007 +42 127 -128 255 256 32767 -32768 65535 2147483647 -2147483648 4294967295 "
           "9223372036854775807 -9223372036854775808 9223372036854775808 18446744073709551615 0x0 0xff 0XFF -0x10 "
           "0xffffffffffffffff -0x8000000000000000 00000000000000000000000000000001 "
           "18446744073709551616 -9223372036854775809 0x10000000000000000 -0x8000000000000001 + - 0x 1.0 1e3 1_000 "
           "1,000 0b1 12a 0xfg --1 \u0661".split() + ["", " 1", "1 "],
    "float": "0 -0 0.0 -0.0 0e5 1 1.0 1. 01.00 10e-1 .1e1 0.1 .1 -1.5 3.141592653589793 1e10 1E10 1e+10 10000000000 "
             "100 1e2 1e22 1e23 8.5e22 9007199254740993 9007199254740992.5 9007199254740993.5 "
             "9007199254740992.9999999999 123456789012345678901234567890 0.1000000014901161193847656250 "
             "1.7976931348623157e308 1.7976931348623158e308 1.797693134862315807e308 1.7976931348623159e308 "
             "1.7976931348623157e309 1e309 -1e309 1e400 1e99999999999999999999 "
             "2.2250738585072014e-308 2.2250738585072011e-308 2.2250738585072012e-308 4.9e-324 5e-324 2.5e-324 "
             "2.4703282292062327e-324 2.4703282292062328e-324 1e-323 1.5e-323 1e-400 -1e-400 1e-99999999999999999999 "
             "0e99999999999999999999 inf -inf +inf Infinity -INFINITY nan NaN -nan 6.631236871469758276785396630275e-6 "
             "3.2378839133029012895883524125015321748630094e-6 "
             "e5 . + - 1e 1e+ 1.5f 0x1p3 0x10 1..2 1e5.0 1_0 1,5 infin nane + \u0661".split() + ["", " 1", "1 ", "- 1"],
    "bool": "true false t f 1 0 TRUE False T F yes on 2 tru truex 01".split() + ["", " t"],
    "date": "1970-01-01 1970-01-02 1969-12-31 2000-02-29 2000-01-01 2024-02-29 1900-02-28 0001-01-01 0000-01-01 "
            "0000-02-29 -0001-12-31 -0044-03-15 -4712-01-01 9999-12-31 10000-01-01 +10000-01-01 +2024-02-29 5874897-12-31 "
            "9999999-12-31 -9999999-01-01 infinity -infinity Infinity +infinity "
            "1900-02-29 2023-02-29 2024-02-30 2024-04-31 2024-00-01 2024-13-01 2024-01-00 2024-01-32 2024-1-1 24-01-01 "
            "999-01-01 20240101 2024/01/01 01-02-2024 -0000-01-01 10000000-01-01 2024-01 2024-01-01T 2024-01-01T00:00 "
            "2024-W01-1 2024-001 today inf nan".split() + ["", " 2024-01-01", "2024-01-01 "],
    "timestamp": ["", "1970-01-01T00:00:00Z", "1970-01-01", "1970-01-01 00:00", "1970-01-01t00:00:00z",
                  "1970-01-01T00:00:00.000001Z", "1969-12-31T23:59:59.999999Z", "1970-01-01T01:00:00+01:00",
                  "1970-01-01 01:00:00+01", "1970-01-01T01:00:00+0100", "1969-12-31T18:30:00-05:30",
                  "1970-01-01T00:53:28+00:53:28", "1970-01-01T00:00:00-00:00", "2024-02-29T12:34:56.789Z",
                  "2024-02-29 12:34:56,789", "2024-02-29T12:34:56.7890000000", "2000-01-01T00:00:00Z",
                  "2262-04-11T23:47:16.854775Z", "0000-01-01T00:00:00Z", "-290308-12-21T19:59:05.224193Z",
                  "294247-01-10T04:00:54.775806Z", "294247-01-10T05:00:54.775806+01:00", "infinity", "-infinity",
                  "-290308-12-21T19:59:05.224192Z", "294247-01-10T04:00:54.775807Z", "9999999-12-31T00:00:00Z",
                  "-9999999-12-31T00:00:00Z", "1970-01-01T00:00:00.0000001Z", "2016-12-31T23:59:60Z",
                  "1970-01-01T24:00:00Z", "1970-01-01T00:60:00Z", "1970-01-01T00", "1970-01-01T00:00:0Z", "1970-01-01T",
                  "1970-01-01  00:00", "1970-01-01T00:00:00.Z", "1970-01-01T00:00:00 Z", "1970-01-01T00:00:00+24:00",
                  "1970-01-01T00:00:00+1", "1970-01-01T00:00:00+01:", "1970-01-01T00:00:00+01:0", "1970-01-01T00:00:00+01:60",
                  "1970-01-01T00:00:00+010000", "1970-01-01T00:00:00UTC", "1970-01-01Z", "1970-01-01T000000Z",
                  "1970-02-30T00:00:00Z", "1700000000", " 1970-01-01", "1970-01-01 "],
    "uuid": [UUID, UUID.upper(), UUID.replace("-", ""), "{" + UUID + "}", "urn:uuid:" + UUID, "URN:UUID:" + UUID,
             "{" + UUID.replace("-", "") + "}", "00000000-0000-0000-0000-000000000000",
             "ffffffff-ffff-ffff-ffff-ffffffffffff", "", UUID[:-1], UUID + "0", UUID[:-1] + "g", "{" + UUID,
             UUID + "}", "{" + UUID + ")", "123e-4567-e89b-12d3-a456-4266-1417-4000", "123e4567e89b-12d3-a456-426614174000",
             "123e4567-e89b12d3-a456-426614174000", "urn:uuid:{" + UUID + "}", "urn:" + UUID, " " + UUID],
    "numeric": "0 -0 +0 0.000 00 1 +1 -1 1.0 1.50 01.5 1. .5 -.5 0.5 100 1e2 1E+2 10.0e1 0.00001 1e-5 1200e-2 12 "
               "123456789012345678901234567890.123456789 -123.4500 9007199254740993 0.1 0.10 0e999999999999 1e20 "
               "-0.0e-5 NaN nan -nan inf -inf Infinity -INFINITY +infinity 1e16 1.5e-20 "
               "1e131072 1e999999999999999999999 1e-16384 -1e-999999999999999999999 1e 1e+ . + - e1 0x10 1_000 1,000 "
               "1.2.3 12a infi nan1 \u0661".split() + ["", " 1", "1 "],
    "hex": "00 ff FF DeadBeef 0x00ff 0Xab \\x6162 \\X6162 0x 0 abc 0x1 gg x00 00:11 0x0x00".split() + ["", "00 11", " 00"],
    "b64": "AA== AA AAA= AAA AAAA Zm9v Zm9vYg== Zm9vYg +/+/ -_-_ +_+_ -/AA A AAAAA A=== AA= AAAA= AAAA== AAA== AA=A = == "
           "AB AB== AAB AAB= Zm9v.".split() + ["", "Zm9v\u00e9", "Zm 9v", " Zm9v"],
}


def neighbours(rng, n):
    """Decimal texts at the midpoint of two binary64 numbers, exactly, and just beside it: rounding's hardest."""
    for _ in range(n):
        bits = rng.choice([rng.randrange(1, 0x7FEF << 48), rng.randrange(1, 1 << 52), rng.randrange(1, 20)])
        low, high = (decimal.Decimal(struct.unpack("<d", struct.pack("<Q", b))[0]) for b in (bits, bits + 1))
        middle = EXACT.divide(EXACT.add(low, high), decimal.Decimal(2))
        sign, digits, exponent = middle.as_tuple()
        text = "".join(map(str, digits))
        for beside in (text, text + "0" * rng.randrange(900) + "1", str(int(text) * 10 - 1)):
            yield f"{beside}e{exponent - (len(beside) - len(text))}"


def vectors():
    rng = random.Random(20)
    cases = {**CASES, "float": CASES["float"] + list(neighbours(rng, 20))}
    cases.update({ordered: cases[name] for ordered, name in ORDERED.items()})
    yield "# Typed keys: type, text, key in hexadecimal or `error`; separated by tabs. doc/keys.md is the specification."
    for name in TYPES:
        for text in cases[name]:
            key = MODEL[name](text)
            yield f"{name}\t{text}\t{'error' if key is None else key.hex()}"


# ---- descriptions: transformations before the type ----

SPACE = " \t\n\v\f\r"
LOWER = {c: c + 32 for c in range(ord("A"), ord("Z") + 1)}


def described(description, text):
    """The key of a text by a description; a notation is decoded first."""
    name, *transformations = description.split(",")
    if "trim" in transformations:
        text = text.strip(SPACE)
    key = MODEL[name](text)
    if name in ("text", "hex", "b64") and key is not None:
        key = key.strip(SPACE.encode()) if "trim" in transformations else key
        key = key.decode("latin-1").translate(LOWER).encode("latin-1") if "ascii-lower" in transformations else key
    return key


DESCRIBED = {
    "text": ["", " ", "a", " a", "a ", " \t\n\v\f\ra b\r\n", "A", "aZ", " ÄÖ@[`{ ", "\u00a0A\u00a0", "\x00 A \x00", "É\u0130", "\x1fA\x0e"],
    "int": ["7", " 7", "0X7\r", "\t-0xAB ", "", "  ", "7 7", "7\u00a0"],
    "float": [" 1E3 ", "NaN", " -INF\n", "1 .5"],
    "bool": [" TRUE", "T ", "tr ue"],
    "date": [" 2024-02-29\r\n", "2023-02-29 "],
    "timestamp": ["  2024-02-29T12:34:56.789Z ", "2024-02-29 12:34", " 2024-02-29t12:34z"],
    "uuid": [" {123E4567-E89B-12D3-A456-426614174000} ", "urn:UUID:123e4567e89b12d3a456426614174000"],
    "numeric": [" -1.50 ", "NAN", "+Infinity"],
    "hex": ["", " 41 ", "2041\n", "0x20420920", "20", "0920", "4 1", "C1"],
    "b64": ["QUI=", " IEFCIA==\n", "IA==", "Q U", "w4k="],
}


def description_vectors():
    yield "# Key descriptions: description, text and key, both in hexadecimal, or `error`; separated by tabs. doc/keys.md is"
    yield "# the specification."
    for name in TYPES:
        for transformations in "trim", "ascii-lower", "trim,ascii-lower":
            for text in DESCRIBED[ORDERED.get(name, name)]:
                key = described(f"{name},{transformations}", text)
                yield f"{name},{transformations}\t{text.encode().hex()}\t{'error' if key is None else key.hex()}"


# ---- the library against the model, at random ----

def spell_decimal(rng):
    digits = "".join(rng.choice("0123456789") for _ in range(rng.choice([1, 2, 5, 16, 17, 18, 19, 20, 25, 40, 200])))
    at = rng.randrange(len(digits) + 1)
    text = rng.choice(["", "", "-", "+"]) + digits[:at] + rng.choice([".", "."]) * (at < len(digits)) + digits[at:]
    limit = rng.choice([5, 25, 330, 400])
    return text + (rng.choice("eE") + rng.choice(["", "+", "-"]) + str(rng.randrange(limit)) if rng.random() < 0.7 else "")


def spell_float(rng):
    way = rng.randrange(4)
    if way == 0:
        return repr(struct.unpack("<d", struct.pack("<Q", rng.getrandbits(64)))[0])
    if way == 1:
        return "%.*e" % (rng.randrange(25), struct.unpack("<d", struct.pack("<Q", rng.getrandbits(64)))[0])
    if way == 2 and rng.random() < 0.02:
        return next(neighbours(rng, 1))
    return spell_decimal(rng)


def spell_date(rng):
    year = rng.choice([rng.randrange(1, 3000), rng.randrange(300000), rng.randrange(10**7)])
    return f"{rng.choice(['', '', '+', '-'])}{year:04}-{rng.randrange(1, 13):02}-{rng.randrange(1, 32):02}"


def spell_timestamp(rng):
    text = spell_date(rng) + rng.choice("Tt ") + f"{rng.randrange(24):02}:{rng.randrange(60):02}"
    if rng.random() < 0.8:
        text += f":{rng.randrange(61):02}"
        if rng.random() < 0.7:
            text += "." + f"{rng.randrange(10**6):06}"[: rng.randrange(1, 7)] + "0" * rng.randrange(3)
    colon = rng.choice(["", ":"])
    zones = ["", "Z", f"{rng.choice('+-')}{rng.randrange(24):02}{colon}{rng.randrange(60):02}", f"+{rng.randrange(24):02}"]
    return text + rng.choice(zones)


def spell_bytes(rng):
    return rng.randbytes(rng.choice([0, 1, 2, 3, 4, 16, 33]))


def spell_b64(rng):
    encode = rng.choice([base64.b64encode, base64.urlsafe_b64encode])
    text = encode(spell_bytes(rng)).decode()
    return rng.choice([text, text.rstrip("=")])


SPELL = {
    "text": lambda rng: spell_bytes(rng).decode("latin-1"),
    "int": lambda rng: rng.choice(["%d", "%+d", "%#x", "%#X", "%030d"]) % rng.randrange(-(2 ** rng.randrange(1, 66)), 2 ** rng.randrange(1, 66)),
    "float": spell_float,
    "bool": lambda rng: rng.choice(["true", "FALSE", "t", "F", "1", "0"]),
    "date": spell_date,
    "timestamp": spell_timestamp,
    "uuid": lambda rng: rng.choice(["%s", "{%s}", "urn:uuid:%s"]) % rng.choice([str, lambda u: u.hex])(uuid.UUID(bytes=rng.randbytes(16))),
    "numeric": spell_decimal,
    "hex": lambda rng: rng.choice(["", "0x", "\\x"]) + rng.choice([str.upper, str.lower])(spell_bytes(rng).hex()),
    "b64": spell_b64,
}


def damage(rng, text):
    """One byte removed, doubled or changed, in a third of the texts."""
    if not text or rng.random() < 0.67:
        return text
    at = rng.randrange(len(text))
    return text[:at] + rng.choice(["", text[at] * 2, rng.choice("09aexZ+-.:=_/ {")]) + text[at + 1:]


class Library:
    def __init__(self, path):
        self.parse = ctypes.CDLL(path).nay_key_parse
        self.parse.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p,
                               ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_size_t)]
        self.out, self.len = ctypes.create_string_buffer(1 << 18), ctypes.c_size_t()

    def key(self, name, text):
        data = text.encode()
        status = self.parse(TYPES.index(name), data, len(data), None, self.out, len(self.out), self.len)
        return self.out.raw[: self.len.value] if status == 0 else None


def compare(path, count, seed):
    library, rng, wrong = Library(path), random.Random(seed), 0
    for number, name in enumerate(TYPES, 1):
        differ, accepted = [], 0
        for _ in range(count):
            text = damage(rng, SPELL[ORDERED.get(name, name)](rng))
            want = MODEL[name](text)
            accepted += want is not None
            if library.key(name, text) != want:
                differ.append(text)
        wrong += bool(differ)
        print(f"{'not ' if differ else ''}ok {number} - {name}: {count} texts, {accepted} of them values, seed {seed}")
        for text in differ[:5]:
            print(f"# {text!r}: {library.key(name, text)}, the model has {MODEL[name](text)}")
    print(f"1..{len(TYPES)}")
    return 1 if wrong else 0


def main():
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)
    arguments = sys.argv[1:]
    if arguments[:1] == ["--library"]:
        count, seed = (int(a) for a in (arguments[2:] + ["20000", "1"][len(arguments) - 2:]))
        return compare(arguments[1], count, seed)
    files = {"keys/keys.txt": vectors, "keys/descriptions.txt": description_vectors}
    failed = 0
    for number, (name, make) in enumerate(files.items(), 1):
        text = "\n".join(make()) + "\n"
        if arguments != ["--check"]:
            (HERE / name).write_text(text)
            continue
        same = (HERE / name).read_text() == text
        failed += not same
        count = sum(bool(line) and line[0] != "#" for line in text.split("\n"))
        print(f"{'' if same else 'not '}ok {number} - {name} is what the model makes, {count} vectors")
    if arguments == ["--check"]:
        print(f"1..{len(files)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
