"""What the tests of the SQL extensions share: TAP, the nay command, filters with known faults."""
import os
import pathlib
import random
import sqlite3
import subprocess
import sys
import tempfile
import traceback

SOURCE = pathlib.Path(os.environ.get("NAY_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
BUILD = pathlib.Path(os.environ.get("NAY_BUILD", SOURCE / "build/dev"))
PRELOAD = os.environ.get("NAY_SQL_PRELOAD", "")  # the runtime of the sanitizer that the extension was built with
LONG = "--long" in sys.argv
TESTS = []

DEBIAN = "/usr/bin/python3"  # its sqlite3 loads extensions, whatever python3 comes first
if not hasattr(sqlite3.Connection, "enable_load_extension") and sys.executable != DEBIAN and os.path.exists(DEBIAN):
    os.execv(DEBIAN, [DEBIAN, *sys.argv])
if PRELOAD and os.environ.get("LD_PRELOAD") != PRELOAD:
    os.environ["LD_PRELOAD"] = PRELOAD
    os.execv(sys.executable, [sys.executable, *sys.argv])


class Skip(Exception):
    pass


def test(name):
    def mark(function):
        TESTS.append((name, function))
        return function
    return mark


def equal(got, wanted):
    if got != wanted:
        raise AssertionError(f"got {str(got)[:800]!r}, wanted {str(wanted)[:800]!r}")


def main(*arguments):
    """Runs the marked tests, each with the arguments, and prints TAP."""
    failed = 0
    for number, (name, function) in enumerate(TESTS, 1):
        try:
            function(*arguments)
            print(f"ok {number} - {name}", flush=True)
        except Skip as reason:
            print(f"ok {number} - {name} # SKIP {reason}", flush=True)
        except Exception:
            failed += 1
            print(f"not ok {number} - {name}")
            for line in traceback.format_exc().splitlines():
                print(f"# {line}", flush=True)
    print(f"1..{len(TESTS)}")
    return 1 if failed else 0


def nay(*words, text=None, check=True):
    """The nay command of this build; bytes in, bytes out."""
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    run = subprocess.run([str(BUILD / "cli/nay"), *map(str, words)], input=text, capture_output=True, env=environment,
                         timeout=600)
    if check and run.returncode not in (0, 1):
        raise AssertionError(f"nay {words}: {run.stderr.decode()}")
    return run.stdout


def built(keys, *options):
    """The bytes of a filter that the command builds of lines."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "x.nay"
        nay("build", "-q", "-o", path, *options, text="".join(f"{key}\n" for key in keys).encode())
        return path.read_bytes()


def checked(filter_bytes, keys, *options):
    """Which of the keys the command finds in a filter."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "x.nay"
        path.write_bytes(filter_bytes)
        found = nay("check", path, *options, text="".join(f"{key}\n" for key in keys).encode())
        return found.decode().splitlines()


def mutations(seed, good, count):
    """Hostile bytes: flipped bits, lengths, fields and parts of others."""
    rng = random.Random(seed)
    for _ in range(count):
        bytes_ = bytearray(rng.choice(good))
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            way = rng.randrange(6)
            at = rng.randrange(len(bytes_)) if rng.random() < 0.3 else rng.randrange(min(len(bytes_), 160))
            if way == 0:
                bytes_[at] ^= 1 << rng.randrange(8)
            elif way == 1:
                bytes_[at] = rng.choice((0, 1, 0x7f, 0x80, 0xff))
            elif way == 2:
                bytes_[at:at + 8] = rng.choice((0, 1, 2**31, 2**32, 2**63, 2**64 - 1)).to_bytes(8, "little")
            elif way == 3:
                del bytes_[rng.randrange(1, len(bytes_) + 1):]
            elif way == 4:
                bytes_ += rng.randbytes(rng.randrange(1, 65))
            else:
                other = rng.choice(good)
                bytes_[at:at + 64] = other[at:at + 64]
            if not bytes_:
                bytes_ = bytearray(b"\0")
        yield bytes(bytes_)
