#!/usr/bin/env python3
"""maxmemory: a filter that would not fit below it as the only key is refused before it is made.

The server compares used_memory with maxmemory before a command runs; a command of 30 bytes that asks for a
gigabyte is what it cannot see. Replicas, files and a master's commands are obeyed.
"""
import math
import struct

import zoo
from server import Error, Server, equal, main, refuses, test

OOM = "OOM command not allowed when used memory > 'maxmemory'."
MB = 1 << 20
LIMIT = 10 * MB
HUGE = 1 << 30
KINDS = ("bloom", "blocked", "counting", "scalable", "cuckoo", "window")


def bloom_link(entries, error):
    bits_per_entry = -math.log(error) / 0.480453013918201
    nbytes = (int(entries * bits_per_entry) + 63) // 64 * 8
    hashes = math.ceil(0.693147180559945 * bits_per_entry)
    return struct.pack("<QQQddIQB", nbytes, nbytes * 8, 0, error, bits_per_entry, hashes, entries, 0)


def bloom_header(nlinks, entries):
    """The header of a dump whose links are all alike."""
    return struct.pack("<QIII", 0, nlinks, 5, 1) + bloom_link(entries, 0.01) * nlinks


def cuckoo_header(nfilters, nbuckets):
    return struct.pack("<QQQQHHH", 0, nbuckets, 0, nfilters, 2, 20, 1)


def native_start(client):
    """The first kilobyte of a native file of 25 MB."""
    client("NAY.RESERVE", "file", 0.01, 20 * MB, "KIND", "blocked")
    start = client("NAY.DUMP", "file", 0, 1024)[1]
    client("DEL", "file")
    return start


def too_large(client):
    """Commands that ask for more than LIMIT, by a number or by a header."""
    yield from (("BF.RESERVE", "k", 0.01, HUGE), ("BF.RESERVE", "k", 0.01, HUGE, "NONSCALING"),
                ("BF.INSERT", "k", "CAPACITY", HUGE, "ITEMS", "x"),
                ("BF.LOADCHUNK", "k", 1, bloom_header(1, HUGE)), ("BF.LOADCHUNK", "k", 1, bloom_header(5, 2 * MB)),
                ("BF.LOADCHUNK", "k", 1, bloom_header(500, 50000)))
    yield from (("CF.RESERVE", "k", HUGE), ("CF.INSERT", "k", "CAPACITY", HUGE, "ITEMS", "x"),
                ("CF.INSERTNX", "k", "CAPACITY", HUGE, "ITEMS", "x"),
                ("CF.LOADCHUNK", "k", 1, cuckoo_header(1, HUGE)), ("CF.LOADCHUNK", "k", 1, cuckoo_header(8, MB)),
                ("CF.LOADCHUNK", "k", 1, cuckoo_header(400, 1 << 14)))
    yield from (("NAY.RESERVE", "k", 0.01, HUGE, "KIND", kind) for kind in KINDS)
    yield "NAY.LOAD", "k", 0, native_start(client)


def fitting():
    """Commands that ask for something between 1 MB and LIMIT."""
    yield from (("BF.RESERVE", "k", 0.01, MB), ("BF.INSERT", "k", "CAPACITY", MB, "ITEMS", "x"),
                ("BF.LOADCHUNK", "k", 1, bloom_header(4, MB)), ("CF.RESERVE", "k", MB),
                ("CF.INSERT", "k", "CAPACITY", MB, "ITEMS", "x"), ("CF.LOADCHUNK", "k", 1, cuckoo_header(4, MB >> 1)))
    yield from (("NAY.RESERVE", "k", 0.01, MB, "KIND", kind) for kind in KINDS)


def used(client):
    return int(client.info("memory")["used_memory"])


def startup(client):
    return int(client.info("memory")["used_memory_startup"])


class Limit:
    """maxmemory for a while."""

    def __init__(self, client, nbytes=LIMIT, policy="noeviction"):
        self.client, self.nbytes, self.policy = client, nbytes, policy

    def __enter__(self):
        self.client("CONFIG", "SET", "maxmemory-policy", self.policy, "maxmemory", self.nbytes)

    def __exit__(self, *failure):
        self.client("CONFIG", "SET", "maxmemory-policy", "noeviction", "maxmemory", 0)


def ways(client, words):
    """What becomes of a command when it is sent, queued and called by a script."""
    yield client.ask(*words)
    client("MULTI")
    client(*words)
    yield client("EXEC")[0]
    yield client.ask("EVAL", "return redis.call(unpack(ARGV))", 0, *words)


