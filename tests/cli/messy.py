#!/usr/bin/env python3
"""Messy input against a model in Python: every way to find keys, with bad records, in directories, compressed, of several
files, combined at random with the options that print, count and end. No record is lost, none is counted twice.

    messy.py [ROUNDS [SEED]]     a failure names the seed, the round and the command line
"""
import bz2
import gzip
import json
import lzma
import os
import random
import shutil
import sys

from harness import must, nay, read, run, test, write

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 60
SEED = sys.argv[2] if len(sys.argv) > 2 else "1"
WORDS = ["a", "b", "Zed", "zed", "ZED", " x", "x ", "x", "\ty\t", "7", "007", "0x7", "7.0", "-0", "0", "12", "12.50", "12.5", "é", "É", "q\"r", "long" * 9]


class Record:
    """bytes as they stand in the file, terminator included; keys, None where it is bad; nlines inside."""

    def __init__(self, data, keys, header=False, blank=False):
        self.data, self.keys, self.header, self.blank = data, keys, header, blank


def line(rng):
    word = rng.choice(WORDS)
    return Record(word.encode() + b"\n", [word])


def zero_ended(rng):
    word = rng.choice(WORDS) + rng.choice(["", "\n", "\nmore"])
    return Record(word.encode() + b"\0", [word])


def fields(rng):
    words = [rng.choice(WORDS).replace(":", "") for _ in range(rng.randrange(1, 4))]
    return Record(":".join(words).encode() + b"\n", [words[1]] if len(words) > 1 else None)


def blanks(rng):
    words = [rng.choice(WORDS).strip() for _ in range(rng.randrange(0, 4))]
    text = rng.choice(["", " ", "\t "]) + rng.choice([" ", "  ", "\t"]).join(words) + rng.choice(["", " "])
    return Record(text.encode() + b"\n", [words[1]] if len(words) > 1 else None)


def quoted(rng, word):
    if rng.random() < 0.4 or '"' in word or "\n" in word:
        return '"' + word.replace('"', '""') + '"'
    return word


def row(rng):
    word = rng.choice(WORDS) + rng.choice(["", "", "\nnext"])
    kind = rng.randrange(8)
    end = rng.choice(["\n", "\r\n"])
    if kind == 0:
        return Record(b"only" + end.encode(), None)
    if kind == 1:
        return Record(b'"junk"y,z' + end.encode(), None)
    return Record(("%s,%s%s%s" % (quoted(rng, rng.choice(WORDS)), quoted(rng, word), rng.choice(["", ",more"]), end)).encode(), [word])


def number_text(text):
    """Of the few numbers below."""
    return {"7.0": "7", "-0": "0", "12.50": "12.5"}.get(text, text)


def scalar(rng):
    if rng.random() < 0.3:
        text = rng.choice(["7", "7.0", "-0", "0", "12", "12.50", "12.5", "true"])
        return text, number_text(text)
    word = rng.choice(WORDS)
    return json.dumps(word, ensure_ascii=rng.random() < 0.5), word


def document(rng):
    text, key = scalar(rng)
    return rng.choice([
        lambda: Record(b'{"o":[1,{}],"id":%s}\n' % text.encode(), [key]),
        lambda: Record(b' { "id" : %s } \r\n' % text.encode(), [key]),
        lambda: Record(b'{"ID":%s}\n' % text.encode(), None),
        lambda: Record(b'{"id":%s,"id":1}\n' % text.encode(), None),
        lambda: Record(b'{"id":null}\n', None),
        lambda: Record(b'{"id":%s\n' % text.encode(), None),
        lambda: Record(b'  \n', None, blank=True),
        lambda: Record(b'{"id":NaN}\n', None),
        lambda: Record(b'{"id":"\\ud800"}\n', None),
        lambda: Record(b'{"id":"\xff"}\n', None),
    ])()


def array(rng):
    items = [scalar(rng) for _ in range(rng.randrange(0, 4))]
    return Record(b'{"items":[%s]}\n' % ",".join(text for text, _ in items).encode(), [key for _, key in items] or None)


