#!/usr/bin/env python3
"""The module inside the server: command descriptions, ACLs, events, memory, errors that change nothing."""
import re

import zoo
from server import (GOLDEN, MODULE, Client, Error, Server, Skip, equal, has_command, main, parse, refuses,
                    test)

WRONG_TYPE = "WRONGTYPE Operation against a key holding the wrong kind of value"


def recorded_commands():
    """COMMAND INFO as RedisBloom answered it: {name: reply}."""
    lines = (GOLDEN / "replies.txt").read_text().splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith("> COMMAND INFO"))
    reply = parse(lines[place + 1][2:].encode().decode("unicode_escape").encode("latin-1"))
    return {command[0].decode(): command for command in reply}


def as_map(flat):
    return dict(zip(flat[::2], flat[1::2]))


def version(client):
    """(7, 0) and so on; Valkey says which Redis it is equal to."""
    return tuple(int(part) for part in client.info("server")["redis_version"].split(".")[:2])


def ours(client):
    return [name for name in recorded_commands() if has_command(client, name)]


@test("COMMAND INFO: arity, flags and key specifications of RedisBloom")
def command_info(client):
    recorded = recorded_commands()
    for name in ours(client):
        got, wanted = client("COMMAND", "INFO", name)[0], recorded[name]
        equal(got[:2], wanted[:2], name)
        if name == "cf.compact":  # it changes the filter, so it is a write here: replicas refuse it
            assert b"write" in got[2], got[2]
            continue
        equal(set(got[2]), set(wanted[2]), name + ": flags")
        equal(got[3:6], wanted[3:6], name + ": keys")
        specs, ones = as_map(got[8][0]), as_map(wanted[8][0])
        equal(specs[b"begin_search"], ones[b"begin_search"], name)
        equal(specs[b"find_keys"], ones[b"find_keys"], name)
        assert set(ones[b"flags"]) <= set(specs[b"flags"]), f"{name}: {specs[b'flags']}"


@test("COMMAND DOCS: every command has a summary, a complexity, a version and arguments")
def command_docs(client):
    names = ours(client)
    names += [name.decode() for name in client("COMMAND", "LIST", "FILTERBY", "PATTERN", "nay.*")]
    for name in names:
        docs = as_map(as_map(client("COMMAND", "DOCS", name))[name.encode()])
        for field in (b"summary", b"complexity", b"since", b"arguments"):
            assert docs.get(field), f"{name} has no {field.decode()}"
        equal(as_map(docs[b"arguments"][0])[b"type"], b"key", name)


@test("every command is refused with too few words, and named in lower case")
def arity(client):
    for name in ours(client):
        refuses(client, f"ERR wrong number of arguments for '{name}' command", name.upper())


@test("COMMAND GETKEYS finds the key")
def get_keys(client):
    for name in ours(client):
        few = abs(client("COMMAND", "INFO", name)[0][1])
        words = [name, "the-key", *["1"] * (max(few, 2) - 2)]
        equal(client("COMMAND", "GETKEYS", *words), [b"the-key"], name)


def as_user(client, *rules):
    client("ACL", "SETUSER", "u", "reset", "on", "nopass", *rules)
    user = Client(client("CONFIG", "GET", "unixsocket")[1].decode())
    user("AUTH", "u", "any")
    return user


@test("ACL: a reader of keys reads and does not write")
def acl_keys(client):
    client("BF.ADD", "b", "x")
    user = as_user(client, "+@all", "%R~b")
    equal(user("BF.EXISTS", "b", "x"), 1)
    equal(user("BF.CARD", "b"), 1)
    refuses(user, "NOPERM", "BF.ADD", "b", "y")
    refuses(user, "NOPERM", "BF.EXISTS", "other", "x")
    equal(client("BF.CARD", "b"), 1)


def categories(client, name):
    return set(client("COMMAND", "INFO", name)[0][6])


