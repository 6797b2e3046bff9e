#!/usr/bin/env python3
"""tools/check_numbers.py finds what it is there for: each number of README.md that it compares, changed by one in its last
digit, is a fault; so is a sentence or a row that is gone. The README as it is has none."""
import os
import pathlib
import re
import sys

SOURCE = pathlib.Path(os.environ["NAY_SOURCE"])
sys.path.insert(0, str(SOURCE / "tools"))
import check_numbers  # noqa: E402: it is found there

TEXT = (SOURCE / "README.md").read_text()
START, END = TEXT.index("## Why this and not X"), TEXT.index("## What works with what")
LEAST = 60  # numbers that are compared


def faults(text):
    check = check_numbers.Check(text)
    check_numbers.check_all(check)
    return check


def changed():
    """README.md with one digit more or less, for each number in its section of numbers and its comparison."""
    for found in re.finditer(r"(?<![\w.^(-])\d[\d,]*(?:\.\d+)?(?![\w-])", TEXT[START:END]):
        at = START + found.end() - 1
        yield found[0], TEXT[:at] + str((int(TEXT[at]) + 1) % 10) + TEXT[at + 1:]


def main():
    now = faults(TEXT)
    fine = not now.faults and now.ncompared >= LEAST
    print(f"{'ok' if fine else 'not ok'} 1 - {now.ncompared} numbers of README.md are those that were measured {now.faults}")
    found = sum(bool(faults(text).faults) for _, text in changed())
    print(f"{'ok' if found >= now.ncompared else 'not ok'} 2 - a changed digit is a fault, {found} times")
    rows = [line + "\n" for line in TEXT[START:END].splitlines() if line.startswith(("| `", "| libbloom", "| RedisBloom"))]
    gone = sum(bool(faults(TEXT.replace(row, "")).faults) for row in rows)
    print(f"{'ok' if gone == len(rows) >= 8 else 'not ok'} 3 - each of {len(rows)} rows is missed\n1..3")
    return 0 if fine and found >= now.ncompared and gone == len(rows) >= 8 else 1


if __name__ == "__main__":
    sys.exit(main())
