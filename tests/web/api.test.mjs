// The JavaScript module: keys, batches, errors, memory, objects. node --test-reporter=tap api.test.mjs
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { golden, library, NayError } from './support.mjs';

const nay = await library({ full: true });
const { Filter, StaticMap } = nay;
const blocked = (more) => Filter.create({ kind: 'blocked', nkeys: 1000, fpr: 0.01, ...more });
const fails = (statusName, call, more = {}) => assert.throws(call, (error) => {
  assert.ok(error instanceof NayError, String(error));
  assert.equal(error.statusName, statusName);
  for (const [name, value] of Object.entries(more)) assert.equal(error[name], value);
  return true;
});
const utf8 = (text) => new TextEncoder().encode(text);
const numbered = (n, stem = 'key') => Array.from({ length: n }, (_, i) => `${stem}${i}`);

test('strings are their UTF-8, of every width and length', () => {
  const characters = ['a', 'é', '€', '😀', '\0', '\u007f', '\u0080', '\u07ff', '\u0800', '\uffff', '\u{10000}', '\u{10ffff}'];
  for (const character of characters) {
    for (const times of [1, 2, 63, 64, 65, 127, 128, 129, 1000, 21845, 30000]) {
      for (const text of [character.repeat(times), `x${character.repeat(times)}`, `${character.repeat(times)}x`]) {
        const filter = blocked();
        assert.equal(filter.hash(text), filter.hash(utf8(text)));
        assert.deepEqual(filter.hashMany([text, 'z', text]), filter.hashMany([utf8(text), utf8('z'), utf8(text)]));
        filter.free();
      }
    }
  }
});

test('the empty key, bytes of every kind, ten megabytes', () => {
  const filter = blocked();
  assert.equal(filter.add(''), true);
  assert.equal(filter.has(new Uint8Array(0)), true);
  const long = 'é'.repeat(5_000_000);
  assert.equal(filter.add(long), true);
  assert.equal(filter.has(utf8(long).buffer), true);
  assert.equal(filter.has(new DataView(utf8(long).buffer)), true);
  assert.deepEqual([...filter.hasMany([long, '', 'no such key'])], [1, 1, 0]);
});

test('a lone surrogate is refused, alone and in a batch, and nothing is added', () => {
  const filter = blocked();
  for (const bad of ['\ud800', 'ab\udfff', '\ud800\ud800', '\udc00\ud800', `${'x'.repeat(500)}\ud83d`]) {
    fails('EINVAL', () => filter.add(bad));
    fails('EINVAL', () => filter.has(bad));
    fails('EINVAL', () => filter.explain(bad));
    fails('EINVAL', () => filter.addMany([...numbered(5000), bad]));
    fails('EINVAL', () => filter.addMany(`${numbered(5000).join('\n')}\n${bad}`));
    fails('EINVAL', () => Filter.build([bad], { kind: 'fuse', fpr: 0.01 }));
  }
  assert.equal(filter.stats().nbitsSet, 0);
  fails('EINVAL', () => filter.add('ab\ud800'), { offset: 2 });
});

test('what is no key is refused', () => {
  const filter = blocked();
  for (const bad of [7, 7n, null, undefined, {}, [], true, Symbol.iterator]) fails('EINVAL', () => filter.add(bad));
  for (const bad of [7, null, undefined, {}, [7], [null]]) fails('EINVAL', () => filter.addMany(bad));
  assert.equal(filter.stats().nbitsSet, 0);
});

test('names with a zero byte are refused', () => {
  const filter = blocked();
  fails('EINVAL', () => { filter.keyType = 'int\0x'; });
  fails('EINVAL', () => blocked({ keyType: 'int\0' }));
  fails('EINVAL', () => nay.formats.create('leveldb\0', { nkeys: 10, bitsPerKey: 10 }));
  fails('EINVAL', () => nay.key.parse('int\0', '7'));
  assert.equal(filter.keyType, 'text');
});

test('batches: arrays, iterables, lines, offsets, hashes give one filter', () => {
  const keys = [...numbered(3000), '', 'é', 'x'.repeat(70000), '😀'.repeat(40)];
  const one = blocked();
  for (const key of keys) one.add(key);
  const bytes = keys.map(utf8);
  const packed = new Uint8Array(bytes.reduce((sum, each) => sum + each.length, 0));
  const offsets = new Uint32Array(keys.length + 1);
  bytes.forEach((each, i) => {
    packed.set(each, offsets[i]);
    offsets[i + 1] = offsets[i] + each.length;
  });
  const fill = {
    array: (filter) => filter.addMany(keys),
    bytes: (filter) => filter.addMany(bytes),
    iterable: (filter) => filter.addMany(new Set(keys)),
    lines: (filter) => filter.addMany(keys.join('\n')),
    'lines with an end': (filter) => filter.addMany(`${keys.join('\n')}\n`),
    'bytes of lines': (filter) => filter.addMany(utf8(keys.join('\0')), { delimiter: 0 }),
    offsets: (filter) => filter.addMany(packed, { offsets }),
    hashes: (filter) => filter.addMany(filter.hashMany(keys)),
  };
  for (const [name, add] of Object.entries(fill)) {
    const filter = blocked();
    assert.equal(add(filter), keys.length, name);
    assert.deepEqual(filter.encode(), one.encode(), name);
    assert.ok(filter.hasMany(packed, { offsets }).every((answer) => answer === 1), name);
    filter.free();
  }
  fails('EINVAL', () => one.addMany(packed, { offsets: Uint32Array.of(0, 2, 1) }));
  fails('EINVAL', () => one.addMany(packed, { offsets: Uint32Array.of(0, packed.length + 1) }));
  fails('EINVAL', () => one.addMany(packed, { offsets: new Uint32Array(0) }));
  fails('EINVAL', () => one.addMany('a', { delimiter: 256 }));
});

