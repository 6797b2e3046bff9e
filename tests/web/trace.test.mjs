// Trace events against the bytes: what a page draws by them is what is in the filter. Each family's events, applied
// to nothing, give its payload. node --test-reporter=tap trace.test.mjs
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { library, NayError, source } from './support.mjs';

const nay = await library({ wasm: readFileSync(join(source, 'build/wasm/libnay-trace.wasm')) });
const { Filter } = nay;
const numbered = (n, stem = 'key') => Array.from({ length: n }, (_, i) => `${stem}${i}`);
const keys = numbered(600);

/** Builds and changes a filter; its events by name. */
function record(make) {
  const { value, events, lost } = nay.trace(make, { capacity: 1 << 20 });
  assert.equal(lost, 0);
  const of = (name) => events.filter(({ event }) => event === name);
  return { filter: value, events, of };
}

function setBit(payload, bit) {
  payload[bit >> 3] |= 1 << (bit & 7);
}

const makers = {
  'one by one': (params) => {
    const filter = Filter.create(params);
    for (const key of keys) filter.add(key);
    return filter;
  },
  'a batch': (params) => {
    const filter = Filter.create(params);
    filter.addMany(keys);
    return filter;
  },
  built: (params) => Filter.build(keys, params),
};

for (const [name, make] of Object.entries(makers)) {
  test(`bloom, ${name}: the bits`, () => {
    const { filter, of } = record(() => make({ kind: 'bloom', nbits: 6000, k: 5 }));
    const payload = new Uint8Array(filter.payload().length);
    let fresh = 0;
    for (const event of of('bloomBit')) {
      assert.equal(event.fresh, ((payload[event.bit >> 3] >> (event.bit & 7)) & 1) === 0);
      fresh += event.fresh;
      setBit(payload, event.bit);
    }
    assert.equal(fresh, filter.stats().nbitsSet);
    assert.deepEqual(payload, filter.payload());
  });

  test(`blocked, ${name}: the blocks and their bits`, () => {
    const { filter, of } = record(() => make({ kind: 'blocked', nbits: 512 * 13, k: 6 }));
    const payload = new Uint8Array(filter.payload().length);
    for (const { block, bit } of of('blockBit')) setBit(payload, 512 * block + bit);
    assert.equal(of('blockBit').length, 6 * keys.length);
    assert.deepEqual(payload, filter.payload());
  });
}

test('counting: the last event of each bit has its counter, removals included', () => {
  const { filter, of } = record(() => {
    const counting = makers['one by one']({ kind: 'counting', nkeys: 600, fpr: 0.02 });
    for (const key of keys.slice(0, 100)) counting.remove(key);
    return counting;
  });
  const counts = new Map();
  for (const { block, bit, count } of of('counter')) counts.set(512 * block + bit, count);
  let checked = 0;
  for (const key of keys.slice(100)) {
    for (const step of filter.explain(key).steps) {
      assert.equal(counts.get(step.bit), step.counter);
      checked++;
    }
  }
  assert.ok(checked > 2000);
});

test('scalable: levels and their second halves open, and bits belong to them', () => {
  const { filter, events, of } = record(() => makers['one by one']({ kind: 'scalable', nkeys: 50, fpr: 0.01 }));
  const nlevels = filter.stats().nlevels;
  const opened = of('levelOpened').map(({ level }) => level);
  assert.deepEqual([...new Set([0, ...opened])], Array.from({ length: nlevels }, (_, i) => i));
  assert.ok(opened.includes(0) && nlevels >= 2);
  let bits = new Set();
  let last = 0;
  for (const e of events) {
    if (e.event === 'blockBit') bits.add(`${e.level} ${e.block} ${e.bit}`);
    if (e.event !== 'levelOpened') continue;
    if (e.level === last) { // a second half: the blocks of the first move to every second place
      bits = new Set([...bits].map((at) => at.replace(/^(\d+) (\d+)/, (all, l, b) => (+l === last ? `${l} ${2 * b}` : all))));
    }
    last = e.level;
  }
  for (const key of keys) {
    const why = filter.explain(key);
    for (const step of why.steps.filter(({ level }) => level === why.level)) {
      const place = `${step.level} ${step.unitIndex} ${step.bit - step.unitBit}`;
      assert.equal(bits.has(place), step.ok, place);
    }
  }
});

test('window: bits are set in the newest generation, and expire with it', () => {
  const { filter, events, of } = record(() => makers['one by one']({ kind: 'window', nkeys: 200, fpr: 0.02, generations: 4 }));
  assert.ok(of('windowExpired').length >= 2);
  const cells = new Map();
  for (const event of events) {
    if (event.event === 'windowBit') cells.set(1024 * event.unit + event.bit, event.generation);
    else for (const [bit, generation] of cells) if ((event.generations >> BigInt(generation)) & 1n) cells.delete(bit);
  }
  assert.equal(cells.size, filter.stats().nbitsSet);
});

