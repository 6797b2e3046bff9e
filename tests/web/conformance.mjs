// The runner of tests/conformance for the JavaScript module: what each operation answers.
import { bitmap, bits, double, fileOf, hex, keysOf, run, text, unhex } from './kit.mjs';
import { library } from './support.mjs';

const { Filter, StaticMap, formats, key: typed, status } = await library({ full: true });

function paramsOf(c) {
  const names = { nkeys: 'nkeys', fpr: 'fpr', bits_per_key: 'bitsPerKey', nbytes: 'nbytes', nbits: 'nbits', k: 'k', fold: 'fold',
    value_bits: 'valueBits', check_bits: 'checkBits', range_length: 'rangeLength' };
  const params = {};
  for (const [name, here] of Object.entries(names)) {
    if (name in c) params[here] = ['fpr', 'bits_per_key'].includes(name) ? Number(c[name]) : BigInt(c[name]);
  }
  for (const name of ['valueBits', 'checkBits']) if (name in params) params[name] = Number(params[name]);
  if (c.kind && c.kind !== 'map') params.kind = c.kind;
  if (c.seed) params.seed = BigInt(c.seed);
  if (c.secret) Object.assign(params, { hash: 'siphash13', key: unhex(c.secret) });
  if (c.store_key) params.storeKey = true;
  if (c.key_type) params.keyType = c.key_type;
  if (c.range_keys) params.rangeKeys = ['be8', 'be4', 'decimal'][c.range_keys];
  if (c.range_delimiter) params.rangeDelimiter = Number(c.range_delimiter);
  return params;
}

function openOf(c, name = 'a') {
  const module = c[name].startsWith('maps-') ? StaticMap : Filter, bytes = fileOf(c, name);
  const filter = c.format ? formats.open(c.format, bytes) : module.open(bytes);
  if (c.unlock) filter.unlock(unhex(c.unlock));
  return filter;
}

const encode = (c, filter) => (c.format ? formats.encode(c.format, filter) : filter.encode());

const operations = {
  hash: (c) => Filter.create({ ...paramsOf(c), nkeys: 1, fpr: 0.5 }).hash(unhex(c.key)).toString(16).padStart(16, '0'),
  key(c) {
    if ('int' in c) return hex(typed.int(BigInt(c.int)));
    if ('float' in c) return hex(typed.float(double(c.float)));
    return hex(typed.parse(c.type, text(unhex(c.text))));
  },
  plan(c) {
    const p = Filter.plan(paramsOf(c));
    return `${p.kind} ${p.k} ${p.nbits} ${p.nbytes} ${p.nbytesFile} ${bits(p.fpr)}`;
  },
  add(c) {
    const filter = c.format ? formats.create(c.format, paramsOf(c)) : Filter.create(paramsOf(c));
    filter.addMany(keysOf(c));
    return encode(c, filter);
  },
  build(c) {
    if (c.kind !== 'map') return Filter.build(keysOf(c), paramsOf(c)).encode();
    const width = Number(c.value_bits);
    return StaticMap.build(keysOf(c).map((each, i) => [each, BigInt.asUintN(width, BigInt(i) * BigInt(c.mul))]), paramsOf(c)).encode();
  },
  merge: (c) => encode(c, openOf(c).merge(openOf(c, 'b'), c.max_fpr ? { maxFpr: Number(c.max_fpr) } : {})),
  intersect: (c) => encode(c, openOf(c).intersect(openOf(c, 'b'))),
  fold: (c) => openOf(c).fold(BigInt(c.factor)).encode(),
  remove(c) {
    const filter = openOf(c);
    return keysOf(c).every((each) => filter.remove(each)) ? filter.encode() : 'ENOENT';
  },
  open: (c) => (openOf(c), 'OK'),
  status(c) {
    const { name, text: said } = status(Number(c.number));
    return `${name}: ${said}`;
  },
  stats(c) {
    const s = openOf(c).stats();
    return `${s.k} ${s.nkeys} ${s.nbits} ${s.nbitsSet} ${bits(s.nkeysEstimated)} ${bits(s.fprNow)}`;
  },
  probe(c) {
    const filter = openOf(c);
    return bitmap(keysOf(c).map((each) => filter.has(each)));
  },
  ranges(c) {
    const filter = openOf(c), ends = keysOf(c, 'ends');
    return bitmap(keysOf(c).map((lo, i) => filter.hasRange(lo, ends[i])));
  },
  count: (c) => String(openOf(c).count(unhex(c.key))),
  get: (c) => String(openOf(c).get(unhex(c.key)) ?? 'ENOENT'),
  ask(c) {
    const filter = openOf(c);
    return `${filter.keyType} ${filter.has(text(unhex(c.key))) ? 'maybe' : 'nay'}`;
  },
};

/** What this interface cannot be asked. */
function skipped(c) {
  if (c.op === 'stats' && c.a.startsWith('maps-')) return 'maps have statistics of their own';
  if (c.op === 'probe' && c.a.includes('key-type')) return 'keys of 4 bytes are refused where the file says int';
  if (c.op === 'get' && !c.a.startsWith('maps-')) return 'filters and maps are two classes';
  return '';
}

run(operations, skipped);
