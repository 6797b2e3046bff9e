#!/usr/bin/env python3
"""kill -9 under load: every add that was acknowledged answers yes after the restart.

    test_faults.py [--long]    5 cycles, or 200
"""
import random
import threading
import time

import zoo
from server import LONG, Server, equal, has_command, main, test

CYCLES = 200 if LONG else 5
WRITERS = 3
random.seed(1)


class Writer(threading.Thread):
    """Adds until the server dies; keeps what was acknowledged."""

    def __init__(self, server, name, add, key):
        super().__init__(daemon=True)
        self.client, self.name_of_item, self.add, self.key = server.client(), name, add, key
        self.acknowledged = []

    def run(self):
        number = 0
        try:
            while True:
                batch = [f"{self.name_of_item}:{number + i}" for i in range(8)]
                words = [self.key, "ITEMS"] if self.add.endswith("INSERT") else [self.key]
                answers = self.client(self.add, *words, *batch)
                assert all(answer in (0, 1) for answer in answers), answers
                self.acknowledged += batch
                number += len(batch)
        except OSError:
            return


def targets(client):
    """(add, look, key): keys that are made by their first add and grow."""
    yield "BF.MADD", "BF.MEXISTS", "bf"
    if has_command(client, "CF.ADD"):
        client.ask("CF.RESERVE", "cf", 100000, "BUCKETSIZE", 4)
        yield "CF.INSERT", "CF.MEXISTS", "cf"
    if has_command(client, "NAY.ADD"):
        client.ask("NAY.RESERVE", "nay", 0.01, 1000, "KIND", "scalable")
        yield "NAY.MADD", "NAY.MTEST", "nay"


def in_the_background(client, cycle):
    """A rewrite or a save is running when the server dies, in two of three cycles."""
    command = (None, "BGREWRITEAOF", "BGSAVE")[cycle % 3]
    if command:
        client.ask(command)


def look_for(client, acknowledged):
    for (look, key), known in acknowledged.items():
        for start in range(0, len(known), 5000):
            part = known[start : start + 5000]
            answers = client(look, key, *part)
            assert all(answers), f"{key}: {answers.count(0)} of {len(part)} acknowledged adds are lost"


def one_cycle(server, cycle, acknowledged):
    client = server.client()
    kinds = list(targets(client))
    writers = [Writer(server, f"{cycle}-{i}-{key}", add, key)
               for i in range(WRITERS) for add, look, key in kinds[i % len(kinds) :][:1]]
    for writer in writers:
        writer.start()
    time.sleep(random.uniform(0.02, 0.1))
    in_the_background(client, cycle)
    time.sleep(random.uniform(0.0, 0.1))
    server.kill()
    for writer in writers:
        writer.join(10)
        look = next(look for add, look, key in kinds if key == writer.key)
        acknowledged.setdefault((look, writer.key), []).extend(writer.acknowledged)
    server.start()


def cycles(count, *options):
    acknowledged = {}
    keep = ["--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", 0]
    with Server(*keep, *options) as server:
        for cycle in range(count):
            one_cycle(server, cycle, acknowledged)
            recent = {place: known[-20000:] for place, known in acknowledged.items()}
            look_for(server.client(), recent)
        look_for(server.client(), acknowledged)
        before = zoo.digests(server.client())
        server.restart()
        equal(zoo.digests(server.client()), before, "digests after one more start")
    return sum(map(len, acknowledged.values()))


@test(f"{CYCLES - CYCLES // 2} cycles of kill -9 under load, appendfsync always, commands in the file")
def commands(client):
    assert cycles(CYCLES - CYCLES // 2, "--aof-use-rdb-preamble", "no") > 100


@test(f"{CYCLES // 2} cycles of kill -9 under load, appendfsync always, an RDB at its head")
def preamble(client):
    assert cycles(CYCLES // 2, "--aof-use-rdb-preamble", "yes") > 100


@test("kill -9 while a snapshot is written: the old one or the new one is loaded whole")
def snapshot(client):
    with Server("--rdb-key-save-delay", 5000) as server:
        other = server.client()
        kept = zoo.fill(other)
        other("SAVE")
        old = zoo.digests(other)
        other("BF.MADD", "bf:chain", *zoo.items(100, "late"))
        new = zoo.digests(other)
        other("BGSAVE")
        server.restart()  # the child that writes may outlive its parent
        assert zoo.digests(server.client()) in (old, new)
        zoo.holds(server.client(), kept)


main()
