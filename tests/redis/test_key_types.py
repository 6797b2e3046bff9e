#!/usr/bin/env python3
"""Filters that state how their keys were made: items are converted or refused, never guessed; the statement
goes wherever the filter goes."""
import os
import pathlib
import subprocess
import sys
import tempfile

from server import BUILD, SOURCE, Server, equal, main, refuses, test

sys.path.insert(0, str(SOURCE / "tests/golden/native"))
from read_nay import described  # noqa: E402

NAY = os.environ.get("NAY_COMMAND", str(BUILD / "cli/nay"))
KINDS = ("bloom", "blocked", "counting", "scalable", "cuckoo", "window")
STATIC = ("xor", "fuse", "ribbon")
NOT_INT = "ERR the item is not of type int: not a decimal digit (at byte 0)"
# a type, two texts of one value, a text of another value, a text of none
TYPES = {
    "int": ("7", "007", "8", "seven"),
    "float": ("1.0", "10e-1", "2.5", "one"),
    "bool": ("true", "T", "0", "yes"),
    "date": ("2024-02-29", "+2024-02-29", "2024-03-01", "2023-02-29"),
    "timestamp": ("2024-02-29T12:00Z", "2024-02-29 13:00+01", "2025-01-01", "noon"),
    "uuid": ("123e4567-e89b-12d3-a456-426614174000", "{123E4567E89B12D3A456426614174000}",
             "00000000-0000-0000-0000-000000000000", "123e"),
    "numeric": ("1.50", "15e-1", "1e1000", "1,5"),
}


def file_of(key_type, texts, *options):
    """The bytes of a native file that `nay build --key` makes."""
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, "f.nay")
        subprocess.run([NAY, "build", "-q", f"--key={key_type}", "-p", "1e-6", *options, "-o", str(path)],
                       input="".join(text + "\n" for text in texts).encode(), check=True)
        return path.read_bytes()


def dump(client, key):
    return client("NAY.DUMP", key, 0)[1]


def load(client, key, data):
    equal(client("NAY.LOAD", key, 0, data), 0, "all has arrived")


@test("a loaded file answers for every text of its keys, and refuses what is none")
def _(client):
    for kind in KINDS + STATIC:
        for key_type, (text, again, other, bad) in TYPES.items():
            client("DEL", "f")
            load(client, "f", file_of(key_type, [text], "-t", kind, *(["-n", "100"] if kind in KINDS else [])))
            what = f"{kind} {key_type}"
            equal(client("NAY.INFO", "f", "key type"), key_type.encode(), what)
            equal([client("NAY.TEST", "f", item) for item in (text, again, other)], [1, 1, 0], what)
            refuses(client, f"ERR the item is not of type {key_type}: ", "NAY.TEST", "f", bad)
            replies = client("NAY.MTEST", "f", again, bad, other)
            equal([replies[0], type(replies[1]).__name__, replies[2]], [1, "Error", 0], what)


@test("adds convert too: the filter is the one that the command makes")
def _(client):
    for key_type, (text, again, other, bad) in TYPES.items():
        client("DEL", "f")
        load(client, "f", file_of(key_type, [text], "-t", "bloom", "-n", "100"))
        equal(client("NAY.ADD", "f", again), 0, f"{key_type}: there already")
        equal(client("NAY.MADD", "f", other, other), [1, 0], key_type)
        refuses(client, "ERR the item is not of type", "NAY.ADD", "f", bad)
        equal(dump(client, "f"), file_of(key_type, [text, other], "-t", "bloom", "-n", "100"), key_type)


@test("an item that is no key is refused by itself: the others of the command are added")
def _(client):
    for kind in KINDS:
        client("DEL", "f")
        client("NAY.RESERVE", "f", 1e-6, 1000, "KIND", kind, "KEYTYPE", "int", "SEED", 1)
        replies = client("NAY.MADD", "f", "1", "x", "2", "", "3")
        equal([r if isinstance(r, int) else str(r)[:38] for r in replies],
              [1, NOT_INT[:38], 1, "ERR the item is not of type int: an em", 1], kind)
        equal(client("NAY.MTEST", "f", "01", "2", "0x3", "4"), [1, 1, 1, 0], kind)


