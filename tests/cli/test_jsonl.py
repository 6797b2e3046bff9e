#!/usr/bin/env python3
"""JSON lines against Python's json: which lines have a key, and which one; hostile lines, each by its rule."""
import decimal
import json
import os
import random
import struct
import sys

from harness import must, nay, read, run, test, write

EXACT = decimal.Context(prec=100000, Emax=10**17, Emin=-(10**17))


class Bad(Exception):
    pass


class Number(str):
    pass


def number_text(text):
    """The canonical text of a number: no exponent while that takes at most 24 bytes."""
    value = decimal.Decimal(text, EXACT)
    if value == 0:
        return "0"
    sign, digits, exponent = value.as_tuple()
    while digits[-1] == 0:
        digits, exponent = digits[:-1], exponent + 1
    digits = "".join(map(str, digits))
    before = len(digits) + exponent
    size = 2 - before + len(digits) if before <= 0 else before if exponent >= 0 else len(digits) + 1
    minus = "-" if sign else ""
    if size > 24 and exponent != 0 and (before <= 0 or exponent > 0):
        return f"{minus}{digits}e{exponent}"
    if before <= 0:
        return minus + "0." + "0" * -before + digits
    return minus + (digits + "0" * exponent if exponent >= 0 else digits[:before] + "." + digits[before:])


def pairs(items):
    return Object(items)


class Object(list):
    pass


def refuse(text):
    raise Bad("constant " + text)


def texts(line, path):
    """The keys of a line by a path of names and None for []; Bad when it has none."""
    try:
        document = json.loads(line.decode("utf-8"), object_pairs_hook=pairs, parse_int=Number, parse_float=Number, parse_constant=refuse)
    except (ValueError, RecursionError) as why:
        raise Bad(str(why)) from why
    json_ok(document)
    found = list(follow(document, path))
    if not found:
        raise Bad("no elements")
    return found


def json_ok(value):
    """What json.loads lets through: half of a surrogate pair, also in names."""
    if isinstance(value, Object):
        for name, inner in value:
            json_ok(name)
            json_ok(inner)
    elif isinstance(value, list):
        for inner in value:
            json_ok(inner)
    elif isinstance(value, Number):
        exponent = value.lower().partition("e")[2].lstrip("+-").lstrip("0")
        if len(exponent) > 15:
            raise Bad("exponent")
    elif isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
        raise Bad("surrogate")


def follow(value, path):
    if not path:
        if value is None or isinstance(value, list):
            raise Bad("null, object or array")
        yield ("true" if value else "false") if isinstance(value, bool) else number_text(value) if isinstance(value, Number) else value
    elif path[0] is None:
        if not isinstance(value, list) or isinstance(value, Object):
            raise Bad("no array")
        for inner in value:
            yield from follow(inner, path[1:])
    else:
        if not isinstance(value, Object):
            raise Bad("no object")
        named = [inner for name, inner in value if name == path[0]]
        if len(named) != 1:
            raise Bad("missing or twice")
        yield from follow(named[0], path[1:])


def ask(path, lines):
    """For each line the keys that nay finds, or None."""
    write("lines", b"".join(line + b"\n" for line in lines))
    must("build", "-q", "-f", "-n", 1, "-o", "f", "-e", "x")
    if os.path.exists("bad"):
        os.remove("bad")
    done = nay("check", "-a", "--json", "--line-number", "--jsonl", "-k", path, "--on-bad=skip", "--bad-to", "bad", "f", "lines")
    assert done.returncode in (0, 1), done.stderr
    keys = {}
    for row in done.stdout.splitlines():
        row = json.loads(row)
        keys.setdefault(row["line"], []).append(row["key"])
    kept = read("bad") if os.path.exists("bad") else b""
    bad = {int(row.split(b":", 1)[0]) for row in kept.split(b"\n") if row}
    assert not bad & set(keys)
    return [keys.get(i) for i in range(1, len(lines) + 1)], bad


def agree(path, names, lines):
    got, bad = ask(path, lines)
    nbad = 0
    for number, (line, keys) in enumerate(zip(lines, got), 1):
        try:
            want = texts(line, names)
        except Bad:
            want = None
        assert keys == want, (path, line, keys, want)
        blank = not line.strip(b" \t\r")
        assert (number in bad) == (want is None and not blank), (path, line)
        nbad += want is None
    return nbad


