#!/usr/bin/env python3
"""How keys are given, selected and printed: typed keys against the golden vectors, fields against a model, --max-count
and --line-number against grep, every option against every command that does and does not take it."""
import base64
import gzip
import itertools
import json
import os
import random
import re
import struct
import subprocess
import sys

from harness import NAY, SOURCE, must, nay, read, run, start, test, write

sys.path.insert(0, os.path.join(SOURCE, "tests/golden/native"))
from read_nay import described  # noqa: E402

VECTORS = [line.rstrip("\n").split("\t") for line in open(os.path.join(SOURCE, "tests/golden/keys/keys.txt"), newline="\n")
           if not line.startswith("#")]
TYPES = sorted({vector[0] for vector in VECTORS})


def refused(*words, said, stdin=b""):
    done = nay(*words, stdin=stdin)
    assert done.returncode == 2, (words, done)
    assert said in done.stderr.decode(errors="replace"), (words, done.stderr)
    assert done.stdout == b"", (words, done.stdout)
    return done


def filter_of(name, *keys):
    must("build", "-q", "-f", "-n", 1000, "-p", "1e-9", "-o", name, stdin=b"".join(k + b"\n" for k in keys))
    return name


def bare(name):
    """A filter without what it states of its keys."""
    return described(read(name), None)


def states(name):
    return json.loads(must("info", "--json", name).stdout)["key_description"]


# ---- typed keys ----

@test("every golden vector: the text by -e is the key in hex, or is refused with its argument")
def _():
    assert len(TYPES) == 10 and len(VECTORS) > 400, (TYPES, len(VECTORS))
    for kind, text, key in VECTORS:
        if key == "error":
            refused("build", "-n", 9, "--key", kind, "-o", "x", "-e", text, said=f"argument 1: '")
            assert not os.path.exists("x")
        else:
            must("build", "-q", "-f", "-n", 9, "--key", kind, "-o", "a", "-e", text)
            must("build", "-q", "-f", "-n", 9, "--key=hex", "-o", "b", "-e", key)
            assert bare("a") == read("b"), (kind, text, key)
            assert states("a") == ("text" if kind in ("hex", "b64") else kind), (kind, text)


@test("the vectors of a type as lines, records, fields and columns: the keys of the hex digits, and a bad one by its place")
def _():
    for kind in TYPES:
        good = [(text, key) for t, text, key in VECTORS if t == kind and key != "error" and len(text) < 1000]
        write("hex", "".join(key + "\n" for _, key in good))
        must("build", "-q", "-f", "-n", 500, "--key=hex", "-o", "want", "hex")
        forms = {"lines": ((), "%s\n"), "null": (("-0",), "%s\0"), "crlf": (("--crlf",), "%s\r\n"),
                 "fields": (("-F", "||", "-k2"), "x||%s||y\n"), "csv": (("--csv", "-k2"), 'x,"%s",y\n'),
                 "tsv": (("--tsv", "-k1"), "%s\ty\n")}
        for form, (flags, record) in forms.items():
            texts = [text for text, _ in good]
            if form in ("csv", "fields", "tsv"):
                assert not any(c in text for text in texts for c in '"|\t'), kind
            write("texts", "".join(record % text for text in texts))
            must("build", "-q", "-f", "-n", 500, "--key", kind, *flags, "-o", "got", "texts")
            assert bare("got") == read("want"), (kind, form)
            bad = [text for t, text, key in VECTORS if t == kind and key == "error" and 0 < len(text) < 60]
            for text in [text for text in bad if not any(c in text for c in '"|\t\r')][:3]:
                write("texts", "".join(record % one for one in texts[:2] + [text]))
                number = len(texts[:2]) + 1
                said = f"texts: {'record' if form == 'null' else 'line'} {number}: '"
                refused("build", "-n", 500, "--key", kind, *flags, "-o", "x", "texts", said=said)
                done = nay("check", *(["--key", kind] if number % 2 or kind in ("hex", "b64") else []), *flags, "got", "texts")
                assert done.returncode == 2 and said in done.stderr.decode(), (kind, form, text, done)
                assert done.stdout.count(b"\0" if form == "null" else b"\n") == number - 1, (kind, form, done)


FORMS = {  # framing: options, and the bytes of a record with this text
    "lines": ((), lambda text: text + b"\n"),
    "null": (("-0",), lambda text: text + b"\0"),
    "crlf": (("--crlf",), lambda text: text + b"\r\n"),
    "length": (("--length-prefixed",), lambda text: struct.pack("<I", len(text)) + text),
    "csv": (("--csv",), lambda text: b'"%s"\r\n' % text),
    "csv-column": (("--csv", "-k3", "--header", "--delimiter=;"), lambda text: b'x;;"%s"\n' % text),
    "tsv": (("--tsv", "-k2"), lambda text: b"x\t%s\n" % text),
    "fields": (("-F", "=>", "-k2"), lambda text: b"x=>%s=>y\n" % text),
    "fields-null": (("-0", "-F", "|", "-k1"), lambda text: b"%s|\n|y\0" % text),
    "fields-crlf": (("--crlf", "--header", "-F,", "-k2"), lambda text: b",%s\r\n" % text),
}


