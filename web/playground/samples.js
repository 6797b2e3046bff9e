/*
 * samples.js - files to look into when there is none at hand: some that the library makes here, and
 * test data: what LevelDB and Redis wrote, and a list, which needs more than this page to build (bundle.py puts their bytes into the page).
 */
import { EXAMPLES, keyLines } from './keys.js';

const STORED = /*SAMPLES*/ {};

function stored(name) {
  return Uint8Array.from(atob(STORED[name]), (c) => c.charCodeAt(0));
}

function keys() {
  const words = new TextDecoder()
    .decode(keyLines('words', 0, 1960))
    .trimEnd()
    .split('\n');
  return [...EXAMPLES, ...words];
}

/* NUMBERS: what the range filter has, in decimal. */
const NUMBERS = Array.from({ length: 500 }, (_, i) => String(1000 + 98765 * i));

function made(filter, encode) {
  try {
    return encode(filter);
  } finally {
    filter.free();
  }
}

export const SAMPLES = [
  {
    id: 'nay',
    label: 'A nay file',
    name: 'fruit.nay',
    make: (engine) => made(engine.build(keys(), { kind: 'blocked', fpr: 0.01 }), (f) => f.encode()),
  },
  {
    id: 'ribbon',
    label: 'The smallest one',
    name: 'fruit-ribbon.nay',
    make: (engine) => made(engine.build(keys(), { kind: 'ribbon', fpr: 0.01 }), (f) => f.encode()),
  },
  {
    id: 'leveldb',
    label: 'LevelDB\u2019s filter',
    name: 'fruit.leveldb',
    format: 'leveldb',
    make: (engine) => made(engine.buildAs('leveldb', keys(), { bitsPerKey: 10 }), (f) => engine.encodeAs('leveldb', f)),
  },
  { id: 'table', label: 'A LevelDB table', name: 'sample.ldb', key: 'key000042', make: () => stored('sample.ldb') },
  {
    id: 'range',
    label: 'A range filter',
    name: 'hours.nay',
    key: '1000..1009',
    make: (engine) => made(engine.build(NUMBERS, { kind: 'range', rangeLength: 10, fpr: 0.01 }), (f) => f.encode()),
  },
  {
    id: 'map',
    label: 'A static map',
    name: 'lengths.nay',
    make: (engine) => made(engine.buildMap(keys().map((key) => [key, key.length]), { checkBits: 6 }), (f) => f.encode()),
  },
  { id: 'list', label: 'An exact list', name: 'members.nay', key: 'member-57', make: () => stored('list.nay') },
  { id: 'redis', label: 'A Redis dump', name: 'sample.dump', key: 'item:7', make: () => stored('sample.dump') },
];