@test("ACL: categories @bloom and @cuckoo, where the server lets modules have them")
def acl_categories(client):
    if b"bloom" not in client("ACL", "CAT"):
        assert version(client) < (7, 4), "this server has categories of modules"
        raise Skip("this server has no categories of modules")
    equal(categories(client, "bf.add"), {b"@write", b"@bloom"})
    equal(categories(client, "bf.info"), {b"@read", b"@fast", b"@bloom"})
    user = as_user(client, "+@bloom", "-@write", "~*")
    equal(user("BF.EXISTS", "b", "x"), 0)
    refuses(user, "NOPERM", "BF.ADD", "b", "x")
    if has_command(client, "CF.ADD"):
        equal(categories(client, "cf.del"), {b"@write", b"@cuckoo"})
        refuses(user, "NOPERM", "CF.EXISTS", "b", "x")


def key_for_wrong_type(client):
    client("SET", "text", 1)
    client("BF.ADD", "b", "x")
    return client("DUMP", "text"), client("DUMP", "b")


@test("wrong type: the documented error, and nothing changed")
def wrong_type(client):
    before = key_for_wrong_type(client)
    for words in (("BF.RESERVE", "text", 0.01, 100), ("BF.ADD", "text", "x"), ("BF.MADD", "text", "x"),
                  ("BF.INSERT", "text", "ITEMS", "x"), ("BF.INFO", "text"), ("BF.CARD", "text"),
                  ("BF.SCANDUMP", "text", 0), ("BF.LOADCHUNK", "text", 1, "x")):
        refuses(client, WRONG_TYPE, *words)
    equal((client("DUMP", "text"), client("DUMP", "b")), before)


@test("wrong type: CF on a Bloom filter and the other way round", needs=["CF.ADD"])
def wrong_type_cuckoo(client):
    before = key_for_wrong_type(client)
    client("CF.ADD", "c", "x")
    for words in (("CF.RESERVE", "b", 100), ("CF.ADD", "b", "x"), ("CF.ADDNX", "b", "x"),
                  ("CF.INSERT", "text", "ITEMS", "x"), ("CF.INSERTNX", "b", "ITEMS", "x"), ("CF.INFO", "b"),
                  ("CF.SCANDUMP", "b", 0), ("CF.LOADCHUNK", "b", 1, "x"), ("BF.ADD", "c", "x")):
        refuses(client, WRONG_TYPE, *words)
    refuses(client, "Not found", "CF.DEL", "b", "x")
    equal((client("DUMP", "text"), client("DUMP", "b")), before)


@test("out of memory: writes that need it are refused, the rest works, nothing changed")
def out_of_memory(client):
    kept = zoo.fill(client)
    before = zoo.digests(client)
    client("CONFIG", "SET", "maxmemory", 1000)
    try:
        for words in (("BF.ADD", "bf:chain", "new"), ("BF.MADD", "new", "x"), ("BF.RESERVE", "new", 0.01, 10),
                      ("BF.INSERT", "new", "ITEMS", "x"), ("BF.LOADCHUNK", "new", 1, "x")):
            refuses(client, "OOM command not allowed", *words)
        zoo.holds(client, kept)
        equal(zoo.digests(client), before)
        if has_command(client, "CF.DEL"):
            refuses(client, "OOM command not allowed", "CF.ADD", "cf:chain", "new")
            equal(client("CF.DEL", "cf:chain", "item:1"), 1)
    finally:
        client("CONFIG", "SET", "maxmemory", 0)


@test("eviction counts filters, and takes them")
def eviction(client):
    # freed at once: Valkey's default is a thread, for which the next command may not wait
    with Server("--maxmemory-policy", "allkeys-random", "--lazyfree-lazy-eviction", "no") as server:
        other = server.client()
        room = 8 << 20
        other("CONFIG", "SET", "maxmemory", int(other.info("memory")["used_memory"]) + room)
        for i in range(30):
            other("BF.RESERVE", f"b{i}", 0.01, 1000000)  # 1.4 MB each
        assert 0 < other("DBSIZE") < 8, other("DBSIZE")
        assert int(other.info("stats")["evicted_keys"]) > 20


@test("a filter larger than the machine is refused, and the server goes on")
def larger_than_the_machine(client):
    for words in (("BF.RESERVE", "k", "1e-300", 1 << 30), ("BF.INSERT", "k", "ERROR", "1e-300", "CAPACITY",
                                                           1 << 30, "ITEMS", "x")):
        assert isinstance(client.ask(*words), Error), words
    equal(client("EXISTS", "k"), 0)
    equal(client("PING"), b"PONG")