@test("every command that reads keys x every framing x every type: the keys of the golden vectors")
def _():
    for number, (kind, (form, (flags, record))) in enumerate(itertools.product(TYPES, FORMS.items())):
        good = [(text.encode(), key) for t, text, key in VECTORS if t == kind and key != "error" and 0 < len(text) < 90
                and not re.search(r'[",;|\t\r\n\\]|=>', text)]
        distinct = {key: text for text, key in good[:12]}
        header = b"a;b;key\n" if form == "csv-column" else b"a,key\n" if form == "fields-crlf" else b""
        write("in", header + b"".join(record(text) for text in distinct.values()))
        write("hex", "".join(key + "\n" for key in distinct))
        n, how = len(distinct), [*flags, f"--key={kind}"]
        assert n >= 2, (kind, form)
        make = ["build", "-q", "-f", "-n", 99, "-p", "1e-9", "-t", "counting"]
        must(*make, "--key=hex", "-o", "want", "hex")
        must(*make, *how, "-o", "got", "in")
        assert bare("got") == read("want"), (kind, form)
        asking = how if number % 3 == 0 or kind in ("hex", "b64") else flags  # the file states the type
        assert must("check", "-c", *asking, "got", "in").stdout == b"%d\n" % n, (kind, form)
        assert must("check", *asking, "got", "in").stdout == read("in"), (kind, form)
        if (number + number // 10) % 2:
            continue  # the others see every framing and every type, in half of the pairs
        must("add", "-q", *asking, "got", "in")
        must("add", "-q", "--key=hex", "want", "hex")
        assert bare("got") == read("want"), (kind, form)
        assert json.loads(must("remove", "--json", *asking, "got", "in").stdout)["nremoved"] == n, (kind, form)
        assert json.loads(must("verify", "--json", *asking, "--keys", "in", "got").stdout)["nkeys"] == n, (kind, form)
        must("convert", "-q", "-f", "--to", "leveldb", *asking, "--keys", "in", "got", "-o", "a")
        must("convert", "-q", "-f", "--to", "leveldb", "--key=hex", "--keys", "hex", "want", "-o", "b")
        assert read("a") == read("b"), (kind, form)
        assert must("uniq", "-c", *how, "in", "in").stdout == b"%d\n" % n, (kind, form)
        assert nay("diff", *how, "in", "in").stdout == header and must("common", "-c", *how, "in", "in").stdout == b"%d\n" % n
        must("sst", "build", "-q", "-f", "--sort", *how, "-o", "t", "in")
        shown = must("sst", "scan", "--key=hex", "--no-values", "t").stdout.decode().splitlines()
        assert shown == sorted(distinct, key=bytes.fromhex), (kind, form, shown)
        assert must("sst", "get", "-c", *asking, "t", "--keys", "in").stdout == b"%d\n" % n, (kind, form)


@test("every framing across batches, from a pipe whose bytes come in pieces of any size")
def _():
    rng = random.Random(5)
    values = {"text": lambda i: (b"%x" % (i * i), None), "int": lambda i: (b"0x%x" % i, struct.pack("<Q", i)),
              "numeric": lambda i: (b"%de%d" % (i, i % 90), b"%d" % i + b"0" * (i % 90)),
              "b64": lambda i: (base64.b64encode(b"k%d" % i), b"k%d" % i)}
    for form, (flags, record) in FORMS.items():
        for kind, value in values.items():
            pairs = [value(i) for i in range(1, 18000)]
            header = b"a;b;key\n" if form == "csv-column" else b"a,key\n" if form == "fields-crlf" else b""
            data = header + b"".join(record(text) for text, _ in pairs)
            write("keys", b"".join(struct.pack("<I", len(key or text)) + (key or text) for text, key in pairs))
            must("build", "-q", "-f", "-n", 20000, "--length-prefixed", "-o", "want", "keys")
            piped = start("build", "-q", "-f", "-n", 20000, f"--key={kind}", *flags, "-o", "got")
            at = 0
            while at < len(data):
                n = rng.choice([1, 7, 4096, 65536, 200000])
                piped.stdin.write(data[at:at + n])
                piped.stdin.flush()
                at += n
            piped.communicate(timeout=60)
            assert piped.returncode == 0 and bare("got") == read("want"), (form, kind)


@test("numerics whose keys are far longer than their text: as many as there are, in any batch")
def _():
    texts = [f"{i}e{10000 + i % 7}" for i in range(1, 400)] + ["1e131071", "-1e-16383", "7"]
    keys = []
    for text in texts:
        digits, exponent = text.split("e") if "e" in text else (text, "0")
        zeros = int(exponent)
        if zeros >= 0:
            keys.append(digits + "0" * zeros)
        else:
            keys.append("-0." + "0" * (-zeros - 1) + digits.lstrip("-"))
    write("texts", "".join(t + "\n" for t in texts))
    write("keys", "".join(k + "\n" for k in keys))
    for threads in 1, 2:
        must("build", "-q", "-f", "-n", 500, "-T", threads, "--key=numeric", "-o", "a", "texts")
        must("build", "-q", "-f", "-n", 500, "-o", "b", "keys")
        assert bare("a") == read("b")
        assert must("check", "-T", threads, "a", "texts").stdout == read("texts")
        first = [text for i, text in enumerate(texts) if keys[i] not in keys[:i]]
        assert must("uniq", "--key=numeric", "-T", threads, "texts", "texts").stdout.decode().split() == first


@test("--key=bytes is --key=text, and u64le has no text")
def _():
    filter_of("f", b"a")
    assert must("check", "--key=bytes", "f", "-e", "a").stdout == b"a\n"
    refused("check", "--key=u64le", "f", "-e", "12345678", said="f: its keys are of type text, and --key says u64le")
    must("build", "-q", "-f", "--key=int", "-o", "i", "-e", "7")
    refused("check", "--key=u64le", "i", "-e", "12345678", said="--key=u64le is for keys in files")
    refused("check", "--key=u64", "f", said="--key: 'u64' is not known; did you mean b64?")
    refused("check", "--key=varchar", "f", said="is not one of text, int, float, bool, date, timestamp, uuid, numeric")


# ---- arguments ----

@test("-e: any bytes but zero, empty ones, thousands; printed as lines, with -0 ended by zero bytes")
def _():
    keys = [b"", b"-", b"--", b"-e", b"a\nb", b"\r", b"\xff\xfe", b"\x1f\x8b\x08", b"nay\n", b" "]
    words = [word for key in keys for word in (b"-e", key)]
    raw = lambda *line: subprocess.run([NAY.encode(), *line], input=b"never read", capture_output=True)
    done = raw(b"build", b"-n", b"99", b"-p", b"1e-9", b"-o", b"f", *words)
    assert done.returncode == 0 and b"10 keys" in done.stderr, done
    assert raw(b"check", b"f", *words).stdout == b"".join(k + b"\n" for k in keys)
    assert raw(b"check", b"-0", b"f", *words).stdout == b"".join(k + b"\0" for k in keys)
    assert raw(b"check", b"-vc", b"f", b"-e", b"x", *words).stdout == b"1\n"
    assert raw(b"check", b"--skip-empty", b"-c", b"f", *words).stdout == b"9\n"
    write("keys", b"".join(k + b"\0" for k in keys))
    must("build", "-q", "-0", "-n", 99, "-p", "1e-9", "-o", "g", "keys")
    assert read("f") == read("g")
    many = [word for i in range(20000) for word in ("-e", i)]
    must("build", "-q", "-o", "m", *many)  # without -n: they are counted
    assert json.loads(must("info", "--json", "m").stdout)["nkeys_planned"] == 20000
    assert must("check", "-c", "m", *many).stdout == b"20000\n"
    assert must("check", "--max-count", 9001, "-c", "m", *many).stdout == b"9001\n"
    assert must("check", "--line-number", "--max-count", 2, "-v", "f", "-e", "", "-e", "x", "-e", "y", "-e", "z").stdout == b"2:x\n3:y\n"


@test("-e for add and remove; exclusive of key files and of options that say how files are read, whatever the command")
def _():
    must("build", "-q", "-t", "counting", "-n", 100, "-o", "f", "-e", "a")
    must("add", "-q", "f", "-e", "b", "-e", "c")
    must("remove", "-q", "f", "-e", "a")
    assert nay("remove", "-q", "f", "-e", "zz").returncode == 1
    assert must("check", "f", "-e", "a", "-e", "b", "-e", "c").stdout == b"b\nc\n"
    write("keys", "k\n")
    before = read("f")
    must("build", "-q", "-f", "--key=int", "-t", "counting", "-n", 9, "-o", "i", "-e", "7")
    for line in ["check", "i"], ["add", "i"], ["remove", "i"], ["build", "-n", 9, "-o", "x"]:
        refused(*line, "--key=u64le", "-e", "7", said="--key=u64le is for keys in files; here each argument is a key")
    for line in ["check", "f"], ["add", "f"], ["remove", "f"], ["build", "-n", 9, "-o", "x"]:
        refused(*line, "keys", "-e", "a", said="one operand too many: 'keys'; -e gives the keys")
        for option in ["--csv"], ["--tsv"], ["-F:"], ["--csv", "-k1"], ["--header"], ["--delimiter=;"], ["--crlf"], \
                ["--length-prefixed"], ["--no-decompress"]:
            refused(*line, *option, "-e", "a", said=" is for keys in files; here each argument is a key as it stands")
    refused("check", "f", "--keys", "keys", "-e", "a", said="--keys and -e are mutually exclusive")
    assert read("f") == before and not os.path.exists("x")
    for command in "info", "verify", "merge", "fold", "uniq", "diff", "common", "convert", "sst":
        refused(command, "-e", "a", "f", "f", said="no option -e")


@test("sst get TABLE KEY...: the keys of the operands, typed too; --older tables; a table as key is told")
def _():
    must("sst", "build", "-q", "-o", "old", stdin="a\t1\nb\t2\n")
    must("sst", "build", "-q", "-o", "new", stdin="a\t3\nc\t4\n")
    assert must("sst", "get", "new", "c", "x", "a").stdout == b"c\t4\na\t3\n"
    assert must("sst", "get", "new", "--older", "old", "b", "a").stdout == b"b\t2\na\t3\n"
    assert must("sst", "get", "--key=hex", "new", "61", "6D").stdout == b"61\t3\n"
    assert must("sst", "get", "-v", "new", "--", "-x", "a").stdout == b"-x\n"
    assert must("sst", "get", "-0", "--no-values", "new", "a").stdout == b"a\0"
    assert must("sst", "get", "--line-number", "--max-count", 1, "new", "x", "c", "a").stdout == b"2:c\t4\n"
    assert b"'old' is a key here; --older reads it as a table" in nay("sst", "get", "new", "old").stderr
    write("keys", "a\n")
    refused("sst", "get", "new", "a", "--keys", "keys", said="--keys and keys as operands are mutually exclusive")
    refused("sst", "get", "new", "a", "--csv", said="--csv is for keys in files")
    must("sst", "build", "-q", "--sort", "--key=int", "-o", "ints", stdin="7\tseven\n-1\tminus\n")
    assert must("sst", "get", "ints", "0x7", "8", "--", "-1").stdout == b"0x7\tseven\n-1\tminus\n"
    refused("sst", "get", "--key=hex", "ints", "07", said="ints: its keys are of type int, and --key says hex: omit --key")
    assert must("sst", "scan", "--key=hex", "--no-values", "--from", "62", "old").stdout == b"62\n"
    refused("sst", "scan", "--key=hex", "--from", "6", "old", said="--from: '6' is not of type hex")


@test("sst: an option of keys is refused by verbs that read none")
def _():
    must("sst", "build", "-q", "-o", "t", stdin="a\t1\n")
    framing = ["--crlf"], ["--length-prefixed"], ["--csv"], ["--tsv"], ["-F:"], ["-k1"], ["--header"], ["--delimiter=;"], \
        ["--skip-empty"], ["--no-decompress"], ["--line-number"], ["-v"], ["--older", "t"], ["--keys", "t"]
    for verb, option in itertools.product(["scan", "info", "compact"], framing):
        refused("sst", verb, "t", *option, said=f" is not for 'nay sst {verb}'")
    for verb, option in itertools.product(["info", "compact"], (["-0"], ["--max-count", "1"], ["-c"])):
        refused("sst", verb, "t", *option, said=f" is not for 'nay sst {verb}'")
    refused("sst", "info", "t", "--key=int", said=" is not for 'nay sst info'")
    for verb in "scan", "info":
        refused("sst", verb, "t", "-T1", said=f" is not for 'nay sst {verb}'")
    for option in ["--max-count=1"], ["--line-number"], ["--older", "t"], ["--keys", "t"]:
        refused("sst", "build", "-o", "x", *option, said=" is not for 'nay sst build'")
    refused("sst", "get", "t", "-f", said="-f is not for 'nay sst get'")


# ---- fields ----

@test("-F and -k: against a model, over separators, lists, line ends and files without the last one")
def _():
    rng = random.Random(16)
    for n in range(60):
        separator = rng.choice([":", "::", ", ", "\t", "ab", "--", '"', ";", "é"])
        alphabet = [c for c in 'xy"\'\\ ,z0' if c not in separator] + [separator[0]] * (len(separator) > 1)
        word = lambda: "".join(rng.choice(alphabet) for _ in range(rng.randrange(4)))
        lines = [separator.join(word() for _ in range(rng.randrange(4, 7))) for _ in range(40)]
        lines = [line for line in lines if len(line.split(separator)) >= 4]
        choice = rng.choice(["1", "2", "4", "1,3", "3,1", "2-3", "2-", "4,1-2", "1-", "2,3-", "1,2,3,4"])
        null, crlf = rng.random() < 0.3, rng.random() < 0.3
        flags = ["-F", "\\t" if separator == "\t" and n % 2 else separator]
        flags += ([] if choice == "1" and n % 2 else ["-k", choice]) + ["-0"] * null + ["--crlf"] * crlf
        end = ("\r" if crlf else "") + ("\0" if null else "\n")
        body = "".join(line + end for line in lines)
        write("lines", body if n % 3 else body[:-1])
        keys = []
        for line in lines:
            fields, chosen = line.split(separator), []
            for part in choice.split(","):
                low, dash, high = part.partition("-")
                chosen += fields[int(low) - 1:(int(high) if high else None) if dash else int(low)]
            keys.append(separator.join(chosen))
        write("keys", "".join(k + "\0" for k in keys))
        must("build", "-q", "-f", "-n", 99, *flags, "-o", "a", "lines")
        must("build", "-q", "-f", "-n", 99, "-0", "-o", "b", "keys")
        assert read("a") == read("b"), (flags, lines, keys)
        shown = [json.loads(line)["key"] for line in must("check", "--json", *flags, "a", "lines").stdout.splitlines()]
        assert shown == keys, (flags, shown, keys)
        assert must("check", *flags, "a", "lines").stdout.decode() == body


@test("-F: too few fields by their line, blank lines, and lists that are none")
def _():
    write("lines", "a:b\n\nc:d\ne\n")
    filter_of("f", b"b", b"d", b"")
    done = nay("check", "-F:", "-k2", "f", "lines")
    assert (done.returncode, done.stdout) == (2, b"a:b\n") and b"lines: line 2: the line has too few fields" in done.stderr
    done = nay("check", "-F:", "-k2", "--skip-empty", "f", "lines")
    assert (done.returncode, done.stdout) == (2, b"a:b\nc:d\n") and b"lines: line 4: the line has too few" in done.stderr
    assert must("check", "-F:", "--header", "-k1-", "f", stdin="x\nb\nd\n").stdout == b"x\nb\nd\n"
    refused("build", "-n", 9, "-o", "x", "-F:", "-k2", "lines", said="line 2: the line has too few fields")
    for bad in "", "0", "2,", ",2", "a", "1-0", "3-2", "1--2", "-2", "1,,2", "1;2", "1.5", "99999999999", "1e1":
        refused("check", "-F:", "-k", bad, "f", said=f"-k: '{bad}' is not a list of fields")
    for bad in "1,1", "1-3,2", "2-,5", "1-,2-":
        refused("check", "-F:", "-k", bad, "f", said=f"-k: '{bad}' has a field twice")
    refused("check", "-F", "", "f", said="-F: the separator is empty")
    refused("check", "-F\n", "f", said="-F: a newline ends the line")
    must("build", "-q", "-f", "--key=int", "-o", "i", "-e", "7")
    for other in "--csv", "--tsv", "--length-prefixed", "--key=u64le":
        refused("check", "-F:", other, "i" if "u64le" in other else "f", said="-F splits lines: it excludes")
    refused("check", "-F:", "--delimiter=:", "f", said="--delimiter is for --csv")
    refused("check", "-kname", "f", said="is a name, which --csv, --tsv and --jsonl have")
    for binary in "--length-prefixed", "--key=u64le":
        refused("check", "--crlf", binary, "i" if "u64le" in binary else "f", said="--crlf is for lines")


# ---- selecting ----

@test("--max-count, --line-number, -v, -c and -q in every combination, over files and standard input: as grep")
def _():
    rng = random.Random(7)
    present = [b"%d" % i for i in range(0, 40, 2)]
    filter_of("f", *present)
    write("present", b"".join(k + b"\n" for k in present))
    for name in "one", "two", "none":
        write(name, b"".join(b"%d\n" % rng.randrange(60) for _ in range(0 if name == "none" else 30)))
    write("far", b"x\n" * 20000 + b"4\n" + b"x\n" * 9000 + b"6\n8\n")  # past several batches
    sets = [["one"], ["one", "two"], ["none"], ["none", "two", "none"], ["one", "missing", "two"], ["far", "one", "far"]]
    for files, most in itertools.product(sets, [None, 0, 1, 2, 3, 50]):
        for numbers, inverted, counts, quiet in itertools.product([False, True], repeat=4):
            ours = ["--max-count", most] * (most is not None) + ["--line-number"] * numbers + ["--invert-match"] * inverted
            theirs = ["-m", str(most)] * (most is not None) + ["-n"] * numbers + ["-v"] * inverted + ["-q"] * quiet
            done = nay("check", *ours, *["-c"] * counts, *["-q"] * quiet, "f", *files)
            names = "-Fxf" if numbers else "-hFxf"  # of several files, beside their numbers
            grep = subprocess.run(["grep", names, "present", *theirs, "--", *files], capture_output=True)
            want = grep.stdout
            if counts and not quiet:  # grep counts by file
                alone = [word for word in theirs if word != "-n"]
                printed = subprocess.run(["grep", "-hFxf", "present", *alone, "--", *files], capture_output=True).stdout
                want = b"" if most == 0 else b"%d\n" % printed.count(b"\n")
            assert (done.returncode, done.stdout) == (grep.returncode, want), (ours, counts, quiet, files, done, grep)


@test("--max-count ends the command when the input goes on for ever, or says no more")
def _():
    filter_of("f", b"a")
    endless = subprocess.Popen(["yes", "a"], stdout=subprocess.PIPE)
    done = subprocess.run([NAY, "check", "--max-count", "3", "f"], stdin=endless.stdout, capture_output=True, timeout=60)
    endless.stdout.close()
    endless.wait()
    assert (done.returncode, done.stdout) == (0, b"a\na\na\n")
    for words in ["check", "f"], ["common", "a", "-"], ["check", "f", "a", "-"]:
        write("a", "a\n")
        silent = start(*words[:1], "--max-count", 1, *words[1:])
        silent.stdin.write(b"a\n")
        silent.stdin.flush()  # and stays open
        assert silent.wait(timeout=60) == 0
        assert set(silent.stdout.read()) == set(b"a\n")
        silent.stdin.close()
    assert nay("check", "--max-count", 0, "f", "missing").returncode == 1


@test("an answer that is known ends the command, wherever the reading thread is: in a file, at its end, at a pipe without a writer")
def _():
    filter_of("f", b"a")
    write("a", "a\n")
    write("a.gz", gzip.compress(b"a\n"))
    os.mkfifo("pipe")
    for _ in range(40):
        assert nay("check", "-q", "f", "a", "a.gz", "missing", "a.gz").returncode == 0
        assert nay("check", "-q", "f", "a.gz", "pipe").returncode == 0
        assert must("check", "--max-count", 1, "f", "a.gz", "a", "a.gz").stdout == b"a\n" * 3
    assert must("uniq", "-q", "a", "a", "pipe").stdout == b""


@test("diff and common: --max-count and --line-number of B")
def _():
    write("a", "1\n2\n3\n")
    write("b", "3\n9\n1\n8\n2\n")
    assert must("common", "--line-number", "a", "b").stdout == b"1:3\n3:1\n5:2\n"
    assert must("diff", "--line-number", "a", "b").stdout == b"2:9\n4:8\n"
    assert must("common", "--max-count", 2, "a", "b").stdout == b"3\n1\n"
    j = json.loads(must("common", "--max-count", 2, "-c", "--json", "a", "b").stdout)
    assert (j["nkeys"], j["nselected"]) == (3, 2), j
    assert must("diff", "--json", "--line-number", "a", "b").stdout == b'{"key":"9","line":2}\n{"key":"8","line":4}\n'
    assert nay("diff", "--max-count", 0, "a", "b").returncode == 1
    for command in "uniq", "build", "add", "remove", "verify", "convert", "info":
        for option in "--max-count=1", "--line-number", "--invert-match":
            refused(command, option, "a", said=f"no option {option.split('=')[0]}")


@test("line numbers: rows of several lines, skipped and blank ones, headers, each file from 1")
def _():
    must("build", "-q", "-n", 99, "-p", "1e-9", "-o", "f", "-e", "k", "-e", "a\nb")
    write("rows.csv", 'x,y\nk,1\n"a\nb",2\n\nk,3\n')
    assert must("check", "--csv", "-kx", "--line-number", "f", "rows.csv", "rows.csv").stdout == \
        b'rows.csv:1:x,y\n' + 2 * b'rows.csv:2:k,1\nrows.csv:3:"a\nb",2\nrows.csv:6:k,3\n'
    assert must("check", "--csv", "-kx", "--line-number", "f", "rows.csv").stdout == b'1:x,y\n2:k,1\n3:"a\nb",2\n6:k,3\n'
    assert must("check", "--skip-empty", "--line-number", "f", stdin="\n\nk\n\nk\n").stdout == b"3:k\n5:k\n"
    assert must("check", "-0", "--line-number", "f", stdin="x\0k\0").stdout == b"2:k\0"
    assert must("check", "-a", "--line-number", "f", stdin="x\nk\n").stdout == b"1:nay\tx\n2:maybe\tk\n"
    assert must("check", "--which", "--line-number", "f", stdin="x\nk\n").stdout == b"2:k\tf\n"
    assert must("check", "--length-prefixed", "--json", "--line-number", "f", stdin=struct.pack("<I", 1) + b"k").stdout == \
        b'{"key":"k","line":1,"maybe":true}\n'


# ---- carriage returns ----

@test("every key ends in CR: said once, by every command that reads lines; not when one does not, nor when --crlf drops it")
def _():
    hint = b"every key ends in a carriage return (CR), which is a part of it; --crlf drops it"
    must("build", "-q", "-t", "counting", "-n", 99, "-o", "f", "-e", "a", "-e", "b")
    must("sst", "build", "-q", "-o", "t", stdin="a\t1\n")
    write("dos", "a\r\nb\r\n" * 10000)
    write("unix", "a\nb\n")
    commands = [["check", "f"], ["add", "f"], ["build", "-f", "-o", "x"], ["build", "-f", "-n", 9, "-o", "x"], ["remove", "f"],
                ["uniq"], ["verify", "f", "--keys"], ["sst", "get", "t", "--keys"], ["diff", "unix"], ["common", "unix"],
                ["convert", "--to", "leveldb", "f", "-f", "-o", "x", "--keys"]]
    for command, threads in itertools.product(commands, (1, 2)):
        done = nay(*command, "dos", "-T", threads)
        assert done.stderr.count(hint) == 1, (command, done)
        assert hint not in nay(*command, "dos", "-q").stderr, command
        for flags in (["--crlf"], ["-0"], ["--csv"]):
            assert hint not in nay(*command, "dos", *flags).stderr, (command, flags)
        assert hint not in nay(*command, "unix").stderr, command
    write("mixed", "a\r\n" * 9000 + "b\n" + "a\r\n")
    assert hint not in nay("check", "f", "mixed").stderr
    assert hint not in nay("check", "f", "/dev/null").stderr
    assert hint not in nay("check", "f", "-e", "a\r").stderr
    assert hint in nay("check", "-F:", "-k2", "f", stdin="x:a\r\n").stderr
    must("build", "-q", "--key=int", "-o", "i", "-e", "7")
    done = nay("check", "i", stdin="7\r\n")
    assert done.returncode == 2 and done.stderr.endswith(b"; --crlf drops the carriage return\n"), done


# ---- creating ----

@test("add --create: makes what build -n makes, then adds; another plan is an error; nothing without -n or with -o")
def _():
    write("keys", "".join(f"{i}\n" for i in range(50)))
    for size in ["-n", 100], ["-n", 100, "-p", "0.1%"], ["-n", 100, "-b", 12], ["-n", 100, "-M", 500], \
            ["-n", 100, "-t", "counting"], ["-n", 100, "-t", "scalable", "-p", "1e-4"], ["-n", 100, "-t", "cuckoo"], \
            ["-n", 100, "-b", 10, "--format", "leveldb"]:
        layout = [w for w in size if w in ("--format", "leveldb")]
        must("build", "-q", "-f", *size, "-o", "want", "keys")
        must("add", "-q", "--create", *size, "f", "keys")
        assert read("f") == read("want"), size
        if "scalable" not in size and "cuckoo" not in size:  # those depend on the adds
            must("add", "-q", "--create", *size, "f", "-e", "x")
            must("add", "-q", *layout, "want", "-e", "x")
            assert read("f") == read("want"), size
        os.remove("f")
    must("add", "-q", "--create", "-n", 100, "-p", "1%", "-t", "blocked", "f", "keys")
    before = read("f")
    for option, value in ("-n", "101"), ("-p", "0.1%"), ("-t", "bloom"), ("-b", "30"), ("-M", "4k"):
        size = ["-n", 100] if option != "-n" else []
        refused("add", "--create", *size, option, value, "f", "keys", said=f"{option}: f exists, a blocked filter for 100 keys at ")
        refused("add", option, value, "f", "keys", said=f"{option} is for a new filter: --create makes one")
    assert read("f") == before
    refused("add", "--create", "g", "keys", said="--create needs -n")
    refused("add", "--create", "-n", 9, "-o", "h", "g", "keys", said="--create makes the filter itself: it excludes -o")
    refused("add", "--create", "-n", 9, "-", "keys", said="a filter from standard input needs -o FILE")
    for static in "fuse", "xor", "ribbon":
        refused("add", "--create", "-n", 9, "-t", static, "g", "keys", said=f"a {static} filter is static")
    refused("add", "--create", "-n", 9, "g", "missing", said="cannot open missing")
    assert not os.path.exists("g") and not os.path.exists("h")
    refused("add", "g", "keys", said="g: cannot be opened: No such file or directory")
    write("secret", "0123456789abcdef")
    must("add", "-q", "--create", "-n", 99, "--secret", "secret", "g", "keys")
    must("add", "-q", "--create", "-n", 99, "--secret", "secret", "g", "-e", "x")
    assert must("check", "-c", "--secret", "secret", "g", "-e", "x", "-e", "7").stdout == b"2\n"
    refused("add", "--create", "-n", 99, "g", "keys", said="g is keyed: give its key with --secret")
    assert nay("add", "--create", "--strict", "-n", 10, "-p", "1%", "small", "keys").returncode == 4
    os.symlink("target", "link")
    must("add", "-q", "--create", "-n", 99, "link", "keys")
    assert os.path.islink("link") and os.path.isfile("target")


# ---- names and JSON ----

@test("query, insert, show and version: the commands they stand for, in help, in corrections")
def _():
    must("insert", "-q", "--create", "-n", 9, "f", "-e", "a")
    assert must("query", "f", "-e", "a").stdout == must("check", "f", "-e", "a").stdout == b"a\n"
    assert must("show", "f").stdout == must("info", "f").stdout
    assert must("version").stdout == must("--version").stdout == must("-V").stdout
    assert must("version", "--json").stdout == must("--version", "--json").stdout
    assert must("help", "query").stdout == must("check", "--help").stdout
    assert b"nay query is the same" in must("help", "check").stdout
    assert must("man", "show").stdout == must("man", "info").stdout
    assert b"Other names: query for check, show for info, insert for add." in must("help").stdout
    assert b"did you mean query?" in nay("quer").stderr
    refused("version", "x", said="one operand too many")


@test("bench -t: some families, by name, each once; --floor takes one")
def _():
    rows = must("bench", "-t", "fuse,bloom,fuse", "-n", 1000, "--csv").stdout.splitlines()
    assert [row.split(b",")[0] for row in rows] == [b"kind", b"bloom", b"fuse"], rows
    for bad in "", "bloom,", ",bloom", "bloom,,fuse", "blomo", "bloom fuse":
        assert nay("bench", "-n", 1000, "-t", bad).returncode == 2, bad
    refused("bench", "-t", "bloom,auto", said="auto stands for all and stands alone")
    refused("bench", "-t", "bloom,fuze", said="did you mean fuse?")
    write("keys", "a\nb\n")
    refused("bench", "--floor", "keys", "-t", "bloom,blocked", said="--floor builds one filter")
    must("bench", "--floor", "keys", "-t", "bloom")


@test("JSON gives back any key: random bytes in every framing, texts of typed keys as they were given")
def _():
    rng = random.Random(3)
    keys = [bytes(rng.choice([rng.randrange(256), 34, 92, 0xc3, 0xa9, 0x7f]) for _ in range(rng.randrange(9))) for _ in range(2000)]
    keys += ["é".encode(), "\u2028".encode(), "\U0001f600".encode(), b"\xf4\x90\x80\x80", b"\xed\xa0\x80", b"\xc0\x80", b"\xef\xbf\xbf"]
    filter_of("f", b"none")
    decode = lambda v: v.encode() if isinstance(v, str) else base64.b64decode(v["b64"])
    framed = {"--length-prefixed": b"".join(struct.pack("<I", len(k)) + k for k in keys)}
    framed["-0"] = b"".join(k.replace(b"\0", b"") + b"\0" for k in keys)
    for flag, data in framed.items():
        write("keys", data)
        for command in ["check", "-a", "--json", flag, "f", "keys"], ["diff", "--json", flag, "/dev/null", "keys"]:
            lines = nay(*command).stdout.splitlines()
            shown = [decode(json.loads(line.decode("utf-8"))["key"]) for line in lines]
            assert shown == [k.replace(b"\0", b"") if flag == "-0" else k for k in keys], command
    for kind, text, key in VECTORS:
        if key != "error" and len(text) < 1000:
            must("build", "-q", "-f", "-n", 9, "--key", kind, "-o", "typed", stdin=b"")
            line = nay("check", "-a", "--json", *(["--key", kind] if kind in ("hex", "b64") else []), "typed", "-e", text).stdout
            assert json.loads(line)["key"] == text, (kind, text, line)
    write("prefixed", framed["--length-prefixed"])
    must("sst", "build", "-q", "--sort", "--length-prefixed", "-o", "t", "prefixed")
    shown = [decode(json.loads(line)["key"]) for line in must("sst", "scan", "--json", "t").stdout.splitlines()]
    assert shown == sorted(set(keys))


@test("every option of every command is in its help, its manual page and nowhere else")
def _():
    names = re.findall(r"^  ([a-z]+)  ", must("help").stdout.decode(), re.M)
    for name in names:
        text = must(name, "--help").stdout.decode().split("\nExamples\n")[0]
        options = set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", text, re.M))
        page = read(os.path.join(SOURCE, "doc", "man", f"nay-{name}.1.md")).decode()
        assert options == set(re.findall(r"^`(?:-\w, )?--([a-z-]+)", page, re.M)), name
        for option in {"element", "max-count", "line-number", "invert-match", "field-separator", "key", "create", "older"} - options:
            done = nay(name, f"--{option}=1", stdin=b"")
            assert done.returncode == 2 and b"no option --" in done.stderr, (name, option, done)


run()
