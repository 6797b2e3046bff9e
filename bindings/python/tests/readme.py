"""What README.md and help() show, run and compared; prints TAP."""
import doctest
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import pandas as pd

import libnay

HERE = pathlib.Path(__file__).resolve().parent
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
FLAGS = doctest.ELLIPSIS
count = failed = 0


def report(fault, name):
    global count, failed
    count += 1
    failed += bool(fault)
    print(f"{'not ok' if fault else 'ok'} {count} - {name}")
    for line in str(fault or "").splitlines():
        print(f"# {line}")


def examples(text, name, names, line=0):
    test = doctest.DocTestParser().get_doctest(text, names, name, name, line)
    if not test.examples:
        return
    out = io.StringIO()
    runner = doctest.DocTestRunner(verbose=False, optionflags=FLAGS)
    runner.run(test, out=out.write, clear_globs=False)
    report(out.getvalue(), f"{name}, {len(test.examples)} examples")
    names.update(test.globs)


def shell(text, name):
    for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.M):
        path = f"{os.environ['NAY_BUILD']}/cli:{os.environ['PATH']}"
        env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
        got = subprocess.run(command, shell=True, env={**env, "PATH": path}, capture_output=True, text=True)
        report("" if got.stdout == expected else got.stdout + got.stderr, f"{name}: $ {command}")


def readme():
    names = {"__name__": "readme"}
    text = (HERE.parent / "README.md").read_text()
    for block in FENCE.finditer(text):
        name = f"README.md:{text.count(chr(10), 0, block.start()) + 1}"
        if block[1] == "python" and ">>>" in block[2]:
            examples(block[2], name, names)
        elif block[1] == "python":
            exec(compile(block[2], name, "exec"), names)
        elif block[1] == "shell":
            shell(block[2], name)
    return names


def recipe(dedupe):
    ids = np.random.default_rng(5).integers(0, 30_000, 100_000)
    frame = pd.DataFrame({"id": [f"u{i}" for i in ids], "n": range(len(ids))})
    frame.to_csv("big.csv", index=False)
    show = io.StringIO()
    rows, kept = dedupe("big.csv", "id", "out.csv", 100_000, chunk=9_000, show=show)
    exact = frame.drop_duplicates("id")
    got = pd.read_csv("out.csv")
    fault = "" if rows == len(frame) and got.equals(exact.reset_index(drop=True)) and kept == len(exact) else "other rows"
    if "[########################################] 100,000 rows" not in show.getvalue():
        fault += " no progress bar"
    report(fault, f"the recipe drops {rows - kept} duplicates of {rows} rows, in order")


def helps():
    for owner in (libnay, libnay.Filter, libnay.Map):
        examples(owner.__doc__, f"help({owner.__name__})", {"libnay": libnay})
        for name in sorted(vars(owner)):
            doc = getattr(getattr(owner, name), "__doc__", None)
            if doc and not name.startswith("_") and owner is not libnay or name in ("plan", "key_bytes"):
                examples(doc, f"help({owner.__name__}.{name})", {"libnay": libnay})


with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    names = readme()
    recipe(names["dedupe"])
    helps()
    os.chdir("/")
print(f"1..{count}")
sys.exit(failed > 0)
