#!/usr/bin/env python3
"""Payloads from an attacker: the server survives, memory stays bounded, accepted values are sound.

    test_hostile.py [--long] [SEED]    2,000 mutations of each sort, or 100,000
"""
import struct
import sys

import rdb
import zoo
from mutate import Mutator
from server import LONG, Error, equal, has_command, main, refuses, tell, test

SEED = next((int(word) for word in sys.argv[1:] if word.isdigit()), 1)
MUTATIONS = 100000 if LONG else 2000
BATCH = 50
LEAK = 512 << 10  # noise of the server's own tables
PEAK = 2 << 30  # resident bytes: a header may ask for a large filter, never touch all of it
LARGE = 64 << 20  # filters above this are not dumped again: the time would go there


def small_filters(client):
    """Filters whose DUMP is short, so that a mutation often hits a field that matters."""
    client("BF.RESERVE", "bf:one", 0.01, 10)
    client("BF.ADD", "bf:one", "x")
    client("BF.RESERVE", "bf:empty", 0.1, 1)
    client("BF.RESERVE", "bf:fixed", 0.01, 10, "NONSCALING")
    client("BF.MADD", "bf:fixed", *zoo.items(5))
    client("BF.RESERVE", "bf:chain", 0.01, 4)
    client("BF.MADD", "bf:chain", *zoo.items(40))
    if has_command(client, "CF.ADD"):
        client("CF.RESERVE", "cf:one", 8)
        client("CF.ADD", "cf:one", "x")
        client("CF.RESERVE", "cf:chain", 8, "BUCKETSIZE", 2, "EXPANSION", 2)
        client("CF.INSERT", "cf:chain", "ITEMS", *zoo.items(60))
    if has_command(client, "NAY.RESERVE"):
        for kind in zoo.NAY_KINDS:
            client("NAY.RESERVE", "nay:" + kind, 0.01, 20, "KIND", kind)
            client("NAY.MADD", "nay:" + kind, *zoo.items(15))


def numbers(info):
    return [value for value in info if isinstance(value, int)]


def check_bloom(client, key):
    """Whatever was accepted answers like a filter."""
    info = client("BF.INFO", key)
    assert all(0 <= number < 1 << 63 for number in numbers(info)), info
    assert info[1] >= 1 and info[5] >= 1, info
    links = len(client("BF.DEBUG", key)) - 1
    equal(links, info[5], "links")
    for item in zoo.items(12, "new"):
        added = client.ask("BF.ADD", key, item)
        assert isinstance(added, Error) or client("BF.EXISTS", key, item) == 1, f"{item} lost"
    client("BF.MEXISTS", key, *zoo.items(20))


def check_cuckoo(client, key):
    info = client("CF.INFO", key)
    assert all(0 <= number < 1 << 63 for number in numbers(info)), info
    for item in zoo.items(12, "new"):
        added = client.ask("CF.ADD", key, item)
        assert isinstance(added, Error) or client("CF.EXISTS", key, item) == 1, f"{item} lost"
        assert isinstance(added, Error) or client("CF.COUNT", key, item) >= 1, f"{item} not counted"
    client("CF.DEL", key, "new:1")
    client.ask("CF.COMPACT", key)


def check_nay(client, key):
    client("NAY.INFO", key)
    for item in zoo.items(12, "new"):
        added = client.ask("NAY.ADD", key, item)
        assert isinstance(added, Error) or client("NAY.TEST", key, item) == 1, f"{item} lost"
    client.ask("NAY.DEL", key, "new:1")


CHECKS = {b"MBbloom--": check_bloom, b"MBbloomCF": check_cuckoo, b"nayfilter": check_nay}


def check_accepted(client, key):
    kind = client("TYPE", key)
    if kind not in CHECKS:  # nothing, or damage made it a string or a set
        return
    CHECKS[kind](client, key)
    if client("MEMORY", "USAGE", key) > LARGE:
        return
    dump, digest = client("DUMP", key), client("DEBUG", "DIGEST-VALUE", key)
    equal(client("RESTORE", "again", 0, dump, "REPLACE"), b"OK", "RESTORE of what DUMP gave")
    equal(client("DEBUG", "DIGEST-VALUE", "again"), digest, "digest after DUMP and RESTORE")


def held(client):
    """Bytes of the data: without buffers of clients, whose size is the server's matter."""
    stats = client("MEMORY", "STATS")
    return dict(zip(stats[::2], stats[1::2]))[b"dataset.bytes"]


