#!/usr/bin/env python3
"""Files, replicas and what is sent to them: everything that is written comes back the same."""
import time

import zoo
from server import Server, equal, has_command, main, test

OTHER_DEFAULTS = ["INITIAL_SIZE", 5000, "ERROR_RATE", 0.001]
KEEP = ["--appendonly", "yes", "--appendfsync", "always"]
FAST_SYNC = ["--repl-diskless-sync-delay", 0, "--repl-diskless-sync", "no"]


@test("DEBUG RELOAD: equal digests")
def reload(client):
    kept = zoo.fill(client)
    before = zoo.digests(client)
    assert len(set(before[0].values())) == len(kept), "filters that differ have digests that differ"
    client("DEBUG", "RELOAD")
    equal(zoo.digests(client), before)
    zoo.holds(client, kept)


@test("a digest tells filters apart, and equal ones alike")
def digest(client):
    client("BF.RESERVE", "a", 0.01, 100)
    client("BF.RESERVE", "b", 0.01, 100)
    same = client("DEBUG", "DIGEST-VALUE", "a", "b")
    equal(same[0], same[1])
    client("BF.ADD", "a", "x")
    different = client("DEBUG", "DIGEST-VALUE", "a", "b")
    assert different[0] != different[1] and different[1] == same[1] and different[0] != b"0" * 40


def rewritten(client):
    client("BGREWRITEAOF")
    Server.wait_until(lambda: client.info("persistence")["aof_rewrite_in_progress"] == "0"
                      and client.info("persistence")["aof_rewrite_scheduled"] == "0", 60, "no end of BGREWRITEAOF")
    equal(client.info("persistence")["aof_last_bgrewrite_status"], "ok")


def append_only_file(*options):
    """Adds, rewrites, adds again, and starts anew from the file."""
    with Server(*KEEP, *options) as server:
        client = server.client()
        kept = zoo.fill(client)
        server.restart()
        client = server.client()
        zoo.holds(client, kept)
        before = zoo.digests(client)
        rewritten(client)
        client("BF.ADD", "late", "x")
        server.restart()
        client = server.client()
        equal(client("BF.EXISTS", "late", "x"), 1)
        client("DEL", "late")
        equal(zoo.digests(client), before)


@test("append-only file with an RDB inside: replayed, rewritten, loaded")
def aof_preamble(client):
    append_only_file("--aof-use-rdb-preamble", "yes")


@test("append-only file of commands alone: replayed, rewritten, loaded")
def aof_commands(client):
    append_only_file("--aof-use-rdb-preamble", "no")


@test("a rewritten file of commands holds chunks, an empty filter too")
def aof_empty(client):
    with Server(*KEEP, "--aof-use-rdb-preamble", "no") as server:
        client = server.client()
        client("BF.RESERVE", "b", 0.01, 100)
        if has_command(client, "CF.RESERVE"):
            client("CF.RESERVE", "c", 100)
        before = zoo.digests(client)
        rewritten(client)
        server.restart()
        equal(zoo.digests(server.client()), before)


def full_copy(*options):
    with Server(*FAST_SYNC, port=True) as master:
        here = master.client()
        zoo.fill(here, 200)
        with zoo.replica_of(master, *options, arguments=OTHER_DEFAULTS) as replica:
            kept = zoo_again(here)
            zoo.catch_up(master, replica)
            equal(zoo.digests(replica.client()), zoo.digests(here))
            zoo.holds(replica.client(), kept)


@test("a replica takes a full copy, then the stream: equal digests")
def replica_full(client):
    full_copy()


@test("the same when the copy is read from the socket beside the old data")
def replica_swapdb(client):
    full_copy("--repl-diskless-load", "swapdb")


def zoo_again(client, suffix=":late"):
    """More items into each filter, and new filters created while a replica listens."""
    kept = {}
    for key, create, add, look in list(zoo.makers(client)):
        for name in (key, key + suffix):
            if create and name != key:
                client(create[0], name, *create[2:])
            words = [name, "ITEMS"] if add == "CF.INSERT" else [name]
            client(add, *words, *zoo.items(400, "more"))
            kept[name] = (look, zoo.items(400, "more"))
    return kept


@test("filters created on the way have the master's parameters on a replica of other defaults")
def replica_parameters(client):
    with Server(*FAST_SYNC, port=True) as master:
        with zoo.replica_of(master, arguments=OTHER_DEFAULTS) as replica:
            here = master.client()
            here("BF.ADD", "a", "x")
            here("BF.MADD", "m", "x", "y")
            here("BF.INSERT", "i", "ITEMS", "x")
            if has_command(here, "CF.ADD"):
                here("CF.ADD", "c", "x")
                here("CF.ADDNX", "d", "x")
                here("CF.INSERT", "e", "ITEMS", "x")
            zoo.catch_up(master, replica)
            equal(replica.client()("BF.INFO", "a"), here("BF.INFO", "a"))
            equal(zoo.digests(replica.client()), zoo.digests(here))