test('answers of a batch are those of single calls, for every length up to 200', () => {
  const filter = blocked();
  filter.addMany(numbered(500));
  for (let n = 0; n <= 200; n++) {
    const keys = numbered(n, n % 2 ? 'key' : 'other');
    assert.deepEqual([...filter.hasMany(keys)], keys.map((key) => Number(filter.has(key))));
  }
  assert.deepEqual([...blocked().addManyNew(['a', 'b', 'a'])], [1, 1, 0]);
});

test('every family: build, has, stats, encode, open; traits say what works', () => {
  const keys = numbered(2000);
  for (const kind of nay.kinds) {
    const filter = Filter.build(keys, { kind, fpr: 0.01, nkeys: keys.length });
    assert.ok(filter.hasMany(keys).every((answer) => answer === 1), kind);
    assert.equal(filter.kind, kind);
    assert.equal(filter.stats().kind, kind);
    const again = Filter.open(filter.encode());
    assert.deepEqual(again.encode(), filter.encode(), kind);
    const traits = nay.traits(kind);
    if (!traits.add) fails('ENOTSUP', () => filter.add('x'));
    if (!traits.remove) fails('ENOTSUP', () => filter.remove('key0'));
    else assert.ok(keys.every((key) => filter.remove(key)) && !keys.some((key) => filter.has(key)), kind);
    if (!traits.merge) fails('ENOTSUP', () => filter.merge(again));
    if (traits.add) assert.equal(filter.clear().has('key1'), false, kind);
  }
});

test('a batch of adds that fails says how many keys it took', () => {
  const [some, single] = [0, 1].map(() => Filter.create({ kind: 'cuckoo', nkeys: 8, fpr: 0.01 }));
  const keys = [...numbered(3), ...Array(12).fill('same'), 'last'];
  fails('EFULL', () => some.addMany(keys), { taken: 11 });
  fails('EFULL', () => some.addManyNew(['same']), { taken: 0 });
  for (const key of keys.slice(0, 11)) single.add(key);
  assert.deepEqual(some.encode(), single.encode());
});

test('merge, intersect, overlap, fold, copy, meta', () => {
  const [a, b] = [blocked(), blocked()];
  a.addMany(numbered(500));
  b.addMany(numbered(500, 'other'));
  assert.ok(Math.abs(a.overlap(b).nkeysUnion - 1000) < 50);
  const both = a.copy().merge(b);
  assert.ok(both.has('key1') && both.has('other1') && !a.has('other1'));
  fails('EFULL', () => a.merge(b, { maxFpr: 1e-9 }));
  fails('EMISMATCH', () => a.merge(blocked({ seed: 1 })));
  assert.equal(a.has('other1'), false);
  a.meta = utf8('mine');
  assert.deepEqual(Filter.open(a.encode()).meta, utf8('mine'));
  a.meta = null;
  assert.equal(a.meta, null);
  assert.equal(both.intersect(a).stats().derived, true);
  const folded = Filter.create({ kind: 'bloom', nbits: 4096, k: 4 });
  folded.add('x');
  assert.equal(folded.fold(4).stats().nbits, 1024);
  fails('EINVAL', () => folded.fold(3));
  assert.equal(folded.has('x'), true);
});

test('secret keys: locked without, maybe until unlocked', () => {
  const key = Uint8Array.from({ length: 16 }, (_, i) => i + 1);
  const filter = Filter.build(['foo'], { kind: 'blocked', nkeys: 10, fpr: 0.01, hash: 'siphash13', key });
  const again = Filter.open(filter.encode());
  assert.equal(again.has('surely not'), true);
  fails('EKEY', () => again.add('x'));
  fails('EKEY', () => again.unlock(new Uint8Array(16)));
  again.unlock(key);
  assert.deepEqual([again.has('foo'), again.has('surely not')], [true, false]);
});

test('a window forgets, a counting filter counts', () => {
  const filter = Filter.create({ kind: 'window', nkeys: 100, fpr: 0.01, window: 100 });
  filter.advance(1000);
  filter.add('old');
  filter.advance(1050n);
  assert.equal(filter.has('old'), true);
  filter.advance(2000);
  assert.equal(filter.has('old'), false);
  fails('EINVAL', () => filter.advance(1));
  const counting = Filter.create({ kind: 'counting', nkeys: 100, fpr: 0.01 });
  for (let i = 0; i < 3; i++) counting.add('x');
  assert.equal(counting.count('x'), 3);
});