class Bounded:
    """Looks that memory comes back, and was never far above."""

    def __init__(self, client):
        self.client, self.before = client, held(client)

    def __enter__(self):
        return self

    def look(self):
        resident = int(self.client.info("memory")["used_memory_rss"])
        assert resident < PEAK, f"{resident} bytes resident"

    def __exit__(self, kind, *failure):
        if kind is None:
            self.client("FLUSHALL", "SYNC")
            grown = held(self.client) - self.before
            assert grown < LEAK, f"{grown} bytes leaked"


def seeds(client):
    small_filters(client)
    keys = sorted(client("KEYS", "*"))
    found = {key: client("DUMP", key) for key in keys}
    client("FLUSHALL", "SYNC")
    return found


def try_payloads(client, payloads):
    """RESTOREs them at once; then each that was accepted is put to work. Returns which were."""
    replies = client.many(("RESTORE", f"k{i}", 0, payload) for i, payload in enumerate(payloads))
    accepted = [i for i, reply in enumerate(replies) if reply == b"OK"]
    for i in accepted:
        try:
            check_accepted(client, f"k{i}")
        except Exception:
            tell(f"payload {payloads[i].hex()}")
            raise
    client("FLUSHALL", "SYNC")
    return accepted


@test(f"RESTORE of {MUTATIONS} mutated payloads with a right checksum")
def mutated_restore(client):
    mutator, dumps = Mutator(SEED), seeds(client)
    keys = sorted(dumps)
    accepted, tried = dict.fromkeys(keys, 0), dict.fromkeys(keys, 0)
    with Bounded(client) as bounded:
        for done in range(0, MUTATIONS, BATCH):
            sources = [keys[(done + i) % len(keys)] for i in range(BATCH)]
            payloads = [mutator.payload(dumps[key]) for key in sources]
            for key in sources:
                tried[key] += 1
            try:
                for i in try_payloads(client, payloads):
                    accepted[sources[i]] += 1
            except ConnectionError:
                tell("\n".join(f"one of {payload.hex()}" for payload in payloads))
                raise
            bounded.look()
    shares = {key.decode(): f"{accepted[key]} of {tried[key]}" for key in keys}
    tell(f"seed {SEED}: {sum(accepted.values())} of {MUTATIONS} were accepted and held: {shares}")
    assert 0 < sum(accepted.values()) < MUTATIONS
    for key in keys:
        assert accepted[key] > tried[key] // 4 or key[:2] != b"cf", f"{accepted[key]} of {key}"


def chunk_seeds(client):
    """{key: [(iterator, bytes)]} for the filters that have SCANDUMP."""
    small_filters(client)
    found = {}
    for key in sorted(key for key in client("KEYS", "*") if key[:2] in (b"bf", b"cf")):
        command, iterator, chunks = key[:2].decode().upper() + ".SCANDUMP", 0, []
        while True:
            iterator, data = client(command, key, iterator)
            if iterator == 0:
                break
            chunks.append((iterator, data))
        found[key] = chunks
    client("FLUSHALL", "SYNC")
    return found


def mutated_chunks(mutator, chunks):
    (first, header), *data = chunks
    if mutator.random.random() < 0.7:
        header = mutator.header(header)
    yield first, header
    for iterator, part in data:
        if mutator.random.random() < 0.5:
            iterator = mutator.number(iterator) - (1 << 63) * mutator.random.randrange(2)
        yield iterator, mutator.bytes(part) if mutator.random.random() < 0.5 else part


def fits(number):
    return -(1 << 63) <= number < 1 << 63


@test(f"LOADCHUNK of {MUTATIONS} mutated headers and chunks")
def mutated_loadchunk(client):
    mutator, sources, loaded = Mutator(SEED), list(chunk_seeds(client).items()), 0
    with Bounded(client) as bounded:
        for done in range(MUTATIONS):
            key, chunks = sources[done % len(sources)]
            parts = [part for part in mutated_chunks(mutator, chunks) if fits(part[0])]
            command = key[:2].decode().upper() + ".LOADCHUNK"
            try:
                client.many((command, "k", iterator, data) for iterator, data in parts)
                loaded += client("EXISTS", "k")
                check_accepted(client, "k")
            except Exception:
                tell("\n".join(f"{command} k {iterator} {data.hex()}" for iterator, data in parts))
                raise
            client("DEL", "k", "again")
            if done % BATCH == 0:
                bounded.look()
    tell(f"seed {SEED}: {loaded} of {MUTATIONS} headers were accepted and held")
    assert 0 < loaded < MUTATIONS


# ---- what broke RedisBloom, by name ----


