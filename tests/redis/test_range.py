#!/usr/bin/env python3
"""NAY.RANGE on range filters that NAY.LOAD has loaded: answers against a model, errors, a filter that is being
loaded or damaged, RDB, AOF, replicas, the key of the command for clusters and ACL."""
import bisect
import os
import random
import subprocess

from server import BUILD, Error, Server, equal, main, refuses, test

NAY = os.environ.get("NAY_COMMAND", str(BUILD / "cli/nay"))
LOADING = "ERR the filter is still being loaded"


def build(keys, *options):
    """The bytes of a range filter of these keys."""
    return subprocess.run([NAY, "build", "-q", "-t", "range", *options], input="".join(f"{k}\n" for k in keys).encode(),
                          check=True, capture_output=True).stdout


def load(client, key, data, *options):
    equal(client("NAY.LOAD", key, 0, data, *options), 0, "all has arrived")


def has(keys, low, high):
    at = bisect.bisect_left(keys, low)
    return at < len(keys) and keys[at] <= high


@test("integers: every range with a key is 1, ranges without one are 0 but for the planned rate")
def integers(client):
    rng = random.Random(1)
    keys = sorted(rng.sample(range(-10**12, 10**12), 3000))
    load(client, "f", build(keys, "--key=int", "--range-length", "1000", "-p", "1%"))
    wrong = absent = 0
    for _ in range(3000):
        low = rng.choice(keys) + rng.randrange(-2000, 2000)
        high = low + rng.randrange(1000)
        answer = client("NAY.RANGE", "f", low, high)
        if has(keys, low, high):
            equal(answer, 1, f"{low} {high}")
        else:
            wrong, absent = wrong + answer, absent + 1
    assert absent > 300 and wrong <= absent * 0.03, (wrong, absent)
    for key in keys[:200]:
        equal((client("NAY.RANGE", "f", key, key), client("NAY.TEST", "f", key)), (1, 1))
    equal(client("NAY.MTEST", "f", *keys[:300]), [1] * 300)
    equal(client("NAY.RANGE", "f", -2**63, 2**63 - 1), 1, "longer than two blocks")


@test("text: a prefix and digits; ends with two prefixes are a maybe")
def text(client):
    keys = [f"user:{u}:order:{n}" for u in range(20) for n in range(0, 5000, 100)]
    load(client, "f", build(keys, "--range-delimiter", ":", "--range-length", "50", "-p", "0.1%"))
    equal(client("NAY.INFO", "f", "range length"), 50)
    for user in range(20):
        equal(client("NAY.RANGE", "f", f"user:{user}:order:350", f"user:{user}:order:400"), 1)
        equal(client("NAY.RANGE", "f", f"user:{user}:order:400", f"user:{user}:order:400"), 1)
    empty = [client("NAY.RANGE", "f", f"user:{u}:order:{n + 1}", f"user:{u}:order:{n + 50}")
             for u in range(25) for n in range(0, 4900, 100)]
    assert sum(empty) < 25, sum(empty)
    equal(client("NAY.RANGE", "f", "user:1:order:1", "user:2:order:2"), 1)
    refuses(client, "ERR the first end of the range is above the second", "NAY.RANGE", "f", "user:1:order:9", "user:1:order:8")


@test("exact: no false positive, for ranges of any length; INFO says so")
def exact(client):
    load(client, "f", build(range(0, 2000, 20), "--key=int", "--range-length", "1000", "-p", "1%"))
    equal((client("NAY.INFO", "f", "exact"), client("NAY.INFO", "f", "kind")), (1, b"range"))
    for n in range(0, 1980, 20):
        equal((client("NAY.RANGE", "f", n + 1, n + 19), client("NAY.RANGE", "f", n + 1, n + 20)), (0, 1))
    equal((client("NAY.RANGE", "f", 1981, 10**15), client("NAY.RANGE", "f", -10**15, -1)), (0, 0))


