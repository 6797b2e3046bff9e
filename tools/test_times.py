#!/usr/bin/env python3
"""How long the tests took, by directory: writes build/times.md, and with --keep the tables of tests/README.md.

    tools/test_times.py [--keep] PRESET:SECONDS_OF_BUILD...

scripts/test calls it after a run; ctest left build/PRESET/times.xml. Seconds are those of one core, the sums of the tests
of a directory. A directory that tests/README.md does not describe is an error with --keep.
"""
import json
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parent.parent
README = ROOT / "tests/README.md"


def areas(preset):
    """The directory of each test: below tests/, or beside it."""
    text = subprocess.run(["ctest", "--test-dir", ROOT / "build" / preset, "--show-only=json-v1"],
                          check=True, capture_output=True, text=True).stdout
    found = {}
    for test in json.loads(text)["tests"]:
        for p in test.get("properties", []):
            if p["name"] == "WORKING_DIRECTORY":
                parts = pathlib.Path(p["value"]).relative_to(ROOT / "build" / preset).parts
                found[test["name"]] = parts[1] if parts[0] == "tests" else parts[0]
    return found


def seconds(preset):
    """The directory -> seconds, of the last run."""
    where, sums = areas(preset), {}
    for case in xml.parse(ROOT / "build" / preset / "times.xml").getroot().iter("testcase"):
        area = where[case.get("name")]
        sums[area] = sums.get(area, 0) + float(case.get("time"))
    return sums


def table(rows):
    return "".join("| " + " | ".join(str(cell) for cell in row) + " |\n" for row in rows)


def keep(by_preset, builds):
    """Writes the figures into the two tables of the README: the last column of each row."""
    text = README.read_text()
    total = {}
    for sums in by_preset.values():
        for area, s in sums.items():
            total[area] = total.get(area, 0) + s
    rows = re.findall(r"^\| `(\w+)/` \|", text, re.M)
    if not set(total) <= set(rows):
        sys.exit(f"test_times.py: {README} does not describe {sorted(set(total) - set(rows))}")
    for area, s in total.items():
        text = re.sub(rf"^(\| `{area}/` \|.*\|)[^|\n]*\|$", lambda m: f"{m[1]} {s:.0f} |", text, flags=re.M)
    for preset, sums in by_preset.items():
        figures = f"{builds[preset]} + {sum(sums.values()):.0f}"
        text, n = re.subn(rf"^(\| {preset} .*\|)[^|\n]*\|$", lambda m: f"{m[1]} {figures} |", text, flags=re.M)
        if n != 1:
            sys.exit(f"test_times.py: no row of {preset} in {README.name}")
    README.write_text(text)


def main():
    args = sys.argv[1:]
    builds = dict(arg.split(":") for arg in args if arg != "--keep")
    by_preset = {preset: seconds(preset) for preset in builds}
    names = sorted(set().union(*by_preset.values()))
    rows = [["directory", *by_preset], ["---"] * (1 + len(by_preset))]
    rows += [[f"`{area}/`", *(f"{sums.get(area, 0):.0f}" for sums in by_preset.values())] for area in names]
    rows += [["build, wall clock", *builds.values()]]
    (ROOT / "build/times.md").write_text(table(rows))
    if "--keep" in args:
        keep(by_preset, builds)


main()