@test("a broken connection is mended by a partial resync: equal digests")
def replica_partial(client):
    with Server(*FAST_SYNC, port=True) as master:
        here = master.client()
        zoo.fill(here, 200)
        with zoo.replica_of(master) as replica:
            here("CLIENT", "KILL", "TYPE", "replica")
            zoo_again(here)
            zoo.catch_up(master, replica)
            stats = here.info("stats")
            equal((stats["sync_full"], int(stats["sync_partial_ok"]) > 0), ("1", True))
            equal(zoo.digests(replica.client()), zoo.digests(here))


@test("a replica killed while it syncs starts anew and catches up")
def replica_killed(client):
    with Server(*FAST_SYNC, "--repl-diskless-sync", "yes", "--rdb-key-save-delay", 500, port=True) as master:
        here = master.client()
        zoo.fill(here, 200)
        for i in range(200):
            here("BF.ADD", f"small:{i}", "x")  # with the delay, a transfer of a tenth of a second
        with zoo.replica_of(master) as replica:
            for round in range(3):
                replica.kill()
                zoo_again(here, f":late{round}")
                replica.start(wait=False)
                time.sleep(0.05)
            replica.restart()
            zoo.catch_up(master, replica)
            equal(zoo.digests(replica.client()), zoo.digests(here))


def heard_after(listener, client, *commands):
    for words in commands:
        client.ask(*words)
    return listener.commands(client)


def with_listener(check):
    with Server(*FAST_SYNC) as server:
        client = server.client()
        check(client, zoo.Listener(server.path))


@test("BF: what changes nothing is not replicated")
def bloom_no_operation(client):
    def check(client, listener):
        heard = heard_after(listener, client, ("BF.ADD", "b", "x"), ("BF.ADD", "b", "y"))
        assert len(heard) >= 2, heard
        for words in (("BF.ADD", "b", "x"), ("BF.MADD", "b", "x", "y"), ("BF.INSERT", "b", "ITEMS", "x"),
                      ("BF.EXISTS", "b", "z"), ("BF.RESERVE", "b", 0.01, 100), ("BF.RESERVE", "r", 2, 100),
                      ("BF.INSERT", "no", "NOCREATE", "ITEMS", "x"), ("BF.LOADCHUNK", "no", 1, "junk")):
            equal(heard_after(listener, client, words), [], str(words))

    with_listener(check)


@test("CF: what changes nothing is not replicated", needs=["CF.ADD"])
def cuckoo_no_operation(client):
    def check(client, listener):
        heard = heard_after(listener, client, ("CF.ADD", "c", "x"), ("CF.ADD", "c", "y"))
        assert len(heard) >= 2, heard
        for words in (("CF.ADDNX", "c", "x"), ("CF.INSERTNX", "c", "ITEMS", "x", "y"), ("CF.DEL", "c", "never"),
                      ("CF.DEL", "no", "x"), ("CF.EXISTS", "c", "x"), ("CF.RESERVE", "c", 100),
                      ("CF.INSERT", "no", "NOCREATE", "ITEMS", "x"), ("CF.LOADCHUNK", "no", 1, "junk")):
            equal(heard_after(listener, client, words), [], str(words))
        equal(len(heard_after(listener, client, ("CF.DEL", "c", "x"))), 1)

    with_listener(check)


@test("RB#1034, VB#86: a command that fails half-way leaves the same on the replica")
def half_way(client):
    with Server(*FAST_SYNC, port=True) as master, zoo.replica_of(master) as replica:
        here = master.client()
        here("BF.RESERVE", "n", 0.01, 3, "NONSCALING")
        here("BF.MADD", "n", *zoo.items(9))
        here("BF.INSERT", "auto", "CAPACITY", 2, "NONSCALING", "ITEMS", *zoo.items(9))
        if has_command(here, "CF.RESERVE"):
            here("CF.RESERVE", "c", 4, "EXPANSION", 0)
            here("CF.INSERT", "c", "ITEMS", *zoo.items(30))
            here("CF.INSERTNX", "c", "ITEMS", *zoo.items(30))
            here.ask("CF.ADD", "c", "full")
        zoo.catch_up(master, replica)
        equal(zoo.digests(replica.client()), zoo.digests(here))


@test("RB#1014: the data of LOADCHUNK reaches replicas and the append-only file")
def chunks_replicated(client):
    with Server(*FAST_SYNC, *KEEP, port=True) as master, zoo.replica_of(master) as replica:
        here = master.client()
        kept = {key: value for key, value in zoo.fill(here).items() if key[:2] in ("bf", "cf")}
        for key in kept:
            command, iterator = key[:2].upper(), 0
            while True:
                iterator, data = here(command + ".SCANDUMP", key, iterator)
                if iterator == 0:
                    break
                here(command + ".LOADCHUNK", key + ":2", iterator, data)
        zoo.catch_up(master, replica)
        copies = {key + ":2": value for key, value in kept.items()}
        zoo.holds(replica.client(), copies)
        equal(zoo.digests(replica.client()), zoo.digests(here))
        master.restart()
        zoo.holds(master.client(), copies)


main()