@test("too large: the server's error, by every way, policy and protocol; nothing changes, nobody hears of it")
def refused(client):
    with Server("--repl-diskless-sync-delay", 0, port=True) as server:
        writer = server.client()
        commands = list(too_large(writer))
        writer("SET", "kept", "1")
        listener = zoo.Listener(("127.0.0.1", server.port))
        for protocol, policy in ((2, "noeviction"), (3, "allkeys-lru")):
            asker = server.client(protocol)
            with Limit(writer, policy=policy):
                before = used(writer)
                for words in commands:
                    for reply in ways(asker, words):
                        assert isinstance(reply, Error) and OOM in str(reply), f"{words[:4]}: {reply!r}"
                    equal(writer("KEYS", "*"), [b"kept"], str(words[:4]))
                    assert used(writer) < before + MB, f"{words[:4]}: {used(writer) - before} bytes more"
        equal([words for words in listener.commands(writer) if words[0].upper() not in ("MULTI", "EXEC")], [])


@test("what fits as the only key is made, by every policy; without maxmemory everything is")
def permitted(client):
    for policy in ("noeviction", "allkeys-lru"):
        with Limit(client, policy=policy):
            for words in fitting():
                assert not isinstance(client.ask(*words), Error), words[:4]
                client("DEL", "k")
    for words in too_large(client):
        if HUGE not in words:
            assert not isinstance(client.ask(*words), Error), words[:4]
            client("DEL", "k")


@test("eviction makes room for a filter that fits, and none for one that does not")
def evicting(client):
    keys = {f"s{i}": "x" * 100000 for i in range(60)}
    client.many(("SET", *pair) for pair in keys.items())
    with Limit(client, policy="allkeys-lru"):
        refuses(client, OOM, "CF.RESERVE", "k", 16 * MB)
        equal(client("DBSIZE"), len(keys))
        client("BF.RESERVE", "k", 0.01, 4 * MB)  # 5.8 MB
        Server.wait_until(lambda: client("DBSIZE") < len(keys), 20, "nothing was evicted")


@test("the limit is maxmemory less what the server holds without keys")
def exact(client):
    makers = {"BF.RESERVE": (0.01, 3 * MB), "CF.RESERVE": (4 * MB,), "NAY.RESERVE": (0.01, 3 * MB, "KIND", "blocked")}
    for name, words in makers.items():
        client(name, "k", *words)
        size = client("MEMORY", "USAGE", "k")
        client("DEL", "k")
        with Limit(client, startup(client) + size - 4096):
            refuses(client, OOM, name, "k", *words)
        with Limit(client, startup(client) + size + 4096):
            client(name, "k", *words)
        client("DEL", "k")


def fill_until_refused(client, add, many, words):
    """Adds items until a growth is refused; returns those that went in."""
    kept = []
    for first in range(0, 100000, 100):
        items = zoo.items(100, str(first))
        replies = client(many, "k", *words, *items)
        kept += [item for item, reply in zip(items, replies) if reply in (0, 1)]
        if any(reply not in (0, 1) for reply in replies):
            for reply in replies:
                assert reply in (-1, 0, 1) or str(reply) == OOM, reply
            refuse_more(client, add)
            return kept
    raise AssertionError("it grew past maxmemory")


def refuse_more(client, add):
    """Some item needs the growth that is refused; the refusal changes nothing."""
    for i in range(1000):
        before = client("DEBUG", "DIGEST-VALUE", "k")
        reply = client.ask(add, "k", f"more:{i}")
        if isinstance(reply, Error):
            equal(str(reply), OOM)
            equal(client("DEBUG", "DIGEST-VALUE", "k"), before)
            return
    raise AssertionError(f"{add} was never refused")


@test("a filter that grows stops where it would not fit; it keeps its items, and goes on when there is room")
def growing(client):
    for create, add, many, words, look in (
            (("BF.RESERVE", "k", 0.01, 500, "EXPANSION", 32768), "BF.ADD", "BF.MADD", (), "BF.MEXISTS"),
            (("BF.RESERVE", "k", 0.01, 100, "EXPANSION", 400), "BF.ADD", "BF.MADD", (), "BF.MEXISTS"),
            (("CF.RESERVE", "k", 512, "EXPANSION", 32768), "CF.ADD", "CF.INSERT", ("ITEMS",), "CF.MEXISTS")):
        client(*create)
        with Limit(client):
            before = used(client)
            kept = fill_until_refused(client, add, many, words)
            assert used(client) < before + MB
            assert all(client(look, "k", *kept)), create
        assert not isinstance(client.ask(add, "k", "after"), Error)
        client("DEL", "k")