@test("counts and removals convert")
def _(client):
    for kind in ("counting", "cuckoo"):
        client("DEL", "f")
        client("NAY.RESERVE", "f", 1e-6, 100, "KIND", kind, "KEYTYPE", "int")
        client("NAY.MADD", "f", "7", "007")
        equal(client("NAY.COUNT", "f", "0x7"), 2, kind)
        equal(client("NAY.DEL", "f", "+7"), 1, kind)
        equal(client("NAY.COUNT", "f", "7"), 1, kind)
        refuses(client, NOT_INT, "NAY.COUNT", "f", "x")
        refuses(client, NOT_INT, "NAY.DEL", "f", "x")


@test("RESERVE takes KEYTYPE; LIKE takes that of the other; notations of text are no types")
def _(client):
    client("NAY.RESERVE", "i", 0.01, 100, "KIND", "blocked", "KEYTYPE", "INT".lower())
    client("NAY.RESERVE", "j", "LIKE", "i")
    equal(client("NAY.INFO", "j", "key type"), b"int", "LIKE")
    client("NAY.RESERVE", "text", 0.01, 100, "KEYTYPE", "text")
    equal(client("NAY.INFO", "text", "key type"), b"text", "text")
    for name in ("bytes", "hex", "b64"):
        refuses(client, "ERR KEYTYPE: bytes, hex and b64 are notations of text", "NAY.RESERVE", "n", 0.01, 100,
                "KEYTYPE", name)
    for bad in ("itn", "", "int,soundex", "int,", "INT", "a" * 64, b"int\0x"):
        refuses(client, "ERR KEYTYPE is one of", "NAY.RESERVE", "n", 0.01, 100, "KEYTYPE", bad)
    refuses(client, "ERR an option has no value", "NAY.RESERVE", "n", 0.01, 100, "KEYTYPE")
    refuses(client, "ERR an option is given twice", "NAY.RESERVE", "n", 0.01, 100, "KEYTYPE", "int", "KEYTYPE", "int")
    refuses(client, "ERR LIKE takes all", "NAY.RESERVE", "n", 0.01, 100, "LIKE", "i", "KEYTYPE", "int")
    equal(client("EXISTS", "n"), 0, "nothing was made")


@test("an exponent makes no key that is much longer than the item; digits that are written out do")
def _(client):
    client("NAY.RESERVE", "n", 1e-6, 100, "KIND", "bloom", "KEYTYPE", "numeric")
    longest = "ERR an exponent that makes a key of more than 1,024 bytes"
    for item in ("1e131071", "1e1024", "-1e1023", "1e-1023"):
        for command in ("NAY.ADD", "NAY.TEST"):
            refuses(client, longest, command, "n", item)
    replies = client("NAY.MTEST", "n", *["1e131071"] * 1000)
    equal({str(reply).startswith(longest) for reply in replies}, {True}, "each is refused")
    for item, again in (("1e1023", "1" + 1023 * "0"), ("1" + 5000 * "0", "10" + 4999 * "0" + ".0")):
        equal([client("NAY.ADD", "n", item), client("NAY.TEST", "n", again)], [1, 1], item[:8])


@test("filters of different types do not merge, and nothing changes")
def _(client):
    for kind in ("bloom", "blocked", "counting", "scalable"):
        client("FLUSHALL", "SYNC")
        for name, key_type in (("i", "int"), ("k", "int"), ("t", "text"), ("d", "date")):
            client("NAY.RESERVE", name, 0.001, 100, "KIND", kind, "KEYTYPE", key_type, "SEED", 3)
        client("NAY.ADD", "i", 1)
        client("NAY.ADD", "k", 2)
        before = dump(client, "i")
        refuses(client, "ERR source 1: its keys are of type text, not int", "NAY.MERGE", "i", "t")
        refuses(client, "ERR source 2: its keys are of type date, not int", "NAY.MERGE", "i", "k", "d")
        refuses(client, "ERR source 2: its keys are of type text, not int", "NAY.MERGE", "new", "i", "t")
        equal((dump(client, "i"), client("EXISTS", "new")), (before, 0), kind)
        client("NAY.MERGE", "new", "i", "k")
        equal(client("NAY.MTEST", "new", "01", "02"), [1, 1], kind)