# options, a record at random, whether --on-bad=line makes sense of it, whether there is a header
FORMATS = {
    "lines": ([], line), "zero": (["-0"], zero_ended), "fields": (["-F:", "-k2"], fields), "blanks": (["-k", "2"], blanks),
    "rows": (["--csv", "-k2"], row), "header": (["--csv", "-k", "key"], row),
    "json": (["--jsonl", "-k", "id"], document), "array": (["--jsonl", "-k", "items[]"], array),
}
PACK = {"": lambda data: data, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
HEADER = b"other,key\n"


class Input:
    """Files of records, and the options by which the command reads them."""

    def __init__(self, rng, name, nfiles, fmt, trim, lower, integers, most):
        self.options, make = FORMATS[fmt]
        self.most = most  # --max-record, or None
        self.options = self.options + (["--max-record", most] if most else [])
        self.rng, self.trim, self.lower, self.integers, self.name = rng, trim, lower, integers, name
        self.zero = fmt == "zero"
        self.json = fmt in ("json", "array")
        self.files = {}  # path: records
        os.makedirs(name)
        for i in range(nfiles):
            deep = rng.choice(["", "d/", "d/e/"])
            pack = rng.choice(list(PACK))
            path = f"{name}/{deep}f{i}{pack}"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            records = [Record(HEADER, None, header=True)] if fmt == "header" else []
            records += [self.settled(make(rng)) for _ in range(rng.choice([0, 1, 5, 40, 300]))]
            data = b"".join(record.data for record in records)
            if records and not records[-1].header and rng.random() < 0.3 and data.endswith((b"\n", b"\0")):  # a last line without its end
                stripped = records[-1].data[:-1]
                if stripped and not stripped.endswith(b"\r"):
                    data = data[:-1]
            if rng.random() < 0.2 and not self.zero and fmt != "lines":
                data = b"\xef\xbb\xbf" + data
            write(path, PACK[pack](data))
            self.files[path] = records

    def settled(self, record):
        """Its keys as they are in the filter; bad when one is no value of the type."""
        if self.most and len(record.data) - 1 > self.most and not record.blank:
            record.keys = None
        if record.keys is None:
            return record
        try:
            record.keys = [self.key(key) for key in record.keys]
        except ValueError:
            record.keys = None
        return record

    def key(self, text):
        data = text.encode()
        if self.trim:
            data = data.strip(b" \t\n\v\f\r")
        if self.lower:
            data = bytes(c + 32 if 65 <= c <= 90 else c for c in data)
        if not self.integers:
            return data
        text = data.decode()
        if not text.isascii() or (text != text.strip()) or "." in text or "_" in text:
            raise ValueError(text)
        value = int(text, 16) if text.lower().startswith("0x") else int(text, 10)
        return b"%d" % value

    def whole(self, record):
        """The key of a bad record with --on-bad=line."""
        end = len(record.data) - 1
        if (self.json or self.options[:1] == ["--csv"]) and record.data[end - 1:end] == b"\r":
            end -= 1
        data = record.data[:end]
        return self.key(data.decode("utf-8", "surrogateescape")) if b"\xff" not in data else self.raw(data)

    def raw(self, data):
        data = data.strip(b" \t\n\v\f\r") if self.trim else data
        return bytes(c + 32 if 65 <= c <= 90 else c for c in data) if self.lower else data

    def typed(self):
        return (["--trim"] if self.trim else []) + (["--ignore-case"] if self.lower else []) + (["--key=int"] if self.integers else [])

    def operands(self):
        """A way to name the files, and their order."""
        rng, paths = self.rng, sorted(self.files, key=lambda path: path.split("/"))
        way = rng.randrange(3)
        if way == 0:
            return ["--recursive", self.name], paths, {}
        rng.shuffle(paths)
        if way == 1:
            return paths, paths, {}
        end = rng.choice(["\n", "\0"])
        names = "".join(path + end for path in paths)
        if rng.random() < 0.5:
            return ["--files-from", "-"], paths, {"stdin": names}
        write("names", names)
        return ["--files-from", "names"], paths, {}


def seen(inputs, paths, mode, answers=True):
    """(path, line, record, keys) of what is read, in order; keys None: bad, and to be passed over or on. Counts and --bad-to."""
    out, kept, total = [], [], {"lines": 0, "keys": 0, "bad": 0}
    for path in paths:
        number = 1
        for i, record in enumerate(inputs.files[path]):
            if record.header:
                number += 1
                total["lines"] += 1
                continue
            bad = record.keys is None and not record.blank
            if bad and mode == "fail":
                break
            keys = [inputs.whole(record)] if bad and mode == "line" else record.keys
            total["lines"] += 1
            total["bad"] += bad
            total["keys"] += len(keys or [])
            if bad:
                kept.append((path, number, record))
            if not record.blank:
                out.append((path, number, record, keys))
            number += 1 if inputs.zero else record.data.count(b"\n")
    return out, kept, total


def same(got, want, what):
    assert got == want, f"{what}:\n  {got!r:.600}\nis not\n  {want!r:.600}"


class Round:
    def __init__(self, rng, where):
        self.rng = rng
        self.fmt = rng.choice(list(FORMATS))
        self.integers = rng.random() < 0.25
        self.input = Input(rng, "in", rng.choice([1, 1, 2, 4]), self.fmt, rng.random() < 0.3, rng.random() < 0.3, self.integers,
                           rng.choice([None, None, 12, 30]))
        self.where = where

    def modes(self):
        return ["fail", "report", "skip", "pass"] + ([] if self.integers else ["line"])

    def call(self, *words, **options):
        self.line = " ".join(map(str, words))
        done = nay(*words, **options)
        assert b"Sanitizer" not in done.stderr, done.stderr.decode("utf-8", "replace")[:3000]
        return done

    def command(self, *first, mode, operands, stdin):
        self.bad_to = f"bad{self.rng.getrandbits(40)}" if mode not in (None, "fail") and self.rng.random() < 0.5 else None
        words = [*first, "-T", self.rng.choice([1, 2]), *self.input.options, *(["--on-bad=" + mode] if mode else []),
                 *(["--bad-to", self.bad_to] if self.bad_to else []), *operands]
        return self.call(*words, **stdin)

    def check_kept(self, kept, several):
        if self.bad_to is None:
            return
        names = several
        want = b"".join((path.encode() + b":" if names else b"") + b"%d:" % number + record.data for path, number, record in kept)
        got = read(self.bad_to) if os.path.exists(self.bad_to) else b""
        # a last record may have had no terminator
        same(got.replace(b"\r\n", b"\n"), want.replace(b"\r\n", b"\n"), "--bad-to")
        assert os.path.exists(self.bad_to) == bool(kept)

    def uniq(self):
        operands, paths, stdin = self.input.operands()
        mode = self.rng.choice(self.modes() + [None])
        repeated, count = self.rng.random() < 0.2, self.rng.random() < 0.2
        done = self.command("uniq", "-n", 5000, "-p", "1e-9", "--stats", *self.input.typed(), *(["-d"] if repeated else []), *(["-c"] if count else []),
                            mode=mode, operands=operands, stdin=stdin)
        rows, kept, total = seen(self.input, paths, mode or "pass")
        known, out, selected = set(), b"", 0
        for _, _, record, keys in rows:
            prints = keys is None and (mode or "pass") == "pass"
            for key in keys or []:
                fresh = key not in known
                known.add(key)
                prints |= fresh != repeated
                selected += fresh != repeated
            out += record.data if prints else b""
        header = HEADER if self.fmt == "header" and paths else b""
        same(done.stdout, b"%d\n" % selected if count else header + out, "uniq")
        failed = mode == "fail" and any(r.keys is None and not r.blank and not r.header for p in paths for r in self.input.files[p])
        same(done.returncode, 2 if failed or (mode == "report" and total["bad"]) else 0, f"status {done.stderr}")
        self.check_kept(kept, len(paths) > 1)
        if not failed:
            text = done.stderr.decode().replace(",", "")
            last = [part for part in text.splitlines() if " in " in part and "lines" in part or "line " in part and " bad" in part][-1]
            numbers = [int(word) for word in last.split() if word.isdigit()][:3]
            same(numbers, [total["lines"], total["keys"], total["bad"]], f"--stats: {last}")

    def build(self):
        """The filter has the keys of all good records and no others; --bad-to and JSON say what it lacks."""
        operands, paths, stdin = self.input.operands()
        mode = self.rng.choice(["skip", "pass", "report"] + ([] if self.integers else ["line"]))
        how = self.rng.choice(["build", "add"])
        if how == "add":
            must("build", "-q", "-f", "-n", 5000, "-p", "1e-9", *self.input.typed(), "-o", "f", "-e", "77")
        done = self.command(*(["build", "-f", "-q", "-n", 5000, "-p", "1e-9", *self.input.typed(), "-o", "f"] if how == "build" else ["add", "-q", "f"]),
                            mode=mode, operands=operands, stdin=stdin)
        rows, kept, total = seen(self.input, paths, mode)
        same(done.returncode, 2 if mode == "report" and total["bad"] else 0, f"status {done.stderr}")
        self.check_kept(kept, len(paths) > 1)
        members = {key for _, _, _, keys in rows for key in keys or []} | ({self.input.key("77")} if how == "add" else set())
        probes = sorted(members) + [b"absent%d" % i if not self.integers else b"%d" % (10**6 + i) for i in range(200)]
        write("probes", b"\0".join(probes) + b"\0" if probes else b"")
        got = must("check", "-0", "-c", "--no-decompress", "f", "probes") if members else None
        if got:
            same(int(got.stdout), len(members), "members")
        return members

    def check(self):
        members = self.build()
        operands, paths, stdin = self.input.operands()
        mode = self.rng.choice(self.modes() + [None])
        rng = self.rng
        # other members: some of them
        chosen = sorted(members)
        rng.shuffle(chosen)
        chosen = chosen[:rng.randrange(len(chosen) + 1)]
        write("some", b"".join(key + b"\0" for key in chosen))
        must("build", "-q", "-f", "-0", "-n", 5000, "-p", "1e-9", *self.input.typed(), "--no-decompress", "-o", "g", "some")
        member = set(chosen)
        invert, shape = rng.random() < 0.4, rng.choice(["", "", "-c", "-l", "-a", "-q"])
        numbers, names = shape in ("", "-a") and rng.random() < 0.4, shape in ("", "-c") and rng.random() < 0.3
        most = rng.choice([0, 1, 2, 7]) if shape in ("", "-c") and rng.random() < 0.3 else None
        done = self.command("check", *([shape] if shape else []), *(["-v"] if invert and shape != "-a" else []), *(["--line-number"] if numbers else []),
                            *(["-H"] if names else []), *(["-m", most] if most is not None else []), "g", mode=mode, operands=operands, stdin=stdin)
        mode = mode or "report"
        want, per_file, hits, failed, nbad, kept_all = b"", {}, 0, False, 0, []
        invert = invert and shape != "-a"
        several = len(paths) > 1
        printed_header, stopped, unread = False, False, set()
        for path in paths:
            rows, kept, _ = seen(self.input, [path], mode)
            selected, nlines = 0, 0
            if self.input.files[path] and self.input.files[path][0].header and not printed_header and shape == "" and most != 0:
                want += (path.encode() + b":" if names or (numbers and several) else b"") + (b"1:" if numbers else b"") + HEADER
                printed_header = True
            ended = most == 0 or (shape in ("-q", "-l") and stopped)
            for _, number, record, keys in rows if not ended else []:
                if most is not None and selected >= most:
                    ended = True
                    break
                before = (path.encode() + b":" if names or (numbers and several) else b"") + (b"%d:" % number if numbers else b"")
                if keys is None:
                    nbad += 1
                    kept_all.append((path, number, record))
                    if mode == "pass" and shape in ("", "-a"):
                        want += before + (b"bad\t" if shape == "-a" else b"") + record.data
                    continue
                if record.keys is None:
                    nbad += 1
                    kept_all.append((path, number, record))
                prints = False
                for key in keys:
                    maybe = key in member
                    if shape == "-a":
                        want += before + (b"maybe\t" if maybe else b"nay\t") + record.data
                        selected += maybe
                    elif maybe != invert:
                        selected += 1
                        prints = True
                        if most is not None and selected >= most:
                            break
                        if shape in ("-q", "-l"):
                            break
                want += before + record.data if prints and shape == "" else b""
                if selected and shape in ("-q", "-l"):
                    ended = True
                    break
            if not ended and mode == "fail" and any(r.keys is None and not r.blank and not r.header for r in self.input.files[path]):
                failed = True
                unread.add(path)
            hits += selected
            per_file[path] = selected
            if shape == "-l" and selected:
                want += path.encode() + b"\n"
            stopped = shape == "-q" and hits > 0
            if stopped:
                break
        if shape == "-c":
            want = b"".join(b"%s:%d\n" % (path.encode(), per_file[path]) for path in paths if path not in unread) if names else b"%d\n" % hits
        if most == 0:
            return  # selects none; what of the header is read is not the subject
        if shape == "-l" and self.input.zero:
            want = want.replace(b"\n", b"\0")
        same(done.stdout, want if shape != "-q" else b"", f"check, members {sorted(member)[:9]}")
        bad_status = failed or (mode == "report" and nbad > 0)
        expected = 2 if bad_status and not (shape == "-q" and hits) else 0 if hits else 1
        if shape not in ("-l", "-q") and most is None:
            same(done.returncode, expected, f"status {done.stderr}")
            self.check_kept(kept_all, several or names)

    def verify(self):
        """Keys that a filter lacks, counted; bad records are no keys."""
        path = sorted(self.input.files)[0]
        mode = self.rng.choice(["skip", "report"] + ([] if self.integers else ["line"]))
        rows, kept, total = seen(self.input, [path], mode)
        keys = [key for _, _, _, keys in rows for key in keys or []]
        member = {key for key in keys if self.rng.random() < 0.9}
        write("some", b"".join(key + b"\0" for key in sorted(member)))
        must("build", "-q", "-f", "-0", "-n", 5000, "-p", "1e-9", *self.input.typed(), "--no-decompress", "-o", "g", "some")
        done = self.command("verify", "--json", "--keys", path, mode=mode, operands=["g"], stdin={})
        found = json.loads(done.stdout)
        missing = sum(key not in member for key in keys)
        same([found["nkeys"], found["nmissing"], found["nbad"]], [len(keys), missing, total["bad"]], "verify")
        assert found["ok"] == (missing == 0 and (mode != "report" or total["bad"] == 0)), found
        self.check_kept(kept, False)

    def pairs(self):
        """diff and common: B's records by the keys of A."""
        other = Input(self.rng, "other", 1, self.fmt, self.input.trim, self.input.lower, self.integers, self.input.most)
        command = self.rng.choice(["diff", "common"])
        mode = self.rng.choice(["skip", "pass"] + ([] if self.integers else ["line"]))
        path = sorted(self.input.files)[0]
        (a,) = other.files
        done = self.command(command, "-n", 5000, "-p", "1e-9", *self.input.typed(), mode=mode, operands=[a, path], stdin={})
        member = {key for _, _, _, keys in seen(other, [a], mode)[0] for key in keys or []}
        want = HEADER if self.fmt == "header" else b""
        for _, _, record, keys in seen(self.input, [path], mode)[0]:
            prints = keys is None and mode == "pass" or any((key in member) == (command == "common") for key in keys or [])
            want += record.data if prints else b""
        same(done.stdout, want, command)
        shutil.rmtree("other")


@test(f"{ROUNDS} rounds of messy input, seed {SEED}: each command against the model")
def _():
    for number in range(ROUNDS):
        rng = random.Random(f"{SEED}-{number}")
        one = Round(rng, number)
        for action in ("uniq", "build", "check", "pairs", "verify"):
            try:
                getattr(one, action)()
            except AssertionError as why:
                if os.environ.get("NAY_KEEP"):
                    shutil.copytree(".", os.environ["NAY_KEEP"], dirs_exist_ok=True)
                raise AssertionError(f"seed {SEED}, round {number}, {action}, {one.fmt}: nay {one.line}\n{why}") from None
        shutil.rmtree("in")


run()
