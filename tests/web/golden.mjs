// The golden files of tests/golden, built again in WebAssembly: the bytes are those of native builds.
//   node golden.mjs MAKE_NATIVE MAKE_MAP     prints TAP; the programs list how each file is made
// The other files of tests/golden are read: filters and tables of other systems, keys, hashes.
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { golden, library, report, finish } from './support.mjs';

const KEY = Uint8Array.from({ length: 16 }, (_, i) => i);

// ---- how make_native.c makes them ----

function goldenKey(stem, i) {
  return `${stem}-${i}` + 'x'.repeat(i % 4 === 3 ? (37 * i) % 1500 : 0);
}

const memberKey = (i) => (i === 0 ? '' : goldenKey('member', i));

function paramsOf(g) {
  const params = { kind: g.kind, hash: g.hash };
  if (g.fpr !== 0) params.fpr = g.fpr;
  for (const name of ['nkeys', 'nbytes', 'nbits', 'k', 'seed', 'tagBits', 'generations', 'window', 'maxNkeys', 'maxNbytes']) {
    if (g[name] !== undefined) params[name] = BigInt(g[name]);
  }
  const flags = Number(g.flags ?? 0);
  params.storeKey = (flags & 2) !== 0;
  params.unique = (flags & 8) !== 0;
  if (g.hash === 'siphash13') params.key = KEY;
  return params;
}

/** Members first to first + n - 1, as keys or as hashes. */
function members(nay, g, first, n) {
  if (g.hash !== 'caller') return Array.from({ length: n }, (_, i) => memberKey(first + i));
  const shift = BigInt(g.seed ?? 0);
  return BigUint64Array.from({ length: n }, (_, i) => nay.mix(first + i) >> shift);
}

const DEEDS = {
  'as built': () => {},
  intersected: ({ filter, build, g }) => filter.intersect(build(Number(g.first), Number(g.nmembers))),
  joined: ({ filter, build, start, n }) => filter.merge(build(start, n - start)),
  removed({ nay, filter, g }) {
    for (const one of members(nay, g, 0, Number(g.first))) {
      if (!(g.hash === 'caller' ? filter.removeHash(one) : filter.remove(one))) throw new Error('nothing removed');
    }
  },
  repeated({ nay, filter, g }) {
    for (let i = 0; i < Number(g.amount); i++) filter.addMany(members(nay, g, 0, 1));
  },
  'in order': ({ addRest }) => addRest(),
  advanced({ filter, g, addRest }) {
    filter.advance(1000);
    filter.advance(BigInt(g.amount));
    addRest();
  },
  folded: ({ filter }) => filter.fold(filter.foldFactor(0.01)),
  shrunk: ({ filter, g }) => filter.shrink(BigInt(g.amount)),
};

function makeFilter(nay, g) {
  const n = Number(g.nmembers ?? 0);
  const start = g.deed === 'in order' ? 0 : g.deed === 'joined' || g.deed === 'advanced' ? Math.floor(n / 2) : n;
  const build = (first, count) => nay.Filter.build(members(nay, g, first, count), paramsOf(g));
  const filter = build(0, start);
  const addRest = () => {
    for (const one of members(nay, g, start, n - start)) filter.addMany(typeof one === 'bigint' ? BigUint64Array.of(one) : [one]);
  };
  DEEDS[g.deed]({ nay, filter, g, build, start, n, addRest });
  if (g.keyType) filter.keyType = g.keyType;
  if (g.nmeta) filter.meta = Uint8Array.from({ length: Number(g.nmeta) }, (_, i) => 'nay metadata. '.charCodeAt(i % 14));
  return filter;
}

function checkFilter(nay, g) {
  const stored = golden(`native/${g.name}`);
  const filter = makeFilter(nay, g);
  const same = Buffer.compare(filter.encode(), stored) === 0;
  const read = nay.Filter.open(stored);
  if (read.stats().locked) read.unlock(KEY);
  const first = Number(g.first ?? 0);
  const all = read.hasMany(members(nay, g, first, Number(g.nmembers ?? 0) - first)).every((answer) => answer === 1);
  filter.free();
  read.free();
  return same && all;
}

// ---- how make_map.c makes them ----

