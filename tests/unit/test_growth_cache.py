#!/usr/bin/env python3
"""How the cost of a cache depends on the number of blocks.

    test_growth_cache.py test_sst_cache
"""
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import growth  # noqa: E402

program = sys.argv[1]
sys.exit(growth.run({"inserts and finds": lambda n: [program, str(n)],
                     "the same, with evictions": lambda n: [program, str(n), "evict"]}, slack=1.25))
