"""Payloads from hashes, by the adds and builds of doc/formats/nay.md.

Each function takes a file (for its parameters, and for what the page leaves to the writer: sizes, and how many
attempts failed) the hashes of its members and those removed again, and returns the payload of the page. Slow on purpose;
test_read_nay.py compares the bytes with those of the library.
"""
import copy
import struct

import read_nay
from read_nay import MASK32, MASK64, reduce, splitmix64

G32, G64 = 0x9E3779B9, 0x9E3779B97F4A7C15


def in_order(hashes):
    return sorted(set(hashes), key=lambda h: h * G64 & MASK64)


def put(array, at, width, value):
    number = int.from_bytes(array[at >> 3 : (at + width + 7) >> 3], "little")
    number = number & ~((1 << width) - 1 << (at & 7)) | value << (at & 7)
    array[at >> 3 : (at + width + 7) >> 3] = number.to_bytes((at + width + 7 >> 3) - (at >> 3), "little")


# ---- counting ----


class Counters:
    """Groups of 64 counters by number; None: stuck."""

    def __init__(self, f):
        self.f, self.plane = f, bytearray(64 * f.nunits)
        self.groups = [[0] * 64 for _ in range(8 * f.nunits)]

    def change(self, h, by):
        bits = set(read_nay.Blocked.positions(h, self.f.nunits, self.f.k))
        for group in sorted({n // 64 for n in bits}):
            was_pooled = self.pooled(group)
            for n in bits:
                if n // 64 == group:
                    self.change_bit(n, by)
            if self.pooled(group) and not was_pooled and self.npooled(group) > self.records(group):
                self.groups[group] = None

    def change_bit(self, n, by):
        counters = self.groups[n // 64]
        if by > 0:
            self.plane[n >> 3] |= 1 << (n & 7)
        if counters is None or counters[n % 64] == 15:
            return
        counters[n % 64] += by
        if counters[n % 64] == 0:
            self.plane[n >> 3] &= ~(1 << (n & 7))

    def pooled(self, group):
        return self.groups[group] is not None and sum(self.groups[group]) > 64

    def records(self, group):
        return read_nay.Counting.records(self.f, min(512, self.f.nunits - group // 4096 * 512))

    def npooled(self, group):
        first = group // 4096 * 4096
        return sum(map(self.pooled, range(first, min(first + 4096, len(self.groups)))))


def counting(f, hashes, removed=()):
    counters = Counters(f)
    for h in in_order(hashes):
        if f.extra & 1 == 0 or not read_nay.Blocked.test(f, counters.plane, h):
            counters.change(h, 1)
    for h in removed:
        counters.change(h, -1)
    pages = (counting_page(counters, first) for first in range(0, f.nunits, 512))
    return bytes(counters.plane) + b"".join(pages)


def counting_page(counters, first):
    pblocks = min(512, counters.f.nunits - first)
    nrows = -(-pblocks // 8)
    words, flags, pool, ranks = b"", bytearray(8 * nrows), b"", []
    for group in range(8 * pblocks):
        if group % 64 == 0:
            ranks.append(len(pool) // 32)
        here, unary, at = counters.groups[8 * first + group], 0, 0
        if counters.pooled(8 * first + group):
            flags[group // 8] |= 1 << group % 8
            pool += sum(c << 4 * n for n, c in enumerate(here)).to_bytes(32, "little")
        else:
            for counter in filter(None, here or []):
                at += counter
                unary |= 1 << at - 1
        words += struct.pack("<Q", unary)
    ranks.append(len(pool) // 32)
    page = words + flags + pool.ljust(32 * counters.records(8 * first), b"\0")
    page += struct.pack(f"<{nrows + 1}H", *ranks)
    return page.ljust(read_nay.up(len(page), 64), b"\0")


# ---- scalable ----


def scalable(f, hashes):
    """The rows say how large levels are and when their halves are full."""
    form = "<QQIIQQQQII"
    rows = [list(struct.unpack_from(form, f.payload, 64 + 64 * i)) for i in range(len(f.levels))]
    halves = []  # (row, which half of it, its bits), in the order in which they were made
    for row in rows:
        halves += [(row, half, bytearray(row[9] // 8 * row[1])) for half in range(row[3])]
        row[6] = row[7] = 0
    last = 0

    def clear(row, bits, h):
        return [n for n in set(read_nay.Scalable.positions(h, row[1], row[2], row[9])) if not read_nay.bit(bits, n)]

    for h in in_order(hashes):
        if not all(clear(row, bits, h) for row, _, bits in halves[: last + 1]):
            continue
        row, half, bits = halves[last]
        if row[6 + half] >= row[5]:
            last += 1
            row, half, bits = halves[last]
        for n in clear(row, bits, h):
            bits[n >> 3] |= 1 << (n & 7)
            row[6 + half] += 1
    out = f.payload[:64] + b"".join(struct.pack(form, *row) for row in rows)
    for row in rows:
        both = [bits for owner, _, bits in halves if owner is row]
        size = row[9] // 8
        level = b"".join(bits[i : i + size] for i in range(0, size * row[1], size) for bits in both)
        out += level.ljust(read_nay.up(len(level), 64), b"\0")
    return out


# ---- window ----


def window(f, hashes):
    return window_adds(f, in_order(hashes))


def window_adds(f, hashes):
    ngen, newest, counts = f.extra, 0, [0] * 16
    share, ncells = struct.unpack_from("<Q", f.payload, 24)[0], 64 // f.extra
    cells = [[0] * (16 * ncells) for _ in range(f.nunits)]
    for h in hashes:
        unit, x, mine = cells[reduce(h, f.nunits)], h & MASK32, []
        for _ in range(f.k):
            mine.append((x >> 28) * ncells + ((x & (1 << 28) - 1) * ncells >> 28))
            x = x * G32 & MASK32
        if all(unit[cell] >> newest & 1 for cell in mine):
            continue
        if counts[newest] >= share:
            newest = (newest + 1) % ngen
            counts[newest] = 0
            for one in cells:
                one[:] = [cell & ~(1 << newest) for cell in one]
        for cell in mine:
            unit[cell] |= 1 << newest
        counts[newest] += 1
    head = struct.pack("<IIQQQ", newest, 0, 0, 0, share).ljust(64, b"\0") + struct.pack("<16Q", *counts)
    words = (sum(unit[w * ncells + c] << c * ngen for c in range(ncells)) for unit in cells for w in range(16))
    return head + b"".join(struct.pack("<Q", word) for word in words)


# ---- cuckoo ----


def capacity(slots):
    if slots >= 2040:
        return slots * 19 // 20 - 150
    return max(8, slots // 4, min(slots * slots // 720 + slots // 8, slots * 9 // 10 - 48))


class Table:
    def __init__(self, f):
        self.nunits, self.extra, self.d, self.f = f.nunits, f.extra, 0, f
        self.low_bits, self.growth = read_nay.Cuckoo.split(f)
        self.limit = int.from_bytes(f.payload[16:24], "little")
        self.buckets = [[0] * 4 for _ in range(f.nunits)]
        self.ntags = 0

    def locate(self, h):
        tag, home, other_tag, other = read_nay.Cuckoo.locate(self, h)
        return (home, tag), (other, other_tag)

    def add(self, h):
        places = self.locate(h)
        copies = sum(self.buckets[bucket].count(tag) for bucket, tag in places)
        if self.extra >> 16 & 1 and copies:
            return
        assert copies < 8
        if copies == 0 and self.ntags >= capacity(4 * len(self.buckets)) and self.may_double(1):
            self.grow(h)
        elif not self.store(places):
            assert copies == 0
            self.grow(h)
        self.ntags += 1

    def grow(self, h):
        """A copy of the table is doubled until the key fits, and takes the table's place."""
        for doublings in 1, 2, 3:
            assert self.may_double(doublings) and self.ntags >= (4 * len(self.buckets) << doublings) // 8
            larger = copy.copy(self)
            for _ in range(doublings):
                larger.double()
            if larger.store(larger.locate(h)):
                self.buckets, self.d = larger.buckets, larger.d
                return
        assert False, "full"

    def may_double(self, doublings):
        nbytes = self.nbytes(self.d + doublings) if self.d + doublings <= self.growth else 0
        return nbytes != 0 and (self.limit == 0 or nbytes <= self.limit)

    def nbytes(self, d):
        return 64 + read_nay.up(-(-(self.nunits << d) * 4 * (self.low_bits + self.growth - d) // 8) + 8, 64)

    def store(self, places):
        bucket, tag = max(places, key=lambda place: self.buckets[place[0]].count(0))
        if 0 not in self.buckets[bucket]:
            return self.search(places)
        self.buckets[bucket][self.buckets[bucket].index(0)] = tag
        return True

    def search(self, places):
        # an entry: a bucket, the number of its parent, the slot there, and the tag that moves here
        queue, at = [(bucket, None, 0, tag) for bucket, tag in places], 0
        while at < len(queue) <= 1020:
            bucket, first = queue[at][0], len(queue)
            for slot, t in enumerate(self.buckets[bucket]):
                moved, other = read_nay.Cuckoo.move(self, t, bucket)
                queue.append((other, at, slot, moved))
            for entry in queue[first:]:
                if 0 in self.buckets[entry[0]]:
                    self.move(queue, entry)
                    return True
            at += 1
        return False

    def move(self, queue, entry):
        bucket, parent, slot, tag = entry
        to = self.buckets[bucket].index(0)
        while parent is not None:
            self.buckets[bucket][to] = tag
            to = slot
            bucket, parent, slot, tag = queue[parent]
        self.buckets[bucket][to] = tag

    def remove(self, h):
        (home, tag), (other, other_tag) = self.locate(h)
        bucket, tag = (home, tag) if tag in self.buckets[home] else (other, other_tag)
        self.buckets[bucket][self.buckets[bucket].index(tag)] = 0
        self.ntags -= 1

    def double(self):
        assert self.d < self.growth
        top = self.low_bits + self.growth - self.d - 1
        halves = [[[t & (1 << top) - 1 for t in bucket if t and t >> top == b] for b in (0, 1)] for bucket in self.buckets]
        self.buckets = [(half + [0] * 4)[:4] for pair in halves for half in pair]
        self.d += 1


def cuckoo(f, hashes, removed=()):
    table = Table(f)
    for h in in_order(hashes):
        table.add(h)
    for h in removed:
        table.remove(h)
    width = table.low_bits + table.growth - table.d
    tags = [tag for bucket in table.buckets for tag in bucket]
    number = sum(tag << i * width for i, tag in enumerate(tags))
    head = struct.pack("<QQ", table.d, sum(tag != 0 for tag in tags)) + f.payload[16:24] + bytes(40)
    return head + number.to_bytes(read_nay.up(-(-len(tags) * width // 8) + 8, 64), "little")


# ---- static families ----


def attempt_seeds(keys):
    total = sum(map(splitmix64, keys)) & MASK64
    return [0] + [splitmix64((total if a >= 8 else 0) + a & MASK64) & (1 << 31) - 1 for a in range(1, 32)]


def shards_of(f, hashes, nshards):
    shards = [[] for _ in range(nshards)]
    for h in set(hashes):
        x = read_nay.premixed(h, f.premix)
        shards[reduce(x, nshards)].append(x)
    return shards


def peel(f, keys, factor, slot_bits):
    nslots = f.nunits // f.family.split(f)[0]
    words = {y: y * factor & MASK64 for y in (read_nay.remix(x, 0) for x in keys)}
    places = {y: f.family.places(f, y, z) for y, z in words.items()}
    users, queue, stack = [set() for _ in range(nslots)], [], []
    for y in places:
        for slot in places[y]:
            users[slot].add(y)
    for chunk in range(0, nslots, 4096):
        queue += [slot for slot in range(chunk, min(nslots, chunk + 4096)) if len(users[slot]) == 1]
        while queue:
            following = []
            for slot in queue:
                if len(users[slot]) != 1:
                    continue
                y = next(iter(users[slot]))
                stack.append((slot, y))
                for s in places[y]:
                    users[s].discard(y)
                    if len(users[s]) == 1:
                        following.append(s)
            queue = following
    if len(stack) != len(places):
        return None
    values = [0] * nslots
    for slot, y in reversed(stack):
        value = words[y] & (1 << slot_bits) - 1
        for s in places[y]:
            value ^= values[s]
        values[slot] = value
    return values


def xor(f, hashes):
    nshards, slot_bits = f.family.split(f)
    payload = bytearray(f.payload[:24].ljust(f.family.length(f), b"\0"))
    for shard, keys in enumerate(shards_of(f, hashes, nshards)):
        stored = f.factors[shard]
        factors = [splitmix64(seed) | 1 for seed in attempt_seeds(keys)]
        assert keys and stored in factors, "a factor of no attempt"
        struct.pack_into("<Q", payload, 24 + 8 * shard, stored)
        if f.family is read_nay.Xor:  # fuse tries other segments, too
            assert all(peel(f, keys, factor, slot_bits) is None for factor in factors[: factors.index(stored)])
        at = 8 * (f.family.arrays_at(nshards) + shard * f.family.stride(f))
        for slot, value in enumerate(peel(f, keys, stored, slot_bits)):
            put(payload, at + slot * slot_bits, slot_bits, value)
    return bytes(payload)


def equation(x, seed, nblocks):
    """First slot, coefficients, bit 0 at that slot, and fingerprint."""
    y = read_nay.remix(x, seed)
    return ((y & MASK32) * (128 * nblocks - 127) >> 32, y * 0xE7037ED1A0B428DB | 1,
            read_nay.fold(y, read_nay.FINGERPRINT))


def place(equations, rows):
    """Adds equations to the rows of a band: True, or False and the rows are as before."""
    taken = []
    for at, coefficients, fingerprint in equations:
        while at in rows:
            coefficients, fingerprint = coefficients ^ rows[at][0], fingerprint ^ rows[at][1]
            if coefficients == 0:
                for slot in taken:
                    del rows[slot]
                return False
            zeros = (coefficients & -coefficients).bit_length() - 1
            at, coefficients = at + zeros, coefficients >> zeros
        rows[at] = coefficients, fingerprint
        taken.append(at)
    return True


def band(keys, seed, nblocks):
    """The rows of a part, the codes of its buckets and the keys that are bumped."""
    buckets = [[] for _ in range(-(-nblocks // 4))]
    for x in keys:
        buckets[equation(x, seed, nblocks)[0] // 512].append(x)
    rows, codes, bumped = {}, [], []
    for bucket in buckets:
        starts, code = {x: equation(x, seed, nblocks) for x in bucket}, 0
        for lowest, highest, otherwise in ((88, 512, 3), (32, 88, 2), (0, 32, 1)):
            if not place([e for e in starts.values() if lowest <= e[0] % 512 < highest], rows):
                code = otherwise
                break
        codes.append(code)
        bumped += [x for x in bucket if starts[x][0] % 512 < read_nay.Ribbon.LIMITS[code]]
    return rows, codes, bumped


def put_blocks(f, payload, rows, first, nblocks):
    columns = [0] * f.k
    for at in range(128 * nblocks - 1, -1, -1):
        coefficients, fingerprint = rows.get(at, (0, 0))
        for c in range(f.k):
            slots = columns[c] << 1 & (1 << 128) - 1
            parity = bin(slots & coefficients).count("1") + (fingerprint >> (c % 4 * 16 + c // 4))
            columns[c] = slots | parity & 1
        if at % 128 == 0:
            block = first + at // 128
            for c in range(f.k - (block < f.short)):
                where = 16 * (block * f.k - min(block, f.short) + c)
                payload[where : where + 16] = columns[c].to_bytes(16, "little")


def fill_layers(f, payload, keys, number):
    """All layers but the last; returns the keys that are left, or None: they have no slot."""
    for first, nparts, size in f.layers[:-1]:
        parts, left = [[] for _ in range(nparts)], []
        for x in keys:
            parts[reduce(x, nparts)].append(x)
        for part, members in enumerate(parts):
            rows, codes, bumped = band(members, read_nay.Ribbon.seed(number), size)
            put_blocks(f, payload, rows, first + part * size, size)
            for bucket, code in enumerate(codes, (first + part * size) // 4):
                put(payload, 128 * f.nunits + 2 * bucket, 2, code)
            left += bumped
        keys = [splitmix64(x) for x in left]
        if len(keys) > 128 * (f.extra - first - nparts * size):
            return None
    return keys


def ribbon(f, hashes):
    if f.extra == 0:
        payload = bytearray(f.payload[:8] + bytes(8 * f.nunits))
        for h in hashes:
            for n in read_nay.Bloom.positions(read_nay.premixed(h, f.premix), 64 * f.nunits, f.k):
                payload[8 + (n >> 3)] |= 1 << (n & 7)
        return bytes(payload)
    keys = [read_nay.premixed(h, f.premix) for h in set(hashes)]
    first, _, size = f.layers[-1]
    for attempt in range(64):
        payload = bytearray(16 * f.nunits + read_nay.Ribbon.ncodes(f.extra))
        left = fill_layers(f, payload, keys, attempt)
        for i in range(16 if left is not None else 0):
            number = (16 * attempt + i) % 255
            rows = {}
            if place([equation(x, read_nay.Ribbon.seed(number), size) for x in left], rows):
                put_blocks(f, payload, rows, first, size)
                return bytes(payload) + struct.pack("<IBB", f.premix, attempt if first else 0, number)
    return None


BUILD = {3: counting, 4: scalable, 5: window, 6: cuckoo, 7: xor, 8: xor, 9: ribbon}
