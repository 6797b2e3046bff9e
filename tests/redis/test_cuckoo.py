#!/usr/bin/env python3
"""CF.* where it is better than RedisBloom on purpose, and what would show if it were not."""
import rdb
import zoo
from server import Error, Server, equal, main, refuses, test

TABLE = 1 << 24  # slots of a table whose successor no machine has memory for: 2^39


@test("options of CF.RESERVE are words at their places")
def options(client):
    equal(client("CF.RESERVE", "BUCKETSIZE", 100), b"OK", "a key with the name of an option")
    assert b"bktsize:2" in client("CF.DEBUG", "BUCKETSIZE")
    equal(client("CF.RESERVE", "k", 100, "A", "B", "C", "BUCKETSIZE"), b"OK", "an option without a value")
    equal(client("CF.RESERVE", "twice", 100, "BUCKETSIZE", 4, "BUCKETSIZE", 1), b"OK")
    assert b"bktsize:4" in client("CF.DEBUG", "twice"), "the first counts"


@test("CF.SCANDUMP from any iterator stays within its table")
def iterators(client):
    client("CF.RESERVE", "k", 16)
    client("CF.INSERT", "k", "ITEMS", *zoo.items(60))
    header, slots, iterator = client("CF.SCANDUMP", "k", 0)[1], b"", 1
    tables = header[24]
    while iterator:
        iterator, data = client("CF.SCANDUMP", "k", iterator)
        slots += data or b""
    equal(len(slots), 16 * tables)
    for at in range(len(slots) + 2):
        following, data = client("CF.SCANDUMP", "k", at + 1)
        end = at // 16 * 16 + 16
        wanted = [end + 1, slots[at:end]] if at < len(slots) else [0, None]
        equal([following, data], wanted, f"iterator {at + 1}")


@test("a single add is counted once, where both buckets are one as well")
def count(client):
    for item in zoo.items(400):
        client("DEL", "k")
        client("CF.RESERVE", "k", 4)
        client("CF.ADD", "k", item)
        equal(client("CF.COUNT", "k", item), 1, item)


@test("a replica obeys beyond its own cf-max-expansions")
def obedience(client):
    with Server(port=True) as master, zoo.replica_of(master, arguments=("cf-max-expansions", 2)) as replica:
        writer, reader = master.client(), replica.client()
        writer("CF.RESERVE", "k", 16)
        writer("CF.INSERT", "k", "ITEMS", *zoo.items(150))
        for item in zoo.items(20, "more"):
            writer("CF.ADD", "k", item)
        zoo.catch_up(master, replica)
        assert writer("CF.INFO", "k")[5] > 8
        equal(zoo.digests(reader), zoo.digests(writer))
        reader("REPLICAOF", "NO", "ONE")
        refuses(reader, "Maximum expansions reached", "CF.ADD", "k", "x")


@test("Maximum expansions reached: no key is left behind")
def limit(client):
    with Server(arguments=("cf-max-expansions", 1)) as server:
        one = server.client()
        for words in (("CF.ADD", "k", "x"), ("CF.ADDNX", "k", "x"), ("CF.INSERT", "k", "ITEMS", "x")):
            refuses(one, "Maximum expansions reached", *words)
            equal(one("EXISTS", "k"), 0)


@test("a table that cannot grow for want of memory: the documented error, nothing changed")
def memory(client):
    client("CF.RESERVE", "k", TABLE, "BUCKETSIZE", 1, "EXPANSION", 32768)
    client("CF.LOADCHUNK", "k", TABLE + 1, b"\1" * TABLE)
    before = client("DEBUG", "DIGEST-VALUE", "k")
    refuses(client, "ERR Insufficient memory", "CF.ADD", "k", "x")
    equal(client("CF.INSERT", "k", "ITEMS", "x", "y"), [-1, -1])
    equal(client("CF.INSERTNX", "k", "ITEMS", "x", "y"), [-1, -1])
    equal(client("DEBUG", "DIGEST-VALUE", "k"), before)


@test("what was inserted before memory ran out is what replicas are told")
def memory_on_the_way(client):
    client("CF.RESERVE", "probe", TABLE, "BUCKETSIZE", 1)
    client("CF.ADD", "probe", "a")
    slots = client("CF.SCANDUMP", "probe", 1)[1]
    client("DEL", "probe")
    free = next(i for i, slot in enumerate(slots) if slot)
    client("CF.RESERVE", "k", TABLE, "BUCKETSIZE", 1, "EXPANSION", 32768)
    client("CF.LOADCHUNK", "k", TABLE + 1, b"\1" * free + b"\0" + b"\1" * (TABLE - free - 1))
    listener = zoo.Listener(client.socket.getpeername())
    equal(client("CF.INSERT", "k", "ITEMS", "a", "b", "c"), [1, -1, -1])
    equal(listener.commands(client), [["CF.INSERT", "k", "ITEMS", "a"]])
    equal(client("CF.INFO", "k")[7], TABLE)


@test("items of a restored value are counted, not believed")
def items(client):
    client("CF.RESERVE", "k", 64)
    client("CF.INSERT", "k", "ITEMS", *zoo.items(30))
    dump = client("DUMP", "k")
    type_id, fields = rdb.decode(dump)
    for said in (0, 29, 31, 64):
        fields[2] = (fields[2][0], said)
        client("RESTORE", "again", 0, rdb.encode(type_id, fields, rdb.version_of(dump)), "REPLACE")
        equal(client("DUMP", "again"), dump, f"{said} items said")
    fields[2] = (fields[2][0], 65)
    reply = client.ask("RESTORE", "other", 0, rdb.encode(type_id, fields, rdb.version_of(dump)))
    assert isinstance(reply, Error), "more items than slots"


main("--rdbcompression", "no", "--repl-diskless-sync", "no")
