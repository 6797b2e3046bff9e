#!/usr/bin/env python3
"""Every command against Python's sets, over generated inputs with too little room as one dimension.

    reference.py [ROUNDS [SEED]]

A round draws two lists of keys (repeats, empty keys, long ones, nothing at all), a framing, a family and
an amount of room, and runs every command on them. What must hold: no present key is denied; what is
printed is a subsequence of what an exact program prints, or contains it; beyond the rate that was promised
nothing is lost or added unless a warning says so; counts and exit statuses are those of the manual.
A failure prints the seed, the round and the command line.
"""
import base64
import collections
import datetime
import functools
import json
import math
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "golden" / "native"))
from read_nay import described  # noqa: E402

NAY = pathlib.Path(os.environ["NAY_BUILD"]) / "cli" / "nay"
DEFAULT_FPR = {"build": 0.01, "uniq": 1e-6, "diff": 1e-6, "common": 1e-6}
FRAMINGS = ["lines", "cut", "crlf", "null", "hex", "b64", "int", "u64le", "length", "csv", "csv-name", "tsv",
            "fields", "fields-list", "fields-range", "fields-null", "fields-header", "uuid", "date", "timestamp",
            "float", "numeric", "csv-int"]
# the type that a file of such keys states; text for all others
STATED = {framing: framing for framing in ("int", "uuid", "date", "timestamp", "float", "numeric")}
STATED.update({"u64le": "int", "csv-int": "int"})
NUMBERS = ("int", "u64le", "date", "timestamp", "float", "csv-int")  # keys of 8 bytes
EPOCH = datetime.datetime(1970, 1, 1)
WARNING = b"has a false-positive rate of "
GROUPS = ["build", "check", "explain", "add", "remove", "merge", "fold", "convert", "uniq", "diff", "common",
          "info", "verify", "extract", "sst", "map", "list"]
counts, warned = collections.Counter(), collections.Counter()
failures = collections.defaultdict(list)


@functools.cache
def traits():
    """What each family of the registry can do, as the command says it."""
    plans = json.loads(subprocess.run([NAY, "plan", "--json", "-n", "1000"], capture_output=True, check=True).stdout)
    return {plan["kind"]: plan for plan in plans["candidates"]}


def kinds(*wanted, but=None):
    """The families that can do all of `wanted`, and not `but`."""
    return [kind for kind, plan in traits().items()
            if all(plan[trait] for trait in wanted) and not plan.get(but, False)]


def write_lines(keys, to):
    to.write_bytes(b"".join(key + b"\n" for key in keys))


class Wrong(Exception):
    """A property does not hold."""


class Data:
    """Keys as a framing writes them: the file, the options, and the record that stands for each key."""

    def __init__(self, directory, name, framing, keys, rng):
        self.keys, self.header, self.flags = keys, b"", []
        self.records = [self.record(framing, key, i, rng) for i, key in enumerate(keys)]
        body = b"".join(self.records)
        if framing == "csv-name":
            self.header = b"number,key,more\n"
        if framing == "fields-header":
            self.header = b"number key\n"
        if framing == "cut":
            body = body[:-1]
        self.path = directory / name
        self.path.write_bytes(self.header + body)
        if framing == "cut" and keys and keys[-1] == b"":  # nothing stands after the last newline
            self.keys, self.records = keys[:-1], self.records[:-1]

    def record(self, framing, key, i, rng):
        if framing == "null":
            self.flags = ["-0"]
            return key + b"\0"
        if framing == "crlf":
            self.flags = ["--crlf"]
            return key + rng.choice([b"\r\n", b"\n"])
        if framing == "hex":
            self.flags = ["--key", "hex"]
            return (key.hex().upper() if i % 2 else key.hex()).encode() + b"\n"
        if framing == "b64":
            self.flags = ["--key", "b64"]
            return base64.b64encode(key) + b"\n"
        if framing == "int":
            self.flags = ["--key", "int"]
            return b"%s%d\n" % (b"00" if i % 3 == 0 else b"", struct.unpack("<Q", key)[0])
        if framing in ("date", "timestamp", "float", "uuid", "numeric"):
            self.flags = ["--key=" + framing]
            return spelled(framing, key, i) + b"\n"
        if framing == "csv-int":
            self.flags = ["--csv", "-k", "2", "--key=int"]
            return b'%d,"%d",x\n' % (i, struct.unpack("<q", key)[0])
        if framing == "fields":
            self.flags = ["-F", "|", "-k", "2"]
            return b'"%d|%s|x\n' % (i, key)  # a quote is a character like others
        if framing == "fields-list":  # the key is the third field and the first, which is empty
            self.flags = ["-F", "::", "-k", "3,1"]
            return b"::%d::%s\n" % (i, key.removesuffix(b"::"))
        if framing == "fields-range":
            self.flags = ["--crlf", "-F\\t", "-k2-"]
            return b"%d\t%s%s" % (i, key.replace(b" ", b"\t"), b"\r\n" if i % 2 else b"\n")
        if framing == "fields-null":
            self.flags = ["-0", "-F\n", "-k", "2"]
            return b"%d\n%s\0" % (i, key)
        if framing == "fields-header":
            self.flags = ["-F", " ", "-k", "2-", "--header"]
            return b"%d %s\n" % (i, key)
        if framing == "u64le":
            self.flags = ["--key", "u64le"]
            return key
        if framing == "length":
            self.flags = ["--length-prefixed"]
            return struct.pack("<I", len(key)) + key
        if framing == "csv":
            self.flags = ["--csv", "-k", "2"]
            return b'%d,"%s",x\n' % (i, key.replace(b'"', b'""'))
        if framing == "csv-name":
            self.flags = ["--csv", "-k", "key"]
            return b'%d,"%s",x\n' % (i, key.replace(b'"', b'""'))
        if framing == "tsv":
            self.flags = ["--tsv", "-k", "2"]
            return b"%d\t%s\n" % (i, key)
        return key + b"\n"

    def taken(self, output, only=None):
        """The indices of the records that were printed, in order; Wrong when it is anything else."""
        check(output.startswith(self.header), "the header is not printed first, also when no row follows")
        at, taken = len(self.header), []
        for i in range(len(self.records)) if only is None else only:
            if output.startswith(self.records[i], at):
                taken.append(i)
                at += len(self.records[i])
        check(at == len(output), "the output is not a subsequence of the input")
        return taken

    def first(self):
        seen = {}
        for i, key in enumerate(self.keys):
            seen.setdefault(key, i)
        return sorted(seen.values())