test('parameters: unknown ones, wrong types, out of range', () => {
  for (const bad of [{ fpr: 0 }, { fpr: 1 }, { fpr: 2 }, { fpr: NaN }, { fpr: '0.01' }, { nkeys: -1 }, { nkeys: 1.5 },
    { nkeys: 2 ** 53 }, { nkeys: 1n << 64n }, { nkeys: '5' }, { k: 65 }, { k: 2 ** 32 }, { kind: 'nope' }, { hash: 'md5' },
    { colour: 'red' }, { flags: 1 }, { size: 4 }, { unique: 1 }, { key: new Uint8Array(15) }, { threads: 2 }, { seed: -1 }]) {
    fails('EINVAL', () => Filter.plan({ kind: 'blocked', nkeys: 1000, fpr: 0.01, ...bad }));
  }
  for (const bad of [null, undefined, 7, 'x']) fails('EINVAL', () => Filter.plan(bad));
  assert.equal(Filter.plan({ nkeys: 10, fpr: 0.01, kind: undefined }).nkeys, 10);
  assert.equal(Filter.plan({ kind: 'auto-static', nkeys: 1e6, fpr: 0.01 }).kind, 'ribbon');
});

test('messages name fields as they are called here', () => {
  fails('EINVAL', () => Filter.create({ kind: 'cuckoo', nkeys: 1000, fpr: 0.01, tagBits: 5 }), { message: 'tagBits is not between 6 and 32' });
  fails('EINVAL', () => Filter.plan({ kind: 'bloom', nkeys: 1000, bitsPerKey: 1e-9 }), { message: 'bitsPerKey times nkeys is below one bit' });
});

test('parameters: a key without a keyed hash, names of prototypes, options that do not exist', async () => {
  const key = new Uint8Array(16).fill(7);
  const params = { kind: 'bloom', nkeys: 10, fpr: 0.01 };
  for (const bad of [{ key }, { storeKey: true }, { hash: 'xxh3', key }, { hash: 'caller', key }, { toString: true },
    { constructor: false }, { hasOwnProperty: true }, { valueOf: 0 }, { __defineGetter__: true }]) {
    for (const call of [Filter.create, Filter.plan, (p) => Filter.build(['a'], p)]) {
      fails('EINVAL', () => call({ ...params, ...bad }));
    }
  }
  fails('EINVAL', () => StaticMap.build([['a', 1]], { key }));
  fails('EINVAL', () => StaticMap.build([['a', 1]], { toString: true }));
  const filter = blocked();
  for (const name of ['addMany', 'addManyNew', 'hasMany', 'hashMany']) {
    for (const options of [{ delim: 3 }, { delimiter: 3 }, { toString: 1 }, null, 5]) {
      fails('EINVAL', () => filter[name](['a'], options));
      fails('EINVAL', () => Filter.build(['a'], params, options));
    }
    fails('EINVAL', () => filter[name](utf8('ab'), { offsets: Uint32Array.of(0, 2), delimiter: 3 }));
  }
  for (const options of [{ maxfpr: 1 }, { maxFpr: '1' }, null, 1]) fails('EINVAL', () => filter.merge(blocked(), options));
  for (const options of [{ maxMem: 1 }, { simd: 'no' }, { full: 1 }, { wasm: utf8('no module') }, null, 5]) {
    await assert.rejects(library(options), { name: 'NayError', statusName: 'EINVAL' });
  }
  for (const bad of [1.5, -1, '1']) fails('EINVAL', () => nay.mix(bad));
  fails('EINVAL', () => nay.key.parse('text', 5));
  for (const pairs of [null, undefined, 5, [null], [['a']], ['ab']]) fails('EINVAL', () => StaticMap.build(pairs));
  assert.equal(filter.stats().nbitsSet, 0);
});

test('the parameters of a filter make its empty twin, for every family', () => {
  const key = new Uint8Array(16).fill(7);
  for (const kind of nay.kinds.filter((each) => nay.traits(each).add)) {
    for (const more of [{}, { hash: 'siphash13', key }, { hash: 'siphash13', key, storeKey: true },
      { seed: 5n }, { hash: 'caller' }, ...(kind === 'cuckoo' ? [{ unique: true }] : [])]) {
      const filter = Filter.create({ kind, nkeys: 100, fpr: 0.01, ...more });
      const twin = Filter.create(filter.params());
      assert.deepEqual(twin.encode(), filter.encode(), kind);
      assert.deepEqual(twin.params(), filter.params(), kind);
    }
  }
});

test('a window is built in the order of its keys', () => {
  const [keys, more] = [numbered(1000), numbered(700, 'more')];
  for (const params of [{ kind: 'window', nkeys: 1000, fpr: 0.001 }, { kind: 'window', nkeys: 1000, fpr: 0.01, generations: 3 }]) {
    for (const items of [keys, keys.join('\n'), [...keys.slice(0, 500), ...keys]]) {
      const built = Filter.build(items, params);
      const added = Filter.create(params);
      added.addMany(keys);
      if (items !== keys && Array.isArray(items)) assert.ok(built.hasMany(keys).every((answer) => answer === 1));
      else assert.deepEqual(built.encode(), added.encode());
      built.addMany(more);
      assert.ok(built.hasMany([...keys.slice(-300), ...more]).every((answer) => answer === 1));
    }
    fails('EFULL', () => Filter.build([...keys, 'one more'], params));
  }
});

