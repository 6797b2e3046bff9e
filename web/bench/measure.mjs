// What bench measures, in node and in the browser: adds and lookups of strings, in one run. Contenders take turns,
// round after round; a figure is the best of its rounds, in ns a key: what else runs on the machine only adds to it.
// Every contender gets the same strings, which are made before, the size of a Bloom filter for 1%, and loops of its
// own: code that is shared would be optimised for the classes of all of them at once.
import { BloomFilter as Modern } from 'bloomfilter';
import classic from 'bloomfilter-classic';
import bloomFilters from 'bloom-filters';
import { load } from 'libnay';

const FPR = 0.01;

/** Keys as people have them: a name and a number, 11 to 15 characters; or a URL, some 45. */
const STEMS = { short: ['user:', 'none:'], long: ['https://example.org/articles/', 'https://example.org/products/'] };

function makeKeys(n, stem) {
  let x = 88172645463325252n;
  return Array.from({ length: n }, () => {
    x ^= BigInt.asUintN(64, x << 13n);
    x ^= x >> 7n;
    x ^= BigInt.asUintN(64, x << 17n);
    return JSON.parse(`"${stem}${x % 10000000000n}"`); // a flat string, not a rope
  });
}

const addLoop = () => new Function('filter', 'keys', 'for (let i = 0; i < keys.length; i++) filter.add(keys[i]);');
const testLoop = (method) => new Function('filter', 'keys',
  `let found = 0; for (let i = 0; i < keys.length; i++) if (filter.${method}(keys[i])) found++; return found;`);

function contenders(nay, n) {
  const bits = Math.ceil((-n * Math.log(FPR)) / Math.LN2 ** 2);
  const k = Math.round((bits / n) * Math.LN2);
  const loops = (make, method) => {
    const addAll = addLoop(), testAll = testLoop(method);
    return () => {
      const filter = make();
      return { add: (keys) => addAll(filter, keys), has: (keys) => testAll(filter, keys), free: () => filter.free?.() };
    };
  };
  const batches = (make) => () => {
    const filter = make();
    return {
      add: (keys) => { filter.addMany(keys); },
      has: (keys) => {
        const answers = filter.hasMany(keys);
        let found = 0;
        for (let i = 0; i < answers.length; i++) found += answers[i];
        return found;
      },
      free: () => filter.free(),
    };
  };
  const create = (kind) => () => nay.Filter.create({ kind, nkeys: n, fpr: FPR });
  return {
    'libnay blocked': loops(create('blocked'), 'has'),
    'libnay bloom': loops(create('bloom'), 'has'),
    'libnay blocked, batches': batches(create('blocked')),
    'libnay bloom, batches': batches(create('bloom')),
    'bloomfilter 1.1.0': loops(() => new Modern(bits, k), 'test'),
    'bloomfilter 0.0.18': loops(() => new classic.BloomFilter(bits, k), 'test'),
  };
}

/** bloom-filters 3 takes microseconds: fewer keys, fewer rounds. */
function slowContender(n) {
  const filter = new bloomFilters.BloomFilter(Math.ceil((-n * Math.log(FPR)) / Math.LN2 ** 2), 7);
  const addAll = addLoop(), testAll = testLoop('has');
  return { add: (keys) => addAll(filter, keys), has: (keys) => testAll(filter, keys) };
}

function time(work, n) {
  const start = performance.now();
  const value = work();
  return { ns: ((performance.now() - start) * 1e6) / n, value };
}

function round(make, present, absent, into) {
  const filter = make();
  into.add.push(time(() => filter.add(present), present.length).ns);
  const hits = time(() => filter.has(present), present.length);
  const misses = time(() => filter.has(absent), absent.length);
  if (hits.value !== present.length || misses.value > absent.length * FPR * 2) throw new Error('wrong answers');
  into.hit.push(hits.ns);
  into.miss.push(misses.ns);
  filter.free?.();
}

/** The table: contender -> { add, hit, miss } in ns a key. */
export async function measure({ wasm, keys = 'short', n = 100000, rounds = 25, slow = 2000 } = {}) {
  const nay = await load({ wasm });
  const [present, absent] = STEMS[keys].map((stem) => makeKeys(n, stem));
  const all = contenders(nay, n);
  const times = Object.fromEntries(Object.keys(all).map((name) => [name, { add: [], hit: [], miss: [] }]));
  for (let i = 0; i < rounds + 3; i++) {
    for (const [name, make] of Object.entries(all)) {
      round(make, present, absent, i < 3 ? { add: [], hit: [], miss: [] } : times[name]); // three to warm up
    }
  }
  times['bloom-filters 3.0.4'] = { add: [], hit: [], miss: [] };
  for (let i = 0; i < 3; i++) {
    round(() => slowContender(slow), present.slice(0, slow), absent.slice(0, slow), times['bloom-filters 3.0.4']);
  }
  return Object.fromEntries(Object.entries(times).map(([name, each]) => [name, Object.fromEntries(
    Object.entries(each).map(([what, ns]) => [what, Math.min(...ns)]),
  )]));
}
