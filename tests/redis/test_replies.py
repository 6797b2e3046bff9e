#!/usr/bin/env python3
"""Replays tests/golden/redis/replies.txt: what RedisBloom answered, byte for byte, in RESP2 and RESP3.

A reply may differ only where DIFFERENCES says so, with the reason; an entry that no longer differs is
an error too, so that the list stays true.
"""
import collections
import re
import shlex
import struct

from server import GOLDEN, equal, main, shown, test

OWN_WORDS = {  # read by other tests, or words about the machine rather than about the commands
    "COMMAND INFO": "its reply is compared field by field in test_manners.py",
    "MODULE LIST": "the version and the path are our own",
    "CONFIG GET bf.*": "the order of the names is that of a hash table of the server",
}
EMPTY_CUCKOO = struct.pack("<QQQQHHH", 0, 2, 0, 1, 2, 20, 0)
DIFFERENCES = {  # (command, which time it is given): (our reply, why)
    ("COPY d d2", 1): (b":1\r\n", "COPY is supported; RedisBloom has no callback for it"),
    ("CF.SCANDUMP s 0", 1): (b"*2\r\n:1\r\n$38\r\n" + EMPTY_CUCKOO + b"\r\n",
                             "an empty cuckoo filter has a header; RedisBloom cannot dump it"),
}


def steps(protocol):
    """(command words, which time this command is given, the reply of RedisBloom) in order."""
    section, words, times = 2, None, collections.Counter()
    for line in (GOLDEN / "replies.txt").read_text().splitlines():
        if line.startswith("########"):
            section = 3 if "RESP3" in line else 2
        elif line.startswith("> "):
            words = shlex.split(line[2:])
        elif line.startswith("< ") and section == protocol:
            times[" ".join(words)] += 1
            yield words, times[" ".join(words)], line[2:].encode().decode("unicode_escape").encode("latin-1")


def without_footer(reply, words):
    """DUMP ends in the server's own RDB version and the checksum over it."""
    return reply[:-12] if words[0] == "DUMP" else reply


def allocator_counts(client, words):
    """MEMORY USAGE adds the blocks of the server's allocator; the file was made with jemalloc."""
    return words[:2] == ["MEMORY", "USAGE"] and not client.info("memory")["mem_allocator"].startswith("jemalloc")


def replay(client, protocol):
    """Compares every reply of one protocol; tells all that differ, not only the first."""
    if protocol == 3:
        client("HELLO", 3)
    compared, wrong = 0, []
    for words, time, recorded in steps(protocol):
        command = " ".join(words)
        if any(command.startswith(own) for own in OWN_WORDS) or allocator_counts(client, words):
            continue
        got, wanted = client.raw(*words), DIFFERENCES.get((command, time), (recorded,))[0]
        if without_footer(got, words) != without_footer(wanted, words):
            wrong.append(f"{command}\n  got    {shown(got)}\n  wanted {shown(wanted)}")
        compared += 1
    assert not wrong, "\n".join([f"{len(wrong)} of {compared} replies differ"] + wrong)
    assert compared > 200


@test("every reply of RedisBloom in RESP2")
def resp2(client):
    replay(client, 2)


@test("every reply of RedisBloom in RESP3")
def resp3(client):
    replay(client, 3)


@test("the list of differences has no dead entry, and each a reason")
def differences_are_real(client):
    for protocol in (2, 3):
        recorded = {(" ".join(words), time): reply for words, time, reply in steps(protocol)}
        for place, (ours, reason) in DIFFERENCES.items():
            assert recorded[place] != ours and len(reason) > 10, place


@test("configuration names and defaults are RedisBloom's")
def configuration(client):
    recorded = next(reply for words, _, reply in steps(2) if words[:3] == ["CONFIG", "GET", "bf.*"])
    names = re.findall(rb"\r\n(bf\.[^\r]+)\r\n\$\d+\r\n([^\r]*)\r\n", recorded)
    assert len(names) == 8
    for name, value in names:
        equal(client("CONFIG", "GET", name), [name, value], name.decode())
    equal(client("MODULE", "LIST")[0][:2], [b"name", b"bf"])


main()
