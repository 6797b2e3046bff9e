#!/usr/bin/env python3
"""How the cost of filters that grow depends on the number of items; links and doublings come in steps.

    test_growth_chains.py growth_chains
"""
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import growth  # noqa: E402

program = sys.argv[1]
names = subprocess.check_output([program, "list"], text=True).split()
sys.exit(growth.run({name: lambda n, name=name: [program, name, str(n)] for name in names}, slack=1.5))