def restore_refused(client, key, change):
    """A payload whose fields were changed by `change` is refused; the server lives."""
    type_id, fields = rdb.decode(client("DUMP", key))
    version = rdb.version_of(client("DUMP", key))
    payload = rdb.encode(type_id, change(fields), version)
    refuses(client, "ERR Bad data format", "RESTORE", "victim", 0, payload)


def put(place, value):
    return lambda fields: [(kind, value) if i == place else (kind, old) for i, (kind, old) in enumerate(fields)]


# places of fields; see doc/formats and the head of plugins/redis/bf_type.c
BF_SIZE, BF_LINKS, BF_OPTIONS, BF_GROWTH, BF_ENTRIES, BF_ERROR, BF_HASHES, BF_BPE, BF_BITS, BF_N2, BF_ARRAY = range(11)
CF_FILTERS, CF_BUCKETS, CF_ITEMS, CF_DELETES, CF_BUCKET_SIZE, CF_ITERATIONS, CF_EXPANSION, CF_FIRST, CF_SLOTS = range(9)


@test("CVE-2024-25115: CF.LOADCHUNK past the end of the slots", needs=["CF.ADD"])
def cve_2024_25115(client):
    client("CF.RESERVE", "c", 8)
    client("CF.ADD", "c", "x")
    header = client("CF.SCANDUMP", "c", 0)[1]
    client("CF.LOADCHUNK", "k", 1, header)
    for iterator, size in ((9, 9), (9, 4096), (2, 4096), (5, 6), (1 << 40, 8), (10, 8), (17, 8), (1 << 62, 1)):
        assert isinstance(client.ask("CF.LOADCHUNK", "k", iterator, b"A" * size), Error), (iterator, size)
    equal(client("CF.INFO", "k")[1], client("CF.INFO", "c")[1])
    for place, value in ((8, 1 << 61), (8, 3), (24, 1 << 61), (24, 1 << 32)):  # buckets, filters
        bad = header[:place] + struct.pack("<Q", value) + header[place + 8 :]
        assert isinstance(client.ask("CF.LOADCHUNK", "bad", 1, bad), Error), (place, value)
    equal(client("EXISTS", "bad"), 0)


@test("CVE-2024-25116: CF.RESERVE with extreme numbers", needs=["CF.ADD"])
def cve_2024_25116(client):
    for capacity in ((1 << 63) - 1, -(1 << 63), 1 << 62, (1 << 30) + 1, -1, 0, 1):
        for size in (1, 2, 255):
            for expansion in (0, 1, 32768):
                words = ("CF.RESERVE", "k", capacity, "BUCKETSIZE", size, "EXPANSION", expansion)
                assert isinstance(client.ask(*words), Error), words
    equal(client("EXISTS", "k"), 0)


@test("November 2025: an empty chain, as a header and as a dump")
def empty_chain(client):
    client("BF.ADD", "b", "x")
    restore_refused(client, "b", put(BF_LINKS, 0))
    restore_refused(client, "b", lambda fields: put(BF_LINKS, 0)(fields)[:4])
    refuses(client, "ERR received bad data", "BF.LOADCHUNK", "k", 1, struct.pack("<QIII", 0, 0, 5, 2))
    equal(client("EXISTS", "k"), 0)


@test("November 2025: a Bloom filter whose bits are not its bytes")
def bits_are_not_bytes(client):
    client("BF.ADD", "b", "x")
    for place, values in ((BF_BITS, (0, 1, 1 << 40, (1 << 64) - 1)), (BF_N2, (11, 63, 64, 255)),
                          (BF_HASHES, (0, 7, 9, 1 << 31, 1 << 32)), (BF_LINKS, (2, 1 << 32, 1 << 60, (1 << 64) - 1)),
                          (BF_ERROR, (0.0, 1.0, -1.0, float("nan"))), (BF_BPE, (0.0, -1.0, float("nan"), 1e308)),
                          (BF_ARRAY, (b"", b"x" * 143, b"x" * 145)), (BF_OPTIONS, (16, 1 << 31, 1 << 40))):
        for value in values:
            restore_refused(client, "b", put(place, value))


@test("November 2025: division by zero in a cuckoo filter", needs=["CF.ADD"])
def cuckoo_division(client):
    client("CF.ADD", "c", "x")
    for place in (CF_BUCKETS, CF_FIRST, CF_BUCKET_SIZE):
        restore_refused(client, "c", put(place, 0))
    header = client("CF.SCANDUMP", "c", 0)[1]
    for place, width in ((8, 8), (32, 2)):
        bad = header[:place] + b"\0" * width + header[place + width :]
        assert isinstance(client.ask("CF.LOADCHUNK", "k", 1, bad), Error), place