test('objects of another load() or class are refused', async () => {
  const other = await library({ full: true });
  const params = { kind: 'bloom', nkeys: 100, fpr: 0.01 };
  const [mine, theirs] = [Filter.create(params), other.Filter.create(params)];
  theirs.add('only in theirs');
  const map = StaticMap.build([['a', 1]]);
  const before = mine.encode();
  for (const bad of [theirs, map, null, undefined, {}, 5, { ptr: mine.ptr }, Object.create(Filter.prototype)]) {
    for (const name of ['merge', 'intersect', 'overlap']) fails('EINVAL', () => mine[name](bad));
    for (const name of ['of', 'caveat']) fails('EINVAL', () => nay.formats[name](bad));
    fails('EINVAL', () => nay.formats.encode('nay', bad));
    for (const name of ['add', 'has', 'stats', 'encode', 'explain', 'params', 'copy', 'clear', 'hash']) {
      fails('EINVAL', () => Filter.prototype[name].call(bad, 'x'));
    }
    fails('EINVAL', () => Filter.prototype.hasMany.call(bad, ['x']));
  }
  fails('EINVAL', () => StaticMap.prototype.get.call(mine, 'x'));
  for (const Class of [Filter, StaticMap, nay.Table, nay.TableFilters]) {
    fails('EINVAL', () => new Class());
    fails('EINVAL', () => new Class(mine.ptr));
  }
  assert.deepEqual(mine.encode(), before);
});

test('a filter that is freed while its batch is read: an error, and no other filter changes', () => {
  for (const name of ['addMany', 'addManyNew', 'hasMany', 'hashMany']) {
    const filter = blocked();
    let victim;
    const steal = () => {
      filter.free();
      victim = blocked();
      return 'stolen';
    };
    const generator = function* keys() {
      yield 'first';
      yield steal();
      yield* numbered(2000);
    };
    fails('EINVAL', () => filter[name](generator()));
    assert.equal(victim.stats().nbitsSet, 0, name);
    const again = blocked();
    const array = numbered(2000);
    Object.defineProperty(array, 1500, { get: () => { again.free(); victim = blocked(); return 'stolen'; } });
    fails('EINVAL', () => again[name](array));
    assert.equal(victim.stats().nbitsSet, 0, name);
  }
});

test('an array that changes while it is read harms nothing', () => {
  const numbers = numbered(1500);
  const changing = (change) => Object.defineProperty([...numbers], 700, { get() { change(this); return 'key'; } });
  const grow = (array) => { if (array.length < 9e4) array.push(...numbered(1e5)); };
  const shrink = (array) => { array.length = 701; };
  for (const name of ['addMany', 'addManyNew', 'hasMany', 'hashMany']) {
    const beside = blocked(), all = blocked();
    beside.addMany(numbers);
    all[name](changing(grow));
    if (name === 'addMany') assert.ok(all.hasMany([...numbers.slice(0, 700), 'key', ...numbers.slice(701)]).every((maybe) => maybe));
    const before = all.stats().nbitsSet;
    fails('EINVAL', () => all[name](changing(shrink)));
    assert.equal(all.stats().nbitsSet, before, name);
    assert.ok(beside.hasMany(numbers).every((maybe) => maybe), name);
  }
  assert.equal(blocked().hasMany(changing(grow)).length, 1500);
  assert.equal(Filter.build(changing(grow), { kind: 'fuse', fpr: 0.01 }).stats().nkeys, 1500);
  const big = { kind: 'bloom', nbits: 2 ** 27, k: 1 }; // grows the memory, whose views are then others
  const filter = blocked(), made = [];
  filter.addMany(changing(() => made.push(Filter.create(big))));
  assert.ok(filter.hasMany(numbers.filter((_, i) => i !== 700)).every((maybe) => maybe));
  for (const each of made) each.free();
});

test('a detached buffer is no key', () => {
  const filter = blocked();
  for (const make of [(buffer) => buffer, (buffer) => new Uint8Array(buffer), (buffer) => new DataView(buffer)]) {
    const buffer = new ArrayBuffer(8);
    const key = make(buffer);
    structuredClone(buffer, { transfer: [buffer] });
    for (const call of ['add', 'has', 'remove', 'hash', 'explain']) fails('EINVAL', () => filter[call](key));
    fails('EINVAL', () => filter.addMany([key]));
    fails('EINVAL', () => filter.addMany(key));
    fails('EINVAL', () => Filter.open(key));
  }
  assert.equal(filter.stats().nbitsSet, 0);
});

test('explanations: the rule of groups, for every family', () => {
  const keys = numbered(300);
  for (const kind of nay.kinds) {
    const filter = Filter.build(keys, { kind, fpr: 0.05, nkeys: 300 });
    const payload = filter.payload();
    for (const key of [...keys.slice(0, 20), ...numbered(50, 'absent')]) {
      const why = filter.explain(key);
      assert.equal(why.maybe, filter.has(key));
      assert.equal(why.hash, filter.hash(key));
      assert.equal(why.steps.length, why.nsteps);
      assert.equal(why.payloadNbytes, payload.length);
      const failed = new Set(why.steps.filter((step) => !step.ok).map((step) => step.group));
      assert.equal(failed.size < why.ngroups, why.maybe, kind);
      for (const step of why.steps.filter((each) => each.kind === 'bit')) {
        assert.equal((payload[step.bit >> 3] >> (step.bit & 7)) & 1, Number(step.found), kind);
      }
    }
  }
});