@test("a missing key has no keys; other kinds, other types, ends that are none and ends in reverse are errors")
def errors(client):
    equal(client("NAY.RANGE", "none", 1, 2), 0)
    client("SET", "s", "x")
    refuses(client, "WRONGTYPE", "NAY.RANGE", "s", 1, 2)
    client("BF.ADD", "b", "x")
    refuses(client, "WRONGTYPE", "NAY.RANGE", "b", 1, 2)
    client("NAY.ADD", "n", "x")
    refuses(client, "ERR a scalable filter does not answer ranges", "NAY.RANGE", "n", 1, 2)
    load(client, "f", build(range(100), "--key=int", "--range-length", "10"))
    refuses(client, "ERR the first end of the range is above the second", "NAY.RANGE", "f", 2, 1)
    for ends in (("x", 2), (1, "x"), ("", 1), (1, ""), (1, "1.5"), (1, 2**64), (b"\x00" * 8, 2)):
        refuses(client, "ERR the item is not of type ordered-int", "NAY.RANGE", "f", *ends)
    for words in ((), ("f",), ("f", 1), ("f", 1, 2, 3)):
        refuses(client, "ERR wrong number of arguments for 'nay.range' command", "NAY.RANGE", *words)
    for words in (("NAY.ADD", "f", 1), ("NAY.MADD", "f", 1)):
        refuses(client, "ERR a range filter is static and takes no keys", *words)
    refuses(client, "ERR a range filter cannot remove keys", "NAY.DEL", "f", 1)
    refuses(client, "ERR KIND", "NAY.RESERVE", "r", 0.01, 100, "KIND", "range")
    equal(client("EXISTS", "r"), 0)


@test("in RESP3 the answer is a boolean")
def resp3(client):
    load(client, "f", build(range(0, 100, 10), "--key=int", "--range-length", "5"))
    client("HELLO", 3)
    equal((client.raw("NAY.RANGE", "f", 1, 10), client.raw("NAY.RANGE", "f", 1, 9)), (b"#t\r\n", b"#f\r\n"))
    client("HELLO", 2)
    equal(client.raw("NAY.RANGE", "f", 1, 9), b":0\r\n")


@test("while a filter is being loaded every range is an error, never a nay; under REPLACE the old one answers")
def loading(client):
    data = build(range(0, 10**6, 7), "--key=int", "--range-length", "5")
    for step in (100, 5000, len(data) - 1):
        client("DEL", "f")
        for at in range(0, len(data) - step, step):
            client("NAY.LOAD", "f", at, data[at : at + step])
            refuses(client, LOADING, "NAY.RANGE", "f", 1, 2)
            if at > 20 * step:
                break
    load(client, "f", data, "REPLACE")
    equal((client("NAY.RANGE", "f", 1, 6), client("NAY.RANGE", "f", 1, 7)), (0, 1))
    other = build([3], "--key=int", "--range-length", "5")
    client("NAY.LOAD", "f", 0, other[:100], "REPLACE")
    equal((client("NAY.RANGE", "f", 1, 6), client("NAY.RANGE", "f", 1, 7)), (0, 1))
    client("NAY.LOAD", "f", 100, other[100:], "REPLACE")
    equal((client("NAY.RANGE", "f", 1, 6), client("NAY.RANGE", "f", 7, 7)), (1, 0))


@test("a damaged file is refused at every byte, and the key is as it was")
def damaged(client):
    data = build(range(0, 400, 3), "--key=int", "--range-length", "4")
    load(client, "old", build([5], "--key=int", "--range-length", "4"))
    for at in range(0, len(data)):
        bad = data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :]
        reply = client.ask("NAY.LOAD", "f", 0, bad)
        assert isinstance(reply, Error) or reply != 0, at
        client("DEL", "f")
        client.ask("NAY.LOAD", "old", 0, bad, "REPLACE")
        equal((client("NAY.RANGE", "old", 4, 6), client("NAY.RANGE", "old", 6, 9)), (1, 0), str(at))