test('cuckoo: puts, kicks and removals give the table', () => {
  const { filter, events, of } = record(() => {
    const cuckoo = makers['one by one']({ kind: 'cuckoo', nkeys: 600, fpr: 0.02 });
    for (const key of keys.slice(0, 50)) cuckoo.remove(key);
    return cuckoo;
  });
  assert.ok(of('cuckooKick').length > 0);
  const table = new Map();
  const freeSlot = (bucket) => [0, 1, 2, 3].find((slot) => !table.has(`${bucket} ${slot}`));
  for (const event of events) {
    if (event.event === 'cuckooKick') {
      const from = `${event.from} ${event.slot}`;
      assert.equal(table.get(from), event.tag);
      table.delete(from);
      const slot = freeSlot(event.to) ?? assert.fail('no free slot');
      table.set(`${event.to} ${slot}`, event.tag);
    } else if (event.event === 'cuckooPut') {
      assert.ok(!table.has(`${event.bucket} ${event.slot}`));
      table.set(`${event.bucket} ${event.slot}`, event.tag);
    } else {
      assert.equal(table.get(`${event.bucket} ${event.slot}`), event.tag);
      table.delete(`${event.bucket} ${event.slot}`);
    }
  }
  assert.equal(table.size, 550);
  for (const key of keys.slice(50)) {
    for (const step of filter.explain(key).steps.filter(({ ok }) => ok)) {
      const slot = Math.round((step.bit - step.unitBit) / step.nbits);
      assert.equal(table.get(`${step.unitIndex} ${slot}`), Number(step.found));
    }
  }
  const grown = record(() => makers['one by one']({ kind: 'cuckoo', nkeys: 100, maxNkeys: 800, fpr: 0.02 }));
  assert.equal(grown.of('cuckooDoubled').length, grown.filter.stats().nlevels - 1);
});

for (const kind of ['xor', 'fuse']) {
  test(`${kind}: keys are peeled off their own slots, and assigned in the opposite order`, () => {
    const { filter, of } = record(() => Filter.build(keys, { kind, fpr: 0.01 }));
    const slots = new Map(of('peelKey').map((event) => [event.mixed, [...event.slots, ...event.more]]));
    assert.equal(slots.size, keys.length);
    const taken = of('peelTake'), assigned = of('peelAssign');
    assert.deepEqual(taken.slice(-keys.length).map(({ mixed }) => mixed), assigned.map(({ mixed }) => mixed).reverse());
    for (const { mixed, slot } of taken) assert.ok(slots.get(mixed).includes(slot));
    const words = new Set(of('peelKey').map(({ word }) => word));
    const values = new Map(assigned.map(({ slot, value }) => [slot, value]));
    for (const key of keys) {
      const why = filter.explain(key);
      assert.ok(words.has(why.word));
      const found = why.steps.filter((step) => step.kind === 'slot').reduce((sum, step) => sum ^ step.found, 0n);
      const mine = of('peelKey').find(({ word }) => word === why.word);
      const sum = [...mine.slots, mine.more[0]].reduce((all, slot) => all ^ BigInt(values.get(slot) ?? 0), 0n);
      assert.equal(sum, found);
    }
  });
}

test('ribbon: every key has a row or is bumped; the columns are the payload', () => {
  for (const n of [600, 9000]) {
    const { filter, of } = record(() => Filter.build(numbered(n), { kind: 'ribbon', fpr: 0.01 }));
    const columns = of('bandColumn').sort((a, b) => a.block - b.block || a.column - b.column);
    const payload = new Uint8Array(BigUint64Array.from(columns.flatMap(({ low, high }) => [low, high])).buffer);
    assert.deepEqual(payload, filter.payload().slice(0, payload.length));
    assert.ok(filter.payload().length - payload.length < 100);
    assert.equal(of('bandRow').length - of('bandCleared').length, n);
    assert.equal(of('bandBumped').length > 0, n > 8000);
    for (const { slot, low } of of('bandRow')) assert.equal(low & 1n, 1n, `row ${slot}`);
    const words = new Set(of('bandKey').map(({ word }) => word));
    for (const key of numbered(100)) assert.ok(words.has(filter.explain(key).word) || n > 8000);
  }
});

test('the ring keeps the last events; a failing run ends the trace', () => {
  const filter = Filter.create({ kind: 'bloom', nbits: 6000, k: 5 });
  const { value, events, lost } = nay.trace(() => filter.addMany(keys), { capacity: 7 });
  assert.deepEqual([value, events.length, lost], [600, 7, 2993]);
  assert.deepEqual(events.map(({ index }) => index), [3, 4, 0, 1, 2, 3, 4]);
  assert.throws(() => nay.trace(() => filter.add('\ud800')), NayError);
  assert.deepEqual(nay.trace(() => filter.has('x')).events, []);
  for (const capacity of [0, -1, 1.5, 2 ** 25]) assert.throws(() => nay.trace(() => 0, { capacity }), NayError);
});

test('the other modules have no trace', async () => {
  assert.equal((await library()).trace, undefined);
});