test('typed keys are those of tests/golden/keys', () => {
  const lines = golden('keys/keys.txt').toString().split('\n').filter((line) => line && !line.startsWith('#'));
  let ngood = 0, nbad = 0;
  for (const line of lines) {
    const [type, raw, expected] = line.split('\t');
    if (expected === 'error') {
      fails('EINVAL', () => nay.key.parse(type, raw));
      nbad++;
    } else {
      assert.equal(Buffer.from(nay.key.parse(type, raw)).toString('hex'), expected, line);
      ngood++;
    }
  }
  assert.ok(ngood > 200 && nbad > 50, `${ngood} ${nbad}`);
  for (const value of [0, 1, -1, 255, -(2 ** 53) + 1, 2n ** 64n - 1n, -(2n ** 63n)]) {
    assert.deepEqual(nay.key.int(value), nay.key.parse('int', String(value)));
  }
  for (const bad of [2n ** 64n, -(2n ** 63n) - 1n, 0.5, NaN, '7']) fails('EINVAL', () => nay.key.int(bad));
  assert.deepEqual([nay.key.float(-0), nay.key.float(NaN)], [nay.key.float(0), nay.key.parse('float', 'nan')]);
});

test('damaged files: every byte of a file, flipped, is an error', () => {
  const file = Filter.build(numbered(20), { kind: 'blocked', nkeys: 20, fpr: 0.01 }).encode();
  for (let i = 0; i < file.length; i++) {
    file[i] ^= 0x40;
    assert.throws(() => Filter.open(file), NayError);
    file[i] ^= 0x40;
  }
  for (const bad of [new Uint8Array(0), new Uint8Array(1000), file.subarray(0, file.length - 1)]) {
    assert.throws(() => Filter.open(bad), NayError);
  }
  for (const bad of [null, 'text', 7]) fails('EINVAL', () => Filter.open(bad));
});

test('static maps: values, absent keys, conflicts', () => {
  const map = StaticMap.build([['a', 1], ['b', 7n], ['c', 0]], { checkBits: 20 });
  assert.deepEqual(['a', 'b', 'c', 'd'].map((key) => map.get(key)), [1n, 7n, 0n, undefined]);
  assert.equal(map.stats().nkeys, 3);
  assert.equal(StaticMap.open(map.encode()).get('b'), 7n);
  fails('EINVAL', () => StaticMap.build([['a', 1], ['a', 2]]));
  fails('EINVAL', () => StaticMap.build([['a', 4]], { valueBits: 2 }));
  fails('EFORMAT', () => StaticMap.open(blocked().encode()));
  fails('EFORMAT', () => Filter.open(map.encode()));
  fails('ENOTSUP', () => Filter.build(['a'], { kind: 'map' }));
  assert.ok(!nay.kinds.includes('map'));
});

test('memory: the limit is ENOMEM, the filter is as it was, and freeing helps', async () => {
  const small = await library({ maxMemory: 4 << 20 });
  const filter = small.Filter.create({ kind: 'scalable', nkeys: 1000, fpr: 0.01 });
  filter.add('first');
  fails('ENOMEM', () => small.Filter.create({ kind: 'blocked', nkeys: 1e8, fpr: 0.01 }));
  const before = filter.encode();
  fails('ENOMEM', () => filter.addMany(numbered(400000)));
  fails('ENOMEM', () => filter.add('x'.repeat(8 << 20)));
  assert.deepEqual(filter.encode(), before);
  let n = 0;
  fails('ENOMEM', () => {
    for (;; n++) filter.add(`key${n}`);
  });
  assert.ok(n > 100000 && filter.has('first') && filter.has(`key${n - 1}`), String(n));
  filter.free();
  assert.equal(small.Filter.create({ kind: 'blocked', nkeys: 1e6, fpr: 0.01 }).add('x'), true);
  for (const bad of [1, NaN, 2 ** 33]) await assert.rejects(library({ maxMemory: bad }), NayError);
});

test('memory: a long run of objects of all sizes leaves nothing behind', async () => {
  const own = await library();
  const run = () => {
    const kept = [];
    for (let i = 0; i < 3000; i++) {
      const nbits = 512 * (1 + ((i * 7919) % 997));
      kept.push(own.Filter.create({ kind: 'blocked', nbits, k: 3 }));
      kept[i].add(`key${i}`);
      if (i % 3 !== 0) kept[(i * 31) % kept.length].free();
    }
    for (const [i, filter] of kept.entries()) {
      if (filter.ptr !== 0) assert.equal(filter.has(`key${i}`), true);
      filter.free();
    }
  };
  run();
  const used = own.memoryUsed();
  for (let i = 0; i < 3; i++) run();
  assert.equal(own.memoryUsed(), used);
});

test('a freed object says so; free twice is fine; using disposes', () => {
  const filter = blocked();
  filter.free();
  filter.free();
  for (const call of ['add', 'has', 'remove', 'explain', 'hasMany', 'stats', 'encode']) {
    fails('EINVAL', () => filter[call](call === 'hasMany' ? ['x'] : 'x'));
  }
  if (Symbol.dispose) {
    const other = blocked();
    other[Symbol.dispose]();
    fails('EINVAL', () => other.has('x'));
  }
});

test('console.log shows one line; nothing of a freed object', () => {
  const show = (object) => object[Symbol.for('nodejs.util.inspect.custom')]();
  const filter = Filter.build(numbered(1000), { kind: 'blocked', nkeys: 1000, fpr: 0.01 });
  assert.match(show(filter), /^Filter \{ blocked, \d+ keys of 1000, FPR 0\.\d+%, \d+ bytes \}$/);
  assert.match(show(filter.copy().intersect(filter)), /^Filter \{ blocked, \d+ bytes \}$/);
  assert.match(show(nay.formats.create('lab', { nkeys: 10, bitsPerKey: 10 })), /another layout/);
  assert.match(show(StaticMap.build([['a', 1]], { checkBits: 9 })), /^StaticMap \{ 1 keys, 1 value bits, 9 check bits, \d+ bytes \}$/);
  assert.equal(show(nay.Table.open(golden('leveldb-tables/table_str_n100_b10_none.ldb'))), 'Table {}');
  filter.free();
  assert.equal(show(filter), 'Filter { freed }');
});

