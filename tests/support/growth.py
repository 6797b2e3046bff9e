"""How a cost grows, in instructions that callgrind counts inside of the program's growth_work(): with n, 2n, 4n and 8n
no faster than n log n, and `slack` times as much for what comes in steps. Nothing is timed."""
import math
import os
import re
import shutil
import subprocess
import tempfile

N = 2000


def instructions(words):
    with tempfile.TemporaryDirectory() as directory:
        run = subprocess.run(["valgrind", "--tool=callgrind", "--toggle-collect=growth_work",
                              f"--callgrind-out-file={os.path.join(directory, 'out')}", *words],
                             capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", run.stderr)[1])


def run(cases, slack):
    """cases: {name: function of n that gives a command line}. Prints TAP; returns the exit status."""
    if shutil.which("valgrind") is None:
        print("ok 1 - costs are counted # SKIP no valgrind (make deps TIER=test)\n1..1")
        return 0
    failed = 0
    for number, (name, command) in enumerate(cases.items(), 1):
        costs = [instructions(command(N << i)) for i in range(4)]
        most = [slack * costs[0] * (1 << i) * math.log(N << i) / math.log(N) for i in range(4)]
        good = costs[0] > N and all(cost <= limit for cost, limit in zip(costs, most))
        failed |= not good
        print(f"# {', '.join(f'{cost / (N << i):,.0f}' for i, cost in enumerate(costs))} instructions for each of "
              f"{N:,} to {8 * N:,}")
        print(f"{'ok' if good else 'not ok'} {number} - {name}", flush=True)
    print(f"1..{len(cases)}")
    return int(failed)
