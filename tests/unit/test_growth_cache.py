#!/usr/bin/env python3
"""How the cost of a cache grows, in instructions that callgrind counts: no faster than n log n.

    test_growth_cache.py test_sst_cache
"""
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

BASE = 2000


def instructions(program, n, more):
    with tempfile.TemporaryDirectory() as directory:
        run = subprocess.run(["valgrind", "--tool=callgrind", "--toggle-collect=growth_work",
                              f"--callgrind-out-file={os.path.join(directory, 'out')}", program, str(n)] + more,
                             capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", run.stderr)[1])


def main():
    if shutil.which("valgrind") is None:
        print("1..0 # SKIP no valgrind")
        return 0
    failed = 0
    cases = (("inserts and finds", []), ("the same, with evictions", ["evict"]))
    for number, (what, more) in enumerate(cases, 1):
        costs = [instructions(sys.argv[1], BASE << i, more) for i in range(4)]
        most = 1.25 * 8 * math.log(8 * BASE) / math.log(BASE)
        fits = costs[0] > BASE and costs[3] <= most * costs[0]
        failed |= not fits
        print(f"# {what}: {', '.join(f'{cost:,}' for cost in costs)} for n = {BASE:,} to {8 * BASE:,}: "
              f"x {costs[3] / costs[0]:.1f}, at most {most:.1f}")
        print(f"{'ok' if fits else 'not ok'} {number} - {what}")
    print(f"1..{len(cases)}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
