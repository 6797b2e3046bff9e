#!/usr/bin/env python3
"""Filters above 512 MB, where one value no longer fits in one argument: dumped, loaded, saved, copied.

Takes some four gigabytes of memory.
"""
import zoo
from server import Client, Server, equal, has_command, main, test

HALF_A_GIGABYTE = 512 << 20


def large_filters(client):
    """(key, command family): each above the limit of one argument."""
    client("BF.RESERVE", "bf", 0.001, 300000000)
    client.many(("BF.MADD", "bf", *zoo.items(100, f"part{i}")) for i in range(50))
    yield "bf", "BF"
    if has_command(client, "CF.ADD"):
        client("CF.RESERVE", "cf", 700000000)
        client.many(("CF.INSERT", "cf", "ITEMS", *zoo.items(100, f"part{i}")) for i in range(50))
        yield "cf", "CF"


def present(client, key, family):
    return all(all(client(family + ".MEXISTS", key, *zoo.items(100, f"part{i}"))) for i in range(50))


@test("SCANDUMP and LOADCHUNK move them in pieces, with the server's own limits")
def chunks(client):
    for key, family in large_filters(client):
        assert client("MEMORY", "USAGE", key) > HALF_A_GIGABYTE, key
        iterator, pieces = 0, 0
        while True:
            iterator, data = client(family + ".SCANDUMP", key, iterator)
            if iterator == 0:
                break
            assert len(data) <= 16 << 20
            client(family + ".LOADCHUNK", "copy", iterator, data)
            pieces += 1
        assert pieces > 30
        first, second = client("DEBUG", "DIGEST-VALUE", key, "copy")
        equal(second, first, key)
        assert present(client, "copy", family)
        client("DEL", key, "copy")


@test("RDB and append-only file")
def files(client):
    with Server("--appendonly", "yes", "--appendfsync", "always", "--aof-use-rdb-preamble", "no") as server:
        other = server.client()
        kept = list(large_filters(other))
        before = zoo.digests(other)
        other("DEBUG", "RELOAD")
        equal(zoo.digests(other), before, "after a reload")
        other("BGREWRITEAOF")
        Server.wait_until(lambda: other.info("persistence")["aof_rewrite_in_progress"] == "0"
                          and other.info("persistence")["aof_rewrite_scheduled"] == "0", 300, "no end of the rewrite")
        server.restart()
        other = server.client()
        equal(zoo.digests(other), before, "after the append-only file")
        assert all(present(other, key, family) for key, family in kept)


@test("a replica gets them whole")
def replica(client):
    with Server("--repl-diskless-sync-delay", 0, port=True) as master:
        here = master.client()
        list(large_filters(here))
        with zoo.replica_of(master) as replica:
            equal(zoo.digests(replica.client()), zoo.digests(here))


@test("DUMP and RESTORE, where the limit of one argument is raised")
def dump(client):
    limits = ["--proto-max-bulk-len", 2 << 30, "--client-query-buffer-limit", 4 << 30]
    with Server(*limits, "--rdbcompression", "no") as server:
        other = Client(server.path, timeout=300)
        other("BF.RESERVE", "bf", 0.001, 300000000)
        other("BF.MADD", "bf", *zoo.items(1000))
        payload = other("DUMP", "bf")
        assert len(payload) > HALF_A_GIGABYTE
        other("RESTORE", "again", 0, payload)
        first, second = other("DEBUG", "DIGEST-VALUE", "bf", "again")
        equal(second, first)


main()
