#!/usr/bin/env python3
"""The filters of tests/golden/redis/filters.json, made by RedisBloom, come in and go out byte for byte.

Each in four ways: rebuilt by commands, RESTORE of its DUMP, LOADCHUNK of its chunks, and a file.
"""
import json
import pathlib
import shutil
import tempfile

import rdb
from server import GOLDEN, Error, Server, equal, main, test

FILTERS = json.loads((GOLDEN / "filters.json").read_text())["filters"]
PROBES = 2000


def kind(filter):
    return filter["name"][:2].upper()


def hits(client, filter, key):
    answers = client(kind(filter) + ".MEXISTS", key, *(f"probe:{i}" for i in range(PROBES)))
    return [i for i, answer in enumerate(answers) if answer]


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def chunks(client, command, key):
    """The whole of SCANDUMP: [(iterator, bytes)]."""
    found, iterator = [], 0
    while True:
        iterator, data = client(command, key, iterator)
        if iterator == 0:
            return found
        found.append((iterator, data))


def without_footer(dump):
    return dump[: -rdb.FOOTER]


def compare(client, filter, key):
    """Everything that can be seen of a filter is what RedisBloom showed."""
    name, family = filter["name"], kind(filter)
    equal(hits(client, filter, key), filter["probe_hits"], name + ": probes")
    first = filter["deleted"]
    for i in range(first, filter["n"] if not filter["errors"] else first):
        equal(client(family + ".EXISTS", key, f"item:{i}"), 1, f"{name}: item {i}")
    equal([text(v) for v in client(family + ".INFO", key)], filter["info"], name + ": info")
    shown = client(family + ".DEBUG", key)
    equal([text(v) for v in shown] if isinstance(shown, list) else text(shown), filter["debug"], name + ": debug")
    dump = bytes.fromhex(filter["dump"])
    equal(without_footer(client("DUMP", key)), without_footer(dump), name + ": DUMP")
    wanted = [(iterator, bytes.fromhex(data)) for iterator, data in filter["chunks"]]
    equal(chunks(client, family + ".SCANDUMP", key), wanted, name + ": SCANDUMP")


def add_all(client, filter, key):
    family, refused = kind(filter), 0
    for i in range(filter["n"]):
        refused += isinstance(client.ask(family + ".ADD", key, f"item:{i}"), Error)
    for i in range(filter["deleted"]):
        equal(client("CF.DEL", key, f"item:{i}"), 1, f"delete {i}")
    return refused


def by_commands(client, filter):
    if filter["setup"]:
        client(*filter["setup"].split())
    equal(add_all(client, filter, "k"), filter["errors"], "adds refused")


def by_restore(client, filter):
    equal(client("RESTORE", "k", 0, bytes.fromhex(filter["dump"])), b"OK", "RESTORE")


def by_chunks(client, filter):
    for iterator, data in filter["chunks"]:
        equal(client(kind(filter) + ".LOADCHUNK", "k", iterator, bytes.fromhex(data)), b"OK", f"chunk {iterator}")


def each_filter(client, make):
    for filter in FILTERS:
        client("FLUSHALL", "SYNC")
        make(client, filter)
        compare(client, filter, "k")


@test("made by the same commands, the filters have the same bytes")
def commands(client):
    each_filter(client, by_commands)


@test("RESTORE of a dump of RedisBloom, and DUMP gives it back")
def restored(client):
    each_filter(client, by_restore)


@test("LOADCHUNK of chunks of RedisBloom, and SCANDUMP gives them back")
def loaded(client):
    each_filter(client, by_chunks)


@test("chunks loaded out of order or twice end in the same filter")
def unordered(client):
    for filter in FILTERS:
        client("FLUSHALL", "SYNC")
        (head, header), *data = filter["chunks"]
        command = kind(filter) + ".LOADCHUNK"
        client(command, "k", head, bytes.fromhex(header))
        for iterator, part in [*reversed(data), *data[:1]]:
            client(command, "k", iterator, bytes.fromhex(part))
        compare(client, filter, "k")