test('a call that a kind does not have names the kinds that do', () => {
  const of = (kind) => Filter.build(['a'], { kind, nkeys: 10, fpr: 0.01 });
  const says = (call, message) => fails('ENOTSUP', call, { message });
  says(() => of('blocked').remove('a'), 'remove: a blocked filter cannot; counting and cuckoo can');
  says(() => of('bloom').removeHash(1n), 'removeHash: a bloom filter cannot; counting and cuckoo can');
  says(() => of('bloom').count('a'), 'count: a bloom filter cannot; counting and cuckoo can');
  for (const call of ['add', 'addMany', 'addManyNew']) {
    says(() => of('fuse')[call](call === 'add' ? 'b' : ['b']), `${call}: a fuse filter takes no adds: Filter.build makes it of all keys at once`);
  }
  says(() => of('xor').merge(of('xor')), 'merge: a xor filter cannot; bloom, blocked, counting, scalable, and sbbf can');
  says(() => of('cuckoo').advance(1), 'advance: a cuckoo filter cannot; window can');
  says(() => nay.formats.create('lab', { nkeys: 10, bitsPerKey: 10 }).remove('a'), "remove: filters in another system's layout cannot");
});

test('tables of LevelDB: compressed by snappy, walked, read, explained, damaged', () => {
  const bytes = golden('leveldb-tables/table_str_n10000_b10_snappy.ldb');
  const table = nay.Table.open(bytes);
  let n = 0;
  for (const { key, value } of table) {
    assert.equal(Buffer.from(key).toString(), `key${String(n).padStart(6, '0')}`);
    assert.equal(Buffer.from(value).toString(), `v${n++}`);
  }
  assert.equal(n, 10000);
  assert.equal(Buffer.from(table.get('key000077').value).toString(), 'v77');
  assert.equal(table.get('nope'), undefined);
  assert.equal([...table.entries({ prefix: 'key0012' })].length, 100);
  assert.equal([...table.entries({ from: 'key009990' })].length, 10);
  assert.ok(table.info().nblocks > 1 && table.counters().gets === 2);
  const filters = nay.TableFilters.open(bytes);
  assert.equal(filters.info().engine, 'LevelDB');
  assert.equal(filters.has('key000077'), true);
  assert.equal(filters.explain('key000077').maybe, true);
  assert.ok([...filters.filters()].filter((each) => each.bytes.length > 0).every((each) => each.format === 'leveldb'));
  const bad = Uint8Array.from(bytes);
  bad[100] ^= 1;
  fails('ECORRUPT', () => [...nay.Table.open(bad)]);
  fails('EFORMAT', () => nay.Table.open(bytes.subarray(0, 1000)));
});

test('plans of LSM trees: Monkey reads less with the same bytes', () => {
  const { uniform, monkey } = nay.planLsm({ nkeys: 1e8, ratio: 10, bitsPerKey: 5, kind: 'blocked' });
  assert.ok(monkey.absentReads < uniform.absentReads && monkey.nbytes <= monkey.nbytesBudget);
  assert.equal(monkey.levels.length, monkey.nlevels);
  assert.ok(monkey.levels[0].bitsPerKey > monkey.levels.at(-1).bitsPerKey);
  assert.equal(monkey.levels.reduce((sum, level) => sum + level.nkeys, 0), 1e8);
  fails('EINVAL', () => nay.planLsm({ nkeys: 1e8, ratio: 1, bitsPerKey: 5 }));
  fails('EINVAL', () => nay.planLsm({ nkeys: 1e8, ratio: 10, bitsPerKey: 5, merging: 'never' }));
  fails('EINVAL', () => nay.planLsm());
});

// a type, two texts of one value, another value, a text of none
const TYPED = {
  int: ['7', '007', '8', 'seven'],
  float: ['1.0', '10e-1', '2.5', 'one'],
  bool: ['true', 'T', '0', 'yes'],
  date: ['2024-02-29', '+2024-02-29', '2024-03-01', '2023-02-29'],
  timestamp: ['2024-02-29T12:00Z', '2024-02-29 13:00+01', '2025-01-01', 'noon'],
  uuid: ['123e4567-e89b-12d3-a456-426614174000', '{123E4567E89B12D3A456426614174000}', '0'.repeat(32), '123e'],
  numeric: ['1.50', '15e-1', '1e100000', '1,5'],
};

test('key types: strings are converted or refused, by every call, in every family', () => {
  for (const kind of nay.kinds) {
    for (const [keyType, [text, again, other, bad]] of Object.entries(TYPED)) {
      const params = { kind, nkeys: 100, fpr: 1e-6, keyType };
      const filter = Filter.build([text], params);
      assert.equal(filter.keyType, keyType);
      assert.deepEqual([text, again, other].map((key) => filter.has(key)), [true, true, false], `${kind} ${keyType}`);
      assert.equal(filter.has(nay.key.parse(keyType, again)), true);
      assert.equal(filter.hash(again), filter.hash(nay.key.parse(keyType, text)));
      assert.equal(filter.explain(again).maybe, true);
      assert.deepEqual([...filter.hasMany([again, other, nay.key.parse(keyType, text)])], [1, 0, 1]);
      assert.deepEqual([...filter.hasMany(`${again}\n${other}\n`)], [1, 0]);
      assert.deepEqual([...filter.hasMany(utf8(`${other}\n${again}`))], [0, 1]);
      for (const call of [() => filter.has(bad), () => filter.hash(bad), () => filter.explain(bad), () => filter.hasMany([text, bad]),
        () => filter.hasMany(`${text}\n${bad}`), () => Filter.build([bad], params)]) fails('EINVAL', call);
      const opened = Filter.open(filter.encode());
      assert.equal(opened.keyType, keyType);
      assert.equal(opened.copy().has(again), true);
    }
  }
});