def spelled(kind, key, i):
    """A text of this type whose key is `key`: of several spellings one that i chooses."""
    if kind == "uuid":
        text = str(uuid.UUID(bytes=key))
        return [text, text.upper(), "{%s}" % text, text.replace("-", ""), "urn:uuid:" + text][i % 5].encode()
    if kind == "date":
        return (EPOCH + datetime.timedelta(days=struct.unpack("<q", key)[0])).strftime("%Y-%m-%d").encode()
    if kind == "timestamp":
        at = EPOCH + datetime.timedelta(microseconds=struct.unpack("<q", key)[0])
        if i % 2:
            return (at + datetime.timedelta(hours=5)).strftime("%Y-%m-%d %H:%M:%S.%f+05:00").encode()
        return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ").encode()
    if kind == "float":
        value = struct.unpack("<d", key)[0]
        return [repr(value), "%.20e" % value, "+" + repr(value)][i % 3].encode()
    digits = key.decode()  # numeric: a whole number, or one with a fraction
    return [digits, "0" + digits, digits + "e0", digits + "0e-1" if "." not in digits else digits + "00"][i % 4].encode()


class Run:
    """One run of the command, and its group: what it belongs to in the count."""

    def __init__(self, group, *words):
        self.words = [str(w) for w in words]
        done = subprocess.run([NAY, *self.words], capture_output=True, timeout=120, check=False)
        self.out, self.err, self.status = done.stdout, done.stderr, done.returncode
        self.warned = WARNING in self.err
        counts[group] += 1
        warned[group] += self.warned
        Run.last = self

    def json(self):
        return json.loads(self.out.splitlines()[-1])

    def expect(self, *statuses):
        check(self.status in statuses, f"exit status {self.status}, not {statuses}: {self.err.decode(errors='replace')}")
        return self


def check(holds, what):
    if not holds:
        raise Wrong(what)


def allowed(fpr, n):
    """So many false positives among n keys are no wonder: small filters scatter around their rate."""
    mean = 2.2 * fpr * n
    return mean + 6 * math.sqrt(mean) + 6


