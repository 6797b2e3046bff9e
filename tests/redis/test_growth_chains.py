#!/usr/bin/env python3
"""How the cost of filters that grow depends on the number of items: instructions, counted by callgrind.

    test_growth_chains.py growth_chains

Nothing is timed. A case runs with n, 2n, 4n and 8n items, and may cost as much as n log n, and half as much again for
what comes in steps: links, doublings.
"""
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

N = 2000
SLACK = 1.5


def instructions(program, case, n):
    with tempfile.TemporaryDirectory() as directory:
        run = subprocess.run(["valgrind", "--tool=callgrind", "--toggle-collect=growth_work",
                              f"--callgrind-out-file={os.path.join(directory, 'out')}", program, case, str(n)],
                             capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", run.stderr)[1])


def main(program):
    if shutil.which("valgrind") is None:
        print("1..0 # SKIP no valgrind")
        return 0
    cases, failed = subprocess.check_output([program, "list"], text=True).split(), 0
    for number, case in enumerate(cases, 1):
        costs = [instructions(program, case, N << i) for i in range(4)]
        wrong = [i for i in range(1, 4)
                 if costs[i] > SLACK * costs[0] * (1 << i) * math.log(N << i) / math.log(N)]
        shown = ", ".join(f"{cost / (N << i):,.0f}" for i, cost in enumerate(costs))
        print(f"# {case}: {shown} instructions per item for {N:,} to {8 * N:,} items")
        good = not wrong and costs[0] > N
        failed |= not good
        print(f"{'ok' if good else 'not ok'} {number} - {case}", flush=True)
    print(f"1..{len(cases)}")
    return failed


sys.exit(main(sys.argv[1]))