def scalar(rng):
    kind = rng.randrange(9)
    if kind < 3:
        return rng.choice(["%d" % rng.randrange(-100, 100), "%d" % rng.getrandbits(rng.choice([20, 63, 64, 80, 130])), "1%s" % ("0" * rng.randrange(30)),
                           "-0", "0.0", "%r" % struct.unpack("<d", struct.pack("<Q", rng.getrandbits(64)))[0], "%.3e" % rng.random(),
                           "%de%d" % (rng.randrange(1000), rng.randrange(-30, 30)), "0.%06d00" % rng.randrange(10**6), "12.5E+1", "1e-400", "1e999999999999999"])
    if kind == 3:
        return rng.choice(["true", "false", "null"])
    text = "".join(rng.choice(["a", "b", "z", " ", "\\n", "\\\"", "\\\\", "\\/", "\\u0041", "\\u00e9", "\\ud83d\\ude00", "\u00e9", "\u20ac", "\U0001f600", "\x7f"])
                   for _ in range(rng.randrange(12)))
    return '"' + text + '"'


def value(rng, depth):
    if depth == 0 or rng.random() < 0.5:
        return scalar(rng)
    blank = rng.choice(["", "", " ", "\t", "\r"])
    if rng.random() < 0.5:
        return "[" + ("," + blank).join(value(rng, depth - 1) for _ in range(rng.randrange(4))) + blank + "]"
    names = ["id", "user", "items", "sku", "\\u0069d", "x", "", "a.b"]
    return "{" + blank + ",".join('"%s"%s:%s%s' % (rng.choice(names), blank, blank, value(rng, depth - 1)) for _ in range(rng.randrange(4))) + "}"


def damaged(rng, line):
    if not line or rng.random() < 0.7:
        return line
    at = rng.randrange(len(line))
    return line[:at] + rng.choice([b"", b",", b'"', b"\\", b"0", b"}", b"\xff", b"\xed\xa0\x80", b"\xc0\x80", b"\x01", b"e", b".", b"-", b"\\ud800"]) + line[at + rng.randrange(2):]


@test("random and damaged lines: the keys that Python's json finds, or bad where it finds none")
def _():
    rng = random.Random(7)
    nbad = total = 0
    for path, names in (("id", ["id"]), ("user.id", ["user", "id"]), ("items[].sku", ["items", None, "sku"]), ("[]", [None]), (".", []),
                        ("[][].id", [None, None, "id"]), ("a\\.b", ["a.b"])):
        lines = []
        for _ in range(4000):
            text = value(rng, 4)
            inner = names
            while inner and rng.random() < 0.9:  # so that the path often leads somewhere
                text = ("[%s]" % ",".join([text] * rng.randrange(1, 3)) if inner[-1] is None else '{"y":[1,{}],"%s":%s}' % (inner[-1], text))
                inner = inner[:-1]
            lines.append(damaged(rng, text.encode()).replace(b"\n", b" "))
        nbad += agree(path, names, lines)
        total += len(lines)
    assert total * 0.1 < nbad < total * 0.95, (nbad, total)


@test("numbers: one canonical text, whatever they are written as; a string of it is the same key")
def _():
    same = [["42", "42.0", "4.2e1", "420E-1", '"42"', "0.42e+2"], ["0", "-0", "0.0", "0e5", "-0.0e-3"], ["1e300", "10e299", "0.1E301"],
            ["100000000000000000000000", "1e23", "1.0e+23"], ["1e24", "1" + "0" * 24], ["-1.5", "-15e-1", "-1.50"],
            ["18446744073709551616", "18446744073709551616.0"], ["1e-30", "0." + "0" * 29 + "1"], ["true", '"true"'],
            ["0.1000000000000000055511151231257827", "0.10000000000000000555111512312578270"]]
    lines = [('{"id":%s}' % text).encode() for group in same for text in group]
    got, bad = ask("id", lines)
    assert not bad
    keys = iter(got)
    distinct = [{tuple(next(keys)) for _ in group} for group in same]
    assert all(len(keys) == 1 for keys in distinct), distinct
    assert len(set.union(*distinct)) == len(same)
    agree("id", ["id"], lines)
    must("build", "-q", "-f", "-n", 9, "--key=int", "--jsonl", "-k", "id", "-o", "i", stdin=b'{"id":42}\n{"id":"0x7"}\n{"id":1.0}\n')
    assert must("check", "-c", "i", "-e", "42", "-e", "7", "-e", "1").stdout == b"3\n"