@test("November 2025: counters of a cuckoo filter that overflow", needs=["CF.ADD"])
def cuckoo_counters(client):
    client("CF.ADD", "c", "x")
    for value in ((1 << 64) - 1, 1 << 63, 1 << 32):
        restore_refused(client, "c", put(CF_ITEMS, value))
        restore_refused(client, "c", put(CF_FILTERS, value))


@test("CVE-2026-25589: slots shorter or longer than the buckets say", needs=["CF.ADD"])
def cve_2026_25589(client):
    client("CF.ADD", "c", "x")
    for slots in (b"", b"x", b"x" * 1023, b"x" * 1025, b"x" * 2048):
        restore_refused(client, "c", put(CF_SLOTS, slots))
    for buckets in (1, 256, 1024, 513, 1 << 40, 1 << 63):
        restore_refused(client, "c", put(CF_FIRST, buckets))


@test("CVE-2026-21864: every prefix of every payload, sealed")
def cve_2026_21864(client):
    for key, payload in seeds(client).items():
        version, body = rdb.version_of(payload), payload[: -rdb.FOOTER]
        step = 1 if len(body) < 400 else 7
        # the version is read as data too: where the last bytes are cut, it may complete the filter
        accepted = try_payloads(client, [rdb.seal(body[:size], version) for size in range(1, len(body), step)])
        assert len(accepted) <= 3, key


@test("redis#14602: a dump with words left over is refused")
def left_over(client):
    client("BF.ADD", "b", "x")
    restore_refused(client, "b", lambda fields: fields + [("u", 1)])
    restore_refused(client, "b", lambda fields: fields + [("s", b"more")])


@test("RB#641: BF.RESERVE 0.99 1, then adds")
def rb_641(client):
    client("BF.RESERVE", "b", 0.99, 1)
    for item in zoo.items(300):
        client("BF.ADD", "b", item)
    assert all(client("BF.MEXISTS", "b", *zoo.items(300)))


@test("RB#481: CF EXPANSION 0 fills up and says so", needs=["CF.ADD"])
def rb_481(client):
    client("CF.RESERVE", "c", 4, "BUCKETSIZE", 1, "EXPANSION", 0)
    replies = [client.ask("CF.ADD", "c", item) for item in zoo.items(100)]
    assert sum(reply == 1 for reply in replies) <= 4
    assert all(reply == 1 or str(reply) == "Filter is full" for reply in replies)


@test("RB#434: CF.INSERT with a negative capacity", needs=["CF.ADD"])
def rb_434(client):
    for capacity in (-1, -(1 << 63), 0, 1 << 62):
        assert isinstance(client.ask("CF.INSERT", "c", "CAPACITY", capacity, "ITEMS", "x"), Error)
    equal(client("EXISTS", "c"), 0)


@test("RB#672: a header without its data is saved, reloaded and rewritten")
def rb_672(client):
    for key, chunks in chunk_seeds(client).items():
        client(key[:2].decode().upper() + ".LOADCHUNK", key, *chunks[0])
    client("DEBUG", "RELOAD")
    client("BGREWRITEAOF")
    client("DEBUG", "RELOAD")
    for key in client("KEYS", "*"):
        check_accepted(client, key)


@test("RB#259: no item is lost when a cuckoo filter is compacted", needs=["CF.ADD"])
def rb_259(client):
    client("CF.RESERVE", "c", 64)
    client("CF.INSERT", "c", "ITEMS", *zoo.items(900))
    for i in range(0, 900, 2):
        equal(client("CF.DEL", "c", f"item:{i}"), 1)
        if i % 100 == 0:
            client("CF.COMPACT", "c")
    assert all(client("CF.MEXISTS", "c", *(f"item:{i}" for i in range(1, 900, 2))))


@test("RB#9, RB#28: more than 2^32 bits do not alias")
def rb_9(client):
    client("BF.RESERVE", "b", 0.01, 400000000, "EXPANSION", 1)
    assert client("BF.INFO", "b", "SIZE")[0] * 8 > 1 << 32
    client("BF.MADD", "b", *zoo.items(1000))
    assert all(client("BF.MEXISTS", "b", *zoo.items(1000)))
    equal(sum(client("BF.MEXISTS", "b", *zoo.items(20000, "absent"))), 0)


main("--rdbcompression", "no", "--slowlog-max-len", 0)