@test("a filter restored goes on as RedisBloom's would: the same bytes after more adds")
def goes_on(client):
    for filter in FILTERS:
        client("FLUSHALL", "SYNC")
        by_commands(client, filter)
        client("RESTORE", "other", 0, bytes.fromhex(filter["dump"]))
        for i in range(3000, 3300):
            first, second = client.many((kind(filter) + ".ADD", key, f"more:{i}") for key in ("k", "other"))
            equal(str(second), str(first), f"{filter['name']}: add {i}")
        equal(client("DUMP", "other"), client("DUMP", "k"), filter["name"])


@test("RDB file of all the filters, written and read by the server")
def rdb_file(client):
    for filter in FILTERS:
        client("RESTORE", filter["name"], 0, bytes.fromhex(filter["dump"]))
    before = client("DEBUG", "DIGEST")
    client("DEBUG", "RELOAD")
    equal(client("DEBUG", "DIGEST"), before, "digest after a reload")
    for filter in FILTERS:
        compare(client, filter, filter["name"])


def starts_with(name, *options):
    """A server that finds this golden file in its directory has all the filters."""
    directory = tempfile.mkdtemp(prefix="nay-redis-")
    shutil.copy(GOLDEN / name, pathlib.Path(directory, "dump.rdb" if name.endswith("rdb") else "appendonly.aof"))
    with Server(*options, directory=directory) as server:
        for filter in FILTERS:
            compare(server.client(), filter, filter["name"])


@test("a server that has lost RedisBloom's module starts from its RDB file with ours")
def file_of_redisbloom(client):
    starts_with("redisbloom.rdb")


@test("and from its append-only file")
def commands_of_redisbloom(client):
    starts_with("redisbloom.aof", "--appendonly", "yes")


def older(type_id, encoding):
    """The type id with another encoding version: the low ten bits, 4 in what is written now."""
    assert type_id[7] == 4
    return type_id[:7] + bytes([encoding])


def without(fields, *places):
    return [field for i, field in enumerate(fields) if i not in places]


@test("older encodings of MBbloom-- are read")
def older_bloom(client):
    client("SET", "any", 1)
    version = rdb.version_of(client("DUMP", "any"))
    bloom = next(f for f in FILTERS if f["name"] == "bf_1pct_1000")
    type_id, fields = rdb.decode(bytes.fromhex(bloom["dump"]))
    for encoding, absent in ((3, [3]), (2, [3])):  # before 4 there was no growth field
        client("RESTORE", "k", 0, rdb.encode(older(type_id, encoding), without(fields, *absent), version), "REPLACE")
        equal(hits(client, bloom, "k"), bloom["probe_hits"], f"encoding {encoding}")
        equal([text(v) for v in client("BF.INFO", "k")], bloom["info"], f"encoding {encoding}")
        equal(rdb.decode(client("DUMP", "k")), (type_id, fields), "written as it is now")


@test("older encodings of MBbloomCF are read")
def older_cuckoo(client):
    client("SET", "any", 1)
    version = rdb.version_of(client("DUMP", "any"))
    cuckoo = next(f for f in FILTERS if f["name"] == "cf_default")
    type_id, fields = rdb.decode(bytes.fromhex(cuckoo["dump"]))
    old = without(fields, 3, 4, 5, 6, 7)  # no deletes, bucket size, iterations, expansion, buckets of each
    client("RESTORE", "k", 0, rdb.encode(older(type_id, 3), old, version))
    equal(hits(client, cuckoo, "k"), cuckoo["probe_hits"], "encoding 3")
    equal([text(v) for v in client("CF.INFO", "k")], cuckoo["info"], "encoding 3")


@test("every filter goes to RedisBloom's form and back while both are written")
def both_roads(client):
    for filter in FILTERS:
        client("RESTORE", "a", 0, bytes.fromhex(filter["dump"]), "REPLACE")
        client("DEL", "b")
        command = kind(filter)
        for iterator, data in chunks(client, command + ".SCANDUMP", "a"):
            client(command + ".LOADCHUNK", "b", iterator, data)
        equal(client("DUMP", "b"), client("DUMP", "a"), filter["name"])


main()