@test("hostile lines, each by its rule: nothing is lost, nothing counted twice, the next line is read")
def _():
    good = b'{"id":"good"}'
    lines = {
        "invalid UTF-8": b'{"id":"\xff"}', "half a pair": b'{"id":"\\ud800"}', "the other half": b'{"id":"\\udc00x"}',
        "invalid in another field": b'{"id":1,"x":"\xc3("}', "10^6 levels": b'{"id":' + b"[" * 10**6 + b"]" * 10**6 + b"}",
        "10^6 levels elsewhere": b'{"id":1,"x":' + b"[" * 10**6, "1,025 levels": b'{"id":1,"x":' + b"[" * 1024 + b"]" * 1024 + b"}",
        "twice": b'{"id":1,"id":1}', "twice, escaped": b'{"id":1,"i\\u0064":2}', "NaN": b'{"id":NaN}', "Infinity": b'{"id":-Infinity}',
        "an exponent of 17 digits": b'{"id":1e12345678901234567}', "a leading zero": b'{"id":01}', "hexadecimal": b'{"id":0x1}',
        "cut": b'{"id":"a', "two documents": b'{"id":1}{"id":2}', "a comma": b'{"id":1,}', "single quotes": b"{'id':1}", "a comment": b'{"id":1}//',
        "null": b'{"id":null}', "missing": b'{"Id":1}', "an object": b'{"id":{}}', "an array": b'{"id":[1]}', "a scalar": b'"id"', "no JSON": b"id=1",
        "a tab in a string": b'{"id":"a\tb"}', "a BOM inside": b'\xef\xbb\xbf{"id":1}',
    }
    fine = {"CRLF": (b'{"id":"crlf"}\r', "crlf"), "1,023 levels": (b'{"id":1,"x":' + b"[" * 1022 + b"]" * 1022 + b"}", "1"),
            "2^64": (b'{"id":18446744073709551616}', "18446744073709551616"), "a string of 32 MB": (b'{"id":"' + b"x" * 2**25 + b'"}', "x" * 2**25),
            "U+0000": (b'{"id":"\\u0000"}', "\0"), "blanks": (b' \t{ "id" :\r"b" } ', "b")}
    rows = [good]
    for line in lines.values():
        rows += [line, good]
    for line, _ in fine.values():
        rows += [line, good]
    got, bad = ask("id", rows)
    assert got[::2] == [["good"]] * (len(rows) // 2 + 1)
    for number, name in enumerate(lines):
        assert got[1 + 2 * number] is None and 2 + 2 * number in bad, name
    assert len(bad) == len(lines)
    for number, (name, (_, key)) in enumerate(fine.items(), len(lines)):
        assert got[1 + 2 * number] == [key], name
    # a byte order mark at the start is none of the line; the last line may lack its end, or be cut
    done = nay("uniq", "--jsonl", "-k", "id", stdin=b'\xef\xbb\xbf{"id":1}\n{"id":"1"}\n\n{"id":2}')
    assert done.stdout == b'{"id":1}\n{"id":2}\n', done
    done = nay("uniq", "--jsonl", "-k", "id", stdin=b'{"id":1}\n{"id":2')
    assert done.returncode == 0 and done.stdout == b'{"id":1}\n{"id":2\n' and b"line 2: the line ends inside a value (at byte 7)" in done.stderr, done
    done = nay("build", "-n", 9, "-o", "x", "--jsonl", "-k", "id", stdin=b'{"id":1}\n{"id":2')
    assert done.returncode == 2 and not os.path.exists("x"), done
    done = nay("uniq", "--jsonl", "-k", "id", stdin=b'{"id":1}\n\0\n')
    assert done.returncode == 2 and b"is binary, not text: line 2 has a zero byte" in done.stderr, done


@test("whole lines are printed, once, also when several elements are selected; batches split no line")
def _():
    rng = random.Random(3)
    lines = [json.dumps({"n": i, "tags": [rng.randrange(5000) for _ in range(rng.choice([1, 2, 5, 3000]))]}).encode() for i in range(300)]
    write("many", b"".join(line + b"\n" for line in lines))
    seen, first = set(), []
    for line in lines:
        tags = json.loads(line)["tags"]
        if any(tag not in seen for tag in tags):
            first.append(line)
        seen.update(tags)
    for threads in 1, 2:
        assert must("uniq", "-T", threads, "-n", 9000, "--exact", "--jsonl", "-k", "tags[]", "many").stdout.splitlines() == first
        must("build", "-q", "-f", "-T", threads, "-p", "1e-9", "--jsonl", "-k", "tags[]", "-o", "f", "many")
        assert must("check", "-c", "f", *[word for tag in sorted(seen)[:500] for word in ("-e", tag)]).stdout == b"500\n"
        assert must("check", "-T", threads, "--jsonl", "-k", "tags[]", "f", "many").stdout == read("many")
    too_many = json.dumps({"tags": list(range(8193))}).encode()
    got, bad = ask("tags[]", [too_many, b'{"tags":%s}' % json.dumps(list(range(8192))).encode()])
    assert bad == {1} and len(got[1]) == 8192


@test("several fields are one key, which no others have")
def _():
    write("rows", "".join(json.dumps(dict(zip("ab", pair))) + "\n" for pair in [("x", "y"), ("x,y", ""), ('x","', "y"), ("x", 'y"'), (1, "1"), ("1", 1), ("\n", "\t")]))
    done = nay("check", "-a", "--json", "--jsonl", "-k", "a,b", "--on-bad=fail", filter_of("f"), "rows")
    keys = [json.loads(row)["key"] for row in done.stdout.splitlines()]
    assert keys == ['["x","y"]', '["x,y",""]', '["x\\",\\"","y"]', '["x","y\\""]', '["1","1"]', '["1","1"]', '["\\u000a","\\u0009"]'], keys
    assert [json.loads(key) for key in keys[:3]] == [["x", "y"], ["x,y", ""], ['x","', "y"]]


if sys.argv[1:] == ["long"]:
    @test("a string of 1 GB is a key, and the line after it is read")
    def _():
        with open("big", "wb") as file:
            file.write(b'{"id":"')
            for _ in range(1000):
                file.write(b"x" * 10**6)
            file.write(b'"}\n{"id":2}\n')
        assert must("uniq", "-c", "--jsonl", "-k", "id", "big").stdout == b"2\n"
        done = nay("uniq", "-c", "--jsonl", "-k", "id", "--max-record", "1M", "--on-bad=skip", "big")
        assert done.stdout == b"1\n" and b"1 bad record skipped; the first: big: line 1: the record is longer than" in done.stderr, done


def filter_of(name):
    must("build", "-q", "-f", "-n", 1, "-o", name, "-e", "x")
    return name


@test("options: -k is needed and must be a field; what is for other forms is refused")
def _():
    for words, said in ((["--jsonl"], "say which field is the key, by -k"), (["--jsonl", "-k", "a..b"], "not a field such as"),
                        (["--jsonl", "-k", "a[0]"], "not a field such as"), (["--jsonl", "-k", ""], "not a field"), (["--jsonl", "-k", "a[],b"], "stands alone"),
                        (["--jsonl", "-k", "a", "--csv"], "mutually exclusive"), (["--jsonl", "-k", "a", "-F:"], "-F splits lines"),
                        (["--jsonl", "-k", "a", "--header"], "are for --csv"), (["--jsonl", "-k", ",".join("abcdefghijklmnopq")], "more than 16 fields")):
        done = nay("uniq", *words, stdin=b'{"a":1}\n')
        assert done.returncode == 2 and said in done.stderr.decode(), (words, done)
    done = nay("map", "build", "--jsonl", "-k", "a", "-o", "m", stdin=b'{"a":1}\n')
    assert done.returncode == 2 and b"--jsonl: a second field is the value: -k key,value" in done.stderr, done


run()