@test("a read-only replica refuses every write", needs=["CF.ADD"])
def read_only(client):
    kept = zoo.fill(client)
    before = zoo.digests(client)
    client("REPLICAOF", "127.0.0.1", 1)
    try:
        for words in (("BF.ADD", "bf:chain", "new"), ("BF.MADD", "new", "x"), ("BF.RESERVE", "new", 0.01, 10),
                      ("BF.INSERT", "new", "ITEMS", "x"), ("BF.LOADCHUNK", "new", 1, "x"),
                      ("CF.ADD", "cf:chain", "x"), ("CF.DEL", "cf:chain", "item:1"), ("CF.COMPACT", "cf:chain"),
                      ("CF.LOADCHUNK", "new", 1, "x")):
            refuses(client, "READONLY", *words)
        zoo.holds(client, kept)
        equal(zoo.digests(client), before)
    finally:
        client("REPLICAOF", "NO", "ONE")


def warnings(server):
    """What the server's log says at the level of warnings, without processes and times."""
    return {line.split(" # ", 1)[1] for line in server.log(1000).splitlines() if " # " in line}


@test("loading the module logs no warning")
def silent_load(client):
    with Server("--enable-module-command", "yes", module=None) as server:
        before = warnings(server)
        server.client()("MODULE", "LOAD", MODULE)
        equal(warnings(server) - before, set())


def events_of(client, *commands):
    """What keyspace listeners hear of these commands."""
    client("CONFIG", "SET", "notify-keyspace-events", "KEA")
    listener = Client(client("CONFIG", "GET", "unixsocket")[1].decode())
    listener("PSUBSCRIBE", "__keyevent@0__:*")
    for words in commands:
        client.ask(*words)
    client("SET", "the-end", 1)
    heard = []
    while True:
        channel, key = listener.read()[1][2:]
        if key == b"the-end":
            client("CONFIG", "SET", "notify-keyspace-events", "")
            return heard
        heard.append((channel.split(b":", 1)[1].decode(), key.decode()))


@test("keyspace events: one for a change, none for a command that changes nothing")
def events(client):
    heard = [event for event in events_of(client, ("BF.RESERVE", "b", 0.01, 100)) if event[0] != "new"]
    equal([key for _, key in heard], ["b"], str(heard))
    heard = events_of(client, ("BF.ADD", "b", "x"), ("BF.ADD", "b", "x"), ("BF.MADD", "b", "y", "z", "x"))
    equal([key for _, key in heard], ["b", "b"], str(heard))
    assert all(re.fullmatch(r"(bf|bloom)\.[a-z]+", name) for name, _ in heard), heard
    equal(events_of(client, ("BF.EXISTS", "b", "x"), ("BF.MADD", "b", "x"), ("BF.RESERVE", "b", 0.01, 100)), [])


@test("keyspace events of cuckoo filters", needs=["CF.ADD"])
def events_cuckoo(client):
    client("CF.ADD", "c", "w")
    heard = events_of(client, ("CF.ADD", "c", "x"), ("CF.ADDNX", "c", "x"), ("CF.DEL", "c", "x"),
                      ("CF.DEL", "c", "never"))
    equal([key for _, key in heard], ["c", "c"], str(heard))
    assert heard[0][0] != heard[1][0], heard


@test("WATCH sees a change; MULTI and scripts run the commands")
def transactions(client):
    other = Client(client("CONFIG", "GET", "unixsocket")[1].decode())
    client("BF.ADD", "b", "x")
    client("WATCH", "b")
    other("BF.ADD", "b", "y")
    client("MULTI")
    client("BF.ADD", "b", "z")
    equal(client("EXEC"), None)
    client("MULTI")
    client("BF.ADD", "b", "z")
    client("BF.MEXISTS", "b", "x", "z", "none")
    equal(client("EXEC"), [1, [1, 1, 0]])
    equal(client("EVAL", "return redis.call('BF.MADD', KEYS[1], ARGV[1], 'x')", 1, "b", "v"), [1, 0])
    refuses(client, "ERR", "EVAL_RO", "return redis.call('BF.ADD', KEYS[1], 'u')", 1, "b")