@test("RDB, AOF, DUMP and RESTORE, COPY and replicas answer as the filter did")
def travels(client):
    keys = list(range(0, 60000, 13))
    data = build(keys, "--key=int", "--range-length", "10", "-p", "1%", "--seed", "4")
    load(client, "f", data)
    asked = [(n, n + 5) for n in range(0, 9000, 7)]

    def answers(of, name="f"):
        return of.many(("NAY.RANGE", name, low, high) for low, high in asked)

    before = answers(client)
    equal(before, [int(has(keys, low, high)) if has(keys, low, high) else got for (low, high), got in zip(asked, before)])
    client("COPY", "f", "copy")
    client("RESTORE", "restored", 0, client("DUMP", "f"))
    equal((answers(client, "copy"), answers(client, "restored")), (before, before))
    client("DEBUG", "RELOAD")
    equal(answers(client), before, "RDB")
    client("CONFIG", "SET", "aof-use-rdb-preamble", "no")
    client("CONFIG", "SET", "appendonly", "yes")
    Server.wait_until(lambda: client.info("persistence")["aof_rewrite_in_progress"] == "0"
                      and client.info("persistence")["aof_rewrite_scheduled"] == "0", 30, "the rewrite")
    client("DEBUG", "LOADAOF")
    equal(answers(client), before, "AOF")
    client("CONFIG", "SET", "appendonly", "no")
    with Server(port=True) as master:
        first = master.client()
        load(first, "f", data)
        with Server("--replicaof", f"127.0.0.1 {master.port}") as replica:
            second = replica.client()
            Server.wait_until(lambda: second.ask("EXISTS", "f") == 1, 30, "the key")
            equal(answers(second), before, "replica")
            first("NAY.LOAD", "g", 0, data)
            equal(first("WAIT", 1, 10000), 1)
            equal(answers(second, "g"), before)


@test("the command's key is its first argument, for clusters and ACL; it only reads")
def keys_of_command(client):
    equal(client("COMMAND", "GETKEYS", "NAY.RANGE", "f", "1", "2"), [b"f"])
    equal(client("COMMAND", "GETKEYSANDFLAGS", "NAY.RANGE", "f", "1", "2"), [[b"f", [b"RO", b"access"]]])
    flags = client("COMMAND", "INFO", "NAY.RANGE")[0][2]
    assert {"readonly", "fast"} <= {str(flag.decode() if isinstance(flag, bytes) else flag) for flag in flags}, flags
    docs = client("COMMAND", "DOCS", "NAY.RANGE")[1]
    fields = dict(zip(docs[::2], docs[1::2]))
    equal([dict(zip(a[::2], a[1::2]))[b"name"] for a in fields[b"arguments"]], [b"key", b"first", b"last"])
    load(client, "f", build([5], "--key=int", "--range-length", "4"))
    client("ACL", "SETUSER", "reader", "on", "nopass", "%R~f", "+nay.range")
    client("AUTH", "reader", "x")
    equal(client("NAY.RANGE", "f", 4, 6), 1)
    refuses(client, "NOPERM", "NAY.RANGE", "g", 4, 6)
    refuses(client, "NOPERM", "NAY.TEST", "f", 5)
    client("AUTH", "default", "")
    client("ACL", "DELUSER", "reader")


@test("a node of a cluster sends NAY.RANGE to the node that has the key")
def cluster(_):
    with Server("--cluster-enabled", "yes", port=True) as node:
        client = node.client()
        client("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        Server.wait_until(lambda: client.info("cluster")["cluster_enabled"] == "1"
                          and b"cluster_state:ok" in client("CLUSTER", "INFO"), 30, "the cluster")
        load(client, "f", build([5], "--key=int", "--range-length", "4"))
        equal(client("NAY.RANGE", "f", 4, 6), 1)
        client("DEL", "f")
        slot = client("CLUSTER", "KEYSLOT", "f")
        client("CLUSTER", "DELSLOTS", slot)
        refuses(client, "CLUSTERDOWN", "NAY.RANGE", "f", 4, 6)


@test("keyed filters: with the key in the file or apart, never a nay without it")
def keyed(client):
    secret = "00112233445566778899aabbccddeeff"
    import pathlib
    import tempfile
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, "secret")
        path.write_text(secret)
        inside = build(range(0, 10**5, 10), "--key=int", "--range-length", "5", "--secret", str(path), "--store-key")
        apart = build(range(0, 10**5, 10), "--key=int", "--range-length", "5", "--secret", str(path))
    load(client, "f", inside)
    refuses(client, "ERR", "NAY.LOAD", "g", 0, apart)
    client("DEL", "g")
    load(client, "g", apart, "HASHKEY", secret)
    for name in "fg":
        equal(client.many(("NAY.RANGE", name, n - 3, n + 1) for n in range(0, 3000, 10)), [1] * 300, name)
    client("DEBUG", "RELOAD")
    equal(client.many(("NAY.RANGE", "g", n - 3, n + 1) for n in range(0, 3000, 10)), [1] * 300)


main()