test('key types: adds, counts and removals; a batch with a bad key adds nothing', () => {
  const filter = Filter.create({ kind: 'counting', nkeys: 100, fpr: 1e-6, keyType: 'int' });
  assert.equal(filter.add('7'), true);
  assert.equal(filter.add('0x7'), false);
  assert.equal(filter.count('007'), 2);
  assert.equal(filter.remove('+7'), true);
  const before = filter.encode();
  fails('EINVAL', () => filter.addMany(['1', '2', 'three']), { message: 'not a decimal digit' });
  fails('EINVAL', () => filter.add('x'));
  fails('EINVAL', () => filter.remove('x'));
  fails('EINVAL', () => filter.count('x'));
  fails('EINVAL', () => filter.add(7));
  fails('EINVAL', () => filter.add(utf8('7')), { message: 'the key has 1 bytes, and keys of type int have 8: give a text as a string' });
  fails('EINVAL', () => filter.hasMany(utf8('12345678'), { offsets: Uint32Array.of(0, 4, 8) }));
  fails('EINVAL', () => filter.has('\ud800'));
  assert.deepEqual(filter.encode(), before);
  assert.equal(filter.addMany(['1', nay.key.int(2), '0x3']), 3);
  assert.deepEqual([...filter.addManyNew('3\n4\n')], [0, 1]);
  assert.equal(filter.addMany(nay.key.int(9), { offsets: Uint32Array.of(0, 8) }), 1);
  assert.equal(filter.has('09'), true);
});

test('key types: trim and ascii-lower, which the file states', () => {
  const filter = Filter.create({ nkeys: 10, fpr: 1e-9, keyType: 'text,ascii-lower,trim' });
  assert.equal(filter.keyType, 'text,trim,ascii-lower');
  filter.addMany([' Apple\t', 'PEAR']);
  const opened = Filter.open(filter.encode());
  for (const text of ['apple', 'APPLE ', '\npear']) assert.equal(opened.has(text), true);
  for (const text of ['app le', '\u00a0apple']) assert.equal(opened.has(text), false);
  assert.equal(Filter.build([' 7'], { nkeys: 1, fpr: 1e-9, keyType: 'int,trim' }).has('007\r'), true);
});

test('key types: set, shown, compared; a notation of text is no type', () => {
  const filter = blocked();
  assert.equal(filter.keyType, 'text');
  assert.equal('keyType' in filter.params(), false);
  const plain = filter.encode();
  filter.keyType = 'text';
  assert.deepEqual(filter.encode(), plain);
  for (const keyType of ['bytes', 'hex', 'b64', 'hex,trim']) {
    const params = { nkeys: 1, fpr: 0.01, keyType };
    for (const act of [() => { filter.keyType = keyType; }, () => Filter.create(params), () => Filter.build([], params)]) {
      assert.throws(act, new RegExp(`keyType: ${keyType} is a notation of text`));
    }
  }
  assert.deepEqual(filter.encode(), plain);
  filter.keyType = 'int';
  assert.equal(Filter.create(filter.params()).keyType, 'int');
  fails('EMISMATCH', () => filter.merge(blocked()));
  fails('EMISMATCH', () => blocked().intersect(filter));
  fails('EMISMATCH', () => filter.overlap(blocked({ keyType: 'date' })));
  filter.merge(blocked({ keyType: 'int' }));
  for (const keyType of ['itn', '', 'INT', 'int,', 'int,soundex', 'a'.repeat(64)]) {
    assert.throws(() => { filter.keyType = keyType; }, NayError, keyType);
    assert.throws(() => Filter.create({ nkeys: 1, fpr: 0.01, keyType }), NayError, keyType);
    assert.throws(() => Filter.build(['1'], { nkeys: 1, fpr: 0.01, keyType }), NayError, keyType);
  }
  for (const keyType of [7, null, {}]) fails('EINVAL', () => { filter.keyType = keyType; });
  assert.equal(filter.keyType, 'int');
  fails('EINVAL', () => nay.formats.create('leveldb', { bitsPerKey: 10, nkeys: 9, keyType: 'int' }));
  const other = nay.formats.create('leveldb', { bitsPerKey: 10, nkeys: 9 });
  fails('ENOTSUP', () => { other.keyType = 'int'; });
  assert.equal(other.keyType, 'text');
});

test('key types: static maps', () => {
  const map = StaticMap.build([['1', 10], ['0x2', 20], [nay.key.int(3), 30]], { valueBits: 8, checkBits: 20, keyType: 'int' });
  const opened = StaticMap.open(map.encode());
  for (const each of [map, opened]) {
    assert.equal(each.keyType, 'int');
    assert.deepEqual(['01', '2', '+3', '4'].map((key) => each.get(key)), [10n, 20n, 30n, undefined]);
    fails('EINVAL', () => each.get('one'));
    fails('EINVAL', () => each.get(utf8('1')));
    fails('EINVAL', () => each.get(1n)); // no hash: the caller does not
  }
  assert.equal(StaticMap.build([[5n, 6]], { hash: 'caller', checkBits: 20 }).get(5n), 6n);
  fails('EINVAL', () => StaticMap.build([['one', 1]], { keyType: 'int' }));
  assert.throws(() => StaticMap.build([], { keyType: 'itn' }), NayError);
});

