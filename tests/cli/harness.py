"""What the Python tests of the command share: TAP, a directory for each test, the program.

    @test("what is proved")
    def _(): ...            runs in an empty directory of its own
    run()                   at the end of the script
"""
import os
import shutil
import subprocess
import sys
import tempfile
import traceback

BUILD = os.environ.get("NAY_BUILD", os.path.join(os.path.dirname(__file__), "../../build/dev"))
SOURCE = os.environ.get("NAY_SOURCE", os.path.join(os.path.dirname(__file__), "../.."))
TESTS = []
os.environ.update(LC_ALL="C", CLICOLOR_FORCE="")
ROOT = tempfile.mkdtemp(prefix="nay-cli-")
os.chmod(ROOT, 0o755)
NAY = os.path.join(ROOT, "nay")  # a copy that other users can run too


def test(name):
    def register(function):
        TESTS.append((name, function))
        return function
    return register


class Skip(Exception):
    pass


def nay(*words, stdin=b"", **options):
    """Runs the program to its end; bytes in, bytes out."""
    if isinstance(stdin, str):
        stdin = stdin.encode()
    return subprocess.run([NAY, *map(str, words)], input=stdin, capture_output=True, timeout=60, **options)


def must(*words, **options):
    done = nay(*words, **options)
    assert done.returncode == 0, (words, done)
    return done


def start(*words, **options):
    """Starts the program; standard input is a pipe that stays open until the test closes it."""
    return subprocess.Popen([NAY, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, **options)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write(path, data):
    with open(path, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())


def lines(first, last):
    return "".join(f"{i}\n" for i in range(first, last + 1))


def run():
    shutil.copy(os.path.join(BUILD, "cli/nay"), NAY)
    os.chmod(NAY, 0o755)
    failed = 0
    try:
        for number, (name, function) in enumerate(TESTS, 1):
            here = os.path.join(ROOT, str(number))
            os.mkdir(here)
            os.chdir(here)
            try:
                function()
                print(f"ok {number} - {name}", flush=True)
            except Skip as why:
                print(f"ok {number} - {name} # SKIP {why}", flush=True)
            except Exception:
                failed += 1
                print("".join("# " + line + "\n" for line in traceback.format_exc().splitlines()), end="")
                print(f"not ok {number} - {name}", flush=True)
    finally:
        os.chdir("/")
        shutil.rmtree(ROOT, ignore_errors=True)
    print(f"1..{len(TESTS)}")
    sys.exit(1 if failed else 0)
