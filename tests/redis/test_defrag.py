#!/usr/bin/env python3
"""Active defragmentation: blocks of every kind of filter are moved, and every item is still there.

The server must be able to (Debian's cannot: it is not built with Redis's own jemalloc); elsewhere all tests
are skipped. One shape at a time, so that what moves is a filter of that shape.
"""
import pathlib
import random
import subprocess
import tempfile

import zoo
from server import BUILD, Error, Server, Skip, equal, main, test

NFILTERS, ITEMS = 400, zoo.items(300)
MUTABLE = ("bloom", "blocked", "counting", "scalable", "cuckoo", "window")
STATIC = ("fuse", "xor", "ribbon")
WIDTHS = {4: "6.25%", 7: "1%", 8: "0.390625%", 12: "0.0244%", 16: "0.00152587890625%", 32: "0.00000003%"}
SETTINGS = {"active-defrag-ignore-bytes": 1, "active-defrag-threshold-lower": 0, "active-defrag-cycle-min": 50,
            "active-defrag-cycle-max": 75}


def static_file(kind, fpr):
    """A native file as the nay command builds it."""
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, "keys.nay")
        subprocess.run([str(BUILD / "cli/nay"), "build", "-t", kind, "-p", fpr, "-o", str(path)], check=True,
                       input="\n".join(ITEMS).encode(), capture_output=True)
        return path.read_bytes()


def moved(client):
    return int(client.info("stats")["active_defrag_hits"])


def overwrite(client, size):
    """Takes the blocks that were freed: what still points there reads zeros."""
    client.many(("SET", f"zeros:{i}", bytes(16 + i * 5 % (size + size // 4))) for i in range(4000))


def defragment(client, make, look):
    """Makes many filters, deletes most of them, lets the server move the others."""
    if isinstance(client.ask("CONFIG", "SET", "activedefrag", "yes"), Error):
        raise Skip("this server cannot defragment: not built with its own jemalloc")
    client("CONFIG", "SET", "activedefrag", "no")
    client("FLUSHALL", "SYNC")
    for i in range(NFILTERS):
        for words in make(f"k{i}"):
            client(*words)
    kept = [f"k{i}" for i in random.Random(1).sample(range(NFILTERS), NFILTERS // 4)]
    client.many(("DEL", f"k{i}") for i in range(NFILTERS) if f"k{i}" not in kept)
    before, hits = zoo.digests(client), moved(client)
    for setting in SETTINGS.items():
        client("CONFIG", "SET", *setting)
    client("CONFIG", "SET", "activedefrag", "yes")
    Server.wait_until(lambda: moved(client) > hits + len(kept) // 2, 60, "nothing was moved")
    client("CONFIG", "SET", "activedefrag", "no")
    equal(zoo.digests(client), before)
    overwrite(client, client("MEMORY", "USAGE", kept[0]))
    zoo.holds(client, {key: (look, ITEMS) for key in kept})
    single = look.replace(".M", ".")  # batches have code of their own
    answers = client.many((single, key, item) for key in kept for item in ITEMS[:50])
    assert all(answers), f"{answers.count(0)} of {len(answers)} items lost"


@test("Bloom filters of RedisBloom, with one link and with many")
def bloom(client):
    for capacity in (300, 20):
        defragment(client, lambda key: [("BF.RESERVE", key, 0.01, capacity), ("BF.MADD", key, *ITEMS)],
                   "BF.MEXISTS")


@test("cuckoo filters of RedisBloom, with one table and with many")
def cuckoo(client):
    for capacity in (1000, 64):
        defragment(client, lambda key: [("CF.RESERVE", key, capacity), ("CF.INSERT", key, "ITEMS", *ITEMS)],
                   "CF.MEXISTS")


@test("native filters that take items")
def mutable(client):
    for kind in MUTABLE:
        defragment(client, lambda key: [("NAY.RESERVE", key, 0.01, 400, "KIND", kind), ("NAY.MADD", key, *ITEMS)],
                   "NAY.MTEST")


@test("native files: static filters of every width")
def static(client):
    for kind in STATIC:
        for fpr in WIDTHS.values():
            data = static_file(kind, fpr)
            defragment(client, lambda key: [("NAY.LOAD", key, 0, data)], "NAY.MTEST")


main()