function checkMap(nay, g) {
  const params = { valueBits: g.valueBits, checkBits: g.checkBits, hash: g.hash, seed: g.seed, storeKey: (g.flags & 2) !== 0 };
  if (g.hash === 'siphash13') params.key = Uint8Array.from({ length: 16 }, (_, i) => g.key.charCodeAt(i) || 0);
  const shift = BigInt(g.seed);
  const pairs = Array.from({ length: g.n }, (_, i) => [
    g.hash === 'caller' ? nay.mix(i) >> shift : `member-${i}`, nay.mix(i + 7) >> BigInt(64 - g.valueBits)]);
  const map = nay.StaticMap.build(pairs, params);
  if (g.meta) map.meta = new TextEncoder().encode(g.meta);
  const same = Buffer.compare(map.encode(), golden(`map/${g.name}`)) === 0;
  return same && pairs.every(([key, value]) => map.get(key) === value);
}

// ---- files of other systems, read ----

const SETS = {
  str: (i) => `key${String(i).padStart(6, '0')}`,
  u64le(i) {
    return new Uint8Array(BigUint64Array.of(BigInt(i)).buffer);
  },
  varlen: (i) => Uint8Array.from({ length: i }, (_, j) => i * 131 + j * 17 + 7),
  twice: (i) => `key${String(Math.floor(i / 2)).padStart(6, '0')}`,
};

/** Every filter_<set>_n<n>_b<b>.bin of LevelDB and RocksDB: made again, and its bytes compared. */
function checkForeign(nay, directory, file) {
  const [, kind, set, n, bits] = file.match(/^filter_(?:(fastlocal|legacy|ribbon)_)?([a-z0-9]+)_n(\d+)_b([\d.]+)\.bin$/);
  const format = directory === 'leveldb' ? 'leveldb' : `rocksdb-${{ fastlocal: 'bloom', legacy: 'legacy', ribbon: 'ribbon' }[kind]}`;
  const keys = Array.from({ length: Number(n) }, (_, i) => SETS[set](i));
  const filter = nay.formats.build(format, keys, { bitsPerKey: Number(bits) });
  return Buffer.compare(nay.formats.encode(format, filter), golden(`${directory}/${file}`)) === 0;
}

/** Every line of hashes.txt: the hash of bytes i * 7 % 251. */
function checkHashes(nay) {
  const bytes = Uint8Array.from({ length: 5000 }, (_, i) => (i * 7) % 251);
  const filters = new Map();
  const lines = golden('native/hashes.txt').toString().split('\n').filter((line) => line && !line.startsWith('#'));
  for (const line of lines) {
    const [hash, seed, len, expected] = line.split(' ');
    const params = { kind: 'bloom', nbits: 64, k: 1, hash };
    if (hash === 'siphash13') params.key = Uint8Array.from(Buffer.from(seed, 'hex'));
    else params.seed = BigInt(`0x${seed}`);
    if (!filters.has(hash + seed)) filters.set(hash + seed, nay.Filter.create(params));
    const found = filters.get(hash + seed).hash(bytes.subarray(0, Number(len)));
    if (found !== BigInt(`0x${expected}`)) throw new Error(line);
  }
  return lines.length > 1000;
}

// ---- run ----

function attempt(name, check) {
  let fault = '';
  try {
    if (!check()) fault = 'the bytes differ';
  } catch (error) {
    fault = error.stack;
  }
  report(fault, name);
}

const lines = (program) => execFileSync(program, ['list']).toString().trim().split('\n').map((line) => JSON.parse(line));
const [, , makeNative, makeMap] = process.argv;
const filters = lines(makeNative), maps = lines(makeMap);
for (const simd of [false, true]) {
  const nay = await library({ simd, full: true });
  const module = simd ? 'simd128' : 'scalar';
  for (const g of filters) attempt(`${module}: native/${g.name}`, () => checkFilter(nay, g));
  for (const g of maps) attempt(`${module}: map/${g.name}`, () => checkMap(nay, g));
  attempt(`${module}: native/hashes.txt`, () => checkHashes(nay));
  for (const directory of ['leveldb', 'rocksdb']) {
    const files = readdirSync(join(golden.directory, directory)).filter((file) => file.startsWith('filter_') && file.endsWith('.bin'));
    const wrong = files.filter((file) => !checkForeign(nay, directory, file));
    report(files.length === 0 || wrong.length > 0 ? `wrong: ${wrong}` : '', `${module}: ${files.length} filters of ${directory}/`);
  }
}
const stored = readdirSync(join(golden.directory, 'native')).filter((file) => file.endsWith('.nay'));
report(stored.length === filters.length ? '' : `${stored.length} files, ${filters.length} made`, 'every native file was made');
finish();