@test("a transformation or type that this module does not know is refused, never ignored")
def _(client):
    for stated in ("int,shift:3", "text,trim,ignore-case", "ipv4"):
        data = described(file_of("int", ["7"], "-t", "blocked", "-n", "10"), stated.encode())
        client("DEL", "f", "copy", "like")
        load(client, "f", data)
        equal(client("NAY.INFO", "f", "key type"), stated.encode(), "it is shown")
        for command in ("NAY.TEST", "NAY.ADD", "NAY.MTEST", "NAY.MADD"):
            reply = client.ask(command, "f", "7")
            reply = reply[0] if isinstance(reply, list) else reply
            assert "that this library does not know" in str(reply), (command, reply)
        equal(dump(client, "f"), data, "nothing was added")
        client("COPY", "f", "copy")
        equal(dump(client, "copy"), data, "a copy states the same")
        client("NAY.MERGE", "copy", "f")  # equal statements
        refuses(client, "ERR", "NAY.RESERVE", "like", "LIKE", "f")


@test("the statement goes with the filter: DUMP and RESTORE, COPY, RDB, AOF, DEBUG RELOAD")
def _(client):
    for options in ((), ("--appendonly", "yes")):
        with Server(*options) as server:
            c = server.client()
            load(c, "f", file_of("int", ["7"], "-t", "blocked", "-n", "100"))
            c("NAY.RESERVE", "g", 0.01, 100, "KIND", "cuckoo", "KEYTYPE", "uuid")
            c("NAY.ADD", "g", TYPES["uuid"][0])
            c("NAY.ADD", "f", "0x10")
            c("RESTORE", "h", 0, c("DUMP", "f"))
            c("COPY", "f", "copy")
            c("DEBUG", "RELOAD")
            if options:
                c("BGREWRITEAOF")
                server.wait_until(lambda: c.info("persistence")["aof_rewrite_in_progress"] == "0", 30, "rewrite")
                c("NAY.ADD", "f", "99")
            else:
                c("SAVE")
            before = {name: dump(c, name) for name in ("f", "g", "h", "copy")}
            server.restart()
            c = server.client()
            equal({name: dump(c, name) for name in before}, before, f"{options}")
            for name in ("f", "h", "copy"):
                equal(c("NAY.MTEST", name, "007", "16", "8"), [1, 1, 0], f"{options} {name}")
            equal(c("NAY.TEST", "g", TYPES["uuid"][1]), 1, f"{options}")
            refuses(c, NOT_INT, "NAY.TEST", "f", "x")


@test("a replica converts as its master, and gets only what was added")
def _(client):
    with Server(port=True) as master, Server("--replicaof", f"127.0.0.1 {master.port}") as replica:
        m, r = master.client(), replica.client()
        replica.wait_until(lambda: r.info("replication")["master_link_status"] == "up", 30, "no link")
        load(m, "f", file_of("int", ["7"], "-t", "counting", "-n", "100"))
        m("NAY.RESERVE", "g", 0.001, 100, "KIND", "scalable", "KEYTYPE", "date")
        m("NAY.RESERVE", "h", "LIKE", "g")
        m("NAY.MADD", "f", "1", "bad", "0x2", "worse", "3")
        m("NAY.MADD", "g", "2024-02-29", "2023-02-29")
        m("NAY.DEL", "f", "007")
        m("WAIT", 1, 10000)
        for name in ("f", "g", "h"):
            equal(dump(r, name), dump(m, name), name)
            equal(r("NAY.INFO", name, "key type"), m("NAY.INFO", name, "key type"), name)
        equal(r("NAY.MTEST", "f", "01", "2", "3", "7"), [1, 1, 1, 0], "answers of the replica")


@test("NAY.DUMP gives a file that the command asks without --key")
def _(client):
    client("NAY.RESERVE", "f", 1e-6, 100, "KIND", "blocked", "KEYTYPE", "int", "SEED", 0)
    client("NAY.MADD", "f", "1", "2", "3")
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, "f.nay")
        path.write_bytes(dump(client, "f"))
        out = subprocess.run([NAY, "check", str(path), "-e", "01", "-e", "4", "-e", "0x3"], capture_output=True, text=True)
        equal(out.stdout, "01\n0x3\n", out.stderr)


main()
