#!/usr/bin/env python3
"""A short run of nay-bench: is what it writes whole, and does it notice a filter that lies?"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

BENCH = pathlib.Path(os.environ["NAY_BUILD"]) / "bench" / "nay-bench"
LIAR = pathlib.Path(os.environ["NAY_BUILD"]) / "bench" / "liar.so"
SHORT = ["--quick", "--sizes", "10k", "--reps", "2"]
count = 0


def check(what, ok, detail=""):
    global count
    count += 1
    print(f"{'ok' if ok else 'not ok'} {count} - {what}")
    if not ok:
        print(f"# {detail}")


def run(*options):
    return subprocess.run([BENCH, *options], capture_output=True, text=True, check=False)


def rows(report):
    return [row for row in report["results"] if "failure" not in row]


def check_report(directory):
    done = run(*SHORT, "--lsm", "1000", "--commit", "test", "--keep", directory)
    check("a short run succeeds", done.returncode == 0, done.stderr)
    kept = {path.suffix: path for path in pathlib.Path(directory).iterdir()}
    check("--keep writes a text, a JSON and an SVG", set(kept) == {".txt", ".json", ".svg"}, kept)
    report = json.loads(kept[".json"].read_text())
    check("the JSON names schema, commit and machine",
          report["schema"] == "nay.bench/1" and report["commit"] == "test" and report["machine"]["cpu"])
    ours = [row for row in rows(report) if row["library"] == "nay"]
    check("every nay family was measured with both forms of keys",
          len(ours) >= 4 and {row["keys"] for row in ours} == {"hashes", "strings"}, ours)
    check("every figure is above zero and the minimum is the least",
          all(0 < cell["min"] <= 1.001 * min(cell["all"])
              for row in rows(report) for cell in row["ns"].values()))
    check("the rates are those that filters of this size have",
          all(0 < row["fpr"]["low"] <= row["fpr"]["measured"] <= row["fpr"]["high"] < 0.05
              for row in rows(report)), [row["fpr"] for row in rows(report)])
    check("with filters, a read of the 100 tables touches fewer blocks",
          all(r["blocks_per_read"] < 0.2 * report["lsm"]["results"][0]["blocks_per_read"]
              for r in report["lsm"]["results"][1:]), report["lsm"])
    picture = xml.fromstring(kept[".svg"].read_text())
    names = {text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")}
    check("the picture is XML and names every filter",
          all(f"{row['library']} {row['filter']}" in names for row in ours), names)


def check_liar():
    done = run(*SHORT, "--lsm", "0", "--kinds", "liar", "--keys", "hashes", "--adapter", str(LIAR))
    check("a filter that forgets keys is left out, and the run fails",
          done.returncode == 1 and "FALSE NEGATIVES" in done.stdout, done.stdout)


def check_options():
    check("--list tells the filters and exits with 0",
          run("--list").returncode == 0 and "blocked" in run("--list").stdout)
    check("an unknown filter is an error", run("--kinds", "no-such-filter").returncode == 2)
    check("an unreadable size is an error", run("--sizes", "1x").returncode == 2)


def main():
    with tempfile.TemporaryDirectory() as directory:
        check_report(directory)
    check_liar()
    check_options()
    print(f"1..{count}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
