"""Damage for payloads: of bytes, and of fields whose place is known. Every choice comes from one seed."""
import random
import struct

import rdb

NUMBERS = [0, 1, 2, 3, 7, 63, 64, 65, 255, 256, 65535, 65536, 1 << 30, (1 << 31) - 1, 1 << 31, (1 << 32) - 1,
           1 << 32, 1 << 40, (1 << 62) + 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]
REALS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-300, 5e-324, 1e300, float("inf"), float("-inf"), float("nan")]
CUCKOO = bytes.fromhex("3016e5a2898214")  # the type of CF.*, in a DUMP


class Mutator:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def number(self, old):
        r = self.random
        near = [old + 1, old - 1, old * 2, old // 2, old ^ 1 << r.randrange(64), old << 32, old + 64, r.getrandbits(64)]
        return r.choice(NUMBERS + near) % (1 << 64)

    def real(self, old):
        r = self.random
        flipped = struct.unpack("<Q", struct.pack("<d", old))[0] ^ 1 << r.randrange(64)
        return r.choice(REALS + [old * 2, old / 2, -old, struct.unpack("<d", struct.pack("<Q", flipped))[0]])

    def bytes(self, data):
        r, data = self.random, bytearray(data)
        for _ in range(r.choice((1, 1, 1, 2, 4))):
            place = r.randrange(len(data) + 1)
            action = r.randrange(6)
            if action == 0 and data:
                data[place % len(data)] ^= 1 << r.randrange(8)
            elif action == 1 and data:
                data[place % len(data)] = r.choice((0, 1, 2, 127, 128, 129, 255, r.randrange(256)))
            elif action == 2:
                data[place:place] = r.randbytes(r.randrange(1, 9))
            elif action == 3:
                del data[place : place + r.randrange(1, 9)]
            elif action == 4:
                del data[place:]
            else:
                data[place:place] = data[place : place + r.randrange(1, 65)]
        return bytes(data)

    def field(self, kind, value):
        if kind == "u":
            return kind, self.number(value)
        if kind == "d":
            return kind, self.real(value)
        r = self.random
        change = r.randrange(5)
        if change == 0:
            return kind, value[: r.randrange(len(value) + 1)]
        if change == 1:
            return kind, value + r.randbytes(r.choice((1, 8, 64, 4096)))
        return kind, [b"", value + value, self.bytes(value)][change - 2]

    def fields(self, fields):
        r, fields = self.random, list(fields)
        for _ in range(r.choice((1, 1, 1, 2, 3))):
            place = r.randrange(len(fields))
            action = r.randrange(12)
            if action == 0:
                del fields[place]
            elif action == 1:
                fields.insert(place, fields[r.randrange(len(fields))])
            elif action == 2:
                fields[place] = r.choice((("u", self.number(1)), ("d", self.real(1.0)), ("s", b"junk")))
            else:
                fields[place] = self.field(*fields[place])
            if not fields:
                return [("u", 0)]
        return fields

    def type_id(self, type_id):
        """The encoding version is the low ten bits."""
        return type_id[:7] + bytes([self.random.choice((0, 1, 2, 3, 4, 4, 4, 4, 5))])

    def chain(self, fields):
        """Another chain of CF.*: slots as many as its numbers say, items as many as the slots in use. Changes of
        fields and bytes alone are refused by these sums."""
        r = self.random
        filters, buckets, _, deletes, size, iterations, expansion = (value for _, value in fields[:7])
        slots = bytearray(b"".join(value for _, value in fields[8::2]))
        change = r.randrange(8)
        filters = r.randrange(1, 5) if change == 0 else filters
        buckets = 1 << r.randrange(8) if change == 1 else buckets
        size = r.randrange(1, 256) if change == 2 else size
        iterations = r.randrange(1, 65536) if change == 3 else iterations
        expansion = r.choice((0, 1, 2, 4, 8)) if change == 4 else expansion
        deletes = r.getrandbits(r.randrange(1, 64)) if change == 5 else deletes
        filters = filters if expansion else 1
        for _ in range(r.randrange(1, 20) if change > 5 else 0):
            slots[r.randrange(len(slots))] = r.choice((0, r.randrange(256)))
        lengths = [buckets * expansion**i * size for i in range(filters)]
        slots = bytes(slots) * (1 + sum(lengths) // len(slots))
        parts = [slots[sum(lengths[:i]) : sum(lengths[: i + 1])] for i in range(filters)]
        items = sum(len(part) - part.count(0) for part in parts)
        made = [("u", number) for number in (filters, buckets, items, deletes, size, iterations, expansion)]
        for i, part in enumerate(parts):
            made += [("u", buckets * expansion**i), ("s", part)]
        return made

    def payload(self, payload):
        """Another DUMP with a right checksum."""
        version = rdb.version_of(payload)
        if payload[2:9] == CUCKOO and self.random.randrange(2) == 0:
            type_id, fields = rdb.decode(payload)
            return rdb.encode(type_id, self.chain(fields), version)
        choice = self.random.randrange(4)
        if choice == 0:
            return rdb.seal(self.bytes(payload[: -rdb.FOOTER]), version)
        type_id, fields = rdb.decode(payload)
        if choice == 1:
            type_id = self.type_id(type_id)
        return rdb.encode(type_id, self.fields(fields), version)

    def header(self, header):
        """A header of SCANDUMP: whole numbers and reals of 8 bytes at any multiple of 1."""
        if self.random.random() < 0.3:
            return self.bytes(header)
        data = bytearray(header)
        for _ in range(self.random.choice((1, 1, 2, 3))):
            width = self.random.choice((1, 2, 4, 8))
            place = self.random.randrange(len(data) - width + 1)
            number = self.number(int.from_bytes(data[place : place + width], "little"))
            data[place : place + width] = (number % (1 << 8 * width)).to_bytes(width, "little")
        return bytes(data)