class Round:
    """The inputs of one round, and a method for each group."""

    def __init__(self, seed, number, group, directory):
        self.rng = rng = random.Random(f"{seed}/{number}/{group}")
        self.directory = directory
        self.framing = FRAMINGS[number % len(FRAMINGS)]
        pool = rng.choice([0, 1, 3, 60, 700, 3000])
        self.make = self.makers(pool)
        a = [self.make(rng.randrange(pool)) for _ in range(pool and rng.choice([pool, 2 * pool]))]
        b = [self.make(rng.randrange(pool // 2, pool // 2 + 2 * pool + 1)) for _ in range(pool)]
        self.a = Data(directory, "a", self.framing, a, rng)
        self.b = Data(directory, "b", self.framing, b, rng)
        self.set_a = set(self.a.keys)
        self.flags = self.a.flags or self.b.flags or Data(directory, "x", self.framing, [self.make(0)], rng).flags
        self.absent = {k for k in self.b.keys if k not in self.set_a}
        self.stated = STATED.get(self.framing, "text")
        self.asking = self.without_key() if rng.random() < 0.5 else self.flags
        self.kind = rng.choice(["auto", *kinds()])
        self.tight = rng.random() < 0.5
        self.fpr = rng.choice([0, 0.01, 1e-3, 1e-4])
        self.n = 0

    def without_key(self):
        """The flags of a command that opens a native file: it states the type, and --key need not be given."""
        if self.framing in ("hex", "b64", "u64le"):  # notations, which no file states
            return self.flags
        flags = [flag for flag in self.flags if not flag.startswith("--key=")]
        at = flags.index("--key") if "--key" in flags else len(flags)
        return flags[:at] + flags[at + 2 :]

    def makers(self, pool):
        salt = self.rng.randrange(1 << 30)
        if self.framing in ("date", "timestamp"):
            step = 1 if self.framing == "date" else 86399999999
            return lambda i: struct.pack("<q", (i - 50) * step + salt % 1000)
        if self.framing == "float":
            return lambda i: struct.pack("<d", (i + 1) / 7 + salt)
        if self.framing in NUMBERS:
            return lambda i: struct.pack("<Q", i * 2654435761 + salt)
        if self.framing == "uuid":
            return lambda i: struct.pack("<QQ", i * 2654435761, salt)
        if self.framing == "numeric":
            return lambda i: b"%d" % (i + salt) if i % 3 else b"%d.%d5" % (i, salt)
        if self.framing == "fields-list":
            return lambda i: b"%d key::" % (i + salt)
        if self.framing == "fields-range":
            return lambda i: b"" if i == 1 else b"%d\tkey" % (i + salt)
        if self.framing in ("hex", "b64", "length"):
            return lambda i: b"" if i == 1 else b"%d\n\0\xff" % (i + salt)
        long = 300000 if pool == 60 else 50
        return lambda i: b"" if i == 1 else b"x" * long if i == 2 else b"%d key \xc3\xa4" % (i + salt)

    def file(self):
        self.n += 1
        return self.directory / f"f{self.n}"

    def room(self, command, distinct):
        """Options for the size; the rate they promise, None where only the plan does."""
        default = DEFAULT_FPR[command]
        if self.tight:
            few = max(1, distinct // self.rng.choice([3, 10, 100]))
            choice = self.rng.choice(["n", "b", "M"])
            if choice == "n":
                return ["-n", few] + (["-p", self.fpr] if self.fpr else []), self.fpr or default
            small = ["-b", self.rng.choice([1, 2, 4])] if choice == "b" else ["-M", self.rng.choice([64, 256, 1024])]
            return small, None if command == "build" else default
        size = self.rng.choice([[], ["-n", max(1, distinct)], ["-n", 3 * distinct + 5]])
        return size + (["-p", self.fpr] if self.fpr else []), self.fpr or default

    def make_filter(self, data, kind, group="build"):
        """A filter of the keys of data, the rate to hold it to; None when the family says that it cannot."""
        distinct = len(set(data.keys))
        size, promised = self.room("build", distinct)
        path = self.file()
        r = Run(group, "build", "--json", "-t", kind, *size, *self.flags, "-o", path, data.path)
        if r.status == 2 and (b"cannot build" in r.err or b"the filter is full" in r.err or b"copies of a key" in r.err):
            check(not path.exists(), "refused, and yet wrote a file")
            return None, None
        r.expect(0)
        j = r.json()
        check(j["nkeys"] == len(data.keys), f"nkeys {j['nkeys']}, not {len(data.keys)}")
        if kind == "window" and b"it may deny the older ones" in r.err:
            self.holds_latest(path, data, j["nkeys_planned"], group)
            return None, None
        check(j["overfilled"] == r.warned, "overfilled and the warning do not agree")
        if not distinct and "-n" not in size and kind not in ("xor", "fuse", "ribbon"):
            check(b"the input has no keys" in r.err, "no word of an empty input")
        if promised is None:
            promised = j["fpr_planned"] or 0
        return path, 1 if r.warned else promised

    def holds_latest(self, path, data, nkeys, group):
        """A window that was given more keys than it holds: those it promises."""
        last = Data(self.directory, "last", self.framing, data.keys[max(0, len(data.keys) - nkeys):], self.rng)
        r = Run(group, "check", "-c", *self.asking, path, last.path).expect(0 if last.keys else 1)
        check(int(r.out) == len(last.keys), "a window denies one of its last keys")

    def holds(self, path, keys, promised, group, *flags):
        """No key of `keys` is denied; false positives are as promised. Returns the run."""
        asking = self.flags if "--format" in flags else self.asking
        r = Run(group, "check", *flags, *asking, path, self.b.path).expect(0, 1)
        taken = set(self.b.taken(r.out))
        missing = [i for i, key in enumerate(self.b.keys) if key in keys and i not in taken]
        check(not missing, f"{len(missing)} present keys are denied")
        r.expect(0 if taken else 1)
        maybes = {self.b.keys[i] for i in taken} - keys
        absent = set(self.b.keys) - keys
        check(r.warned or len(maybes) <= allowed(promised, len(absent)),
              f"{len(maybes)} of {len(absent)} absent keys are maybes, promised {promised}, and no warning")
        return r

    # ---- the groups ----

    def build(self):
        path, promised = self.make_filter(self.a, self.kind)
        if path:
            self.holds(path, self.set_a, promised, "build")

    def check(self):
        path, _ = self.make_filter(self.a, self.kind, "check")
        if not path:
            return
        plain = Run("check", "check", *self.asking, path, self.b.path)
        taken = self.b.taken(plain.out)
        inverted = self.b.taken(Run("check", "check", "-v", *self.asking, path, self.b.path).out)
        check(sorted(taken + inverted) == list(range(len(self.b.keys))), "-v is not the complement")
        r = Run("check", "check", "-c", *self.asking, path, self.b.path).expect(0 if taken else 1)
        check(int(r.out) == len(taken), "-c counts otherwise")
        Run("check", "check", "-q", *self.asking, path, self.b.path).expect(0 if taken else 1)
        r = Run("check", "check", "--strict", *self.asking, path, self.b.path)
        r.expect(4 if plain.warned else plain.status)
        self.check_select(path, taken)
        self.check_contradiction(path)
        notes = Run("check", "check", "-a", "--json", *self.asking, path, self.b.path).out.splitlines()
        answers = [json.loads(line)["maybe"] for line in notes]
        check(answers == [i in set(taken) for i in range(len(self.b.keys))], "--json answers otherwise")

    def check_contradiction(self, path):
        """A --key that the file contradicts is refused, before any key is read."""
        for other in ("text", "int", "uuid"):
            if other != self.stated:
                r = Run("check", "check", f"--key={other}", path, "-e", "7").expect(2)
                check(f"its keys are of type {self.stated}, and --key says {other}".encode() in r.err and not r.out, "refused otherwise")

    def check_select(self, path, taken):
        """--max-count, --line-number and -e, alone and with -v, -c and -q."""
        most = self.rng.choice([0, 1, 2, len(taken), len(taken) + 1])
        first = taken[:most]
        r = Run("check", "check", "--max-count", most, *self.asking, path, self.b.path).expect(0 if first else 1)
        check(r.out in (b"", self.b.header) if not first else self.b.taken(r.out) == first, "--max-count prints otherwise")
        r = Run("check", "check", "--max-count", most, "-c", *self.asking, path, self.b.path).expect(0 if first else 1)
        check(r.out == (b"%d\n" % len(first) if most else b""), "--max-count -c counts otherwise")
        Run("check", "check", "--max-count", most, "-q", *self.asking, path, self.b.path).expect(0 if first else 1)
        rest = [i for i in range(len(self.b.keys)) if i not in set(taken)][:most]
        r = Run("check", "check", "--max-count", most, "-vc", "--json", *self.asking, path, self.b.path)
        if most:
            j = r.expect(0 if rest else 1).json()
            check((j["nselected"], j["nkeys"]) == (len(rest), rest[-1] + 1 if len(rest) == most else len(self.b.keys)),
                  f"--max-count -vc --json: {j}")
        r = Run("check", "check", "--json", "--line-number", *self.asking, path, self.b.path)
        numbers = [json.loads(line)["line"] for line in r.out.splitlines()]
        check(numbers == [i + 1 + (self.b.header != b"") for i in taken], "--line-number --json numbers otherwise")
        if self.framing in ("lines", "tsv", "int", "uuid", "fields", "csv-name"):
            r = Run("check", "check", "--line-number", *self.asking, path, self.b.path)
            want = b"".join(b"%d:%s" % (i + 1 + (self.b.header != b""), self.b.records[i]) for i in taken)
            check(r.out == (b"1:" + self.b.header if self.b.header else b"") + want, "--line-number")
        self.check_arguments(path, taken)

    def check_arguments(self, path, taken):
        """What -e answers for the texts is what the file gives."""
        if self.framing not in ("lines", "null", "hex", "b64", "int", "uuid", "date", "timestamp", "float", "numeric"):
            return
        some = [i for i in range(len(self.b.keys)) if len(self.b.records[i]) < 1000][:40]
        texts = [self.b.records[i][:-1].decode() for i in some]
        if not texts:
            return
        words = [word for text in texts for word in ("-e", text)]
        r = Run("check", "check", *self.asking, path, *words)
        check(r.out == b"".join(self.b.records[i] for i in some if i in set(taken)), "-e answers otherwise than the file")
        made = self.file()
        Run("check", "build", "-n", 1000, *self.flags, "-o", made, *words).expect(0)
        data = Data(self.directory, "some", "length", [self.b.keys[i] for i in some], self.rng)
        same = self.file()
        Run("check", "build", "-n", 1000, "--length-prefixed", "-o", same, data.path).expect(0)
        check(described(made.read_bytes(), None) == same.read_bytes(), "build -e makes another filter than the keys do")

    def explain(self):
        """Answers are those of check; with --keys, in any framing, a key of the file is known as one."""
        path, _ = self.make_filter(self.a, self.kind, "explain")
        if not path or self.framing not in ("lines", "null", "hex", "b64", "int", "uuid", "date", "timestamp", "float",
                                            "numeric"):
            return
        some = [i for i in range(len(self.b.keys)) if len(self.b.records[i]) < 1000][:10]
        texts = [self.b.records[i][:-1].decode() for i in some]
        if not texts:
            return
        words = [word for text in texts for word in ("-e", text)]
        answers = Run("explain", "check", "--json", "-a", *self.asking, path, *words).out.splitlines()
        r = Run("explain", "explain", "--json", *self.asking, path, *words, "--keys", self.a.path)
        found = [json.loads(line) for line in r.out.splitlines()]
        check([one["maybe"] for one in found] == [json.loads(line)["maybe"] for line in answers], "explain answers otherwise")
        members = set(self.a.keys)
        check([one["is_member"] for one in found] == [self.b.keys[i] in members for i in some], "--keys knows other keys")
        check(all(one["maybe"] or not one["is_member"] for one in found), "a present key is denied")
        check(all(one["nkeys"] == len(self.a.keys) for one in found), "--keys reads other keys")

    def add(self):
        kind = self.rng.choice(["auto", *kinds("add")])
        path, promised = self.make_filter(self.a, kind, "add")
        if not path:
            return
        r = Run("add", "add", "--json", *self.asking, path, self.b.path)
        if r.status == 2:
            check(b"the filter is full" in r.err or b"copies of a key" in r.err, "fails without a reason")
            self.holds(path, self.set_a, 1, "add")
            return
        r.expect(0)
        check(r.json()["nkeys"] == len(self.b.keys), "nkeys is wrong")
        if kind == "window":
            self.holds_latest(path, self.b, r.json()["nkeys_planned"], "add")
            return
        check(r.json()["overfilled"] == r.warned, "overfilled and the warning do not agree")
        self.holds(path, self.set_a | set(self.b.keys), promised, "add")
        absent = Data(self.directory, "c", self.framing, [self.make(1000000 + i) for i in range(2000)], self.rng)
        maybes = int(Run("add", "check", "-c", *self.asking, path, absent.path).out)
        check(r.warned or maybes <= allowed(promised, 2000), f"{maybes} of 2000 are maybes, promised {promised}")

    def remove(self):
        kind = self.rng.choice(kinds("remove"))
        once = Data(self.directory, "once", self.framing, [self.a.keys[i] for i in self.a.first()], self.rng)
        path = self.file()
        n = len(once.keys) // 5 if self.tight and kind == "counting" else 2 * len(once.keys)
        Run("remove", "build", "-t", kind, "-n", max(1, n), *self.flags, "-o", path, once.path).expect(0)
        some = [k for k in once.keys if self.rng.random() < 0.5]
        gone = Data(self.directory, "gone", self.framing, some, self.rng)
        r = Run("remove", "remove", "--json", *self.asking, path, gone.path).expect(0)
        j = r.json()
        check((j["nkeys"], j["nremoved"], j["nmissing"]) == (len(gone.keys), len(gone.keys), 0), "counts")
        left = set(once.keys) - set(gone.keys)
        self.holds(path, left, 1 if r.warned else 0.01, "remove")

    def merge(self):
        # one plan for both, as a merge needs
        n = max(1, len(self.set_a | set(self.b.keys)) // (20 if self.tight else 1))
        kind = self.rng.choice(kinds("merge"))
        paths = [self.file(), self.file()]
        for path, data in zip(paths, [self.a, self.b]):
            Run("merge", "build", "-t", kind, "-n", n, *self.flags, "-o", path, data.path).expect(0)
        out, other = self.file(), self.file()
        plain = kind in kinds("merge", but="remove") and not traits()[kind]["grow"]  # plain sets of bits
        type_of_other = "date" if self.stated != "date" else "text"
        Run("merge", "build", "-t", kind, "-n", n, f"--key={type_of_other}", "-o", other, "-e", "2024-02-29").expect(0)
        for mode in ["merge", other, "-o", out], ["merge", "--intersect", other, "-o", out], ["check", "--any", other], \
                ["check", "--all", other], ["check", "--which", other]:
            if "--intersect" in mode and not plain:
                continue
            r = Run("merge", mode[0], paths[0], *mode[1:], "--keys" if mode[0] == "check" else "-q",
                    *([self.b.path] if mode[0] == "check" else [])).expect(2)
            check(b"type " + self.stated.encode() in r.err and not out.exists(), "two types of keys are not told")
        r = Run("merge", "merge", "--json", *paths, "-o", out)
        if r.status == 1:
            check(b"above 50.0%" in r.err and not out.exists(), "refused for no reason")
            out = self.file()
            r = Run("merge", "merge", "--json", "--max-fpr", "99.99%", *paths, "-o", out)
            if r.status == 1:
                return
        r.expect(0)
        check(r.json()["overfilled"] == r.warned, "overfilled and the warning do not agree")
        self.holds(out, self.set_a | set(self.b.keys), 1 if r.warned else 0.01, "merge")
        both = self.file()
        if plain:
            Run("merge", "merge", "--intersect", *paths, "-o", both).expect(0)
            self.holds(both, self.set_a & set(self.b.keys), 1, "merge")

    def fold(self):
        path, out = self.file(), self.file()
        n = max(1, len(self.set_a))
        n = 2 * n if self.tight else 16 * n
        Run("fold", "build", "-t", "blocked", "-n", n, "--fold", 8, *self.flags, "-o", path, self.a.path).expect(0)
        how = ["--factor", 8] if self.rng.random() < 0.5 else []
        r = Run("fold", "fold", *how, path, "-o", out).expect(0, 1)
        check(out.exists() == (r.status == 0), "a fold by nothing writes a file, or a fold none")
        if r.status == 1:
            return
        self.holds(out, self.set_a, 1 if r.warned else 0.01, "fold")

    def convert(self):
        path, out = self.file(), self.file()
        n = max(1, len(set(self.a.keys)) // (20 if self.tight else 1))
        Run("convert", "build", "-n", n, *self.flags, "-o", path, self.a.path).expect(0)
        to = self.rng.choice(["leveldb", "mini-lsm", "nori", "nori12", "lab", "rocksdb-bloom"])
        Run("convert", "convert", "--to", to, path, "-o", out).expect(2)
        r = Run("convert", "convert", "--to", to, "--keys", self.a.path, *self.asking, path, "-o", out)
        if r.status == 2 and not self.a.keys:
            return
        r.expect(0)
        check((b"has no place for the type of the keys" in r.err) == (self.stated != "text"), "a lost type is not told")
        self.holds(out, self.set_a, 1 if r.warned else 0.05, "convert", "--format", to)
        if self.set_a:
            wrong = Run("convert", "check", "--format", to, *self.flags, path, self.a.path)
            wrong.expect(3)

    def uniq(self):
        first = self.a.first()
        size, promised = self.room("uniq", len(first))
        kind = self.rng.choice(["auto", "bloom", "blocked", "counting"])
        r = Run("uniq", "uniq", "-t", kind, *size, *self.flags, self.a.path)
        if r.status == 2 and b"cannot build" in r.err:
            return
        r.expect(0)
        taken = self.a.taken(r.out, first)
        lost = len(first) - len(taken)
        check(r.warned or lost <= allowed(promised, len(first)), f"{lost} of {len(first)} lines lost without a word")
        j = Run("uniq", "uniq", "--json", "-t", kind, *size, *self.flags, self.a.path).json()
        check((j["nkeys"], j["nunique"], j["nrepeats"]) == (len(self.a.keys), len(taken), len(self.a.keys) - len(taken)),
              "--json counts otherwise")
        check(j["overfilled"] == r.warned, "overfilled and the warning do not agree")
        repeats = Run("uniq", "uniq", "-d", "-t", kind, *size, *self.flags, self.a.path).out
        rest = b"".join(record for i, record in enumerate(self.a.records) if i not in set(taken))
        check(repeats.removeprefix(self.a.header) == rest, "-d is not the complement")
        exact = Run("uniq", "uniq", "--exact", *self.flags, self.a.path).expect(0)
        check(self.a.taken(exact.out, first) == first, "--exact is not exact")
        with open(self.a.path, "rb") as pipe:
            done = subprocess.run([NAY, "uniq", *map(str, size), *self.flags], stdin=pipe, capture_output=True, check=False)
        counts["uniq"] += 1
        lost = len(first) - len(self.a.taken(done.stdout, first))
        check(WARNING in done.stderr or lost <= allowed(promised, len(first)), f"{lost} lines of a pipe lost without a word")
        self.uniq_state(size, promised)

    def uniq_state(self, size, promised):
        state = self.file()
        size = size or ["-n", 10000]
        Run("uniq", "uniq", *size, "--state", state, *self.flags, self.a.path).expect(0)
        fresh = [i for i in self.b.first() if self.b.keys[i] not in self.set_a]
        r = Run("uniq", "uniq", *size, "--state", state, *self.asking, self.b.path).expect(0)
        taken = self.b.taken(r.out, fresh)
        lost = len(fresh) - len(taken)
        check(r.warned or lost <= allowed(promised, len(fresh)), f"--state: {lost} of {len(fresh)} lost without a word")

    def compare(self, command):
        distinct = len(self.set_a)
        size, promised = self.room(command, distinct)
        kind = self.rng.choice(["auto", *kinds(but="expire")])
        r = Run(command, command, "-t", kind, *size, *self.flags, self.a.path, self.b.path)
        if r.status == 2 and (b"cannot build" in r.err or b"the filter is full" in r.err):
            return
        taken = self.b.taken(r.out)
        r.expect(0 if taken else 1)
        printed = {self.b.keys[i] for i in taken}
        if command == "diff":
            check(not printed & self.set_a, "a key of A is printed")
            wrong = self.absent - printed
        else:
            check(all(i in set(taken) for i, k in enumerate(self.b.keys) if k in self.set_a), "a common key is missing")
            wrong = printed - self.set_a
        check(r.warned or len(wrong) <= allowed(promised, len(self.absent)),
              f"{len(wrong)} of {len(self.absent)} keys wrong without a word")
        c = Run(command, command, "-c", "-t", kind, *size, *self.flags, self.a.path, self.b.path)
        check(int(c.out) == len(taken), "-c counts otherwise")
        s = Run(command, command, "--strict", "-t", kind, *size, *self.flags, self.a.path, self.b.path)
        s.expect(4 if r.warned else r.status)
        j = Run(command, command, "-c", "--json", "-t", kind, *size, *self.flags, self.a.path, self.b.path).json()
        check((j["nkeys"], j["nselected"], j["overfilled"]) == (len(self.b.keys), len(taken), r.warned), "--json differs")

    def diff(self):
        self.compare("diff")

    def common(self):
        self.compare("common")

    def info(self):
        path, _ = self.make_filter(self.a, self.kind, "info")
        if not path:
            return
        r = Run("info", "info", "--json", path).expect(0)
        j = r.json()
        check(j["checksum"] == "ok" and j["nbytes"] == path.stat().st_size, "size or checksum are wrong")
        check(j["key_description"] == self.stated, f"states {j['key_description']}, not {self.stated}")
        check(j["overfilled"] == r.warned, "overfilled and the warning do not agree")
        n = len(self.set_a)
        # cuckoo holds copies, and a window a repeated key in each of its generations
        if not r.warned and self.kind not in ("cuckoo", "window") and j["fpr_now"] < 0.2 and j["k"] > 1:
            slack = 8 * math.sqrt(n) + 8
            check(abs(j["nkeys_estimated"] - n) <= slack, f"estimates {j['nkeys_estimated']} keys, there are {n}")
        Run("info", "info", "--strict", path).expect(4 if r.warned else 0)

    def verify(self):
        path, _ = self.make_filter(self.a, self.kind, "verify")
        if not path:
            return
        r = Run("verify", "verify", "--json", "--keys", self.a.path, *self.asking, path).expect(0)
        j = r.json()
        check((j["nkeys"], j["nmissing"], j["ok"]) == (len(self.a.keys), 0, True), "verify does not find the keys")
        check(j["overfilled"] == r.warned, "overfilled and the warning do not agree")
        r = Run("verify", "verify", "--json", "--random", 4000, path).expect(0, 1)
        j = r.json()
        check(r.warned or r.status == 0 or j["fpr_low"] > j["fpr_promised"], "breaks a promise that it keeps")

    def sst_table(self, group):
        """A table of the distinct keys as text, without tabs and newlines."""
        keys = sorted({b"%s" % k.hex().encode() for k in self.set_a} - {b""})
        rows, table = self.directory / "rows", self.file()
        rows.write_bytes(b"".join(b"%s\tv%s\n" % (k, k[-3:]) for k in keys))
        kinds = ["full", "partitioned", "leveldb", "small", "none"]
        kind = self.rng.choice(kinds[:3] if group == "extract" else kinds)
        small = ["-b", self.rng.choice([1, 2])] if self.tight and kind != "none" else []
        Run(group, "sst", "build", "-q", "--filter", kind, *small, "-o", table, rows).expect(0)
        probes = [k.hex().encode() for k in self.b.keys if k]
        return keys, table, Data(self.directory, "probes", "lines", probes, self.rng), kind

    def sst(self):
        keys, table, probes, _ = self.sst_table("sst")
        scan = Run("sst", "sst", "scan", table)
        check(scan.out == b"".join(b"%s\tv%s\n" % (k, k[-3:]) for k in keys), "scan prints otherwise")
        got = Run("sst", "sst", "get", "--no-values", table, "--keys", probes.path)
        want = [k for k in probes.keys if k in set(keys)]
        check(got.out == b"".join(k + b"\n" for k in want), "get prints otherwise")
        got.expect(0 if want else 1)
        Run("sst", "sst", "info", "--verify", table).expect(0)
        maybes = set(probes.taken(Run("sst", "check", table, probes.path).out))
        check(all(i in maybes for i, k in enumerate(probes.keys) if k in set(keys)), "check denies a key of the table")

    def map(self):
        keys = sorted({k.hex().encode() for k in self.set_a} - {b""})
        bits, check_bits = self.rng.choice([1, 3, 8, 31, 64]), self.rng.choice([0, 0, 20])
        values = {k: self.rng.getrandbits(bits) for k in keys}
        rows, path = self.directory / "map-rows", self.file()
        doubled = keys + self.rng.sample(keys, len(keys) // 3)
        self.rng.shuffle(doubled)
        rows.write_bytes(b"".join(b"%s\t%d\n" % (k, values[k]) for k in doubled))
        if bits + check_bits > 64:
            check_bits = 0
        r = Run("map", "map", "build", "--json", "-r", bits, "--check", check_bits, "-o", path, rows).expect(0)
        j = r.json()
        check((j["nkeys"], j["ndistinct"]) == (len(doubled), len(keys)), "counts otherwise")
        Run("map", "map", "verify", "--keys", rows, path).expect(0)
        probes = [k.hex().encode() for k in self.b.keys if k]
        data = Data(self.directory, "map-probes", "lines", probes, self.rng)
        out = Run("map", "map", "get", "-q", path, "--keys", data.path).out.splitlines()
        got = dict(line.split(b"\t") for line in out)
        check(all(got.get(k) == b"%d" % values[k] for k in probes if k in values), "a value is wrong")
        if check_bits == 0:
            check(len(out) == len(probes), "a map without check bits has a value for every key")

    def list(self):
        """Exact lists and deltas against Python's sets."""
        universe = sorted({k.hex().encode() for k in self.set_a | set(self.b.keys)} - {b""})
        share = self.rng.choice([0, 0.02, 0.2, 0.5, 0.8, 1])
        listed = {k for k in universe if self.rng.random() < share}
        all_file, listed_file, path = self.directory / "list-all", self.directory / "list-listed", self.file()
        partitions = self.rng.choice([[], ["--partition-prefix", self.rng.choice([1, 2])], ["--partition-delimiter", "7"]])
        check_bits, low = self.rng.choice([0, 0, 24]), self.rng.choice([[], [], ["--low-memory"]])
        write_lines(universe + self.rng.sample(universe, len(universe) // 4), all_file)
        write_lines(self.rng.sample(sorted(listed), len(listed)), listed_file)
        r = Run("list", "list", "build", "--json", "--check", check_bits, *partitions, *low, "--universe", all_file, "-o", path, listed_file).expect(0)
        j = r.json()
        check((j["ndistinct"], j["nlisted"]) == (len(universe), len(listed)), "counts otherwise")
        check(j["nbits_bound"] <= j["nbits"], "below the bound")
        self.list_answers([path], universe, listed, all_file, listed_file)
        once_file = self.directory / "list-once" # each key once
        write_lines(self.rng.sample(universe, len(universe)), once_file)
        if check_bits == 0:
            twice = self.file()
            Run("list", "list", "build", "-q", "--two-passes", *partitions, *low, "--universe", once_file, "-o", twice, listed_file).expect(0)
            check(pathlib.Path(twice).read_bytes() == pathlib.Path(path).read_bytes(), "two passes build another list")
        outside = self.directory / "list-outside"
        write_lines([b"x%d" % i for i in range(50)], outside)
        said = Run("list", "list", "check", "-q", "-a", path, "--keys", outside).out.splitlines()
        check(len(said) == 50, "not annotated")
        if check_bits:
            check(sum(line.startswith(b"unknown\t") for line in said) >= 49, "keys outside are not unknown")
        now = {k for k in universe if self.rng.random() < 0.05} ^ listed
        now_file, delta = self.directory / "list-now", self.file()
        write_lines(sorted(now), now_file)
        r = Run("list", "list", "delta", "--json", "--universe", all_file, "-o", delta, path, now_file).expect(0)
        check(r.json()["nlisted"] == len(now ^ listed), "the delta has other changes")
        self.list_answers([path, delta], universe, now, all_file, now_file)

    def list_answers(self, paths, universe, listed, all_file, listed_file):
        keys = self.directory / "list-keys"
        write_lines(universe, keys)
        for flags, want in (([], listed), (["-v"], set(universe) - listed)):
            lines = b"".join(k + b"\n" for k in universe if k in want)
            r = Run("list", "list", "check", "-q", *flags, *paths, "--keys", keys).expect(0 if lines else 1)
            check(r.out == lines, "other keys are selected")
        Run("list", "list", "verify", "--universe", all_file, "--keys", listed_file, *paths).expect(0)

    def extract(self):
        keys, table, _, kind = self.sst_table("extract")
        r = Run("extract", "extract", "--json", table).expect(0, 1)
        if r.status == 1 or kind != "full":
            return
        out = self.file()
        Run("extract", "extract", table, "-o", out).expect(0)
        lines = Data(self.directory, "table-keys", "lines", keys, self.rng)
        check(int(Run("extract", "check", "-c", out, lines.path).out) == len(keys), "the filter denies keys of its table")


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    seed = sys.argv[2] if len(sys.argv) > 2 else "14"
    for number in range(rounds):
        for group in GROUPS:
            with tempfile.TemporaryDirectory() as directory:
                one = Round(seed, number, group, pathlib.Path(directory))
                try:
                    getattr(one, group)()
                except (Wrong, ValueError, KeyError, IndexError, subprocess.TimeoutExpired) as e:
                    where = f"seed {seed}, round {number}, {one.framing}, {len(one.a.keys)} and {len(one.b.keys)} keys"
                    failures[group].append(f"{where}: {e!r}: nay {' '.join(Run.last.words)}")
    print(f"1..{len(GROUPS) + 1}")
    for i, group in enumerate(GROUPS, 1):
        bad = failures[group]
        print(f"{'not ok' if bad else 'ok'} {i} - {group}: {counts[group]} runs, {warned[group]} warned of too little room")
        for text in bad[:3]:
            print(f"# {len(bad)} failures; {text}")
    total = sum(warned.values())
    print(f"{'ok' if total > rounds else 'not ok'} {len(GROUPS) + 1} - too little room was drawn often enough: {total}")
    return 1 if any(failures.values()) or total <= rounds else 0


sys.exit(main())