def native_growth(client, room):
    """Adds to a native filter that may have `room` times its size; what went in, and why no more did."""
    kept = []
    with Limit(client, startup(client) + int(room * client("MEMORY", "USAGE", "k"))):
        for first in range(0, 1000000, 1000):
            items = zoo.items(1000, str(first))
            replies = client("NAY.MADD", "k", *items)
            kept += [item for item, reply in zip(items, replies) if reply in (0, 1)]
            refusal = next((str(reply) for reply in replies if isinstance(reply, Error)), None)
            if refusal:
                return kept, refusal
    return kept, None


@test("native filters that grow stop likewise")
def growing_native(client):
    for capacity, room, kind, words in ((80000, 2.7, "scalable", ()),
                                        (150000, 1.9, "cuckoo", ("MAXCAPACITY", MB))):
        with Server() as server:  # new: the buffers of old clients are used_memory, too
            other = server.client()
            other("NAY.RESERVE", "k", 0.000001, capacity, "KIND", kind, *words)
            kept, refusal = native_growth(other, room)
            equal(refusal, OOM, kind)
            assert all(other("NAY.MTEST", "k", *kept)), kind


@test("the links that a filter has count: a link that fits alone is refused beside them")
def links_count(client):
    client("BF.RESERVE", "k", 0.01, 200, "EXPANSION", 100)
    client("BF.MADD", "k", *zoo.items(30000))  # links for 200, 20,000 and 2,000,000
    last = int(client("BF.DEBUG", "k")[-1].split(b"bytes:")[1].split()[0])
    whole = client("BF.INFO", "k", "SIZE")[0]
    for nbytes, permitted in ((last + 4096, False), (whole + 4096, True)):
        client("DEL", "k")
        client("BF.RESERVE", "k", 0.01, 200, "EXPANSION", 100)
        client("BF.MADD", "k", *zoo.items(15000))
        with Limit(client, startup(client) + nbytes):
            replies = client("BF.MADD", "k", *zoo.items(8000, "more"))
        failed = {str(reply) for reply in replies if isinstance(reply, Error)}
        equal(failed, set() if permitted else {OOM})


def large_filters(client):
    for words in (("BF.RESERVE", "bf", 0.01, 4 * MB), ("CF.RESERVE", "cf", 4 * MB),
                  ("NAY.RESERVE", "nay", 0.01, 4 * MB, "KIND", "blocked"),
                  ("BF.RESERVE", "bf:grows", 0.01, 100, "EXPANSION", 32768),
                  ("CF.RESERVE", "cf:grows", 128, "EXPANSION", 32768)):
        client(*words)
    for i in range(0, 300, 30):
        client("BF.MADD", "bf:grows", *zoo.items(30, f"{i}"))
        client("CF.INSERT", "cf:grows", "ITEMS", *zoo.items(30, f"{i}"))
    for command, key in (("BF.ADD", "bf"), ("CF.ADD", "cf"), ("NAY.ADD", "nay")):
        client(command, key, "x")


@test("a replica takes what its master sends, whatever its own maxmemory is")
def replica(client):
    with Server("--repl-diskless-sync-delay", 0, port=True) as master, zoo.replica_of(master, "--maxmemory", 3 * MB) as copy:
        writer, reader = master.client(), copy.client()
        large_filters(writer)
        zoo.catch_up(master, copy)
        equal(zoo.digests(reader), zoo.digests(writer))


@test("files are loaded whatever maxmemory is: RDB, AOF of commands, AOF that was rewritten")
def files(client):
    with Server("--appendonly", "yes", "--aof-use-rdb-preamble", "no") as server:
        writer = server.client()
        large_filters(writer)
        before = zoo.digests(writer)
        writer("CONFIG", "SET", "maxmemory", 3 * MB)
        writer("DEBUG", "LOADAOF")
        equal(zoo.digests(writer), before, "AOF of commands")
        writer("BGREWRITEAOF")
        Server.wait_until(lambda: writer.info("persistence")["aof_rewrite_in_progress"] == "0"
                          and writer.info("persistence")["aof_rewrite_scheduled"] == "0", 60, "no new AOF")
        equal(writer.info("persistence")["aof_last_bgrewrite_status"], "ok")
        writer("DEBUG", "LOADAOF")
        equal(zoo.digests(writer), before, "AOF that was rewritten")
        writer("DEBUG", "RELOAD")
        equal(zoo.digests(writer), before, "RDB")
        refuses(writer, OOM, "BF.RESERVE", "k", 0.01, 4 * MB)


main()