test('key types: a description that this module does not know is refused where a string is converted', () => {
  const filter = Filter.build([nay.key.int(7)], { kind: 'blocked', nkeys: 10, fpr: 1e-6, keyType: 'int' });
  const bytes = filter.encode();
  const at = 64 + 16 * 2 + 16 + 16; // the first section: sections, digests, padding
  assert.equal(new TextDecoder().decode(bytes.subarray(at, at + 3)), 'int');
  bytes.set(utf8('ipv'), at);
  const view = new DataView(bytes.buffer);
  const sealed = (from, to) => view.setBigUint64(to, nay.hash(bytes.subarray(from, to)), true);
  view.setBigUint64(96, nay.hash(bytes.subarray(at)), true); // one chunk
  sealed(56, 104);
  const other = Filter.open(bytes);
  assert.equal(other.keyType, 'ipv');
  fails('EVERSION', () => other.has('7'));
  fails('EVERSION', () => other.add('7'));
  fails('EVERSION', () => other.hasMany(['7']));
  assert.equal(other.has(nay.key.int(7)), true);
  assert.equal(Filter.open(other.encode()).keyType, 'ipv');
});

test('parameters that are none are refused by name', () => {
  for (const params of [null, 7, 'x']) fails('EINVAL', () => StaticMap.build([['a', 1]], params), { message: 'params: not an object' });
  fails('EINVAL', () => blocked().foldFactor(1n), { message: 'maxFpr: not a number' });
});

test('ranges of range filters', () => {
  const days = ['2024-02-29', '2024-03-08'];
  const dates = Filter.build(days, { kind: 'range', keyType: 'date', fpr: 0.01, rangeLength: 31 });
  assert.equal(dates.keyType, 'ordered-date');
  assert.ok(dates.hasRange('2024-02-01', '2024-02-29') && dates.hasRange('2024-03-08', '2024-03-08'));
  assert.ok(!dates.hasRange('2024-03-01', '2024-03-07') && dates.has('2024-03-08') && dates.traits.range);
  assert.equal(dates.stats().rangeLength, 31);
  assert.equal(Filter.open(dates.encode()).hasRange('2024-01-01', '2024-02-28'), false);
  for (let n = 0; n < 300; n += 7) {
    const keys = Array.from({ length: n }, (_, i) => `user/${1000 * i}`);
    const users = Filter.build(keys, { kind: 'range', fpr: 0.01, rangeLength: 100, rangeDelimiter: 47 });
    for (let i = 0; i < n; i++) assert.ok(users.hasRange(`user/${Math.max(0, 1000 * i - 99)}`, `user/${1000 * i}`));
    assert.ok(n === 0 || !users.hasRange('user/1', 'user/100') || n > 1);
  }
  const long = 'x'.repeat(5000);
  const texts = Filter.build([`${long}5`, `${long}9`], { kind: 'range', fpr: 0.01, rangeLength: 10 });
  assert.ok(texts.hasRange(`${long}1`, `${long}5`) && !texts.hasRange(`${long}6`, `${long}8`));
  assert.throws(() => dates.hasRange('2024-03-02', '2024-03-01'), /first end is above/);
  assert.throws(() => dates.hasRange('2024-03-02', 'never'), NayError);
  assert.throws(() => dates.hasRange(1, 2), NayError);
  const plain = Filter.create({ kind: 'bloom', nkeys: 10, fpr: 0.01 });
  assert.throws(() => plain.hasRange('a', 'b'), /a bloom filter cannot; range can/);
  const ints = Filter.create({ kind: 'bloom', nkeys: 10, fpr: 0.01, keyType: 'int' });
  assert.throws(() => ints.hasRange('1', '256'), /not in the order of their values/);
  for (const wrong of [{ rangeLength: 0 }, { rangeKeys: 'be9' }, { rangeKeys: 'be4', keyType: 'int' }, { keyType: 'uuid' },
    { rangeDelimiter: 256 }, { rangeDelimiter: 47, keyType: 'int' }]) {
    assert.throws(() => Filter.build(['1'], { kind: 'range', fpr: 0.01, rangeLength: 5, ...wrong }), NayError, JSON.stringify(wrong));
  }
  const ordered = { kind: 'range', keyType: 'ordered-int', fpr: 0.001, rangeLength: 10 }, plainInts = { ...ordered, keyType: 'int' };
  const seven = nay.key.parse('ordered-int', '7');
  assert.ok(Filter.build([seven, '9'], ordered).hasRange('5', '7') && Filter.build(['7'], plainInts).has(seven));
  for (const bytes of [[nay.key.int(7)], ['9', seven]]) {
    assert.throws(() => Filter.build(bytes, plainInts), /keys of type ordered-int, and bytes of type int are none/);
  }
  fails('EINVAL', () => Filter.build(seven, plainInts, { offsets: Uint32Array.of(0, 8) }));
  dates.free();
  assert.throws(() => dates.hasRange('2024-03-01', '2024-03-02'), /freed/);
});
