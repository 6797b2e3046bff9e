#!/usr/bin/env python3
"""Every copy of a filter has the same bytes, whatever the master refused on the way.

A master with an append-only file and a replica run random programs of adds, batches and removals on small filters
that become full, with items that come again and again. DUMP is then compared byte by byte: master, replica,
DEBUG RELOAD, a start from the append-only file (of commands, and rewritten), a start from the RDB file.
"""
import pathlib
import random
import shutil
import tempfile

import zoo
from server import LONG, Error, Server, equal, has_command, main, test

KEEP = ("--appendonly", "yes", "--appendfsync", "no", "--aof-use-rdb-preamble", "no")
FAST_SYNC = ("--repl-diskless-sync-delay", 0, "--repl-diskless-sync", "no")
PROGRAMS = 200 if LONG else 25
STEPS = 160


def makers(rng, name):
    """A command that makes a small filter, and its verbs: add one, add many, remove."""
    nay = ("NAY.ADD", "NAY.MADD", "NAY.DEL")
    n, fpr = rng.randrange(1, 40), rng.choice((0.2, 0.05, 0.01, 0.001))
    reserve = ("NAY.RESERVE", name, fpr, n, "SEED", rng.randrange(1 << 30))
    yield (*reserve, "KIND", "cuckoo", "MAXCAPACITY", rng.choice((100, 300, 1000, 5000))), *nay
    yield (*reserve, "KIND", "cuckoo", "MAXCAPACITY", 1000, "MEMORY", 64 * rng.randrange(12, 60)), *nay
    yield (*reserve, "KIND", "cuckoo"), *nay
    yield (*reserve, "KIND", "scalable", "MEMORY", 64 * rng.randrange(40, 100)), *nay
    yield (*reserve, "KIND", rng.choice(("bloom", "blocked", "counting", "window"))), *nay
    yield ("CF.RESERVE", name, rng.randrange(8, 60), "EXPANSION", rng.choice((0, 1, 2)), "MAXITERATIONS",
           rng.randrange(1, 30)), "CF.ADD", "CF.INSERT", "CF.DEL"
    yield ("BF.RESERVE", name, fpr, n, "NONSCALING"), "BF.ADD", "BF.MADD", None
    yield ("BF.RESERVE", name, fpr, n, "EXPANSION", 2), "BF.ADD", "BF.MADD", None


def run(client, rng, name, maker):
    """One program. Returns how many calls and items were refused, and the items that are in."""
    create, add, add_many, remove = maker
    if isinstance(client.ask(*create), Error):
        return 0, {}
    universe, count, refused = rng.randrange(5, 120), {}, 0
    for _ in range(STEPS):
        item = f"i{rng.randrange(universe)}"
        if remove and rng.random() < 0.3:
            if count.get(item, 0) and not isinstance(client.ask(remove, name, item), Error):
                count[item] -= 1
        elif rng.random() < 0.1:
            batch = [f"i{rng.randrange(universe)}" for _ in range(rng.randrange(1, 90))]
            words = ("ITEMS", *batch) if add_many == "CF.INSERT" else batch
            replies = client.ask(add_many, name, *words)
            replies = [replies] * len(batch) if isinstance(replies, Error) else replies
            for item, reply in zip(batch, replies):
                failed = isinstance(reply, Error) or reply == -1
                refused += failed
                count[item] = count.get(item, 0) + (not failed)
        else:
            failed = isinstance(client.ask(add, name, item), Error)
            refused += failed
            count[item] = count.get(item, 0) + (not failed)
    return refused, count


def dumps(client):
    keys = sorted(client("KEYS", "*"))
    return dict(zip(keys, client.many(("DUMP", key) for key in keys)))


def same(server, wanted, what):
    got = dumps(server.client())
    equal(sorted(got), sorted(wanted), what)
    differ = [key.decode() for key in wanted if got[key] != wanted[key]]
    equal(differ, [], f"{what}: filters that differ")


def from_rdb(master, wanted):
    master.client()("SAVE")
    directory = tempfile.mkdtemp(prefix="nay-redis-")
    shutil.copy(pathlib.Path(master.directory, "dump.rdb"), directory)
    with Server(directory=directory) as server:
        same(server, wanted, "a start from the RDB file")


@test(f"{PROGRAMS} random programs on each kind of small filter: master, replica, reload, AOF, RDB are equal")
def copies(client):
    rng = random.Random(26)
    with Server(*KEEP, *FAST_SYNC, port=True) as master, zoo.replica_of(master) as replica:
        here, refused, members = master.client(), 0, {}
        for program in range(PROGRAMS):
            for kind, maker in enumerate(makers(rng, "")):
                name = f"{program}:{kind}"
                create, *verbs = maker
                if not has_command(here, create[0]):
                    continue
                bad, count = run(here, rng, name, ((create[0], name, *create[2:]), *verbs))
                refused += bad
                if "window" not in create:
                    members[name] = [verbs[0], [item for item, n in count.items() if n]]
        assert refused > 20 * PROGRAMS, refused
        wanted = dumps(here)
        zoo.catch_up(master, replica)
        same(replica, wanted, "the replica")
        here("DEBUG", "RELOAD")
        same(master, wanted, "DEBUG RELOAD")
        from_rdb(master, wanted)
        master.restart()
        same(master, wanted, "a start from the append-only file")
        here = master.client()
        here("BGREWRITEAOF")
        Server.wait_until(lambda: here.info("persistence")["aof_rewrite_in_progress"] == "0"
                          and here.info("persistence")["aof_rewrite_scheduled"] == "0", 60, "no end of BGREWRITEAOF")
        master.restart()
        same(master, wanted, "a start from the rewritten append-only file")
        here = master.client()
        for name, (add, known) in members.items():
            look = {"NAY.ADD": "NAY.MTEST", "CF.ADD": "CF.MEXISTS", "BF.ADD": "BF.MEXISTS"}[add]
            if known:
                assert all(here(look, name, *known)), f"{name}: a confirmed item is denied"


@test("a batch that is refused in its middle: replicas receive what was taken, and nothing else", ["NAY.RESERVE"])
def cut(client):
    with Server(*FAST_SYNC) as server:
        here, listener = server.client(), zoo.Listener(server.path)
        here("NAY.RESERVE", "c", 0.01, 8, "KIND", "cuckoo")
        listener.commands(here)
        replies = here("NAY.MADD", "c", *["same"] * 12)
        equal([isinstance(reply, Error) for reply in replies], [False] * 8 + [True] * 4)
        equal(listener.commands(here), [["NAY.MADD", "c", *["same"] * 8]])
        before = here("DUMP", "c")
        for _ in range(5):
            assert isinstance(here.ask("NAY.ADD", "c", "same"), Error)
        equal(listener.commands(here), [])
        equal(here("DUMP", "c"), before)


main()