@test("COPY: equal digest, and a life of its own")
def copy(client):
    kept = zoo.fill(client)
    for key in kept:
        equal(client("COPY", key, "copy of " + key), 1, key)
        first, second = client("DEBUG", "DIGEST-VALUE", key, "copy of " + key)
        equal(second, first, key)
    before = client("DEBUG", "DIGEST-VALUE", "bf:chain")
    client("BF.MADD", "copy of bf:chain", *zoo.items(3000, "more"))
    equal(client("DEBUG", "DIGEST-VALUE", "bf:chain"), before)
    client("DEL", *kept)
    zoo.holds(client, {"copy of " + key: value for key, value in kept.items()})


def used(client):
    Server.wait_until(lambda: client.info("memory")["lazyfree_pending_objects"] == "0", 10, "not freed")
    client("MEMORY", "PURGE")
    return int(client.info("memory")["used_memory"])


SIZE_CLASS = 0.25  # jemalloc rounds up to four classes per power of two


@test("MEMORY USAGE is what used_memory grew by, and DEL gives it back")
def memory(client):
    makers = {"BF.RESERVE": (0.01, 1000000), "CF.RESERVE": (1000000,), "NAY.RESERVE": (0.01, 1000000)}
    for name, words in makers.items():
        if not has_command(client, name):
            continue
        before = used(client)
        client(name, "k", *words)
        usage, grown = client("MEMORY", "USAGE", "k"), used(client) - before
        assert -65536 < grown - usage < SIZE_CLASS * usage + 65536, f"{name}: USAGE {usage}, used_memory {grown}"
        client("DEL", "k")
        assert used(client) - before < 65536, f"{name}: {used(client) - before} bytes stay after DEL"


@test("UNLINK frees large filters in the background")
def unlink(client):
    makers = {"BF.RESERVE": (0.001, 4000000), "CF.RESERVE": (4000000,), "NAY.RESERVE": (0.001, 4000000)}
    for name, words in makers.items():
        if not has_command(client, name):
            continue
        client("CONFIG", "RESETSTAT")
        client(name, "k", *words)
        full = used(client)
        client("UNLINK", "k")
        assert full - used(client) > 3000000, name
        equal(client.info("memory")["lazyfreed_objects"], "1", name)


@test("INFO has a section of the module")
def info_section(client):
    client("BF.ADD", "b", "x")
    fields = client.info("modules")
    fields.update(client.info("everything"))
    numbers = {name: value for name, value in fields.items() if name.startswith("bf_")}
    assert any(name.endswith("values") and value == "1" for name, value in numbers.items()), numbers


@test("load arguments: pairs, both spellings; nonsense is refused at the start")
def load_arguments(client):
    for words in (["INITIAL_SIZE", 500, "ERROR_RATE", 0.001], ["bf-initial-size", 500, "bf-error-rate", 0.001]):
        with Server(arguments=words) as server:
            other = server.client()
            other("BF.ADD", "b", "x")
            equal(other("BF.INFO", "b", "CAPACITY"), [500])
            assert b"ratio:0.0005" in other("BF.DEBUG", "b")[1]
    for words in (["INITIAL_SIZE"], ["BOGUS", 1], ["ERROR_RATE", 2], ["INITIAL_SIZE", "many"]):
        refuses(client, "ERR", "MODULE", "LOAD", MODULE, *words)


@test("CONFIG SET changes the defaults, within the ranges")
def config_set(client):
    name = "bf.bf-initial-size" if client("CONFIG", "GET", "bf.bf-initial-size") else "bf-initial-size"
    client("CONFIG", "SET", name, 250)
    client("BF.ADD", "b", "x")
    equal(client("BF.INFO", "b", "CAPACITY"), [250])
    for value in ("0", "-1", "x", str(1 << 31)):
        assert isinstance(client.ask("CONFIG", "SET", name, value), Error), value
    client("CONFIG", "SET", name, 100)


main("--enable-module-command", "yes")
