#!/usr/bin/env python3
"""Filters from nay to other systems' own readers and back, live: bits-and-blooms/bloom of Go, Guava, DCSO's bloom.

Both directions for each form: the same bytes, every member maybe, and the answers for absent keys are those of the
engine. Engines that are not installed are skipped, with a line that says so. Prints TAP.
"""
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
NAY = pathlib.Path(os.environ.get("NAY_BUILD", HERE.parent.parent / "build" / "dev")) / "cli" / "nay"
GO_SOURCE = pathlib.Path("/usr/share/gocode/src/github.com/bits-and-blooms/bloom")
GUAVA = pathlib.Path("/usr/share/java/guava.jar")
ABSENT = 2000
SIZES = [(1, "0.01"), (2, "0.5"), (7, "0.000001"), (12, "0.393"), (97, "0.03"), (333, "0.015625"), (1000, "0.001"), (5000, "0.25")]


class Different(Exception):
    pass


def nay(*words):
    done = subprocess.run([NAY, *map(str, words)], capture_output=True, text=True)
    if done.returncode not in (0, 1):  # 1: no key was selected
        raise Different(done.stderr)
    return done.stdout


def answers(layout, key, file, keys):
    lines = nay("check", "-a", "--format", layout, f"--key={key}", file, keys).splitlines()
    return "".join("1" if line.startswith("maybe") else "0" for line in lines)


class Oracle:
    """A program that answers a line for each line."""

    def __init__(self, *words, env=None):
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    def __call__(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline().strip()
        if not line:
            raise Different("the engine ended: " + " ".join(map(str, words)))
        return line

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def random_bytes(dice):
    return dice.randbytes(dice.choice([1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64])).hex()


def random_text(dice):
    return "".join(dice.choice("abcxyzäß€語😀09-") for _ in range(dice.randrange(1, 24)))


KINDS = {  # of keys: a line of the engine
    "bytes": random_bytes,
    "string": random_text,
    "chars": random_text,
    "long": lambda dice: str(dice.choice([dice.randrange(-2**63, 2**63), dice.randrange(-300, 300)])),
    "int": lambda dice: str(dice.choice([dice.randrange(-2**31, 2**31), dice.randrange(-300, 300)])),
}
KEYS = {"bytes": "hex", "string": "text", "chars": "utf16", "long": "long", "int": "int32"}  # the same for nay


def key_sets(kind, n, directory):
    dice = random.Random(f"{kind} {n}")
    lines = list(dict.fromkeys(KINDS[kind](dice) for _ in range(4 * (n + ABSENT))))
    members, absent = directory / "members", directory / "absent"
    members.write_text("".join(line + "\n" for line in lines[:n]))
    absent.write_text("".join(line + "\n" for line in lines[n:n + ABSENT]))
    return members, absent


def compare(oracle, layout, form, kind, directory, options):
    """Both directions for all sizes."""
    for n, fpr in SIZES:
        members, absent = key_sets(kind, n, directory)
        theirs, ours, key = directory / "theirs", directory / "ours", KEYS[kind]
        oracle("build", n, fpr, form, theirs, members)
        nay("build", "-q", "-f", "-n", n, "-p", fpr, *options(n, theirs), "--format", layout, f"--key={key}", "-o", ours, members)
        if theirs.read_bytes() != ours.read_bytes():
            raise Different(f"{layout} {kind} n={n}: other bytes")
        for file in (theirs, ours):
            if answers(layout, key, file, members) != "1" * n or oracle("ask", form, file, members) != "1" * n:
                raise Different(f"{layout} {kind} n={n}: a member is denied")
            if answers(layout, key, file, absent) != oracle("ask", form, file, absent):
                raise Different(f"{layout} {kind} n={n}: other answers for absent keys")


def no_options(n, theirs):
    return []


def go(directory):
    if shutil.which("go") is None or not GO_SOURCE.is_dir():
        return "golang-go or golang-github-willf-bloom-dev is not installed"
    env = dict(os.environ, GO111MODULE="off", GOPATH="/usr/share/gocode", GOFLAGS="", GOENV="off", GOTOOLCHAIN="local",
               GOCACHE=os.environ.get("GOCACHE", str(NAY.parent.parent / "go" / "cache")))
    program = directory / "oracle"
    subprocess.run(["go", "build", "-o", program, HERE / "oracles" / "bloom.go"], check=True, env=env)
    oracle = Oracle(program)
    compare(oracle, "bits-and-blooms", "bin", "bytes", directory, no_options)
    compare(oracle, "bits-and-blooms-json", "json", "bytes", directory, no_options)
    oracle.close()
    return None


def guava(directory):
    if shutil.which("javac") is None or not GUAVA.exists():
        return "a JDK or libguava-java is not installed"
    subprocess.run(["javac", "-nowarn", "-cp", GUAVA, "-d", directory, HERE / "oracles" / "GuavaOracle.java"], check=True,
                   stderr=subprocess.DEVNULL)
    oracle = Oracle("java", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-cp", f"{GUAVA}:{directory}", "GuavaOracle")
    # Debian's Guava has the rule for k of before 33.4.0
    for kind in KINDS:
        compare(oracle, "guava", kind, kind, directory, lambda n, theirs: ["--probes", theirs.read_bytes()[1]])
    oracle.close()
    return None


class Dcso:
    """The command, which has no answers but the members that it prints."""

    def __call__(self, what, *words):
        if what == "build":
            n, fpr, _, file, keys = words
            file.unlink(missing_ok=True)
            subprocess.run(["bloom", "create", "-n", str(n), "-p", fpr, file], check=True, capture_output=True)
            subprocess.run(["bloom", "insert", file], check=True, capture_output=True, stdin=keys.open())
            return "built"
        _, file, keys = words
        found = subprocess.run(["bloom", "check", file], check=True, capture_output=True, stdin=keys.open()).stdout.split(b"\n")
        members = set(found)
        return "".join("1" if line in members else "0" for line in keys.read_bytes().split(b"\n")[:-1])


def dcso(directory):
    if shutil.which("bloom") is None:
        return "golang-github-dcso-bloom-cli is not installed"
    compare(Dcso(), "dcso", "plain", "string", directory, no_options)
    return None


def main():
    failed, tests = 0, [go, guava, dcso]
    for i, test in enumerate(tests, 1):
        with tempfile.TemporaryDirectory() as directory:
            try:
                skip = test(pathlib.Path(directory))
                print(f"ok {i} - {test.__name__}, both directions" + (f" # SKIP {skip}" if skip else ""), flush=True)
            except (Different, subprocess.CalledProcessError) as error:
                failed += 1
                print(f"not ok {i} - {test.__name__}\n# {error}\n# {getattr(error, 'stderr', '')}", flush=True)
    print(f"1..{len(tests)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
